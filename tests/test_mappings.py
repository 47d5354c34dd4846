"""OrderedDict, defaultdict, Counter and heaps in a trace: the same as in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.mapping_programs import CUT, WHOLE, reordered
from tests.support.compare import MODES, check_same


def given(program: Callable[..., Any]) -> tuple[Any, ...]:
    """Arguments for a program."""
    made = {
        "x": np.arange(1.0, 4.0),
        "o": reordered(),
        "m": defaultdict(int, a=1),
        "c": Counter("aabz"),
        "h": [1, 3, 2, 9],
    }
    return tuple(
        made[name] for name in program.__code__.co_varnames[: program.__code__.co_argcount]
    )


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_one_graph(program: Callable[..., Any]) -> None:
    """The program is one graph, and nothing tells it from the plain one."""
    compiled = ufuse.compile(program)
    check_same(program, compiled, lambda: given(program), calls=3, modes=MODES[:2], copies=False)
    assert [str(found) for found in compiled.breaks] == []


@pytest.mark.parametrize("program", CUT, ids=lambda program: program.__name__)
def test_graph_that_ends(program: Callable[..., Any]) -> None:
    """The program is left to plain Python somewhere, and nothing tells it from the plain one."""
    compiled = ufuse.compile(program)
    check_same(program, compiled, lambda: given(program), calls=3, modes=MODES[:2], copies=False)
    assert compiled.breaks


def first_of(x: Any, o: Any) -> Any:
    return x + 1, next(iter(o)), o.keys()


def test_order_is_guarded() -> None:
    """An OrderedDict of the same keys in another order is found out."""
    compiled, x = ufuse.compile(first_of), np.arange(3.0)
    for move in ("a", "b", "b"):
        o = reordered()
        o.move_to_end(move)
        assert repr(compiled(x, o)) == repr(first_of(x, o))

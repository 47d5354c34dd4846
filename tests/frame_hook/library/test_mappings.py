"""OrderedDict, defaultdict, Counter and heaps in a trace: the same as in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.programs.mappings import CUT, WHOLE, reordered
from tests.support.graphs import check_cut, check_one_graph
from tests.support.registering import picked


def given(program: Callable[..., Any]) -> tuple[Any, ...]:
    """Arguments for a program."""
    made = {
        "x": np.arange(1.0, 4.0),
        "o": reordered(),
        "m": defaultdict(int, a=1),
        "c": Counter("aabz"),
        "h": [1, 3, 2, 9],
    }
    return picked(program, made)


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_one_graph(program: Callable[..., Any]) -> None:
    """The program is one graph, and nothing tells it from the plain one."""
    check_one_graph(program, lambda: given(program), copies=False)


@pytest.mark.parametrize("program", CUT, ids=lambda program: program.__name__)
def test_graph_that_ends(program: Callable[..., Any]) -> None:
    """The program is left to plain Python somewhere, and nothing tells it from the plain one."""
    check_cut(program, lambda: given(program), copies=False)


def first_of(x: Any, o: Any) -> Any:
    return x + 1, next(iter(o)), o.keys()


def test_order_is_guarded() -> None:
    """An OrderedDict of the same keys in another order is found out."""
    compiled, x = ufuse.compile(first_of), np.arange(3.0)
    for move in ("a", "b", "b"):
        o = reordered()
        o.move_to_end(move)
        assert repr(compiled(x, o)) == repr(first_of(x, o))

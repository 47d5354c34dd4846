"""Objects with `__index__`, and the module bisect, in a trace: the same as in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.index_programs import CUT, WHOLE
from tests.support.compare import MODES, check_same


def given(program: Callable[..., Any]) -> tuple[Any, ...]:
    """Arguments for a program."""
    made = {"x": np.arange(1.0, 4.0), "l": [1, 3, 3, 8]}
    return tuple(
        made[name] for name in program.__code__.co_varnames[: program.__code__.co_argcount]
    )


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_one_graph(program: Callable[..., Any]) -> None:
    """The program is one graph, and nothing tells it from the plain one."""
    compiled = ufuse.compile(program)
    check_same(program, compiled, lambda: given(program), calls=3, modes=MODES[:2])
    assert [str(found) for found in compiled.breaks] == []


@pytest.mark.parametrize("program", CUT, ids=lambda program: program.__name__)
def test_graph_that_ends(program: Callable[..., Any]) -> None:
    """The program is left to plain Python somewhere, and nothing tells it from the plain one."""
    compiled = ufuse.compile(program)
    check_same(program, compiled, lambda: given(program), calls=3, modes=MODES[:2])
    assert compiled.breaks

"""Python's functions, containers and iterators around arrays: the same compiled, and in one graph where that is promised."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import ufuse
from tests.python_programs import CUT, WHOLE, given
from tests.support.compare import MODES, check_same

WHOLE_BEFORE_3_12 = {"sums_of_unknown_floats"}  # sum() rounds as `+` does there


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
    is_whole = program.__name__ in WHOLE_BEFORE_3_12 and sys.version_info < (3, 12)
    assert bool(compiled.breaks) != is_whole

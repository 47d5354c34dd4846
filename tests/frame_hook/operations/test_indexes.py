"""Objects with `__index__`, and the module bisect, in a trace: the same as in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.programs.indexes import CUT, WHOLE
from tests.support.graphs import check_cut, check_one_graph
from tests.support.registering import picked


def given(program: Callable[..., Any]) -> tuple[Any, ...]:
    """Arguments for a program."""
    made = {"x": np.arange(1.0, 4.0), "l": [1, 3, 3, 8]}
    return picked(program, made)


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_one_graph(program: Callable[..., Any]) -> None:
    """The program is one graph, and nothing tells it from the plain one."""
    check_one_graph(program, lambda: given(program))


@pytest.mark.parametrize("program", CUT, ids=lambda program: program.__name__)
def test_graph_that_ends(program: Callable[..., Any]) -> None:
    """The program is left to plain Python somewhere, and nothing tells it from the plain one."""
    check_cut(program, lambda: given(program))

"""Where the results of means, variances and sums lie in memory: NumPy divides in the memory that a reduction made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same

ARRAYS: dict[str, Callable[[], Any]] = {
    "Fortran order": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "C order": lambda: np.arange(6.0).reshape(2, 3),
    "turned": lambda: np.arange(24.0).reshape(2, 3, 4).T,
    "rolled": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
    "swapped": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
    "four axes": lambda: np.arange(120.0).reshape(2, 3, 4, 5).transpose(3, 1, 0, 2),
    "gaps": lambda: np.arange(24.0).reshape(4, 6)[::2, ::3].T,
    "one row": lambda: np.asfortranarray(np.arange(6.0).reshape(1, 6)),
    "one column": lambda: np.asfortranarray(np.arange(6.0).reshape(6, 1)),
}


@pytest.mark.parametrize("name", ["mean", "std", "var", "sum"])
@pytest.mark.parametrize("keepdims", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1, None, (0, 1)])
def test_results_lie_as_numpy_lays_them(name: str, keepdims: bool, axis: Any) -> None:
    """Strides and flags, of the result and of what is computed from it."""
    function = getattr(np, name)

    def alone(x: Any) -> Any:
        return function(x, axis=axis, keepdims=keepdims)

    def combined(x: Any) -> Any:
        return x - function(x, axis=axis, keepdims=True), (alone(x) * 2 + 1).T

    for make in ARRAYS.values():
        for program in (alone, combined):
            check_same(program, ufuse.compile(program), lambda m=make: (m(),), modes=MODES[:1])


def test_statistics_stay_in_one_graph() -> None:
    """Dividing in place needs no break."""
    compiled = ufuse.compile(lambda x: x.mean(axis=0) + x.std(axis=0) + np.var(x))
    compiled(np.arange(6.0).reshape(2, 3))
    assert not compiled.breaks


STEPS = {
    "a sum of infinities": (np.inf, -np.inf),
    "a distance between infinities": (np.inf, np.inf),
    "a square that overflows": (1e200, -1e200),
    "squares whose sum does": (1.3e154, -1.3e154),
}


@pytest.mark.parametrize("values", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("name", ["mean", "std", "var"])
def test_each_step_warns_as_numpys_does(name: str, values: tuple[float, ...]) -> None:
    """In its words: releases of NumPy differ in how they square."""
    function = getattr(np, name)

    def called(x: Any) -> Any:
        x[1] = x[2]  # behind a visible write the graph itself warns
        return function(x[:2])

    def method(x: Any) -> Any:
        x[1] = x[2]
        return getattr(x[:2], name)(axis=0)

    for program in (called, method):
        check_same(program, ufuse.compile(program), lambda: (np.insert(values, 1, 0.0),))

"""Ufuncs of other libraries with names that NumPy's functions have: what they compute is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import MODES
from tests.support.foreign_ufuncs import foreign_ufunc
from tests.support.nests.native_loops import native_turns
from ufuse.graph import ops
from ufuse.graph.typing import infer

pytestmark = pytest.mark.any_python

NAMES = {name.removeprefix("numpy.") for name in infer.CALLS if name.startswith("numpy.")}
NAMES = {name for name in NAMES if "." not in name and hasattr(np, name)} | set(ops.UFUNCS)
OF_ONE = sorted(name for name in NAMES if getattr(getattr(np, name), "nin", 1) == 1)
OF_TWO = sorted(name for name in NAMES if getattr(getattr(np, name), "nin", 2) == 2)


def with_ufunc(function: Callable[..., Any], name: str, inputs: int) -> Callable[..., Any]:
    """The function with such a ufunc as its global `u`."""
    made: Any = type(function)(
        function.__code__, {**function.__globals__, "u": foreign_ufunc(name, inputs)}
    )
    return made


u: Any = None


def of_one(x: Any, y: Any) -> Any:
    """Of arrays, rows and numbers."""
    z = u(x * 2)
    u(x, out=y)
    return z, y, u(x[0]), u(x[0, 0]), u(x + y)[1:]


def of_two(x: Any, y: Any) -> Any:
    """The same, and as folds."""
    z = u(x, y * 2) + 1
    u(x, y, out=y)
    folds = u.reduce(x), u.reduce(z, axis=1), u.accumulate(x), u.outer(x[0], y[0])
    u.at(z, (0, 1), 0.5)
    return z, y, folds, u(x[0], 2), u(x[0, 0], y[0, 0]), u(x, 3.0, where=x > y, out=z * 1)


def loop_of_one(x: Any, y: Any) -> Any:
    """Of rows and numbers."""
    total = 0.0
    for i in range(len(x)):
        y[i] = u(x[i]) * 2
        total += u(x[i, 0]) + u(x[i] + y[i]).sum()
    return total, y


def loop_of_two(x: Any, y: Any) -> Any:
    """The same of two."""
    total = 0.0
    for i in range(len(x)):
        y[i] = u(x[i], y[i]) * 2
        total += u(x[i, 0], total)
    return total, y


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Numbers of both signs."""
    x, y = np.random.default_rng(3).normal(size=(2, 30, 4)) * 3
    return x, y


@pytest.mark.parametrize(
    ("name", "function"),
    [*((name, of_one) for name in OF_ONE), *((name, of_two) for name in OF_TWO)],
)
def test_functions_of_arrays(name: str, function: Callable[..., Any]) -> None:
    """Called with arrays, rows and numbers, into another array, and as a fold."""
    plain = with_ufunc(function, name, 1 if function is of_one else 2)
    check_same(plain, ufuse.compile(plain), arrays, calls=3, modes=MODES[:1])


@pytest.mark.parametrize("name", ["exp", "log1p", "i0", "round", "negative", "conjugate"])
def test_loops_with_functions_of_one(name: str) -> None:
    """In loops that may be native."""
    native_turns(with_ufunc(loop_of_one, name, 1), arrays)


@pytest.mark.parametrize("name", ["add", "maximum", "power", "arctan2", "clip", "matmul"])
def test_loops_with_functions_of_two(name: str) -> None:
    """In loops that may be native."""
    native_turns(with_ufunc(loop_of_two, name, 2), arrays)

"""Places of the greatest and least elements of short rows, which C finds side by side."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.any_python


def places(x, z):
    return (
        x.argmax(1), x.argmin(axis=1), np.argmax(x, axis=-1), np.argmin(x, 1), x.argmax(0), x.argmin(axis=0), np.argmax(x),
        x.T.argmax(1), x[:, ::-1].argmin(1), np.argmax(x, axis=1, keepdims=True), z.argmax(2), z.argmin(-1), z.argmax(axis=1),
        (x * 2).argmin(axis=1), x[0].argmax(0), x[x.argmax(axis=0), 0],
    )  # fmt: skip


def falling_out(x, z):
    return x.argmax(2)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2"])
def test_the_first_of_equal_ones(dtype: str) -> None:
    """Of rows of every length; NaN is the first of them, and zeros of both signs are equal."""
    functions = places, falling_out
    compiled = [ufuse.compile(function) for function in functions]
    rng = np.random.default_rng(3)
    for shape in ((40, 10), (17, 1), (16, 40), (50, 41), (5, 3), (33, 0)):
        for odd in (1.0, np.nan, -0.0) if dtype[0] == "f" else (1.0,):
            x = rng.integers(-3, 4, shape).astype(dtype)
            x[rng.random(shape) < 0.05] = odd
            for function, ours in zip(functions, compiled, strict=True):
                check_same(function, ours, lambda: (x.copy(), x.reshape(1, *shape) * 3))  # noqa: B023 (called at once)


def test_what_is_given() -> None:
    """An array and an axis, which may be named; else an error."""
    x = np.arange(40.0).reshape(20, 2)
    assert _tiles.argmax(x, axis=1).tolist() == [1] * 20
    for given in ((x,), (x, "1"), ([1], 0), (x, 1, 2)):
        with pytest.raises(TypeError, match="an array and an axis"):
            _tiles.argmin(*given)
    for axis, error in ((2, np.exceptions.AxisError), (1 << 80, OverflowError)):
        with pytest.raises(error):
            _tiles.argmin(x, axis)

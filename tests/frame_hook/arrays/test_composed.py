"""Functions of NumPy's that become operations of a graph for plain arguments: `np.select`, lengths of vectors, rounding."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same

pytestmark = pytest.mark.any_python

# fmt: off
CHOSEN: tuple[Callable[..., Any], ...] = (
    lambda x, y: np.select([x > 1, x < -1], [1.0, -1.0], x),
    lambda x, y: np.select([x > 0, y > 0, x < y], [x, 3, y], default=-0.0),
    lambda x, y: np.select((x > 1, y < 0), (x * 2, y), np.nan),
    lambda x, y: np.select([x > 1], [x * 2]),
    # what NumPy's own code does
    lambda x, y: (np.select([x > 1, x < -1], [1, 2]), np.select([x > 1, x < -1], [1, y], 2**60)),
    lambda x, y: np.select([x > 1, x < -1], [x], 0),
    lambda x, y: np.select([x, x < -1], [x, y]),
    lambda x, y: np.select([], []),
    lambda x, y: np.select([x > 1, y.any()], [x, y]),
    lambda x, y: np.select([x > 1], ["a"], x),
    lambda x, y: np.select([x[:1] > 0], [x], y),
    lambda x, y: (np.select([x > 0], [x.astype("f4")], 1.5), np.select([x > 0], [y], True), np.select([y > 0], [y], 1j)),
    lambda x, y: np.select([x.T > 0], [y.T], 1.0),
)
# fmt: on
LAYOUTS = (np.copy, np.asfortranarray, lambda a: np.repeat(a, 2, 0)[::2])


@pytest.mark.parametrize("program", CHOSEN)
def test_select(program: Any) -> None:
    """As NumPy chooses: values, dtypes, layouts and errors."""
    compiled = ufuse.compile(program)
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (0,)):
        x, y = rng.normal(size=(2, *shape)) * 2
        x.flat[:1] = np.nan
        for change in LAYOUTS:
            check_same(program, compiled, lambda: (change(x), change(y)))  # noqa: B023 (called at once)


def lengths(v):
    return (
        v / np.linalg.norm(v, axis=1, keepdims=True), np.linalg.norm(v, axis=0), np.linalg.norm(v, 2, -1),
        np.linalg.norm(v - 1, None, 1) * 2, np.linalg.norm(v.T, axis=0), np.linalg.norm(v[0], axis=0),
    )  # fmt: skip


def other_lengths(v):
    return (
        np.linalg.norm(v, 1, 1), np.linalg.norm(v, np.inf, axis=0), np.linalg.norm(v), np.linalg.norm(v, axis=(0, 1)),
        np.linalg.norm(v, axis=2),
    )  # fmt: skip


@pytest.mark.parametrize("program", [lengths, other_lengths])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.filterwarnings("ignore")
def test_norms(program: Any, dtype: str) -> None:
    """With NumPy's warnings at its lines where squares or their sums overflow."""
    compiled = ufuse.compile(program)
    rng = np.random.default_rng(0)
    for shape in ((4, 3), (1, 1), (60, 40), (0, 3)):
        for size in (1.0, 1e200, 1.3e154, 3e38, np.nan) if dtype != "i8" else (10.0,):
            v = (rng.normal(size=shape) * size).astype(dtype)
            check_same(program, compiled, lambda: (v,))  # noqa: B023 (called at once)


def test_are_operations() -> None:
    """Both are fused with what is around them."""

    def program(v):
        v = v / np.linalg.norm(v, axis=1, keepdims=True)
        return np.select([v > 0.5, v < -0.5], [1.0, -1.0], v)

    text = str(ufuse.compile(program).trace(ufuse.Spec((None, 3), "f8")).source())
    assert text.count("kernel(") == 1


# fmt: off
ROUNDED: tuple[Callable[..., Any], ...] = (
    lambda x: (np.round(x, 2), x.round(1), np.around(x, decimals=3), x.round(), np.round(x * 3) + 1),
    lambda x: (np.round(x, -2), x.round(decimals=-1), x.round(22) - x, np.round(x.T, 1), x[::-1].round(2)),
    lambda x: np.round(x, 2, None),
    # what NumPy's own code does
    lambda x: np.round(x, 2, out=x),
    lambda x: (x.round(np.int64(2)), np.round(x, True), np.round(x.tolist(), 1), np.round(x.sum(), 3)),
    lambda x: x.round(23),
    lambda x: x.round(1.5),
)
# fmt: on


@pytest.mark.parametrize("program", ROUNDED)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "c16", ">f8"])
def test_rounding(program: Any, dtype: str) -> None:
    """To decimals, of all kinds of numbers and layouts; what is too large is warned of where NumPy does."""
    compiled = ufuse.compile(program)
    rng = np.random.default_rng(0)
    for shape in ((7,), (3, 4), (2, 3, 4)):
        x = (rng.normal(size=shape) * 300).astype(dtype)
        if np.dtype(dtype).kind == "f":
            x.flat[:5] = np.nan, np.inf, -0.0, np.finfo(dtype).max, 0.5
        for change in (*LAYOUTS, np.transpose):
            check_same(program, compiled, lambda: (change(x).copy("K"),))  # noqa: B023 (called at once)

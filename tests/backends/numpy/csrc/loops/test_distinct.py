"""`np.unique` of whole numbers that are counted: NumPy's arrays."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import distinct

pytestmark = pytest.mark.any_python


def distinct_ones(x):
    labels, inverse = np.unique(x, return_inverse=True)
    _, counts = np.unique(x, return_counts=True)
    return (
        np.unique(x), labels, inverse, counts, np.unique(x, return_inverse=True, return_counts=True), np.unique(x, axis=0),
        np.unique(x.T, return_inverse=True), np.unique(x[::2], return_counts=True), np.unique(x, return_index=True),
        np.bincount(inverse.ravel()), len(np.unique(x + 1)),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["i8", "i4", "u2", "i1", "f8", "?"])
def test_what_lies_close_together(dtype: str) -> None:
    """Of labels, of numbers that lie far apart, of few and of none."""
    compiled = ufuse.compile(distinct_ones)
    for most, shape in ((9, (600, 2)), (100, (1200,)), (1 << 60, (1000,)), (5, (7, 3)), (5, (0,))):
        x = np.random.default_rng(1).integers(-most if dtype[0] in "if" else 0, most, shape)
        check_same(distinct_ones, compiled, lambda: (x.astype(dtype),))  # noqa: B023 (called at once)


def test_it_is_used() -> None:
    """Where few numbers lie between the least and the greatest; also where their distance does not fit."""
    x = np.array([-128, 127, 3] * 200, np.int8)
    assert distinct._agrees(x.dtype)
    assert distinct._distinct(x).tolist() == [-128, 3, 127]
    assert distinct._distinct(x.astype(int) << 56) is None
    assert distinct._distinct(x, return_counts=1) is None

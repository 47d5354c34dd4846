"""`np.where`, whose elements C chooses in blocks by their bits."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same

pytestmark = pytest.mark.any_python


def chosen(mask, x, y):
    z = x.copy()
    z[:] = np.where(mask, z, y)
    return (
        np.where(mask, x, y), np.where(mask, x, y[:1]), np.where(mask, x[:1], y), np.where(mask, x[:1], y[:1]),
        np.where(mask[::-1], x, y), np.where(mask, x[::-1], y), np.where(mask, x, 0), z,
    )  # fmt: skip


@pytest.mark.parametrize("code", "?bhilfdegFDG")
def test_elements_are_chosen_by_their_bits(code: str) -> None:
    """Of any number and size, beside one another or not, and one that is repeated; what holds need not be 1."""
    compiled = ufuse.compile(chosen)
    for size in (1, 127, 128, 300):
        rng = np.random.default_rng(size)
        mask = rng.integers(0, 3, size).astype(np.uint8).view(bool)
        x, y = (rng.integers(-5, 5, size).astype(code) for _ in range(2))
        if x.dtype.kind in "fc":
            x[::3], y[1::4] = np.nan, -0.0
        check_same(chosen, compiled, lambda: (mask.copy(), x.copy(), y.copy()))  # noqa: B023 (called at once)

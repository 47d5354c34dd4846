"""Running sums and products of rows, several side by side: NumPy's bits, warnings and errors."""

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


def running(x):
    return (
        np.cumsum(x, axis=-1), x.cumsum(x.ndim - 1), np.cumprod(x, -1), x.cumprod(axis=-1), np.cumsum(x * 2, axis=-1) + 1,
        np.cumsum(x), np.cumsum(x, axis=0), np.cumsum(x, -1, float), x[:, ::-1].cumsum(-1), x.T.cumsum(axis=-1),
        np.exp(np.cumsum(x * 0.01, axis=-1)), np.cumsum(x, axis=-1, dtype="f4"),
    )  # fmt: skip


def failing(x):
    return np.cumsum(x, axis=5)


@pytest.mark.parametrize("shape", [(20, 9), (3, 40), (8, 1), (17, 2), (2, 5, 7), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.filterwarnings("ignore")
def test_rows(shape: tuple[int, ...], dtype: str) -> None:
    """Of all lengths; with NaN, infinities and zeros of both signs, and what overflows."""
    compiled = ufuse.compile(running)
    for kind in range(5) if dtype[0] == "f" else range(1):
        rng = np.random.default_rng(kind)
        x = rng.normal(size=shape).astype(dtype)
        odd = rng.random(shape) < 0.1
        if kind == 1:
            x[odd] = np.nan
        elif kind == 2:
            x[odd] = rng.choice([np.inf, -np.inf])
        elif kind == 3:
            x = rng.choice(np.array([0.0, -0.0], dtype), shape)
        elif kind == 4:
            x *= np.finfo(dtype).max / 2
        check_same(running, compiled, lambda: (x.copy(),))  # noqa: B023 (called at once)
    check_same(failing, ufuse.compile(failing), lambda: (x.copy(),))


def test_it_is_used() -> None:
    """Where rows are ordinary numbers; what is not, NumPy does."""
    x = np.random.default_rng(0).random((20, 30))
    assert _tiles.running(x, False).tobytes() == np.cumsum(x, axis=1).tobytes()
    assert _tiles.running(x, True).tobytes() == np.cumprod(x, axis=1).tobytes()
    for other in (
        x[0],
        x.T,
        x.astype(int),
        np.full((3, 3), 1e308),
        np.full((3, 3), np.nan),
        [[1.0]],
    ):
        assert _tiles.running(other, False) is None

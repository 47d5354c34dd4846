"""Histograms that C counts: counts, edges, warnings and errors are NumPy's."""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles, binned

pytestmark = pytest.mark.any_python

PROGRAMS: tuple[Callable[..., Any], ...] = (
    lambda x: np.histogram(x)[::-1],
    lambda x: (np.histogram(x, 50), np.histogram(x * 2 + 1, 300)[0]),
    lambda x: np.histogram(x, bins=20, range=(0, 1)),
    lambda x: np.histogram(x, 256, (0.0, 256)),
    lambda x: np.histogram(x, 30, density=True),
    lambda x: np.histogram(x, 5, (0.5, 0.5)),
    # what NumPy does
    lambda x: np.histogram(x, (0, 1, 2)),
    lambda x: np.histogram(x, bins=np.linspace(-1, 1, 11)),
    lambda x: np.histogram(x, weights=x * 2),
    lambda x: np.histogram(x, 7, (1, 0)),
    lambda x: np.histogram(x, 0),
    lambda x: np.histogram(x, 5, (0, np.nan)),
    lambda x: np.histogram(x, 2.5),
)


def arrays() -> dict[str, np.ndarray]:
    """Arrays of all kinds of numbers, some of them at edges."""
    rng = np.random.default_rng(0)
    return {
        "normal": rng.normal(size=700),
        "matrix": rng.random((40, 50)),
        "few": rng.random(9),
        "decimals": np.round(rng.random(2000), 1),
        "bytes": rng.integers(0, 256, (30, 30)).astype("u1"),
        "int32": rng.integers(-999, 999, 1000).astype("i4"),
        "int64": rng.integers(-9, 9, 999),
        "some NaN": np.where(rng.random(999) < 0.1, np.nan, 1.0),
        "infinite": np.full(500, np.inf),
        "equal": np.full(1000, 3.0),
        "zeros": np.repeat([0.0, -0.0], 300),
        "huge": rng.normal(size=600) * 1e307,
        "no room": 1e16 + rng.random(999),
        "single": rng.normal(size=999).astype("f4"),
        "strided": np.arange(4000.0)[::2],
        "edges": np.linspace(0, 1, 1001),
    }


@pytest.mark.parametrize("kind", arrays())
@pytest.mark.filterwarnings("ignore")
def test_histograms(kind: str) -> None:
    """Of every kind, with every argument."""
    for program in PROGRAMS:
        check_same(program, ufuse.compile(program), lambda: (arrays()[kind].copy("K"),))


def test_it_is_used() -> None:
    """What C counts agrees with this NumPy; what it is not made for it leaves alone."""
    assert binned._agrees()
    values, edges = np.random.default_rng(0).random(5000), np.linspace(0, 1, 21)
    assert _tiles.count_in_bins(values, edges).tolist() == np.histogram(values, edges)[0].tolist()
    assert _tiles.count_in_bins(values[::2], edges) is None
    assert _tiles.count_in_bins(values.astype("f4"), edges) is None
    assert _tiles.count_in_bins(values, edges[:1]) is None
    assert _tiles.count_in_bins(values, np.array([0, np.inf])) is None
    with pytest.raises(TypeError):
        _tiles.count_in_bins(values)  # type: ignore[call-arg]

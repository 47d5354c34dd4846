"""Filters of images of `cupyx.scipy.ndimage`: CuPy's own calls, in one graph with what is around them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import why_different
from tests.support.restated import check_restated
from ufuse.graph.typing.library import FILTERS, IMAGES, RESAMPLING

RNG = np.random.default_rng(71)
IMAGE = RNG.uniform(0, 9, size=(9, 7))
WEIGHTS = RNG.uniform(size=(3, 3))
# fmt: off
CALLS: dict[str, Callable[..., Any]] = {
    "correlate":        lambda ndi, x, w: (ndi.correlate(x, w), ndi.correlate(x, w, mode="constant", cval=1.0)),
    "convolve":         lambda ndi, x, w: (ndi.convolve(x, w, mode="wrap"), ndi.convolve(x * 2, w, origin=1)),
    "correlate1d":      lambda ndi, x, w: (ndi.correlate1d(x, w[0]), ndi.correlate1d(x, w[0], axis=0, mode="nearest")),
    "convolve1d":       lambda ndi, x, w: ndi.convolve1d(x, w[1], 0),
    "uniform_filter":   lambda ndi, x, w: (ndi.uniform_filter(x), ndi.uniform_filter(x, (3, 1), mode="mirror")),
    "uniform_filter1d": lambda ndi, x, w: ndi.uniform_filter1d(x, 3, axis=0),
    "gaussian_filter":  lambda ndi, x, w: (ndi.gaussian_filter(x, 1.5), ndi.gaussian_filter(x, (0, 1), truncate=2.0), ndi.gaussian_filter(x, 0)),
    "gaussian_filter1d": lambda ndi, x, w: ndi.gaussian_filter1d(x, 0.8, order=1),
    "prewitt":          lambda ndi, x, w: ndi.prewitt(x, axis=0),
    "sobel":            lambda ndi, x, w: ndi.sobel(x, 0) + ndi.sobel(x, 1),
    "laplace":          lambda ndi, x, w: ndi.laplace(x, mode="wrap"),
    "gaussian_laplace": lambda ndi, x, w: ndi.gaussian_laplace(x, 1.0),
    "gaussian_gradient_magnitude": lambda ndi, x, w: ndi.gaussian_gradient_magnitude(x, sigma=1),
    "minimum_filter":   lambda ndi, x, w: ndi.minimum_filter(x, size=3),
    "maximum_filter":   lambda ndi, x, w: (ndi.maximum_filter(x, 3), ndi.maximum_filter(x, footprint=w > 0.4)),
    "minimum_filter1d": lambda ndi, x, w: ndi.minimum_filter1d(x, 3),
    "maximum_filter1d": lambda ndi, x, w: ndi.maximum_filter1d(x, 2, 0),
    "rank_filter":      lambda ndi, x, w: ndi.rank_filter(x, 1, size=3),
    "median_filter":    lambda ndi, x, w: ndi.median_filter(x, size=3),
    "percentile_filter": lambda ndi, x, w: ndi.percentile_filter(x, 20, size=(3, 3)),
    "binary_erosion":   lambda ndi, x, w: ndi.binary_erosion(x > 2) * 2,
    "binary_dilation":  lambda ndi, x, w: (ndi.binary_dilation(x > 6), ndi.binary_dilation(x > 6, iterations=3, brute_force=True)),
    "binary_opening":   lambda ndi, x, w: ndi.binary_opening(x > 3),
    "binary_closing":   lambda ndi, x, w: ndi.binary_closing(x > 3, w > 0.3),
}
RESAMPLED: dict[str, Callable[..., Any]] = {
    "zoom":             lambda ndi, x, w: (ndi.zoom(x, 2, order=1), ndi.zoom(x * 2, (1.5, 0.5), order=0, mode="nearest"), ndi.zoom(x, [2, 1.0]) + 1),
    "rotate":           lambda ndi, x, w: (ndi.rotate(x, 30, reshape=False, order=1, mode="reflect") + 1, ndi.rotate(x, 30, order=1) + 1, ndi.rotate(x, -75.5, axes=(0, 1), order=0) * 2),
    "shift":            lambda ndi, x, w: (ndi.shift(x, (1, 2.5), order=1, cval=3.0), ndi.shift(x, 2, order=3)),
    "affine_transform": lambda ndi, x, w: (ndi.affine_transform(x, w[:2, :2], offset=(1, 0.5), order=1), ndi.affine_transform(x, w[0, :2], output_shape=(4, x.shape[0]), order=0)),
    "map_coordinates":  lambda ndi, x, w: ndi.map_coordinates(x, w[:2] * 5, order=1) * 2,
    "label":            lambda ndi, x, w: (*ndi.label(x > 4), ndi.label(x > 6, [[1, 1, 1]] * 3)[0] * 2),
}
# fmt: on
LEFT: dict[str, Callable[..., Any]] = {
    "an output that is given": lambda ndi, x, w: ndi.sobel(x, output=np.float32) * 2,
    "one that is written": lambda ndi, x, w: ndi.gaussian_filter(x, 1, output=x * 0) + 1,
    "an array of NumPy's": lambda ndi, x, w: ndi.convolve(x, np.ones((3, 3))) + 1,
    "a footprint beside a size": lambda ndi, x, w: ndi.median_filter(x, 3, w > 0.4) + 1,
    "a mode that is not known": lambda ndi, x, w: ndi.convolve(x, w, mode="round") + 1,
    "weights with another number of axes": lambda ndi, x, w: ndi.convolve(x, w[0]) + 1,
    "an order that is warned of": lambda ndi, x, w: ndi.zoom(x, 2, order=None) + 1,
    "an order that there is not": lambda ndi, x, w: ndi.shift(x, 2, order=6) + 1,
    "a dtype that is asked for": lambda ndi, x, w: (
        ndi.zoom(x, 2, np.float32, 1) + ndi.label(x, output=np.int64)[0]
    ),
    "nothing of it": lambda ndi, x, w: ndi.zoom(x, 0, order=1) * 2,
    "a matrix of NumPy's": lambda ndi, x, w: ndi.affine_transform(x, np.eye(2), order=1),
    "labels of complex numbers": lambda ndi, x, w: ndi.label(x * 1j),
    "complex weights": lambda ndi, x, w: ndi.convolve(x, w + 1j) * 2,
}


def ndimage() -> Any:
    """The module, which CuPy does not import by itself."""
    return import_module(IMAGES)


def made(host: Host, dtype: str) -> tuple[Any, ...]:
    """An image and weights."""
    return ndimage(), host.cupy.asarray(IMAGE.astype(dtype)), host.cupy.asarray(WEIGHTS)


def test_each_filter_has_its_calls() -> None:
    """None is left out."""
    assert set(FILTERS) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_filter(host: Host, name: str) -> None:
    """Bits, dtypes and strides are eager CuPy's, in one graph."""
    for dtype in ("f8", "f4", "u1"):
        compiled = check_restated(host, CALLS[name], lambda kind=dtype: made(host, kind))  # type: ignore[misc]
        assert compiled.stats.hits
    compiled = ufuse.compile(CALLS[name])
    for _ in range(3):
        compiled(*made(host, "f8"))
    assert [one.reason for one in compiled.breaks] == []
    assert compiled.stats.eager_calls == 0


@pytest.mark.parametrize("name", RESAMPLED)
def test_resampled_and_labelled(host: Host, name: str) -> None:
    """In one graph, of images of other lengths too."""
    assert set(RESAMPLED) == {*RESAMPLING, "label"}
    for dtype in ("f8", "f4", "u1"):
        check_restated(host, RESAMPLED[name], lambda kind=dtype: made(host, kind))  # type: ignore[misc]
    compiled = ufuse.compile(RESAMPLED[name])
    for length in (9, 9, 8, 8):
        ndi, image, weights = made(host, "f8")
        wanted = RESAMPLED[name](ndi, image[:length], weights)
        found = compiled(ndi, image[:length], weights)
        assert why_different(found, wanted) is None
    assert [one.reason for one in compiled.breaks] == []
    assert compiled.stats.eager_calls == 0


@pytest.mark.parametrize("name", LEFT)
def test_a_call_that_is_left_to_cupy(host: Host, name: str) -> None:
    """What it gives, warns of or raises is as without us."""
    check_restated(host, LEFT[name], lambda: made(host, "f8"), waits_again=True)


def test_other_functions_of_the_same_name(host: Host) -> None:
    """A function of the program's that is called as one of the filters is inlined."""

    def sobel(x: Any) -> Any:
        return x * 2 + 1

    compiled = check_restated(host, lambda x: sobel(x) - 1, lambda: made(host, "f8")[1:2])
    assert not compiled.breaks

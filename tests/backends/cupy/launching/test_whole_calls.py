"""CuPy's functions that a graph calls whole: of every dtype for which they have a row, without leaving any to plain Python."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import why_different
from tests.support.restated import import_late_modules
from ufuse.graph.typing.device_calls import REDUCERS, ROWS

RNG = np.random.default_rng(61)
OTHERWISE = {
    "arange",
    "linspace",
    "array",
    "matmul",
    "dot",
    "_core._routines_indexing._ndarray_argwhere",
}
# fmt: off
CALLS: dict[str, tuple[Callable[..., Any], ...]] = {
    "einsum":       (lambda cp, x, v: cp.einsum("ij,kj->ik", x, x), lambda cp, x, v: cp.einsum("ij,ij->i", x, x) * 2),
    "trace":        (lambda cp, x, v: (cp.trace(x) * 2, x.trace(1)),),
    "sort":         (lambda cp, x, v: (cp.sort(x * 2), cp.sort(x, axis=0), cp.sort(x, axis=None)),),
    "argsort":      (lambda cp, x, v: (cp.argsort(x), x.argsort(axis=0) * 2, cp.argsort(x, axis=None)),),
    "partition":    (lambda cp, x, v: cp.partition(v, 3)[:3],),
    "argpartition": (lambda cp, x, v: v[cp.argpartition(v, 3)][:3],),
    "searchsorted": (lambda cp, x, v: (cp.searchsorted(cp.sort(v), x), cp.searchsorted(cp.sort(v), x, side="right")),),
    "digitize":     (lambda cp, x, v: (cp.digitize(x, cp.sort(v)), cp.digitize(v, cp.sort(v), right=True) * 2),),
    "convolve":     (lambda cp, x, v: (cp.convolve(v, v[:3]), cp.convolve(v, v[:3] * 2, mode="same")),),
    "fft.fft":      (lambda cp, x, v: (cp.fft.fft(x) * 2, cp.fft.fft(v, 8), cp.fft.fft(x, axis=0)),
                     lambda cp, x, v: (cp.roll(cp.fft.fft(v.reshape(2, 3, 2)), 1), cp.fft.fft(v.reshape(2, 3, 2), axis=0, n=3))),
    "fft.ifft":     (lambda cp, x, v: (cp.fft.ifft(x) * 2, cp.fft.ifft(v, 16), cp.fft.ifft(x, norm="ortho")),),
    "fft.rfft":     (lambda cp, x, v: (cp.fft.rfft(x) * 2, cp.fft.rfft(v, 8), abs(cp.fft.rfft(x, axis=0))),),
    "fft.irfft":    (lambda cp, x, v: (cp.fft.irfft(x) * 2, cp.fft.irfft(v, 8)),),
    "fft.fft2":     (lambda cp, x, v: cp.fft.fft2(x) * 2, lambda cp, x, v: cp.fft.fftshift(cp.fft.fft2(x))),
    "fft.ifft2":    (lambda cp, x, v: cp.fft.ifft2(x).real,),
    "fft.fftn":     (lambda cp, x, v: cp.fft.fftn(x) * 2, lambda cp, x, v: cp.fft.fftn(v.reshape(2, 3, 2), axes=(0, 1)) * 2),
    "fft.rfft2":    (lambda cp, x, v: cp.fft.rfft2(x) * 2,),
    "fft.rfftn":    (lambda cp, x, v: abs(cp.fft.rfftn(v.reshape(2, 3, 2))),),
    "fft.ifftn":    (lambda cp, x, v: cp.fft.ifftn(x) * 2,),
    "linalg.solve": (lambda cp, x, v: (cp.linalg.solve(x, v[:5]) * 2, cp.linalg.solve(x, x * 2)),),
    "linalg.inv":   (lambda cp, x, v: cp.linalg.inv(x) * 2,),
    "linalg.cholesky": (lambda cp, x, v: cp.linalg.cholesky((cp.arange(5) == cp.arange(5)[:, None]) * x.dtype.type(9)) * 2,),
    "linalg.qr":    (lambda cp, x, v: (*cp.linalg.qr(x), cp.linalg.qr(x[:3] * 2, mode="r")),),
    "linalg.svd":   (lambda cp, x, v: (*cp.linalg.svd(x[:3]), cp.linalg.svd(x * 2, compute_uv=False) + 1),),
    "linalg.eigh":  (lambda cp, x, v: (*cp.linalg.eigh(x), cp.linalg.eigh(x * 2, UPLO="U")[0]),),
    "linalg.lstsq": (lambda cp, x, v: (*cp.linalg.lstsq(x[:, :3], v[:5]), cp.linalg.lstsq(x * 0, v[:5])[1].sum()),),
    "linalg.eigvalsh": (lambda cp, x, v: cp.linalg.eigvalsh(x) * 2,),
    "linalg.slogdet": (lambda cp, x, v: (*cp.linalg.slogdet(x), cp.linalg.slogdet(x * 2)[1] + 1),),
    "repeat":       (lambda cp, x, v: (cp.repeat(x, 2), x.repeat(3, axis=1), cp.repeat(v, 2) + v[0]),),
    "pad":          (lambda cp, x, v: (cp.pad(x, 1), cp.pad(x, ((1, 2), (0, 1)), mode="edge"), cp.pad(v, 2, mode="reflect")),),
    "isin":         (lambda cp, x, v: cp.isin(x, v[:3]),),
    "interp":       (lambda cp, x, v: cp.interp(v, cp.arange(7.0), v[:7]) * 2,),
    "nan_to_num":   (lambda cp, x, v: cp.nan_to_num(x / x),),
    "median":       (lambda cp, x, v: (cp.median(x) * 2, cp.median(x, axis=0), cp.median(x, axis=1, keepdims=True)),),
    "percentile":   (lambda cp, x, v: (cp.percentile(x, 30) * 2, cp.percentile(x, [10, 90], axis=0)),),
    "quantile":     (lambda cp, x, v: (cp.quantile(x, 0.3) * 2, cp.quantile(v, [0.1, 0.9])),),
    "average":      (lambda cp, x, v: (cp.average(x), cp.average(x, axis=0, weights=abs(x) + 1) * 2),),
    "cov":          (lambda cp, x, v: cp.cov(x) * 2,),
    "corrcoef":     (lambda cp, x, v: cp.corrcoef(x) * 2,),
    "ptp":          (lambda cp, x, v: (cp.ptp(x), cp.ptp(x, axis=0) * 2),),
    "bincount":     (lambda cp, x, v: cp.bincount(abs(v).astype("i8")) * 2,
                     lambda cp, x, v: cp.bincount(cp.arange(12), weights=v, minlength=20)),
    "unique":       (lambda cp, x, v: cp.unique(v) * 2, lambda cp, x, v: cp.unique(v, return_counts=True)),
    "histogram":    (lambda cp, x, v: cp.histogram(v, bins=4), lambda cp, x, v: cp.histogram(v, 3, range=(-2, 2))[0] * 2),
    "histogram2d":  (lambda cp, x, v: (*cp.histogram2d(v, v * 2, bins=4), cp.histogram2d(v, v, [2, 3])[0] + 1),),
}
# fmt: on


def test_each_row_has_its_calls() -> None:
    """But for those that other tests are about."""
    assert set(ROWS) == {*CALLS, *OTHERWISE}


def compare(function: Callable[..., Any], cp: Any, dtype: str) -> None:
    """Compare three calls, of which none is left to plain Python."""
    given = [RNG.normal(size=shape) * 4 for shape in ((5, 5), (12,))]
    if dtype in "BHIL":
        given = [abs(one) for one in given]
    x, v = (cp.asarray(one.astype(dtype)) for one in given)
    try:
        wanted = function(cp, x, v)
    except (TypeError, ValueError, NotImplementedError) as error:
        raised = type(error)
        with pytest.raises(raised):
            ufuse.compile(function)(cp, x, v)
        return
    code = function.__code__.replace(co_name=f"of_{dtype}")  # what shares code shares entries
    compiled = ufuse.compile(
        FunctionType(code, function.__globals__, code.co_name, None, function.__closure__)
    )
    for _ in range(3):
        assert why_different(compiled(cp, x, v), wanted) is None
    assert [one.reason for one in compiled.breaks] == []
    assert compiled.stats.hits
    assert compiled.stats.eager_calls == 0


@pytest.mark.parametrize("name", CALLS)
def test_a_function(host: Host, name: str) -> None:
    """Of each dtype of its row."""
    import_late_modules()
    for dtype in ROWS[name].dtypes:
        for function in CALLS[name]:
            compare(function, host.cupy, dtype)


@pytest.mark.parametrize("name", REDUCERS)
def test_a_reducer(host: Host, name: str) -> None:
    """Of each dtype, along axes and of everything."""

    def reduced(cp: Any, x: Any, v: Any) -> Any:
        function = getattr(cp, name)
        return function(x) * 2, function(x, axis=0), function(v + 1, axis=-1)

    import_late_modules()
    for dtype in "bBhHiIlLfd":
        compare(reduced, host.cupy, dtype)

"""Every loop of CuPy's ufuncs on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from tests.support.cupy_host import Host
from tests.support.cupy_host.loops import Loop, loops

SIZES = 0, 1, 33
# Where CuPy defines results itself: by zero and infinity, signs, mixed integers, 64-bit integers through float64.
OWN = {
    "fmod",
    "lcm",
    "reciprocal",
    "divmod",
    "floor_divide",
    "mod",
    "remainder",
    "logical_and",
    "logical_or",
    "nextafter",
}
INTEGERS_ARE_EXACT = "?bBhHiIlLqQ"


def outputs_of(loop: Loop, host: Host, size: int) -> tuple[np.ndarray, ...]:
    """CuPy's results."""
    results = loop.ufunc(*map(host.cupy.asarray, loop.arrays(size)))
    return tuple(result.get() for result in (results if isinstance(results, tuple) else (results,)))


def wanted_of(loop: Loop, size: int) -> tuple[np.ndarray, ...] | None:
    """NumPy's results, where it has the loop."""
    ufunc = getattr(np, loop.name, None)
    if not isinstance(ufunc, np.ufunc):
        return None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = ufunc(*loop.arrays(size))
        except (TypeError, ValueError):
            return None
    return results if isinstance(results, tuple) else (results,)


def check(host: Host, chosen: Sequence[Loop]) -> None:
    """Run loops at each size, compiled together, against NumPy."""
    with host.compiler.gathering():
        for loop in chosen:
            outputs_of(loop, host, 1)
    wrong = [
        f"{loop} at size {size}"
        for loop in chosen
        for size in SIZES
        if not agrees(loop, host, size)
    ]
    assert not wrong, "\n".join(wrong)


def agrees(loop: Loop, host: Host, size: int) -> bool:
    """Whether a loop's results are NumPy's, as far as the two define the same."""
    results = outputs_of(loop, host, size)
    wanted = wanted_of(loop, size)
    if wanted is None or loop.name in OWN:
        return all(result.shape == (size,) for result in results)
    compared = np.ones(size, bool)
    if set(loop.inputs) & set("FD"):  # at zero and infinity, complex numbers are each library's own
        compared = np.all([np.isfinite(x) & (x != 0) for x in loop.arrays(size)], axis=0)
    narrow = set(loop.inputs) & set("efF")  # CuPy may compute in the type of the inputs
    return all(
        near(result[compared], want[compared], 2e-3 if "e" in narrow else 1e-5 if narrow else 1e-12)
        for result, want in zip(results, wanted, strict=True)
    )


def near(result: np.ndarray, want: np.ndarray, tolerance: float) -> bool:
    """Whether results are equal, or those of floats near each other; of other types only the number counts."""
    if result.dtype != want.dtype:
        return result.shape == want.shape
    if result.dtype.char in INTEGERS_ARE_EXACT:
        return bool((result == want).all())
    tolerance = max(tolerance, {2: 2e-3, 4: 1e-5, 8: 0}[want.real.dtype.itemsize])
    return np.allclose(result, want, rtol=tolerance, atol=1e-30, equal_nan=True)


def test_every_loop(host: Host) -> None:
    """All loops compile, and give NumPy's results where both define the same."""
    every = [loop for loop in loops(host.cupy) if loop.compiles]
    assert len(every) > 700
    check(host, every)

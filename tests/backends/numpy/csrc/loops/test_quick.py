"""Remainders, floor quotients and powers of negative numbers that are not left to NumPy's loops: its bits and warnings."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.any_python

FLOATS, WHOLE = "fd", "bBhHiIlLqQ"
LENGTHS = (1, 11, 12, 16, 17, 127, 128, 129, 700)
FUNCTIONS = {"remainder": FLOATS + WHOLE, "fmod": FLOATS, "floor_divide": FLOATS, "power": FLOATS}


def compiled(name: str) -> Callable[..., Any]:
    """A ufunc of two operands in a kernel, for a few types: one function has few specialisations."""
    ufunc = getattr(np, name)

    def function(x: Any, y: Any) -> Any:
        return ufunc(x, y)

    made = ufuse.compile(function)
    made.reset()
    return made


def outcome(function: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """The result's type, layout and bytes, and what was warned of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = function(*arguments)
    texts = [str(one.message) for one in said]
    return result.dtype, result.strides, result.tobytes(), texts


def floats(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    """Numbers of one kind: of ordinary size, whole, decimal, of every size, or with some that are not ordinary."""
    kind = rng.integers(6)
    x = rng.normal(size=count) * 10.0 ** rng.integers(-3, 6)
    if kind < 2:
        x = np.round(x, kind)
    if kind in (2, 3):
        reach = 1000 if kind == 2 and dtype.itemsize == 8 else 120
        x = np.exp2(rng.uniform(-reach, reach, count)) * rng.choice([-1, 1], count)
    x = x.astype(dtype)
    if kind == 4:
        least, most = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        x[rng.integers(0, count, 3)] = rng.choice(
            [np.nan, np.inf, -np.inf, 0, -0.0, least, most], 3
        )
    return x


def whole(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    """Whole numbers of up to some size, of every size, at the ends, or all near one of them."""
    ends = np.iinfo(dtype)
    if rng.random() < 0.2:
        near = rng.integers(1, 50, count, dtype=dtype)
        return ends.max - near if rng.random() < 0.5 else ends.min + near
    if rng.random() < 0.2:
        return rng.choice(np.array([ends.min, ends.max, 0, 1, 2, ends.max - 1], dtype), count)
    size = 2 ** int(rng.integers(1, 8 * dtype.itemsize))
    least, most = max(-size, int(ends.min)), min(size, int(ends.max))
    return rng.integers(least, most, count, dtype=dtype, endpoint=True)


def operands(rng: np.random.Generator, name: str, code: str) -> tuple[np.ndarray, Any]:
    """An array, laid out in some way, and another or a number."""
    dtype = np.dtype(code)
    draw = floats if code in FLOATS else whole
    count = int(rng.choice(LENGTHS))
    x = draw(rng, dtype, count)
    y: Any = draw(rng, dtype, count) if rng.random() < 0.5 else draw(rng, dtype, 1)[0]
    if name == "power" and rng.random() < 0.8:
        y = dtype.type(rng.integers(-18, 19))
    if rng.random() < 0.2:
        x = np.repeat(x, 2)[::2]
    elif rng.random() < 0.2:
        x = x[::-1]
    return x, y


@pytest.mark.parametrize(
    ("name", "code"), [(name, code) for name, codes in FUNCTIONS.items() for code in codes]
)
def test_the_bits_and_warnings_are_numpys(name: str, code: str) -> None:
    """Of arrays of all sorts, a few hundred for each loop."""
    rng = np.random.default_rng(ord(code) + len(name))
    function = compiled(name)
    for _ in range(300):
        x, y = operands(rng, name, code)
        assert outcome(function, x, y) == outcome(getattr(np, name), x, y), (name, code, x, y)
    assert function.stats.hits > 50, "a kernel is never used"


def test_ordinary_numbers_are_not_left_to_numpy() -> None:
    """Where the processor multiplies and adds at once; powers only where NumPy's vector code is the known one."""
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    if not (features.get("FMA3") and features.get("AVX2")):
        pytest.skip("the processor has no AVX2 and FMA")
    for name, codes in FUNCTIONS.items():
        if name == "power" and not features.get("AVX512_SKX"):
            continue
        for code in codes:
            assert _tiles.numpy_loop(getattr(np, name), (np.dtype(code),) * 3).is_quick, (
                name,
                code,
            )
    assert not _tiles.numpy_loop(np.add, (np.dtype(float),) * 3).is_quick


@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
@pytest.mark.parametrize("code", FLOATS)
def test_no_flag_is_raised_but_numpys(name: str, code: str) -> None:
    """Numbers of every size; where eager raises nothing, nothing is done twice."""
    kernel = compiled(name)
    rng = np.random.default_rng(7)
    reach = 300 if code == "d" else 40
    x, y = (np.exp2(rng.uniform(-reach, reach, 512)).astype(code) for _ in range(2))
    y = np.maximum(y, x * np.dtype(code).type(2.0**-20))
    with np.errstate(all="raise"):
        wanted = getattr(np, name)(x, y)
        for _ in range(3):
            assert kernel(x, y).tobytes() == wanted.tobytes()


def written(x, y):
    """Results over their operands, within longer programs."""
    z = x % 7
    x %= 3
    y[:] = y % x.max() if len(y) and x.max() else y
    np.remainder(y, 5, out=y)
    w = np.floor_divide(x * 2, 1.5, dtype=float)
    np.fmod(w, 2, out=w)
    z[1:] = z[:-1] % 4
    return z, w, x, (x % 2 == 0).sum(), (y**3).astype(float) - w


@pytest.mark.parametrize("dtype", [float, np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("length", [0, 5, 40, 5000])
def test_results_over_operands(dtype: type, length: int) -> None:
    """What is written over an operand reads it first."""
    x = (np.arange(length) * 7 % 31 + 1).astype(dtype)
    check_same(written, ufuse.compile(written), lambda: (x.copy(), x[::-1].copy()))


def turns(x, n):
    """Loops whose statements have these loops of NumPy."""
    phase = x.copy()
    total = 0.0
    for i in range(n):
        phase[:] = (phase * 1.7 + i) % 6.283185307179586
        total += np.floor(phase / 0.3).sum() + ((phase - 3) ** 3).sum() + (phase // 0.5)[0]
    return phase, total


def test_in_loops() -> None:
    """Array statements of native loops use them as well."""
    check_same(turns, ufuse.compile(turns), lambda: (np.linspace(-5, 5, 200), 40))

"""Kernels and programs of the executor for its tests, values for them, and what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np

from ufuse.backends.numpy import _tiles

BOOL, I4, I8, F4, F8, C16 = map(np.dtype, ("?", "i4", "i8", "f4", "f8", "c16"))
DIVIDE, OVERFLOW, UNDERFLOW, INVALID = 1, 2, 4, 8
DEFAULT_MASK = DIVIDE | OVERFLOW | INVALID
TREE_SIZES = (*range(1, 301), 511, 512, 513, 1000, 4095, 4096, 4097, 10**5 + 1, 10**6 + 3)


def bits(array: Any) -> bytes:
    """The bit patterns of the elements, without the padding of extended precision."""
    array = np.asarray(array)
    if array.dtype.char in "gG":
        array = np.ascontiguousarray(array).view(np.uint8).reshape(-1, 16)[:, :10]
    found: bytes = array.tobytes()
    return found


def assert_same(found: Any, expected: Any) -> None:
    """Demand equal types, dtypes, shapes, strides and bits."""
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert bits(found) == bits(expected)
    if isinstance(found, np.ndarray) and found.size:
        assert [s for s, n in zip(found.strides, found.shape, strict=True) if n > 1] == [
            s for s, n in zip(expected.strides, expected.shape, strict=True) if n > 1
        ]


def values_of(dtype: np.dtype[Any], size: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers of all magnitudes, with the special ones among them."""
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        made = random.integers(info.min, info.max, size, dtype=dtype, endpoint=True)
        made[random.random(size) < 0.3] = random.integers(0, 5)
        return made
    with np.errstate(all="ignore"):
        made = (random.normal(size=size) * 10.0 ** random.integers(-6, 6, size)).astype(dtype)
        if dtype.kind == "c":
            made = made + np.array(1j, dtype) * random.normal(size=size).astype(dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-8, 3e4], dtype)
    chosen = random.random(size) < 0.1
    made[chosen] = random.choice(special, chosen.sum())
    return made


def map_kernel(ufunc: np.ufunc, dtypes: tuple[Any, ...], order: Any = None) -> Any:
    """A kernel of one ufunc with new results."""
    inputs = ufunc.nin
    loop = _tiles.numpy_loop(ufunc, dtypes)
    outputs = tuple(range(inputs, len(dtypes)))
    return _tiles.Kernel(
        dtypes[:inputs],
        tuple((dtype, False) for dtype in dtypes[inputs:]),
        ((loop, tuple(range(inputs)), outputs, "map", 0),),
        tuple((output, ("new", order)) for output in outputs),
    )


def eager(ufunc: Any, *arguments: Any, **keywords: Any) -> tuple[Any, set[int]]:
    """The result of NumPy and the flags it raised."""
    seen: set[int] = set()
    with np.errstate(all="call", call=lambda _, bits: seen.add(bits)):
        result = ufunc(*arguments, **keywords)
    return result, seen


def unlike(dtype: np.dtype[Any], size: int, seed: int) -> np.ndarray[Any, Any]:
    """Numbers with NaN and zeros of both signs."""
    made = values_of(dtype, size, seed)
    chance = np.random.default_rng(seed + 9).random(size)
    for i, special in enumerate((np.nan, -np.nan, 0.0, -0.0)):
        made[(chance > i / 10) & (chance < (i + 1) / 10)] = special
    return made


def chain_kernel(**keywords: Any) -> Any:
    """((x * 2 - y) / y) ** 2 with two more uses of early values."""
    loops = {
        name: _tiles.numpy_loop(getattr(np, name), (F8,) * 3)
        for name in ("multiply", "subtract", "divide", "add")
    }
    return _tiles.Kernel(
        (F8, F8, F8),
        ((F8, False),) * 5,
        (
            (loops["multiply"], (0, 2), (3,), "map", 10),
            (loops["subtract"], (3, 1), (4,), "map", 11),
            (loops["divide"], (4, 1), (5,), "map", 12),
            (loops["multiply"], (5, 5), (6,), "map", 13),
            (loops["add"], (6, 3), (7,), "map", 14),
        ),
        ((7, ("new", None)),),
        **keywords,
    )


def chain(x: Any, y: Any) -> Any:
    """What `chain_kernel` computes."""
    doubled = x * 2.0
    quotient = (doubled - y) / y
    return quotient * quotient + doubled


def initial_of(value: Any, dtype: np.dtype[Any]) -> bytes:
    """The bytes of one element."""
    return np.array(value, dtype).tobytes()


def into_kernel(*, late_read: bool = False) -> Any:
    """x[...] = x / y; returns also x, or x read afterwards, times 1."""
    divide = _tiles.numpy_loop(np.divide, (F8,) * 3)
    return _tiles.Kernel(
        (F8, F8),
        ((F8, False), (F8, False)),
        (
            (divide, (0, 1), (2,), "map", 0),
            (_tiles.copy_loop(F8), (0 if late_read else 2,), (3,), "map", 1),
        ),
        ((2, ("into", 0)), (3, ("new", None))),
    )


def total_kernel(ufunc: np.ufunc, dtype: np.dtype[Any], initial: Any, **keywords: Any) -> Any:
    """A copy of the operand, folded: what eager folds is a fresh array."""
    start = None if initial is None else initial_of(initial, dtype)
    return _tiles.Kernel(
        (dtype,),
        ((dtype, False), (dtype, True)),
        (
            (_tiles.copy_loop(dtype), (0,), (1,), "map", 0),
            (_tiles.numpy_loop(ufunc, (dtype,) * 3), (1,), (2,), "total", 1, start),
        ),
        ((2, ("scalar",)),),
        **keywords,
    )


def square_sum_kernel(dtype: np.dtype[Any]) -> Any:
    """sum(x * x)."""
    return _tiles.Kernel(
        (dtype,),
        ((dtype, False), (dtype, True)),
        (
            (_tiles.numpy_loop(np.multiply, (dtype,) * 3), (0, 0), (1,), "map", 0),
            (
                _tiles.numpy_loop(np.add, (dtype,) * 3),
                (1,),
                (2,),
                "total",
                1,
                bytes(dtype.itemsize),
            ),
        ),
        ((2, ("scalar",)),),
    )


def row_kernel(dtype: np.dtype[Any], *, keepdims: bool = False) -> Any:
    """(x - max(x)) / sum(x - max(x)), the rows' maxima and the doubled sums."""
    loop = {
        name: _tiles.numpy_loop(getattr(np, name), (dtype,) * 3)
        for name in ("subtract", "divide", "maximum", "add")
    }
    return _tiles.Kernel(
        (dtype,),
        ((dtype, True), (dtype, False), (dtype, True), (dtype, False), (dtype, True)),
        (
            (loop["maximum"], (0,), (1,), "reduce", 0, None),
            (loop["subtract"], (0, 1), (2,), "map", 1),
            (loop["add"], (2,), (3,), "reduce", 2, bytes(dtype.itemsize)),
            (loop["divide"], (2, 3), (4,), "map", 3),
            (loop["add"], (3, 3), (5,), "map_row", 4),
        ),
        (
            (4, ("new", None)),
            (1, ("rows", keepdims)),
            (5, ("rows", keepdims)),
            (1, ("rows", keepdims)),
        ),
        rows=True,
    )


def add_program(**keywords: Any) -> Any:
    """A program of one kernel: x + 1."""
    step = ("kernel", map_kernel(np.add, (F8, F8, F8)), (0, 1), (2,), (1,), False)
    return _tiles.Program(1, 3, ((1, 1.0),), (step,), (2,), **keywords)

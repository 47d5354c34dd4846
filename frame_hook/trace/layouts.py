"""How the elements of an example array lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_BYTES = 1 << 47  # no process has room for more, so NumPy refuses to make such an array


def memory_order(value: np.ndarray) -> tuple[int, ...] | None:
    """The axes from slowest to fastest, or None where strides are zero, negative or equal, or overlap oddly."""
    strides = value.strides
    if value.size == 0:
        return tuple(range(value.ndim))  # NumPy may give it any strides
    real = [axis for axis in range(value.ndim) if value.shape[axis] != 1]
    if any(strides[axis] < value.itemsize for axis in real):
        return None
    if len({strides[axis] for axis in real}) < len(real):
        return None  # turned, such axes would go on being in C order
    flags = value.flags
    if len(real) < value.ndim and not (flags.c_contiguous or flags.f_contiguous):
        return tuple(sorted(range(value.ndim), key=lambda axis: (-abs(strides[axis]), axis)))
    # in contiguous memory NumPy ignores the strides of axes of length 1: they take the place that C order gives them
    ordered = sorted(real, key=lambda axis: (-strides[axis], axis))
    if ordered == real:
        return tuple(range(value.ndim))
    result = list(range(value.ndim))
    for place, axis in zip(real, ordered, strict=True):
        result[place] = axis
    return tuple(result)


def elements_apart(value: np.ndarray) -> bool:
    """Whether each axis steps over all that axes with shorter steps reach, so that elements share no memory."""
    real = [(abs(s), n) for s, n in zip(value.strides, value.shape, strict=True) if n != 1]
    reach = value.itemsize
    for step, length in sorted(real):
        if step < reach and value.size:
            return False
        reach += (length - 1) * step
    return True


def fills_memory(value: np.ndarray, order: tuple[int, ...]) -> bool:
    """Whether the elements lie in memory in that order without gaps."""
    expected = value.itemsize
    if value.size == 0:
        return True
    for axis in reversed(order):
        if value.shape[axis] != 1:
            if value.strides[axis] != expected:
                return False
            expected *= value.shape[axis]
    return True


def address_of(value: Any) -> int:
    """Where the first element is, of an array of NumPy's or CuPy's."""
    if isinstance(value, np.ndarray):
        return value.__array_interface__["data"][0]  # type: ignore[no-any-return]
    return int(value.data.ptr)


def memory_bounds(value: np.ndarray) -> tuple[int, int]:
    """The lowest address of the elements, and the end of the highest; 0 and 0 where there are none."""
    if value.size == 0:
        return 0, 0
    low = high = address_of(value)
    for step, length in zip(value.strides, value.shape, strict=True):
        if step < 0:
            low += (length - 1) * step
        else:
            high += (length - 1) * step
    return low, high + value.itemsize

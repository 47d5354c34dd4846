"""CuPy's arrays as the comparer looks at them; CuPy itself is not imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np


def is_array(value: object) -> bool:
    """Whether it is an array of NumPy's or CuPy's."""
    return isinstance(value, np.ndarray) or is_device_array(value)


def is_device_array(value: object) -> bool:
    """Whether it is an array of CuPy's."""
    kind = type(value)
    return kind.__name__ == "ndarray" and kind.__module__.partition(".")[0] == "cupy"


def face(array: Any) -> Any:
    """An array of NumPy's that lies where `array` does; of a device's, one whose memory nobody may look at."""
    if isinstance(array, np.ndarray):
        return array
    described = {
        "data": (array.data.ptr or 8, False),  # nothing may lie at 0
        "shape": array.shape,
        "strides": array.strides,
        "typestr": array.dtype.str,
        "version": 3,
    }
    return np.asarray(SimpleNamespace(__array_interface__=described))


def on_host(array: Any) -> Any:
    """The elements of an array as NumPy's; a device has one NaN, whose bits on the test device are the host compiler's affair."""
    if isinstance(array, np.ndarray):
        return array
    elements = array.get()
    if elements.dtype.kind == "c":
        parts = elements.reshape(-1).view(f"f{elements.itemsize // 2}")
        parts[np.isnan(parts)] = np.nan
    elif elements.dtype.kind == "f":
        elements[np.isnan(elements)] = np.nan
    return elements

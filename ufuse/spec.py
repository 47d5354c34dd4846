"""Stand-ins for arrays when there is no data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ufuse.backends import protocol
from ufuse.errors import BackendUnavailable
from ufuse.frame_hook.trace.followed import is_followed
from ufuse.graph.typing.library import is_device_array

# The lengths of open dimensions in examples, by axis from the last: all different, and unlikely in programs.
FREE_SIZES = (
    5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113,
    127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227, 229, 233, 239, 241,
    251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311, 313, 317,
)  # fmt: skip
DEVICES = ("cpu", "cuda")
MOST_DIMENSIONS = 64  # of NumPy's arrays


@dataclass(frozen=True, slots=True, init=False)
class Spec:
    """Stands for an array when tracing without data.

    Args:
        shape: a tuple of whole numbers; None is an open dimension. Open dimensions that broadcast together are taken
            to be equal.
        dtype: anything `np.dtype` takes; bool, int, float or complex in the machine's byte order, and no long double.
        device: "cpu", or "cuda" for an array of CuPy's, which needs CuPy but no GPU.

    Raises:
        TypeError: shape is not a sequence of whole numbers and None, or dtype is none of these.
        ValueError: a dimension is negative, there are more of them than NumPy's arrays have, or the device is unknown.

    Example:
        >>> Spec((None, 3), "f8")
        Spec((None, 3), 'float64')

    """

    shape: tuple[int | None, ...]
    dtype: np.dtype[Any]
    device: str

    def __init__(self, shape: Any, dtype: Any, device: str = "cpu") -> None:
        if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
            raise TypeError(
                f"shape must be a tuple of whole numbers and None, such as (None, 3), not {shape!r}"
            )
        dimensions = tuple(shape)
        if len(dimensions) > MOST_DIMENSIONS:
            raise ValueError(
                f"shape must have at most {MOST_DIMENSIONS} dimensions, as NumPy's arrays do, not {len(dimensions)}"
            )
        for dimension in dimensions:
            if dimension is not None and (
                isinstance(dimension, bool) or not isinstance(dimension, (int, np.integer))
            ):
                raise TypeError(f"shape must hold whole numbers and None only, not {dimension!r}")
            if dimension is not None and dimension < 0:
                raise ValueError(f"shape must not hold negative numbers, as {dimension} is")
        try:
            kind = np.dtype(dtype)
        except TypeError as error:
            raise TypeError(
                f"dtype must be a NumPy dtype such as 'f8' or np.float32: {error}"
            ) from None
        if not is_followed(kind):
            raise TypeError(
                "dtype must be bool, int, float or complex, no long double and in the machine's byte order, "
                f"not {kind!r}"
            )
        if device not in DEVICES:
            raise ValueError(f"device must be 'cpu' or 'cuda', not {device!r}")
        object.__setattr__(self, "shape", tuple(None if d is None else int(d) for d in dimensions))
        object.__setattr__(self, "dtype", kind)
        object.__setattr__(self, "device", device)

    def __repr__(self) -> str:
        device = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"Spec({self.shape}, {self.dtype.name!r}{device})"

    def example(self) -> Any:
        """An array of this kind, to trace with.

        Open dimensions get sizes of their own, counted from the last axis: so arrays of several specs broadcast.
        """
        sizes = reversed(FREE_SIZES[: len(self.shape)])
        shape = tuple(size if d is None else d for size, d in zip(sizes, self.shape, strict=True))
        return np.ones(shape, self.dtype) if self.device == "cpu" else on_device(shape, self.dtype)

    def why_not(self, value: Any) -> str | None:
        """What an argument is that is not of this kind, or None."""
        if not (
            isinstance(value, np.ndarray) if self.device == "cpu" else is_device_array(type(value))
        ):
            return f"a {type(value).__name__}"
        if value.dtype != self.dtype:
            return f"an array of {value.dtype}"
        if value.ndim != len(self.shape):
            return f"an array with {value.ndim} dimension{'' if value.ndim == 1 else 's'}"
        for axis, (wanted, length) in enumerate(zip(self.shape, value.shape, strict=True)):
            if wanted is not None and wanted != length:
                return f"an array of length {length} along axis {axis}"
        return None


def on_device(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array of CuPy's over memory of the host's, of which only shape, strides and dtype are asked.

    Raises:
        BackendUnavailable: CuPy cannot be imported.

    """
    try:
        protocol.backend_named("cupy")
    except protocol.BackendUnavailable as missing:
        raise BackendUnavailable(str(missing)) from None
    import cupy  # noqa: PLC0415  an import of ufuse imports it never

    memory = np.ones(shape, dtype)
    whole = cupy.cuda.UnownedMemory(memory.ctypes.data, memory.nbytes, memory, 0)
    return cupy.ndarray(shape, dtype, memptr=cupy.cuda.MemoryPointer(whole, 0))

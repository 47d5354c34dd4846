"""What a kernel runs for one operation: an inner loop over elements, or a fold of them."""

from __future__ import annotations

import numpy as np

from ufuse.graph.records import record


@record
class Loop:
    """An inner loop: the library's own for a ufunc, or a copy, cast or choice. `dtypes` end with the output's."""

    kind: str  # "ufunc", "cast", "copy", "where" or "gather"; of a fold in a library's own order "library"
    name: str
    dtypes: tuple[np.dtype, ...]
    ufunc: np.ufunc | None = None

    def __str__(self) -> str:
        return f"{self.name}[{''.join(dtype.char for dtype in self.dtypes[:-1])}->{self.dtypes[-1].char}]"


def cast_loop(source: np.dtype, result: np.dtype) -> Loop:
    """The conversion that `astype` does."""
    return Loop("cast", "cast", (source, result))


def copy_loop(dtype: np.dtype) -> Loop:
    """The identity."""
    return Loop("copy", "copy", (dtype, dtype))


@record
class Fold:
    """How a kernel folds: every element ("total"), along the last axis ("reduce"), or along `axes` ("tree")."""

    kind: str
    loop: Loop
    initial: bytes | None
    axes: tuple[int, ...] | None = None


Axis = tuple[int, int]


@record
class Roll:
    """An array whose elements are moved along axes: for each the axis, and by how many places."""

    dtype: np.dtype
    shifts: tuple[tuple[int, int], ...]


@record
class Gather:
    """How elements are picked from an array: one for each element of the kernel.

    `places` has for each axis of the array the number of the input that says where along it, or, where all of the axis
    is taken, the axis, and how many axes of the result come behind its own.
    """

    loop: Loop
    places: tuple[int | Axis, ...]

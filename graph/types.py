"""What is known of a value before the program runs: dtype, shape, memory order."""

from __future__ import annotations

from typing import Union

import numpy as np

from ufuse.graph.records import record
from ufuse.graph.size import Size


@record
class ArrayType:
    """A NumPy array, or (`scalar`) a NumPy scalar such as `np.float64`.

    `order` lists the axes from the slowest-varying in memory to the fastest: `(0, 1)` is C order, `(1, 0)`
    Fortran order. `contiguous` says that the elements fill their memory in that order without gaps.
    `order` is None where it is not known (negative, zero or equal strides): such an array may be read, but a
    result that takes its layout from it is not predicted, unless `steps` are known: strides that compare with 0 and
    with one another as those of the array do, which then has gaps, goes backwards, or repeats elements. A vector that
    does has them beside its order.
    `device` is where the elements are: "" the host's memory, "cuda" that of the current CUDA device, whose arrays
    are CuPy's.
    """

    dtype: np.dtype
    shape: tuple[Size, ...]
    order: tuple[int, ...] | None = None
    contiguous: bool = True
    scalar: bool = False
    device: str = ""
    steps: tuple[int, ...] | None = None

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


@record
class NumberType:
    """A Python number known only when the program runs; `kind` is int, float, complex or bool.

    `value` is the expression an int is known by, if it takes part in sizes.
    """

    kind: str
    value: Size | None = None


@record
class GeneratorType:
    """A generator of random numbers of NumPy's: `kind` is the name of its class, Generator or RandomState."""

    kind: str


@record
class NothingType:
    """What an op gives that is there for its effect."""


@record
class TupleType:
    """Several results of one node (a loop, a branch, some calls); `item` nodes take them apart."""

    items: tuple[Type, ...]


@record
class Span:
    """The entry of a normalised basic index that keeps an axis: `length` elements from `start`, `step` apart.

    Every element lies inside the axis; `start` is never negative, `step` never 0.
    """

    start: Size
    length: Size
    step: int = 1


Type = Union["ArrayType", "NumberType", "GeneratorType", "NothingType", "TupleType"]


def c_order(ndim: int) -> tuple[int, ...]:
    """The memory order of a C-contiguous array."""
    return tuple(range(ndim))


def array(
    dtype: object, shape: tuple[Size, ...], order: tuple[int, ...] | None = None
) -> ArrayType:
    """The type of a fresh contiguous array; C order unless said otherwise."""
    return ArrayType(np.dtype(dtype), shape, c_order(len(shape)) if order is None else order)  # type: ignore[call-overload]

"""Arrays, their parts, and expressions of them that are not computed yet."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from ufuse.frame_hook.nests.known.kinds import ArrayKind, Holder, NumberKind, ViewKind
from ufuse.graph.nest_types import Value
from ufuse.graph.records import record


@record
class Array:
    """An array (`indices` is empty), or the part of it that some leading indices leave."""

    holder: Holder
    indices: tuple[Value, ...] = ()


@record
class Numbers:
    """A list or tuple from outside of the loop whose items are numbers of one type, as an array of them."""

    holder: ArrayKind
    type: NumberKind


@record
class Table:
    """A list or tuple from outside of the loop of lists or tuples of numbers of one type, as an array of them."""

    holder: ArrayKind
    type: NumberKind


@record
class Row:
    """One of the lists in a table."""

    holder: ArrayKind
    type: NumberKind
    index: Value


@record
class Objects:
    """A list or tuple from outside of the loop of objects of one class, as an array that has only a length."""

    holder: ArrayKind


@record
class Member:
    """One of these objects."""

    holder: ArrayKind
    index: Value


@record
class OtherList:
    """A list from outside of the loop that had no numbers of one type when it was seen: it may get some."""

    holder: ArrayKind


@record
class Length:
    """The length of an axis; one that is known to be 1 fits any other. `seen`: the least that it was seen to be."""

    value: Value
    is_one: bool = False
    seen: int = 0


@record
class Axis:
    """An axis of a view: that of the array which it walks (None: a new one), and by which step.

    `computed`: the step where it is computed; `step` is 1 then.
    """

    length: Length
    axis: int | None = None
    step: int = 1
    computed: Value | None = None


@record
class Window:
    """A few elements of an array as they most likely are, along each axis of it.

    Where they begin, if bounds are neither counted from the end nor cut off; how many they are there (0: it is an index
    that stands there); what has to be as many, where that is not sure; and what has to be where they begin, where that
    is another integer.
    """

    starts: tuple[Value, ...]
    counts: tuple[int, ...]
    lengths: tuple[Value | None, ...]
    bounds: tuple[Value | None, ...]


@record
class Part:
    """A view: for each axis of the array where it begins there, and its own axes.

    `bound`: what it is where variables are bound to it, which are one object then. `window`: what it most likely is.
    """

    holder: Holder
    dtype: np.dtype
    places: tuple[Value, ...]
    axes: tuple[Axis, ...]
    bound: ViewKind | None = field(default=None, compare=False)
    window: Window | None = field(default=None, compare=False)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Its shape."""
        return tuple(one.length for one in self.axes)


@record
class Rolled:
    """A view whose elements are moved along an axis by so many places, from 0 up to its length.

    `is_view`: the array that it becomes by itself is a view of a new one.
    """

    of: Part
    axis: int
    places: Value
    is_view: bool

    @property
    def dtype(self) -> np.dtype:
        """Of its elements."""
        return self.of.dtype

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Its shape."""
        return self.of.lengths


@record
class Lazy:
    """An elementwise operation that is computed where its result is used, as `Step` of `graph/nest.py` has it."""

    name: str
    dtypes: tuple[np.dtype, ...]
    inputs: tuple[Part | Lazy | Rolled | Converted, ...]
    lengths: tuple[Length, ...]

    @property
    def dtype(self) -> np.dtype:
        """Of its elements."""
        return self.dtypes[-1]


@record
class Converted:
    """A number as an operand of an elementwise operation, converted to a dtype."""

    value: Value
    dtype: np.dtype


@record
class ListPart:
    """A slice of a list, to be gone over: where it begins and how long it is."""

    sequence: Numbers | Table | Objects
    start: Value
    count: Value


ArrayItem = Array | Part | Lazy

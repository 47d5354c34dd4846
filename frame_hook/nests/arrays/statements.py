"""Statements over arrays in the code of a nest: one for an expression whose operands are views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.arrays import Array, Axis, Converted, Lazy, Length, Part, Rolled
from ufuse.frame_hook.nests.known.kinds import ArrayKind, Holder, NotNativeError
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import Map, Scalar, Step, View
from ufuse.graph.nest_types import COMPLEX, ELEMENTS, MAP_AXES, Value

MANY_ELEMENTS = 100_000  # of a statement: graphs compute longer ones in one pass for several
MOST_ELEMENTS = 4_000_000  # of a statement: to save more takes long
TOO_LONG = "its arrays are long"


def emit(reader: Reader, target: Part, value: Lazy) -> None:
    """The statement that computes an expression without rolled views, and puts it into an array."""
    if isinstance(target.holder, ArrayKind):
        reader.stored.add(target.holder.slot)
    if not 1 <= len(target.axes) <= MAP_AXES:
        raise NotNativeError(f"an array has no axes, or more than {MAP_AXES}")
    note_length(reader, target.axes)
    leaves: dict[Part | Converted, int] = {}
    order: list[Lazy] = []
    collect(value, leaves, order)
    numbers: dict[Any, int] = dict(leaves)
    steps: list[Step] = []
    for one in order:
        steps.append(Step(one.name, one.dtypes, tuple(numbers[each] for each in one.inputs)))
        numbers[one] = len(leaves) + len(steps) - 1
    inputs: list[Value] = [axis.length.value for axis in target.axes]
    operands: list[View | Scalar] = []
    for leaf in leaves:
        if isinstance(leaf, Converted):
            operands.append(Scalar(leaf.dtype))
            inputs.append(leaf.value)
        else:
            operands.append(view_of(reader, leaf, len(target.axes)))
            inputs += places_of(leaf)
    parts = [target, *(leaf for leaf in leaves if isinstance(leaf, Part))]
    reader.reads_neighbours = reader.reads_neighbours or _are_neighbours(parts)
    inputs += places_of(target)
    view = view_of(reader, target, len(target.axes))
    reader.out.map(Map(len(target.axes), tuple(operands), tuple(steps), view), *inputs)


def note_length(reader: Reader, axes: Sequence[Axis]) -> None:
    """Refuse a statement over too many elements; note one over many.

    Raises:
        NotNativeError: it is too long.

    """
    elements = math.prod(max(1, axis.length.seen) for axis in axes)
    if elements > MOST_ELEMENTS:
        raise NotNativeError(TOO_LONG)
    reader.is_long = reader.is_long or elements > MANY_ELEMENTS


def refuse_long(reader: Reader) -> None:
    """Refuse a loop with long statements, unless one of them reads neighbours: a graph can do the others at once.

    Raises:
        NotNativeError: it has long statements.

    """
    if reader.is_long and not reader.reads_neighbours:
        raise NotNativeError(TOO_LONG)


def _are_neighbours(parts: Sequence[Part]) -> bool:
    """Whether some are different parts of one array."""
    seen: dict[Holder, Part] = {}
    return any(seen.setdefault(one.holder, one) != one for one in parts)


def collect(one: Lazy, leaves: dict[Part | Converted, int], order: list[Lazy]) -> None:
    """Number the leaves of an expression; its operations, each behind those that it needs."""
    for each in one.inputs:
        if isinstance(each, Lazy):
            collect(each, leaves, order)
        else:
            assert not isinstance(each, Rolled)
            leaves.setdefault(each, len(leaves))
    if one not in order:
        order.append(one)


def view_of(reader: Reader, one: Part, ndim: int) -> View:
    """A view as an operand over so many axes: its own are the last ones."""
    axes = [_walked(axis) for axis in one.axes][max(0, len(one.axes) - ndim) :]
    return View(reader.array(one.holder), (*[None] * (ndim - len(axes)), *axes))


def places_of(one: Part) -> list[Value]:
    """The inputs of a view as an operand: where it begins, and its computed steps."""
    steps = [axis.computed for axis in one.axes if axis.computed is not None and _walked(axis)]
    return [*one.places, *steps]


def _walked(axis: Axis) -> tuple[int, int | None] | None:
    if axis.axis is None or axis.length.is_one:
        return None
    return axis.axis, None if axis.computed is not None else axis.step


def allocated(reader: Reader, kind: np.dtype, lengths: Sequence[Length]) -> Array:
    """A new array with any contents."""
    if not 1 <= len(lengths) <= MAP_AXES:
        raise NotNativeError(f"an array has no axes, or more than {MAP_AXES}")
    if kind not in ELEMENTS and kind != COMPLEX:
        raise NotNativeError(f"a new array of {kind}")
    holder = reader.temporary(kind, tuple((one.is_one, one.seen) for one in lengths))
    reader.out.alloc(reader.array(holder), *(one.value for one in lengths))
    return Array(holder)

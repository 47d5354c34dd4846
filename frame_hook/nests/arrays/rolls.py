"""Rolled arrays in array statements: a statement for each region in which every operand is a plain view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod

from ufuse.frame_hook.nests.arrays import statements, views
from ufuse.frame_hook.nests.known.arrays import Axis, Converted, Lazy, Length, Part, Rolled
from ufuse.frame_hook.nests.known.integers import minus, plus, times
from ufuse.frame_hook.nests.known.kinds import ArrayKind
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph import ops
from ufuse.graph.nest_types import I1, I64, Value

MOVES = frozenset({"copy", "cast", "where"})
MOST_REGIONS = 27  # three along each of three axes

Leaf = Part | Rolled | Converted
Bounds = tuple[Value, Value]


def rolled(reader: Reader, one: Part, axis: int, shift: Value, *, is_view: bool) -> Lazy:
    """A view that is rolled along an axis, as an expression."""
    length = one.axes[axis].length
    leaf: Leaf = one
    if not length.is_one or is_view:
        places = reader.out.op("mod", I64, shift, length.value)
        leaf = Rolled(one, axis, places, is_view)
    return Lazy("copy", (one.dtype, one.dtype), (leaf,), one.lengths)


def as_operand(item: Lazy) -> Lazy | Rolled:
    """What an expression takes in the place of a rolled view."""
    (first, *_) = item.inputs
    return first if item.name == "copy" and isinstance(first, Rolled) else item


def is_view(item: Lazy) -> bool:
    """Whether an expression, as an array, is a view of a new one."""
    one = as_operand(item)
    return isinstance(one, Rolled) and one.is_view


def of_its_own(item: Lazy) -> Lazy:
    """The expression as an array that owns its memory."""
    one = as_operand(item)
    if not isinstance(one, Rolled) or not one.is_view:
        return item
    return replace(item, inputs=(replace(one, is_view=False),))


def are_in(item: Lazy) -> bool:
    """Whether an expression has rolled views."""
    return any(
        are_in(one) if isinstance(one, Lazy) else isinstance(one, Rolled) for one in item.inputs
    )


def store(reader: Reader, target: Part, value: Lazy) -> None:
    """Store an expression with rolled views."""
    leaves: dict[Leaf, None] = {}
    _collect(value, leaves)
    found = [one for one in leaves if isinstance(one, Rolled)]
    cuts = [_cuts(reader, target, axis, found) for axis in range(len(target.axes))]
    is_apart = not isinstance(target.holder, ArrayKind) and all(
        one.of.holder != target.holder for one in found
    )
    is_apart &= all(
        isinstance(one, Converted) or len(one.lengths) <= len(target.axes) for one in leaves
    )
    if not is_apart or _depends_on_strides(value) or prod(len(c) + 1 for c in cuts) > MOST_REGIONS:
        copies: dict[Leaf, Leaf] = {one: _copied(reader, one) for one in found}
        statements.emit(reader, target, _replaced(value, copies))
        return
    zero = reader.out.constant(I64, 0)
    bounds = [
        list(pairwise((zero, *places, axis.length.value)))
        for places, axis in zip(cuts, target.axes, strict=True)
    ]
    for region in product(*bounds):
        here: dict[Leaf, Leaf] = {one: _within(reader, one, region) for one in leaves}
        part = _part_within(reader, target, region)
        statements.emit(reader, part, _replaced(value, here))


def _collect(one: Lazy, leaves: dict[Leaf, None]) -> None:
    for each in one.inputs:
        if isinstance(each, Lazy):
            _collect(each, leaves)
        else:
            leaves.setdefault(each)


def _depends_on_strides(one: Lazy) -> bool:
    if one.name not in MOVES and ops.depends_on_strides(one.name, *one.dtypes):
        return True
    return any(isinstance(each, Lazy) and _depends_on_strides(each) for each in one.inputs)


def _replaced(one: Lazy, new: Mapping[Leaf, Leaf]) -> Lazy:
    """An expression with other leaves."""
    inputs = tuple(
        _replaced(each, new) if isinstance(each, Lazy) else new.get(each, each)
        for each in one.inputs
    )
    return replace(one, inputs=inputs)


def _copied(reader: Reader, one: Rolled) -> Part:
    """A rolled view as a new array."""
    fresh = views.part(reader, statements.allocated(reader, one.dtype, one.lengths))
    store(reader, fresh, Lazy("copy", (one.dtype, one.dtype), (one,), one.lengths))
    return fresh


def _cuts(reader: Reader, target: Part, axis: int, found: Sequence[Rolled]) -> list[Value]:
    """Where along an axis some rolled view begins anew, in order."""
    behind = len(target.axes) - axis
    cuts = list(dict.fromkeys(one.places for one in found if len(one.of.axes) - one.axis == behind))
    out = reader.out
    for end in range(len(cuts) - 1, 0, -1):  # what is largest goes to the end
        for i in range(end):
            left, right = cuts[i], cuts[i + 1]
            is_greater = out.op("igt", I1, left, right)
            cuts[i] = out.op("select", I64, is_greater, right, left)
            cuts[i + 1] = out.op("select", I64, is_greater, left, right)
    return cuts


def _within(reader: Reader, one: Leaf, region: Sequence[Bounds]) -> Leaf:
    """A leaf as a plain view of what a region takes of it."""
    if isinstance(one, Converted):
        return one
    if isinstance(one, Part):
        return _part_within(reader, one, region)
    out, axes = reader.out, one.of.axes
    begin, end = region[len(region) - len(axes) + one.axis]
    length = axes[one.axis].length.value
    source = minus(out, begin, one.places)
    is_before = out.op("ilt", I1, source, out.constant(I64, 0))
    source = out.op("select", I64, is_before, plus(out, source, length), source)
    moved = [*region]
    moved[len(region) - len(axes) + one.axis] = (source, plus(out, source, minus(out, end, begin)))
    return _part_within(reader, one.of, moved)


def _part_within(reader: Reader, one: Part, region: Sequence[Bounds]) -> Part:
    """What a region, whose last axes are the view's, takes of it."""
    out = reader.out
    places, axes = list(one.places), list[Axis]()
    for axis, (begin, end) in zip(one.axes, region[len(region) - len(one.axes) :], strict=True):
        if axis.length.is_one or _is_all(reader, axis, begin, end):
            axes.append(axis)
            continue
        if axis.axis is not None:
            by = times(out, begin, axis.step)
            if axis.computed is not None:
                by = out.op("mul", I64, begin, axis.computed)
            places[axis.axis] = plus(out, places[axis.axis], by)
        length = Length(minus(out, end, begin), seen=axis.length.seen)
        axes.append(replace(axis, length=length))
    return Part(one.holder, one.dtype, tuple(places), tuple(axes))


def _is_all(reader: Reader, axis: Axis, begin: Value, end: Value) -> bool:
    return reader.out.known(begin) == 0 and end == axis.length.value

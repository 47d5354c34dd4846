"""Which part of a buffer a chain of views sees: equal parts, and parts that provably share no element."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ufuse.graph.records import record
from ufuse.graph.size import Size
from ufuse.graph.types import Span

Step = tuple[str, Any]


@record
class Region:
    """What views leave of a buffer.

    `axes` has an entry for every axis of the buffer: a `Span`, or the one index that is left. `view` says for
    every axis of the view which axis of the buffer it walks (None: a new axis of length 1). `rest` are the
    steps from the first one on that is not understood (a reshape, nothing of a new axis): compared, never analysed.
    """

    axes: tuple[Span | Size, ...]
    view: tuple[int | None, ...]
    rest: tuple[Step, ...] = ()


def whole(shape: tuple[Size, ...]) -> Region:
    """All of a buffer."""
    return Region(tuple(Span(0, length, 1) for length in shape), tuple(range(len(shape))))


def region_of_view(region: Region, name: str, attributes: Mapping[str, Any]) -> Region:
    """The region after one more view step."""
    if region.rest or name not in {"index", "transpose"} or _empties_new_axis(region, attributes):
        frozen = tuple(sorted((key, _frozen(value)) for key, value in attributes.items()))
        return replace(region, rest=(*region.rest, (name, frozen)))
    if name == "transpose":
        return replace(region, view=tuple(region.view[axis] for axis in attributes["axes"]))
    axes = list(region.axes)
    view: list[int | None] = []
    entries = iter(region.view)
    for entry in attributes["index"]:
        if entry is None:
            view.append(None)
            continue
        axis = next(entries)
        if axis is None:
            if isinstance(entry, Span):
                view.append(None)
            continue
        base = axes[axis]
        assert isinstance(base, Span)
        axes[axis] = _part(base, entry)
        if isinstance(entry, Span):
            view.append(axis)
    return Region(tuple(axes), (*view, *entries))


def _part(base: Span, entry: Span | Size) -> Span | Size:
    """The part of an axis of the buffer that an entry leaves of what earlier views left."""
    if base.start == 0 and base.step == 1:
        return entry
    if isinstance(entry, Span):
        return Span(base.start + base.step * entry.start, entry.length, base.step * entry.step)
    return base.start + base.step * entry


def _empties_new_axis(region: Region, attributes: Mapping[str, Any]) -> bool:
    """Whether an index leaves nothing of a new axis, or perhaps nothing: regions do not say how long these are."""
    old = [entry for entry in attributes.get("index", ()) if entry is not None]
    return any(
        axis is None and isinstance(entry, Span) and entry.length != 1
        for axis, entry in zip(region.view, old, strict=False)
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def may_overlap(one: Region, other: Region) -> bool:
    """Whether two regions of the same buffer may share an element; sure only where it says no."""
    return not any(_apart(a, b) for a, b in zip(one.axes, other.axes, strict=True))


def covers(one: Region, other: Region, shape: tuple[Size, ...]) -> bool:
    """Whether all elements of `other` are in `one`, parts of a buffer of that shape; sure only where it says yes."""
    if one.rest:
        return one == other
    return all(
        a == b or _holds(a, b, n) for a, b, n in zip(one.axes, other.axes, shape, strict=True)
    )


def _holds(one: Span | Size, other: Span | Size, length: Size) -> bool:
    """Whether an entry has all of another's elements, in an axis of that length, in which all lie."""
    a, b = _span(one), _span(other)
    if abs(a.step) != 1:
        return False
    low, end = _first(a), _end(a)
    return (low == 0 or _at_most_zero(low - _first(b))) and (
        end == length or _at_most_zero(_end(b) - end)
    )


def is_dense(region: Region) -> bool:
    """Whether a region has every element between its least and its greatest index, along every axis."""
    return not region.rest and all(abs(_span(entry).step) == 1 for entry in region.axes)


Extent = tuple[tuple[object, ...], int, int]


@lru_cache(maxsize=4096)
def extent(entry: Span | Size) -> Extent | None:
    """The least and the greatest index, both counted from one symbolic base; None where they have none in common."""
    span = _span(entry)
    (base, low), (other, end) = _split(_first(span)), _split(_end(span))
    return (base, low, end - 1) if base == other and low < end else None


def _split(size: Size) -> tuple[tuple[object, ...], int]:
    """A size as what is symbolic of it, and the number added to that."""
    if isinstance(size, int):
        return (), size
    *rest, (monomial, factor) = size.terms  # the number, if any, stands last
    return (size.terms, 0) if monomial else (tuple(rest), factor)


@lru_cache(maxsize=4096)
def _apart(one: Span | Size, other: Span | Size) -> bool:
    a, b = _span(one), _span(other)
    if _at_most_zero(_end(a) - _first(b)) or _at_most_zero(_end(b) - _first(a)):
        return True
    step = abs(a.step)
    if step > 1 and step == abs(b.step):
        shift = a.start - b.start
        return isinstance(shift, int) and shift % step != 0
    return False


def _span(entry: Span | Size) -> Span:
    return entry if isinstance(entry, Span) else Span(entry, 1, 1)


def _first(span: Span) -> Size:
    return span.start if span.step > 0 else span.start + span.step * (span.length - 1)


def _end(span: Span) -> Size:
    """One more than the greatest index."""
    if span.step == 1:
        return span.start + span.length
    return (span.start + span.step * (span.length - 1) if span.step > 0 else span.start) + 1


def _at_most_zero(value: Size) -> bool:
    return isinstance(value, int) and value <= 0

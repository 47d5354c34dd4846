"""Lists of lists of several lengths, which a loop reads alone: adjacency lists.

One array has them all: for each list where its numbers begin, and where those of the last one end; behind that the
numbers, list by list. Where there are floats among them, it is one of floats.
"""

from __future__ import annotations

from ufuse.frame_hook.nests.arrays import elements, views
from ufuse.frame_hook.nests.known.containers import Ragged, RaggedRow
from ufuse.frame_hook.nests.known.integers import doubt_outside, minus, wrapped
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.nests.reading.operations import ELEMENT, LENGTH
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I64, Value


def _place(reader: Reader, of: Ragged, index: Value) -> Value:
    """Where the numbers of a row begin: the element of the array with the row's place."""
    one = elements.part(reader, of.holder, (index,))
    assert isinstance(one, Number)
    return reader.out.op("to_i64", I64, one.value) if of.type.is_real else one.value


def row(reader: Reader, of: Ragged, index: Value) -> RaggedRow:
    """That at a place, which is known to be there."""
    behind = reader.out.op("add", I64, index, reader.out.constant(I64, 1))
    start = _place(reader, of, index)
    return RaggedRow(of, start, minus(reader.out, _place(reader, of, behind), start))


@LENGTH.of(Ragged)
def length(reader: Reader, of: Ragged) -> Number:
    """How many lists there are."""
    first = _place(reader, of, reader.out.constant(I64, 0))
    return Number(INT, minus(reader.out, first, reader.out.constant(I64, 1)))


@LENGTH.of(RaggedRow)
def row_length(reader: Reader, item: RaggedRow) -> Number:
    """How many items one of them has."""
    width = len(item.of.columns)
    if width == 1:
        return Number(INT, item.count)
    return Number(INT, reader.out.op("floordiv", I64, item.count, reader.out.constant(I64, width)))


def item_at(reader: Reader, of: Ragged, place: Value) -> Item:
    """The item of a row that begins at a place of the array."""
    numbers = []
    for i, kind in enumerate(of.columns):
        at = reader.out.op("add", I64, place, reader.out.constant(I64, i)) if i else place
        one = elements.part(reader, of.holder, (at,))
        assert isinstance(one, Number)
        is_whole = of.type.is_real and not kind.is_real
        value = reader.out.op("to_i64", I64, one.value) if is_whole else one.value
        numbers.append(Number(kind, value))
    return Items(tuple(numbers)) if of.has_tuples else numbers[0]


@ELEMENT.of(Ragged)
def element(reader: Reader, of: Ragged, key: Item) -> RaggedRow:
    """`of[key]`."""
    return row(reader, of, _inside(reader, key, length(reader, of).value))


@ELEMENT.of(RaggedRow)
def item(reader: Reader, container: RaggedRow, key: Item) -> Item:
    """`container[key]`."""
    if container.of.has_sets:
        raise NotNativeError("it takes an item of a set")
    place = _inside(reader, key, row_length(reader, container).value)
    return item_at(reader, container.of, item_place(reader, container, place))


def _inside(reader: Reader, key: Item, count: Value) -> Value:
    """The place that an index names."""
    place = wrapped(reader.out, views.index(reader, key), count)
    doubt_outside(reader.out, place, count)
    return place


def item_place(reader: Reader, of: RaggedRow, index: Value) -> Value:
    """Where the numbers of an item of a row begin."""
    out, width = reader.out, len(of.of.columns)
    inside = out.op("mul", I64, index, out.constant(I64, width)) if width > 1 else index
    return out.op("add", I64, of.start, inside)

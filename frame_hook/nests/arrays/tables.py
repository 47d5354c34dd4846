"""Lists of lists of numbers in loops that are read as nests, all as long: they are read as arrays of two axes.

A row is a list of the program's. It is named by its index alone, so that what is stored is seen under all its names.
"""

from __future__ import annotations

from ufuse.frame_hook.nests.arrays import elementwise, views
from ufuse.frame_hook.nests.known.arrays import ListPart, Numbers, Objects, Row, Table
from ufuse.frame_hook.nests.known.integers import greatest, minus
from ufuse.frame_hook.nests.known.kinds import ArrayKind, Holder, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, SliceOf, is_none
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.operations import ELEMENT, LENGTH, STORE, UNPACKED
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, I1, I64, Value


def row(table: Table, index: Value) -> Row:
    """`table[index]`."""
    return Row(table.holder, table.type, index)


def row_of(reader: Reader, holder: Holder, indices: tuple[Value, ...]) -> Row | None:
    """What an index leaves of a table; None where the holder is none."""
    if not isinstance(holder, ArrayKind) or len(indices) != 1:
        return None
    table = reader.outside.lists.get(holder.slot)
    return row(table, indices[0]) if isinstance(table, Table) else None


@ELEMENT.of(Table, Row)
def element(reader: Reader, container: Table | Row, key: Item) -> Item:
    """`container[key]`."""
    if isinstance(container, Table) and isinstance(key, SliceOf):
        return part(reader, container, key)
    index = views.index(reader, key)
    reader.lists.read.add(container.holder.slot)
    if isinstance(container, Table):
        return row(container, index)
    return _loaded(reader, container, index)


def _loaded(reader: Reader, container: Row, index: Value) -> Number:
    type_, number = ELEMENTS[reader.dtype(container.holder)], reader.array(container.holder)
    loaded = reader.out.op("load", type_, container.index, index, attributes=(number,))
    return Number(container.type, loaded)


@STORE.of(Table, Row)
def store(reader: Reader, container: Table | Row, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    name = reader.outside.text(container.holder.slot)
    if isinstance(container, Table):
        raise NotNativeError(f"it replaces an item of the list {name}, which is a list")
    given = reader.outside.sequences[container.holder.slot]
    if type(given) is not list or type(given[0]) is not list:
        raise NotNativeError("it stores into what is no array")
    replace(reader, container, (views.index(reader, key),), item)


def replace(reader: Reader, container: Numbers | Row, place: tuple[Value, ...], item: Item) -> None:
    """Have another number of the same type in a list or a row."""
    one = either.known(conversions.number(reader.out, item))
    if one.type != container.type:
        raise NotNativeError("a list gets items of several types")
    elementwise.settle(reader)
    reader.writes(container.holder)
    indices = (container.index, *place) if isinstance(container, Row) else place
    reader.out.store(reader.array(container.holder), *indices, one.value)


@LENGTH.of(Table, Row)
def length(reader: Reader, container: Table | Row) -> Number:
    """`len(container)`."""
    reader.lists.read.add(container.holder.slot)
    if isinstance(container, Row):
        doubt_no_row(reader, container)
    return reader.length(container.holder, int(isinstance(container, Row)))


@UNPACKED.of(Row)
def unpacked(reader: Reader, container: Row, count: int) -> list[Item]:
    """The numbers of a row, of which there must be so many."""
    out = reader.out
    there = length(reader, container).value
    out.doubt_if(out.op("ine", I1, there, out.constant(I64, count)))
    return [_loaded(reader, container, out.constant(I64, place)) for place in range(count)]


def doubt_no_row(reader: Reader, item: Row) -> None:
    """Leave it to plain Python where there is no such row: who takes an item of it finds out."""
    out = reader.out
    there = reader.length(item.holder, 0).value
    out.doubt_if(out.op("ige", I1, item.index, there))
    out.doubt_if(out.op("ilt", I1, item.index, out.op("neg", I64, there)))


def part(reader: Reader, container: Numbers | Table | Objects, key: SliceOf) -> ListPart:
    """`container[key]`, to be gone over: a copy, whose numbers stay what they are."""
    out, slot = reader.out, container.holder.slot
    if not is_none(key.step) and key.step != Known(1):
        raise NotNativeError("a slice of a list with a step is not compiled yet")
    if isinstance(container, Numbers):
        reader.lists.sliced.add(slot)
    length = reader.length(container.holder, 0).value
    zero = out.constant(I64, 0)
    start = zero if is_none(key.start) else views.bound(reader, key.start, length, 0, length)
    stop = length if is_none(key.stop) else views.bound(reader, key.stop, length, 0, length)
    return ListPart(container, start, greatest(out, minus(out, stop, start), 0))

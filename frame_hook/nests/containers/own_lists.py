"""Lists of lists that a nest makes, where each grows by itself: adjacency lists, and tables whose elements are set.

Their items lie in one temporary, behind an element that is none. Another one says of each list where its numbers begin,
how many there are, and how many there is room for. A list that has no more room moves to the end, with twice as much.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ufuse.frame_hook.nests.arrays import elements, elementwise, views
from ufuse.frame_hook.nests.containers import made_lists, ragged
from ufuse.frame_hook.nests.given.temporaries import holders_in, parts_in
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array
from ufuse.frame_hook.nests.known.containers import (
    ListsOf,
    MadeList,
    MadeRows,
    OwnList,
    OwnLists,
    Ragged,
    RaggedRow,
)
from ufuse.frame_hook.nests.known.integers import doubt_outside, greatest, minus, times, wrapped
from ufuse.frame_hook.nests.known.kinds import FLOAT, INT, NotNativeError, NumberKind, TemporaryKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, ListedKind, Turning
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.operations import (
    ELEMENT,
    LENGTH,
    STORE,
    VIEW,
    method_of,
    methods_of,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, I1, I64, Value

methods_of(frozenset(("append", "pop", "index", "count")), OwnLists, OwnList)
START, COUNT, ROOM = range(3)  # of a list, in units of numbers
EACH = 4  # numbers that say this: a power of two
SHIFT = 2
FIRST_ROOM = 4  # items
MOST_IN_ITEM = 8  # as of `ragged_shapes.py`
SEVERAL_TYPES = "lists in a list that the loop makes get items of several types"


# Made -------------------------------------------------------------------------------------------------------------


def ask_for(site: str) -> None:
    """Have a list be one of such lists, of which nothing is known but that one is empty.

    Raises:
        GrowError: always, but of a list of which an array is made.

    """
    if site:
        raise GrowError(site, ListsOf((INT,), is_guess=True))


def ask_for_tuples(
    reader: Reader, owner: Listed | MadeList | MadeRows, item: Listed | MadeRows
) -> None:
    """The same where a list of tuples is put into a list.

    Raises:
        GrowError: always, but of a list of which an array is made, or whose items are others.

    """
    if isinstance(item, MadeRows):
        columns = item.columns
    else:
        first = item.items[0]
        parts = first.items if isinstance(first, Items) else ()
        columns = tuple(made_lists.number_of(reader, one).type for one in parts)
    site = owner.flat.site if isinstance(owner, MadeRows) else owner.site
    if site and columns and all(one in (INT, FLOAT) for one in columns):
        raise GrowError(site, ListsOf(columns, has_tuples=True))


def ask_instead(item: Items) -> None:
    """Have what a row is read from, as a tuple, be a list of such lists, where one is changed.

    Raises:
        GrowError: always, but of a tuple that is no row of numbers of one type.

    """
    kinds = {one.type for one in item.items if isinstance(one, Number)}
    if item.site and len(kinds) == 1:
        raise GrowError(item.site, ListsOf((kinds.pop(),)))


def new(reader: Reader, kind: ListsOf, site: str) -> OwnLists:
    """A list without lists."""
    out, one = reader.out, reader.out.constant(I64, 1)
    is_real = any(each.is_real for each in kind.columns)
    type_ = next(each for each in kind.columns if each.is_real is is_real)
    holder = reader.temporary(type_.dtype, items=type_)
    out.alloc(reader.array(holder), one)
    zero = out.constant(I64, 0)
    nothing = 0.0 if type_.is_real else False if type_.kind == "bool" else 0
    out.store(reader.array(holder), zero, out.constant(ELEMENTS[type_.dtype], nothing))
    rows = reader.temporary(np.dtype(np.int64))
    out.alloc(reader.array(rows), zero)
    items = Ragged(holder, type_, kind.columns, kind.has_tuples, has_sets=False)
    return OwnLists(items, rows, site)


def append_list(reader: Reader, made: OwnLists, item: Item) -> None:
    """`made.append(item)`, of a new list that has no other name.

    Raises:
        NotNativeError: it is another one, or something goes over the lists.

    """
    out, name = reader.out, f".lists{made.rows.number}"
    pool = made.items.holder
    assert isinstance(pool, TemporaryKind)
    _refuse_change(reader, made)
    first = f"{name}.first"
    match item:
        case Listed(items, site) if site:
            refuse_named(reader, item)
            values = [value for one in items for value in _values(reader, made, one)]
            elementwise.settle(reader)
            out.set(first, reader.length(pool, 0).value)
            for value in values:
                out.append(reader.number(pool), value)
        case MadeList() if not item.mixed and not item.is_row:
            refuse_named(reader, item)
            if not _fits(made, [item.type], is_tuple=False):
                raise GrowError(made.site, ListsOf((item.type,)))
            elementwise.settle(reader)
            _put_all(reader, made, first, item)
        case MadeRows(flat) if made.items.has_tuples:
            refuse_named(reader, flat)
            if item.columns != made.items.columns or flat.type != made.items.type:
                raise NotNativeError(SEVERAL_TYPES)
            elementwise.settle(reader)
            _put_all(reader, made, first, flat)
        case _:
            raise NotNativeError(made_lists.NOT_READ)
    start = out.get(first, I64)
    there = minus(out, reader.length(pool, 0).value, start)
    for value in (start, there, there, out.constant(I64, 0)):
        out.append(reader.number(made.rows), value)


def _put_all(reader: Reader, made: OwnLists, first: str, given: MadeList) -> None:
    """Put all numbers of a list behind those of others; where they begin is noted in a variable."""
    out, pool = reader.out, made.items.holder
    assert isinstance(pool, TemporaryKind)
    number = reader.number(pool)
    out.set(first, reader.length(pool, 0).value)
    part = views.part(reader, Array(given.holder))
    elements.each_element(reader, part, f"{first}.at", lambda one: out.append(number, one.value))


def refuse_named(reader: Reader, item: Listed | MadeList) -> None:
    """Refuse a list that has a name: it could be read or changed by that.

    Raises:
        NotNativeError: it has one.

    """
    frame = reader.frame
    live = frame.function.live[reader.next]
    slots = [kind for slot, kind in frame.slots.items() if slot in live or slot < 0]
    named = slots, frame.stack, frame.caller
    if isinstance(item, MadeList):
        is_named = item.holder in parts_in(named, (TemporaryKind,))
    else:
        is_named = item.site in {one.site for one in parts_in(named, (Listed, ListedKind))}
    if is_named:
        raise NotNativeError(made_lists.HELD)


# What is known of a list ------------------------------------------------------------------------------------------


def count(reader: Reader, made: OwnLists) -> Value:
    """How many lists there are."""
    numbers = reader.length(made.rows, 0).value
    return reader.out.op("rshift", I64, numbers, reader.out.constant(I64, SHIFT))


def _cell(reader: Reader, one: OwnList, what: int) -> Value:
    """The place of what is known of a list."""
    first = times(reader.out, one.place, EACH)
    return reader.out.op("add", I64, first, reader.out.constant(I64, what))


def _known(reader: Reader, one: OwnList, what: int) -> Value:
    number = reader.array(one.of.rows)
    return reader.out.op("load", I64, _cell(reader, one, what), attributes=(number,))


def _note(reader: Reader, one: OwnList, what: int, value: Value) -> None:
    reader.out.store(reader.array(one.of.rows), _cell(reader, one, what), value)


def seen(reader: Reader, one: OwnList) -> RaggedRow:
    """A list as it is now, to be read."""
    return RaggedRow(one.of.items, _known(reader, one, START), _known(reader, one, COUNT))


@ELEMENT.of(OwnLists)
def element(reader: Reader, made: OwnLists, key: Item) -> OwnList:
    """`made[key]`."""
    there = count(reader, made)
    place = wrapped(reader.out, views.index(reader, key), there)
    doubt_outside(reader.out, place, there)
    return OwnList(made, place)


@LENGTH.of(OwnLists)
def _count_of_lists(reader: Reader, made: OwnLists) -> Number:
    return Number(INT, count(reader, made))


@LENGTH.of(OwnList)
def _count_of_items(reader: Reader, one: OwnList) -> Item:
    return LENGTH(reader, seen(reader, one))


@ELEMENT.of(OwnList)
def _item(reader: Reader, one: OwnList, key: Item) -> Item | None:
    return ELEMENT(reader, seen(reader, one), key)


@VIEW.of(OwnList)
def _gone_over(reader: Reader, one: OwnList, _: str) -> RaggedRow:
    return seen(reader, one)


# Changed ----------------------------------------------------------------------------------------------------------


def _refuse_change(reader: Reader, made: OwnLists) -> None:
    """Refuse to lengthen or shorten lists while a loop goes over them, or over one of them."""
    turning = list(parts_in(made_lists.stacks(reader), (Turning,)))
    if not {made.rows, made.items.holder}.isdisjoint(holders_in(turning)):
        raise NotNativeError("it appends to a list that it goes over")


def _fits(made: OwnLists, kinds: Sequence[NumberKind], *, is_tuple: bool) -> bool:
    return tuple(kinds) == made.items.columns and is_tuple is made.items.has_tuples


def _values(reader: Reader, made: OwnLists, item: Item) -> list[Value]:
    """What lies in memory for an item.

    Raises:
        GrowError: the lists are for others, so far.
        NotNativeError: an item is no number and no tuple of them.

    """
    out, is_tuple = reader.out, isinstance(item, Items)
    parts = item.items if isinstance(item, Items) else (item,)
    numbers = [made_lists.number_of(reader, one) for one in parts]
    kinds = [one.type for one in numbers]
    if not _fits(made, kinds, is_tuple=is_tuple):
        is_plain = not is_tuple or all(one in (INT, FLOAT) for one in kinds)
        if not 1 <= len(kinds) <= MOST_IN_ITEM or not is_plain:
            raise NotNativeError(SEVERAL_TYPES)
        raise GrowError(made.site, ListsOf(tuple(kinds), is_tuple))
    if not made.items.type.is_real or not is_tuple:
        return [one.value for one in numbers]
    conversions.doubt_inexact(out, *numbers)
    return [conversions.as_f64(out, one) for one in numbers]


def append(reader: Reader, one: OwnList, item: Item) -> None:
    """`one.append(item)`."""
    _refuse_change(reader, one.of)
    values = _values(reader, one.of, item)
    elementwise.settle(reader)
    _put(reader, one, values)


def keep(reader: Reader, made: OwnLists, item: Item, number: int) -> list[tuple[str, str]]:
    """Put the numbers of an item into variables; their names and types."""
    kept = []
    for i, value in enumerate(_values(reader, made, item)):
        kept.append((f".lists{made.rows.number}.new{number}.{i}:{value.type}", value.type))
        reader.out.set(kept[-1][0], value)
    return kept


def put_kept(reader: Reader, one: OwnList, names: Sequence[tuple[str, str]]) -> None:
    """`one.append(item)` of one whose numbers lie in variables."""
    _refuse_change(reader, one.of)
    elementwise.settle(reader)
    _put(reader, one, [reader.out.get(*name) for name in names])


def _put(reader: Reader, one: OwnList, values: Sequence[Value]) -> None:
    """Put the numbers of an item behind the others of a list, which moves where it has no room."""
    out, made = reader.out, one.of
    name, pool, width = f".lists{made.rows.number}", made.items.holder, len(values)
    assert isinstance(pool, TemporaryKind)
    place, at, start, there, room, moved = (
        f"{name}.{each}" for each in ("list", "next", "start", "count", "room", "moved")
    )
    out.set(place, one.place)
    for i, value in enumerate(values):
        out.set(f"{name}.value{i}", value)
    now, most = _known(reader, one, COUNT), _known(reader, one, ROOM)
    is_full = out.op("ige", I1, now, most)
    twice = greatest(out, times(out, most, 2), FIRST_ROOM * width)
    for variable, value in (
        (at, out.constant(I64, 0)),
        (start, _known(reader, one, START)),
        (there, now),
        (room, twice),
        (moved, reader.length(pool, 0).value),
    ):
        out.set(variable, value)
    copying, behind, putting = (reader.new_label() for _ in range(3))
    version = reader.version(reader.at.position)
    out.end("branch", copying, putting, condition=is_full)
    type_, number = ELEMENTS[made.items.type.dtype], reader.array(pool)
    out.begin(copying)  # a number, or one that is none behind the last
    each = out.get(at, I64)
    is_there = out.op("ilt", I1, each, out.get(there, I64))
    source = out.op("add", I64, out.get(start, I64), each)
    source = out.op("select", I64, is_there, source, out.constant(I64, 0))
    out.append(number, out.op("load", type_, source, attributes=(number,)))
    following = out.op("add", I64, each, out.constant(I64, 1))
    out.set(at, following)
    goes_on = out.op("ilt", I1, following, out.get(room, I64))
    out.end("branch", copying, behind, condition=goes_on)
    out.begin(behind)
    here = OwnList(made, out.get(place, I64))
    _note(reader, here, START, out.get(moved, I64))
    _note(reader, here, ROOM, out.get(room, I64))
    out.set(start, out.get(moved, I64))
    out.end("jump", putting)
    out.begin(putting)
    end = out.op("add", I64, out.get(start, I64), out.get(there, I64))
    for i in range(width):
        cell = out.op("add", I64, end, out.constant(I64, i))
        out.store(number, cell, out.get(f"{name}.value{i}", type_))
    total = out.op("add", I64, out.get(there, I64), out.constant(I64, width))
    _note(reader, OwnList(made, out.get(place, I64)), COUNT, total)
    reader.take_stack(version)


@STORE.of(OwnList)
def store(reader: Reader, one: OwnList, key: Item, item: Item) -> None:
    """`one[key] = item`."""
    out, made = reader.out, one.of
    values = _values(reader, made, item)
    row = seen(reader, one)
    there = ragged.row_length(reader, row).value
    place = wrapped(out, views.index(reader, key), there)
    doubt_outside(out, place, there)
    elementwise.settle(reader)
    first = ragged.item_place(reader, row, place)
    for i, value in enumerate(values):
        cell = out.op("add", I64, first, out.constant(I64, i)) if i else first
        out.store(reader.array(made.items.holder), cell, value)


def _pop(reader: Reader, one: OwnList) -> Item:
    """`one.pop()`."""
    out = reader.out
    _refuse_change(reader, one.of)
    elementwise.settle(reader)
    row = seen(reader, one)
    left = minus(out, row.count, out.constant(I64, len(one.of.items.columns)))
    out.doubt_if(out.op("ilt", I1, left, out.constant(I64, 0)))
    found = ragged.item_at(reader, one.of.items, out.op("add", I64, row.start, left))
    _note(reader, one, COUNT, left)
    return found


@method_of(OwnList)
def called_method(reader: Reader, one: OwnList, name: str, arguments: Sequence[Item]) -> Item:
    """The result of a method of a list in the list."""
    if name == "append" and len(arguments) == 1:
        append(reader, one, arguments[0])
        return Known(None)
    if name == "pop" and (not arguments or list(arguments) == [Known(-1)]):
        return _pop(reader, one)
    raise refusals.no_method(name, one)

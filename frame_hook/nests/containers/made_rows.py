"""Lists of rows that a nest makes: of tuples or lists of numbers, or of vectors, all of one length.

The numbers of all rows lie one behind another in a list of their own; where the length of a row is not known while
reading, it lies in a variable, and a row of another length is in doubt. A list that has become a row changes no more,
so that its numbers can be copied at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ufuse.frame_hook.nests.arrays import (
    elements,
    elementwise,
    making,
    reductions,
    statements,
    views,
)
from ufuse.frame_hook.nests.containers import made_lists, own_lists
from ufuse.frame_hook.nests.given.temporaries import parts_in
from ufuse.frame_hook.nests.known.arrays import Array, Axis, Lazy, Length, Part
from ufuse.frame_hook.nests.known.containers import ListsOf, MadeList, MadeRows, OwnLists, RowOf
from ufuse.frame_hook.nests.known.integers import doubt_outside, minus, wrapped
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    INT,
    ArrayKind,
    NotNativeError,
    NumberKind,
    TemporaryKind,
)
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.tries import SEVERAL_TYPES, GrowError
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.operations import AS_ARRAY, ELEMENT, LENGTH, STORE
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value

MOST_IN_ROW = 16  # numbers of a tuple


def begin(reader: Reader, items: Sequence[Item]) -> Listed | MadeList | MadeRows | OwnLists:
    """`[*items]`."""
    site = reader.making()
    grown = dict(reader.tries.grown).get(site)
    if grown is None:
        reader.has_unknown = True
        return Listed(tuple(items), site)
    made: MadeList | MadeRows | OwnLists
    lists = next((one for one in grown if isinstance(one, ListsOf)), None)
    rows = [one for one in grown if isinstance(one, RowOf)]
    if lists is not None:
        reader.has_unknown |= lists.is_guess
        made = own_lists.new(reader, lists, site)
    elif rows:
        flat = made_lists.new(reader, frozenset(one.type for one in rows), site)
        made = MadeRows(flat, rows[0].width, rows[0].has_tuples, rows[0].columns, rows[0].is_list)
        if made.width is None:
            for name in (_count_of(made), _width_of(made)):
                reader.out.set(name, reader.out.constant(I64, 0))
    else:
        numbers = frozenset(one for one in grown if isinstance(one, NumberKind))
        made = made_lists.new(reader, numbers, site)
    for one in items:
        append(reader, made, one)
    return made


def _count_of(made: MadeRows) -> str:
    return f".list{made.flat.holder.number}.rows"


def _width_of(made: MadeRows) -> str:
    return f".list{made.flat.holder.number}.width"


def append(reader: Reader, owner: Listed | MadeList | MadeRows | OwnLists, item: Item) -> None:
    """`owner.append(item)`."""
    if isinstance(owner, OwnLists):
        own_lists.append_list(reader, owner, item)
        return
    if isinstance(item, Listed) and not item.items and item.site:
        own_lists.ask_for(owner.flat.site if isinstance(owner, MadeRows) else owner.site)
    if isinstance(item, MadeRows) or (isinstance(item, Listed) and _has_tuples(item)):
        own_lists.ask_for_tuples(reader, owner, item)
    row = _row(reader, item)
    if row is None:
        if isinstance(owner, MadeRows):
            raise NotNativeError(SEVERAL_TYPES)
        made_lists.append(reader, owner, item)
        return
    if isinstance(owner, Listed) and not owner.site:
        raise NotNativeError("it appends to a list of which an array is made")
    if isinstance(row, list) and isinstance(owner, MadeRows) and _takes(owner, row, item):
        made_lists.refuse_change(reader, owner.flat)
        elementwise.settle(reader)
        _note_types(reader, owner.flat, owner.flat.type)
        for one in row:
            made_lists.keep_apart(reader, owner.flat, one)
        for value in _as_slots(reader, owner, row):
            reader.out.append(reader.number(owner.flat.holder), value)
        return
    kinds = _kinds(reader, row, item)
    site = owner.flat.site if isinstance(owner, MadeRows) else owner.site
    if not isinstance(owner, MadeRows) or not all(_fits(owner, one) for one in kinds):
        raise GrowError(site, *kinds)
    made_lists.refuse_change(reader, owner.flat)
    elementwise.settle(reader)
    if isinstance(row, list):
        if owner.width is None:
            _count_row(reader, owner, reader.out.constant(I64, len(row)))
        for one in row:
            made_lists.append(reader, owner.flat, one)
    elif isinstance(row, MadeList):
        _freeze(reader, row)
        _note_types(reader, owner.flat, row.type, row.mixed)
        _append_all(reader, owner, views.part(reader, Array(row.holder)))
    else:
        _note_types(reader, owner.flat, kinds[0].type)
        _append_all(reader, owner, row)


def _has_tuples(item: Listed) -> bool:
    return any(isinstance(one, Items) for one in item.items)


def _row(reader: Reader, item: Item) -> list[Number] | MadeList | Part | None:
    """An item that is a row: its numbers, where these are known one by one; None: it is none."""
    match item:
        case Items(items) | Listed(items):
            if not 1 <= len(items) <= MOST_IN_ROW:
                raise NotNativeError("a tuple that is appended to a list is empty, or long")
            return [conversions.number(reader.out, one) for one in items]
        case MadeList():
            return item
        case Lazy():
            return reductions.row(reader, item)
        case Array() | Part():
            given = reductions.row(reader, item)
            _keep(reader, given)
            return given
    return None


def _is_list(item: Item) -> bool:
    """Whether an item that is read as a tuple is a list."""
    return isinstance(item, Listed) or (isinstance(item, Items) and bool(item.site))


def _kinds(reader: Reader, row: list[Number] | MadeList | Part, item: Item) -> list[RowOf]:
    """What a list gets that a row is appended to."""
    if isinstance(row, list):
        columns = tuple(either.known(one).type for one in row)
        return [
            RowOf(one, len(row), has_tuples=True, columns=columns, is_list=_is_list(item))
            for one in columns
        ]
    if isinstance(row, Part):
        return [RowOf(reader.element_kind(row.dtype), None, has_tuples=False)]
    grown = dict(reader.tries.grown).get(row.site, frozenset())
    numbers = [one for one in grown if isinstance(one, NumberKind)] or [row.type]
    return [RowOf(one, None, has_tuples=False) for one in numbers]


def kinds_of(reader: Reader, item: Item) -> list[RowOf] | list[NumberKind]:
    """What a list gets with a number, or with a row."""
    row = _row(reader, item)
    return [made_lists.number_of(reader, item).type] if row is None else _kinds(reader, row, item)


def _fits(owner: MadeRows, kind: RowOf) -> bool:
    """Whether a list of rows gets such ones without being made otherwise."""
    return (
        made_lists.fits(owner.flat, kind.type)
        and owner.width in (None, kind.width)
        and not owner.columns  # which take others
        and (kind.has_tuples or not owner.has_tuples)
        and owner.has_lists >= kind.is_list
    )


def _takes(owner: MadeRows, row: list[Number], item: Item) -> bool:
    """Whether the numbers of a row are as those of all others, by their places."""
    if _is_list(item) and not owner.has_lists:
        return False
    return len(owner.columns) == len(row) and all(
        kind == one.type or (either.is_either(kind) and kind.kind == one.type.kind)
        for kind, one in zip(owner.columns, row, strict=True)
    )


def _stride(made: MadeRows) -> int:
    """How many numbers of memory a row takes: behind its own lies whose those are that may be Python's or NumPy's."""
    assert made.width is not None
    return made.width + sum(map(either.is_either, made.columns))


def _as_slots(reader: Reader, made: MadeRows, row: list[Number]) -> list[Value]:
    """What lies in memory for a row. A whole number that is no float exactly is in doubt, if it lies among floats."""
    out, is_real = reader.out, made.flat.type.is_real
    if not made.flat.mixed:
        return [one.value for one in row]
    tags = [
        Number(BOOL, either.tag(out, one))
        for kind, one in zip(made.columns, row, strict=True)
        if either.is_either(kind)
    ]
    if not is_real:
        return [conversions.as_i64(out, one) for one in (*row, *tags)]
    conversions.doubt_inexact(out, *row)
    return [conversions.as_f64(out, one) for one in (*row, *tags)]


def _keep(reader: Reader, given: Part) -> None:
    """Note that an array has become a row, whose elements must stay what they are, where it has another name."""
    frame = reader.frame
    live = frame.function.live[reader.next]
    slots = [kind for slot, kind in frame.slots.items() if slot in live or slot < 0]
    is_own = not isinstance(given.holder, TemporaryKind)
    if is_own or given.holder in parts_in((slots, frame.stack, frame.caller), (TemporaryKind,)):
        reader.kept_arrays.add(given.holder)


def is_new(reader: Reader, item: Array | Part) -> bool:
    """Whether an array is a whole one that the loop has made, and that nothing else has, as NumPy gives it."""
    if not isinstance(item, Array) or item.indices or not isinstance(item.holder, TemporaryKind):
        return False
    memory, frame = reader.memory, reader.frame
    if memory.is_within(item.holder) or memory.is_kept_inside(item.holder):
        return False
    held = parts_in((frame.slots.values(), frame.stack, frame.caller), (TemporaryKind,))
    return item.holder not in held


def _freeze(reader: Reader, row: MadeList) -> None:
    """A list that has become a row is one that nothing changes, by all its names.

    Raises:
        NotNativeError: it has names where it could be changed unseen.

    """

    def frozen(one: Item) -> Item:
        is_it = isinstance(one, MadeList) and one.holder == row.holder
        return replace(row, is_row=True) if is_it else one

    frame = reader.frame
    frame.stack[:] = map(frozen, frame.stack)
    for slot, kind in frame.slots.items():
        if isinstance(kind, MadeList) and kind.holder == row.holder:
            frame.slots[slot] = replace(row, is_row=True)
    others = parts_in((*frame.slots.values(), *frame.stack, frame.caller), (MadeList,))
    if any(one.holder == row.holder and not one.is_row for one in others):
        raise NotNativeError(made_lists.HELD)


def _count_row(reader: Reader, owner: MadeRows, width: Value) -> None:
    """One more row, which must be as long as the first one."""
    out = reader.out
    count = out.get(_count_of(owner), I64)
    is_first = out.op("ieq", I1, count, out.constant(I64, 0))
    before = out.get(_width_of(owner), I64)
    out.doubt_if(out.op("ine", I1, out.op("select", I64, is_first, width, before), width))
    out.set(_width_of(owner), width)
    out.set(_count_of(owner), out.op("add", I64, count, out.constant(I64, 1)))


def _note_types(reader: Reader, flat: MadeList, kind: NumberKind, mixed: str = "") -> None:
    """Note whether numbers of a row are not whole, where a list gets numbers of several types."""
    out = reader.out
    if flat.mixed:
        is_real = out.get(mixed, I1) if mixed and kind.is_real else out.constant(I1, kind.is_real)
        out.set(flat.mixed, out.op("or", I1, out.get(flat.mixed, I1), is_real))


def _append_all(reader: Reader, owner: MadeRows, given: Part) -> None:
    """Append the numbers of a row, one after another."""
    flat = owner.flat
    _count_row(reader, owner, given.lengths[0].value)
    place = f".list{flat.holder.number}.place"
    elements.each_element(reader, given, place, lambda one: made_lists.put(reader, flat, one))


# What is done with them -------------------------------------------------------------------------------------------


@LENGTH.of(MadeRows)
def length(reader: Reader, made: MadeRows) -> Number:
    """`len(made)`."""
    out = reader.out
    if made.width is None:
        return Number(INT, out.get(_count_of(made), I64))
    count, stride = made_lists.length(reader, made.flat).value, _stride(made)
    if stride == 1:
        return Number(INT, count)
    return Number(INT, out.op("floordiv", I64, count, out.constant(I64, stride)))


def row(reader: Reader, made: MadeRows, place: Value) -> Items:
    """A row of a list of tuples.

    Raises:
        NotNativeError: its rows are others.

    """
    if not made.has_tuples and made.width is None and not made.flat.mixed:
        raise GrowError(made.flat.site, ListsOf((made.flat.type,)))
    if not made.has_tuples or made.width is None:
        raise NotNativeError(made_lists.NOT_READ)
    return _numbers_from(reader, made, first_of(reader, made, place))


def first_of(reader: Reader, made: MadeRows, place: Value) -> Value:
    """Where the numbers of a row begin."""
    return reader.out.op("mul", I64, place, reader.out.constant(I64, _stride(made)))


def settled(made: MadeList | MadeRows) -> MadeList:
    """The numbers of a list of which items are read.

    Raises:
        NotNativeError: they are of several types, and which is which is not known.

    """
    flat = made if isinstance(made, MadeList) else made.flat
    return flat if isinstance(made, MadeRows) and made.columns else made_lists.settled(flat)


def _numbers_from(reader: Reader, made: MadeRows, first: Value) -> Items:
    """Those of a row, which begins at a place: whole ones may lie in memory as floats."""
    out, flat, stride = reader.out, settled(made), _stride(made)
    places = [out.op("add", I64, first, out.constant(I64, each)) for each in range(stride)]
    given = [elements.part(reader, flat.holder, (one,)) for one in places]
    slots = [one for one in given if isinstance(one, Number)]
    tags = iter(slots[made.width :])
    found = []
    for number, kind in zip(slots, made.columns or (flat.type,) * stride, strict=False):
        is_float = flat.type.is_real and not kind.is_real
        value = out.op("to_i64", I64, number.value) if is_float else number.value
        tag = conversions.truth(out, next(tags)) if either.is_either(kind) else None
        found.append(Number(kind, value, tag))
    return Items(tuple(found), site=flat.site if made.has_lists else "")


@STORE.of(MadeRows)
def store(reader: Reader, made: MadeRows, key: Item, item: Item) -> None:
    """`made[key] = item`, a tuple as the others are."""
    row = _row(reader, item) if isinstance(item, Items) else None
    if not isinstance(row, list) or not _takes(made, row, item):
        raise NotNativeError("it stores what is no such tuple into a list of tuples")
    first = first_of(reader, made, _place_of(reader, made, key))
    elementwise.settle(reader)
    for each, value in enumerate(_as_slots(reader, made, row)):
        place = reader.out.op("add", I64, first, reader.out.constant(I64, each))
        reader.out.store(reader.array(made.flat.holder), place, value)


def pop(reader: Reader, owner: Item) -> Item:
    """`owner.pop()`."""
    out = reader.out
    match owner:
        case Listed(items, site) if items and site:  # known as a list whose items change
            raise GrowError(site, *kinds_of(reader, items[-1]))
        case Listed(site=site) if site:
            reader.go_to_doubt()  # it is empty
            return Known(None)
        case MadeList():
            flat, width = made_lists.settled(owner), 1
        case MadeRows(width=int(), has_tuples=True):
            flat, width = settled(owner), _stride(owner)
        case _:
            raise NotNativeError(made_lists.NOT_READ)
    made_lists.refuse_change(reader, flat)
    elementwise.settle(reader)
    left = minus(out, made_lists.length(reader, flat).value, out.constant(I64, width))
    out.doubt_if(out.op("ilt", I1, left, out.constant(I64, 0)))
    found = (
        _numbers_from(reader, owner, left)
        if isinstance(owner, MadeRows)
        else elements.part(reader, flat.holder, (left,))
    )
    out.trim(reader.number(flat.holder), left)
    return found


@ELEMENT.of(MadeRows)
def element(reader: Reader, made: MadeRows, key: Item) -> Items:
    """`made[key]`."""
    return row(reader, made, _place_of(reader, made, key))


def _place_of(reader: Reader, made: MadeRows, key: Item) -> Value:
    """Which row an index names, from the first one on."""
    count = length(reader, made).value
    place = wrapped(reader.out, views.index(reader, key), count)
    doubt_outside(reader.out, place, count)
    return place


@AS_ARRAY.of(MadeRows)
def _array(reader: Reader, made: MadeRows, dtype: Item | None) -> Array:
    return as_array(reader, made, making.wanted_dtype(dtype, made.flat.type.dtype))


def as_array(reader: Reader, made: MadeRows, kind: np.dtype | None) -> Array:
    """`np.array(made, kind)`: a new array. What it is without rows, or of empty ones, is plain Python's."""
    out, flat = reader.out, made.flat
    wanted = made_lists.dtype_of(flat, kind)
    count = length(reader, made).value
    zero, width = out.constant(I64, 0), made.width
    out.doubt_if(out.op("ieq", I1, count, zero))
    if width is None:
        each = Length(out.get(_width_of(made), I64))
        out.doubt_if(out.op("ieq", I1, each.value, zero))
        rows = Axis(Length(count), 0, computed=each.value)
    else:
        each = Length(out.constant(I64, width), is_one=width == 1, seen=width)
        rows = Axis(Length(count), 0, _stride(made))
    if kind is None:
        made_lists.doubt_whole(reader, flat)
    fresh = statements.allocated(reader, wanted, [rows.length, each])
    numbers = Part(flat.holder, flat.type.dtype, (zero,), (rows, Axis(each, 0)))
    elementwise.assign(reader, views.part(reader, fresh), numbers)
    return fresh


def check(reader: Reader) -> None:
    """Refuse a loop that writes arrays which lists have as rows, or arrays that may share memory with these.

    Raises:
        NotNativeError: it does.

    """
    kept, changed = reader.kept_arrays, reader.changed_arrays
    are_given = [any(isinstance(one, ArrayKind) for one in group) for group in (kept, changed)]
    if all(are_given) or kept & changed:
        raise NotNativeError("it puts an array into a list, and stores into it, or into others")

"""Inner loops: over ranges, arrays, tuples, these enumerated, zipped or reversed, and several axes (`grids.py`).

All iterators are the loop's own, so they advance together: one variable, `name.left`, says how many turns are left, and
each leaf of what a turn gives has two, `next` and `step`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import elements, elementwise, tables
from ufuse.frame_hook.nests.calls import grids
from ufuse.frame_hook.nests.containers import (
    keeping,
    made_lists,
    made_rows,
    object_lists,
    own_lists,
    ragged,
)
from ufuse.frame_hook.nests.containers.tuples import check_members, chosen, chosen_number, is_number
from ufuse.frame_hook.nests.known.arrays import (
    Array,
    Lazy,
    ListPart,
    Numbers,
    Objects,
    Part,
    Row,
    Table,
)
from ufuse.frame_hook.nests.known.containers import (
    MadeList,
    MadeRows,
    OwnList,
    OwnLists,
    Ragged,
    RaggedRow,
    RangeOf,
)
from ufuse.frame_hook.nests.known.integers import doubt_unlike, range_length
from ufuse.frame_hook.nests.known.kinds import INT, NP_BOOL, NotNativeError, ViewKind
from ufuse.frame_hook.nests.known.numbers import Known, Number, Text
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import (
    Elements,
    EnumerateOf,
    Grid,
    GridOf,
    Item,
    Items,
    Lazily,
    Listed,
    MapOf,
    Mapped,
    Members,
    Pairs,
    PairsOf,
    RaggedItems,
    RaggedRows,
    ReversedOf,
    Rows,
    Together,
    Turning,
    TurnKind,
    Viewed,
    Whole,
    ZipOf,
)
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, MAP_AXES, Value

SEQUENCES = (
    Array
    | Part
    | Lazy
    | Items
    | Numbers
    | Text
    | Table
    | Objects
    | ListPart
    | MadeList
    | MadeRows
    | Row
    | Ragged
    | RaggedRow
    | OwnLists
    | OwnList
    | RangeOf
)


# What is looped over ----------------------------------------------------------------------------------------------


def range_of(reader: Reader, arguments: list[Item]) -> RangeOf:
    """`range(*arguments)`."""
    out = reader.out
    given = [conversions.number(out, one) for one in arguments]
    if any(one.type.is_real or one.type == NP_BOOL for one in given):
        raise NotNativeError("a range is not of ints")
    values = [conversions.as_i64(out, one) for one in given]
    if len(values) == 1:
        values.insert(0, out.constant(I64, 0))
    if len(values) == 2:
        values.append(out.constant(I64, 1))
    if not out.known(values[2]):
        out.doubt_if(out.op("ieq", I1, values[2], out.constant(I64, 0)))
    return RangeOf(*values)


def _enumerate_of(reader: Reader, arguments: list[Item]) -> EnumerateOf:
    iterable, *start = arguments
    first = conversions.number(reader.out, start[0] if start else Known(0))
    if first.type != INT:
        raise NotNativeError("enumerate() begins with what is no int")
    _look_at(iterable)
    return EnumerateOf(iterable, first.value)


def _zip_of(_: Reader, arguments: list[Item]) -> ZipOf:
    return zipped(arguments, Known(False))


def zipped(arguments: Sequence[Item], strict: Item) -> ZipOf:
    """`zip(*arguments, strict=strict)`."""
    for one in arguments:
        _look_at(one)
    if not isinstance(strict, Known) or type(strict.value) is not bool:
        raise NotNativeError("zip() that is strict or not, as is computed")
    return ZipOf(tuple(arguments), strict.value)


def _reversed_of(_: Reader, arguments: list[Item]) -> ReversedOf:
    (sequence,) = arguments
    is_set = isinstance(sequence, RaggedRow) and sequence.of.has_sets
    if is_set or not isinstance(sequence, SEQUENCES):
        raise NotNativeError("it reverses {item}, which is not followed", sequence)
    return ReversedOf(sequence)


def _pairs_of(_: Reader, arguments: list[Item]) -> PairsOf:
    (sequence,) = arguments
    _look_at(sequence)
    return PairsOf(sequence)


def _map_of(_: Reader, arguments: list[Item]) -> MapOf:
    function, *items = arguments
    for one in items:
        _look_at(one)
    return MapOf(function, tuple(items))


def _filter_of(_: Reader, arguments: list[Item]) -> Lazily:
    return Lazily(filter, tuple(arguments))


def _accumulate_of(_: Reader, arguments: list[Item]) -> Lazily:
    return Lazily(itertools.accumulate, tuple(arguments))


def _indexes_of(reader: Reader, arguments: list[Item]) -> GridOf:
    """`np.ndindex(*arguments)`."""
    grids.check_class(reader.outside, np.ndindex)
    first, *others = arguments
    lengths = first.items if isinstance(first, Items) and not others else arguments
    pools = [range_of(reader, [one]) for one in lengths]
    if not 1 <= len(pools) <= MAP_AXES:
        raise NotNativeError("it goes over a np.ndindex of too many axes, or of none")
    for one in pools:
        reader.out.doubt_if(reader.out.op("ilt", I1, one.stop, reader.out.constant(I64, 0)))
    return GridOf(tuple(pools))


def _enumerated(reader: Reader, arguments: list[Item]) -> GridOf:
    """`np.ndenumerate(array)`."""
    grids.check_class(reader.outside, np.ndenumerate)
    return grids.elements_of(reader, *arguments, gives_places=True)


def _look_at(item: Item) -> None:
    if not isinstance(item, SEQUENCES | EnumerateOf | ZipOf | ReversedOf | GridOf | PairsOf):
        raise NotNativeError("an inner loop is over {item}, which is not followed", item)


Maker = Callable[["Reader", list[Item]], Item]
NOTHING: tuple[range, Maker | None] = range(0), None
ITERABLES: dict[type, tuple[range, Maker]] = {
    range: (range(1, 4), range_of),
    enumerate: (range(1, 3), _enumerate_of),
    zip: (range(1, 9), _zip_of),
    reversed: (range(1, 2), _reversed_of),
    map: (range(2, 9), _map_of),
    filter: (range(2, 3), _filter_of),
    itertools.accumulate: (range(2, 3), _accumulate_of),
    itertools.pairwise: (range(1, 2), _pairs_of),
    itertools.product: (range(1, MAP_AXES + 1), grids.product_of),
    np.ndindex: (range(1, MAP_AXES + 1), _indexes_of),
    np.ndenumerate: (range(1, 2), _enumerated),
}


def is_iterable(function: Any, arguments: int) -> bool:
    """Whether a call of a function is something to loop over."""
    return isinstance(function, type) and arguments in ITERABLES.get(function, NOTHING)[0]


def iterable(reader: Reader, function: Any, arguments: list[Item]) -> Item:
    """What such a call gives."""
    return ITERABLES[function][1](reader, arguments)


# The loop ---------------------------------------------------------------------------------------------------------


def iterate(reader: Reader, item: Item, name: str) -> Turning:
    """`iter(item)`, in variables whose names begin with `name`."""
    if isinstance(item, Turning):
        return item
    kind, left = _begin(reader, item, name)
    reader.out.set(f"{name}.left", left)
    return Turning(name, kind)


def _begin(reader: Reader, item: Item, name: str) -> tuple[TurnKind, Value]:
    """Set the variables; what a turn gives, and how many there are."""
    out = reader.out
    zero, one = out.constant(I64, 0), out.constant(I64, 1)
    match item:
        case RangeOf():
            _set(reader, name, item.start, item.step)
            return Whole(), range_length(reader.out, item.start, item.stop, item.step)
        case Array():
            elements.doubt_no_row(reader, item)
            _set(reader, name, zero, one)
            return _elements(reader, item, name), _array_length(reader, item)
        case Part() if len(item.axes) == 1:
            _set(reader, name, zero, one)
            view = keeping.keep(reader, f"{name}.view", item)
            assert isinstance(view, ViewKind)
            return Viewed(view), item.lengths[0].value
        case Lazy():
            return _begin(reader, elementwise.computed(reader, item), name)
        case Items(items):
            check_members(items)
            _set(reader, name, zero, one)
            return Members(keeping.keep(reader, f"{name}.items", item)), out.constant(
                I64, len(items)
            )
        case Numbers(holder):
            reader.lists.walked.add(holder.slot)
            _set(reader, name, zero, one)
            return Elements(holder, 0), reader.length(holder, 0).value
        case Text():
            holder = reader.outside.as_characters(item).holder
            _set(reader, name, zero, one)
            return Elements(holder, 0), reader.length(holder, 0).value
        case Table(holder):
            _set(reader, name, zero, one)
            return Elements(holder, 0), tables.length(reader, item).value
        case Objects(holder):
            _set(reader, name, zero, one)
            return Elements(holder, 0), object_lists.length(reader, item).value
        case Listed(items, site) if not items or site:
            if items:
                raise GrowError(site, conversions.number(out, items[0]).type)
            _set(reader, name, zero, one)
            return Members(keeping.keep(reader, f"{name}.items", Items(()))), zero
        case MadeList():
            made = made_lists.settled(item).holder
            _set(reader, name, zero, one)
            return Elements(made, 0), reader.length(made, 0).value
        case MadeRows():
            _set(reader, name, zero, one)
            return Rows(item), made_rows.length(reader, item).value
        case ListPart(sequence, start, count):
            _begin(reader, sequence, name)
            _set(reader, name, start, one)
            return Elements(sequence.holder, 0), count
        case Row(holder, _, index):
            _set(reader, name, zero, one)
            out.set(f"{name}[0]", index)
            return Elements(holder, 1), tables.length(reader, item).value
        case Ragged():
            _set(reader, name, zero, one)
            return RaggedRows(item), ragged.length(reader, item).value
        case OwnLists():
            _set(reader, name, zero, one)
            return RaggedRows(item), own_lists.count(reader, item)
        case OwnList():
            return _begin(reader, own_lists.seen(reader, item), name)
        case RaggedRow(of, start, _):
            _set(reader, name, start, out.constant(I64, len(of.columns)))
            turn: TurnKind = RaggedItems(of) if of.has_tuples else Elements(of.holder, 0)
            return turn, ragged.row_length(reader, item).value
        case EnumerateOf():
            kind, left = _begin(reader, item.iterable, f"{name}.of")
            if out.known(item.start) != 0:
                out.unsure.add(f"{name}.count")
            _set(reader, f"{name}.count", item.start, one)
            return Together((("count", Whole()), ("of", kind))), left
        case ZipOf(items, is_strict):
            return _begin_together(reader, items, name, is_strict=is_strict)
        case MapOf(function, items):
            together, left = _begin_together(reader, items, name)
            assert isinstance(together, Together)
            return Mapped(keeping.keep_item(reader, f"{name}.function", function), together), left
        case PairsOf(sequence):
            return _begin_pairs(reader, sequence, name)
        case ReversedOf():
            return _begin_backwards(reader, item.sequence, name)
        case GridOf():
            return grids.begin(reader, item, name)
    raise NotNativeError("an inner loop is over {item}, which is not followed", item)


def _set(reader: Reader, name: str, first: Value, step: Value) -> None:
    reader.out.set(f"{name}.next", first)
    reader.out.set(f"{name}.step", step)


def _array_length(reader: Reader, item: Array) -> Value:
    return reader.length(item.holder, len(item.indices)).value


def _elements(reader: Reader, item: Array, name: str) -> Elements:
    for axis, index in enumerate(item.indices):
        reader.out.set(f"{name}[{axis}]", index)
    return Elements(item.holder, len(item.indices))


def _begin_together(
    reader: Reader, items: tuple[Item, ...], name: str, *, is_strict: bool = False
) -> tuple[TurnKind, Value]:
    """Several at once; where it would be an error that one ends before the others that is in doubt from the start."""
    out = reader.out
    begun = [_begin(reader, item, f"{name}.{place}") for place, item in enumerate(items)]
    least = begun[0][1]
    for _, left in begun[1:]:
        if is_strict:
            doubt_unlike(out, begun[0][1], left)
        least = out.op("select", I64, out.op("ilt", I1, left, least), left, least)
    return Together(tuple((str(place), kind) for place, (kind, _) in enumerate(begun))), least


def _begin_pairs(reader: Reader, item: Item, name: str) -> tuple[TurnKind, Value]:
    """The first item is taken at once; a doubt where there is none."""
    out = reader.out
    kind, left = _begin(reader, item, f"{name}.of")
    one = out.constant(I64, 1)
    out.doubt_if(out.op("ilt", I1, left, one))
    first = _given(reader, kind, f"{name}.of")
    return Pairs(kind, keeping.keep(reader, f"{name}.last", first)), out.op("sub", I64, left, one)


def _begin_backwards(reader: Reader, item: Item, name: str) -> tuple[TurnKind, Value]:
    out = reader.out
    out.unsure.add(name)
    kind, left = _begin(reader, item, name)
    first, step = out.get(f"{name}.next", I64), out.get(f"{name}.step", I64)
    behind = out.op("sub", I64, left, out.constant(I64, 1))
    # of an empty range it is not looked at
    last = out.op("add", I64, first, out.op("mul", I64, behind, step))
    _set(reader, name, last, out.op("neg", I64, step))
    return kind, left


def begin_turn(reader: Reader, turning: Turning, left: str) -> None:
    """Push what a turn gives, and go to the next one; `left` is the variable that says how many there are."""
    out = reader.out
    out.set(left, out.op("sub", I64, out.get(left, I64), out.constant(I64, 1)))
    if isinstance(turning.kind, Mapped):
        given = _given(reader, turning.kind.of, turning.name)
        assert isinstance(given, Items)
        function = keeping.kept(reader, f"{turning.name}.function", turning.kind.function)
        reader.call(function, list(given.items))
    elif isinstance(turning.kind, Members):
        _begin_turn_of_tuple(reader, turning.kind, turning.name)
    else:
        reader.stack.append(_given(reader, turning.kind, turning.name))


def _given(reader: Reader, kind: TurnKind, name: str) -> Item:
    out = reader.out
    if isinstance(kind, Mapped):
        raise NotNativeError("map() in enumerate() or zip() is not compiled yet")
    if isinstance(kind, Together):
        return Items(tuple(_given(reader, one, f"{name}.{part}") for part, one in kind.parts))
    if isinstance(kind, Grid):
        return grids.given(reader, kind, name)
    if isinstance(kind, Pairs):
        before = keeping.kept(reader, f"{name}.last", kind.last)
        following = _given(reader, kind.of, f"{name}.of")
        if keeping.keep(reader, f"{name}.last", following) != kind.last:
            raise NotNativeError("it goes over pairs of several types")
        return Items((before, following))
    now = _next(reader, name)
    match kind:
        case Elements(holder, count):
            indices = (out.get(f"{name}[{axis}]", I64) for axis in range(count))
            return elements.part(reader, holder, (*indices, now))
        case Rows(made):
            return made_rows.row(reader, made, now)
        case RaggedRows(OwnLists() as made):
            return OwnList(made, now)
        case RaggedRows(Ragged() as of):
            return ragged.row(reader, of, now)
        case RaggedItems(of):
            return ragged.item_at(reader, of, now)
        case Viewed(view):
            part = keeping.kept(reader, f"{name}.view", view)
            assert isinstance(part, Array | Part)
            return elements.element(reader, part, Number(INT, now))
        case Members():
            return chosen(reader, _members(reader, kind, name), now)
    return Number(INT, now)


def _next(reader: Reader, name: str) -> Value:
    out = reader.out
    now = out.get(f"{name}.next", I64)
    out.set(f"{name}.next", out.op("add", I64, now, out.get(f"{name}.step", I64)))
    return now


# Tuples -----------------------------------------------------------------------------------------------------------


def _members(reader: Reader, kind: Members, name: str) -> tuple[Item, ...]:
    kept = keeping.kept(reader, f"{name}.items", kind.items)
    assert isinstance(kept, Items)
    return kept.items


def _begin_turn_of_tuple(reader: Reader, kind: Members, name: str) -> None:
    """Push a member: one block for each type that there is."""
    out, items, now = reader.out, _members(reader, kind, name), _next(reader, name)
    if not items:
        reader.go_to_doubt()  # never
        reader.stack.append(Known(None))
        return
    kinds = [conversions.number(out, one).type if is_number(one) else None for one in items]
    if None in kinds or len(set(kinds)) == 1:
        reader.stack.append(chosen(reader, items, now))
        return
    out.set(f"{name}.now", now)
    *others, last = sorted(set(kinds), key=repr)
    for one in others:
        now, is_it = out.get(f"{name}.now", I64), out.constant(I1, False)
        for place in (i for i, other in enumerate(kinds) if other == one):
            is_it = out.op("or", I1, is_it, out.op("ieq", I1, now, out.constant(I64, place)))
        body, following = reader.new_label(), reader.new_label()
        out.end("branch", body, following, condition=is_it)
        out.begin(body)
        _go_on_with(reader, kind, name, [i for i, other in enumerate(kinds) if other == one])
        out.begin(following)
    _go_on_with(reader, kind, name, [i for i, other in enumerate(kinds) if other == last])


def _go_on_with(reader: Reader, kind: Members, name: str, places: list[int]) -> None:
    """A turn with one of some members, which are of one type."""
    out, items = reader.out, _members(reader, kind, name)
    numbers = [(place, conversions.number(out, items[place])) for place in places]
    stack = reader.stack
    reader.stack = [*stack, chosen_number(reader, numbers, out.get(f"{name}.now", I64))]
    reader.jump(reader.next)
    reader.stack = stack

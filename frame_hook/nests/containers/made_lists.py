"""Lists that a nest makes and appends to: each is a temporary, which holds its numbers one behind another.

What they are numbers of is known once one is appended: reading begins anew then (`GrowError`). Until then what asks for
more than the items that the list begins with is in doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import (
    array_calls,
    elements,
    elementwise,
    making,
    reductions,
    statements,
    views,
)
from ufuse.frame_hook.nests.containers import identity
from ufuse.frame_hook.nests.given.temporaries import parts_in
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Length, Numbers, Part, Row
from ufuse.frame_hook.nests.known.containers import MadeList
from ufuse.frame_hook.nests.known.frames import Version
from ufuse.frame_hook.nests.known.integers import greatest
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    FLOAT,
    INT,
    NotNativeError,
    NumberKind,
    TemporaryKind,
)
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.tries import MAY_BE_MIXED, SEVERAL_TYPES, GrowError
from ufuse.frame_hook.nests.known.values import Elements, Item, Items, Listed, Rows, Turning
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.operations import AS_ARRAY, AS_ROW, ELEMENT, LENGTH, STORE
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, I1, I64, Value

HELD = "a list or array that is in a list that the loop makes has another name"
NOT_READ = "an item of a list of lists that is made in the loop is not compiled yet"


def new(reader: Reader, kinds: frozenset[NumberKind], site: str) -> MadeList:
    """An empty list for numbers of some kinds."""
    is_real = any(one.is_real for one in kinds)
    kind = next(one for one in kinds if one.is_real is is_real)
    holder = _memory(reader, kind, reader.out.constant(I64, 0))
    made = MadeList(holder, kind, site, f".list{holder.number}.real" if len(kinds) > 1 else "")
    if made.mixed:
        reader.out.set(made.mixed, reader.out.constant(I1, False))
    return made


def _memory(reader: Reader, kind: NumberKind, count: Value) -> TemporaryKind:
    """Memory for so many numbers of a kind, which grows."""
    holder = reader.temporary(kind.dtype, items=kind)
    reader.out.alloc(reader.array(holder), count)
    return holder


@ELEMENT.of(MadeList)
def element(reader: Reader, container: MadeList, key: Item) -> Item:
    """`container[key]`."""
    container = settled(container)
    return elements.loaded(reader, container.holder, (views.index(reader, key),))


def settled(item: MadeList) -> MadeList:
    """A list whose items are read.

    Raises:
        NotNativeError: they are of several types.

    """
    if item.mixed:
        raise NotNativeError(SEVERAL_TYPES)
    return item


def fits(owner: MadeList, kind: NumberKind) -> bool:
    """Whether a list gets numbers of a kind without being made otherwise."""
    if owner.mixed:
        return kind in MAY_BE_MIXED and (owner.type.is_real or not kind.is_real)
    return kind == owner.type


def append(reader: Reader, owner: Listed | MadeList, item: Item) -> None:
    """`owner.append(item)` of a number."""
    one = number_of(reader, item)
    if isinstance(owner, Listed):
        if not owner.site:
            raise NotNativeError("it appends to a list of which an array is made")
        raise GrowError(owner.site, one.type)
    if not fits(owner, one.type):
        if not owner.site:
            raise NotNativeError(SEVERAL_TYPES)
        raise GrowError(owner.site, one.type)
    _lengthen_loops(reader, owner)
    keep_apart(reader, owner, item)
    if owner.mixed and one.type.is_real:
        reader.out.set(owner.mixed, reader.out.constant(I1, True))
    elementwise.settle(reader)
    put(reader, owner, one)


def keep_apart(reader: Reader, owner: MadeList, item: Item) -> None:
    """Note that a list has got an object that something else may have, too."""
    if reader.tries.gives_lists and not identity.take_or_doubt(reader, item, owner.site):
        reader.shared_lists.add(owner.holder)


def put(reader: Reader, owner: MadeList, one: Number) -> None:
    """Put a number behind the others of a list."""
    is_converted = owner.mixed and owner.type.is_real
    value = conversions.as_f64(reader.out, one) if is_converted else one.value
    reader.out.append(reader.number(owner.holder), value)


def refuse_change(reader: Reader, owner: MadeList) -> None:
    """Refuse to change a list that something goes over, or that is in another one.

    Raises:
        NotNativeError: it is.

    """
    if owner.is_row:
        raise NotNativeError("it changes a list that is in another one")
    for one in _gone_over(reader):
        if owner.holder == (one.of.flat.holder if isinstance(one, Rows) else one.holder):
            raise NotNativeError("it appends to a list that it goes over")


def _lengthen_loops(reader: Reader, owner: MadeList) -> None:
    """Loops over a list have one turn more where it gets one item more, unless they go backwards.

    Raises:
        NotNativeError: it is a row, or they go over other things beside it.

    """
    out = reader.out
    turning = [
        one
        for one in parts_in(stacks(reader), (Turning,))
        if isinstance(one.kind, Elements) and one.kind.holder == owner.holder
    ]
    found = [one for one in _gone_over(reader) if isinstance(one, Elements)]
    if len(turning) != sum(one.holder == owner.holder for one in found):
        refuse_change(reader, owner)
    if owner.is_row:
        refuse_change(reader, owner)
    for name in dict.fromkeys(one.name for one in turning):
        is_forwards = out.op("igt", I1, out.get(f"{name}.step", I64), out.constant(I64, 0))
        more = out.op("widen", I64, is_forwards)
        out.set(f"{name}.left", out.op("add", I64, out.get(f"{name}.left", I64), more))


def number_of(reader: Reader, item: Item) -> Number:
    """A number as it is put into a list."""
    return either.known(conversions.number(reader.out, item))


def _gone_over(reader: Reader) -> list[Elements | Rows]:
    """What loops go over, in the functions around, too."""
    return list(parts_in(stacks(reader), (Elements, Rows)))


def stacks(reader: Reader) -> tuple[Any, ...]:
    """The stacks of the function and of those around it."""
    versions: list[Version | None] = [reader.frame.caller]
    while versions[-1] is not None:
        versions.append(versions[-1].caller)
    return (reader.stack, *(one.stack for one in versions if one is not None))


@LENGTH.of(MadeList)
def length(reader: Reader, item: MadeList) -> Number:
    """`len(item)`."""
    return reader.length(item.holder, 0)


@STORE.of(MadeList)
def store(reader: Reader, container: MadeList, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    one = number_of(reader, item)
    if one.type != settled(container).type:
        raise NotNativeError(SEVERAL_TYPES)
    if container.is_row:
        raise NotNativeError("it changes a list that is in another one")
    keep_apart(reader, container, item)
    elementwise.settle(reader)
    reader.out.store(reader.array(container.holder), views.index(reader, key), one.value)


def repeated(reader: Reader, item: Listed | MadeList, times: Item) -> MadeList:
    """`item * times`, of a list with one number: a new list that has it several times.

    Raises:
        GrowError: it is not made as a list that grows yet.
        NotNativeError: it is no such list, or is not repeated by an int.

    """
    if isinstance(item, Listed):
        if not item.site or len(item.items) != 1:
            raise NotNativeError("it repeats a list of what is not one number")
        raise GrowError(item.site, number_of(reader, item.items[0]).type)
    count = number_of(reader, times)
    if count.type not in (INT, BOOL) or not item.site or settled(item).is_row:
        raise NotNativeError("it repeats a list of what is not one number")
    out, zero, one = reader.out, reader.out.constant(I64, 0), reader.out.constant(I64, 1)
    elementwise.settle(reader)
    out.doubt_if(out.op("ine", I1, length(reader, item).value, one))
    type_, number = ELEMENTS[item.type.dtype], reader.array(item.holder)
    repeated_one = Number(item.type, out.op("load", type_, zero, attributes=(number,)))
    holder = _memory(reader, item.type, greatest(out, conversions.as_i64(out, count), 0))
    made = MadeList(holder, item.type, item.site)
    keep_apart(reader, made, repeated_one)
    elementwise.assign(reader, views.part(reader, Array(holder)), repeated_one)
    elementwise.settle(reader)
    return made


def dtype_of(item: MadeList, kind: np.dtype | None) -> np.dtype:
    """The dtype of an array that is made of a list, and asked to be of some dtype."""
    own = item.type.dtype
    wanted = own if kind is None else kind
    if wanted != own and (own.kind not in "if" or wanted.kind != "f"):
        raise NotNativeError(f"an array of {wanted} of a list of other numbers")
    return wanted


def doubt_whole(reader: Reader, item: MadeList) -> None:
    """Leave it to plain Python where a list that gets ints and floats has got ints alone: its array is one of these."""
    if item.mixed and item.type.is_real:
        reader.out.doubt_if(reader.out.op("not", I1, reader.out.get(item.mixed, I1)))


@AS_ARRAY.of(MadeList)
def _array(reader: Reader, item: MadeList, dtype: Item | None) -> Array:
    return as_array(reader, item, making.wanted_dtype(dtype, item.type.dtype))


def as_array(reader: Reader, item: MadeList, kind: np.dtype | None) -> Array:
    """`np.array(item, kind)`: a new array. What an empty list gives by itself is one of floats."""
    wanted, count = dtype_of(item, kind), length(reader, item).value
    if kind is None:
        doubt_whole(reader, item)
        if item.type.dtype != np.dtype(float):
            is_empty = reader.out.op("ieq", I1, count, reader.out.constant(I64, 0))
            reader.out.doubt_if(is_empty)
    fresh = statements.allocated(reader, wanted, [Length(count)])
    elementwise.assign(reader, views.part(reader, fresh), views.part(reader, Array(item.holder)))
    return fresh


@AS_ROW.of(MadeList)
def as_row(reader: Reader, item: MadeList) -> Part:
    """Of which an array is made, with others. What an empty list gives is plain Python's."""
    doubt_whole(reader, item)
    count = length(reader, item).value
    reader.out.doubt_if(reader.out.op("ieq", I1, count, reader.out.constant(I64, 0)))
    return views.part(reader, Array(item.holder))


PYTHONS = {"f": FLOAT, "i": INT, "b": BOOL}


@array_calls.method("tolist")
def of_array(reader: Reader, item: Item) -> MadeList:
    """`item.tolist()` of a vector: its elements as Python's numbers."""
    given = reductions.row(reader, item)
    kind = PYTHONS.get(given.dtype.kind)
    if kind is None:
        raise NotNativeError(f"a list of elements of {given.dtype} is not compiled yet")
    return copied_part(reader, given, kind)


def copied_part(reader: Reader, given: Part, kind: NumberKind) -> MadeList:
    """A list of the elements of a vector, as numbers of a kind."""
    holder = _memory(reader, kind, given.lengths[0].value)
    elementwise.assign(reader, views.part(reader, Array(holder)), given)
    return MadeList(holder, kind)


def copied(reader: Reader, item: Item) -> MadeList:
    """The items of a sequence of numbers of one type, as they are now: a list that nothing else has.

    Raises:
        NotNativeError: it is none.

    """
    match item:
        case Array() | Part() | Lazy():
            given = reductions.row(reader, item)
            return copied_part(reader, given, reader.element_kind(given.dtype))
        case Numbers(holder, kind) | Row(holder, kind):
            indices = (item.index,) if isinstance(item, Row) else ()
            return copied_part(reader, views.part(reader, Array(holder, indices)), kind)
        case MadeList():
            given = views.part(reader, Array(settled(item).holder))
            return copied_part(reader, given, item.type)
        case Items(items) | Listed(items) if items:
            numbers = [number_of(reader, one) for one in items]
            if len({one.type for one in numbers}) == 1:
                made = new(reader, frozenset((numbers[0].type,)), "")
                for one in numbers:
                    append(reader, made, one)
                return made
    raise NotNativeError("it goes over a product of what are no ranges and no numbers of one type")

"""Lists of objects of one class in loops that are read as nests: what the items have as an attribute is an array.

An item is named by its index alone, so that what is set is seen under all its names. No item of a list that changes is
known by another name, see `checked`. What an attribute is, the class decides, guarded as for objects alone. One that is
an array has more axes, see `stacked.py`.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.nests.arrays import elements, elementwise, stacked, tables, views
from ufuse.frame_hook.nests.containers import characters
from ufuse.frame_hook.nests.given import attributes
from ufuse.frame_hook.nests.given.listed_objects import ObjectList, is_object, is_of_objects
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Member, Objects, Row
from ufuse.frame_hook.nests.known.containers import Bound, Thing
from ufuse.frame_hook.nests.known.kinds import (
    BOOL,
    ArrayKind,
    MemberKind,
    NotNativeError,
    common_item_kind,
)
from ufuse.frame_hook.nests.known.naming import value_in_words
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.tries import MemberError
from ufuse.frame_hook.nests.known.values import Item, Items, SliceOf, is_none
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.operations import ELEMENT, LENGTH, UNPACKED
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.objects.classes import (
    ABSENT,
    TUPLE_FIELD,
    check_place,
    class_member,
    guarded_lookup,
    inner_function,
    is_data_descriptor,
    is_slot,
    mro,
    static_lookup,
    uses_plain,
)
from ufuse.frame_hook.trace.symbols import Symbol
from ufuse.graph.nest_slots import MemberSlot
from ufuse.graph.nest_types import ELEMENTS, I1, I64, Value

# What a class inherits for which comparing its objects asks whether they are one: `object.__ne__` calls `__eq__`.
PLAIN_COMPARISONS = {
    "eq": (("__eq__", object.__eq__),),
    "ne": (("__eq__", object.__eq__), ("__ne__", object.__ne__)),
}


# Attributes --------------------------------------------------------------------------------------------------------


def attribute(reader: Reader, owner: Member, name: str) -> Item | Symbol:
    """`owner.name`, which the caller takes where it is a symbol."""
    outside, known = reader.outside, reader.outside.objects[owner.holder.slot]
    if not _reads_plainly(outside, known.kind):
        raise refusals.no_attribute(name, owner)
    found, member = class_member(outside.trace, known.kind, name)
    if _has_place(outside, known.kind, name, found, member):
        return _read(reader, owner, name, found)
    if is_data_descriptor(outside.trace, found, member):
        raise refusals.no_attribute(name, owner)
    if found is not ABSENT and _all_lack(known, name):
        return _of_class(reader, owner, name, found, member)
    return _read(reader, owner, name, found)


def store(reader: Reader, owner: Member, name: str, item: Item) -> None:
    """`owner.name = item`."""
    outside, known = reader.outside, reader.outside.objects[owner.holder.slot]
    is_plain = uses_plain(outside.trace, known.kind, "__setattr__", object.__setattr__)
    found, member = class_member(outside.trace, known.kind, name)
    has_slot = is_slot(found) and _has_place(outside, known.kind, name, found, member)
    if not is_plain or (not has_slot and is_data_descriptor(outside.trace, found, member)):
        raise refusals.no_setting(name, owner)
    column = _column(outside, known, name, found)
    if outside.is_stacked(column):
        _use(reader, known)
        doubt_no_member(reader, owner)
        stacked.store(reader, owner, column, item, name)
        return
    one, kind = either.known(conversions.number(reader.out, item)), outside.lists[column.slot].type
    if one.type != kind:
        raise NotNativeError(f"{_told(known, name)} changes its type", later=True)
    elementwise.settle(reader)
    _use(reader, known)
    reader.writes(column)
    reader.out.store(reader.array(column), owner.index, one.value)


def getter(reader: Reader, owner: Member, name: str) -> types.FunctionType | None:
    """The function of a property; None where the attribute is none."""
    trace, kind = reader.outside.trace, reader.outside.objects[owner.holder.slot].kind
    on_class = static_lookup(kind, name)
    if type(on_class) is not property or not attributes.is_function(on_class.fget):
        return None
    if not _reads_plainly(reader.outside, kind):
        return None
    _, symbol = class_member(trace, kind, name)
    inner = inner_function(trace, on_class, symbol, "fget")
    return attributes.function_in(reader.outside, on_class.fget, inner)


def _reads_plainly(outside: Outside, kind: type) -> bool:
    """Whether a class reads attributes as `object` does; guarded."""
    plain = tuple if tuple in mro(kind) else object
    own = plain.__getattribute__  # up to 3.13 tuples have one of their own
    return uses_plain(outside.trace, kind, "__getattribute__", own)


def _has_place(outside: Outside, kind: type, name: str, found: Any, member: Symbol) -> bool:
    """Whether what a class has says where its objects have an attribute: a slot, a field of named tuples; guarded."""
    if not isinstance(found, TUPLE_FIELD) and not is_slot(found):
        return False
    check_place(outside.trace, kind, name, found, member)
    return True


def _all_lack(known: ObjectList, name: str) -> bool:
    return all(_own(one, name) is _hook.NULL for one in known.value)


def _own(item: object, name: str) -> Any:
    """What an object has in its dict; NULL: nothing."""
    try:
        return _hook.own_value(item, name)
    except LookupError:
        raise NotNativeError(
            f"the attribute {name} of an object with odd keys in its dict"
        ) from None


def _of_class(
    reader: Reader, owner: Member, name: str, found: Any, member: Symbol
) -> Item | Symbol:
    """What the class has, and no item itself."""
    known = reader.outside.objects[owner.holder.slot]
    if attributes.is_function(found):
        function = attributes.function_in(reader.outside, found, member)
        result: Item | Symbol = Bound(function, owner)
    elif guarded_lookup(reader.outside.trace, type(found), "__get__") is ABSENT:
        result = member
    else:
        raise refusals.no_attribute(name, owner)
    known.lacked.add(name)
    _use(reader, known)
    doubt_no_member(reader, owner)
    return result


def _read(reader: Reader, owner: Member, name: str, found: Any) -> Item:
    """What an item has in a slot or in its dict."""
    known = reader.outside.objects[owner.holder.slot]
    if name in known.columns or any(one is not None for one in _values(known, name, found)):
        return _loaded(reader, owner, _column(reader.outside, known, name, found))
    if isinstance(found, TUPLE_FIELD):
        raise NotNativeError(f"{_told(known, name)} is None")
    known.nothing.add(name)
    _use(reader, known)
    doubt_no_member(reader, owner)
    return Known(None)


def _values(known: ObjectList, name: str, found: Any) -> list[Any]:
    """What all items have as an attribute, in a slot or in their dicts."""
    text = _told(known, name)
    try:
        get = found.__get__ if isinstance(found, TUPLE_FIELD) or is_slot(found) else None
        values = [get(one) if get is not None else _own(one, name) for one in known.value]
    except (AttributeError, IndexError):  # of an empty slot; of a tuple that is too short
        values = [_hook.NULL]
    except TypeError:
        raise NotNativeError(f"{text}: it is one of other objects") from None
    if any(one is _hook.NULL for one in values):
        raise NotNativeError(f"{text}: not all of them have it", later=True)
    return values


def _told(known: ObjectList, name: str) -> str:
    """What people call an attribute of the objects in a list; of tuples it is an item, `[1]`."""
    if name.startswith("["):
        return f"item {name} of the tuples in {known.name}"
    return f"the attribute {name} of the objects in {known.name}"


def _types_in_words(values: Sequence[object]) -> str:
    """`a str`; of several types `an int in some of them and a float in others`."""
    one, *others = dict.fromkeys(map(value_in_words, values))
    return f"{one} in some of them and {others[0]} in others" if others else one


def _column(outside: Outside, known: ObjectList, name: str, found: Any) -> ArrayKind:
    """The array of what all items have as an attribute, in a slot or in their dicts."""
    if name in known.columns:
        return ArrayKind(known.columns[name])
    text, values = _told(known, name), _values(known, name, found)
    if isinstance(values[0], np.ndarray):
        if why := stacked.why_not_stacked(values):
            raise NotNativeError(f"{text} is {why}", later=True)
        known.columns[name] = outside.stack(known, f"{known.name}.{name}", values)
        return _at_place(known, name, found)
    kind = common_item_kind(values)
    if kind is None:
        raise NotNativeError(f"{text} is {_types_in_words(values)}", later=True)
    known.columns[name] = outside.column(known, f"{known.name}.{name}", values, kind)
    return _at_place(known, name, found)


def _at_place(known: ObjectList, name: str, found: Any) -> ArrayKind:
    if isinstance(found, TUPLE_FIELD):
        known.fields[name] = found.__reduce__()[1][0]
    return ArrayKind(known.columns[name])


def _loaded(reader: Reader, owner: Member, column: ArrayKind) -> Number | Array:
    _use(reader, reader.outside.objects[owner.holder.slot])
    if reader.outside.is_stacked(column):
        doubt_no_member(reader, owner)
        return stacked.part(column, owner)
    type_, number = ELEMENTS[reader.dtype(column)], reader.array(column)
    loaded = reader.out.op("load", type_, owner.index, attributes=(number,))
    return Number(reader.item_kind(column), loaded)


def _use(reader: Reader, known: ObjectList) -> None:
    """The nest gets the list."""
    reader.number(ArrayKind(known.source.register))


@ELEMENT.of(Member)
def item_of_tuple(reader: Reader, owner: Member, key: Item) -> Item:
    """`owner[key]` of a plain tuple."""
    key = characters.known(reader, key)
    width = reader.outside.objects[owner.holder.slot].width
    place = key.value if isinstance(key, Known) else None
    if type(place) is not int or not -width <= place < width:
        raise NotNativeError("it takes an item of an object, or one of a tuple that is not known")
    place %= width
    return _read(reader, owner, f"[{place}]", TUPLE_FIELD(place, ""))


@UNPACKED.of(Member)
def unpacked(reader: Reader, owner: Member, count: int) -> list[Item]:
    """The items of a plain tuple, of which there must be so many."""
    if reader.outside.objects[owner.holder.slot].width != count:
        raise NotNativeError("it unpacks {item}, which is of another length", owner)
    return [item_of_tuple(reader, owner, Known(place)) for place in range(count)]


# Items -------------------------------------------------------------------------------------------------------------


@ELEMENT.of(Objects)
def element(reader: Reader, container: Objects, key: Item) -> Item:
    """`container[key]`."""
    if isinstance(key, SliceOf):
        return tables.part(reader, container, key)
    return Member(container.holder, views.index(reader, key))


@LENGTH.of(Objects)
def length(reader: Reader, container: Objects) -> Number:
    """`len(container)`."""
    return reader.length(container.holder, 0)


def doubt_no_member(reader: Reader, item: Member) -> None:
    """Leave it to plain Python where there is no such item: who takes an attribute of it finds out."""
    out = reader.out
    there = reader.length(item.holder, 0).value
    out.doubt_if(out.op("ige", I1, item.index, there))
    out.doubt_if(out.op("ilt", I1, item.index, out.op("neg", I64, there)))


def doubt_dropped(reader: Reader, item: Item) -> None:
    """Leave it to plain Python where there is no such row or item: it is looked at no further, so nobody finds out."""
    if isinstance(item, Array):
        elements.doubt_no_row(reader, item)
    else:
        doubt_missing(reader, item)


def doubt_missing(reader: Reader, item: Item) -> None:
    """The same of an item, a row of a table, or a tuple of these."""
    match item:
        case Member():
            doubt_no_member(reader, item)
        case Row():
            tables.doubt_no_row(reader, item)
        case Items(items):
            for one in items:
                doubt_missing(reader, one)


def is_same(reader: Reader, left: Item, right: Item) -> Item | None:
    """`left is right`, where one of them is an item of a list of objects; None: neither is."""
    if not isinstance(left, Member):
        left, right = right, left
    if not isinstance(left, Member):
        return None
    for one in (left, right):
        doubt_missing(reader, one)
    if is_none(right):
        return Known(False)
    known = reader.outside.objects[left.holder.slot]
    if isinstance(right, Thing) and type(right.value) is not known.kind:
        return Known(False)
    if isinstance(right, Thing):
        _read_anew(reader, right, known)
        known.is_apart = True  # so each call sees that the object is no item
        return Known(False)
    if not isinstance(right, Member) or right.holder != left.holder:
        raise NotNativeError("it asks whether two objects are one, of which one is in a list")
    known.is_apart = True  # one item has one index then
    places = (_place(reader, one) for one in (left, right))
    return Number(BOOL, reader.out.op("ieq", I1, *places))


def _read_anew(reader: Reader, thing: Thing, known: ObjectList) -> None:
    """Read the loop anew where an object is an item, too: so its local is one.

    Raises:
        MemberError: it is.
        NotNativeError: it is, and is in no local.

    """
    if not _has(known.value, thing.value):
        return
    slot = thing.source.register
    if slot >= len(reader.own.names) or slot in reader.tries.members:
        raise NotNativeError(
            f"an object in the list {known.name} is known by another name, too", later=True
        )
    raise MemberError((slot,))


def is_equal(reader: Reader, left: Item, right: Item, name: str) -> Item | None:
    """What `left == right` (`name` "eq"), or `left != right` ("ne"), asks: whether they are one; None: no such case."""
    if not isinstance(left, Member) or not isinstance(right, Member):
        return None
    for one in (left, right):
        kind = reader.outside.objects[one.holder.slot].kind
        if not all(
            uses_plain(reader.outside.trace, kind, *each) for each in PLAIN_COMPARISONS[name]
        ):
            raise NotNativeError("it compares objects of a class with a method for that")
    return is_same(reader, left, right)


def _place(reader: Reader, item: Member) -> Value:
    """The index of an item, from the first on."""
    out = reader.out
    doubt_no_member(reader, item)
    behind = out.op("add", I64, item.index, reader.length(item.holder, 0).value)
    is_from_end = out.op("ilt", I1, item.index, out.constant(I64, 0))
    return out.op("select", I64, is_from_end, behind, item.index)


# Locals that are items ---------------------------------------------------------------------------------------------


def kind_of_local(outside: Outside, value: object, locals_: Iterable[int]) -> MemberKind | None:
    """The kind of a local that is an item of a list that the loop goes over, or of one of some locals; or None."""
    if not is_object(type(value)):
        return None
    for slot in locals_:
        if slot not in outside.objects and _has(outside.state[slot], value):
            outside.local(slot)
    for register, known in outside.objects.items():
        if _has(known.value, value):
            return MemberKind(ArrayKind(register))
    return None


def _has(items: Any, value: object) -> bool:
    return is_of_objects(items) and any(one is value for one in items)


def variable(name: str) -> str:
    """The variable of the index of a local that is an item, see `keeping.py`."""
    return f"{name}[0]"


def slot_of(outside: Outside, name: str, holder: ArrayKind, *, is_given: bool) -> MemberSlot:
    """The nest's slot of a local that is an item."""
    return MemberSlot(name, outside.objects[holder.slot].name, is_given=is_given)


def give_back(reader: Reader, slot: int, kind: MemberKind) -> str:
    """Put the index of an item that the frame gets into a variable; its name."""
    name = variable(reader.own.names[slot])
    place = _place(reader, Member(kind.holder, reader.out.get(name, I64)))
    if reader.kinds.get(slot) != kind:
        name = f"{name} of {reader.outside.objects[kind.holder.slot].name}"
        reader.made_members[name] = kind.holder
    _use(reader, reader.outside.objects[kind.holder.slot])
    reader.out.set(name, place)
    return name


# The whole loop ----------------------------------------------------------------------------------------------------


def checked(reader: Reader) -> tuple[int, ...]:
    """See which lists must be apart; the registers of the objects that are no items, where some of both change.

    Raises:
        NotNativeError: they are not apart.
        MemberError: an object that is in a local is an item, too.

    """
    outside = reader.outside
    if not outside.objects:
        return ()
    stacked.refuse_shared(reader)
    things = outside.things
    used = [one for register, one in outside.objects.items() if register in reader.used]
    for one in used:
        columns = (*one.columns.values(), *one.marks.values())
        one.is_apart = one.is_apart or not reader.stored.isdisjoint(columns)
    apart = [one for one in used if one.is_apart]
    if not apart and not (used and outside.attributes.all_set):
        return ()
    for thing in things.values():
        for one in used:
            _read_anew(reader, thing, one)
    own = [id(item) for one in apart for item in one.value]
    others = {id(item) for one in used if not one.is_apart for item in one.value}
    if len(set(own)) < len(own) or others.intersection(own):
        names = ", ".join(one.name for one in used)
        raise NotNativeError(
            f"an object in the list {names} is there twice, or in another list",
            later=True,
        )
    return (*things, *outside.dicts)

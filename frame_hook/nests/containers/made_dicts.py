"""Dicts and sets of whole numbers that a nest makes: keys in a temporary, in order, what they lead to in another one.

An index to the keys is a third one, see `find` and `enter` of `graph/nest.py`. What the keys and values are is known
once something is put in: reading begins anew then (`GrowError`), and until then nothing is found. The values lie behind
an element that is none, so that the place of a key that is not there, and one more, is a place of theirs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.nests.arrays import elementwise
from ufuse.frame_hook.nests.containers import (
    characters,
    dict_places,
    identity,
    made_lists,
)
from ufuse.frame_hook.nests.given.keyed import SEVERAL_TYPES
from ufuse.frame_hook.nests.given.temporaries import holders_in, parts_in
from ufuse.frame_hook.nests.known.arrays import Axis, Length, Part
from ufuse.frame_hook.nests.known.containers import (
    DictView,
    EntryOf,
    ListsOf,
    MadeDict,
    MadeList,
    NewDict,
)
from ufuse.frame_hook.nests.known.kinds import BOOL, INT, NP_INT, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, Turning, ZipOf
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.operations import (
    CONTAINS,
    ELEMENT,
    LENGTH,
    STORE,
    VIEW,
    gone_over,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_slots import INDEX
from ufuse.graph.nest_types import ELEMENTS, I1, I32, I64, Value

SOME = NewDict, MadeDict
LOADS = frozenset(("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"))
TWO_LOADS = frozenset(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"))
# What an augmented assignment computes with; none of these changes anything.
QUIET = LOADS | TWO_LOADS | {"LOAD_CONST", "LOAD_SMALL_INT", "BINARY_SUBSCR", "BINARY_OP"}


# Made -------------------------------------------------------------------------------------------------------------


def begin(
    reader: Reader,
    *,
    factory: NumberKind | None = None,
    is_set: bool = False,
    counts: bool = False,
) -> NewDict | MadeDict:
    """A dict or set without entries."""
    site = reader.making()
    grown = dict(reader.tries.grown).get(site)
    if grown is None:
        reader.has_unknown = True
        return NewDict(site, factory, is_set, counts)
    (entry,) = grown
    assert isinstance(entry, EntryOf)
    keys = reader.temporary(entry.key.dtype, items=entry.key)
    index = reader.temporary(INDEX)
    zero, one = reader.out.constant(I64, 0), reader.out.constant(I64, 1)
    reader.out.alloc(reader.array(keys), zero)
    values = None
    if entry.value is not None:
        values = reader.temporary(entry.value.dtype, items=entry.value)
        type_ = ELEMENTS[entry.value.dtype]
        reader.out.alloc(reader.array(values), one)
        nothing = reader.out.constant(type_, dict_places.zero_of(entry.value))
        reader.out.store(reader.array(values), zero, nothing)
    places = None
    removes = dict_places.is_known(reader, site)
    if entry.origin is not None or removes:
        places = reader.temporary(np.dtype(np.int64))
        reader.out.alloc(reader.array(places), one)
        reader.out.store(reader.array(places), zero, zero)
    found = MadeDict(keys, index, values, places, entry, site, factory, counts, removes)
    if removes:
        dict_places.begin(reader, found)
    return found


def site_of_lists(site: str) -> str:
    """The name of the lists of a dict that leads to some, see `own_groups.py`."""
    return f"{site}.lists"


def ask_for_lists(owner: NewDict | MadeDict) -> None:
    """Have a dict lead to lists.

    Raises:
        GrowError: always, but of one that is given.

    """
    if owner.site and isinstance(owner, NewDict) and owner.factory is None and not owner.is_set:
        raise GrowError(site_of_lists(owner.site), ListsOf((INT,), is_guess=True))


# What is found ----------------------------------------------------------------------------------------------------


def entry_of(reader: Reader, item: Item, value: NumberKind | None) -> EntryOf:
    """What a dict gets under a key."""
    if isinstance(item, Items):
        return EntryOf(INT, value, is_pair=True)
    if characters.is_one(item):
        return EntryOf(INT, value, is_text=True)
    return EntryOf(_whole(reader, item).type, value)


def _whole(reader: Reader, item: Item) -> Number:
    one = either.known(conversions.number(reader.out, item))
    if one.type not in (INT, NP_INT):
        raise NotNativeError("a key of a dict or set is no int")
    return one


def _has_numpys(reader: Reader, item: Item) -> bool:
    """Whether a key is a number of NumPy's, or a tuple with one."""
    parts = item.items if isinstance(item, Items) else () if characters.is_one(item) else (item,)
    return any(_whole(reader, one).type.numpy for one in parts)


def _key(reader: Reader, item: Item) -> Value:
    """A key as a table has it: two ints of a tuple lie in one, and are in doubt where they are larger than that."""
    if characters.is_one(item):
        one = characters.number(reader.out, item)
        assert one is not None
        return reader.out.op("to_i64", I64, one)
    if not isinstance(item, Items):
        return _whole(reader, item).value
    if len(item.items) != 2 or item.site:
        raise NotNativeError("a key of a dict or set is no int, and no tuple of two")
    out = reader.out
    first, second = (_whole(reader, one).value for one in item.items)
    for one in (first, second):
        out.op("to_i32", I32, one)
    high = out.op("lshift", I64, first, out.constant(I64, 32))
    return out.op("or", I64, high, out.op("and", I64, second, out.constant(I64, 0xFFFFFFFF)))


def _check_key(reader: Reader, owner: MadeDict, item: Item) -> None:
    if isinstance(item, Items) is not owner.entry.is_pair:
        raise NotNativeError(SEVERAL_TYPES)
    if characters.is_one(item) is not owner.entry.is_text:
        raise NotNativeError(SEVERAL_TYPES)


def place_of(reader: Reader, owner: MadeDict, key: Item) -> Value:
    """The place of a key, or -1."""
    _check_key(reader, owner, key)
    numbers = reader.array(owner.keys), reader.array(owner.index)
    place = reader.out.op("find", I64, _key(reader, key), attributes=numbers)
    return dict_places.place_of(reader, owner, place) if owner.removes else place


def _is_missing(reader: Reader, place: Value) -> Value:
    return reader.out.op("ilt", I1, place, reader.out.constant(I64, 0))


@CONTAINS.of(NewDict, MadeDict)
def contains(reader: Reader, owner: NewDict | MadeDict, key: Item) -> Item:
    """`key in owner`."""
    if isinstance(owner, NewDict):
        _key(reader, key)
        return Known(False)
    place = place_of(reader, owner, key)
    return Number(BOOL, reader.out.op("ige", I1, place, reader.out.constant(I64, 0)))


@LENGTH.of(NewDict, MadeDict)
def length(reader: Reader, owner: NewDict | MadeDict) -> Item:
    """`len(owner)`."""
    if isinstance(owner, MadeDict) and owner.removes:
        return dict_places.length(reader, owner)
    return Known(0) if isinstance(owner, NewDict) else reader.length(owner.keys, 0)


@ELEMENT.of(NewDict, MadeDict)
def element(reader: Reader, owner: NewDict | MadeDict, key: Item) -> Item | None:
    """`owner[key]`, a doubt without such a key; None: it was pushed, and the block has ended."""
    if owner.factory is None:
        if isinstance(owner, NewDict):
            _key(reader, key)
            reader.go_to_doubt()
            return Known(None)
        place = place_of(reader, owner, key)
        reader.out.doubt_if(_is_missing(reader, place))
        return dict_places.value_at(reader, owner, place)
    if owner.counts or _is_stored_at_once(reader, owner):
        return get(reader, owner, key, Known(dict_places.zero_of(owner.factory)))
    if isinstance(owner, NewDict) or owner.entry.value != owner.factory:
        raise GrowError(owner.site, entry_of(reader, key, owner.factory))
    return dict_places.value_at(reader, owner, entered(reader, owner, key))


def get(reader: Reader, owner: NewDict | MadeDict, key: Item, default: Item) -> Item | None:
    """`owner.get(key, default)`; None: it was pushed, for each type that it may have, and the block has ended."""
    if isinstance(owner, NewDict):
        _key(reader, key)
        return identity.shared(default)
    place = place_of(reader, owner, key)
    missing, found = _is_missing(reader, place), dict_places.value_at(reader, owner, place)
    if isinstance(default, Number) or (
        isinstance(default, Known) and type(default.value) in (int, float, bool)
    ):
        one = conversions.number(reader.out, default)
        if one.type == found.type:
            chosen = reader.out.op("select", found.value.type, missing, one.value, found.value)
            return Number(found.type, chosen)
    labels = []
    for each in (identity.shared(default), found):
        reader.stack.append(each)
        labels.append(reader.target(reader.next))
        reader.stack.pop()
    reader.out.end("branch", *labels, condition=missing)
    return None


def _is_stored_at_once(reader: Reader, owner: NewDict | MadeDict) -> bool:
    """Whether an item is read by an augmented assignment, which sets it before anything else is read of its dict."""
    rows = list(reader.frame.function.table.values())
    at = rows.index(reader.at)
    before = [(one.opname, one.arg) for one in rows[max(at - 2, 0) : at]]
    if before != [("COPY", 2), ("COPY", 2)]:
        return False
    for one in rows[at + 1 :]:
        if one.opname == "SWAP":
            return True
        if one.opname not in QUIET or any(_is_in(reader, slot, owner) for slot in _loaded(one)):
            return False
    return False


def _is_in(reader: Reader, slot: int, owner: NewDict | MadeDict) -> bool:
    """Whether a local may be a dict."""
    if slot in reader.slots:
        kind = reader.slots[slot]
        return isinstance(kind, SOME) and kind.site == owner.site
    given = reader.outside.keyed.known(owner)
    return given is not None and reader.state[slot] is given.value


def _loaded(one: Instruction) -> tuple[int, ...]:
    """The slots of locals that an instruction loads."""
    arg = one.arg or 0
    if one.opname in LOADS:
        return (arg,)
    return (arg >> 4, arg & 15) if one.opname in TWO_LOADS else ()


# What is put in ---------------------------------------------------------------------------------------------------


def entered(reader: Reader, owner: MadeDict, key: Item) -> Value:
    """The place of a key, which gets one; a doubt where it is new, and a loop goes over the keys."""
    _check_key(reader, owner, key)
    reader.outside.keyed.write(owner)
    if (entry := entry_of(reader, key, owner.entry.value)).key != owner.entry.key:
        raise GrowError(owner.site, entry)
    is_odd = _has_numpys(reader, key) or owner.entry.is_text
    if is_odd and reader.outside.keyed.known(owner) is not None:
        raise NotNativeError("it puts keys into a dict or set that are no ints of Python")
    one = _key(reader, key)
    origin = _origin(reader, owner, key)
    elementwise.settle(reader)
    before = reader.length(owner.keys, 0).value
    columns = tuple(reader.array(one) for one in (owner.values, owner.places) if one is not None)
    numbers = reader.array(owner.keys), reader.array(owner.index)
    place = reader.out.enter(*numbers, columns, one)
    is_new = reader.out.op("ieq", I1, place, before)
    if owner.removes:
        dict_places.enter(reader, owner, place)
    elif owner.places is not None:
        behind = reader.out.op("add", I64, place, reader.out.constant(I64, 1))
        known = reader.out.op("load", I64, behind, attributes=(reader.array(owner.places),))
        known = reader.out.op("select", I64, is_new, origin, known)
        reader.out.store(reader.array(owner.places), behind, known)
    if _is_gone_over(reader, owner):
        reader.out.doubt_if(is_new)
    return place


def _origin(reader: Reader, owner: MadeDict, key: Item) -> Value:
    """Which item of a list a key is, -1 where it is an object that nothing else has; notes where it is neither."""
    if owner.removes:
        return reader.out.constant(I64, -1)
    is_number = not owner.entry.is_pair and not owner.entry.is_text
    if is_number and reader.tries.gives_lists and not identity.take(reader, key):
        listed = identity.listing(reader, key)
        if listed is not None and owner.entry.origin is None:
            raise GrowError(owner.site, replace(owner.entry, origin=listed[1]))
        if listed is not None and listed[1] == owner.entry.origin:
            return identity.place_in_list(reader, listed)
        if not identity.take_or_doubt(reader, key, owner.site):
            reader.shared_lists.add(owner.keys)
        if reader.outside.keyed.known(owner) is not None:
            raise NotNativeError("it puts keys into a dict or set that something else has, too")
    return reader.out.constant(I64, -1)


def _is_gone_over(reader: Reader, owner: MadeDict) -> bool:
    versions = [reader.frame.caller]
    while versions[-1] is not None:
        versions.append(versions[-1].caller)
    stacks = [one.stack for one in versions if one is not None]
    loops = list(parts_in((reader.stack, *stacks), (Turning,)))
    return not {owner.keys, owner.values}.isdisjoint(holders_in(loops))


def _put(reader: Reader, owner: MadeDict, place: Value, one: Number, item: Item) -> None:
    """Have the key at a place lead to a number."""
    assert owner.values is not None
    if reader.tries.gives_lists and not identity.take_or_doubt(reader, item, owner.site):
        reader.shared_lists.add(owner.keys)
    behind = reader.out.op("add", I64, place, reader.out.constant(I64, 1))
    reader.out.store(reader.array(owner.values), behind, one.value)


def _number(reader: Reader, owner: NewDict | MadeDict, key: Item, item: Item) -> Number:
    """A number for a key, as it is put into a dict."""
    if isinstance(item, Listed):
        ask_for_lists(owner)
    one = made_lists.number_of(reader, item)
    entry = entry_of(reader, key, one.type)
    if isinstance(owner, NewDict) or replace(owner.entry, origin=None) != entry:
        raise GrowError(owner.site, entry)
    return one


@STORE.of(NewDict, MadeDict)
def store(reader: Reader, owner: NewDict | MadeDict, key: Item, item: Item) -> None:
    """`owner[key] = item`."""
    if is_set(owner):
        raise NotNativeError("it stores into a set")
    one = _number(reader, owner, key, item)
    assert isinstance(owner, MadeDict)
    _put(reader, owner, entered(reader, owner, key), one, item)


def is_set(owner: NewDict | MadeDict) -> bool:
    """Whether it is a set."""
    return owner.is_set if isinstance(owner, NewDict) else owner.values is None


def set_default(reader: Reader, owner: NewDict | MadeDict, key: Item, item: Item) -> Number:
    """`owner.setdefault(key, item)`."""
    one = _number(reader, owner, key, item)
    assert isinstance(owner, MadeDict)
    is_new = _is_missing(reader, place_of(reader, owner, key))
    place = entered(reader, owner, key)
    found = dict_places.value_at(reader, owner, place)
    chosen = reader.out.op("select", one.value.type, is_new, one.value, found.value)
    _put(reader, owner, place, replace(one, value=chosen), item)
    return Number(one.type, chosen)


def add(reader: Reader, owner: NewDict | MadeDict, key: Item) -> Known:
    """`owner.add(key)`."""
    if not is_set(owner):
        raise NotNativeError("it adds to a dict")
    if isinstance(owner, NewDict):
        raise GrowError(owner.site, entry_of(reader, key, None))
    entered(reader, owner, key)
    return Known(None)


# Gone over --------------------------------------------------------------------------------------------------------


def _values(reader: Reader, owner: MadeDict) -> Part:
    """What the keys lead to, in their order."""
    assert owner.values is not None
    dict_places.refuse(owner)
    count = Length(reader.length(owner.keys, 0).value)
    return Part(
        owner.values, reader.dtype(owner.values), (reader.out.constant(I64, 1),), (Axis(count, 0),)
    )


def refuse_keys(owner: MadeDict) -> None:
    """Refuse to go over keys that are no numbers.

    Raises:
        NotNativeError: they are none.

    """
    if owner.entry.is_pair or owner.entry.is_text:
        raise NotNativeError("it goes over a dict whose keys are tuples or characters")


@VIEW.of(NewDict, MadeDict)
def gone_over_by(reader: Reader, owner: NewDict | MadeDict, what: str) -> Item:
    """What a loop over a view of a dict goes over, as it changes.

    Raises:
        NotNativeError: it is a set, whose order depends on all that was done with it.

    """
    if is_set(owner):
        raise NotNativeError("it goes over a set")
    if isinstance(owner, NewDict):
        return Items(())
    if what != "values":
        refuse_keys(owner)
    dict_places.refuse(owner)
    keys = MadeList(owner.keys, owner.entry.key)
    if what == "keys":
        return keys
    values = _values(reader, owner)
    return values if what == "values" else ZipOf((keys, values))


def listed(reader: Reader, item: Item) -> Item:
    """What a function that takes all items of a dict goes over at once, as a list; anything else as it is."""
    if isinstance(item, DictView) and item.what == "values" and isinstance(item.of, MadeDict):
        kind = item.of.entry.value
        assert kind is not None
        return made_lists.copied_part(reader, _values(reader, item.of), kind)
    return gone_over(reader, item)


# Given back -------------------------------------------------------------------------------------------------------


def _container(item: MadeDict) -> str:
    """One of `graph.nest.CONTAINERS`."""
    if item.values is None:
        return "set"
    if item.counts:
        return "Counter"
    return "dict" if item.factory is None else f"defaultdict.{item.factory.kind}"


def described(item: MadeDict) -> str:
    """What a whole call gives, where it gives a dict or set.

    Raises:
        NotNativeError: it has tuples as keys.

    """
    dict_places.refuse(item)
    if item.entry.is_pair or item.entry.is_text:
        raise NotNativeError("it returns a dict or set whose keys are tuples or characters")
    return f"{_container(item)} of {item.entry}"


def as_result(item: MadeDict, origin: str) -> tuple[str, bool, str, str, bool, str]:
    """What `ResultSlot` has of it; `origin` is the list of which keys are items."""
    key, value = item.entry.key, item.entry.value
    of_value = ("", False) if value is None else (value.kind, value.numpy)
    return (key.kind, key.numpy, _container(item), *of_value, origin)

"""Items that are taken out of dicts and sets which a nest makes: `del`, `pop`, `remove`, `discard`.

The key stays where it is; a number beside it says whether it is there. Nothing is known of the order then: such a dict
or set is neither gone over nor given back. How many items there are lies in a variable.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.arrays import elementwise
from ufuse.frame_hook.nests.containers import identity, made_dicts
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import (
    BOOL,
    INT,
    Item,
    Known,
    MadeDict,
    NewDict,
    NotNativeError,
    Number,
)
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import ELEMENTS, I1, I64, Value

OF_DICTS, OF_SETS = frozenset(("pop",)), frozenset(("remove", "discard"))


def _site(site: str) -> str:
    """The name for this of a dict or set."""
    return f"{site}.removed"


def is_known(reader: Reader, site: str) -> bool:
    """Whether items are taken out of what is made in a place, as far as has been read."""
    return _site(site) in dict(reader.tries.grown)


def begin(reader: Reader, owner: MadeDict) -> None:
    """A dict or set without items."""
    reader.out.set(_count(owner), reader.out.constant(I64, 0))


def _count(owner: MadeDict) -> str:
    """The variable of how many items there are."""
    return f".keys{owner.keys.number}.count"


def refuse(owner: MadeDict) -> None:
    """Refuse what asks for the order of items.

    Raises:
        NotNativeError: it is not known.

    """
    if owner.removes:
        raise NotNativeError(
            "it goes over a dict or set, or gives it back, and takes items out of it"
        )


def length(reader: Reader, owner: MadeDict) -> Number:
    """`len(owner)`."""
    return Number(INT, reader.out.get(_count(owner), I64))


def _flag(reader: Reader, owner: MadeDict, place: Value) -> tuple[Value, Value]:
    """Where it stands whether the key at a place is there, of which -1 is none; and that."""
    assert owner.places is not None
    out = reader.out
    behind = out.op("add", I64, place, out.constant(I64, 1))
    flag = out.op("load", I64, behind, attributes=(reader.array(owner.places),))
    return behind, out.op("ine", I1, flag, out.constant(I64, 0))


def place_of(reader: Reader, owner: MadeDict, place: Value) -> Value:
    """The place of a key, or -1; the place may be one of a key that was taken out."""
    out = reader.out
    _, is_there = _flag(reader, owner, place)
    return out.op("select", I64, is_there, place, out.constant(I64, -1))


def enter(reader: Reader, owner: MadeDict, place: Value) -> None:
    """The key at a place is there, and leads to a zero where it was not."""
    assert owner.places is not None
    out = reader.out
    behind, is_there = _flag(reader, owner, place)
    kind = owner.entry.value
    if owner.values is not None and kind is not None:
        zero = out.constant(ELEMENTS[kind.dtype], made_dicts.zero_of(kind))
        found = made_dicts.value_at(reader, owner, place).value
        kept = out.op("select", found.type, is_there, found, zero)
        out.store(reader.array(owner.values), behind, kept)
    out.store(reader.array(owner.places), behind, out.constant(I64, 1))
    more = out.op("widen", I64, out.op("not", I1, is_there))
    out.set(_count(owner), out.op("add", I64, out.get(_count(owner), I64), more))


def _removed(reader: Reader, owner: MadeDict, key: Item) -> Value:
    """The place where a key was, or -1.

    Raises:
        GrowError: the dict or set is one of which no item is taken out, so far.
        NotNativeError: it is given.

    """
    if reader.outside.keyed.known(owner) is not None:
        raise NotNativeError("it takes items out of a dict or set that it is given")
    if not owner.removes or owner.places is None:
        raise GrowError(_site(owner.site), BOOL)
    out = reader.out
    elementwise.settle(reader)
    place = made_dicts.place_of(reader, owner, key)
    behind, is_there = _flag(reader, owner, place)
    out.store(reader.array(owner.places), behind, out.constant(I64, 0))
    less = out.op("widen", I64, is_there)
    out.set(_count(owner), out.op("sub", I64, out.get(_count(owner), I64), less))
    return place


def delete(reader: Reader, owner: NewDict | MadeDict, key: Item) -> Value | None:
    """`del owner[key]`, or `owner.remove(key)`: in doubt where it is not there; else where it was."""
    if isinstance(owner, NewDict):
        made_dicts.contains(reader, owner, key)
        reader.go_to_doubt()
        return None
    place = _removed(reader, owner, key)
    reader.out.doubt_if(reader.out.op("ilt", I1, place, reader.out.constant(I64, 0)))
    return place


def called_method(
    reader: Reader, owner: NewDict | MadeDict, name: str, arguments: Sequence[Item]
) -> Item:
    """The result of a method that takes an item out."""
    if name == "pop" and len(arguments) == 2:
        return _pop_or(reader, owner, *arguments)
    if len(arguments) != 1:
        raise NotNativeError(f"the method {name} of a dict or set is not compiled so")
    if name == "discard":
        if isinstance(owner, MadeDict):
            _removed(reader, owner, arguments[0])
        else:
            made_dicts.contains(reader, owner, arguments[0])
        return Known(None)
    place = delete(reader, owner, arguments[0])
    if name == "remove" or place is None or isinstance(owner, NewDict):
        return Known(None)
    return made_dicts.value_at(reader, owner, place)


def _pop_or(reader: Reader, owner: NewDict | MadeDict, key: Item, default: Item) -> Item:
    """`owner.pop(key, default)`, of a default of the type that others have, or where nobody asks what it gives."""
    if isinstance(owner, NewDict):
        made_dicts.contains(reader, owner, key)
        return identity.shared(default)
    place = _removed(reader, owner, key)
    following = reader.frame.function.table.get(reader.next)
    if following is not None and following.opname == "POP_TOP":
        return Known(None)
    one, found = conversions.number(reader.out, default), made_dicts.value_at(reader, owner, place)
    if one.type != found.type:
        raise NotNativeError("the method pop of a dict with a default of another type")
    is_missing = reader.out.op("ilt", I1, place, reader.out.constant(I64, 0))
    return Number(
        one.type, reader.out.op("select", one.value.type, is_missing, one.value, found.value)
    )

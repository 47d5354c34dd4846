"""Items that are taken out of dicts and sets which a nest makes: `del`, `pop`, `remove`, `discard`.

What is noted of them is in `dict_places.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.arrays import elementwise
from ufuse.frame_hook.nests.containers import dict_places, identity, made_dicts
from ufuse.frame_hook.nests.known.containers import MadeDict, NewDict
from ufuse.frame_hook.nests.known.kinds import BOOL, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value


def _removed(reader: Reader, owner: MadeDict, key: Item) -> Value:
    """The place where a key was, or -1.

    Raises:
        GrowError: the dict or set is one of which no item is taken out, so far.
        NotNativeError: it is given.

    """
    if reader.outside.keyed.known(owner) is not None:
        raise NotNativeError("it takes items out of a dict or set that it is given")
    if not owner.removes or owner.places is None:
        raise GrowError(dict_places.site_of(owner.site), BOOL)
    out = reader.out
    elementwise.settle(reader)
    place = made_dicts.place_of(reader, owner, key)
    behind, is_there = dict_places.flag(reader, owner, place)
    out.store(reader.array(owner.places), behind, out.constant(I64, 0))
    less = out.op("widen", I64, is_there)
    out.set(
        dict_places.count_of(owner),
        out.op("sub", I64, out.get(dict_places.count_of(owner), I64), less),
    )
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
    return dict_places.value_at(reader, owner, place)


def _pop_or(reader: Reader, owner: NewDict | MadeDict, key: Item, default: Item) -> Item:
    """`owner.pop(key, default)`, of a default of the type that others have, or where nobody asks what it gives."""
    if isinstance(owner, NewDict):
        made_dicts.contains(reader, owner, key)
        return identity.shared(default)
    place = _removed(reader, owner, key)
    following = reader.frame.function.table.get(reader.next)
    if following is not None and following.opname == "POP_TOP":
        return Known(None)
    one, found = conversions.number(reader.out, default), dict_places.value_at(reader, owner, place)
    if one.type != found.type:
        raise NotNativeError("the method pop of a dict with a default of another type")
    is_missing = reader.out.op("ilt", I1, place, reader.out.constant(I64, 0))
    return Number(
        one.type, reader.out.op("select", one.value.type, is_missing, one.value, found.value)
    )

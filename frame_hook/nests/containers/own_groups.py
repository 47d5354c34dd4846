"""Dicts that a nest makes which lead to lists that grow: a set of keys, and beside it a list of as many lists.

The place of a key among the others is that of its list.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.containers import made_dicts, own_lists
from ufuse.frame_hook.nests.known.containers import (
    DictView,
    ListsOf,
    MadeDict,
    MadeList,
    NewDict,
    OwnGroups,
    OwnList,
)
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, ZipOf
from ufuse.frame_hook.nests.reading.operations import (
    CONTAINS,
    ELEMENT,
    LENGTH,
    STORE,
    VIEW,
    method_of,
    methods_of,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64

methods_of(frozenset(("setdefault", "keys", "values", "items")), OwnGroups)


def begin(reader: Reader, *, makes: bool) -> OwnGroups | None:
    """`defaultdict(list)`, or `{}` where it is known that it leads to lists; else None."""
    site = reader.making()
    grown = dict(reader.tries.grown).get(made_dicts.site_of_lists(site))
    if grown is None and not makes:
        return None
    found = next((one for one in grown or () if isinstance(one, ListsOf)), None)
    kind = found or ListsOf((INT,), is_guess=True)
    of = made_dicts.begin(reader, is_set=True)
    reader.has_unknown |= kind.is_guess
    return OwnGroups(of, own_lists.new(reader, kind, made_dicts.site_of_lists(site)), makes)


def _place(owner: OwnGroups) -> str:
    """The variable of the place of the list that was asked for."""
    return f".lists{owner.rows.rows.number}.group"


@ELEMENT.of(OwnGroups)
def element(reader: Reader, owner: OwnGroups, key: Item) -> OwnList | Known:
    """`owner[key]`."""
    if owner.makes:
        return _entered(reader, owner, key)
    if isinstance(owner.of, NewDict):
        reader.go_to_doubt()
        return Known(None)
    place = made_dicts.place_of(reader, owner.of, key)
    reader.out.doubt_if(reader.out.op("ilt", I1, place, reader.out.constant(I64, 0)))
    return OwnList(owner.rows, place)


def _entered(reader: Reader, owner: OwnGroups, key: Item) -> OwnList:
    """The list of a key, which gets an empty one where it is new."""
    out, keys = reader.out, owner.of
    if isinstance(keys, NewDict):
        raise GrowError(keys.site, made_dicts.entry_of(reader, key, None))
    place = made_dicts.entered(reader, keys, key)
    is_new = out.op("ieq", I1, place, own_lists.count(reader, owner.rows))
    out.set(_place(owner), place)
    making, behind = reader.new_label(), reader.new_label()
    version = reader.version(reader.at.position)
    out.end("branch", making, behind, condition=is_new)
    out.begin(making)
    own_lists.append_list(reader, owner.rows, Listed((), owner.rows.site))
    out.end("jump", behind)
    out.begin(behind)
    reader.take_stack(version)
    return OwnList(owner.rows, out.get(_place(owner), I64))


@STORE.of(OwnGroups)
def store(reader: Reader, owner: OwnGroups, key: Item, item: Item) -> None:
    """`owner[key] = item`, of a new list for a new key: another one is in doubt, as its list may have a name."""
    if not isinstance(item, Listed) or not item.site:
        raise NotNativeError("a dict of lists gets what is no new list")
    own_lists.refuse_named(reader, item)
    if isinstance(owner.of, MadeDict):
        place = made_dicts.place_of(reader, owner.of, key)
        reader.out.doubt_if(reader.out.op("ige", I1, place, reader.out.constant(I64, 0)))
    kept = [own_lists.keep(reader, owner.rows, one, i) for i, one in enumerate(item.items)]
    _entered(reader, owner, key)
    for names in kept:
        one = OwnList(owner.rows, reader.out.get(_place(owner), I64))
        own_lists.put_kept(reader, one, names)


@method_of(OwnGroups)
def called_method(
    reader: Reader, owner: OwnGroups, name: str, arguments: Sequence[Item]
) -> OwnList | DictView:
    """The result of a method."""
    if name == "setdefault" and len(arguments) == 2:
        default = arguments[1]
        if isinstance(default, Listed) and default.site and not default.items:
            own_lists.refuse_named(reader, default)
            return _entered(reader, owner, arguments[0])
    elif name != "setdefault" and not arguments:
        return DictView(owner, name)
    raise NotNativeError(f"the method {name} of a dict of lists is not compiled so")


@VIEW.of(OwnGroups)
def gone_over(_: Reader, owner: OwnGroups, what: str) -> Item:
    """What a loop over a view of one goes over."""
    if what == "values":
        return owner.rows
    if isinstance(owner.of, NewDict):
        return Items(())
    made_dicts.refuse_keys(owner.of)
    keys = MadeList(owner.of.keys, owner.of.entry.key)
    return keys if what == "keys" else ZipOf((keys, owner.rows))


@LENGTH.of(OwnGroups)
def length(reader: Reader, owner: OwnGroups) -> Item:
    """`len(owner)`."""
    return made_dicts.length(reader, owner.of)


@CONTAINS.of(OwnGroups)
def contains(reader: Reader, owner: OwnGroups, key: Item) -> Item:
    """`key in owner`."""
    return made_dicts.contains(reader, owner.of, key)

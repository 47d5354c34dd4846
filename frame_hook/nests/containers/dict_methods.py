"""How dicts and sets that a nest makes begin, and their methods."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ufuse.frame_hook.nests.containers import made_dicts, own_groups, removals
from ufuse.frame_hook.nests.given.keyed import FACTORIES
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.containers import DictView, MadeDict, NewDict, OwnGroups
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item, Method
from ufuse.frame_hook.nests.reading.operations import ATTRIBUTE, method_of
from ufuse.frame_hook.nests.reading.reader import Reader

MAKERS = (dict, set, defaultdict, Counter)
VIEWS = frozenset(("keys", "values", "items"))
OF_DICTS = VIEWS | {"get", "setdefault", "pop"}
OF_SETS = frozenset(("add", "remove", "discard"))


def made(
    reader: Reader, function: Any, arguments: Sequence[Item]
) -> NewDict | MadeDict | OwnGroups:
    """What a call of one of MAKERS gives.

    Raises:
        NotNativeError: it has entries, or makes others.

    """
    if function is defaultdict and len(arguments) == 1:
        (given,) = arguments
        factory = (
            FACTORIES.get(given.value)
            if isinstance(given, Known) and isinstance(given.value, type)
            else None
        )
        if factory is not None:
            return made_dicts.begin(reader, factory=factory)
    if function in (dict, defaultdict):
        makes = function is defaultdict and list(arguments) == [Known(list)]
        groups = own_groups.begin(reader, makes=makes) if makes or not arguments else None
        if groups is not None and (makes or function is dict):
            return groups
    if function is dict and len(arguments) == 1 and reader.gives_back():
        (given,) = arguments
        if (
            isinstance(given, MadeDict)
            and given.values is not None
            and not reader.outside.keyed.known(given)
        ):
            return replace(
                given, factory=None, counts=False
            )  # a copy, behind which nobody has the other one
    if arguments or function is defaultdict:
        raise NotNativeError(f"such a {function.__name__} is not compiled yet")
    if function is Counter:
        reader.outside.counts()
        return made_dicts.begin(reader, factory=INT, counts=True)
    return made_dicts.begin(reader, is_set=function is set)


def with_entries(
    reader: Reader, pairs: Sequence[tuple[Item, Item]]
) -> NewDict | MadeDict | OwnGroups:
    """`{key: value, ...}`."""
    groups = own_groups.begin(reader, makes=False)
    if groups is not None:
        if pairs:
            raise NotNativeError("a dict of lists that is not empty from the start")
        return groups
    found = made_dicts.begin(reader)
    for key, value in pairs:
        made_dicts.store(reader, found, key, value)
    return found


@ATTRIBUTE.of(NewDict, MadeDict)
def _attribute(_: Reader, owner: NewDict | MadeDict, name: str) -> Method:
    if name in (OF_SETS if made_dicts.is_set(owner) else OF_DICTS):
        return Method(owner, name)
    raise refusals.no_attribute(name, owner)


@method_of(NewDict, MadeDict)
def called_method(
    reader: Reader, owner: NewDict | MadeDict, name: str, arguments: list[Item]
) -> Item | None:
    """The result of a method; None: it was pushed, and the block has ended."""
    if name == "get" and 1 <= len(arguments) <= 2:
        return made_dicts.get(reader, owner, arguments[0], [*arguments, Known(None)][1])
    if name == "setdefault" and len(arguments) == 2:
        return made_dicts.set_default(reader, owner, *arguments)
    if name == "add" and len(arguments) == 1:
        return made_dicts.add(reader, owner, arguments[0])
    if name in VIEWS and not arguments:
        return DictView(owner, name)
    if name in ("pop", "remove", "discard"):
        return removals.called_method(reader, owner, name, arguments)
    raise NotNativeError(f"the method {name} of a dict or set is not compiled so")

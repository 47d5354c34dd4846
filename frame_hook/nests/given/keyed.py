"""Dicts and sets of whole numbers that a loop is given: read before a call like those that the nest makes.

What the loop puts in is in them once a chunk is committed. A dict of few entries is first taken for one whose keys are
known, see `fields.py`; where a loop changes it, or looks for a computed key, the loop is read anew (`KeyedError`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.given.temporaries import Temporaries
from ufuse.frame_hook.nests.known.containers import Entries, EntryOf, MadeDict, NewDict
from ufuse.frame_hook.nests.known.kinds import (
    FLOAT,
    INT,
    NotNativeError,
    NumberKind,
    common_item_kind,
)
from ufuse.frame_hook.nests.known.ragged_shapes import shape_of
from ufuse.frame_hook.nests.known.tries import NO_TRIES, KeyedError, ListsError, Tries
from ufuse.frame_hook.nests.known.values import MOST_MEMBERS
from ufuse.frame_hook.trace.symbols import Source, Unread
from ufuse.graph.nest_slots import INDEX, KeysSlot

SETS = (set, frozenset)
KINDS = (dict, defaultdict, Counter, *SETS)
FACTORIES = {int: INT, float: FLOAT}
PAIR = 2
SEVERAL_TYPES = "a dict or set gets keys, or values, of several types"


@dataclass(slots=True)
class Keyed:
    """A dict or set that the loop is given, and what it is to the reader."""

    source: Source
    value: Any
    item: NewDict | MadeDict
    is_written: bool = False
    has_rows: bool = False  # it leads to lists, see `ragged.py`


class GivenKeys:
    """Those that a loop is given; they have temporaries among those of the nest."""

    def __init__(self) -> None:
        self.found: dict[int, Keyed] = {}  # by register
        self._memory = Temporaries()
        self._tries = NO_TRIES

    def begin(self, memory: Temporaries, tries: Tries) -> None:
        """Begin to read, with what is known of what they get, and of which dicts are some."""
        self._memory, self._tries = memory, tries

    def is_one(self, symbol: object) -> bool:
        """Whether a variable from outside is read so."""
        if not isinstance(symbol, Unread) or type(symbol.value) not in KINDS:
            return False
        value = symbol.value
        if type(value) is not dict or symbol.source.text in self._tries.keyed:
            return True
        return not value or (len(value) > MOST_MEMBERS and is_keyed(value))

    def item(self, source: Source, value: Any) -> NewDict | MadeDict:
        """What the reader knows of one.

        Raises:
            NotNativeError: it holds other things than whole numbers, or leads to some.

        """
        if source.register not in self.found:
            self.found[source.register] = Keyed(source, value, self._begun(source, value))
        return self.found[source.register].item

    def with_rows(self, source: Source, value: Any) -> MadeDict:
        """The same of one that leads to lists: keys lead to their places."""
        if source.register not in self.found:
            if not is_keyed(value) or _has_pairs(value):
                raise NotNativeError(f"{source.text} has keys that are no ints")
            begun = self._with(source, EntryOf(INT, INT))
            self.found[source.register] = Keyed(source, value, begun, has_rows=True)
        item = self.found[source.register].item
        assert isinstance(item, MadeDict)
        return item

    def _begun(self, source: Source, value: Any) -> NewDict | MadeDict:
        site, counts = _site(source), type(value) is Counter
        factory = INT if counts else None
        if type(value) is defaultdict:
            factory = FACTORIES.get(value.default_factory)  # type: ignore[call-overload]
            if factory is None:
                raise NotNativeError(f"{source.text} is a defaultdict whose values are not numbers")
        (grown,) = dict(self._tries.grown).get(site, (None,))
        assert grown is None or isinstance(grown, EntryOf)
        if not value and grown is None:
            return NewDict(site, factory, type(value) in SETS, counts)
        entry = grown or _entry(source, value)
        if value and replace(entry, origin=None) != _entry(source, value):
            raise NotNativeError(SEVERAL_TYPES)
        return self._with(source, entry, factory, counts=counts)

    def _with(
        self,
        source: Source,
        entry: EntryOf,
        factory: NumberKind | None = None,
        *,
        counts: bool = False,
    ) -> MadeDict:
        """One that holds such entries, in temporaries."""
        site = _site(source)
        keys = self._memory.given(entry.key.dtype, entry.key)
        values = None if entry.value is None else self._memory.given(entry.value.dtype, entry.value)
        words = np.dtype(np.int64)
        places = None if entry.origin is None else self._memory.given(words, None)
        index = self._memory.given(INDEX, None)
        return MadeDict(keys, index, values, places, entry, site, factory, counts)

    def known(self, item: NewDict | MadeDict) -> Keyed | None:
        """That which an item is; None: the nest makes it."""
        return next((one for one in self.found.values() if one.item.site == item.site), None)

    def write(self, item: NewDict | MadeDict) -> None:
        """Note that one is changed.

        Raises:
            NotNativeError: it is known by another name, too, or never changes.
            ListsError: it is not known which keys are objects that others have.

        """
        keyed = self.known(item)
        if keyed is None:
            return
        if type(keyed.value) is frozenset:
            raise NotNativeError(f"it changes {keyed.source.text}, which is a frozenset")
        if any(one.value is keyed.value for one in self.found.values() if one is not keyed):
            raise NotNativeError(
                f"it changes {keyed.source.text}, which it knows by another name, too", later=True
            )
        if not self._tries.gives_lists:
            raise ListsError
        keyed.is_written = True

    def slots(
        self, number_of: Callable[[Any], int], text_of: Callable[[int], str]
    ) -> dict[int, KeysSlot]:
        """Their slots, by the registers that they lie in.

        `number_of` gives the number of an array, `text_of` what the slot of a list is called.

        Raises:
            NotNativeError: one is empty, and it is not known what it is to hold.

        """
        slots = {}
        for register, one in self.found.items():
            item = one.item
            if isinstance(item, NewDict):
                raise NotNativeError(f"{one.source.text} is empty, so far", later=True)
            value = item.entry.value
            slots[register] = KeysSlot(
                f"{one.source.text}@{register}",
                "dict" if one.has_rows else _container(one.value, item),
                number_of(item.keys),
                number_of(item.index),
                -1 if item.values is None else number_of(item.values),
                "" if value is None else value.kind,
                value is not None and value.numpy,
                item.entry.is_pair,
                one.is_written,
                -1 if item.places is None else number_of(item.places),
                "" if item.entry.origin is None else text_of(item.entry.origin.slot),
                one.has_rows,
            )
        return slots


def _site(source: Source) -> str:
    """What says which it is."""
    return f"given {source.text}@{source.register}"


def _container(value: Any, item: MadeDict) -> str:
    """One of `graph.nest.GIVEN_CONTAINERS`."""
    if type(value) is defaultdict and item.factory is not None:
        return f"defaultdict.{item.factory.kind}"
    return type(value).__name__


def is_keyed(value: Any) -> bool:
    """Whether all keys of a dict or set are ints, or all are tuples of two."""
    return all(type(one) is int for one in value) or _has_pairs(value)


def _has_pairs(value: Any) -> bool:
    return all(
        type(one) is tuple and len(one) == PAIR and all(type(part) is int for part in one)
        for one in value
    )


def _entry(source: Source, value: Any) -> EntryOf:
    """What one that is not empty holds."""
    if not is_keyed(value):
        raise NotNativeError(f"{source.text} has keys that are no ints, and no tuples of two ints")
    is_pair = type(next(iter(value))) is tuple
    if type(value) in SETS:
        return EntryOf(INT, None, is_pair=is_pair)
    kind = common_item_kind(list(value.values()))
    if kind is None:
        raise NotNativeError(f"{source.text} leads to values that are not numbers of one type")
    return EntryOf(INT, kind, is_pair=is_pair)


def ask_for(container: Entries) -> None:
    """Have a dict of few entries be read so, where it can be.

    Raises:
        KeyedError: it can.

    """
    value = container.value
    if type(value) is not dict or not is_keyed(value):
        return
    values = list(value.values())
    if common_item_kind(values) or shape_of(values):
        raise KeyedError(container.text)

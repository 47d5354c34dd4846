"""What is kept of code objects and functions, for as long as they live."""

from __future__ import annotations

import weakref
from functools import partial
from types import CodeType, FunctionType
from typing import Generic, TypeVar

from ufuse.frame_hook.code.kept_builtins import KEPT

__builtins__ = KEPT

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class ByIdentity(Generic[Key, Kept]):
    """A value for each object, by identity, kept for as long as the object lives.

    Entries are removed without running Python code: a trace function that is set while a program ends sees nothing.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[Key], Kept]] = {}

    def get(self, key: Key) -> Kept | None:
        """What is kept of an object, or None."""
        found = self._kept.get(id(key))
        return found[1] if found is not None and found[0]() is key else None

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def keep(self, key: Key, value: Kept) -> None:
        """Keep a value of an object, in place of what was kept."""
        self._kept[id(key)] = self._entry(key, value)

    def first(self, key: Key, value: Kept) -> Kept:
        """Keep a value of an object unless one is kept; the one that is. Threads agree on it."""
        return self._kept.setdefault(id(key), self._entry(key, value))[1]

    def _entry(self, key: Key, value: Kept) -> tuple[weakref.ref[Key], Kept]:
        # The weak reference is passed as pop's default, for an entry that is gone already.
        forget = partial(self._kept.pop, id(key))
        return weakref.ref(key, forget), value

    def __len__(self) -> int:
        return len(self._kept)

    def values(self) -> list[Kept]:
        """Everything that is kept, in the order in which it came."""
        return [value for _, value in self._kept.copy().values()]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()


class ByFunction(ByIdentity[FunctionType, Kept]):
    """A value for each function, of whose death nothing is told: a callback would count as one of the program's."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        super().__init__()
        self._room = 64

    def _entry(self, key: FunctionType, value: Kept) -> tuple[weakref.ref[FunctionType], Kept]:
        if len(self._kept) >= self._room:
            for where, (reference, _) in self._kept.copy().items():
                if reference() is None:
                    del self._kept[where]
            self._room = 2 * len(self._kept) + 64
        return weakref.ref(key), value


class ByCode(ByIdentity[CodeType, Kept]):
    """A value for each code object."""

    __slots__ = ()

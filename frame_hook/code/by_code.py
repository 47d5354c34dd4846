"""What is kept of code objects, for as long as they live."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from ufuse.frame_hook.code.kept_builtins import KEPT

if TYPE_CHECKING:
    from types import CodeType

__builtins__ = KEPT

Kept = TypeVar("Kept")


class ByCode(Generic[Kept]):
    """A value for each code object, by identity, kept for as long as the code object lives.

    Entries are removed without running Python code: a trace function that is set while a program ends sees nothing.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[CodeType], Kept]] = {}

    def get(self, code: CodeType) -> Kept | None:
        """What is kept of a code object, or None."""
        found = self._kept.get(id(code))
        return found[1] if found is not None and found[0]() is code else None

    def __contains__(self, code: CodeType) -> bool:
        return self.get(code) is not None

    def keep(self, code: CodeType, value: Kept) -> None:
        """Keep a value of a code object, in place of what was kept."""
        self._kept[id(code)] = self._entry(code, value)

    def first(self, code: CodeType, value: Kept) -> Kept:
        """Keep a value of a code object unless one is kept; the one that is. Threads agree on it."""
        return self._kept.setdefault(id(code), self._entry(code, value))[1]

    def _entry(self, code: CodeType, value: Kept) -> tuple[weakref.ref[CodeType], Kept]:
        # The weak reference is passed as pop's default, for an entry that is gone already.
        forget = partial(self._kept.pop, id(code))
        return weakref.ref(code, forget), value

    def __len__(self) -> int:
        return len(self._kept)

    def values(self) -> list[Kept]:
        """Everything that is kept, in the order in which it came."""
        return [value for _, value in self._kept.copy().values()]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()

"""A frame being traced."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.trace.symbols import Symbol
from ufuse.graph.node import Location


@dataclass(slots=True, eq=False)
class Frame:
    """One frame being traced: the root, or a function inlined into it. `locals` has a symbol or None for each slot."""

    code: CodeType
    globals: dict[str, Any]
    locals: list[Symbol | None]
    stack: list[Symbol]
    depth: int = 0
    position: int = 0
    keyword_names: tuple[str, ...] = ()
    jumps: dict[int, int] = field(default_factory=dict)  # backward jumps taken, by position
    work: dict[int, tuple[int, int]] = field(default_factory=dict)  # nodes and instructions then
    places: dict[int, Location] | None = None  # the locations that were needed so far, by position

    def push(self, symbol: Symbol) -> None:
        """Put a symbol on top of the stack."""
        self.stack.append(symbol)

    def pop(self) -> Symbol:
        """Take the topmost symbol."""
        return self.stack.pop()

    def pop_many(self, count: int) -> list[Symbol]:
        """The topmost symbols, lowest first."""
        if not count:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def slot_name(self, slot: int) -> str:
        """The name of a slot of `localsplus`."""
        return slot_names(self.code)[slot]

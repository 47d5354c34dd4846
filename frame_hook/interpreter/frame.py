"""A frame being traced."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.interpreter.pace import Work
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
    jumps: dict[int, int] = field(
        default_factory=dict
    )  # how often each backward jump was taken, by position
    # What had been done when a backward jump was last taken, by position.
    work: dict[int, Work] = field(default_factory=dict)
    # Of jumps whose condition is expected to be what it usually is, by position.
    expected: set[int] = field(default_factory=set)
    places: dict[int, Location] | None = (
        None  # those of the instructions traced so far, by position
    )

    def slot_name(self, slot: int) -> str:
        """The name of a slot of `localsplus`."""
        return slot_names(self.code)[slot]

"""What calls teach of a code object: which of its values vary, and why its frames were traced again."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from ufuse.frame_hook.build import Specialisation
from ufuse.frame_hook.guards import Guard
from ufuse.frame_hook.places import in_words, shown

MOST_VALUES = 4  # values of one number before it is no longer specialised on
MOST_TEXTS = 8  # the same of one string or bytes object


@dataclass(frozen=True, slots=True)
class Retrace:
    """Why a frame was traced again.

    Attributes:
        guard: the fact that no longer held, as a sentence.
        was, now: what it was about before and in this call.
        file, line: where the trace begins.

    """

    guard: str
    was: str
    now: str
    file: str
    line: int


@dataclass(slots=True)
class CodeRecord:
    """What has been learned of one code object."""

    dynamic: set[str] = field(default_factory=set)  # ints that have changed
    # floats too many values of which were seen, and containers that were found with another length
    varying: set[str] = field(default_factory=set)
    values: dict[str, int] = field(default_factory=dict)
    dull: set[int] = field(default_factory=set)
    stops: dict[int, frozenset[int]] = field(default_factory=dict)  # of the resume code at a place
    kept_loops: set[int] = field(default_factory=set)
    traces: dict[int, int] = field(default_factory=dict)  # by position
    given_up: dict[int, str] = field(default_factory=dict)  # why no graph begins at a place
    failures: dict[int, int] = field(default_factory=dict)  # where no graph began, how often
    useful: bool = False  # some graph of it computes something
    shows_locals: bool | None = None  # what it calls may read its locals; None: not looked yet

    def learn(self, row: Guard) -> bool:
        """Note that a guard failed; whether its entry is of no more use, for what it is about is known to vary."""
        if row.kind in ("INT", "BIG_INT"):
            self.dynamic.add(row.source)
            return True
        if row.kind in ("LENGTH", "DICT_KEYS", "SET_IS"):
            self._count(row, MOST_VALUES)
        elif row.kind in ("FLOAT", "EQUAL", "STR"):
            is_text = isinstance(row.operands[1], str | bytes)
            return self._count(row, MOST_TEXTS if is_text else MOST_VALUES)
        return False

    def _count(self, row: Guard, most: int) -> bool:
        """Whether so many values were seen of what a guard is about that it varies from now on."""
        self.values[row.source] = self.values.get(row.source, 0) + 1
        varies = self.values[row.source] >= most
        if varies:
            self.varying.add(row.source)
        return varies


def retraced(code: CodeType, kept: Specialisation, row: Guard, state: tuple[Any, ...]) -> Retrace:
    """Why a frame in this state is traced again where `kept` was the nearest, of which the guard `row` failed."""
    text = in_words(row.text, code, kept.position)
    return Retrace(
        text, _described_was(row), _described_now(row, state), code.co_filename, kept.line
    )


def _described_now(row: Guard, state: tuple[Any, ...]) -> str:
    register = row.operands[0] if row.operands else None
    if isinstance(register, int) and register < len(state):
        value = state[register]
        if row.kind == "TYPE":
            return f"a {type(value).__name__}"
        if row.kind == "SIZE":
            return f"{value.shape[row.operands[1]]}"
        if row.kind == "LENGTH":
            return _items(len(value))
        if isinstance(value, np.ndarray):
            return f"a {value.ndim}-d {value.dtype} array"
        return shown(value)
    return ""


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


def _described_was(row: Guard) -> str:
    match row.kind, row.operands:
        case "ARRAY", (_, dtype, ndim):
            return f"a {ndim}-d {dtype} array"
        case "TYPE", (_, kind):
            return f"a {kind}"
        case "LENGTH", (_, length):
            return _items(length)
        case "IDENTITY" | "INT" | "BIG_INT" | "FLOAT" | "STR" | "EQUAL" | "SIZE", (*_, value):
            return shown(value)
    return ""

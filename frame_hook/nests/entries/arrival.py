"""Whether a trace that comes to the header of a loop leaves that to the nest which is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CodeType
from typing import Any

from ufuse.frame_hook.entries.endings import goes_on
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.nests.entries.screening import written_slots
from ufuse.frame_hook.nests.known.kinds import BOOL, COMPLEX, EXACT, FLOAT, INT, NumberKind, kind_of
from ufuse.frame_hook.nests.known.positions import loop_positions
from ufuse.frame_hook.trace.symbols import Cell, Constant, Integer, Number, Unread
from ufuse.graph.types import ArrayType, NumberType

Takes = Callable[[Frame], bool]
PYTHON = {"float": FLOAT, "int": INT, "bool": BOOL, "complex": COMPLEX}


def nests_that_take(cache: Any, position: int, record: CodeRecord) -> dict[int, Takes]:
    """For each header at which a trace from a position may end: whether its nest begins with a frame's numbers."""
    return {
        header: partial(_begins_with, kinds)
        for header, kinds in record.begins.items()
        if header != position
        and any(entry.is_loop and entry.valid for entry in cache.entries(header))
        and goes_on(cache.code, position, header)
    }


def headers_outside(code: CodeType, position: int) -> list[int]:
    """The headers of loops that may become nests, and in which a trace from a position does not begin."""
    headers = written_slots(code)
    return [one for one in headers if position not in {one, *loop_positions(code, one)}]


def kinds_of(symbols: Sequence[object]) -> dict[int, NumberKind]:
    """The kinds of those of a frame's locals that are numbers."""
    kinds = {slot: _kind(symbol) for slot, symbol in enumerate(symbols)}
    return {slot: kind for slot, kind in kinds.items() if kind is not None}


def _begins_with(begins: Sequence[Mapping[int, NumberKind]], frame: Frame) -> bool:
    return any(
        all(_kind(frame.locals[slot]) == kind for slot, kind in kinds.items()) for kinds in begins
    )


def _kind(symbol: object) -> NumberKind | None:
    """The kind of a number that is known by its symbol."""
    match symbol:
        case Cell(content=content):
            return _kind(content)
        case Constant(value=value) | Unread(value=value):
            return kind_of(value)
        case Integer():
            return INT
        case Number(node=node) if isinstance(node.type, ArrayType):
            return EXACT.get(node.type.dtype.type)
        case Number(node=node) if isinstance(node.type, NumberType):
            return PYTHON.get(node.type.kind)
    return None

"""Whether a trace that comes to a loop ends there, because the loop may become native code."""

from __future__ import annotations

from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from ufuse.frame_hook.entries.learned import NOT_VISITED, CodeRecord
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.pace import items_left
from ufuse.frame_hook.nests.calls import (
    grids,
)
from ufuse.frame_hook.nests.entries.screening import (
    instructions_of_turn,
    why_not,
    written_slots,
)
from ufuse.frame_hook.nests.known.positions import (
    loop_positions,
    while_headers,
)
from ufuse.frame_hook.nests.loops.outermost import turns_left
from ufuse.frame_hook.trace.symbols import (
    Array,
    Cell,
    Constant,
    Instance,
    Integer,
    Iterator,
    List,
    Number,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)
from ufuse.frame_hook.trace.trace import Trace

UNROLLED_AT_MOST = 300  # instructions of a loop: to trace more takes longer than to make a nest
LONG_TURN = 40  # instructions of a `while` loop: to trace them takes longer than to make a nest


def open_headers(code: CodeType, record: CodeRecord) -> frozenset[int]:
    """The headers of the loops that may become nests, or have."""
    return frozenset(
        header
        for header in written_slots(code)
        if record.visits.get(header, NOT_VISITED).refused is None and header not in record.given_up
    )


def is_left(
    function: FunctionType, trace: Trace, frame: Frame, start: int, record: CodeRecord
) -> bool:
    """Whether a trace from a position ends before the loop at which it stands: that is long, and may become a nest.

    How long `while` loops are is not known. Where a trace begins within one it is not unrolled, nor where one turn is
    long: it would be traced for a graph that the nest makes needless.
    """
    if frame.position in while_headers(frame.code):
        inside = loop_positions(frame.code, frame.position)
        is_followed = record.visits.get(frame.position, NOT_VISITED).is_followed
        is_left = start in inside or (len(inside) >= LONG_TURN and not is_followed)
        return is_left and why_not(frame.code, frame.position, function) is None
    left, header = _turns_left(trace, frame.stack[-1]), frame.position
    if left * instructions_of_turn(frame.code)[header] < UNROLLED_AT_MOST:
        return False
    changed = written_slots(frame.code)[header]
    return all(_may_vary(frame.locals[slot]) for slot in changed) and (
        why_not(frame.code, header, function) is None
    )


def _turns_left(trace: Trace, iterator: Symbol) -> int:
    """Of an iterator that a nest may go over; 0 for others."""
    match iterator:
        case (
            Iterator(parts=[Constant(value=range())])
            | Iterator(kind="rows", parts=[Array()])
            | Iterator(kind="sequence", parts=[List() | Tuple()])
        ):
            return items_left(trace, iterator)
        case Iterator(kind="product"):
            return items_left(trace, iterator)
        case Instance(kind=kind, attributes=attributes) if kind in grids.WRAPPERS:
            inner = attributes.get(grids.WRAPPERS[kind])
            return 0 if inner is None else _turns_left(trace, inner)
        case Iterator(kind="enumerate" | "zip", parts=parts):
            return min((_turns_left(trace, one) for one in parts), default=0)
        case Unread(value=value):
            return turns_left(value) or 0
    return 0


def has_nest(cache: Any, header: int, record: CodeRecord) -> bool:
    """Whether a loop needs no nests of those inside it."""
    visits = record.visits.get(header, NOT_VISITED)
    return bool(cache.entries(header)) and not visits.unread


def _may_vary(symbol: Symbol | None) -> bool:
    """Whether a variable that a nest changes may have this value before."""
    if isinstance(symbol, Cell):
        return symbol.content is None or _may_vary(symbol.content)
    if isinstance(symbol, Unread):
        if isinstance(symbol.value, CellType):
            return True
        return isinstance(symbol.value, int | float | np.generic | np.ndarray | tuple | None)
    return isinstance(symbol, Number | Integer | Constant | Array | Tuple | Unbound | None)

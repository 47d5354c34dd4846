"""Where a frame may be left and gone on with, and which of these positions to suspend at."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ufuse.frame_hook.code.instructions import (
    CANNOT_RAISE,
    EXHAUSTED_SKIPS,
    LASTI,
    READS_FRAME,
    VERSION,
    Instruction,
    by_position,
    flow,
    instructions,
    per_code,
    protections,
    slot_count,
    successors,
)
from ufuse.frame_hook.code.kept_builtins import KEPT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from types import CodeType

__builtins__ = KEPT

GENERATORS = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
# A function that goes on runs in another frame object: code that asks for its frame twice would notice.
READS_OWN_FRAME = frozenset({"_getframe", "_getframemodulename", "currentframe", "walk_stack"})


class Refusals(NamedTuple):
    """Why a frame cannot go on at a position, and why it cannot stop there."""

    resume: dict[int, str]
    stop: dict[int, str]


def why_not_resume(code: CodeType, position: int) -> str | None:
    """Why a frame of `code` cannot go on at `position`, or None if it can."""
    if position not in by_position(code):
        return "no instruction begins there"
    return refusals(code).resume.get(position)


def why_not_stop(code: CodeType, position: int) -> str | None:
    """Why a frame of `code` cannot stop before the instruction at `position`, or None if it can."""
    return why_not_resume(code, position) or refusals(code).stop.get(position)


def why_not_code(code: CodeType) -> str | None:
    """Why no frame of `code` can be left and gone on with, or None if one can."""
    if code.co_flags & GENERATORS:
        return "a generator or coroutine lives in its frame"
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return "its names are in a dictionary, not in slots"
    if READS_OWN_FRAME.intersection(code.co_names):
        return "it asks for the frame it runs in"
    if VERSION < (3, 13) and READS_FRAME.intersection(code.co_names):
        return "its frame keeps the dict that locals() gives"
    return None


@per_code
def refusals(code: CodeType) -> Refusals:
    """All positions of a code object at which frames cannot stop, or not even be resumed."""
    listing = instructions(code)
    reason = why_not_code(code)
    if reason is not None:
        return Refusals(dict.fromkeys(by_position(code), reason), {})
    known = flow(code)
    resume = dict.fromkeys(open_calls(listing), "a call is half prepared there")
    resume |= dict.fromkeys(exposed(code), "an error there would leave its handler open")
    resume |= dict.fromkeys(known.ambiguous, "paths that handle different errors meet there")
    resume |= {i.position: "no path leads there" for i in listing if i.position not in known.depths}
    return Refusals(resume, stop_refusals(code))


def stop_refusals(code: CodeType) -> dict[int, str]:
    """Positions at which nothing may be inserted, though a frame may go on there."""
    listing = instructions(code)
    found = {
        second.position: "the instruction before it is never without it"
        for first, second in pairwise(listing)
        if handler_row(code, first.position)[1:2] == [second]
    }
    for instruction in listing:
        if instruction.opname == "NOT_TAKEN":
            found[instruction.position] = "the branch before it ends there"
        if instruction.opname == "FOR_ITER" and instruction.target is not None:
            stepped_over = range(instruction.target, instruction.target + EXHAUSTED_SKIPS)
            found |= dict.fromkeys(stepped_over, "an exhausted loop steps over it")
    found |= dict.fromkeys(lineless(code), "an error there would have no line")
    return found | dict.fromkeys(setup_positions(listing), "the frame is being set up there")


def lineless(code: CodeType) -> Iterator[int]:
    """Positions of clean-up code in handlers, to which the compiler gave no line.

    A KeyboardInterrupt that arrives while the rest is being traced would be raised there, in a traceback
    entry without a line; and there is nothing of the user's left to trace.
    """
    listing, stacks = by_position(code), flow(code).stacks
    for position, stack in stacks.items():
        held = stack.handlers or stack.marks or handler_row(code, position)
        if held and listing[landing(code, position)].location[0] is None:
            yield position


def setup_positions(listing: Iterable[Instruction]) -> list[int]:
    """The positions up to the first RESUME: there cells are made and the frame counts as new."""
    found = []
    for instruction in listing:
        found.append(instruction.position)
        if instruction.opname == "RESUME":
            break
    return found


def open_calls(listing: tuple[Instruction, ...]) -> Iterator[int]:
    """Positions inside a call sequence that keeps part of its state outside the frame.

    KW_NAMES (3.11, 3.12) leaves the names in the interpreter until CALL; on 3.11 a PRECALL may do
    the whole call and then skips the CALL after it.
    """
    named = False
    for instruction in listing:
        if instruction.opname in {"PRECALL", "CALL"}:
            if named or (VERSION == (3, 11) and instruction.opname == "CALL"):
                yield instruction.position
            named = named and instruction.opname == "PRECALL"
        named = named or instruction.opname == "KW_NAMES"


@per_code
def handler_rows(code: CodeType) -> dict[int, list[Instruction]]:
    """From every position on, the CANNOT_RAISE instructions that begin, end or are part of a handler."""
    stacks = flow(code).stacks
    found: dict[int, list[Instruction]] = {}
    row: list[Instruction] = []
    for instruction in reversed(instructions(code)):
        stack = stacks.get(instruction.position)
        begins = instruction.opname == "PUSH_EXC_INFO"
        handles = stack is not None and (stack.handlers or begins)
        row = [instruction, *row] if handles and instruction.opname in CANNOT_RAISE else []
        found[instruction.position] = row
    return found


def handler_row(code: CodeType, position: int) -> list[Instruction]:
    """The instructions from a position on that a prologue does itself: between them no handler fits the stack."""
    return handler_rows(code)[position]


def landing(code: CodeType, position: int) -> int:
    """The position that a prologue jumps to, and where it raises a pending exception."""
    row = handler_row(code, position)
    if by_position(code)[position].opname == "COPY_FREE_VARS":
        row = [by_position(code)[position]]  # the state has the free variables already
    return row[-1].position + row[-1].size if row else position


def exposed(code: CodeType) -> Iterator[int]:
    """Positions where an error would go past the end of a handler: CPython does not protect them."""
    stacks, protected = flow(code).stacks, protections(code)
    for position in stacks:
        place = landing(code, position)
        if place not in protected and place in stacks and stacks[place].handlers:
            yield position


def ways_out(code: CodeType, instruction: Instruction) -> tuple[int, ...]:
    """Where control may go after an instruction, to the handler of its errors included."""
    entry = protections(code).get(instruction.position)
    return successors(instruction) + ((entry.target,) if entry is not None else ())


def stops_after(code: CodeType, position: int, skipped: AbstractSet[int]) -> frozenset[int]:
    """Choose the stops for going on at `position`: the first that every path from there meets.

    Passed over are positions where no trace is to start any more (`skipped`) and those where a
    frame cannot stop. `position` itself is in the result only if a path comes back to it.
    """
    listing, refused = by_position(code), refusals(code)
    waiting = list(ways_out(code, listing[position]))
    seen: set[int] = set()
    found = set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if place in skipped or place in refused.resume or place in refused.stop:
            waiting += ways_out(code, listing[place])
        else:
            found.add(place)
    return frozenset(found)


def loop_around(code: CodeType, positions: Collection[int]) -> set[int]:
    """All positions of the innermost loop that has these; of none, where there is no such loop."""
    listing = by_position(code)
    first, last = min(positions), max(positions)
    loops = [
        (instruction.position - target, target, instruction.position)
        for instruction in listing.values()
        for target in successors(instruction)
        if target <= first and last <= instruction.position
    ]
    if not loops:
        return set()
    _, start, end = min(loops)
    return {position for position in listing if start <= position <= end}


def handled_slot(code: CodeType, position: int) -> int:
    """Where a suspended state has the exception that is being handled at a position, or -1."""
    previous, _ = marked_slots(code, position)
    return previous if previous < 0 else slot_count(code) + previous


def marked_slots(code: CodeType, position: int) -> tuple[int, tuple[int, ...]]:
    """The stack slots of a state that differ from the frame's: of the outermost exc_info (or -1), and of `lasti`s.

    The first is where PUSH_EXC_INFO saved the exception that was current before the outermost handler. Of
    several copies it is the highest, the one that POP_EXCEPT will take.
    """
    marks = flow(code).stacks[position].marks
    previous = max((index for index, mark in marks if mark == 0), default=-1)
    return previous, tuple(index for index, mark in marks if mark == LASTI)

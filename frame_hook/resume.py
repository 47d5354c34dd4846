"""Code that goes on with a frame where it was, and stops where compiled code may take over again.

Resume code is the user's own code with a prologue in front and *stops* inside:

- The prologue pushes one placeholder for each value of the stack, restores the frame's state (slots
  of `localsplus` and stack, moved as they are) and jumps to the instruction to go on with.
- A stop stands before an instruction. Every path to that instruction suspends there: the state is
  moved out of the frame, and the frame returns what `suspend` gave.

Laws:

1. The user's instructions, names, constants, protected ranges and locations are the original's;
   only distances change (and one bit, see EXPLICIT_SUPER). Slots have the same numbers, so a state fits both codes.
2. The prologue goes past a stop at its own position: a loop stops when it comes round.
3. Resume code takes no arguments. Nothing that sets up a frame (MAKE_CELL, COPY_FREE_VARS) runs
   again, except from the frame's entry, where cells are still to be made.
4. What `restore` raises is raised by the instruction to go on with: its handlers see it. Nothing
   protects a stop: while `suspend` runs, the state may already be elsewhere.
5. `restore` and `suspend` are reached through operators of a door, not through calls: these need
   no call sequence, no profiler sees them, and no signal handler runs between them and what
   follows, in a frame whose state has left.
"""

from __future__ import annotations

import inspect
import opcode
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ufuse.frame_hook.instructions import (
    CACHE_SIZES,
    EXHAUSTED_SKIPS,
    VERSION,
    Instruction,
    Location,
    by_position,
    exception_entries,
    flow,
    instructions,
    per_code,
    protections,
    successors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from types import CodeType

    Restore = Callable[[], object]
    Suspend = Callable[[tuple[int, int]], object]

GENERATORS = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
# A frame that goes on is another frame object: who asks for it twice could tell.
READS_OWN_FRAME = frozenset({"_getframe", "_getframemodulename", "currentframe"})
STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# The argument of a RESUME that looks for no pending signals (as after a `yield from`): plain Python
# looks at calls and backward jumps, and `x = open()` followed by `try:` relies on that.
UNCHECKED = 2
# From 3.14 a subscript is one of the binary operators.
SUBSCRIPT = [name for name, _ in opcode._nb_ops].index("NB_SUBSCR") if VERSION >= (3, 14) else None  # type: ignore[attr-defined]


class Refusals(NamedTuple):
    """Why a frame cannot go on at a position, and why it cannot stop there."""

    resume: dict[int, str]
    stop: dict[int, str]


class Edits(NamedTuple):
    """What is added to a code object, and where its prologue jumps to."""

    landing: int
    prologue: bytes  # without its jump
    setup: int  # code units of the prologue that come before `restore`
    stops: dict[int, bytes]


class Placement(NamedTuple):
    """Where things are in resume code; the keys are positions in the original."""

    bodies: dict[int, int]  # where an instruction is
    labels: dict[int, int]  # where paths to it lead: to the stop before it, if there is one
    prefixes: dict[int, int]  # how many EXTENDED_ARG a jump has; under PROLOGUE its own


PROLOGUE = -1
# In the argument of LOAD_SUPER_ATTR: the user wrote the two arguments that are on the stack. If not,
# CPython may ask the frame for its first argument, and ours has none; the result is the same.
EXPLICIT_SUPER = 2


# ---- where a frame may stop and go on ------------------------------------------------------------


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
    return None


@per_code
def refusals(code: CodeType) -> Refusals:
    """All positions of a code object at which frames cannot stop, or not even go on."""
    listing = instructions(code)
    reason = why_not_code(code)
    if reason is not None:
        return Refusals(dict.fromkeys(by_position(code), reason), {})
    reachable, handling = flow(code)
    resume = dict.fromkeys(leads_to(code, bare_supers(code)), "a bare `super()` may follow")
    resume |= dict.fromkeys(open_calls(listing), "a call is half prepared there")
    resume |= {
        i.position: "a function is half made"
        for i in listing
        if i.opname == "SET_FUNCTION_ATTRIBUTE"
    }
    resume |= dict.fromkeys(handling, "an exception is being handled there")
    resume |= {i.position: "no path leads there" for i in listing if i.position not in reachable}
    return Refusals(resume, stop_refusals(listing))


def stop_refusals(listing: tuple[Instruction, ...]) -> dict[int, str]:
    """Positions at which nothing may be inserted, though a frame may go on there."""
    found = {}
    for instruction in listing:
        if instruction.opname == "NOT_TAKEN":
            found[instruction.position] = "the branch before it ends there"
        if instruction.opname == "FOR_ITER" and instruction.target is not None:
            skipped = range(instruction.target, instruction.target + EXHAUSTED_SKIPS)
            found |= dict.fromkeys(skipped, "an exhausted loop steps over it")
    return found | dict.fromkeys(setup_positions(listing), "the frame is being set up there")


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


def bare_supers(code: CodeType) -> set[int]:
    """Where `super` is used without arguments in sight: it takes the frame's first argument.

    Resume code has none. `super().name` is another matter from 3.12: see EXPLICIT_SUPER.
    """
    if "super" not in code.co_names or "__class__" not in code.co_freevars:
        return set()
    listing = instructions(code)
    return {
        following.position  # the call: a frame may not go on there either
        for instruction, following in pairwise(listing)
        if instruction.opname == "LOAD_GLOBAL" and instruction.arg is not None
        if code.co_names[instruction.arg >> 1] == "super"
        if not following.opname.startswith("LOAD_")
    }


def leads_to(code: CodeType, goals: set[int]) -> set[int]:
    """Every position from which control may reach one of the goals, which are among them."""
    found: set[int] = set()
    grown = set(goals)
    while grown - found:
        found |= grown
        grown = {
            position
            for position, instruction in by_position(code).items()
            if not found.isdisjoint(ways_out(code, instruction))
        }
    return found


def ways_out(code: CodeType, instruction: Instruction) -> tuple[int, ...]:
    """Where control may go after an instruction, to the handler of its errors included."""
    entry = protections(code).get(instruction.position)
    return successors(instruction) + ((entry.target,) if entry is not None else ())


def stops_after(code: CodeType, position: int, dull: AbstractSet[int]) -> frozenset[int]:
    """Choose the stops for going on at `position`: the first that every path from there meets.

    Positions in `dull` and those where a frame cannot stop are passed over. `position` itself is
    in the result only if a path comes back to it.
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
        if place in dull or place in refused.resume or place in refused.stop:
            waiting += ways_out(code, listing[place])
        else:
            found.add(place)
    return frozenset(found)


# ---- resume code ---------------------------------------------------------------------------------


def resume_code(
    code: CodeType,
    position: int,
    stops: AbstractSet[int],
    *,
    restore: Restore,
    suspend: Suspend,
) -> CodeType:
    """The code that goes on at `position` of `code` and suspends at `stops`.

    `restore()` is called once, when the stack holds a placeholder for every value to be restored;
    `suspend((position, depth))` at a stop; the frame returns its result. A function made from this
    code is called without arguments, and needs the original's globals and closure.

    Raises ValueError for a position at which a frame cannot go on or stop.
    """
    check(why_not_resume(code, position), code, position)
    for stop in stops:
        check(why_not_stop(code, stop), code, stop)
    constants = [*code.co_consts, None, door(restore, suspend)]
    edits = edited(code, position, sorted(stops), constants)
    places = placed(code, edits)
    depths = flow(code).depths
    return code.replace(
        co_argcount=0,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~STARS,
        co_stacksize=max(code.co_stacksize, *(depths[place] + 2 for place in (position, *stops))),
        co_consts=tuple(constants),
        co_code=assembled(code, edits, places),
        co_exceptiontable=exception_table(protected_ranges(code, position, edits, places)),
        co_linetable=line_table(located(code, position, edits, places), code.co_firstlineno),
    )


def check(reason: str | None, code: CodeType, position: int) -> None:
    """Raise ValueError where there is a reason against a position."""
    if reason is not None:
        raise ValueError(f"{code.co_qualname} cannot be left or resumed at {position}: {reason}")


@lru_cache(maxsize=8)
def door(restore: Restore, suspend: Suspend) -> object:
    """The object by which resume code calls: `-door` is `restore()`, `door[x]` is `suspend(x)`."""
    operators = {"__neg__": staticmethod(restore), "__getitem__": staticmethod(suspend)}
    return type("Door", (), {"__slots__": (), **operators})()


def edited(code: CodeType, position: int, stops: list[int], constants: list[object]) -> Edits:
    """Write the prologue and the stops; what they load is put at the end of `constants`."""
    listing, depths = by_position(code), flow(code).depths
    the_door = len(constants) - 1
    # Entering at the start, the original's own RESUME is still to come.
    entering = position in setup_positions(instructions(code))
    setup = b"" if entering else unit("RESUME", UNCHECKED)
    setup += unit("LOAD_CONST", the_door - 1) * depths[position]
    restoring = unit("LOAD_CONST", the_door) + unit("UNARY_NEGATIVE") + unit("POP_TOP")
    landing = position
    if listing[position].opname == "COPY_FREE_VARS":
        landing += listing[position].size  # the state has them already
    constants += [(stop, depths[stop]) for stop in stops]
    return Edits(
        landing,
        setup + restoring,
        len(setup) // 2,
        {
            stop: stop_code(the_door, the_door + 1 + place, depths[stop])
            for place, stop in enumerate(stops)
        },
    )


def stop_code(the_door: int, key: int, depth: int) -> bytes:
    """Suspend, drop the placeholders that are left on the stack, and return the suspension.

    The NOP never runs. From 3.13 an error in a Python function is looked up one code unit before
    the instruction that called it: what protects the unit before a stop has to be there still.
    """
    loads = unit("LOAD_CONST", the_door) + unit("LOAD_CONST", key)
    ask = unit("BINARY_SUBSCR") if SUBSCRIPT is None else unit("BINARY_OP", SUBSCRIPT)
    clear = unit("SWAP", depth + 1) + unit("POP_TOP") * depth if depth else b""
    return loads + ask + clear + unit("RETURN_VALUE") + unit("NOP")


def unit(name: str, arg: int = 0, prefixes: int = 0) -> bytes:
    """One instruction with at least so many EXTENDED_ARG, and with empty caches."""
    operation = opcode.opmap[name]
    count = max(prefixes, prefixes_of(arg))
    data = bytearray()
    for shift in range(8 * count, 0, -8):
        data += bytes((opcode.EXTENDED_ARG, arg >> shift & 255))
    return bytes(data) + bytes((operation, arg & 255)) + bytes(2 * CACHE_SIZES[operation])


def prefixes_of(arg: int) -> int:
    """How many EXTENDED_ARG an argument needs."""
    return max(arg.bit_length() - 1, 0) // 8


# ---- distances -----------------------------------------------------------------------------------


def placed(code: CodeType, edits: Edits) -> Placement:
    """Give every instruction its place, with as few EXTENDED_ARG as all distances allow."""
    jumps = [instruction for instruction in instructions(code) if instruction.target is not None]
    prefixes = dict.fromkeys((PROLOGUE, *(jump.position for jump in jumps)), 0)
    while True:
        places = placed_with(code, edits, prefixes)
        grown = False
        for place, arg in jump_arguments(jumps, edits, places):
            needed = prefixes_of(arg)
            if needed > prefixes[place]:
                prefixes[place] = needed
                grown = True
        if not grown:
            return places


def placed_with(code: CodeType, edits: Edits, prefixes: dict[int, int]) -> Placement:
    """Give every instruction its place when jumps have so many prefixes."""
    bodies, labels = {}, {}
    offset = len(edits.prologue) // 2 + prefixes[PROLOGUE] + 1
    for instruction in instructions(code):
        position = instruction.position
        labels[position] = offset
        if position in edits.stops:
            offset += len(edits.stops[position]) // 2
        bodies[position] = offset
        offset += size_with(instruction, prefixes)
    bodies[len(code.co_code) // 2] = offset
    return Placement(bodies, labels, prefixes)


def size_with(instruction: Instruction, prefixes: dict[int, int]) -> int:
    """The size of an instruction in resume code: a jump's is its own, others keep theirs."""
    if instruction.target is None:
        return instruction.size
    own = 1 + CACHE_SIZES[opcode.opmap[instruction.opname]]
    return own + prefixes[instruction.position]


def landing_argument(edits: Edits, places: Placement) -> int:
    """How far the prologue jumps: past a stop at its own position, into that after set-up."""
    start = len(edits.prologue) // 2 + places.prefixes[PROLOGUE] + 1
    return places.bodies[edits.landing] - start


def jump_arguments(
    jumps: Iterable[Instruction], edits: Edits, places: Placement
) -> Iterator[tuple[int, int]]:
    """Compute the arguments of all jumps, under the positions of these; PROLOGUE's comes first."""
    yield PROLOGUE, landing_argument(edits, places)
    for jump in jumps:
        if jump.target is not None:
            end = places.bodies[jump.position] + size_with(jump, places.prefixes)
            yield jump.position, abs(places.labels[jump.target] - end)


def assembled(code: CodeType, edits: Edits, places: Placement) -> bytes:
    """The bytes of resume code."""
    listing, units = instructions(code), code.co_code
    jumps = [instruction for instruction in listing if instruction.target is not None]
    arguments = dict(jump_arguments(jumps, edits, places))
    data = bytearray(edits.prologue)
    data += unit("JUMP_FORWARD", arguments[PROLOGUE], places.prefixes[PROLOGUE])
    for instruction in listing:
        position = instruction.position
        data += edits.stops.get(position, b"")
        if position in arguments:
            data += unit(instruction.opname, arguments[position], places.prefixes[position])
        elif instruction.opname == "LOAD_SUPER_ATTR" and instruction.arg is not None:
            data += unit(instruction.opname, instruction.arg | EXPLICIT_SUPER)
        else:
            data += units[2 * position : 2 * (position + instruction.size)]
    return bytes(data)


# ---- tables --------------------------------------------------------------------------------------


def protected_ranges(
    code: CodeType, position: int, edits: Edits, places: Placement
) -> Iterator[tuple[int, int, int, int]]:
    """The ranges of resume code as (start, length, target, depth and lasti).

    Stops are outside, except for the NOP at their end.
    """
    bodies, labels = places.bodies, places.labels
    entry = protections(code).get(position)
    if entry is not None:
        end = labels[0]
        depth = entry.depth << 1 | entry.lasti
        yield edits.setup, end - edits.setup, labels[entry.target], depth
    for entry in exception_entries(code):
        cuts = [stop for stop in edits.stops if entry.start < stop <= entry.end]
        starts = [bodies[entry.start], *(bodies[stop] - 1 for stop in cuts)]
        ends = [*(labels[stop] for stop in cuts), bodies[entry.end]]
        for start, end in zip(starts, ends, strict=True):
            yield start, end - start, labels[entry.target], entry.depth << 1 | entry.lasti


def exception_table(ranges: Iterable[tuple[int, int, int, int]]) -> bytes:
    """Write protected ranges: numbers of 6 bits a byte, highest first; bit 7 begins an entry."""
    data = bytearray()
    for entry in ranges:
        first = len(data)
        for number in entry:
            for shift in range(max(number.bit_length() - 1, 0) // 6 * 6, 0, -6):
                data.append(64 | number >> shift & 63)
            data.append(number & 63)
        data[first] |= 128
    return bytes(data)


def located(
    code: CodeType, position: int, edits: Edits, places: Placement
) -> Iterator[tuple[Location, int]]:
    """Every piece of resume code with its size: what we add is where the next instruction is."""
    yield by_position(code)[position].location, places.labels[0]
    for instruction in instructions(code):
        if instruction.position in edits.stops:
            yield instruction.location, len(edits.stops[instruction.position]) // 2
        yield instruction.location, size_with(instruction, places.prefixes)


def line_table(pieces: Iterable[tuple[Location, int]], line: int) -> bytes:
    """Write locations as CPython stores them: entries of at most 8 code units, each line a step."""
    data = bytearray()
    for location, size in pieces:
        for units in (*[8] * ((size - 1) // 8), (size - 1) % 8 + 1):
            kind, details = location_entry(location, line)
            data.append(128 | kind << 3 | units - 1)
            data += details
            line = line if location[0] is None else location[0]
    return bytes(data)


def location_entry(location: Location, line: int) -> tuple[int, bytes]:
    """The kind of an entry and the bytes after its first, when the entry before was on `line`."""
    start, end, column, end_column = location
    if start is None:
        return 15, b""
    step = start - line
    if column is None and end_column is None and end == start:
        return 13, signed_number(step)
    if column is None or end_column is None or end is None or end != start:
        extent = 0 if end is None else end - start
        columns = [0 if place is None else place + 1 for place in (column, end_column)]
        return 14, signed_number(step) + b"".join(map(low_first, (extent, *columns)))
    if step == 0 and column < 80 and 0 <= end_column - column < 16:
        return column >> 3, bytes(((column & 7) << 4 | end_column - column,))
    if 0 <= step <= 2 and column < 128 and end_column < 128:
        return 10 + step, bytes((column, end_column))
    return 14, signed_number(step) + b"\0" + low_first(column + 1) + low_first(end_column + 1)


def low_first(number: int) -> bytes:
    """A number of a line table: 6 bits a byte, lowest first; bit 6 says that more follow."""
    data = bytearray()
    while number > 63:
        data.append(64 | number & 63)
        number >>= 6
    data.append(number)
    return bytes(data)


def signed_number(number: int) -> bytes:
    """A number that may be negative: its sign in the lowest bit."""
    return low_first(-number << 1 | 1 if number < 0 else number << 1)

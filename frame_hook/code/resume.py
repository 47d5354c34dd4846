"""Code that goes on with a frame where it was, and stops where compiled code may take over again.

Resume code is the user's own code with a prologue in front and *stops* inside:

- The prologue takes the free variables, pushes one placeholder for each value of the stack, restores
  the frame's state (slots of `localsplus` and stack, moved as they are) and jumps to the instruction
  to go on with. Where `restore` says so it jumps back once on its way: there the interpreter looks
  for signals and for threads that wait.
- A stop stands before an instruction. Every path to that instruction suspends there: the state is
  moved out of the frame, and the frame returns what `suspend` gave. Where that is None the frame
  has kept its state, and goes on: somebody watches its lines.

Laws:

1. The user's instructions, names, constants, protected ranges and locations are the original's;
   only distances change. Slots have the same numbers, so a state fits both codes.
2. The prologue goes past a stop at its own position: a loop stops when it comes round.
3. Resume code takes the original's first argument and no other: `super()` asks its frame whether it
   has one. It is given a placeholder. Nothing else that sets up a frame (MAKE_CELL) runs again,
   except from the frame's entry, where cells are still to be made.
4. What `restore` raises is raised by the instruction to go on with: its handlers see it. Where that
   begins or ends a handler, or stands in a row of QUIET ones that does, the prologue does the row
   first, and then raises. Nothing protects `suspend`: while it runs, the state may already be
   elsewhere.
5. `restore` and `suspend` are reached through subscripts of a door, not through calls: these need
   no call sequence, no profiler sees them, and no signal handler runs between them and what
   follows, in a frame whose state has left.
6. In a state, the slot where the outermost handler keeps what was current before it holds what is
   current inside: the two change places when the frame stops, and again when it goes on. So the
   thread's current exception is the caller's while the frame does not run.
7. In a state, the position of an error that a handler raises again is one of the original code.
"""

from __future__ import annotations

import inspect
import opcode
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ufuse.frame_hook.code.instructions import (
    CACHE_SIZES,
    EXHAUSTED_SKIPS,
    LASTI,
    QUIET,
    READS_FRAME,
    VERSION,
    Instruction,
    Location,
    by_position,
    exception_entries,
    flow,
    instructions,
    per_code,
    protections,
    slot_count,
    successors,
)
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.written_tables import exception_table, line_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from types import CodeType

    Restore = Callable[[tuple[object, ...] | None], object]
    Suspend = Callable[[tuple[object, ...]], object]

__builtins__ = KEPT

GENERATORS = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ITERABLE_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
# A frame that goes on is another frame object: who asks for it twice could tell.
READS_OWN_FRAME = frozenset({"_getframe", "_getframemodulename", "currentframe", "walk_stack"})
STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# The argument of a RESUME that looks for no pending signals (as after a `yield from`): plain Python
# looks at calls and backward jumps, and `x = open()` followed by `try:` relies on that.
UNCHECKED = 2
IF_NOT_NONE = "POP_JUMP_FORWARD_IF_NOT_NONE" if VERSION == (3, 11) else "POP_JUMP_IF_NOT_NONE"
# The sizes of the prologue's jump to its jump back, and of that one.
LOOK, BACK = (1 + CACHE_SIZES[opcode.opmap[name]] for name in (IF_NOT_NONE, "JUMP_BACKWARD"))
# From 3.14 a subscript is one of the binary operators.
SUBSCRIPT = [name for name, _ in opcode._nb_ops].index("NB_SUBSCR") if VERSION >= (3, 14) else None  # type: ignore[attr-defined]


class Refusals(NamedTuple):
    """Why a frame cannot go on at a position, and why it cannot stop there."""

    resume: dict[int, str]
    stop: dict[int, str]


class Stop(NamedTuple):
    """What stands before an instruction to suspend there."""

    units: bytes
    asks: int  # code units before the one that calls `suspend`


class Edits(NamedTuple):
    """What is added to a code object, and where its prologue jumps to."""

    landing: int  # the instruction that raises what `restore` is to raise
    comes_to: bool  # whether the prologue comes to it, having done a row: a stop there counts
    prologue: bytes  # without its jumps
    unguarded: int  # code units of the prologue that come before anything is raised
    stops: dict[int, Stop]


class Placement(NamedTuple):
    """Where things are in resume code; the keys are positions in the original."""

    bodies: dict[int, int]  # where an instruction is
    labels: dict[int, int]  # where paths to it lead: to the stop before it, if there is one
    prefixes: dict[int, int]  # how many EXTENDED_ARG a jump has; under PROLOGUE its own


PROLOGUE = -1


class Constants(NamedTuple):
    """The places of the constants that resume code adds."""

    placeholder: int
    restore: int  # the door to it
    suspend: int
    restore_key: int
    raise_key: int
    stop_keys: int  # the first one; in the order of the stops

    @classmethod
    def behind(cls, code: CodeType) -> Constants:
        """Put them behind the constants of a code object."""
        return cls(*range(len(code.co_consts), len(code.co_consts) + 6))


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
    if VERSION < (3, 13) and READS_FRAME.intersection(code.co_names):
        return "its frame keeps the dict that locals() gives"
    return None


@per_code
def refusals(code: CodeType) -> Refusals:
    """All positions of a code object at which frames cannot stop, or not even go on."""
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
        if quiet_row(code, first.position)[1:2] == [second]
    }
    for instruction in listing:
        if instruction.opname == "NOT_TAKEN":
            found[instruction.position] = "the branch before it ends there"
        if instruction.opname == "FOR_ITER" and instruction.target is not None:
            skipped = range(instruction.target, instruction.target + EXHAUSTED_SKIPS)
            found |= dict.fromkeys(skipped, "an exhausted loop steps over it")
    found |= dict.fromkeys(lineless(code), "an error there would have no line")
    return found | dict.fromkeys(setup_positions(listing), "the frame is being set up there")


def lineless(code: CodeType) -> Iterator[int]:
    """Positions where handlers clean up in instructions of the compiler's own.

    Nothing of the user's is to be done there; but an interrupt that comes while frames are traced
    would be raised.
    """
    listing, stacks = by_position(code), flow(code).stacks
    for position, stack in stacks.items():
        held = stack.handlers or stack.marks or quiet_row(code, position)
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
def rows(code: CodeType) -> dict[int, list[Instruction]]:
    """The QUIET instructions from every position on, where they begin, end or are in a handler."""
    stacks = flow(code).stacks
    found: dict[int, list[Instruction]] = {}
    row: list[Instruction] = []
    for instruction in reversed(instructions(code)):
        stack = stacks.get(instruction.position)
        begins = instruction.opname == "PUSH_EXC_INFO"
        quiet = stack is not None and instruction.opname in QUIET and (stack.handlers or begins)
        row = [instruction, *row] if quiet else []
        found[instruction.position] = row
    return found


def quiet_row(code: CodeType, position: int) -> list[Instruction]:
    """The instructions that a prologue does itself, because nothing can be raised between them."""
    return rows(code)[position]


def landing(code: CodeType, position: int) -> int:
    """The position that the prologue jumps to, and where it raises what is to be raised."""
    row = quiet_row(code, position)
    if by_position(code)[position].opname == "COPY_FREE_VARS":
        row = [by_position(code)[position]]  # the state has them already
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
    ordered = sorted(stops)
    edits = edited(code, position, ordered)
    places = placed(code, edits)
    doors = (door(restore), door(suspend))
    keys = (restore_key(code, position, places), None, *stop_keys(code, ordered, edits, places))
    depths = flow(code).depths
    return code.replace(
        co_argcount=min(code.co_argcount, 1),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~STARS,
        co_stacksize=max(
            code.co_stacksize, *(depths[p] + 2 for p in reached(code, position, stops))
        ),
        co_consts=(*code.co_consts, None, *doors, *keys),
        co_code=assembled(code, edits, places),
        co_exceptiontable=exception_table(sorted(protected_ranges(code, edits, places))),
        co_linetable=line_table(located(code, edits, places), code.co_firstlineno),
    )


def reached(code: CodeType, position: int, stops: AbstractSet[int]) -> Iterator[int]:
    """The positions where resume code calls `restore` and `suspend`."""
    yield position
    yield landing(code, position)
    yield from stops


def check(reason: str | None, code: CodeType, position: int) -> None:
    """Raise ValueError where there is a reason against a position."""
    if reason is not None:
        raise ValueError(f"{code.co_qualname} cannot be left or resumed at {position}: {reason}")


@lru_cache(maxsize=8)
def door(call: Restore | Suspend) -> object:
    """The object by which resume code calls: `door[x]` is `call(x)`."""
    operators = {"__getitem__": staticmethod(call)}
    return type("Door", (), {"__slots__": (), **operators})()


def through(the_door: int, key: int) -> tuple[bytes, bytes]:
    """Load a door and a key; and go through."""
    ask = unit("BINARY_SUBSCR") if SUBSCRIPT is None else unit("BINARY_OP", SUBSCRIPT)
    return unit("LOAD_CONST", the_door) + unit("LOAD_CONST", key), ask


def edited(code: CodeType, position: int, stops: list[int]) -> Edits:
    """Write the prologue and the stops."""
    constants, depths = Constants.behind(code), flow(code).depths
    # Entering at the start, the original's own RESUME is still to come.
    entering = position in setup_positions(instructions(code))
    prologue = unit("COPY_FREE_VARS", len(code.co_freevars)) if code.co_freevars else b""
    prologue += b"" if entering else unit("RESUME", UNCHECKED)
    prologue += unit("LOAD_CONST", constants.placeholder) * depths[position]
    unguarded = len(prologue) // 2
    prologue += b"".join(through(constants.restore, constants.restore_key))
    row = quiet_row(code, position)
    if row:
        prologue += unit("POP_TOP")
    for quiet in row:
        prologue += code.co_code[2 * quiet.position : 2 * (quiet.position + quiet.size)]
    if row:
        unguarded = len(prologue) // 2
        prologue += b"".join(through(constants.restore, constants.raise_key))
    return Edits(
        landing(code, position),
        bool(row),
        prologue,
        unguarded,
        {
            stop: stop_code(constants.suspend, constants.stop_keys + place, depths[stop])
            for place, stop in enumerate(stops)
        },
    )


def stop_code(the_door: int, key: int, depth: int) -> Stop:
    """Suspend, drop the placeholders that are left on the stack, and return the suspension; or go on.

    The NOP never runs. From 3.13 an error in a Python function is looked up one code unit before
    the instruction that called it: what protects the unit before a stop has to be there still.
    """
    loads, ask = through(the_door, key)
    clear = unit("SWAP", depth + 1) + unit("POP_TOP") * depth if depth else b""
    leave = clear + unit("RETURN_VALUE") + unit("NOP")
    stay = unit("POP_TOP") + unit("JUMP_FORWARD", len(leave) // 2)
    choose = unit("COPY", 1) + unit(IF_NOT_NONE, len(stay) // 2)
    return Stop(loads + ask + choose + stay + leave, len(loads) // 2)


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
    offset = jump_end(edits, prefixes) + BACK
    for instruction in instructions(code):
        position = instruction.position
        labels[position] = offset
        if position in edits.stops:
            offset += len(edits.stops[position].units) // 2
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


def jump_end(edits: Edits, prefixes: dict[int, int]) -> int:
    """Where the prologue's jump to its landing ends; the one to the jump back is before it."""
    return len(edits.prologue) // 2 + LOOK + prefixes[PROLOGUE] + 1


def landing_argument(edits: Edits, places: Placement) -> int:
    """How far the prologue jumps: past a stop at its own position."""
    aims = places.labels if edits.comes_to else places.bodies
    return aims[edits.landing] - jump_end(edits, places.prefixes)


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
    on = unit("JUMP_FORWARD", arguments[PROLOGUE], places.prefixes[PROLOGUE])
    data = bytearray(edits.prologue) + unit(IF_NOT_NONE, len(on) // 2) + on
    data += unit("JUMP_BACKWARD", len(on) // 2 + BACK)
    for instruction in listing:
        position = instruction.position
        if position in edits.stops:
            data += edits.stops[position].units
        if position in arguments:
            data += unit(instruction.opname, arguments[position], places.prefixes[position])
        else:
            data += units[2 * position : 2 * (position + instruction.size)]
    return bytes(data)


# ---- handlers ------------------------------------------------------------------------------------


def handled_slot(code: CodeType, position: int) -> int:
    """The place in a suspended state where the exception is that is handled at a position, or -1."""
    previous, _ = marked_slots(code, position)
    return previous if previous < 0 else slot_count(code) + previous


def marked_slots(code: CodeType, position: int) -> tuple[int, tuple[int, ...]]:
    """The slots of the stack that are not moved as they are.

    First the one where the outermost handler keeps what was current before it, or -1; of copies the
    highest, which is for POP_EXCEPT: the others are of no use then. And those that hold positions
    of errors.
    """
    marks = flow(code).stacks[position].marks
    previous = max((index for index, mark in marks if mark == 0), default=-1)
    return previous, tuple(index for index, mark in marks if mark == LASTI)


def restore_key(code: CodeType, position: int, places: Placement) -> tuple[object, ...] | None:
    """What `restore` is told: None, or how the stack is marked and whether to raise at once."""
    previous, errors = marked_slots(code, position)
    raises = not quiet_row(code, position)
    if previous < 0 and not errors and raises:
        return None
    return previous, errors, offsets_in_resume_code(code, places) if errors else (), raises


def stop_keys(
    code: CodeType, stops: list[int], edits: Edits, places: Placement
) -> Iterator[tuple[object, ...]]:
    """What `suspend` is told at every stop: position, depth, and how the stack is marked."""
    depths = flow(code).depths
    slots = {stop: marked_slots(code, stop) for stop in stops}
    offsets: tuple[int, ...] = ()
    if any(errors for _, errors in slots.values()):
        offsets = offsets_in_original(code, edits, places)
    for stop, (previous, errors) in slots.items():
        marked = previous >= 0 or errors
        yield stop, depths[stop], *((previous, errors, offsets) if marked else ())


def operation(instruction: Instruction) -> int:
    """The code unit of an instruction's opcode, behind its prefixes: errors are noted there."""
    return (
        instruction.position + instruction.size - 1 - CACHE_SIZES[opcode.opmap[instruction.opname]]
    )


def offsets_in_resume_code(code: CodeType, places: Placement) -> tuple[int, ...]:
    """Where every code unit of the original is in resume code; jumps may have other prefixes."""
    found = []
    for instruction in instructions(code):
        body, size = places.bodies[instruction.position], size_with(instruction, places.prefixes)
        found += [body + max(size - left, 0) for left in range(instruction.size, 0, -1)]
    return tuple(found)


def offsets_in_original(code: CodeType, edits: Edits, places: Placement) -> tuple[int, ...]:
    """Which code unit of the original every one of resume code stands for."""
    found = [operation(by_position(code)[edits.landing])] * places.labels[0]
    for instruction in instructions(code):
        size = size_with(instruction, places.prefixes)
        if instruction.position in edits.stops:
            found += [operation(instruction)] * (len(edits.stops[instruction.position].units) // 2)
        found += [
            instruction.position + max(instruction.size - left, 0) for left in range(size, 0, -1)
        ]
    return tuple(found)


# ---- protection and locations --------------------------------------------------------------------


def protected_ranges(
    code: CodeType, edits: Edits, places: Placement
) -> Iterator[tuple[int, int, int, int]]:
    """The ranges of resume code as (start, length, target, depth and lasti).

    Of a stop, what comes before `suspend` and the NOP at the end are inside.
    """
    bodies, labels = places.bodies, places.labels
    entry = protections(code).get(edits.landing)
    if entry is not None:
        target, depth = labels[entry.target], entry.depth << 1 | entry.lasti
        yield edits.unguarded, labels[0] - edits.unguarded, target, depth
    for entry in exception_entries(code):
        target, depth = labels[entry.target], entry.depth << 1 | entry.lasti
        start = labels[entry.start]
        for stop in [stop for stop in edits.stops if entry.start <= stop <= entry.end]:
            begins = 0 if stop == entry.end or quiet_row(code, stop) else edits.stops[stop].asks
            if labels[stop] + begins > start:
                yield start, labels[stop] + begins - start, target, depth
            start = bodies[stop] - (stop > entry.start)
        if bodies[entry.end] > start:
            yield start, bodies[entry.end] - start, target, depth


def located(code: CodeType, edits: Edits, places: Placement) -> Iterator[tuple[Location, int]]:
    """Every piece of resume code with its size: what we add is where the next instruction is that has a line."""
    listing = by_position(code)
    yield listing[edits.landing].location, places.labels[0]
    for instruction in instructions(code):
        if instruction.position in edits.stops:
            # PUSH_EXC_INFO has no line, and neither would a frame that stops there
            place = landing(code, instruction.position)
            yield listing[place].location, len(edits.stops[instruction.position].units) // 2
        yield instruction.location, size_with(instruction, places.prefixes)

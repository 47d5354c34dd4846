"""Code that resumes a frame at a position, and suspends it where compiled code may take over again.

Resume code is the user's own code with a prologue in front and *stops* inside:

- The prologue takes the free variables, pushes one placeholder for each value of the stack, restores
  the frame's state (slots of `localsplus` and stack, moved as they are) and jumps to the instruction
  to resume at. Where `restore` says so the prologue jumps back once on its way: at a backward jump
  the interpreter handles pending signals and requests for the GIL.
- A stop stands before an instruction. Every path to that instruction suspends there: the state is
  moved out of the frame, and the frame returns what `suspend` gave. Where `suspend` gave None (lines are
  being traced, or nothing but CPython may run there now) the state is still in the frame, which runs on.

Laws:

1. The user's instructions, names, constants, protected ranges and locations are the original's;
   only distances change. Slots have the same numbers, so a state fits both codes.
2. The prologue jumps past a stop at its own position, to which a loop comes back later.
3. Resume code takes the original's first argument and no other, because `super()` asks its frame for one;
   a placeholder is passed. Nothing else that sets up a frame (MAKE_CELL) runs again, except when
   resuming at the frame's entry, where the cells are still to be made.
4. An exception that `restore` raises is raised at the instruction to resume at, for its handlers. Where a
   row of CANNOT_RAISE instructions in a handler begins there, the prologue does the row first, and then
   raises. Nothing protects `suspend`: when it raises, the state may already have left the frame.
5. `restore` and `suspend` are objects that are subscripted, not functions that are called: that needs no call
   sequence, no profiler sees it, and no signal handler runs between it and the next instruction, while the frame's
   state is elsewhere.
6. In a state, the slot of the outermost handler's saved exc_info holds the exception that is handled inside
   it: the two change places when the frame suspends, and again when it resumes. So the thread's
   current exception is the caller's while the frame does not run.
7. In a state, a `lasti` (the position that RERAISE puts back) counts in the original code.
"""

from __future__ import annotations

import inspect
import opcode
from typing import TYPE_CHECKING, NamedTuple

from ufuse.frame_hook.code.instructions import (
    CACHE_SIZES,
    VERSION,
    Instruction,
    by_position,
    exception_entries,
    flow,
    instructions,
    per_code,
    protections,
)
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.code.stops import (
    handler_row,
    landing,
    marked_slots,
    setup_positions,
    why_not_resume,
    why_not_stop,
)
from ufuse.frame_hook.code.written_tables import LineTable, exception_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet
    from types import CodeType

    from ufuse.frame_hook._hook import Transfer

__builtins__ = KEPT

STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
# The argument of a RESUME that does not handle pending signals (as after a `yield from`): plain Python handles them
# at calls and backward jumps only, and `x = open()` followed by `try:` relies on that.
UNCHECKED = 2
IF_NOT_NONE = "POP_JUMP_FORWARD_IF_NOT_NONE" if VERSION == (3, 11) else "POP_JUMP_IF_NOT_NONE"
# The sizes of the prologue's branch to its jump back, and of that jump.
BRANCH, BACK = (1 + CACHE_SIZES[opcode.opmap[name]] for name in (IF_NOT_NONE, "JUMP_BACKWARD"))
# From 3.14 a subscript is one of the binary operators.
SUBSCRIPT = [name for name, _ in opcode._nb_ops].index("NB_SUBSCR") if VERSION >= (3, 14) else None  # type: ignore[attr-defined]


class Stop(NamedTuple):
    """What stands before an instruction to suspend there."""

    units: bytes
    calls_at: int  # code units before the one that calls `suspend`


class Edits(NamedTuple):
    """What is added to a code object, and where its prologue jumps to."""

    landing: int  # the instruction that raises what `restore` is to raise
    does_row: bool  # whether the prologue did the row before `landing`: then a stop there is new, and not passed
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
    restore: int
    suspend: int
    restore_key: int
    raise_key: int
    stop_keys: int  # the first one; in the order of the stops

    @classmethod
    def behind(cls, code: CodeType) -> Constants:
        """Put them behind the constants of a code object."""
        return cls(*range(len(code.co_consts), len(code.co_consts) + 6))


# ---- resume code ---------------------------------------------------------------------------------


def resume_code(
    code: CodeType,
    position: int,
    stops: AbstractSet[int],
    *,
    restore: Transfer,
    suspend: Transfer,
) -> CodeType:
    """The code that resumes at `position` of `code` and suspends at `stops`.

    `restore[marks]` is evaluated once, when the stack holds a placeholder for every value to be restored;
    `suspend[position, depth, *marks]` at a stop, and the frame returns its result. A function made from this
    code is called without arguments, and needs the original's globals and closure.

    Raises ValueError for a position at which a frame cannot be resumed or stop.
    """
    check(why_not_resume(code, position), code, position)
    for stop in stops:
        check(why_not_stop(code, stop), code, stop)
    ordered = sorted(stops)
    edits = edited(code, position, ordered)
    places = placed(code, edits)
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
        co_consts=(*code.co_consts, None, restore, suspend, *keys),
        co_code=assembled(code, edits, places),
        co_exceptiontable=exception_table(sorted(protected_ranges(code, edits, places))),
        co_linetable=locations(code, edits, places),
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


def subscripted(caller: int, key: int) -> tuple[bytes, bytes]:
    """The units that load two constants, an object and a key, and those that subscript the one with the other."""
    subscript = unit("BINARY_SUBSCR") if SUBSCRIPT is None else unit("BINARY_OP", SUBSCRIPT)
    return unit("LOAD_CONST", caller) + unit("LOAD_CONST", key), subscript


def edited(code: CodeType, position: int, stops: list[int]) -> Edits:
    """Write the prologue and the stops."""
    constants, depths = Constants.behind(code), flow(code).depths
    # From the entry the original's own RESUME is still to come.
    entering = position in setup_positions(instructions(code))
    prologue = unit("COPY_FREE_VARS", len(code.co_freevars)) if code.co_freevars else b""
    prologue += b"" if entering else unit("RESUME", UNCHECKED)
    prologue += unit("LOAD_CONST", constants.placeholder) * depths[position]
    unguarded = len(prologue) // 2
    prologue += b"".join(subscripted(constants.restore, constants.restore_key))
    row = handler_row(code, position)
    if row:
        prologue += unit("POP_TOP")
    for one in row:
        prologue += code.co_code[2 * one.position : 2 * (one.position + one.size)]
    if row:
        unguarded = len(prologue) // 2
        prologue += b"".join(subscripted(constants.restore, constants.raise_key))
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


def stop_code(caller: int, key: int, depth: int) -> Stop:
    """Suspend, drop the placeholders left on the stack and return the suspension; run on where it is None.

    The NOP never runs. From 3.13 on, the handler of an exception out of a called Python function is looked up
    one code unit before the instruction behind the call: the exception table must cover that unit.
    """
    loads, calls = subscripted(caller, key)
    clear = unit("SWAP", depth + 1) + unit("POP_TOP") * depth if depth else b""
    leave = clear + unit("RETURN_VALUE") + unit("NOP")
    stay = unit("POP_TOP") + unit("JUMP_FORWARD", len(leave) // 2)
    choose = unit("COPY", 1) + unit(IF_NOT_NONE, len(stay) // 2)
    return Stop(loads + calls + choose + stay + leave, len(loads) // 2)


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


@per_code
def jumps_of(code: CodeType) -> tuple[Instruction, ...]:
    """The instructions that have a target."""
    return tuple(one for one in instructions(code) if one.target is not None)


def placed(code: CodeType, edits: Edits) -> Placement:
    """Give every instruction its place, with as few EXTENDED_ARG as all distances allow."""
    jumps = jumps_of(code)
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
    return len(edits.prologue) // 2 + BRANCH + prefixes[PROLOGUE] + 1


def landing_argument(edits: Edits, places: Placement) -> int:
    """How far the prologue jumps: past a stop at its own position, see law 2."""
    aims = places.labels if edits.does_row else places.bodies
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
    """The bytes of resume code: the original's between stops and jumps."""
    units, listing = code.co_code, by_position(code)
    arguments = dict(jump_arguments(jumps_of(code), edits, places))
    on = unit("JUMP_FORWARD", arguments.pop(PROLOGUE), places.prefixes[PROLOGUE])
    data = bytearray(edits.prologue) + unit(IF_NOT_NONE, len(on) // 2) + on
    data += unit("JUMP_BACKWARD", len(on) // 2 + BACK)
    done = 0
    for position in sorted(arguments.keys() | edits.stops.keys()):
        data += units[2 * done : 2 * position]
        done = position
        if position in edits.stops:
            data += edits.stops[position].units
        if position in arguments:
            instruction = listing[position]
            data += unit(instruction.opname, arguments[position], places.prefixes[position])
            done += instruction.size
    return bytes(data + units[2 * done :])


# ---- handlers ------------------------------------------------------------------------------------


def restore_key(code: CodeType, position: int, places: Placement) -> tuple[object, ...] | None:
    """The argument of `restore`: None, or how the stack is marked and whether to raise at once."""
    previous, errors = marked_slots(code, position)
    raises = not handler_row(code, position)
    if previous < 0 and not errors and raises:
        return None
    return previous, errors, offsets_in_resume_code(code, places) if errors else (), raises


def stop_keys(
    code: CodeType, stops: list[int], edits: Edits, places: Placement
) -> Iterator[tuple[object, ...]]:
    """The argument of `suspend` at every stop: position, depth, and how the stack is marked."""
    depths = flow(code).depths
    slots = {stop: marked_slots(code, stop) for stop in stops}
    offsets: tuple[int, ...] = ()
    if any(errors for _, errors in slots.values()):
        offsets = offsets_in_original(code, edits, places)
    for stop, (previous, errors) in slots.items():
        marked = previous >= 0 or errors
        yield stop, depths[stop], *((previous, errors, offsets) if marked else ())


def operation(instruction: Instruction) -> int:
    """The code unit of an instruction's opcode, behind its prefixes: a frame's `lasti` points there."""
    return (
        instruction.position + instruction.size - 1 - CACHE_SIZES[opcode.opmap[instruction.opname]]
    )


def offsets_in_resume_code(code: CodeType, places: Placement) -> tuple[int, ...]:
    """The code unit in resume code of every one of the original; jumps may have more or fewer prefixes."""
    found = []
    for instruction in instructions(code):
        body, size = places.bodies[instruction.position], size_with(instruction, places.prefixes)
        found += [body + max(size - left, 0) for left in range(instruction.size, 0, -1)]
    return tuple(found)


def offsets_in_original(code: CodeType, edits: Edits, places: Placement) -> tuple[int, ...]:
    """The code unit of the original for every one of resume code."""
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
            begins = (
                0 if stop == entry.end or handler_row(code, stop) else edits.stops[stop].calls_at
            )
            if labels[stop] + begins > start:
                yield start, labels[stop] + begins - start, target, depth
            start = bodies[stop] - (stop > entry.start)
        if bodies[entry.end] > start:
            yield start, bodies[entry.end] - start, target, depth


class WrittenLines(NamedTuple):
    """A code object's line table: where each instruction's entries begin, and the line before each."""

    data: bytes
    starts: list[int]
    lines: list[int]
    numbers: dict[int, int]  # of instructions, by their positions


@per_code
def written_lines(code: CodeType) -> WrittenLines:
    """The line table that code has without edits."""
    table, starts, lines = LineTable(code.co_firstlineno), [0], [code.co_firstlineno]
    for instruction in instructions(code):
        table.add(instruction.location, instruction.size)
        starts.append(len(table.data))
        lines.append(table.line)
    numbers = {one.position: number for number, one in enumerate(instructions(code))}
    return WrittenLines(bytes(table.data), starts, lines, numbers)


def locations(code: CodeType, edits: Edits, places: Placement) -> bytes:
    """The line table of resume code; what is added gets the location of the next instruction with a line.

    Between stops, and jumps that are longer or shorter, it is the original's, as soon as the line before is that.
    """
    listing, written = instructions(code), written_lines(code)
    table = LineTable(code.co_firstlineno)
    table.add(by_position(code)[edits.landing].location, places.labels[0])
    changed = {
        one.position for one in jumps_of(code) if size_with(one, places.prefixes) != one.size
    }
    edited_at = sorted(written.numbers[position] for position in changed | edits.stops.keys())
    done = 0
    for number in (*edited_at, len(listing)):
        while done < number and table.line != written.lines[done]:
            table.add(listing[done].location, listing[done].size)
            done += 1
        if done < number:
            table.data += written.data[written.starts[done] : written.starts[number]]
            table.line = written.lines[number]
        if number < len(listing):
            instruction = listing[number]
            if instruction.position in edits.stops:
                # PUSH_EXC_INFO has no line, and neither would a frame that stops there
                place = landing(code, instruction.position)
                size = len(edits.stops[instruction.position].units) // 2
                table.add(by_position(code)[place].location, size)
            table.add(instruction.location, size_with(instruction, places.prefixes))
            done = number + 1
    return bytes(table.data)

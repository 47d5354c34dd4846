"""What the instructions of a code object are, where they lead, and what they need.

A *position* is the offset of an instruction in code units (byte offset / 2). An instruction with
EXTENDED_ARG prefixes begins at the first of them: that is where jumps to it lead. Inline caches
belong to the instruction before them. `co_code` holds neither specialised nor instrumented instructions.
"""

from __future__ import annotations

import opcode
import sys
from bisect import bisect_left
from dis import stack_effect
from functools import wraps
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.code.kept_builtins import KEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

__builtins__ = KEPT

Location: TypeAlias = tuple[int | None, int | None, int | None, int | None]
Result = TypeVar("Result")

VERSION = sys.version_info[:2]
OPCODES = 256  # the interpreter's; numbers from here on are the compiler's own
NAMES = tuple(opcode.opname[:OPCODES])
COMMON_CONSTANTS: tuple[object, ...] = tuple(getattr(opcode, "_common_constants", ()))
HAS_ARGUMENT = frozenset(getattr(opcode, "hasarg", range(opcode.HAVE_ARGUMENT, OPCODES)))

ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"})
JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
# They raise nothing, so the exception table may name a handler whose depth fits the stack before or behind a
# row of them, and not the stack in between.
CANNOT_RAISE = frozenset({"PUSH_EXC_INFO", "POP_EXCEPT", "COPY", "SWAP", "NOP", "NOT_TAKEN"})
READS_FRAME = frozenset({"locals", "vars", "eval", "exec", "dir"})

# What an exhausted FOR_ITER steps over at its target, in code units, and its effect on the stack.
# 3.12: END_FOR; 3.13: END_FOR and POP_TOP; 3.14: END_FOR, and POP_ITER then drops the iterator.
EXHAUSTED_SKIPS = {(3, 11): 0, (3, 12): 1, (3, 13): 2}.get(VERSION, 1)
EXHAUSTED_EFFECT = -1 if VERSION < (3, 14) else 0

# What a stack slot holds, where that is not the exc_info saved by the handler of a level (0, 1, ...): a plain value, or
# the `lasti` that RERAISE puts back into the frame. UNBALANCED is a number of open handlers: PUSH_EXC_INFO and
# POP_EXCEPT do not match on some path.
PLAIN, LASTI, UNBALANCED = -1, -2, -3

# How an opcode uses the slots its argument names, in the order it does so: r reads, w writes.
# Two groups: the high half of the argument and the low one. Cells are not here: they always live.
# fmt: off
SLOT_USES = {
    "LOAD_FAST":                         ("r",),
    "LOAD_FAST_CHECK":                   ("r",),
    "LOAD_FAST_BORROW":                  ("r",),
    "LOAD_CLOSURE":                      ("r",),
    "LOAD_FAST_AND_CLEAR":               ("rw",),
    "DELETE_FAST":                       ("rw",),  # an unbound local is an error: that is a read
    "STORE_FAST":                        ("w",),
    "LOAD_FAST_LOAD_FAST":               ("r", "r"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("r", "r"),
    "STORE_FAST_LOAD_FAST":              ("w", "r"),
    "STORE_FAST_STORE_FAST":             ("w", "w"),
}
# fmt: on


class Instruction(NamedTuple):
    """One instruction, prefixes and caches included.

    `arg` is the whole argument, None where there is none. `target` is the position that the
    argument of a jump names; where a FOR_ITER really goes when it is exhausted, `successors` says.
    `location` is (line, end line, column, end column); `size` is in code units.
    """

    position: int
    opname: str
    arg: int | None
    target: int | None
    location: Location
    size: int


class ExceptionEntry(NamedTuple):
    """A protected range: an error in `start <= position < end` goes to `target` at `depth`."""

    start: int
    end: int
    target: int
    depth: int  # of the stack that is kept; then come the position if `lasti`, and the exception
    lasti: bool


class Stack(NamedTuple):
    """What is known of the stack before an instruction.

    `marks` are the slots that hold no plain value, lowest first: (index, LASTI), or (index, level) for the
    exc_info that PUSH_EXC_INFO saved for the POP_EXCEPT of the handler of that level.
    """

    depth: int
    marks: tuple[tuple[int, int], ...] = ()
    handlers: int = 0  # open ones: PUSH_EXC_INFO without their POP_EXCEPT


class Flow(NamedTuple):
    """What holds on every path to a position: the keys of `depths` are the reachable ones."""

    depths: dict[int, int]
    stacks: dict[int, Stack]
    ambiguous: frozenset[int]  # where paths meet with different marks


def inline_cache_sizes() -> list[int]:
    """Count the cache units that follow each opcode."""
    known = opcode._inline_cache_entries  # type: ignore[attr-defined]
    if isinstance(known, dict):
        return [known.get(name, 0) for name in NAMES]
    return list(known[:OPCODES])


def jump_signs() -> dict[int, int]:
    """Tell whether a jump adds its argument to the end of its instruction, or subtracts it."""
    jumps = {code: NAMES[code] for code in opcode.hasjrel if code < OPCODES}
    return {
        code: -1 if "BACKWARD" in name or name == "END_ASYNC_FOR" else 1
        for code, name in jumps.items()
    }


CACHE_SIZES = inline_cache_sizes()
JUMP_SIGNS = jump_signs()


def per_code(compute: Callable[[CodeType], Result]) -> Callable[[CodeType], Result]:
    """Remember a result for as long as the code object lives; equal ones are told apart."""
    known: ByCode[tuple[Result]] = ByCode()

    @wraps(compute)
    def remembered(code: CodeType) -> Result:
        found = known.get(code)
        if found is None:
            found = (compute(code),)
            known.keep(code, found)
        return found[0]

    return remembered


@per_code
def instructions(code: CodeType) -> tuple[Instruction, ...]:
    """All instructions of a code object, in order."""
    units = code.co_code
    found = []
    start = prefix = skip = 0
    # co_positions() follows the line table, which a program may have replaced by a wrong one
    locations = chain(code.co_positions(), repeat((None, None, None, None)))
    for position, location in zip(range(len(units) // 2), locations, strict=False):
        if skip:
            skip -= 1
            continue
        operation = units[2 * position]
        prefix = prefix << 8 | units[2 * position + 1]
        if operation == opcode.EXTENDED_ARG:
            continue
        skip = CACHE_SIZES[operation]
        end = position + 1 + skip
        arg = prefix if operation in HAS_ARGUMENT else None
        target = end + JUMP_SIGNS[operation] * prefix if operation in JUMP_SIGNS else None
        found.append(Instruction(start, NAMES[operation], arg, target, location, end - start))
        start = end
        prefix = 0
    return tuple(found)


@per_code
def by_position(code: CodeType) -> dict[int, Instruction]:
    """Every instruction of a code object under its position."""
    return {instruction.position: instruction for instruction in instructions(code)}


def successors(instruction: Instruction) -> tuple[int, ...]:
    """Where control may go after an instruction that raises nothing; the next one comes first."""
    after = instruction.position + instruction.size
    name, target = instruction.opname, instruction.target
    if name in ENDS:
        return ()
    if target is None or name == "END_ASYNC_FOR":
        return (after,)
    if name in JUMPS:
        return (target,)
    if name == "FOR_ITER":
        return (after, target + EXHAUSTED_SKIPS)
    return (after, target)


def varints(data: bytes) -> Iterator[int]:
    """Read the numbers of an exception table: 6 bits a byte, the highest first."""
    value = 0
    for byte in data:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0


@per_code
def exception_entries(code: CodeType) -> tuple[ExceptionEntry, ...]:
    """All protected ranges of a code object, in order; they do not overlap."""
    numbers = varints(code.co_exceptiontable)
    return tuple(
        ExceptionEntry(start, start + length, target, depth >> 1, bool(depth & 1))
        for start, length, target, depth in zip(numbers, numbers, numbers, numbers, strict=True)
    )


@per_code
def protections(code: CodeType) -> dict[int, ExceptionEntry]:
    """The protected range around each position that is in one."""
    positions = [instruction.position for instruction in instructions(code)]
    return {
        position: entry
        for entry in exception_entries(code)
        for position in positions[
            bisect_left(positions, entry.start) : bisect_left(positions, entry.end)
        ]
    }


def effect(instruction: Instruction, jump: bool) -> int:
    """How much deeper the stack is after an instruction, when it jumps and when it goes on."""
    name, arg = instruction.opname, instruction.arg
    if name == "FOR_ITER":
        return EXHAUSTED_EFFECT if jump else 1
    if name == "RETURN_GENERATOR":
        return 1  # what is sent to a generator when it starts; up to 3.12 the table has 0
    if VERSION == (3, 11) and name in {"PRECALL", "CALL"}:
        return 0 if name == "PRECALL" else -1 - (arg or 0)  # the table says who counts, not when
    return stack_effect(opcode.opmap[name], arg, jump=jump)


def after(instruction: Instruction, stack: Stack, jump: bool) -> Stack:
    """What is known of the stack behind an instruction, when it jumps and when it goes on."""
    name, top = instruction.opname, stack.depth - 1
    depth = stack.depth + effect(instruction, jump)
    if not stack.marks and name != "PUSH_EXC_INFO":
        return Stack(depth, (), stack.handlers)
    marks, handlers = dict(stack.marks), stack.handlers
    if name == "PUSH_EXC_INFO":
        marks[top] = handlers
        handlers += 1
    elif name == "POP_EXCEPT":
        handlers = handlers - 1 if marks.get(top) == handlers - 1 else UNBALANCED
    elif name == "COPY" and instruction.arg is not None:
        marks[depth - 1] = marks.get(stack.depth - instruction.arg, PLAIN)
    elif name == "SWAP" and instruction.arg is not None:
        other = stack.depth - instruction.arg
        marks[top], marks[other] = marks.get(other, PLAIN), marks.get(top, PLAIN)
    kept = ((i, mark) for i, mark in sorted(marks.items()) if i < depth)
    return Stack(depth, tuple((i, m) for i, m in kept if m == LASTI or 0 <= m < handlers), handlers)


def caught(entry: ExceptionEntry, stack: Stack) -> Stack:
    """What is known of the stack where a handler begins that catches an error with this stack."""
    marks = tuple((i, mark) for i, mark in stack.marks if i < entry.depth)
    if entry.lasti:
        marks += ((entry.depth, LASTI),)
    return Stack(entry.depth + entry.lasti + 1, marks, stack.handlers)


@per_code
def flow(code: CodeType) -> Flow:
    """Follow every path through a code object, protected ranges included."""
    stacks: dict[int, Stack] = {}
    others: set[tuple[int, Stack]] = set()
    waiting = [(0, Stack(0))]
    listing, protected = by_position(code), protections(code)
    while waiting:
        position, stack = waiting.pop()
        if stacks.setdefault(position, stack) is not stack:
            if stacks[position] == stack or (position, stack) in others:
                continue
            others.add((position, stack))
        instruction = listing[position]
        entry = protected.get(position)
        if entry is not None and instruction.opname not in CANNOT_RAISE:
            waiting.append((entry.target, caught(entry, stack)))
        for place, successor in enumerate(successors(instruction)):
            jumps = instruction.target is not None and (place == 1 or instruction.opname in JUMPS)
            waiting.append((successor, after(instruction, stack, jumps)))
    return Flow(
        {position: stack.depth for position, stack in stacks.items()},
        stacks,
        frozenset(position for position, _ in others)
        | {position for position, stack in stacks.items() if stack.handlers < 0},
    )


@per_code
def live_locals(code: CodeType) -> dict[int, frozenset[int]]:
    """The slots of `localsplus` that may still be read at every position.

    Cells are always live; everything is where the code names a function that reads its frame.
    """
    count = slot_count(code)
    everything = frozenset(range(count))
    listing = instructions(code)
    if READS_FRAME.intersection(code.co_names):
        return dict.fromkeys(by_position(code), everything)
    live = live_masks(code, cell_mask(code))
    named = {mask: frozenset(i for i in everything if mask >> i & 1) for mask in set(live.values())}
    return {instruction.position: named[live[instruction.position]] for instruction in listing}


def slot_names(code: CodeType) -> tuple[str, ...]:
    """The name of every slot of `localsplus`: locals, cells that are no locals, free variables."""
    own = [name for name in code.co_cellvars if name not in code.co_varnames]
    return (*code.co_varnames, *own, *code.co_freevars)


def slot_count(code: CodeType) -> int:
    """The size of `localsplus`."""
    return len(slot_names(code))


def cell_mask(code: CodeType) -> int:
    """The slots that are always live: cells, and a method's first argument, which `super()` reads."""
    names = slot_names(code)
    cells = {*code.co_cellvars, *code.co_freevars}
    mask = sum(1 << slot for slot, name in enumerate(names) if name in cells)
    return mask | (1 if "__class__" in code.co_freevars else 0)


def slot_uses(instruction: Instruction) -> Iterator[tuple[str, int]]:
    """The reads ("r") and writes ("w") of slots by an instruction, in order."""
    groups = SLOT_USES.get(instruction.opname)
    if groups is None or instruction.arg is None:
        return
    slots = (instruction.arg,) if len(groups) == 1 else divmod(instruction.arg, 16)
    for group, slot in zip(groups, slots, strict=True):
        for use in group:
            yield use, slot


def live_masks(code: CodeType, always: int) -> dict[int, int]:
    """The live slots of every position as bits; those in `always` included."""
    protected = protections(code)
    rows = []
    for instruction in reversed(instructions(code)):
        position = instruction.position
        read, kept = always, -1
        for use, slot in [*slot_uses(instruction)][::-1]:
            if use == "r":
                read |= 1 << slot
            else:
                kept &= ~(1 << slot)
                read = read & ~(1 << slot) | always
        handler = protected[position].target if position in protected else -1
        rows.append((position, read, kept, successors(instruction), handler))
    live = dict.fromkeys((position for position, *_ in rows), 0)
    live[-1] = 0  # the handler where there is none
    changed = True
    while changed:
        changed = False
        for position, read, kept, leads_to, handler in rows:
            mask = 0
            for successor in leads_to:
                mask |= live[successor]
            mask = mask & kept | read | live[handler]
            if live[position] != mask:
                live[position] = mask
                changed = True
    del live[-1]
    return live

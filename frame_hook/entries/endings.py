"""Where a trace ends: positions where its frame can go on, the state it leaves there, the place of a break."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.code.places import in_words, short_file
from ufuse.frame_hook.code.stops import handled_slot, marked_slots, why_not_resume
from ufuse.frame_hook.entries.recipe import Recipe
from ufuse.frame_hook.entries.recipe_iterators import Register
from ufuse.frame_hook.interpreter.fork_refusals import CannotFork
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, held_registers
from ufuse.frame_hook.interpreter.outcomes import Returned
from ufuse.frame_hook.objects.classes import static_lookup
from ufuse.frame_hook.trace.reasons import Break, GraphBreak
from ufuse.frame_hook.trace.symbols import (
    BESIDE_METHOD,
    BUILT_IN,
    Array,
    ArrayMethod,
    Constant,
    DeviceArray,
    Integer,
    Number,
    Symbol,
    Unbound,
    Unread,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType

CLOCKED = 8  # root instructions between looks at the clock


def goes_on(code: CodeType, start: int, position: int) -> bool:
    """Whether an entry that begins at `start` may end at `position`.

    The exc_info of a handler that is running stays in its slot of the stack; and no recipe makes a function to which
    SET_FUNCTION_ATTRIBUTE has still to be applied.
    """
    if why_not_resume(code, position) is not None:
        return False
    if instructions.by_position(code)[position].opname == "SET_FUNCTION_ATTRIBUTE":
        return False
    before, after = (marked_slots(code, place)[0] for place in (start, position))
    return before < 0 or before == after


def end_after(code: CodeType, start: int, most: int) -> Callable[[int, int], bool]:
    """A predicate: whether the trace has run `most` instructions and the frame can be resumed at the next one."""

    def may_end(count: int, position: int) -> bool:
        return count >= most and goes_on(code, start, position)

    return may_end


def end_at(code: CodeType, start: int, deadline: float) -> Callable[[int, int], bool]:
    """A predicate: whether the time is up and the frame can be resumed at the next instruction."""

    def may_end(count: int, position: int) -> bool:
        is_due = count % CLOCKED == 0 and time.thread_time() > deadline
        return is_due and goes_on(code, start, position)

    return may_end


class Visited:
    """The root frame's positions in the order the trace ran them, and where among them it can end."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.positions = interpreter.positions
        self._interpreter = interpreter

    def where_it_broke(self) -> int:
        """How many root instructions ran before a break; a break found after the last one counts as in it."""
        count = self._interpreter.root_count
        if count == len(self.positions):
            count -= 1
            self._interpreter.call_stack[0].position = self.positions[count]
        return count

    def last_resumable(self, code: CodeType, count: int) -> int:
        """The most root instructions, up to `count`, after which the frame can be resumed."""
        while count and not goes_on(code, self.positions[0], self.positions[count]):
            count -= 1
        return count


def located(interpreter: Interpreter, graph_break: GraphBreak) -> Break:
    """The break at the innermost frame's line, and at the root's where that is another one."""
    root, inner = interpreter.call_stack[0], interpreter.call_stack[-1]
    called_from = "" if inner is root else _called_from(root)
    code = inner.code
    reason = GraphBreak(
        graph_break.code, in_words(graph_break.what, root.code, interpreter.positions[0])
    )
    return reason.at(code.co_filename, _line(inner), code.co_qualname, called_from)


def refused(interpreter: Interpreter, refusal: CannotFork) -> Break:
    """Why both sides of a branch are not in one graph, at its line."""
    root, code = interpreter.call_stack[0], refusal.code
    reason = GraphBreak(
        "sides", in_words(refusal.why, root.code, interpreter.positions[0]), refusal.hint
    )
    location = instructions.by_position(code)[refusal.position].location
    called_from = "" if code is root.code else _called_from(root)
    line = location[0] or code.co_firstlineno
    return reason.at(code.co_filename, line, code.co_qualname, called_from)


def _called_from(root: Frame) -> str:
    return f"{short_file(root.code.co_filename)}:{_line(root)} in {root.code.co_qualname}()"


def _line(frame: Frame) -> int:
    location = instructions.by_position(frame.code)[frame.position].location
    return location[0] or frame.code.co_firstlineno


def forget_frames(error: BaseException | None, handled: BaseException | None) -> None:
    """Drop what keeps the traced frame's values alive: an exception and a frame that holds it are a cycle.

    `handled` is the exception in whose handler the frame was traced: that one is the user's, and so is what it holds.
    """
    while error is not None and error is not handled:
        error.__traceback__ = None
        error = error.__context__


def empty_cells(interpreter: Interpreter) -> None:
    """Drop what cells of a trace hold: a function and the cell that it is in are a cycle, which keeps objects alive."""
    for cell in interpreter.cells:
        cell.content = None


def watched(trace: Trace, state: tuple[Any, ...]) -> dict[int, str]:
    """The registers of the state whose values cannot die unnoticed, with their names."""
    return {
        symbol.source.register: symbol.source.text
        for symbol, value in zip(trace.state, state, strict=True)
        if isinstance(symbol, Unread) and not _hook.has_no_finalizer(value)
    }


def dropped(trace: Trace, frame: Frame, returned: Returned | None) -> Iterator[Symbol]:
    """Values that the frame had at the start of the trace and not at its end, other than numbers and constants."""
    kept = held_registers(frame, *([returned.value] if returned else []))
    for symbol in trace.state:
        if isinstance(symbol, Unread) and symbol.source.register not in kept:
            if not isinstance(trace.reader.known(symbol), Constant | Integer | Number):
                yield symbol


def filled(trace: Trace, frame: Frame, position: int) -> Iterator[Unbound]:
    """Slots that were empty at the start of the trace and were written: in a loop's next turn they hold something."""
    if position == 0:
        return
    for before, now in zip(trace.state, frame.locals, strict=False):
        if isinstance(before, Unbound) and now is not before:
            yield before


Registers = tuple[Register, ...]
NumberOf = Callable[[Register], int]  # see `Recipe.number`


@record
class Return:
    """The frame returns what is in a register."""

    result: Register

    def for_c(self, _: CodeType, number: NumberOf) -> tuple[Any, ...]:
        """As `_hook.Entry` takes it."""
        return "return", number(self.result)


@record
class Resume:
    """The frame goes on at a position, with registers for every slot; `contents`: see `known_contents`."""

    position: int
    slots: Registers
    contents: tuple[int, ...] | None = None

    def for_c(self, code: CodeType, number: NumberOf) -> tuple[Any, ...]:
        """As `_hook.Entry` takes it."""
        slots = tuple(map(number, self.slots))
        return "resume", self.position, slots, handled_slot(code, self.position), self.contents


@record
class Choose:
    """The frame goes on in one of two ways, by the truth of what is in a register."""

    condition: Register
    if_true: Resume
    if_false: Resume

    def for_c(self, code: CodeType, number: NumberOf) -> tuple[Any, ...]:
        """As `_hook.Entry` takes it."""
        ways = self.if_true.for_c(code, number), self.if_false.for_c(code, number)
        return "branch", number(self.condition), *ways


Ending = Return | Resume | Choose


def chosen(interpreter: Interpreter, recipe: Recipe, *, keeps_all: bool) -> Choose:
    """The ending of a trace that came to a jump whose condition the graph computes."""
    frame, choice, sides = interpreter.call_stack[0], interpreter.choice, interpreter.sides
    assert choice is not None
    assert sides is not None
    condition = recipe.register(choice.condition)
    stack, ways = frame.stack, []
    for side in sides:
        frame.position = side.position
        frame.stack = [*stack, choice.condition] if side.keeps else stack
        ways.append(Resume(side.position, state_registers(frame, recipe, keeps_all=keeps_all)))
    frame.stack = stack
    return Choose(condition, *ways)


def state_registers(frame: Frame, recipe: Recipe, *, keeps_all: bool) -> tuple[Register, ...]:
    """The registers of the state to resume: the locals and the stack.

    A local that is never read again is left out where only the trace holds it: it need not be computed, and only code
    that reads its callers' locals could tell (`keeps_all`). A value of the frame stays, or it would die too early.
    """
    live = None if keeps_all else instructions.live_locals(frame.code).get(frame.position)
    idle = {
        slot
        for slot, symbol in enumerate(frame.locals)
        if live is not None
        and slot not in live
        and isinstance(symbol, Array | DeviceArray | Number | Integer)
        and not _is_cheap(symbol)
    }
    found = {
        slot: recipe.register(symbol)
        for slot, symbol in enumerate(frame.locals)
        if slot not in idle
    }
    stack = [recipe.register(symbol) for symbol in with_methods(frame.stack)]
    for slot in idle:
        symbol = frame.locals[slot]
        found[slot] = recipe.register(symbol) if recipe.has(symbol) else -1
    return (*(found[slot] for slot in range(len(frame.locals))), *stack)


def with_methods(stack: Sequence[Symbol]) -> list[Symbol]:
    """The stack as LOAD_METHOD leaves it for a call: a C method as an unbound function beside its `self`.

    The texts of errors tell a bound method from that pair.
    """
    found = list(stack)
    for place, symbol in enumerate(stack):
        if symbol is BESIDE_METHOD:
            method = place + 1 if VERSION < (3, 13) else place - 1
            pair = _unbound(stack[method])
            if pair is not None:
                found[min(place, method)], found[max(place, method)] = pair
    return found


def _unbound(symbol: Symbol) -> tuple[Symbol, Symbol] | None:
    """The function of a C method, and what it was looked up on; None for anything else."""
    if not isinstance(symbol, ArrayMethod):
        return None
    match symbol.self:
        case Array():
            owner: type | None = np.ndarray
        case Number(node=node) if isinstance(node.type, ArrayType):
            owner = node.type.dtype.type
        case Constant(value=value):
            owner = type(value)
        case receiver:
            owner = BUILT_IN.get(type(receiver))
    function = static_lookup(owner, symbol.name) if owner is not None else None
    if not isinstance(function, MethodDescriptorType | WrapperDescriptorType):
        return None
    return Constant(function), symbol.self


def _is_cheap(symbol: Any) -> bool:
    return getattr(symbol, "source", None) is not None

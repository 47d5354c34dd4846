"""The symbolic interpreter: reads a frame's instructions and runs each on symbols instead of values."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, NoReturn

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.code.raising import raising_side
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.handlers import HANDLERS
from ufuse.frame_hook.interpreter.outcomes import (
    JUMP,
    Choice,
    Expected,
    Jump,
    LoopTooLong,
    LoopUnpaid,
    Raised,
    Returned,
    Side,
    Yielded,
)
from ufuse.frame_hook.interpreter.pace import SAMPLED_TURNS, Asked, Work, items_left
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    AnyArray,
    Cell,
    Constant,
    Generator,
    Instance,
    Iterator,
    Method,
    Source,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.node import Location

DEEPEST_INLINE = 40
MOST_RECURSIVE = 16  # calls of functions by themselves, in which nothing is computed by a graph
LEADING = (Jump, Choice, Returned, Yielded)  # classes of outcomes that are no values
CLOCKED = 128  # instructions between looks at the clock
MOST_EXPECTED = 16  # sides of branches that one trace takes for granted
MOST_FORKS = 100  # both sides of so many branches: in functions that call functions they multiply
UNROLLED_TURNS = 32  # of a `while` loop that may be native code
SURELY = 1.5  # times what a trace may have: a call that will need so much is not inlined
LEAST_COST = 0.004  # seconds of a trace that unrolls a loop, below which it need not be paid for

CallRule = Callable[["Interpreter", Symbol, Sequence[Symbol], Mapping[str, Symbol]], Symbol]
AttributeRule = Callable[["Interpreter", Symbol, str], Symbol]
Fork = Callable[["Interpreter", Frame, Instruction, Choice], Returned | None]


UsualTruth = Callable[[CodeType, int, bool | None], bool | None]


class Interpreter:
    """Runs the root frame until it returns or breaks; inlines what it calls.

    `stop_at` is the number of root instructions after which the trace ends on purpose, because an earlier try broke
    there. `kept_loops` are the backward jumps that are not unrolled. `call` and `attribute` know the rules of calls
    and attributes, `fork` goes on behind both sides of a jump; they are arguments because those need the interpreter.
    `may_end` is asked before each root instruction but the first, with the number of those run and the position,
    whether the trace is to end there.
    `watched` are registers of the state whose values must not die inside the graph, with their names. `deadline` is a
    moment of `time.thread_time` after which the longest loop of the root is not unrolled, or, where it has none,
    functions that are being inlined break the graph. `may_cost` is how many seconds the trace may take where it unrolls
    a loop, by an estimate after a few turns. `leaves_loop` is asked before the first turn of a loop of the root
    at one of `left_headers`, whether the trace ends there, because the loop may be compiled; `has_left`: it did.
    `open_headers` are those of loops that may be compiled: `while` loops are not unrolled far.
    `nests` are the headers of loops of the root that are native code: the trace ends where it comes to one, if that
    takes the frame as it is, or after a turn. `headers` are those at which is noted what the frame has when it first
    comes. `function` gives the one whose frame it is, as long as that lives.
    `may_go_on` tells whether the trace may end at a position of the root: it may then end at a jump whose condition the
    graph computes, with the `choice` and its `sides`, first where it is true. `usual_truth` tells for such a jump, of a
    code object at a position, what its condition nearly always is; its third argument is the answer where nothing is
    known, for a side that raises. The trace then goes on with that, and notes it in `expected`. `may_fork` tells
    whether both sides of a jump are tried to be in the graph where neither is usual; `forked` are what is run there.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        call: CallRule,
        attribute: AttributeRule,
        fork: Fork,
        stop_at: int | None,
        kept_loops: frozenset[int],
        watched: Mapping[int, str] = MappingProxyType({}),
        may_end: Callable[[int, int], bool] | None = None,
        deadline: float | None = None,
        may_cost: float | None = None,
        left_headers: frozenset[int] = frozenset(),
        open_headers: frozenset[int] = frozenset(),
        leaves_loop: Callable[[Frame], bool] | None = None,
        nests: Mapping[int, Callable[[Frame], bool]] = MappingProxyType({}),
        headers: Collection[int] = (),
        may_go_on: Callable[[int], bool] = lambda _: False,
        usual_truth: UsualTruth = lambda _, __, otherwise: otherwise,
        may_fork: Callable[[CodeType, int], bool] = lambda _, __: False,
        function: Callable[[], FunctionType | None] = lambda: None,
    ) -> None:
        self.trace = trace
        self._function = function
        self._call = call
        self._attribute = attribute
        self._fork = fork
        self.handled: list[Symbol] = []  # exceptions that handlers of the trace have caught
        self.generators: list[Generator] = []  # that have begun
        self.cells: list[Cell] = []  # that the trace has made
        self.given: list[tuple[Symbol, ...]] = []  # to C functions that are being called
        self.stop_at = stop_at
        self.kept_loops = kept_loops
        self.watched = watched
        self._watched_slots: list[tuple[int, Symbol | None]] = []
        self.may_end = may_end
        self.deadline = deadline
        self.may_cost = may_cost
        self.left_headers = left_headers
        self.open_headers = open_headers
        self.leaves_loop = leaves_loop
        self.has_left = False
        self.nests = nests
        self.ends_at_nest = False
        self.may_go_on = may_go_on
        self.usual_truth = usual_truth
        self.expected: list[Expected] = []
        self.may_fork = may_fork
        self.forks = 0  # within so many sides
        self.all_forks = 0
        self.forked: set[tuple[CodeType, int]] = set()
        self.choice: Choice | None = None
        self.sides: tuple[Side, Side] | None = None
        self.headers = headers
        self._at_loops = {*headers, *nests, *left_headers}  # where more is asked than the time
        self.arrived: dict[int, tuple[Symbol | None, ...]] = {}
        self.root_count = 0  # root instructions run
        self.total = 0
        self._vain_recursions = 0  # while the graph has nothing
        self._asked: dict[Iterator, Asked] = {}
        self.call_stack: list[Frame] = []
        self.frame: Frame  # the last of them, whose instruction is being run
        self.positions: list[int] = []  # of the root instructions begun

    def call(
        self,
        function: Symbol,
        arguments: Sequence[Symbol] = (),
        keywords: Mapping[str, Symbol] | None = None,
    ) -> Symbol:
        """What `function(*arguments, **keywords)` gives."""
        return self._call(self, function, arguments, keywords or {})

    def attribute(self, symbol: Symbol, name: str) -> Symbol:
        """What `symbol.name` is."""
        return self._attribute(self, symbol, name)

    def run_root(self, frame: Frame) -> Returned | None:
        """Run until a return, or until `stop_at`: then None, with the frame as it stands before that instruction."""
        self._enter(frame)
        # a register of the state is its slot; what is watched on the stack has none
        self._watched_slots = [
            (slot, frame.locals[slot]) for slot in self.watched if slot < len(frame.locals)
        ]
        table = instructions.by_position(frame.code)
        while True:
            if self.root_count == self.stop_at or self._ends_early(frame):
                return None
            self.positions.append(frame.position)
            try:
                outcome = self.step(frame, table[frame.position])
            except Raised as raised:
                del self.call_stack[1:]
                self._catch(frame, raised)
                outcome = None
            if isinstance(outcome, Returned):
                if self.watched:
                    self._refuse_reordering(frame)
                self.root_count += 1
                return outcome
            if self.watched:
                self._refuse_dropping(frame)
            self.root_count += 1
            if self.choice is not None:
                return None

    @staticmethod
    def _came_back(frame: Frame) -> bool:
        """Whether the frame stands where it has jumped back to."""
        table = instructions.by_position(frame.code)
        return any(instructions.successors(table[one])[-1] == frame.position for one in frame.jumps)

    def _refuse_dropping(self, frame: Frame) -> None:
        """Break where the frame no longer holds a value whose death runs code: plain Python lets it die in time."""
        slots = self._watched_slots
        if len(slots) == len(self.watched) and all(
            frame.locals[slot] is one for slot, one in slots
        ):
            return  # nearly always
        gone = self.watched.keys() - held_registers(frame)
        if gone:
            raise GraphBreak("finalizer", self.watched[min(gone)])

    def _refuse_reordering(self, frame: Frame) -> None:
        """Break before a return where watched values have changed slots: they would die in another order."""
        for slot, symbol in enumerate(frame.locals):
            source = getattr(symbol, "source", None)
            if source is not None and source.register in self.watched and source.register != slot:
                raise GraphBreak("finalizer", self.watched[source.register])

    def _ends_early(self, frame: Frame) -> bool:
        if not self.root_count:
            return False
        if frame.position in self._at_loops and self._ends_at_loop(frame):
            return True
        if self.may_end is None:
            return False
        ends = self.may_end(self.root_count, frame.position)
        if ends and self.deadline is not None:
            self._refuse_long_loop()
        return ends

    def _ends_at_loop(self, frame: Frame) -> bool:
        if frame.position in self.headers and frame.position not in self.arrived:
            self.arrived[frame.position] = tuple(frame.locals)
        takes = self.nests.get(frame.position)
        if takes is not None and (takes(frame) or self._came_back(frame)):
            self.ends_at_nest = True
            return True
        if frame.position in self.left_headers and self.leaves_loop is not None:
            self.left_headers -= {frame.position}
            self.has_left = self.leaves_loop(frame)
        return self.has_left

    def _catch(self, frame: Frame, raised: Raised) -> None:
        """Continue at the root's handler; what that does not catch is raised by plain Python, with its traceback."""
        if not self.unwind(frame, raised):
            raise GraphBreak("eager-raises", described_error(raised.symbol)) from None

    def run_inlined(self, frame: Frame) -> Symbol:
        """Run a called function to its return."""
        outcome = self.run_frame(frame)
        assert isinstance(outcome, Returned)
        return outcome.value

    def run_frame(self, frame: Frame) -> Returned | Yielded:
        """Run a frame that the root calls, directly or not, until it returns or yields."""
        if self.deadline is not None and not self.trace.graph.nodes:
            self._vain_recursions += any(one.code is frame.code for one in self.call_stack)
        if len(self.call_stack) > DEEPEST_INLINE or self._vain_recursions > MOST_RECURSIVE:
            raise GraphBreak("recursion", frame.code.co_qualname)
        caller, handled = self.trace.graph.location, len(self.handled)
        depth = len(self.call_stack)
        self._enter(frame)
        table = instructions.by_position(frame.code)
        while True:
            try:
                outcome = self.step(frame, table[frame.position])
            except Raised as raised:
                del self.call_stack[depth + 1 :]
                if self.unwind(frame, raised):
                    continue
                del self.handled[handled:]
                self._leave(caller)
                raise
            if isinstance(outcome, Returned | Yielded):
                if len(self.handled) != handled:
                    raise GraphBreak("call", "a generator that waits inside an exception handler")
                self._leave(caller)
                return outcome

    def _enter(self, frame: Frame) -> None:
        self.call_stack.append(frame)
        self.frame = frame

    def _leave(self, caller: Location | None) -> None:
        """Go back to the frame that called, whose instruction is at this location."""
        self.call_stack.pop()
        self.frame = self.call_stack[-1]
        self.trace.graph.location = caller

    def unwind(self, frame: Frame, raised: Raised) -> bool:
        """Put the frame at the handler of an exception; False where it has none."""
        entry = instructions.protections(frame.code).get(frame.position)
        if entry is None:
            return False
        symbol = raised.symbol
        if getattr(symbol, "source", None) is not None:
            raise GraphBreak("eager-raises", "an exception that was made before gets a traceback")
        if isinstance(symbol, Instance) and symbol.raised is None:
            symbol.raised = self.root_count
        del frame.stack[entry.depth :]
        if entry.lasti:
            frame.stack.append(Constant(frame.position))
        frame.stack.append(symbol)
        frame.position = entry.target
        return True

    def step(self, frame: Frame, instruction: Instruction) -> Returned | Yielded | None:
        """Run one instruction and move the frame behind it, or to where it jumps."""
        self._locate(frame, instruction)
        handler = HANDLERS.get(instruction.opname)
        if handler is None:
            raise GraphBreak("opcode", instruction.opname)
        self.total += 1
        if self.deadline is not None and self.total % CLOCKED == 0:
            self._look_at_the_clock(frame, self.deadline)
        if self.kept_loops and instruction.position in self.kept_loops:
            self._refuse_kept_loop(frame, instruction)
        argument, stack = instruction.arg or 0, frame.stack
        count = handler.fixed if handler.varying is None else handler.varying(argument)
        if count:
            taken = stack[-count:]
            del stack[-count:]
            result = handler.run(self, argument, *taken)
        else:
            result = handler.run(self, argument)
        if isinstance(result, LEADING):
            return self._go_on(frame, instruction, result)
        frame.position = instruction.position + instruction.size
        if isinstance(result, tuple):
            stack += result
        elif result is not None:
            stack.append(result)
        return None

    def _go_on(
        self, frame: Frame, instruction: Instruction, outcome: Jump | Choice | Returned | Yielded
    ) -> Returned | Yielded | None:
        """Move the frame to where an instruction leads that did not just give values."""
        if isinstance(outcome, Choice):
            truth = self._usual_truth(frame, instruction, outcome)
            if truth is None:
                return self._forked(frame, instruction, outcome)
            jump = self._expect(frame, instruction, outcome, truth=truth)
        elif isinstance(outcome, Jump):
            jump = outcome
        else:
            if isinstance(outcome, Yielded):  # behind a return there may be nothing
                frame.position = instruction.position + instruction.size
            return outcome
        if jump is None:
            frame.position = instruction.position + instruction.size
            return None
        position = instructions.successors(instruction)[-1]
        if position <= instruction.position:
            self._note_loop(frame, instruction)
        frame.position = position
        return None

    def _usual_truth(self, frame: Frame, jump: Instruction, choice: Choice) -> bool | None:
        """What a condition nearly always is, where the trace may go on with that.

        Not behind a visible write: what has been written cannot be undone. Not where a loop may turn. Not where the
        host has waited for a device, as it would wait once more, unless a side raises.
        """
        behind, target = instructions.successors(jump)
        if target <= jump.position or jump.position in frame.expected:
            return None
        if self.trace.graph.first_write is not None or len(self.expected) >= MOST_EXPECTED:
            return None
        raises = raising_side(frame.code, _followed(frame, behind), _followed(frame, target))
        otherwise = None if raises is None else raises is not choice.jumps
        if otherwise is None and self.trace.graph.waits:
            return None
        return self.usual_truth(frame.code, jump.position, otherwise)

    def _expect(
        self, frame: Frame, jump: Instruction, choice: Choice, *, truth: bool
    ) -> Jump | None:
        """Go on along one side of a branch."""
        self.trace.expect(choice.condition, truth)
        frame.expected.add(jump.position)
        code, line = frame.code, jump.location[0] or frame.code.co_firstlineno
        place = Expected(weakref.ref(code), jump.position, code.co_filename, line, truth)
        self.expected.append(place)
        if truth is not choice.jumps:
            return None
        if choice.keeps:
            frame.stack.append(choice.condition)
        return JUMP

    def _forked(self, frame: Frame, jump: Instruction, choice: Choice) -> Returned | None:
        """Go on behind both sides of a jump where they meet; else end the trace there."""
        if self.all_forks >= MOST_FORKS or not self.may_fork(frame.code, jump.position):
            self._end_in_choice(frame, jump, choice)
            return None
        self.forks += 1
        self.all_forks += 1
        returned = self._fork(self, frame, jump, choice)
        self.forks -= 1
        return returned

    def _end_in_choice(self, frame: Frame, jump: Instruction, choice: Choice) -> None:
        """End the trace at a jump of the root whose condition the graph computes."""
        behind, target = instructions.successors(jump)
        next_one = instructions.by_position(frame.code)[behind]
        if next_one.opname == "JUMP_BACKWARD":  # most compilers leave it out of the `try` around it
            (behind,) = instructions.successors(next_one)
        if (
            self.forks
            or frame is not self.call_stack[0]
            or not (self.may_go_on(behind) and self.may_go_on(target))
        ):
            raise GraphBreak("data-branch", "a computed number")
        sides = Side(target, choice.keeps), Side(behind, keeps=False)
        self.choice = choice
        self.sides = sides if choice.jumps else (sides[1], sides[0])

    def _note_loop(self, frame: Frame, instruction: Instruction) -> None:
        turns = frame.jumps[instruction.position] = frame.jumps.get(instruction.position, 0) + 1
        if self._goes_to_nest(frame, instruction):
            return
        target = instructions.by_position(frame.code)[instructions.successors(instruction)[-1]]
        is_while = target.opname != "FOR_ITER" and frame is self.call_stack[0]
        if is_while and turns > UNROLLED_TURNS and target.position in self.open_headers:
            raise LoopTooLong(instruction.position)
        work = self._work()
        if work.is_more_than(1):
            self._end_too_long()
        self._refuse_unpaid(work.seconds, 2 * work.seconds)  # how far it goes is not always known
        if turns > SAMPLED_TURNS:
            return
        before = frame.work.get(instruction.position)
        frame.work[instruction.position] = work
        if before is None:
            return
        left = items_left(self.trace, frame.stack[-1]) if frame.stack else 0
        is_root = frame is self.call_stack[0]
        self._weigh(work, before, left, instruction.position if is_root else None)

    def note_item(self, iterator: Iterator) -> None:
        """Estimate at the first items of an iterator, as at the first turns of a loop, what those left will take.

        Functions that go through one have no turns, and what an object or a generator gives in turns it may take from
        an iterator that tells how many there are.
        """
        asked = self._asked.get(iterator)
        if asked is None:
            self._asked[iterator] = Asked(1)
        elif asked.times <= SAMPLED_TURNS:
            jumps = self.call_stack[0].jumps
            before, work, turned = asked.work, self._work(), asked.jumps
            asked.times, asked.work, asked.jumps = asked.times + 1, work, dict(jumps)
            if before is not None:
                loop = next((one for one in jumps if jumps[one] != turned.get(one, 0)), None)
                self._weigh(work, before, items_left(self.trace, iterator), loop)

    def _work(self) -> Work:
        return Work(len(self.trace.graph.nodes), self.total)

    def _weigh(self, work: Work, before: Work, left: int, loop: int | None) -> None:
        """Refuse a loop whose turns would take too long, of which there was one since `before`, and so many are left.

        `loop` is the backward jump of the root that brings them about; None: it is one of a call.
        """
        in_the_end, is_idle = work.later(before, left), work.is_idle(before, left)
        if loop is not None and (is_idle or in_the_end.is_more_than(1)):
            raise LoopTooLong(loop)
        if is_idle:
            raise GraphBreak("loop")
        if in_the_end.is_more_than(SURELY):
            self._end_too_long()
        self._refuse_unpaid(in_the_end.seconds, in_the_end.seconds)

    def _refuse_unpaid(self, seconds: float, needed: float) -> None:
        """Put the trace off where it takes longer than it may, until it may take what it is thought to need."""
        if self.may_cost is not None and seconds > max(self.may_cost, LEAST_COST):
            raise LoopUnpaid(needed)

    def _end_too_long(self) -> NoReturn:
        """End a trace that is or will be too long: a loop of the root is not unrolled, or a call not inlined."""
        root = self.call_stack[0]
        if not root.jumps:
            raise GraphBreak("loop")
        raise LoopTooLong(max(root.jumps, key=lambda position: root.jumps[position]))

    def _look_at_the_clock(self, frame: Frame, deadline: float) -> None:
        """Break a function that is inlined for too long; the root frame ends between two of its instructions."""
        if len(self.call_stack) > 1 and time.thread_time() > deadline:
            self._refuse_long_loop()
            raise GraphBreak("slow", frame.code.co_qualname)

    def _refuse_long_loop(self) -> None:
        """Where the root has a loop that is still unrolled: its body is worth a graph more than the first turns are."""
        jumps = self.call_stack[0].jumps
        unrolled = jumps.keys() - self.kept_loops
        if unrolled:
            raise LoopTooLong(max(unrolled, key=lambda position: jumps[position]))

    def _goes_to_nest(self, frame: Frame, jump: Instruction) -> bool:
        """Whether a jump of the root leads to a loop that is native code: the trace ends behind it."""
        return frame is self.call_stack[0] and instructions.successors(jump)[-1] in self.nests

    def _refuse_kept_loop(self, frame: Frame, jump: Instruction) -> None:
        """End the graph at a backward jump that is not unrolled, but let a trace begin there."""
        if self._goes_to_nest(frame, jump):
            return
        if frame is self.call_stack[0] and self.root_count:
            raise GraphBreak("loop")

    def _locate(self, frame: Frame, instruction: Instruction) -> None:
        if frame.places is None:
            known = places_by_module(frame.code)
            is_own = is_modules(frame.globals)
            frame.places = known.setdefault(module_name(frame.globals), {}) if is_own else {}
        place = frame.places.get(instruction.position)
        if place is None:
            is_roots = frame.globals is self.call_stack[0].globals
            asked = self._function if is_roots and not is_modules(frame.globals) else None
            place = frame.places[instruction.position] = _location(frame, instruction, asked)
        self.trace.graph.location = place


def held_registers(frame: Frame, *others: Symbol) -> set[int]:
    """The registers of the frame's values that its slots and stack still hold, or that others are."""
    found = set()
    for symbol in (*frame.locals, *frame.stack, *others):
        if isinstance(symbol, AnyArray) and not symbol.path and symbol.buffer.source is not None:
            found.add(symbol.buffer.source.register)
        elif isinstance(symbol, Method):
            parts = (symbol, symbol.self, symbol.function)
            found |= {one.register for one in map(_source, parts) if one}
        elif (source := _source(symbol)) is not None:
            found.add(source.register)
    return found


def _source(symbol: object) -> Source | None:
    return getattr(symbol, "source", None)


def module_name(space: Mapping[str, Any]) -> str:
    """What globals say of the module that they are of, or seem to be."""
    name = space.get("__name__")
    return name if isinstance(name, str) else ""


def is_modules(space: Mapping[str, Any]) -> bool:
    """Whether globals are those of the module that they name: not those of code run by `exec`."""
    module = sys.modules.get(module_name(space))
    return getattr(module, "__dict__", None) is space


@instructions.per_code
def places_by_module(_: CodeType) -> dict[str, dict[int, Location]]:
    """The locations of a code object that were needed so far, for each module it runs in."""
    return {}


def _location(
    frame: Frame, instruction: Instruction, found_by: Callable[[], Any] | None
) -> Location:
    line, end_line, column, end_column = instruction.location
    return Location(
        frame.code.co_filename,
        frame.code.co_name,
        line or frame.code.co_firstlineno,
        module_name(frame.globals),
        end_line or 0,
        column or 0,
        end_column or 0,
        None,
        found_by,
    )


def described_error(symbol: Symbol) -> str:
    """An exception in words."""
    if isinstance(symbol, Instance):
        parts = symbol.content.items if isinstance(symbol.content, Tuple) else ()
        said = ", ".join(str(p.value) for p in parts if isinstance(p, Constant))
        return f"{symbol.kind.__name__}: {said}" if said else symbol.kind.__name__
    return "an exception"


TESTS = {
    "POP_JUMP_IF_FALSE": False,
    "POP_JUMP_FORWARD_IF_FALSE": False,
    "POP_JUMP_IF_TRUE": True,
    "POP_JUMP_FORWARD_IF_TRUE": True,
}


def _followed(frame: Frame, position: int) -> int:
    """Where a way goes on from a position that tests a variable of the frame which is known."""
    table = instructions.by_position(frame.code)
    load = table[position]
    while load.opname == "NOT_TAKEN":
        load = table[load.position + load.size]
    if load.opname not in ("LOAD_FAST", "LOAD_FAST_BORROW"):
        return position
    test = table[load.position + load.size]
    while test.opname in ("TO_BOOL", "CACHE"):
        test = table[test.position + test.size]
    known = frame.locals[load.arg or 0]
    if test.opname not in TESTS or not isinstance(known, Constant) or type(known.value) is not bool:
        return position
    behind, target = instructions.successors(test)
    return target if known.value is TESTS[test.opname] else behind

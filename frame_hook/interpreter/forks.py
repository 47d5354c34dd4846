"""Both sides of a branch in one graph: each is traced to where they meet, and becomes a body of a `branch` node.

Laws: 1. each side begins with the same state of the trace; 2. what a side does to memory and objects that were there
before is part of what the node chooses, or is done alike on both sides; nothing else does it change; 3. where they meet
each value is the same one on both sides, or two of one type, between which the node chooses; 4. behind a write that the
program can see a side does nothing that may fail. What breaks a law, or ends a graph, is a `CannotFork`: the trace is
made again without it.
"""

from __future__ import annotations

from dataclasses import replace

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.code.meeting import meeting_place
from ufuse.frame_hook.interpreter.fork_refusals import REFUSALS, CannotFork, Unlike
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.merging import join
from ufuse.frame_hook.interpreter.outcomes import (
    Choice,
    LoopTooLong,
    NotRebuilt,
    Raised,
    Returned,
    Yielded,
)
from ufuse.frame_hook.interpreter.side import Before, Taken, before_branch, noting_reads, take_back
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Instance, Symbol


def fork(
    interpreter: Interpreter, frame: Frame, jump: Instruction, choice: Choice
) -> Returned | None:
    """Go on behind both sides of a jump, where they meet; a value, where both return one.

    Raises:
        CannotFork: they cannot be in one graph.

    """
    try:
        return _forked(interpreter, frame, jump, choice)
    except (Unlike, GraphBreak, Raised, LoopTooLong, NotRebuilt) as error:
        raise CannotFork(frame.code, jump.position, *_in_words(error)) from None


def _in_words(error: Exception) -> tuple[str, str]:
    """Why two sides are not in one graph, and what to do."""
    match error:
        case GraphBreak(code="data-branch"):
            error = Unlike("nested")
        case GraphBreak():
            found = error.at("", 0, "")
            return f"in a side, {found.reason}", found.hint
        case Raised(symbol=Instance(kind=kind)):
            error = Unlike("raises", kind.__name__)
        case NotRebuilt(what=what):
            return f"a side has {what}", REFUSALS["loop"][1]
        case Unlike():
            pass
        case _:
            error = Unlike("loop")
    return error.why, error.hint


def _forked(
    interpreter: Interpreter, frame: Frame, jump: Instruction, choice: Choice
) -> Returned | None:
    trace = interpreter.trace
    behind, target = instructions.successors(jump)
    if target <= jump.position:
        raise Unlike("loop")
    meet = meeting_place(frame.code, behind, target)
    depth, location = len(interpreter.call_stack), trace.graph.location
    before = before_branch(interpreter)
    sides: dict[bool, Taken] = {}
    is_late, is_side = trace.graph.in_late_side, trace.graph.in_side
    trace.graph.in_late_side = is_late or trace.graph.first_write is not None
    trace.graph.in_side = True
    for jumps in (True, False):
        truth = choice.jumps if jumps else not choice.jumps
        stack = [*before.frames[-1][1], *([choice.condition] if jumps and choice.keeps else [])]
        trace.expected[choice.condition.node] = truth
        # Nodes of the first side that are the same anywhere stay in the graph.
        inputs, nodes = len(trace.graph.inputs), len(trace.graph.nodes)
        start = replace(before, inputs=inputs, nodes=nodes, first_write=trace.graph.first_write)
        with noting_reads(trace.changes, before):
            sides[truth] = _taken(
                interpreter, frame, target if jumps else behind, stack, meet, start
            )
        del interpreter.call_stack[depth:]
    trace.graph.in_late_side, trace.graph.location = is_late, location
    trace.graph.in_side = is_side
    refusal = CannotFork(
        frame.code, jump.position, *_in_words(Unlike("written", "an array that it gives"))
    )
    join(interpreter, frame, before, choice, sides[True], sides[False], meet, refusal)
    if meet is None:
        return Returned(frame.stack.pop())
    frame.position = meet
    return None


def _taken(
    interpreter: Interpreter,
    frame: Frame,
    start: int,
    stack: list[Symbol],
    meet: int | None,
    before: Before,
) -> Taken:
    """Trace one side, and take it back."""
    frame.position, frame.stack[:] = start, stack
    table = instructions.by_position(frame.code)
    while frame.position != meet:
        interpreter.forked.add((frame.code, frame.position))
        outcome = interpreter.step(frame, table[frame.position])
        if isinstance(outcome, Yielded) or frame.jumps != before.jumps:
            raise Unlike("loop")
        if isinstance(outcome, Returned):
            if meet is not None:
                raise Unlike("loop")
            frame.stack[:] = [outcome.value]
            break
    return take_back(interpreter, frame, before)

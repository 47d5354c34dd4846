"""Which segments of a kernel become native functions."""

from __future__ import annotations

from ufuse.backends.numpy.llvm.functions import Native, Operation
from ufuse.backends.numpy.llvm.instructions import why_not_native
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.graph.records import record


@record
class NativeSegment:
    """A native function with the kernel's values that it takes and gives."""

    native: Native
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


MOST_ARGUMENTS = 30


def native_segments(plan: KernelPlan) -> list[Segment | NativeSegment] | None:
    """The kernel's segments, each run of those with a native form as one function; None where that gains nothing.

    Native and other segments take turns: each turn takes every segment whose inputs are ready, so that there
    are as few turns as possible. A value that nobody takes stays plain: its operation may raise a flag.
    """
    taken = {value for segment in plan.segments for value in segment.inputs}
    taken |= {result.value for result in plan.results}
    able = {
        id(segment)
        for segment in plan.segments
        if segment.kind == "map"
        and segment.outputs[0] in taken
        and why_not_native(segment.loop) is None
    }
    if len(able) < 2:
        return None
    known = set(range(len(plan.operands)))
    waiting = list(plan.segments)
    made: list[Segment | NativeSegment] = []
    while waiting:
        for native_turn in (True, False):
            turn: list[Segment] = []
            rest: list[Segment] = []
            for segment in waiting:
                ready = (id(segment) in able) == native_turn and known.issuperset(segment.inputs)
                if ready:
                    known.update(segment.outputs)
                (turn if ready else rest).append(segment)
            waiting = rest
            if native_turn:
                made += [_fused(plan, run) for run in _runs(plan, turn)]
            else:
                made += turn
    return made if any(isinstance(segment, NativeSegment) for segment in made) else None


def _runs(plan: KernelPlan, turn: list[Segment]) -> list[list[Segment]]:
    """A turn in pieces of few enough arguments."""
    runs: list[list[Segment]] = []
    run: list[Segment] = []
    inputs: set[int] = set()
    for segment in turn:
        if run and len(inputs | set(segment.inputs)) > MOST_ARGUMENTS:
            runs.append(run)
            run, inputs = [], set()
        run.append(segment)
        inputs |= set(segment.inputs)
    return [*runs, run] if run else runs


def _fused(plan: KernelPlan, run: list[Segment]) -> Segment | NativeSegment:
    if len(run) == 1:
        return run[0]  # one operation: NumPy's own loop is as fast
    inside = {segment.outputs[0] for segment in run}
    inputs = list(
        dict.fromkeys(value for segment in run for value in segment.inputs if value not in inside)
    )
    own = {id(segment) for segment in run}
    wanted = {
        value for segment in plan.segments if id(segment) not in own for value in segment.inputs
    }
    wanted |= {result.value for result in plan.results}
    outputs = [segment.outputs[0] for segment in run if segment.outputs[0] in wanted]
    numbers = {value: place for place, value in enumerate(inputs)}
    operations = []
    for segment in run:
        numbers[segment.outputs[0]] = len(numbers)
        operations.append(
            Operation(
                segment.loop,
                tuple(numbers[value] for value in segment.inputs),
                numbers[segment.outputs[0]],
            )
        )
    native = Native(
        tuple((plan.dtype(value), plan.is_single(value, "map")) for value in inputs),
        tuple(operations),
        tuple(numbers[value] for value in outputs),
    )
    return NativeSegment(native, tuple(inputs), tuple(outputs))

"""From a plan to objects of `_tiles`: loops, kernels that become native when they are hot, the program."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.fallback import Fallback
from ufuse.backends.numpy.llvm import compiler
from ufuse.backends.numpy.llvm.background import LONGEST_WAIT, Work
from ufuse.backends.numpy.llvm.tiers import NativeSegment, native_segments
from ufuse.backends.numpy.loops import loop_object
from ufuse.backends.numpy.plain import OUT
from ufuse.backends.numpy.report import Report, Warner, out_of_order
from ufuse.backends.numpy.scalars import Code
from ufuse.backends.planning.kernels import KernelPlan, Result, Segment
from ufuse.backends.planning.steps import Plan, Step
from ufuse.backends.protocol import Options
from ufuse.graph.semantics.effects import FLAGS


def plain(segment: Segment) -> tuple[Any, ...]:
    """A segment as `_tiles.Kernel` takes it."""
    head = (loop_object(segment.loop), segment.inputs, segment.outputs, segment.kind, segment.node)
    return (*head, segment.initial) if segment.kind in {"reduce", "total"} else head


WORTH_WAITING = 50_000_000  # element-operations that take longer than loading LLVM


class Promotion:
    """The `on_hot` of a kernel: compiles its native segments."""

    def __init__(self, segments: list[Segment | NativeSegment], *, wait: bool) -> None:
        self.segments = segments
        self.wait = wait

    def __call__(self, kernel: Any) -> None:
        """Wait for native code where that takes milliseconds or the work is long; else LLVM is loaded meanwhile."""
        long = kernel.elements * len(self.segments) > WORTH_WAITING
        now = self.wait or long or compiler.is_loaded()
        work = Work(partial(self.promote, kernel))
        if now:
            work.wait(LONGEST_WAIT)

    def promote(self, kernel: Any) -> None:
        """Give the kernel its native segments; where that fails it stays as it is, and the log says so."""
        try:
            self._promote(kernel)
        except Exception:  # LLVM is not ours, and the plain segments are right
            logging.getLogger("ufuse.kernels").info(
                "a kernel could not be made native", exc_info=True
            )

    def _promote(self, kernel: Any) -> None:
        found = [segment.native for segment in self.segments if isinstance(segment, NativeSegment)]
        functions = iter(compiler.compiled(found))
        made = []
        for segment in self.segments:
            if isinstance(segment, Segment):
                made.append(plain(segment))
                continue
            address = next(functions)
            inputs, outputs = len(segment.inputs), len(segment.outputs)
            loop = _tiles.native_loop(address, None, inputs, outputs)
            made.append((loop, segment.inputs, segment.outputs, "map", -1))
        kernel.set_native(tuple(made))


# fmt: off
COSTS = {
    "exp": 0.8, "log": 0.8, "tanh": 1.0, "power": 1.5, "sin": 8.0, "cos": 8.0, "hypot": 4.0,
    "floor_divide": 1.5, "remainder": 1.0, "fmod": 1.0, "divide": 0.6, "sqrt": 0.6,
    "arctan2": 8.0, "arcsin": 4.0, "arccos": 4.0, "arctan": 4.0, "sinh": 4.0, "cosh": 4.0, "tan": 4.0,
    "exp2": 0.8, "expm1": 4.0, "log2": 0.8, "log10": 0.8, "log1p": 4.0, "cbrt": 4.0,
}
# fmt: on


def _cost(plan: KernelPlan) -> float:
    """About how many nanoseconds one element takes."""
    return sum(COSTS.get(segment.loop.name, 0.4) for segment in plan.segments) or 0.4


def _how(result: Result) -> tuple[Any, ...]:
    """How `_tiles.Kernel` gives a result: of a target also whether the operation itself writes to it."""
    if result.how[0] != "into":
        return result.how
    return (*result.how, result.node.attributes.get("casting") == OUT)


def kernel_object(plan: KernelPlan, options: Options) -> Any:
    """The kernel of a plan."""
    grown: dict[str, Any] = {}
    if options.native and compiler.why_unavailable() is None:
        segments = native_segments(plan)
        if segments is not None:
            grown = {
                "on_hot": Promotion(segments, wait=options.hot == 0),
                "hot": max(options.hot // len(plan.segments), 1),
            }
    return _tiles.Kernel(
        tuple(operand.dtype for operand in plan.operands),
        tuple((temporary.dtype, temporary.is_row) for temporary in plan.temporaries),
        tuple(plain(segment) for segment in plan.segments),
        tuple((result.value, _how(result)) for result in plan.results),
        rows=plan.rows,
        rolls=tuple((place, one.shifts) for place, one in enumerate(plan.operands) if one.shifts),
        cost=_cost(plan),
        **grown,
    )


def step_tuple(step: Step, constants: dict[int, Any], options: Options) -> tuple[Any, ...]:
    """A step as `_tiles.Program` takes it."""
    tail = (step.clear, 2 if step.committed and step.refuses else step.committed)
    if step.kind == "kernel":
        assert step.kernel is not None
        fresh = iter(step.outs)
        outs = tuple(
            -1 if result.how[0] == "into" else next(fresh) for result in step.kernel.results
        )
        return ("kernel", kernel_object(step.kernel, options), step.reads, outs, *tail)
    if step.kind == "scalars":
        block = _tiles.Scalars(*Code(step, constants).arguments(loop_object))
        return ("scalars", block, step.reads, step.outs, *tail)
    if step.kind == "call":
        # What writes in several places cannot be done again where a flag shows: the fallback does it, once.
        function = None if step.committed and not step.repeats else step.function
        return ("call", function, step.reads, step.keywords, step.outs[0], *tail)
    if step.kind == "getitem":
        return ("getitem", *step.reads, step.outs[0], *tail)
    if step.kind == "check":
        assert step.check is not None
        return ("check", step.reads, step.check.attributes["expected"], (), *tail)
    if step.kind == "branch":
        sides = tuple(program(side, options) for side in step.sides)
        return ("branch", sides, step.reads, step.outs, *tail)
    if step.kind == "unpack":
        return ("unpack", step.reads[0], step.outs, *tail)
    return ("tuple", step.reads, step.outs[0], *tail)


def masks(step: Step) -> tuple[int, int]:
    """The flags that the program's own error state ignores where a step stands, and those of which it warns."""
    said = {"ignore": 0, "warn": 0}
    for flag, mode in step.errors or ():
        said[mode] |= 1 << FLAGS.index(flag)
    return said["ignore"], said["warn"]


def program(plan: Plan, options: Options) -> Callable[..., object]:
    """The callable of a plan."""
    warner = Warner()
    constants = dict(plan.constants)
    made: Callable[..., object] = _tiles.Program(
        plan.inputs,
        plan.slots,
        tuple(one for one in plan.constants if one[0] < plan.slots),
        tuple(step_tuple(step, constants, options) for step in plan.steps),
        plan.outputs,
        Report(plan.steps, warner),
        Fallback(plan.steps, warner, constants),
        warner.in_order if out_of_order(plan.steps) else None,
        plan.is_late,
        tuple(map(masks, plan.steps)) if any(step.errors for step in plan.steps) else (),
    )
    return made

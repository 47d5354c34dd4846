"""A plan run in C, or from Python where C does not know CuPy: kernels, CuPy's own calls, views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

import cupy
import numpy as np

from ufuse.backends import _launch
from ufuse.backends.cupy.launching import native
from ufuse.backends.cupy.launching.kinds import kernel_class
from ufuse.backends.cupy.launching.launch import Kernel
from ufuse.backends.cupy.launching.native import OUT_OF_MEMORY, argument, is_out_of_memory
from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.backends.cupy.steps.calls import strictly
from ufuse.backends.cupy.steps.rules import reshaped, transposed
from ufuse.backends.cupy.steps.streams import Switching
from ufuse.backends.cupy.texts.text import CUPYS, Dialect, is_array
from ufuse.backends.planning.kernels import Operand
from ufuse.backends.planning.steps import Plan, Step
from ufuse.graph.node import Node
from ufuse.graph.typing.device_calls import always_fits

Run = Callable[[list[Any], int], Iterable[Any]]
IN_C = frozenset(("getitem", "unpack", "tuple"))  # kinds of steps that call nothing of ours
VIEWS: dict[Any, str] = {transposed: "transpose", reshaped: "reshape"}  # taken in C where they can


def program_of(
    plan: Plan, name: str, dialect: Dialect = CUPYS, otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The callable of a plan. It waits for nothing that eager CuPy would not wait for.

    `otherwise` is called with the inputs where it leaves all to plain Python, and may know better.
    """
    if plan.takes_back:
        return Switching(_program_of(plan, name, dialect), otherwise)
    return _program_of(plan, name, dialect, otherwise)


def _program_of(
    plan: Plan, name: str, dialect: Dialect, otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    if native.why_not() is not None:
        return Program(plan, name, dialect, otherwise)
    constants = dict(plan.constants)
    steps = tuple(step_in_c(step, run_of(step, name, constants, dialect)) for step in plan.steps)
    return _launch.Program(
        plan.inputs, plan.slots, tuple(plan.constants), tuple(checked_numbers(plan)), steps, plan.outputs,
        first_committed(plan), Refused(), otherwise,
    )  # fmt: skip


def step_in_c(step: Step, run: Run) -> tuple[Any, ...]:
    """A step as C takes it: kind, what is called, names of keywords; slots that are read, filled and cleared."""
    slots = step.reads, step.outs, step.clear
    if isinstance(run, Kernel):
        made = run.in_c()
        return "run" if made is run else "kernel", made, (), *slots
    if step.function in VIEWS:
        return VIEWS[step.function], step.function, (), *slots
    if step.function is cupy.empty and step.keywords == ("dtype",):
        return "empty", step.function, step.keywords, *slots
    if step.kind == "call":
        return (
            "apart" if step.apart else "call",
            step.function,
            step.keywords,
            *slots,
        )
    return step.kind if step.kind in IN_C else "run", run, (), *slots


def first_committed(plan: Plan) -> int:
    """The first step behind which it is too late for plain Python."""
    places = (place for place, step in enumerate(plan.steps) if step.committed)
    return next(places, len(plan.steps))


def checked_numbers(plan: Plan) -> Iterator[tuple[int, np.dtype]]:
    """The numbers that are looked at before the first step: one that does not fit may show too late."""
    if first_committed(plan) < len(plan.steps):
        for _, slot, operand in numbers_of(plan):
            if slot < plan.inputs:
                yield slot, operand.dtype


class Refused:
    """What a program answers where a step raises; why it left the last call to plain Python ("": that says so)."""

    def __init__(self) -> None:
        self.reason = ""

    def __call__(self, error: Exception, late: bool) -> Any:
        """NotImplemented, with memory free for plain Python, where a step leaves all to that; else raise the error."""
        out_of_memory = is_out_of_memory(error)
        if not out_of_memory and not isinstance(error, DoesNotFit):
            raise error
        if late:
            raise (error.__cause__ or error) from None
        self.reason = "" if error.__cause__ is not None else str(error)
        if out_of_memory:
            cupy.get_default_memory_pool().free_all_blocks()
        return NotImplemented


class Program:
    """A plan run from Python."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        dialect: Dialect = CUPYS,
        otherwise: Callable[..., Any] | None = None,
    ) -> None:
        self._otherwise = otherwise
        self.refused = Refused()
        constants = dict(plan.constants)
        self._steps = [
            (run_of(step, name, constants, dialect), step.reads, step.outs, step.clear)
            for step in plan.steps
        ]
        self._committed = first_committed(plan)
        self._is_committing = self._committed < len(plan.steps)
        self._numbers = list(checked_numbers(plan))
        self._constants = tuple(plan.constants)
        self._outputs = plan.outputs
        self._made = [None] * (plan.slots - plan.inputs)

    def __call__(self, *inputs: Any) -> Any:
        """The outputs; NotImplemented, with nothing done, where plain Python is to run."""
        device = cupy.cuda.runtime.getDevice()
        for one in inputs:
            if type(one) is cupy.ndarray and (
                one.data.device_id != device or (self._is_committing and _lies_between(one))
            ):
                return NotImplemented
        slots = [*inputs, *self._made]
        for slot, value in self._constants:
            slots[slot] = value
        place = 0
        try:
            with np.errstate(all="ignore") if self._numbers else nullcontext():
                for slot, dtype in self._numbers:  # a kernel converts them again, and warns then
                    argument(slots[slot], dtype)
            for place, (run, reads, outs, clear) in enumerate(self._steps):  # noqa: B007
                results = run([slots[slot] for slot in reads], device)
                for slot, result in zip(outs, results, strict=True):
                    slots[slot] = result
                for slot in clear:
                    slots[slot] = None
        except (DoesNotFit, *OUT_OF_MEMORY) as error:
            slots.clear()
            answer = self.refused(error, place > self._committed)
            return answer if self._otherwise is None else self._otherwise(*inputs)
        outputs = self._outputs
        return slots[outputs[0]] if len(outputs) == 1 else tuple([slots[slot] for slot in outputs])


def numbers_of(plan: Plan) -> Iterator[tuple[int, int, Operand]]:
    """The numbers that kernels take and that are not known: the place of the step, the slot, the operand."""
    known = {slot for slot, _ in plan.constants}
    for number, step in enumerate(plan.steps):
        if step.kernel is None:
            continue
        for place, slot in enumerate(step.reads):
            if not is_array(step.kernel, place) and slot not in known:
                yield number, slot, step.kernel.operands[place]


def why_not_run(plan: Plan) -> str | None:
    """Why a plan that writes what the caller sees could fail too late, or None."""
    first = first_committed(plan)
    for number, slot, operand in numbers_of(plan):
        fits = isinstance(operand.source, Node) and always_fits(operand.source, operand.dtype)
        if number > first and slot >= plan.inputs and not fits:
            return "a number that is computed may not fit, after something was written"
    if any(getattr(step.function, "func", None) is strictly for step in plan.steps[first:]):
        return "a number of NumPy's may warn, after something was written"
    return None


def run_of(step: Step, name: str, constants: Mapping[int, Any], dialect: Dialect) -> Run:
    """What gives a step's results, of what it reads and the current device."""
    match step.kind:
        case "kernel":
            assert step.kernel is not None
            known = {
                place: constants[slot] for place, slot in enumerate(step.reads) if slot in constants
            }
            return kernel_class(step.kernel)(step.kernel, name, known, dialect)
        case "getitem":
            return lambda reads, _: (reads[0][reads[1]],)
        case "unpack":
            return lambda reads, _: reads[0]
        case "tuple":
            return lambda reads, _: (tuple(reads),)
        case "check":
            assert step.check is not None
            return partial(_checked, step.check.attributes["expected"])
        case "branch":
            sides = tuple(program_of(side, name, dialect) for side in step.sides)
            return partial(_branched, sides, len(step.outs))
    assert step.function is not None
    return partial(_called, step.function, step.keywords)


def _lies_between(array: Any) -> bool:
    """Whether elements lie between an array's own, as fields of records do: no kernel finds those."""
    axes = zip(array.shape, array.strides, strict=True)
    return any(length > 1 and stride % array.itemsize for length, stride in axes)


def _called(
    function: Callable[..., Any], keywords: tuple[str, ...], reads: list[Any], _: int
) -> tuple[Any]:
    positional = len(reads) - len(keywords)
    named = dict(zip(keywords, reads[positional:], strict=True))
    return (function(*reads[:positional], **named),)


def _branched(
    sides: tuple[Callable[..., Any], ...], outs: int, reads: list[Any], _: int
) -> tuple[Any, ...]:
    """What the side gives that is taken."""
    made = sides[0 if reads[0] else 1](*reads[1:])
    if made is NotImplemented:
        raise DoesNotFit
    return (made,) if outs == 1 else made


def _checked(wanted: bool, reads: list[Any], _: int) -> tuple[()]:
    if bool(reads[0]) is not wanted:
        raise DoesNotFit
    return ()

"""A plan as text for people: its steps, the segments of its kernels, and what LLVM is given."""

from __future__ import annotations

from collections.abc import Iterator

from ufuse.backends.numpy.llvm.functions import function_text
from ufuse.backends.numpy.llvm.tiers import native_segments
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.backends.planning.steps import Plan, Step


def listing(plan: Plan, *, native: bool = True) -> str:
    """The text of a plan. Slots are s0, s1, …; a kernel's values v0, v1, …, its operands first."""
    lines = [f"inputs {_slots(range(plan.inputs))}"]
    lines += [f"s{slot} = {value!r}" for slot, value in plan.constants]
    for step in plan.steps:
        lines += _step_lines(step, native=native)
    lines.append(f"return {_slots(plan.outputs)}")
    return "\n".join(lines) + "\n"


def _slots(slots: object) -> str:
    return ", ".join(f"s{slot}" for slot in slots) or "nothing"  # type: ignore[attr-defined]


def _values(values: tuple[int, ...]) -> str:
    return ", ".join(f"v{value}" for value in values)


def _step_lines(step: Step, *, native: bool) -> Iterator[str]:
    mark = "  # after a visible write" if step.committed else ""
    if step.errors:
        said = ", ".join(f"{flag}={mode!r}" for flag, mode in step.errors)
        mark += f"  # np.errstate({said})"
    made = f"{_slots(step.outs)} = " if step.outs else ""
    if step.kernel is not None:
        yield f"{made}kernel({_slots(step.reads)}){mark}"
        yield from (f"    {line}" for line in kernel_lines(step.kernel, native=native))
        return
    if step.numbers:
        yield f"{made}scalars({_slots(step.reads)}){mark}"
        for one in step.numbers:
            given = f"s{one.out} = " if one.out is not None else ""
            yield f"    {given}{_name(one.function)}({_slots(one.reads)})"
        return
    if step.sides:
        yield f"{made}branch({_slots(step.reads)}){mark}"
        for name, side in zip(("then", "otherwise"), step.sides, strict=True):
            yield f"    {name}"
            yield from (f"        {line}" for line in listing(side, native=native).splitlines())
        return
    positional = len(step.reads) - len(step.keywords)
    words = [f"s{slot}" for slot in step.reads[:positional]]
    words += [
        f"{name}=s{slot}" for name, slot in zip(step.keywords, step.reads[positional:], strict=True)
    ]
    name = step.kind if step.function is None else _name(step.function)
    yield f"{made}{name}({', '.join(words)}){mark}"


def _name(function: object) -> str:
    for name in ("__qualname__", "__name__"):
        found: str | None = getattr(function, name, None)
        if found:
            return found
    return "call"


def kernel_lines(plan: KernelPlan, *, native: bool) -> Iterator[str]:
    """The lines of one kernel."""
    operands = [
        f"v{place}: {operand.dtype}{' (one)' if operand.scalar else ''}"
        for place, operand in enumerate(plan.operands)
    ]
    yield f"operands {', '.join(operands) or 'none'}{'; by rows' if plan.rows else ''}"
    for segment in plan.segments:
        yield _segment_line(segment)
    for result in plan.results:
        yield f"give v{result.value} {' '.join(map(str, result.how))}"
    segments = native_segments(plan)
    if segments is None:
        return
    yield "when hot:"
    for one in segments:
        if isinstance(one, Segment):
            yield "  " + _segment_line(one)
            continue
        names = [str(operation.loop) for operation in one.native.operations]
        yield f"  {_values(one.outputs)} = native({_values(one.inputs)})  # {', '.join(names)}"
        if native:
            yield from (
                f"    | {line}" for line in function_text(one.native, "segment").splitlines()
            )


def _segment_line(segment: Segment) -> str:
    kind = "" if segment.kind == "map" else f"  # {segment.kind}"
    return f"{_values(segment.outputs)} = {segment.loop}({_values(segment.inputs)}){kind}"

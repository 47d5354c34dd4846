"""A plan as text for people: its steps, and its kernels as they are compiled for contiguous arrays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from textwrap import indent

from ufuse.backends.cupy.launching.kinds import shown_text
from ufuse.backends.cupy.texts.text import CUPYS, Dialect
from ufuse.backends.planning.steps import Plan, Step


def listing(plan: Plan, name: str, dialect: Dialect = CUPYS) -> str:
    """The text of a plan. Slots are s0, s1, …; a kernel's values v0, v1, …, its operands first."""
    lines = [f"inputs {_slots(range(plan.inputs))}"]
    lines += [f"s{slot} = {value!r}" for slot, value in plan.constants]
    for step in plan.steps:
        lines += _step_lines(step, name, dialect)
    lines.append(f"return {_slots(plan.outputs)}")
    return "\n".join(lines) + "\n"


def summary(plan: Plan) -> str:
    """What a device does of a plan, in a few words."""
    steps = list(_every_step(plan))
    kernels = sum(step.kernel is not None for step in steps)
    calls = sum(step.kind == "call" and not step.apart and not step.is_view for step in steps)
    parts = [
        f"{number} {noun}" if number == 1 else f"{number} {noun.replace(' ', 's ', 1)}"
        for number, noun in ((kernels, "kernel "), (calls, "call of CuPy's"))
        if number
    ]
    return " and ".join(part.strip() for part in parts) or "views alone"


def _every_step(plan: Plan) -> Iterator[Step]:
    for step in plan.steps:
        yield step
        for side in step.sides:
            yield from _every_step(side)


def _slots(slots: object) -> str:
    return ", ".join(f"s{slot}" for slot in slots) or "nothing"  # type: ignore[attr-defined]


def _step_lines(step: Step, name: str, dialect: Dialect) -> Iterator[str]:
    made = f"{_slots(step.outs)} = " if step.outs else ""
    if step.kernel is not None:
        yield f"{made}kernel({_slots(step.reads)})"
        text = shown_text(step.kernel, name, dialect)
        yield indent(text.removesuffix("\n"), "    ", lambda _: True)
        return
    function = step.function
    while isinstance(function, partial):  # of what looks at its result, or for its errors
        function = function.args[0]
    called = getattr(function, "__name__", step.kind)
    yield f"{made}{called}({_slots(step.reads)})"

"""A plan run from Python: kernels, CuPy's own calls, views."""

from __future__ import annotations

from typing import Any

import cupy

from ufuse.backends.cupy.launch import DoesNotFit, Kernel
from ufuse.backends.planning.steps import Plan, Step


class Program:
    """The callable of a plan. It waits for nothing that eager CuPy would not wait for."""

    def __init__(self, plan: Plan, name: str) -> None:
        self._plan = plan
        self._constants = tuple(plan.constants)
        self._kernels = {
            place: Kernel(step.kernel, name)
            for place, step in enumerate(plan.steps)
            if step.kernel is not None
        }

    def __call__(self, *inputs: Any) -> Any:
        """The outputs; NotImplemented, with nothing done, where plain Python is to run."""
        device = cupy.cuda.runtime.getDevice()
        if any(type(one) is cupy.ndarray and one.data.device_id != device for one in inputs):
            return NotImplemented
        slots = [*inputs, *[None] * (self._plan.slots - len(inputs))]
        for slot, value in self._constants:
            slots[slot] = value
        try:
            for place, step in enumerate(self._plan.steps):
                self._run(place, step, slots)
        except DoesNotFit:
            return NotImplemented
        outputs = tuple(slots[slot] for slot in self._plan.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _run(self, place: int, step: Step, slots: list[Any]) -> None:
        reads = [slots[slot] for slot in step.reads]
        match step.kind:
            case "kernel":
                results: Any = self._kernels[place](reads)
            case "getitem":
                results = (reads[0][reads[1]],)
            case "unpack":
                results = reads[0]
            case "tuple":
                results = (tuple(reads),)
            case "check":
                if bool(reads[0]) is not step.key:
                    raise DoesNotFit
                results = ()
            case _:
                assert step.function is not None
                positional = len(reads) - len(step.keywords)
                named = dict(zip(step.keywords, reads[positional:], strict=True))
                results = (step.function(*reads[:positional], **named),)
        for slot, result in zip(step.outs, results, strict=True):
            slots[slot] = result
        for slot in step.clear:
            slots[slot] = None

"""Launching kernels from Python: shapes, memory for results, arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from ufuse.backends.cupy.text import Form, is_array, kernel_name, kernel_text
from ufuse.backends.planning.kernels import KernelPlan

LARGEST_INDEX = 2**31 - 1


class DoesNotFit(Exception):  # noqa: N818  plain Python runs instead, and raises what eager raises
    """A Python number does not fit the type of a loop."""


class Kernel:
    """A kernel and its compiled forms, each made at the first launch that needs it."""

    def __init__(self, plan: KernelPlan, name: str) -> None:
        self.plan = plan
        self.name = name
        self._arrays = [place for place in range(len(plan.operands)) if is_array(plan, place)]
        self._numbers = {
            place: operand.dtype
            for place, operand in enumerate(plan.operands)
            if place not in self._arrays
        }
        self._results = [plan.dtype(result.value) for result in plan.results]
        self._forms: dict[tuple[Form, int], Any] = {}  # and by device

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """The results, new arrays.

        Raises:
            DoesNotFit: nothing has happened.

        """
        given = [
            _argument(value, self._numbers[place]) if place in self._numbers else value
            for place, value in enumerate(operands)
        ]
        arrays = [operands[place] for place in self._arrays]
        shape = _broadcast([array.shape for array in arrays])
        results = [cupy.ndarray(shape, dtype) for dtype in self._results]
        count = results[0].size
        if count:
            self._launch(given, arrays, results, count)
        return results

    def _launch(self, given: list[Any], arrays: list[Any], results: list[Any], count: int) -> None:
        shape = results[0].shape
        steps = [_steps(array, shape) for array in arrays]
        lengths, steps = _collapsed(shape, steps)
        reach = max(
            sum(abs(s) * (n - 1) for s, n in zip(one, lengths, strict=True)) for one in steps
        )
        flat = len(lengths) == 1 and all(one == [1] for one in steps)
        wide = max(count, reach) > LARGEST_INDEX
        form = Form(0 if flat else len(lengths), wide)
        index = np.int64 if wide else np.int32
        arguments = [*given, *results, index(count)]
        if not flat:
            arguments += [index(length) for length in lengths[1:]]
            arguments += [index(step) for one in steps for step in one]
        key = form, cupy.cuda.runtime.getDevice()
        function = self._forms.get(key)
        if function is None:
            function = self._forms[key] = compiled(self.plan, self.name, form)
        function.linear_launch(count, tuple(arguments))


def compiled(plan: KernelPlan, name: str, form: Form) -> Any:
    """The function of a kernel, compiled as CuPy compiles its own."""
    text = kernel_text(plan, name, form)
    module = cupy._core.core.compile_with_cache(text, ())
    return module.get_function(kernel_name(name))


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return np.broadcast_shapes(*shapes)


def _steps(array: Any, shape: tuple[int, ...]) -> list[int]:
    """How many elements apart the array's are along each axis of the kernel's space."""
    item = array.itemsize
    missing = len(shape) - array.ndim
    own = [
        0 if length == 1 else step // item
        for length, step in zip(array.shape, array.strides, strict=True)
    ]
    return [0] * missing + own


def _collapsed(shape: tuple[int, ...], steps: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Lengths and steps with axes of one element left out, and with axes joined that all arrays step through as one."""
    lengths: list[int] = []
    joined: list[list[int]] = [[] for _ in steps]
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        if lengths and all(
            one[-1] == own[axis] * length for one, own in zip(joined, steps, strict=True)
        ):
            lengths[-1] *= length
            for one, own in zip(joined, steps, strict=True):
                one[-1] = own[axis]
            continue
        lengths.append(length)
        for one, own in zip(joined, steps, strict=True):
            one.append(own[axis])
    return (lengths, joined) if lengths else ([1], [[1] for _ in steps])


def _argument(value: Any, dtype: np.dtype) -> Any:
    """A number as a kernel's argument, converted as CuPy does it."""
    try:
        made = cupy._core._scalar.CScalar(value)
        made.apply_dtype(dtype)
    except OverflowError:
        raise DoesNotFit from None
    return made

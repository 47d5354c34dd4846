"""Launching kernels from Python: shapes, memory for results, arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import cupy
import numpy as np

from ufuse.backends.cupy.compile import compiled
from ufuse.backends.cupy.refusal import DoesNotFit
from ufuse.backends.cupy.text import Dialect, Form, is_array, kernel_name, kernel_text
from ufuse.backends.planning.kernels import KernelPlan

LARGEST_INDEX = 2**31 - 1
MOST_LAUNCHES = 256  # combinations of shapes and strides that a kernel remembers


class Launch(NamedTuple):
    """All of a launch that follows from the device, and from shapes and strides."""

    function: Any
    shape: tuple[int, ...]
    elements: int
    rest: tuple[Any, ...]  # the arguments behind operands and results


class Walk(NamedTuple):
    """Over how many elements a kernel walks and how, with the arguments that say so."""

    shape: tuple[int, ...]
    elements: int
    form: Form
    rest: tuple[Any, ...]


class Kernel:
    """A kernel and its compiled forms, each made at the first launch that needs it.

    `constants` are the operands whose value is known.
    """

    def __init__(
        self, plan: KernelPlan, name: str, constants: Mapping[int, Any], dialect: Dialect
    ) -> None:
        self.plan = plan
        self.dialect = dialect
        self.name = name
        self._arrays = [place for place in range(len(plan.operands)) if is_array(plan, place)]
        self._numbers = {
            place: operand.dtype
            for place, operand in enumerate(plan.operands)
            if place not in self._arrays
        }
        self._constants = {
            place: made
            for place, value in constants.items()
            if place in self._numbers and (made := _known(value, self._numbers[place])) is not None
        }
        self._varying = [place for place in self._numbers if place not in self._constants]
        self._results = [
            plan.dtype(result.value) for result in plan.results if result.how[0] != "into"
        ]
        self._forms: dict[tuple[Any, int], Any] = {}  # and by device
        self._launches: dict[tuple[Any, ...], Any] = {}

    def __call__(self, operands: list[Any], device: int) -> list[Any]:
        """The results, new arrays; a list of operands that may be changed.

        Raises:
            DoesNotFit: nothing has happened.

        """
        self._convert_numbers(operands)
        arrays = [operands[place] for place in self._arrays]
        key = (device, *[(array.shape, array.strides) for array in arrays])
        launch = self._launches.get(key)
        if launch is None:
            launch = self._launch(arrays, device)
            if len(self._launches) >= MOST_LAUNCHES:
                self._launches.clear()
            self._launches[key] = launch
        return self._run(launch, operands)

    def _convert_numbers(self, operands: list[Any]) -> None:
        """Put numbers in place as arguments."""
        for place in self._varying:
            operands[place] = argument(operands[place], self._numbers[place])
        for place, made in self._constants.items():
            operands[place] = made

    def _run(self, launch: Any, operands: list[Any]) -> list[Any]:
        results = [cupy.ndarray(launch.shape, dtype) for dtype in self._results]
        if launch.elements:
            launch.function.linear_launch(launch.elements, (*operands, *results, *launch.rest))
        return results

    def _launch(self, arrays: list[Any], device: int) -> Any:
        """A launch for these shapes and strides, as `_run` takes it."""
        walk = walk_over(arrays)
        function = self._form(walk.form, device) if walk.elements else None
        return Launch(function, walk.shape, walk.elements, walk.rest)

    def _form(self, form: Any, device: int) -> Any:
        function = self._forms.get((form, device))
        if function is None:
            function = self._forms[form, device] = self._compiled(form)
        return function

    def _compiled(self, form: Any) -> Any:
        text = kernel_text(self.plan, self.name, form, self.dialect)
        return compiled(text, self.dialect).get_function(kernel_name(self.name))


def walk_over(arrays: list[Any]) -> Walk:
    """The walk over the elements of arrays that are broadcast to one shape."""
    shape = broadcast([array.shape for array in arrays])
    count = math.prod(shape)
    if not count:
        return Walk(shape, 0, Form(0, wide=False), (np.int32(0),))
    lengths, steps = collapsed(shape, [steps_of(array, shape) for array in arrays])
    reach = max(sum(abs(s) * (n - 1) for s, n in zip(one, lengths, strict=True)) for one in steps)
    flat = len(lengths) == 1 and all(one == [1] for one in steps)
    wide = max(count, reach) > LARGEST_INDEX
    index = np.int64 if wide else np.int32
    rest = [index(count)]
    if not flat:
        rest += [index(length) for length in lengths[1:]]
        rest += [index(step) for one in steps for step in one]
    return Walk(shape, count, Form(0 if flat else len(lengths), wide), tuple(rest))


def broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a kernel's space."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return np.broadcast_shapes(*shapes)


def steps_of(array: Any, shape: tuple[int, ...]) -> list[int]:
    """How many elements apart the array's are along each axis of the kernel's space."""
    item = array.itemsize
    missing = len(shape) - array.ndim
    own = [
        0 if length == 1 else step // item
        for length, step in zip(array.shape, array.strides, strict=True)
    ]
    return [0] * missing + own


def collapsed(shape: tuple[int, ...], steps: list[list[int]]) -> tuple[list[int], list[list[int]]]:
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


def argument(value: Any, dtype: np.dtype) -> Any:
    """A number as a kernel's argument, converted as CuPy does it."""
    try:
        made = cupy._core._scalar.CScalar(value)
        made.apply_dtype(dtype)
    except OverflowError:
        raise DoesNotFit from None
    return made


def _known(value: Any, dtype: np.dtype) -> Any:
    """A constant as an argument; None where it does not fit, which each launch finds out."""
    try:
        return argument(value, dtype)
    except DoesNotFit:
        return None

"""Launching kernels with reductions: of everything, in two steps, and of rows."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import cupy
import numpy as np

from ufuse.backends.cupy.compile import compiled
from ufuse.backends.cupy.folds import (
    NEEDS_ONE,
    TOTAL_THREADS,
    VARYING,
    RowForm,
    folds_of,
    row_text,
    sum_dtype,
    total_text,
)
from ufuse.backends.cupy.launch import (
    Kernel,
    Walk,
    broadcast,
    collapsed,
    steps_of,
    walk_over,
)
from ufuse.backends.cupy.refusal import DoesNotFit
from ufuse.backends.cupy.text import Form, kernel_name
from ufuse.backends.planning.kernels import KernelPlan

ELEMENTS = 8  # at least, that a thread folds before another block is taken for a total
MOST_BLOCKS = 1024  # of a total: as many partial results as the second kernel folds at once
MOST_ROWS = 1 << 16  # blocks that walk over rows
BLOCK = 128  # threads at least, where rows are short
# fmt: off
WIDTHS = (
    # to this length  threads of a row
    (32,              8),
    (256,             32),
    (1024,            128),
    (8192,            512),
)
# fmt: on
WIDEST = 512


class TotalLaunch(NamedTuple):
    """All of a launch that follows from the device, and from shapes and strides."""

    first: Any
    rest: Any
    blocks: int
    walk: Walk


class TotalKernel(Kernel):
    """A kernel that folds everything: each block leaves one element, which a second kernel folds."""

    def _launch(self, arrays: list[Any], device: int) -> TotalLaunch:
        walk = walk_over(arrays)
        if not walk.elements:
            _check_not_empty(self.plan, walk.shape, None)
        first, rest = self._form(walk.form, device)
        blocks = min(-(-walk.elements // (TOTAL_THREADS * ELEMENTS)), MOST_BLOCKS)
        return TotalLaunch(first, rest, max(blocks, 1), walk)

    def _compiled(self, form: Form) -> Any:
        module = compiled(total_text(self.plan, self.name, form, self.dialect), self.dialect)
        name = kernel_name(self.name)
        return module.get_function(name), module.get_function(f"{name}_rest")

    def _run(self, launch: TotalLaunch, operands: list[Any]) -> list[Any]:
        left, totals = {}, {}
        for fold in folds_of(self.plan):
            left[fold.outputs[0]] = cupy.ndarray((launch.blocks,), sum_dtype(fold))
            totals[fold.outputs[0]] = cupy.ndarray((), fold.loop.dtypes[-1])
        given, results = [], []
        for result in self.plan.results:
            if result.how[0] == "scalar":
                given.append(left[result.value])
                results.append(totals[result.value])
            elif result.how[0] != "into":
                results.append(cupy.ndarray(launch.walk.shape, self.plan.dtype(result.value)))
                given.append(results[-1])
        threads = (TOTAL_THREADS,)
        launch.first((launch.blocks,), threads, (*operands, *given, *launch.walk.rest))
        count = np.int32(launch.blocks)
        launch.rest((1,), threads, (*left.values(), *totals.values(), count))
        return results


class RowLaunch(NamedTuple):
    """All of a launch that follows from the device, and from shapes and strides."""

    function: Any
    shapes: tuple[tuple[int, ...], ...]  # of the results
    blocks: int
    threads: int
    rest: tuple[Any, ...]


class RowKernel(Kernel):
    """A kernel that folds rows, each in the registers of some threads or by reading it again."""

    def _launch(self, arrays: list[Any], device: int) -> RowLaunch:
        shape = broadcast([array.shape for array in arrays])
        if not math.prod(shape):
            _check_not_empty(self.plan, shape, -1)
        shapes = tuple(
            _result_shape(one.how, shape) for one in self.plan.results if one.how[0] != "into"
        )
        rows, length = math.prod(shape[:-1]), shape[-1]
        if not rows:
            return RowLaunch(None, shapes, 0, 0, ())
        steps = [steps_of(array, shape) for array in arrays]
        lengths, outer = collapsed(shape[:-1], [one[:-1] for one in steps])
        columns = tuple(one[-1] if one[-1] in (0, 1) else VARYING for one in steps)
        threads, items = _width(length)
        form = RowForm(threads, items, len(lengths), columns)
        rest = [rows, length, *lengths[1:]]
        for own, one, column in zip(outer, steps, columns, strict=True):
            rest += own
            if column == VARYING:
                rest.append(one[-1])
        together = max(1, BLOCK // threads)
        blocks = min(-(-rows // together), MOST_ROWS)
        function = self._form(form, device)
        return RowLaunch(function, shapes, blocks, threads * together, tuple(map(np.int64, rest)))

    def _compiled(self, form: RowForm) -> Any:
        together = max(1, BLOCK // form.threads)
        text = row_text(self.plan, self.name, form, together, self.dialect)
        return compiled(text, self.dialect).get_function(kernel_name(self.name))

    def _run(self, launch: RowLaunch, operands: list[Any]) -> list[Any]:
        made = zip(launch.shapes, self._results, strict=True)
        results = [cupy.ndarray(shape, dtype) for shape, dtype in made]
        if launch.blocks:
            arguments = (*operands, *results, *launch.rest)
            launch.function((launch.blocks,), (launch.threads,), arguments)
        return results


def _result_shape(how: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    if how[0] != "rows":
        return shape
    return (*shape[:-1], 1) if how[1] else shape[:-1]


def _width(length: int) -> tuple[int, int]:
    """How many threads a row of this length has, and how many elements each keeps in registers (0: none)."""
    for longest, threads in WIDTHS:
        if length <= longest:
            each = max(1, -(-length // threads))
            return threads, 1 << (each - 1).bit_length()
    return WIDEST, 0


def _check_not_empty(plan: KernelPlan, shape: tuple[int, ...], axis: int | None) -> None:
    """Leave it to plain Python where nothing has no largest or smallest element."""
    for fold in folds_of(plan):
        if fold.loop.name in NEEDS_ONE:
            try:
                cupy.ndarray(shape, fold.loop.dtypes[-1]).max(axis=axis)
            except ValueError as error:
                raise DoesNotFit from error

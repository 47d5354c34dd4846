"""Launching kernels with reductions: of everything, in two steps, and of rows."""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from ufuse.backends.cupy.compile import compiled
from ufuse.backends.cupy.folds import (
    NEEDS_ONE,
    TOTAL_THREADS,
    RowForm,
    folds_of,
    group_of,
    row_text,
    sum_dtype,
    total_text,
)
from ufuse.backends.cupy.launch import (
    Kernel,
    Launch,
    Record,
    broadcast,
    collapsed,
    steps_of,
    walk_over,
)
from ufuse.backends.cupy.refusal import DoesNotFit
from ufuse.backends.cupy.text import VARYING, Form, kernel_name
from ufuse.backends.cupy.vectors import MOST
from ufuse.backends.planning.kernels import KernelPlan, Segment

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
    (4096,            256),
    (8192,            512),
)
# fmt: on
WIDEST = 512  # threads of longer rows,
FEW_ROWS, ALONE = (
    256,
    1024,
)  # or so many, where fewer rows than that would leave most of a device idle


class TotalKernel(Kernel):
    """A kernel that folds everything: each block leaves one element, which a second kernel folds."""

    def _launch(self, arrays: list[Any], device: int, _: bool) -> Record:
        """Two launches: what the first leaves is a temporary."""
        walk = walk_over(arrays)
        if not walk.elements:
            _check_not_empty(self.plan, walk.shape, None)
        blocks = max(1, min(-(-walk.elements // (TOTAL_THREADS * ELEMENTS)), MOST_BLOCKS))
        shapes = tuple(
            () if result.how[0] == "scalar" else walk.shape
            for result in self.plan.results
            if result.how[0] != "into"
        )
        operands = len(self.plan.operands)
        left, totals, given = self._places(operands, operands + len(shapes))
        first, rest = self._form(walk.form, device)
        folds = folds_of(self.plan)
        sizes = [blocks * sum_dtype(one).itemsize for one in folds]
        sizes += [one.loop.dtypes[-1].itemsize for one in self._untaken()]
        launches = (
            Launch(first, blocks, TOTAL_THREADS, (*range(operands), *given, *walk.rest)),
            Launch(rest, 1, TOTAL_THREADS, (*left, *totals, np.int32(blocks))),
        )
        return Record(tuple(zip(shapes, self._results, strict=True)), tuple(sizes), launches)

    def _untaken(self) -> list[Segment]:
        """The folds whose total is no result: it is computed all the same."""
        taken = {result.value for result in self.plan.results if result.how[0] == "scalar"}
        return [fold for fold in folds_of(self.plan) if fold.outputs[0] not in taken]

    def _places(self, results: int, temporaries: int) -> tuple[list[int], list[int], list[int]]:
        """Where there are what blocks leave, the totals of it, and what the first launch writes."""
        folds = [fold.outputs[0] for fold in folds_of(self.plan)]
        left = {value: temporaries + place for place, value in enumerate(folds)}
        untaken = enumerate(self._untaken(), temporaries + len(folds))
        totals = {fold.outputs[0]: place for place, fold in untaken}
        given = []
        new = [result for result in self.plan.results if result.how[0] != "into"]
        for place, result in enumerate(new, results):
            if result.how[0] == "scalar":
                totals[result.value] = place
                given.append(left[result.value])
            else:
                given.append(place)
        return list(left.values()), [totals[value] for value in folds], given

    def _compiled(self, form: Form) -> Any:
        """The functions of both launches."""
        module = compiled(total_text(self.plan, self.name, form, self.dialect), self.dialect)
        name = kernel_name(self.name)
        return module.get_function(name), module.get_function(f"{name}_rest")


class RowKernel(Kernel):
    """A kernel that folds rows, each in the registers of some threads or by reading it again."""

    def _launch(self, arrays: list[Any], device: int, _: bool) -> Record:
        """One launch, or none where there are no rows."""
        shape = broadcast([array.shape for array in arrays])
        if not math.prod(shape):
            _check_not_empty(self.plan, shape, -1)
        shapes = [
            _result_shape(one.how, shape) for one in self.plan.results if one.how[0] != "into"
        ]
        results = tuple(zip(shapes, self._results, strict=True))
        rows, length = math.prod(shape[:-1]), shape[-1]
        if not rows:
            return Record(results, (), ())
        steps = [steps_of(array, shape) for array in arrays]
        lengths, outer = collapsed(shape[:-1], [one[:-1] for one in steps])
        columns = tuple(one[-1] if one[-1] in (0, 1) else VARYING for one in steps)
        threads, items = _width(length)
        if not items and rows < FEW_ROWS:
            threads = ALONE
        group = min(items or MOST, group_of(self.plan))
        form = RowForm(threads, items, group, threads * items == length, len(lengths), columns)
        rest = [rows, length, *lengths[1:]]
        for own, one, column in zip(outer, steps, columns, strict=True):
            rest += own
            if column == VARYING:
                rest.append(one[-1])
        together = max(1, BLOCK // threads)
        blocks = min(-(-rows // together), MOST_ROWS)
        places = range(len(self.plan.operands) + len(results))
        arguments = (*places, *map(np.int64, rest))
        launch = Launch(self._form(form, device), blocks, threads * together, arguments)
        return Record(results, (), (launch,))

    def _compiled(self, form: RowForm) -> Any:
        """The function of a form."""
        together = max(1, BLOCK // form.threads)
        text = row_text(self.plan, self.name, form, together, self.dialect)
        return compiled(text, self.dialect).get_function(kernel_name(self.name))


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

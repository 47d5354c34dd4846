"""Launching kernels with reductions: of everything, in two steps, and of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cupy
import numpy as np

from ufuse.backends.cupy.launching.compile import compiled
from ufuse.backends.cupy.launching.launch import (
    Kernel,
    Launch,
    Record,
    broadcast,
    collapsed,
    steps_of,
    walk_over,
)
from ufuse.backends.cupy.operations import cub
from ufuse.backends.cupy.operations.refusal import DoesNotFit, NeverFits
from ufuse.backends.cupy.operations.spread import is_plain, squares_of, threads_of_row
from ufuse.backends.cupy.texts.folds import NEEDS_ONE, folds_of, group_of, library_folds, sum_dtype
from ufuse.backends.cupy.texts.library_totals import library_total_text
from ufuse.backends.cupy.texts.row_folds import RowForm, row_text
from ufuse.backends.cupy.texts.text import VARYING, Dialect, Form, kernel_name
from ufuse.backends.cupy.texts.tiles import WARP
from ufuse.backends.cupy.texts.totals import TOTAL_THREADS, total_text
from ufuse.backends.cupy.texts.vectors import MOST
from ufuse.backends.planning.kernels import KernelPlan, Segment
from ufuse.graph.ops import Kind

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


class FoldKernel(Kernel):
    """A kernel with reductions, some of them perhaps in CUB's order."""

    def __init__(
        self, plan: KernelPlan, name: str, constants: Mapping[int, Any], dialect: Dialect
    ) -> None:
        super().__init__(plan, name, constants, dialect)
        self._in_library_order = library_folds(plan)
        # What CUB would fold where it is: by the address, it reads neighbours of whole tiles at once or not.
        self._multiples = {
            fold.inputs[0]: cub.GROUP * fold.loop.dtypes[-1].itemsize
            for fold in self._in_library_order
            if fold.inputs[0] < len(plan.operands)
        }
        self._squares = squares_of(plan)
        self._condition = (
            _is_as_planned if self._in_library_order and self._squares
            else cub.is_still_taken if self._in_library_order
            else is_plain if self._squares else None
        )  # fmt: skip

    def _operand(self, place: int) -> tuple[str, Any]:
        multiple = self._multiples.get(place)
        kind, what = super()._operand(place)
        return (kind, what) if multiple is None else ("aligned", (what, multiple))

    def _record_of(self, arrays: list[Any], device: int, packs: bool) -> Record:
        by_place = dict(zip(self._arrays, arrays, strict=True))
        if self._condition is not None and not self._condition():
            raise DoesNotFit
        record = super()._record_of(arrays, device, packs)
        unaligned = (by_place[place].data.ptr % each for place, each in self._multiples.items())
        if record.is_aligned and any(unaligned):
            raise DoesNotFit
        return record


class TotalKernel(FoldKernel):
    """A kernel that folds everything: each block leaves one element, which a second kernel folds."""

    def _launch(self, arrays: list[Any], device: int, _: bool) -> Record:
        """Two launches: what the first leaves is a temporary."""
        walk = walk_over(arrays)
        if not walk.elements:
            _check_not_empty(self.plan, walk.shape, None)
        if self._in_library_order:
            blocks, has_tiles = library_blocks(self._in_library_order, walk.elements, device)
        else:
            blocks = max(1, min(-(-walk.elements // (TOTAL_THREADS * ELEMENTS)), MOST_BLOCKS))
            has_tiles = False
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
        results = tuple(zip(shapes, self._results, strict=True))
        return Record(results, tuple(sizes), launches, has_tiles)

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
        write = library_total_text if self._in_library_order else total_text
        module = compiled(write(self.plan, self.name, form, self.dialect), self.dialect)
        name = kernel_name(self.name)
        return module.get_function(name), module.get_function(f"{name}_rest")


class RowKernel(FoldKernel):
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
        if self._in_library_order:
            form = self._library_form(shape, len(lengths), columns)
        else:
            form = self._own_form(rows, length, len(lengths), columns)
        if self._squares:
            form = self._form_of_squares(form, rows, length)
        threads = form.threads
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
        return Record(results, (), (launch,), form.tile > 0)

    def _own_form(self, rows: int, length: int, axes: int, columns: tuple[int, ...]) -> RowForm:
        """How rows are walked over where any order will do."""
        threads, items = _width(length)
        if not items and rows < FEW_ROWS:
            threads = ALONE
        group = min(items or MOST, group_of(self.plan))
        return RowForm(threads, items, group, threads * items == length, axes, columns)

    def _library_form(self, shape: tuple[int, ...], axes: int, columns: tuple[int, ...]) -> RowForm:
        """How rows are walked over by threads that have of them what CUB's have.

        Raises:
            NeverFits: CuPy has another kernel fold these.

        """
        length = shape[-1]
        threads, each = tile = cub.tile_of(
            length, _library_dtype(self._in_library_order, math.prod(shape))
        )
        if length < tile.elements:
            items = 1 << (-(-length // threads) - 1).bit_length()
            return RowForm(threads, items, 1, threads * items == length, axes, columns)
        is_mixed = length % tile.elements != 0
        items = 0 if is_mixed or length > WIDTHS[-1][0] else length // threads
        return RowForm(
            threads, items, cub.GROUP, threads * items == length, axes, columns, each, is_mixed
        )

    def _form_of_squares(self, form: RowForm, rows: int, length: int) -> RowForm:
        """The form with as many threads as CuPy has fold the squares of a row.

        Raises:
            NeverFits: CuPy walks otherwise over one row or rows of one element, or several warps hold squares.

        """
        if min(rows, length) < 2:
            raise NeverFits
        holders = threads_of_row(rows, length)
        if min(holders, form.threads) > WARP:
            raise NeverFits
        return replace(form, holders=holders)

    def _compiled(self, form: RowForm) -> Any:
        """The function of a form."""
        together = max(1, BLOCK // form.threads)
        text = row_text(self.plan, self.name, form, together, self.dialect)
        return compiled(text, self.dialect).get_function(kernel_name(self.name))


def _library_dtype(folds: list[Segment], elements: int) -> np.dtype:
    """What CUB folds so many of.

    Raises:
        NeverFits: CuPy has another kernel fold these.

    """
    dtypes = {fold.loop.dtypes[-1] for fold in folds}
    if not 0 < elements <= cub.MOST_ELEMENTS or len(dtypes) > 1:
        raise NeverFits
    return dtypes.pop()


def library_blocks(folds: list[Segment], elements: int, device: int) -> tuple[int, bool]:
    """How many blocks CUB would have fold so many elements, and whether there is a whole tile.

    Raises:
        NeverFits: they are not known, or unlike for the folds.

    """
    dtype = _library_dtype(folds, elements)
    if not all(cub.are_totals_known(fold.loop.name, device) for fold in folds):
        raise NeverFits
    tile = cub.BLOCK * (cub.BYTES // dtype.itemsize)
    tiles = -(-elements // tile)
    if tiles == 1:
        return 1, elements == tile
    most = {cub.most_blocks(device, fold.loop.name, dtype.char) for fold in folds}
    blocks = {min(tiles, one) for one in most}
    if len(blocks) > 1 or 0 in blocks:
        raise NeverFits
    return blocks.pop(), True


def never_fits(plan: KernelPlan) -> bool:
    """Whether a kernel folds everything, of which is known already that CUB has unlike blocks fold it."""
    folds = library_folds(plan)
    if plan.rows or len({fold.loop.name for fold in folds}) < 2:
        return False
    nodes = [one.node for one in plan.operations if one.node.op.kind is Kind.REDUCE]
    shape = nodes[0].inputs[0].type.shape  # type: ignore[union-attr]
    lengths = [length for length in shape if isinstance(length, int)]
    if len(lengths) < len(shape):
        return False
    try:
        library_blocks(folds, math.prod(lengths), cupy.cuda.runtime.getDevice())
    except NeverFits:
        return True
    except (DoesNotFit, cupy.cuda.runtime.CUDARuntimeError):
        pass  # where a stream captures, or there is no device, the kernel finds it out
    return False


def _is_as_planned() -> bool:
    """Whether CuPy takes the same library as when a kernel was planned, and launches its own kernels as it does."""
    return cub.is_still_taken() and is_plain()


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

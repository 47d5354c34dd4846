"""Launching kernels that fold as CuPy's own: where CuPy would take its kernel, and it keeps the device busy.

Else what is folded is written out and CuPy's own method is called: it may take CUB or cuTENSOR, or be one whose few
blocks would compute what a whole device can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import cupy
import numpy as np

from ufuse.backends.cupy.launching.compile import compiled
from ufuse.backends.cupy.launching.launch import (
    LARGEST_INDEX,
    MOST_LAUNCHES,
    Kernel,
    broadcast,
    collapsed,
    steps_of,
)
from ufuse.backends.cupy.operations.refusal import DoesNotFit, NeverFits
from ufuse.backends.cupy.operations.spread import is_plain, squares_of
from ufuse.backends.cupy.steps.rules import METHODS
from ufuse.backends.cupy.texts.text import Dialect, Form, kernel_name
from ufuse.backends.cupy.texts.trees import THREADS, TreeForm, operations_of, tree_text, trees_of
from ufuse.backends.planning.kernels import KernelPlan, Result

BUSY = 128  # blocks that keep a device busy
FEW = 64  # elements a thread that fewer blocks may fold
Settings = tuple[Any, ...]


class Blocks(NamedTuple):
    """How CuPy's own kernel would be launched: `stride` results in each of `number` blocks."""

    number: int
    stride: int


class TreeLaunch(NamedTuple):
    """All of a launch that follows from the device, CuPy's settings, and shapes and strides."""

    function: Any  # None: what is folded is written out
    blocks: int
    shapes: tuple[tuple[int, ...], ...]  # of the results
    rest: tuple[Any, ...]


class TreeKernel(Kernel):
    """A kernel that folds along axes, or writes out what CuPy folds."""

    def __init__(
        self, plan: KernelPlan, name: str, constants: Mapping[int, Any], dialect: Dialect
    ) -> None:
        super().__init__(plan, name, constants, dialect)
        assert plan.axes is not None
        self._axes = plan.axes
        self._trees: dict[tuple[Any, ...], TreeLaunch] = {}
        self._folds = trees_of(plan)
        self._squares = squares_of(plan)
        apart, self._made_apart = written_out(plan)
        self._apart = Kernel(apart, name, constants, dialect) if self._made_apart else None
        # Arrays that are folded as they are, beside what is made of them.
        self._given = sorted({one.inputs[0] for one in self._folds} - set(self._made_apart))

    def __call__(self, operands: list[Any], device: int) -> list[Any]:
        """The results, new arrays; a list of operands that may be changed.

        Raises:
            DoesNotFit: nothing has happened.

        """
        arrays = [operands[place] for place in self._arrays]
        settings = settings_of_cupy()
        key = (device, settings, *[(array.shape, array.strides) for array in arrays])
        launch = self._trees.get(key)
        if launch is None:
            if len(self._trees) >= MOST_LAUNCHES:
                self._trees.clear()
            launch = self._trees[key] = self._tree_launch(arrays, device, settings)
        if launch.function is None:
            return self._called(operands, device)
        self._convert_numbers(operands)
        made = zip(launch.shapes, self._results, strict=True)
        results = [cupy.ndarray(shape, dtype) for shape, dtype in made]
        arguments = (*operands, *results, *launch.rest)
        launch.function((launch.blocks,), (THREADS,), arguments)
        return results

    def _tree_launch(self, arrays: list[Any], device: int, settings: Settings) -> TreeLaunch:
        space = broadcast([array.shape for array in arrays])
        by_place = dict(zip(self._arrays, arrays, strict=True))
        given = [by_place[place] for place in self._given]
        fits = all(one.flags.c_contiguous and one.shape == space for one in given)
        if self._squares:
            settings = self._settings_of_squares(space, settings)
        blocks = blocks_of(space, self._axes, settings) if fits else None
        is_apart = self._squares and len(self.plan.segments) == 2  # what CuPy's kernel does alone
        if blocks is None or not (is_apart or is_busy(blocks, math.prod(space))):
            if self._squares:
                raise NeverFits if settings == ((), (), True) else DoesNotFit
            return TreeLaunch(None, 0, (), ())
        folded, kept = cupy._core._reduction._get_axis(self._axes, len(space))
        order = (*folded, *kept)
        steps = [steps_of(array, space) for array in (*arrays, _sample(space))]
        permuted = [[one[axis] for axis in order] for one in steps]
        lengths, walks = collapsed(tuple(space[axis] for axis in order), permuted)
        form, rest = self._walk(space, kept, lengths, walks, blocks.stride)
        shapes = tuple(_shape_of(one, space, self._axes) for one in self.plan.results)
        function = self._form(form, device)
        return TreeLaunch(function, blocks.number, shapes, rest)

    def _settings_of_squares(self, space: tuple[int, ...], settings: Settings) -> Settings:
        """What decides for CuPy how squares are folded: no library does it, and single elements are walked otherwise.

        Raises:
            NeverFits: there are such axes.

        """
        if min(space) < 2:
            raise NeverFits
        is_alone = len(self._squares) == len(self._folds)
        return ((), (), settings[2]) if is_alone else settings

    def _walk(
        self,
        space: tuple[int, ...],
        kept: tuple[int, ...],
        lengths: list[int],
        walks: list[list[int]],
        stride: int,
    ) -> tuple[TreeForm, tuple[Any, ...]]:
        """The form of the kernel, and its arguments behind operands and results."""
        count, results = math.prod(space), math.prod(space[axis] for axis in kept)
        reach = max(sum(abs(s) * (n - 1) for s, n in zip(w, lengths, strict=True)) for w in walks)
        wide = max(count, reach) > LARGEST_INDEX
        flat = len(lengths) == 1 and all(one == [1] for one in walks)
        index = np.int64 if wide else np.int32
        rest: list[Any] = [index(count)]
        if not flat:
            rest += [index(length) for length in lengths[1:]]
            rest += [index(step) for one in walks[:-1] for step in one]
        rest += [np.int64(results), np.int32(stride)]
        if not flat and any(result.how[0] == "new" for result in self.plan.results):
            rest += [index(step) for step in walks[-1]]
        form = TreeForm(Form(0 if flat else len(lengths), wide), count // results > LARGEST_INDEX)
        return form, tuple(rest)

    def _compiled(self, form: TreeForm) -> Any:
        text = tree_text(self.plan, self.name, form, self.dialect)
        return compiled(text, self.dialect).get_function(kernel_name(self.name))

    def _called(self, operands: list[Any], device: int) -> list[Any]:
        """The results of CuPy's own methods, of arrays that are written out."""
        made = self._apart(list(operands), device) if self._apart is not None else []
        values = dict(zip(self._made_apart, made, strict=True))
        values.update({place: operands[place] for place in self._given})
        folds = {fold.outputs[0]: fold for fold in self._folds}
        results = []
        for result, dtype in zip(self.plan.results, self._results, strict=True):
            fold = folds.get(result.value)
            if fold is None:
                results.append(values[result.value])
                continue
            method = METHODS[fold.loop.name]
            try:
                one = getattr(values[fold.inputs[0]], method)(
                    axis=self._axes, keepdims=result.how[1]
                )
            except ValueError as error:  # nothing has no largest element
                raise DoesNotFit from error
            if one.dtype != dtype:
                raise DoesNotFit
            results.append(one)
        return results


def written_out(plan: KernelPlan) -> tuple[KernelPlan, tuple[int, ...]]:
    """The kernel without its reductions, and the values that it makes, those that they fold among them."""
    results = [result for result in plan.results if result.how[0] != "tree"]
    there = {result.value for result in results}
    for fold in trees_of(plan):
        (value,) = fold.inputs
        if value >= len(plan.operands) and value not in there:
            there.add(value)
            node = next(one.node for one in plan.results if one.value == fold.outputs[0])
            results.append(Result(value, ("new", None), node))
    plain = replace(plan, segments=operations_of(plan), results=results, axes=None)
    return plain, tuple(result.value for result in results)


def settings_of_cupy() -> Settings:
    """What decides, beside arrays, which kernel CuPy takes: its lists of libraries, and whether it tries out."""
    core = cupy._core
    return (
        tuple(core._accelerator.get_reduction_accelerators()),
        tuple(core._accelerator.get_routine_accelerators()),
        is_plain(),
    )


def blocks_of(space: tuple[int, ...], axes: tuple[int, ...], settings: Settings) -> Blocks | None:
    """How CuPy would launch its own kernel for a new array of this shape; None where it may take another."""
    reductions, routines, is_plain = settings
    core = cupy._core
    folded, kept = core._reduction._get_axis(axes, len(space))
    if not is_plain or not math.prod(space):
        return None
    libraries = {*reductions, *routines}
    if libraries - {core._accelerator.ACCELERATOR_CUB}:
        return None
    array = _sample(space)
    if libraries and _fits_cub(array, folded):
        return None
    results = math.prod(space[axis] for axis in kept)
    permuted = array.transpose((*folded, *kept))
    walked = permuted.reduced_view() if permuted.ndim > 1 else permuted
    neighbours = results if kept and walked.strides[-1] == walked.itemsize else 1
    specs = core._reduction._get_block_specs(array.size, results, neighbours, -1)
    threads, stride, count = specs
    return Blocks(min(count, LARGEST_INDEX), stride) if threads == THREADS else None


def _fits_cub(array: Any, folded: tuple[int, ...]) -> bool:
    compatible = cupy.cuda.cub._cub_device_segmented_reduce_axis_compatible
    orders = {"C": array.flags.c_contiguous, "F": array.flags.f_contiguous}
    return any(is_so and compatible(folded, array.ndim, order) for order, is_so in orders.items())


def is_busy(blocks: Blocks, elements: int) -> bool:
    """Whether the blocks of a reduction are enough for what is computed before it."""
    return blocks.number >= BUSY or elements <= blocks.number * THREADS * FEW


def _sample(shape: tuple[int, ...]) -> Any:
    """An array of this shape in C order, whose memory nobody looks at."""
    nowhere = cupy.cuda.UnownedMemory(16, max(1, math.prod(shape)), None, 0)
    return cupy.ndarray(shape, np.int8, memptr=cupy.cuda.MemoryPointer(nowhere, 0))


def _shape_of(result: Result, space: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    if result.how[0] != "tree":
        return space
    if result.how[1]:
        return tuple(1 if axis in axes else length for axis, length in enumerate(space))
    return tuple(length for axis, length in enumerate(space) if axis not in axes)

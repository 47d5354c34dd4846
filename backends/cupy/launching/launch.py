"""Launching kernels from Python: shapes, memory for results, arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import cupy
import numpy as np

from ufuse.backends import _launch
from ufuse.backends.cupy.launching.compile import compiled
from ufuse.backends.cupy.launching.native import argument
from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.backends.cupy.texts import tiles, turned
from ufuse.backends.cupy.texts.text import (
    FAR,
    TURNED,
    Dialect,
    Form,
    axes_of,
    is_array,
    kernel_name,
    kernel_text,
)
from ufuse.backends.cupy.texts.tiles import WARP, spread_text, tile_of, tile_text
from ufuse.backends.cupy.texts.turned import rooms_of, turned_columns, turned_text
from ufuse.backends.cupy.texts.vectors import BYTES, few_of, vector_text
from ufuse.backends.planning.kernels import KernelPlan

LARGEST_INDEX = 2**31 - 1
# Elements with 32-bit indices: a thread's next one, as far on as all blocks reach, is one too.
MOST_NARROW = 2**30 - 64
MOST_LAUNCHES = 256  # combinations of shapes and strides that a kernel remembers
# Elements from which on a thread takes several: fewer are not enough for all of a device.
TAKES_FEW = 1 << 16
BLOCK, MOST_BLOCKS = 128, 2**31 - 1  # of a map, as CuPy launches its own


class Launch(NamedTuple):
    """One launch; an argument is a place among a kernel's operands, results and temporaries, or a number."""

    function: Any
    blocks: int
    threads: int
    arguments: tuple[Any, ...]


class Record(NamedTuple):
    """All of a kernel's run that follows from the device, and from shapes and strides."""

    results: tuple[tuple[tuple[int, ...], np.dtype], ...]
    temporaries: tuple[int, ...]  # bytes
    launches: tuple[Launch, ...]
    is_aligned: bool = False  # whether arrays have to begin at multiples that the kernel knows


class Walk(NamedTuple):
    """Over how many elements a kernel walks and how: lengths, and each array's steps, in elements."""

    shape: tuple[int, ...]
    elements: int
    wide: bool
    lengths: list[int]
    steps: list[list[int]]

    @property
    def flat(self) -> bool:
        """Whether elements lie alike in all arrays."""
        return len(self.lengths) == 1 and all(one == [1] for one in self.steps)

    @property
    def form(self) -> Form:
        """The form in which a thread takes one element after the other."""
        return Form(0 if self.flat else len(self.lengths), self.wide)

    @property
    def rest(self) -> tuple[Any, ...]:
        """The arguments behind operands and results."""
        index = np.int64 if self.wide else np.int32
        rest = [index(self.elements)]
        if not self.flat:
            rest += [index(length) for length in self.lengths[1:]]
            rest += [index(step) for one in self.steps for step in one]
        return tuple(rest)


class Counted(NamedTuple):
    """What counts along an axis, as an array whose elements are where they are."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int = 1

    @property
    def ndim(self) -> int:
        """How many axes the kernel's space has from there on."""
        return len(self.shape)


class Kernel:
    """A kernel and its compiled forms, each made at the first launch that needs it.

    `constants` are the operands whose value is known.
    """

    _condition: Callable[[], bool] | None = None  # of what is no map: whether it may run now

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
        self._values = constants
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
        self._launches: dict[tuple[Any, ...], Record] = {}
        self._few = few_of(plan) if self._is_map() else 1

    def _is_map(self) -> bool:
        return type(self)._launch is Kernel._launch

    def __call__(self, operands: list[Any], device: int) -> list[Any]:
        """The results, new arrays; a list of operands that may be changed.

        Raises:
            DoesNotFit: nothing has happened.

        """
        self._convert_numbers(operands)
        arrays = [operands[place] for place in self._arrays]
        packs = self._few > 1 and self._are_aligned(arrays)
        record = self._record_of(arrays, device, packs)
        results = [cupy.ndarray(shape, dtype) for shape, dtype in record.results]
        if packs and not self._are_aligned(results):
            record = self._record_of(arrays, device, packs=False)
        _run(record, operands, results)
        return results

    def _are_aligned(self, arrays: list[Any]) -> bool:
        """Whether a thread can take several elements of each at once."""
        few = self._few
        return all(one.data.ptr % min(BYTES, one.itemsize * few) == 0 for one in arrays)

    def _record_of(self, arrays: list[Any], device: int, packs: bool) -> Record:
        """What is launched for arrays such as these; `packs`: if they lie alike, several elements are taken at once."""
        key = (device, packs, *[(array.shape, array.strides) for array in arrays])
        record = self._launches.get(key)
        if record is None:
            record = self._launch(arrays, device, packs)
            if len(self._launches) >= MOST_LAUNCHES:
                self._launches.clear()
            self._launches[key] = record
        return record

    def _convert_numbers(self, operands: list[Any]) -> None:
        """Put numbers in place as arguments."""
        for place in self._varying:
            operands[place] = argument(operands[place], self._numbers[place])
        for place, made in self._constants.items():
            operands[place] = made

    def in_c(self) -> Any:
        """The kernel as C runs it; itself where a subclass runs otherwise."""
        if type(self).__call__ is not Kernel.__call__:
            return self
        operands = tuple(map(self._operand, range(len(self.plan.operands))))
        if self._is_map():
            results, few = tuple(self._results), (self._few, tile_of(self.plan))
            sizes = *few, TAKES_FEW, tiles.WARPS, rooms_of(self.plan)
            return _launch.Kernel(operands, results, self._map_form, *sizes)
        return _launch.Kernel(operands, len(self._results), self._record, condition=self._condition)

    def _operand(self, place: int) -> tuple[str, Any]:
        operand = self.plan.operands[place]
        dtype = operand.dtype
        if operand.table:
            return "table", (dtype.itemsize, axes_of(operand))
        if operand.axis is not None:
            return "axis", operand.axis
        if place in self._constants:
            return "known", _launch.packed(self._values[place], dtype)
        return ("number", dtype) if place in self._numbers else ("array", dtype.itemsize)

    def _map_form(
        self, axes: int, wide: bool, few: int, columns: tuple[int, ...], device: int
    ) -> Any:
        return self._form(Form(axes, wide, few, columns), device)

    def _record(self, arrays: list[Any], device: int) -> tuple[Any, ...]:
        results, temporaries, launches, is_aligned = self._launch(arrays, device, False)
        packed = tuple(
            (one.function, one.function.ptr, one.blocks, one.threads, _packed(one.arguments))
            for one in launches
        )
        return results, temporaries, packed, is_aligned

    def _launch(self, arrays: list[Any], device: int, packs: bool) -> Record:
        """What is launched for these shapes and strides; what is no map has packs of its own."""
        walk = walk_over(list(self._walked(arrays)))
        results = tuple((walk.shape, dtype) for dtype in self._results)
        if not walk.elements:
            return Record(results, (), ())
        form, threads, rest = self._way(walk, packs)
        places = range(len(self.plan.operands) + len(results))
        block = tiles.FAR_BLOCK if FAR in form.columns or TURNED in form.columns else BLOCK
        launch = Launch(
            self._form(form, device), min(-(-threads // block), MOST_BLOCKS), min(threads, block),
            (*places, *rest, *self._rows(arrays)),
        )  # fmt: skip
        return Record(results, (), (launch,))

    def _way(self, walk: Walk, packs: bool) -> tuple[Form, int, tuple[Any, ...]]:
        """The form in which a map is launched, with how many threads, and the arguments that say how they walk."""
        if walk.elements < TAKES_FEW:
            return walk.form, walk.elements, walk.rest
        if walk.flat and packs:
            form = replace(walk.form, few=self._few)
            return form, -(-walk.elements // self._few), walk.rest
        most = few = tile_of(self.plan)
        while few > 1 and walk.lengths[-1] < WARP * few:
            few //= 2
        if few > 1:
            return self._tiled(walk, few)
        if most > 1 and walk.elements >= WARP * most:
            threads = -(-walk.elements // (WARP * most)) * WARP
            return replace(walk.form, few=most), threads, walk.rest
        return walk.form, walk.elements, walk.rest

    def _tiled(self, walk: Walk, few: int) -> tuple[Form, int, tuple[Any, ...]]:
        """That in which threads take several elements of a row, or blocks several rows of a tile."""
        index = np.int64 if walk.wide else np.int32
        *above, length = walk.lengths
        parts, rows = -(-length // (WARP * few)), walk.elements // length
        columns = tiles.columns_of(one[-1] for one in walk.steps)
        is_far, warps = FAR in columns, 1
        if is_far and few == turned.FEW and above and above[-1] >= WARP:
            columns = turned_columns(columns, rooms_of(self.plan), walk.steps) or columns
        rest, count = [length], parts
        if TURNED in columns:
            parts, pieces, warps = -(-length // WARP), -(-above[-1] // WARP), turned.WARPS
            count = rows // above[-1] * pieces * parts
            rest += [above[-1], parts, WARP, pieces, *above[1:-1]]
        elif above and is_far:
            count *= rows
            rest += [above[-1], rows, *above[1:-1]]
        elif above:
            deep = max(1, min(tiles.DEEP, rows * parts // tiles.WARPS))
            pieces = -(-above[-1] // deep)
            count *= rows // above[-1] * pieces
            rest += [above[-1], parts, deep, pieces, *above[1:-1]]
        rest += [step for one in walk.steps for step in one]
        form = Form(len(walk.lengths), walk.wide, few, columns)
        return form, count * warps * WARP, tuple(map(index, (count, *rest)))

    def _walked(self, arrays: list[Any]) -> Iterator[Any]:
        """What the kernel steps through."""
        for place, array in zip(self._arrays, arrays, strict=True):
            operand = self.plan.operands[place]
            if operand.axis is not None:
                axis, behind = operand.axis
                yield Counted((array.shape[axis], *(1,) * behind), (1, *(0,) * behind))
            elif not operand.table:
                yield array

    def _rows(self, arrays: list[Any]) -> Iterator[Any]:
        """The lengths of tables, and how many elements apart theirs are.

        Raises:
            DoesNotFit: one has no elements.

        """
        for place, array in zip(self._arrays, arrays, strict=True):
            if self.plan.operands[place].table:
                if not array.size:
                    raise DoesNotFit
                for pair in zip(array.shape, steps_of(array, array.shape), strict=True):
                    yield from map(np.int64, pair)

    def _form(self, form: Any, device: int) -> Any:
        """What a form is compiled to, once for each device."""
        function = self._forms.get((form, device))
        if function is None:
            function = self._forms[form, device] = self._compiled(form)
        return function

    def _compiled(self, form: Any) -> Any:
        """The function of a form."""
        written = (
            turned_text if TURNED in form.columns
            else tile_text if form.columns
            else kernel_text if form.few == 1
            else spread_text if form.axes else vector_text
        )  # fmt: skip
        text = written(self.plan, self.name, form, self.dialect)
        return compiled(text, self.dialect).get_function(kernel_name(self.name))


def _packed(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one if type(one) is int else one.tobytes() for one in arguments)


def _run(record: Record, operands: list[Any], results: list[Any]) -> None:
    temporaries = [cupy.cuda.alloc(size) for size in record.temporaries]
    given = (*operands, *results, *temporaries)
    for function, blocks, threads, places in record.launches:
        arguments = tuple([given[one] if type(one) is int else one for one in places])
        function((blocks,), (threads,), arguments)


def walk_over(arrays: list[Any]) -> Walk:
    """The walk over the elements of arrays that are broadcast to one shape."""
    shape = broadcast([array.shape for array in arrays])
    count = math.prod(shape)
    if not count:
        return Walk(shape, 0, wide=False, lengths=[0], steps=[[1] for _ in arrays])
    lengths, steps = collapsed(shape, [steps_of(array, shape) for array in arrays])
    reach = max(sum(abs(s) * (n - 1) for s, n in zip(one, lengths, strict=True)) for one in steps)
    return Walk(shape, count, count > MOST_NARROW or reach > LARGEST_INDEX, lengths, steps)


def broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a kernel's space."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return np.broadcast_shapes(*shapes)


def steps_of(array: Any, shape: tuple[int, ...]) -> list[int]:
    """How many elements apart the array's are along each axis of the kernel's space.

    Raises:
        DoesNotFit: some lie between others, as fields of records do.

    """
    item = array.itemsize
    axes = [
        0 if length == 1 else step for length, step in zip(array.shape, array.strides, strict=True)
    ]
    if any(step % item for step in axes):
        raise DoesNotFit
    return [0] * (len(shape) - array.ndim) + [step // item for step in axes]


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


def _known(value: Any, dtype: np.dtype) -> Any:
    """A constant as an argument; None where it does not fit, or CuPy warns: each launch finds that out."""
    try:
        with np.errstate(all="raise"):
            return argument(value, dtype)
    except (DoesNotFit, FloatingPointError):
        return None

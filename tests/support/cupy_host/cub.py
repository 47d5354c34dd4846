"""A stand-in for the CUB that CuPy's wheels have compiled: NumPy folds in CUB's order, so floats have the bits of a GPU.

That order is the one for which `backends/cupy/operations/cub.py` has kernels, said once more: which thread has which elements,
lanes and warps of a block, blocks. CuPy itself decides what CUB is asked for. Of products, complex numbers and half
precision the order is likely another one; of scans it is NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.cupy_host.capsules import of_cuda
from tests.support.cupy_host.compiler import Compiler
from tests.support.cupy_host.device import ATTRIBUTES, Device
from tests.support.cupy_host.libraries import at

Fold = Callable[[np.ndarray, np.ndarray], np.ndarray]

BYTES = 64  # of a thread's items of a tile
GROUP = 4  # neighbours that are read at once
WARP, BLOCK = 32, 256
PROCESSORS = ATTRIBUTES[16]
AT_ONCE = {
    "sum": 1,
    "prod": 1,
    "max": 2,
    "min": 2,
}  # blocks of a processor; on a GPU they differ, too
WAVES = 5  # of blocks
UNIT = 256  # bytes of memory


def most_blocks(name: str) -> int:
    """How many blocks fold everything at most."""
    return WAVES * PROCESSORS * AT_ONCE[name]


def _sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """In single precision a GPU has one NaN."""
    made: np.ndarray = a + b
    if made.dtype.char == "f":
        made = np.where(np.isnan(made), np.uint32(0x7FFFFFFF).view("f"), made)
    return made


def _most(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The first NaN, else the first of those that are equal."""
    return np.where(~np.isnan(a) & (np.isnan(b) | (a < b)), b, a)


def _least(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The first NaN, else the last of those that are equal."""
    return np.where(~np.isnan(a) & (np.isnan(b) | ~(a < b)), b, a)


FOLDS: dict[str, Fold] = {"sum": _sum, "prod": lambda a, b: a * b, "max": _most, "min": _least}
WHOLE: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def rows_folded(name: str, rows: np.ndarray, address: int) -> np.ndarray:
    """What CUB makes of each row of an array that lies in C order at an address."""
    length, items = rows.shape[1], BYTES // rows.itemsize
    if rows.dtype.kind in "biu":
        return WHOLE[name].reduce(rows, axis=1, dtype=rows.dtype)
    threads = 1 if length <= items else WARP if length <= WARP * items else BLOCK
    tile = threads * items
    begins = address + np.arange(len(rows)) * length * rows.itemsize
    tiles = [rows[:, begin : begin + tile] for begin in range(0, length, tile)]
    return _from_start(name, _block(name, tiles, threads, _is_grouped(begins, rows.dtype)))


def total_folded(name: str, given: np.ndarray, address: int, most: int) -> Any:
    """What CUB makes of everything at an address with so many blocks at most."""
    if given.dtype.kind in "biu":
        return WHOLE[name].reduce(given, dtype=given.dtype)
    tile = BLOCK * (BYTES // given.itemsize)
    count = -(-len(given) // tile)
    grouped = _is_grouped(np.array([address]), given.dtype)

    def block(values: np.ndarray, first: int, step: int, is_grouped: np.ndarray) -> np.ndarray:
        begins = range(first * tile, len(values), step * tile)
        tiles = [values[None, begin : begin + tile] for begin in begins]
        return _block(name, tiles, BLOCK, is_grouped)

    blocks = min(count, most)
    made = np.concatenate([block(given, number, blocks, grouped) for number in range(blocks)])
    if blocks > 1:
        made = block(made, 0, 1, np.array([True]))
    return _from_start(name, made)[0]


def _from_start(name: str, made: np.ndarray) -> np.ndarray:
    """A sum begins from zero at last."""
    return FOLDS[name](np.zeros_like(made), made) if name == "sum" else made


def _is_grouped(addresses: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Where neighbours are read at once; of other than primitive types they are not."""
    grouped: np.ndarray = addresses % (GROUP * dtype.itemsize) == 0
    return grouped & (dtype.kind == "f")


def _block(name: str, tiles: list[np.ndarray], threads: int, is_grouped: np.ndarray) -> np.ndarray:
    """What so many threads make of each row of tiles, all of which but the last are whole."""
    fold, dtype = FOLDS[name], tiles[0].dtype
    items = BYTES // dtype.itemsize
    is_tree = name == "sum" and dtype.char == "f"
    valid = min(threads, tiles[0].shape[1])
    had: np.ndarray | None = None
    for tile in tiles:
        if tile.shape[1] == threads * items:
            striped = tile.reshape(-1, items, threads).transpose(1, 0, 2)
            grouped = tile.reshape(-1, items // GROUP, threads, GROUP).transpose(1, 3, 0, 2)
            found = np.where(is_grouped[:, None], grouped.reshape(striped.shape), striped)
            had = _folded(fold, [*([] if had is None else [had]), *found], is_tree=is_tree)
            continue
        for begin in range(0, tile.shape[1], threads):
            one = tile[:, begin : begin + threads]
            if had is None:
                had = one
            else:
                there = one.shape[1]
                had = np.concatenate([fold(had[:, :there], one), had[:, there:]], axis=1)
    assert had is not None
    lanes = [had[:, begin : min(begin + WARP, valid)] for begin in range(0, valid, WARP)]
    return _folded(fold, [_warp(fold, one) for one in lanes], is_tree=False)


def _folded(fold: Fold, items: list[np.ndarray], *, is_tree: bool) -> np.ndarray:
    """Items in turn, or as a binary tree."""
    made, step = list(items), 1
    if not is_tree:
        for one in made[1:]:
            made[0] = fold(made[0], one)
        return made[0]
    while step < len(made):
        for k in range(0, len(made) - step, 2 * step):
            made[k] = fold(made[k], made[k + step])
        step *= 2
    return made[0]


def _warp(fold: Fold, lanes: np.ndarray) -> np.ndarray:
    """What the lanes of a warp that are there make."""
    for step in (1, 2, 4, 8, 16):
        if step < lanes.shape[1]:
            folded = fold(lanes[:, :-step], lanes[:, step:])
            lanes = np.concatenate([folded, lanes[:, -step:]], axis=1)
    return lanes[:, 0]


def _in_c_order(array: Any) -> Any:
    """The array, or a copy in C order; one without axes stays so."""
    return array if array.flags.c_contiguous else array.copy()


class Cub:
    """CUB's functions as CuPy's module calls them, behind its own look at what they can do."""

    def __init__(self, cupy: Any, device: Device, compiler: Compiler) -> None:
        self.cupy = cupy
        self.device = device
        self.compiler = compiler

    def submit(self, work: Callable[[], None], launches: int = 1) -> None:
        """Do work in the order of the current stream, as so many kernels, or keep it for the stream's graph."""
        self.device.counts["launch"] += launches
        self.device.counts["cub"] += 1
        if self.compiler.gathered is None:
            self.device.submit(self.cupy.cuda.get_current_stream().ptr, work)

    @of_cuda
    def device_reduce(
        self, x: Any, op: Any, reduce_axis: Any, out_axis: Any, out: Any = None, keepdims: bool = False
    ) -> Any:  # fmt: skip
        """Fold everything, or find the place of an extreme."""
        cupy, name = self.cupy, op.name.removeprefix("CUPY_CUB_").lower()
        if out is not None and out.ndim != keepdims * x.ndim:
            raise ValueError(
                "output parameter for reduction operation has the wrong number of dimensions"
            )
        if name not in ("sum", "prod") and not x.size:
            raise ValueError(
                f"zero-size array to reduction operation {op.name} which has no identity"
            )
        x = _in_c_order(x)
        is_place = name.startswith("arg")
        y = cupy.ndarray((4,), "i1") if is_place else cupy.ndarray((), x.dtype)
        most = 0 if is_place else most_blocks(name)
        is_one = is_place or x.size <= BLOCK * max(1, BYTES // x.itemsize)
        workspace = cupy.cuda.alloc(
            1 if is_one else -(-most * x.itemsize // UNIT) * UNIT + UNIT - 1
        )
        given, made, dtype, size = x.data.ptr, y.data.ptr, x.dtype, x.size

        def work() -> None:
            values = at(given, dtype, (size,))
            with np.errstate(all="ignore"):
                if is_place:
                    at(made, "i4", ())[...] = getattr(np, name)(values)
                elif size:
                    at(made, dtype, ())[...] = total_folded(name, values, given, most)
                else:
                    at(made, dtype, ())[...] = name == "prod"

        self.submit(work, 2 - is_one)
        del workspace
        if is_place:
            y = y.view("i4").astype("i8")[0].reshape(())
        if keepdims:
            y = y.reshape((1,) * x.ndim)
        return self._given(y, out)

    @of_cuda
    def device_segmented_reduce(
        self, x: Any, op: Any, reduce_axis: Any, out_axis: Any, out: Any = None, keepdims: bool = False,
        contiguous_size: int = 0,
    ) -> Any:  # fmt: skip
        """Fold rows that lie one behind the other."""
        cupy, name = self.cupy, op.name.removeprefix("CUPY_CUB_").lower()
        reduced = [x.shape[axis] for axis in reduce_axis]
        if name not in ("sum", "prod") and 0 in reduced:
            raise ValueError(
                f"zero-size array to reduction operation {op.name} which has no identity"
            )
        order = "C" if x.flags.c_contiguous else "F"
        kept = range(x.ndim) if keepdims else out_axis
        shape = tuple(x.shape[axis] if axis in out_axis else 1 for axis in kept)
        y = cupy.ndarray(shape, x.dtype, order=order)
        if out is not None and out.shape != shape:
            raise ValueError("output parameter for reduction operation has the wrong shape")
        if not x.size:
            y = y if out is None else out
            y.fill(name == "prod")
            return y
        workspace = cupy.cuda.alloc(1)
        given, made, dtype = x.data.ptr, y.data.ptr, x.dtype
        rows = x.size // contiguous_size

        def work() -> None:
            values = at(given, dtype, (rows, contiguous_size))
            with np.errstate(all="ignore"):
                at(made, dtype, (rows,))[...] = rows_folded(name, values, given)

        self.submit(work)
        del workspace
        return self._given(y, out)

    @of_cuda
    def device_scan(self, x: Any, op: Any) -> Any:
        """Running sums or products, where they were read."""
        if not x.size:
            return x
        x = _in_c_order(x)
        address, dtype, size = x.data.ptr, x.dtype, x.size
        function = np.cumsum if op.name.endswith("SUM") else np.cumprod

        def work() -> None:
            values = at(address, dtype, (size,))
            with np.errstate(all="ignore"):
                function(values, dtype=dtype, out=values)

        self.submit(work)
        return x

    @of_cuda
    def device_histogram(self, x: Any, y: Any, bins: Any) -> Any:
        """How many are in each bin; `bins`: their edges, or how many edges there are of whole numbers."""
        x = _in_c_order(x)
        is_even = not isinstance(bins, self.cupy.ndarray)
        edges = None if is_even else _in_c_order(bins)

        def work() -> None:
            values = at(x.data.ptr, x.dtype, (x.size,))
            counts = at(y.data.ptr, y.dtype, (y.size,))
            if edges is None:
                counts[...] = np.bincount(values[values < y.size].astype("i8"), minlength=y.size)
            else:
                levels = at(edges.data.ptr, edges.dtype, (edges.size,))
                counts[...] = np.histogram(values[values < levels[-1]], levels)[0]

        self.submit(work)
        return y

    def _given(self, y: Any, out: Any) -> Any:
        """The result, in the array that was given for it."""
        if out is None:
            return y
        self.cupy._core.elementwise_copy(y, out)
        return out


def install(cupy: Any, device: Device, compiler: Compiler) -> None:
    """Put the stand-in in CUB's place: CuPy's module looks these functions up by name in each call."""
    cub, module = Cub(cupy, device, compiler), cupy.cuda.cub
    for name in ("device_reduce", "device_segmented_reduce", "device_scan", "device_histogram"):
        getattr(module, name)  # it must be there
        setattr(module, name, getattr(cub, name))

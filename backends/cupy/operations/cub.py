"""In which order CUB folds floats, which CuPy's wheels have compiled: a kernel that folds likewise has its bits.

Of rows one thread, a warp or 256 threads fold one; each thread has so many items of a tile. Where a row has whole tiles
and memory is aligned a thread's items are groups of four neighbours, else they are as far apart as there are threads.
Of a whole tile single precision is added as a tree, behind what the tiles before have; all else in turn. Lanes 1, 2, 4,
8 and 16 apart are folded then, and warps in turn; a sum begins from zero at last.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from ufuse.backends.cupy.operations.refusal import DoesNotFit

# Of CUB, whose order this is (AgentReduce, policies of fixed-size segments), and of CuPy, which calls those functions:
# before 14.2 it called others for rows, which always take 256 threads.
BUILDS, VERSIONS = frozenset((300102,)), frozenset(("14.2.0",))
GROUP = 4  # neighbours that are read at once
WARP, BLOCK = 32, 256  # threads
BYTES = 64  # of a thread's items of a tile
MOST_ELEMENTS = 2**31 - 1  # of an array that CuPy gives to CUB
TUNED = 100  # from this compute capability on, sums of everything have tiles of another size
# What is summed: of two NaN in double precision a GPU keeps the bits of one, as the compiler has ordered the addition.
SUMMED = frozenset("f")
METHODS = {"add": "sum", "maximum": "max", "minimum": "min"}  # of what is folded
UNIT = 256  # bytes of memory
MOST_AT_ONCE = 32  # blocks of a processor


class Tile(NamedTuple):
    """Who folds a row: how many threads, how many items each has of a tile."""

    threads: int
    items: int

    @property
    def elements(self) -> int:
        """How many there are."""
        return self.threads * self.items


def is_taken() -> bool:
    """Whether CuPy has CUB fold what it can, in the order that is known."""
    accelerator, cub = cupy._core._accelerator, cupy.cuda.cub
    taken = tuple(accelerator.get_routine_accelerators()) == (accelerator.ACCELERATOR_CUB,)
    is_known = cupy.__version__ in VERSIONS and cub.get_build_version() in BUILDS
    return taken and cub.available and is_known


def are_totals_known(name: str, device: int | None = None) -> bool:
    """Whether the order is known in which everything is folded on a device; None: the current one, if there is one."""
    if name != "add":
        return True
    try:
        return int(cupy.cuda.Device(device).compute_capability) < TUNED
    except cupy.cuda.runtime.CUDARuntimeError:
        return True  # what is planned here is asked again where it runs


def is_still_taken() -> bool:
    """Whether CuPy's lists say the same as when a kernel was planned: they may be set at any time."""
    accelerator = cupy._core._accelerator
    found: bool = accelerator.get_routine_accelerators() == [accelerator.ACCELERATOR_CUB]
    return found


@cache
def most_blocks(device: int, name: str, char: str) -> int:
    """How many blocks fold everything at most, on the current device; 0: that is not known.

    As many as a device has room for, five times; CUB asks the driver, and asks CuPy for memory for one result of each.

    Raises:
        DoesNotFit: the stream captures: what is tried out here would be run with the program's own, again and again.

    """
    if cupy.cuda.get_current_stream().is_capturing():
        raise DoesNotFit
    processors = cupy.cuda.Device(device).attributes["MultiProcessorCount"]
    sizes: list[int] = []
    allocate = cupy.cuda.get_allocator()

    def noted(size: int) -> Any:
        sizes.append(size)
        return allocate(size)

    item = np.dtype(char).itemsize
    array = cupy.zeros(2 * BLOCK * (BYTES // item), char)
    with cupy.cuda.using_allocator(noted):
        getattr(array, METHODS[name])()
    found = [
        blocks
        for blocks in range(5 * processors, 5 * MOST_AT_ONCE * processors + 1, 5 * processors)
        if _taken_for(blocks * item) in sizes
    ]
    return found[0] if len(found) == 1 else 0


def _taken_for(size: int) -> int:
    """The memory that CUB asks for one part of such a size: whole units, wherever they begin."""
    return -(-size // UNIT) * UNIT + UNIT - 1


def tile_of(length: int, dtype: np.dtype) -> Tile:
    """The tile of rows of a length."""
    items = BYTES // dtype.itemsize
    threads = 1 if length <= items else WARP if length <= WARP * items else BLOCK
    return Tile(threads, items)

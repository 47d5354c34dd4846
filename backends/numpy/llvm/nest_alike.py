"""Functions of NumPy that give the same bits for an element alone and in batches: each process looks at them first."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ufuse.backends.numpy.llvm.nest_buffers import BATCH, LOOPS, MOST_INPUTS
from ufuse.backends.numpy.llvm.symbols import PREFIX, address_of
from ufuse.graph.nest import F32, F64, Nest, numpy_function

MOST_TRIED = 512  # elements
DTYPES: dict[str, Any] = {F64: np.float64, F32: np.float32}


def not_alike(nest: Nest) -> list[str]:
    """The functions of a nest that are called for each turn: what its code depends on beside its text."""
    found = {
        (one.attributes[0], one.inputs[0].type)
        for block in nest.blocks
        for one in block.instructions
        if one.op == "call" and one.attributes[0].startswith("numpy.")
    }
    return sorted(f"{name} of {type_}" for name, type_ in found if not is_alike(name, type_))


SPECIAL = (
    0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -1e-310, 1e300, -1e300, 1e22, 1.0, -1.0, 0.5, 2.0,
)  # fmt: skip


@cache
def is_alike(name: str, type_: str) -> bool:
    """Whether a function of NumPy gives the same bits for an element alone and in batches, wherever it stands there."""
    ufunc = numpy_function(name)
    random = np.random.default_rng(1)
    size = np.ldexp(random.random(MOST_TRIED) + 0.5, random.integers(-12, 12, MOST_TRIED))
    rows = [size * random.choice([-1.0, 1.0], MOST_TRIED) for _ in range(ufunc.nin)]
    for row in rows:  # among others, as vectors may do all of them otherwise for one
        row[:: 1 + MOST_TRIED // 64] = random.choice(SPECIAL, len(row[:: 1 + MOST_TRIED // 64]))
        row[MOST_TRIED // 2 :] = abs(row[MOST_TRIED // 2 :])
    with np.errstate(all="ignore"):
        single, many = _results(name, type_, [row.astype(DTYPES[type_]) for row in rows])
        np.add(1.0, 1.0)  # that clears the flags
    return single == many


def _results(name: str, type_: str, rows: Sequence[np.ndarray]) -> tuple[bytes, bytes]:
    """What machine code is given for elements alone, and in batches of several lengths."""
    loop = address_of(f"{PREFIX}{LOOPS[type_]}.{name.removeprefix('numpy.')}")
    # No other thread takes the GIL in between: that would take milliseconds for each number.
    word, size = ctypes.c_void_p, ctypes.c_int64
    number, helper = (ctypes.c_double, "d") if type_ == F64 else (ctypes.c_float, "f")
    one = ctypes.PYFUNCTYPE(number, word, number, number, number)(
        address_of(f"{PREFIX}helper.scalar.{helper}")
    )
    several = ctypes.PYFUNCTYPE(None, word, word, size, size, size)(
        address_of(f"{PREFIX}helper.batch")
    )
    empty = [0.0] * (MOST_INPUTS - len(rows))
    dtype = DTYPES[type_]
    single = np.array(
        [one(loop, *each, *empty) for each in zip(*(row.tolist() for row in rows), strict=True)],
        dtype,
    )
    many = np.empty_like(single)
    done = 0
    while done < len(single):
        count = min(BATCH - done % 7, len(single) - done)
        buffer = np.zeros((len(rows) + 1, BATCH), dtype)
        for row, each in zip(buffer, rows, strict=False):
            row[:count] = each[done : done + count]
        several(loop, buffer.ctypes.data, buffer.strides[0], buffer.itemsize, count)
        many[done : done + count] = buffer[-1, :count]
        done += count
    return single.tobytes(), many.tobytes()

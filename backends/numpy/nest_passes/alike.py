"""Functions of NumPy that give the same bits for an element alone and in batches: each process looks at them first."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ufuse.backends.numpy.llvm.symbols import PREFIX, address_of
from ufuse.backends.numpy.nest_passes.buffers import BATCH, LOOPS, MOST_INPUTS
from ufuse.graph.nest import Nest, numpy_function
from ufuse.graph.nest_types import F32, F64

MOST_TRIED = 512  # elements
ONE, BOTH = 9, 67  # of so many one is odd: of an operand, and of all
# `np.power(x, 2.0)` of numbers is a product: not so where its loop takes the exponents from memory.
ALONE = {"numpy.power"}
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


# Loops may do otherwise where all elements of an operand are one number: as they are in the call for one element.
CONSTANTS = (0.0, 0.5, 1.0, -1.0, 2.0, 3.0)


@cache
def is_alike(name: str, type_: str) -> bool:
    """Whether a function of NumPy gives the same bits for an element alone and in batches, wherever it stands there."""
    if name in ALONE:
        return False
    ufunc = numpy_function(name)
    with np.errstate(all="ignore"):
        found = all(
            single == many
            for rows in _tried(ufunc.nin)
            for single, many in [_results(name, type_, [row.astype(DTYPES[type_]) for row in rows])]
        )
        np.add(1.0, 1.0)  # that clears the flags
    return found


def _tried(count: int) -> Iterator[list[np.ndarray]]:
    """Operands that are compared: odd numbers among others, as vectors may do all of them otherwise for one."""
    random = np.random.default_rng(1)

    def row(many: int) -> np.ndarray:
        size = np.ldexp(random.random(many) + 0.5, random.integers(-12, 12, many))
        signed = size * random.choice([-1.0, 1.0], many)
        return np.concatenate([size[: many // 2], signed[many // 2 :]])

    rows = [row(MOST_TRIED) for _ in range(count)]
    for place, each in enumerate(rows):  # each beside usual numbers, and some beside one another
        for step in (ONE, BOTH):
            at = slice(0 if step == BOTH else place, None, step)
            each[at] = random.choice(SPECIAL, len(each[at]))
    yield rows
    for place in range(count if count > 1 else 0):
        for constant in CONSTANTS:
            rows = [row(BATCH) for _ in range(count)]
            rows[place][:] = constant
            yield rows


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

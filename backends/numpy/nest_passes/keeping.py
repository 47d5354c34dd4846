"""Functions of NumPy whose loops leave flags of floating point as they are: each process looks at them first.

Some loops clear all flags at their end. Those before are kept around the call then, which takes longer than most
functions do: the processor waits for all that it still computes. Loops that leave flags alone are called as they are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np

from ufuse.backends.numpy.llvm.symbols import PREFIX, address_of
from ufuse.backends.numpy.nest_passes.alike import SPECIAL
from ufuse.backends.numpy.nest_passes.buffers import BYTES, LOOPS, MOST_INPUTS, VECTOR
from ufuse.graph.nest import Nest, numpy_function
from ufuse.graph.nest_types import F32

MOST_LONGER = 1.6  # times as long as for one number a call for a vector of them may take
USUAL = 48  # numbers of ordinary size that are tried, beside those that are not


def not_keeping(nest: Nest) -> list[str]:
    """The functions of a nest around whose calls flags are kept: what its code depends on beside its text."""
    return sorted(
        f"{name} of {type_} clears flags"
        for name, type_ in _called(nest)
        if not keeps_flags(name, type_)
    )


def wide(nest: Nest) -> list[str]:
    """The functions of a nest that are called for a vector of numbers: the same of better code."""
    return sorted(
        f"{name} of {type_} is wide" for name, type_ in _called(nest) if is_wide(name, type_)
    )


def _called(nest: Nest) -> set[tuple[str, str]]:
    return {
        (one.attributes[0], one.inputs[0].type)
        for block in nest.blocks
        for one in block.instructions
        if one.op == "call" and one.attributes[0].startswith("numpy.")
    }


@cache
def is_wide(name: str, type_: str) -> bool:
    """Whether a function of one number takes hardly longer for a vector of numbers: NumPy has vectors for it."""
    if numpy_function(name).nin > 1 or not keeps_flags(name, type_):
        return False
    word, size = ctypes.c_void_p, ctypes.c_int64
    timed = ctypes.PYFUNCTYPE(ctypes.c_double, word, size, size)(
        address_of(f"{PREFIX}helper.loop_time")
    )
    loop = address_of(f"{PREFIX}{LOOPS[type_]}.{name.removeprefix('numpy.')}")
    one, many = (timed(loop, BYTES[type_], count) for count in (1, VECTOR // BYTES[type_]))
    return bool(many < MOST_LONGER * one)


@cache
def keeps_flags(name: str, type_: str) -> bool:
    """Whether a function's loop clears no flag, whatever it is called with."""
    word, size, number = ctypes.c_void_p, ctypes.c_int, ctypes.c_double
    # No other thread takes the GIL in between: that would take milliseconds for each number.
    keeps = ctypes.PYFUNCTYPE(size, word, size, number, number, number)(
        address_of(f"{PREFIX}helper.keeps_flags")
    )
    loop = address_of(f"{PREFIX}{LOOPS[type_]}.{name.removeprefix('numpy.')}")
    count = numpy_function(name).nin
    return all(
        keeps(loop, type_ == F32, *each, *[0.0] * (MOST_INPUTS - count)) for each in _tried(count)
    )


def _tried(count: int) -> Iterator[tuple[float, ...]]:
    """Operands: odd ones, each beside each, and usual ones."""
    yield from product(SPECIAL, repeat=min(count, 2)) if count < MOST_INPUTS else ()
    draw = np.random.default_rng(2)
    sizes = np.ldexp(draw.random((USUAL, count)) + 0.5, draw.integers(-12, 12, (USUAL, count)))
    yield from map(tuple, (sizes * draw.choice([-1.0, 1.0], sizes.shape)).tolist())

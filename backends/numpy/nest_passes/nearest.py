"""Whether C's `pow` gives the nearest doubles in this process, of powers that are not nearly between two."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ufuse.backends.numpy.llvm.symbols import library_function
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import KNOWN_POWERS

MOST = 128  # logarithm of a result, of either sign
# What a process compares: of so many numbers those whose powers lie so far from the middle of two doubles, in parts of
# 2**-53 of themselves, that the nearest is just taken. That is so from 1/64 on; a little more, as numbers with more
# digits are not exact either. It takes a millisecond.
TRIED = 1 << 13
LEAST_APART, MOST_APART = 0.0164, 0.031


def not_nearest(nest: Nest) -> list[str]:
    """The powers of a nest for which `pow` is called always: what its code depends on beside its text."""
    names = {
        one.attributes[0]
        for block in nest.blocks
        for one in block.instructions
        if one.op == "call" and one.attributes[0] in KNOWN_POWERS
    }
    return sorted(name for name in names if not is_nearest(name))


@cache
def is_nearest(name: str) -> bool:
    """Whether the `pow` of this process gives the nearest double, unless a power is nearly in the middle of two.

    The C library is to be one whose errors are known, and to do so where that is next to the margin.
    """
    if not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        return False
    # No other thread takes the GIL in between: that would take milliseconds for each number.
    power = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(
        library_function("pow")
    )
    exponent = KNOWN_POWERS[name]
    given, wanted = next_to_margin(name)
    found = [power(each, exponent) for each in given.tolist()]
    return found == wanted.tolist() and len(found) > 0


def next_to_margin(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers whose powers are nearly as near to the middle of two doubles as they may be, and the nearest doubles.

    They are found with numbers of more digits; where C has none, there are none to be found.
    """
    turns = np.arange(1, TRIED + 1)
    reach = int(MOST / abs(KNOWN_POWERS[name])) - 1
    steps = turns * 0.6180339887498949 % 1  # even, and all unlike
    given = np.ldexp(1 + steps, (turns * 7919 % (2 * reach) - reach) // (1 + (turns & 15)))
    exact = EXACT[name](given.astype(np.longdouble))
    nearest = exact.astype(np.float64)
    apart = (np.spacing(nearest) / 2 - np.abs(exact - nearest)) / nearest * 2.0**53
    is_near = (apart > LEAST_APART) & (apart < MOST_APART)
    return given[is_near], nearest[is_near]


# Of numbers with more digits than a double.
EXACT: dict[str, Callable[[Any], Any]] = {
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "fourth": lambda x: x * x * (x * x),
    "root": np.sqrt,
    "root_cubed": lambda x: x * np.sqrt(x),
    "inverse": lambda x: 1 / x,
    "inverse_square": lambda x: 1 / (x * x),
    "inverse_cube": lambda x: 1 / (x * x * x),
    "inverse_root": lambda x: 1 / np.sqrt(x),
    "inverse_root_cubed": lambda x: 1 / (x * np.sqrt(x)),
}

"""Numbers that say where a part of an array begins, how long it is, or how long a new array is to be.

A graph calls these functions for numbers that are known only when it runs; what each gives is a symbol of the graph's
sizes from then on. They raise where NumPy would, and where a graph is to be left to it.
"""

from __future__ import annotations

from operator import index
from typing import Any


def place(at: Any, length: int) -> int:
    """The place of the element `array[at]` along an axis, counted from its beginning.

    Raises:
        IndexError: there is none.

    """
    found = index(at)
    found += length if found < 0 else 0
    if not 0 <= found < length:
        raise IndexError("index is out of bounds")
    return found


def begin(start: Any, stop: Any, length: int) -> int:
    """Where `array[start:stop]` begins along an axis."""
    return slice(start, stop).indices(length)[0]


def extent(start: Any, stop: Any, length: int) -> int:
    """How many elements `array[start:stop]` has along an axis."""
    first, last, _ = slice(start, stop).indices(length)
    return max(last - first, 0)


def amount(number: Any, most: int) -> int:
    """The length of a new array that a number says.

    Raises:
        ValueError: it is negative, or more than `most`.

    """
    found = index(number)
    if not 0 <= found <= most:
        raise ValueError("no length of an array")
    return found


BOUNDS = "ufuse.graph.typing.bounds."

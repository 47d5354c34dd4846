"""Programs around `__index__` and bisect."""

from __future__ import annotations

import bisect
import enum
import operator
from collections import deque
from typing import Any

from tests.support.comparing.registering import Programs

PROGRAMS = Programs(lambda: {"l": [1, 3, 3, 8]})


class Place:
    """Stands for a whole number, and counts how often it is asked."""

    def __init__(self, number: Any) -> None:
        self.number, self.asked = number, 0

    def __index__(self) -> Any:
        self.asked += 1
        return self.number


class Axis(enum.IntEnum):
    """Names for axes."""

    ROWS = 0
    COLUMNS = 1


class Both(Place):
    """A number to CPython, an array to NumPy."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array([0, 1])


@PROGRAMS.whole()
def objects_as_indexes(x):
    i = Place(1)
    held = [1, 2, 3]
    held[i] = 5
    del held[Place(0)]
    found = x[i], held[i], (1, 2)[i], "abc"[i], deque("xyz")[i], range(9)[i], held[:i]
    return found, i.asked, operator.index(i)


@PROGRAMS.whole()
def objects_in_slices(x):
    i = Place(2)
    y = x[:i] * x[Place(1) :]
    x[i] = 7.0
    x[: Place(1)] = 8.0
    return y, x, i.asked, "abcd"[i:]


@PROGRAMS.whole()
def members_as_indexes(x):
    return x[Axis.COLUMNS], x[Axis.ROWS : Axis.COLUMNS], [4, 5][Axis.COLUMNS], {1: 2}[Axis.COLUMNS]


@PROGRAMS.cut()
def no_number(x):
    try:
        return x[Place("a")]
    except TypeError as error:
        return str(error)


@PROGRAMS.cut()
def more_than_a_number(x):
    return x[Both(1)], [1, 2][Both(1)]


@PROGRAMS.whole()
def bisected(x, l):
    places = bisect.bisect(l, 3), bisect.bisect_left(l, 3), bisect.bisect_right(l, 9)
    found = bisect.bisect_left(l, -4, key=lambda one: -one), bisect.bisect(l, 1, 1, 2)
    bisect.insort(l, 4)
    bisect.insort_left(l, 3)
    pairs = [(1, "b"), (2, "a")]
    bisect.insort(pairs, (1, "c"))
    return places, found, l, pairs, x + 1, bisect.bisect((1, 2), 1.5)


@PROGRAMS.cut()
def bisected_wrongly(x, l):
    try:
        bisect.bisect(l, 3, -1)
    except ValueError as error:
        return x + 1, str(error)

"""Functions that are called for each item, and arrays made of lists: what users write first."""

from __future__ import annotations

import itertools
import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def _response(value: float) -> float:
    if value > 0.5:
        return value * value + 1.0
    return math.sqrt(value)


def vectorised(x: Array) -> Any:
    """A function of numbers, for each element."""
    return np.vectorize(_response)(x)


def array_of_comprehension(x: Array) -> Any:
    """The same by a list."""
    return np.array([_response(value) for value in x])


def from_iterator(x: Array) -> Any:
    """The same by a generator."""
    return np.fromiter((_response(value) for value in x), float, len(x))


def array_of_map(x: Array) -> Any:
    """The same by `map`."""
    return np.array(list(map(_response, x)))


def appended(x: Array) -> Any:
    """A list that grows, of which an array is made."""
    level, out = 0.0, []
    for value in x:
        level = 0.9 * level + value
        out.append(level)
    return np.array(out)


def accumulated(x: Array) -> Any:
    """An exponential average by `accumulate`, and its end by `reduce`."""
    averages = np.array(list(itertools.accumulate(x, lambda a, b: 0.9 * a + b)))
    return averages, reduce(lambda a, b: 0.9 * a + b, x)


def farthest(points: Array) -> Any:
    """The point that is farthest from the origin, by a key."""
    return max(range(len(points)), key=lambda i: points[i, 0] ** 2 + points[i, 1] ** 2)


def over_product(a: Array) -> Any:
    """Places of a matrix by `itertools.product`."""
    out = np.empty_like(a)
    for i, j in itertools.product(range(a.shape[0]), range(a.shape[1])):
        out[i, j] = a[i, j] * i + j
    return out


def over_places(a: Array) -> Any:
    """Places of a matrix by `np.ndindex`."""
    out = np.empty_like(a)
    for i, j in np.ndindex(a.shape):
        out[i, j] = a[i, j] * i + j
    return out


def enumerated(a: Array) -> Any:
    """The moments of a picture."""
    rows = columns = total = 0.0
    for (i, j), value in np.ndenumerate(a):
        rows += i * value
        columns += j * value
        total += value
    return rows / total, columns / total


def over_flat(a: Array) -> Any:
    """A polynomial whose coefficients are all elements."""
    value = 0.0
    for coefficient in a.flat:
        value = value * 0.5 + coefficient
    return value

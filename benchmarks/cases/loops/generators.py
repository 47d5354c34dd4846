"""Generator expressions: sums of products, conditions on all items, the least of many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def product_by_sums(a: Array, b: Array, out: Array) -> Any:
    """Rows times columns."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = sum(a[i, k] * b[k, j] for k in range(a.shape[1]))
    return out


def primes(limit: int) -> Any:
    """How many numbers no smaller one divides."""
    count = 0
    for number in range(2, limit):
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            count += 1
    return count


def moving_means(x: Array, width: int) -> Any:
    """The mean of each window."""
    return [sum(x[i + k] for k in range(width)) / width for i in range(len(x) - width + 1)]


def nearest(points: Array, centres: Array) -> Any:
    """The centre that is nearest to each point, by the least of all squared distances."""
    total = 0.0
    for i in range(len(points)):
        total += min(
            sum((points[i, axis] - centres[c, axis]) ** 2 for axis in range(points.shape[1]))
            for c in range(len(centres))
        )
    return total


def correlation(x: Array, y: Array) -> Any:
    """Pearson's coefficient."""
    count = len(x)
    mean_x, mean_y = sum(v for v in x) / count, sum(v for v in y) / count
    both = sum((v - mean_x) * (w - mean_y) for v, w in zip(x, y))  # noqa: B905
    spread_x, spread_y = sum((v - mean_x) ** 2 for v in x), sum((w - mean_y) ** 2 for w in y)
    return both / math.sqrt(spread_x * spread_y)

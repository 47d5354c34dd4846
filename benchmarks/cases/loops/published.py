"""Programs as they are published for compilers of loops: searches, sorts, filters and solvers over elements."""

# mypy: disable-error-code="possibly-undefined"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def gauss_seidel(a: Array, b: Array, most: int) -> Any:
    """A linear system by sweeps until nothing changes, and how many those were."""
    n = len(b)
    x = np.zeros(n)
    for sweep in range(most):  # noqa: B007
        change = 0.0
        for i in range(n):
            rest = b[i]
            for j in range(n):
                if j != i:
                    rest -= a[i, j] * x[j]
            new = rest / a[i, i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        if change < 1e-12:
            break
    return x, sweep, change


def pi_by_own_draws(turns: int, state: int) -> Any:
    """Points in a quarter of a circle, by a congruential generator."""
    inside = 0
    for _ in range(turns):
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        x = state / 2147483648.0
        state = (1103515245 * state + 12345) & 0x7FFFFFFF
        y = state / 2147483648.0
        if x * x + y * y <= 1.0:
            inside += 1
    return 4.0 * inside / turns


def time_warping(one: Array, other: Array) -> Any:
    """The distance of two series by dynamic time warping."""
    n, m = len(one), len(other)
    costs = np.full((n + 1, m + 1), np.inf)
    costs[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(one[i - 1] - other[j - 1])
            costs[i, j] = cost + min(costs[i - 1, j], costs[i, j - 1], costs[i - 1, j - 1])
    return costs[n, m]


def interpolation(x: Array, y: Array, wanted: Array) -> Any:
    """Values between points, whose places a search finds."""
    out = np.empty(len(wanted))
    for k in range(len(wanted)):
        i = np.searchsorted(x, wanted[k]) - 1
        i = min(max(i, 0), len(x) - 2)
        part = (wanted[k] - x[i]) / (x[i + 1] - x[i])
        out[k] = y[i] + part * (y[i + 1] - y[i])
    return out


def quicksort(x: Array) -> Any:
    """Sort in place, with a stack of parts."""
    stack = np.empty(128, dtype=np.int64)
    stack[0], stack[1] = 0, len(x) - 1
    top = 2
    while top > 0:
        top -= 2
        low, high = stack[top], stack[top + 1]
        while low < high:
            pivot = x[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while x[i] < pivot:
                    i += 1
                while x[j] > pivot:
                    j -= 1
                if i <= j:
                    x[i], x[j] = x[j], x[i]
                    i += 1
                    j -= 1
            if i < high:
                stack[top], stack[top + 1] = i, high
                top += 2
            high = j
    return x


def heapsort(x: Array) -> Any:
    """Sort in place, by a heap."""
    n = len(x)
    for turn in range(n // 2 + n - 1):
        end = n if turn < n // 2 else n - 1 - (turn - n // 2)
        root = n // 2 - 1 - turn if turn < n // 2 else 0
        if turn >= n // 2:
            x[end], x[0] = x[0], x[end]
        while True:
            child = 2 * root + 1
            if child >= end:
                break
            if child + 1 < end and x[child] < x[child + 1]:
                child += 1
            if x[root] >= x[child]:
                break
            x[root], x[child] = x[child], x[root]
            root = child
    return x


def median_filter(image: Array) -> Any:
    """The median of nine neighbours, sorted by insertion."""
    rows, columns = image.shape
    out = image.copy()
    window = np.empty(9)
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            count = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    value = image[i + di, j + dj]
                    k = count
                    while k > 0 and window[k - 1] > value:
                        window[k] = window[k - 1]
                        k -= 1
                    window[k] = value
                    count += 1
            out[i, j] = window[4]
    return out


def bilateral_filter(image: Array, radius: int, near: float, alike: float) -> Any:
    """Means weighted by how far and how different neighbours are."""
    rows, columns = image.shape
    out = np.zeros_like(image)
    for i in range(rows):
        for j in range(columns):
            total = weights = 0.0
            for di in range(-radius, radius + 1):
                for dj in range(-radius, radius + 1):
                    y = min(max(i + di, 0), rows - 1)
                    x = min(max(j + dj, 0), columns - 1)
                    d = image[y, x] - image[i, j]
                    weight = math.exp(-(di * di + dj * dj) / near - d * d / alike)
                    total += weight * image[y, x]
                    weights += weight
            out[i, j] = total / weights
    return out


def labels(mask: Array) -> Any:
    """Parts of a picture that hang together, by flooding."""
    rows, columns = mask.shape
    found = np.zeros((rows, columns), dtype=np.int64)
    stack = np.empty((rows * columns, 2), dtype=np.int64)
    current = 0
    for i in range(rows):
        for j in range(columns):
            if mask[i, j] and found[i, j] == 0:
                current += 1
                found[i, j] = current
                stack[0, 0], stack[0, 1] = i, j
                top = 1
                while top > 0:
                    top -= 1
                    y, x = stack[top]
                    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                        v, u = y + dy, x + dx
                        if 0 <= v < rows and 0 <= u < columns and mask[v, u] and found[v, u] == 0:
                            found[v, u] = current
                            stack[top, 0], stack[top, 1] = v, u
                            top += 1
    return found, current

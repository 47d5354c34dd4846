"""Sweeps over grids and images, element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def seidel_2d(grid: Array, steps: int) -> Any:
    """Gauss and Seidel's sweeps with all nine neighbours."""
    a = grid.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return a


def jacobi_1d(line: Array, steps: int) -> Any:
    """Averages of three neighbours, there and back."""
    a, b = line.copy(), line.copy()
    n = len(a)
    for _ in range(steps):
        for i in range(1, n - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, n - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])
    return a


def jacobi_2d(grid: Array, steps: int) -> Any:
    """Averages of five neighbours, there and back."""
    a, b = grid.copy(), grid.copy()
    rows, columns = a.shape
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return a


def heat_3d(grid: Array, steps: int) -> Any:
    """The heat equation in a box."""
    a, b = grid.copy(), grid.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    b[i, j, k] = (
                        0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                        + 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                        + 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1])
                        + a[i, j, k]
                    )
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    a[i, j, k] = b[i, j, k]
    return a


def fdtd_2d(ex: Array, ey: Array, hz: Array, source: Array) -> Any:
    """Maxwell's equations in two dimensions, on a staggered grid."""
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    rows, columns = hz.shape
    for t in range(len(source)):
        for j in range(columns):
            ey[0, j] = source[t]
        for i in range(1, rows):
            for j in range(columns):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(rows):
            for j in range(1, columns):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(rows - 1):
            for j in range(columns - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz


def adi(grid: Array, steps: int) -> Any:
    """Alternating implicit directions: a tridiagonal system for each column, then for each row."""
    n = grid.shape[0]
    u, v, p, q = grid.copy(), np.zeros_like(grid), np.zeros_like(grid), np.zeros_like(grid)
    b1, b2 = 2.0 * n * n / (steps * n), 1.0 * n * n / (steps * n)
    a, c, d, f = -b1 / 2.0, -b1 / 2.0, -b2 / 2.0, -b2 / 2.0
    b, e = 1.0 + b1, 1.0 + b2
    for _ in range(steps):
        for i in range(1, n - 1):
            v[0, i] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = v[0, i]
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                right = -d * u[j, i - 1] + (1.0 + 2.0 * d) * u[j, i] - f * u[j, i + 1]
                q[i, j] = (right - a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1.0
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0] = 1.0
            p[i, 0] = 0.0
            q[i, 0] = u[i, 0]
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                right = -a * v[i - 1, j] + (1.0 + 2.0 * a) * v[i, j] - c * v[i + 1, j]
                q[i, j] = (right - d * q[i, j - 1]) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


def deriche(alpha: float, image: Array) -> Any:
    """Deriche's recursive edge filter along the rows: both directions, summed."""
    k = (1.0 - math.exp(-alpha)) ** 2 / (
        1.0 + 2.0 * alpha * math.exp(-alpha) - math.exp(2.0 * alpha)
    )
    a1, a2 = k, k * math.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * math.exp(-alpha) * (alpha + 1.0), -k * math.exp(-2.0 * alpha)
    b1, b2 = 2.0**-alpha, -math.exp(-2.0 * alpha)
    width, height = image.shape
    there, back, out = np.empty_like(image), np.empty_like(image), np.empty_like(image)
    for i in range(width):
        y1 = y2 = x1 = 0.0
        for j in range(height):
            there[i, j] = a1 * image[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            x1 = image[i, j]
            y2 = y1
            y1 = there[i, j]
        y1 = y2 = x1 = x2 = 0.0
        for j in range(height - 1, -1, -1):
            back[i, j] = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            x2 = x1
            x1 = image[i, j]
            y2 = y1
            y1 = back[i, j]
        for j in range(height):
            out[i, j] = there[i, j] + back[i, j]
    return out


def life(cells: Array, steps: int) -> Any:
    """The game of life on a torus."""
    now = cells.copy()
    rows, columns = now.shape
    following = np.zeros_like(now)
    for _ in range(steps):
        for i in range(rows):
            for j in range(columns):
                count = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            count += now[(i + di) % rows, (j + dj) % columns]
                if count == 3 or (count == 2 and now[i, j] == 1):
                    following[i, j] = 1
                else:
                    following[i, j] = 0
        for i in range(rows):
            for j in range(columns):
                now[i, j] = following[i, j]
    return now


def convolution(image: Array, kernel: Array) -> Any:
    """A small kernel over an image, without its border."""
    height, width = kernel.shape
    rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for y in range(height):
                for x in range(width):
                    total += image[i + y, j + x] * kernel[y, x]
            out[i, j] = total
    return out


def mandelbrot(size: int, most: int) -> Any:
    """Turns until points of the plane escape, with floats."""
    counts = np.zeros((size, size), dtype=np.int64)
    for row in range(size):
        y0 = 3.0 * row / size - 1.5
        for column in range(size):
            x0 = 3.0 * column / size - 2.0
            x = y = 0.0
            count = 0
            for _ in range(most):
                if x * x + y * y > 4.0:
                    break
                x, y = x * x - y * y + x0, 2.0 * x * y + y0
                count += 1
            counts[row, column] = count
    return counts

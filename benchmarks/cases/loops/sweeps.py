"""Time steps over grids, images and bodies, with array statements in the loops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def jacobi_1d_slices(line: Array, steps: int) -> Any:
    """Averages of three neighbours, there and back."""
    a, b = line.copy(), line.copy()
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a


def jacobi_2d_slices(grid: Array, steps: int) -> Any:
    """Averages of five neighbours, there and back."""
    a, b = grid.copy(), grid.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )
    return a


def jacobi_2d_swapped(grid: Array, steps: int) -> Any:
    """The same with two arrays that change places, and the change of each step."""
    old, new = grid.copy(), grid.copy()
    changes = np.zeros(steps)
    for step in range(steps):
        new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        changes[step] = np.max(np.abs(new - old))
        old, new = new, old
    return old, changes


def heat_3d_slices(grid: Array, steps: int) -> Any:
    """The heat equation in a box."""
    a, b = grid.copy(), grid.copy()
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
            + a[1:-1, 1:-1, 1:-1]
        )
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (b[2:, 1:-1, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[:-2, 1:-1, 1:-1])
            + 0.125 * (b[1:-1, 2:, 1:-1] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, :-2, 1:-1])
            + 0.125 * (b[1:-1, 1:-1, 2:] - 2.0 * b[1:-1, 1:-1, 1:-1] + b[1:-1, 1:-1, :-2])
            + b[1:-1, 1:-1, 1:-1]
        )
    return a


def fdtd_2d_slices(ex: Array, ey: Array, hz: Array, source: Array) -> Any:
    """Maxwell's equations in two dimensions, on a staggered grid."""
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def wave(line: Array, steps: int) -> Any:
    """A string that swings: three arrays take turns."""
    before, now, after = line.copy(), line.copy(), np.zeros_like(line)
    for _ in range(steps):
        after[1:-1] = 2.0 * now[1:-1] - before[1:-1] + 0.2 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        after[0] = 0.0
        after[-1] = 0.0
        before, now, after = now, after, before
    return now


def burgers(line: Array, steps: int) -> Any:
    """Burgers' equation, upwind, on a copy of the last step."""
    u = line.copy()
    for _ in range(steps):
        last = u.copy()
        u[1:-1] = (
            last[1:-1]
            - 0.02 * last[1:-1] * (last[1:-1] - last[:-2])
            + 0.05 * (last[2:] - 2.0 * last[1:-1] + last[:-2])
        )
        u[0] = u[1]
        u[-1] = u[-2]
    return u


def red_black(grid: Array, steps: int) -> Any:
    """Gauss and Seidel's sweeps over every other column of each row."""
    a = grid.copy()
    n = a.shape[0]
    for step in range(steps):
        for i in range(1, n - 1):
            first = 1 + (i + step) % 2
            a[i, first:-1:2] = 0.25 * (
                a[i - 1, first:-1:2]
                + a[i + 1, first:-1:2]
                + a[i, first - 1 : -2 : 2]
                + a[i, first + 1 :: 2]
            )
    return a


def seidel_rows(grid: Array, steps: int) -> Any:
    """What a row's neighbours give it at once, then the row's own recurrence."""
    a = grid.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2]
                + a[i - 1, 1:-1]
                + a[i - 1, 2:]
                + a[i, 2:]
                + a[i + 1, :-2]
                + a[i + 1, 1:-1]
                + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] = (a[i, j] + a[i, j - 1]) / 9.0
    return a


def adi_columns(grid: Array, steps: int) -> Any:
    """Alternating implicit directions, all columns or rows at a time."""
    n = grid.shape[0]
    u, v, p, q = grid.copy(), np.zeros_like(grid), np.zeros_like(grid), np.zeros_like(grid)
    b1, b2 = 2.0 * n * n / (steps * n), 1.0 * n * n / (steps * n)
    a, c, d, f = -b1 / 2.0, -b1 / 2.0, -b2 / 2.0, -b2 / 2.0
    b, e = 1.0 + b1, 1.0 + b2
    for _ in range(steps):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (
                -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]
            ) / (d * p[1:-1, j - 1] + e)
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def deriche_columns(alpha: float, image: Array) -> Any:
    """Deriche's recursive edge filter along the rows, a column at a time: both directions, summed."""
    k = (1.0 - math.exp(-alpha)) ** 2 / (
        1.0 + 2.0 * alpha * math.exp(-alpha) - math.exp(2.0 * alpha)
    )
    a1, a2 = k, k * math.exp(-alpha) * (alpha - 1.0)
    a3, a4 = k * math.exp(-alpha) * (alpha + 1.0), -k * math.exp(-2.0 * alpha)
    b1, b2 = 2.0**-alpha, -math.exp(-2.0 * alpha)
    height = image.shape[1]
    there, back = np.empty_like(image), np.empty_like(image)
    there[:, 0] = a1 * image[:, 0]
    there[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * there[:, 0]
    for j in range(2, height):
        there[:, j] = (
            a1 * image[:, j] + a2 * image[:, j - 1] + b1 * there[:, j - 1] + b2 * there[:, j - 2]
        )
    back[:, -1] = 0.0
    back[:, -2] = a3 * image[:, -1]
    for j in range(height - 3, -1, -1):
        back[:, j] = (
            a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * back[:, j + 1] + b2 * back[:, j + 2]
        )
    return there + back


def life_slices(cells: Array, steps: int) -> Any:
    """The game of life with a dead border."""
    now = cells.copy()
    for _ in range(steps):
        count = (
            now[:-2, :-2] + now[:-2, 1:-1] + now[:-2, 2:] + now[1:-1, :-2]
            + now[1:-1, 2:] + now[2:, :-2] + now[2:, 1:-1] + now[2:, 2:]
        )  # fmt: skip
        now[1:-1, 1:-1] = np.where((count == 3) | ((count == 2) & (now[1:-1, 1:-1] == 1)), 1, 0)
    return now


def convolution_shifts(image: Array, kernel: Array) -> Any:
    """A small kernel over an image: the image moved to each place of the kernel."""
    height, width = kernel.shape
    rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
    out = np.zeros((rows, columns))
    for y in range(height):
        for x in range(width):
            out += kernel[y, x] * image[y : y + rows, x : x + columns]
    return out


def convolution_windows(image: Array, kernel: Array) -> Any:
    """The same, a window for each pixel."""
    height, width = kernel.shape
    rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = np.sum(image[i : i + height, j : j + width] * kernel)
    return out


def mandelbrot_rows(size: int, most: int) -> Any:
    """A row of points at a time; those that escaped stand still."""
    counts = np.zeros((size, size))
    x0 = np.linspace(-2.0, 1.0, size)
    for row in range(size):
        y0 = 3.0 * row / size - 1.5
        x, y = np.zeros(size), np.zeros(size)
        for _ in range(most):
            inside = x * x + y * y <= 4.0
            counts[row] += inside
            following = np.where(inside, x * x - y * y + x0, x)
            y = np.where(inside, 2.0 * x * y + y0, y)
            x = following
    return counts


def n_body_rows(positions: Array, velocities: Array, masses: Array, steps: int) -> Any:
    """Bodies that attract one another: all others of each body at once."""
    x, v = positions.copy(), velocities.copy()
    n = len(masses)
    dt = 0.01
    for _ in range(steps):
        for i in range(n):
            dx = x[:, 0] - x[i, 0]
            dy = x[:, 1] - x[i, 1]
            dz = x[:, 2] - x[i, 2]
            square = dx * dx + dy * dy + dz * dz + 0.01
            pull = dt * masses / (square * np.sqrt(square))
            v[i, 0] += np.sum(pull * dx)
            v[i, 1] += np.sum(pull * dy)
            v[i, 2] += np.sum(pull * dz)
        x += dt * v
    return x, v


def n_body_pairs(positions: Array, velocities: Array, masses: Array, steps: int) -> Any:
    """Pair by pair, with vectors of three coordinates."""
    x, v = positions.copy(), velocities.copy()
    n = len(masses)
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                apart = x[i] - x[j]
                distance = math.sqrt(apart @ apart + 0.01)
                pull = 0.01 / (distance * distance * distance)
                v[i] -= apart * (masses[j] * pull)
                v[j] += apart * (masses[i] * pull)
        x += 0.01 * v
    return x, v

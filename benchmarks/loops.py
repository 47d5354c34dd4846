"""Programs of element loops, recurrences and small solvers: what a graph gains least of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

# --- recurrences


def filled(count: int) -> Any:
    """Squares, stored one at a time."""
    x = np.zeros(count)
    for i in range(count):
        x[i] = i * i * 0.5
    return x


def recurrence(u: Array) -> Any:
    """An exponential average: each element needs the one before."""
    x = np.empty_like(u)
    x[0] = u[0]
    for i in range(1, len(u)):
        x[i] = 0.9 * x[i - 1] + 0.1 * u[i]
    return x


def biquad(x: Array, b: tuple[float, ...], a: tuple[float, ...]) -> Any:
    """An IIR filter of second order, direct form II transposed."""
    y = np.zeros_like(x)
    z1 = z2 = 0.0
    for n in range(len(x)):
        y[n] = b[0] * x[n] + z1
        z1 = b[1] * x[n] - a[0] * y[n] + z2
        z2 = b[2] * x[n] - a[1] * y[n]
    return y


def prefix_products(x: Array) -> Any:
    """The products of all elements before each one, and of all behind."""
    n = len(x)
    before, behind = np.ones(n), np.ones(n)
    for i in range(1, n):
        before[i] = before[i - 1] * x[i - 1]
        behind[n - 1 - i] = behind[n - i] * x[n - i]
    return before * behind


def running_statistics(x: Array) -> Any:
    """Welford's mean and variance."""
    mean = squares = 0.0
    out = np.empty((len(x), 2))
    for count, value in enumerate(x, 1):
        difference = value - mean
        mean += difference / count
        squares += difference * (value - mean)
        out[count - 1] = mean, squares / count
    return out


def histogram(x: Array, bins: int) -> Any:
    """Count by hand."""
    counts = np.zeros(bins, dtype=np.int64)
    for value in x:
        counts[min(int(value * bins), bins - 1)] += 1
    return counts


# --- linear algebra


def lu(a: Array) -> Any:
    """Gaussian elimination with partial pivoting, a row at a time."""
    a = a.copy()
    n = len(a)
    order = np.arange(n)
    for k in range(n - 1):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a, order


def cholesky(a: Array) -> Any:
    """Element by element."""
    n = len(a)
    lower = np.zeros_like(a)
    for j in range(n):
        total = a[j, j]
        for k in range(j):
            total -= lower[j, k] * lower[j, k]
        lower[j, j] = math.sqrt(total)
        for i in range(j + 1, n):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total / lower[j, j]
    return lower


def triangular_solve(lower: Array, b: Array) -> Any:
    """Substitution forwards, then backwards."""
    n = len(b)
    y = np.zeros(n)
    for i in range(n):
        y[i] = (b[i] - lower[i, :i] @ y[:i]) / lower[i, i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - lower[i + 1 :, i] @ x[i + 1 :]) / lower[i, i]
    return x


def jacobi(a: Array, b: Array) -> Any:
    """Sweeps until nothing changes much."""
    x = np.zeros_like(b)
    diagonal = a.diagonal()
    rest = a - np.diag(diagonal)
    for sweep in range(200):
        new = (b - rest @ x) / diagonal
        if np.abs(new - x).max() < 1e-10:
            return new, sweep
        x = new
    return x, 200


def gauss_seidel(grid: Array, sweeps: int) -> Any:
    """Laplace's equation, element by element."""
    grid = grid.copy()
    rows, columns = grid.shape
    for _ in range(sweeps):
        change = 0.0
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                new = 0.25 * (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1])
                change = max(change, abs(new - grid[i, j]))
                grid[i, j] = new
        if change < 1e-6:
            break
    return grid


def conjugate_gradients(a: Array, b: Array) -> Any:
    """Solve until the residual is small."""
    x = np.zeros_like(b)
    residual = b - a @ x
    direction = residual
    old = residual @ residual
    steps = 0
    while old > 1e-20:
        product = a @ direction
        alpha = old / (direction @ product)
        x = x + alpha * direction
        residual = residual - alpha * product
        new = residual @ residual
        direction = residual + new / old * direction
        old = new
        steps += 1
    return x, steps


def power_iteration(a: Array) -> Any:
    """The largest eigenvalue."""
    v = np.ones(len(a)) / len(a) ** 0.5
    value = 0.0
    for step in range(500):
        w = a @ v
        new = float(np.linalg.norm(w))
        v = w / new
        if abs(new - value) < 1e-9:
            return new, step
        value = new
    return value, 500


# --- differential equations


def pressure(p: Array, b: Array, dx: float, dy: float, sweeps: int) -> Any:
    """The inner loop of cavity flow."""
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def source(u: Array, v: Array, rho: float, dt: float, dx: float, dy: float) -> Any:
    """The right-hand side of the pressure equation."""
    b = np.zeros_like(u)
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)) ** 2
    )
    return b


def cavity(n: int, steps: int, sweeps: int) -> Any:
    """Flow in a box whose lid moves."""
    dx = dy = 2 / (n - 1)
    rho, nu, dt = 1.0, 0.1, 0.001
    u, v, p = np.zeros((3, n, n))
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        p = pressure(p, source(u, v, rho, dt, dx, dy), dx, dy, sweeps)
        for w, wn, slope in (
            (u, un, (p[1:-1, 2:] - p[1:-1, :-2]) / (2 * rho * dx)),
            (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / (2 * rho * dy)),
        ):
            w[1:-1, 1:-1] = (
                wn[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (wn[1:-1, 1:-1] - wn[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dy * (wn[1:-1, 1:-1] - wn[:-2, 1:-1])
                - dt * slope
                + nu * dt / dx**2 * (wn[1:-1, 2:] - 2 * wn[1:-1, 1:-1] + wn[1:-1, :-2])
                + nu * dt / dy**2 * (wn[2:, 1:-1] - 2 * wn[1:-1, 1:-1] + wn[:-2, 1:-1])
            )
            w[0, :] = 0
            w[:, 0] = 0
            w[:, -1] = 0
        u[-1, :] = 1
        v[-1, :] = 0
    return u, v, p


def unrolled(u: Array) -> Any:
    """Eight steps of Burgers' equation, both ends by themselves."""
    u = u.copy()
    for _ in range(8):
        un = u.copy()
        u[1:-1] = (
            un[1:-1]
            - un[1:-1] * 0.01 * (un[1:-1] - un[:-2])
            + 0.02 * (un[2:] - 2 * un[1:-1] + un[:-2])
        )
        u[0] = un[0] - un[0] * 0.01 * (un[0] - un[-2]) + 0.02 * (un[1] - 2 * un[0] + un[-2])
        u[-1] = u[0]
    return u


def n_body(positions: Array, velocities: Array, masses: Array, steps: int) -> Any:
    """Pairs of bodies, in two loops."""
    positions, velocities = positions.copy(), velocities.copy()
    for _ in range(steps):
        for i in range(len(masses)):
            for j in range(len(masses)):
                if i != j:
                    apart = positions[j] - positions[i]
                    distance = np.sqrt((apart**2).sum() + 0.01)
                    velocities[i] += 0.01 * masses[j] * apart / distance**3
        positions += 0.01 * velocities
    return positions, velocities


# --- searches


def bisection(low: float, high: float) -> Any:
    """A root of a cubic."""
    steps = 0
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if (middle**3 - middle - 2.0) * (low**3 - low - 2.0) <= 0:
            high = middle
        else:
            low = middle
        steps += 1
    return low, steps


def newton_each(x: Array) -> Any:
    """Cube roots, each until it has converged."""
    out = np.empty_like(x)
    for i, number in enumerate(x):
        y = number
        while abs(y * y * y - number) > 1e-12 * number:
            y = y - (y * y * y - number) / (3 * y * y)
        out[i] = y
    return out


def edit_distance(a: str, b: str) -> Any:
    """Levenshtein, two rows."""
    last = np.arange(len(b) + 1)
    for i, one in enumerate(a, 1):
        row = np.empty_like(last)
        row[0] = i
        for j, other in enumerate(b, 1):
            row[j] = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one != other))
        last = row
    return int(last[-1])


def common_subsequence(a: Array, b: Array) -> Any:
    """The longest, and where."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    found = []
    i, j = len(a), len(b)
    while i and j:
        if table[i, j] == table[i - 1, j]:
            i -= 1
        elif table[i, j] == table[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found.append(int(a[i]))
    return found[::-1]


def k_means(points: Array, centres: Array) -> Any:
    """Until no centre moves."""
    centres = centres.copy()
    for round_ in range(50):
        nearest = np.array([int(((centres - point) ** 2).sum(axis=1).argmin()) for point in points])
        old = centres.copy()
        for k in range(len(centres)):
            members = points[nearest == k]
            if len(members):
                centres[k] = members.mean(axis=0)
        if np.allclose(old, centres):
            break
    return centres, nearest, round_


# --- pictures


def mandelbrot(n: int, most: int) -> Any:
    """Only points that have not escaped go on."""
    c = np.linspace(-2, 0.6, n)[None, :] + 1j * np.linspace(-1.2, 1.2, n)[:, None]
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, dtype=int)
    active = np.ones(c.shape, dtype=bool)
    for _ in range(most):
        z[active] = z[active] ** 2 + c[active]
        active &= np.abs(z) <= 2
        steps[active] += 1
        if not active.any():
            break
    return steps


def life(board: Array, steps: int) -> Any:
    """Conway's game, with a dead border."""
    board = board.copy()
    for _ in range(steps):
        n = (
            board[:-2, :-2] + board[:-2, 1:-1] + board[:-2, 2:]
            + board[1:-1, :-2] + board[1:-1, 2:]
            + board[2:, :-2] + board[2:, 1:-1] + board[2:, 2:]
        )  # fmt: skip
        born = (n == 3) & (board[1:-1, 1:-1] == 0)
        stays = ((n == 2) | (n == 3)) & (board[1:-1, 1:-1] == 1)
        board[...] = 0
        board[1:-1, 1:-1][born | stays] = 1
    return board


def convolution(picture: Array, kernel: Array) -> Any:
    """A dot product for each pixel."""
    rows, columns = kernel.shape
    out = np.zeros((picture.shape[0] - rows + 1, picture.shape[1] - columns + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (picture[i : i + rows, j : j + columns] * kernel).sum()
    return out

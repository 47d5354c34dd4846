"""Linear algebra, filters and dynamic programming over rows, columns and parts of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def cholesky_dots(a: Array) -> Any:
    """The lower factor of a positive definite matrix, by dot products of rows."""
    lower = a.copy()
    n = len(lower)
    lower[0, 0] = np.sqrt(lower[0, 0])
    for i in range(1, n):
        for j in range(i):
            lower[i, j] -= np.dot(lower[i, :j], lower[j, :j])
            lower[i, j] /= lower[j, j]
        lower[i, i] -= np.dot(lower[i, :i], lower[i, :i])
        lower[i, i] = np.sqrt(lower[i, i])
    return lower


def lu_dots(a: Array) -> Any:
    """Both factors in one matrix, by dot products of rows and columns."""
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def lu_rows(a: Array) -> Any:
    """The same by elimination, a row at a time."""
    a = a.copy()
    n = len(a)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        for i in range(k + 1, n):
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


def lu_updates(a: Array) -> Any:
    """The same, the rest of the matrix at a time."""
    a = a.copy()
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[k, k + 1 :]
    return a


def triangular_solve_dots(lower: Array, b: Array) -> Any:
    """Substitution forwards."""
    x = np.empty_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def triangular_product_dots(alpha: float, a: Array, b: Array) -> Any:
    """The product of a unit lower triangle, transposed, and a matrix, in place."""
    b = b.copy()
    rows, columns = b.shape
    for i in range(rows):
        for j in range(columns):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return b


def rank_k_rows(alpha: float, beta: float, c: Array, a: Array) -> Any:
    """The lower half of `beta * c + alpha * a @ a.T`."""
    c = c.copy()
    n, m = a.shape
    for i in range(n):
        c[i, : i + 1] *= beta
        for k in range(m):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def rank_2k_rows(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Any:
    """The lower half of `beta * c + alpha * (a @ b.T + b @ a.T)`."""
    c = c.copy()
    n, m = a.shape
    for i in range(n):
        c[i, : i + 1] *= beta
        for k in range(m):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return c


def symmetric_product_rows(alpha: float, beta: float, c: Array, a: Array, b: Array) -> Any:
    """`beta * c + alpha * a @ b` where only the lower half of `a` is stored."""
    c = c.copy()
    n, m = c.shape
    part = np.empty(m)
    for i in range(n):
        for j in range(m):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            part[j] = b[:i, j] @ a[i, :i]
        c[i, :] = beta * c[i, :] + alpha * b[i, :] * a[i, i] + alpha * part
    return c


def matrix_product_rows(a: Array, b: Array) -> Any:
    """A row of the product as a sum of rows."""
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            c[i] += a[i, k] * b[k]
    return c


def gram_schmidt_columns(a: Array) -> Any:
    """Orthonormal columns and the triangle, by the modified method."""
    q = a.copy()
    columns = q.shape[1]
    r = np.zeros((columns, columns))
    for k in range(columns):
        r[k, k] = np.sqrt(np.dot(q[:, k], q[:, k]))
        q[:, k] /= r[k, k]
        for j in range(k + 1, columns):
            r[k, j] = np.dot(q[:, k], q[:, j])
            q[:, j] -= q[:, k] * r[k, j]
    return q, r


def durbin_slices(r: Array) -> Any:
    """Levinson and Durbin's recursion for a Toeplitz system."""
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def sparse_product_slices(starts: Array, columns: Array, values: Array, x: Array) -> Any:
    """A matrix in compressed rows, times a vector: a gather and a dot product for each row."""
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        first, last = starts[i], starts[i + 1]
        y[i] = values[first:last] @ x[columns[first:last]]
    return y


def conjugate_gradients_steps(a: Array, b: Array, steps: int) -> Any:
    """A fixed number of steps towards the solution."""
    x = np.zeros_like(b)
    residual = b.copy()
    direction = residual.copy()
    old = residual @ residual
    for _ in range(steps):
        product = a @ direction
        alpha = old / (direction @ product)
        x += alpha * direction
        residual -= alpha * product
        new = residual @ residual
        direction = residual + (new / old) * direction
        old = new
    return x


def power_steps(a: Array, steps: int) -> Any:
    """The largest eigenvalue, by a fixed number of products."""
    v = np.ones(len(a))
    for _ in range(steps):
        v = a @ v
        v = v / np.sqrt(v @ v)
    return v, v @ (a @ v)


def floyd_warshall_rows(weights: Array) -> Any:
    """The shortest paths between all pairs, a row at a time."""
    path = weights.copy()
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            path[i, :] = np.minimum(path[i, :], path[i, k] + path[k, :])
    return path


def viterbi_rows(observed: Array, start: Array, step: Array, emit: Array) -> Any:
    """The likeliest states of a hidden chain: all that come before at once."""
    length, states = len(observed), len(start)
    score = np.zeros((length, states))
    back = np.zeros((length, states), dtype=np.int64)
    score[0] = start + emit[:, observed[0]]
    for t in range(1, length):
        for s in range(states):
            values = score[t - 1] + step[:, s]
            back[t, s] = np.argmax(values)
            score[t, s] = np.max(values) + emit[s, observed[t]]
    path = np.zeros(length, dtype=np.int64)
    path[length - 1] = np.argmax(score[length - 1])
    for t in range(length - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score


def knapsack_rows(weights: Array, values: Array, capacity: int) -> Any:
    """The most value that fits, each thing once: all capacities at a time."""
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        weight = weights[i]
        best[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + values[i])
    return best


def smith_waterman_diagonals(one: Array, other: Array) -> Any:
    """The best local alignment of two sequences of one length, along anti-diagonals."""
    n = len(one)
    reversed_other = other[::-1].copy()
    before, last, best = np.zeros(n + 1), np.zeros(n + 1), 0.0
    for diagonal in range(1, n + 1):
        new = np.zeros(n + 1)
        pairs = np.where(one[:diagonal] == reversed_other[n - diagonal :], 3.0, -3.0)
        gap = np.maximum(last[:diagonal], last[1 : diagonal + 1]) - 2.0
        new[1 : diagonal + 1] = np.maximum(np.maximum(before[:diagonal] + pairs, gap), 0.0)
        best = max(best, new.max())
        before, last = last, new
    return best, last


def lstm_steps(inputs: Array, weights: Array, bias: Array) -> Any:
    """One cell with gates over a sequence."""
    length, width = inputs.shape
    size = len(bias) // 4
    hidden, cell = np.zeros(size), np.zeros(size)
    outputs = np.empty((length, size))
    for t in range(length):
        gates = weights[:, :width] @ inputs[t] + weights[:, width:] @ hidden + bias
        take = 1.0 / (1.0 + np.exp(-gates[:size]))
        forget = 1.0 / (1.0 + np.exp(-gates[size : 2 * size]))
        give = 1.0 / (1.0 + np.exp(-gates[2 * size : 3 * size]))
        cell = forget * cell + take * np.tanh(gates[3 * size :])
        hidden = give * np.tanh(cell)
        outputs[t] = hidden
    return outputs


def kalman_vectors(measured: Array, process: float, noise: float) -> Any:
    """A filter of position and speed, with small matrices."""
    step = np.array([[1.0, 0.1], [0.0, 1.0]])
    shown = np.array([[1.0, 0.0]])
    state, spread = np.zeros(2), np.eye(2)
    estimates = np.empty((len(measured), 2))
    for i in range(len(measured)):
        state = step @ state
        spread = step @ spread @ step.T + process * np.eye(2)
        innovation = measured[i] - shown[0] @ state
        gain = spread @ shown[0] / (shown[0] @ spread @ shown[0] + noise)
        state = state + gain * innovation
        spread = spread - gain[:, None] * (shown @ spread)
        estimates[i] = state
    return estimates


def runge_kutta_vectors(state: Array, h: float, steps: int) -> Any:
    """Coupled oscillators, by the classic method of fourth order."""
    y = state.copy()
    kept = np.empty((steps, len(y)))
    for step in range(steps):
        k1 = 0.3 - y**2 * 0.5
        k2 = 0.3 - (y + 0.5 * h * k1) ** 2 * 0.5
        k3 = 0.3 - (y + 0.5 * h * k2) ** 2 * 0.5
        k4 = 0.3 - (y + h * k3) ** 2 * 0.5
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        kept[step] = y
    return kept


def lorenz(state: Array, h: float, steps: int) -> Any:
    """The Lorenz system, three numbers in an array, by Euler's method."""
    path = np.empty((steps + 1, 3))
    path[0] = state
    slope = np.empty(3)
    for i in range(steps):
        x, y, z = path[i, 0], path[i, 1], path[i, 2]
        slope[0] = 10.0 * (y - x)
        slope[1] = x * (28.0 - z) - y
        slope[2] = x * y - 8.0 / 3.0 * z
        path[i + 1] = path[i] + h * slope
    return path


def moving_sums(x: Array, width: int) -> Any:
    """The sum and the maximum of each window."""
    n = len(x) - width + 1
    sums, most = np.empty(n), np.empty(n)
    for i in range(n):
        sums[i] = x[i : i + width].sum()
        most[i] = x[i : i + width].max()
    return sums, most


def filter_bank(x: Array, poles: Array) -> Any:
    """Recursive filters of first order side by side, a sample at a time."""
    out = np.empty((len(x), len(poles)))
    level = np.zeros(len(poles))
    for i in range(len(x)):
        level = poles * level + (1.0 - poles) * x[i]
        out[i] = level
    return out


def descent(x: Array, y: Array, rate: float, steps: int) -> Any:
    """Stochastic gradient descent for a linear model, a row at a time."""
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        for i in range(len(x)):
            w -= rate * (x[i] @ w - y[i]) * x[i]
    return w


def distances(points: Array) -> Any:
    """The distance of each pair of points."""
    n = len(points)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            apart = points[i] - points[j]
            out[i, j] = math.sqrt(np.sum(apart * apart))
            out[j, i] = out[i, j]
    return out

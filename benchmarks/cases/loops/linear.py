"""Linear algebra, element by element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def cholesky(a: Array) -> Any:
    """The lower factor of a positive definite matrix."""
    n = len(a)
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = total / lower[j, j]
        total = a[i, i]
        for k in range(i):
            total -= lower[i, k] * lower[i, k]
        lower[i, i] = math.sqrt(total)
    return lower


def lu(a: Array) -> Any:
    """Both factors in one matrix, without pivots."""
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            for k in range(i):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def triangular_solve(lower: Array, b: Array) -> Any:
    """Substitution forwards, then backwards with the transposed matrix."""
    x = b.copy()
    n = x.shape[0]
    for i in range(n):
        for j in range(i):
            x[i] -= lower[i, j] * x[j]
        x[i] /= lower[i, i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= lower[j, i] * x[j]
        x[i] = x[i] / lower[i, i]
    return x


def triangular_product(alpha: float, a: Array, b: Array) -> Any:
    """The product of a unit lower triangle, transposed, and a matrix, in place."""
    b = b.copy()
    rows, columns = b.shape
    for i in range(rows):
        for j in range(columns):
            for k in range(i + 1, rows):
                b[i, j] += a[k, i] * b[k, j]
            b[i, j] = alpha * b[i, j]
    return b


def rank_k_update(alpha: float, beta: float, c: Array, a: Array) -> Any:
    """The lower half of `beta * c + alpha * a @ a.T`."""
    c = c.copy()
    n, m = a.shape
    for i in range(n):
        for j in range(i + 1):
            c[i, j] *= beta
        for k in range(m):
            for j in range(i + 1):
                c[i, j] += alpha * a[i, k] * a[j, k]
    return c


def durbin(r: Array) -> Any:
    """Levinson and Durbin's recursion for a Toeplitz system."""
    n = len(r)
    y, z = np.zeros(n), np.zeros(n)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        total = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


def matrix_product(a: Array, b: Array) -> Any:
    """Three loops."""
    rows, inner = a.shape
    columns = b.shape[1]
    c = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            total = 0.0
            for k in range(inner):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def sparse_product(starts: Array, columns: Array, values: Array, x: Array) -> Any:
    """A matrix in compressed rows, times a vector."""
    rows = len(starts) - 1
    y = np.zeros(rows)
    for i in range(rows):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def thomas(below: Array, diagonal: Array, above: Array, b: Array) -> Any:
    """A tridiagonal system: elimination, then substitution backwards."""
    n = len(b)
    c, d = np.empty(n), np.empty(n)
    c[0] = above[0] / diagonal[0]
    d[0] = b[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - below[i] * c[i - 1]
        c[i] = above[i] / pivot
        d[i] = (b[i] - below[i] * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def gram_schmidt(a: Array) -> Any:
    """Orthonormal columns and the triangle, by the modified method."""
    q = a.copy()
    rows, columns = q.shape
    r = np.zeros((columns, columns))
    for k in range(columns):
        total = 0.0
        for i in range(rows):
            total += q[i, k] * q[i, k]
        r[k, k] = math.sqrt(total)
        for i in range(rows):
            q[i, k] /= r[k, k]
        for j in range(k + 1, columns):
            total = 0.0
            for i in range(rows):
                total += q[i, k] * q[i, j]
            r[k, j] = total
            for i in range(rows):
                q[i, j] -= q[i, k] * total
    return q, r

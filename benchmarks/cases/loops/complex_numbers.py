"""Loops over complex numbers and elements of complex arrays."""

from __future__ import annotations

import cmath
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def mandelbrot_complex(size: int, limit: int) -> Array:
    """How many turns each point takes to escape, in Python's complex numbers."""
    turns = np.zeros((size, size), np.int64)
    for i in range(size):
        for j in range(size):
            c = complex(-2.0 + 2.5 * j / size, -1.25 + 2.5 * i / size)
            z = 0j
            count = 0
            while count < limit and abs(z) <= 2.0:
                z = z * z + c
                count += 1
            turns[i, j] = count
    return turns


def julia(points: Array, c: complex, limit: int) -> Array:
    """The same of each element of an array, in NumPy's complex numbers."""
    turns = np.zeros(points.shape, np.int64)
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            z = points[i, j]
            count = 0
            while z.real * z.real + z.imag * z.imag < 4.0 and count < limit:
                z = z * z + c
                count += 1
            turns[i, j] = count
    return turns


def fourier_butterflies(x: Array) -> Array:
    """A radix-2 Fourier transform in place."""
    x = x.copy()
    n = len(x)
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            x[i], x[j] = x[j], x[i]
    length = 2
    while length <= n:
        root = cmath.exp(complex(0.0, -2.0 * cmath.pi / length))
        half = length // 2
        for start in range(0, n, length):
            w = 1.0 + 0.0j
            for k in range(start, start + half):
                even, odd = x[k], x[k + half] * w
                x[k] = even + odd
                x[k + half] = even - odd
                w *= root
        length *= 2
    return x


def fourier_sums(x: Array) -> Array:
    """A Fourier transform by its definition."""
    n = len(x)
    out = np.zeros(n, complex)
    for k in range(n):
        total = 0j
        for i in range(n):
            total += x[i] * cmath.exp(-2j * cmath.pi * k * i / n)
        out[k] = total
    return out


def newton_roots(size: int, limit: int) -> tuple[Array, Array]:
    """Which root of `z**3 = 1` Newton's steps find from each point."""
    roots = np.zeros((size, size), complex)
    turns = np.zeros((size, size), np.int64)
    for i in range(size):
        for j in range(size):
            z = complex(-1.5 + 3.0 * (j + 0.5) / size, -1.5 + 3.0 * (i + 0.5) / size)
            for _ in range(limit):
                step = (z * z * z - 1.0) / (3.0 * z * z)
                z -= step
                turns[i, j] += 1
                if abs(step) < 1e-9:
                    break
            roots[i, j] = z
    return roots, turns


def durand_kerner(coefficients: Array, turns: int) -> Array:
    """All roots of a polynomial at once."""
    n = len(coefficients) - 1
    roots = np.zeros(n, complex)
    for i in range(n):
        roots[i] = (0.4 + 0.9j) * roots[i - 1] if i else 1.0 + 0j
    for _ in range(turns):
        for i in range(n):
            z = roots[i]
            value = 0j
            for k in range(n + 1):
                value = value * z + coefficients[k]
            product = 1.0 + 0j
            for k in range(n):
                if k != i:
                    product *= z - roots[k]
            roots[i] = z - value / product
    return roots

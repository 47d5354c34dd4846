"""Recurrences, filters, scans and sorts over one sequence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def crc(data: Array, table: Array) -> Any:
    """CRC-32 with a table, of bytes in int64."""
    value = 0xFFFFFFFF
    for i in range(len(data)):
        value = table[(value ^ data[i]) & 0xFF] ^ (value // 256)
    return int(value ^ 0xFFFFFFFF)


def crc_with_ints(data: Array, table: Array) -> Any:
    """The same in Python's ints, with shifts."""
    value = 0xFFFFFFFF
    for i in range(len(data)):
        value = int(table[(value ^ int(data[i])) & 0xFF]) ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def crc_uint32(data: Array, table: Array) -> Any:
    """The same in NumPy's uint32, of a table of uint32 and bytes in uint8."""
    value = np.uint32(0xFFFFFFFF)
    for i in range(len(data)):
        value = table[(value ^ data[i]) & 0xFF] ^ (value >> 8)
    return ~value


def crc_16(data: Array, polynomial: int) -> Any:
    """Bit by bit, as NPBench has it."""
    value = 0xFFFF
    for i in range(len(data)):
        byte = 0xFF & data[i]
        for _ in range(8):
            if (value & 1) ^ (byte & 1):
                value = (value >> 1) ^ polynomial
            else:
                value >>= 1
            byte >>= 1
    value = ~value & 0xFFFF
    return (value << 8) | ((value >> 8) & 0xFF)


def kalman(measured: Array, process: float, noise: float) -> Any:
    """A scalar filter: estimate and variance."""
    n = len(measured)
    estimates = np.empty(n)
    estimate, variance = 0.0, 1.0
    for i in range(n):
        variance = variance + process
        gain = variance / (variance + noise)
        estimate = estimate + gain * (measured[i] - estimate)
        variance = (1.0 - gain) * variance
        estimates[i] = estimate
    return estimates, variance


def smoothing(x: Array, alpha: float) -> Any:
    """An exponential average."""
    y = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = alpha * x[i] + (1.0 - alpha) * level
        y[i] = level
    return y


def smoothing_float32(x: Array, alpha: float) -> Any:
    """An exponential average in single precision."""
    y = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = alpha * x[i] + (1.0 - alpha) * level
        y[i] = level
    return y


def runge_kutta(x: float, v: float, h: float, steps: int) -> Any:
    """A damped pendulum, by the classic method of fourth order."""
    for _ in range(steps):
        k1x, k1v = v, -math.sin(x) - 0.1 * v
        k2x, k2v = v + 0.5 * h * k1v, -math.sin(x + 0.5 * h * k1x) - 0.1 * (v + 0.5 * h * k1v)
        k3x, k3v = v + 0.5 * h * k2v, -math.sin(x + 0.5 * h * k2x) - 0.1 * (v + 0.5 * h * k2v)
        k4x, k4v = v + h * k3v, -math.sin(x + h * k3x) - 0.1 * (v + h * k3v)
        x += h / 6.0 * (k1x + 2.0 * k2x + 2.0 * k3x + k4x)
        v += h / 6.0 * (k1v + 2.0 * k2v + 2.0 * k3v + k4v)
    return x, v


def prefix_sums(x: Array) -> Any:
    """Sums of all elements before each one."""
    sums = np.zeros(len(x) + 1)
    for i in range(len(x)):
        sums[i + 1] = sums[i] + x[i]
    return sums


def histogram(x: Array, bins: int) -> Any:
    """Counts of equal bins between 0 and 1."""
    counts = np.zeros(bins, dtype=np.int64)
    for i in range(len(x)):
        slot = int(x[i] * bins)
        if slot == bins:
            slot -= 1
        counts[slot] += 1
    return counts


def horner(coefficients: Array, x: Array) -> Any:
    """A polynomial at many points, one after another."""
    out = np.empty_like(x)
    for i in range(len(x)):
        value = 0.0
        for k in range(len(coefficients)):
            value = value * x[i] + coefficients[k]
        out[i] = value
    return out


def running_maximum(x: Array) -> Any:
    """The greatest element so far, and where it was."""
    out = np.empty_like(x)
    best, where = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best, where = x[i], i
        out[i] = best
    return out, where


def sieve(limit: int) -> Any:
    """The primes below a limit, after Eratosthenes."""
    is_prime = np.ones(limit, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(limit**0.5) + 1):
        if is_prime[i]:
            for j in range(i * i, limit, i):
                is_prime[j] = False
    return np.flatnonzero(is_prime)


def insertion_sort(x: Array) -> Any:
    """Each element is moved down to its place."""
    a = x.copy()
    for i in range(1, len(a)):
        for j in range(i, 0, -1):
            if a[j - 1] <= a[j]:
                break
            a[j - 1], a[j] = a[j], a[j - 1]
    return a


def bubble_sort(x: Array) -> Any:
    """Neighbours change places until none need to."""
    a = x.copy()
    n = len(a)
    for i in range(n):
        changed = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                changed = True
        if not changed:
            break
    return a


def n_body(positions: Array, velocities: Array, masses: Array, steps: int) -> Any:
    """Bodies that attract one another, coordinate by coordinate."""
    x, v = positions.copy(), velocities.copy()
    n = len(masses)
    dt = 0.01
    for _ in range(steps):
        for i in range(n):
            for j in range(i + 1, n):
                dx = x[i, 0] - x[j, 0]
                dy = x[i, 1] - x[j, 1]
                dz = x[i, 2] - x[j, 2]
                distance = math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
                pull = dt / (distance * distance * distance)
                v[i, 0] -= dx * masses[j] * pull
                v[i, 1] -= dy * masses[j] * pull
                v[i, 2] -= dz * masses[j] * pull
                v[j, 0] += dx * masses[i] * pull
                v[j, 1] += dy * masses[i] * pull
                v[j, 2] += dz * masses[i] * pull
        for i in range(n):
            for axis in range(3):
                x[i, axis] += dt * v[i, axis]
    return x, v


def collatz(limit: int) -> Any:
    """The longest chain that begins below a limit, with `//` and `%` of Python's ints."""
    longest, start = 0, 1
    for first in range(1, limit):
        value, length = first, 1
        for _ in range(1000):
            if value == 1:
                break
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            length += 1
        if length > longest:
            longest, start = length, first
    return longest, start


def random_walk(steps: int, seed: int) -> Any:
    """A linear congruential generator and what it draws, in Python's ints and floats."""
    state, position, farthest = seed, 0.0, 0.0
    for _ in range(steps):
        state = (1103515245 * state + 12345) % 2147483648
        position += state / 2147483648 - 0.5
        farthest = max(farthest, abs(position))
    return state, position, farthest

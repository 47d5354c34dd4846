"""Simulations as they are written first: draws of Python's `random`, states in lists, lists that are returned."""

# ruff: noqa: S311  nothing is kept secret with these numbers

from __future__ import annotations

import itertools
import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def pi_by_random(turns: int) -> float:
    """Points of a square that lie in a circle."""
    random.seed(1)
    inside = 0
    for _ in range(turns):
        x, y = random.random(), random.random()
        if x * x + y * y <= 1.0:
            inside += 1
    return 4 * inside / turns


def metropolis_by_random(turns: int) -> float:
    """The mean of a normal distribution, sampled with `random.gauss`."""
    random.seed(2)
    x = total = 0.0
    for _ in range(turns):
        other = x + random.gauss(0, 1)
        if random.random() < math.exp(min(0.0, 0.5 * (x * x - other * other))):
            x = other
        total += x
    return total / turns


def dice(turns: int) -> Array:
    """How often two dice show each sum."""
    random.seed(3)
    counts = np.zeros(13, int)
    for _ in range(turns):
        counts[random.randint(1, 6) + random.randint(1, 6)] += 1
    return counts


def walk_by_choice(turns: int) -> list[int]:
    """A random walk's path, by `rng.choice`."""
    rng = np.random.default_rng(4)
    place, path = 0, []
    for _ in range(turns):
        place += rng.choice([-1, 1])
        path.append(place + 1000)
    return path


def _lorenz(state: Array) -> Array:
    x, y, z = state
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def trajectory(turns: int) -> Array:
    """Runge-Kutta steps, with each state in a list."""
    state, step = np.ones(3), 0.01
    states = [state]
    for _ in range(turns):
        k1 = _lorenz(state)
        k2 = _lorenz(state + step / 2 * k1)
        k3 = _lorenz(state + step / 2 * k2)
        k4 = _lorenz(state + step * k3)
        state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(state)
    return np.array(states)


def rows_of_comprehensions(a: Array) -> Array:
    """An array of a list of lists."""
    return np.array([[value * 2.0 if value > 0.5 else value - 1.0 for value in row] for row in a])


def list_returned(x: Array) -> list[float]:
    """An exponential average, as a list."""
    level, out = 0.0, []
    for value in x:
        level = 0.9 * level + 0.1 * value
        out.append(level)
    return out


def slopes(x: Array) -> float:
    """The length of a curve, by neighbours."""
    return sum(math.sqrt(1.0 + (b - a) ** 2) for a, b in itertools.pairwise(x))

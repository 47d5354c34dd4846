"""Programs with much Python around arrays: closures, instances, generators, recursion, errors as control flow.

The first argument of each is what it decorates its own functions with: `ufuse.compile`, or nothing.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import loops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Function = Callable[..., Any]
    Decorator = Callable[[Function], Function]

# --- closures and instances


def runge_kutta(decorate: Decorator) -> Function:
    """The right-hand side is a closure over its parameters."""

    @decorate
    def solve(y: Array, damping: float, steps: int) -> Any:
        def slope(t: float, y: Array) -> Any:
            return np.array([y[1], np.cos(t) - damping * y[1] - y[0] ** 3])

        h, out = 0.05, [y]
        for i in range(steps):
            t = i * h
            k1 = slope(t, y)
            k2 = slope(t + h / 2, y + h / 2 * k1)
            k3 = slope(t + h / 2, y + h / 2 * k2)
            k4 = slope(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            out.append(y)
        return np.array(out)

    return solve


def factory(decorate: Decorator) -> Function:
    """A compiled closure is made for each use."""

    def scaled(factor: float) -> Function:
        @decorate
        def apply(x: Array) -> Any:
            return x * factor + 1.0

        return apply

    def run(x: Array, factors: list[float]) -> Any:
        for factor in factors:
            x = scaled(factor)(x)
        return x

    return run


def factory_of_loops(decorate: Decorator) -> Function:
    """The same of a closure that loops over elements."""

    def clipped(low: float, high: float) -> Function:
        @decorate
        def apply(x: Array) -> Any:
            out = np.empty_like(x)
            for i in range(len(x)):
                out[i] = low if x[i] < low else min(x[i], high)
            return out

        return apply

    def run(x: Array, limits: list[float]) -> Any:
        return [clipped(-limit, limit)(x).sum() for limit in limits]

    return run


def instances(decorate: Decorator) -> Function:
    """Many objects of a class with compiled methods."""

    class Particle:
        def __init__(self, position: Array, velocity: Array) -> None:
            self.position, self.velocity, self.steps = position, velocity, 0

        @decorate
        def step(self, dt: float) -> None:
            self.velocity = self.velocity - dt * self.position
            self.position = self.position + dt * self.velocity
            self.steps += 1

        @decorate
        def energy(self) -> Any:
            return (self.position**2).sum() + (self.velocity**2).sum()

    def run(positions: Array, steps: int) -> Any:
        particles = [Particle(position, -position[::-1]) for position in positions]
        for _ in range(steps):
            for particle in particles:
                particle.step(0.01)
        return [float(particle.energy()) for particle in particles]

    return run


def callbacks(decorate: Decorator) -> Function:
    """A minimiser that calls compiled functions."""

    @decorate
    def objective(x: Array) -> Any:
        return float((100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())

    @decorate
    def gradient(x: Array) -> Any:
        out = np.zeros_like(x)
        out[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
        out[1:] += 200 * (x[1:] - x[:-1] ** 2)
        return out

    def minimise(x: Array, steps: int) -> Any:
        for _ in range(steps):
            direction, rate, value = gradient(x), 1e-2, objective(x)
            while objective(x - rate * direction) > value and rate > 1e-8:
                rate *= 0.5
            x = x - rate * direction
        return x, objective(x)

    return minimise


# --- shapes, generators, recursion


def changing_shapes(decorate: Decorator) -> Function:
    """Another length at each call."""

    @decorate
    def normalised(x: Array) -> Any:
        return (x - x.mean()) / (x.std() + 1.0)

    def run(x: Array) -> Any:
        return [normalised(x[:count])[0] for count in range(2, len(x))]

    return run


def changing_ranks(decorate: Decorator) -> Function:
    """Other shapes, ranks and dtypes at each call."""

    @decorate
    def doubled(x: Array) -> Any:
        return x * 2 + x

    def run(x: Array) -> Any:
        views = (x, x.reshape(-1, 4), x.reshape(2, 2, -1), x[::2], x.astype("f4"), x[:1], x[:0])
        return [doubled(view).sum() for view in views]

    return run


def generators(decorate: Decorator) -> Function:
    """Windows come one at a time."""

    def windows(x: Array, size: int) -> Iterator[Array]:
        for start in range(0, len(x) - size + 1, size // 2):
            yield x[start : start + size]

    @decorate
    def run(x: Array, size: int) -> Any:
        taper = np.hanning(size)
        spectra = (np.abs(np.fft.rfft(window * taper)) for window in windows(x, size))
        return sum(spectrum.argmax() for spectrum in spectra if spectrum.max() > 1.0)

    return run


def fibonacci(decorate: Decorator) -> Function:
    """Recursion with what is known in a dict."""

    @decorate
    def number(n: int, known: dict[int, int]) -> int:
        if n < 2:
            return n
        if n not in known:
            known[n] = number(n - 1, known) + number(n - 2, known)
        return known[n]

    return lambda n: number(n, {})


def recursive_fft(decorate: Decorator) -> Function:
    """Cooley and Tukey."""

    @decorate
    def fft(x: Array) -> Any:
        n = len(x)
        if n == 1:
            return x
        even, odd = fft(x[::2]), fft(x[1::2])
        turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
        return np.concatenate([even + turned, even - turned])

    return fft


def words(decorate: Decorator) -> Function:
    """Text and dicts around arrays: cosines between documents."""

    @decorate
    def run(texts: list[str]) -> Any:
        counts = [Counter(text.lower().split()) for text in texts]
        vocabulary = {word: i for i, word in enumerate(sorted(set().union(*counts)))}
        table = np.zeros((len(texts), len(vocabulary)))
        for row, count in zip(table, counts, strict=True):
            for word, number in count.items():
                row[vocabulary[word]] = number
        table /= np.linalg.norm(table, axis=1, keepdims=True)
        names = [f"{i}:{text[:3]}" for i, text in enumerate(texts)]
        return dict(zip(names, (table @ table.T).sum(axis=1).tolist(), strict=True))

    return run


def records(decorate: Decorator) -> Function:
    """Rows of measurements become sums by key."""

    @decorate
    def run(rows: list[dict[str, Any]]) -> Any:
        groups: dict[str, list[float]] = {}
        for row in rows:
            groups.setdefault(row["name"], []).append(row["value"])
        means = {name: np.asarray(values) for name, values in groups.items()}
        return {name: (float(v.mean()), float(v.std())) for name, v in sorted(means.items())}

    return run


# --- warnings and errors


def strict_cavity(decorate: Decorator) -> Function:
    """Warnings are errors while it runs."""
    cavity = decorate(loops.cavity)

    def run(n: int, steps: int, sweeps: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return cavity(n, steps, sweeps)

    return run


def strict_recurrence(decorate: Decorator) -> Function:
    """Floating-point errors raise while it runs."""
    recurrence = decorate(loops.recurrence)

    def run(x: Array) -> Any:
        with np.errstate(all="raise"):
            return recurrence(x)

    return run


def error_states_inside(decorate: Decorator) -> Function:
    """The error state is set in the compiled function."""

    @decorate
    def run(x: Array, y: Array) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = x / y
            ratio[~np.isfinite(ratio)] = 0.0
        return ratio.sum(), np.sqrt(ratio * ratio + 1.0)

    return run


def caught_warnings(decorate: Decorator) -> Function:
    """Errors and warnings are caught one by one."""

    @decorate
    def run(x: Array) -> Any:
        found = 0
        out = np.zeros_like(x)
        with warnings.catch_warnings(), np.errstate(all="warn"):
            warnings.simplefilter("error")
            for i, number in enumerate(x):
                try:
                    out[i] = np.log(number)
                except RuntimeWarning:
                    found += 1
        return out, found

    return run


def caches(decorate: Decorator) -> Function:
    """Tables that are made once, and looked up by size."""

    @functools.cache
    def window(size: int) -> Array:
        return np.hanning(size) / np.hanning(size).sum()

    @decorate
    def smoothed(x: Array, size: int) -> Any:
        return np.convolve(x, window(size), mode="same")

    return lambda x, sizes: [smoothed(x, size).max() for size in sizes]

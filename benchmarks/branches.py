"""What a branch costs: `python -m benchmarks.branches`. Medians of pairs, taken in turn in one run.

The targets: sides taken at random cost at most 1 µs a call over the better side; a graph that is left for the other
side, or a turn of a native loop that plain Python does, at most 2 µs; an `if` that is never taken 5 ns.
"""

# ruff: noqa: SIM108  functions are written as users write them

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ufuse

Array = Any  # a vector

WARM = 20_000  # calls
SAMPLES = 25
IFS = 12


def two_sides(x: Array) -> Array:
    """Both sides compute."""
    if x[0] > 0:
        y = x * 2 + 1
    else:
        y = x * 3 - 1
    return y - x


def writing(x: Array) -> Array:
    """Both sides write what they were given."""
    if x[0] > 0:
        x[1] = 2.0
    else:
        x[2] = 3.0
    return x + 1


def helped(x: Array) -> Array:
    """The branch is in a function that is called."""
    return _helper(x) - x


def _helper(x: Array) -> Array:
    if x[0] > 0:
        return x * 2 + 1
    return x * 3 - 1


def with_ifs(x: Array) -> Array:
    """Twelve branches that are never taken."""
    first = x[0]
    if first > 9:
        return x - 9
    if first > 10:
        return x - 10
    if first > 11:
        return x - 11
    if first > 12:
        return x - 12
    if first > 13:
        return x - 13
    if first > 14:
        return x - 14
    if first > 15:
        return x - 15
    if first > 16:
        return x - 16
    if first > 17:
        return x - 17
    if first > 18:
        return x - 18
    if first > 19:
        return x - 19
    if first > 20:
        return x - 20
    return x + first


def without_ifs(x: Array) -> Array:
    """The same, without them."""
    return x + x[0]


def left_rarely(x: Array) -> Array:
    """One side is taken for granted; the other one leaves the graph."""
    y = x * 2 + 1
    if y[0] < 0:
        y = y - 1
    return y + x


def turns(x: Array, stop: float) -> float:
    """A native loop in which some turns are plain Python's: an integer goes beyond 64 bits."""
    total, found = 0.0, 0
    for i in range(len(x)):
        if x[i] > stop:
            found += (i + (1 << 62)) * 4 >> 63
        total += x[i] * 0.5
    return total + found


def compared(one: Callable[[], object], other: Callable[[], object]) -> tuple[float, float]:
    """The median times of two programs in nanoseconds, run in turn."""
    times: tuple[list[int], list[int]] = [], []
    for _ in range(SAMPLES):
        for program, found in zip((one, other), times, strict=True):
            begun = time.thread_time_ns()
            program()
            found.append(time.thread_time_ns() - begun)
    return statistics.median(times[0]), statistics.median(times[1])


def repeated(function: Any, given: Sequence[Array]) -> Callable[[], object]:
    """A program that calls a function with each of some arrays."""

    def program() -> None:
        for x in given:
            function(x)

    return program


def warm(function: Callable[..., Any], *given: Array) -> Any:
    """The function compiled, and called until it is known how it runs."""
    made = ufuse.compile(function)
    for _ in range(WARM):
        for x in given:
            made(x)
    for x in given:
        assert made(x).tobytes() == function(x).tobytes()
    return made


def at_random(function: Callable[..., Any]) -> float:
    """How many nanoseconds a call takes over the better side, where the sides are taken at random."""
    x = np.ones(100)
    sides = [x, -x]
    made = warm(function, *sides)
    order = np.random.default_rng(0).random(2000) < 0.5
    mixed = repeated(made, [sides[int(one)] for one in order])
    best = min(compared(repeated(made, [side] * len(order)), mixed)[0] for side in sides)
    return (compared(mixed, mixed)[0] - best) / len(order)


def never_taken() -> float:
    """How many nanoseconds an `if` takes that is never taken, its comparison included."""
    x = np.ones(100)
    many, none = compared(
        repeated(warm(with_ifs, x), [x] * 2000), repeated(warm(without_ifs, x), [x] * 2000)
    )
    return (many - none) / 2000 / IFS


def left_and_back() -> float:
    """How many nanoseconds a call takes more that leaves the graph for the side that is rarely taken."""
    x = np.ones(100)
    made = warm(left_rarely, x)
    usual, other = repeated(made, [x] * 2000), repeated(made, [*[x] * 1960, *[-x] * 40])
    with_others, without = compared(other, usual)
    return (with_others - without) / 40


def odd_turns() -> float:
    """How many nanoseconds a turn of a native loop takes that plain Python does, beside the others."""
    x = np.zeros(100_000)
    x[::1000] = 2.0
    made = ufuse.compile(turns)
    for _ in range(20):
        assert made(x, 3.0) == turns(x, 3.0)
        assert made(x, 1.0) == turns(x, 1.0)
    odd, none = compared(lambda: made(x, 1.0), lambda: made(x, 3.0))
    plain = compared(lambda: turns(x[::1000], 1.0), lambda: None)[0]
    return (odd - none - plain) / 100


def main() -> None:
    """Print what each costs."""
    print(f"sides at random, over the better one          {at_random(two_sides):7.0f} ns  (1000)")
    print(f"the same in a function that is called          {at_random(helped):7.0f} ns  (1000)")
    print(f"sides that write, over the better one          {at_random(writing):7.0f} ns  (1000)")
    print(f"left for the side that is rarely taken         {left_and_back():7.0f} ns  (2000)")
    print(f"a turn of a native loop done by plain Python   {odd_turns():7.0f} ns  (2000)")
    print(f"an `if` that is never taken, and its condition {never_taken():7.1f} ns  (5)")


if __name__ == "__main__":
    main()

"""A class with state and methods that are compiled: its loop over elements becomes machine code.

Run it with `python examples/tracker.py`.
"""

import time

import numpy as np

import ufuse


class Tracker:
    """Follows a noisy signal, and counts the values that are far off."""

    def __init__(self, gain):
        self.gain, self.level, self.spread, self.outliers = gain, 0.0, 1.0, 0

    def update(self, value):
        """Take one value in; gives the level."""
        off = value - self.level
        if abs(off) > 4 * self.spread:
            self.outliers += 1
            off = 4 * self.spread if off > 0 else -4 * self.spread
        self.level += self.gain * off
        self.spread += self.gain * (abs(off) - self.spread)
        return self.level

    def follow(self, values):
        """The level at each of many values."""
        levels = np.empty(len(values))
        for i, value in enumerate(values):
            levels[i] = self.update(value)
        return levels


class FastTracker(Tracker):
    """The same, with both methods compiled."""

    update = ufuse.compile(Tracker.update)
    follow = ufuse.compile(Tracker.follow)


def signal(length):
    """Steps with noise, and now and then something wild."""
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=length // 1000), 1000) + 0.1 * rng.normal(size=length)
    values[rng.integers(0, length, length // 500)] = 50.0
    return values


def main():
    """Run the program plain and compiled, and compare."""
    values = signal(200_000)
    found = []
    for kind in (Tracker, FastTracker):
        tracker = kind(0.05)
        tracker.follow(values[:20_000])  # the first calls compile
        started = time.perf_counter()
        levels = tracker.follow(values)
        found.append((levels.tobytes(), tracker.outliers, time.perf_counter() - started))
    (*plain, plain_seconds), (*fast, fast_seconds) = found
    assert plain == fast
    print(f"plain {plain_seconds:.3f} s, compiled {fast_seconds:.3f} s, {plain[1]} outliers")
    print(ufuse.explain(FastTracker(0.05).follow, values[:20_000]))


if __name__ == "__main__":
    main()

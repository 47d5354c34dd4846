"""Heat spreading over a plate: an ordinary stencil program, and the two lines that make it fast.

Run it with `python examples/heat.py`.
"""

import time

import numpy as np

import ufuse


def step(plate, rate):
    """Let the inside of the plate move towards the mean of its neighbours."""
    inside = plate[1:-1, 1:-1]
    around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    inside += rate * (around - 4 * inside)
    return np.abs(plate).max()


def heated(size):
    """A cold plate with one hot edge."""
    plate = np.zeros((size, size))
    plate[0] = 100.0
    return plate


def run(function, size=512, steps=200):
    """The plate after some steps, and the seconds they took."""
    plate = heated(size)
    started = time.perf_counter()
    for _ in range(steps):
        function(plate, 0.2)
    return plate, time.perf_counter() - started


def main():
    """Run the program plain and compiled, and compare."""
    plain, plain_seconds = run(step)
    compiled = ufuse.compile(step)
    fast, fast_seconds = run(compiled)
    assert plain.tobytes() == fast.tobytes()
    print(f"plain {plain_seconds:.2f} s, compiled {fast_seconds:.2f} s, the same to the last bit")
    print(ufuse.explain(step, heated(64), 0.2))


if __name__ == "__main__":
    main()

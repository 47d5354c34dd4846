"""Gradient descent that stops early: a `while` loop with branches, lists and array statements, as one native loop.

Run it with `python examples/fit.py`. It writes what was captured to report.html, if given that name.
"""

import sys
import time

import numpy as np

import ufuse


def fitted(table, wanted, rate, patience=20, most=5000):
    """Weights that fit, and the losses on the way."""
    weights = np.zeros(table.shape[1])
    best, bad, losses = np.inf, 0, []
    while bad < patience and len(losses) < most:
        off = table @ weights - wanted
        loss = (off * off).mean()
        losses.append(loss)
        weights -= rate * (off @ table) / len(wanted)
        if loss < best - 1e-9:
            best, bad = loss, 0
        else:
            bad += 1
    return weights, losses


def main():
    """Fit to many samples of the same table, plain and compiled, and compare."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 6))
    wanted = table @ np.arange(6.0) + 0.1 * rng.normal(size=40)
    samples = rng.integers(0, 40, size=(200, 40))
    seconds, results = [], []
    for function in (fitted, ufuse.compile(fitted)):
        started = time.perf_counter()
        weights = [function(table[rows], wanted[rows], 0.05)[0] for rows in samples]
        seconds.append(time.perf_counter() - started)
        results.append(np.array(weights))
    plain, fast = results
    assert plain.tobytes() == fast.tobytes()
    print(f"plain {seconds[0]:.2f} s, compiled {seconds[1]:.2f} s, with compiling")
    print("deviation of the weights:", plain.std(axis=0).round(4))
    report = ufuse.explain(fitted, table, wanted, 0.05)
    print(report)
    if len(sys.argv) > 1 and sys.argv[1].endswith(".html"):
        report.save(sys.argv[1])


if __name__ == "__main__":
    main()

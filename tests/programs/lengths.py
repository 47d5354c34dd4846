"""Programs in which values decide how long arrays are, which are made, joined and compared with others."""

from __future__ import annotations

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)


def labels():
    """Three groups of numbers, and the numbers."""
    return np.array([0, 2, 1, 1, 0, 2]), np.linspace(-1, 2, 6)


@PROGRAMS.whole(labels)
def groups(i, x):
    count = np.bincount(i, minlength=3)
    mean = np.bincount(i, weights=x) / np.maximum(np.bincount(i), 1)
    hot = np.zeros((len(i), i.max() + 1))
    hot[np.arange(i.size), i] = 1
    table = np.bincount(i * 3 + (x > 0), minlength=9).reshape(3, 3)
    return (
        np.bincount(i, x, minlength=3) / count,
        mean,
        hot,
        table,
        count * np.arange(3),
        hot.sum(axis=0),
    )


@PROGRAMS.whole(labels)
def two_samples(i, x):
    a, b = x[i > 0], x[~(i > 0)]
    t = (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return (
        t,
        np.column_stack([np.ones(len(a)), a]),
        a - np.arange(len(a)),
        np.zeros(len(b) + 1),
        np.full(a.shape, 2.5),
    )


@PROGRAMS.whole(labels)
def same_condition_twice(i, x):
    a, b = x[x > 0], i[x > 0]
    both = np.concatenate([a, x[i == 1]])
    u, c = np.unique(i, return_counts=True)
    return a * b, both, u[c > 1], len(a) - 1, a[: len(a) // 2], c / c.sum(), np.arange(len(u) - 1)


@PROGRAMS.whole(labels)
def as_long_as_a_number_says(i, x):
    n = int(np.abs(x).sum())
    out = np.zeros(i.max() + 1)
    np.add.at(out, i, x)
    return (
        out,
        np.zeros(n),
        np.arange(n),
        np.arange(i.max()),
        np.ones(n, int).sum(),
        np.empty((n, 2)).shape,
        np.full(n, 3.0) * 2,
    )


@PROGRAMS.either(labels)
def lengths_that_do_not_fit(i, x):
    found = []
    for join in (
        lambda: x[i > 1] + x[i > 5], lambda: x[i > 0] + x[i > 1], lambda: np.bincount(i) * np.arange(2),
        lambda: np.bincount(i).reshape(2, 2), lambda: x[i > 1] + x, lambda: x[i == 1] + x[i == 9], lambda: np.zeros(i.min() - 1),
        lambda: np.zeros(np.int64(2) ** (i.max() + 60)), lambda: x[i > 1] + x[:1], lambda: np.arange(i.min() - 3),
    ):  # fmt: skip
        try:
            found.append(join())
        except (ValueError, MemoryError) as error:
            found.append(str(error))
    return found


@PROGRAMS.either(lambda: (np.array([0, 2, 1, 1]), np.array([1.0, np.inf, 2.0, 3.0]), np.zeros(3)))
def added_at_places(i, x, out):
    counts = np.zeros((3, 3), int)
    np.add.at(counts, (i, i % 2), 1)
    np.maximum.at(counts, ([0, 1], [2, 2]), 7)
    np.subtract.at(out, i, x)
    np.add.at(out, i, -x)
    found = []
    for places in (i + 1, i * 0.5, np.zeros(0, int)):
        try:
            np.add.at(counts, (places, places), 1)
        except IndexError as error:
            found.append(str(error))
    return counts, out, found


@PROGRAMS.whole(
    lambda: (
        np.array([0, 2, 1, 1]),
        np.array([5, 6, 7], np.uint8),
        np.array([250, 251, 252, 253], np.uint8),
    )
)
def added_at_places_of_an_argument(i, small, more):
    np.add.at(small, i, more)
    return small


@PROGRAMS.whole(lambda: (np.arange(12.0).reshape(6, 2), [0, 3, 3, 5], np.arange(12).reshape(3, 4)))
def added_at_places_of_a_part(x, i, counts):
    force = np.zeros(x.shape)
    np.add.at(force[:, 0], i, x[:4, 1])
    np.subtract.at(force[:, 1], i, x[:4, 0])
    np.add.at(force[1:], [0, 1, 0], 1.0)
    np.maximum.at(counts.T, ([0, 1], [1, 0]), 9)
    return force, force.sum(axis=0)


@PROGRAMS.either(lambda: (np.array([[1e308, 2.0], [1e308, 3.0]]), [0, 1, 1], [0, 5]))
def added_at_places_of_a_part_that_overflow(x, i, j):
    np.multiply.at(x[:, 0], i, 2.0)
    said = []
    try:
        np.add.at(x[:, 1], j, 2.0)
    except IndexError as error:
        said.append(str(error))
    np.add.at(x[:, 1], i, x[[0, 1, 1], 0])
    return x, said


@PROGRAMS.either(lambda: (np.array([0, 9]), np.array([5, 6, 7])))
def added_nowhere(i, a):
    try:
        np.add.at(a, i, 1)
    except IndexError as error:
        return str(error), a


@PROGRAMS.either(labels)
def lengths_in_sides(i, x):
    s = x.sum()
    if x[0] > 0:
        s = x[i > 0].sum()
    y = x[i > 0]
    k = y.argmax()
    if s > 0:
        s = (y[1:] - y[:-1]).sum() + y[k:].sum()
    y[0] = 9.0
    return s, len(y), y, len(y[k:]), y[1:]


@PROGRAMS.whole(lambda: (np.vander([0.5, 1.5, 2.5, 3.5], 4), np.array([3.0, -1.0, 2.0])))
def of_low_rank(a, x):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    k = int((s > s[-1]).sum())
    return (
        u[:, :k] @ np.diag(s[:k]) @ vt[:k],
        np.diag(x[x > 0]),
        np.diag(x[x > 0], -1),
        np.diag(x),
        np.diag(a, 1),
    )


@PROGRAMS.whole(lambda: (np.array([3, 0, 5, 3, 1]), np.array([0.5, 2.0])))
def parts_that_change(counts, x):
    first = len(x) - 1
    places = np.arange(np.searchsorted(np.sort(x), 1.5) + 4)
    places[first:] += 7
    found = np.bincount(counts % 4)
    found[first:] *= 2
    found[:first] -= 1
    return places, found

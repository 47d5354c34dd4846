"""Programs that take or write parts of arrays whose places or lengths are computed from other arrays."""

from __future__ import annotations

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)


def vector():
    """Some numbers, the greatest of them in the middle."""
    return np.array([1.0, -2.0, 7.0, 3.0, 3.5])


def table():
    """Rows of some numbers."""
    return np.arange(20.0).reshape(4, 5) % 7


@PROGRAMS.whole(lambda: (vector(), np.array([True, False, True, True, False])))
def slices(x, mask):
    i, n = np.argmax(x), int(mask.sum())
    part = x[i:]
    return (
        part, x[:i], x[i - 1 : i + 1], x[n:i], x[-n:], x[:-i], x[int(0.8 * len(x)) :], part.sum(), len(part),
        np.exp(x[:n]), x[:n] * 2 + x[:n], part.shape, part[0], x[i : i + 100].mean(),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.array([1.0, 5.0, 2.0]), np.array([0.5]), np.array([3.0, 2.0, 1.0])))
def slices_of_one_element_and_none(x, one, falling):
    i, k, first = x.argmax(), one.argmin(), falling.argmax()
    return (
        x[i : i + 1] * 2, x[i:i], np.exp(one[k:]), one[: k + 1].sum(), x[i + 5 :], x[3 - i : 1], falling[:first],
        falling[:first].sum(), np.sort(falling[first:]), x[::-1][i:], x[::-1][: i + 1],
    )  # fmt: skip


@PROGRAMS.whole(lambda: (table(), np.asfortranarray(table()), np.array([0.1, 9.0, 0.2])))
def rows_and_columns(a, f, x):
    i = np.argmax(a[:, 1])
    j = int(np.argmin(x))
    r, c = np.unravel_index(a.argmax(), a.shape)
    return (
        a[i], a[i].sum(), a[:, j], a[:, j] * 2, a[r, :], a[:, c], a[i, 1:], a[1:, j], a[i:], np.exp(a[i:]), a[:i].sum(axis=0),
        f[i], f[:, j] + f[:, i], a[i, ..., None], a[r, c], a[i - 4],
    )  # fmt: skip


@PROGRAMS.either(lambda: (table(), np.asfortranarray(table()), np.arange(4.0)))
def columns_up_to_a_place(a, f, x):
    found = []
    for n in range(6):
        k = int(x.sum() / 6 * n)  # all there are at last
        part = a[:, :k]
        found += [
            part,
            np.exp(part),
            part.sum(axis=0),
            part.T + 1,
            f[:k],
            f[:k] * 2,
            np.log1p(f[:, k:]).sum(axis=1),
        ]
    return found


@PROGRAMS.whole(lambda: (vector(), table(), np.array([2.0, 9.0, 1.0])))
def written_at_places(x, a, y):
    i = np.argmax(y)
    k = i - 1
    y[i] = 0.0
    y[i] += 0.5
    x[: i + 1] = -1.0
    x[i:] *= 2
    a[i] = x
    a[:, i] = 0.0
    a[i, 2:] += 1
    a[i] -= a[k]
    return x, a, y


@PROGRAMS.whole(lambda: (vector(), table()))
def views_of_what_is_written_later(x, a):
    i = int(np.argmax(x))
    part, row = x[i:], a[i]
    before = part.sum()
    x[0] = 9.0
    x[-1] = 8.0
    row[0] = -1.0
    return part, row, before, part.sum(), part * 2, a


@PROGRAMS.whole(lambda: (vector(),))
def parts_of_parts(x):
    y = x[x > 0]
    i = y.argmax()
    rest = y[i:]
    return rest, rest[1:] - rest[:-1], y[:10], rest[: rest.argmin()], len(y[i:]) + 1, y[:i].size


@PROGRAMS.whole(lambda: (np.linspace(-1, 1, 9), np.array([0.5, 0.1, 0.4])))
def searched(s, p):
    i = np.searchsorted(s, 0.3)
    low, high = np.searchsorted(s, [-0.5, 0.6])
    share = np.cumsum(np.sort(p)[::-1])
    k = np.searchsorted(share, 0.9 * share[-1]) + 1
    return s[i:], s[low:high].mean(), share[:k], np.split(s, [int(0.7 * len(s))])


@PROGRAMS.either(lambda: (vector(), np.array([0.0, 9.0])))
def places_out_of_bounds(x, y):
    i = int(y.sum())
    x[0] = 1.0
    return x[i:], x[i]


@PROGRAMS.either(lambda: (table(), np.array([0.0, 9.0])))
def places_out_of_bounds_that_are_caught(a, y):
    i = int(y.sum())
    found = []
    for read in (lambda: a[i], lambda: a[:, -i], lambda: a[i, 0], lambda: a[: y[1]]):
        try:
            found.append(read())
        except (IndexError, TypeError) as error:
            found.append(str(error))
    try:
        a[i] = 0
    except IndexError as error:
        found.append(str(error))
    return found, a


@PROGRAMS.either(lambda: (vector(), 2**70, np.array([3], np.uint8), np.array([True])))
def odd_places(x, huge, small, flags):
    big = int(x.sum()) * huge
    return (
        x[: small[0]],
        x[:big],
        x[-big:],
        x[small.max() :],
        x[flags.sum() :: 2],
        x[np.int8(1) + small[0] :],
    )


@PROGRAMS.whole(lambda: (table(), np.array([3, 0, 2])))
def drawdown(a, i):
    c = np.cumsum(a[:, 0] - 2)
    e = np.argmax(np.maximum.accumulate(c) - c)
    s = np.argmax(c[: e + 1])
    return c[e] - c[s], a[i.max()], a[i[0]]

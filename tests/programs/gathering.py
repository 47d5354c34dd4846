"""Programs that pick elements and rows by arrays and lists of whole numbers."""

from __future__ import annotations

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)


def table(order):
    return np.asarray(np.arange(42.0).reshape(6, 7), order=order)


def places():
    return np.array([0, 2, -1]), np.array([[0, 1], [2, 0]])


@PROGRAMS.whole(lambda: (table("C"), *places()))
def rows_and_columns(a, i, pairs):
    rows, columns = a[i], a[:, i]
    return (rows, columns, a[i, :] * 2, a[pairs], a[:, pairs] + 1, a[[1, 2]], a[:, [1, -3]])


@PROGRAMS.whole(lambda: (table("F"), *places()))
def rows_and_columns_of_columns(a, i, pairs):
    return a[i] + 1, a[:, i] + 1, a[pairs], a[:, pairs], a[i, i], a[[0, 2], [1, 3]]


@PROGRAMS.whole(lambda: (table("C"), *places()))
def points(a, i, pairs):
    return a[i, i], a[[0, 2], [1, 3]], a[pairs, i[:2]], a[i[:, None], i], a[1, i], a[pairs, 1]


@PROGRAMS.whole(lambda: (np.arange(60.0).reshape(3, 4, 5), *places()))
def of_three_axes(a, i, pairs):
    i = abs(i)
    return (
        a[i], a[:, i], a[:, :, i], a[i, :, i], a[i, i], a[:, i, i], a[0, :, i], a[0, i], a[pairs, :, 0],
        a[:, pairs, 1], a[i, 1, :], a[[2, 0]].sum(),
    )  # fmt: skip


@PROGRAMS.either(lambda: (table("C"), np.array([0, 9]), np.array([True, False] * 3)))
def keys_that_fail_or_are_no_numbers(a, i, mask):
    said = []
    for key in (i, (slice(None), i), (i, i, i), mask[:2], np.array([0.5])):
        try:
            a[key]
        except IndexError as error:
            said.append(str(error))
    return said, a[mask], a[[True] * 6], a[i[:1], 1:3], a[..., i[:1]], a[[]]


@PROGRAMS.whole(lambda: (table("C"), np.array([[3, 1, 2], [2, 0, 1]])))
def order(a, keys):
    return (
        np.take_along_axis(a, np.argsort(-a, axis=1), 1),
        np.take_along_axis(a, np.argsort(a, 0)[:2], axis=0),
        np.lexsort((keys[0], keys[1])),
        np.argpartition(keys, 1),
        keys.argpartition(1, axis=0),
        np.argpartition(keys, 2, axis=None),
        np.unravel_index(np.argmax(a), a.shape),
        np.isin(a, [3.0, 5.0]),
        np.isin(keys, keys[0], invert=True),
    )


@PROGRAMS.whole(lambda: (table("F"), 2.0))
def choices(a, f):
    return (
        np.select([a < 5, a < 20], [a, a * f]),
        np.select([a < 5, a[0] < 20], [a, f], default=-1.0),
    )


@PROGRAMS.either(lambda: (table("C"), np.array([1, 2])))
def views_of_what_was_picked(a, i):
    rows = a[i]
    rows[0] = -1
    columns = a[:, i].T
    columns += 1
    a[0] = columns[0, 0]
    return a, rows, columns


# Stored by arrays of places --------------------------------------------------------------------------------------


def written():
    """Arrays that are written, and where: some twice, some counted from the end."""
    x, a = np.arange(10.0), np.arange(30.0).reshape(5, 6)
    return x, a, np.array([1, 3, 1, -1]), np.array([[0, 2], [4, -2]]), np.arange(4.0)


@PROGRAMS.whole(written)
def stored_at_places(x, a, i, grid, v):
    made = np.zeros((5, 4))
    made[np.arange(4), i] = 1
    made[grid, 0] = v.reshape(2, 2)
    before = made.sum(0)
    x[i] = v
    return before, made, x * 2, x


@PROGRAMS.whole(written)
def added_at_places(x, a, i, grid, v):
    x[i] += 2
    return x, a


@PROGRAMS.whole(written)
def rows_and_columns_stored(x, a, i, grid, v):
    b, c, d, e = a + 1, a.T.copy(), np.zeros((5, 6), int), np.zeros((5, 6), "c8")
    b[[0, 1]] = a[[1, 0]]
    c[:, [1, 2]] = 7
    d[i] = np.arange(6)
    d[:, i] = True
    e[[2], [3]] = 1.5
    b[[4, 0]] = b[0]
    c[grid] = np.nan
    b[1, i] = v
    return b, c, d, e, a


@PROGRAMS.whole(written)
def swapped(x, a, i, grid, v):
    x[[1, 2]] = x[[2, 1]]
    return x


@PROGRAMS.whole(written)
def gradient_of_a_loss(x, a, i, grid, v):
    p = np.exp(a[:4] - a[:4].max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    g = p.copy()
    g[np.arange(len(i)), i] -= 1
    return g / len(i)


@PROGRAMS.either(written)
def stored_otherwise(x, a, i, grid, v):
    x[i] = np.arange(4)
    a[0][i] = 1
    a[i] = x[:6]
    x[[]] = 5
    x[i.astype("u1") % 7] = v.astype("f4")
    a[grid, None] = 3.0
    d = np.zeros(10, int)
    d[i] = v
    d[i] = 2.5
    return x, a, d


@PROGRAMS.either(written)
def stored_out_of_bounds(x, a, i, grid, v):
    said = []
    for array, key, value in (
        (x, i + 7, v),
        (x, grid, v),
        (a, (i, i + 3), 1.0),
        (a, i - 9, 0.0),
        (x, [0, 99], 5.0),
    ):
        try:
            array[key] = value
        except (IndexError, ValueError) as error:
            said.append(str(error))
    x[i] = 4
    x[i + 9] = 5
    return said, x, a


@PROGRAMS.raising(written)
def stored_nowhere(x, a, i, grid, v):
    x[i * 9] = v
    return x


@PROGRAMS.either(lambda: (np.arange(4.0), np.array([0, 2]), True))
def stored_on_one_side(x, i, flag):
    if x.sum() > 3:
        x[i] = 9
    else:
        x[i] = -9
    y = x * 2
    if y[0] > 1:
        y[i] += 1
    return x, y


def cube():
    """Three axes in C order and in Fortran's, places, and what picks some of four."""
    a = np.arange(60.0).reshape(3, 4, 5)
    return a, np.asfortranarray(a), np.array([2, 0, 1]), np.array([True, False, True, True])


@PROGRAMS.whole(cube)
def masks_beside_others(a, f, i, mask):
    k = np.argmax(a[0, :, 0])
    return (
        a[0][mask, 1], a[1][mask], a[:, mask], f[:, mask], a[:, mask, 2], a[0][mask, :], a[..., mask, 0], a[1, mask],
        a[i[0], mask], f[1, mask, 3], a[0][mask][:, mask[:1].size :], a[:, mask].sum(axis=0), a[k - 1, mask],
        a[0, mask, k],
    )  # fmt: skip


@PROGRAMS.whole(cube)
def slices_beside_places(a, f, i, mask):
    n = a.shape[1]
    return (
        a[i, 1:], f[i, 1:], a[1:, i], a[:, 1:3, i], f[:, ::2, i], a[i, ..., 1:], a[..., i], f[..., i, 1:], a[i, 1:, i],
        a[0, i, 1:], a[i, n - 1], a[[0, 2], 1:, [1, 3]], a[1:, [0, 1]],
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(12.0).reshape(4, 3) % 5, np.array([1, 2])))
def rows_exchanged(a, i):
    k = np.argmax(np.abs(a[:, 0]))
    found = a[[k, 1]], a[i, k - 1 : k]
    a[[0, k]] = a[[k, 0]]
    return a, found


@PROGRAMS.whole(cube)
def written_beside_masks(a, f, i, mask):
    b = f.copy()
    b[1, mask] += 1
    b[..., mask, 0] = -1.0
    a[:, mask] = 0.0
    return a, b


@PROGRAMS.either(cube)
def masks_beside_others_that_do_not_fit(a, f, i, mask):
    found = []
    for read in (
        lambda: a[mask, 0], lambda: a[:, mask[:3]], lambda: a[:, mask, i], lambda: a[i, mask], lambda: a[0, 0, 0, mask],
        lambda: a[:, np.zeros(4, bool)], lambda: a[:, mask & (i.sum() > 9)].sum(axis=0), lambda: a[[0, i[0], 9]],
        lambda: a[[np.uint64(1), 0]], lambda: a[[True, False, True]], lambda: a[i, None], lambda: a[..., i, ...],
        lambda: a[:, [1], ::-1],
    ):  # fmt: skip
        try:
            found.append(read())
        except IndexError as error:
            found.append(str(error))
    f[:, 1:][:, mask[1:]] = 0
    return found, f


@PROGRAMS.either(cube)
def one_or_none_of_an_axis(a, f, i, mask):
    found = []
    for n in range(5):
        few = np.cumsum(mask) == n
        part = a[:, few]
        found += [
            part,
            part + 1,
            np.exp(part),
            part.sum(axis=0),
            part.T * 2,
            f[:, few].sum(axis=0),
            a[0][few] * 2,
        ]
    return found


@PROGRAMS.whole(lambda: (table("C"), np.arange(60.0).reshape(3, 4, 5), 5))
def ranges_and_tuples_as_places(a, f, n):
    i = np.where(a[:, 0] > 10)
    found = (
        a[range(n)],
        a[range(len(a)), 1],
        a[range(1, 6, 2), 0:3],
        a[(0, 1), (2, 3)],
        a[:, (1, -2)],
        f[1, (0, 2)],
        a[i],
        a[i, :2],
    )
    a[i, 1] *= -1
    return found, a[i, 1], i


@PROGRAMS.either(lambda: (table("C"), np.arange(60.0).reshape(3, 4, 5), 5))
def ranges_and_tuples_that_are_stored_at_or_do_not_fit(a, f, n):
    a[range(3), 0] = 5.0
    a[(0, 1), 1] += 1
    a[range(n), 2] = a[range(1, n + 1), 3]
    said = [a[range(n, -1, -1)], a[range(n, n)], a[((1, 2),)], a[()].shape]
    for key in (range(9), (range(9), 0), ((0, 99), 1), ((True, False), 0), ((0.5, 1), 0)):
        try:
            said.append(a[key])
        except IndexError as error:
            said.append(str(error))
    return said


@PROGRAMS.whole(lambda: (table("C"), np.arange(84.0).reshape(6, 7, 2)))
def masks_of_several_axes_before_whole_ones(a, f):
    wall = a % 3 == 1
    found = f[wall, :]
    f[wall, :] = found[:, [1, 0]]
    f[wall, ...] *= 2
    f[a > 40, :] = -1.0
    return found, f[wall, ...], f[wall, :].sum(axis=0)


@PROGRAMS.either(lambda: (table("C"), np.arange(84.0).reshape(6, 7, 2)))
def masks_of_several_axes_that_do_not_fit(a, f):
    said = [f[a > 5, 0], f[a > 5, 1:], f.transpose(1, 0, 2)[a.T > 5, :]]
    for read in (lambda: f[a[:, :2] > 5, :], lambda: f[a > 5, :, :], lambda: f[a > 5, ..., ...]):
        try:
            said.append(read())
        except IndexError as error:
            said.append(str(error))
    return said


@PROGRAMS.whole(
    lambda: (np.array([0.5, -1.0, 2.0, -3.0]), np.arange(4.0), np.arange(8.0).reshape(4, 2))
)
def stored_at_places_found_before(x, y, a):
    i = np.where(x < 0)[0]
    x[i] = 0.0
    y[i] += 2.0
    a[i, 1] = y[i]
    order = np.argsort(x)
    y[order] = x
    a[np.flatnonzero(y > 0), -1] *= 3
    return x[order], a[order[::-1]], a[i]


@PROGRAMS.either(lambda: (np.array([0.5, -1.0, 2.0, -3.0]), np.arange(3.0), np.zeros((2, 2))))
def stored_at_places_of_a_longer_array(x, y, a):
    i = np.where(x < 0)[0]
    x[i] = 0.0
    said = []
    for change in (
        lambda: y.__setitem__(i, 1.0),
        lambda: a.__setitem__((i, 1), 1.0),
        lambda: y[np.argsort(x)],
    ):
        try:
            said.append(change())
        except IndexError as error:
            said.append(str(error))
    i[0] = 7
    try:
        x[i] = 1.0
    except IndexError as error:
        said.append(str(error))
    return said, x, y, a

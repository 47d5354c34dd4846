"""Programs that pick elements and rows by arrays and lists of whole numbers."""

from __future__ import annotations

import numpy as np

from tests.support.recording import MODES
from tests.support.registering import Programs

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

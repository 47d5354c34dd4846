"""Programs of everyday NumPy: statistics with missing values, lists in the place of arrays, parts that tables have rows for."""

from __future__ import annotations

import math

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)
GAPS = np.array([1.0, np.nan, -2.5, 4.0, np.nan, 0.5])
RISING = np.array([0.0, 0.5, 1.0, 2.0, 4.0])


def gaps():
    """A vector, a table in C order and one in Fortran's, all with missing values."""
    table = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]])
    return GAPS.copy(), table, np.asfortranarray(table.astype("f4"))


@PROGRAMS.whole(gaps)
def missing_values(x, a, b):
    return (
        np.nanmean(x), np.nanstd(x), np.nanvar(x, ddof=1), np.nanmax(x), np.nanmin(x), np.nansum(x),
        np.nanmedian(x), np.nanpercentile(x, 90), np.nanquantile(x, [0.1, 0.5]),
        np.nanmean(a, axis=0), np.nanstd(b, axis=1, keepdims=True), np.nanmax(b, axis=-1), np.nanmedian(a, axis=1),
        np.nanquantile(a, 0.5, axis=0), np.nanargmax(a, axis=0), np.nanargmin(x), np.nancumsum(a, axis=1),
        np.nancumprod(x), (x - np.nanmean(x)) / np.nanstd(x),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(6), np.arange(6).reshape(2, 3) * 1j))
def nothing_missing(i, z):
    return (
        np.nanmean(i),
        np.nanmax(i),
        np.nanstd(i.astype(bool)),
        np.nanmean(z, axis=0),
        np.nanvar(z),
        np.nanmedian(i),
    )


@PROGRAMS.either(lambda: (np.full(3, np.nan), np.zeros(0), np.zeros((0, 3))))
def everything_missing(x, none, empty):
    found = [np.nanmean(x), np.nanmax(x), np.nanmedian(x), np.nanstd(x)]
    found += [np.nanmean(none), np.nanmedian(none), np.nanvar(empty, axis=0)]
    for values in (x, none):
        try:
            found.append(np.nanargmax(values))
        except ValueError as error:
            found.append(str(error))
    return found


@PROGRAMS.either(lambda: (np.array([np.inf, -np.inf, np.nan]),))
def infinities(x):
    return np.nanmean(x), np.nanmedian(x), np.nanstd(x), np.nanpercentile(x, 50)


@PROGRAMS.whole(lambda: (np.arange(4.0), np.arange(12.0).reshape(4, 3), RISING.copy()))
def lists_as_arrays(x, a, s):
    return (
        np.concatenate(([0], np.cumsum(x), [len(x)])),
        np.concatenate([x, [1, 2, 3]]),
        np.vstack([a[0], a.mean(axis=0), [0, 1, 2]]),
        np.hstack(([0.5], x)),
        np.column_stack([x, [1, 2, 3, 4]]),
        np.dot(a, [0.299, 0.587, 0.114]),
        np.average(a, axis=1, weights=[1, 2, 3]),
        np.average(a, axis=(0, 1)),
        np.searchsorted(s, [0.5, 3.0]),
        np.interp([0.25, 9.0], s, x[0] + s),
        np.append(x, [1, 2]),
        np.convolve(x, [0.25, 0.5, 0.25], mode="same"),
        np.select([x < 1, x > 2], [-1.0, 1.0]),
        np.inner(x, [1, 2, 3, 4]),
    )


@PROGRAMS.either(lambda: (np.arange(4.0), np.arange(12.0).reshape(4, 3), 2**70))
def lists_that_do_not_fit(x, a, n):
    found = []
    for given in ([1, 2], [1, n, 3], [[1], [2, 3]]):
        try:
            found.append(np.dot(a, given))
        except (ValueError, TypeError) as error:
            found.append(str(error))
    try:
        found.append(np.average(a, axis=1, weights=[1, 2]))
    except (ValueError, TypeError) as error:
        found.append(str(error))
    return found, np.concatenate(([0], x.astype("f4"))), np.append(x, [])


@PROGRAMS.whole(lambda: (np.arange(9.0).reshape(3, 3) + np.eye(3), np.ones((2, 3, 3)) + np.eye(3)))
def matrices(a, stack):
    return (
        np.linalg.cond(a),
        np.linalg.cond(a, 1),
        np.linalg.cond(stack),
        np.linalg.matrix_rank(a),
        np.linalg.matrix_rank(stack),
        np.linalg.multi_dot([a, a, a[0]]),
        np.vander(a[0], 4),
        np.vander(a[0], increasing=True),
    )


@PROGRAMS.either(lambda: (np.arange(9.0).reshape(3, 3), np.array([[0.0, 1.0], [-1.0, 0.0]])))
def eigenvalues(a, turn):
    return np.linalg.eigvals(a @ a.T), np.linalg.eigvals(turn), np.linalg.eig(turn)[1]


@PROGRAMS.whole(lambda: (np.sin(np.arange(20.0)), RISING - 2, np.cos(np.arange(20.0))))
def counted(x, edges, y):
    h, same_edges = np.histogram(x, bins=edges)
    table, *_ = np.histogram2d(x, y, bins=4)
    return (
        h, same_edges is edges, np.histogram(x, [-1, 0, 1]), np.histogram(x, 4, (0, 1)), table,
        np.histogram2d(x, y, [2, 3], [[-1, 1], [0, 1]]), np.gradient(y, x + np.arange(20)),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.sin(np.arange(20.0)), np.array([1.0, 0.0]), np.array([True, False])))
def counted_otherwise(x, falling, flags):
    try:
        np.histogram(x, falling)
    except ValueError as error:
        return str(error), np.histogram(flags, 2), np.histogram(x, np.zeros(1))


@PROGRAMS.whole(
    lambda: (np.arange(6.0), np.arange(6.0) ** 2 + 1, np.stack([np.arange(6.0)] * 2, 1))
)
def fitted(x, y, both):
    return (
        np.polyfit(x, y, 1),
        np.polyfit(x, y, deg=2, w=y),
        np.polyfit(x, both, 1),
        x - np.polyval(np.polyfit(x, y, 2), x),
    )


@PROGRAMS.either(lambda: (np.ones(4), np.arange(4.0), np.zeros(0)))
def fitted_badly(x, y, none):
    found = [np.polyfit(x, y, 2), np.polyfit(y, x, 1, full=True)]
    try:
        np.polyfit(none, none, 1)
    except TypeError as error:
        found.append(str(error))
    return found


@PROGRAMS.whole(
    lambda: (
        np.arange(9.0).reshape(3, 3),
        np.asfortranarray(np.arange(9).reshape(3, 3)),
        np.arange(3.0),
    )
)
def sums_of_products(a, i, x):
    return (
        np.einsum("ij->j", a), np.einsum("ii", a), np.einsum("ij->", i), np.einsum("...j,j->...", a, x),
        np.einsum("...j,j", a, x), np.einsum("ij,...j->...i", a, np.stack([x, x])), np.einsum("ij,ij->i", a, i),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.arange(9.0).reshape(3, 3), np.arange(3.0)))
def sums_of_products_that_are_views(a, x):
    diagonal = np.einsum("ii->i", a)
    diagonal[0] = 7
    try:
        return a, np.einsum("ij->ji", a), np.einsum("ij,k", a, x), np.einsum("...ij,j->i", a, x)
    except ValueError as error:
        return a, str(error)


@PROGRAMS.whole(
    lambda: (np.arange(6.0), np.array([[True, False], [True, True]]), np.arange(8, dtype=np.uint8))
)
def arranged(x, flags, small):
    return (
        np.meshgrid(x, x[:2], sparse=True), np.meshgrid(x, x[:2], x[:3], sparse=True, indexing="ij"),
        np.packbits(flags), np.packbits(flags, axis=1), np.unpackbits(small), np.unpackbits(small.reshape(2, 4), axis=0),
        np.diff(x, prepend=0), np.diff(x, prepend=x[0], append=x[-1]), np.block([[flags, flags], [flags, ~flags]]),
        np.ravel_multi_index((small % 2, small % 3), (2, 3)), np.i0(x),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(12.0).reshape(3, 4), np.array([[1, 2], [1, 2], [0, 2]])))
def halves(a, rows):
    upper = np.triu_indices(3, 1)
    return (
        a[np.tril_indices(len(a), -1)],
        upper,
        a[upper],
        np.unique(rows, axis=0),
        np.setxor1d(rows[0], rows[2]),
    )


@PROGRAMS.whole(lambda: (np.arange(8.0) - 3, np.arange(8), np.arange(6.0).reshape(2, 3)))
def methods_of_ufuncs(x, i, a):
    return (
        np.add.reduceat(x, [0, 2, 5]), np.maximum.reduceat(x, i[::2]), np.add.reduceat(a, [0, 1], axis=1),
        np.logaddexp.reduce(x), np.hypot.reduce(a, axis=1), np.subtract.reduce(i), np.multiply.accumulate(a, axis=1),
        np.logaddexp.reduce(a, axis=None), np.hypot.reduce(a, axis=(0, 1), keepdims=True),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.arange(6.0).reshape(2, 3), np.array([True, False, True])))
def some_of_what_a_ufunc_reduces(a, mask):
    none = np.logaddexp.reduce(a, where=False)
    return none, np.logaddexp.reduce(a, axis=1, where=mask), np.hypot.reduce(a, where=True)


@PROGRAMS.either(lambda: (np.arange(8.0), np.array([3, 99])))
def sections_that_do_not_exist(x, places):
    try:
        np.add.reduceat(x, places)
    except IndexError as error:
        return str(error), np.add.reduceat(x, places[:0])


@PROGRAMS.whole(
    lambda: (np.array([3.0, np.nan, -1.0, 2.0]), np.array([[3, 1], [2, 0]]), np.arange(6.0)[::-1])
)
def sorted_in_place(x, i, view):
    y = x.copy()
    y.sort()
    i.sort(axis=0)
    view[1:4].sort()
    x.sort(kind="stable")
    return y, i, x, view


@PROGRAMS.whole(lambda: (np.array([2.0, 5.0, 1.0]), np.array([0, 2, 1])))
def running_into_an_array(x, i):
    y = np.empty_like(x)
    found = np.multiply.accumulate(x, out=y)
    np.maximum.accumulate(i, out=i)
    return found is y, y, i


@PROGRAMS.either(lambda: (np.array([2.0, 5.0, 1.0]), np.array([0, 2, 1]), np.zeros(2)))
def running_into_another_type(x, i, short):
    np.add.accumulate(i, out=x)
    try:
        np.add.accumulate(x, out=short)
    except ValueError as error:
        return x, str(error)


@PROGRAMS.whole(lambda: (np.array([1.5, 2.5], "f4"), np.array([[1, 2], [3, 4]]), np.array([True])))
def numbers_of_python(x, i, flags):
    return (
        x.sum().item(),
        i.max().item(),
        i[0, 1].item(),
        i.item(0, 1),
        flags.any().item(),
        x[0].item() * 2,
    )


@PROGRAMS.whole(
    lambda: (np.array([7, -3, 4]), np.array([2.5, np.nan, -1.25]), np.arange(6).reshape(2, 3))
)
def two_results(i, x, a):
    q, r = divmod(i, 2)
    m, e = np.frexp(x)
    return q, r, np.divmod(x, 0.5), np.modf(x), np.ldexp(m, e), divmod(7, i), np.divmod(a, i)


@PROGRAMS.either(lambda: (np.array([7, -3, 0]), np.array([2.5, 0.0, -1.25])))
def two_results_with_warnings(i, x):
    return (
        divmod(i, i),
        np.divmod(x, x),
        np.divmod(1.0, x[1]),
        divmod(x[0], 2),
        np.frexp(x[0]),
        np.divmod(x, 2, x.copy()),
    )


@PROGRAMS.whole(lambda: (np.arange(7.0), 3, np.arange(20.0).reshape(4, 5)))
def sizes_divided(x, n, a):
    h, w = a.shape
    return (
        math.ceil(len(x) / 2), math.floor(len(x) / n), int(len(x) / 2), math.trunc(w / 2), x[: int(len(x) / 2)],
        np.mgrid[0:h, 0:w], np.mgrid[1:h, 2:7:2], np.ogrid[0:h, :w], a[: h // 2 * 2, : w // 2 * 2].reshape(h // 2, 2, w // 2, 2).sum(axis=(1, 3)),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(37.0), 3))
def sizes_rounded(x, stride):
    blocks, rows = int(np.ceil(len(x) / 8)), int((len(x) + 2 * 1 - 3) / stride + 1)
    try:
        repeats = tuple(stride)
    except TypeError as error:
        repeats = (stride, str(error))
    return (
        blocks, rows, repeats, int(np.floor(len(x) / 5)), math.ceil(len(x) / 4 - 2.0), math.floor(len(x) / 2.0 + 1),
        int(len(x) / 3 - 20), x[:rows], x[:blocks] * 2,
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(3.0), np.ones(3, "f4"), np.arange(6.0).reshape(2, 3)))
def columns_and_rows(x, y, a):
    return (
        np.c_[x, y], np.r_[0, x, 7], np.r_[x, y], np.c_[np.ones(len(x)), a.T], np.r_[1:4, x], np.array(x, ndmin=2),
        np.array(x, ndmin=3, copy=None).base is x, np.array(2.5, ndmin=1), np.r_["0,2", x, y],
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(12.0).reshape(3, 4), np.arange(3)))
def flat_elements(a, i):
    part = a.flat[2:5]
    part[0] = -1.0
    return a, part, a.flat[5], a.flat[-1], i.flat[::-1], (a + 1).flat[:]


@PROGRAMS.either(lambda: (np.arange(12.0).reshape(3, 4).T, np.arange(3)))
def flat_elements_of_other_layouts(a, i):
    try:
        a.flat[99]
    except IndexError as error:
        return a.flat[2:5], a.flat[7], i.flat[[0, 1]], str(error)


@PROGRAMS.whole(
    lambda: (
        np.array([1.0, -2.0, 0.0]),
        np.array([0.0, 4.0, 0.0]),
        np.array([2.0, np.inf, 5.0], "f4"),
    )
)
def divided_where_it_can_be(x, y, small):
    out = np.full_like(x, -1.0)
    found = np.divide(x, y, out=out, where=y != 0)
    root = np.sqrt(x, out=np.zeros_like(x), where=x > 0)
    np.reciprocal(small, out=small, where=small < 3)
    return (
        found is out,
        out,
        root,
        np.divide(x, x, out=x, where=x != 0),
        small,
        np.subtract(x, y, where=y > 0, out=y),
    )


@PROGRAMS.either(lambda: (np.array([1.0, -2.0, 0.0]), np.array([0.0, 4.0, 0.0])))
def divided_where_it_cannot_be(x, y):
    out = np.zeros(3)
    np.divide(x, y, out=out, where=x != 5)
    np.log(x, out=out, where=x > 0)
    np.divide(x, 2, out=out, where=y > 0)
    np.divide(x, y, out=out, where=(y > 0)[:1])
    return out, np.divide(x, y, out=np.zeros((2, 3)), where=y != 0)


@PROGRAMS.whole(
    lambda: (np.arange(6.0).reshape(2, 3), np.array([[True, False, True], [False, True, True]]))
)
def reduced_where(a, mask):
    return (
        np.sum(a, where=mask), np.sum(a, axis=0, where=mask), np.max(a, where=mask, initial=-1), np.any(a, where=mask),
        np.prod(a, axis=1, where=mask, keepdims=True),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(4.0), np.array([0, 2, 1, 0])))
def repeated(x, often):
    return (
        np.repeat(x, often),
        x.repeat(often) * 2,
        np.repeat(x, 2),
        np.repeat(x, [1, 0, 2, 0]),
        np.around(x, 1, out=None),
    )


@PROGRAMS.either(lambda: (np.arange(4.0), np.array([0, -2, 1, 0])))
def repeated_wrongly(x, often):
    found = []
    for times in (often, often[:2], -1):
        try:
            found.append(np.repeat(x, times))
        except ValueError as error:
            found.append(str(error))
    return found, np.repeat(x.reshape(2, 2), [1, 2], axis=0)


def close():
    """Two vectors that are about equal, missing and infinite values among them."""
    x = np.array([1.0, 2.0, np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, 5.0])
    y = np.array([1.0 + 1e-9, 2.1, np.nan, np.inf, np.inf, 1e-9, 0.0, 1e308, np.nan])
    return x, y, np.arange(6.0).reshape(2, 3)


@PROGRAMS.whole(close)
def about_equal(x, y, a):
    found = np.isclose(x, y)
    return (
        found, found.base is None, np.isclose(x, y, equal_nan=True), np.isclose(y, x, 0.1, 0.5), np.isclose(a, 2.0),
        np.isclose(a.T, a.T + 1e-10), np.allclose(x, y), np.allclose(a, a + 1e-9), np.allclose(x[5:7], y[5:7], atol=0),
        np.isclose(a[:, ::2], a[:, 1:], rtol=1), np.isclose(x, 2).sum(), np.isclose(x.astype("f4"), y.astype("f4")),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.array([1.7e308, 1.0]), np.array([-1.7e308, 1.0]), np.zeros(2)))
def far_from_equal(x, y, out):
    first = np.isclose(x, y)
    out[:] = 1.0
    found = (
        np.allclose(x, y),
        np.isclose(x, y, rtol=np.inf),
        np.isclose(x, y, rtol=2.0),
        np.isclose(x, x[:1]),
    )
    try:
        np.isclose(x, np.zeros(3))
    except ValueError as error:
        return (
            first,
            found,
            str(error),
            out,
            np.isclose(x, y, atol=1e305),
            np.isclose(x[0], y[0]),
            np.isclose(x, np.zeros(0)[:, None]),
        )


@PROGRAMS.either(lambda: (np.array([1e-320, 2.0]),))
def close_to_nothing(x):
    x[1] = x[0]
    return np.allclose(x, x), np.isclose(x, x)


@PROGRAMS.whole(
    lambda: (
        np.array([np.nan, np.inf, -np.inf, -0.0]),
        np.asfortranarray([[np.nan, 1.0], [np.inf, 2.0]], "f4"),
    )
)
def numbers_for_what_is_missing(x, a):
    return (
        np.nan_to_num(x),
        np.nan_to_num(a),
        np.nan_to_num(x, nan=-1.0),
        np.nan_to_num(a.T, posinf=9, neginf=-9.5),
        np.nan_to_num(x[3:] * 1j),
        np.nan_to_num(x > 0),
        x,
    )


@PROGRAMS.either(lambda: (np.array([np.nan, np.inf]), np.array([np.nan, 1.0], "f4")))
def numbers_in_place(x, small):
    return (
        np.nan_to_num(x, copy=False),
        x,
        np.nan_to_num(small, nan=1e300),
        np.nan_to_num(x, nan=x[::-1]),
    )


@PROGRAMS.whole(lambda: (np.arange(6.0), np.arange(6.0)[::-1].copy(), np.arange(6.0).reshape(2, 3)))
def weighed(x, w, a):
    return (
        np.average(x, weights=w), np.average(a, weights=a + 1), np.average(a, axis=0, weights=a + 1), np.average(a, 1, a + 2, keepdims=True),
        np.average(x), np.average(a.T, axis=-1, weights=a.T + 1), np.average((x - np.average(x, weights=w)) ** 2, weights=w),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.array([1e308, 1.0]), np.array([1.0, -0.9999999]), np.zeros((2, 2))))
def weighed_badly(x, w, zero):
    found = [np.average(x, weights=w), np.average(x * 1e-200, weights=w * 1e200)]
    for weights, axis in ((zero[0], None), (zero, 0), (zero[:, :1], 0)):
        try:
            found.append(np.average(zero if axis is not None else x, axis=axis, weights=weights))
        except (ZeroDivisionError, ValueError) as error:
            found.append(str(error))
    x[0] = 2.0
    return found, np.average(x, weights=w), np.average(zero[:0], weights=zero[:0])


@PROGRAMS.whole(
    lambda: (
        np.arange(5.0),
        np.arange(12).reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    )
)
def rolled(x, a, f):
    r = np.roll(x, 1)
    return (
        r, r.base is None, np.roll(x, -2) - x, np.roll(a, 1, axis=0), np.roll(f, -1, axis=1), np.roll(a, 2, 1) + np.roll(a, -1, 0),
        np.roll(x[::2], 1), np.roll(np.roll(f, 1, 0), -1, 1), np.roll(x, 0), np.roll(x, 7), np.roll(a, 1), np.roll(x > 2, 3),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.arange(5.0), np.zeros(0), np.array([[1, 2]]), np.array([2])))
def rolled_otherwise(x, none, row, by):
    x[0] = 9.0
    try:
        np.roll(x, 1, axis=1)
    except ValueError as error:
        return (
            np.roll(none, 1),
            np.roll(row, 1, 0),
            np.roll(row, (1, 1), (0, 1)),
            np.roll(x, by),
            np.roll(x, by[0]),
            str(error),
            np.roll(x, True),
        )


@PROGRAMS.either(
    lambda: (np.array([np.inf, 1.0, np.nan]), np.array([1e200, -1e200, 0.0]), np.zeros(3))
)
def missing_values_that_warn(x, y, out):
    first = np.nanmean(x), np.nanvar(x)
    out[:] = 1.0
    out[1:] += np.nanstd(x[1:])
    return first, np.nanvar(y), np.nanstd(x), np.nanmax(x[2:]), out


@PROGRAMS.either(lambda: (np.array([np.inf, 1.0, np.nan]), np.zeros(3)))
def missing_values_that_warn_before_a_write(x, out):
    found = np.nanstd(x)
    out[:] = 1.0
    return found, out


@PROGRAMS.whole(lambda: (np.arange(6.0), np.arange(6).reshape(2, 3), np.array([0, 2, 2])))
def padded(x, a, i):
    return (
        np.pad(x, 2, mode="mean"), np.pad(a, 1, "maximum"), np.pad(x, (0, 3), "linear_ramp", end_values=(0, 9)), np.pad(a, ((1, 0), (0, 2)), "median"),
        np.pad(x, 2, mode="minimum", stat_length=2), np.pad(x, 3, mode="reflect", reflect_type="odd"),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (np.arange(6.0) - 2, np.arange(12.0).reshape(4, 3), np.array([0, 2, 2])))
def left_out(x, a, i):
    return (
        np.delete(x, i),
        np.delete(x, np.where(x > 0)),
        np.delete(a, i, axis=0) * 2,
        np.delete(x, np.flatnonzero(x > 9)),
        np.delete(a, 1, axis=1),
    )


@PROGRAMS.either(lambda: (np.arange(6.0) - 2, np.arange(12.0).reshape(4, 3), np.array([0, 9])))
def left_out_otherwise(x, a, i):
    try:
        np.delete(x, i)
    except IndexError as error:
        return (
            str(error),
            np.delete(x, x > 0),
            np.delete(a, i[:1], axis=1),
            np.delete(a, i[:1]),
            np.delete(x, [1, 2]),
            np.delete(x, i[:0]),
        )


@PROGRAMS.whole(lambda: (np.arange(24.0).reshape(2, 3, 4), 3))
def axes_by_letters(a, n):
    part = np.einsum("ijk->kij", a)
    part[0, 0, 0] = 99.0
    return part, a, np.einsum("ij -> ji", a[0]) + 1, np.einsum("ijk->ijk", a)


@PROGRAMS.whole(lambda: (np.arange(7.0), np.arange(4), np.arange(6.0).reshape(2, 3)))
def ranges_with_steps(x, i, a):
    n = len(x)
    return (
        np.arange(0, n, 2), np.arange(1, n, 3) * 2, np.arange(n - 1, -1, -1), np.arange(n, 0, -2), np.add.reduceat(x, np.arange(0, n, 2)), x[np.arange(0, n, 2)],
        np.ediff1d(x, to_begin=0), np.ediff1d(x), np.zeros_like(x, shape=(3, n)), np.empty_like(a, shape=n).shape, np.ones_like(a, shape=(2, 2)),
    )  # fmt: skip


@PROGRAMS.whole(
    lambda: (np.array([0.2, 1.7, -3.0]), np.array([[3, 1], [1, 2]], np.uint8), np.float32(2.5))
)
def bounded_numbers_and_ranges(x, a, f):
    c = np.dot(x, x) / 3
    return (
        np.clip(c, -1, 1), np.clip(x[0], 0, None), np.clip(f * 2, 0, 1.5), np.clip(a[0, 0], 0, 2), c.clip(max=0.5),
        np.arange(x[0], x[1], 0.25), np.arange(0, c, 0.5) * 2, np.arange(x[1]), np.unique(a, return_counts=True), np.unique(a, return_inverse=True),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.array([0.2, np.nan, 1e300]), np.array([5, 300])))
def ranges_that_do_not_end(x, i):
    found = [np.arange(x[0], -1.0), np.clip(np.uint8(7) + i[0], 0, 6)]
    for make in (
        lambda: np.arange(x[1]),
        lambda: np.arange(x[2]),
        lambda: np.arange(0.0, x[0], x[0] - x[0]),
        lambda: np.clip(np.uint8(9), 0, int(i[1])),
    ):
        try:
            found.append(make())
        except (ValueError, MemoryError, ZeroDivisionError, OverflowError) as error:
            found.append(str(error))
    return found


def noise():
    """A generator and what it is added to."""
    return np.random.default_rng(3), np.random.RandomState(np.random.PCG64(4)), np.arange(6.0), 4


@PROGRAMS.whole(noise)
def random_arrays(rng, old, x, n):
    y = x + rng.normal(size=len(x)) * 0.1
    mask = rng.random(x.shape) < 0.5
    picked = x[rng.integers(0, len(x), size=(3, n))].mean(axis=1)
    walk = np.cumsum(old.choice(n, size=5) - old.randn(5))
    return np.where(mask, y, 0.0), picked, walk, rng.permutation(n), rng.random() + old.rand(), rng


@PROGRAMS.either(noise)
def random_numbers_and_writes(rng, old, x, n):
    x += rng.uniform(-1, 1, x.shape)
    x[old.randint(0, len(x), 3)] *= 2
    found = [rng.normal(x), rng.poisson(3.0, size=n)]
    found.append(rng.exponential(2.0, (2, n)) @ np.ones(n))
    return found, old.normal(size=2), rng.integers(n)


@PROGRAMS.either(noise)
def random_numbers_that_do_not_fit(rng, old, x, n):
    found = [rng.random(3), old.rand(2)]
    try:
        found.append(rng.normal(0.0, x - 2.0))
    except ValueError as error:
        found.append(str(error))
    found.append(rng.random(2) / (x[:2] - x[0]))
    return found, rng.integers(5, n, size=2) if n > 5 else rng.random()


@PROGRAMS.whole(lambda: (np.cumsum(np.cos(np.arange(60.0))) + 9, 5))
def rolling_windows(price, width):
    windows = np.lib.stride_tricks.sliding_window_view(price, width)
    returns = np.diff(price) / price[:-1]
    spread = np.lib.stride_tricks.sliding_window_view(returns, 20).std(axis=1, ddof=1)
    upper = windows.mean(axis=1) + 2 * windows.std(axis=1)
    return upper, windows.max(axis=1) - windows.min(axis=-1), windows.sum(axis=1), spread


@PROGRAMS.either(lambda: (np.linspace(-2, 1, 7) + 1j * np.linspace(-1, 1, 5)[:, None],))
def escape_times(c):
    z, n = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(6):
        inside = np.abs(z) <= 2
        # NumPy writes over one of these, if they are many: only values decide.
        z[inside] = z[inside] ** 2 + c[inside]
        n[inside] += 1
    return n, np.flatnonzero(n == 6), z[n == 6]

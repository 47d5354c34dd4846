"""Programs that call functions of NumPy which a graph calls whole."""

from __future__ import annotations

import warnings

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)


@PROGRAMS.whole(lambda: (np.arange(5.0), 2.5, 4))
def evenly_spaced(x, f, n):
    return (
        np.linspace(0, 1, 7),
        np.linspace(x[1], f, len(x)),
        np.linspace(0, n, 5, endpoint=False, dtype=np.float32),
        np.linspace(x[:2], 1.0, num=3),
        np.linspace(1, 2) * 2,
        np.logspace(0, 1, 4),
    )


@PROGRAMS.either(lambda: (np.arange(5.0),))
def evenly_spaced_otherwise(x):
    try:
        np.linspace(0, 1, -len(x))
    except ValueError as error:
        return np.linspace(0, 1, 5, retstep=True), np.linspace(x, 1, 3, axis=-1), str(error)


@PROGRAMS.whole(lambda: (np.arange(6.0), np.arange(6.0).reshape(2, 3).T))
def quantiles(x, a):
    return (
        np.percentile(x, 30),
        np.percentile(x, [10, 50, 90]),
        np.quantile(a, 0.5, axis=0),
        np.quantile(a, (0.25, 0.75), axis=1, keepdims=True),
        np.percentile(a, 50, method="lower"),
        np.quantile(x.astype("f4"), 0.5),
    )


@PROGRAMS.either(lambda: (np.arange(6.0)[::-1].copy(), np.zeros(0)))
def quantiles_that_change_or_fail(x, none):
    y = x + 0
    found = np.percentile(y, 50, overwrite_input=True), np.median(x, overwrite_input=True)
    said = []
    for values, q in ((x, 101), (none, 50)):
        try:
            np.percentile(values, q)
        except (ValueError, IndexError) as error:
            said.append(str(error))
    return found, x, y, said


@PROGRAMS.whole(lambda: (np.array([1.0, np.nan, 3.0]), np.array([1.0, np.nan, 3.5])))
def comparisons(x, y):
    return (
        np.isclose(x, y),
        np.isclose(x, y, equal_nan=True),
        np.isclose(x, 1.0, rtol=0.1, atol=0),
        np.isclose(x[0], y[0]),
        np.allclose(x, x, equal_nan=True),
        np.allclose(x, y),
        np.array_equal(x, y),
        np.array_equal(x, x, equal_nan=True),
        np.array_equal(x, [1.0, 2.0]),
        np.count_nonzero(x),
        np.count_nonzero(x > 1, axis=0),
    )


@PROGRAMS.whole(lambda: (np.array([1.0, np.nan, np.inf, -np.inf]), np.arange(6).reshape(2, 3)))
def others(x, i):
    return (
        np.nan_to_num(x),
        np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0),
        np.nan_to_num(x[0]),
        np.nan_to_num(i),
        np.roll(x, 1),
        np.roll(i, (1, 1), axis=(0, 1)),
        np.roll(i, -1),
        np.partition(i * -1, 1),
        np.partition(i, 0, axis=None),
        np.digitize(x[2:], [0.0, 1.0]),
        np.convolve(x[2:] * 0, i[0]),
        np.convolve(i[0], i[1]),
    )


@PROGRAMS.either(lambda: (np.arange(3.0), np.zeros(0)))
def others_that_fail(x, none):
    said = []
    for call in (
        lambda: np.convolve(x, none),
        lambda: np.digitize(x, x[::2][::-1] - x[:2]),
        lambda: np.partition(x, 5),
        lambda: np.nan_to_num(x, copy=False) is x,
        lambda: np.convolve(x, x, "same"),
    ):
        try:
            said.append(call())
        except ValueError as error:
            said.append(str(error))
    return said


@PROGRAMS.whole(lambda: (np.arange(3.0), 2.5, 4))
def numbers_of_numpy(x, f, n):
    return (
        np.float64(f),
        np.float64(n),
        np.int32(len(x)),
        np.uint8(n),
        np.float64(x.sum()),
        float(np.asarray(f)),
        int(np.asarray(n)),
        float(x[1:2].squeeze()),
        np.ravel(f),
        np.append(x, 1),
    )


@PROGRAMS.either(lambda: (np.arange(300), 2.5))
def numbers_that_do_not_fit(x, f):
    try:
        return np.uint8(len(x))
    except OverflowError as error:
        return str(error), np.float32(f), np.int64(f)


@PROGRAMS.whole(lambda: (np.arange(3.0),))
def addresses(x):
    return id(np) == id(np), id(None) == id(None), id(np.add) in {id(np.add): 1}, id(int)


def layouts():
    """Arrays of vectors in C order, in F order, strided, of ints, and one vector."""
    c = np.sin(np.arange(12.0)).reshape(4, 3)
    return (
        c,
        np.asfortranarray(c[::-1]),
        np.arange(24.0).reshape(4, 6)[:, ::2],
        np.arange(12).reshape(4, 3),
        c[1],
    )


@PROGRAMS.whole(layouts)
def cross_products(c, f, strided, i, one):
    return (
        np.cross(c, f),
        np.cross(c, strided),
        np.cross(i, i + 1),
        np.cross(c, one),
        np.cross(c.T, f.T, axis=0),
    )


@PROGRAMS.whole(layouts)
def cross_products_of_few(c, f, strided, i, one):
    return (
        np.cross(c[0], one),
        np.cross(c, f, axisc=0),
        np.cross(c[:1], f),
        np.cross(i.astype("f2"), c.astype("f4")),
        np.cross(i[0], i[1]),
    )


@PROGRAMS.either(layouts)
def cross_products_otherwise(c, f, strided, i, one):
    found = [np.cross(c[:0], f[:0]), np.cross(i, i[::-1]), np.cross(i.astype("f2"), c.astype("c8"))]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found += [np.cross(c[:, :2], f), np.cross(one[:2], one[1:])]
    try:
        np.cross(c, strided[:2])
    except ValueError as error:
        found.append(str(error))
    return found, [(str(one.message), one.lineno, one.filename == __file__) for one in said]


@PROGRAMS.either(
    lambda: (np.array([[1.0, np.nan, 3.0], [np.nan, -0.0, 0.0]]), np.full(3, np.nan), np.arange(4))
)
def the_largest_but_nan(a, none, i):
    found = [
        np.nanmax(a),
        np.nanmin(a, axis=0),
        np.nanmax(i),
        np.nanmin(a.T, axis=1, keepdims=True),
        np.fmax.reduce(a),
        np.fmin.reduce(a, None),
    ]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found += [np.nanmax(none), np.nanmin(np.stack([none, none]), axis=1), np.nansum(none)]
    for empty in (none[:0], a[:0]):
        try:
            np.nanmax(empty, axis=0)
        except ValueError as error:
            found.append(str(error))
    return found, [(str(one.message), one.lineno, one.filename == __file__) for one in said]


@PROGRAMS.whole(lambda: (np.array([[1.0, np.nan], [np.inf, 2.0]]), np.arange(6).reshape(2, 3)))
def the_largest_numbers(a, i):
    return (
        np.fmax.reduce(a),
        np.fmin.reduce(a, axis=1),
        np.fmax.reduce(i, axis=None),
        np.fmin.reduce(i.T, keepdims=True),
    )


@PROGRAMS.whole(lambda: (np.arange(5.0), np.arange(6).reshape(2, 3), np.array([1, 0, 1, 0, 0])))
def steps_and_choices(x, a, i):
    return (
        np.multiply.accumulate(x + 1), np.add.accumulate(a, axis=1), np.maximum.accumulate(a, axis=0, dtype=float), np.subtract.accumulate(a.T, 1),
        np.choose(i, [x, -x]), np.choose(i, (x, 2)), np.choose(i[:, None], [x, x[::-1]]), x.sum().round(2), (x.mean() / 3).round(decimals=3), x.max().round(),
        np.isnan(x.sum()).any(), np.isnan(x.max()).all(), np.any(x.sum() > 3), a.sum().round(-1), np.multiply(x, 2, out=...), np.add(x[0], 1, out=...),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.arange(5.0), np.array([1, 0, 3, 0, 0])))
def choices_that_fail(x, i):
    found = [
        np.choose(i, [x, -x], mode="wrap"),
        np.choose(i, [x, -x], mode="clip"),
        np.choose(i, np.stack([x, x, x, -x])),
    ]
    try:
        np.choose(i, [x, -x])
    except ValueError as error:
        found.append(str(error))
    return found


@PROGRAMS.whole(
    lambda: (np.linspace(-2, 2, 9), np.arange(12).reshape(3, 4), np.arange(6, dtype="f4"))
)
def clipped_in_place(x, i, f):
    made = np.empty_like(x)
    low = np.clip(x, -1, None, out=made)
    np.clip(f, 1.5, 3.5, f)
    x.clip(-0.5, 0.5, out=x)
    i.clip(2, out=i)
    i[1:].clip(max=7, out=i[1:])
    return low is made, made, x, i, f


@PROGRAMS.either(lambda: (np.linspace(-2, 2, 9), np.arange(9), np.array([np.nan, 1.0, -3.0])))
def clipped_otherwise(x, i, n):
    found = [np.clip(n, 0, 2, out=n), np.clip(x, i - 3, i + 1.5, out=x), np.clip(i, 1, 5, out=None)]
    for low, high, out in ((0.5, 1.5, i), (0, 1, x[:4]), (None, None, x)):
        try:
            found.append(np.clip(x, low, high, out=out))
        except (TypeError, ValueError) as error:
            found.append(str(error))
    return found, np.clip(x, 0, 1, out=np.zeros((2, 9))), np.clip(x[::-1], -1, 1, out=x)


@PROGRAMS.either(lambda: (np.arange(4.0), np.arange(3.0), np.ones(1)))
def statistics_of_two_otherwise(x, y, one):
    found = [
        np.cov(x, x * 2, bias=True),
        np.cov(x, np.stack([x, x])),
        np.corrcoef(x, x[::-1]),
        np.cov(x, x, ddof=0),
    ]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found += [np.cov(one, one), np.corrcoef(x * 0, x)]
    try:
        np.cov(x, y)
    except ValueError as error:
        found.append(str(error))
    return found, [(str(each.message), each.lineno, each.filename == __file__) for each in said]


def several():
    """A vector, one without negative numbers, a table, three of these, whole numbers, a table of these and labels."""
    x = np.sin(np.arange(7.0))
    a, t = np.cos(np.arange(20.0)).reshape(4, 5), np.sin(np.arange(24.0)).reshape(2, 3, 4)
    i = np.array([3, 1, 3, 0, 5, 1, 0])
    return x, x**2 + 0.5, a, t, i, np.array([[2, 1], [0, 4], [2, 1]]), i % 3


@PROGRAMS.whole(several)
def reduced_from_a_number_on(x, w, a, t, i, j, labels):
    return (
        np.max(a, axis=1, initial=0), np.min(a, initial=0), a.max(initial=-1.5), a.min(axis=0, initial=5), np.sum(a, axis=0, initial=10),
        np.max(j, initial=3), np.max(a[:0], initial=2.0), np.max(a, axis=0, initial=-9.0, where=a > 0), np.prod(a, initial=2),
        np.logical_and.reduce([x > 0, w > 0]), np.maximum.reduce([x, w]), np.add.reduce((x, w)), np.add.reduce([1, 2, 3]),
        np.logical_or.reduce([x > 1, w > 1], axis=0), np.max(x, initial=i[0]), np.min(j, axis=(0, 1), keepdims=True, initial=-7),
    )  # fmt: skip


@PROGRAMS.either(several)
def reduced_from_a_number_on_otherwise(x, w, a, t, i, j, labels):
    found = [a.sum(initial=3.0), np.sum(a * 1e308, axis=0, initial=1e308), np.sum(x, initial=1j)]
    for array, number in ((a[:0], None), (i, "1"), (a, a[0])):
        try:
            found.append(np.max(array, initial=number))
        except (TypeError, ValueError) as error:
            found.append(type(error))
    try:
        np.logical_and.reduce([x > 0, w[:2] > 0])
    except ValueError as error:
        found.append(str(error))
    return found


@PROGRAMS.whole(several)
def one_hot(x, w, a, t, i, j, labels):
    rows = np.eye(labels.max() + 1)[labels]
    return (
        rows,
        rows.sum(axis=0),
        np.eye(int(i.max()) + 1, dtype=np.float32),
        np.eye(3, dtype=int)[labels],
        np.eye(len(x), k=1),
    )


@PROGRAMS.either(several)
def identities_of_few_rows(x, w, a, t, i, j, labels):
    found = [
        np.eye(i[3]),
        np.eye(i[1]),
        np.eye(i.max(), 2),
        np.eye(i.max(), k=1),
        np.eye(i.max(), order="F"),
    ]
    for rows in (-i.max(), x[0], i.max() * 1.0):
        try:
            found.append(np.eye(rows))
        except (TypeError, ValueError) as error:
            found.append(str(error))
    return found


@PROGRAMS.whole(several)
def several_places(x, w, a, t, i, j, labels):
    z = x + 1j * w
    return (
        np.partition(x, [1, 3]), np.argpartition(x, (0, 2)), np.partition(a, [0, 1], axis=1), np.partition(x, kth=[1]), x.argpartition([1, 2]),
        np.unique(j, axis=0, return_inverse=True), np.unique(j, axis=0, return_index=True, return_counts=True), np.unique(i, equal_nan=False),
        np.unique_values(i), np.unique_counts(i), np.unique_inverse(i), np.unique_all(i).counts,
        np.vdot(z, z).real, z[0].real + 1, z.sum().imag, z.astype("c8").sum().real, (z[1].real, z[1].imag),
        np.average(x, weights=w, returned=True), np.average(a, axis=0, returned=True), np.average(x, returned=True),
        np.average(a, axis=1, weights=np.arange(1, 6), returned=True), x.compress(w > 1), x.compress(x > 0, axis=0),
        np.insert(x, [1, 3], 0.0), np.insert(x, (0, 0, 2), [1, 2, 3]), np.insert(x, [2], w), np.insert(i, -1, 7), np.quantile(x, 0.5, weights=w, method="inverted_cdf"),
        np.quantile(a, [0.2, 0.7], axis=1, weights=w[:5], method="inverted_cdf"), np.intersect1d(i, labels, return_indices=True),
        np.diagflat(x), np.diagflat(a), np.diagflat(x, 1), np.diagflat([1, 2]), np.diagflat(x, k=-2),
    )  # fmt: skip


@PROGRAMS.whole(several)
def transforms_of_several_axes(x, w, a, t, i, j, labels):
    return (
        np.fft.fftn(t, axes=(1, 2)), np.fft.fft2(t, axes=(0, 1)), np.fft.rfft2(a), np.fft.rfftn(t), np.fft.rfft2(t, axes=(0, 1)),
        np.fft.ifftn(t, axes=(0,)), np.fft.fft2(a, norm="ortho"), np.fft.rfft2(a.T), np.fft.rfftn(t, axes=(2, 0)), np.fft.rfft2(a.astype("f4")),
    )  # fmt: skip


@PROGRAMS.either(several)
def several_places_otherwise(x, w, a, t, i, j, labels):
    found = [
        np.unique(j, axis=1, return_inverse=True),
        a.compress([True, False, True], axis=0),
        np.diagflat(2.5),
        np.fft.fftn(t, s=(2, 2), axes=(0, 1)),
    ]
    for call in (
        lambda: np.partition(x, [1, 30]), lambda: np.fft.fftn(t, axes=(5,)), lambda: np.average(x, weights=x - x, returned=True),
        lambda: np.insert(x, [1, 30], 0.0), lambda: np.insert(x, [1, 2], [1, 2, 3]), lambda: np.insert(x, [], 1.0), lambda: np.insert(a, [0, 1], 2, axis=1),
        lambda: np.quantile(x, 0.5, weights=-w, method="inverted_cdf"), lambda: np.quantile(x, 0.5, weights=w),
        lambda: np.unique(i, axis=2), lambda: np.partition(x, [0.5]), lambda: np.fft.rfft2(t, axes=()),
    ):  # fmt: skip
        try:
            found.append(call())
        except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
            found.append(str(error))
    return found


@PROGRAMS.whole(several)
def put_where_a_mask_says(x, w, a, t, i, j, labels):
    np.putmask(x, x > 0, 0)
    np.putmask(a, a < 0, 1.5)
    np.putmask(i, i > 2, 7)
    part = w[1:]
    np.putmask(part, part > 1, -1.0)
    return x, a, i, w


@PROGRAMS.either(several)
def put_otherwise(x, w, a, t, i, j, labels):
    np.putmask(x, x > 0, w)
    np.putmask(i, x > 0, 2.7)
    np.putmask(w, i, [1, 2])
    try:
        np.putmask(a, x > 0, 1)
    except ValueError as error:
        return str(error), x, i, w
    return x, i, w


@PROGRAMS.whole(lambda: (*several(), 2))
def strides_of_views(x, w, a, t, i, j, labels, k):
    return (
        a.strides, a.T.strides, t[:, ::2].strides, a[:, 0].strides, (a + 1).strides, a[::-1].strides, t.transpose(1, 0, 2).strides,
        a.reshape(-1).strides, a[:, :k].strides, (x + 1j * w).imag.strides, i.view("u8")[::k].strides,
    )  # fmt: skip


@PROGRAMS.either(
    lambda: (
        np.zeros((3, 1)),
        np.zeros((0, 2)),
        np.arange(12.0)[::3],
        np.asfortranarray(np.ones((2, 3))),
    )
)
def strides_of_others(one, none, gaps, f):
    return (
        one.strides,
        none.strides,
        gaps.strides,
        f.strides,
        f[None].strides,
        np.broadcast_to(gaps, (2, 4)).strides,
        f[:, :1].strides,
    )

"""Programs that store where a mask says so, and through `copyto` and `.flat`."""

from __future__ import annotations

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)
EVEN = np.arange(6) % 2 == 0
GAPS = np.array([1.0, np.nan, 3.0, np.nan, np.nan, 0.5])


@PROGRAMS.whole(lambda: (np.arange(6.0) - 2, np.arange(6), EVEN.copy()))
def numbers_into_arrays(a, i, mask):
    a[a > 2] = 0
    a[mask] = np.nan
    i[mask] = -1
    b = a * 2
    b[~mask] = -0.0
    b[mask & (i < 0)] = 3
    b[a == 1] = np.float64(7)
    return a, i, b


@PROGRAMS.whole(lambda: (np.arange(12.0).reshape(3, 4), np.array([True, False, True]), 2.5))
def rows_and_views(a, rows, f):
    a[rows] = 1
    a.T[a.T > 5] = f
    part = a[1:, ::2]
    part[part > 4] = a.shape[0]
    return a, part


@PROGRAMS.whole(lambda: (np.arange(6, dtype="f4"), np.arange(6, dtype="c16"), EVEN.copy()))
def other_dtypes(a, z, mask):
    a[mask] = 1.5
    z[mask] = 2.5
    z[~mask] = 1j
    flags = a > 1
    flags[mask] = True
    return a, z, flags


@PROGRAMS.either(
    lambda: (np.arange(6), np.arange(6, dtype="f4"), np.arange(6, dtype="u1"), EVEN.copy())
)
def values_that_are_cast(i, a, small, mask):
    i[mask] = 1.7
    a[mask] = 1e300
    a[~mask] = np.float64(0.1)
    try:
        small[mask] = 300
    except OverflowError as error:
        return i, a, small, str(error)
    return i, a, small


@PROGRAMS.either(lambda: (np.arange(6.0), EVEN.copy()))
def arrays_of_values(a, mask):
    a[mask] = [7.0, 8.0, 9.0]
    a[~mask] = a[mask]
    a[mask] += 1
    return a


@PROGRAMS.either(lambda: (np.arange(6.0), EVEN[:5].copy(), np.zeros((6, 1), bool)))
def masks_of_another_shape(a, short, tall):
    said = []
    for mask in (short, tall):
        try:
            a[mask] = 1
        except IndexError as error:
            said.append(str(error))
    return a, said


@PROGRAMS.either(lambda: (EVEN.copy(), np.zeros(0), np.zeros(0, bool)))
def masks_of_themselves(mask, none, never):
    mask[mask] = False
    mask[1:][mask[:-1]] = True
    none[never] = 1
    return mask, none


def read_only():
    """An array that cannot be written."""
    made = np.arange(6.0)
    made.flags.writeable = False
    return made


@PROGRAMS.either(lambda: (read_only(), EVEN.copy()))
def into_what_is_read_only(a, mask):
    try:
        a[mask] = 1
    except ValueError as error:
        return str(error)
    return a


@PROGRAMS.whole(lambda: (np.arange(6.0), np.arange(6.0)[::-1].copy(), EVEN.copy()))
def copied(a, b, mask):
    c, d, e = a + 0, a + 0, np.zeros((2, 6))
    np.copyto(c, b)
    np.copyto(d, b, where=mask)
    np.copyto(e, b, where=mask)
    np.copyto(a, 2.0, where=~mask)
    np.copyto(b, 3)
    np.copyto(e[0], mask)
    return a, b, c, d, e


@PROGRAMS.either(lambda: (np.arange(6), np.arange(6.0)))
def copied_wrongly(i, x):
    said = []
    for value in (x, 1.5, x[:4], "a"):
        try:
            np.copyto(i, value)
        except (TypeError, ValueError) as error:
            said.append(str(error))
    return said, i


@PROGRAMS.whole(lambda: (np.arange(3.0),))
def diagonals(x):
    square = np.zeros((3, 3))
    square.flat[::4] = x
    square.flat[1:3] = x[:1]
    return square, np.diag(x), np.diag(x, 1)


@PROGRAMS.either(lambda: (np.arange(3.0),))
def repeated_through_flat(x):
    square = np.zeros((3, 3))
    square.flat[:] = x
    return square


@PROGRAMS.either(lambda: (np.arange(6.0),))
def moved_through_flat(x):
    x.flat[1:4] = x[:3]
    x.flat[4:] = x[3:5]
    return x


@PROGRAMS.whole(lambda: (np.array([1.0, np.nan, 3.0]), np.arange(4.0).reshape(2, 2)))
def sums_without_nan(x, a):
    return np.nansum(x), np.nansum(a, axis=0), np.nanprod(x)


def several():
    """A vector, another one, and what picks some of the elements."""
    return np.linspace(-2, 2, 6), np.arange(6.0)[::-1].copy(), EVEN.copy()


@PROGRAMS.whole(several)
def picked_into_new_arrays(x, y, mask):
    out = np.zeros_like(x)
    out[mask] = y[mask]
    out[~mask] = np.sqrt(y[~mask]) + 1
    out[x > 1] *= 2
    out[x > 9] += 1
    found = np.empty_like(x)
    positive = x >= 0
    found[positive] = 1 / (1 + np.exp(-x[positive]))
    e = np.exp(x[~positive])
    found[~positive] = e / (1 + e)
    return out, found, out[mask].sum()


@PROGRAMS.whole(several)
def picked_into_arguments(x, y, mask):
    x[mask] = y[mask]
    y[mask] = x[mask] * 2
    x[~mask] -= 1
    return x, y


@PROGRAMS.whole(lambda: (np.arange(12.0).reshape(3, 4), np.array([True, False, True])))
def picked_rows(a, rows):
    b = np.zeros_like(a)
    b[rows] = a[rows]
    b[rows] = a[rows] * 2 - b[rows]
    b[a > 5] = a[a > 5] + 1
    return b


@PROGRAMS.whole(lambda: (GAPS.copy(),))
def gaps_between(x):
    y = x.copy()
    gaps = np.isnan(y)
    y[gaps] = np.interp(gaps.nonzero()[0], (~gaps).nonzero()[0], y[~gaps])
    return y


@PROGRAMS.whole(several)
def picked_before_it_is_written(x, y, mask):
    part = y[mask]
    y[0] = 9.0
    out = x.copy()
    out[mask] = part
    return out, y, part


@PROGRAMS.either(several)
def picked_that_do_not_fit(x, y, mask):
    found, out = [], x.copy()
    for values in (
        y[:2],
        y[y > 4],
        y[mask].astype("f4"),
        y[mask][:, None],
        np.zeros(0),
        y[mask].astype(int),
    ):
        try:
            out[mask] = values
        except (ValueError, IndexError) as error:
            found.append(str(error))
    x[0] = 1.0
    try:
        x[mask] = y[y > 4]
    except ValueError as error:
        found.append(str(error))
    x[::-1][mask] = y[mask]
    mask[mask] = ~mask[mask]
    return found, out, x, mask


@PROGRAMS.either(lambda: (np.arange(4.0), np.zeros(4, bool), np.zeros(0), np.zeros(0, bool)))
def nothing_picked(x, mask, none, no_mask):
    out = x.copy()
    out[mask] = x[mask] + 1
    out[~mask] = x[~mask] * 2
    none[no_mask] = none[no_mask]
    out[mask] *= np.inf
    return out, none


@PROGRAMS.whole(lambda: (np.array([1.0, 0.0, 2.0]),))
def lengths_of_places_alone(x):
    return np.zeros_like(x.nonzero()[0]), np.ones_like(np.unique(x, return_index=True)[1])


def images():
    """Small numbers of two types, and where they change."""
    x = np.arange(-6.0, 6.0).reshape(3, 4)
    return (
        x,
        np.arange(12).reshape(3, 4),
        np.arange(0, 240, 20, np.uint8).reshape(3, 4),
        np.uint8(9),
    )


@PROGRAMS.whole(images)
def whole_numbers_changed_where_a_mask_says(x, n, img, k):
    m = x > 0
    n[m] += 1
    img[m] = 255 - img[m] * k
    n[~m] = (n[~m] * 3) ^ (img[~m] & 7)
    flags = x > 2
    flags[m] = ~flags[m] | (n[m] > 5)
    x[m] = x[m] * 2 - 1
    return flags, n[m].sum()


@PROGRAMS.whole(images)
def changed_numbers_that_stay(x, n, img, k):
    m = x < 0
    p = n[m]
    q = p
    p *= 2
    n[m] = p
    p -= 1
    img[m] //= 3
    n[m] = n[::-1][m] + 1
    return p, q is p, len(q)


@PROGRAMS.either(images)
def changed_rows_and_other_masks(x, n, img, k):
    rows, m = x[:, 0] > -6, x > 1
    n[rows] += 2
    n[rows] = n[rows] + n[rows, :1]
    n[:, 1:][m[:, 1:]] -= 1
    other = n[m]
    n[m] = 7
    n[m] = other + 1
    n[m] = n[x > 1] + n.T.reshape(3, 4)[m]
    try:
        n[m] = n[x > 2] + 1
    except ValueError as error:
        return str(error)
    return n

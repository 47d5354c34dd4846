"""Views that are no slices: parts of complex numbers, diagonals, turned arrays, bytes seen as another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.programs.arrays import numbers
from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs


def arguments() -> dict[str, Any]:
    """Arrays by the names of parameters: `z` are complex, the others not; each in other layouts, too."""
    z, a = numbers(4, 5, dtype="c16"), numbers(4, 5)
    return {
        "z": z, "zt": z.copy().T, "zs": z.copy()[:, ::2], "z4": z.astype("c8"), "z1": z[0, :1].copy(), "z0": np.array(z[0, 0]),
        "ze": z[:0].copy(), "zb": numbers(4, 5, dtype="c16", seed=3), "a": a, "at": a.copy().T, "ab": numbers(8, 10)[::2, ::2], "ar": numbers(4, 5)[::-1],
        "square": numbers(5, 5), "stack": numbers(3, 4, 5), "i": numbers(6, dtype="i8"), "u": numbers(6, dtype="u1"),
        "flags": numbers(6, dtype="?"), "half": numbers(4, 4, dtype="f2"), "row": numbers(1, 4), "empty": numbers(0, 3), "x": numbers(6),
    }  # fmt: skip


PROGRAMS = Programs(named=arguments, backends=("numpy", "reference"), modes=MODES)

# Parts of complex numbers ----------------------------------------------------------------------------------------


@PROGRAMS.whole()
def parts(z, zt, zs, z4):
    return (
        z.real,
        z.imag,
        zt.real,
        zs.imag,
        z4.real,
        z4.imag,
        np.real(z),
        np.imag(zt),
        np.real_if_close,
    )


@PROGRAMS.whole()
def parts_of_few(z1, z0):
    return z1.real, z1.imag, z0.real, z0.imag, z1.real + 1, z0.imag * 2


@PROGRAMS.either()
def parts_of_none(ze):
    return ze.real, ze.imag.ravel(), ze.real + 1


@PROGRAMS.whole()
def parts_of_what_is_computed(z, zb):
    made = z * zb
    return (
        made.real,
        (z * z.conj()).real,
        abs(z) ** 2 - (z.real**2 + z.imag**2),
        np.angle(z),
        np.angle(zb, deg=True),
    )


@PROGRAMS.whole()
def parts_of_turned(z):
    turned = z[::-1]
    return turned.real, turned[0].imag + 1, turned.real.T


@PROGRAMS.whole()
def parts_in_expressions(zt, zs, z4):
    return (
        np.exp(zs.real),
        np.sin(zt.imag),
        zs.real.sum(),
        z4.imag.mean(axis=0),
        zt.real @ zt.imag.T,
        zt.real.max(1),
    )


@PROGRAMS.whole()
def a_transform_back(x):
    return np.fft.ifft(np.fft.fft(x)).real, np.fft.fft(x).imag[1:]


@PROGRAMS.whole()
def parts_written(z, a):
    z.real[...] = a
    z.imag[1:, ::2] += 1.5
    z.real[0, 0] = 7
    return z, z.real, z.imag[0]


@PROGRAMS.whole()
def parts_written_by_ufuncs(z, zt):
    np.multiply(z.imag, 2.0, out=z.real)
    zt.real *= 3
    zt.imag -= zt.real
    return z, zt


@PROGRAMS.whole()
def parts_assigned(z, zt, z4, a):
    z.real = a
    zt.imag = zt.real
    z4.real = a
    zt.real = 2.5
    return z, zt, z4


@PROGRAMS.either()
def parts_assigned_numbers(z, z4, a):
    z4.real = 1.5
    z.imag = 3
    z.real = z[0, 0].imag
    a.real = 1
    return z, z4, a


@PROGRAMS.whole()
def parts_of_what_is_written(z, zb):
    real = z.real
    z *= 2
    before = real + 1
    z[1:] = zb[1:]
    real[0] = before[1]
    return real, z.imag, before


@PROGRAMS.whole()
def parts_swapped(z):
    z.real, z.imag = z.imag.copy(), z.real.copy()
    return z


@PROGRAMS.whole()
def the_other_part_is_kept(zb):
    made = np.zeros_like(zb)
    made.imag[...] = zb.real
    made.real[:, 1] = 4.0
    return made, made.real


@PROGRAMS.whole()
def parts_of_real_numbers(a, i, flags):
    return a.real, i.real, flags.real, np.real(a), a.real is a, np.conj(a), np.angle(a)


@PROGRAMS.whole()
def bases_of_parts(z):
    made = z + 1
    return (
        made.real.base is made,
        z.real.base is z,
        z.real.T.base is z,
        made.imag[1:].flags.c_contiguous,
    )


# Bytes seen as another dtype -------------------------------------------------------------------------------------


@PROGRAMS.whole()
def other_dtypes(x, i, u):
    return (
        x.view(np.int64),
        i.view("f8"),
        u.view(np.int8),
        x.view(),
        x.view(np.uint64)[::-1],
        i.view(dtype=np.uint64) >> 3,
    )


@PROGRAMS.whole()
def other_dtypes_written(x, at):
    x.view(np.int64)[1:] &= ~1
    x.view(np.uint64)[0] = 5
    at.view(np.int64)[...] += 1
    return x, at, at.view("i8")


@PROGRAMS.whole()
def a_sign_by_its_bit(x):
    bits = (x * 2).view(np.int64)
    return np.where(bits < 0, -x, x), (bits ^ (bits >> 63)).view("f8")


@PROGRAMS.either()
def dtypes_of_other_sizes(x, u, flags, z):
    return (
        x.view(np.uint8),
        u.view("u2"),
        z.view(float),
        u.view(bool),
        flags.view("i1"),
        x.view(np.ndarray),
        x.view("M8[s]"),
    )


# Diagonals -------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def diagonals(square, a, at, ab):
    return (
        np.diag(square), np.diag(a), np.diag(a, 1), np.diag(at, -2), np.diag(ab), square.diagonal(2), np.diagonal(a, -3), np.diag(a, 4),
        np.diag(square).copy(), np.diag(a) * 2, np.exp(np.diag(ab)), np.diag(square).sum(), np.diag(np.diag(a)), np.diag(square)[::2],
        square - np.diag(np.diag(square)), np.diag(a).reshape(2, 2),
    )  # fmt: skip


@PROGRAMS.whole()
def diagonals_of_stacks(stack):
    return (
        np.diagonal(stack),
        np.diagonal(stack, 1, 2, 1),
        stack.diagonal(axis1=1, axis2=2)[1],
        stack.diagonal(0, -1, -2)[0] + 1,
    )


@PROGRAMS.either()
def diagonals_without_elements(a, empty, row, ar):
    return np.diag(a, 9), np.diag(empty), np.diag(row), np.diag(row, 1), np.diag(ar)


@PROGRAMS.whole()
def diagonals_see_writes(square):
    seen = np.diag(square)
    square[1:] *= 2
    return seen + 1, seen, seen.flags.writeable, seen.base is square, np.diag(square).flags.owndata


@PROGRAMS.either()
def diagonals_are_read_only(square, a):
    found = []
    for write in (
        lambda d: d.fill(0),
        lambda d: d.__setitem__(0, 1.0),
        lambda d: np.add(d, 1, out=d),
    ):
        try:
            write(np.diag(square))
        except ValueError as error:
            found.append(str(error))
    made = a + 1
    try:
        np.diag(made)[1:] = 5
    except ValueError as error:
        found.append(str(error))
    return found, square, made


# Turned ----------------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def turned(a, at, stack, half):
    return (
        np.rot90(a), np.rot90(a, 2), np.rot90(at, 3), np.rot90(a, 0), np.rot90(a, -1, (1, 0)), np.rot90(stack, 1, (1, 2)), np.rot90(half, 6),
        np.rot90(a).copy(), np.rot90(np.rot90(a)), np.flip(stack), np.flip(stack, (0, 2)), np.fliplr(a), np.flipud(at), np.rot90(a).base is a,
    )  # fmt: skip


@PROGRAMS.either()
def turned_wrongly(a, x):
    found = []
    for turn in (
        lambda: np.rot90(x),
        lambda: np.rot90(a, 1, (0, 0)),
        lambda: np.rot90(a, 1, (0, 5)),
        lambda: np.rot90(a, 1, (0, 1, 1)),
    ):
        try:
            turn()
        except ValueError as error:
            found.append(str(error))
    return found, np.rot90([[1, 2], [3, 4]]), np.rot90(a, axes=[0, 1])


@PROGRAMS.whole()
def turned_and_written(a):
    np.rot90(a)[0] = 3
    np.flipud(a)[0, 1:] += 1
    return a


# Parts left out --------------------------------------------------------------------------------------------------


@PROGRAMS.whole()
def deleted(x, a, at, ab, i):
    return (
        np.delete(x, 3), np.delete(x, -1), np.delete(x, 0), np.delete(a, 1, axis=1), np.delete(at, 2, 0), np.delete(at, -1, 1), np.delete(ab, 0),
        np.delete(x, slice(0, 2)), np.delete(i, slice(1, 4)), np.delete(a, slice(3, 1, -1), 1), np.delete(i, slice(4, 2)), np.delete(x, np.int64(1)),
    )  # fmt: skip


@PROGRAMS.either()
def deleted_by_lists(x, a, flags):
    found = [
        np.delete(x, [0, 2]),
        np.delete(a, [1], 0),
        np.delete(x, flags),
        np.delete(x, []),
        np.delete([1, 2, 3], 0),
        np.delete(x, slice(0, 6, 2)),
    ]
    for place in (9, -9):
        try:
            np.delete(x, place)
        except IndexError as error:
            found.append(str(error))
    return found


@PROGRAMS.whole(lambda: (np.arange(3.0), int("-1290"), float("2.5")))
def parts_of_pythons_numbers(x, i, f):
    y = x * i + f
    return y, np.real(i) is i, i.real, i.numerator, f.real, np.real(f) is f, i.imag


def rising():
    """A vector, one with gaps between its elements, and a table."""
    return np.sin(np.arange(12.0)), np.arange(20.0)[::2], np.arange(20, dtype="f4").reshape(4, 5)


@PROGRAMS.whole(rising)
def windows_over_a_vector(x, y, a):
    w = sliding_window_view(x, 5)
    return (
        w.mean(axis=1), w.std(axis=-1), w.max(axis=1), w.sum(axis=1), np.median(w, axis=1), w @ np.ones(5), w.shape, w[2],
        sliding_window_view(y, 3).mean(axis=-1), w.mean(-1) + 2 * w.std(-1), w.argmax(axis=1), w.var(axis=1, ddof=1),
        sliding_window_view(a[1], len(a)).min(axis=1), w[::2].sum(axis=1), w.sum(), (x + 1)[:7],
    )  # fmt: skip


@PROGRAMS.whole(rising)
def windows_as_results(x, y, a):
    return (
        sliding_window_view(x, 4),
        sliding_window_view(a, (2, 3)),
        sliding_window_view(a, 2, axis=0),
        sliding_window_view(y, [3]),
    )


@PROGRAMS.whole(rising)
def windows_over_what_is_written(x, y, a):
    w = sliding_window_view(x, 3)
    before = w.sum(axis=1)
    x[1] = 7.0
    return before, w.sum(axis=1), w


@PROGRAMS.either(rising)
def odd_windows(x, y, a):
    found = []
    for make in (
        lambda: sliding_window_view(x, 1).sum(axis=1), lambda: sliding_window_view(x, 12).mean(axis=1), lambda: sliding_window_view(x, 13),
        lambda: sliding_window_view(x, 0), lambda: sliding_window_view(a, 2), lambda: sliding_window_view(a, (2, 2)).max(axis=(2, 3)),
        lambda: sliding_window_view(x, 3) + 1, lambda: sliding_window_view(x, 3, writeable=True), lambda: sliding_window_view(a, 2, axis=1).mean(axis=-1),
        lambda: np.einsum("ijkl,kl->ij", sliding_window_view(a, (2, 2)), np.ones((2, 2))), lambda: sliding_window_view(x[:0], 2),
        lambda: sliding_window_view(x, 3).std(axis=0), lambda: sliding_window_view(x, 3).T.copy(), lambda: np.sort(sliding_window_view(x, 3), axis=1),
    ):  # fmt: skip
        try:
            found.append(make())
        except ValueError as error:
            found.append(str(error))
    try:
        sliding_window_view(x, 3)[0] = 1
    except ValueError as error:
        found.append(str(error))
    return found


@PROGRAMS.whole(lambda: (np.exp(1j * np.arange(6.0)), np.arange(12.0).reshape(3, 4), np.arange(6)))
def smaller_elements(z, a, i):
    pairs, bytes_of = z.view(float), a.view(np.uint8)
    made = (z * 2).view("f8").reshape(-1, 2)
    before = pairs.sum(), bytes_of.sum(axis=1), bytes_of
    z[1] = 7 - 2j
    pairs[0] = 3.0
    return (
        before, pairs, z, made, made[:, 0] - made[:, 1], i.view(np.int32)[::2], i.view("i2").reshape(6, 4), a.view("f4") * 2,
        z[2:].view(float) + 1, pairs.flags.c_contiguous, a.view("u4").strides, a[1:].view("u2").ravel(), z.reshape(2, 3).view(float).T,
    )  # fmt: skip


@PROGRAMS.either(
    lambda: (np.exp(1j * np.arange(6.0)), np.arange(12.0).reshape(3, 4), np.ones((4, 1)))
)
def smaller_elements_otherwise(z, a, one):
    found = [
        a.view(complex),
        one.view("f4"),
        a[:0].view("f4"),
        a[1].view("u1").view(np.int16),
        np.array(2.5).reshape(1).view("u1"),
    ]
    for array, dtype in (
        (a.T, "f4"),
        (z[::2], float),
        (a[:, :3], "c16"),
        (np.array(2.5), "u1"),
        (a[:, :2], "f4"),
        (z, "bool"),
    ):
        try:
            found.append(array.view(dtype).sum())
        except (ValueError, TypeError) as error:
            found.append(str(error))
    return found


def tables():
    """A table, one in Fortran order, three of these together, and a part of a table."""
    a, t = np.arange(20.0).reshape(4, 5), np.sin(np.arange(24.0)).reshape(2, 3, 4)
    return a, np.asfortranarray(a + 1), t, np.arange(40.0).reshape(5, 8)[:, :6], 2, 5


@PROGRAMS.whole(tables)
def parts_in_a_row(a, f, t, part, k, n):
    return (
        a[1:3, k:4].ravel(), a.T.ravel(), a[:, :k].reshape(-1), np.ravel(a[::2]), t[:, :k, 1:].reshape(2, -1), t[0, :, :k].ravel(),
        t[:, k - 1 :].reshape(-1), t.transpose(1, 0, 2).reshape(3, -1), f.ravel(), f[1:].ravel(), f.T.ravel(), a[:k].ravel(), t[:, 0].ravel(),
        np.diag(a[:, :4]).ravel(), t.diagonal().reshape(-1), np.diagflat(np.diag(t[0])), np.real(np.fft.fft(a[0])), np.imag(np.fft.fft(a[0])), np.real(t[0] + 1j)[0],
        a[:, ::-1].ravel(), np.broadcast_to(a[0], a.shape).reshape(-1),
    )  # fmt: skip


@PROGRAMS.whole(tables)
def rows_in_fortran_order(a, f, t, part, k, n):
    return (
        a.ravel("F"), a.ravel(order="K"), f.ravel("K"), f.ravel("F"), np.ravel(t, order="F"), f.reshape(-1, order="F"),
        f.reshape((5, 4), order="F"), f.reshape(k, -1, order="F"), a[1:, 1:].ravel("F"), f.T.ravel("K"),
        a.copy(order="F"), np.copy(a, order="F"), f.copy("F"), t[:, ::2].copy(order="F"), a.astype("f4", order="F"), f.astype(int, order="C"),
        a.astype(float, "F"), np.zeros_like(a[:, ::-1]), np.ones_like(np.broadcast_to(f[0], f.shape)), np.full_like(f[::-1], 2.0),
    )  # fmt: skip


@PROGRAMS.either(tables)
def rows_that_only_lengths_tell(a, f, t, part, k, n):
    parts = (
        a[:, :n],
        a[k - 2 :],
        part[0],
        part[:, k],
        part[1:],
        a[:, n - 5 : n],
        t[:, :, : n - 1],
        f[: n - 1],
        a[:, :k],
    )
    flags = [(one.flags.c_contiguous, one.flags.f_contiguous, one.flags["FORC"]) for one in parts]
    rows = [one.ravel() for one in parts] + [one.reshape(-1) for one in parts]
    return flags, rows, [np.ascontiguousarray(one) for one in parts], a.reshape(-1, order="F")

"""Programs that repeat, join and pad arrays, transform them, and take statistics of them."""

from __future__ import annotations

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)


def values():
    return np.sin(np.arange(42.0)).reshape(6, 7)


@PROGRAMS.whole(lambda: (values(), values().T))
def repeated_and_joined(a, b):
    return (
        np.tile(a, 2), np.tile(a[0], (2, 1)), np.tile(a, (2, 1, 3)), np.kron(a[:2], b[:, :2]), np.kron(a[0], a),
        np.column_stack([a[:, 0], a]), np.append(a, b), np.append(a, a[:1], axis=0), np.append(a[0], 1.0),
    )  # fmt: skip


@PROGRAMS.either(lambda: (values()[2:2, ::-1], np.arange(3)[None]))
def nothing_repeated_is_a_view(a, b):
    nothing = 1 * b[:-1]
    return np.tile(a, (2, 1)), np.tile(a, 2), np.tile(nothing, (2, 1))


@PROGRAMS.whole(lambda: (values(), 2))
def padded(a, n):
    return (
        np.pad(a, 1), np.pad(a, ((1, 2), (0, 3)), mode="edge"), np.pad(a, (2, 1), "reflect"), np.pad(a[0], n),
        np.pad(a, 1, constant_values=3),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (values(), np.arange(9)))
def sections(a, x):
    parts = np.split(a, 3)
    parts[1] += 1
    return (
        parts, np.array_split(x, 4), np.split(a, 7, axis=-1), np.hsplit(a, 7), np.array_split(x[:2], 4),
        np.split(x, [2, 5]), np.arange(0, 1, 0.1), np.arange(2.5), np.arange(2.5, step=0.5) * 2,
        np.arange(3, 0, -0.25, dtype="f4"),
    )  # fmt: skip


@PROGRAMS.either(lambda: (values(), np.arange(9)))
def sections_that_fail(a, x):
    said = []
    for count, axis in ((4, 0), (0, 0), (2, 5), (np.int64(3), 0), (2.0, 0)):
        try:
            said.append(np.split(x, count, axis))
        except (ValueError, IndexError, TypeError) as error:
            said.append(str(error))
    return said, np.arange(0, float(x[3]), 0.5), a


@PROGRAMS.whole(lambda: (np.arange(3.0), np.arange(4)))
def grids(x, y):
    across, down = np.meshgrid(x, y)
    return across, down, np.meshgrid(x, y, indexing="ij"), across * down


@PROGRAMS.either(lambda: (np.arange(3.0), np.arange(4)))
def grids_of_views(x, y):
    across, _ = np.meshgrid(x, y, sparse=True)
    same, _ = np.meshgrid(x, y, copy=False)
    return across, same * 1, x


@PROGRAMS.whole(lambda: (values(), values().T, np.arange(60.0).reshape(3, 4, 5)))
def sums_of_products(a, b, c):
    return (
        np.einsum("ij,jk->ik", a, b), np.einsum("ij,ij->i", a, a), np.einsum("ij,ij", a, a),
        np.einsum("ij,kj->ki", a, a, optimize=True), np.einsum("ijk,k->ji", c, c[0, 0]), np.einsum("i, j", a[0], a[1]),
    )  # fmt: skip


@PROGRAMS.either(lambda: (values(), values()[:, :6].copy()))
def sums_of_one_array(a, square):
    view = np.einsum("ij->ji", a)
    view[0, 0] = 7
    diagonal = np.einsum("ii->i", square)
    diagonal[0] = 8
    said = []
    for text in ("ij,jk->ik", "ij,ij->q", "ij->"):
        try:
            said.append(np.einsum(text, a, a) if "," in text else np.einsum(text, a))
        except ValueError as error:
            said.append(str(error))
    return a, square, np.einsum("ii", square), said


@PROGRAMS.whole(lambda: (np.arange(9.0), np.array([0.25, 0.5, 0.25])))
def sliding(x, k):
    return (
        np.convolve(x, k), np.convolve(x, k, "same"), np.convolve(x, k, mode="valid"), np.correlate(x, k),
        np.correlate(x, k, "full"), np.convolve(x, np.ones(4) / 4, mode="same"),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.arange(9.0), np.zeros(0)))
def sliding_otherwise(x, none):
    said = []
    for one, other in ((x, none), (none, x)):
        try:
            np.convolve(one, other)
        except ValueError as error:
            said.append(str(error))
    return np.convolve(x[:2], x), np.correlate(x[:2], x, "same"), np.correlate(x[:3], x), said


@PROGRAMS.whole(lambda: (values(), 9))
def spectra(a, n):
    return (
        np.fft.fft(a), np.fft.ifft(a, axis=0), np.fft.rfft(a), np.abs(np.fft.rfft(a, axis=0)) ** 2, np.fft.irfft(a),
        np.fft.fft(a, n=4), np.fft.irfft(a, n), np.fft.fft(a, norm="ortho"), np.fft.fft2(a), np.fft.ifftn(a),
        np.fft.fft(a.astype("f4")),
    )  # fmt: skip


@PROGRAMS.either(lambda: (values(),))
def spectra_that_fail(a):
    said = []
    for given in ({"n": 0}, {"axis": 5}, {"norm": "other"}):
        try:
            np.fft.fft(a, **given)
        except (ValueError, IndexError) as error:
            said.append(str(error))
    return said


@PROGRAMS.whole(lambda: (values(), np.ones(1)))
def statistics(a, x):
    return (
        np.cov(a[0], a[1]), np.corrcoef(a[0], a[2]), np.corrcoef(a[0, ::2], a[1, ::2].astype("f4")), np.cov(a[0] > 0, a[1]),
        np.cov(a), np.cov(a, rowvar=False), np.cov(a[0]), np.corrcoef(a), np.average(a), np.average(a, axis=1),
        np.average(a, weights=abs(a)), np.average(a, 0, abs(a)), np.average(x, weights=x, keepdims=True),
        np.histogram(a), np.histogram(a, 5), np.histogram(a, bins=5, range=(0, 1), density=True),
        np.histogram(a, 5, weights=a),
    )  # fmt: skip


@PROGRAMS.either(lambda: (np.full((2, 3), np.nan), np.zeros(0), np.ones(3)))
def statistics_that_warn_or_fail(a, none, x):
    said = [np.nanmean(a), np.nanmax(a, axis=0), np.nanmedian(a, 1), np.cov(x[:1]), np.corrcoef(a)]
    for call in (
        lambda: np.average(x, weights=x * 0),
        lambda: np.histogram(a),
        lambda: np.nanmax(none),
        lambda: np.histogram(x, 0),
    ):
        try:
            said.append(call())
        except (ValueError, ZeroDivisionError) as error:
            said.append(str(error))
    flags = np.histogram(x > 0)
    return said, np.nanmean(none), np.histogram(x, x), np.histogram(x, "auto"), flags


@PROGRAMS.whole(lambda: (values()[:, :6] + values()[:, :6].T,))
def linear_algebra(a):
    values, vectors = np.linalg.eigh(a)
    found = np.linalg.eigh(a, "U")
    sign, size = np.linalg.slogdet(a)
    return (
        np.linalg.eigvalsh(a), np.linalg.eigvalsh(a, UPLO="U"), np.linalg.pinv(a[:, :3]), values, vectors @ vectors.T,
        found, found.eigenvectors + 1, sign * np.exp(size), np.linalg.slogdet(a[None]),
    )  # fmt: skip


@PROGRAMS.whole(lambda: (values(), values().T.copy(), values()[::2, ::3], values().T))
def decompositions(a, tall, strided, turned):
    u, s, vh = np.linalg.svd(tall, full_matrices=False)
    return (
        np.linalg.svd(a), np.linalg.svd(a, compute_uv=False), np.linalg.svd(turned).S, np.linalg.svdvals(strided), (u * s) @ vh,
        np.linalg.qr(a), np.linalg.qr(tall, mode="complete"), np.linalg.qr(strided, "r"), np.linalg.qr(turned).R,
        np.linalg.qr(a.astype("c8")), np.linalg.svd(np.stack([a, a + 1])), np.linalg.qr(a[:0]), np.linalg.svd(a[:, :1], False),
    )  # fmt: skip


@PROGRAMS.either(lambda: (values(),))
def decompositions_otherwise(a):
    square = a[:, : len(a)]
    return (
        np.linalg.svd(square + square.T, hermitian=True),
        np.linalg.qr(a, "raw"),
        np.linalg.svd(a.astype(int)),
    )


@PROGRAMS.either(lambda: (values(), np.full((2, 2), np.nan)))
def linear_algebra_that_fails(a, none):
    said = []
    for call in (
        np.linalg.eigh,
        np.linalg.slogdet,
        np.linalg.eigvalsh,
        np.linalg.pinv,
        np.linalg.svd,
        np.linalg.qr,
    ):
        for given in (a, none, a[0]):
            try:
                said.append(call(given))
            except (np.linalg.LinAlgError, ValueError) as error:
                said.append(str(error))
    return said

"""Array statements in loops, read as nests and run on the reference: the same as plain Python's."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import native_turns
from tests.support.nests.reference_nests import ReferenceNest, loops_are_left, on_the_reference
from ufuse.frame_hook.nests.entries import choice

pytestmark = pytest.mark.any_python


def numbers(seed, *shape):  # noqa: ANN002
    return np.random.default_rng(seed).random(shape)


def definite(n):
    b = numbers(1, n, n)
    return b @ b.T + n * np.eye(n)


def chol(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return A


def lu(A):
    n = len(A)
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


def lu2(A):
    n = len(A)
    for k in range(n):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
    return A


def trisolv(L, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def trmm(A, B, alpha):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
            B[i, j] = alpha * B[i, j]
    return B


def gs(A, Q, Rr):
    n = A.shape[1]
    for k in range(n):
        Rr[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / Rr[k, k]
        for j in range(k + 1, n):
            Rr[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * Rr[k, j]
    return A, Q, Rr


def syrk(C, A, alpha, beta):
    for i in range(len(C)):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return C


def durbin(r, y):
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def jacobi1(A, B, T):
    for _t in range(1, T):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A, B


def jacobi2(A, B, T):
    for _t in range(1, T):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A, B = B, A
    return A, B


def heat3(A, B, T):
    for _t in range(1, T):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = B[1:-1, 1:-1, 1:-1]
    return A, B


def fdtd(ex, ey, hz, fict):
    for t in range(len(fict)):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def floyd(p):
    n = len(p)
    for k in range(n):
        for i in range(n):
            p[i, :] = np.minimum(p[i, :], p[i, k] + p[k, :])
    return p


def floyd2(p):
    for k in range(len(p)):
        p[:] = np.minimum(p, p[:, k, None] + p[None, k, :])
    return p


def rebind(u, dt, T):
    for _t in range(T):
        u = u + dt * (u * u - 1)
    return u


def rebind_stencil(u, T):
    for _t in range(T):
        un = u.copy()
        u[1:-1] = un[1:-1] + 0.1 * (un[2:] - 2 * un[1:-1] + un[:-2])
    return u, un


def folds(x, T):
    s = 0.0
    for t in range(T):
        s += np.sum(x[t:]) * 0.5 + x.max() - x[: t + 1].min() + x.mean()
        x[t] = s * 1e-3
    return s, x


def anyall(x, T, out):
    for t in range(T):
        out[t] = np.any(x > t)
        if (x[t:] >= 0).all():
            x[t] = -x[t]
    return out, x


def inplace(x, y, T):
    for _t in range(T):
        x += y
        x *= 0.5
        y[::2] = x[::2] - 1
        x[::-1] += x
    return x, y


def empties(x, T):
    s = 0.0
    for t in range(T):
        x[t:t] = 1.0
        x[5:2] = x[7:3]
        s += x[t:t].sum() + x[-t:].sum() + x[t - 3 : t].sum() + x[t + 2 : t - 2 : -1].sum()
    return x, s


def odd(x, A, T):
    for t in range(T):
        x[t::3] = A[t, ::-2][: len(x[t::3])]
        A.T[t] = x
        A[..., t] *= 2
        A[t][1:3] = 7
        x[-1] = A[-1, -2]
    return x, A


def where(x, y, T):
    for _t in range(T):
        y = np.where(x > y, x, y * 0.5)
        x = np.abs(y) - np.sqrt(np.abs(x))
    return x, y


def gm(A, b, x, T):
    n = len(b)
    for _it in range(T):
        for i in range(n):
            s = A[i, :i] @ x[:i] + A[i, i + 1 :] @ x[i + 1 :]
            x[i] = (b[i] - s) / A[i, i]
    return x


def heun(y, dt, T):
    for _t in range(T):
        k1 = -y
        k2 = -(y + dt * k1)
        y = y + dt * (k1 + k2) / 2
    return y, k1


def rowview(A, T):
    s = 0.0
    for i in range(T):
        row = A[i]
        row[1:] += row[0]
        s += row.sum()
    return A, s


def ints(x, T):
    for t in range(T):
        x[t:] = (x[t:] * 3 + t) % 101
        x[:t] ^= t
    return x


def bools(m, x, T):
    for t in range(T):
        m[t:] = x[t:] > 0.5
        m |= m[::-1]
        x[t] = m.sum()
    return m, x


def fresh(T, n, out):
    for t in range(T):
        z = np.zeros(n)
        o = np.ones((2, n))
        z[t % n] = t
        o[1] = z
        out[t] = o[1].sum() + o[0] @ z
    return out


def nestedarr(A, T):
    for _t in range(T):
        for i in range(1, A.shape[0] - 1):
            tmp = A[i] - A[i - 1]
            A[i] = A[i] + 0.1 * tmp - 0.1 * (tmp * tmp)
    return A


def reductions(A, T):
    s = 0.0
    for t in range(T):
        s = (
            s
            + A.sum()
            + A[1:-1, 1:-1].sum()
            + A.T[1:].max()
            - np.min(A[::2, ::3])
            + np.prod(A[0, :3])
        )
        A[:, 0] += A.max(axis=1) * 0.01 + np.mean(A, axis=1)
        A[0] += A.mean(axis=0) - np.sum(A, 0)
        A /= A.sum(axis=1, keepdims=True)
        A[t % len(A), 1] = A[1:, 2:].mean() + np.abs(A - A[::-1]).max()
        s += np.any(A > 0.5) + (A > 0.1).sum() + np.all(A[1:] < 1, axis=-1).sum()
    return s, A


def reductions_of_boxes(B, T):
    total = np.zeros(B.shape[1:])
    for _t in range(T):
        total += B.sum(axis=0)
        total[0] -= B.max(axis=(0, 1))
        B[0, :, 0] = B.sum(axis=(0, 2)) * 0.1 + total.sum(axis=-1)
    return B, total


def small_numbers(A, T):
    s = 0
    for _t in range(T):
        s = (
            s
            + A.sum()
            + A[:, 1:].sum()
            + A.max()
            + A[0].min()
            + A[1:3, 2:].max()
            + A[1].sum()
            + A[0].prod()
        )
        A[0] += A.max(axis=0) % 3
    return s, A


def matrices(A, B, v, T):
    for _t in range(T):
        C = np.dot(A, B)
        w = np.dot(A, v) + v @ B[:, ::-1]
        A = 0.5 * A + 0.1 * (C[1:, :-1] @ B.T[1:]).sum() + C.dot(B.T) * 0.1 + B[None, 0] @ B[:, :1]
        v = w / np.abs(w).max() + A.T @ v
        A /= np.abs(A).max()
        v /= np.abs(v).max() + A[1:, 1] @ v[1:]
    return A, v


def indexed(x, idx, A, T):
    k = 0
    for t in range(T):
        y = x[idx]
        x[idx] = y * 0.5 + 0.1
        x[idx[::-1]] += 1.0
        x[x > 1.5] = 0.25
        A[idx[:3]] = A[idx[1:4]] * 0.9
        A[t % len(A), idx] -= y
        A[idx[:5], 2] = 3
        A[np.abs(A) > 5] = 0
        k = k + np.argmax(x) + A[:, 1].argmin() + A[idx[0], 2:].argmax() + x[::2].argmin()
    return x, A, k


def by_lists(x, A, T):
    """Lists of numbers as indices: what they name is taken before any of it is written."""
    for t in range(T):
        i, j = t % 7, np.int32(-1 - t % 5)
        A[[i, j]] = A[[j, i]]
        x[[i, 3, -2]] = x[[-2, i, 3]] * 0.5
        x[[True, j]] += A[j, [1, i]].sum()
        A[t % 4, [2, i]] -= x[[i, i]]
    return x, A


def indexed_wrongly(x, idx, T):
    for t in range(T):
        idx[t % 3] += 1
        x[idx] = t + x[idx]
    return x


def crossed(P, T):
    """Axes of length 1 have no say in the order of a result."""
    d, e = P[:, 0:1].T - P[:, 0:1], P[:, 1:2] - P[:, 1:2].T
    for t in range(T):
        x, y = P[:, 0:1], P[:, 1:2]
        d = x.T - x
        e = (y - y.T) * 0.5 + d
        P[t % len(P), 0] += d[0, 1] + e[1, 0]
    return P, d, e


def short_rows(points, centres, n):
    total = 0.0
    for i in range(n):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        points[:, 0] += distances[:, 0] * 0.001
        points[1:, :] = 0.5 * (points[:-1, :] + centres[0])
        total += float(distances[i % 3, 1]) + distances.argmin(axis=1)[i % 4]
    return distances, points.sum(axis=1), total


def six_axes(image, weights, T):
    out = np.zeros((2, T, 4))
    box = image[:, 0:3, 0:3, :, None] * weights[None]
    for t in range(T):
        box = image[:, t : t + 3, 1:4, :, None] * weights[None]
        out[:, t] = box.sum(axis=(1, 2, 3)) + np.max(box[..., None], axis=(1, 2, 3, 5))
    return out, box


PROGRAMS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (chol, lambda: (definite(12),)),
    (lu, lambda: (definite(12),)),
    (lu2, lambda: (definite(12),)),
    (trisolv, lambda: (definite(40), np.ones(40))),
    (trmm, lambda: (definite(9), numbers(3, 9, 12), 1.5)),
    (gs, lambda: (numbers(2, 14, 10), np.zeros((14, 10)), np.zeros((10, 10)))),
    (syrk, lambda: (numbers(2, 14, 14), numbers(3, 14, 9), 1.5, 1.2)),
    (durbin, lambda: (numbers(4, 40) * 0.1, np.zeros(40))),
    (jacobi1, lambda: (numbers(4, 30), numbers(5, 30), 50)),
    (jacobi2, lambda: (numbers(4, 9, 11), numbers(5, 9, 11), 51)),
    (heat3, lambda: (numbers(4, 6, 7, 8), numbers(5, 6, 7, 8), 50)),
    (fdtd, lambda: (numbers(4, 9, 10), numbers(5, 9, 10), numbers(6, 9, 10), np.arange(50.0))),
    (floyd, lambda: (numbers(4, 12, 12),)),
    (floyd2, lambda: (numbers(4, 40, 40),)),
    (rebind, lambda: (numbers(4, 9), 0.01, 50)),
    (rebind_stencil, lambda: (numbers(4, 20), 50)),
    (folds, lambda: (numbers(4, 60), 50)),
    (anyall, lambda: (numbers(4, 60) * 9, 50, np.zeros(50))),
    (inplace, lambda: (numbers(4, 20), numbers(5, 20), 40)),
    (empties, lambda: (numbers(4, 20), 40)),
    (odd, lambda: (numbers(4, 50), numbers(4, 50, 50), 40)),
    (where, lambda: (numbers(4, 20), numbers(5, 20), 40)),
    (gm, lambda: (definite(9), np.ones(9), np.zeros(9), 40)),
    (heun, lambda: (numbers(4, 20), 0.01, 40)),
    (rowview, lambda: (numbers(4, 50, 6), 50)),
    (ints, lambda: (np.arange(50), 50)),
    (bools, lambda: (np.zeros(50, bool), numbers(4, 50), 50)),
    (fresh, lambda: (50, 7, np.zeros(50))),
    (nestedarr, lambda: (numbers(4, 9, 7), 40)),
    (reductions, lambda: (numbers(4, 9, 7), 40)),
    (reductions, lambda: (numbers(4, 9, 7).astype(np.float32), 40)),
    (matrices, lambda: (numbers(4, 7, 7), numbers(5, 7, 7), numbers(6, 7), 40)),
    (
        matrices,
        lambda: (
            numbers(4, 7, 7).astype("f4"),
            numbers(5, 7, 7).astype("f4"),
            numbers(6, 7).astype("f4"),
            40,
        ),
    ),
    (by_lists, lambda: (numbers(4, 40), numbers(5, 10, 12), 40)),
    (by_lists, lambda: (np.arange(40) % 7, np.arange(120).reshape(10, 12)[::-1], 1)),
    (indexed, lambda: (numbers(4, 40), np.arange(-6, 6) % 10 - 5, numbers(5, 10, 40), 40)),
    (indexed, lambda: (numbers(4, 40), np.arange(-6, 6).astype("i2"), numbers(5, 10, 40), 40)),
    (indexed_wrongly, lambda: (numbers(4, 20), np.arange(5), 60)),
    (crossed, lambda: (numbers(4, 9, 2), 40)),
    (short_rows, lambda: (numbers(4, 50, 2), numbers(5, 4, 2), 40)),
    (short_rows, lambda: (numbers(4, 50, 3).astype("f4"), numbers(5, 5, 3).astype("f4"), 40)),
    (six_axes, lambda: (numbers(4, 2, 43, 5, 3), numbers(5, 3, 3, 3, 4), 40)),
    (reductions_of_boxes, lambda: (numbers(4, 3, 4, 5), 40)),
    *(
        (small_numbers, lambda kind=kind: (np.arange(63).reshape(9, 7).astype(kind), 40))
        for kind in "bBhiIlL"
    ),
]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are not unrolled."""
    loops_are_left(monkeypatch)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ReferenceNest]:
    """The nests of a test, on the reference."""
    return on_the_reference(monkeypatch)


@pytest.mark.parametrize(("function", "make"), PROGRAMS, ids=[one.__name__ for one, _ in PROGRAMS])
def test_programs_are_read_and_the_same(function, make, made) -> None:
    """Bits, strides and types, of what is returned and of what is written; most turns are a nest's."""
    compiled = ufuse.compile(function)
    for mode in MODES:
        check_same(function, compiled, lambda: arguments(*make()), modes=[mode])
    assert sum(nest.turns for nest in made) > 10


@pytest.mark.parametrize(
    ("function", "make"), [one for one in PROGRAMS if one[0] in (crossed, short_rows, six_axes)]
)
def test_machine_code_of_many_axes(function, make, left) -> None:
    """Expressions of up to six axes, those with axes of length 1 in any order or a short last one, are native."""
    assert native_turns(function, make) > 10


def halves(x, out):
    for i in range(len(out)):
        y = np.sqrt(x)  # noqa: F841  nobody uses it
        x[:], out[i] = x.copy(), i
    return out


def softmax(x, n):
    for _ in range(n):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        x = e / e.sum(axis=1, keepdims=True)
    return x


def functions_of_sums(x, n):
    out = np.zeros(x.shape)
    for _ in range(n):
        row, column = x[0], x[:, :1]
        out += np.tanh(x - column) + np.sin(row * column) + np.log(1.0 + np.abs(x * row))
        x = np.cos(out + column)
    return out, x


@pytest.mark.usefixtures("left")
@pytest.mark.parametrize("shape", [(8, 8), (4, 3), (1, 9), (9, 1), (33, 2), (2, 70), (300, 17)])
@pytest.mark.parametrize("function", [softmax, functions_of_sums])
def test_functions_of_rows_with_single_elements(function, shape) -> None:
    """NumPy's loops run on what machine code has computed of operands that are the same all along an axis."""
    make = np.random.default_rng(7).normal(size=shape).copy
    turns = native_turns(function, lambda: (make(), 60))
    assert turns > 50 or 1 in shape  # of one element a loop is NumPy's own


@pytest.mark.usefixtures("left")
@pytest.mark.parametrize("function", [softmax, functions_of_sums])
def test_functions_of_rows_in_another_order(function) -> None:
    """Operands that do not lie as NumPy would have them."""
    x = np.random.default_rng(7).normal(size=(12, 34))
    native_turns(function, lambda: (x.copy("F"), 60))
    native_turns(function, lambda: (x.copy()[:, ::2], 60))
    native_turns(function, lambda: (x.copy()[::-1, ::-1], 60))


@pytest.mark.usefixtures("left")
def test_new_arrays_of_float16_are_left() -> None:
    """NumPy makes them of the smallest integers."""
    assert native_turns(halves, lambda: (np.arange(20, dtype=np.uint8), np.zeros(300))) == 0


def floats_in_integers(a, b, n):
    total, j = 0.0, 0
    for _ in range(n):
        a[a > 2] = 0.5
        a[:1] = -2.7
        total += len(np.flatnonzero(b[j : j + 2] > 0))
    return total, a


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "f4"])
@pytest.mark.parametrize("backend", ["numpy", Improved()])
def test_floats_stored_into_integers(dtype, backend, monkeypatch) -> None:
    """They lose what is behind the point, and nothing else is computed otherwise."""
    loops_are_left(monkeypatch)
    monkeypatch.setattr(choice, "READ_AFTER", 0.0)

    def make() -> tuple[np.ndarray, np.ndarray, int]:
        return np.arange(12).reshape(3, 4).astype(dtype), np.array([-1.0, 0.25, -3.0]), 30

    check_same(
        floats_in_integers, ufuse.compile(floats_in_integers, backend=backend), make, calls=3
    )

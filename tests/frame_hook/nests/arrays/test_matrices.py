"""Products of matrices, and elements by arrays of indices or masks, in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.nests.native_loops import native_turns
from tests.support.nests.reference_nests import on_the_reference

pytestmark = pytest.mark.any_python


def kalman(z, F, H, Q, x, P):
    out = np.zeros((len(z), len(x)))
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        K = (P @ H.T) / (H @ P @ H.T + 1.0)[0, 0]
        x = x + K[:, 0] * (z[t] - (H @ x)[0])
        P = P - np.dot(np.dot(K, H), P)
        out[t] = x
    return out, P


def test_a_filter_of_matrices() -> None:
    """The state and its covariance, which are new arrays in each turn."""

    def make() -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(1)
        moves = np.eye(4) + 0.1 * rng.random((4, 4))
        return (
            rng.random(600),
            moves / 1.3,
            rng.random((1, 4)),
            np.eye(4) * 0.01,
            np.zeros(4),
            np.eye(4),
        )

    assert native_turns(kalman, make) > 400


def steps(x, W, U, b, n):
    h, c = np.zeros(n), np.zeros(n)
    for t in range(len(x)):
        g = x[t] @ W + h @ U + b
        gates = 1.0 / (1.0 + np.exp(-g[: 3 * n]))
        c = gates[:n] * c + gates[n : 2 * n] * np.tanh(g[3 * n :])
        h = gates[2 * n :] * np.tanh(c)
    return h, c


def test_vectors_by_matrices() -> None:
    """Steps of a recurrent network."""

    def make():  # noqa: ANN202
        rng = np.random.default_rng(1)
        return (
            rng.random((600, 5)),
            rng.random((5, 24)),
            rng.random((6, 24)) - 0.5,
            rng.random(24),
            6,
        )

    assert native_turns(steps, make) > 400


def scattered(x, idx, A, T):
    k = 0
    for t in range(T):
        y = x[idx]
        x[idx] = y * 0.5 + 0.1
        x[idx[::-1]] += 1.0
        x[x > 1.5] = 0.25
        A[idx[:3]] = A[idx[1:4]] * 0.9
        A[t % len(A), idx] -= y
        A[A < -1] = 0
        k = k + np.argmax(x) + A[:, 1].argmin()
    return x, A, k


@pytest.mark.parametrize("dtype", ["i8", "i4", "u1"])
def test_indices_and_masks(dtype) -> None:
    """Taken, put, added to; a number where a mask is true."""

    def make():  # noqa: ANN202
        rng = np.random.default_rng(1)
        return rng.random(40), rng.integers(0, 9, 12).astype(dtype), rng.random((10, 40)), 600

    assert native_turns(scattered, make) > 400


def wanders(x, idx, T):
    for t in range(T):
        idx[t % 5] = t // 30
        x[idx] += 0.5
    return x


def swaps(A, T):
    for t in range(T):
        A[[t % 3, t // 30]] = A[[t // 30, t % 3]]
        A[t // 40, [0, 1]] += 0.5
    return A


def test_an_index_out_of_range() -> None:
    """Eager's own error, in its turn, with all before it done."""
    assert native_turns(wanders, lambda: (np.zeros(18), np.arange(5), 600)) > 300
    assert native_turns(swaps, lambda: (np.arange(36.0).reshape(18, 2), 600)) > 300


def products(a, b, out):
    for t in range(len(out)):
        out[t] = a @ b
        out[t] += np.dot(a[::-1], b)
        out[t] += a.sum()
        out[t] += (a[1:] * b[:-1]).sum()
        out[t] += np.max(b)
        a[t % len(a)] = t % 7
    return out


@pytest.mark.parametrize("dtype", ["f4", "i4", "u4", "i2", "u2", "i1", "u1", "u8"])
def test_products_and_sums_of_other_numbers(dtype) -> None:
    """Products of small integers stay small, sums become int64."""

    def make():  # noqa: ANN202
        a = np.arange(1, 60).astype(dtype)
        return a, a * 2 % 7, np.zeros(600, a.sum().dtype)

    assert native_turns(products, make) > 200


def dots(A, B, out):
    for i in range(len(out)):
        out[i] = np.dot(A, B)[0, 0] + np.dot(A[0], B[:, 0])
    return out


def of_several_types(whole, x, A, B):
    s = 0.0
    for i in range(len(whole)):
        s += whole[i] @ x
        s += np.dot(x, whole[i])
        y = A @ x
        z = np.dot(x, A)
        C = B @ A
        s += y[i % len(y)] - z[0] + C[0, i % len(x)]
        x[i % len(x)] = s % 7.0
    return s, x, y, z, C


@pytest.mark.parametrize(("whole", "real"), ["ld", "hd", "?d", "bf", "if", "df"])
def test_products_of_numbers_of_several_types(whole, real) -> None:
    """The whole numbers are copied as floats, as NumPy does it."""

    def make() -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(3)
        rows = (rng.random((600, 7)) * 9).astype(whole)
        square = (rng.random((7, 7)) * 5).astype(whole)
        return rows, rng.random(7).astype(real), square, rng.random((7, 7)).astype(real)

    assert native_turns(of_several_types, make) > 200


@pytest.mark.parametrize("shapes", [(1, 1, 1), (1, 1, 4), (4, 1, 1), (4, 1, 4), (1, 4, 1)])
def test_dots_of_few_elements(shapes) -> None:
    """`np.dot` multiplies by one number, where `@` adds the product to zero: the sign of a zero tells, and a warning."""
    rows, terms, columns = shapes

    def make():  # noqa: ANN202
        return np.zeros((rows, terms)), -np.ones((terms, columns)), np.ones(3000)

    def make_infinite():  # noqa: ANN202
        return np.ones((rows, terms)), np.full((terms, columns), np.inf), np.ones(3000)

    native_turns(dots, make)
    native_turns(dots, make_infinite)


def of_nan(a, b, out):
    for i in range(len(out)):
        out[i] = (a @ b)[0, 0]
    return out


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
def test_products_of_two_nan(shape) -> None:
    """NumPy's loop looks at the steps along axes of one element, which are 0."""
    a, b = (
        np.array([bits], np.uint64).view(float)[0] for bits in (0x7FF8 << 48 | 1, 0x7FF8 << 48 | 2)
    )
    assert (
        native_turns(of_nan, lambda: (np.full(shape, a), np.full(shape[::-1], b), np.ones(3000)))
        > 0
    )


def implicit(u, A, n):
    """Steps backwards in time."""
    for _ in range(n):
        u = np.linalg.solve(A, u)
    return u


def filtered(x, P, F, H, n):
    for _ in range(n):
        x, P = F @ x, F @ P @ F.T + 0.01
        gain = P @ H.T @ np.linalg.inv(H @ P @ H.T + np.eye(2))
        x = x + gain @ (0.5 - H @ x)
        P = P - gain @ H @ P
    return x, P


def newtons(x, n):
    for i in range(n):
        f = np.array([x[0] ** 2 + x[1] ** 2 - 4, x[0] * x[1] - 1])
        jacobian = np.array([[2 * x[0], 2 * x[1]], [x[1], x[0]]])
        x = x - np.linalg.solve(jacobian, f)
        if i % 5 == 4:
            x = x * 1.1 + np.array([0.5, 0.1])
    return x


def becoming_singular(A, n):
    """Eager's error, in its turn."""
    total = 0.0
    for i in range(n):
        A[0, 0] = 1.5 + (i - 300) * 1e-3
        total += np.linalg.inv(A)[0, 0] + np.linalg.solve(A, A[:, 0])[1]
    return total


MATRIX = np.eye(5) * 3 - np.eye(5, k=1) - 0.5 * np.eye(5, k=-2)


SYSTEMS = pytest.mark.parametrize(
    ("function", "make"),
    [
        (implicit, lambda: (np.arange(5.0), MATRIX, 2000)),
        (implicit, lambda: (np.arange(15.0).reshape(5, 3), MATRIX.T, 2000)),
        (
            implicit,
            lambda: (np.arange(15.0).reshape(3, 5).T, np.repeat(MATRIX, 2, 1)[:, ::2], 2000),
        ),
        (filtered, lambda: (np.zeros(4), np.eye(4), np.eye(4) + np.eye(4, k=2), np.eye(2, 4), 400)),
        (newtons, lambda: (np.array([2.0, 0.4]), 400)),
        (becoming_singular, lambda: (np.full((2, 2), 1.5), 2000)),
    ],
)


@SYSTEMS
def test_systems_of_equations(function, make) -> None:
    """They are solved by LAPACK, as NumPy has it do."""
    assert native_turns(function, make) > 200


@SYSTEMS
def test_what_a_system_means(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition says the same."""
    made = on_the_reference(monkeypatch)
    check_same(function, ufuse.compile(function), make)
    assert sum(one.turns for one in made) > 200


@pytest.mark.parametrize(
    "make",
    [
        lambda: (np.arange(5.0, dtype="f4"), MATRIX.astype("f4"), 60),
        lambda: (np.arange(5.0) + 0j, MATRIX, 60),
        lambda: (np.ones((2, 5, 1)), MATRIX, 60),
        lambda: (np.arange(5), MATRIX, 60),
    ],
)
def test_systems_of_other_numbers_are_plain_pythons(make) -> None:
    """NumPy computes them in double precision, and converts before and behind."""
    native_turns(implicit, make)


def fitted(X, y, rate, turns):
    w, losses = np.zeros(X.shape[1]), []
    for t in range(turns):
        miss = X @ w - y
        losses.append((miss**2).mean())
        w -= rate * 2 / len(y) * X.T @ miss
        w[0] += (X.T * 0.5 - 1).sum() * 1e-9 + (2 * X.T).max() * 1e-9
        w += (X.T - X.T * t).sum(axis=1) * 1e-9 + 1e-9 * (X.T[::-1] + 1.0) @ y
        w[-1] += ((X.T + 1) @ (X * 3))[0, 0] * 1e-9 + np.std(X.T * 2) * 1e-9
    return w, losses


@pytest.mark.parametrize("shape", [(40, 5), (300, 3), (2, 2), (1, 5), (1, 1), (7, 1), (0, 3)])
@pytest.mark.parametrize("order", "CF")
def test_expressions_of_transposed_matrices(shape, order) -> None:
    """They lie in memory as eager's do: so do sums and products add."""

    def make() -> tuple[object, ...]:
        rng = np.random.default_rng(6)
        X = np.array(rng.random(shape) - 0.5, order=order)
        return X, rng.random(shape[0]), 0.1, 300

    turns = native_turns(fitted, make)
    assert turns > 200 or order == "F" or min(shape) < 2

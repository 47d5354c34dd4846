"""Array statements of complex numbers in native loops: new arrays, and NumPy's own bits and warnings."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import check_whole_call, leave_loops, native_turns

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")

RNG = np.random.default_rng(7)


def points(*shape):  # noqa: ANN002
    """Numbers of any size."""
    scale = 10.0 ** RNG.integers(-2, 3, shape)
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)) * scale


@pytest.fixture(autouse=True)
def few_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few turns are enough."""
    leave_loops(monkeypatch)


def statements(x, n):
    out = np.zeros(len(x), complex)
    for k in range(n):
        t = x.copy()
        t[k % 7 :] *= 0.5 - 0.25j
        out += t * (1j + k) - np.conj(t) / (2.0 + k)
        u = np.empty_like(x)
        u[:] = 3 + 2j
        out[1:] = out[:-1] + u[1:] * x[1:]
        out[::2] = x[::2] * x[1::2] - t[::-2]
        out[::-3] = x[::3] / t[::3].conj()
    return out, t


def mixed(x, r, n):
    for _ in range(n):
        x = x + r
        x = x * r - 1.5
        x = x**2 / (1 + np.abs(x))
        x *= np.float64(0.5)
        x /= 2
        x -= 1j * r
        x = np.where(r > 0.5, x, 0)
        x = np.exp(1j * r) + x
    return x


def made(x, n):
    for _ in range(n):
        a = np.full(5, 0.5j)
        b = np.ones(5, dtype=complex)
        c = np.eye(2, dtype=np.complex128)
        x[:5] += a * b + np.full(5, 2, complex)
        x[:2] = c @ x[:2]
        x[2:4] = np.array([x[0], 1]) - np.array([1j, True, 2.5])[:2]
        x = np.concatenate((x[1:], x[:1]))
        x = np.roll(x, 1) * 1j
        x[1:] -= np.diff(x)
        x[[0, 1]] = x[[1, 0]]
    return x, a, b, c


def state(psi, gate, n):
    total = 0.0
    for _ in range(n):
        psi = gate @ psi
        psi = psi / np.sqrt(np.sum(np.abs(psi) ** 2))
        total = total + float(abs(psi[0]))
        v = np.array([1, 1j * total, psi[1]])
        total += float((v[1] * v[2]).real) * 1e-3
        psi[0] = v.sum()
    return psi, total


def matrices(a, n):
    for k in range(n):
        b = a * (0.5 + 1j) - a[0]
        b[1:, :-1] += a[:-1, 1:] * b[1:, 1:]
        b *= a[:, :1]
        a[k % 3, :] = b[:, k % 4][: a.shape[1]]
    return a, b


GATE = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1j]]) * (0.9 + 0.1j)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (statements, (points(40), 60)),
        (mixed, (points(31), RNG.random(31), 60)),
        (made, (points(9), 60)),
        (state, (points(3), GATE, 80)),
        (matrices, (points(4, 4), 60)),
    ],
)
def test_programs_are_native_and_the_same(function, given) -> None:
    """Numbers, real arrays and complex ones, views with gaps and backwards, in place and as new arrays."""
    assert native_turns(function, lambda: given) > 20


def in_place(x, w, n):
    for k in range(n):
        for i in range(len(x)):
            x[i:] *= w
            x[i : i + 1] /= w + k
            x[: i + 1] *= x[: i + 1]
    return x


def test_one_element_is_another_matter_in_place() -> None:
    """NumPy takes it for a reduction, with other bits: those are eager's, too."""
    given = points(5), 0.7 + 0.3j, 40
    native_turns(in_place, lambda: given)


def scaled(x, out, w):
    for i in range(len(x)):
        np.multiply(x[i], w, out[i])
        out[i] += x[i, ::-1]
    return out


@pytest.mark.parametrize("special", [np.inf, np.nan, 1e308, 1e-320, -0.0])
@pytest.mark.parametrize("is_silent", [False, True])
def test_odd_numbers(special, is_silent) -> None:
    """They warn as in plain Python, and keep their bits."""
    x = points(40, 5)
    x[7, 1], x[20, 2], x[30, 3] = special, 1j * special, complex(special, special)
    with np.errstate(all="ignore" if is_silent else "warn"):
        native_turns(scaled, lambda: (x, np.zeros((40, 5), complex), 1.5 - 2j))
        native_turns(statements, lambda: (x[:, 1].copy(), 40))


def turned(x, n):
    for k in range(n):
        phase = np.exp(1j * np.pi / (k + 2))
        x[k % len(x)] *= phase + np.sqrt(x[0]) - np.log(2 + 1j * k)
        x[:] = np.sqrt(x) + np.tanh(x[::-1])
        x[1:2] = np.exp(x[2:3] * 1e-3)
        np.sin(x[:1], x[:1])
    return x, phase


def test_functions_of_one_number_are_those_of_arrays() -> None:
    """NumPy calls the loop that it has for arrays."""
    given = points(6) / 100, 60
    assert native_turns(turned, lambda: given) > 20


def parts_dropped(x, r):
    for i in range(len(x)):
        r[:] = x[i] * 2.0
    return r


def test_reals_take_no_complex_numbers() -> None:
    """NumPy warns that it drops a part; the loop is plain Python's."""
    assert native_turns(parts_dropped, lambda: (points(30, 4), np.zeros(4))) == 0


def spectrum(x):
    n = len(x)
    out = np.zeros(n, complex)
    found = [abs(z) for z in x]
    for k in range(n):
        total = 0j
        for i in range(n):
            total += x[i] * (0.9 + 0.1j) ** 2 * found[i]
        out[k] = total * k
    return out


def test_whole_calls_give_new_arrays() -> None:
    """As machine code from start to end."""
    check_whole_call(spectrum, (points(60),))

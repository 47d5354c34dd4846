"""Complex numbers in native loops: carried, read from arrays, stored, given back as the frame has them."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import cmath

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")

N = 3000
RNG = np.random.default_rng(5)
POINTS = RNG.standard_normal(N) + 1j * RNG.standard_normal(N)


def recurrence(x, z):
    for i in range(len(x)):
        z = z * 0.5 + x[i] - 0.25j
    return z


def escapes(x, limit):
    found = np.zeros(len(x), int)
    for i in range(len(x)):
        z, c = 0j, complex(x[i])
        for _ in range(limit):
            if abs(z) > 2.0:
                break
            z = z * z + c
            found[i] += 1
    return found, z


def rotated(x, angle):
    turn = cmath.rect(1.0, angle)
    for i in range(len(x)):
        x[i] = x[i] * turn
        x[-i] += x[i].conjugate() / (2.0 + abs(x[i]))
    return x


def parts(x, out):
    for i in range(len(x)):
        z = x[i]
        out[i] = complex(z.imag, z.real) if z.real > 0.0 else z.real
        if z == 0 or not z:
            out[i] = 1
    return out, z


def kept(x, n):
    last = first = x[0]
    for i in range(n):
        if x[i].real > 100.0:
            last = x[i]
    return last is first, last


def rows(a, w):
    for i in range(a.shape[0]):
        for j in range(1, a.shape[1]):
            a[i, j] = a[i, j - 1] * w - a[i, j]
    return a


def products(x, step):
    z = step
    for k in range(len(x)):
        z *= step
        x[k] = z**2 - z**3 / (z - 3.5)
    return x, z


def fourier(x, out):
    n = len(x)
    for k in range(len(out)):
        total = 0j
        for i in range(n):
            total += x[i] * cmath.exp(-2j * cmath.pi * k * i / n)
        out[k] = total / abs(cmath.sqrt(total)) + cmath.phase(total)
    return out


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (recurrence, lambda: (POINTS, 0j)),
        (recurrence, lambda: (POINTS, np.complex128(1 - 2j))),
        (recurrence, lambda: (list(POINTS.real), 1j)),
        (escapes, lambda: (POINTS, 30)),
        (rotated, lambda: (POINTS.copy(), 0.3)),
        (rotated, lambda: (np.stack([POINTS, POINTS]).T[:, 0], 0.3)),
        (parts, lambda: (POINTS, np.zeros(N, complex))),
        (parts, lambda: (POINTS[::-1], np.zeros((N, 3), complex)[:, 1])),
        (kept, lambda: (POINTS, N)),
        (fourier, lambda: (POINTS[:60], np.zeros(60, complex))),
        (rows, lambda: (POINTS.reshape(30, 100).copy(), 0.5 + 0.5j)),
        (rows, lambda: (POINTS.reshape(100, 30).copy().T, np.complex128(0.5))),
        (products, lambda: (POINTS.copy(), 0.999 + 0.01j)),
        (products, lambda: (POINTS.copy(), np.complex128(0.999 + 0.01j))),
    ],
)  # fmt: skip
def test_programs_are_native_and_the_same(function, make) -> None:
    """Python's and NumPy's, with floats, in loops with and without copies."""
    assert native_turns(function, make) > 10


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 1e308, -1e308, 1e-320, -0.0])
def test_odd_numbers(special) -> None:
    """They warn as in plain Python, and keep their bits."""
    x = POINTS[:400].copy()
    x[100], x[200], x[300] = special, 1j * special, complex(special, special)
    with np.errstate(all="ignore"):
        native_turns(rotated, lambda: (x.copy(), 0.3))
        native_turns(recurrence, lambda: (x, 0j))
    native_turns(rotated, lambda: (x.copy(), 0.3))
    native_turns(recurrence, lambda: (x, np.complex128(0)))
    native_turns(parts, lambda: (x, np.zeros(len(x), complex)))


def divided(x, y):
    for i in range(len(x)):
        x[i] = x[i] / y
    return x


def test_division_by_zero() -> None:
    """NumPy warns, once for each turn; Python raises."""
    native_turns(divided, lambda: (POINTS[:50].copy(), 0j))
    native_turns(divided, lambda: (POINTS[:50].copy(), np.complex128(0)))


def stored(x, values):
    for i in range(len(values)):
        x[i] = values[i]
    return x


def test_complex_numbers_in_real_arrays() -> None:
    """NumPy warns that it drops a part; the loop is plain Python's."""
    assert native_turns(stored, lambda: (np.zeros(N), POINTS)) == 0

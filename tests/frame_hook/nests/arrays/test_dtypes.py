"""Scalar code over NumPy's other integers and float32 in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytestmark = pytest.mark.any_python
N = 3000
DTYPES = "bhilBHILf"


def smoothing(x, out, alpha):
    level = x[0]
    for i in range(len(x)):
        level = alpha * x[i] + (1 - alpha) * level
        out[i] = level
    return out, level


def crc(data, table):
    value = np.uint32(0xFFFFFFFF)
    for i in range(len(data)):
        value = table[(value ^ data[i]) & 0xFF] ^ (value >> 8)
    return ~value


def fnv(data):
    digest = np.uint64(14695981039346656037)
    for i in range(len(data)):
        digest = (digest ^ data[i]) << 5 ^ digest >> 3
    return digest


def aligned(one, other, table):
    best = np.int32(0)
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            score = 3 if one[i - 1] == other[j - 1] else -3
            diagonal = table[i - 1, j - 1] + score
            table[i, j] = max(0, diagonal, table[i - 1, j] - 2, table[i, j - 1] - 2)
            best = max(best, table[i, j])
    return best, table


def mixed(a, b, out):
    total = 0.0
    for i in range(len(a)):
        total = total + a[i] * 0.5 - b[i] / 3
        out[i] = min(b[i], a[i])
    return out, total


def numbers(data, out):
    for i in range(len(data)):
        small = np.uint8(int(data[i]) & 0x7F)
        out[i] = float(small) * 0.25 + int(data[i]) // 3
        if small >= 100 or -data[i] > 5:
            out[i] = np.float32(data[i]) * np.float32(0.1)
    return out


def extremes(a, b, out):
    for i in range(len(a)):
        out[i, 0] = max(a[i], 0, b[i], -3) - min(b[i], 7, int(a[i]), i)
        out[i, 1] = min(0, a[i], b[i]) / 3
        out[i, 2] = max(1.5, float(a[i]), np.float64(b[i]), out[i, 0])
    return out


TABLE = np.random.default_rng(0).integers(0, 2**32, 256).astype(np.uint32)
RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (smoothing, lambda: (np.linspace(0, 1, N, dtype="f"), np.zeros(N, "f"), 0.3)),
        (smoothing, lambda: (np.linspace(0, 1, N, dtype="f"), np.zeros(N), np.float32(0.3))),
        (smoothing, lambda: (np.linspace(0, 1, N), np.zeros(N, "f"), np.float32(0.3))),
        (crc, lambda: (RNG.integers(0, 256, N).astype("B"), TABLE)),
        (fnv, lambda: (RNG.integers(0, 256, N).astype("B"),)),
        (aligned, lambda: (RNG.integers(0, 4, 60).astype("b"), RNG.integers(0, 4, 50).astype("b"), np.zeros((61, 51), "i"))),
        (extremes, lambda: (RNG.integers(-9, 9, N).astype("b"), RNG.integers(-9, 9, N).astype("i"), np.zeros((N, 3)))),
        (numbers, lambda: (RNG.integers(0, 100, N).astype("h"), np.zeros(N, "f"))),
    ],
)  # fmt: skip
def test_programs_are_native_and_the_same(function, make) -> None:
    """Carried numbers, elements, and both mixed with Python's and with one another."""
    given = make()
    assert native_turns(function, lambda: tuple(map(copied, given))) > 10


def copied(one):
    return one.copy() if isinstance(one, np.ndarray) else one


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_every_pair_of_types(one, other) -> None:
    """Sums, quotients, comparisons and stores."""
    dtype = np.result_type(one, other)
    a, b = np.arange(100).astype(one), np.arange(100)[::-1].astype(other)
    assert native_turns(mixed, lambda: (a, b, np.zeros(100, dtype))) > 0


def summed(x):
    total = x[0]
    for i in range(len(x)):
        total = total + x[i]
    return total


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_that_overflow(dtype) -> None:
    """Each turn that overflows warns as in plain Python, and the number wraps or is infinite."""
    x = np.zeros(N, dtype)
    x[::400] = np.finfo(dtype).max / 3 if dtype == "f" else np.iinfo(dtype).max // 3
    assert native_turns(summed, lambda: (x,)) > 0


def stored(x, values):
    for i in range(len(values)):
        x[i] = values[i] + 100
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_that_an_array_cannot_hold(dtype) -> None:
    """The turn is plain Python's: it wraps, or raises."""
    values = np.arange(N)
    native_turns(stored, lambda: (np.zeros(N, dtype), values))
    native_turns(stored, lambda: (np.zeros(N, dtype), values.astype("L")))
    native_turns(stored, lambda: (np.zeros(N, dtype), values * 0.37e36))


def kept(x, n):
    last = first = x[0]
    for i in range(n):
        if x[i] > 1000:
            last = x[i]
    return last is first, last


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_that_stays_is_the_same_object(dtype) -> None:
    """One that no turn changes is given back as it was."""
    assert native_turns(kept, lambda: (np.arange(100).astype(dtype), 100)) > 0

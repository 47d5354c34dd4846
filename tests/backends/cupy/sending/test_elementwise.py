"""NumPy's elementwise functions on a GPU: `backend="cupy"`, on the test device; the reference is NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.numpys_loops import COMPLEX, NUMBERS, called_with_all
from tests.support.devices.sent import check, compared, is_sent


def is_close(name: str, dtype: str) -> bool:
    """Whether a function is near to NumPy's, and no more."""
    from ufuse.backends.cupy.sending.elementwise import CLOSE, EXACT_COMPLEX  # noqa: PLC0415

    if name == "clip":  # which of two zeros it gives of arrays of limits is not said
        return dtype in "fd"
    return name in CLOSE or (dtype in "FD" and name not in EXACT_COMPLEX)


def test_every_function(host: Host) -> None:
    """IEEE's operations, comparisons and operations on bits have NumPy's bits; the others nearly.

    What the CPU runs may be left to plain Python, as without the option.
    """
    cases = called_with_all(host)
    assert len(cases) > 650
    there, wrong = set(), {}
    for name, dtype, function, arguments in cases:
        close = 0 if not is_close(name, dtype) else 1e-6 if dtype != "F" else 1e-5
        compiled, reason = compared(function, *arguments, close=close)
        if compiled.graphs and is_sent(compiled):
            there.add((name, dtype))
            reason = reason or (None if compiled.stats.hits else f"no hit: {compiled.stats}")
            reason = reason or (f"it ends: {compiled.breaks}" if compiled.breaks else None)
        if reason is not None:
            wrong[f"{name}[{dtype}]"] = reason
    assert not wrong
    missing = {f"{name}[{dtype}]" for name, dtype, *_ in cases if dtype in "fdlL"} - {
        f"{n}[{d}]" for n, d in there
    }
    assert missing == {"reciprocal[l]"}, missing


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_floors_and_remainders(host: Host, dtype: str) -> None:
    """The floor of a quotient is NumPy's where division rounds up to the next whole number."""
    rng = np.random.default_rng(3)
    x = np.concatenate([np.arange(-30, 30) * 0.1, rng.normal(size=400) * 100]).astype(dtype)
    y = np.concatenate([np.full(60, 0.1), rng.normal(size=400)]).astype(dtype)
    assert is_sent(check(lambda x, y: (x // y, x % y, x % 0.3, 7.0 // y), x, y))


def test_numbers_of_numpys(host: Host) -> None:
    """Elements that are read out, sums and what is computed of them stay on the device; `float` fetches one."""
    x = np.random.default_rng(4).normal(size=(5, 6))

    def elements(x: Any) -> Any:
        first, last = x[0, 1], x[-1, x.shape[1] - 1]
        y = x * 2
        return y[2, 3] - first, x / (last // 0.25), y - first, y[1, 1] > first

    def read(x: Any) -> Any:
        total = float((x * x).sum())
        return x / total, total, int(total), bool(x.max() > 1)

    def functions(x: Any, n: int) -> Any:
        return x / math.sqrt((x * x).sum()), np.arange(n) * math.exp(x[0, 0])

    assert is_sent(check(functions, x, 7, close=1e-12))
    assert is_sent(check(elements, x))
    assert is_sent(check(read, x, close=1e-12))


def test_an_element_is_read_before_it_is_written(host: Host) -> None:
    """What is stored later does not change what was read out."""

    def written(x: Any) -> Any:
        y = x + 1
        first = y[0]
        y[0] = 50.0
        return y * first, first

    assert is_sent(check(written, np.arange(5.0)))


def test_powers_of_whole_numbers(host: Host) -> None:
    """A power that cannot be negative is the device's; one that is raises as NumPy does."""
    x = np.arange(6)
    assert is_sent(check(lambda x: (x**3, x**2), x))
    compiled = ufuse.compile(lambda x, y: x**y, backend="cupy")
    for _ in range(2):
        assert (compiled(x, x) == x**x).all()
        with pytest.raises(ValueError, match="negative integer powers"):
            compiled(x, x - 3)


def test_limits(host: Host) -> None:
    """`np.clip` has NumPy's zeros and NaN, of numbers as limits too."""
    x = np.array(NUMBERS)
    for function in (
        lambda x: np.clip(x * 2, 0, 1), lambda x: np.clip(x + 1, -0.0, 0.0), lambda x: np.clip(x * 2, np.nan, 1),
        lambda x: (x * 2).clip(min=0.5), lambda x: np.clip(x[::-1], x[1:2] * 4, 3.0),
    ):  # fmt: skip
        assert is_sent(check(function, x))
    assert is_sent(check(lambda x: np.clip(x * 2, 0, 5), np.arange(-9, 9, dtype="i1")))


def test_complex_numbers(host: Host) -> None:
    """Parts, phases and products of complex numbers."""
    z = np.array(COMPLEX * 2).reshape(2, 7)
    for function in (
        lambda z: z.real * 2 + z.imag, lambda z: np.exp(1j * z.real), lambda z: z * z.conj() + 1, lambda z: abs(z) ** 2,
        lambda z: np.angle(z * 2), lambda z: (z * z).sum(axis=0), lambda z: z.astype("c8") * 2 - 1j,
    ):  # fmt: skip
        assert is_sent(check(function, z, close=1e-6))

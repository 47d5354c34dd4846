"""Powers with constant exponents in native loops: as C's `pow` rounds them, wherever that is called."""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.native_loops import leave_loops, loops_of, native_turns
from ufuse.backends.numpy.llvm.nest_powers import POWERS
from ufuse.graph.nest import KNOWN_POWERS

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def _left(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_loops(monkeypatch)


EXPONENTS = ("2", "3", "4", "0.5", "1.5", "-1", "-2", "-3", "-0.5", "-1.5", "3.0")
COUNT = 200  # turns


def made(exponent: str) -> Any:
    """A loop over powers of NumPy's numbers and of Python's."""
    space: dict[str, Any] = {}
    exec(
        "def loop(x, out, own):\n"
        "    for i in range(len(x)):\n"
        f"        out[i] = x[i] ** {exponent}\n"
        f"        own[i] = float(x[i]) ** {exponent}\n"
        "    return out, own\n",
        space,
    )
    return space["loop"]


def numbers(kind: str) -> np.ndarray:
    """Numbers of ordinary size, of every size, and such whose powers lie next to powers of two."""
    rng = np.random.default_rng(5)
    match kind:
        case "ordinary":
            return np.abs(rng.normal(size=COUNT)) * 3 + 1e-3
        case "all":
            return np.exp2(rng.uniform(-1000, 1000, COUNT))
        case "whole":
            return rng.integers(1, 2000, COUNT) * rng.choice([1, 0.5, 0.1], COUNT)
    near = np.exp2(rng.integers(-50, 50, COUNT).astype(float))
    return np.nextafter(near, rng.choice([0, np.inf], COUNT))


def test_each_has_code() -> None:
    """The backend knows every power that a loop may ask for."""
    assert POWERS.keys() == KNOWN_POWERS.keys()


@pytest.mark.parametrize("kind", ["ordinary", "all", "whole", "near"])
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_are_those_of_c(exponent: str, kind: str) -> None:
    """Of positive numbers, and of negative ones where the exponent is whole; beyond the range of doubles Python says so."""
    x = numbers(kind)
    if float(exponent).is_integer():
        x[::3] *= -1
    if kind == "all":
        x = x[np.abs(np.log2(np.abs(x)) * float(exponent)) < 1000]
    compiled = ufuse.compile(made(exponent))
    power = ctypes.CDLL(None).pow
    power.restype, power.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    wanted = np.array([power(each, float(exponent)) for each in x.tolist()])
    for _ in range(3):
        for found in compiled(x, np.zeros(len(x)), np.zeros(len(x))):
            assert found.tobytes() == wanted.tobytes()
    assert sum(loop.turns for loop in loops_of(compiled)) > len(x)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_what_is_not_ordinary(exponent: str) -> None:
    """Errors, warnings and complex results are plain Python's."""
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e300, -1e300, 1e-300, -2.5]
    for number in odd:
        x = numbers("ordinary")
        x[COUNT // 2] = number
        native_turns(made(exponent), lambda x=x: (x, np.zeros(COUNT), np.zeros(COUNT)))

"""Powers with constant exponents in native loops: as C's `pow` rounds them, wherever that is called."""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import leave_loops, loops_of, native_turns
from tests.support.nests.nest_code import RANGE, Code, number
from tests.support.sources import ROOT
from ufuse.backends.numpy.nest_code.powers import POWERS
from ufuse.backends.numpy.nest_passes import nearest
from ufuse.backends.numpy.nest_passes.nearest import (
    EXACT,
    is_nearest,
    next_to_margin,
    not_nearest,
)
from ufuse.graph.nest_types import KNOWN_POWERS

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
    assert POWERS.keys() == KNOWN_POWERS.keys() == EXACT.keys()


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
    for each in odd:
        x = numbers("ordinary")
        x[COUNT // 2] = each
        native_turns(made(exponent), lambda x=x: (x, np.zeros(COUNT), np.zeros(COUNT)))


@pytest.mark.parametrize("name", KNOWN_POWERS)
def test_powers_in_the_middle_of_two_doubles_are_those_of_c(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers whose powers are nearly, or all but, as far from the nearest double as from the next one."""
    monkeypatch.setattr(nearest, "LEAST_APART", -0.02)
    monkeypatch.setattr(nearest, "TRIED", 1 << 17)
    x, _ = next_to_margin(name)
    assert len(x) > 5000
    exponent = KNOWN_POWERS[name]
    compiled = ufuse.compile(made(str(exponent)))
    power = ctypes.CDLL(None).pow
    power.restype, power.argtypes = ctypes.c_double, [ctypes.c_double] * 2
    wanted = np.array([power(each, exponent) for each in x.tolist()])
    for _ in range(3):
        for found in compiled(x, np.zeros(len(x)), np.zeros(len(x))):
            assert found.tobytes() == wanted.tobytes()
    assert sum(loop.turns for loop in loops_of(compiled)) > len(x)


def other_library(name: str) -> None:
    """Replace C's `pow` by one that is not the nearest double for one number, and by one that is."""
    code = Code(number("s"), RANGE)
    code.header("i", "body")
    code.set("s", code.call(name, code.get("s")))
    code.end("jump", "header")
    nest = code.nest()
    assert is_nearest(name)
    assert not_nearest(nest) == []
    given, wanted = next_to_margin(name)
    assert len(given) > 100
    odd = given[len(given) // 2]
    results = dict(zip(given.tolist(), wanted.tolist(), strict=True))

    def power(x: float, exponent: float) -> float:
        assert exponent == KNOWN_POWERS[name]
        return float(np.nextafter(results[x], np.inf)) if x == odd else results[x]

    function = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)(power)
    address = ctypes.cast(function, ctypes.c_void_p).value
    own, nearest.library_function = nearest.library_function, lambda _: address
    try:
        is_nearest.cache_clear()
        assert not_nearest(nest) == [name]
        odd = np.nan
        is_nearest.cache_clear()
        assert not_nearest(nest) == []
    finally:
        nearest.library_function = own
        is_nearest.cache_clear()


def test_another_library_is_noticed() -> None:
    """A `pow` that is not the nearest double now and then is called for every number, by code kept elsewhere."""
    module = other_library.__module__
    names = f"for name in {[*KNOWN_POWERS]}: {module.rpartition('.')[2]}.other_library(name)"
    script = f"from {module.rpartition('.')[0]} import {module.rpartition('.')[2]}\n{names}"
    # a process of its own, where no thread compiles powers while C's is another
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=120)

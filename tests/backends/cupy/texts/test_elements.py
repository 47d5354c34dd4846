"""Single elements of CuPy's arrays: loops over them are few kernels, in which one thread does what many launches did."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.captured import function_of
from tests.support.devices.comparing import same

RNG = np.random.default_rng(51)
FEW = 6  # launches


def sweep(cp: Any, x: Any, y: Any) -> Any:
    """Each element from those around it, of which some are new."""
    for i in range(1, 4):
        for j in range(1, 4):
            x[i, j] = (x[i - 1, j] + x[i, j - 1] + x[i, j] + x[i + 1, j] + x[i, j + 1]) / 5.0
    return x


def recurrence(cp: Any, x: Any, y: Any) -> Any:
    """A value that is carried, and written to a new array."""
    level, out = x[0, 0] * 0.5, cp.empty(5)
    for i in range(5):
        level = level * 0.9 + x[i, 1] * (1 - y[i, 2])
        out[i] = level
    return level, out


def product(cp: Any, x: Any, y: Any) -> Any:
    """Sums in places of an array."""
    c = cp.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                c[i, j] += x[i, k] * y[k, j]
    return c


def elimination(cp: Any, x: Any, y: Any) -> Any:
    """Rows and elements in turn."""
    for k in range(2):
        x[k + 1 :, k] /= x[k, k]
        for i in range(k + 1, 4):
            x[i, k + 1] -= x[i, k] * x[k, k + 1]
        x[k, -1] = -x[k, 0]
    return x


def others(cp: Any, x: Any, y: Any) -> Any:
    """Other types, choices, functions, casts, and places that numbers are put into."""
    n = (x * 10).astype("i4")
    n[0, 0] = n[1, 1] // 3 + n[2, 2] % 4
    n[1] = n[0, 0]
    big = cp.where(x[0, 0] > y[0, 0], x[0, 1], 2.5) + cp.exp(y[1, 1]) - cp.maximum(x[2, 2], 0)
    x[-1, -1] = 7
    return n, big, big.astype("f4"), x[3, 3] > 0, x


PROGRAMS = [sweep, recurrence, product, elimination, others]


def given(host: Host) -> list[Any]:
    """Fresh arguments, the same each time."""
    rng = np.random.default_rng(7)
    return [host.cupy.asarray(rng.normal(size=(5, 5))) for _ in range(2)]


def compare(host: Host, function: Callable[..., Any], *first: Any, last: Any = ()) -> Any:
    """Results, and what is written, in each order of threads."""
    plain = given(host)
    wanted = function(*first, *plain, *last)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    compiled = ufuse.compile(function)
    compiled(*first, *given(host), *last)
    for order in ORDERS:
        arrays = given(host)
        with host.driver.running(order):
            found = compiled(*first, *arrays, *last)
        found = found if isinstance(found, tuple) else (found,)
        for place, pair in enumerate(zip((*arrays, *found), (*plain, *wanted), strict=True)):
            assert same(*pair), (order, place)
            assert pair[0].flags.owndata == pair[1].flags.owndata
    assert compiled.stats.hits
    return compiled


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_loops_over_elements(host: Host, program: Callable[..., Any]) -> None:
    """Few launches, where eager CuPy has one for each operation."""
    compiled = compare(host, program, host.cupy)
    assert not compiled.breaks
    with host.device.counting() as plain:
        program(host.cupy, *given(host))
    with host.device.counting() as fast:
        compiled(host.cupy, *given(host))
    assert fast["launch"] <= max(FEW, plain["launch"] // 3)


def test_one_operation_is_cupys_own_call(host: Host) -> None:
    """Nothing is compiled for it: there is a kernel of CuPy's for any array."""
    compiled = compare(host, lambda cp, x, y: (x[0, 0] * y[0, 0], cp.sqrt(abs(x[1]))), host.cupy)
    assert compiled.graphs[0].source("cupy").count("__global__") == 1
    compiled = compare(host, lambda cp, x, y: x[0, 0] * y[0, 0] + 1, host.cupy)
    assert compiled.graphs[0].source("cupy").count("__global__") == 1


def statements(choose: random.Random) -> list[str]:
    """Elements and parts of two arrays, read and written in any order."""

    def element(name: str) -> str:
        return f"{name}[{choose.randrange(-5, 5)}, {choose.randrange(5)}]"

    def value() -> str:
        one, other = element(choose.choice("xy")), element(choose.choice("xy"))
        forms = (f"{one} * 0.5 + {other}", f"{one} - t", f"{one}", "t * 2", f"{other}", "0.25")
        return choose.choice(forms)

    lines = ["t = x[0, 0] * 1"]
    for _ in range(choose.randint(4, 12)):
        row = choose.randrange(5)
        lines.append(
            choose.choice(
                (
                    f"{element('x')} = {value()}",
                    f"{element('y')} += {value()}",
                    f"t = {element('x')} + {value()}",
                    f"x[{row}] = y[{choose.randrange(5)}] * t",
                    f"y[{row}, 1:4] -= {element('x')}",
                    f"x[1:, {row}] = x[:-1, {choose.randrange(5)}] + t",
                    f"{element('x')}, {element('x')} = {element('x')}, {element('y')}",
                )
            )
        )
    return lines


def test_random_elements(host: Host) -> None:
    """What is read behind a write is what was written, whichever elements these are."""
    functions = []
    for seed in range(40):
        choose = random.Random(seed)  # noqa: S311  no secret
        functions.append(function_of(statements(choose), ["t", "x"], "cp", host.cupy))
    with host.compiler.gathering():
        for function in functions:
            compiled = ufuse.compile(function)
            function(*given(host), None)
            for _ in range(2):
                compiled(*given(host), None)
    for function in functions:
        compare(host, function, last=(None,))

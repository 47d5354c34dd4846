"""Random functions: reductions of CuPy's code in three orders of threads, stores and views of NumPy's code on a GPU."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.captured import function_of
from tests.support.devices.comparing import same
from tests.support.devices.sent import is_sent

MAPS = ("abs({})", "-{}", "cp.floor({})", "({} > 0.3)", "cp.square({})", "{}.astype('f4')")
MEETINGS = ("({} + {})", "({} - {})", "({} * {})", "cp.maximum({}, {})", "cp.where({} > 0, {}, 2)")
REDUCTIONS = "sum prod max min any all mean argmax argmin var".split()
PARTS = "[1:]|[:-1]|[:, 1:]|[::2]|[:, ::-1]|[2]|[:, 3]|[1:-1, 2:]|[...]|[None, 1]|[0, 0]|[::-1]|[-1:]".split(
    "|"
)
VIEWS = (*PARTS, ".T", ".reshape(-1)")


def reducing(choose: random.Random, ndim: int) -> tuple[list[str], list[str]]:
    """Elementwise lines, then reductions along any axes."""
    names, lines, results = ["x", "y", "w"], [], []
    for number in range(choose.randint(1, 4)):
        pattern = choose.choice(MAPS + MEETINGS)
        lines.append(f"t{number} = {pattern.format(choose.choice(names), choose.choice(names))}")
        names.append(f"t{number}")
    for number in range(choose.randint(1, 3)):
        name = choose.choice(REDUCTIONS)
        axis: Any = choose.choice([None, *range(ndim)])
        if not name.startswith("arg") and choose.random() < 0.3:
            axis = tuple(sorted(choose.sample(range(ndim), choose.randint(1, ndim))))
        keepdims = choose.random() < 0.4
        lines.append(
            f"r{number} = {choose.choice(names[3:])}.{name}(axis={axis}, keepdims={keepdims})"
        )
        lines.append(f"q{number} = r{number} * 2")
        results += [f"r{number}", f"q{number}"]
    return lines, [*results, names[-1]]


def operand(host: Host, choose: random.Random, numbers: Any, shape: tuple[int, ...]) -> Any:
    """An array of CuPy's in some dtype and some memory order."""
    values = (numbers.normal(size=shape) * 3).astype(choose.choice(["f4", "f8", "i4", "i1"]))
    array = host.cupy.asarray(values)
    ways: list[Callable[[], Any]] = [
        lambda: array, lambda: array, lambda: array[..., ::-1], lambda: host.cupy.broadcast_to(array[:1], shape),
        lambda: host.cupy.asarray(np.ascontiguousarray(values.T)).T,
    ]  # fmt: skip
    return choose.choice(ways)()


@pytest.mark.parametrize("seed", range(12))
def test_random_reductions(host: Host, seed: int) -> None:
    """Each is eager CuPy's to the bit, whatever thread is first."""
    choose, numbers = random.Random(seed), np.random.default_rng(seed)  # noqa: S311  no secret
    shape = tuple(choose.choice([1, 2, 5, 31, 33, 65]) for _ in range(choose.choice([1, 2, 2, 3])))
    lines, results = reducing(choose, len(shape))
    function = function_of(lines, results, "cp", host.cupy)
    arguments = [operand(host, choose, numbers, shape) for _ in range(3)]
    wanted = function(*arguments)
    compiled = ufuse.compile(function)
    for order in ORDERS:
        with host.driver.running(order):
            assert all(map(same, compiled(*arguments), wanted)), (order, lines)
    assert compiled.graphs


def storing(choose: random.Random) -> tuple[list[str], list[str]]:
    """New arrays, views, and stores into all of them."""
    names, lines = ["x", "y"], []
    for number in range(choose.randint(3, 8)):
        one, part, other = choose.choice(names), choose.choice(PARTS), choose.choice(names)
        made = choose.choice(["np.zeros((6, 8))", "x.copy()", f"{one} * {other}", f"{one} - 0.5"])
        value = choose.choice(["1", "0.25", "x.max()", other + part, other + choose.choice(PARTS)])
        kind = choose.randrange(6)
        if kind < 2:
            given = made if kind else one + choose.choice(VIEWS)
            lines.append(f"a{number} = {given}")
            names.append(f"a{number}")
        else:
            lines.append((f"{one}{part} = {value}", f"{one} *= {other}", f"{one}[{one} > 0.5] = 0.125", f"{one}{part} += {value}")[kind - 2])  # fmt: skip
    return lines, choose.sample(names, min(4, len(names)))


def facts(one: Any) -> tuple[Any, ...]:
    """All that is compared of an array or number."""
    return type(one), one.dtype, one.shape, getattr(one, "strides", ()), one.tobytes()


def sharing(values: list[Any]) -> list[tuple[bool, bool]]:
    """Which are one object, and which share memory."""
    arrays = [one for one in values if isinstance(one, np.ndarray)]
    return [(a is b, np.shares_memory(a, b)) for a in arrays for b in arrays]


def test_random_stores_of_numpys_code(host: Host) -> None:
    """Results, what they share, and what the arguments have become are NumPy's."""
    ran = 0
    for seed in range(40):
        choose, numbers = random.Random(seed), np.random.default_rng(seed)  # noqa: S311  no secret
        lines, results = storing(choose)
        function = function_of(lines, results, "np", np)
        given = [
            np.asarray(one, order=choose.choice("CF")) for one in numbers.normal(size=(2, 6, 8))
        ]

        def arguments(given: Any = given) -> list[np.ndarray]:
            return [one.copy(order="K") for one in given]

        wanted = arguments()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                wanted += function(*wanted, None)
        except (ValueError, IndexError, RuntimeWarning):
            continue  # shapes that do not meet
        compiled = ufuse.compile(function, backend="cupy")
        for _ in range(2):
            found = arguments()
            found += compiled(*found, None)
            assert list(map(facts, found)) == list(map(facts, wanted)), lines
            assert sharing(found) == sharing(wanted), lines
        ran += bool(compiled.graphs) and is_sent(compiled)
    assert ran > 10

"""Operators between built-in values and instances of subclasses: C types know each other's subclasses."""

from __future__ import annotations

import itertools
import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_in_turn, check_same


class Union(set):  # type: ignore[type-arg]
    """A set with `|` of its own."""

    def __or__(self, other: Any) -> Any:
        return "own"

    def __ror__(self, other: Any) -> Any:
        return "own, reflected"


class Plain(set):  # type: ignore[type-arg]
    """A set with nothing of its own."""


class Joined(list):  # type: ignore[type-arg]
    """A list that is added from the right only."""

    def __radd__(self, other: Any) -> Any:
        return "list, reflected"


class Queue(deque):  # type: ignore[type-arg]
    """A deque that is added from the right only."""

    def __radd__(self, other: Any) -> Any:
        return "deque, reflected"


class Count(int):
    """An int that is added from the right only."""

    def __radd__(self, other: Any) -> Any:
        return "int, reflected"


VALUES: dict[str, Callable[[], Any]] = {
    "dict": lambda: {"a": 1}, "defaultdict": lambda: defaultdict(int, a=2), "OrderedDict": lambda: OrderedDict(a=3),
    "set": lambda: {1, 2}, "frozenset": lambda: frozenset([1, 3]), "Union": lambda: Union([1, 2]), "Plain": lambda: Plain([1, 2]),
    "list": lambda: [1], "Joined": lambda: Joined([1]), "Queue": lambda: Queue([1]), "deque": lambda: deque([2]),
    "float": lambda: 1.5, "Count": lambda: Count(2),
}  # fmt: skip


def in_place_or(x: Any, a: Any, b: Any) -> Any:
    """`|=`."""
    y = x + 1
    a |= b
    return y, a


def in_place_add(x: Any, a: Any, b: Any) -> Any:
    """`+=`."""
    y = x + 1
    a += b
    return y, a


def either(x: Any, a: Any, b: Any) -> Any:
    """`|`."""
    return x + 1, a | b


def both(x: Any, a: Any, b: Any) -> Any:
    """`+`."""
    return x + 1, a + b


@pytest.mark.parametrize(
    "function", [in_place_or, in_place_add, either, both], ids=operator.attrgetter("__name__")
)
def test_every_pair(function: Callable[..., Any]) -> None:
    """Results, errors, and what is changed in place are plain Python's for all pairs of values."""
    for left, right in itertools.product(VALUES.values(), repeat=2):
        compiled = ufuse.compile(function)
        check_same(function, compiled, lambda a=left, b=right: (np.zeros(2), a(), b()), modes=MODES[:1], copies=False)  # type: ignore[misc]  # fmt: skip


def power_of_sum(x: Any, n: int) -> Any:
    """The power of a value that the graph computes."""
    return (x + x) ** n


@pytest.mark.parametrize("program", [lambda x, n: x**n, pow, power_of_sum])
@pytest.mark.parametrize("dtype", "?bhilBHILefdgFD")
def test_powers_whose_exponent_changes(program: Any, dtype: str) -> None:
    """NumPy squares where the exponent is 2, also when a graph has been made for other exponents: dtypes tell."""

    def power(x: Any, n: int) -> Any:
        return program(x, n)

    for values in ([1, 0, 3], [], 3):
        for exponents in ((3, 5, 2, 1, 0, 2), (2, 3, 5, 2), (-1, 4, 6, -1)):
            if min(exponents) < 0 and dtype in "bhilBHIL":
                continue  # that raises
            rows = [(np.array(values).astype(dtype), exponent) for exponent in exponents]
            check_in_turn(power, ufuse.compile(power), rows)


@pytest.mark.parametrize("dtype", "?bhilBHILefdgFD")
def test_powers_of_every_type_of_exponent(dtype: str) -> None:
    """Which exponents NumPy squares, or takes the root for, depends on its version: the result is always its own."""

    def power(x: Any, n: Any) -> Any:
        return x**n

    exponents = (0.5, 2.0, 1.0, 0.0, True, np.float64(2), np.int8(2), 2 + 0j, 0.25, 2)
    rows = [(np.array([1, 0, 3]).astype(dtype), exponent) for exponent in exponents * 2]
    check_in_turn(power, ufuse.compile(power), rows)


OPERANDS: tuple[Any, ...] = (None, 3, 1.5, 1j, "a", b"a", (1,), frozenset([1]), True, slice(1), range(3), int, ...)  # fmt: skip


@pytest.mark.parametrize("sign", "+ - * / // % ** @ & | ^ << >>".split())
def test_errors_of_operators_in_place_say_so(sign: str) -> None:
    """What is caught of `x += y` names `+=`, of `x + y` names `+`: as Python words it."""
    for text in (f"x {sign}= y", f"x = x {sign} y"):
        source = f"def f(x, y):\n    try:\n        {text}\n    except Exception as error:\n        return str(error)\n    return x"
        names: dict[str, Any] = {}
        exec(source, names)
        for x, y in itertools.product(OPERANDS, OPERANDS):
            compiled = ufuse.compile(names["f"])
            expected = names["f"](x, y)
            for _ in range(2):
                found = compiled(x, y)
                assert (type(found), found) == (type(expected), expected), (text, x, y)


def test_warnings_of_reflected_comparisons_name_what_numpy_did() -> None:
    """A Python number leaves a comparison to the array, which is asked the other way round."""

    def function(x: Any, n: float, out: Any) -> Any:
        out[0] = 1
        return np.minimum(n > x, 3, out=out), n <= x

    nans = np.array([complex("nan"), 1])
    for n in (3, 2.5, True, np.float64(2), np.int64(3)):
        check_same(function, ufuse.compile(function), lambda n=n: (nans.copy(), n, np.zeros(2)))  # type: ignore[misc]

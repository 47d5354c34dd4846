"""Attributes that native loops read and set, entries of dicts that they read, and calls of functions that have loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, ANN204, B007, D101, D102
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python
MANY = 1500  # turns: too many to be unrolled


class Plain:
    def __init__(self, **attributes) -> None:
        self.__dict__.update(attributes)

    def bump(self, by):
        self.x += by
        self.n += 1
        return self.x

    def loop(self, turns):
        total = 0.0
        for i in range(turns):
            total += self.bump(i * 0.5)
        return total


class Slotted:
    __slots__ = ("n", "x", "y")

    def __init__(self, **attributes) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)


class Noting(Plain):
    noted = 0

    def __setattr__(self, name, value):
        Noting.noted += 1
        object.__setattr__(self, name, value)


class WithProperties(Plain):
    @property
    def double(self):
        return self.x * 2

    @property
    def half(self):
        return self.x / 2

    @half.setter
    def half(self, value):
        self.x = value * 2

    def __call__(self, value):
        self.n += 1
        self.x += (value - self.x) / self.n
        return self.double


def until(o, turns):
    for i in range(turns):
        o.x += o.y * 0.5
        o.n += 1
        if o.x > 400:
            break
    return o.x, i


def now_and_then(o, turns):
    for i in range(turns):
        if i % 7 == 3:
            o.x = o.y + i
        if o.n > 3000:
            return o.n
        o.n += 3
    return i


def two(o, other, turns):
    for _ in range(turns):
        o.x += other.y
        other.y -= o.x * 0.001
    return o.x, other.y


def flags(o, turns):
    while o.x < turns:
        o.x += 0.5
        o.flag = o.x > turns / 2
        if o.flag:
            o.n -= 1
    return o.n


def grows(o, turns):
    for _ in range(turns):
        o.n = o.n * 3 % 1000003 + o.n
    return o.n


def elements(o, a):
    for i in range(len(a)):
        o.x += a[i]
        o.y = a[i]
    return o.x


def divides(o, turns):
    for i in range(turns):
        o.x = 1 / (turns - 500 - i)
    return o.x


def by_method(o, turns):
    return o.loop(turns)


def dict_beside(o, turns):
    entries = o.__dict__
    for _ in range(turns):
        o.x += 1.0
        o.y = entries["x"]
    return entries["x"], o.y


def by_setter(o, turns):
    for _ in range(turns):
        o.half = o.half + 1
    return o.x


def by_getter(o, turns):
    total = 0.0
    for i in range(turns):
        total += o.double * i
    return total


def by_call(o, a):
    for value in a:
        o(value)
    return o.x


def appears(o, turns):
    for i in range(turns):
        o.x += 1.0
        o.late = i
    return o.late


def in_place(o, a):
    for i in range(len(a)):
        o.w += 0.1 * a[i] * o.w[::-1]
        o.x += o.w[0]
    return o.w, o.x


class OnClass(Plain):
    w = np.ones(3)


class Other(Plain):
    def __getattribute__(self, name):
        return 2.0 if name == "fixed" else object.__getattribute__(self, name)

    @property
    def fixed(self):
        return 1.0


class OwnProperty(property):
    def __get__(self, instance, owner=None):
        return 42.0

    def __set__(self, instance, value):
        instance.__dict__["kept"] = value


class HasOwnProperty(Plain):
    @OwnProperty
    def fixed(self):
        return 1.0


def reads_fixed(o, turns):
    total = 0.0
    for _ in range(turns):
        total += o.fixed
    return total


def set_fixed(o, turns):
    o.fixed = 3.0
    return reads_fixed(o, turns), o.kept


def replaced(o, a):
    for i in range(len(a)):
        o.w = o.w * 0.5 + a[i]
    return o.w


CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], bool]] = {
    "numbers of Python": (until, lambda: (Plain(x=1.0, y=2.0, n=0), MANY), True),
    "of several types": (until, lambda: (Plain(x=1.0, y=2, n=0), MANY), True),
    "changes to a float": (until, lambda: (Plain(x=0, y=1, n=0), MANY), True),
    "slots": (until, lambda: (Slotted(x=1.0, y=1.0, n=3), MANY), True),
    "numbers of NumPy": (
        until,
        lambda: (Plain(x=np.float64(1), y=0.1, n=np.int64(3)), MANY),
        True,
    ),
    "a __setattr__ of its own": (until, lambda: (Noting(x=1.0, y=2.0, n=0), MANY), False),
    "in some turns": (now_and_then, lambda: (Plain(x=1.0, y=2, n=0), MANY), True),
    "two objects": (two, lambda: (Plain(x=1.0), Plain(y=2.0), MANY), True),
    "one object twice": (two, lambda: (one := Plain(x=1.0, y=0.5), one, MANY), True),
    "flags": (flags, lambda: (Plain(x=0.0, n=0, flag=False), MANY), True),
    "whole numbers": (grows, lambda: (Plain(n=1), MANY), True),
    "beyond 64 bits": (grows, lambda: (Plain(n=2**62), MANY), False),
    "elements of an array": (elements, lambda: (Plain(x=0.0, y=0.0), np.arange(MANY) / 7), True),
    "of a new object": (elements, lambda: (Plain(x=0.0), np.arange(MANY) / 7), True),
    "an error": (divides, lambda: (Plain(x=0.0), MANY), True),
    "by a method": (by_method, lambda: (Plain(x=1.0, n=0), MANY), True),
    "its dict is read beside": (dict_beside, lambda: (Plain(x=1.0, y=0.0), MANY), False),
    "a property that is set": (by_setter, lambda: (WithProperties(x=1.0), MANY), False),
    "a property": (by_getter, lambda: (WithProperties(x=1.5), MANY), True),
    "an object that is called": (
        by_call,
        lambda: (WithProperties(x=0.0, n=0), np.arange(MANY) / 3),
        True,
    ),
    "an array in place": (
        in_place,
        lambda: (Plain(x=0.0, w=np.ones(3)), np.arange(MANY) / 1e6),
        True,
    ),
    "an array of the class": (in_place, lambda: (OnClass(x=0.0), np.zeros(MANY)), True),
    "another array": (replaced, lambda: (Plain(w=np.ones(3)), np.arange(MANY) / 7), True),
    "a property beside __getattribute__": (reads_fixed, lambda: (Other(), MANY), False),
    "a property with its own __get__": (set_fixed, lambda: (HasOwnProperty(), MANY), False),
    "an attribute that is new": (appears, lambda: (Plain(x=0.0), MANY), True),
}


def turns_of(compiled: Any) -> int:
    return sum(one.turns for one in compiled.loops)


@pytest.mark.parametrize("name", CASES)
def test_attributes_are_as_plain_python_leaves_them(name: str) -> None:
    """Also where a turn raises; turns are native where the class sets attributes as `object` does."""
    function, make, is_native = CASES[name]
    assert (native_turns(function, make) > 0) is is_native


@pytest.mark.parametrize("name", CASES)
def test_loops_go_on_with_the_same_objects(name: str) -> None:
    """A call begins with what the last one has left, of other types perhaps."""
    function, make, _ = CASES[name]
    compiled = ufuse.compile(function)
    for _ in range(3):
        plain, own = make(), make()
        for _ in range(3):
            assert outcome(compiled, own) == outcome(function, plain)


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        result = repr(function(*arguments))
    except ArithmeticError as error:
        result = repr(error)
    objects = (one for one in arguments if isinstance(one, Plain))
    return result, [repr(one.__dict__) for one in objects]


def test_the_next_call_brings_other_numbers() -> None:
    """Attributes that are numbers are no constants of the nest, or not for long."""

    def weighted(o, turns):
        total = 0.0
        for i in range(turns):
            total += o.weight * i % o.period
        return total

    compiled = ufuse.compile(weighted)
    for k in range(12):
        one = Plain(weight=0.5 + k, period=np.float64(7 + k))
        assert compiled(one, MANY) == weighted(one, MANY)
    assert len(compiled.loops[0].nests) == 1

    def counted(o, turns):
        for i in range(turns):
            o.seen += o.step * i
        return o.seen

    compiled = ufuse.compile(counted)
    one, other = Plain(seen=0, step=1), Plain(seen=0, step=1)
    for k in range(8):
        one.step = other.step = k
        assert compiled(one, MANY) == counted(other, MANY)
    assert len(compiled.loops[0].nests) <= 4


def test_entries_of_dicts() -> None:
    """Values may differ in the next call, and keys may be missing."""

    def pendulum(p, turns):
        x, v = 1.0, 0.0
        for i in range(turns):
            v -= p["spring"]["k"] / p["m"] * x * p["dt"]
            x += v * p["dt"]
            if p.get("stop", 10) < abs(x) or "never" in p:
                return x, i
            for name in ("m", "dt"):
                v += p[name] * 1e-9
        return x, v, len(p)

    compiled = ufuse.compile(pendulum)
    for k in range(6):
        given = {"dt": 0.01 + k / 1000, "m": 2.0, "spring": {"k": 3.0}}
        if k > 3:
            given["stop"] = 0.5
        assert compiled(given, MANY) == pendulum(given, MANY)
    assert turns_of(compiled) > 0

    def lacks(p, turns):
        total = 0
        for i in range(turns):
            total += i if i < turns - 3 else p["missing"]
        return total

    native_turns(lacks, lambda: ({"there": 1}, MANY))


def test_gone_over_dicts() -> None:
    """Keys, values and both, of dicts with several numbers of entries."""

    def mixed(weights, a):
        out = np.zeros(len(a))
        for i in range(len(a)):
            for power, weight in weights.items():
                out[i] += weight * a[i] ** power
            for weight in weights.values():
                out[i] -= weight
            for power in weights:
                out[i] += power
        return out

    compiled = ufuse.compile(mixed)
    for weights in ({0: 0.5, 1: 1.5, 2: -0.25}, {1: 2.0}, {0: 0.5, 1: 1.5, 2: -0.5}):
        a = np.linspace(0, 3, MANY)
        assert compiled(weights, a).tobytes() == mixed(weights, a).tobytes()


def test_views_of_dicts_are_no_tuples() -> None:
    """They are gone over, and counted; an index is an error."""

    def indexed(d, turns):
        total = 0
        for i in range(turns):
            if i > turns // 2:
                total += d.values()[0]
        return total

    def counted(d, turns):
        total = 0
        for i in range(turns):
            total += len(d.keys()) + (i in d)
            for k, (key, value) in enumerate(d.items()):
                total += k * key + value
            for key, value in zip(d.keys(), reversed(d.values()), strict=False):
                total += key * value
        return total

    native_turns(indexed, lambda: ({0: 1, 1: 2}, MANY))
    native_turns(counted, lambda: ({0: 1, 1: 2}, MANY))


@pytest.mark.filterwarnings("default")  # where errors are raised first turns are plain
def test_functions_that_are_called_have_native_loops() -> None:
    """Also those that bring no array, where plain Python calls them."""

    def harmonic(turns):
        total = 0.0
        for i in range(1, turns):
            total += 1.0 / i
        return total

    class Solver:
        def __init__(self, count) -> None:
            self.u = np.zeros(count)
            self.time = 0.0

        def run(self, turns):
            for i in range(turns):
                self.u[i % 50] += harmonic_of(i) * 1e-3
                self.time += 0.5
            return self.u

    def harmonic_of(i):
        return 1.0 / (i + 1)

    def program(turns):
        solver = Solver(50)
        print(end="")  # ends a graph
        solver.run(turns)
        return harmonic(turns) + solver.u.sum() + solver.time

    compiled = ufuse.compile(program)
    for turns in (MANY, MANY, MANY + 1):
        assert compiled(turns) == program(turns)
    natives = {one.function.rsplit(".", 1)[-1] for one in compiled.loops if one.turns}
    assert natives == {"harmonic", "run"}


def test_functions_without_such_loops_are_not_taken() -> None:
    """A function that brings no array, and has no loop that may be native, is plain Python's."""
    seen = []

    def words(text):
        return [word.upper() for word in text.split()]

    def program(text, turns):
        for _ in range(turns):
            seen.append(words(text))
        return len(seen)

    compiled = ufuse.compile(program)
    for _ in range(3):
        compiled("a b c", 10)
    assert all(one.function != "words" for one in compiled.loops)

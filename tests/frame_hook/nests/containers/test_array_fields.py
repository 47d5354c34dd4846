"""Attributes that native loops bind to other arrays: which object each is then, and what is in it."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, D101, D102
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python
MANY = 1201  # turns: odd, and too many to be unrolled


class Model:
    u: Any
    v: Any

    def __init__(self, **attributes) -> None:
        self.turns = 0
        for name, value in attributes.items():
            setattr(self, name, value)

    def swap(self):
        self.u, self.v = self.v, self.u
        self.turns += 1

    def step(self, by):
        self.v[1:-1] = self.u[1:-1] + by * (self.u[2:] - self.u[:-2])
        self.swap()
        return self.u[1]

    def run(self, turns):
        total = 0.0
        for _ in range(turns):
            total += self.step(0.25)
        return total

    @property
    def ends(self):
        return self.u[0] + self.u[-1]


class Slotted(Model):
    __slots__ = ("u", "v")


class WithSetter(Model):
    @property
    def u(self):
        return self.kept

    @u.setter
    def u(self, value):
        self.kept = value


def swaps(o, turns):
    for _ in range(turns):
        o.u, o.v = o.v, o.u
    return o.u[0]


def by_method(o, turns):
    return o.run(turns)


def in_a_while(o, turns):
    k = 0
    while k < turns:
        o.v[0] = o.u[0] * 0.5 + k
        o.u, o.v = o.v, o.u
        k += 1
        if o.u[0] > 1e9:
            break
    return k


def made_anew(o, turns):
    for i in range(turns):
        o.u = o.u * 0.5 + i
    return o.u


def made_of_two(o, turns):
    for _ in range(turns):
        new = 2 * o.u - o.v
        new[1:-1] -= 0.25 * o.u[1:-1]
        new *= 0.1
        o.v = o.u
        o.u = new
    return o.u, o.v


def dtype_changes(o, turns):
    for i in range(turns):
        o.u = o.u * 0.5 if i % 2 else o.u + 1
    return o.u


def sometimes(o, turns):
    for i in range(turns):
        if i % 5 == 3:
            o.u = o.v
        elif i % 5 == 4:
            o.u = o.first
        o.u[0] += 1.0
    return o.u


def rows(o, turns):
    for i in range(turns):
        o.u = o.table[i % len(o.table)]
        o.v = o.table[:, i % 3]
        o.u[0] += 1.0
    return o.u, o.v


def transposed(o, turns):
    for i in range(turns):
        o.table = o.table.T
        o.table[0, 1] += i
    return o.table


def two_objects(o, other, turns):
    for _ in range(turns):
        o.u, other.u = other.u, o.u
        o.u[0] += 1.0
    return other.u


def leaves_early(o, turns):
    for i in range(turns):
        o.u, o.v = o.v, o.u
        o.u[i % 4] += 1.0
        if i == turns - 301:
            break
        o.w = o.u
    return i, o.w


def returns(o, turns):
    for i in range(turns):
        o.u, o.v = o.v, o.u
        if i > turns // 2:
            return o.u[0] + i
        o.u[0] += i
    return None


def fails(o, turns):
    for i in range(turns):
        o.u, o.v = o.v, o.u
        o.u[min(i, turns - 5)] += 1.0
    return o.u


def warns(o, turns):
    for i in range(turns):
        o.u, o.v = o.v, o.u
        o.u[0] = 1.0 / (o.v[1] - i)
    return o.u


def local_beside(o, turns):
    u = o.u
    for i in range(turns):
        o.u = o.v
        o.v = u
        u = o.u
        u[0] += i
    return u is o.u, u


def in_place_after(o, turns):
    for i in range(turns):
        o.u, o.v = o.v, o.u
        o.u += i
        o.v *= 0.5
    return o.u


def to_a_number(o, turns):
    for i in range(turns):
        o.u = o.u.sum() if i > 9 else o.u + 1
        if i == 10:
            return o.u
    return o.u


def from_nothing(o, turns):
    for i in range(turns):
        o.best = o.u if i % 3 else o.v
    return o.best


def of_ends(o, turns):
    total = 0.0
    for _ in range(turns):
        o.u, o.v = o.v, o.u
        total += o.ends
    return total


def with_generator(o, turns):
    total = 0.0
    for _ in range(turns):
        o.u, o.v = o.v, o.u
        total += sum(one * 0.5 for one in o.u)
    return total


def inner_loops(o, turns):
    for k in range(turns):
        u, v = o.u, o.v
        for i in range(1, len(u) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1]) + k
        o.u = v
        o.v = u
    return o.u


def arrays() -> dict[str, Any]:
    return {"u": np.arange(1.0, 7.0), "v": np.linspace(0, 1, 6), "first": np.zeros(6)}


def table() -> dict[str, Any]:
    return {**arrays(), "table": np.arange(9.0).reshape(3, 3)}


def one_array_twice() -> dict[str, Any]:
    one = np.arange(6.0)
    return {"u": one, "v": one}


def overlapping() -> dict[str, Any]:
    one = np.arange(8.0)
    return {"u": one[:6], "v": one[2:]}


Case = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]], bool]
CASES: dict[str, Case] = {
    "swapped": (swaps, lambda: (Model(**arrays()), MANY), True),
    "swapped an even number of times": (swaps, lambda: (Model(**arrays()), MANY + 1), True),
    "slots": (swaps, lambda: (Slotted(**arrays()), MANY), True),
    "by methods": (by_method, lambda: (Model(**arrays()), MANY), True),
    "a while loop": (in_a_while, lambda: (Model(**arrays()), MANY), True),
    "new arrays": (made_anew, lambda: (Model(**arrays()), MANY), True),
    "of two": (made_of_two, lambda: (Model(**arrays()), MANY), True),
    "whole numbers to floats": (
        dtype_changes,
        lambda: (Model(u=np.arange(4), v=np.ones(1)), MANY),
        True,
    ),
    "in some turns": (sometimes, lambda: (Model(**arrays()), MANY), True),
    "views": (rows, lambda: (Model(**table()), MANY), True),
    "transposed": (transposed, lambda: (Model(**table()), MANY), True),
    "two objects": (two_objects, lambda: (Model(**arrays()), Model(**arrays()), MANY), True),
    "one object twice": (two_objects, lambda: (one := Model(**arrays()), one, MANY), True),
    "left early": (leaves_early, lambda: (Model(**arrays(), w=np.zeros(1)), MANY), True),
    "returned from": (returns, lambda: (Model(**arrays()), MANY), True),
    "an error": (fails, lambda: (Model(**arrays()), MANY), True),
    "warnings": (warns, lambda: (Model(**arrays()), MANY), True),
    "a local beside": (local_beside, lambda: (Model(**arrays()), MANY), True),
    "in place after": (in_place_after, lambda: (Model(**arrays()), MANY), True),
    "to a number": (to_a_number, lambda: (Model(**arrays()), MANY), False),
    "from nothing": (from_nothing, lambda: (Model(**arrays(), best=None), MANY), True),
    "a property that reads": (of_ends, lambda: (Model(**arrays()), MANY), True),
    "a generator": (with_generator, lambda: (Model(**arrays()), MANY), True),
    "inner loops": (inner_loops, lambda: (Model(**arrays()), MANY), True),
    "one array twice": (swaps, lambda: (Model(**one_array_twice()), MANY), True),
    "one array twice, written": (by_method, lambda: (Model(**one_array_twice()), MANY), True),
    "arrays that overlap": (by_method, lambda: (Model(**overlapping()), MANY), True),
    "a setter": (swaps, lambda: (WithSetter(**arrays(), kept=np.ones(3)), MANY), False),
}


def attributes(one: Any) -> dict[str, Any]:
    names = [*one.__dict__, *(name for name in ("u", "v") if hasattr(one, name))]
    return {name: getattr(one, name) for name in names}


def told(arguments: tuple[Any, ...], result: Any, before: list[Any]) -> Any:
    """What a call has left: contents, layouts, and which objects are one."""
    objects = [one for one in arguments if isinstance(one, Model)]
    parts = list(result) if isinstance(result, tuple) else [result]
    values = [*parts, *(value for one in objects for value in attributes(one).values())]
    held = [*before, *values]

    def of(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return type(value).__name__, repr(value)
        same = next(i for i, other in enumerate(held) if other is value)
        base = (
            None
            if value.base is None
            else [i for i, one in enumerate(held) if one is value.base][:1]
        )
        return same, base, value.dtype.str, value.shape, value.strides, value.tobytes()

    return [of(value) for value in values]


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    objects = [one for one in arguments if isinstance(one, Model)]
    before = [value for one in objects for value in attributes(one).values()]
    try:
        with np.errstate(all="ignore"):
            result = function(*arguments)
    except (ArithmeticError, LookupError, AttributeError) as error:
        result = repr(error)
    return told(arguments, result, before)


@pytest.mark.parametrize("name", CASES)
def test_attributes_are_the_arrays_that_plain_python_leaves(name: str) -> None:
    """In calls with new objects, and with those that the last call has left."""
    function, make, is_native = CASES[name]
    compiled = ufuse.compile(function)
    for _ in range(6):
        plain, own = make(), make()
        for _ in range(3):
            assert outcome(compiled, own) == outcome(function, plain)
    assert (sum(one.turns for one in compiled.loops) > 0) is is_native

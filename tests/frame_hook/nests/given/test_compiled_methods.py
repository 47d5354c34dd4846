"""Loops that call methods which are compiled by themselves, as where every method of a class has the decorator."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, ANN204
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import native_turns

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python
MANY = 1500


def filter_class(decorator: Any) -> Any:
    class Filter:
        def __init__(self, rate):
            self.rate, self.level = rate, 0.0

        @decorator
        def update(self, value):
            self.level += self.rate * (value - self.level)
            return self.level

        @property
        @decorator
        def doubled(self):
            return self.level * 2

        @decorator
        def __call__(self, value):
            return self.update(value) + self.doubled

        @decorator
        def run(self, values):
            out = np.empty(len(values))
            for i in range(len(values)):
                out[i] = self.update(values[i])
            return out

    return Filter


Compiled, PlainFilter = filter_class(ufuse.compile), filter_class(lambda method: method)


def updated(one, values):
    total = 0.0
    for value in values:
        total += one.update(value) - one.doubled
    return total, one.level


def called(one, values):
    total = 0.0
    for value in values:
        total += one(value)
    return total


def of_each(several, values):
    total = 0.0
    for value in values:
        for one in several:
            total += one.update(value) + one.doubled
    return total


def values() -> Any:
    return np.random.default_rng(0).random(MANY)


CASES = {
    "a method and a property": (updated, lambda: (Compiled(0.1), values())),
    "an object that is called": (called, lambda: (Compiled(0.1), values())),
    "a list of objects": (of_each, lambda: ([Compiled(0.1 * k) for k in range(1, 7)], values())),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled_methods_are_read_as_any_other(name: str) -> None:
    """A loop that calls them is native."""
    assert native_turns(*CASES[name]) > 0


def test_a_class_whose_methods_are_all_compiled() -> None:
    """Its loops give what those of the plain class do, natively."""
    one, plain = Compiled(0.1), PlainFilter(0.1)
    for _ in range(12):
        assert one.run(values()).tobytes() == plain.run(values()).tobytes()
        assert one.level == plain.level
    assert sum(loop.turns for loop in Compiled.run.loops) > MANY


def test_compiled_methods_that_are_replaced() -> None:
    """What the object itself has under the name comes first; another method of the class is seen."""
    kind = filter_class(ufuse.compile)
    compiled = ufuse.compile(updated)
    for _ in range(4):
        assert compiled(kind(0.1), values()) == updated(PlainFilter(0.1), values())
    one, plain = kind(0.1), PlainFilter(0.1)
    one.update = plain.update = lambda value: value
    for _ in range(3):
        assert compiled(one, values()) == updated(plain, values())
    kind.update = ufuse.compile(lambda self, value: self.rate + value)
    changed = filter_class(lambda method: method)
    changed.update = lambda self, value: self.rate + value
    for _ in range(3):
        assert compiled(kind(0.2), values()) == updated(changed(0.2), values())


def test_a_compiled_method_with_a_signature_is_called() -> None:
    """Its arguments are checked at each call, so the loop is plain Python's."""

    class Checked:
        @ufuse.compile(signature=[ufuse.Spec((None,), "f8")])
        def total(self, x):
            return x.sum()

    def summed(one, x):
        total = 0.0
        for _ in range(MANY):
            total += one.total(x)
        return total

    compiled = ufuse.compile(summed)
    x = np.ones(3)
    for _ in range(3):
        assert compiled(Checked(), x) == 3 * MANY
    with pytest.raises(TypeError, match="float32"):
        compiled(Checked(), x.astype("f4"))

"""Loops over several axes in better code: an inner loop along the last one, and nothing tells it apart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check_improved, exact, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from ufuse.backends.numpy.nest_code import nests
from ufuse.backends.numpy.nest_passes.axes import SHORTEST, by_rows
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.versions import is_late, versioned
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import Value
from ufuse.graph.semantics.nest_arithmetic import DoubtError
from ufuse.graph.semantics.nest_reference import follow


def over_axes(code: Code, lengths: Sequence[Value], after: str) -> list[Value]:
    """A loop inside over all places of some axes, as the reader makes it: opens its body; the places of a turn."""
    left = lengths[0]
    for axis, length in enumerate(lengths):
        code.set(f"p{axis}", code.whole(0))
        code.set(f"p{axis}.length", length)
        left = code.op("mul", left, length) if axis else left
    code.set("p.left", left)
    code.end("jump", "p.head")
    code.begin("p.head")
    more = code.op("igt", code.get("p.left"), code.whole(0))
    code.end("branch", "p.body", after, condition=more)
    code.begin("p.body")
    code.set("p.left", code.op("sub", code.get("p.left"), code.whole(1)))
    places = [code.get(f"p{axis}") for axis in range(len(lengths))]
    carry = code.whole(1)
    for axis in reversed(range(len(lengths))):
        following = code.op("add", places[axis], carry)
        if axis == 0:
            code.set("p0", following)
            break
        is_behind = code.op("ieq", following, code.get(f"p{axis}.length"))
        code.set(f"p{axis}", code.select(is_behind, code.whole(0), following))
        carry = code.op("widen", is_behind)
    return places


class Drawn:
    """A loop over two or three axes, drawn by chance: what it loads, where it goes on to the next turn or ends."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311
        self.axes = self.draw.choice([2, 2, 3])
        given = array("a", float, self.axes), array("b", float, self.axes, is_written=True)
        self.code = code = Code(*given, number("s"), number("n", "int"), RANGE)
        code.header("i", "body")
        self.places = over_axes(code, [code.dim(0, axis) for axis in range(self.axes)], "after")
        value = code.load(0, *self._near())
        if self.draw.random() < 0.5:
            value = code.op("add", value, code.load(0, *self.places))
        if self.draw.random() < 0.5:
            value = code.op("mul", value, code.op("to_f64", self.draw.choice(self.places)))
        code.store(1, *self.places, value)
        code.set("value", value)
        what = self.draw.choice(["sum", "choose", "skip", "break", "none"])
        getattr(self, f"_{what}")(value)
        code.begin("after")
        code.end("jump", "header")

    def _near(self) -> list[Value]:
        """The places of the turn, or of neighbours, counted from the end where they are before the first."""
        offsets = [self.draw.choice([0, 0, 0, -1]) for _ in self.places]
        return [
            self.code.op("add", one, self.code.whole(offset)) if offset else one
            for one, offset in zip(self.places, offsets, strict=True)
        ]

    def _none(self, _: Value) -> None:
        self.code.end("jump", "p.head")

    def _sum(self, value: Value) -> None:
        self.code.set("s", self.code.op("add", self.code.get("s"), value))
        self._none(value)

    def _branch(self, value: Value, then: str, other: str) -> None:
        test = self.code.op("fgt", value, self.code.real(self.draw.choice([0.0, 0.5, 2.0])))
        self.code.end("branch", then, other, condition=test)

    def _choose(self, value: Value) -> None:
        code = self.code
        self._branch(value, "then", "else")
        for label, factor in (("then", 0.5), ("else", -1.5)):
            code.begin(label)
            part = code.op("mul", code.get("value"), code.real(factor))
            code.set("s", code.op("add", code.get("s"), part))
            code.end("jump", "p.head")

    def _skip(self, value: Value) -> None:
        self._branch(value, "then", "p.head")
        self.code.begin("then")
        self.code.set("n", self.code.op("add", self.code.get("n"), self.code.whole(1)))
        self.code.end("jump", "p.head")

    def _break(self, value: Value) -> None:
        self._branch(value, "after", "p.head")

    def arrays(self, *, is_wild: bool) -> list[np.ndarray]:
        """What the loop may be given: axes of all lengths, and numbers."""
        lengths = [self.draw.choice([0, 1, 2, 3, 5]) for _ in range(self.axes)]
        lengths[-1] = self.draw.choice([0, 1, 2, SHORTEST, SHORTEST + 1, SHORTEST + 2, 19, 33])
        rng = np.random.default_rng(self.draw.randrange(1 << 30))
        a = rng.standard_normal(lengths)
        if a.size and is_wild:
            a.flat[rng.integers(a.size)] = self.draw.choice([np.nan, np.inf, 1e308, -np.inf])
        return [a, np.zeros(lengths)]


def cells(turns: int = 2) -> dict[str, Any]:
    """What the variables of `Drawn` are."""
    return over(range(turns), s=1.5, n=3, **{"s.numpy": True, "n.numpy": False})


def outcome(nest: Nest, arrays: list[np.ndarray]) -> tuple[object, ...]:
    """What the definition says: whether the nest was left, elements and variables."""
    given, found = [one.copy() for one in arrays], cells()
    is_left = True
    with np.errstate(all="ignore"):
        try:
            follow(nest, given, found)
        except DoubtError:
            is_left = False
    numbers = {name: exact(value) for name, value in found.items()}
    return is_left, is_left and [one.tobytes() for one in given], is_left and numbers


@pytest.mark.parametrize("seed", range(40))
def test_loops_drawn_by_chance(seed: int) -> None:
    """The nest with rows means the same, and its code gives the same, in axes of all lengths."""
    drawn = Drawn(seed)
    nest = drawn.code.nest()
    rows = by_rows(nest)
    assert any(label.endswith("p.head.row") for label in Flow(rows).order)
    machine = Machine(nest, is_improved=True)
    for place in range(12):
        arrays = drawn.arrays(is_wild=place > 9)
        assert outcome(rows, arrays) == outcome(nest, arrays)
        assert check_improved(machine, arrays, cells()) or place > 9


def plain(axes: int) -> Nest:
    """`b[places] = a[places] + p` for all places, p the last of them."""
    code = Code(array("a", float, axes), array("b", float, axes, is_written=True), RANGE)
    code.header("i", "body")
    places = over_axes(code, [code.dim(0, axis) for axis in range(axes)], "after")
    value = code.op("add", code.load(0, *places), code.op("to_f64", places[-1]))
    code.store(1, *places, value)
    code.end("jump", "p.head")
    code.begin("after")
    code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("axes", [2, 3])
def test_nothing_is_looked_at_in_a_row(axes: int) -> None:
    """Neither indices nor integers, so that it is a loop as any other."""
    copies = [one for one in versioned(by_rows(plain(axes))).blocks if is_late(one)]
    instructions = [one for block in copies for one in block.instructions]
    accesses = [one for one in instructions if one.op in {"load", "store"}]
    assert len(accesses) == 2
    assert all(one.is_sure and one.is_dense for one in accesses)
    machine = Machine(plain(axes), is_improved=True)
    lengths = (5,) * (axes - 1) + (20,)
    a = np.random.default_rng(3).standard_normal(lengths)
    assert check_improved(machine, [a, np.zeros(lengths)], over(range(2)))


def test_a_place_that_something_else_sets_too() -> None:
    """Then a row may end elsewhere: there is none."""
    code = Code(array("a", float, 2), array("b", float, 2, is_written=True), RANGE)
    code.header("i", "body")
    places = over_axes(code, [code.dim(0, 0), code.dim(0, 1)], "after")
    code.store(1, *places, code.load(0, *places))
    test = code.op("igt", places[-1], code.whole(10))
    code.end("branch", "then", "p.head", condition=test)
    code.begin("then")
    code.set("p1", code.whole(0))
    code.end("jump", "p.head")
    code.begin("after")
    code.end("jump", "header")
    nest = code.nest()
    assert by_rows(nest) is nest


def test_a_long_nest_has_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it would be too long with them, there is better code without."""
    nest = plain(2)
    lengths = [
        sum(len(block.instructions) for block in versioned(one, is_alone=True).blocks)
        for one in (nest, by_rows(nest))
    ]
    assert lengths[0] < lengths[1]
    monkeypatch.setattr(nests, "MOST_IMPROVED", lengths[0])
    machine = Machine(nest, is_improved=True)
    a = np.random.default_rng(3).standard_normal((5, 20))
    assert check_improved(machine, [a, np.zeros((5, 20))], over(range(2)))

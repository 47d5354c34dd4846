"""Tests of inner loops that stand in front of the loops around them: they hold for every turn, or better code doubts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, turning
from ufuse.backends.numpy.nest_passes.fits import Holds
from ufuse.backends.numpy.nest_passes.versions import versioned
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import Value


def instructions(nest: Nest, op: str) -> list[tuple[str, Any]]:
    """The instructions of a name in better code, each with the label of its block."""
    return [
        (block.label, one)
        for block in versioned(nest, is_alone=True).blocks
        for one in block.instructions
        if one.op == op
    ]


def linear(code: Code, factors: dict[Value | None, int]) -> Value:
    """A sum of values with factors; that of None is alone."""
    found = code.whole(factors.get(None, 0))
    for value, factor in factors.items():
        if value is not None and factor:
            found = code.op("add", found, code.op("mul", value, code.whole(factor)))
    return found


def or_none(code: Code, count: Value) -> Value:
    """How many turns a range has."""
    zero = code.whole(0)
    return code.select(code.op("igt", count, zero), count, zero)


def triangle(first: int = 0) -> Nest:
    """`for j in range(i): for k in range(j): b[i] += a[i, k] * a[j, k + first]`."""
    code = Code(array("a", ndim=2), array("b", is_written=True), RANGE)
    code.set("own", code.header("i", "body"))
    i = code.get("own")
    code.set("outer", turning(code, "j", code.whole(0), or_none(code, i), 1, "header"))
    j = code.get("outer")
    k = turning(code, "k", code.whole(0), or_none(code, j), 1, "j.next_turn")
    i, j = code.get("own"), code.get("outer")
    term = code.op("mul", code.load(0, i, k), code.load(0, j, code.op("add", k, code.whole(first))))
    code.store(1, i, code.op("add", code.load(1, i), term))
    code.end("jump", "k.head")
    code.begin("j.next_turn")
    code.end("jump", "j.head")
    return code.nest()


def test_a_triangle_is_tested_once() -> None:
    """In front of the outermost loop, for all of its turns; and nothing in front of the inner ones."""
    nest = triangle()
    ((label, one),) = instructions(nest, "holds")
    assert label == "header.holds"
    assert not instructions(nest, "fits")
    (holds,) = one.attributes
    assert isinstance(holds, Holds)
    assert len(holds.least) < 10


@pytest.mark.parametrize("first", [-1, 0, 1])
def test_a_triangle(first: int) -> None:
    """What wraps, or leaves the array, is in doubt before anything is written."""
    nest = triangle(first)
    machine = Machine(nest, is_improved=True)
    for rows in (1, 5):
        for columns in (2, 3, 4, 6):
            a, b = np.random.default_rng(1).random((rows, columns)), np.zeros(5)
            for turns in range(7):
                is_left = check_improved(machine, [a, b], over(range(turns)))
                fits = turns <= rows and turns - 1 + max(first, 0) <= columns
                assert is_left or not (fits and first >= 0) or turns > 5
                assert not (is_left and first < 0 and turns > 2)


class Drawn:
    """Three loops within one another, whose bounds and indices are any sums of the numbers of the turns around."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311
        code = self._code = Code(array("a", ndim=2), array("b", is_written=True), RANGE)
        code.set("own", code.header("i", "body"))
        start, count = self._sum(["own"]), or_none(code, self._sum(["own"], 4))
        code.set("outer", turning(code, "j", start, count, self._step(), "header"))
        around = ["own", "outer"]
        start, count = self._sum(around), or_none(code, self._sum(around, 4))
        code.set("inner", turning(code, "k", start, count, self._step(), "j.next_turn"))
        around.append("inner")
        left, right = (code.load(0, self._sum(around), self._sum(around)) for _ in range(2))
        code.store(1, self._sum(around), code.op("add", left, right))
        code.end("jump", "k.head")
        code.begin("j.next_turn")
        code.end("jump", "j.head")

    def nest(self) -> Nest:
        """All of it."""
        return self._code.nest()

    def _step(self) -> int:
        return self._rng.choice((1, 1, -1, 2))

    def _sum(self, names: list[str], most: int = 2) -> Value:
        rng, code = self._rng, self._code
        factors: dict[Value | None, int] = {None: rng.randint(0, most)}
        for name in names:
            factors[code.get(name)] = rng.choice((0, 0, 1, 1, -1))
        return linear(code, factors)


def test_any_three_loops() -> None:
    """Better code does what the nest does, or is in doubt; and it is not always so."""
    hoisted = left = 0
    for seed in range(40):
        nest = Drawn(seed).nest()
        hoisted += bool(instructions(nest, "holds"))
        machine = Machine(nest, is_improved=True)
        for rows, columns, length in ((8, 9, 12), (3, 4, 5), (20, 20, 20)):
            a, b = np.random.default_rng(seed).random((rows, columns)), np.zeros(length)
            for first in (0, 2, 3):
                for turns in (0, 1, 3):
                    turned = check_improved(machine, [a, b], over(range(first, first + turns)))
                    left += turned and turns > 0
    assert hoisted > 20
    assert left > 40


def test_a_loop_that_is_not_always_come_to() -> None:
    """Its test stays where it is: else turns that do not come to it would be in doubt."""
    code = Code(array("a"), array("b", is_written=True), RANGE)
    code.set("own", code.header("i", "body"))
    i = code.get("own")
    code.set("count", or_none(code, i))
    code.end("branch", "loop", "header", condition=code.op("ilt", i, code.whole(3)))
    code.begin("loop")
    k = turning(code, "k", code.whole(0), code.get("count"), 1, "header")
    code.store(1, k, code.load(0, k))
    code.end("jump", "k.head")
    nest = code.nest()
    assert not instructions(nest, "holds")
    assert check_improved(Machine(nest, is_improved=True), [np.ones(3), np.ones(3)], over(range(9)))


def test_a_loop_that_is_left_in_its_midst() -> None:
    """The turns that it has at most may be more than fit."""
    code = Code(array("a"), array("b", is_written=True), RANGE)
    code.set("own", code.header("i", "body"))
    k = turning(code, "k", code.whole(0), or_none(code, code.get("own")), 1, "behind")
    code.store(1, k, code.load(0, k))
    code.end("jump", "k.head")
    code.begin("behind")
    code.end("branch", "out", "header", condition=code.op("ieq", code.get("own"), code.whole(3)))
    nest = code.nest()
    assert not instructions(nest, "holds")
    assert check_improved(Machine(nest, is_improved=True), [np.ones(3), np.ones(3)], over(range(9)))

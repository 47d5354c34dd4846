"""Loops whose turns end in several ways: LLVM is shown one way back."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number, turning
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.latches import latches_of
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import Value


class Drawn:
    """A loop inside, whose turn branches by chance: each side changes a sum or a counter, or nothing."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311
        given = array("a"), array("b", is_written=True)
        self.code = code = Code(*given, number("s"), number("n", "int"), RANGE)
        code.header("i", "body")
        self._index = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
        code.set("x", code.load(0, self._index))
        code.set("place", self._index)
        self._labels = 0
        self._side(depth=0)

    def _side(self, depth: int) -> None:
        """The rest of a turn: perhaps a change, then a branch or the way back."""
        code, draw = self.code, self.draw
        if depth:
            getattr(self, draw.choice(["_sum", "_count", "_keep", "_store", "_nothing"]))()
        if depth == 3 or (depth and draw.random() < 0.4):
            code.end("jump", "j.head")
            return
        test = code.op(draw.choice(["fgt", "flt", "fge"]), code.get("x"), self._limit())
        sides = [self._label(), draw.choice([self._label(), "j.head"])]
        code.end("branch", *sides, condition=test)
        for label in sides:
            if label != "j.head":
                code.begin(label)
                self._side(depth + 1)

    def _label(self) -> str:
        self._labels += 1
        return f"side{self._labels}"

    def _limit(self) -> Value:
        return self.code.real(self.draw.choice([0.0, 0.5, -0.5, 1.0]))

    def _nothing(self) -> None:
        pass

    def _sum(self) -> None:
        part = self.code.op("mul", self.code.get("x"), self._limit())
        self.code.set("s", self.code.op("add", self.code.get("s"), part))

    def _keep(self) -> None:
        self.code.set("s", self.code.get("x"))

    def _count(self) -> None:
        self.code.set("n", self.code.op("add", self.code.get("n"), self.code.whole(1)))

    def _store(self) -> None:
        self.code.store(1, self.code.get("place"), self.code.get("x"))


def cells() -> dict[str, object]:
    """What the variables of `Drawn` are."""
    return over(range(2), s=1.5, n=3, **{"s.numpy": True, "n.numpy": False})


@pytest.mark.parametrize("seed", range(60))
def test_turns_drawn_by_chance(seed: int) -> None:
    """Whatever a turn does on its way, better code does the same, and raises all flags."""
    drawn = Drawn(seed)
    machine = Machine(drawn.code.nest(), is_improved=True)
    rng = np.random.default_rng(seed)
    for wildness in (0.0, 0.0, 0.05, 0.3):
        a = rng.standard_normal(29)
        for place in range(29):
            if rng.random() < wildness:
                a[place] = drawn.draw.choice([1e308, -1e308, np.inf, np.nan, -np.inf, 5e-324, 0.0])
        check_improved(machine, [a, np.zeros(29)], cells())


def choosing() -> Nest:
    """The greatest element and its place; each side of the branch leads back by itself."""
    code = Code(array("a"), number("s"), number("n", "int"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    x = code.load(0, j)
    code.set("x", x)
    code.set("place", j)
    code.end("branch", "then", "j.head", condition=code.op("fgt", x, code.get("s")))
    code.begin("then")
    code.set("s", code.get("x"))
    code.set("n", code.get("place"))
    code.end("jump", "j.head")
    return code.nest()


def test_sides_of_a_branch_meet_in_front_of_the_way_back() -> None:
    """There is one way back, where both sides of the branch come together."""
    found = latches_of(Flow(choosing()))
    assert found.led.keys() == {("j.body", "j.head"), ("then", "j.head")}
    (latch,) = set(found.led.values())
    assert found.blocks == {latch: "j.head"}
    machine = Machine(choosing(), is_improved=True)
    a = np.random.default_rng(5).standard_normal(200)
    assert check_improved(machine, [a], cells())


def test_loops_inside_keep_their_ways_back() -> None:
    """Only loops without loops inside have ways back that meet."""
    code = Code(array("a"), number("s"), number("n", "int"), RANGE)
    code.header("i", "body")
    turning(code, "k", code.whole(0), code.whole(3), 1, "header")
    code.end("branch", "more", "k.head", condition=code.op("fgt", code.get("s"), code.real(0.0)))
    code.begin("more")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "k.head")
    code.set("s", code.op("add", code.get("s"), code.load(0, j)))
    code.end("jump", "j.head")
    assert not latches_of(Flow(code.nest())).blocks

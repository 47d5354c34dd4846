"""Results that a turn stores in better code: which NaN each is, and every flag, though two are looked at at once."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from ufuse.backends.numpy.nest_code.nests import nest_text
from ufuse.backends.numpy.nest_passes.versions import versioned
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import Value

COUNT = 40
ARRAYS = 3
SPECIAL = [1e308, -1e308, 5e-324, 0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, -1.0]


def storing(seed: int) -> Nest:
    """A loop whose turns change elements, some of them twice, behind a test that leaves it."""
    draw = random.Random(seed)  # noqa: S311
    slots = [array(f"a{place}", is_written=True) for place in range(ARRAYS)]
    code = Code(*slots, array("b"), number("s"), RANGE)
    i = code.header("i", "body")
    one = code.load(ARRAYS, i)
    code.append("doubt_if", (code.op("feq", one, code.real(77.0)),), None)
    code.set("s", code.op("add", code.get("s"), one))
    pool: list[Value] = [one]
    for _ in range(draw.randint(1, 7)):
        which = draw.randrange(ARRAYS)
        place = draw.choice([i, i, code.whole(0)])
        found = code.load(which, place)
        for _ in range(draw.randint(1, 3)):
            other = draw.choice([*pool[-3:], code.real(draw.choice([2.0, -0.5, 1e300]))])
            found = code.op(draw.choice(["add", "sub", "mul", "div"]), found, other)
        pool.append(found)
        code.store(which, place, found)
    code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("seed", range(80))
def test_turns_drawn_by_chance(seed: int) -> None:
    """Unlike NaNs are in doubt, and no flag is lost."""
    machine = Machine(storing(seed), is_improved=True)
    draw = np.random.default_rng(seed)
    for wildness in (0.0, 0.02, 0.02, 0.1, 0.5):
        given = [draw.normal(size=COUNT) for _ in range(ARRAYS + 1)]
        for each in given:
            wild = draw.random(COUNT) < wildness
            each[wild] = draw.choice(SPECIAL, wild.sum())
        cells = over(range(COUNT), s=0.5, **{"s.numpy": True})
        check_improved(machine, given, cells)


def test_two_are_looked_at_at_once() -> None:
    """Six results that are stored take three comparisons."""
    code = Code(array("a", is_written=True, ndim=2), array("b"), RANGE)
    i = code.header("i", "body")
    one = code.load(1, i)
    code.append("doubt_if", (code.op("feq", one, code.real(77.0)),), None)
    for place in range(6):
        column = code.whole(place)
        code.store(0, i, column, code.op("add", code.load(0, i, column), one))
    code.end("jump", "header")
    text = nest_text(versioned(code.nest(), is_alone=True), "f", is_fast=True, is_alone=True)
    assert text.count("fcmp uno") == 3
    assert text.count("fcmp ugt") == 0

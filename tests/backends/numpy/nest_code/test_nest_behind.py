"""Loops that test for their end behind each turn, as `while` does: copies without checks, which are right for any turns."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from ufuse.backends.numpy.nest_passes.versions import is_copy, versioned
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import TURNS

COUNT = 40


def inside(first: int, more: int) -> Nest:
    """A loop inside that begins at a place and ends at a number, whatever that is; it loads `more` ahead."""
    code = Code(
        array("a"), array("x", is_written=True), number("n", "int", is_changed=False), RANGE
    )
    code.header("i", "body")
    code.set("j", code.whole(first))
    code.end("jump", "j.head")
    code.begin("j.head")
    place = code.get("j")
    item = code.load(0, code.op("add", place, code.whole(more)))
    code.store(1, place, code.op("mul", item, code.real(2.0)))
    after = code.op("add", place, code.whole(1))
    code.set("j", after)
    code.end("branch", "j.head", "after", condition=code.op("ilt", after, code.get("n")))
    code.begin("after")
    code.end("jump", "header")
    return code.nest()


def outermost() -> Nest:
    """A `while` as the reader makes it: in chunks, left by an exit in mid-turn."""
    code = Code(array("a"), array("x", is_written=True), number("i", "int"))
    code.begin("header")
    some = code.op("igt", code.get(TURNS), code.whole(0))
    code.end("branch", "body", "out", condition=some)
    code.begin("out")
    code.end("leave")
    code.begin("body")
    code.set(TURNS, code.op("sub", code.get(TURNS), code.whole(1)))
    place = code.get("i")
    code.store(1, place, code.call("numpy.exp", code.load(0, place)))
    after = code.op("add", place, code.whole(1))
    code.set("i", after)
    test = code.op("ilt", after, code.dim(0, 0))
    code.end("branch", "header", "out", condition=test)
    return code.nest()


@pytest.mark.parametrize("more", [0, 3, -2])
@pytest.mark.parametrize("first", [0, 5, COUNT - 1])
def test_loops_inside(first: int, more: int) -> None:
    """There is a turn though there should be none, and what is outside of arrays is in doubt."""
    nest = inside(first, more)
    loads = [
        one
        for block in versioned(nest, is_alone=True).blocks
        if is_copy(block)
        for one in block.instructions
        if one.op in {"load", "store"}
    ]
    assert len(loads) == 2
    assert all(one.is_sure for one in loads)
    machine = Machine(nest, is_improved=True)
    draw = np.random.default_rng(1)
    left = 0
    for n in (
        -(1 << 62),
        -3,
        0,
        1,
        first,
        first + 1,
        first + 2,
        COUNT - 3,
        COUNT,
        COUNT + 1,
        1 << 40,
    ):
        given = {"n": n, "n.numpy": False}
        left += check_improved(
            machine, [draw.random(COUNT), draw.random(COUNT)], over(range(2), **given)
        )
    assert left > 0 or first + max(more, 0) >= COUNT or first + more < 0


@pytest.mark.parametrize("turns", [0, 1, 7, COUNT - 1, COUNT, COUNT + 1, 10_000])
def test_chunks_that_may_be_longer_than_the_loop(turns: int) -> None:
    """What is left of the loop is known in front of it, so the copy does all of a chunk."""
    machine = Machine(outermost(), is_improved=True)
    draw = np.random.default_rng(1)
    for first in (0, 1, COUNT - 1):
        cells = {"i": first, "i.numpy": False, TURNS: turns}
        assert check_improved(machine, [draw.random(COUNT), draw.random(COUNT)], cells)


def test_a_chunk_that_begins_behind_the_end() -> None:
    """Its first turn is in doubt, as plain Python would raise there."""
    machine = Machine(outermost(), is_improved=True)
    cells = {"i": COUNT, "i.numpy": False, TURNS: 3}
    assert not check_improved(machine, [np.ones(COUNT), np.ones(COUNT)], cells)

"""Arrays that listed objects have: what C refuses, and that objects change by all of some turns or by nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE as TURNS
from tests.support.nests.nest_code import Code
from tests.support.nests.no_memory import ends_without_memory
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ArraySlot
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check_nest import check_nest

pytestmark = pytest.mark.any_python

LIST: tuple[Any, ...] = ("objects", True, (), ("mate",), 0)
ARRAYS: tuple[Any, ...] = ("arrays", "d", 2, 0, True, "pos", -1)
RANGE = ("range",)


@pytest.mark.parametrize(
    "slots",
    [
        (ARRAYS,),
        (("objects", False, (), (), 0), ARRAYS),
        (LIST, (*ARRAYS[:2], 1, *ARRAYS[3:])),
        (LIST, (*ARRAYS[:2], 7, *ARRAYS[3:])),
        (LIST, (*ARRAYS[:1], "O", *ARRAYS[2:])),
        (LIST, (*ARRAYS[:3], 1, *ARRAYS[4:])),
        (LIST, ("marks", 0, False)),
        (LIST, ("marks", 5, False)),
        (LIST, ("marks", -1, False)),
        (LIST, (*ARRAYS[:4], False, *ARRAYS[5:]), ("marks", 1, False)),
        (LIST, (*ARRAYS[:6], 2), ("marks", 1, False)),
        (LIST, ARRAYS, ("marks", 1, False), ("marks", 1, True)),
    ],
)
def test_slots_that_cannot_be(slots: tuple[Any, ...]) -> None:
    """Arrays are of a list that is apart where they are written; marks are of arrays that are, once."""
    _tiles.Nest(1, None, (LIST, ARRAYS, ("marks", 1, True), RANGE))
    with pytest.raises(ValueError, match=r"of a nest|of a list of objects|no arrays that are new"):
        _tiles.Nest(1, None, (*slots, RANGE))


COUNT = 5


class Ball:
    """Objects with attributes in a dict."""


class Slotted:
    """Objects with attributes in slots."""

    __slots__ = ("mass", "pos", "vel")


def new(kind: Any, k: int) -> Any:
    """An object of a class."""
    ball = kind()
    ball.vel, ball.pos, ball.mass = np.ones(2) * k, np.zeros(3), 1.0
    return ball


def column(name: str, items: str, axes: int, dtype: type = float) -> ArraySlot:
    """A slot of an attribute."""
    return ArraySlot(
        f"balls.{name}, {items}", np.dtype(dtype), axes, is_written=True, items=items, owner="balls", attribute=name
    )  # fmt: skip


def everything() -> Nest:
    """In each turn, of `ball`, `vel = vel * 1`, `vel[1] += 1`, `pos[2] += vel[1]` and `mass = vel[1]`."""
    balls = ArraySlot("balls", np.dtype(bool), 1, is_written=False, items="objects", is_apart=True)
    columns = (
        column("mass", "python", 1),
        column("vel", "arrays", 2),
        column("vel", "marks", 1, bool),
        column("pos", "arrays", 2),
    )
    code = Code(balls, *columns, TURNS)
    index = code.header("i", "body")
    ball, one = code.op("mod", index, code.dim(0, 0)), code.whole(1)
    speed = code.op("add", code.load(2, ball, one), code.real(1))
    code.store(2, ball, one, speed)
    code.store(3, ball, code.truth(True))
    two = code.whole(2)
    code.store(4, ball, two, code.op("add", code.load(4, ball, two), speed))
    code.store(1, ball, speed)
    code.end("jump", "header")
    nest = code.nest()
    check_nest(nest)
    return nest


class Balls:
    """Objects of a class, and the arrays that they begin with."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.begin()

    def begin(self) -> list[Any]:
        """What a nest is given: the list, for each slot."""
        self.balls = [new(self.kind, k) for k in range(COUNT)]
        self.velocities = [ball.vel for ball in self.balls]
        self.positions = [ball.pos for ball in self.balls]
        return [self.balls] * 5

    def check(self, _: Any, turns: int) -> None:
        """Numbers, and which arrays are new, after so many turns; those that were there before are as they were."""
        for k, ball in enumerate(self.balls):
            steps = range(k + 1, k + 1 + len(range(k, turns, COUNT)))
            assert ball.vel.tolist() == [k, k + len(steps)]
            assert ball.pos.tolist() == [0, 0, sum(steps)]
            assert ball.mass == (steps[-1] if steps else 1)
            assert type(ball.mass) is float
            assert ball.pos is self.positions[k]
            assert (ball.vel is self.velocities[k]) == (not steps)
            assert self.velocities[k].tolist() == [k, k]
            assert ball.vel.flags.owndata


@pytest.mark.parametrize("kind", [Ball, Slotted])
def test_objects_get_what_was_stored(kind: Any) -> None:
    """In their arrays, or in new ones, as the definition says."""
    made: Any = nest_object(everything())
    balls = Balls(kind)
    for run in (made, lambda *given: nest_reference.run(everything(), given)):
        for turns in (1, 7, 1000):
            given, iterator = balls.begin(), iter(range(turns))
            while iterator.__length_hint__() > 0:
                assert run(*given, iterator) is None
            balls.check(given, turns)


@pytest.mark.parametrize("kind", [Ball, Slotted])
@pytest.mark.parametrize("turns", [3, 600])
def test_no_memory(kind: Any, turns: int) -> None:
    """Whatever allocation fails: all objects have what so many turns give, and nothing is lost."""
    balls = Balls(kind)
    ends = ends_without_memory(everything(), balls.begin, balls.check, turns, range(60))
    assert {0, turns} <= ends

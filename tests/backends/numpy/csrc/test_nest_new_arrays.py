"""Array variables that a nest binds to arrays of its own: they get new arrays, or nothing has happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code, array, number
from tests.support.nests.no_memory import ends_without_memory
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Map, Nest, Scalar, Step, View
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check_nest import check_nest

D = np.dtype(float)


def everything() -> Nest:
    """In each turn `x = s + i`, as many times as `x` has elements, `y = x * 2` and `s += 1`."""
    code = Code(array("x", is_rebound=True), array("y", is_rebound=True), number("s"), RANGE)
    code.temporaries += [array(".x", is_written=True), array(".y", is_written=True)]
    index = code.header("i", "body")
    zero, length = code.whole(0), code.dim(0, 0)
    code.alloc(2, length)
    code.alloc(3, length)
    one, other = (View(place, ((0, 1),)) for place in (2, 3))
    for operands, name, target, inputs in [
        ((Scalar(D), Scalar(D)), "add", one, (code.get("s"), code.op("to_f64", index))),
        ((one, Scalar(D)), "multiply", other, (zero, code.real(2))),
    ]:
        code.map(Map(1, operands, (Step(name, (D, D, D), (0, 1)),), target), length, *inputs, zero)
    code.set("x.array", code.whole(2))
    code.set("y.array", code.whole(3))
    code.set("s", code.op("add", code.get("s"), code.real(1)))
    code.end("jump", "header")
    nest = code.nest()
    check_nest(nest)
    return nest


def objects() -> tuple[Any, ...]:
    """What it begins with."""
    return np.ones(5), np.zeros(3), 0.5


def check(found: tuple[Any, ...], _: int) -> None:
    """The arrays that were given are as they were."""
    assert repr(found) == repr(objects())


def outputs(turns: int) -> tuple[Any, ...]:
    """What a call gives that has done so many turns."""
    x = np.full(5, 2 * turns - 1.5)
    return x, x * 2, turns + 0.5


@pytest.mark.parametrize("turns", [1, 600])
def test_variables_get_new_arrays(turns: int) -> None:
    """Of memory of their own, as the definition says."""
    made: Any = nest_object(everything())
    made.budget = 1e6
    for run in (made, lambda *given: nest_reference.run(everything(), given)):
        found = run(*objects(), iter(range(turns)))
        assert repr(found) == repr(outputs(turns))
        assert [one.flags.owndata for one in found[:2]] == [True, True]


@pytest.mark.parametrize("turns", [1, 600])
def test_no_memory(turns: int) -> None:
    """Whatever allocation fails: some turns were done, whose arrays are whole, and nothing is lost."""
    ends = ends_without_memory(everything(), objects, check, turns, range(30), outputs=outputs)
    assert {0, turns} <= ends

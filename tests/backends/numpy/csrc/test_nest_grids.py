"""Iterators over several axes that a nest moves: products get tuples of their own, or nothing has happened."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import Code, array, number
from tests.support.nests.no_memory import ends_without_memory
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import RangeSlot
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check_nest import check_nest

pytestmark = pytest.mark.any_python

KINDS = {"p": "product", "f": "flat", "q": "product"}
SLOTS = (
    array("out", int, is_written=True),
    number("sum", "int"),
    number("last", "int"),
    *(RangeSlot(name, kind) for name, kind in KINDS.items()),
)
AXES = {6: ((2, 3), (6, 1, 1)), 600: ((20, 30), (5, 4, 30))}  # of two products, by how many turns
MANY = (range(1),) * 20  # more axes: CPython has no tuples in store that are as long


def everything() -> Nest:
    """In each turn, of which `i` were done before, `out[i % 3] += i`, `sum += i` and `last = i`."""
    code = Code(*SLOTS)
    index = code.header("p", "body")
    one = code.whole(1)
    for other in ("f", "q"):
        code.set(f"{other}.left", code.op("sub", code.get(f"{other}.left"), one))
        code.set(f"{other}.next", code.op("add", code.get(f"{other}.next"), one))
    place = code.op("mod", index, code.whole(3))
    code.store(0, place, code.op("add", code.load(0, place), index))
    code.set("sum", code.op("add", code.get("sum"), index))
    code.set("last", index)
    code.end("jump", "header")
    nest = code.nest()
    check_nest(nest)
    return nest


def objects() -> tuple[Any, ...]:
    """What it begins with."""
    return np.zeros(3, int), 10**6, 10**6


def iterators(turns: int) -> tuple[Any, ...]:
    """Over so many places."""
    one, other = AXES[turns]
    return (
        itertools.product(*map(range, one), *MANY),
        np.arange(turns).reshape(one).T.flat,
        itertools.product(*MANY, *([axis] * length for axis, length in enumerate(other))),
    )


def check(found: tuple[Any, ...], turns: int) -> None:
    """Elements after so many turns."""
    assert found[0].tolist() == [sum(range(place, turns, 3)) for place in range(3)]
    assert found[1:] == objects()[1:]


def outputs(turns: int) -> tuple[int, int]:
    """What a call gives that has done so many turns."""
    return 10**6 + sum(range(turns)), turns - 1


@pytest.mark.parametrize("turns", AXES)
def test_all_iterators_go_on(turns: int) -> None:
    """From where they are, as the definition says."""
    made: Any = nest_object(everything())
    for run in (made, lambda *given: nest_reference.run(everything(), given)):
        for before in (0, 1, turns - 1):
            found, over = objects(), iterators(turns)
            for one in over:
                list(itertools.islice(one, before))
            assert run(*found, *over) == (10**6 + sum(range(before, turns)), turns - 1)
            assert [list(one) for one in over] == [[], [], []]


@pytest.mark.parametrize("turns", AXES)
def test_no_memory(turns: int) -> None:
    """Whatever allocation fails: all stands where so many turns leave it, and nothing is lost."""
    ends = ends_without_memory(everything(), objects, check, turns, range(12), iterators, outputs)
    assert {0, turns} <= ends

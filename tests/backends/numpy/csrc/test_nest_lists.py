"""Lists that a nest changes: objects are made of what it appended and stored, or nothing has happened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code
from tests.support.nests.no_memory import ends_without_memory
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ArraySlot, Column, ListSlot
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check_nest import check_nest

SLOTS = (
    ListSlot("out", (Column(1, "float", is_numpy=False),)),
    ListSlot("pairs", (Column(2, "int", is_numpy=True), Column(3, "bool", is_numpy=False)), True),
    ArraySlot("a", np.dtype(int), 1, is_written=True, items="python"),
    ListSlot("seen", (Column(4, "float32", is_numpy=True),), is_read=True),
    RANGE,
)
TEMPORARIES = [("d", 1), ("l", 1), ("?", 1), ("f", 1)]


def everything() -> Nest:
    """In each turn `out.append(i / 2)`, `pairs.append((np.int64(i), i > 3))`, `a[-1] = a[0] = i + 1000`, and `seen`."""
    code = Code(*SLOTS)
    code.temporaries += [
        ArraySlot(f".{place}", np.dtype(dtype), 1, is_written=True)
        for place, (dtype, _) in enumerate(TEMPORARIES)
    ]
    index = code.header("i", "body")
    half = code.op("mul", code.op("to_f64", index), code.real(0.5))
    code.append("append", (half,), None, 1)
    code.append("append", (index,), None, 2)
    code.append("append", (code.op("igt", index, code.whole(3)),), None, 3)
    for place in (-1, 0):
        code.store(0, code.whole(place), code.op("add", index, code.whole(1000)))
    code.append("append", (code.load(4, code.whole(-1)),), None, 4)
    code.end("jump", "header")
    nest = code.nest()
    check_nest(nest)
    return nest


def lists() -> tuple[list[Any], ...]:
    """What it begins with."""
    return [None], [()], [5, 6, 7], [np.float32(0.5)]


def expected(turns: int) -> tuple[list[Any], ...]:
    """What it gives."""
    out, pairs, a, seen = lists()
    for i in range(turns):
        out.append(i / 2)
        pairs.append((np.int64(i), i > 3))
        a[-1] = a[0] = i + 1000
        seen.append(np.float32(0.5))
    return out, pairs, a, seen


def types_of(items: Any) -> Any:
    """Of all that is in lists and tuples."""
    return [types_of(one) if isinstance(one, tuple | list) else type(one) for one in items]


def check(found: tuple[list[Any], ...], turns: int) -> None:
    """Values and types."""
    assert found == expected(turns)
    assert types_of(found) == types_of(expected(turns))


@pytest.mark.parametrize("turns", [1, 7, 5000])
def test_lists_get_what_was_appended_and_stored(turns: int) -> None:
    """In order, of their own types; also where memory has to grow; as the definition says."""
    made: Any = nest_object(everything())
    for run in (made, lambda *given: nest_reference.run(everything(), given)):
        found, iterator = lists(), iter(range(turns))
        while iterator.__length_hint__() > 0:
            assert run(*found, iterator) is None
        check(found, turns)


def test_of_a_doubt_nothing_is_seen() -> None:
    """`a` has no elements: nothing has happened."""
    made: Any = nest_object(everything())
    out, pairs, _, seen = lists()
    iterator = iter(range(5))
    assert made(out, pairs, [], seen, iterator) is NotImplemented
    assert (out, pairs, seen) == (*lists()[:2], lists()[3])
    assert iterator.__length_hint__() == 5


@pytest.mark.parametrize(
    ("place", "other"),
    [(2, [1, 0.5]), (2, (1, 2)), (2, [2**70]), (3, [0.5]), (3, ()), (0, ()), (1, None)],
)
def test_what_does_not_fit_is_declined(place: int, other: Any) -> None:
    """Items that are read are of one type, and lists are lists."""
    made: Any = nest_object(everything())
    given: list[Any] = [*lists(), iter(range(5))]
    given[place] = other
    assert made(*given) is NotImplemented
    assert given[4].__length_hint__() == 5


def test_a_list_under_two_names_is_declined() -> None:
    """What comes first and what comes later would not be known."""
    made: Any = nest_object(everything())
    one = [5, 6, 7]
    for places in [(0, 1), (0, 2), (2, 3)]:
        given: list[Any] = [*lists(), iter(range(5))]
        for place in places:
            given[place] = one
        assert made(*given) is NotImplemented
    assert one == [5, 6, 7]


@pytest.mark.parametrize("turns", [3, pytest.param(600, marks=pytest.mark.any_python)])
def test_no_memory(turns: int) -> None:
    """Whatever allocation fails: all lists have what so many turns give, and nothing is lost."""
    places = range(0, 6 * turns + 40, 1 + turns // 100)
    assert {0, turns} <= ends_without_memory(everything(), lists, check, turns, places)


COLUMN = (0, "float", False)


@pytest.mark.parametrize(
    "slot",
    [
        ("grown", False, False, 0, ()),
        ("grown", False, False, 0, (COLUMN, (3, "float32", False))),
        ("grown", True, True, 0, (COLUMN,)),
        ("grown", False, False, 0, ((7, "float", False),)),
        ("grown", False, False, 0, ((0, "int8", True),)),
        ("grown", False, False, 0, ((0, "complex", False),)),
        ("grown", True, False, 0, (COLUMN,) * 9),
        ("list", "float", False, 0, True),
    ],
)
def test_slots_are_looked_at(slot: tuple[Any, ...]) -> None:
    """Columns are temporaries that fit; a list that an iterator goes over is not written."""
    with pytest.raises(ValueError, match=r"of a nest|of a list|not written"):
        _tiles.Nest(1, None, (("forwards",), slot), tuple(TEMPORARIES))

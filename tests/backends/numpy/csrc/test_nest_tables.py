"""Lists of lists that a nest reads and changes: what it takes, and that objects are made of all or of nothing."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code
from tests.support.nests.no_memory import ends_without_memory
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ArraySlot
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest

SLOTS = (
    ArraySlot("t", np.dtype(int), 2, is_written=True, items="python"),
    ArraySlot("u", np.dtype(float), 2, is_written=False, items="python"),
    ArraySlot("v", np.dtype("float32"), 2, is_written=True, items="numpy"),
    ArraySlot("w", np.dtype(int), 1, is_written=True, items="python"),
    RANGE,
)


def everything() -> Nest:
    """In each turn `t[-1][0] = i + 1000`, `v[1][i % 2] += v[0][-1]`, `w[0] = t[0][1]`, and `u[1][1]` is there."""
    code = Code(*SLOTS)
    index = code.header("i", "body")
    zero, one, last = code.whole(0), code.whole(1), code.whole(-1)
    code.store(0, last, zero, code.op("add", index, code.whole(1000)))
    code.load(1, one, one)
    place = code.op("mod", index, code.whole(2))
    code.store(2, one, place, code.op("add", code.load(2, one, place), code.load(2, zero, last)))
    code.store(3, zero, code.load(0, zero, one))
    code.end("jump", "header")
    nest = code.nest()
    check_nest(nest)
    return nest


def tables() -> list[Any]:
    """What it begins with."""
    halves = [[np.float32(0.5) for _ in range(2)] for _ in range(2)]
    return [[[5, 6], [7, 8], [9, 10]], [[0.5, 1.0], (2.0, 3.0)], halves, [1, 2, 3]]


def expected(turns: int) -> list[Any]:
    """What it gives."""
    t, u, v, w = tables()
    for i in range(turns):
        t[-1][0] = i + 1000
        v[1][i % 2] += v[0][-1]
        w[0] = t[0][1]
    return [t, u, v, w]


def check(found: list[Any], turns: int) -> None:
    """Values and types."""
    assert repr(found) == repr(expected(turns))


def test_the_text_reads_back() -> None:
    """A table is told from a list."""
    found = parse_nest(str(everything()))
    assert found.slots == SLOTS
    assert "t: table by python of int64, written" in str(found)


@pytest.mark.parametrize("turns", [1, 7, 5000])
def test_tables_get_what_was_stored(turns: int) -> None:
    """In their rows, which stay the same lists; as the definition says."""
    made: Any = nest_object(everything())
    for run in (made, lambda *given: nest_reference.run(everything(), given)):
        found, iterator = tables(), iter(range(turns))
        rows = [row for table in found[:3] for row in table]
        while iterator.__length_hint__() > 0:
            assert run(*found, iterator) is None
        check(found, turns)
        assert [*map(id, rows)] == [id(row) for table in found[:3] for row in table]


@pytest.mark.parametrize(
    ("place", "other"),
    [
        (0, [[5, 6], [7, 8], [9]]),
        (0, [[5, 6], [7, 8], [9, 10, 11]]),
        (0, [[5, 6], (7, 8), [9, 10]]),
        (0, ([5, 6], [7, 8], [9, 10])),
        (0, [[5, 6], [7, 8.0], [9, 10]]),
        (0, [[5, 6], [7, 2**64], [9, 10]]),
        (0, [[5, 6], 7, [9, 10]]),
        (0, [5, 6, 7]),
        (0, [[5, 6]] * 3),
        (0, []),
        (0, [[], []]),
        (1, [[1.0, 2.0]]),
        (1, [[1.0], [2.0]]),
        (1, np.ones((2, 2))),
        (2, [[0.5, 0.5], [0.5, 0.5]]),
        (2, None),
    ],
)
def test_what_does_not_fit_is_declined(place: int, other: Any) -> None:
    """Rows that are read are all as long, and of numbers of one type; no row that changes comes twice."""
    made: Any = nest_object(everything())
    given: list[Any] = [*tables(), iter(range(5))]
    given[place] = other
    before = repr(other)
    assert made(*given) is NotImplemented
    assert repr(other) == before
    assert given[4].__length_hint__() == 5


def test_a_row_under_two_names_is_declined() -> None:
    """What comes first and what comes later would not be known."""
    made: Any = nest_object(everything())
    for place, row in [(0, 1), (1, 1), (2, 0), (3, None)]:
        given: list[Any] = [*tables(), iter(range(5))]
        one = given[0][2]
        if row is None:
            given[place] = one
        else:
            given[place][row] = one
        before = repr(given[:4])
        assert made(*given) is NotImplemented
        assert repr(given[:4]) == before


def test_rows_that_are_only_read_may_be_one_list() -> None:
    """Nobody sees that they were copied twice."""
    made: Any = nest_object(everything())
    given: list[Any] = [*tables(), iter(range(5))]
    given[1] = [given[1][0]] * 2
    while given[4].__length_hint__() > 0:
        assert made(*given) is None
    assert given[1] == [[0.5, 1.0]] * 2


@pytest.mark.parametrize("turns", [3, 600])
def test_no_memory(turns: int) -> None:
    """Whatever allocation fails: all tables have what so many turns give, and nothing is lost."""
    assert {0} < ends_without_memory(everything(), tables, check, turns, range(60))


@pytest.mark.parametrize("axes", [0, 3])
def test_slots_are_looked_at(axes: int) -> None:
    """Lists are of numbers, or of lists of numbers; of the latter all rows are read."""
    with pytest.raises(ValueError, match="no list of a nest"):
        _tiles.Nest(1, None, (("range",), ("list", "float", False, -1, True, axes)), ())
    with pytest.raises(ValueError, match="no list of a nest"):
        _tiles.Nest(1, None, (("forwards",), ("list", "float", False, 0, False, 2)), ())


def test_a_large_table_waits_until_plain_python_has_taken_as_long() -> None:
    """A few turns are not worth reading it, as far as is known; but they may be long."""
    made: Any = nest_object(everything())
    given = tables()
    given[0] = [[i, 1] for i in range(60_000)]
    assert made(*given, iter(range(2))) is NotImplemented
    assert given[0][-1] == [59_999, 1]
    time.sleep(0.01)
    iterator = iter(range(2))
    assert made(*given, iterator) is None
    assert given[0][-1][0] == 1001 - iterator.__length_hint__()

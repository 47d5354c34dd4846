"""What a chunk of turns saves: parts near places that are known, and nothing of arrays whose contents are known."""

from __future__ import annotations

import gc
import mmap
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.nests.executed import FLAGS, DoubtError, State, address_of, native
from tests.support.tiles import assert_same
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.usefixtures("quiet")

RANGE = ("range",)
ROWS, COLUMNS = 24, 3
TABLE = ("array", "d", 2, True)
LINE = ("array", "d", 1, True)
UNKNOWN, ARBITRARY, ZERO = -3, -2, -1


def rowed(slots: tuple[Any, ...], turn: Callable[[State, int], None], rows: tuple[Any, ...]) -> Any:
    """A nest of Python's turns, of whose arrays rows are known."""
    function = native(slots, turn)
    made = _tiles.Nest(address_of(function), function, slots, (), 0, (), 0, None, rows)
    made.budget = 1e6
    return made


def near(array: int, axis: int, least: int, most: int) -> Any:
    """As a part of an array: what is along an axis from the place of an iterator, whose cells are the first, and `least`."""
    turning = ((1, ((0, 0, 1, 0),)),)
    return array, ((axis, (least, turning), (most, turning)),)


def table() -> np.ndarray:
    """Numbers of which no two are the same."""
    return np.arange(1.0, 1 + ROWS * COLUMNS).reshape(ROWS, COLUMNS)


def halved(state: State, number: int, odd: int, axis: int, how: str) -> None:
    """Change a row, or column, and the next one, in two steps; the odd turn fails between them."""
    row = np.moveaxis(state.arrays[0], axis, 0)
    row[number] *= 0.5
    if number == odd and how == "doubt":
        raise DoubtError
    if number == odd:
        state.flags |= FLAGS["divide"]
    if number + 1 < len(row):
        row[number + 1] -= row[number]


LAYOUTS: dict[str, Callable[[], np.ndarray]] = {
    "C": table,
    "F": lambda: np.asfortranarray(table()),
    "reversed": lambda: table()[::-1, ::-1],
    "strided": lambda: np.repeat(np.repeat(table(), 2, axis=0), 3, axis=1)[::2, ::3],
    "transposed": lambda: np.ascontiguousarray(table().T).T,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("how", ["doubt", "flag"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("numbers", [range(20), range(20, -1, -1), range(2, 22, 3)], ids=str)
def test_every_odd_turn_is_undone(numbers: range, axis: int, how: str, layout: str) -> None:
    """Whichever turn is odd: memory is as behind the turns before it, in rows and between them."""
    for odd in numbers:
        array = LAYOUTS[layout]()
        view = array if axis == 0 else array.T
        expected = view.copy()
        state = State([expected])
        for number in numbers[: numbers.index(odd)]:
            halved(state, number, -1, axis, how)
        turn = partial(halved, odd=odd, axis=axis, how=how)
        iterator = iter(numbers)
        with np.errstate(all="warn"):
            rowed((TABLE, RANGE), turn, (near(0, axis, 0, 1),))(view, iterator)
        assert_same(np.ascontiguousarray(view), np.ascontiguousarray(expected))
        assert [*iterator] == [*numbers[numbers.index(odd) :]]


def astray(state: State, number: int) -> None:
    """Change the row of the turn and the last one; then fail."""
    state.arrays[0][number] = state.arrays[0][-1] = 0.0
    if number == 3:
        raise DoubtError


def test_other_rows_are_not_saved() -> None:
    """Of machine code that writes where it is said not to write, that is seen: nothing else was copied."""
    array = table()
    made = rowed((TABLE, RANGE), astray, (near(0, 0, 0, 0),))
    made(array, iter(range(6)))
    assert_same(array[3:-1], table()[3:-1])
    assert not array[:3].any()
    assert not array[-1].any()
    assert made.saved_bytes <= 3 * 6 * COLUMNS * 8


def behind(state: State, number: int) -> None:
    """Write one row behind the place, which is the last one in the first turn; then fail."""
    state.arrays[0][number - 1] = -1.0
    if number == 2:
        raise DoubtError


def test_rows_counted_from_the_end() -> None:
    """Where a place may be negative, all rows are saved: an index means one from the end."""
    array, expected = table(), table()
    expected[-1] = expected[0] = -1.0
    rowed((TABLE, RANGE), behind, (near(0, 0, -1, -1),))(array, iter(range(6)))
    assert_same(array, expected)


@pytest.mark.parametrize("numbers", [range(40), range(-5, 3), range(30, 50), range(2**62, 2**63 - 1)])  # fmt: skip
def test_places_outside(numbers: range) -> None:
    """Where places are outside of the array, a turn in doubt leaves it as it was."""

    def turn(state: State, number: int) -> None:
        if not 0 <= number < ROWS:
            raise DoubtError
        state.arrays[0][number] = 0.0

    array, expected = table(), table()
    iterator = iter(numbers)
    rowed((TABLE, RANGE), turn, (near(0, 0, 0, 2**62),))(array, iterator)
    done = 0 if numbers.start else ROWS
    expected[:done] = 0.0
    assert_same(array, expected)
    assert next(iterator) == numbers[done]


def test_two_arrays_over_one_memory() -> None:
    """Rows of arrays that overlap are put back, in whatever order they were written."""

    def turn(state: State, number: int) -> None:
        upper, lower = state.arrays
        upper[number] += 100.0
        lower[number] *= 2.0
        if number == 7:
            raise DoubtError

    slots, rows = (TABLE, TABLE, RANGE), (near(0, 0, 0, 0), near(1, 0, 0, 0))
    whole, expected = table(), table()
    for number in range(7):
        expected[1:][number] += 100.0
        expected[:-1][number] *= 2.0
    rowed(slots, turn, rows)(whole[1:], whole[:-1], iter(range(20)))
    assert_same(whole, expected)


def test_rows_that_overlap() -> None:
    """Windows of a vector are rows that share elements: each is put back."""
    line = np.arange(40.0)
    windows: np.ndarray = np.ndarray((36, 5), float, line, 0, (8, 8))

    def turn(state: State, number: int) -> None:
        state.arrays[0][number] += 1.0
        if number == 9:
            raise DoubtError

    rowed((TABLE, RANGE), turn, (near(0, 0, 0, 0),))(windows, iter(range(20)))
    expected = np.arange(40.0)
    for number in range(9):
        expected[number : number + 5] += 1.0
    assert_same(line, expected)


def test_an_array_beside_one_of_rows() -> None:
    """An array of which no rows are known is saved as a whole."""

    def turn(state: State, number: int) -> None:
        state.arrays[0][number] = number
        state.arrays[1][...] += number
        if number == 5:
            raise DoubtError

    first, second = np.zeros(9), np.zeros(4)
    rowed((LINE, LINE, RANGE), turn, (near(0, 0, 0, 0),))(first, second, iter(range(9)))
    assert_same(first, np.array([0.0, 1, 2, 3, 4, 0, 0, 0, 0]))
    assert_same(second, np.full(4, 10.0))


def test_chunks_are_as_long_as_what_they_save_is_small() -> None:
    """Rows of many bytes make short chunks: what is copied stays in a cache. Nothing is copied twice."""
    wide = np.ones((200, 1 << 12))

    def turn(state: State, number: int) -> None:
        state.arrays[0][number] = number

    calls: list[int] = []
    function = native((TABLE, RANGE), turn, calls)
    made = _tiles.Nest(address_of(function), function, (TABLE, RANGE), (), 0, (), 0, None, (near(0, 0, 0, 0),))  # fmt: skip
    made.budget = 1e6
    made(wide, iter(range(200)))
    assert max(calls) <= 16
    assert made.saved_bytes == wide.nbytes
    assert_same(wide, np.repeat(np.arange(200.0)[:, None], 1 << 12, axis=1))


def spotted(state: State, number: int, odd: int) -> None:
    """Change a row of the first column, an element of the last row, and one on the diagonal; then fail, perhaps."""
    array = state.arrays[0]
    array[number, 0] = array[-1, number % COLUMNS] = -1.0
    array[number, number] = -2.0
    if number == odd:
        raise DoubtError


@pytest.mark.parametrize("odd", range(COLUMNS))
def test_boxes_of_one_array(odd: int) -> None:
    """Each box of an array is saved for itself, one by places counted from the end, too."""
    turning, last = ((1, ((0, 0, 1, 0),)),), (-1, ())
    boxes = (
        (0, ((0, (0, turning), (0, turning)), (1, (0, ()), (0, ())))),
        (0, ((0, last, last),)),
        (0, ((0, (0, turning), (0, turning)), (1, (0, turning), (0, turning)))),
    )
    array, expected = table(), table()
    state = State([expected])
    for number in range(odd):
        spotted(state, number, -1)
    made = rowed((TABLE, RANGE), partial(spotted, odd=odd), boxes)
    made(array, iter(range(COLUMNS)))
    assert_same(array, expected)


@pytest.mark.parametrize("odd", [0, 5])
def test_products_and_lengths(odd: int) -> None:
    """A place may be a sum of products of cells and lengths, and of steps that each turn adds."""
    slots = (LINE, ("int", False), ("int", False), RANGE)
    cell, length = (0, 0, -1, 0), (1, 0, 0, 0)  # a number; the length of the vector
    place = (-1, ((1, (length,)), (-2, ((0, 4, 5, 0),)), (1, (cell, cell))))
    counted = (0, ((1, ((0, 2, -1, 3),)),))

    def turn(state: State, number: int) -> None:
        vector = state.arrays[0]
        vector[len(vector) - 1 - 2 * number + 2 * 2 - 4] = vector[7 + 3 * number - 7] = 0.5
        if number == odd:
            raise DoubtError

    array, expected = np.arange(40.0), np.arange(40.0)
    for number in range(odd):
        expected[39 - 2 * number] = expected[3 * number] = 0.5
    boxes = ((0, ((0, (-5, place[1]), (-5, place[1])),)), (0, ((0, counted, counted),)))
    rowed(slots, turn, boxes)(array, 2, 0, iter(range(10)))
    assert_same(array, expected)


def test_calls_whose_copies_take_too_long_are_counted() -> None:
    """A large array, of which nothing is known, is not copied for a few turns."""

    def turn(state: State, number: int) -> None:
        state.arrays[0][number] = number

    large = np.zeros((2000, 1000))
    made = rowed((TABLE, RANGE), turn, ())
    made(large, iter(range(3)))
    assert (made.costly, made.turns) == (1, 0)
    made = rowed((TABLE, RANGE), turn, (near(0, 0, 0, 0),))
    made(large, iter(range(3)))
    assert (made.costly, made.turns) == (0, 3)


PLACE = (0, ((1, ((0, 0, 1, 0),)),))


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (5, TypeError),
        ((5,), ValueError),
        ((near(1, 0, 0, 0),), ValueError),
        ((near(0, 2, 0, 0),), ValueError),
        ((near(0, -1, 0, 0),), ValueError),
        (((0, ((0, PLACE),)),), TypeError),
        (((0, ((0, PLACE, 5),)),), ValueError),
        (((0, ((0, PLACE, (0, 5)),)),), TypeError),
        (((0, ((0, PLACE, (0, (5,))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, (5,)),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((0, 9, -1, 0),)),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((0, 0, 9, 0),)),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((1, 1, 0, 0),)),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((1, 0, 2, 0),)),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((2, 0, 0, 0),)),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((0, 0, -1, 1),) * 2),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ((0, 0, -1, 0),) * 3),))),)),), ValueError),
        (((0, ((0, PLACE, (0, ((1, ()),) * 5)),)),), ValueError),
        (((0, ((0, PLACE, PLACE),) * 7),), ValueError),
        ((near(0, 0, 0, 0),) * 9, ValueError),
    ],
)
def test_parts_that_cannot_be(parts: Any, error: type[Exception]) -> None:
    """Parts of arrays, axes or cells that a nest has not are refused."""
    with pytest.raises(error):
        rowed((TABLE, RANGE), partial(halved, odd=0, axis=0, how="doubt"), parts)


# --- known contents


def told(*contents: int) -> bytes:
    """What a caller says of the objects."""
    return struct.pack(f"{len(contents)}i", *contents)


MANY = 200_000  # elements: so many that a chunk is of more turns than one
VALUES = np.arange(float(MANY))


def numbers() -> np.ndarray:
    """A new array of the values."""
    return np.arange(float(MANY))


def mapped() -> np.ndarray:
    """The values in memory that other processes may have."""
    array: np.ndarray = np.frombuffer(mmap.mmap(-1, VALUES.nbytes))
    array[...] = VALUES
    return array


class Seen:
    """A turn that changes all of an array, fails in turn 1, and keeps what was there as each run began."""

    def __init__(self) -> None:
        self.found: list[np.ndarray] = []

    def __call__(self, state: State, number: int) -> None:
        """Do a turn."""
        if number == 0:
            self.found.append(state.arrays[0].copy())
        state.arrays[0][...] = number + 0.5
        if number == 1:
            raise DoubtError

    def undone(self, call: Callable[[Any], object]) -> int:
        """Call a nest of it until a chunk was of more turns than one, and undone; how many bytes that has saved."""
        for _ in range(50):  # a busy machine makes turns seem long, and chunks short
            nest = rowed((LINE, RANGE), self, ())
            nest(numbers(), iter(range(10, 40)))
            self.found.clear()
            before = nest.saved_bytes
            call(nest)
            if len(self.found) == 2:
                return int(nest.saved_bytes - before)
        raise AssertionError("each chunk was of one turn")


def test_zeros_are_made_again() -> None:
    """Of an array that is known to be zero nothing is copied, and it is zero again behind a turn in doubt."""
    seen, contents = Seen(), told(ZERO, UNKNOWN)
    saved = seen.undone(lambda nest: nest(np.zeros(MANY), iter(range(9)), contents=contents))
    assert not seen.found[1].any()
    assert saved == 0


def test_what_equals_another_is_made_again() -> None:
    """The same of an array that is a copy of another, which comes behind the objects."""
    seen, other, contents = Seen(), numbers(), told(2, UNKNOWN)
    saved = seen.undone(lambda nest: nest(other.copy(), iter(range(9)), other, contents=contents))
    assert_same(seen.found[1], other)
    assert saved == 0


def test_what_nobody_has_seen_stays() -> None:
    """Of an array whose contents may be any, nothing is copied or made again."""
    seen, contents = Seen(), told(ARBITRARY, UNKNOWN)
    saved = seen.undone(lambda nest: nest(np.zeros(MANY), iter(range(9)), contents=contents))
    assert_same(seen.found[1], np.full(MANY, 1.5))
    assert saved == 0


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_rows_in_front_are_saved(rows: int) -> None:
    """Of zeros behind some rows these are copied, and all is as it was behind a turn in doubt."""
    begun = np.zeros(MANY)
    begun[:rows] = 2.5
    for contents in (ZERO, ARBITRARY):
        seen, code = Seen(), UNKNOWN - 1 - (2 * (rows - 1) + (contents == ZERO))
        saved = seen.undone(
            lambda nest, code=code: nest(begun.copy(), iter(range(9)), contents=told(code, UNKNOWN))
        )
        assert_same(seen.found[1][:rows], begun[:rows])
        assert seen.found[1][rows:].any() == (contents == ARBITRARY)
        assert saved == 8 * rows


def test_nothing_is_known_behind_a_commit() -> None:
    """What a chunk has committed stays where a later one is undone."""
    found: list[list[float]] = []

    def turn(state: State, number: int) -> None:
        found.append([*state.arrays[0]])
        state.arrays[0][number] = 1.0 + number
        if number == 40:
            raise DoubtError

    nest = rowed((LINE, RANGE), turn, ())
    calls = iter(range(60))
    nest(np.zeros(60), calls, contents=told(ZERO, UNKNOWN))
    assert next(calls) == 40
    for before in found:
        done = sum(one != 0 for one in before)
        assert before == [*(1.0 + i for i in range(done)), *[0.0] * (60 - done)]
    assert nest.saved_bytes > 0


HELD: dict[str, Callable[[Any], Any]] = {
    "a reference": lambda array: array,
    "a view": lambda array: array[1:],
    "a buffer": memoryview,
}


@pytest.mark.parametrize("how", HELD)
def test_an_array_that_others_hold(how: str) -> None:
    """What is said of an array that has another reference is not believed."""
    seen, held = Seen(), []

    def call(nest: Any) -> None:
        given = [numbers()]
        held[:] = [HELD[how](given[0])]
        nest(given.pop(), iter(range(9)), contents=told(ZERO, UNKNOWN))

    assert seen.undone(call) == VALUES.nbytes
    assert_same(seen.found[1], VALUES)
    assert len(held) == 1


@pytest.mark.parametrize(
    "other",
    [
        VALUES[:-1],
        VALUES.reshape(5, -1),
        np.arange(MANY),
        np.arange(2.0 * MANY)[::2],
        mapped(),
        VALUES.astype(">f8"),
        None,
    ],
    ids=["shorter", "of two axes", "int64", "strided", "mapped", "swapped", "none"],
)
def test_an_array_that_cannot_be_equal(other: Any) -> None:
    """What is said to equal something that is unlike it is saved."""
    seen, contents = Seen(), told(2, UNKNOWN)
    saved = seen.undone(lambda nest: nest(numbers(), iter(range(9)), other, contents=contents))
    assert_same(seen.found[1], VALUES)
    assert saved == VALUES.nbytes


PARTS = {
    "all": np.s_[:],
    "its last element": np.s_[-1:],
    "backwards": np.s_[::-1],
    "some": np.s_[3:9:2],
}


@pytest.mark.parametrize("part", PARTS)
def test_a_copy_of_what_is_written(part: str) -> None:
    """An array that equals one of which the nest writes a part is saved."""
    found: list[np.ndarray] = []

    def turn(state: State, number: int) -> None:
        if number == 0:
            found.append(state.arrays[0].copy())
        state.arrays[0][...] = 0.0
        state.arrays[1][...] = -1.0
        if number == 1:
            raise DoubtError

    source = numbers()
    for written in (source[PARTS[part]], np.zeros(MANY)):
        found.clear()
        for _ in range(50):
            nest = rowed((LINE, LINE, RANGE), turn, ())
            nest(numbers(), np.zeros(written.shape), iter(range(10, 90)))
            found.clear()
            before, given = nest.saved_bytes, iter(range(9))
            source[...] = VALUES
            nest(source.copy(), written, given, source, contents=told(3, UNKNOWN, UNKNOWN))
            if len(found) == 2:
                break
        assert_same(found[1], VALUES)
        assert next(given) == 1
        assert (written == -1.0).all()
        is_known = written.base is None
        assert nest.saved_bytes - before == written.nbytes + (0 if is_known else VALUES.nbytes)


@pytest.mark.parametrize(
    ("behind", "keywords"),
    [
        ((), {"contents": told(ZERO)}),
        ((), {"contents": "text"}),
        ((), {"contents": told(ZERO, UNKNOWN), "more": 1}),
        ((), {"other": told(ZERO, UNKNOWN)}),
        ((np.zeros(3),), {}),
    ],
)
def test_calls_that_say_nothing_known(behind: Any, keywords: Any) -> None:
    """Other keywords, and objects for no slot, are refused."""
    with pytest.raises(TypeError, match="takes an object for each"):
        rowed((LINE, RANGE), Seen(), ())(np.zeros(3), iter(range(3)), *behind, **keywords)


def test_no_leaks() -> None:
    """Calls that are told what is known keep no reference."""
    other = np.arange(50.0)
    before = sys.getrefcount(other)
    for _ in range(3):
        nest = rowed((LINE, RANGE), Seen(), ())
        nest(other.copy(), iter(range(9)), other, contents=told(2, UNKNOWN))
        del nest
        gc.collect()
        assert sys.getrefcount(other) == before

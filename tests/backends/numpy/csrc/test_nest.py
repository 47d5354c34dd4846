"""Loop nests: turns run natively as transactions, behind machine code that is Python here."""

from __future__ import annotations

import copy
import ctypes
import gc
import itertools
import mmap
import platform
import resource
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.nests.executed import (
    FLAGS,
    MATH,
    NATIVE,
    DoubtError,
    State,
    bits_of,
    native_nest,
    nest,
)
from tests.support.tiles import assert_same
from ufuse.backends.numpy import _tiles
from ufuse.graph.nest_types import MAP_AXES

pytestmark = pytest.mark.usefixtures("quiet")

RANGE = ("range",)
ARRAY = ("array", "d", 1, True)


def ignore(state: State, number: int) -> None:
    """A turn that does nothing."""


def running_sum(state: State, number: int) -> None:
    """Add an element to the carried number, and store the sum there."""
    state.numbers[0][0] += state.arrays[0][number]
    state.arrays[0][number] = state.numbers[0][0]


def same_iterator(found: Any, expected: Any) -> bool:
    """Whether two iterators of ranges are alike in all that can be seen of them."""
    return type(found) is type(expected) and found.__reduce__() == expected.__reduce__()


def advanced(numbers: range, turns: int) -> Any:
    """The iterator of a range behind so many turns."""
    iterator = iter(numbers)
    for _ in range(turns):
        next(iterator)
    return iterator


def test_turns_are_done() -> None:
    """All turns are done: memory, the carried number and the iterator are as behind the loop."""
    sums = nest((ARRAY, ("float", True), RANGE), running_sum)
    x = np.arange(10.0)
    iterator = iter(range(10))
    total = sums(x, 5.0, iterator)
    assert_same(x, np.cumsum(np.arange(10.0)) + 5.0)
    assert (type(total), total) == (float, 50.0)
    assert same_iterator(iterator, advanced(range(10), 10))
    assert (sums.runs, sums.turns, sums.doubts) == (1, 10, 0)


def test_no_outputs() -> None:
    """Where no number changes, a nest gives None: the iterator has moved."""
    cases: tuple[Any, ...] = (((), ()), ((("int", False),), (5,)), ((ARRAY,), (np.ones(3),)))
    for slots, given in cases:
        iterator = iter(range(3))
        assert nest((*slots, RANGE), ignore)(*given, iterator) is None
        assert same_iterator(iterator, advanced(range(3), 3))


NUMBERS = [
    0.0, -0.0, 1.5, float("nan"), 0, 255, -(2**63), 2**63 - 1, True, False,
    np.float64(2.5), np.float64("nan"), np.int64(-7), np.int64(2**63 - 1), np.True_, np.False_,
]  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: f"{type(value).__name__} {value}")
def test_numbers_come_back_as_they_are(value: Any) -> None:
    """A number that no turn changes is the object that was given."""
    kind = {"f": "float", "i": "int", "b": "bool"}[np.asarray(value).dtype.kind]
    assert nest(((kind, True), RANGE), ignore)(value, iter(range(4))) is value


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("float", 1.5, (2.5, np.float64(2.5))),
        ("int", 2**62, (2**62 + 1, np.int64(2**62 + 1))),
        ("int", -2, (-1, np.int64(-1))),
        ("bool", False, (True, np.True_)),
    ],
)
def test_numbers_come_back_as_their_cells_say(kind: str, value: Any, expected: Any) -> None:
    """A changed number is Python's or NumPy's by its second cell, whatever was given."""
    for is_numpy in (False, True):
        for given in (value, np.asarray(value)[()]):

            def turn(state: State, number: int, is_numpy: bool = is_numpy) -> None:
                if number == 0:
                    state.numbers[0] = [state.numbers[0][0] + 1, is_numpy]

            found = nest(((kind, True), RANGE), turn)(given, iter(range(4)))
            assert type(found) is type(expected[is_numpy])
            assert found == expected[is_numpy]


@pytest.mark.parametrize("value", [1.5, 3, True])
def test_only_the_type_of_a_number_changes(value: Any) -> None:
    """A number of the same value, but Python's instead of NumPy's or the reverse, is another object."""

    def turn(state: State, number: int) -> None:
        state.numbers[0][1] = not is_numpy

    kind, numpys = type(value).__name__, np.asarray(value)[()]
    for is_numpy in (False, True):
        given, other = (numpys, value) if is_numpy else (value, numpys)
        found = nest(((kind, True), RANGE), turn)(given, iter(range(2)))
        assert type(found) is type(other)
        assert found == other


def test_outputs_in_the_order_of_the_slots() -> None:
    """Changed numbers come in the order of their slots."""

    def turn(state: State, number: int) -> None:
        for carried in state.numbers:
            carried[0] += 1

    slots = (("int", True), RANGE, ("float", False), ("array", "l", 2, False), ("float", True))
    assert nest(slots, turn)(1, iter(range(7)), 2.0, np.ones((2, 3), int), 3.0) == (8, 10.0)


BIG = 2**63
RANGES = [
    range(2), range(3, 30, 7), range(10, -10, -3), range(-5, 5), range(BIG - 3, BIG - 1),
    range(-BIG, -BIG + 5), range(-BIG + 5, -BIG + 1, -1), range(0, BIG - 2**61, 2**61), range(0, -BIG + 1, -(2**61)),
    range(BIG - 1, -2, -(2**62)), range(-1, -BIG, -(2**62)), range(-BIG, 2**62, 2**62),
]  # fmt: skip


@pytest.mark.parametrize("numbers", RANGES, ids=str)
@pytest.mark.parametrize("passed", [0, 1])
def test_ranges(numbers: range, passed: int) -> None:
    """The turns are those of the range, from where its iterator stands; it moves by those that are done."""
    seen: list[int] = []

    def turn(state: State, number: int) -> None:
        if number == stop:
            raise DoubtError
        seen.append(number)

    for count in range(passed, min(len(numbers) + 1, 6)):
        seen.clear()
        stop = numbers[count] if count < len(numbers) else None
        iterator = advanced(numbers, passed)
        is_long = type(iterator) is not type(iter(range(1)))
        found = nest((RANGE,), turn)(iterator)
        assert (found is NotImplemented) == (count == passed or is_long)
        assert same_iterator(iterator, advanced(numbers, passed if is_long else count))
        assert same_iterator(copy.copy(iterator), iterator)
        assert list(dict.fromkeys(seen)) == ([] if is_long else list(numbers[passed:count]))
        assert list(iterator) == list(numbers[passed if is_long else count :])


def test_iterators_of_other_types_are_declined() -> None:
    """Iterators over larger numbers, over other things, exhausted ones and ranges themselves are declined."""
    calls: list[int] = []
    one = nest((RANGE,), ignore, calls)
    others = (
        range(5),
        iter([1, 2, 3]),
        iter(range(BIG, BIG + 5)),
        iter(range(0, BIG, 2**62)),
        None,
        3,
    )
    for iterator in (
        *others,
        iter(range(0)),
        iter(range(5, 0)),
        advanced(range(5), 5),
        reversed(range(BIG + 1)),
    ):
        assert one(iterator) is NotImplemented
    assert calls == []
    assert (one.runs, one.turns) == (0, 0)


class Float(float):
    """A subclass."""


class Whole(int):
    """A subclass."""


class Array(np.ndarray):
    """A subclass."""


def array_of(data: Any, dtype: Any = "d", **flags: bool) -> Any:
    """An array with flags set."""
    array = np.array(data, dtype)
    array.setflags(**flags)
    return array


def unaligned() -> Any:
    """Floats one byte off."""
    return np.zeros(33, np.uint8)[1:].view("d")


REFUSED: list[tuple[Any, Any]] = [
    (("float", False), 1), (("float", True), True), (("float", False), np.float32(1)), (("float", True), Float(1)),
    (("float", False), None), (("float", False), np.array(1.0)), (("float", False), np.longdouble(1)), (("float", True), "1"),
    (("int", False), 1.0), (("int", True), True), (("int", False), np.int32(1)), (("int", False), Whole(1)),
    (("int", False), 2**63), (("int", True), -(2**63) - 1), (("int", True), 10**30), (("int", False), np.uint64(1)),
    (("int", False), np.True_), (("int", False), np.longlong(1)), (("int", False), np.array(1)),
    (("bool", False), 1), (("bool", True), 0.0), (("bool", False), None), (("bool", True), np.int64(1)),
    (("array", "d", 1, False), [1.0]), (("array", "d", 1, False), np.ones(4, "f")), (("array", "d", 1, False), np.ones(4, ">d")),
    (("array", "d", 1, False), np.ones(4, int)), (("array", "d", 1, False), np.ones((4, 1))), (("array", "d", 1, False), np.array(1.0)),
    (("array", "d", 0, False), np.float64(1)), (("array", "d", 1, False), np.ones(4).view(Array)), (("array", "d", 1, False), unaligned()),
    (("array", "d", 1, True), unaligned()), (("array", "d", 1, True), array_of([1.0, 2.0], write=False)),
    (("array", "d", 1, True), np.broadcast_to(1.0, 4)), (("array", "d", 1, True), np.broadcast_arrays(np.ones(1), np.ones(4))[0]),
    (("array", "d", 1, True), np.frombuffer(bytearray(32))), (("array", "d", 1, True), np.frombuffer(bytearray(32))[1:]),
    (("array", "d", 1, True), np.frombuffer(mmap.mmap(-1, 64))), (("array", "l", 1, False), np.ones(4, "q")),
    (("array", "l", 1, False), np.ones(4, "i")), (("array", "l", 1, False), np.ones(4)), (("array", "l", 1, False), np.ones(4, "m8[s]")),
    (("array", "?", 1, False), np.ones(4, "b")), (("array", "?", 1, True), np.ones(4, "u1")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("slot", "given"), REFUSED, ids=[f"{a} {type(b).__name__}" for a, b in REFUSED]
)
def test_objects_that_are_declined(slot: Any, given: Any) -> None:
    """Objects of another type, dtype, layout or memory are declined, and nothing has run."""
    calls: list[int] = []
    for slots, objects in (
        ((slot, RANGE), (given, iter(range(5)))),
        ((RANGE, slot), (iter(range(5)), given)),
    ):
        assert nest(slots, ignore, calls)(*objects) is NotImplemented
    assert calls == []


def test_a_memory_map_is_not_written(tmp_path: Any) -> None:
    """What a file backs is read, but not written."""
    mapped = np.memmap(tmp_path / "file", "d", "w+", shape=8)
    for view in (
        mapped,
        np.asarray(mapped),
        np.asarray(mapped)[2:],
        np.asarray(mapped[2:]).reshape(-1),
    ):
        assert nest((ARRAY, RANGE), ignore)(view, iter(range(5))) is NotImplemented
    reading = nest((("array", "d", 1, False), RANGE), ignore)
    assert reading(np.asarray(mapped), iter(range(5))) is None


ACCEPTED = [
    np.ones(4)[::-1], np.ones(4)[1:3], np.ones((4, 3))[:, 1], np.ones((4, 3)).T[2], np.ones(0), np.ones(1),
    np.ones(4).view(Array).view(np.ndarray), np.ndarray(4, "d", np.zeros(5), 8), np.ones(4, np.dtype("d", metadata={"a": 1})),
]  # fmt: skip


@pytest.mark.parametrize("array", ACCEPTED, ids=range(len(ACCEPTED)))
def test_views_of_private_memory_are_written(array: Any) -> None:
    """Views of any layout of memory that NumPy allocated are taken, and written."""

    def turn(state: State, number: int) -> None:
        state.arrays[0][:] = np.arange(state.arrays[0].size) + number

    nest((ARRAY, RANGE), turn)(array, iter(range(5)))
    assert_same(array + 0.0, np.arange(array.size) + 4.0)


def layouts() -> list[tuple[str, Any]]:
    """Arrays to be saved and restored: names, and arrays of float64."""
    grid, block = np.arange(60.0).reshape(6, 10), np.arange(120.0).reshape(4, 5, 6)
    return [
        ("contiguous", np.arange(7.0)), ("every second", np.arange(20.0)[::2]), ("backwards", np.arange(20.0)[::-3]),
        ("grid", grid), ("transposed", grid.T), ("part", grid[1:5, 2:9:3]), ("part, turned", grid[::-2, ::-1].T),
        ("block", block.transpose(2, 0, 1)), ("block, part", block[:, ::-1, 1:5:2].swapaxes(0, 2)), ("number", np.array(2.0)),
        ("empty", np.ones((3, 0, 2))), ("ones", np.ones((1, 1, 4, 1))), ("repeated", np.ndarray((3, 5), "d", np.arange(5.0), 0, (0, 8))),
        ("overlapping", np.ndarray((8, 5), "d", np.arange(12.0), 0, (8, 8))), ("one of many", np.ones((5, 5))[2:3, ::2]),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "array"), layouts(), ids=[name for name, _ in layouts()])
def test_layouts_are_restored(name: str, array: Any) -> None:
    """A turn in doubt leaves every element as it was, and what lies between the elements too."""
    owner = array
    while owner.base is not None:
        owner = owner.base
    before = owner.copy()

    def turn(state: State, number: int) -> None:
        state.arrays[0][...] = -1.0 - number
        if number == 3:
            raise DoubtError

    slots = (("array", "d", array.ndim, True), RANGE)
    assert nest(slots, turn)(array, iter(range(3, 9))) is NotImplemented
    assert_same(owner, before)
    iterator = iter(range(9))
    assert nest(slots, turn)(array, iterator) is None
    assert same_iterator(iterator, advanced(range(9), 3))
    assert array.tolist() == np.full(array.shape, -3.0).tolist()


def test_any_layout_is_restored() -> None:
    """Random views of random arrays are restored, and nothing else is touched."""
    random = np.random.default_rng(0)

    def turn(state: State, number: int) -> None:
        state.arrays[0][...] = -1.0
        raise DoubtError

    for _ in range(300):
        axes = int(random.integers(0, 6))
        owner = random.normal(size=random.integers(1, [100, 100, 70, 12, 8, 5][axes], axes))
        before, view = owner.copy(), owner.transpose(random.permutation(axes))
        for axis in range(axes):
            low, high = sorted(random.integers(0, view.shape[axis] + 1, 2))
            key = [slice(None)] * axes
            key[axis] = slice(low, high)
            view = view[tuple(key)] if random.random() < 0.5 else view
            key[axis] = slice(None, None, random.choice([-3, -2, -1, 1, 2, 3]))
            view = view[tuple(key)]
        one = nest((("array", "d", axes, True), RANGE), turn)
        assert one(view, iter(range(5))) is NotImplemented
        assert_same(owner, before)


def test_what_lies_between_elements_is_not_touched() -> None:
    """Restoring a view leaves alone what another thread, without the GIL, may write beside it."""
    x = np.zeros(20)

    def turn(state: State, number: int) -> None:
        x[1] += 1.0
        state.arrays[0][0] = 5.0
        raise DoubtError

    assert nest((ARRAY, RANGE), turn)(x[::2], iter(range(3))) is NotImplemented
    assert x[:3].tolist() == [0.0, 1.0, 0.0]


def test_views_of_one_memory() -> None:
    """Views that overlap are written by one another's stores, and restored to what was there before all of them."""
    x = np.arange(12.0)

    def turn(state: State, number: int) -> None:
        forward, backward, grid = state.arrays
        forward[number] += 100.0
        backward[number] *= 2.0
        grid[number % 3, 0] -= 1.0
        if number == stop:
            raise DoubtError

    slots = (ARRAY, ARRAY, ("array", "d", 2, True), RANGE)
    for stop in range(9):
        expected, x[:] = np.arange(12.0), np.arange(12.0)
        turn_of = State(arrays=[expected[2:], expected[::-1], expected.reshape(3, 4)])
        for number in range(min(stop, 8)):
            turn(turn_of, number)
        found = nest(slots, turn)(x[2:], x[::-1], x.reshape(3, 4), iter(range(8)))
        assert_same(x, expected)
        assert (found is NotImplemented) == (stop == 0)


def test_bytes_of_bools_are_restored() -> None:
    """An element of a bool array may be any byte, and is that byte again."""
    x = np.array([0, 1, 2, 255], np.uint8).view(bool)

    def turn(state: State, number: int) -> None:
        state.arrays[0][:] = False
        raise DoubtError

    assert nest((("array", "?", 1, True), RANGE), turn)(x, iter(range(3))) is NotImplemented
    assert x.view(np.uint8).tolist() == [0, 1, 2, 255]


@pytest.mark.parametrize("odd", [*range(9)])
@pytest.mark.parametrize("how", ["doubt", *FLAGS])
def test_turns_before_the_odd_one_are_done(odd: int, how: str) -> None:
    """A doubt, or a flag, leaves exactly the turns before it, and the next call is declined."""

    def turn(state: State, number: int) -> None:
        running_sum(state, number)
        if number == odd and how == "doubt":
            raise DoubtError
        state.flags |= 0 if number != odd or how == "doubt" else FLAGS[how]

    sums, done, total = nest((ARRAY, ("float", True), RANGE), turn), 0, 1.0
    x, iterator = np.arange(9.0), iter(range(9))
    with np.errstate(all="warn"):
        if (found := sums(x, total, iterator)) is not NotImplemented:
            total, done = found, 9 - iterator.__length_hint__()
            expected = np.arange(9.0)
            expected[:done] = np.cumsum(expected[:done]) + 1.0
            assert_same(x, expected)
            assert total == 1.0 + sum(range(done))
            assert same_iterator(iterator, advanced(range(9), done))
            assert sums(x, total, iterator) is NotImplemented
    assert done == odd
    assert sums.turns == odd
    assert (sums.runs, sums.doubts) == (1, 1)


@pytest.mark.parametrize("how", ["doubt", "invalid"])
def test_odd_turns_that_are_far_apart_decline_one_call_each(how: str) -> None:
    """Behind each odd turn the nest goes on, and it is found in few runs."""
    runs: list[int] = []

    def turn(state: State, number: int) -> None:
        running_sum(state, number)
        if number % 300 == 299:
            state.flags |= FLAGS.get(how, 0)
            if how == "doubt":
                raise DoubtError

    sums, x, iterator = (
        nest((ARRAY, ("float", True), RANGE), turn, runs),
        np.ones(3000),
        iter(range(3000)),
    )
    total, odd = 0.0, []
    with np.errstate(all="warn"):
        while iterator.__length_hint__() > 0:
            if (found := sums(x, total, iterator)) is not NotImplemented:
                total = found
                continue
            odd.append(number := next(iterator))
            total += x[number]
            x[number] = total
    assert odd == list(range(299, 3000, 300))
    assert_same(x, np.cumsum(np.ones(3000)))
    assert sums.doubts == 10
    assert sums.turns == 2990
    assert len(runs) < 20 * 10


def test_few_turns_are_done_again_before_an_odd_one() -> None:
    """Once it is known how many turns lie between odd ones chunks are short, where one may come."""
    done = 0

    def turn(state: State, number: int) -> None:
        nonlocal done
        done += 1
        state.numbers[0][0] += 1.0
        if number % 400 == 399:
            raise DoubtError

    counted = nest((("float", True), RANGE), turn)
    counted.budget = 1e6
    iterator, total = iter(range(8000)), 0.0
    while iterator.__length_hint__():
        found = counted(total, iterator)
        if found is NotImplemented:
            next(iterator)
            found = total + 1.0
        total = found
    assert total == 8000.0
    assert counted.doubts == 20
    assert done < 1.3 * 8000


def test_flags_in_turns_one_behind_the_other() -> None:
    """Turns that all raise flags are left to plain Python."""

    def turn(state: State, number: int) -> None:
        state.flags |= FLAGS["invalid"] if number > 100 else 0

    one, iterator = nest((RANGE,), turn), iter(range(10_000))
    with np.errstate(all="warn"):
        while iterator.__length_hint__() > 0:
            if one(iterator) is NotImplemented:
                next(iterator)
    assert one.turns == 101
    assert one.runs < 12


@pytest.mark.parametrize("name", FLAGS)
def test_ignored_flags_are_no_doubts(name: str) -> None:
    """A flag counts unless the current error state ignores it."""

    def turn(state: State, number: int) -> None:
        state.flags |= FLAGS[name]

    for mode in ("ignore", "warn", "raise", "print", "log"):
        with np.errstate(all="ignore", **{name: mode}):  # type: ignore[call-overload]
            found = nest((RANGE,), turn)(iter(range(4)))
        assert (found is NotImplemented) == (mode != "ignore")
        others = {other: "raise" for other in FLAGS if other != name}
        with np.errstate(all="ignore", **others):  # type: ignore[call-overload]
            assert nest((RANGE,), turn)(iter(range(4))) is not NotImplemented


def test_flags_of_the_thread_stay() -> None:
    """Flags that were raised before a call are raised behind it, no others, and none of them is a doubt."""

    def turn(state: State, number: int) -> None:
        state.flags |= during

    MATH.feclearexcept(61)
    try:
        one, iterator = nest((RANGE,), ignore), iter(range(4))
        with np.errstate(all="raise"):
            MATH.feraiseexcept(61)
            found = one(iterator)
            MATH.feclearexcept(61)
        assert found is None
        for before, during in itertools.product((0, 1, 4, 16, 32, 61), repeat=2):  # noqa: B007 - turn() reads it
            one = nest((RANGE,), turn)
            iterator = iter(range(4))
            MATH.feraiseexcept(before)
            found = one(iterator)
            after = MATH.fetestexcept(61)
            MATH.feclearexcept(61)
            assert after & ~32 == before & ~32
            assert found is not NotImplemented
    finally:
        MATH.feclearexcept(61)


def test_calls_for_nothing_are_followed_by_declined_ones() -> None:
    """Where calls' first turns are odd 3 are declined behind the second one, 15 behind the third, until one does much."""
    calls: list[int] = []

    def turn(state: State, number: int) -> None:
        if odd:
            raise DoubtError

    one, odd = nest((RANGE,), turn, calls), True
    for declined in (0, 3, 15, 63):
        assert one(iter(range(5))) is NotImplemented
        before = len(calls)
        for _ in range(declined):
            assert one(iter(range(5))) is NotImplemented
        assert len(calls) == before
    odd = False
    assert one(iter(range(500))) is not NotImplemented
    odd = True
    assert one(iter(range(5))) is NotImplemented
    odd = False
    assert one(iter(range(5))) is not NotImplemented


def test_long_loops_come_back() -> None:
    """A call ends after some milliseconds, wherever the loop is then, and the next goes on from there."""

    def turn(state: State, number: int) -> None:
        state.numbers[0][0] += 1
        time.sleep(0.001)

    one, count, iterator, calls = nest((("int", True), RANGE), turn), 0, iter(range(100)), 0
    one.budget = 0.010
    while iterator.__length_hint__() > 0:
        start = time.perf_counter()
        count = one(count, iterator)
        assert time.perf_counter() - start < 0.5
        calls += 1
        assert same_iterator(iterator, advanced(range(100), count))
    assert 3 < calls <= 100


def test_the_first_turn_of_larger_loops_is_alone() -> None:
    """How long turns take is measured again where the bounds of inner loops may be larger; else several are done."""
    alone = {(10, 10, 1), (1000, 10, 3), (1000, 10**6, 5)}
    for _ in range(20):  # on a busy machine turns may seem long
        calls: list[int] = []
        one = nest((("int", False), ("array", "d", 1, False), RANGE), ignore, calls)
        first = {}
        for bound, size in ((10, 10), (10, 10), (1000, 10), (1000, 10), (1000, 10**6), (10, 10)):
            calls.clear()
            assert one(bound, np.ones(size), iter(range(4))) is None
            first[bound, size, one.runs] = calls[0]
        assert all(first[key] == 1 for key in alone)
        if all(turns > 1 for key, turns in first.items() if key not in alone):
            return
    raise AssertionError(first)


def test_memory_that_is_not_worth_saving() -> None:
    """A few turns of a loop that writes a large array are left to Python; so is any of a huge one."""
    x = np.zeros(10**6)
    one = nest((ARRAY, RANGE), ignore)
    assert one(x, iter(range(3))) is NotImplemented
    assert one(x, iter(range(10**3))) is None
    assert nest((ARRAY, RANGE), ignore)(np.zeros(2**27 + 1), iter(range(10**9))) is NotImplemented
    assert nest((("array", "d", 1, False), RANGE), ignore)(x, iter(range(3))) is None


def test_saving_may_take_as_long_as_what_was_declined() -> None:
    """Else a loop of a few long turns over a large array would be declined for ever."""
    x, one = np.zeros(10**6), nest((ARRAY, RANGE), ignore)
    assert one(x, iter(range(3))) is NotImplemented
    time.sleep(0.01)
    assert one(x, iter(range(2))) is None


def test_short_loops_of_medium_arrays_are_left_to_python() -> None:
    """Once turns are known to be short, a few of them are not worth a copy of 200 kB; many are."""
    sums, x = machine_sums(), np.zeros(25_000)
    sums.budget = 1e6
    for _ in range(50):  # on a busy machine turns may seem long
        assert sums(x, 1.0, 0, iter(range(20_000))) == (1.0, -20_000)
        found = sums(x * 0.0, 1.0, 0, iter(range(3)))
        if found is NotImplemented:
            break
        assert found == (1.0, -3)
        x[:] = 0.0
    assert found is NotImplemented


def lying(change: Any) -> Any:
    """A nest whose machine code stores one into its array, does a turn, and then changes its cells."""

    @NATIVE  # type: ignore[untyped-decorator]
    def function(words: Any, cells: Any, _: int) -> int:
        cells[0], cells[2], cells[3] = cells[0] + cells[1], cells[2] - 1, cells[3] - 1
        return int(change(cells) or 0)

    return native_nest(function, (RANGE, ARRAY))


def test_machine_code_is_not_believed() -> None:
    """Cells that cannot be are a doubt."""

    def put(at: int, value: int, verdict: int = 0) -> Any:
        def change(cells: Any) -> int:
            cells[at] = value
            return verdict

        return change

    good = lying(lambda cells: 0)
    assert good(iter(range(4)), np.ones(3)) is not NotImplemented
    for at, value in (
        (0, 2),
        (1, 3),
        (2, 2),
        (3, 1),
        (3, -1),
        (3, 2**40),
        (2, -5),
        (3, -(2**63)),
        (0, 2**63 - 1),
    ):
        for verdict in (0, 1):
            one = lying(put(at, value, verdict))
            assert one(iter(range(4)), np.ones(3)) is NotImplemented
            assert one.doubts == 1


def test_references() -> None:
    """A call holds nothing when it is over, however it ends."""

    def turn(state: State, number: int) -> None:
        state.numbers[0][0] += 1.0
        state.numbers[1][0] += 1
        if number == stop:
            raise DoubtError

    x, value, iterator = np.arange(5.0), 1234.5, iter(range(2**40))
    given = (x, value, iterator)
    before = [sys.getrefcount(one) for one in given]
    for ahead in (0, 3, 9):
        stop = 2**40 - iterator.__length_hint__() + ahead
        one = nest((ARRAY, ("float", True), ("int", True), RANGE), turn)
        found = one(x, value, 10**10, iterator)
        assert [sys.getrefcount(one) for one in given] == before
        if found is not NotImplemented:
            total, count = found
            del found
            alone = object()
            assert sys.getrefcount(total) == sys.getrefcount(count) == sys.getrefcount(alone)
            del total, count
        assert one(x, value, 5, 5) is NotImplemented
        assert [sys.getrefcount(one) for one in given] == before


def test_garbage_is_collected() -> None:
    """A nest and what owns its machine code may be a cycle; once it is torn, the nest declines."""

    class Owner:
        nest: Any = None

        def __del__(self) -> None:
            told.append(self.nest(iter(range(5))))

    told: list[Any] = []
    function = NATIVE(lambda words, cells, unused: 1)
    address = int.from_bytes(function, sys.byteorder)
    owner = Owner()
    owner.nest = _tiles.Nest(address, owner, (RANGE,))
    died = weakref.ref(owner)
    del owner
    gc.collect()
    assert died() is None
    assert told == [NotImplemented]


# Running sums of an array in itself, as gcc -Os makes it: slots are the array, a float, an int that counts down, the range.
SUMS = (
    "4c8b46304c8b17f20f1006488b5610488b7e204c8b5e284c89c0488b4e384885c07e1e4885c97e194d8d0cfa48ffc84c01df48ffc9"
    "f2410f5801f2410f1101ebdd4c29c2488946304801c248897e2031c04889561048894e38f20f1106c3"
)


def machine_sums() -> Any:
    """The nest of SUMS, in memory that may be executed."""
    if platform.machine() != "x86_64":
        pytest.skip("the code is for x86-64")
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(SUMS))
    start = ctypes.c_char.from_buffer(memory)
    slots = (ARRAY, ("float", True), ("int", True), RANGE)
    return _tiles.Nest(ctypes.addressof(start), (memory, start), slots)


def test_machine_code() -> None:
    """Code without any Python in it does the same, in as many chunks as it takes."""
    sums, x, iterator = machine_sums(), np.ones(10**6), iter(range(10**6))
    total, count = 1.0, 10**12
    while iterator.__length_hint__() > 0:
        total, count = sums(x, total, count, iterator)
    assert_same(x, np.arange(10.0**6) + 2.0)
    assert (total, count) == (10**6 + 1.0, 10**12 - 10**6)


@pytest.mark.parametrize("size", [1, 2, 400])
def test_no_memory_for_numbers(size: int) -> None:
    """Whatever allocation fails: nothing was done, or some turns, and all outputs are theirs."""
    testing = pytest.importorskip("_testcapi")
    x, ends = np.empty(size), set()
    for failing in range(8):
        sums, iterator = machine_sums(), iter(range(size))
        sums.budget = 1e6
        x[:] = 1.0
        given = (x, np.float64(1000.5), 10**12, iterator)
        testing.set_nomemory(failing, failing + 1)
        try:
            found = sums(*given)
        finally:
            testing.remove_mem_hooks()
        done = size - iterator.__length_hint__()
        ends.add(done)
        if found is not NotImplemented:
            assert found == (1000.5 + done, 10**12 - done)
            assert type(found[0]) is np.float64
        assert (found is NotImplemented) == (done == 0)
        assert_same(x, np.concatenate([np.arange(done) + 1001.5, np.ones(size - done)]))
        assert same_iterator(iterator, advanced(range(size), done))
    assert ends >= {0, min(1, size), size}  # there are more chunks where the first takes long


def test_no_memory_for_the_second_number() -> None:
    """Numbers made before the one for which there is no memory are freed."""
    testing = pytest.importorskip("_testcapi")
    nests, given = (
        [machine_sums() for _ in range(50)],
        (np.ones(5), np.float64(1), 10**12, iter(range(5))),
    )
    blocks = sys.getallocatedblocks()
    for one in nests:
        testing.set_nomemory(1, 2)
        try:
            found = one(*given)
        finally:
            testing.remove_mem_hooks()
        assert found is NotImplemented
    assert sys.getallocatedblocks() - blocks < 25


def test_no_memory_for_a_tuple() -> None:
    """Where the tuple of the outputs cannot be made, a nest declines."""
    testing = pytest.importorskip("_testcapi")
    one, given = nest((*[("int", True)] * 50, RANGE), ignore), (*range(50), iter(range(5)))
    testing.set_nomemory(0, 1)
    try:
        found = one(*given)
    finally:
        testing.remove_mem_hooks()
    assert found is NotImplemented
    assert one(*given) == tuple(range(50))


def test_no_memory_to_save() -> None:
    """Where what is to be written cannot be saved, a nest declines."""
    calls: list[int] = []
    x, one = np.zeros(2**26), nest((ARRAY, RANGE), ignore, calls)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * mmap.PAGESIZE + 2**27, before[1]))
    try:
        found = one(x, iter(range(10**5)))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert found is NotImplemented
    assert calls == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((0, None, (RANGE,)), ValueError),
        ((-(2**64), None, (RANGE,)), OverflowError),
        (("1", None, (RANGE,)), TypeError),
        ((1, None, [RANGE]), TypeError),
        ((1, None), TypeError),
        ((1, None, ()), ValueError),
        ((1, None, (("list", "float", False, -1),)), ValueError),
        ((1, None, (RANGE, ("list", "complex", False, -1))), ValueError),
        ((1, None, (RANGE, ("list", "float", False, 0))), ValueError),
        ((1, None, (("count",), ("list", "float", False, 0))), ValueError),
        ((1, None, (RANGE, ("list", "float", False, 2))), ValueError),
        ((1, None, (RANGE, ("list", "float", False))), TypeError),
        ((1, None, (RANGE, 3)), ValueError),
        ((1, None, (RANGE, ())), ValueError),
        ((1, None, (RANGE, (3,))), ValueError),
        ((1, None, (RANGE, ("complex64", True))), ValueError),
        ((1, None, (RANGE, ("float",))), ValueError),
        ((1, None, (("range", True),)), ValueError),
        ((1, None, (RANGE, ("array", "F", 1, True))), ValueError),
        ((1, None, (RANGE, ("array", "dd", 1, True))), ValueError),
        ((1, None, (RANGE, ("array", "", 1, True))), ValueError),
        ((1, None, (RANGE, ("array", "\ud800", 1, True))), UnicodeEncodeError),
        ((1, None, (RANGE, ("array", "d", 1, True, True, True, True))), TypeError),
        ((1, None, (RANGE,), [("d", 1)]), TypeError),
        ((1, None, (RANGE,), (("d", 1), 3)), TypeError),
        ((1, None, (RANGE,), (("d",),)), TypeError),
        ((1, None, (RANGE,), (("F", 1),)), ValueError),
        ((1, None, (RANGE,), (("d", MAP_AXES + 1),)), ValueError),
        ((1, None, (RANGE,), (("d", -1),)), ValueError),
        ((1, None, (RANGE,), (("d", 1),) * 1025), ValueError),
        ((1, None, (RANGE,), (), -1), ValueError),
        ((1, None, (RANGE,), (), 1025), ValueError),
        ((1, None, (RANGE, ("array", "d", -1, True))), ValueError),
        ((1, None, (RANGE, ("array", "d", 33, True))), ValueError),
        ((1, None, (RANGE, ("array", "d", 1))), TypeError),
        ((1, None, (RANGE, ("array", 1, 1, True))), TypeError),
        ((1, None, (RANGE, *[("float", True)] * 128)), ValueError),
    ],
)
def test_slots_that_cannot_be(arguments: Any, error: type[Exception]) -> None:
    """A nest is not made of wrong slots or without an address."""
    with pytest.raises(error):
        _tiles.Nest(*arguments)


def test_calls_that_cannot_be() -> None:
    """A nest is called with one object for each slot, by position."""
    one = nest((RANGE,), ignore)
    for arguments, keywords in (((), {}), ((iter(range(3)),) * 2, {}), ((), {"range": 3})):
        with pytest.raises(TypeError, match="an object for each"):
            one(*arguments, **keywords)


@pytest.mark.leaks
def test_no_leaks() -> None:
    """Many calls, of every end, leave neither references nor memory."""

    def turn(state: State, number: int) -> None:
        state.numbers[0][0] += 1.0
        if number == stop:
            raise DoubtError

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])

    x, stop, nothing = np.arange(100_000.0)[::2], 0, nest((RANGE,), ignore)

    def calls(count: int) -> None:
        nonlocal stop
        for i in range(count):
            one = nest((ARRAY, ("float", True), RANGE), turn)
            for stop in (i % 7, 2, 100):  # noqa: B007 - turn() reads it
                one(x, 1.5, iter(range(12)))
                one(x, None, iter(range(12)))
                nothing(iter(range(2)))

    calls(400)
    watched = (x, None, NotImplemented)
    gc.collect()
    before, references = resident(), [sys.getrefcount(one) for one in watched]
    blocks = sys.getallocatedblocks()
    calls(500)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 250
    assert resident() - before < 200
    for one, count in zip(watched, references, strict=True):
        assert abs(sys.getrefcount(one) - count) < 500


WHOLE = (("array", "d", 1, False), ("result", ("int", "float")), ("result", ("array",)), ("once",))


def whole_call(kind: int, array: int, slots: tuple[Any, ...] = WHOLE) -> Any:
    """A nest of a whole call that gives the number 2 of a kind, and an array."""

    @NATIVE  # type: ignore[untyped-decorator]
    def code(_: Any, cells: Any, __: Any) -> int:
        cells[0], cells[1], cells[2], cells[3] = kind, 2, bits_of(2.0), array
        cells[4], cells[6], cells[7] = 1, 0, cells[7] - 1
        return 0

    return native_nest(code, slots)


@pytest.mark.parametrize(
    ("kind", "expected"), [(0, 2), (1, np.int64(2)), (2, 2.0), (3, np.float64(2))]
)
def test_results_of_whole_calls(kind: int, expected: Any) -> None:
    """No object comes for them; the first cell says of which kind a number is."""
    x = np.ones(3)
    found, array = whole_call(kind, 0)(x)
    assert (type(found), found) == (type(expected), expected)
    assert array is x


def test_an_array_that_a_way_of_a_whole_call_does_not_give_is_none() -> None:
    """Its cell is what it was before."""
    assert whole_call(0, -1)(np.ones(3)) == (2, None)


@pytest.mark.parametrize(("kind", "array"), [(4, 0), (-1, 0), (0, 1), (0, -2)])
def test_odd_results_of_whole_calls(kind: int, array: int) -> None:
    """What machine code says is never believed blindly."""
    assert whole_call(kind, array)(np.ones(3)) is NotImplemented


@pytest.mark.parametrize(
    "slots",
    [
        (*WHOLE[1:], WHOLE[0]),
        (*WHOLE[:3], RANGE),
        (*WHOLE, RANGE),
        (("result", ()), ("once",)),
        (("result", ("array", "int")), ("once",)),
        (("result", ("int", "text")), ("once",)),
        (("result", ("int",) * 5), ("once",)),
        (("result", (1,)), ("once",)),
        (("array", "d", 1, True, True), *WHOLE[1:]),
    ],
)
def test_slots_of_whole_calls(slots: tuple[Any, ...]) -> None:
    """Results come last, in a nest whose only turn is a call, and whose array variables are its own."""
    with pytest.raises(ValueError, match=r"result|object"):
        whole_call(0, 0, slots)

"""Nests of whole arrays: temporaries, array variables that are bound again, what machine code calls."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.support.nests.executed import (
    FLAGS,
    GROW,
    HELPERS,
    MATH,
    DoubtError,
    Own,
    State,
    nest,
    own_array,
)
from tests.support.tiles import assert_same
from ufuse.backends.numpy import _tiles
from ufuse.graph.nest_types import MAP_AXES

pytestmark = pytest.mark.usefixtures("quiet")

RANGE = ("range",)
REBOUND = ("array", "d", 1, True, True)
LONG = ctypes.c_int64
FOLD = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, LONG, LONG
)(HELPERS["fold"])
LOOP = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, LONG, ctypes.c_void_p)(
    HELPERS["loop"]
)
DOT = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, LONG, ctypes.c_void_p, LONG, LONG
)


def swap(state: State, number: int) -> None:
    """`a[0] += 1; a, b = b, a` where the variable that is `a` when the nest begins is the first."""
    arrays = state.arrays
    arrays[state.rebound[0]][0] += 1
    state.rebound.reverse()


def step(state: State, number: int) -> None:
    """`a = a + 1`: what `a` is lies in one temporary, then in the other."""
    now = state.rebound[0]
    values = state.arrays[0] if now == 0 else own_array(state.memory, now - 1, "d", 3)
    own_array(state.memory, 1 if now == 1 else 0, "d", 3)[...] = values + 1
    state.rebound[0] = 2 if now == 1 else 1


TWO = (("d", 1), ("d", 1))


@pytest.mark.parametrize("turns", range(1, 6))
@pytest.mark.parametrize("at_a_time", [1, 2, 3, 9])
def test_arrays_change_places(turns: int, at_a_time: int) -> None:
    """Two variables that are swapped in each turn: the objects that were given come back."""
    a, b = np.zeros(3), np.zeros(4)
    one, iterator, given = nest((REBOUND, REBOUND, RANGE), swap), iter(range(turns)), (a, b)
    one.budget = 1e6 if at_a_time == 9 else 0
    while iterator.__length_hint__() > 0:
        given = one(*given, iterator)
    assert given[turns % 2] is a
    assert given[1 - turns % 2] is b
    assert (a[0], b[0]) == ((turns + 1) // 2, turns // 2)


@pytest.mark.parametrize("budget", [0, 1e6])
def test_a_variable_becomes_a_temporary(budget: float) -> None:
    """An array that the loop made is a new one of NumPy's, whatever chunks there were; the one given is untouched."""
    calls: list[int] = []
    a, one, iterator = np.arange(3.0), nest((REBOUND, RANGE), step, calls, TWO), iter(range(50))
    one.budget, given = budget, a
    while iterator.__length_hint__() > 0:
        given = one(given, iterator)
        assert type(given) is np.ndarray
        assert given.flags.owndata
        assert given.flags.writeable
        assert given.flags.c_contiguous
    assert_same(given, np.arange(3.0) + 50)
    assert_same(a, np.arange(3.0))
    assert calls[0] == 1


def test_several_chunks_in_a_call() -> None:
    """What a variable became in a chunk is what the next begins with."""
    calls: list[int] = []
    one = nest((REBOUND, REBOUND, ("float", True), RANGE), both, calls, TWO)
    for _ in range(20):
        calls.clear()
        a, b, total = one(np.arange(3.0), np.zeros(3), 0.0, iter(range(2000)))
        assert_same(a, np.arange(3.0) + 2000)
        assert_same(b, np.arange(3.0) + 1999)
        assert total == 2000.0
        if len(calls) > 1:
            return
    raise AssertionError(calls)


def both(state: State, number: int) -> None:
    """`a, b = a + 1, a; total += 1`."""
    a = state.rebound[0]
    values = state.arrays[a] if a < 2 else own_array(state.memory, a - 2, "d", 3)
    free = next(one for one in (2, 3) if one != a)
    own_array(state.memory, free - 2, "d", 3)[...] = values + 1
    state.rebound[:] = [free, a]
    state.numbers[0][0] += 1


@pytest.mark.parametrize("odd", range(6))
def test_turns_in_doubt_are_undone(odd: int) -> None:
    """Where a turn is in doubt, variables are what they were before it."""

    def turn(state: State, number: int) -> None:
        both(state, number)
        own_array(state.memory, 0, "d", 3)
        if number == odd:
            own_array(state.memory, 0, "d", 3)[...] = 77
            own_array(state.memory, 1, "d", 3)[...] = 77
            raise DoubtError

    def simple(state: State, number: int) -> None:
        step(state, number)
        if number == odd:
            for one in (0, 1):
                own_array(state.memory, one, "d", 3)[...] = 77
            raise DoubtError

    for function, slots in (
        (simple, (REBOUND, RANGE)),
        (turn, (REBOUND, REBOUND, ("float", True), RANGE)),
    ):
        iterator = iter(range(6))
        given = (np.arange(3.0), np.zeros(3), 0.0)[: len(slots) - 1]
        found = nest(slots, function, None, TWO)(*given, iterator)
        assert iterator.__length_hint__() == 6 - odd
        if odd == 0:
            assert found is NotImplemented
        else:
            first = found if len(slots) == 2 else found[0]
            assert_same(first, np.arange(3.0) + odd)
        assert_same(given[0], np.arange(3.0))


def test_one_temporary_in_two_variables_is_one_object() -> None:
    """`b = a` behind `a = a + 1`: both are the same array."""
    a = np.arange(3.0)

    def whole(state: State, number: int) -> None:
        own_array(state.memory, 1, "d", 3)[...] = number
        state.rebound[:] = [4, 4, 0]

    slots, temporaries = (REBOUND, REBOUND, REBOUND, RANGE), (("i", 2), ("d", 1))
    x, y, z = nest(slots, whole, None, temporaries)(a, a, a, iter(range(1)))
    assert x is y
    assert z is a
    assert_same(x, np.zeros(3))


@pytest.mark.parametrize("character", "?bBhHiIlLqQfd")
def test_dtypes_and_lengths(character: str) -> None:
    """A temporary of any dtype that arrays of nests have and of any number of axes, empty ones too."""
    for lengths in ((), (0,), (5,), (2, 3), (2, 0, 2), (2, 1, 3, 2, 1, 2)[:MAP_AXES]):
        dtype = np.dtype(character)

        def turn(state: State, number: int, lengths: Any = lengths, dtype: Any = dtype) -> None:
            one = state.memory[0]
            count = int(np.prod(lengths))
            assert GROW(ctypes.byref(one), count * dtype.itemsize) == 0
            one.length[: len(lengths)] = lengths
            data = np.arange(count).astype(dtype).tobytes()
            ctypes.memmove(one.data, data, len(data))
            state.rebound[0] = 1

        slots = (("array", "d", 1, False, True), RANGE)
        found = nest(slots, turn, None, ((character, len(lengths)),))(np.ones(3), iter(range(1)))
        assert_same(found, np.arange(int(np.prod(lengths))).astype(dtype).reshape(lengths))
        assert found.dtype.char == character


def test_a_variable_of_another_kind_ends_the_call() -> None:
    """A variable that is no longer what its slot says is given back; the next call begins with what is there."""

    def turn(state: State, number: int) -> None:
        own_array(state.memory, 0, "i", 2, 2)[...] = number
        state.rebound[0] = 1

    calls: list[int] = []
    one = nest((REBOUND, RANGE), turn, calls, (("i", 2),))
    iterator = iter(range(5))
    found = one(np.ones(3), iterator)
    assert calls == [1]
    assert_same(found, np.zeros((2, 2), np.int32))
    assert one(found, iterator) is NotImplemented
    assert iterator.__length_hint__() == 4


def test_numbers_of_arrays_are_not_believed() -> None:
    """No array has the number, or the lengths of the temporary do not fit its memory: nothing was done."""
    cases: tuple[tuple[int, tuple[int, ...]], ...] = (
        (-1, (1, 1)),
        (2, (1, 1)),
        (-(2**63), (1, 1)),
        (2**63 - 1, (1, 1)),
        (1, (3, 3)),
        (1, (-1, 0)),
        (1, (2**62, 2**62)),
        (1, (2**62, 0)),
        (1, (2**61, 8)),
    )
    for number, lengths in cases:

        def turn(state: State, index: int, number: int = number, lengths: Any = lengths) -> None:
            state.arrays[0][0] = 7
            assert GROW(ctypes.byref(state.memory[0]), 64) == 0
            state.memory[0].length[:2] = lengths
            state.rebound[0] = number

        a, iterator = np.zeros(3), iter(range(3))
        assert nest((REBOUND, RANGE), turn, None, (("d", 2),))(a, iterator) is NotImplemented
        assert_same(a, np.zeros(3))
        assert iterator.__length_hint__() == 3


def test_memory_grows_and_is_kept() -> None:
    """Memory that is asked for is aligned, as much as was asked for, and there again as long as it is small."""
    seen: list[tuple[int, int]] = []

    def turn(state: State, number: int) -> None:
        for scratch in range(3):
            one = state.memory[scratch]
            assert GROW(ctypes.byref(one), size) == 0
            assert one.capacity >= size
            assert one.data % 64 == 0
            ctypes.memset(one.data, 1, size)
        one = state.memory[0]
        assert GROW(ctypes.byref(one), 0) == 0
        assert GROW(ctypes.byref(one), -5) == -1
        if not number:
            seen.append((one.data, one.capacity))

    one = nest((RANGE,), turn, None, (), 3)
    for size in (100, 90, 16_000, 200, 10**7, 100):  # noqa: B007 - turn() reads it
        assert one(iter(range(3))) is None
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert [capacity for _, capacity in seen[-2:]] == [10**7, 100]


def test_memory_that_there_is_not() -> None:
    """No memory for what is asked for: the old is gone, and no exception set."""
    one = Own()
    assert GROW(ctypes.byref(one), 100) == 0
    assert GROW(ctypes.byref(one), 2**62) == -1
    assert (one.data, one.capacity) == (None, 0)
    assert GROW(ctypes.byref(one), 10) == 0
    nest((RANGE,), lambda state, number: None)


def test_references_of_arrays() -> None:
    """A call holds no array when it is over; what it made is the caller's alone."""
    a, b = np.zeros(3), np.zeros(3)
    before = [sys.getrefcount(one) for one in (a, b)]
    swaps, steps = nest((REBOUND, REBOUND, RANGE), swap), nest((REBOUND, RANGE), step, None, TWO)
    for turns in (1, 2, 5):
        found = swaps(a, b, iter(range(turns)))
        del found
        assert [sys.getrefcount(one) for one in (a, b)] == before
        found = steps(a, iter(range(turns)))
        alone = object()
        assert sys.getrefcount(found) == sys.getrefcount(alone)
        del found
        assert [sys.getrefcount(one) for one in (a, b)] == before


# Machine code of the helpers.


def vectors(character: str) -> Iterator[np.ndarray]:
    """Vectors of many lengths and layouts."""
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 3, 7, 8, 9, 127, 128, 129, 300, 1000, 5000):
        for stride in (1, 2, -1, -3, 0):
            memory = rng.standard_normal(max(1, count * max(1, abs(stride))))
            memory *= rng.choice([1.0, 1e300, -0.0, 1e-310])
            if character == "l":
                memory = rng.integers(-(2**62), 2**62, memory.size)
            whole = memory if stride else np.broadcast_to(memory[:1], (count,))
            yield whole[:: stride or 1][:count]


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("character", "dl")
def test_folds(name: str, character: str) -> None:
    """What `reduce` gives, to the bit, and its flags; nothing is in doubt but the largest of no element."""
    ufunc, dtype = getattr(np, name), np.dtype(character)
    loop = _tiles.numpy_loop(ufunc, (dtype,) * 3)
    for items in vectors(character):
        result = np.full(1, 77, dtype)
        MATH.feclearexcept(61)
        doubt = FOLD(id(loop), result.ctypes.data, items.ctypes.data, items.strides[0], items.size)
        raised = MATH.fetestexcept(61)
        MATH.feclearexcept(61)
        if not items.size and name in ("maximum", "minimum"):
            assert doubt == 1
            continue
        flags: set[str] = set()
        with np.errstate(all="call", call=lambda kind, _, flags=flags: flags.add(kind.split()[0])):
            expected = ufunc.reduce(items)
        assert doubt == 0
        assert result[0].tobytes() == expected.tobytes()
        assert {kind for kind, bit in FLAGS.items() if raised & bit} == {
            {"overflow": "over", "underflow": "under"}.get(kind, kind) for kind in flags
        }


@pytest.mark.parametrize("name", ["logical_or", "logical_and", "maximum", "minimum"])
def test_folds_of_bools(name: str) -> None:
    """`any` and `all` of bools."""
    loop = _tiles.numpy_loop(getattr(np, name), (np.dtype(bool),) * 3)
    for items in (np.ones(3, bool), np.zeros(9, bool), np.arange(40) == 7, np.arange(40) != 7):
        result = np.empty(1, bool)
        assert FOLD(id(loop), result.ctypes.data, items.ctypes.data, 1, items.size) == 0
        assert result[0] == getattr(np, name).reduce(items)


@pytest.mark.parametrize("name", ["dot", "matmul"])
@pytest.mark.parametrize("character", "dflLiIhHbB")
def test_products(name: str, character: str) -> None:
    """Products of vectors of all layouts are NumPy's, to the bit."""
    function = DOT(HELPERS[f"{name}.{character}"])
    rng = np.random.default_rng(1)
    for count in (0, 1, 2, 3, 8, 17, 33, 100, 1000):
        for left_stride in (1, 2, -1, -2, 0):
            for right_stride in (1, 3, -1, 0):
                pair = []
                for stride in (left_stride, right_stride):
                    memory = rng.standard_normal(max(1, count) * max(1, abs(stride)))
                    if character == "f":
                        memory = memory.astype("f")
                    elif character != "d":
                        memory = rng.integers(-(2**62), 2**62, memory.size).astype(character)
                    elif count == 1:
                        memory[0] = rng.choice([-0.0, 0.0, 1.5])
                    whole = memory if stride else np.broadcast_to(memory[:1], (max(count, 1),))
                    pair.append(whole[:: stride or 1][:count])
                left, right = pair
                result = np.empty(1, character)
                data = result.ctypes.data
                sides = [(one.ctypes.data, one.strides[0]) for one in (left, right)]
                assert function(data, *sides[0], *sides[1], count) == 0
                assert result[0].tobytes() == getattr(np, name)(left, right).tobytes()


def test_flags_of_products() -> None:
    """They are kept: NumPy looks at them."""
    big, result = np.full(20, 1e300), np.empty(1)
    for name in ("dot.d", "matmul.d"):
        for count in (1, 20):
            MATH.feclearexcept(61)
            data = big.ctypes.data
            DOT(HELPERS[name])(result.ctypes.data, data, 8, data, 8, count)
            raised = MATH.fetestexcept(29)
            MATH.feclearexcept(61)
            assert raised & FLAGS["over"]
            assert np.isinf(result[0])


def test_loops() -> None:
    """NumPy's own loops: elements, flags only where NumPy looks at them, an exception as a doubt."""
    reals, wholes = (np.dtype(float),), (np.dtype(int),)

    def call(loop: Any, *arrays: Any) -> int:
        data = (ctypes.c_void_p * len(arrays))(*(one.ctypes.data for one in arrays))
        steps = (LONG * len(arrays))(*(one.strides[0] for one in arrays))
        return LOOP(id(loop), data, arrays[0].size, steps)

    a, b = np.linspace(-1, 1, 40)[::2], np.empty(20)
    assert call(_tiles.numpy_loop(np.exp, reals * 2), a, b) == 0
    assert_same(b, np.exp(a))
    assert call(_tiles.copy_loop(*reals), a, b) == 0
    assert_same(b, a.copy())
    powers = _tiles.numpy_loop(np.power, wholes * 3)
    base, exponent, result = np.arange(1, 21), np.arange(20), np.empty(20, int)
    assert call(powers, base, exponent, result) == 0
    with np.errstate(all="ignore"):
        assert_same(result, base**exponent)
    assert call(powers, base, -exponent, result) == 1
    MATH.feclearexcept(61)
    logs = _tiles.numpy_loop(np.log, reals * 2)
    assert call(logs, a, b) == 0
    assert MATH.fetestexcept(61) & FLAGS["invalid"]
    assert call(_tiles.numpy_loop(np.maximum, reals * 3), a, b, b) == 0
    assert call(_tiles.numpy_loop(np.less, (*reals * 2, np.dtype(bool))), a, b, b.view(bool)) == 0
    assert MATH.fetestexcept(61) & FLAGS["invalid"]
    MATH.feclearexcept(61)


@pytest.mark.leaks
def test_no_leaks_of_arrays() -> None:
    """Many calls, of every end, leave neither arrays nor memory."""

    def turn(state: State, number: int) -> None:
        both(state, number)
        own_array(state.memory, 2, "d", 50_000)
        if number == stop:
            raise DoubtError

    slots, stop = (REBOUND, REBOUND, ("float", True), RANGE), 0

    def calls(count: int) -> None:
        nonlocal stop
        for i in range(count):
            one = nest(slots, turn, None, TWO, 1)
            for stop in (i % 7, 2, 100):  # noqa: B007 - turn() reads it
                one(np.arange(3.0), np.zeros(3), 0.0, iter(range(12)))

    calls(50)
    gc.collect()
    blocks = sys.getallocatedblocks()
    calls(200)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 250


# Views ------------------------------------------------------------------------------------------------------------

VIEWED = ("array", "d", 2, False, True, True)
CELLS = ctypes.POINTER(LONG)
CELLS_OF_ONE = 1 + 2 * MAP_AXES  # variable: what it is, places and lengths
WHOLE = ((0, 1), (1, 1))  # for each axis of the view that of the array, and the step


def bound_to(
    number: int, places: tuple[int, ...], lengths: tuple[int, ...], views: Any, slot: Any = VIEWED
) -> Any:
    """A nest whose two variables are such a view behind its only turn."""

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, CELLS, ctypes.c_void_p)
    def code(_: Any, cells: Any, __: Any) -> int:
        for variable in (0, CELLS_OF_ONE):
            cells[variable] = number
            for i, value in enumerate(places):
                cells[variable + 1 + i] = value
            for i, value in enumerate(lengths):
                cells[variable + 1 + MAP_AXES + i] = value
        start, step, left, turns = range(2 * CELLS_OF_ONE, 2 * CELLS_OF_ONE + 4)
        cells[start] += cells[step]
        cells[left] -= 1
        cells[turns] -= 1
        return 0

    address = ctypes.cast(code, ctypes.c_void_p).value
    assert address is not None
    return _tiles.Nest(address, code, (slot, slot, RANGE), views=views)


@pytest.mark.parametrize(
    "given", [np.arange(20.0).reshape(4, 5), np.arange(60.0).reshape(5, 12)[::-1, ::3].T]
)
@pytest.mark.parametrize(
    ("places", "lengths", "axes", "expected"),
    [
        ((1, 0), (5,), ((1, 1),), lambda a: a[1]),
        ((3, 2), (2,), ((0, -2),), lambda a: a[3::-2, 2]),
        ((0, 4), (4, 1, 5), ((0, 1), (-1, 0), (1, -1)), lambda a: a[:, None, ::-1]),
        ((0, 1), (2, 4), ((1, 2), (0, 1)), lambda a: a[:, 1:4:2].T),
        ((4, 0), (0, 5), WHOLE, lambda a: a[4:]),
    ],
)
def test_a_variable_is_a_view(
    given: Any, places: Any, lengths: Any, axes: Any, expected: Any
) -> None:
    """Two variables that are one view are one object, with its array as the base; what is read-only stays so."""
    for writeable in (True, False):
        a = given.copy()
        a.flags.writeable = writeable
        one = bound_to(2, places, lengths, ((0, axes),))
        first, second = one(a, a, iter(range(1)))
        assert first is second
        plain = expected(a)
        assert (first.base is a) == (plain.base is a)
        assert (first.strides, first.flags.writeable) == (plain.strides, writeable)
        assert_same(first, plain)


@pytest.mark.parametrize(
    ("number", "places", "lengths", "axes"),
    [
        (3, (0, 0), (4, 5), WHOLE),
        (2**62, (0, 0), (4, 5), WHOLE),
        (2, (-1, 0), (4, 5), WHOLE),
        (2, (0, 6), (4, 0), WHOLE),
        (2, (1, 0), (4, 5), WHOLE),
        (2, (0, 0), (4, 6), WHOLE),
        (2, (0, 0), (4, -1), WHOLE),
        (2, (0, 0), (2**62, 5), WHOLE),
        (2, (0, 0), (2**62, 5), ((0, 2**62), (1, 1))),
        (2, (1, 0), (3,), ((0, -1),)),
        (2, (0, 0), (2,), ((-1, 0),)),
        (2, (0, 0), (2,), ((2, 1),)),
    ],
)
def test_views_that_reach_beyond_their_array(
    number: int, places: Any, lengths: Any, axes: Any
) -> None:
    """What machine code says is not believed: nothing was done."""
    a, iterator = np.arange(20.0).reshape(4, 5), iter(range(1))
    assert bound_to(number, places, lengths, ((0, axes),))(a, a, iterator) is NotImplemented
    assert list(iterator) == [0]


def test_views_of_arrays_of_many_axes() -> None:
    """There are cells for the places of four: the others have no views."""
    slot = ("array", "d", 32, False, True, True)
    a, iterator = np.zeros((1,) * 32), iter(range(1))
    assert bound_to(2, (), (1,), ((0, ((0, 1),)),), slot)(a, a, iterator) is NotImplemented
    assert list(iterator) == [0]


@pytest.mark.parametrize(
    ("views", "error"),
    [
        (((2, WHOLE),), ValueError),
        (((-1, WHOLE),), ValueError),
        (((0, WHOLE * MAP_AXES),), ValueError),
        (((0,),), TypeError),
        ((0,), TypeError),
        (((0, (0,)),), TypeError),
        (((0, ((0, "1"),)),), TypeError),
        (((0, ((0, 2**70),)),), OverflowError),
    ],
)
def test_views_that_cannot_be(views: Any, error: type[Exception]) -> None:
    """They are refused when the nest is made."""
    with pytest.raises(error):
        bound_to(2, (), (), views)

"""Short calls of functions with loops run as one nest, which gives what plain Python does."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import math
import sys
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from benchmarks.cases.loops.sequences import sieve
from benchmarks.cases.loops.tables import edit_distance
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import called, hits, native_turns
from ufuse.backends.numpy import _tiles
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.nests.entries import screening, whole
from ufuse.frame_hook.nests.known import sides

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

N = 40
X = np.linspace(0.5, 2.0, N)
HALF = 0.5
NAN = np.nan


def total(x):
    """An int without turns, else a float."""
    s = 0
    for value in x:
        s += value
    return s


def mean_or_nan(x):
    if len(x) == 0:
        return NAN
    total = 0.0
    for value in x:
        total += value
    return total / len(x)


def with_nan(x):
    total = 0.0
    for value in x:
        total += value
    return (total, NAN) if total > 5 else (total, 1.5)


def test_a_nan_that_is_returned_is_the_same_object() -> None:
    """Programs ask whether a result is `np.nan`."""
    mean = called(mean_or_nan, (X,))
    assert mean(X[:0]) is NAN
    assert mean(X) == mean_or_nan(X)
    pair = called(with_nan, (X[:2],))
    before = hits(pair)
    assert before
    assert pair(X)[1] is NAN
    for _ in range(20):  # the next few calls are plain
        assert pair(X[:2]) == with_nan(X[:2])
    assert hits(pair) > before


def texts(x):
    return [str(value) for value in x]


def over_a_list(x):
    parts = [x]
    for _ in parts:
        pass
    x[0] -= 1


@pytest.mark.parametrize("function", [texts, over_a_list])
def test_what_is_refused_keeps_no_argument_alive(function) -> None:
    """Errors have frames, which have what was read: nothing waits for a collection."""
    x = X.copy()
    seen, code = weakref.ref(x), function.__code__
    gc.collect()
    gc.disable()
    try:
        state = (x, *[_hook.NULL] * (len(slot_names(code)) - 1))
        with pytest.raises(whole.NotNativeError) as refused:
            whole._read(code, function, state)
        del x, state, refused
        assert seen() is None
    finally:
        gc.enable()


def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return x[i]
    return None


def rolled(x, count):
    """Views, one array twice, and one that was given."""
    y = x.copy()
    for i in range(1, len(y)):
        y[i] += y[i - 1]
    return y[::-1], (y, y[1:count]), x, count, y[0]


def in_place(x, *, factor=2.0):
    for i in range(len(x)):
        x[i] *= factor


def sums(x):
    y = np.empty_like(x)
    level = 0.0
    for i in range(len(x)):
        level = level * 0.5 + x[i]
        y[i] = level
    return y


def nothing(x):
    for i in range(len(x)):
        x[i] += HALF


def pair(x):
    s, t = 0.0, 1.0
    for i in range(len(x)):
        s += x[i]
        t *= x[i]
    return s, t


def one_of_one(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return (s,)


def around(scale):
    def scaled(x):
        y = np.empty_like(x)
        for i in range(len(x)):
            y[i] = math.sqrt(x[i]) * scale
        return y

    return scaled


def rows(a):
    """A matrix, whose rows are sums."""
    out = np.zeros_like(a)
    for i in range(len(a)):
        out[i] = a[i] * 2.0
        out[i, 0] = np.sum(a[i])
    return out, out.shape


def mean_or_zero(x, n):
    """Several ways out, of numbers of Python's and NumPy's."""
    s = 0.0
    for i in range(n):
        if x[i] < 0:
            return x[i]
        if x[i] > 100:
            return -1
        s += x[i]
    return s / n if n else 0


def spaced(x, count):
    """Gives what NumPy gives as a view of an array, and a view of that."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    points = np.linspace(0.0, total, count)
    return points, points[1::2]


PROGRAMS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (edit_distance, lambda: (np.arange(20) % 3, np.arange(30) % 4)),
    (sieve, lambda: (60,)),
    (sieve, lambda: (1,)),
    (spaced, lambda: (X, 5)),
    (spaced, lambda: (X, 20)),
    (total, lambda: (X,)),
    (total, lambda: (X[:0],)),
    (first_above, lambda: (X, 1.5)),
    (first_above, lambda: (X, 9.0)),
    (rolled, lambda: (X, 3)),
    (in_place, lambda: (X.copy(),)),
    (nothing, lambda: (X.copy(),)),
    (pair, lambda: (X,)),
    (pair, lambda: (X.astype(np.float32),)),
    (one_of_one, lambda: (X,)),
    (around(3.0), lambda: (X,)),
    (rows, lambda: (np.arange(3.0 * N).reshape(N, 3),)),
    (mean_or_zero, lambda: (X, N)),
    (mean_or_zero, lambda: (X, 0)),
    (mean_or_zero, lambda: (X - 1.0, N)),
    (mean_or_zero, lambda: (X * 60.0, N)),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_whole_calls(number: int) -> None:
    """What a call gives and changes, and which objects are one, is as in plain Python."""
    function, make = PROGRAMS[number]
    native_turns(function, make)
    compiled = called(function, next(one for other, one in PROGRAMS if other is function)())
    check_same(function, compiled, lambda: arguments(*make()))


@pytest.mark.parametrize(
    "function",
    [edit_distance, sieve, spaced, total, first_above, rolled, in_place, pair, one_of_one, rows],
)
def test_they_are_taken(function: Callable[..., Any]) -> None:
    """A function of loops, new arrays and numbers is one nest from its first short calls on."""
    make = next(make for one, make in PROGRAMS if one is function)
    compiled = called(function, make())
    before = hits(compiled)
    for _ in range(5):
        compiled(*make())
    assert hits(compiled) == before + 5


def test_kinds_of_a_result() -> None:
    """A number is of the type that the call's way gives it, in one entry."""
    compiled = called(total, (X,))
    before = hits(compiled)
    for x in (X, X[:0], X[:1], X[:0]):
        found, expected = compiled(x), total(x)
        assert type(found) is type(expected)
        assert repr(found) == repr(expected)
    assert hits(compiled) == before + 4


def test_a_doubt_is_done_in_parts() -> None:
    """Warnings, errors and what was changed before them are plain Python's."""
    calls = [(np.array([1.0, 2.0, 3.0, 4.0]),), (np.array([1.0, 1e308, 1e308, 2.0]),)]
    compiled = called(pair, calls[0])
    for one in (*calls, *calls):
        heard = []
        for function in (pair, compiled):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = function(*one)
            heard.append((repr(result), [(one.lineno, str(one.message)) for one in caught]))
        assert heard[0] == heard[1]
    short = np.ones(3)
    with pytest.raises(IndexError):
        called(mean_or_zero, (X, N))(short, 4)


def stored_before_the_test(c, first, last):
    w = False
    for i in range(first, last, -1):
        w = c[i]
        if i == 7:
            pass
        c[i - 1] = 1.0
    return w


def test_places_of_a_turn_before_the_test() -> None:
    """The first turn gives a variable its type; the loop behind it may end in its first test, when an element was stored."""
    compiled = ufuse.compile(stored_before_the_test, backend=Improved())
    for _ in range(6):
        compiled(X.copy(), 30, 3)
    found, expected = np.arange(2.0 * N), np.arange(2.0 * N)
    before = hits(compiled)
    for function, given in ((compiled, found), (stored_before_the_test, expected)):
        function(given[1::2], 0, -1)
    assert hits(compiled) == before + 1
    assert np.array_equal(found, expected)


def test_other_types_get_another_entry() -> None:
    """An entry is for the types of the arguments; others run in parts, until there is one for them."""
    compiled = called(pair, (X,))
    first = compiled.__ufuse_cache__.whole_call
    single = X.astype(np.float32)
    for _ in range(4):
        found, expected = compiled(single), pair(single)
        assert repr(found) == repr(expected)
    assert compiled.__ufuse_cache__.whole_call is not first


def test_long_calls_run_in_parts() -> None:
    """What takes long is no whole call: signals and other threads would wait."""
    compiled = called(edit_distance, (np.arange(20) % 3, np.arange(30) % 4))
    one, other = np.arange(1500) % 3, np.arange(1500) % 4
    for _ in range(40):
        compiled(one, other)
    entry = compiled.__ufuse_cache__.whole_call
    declined = entry.declined
    compiled(one, other)
    assert entry.declined == declined + 1
    before = hits(compiled)
    compiled(one[:9], other[:9])
    assert hits(compiled) == before + 1


def parted(x, limit):
    """Without rows NumPy gives an array with one axis, which is left to it."""
    return np.array([row for row in x if row[0] < limit])


def test_a_call_in_doubt_holds_up_none_behind_it_where_most_are_not() -> None:
    """One in six is in doubt: those behind it run whole. Where every second one is, some of them are not tried."""
    rows = X.reshape(-1, 2)
    compiled = called(parted, (rows, 9.0))
    for _ in range(3):
        for _ in range(5):
            compiled(rows, 9.0)
        entry = compiled.__ufuse_cache__.whole_call
        before, declined = hits(compiled), entry.declined
        for limit in (0.0, 1.0, 1.5, 2.0, 9.0, 9.0):
            found, expected = compiled(rows, limit), parted(rows, limit)
            assert (found.shape, found.tobytes()) == (expected.shape, expected.tobytes())
        assert (hits(compiled), entry.declined) == (before + 5, declined + 1)
    declined = entry.declined
    for limit in (0.0, 9.0) * 20:
        compiled(rows, limit)
    assert entry.declined > declined + 30


def test_a_function_is_looked_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first trace, however long it is: first calls of many functions wait for that."""
    looked_over = []

    def counted(code):
        looked_over.append(code)
        return sides.read_positions(code)

    monkeypatch.setattr(screening, "read_positions", counted)
    assert screening.names_of(edit_distance.__code__.replace()) == {
        "int",
        "len",
        "min",
        "np",
        "range",
    }
    assert len(looked_over) == 1


def test_whole_calls_begin_with_better_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls run in parts until another thread has made it."""
    monkeypatch.setattr(whole, "MORE_CALLS", 1)
    compiled = ufuse.compile(sums)
    while not compiled.__ufuse_cache__.whole_call_after:
        compiled(X)
    monkeypatch.setattr(compiled.__ufuse_session__._traces, "_measures", True)
    end = time.monotonic() + 20
    while compiled.__ufuse_cache__.whole_call is None and time.monotonic() < end:
        assert compiled(X).tobytes() == sums(X).tobytes()
    entry = compiled.__ufuse_cache__.whole_call
    assert compiled(X).tobytes() == sums(X).tobytes()
    assert entry.artefact.improved_turns == entry.artefact.turns == 1


def test_large_results_are_not_copied() -> None:
    """They are the memory that they were computed in, and each call takes its own."""
    x = np.linspace(0.5, 2.0, 20_000)
    compiled = called(sums, (x,))
    assert hits(compiled)
    before = _tiles.pool_state()["taken"]
    one, other = compiled(x), compiled(x + 1)
    assert _tiles.pool_state()["taken"] == before + 2
    for found, given in ((one, x), (other, x + 1)):
        assert found.tobytes() == sums(given).tobytes()
        assert found.flags.owndata
        assert found.flags.writeable
    one.resize(100, refcheck=False)
    assert one.tobytes() == sums(x)[:100].tobytes()


def test_a_function_that_is_no_nest_says_why() -> None:
    """What stands around the loops is read, too."""

    def texts(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return f"{s:.1f}"

    compiled = called(texts, (X,))
    assert compiled(X) == texts(X)
    assert compiled.__ufuse_cache__.whole_call is None
    record = compiled.__ufuse_session__.record(texts.__code__)
    assert "is not compiled yet" in record.why_not_whole


def test_measured_calls_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where calls are timed, many have to be short before the function is read."""
    monkeypatch.setattr("ufuse.decorator.MEASURING", True)
    monkeypatch.setattr(whole, "CALLS", 50)
    compiled = ufuse.compile(edit_distance)
    given = np.arange(30) % 3, np.arange(40) % 4
    until = time.monotonic() + 60  # a thread compiles
    while not hits(compiled) and time.monotonic() < until:
        compiled(*given)
    assert hits(compiled)


def test_nothing_leaks() -> None:
    """References to arguments, results and temporaries are as many as before."""
    x = X.copy()
    compiled = called(rolled, (x, 3))
    counts = []
    for _ in range(3):
        for _ in range(200):
            compiled(x, 3)
        gc.collect()
        counts.append((sys.getrefcount(x), len(gc.get_objects())))
    assert counts[1][0] == counts[2][0]
    assert counts[2][1] < counts[1][1] + 100  # threads that compile end meanwhile

"""Loops over ranges that run as native code: the same bits, warnings, errors and variables as plain Python's."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
import math
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse import decorator

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000  # turns: more than a trace unrolls
RNG = np.random.default_rng(7)


# Programs --------------------------------------------------------------------------------------------------------


def smoothing(x, alpha):
    out = np.empty_like(x)
    s = x[0]
    for i in range(len(x)):
        s = alpha * x[i] + (1 - alpha) * s
        out[i] = s
    return out, s, i


def counting(x, limit):
    found, best, last = 0, -math.inf, None
    for i in range(x.shape[0]):
        if x[i] > limit and i % 3 != 1:
            found += 1
        elif not x[i] < 0.1:
            continue
        best = max(best, x[i])
    return found, best, last


def triangular(a):
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def product(a, b):
    n, m = a.shape
    out = np.zeros((n, b.shape[1]))
    for i in range(n):
        for j in range(b.shape[1]):
            s = 0
            for p in range(m):
                s += a[i, p] * b[p, j]
            out[i, j] = s
    return out, s


def backwards(x):
    for i in range(len(x) - 2, -1, -1):
        x[i] += x[i + 1] * 0.5
    return x


def negative_indices(x, out):
    for i in range(1, len(x)):
        out[-i] = x[i - 1] - x[-i]
    return out


def bits(values):
    crc = 0xFFFF
    for i in range(len(values)):
        crc = (crc >> 8) ^ (int(values[i]) & 0xFF)
        crc ^= (crc & 0xF) << 12
    return crc


def flags(x, seen):
    total = 0
    for i in range(len(x)):
        seen[i] = x[i] > 0.5
        if seen[i]:
            total += 1
    return seen, total


def swapping(n):
    a, b = 0.0, 1.0
    for _ in range(n):
        a, b = b, a * 0.5 + b * 0.25
    return a, b


def rows(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i][j]
    return s


def floats_of_python(n):
    x, y = 1.0, 0.0
    for i in range(1, n):
        x = x * 0.999 + math.sqrt(i) / i
        y = abs(y - x) + math.sin(x) ** 2
    return x, y


PROGRAMS: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (smoothing, lambda: (np.linspace(0, 1, N), 0.3)),
    (counting, lambda: (np.random.default_rng(1).random(N), 0.5)),
    (triangular, lambda: (np.random.default_rng(2).random((20, 20)) + 20 * np.eye(20),)),
    (product, lambda: (np.random.default_rng(3).random((15, 9)), np.ones((9, 16)))),
    (backwards, lambda: (np.linspace(0, 1, N),)),
    (backwards, lambda: (np.linspace(0, 1, 2 * N)[::-2],)),
    (negative_indices, lambda: (np.linspace(0, 1, N), np.zeros(N))),
    (bits, lambda: (np.arange(N),)),
    (flags, lambda: (np.random.default_rng(4).random(N), np.zeros(N, bool))),
    (swapping, lambda: (N,)),
    (rows, lambda: (np.random.default_rng(5).random((60, 50)),)),
    (floats_of_python, lambda: (N,)),
]


@pytest.mark.parametrize(("function", "make"), PROGRAMS)
def test_programs_are_native_and_the_same(function, make) -> None:
    """Results, types, memory and variables, on every call; most turns run natively."""
    assert native_turns(function, make) > 10


# What may go wrong in the middle ---------------------------------------------------------------------------------


def dividing(x, d):
    out = np.zeros(len(x))
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i] / d[i]
        out[i] = s
    return out, s, i


@pytest.mark.parametrize("turn", [0, 1, 2, 3, 64, 1500, N - 1])
def test_a_warning_in_any_turn(turn) -> None:
    """It is given by plain Python, with its line; the turns before and behind are native."""

    def make():
        d = np.ones(N)
        d[turn] = 0.0
        return np.ones(N), d

    turns = native_turns(dividing, make)
    assert turns > N // 2 or turn == 0  # of a call whose graph declines nothing is looked at


def reaching(x, n, k):
    s = 0
    for i in range(n):
        s += i
        x[i % 7] = s
        if i == k:
            x[len(x)] = 0.0
    return s


@pytest.mark.parametrize("turn", [0, 1, 2, 70, 2000])
def test_an_error_in_any_turn(turn) -> None:
    """Memory and the traceback's variables are as in plain Python."""
    native_turns(reaching, lambda: (np.zeros(10), N, turn))


def leaving(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            break
        x[i] = -1.0
    else:
        i = -1
    return i, x


@pytest.mark.parametrize("turn", [0, 1, 5, 2500, N + 1])
def test_breaks_out_of_the_loop(turn) -> None:
    """Plain Python does the turn that leaves."""
    native_turns(leaving, lambda: (np.where(np.arange(N) == turn, 2.0, 0.0), 1.0))


def growing(n, start):
    s = start
    for i in range(n):
        s = s * 3 + i
    return s


def test_integers_of_python_grow_beyond_64_bits() -> None:
    """Plain Python goes on with them."""
    native_turns(growing, lambda: (N, 1))


def test_integers_of_numpy_wrap_with_a_warning() -> None:
    """Once for each turn that overflows."""
    native_turns(growing, lambda: (N, np.int64(1)))


def test_memory_that_cannot_be_written() -> None:
    """The error is plain Python's."""

    def make():
        x = np.ones(N)
        x.flags.writeable = False
        return (x,)

    native_turns(backwards, make)


def test_what_an_array_holds_stored_into_it_again() -> None:
    """Nothing changes, but memory that cannot be written refuses it, too."""

    def stored_again(x, turns):
        for _ in range(turns):
            x[1:] = x[1:]

    compiled = ufuse.compile(stored_again)
    compiled(np.ones(N), N)
    compiled(np.ones(N), N)
    assert sum(loop.turns for loop in compiled.loops)
    with pytest.raises(ValueError, match="read-only"):
        compiled(np.broadcast_to(1.0, N), N)


def test_two_views_of_one_array() -> None:
    """Elements are read and written in the program's order."""

    def make():
        x = np.linspace(0, 1, N + 1)
        return x[:-1], x[1:]

    assert native_turns(negative_indices, make) > 10


def test_other_types_at_the_next_call() -> None:
    """Each has a nest of its own, or none."""
    compiled = ufuse.compile(smoothing)
    for dtype in (np.float64, np.float32, np.int64, np.float64):
        x = np.arange(N).astype(dtype)
        for _ in range(2):
            plain, other = smoothing(x, 0.5), compiled(x, 0.5)
            assert [type(one) for one in plain] == [type(one) for one in other]
            assert all(np.array_equal(a, b) for a, b in zip(plain, other, strict=True))
    assert sum(loop.turns for loop in loops_of(compiled)) > 10


def iterating(it, x):
    for i in it:
        x[i] = i
    return next(it, "exhausted")


def test_an_iterator_that_others_hold_is_moved() -> None:
    """It is exhausted behind the loop, as it was."""
    native_turns(iterating, lambda: (iter(range(N)), np.zeros(N)))


# The machine around it -------------------------------------------------------------------------------------------


def long_sum(n):
    s = 0
    for i in range(n):
        s = (s + i) & 0xFFFFFF
    return s


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
def test_interrupts_are_answered_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler runs within a moment, and the loop's variables are those of some turn."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(long_sum)
    compiled(10_000)
    seen: list[tuple[float, int, int]] = []

    def handler(_: int, frame: Any) -> None:
        variables = dict(frame.f_locals) if frame.f_code.co_name == "long_sum" else {}
        seen.append((time.perf_counter(), variables.get("i", -1), variables.get("s", -1)))
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        started = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            compiled(10**12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    when, turn, total = seen[0]
    assert when - started < 1.0
    if turn >= 0 and turn < 10**7:
        assert total in (long_sum(turn), long_sum(turn + 1))


def long_turns(n, m, x):
    total = 0
    for i in range(n):
        for j in range(m):
            total = (total + j) & 0xFFFFFF
        x[i] = total
    return total


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
def test_signals_are_answered_in_a_long_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn begins anew in plain Python; what it did natively is undone."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(long_turns)
    compiled(40, 40, np.zeros(40))
    seen: list[tuple[float, int, float]] = []
    x = np.full(3, -1.0)

    def handler(_: int, frame: Any) -> None:
        seen.append((time.perf_counter(), frame.f_locals.get("i", -1), x[0]))
        if len(seen) == 2:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        started = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
        with pytest.raises(KeyboardInterrupt):
            compiled(3, 10**10, x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen[0][0] - started < 0.7
    assert seen[0][1:] in ((0, -1.0), (-1, -1.0))


@pytest.fixture
def _measuring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Time calls, as users have it."""
    monkeypatch.setattr(decorator, "MEASURING", True)
    return


@pytest.mark.usefixtures("_measuring")
def test_a_loop_that_runs_for_long_is_compiled_while_it_runs() -> None:
    """In the first call, from the second turn on; a machine that is busy elsewhere may hide how long turns take."""
    x = np.linspace(0, 1, 200_000)
    plain = smoothing(x, 0.5)
    turns = 0
    for _ in range(6):
        compiled = ufuse.compile(smoothing)
        compiled.reset()
        other = compiled(x, 0.5)
        assert plain[0].tobytes() == other[0].tobytes()
        assert plain[1:] == other[1:]
        turns = sum(loop.turns for loop in loops_of(compiled))
        if turns > 190_000:
            break
    assert turns > 190_000


def summed_products(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(b.shape[0]):
                c[i, j] += a[i, k] * b[k, j]


@pytest.mark.usefixtures("_measuring")
def test_inner_loops_wait_for_the_loop_around_them() -> None:
    """No nest is made of each of three loops; hardly ever of two, where the machine holds the program up in a turn."""
    counts: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # errors are plain Python's from the start
        while 1 not in counts and len(counts) < 5:
            compiled = ufuse.compile(summed_products)
            for _ in range(2):
                compiled(np.ones((200, 60)), np.ones((60, 60)), c := np.zeros((200, 60)))
                assert (c == 60).all()
            known = compiled.__ufuse_session__.specialisations
            counts.append(sum(one.nest is not None for one in known))
            compiled.reset()
    assert min(counts) <= 2


@pytest.mark.usefixtures("_measuring")
def test_calls_decide_as_soon_as_there_is_a_nest() -> None:
    """Nothing is waited for any more."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # errors are plain Python's from the start
        compiled = ufuse.compile(smoothing)
        compiled(np.linspace(0, 1, 200_000), 0.5)
    assert any(loop.turns for loop in loops_of(compiled))
    assert compiled.__ufuse_cache__.loops_wait == 0


def averaged(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0


@pytest.mark.usefixtures("_measuring")
def test_inner_loops_without_a_nest_put_no_decision_off() -> None:
    """An inner loop is met in the first turn of the one around it, in each call: that the calls pay is seen all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # errors are plain Python's from the start
        compiled = ufuse.compile(averaged)
        for calls in range(400):  # on a busy machine more than a few
            compiled(np.ones((60, 60)), 5)
            if calls >= 23 and compiled.__ufuse_cache__.loops_wait == 0:
                break
    assert compiled.__ufuse_cache__.loops_wait == 0
    decided = {one.way for one in compiled.__ufuse_session__.decisions if not one.line}
    assert decided <= {"compiled"}  # none yet where the machine is busy elsewhere


def short_sum(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] * 2.0
    return total


@pytest.mark.usefixtures("_measuring")
def test_short_loops_that_are_called_often_are_compiled() -> None:
    """One that takes some microseconds in each call is seen but now and then: the calls between count too."""
    x = np.arange(80.0)
    compiled = ufuse.compile(short_sum)
    compiled.reset()
    for _ in range(20_000):
        for n in (79, 33, 60, 45):
            total = compiled(x, n)
        assert total == short_sum(x, 45)
        if any(loop.turns for loop in loops_of(compiled)):
            break
    assert any(loop.turns for loop in loops_of(compiled))


def diagonals(x, n):
    before, last, best = np.zeros(n), np.zeros(n), 0.0
    for i in range(1, n):
        new = np.zeros(n)
        new[:i] = np.maximum(before[:i] + x[:i], last[:i] * 0.5)
        best = max(best, new.max())
        before, last = last, new
    return best, last


@pytest.mark.usefixtures("_measuring")
def test_a_nest_that_a_later_turn_has_got_is_used_again() -> None:
    """A loop that cannot be read at its first turn, by the types there, is no reason to do without its nest."""
    x = np.linspace(-1, 1, 1500)
    compiled = ufuse.compile(diagonals)
    compiled.reset()
    plain = diagonals(x, 1500)
    turns, used = [0], 0
    for _ in range(60):
        best, last = compiled(x, 1500)
        assert (best, last.tobytes()) == (plain[0], plain[1].tobytes())
        turns.append(sum(loop.turns for loop in loops_of(compiled)))
        used = sum(after > before + 1000 for before, after in itertools.pairwise(turns))
        if used > 4:
            break
    assert used == 0 or used > 4  # on a busy machine the nest may not pay


def first_of(x, n):
    total = 0.0
    for i in range(n):
        total += x[i] * 2.0
    return total


@pytest.mark.usefixtures("_measuring")
def test_loops_of_one_turn_leave_the_session_alone() -> None:
    """A header that is met only with no turn left is hardly looked at."""
    compiled = ufuse.compile(first_of)
    x = np.arange(80.0)
    for _ in range(5000):
        assert compiled(x, 1) == 0.0
    caches = (compiled.__ufuse_cache__, *compiled.__ufuse_session__.caches)
    assert sum(cache.captures for cache in caches) < 500


@pytest.mark.usefixtures("_measuring")
def test_the_report_names_native_loops() -> None:
    """With their turns, and why another has no native code."""

    def two(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        text = ""
        for i in range(len(x)):
            text += str(x[i])[:1]
        return s

    reports = (str(ufuse.explain(two, np.linspace(0, 1, 200_000))) for _ in range(6))
    assert any("native code" in report for report in reports)


def test_names_that_change_are_noticed() -> None:
    """Globals and builtins that a nest uses are guarded."""
    space: dict[str, Any] = {"np": np, "factor": 2.0}
    exec(
        "def scaled(x):\n    for i in range(len(x)):\n        x[i] = abs(x[i]) * factor\n    return x\n",
        space,
    )
    compiled = ufuse.compile(space["scaled"])
    for factor in (2.0, 3.0, 0.5):
        space["factor"] = factor
        for _ in range(2):
            assert compiled(-np.ones(N)).tolist() == [factor] * N
    assert sys.getrefcount(space["factor"]) < 100


def test_no_whole_call_is_made_while_a_builtin_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes native code calls builtins itself; once they are back it is made."""

    def summed(n):
        total = 0.0
        for i in range(n):
            total += abs(-i)
        return total

    compiled = ufuse.compile(summed)
    for replaced in (False, True, False):
        with monkeypatch.context() as patch:
            if replaced:
                patch.setattr("builtins.abs", lambda _: 5)
            results = [(compiled(N), summed(N)) for _ in range(4)]
        assert all(one == other for one, other in results), results
    assert compiled.__ufuse_cache__.whole_call is not None


@pytest.mark.parametrize("place", ["options.value", "options.inner.value", "VALUE"])
@pytest.mark.parametrize(
    "values",
    [("text", None), ("text", [1.0, 2], None), (np.ones(3), None), ([1.0], None, "text", None)],
    ids=str,
)
def test_what_is_only_asked_for_none_is_guarded(place: str, values: tuple[Any, ...]) -> None:
    """A loop that takes nothing else from a text or an array is not run for None."""
    space: dict[str, Any] = {}
    exec(
        f"def counted(options, n):\n    total = 0\n    for _ in range(n):\n        if {place} is None:\n"
        f"            total += 1\n        total += ({place} is not None) * 2\n    return total\n",
        space,
    )
    compiled = ufuse.compile(space["counted"])
    for value in values:
        space["VALUE"] = value
        options = types.SimpleNamespace(value=value, inner=types.SimpleNamespace(value=value))
        for _ in range(3):
            assert compiled(options, N) == (N if value is None else 2 * N)
    assert (
        place == "VALUE" or loops_of(compiled)[0].turns
    )  # a text that is a global has no native loop


def defaulted(value, n):
    total = 0.0
    for i in range(n):
        total += i // (value or 1) + i * (value and 2)
    return total


@pytest.mark.parametrize(
    "values", [("", "a"), ({}, {1: 2}), ([], [1.0]), ((), (1,)), (0, 3, None)], ids=str
)
def test_or_gives_its_operand(values: tuple[Any, ...]) -> None:
    """Not whether that is true, whatever the loop has met before."""
    compiled = ufuse.compile(defaulted)
    for value in values:
        for _ in range(3):
            results = []
            for function in (defaulted, compiled):
                try:
                    results.append(repr(function(value, N)))
                except TypeError as error:
                    results.append(str(error))
            assert results[0] == results[1]


@pytest.mark.parametrize(
    "expression",
    [
        "x[i] is None", "x[i] is not None", "len((x[i], 1))", "(x[i], 1)[1]", "1 if (x[i],) else 2", "table[i] is None",
        "len((table[i], 1))", "pairs[i] is None", "len((pairs[i], 1))", "x[i, 0] is None", "table[i][1] is None",
    ],
)  # fmt: skip
def test_rows_that_are_not_there_are_missed(expression: str) -> None:
    """An index out of range is an error, also where nothing of the row is used but that it is one."""
    space: dict[str, Any] = {}
    exec(
        f"def asked(x, table, pairs):\n    total = 0.0\n    for i in range(3000):\n        found = {expression}\n"
        "        total += i\n    return total\n",
        space,
    )
    x, table, pairs = np.ones((2000, 2)), [[1.0, 2.0] for _ in range(2000)], [(1.0, 2.0)] * 2000
    compiled = ufuse.compile(space["asked"])
    for function in (space["asked"], compiled, compiled, compiled):
        with pytest.raises(IndexError):
            function(x, table, pairs)
    assert loops_of(compiled)[0].turns


def smallest_of_three(a):
    n = len(a)
    for i in range(2, n):
        a[i] = min(a[i - 2] + 1.5, a[i - 1], a[i])
    return a


def quotients(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] // y[i] + x[i] % y[i]
        out[i] += float(x[i]) // float(y[i]) - float(x[i]) % float(y[i])
    return out


def roundings(x, out):
    for i in range(len(x)):
        out[i] = round(x[i]) + 10 * math.floor(x[i]) + 100 * math.ceil(float(x[i])) + np.floor(x[i])
        if math.isnan(x[i]) or not math.isfinite(x[i]):
            out[i] = math.pi
    return out


def logarithms(x, out):
    for i in range(len(x)):
        out[i] = math.log(x[i]) + math.log10(float(x[i])) * math.atan2(x[i], math.e)
    return out


def shifted(data, out):
    for i in range(len(data)):
        out[i] = (data[i] >> 3) ^ (data[i] << 2) + data[i] ** 2 - i**3
    return out


def rows_of(starts, values, out):
    for i in range(len(starts) - 1):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += values[k]
        out[i] = total
    return out


def steps(low, high, count):
    """Numbers around zero, from steps that are exact and some that are not."""
    return np.concatenate([np.linspace(low, high, count), np.arange(-8, 8, 0.25) + 0.125])


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (smallest_of_three, lambda: (np.sin(np.arange(N) * 7.0),)),
        (quotients, lambda: (steps(-9, 9, N), steps(5, -4.7, N), np.zeros(N + 64))),
        (roundings, lambda: (steps(-9.5, 9.5, N), np.zeros(N + 64))),
        (logarithms, lambda: (steps(0.1, 9.5, N)[:N], np.zeros(N))),
        (shifted, lambda: (np.arange(-N, N) * 1001, np.zeros(2 * N, dtype=np.int64))),
        (rows_of, lambda: (np.arange(0, 3 * N, 3), np.ones(3 * N), np.zeros(N))),
    ],
)
def test_more_of_arithmetic_is_native(function, make) -> None:
    """Quotients of floats, roundings, logarithms, shifts, powers and ranges of NumPy's integers."""
    assert native_turns(function, make) > N


def test_variables_of_the_function_around() -> None:
    """They are constants of a nest, guarded."""

    def scaled_by(factor):
        def scaled(x):
            for i in range(len(x)):
                x[i] = x[i] * factor
            return x

        return scaled

    for factor in (2.0, 3, -0.0, 0.0):
        compiled = ufuse.compile(scaled_by(factor))
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # errors are plain Python's from the start
            for _ in range(3):
                assert compiled(np.ones(N)).tobytes() == scaled_by(factor)(np.ones(N)).tobytes()
        assert sum(loop.turns for loop in loops_of(compiled)) > N


def test_a_disabled_function_stays_plain_python() -> None:
    """It is not read in place of its call: what is marked runs as it is."""

    @ufuse.disable
    def half(x):
        return x * 0.5

    def halves(x):
        total = 0.0
        for i in range(len(x)):
            total += half(x[i])
        return total

    assert native_turns(halves, lambda: (np.arange(200.0),)) == 0


def test_ints_too_long_for_text_may_be_held_by_variables(caplog: pytest.LogCaptureFixture) -> None:
    """A constant of a loop is known by its value, and not by its digits."""

    def program(x, n):
        held = n
        total = 0.0
        for i in range(len(x)):
            while total < i:
                total += x[i]
                held = n
        return total, held is n

    compiled = ufuse.compile(program)
    for n in (7**9000, 7**9001, 3):
        for _ in range(3):
            assert compiled(np.ones(100), n) == program(np.ones(100), n)
    assert not caplog.messages


def course(modes, turns):
    """A loop that no nest has, as its texts are given to a dict, around one that a text decides."""
    total, names = 0.0, {}
    for mode in modes:
        names[mode] = object()
        for i in range(turns):
            if mode == "A":
                total += i * 0.5
            elif mode == "B":
                total -= i
            else:
                total += 1
    return total


@pytest.mark.parametrize("texts", ["AB", "ABCDEFGHIJ"])
def test_native_code_for_one_text_stays_when_there_are_others(texts) -> None:
    """Each text has its own; that many were seen does not have those forgotten that come again."""
    compiled, modes = ufuse.compile(course), tuple(texts) * 4
    for _ in range(3):
        assert compiled(modes, 200) == course(modes, 200)
    made = compiled.stats.traces
    for _ in range(3):
        assert compiled(modes, 200) == course(modes, 200)
    assert compiled.stats.traces == made
    (inner,) = (loop for loop in compiled.loops if loop.turns)
    assert inner.turns > 4 * len(modes) * 200

"""What the lists, dicts and sets of a loop get is found out in one reading, and readings end when they take too long."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import check_kept, native_turns
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.entries.learned import READ_AT_ONCE, CodeRecord, Visits
from ufuse.frame_hook.nests.entries import choice, entry, whole
from ufuse.frame_hook.nests.entries.choice import ASK_LATEST, Loops
from ufuse.frame_hook.nests.entries.entry import prepared
from ufuse.frame_hook.nests.entries.screening import written_slots
from ufuse.frame_hook.nests.known.kinds import BOOL, NotNativeError, UnpaidError
from ufuse.frame_hook.nests.known.tries import Tries
from ufuse.frame_hook.nests.loops.loop_reader import LoopReader

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.linspace(-1.0, 2.0, 60)
I = np.arange(-30, 30)  # noqa: E741  (whole numbers)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many readings there were."""
    found: list[int] = []
    read = LoopReader.read

    def counted(self: LoopReader) -> Any:
        found.append(self.position)
        return read(self)

    monkeypatch.setattr(LoopReader, "read", counted)
    return found


def several(x):
    total = 0.0
    for value in x:
        low, high, places, rows = [], [], [], []
        for k in range(4):
            if value > k * 0.25:
                high.append(value * k)
            else:
                low.append(k - value)
            places.append(k)
            rows.append((value, k * 1.5))
        total += sum(high) + sum(low) * len(places)
        for one, other in rows:
            total += one * other
    return total


def coded(value, count):
    scaled = []
    for k in range(count):
        scaled.append(value * k)
    coordinates = [0]
    for one in scaled:
        coordinates.append(int(one) + count)
    return coordinates


def through_calls(x):
    found = 0
    for value in x:
        for one in coded(value, 3):
            found += one
        for one in coded(value * 0.5, 5):
            found -= 2 * one
    return found


def kinds_by_branch(x):
    """Its inner loop, which is asked first, has no nest of its own."""
    total = 0.0
    for value in x:
        mixed, whole = [], []
        for k in range(4):
            whole.append(k)
            if value > 0.5:
                mixed.append(float(value))
            else:
                mixed.append(k)
        total += np.array(mixed).sum() + len(whole)
    return total


def with_dicts(x):
    total = 0.0
    for value in x:
        seen, sums, order = set(), {}, []
        for k in range(6):
            place = k % 3
            seen.add(place)
            sums[place] = sums.get(place, 0.0) + value
            order.append(place)
        for one in order:
            total += sums[one] * len(seen)
    return total


def asked_before(x):
    total = 0.0
    for value in x:
        out, after = [], []
        if len(out) == 0:
            total += 1.0
        out.append(value)
        after.append(out[-1] * 2.0)
        total += after[0] - len(out)
    return total


def weighted(value, table, rows):
    total = 0.0
    for k in range(3):
        part = 0.0
        for m in range(rows):
            part += table[k, m % 3] * value
        for m in range(7):
            part -= value * m
        total += part / (k + 1)
    return total


TABLE = np.linspace(0.5, 2.0, 9).reshape(3, 3)


def loops_in_short_loops(x):
    total, rows = 0.0, len(x) - 50
    for value in x:
        total += weighted(value, TABLE, rows)
        total -= weighted(value + 1.0, TABLE, rows)
        total *= 1.0 + weighted(0.5, TABLE, rows) * 1e-3
    return total


def lists_in_short_loops(x):
    total = 0.0
    for value in x:
        for k in range(2):
            rows, out = [], []
            for m in range(len(x) % 7):
                rows.append((m, value))
                out.append(k * value)
            for one, other in rows:
                total += one * other
            total -= sum(out)
    return total


FUNCTIONS = (
    several, through_calls, kinds_by_branch, with_dicts, asked_before, loops_in_short_loops, lists_in_short_loops,
)  # fmt: skip


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one is not kinds_by_branch])
def test_lists_that_a_loop_makes(function: Callable[..., Any]) -> None:
    """Bits, warnings and errors are plain Python's."""
    assert native_turns(function, lambda: (X,)) > 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_numbers_of_other_types(function: Callable[..., Any]) -> None:
    """What lists got in one nest says nothing of the next."""
    compiled = ufuse.compile(function)
    odd = np.array([np.nan, -0.0, 0.0, 0.75, 1e300])
    for given in (X, X, I, I, X.astype(np.float32), X.tolist(), odd, X):
        check_kept(function, compiled, given, atoms=False)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_lists_are_learned_in_one_reading(
    function: Callable[..., Any], readings: list[int]
) -> None:
    """A reading for each of them took several times as long as what they were read for."""
    state, position = state_of(function, X)
    prepared(function.__code__, position, function, state, CodeRecord())
    assert len(readings) <= 4  # of which one may find numbers that are Python's or NumPy's


def state_of(function: Callable[..., Any], x: Any) -> tuple[tuple[Any, ...], int]:
    """A frame of a function at the header of its outermost loop, where that begins."""
    code = function.__code__
    begins: dict[str, Any] = {"x": x, "total": 0.0, "found": 0, "rows": 10}
    names = instructions.slot_names(code)
    return (*(begins.get(name, _hook.NULL) for name in names), iter(x)), min(written_slots(code))


def test_a_reading_ends_when_its_time_is_up() -> None:
    """What it has come to is told, so that the next one begins with that."""
    state, position = state_of(several, X)
    with pytest.raises(UnpaidError) as caught:
        prepared(several.__code__, position, several, state, CodeRecord(), -1.0)
    assert caught.value.later


def test_what_a_reading_has_come_to_is_kept(
    monkeypatch: pytest.MonkeyPatch, readings: list[int]
) -> None:
    """The next one, with more time, does not learn it once more."""
    state, position = state_of(several, X)
    record = CodeRecord()
    prepared(several.__code__, position, several, state, record)
    needed = len(readings)
    ticks = iter([0.0] * needed + [2.0] * 1000)
    monkeypatch.setattr(entry.time, "thread_time", lambda: next(ticks))
    readings.clear()
    with pytest.raises(UnpaidError) as caught:
        prepared(several.__code__, position, several, state, record, 1.0)
    monkeypatch.undo()
    assert caught.value.tries is not None
    prepared(several.__code__, position, several, state, record, math.inf, caught.value.tries)


def test_what_an_earlier_reading_came_to_may_be_wrong(readings: list[int]) -> None:
    """It may have been for other types: where the loop is refused with that, it is read as if nothing were known."""
    state, position = state_of(several, X)
    record = CodeRecord()
    ready = prepared(several.__code__, position, several, state, record)
    wrong = Tries(
        frozenset(), grown=frozenset({(site, frozenset({BOOL})) for site in sites_of(several)})
    )
    again = prepared(several.__code__, position, several, state, record, math.inf, wrong)
    assert str(again.read.nest) == str(ready.read.nest)


def sites_of(function: Callable[..., Any]) -> list[str]:
    """Where it makes lists."""
    rows = instructions.instructions(function.__code__)
    return [str(one.position) for one in rows if one.opname == "BUILD_LIST"]


def loops_and_cache(code: Any) -> tuple[Loops, Any]:
    """What chooses loops, and as much of a cache as that asks."""
    cache = SimpleNamespace(code=code, run_ns=0, entries=lambda _: ())
    return Loops(SimpleNamespace(), SimpleNamespace(), measures=True), cache  # type: ignore[arg-type]


def test_a_loop_is_read_for_as_long_as_it_has_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reading took too long for waits until twice as much is paid."""
    allowed: list[float] = []

    def slow(*given: Any) -> Any:
        allowed.append(given[5])
        raise UnpaidError

    monkeypatch.setattr(choice, "prepared", slow)
    state, position = state_of(several, X)
    (loops, cache), record = loops_and_cache(several.__code__), CodeRecord()
    record.visits[position] = visits = Visits()
    for seconds, count in ((0.0, 1), (0.01, 1), (0.1, 2), (0.12, 2), (10.0, 3)):
        visits.seconds = seconds
        made = loops._made(cache, position, several, state, record, waits=True)
        assert made == ASK_LATEST
        assert len(allowed) == count
    assert allowed[0] == READ_AT_ONCE
    assert 2 * READ_AT_ONCE <= allowed[1] <= READ_AT_ONCE + 0.05
    loops._made(cache, position, several, state, record, waits=False)
    assert allowed[-1] == math.inf
    assert visits.refused is None


def test_readings_in_vain_are_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is refused "so far" is not read again and again for nothing."""
    clock, allowed = [0.0], list[float]()

    def refused(*given: Any) -> Any:
        allowed.append(given[5])
        clock[0] += 0.03
        raise NotNativeError("so far", later=True)

    monkeypatch.setattr(choice, "prepared", refused)
    monkeypatch.setattr(choice.time, "thread_time", lambda: clock[0])
    state, position = state_of(several, X)
    (loops, cache), record = loops_and_cache(several.__code__), CodeRecord()
    record.visits[position] = Visits(seconds=0.04)
    for _ in range(2):
        loops._made(cache, position, several, state, record, waits=True)
    assert allowed == pytest.approx([READ_AT_ONCE + 0.02, READ_AT_ONCE + 0.02 - 0.03])
    assert record.read_in_vain == pytest.approx(0.06)


def test_a_whole_call_is_read_again_when_twice_as_much_is_paid_for() -> None:
    """A reading that was given up is not begun again for as little: it would end there each time."""
    record, readings = CodeRecord(), list[float]()

    def too_long(until: float) -> None:
        readings.append(until)
        raise UnpaidError

    for paid in (0.01, 0.0, 0.015, 0.02, 0.03, 0.039, 0.04):
        with pytest.raises(UnpaidError):
            whole._read_for(record, paid, too_long)
    assert len(readings) == 3
    assert record.read_in_vain >= 0
    assert whole._read_for(record, 0.08, lambda until: until) > 0


ITEMS = [1, 2, 3]


def lists_of_a_list(b: Any, d: Any) -> None:
    """Lists in lists, of which the last one is of arrays: it is refused when others have been learned."""
    for _, value in {"a": 1}.items():  # noqa: PERF102  as it was found
        [b / value for _ in [j for _, j in zip([value for _, _ in zip(ITEMS, d)], [1])]]  # noqa: B905


def test_what_is_refused_keeps_nothing_alive() -> None:
    """Reference counts alone free what a call was given, whatever readings of it have come to."""
    compiled = ufuse.compile(lists_of_a_list)
    collects = gc.isenabled()
    gc.disable()
    try:
        for _ in range(8):
            array = np.arange(3.0)
            compiled(array, (4, 5, 6))
            dies = weakref.ref(array)
            del array
            assert dies() is None
    finally:
        if collects:
            gc.enable()

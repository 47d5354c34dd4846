"""What does not pay is given back to plain Python: whole functions, loops of a running call, the hook itself."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.unlimited import lift_limits
from ufuse import decorator, sharing
from ufuse.frame_hook import _hook, budget, paid_traces
from ufuse.frame_hook import session as sessions
from ufuse.frame_hook.budget import Account, Allowance
from ufuse.frame_hook.entries import learned


@pytest.fixture(autouse=True)
def _measuring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Time calls, as users have it; let traces take what they need, however busy the machine."""
    monkeypatch.setattr(decorator, "MEASURING", True)
    lift_limits(monkeypatch)
    marks: list[object] = []
    monkeypatch.setattr(sessions.Session, "device_mark", marks.append)
    yield
    assert not marks, "nothing here is on a device"
    assert not _hook.hook_installed()


@ufuse.disable
def outside(x):
    """Runs as plain Python."""
    return x


def recurrence(x):
    """A loop that is left to plain Python at each turn."""
    for i in range(1, len(x)):
        x[i] = outside(x[i - 1]) * 0.5 + x[i]
    return x


def call_until(compiled, length, times):
    """Call until something was given back so many times: a busy machine may take more than a call to tell."""
    for _ in range(20):
        if compiled.stats.given_back >= times:
            return
        compiled(np.ones(length))
    raise AssertionError(compiled.stats)


def test_a_loop_is_given_back_while_it_runs() -> None:
    """Within the first call, and for the next ones."""
    compiled = ufuse.compile(recurrence)
    expected = recurrence(np.ones(3000))
    assert compiled(np.ones(3000)).tobytes() == expected.tobytes()
    assert compiled.stats.given_back >= 1
    first = compiled.stats.traces
    assert compiled(np.ones(3000)).tobytes() == expected.tobytes()
    assert compiled.stats.traces <= first + 2


def test_a_loop_is_timed_again_for_larger_arguments() -> None:
    """Its positions may be captured again, and are timed again."""
    compiled = ufuse.compile(recurrence)
    call_until(compiled, 300, 1)
    record = compiled.__ufuse_session__.record(recurrence.__code__)
    given_back = set(record.given_back)
    assert given_back <= record.skipped
    short = np.ones(20_000)
    assert compiled(short).tobytes() == recurrence(np.ones(20_000)).tobytes()
    call_until(compiled, 20_000, 2)  # reconsidered, and given back again


def test_a_function_of_small_parts_runs_plainly() -> None:
    """Views between calls of plain Python do not pay."""

    def scattered(x):
        for _ in range(3):
            outside(x)
        return outside(x.T)

    compiled = ufuse.compile(scattered)
    x = np.ones((2, 3))
    for _ in range(300):
        assert compiled(x).base is x
    assert compiled.stats.given_back >= 1

    cache = compiled.__ufuse_cache__
    calls, before = cache.calls, cache.run_ns
    plain = compiled.__ufuse_session__.decisions[-1].plain
    for _ in range(1_000_000):
        compiled(x)
        if cache.run_ns > before:  # it is timed again
            break
    count = cache.calls - calls
    assert count > 1000
    assert cache.run_ns - before > count * plain / 2  # what was not timed counts, too


def test_a_function_that_pays_stays_compiled() -> None:
    """All of its calls hit."""

    def fused(x):
        return ((x * 2 + 1) * x - 3) / (x + 1)

    compiled = ufuse.compile(fused)
    x = np.arange(100.0)
    for _ in range(200):
        compiled(x)
    assert compiled.stats.given_back == 0
    before = compiled.stats.hits
    compiled(x)
    assert compiled.stats.hits == before + 1


@pytest.mark.parametrize(
    "options",
    [{"fullgraph": True}, {"backend": "reference"}, {"signature": [ufuse.Spec((None,), "f8")]}],
)
def test_what_is_asked_for_is_not_given_back(options) -> None:
    """One graph, a backend or a signature is asked for, whatever it costs."""

    def views(x):
        return x[::2][::2]

    compiled = ufuse.compile(views, **options)
    for _ in range(60):
        compiled(np.arange(8.0))
    assert compiled.stats.given_back == 0
    assert compiled.stats.hits == 59


@pytest.fixture
def _nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces have taken more of the process's time than they may."""
    monkeypatch.setattr(budget, "OF_PROCESS", Allowance(0.0, 0.0))
    monkeypatch.setattr(budget, "WITH_PROMISE", Allowance(0.0, 0.0))
    monkeypatch.setattr(budget, "PROCESS", Account(seconds=10.0, traces=10_000))


def until_traced(compiled, arguments) -> int:
    """How many calls it took; each as far from the last that the session may be asked again."""
    for count in range(1, 100):
        compiled(*arguments)
        if compiled.stats.traces:
            return count
        time.sleep(paid_traces.ASK_AGAIN / 1e9)
    raise AssertionError("never traced")


@pytest.mark.usefixtures("_nothing_left")
def test_code_that_runs_once_is_not_traced() -> None:
    """Its time is not enough for a trace; that of some calls is."""
    compiled = ufuse.compile(recurrence)
    assert compiled(np.ones(50)).tobytes() == recurrence(np.ones(50)).tobytes()
    assert compiled.stats.traces == 0
    assert until_traced(compiled, (np.ones(3000),)) >= 1
    assert compiled(np.ones(50)).tobytes() == recurrence(np.ones(50)).tobytes()


@pytest.mark.usefixtures("_nothing_left")
def test_what_is_asked_for_takes_what_it_needs() -> None:
    """A graph that the program wants to see, or a report; it is not paid for by others."""

    def fused(x):
        return (x * 2 + 1) * x

    compiled = ufuse.compile(fused)
    x = np.arange(10.0)
    spent = budget.PROCESS.seconds
    assert [node.op.name for node in compiled.trace(x).nodes][-1] == "multiply"
    assert ufuse.explain(fused, x).graphs
    assert budget.PROCESS.seconds == spent
    compiled(x)
    assert compiled.stats.traces == 0


@pytest.mark.usefixtures("_nothing_left")
def test_nothing_is_decided_while_a_trace_is_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """What calls take without a graph is not what compiled ones take."""

    def fused(x):
        return ((x * 2 + 1) * x - 3) / (x + 1)

    monkeypatch.setattr(budget, "PART_OF_CALLS", 0.0)
    monkeypatch.setattr(paid_traces, "ASK_AGAIN", 1)
    compiled = ufuse.compile(fused)
    x = np.arange(10.0)
    for _ in range(100):
        compiled(x)
    assert compiled.stats.traces == 0
    assert not compiled.__ufuse_session__.decisions
    monkeypatch.setattr(budget, "OF_PROCESS", Allowance(60.0, 0.0))
    for _ in range(3):
        compiled(x)
    assert compiled.stats.traces == 1


def test_what_a_function_calls_runs_compiled_while_its_own_trace_is_put_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such calls tell nothing of the function, but what was found of its callees holds."""

    def level(x):
        found = 0.0
        for i in range(len(x)):
            found = found * 0.5 + x[i]
        return found

    def raised(x):
        return level(x) + 1.0

    seconds_for = paid_traces.PaidTraces.seconds_for

    def of_others(traces: Any, cache: Any, state: Any) -> float | None:
        return 0.0 if cache.code is raised.__code__ else seconds_for(traces, cache, state)

    monkeypatch.setattr(paid_traces.PaidTraces, "seconds_for", of_others)
    monkeypatch.setattr(paid_traces, "ASK_AGAIN", 60_000_000_000)
    x = np.arange(400_000.0)
    compiled = ufuse.compile(raised)
    for _ in range(10):
        assert compiled(x) == raised(x)
    before = sum(loop.turns for loop in compiled.loops)
    for _ in range(60):  # a busy machine may take more calls to tell
        assert compiled(x) == raised(x)
        if sum(loop.turns for loop in compiled.loops) > before + 6 * len(x):
            break
    else:
        raise AssertionError(compiled.loops)
    decided = [one.function for one in compiled.__ufuse_session__.decisions]
    assert not any(name.endswith("raised") for name in decided)


@pytest.mark.usefixtures("_nothing_left")
def test_a_long_call_shortens_a_wait_by_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not end the wait: such calls would be asked about, and suspended, each time that a trace is put off."""

    def fused(x, seconds):
        time.sleep(seconds)
        return (x * 2 + 1) * x

    asked = []
    capture = sessions.Session.capture

    def counted(*arguments: Any) -> Any:
        asked.append(arguments)
        return capture(*arguments)

    monkeypatch.setattr(sessions.Session, "capture", counted)
    monkeypatch.setattr(budget, "PART_OF_CALLS", 0.0)
    monkeypatch.setattr(paid_traces, "ASK_AGAIN", 60_000_000_000)
    x = np.arange(10.0)
    compiled = ufuse.compile(fused)
    for _ in range(6):
        assert compiled(x, 0.002).tobytes() == fused(x, 0.0).tobytes()
    assert len(asked) == 1
    monkeypatch.setattr(paid_traces, "ASK_AGAIN", 400_000_000)
    fused.__code__ = fused.__code__.replace(co_name="another")
    compiled = ufuse.compile(fused)
    for _ in range(3):
        compiled(x, 0.1)
    assert len(asked) >= 3


def test_calls_pay_for_another_trace_of_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a trace for other arguments is put off, calls are timed, also where it is decided how they run."""

    def fused(x):
        return ((x * 2 + 1) * x - 3) / (x + 1)

    compiled = ufuse.compile(fused)
    x = np.arange(100.0)
    for _ in range(200):
        compiled(x)
    assert compiled.__ufuse_session__.decisions[-1].way == "compiled"
    monkeypatch.setattr(budget, "OF_PROCESS", Allowance(0.0, 0.0))
    monkeypatch.setattr(budget, "PROCESS", Account(seconds=10.0, traces=10_000))
    monkeypatch.setattr(budget, "PART_OF_CALLS", 0.0)
    integers = np.arange(100)
    compiled(integers)
    assert compiled.stats.traces == 1
    cache = compiled.__ufuse_cache__
    before = cache.run_ns
    compiled(integers)
    assert cache.run_ns > before
    monkeypatch.setattr(budget, "PART_OF_CALLS", 1e9)
    time.sleep(paid_traces.ASK_AGAIN / 1e9)
    compiled(integers)
    assert compiled.stats.traces == 2


def smoothed(x, out):
    """A loop that native code does in a hundredth of the time."""
    value = 0.0
    for i in range(len(x)):
        value = 0.9 * value + 0.1 * x[i]
        out[i] = value
    return value


def in_epochs(x, out, log):
    """That loop inside one that no native code has."""
    for epoch in range(12):
        value = 0.0
        for i in range(len(x)):
            value = 0.9 * value + 0.1 * x[i]
            out[i] = value
        log[f"{epoch}"] = value
        log[f"sum {epoch}"] = (out * 2.0 + 1.0).sum()
    return value


@pytest.mark.parametrize(("function", "more"), [(smoothed, ()), (in_epochs, ({},))])
def test_what_is_far_slower_in_plain_python_is_not_run_so_to_its_end(function, more) -> None:
    """A plain call would stall the program. Of some tries one decides so: a busy machine may delay any."""
    pytest.importorskip("llvmlite")
    x, out, found = np.ones(300_000), np.ones(300_000), []
    for _ in range(5):
        sharing.forget()
        compiled = ufuse.compile(function)
        for _ in range(8):
            compiled(x, out, *more)
        found += compiled.__ufuse_session__.decisions
        if any(one.is_cut for one in found):
            break
    (cut, *_) = (one for one in found if one.is_cut)
    assert cut.way == "compiled"
    assert cut.plain > cut.compiled
    assert ", more than " in str(cut)


def common(a, b):
    """A short loop."""
    while b:
        a, b = b, a % b
    return a


def test_short_calls_are_timed_to_their_end() -> None:
    """They stall nothing; and while turns are counted, and may be stopped, each takes some times as long."""
    compiled = ufuse.compile(common)
    pairs = np.random.default_rng(2).integers(1, 10**6, (2000, 2)).tolist()
    for _ in range(200):
        for one, other in pairs:
            compiled(one, other)
    decisions = compiled.__ufuse_session__.decisions
    assert decisions
    assert not any(one.is_cut for one in decisions)


@pytest.mark.parametrize("several", [False, True])
def test_how_long_a_turn_takes_is_no_disturbed_turn(several, monkeypatch) -> None:
    """Of a loop that was timed in several runs the shortest tells, for `while` loops as for others."""
    clock = [0]
    monkeypatch.setattr(learned, "program_nanoseconds", lambda: clock[0])
    visits = learned.Visits()
    for call, took in enumerate((1000, 60, 90_000)):
        numbers = iter(range(10))
        for left in range(10, 6, -1):
            if several:
                visits.rest(numbers, left, call, 0.0, 0)
            else:
                visits.spent(call, 0.0)
            clock[0] += took
    assert visits.turn_ns == pytest.approx(60, abs=1)


def failing(x):
    """An error each time, behind what is captured."""
    y = outside(x) * 2.0 + 1.0
    raise KeyError(len(y))


def test_what_always_fails_is_decided_too() -> None:
    """Calls that raise were never timed, so that they were compiled for ever, whether that paid or not."""
    compiled = ufuse.compile(failing)
    x = np.ones(3)
    for _ in range(1000):
        with pytest.raises(KeyError, match="3"):
            compiled(x)
        if compiled.__ufuse_session__.decisions:
            break
    assert compiled.__ufuse_session__.decisions


def failing_seldom(x, fails):
    """An error now and then, at once: other calls take a thousand times as long."""
    if fails:
        raise KeyError(len(x))
    for _ in range(50):
        x = np.sqrt(x * x + 1.0)
    return x


def test_a_call_that_fails_tells_nothing_of_others() -> None:
    """It may end before it has done anything."""
    compiled = ufuse.compile(failing_seldom)
    x = np.ones(1000)
    for call in range(60):
        fails = call % 3 > 0
        try:
            compiled(x, fails)
        except KeyError:
            assert fails
    decisions = compiled.__ufuse_session__.decisions
    assert all(one.plain > 20_000 for one in decisions)


def table_of_lists(n):
    """A loop that may become native code, as far as can be seen at first, and does not."""
    table = [[0] * n for _ in range(n)]
    for i in range(1, n):
        for j in range(1, n):
            table[i][j] = table[i - 1][j] + j if j % 2 else table[i][j - 1]
    return table[-1][-1]


def test_frames_are_not_suspended_where_nothing_can_begin() -> None:
    """A loop's header is met in each turn; the session is asked now and then."""
    compiled = ufuse.compile(table_of_lists)
    expected = table_of_lists(200)
    for _ in range(3):
        assert compiled(200) == expected
    assert compiled.__ufuse_cache__.suspensions < 3 * 200 * 200 / 10


def test_a_loop_that_computes_nothing_is_not_unrolled_for_long() -> None:
    """Plain Python makes a list of lists in a hundredth of the time that a trace takes."""
    compiled = ufuse.compile(table_of_lists)
    compiled(1000)
    assert compiled.stats.instructions < 3000


def by_row(x):
    """A loop that is no native code: its rows go into a dict."""
    found = {}
    for place, row in enumerate(x):
        found[place] = row / np.linalg.norm(row)
    return found


def nodes_of(compiled) -> int:
    return max((len(graph.nodes) for graph in compiled.graphs), default=0)


def test_a_long_loop_is_unrolled_once_calls_have_paid_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not at the first calls, which take plain Python a hundredth of what that takes; a short loop is at once."""
    monkeypatch.setattr(budget, "OF_SESSION", Allowance(0.02, 0.0))
    monkeypatch.setattr(paid_traces, "ASK_AGAIN", 1)
    compiled, few = ufuse.compile(by_row), ufuse.compile(by_row, dynamic=True)
    few(np.ones((6, 3)))
    few(np.ones((6, 3)))
    assert nodes_of(few) >= 12
    x = np.arange(1.0, 601.0).reshape(200, 3)
    for _ in range(5):
        compiled(x)
    assert nodes_of(compiled) < 200
    for _ in range(5000):
        if nodes_of(compiled) >= 400:
            break
        compiled(x)
    assert nodes_of(compiled) >= 400
    assert all(
        a.tobytes() == b.tobytes()
        for a, b in zip(compiled(x).values(), by_row(x).values(), strict=True)
    )


def test_what_a_long_loop_will_take_is_known_after_a_few_turns() -> None:
    """Over rows, pairs and numbered ones too: a trace does not go on until it is too long."""

    def pairs(x, y):
        found = {}
        for place, (a, b) in enumerate(zip(x, y)):  # noqa: B905  as it is written
            found[place] = (a - b) * (a + b) / np.linalg.norm(a)
        return found

    compiled = ufuse.compile(pairs)
    x = np.arange(1.0, 1201.0).reshape(400, 3)
    compiled(x, x + 1)
    compiled(x, x + 1)
    assert compiled.stats.instructions < 2000


def corner(table, n):
    """The inner loop could be a nest, but takes too little time; the outer one reads all of a large table."""
    s = 0.0
    for k in range(n):
        for j in range(4):
            s += table[k % 3][j]
    return s


def test_calls_do_not_wait_for_a_nest_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that were timed again once waited for a loop that got no nest, twice as long as plain Python each."""
    monkeypatch.setattr(learned, "LONGEST_WAIT", 10_000_000)
    table = [[float(i + j) for j in range(500)] for i in range(500)]
    compiled = ufuse.compile(corner)
    expected = corner(table, 200)
    for _ in range(14_000):
        assert compiled(table, 200) == expected
    assert compiled.stats.hits < 500


def test_how_long_calls_wait_begins_anew_with_each_nest() -> None:
    """What the other loops of a function become is open then."""
    record = learned.CodeRecord()
    assert record.may_wait(1000, None)
    assert not record.may_wait(1000 + learned.LONGEST_WAIT, None)
    assert record.may_wait(1000 + learned.LONGEST_WAIT, 20)
    assert record.may_wait(1001 + learned.LONGEST_WAIT, None)


def each_pair(x):
    found = np.empty_like(x)
    for i, j in itertools.product(range(x.shape[0]), range(x.shape[1])):
        found[i, j] = x[i, j] * i + j
    return found


def each_index(x):
    found = np.empty_like(x)
    for i, j in np.ndindex(x.shape):
        found[i, j] = x[i, j] * i + j
    return found


def spread(row):
    return row.max() - row.min()


def spread_along(x):
    return np.apply_along_axis(spread, 1, x)


def spread_of_all(x):
    return np.array(list(map(spread, x)))


def spreads(rows):
    """A generator that counts for itself: nothing tells how many it gives."""
    place = 0
    while place < len(rows):
        yield spread(rows[place])
        place += 1


def spread_of_each(x):
    return list(spreads(x))


@pytest.mark.parametrize(
    "function", [each_pair, each_index, spread_along, spread_of_all, spread_of_each]
)
def test_first_calls_over_many_items_are_not_traced_for_long(function) -> None:
    """Whatever gives the items: an `itertools` object, one that asks another, a generator, a function of NumPy's."""
    compiled = ufuse.compile(function)
    x = np.arange(2400.0).reshape(60, 40)
    assert repr(compiled(x)) == repr(function(x))
    assert compiled.stats.instructions < 2500


def test_a_trace_that_made_what_it_cannot_hand_on_is_not_shortened_step_by_step() -> None:
    """What the first instruction has made is there however early the trace ends."""
    compiled = ufuse.compile(each_pair)
    compiled(np.ones((60, 40)))
    assert compiled.stats.instructions < 500


def test_plain_turns_are_not_stopped_within_what_a_graph_runs_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Code that suspends a frame in front of each instruction takes longer to make than the loop."""
    caplog.set_level(logging.DEBUG, logger="ufuse.bytecode")
    compiled = ufuse.compile(each_pair)
    compiled(np.ones((60, 40)))
    assert 0 < len([one for one in caplog.records if "resumes" in one.getMessage()]) < 10


def test_the_log_says_what_was_found(caplog: pytest.LogCaptureFixture) -> None:
    """With both times."""
    compiled = ufuse.compile(recurrence)
    with caplog.at_level("INFO", "ufuse.times"):
        compiled(np.ones(3000))
    assert any("is given back: a turn takes" in text for text in caplog.messages)


def test_explain_shows_plain_pythons_time_and_what_was_given_back() -> None:
    """A loop that was given back says what a turn takes plain, and took in graphs."""
    report = ufuse.explain(recurrence, np.ones(30_000))
    assert report.plain_seconds > 0
    assert any(found.line and found.way == "plain" for found in report.decisions)
    text = str(report)
    assert text.startswith("recurrence() runs as plain Python: its loop has no native code.")
    assert "it runs as plain Python, " in text
    assert "a turn; as graphs a turn took " in text


def test_calls_within_one_that_rests_are_part_of_it() -> None:
    """Compiled runs that are disturbed rest, plainly: what such a call calls is no sample of how long calls take."""

    @ufuse.compile
    def number(n: int, known: dict[int, int]) -> int:
        if n < 2:
            return n
        if n not in known:
            known[n] = number(n - 1, known) + number(n - 2, known)
        return known[n]

    for _ in range(3000):
        assert number(60, {}) == 1548008755920
    decisions = number.__ufuse_session__.decisions
    assert decisions
    assert {found.way for found in decisions} == {"plain"}

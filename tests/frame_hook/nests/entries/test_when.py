"""When loops become native, in functions that are timed: whatever their sizes, after a few calls, and they stay so."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import operator
import time
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import ufuse
from benchmarks.cases.loops.solvers import pagerank_sparse, rosenbrock
from benchmarks.cases.loops.tables import viterbi
from tests.support.nests.native_loops import loops_of
from ufuse import decorator
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.entries.learned import CodeRecord, Visits
from ufuse.frame_hook.nests.entries.choice import NOW, Loops
from ufuse.frame_hook.nests.entries.screening import written_slots
from ufuse.frame_hook.nests.known.refusals import refusal_of
from ufuse.frame_hook.session import COSTLY, REFUSING

pytest.importorskip("llvmlite")

SECONDS = 10  # at most, until a loop is native


@pytest.fixture(autouse=True)
def _measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decorator, "MEASURING", True)


def folded(sequence):
    """The inner loops have no turns in the first turn of the outermost."""
    n = len(sequence)
    table = np.zeros((n, n), dtype=np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def orthonormal(a):
    """Several loops in a turn, with statements between them."""
    q = a.copy()
    rows, columns = q.shape
    for k in range(columns):
        total = 0.0
        for i in range(rows):
            total += q[i, k] * q[i, k]
        for i in range(rows):
            q[i, k] /= total
        for j in range(k + 1, columns):
            total = 0.0
            for i in range(rows):
                total += q[i, k] * q[i, j]
            for i in range(rows):
                q[i, j] -= q[i, k] * total
    return q


def heated(grid, steps):
    """Few turns in each of four loops."""
    n = grid.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    grid[i, j, k] += 0.1 * (grid[i + 1, j, k] - grid[i - 1, j, k])
    return grid


RNG = np.random.default_rng(5)
STARTS = np.concatenate([[0], np.cumsum(RNG.integers(0, 10, 500))])
CASES = {
    "inner loops without turns": (folded, (RNG.integers(0, 4, 8),)),
    "several loops in a turn": (orthonormal, (RNG.random((45, 40)),)),
    "few turns": (heated, (RNG.random((6, 6, 6)), 3)),
    "more turns": (heated, (RNG.random((20, 20, 20)), 3)),
    "no value before the first turn": (rosenbrock, (-1.2, 1.0, 2000)),
}


def is_native_for_long(turns: list[int]) -> bool:
    """Whether the last five calls had native turns, and one twenty calls ago; those between may be timed in plain Python."""
    last = turns[-6:]
    return len(turns) > 20 and turns[-20] > 0 and all(map(operator.lt, last, last[1:]))


@pytest.mark.parametrize("case", CASES)
def test_the_outermost_loop_becomes_native_and_stays_so(case) -> None:
    """Soon, and no graphs of parts of it are made before."""
    function, arguments = CASES[case]
    compiled = ufuse.compile(function)
    end = time.perf_counter() + SECONDS
    turns: list[int] = []
    while time.perf_counter() < end and not is_native_for_long(turns):
        compiled(*arguments)
        turns.append(loops_of(compiled)[0].turns)
    assert is_native_for_long(turns), turns[-30:]
    inside = range(loops_of(compiled)[0].line + 1, function.__code__.co_firstlineno + 30)
    session = compiled.__ufuse_session__
    before_and_behind = {0, *session.record(function.__code__).ends}
    known = [one for one in session.specialisations if one.position not in before_and_behind]
    assert not [one for one in known if one.nest is None and one.line in inside]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (viterbi, (RNG.integers(0, 5, 800), RNG.random(4), RNG.random((4, 4)), RNG.random((4, 5)))),
        (pagerank_sparse, (STARTS, RNG.integers(0, 500, STARTS[-1]), 0.85, 1e-10)),
    ],
    ids=["few turns", "a graph in each turn"],
)
def test_an_outermost_loop_becomes_native_though_one_inside_may_have_been_first(
    function, arguments
) -> None:
    """Its turns were not seen any more where those inside it ran as machine code: so it was taken to be short."""
    compiled = ufuse.compile(function)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end and not turns_of_longest(compiled):
        compiled(*arguments)
    assert turns_of_longest(compiled)


def turns_of_longest(compiled) -> int:
    """How many turns of the loop with the most lines ran as machine code."""
    longest = max(loops_of(compiled), key=lambda one: one.last_line - one.line, default=None)
    return 0 if longest is None else longest.turns


def test_a_trace_ends_before_a_long_loop() -> None:
    """Not behind its first turn; a short one is unrolled."""

    def scaled(x, n):
        y = x * 2.0
        for i in range(n):
            y[i] = y[i] * 0.5 + i
        return y

    for n, whole in ((3, True), (90, False)):
        compiled = ufuse.compile(scaled)
        compiled.reset()
        compiled(np.ones(100), n)
        first = compiled.__ufuse_session__.specialisations[0]
        assert (first.ends_with is None) is whole
        if not whole:
            assert len(first.graph.nodes) <= 3


def settled(x, most):
    """A `while` loop whose turn is long."""
    change, turns = 1.0, 0
    while change > 1e-9 and turns < most:
        above, below = np.maximum(x, 1.0), np.minimum(x, 9.0)
        new = x * 0.25 + above * 0.5 + below * 0.25
        new = new - new * 0.01 + 0.02
        change = np.abs(new - x).max()
        x = new
        turns += 1
    return x, turns


def test_a_trace_ends_before_a_while_loop() -> None:
    """Not behind a long turn, until the loop is seen to turn but once a call: then graphs reach into it."""
    compiled = ufuse.compile(settled)
    for most in (1, 9):
        compiled.reset()
        for call in range(4):
            compiled(np.arange(9.0), most)
            reaches = any("maximum" in str(graph) for graph in compiled.graphs)
            assert reaches is (most == 1 and call == 3)


def test_a_long_run_that_does_not_pay_is_not_stopped_at_each_turn() -> None:
    """Its header is not looked at again before it ends: suspensions would take longer than the turns."""

    def counted(x):
        n = 0
        for i in range(len(x)):
            n += x[i]
        return n

    class Dear:
        """Native code whose making takes so long that it never pays."""

        def nest_seconds(self) -> float:
            return 1e6

    compiled = ufuse.compile(counted)
    compiled.reset()
    session = compiled.__ufuse_session__
    session.loops.maker = Dear()
    x = np.ones(200_000)
    assert compiled(x) == 200_000
    assert compiled.__ufuse_cache__.suspensions < 20_000  # a tenth of the turns


def counted_words(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def of_keys(table):
    found = []
    for key in table:
        found.append(repr(key))
    return found


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (counted_words, ["a", "b", "c"] * 7000),
        (counted_words, tuple("abc" * 7000)),
        (of_keys, dict.fromkeys(range(20_000))),
    ],
)
def test_a_loop_over_what_no_nest_goes_over_is_not_stopped_at_each_turn(function, given) -> None:
    """Neither in the first call nor in the next ones."""
    compiled = ufuse.compile(function)
    for _ in range(3):
        assert compiled(given) == function(given)
    assert compiled.__ufuse_cache__.suspensions < 500


def test_where_an_outer_loop_is_given_up_the_inner_becomes_native() -> None:
    """Frames stop at its header again."""

    def swept(a, n):
        for _ in range(n):
            for i in range(1, len(a)):
                a[i] = a[i - 1] * 0.5 + 1.0
        return a

    compiled = ufuse.compile(swept)
    compiled.reset()
    a, begun = np.ones(20_000), time.monotonic()
    cache, session = compiled.__ufuse_cache__, compiled.__ufuse_session__
    outer, _ = sorted(written_slots(swept.__code__))
    while not cache.entries(outer):
        compiled(a, 5)
        assert time.monotonic() - begun < SECONDS
    (entry,) = cache.entries(outer)
    declined = SimpleNamespace(
        data=entry.data, declined=100, hits=100, valid=True, artefact=None, is_loop=True
    )
    session.eager_run(cache, outer, declined)
    cache.remove(outer, entry)
    while not loops_of(compiled)[1].turns:
        compiled(a, 5)
        assert time.monotonic() - begun < 2 * SECONDS


def over_elements(x):
    s = 0.0
    for v in x:
        s = s * 0.5 + v
    return s


def numbered(x, y):
    s = 0.0
    for i, (v, w) in enumerate(zip(x, y, strict=False)):
        s = s * 0.5 + v * w + i
    return s


@pytest.mark.parametrize(
    ("function", "count"), [(over_elements, 1), (numbered, 2)], ids=["elements", "numbered"]
)
def test_a_loop_over_elements_is_not_unrolled(function, count) -> None:
    """Nor is its first turn traced."""
    compiled = ufuse.compile(function)
    compiled(*[np.ones(60)] * count)
    assert compiled.stats.instructions < 30


def test_products_of_matrices_of_integers_are_left_to_graphs() -> None:
    """They have faster code than NumPy, whose nests call."""

    def power(x, n):
        y = np.eye(10, dtype=np.int32)
        for _ in range(n):
            y = np.matmul(x, y)
        return y

    compiled = ufuse.compile(power)
    compiled.reset()
    x = np.ones((10, 10), dtype=np.int32)
    longest = 0
    for _ in range(5000):  # until calls have paid for a graph of all turns
        compiled(x, 100)
        graphs = [one.graph for one in compiled.__ufuse_session__.specialisations]
        longest = max(len(graph.nodes) for graph in graphs)
        if longest > 100:
            break
    assert longest > 100
    assert not sum(loop.turns for loop in loops_of(compiled))


@pytest.mark.parametrize("failures", [0, 1])
def test_a_loop_that_was_not_read_before_its_first_turn_is_read_behind_it(failures) -> None:
    """What pays by calls before is read before the first turn of a call, unless variables get their values there."""
    code = rosenbrock.__code__
    (header,) = (
        one.position for one in instructions.instructions(code) if one.opname == "FOR_ITER"
    )
    cache = SimpleNamespace(code=code, calls=9, run_ns=0, entries=lambda _: (), passed=lambda _: 0)
    record = CodeRecord()
    record.visits[header] = Visits(runs=9, begun=9, seconds=9.0, longest=5, failures=failures)
    loops = ufuse.compile(rosenbrock).__ufuse_session__.loops
    turns = iter(range(5))
    state = (*(None for _ in instructions.slot_names(code)), turns)
    asked = []
    for _ in range(2):
        asked.append(loops._put_off(cache, header, state, record) == NOW)
        next(turns)
    assert asked == [not failures, bool(failures)]


def decayed(y, n):
    t = 0.0
    while t < n:
        y = y * 0.5 + 1
        t += 1
    return y


def folded_over(y, items):
    for item in items:
        y = y * 0.5 + item
    return y


KINDS = [
    1.0,
    np.ones(4),
    2,
    np.float32(2),
    True,
    np.ones(4, np.float32),
    np.ones((2, 2)),
    1j,
    np.float64(3),
]


@pytest.mark.parametrize(
    ("function", "others"),
    [(decayed, [3000]), (folded_over, [[1.0] * 3000, [2] * 3000, np.ones(3000), (0.5,) * 3000])],
)
def test_each_kind_of_numbers_gets_native_code(function, others, monkeypatch) -> None:
    """A nest that only declines what a function is called with now is no reason to have no other."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(function)
    compiled.reset()
    for value in KINDS[: len(KINDS) // len(others)]:
        for other in others:
            before = sum(loop.turns for loop in loops_of(compiled))
            for _ in range(3):
                assert_same(compiled(value, other), function(value, other))
            assert (
                sum(loop.turns for loop in loops_of(compiled)) > before + 2900
            )  # then whole calls are native


def assert_same(found, wanted) -> None:
    assert type(found) is type(wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


def test_what_one_kind_of_numbers_is_not_read_with_others_are(monkeypatch) -> None:
    """A loop that gets no native code with some types gets it with those that come later."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(decayed)
    compiled.reset()
    for value in (1.0, Fraction(1, 3), np.ones(3, object), np.ones(4)):
        turns = sum(loop.turns for loop in loops_of(compiled))
        for _ in range(3):
            found, wanted = compiled(value, 50), decayed(value, 50)
            assert np.all(found == wanted)
    assert sum(loop.turns for loop in loops_of(compiled)) > turns


def test_a_short_loop_that_does_not_pay_yet_is_not_stopped_at_each_turn() -> None:
    """Its calls are counted as a whole."""
    compiled = ufuse.compile(folded_over)
    compiled.reset()
    items = [1.0] * 1000
    session = compiled.__ufuse_session__
    until = time.monotonic() + SECONDS
    while not session.record(folded_over.__code__).resting and time.monotonic() < until:
        compiled(1.0, items)
    (header,) = session.record(folded_over.__code__).resting
    while not any(loop.turns for loop in loops_of(compiled)) and time.monotonic() < until:
        compiled(1.0, items)
    assert header not in session.record(folded_over.__code__).resting
    assert any(loop.turns for loop in loops_of(compiled))


def test_short_inner_loops_of_one_that_gets_no_native_code_become_native() -> None:
    """Their runs end long before the session is asked again: it goes by how often their header was passed."""

    def product(a, b):
        n, m = a.shape[0], b.shape[1]
        rows = [[0.0] * m for _ in range(n)]
        for i in range(n):
            for j in range(m):
                total = 0.0
                for k in range(len(b)):
                    total += a[i, k] * b[k, j]
                rows[i][j] = total
        return rows

    a = np.arange(900.0).reshape(30, 30)
    compiled = ufuse.compile(product)
    until = time.monotonic() + SECONDS
    while not any(loop.turns for loop in loops_of(compiled)) and time.monotonic() < until:
        assert compiled(a, a) == product(a, a)
    (native,) = (loop for loop in loops_of(compiled) if loop.turns)
    assert native.line == product.__code__.co_firstlineno + 6


def three_within_one_another(x, n):
    s = 0.0
    for _ in range(n):
        for j in range(4):
            for k in range(4):
                s = s * 0.5 + x[j, k]
    return s


def test_a_loop_around_one_in_its_last_turn_comes_soon() -> None:
    """The innermost loop got a nest of its own where the next one around it had no turn left."""
    code = three_within_one_another.__code__
    headers = sorted(written_slots(code))
    cache = SimpleNamespace(code=code, given_up=lambda _: False, entries=lambda _: ())
    loops = Loops(SimpleNamespace(nest_seconds=lambda: 0.01), None, measures=False)
    record = CodeRecord()
    record.visits[headers[2]] = Visits(turn=1e-6)
    variables = [None] * len(instructions.slot_names(code))
    ranges = [iter(range(n)) for n in (500, 4, 4)]
    state = (*variables, *ranges)
    assert loops._reached_soon(cache, headers[2], state, record) == {1: headers[1], 2: headers[0]}
    assert record.visits[headers[0]].inside == 16e-6
    for _ in range(4):
        next(ranges[1])
    assert loops._reached_soon(cache, headers[2], state, record) == {2: headers[0]}


def test_where_a_trace_is_put_off_frames_still_stop_at_a_loop_that_is_not_timed_yet() -> None:
    """How long it takes was never found where a trace behind the loop inside it was put off for ever."""
    compiled = ufuse.compile(pagerank_sparse)
    session, cache, code = (
        compiled.__ufuse_session__,
        compiled.__ufuse_cache__,
        pagerank_sparse.__code__,
    )
    record = session.record(code)
    outermost = min(written_slots(code))
    inside = max(written_slots(code))
    for timed, stops in ((1, True), (9, False)):
        record.visits[outermost] = Visits(begun=1, timed=timed)
        record.put_off.add(inside)
        session._book.pass_over_loops(cache, record)
        session.resume_code(cache, inside)
        assert (outermost in record.stops[inside]) is stops


def scattered(table, x, at):
    """Which rows and columns it writes is not known before, so that a call saves the table."""
    for j in range(len(x)):
        table[at[j], at[j]] = x[j] * 2.0
    return table


@pytest.mark.parametrize("costly", [0, 30])
def test_a_loop_whose_copies_cost_too_much_says_so_and_is_tried_again(costly) -> None:
    """What a loop is declined for is its reason; it is looked at anew as those whose turns are slower."""
    compiled = ufuse.compile(scattered)
    compiled(np.zeros((3, 3)), np.ones(3), np.arange(3))
    session, cache = compiled.__ufuse_session__, compiled.__ufuse_cache__
    (header,) = written_slots(scattered.__code__)
    record = session.record(scattered.__code__)
    entry = SimpleNamespace(
        valid=True,
        declined=40,
        hits=41,
        is_loop=True,
        artefact=SimpleNamespace(costly=costly),
        data=SimpleNamespace(ran=frozenset({header})),
    )
    session.eager_run(cache, header, entry)
    assert not entry.valid
    assert record.given_up[header] == (COSTLY if costly else REFUSING)
    assert cache.given_up(header)
    assert refusal_of(COSTLY)[0] == "loop-slow"
    session.larger(cache)  # as C tells it, when calls are larger or time has passed
    assert cache.given_up(header) == (not costly)
    assert (header in record.given_up) == (not costly)


def short_searches(values, wanted):
    """The outer loop has no native code, and each search needs a few items of a list that is read as a whole."""
    found = []
    for one in wanted:
        low, high = 0, len(values)
        while low < high:
            middle = (low + high) // 2
            if values[middle] < one:
                low = middle + 1
            else:
                high = middle
        found.append(hex(low))
    return found


def chain_lengths(most):
    """Each turn of the outer loop looks for a few keys, and puts one more into the dict."""
    lengths, names = {1: 1}, []
    for first in range(2, most):
        steps, number = 0, first
        while number not in lengths:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        lengths[first] = steps + lengths[number]
        names.append(hex(first))
    return names


def long_sums(values, times):
    """Each turn of the outer loop is worth reading the list."""
    texts = []
    for first in range(times):
        total = 0
        for k in range(first % 7, len(values)):
            total += values[k] * first
        texts.append(hex(total))
    return texts


@pytest.mark.parametrize(
    ("function", "given", "turns", "pays"),
    [
        (short_searches, (list(range(100_000)), range(0, 90_000, 30)), 17 * 3_000, False),
        (chain_lengths, (12_000,), 70_000, False),
        (long_sums, (list(range(5_000)), 60), 4_997 * 60, True),
    ],
)
def test_what_arriving_at_a_loop_costs_is_weighed(function, given, turns, pays) -> None:
    """A frame whose outer loop is plain comes to the inner one often: reading a container each time may cost more."""
    compiled = ufuse.compile(function)
    for _ in range(4):
        assert compiled(*given) == function(*given)
    inner = max(compiled.loops, key=lambda loop: loop.line)
    if pays:
        assert inner.turns > 2 * turns, inner
    else:
        assert inner.turns < turns / 5, inner


def test_runs_that_are_seen_but_once_count() -> None:
    """A loop whose header is looked at once in each call takes what it took when it was timed, in every one of them."""
    visits = Visits(runs=1, seconds=2e-3)
    for call in range(1, 12):
        assert visits.rest(iter(range(5000)), 5000, call, call * 1e-3, 0) is None
    assert visits.unseen == pytest.approx(10e-3, rel=0.2)

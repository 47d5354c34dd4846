"""`if` and `while` on numbers that a graph computes: graphs end in a choice, or go on along the side that is usual.

PYTEST_DONT_REWRITE: an assertion of the program is the program's own.
"""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, RET505, SIM108, TRY301
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.forking import outcome, plain
from ufuse.frame_hook import session

X = np.arange(1.0, 6.0)
SCALE = 2
MANY = 100  # calls: until it is known which side of a branch is usual


def compared(function: Callable[..., Any], *calls: tuple[Any, ...], times: int = MANY) -> Any:
    """The function compiled, each call of which gave what plain Python gives."""
    made = ufuse.compile(function)
    for _ in range(times):
        for arguments in calls:
            assert outcome(made, *arguments) == outcome(function, *arguments)
    return made


def suspensions(made: Any, *arguments: Any) -> int:
    """How often a call leaves a Python frame for a graph."""
    before: int = made.__ufuse_cache__.suspensions
    made(*arguments)
    after: int = made.__ufuse_cache__.suspensions
    return after - before


def checks(made: Any) -> int:
    """How many branches graphs go on through."""
    return sum(node.op.name == "check" for graph in made.graphs for node in graph.nodes)


def two_sides(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def test_what_changes_while_a_longer_graph_is_made_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python code runs then: another thread or a signal handler may give a global a new value."""
    own = session.Session.grow

    def grow(self: Any, *given: Any) -> Any:
        longer = own(self, *given)
        monkeypatch.setitem(globals(), "SCALE", 3)
        return longer

    monkeypatch.setattr(session.Session, "grow", grow)
    made = ufuse.compile(scaled)
    for _ in range(MANY):
        found = made(X)
        assert plain(found) == plain(scaled(X))
    assert SCALE == 3


def scaled(x):
    y = x + SCALE
    return (y + 1) * SCALE if y[0] > 0 else y - 1


def test_both_sides_begin_without_a_python_frame() -> None:
    """The graph ends in a choice; what comes next is a graph again, whichever side it is."""
    made = compared(two_sides, (X,), (-X,))
    assert suspensions(made, X) == suspensions(made, -X) == 0
    assert not checks(made)


def test_a_side_that_only_returns_needs_no_python() -> None:
    """Entries are kept there although they compute nothing."""

    def first(x):
        if (x > 3).any():
            return 1
        return x

    made = compared(first, (X,), (-X,))
    assert suspensions(made, X) == suspensions(made, -X) == 0


def test_one_graph_goes_on_along_the_usual_side() -> None:
    """Behind some calls that took the same side the graph goes on there, and the other side is right all the same."""
    made = compared(two_sides, (X,))
    assert checks(made) == 1
    assert len(made.graphs) == 3
    compared_now = [outcome(made, one) == outcome(two_sides, one) for one in (-X, X, -X)]
    assert all(compared_now)


def test_a_branch_that_turns_is_given_up() -> None:
    """Where the usual side is no longer usual, the graph without the check runs from then on."""
    made = compared(two_sides, (X,))
    for _ in range(40):
        assert outcome(made, -X) == outcome(two_sides, -X)
    (entry,) = made.__ufuse_cache__.entries(0)
    assert entry.expects == 0
    compared_now = [outcome(made, one) == outcome(two_sides, one) for one in (X, -X)]
    assert all(compared_now)


def test_several_branches_are_one_graph() -> None:
    """One graph through several, each checked."""

    def clipped(x):
        if (x > 100).any():
            x = np.minimum(x, 100)
        if (x < -100).any():
            x = np.maximum(x, -100)
        if not np.isfinite(x).all():
            return None
        return x / 2

    made = compared(clipped, (X,))
    assert max(str(graph).count("check") for graph in made.graphs) == 3
    for odd in (X * 1000, -X * 1000, np.full(3, np.nan)):
        assert outcome(made, odd) == outcome(clipped, odd)


def test_what_raises_is_not_a_side() -> None:
    """A `raise` or a failing `assert` is expected not to come, from the first call on, in functions that are called too."""

    def checked(x):
        if (x < 0).any():
            message = "negative"
            raise ValueError(message)
        return np.sqrt(x)

    def both(x):
        y = checked(x) + checked(x + 1)
        assert np.isfinite(y).all(), "not finite"
        return y

    made = compared(both, (X,), times=3)
    assert len(made.graphs) == 1
    assert not made.breaks
    for odd in (-X, np.full(2, np.inf), X):
        assert outcome(made, odd) == outcome(both, odd)


def test_fullgraph_takes_what_raises() -> None:
    """An `if` whose side raises leaves one graph."""

    def positive(x):
        if not (x > 0).all():
            message = "too small"
            raise ValueError(message)
        return np.log(x)

    made = ufuse.compile(positive, fullgraph=True)
    assert np.array_equal(made(X), np.log(X))
    with pytest.raises(ValueError, match="too small"):
        made(-X)


def test_what_is_caught_is_found_again() -> None:
    """A `raise` that always comes is a side like others, after some calls."""

    def tried(x):
        try:
            if x.min() < 0:
                raise ValueError
            y = x + 1
        except ValueError:
            y = x - 1
        return y * 2

    made = compared(tried, (-X,), (X,))
    assert all(entry.expects == 0 for entry in made.__ufuse_cache__.entries(0))


def test_writes_come_behind_the_checks() -> None:
    """What is stored behind a branch is stored only where the side is taken."""

    def halved(x, log):
        if x.max() > 1:
            x /= 2
            log.append(x[0])
        x += 1
        return x.sum()

    def run(function: Callable[..., Any], x: np.ndarray) -> Any:
        given, log = x.copy(), [0]
        return function(given, log).tobytes(), given.tobytes(), [float(one) for one in log]

    made = ufuse.compile(halved)
    for _ in range(MANY):
        assert run(made, X) == run(halved, X)
    assert checks(made) >= 1
    for one in (X / 10, X, X / 10):
        assert run(made, one) == run(halved, one)


def test_an_element_is_stored_behind_the_checks() -> None:
    """Conditions on numbers are one piece of code over numbers; a store that is seen is another, behind all checks."""

    def counted(x):
        if x[1] > 9:
            return 1
        if x[2] > 9:
            return 2
        x[0] = x[0] + 1
        return 3

    made = compared(counted, (X,))
    longest = max(made.graphs, key=lambda graph: len(graph.nodes))
    assert longest.source().count("scalars(") == 2
    for odd in (X * 10, np.array([1.0, 2, 30]), X):
        assert outcome(made, odd) == outcome(counted, odd)


def test_a_branch_behind_a_write_is_a_choice() -> None:
    """What has been stored cannot be undone, so nothing is taken for granted behind it."""

    def stored(x):
        x += 1
        if x.sum() > 0:
            x *= 2
        return x

    made = compared(stored, (X,))
    assert not checks(made)
    assert suspensions(made, X.copy()) == 0
    assert outcome(made, -X) == outcome(stored, -X)


def test_warnings_of_the_side_not_taken_are_not_seen() -> None:
    """The graph divides by zero on a side that these arguments do not take: nobody hears of it."""

    def safe(x, y):
        if (y != 0).all():
            return x / y
        return x * 0

    made = compared(safe, (X, X))
    assert checks(made) == 1
    assert outcome(made, X, X - X) == outcome(safe, X, X - X)


def test_warnings_of_the_side_taken_are_seen_once() -> None:
    """Also where the graph had a check in front."""

    def divided(x, y):
        if x.sum() > 0:
            return x / y
        return x

    made = compared(divided, (X, X))
    odd = np.array([1.0, 0, 1, 1, 1])
    assert outcome(made, X, odd) == outcome(divided, X, odd)


def test_a_while_loop_around_graphs_has_no_frame_between() -> None:
    """Each turn ends in a choice, one side of which is the next turn."""

    def newton(a):
        x, error, turns = a, 1.0, []
        while error > 1e-9:
            y = 0.5 * (x + a / x)
            error = np.abs(y - x).max()
            turns.append(len(turns))
            x = y
        return x, turns

    made = compared(newton, (X,), times=20)
    assert suspensions(made, X) <= 1


def test_truth_of_other_numbers() -> None:
    """NaN, zeros, complex numbers, Python's own floats, `not`, `bool`, `and` and `or`."""

    def truths(x, z):
        found = []
        found.append(1 if x[0] else 2)
        found.append(not x[1])
        found.append(bool(x[2]))
        found.append((x[0] and x[1]) or x[2])
        found.append(3 if z.sum() else 4)
        found.append(5 if float(x[0]) else 6)
        return found

    values = [np.array(one) for one in ([0.0, -0.0, np.nan], [1.0, 0.0, 2.0], [np.nan, 1.0, 0.0])]
    calls = [(x, z) for x in values for z in (np.array([1j, -1j]), np.array([0, 1j]))]
    compared(truths, *calls, times=40)


def test_conditions_in_every_place() -> None:
    """`elif` with an early return, conditional expressions, comparison chains, `match`."""

    def placed(x):
        total = x.sum()
        if total < 0:
            return -x
        elif 0 <= total < 4:
            x = x + 1
        y = x * 2 if x[0] > 2 else x * 3
        match x[1] > 3:
            case True:
                y = y - 1
            case _:
                y = y + 1
        return y, None if (y > 20).any() else y.max()

    calls = [(X * k + b,) for k in (-1, 0.2, 1, 3) for b in (0, 2)]
    compared(placed, *calls, times=40)


def test_branches_inside_handlers_and_with() -> None:
    """State that a suspended frame carries stays where it is on both sides."""

    def inside(x):
        try:
            raise KeyError(1)
        except KeyError as error:
            with np.errstate(all="ignore"):
                if (x > 3).any():
                    y = x + error.args[0]
                else:
                    y = x - 1
        return y

    compared(inside, (X,), (-X,), times=20)


def test_a_report_tells_of_checks() -> None:
    """`explain` says where an `if` stays in the graph."""

    def guarded(x):
        if (x < 0).any():
            raise ValueError
        return x * 2

    text = str(ufuse.explain(guarded, X))
    assert "guarded() runs as one graph, from start to end." in text
    line = guarded.__code__.co_firstlineno + 1
    assert (
        f"  where   the condition of line {line} is false; else other graphs or plain Python"
        in text
    )


@pytest.mark.parametrize("shape", [(1,), (1, 1), ()])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
def test_arrays_of_one_element_are_true_as_it_is(shape: tuple[int, ...], dtype: str) -> None:
    """The graph reads the element; eager raises where there are more, or none."""

    def truths(x):
        found = 1 if x else 2
        return found, bool(x), not x, x + 1 if x else x

    one = np.ones(shape, dtype)
    made = compared(
        truths, (one,), (one * 0,), (np.ones(3, dtype),), (np.ones(0, dtype),), times=20
    )
    assert any("scalar.not_" in str(graph) for graph in made.graphs)


def test_a_slice_of_one_element_is_a_condition() -> None:
    """As in `if a[0:1] > 0`: the comparison is part of the graph."""

    def first(a):
        if a[0:1] > 0:
            return a + 1
        return a - 1

    made = compared(first, (X,), (-X,))
    assert suspensions(made, X) == suspensions(made, -X) == 0
    assert len(made.graphs) == 4  # two sides in turn, and both in one


def test_one_trace_goes_on_through_several_branches() -> None:
    """What entries behind a branch have seen is known when the one in front is traced once more."""

    def several(x):
        if x[0] > 10:
            return x - 10
        if x[0] > 20:
            return x - 20
        if x[0] > 30:
            return x - 30
        return x + 1

    made = compared(several, (X,))
    assert [str(graph).count("check") for graph in made.graphs] == [0, 0, 0, 0, 3]


def test_a_side_that_warns() -> None:
    """One graph goes on beside it, whatever known flag stands between; plain Python warns at the line of the call."""

    def checked(x, loud=True):
        y = x * 2
        if (y < 0).any() and loud:
            warnings.warn("negative", UserWarning, stacklevel=2)
        return y + 1

    def told(x):
        return checked(x)

    def quiet(x):
        return checked(x, loud=False)

    made, other = ufuse.compile(told), ufuse.compile(quiet)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(made(X), told(X))
            assert np.array_equal(other(-X), quiet(-X))
    assert len(made.graphs) == 1, (made.graphs, made.stats, made.breaks, made.retraces)
    assert not made.breaks
    for _ in range(3):
        with pytest.warns(UserWarning, match="negative") as found:
            assert np.array_equal(made(-X), -X * 2 + 1)
        assert [one.filename for one in found] == [__file__]

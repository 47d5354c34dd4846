"""Both sides of a branch in one graph: what can be, what is not, and that each gives what plain Python gives.

PYTEST_DONT_REWRITE: an assertion of the program is the program's own.
"""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, RET505, SIM108, TRY301
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.forking import GIVEN, X, compared, forks, outcome
from ufuse.frame_hook.code.instructions import by_position, successors
from ufuse.frame_hook.code.meeting import meeting_place
from ufuse.frame_hook.interpreter.fork_refusals import REFUSALS


def two_sides(x):
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    return y * 2


def returns_early(x):
    if x.sum() > 1:
        return x + 1
    elif x.sum() < -1:
        return x - 1
    return x * 2


def expression(x):
    return x * (2.0 if x.max() > 1 else 3.0)


def conjunction(x):
    if x[0] > 0 and x[1] > 0:
        y = x * 2
    else:
        y = x * 4
    return y


def disjunction(x):
    return x + (x[0] or x[1])


def negation(x):
    if not (x > 0).any():
        return x * 3
    return x - 3


def nested(x):
    if x[0] > 0:
        if x[1] > 1:
            y = x + 1
        else:
            y = x + 2
        y = y * 2
    else:
        y = x - 3
    return y


def several_values(x):
    if x[0] > 0:
        a, b, flag = x + 1, x[1] * 2, True
    else:
        a, b, flag = x - 1, x[2] * 3, False
    return a * b, flag


def one_side_only(x):
    y = x * 2
    if x[0] > 0:
        y = x * 3
    return y


def a_dead_variable(x):
    if x[0] > 0:
        t = x * 2
        y = t + 1
    else:
        y = x - 1
    return y


def a_fresh_array_is_changed_by_its_side(x):
    if x[0] > 0:
        y = x + 1
        y *= 2
        y[0] = 7
    else:
        y = x - 1
    return y


def views(x):
    if x[0] > 0:
        y = x[::-1] + x[0]
    else:
        y = x[::-1] - x[1]
    return y


def warns_on_one_side(x):
    if x[0] > 0:
        return np.sqrt(x)
    return x * 2


def a_result_that_nobody_needs(x):
    if x[0] > 0:
        np.sqrt(x - 0.2)
    return x + 1


def a_pair(x):
    if x[0] > 0:
        pair = x + 1, x[0]
    else:
        pair = x - 1, x[1]
    a, b = pair
    return a * b


def called(x):
    return _helper(x) - _helper(x * 2)


def _helper(x):
    if x[0] > 0:
        return x * 2 + 1
    return x * 3 - 1


def returns_what_was_given(x):
    if x[0] > 0:
        x = x * 2
    return x


def one_of_two(x):
    a, b = x * 2, x * 3
    c = a if x[0] > 0 else b
    return c + a


FORKED = [
    two_sides, returns_early, expression, conjunction, disjunction, negation, nested, several_values,
    a_dead_variable, one_side_only, a_fresh_array_is_changed_by_its_side, returns_what_was_given, one_of_two, views, warns_on_one_side, a_result_that_nobody_needs, a_pair, called,
]  # fmt: skip


@pytest.mark.parametrize("function", FORKED, ids=lambda function: function.__name__)
def test_both_sides_are_in_one_graph(function: Callable[..., Any]) -> None:
    """At once where one graph is asked for, and where the sides are taken in turn."""
    whole = ufuse.compile(function, fullgraph=True)
    for x in GIVEN:
        assert outcome(whole, x) == outcome(function, x)
    assert sum(str(graph).startswith(f"graph {function.__name__}\n") for graph in whole.graphs) == 1
    made = compared(function)
    assert forks(made)
    before = made.__ufuse_cache__.whole
    made(X)
    made(-X)
    assert made.__ufuse_cache__.whole == before + 2


def writes_what_was_given(x):
    if x[0] > 0:
        x[1] = 5
    return x + 1


def appends(x):
    found = [x]
    if x[0] > 0:
        found.append(x + 1)
    return np.stack(found)


def sets_an_item(x):
    found = {"a": x}
    if x[0] > 0:
        found["a"] = x + 1
    return found["a"] * 2


class Holder:
    """Something to set an attribute of."""

    value: Any = None


HOLDER = Holder()


def sets_an_attribute(x):
    if x[0] > 0:
        HOLDER.value = 1
    else:
        HOLDER.value = 2
    return x + HOLDER.value


def writes_a_fresh_array(x):
    y = x * 2
    if x[0] > 0:
        y[0] = 1
    return y + 1


def is_it_the_same(x):
    y = x
    if x[0] > 0:
        y = x * 2
    return y is x, y + 1


def written_behind_the_branch(x):
    y = x
    if x[0] > 0:
        y = x * 2
    y += 1
    return y


def written_by_another_name(x):
    y = a = x * 2
    if x[0] > 0:
        y = x * 3
    a += 1
    return y, a


def other_types(x):
    if x[0] > 0:
        y = x.astype("f4")
    else:
        y = x + 1
    return y


def other_shapes(x):
    if x[0] > 0:
        y = np.concatenate([x, x])
    else:
        y = x + 1
    return y


def whole_numbers(x):
    if x[0] > 0:
        n = 1
    else:
        n = 2
    return x[n:] + n


def one_array_twice(x):
    if x[0] > 0:
        y = z = x + 1
    else:
        y = x + 2
        z = x + 3
    y += 1
    return y, z


def a_view_of_what_was_given(x):
    if x[0] > 0:
        y = x[1:]
    else:
        y = x[:-1]
    y += 1
    return x


def steps_along(x):
    rows = iter([x, x + 1, x + 2])
    y = next(rows)
    if x[0] > 0:
        y = next(rows)
    return y + next(rows)


def unbound(x):
    if x[0] > 0:
        y = x + 1
    return y


def turns_a_loop(x):
    y = x
    for _ in range(3):
        if y.sum() > 100:
            break
        y = y * 2
    return y


def catches(x):
    try:
        if x[0] > 0:
            raise ValueError("positive")
        y = x + 1
    except ValueError:
        y = x - 1
    return y


def raises_on_one_side(x):
    if x[0] > 0:
        y = x + np.ones(4 if x[1] > 1 else 3)
    else:
        y = x + 1
    return y


def returns_within_errstate(x):
    with np.errstate(divide="ignore"):
        if x[0] > 0:
            return x / 2
        return x + 1


def a_match(x):
    match int(x[0] > 0):
        case 1:
            return x + 1
        case _:
            return x - 1


def an_assertion(x):
    if x[0] > 0:
        assert x[1] < 10, "large"
        y = x + 1
    else:
        y = x - 1
    return y


def known_on_one_side(x):
    small = x[1] < 10
    if x[0] > 0:
        if not small:
            raise ValueError("large")
        y = x + 1
    else:
        y = x - 1
    return y if small else y * 2


def the_same_condition_again(x):
    positive = x[0] > 0
    if positive:
        y = x + 1 if positive else x + 2
    else:
        y = x - 1 if positive else x - 2
    if positive:
        y = y * 2
    return y


def one_tuple_by_two_names(x):
    if x[0] > 0:
        pair = other = (x + 1, x[0])
    else:
        pair = other = (x - 1, x[1])
    return pair is other, pair


def a_tuple_from_before(x):
    one, two = (x * 2, x), (x * 3, x)
    pair = one if x[0] > 0 else two
    return pair is one, pair[0]


def a_tuple_of_a_tuple_from_before(x):
    one = (x * 2,)
    pairs = (one, one) if x[0] > 0 else (one, (x,))
    return pairs[0] is pairs[1], pairs, one


def one_tuple_or_two(x):
    if x[0] > 0:
        pair = other = (x + 1, x[0])
    else:
        pair = (x - 1, x[1])
        other = (x - 1, x[1])
    return pair is other, pair


ANY = [
    writes_what_was_given, appends, sets_an_item, sets_an_attribute, writes_a_fresh_array,
    other_types, other_shapes, whole_numbers, one_array_twice, a_view_of_what_was_given, steps_along, unbound,
    turns_a_loop, catches, raises_on_one_side, a_match, an_assertion, is_it_the_same, written_behind_the_branch,
    written_by_another_name, known_on_one_side, the_same_condition_again,
    one_tuple_by_two_names, a_tuple_from_before, a_tuple_of_a_tuple_from_before, one_tuple_or_two,
]  # fmt: skip


@pytest.mark.parametrize("function", ANY, ids=lambda function: function.__name__)
def test_what_is_in_no_one_graph_is_right(function: Callable[..., Any]) -> None:
    """It is as if it had not been tried."""
    compared(function)


def _to_and_fro(x, times):
    if times == 0:
        return x
    if x[0] > 0:
        return _to_and_fro(x - 1, times - 1)
    return _to_and_fro(x + 1, times - 1)


def few(x):
    return _to_and_fro(x, 4)


def too_many(x):
    return _to_and_fro(x, 9)


def one_side_counts_on(x):
    numbers = itertools.count(3)
    y = x * 2
    if x.sum() > 0:
        first = next(numbers)
        y = y + first
    else:
        y = y - 1
    return y, next(numbers)


def one_side_takes_a_pair(x):
    pairs = zip(itertools.count(), itertools.cycle("ab"), strict=False)
    if x.sum() > 0:
        next(pairs)
    return x * 2, next(pairs)


def keys_of_other_types(x):
    made = {(1,): x * 2} if x.sum() > 0 else {(True,): x * 3}
    return made, x + 1


def keys_of_other_signs(x):
    made = {0.0: x * 2} if x.sum() > 0 else {-0.0: x * 3}
    return made, x + 1


def key_that_is_exchanged(x):
    made = {1: 5}
    y = x * 2
    if x.sum() > 0:
        made[True] = made.pop(1)
    return y, list(made)


def member_that_is_exchanged(x):
    made = {1, 7}
    y = x * 2
    if x.sum() > 0:
        made.discard(1)
        made.add(True)
    return y, sorted(map(repr, made))


@pytest.mark.parametrize(
    "function",
    [
        one_side_counts_on, one_side_takes_a_pair, keys_of_other_types, keys_of_other_signs, key_that_is_exchanged,
        member_that_is_exchanged,
    ],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_what_one_side_takes_or_exchanges_is_its_own(function: Callable[..., Any]) -> None:
    """An iterator that one side has asked, and keys that are equal and not the same, are no state of both."""
    compared(function)


def test_branches_that_multiply_are_not_all_in_one_graph() -> None:
    """511 of them would take seconds."""
    assert forks(compared(few, 3)) > 10
    assert forks(compared(too_many, 3)) <= 100


def lacks(x):
    y = x - 1
    if x[0] > 1:
        y = x + {"a": 1}["b"]
    return y


# fmt: off
TOLD = {
    "changes":  (steps_along, "a side changes an iterator"),
    "types":    (other_types, "as f4[n] and as f8[n]"),
    "integers": (whole_numbers, "the sides give n whole numbers of Python's"),
    "lengths":  (appends, "the sides give a list other lengths or keys"),
    "views":    (a_view_of_what_was_given, "a side gives y a view of an array"),
    "aliases":  (one_array_twice, "the sides give z objects of which one is two on the other side"),
    "written":  (written_by_another_name, "an array that it gives is written, and may be another array"),
    "unbound":  (unbound, "only one side gives y a value"),
    "loop":     (turns_a_loop, "a loop turns in a side"),
    "nested":   (raises_on_one_side, "a branch within it cannot be in one graph"),
    "errstate": (returns_within_errstate, "a side enters or leaves `np.errstate`"),
    "raises":   (lacks, "a side raises KeyError, or catches it"),
}
# fmt: on


@pytest.mark.parametrize("code", sorted(REFUSALS.keys() - {"device"}))
def test_why_sides_are_not_in_one_graph_is_told(code: str) -> None:
    """The report has the reason, its line and what to do, though the branch has not been taken in turn.

    Where native code for whole calls is made that has no branches between graphs.
    """
    function, why = TOLD[code]
    report = ufuse.explain(function, X.copy())
    (found,) = [one for one in report.breaks if why in one.reason]
    assert found.code == "sides"
    assert found.hint == REFUSALS[code][1]
    assert found.function == function.__name__
    assert function.__code__.co_firstlineno < found.line < function.__code__.co_firstlineno + 9
    is_free = found.hint.startswith("no need to change it")  # told in short
    hint = "and nothing has to be changed:" if is_free else found.hint
    told = [text in str(report) for text in (found.reason, hint)]
    assert told == [report.whole_seconds is None] * 2


def test_what_was_there_before_is_told_by_its_type() -> None:
    """One side makes a new list, the other one keeps the list that was given: not by its name a second time."""

    def kept(x, best):
        if x.sum() > 1:
            best = [x.sum()]
        return best, x * 2

    reasons = [one.reason for one in ufuse.explain(kept, X.copy(), list(range(300))).breaks]
    assert not any("and as best" in one for one in reasons), reasons
    assert any("and as the list that was there before" in one for one in reasons), reasons


def test_why_a_side_ends_a_graph_is_told() -> None:
    """With the words of that reason, in the function where it is."""

    def speaks(x):
        if x[0] > 0:
            return said(x) + 1
        return x

    def said(x):
        print(end="")
        return x

    report = ufuse.explain(speaks, X)
    wanted = "both sides of the branch cannot be in one graph: in a side, print cannot be part of a graph"
    assert [one.reason for one in report.breaks if one.code == "sides"] == [wanted]


def chooses_in_two_functions(x):
    if x[0] > 0:
        y = _leaky(x)
    else:
        y = x - 1 if x[1] > 0 else x + 1
    return y


def _leaky(x):
    return x * 2 if x[2] > 0 else x


def test_a_report_has_the_graph_that_a_function_comes_to() -> None:
    """Both sides are in it at once, though no side was taken in turn: the report says so, and where."""
    report = ufuse.explain(two_sides, X)
    line = two_sides.__code__.co_firstlineno + 1
    assert not report.breaks
    assert str(report).startswith("two_sides() runs as one graph, from start to end.\n")
    told = "are here; one that is nearly always taken will be taken for granted"
    assert f"  where   both sides of the branch of line {line} {told}\n" in str(report)
    does = next(one for one in str(report).splitlines() if one.startswith("  does    "))
    wanted = ("add", "arithmetic on numbers", "multiply", "one of two sides", "subtract", "sum")
    assert all(one in does for one in wanted)
    text = str(ufuse.explain(chooses_in_two_functions, X))
    first = chooses_in_two_functions.__code__.co_firstlineno
    places = f"line {first + 1}, line {first + 9} and line {first + 4}"
    assert f"  where   both sides of the branches of {places} {told}\n" in text
    assert str(ufuse.compile(two_sides).trace(X)).count("branch") == 1


def test_branches_that_are_refused_take_no_tries_from_others() -> None:
    """What stands in front of many that are within one another is captured all the same."""
    lines = ["    " * (i + 1) + f"if x[0] > {i / 100}:" for i in range(30)]
    head, end = "def many(x):\n    n, y = 1.5, x * 2\n", "    " * 31 + "n = 5\n    return y * n\n"
    space: dict[str, Any] = {}
    exec(head + "\n".join(lines) + "\n" + end, space)
    report = ufuse.explain(space["many"], X)
    assert len([one for one in report.breaks if one.code == "sides"]) == 30
    assert "multiply" in str(report)


def test_why_there_is_no_one_graph_is_the_error_of_fullgraph() -> None:
    """The first one that is met."""
    with pytest.raises(ufuse.GraphBreakError, match=r"the sides give .* as f4") as caught:
        ufuse.compile(other_types, fullgraph=True)(X)
    assert caught.value.__context__ is None


def test_where_sides_meet() -> None:
    """Behind both; at the end, where one of them returns."""

    def places(function: Any) -> int | None:
        table = by_position(function.__code__)
        jump = next(one for one in table.values() if len(successors(one)) == 2)
        return meeting_place(function.__code__, *successors(jump))

    def goes_on(x):
        if x.sum() > 0:
            y = x + 1
        else:
            y = x - 1
        z = y * 2
        z = z - y * z
        return z + y * z - x  # longer than what compilers repeat behind each side

    assert places(goes_on) is not None
    assert places(returns_early) is None

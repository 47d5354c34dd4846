"""Sides of a branch that change what was there before: memory, containers, objects. Each gives what plain Python gives."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, SIM108
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.forking import (
    GIVEN,
    TIMES,
    X,
    check_where_warnings_are_errors,
    forks,
    outcome,
    plain,
)


def writes_an_element(x):
    if x[0] > 0:
        x[1] = 5
    return x + 1


def writes_all(x):
    y = x * 2
    if y.sum() > 1:
        x[:] = y
    return x


def adds_in_place(x):
    if x[0] > 0:
        x += 1
    else:
        x *= 2
    return x - 1


def writes_on_both_sides_elsewhere(x):
    y = x + 1
    if x[0] > 0:
        x[1] = y[0]
    else:
        y[1] = x[0]
        x[2] = 3
    return x * y


def writes_through_a_view(x):
    if x[0] > 0:
        x[1:] = x[:-1] + 1
    return x[::-1].sum()


def writes_an_array_of_its_own_graph(x):
    y = x * 2
    if x[0] > 0:
        y[0] = 1
        y += x
    return y + 1


def warns_before_it_writes(x):
    if x[1] > 0:
        y = np.sqrt(x)
        x[0] = 1
    else:
        y = x
    return y + x


def warns_behind_its_write(x):
    if x[1] > 0:
        x[2] = -1
        y = np.log(x)
    else:
        x[2] = -2
        y = np.sqrt(x)
    return y


def warns_behind_what_it_adds(x):
    if x[1] > 0:
        x -= 1
        y = np.log(x)
    else:
        x *= 3
        y = np.sqrt(x)
    return y


def warns_around_the_write(x):
    a = np.sqrt(x)
    if x[1] > 0:
        x[2] = 0
        b = 1 / x
    else:
        b = np.log(x)
    c = np.log(x + a)
    return a, b, c


def warns_within_a_chain_over_the_branch(x):
    a = x * 1e308
    if x[1] > 0:
        x[2] = 0
        x /= x
    return a * 10 + x


def writes_in_a_nested_branch(x):
    if x[0] > 0:
        if x[1] > 1:
            x[0] = 2
        else:
            x[0] = 3
        x[2] = 4
    return x


def several_branches_that_write(x):
    if x[0] > 0:
        x[0] = 1
    if x[1] > 0:
        x[1] = 1
    if x[2] > 0:
        x[2] = 1
    return x * 2


def writes_and_returns(x):
    if x[0] > 0:
        x[0] = 7
        return x
    x[1] = 8
    return x


def gives_what_it_writes(x):
    if x[0] > 0:
        x[0] = 7
        y = x
    else:
        y = x * 2
    return y + x


def written_twice(x):
    if x[0] > 0:
        x[0] = 7
        y = x[0] + 1
        x[0] = y
    return x


def written_before_and_behind(x):
    y = x + 1
    y[0] = 2
    if x[0] > 0:
        y[1] = y[0] * 3
    y[2] = 4
    return y, y[1]


def writes_rows(x):
    table = np.zeros((3, 3))
    if x[0] > 0:
        table[0] = x
        table[:, 1] += 1
    else:
        table[2] = x
    return table * 2, table.T


def another_type(x):
    y = np.zeros(3, "f4")
    if x[0] > 0:
        y[:] = x
    else:
        y[0] = x[1]
    return y


def fills_a_list(x):
    found = [x, x]
    if x[0] > 0:
        found[1] = x + 1
    return found[1] * 2, found


def appends_on_both_sides(x):
    found = [x]
    if x[0] > 0:
        found.append(x + 1)
    else:
        found.append(x - 1)
    return found


def sets_an_item(x):
    found = {"a": x, "b": 2.0}
    if x[0] > 0:
        found["a"] = x + 1
        found["c"] = x * 2
    else:
        found["c"] = x * 3
    return found


def makes_lists(x):
    if x[0] > 0:
        found = [x + 1, [x[0], "one"]]
    else:
        found = [x - 1, [x[1], "one"]]
    inner = found[1]
    inner.append(found[0])
    return found, inner


def makes_a_dict(x):
    if x[0] > 0:
        found = {"y": x + 1, "z": (x[0], 1.5)}
    else:
        found = {"y": x - 1, "z": (x[1], 2.5)}
    found["w"] = found["y"] * 2
    return found


Pair = namedtuple("Pair", "a b")  # noqa: PYI024  as users write it


def makes_a_named_tuple(x):
    if x[0] > 0:
        pair = Pair(x + 1, x[0])
    else:
        pair = Pair(x - 1, x[1])
    return pair, pair.a * pair.b


class Held:
    """An object with an attribute."""

    def __init__(self, value: Any) -> None:
        self.value = value


def makes_an_object(x):
    if x[0] > 0:
        held = Held(x + 1)
    else:
        held = Held(x - 1)
    return held.value * 2


def changes_an_object_of_its_own(x):
    held = Held(x)
    if x[0] > 0:
        held.value = x * 2
    return held.value + 1


SHARED = Held(0.0)
ENTRIES: dict[str, Any] = {}


def put_back() -> None:
    """Make the shared objects what they were."""
    SHARED.value = np.float64(0.25)
    ENTRIES.update(best=np.float64(0), list=[np.ones(3)])


def shared_state() -> Any:
    """What the shared objects hold."""
    return plain([SHARED.value, ENTRIES["best"], *ENTRIES["list"]])


def sets_an_attribute(x):
    if x[0] > 0:
        SHARED.value = x[0]
    else:
        SHARED.value = x[1]
    return SHARED.value * 2


def sets_an_attribute_that_it_has_read(x):
    if x.sum() > SHARED.value:
        SHARED.value = x[0]
    return SHARED.value * 2


def sets_an_entry_that_it_has_read(x):
    best = ENTRIES["best"]
    if x.sum() > best:
        ENTRIES["best"] = x.sum()
    elif x[0] > 100:
        ENTRIES["best"] = x[1]
    return best


def sets_an_item_and_an_attribute(x):
    last, value = ENTRIES["list"][0], SHARED.value
    if x[0] > 0:
        ENTRIES["list"][0] = x * 2
        SHARED.value = x[1]
    else:
        SHARED.value = x[2]
    return last, value


def reads_an_attribute_in_a_side(x):
    if x[0] > 0:
        y = x * SHARED.value
    else:
        y = x + SHARED.value
    return y


def counts_in_a_closure(x):
    count = x[1]

    def add(n):
        nonlocal count
        count += n

    if x[0] > 0:
        add(x[2])
    return count


WRITING = [
    writes_an_element, writes_all, adds_in_place, writes_on_both_sides_elsewhere, writes_through_a_view,
    writes_an_array_of_its_own_graph, gives_what_it_writes, warns_before_it_writes, warns_behind_its_write, warns_behind_what_it_adds, warns_around_the_write,
    warns_within_a_chain_over_the_branch, writes_in_a_nested_branch, writes_and_returns, written_twice,
    written_before_and_behind, writes_rows, another_type, fills_a_list, appends_on_both_sides, sets_an_item,
    makes_lists, makes_a_dict, makes_a_named_tuple, makes_an_object, changes_an_object_of_its_own,
    sets_an_item_and_an_attribute, sets_an_attribute, sets_an_attribute_that_it_has_read, reads_an_attribute_in_a_side, counts_in_a_closure,
]  # fmt: skip


@pytest.mark.parametrize("function", WRITING, ids=lambda function: function.__name__)
def test_sides_that_write_are_in_one_graph(function: Callable[..., Any]) -> None:
    """At once where one graph is asked for, and where the sides are taken in turn."""
    put_back()
    whole = ufuse.compile(function, fullgraph=True)
    for x in GIVEN:
        put_back()
        found = outcome(whole, x), shared_state()
        put_back()
        assert found == (outcome(function, x), shared_state())
    assert forks(whole)


@pytest.mark.parametrize(
    "function", [*WRITING, several_branches_that_write, sets_an_entry_that_it_has_read],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_sides_that_write_are_right_while_graphs_grow(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With entries in between that end at the branch."""
    monkeypatch.setenv("UFUSE_MEASURE", "0")
    made = ufuse.compile(function)
    for _ in range(TIMES):
        for x in GIVEN:
            put_back()
            found = outcome(made, x), shared_state()
            put_back()
            assert found == (outcome(function, x), shared_state())


def test_a_side_that_is_not_taken_sets_nothing() -> None:
    """Not even to what is there: that would undo what another thread has written meanwhile."""
    held = Held(np.float64(0.5))

    def keeps_the_largest(x, held):
        if x.max() > held.value:
            held.value = x.sum()
        return x + 1

    made = ufuse.compile(keeps_the_largest, fullgraph=True)
    made(X, held)
    assert held.value == 1.5
    (entry,) = made.__ufuse_cache__.entries(0)
    value = held.value
    made(X - 1, held)
    assert held.value is value
    assert "branch" in str(made.graphs[0])
    assert entry.data.effects == ("sets held.value",)


@pytest.mark.parametrize("function", WRITING[:16], ids=lambda function: function.__name__)
@pytest.mark.parametrize("mode", ["raise", "ignore"])
def test_sides_that_write_in_other_error_states(function: Callable[..., Any], mode: Any) -> None:
    """Where a warning is an error nothing is written that plain Python would not have written."""
    made = ufuse.compile(function, fullgraph=True)
    for _ in range(3):
        for x in GIVEN:
            with np.errstate(all=mode):
                assert outcome(made, x) == outcome(function, x)


@pytest.mark.parametrize("function", WRITING[:16], ids=lambda function: function.__name__)
def test_warnings_that_are_errors(function: Callable[..., Any]) -> None:
    """As Python's own filters make them."""
    check_where_warnings_are_errors(function)


def two_arrays(x, y):
    if x[0] > 0:
        x[:] = y * 2
    else:
        y[1] = x[2]
    return x - y


def test_arguments_that_share_memory() -> None:
    """What one side writes the other argument may show."""
    made = ufuse.compile(two_arrays)
    for turn in range(TIMES * 3):
        for overlap in (0, 1, 3):
            base = np.array([0.5, -1, 2, 3, -4, 5]) * (1 if turn % 2 else -1)
            ends = []
            for one in (made, two_arrays):
                memory = base.copy()
                ends.append(plain([one(memory[:3], memory[overlap : overlap + 3]), memory]))
            assert ends[0] == ends[1]


def test_what_may_not_be_written() -> None:
    """Only where the side is taken is it an error."""
    made = ufuse.compile(writes_an_element)
    for turn in range(TIMES * 3):
        x = X * (1 if turn % 2 else -1)
        assert outcome(made, x) == outcome(writes_an_element, x)
        x.flags.writeable = False
        ends = []
        for one in (made, writes_an_element):
            try:
                ends.append(one(x).tobytes())
            except ValueError as error:
                ends.append(str(error))
        assert ends[0] == ends[1]


def test_the_very_objects_are_changed() -> None:
    """A write in a side makes no other array of it."""
    made = ufuse.compile(writes_and_returns, fullgraph=True)
    for x in GIVEN:
        given = x.copy()
        assert made(given) is given
    made = ufuse.compile(appends_on_both_sides, fullgraph=True)
    assert made(X)[0] is X


def test_the_reference_backend_writes_nothing_where_a_side_warns() -> None:
    """It tries a graph on copies that writes in a side alone."""
    made = ufuse.compile(warns_behind_what_it_adds, fullgraph=True, backend="reference")
    for x in GIVEN:
        assert outcome(made, x) == outcome(warns_behind_what_it_adds, x)

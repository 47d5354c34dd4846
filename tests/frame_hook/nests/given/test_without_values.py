"""Native loops whose variables begin without a value, or with None, or change from a number of one type to another."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.nests.entries.entry import prepared

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 900


def best_so_far(a):
    best = None
    for i in range(len(a)):
        if a[i] > 0.5 and (best is None or a[i] > best):
            best = a[i]
            where = i
    return best, where


def none_again(a):
    last = None
    gaps = 0
    for i in range(len(a)):
        if a[i] > 1.0:
            last = i
        elif a[i] < -2.0:
            last = None
        if last is not None:
            gaps += i - last
    return last, gaps


def differences(a):
    total = 0.0
    for i in range(len(a)):
        if i > 0:
            total += abs(a[i] - before)  # type: ignore[has-type]  # noqa: F821
        before = a[i]
    return total, before


def never_bound(a):
    total = 0.0
    for i in range(len(a)):
        total += a[i]
        if total > 1e9 or i == 700:
            total += missing  # type: ignore[has-type]  # noqa: F821
        elif total < -1e9:
            missing = i  # noqa: F841
    return total


def least_of_rows(a):
    out = np.zeros(len(a) // 30)
    for k in range(len(out)):
        least = None
        for j in range(30):
            d = abs(a[30 * k + j])
            if least is None or d < least:
                least = d
        out[k] = least
    return out


def pairs(a):
    out = np.zeros((len(a) // 30, 2))
    for k in range(len(out)):
        best = (0.0, 0)
        for j in range(30):
            if a[30 * k + j] > best[0]:
                best = (a[30 * k + j], j)
        out[k] = best
    return out


def some_of_them(a):
    total = 0
    for i in range(len(a)):
        if a[i] > 1.5:
            total += a[i]
    return total


def none_is_no_number(a):
    best = None
    for i in range(len(a)):
        if a[i] > 2.0:
            best = a[i]
        if i > 800:
            best = best + 1.0
        if i == 850:
            best = None
    return best


def with_while(a):
    i, last = 0, None
    while i < len(a):
        if a[i] > 0 and (last is None or i - last > 3):
            last = i
        i += 1
    return last, i


def until_it_is_small(a):
    x = np.zeros(30)
    for step in range(40):  # noqa: B007
        change = 0.0
        for i in range(30):
            new = 0.5 * x[i] + 0.1 * a[i]
            change = max(change, abs(new - x[i]))
            x[i] = new
        if change < 1e-6:
            break
    return x, step, change


def bound_late_and_in_some_turns(a):
    total = 0.0
    for i in range(len(a)):
        total += a[i]
        if a[i] > 0.5:
            large = a[i]
        elif total < -3.0:
            small, where = 2.0 * total, i + 1000
    return total, large, small, where, i


def bound_to_what_changes(a):
    for i in range(len(a)):
        last = i
        if i % 3:
            last = a[i]
    return last, i


def bound_to_arrays(a):
    for i in range(0, len(a) - 30, 30):
        row = a[i : i + 30]
        row[0] = row[1] * 0.5
    return row, i


def over_nothing(a):
    for i in range(len(a) - 900):
        a[i] += 1.0
    return i


def over_values(a):
    total = 0.0
    for value in a:
        total += value
        if total > 30.0:
            break
    return total, value


def numbers() -> tuple[np.ndarray]:
    """Some."""
    return (np.random.default_rng(0).standard_normal(N),)


PROGRAMS = (
    best_so_far, none_again, differences, never_bound, least_of_rows, pairs, some_of_them,
    none_is_no_number, with_while, until_it_is_small, bound_late_and_in_some_turns, over_values,
)  # fmt: skip
OTHERS = bound_to_what_changes, bound_to_arrays, over_nothing


@pytest.mark.parametrize("function", PROGRAMS)
def test_results_and_errors(function) -> None:
    """Are those of plain Python, and turns are native."""
    assert native_turns(function, numbers) > 15


@pytest.mark.parametrize("function", OTHERS)
def test_what_is_no_number_of_one_type(function) -> None:
    """And loops without a turn: results and errors are those of plain Python."""
    native_turns(function, numbers)


def test_first_turns_are_native() -> None:
    """A loop whose variables get their values in it, and are read behind it, can be a nest from its first turn."""
    code = until_it_is_small.__code__
    header = next(one for one in instructions.instructions(code) if one.opname == "FOR_ITER")
    null = _hook.NULL
    known = {"a": np.ones(N), "x": np.zeros(30)}
    state = (*(known.get(name, null) for name in instructions.slot_names(code)), iter(range(40)))
    read = prepared(code, header.position, until_it_is_small, state, CodeRecord()).read
    given = {one.name for one in read.nest.given if getattr(one, "is_given", False)}
    assert not given & {"step", "change"}
    values = [set(one.values) for one in read.exits if one.position == header.position]
    slots = [instructions.slot_names(code).index(name) for name in ("step", "change")]
    assert values == [{*slots}]

"""Lists that a whole call makes, appends to and computes with are numbers in memory of the nest's own."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, B905, C416
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.nests.native_loops import called, check_kept, check_whole_call, hits

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]

X = np.linspace(-1.0, 2.0, 40)
I = np.arange(-20, 20)  # noqa: E741  (whole numbers)


def scaled(value):
    if value > 0:
        return value * value + 1.0
    return -value


def comprehension(x):
    return np.array([scaled(value) for value in x])


def filtered(x):
    return np.array([value * 2 for value in x if value > 0.5])


def appended(x):
    out = []
    for value in x:
        if value > 0:
            out.append(value)
    return np.array(out)


def begun(x):
    out = [0.0, 1.5]
    for value in x:
        out.append(float(value) + out[-1])
    return np.array(out), len(out)


def both(x):
    low, high = [], []
    for value in x:
        if value < 0.5:
            low.append(value)
        else:
            high.append(value)
    return np.array(low), np.array(high), len(low) - len(high)


def of_ints(n):
    found = [i for i in range(n) if i % 3 == 0]
    return np.array(found), sum(found)


def of_bools(x):
    return np.array([value > 0 for value in x])


def of_python_bools(x):
    return np.array([bool(value > 0) for value in x])


def of_dtype(n):
    return np.array([i * i for i in range(n)], dtype=float), np.array(
        [0.1 * i for i in range(n)], np.float32
    )


def aliased(x):
    out = []
    other = out
    for value in x:
        other.append(value)
        out.append(value + 1)
    return np.asarray(out), len(other)


def stored(x):
    out = [value for value in x]
    for i in range(1, len(out)):
        out[i] = out[i] + out[i - 1] * 0.5
    return np.array(out)


def many_lists(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        row = [abs(value) for value in a[i]]
        out[i] = max(row) - sum(row) / len(row)
    return out


def held_lists(a):
    """The list before is still there when the next is made."""
    before = [0.0]
    out = np.zeros(len(a))
    for i in range(len(a)):
        row = []
        for value in a[i]:
            row.append(float(value))
        out[i] = row[0] - before[-1]
        before = row
    return out


def hidden(x):
    value = 7.0
    out = [value * 2 for value in x]
    return np.array(out), value


def emptied(x):
    out = []
    total = 0.0
    for value in x:
        out.append(value)
        if len(out) == 3:
            total += sum(out)
            out = []
    return total, len(out)


def increasing(x):
    out = []
    for value in x:
        if not out or value > out[-1]:
            out.append(value)
    return np.array(out)


def counted(x):
    changes = []
    for i, value in enumerate(x):
        if value > 0:
            changes.append(i)
    return np.array(changes)


def backwards(x):
    out = [math.sin(value) for value in x]
    s = 0.0
    for value in reversed(out):
        s = s * 0.9 + value
    for a, b in zip(out, out):
        s += a - b
    return s


def passed_on(x):
    return np.array(_halves([value for value in x]))


def _halves(values):
    return [value / 2 for value in values]


def mixed(x):
    out = []
    for value in x:
        if value > 0:
            out.append(value)
        else:
            out.append(0)
    return np.array(out)


def mixed_ints(x):
    return np.array([max(value, 0) for value in x])


def mixed_ints_first(x):
    out = [len(x), np.int64(4)]
    for value in x:
        out.append(math.sqrt(abs(value)) if value > 0.5 else 0)
    return np.array(out), np.array(out, np.float32)


def np_append(x):
    out = np.array([])
    for value in x:
        if value > 0:
            out = np.append(out, value)
    return np.append(out, 1), np.append(x, x[:3]), np.array([], dtype=int)


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((function, (X,)) for function in (
        comprehension, filtered, appended, begun, both, of_bools, of_python_bools, aliased, stored, hidden, emptied,
        increasing, counted, backwards, passed_on, np_append,
    )),
    (comprehension, (I,)), (mixed, (X,)), (mixed_ints, (I,)), (mixed_ints_first, (X,)), (stored, (X.astype("f4"),)), (of_ints, (20,)), (of_dtype, (20,)),
    (many_lists, (X.reshape(8, 5),)), (held_lists, (X.reshape(8, 5),)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_results(number: int) -> None:
    """What a call gives is as in plain Python, and machine code does it."""
    check_whole_call(*PROGRAMS[number])


@pytest.mark.parametrize(
    "function", [comprehension, filtered, appended, increasing, counted, emptied]
)
@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5000])
def test_lengths(function: Callable[..., Any], length: int) -> None:
    """Empty lists, those of one item, and those whose memory has to grow."""
    compiled = called(function, (X,))
    given = np.sin(np.arange(1.0, length + 1.0))
    for _ in range(2):
        check_kept(function, compiled, given)
        check_kept(function, compiled, given - 2.0)


def grown_while_gone_over(x):
    out = [value for value in x]
    for place, value in enumerate(out):
        if len(out) < 100:
            out.append(value + place)
    return np.array(out)


def test_what_is_no_nest() -> None:
    """It says why, and runs as before."""
    function = grown_while_gone_over
    compiled = called(function, (X,))
    check_kept(function, compiled, X)
    assert "it goes over" in compiled.__ufuse_session__.record(function.__code__).why_not_whole


def test_lists_of_several_types() -> None:
    """An array of ints and floats is one of floats, unless there happen to be ints alone."""
    compiled = called(mixed, (X,))
    assert hits(compiled)
    for given in (X, X[:1], X[:0], -np.abs(X), X + 5.0):
        check_kept(mixed, compiled, given)


def test_doubts_are_done_again() -> None:
    """A turn that warns is plain Python's, with what was appended before."""

    def inverses(x):
        out = []
        for value in x:
            out.append(1.0 / value)
        return np.array(out)

    compiled = called(inverses, (X + 5.0,))
    given = X + 5.0
    given[17] = 0.0
    for _ in range(2):
        check_kept(inverses, compiled, given)
        check_kept(inverses, compiled, X + 5.0)

"""Variables that are bound to views in native loops: the frame gets them back as NumPy makes them."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import weakref
from contextlib import suppress

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.nests.entries.entry import prepared
from ufuse.frame_hook.nests.known.kinds import NotNativeError

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000  # turns: more than a trace unrolls


def bound_to_views(a, n):
    row, column, part = a[0], a.T[0], a[:2]
    s = 0.0
    for i in range(n):
        row = a[i % len(a)]
        row[1] += row[0] * 0.001
        column = a[::-1, i % 3]
        column[2] -= row[2] * 0.001
        part = a[1:4, None, i % 2 : 3]
        s += part[0, 0, 0]
    return a, s, row, column, part, row.base is a, column.base is a, part.strides


def exchanged(a, n):
    one, other = a[0], a[1]
    for _ in range(n):
        one[0] += other[1] * 0.25
        one, other = other, one
    return a, one, other, one.base is a


def of_the_turn_before(a, n):
    before = now = a[0]
    for i in range(n):
        now = a[i % 5]
        now[1] = before[0] * 0.5 + i
        before = now
    return a, before, now, before is now


def views_of_what_the_loop_made(a, n):
    other, part, whole = a[0], a[0], a[0]
    for i in range(n):
        whole = a[i % 5] * 2.0
        part = whole[1:]
        other = whole[:-1]
        whole = whole if i % 2 else part
    other[1] = -1.0
    return part, other, whole, part.base is other.base, part.base is whole


def stepping_to_nothing(a, n):
    part = a[0]
    s = 0
    for i in range(n):
        part = a[i % 5, i % 7 :: 2]
        s += len(part)
    return part, part.strides, s


def test_strides_of_an_empty_view() -> None:
    """NumPy's are those of the axis, whatever the step."""
    native_turns(stepping_to_nothing, lambda: (np.ones((5, 6)), N + 5))


@pytest.mark.parametrize(
    "function", [bound_to_views, exchanged, of_the_turn_before, views_of_what_the_loop_made]
)
def test_views_are_given_back(function) -> None:
    """Their memory, strides and bases are NumPy's."""
    for a in (np.linspace(0, 1, 30).reshape(6, 5), np.linspace(0, 1, 30).reshape(5, 6).T):
        assert native_turns(function, lambda a=a: (a.copy(order="K"), N)) > 100
    assert native_turns(function, lambda: (np.ones((12, 10))[::2, ::-2], N)) > 100


def not_refused(a, n):
    for i in range(n):
        b = a[:3] + i
        a[0] = b[0]
    return a


def refused(a, n):
    for i in range(n):
        b = a[:3] + i
        a[0] = str(b)
    return a


@pytest.mark.parametrize(("function", "is_read"), [(refused, False), (not_refused, True)])
def test_reading_keeps_no_array_alive(function, is_read) -> None:
    """What was read of a frame dies with the reading, not when garbage is collected; what is prepared holds no array."""
    a = np.zeros(9)
    alive = weakref.ref(a)
    found = []
    gc.disable()
    try:
        code = function.__code__
        header = next(one for one in instructions.instructions(code) if one.opname == "FOR_ITER")
        state = (a, 9, _hook.NULL, _hook.NULL, iter(range(9)))
        with suppress(NotNativeError):
            found.append(prepared(code, header.position, function, state, CodeRecord()))
        assert bool(found) == is_read
        del a, state
        assert alive() is None
    finally:
        gc.enable()


def best_of_new_arrays(x, n):
    last, best = np.zeros(len(x)), 0.0
    for i in range(n):
        new = np.minimum(last, x) + x[i % len(x)] * 1e-3
        best = max(best, new.max())
        last = new
    return last, best


def test_a_nest_goes_on_after_a_number_has_become_numpys() -> None:
    """A chunk begins with the arrays as the frame has them, and with any types that the numbers have in between."""
    x = np.linspace(0, 1, 300)
    assert native_turns(best_of_new_arrays, lambda: (x, N)) > N


def totals(x, n):
    s = 0.0
    for i in range(n):
        scaled = x * (i % 7)
        part = scaled[1:]
        s += part.sum()
    return s


def test_arrays_of_one_turn_are_neither_given_nor_made() -> None:
    """One nest does the first turn, where they are not bound yet, and turns in mid-run."""
    make = lambda: (np.linspace(0, 1, 50), N)  # noqa: E731
    assert native_turns(totals, make) > N
    compiled = ufuse.compile(totals)
    for _ in range(6):
        compiled(*make())
    (loop,) = loops_of(compiled)
    (nest,) = loop.nests
    assert [slot.name for slot in nest.arrays] == ["x"]


def seen_later(x, n):
    kept = []
    for i in range(n):
        part = x[i % 5 :]
        if i == n // 2:
            kept.append(weakref.ref(part))
        x[0] = part[0]
    return [one() is None for one in kept]


def test_an_array_that_is_watched_lives_as_long() -> None:
    """Where its death is seen plain Python goes on."""
    native_turns(seen_later, lambda: (np.linspace(0, 1, 50), N))

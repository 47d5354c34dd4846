"""List comprehensions over ranges, arrays and lists of numbers: loops that append to the list on the stack."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import hits, leave_loops, loops_of, native_turns
from tests.support.nests.reference_nests import on_the_reference
from ufuse.frame_hook.nests.known.refusals import refusal_of

pytest.importorskip("llvmlite")

N = 3000  # turns: more than a trace unrolls
FEW = (
    400 if sys.version_info >= (3, 12) else 1500
)  # of a function, as they are before, more than it inlines
RNG = np.random.default_rng(13)
FLOATS = RNG.random(N).tolist()
INTS = RNG.integers(-9, 9, N).tolist()


def polynomial(n):
    return [i * i + 3 * i - 1 for i in range(n)]


def differences(x):
    return [x[i] - x[i - 1] for i in range(1, len(x))]


def scaled(x, a, b):
    return [a * v + b for v in x]


def positive(x):
    return [v * v - 0.25 for v in x if v > 0.5]


def products(x, y):
    return [a * b + 1 for a, b in zip(x, y, strict=True)]


def numbered(x):
    return [(i + 1, v / 2, v > 0.5) for i, v in enumerate(x)]


def pairs(n, m):
    return [i * j + 1 for i in range(n) for j in range(m) if i != j]


def elements(a):
    return [v for v in a]  # noqa: C416


def rows(a):
    return [np.sqrt(row[0] * row[1]) for row in a]


def heights(n):
    def steps(k):
        count = 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            count += 1
        return count

    return [steps(k) for k in range(1, n)]


def with_what_was(x, v):
    """What a comprehension hides has its value again behind it."""
    found = [v * v + math.sqrt(v) for v in x]
    return found, v


def without(x):
    found = [w * w + math.sqrt(w) for w in x]
    try:
        return found, w  # type: ignore[name-defined]
    except NameError as error:
        return found, str(error)


def two(x):
    first = [v * v + 1 for v in x]
    second = [v / 3 + 1 for v in first]
    return first, second


def in_a_try(x):
    try:
        return [1 / (v - 2) + 1 for v in x]
    except ZeroDivisionError as error:
        return str(error)


CASES: list[tuple[Any, Any]] = [
    (polynomial, lambda: (N,)),
    (differences, lambda: (list(FLOATS),)),
    (differences, lambda: (np.array(FLOATS),)),
    (scaled, lambda: (list(FLOATS), 2.5, 1)),
    (scaled, lambda: (np.array(FLOATS), 2.5, 1)),
    (positive, lambda: (list(FLOATS),)),
    (products, lambda: (list(FLOATS), list(INTS))),
    (products, lambda: (np.array(FLOATS), list(FLOATS))),
    (numbered, lambda: (list(FLOATS),)),
    (pairs, lambda: (N, 8)),
    (elements, lambda: (np.array(FLOATS),)),
    (elements, lambda: (np.array(FLOATS, "f4"),)),
    (rows, lambda: (np.array(FLOATS * 2).reshape(-1, 2),)),
    (heights, lambda: (N // 3,)),
    (with_what_was, lambda: (list(FLOATS), "before")),
    (without, lambda: (list(FLOATS),)),
    (two, lambda: (list(FLOATS),)),
    (in_a_try, lambda: (list(FLOATS),)),
]
IDS = [f"{i}-{function.__name__}" for i, (function, _) in enumerate(CASES)]


@pytest.mark.parametrize(("function", "make"), CASES, ids=IDS)
def test_comprehensions_are_native_loops(function, make) -> None:
    """Items, their types, their order; and what a comprehension hides comes back."""
    assert native_turns(function, make, atoms=False) > N // 2


@pytest.mark.any_python
@pytest.mark.parametrize(("function", "make"), CASES, ids=IDS)
def test_the_reference_does_the_same(function, make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest of a comprehension means is what the program does."""
    leave_loops(monkeypatch)
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "N", FEW)
    for name in ("FLOATS", "INTS"):
        monkeypatch.setitem(globals(), name, globals()[name][:FEW])
    check_same(function, ufuse.compile(function), lambda: arguments(*make()), atoms=False)
    assert sum(one.turns for one in made) > 100


@pytest.mark.parametrize("place", [0, 1, N // 2, N - 1])
def test_an_error_has_the_frames_and_the_line_of_eager(place: int) -> None:
    """The turn that fails is plain Python's; what the comprehension hides is given back."""
    compiled = ufuse.compile(inverses)
    for _ in range(3):
        compiled([0.5] * N, "outside")
    assert sum(loop.turns for loop in loops_of(compiled)) > N
    items = [0.5] * N
    items[place] = 0.0
    assert compiled(items, "outside") == inverses(items, "outside")
    check_same(inverses, compiled, lambda: arguments(list(items), "outside"), atoms=False)


def inverses(items, v):
    try:
        found = [
            1 / v
            + 1
            for v in items
        ]  # fmt: skip
    except ZeroDivisionError as error:
        entries = []
        entry = error.__traceback__
        while entry is not None:
            entries.append((entry.tb_frame.f_code.co_name, entry.tb_lineno))
            entry = entry.tb_next
        return v, entries
    return v, found


def test_ints_of_more_than_64_bits_are_plain_python_s() -> None:
    """What leaves 64 bits is in doubt; turns behind it are the same, too."""
    compiled = ufuse.compile(cubes)
    assert compiled(2_095_000, 3000) == cubes(2_095_000, 3000)
    (loop,) = loops_of(compiled)
    assert loop.turns > 2000
    assert loop.doubts > 0
    for _ in range(3):
        assert compiled(2_095_000, 3000) == cubes(2_095_000, 3000)


def cubes(first, count):
    return [i * i * i + i for i in range(first, first + count)]


def test_a_number_of_the_function_around_may_change_in_each_call() -> None:
    """One nest for all, also where it lies in a cell (up to 3.11)."""
    compiled = ufuse.compile(scaled)
    for a in range(8):
        assert compiled(FLOATS, a + 0.5, 1) == scaled(FLOATS, a + 0.5, 1)
    (loop,) = loops_of(compiled)
    assert len(loop.nests) == 1
    assert loop.turns + N * hits(compiled) > 4 * N


@pytest.mark.any_python
def test_one_thing_with_each_number_of_a_list_is_left_to_plain_python() -> None:
    """To make the list's objects takes as long as all of it."""
    compiled = ufuse.compile(squares)
    for _ in range(3):
        check_same(squares, compiled, lambda: arguments(list(FLOATS)), atoms=False)
    (loop,) = loops_of(compiled)
    assert (loop.turns, loop.nests) == (0, ())
    assert refusal_of(loop.why_not)[0] == "loop-short"
    array = np.array(FLOATS)
    assert native_turns(squares, lambda: (array,), atoms=False) > N


def squares(x):
    return [v * v for v in x]


def test_a_first_call_without_items_decides_nothing() -> None:
    """The comprehension of later calls is native all the same."""
    compiled = ufuse.compile(scaled)
    assert compiled([], 2.0, 1) == []
    for _ in range(4):
        assert compiled(FLOATS, 2.0, 1) == scaled(FLOATS, 2.0, 1)
    assert sum(loop.turns for loop in loops_of(compiled)) + N * hits(compiled) > N

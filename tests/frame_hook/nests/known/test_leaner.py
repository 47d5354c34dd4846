"""Nests have nothing that nobody needs: how long ranges are where their step is known, variables that nobody reads."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, B007
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.native_loops import native_turns
from ufuse.backends.numpy.nest_code import nests
from ufuse.graph.nest import Instruction, Nest

pytestmark = pytest.mark.any_python
N = 3000  # turns: more than a trace unrolls
HIGHEST = (1 << 63) - 1


def by_one(a, n):
    s = 0.0
    for i in range(n):
        for j in range(1, n - 2):
            s = s * 0.5 + a[j]
        for _ in range(3):
            s += 1.0
    return s


def by_three(a, n):
    s = 0.0
    for i in range(n):
        for j in range(2, i % 7, 3):
            s = s * 0.5 + a[j]
        for j in range(i % 7, -1, -3):
            s = s * 0.25 + a[j]
        for j in range(5, 5, 3):
            s += 9.0
        for j in range(20, 1, -4):
            s = s * 0.125 + a[j % 9]
    return s


def by_a_number(a, n, step):
    s = 0.0
    for i in range(n):
        for j in range(i % 7, 7, step):
            s = s * 0.5 + a[j]
    return s


def without_steps(a, n):
    s = 0.0
    for i in range(n):
        for j in range(0, i % 7, i * 0):
            s += a[j]
    return s


def at_the_end(n, stop, start):
    s = 0
    for i in range(n):
        for j in range(stop - 2, stop):
            s ^= j
        for j in range(start + 2, start, -1):
            s ^= j
        for j in reversed(range(start, start + 2)):
            s ^= j
        for k, j in enumerate(range(2), stop - 1):
            s ^= j
    return s


def too_far(n, start, stop):
    s = 0
    for i in range(n):
        for j in range(start, stop, 1 << 61):
            s ^= j
    return s


def by_the_least(n, start):
    s = 0
    for i in range(n):
        for j in range(start, -9, -(1 << 63)):
            s ^= j
    return s


A = np.random.default_rng(1).random(N)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (by_one, (A, 100)),
        (by_three, (A, N)),
        (by_a_number, (A, N, 2)),
        (by_a_number, (A, N, -2)),
        (without_steps, (A, N)),
        (at_the_end, (N, 1000, -1000)),
        (at_the_end, (N, HIGHEST - 2, -HIGHEST)),
        (at_the_end, (N, HIGHEST, -HIGHEST - 1)),
        (too_far, (N, -HIGHEST, HIGHEST)),
        (by_the_least, (N, 5)),
    ],
)
def test_ranges_are_as_long_as_pythons(function: Any, given: tuple[Any, ...]) -> None:
    """By known steps and others, also where they come near the greatest integers."""
    native_turns(function, lambda: given)


def read(function: Any, given: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> Nest:
    """The nest of a function's loop."""
    made: list[Nest] = []
    own = nests.compiled_nest

    def compiled_nest(nest: Nest) -> tuple[int, object]:
        made.append(nest)
        return own(nest)

    monkeypatch.setattr(nests, "compiled_nest", compiled_nest)
    assert native_turns(function, lambda: given)
    return made[0]


def instructions(nest: Nest) -> list[Instruction]:
    """All of a nest's."""
    return [one for block in nest.blocks for one in block.instructions]


def test_a_range_by_one_takes_no_division(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length is a difference, or a number."""
    nest = read(by_one, (A, 100), monkeypatch)
    assert not {one.op for one in instructions(nest)} & {"floordiv", "abs", "doubt_if"}


def above_numbers(a, n):
    s = 0.0
    for _ in range(n):
        for j in range(len(a)):
            if a[j] > 0:
                s += a[j] * 2
    return s


def test_numbers_that_are_floats_exactly_are_no_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """An int that is written in the program is compared with a float as it is."""
    nest = read(above_numbers, (A - 0.5, 100), monkeypatch)
    assert "doubt_if" not in {one.op for one in instructions(nest)}


def divided(a, n):
    s = 0.0
    for i in range(n):
        for j in range(len(a)):
            s = s / 3 + j / 7.0
        s = s / 2
    return s


def test_numbers_that_are_not_zero_divide_without_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a divisor that is written in the program it is known."""
    nest = read(divided, (A, 100), monkeypatch)
    assert "doubt_if" not in {one.op for one in instructions(nest)}


def test_variables_that_nobody_reads_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are steps that are one number."""
    nest = read(by_one, (A, 100), monkeypatch)
    found = instructions(nest)
    names = {one.name for one in nest.others}
    assert names == {one.attributes[0] for one in found if one.op == "get"} - {
        one.name for one in nest.cells
    }
    assert not any(name.endswith(".step") for name in names)


def test_what_goes_on_by_one_cannot_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is behind the last is at most what ended the range, unless it is reversed or counts from somewhere."""
    assert any(one.is_sure for one in instructions(read(by_one, (A, 100), monkeypatch)))
    nest = read(at_the_end, (N, 1000, -1000), monkeypatch)
    sure = sum(one.is_sure for one in instructions(nest))
    turns = sum(
        one.op == "set" and one.attributes[0].endswith(".next") for one in instructions(nest)
    )
    assert 0 < sure < turns

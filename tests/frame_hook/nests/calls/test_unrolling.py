"""Inner loops over a few known numbers, whose turns are read one by one."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns

pytest.importorskip("llvmlite")

N = 1500
OFFSETS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def neighbours(cells, out):
    rows, columns = cells.shape
    for i in range(rows):
        for j in range(columns):
            count = 0
            for di in range(-1, 2):
                for dj in (-1, 0, 1):
                    if di != 0 or dj != 0:
                        count += cells[(i + di) % rows, (j + dj) % columns]
            out[i, j] = count
    return out, di, dj


def with_offsets(cells, out):
    rows, columns = cells.shape
    for i in range(rows):
        for j in range(columns):
            for di, dj in OFFSETS:
                if not (0 <= i + di < rows and 0 <= j + dj < columns):
                    continue
                if cells[i + di, j + dj] > 1:
                    break
                out[i, j] += di * 2 + dj
            else:
                out[i, j] -= 7
    return out


def left_behind(x, n):
    last, total = -5, 0
    for i in range(n):
        for last in range(3, 0, -1):
            total += last * i
            if x[i % len(x)] > 2:
                break
        for empty in range(3, 3):
            total += 10000 * empty
    return last, total


def changing_types(n):
    total = 0
    for i in range(n):
        for weight in (1, 0.5, 2):
            total = total * weight + i
        total = int(total) % 1000
    return total, weight


def with_a_loop_inside(a, n):
    total = 0.0
    for i in range(n):
        for axis in range(3):
            for k in range(i % 7):
                total += a[k, axis]
    return total


def corner(a, i):
    total = 0.0
    for y in range(2):
        for x in range(2):
            total += a[i + y, x]
    return total


def in_a_call(a, n):
    total = 0.0
    for i in range(n):
        for k in range(2):
            total += corner(a, i % 7) * k
    return total


def out_of_range(a, n):
    total = 0.0
    for i in range(n):
        for k in range(4):
            total += a[i % 3 + (i == n - 1) * 5, k]
    return total


def grid() -> np.ndarray:
    """Small numbers."""
    return np.arange(60 * 40).reshape(60, 40) * 7 % 5


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (neighbours, lambda: (grid(), np.zeros((60, 40), int))),
        (with_offsets, lambda: (grid(), np.zeros((60, 40), int))),
        (left_behind, lambda: (np.arange(5.0), N)),
        (changing_types, lambda: (N,)),
        (with_a_loop_inside, lambda: (np.random.default_rng(1).random((8, 3)), N)),
        (in_a_call, lambda: (np.random.default_rng(1).random((8, 3)), N)),
        (out_of_range, lambda: (np.random.default_rng(1).random((5, 4)), N)),
    ],
)
def test_loops_over_a_few_known_numbers(function, make) -> None:
    """Branches, `break`, `else`, what is left in the variables, types that change, errors."""
    assert native_turns(function, make) > 50


def nest_of(function, *given: Any) -> Any:
    """The first nest of a function."""
    compiled = ufuse.compile(function)
    for _ in range(2):
        compiled(*given)
    return loops_of(compiled)[0].nests[0]


def test_they_are_no_loops_of_the_nest() -> None:
    """The turns stand one behind another; but not where that is long, or a loop inside has a variable length."""
    iterators = [
        name for name in map(str, nest_of(left_behind, np.arange(5.0), N).others) if ".left" in name
    ]
    assert len(iterators) == 1
    names = {one.name for one in nest_of(in_a_call, np.ones((8, 3)), N).others}
    assert not any(".left" in name for name in names)
    names = {one.name for one in nest_of(with_a_loop_inside, np.ones((8, 3)), N).others}
    assert sum(".left" in name for name in names) == 2

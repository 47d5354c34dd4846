"""`np.pad`, and lists as operands of arrays, in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, RUF005
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import check_whole_call, native_turns

pytest.importorskip("llvmlite")

pytestmark = [pytest.mark.any_python, pytest.mark.usefixtures("loops_are_left")]


def constants(x, n):
    total = 0.0
    for i in range(n):
        one, other = np.pad(x, 1), np.pad(x, (i % 3, 2), mode="constant")
        third = np.pad(x, pad_width=i % 2)
        total += one.sum() + other.sum() * third.sum() + len(other) + len(third)
    return total, one, other, third


def edged(x, n):
    for i in range(n):
        one, other = np.pad(x, i % 4, mode="edge"), np.pad(x, (0, 3), "edge")
    return one, other, one.sum()


def wrapped(x, n):
    for i in range(n):
        one, other = np.pad(x, 1, mode="wrap"), np.pad(x, (i % 3, 2), mode="wrap")
    return one, other


def mirrored(x, n):
    for i in range(n):
        one, other = np.pad(x, 1, mode="reflect"), np.pad(x, (i % 3, 2), mode="symmetric")
        third = np.pad(x, (2, i % 2), mode="reflect")
        fourth = np.pad(x, (0, len(x) - 1), "reflect")
    return one, other, third, fourth


def by_axes(x, n):
    for i in range(n):
        one = np.pad(x, ((1, 2), (i % 2, 3)), mode="edge")
        other = np.pad(x, [(0, 1), (2, 1)], mode="reflect")
        third = np.pad(x * 2, ((1, 1),), constant_values=7)
    return one, other, third


def chosen(x, n):
    for _ in range(n):
        one = np.pad(x, 2, constant_values=-1)
    return one


FUNCTIONS = [constants, edged, wrapped, mirrored]
SHAPES = [(5,), (4, 6), (3, 4, 5), (1,), (1, 7), (2, 1)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_modes(function, shape) -> None:
    """Edges, corners included; what is too short, or nothing, NumPy repeats or refuses."""
    x = np.random.default_rng(1).normal(size=shape)
    turns = native_turns(function, lambda: (x.copy(), 40))
    assert turns > 30 or (function is not constants and min(shape) < 3)


@pytest.mark.parametrize("function", [*FUNCTIONS, chosen])
@pytest.mark.parametrize("kind", ["?", "i8", "u1", "f4", "i4"])
def test_dtypes(function, kind) -> None:
    """That of the array."""
    x = np.arange(12).reshape(3, 4).astype(kind)
    native_turns(function, lambda: (x.copy(), 40))


@pytest.mark.parametrize("function", [*FUNCTIONS, by_axes])
def test_layouts(function) -> None:
    """The result lies as NumPy has it."""
    x = np.random.default_rng(1).normal(size=(4, 6))
    for one in (x, x[:, ::2], x[::-1], np.asfortranarray(x), x.T, x[:0], x[1:2]):
        native_turns(function, lambda one=one: (one, 40))


def test_by_axes_and_constants() -> None:
    """Widths for each axis; another constant."""
    x = np.random.default_rng(1).normal(size=(4, 6))
    assert native_turns(by_axes, lambda: (x.copy(), 40)) > 30
    assert native_turns(chosen, lambda: (x.copy(), 40)) > 30


def wrong(x, n):
    for i in range(n):
        one = np.pad(x, 2 - i // 20, mode="edge")
    return one


def test_a_width_that_is_negative() -> None:
    """It raises, in that turn."""
    native_turns(wrong, lambda: (np.ones(4), 70))


def blurred(x, steps):
    for _ in range(steps):
        p = np.pad(x, 1, mode="edge")
        x = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    return x


def test_a_stencil() -> None:
    """Over many steps, and as a whole call."""
    x = np.random.default_rng(1).random((6, 9))
    assert native_turns(blurred, lambda: (x.copy(), 50)) > 40


# Lists as operands ------------------------------------------------------------------------------------------------


def walked(n):
    place = np.zeros((n, 2))
    for i in range(1, n):
        if i % 3 == 0:
            place[i] = place[i - 1] + [1, 0]
        elif i % 3 == 1:
            place[i] = place[i - 1] - (0.5, i)
        else:
            place[i] = place[i - 1] * [1.0, 2]
    return place, place[-1] + [1, 2]


def small(x, n):
    for _ in range(n):
        y = x + [1, 300]
        x = x + [0, 0]
    return x, y


def unlike(x, n):
    for i in range(n):
        y = x + ([1, 2, 3] if i > 30 else [1, 2])
    return y


def extended(x, n):
    for i in range(n):
        items = [1.0, i]
        items += x
        y = np.array(items)
    return y


def test_lists_as_operands() -> None:
    """They are arrays, of the dtype that NumPy gives them."""
    assert native_turns(walked, lambda: (60,)) > 50
    for kind in ("i1", "u1", "f4", "?", "i8"):
        native_turns(small, lambda kind=kind: (np.ones(2, kind), 50))
    native_turns(unlike, lambda: (np.ones(2), 50))
    native_turns(extended, lambda: (np.ones(2), 50))


def test_in_whole_calls() -> None:
    """A function with what only these can do."""

    def wandering(n):
        seen = set()
        place = np.zeros(2)
        for i in range(n):
            place = place + [i % 3 - 1, 0.5]
            seen.add(int(place[0]))
        return len(seen), np.pad(place, (1, 2), mode="edge")

    check_whole_call(wandering, (30,))

"""Arrays whose own elements share memory, written to: NumPy's order decides, so it is left to NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import ufuse
from tests.support.comparing.compare import MODES, check_same


def increased(x: Any) -> Any:
    """An operator in place."""
    x += 1
    return x.sum()


def given_out(x: Any) -> Any:
    """A function that writes."""
    np.add(x, 1, out=x)
    return x * 1.5


def assigned(x: Any) -> None:
    """All elements, from what they are."""
    x[...] = x * 2


def reduced(x: Any) -> None:
    """A number made of all elements."""
    x -= x.sum()


def one(x: Any) -> Any:
    """One element, which may be many."""
    x[0] += 5
    return x * 2


def every_second(x: Any) -> Any:
    """A view that may overlap itself no more."""
    x[::2] *= 3
    return x.T + 0


def stored(x: Any) -> Any:
    """What is stored is read again."""
    x[...] = np.arange(x.size, dtype=float).reshape(x.shape)
    return x + 0


def made_inside(x: Any) -> Any:
    """The array that overlaps itself is made by the function."""
    y = as_strided(x, (3,), (0,))
    y += x.ravel()[:3] + 1
    return y * 2, x + 0


def written_inside(x: Any) -> Any:
    """The same with a broadcast view that is made writeable."""
    y = np.broadcast_to(x.ravel()[:1], (4,))
    y.flags.writeable = True
    y *= 2
    y += np.arange(4.0)
    return y + 0


PROGRAMS: list[Callable[[Any], Any]] = [
    increased, given_out, assigned, reduced, one, every_second, stored, made_inside, written_inside,
]  # fmt: skip
LAYOUTS: dict[str, Callable[[], Any]] = {
    "one number": lambda: as_strided(np.arange(9.0) + 1, (6,), (0,)),
    "many of one number": lambda: as_strided(np.arange(9.0) + 1, (3000,), (0,)),
    "windows": lambda: as_strided(np.arange(9.0) + 1, (3, 4), (8, 8)),
    "windows, two apart": lambda: as_strided(np.arange(9.0) + 1, (3, 4), (16, 8)),
    "windows, turned": lambda: as_strided(np.arange(9.0) + 1, (3, 4), (8, 8)).T,
    "equal rows": lambda: as_strided(np.arange(9.0) + 1, (3, 4), (0, 8)),
    "equal columns": lambda: as_strided(np.arange(9.0) + 1, (3, 4), (8, 0)),
    "parts of numbers": lambda: as_strided(np.arange(9.0) + 1, (5,), (4,)),
    "backwards": lambda: as_strided(np.arange(9.0)[5:], (3,), (-4,)),
}
APART: dict[str, Callable[[], Any]] = {
    "dense": lambda: np.arange(12.0).reshape(3, 4),
    "reversed": lambda: np.arange(12.0).reshape(3, 4)[::-1],
    "line": lambda: np.arange(6.0),
    "line with gaps": lambda: np.arange(12.0)[::2],
    "line reversed": lambda: np.arange(6.0)[::-1],
    "block": lambda: np.arange(35.0).reshape(5, 7)[1:4, 2:6],
    "block turned": lambda: np.arange(35.0).reshape(5, 7)[1:4, 2:6].T,
}


def check_rotated(program: Callable[[Any], Any], makers: list[Callable[[], Any]]) -> None:
    """One function, called with what several make in turn."""
    # each is asked twice, for plain Python and for the compiled function
    turns = itertools.cycle([make for make in makers for _ in range(2)])
    compiled = ufuse.compile(program)
    check_same(
        program,
        compiled,
        lambda: (next(turns)(),),
        calls=len(makers),
        modes=MODES[:1],
        copies=False,
    )


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_overlapping_first(program: Any, layout: str) -> None:
    """The first call brings an array that overlaps itself, later calls bring others as well."""
    for other in APART.values():
        check_rotated(program, [LAYOUTS[layout], LAYOUTS[layout], other])


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("layout", APART)
def test_overlapping_later(program: Any, layout: str) -> None:
    """What was compiled for an ordinary array is not used for one of its rank that overlaps itself."""
    for other in LAYOUTS.values():
        check_rotated(program, [APART[layout], APART[layout], other])


@pytest.mark.parametrize("layout", sorted(APART.keys() - {"reversed"}))
@pytest.mark.parametrize("program", [increased, given_out, assigned, reduced, one, every_second])
def test_ordinary_layouts_stay_compiled(program: Any, layout: str) -> None:
    """Views that indexing makes of dense memory are written by one graph."""
    compiled = ufuse.compile(program)
    for _ in range(2):
        compiled(APART[layout]())
    assert not compiled.breaks
    assert len(compiled.graphs) == 1


def test_the_break_says_why() -> None:
    """The reason names the array and its memory."""
    compiled = ufuse.compile(increased)
    compiled(as_strided(np.zeros(1), (3,), (0,)))
    (found,) = compiled.breaks
    assert found.code == "layout"
    assert "x, whose elements share memory," in found.reason


def test_an_overlapping_array_that_is_only_read_stays_compiled() -> None:
    """Reading needs nothing."""
    compiled = ufuse.compile(lambda x: x * 2 + 1)
    compiled(as_strided(np.zeros(1), (3,), (0,)))
    assert not compiled.breaks

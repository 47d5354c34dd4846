"""Which rows of arrays the turns of a loop may write, as its nest shows it; and that no others are saved."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import ufuse
from tests.support.native_loops import loops_of
from ufuse import decorator
from ufuse.backends.numpy import nests
from ufuse.frame_hook.nests import whole

MANY = 4000  # turns that are not unrolled
COUNT, WIDTH = 60, 1 << 13
Row = tuple[int, int, int]  # axis, least, most


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loops become nests without being timed, no whole call does, and no warning is an error."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


def own(a, x, at):
    for i in range(len(x)):
        x[i] = a[i, 0]


def near(a, x, at):
    for i in range(1, len(x) - 2):
        x[i - 1] = a[i, 0]
        x[i + 2] = x[i] * 0.5


def stepped(a, x, at):
    for i in range(len(x) - 1, 0, -3):
        x[i] += a[i, 1]


def enumerated(a, x, at):
    for i, value in enumerate(x):
        a[i, 2] = value


def zipped(a, x, at):
    i = 0
    for i, value, place in zip(range(3, len(x)), x, at):  # noqa: B905  the shortest ends it
        a[i, place] = value
    return i


def later(a, x, at):
    for i in range(len(x) - 1):
        k = i
        k += 1
        x[k] = a[i, 1]


def all_along(a, x, at):
    for i in range(len(x)):
        a[i] *= 0.5
        a[i, 1:-1] = x[i]


def columns(a, x, at):
    b = a.T
    for j in range(len(x)):
        b[:, j] = x[j] * 2.0
        b[2:5, j] += 1.0


def from_inside(a, x, at):
    for i in range(2, len(x)):
        for j in range(5):
            a[i, j] = a[i - 1, j] + x[i]
            if a[i, j] > 3.0:
                continue
            a[i - 2, j] = 0.0


def windows(a, x, at):
    for i in range(len(x) - 2):
        x[i : i + 2] = a[i, :2]


def somewhere(a, x, at):
    for i in range(len(x)):
        x[at[i]] = a[i, 0]


def scaled(a, x, at):
    for i in range(len(x) // 2):
        x[2 * i] = a[i, 0]


def mirrored(a, x, at):
    for i in range(len(x)):
        x[len(x) - 1 - i] = a[i, 0]


def two_places(a, x, at):
    for i in range(len(x)):
        x[i] = a[i, 0]
        x[0] += 1.0


def two_axes(a, x, at):
    b = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        b[i, 1] = x[i]
        b[1, i] = x[i]
    return b


def indexed(a, x, at):
    for i in range(len(x)):
        a[i][at[:3]] = x[:3]
        a[at[:3], 0] = x[i]


def turned(a, x, at):
    y = x * 2.0
    for i in range(len(x)):
        x[i] = y[i] + 1.0
        x, y = y, x


def while_loop(a, x, at):
    i = 0
    while i < len(x):
        x[i] = a[i, 0]
        i += 1


def rebound_number(a, x, at):
    k = 0
    for i in range(len(x)):
        x[k] = a[i, 0]
        k = (k * 2 + 1) % len(x)


CASES: dict[Callable[..., Any], set[Row]] = {
    own: {(0, 0, 0)},
    near: {(0, -1, 2)},
    stepped: {(0, 0, 0)},
    enumerated: {(0, 0, 0)},
    zipped: {(0, 0, 0)},
    later: {(0, 1, 1)},
    all_along: {(0, 0, 0)},
    columns: {(1, 0, 0)},
    from_inside: {(0, -2, 0), (1, 0, 0)},  # the inner loop becomes a nest before the outer one
    windows: set(),
    somewhere: set(),
    scaled: set(),
    mirrored: set(),
    two_places: set(),
    two_axes: set(),
    indexed: set(),
    turned: set(),
    while_loop: set(),
    rebound_number: set(),
}


def arguments() -> tuple[Any, ...]:
    """Numbers, and places that stay inside."""
    a = np.random.default_rng(3).random((MANY, 8))
    return a, np.linspace(0.0, 1.0, MANY), np.arange(MANY) * 7 % 8


@pytest.mark.parametrize("function", CASES)
def test_rows(function, monkeypatch) -> None:
    """Rows are known where all stores are near the place of one iterator, along one axis."""
    found: list[Any] = []
    own_rows = nests.written_rows

    def noted(*given: Any) -> Any:
        found.append(own_rows(*given))
        return found[-1]

    monkeypatch.setattr(nests, "written_rows", noted)
    compiled = ufuse.compile(function)
    for _ in range(3):
        given, expected = arguments(), arguments()
        function(*expected)
        compiled(*given)
        assert [one.tobytes() for one in given] == [one.tobytes() for one in expected]
    assert sum(loop.turns for loop in loops_of(compiled)) > 0
    assert {(one.axis, one.least, one.most) for rows in found for one in rows} == CASES[function]


def wide(a, by, place):
    for i in range(len(by)):
        a[i] = a[i] * 0.5 / by[i]
        a[i + place[i], 1] += 1.0
    return a


def both_ways(a, by, place):
    b = a[::-1, ::2]
    for i in range(len(by) - 1, -1, -1):
        b[i] = b[i] * 0.5 / by[i]
        a[i + place[i], :5] -= b[i, :5]
    return a


def outcome(function: Callable[..., Any], odd: int, what: str) -> list[Any]:
    """What a call gives, raises, warns of and leaves in memory."""
    a = np.linspace(1.0, 2.0, COUNT * WIDTH).reshape(COUNT, WIDTH)
    by, place = np.full(COUNT, 2.0), np.zeros(COUNT, dtype=np.int64)
    if what == "error":
        place[odd] = COUNT
    else:
        by[odd] = 0.0
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            function(a, by, place)
        except IndexError as error:
            found.append(str(error))
    return [*found, [(str(one.message), one.lineno) for one in heard], a.tobytes()]


@pytest.mark.parametrize("what", ["warning", "error"])
@pytest.mark.parametrize("function", [wide, both_ways])
def test_every_turn_of_several_chunks(function, what) -> None:
    """Where chunks save some rows of a large array, an odd turn anywhere leaves all of it as plain Python does."""
    compiled = ufuse.compile(function)
    for odd in range(COUNT):
        if odd % 4 == 0:  # a loop that is odd in each call is left to plain Python after a while
            compiled.reset()
            outcome(compiled, COUNT - 1, what)
        assert outcome(compiled, odd, what) == outcome(function, odd, what), odd
    assert sum(loop.turns for loop in loops_of(compiled)) > 0

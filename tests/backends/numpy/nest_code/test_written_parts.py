"""Which parts of arrays the turns of a loop may write, as its nest shows it; and that no others are saved."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import ufuse
from tests.support.nests.native_loops import leave_loops, loops_of
from ufuse import decorator
from ufuse.backends.numpy import nests
from ufuse.frame_hook.nests.entries import choice, whole

MANY = 4000  # turns that are not unrolled
COUNT, WIDTH = 60, 1 << 13


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


def in_one_row(a, x, at):
    b, k = a.T, int(at[3])
    for j in range(len(x)):
        b[k, j] = x[j]
        b[-1, j] = x[j]


def flattened(a, x, at):
    k, width = int(at[3]), int(at[2])
    for j in range(len(x) // 4):
        x[k * width + 3 * j] = a[j, 0]


def sliced(a, x, at):
    for i in range(len(x)):
        a[i, 2:5] = x[i]


def many_places(a, x, at):
    for i in range(len(x)):
        a[i, 0] = a[i, 1] = a[i, 2] = x[i]
        a[i, at[i]] = x[i]
        a[i, -1] += 1.0


CASES: dict[Callable[..., Any], set[str]] = {
    own: {"#1[0: turn.next]"},
    near: {"#1[0: turn.next - 1 to turn.next + 2]"},
    stepped: {"#1[0: turn.next]"},
    enumerated: {"#0[0: turn.count.next, 1: 2]"},
    zipped: {"#0[0: turn.0.next]"},
    later: {"#1[0: turn.next + 1]"},
    all_along: {"#0[0: turn.next, 1: 0 to 0.1 - 1]"},
    columns: {"#1[0: 2 to 4, 1: turn.next]", "#1[0: 0 to 1.0 - 1, 1: turn.next]"},
    from_inside: {  # the inner loop becomes a nest before the outer one
        "#0[0: i - 2 to i, 1: turn.next]",
        "#0[0: turn.next - 2 to turn.next]",
    },
    windows: set(),
    somewhere: set(),
    scaled: {"#1[0: 2*turn.next]"},
    mirrored: {"#1[0: 1.0 - turn.next - 1]"},
    two_places: {"#1[0: turn.next]", "#1[0: 0]"},
    two_axes: {"#1[0: 1, 1: turn.next]", "#1[0: turn.next, 1: 1]"},
    indexed: set(),
    turned: set(),
    while_loop: {"#1[0: i]"},
    rebound_number: set(),
    in_one_row: {"#1[0: k, 1: turn.next]", "#1[0: -1, 1: turn.next]"},
    flattened: {"#1[0: k*width + 3*turn.next]"},
    sliced: {"#0[0: turn.next, 1: 2 to 4]"},
    many_places: {"#0[0: turn.next]", "#0[0: turn.next, 1: -1]", "#0[0: turn.next, 1: 0 to 2]"},
}


def arguments() -> tuple[Any, ...]:
    """Numbers, and places that stay inside."""
    a = np.random.default_rng(3).random((MANY, 8))
    return a, np.linspace(0.0, 1.0, MANY), np.arange(MANY) * 7 % 8


@pytest.mark.parametrize("function", CASES)
def test_parts(function, monkeypatch) -> None:
    """Parts are known where stores are at places that turns change alike, or not at all."""
    found: list[Any] = []
    own_parts = nests.written_parts

    def noted(*given: Any) -> Any:
        found.append(own_parts(*given))
        return found[-1]

    monkeypatch.setattr(nests, "written_parts", noted)
    compiled = ufuse.compile(function)
    for _ in range(3):
        given, expected = arguments(), arguments()
        function(*expected)
        compiled(*given)
        assert [one.tobytes() for one in given] == [one.tobytes() for one in expected]
    assert sum(loop.turns for loop in loops_of(compiled)) > 0
    assert {str(one) for reach in found for one in reach.parts} == CASES[function]


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


# --- random places

SHAPE = (7, 24, 9)
HEADERS = (
    "for j in range(n):",
    "for j in range(n - 1, -1, -1):",
    "for j in range(1, n, 2):",
    "for j, value in enumerate(x):",
    "for k, j in zip(range(2, n), range(n)):",
    "while j < n:",
)
# By axis: places along it, most of them inside.
PLACES = (
    ("0", "-1", "k % 7", "p", "p - 1", "-p", "j // 9", "n - 20", "6", "at[j]"),
    ("j", "j - 1", "n - 1 - j", "j % 24", "k", "2 * p + 1", "j // 2", "-j", "2 * j - n", "-1", "3"),
    ("0", ":", "p:", ":q", "p:q", "::2", "::-1", "q", "j % 9", "-1", "p - q", "j", "p + j"),
)


def random_program(draw: random.Random) -> str:
    """A loop that stores at some places of an array, and warns or fails in a turn."""
    lines = []
    for _ in range(draw.choice((1, 1, 2, 3, 9))):
        places = [draw.choice(axis) for axis in PLACES]
        value = draw.choice(("x[j] * 2.0", "x[j] / by[j]", "float(j)", "x[p] / by[j]"))
        sign = draw.choice(("=", "=", "+="))
        inner = draw.random() < 0.2
        places[2] = "m" if inner else places[2]
        statement = f"a[{', '.join(places)}] {sign} {value}"
        lines += ["for m in range(q):", f"    {statement}"] if inner else [statement]
    header = draw.choice(HEADERS)
    lines += ["j += 1"] * header.startswith("while")
    body = "".join(f"        {line}\n" for line in lines)
    return f"def f(a, x, by, at, n, p, q):\n    j = k = 0\n    {header}\n{body}    return j, k\n"


def result(function: Callable[..., Any], given: tuple[Any, ...], odd: int | None) -> list[Any]:
    """What a call gives, raises, warns of and leaves in memory."""
    a, by = np.arange(float(np.prod(SHAPE))).reshape(SHAPE), np.full(24, 2.0)
    if odd is not None:
        by[odd] = 0.0
    x, at = np.linspace(-1.0, 1.0, 24), np.arange(24) * 5 % 7
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="warn"):
        warnings.simplefilter("always")
        try:
            found.append(function(a, x, by, at, *given))
        except IndexError as error:
            found.append(str(error))
    return [*found, [(str(one.message), one.lineno) for one in heard], a.tobytes()]


@pytest.mark.parametrize("seed", range(40))
def test_random_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a loop stores, a turn that warns or fails leaves memory as plain Python does."""
    leave_loops(monkeypatch)
    monkeypatch.setattr(choice, "READ_AFTER", 0.0)
    draw = random.Random(seed)  # noqa: S311  not for secrets
    names: dict[str, Any] = {}
    text = random_program(draw)
    exec(compile(text, f"<places {seed}>", "exec"), names)
    compiled = ufuse.compile(names["f"])
    for turn in range(9):
        given = (draw.choice((24, 24, 23)), draw.choice((0, 1, 3, 6)), draw.choice((1, 4, 8)))
        odd = None if turn < 2 else draw.randrange(24)
        if turn == 6:
            compiled.reset()
        assert result(compiled, given, odd) == result(names["f"], given, odd), text


def in_a_row(table, x, p):
    for j in range(1, len(x)):
        table[p, j] = x[j] * 2.0
        table[-1, j - 1] = x[j]


def test_single_rows_of_a_large_table() -> None:
    """Of a large array nothing but what is written is saved, so that a loop over a row is native code."""
    compiled = ufuse.compile(in_a_row)
    for turn in range(4):
        table, x = np.zeros((2000, 2000)), np.linspace(0.0, 1.0, 2000)
        compiled(table, x, turn)
        expected = np.zeros((2000, 2000))
        in_a_row(expected, x, turn)
        assert table.tobytes() == expected.tobytes()
    assert sum(loop.turns for loop in loops_of(compiled)) > 2 * 1900

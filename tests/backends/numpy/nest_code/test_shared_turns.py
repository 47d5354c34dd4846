"""Turns that do not depend on each other, which threads share: nothing shows how many there are."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import ufuse
from tests.support.alarms import on_alarm
from tests.support.nests.native_loops import loops_of, native_turns
from tests.support.nests.nest_code import Code, array, number
from tests.support.nests.sharing import always_shared, in_python_threads, numbers, shared_turns
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.nest_passes.independence import OwnPart, outermost_turn, own_parts
from ufuse.graph.nest_slots import RangeSlot

THREADS = (2, 3, 4)
LONG = 3000  # turns: more than are tried at once


@pytest.fixture(autouse=True)
def all_are_shared() -> Iterator[None]:
    """Threads share whatever they can."""
    with always_shared(threads=3):
        yield


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """What most functions are called with."""
    return numbers(LONG, 3), numbers(LONG, 4)


def distances(x, out):
    for i in range(len(x)):
        for j in range(out.shape[1]):
            total = 0.0
            for k in range(x.shape[1]):
                step = x[i, k] - x[j, k]
                total += step * step
            out[i, j] = np.sqrt(total)


def in_place(x, out):
    for i in range(len(out)):
        for j in range(1, out.shape[1]):
            out[i, j] = out[i, j - 1] * 0.5 + x[i, 0]


def columns(x, out):
    out = out.T
    for i in range(out.shape[1]):
        for j in range(1, out.shape[0]):
            out[j, i] += out[j - 1, i] + x[j, 1]


def backwards(x, out):
    for i in range(len(out) - 2, 1, -3):
        out[i + 1, 0] = out[i + 1, 1] + x[i, 0] + i


def two_arrays(x, out):
    other = np.zeros(len(x))
    for i in range(len(x)):
        other[i] = x[i, 0] + x[i, 1]
        out[i, 0] = other[i] * 2.0
    return other


def last_values(x, out):
    k, y = 0, 0.0
    for i in range(len(x)):
        k = i * 2
        y = x[i, 0] + k
        out[i, 2] = y
    return i, k, y


def zipped(x, out):
    for i, (a, b) in enumerate(zip(x[:, 0], x[:, 1])):  # noqa: B905
        out[i, 0] = a * b + i


def rows_of_two(x, out):
    for row, to in zip(x, out):  # noqa: B905
        to[0] = row[0] + row[1]


def branches(x, out):
    for i in range(len(x)):
        y = x[i, 0] if x[i, 0] < 0.5 else -x[i, 1]
        while y < 2.0:
            y = y + 0.25
        out[i, 1] = y


def functions(x, out):
    for i in range(len(x)):
        out[i, 0] = np.exp(x[i, 0]) + np.sin(x[i, 1]) ** 2


def complex_rows(x, out):
    z = np.zeros(len(x), complex)
    for i in range(len(x)):
        z[i] = complex(x[i, 0], x[i, 1])
        z[i] = z[i] * z[i] + 1.0
    return z


def rows(x, out):
    for i in range(len(out)):
        row = out[i] - out[i].mean()
        out[i] = row / np.sqrt((row * row).sum()) + x[0, 0]


def reduced(x, out):
    for i in range(len(out)):
        out[i, 0] = np.exp(x[i]).sum() + np.maximum(x[i], 0.5).max()


def all_rows(x, out):
    x = x[:50]
    for i in range(len(out)):
        out[i, 1] = np.sqrt(((x - x[i % 50]) ** 2).sum(axis=1)).min()


def neighbours(x, out):
    for i in range(1, len(x) - 1):
        out[i, 1:-1] = 0.25 * (x[i - 1, :2] + x[i + 1, :2] + x[i, 1:] + x[i, :-1])


def products(x, out):
    for i in range(len(x)):
        out[i, 2] = x[i] @ x[0]
        out[i, :3] = x[:3] @ x[i]


def parts_of_columns(x, out):
    out = out.T
    for i in range(out.shape[1]):
        out[1:, i] = out[:-1, i] * x[i, 0]


INDEPENDENT = (
    rows,
    reduced,
    all_rows,
    neighbours,
    products,
    parts_of_columns,
    distances,
    in_place,
    columns,
    backwards,
    two_arrays,
    last_values,
    zipped,
    rows_of_two,
    branches,
    functions,
    complex_rows,
)


@pytest.mark.parametrize("function", INDEPENDENT)
@pytest.mark.parametrize("threads", THREADS)
def test_independent_turns(function: Callable[..., None], threads: int) -> None:
    """They are shared, and give plain Python's bits."""
    _tiles.set_threads(threads)
    assert shared_turns(function, arrays) > LONG / 2
    _tiles.set_threads(1)
    assert shared_turns(function, arrays) == 0


@pytest.mark.parametrize("layout", ["F", "gaps", "reversed"])
def test_layouts(layout: str) -> None:
    """Wherever the elements lie."""

    def make() -> tuple[np.ndarray, np.ndarray]:
        x, out = numbers(240, 3), numbers(240, 240)
        made = {"F": out.T, "gaps": out[::2, 1::2], "reversed": out[::-1, ::-1]}
        return x, made[layout]

    assert shared_turns(in_place, make) > 100


def prefix(x, out):
    for i in range(1, len(out)):
        out[i, 0] = out[i - 1, 0] + out[i, 0]


def summed(x, out):
    s = 0.0
    for i in range(len(x)):
        s += x[i, 0]
        out[i, 0] = s
    return s


def symmetric(x, out):
    for i in range(len(x)):
        for j in range(4):
            out[i, j] = x[i, 0] - x[j, 0]
            out[j, 0] = out[i, j]


def same_place(x, out):
    for i in range(len(x)):
        out[0, 0] = x[i, 0]


def at_times(x, out):
    y = -1.0
    for i in range(len(x)):
        if x[i, 0] < 0.5:
            y = x[i, 0]
        out[i, 0] = x[i, 1]
    return y


def behind_each_other(x, out):
    for i in range(len(x) - 1):
        out[i, 0] = x[i, 0]
        out[i + 1, 1] = x[i, 1]


def counted(x, out):
    k = 0
    for i in range(len(x)):
        if x[i, 0] < 0.5:
            out[k, 0] = x[i, 0]
            k += 1
    return k


def scattered(x, out):
    for i in range(len(x)):
        out[int(x[i, 0] * 10), 0] += 1.0


def left_early(x, out):
    for i in range(len(x)):
        if x[i, 0] > 0.999:
            break
        out[i, 0] = x[i, 0]
    return i


def swept(x, out):
    for i in range(1, len(out) - 1):
        out[i, 1:-1] = 0.25 * (out[i - 1, 1:-1] + out[i + 1, 1:-1] + out[i, :-2] + out[i, 2:])


def whole(x, out):
    for i in range(len(x)):
        out[i] = out[:, 0].sum()


def kept_rows(x, out):
    row = x[0] * 2.0
    for i in range(len(x)):
        out[i, :3] = row
        row = x[i] + 1.0
    return row


def of_python(x, out):
    for i in range(len(x)):
        out[i, 0] = math.hypot(x[i, 0], x[i, 1])


def of_integers(x, out):
    out = out.view(np.int64)
    for i in range(len(x)):
        out[i] += 1


DEPENDENT = (
    of_python,
    of_integers,
    swept,
    whole,
    kept_rows,
    prefix,
    summed,
    symmetric,
    same_place,
    at_times,
    behind_each_other,
    counted,
    scattered,
    left_early,
)


@pytest.mark.parametrize("function", DEPENDENT)
def test_turns_that_need_others(function: Callable[..., None]) -> None:
    """They run one after another; so do those that call what needs the GIL."""
    assert shared_turns(function, arrays) == 0


def items(x, y):
    for i, item in enumerate(x):
        y[i] = item * x[0]


def test_lists() -> None:
    """Those that are read only."""
    assert shared_turns(items, lambda: (numbers(10 * LONG).tolist(), np.zeros(10 * LONG))) > LONG


def added(x, y):
    for i in range(len(y)):
        y[i] = x[i] + 1.0


def test_arrays_that_share_memory() -> None:
    """What one turn writes another reads then; what is only read may be shared."""
    x = numbers(LONG)
    assert shared_turns(added, lambda: (x.copy(), np.zeros(LONG))) > 100

    def overlapping() -> tuple[np.ndarray, np.ndarray]:
        memory = numbers(LONG)
        return memory[:-1], memory[1:]

    assert shared_turns(added, overlapping) == 0


def test_elements_that_share_memory() -> None:
    """Rows of a window over one vector."""

    def windows() -> tuple[np.ndarray, np.ndarray]:
        view = np.lib.stride_tricks.sliding_window_view(numbers(700), 5, writeable=True)
        return numbers(700, 3), view

    assert shared_turns(in_place, windows) == 0


def wrapping(x, y):
    for i in range(len(y)):
        y[i - 2] = x[i - 2] + 1.0


def test_indices_that_wrap() -> None:
    """They mean the same element as another turn's, perhaps: only the turns behind them are shared."""
    with np.errstate(all="ignore"):
        assert native_turns(wrapping, lambda: (numbers(LONG), np.zeros(LONG))) > LONG


def inverses(x, out):
    for i in range(len(x)):
        out[i] = 1.0 / x[i]


@pytest.mark.parametrize("place", [0, 1, 700, 701, 1498, 1499])
@pytest.mark.parametrize("action", ["warn", "raise", "ignore"])
def test_a_turn_that_warns_or_fails(place: int, action: Any) -> None:
    """It is plain Python's, with the turns before it done and none of those behind."""
    x = numbers(1500) + 0.5
    x[place] = 0.0
    with np.errstate(divide=action):
        native_turns(inverses, lambda: (x.copy(), np.zeros(1500)))


@pytest.mark.parametrize("place", range(0, 200, 7))
def test_a_turn_out_of_range(place: int) -> None:
    """Its error is plain Python's."""
    at = np.arange(200)
    at[place] = 10**6

    def taken(at, x, out):
        for i in range(len(at)):
            out[i] = x[at[i]]

    native_turns(taken, lambda: (at, numbers(200), np.zeros(200)))


def test_read_only() -> None:
    """No turn is done."""
    out = np.zeros(LONG)
    out.flags.writeable = False
    assert native_turns(added, lambda: (numbers(LONG), out)) == 0


def slow(x, out):
    for i in range(len(out)):
        y = x[i]
        while y < 1e9:
            y = y + 1e-3 * (y < 1e8)
        out[i] = y


def test_signals() -> None:
    """They are answered in the midst of a turn, whichever thread does it; nothing of it has happened."""
    compiled = ufuse.compile(slow)
    for _ in range(6):
        compiled(np.full(500, 1e9), np.zeros(500))
    assert sum(loop.shared for loop in loops_of(compiled)) > 0

    def stop(*_: Any) -> None:
        raise InterruptedError

    out = np.zeros(500)
    with on_alarm(stop):
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(InterruptedError):
            compiled(np.zeros(500), out)
        assert time.monotonic() - begin < 5
    assert not out.any()


def test_several_python_threads() -> None:
    """Loops of several Python threads share the workers one after another."""
    wanted = np.zeros((60, 60))
    x = numbers(60, 3)
    distances(x, wanted)
    compiled = ufuse.compile(distances)

    def call() -> bytes:
        out = np.zeros((60, 60))
        compiled(x, out)
        return out.tobytes()

    assert in_python_threads(call, 8) == {wanted.tobytes()}


def test_own_parts() -> None:
    """Of each array that is written: the axis, the iterator's slot, and what is more."""
    code = Code(array("a", ndim=2), array("x", is_written=True), number("s"), RangeSlot("i"))
    i = code.header("i", "body")
    after = code.op("add", i, code.whole(2))
    code.store(1, after, code.op("mul", code.load(0, i, code.whole(0)), code.get("s")))
    code.end("jump", "header")
    nest = code.nest()
    assert own_parts(nest, outermost_turn(nest)) == (OwnPart(1, 0, 3, 2),)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ((), "not independent"),
        (((0, 0, 1, 0), (0, 0, 1, 0)), "not independent"),
        (((1, 0, 1, 0),), "no part"),
        (((0, 1, 1, 0),), "no part"),
        (((0, -1, 1, 0),), "no part"),
        (((0, 0, 0, 0),), "no part"),
        ((3,), "no part"),
        (3, "tuple or None"),
    ],
)
def test_parts_that_cannot_be(parts: Any, error: str) -> None:
    """Each array that is written has one, of its axes and an iterator."""
    slots = (("array", "d", 1, True), ("range",))
    _tiles.Nest(4096, None, slots, (), 0, (), 0, ((0, 0, 1, 0),))
    with pytest.raises((ValueError, TypeError), match=error):
        _tiles.Nest(4096, None, slots, (), 0, (), 0, parts)
    for other, exits in ((("grown", False, False, 0, ((0, "float", False),)), 0), (("range",), 1)):
        with pytest.raises(ValueError, match="not independent"):
            _tiles.Nest(4096, None, (*slots, other), (("d", 1),), 0, (), exits, ((0, 0, 1, 0),))

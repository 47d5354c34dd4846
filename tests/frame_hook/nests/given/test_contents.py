"""New arrays whose elements are known when a loop begins are not saved: what a turn undoes is made again."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse import decorator
from ufuse.frame_hook.nests.entries import whole

pytest.importorskip("llvmlite")

COUNT = 400
KEPT: list[Any] = []


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops become nests without being timed, and no whole call does."""
    monkeypatch.setattr(whole, "put_off", lambda *_, **__: None)
    monkeypatch.setattr(decorator, "MEASURING", False)
    KEPT.clear()


# Of these nothing is saved


def unseen(x, by):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = x[i] / by[i]
    return y


def summed(x, by):
    y = np.zeros(len(x) + 1)
    for i in range(len(x)):
        y[i + 1] = y[i] + x[i] / by[i]
        y[0] += 1.0
    return y


def counted(x, by):
    y, at = np.zeros((len(x), 3), dtype=np.int32), np.zeros(len(x), dtype=bool)
    for i in range(len(x)):
        y[i, i % 3] += int(x[i] / by[i] * 10.0 < 3.0)
        at[-i] = not at[i]
    return y, at


def copied(x, by):
    a, b = x.copy(), x.copy()
    for i in range(len(x) - 1):
        a[i] = (a[i + 1] - b[i]) / by[i]
        b[i + 1] += a[i]
        a[0] += 1.0
    return a, b


def with_views(x, by):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[1:] += y[:-1] / by[i]
        y[0] = x[i]
    return y


# Of these some rows in front are, which were stored since


def begun(x, by):
    y, z = np.empty(len(x)), np.zeros((len(x), 3))
    y[0] = x[0] / by[0]
    z[0] = 2.0
    z[1, 2] = x[1]
    for i in range(1, len(x)):
        y[i] = y[i - 1] / by[i] + x[i]
        z[i, 0] = z[i - 1, 2] + 1.0
        z[i, 2] += y[i]
        y[0] += 1.0
    return y, z


def begun_by_slices(x, by):
    y, z = np.zeros(len(x)), np.zeros((len(x), 2), dtype=np.int64)
    y[:3] = x[2::-1]
    y[8:4:-2] = 3.0
    z[2:4, 1] = 7
    for i in range(len(x) - 1):
        y[i + 1] += y[i] / by[i]
        z[i + 1] += z[i]
    return y, z


# Of these something is, as somebody may have seen it, or it is not what it was made as


def stored_before(x, by):
    y = np.zeros(len(x))
    y[3] = 5.0
    for i in range(len(x)):
        y[i] += x[i] / by[i]
        y[3] += 1.0
    return y


def stored_behind(x, by):
    y, z = np.zeros(len(x)), np.zeros((2, len(x)))
    y[-1] = 5.0
    y[0] = 1.0
    z[1] = 3.0
    z[:, 0] = 2.0
    for i in range(len(x)):
        y[i] += x[i] / by[i]
        z[0, i] += z[1, i]
        y[-1] += 1.0
    return y, z


def few(x, by):
    y = np.zeros((3, len(x)))
    y[2] = x
    for i in range(len(x)):
        y[0, i] += y[2, i] / by[i]
        y[2, 0] += 1.0
    return y


def source_changed(x, by):
    y = x.copy()
    x[2] = -7.0
    for i in range(len(x)):
        y[i] = y[i] / by[i]
        y[2] += 1.0
    return y


def source_changed_inside(x, by):
    y = x.copy()
    for i in range(len(x)):
        y[i] = y[i] / by[i] + 1.0
        x[i] = y[i]
        x[0] = y[2] = y[2] + 1.0
    return y


def part_of_source_changed(x, by):
    y, half = x.copy(), x[::2]
    for i in range(len(half)):
        y[i] = y[i] / by[i]
        half[i] = y[2] = y[2] + 1.0
    return y


def held(x, by):
    y = np.zeros(len(x))
    KEPT.append(y)
    for i in range(len(x)):
        y[i] += x[i] / by[i]
        y[3] += 1.0
    return y


def viewed(x, by):
    y = np.zeros(len(x))
    z = y[1:]
    for i in range(len(x) - 1):
        z[i] = y[i] + x[i] / by[i]
        y[0] += 1.0
    return y, z


def ones(x, by):
    y = np.ones(len(x))
    for i in range(len(x)):
        y[i] += x[i] / by[i]
        y[0] += 1.0
    return y


def twice(x, by):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * 2.0
    for i in range(len(x)):
        y[i] = y[i] / by[i]
        y[0] += 1.0
    return y


def reversed_copy(x, by):
    y = x[::-1].copy()
    for i in range(len(x)):
        y[i] = y[i] / by[i]
        y[0] += 1.0
    return y


def fortran(x, by):
    square = x[:100].reshape(10, 10).T
    y, z = square.copy(), square.copy(order="K")
    for i in range(10):
        y[i] = y[i] / by[i]
        z[:, i] = z[:, i] / by[i] + y[i]
        y[0, 0] += 1.0
    return y, z


KNOWN = [unseen, summed, counted, copied, with_views]
BEGUN = [begun, begun_by_slices]
SAVED = [
    stored_before,
    stored_behind,
    few,
    source_changed,
    source_changed_inside,
    part_of_source_changed,
    held,
    viewed,
    ones,
    twice,
]
OTHERS = [reversed_copy, fortran]


def arguments(odd: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and what to divide them by: zero in the odd turn."""
    x, by = np.linspace(0.5, 2.0, COUNT), np.full(COUNT, 2.0)
    if odd >= 0:
        by[odd] = 0.0
    return x, by


def described(value: Any) -> Any:
    """What can be compared, to the bit."""
    if isinstance(value, (tuple, list)):
        return [described(one) for one in value]
    return (
        (value.dtype, value.shape, value.strides, value.tobytes())
        if isinstance(value, np.ndarray)
        else value
    )


def outcome(function: Callable[..., Any], odd: int) -> Any:
    """What a call gives, leaves behind and warns of."""
    given = arguments(odd)
    KEPT.clear()
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="warn"):
        warnings.simplefilter("always")
        found = function(*given)
    texts = [(str(one.message), one.lineno) for one in heard]
    return described(found), described(given), described(KEPT), texts


def saved_bytes(compiled: Any) -> int:
    """How many bytes its loops have saved."""
    cache = compiled.__ufuse_cache__
    entries = [one for at in range(len(cache.code.co_code) // 2) for one in cache.entries(at)]
    nests = [one.artefact for one in entries if one.is_loop]
    assert nests
    return sum(one.saved_bytes for one in nests)


def warmed(function: Callable[..., Any]) -> Any:
    """The function compiled: its loops are nests, and what stands before them ends there."""
    compiled = ufuse.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # what may raise an error is plain Python's
        for _ in range(8):
            compiled(*arguments())
    return compiled


@pytest.mark.any_python
@pytest.mark.parametrize("function", [*KNOWN, *BEGUN, *SAVED, *OTHERS])
def test_a_turn_that_warns(function) -> None:
    """Wherever a turn warns, all is as plain Python leaves it."""
    compiled = warmed(function)
    for odd in range(0, COUNT, 7):
        if odd % 28 == 0:  # a loop that is odd in each call is left to plain Python after a while
            compiled = warmed(function)
        assert outcome(compiled, odd) == outcome(function, odd), odd


@pytest.mark.any_python
@pytest.mark.parametrize("function", KNOWN)
def test_nothing_is_saved(function) -> None:
    """Where all arrays that a loop writes are new, and their elements known, most calls copy none.

    Of copies some are saved: while better code is waited for, and where other threads have run.
    """
    compiled = warmed(function)
    free = 0
    for _ in range(100):
        before = saved_bytes(compiled)
        assert outcome(compiled, -1) == outcome(function, -1)
        free += saved_bytes(compiled) == before
    assert free > (10 if function is copied else 50)


@pytest.mark.parametrize("function", BEGUN)
def test_few_rows_are_saved(function) -> None:
    """Where some rows in front were stored behind the making, most calls copy these alone."""
    compiled = warmed(function)
    cheap = 0
    for _ in range(100):
        before = saved_bytes(compiled)
        assert outcome(compiled, -1) == outcome(function, -1)
        cheap += 0 < saved_bytes(compiled) - before < 8 * COUNT
    assert cheap > 50


@pytest.mark.parametrize("function", SAVED)
def test_something_is_saved(function) -> None:
    """Where an array may be held or changed by others, or is not what it was made as, it is copied."""
    compiled = warmed(function)
    before = saved_bytes(compiled)
    for _ in range(4):
        assert outcome(compiled, -1) == outcome(function, -1)
    assert saved_bytes(compiled) > before


def test_an_error_in_a_turn() -> None:
    """An error in any turn leaves new arrays as plain Python does, for who looks at its frame."""

    def numbered(x, places):
        y, z = np.zeros(len(x)), x.copy()
        for i in range(len(x)):
            y[i] = z[places[i]]
            z[i] += y[i - 1] + 1.0
            y[1] += 1.0
        return y, z

    def at_error(function: Callable[..., Any], odd: int) -> Any:
        places = np.arange(COUNT)
        places[odd] = COUNT
        with pytest.raises(IndexError) as failed:
            function(arguments()[0], places)
        shown = failed.traceback[-1].frame.f_locals
        return {name: described(one) for name, one in shown.items()}

    for odd in range(0, COUNT, 29):
        compiled = ufuse.compile(numbered)
        for _ in range(8):
            compiled(arguments()[0], np.arange(COUNT))
        assert at_error(compiled, odd) == at_error(numbered, odd)

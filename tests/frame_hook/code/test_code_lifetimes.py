"""Code that a program makes and drops goes as in plain Python, and takes what was captured of it along."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, S307
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import collections
import gc
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.hooking import growth
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.by_code import ByCode
from ufuse.frame_hook.entries.learned import MOST_DROPPED, MOST_MADE, MOST_REMADE, Places
from ufuse.frame_hook.session import MOST_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

X = np.arange(5.0)
SEEN: list[weakref.ref[Any]] = []


def evaluated(x):
    inner = eval("lambda v: v + 1")
    SEEN.append(weakref.ref(inner.__code__))
    y = x * 2
    print(end="")
    return inner(y) + inner(x)


def with_a_class_of_its_own(x):
    Pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024  users make such
    SEEN.append(weakref.ref(Pair))
    pair = Pair(x, 1)
    y = pair.a + pair.b
    print(end="")
    return y


def with_a_closure(x):
    y = x + 1

    def inner():
        return y * 2

    SEEN.append(weakref.ref(inner))
    print(end="")
    return inner()


def executed(x):
    space: dict[str, Any] = {}
    exec("def made(v):\n    print(end='')\n    return v + 1", space)
    SEEN.append(weakref.ref(space["made"].__code__))
    return space["made"](x)


MAKERS = [evaluated, with_a_class_of_its_own, with_a_closure, executed]


@pytest.mark.parametrize("function", MAKERS)
def test_what_a_call_makes_dies_with_it(function: Callable[..., Any]) -> None:
    """Of code, functions and classes made by two hundred calls nothing is left, nor of what was captured of them."""
    compiled = ufuse.compile(function)
    expected = function(X)

    def action() -> None:
        SEEN.clear()
        np.testing.assert_array_equal(compiled(X), expected)

    for _ in range(600):  # until every place has been given up
        action()
    assert growth(action, 200) < 100
    for _ in range(200):
        compiled(X)
    gc.collect()
    assert [each() for each in SEEN] == [None] * len(SEEN)
    assert len(compiled.__ufuse_session__.caches) <= MOST_MADE
    told = collections.Counter((id(kept.code), kept.position) for kept in compiled.specialisations)
    assert max(told.values(), default=0) <= MOST_ENTRIES + MOST_DROPPED + 1


def test_code_dies_at_once_where_it_would(capsys: pytest.CaptureFixture[str]) -> None:
    """No collection is needed: plain Python needs none either."""
    compiled = ufuse.compile(evaluated)
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            SEEN.clear()
            compiled(X)
            assert SEEN[0]() is None
    finally:
        gc.enable()
    assert capsys.readouterr().out == ""


def test_code_that_comes_and_goes_is_not_traced_for_ever() -> None:
    """Where code is made anew at each call, only the first ones are captured, and the reason is told."""
    compiled = ufuse.compile(executed)
    for _ in range(MOST_MADE + 20):
        compiled(X)
    traces = compiled.stats.traces
    for _ in range(20):
        compiled(X)
    assert compiled.stats.traces == traces
    (found,) = [each for each in compiled.breaks if each.code == "remade"]
    assert found.reason.startswith("made() is made anew again and again")


def test_code_that_lives_is_captured_however_much_there_is() -> None:
    """Only code that died counts against its place."""
    functions = [eval(f"lambda v: v + {number}") for number in range(MOST_REMADE + 20)]

    def call_all(x):
        total = 0
        for function in functions:
            print(end="")
            total = total + function(x).sum()
        return total

    compiled = ufuse.compile(call_all)
    assert compiled(X) == call_all(X)
    assert "remade" not in {each.code for each in compiled.breaks}


def test_a_function_may_get_other_code_while_it_runs() -> None:
    """The code that runs lives to its end, though nothing else has it any more."""

    def other(x):
        return x - 1

    space: dict[str, Any] = {"other": other}
    text = """
def changing(x):
    y = x + 1
    changing.__code__ = other.__code__
    print(end='')
    return y * 2
"""
    exec(text, space)
    alive = weakref.ref(space["changing"].__code__)
    compiled = ufuse.compile(space["changing"])
    del compiled.__wrapped__
    np.testing.assert_array_equal(compiled(X), (X + 1) * 2)
    gc.collect()
    assert alive() is None
    cache = compiled.__ufuse_cache__
    assert cache.code is None
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), X - 1)
    assert compiled.stats.traces == 3, "the new code is captured too, once"
    with pytest.raises(ReferenceError, match="gone"):
        cache.give_up(2)


def test_a_specialisation_keeps_no_code_alive() -> None:
    """What was captured can be kept; who asks it for code that is gone is told so."""
    space: dict[str, Any] = {}
    exec("def made(x):\n    return x + 1", space)
    compiled = ufuse.compile(space.pop("made"))
    compiled(X)
    (kept,) = compiled.specialisations
    assert kept.code is compiled.__code__
    del compiled
    gc.collect()
    with pytest.raises(ReferenceError, match="line 1 is gone"):
        _ = kept.code


def test_a_mark_keeps_no_code_alive() -> None:
    """`ufuse.disable` is about one code object, and forgotten with it."""

    def made():
        space: dict[str, Any] = {}
        exec("def function(x):\n    return x + 1", space)
        return space["function"]

    marked, other = ufuse.disable(made()), made()
    assert marked.__code__ == other.__code__
    assert ufuse.compile(other).trace(X).nodes
    with pytest.raises(TypeError):
        ufuse.compile(marked).trace(X)
    alive = weakref.ref(marked.__code__)
    del marked
    gc.collect()
    assert alive() is None


def new_code() -> CodeType:
    """A code object that is equal to all others made here."""
    return compile("1", "<made>", "eval")


def test_equal_code_objects_are_told_apart() -> None:
    """What is kept of one is not found under another, and goes with it alone."""
    kept: ByCode[str] = ByCode()
    first, second = new_code(), new_code()
    assert first == second
    kept.keep(first, "first")
    assert second not in kept
    kept.keep(second, "second")
    kept.keep(first, "again")
    assert kept.get(first) == "again"
    assert len(kept) == 2
    del first
    assert kept.values() == ["second"]
    assert kept.get(second) == "second"
    kept.clear()
    assert second not in kept


def test_code_dies_without_running_python_code() -> None:
    """A trace function sees nothing of what is forgotten with a code object."""
    kept: ByCode[str] = ByCode()
    code = new_code()
    kept.keep(code, "kept")
    events: list[str] = []
    before = sys.gettrace()
    sys.settrace(lambda frame, event, _: events.append(f"{frame.f_code.co_name} {event}"))
    try:
        del code
    finally:
        sys.settrace(before)
    assert len(kept) == 0
    assert events == []


def test_places_are_forgotten_where_nothing_lives() -> None:
    """A program that makes code in ever new places does not fill the memory."""
    places = Places()
    kept = [compile("1", f"<made {number}>", "eval") for number in range(10)]
    for code in kept:
        assert not places.has_too_many(code)
        assert not places.has_too_many(code)
    for number in range(5000):
        assert not places.has_too_many(compile("1", f"<other {number}>", "eval"))
    assert len(places._places) < 3000
    for _ in range(MOST_REMADE):
        assert not places.has_too_many(new_code())
    assert places.has_too_many(new_code())
    many = [compile("1", "<many>", "eval") for _ in range(MOST_MADE + 1)]
    assert [places.has_too_many(code) for code in many] == [False] * MOST_MADE + [True]
    assert not places.has_too_many(many[0])


def test_caches_do_not_keep_code() -> None:
    """A cache outlives its code, and is of no use then."""
    code = new_code()

    class Nobody:
        every_frame = False

    cache = _hook.CodeCache(code, Nobody())
    assert cache.code is code
    del code
    assert cache.code is None
    assert cache.entries(0) == []

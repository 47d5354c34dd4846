"""The C layer: nothing is left behind."""

# Functions under test are written as users write them.
# ruff: noqa: PLW0108
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.frames.hooking import (
    PROGRAMS,
    K,
    Session,
    callee,
    dispatcher,
    entry,
    growth,
    stop_everywhere,
)
from ufuse.frame_hook import _hook

if TYPE_CHECKING:
    from collections.abc import Callable
F8 = np.dtype("f8")


def test_hits_leak_nothing(session: Session) -> None:
    """Two hundred thousand calls leave memory and reference counts as they were."""
    x = np.zeros((3, 4))
    guards = [(K.ARRAY, 0, F8, 2), (K.LOAD_ATTR, 0, "shape"), (K.LOAD_ITEM, 2, 0), (K.INT, 3, 3)]
    recipe = [("tuple", (4, 0)), ("list", (5,)), ("const", None), ("dict", (7, 6))]
    compiled = dispatcher(
        lambda a, b=None: a, session, entry(guards, (0,), callable, 1, recipe, ("return", 8))
    )
    assert compiled(x) == {None: [(False, x)]}
    before = sys.getrefcount(x), sys.getrefcount(None), sys.getrefcount(F8)
    assert growth(lambda: compiled(x), 100_000) < 20
    assert growth(lambda: compiled(a=x), 100_000) < 20
    after = sys.getrefcount(x), sys.getrefcount(None), sys.getrefcount(F8)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 200


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_suspensions_leak_nothing(session: Session, function: Any, arguments: Any) -> None:
    """Bouncing between the loop and resume code leaves nothing behind."""
    compiled = stop_everywhere(session, function)

    def action() -> None:
        compiled(*[list(a) if isinstance(a, list) else a for a in arguments])
        session.asked.clear()

    action()  # the resume code of every position is made, with None among its constants
    before = sys.getrefcount(None)
    assert growth(action, 2000) < 50
    assert abs(sys.getrefcount(None) - before) < 200


def test_misses_errors_and_callees_leak_nothing(session: Session) -> None:
    """Failing guards, declining and raising artefacts, hooked frames, rejected entries."""
    x = np.zeros(3)
    missing = entry([(K.LOAD_ATTR, 0, "shape"), (K.LOAD_ITEM, 1, 0), (K.INT, 2, 4)])
    declining = entry([(K.INT, 0, 5)], (0,), lambda _: NotImplemented, 1, (), ("return", 1))
    raising = entry([(K.INT, 0, 6)], (0,), lambda n: n / 0, 1, (), ("return", 1))
    compiled = dispatcher(lambda a: callee(a), session, missing, declining, raising)
    session.takes = lambda code: code is callee.__code__
    session.notify_eager = False
    callee_entry = entry([(K.TYPE, 0, np.ndarray)], (0,), np.negative, 1, (), ("return", 2))
    session.answer = lambda cache, p, f, state: (
        callee_entry if f is callee and state[0] is x else None
    )

    def action() -> None:
        compiled(x)
        compiled(5)
        with pytest.raises(ZeroDivisionError):
            compiled(6)
        with pytest.raises(TypeError):
            compiled(6, 7)
        with pytest.raises(ValueError, match="no row of a recipe"):
            entry([(K.EQUAL, 0, "abc")], recipe=[("const", object()), ("what",)])
        session.asked.clear()

    assert growth(action, 3000) < 100
    assert callee_entry.hits > 1000


def test_entries_and_caches_are_collected(session: Session) -> None:
    """Cycles through entries, caches, dispatchers and sessions are garbage."""

    def make() -> weakref.ref[Any]:
        own = Session()
        compiled = dispatcher(lambda a: a, own, entry())
        made = compiled.__ufuse_cache__.entries(0)[0]
        made.data = made
        compiled.self = compiled
        own.caches[0] = compiled.__ufuse_cache__
        own.answer = compiled
        return weakref.ref(own)

    alive = [make() for _ in range(5)]
    gc.collect()
    assert [each() for each in alive] == [None] * 5


# ---- lifetimes -----------------------------------------------------------------------------------


def new_class() -> Any:
    """A class that nobody else has."""
    return type("Local", (), {"scale": 1})


def new_function() -> Any:
    """A function with defaults that nobody else has, and with code of its own."""
    space: dict[str, Any] = {"array": np.zeros(3)}
    exec("def made(x, y=array, *, z=array): return x", space)
    return space.pop("made")


MORTAL: dict[str, Callable[[], tuple[list[tuple[Any, ...]], Any, Any]]] = {}


def mortal(make: Callable[[], Any]) -> Callable[[], Any]:
    """Note a maker of guards, of a value for which they hold, and of the object that must die."""
    MORTAL[make.__name__] = make
    return make


@mortal
def an_instance_of() -> Any:
    made = new_class()
    return [(K.TYPE, 0, made)], made(), made


@mortal
def the_class_itself() -> Any:
    made = new_class()
    return [(K.IDENTITY, 0, made)], made, made


@mortal
def the_function_itself() -> Any:
    made = new_function()
    return [(K.IDENTITY, 0, made)], made, made


@mortal
def an_object_itself() -> Any:
    made = new_class()()
    return [(K.IDENTITY, 0, made)], made, made


@mortal
def a_function_with_that_code() -> Any:
    made = new_function()
    parts = made.__code__, made.__defaults__, made.__kwdefaults__
    return [(K.FUNCTION, 0, *parts)], made, made.__code__


@mortal
def a_function_with_that_default() -> Any:
    made = new_function()
    parts = made.__code__, made.__defaults__, made.__kwdefaults__
    return [(K.FUNCTION, 0, *parts)], made, made.__defaults__[0]


@mortal
def a_constant_class() -> Any:
    made = new_class()
    return [(K.LOAD_CONST, made)], 0, made


@mortal
def an_attribute_of() -> Any:
    made = new_class()
    return [(K.LOAD_CLASS, made, "scale"), (K.INT, 1, 1)], 0, made


@mortal
def no_attribute_of() -> Any:
    made = new_class()
    return [(K.CLASS_LACKS, made, "none")], 0, made


@pytest.mark.parametrize("what", MORTAL)
def test_guards_keep_nothing_alive(session: Session, what: str) -> None:
    """A class, function or object dies as if it had not been guarded; its entry is forgotten."""
    guards, value, keyed = MORTAL[what]()
    made = entry(guards)
    compiled = dispatcher(lambda a: "plain", session, made)
    alive = weakref.ref(keyed)
    assert made.valid
    assert compiled(value) is value
    del guards, keyed, value
    gc.collect()
    assert alive() is None
    assert not made.valid
    assert compiled(0) == "plain"
    assert compiled.__ufuse_cache__.entries(0) == []


@pytest.mark.parametrize("what", MORTAL)
def test_what_comes_after_is_not_taken_for_the_dead(what: str) -> None:
    """Another object, in most cases at the same address, is another object."""
    guarded: list[Any] = []
    for _ in range(50):
        guards, value, _keyed = MORTAL[what]()
        assert [each.first_failing((value,)) for each in guarded] == [0] * len(guarded)
        guarded.append(entry(guards))
        assert guarded[-1].first_failing((value,)) is None
        del guards, value, _keyed
        gc.collect(1)


def test_a_recipe_keeps_no_class_alive_that_is_guarded(session: Session) -> None:
    """What a guard finds alive is no reference of the recipe; a constant of its own is."""
    made, own = new_class(), new_class()
    recipe = [("const", made), ("call", made, ()), ("const", own), ("tuple", (1, 2, 3))]
    compiled = dispatcher(
        lambda a: a, session, entry([(K.IDENTITY, 0, made)], (), None, 0, recipe, ("return", 4))
    )
    first, second, third = compiled(made)
    assert first is made
    assert type(second) is made
    assert third is own
    alive = [weakref.ref(made), weakref.ref(own)]
    del made, own, recipe, first, second, third
    gc.collect()
    assert [each() is None for each in alive] == [True, False]


def test_thousands_of_local_classes_and_functions_leave_nothing(session: Session) -> None:
    """Entries for what each call makes anew are forgotten with it."""

    def answer(cache: Any, position: int, function: Any, state: Any) -> Any:
        (value,) = state
        kind = (K.IDENTITY, 0, value) if callable(value) else (K.TYPE, 0, type(value))
        return entry([kind], recipe=[("const", kind[2])], ending=("return", 1))

    session.answer = answer
    compiled = _hook.Dispatcher(lambda a: "plain", session)

    def action() -> None:
        def local() -> None: ...

        assert compiled(local) is local
        made = new_class()
        assert compiled(made()) is made
        session.asked.clear()
        del made
        turns.append(0)
        if len(turns) % 200 == 0:
            gc.collect(1)

    turns: list[int] = []
    assert growth(action, 10_000) < 2000  # the last few hundred wait for the next look-up
    assert compiled(0) is int
    assert len(compiled.__ufuse_cache__.entries(0)) == 1


def test_keyword_defaults_changed_in_place_are_noticed() -> None:
    """FUNCTION compares what is in them, and not only the dict."""

    def function(a: int = 1, *, b: int = 2) -> Any:
        return a, b

    parts = function.__code__, function.__defaults__, function.__kwdefaults__
    guarded = entry([(K.FUNCTION, 0, *parts)])
    assert guarded.first_failing((function,)) is None
    function.__defaults__ = (function.__defaults__[0],)  # type: ignore[index]
    assert guarded.first_failing((function,)) is None
    kept = function.__kwdefaults__
    kept["b"] = 3
    assert guarded.first_failing((function,)) == 0
    kept["b"] = 2
    kept["c"] = 3
    assert guarded.first_failing((function,)) == 0
    function.__kwdefaults__ = None  # type: ignore[assignment]
    assert guarded.first_failing((function,)) == 0

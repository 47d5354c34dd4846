"""The C layer: nothing is left behind."""

# Functions under test are written as users write them.
# ruff: noqa: PLW0108
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from tests.support.hooking import (
    PROGRAMS,
    Session,
    callee,
    dispatcher,
    entry,
    growth,
    stop_everywhere,
)
from ufuse.frame_hook import _hook

K = _hook
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
        made = compiled.cache.entries(0)[0]
        made.data = made
        compiled.self = compiled
        own.caches[0] = compiled.cache
        own.answer = compiled
        return weakref.ref(own)

    alive = [make() for _ in range(5)]
    gc.collect()
    assert [each() for each in alive] == [None] * 5

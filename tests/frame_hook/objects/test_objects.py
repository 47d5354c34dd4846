"""Objects that a trace meets, changes and makes: told apart, and real ones when they come out."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np

import ufuse
from tests.programs import object_everyday


class Box:
    """An object with whatever attributes it is given."""

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)


def test_objects_that_become_one_are_told_apart() -> None:
    """Two arguments that were different objects may be one in the next call, and the other way round."""

    def function(a: Any, b: Any) -> Any:
        a.v = b.v + 1
        b.w = a.v * 2
        return a.v + b.w, a is b

    compiled = ufuse.compile(function)
    for shared in (False, True, False, True):
        pairs = []
        for one in (function, compiled):
            a, b = Box(v=np.ones(2)), Box(v=np.zeros(2))
            given = (a, a) if shared else (a, b)
            value, same = one(*given)
            pairs.append((value.tolist(), same, repr(vars(a)), repr(vars(b))))
        assert pairs[0] == pairs[1]


def test_an_object_and_its_dict_are_told_apart() -> None:
    """What is written into an object's dict is an attribute of it, and the other way round."""

    def function(box: Any, table: Any) -> Any:
        table["v"] = 5.0
        first = box.v
        box.v = 7.0
        return first, table["v"]

    compiled = ufuse.compile(function)
    for shared in (False, True):
        results = []
        for one in (function, compiled):
            box = Box(v=1.0)
            results.append(one(box, vars(box) if shared else {"v": 2.0}))
        assert results[0] == results[1]


def test_made_objects_die_when_plain_ones_do() -> None:
    """Nothing keeps an instance that a trace made; one in a cycle waits for the collector."""

    def function(x: Any) -> Any:
        box = Box(v=x)
        looped = Box(v=x)
        looped.itself = looped  # type: ignore[attr-defined]
        return box, looped

    compiled = ufuse.compile(function)
    gc.disable()
    try:
        for _ in range(3):
            box, looped = compiled(np.ones(2))
            references = weakref.ref(box), weakref.ref(looped)
            del box, looped
            assert references[0]() is None
            assert references[1]() is not None
            gc.collect()
            assert references[1]() is None
    finally:
        gc.enable()


def test_results_are_copied_and_pickled() -> None:
    """An instance that a trace made is a real one."""

    def function(x: Any) -> Any:
        return object_everyday.Vector(x, x * 2)

    made = ufuse.compile(function)(np.ones(2))
    for again in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(again) is object_everyday.Vector
        assert list(vars(again)) == ["x", "y"]
        assert again.y.tolist() == [2.0, 2.0]


def test_a_method_is_called_without_breaks() -> None:
    """A bound method, compiled itself, follows its object."""
    grid = object_everyday.Grid(5)
    compiled = ufuse.compile(grid.diffuse)
    wanted = object_everyday.Grid(5).diffuse(0.5, 0.01).diffuse(0.5, 0.01)
    assert compiled(0.5, 0.01) is grid
    compiled(0.5, 0.01)
    assert grid.u.tolist() == wanted.u.tolist()
    assert not compiled.breaks

"""Functions from one code object share what is captured; everything else of them is their own."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse.compiled import CompiledFunction

X = np.arange(4.0)


def scaled_by(factor: Any) -> Any:
    @ufuse.compile
    def scaled(x: Any) -> Any:
        return x * factor + 1

    return scaled


def stepping(start: Any) -> Any:
    """Closures that one function writes and another reads."""
    count = start

    @ufuse.compile
    def step(x: Any) -> Any:
        nonlocal count
        count = count + x
        return count * 2

    return step, lambda: count


@pytest.mark.parametrize(
    ("values", "most"),
    [([0.5, 2.0, -1.0, 3.0], 1), ([1, 2, 3, 4, 1], 2), ([X, X[::-1], X + 1], 2), ([np.sin, np.cos] * 3, 2)],
    ids=["floats", "ints", "arrays", "functions"],
)  # fmt: skip
def test_closures_of_a_factory_are_guarded_as_arguments(values: list[Any], most: int) -> None:
    """A new function from the same code is traced only where its closure needs another graph."""
    make: Callable[[Any], Any] = calling if callable(values[0]) else scaled_by
    for value in values:
        made = make(value)
        expected = made.__wrapped__(X)
        assert made(X).tobytes() == expected.tobytes()
    assert made.stats.traces <= most
    assert made.stats.calls == 1


def calling(function: Any) -> Any:
    @ufuse.compile
    def called(x: Any) -> Any:
        return function(x) + 1

    return called


def test_closures_that_are_written_are_each_function_s_own() -> None:
    """What one writes the other does not see."""
    first, count_first = stepping(0.0)
    second, count_second = stepping(10.0)
    for _ in range(3):
        first(X)
        second(X)
    assert count_first().tolist() == (3 * X).tolist()
    assert count_second().tolist() == (10 + 3 * X).tolist()
    assert first.__ufuse_session__ is second.__ufuse_session__


def test_defaults_are_each_function_s_own() -> None:
    """They are bound before guards are checked."""

    def make(value: float) -> Any:
        return ufuse.compile(lambda x, by=value: x * by)

    made = [make(float(i)) for i in range(5)]
    assert [one(X)[1] for one in made] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert made[0].stats.traces == 1


def test_calls_and_hits_are_counted_for_each() -> None:
    """The other counters are those of all functions with this code."""
    first, second = scaled_by(1.0), scaled_by(2.0)
    first(X)
    first(X)
    second(X)
    assert (first.stats.calls, first.stats.hits) == (2, 1)
    assert (second.stats.calls, second.stats.hits) == (1, 1)
    assert first.stats.traces == second.stats.traces == 1
    assert len(second.graphs) == 1
    assert second.signatures() == first.signatures()


def test_hits_of_a_function_that_is_compiled_again() -> None:
    """What was captured for another compiled function of it is no call of this one."""
    function = types.FunctionType((lambda x: x * 2 + 1).__code__, {})
    for times in range(3):
        compiled = ufuse.compile(function)
        for _ in range(3):
            compiled(np.arange(3.0))
        assert (compiled.stats.calls, compiled.stats.hits) == (3, 3 - (times != 1)), times
        if times:
            compiled.reset()


def test_reset_forgets_for_all() -> None:
    """Afterwards either is traced anew, and the other finds that graph."""
    first, second = scaled_by(1.0), scaled_by(2.0)
    first(X)
    second(X)
    second.reset()
    assert first.graphs == second.graphs == ()
    assert second.stats.calls == second.stats.hits == 0
    first(X)
    second(X)
    assert (first.stats.traces, second.stats.traces) == (1, 1)
    assert (second.stats.calls, second.stats.hits) == (1, 1)


class Model:
    """Compiles a method for itself."""

    def __init__(self, weight: float) -> None:
        self.weight = weight
        self.step: Any = ufuse.compile(self.plain)

    def plain(self, x: Any) -> Any:
        """What is compiled."""
        return x * self.weight


def test_methods_of_several_objects() -> None:
    """A bound method is compiled for each object, and captured once."""
    models = [Model(float(i)) for i in range(6)]
    assert [m.step(X)[1] for m in models] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert models[0].step.__func__.stats.traces == 1


def test_a_function_compiled_in_a_loop() -> None:
    """It outlives none of its compiled functions, and is captured once."""
    for _ in range(5):
        compiled = ufuse.compile(double)
        compiled(X)
    assert compiled.stats.traces == 1


def double(x: Any) -> Any:
    return x * 2


def test_other_options_share_nothing() -> None:
    """Neither do backends that the caller made."""
    made = [
        ufuse.compile(double),
        ufuse.compile(double, dynamic=False),
        ufuse.compile(double, exact=False),
        ufuse.compile(double, backend="reference"),
        ufuse.compile(double, fullgraph=True),
        ufuse.compile(double, signature=[ufuse.Spec((None,), "f8")]),
        ufuse.compile(double, signature=[ufuse.Spec((4,), "f8")]),
        ufuse.compile(double, backend=Recording()),
        ufuse.compile(double, backend=Recording()),
    ]
    assert len({id(one.__ufuse_session__) for one in made}) == len(made)
    assert ufuse.compile(double, dynamic=False).__ufuse_session__ is made[1].__ufuse_session__
    assert ufuse.compile(double, exact=False).__ufuse_session__ is made[2].__ufuse_session__
    assert ufuse.compile(double, exact=True).__ufuse_session__ is made[0].__ufuse_session__


class Recording:
    """A backend that counts."""

    name = "recording"

    def __init__(self) -> None:
        self.compiled = 0

    def compile(self, _: Any) -> Any:
        """Count, and double."""
        self.compiled += 1
        return lambda x: x * 2

    def source(self, _: Any) -> str:
        """Nothing was made of it."""
        return ""


SOURCE = """
def scaled(x):
    return x * factor
"""


def made_in(namespace: dict[str, Any], code: types.CodeType) -> CompiledFunction:
    exec(code, namespace)
    compiled: CompiledFunction = ufuse.compile(namespace["scaled"])
    namespace["scaled"] = compiled
    return compiled


def test_other_globals_share_nothing() -> None:
    """Graphs rely on the globals they were traced with."""
    code = compile(SOURCE, __file__, "exec")
    two, three = made_in({"factor": 2.0}, code), made_in({"factor": 3.0}, code)
    assert two(X).tolist() == (X * 2).tolist()
    assert three(X).tolist() == (X * 3).tolist()
    assert two.__ufuse_session__ is not three.__ufuse_session__
    assert (two.stats.traces, three.stats.traces) == (1, 1)


class Large:
    """Something whose death is noticed."""


def test_a_namespace_that_is_dropped_dies() -> None:
    """Nothing that is shared keeps it alive, nor its functions."""
    code = compile(SOURCE, __file__, "exec")
    large = Large()
    namespace: dict[str, Any] = {"factor": 2.0, "large": large}
    compiled = made_in(namespace, code)
    compiled(X)
    seen = [weakref.ref(large), weakref.ref(compiled), weakref.ref(compiled.__ufuse_session__)]
    del namespace, compiled, large
    gc.collect()
    assert [one() for one in seen] == [None] * 3


def test_modules_that_are_dropped_die() -> None:
    """A module that is imported anew again and again, as some tests do, is not kept each time."""
    functions = []
    for _ in range(200):
        module = types.ModuleType("tests.passing")
        sys.modules[module.__name__] = module
        exec("def add(x): return x + 1", vars(module))
        module.added = ufuse.compile(module.add)  # type: ignore[attr-defined]
        functions.append(weakref.ref(module.add))
        del sys.modules[module.__name__], module
    gc.collect()
    assert sum(function() is not None for function in functions) < 150


def test_what_a_closure_holds_dies_with_its_function() -> None:
    """The session that lives on holds nothing of it."""
    large = np.arange(8.0)
    made = scaled_by(large)
    made(large)
    seen = weakref.ref(large)
    del made, large
    assert seen() is None


def test_a_session_dies_with_its_code() -> None:
    """A module that is imported keeps no code alive that it has dropped."""
    names: dict[str, Any] = {}
    exec("def dropped(x):\n    return x + 1", globals(), names)
    compiled = ufuse.compile(names.pop("dropped"))
    compiled(X)
    session = weakref.ref(compiled.__ufuse_session__)
    del compiled
    gc.collect()
    assert session() is None


def test_a_report_is_of_its_arguments_alone() -> None:
    """`explain` shares nothing."""
    compiled = ufuse.compile(double)
    compiled(X.astype(np.float32))
    report = ufuse.explain(double, X)
    assert len(report.graphs) == 1
    assert not report.retraces
    assert compiled.stats.traces == 1

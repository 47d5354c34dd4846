"""The attributes of a compiled function are the function's, and what asks for a function takes it for one."""

from __future__ import annotations

import doctest
import functools
import gc
import inspect
import multiprocessing
import pickle
import subprocess
import sys
import types
import typing
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any
from unittest import mock

import numpy as np
import pytest

import ufuse

X = np.arange(4.0)


@ufuse.compile
def remembering(n: int) -> int:
    """A function that keeps a table in an attribute of its own.

    >>> remembering(10)
    55
    """
    if not hasattr(remembering, "cache"):
        remembering.cache = {}
    if n not in remembering.cache:
        remembering.cache[n] = n if n < 2 else remembering(n - 1) + remembering(n - 2)
    return remembering.cache[n]  # type: ignore[no-any-return]


def slow(x: Any, y: float = 2.0, *, z: float = 0.0) -> Any:
    """Compiled under another name."""
    return x * y + z


fast = ufuse.compile(slow)
pinned = ufuse.compile(slow, signature=[ufuse.Spec((None,), "f8")])


# Attributes


def test_a_function_may_keep_a_cache() -> None:
    """No name that a program may think of is taken: `hasattr` says what it says of the function."""
    assert remembering(20) == 6765
    assert len(remembering.cache) == 21
    assert remembering.__wrapped__.cache is remembering.cache


TAKEN = ("cache", "calls", "hits", "session", "function", "enabled", "eager_calls", "_before_reset")
OURS = ("graphs", "breaks", "retraces", "specialisations", "stats", "signatures", "trace", "reset")


def test_what_is_set_is_the_functions() -> None:
    """On either: it is seen on both. What we add is there until the program takes the name, and again afterwards."""

    def plain(x: Any) -> Any:
        return x + 1

    compiled: Any = ufuse.compile(plain)
    compiled(X)
    assert not any(hasattr(compiled, name) for name in TAKEN)
    for name in (*TAKEN, *OURS):
        before = getattr(compiled, name, None)
        setattr(compiled, name, 3)
        assert getattr(plain, name) == getattr(compiled, name) == 3
        setattr(plain, name, 4)
        assert getattr(compiled, name) == 4
        delattr(compiled, name)
        assert not hasattr(plain, name)
        assert getattr(compiled, name, None) == before or name == "graphs"
    plain.unit = "metre"  # type: ignore[attr-defined]
    assert vars(compiled) is vars(plain)
    with pytest.raises(AttributeError, match=r"^'function' object has no attribute 'nothing'$"):
        _ = compiled.nothing
    with pytest.raises(AttributeError, match="nothing"):
        del compiled.nothing


def test_what_is_ours_works_where_its_names_are_taken() -> None:
    """Ours never goes through the program's attributes."""
    compiled: Any = ufuse.compile(lambda x: x + 1)
    for name in (*TAKEN, *OURS):
        setattr(compiled, name, None)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), X + 1)
    of = ufuse.CompiledFunction
    assert of.stats.fget(compiled).hits == 1  # type: ignore[attr-defined]
    assert len(of.graphs.fget(compiled)) == 1  # type: ignore[attr-defined]
    assert "float64[n]" in of.signatures(compiled)
    assert of.trace(compiled, X).nodes
    of.reset(compiled)
    assert ufuse.explain(compiled, X).graphs


def test_what_functions_have_themselves() -> None:
    """Names, documentation and dict can be set as a function's can, and refuse what a function's refuse."""

    def plain(x: Any) -> Any:
        return x

    compiled: Any = ufuse.compile(plain)
    compiled.__name__, compiled.__doc__ = "renamed", "New."
    assert (plain.__name__, plain.__doc__) == ("renamed", "New.")
    for name in ("__name__", "__code__", "__defaults__", "__dict__", "__globals__", "__closure__"):
        with pytest.raises((TypeError, AttributeError)) as wanted:
            setattr(plain, name, 3)
        with pytest.raises(wanted.type) as found:
            setattr(compiled, name, 3)
        assert str(found.value) == str(wanted.value)


def test_defaults_can_be_set() -> None:
    """Later calls take them, whatever was captured with the old ones."""

    def plain(x: Any, y: Any = 2.0, *, z: Any = 1.0) -> Any:
        return x * y + z

    compiled: Any = ufuse.compile(plain)
    outer = ufuse.compile(lambda x: compiled(x) + plain(x))
    for given in ((2.0, 1.0), (2.0, 1.0), (3, 1.0), (X, 1.0), (None, 1.0)):
        compiled.__defaults__, compiled.__kwdefaults__ = given[:1], {"z": given[1]}
        assert plain.__defaults__ == given[:1]
        if given[0] is None:
            with pytest.raises(TypeError):
                compiled(X)
            continue
        np.testing.assert_array_equal(compiled(X), X * given[0] + given[1])
        np.testing.assert_array_equal(outer(X), 2 * (X * given[0] + given[1]))
    del compiled.__defaults__
    with pytest.raises(TypeError, match=r"plain\(\) missing 1 required positional argument: 'y'"):
        compiled(X)


@pytest.mark.filterwarnings("ignore:Assigning a code object:DeprecationWarning")
def test_code_can_be_set() -> None:
    """The new code runs, and is captured in its turn."""

    def plain(x: Any, y: Any = 2.0) -> Any:
        return x * y

    def longer(x: Any, y: Any = 2.0, *rest: Any, **named: Any) -> Any:
        total = x - y
        for one in rest:
            total = total + one
        return total, sorted(named)

    compiled: Any = ufuse.compile(plain)
    np.testing.assert_array_equal(compiled(X), X * 2)
    compiled.__code__ = longer.__code__
    for _ in range(2):
        np.testing.assert_equal(compiled(X, 1.0, X, a=3), (X - 1 + X, ["a"]))
    assert len(compiled.graphs) == 2
    compiled.__code__ = (lambda x, y=2.0: (yield x + y)).__code__
    assert next(compiled(1)) == 3


# What takes it for a function


def test_it_passes_for_a_function() -> None:
    """Who asks for its class is told the function's; its type stays ours."""
    assert isinstance(fast, FunctionType)
    assert isinstance(fast, ufuse.CompiledFunction)
    assert fast.__class__ is FunctionType
    assert type(fast) is ufuse.CompiledFunction
    assert inspect.isfunction(fast)
    assert inspect.isroutine(fast)
    compiled = ufuse.compile(lambda f: (isinstance(f, FunctionType), X + 1))
    for _ in range(2):
        assert compiled(fast)[0] is compiled(slow)[0] is True


ASKED: list[Callable[[Any], Any]] = [
    inspect.getsourcefile, inspect.getfile, inspect.getsource, inspect.getsourcelines, inspect.getdoc,
    inspect.getmodule, inspect.getclosurevars, inspect.signature, inspect.getfullargspec, inspect.unwrap,
    inspect.get_annotations, typing.get_type_hints, inspect.iscoroutinefunction, inspect.isgeneratorfunction,
    inspect.isdatadescriptor, callable, vars,
]  # fmt: skip


@pytest.mark.parametrize("question", ASKED, ids=lambda question: question.__name__)
def test_it_answers_as_the_function(question: Callable[[Any], Any]) -> None:
    """Introspection of the standard library finds the function."""
    assert question(fast) == question(slow)


def test_wrappers() -> None:
    """`functools.wraps` over it takes over what the function has, and nothing of ours; `unwrap` goes through both."""

    @functools.wraps(fast)
    def wrapper(x: Any) -> Any:
        return fast(x)

    assert (wrapper.__name__, wrapper.__doc__) == ("slow", "Compiled under another name.")
    assert vars(wrapper).keys() == {*vars(slow), "__wrapped__"}
    assert inspect.unwrap(wrapper) is slow
    assert str(inspect.signature(wrapper)) == str(inspect.signature(slow))
    compiled = ufuse.compile(wrapper)
    assert compiled.__wrapped__ is wrapper
    assert inspect.unwrap(compiled) is slow
    compiled.__wrapped__ = len
    assert (compiled.__wrapped__, wrapper.__wrapped__) == (len, fast)
    del compiled.__wrapped__
    assert compiled.__wrapped__ is fast


def test_autospec() -> None:
    """A mock of it accepts what the function accepts."""
    double = mock.create_autospec(fast, return_value=3)
    assert double(X, z=1.0) == 3
    with pytest.raises(TypeError, match="too many positional arguments"):
        double(X, 1.0, 2.0)
    with mock.patch(f"{__name__}.fast", autospec=True) as patched:
        fast(X)
    patched.assert_called_once_with(X)


def test_doctest_finds_it() -> None:
    """With its examples and its line."""
    (found,) = doctest.DocTestFinder().find(remembering, "remembering", sys.modules[__name__])
    assert len(found.examples) == 1
    assert found.lineno is not None
    assert doctest.DocTestRunner().run(found).failed == 0
    names = {one.name for one in doctest.DocTestFinder().find(sys.modules[__name__])}
    assert f"{__name__}.remembering" in names


def test_completion_lists_the_functions_names_and_ours() -> None:
    """`dir` has both."""
    assert {*dir(slow), "stats", "graphs", "reset", "__wrapped__"} <= set(dir(fast))
    assert not [name for name in dir(fast) if "ufuse" in name]


# Pickles


def test_it_pickles_under_another_name() -> None:
    """By the function's name, compiled with the same options: here it is the very object."""
    for one in (fast, pinned, remembering):
        assert pickle.loads(pickle.dumps(one)) is one
    eager = pickle.loads(pickle.dumps(ufuse.compile(slow, backend="eager")))
    assert eager is pickle.loads(pickle.dumps(ufuse.compile(slow, backend="eager")))
    assert (eager(X) == slow(X)).all()
    assert eager.graphs == ()
    for options in ({"dynamic": False}, {"exact": False}):
        again = pickle.loads(pickle.dumps(ufuse.compile(remembering, **options)))
        assert again.__wrapped__ is remembering.__wrapped__
        assert (
            again.__ufuse_session__
            is ufuse.compile(remembering.__wrapped__, **options).__ufuse_session__
        )
    for function in (lambda x: x, ufuse.compile(lambda x: x)):
        with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
            pickle.dumps(function)


def test_what_came_out_of_a_pickle_dies() -> None:
    """Nothing keeps a compiled function that was unpickled, nor the function in it."""
    module = types.ModuleType("tests.passing")
    sys.modules[module.__name__] = module
    exec("def slow(x): return x + 1", vars(module))
    found = pickle.loads(pickle.dumps(ufuse.compile(module.slow)))
    assert (found(X) == module.slow(X)).all()
    gone = weakref.ref(found), weakref.ref(module.slow)
    del sys.modules[module.__name__], module, found
    gc.collect()
    assert gone[0]() is None


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_pool(method: str) -> None:
    """Worker processes of every kind call it."""
    values = [X, X + 1, X[:2]]
    with multiprocessing.get_context(method).Pool(1) as pool:
        for found, wanted in zip(pool.map(fast, values), map(slow, values), strict=True):
            np.testing.assert_array_equal(found, wanted)


WORKER = """
import pickle, sys
import numpy as np
sys.path.append(sys.argv[2])
fast = pickle.loads(bytes.fromhex(sys.argv[1]))
for _ in range(3):
    assert pickle.loads(bytes.fromhex(sys.argv[1])) is fast
    fast(np.ones(3))
print(fast.stats.hits)
"""


def test_a_worker_compiles_once() -> None:
    """What each task brings anew is one compiled function, also where the module has it under no name."""
    brought = pickle.dumps(ufuse.compile(slow, dynamic=True)).hex()
    done = subprocess.run(
        [sys.executable, "-P", "-c", WORKER, brought, str(Path(__file__).parents[2])],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == "2\n"

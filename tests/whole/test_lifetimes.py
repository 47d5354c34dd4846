"""Nothing is kept: objects die when plain Python's do, and long runs need no more memory than short ones."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tracemalloc
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_lifetimes
from tests.support.nests import odd_turns
from tests.support.nests.improved import Improved
from ufuse.backends.numpy.llvm import background
from ufuse.backends.numpy.report import LoggedCalls, Warner

X = np.linspace(0.0, 1.0, 8)


@ufuse.disable
def silent(*values: Any) -> None:
    """A call that no graph can hold, and that does nothing."""


def chain(x: Any) -> Any:
    return ((x + 1) * x).sum()


def broken(x: Any) -> Any:
    y = x + 1
    silent()
    return y * 2


def in_place(x: Any) -> Any:
    x[1:] += x[:-1]
    return x[2:]


def containers(x: Any) -> Any:
    parts = {"a": x + 1, "b": [x * 2, (x, x[::2])]}
    return parts["b"], parts


def branching(x: Any) -> Any:
    y = x * 2
    if y.sum() > 3:
        y = y - x
    return y


def looping(x: Any) -> Any:
    total = x * 0
    for i in range(5):
        total = total + x * i
        silent()
    return total


def raising(x: Any) -> Any:
    y = x + 1
    try:
        return y.reshape(3, 1, 3)
    except ValueError:
        return y


def rebinding(x: Any) -> Any:
    """The function is in a cell that it has itself; what its other cell had at first is not."""

    def inner() -> Any:
        nonlocal x
        x = 0
        return inner

    y = x * 2
    silent()
    inner()
    return y


@pytest.mark.parametrize("backend", ["numpy", "reference"])
@pytest.mark.parametrize(
    "function", [chain, broken, in_place, containers, branching, looping, raising, rebinding]
)
def test_arrays_die_when_plain_ones_do(function: Callable[..., Any], backend: str) -> None:
    """Arguments, results and what lies between are released by reference counts alone."""
    check_lifetimes(
        function, ufuse.compile(function, backend=backend), lambda: (X.copy(),), calls=3
    )


@pytest.mark.filterwarnings("ignore")
def test_logged_warnings_keep_no_frame() -> None:
    """A call of NumPy's whose warnings are issued later holds nothing of its caller, nor its arguments."""
    x = np.ones(3)
    seen = weakref.ref(x)
    calls, warner = LoggedCalls(), Warner()
    gc.disable()
    try:
        calls.call(warner, 0, None, np.floor_divide, x, np.zeros(3))
        del x
        assert seen() is None
    finally:
        gc.enable()


def local_class(x: Any, seen: list[Any]) -> Any:
    class Growth:
        """Made in each call."""

        scale = 2.0

        def grow(self, y: Any) -> Any:
            return y * self.factor  # type: ignore[attr-defined]

    growth: Any = Growth()
    growth.factor = 3.0
    seen.append(weakref.ref(Growth))
    y = x + 1
    return growth.grow(y) + growth.factor * Growth.scale


def local_function(x: Any, seen: list[Any]) -> Any:
    w = x * 2

    def helper(y: Any, v: Any = w) -> Any:
        return y + v

    seen += [weakref.ref(helper), weakref.ref(w)]
    return called(helper, x)


def called(helper: Callable[[Any], Any], x: Any) -> Any:
    return helper(x) * 2


@pytest.mark.parametrize("function", [local_class, local_function])
def test_what_a_call_makes_anew_dies_with_it(function: Callable[..., Any]) -> None:
    """Guards on local classes and functions keep neither them nor their defaults alive."""
    compiled = ufuse.compile(function)
    for _ in range(8):
        seen: list[Any] = []
        assert compiled(X, seen).tobytes() == function(X, []).tobytes()
        if function is local_class:
            gc.collect()  # a class is a cycle
        assert [each() for each in seen] == [None] * len(seen)


@pytest.mark.parametrize("function", [local_class, local_function])
def test_thousands_of_local_classes_need_no_more_memory(function: Callable[..., Any]) -> None:
    """After the first few hundred, calls that make classes and functions anew add nothing."""
    compiled = ufuse.compile(function)

    def blocks_after(count: int) -> int:
        for _ in range(count):
            compiled(X, [])
        gc.collect()
        return sys.getallocatedblocks()

    blocks_after(1000)
    before = blocks_after(1)
    assert blocks_after(10_000) - before < 300


def test_a_compiled_function_dies_with_its_last_reference() -> None:
    """A compiled function, its graphs and its constants are collected once nobody has it."""

    def made() -> weakref.ref[Any]:
        table = X.copy()
        compiled = ufuse.compile(lambda x: x + table)
        compiled(X)
        compiled(X)
        return weakref.ref(table)

    reference = made()
    gc.collect()
    assert reference() is None


def test_reset_lets_go() -> None:
    """After `reset` nothing of earlier calls is alive."""
    compiled = ufuse.compile(broken)
    x = X.copy()
    compiled(x)
    seen = weakref.ref(x)
    compiled.reset()
    del x
    gc.collect()
    assert seen() is None


def long_loop(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        y = x + i
        silent(y)
        total += y[0] * 0.5
    return total


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def check_loop(turns: int) -> None:
    compiled = ufuse.compile(long_loop)
    assert compiled(X, 2000) == long_loop(X, 2000)
    before = resident()
    assert compiled(X, turns) == long_loop(X, turns)
    if "ASAN_OPTIONS" not in os.environ:  # the address sanitizer keeps what is freed
        assert resident() - before < 4 << 20
    assert compiled.stats.traces < 20
    assert compiled.stats.breaks >= 1


def test_a_long_loop_with_a_break_in_its_body() -> None:
    """The frame bounces between graph and plain Python in constant memory and stack."""
    check_loop(100_000)


@pytest.mark.leaks
def test_a_loop_of_a_million_turns_with_a_break_in_its_body() -> None:
    """The same, ten times as long."""
    check_loop(1_000_000)


def blocks_grown(step: Callable[[int], object], times: int) -> int:
    """How many of Python's memory blocks a third of these steps leaves behind.

    The least of three rounds: caches fill, and kernels that have become hot are compiled, once.
    """
    grown = []
    for _ in range(3):
        gc.collect()
        before = sys.getallocatedblocks()
        for i in range(times // 3):
            step(i)
        gc.collect()
        grown.append(sys.getallocatedblocks() - before)
    return min(grown)


def make_hot(compiled: Callable[..., Any]) -> None:
    """Call until the kernels are hot, and wait for the threads that compile them."""
    for length in (200_000, 200_000, X.size):
        compiled(np.linspace(0.0, 1.0, length))
    background.finish()


def test_calls_leak_nothing() -> None:
    """A few thousand hits, breaks and failing calls leave no object behind."""
    whole, split = ufuse.compile(chain), ufuse.compile(broken)

    make_hot(whole)
    make_hot(split)

    def step(i: int) -> None:
        whole(X)
        split(X)
        with contextlib.suppress(TypeError):
            whole()

    assert blocks_grown(step, 9000) < 50


@pytest.mark.leaks
@pytest.mark.parametrize("function", [chain, broken, containers, branching, looping, raising])
def test_200_000_calls_leak_nothing(function: Callable[..., Any]) -> None:
    """Neither objects nor memory behind NumPy's back."""
    compiled = ufuse.compile(function)
    make_hot(compiled)
    blocks_grown(lambda _: compiled(X), 600_000)  # what calls pay for comes when they have paid
    background.finish()
    before = resident()
    assert blocks_grown(lambda _: compiled(X), 600_000) < 100
    assert resident() - before < 8 << 20


@pytest.mark.leaks
def test_retraces_leak_nothing() -> None:
    """Functions that are traced, dropped and traced again need no more memory than one."""
    dtypes = [np.float64, np.float32, np.int64, np.int32, np.complex128]
    compiled = ufuse.compile(broken)

    def step(i: int) -> None:
        compiled(np.ones((2,) * (i % 3 + 1), dtypes[i % 5]))
        if i % 15 == 14:
            compiled.reset()

    tracemalloc.start()
    try:
        for i in range(300):
            step(i)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for i in range(3000):
            step(i)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100_000


@pytest.mark.leaks
def test_compiled_functions_leak_nothing() -> None:
    """Making, calling and dropping compiled functions leaves nothing."""

    def step(_: int) -> None:
        compiled = ufuse.compile(lambda x: (x + 1) * 2)
        compiled(X)
        compiled(X)

    assert blocks_grown(step, 1500) < 100


@pytest.mark.leaks
@pytest.mark.parametrize("backend", ["numpy", Improved()], ids=["own", "improved"])
@pytest.mark.parametrize("what", ["warning", "error"])
@pytest.mark.parametrize("function", odd_turns.PROGRAMS)
def test_native_loops_leak_nothing(function: Any, what: str, backend: Any) -> None:
    """Turns that warn or fail among them, which are undone and done again by plain Python."""
    pytest.importorskip("llvmlite")
    compiled = ufuse.compile(function, backend=backend)

    def step(i: int) -> None:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(*odd_turns.arguments_of(i % 200, what))

    blocks_grown(step, 900)  # native code is made when calls have paid for it
    background.finish()
    before = resident()
    assert blocks_grown(step, 900) < 100
    assert resident() - before < 8 << 20


@pytest.mark.leaks
def test_native_code_is_given_back() -> None:
    """That of loops which are made, run and dropped."""
    pytest.importorskip("llvmlite")

    def step(_: int) -> None:
        compiled = ufuse.compile(odd_turns.counting, backend=Improved())
        for _ in range(2):
            compiled(np.zeros(3), 3000)

    for i in range(20):
        step(i)
    before = resident()
    assert blocks_grown(step, 150) < 300
    assert resident() - before < 16 << 20

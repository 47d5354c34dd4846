"""Programs that call functions whose results functools.lru_cache remembers: what counts, and what is given."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

CALLS: list[Any] = []


@functools.lru_cache(maxsize=3)
def bounded(*arguments: Any) -> tuple[Any, list[Any]]:
    """Remember three results."""
    CALLS.append(arguments)
    return arguments, [len(CALLS)]


@functools.lru_cache(maxsize=None)
def unbounded(*arguments: Any) -> float:
    """Remember every result."""
    CALLS.append(arguments)
    return len(arguments) + 0.5


@functools.lru_cache(maxsize=0)
def forgetting(number: int) -> int:
    """Remember nothing."""
    CALLS.append(number)
    return number


@functools.lru_cache(typed=True)
def typed(number: float) -> float:
    """Remember ints apart from floats."""
    CALLS.append(number)
    return number * 2


@functools.lru_cache
def failing(number: int) -> int:
    """Raise."""
    CALLS.append(number)
    raise ValueError("no")


def state() -> Any:
    """What was called, and what is remembered."""
    each = (bounded, unbounded, forgetting, typed, failing)
    return list(CALLS), [one.cache_info() for one in each]


def fill() -> None:
    """Have every function remember what the programs ask it."""
    for one in (bounded, unbounded, forgetting, typed, failing):
        one.cache_clear()
    CALLS.clear()
    for arguments in ((1,), (np.ndarray, "a"), ("b",)):
        bounded(*arguments)
    for arguments in ((), (np, None), (True,), ((1, "a"), 2.5), (dict,)):
        unbounded(*arguments)
    typed(1.0)


PROGRAMS = Programs(modes=MODES[:3], state=state, reset=fill)


@PROGRAMS.whole()
def what_is_remembered(x):
    found = bounded(type(x), "a")
    return found, found is bounded(np.ndarray, "a"), bounded(1)[1], bounded("b"), x + unbounded()


@PROGRAMS.whole()
def of_modules_and_nested_tuples(x):
    return x * unbounded(np, None) + unbounded((1, "a"), 2.5) - unbounded(dict) + unbounded(True)


@PROGRAMS.whole()
def changes_what_is_remembered(x):
    bounded("b")[1].append(3)
    return x + bounded("b")[1][1]


@PROGRAMS.cut()
def what_is_not_remembered(x):
    return bounded(2), bounded(1), bounded(3), bounded("b"), bounded(type(x), "a"), x + 1


@PROGRAMS.cut()
def equal_arguments_of_other_types(x):
    return unbounded(1), unbounded(1.0), unbounded(True), x + 1


@PROGRAMS.cut()
def never_remembered(x):
    return forgetting(3) + x, typed(1) + x, typed(1.0) + x


@PROGRAMS.either()
def raises_each_time(x):
    try:
        failing(1)
    except ValueError as error:
        return str(error), x + 1


@PROGRAMS.either()
def forgets_and_is_called(x):
    first = unbounded()
    unbounded.cache_clear()
    return x + first, unbounded(), unbounded.cache_info()


LOCAL = type("Local", (), {"__qualname__": "made.<locals>.Local"})


@PROGRAMS.cut(lambda: (np.arange(3.0), LOCAL))
def of_a_local_class(x, kind):
    return unbounded(kind) + x, unbounded(kind) + x


@PROGRAMS.either(lambda: (np.arange(3.0), types.SimpleNamespace(call=unbounded)))
def through_an_attribute(x, holder):
    return x + holder.call() + holder.call(np, None)

"""What a call changes besides its arguments: noticed in the same order, and only in what the function itself has."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.programs import dying
from tests.support.comparing.compare import MODES, check_same
from tests.support.comparing.registering import Program


def noticed(function: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]]) -> list[Any]:
    """What is logged during four calls, and when their results have died."""
    log, found = dying.LOG, []
    for _ in range(4):
        log.clear()
        result = function(*make_args())
        log.append(result.tolist())
        del result
        log.append("end")
        found.append(list(log))
    return found


@pytest.mark.parametrize(
    "program", dying.PROGRAMS.rows, ids=lambda program: program.function.__name__
)
def test_what_dies_is_noticed_in_the_same_order(program: Program) -> None:
    """Finalizers and callbacks run where plain Python runs them; who calls holds the arguments in both runs."""
    function, make_args = program.function, program.make_args
    assert noticed(ufuse.compile(function), make_args) == noticed(
        functools.partial(function), make_args
    )


def shares_code(scale: float) -> Callable[[Any], Any]:
    """A function whose code all functions made here have, with globals of its own."""
    return types.FunctionType(scaled.__code__, {"SCALE": scale, "np": np})


def scaled(x: Any) -> Any:
    return x * SCALE + np.float64(1)  # type: ignore[name-defined]  # noqa: F821


def test_functions_of_one_code_have_their_own_globals() -> None:
    """What was captured for one function is not run for another with other globals."""

    @ufuse.disable
    def called(function: Callable[[Any], Any], x: Any) -> Any:
        return function(x)

    def inlined(x: Any, function: Any) -> Any:
        return function(x)

    def alone(x: Any, function: Any) -> Any:
        return called(function, x)

    functions = [shares_code(2.0), shares_code(3.0)]
    for outer in (inlined, alone):
        compiled = ufuse.compile(outer)
        for function in functions * 3:
            check_same(
                outer,
                compiled,
                lambda given=function: (np.arange(3.0), given),
                calls=1,
                modes=MODES[:1],
                copies=False,
            )


def test_builtins_are_the_functions_own() -> None:
    """A function with other builtins, or globals that are no plain dict, runs as it is."""

    class Names(dict):  # type: ignore[type-arg]
        def __getitem__(self, name: str) -> Any:
            return 5.0 if name == "SCALE" else super().__getitem__(name)

    own: dict[str, Any] = {"SCALE": 2.0, "np": np, "__builtins__": {"len": lambda _: 77}}
    exec("def measured(x): return x * len([1]) + SCALE", own)
    odd = Names(SCALE=2.0, np=np)
    for function in (own["measured"], types.FunctionType(scaled.__code__, odd)):
        check_same(function, ufuse.compile(function), lambda: (np.arange(3.0),), modes=MODES[:1])


def test_bases_may_be_assigned() -> None:
    """What a class inherits from is asked at every call."""

    class Wide: ...

    class Narrow: ...

    class Made(Wide): ...

    def checked(x: Any, made: Any) -> Any:
        return x + isinstance(made, Wide)

    compiled, x, made = ufuse.compile(checked), np.zeros(2), Made()
    assert compiled(x, made).tolist() == [1.0, 1.0]
    Made.__bases__ = (Narrow,)
    assert compiled(x, made).tolist() == [0.0, 0.0]

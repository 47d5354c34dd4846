"""Arguments with an `__array_function__` of their own: NumPy asks them before it runs anything of a function."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse

DISPATCHER = type(np.zeros_like)
MODULES = (np, np.linalg, np.fft)
NAMES = sorted(
    f"{module.__name__}.{name}".replace("numpy", "np", 1)
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, DISPATCHER) and not name.startswith(("save", "_"))
)
# `x` is what may answer for the function, `a` an array
ARGUMENTS = (
    "x",
    "x, 0",
    "a, x",
    "x, 0, 1",
    "x, x, 0",
    "a, 0, x",
    "[x, a]",
    "(a, (x,)), 0",
    "[a], x",
)


class Duck:
    """Answers for every function, and has attributes that implementations ask for."""

    ndim = 2
    shape = (3, 3)
    real = imag = "attribute"

    def __array_function__(self, function: Any, kinds: Any, given: Any, named: Any) -> str:
        """What the program gets."""
        return f"dispatched {function.__name__}"

    def put(self, *given: Any, **named: Any) -> str:
        """What only an implementation calls."""
        return "method"

    round = squeeze = ravel = take = put


class Bare:
    """Answers for every function, and has nothing else."""

    def __array_function__(self, function: Any, kinds: Any, given: Any, named: Any) -> str:
        """What the program gets."""
        return f"dispatched {function.__name__}"


class Answering(np.ndarray):
    """An array that answers for every function."""

    def __array_function__(self, function: Any, kinds: Any, given: Any, named: Any) -> str:
        """What the program gets."""
        return f"dispatched {function.__name__}"


class Meta(type):
    """A metaclass: NumPy finds its attributes on the class too."""

    def __array_function__(cls, *_: Any) -> str:
        """What is found, and called without the value."""
        return "of the metaclass"


class Made(metaclass=Meta):
    """A class that has nothing itself."""


def outcome(function: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        result = function(*given)
    except Exception as error:  # noqa: BLE001  whatever it is, it has to be the same
        return type(error), str(error)
    return type(result), repr(result)


def program_of(call: str) -> Callable[..., Any]:
    """A function that makes a call, and says what it raised."""
    names: dict[str, Any] = {"np": np}
    lines = "def program(a, x):\n    try:\n        return {}\n    except (AttributeError, TypeError) as e:\n        return str(e)\n"
    exec(lines.format(call), names)
    program: types.FunctionType = names["program"]
    return program


@pytest.mark.parametrize("name", NAMES)
def test_arguments_answer_for_functions(name: str) -> None:
    """Whatever function it is, and wherever the argument stands, it is asked first."""
    for given in ARGUMENTS:
        program = program_of(f"{name}({given})")
        for x in (Duck(), Bare(), np.zeros((3, 3)).view(Answering)):
            compiled = ufuse.compile(program)
            expected = outcome(program, np.ones((3, 3)), x)
            for _ in range(2):
                assert outcome(compiled, np.ones((3, 3)), x) == expected, given


@pytest.mark.parametrize("name", ["put", "rollaxis", "real", "imag", "size", "iscomplexobj"])
def test_arguments_answer_for_functions_that_were_traced_for_others(name: str) -> None:
    """What was traced for an array, or for an object that does not answer, is not used for one that does."""

    class Later:
        ndim = 2
        put = Duck.put

    program = program_of(f"np.{name}(x{', 0, 1' if name in ('put', 'rollaxis') else ''})")
    compiled = ufuse.compile(program)
    later = Later()
    values = [np.ones((3, 3)), later, Duck(), Made(), np.zeros((3, 3)).view(Answering)]
    for x in (*values, *values):
        assert outcome(compiled, None, x) == outcome(program, None, x)
    Later.__array_function__ = Bare.__array_function__  # type: ignore[attr-defined]
    for x in values:
        assert outcome(compiled, None, x) == outcome(program, None, x)
    assert "dispatched" in outcome(compiled, None, later)[1]

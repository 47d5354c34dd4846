"""Tables of programs that tests compare with themselves compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Program = Callable[..., Any]
Make = Callable[[], tuple[Any, ...]]
Row = tuple[Program, Make, bool]


def registering(rows: list[Row], default: Make = tuple) -> Callable[..., Any]:
    """A decorator that adds a program to `rows`, with what makes its arguments and whether its graph may break."""

    def program(make_args: Make = default, *, breaks: bool = False) -> Callable[[Program], Program]:
        def register(function: Program) -> Program:
            rows.append((function, make_args, breaks))
            return function

        return register

    return program


def listed(programs: list[Program]) -> Callable[[Program], Program]:
    """A decorator that adds a program to a list."""

    def listing(program: Program) -> Program:
        programs.append(program)
        return program

    return listing


def given(program: Program) -> tuple[Any, ...]:
    """Arguments by the names of parameters: x an array, l a list, d a dict, s a set, t a tuple, n and f numbers."""
    made = {
        "x": np.arange(1.0, 4.0),
        "l": [1, 2, 3],
        "d": {"a": 1, "b": 2.5},
        "s": {3, 1, 2},
        "t": (1, 2.0, "c"),
        "n": 4,
        "f": 2.5,
    }
    return picked(program, made)


def picked(program: Program, made: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments that have the names of a program's parameters."""
    names = program.__code__.co_varnames[: program.__code__.co_argcount]
    return tuple(made[name] for name in names)


def x() -> np.ndarray[Any, Any]:
    """Three numbers."""
    return np.arange(3.0) + 1


def just_x() -> tuple[Any, ...]:
    """The arguments of a program that takes three numbers."""
    return (x(),)

"""The registrar of programs: functions that a test compares with themselves compiled."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.comparing.recording import MODES, Mode

Function = Callable[..., Any]
Make = Callable[[], tuple[Any, ...]]


class Breaks(enum.Enum):
    """Where a program's graph may end before the program does."""

    NEVER = enum.auto()
    RAISING = enum.auto()  # only where the program raises an exception that it does not catch
    SOMEWHERE = enum.auto()  # nothing is promised
    ALWAYS = enum.auto()


@dataclass(frozen=True, slots=True)
class Program:
    """A function, what makes the arguments of one call, and what is promised of its graph."""

    function: Function
    make_args: Make
    breaks: Breaks
    among: Programs = field(repr=False)


@dataclass(eq=False)
class Programs:
    """The programs of one subject, and how they are compared.

    A decorator adds one: `@PROGRAMS.whole()` gives it arguments by the names of its parameters (`named`, or the
    arguments that all subjects share), `@PROGRAMS.whole(make_args)` those that `make_args` makes.
    """

    named: Callable[[], Mapping[str, Any]] = dict
    state: Callable[[], Any] | None = None  # what the programs change besides their arguments
    reset: Callable[[], object] | None = None  # puts that back
    backends: Sequence[str] = ("numpy",)
    modes: Sequence[Mode] = MODES[:3]
    every_mode: bool = False  # where functions ask for the mode that others call
    rows: list[Program] = field(default_factory=list)

    def whole(self, make_args: Make | None = None) -> Callable[[Function], Function]:
        """Add a program that is one graph."""
        return self.adding(make_args, Breaks.NEVER)

    def raising(self, make_args: Make | None = None) -> Callable[[Function], Function]:
        """Add a program that is one graph up to where it raises."""
        return self.adding(make_args, Breaks.RAISING)

    def either(self, make_args: Make | None = None) -> Callable[[Function], Function]:
        """Add a program whose graph may end anywhere, or not."""
        return self.adding(make_args, Breaks.SOMEWHERE)

    def cut(self, make_args: Make | None = None) -> Callable[[Function], Function]:
        """Add a program that is left to plain Python somewhere."""
        return self.adding(make_args, Breaks.ALWAYS)

    def adding(self, make_args: Make | None, breaks: Breaks) -> Callable[[Function], Function]:
        """A decorator that adds a program."""

        def add(function: Function) -> Function:
            make = make_args or (lambda: self.by_name(function))
            self.rows.append(Program(function, make, breaks, self))
            return function

        return add

    def by_name(self, function: Function) -> tuple[Any, ...]:
        """Fresh arguments that have the names of a function's parameters."""
        made = {**shared_arguments(), **self.named()}
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        return tuple(made[name] for name in names)


def x() -> np.ndarray[Any, Any]:
    """Three numbers, one of them zero."""
    return np.arange(3.0)


def shared_arguments() -> dict[str, Any]:
    """What a parameter of a program is given for its name, whatever the subject."""
    return {
        "x": x(),
        "l": [1, 2, 3],
        "d": {"a": 1, "b": 2.5},
        "s": {3, 1, 2},
        "t": (1, 2.0, "c"),
        "n": 4,
        "f": 2.5,
    }

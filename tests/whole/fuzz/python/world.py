"""The module of a random Python program: what of it is put back before a call, and looked at after it."""

from __future__ import annotations

import re
import types
from typing import Any

import numpy as np

from tests.support.comparing.compare import MODES, Difference, check_same
from tests.whole.fuzz.check import Tried, World
from tests.whole.fuzz.values import Given, array

CYCLES = re.compile(
    r"except .* as |return (\w+)\(min\("
)  # what plain Python leaves to its garbage collector


class PythonWorld(World):
    """The module of a program of `tests.fuzz.python.programs`."""

    atoms = False
    shorter_lives = True

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.classes = [
            value
            for value in vars(self.module).values()
            if isinstance(value, type) and value.__module__ == self.module.__name__
        ]

    def reset(self) -> None:
        """Put the globals back."""
        self.module.reset()

    def state(self) -> tuple[Any, ...]:
        """The globals, the attributes of classes and functions, and which watched arrays are alive."""
        module = self.module
        attributes = [
            {name: value for name, value in vars(kind).items() if is_plain(value)}
            for kind in self.classes
        ]
        alive = [reference() is not None for reference in module.WATCHED]
        return (
            module.COUNT,
            list(module.LOG),
            dict(module.TABLE),
            list(module.ITEMS),
            module.MEMORY,
            attributes,
            alive,
        )

    def made(self, given: tuple[Given, ...]) -> tuple[Any, ...]:
        """Arguments for a call; they are expressions of the module."""
        known = {**vars(self.module), "np": np, "array": array}
        for argument in given:
            known[argument.name] = eval(argument.text, known)  # noqa: S307  our own text
        return tuple(known[argument.name] for argument in given)

    @staticmethod
    def without_finalizers(source: str) -> str | None:
        """See `World`. A kept exception is in no cycle with its frame, nor a function that calls itself with its cell."""
        silent = source.replace("self.log.append('died')", "pass")
        return silent if silent != source and CYCLES.search(source) else None

    def sequence(self, program: Tried, compiled: Any) -> str:
        """What differs in a row of calls between which nothing is put back."""

        def calls(function: Any) -> Any:
            def run(*many: tuple[Any, ...]) -> list[Any]:
                told = []
                for arguments in many:
                    try:
                        told.append(function(*arguments))
                    except Exception as error:  # noqa: BLE001  any is compared
                        told.append((type(error), str(error)))
                return told

            return run

        def all_arguments() -> tuple[Any, ...]:
            first = self.made(program.sets[0])
            return first, first, *map(self.made, program.sets)

        try:
            check_same(
                calls(self.function),
                calls(compiled),
                all_arguments,
                calls=1,
                modes=MODES[:1],
                state=self.state,
                reset=self.reset,
                copies=False,
                atoms=self.atoms,
            )
        except Difference as error:
            return f"calls in a row, {error}"
        return ""


def is_plain(value: Any) -> bool:
    """Whether it is a value that a program may have put on a class."""
    return isinstance(value, (int, float, str, list, dict, np.ndarray)) and not isinstance(
        value, types.FunctionType
    )

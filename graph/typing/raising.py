"""NumPy's functions whose Python code warns, as copies that raise in its place.

Such a warning names the line of whoever called the function, which is plain Python's to do: the graph that meets one
gives up, and nothing has been said. Floating-point warnings need none of this, as graphs run with NumPy's error state
set to raise.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, NoReturn


class WouldWarnError(Exception):
    """A function of NumPy's would warn here."""


class _Warnings:
    """Stands for the module `warnings` in the copies."""

    @staticmethod
    def warn(*message: object, **_: object) -> NoReturn:
        """Raise instead.

        Raises:
            WouldWarnError: always.

        """
        raise WouldWarnError(*message)

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)


def raising(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of NumPy's, but raising where its module warns."""
    plain: Any = getattr(function, "_implementation", function)
    return _copies(plain.__globals__["__name__"])[plain.__name__]  # type: ignore[no-any-return]


@lru_cache(maxsize=16)
def _copies(module: str) -> dict[str, Any]:
    """The names of a module, with its functions made anew over these names."""
    own = vars(sys.modules[module])
    names = {**own, "warnings": _Warnings()}
    for name, value in own.items():
        plain = getattr(value, "_implementation", value)
        if type(plain) is FunctionType and plain.__globals__ is own:
            made = FunctionType(
                plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__
            )
            made.__kwdefaults__ = plain.__kwdefaults__
            names[name] = made
    return names

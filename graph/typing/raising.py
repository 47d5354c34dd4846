"""NumPy's functions whose Python code warns, as copies that raise in its place.

Such a warning names the line of whoever called the function, which is plain Python's to do: the graph that meets one
gives up, and nothing has been said. Floating-point warnings need none of this, as graphs run with NumPy's error state
set to raise.
"""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from types import FunctionType, ModuleType
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


class _Copied:
    """Stands for another module of NumPy's in the copies."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = vars(self)[name] = raising(getattr(self._module, name))
        return found


def raising(value: Any) -> Any:
    """The same; but of a function that NumPy has in Python, one that raises where it, or what it calls, would warn."""
    plain = getattr(value, "_implementation", value)
    if type(plain) is not FunctionType:
        return value
    module = plain.__globals__.get("__name__", "")
    return _copies(module).get(plain, value) if module.startswith("numpy.") else value


@lru_cache(maxsize=64)
def _copies(module: str) -> dict[FunctionType, FunctionType]:
    """The functions of a module of NumPy's, and the same made anew over names that lead to copies."""
    own = vars(sys.modules[module])
    names = {name: _Copied(one) if _is_numpys(one) else one for name, one in own.items()}
    names["warnings"] = _Warnings()
    copies: dict[FunctionType, FunctionType] = {}
    for name, value in own.items():
        plain = getattr(value, "_implementation", value)
        if type(plain) is FunctionType and plain.__globals__ is own:
            made = FunctionType(
                plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__
            )
            made.__kwdefaults__ = plain.__kwdefaults__
            names[name] = copies[plain] = made
    return copies


def _is_numpys(value: object) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "numpy"

"""The tables of rules for CuPy's functions and for the methods of its arrays, and how rules read their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import OneRule, Rule, registering
from ufuse.frame_hook.interpreter.tables import Table
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import DeviceArray, Symbol
from ufuse.frame_hook.trace.trace import Trace

# By the name that `ufuse.graph.typing.library` gives a function; arguments as the function's own.
FUNCTIONS: Table[str, Rule] = Table()
METHODS: Table[str, Rule] = Table()  # the array is the first argument


def function(*names: str) -> Callable[[OneRule], OneRule]:
    """Register the rule of one or more functions."""
    return registering(FUNCTIONS, names)


def method(*names: str) -> Callable[[OneRule], OneRule]:
    """Register the rule of one or more methods."""
    return registering(METHODS, names)


def array_argument(interpreter: Interpreter, symbol: Symbol, what: str) -> DeviceArray:
    """An array of CuPy's.

    Raises:
        GraphBreak: it is something else.

    """
    read = interpreter.trace.look(symbol)
    if not isinstance(read, DeviceArray):
        raise GraphBreak("numpy-call", f"cupy.{what} of {described(read)}")
    return read


def known(trace: Trace, symbol: Symbol | None, default: Any = None) -> Any:
    """The Python value of an argument, or what it is where it is left out."""
    return default if symbol is None else arrays.plain(trace, symbol)

"""What a program may say to the tracer: break here, leave this function alone, am I being traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ufuse.frame_hook.code.by_code import ByCode

P = ParamSpec("P")
R = TypeVar("R")

DISABLED: ByCode[bool] = ByCode()


def graph_break(reason: str = "") -> None:
    """End the graph here on purpose; outside a trace it does nothing.

    Args:
        reason: shown in `ufuse.explain` and in the log.

    Example:
        >>> graph_break("a checkpoint")

    """
    if not isinstance(reason, str):
        raise TypeError(f"reason must be a str, not {type(reason).__name__}")


def is_tracing() -> bool:
    """Whether the code that asks is being traced; False in plain Python.

    Example:
        >>> is_tracing()
        False

    """
    return False


def disable(fn: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as never captured: it is called as it is, and the graph of its caller ends at the call.

    Args:
        fn: a Python function.

    Raises:
        TypeError: `fn` is not a Python function.

    Example:
        >>> @disable
        ... def checkpoint(x):
        ...     return x
        >>> checkpoint(3)
        3

    """
    code = getattr(fn, "__code__", None)
    if code is None:
        raise TypeError(
            f"fn must be a Python function, not {type(fn).__name__}: only those can be marked"
        )

    DISABLED.keep(code, True)
    return fn

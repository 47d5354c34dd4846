"""Running functions at compile time: a warning is an error, and the program's own state is as before afterwards.

NumPy's error state is set in a copy of the context; the warning filter is removed in a `finally`, because a signal
handler of the program may raise at any point. Other threads are not affected.
"""

from __future__ import annotations

import contextvars
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def context_with(**modes: Any) -> contextvars.Context:
    """A copy of this context in which `np.seterr(**modes)` was called."""
    context = contextvars.copy_context()
    context.run(np.seterr, **modes)
    return context


def run_strictly(
    mode: str, function: Callable[..., Any], /, *arguments: Any, **keywords: Any
) -> Any:
    """What a function returns where every mode of NumPy's error state is `mode`, and a warning is an error.

    Without `warnings.catch_warnings`, which resets the registries of warnings that were shown once.

    Raises:
        Exception: whatever the function raises, or warns of.

    """
    context = context_with(all=mode)
    filters: Any = getattr(warnings, "_get_filters", lambda: warnings.filters)()
    thread = threading.get_ident()
    depth = DEPTHS.get(thread, 0)
    try:  # a signal handler may run behind a call, so the filter is in, or out again, before it can raise
        filters.insert(0, ROW)
        DEPTHS[thread] = depth + 1
        return context.run(function, *arguments, **keywords)
    finally:
        DEPTHS[thread] = depth
        filters.remove(ROW)


class _EveryWarning(type):
    """The type of a category that every warning matches, on threads inside `run_strictly`, and none elsewhere."""

    def __subclasscheck__(cls, other: type) -> bool:
        return DEPTHS.get(threading.get_ident(), 0) > 0


class _Strict(Warning, metaclass=_EveryWarning):
    pass


DEPTHS: dict[int, int] = {}  # by thread: how many calls of `run_strictly` are nested
ROW = ("error", None, _Strict, None, 0)

__all__ = ["context_with", "run_strictly"]

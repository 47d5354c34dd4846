"""Running functions while we compile: what they warn of is an error, and nothing of that is left behind.

NumPy's error state is set in a copy of the context, and the filter of warnings is taken out in a `finally`: a signal
handler of the program's may raise wherever it likes. Other threads do not notice.
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

    `warnings.catch_warnings` would make Python forget which warnings the program has shown already.

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
    """Of such a class every warning is a subclass, on threads that run something strictly."""

    def __subclasscheck__(cls, other: type) -> bool:
        return DEPTHS.get(threading.get_ident(), 0) > 0


class _Strict(Warning, metaclass=_EveryWarning):
    pass


DEPTHS: dict[int, int] = {}  # how many functions a thread runs strictly, one inside the other
ROW = ("error", None, _Strict, None, 0)

__all__ = ["context_with", "run_strictly"]

"""How long a device works on a timed call: the host goes on at once."""

from __future__ import annotations

import sys
from typing import Any

NOTHING = -1


def mark() -> Any:
    """An event behind all that the current stream has to do; None where none may be put there."""
    cuda = sys.modules["cupy"].cuda
    stream = cuda.get_current_stream()
    if stream.is_capturing():
        return None
    event = cuda.Event()
    event.record(stream)
    return event


def took(began: Any, ended: Any) -> int | None:
    """The nanoseconds between two events; None while the device is not there yet, NOTHING where they tell nothing."""
    cuda = sys.modules["cupy"].cuda
    try:
        if not ended.done:
            return None
        return int(cuda.get_elapsed_time(began, ended) * 1e6)
    except cuda.runtime.CUDARuntimeError:  # of two devices, or captured
        return NOTHING


def wait() -> None:
    """Let the device finish, where CuPy is in use."""
    cupy = sys.modules.get("cupy")
    if cupy is not None and cupy.cuda.is_available():
        cupy.cuda.get_current_stream().synchronize()

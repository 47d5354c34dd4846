"""Exceptions of the program's signal handlers, raised while this package works: they go to the program, not to us."""

from __future__ import annotations

import signal
import traceback
from types import CodeType
from typing import Any


def is_of_signal(error: BaseException) -> bool:
    """Whether one of the program's signal handlers raised an error."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if (code := _code_of(handler)) is not None}
    return bool(codes) and any(
        frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def pass_on(error: BaseException) -> None:
    """Raise an error of a signal handler again: for `except` clauses that take any other error as a refusal."""
    if is_of_signal(error):
        raise error


def _code_of(handler: Any) -> CodeType | None:
    """The code object of a signal handler, or None where it is not written in Python."""
    for one in (handler, getattr(handler, "func", None), getattr(handler, "__call__", None)):  # noqa: B004
        code = getattr(getattr(one, "__func__", one), "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None


__all__ = ["is_of_signal", "pass_on"]

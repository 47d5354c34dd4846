"""Ends what takes too long."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from tests.support.alarms import on_alarm


class TooLongError(BaseException):
    """A program does not end."""


def too_long(*_: object) -> None:
    """End what runs now."""
    raise TooLongError


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what is inside after this time; again and again where the program catches it."""
    with on_alarm(too_long):
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
        yield

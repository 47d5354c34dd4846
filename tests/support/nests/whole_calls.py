"""Whole calls as machine code at once, of every function that can be read so: graphs run only what that declines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ufuse.frame_hook.nests.entries import whole
from ufuse.frame_hook.nests.entries.whole_trial import Before
from ufuse.frame_hook.session import Session

UNTIMED = Before(0, 0, 0)  # as if calls had been timed, by no trial


@contextmanager
def whole_at_once() -> Iterator[None]:
    """Ask for machine code at the second call, without a trial; in sessions that do not measure."""
    before = Session.capture

    def asking(self: Session, cache: Any, position: int, *others: Any) -> Any:
        record = self.record(cache.code)
        is_asked = record.whole_tries or cache.whole_call_after or record.why_not_whole
        if position == 0 and self.takes_loops and not is_asked and whole.can_be(cache.code):
            cache.whole_call_after = 1
            record.before_whole = UNTIMED
        return before(self, cache, position, *others)

    Session.capture = asking  # type: ignore[method-assign]
    try:
        yield
    finally:
        Session.capture = before  # type: ignore[method-assign]

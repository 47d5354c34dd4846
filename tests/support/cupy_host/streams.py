"""Streams, events and what waits for what: work is done as it is asked for, or as late as CUDA allows."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Work = Callable[[], object]
NON_BLOCKING = 1
DEFAULTS = 0, 1, 2  # the null stream, the legacy one, the thread's own


@dataclass
class Stream:
    """A stream; blocking ones and the default ones share a queue, as they wait for each other."""

    queue: collections.deque[Work]
    flags: int = 0
    priority: int = 0
    captured: list[Work] | None = None


@dataclass
class Event:
    """An event, and where it was recorded."""

    timed: bool = True
    queue: collections.deque[Work] | None = None
    time: float = 0.0
    is_done: bool = True


@dataclass
class Streams:
    """All streams.

    Attributes:
        late: whether work waits in its queue until something makes it run: a wait that is missing then shows.
    """

    late: bool = False
    shared: collections.deque[Work] = field(default_factory=collections.deque)
    by_number: dict[int, Stream] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_number.update({number: Stream(self.shared) for number in DEFAULTS})

    def add(self, number: int, flags: int, priority: int) -> None:
        """A new stream."""
        queue = collections.deque[Work]() if flags & NON_BLOCKING else self.shared
        self.by_number[number] = Stream(queue, flags, priority)

    def submit(self, stream: Stream, work: Work) -> None:
        """Do work in a stream's order, or keep it for the stream's graph."""
        if stream.captured is not None:
            stream.captured.append(work)
        elif self.late:
            stream.queue.append(work)
        else:
            work()

    def finish(self, stream: Stream) -> None:
        """Do all that the stream waits with."""
        while stream.queue:
            stream.queue.popleft()()

    def finish_all(self) -> None:
        """Do all work, the newest streams' first: what they should have waited for is then missing."""
        for stream in reversed(list(self.by_number.values())):
            self.finish(stream)

    def record(self, event: Event, stream: Stream) -> None:
        """Have an event happen behind the stream's work."""
        event.queue, event.is_done = stream.queue, False

        def happen() -> None:
            event.time, event.is_done = time.perf_counter(), True

        self.submit(stream, happen)

    def wait(self, stream: Stream, event: Event) -> None:
        """Have the stream's later work wait for an event."""
        if not event.is_done:
            self.submit(stream, lambda: self.finish_until(event))

    def finish_until(self, event: Event) -> None:
        """Do what the event waits for."""
        while not event.is_done and event.queue:
            event.queue.popleft()()

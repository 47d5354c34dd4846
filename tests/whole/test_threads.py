"""Threads that call one compiled function at once: the same results, and no failure of ours."""

from __future__ import annotations

import collections
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.frames.hooking import entry
from tests.support.frames.pieces import failures_heard, should_trace
from ufuse.backends import protocol
from ufuse.compiled import CompiledFunction
from ufuse.frame_hook.bookkeeping import no_stops
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.session import Session

A = np.arange(5.0)
ARGUMENTS = (A, A.astype(int), A.astype("f4"), 2.5, 3, A.reshape(5, 1))
ROUNDS = 8


@pytest.fixture
def eager_switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_switching")
@pytest.mark.parametrize("every_frame", [False, True])
def test_threads_on_one_function(every_frame: bool) -> None:
    """Each thread has arguments of its own kind, so that all trace, retrace and give up positions meanwhile."""
    failed: list[Any] = []
    with failures_heard() as said:
        for _ in range(ROUNDS):
            _all_at_once(every_frame, failed)
    assert failed == []
    assert said == []


def _all_at_once(every_frame: bool, failed: list[Any]) -> None:
    own = threading.local()

    def function(x: Any) -> Any:
        own.count = getattr(own, "count", 0) + 1
        y = x + own.count
        print(end="")
        z = y * 2
        if own.count % 2:
            z = z + 1
        return z

    numpy_backend = protocol.backend_named("numpy")
    session = Session(numpy_backend.compile, should_trace=should_trace, every_frame=every_frame)
    compiled = CompiledFunction(function, session)
    barrier = threading.Barrier(len(ARGUMENTS))

    def work(x: Any) -> None:
        barrier.wait()
        for count in range(1, 10):
            found, wanted = compiled(x), (x + count) * 2 + count % 2
            if not np.array_equal(found, wanted):
                failed.append((found, wanted))

    threads = [threading.Thread(target=work, args=(x,)) for x in ARGUMENTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_stops_may_be_added_while_others_are_dropped() -> None:
    """A thread makes resume code while another looks for that which stops where nothing can be traced."""
    record = CodeRecord(stops={2: frozenset({8}), 4: frozenset({6})})
    dropped = []

    class Cache:
        def drop_resume(self, place: int) -> None:
            dropped.append(place)
            record.stops[place + 100] = frozenset({8})

    no_stops(Cache(), {6, 8}, record)
    assert dropped == [2, 4]


def test_an_entry_may_be_removed_twice() -> None:
    """Two threads find that the same entry is of no more use."""
    cache = ufuse.compile(lambda x: x).__ufuse_cache__
    kept, lost = entry(), entry()
    cache.add(0, lost)
    cache.add(0, kept)
    for _ in range(2):
        cache.remove(0, lost)
        assert cache.entries(0) == [kept]
    cache.remove(10, kept)
    assert cache.entries(0) == [kept]


class Named(dict[str, float]):
    """A class whose instances hold entries."""


class Ordered(collections.OrderedDict[str, float]):
    """The same, in an order of their own."""


KEYS = [f"key {number}" for number in range(64)]


class Changing:
    """Containers that another thread changes all the time, and what programs read of them that is always there."""

    def __init__(self) -> None:
        self.entries = dict.fromkeys(KEYS, 2.0)
        self.named = Named(self.entries)
        self.ordered = Ordered(self.entries)
        self.members = set(KEYS)
        self.row = collections.deque(KEYS)
        self.listed = list(KEYS)
        self.stopped = False

    def change(self) -> None:
        """Add and remove what nobody asks for."""
        while not self.stopped:
            for number in range(100):
                key = f"new {number}"
                self.entries[key] = self.named[key] = self.ordered[key] = 1.0
                self.members.add(key)
                self.row.append(key)
                self.listed.append(key)
            for number in range(100):
                key = f"new {number}"
                del self.entries[key], self.named[key], self.ordered[key]
                self.members.discard(key)
                self.row.pop()
                self.listed.pop()


READERS: list[Callable[[Changing, Any], Any]] = [
    lambda world, x: x * world.entries["key 3"],
    lambda world, x: x * world.entries.get("nothing", 2.0),
    lambda world, x: x * 2.0 if "key 5" in world.entries else None,
    lambda world, x: x * 2.0 if len(world.entries) >= 64 else None,
    lambda world, x: x * world.named["key 3"],
    lambda world, x: x * world.ordered["key 3"],
    lambda world, x: x * 2.0 if "key 5" in world.members else None,
    lambda world, x: x * 2.0 if world.row[0] == "key 0" else None,
    lambda world, x: x * 2.0 if world.listed[1] == "key 1" else None,
]


@pytest.mark.usefixtures("eager_switching")
def test_another_thread_changes_what_is_read() -> None:
    """While a frame is traced: it is read as it is at one moment, and no failure of ours is logged."""
    world = Changing()
    thread = threading.Thread(target=world.change)
    thread.start()
    try:
        with failures_heard() as said:
            for _ in range(20):
                for reader in READERS:
                    compiled = ufuse.compile(reader)
                    for _ in range(2):
                        np.testing.assert_array_equal(compiled(world, A), A * 2)
    finally:
        world.stopped = True
        thread.join()
    assert said == []

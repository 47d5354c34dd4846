"""Calls of a nest in which one allocation after another fails."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ufuse.backends.numpy.llvm import background
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest


def ends_without_memory(
    nest: Nest,
    make: Callable[[], tuple[Any, ...]],
    check: Callable[[Any, int], None],
    turns: int,
    places: Iterable[int],
) -> set[int]:
    """After how many turns calls have ended, in each of which the allocation at a place fails.

    `check` looks at the objects that `make` gave after so many turns. Fails where an object is lost.
    """
    testing = pytest.importorskip("_testcapi")
    made: Any = nest_object(nest)
    made.tuner = made.improver = None  # no other thread is to be the one that gets no memory
    background.finish()
    made.budget = 1e6
    made(*make(), iter(range(1000)))
    ends, blocks = set(), 0
    once = tuple(places)
    for failing in (*once, *once):  # what Python keeps for ever it has by the second time
        blocks = blocks if failing else sys.getallocatedblocks()
        found, iterator = make(), iter(range(turns))
        # Made before: CPython 3.11 and 3.12 lose items where such a tuple fails.
        given = (*found, iterator)
        testing.set_nomemory(failing, failing + 1)
        try:
            made(*given)
        except MemoryError:
            pass  # of the call itself; a context manager would need memory, too
        finally:
            testing.remove_mem_hooks()
        done = turns - iterator.__length_hint__()
        check(found, done)
        ends.add(done)
    del found, iterator, given
    assert gc.isenabled()
    assert sys.getallocatedblocks() - blocks < 30
    return ends

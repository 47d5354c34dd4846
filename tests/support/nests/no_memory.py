"""Calls of a nest in which one allocation after another fails."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from ufuse.backends.numpy.llvm import background
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest


def over_range(turns: int) -> tuple[Any, ...]:
    """The only iterator of most nests."""
    return (iter(range(turns)),)


def nothing(_: int) -> None:
    """What nests without outputs give."""


def ends_without_memory(
    nest: Nest,
    make: Callable[[], Sequence[Any]],
    check: Callable[[Any, int], None],
    turns: int,
    places: Iterable[int],
    iterators: Callable[[int], tuple[Any, ...]] = over_range,
    outputs: Callable[[int], Any] = nothing,
) -> set[int]:
    """After how many turns calls have ended, in each of which the allocation at a place fails.

    `check` looks at the objects that `make` gave after so many turns; `outputs` says what a call gives that has done
    some. Fails where an object is lost, or an iterator does not stand behind these turns.
    """
    testing = pytest.importorskip("_testcapi")
    background.finish()
    ends, lost, once = set(), 0, tuple(places)
    for _ in range(2):  # what Python keeps for ever it has by the second time
        nests = [called_once(nest, (*make(), *iterators(turns))) for _ in once]
        lost = -blocks_in_use()
        for failing, called in zip(once, nests, strict=True):
            found, over, given = make(), iterators(turns), NotImplemented
            # Made before: CPython 3.11 and 3.12 lose items where such a tuple fails.
            objects = (*found, *over)
            testing.set_nomemory(failing, failing + 1)
            try:
                given = called(*objects)
            except MemoryError:
                pass  # of the call itself; a context manager would need memory, too
            finally:
                testing.remove_mem_hooks()
            done = turns - rest_of(over, iterators(turns))
            check(found, done)
            assert repr(given) == repr(outputs(done) if done else NotImplemented)
            ends.add(done)
        del found, over, objects, given
        lost += blocks_in_use()
    assert gc.isenabled()
    assert lost < 30
    return ends


def blocks_in_use() -> int:
    """How many blocks of memory Python has, without those that are kept for new tuples."""
    gc.collect()
    return sys.getallocatedblocks()


def called_once(nest: Nest, objects: tuple[Any, ...]) -> Any:
    """What runs a nest, anew: one that has failed declines more and more calls."""
    made: Any = nest_object(nest)
    made.tuner = made.improver = None  # no other thread is to be the one that gets no memory
    made.budget = 1e6
    made(*objects)
    return made


def rest_of(found: tuple[Any, ...], others: tuple[Any, ...]) -> int:
    """How much some iterators still give, each the end of what another one gives."""
    rests = [(list(one), list(other)) for one, other in zip(found, others, strict=True)]
    assert all(one == other[len(other) - len(one) :] for one, other in rests)
    assert len({len(one) for one, _ in rests}) == 1
    return len(rests[0][0])

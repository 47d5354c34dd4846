"""Threads that share of native loops whatever they can."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy import nests as makers
from ufuse.backends.numpy.nest_code import share
from ufuse.graph.nest import Nest


@contextlib.contextmanager
def always_shared(threads: int | None = None) -> Iterator[None]:
    """Statements and turns are shared inside, whether that pays or not; among so many threads."""
    count, before = _tiles.threads(), _tiles.share_statements(1, 0)
    if threads is not None:
        _tiles.set_threads(threads)
    try:
        yield
    finally:
        _tiles.share_statements(*before)
        _tiles.set_threads(count)


def shared_turns(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> int:
    """Compare a function with itself compiled; how many turns threads shared in calls of its own."""
    assert native_turns(function, make) > 0
    compiled = ufuse.compile(function)
    for _ in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(*make())
    return sum(loop.shared for loop in loops_of(compiled))


def numbers(*shape: int) -> np.ndarray:
    """Ordinary numbers."""
    return np.random.default_rng(0).random(shape)


def in_python_threads(call: Callable[[], bytes], times: int) -> set[bytes]:
    """What a call gives in each of several Python threads at once, which make it so many times."""
    found: list[bytes] = []

    def run() -> None:
        found.extend(call() for _ in range(times))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == times * len(threads)
    return set(found)


@contextlib.contextmanager
def loops_shared_at_once() -> Iterator[None]:
    """Nests have better code from their first call on, which shares loops inside, also of few turns."""

    def made(own: Callable[..., Any], nest: Nest, *given: Any) -> Any:
        found = own(nest, *given)
        if found is not None and found.improver is not None:
            found.improver = None
            makers._improve(nest, found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(makers, "_has_long_turns", lambda _: True)
        patch.setattr(makers, "_made", partial(made, makers._made))
        patch.setattr(share, "FEWEST_TURNS", 2)
        yield

"""Generators of random numbers that a loop makes: `np.random.default_rng(k)` and `np.random.RandomState(k)`.

The nest has one of its own for each place in the program where one is made. It begins anew there, so nobody may use
what the same place has given before, nor may the program get it. Its lock keeps other threads out of it. One of
Python's has no lock.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.calls import draws
from ufuse.frame_hook.nests.given import generator_methods
from ufuse.frame_hook.nests.given.generator_methods import is_default_rng
from ufuse.frame_hook.nests.known.containers import Generating, Generator
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.reading.reader import Reader


def is_maker(value: object) -> bool:
    """Whether a call of it makes a generator."""
    return is_default_rng(value) or value is generator_methods.in_c(
        "numpy.random.mtrand", "RandomState"
    )


def made(
    reader: Reader, maker: Any, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> Generator:
    """What a call gives.

    Raises:
        NotNativeError: its argument is not followed, or what it gave before may be used still.

    """
    given = [*arguments, *keywords.values()]
    if len(given) != 1 or not keywords.keys() <= {"seed"}:
        raise NotNativeError("a generator of random numbers that is made without a seed")
    (item,) = given
    is_legacy = not is_default_rng(maker)
    if isinstance(item, Generator) and item.type is np.random.Generator and not is_legacy:
        return item
    place = f"{reader.frame.function.prefix}{maker.__name__}@{reader.at.position}"
    found = reader.outside.own_generator(place, _legacy if is_legacy else _generator)
    if found.register in _in_use(reader):
        raise NotNativeError("a generator of random numbers that is made again while it is used")
    method = Generating(found, "seed")
    name = "legacy_seed" if is_legacy else "seed"
    draws.begin_anew(reader.out, name, reader.drawn_from(method), item)
    return found


def _generator() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(0))


def _legacy() -> np.random.RandomState:
    return np.random.RandomState(0)


def _in_use(reader: Reader) -> set[int]:
    """The registers of generators that are on stacks or in variables which are still read."""
    frame = reader.frame
    live = frame.function.live[reader.next] | frame.function.cells
    found = {one for slot, kind in frame.slots.items() if slot in live for one in _within(kind)}
    found.update(_within(tuple(frame.stack)))
    caller = frame.caller
    while caller is not None:
        found.update(_within((caller.locals, caller.stack)))
        caller = caller.caller
    return found


def _within(what: object) -> Iterator[int]:
    """The registers of the generators in an item or a kind."""
    if isinstance(what, Generator):
        yield what.register
    elif isinstance(what, tuple):
        for one in what:
            yield from _within(one)
    elif dataclasses.is_dataclass(what) and not isinstance(what, Known):
        for field in dataclasses.fields(what):
            yield from _within(getattr(what, field.name))

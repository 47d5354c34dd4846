"""The iterator of the outermost loop: over a range, an array, numbers of a list, several axes, or several of these.

What turns the loop is on the frame's stack: an `enumerate` or `zip` is taken apart by guards, and the nest moves each
iterator in it.
"""

from __future__ import annotations

from operator import length_hint
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.nests.calls import grids
from ufuse.frame_hook.nests.given import listed_objects
from ufuse.frame_hook.nests.given.outside import Outside
from ufuse.frame_hook.nests.known import ragged_shapes, refusals
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    NotNativeError,
    common_item_kind,
    item_kind,
)
from ufuse.frame_hook.nests.known.naming import value_in_words
from ufuse.frame_hook.nests.known.values import Elements, Together, Whole
from ufuse.frame_hook.nests.known.ways import Outermost
from ufuse.frame_hook.trace.symbols import Source
from ufuse.graph.nest_slots import RangeSlot

RANGE_ITERATOR = type(iter(range(0)))
OF_TEXTS = tuple(type(iter(one)) for one in ("\u00e9", "e", b"", bytearray()))
FORWARDS: tuple[type, ...] = (type(iter(np.zeros(0))), type(iter([])), type(iter(())), *OF_TEXTS)
MOST_PARTS = 8  # of a zip
MOST_LEVELS = 3


def turns_left(iterator: object) -> int | None:
    """How many turns a loop over an iterator still has, or the shortest part of it; None: no nest goes over that."""
    return _turns(iterator, MOST_LEVELS, is_whole=False)


def all_turns(iterator: object) -> int:
    """How many turns such a loop has in all."""
    found = _turns(iterator, MOST_LEVELS, is_whole=True)
    assert found is not None
    return found


def _turns(iterator: Any, levels: int, *, is_whole: bool) -> int | None:
    if type(iterator) is RANGE_ITERATOR:
        return len(iterator.__reduce__()[1][0]) if is_whole else length_hint(iterator)
    if grids.goes_over(iterator):
        both = grids.turns(iterator)
        return None if both is None else both[is_whole]
    over = _hook.iterated(iterator)
    if over is _hook.NULL or levels == 0:
        return None
    if type(iterator) is enumerate:
        return _turns(over, levels - 1, is_whole=is_whole)
    if type(iterator) is zip:
        if not 1 <= len(over) <= MOST_PARTS:
            return None
        counts = [_turns(one, levels - 1, is_whole=is_whole) for one in over]
        return None if None in counts else min(one for one in counts if one is not None)
    if not _is_followed(over):
        return None
    return len(over) if is_whole else length_hint(iterator)


def _is_followed(over: object) -> bool:
    """Whether a nest may go over a sequence; of a list only the first item is looked at."""
    if type(over) is np.ndarray:
        return over.ndim > 0
    if type(over) in (str, bytes, bytearray):
        return True
    if type(over) is not list and type(over) is not tuple:
        return False
    if listed_objects.is_of_objects(over):
        return True
    if ragged_shapes.is_of_lists(over):
        return bool(over[0]) and item_kind(over[0][0]) is not None
    return not over or item_kind(over[0]) is not None


def over_in_words(iterator: Any) -> str:
    """What an iterator goes over, for people; empty for a range."""
    kind = type(iterator)
    if kind is RANGE_ITERATOR:
        return ""
    over = _hook.iterated(iterator)
    if kind is enumerate:
        return f"enumerate(…) of {over_in_words(over)}"
    if kind is zip and isinstance(over, tuple):
        refused = [one for one in over if turns_left(one) is None]
        return f"zip(…) of {over_in_words(refused[0])}" if refused else "zip(…)"
    if type(over) in (list, tuple) and len(over) > 0:
        return f"{value_in_words(over)} whose first item is {value_in_words(over[0])}"
    if over is not _hook.NULL:
        return value_in_words(over)
    return refusals.ITERATORS.get(kind.__name__, f"an iterator of type {kind.__name__}")


def outermost(outside: Outside, source: Source, iterator: object, name: str) -> Outermost:
    """How a nest goes over an iterator of the frame, in variables whose names begin with `name`.

    Raises:
        NotNativeError: it cannot.

    """
    outside.goes_over(source, iterator)
    if type(iterator) is RANGE_ITERATOR:
        return Outermost(Whole(), (RangeSlot(name),), (source.register,))
    if grids.goes_over(iterator):
        grid, kind, register = grids.outermost(outside, source, iterator)
        return Outermost(grid, (RangeSlot(name, kind),), (register,))
    loaded, over = outside.iterated(source, iterator)
    if type(iterator) is enumerate:
        inner = outermost(outside, loaded, over, f"{name}.of")
        return Outermost(
            Together((("count", Whole()), ("of", inner.kind))),
            (*inner.slots, RangeSlot(f"{name}.count", "count")),
            (*inner.registers, source.register),
        )
    if type(iterator) is zip:
        parts = [
            outermost(outside, *one, f"{name}.{i}")
            for i, one in enumerate(outside.items(loaded, over))
        ]
        kinds = tuple((str(i), one.kind) for i, one in enumerate(parts))
        slots = tuple(slot for one in parts for slot in one.slots)
        return Outermost(
            Together(kinds), slots, tuple(each for one in parts for each in one.registers)
        )
    kind = "forwards" if type(iterator) in FORWARDS else "backwards"
    holder = _holder(outside, loaded, over, name)
    return Outermost(Elements(holder, 0), (RangeSlot(name, kind),), (source.register,))


def _holder(outside: Outside, source: Source, over: object, name: str) -> ArrayKind:
    if type(over) is np.ndarray:
        return outside.array(source, over)
    if type(over) is str:
        outside.walked[source.register] = name
        return outside.text_of(source, over).holder
    if isinstance(over, bytes | bytearray):
        outside.walked[source.register] = name
        return outside.numbers(source, over).holder
    if type(over) is not list and type(over) is not tuple:
        raise NotNativeError(
            f"it goes over {source.text}, {value_in_words(over)}, which is not followed"
        )
    if listed_objects.is_of_objects(over):
        return outside.objects_of(source, over).holder
    if ragged_shapes.is_of_lists(over):
        kind = ragged_shapes.common_kind(over)
        if isinstance(kind, str):
            raise NotNativeError(f"{source.text} {kind}")
        return outside.table(source, over, kind).holder
    if common_item_kind(over) is None:
        raise NotNativeError(f"it goes over {source.text}, {value_in_words(over)} of several types")
    outside.walked[source.register] = name
    return outside.numbers(source, over).holder

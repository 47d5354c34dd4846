"""From a nest to the object that runs it: machine code, and a transaction around it in C."""

from __future__ import annotations

import logging
from _thread import start_new_thread
from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from typing import Any, cast

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.nest_code import nests
from ufuse.backends.numpy.nest_code.maps import SCRATCHES
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.independence import outermost_turn, own_parts
from ufuse.backends.numpy.nest_passes.reach import written_parts
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import (
    ARRAYS,
    CONTAINERS,
    GIVEN_CONTAINERS,
    MARKS,
    OBJECTS,
    ArraySlot,
    GeneratorSlot,
    GivenRows,
    KeysSlot,
    ListSlot,
    MemberSlot,
    NumberSlot,
    ObjectSlot,
    RangeSlot,
    ResultSlot,
    Slot,
)
from ufuse.graph.nest_types import KINDS

WITHIN = ("", "array", "column")  # as C numbers them
LEAST_SHARED = 100e3  # nanoseconds of a turn around loops that threads may share


def nest_object(nest: Nest) -> Callable[..., object] | None:
    """What runs turns of a loop; None where there is no LLVM."""
    if nests.why_not_native() is not None:
        return None
    try:
        return Work(partial(_made, nest)).result()
    except TimeoutError as why:
        logging.getLogger("ufuse.kernels").info("a loop could not be compiled: %s", why)
        return None


def best_nest_object(nest: Nest) -> Work[Callable[..., object] | None]:
    """Begin to make the same, with better code from the first turn."""
    return Work(partial(_best_made, nest))


def _best_made(nest: Nest) -> Callable[..., object] | None:
    if nests.why_not_native() is not None:
        return None
    made: Any = _made(nest, _tuned)
    if made is not None and made.improver is not None:
        _improve(nest, made)
        made.improver = _improver(nest) if _may_share(nest) else None
    return cast("Callable[..., object] | None", made)


def _made(
    nest: Nest, tuned: Callable[[Nest], tuple[int, object] | None] = nests.kept_tuning
) -> Callable[..., object] | None:
    good = tuned(nest)
    try:
        address, owner = good or nests.compiled_nest(nest)
    except Exception:  # LLVM is not ours, and plain Python is right
        logging.getLogger("ufuse.kernels").info("a loop could not be compiled", exc_info=True)
        return None
    made = _object(nest, address, owner)
    if good is None and not nests.is_of_arrays(nest):
        made.tuner = _later(partial(_tune, nest))
    kept = nests.kept_improvement(nest)
    if kept is not None:
        made.improve(*kept, _next_improver(nest))
    if kept is None or _may_share(nest):
        made.improver = _improver(nest)
    return cast("Callable[..., object]", made)


def _object(nest: Nest, address: int, owner: object) -> Any:
    temporaries = tuple(
        (one.dtype.char, one.ndim, WITHIN.index(one.within)) for one in nest.temporaries
    )
    slots = tuple(_slot(one, nest) for one in nest.slots)
    # No variable is bound to a view with a computed step.
    views = tuple(
        (
            view.array,
            tuple((-1, 0) if axis is None else (axis[0], axis[1] or 0) for axis in view.axes),
        )
        for view in nest.views
    )
    turn = outermost_turn(nest)
    parts = own_parts(nest, turn)
    own = None if parts is None else tuple(astuple(one) for one in parts)
    reach = written_parts(nest, turn).in_c()
    return _tiles.Nest(address, owner, slots, temporaries, SCRATCHES, views, nest.exits, own, reach)


def _may_share(nest: Nest) -> bool:
    """Whether there may be loops inside whose turns threads may share, as those around them follow from each other."""
    if _tiles.threads() == 1 or not Flow(nest).inner_headers():
        return False
    return own_parts(nest, outermost_turn(nest)) is None


def _has_long_turns(made: Any) -> bool:
    """Whether it may be worth while to share parts of a turn."""
    return made.turns > 0 and bool(made.call_ns >= LEAST_SHARED * made.turns)


def _shared(nest: Nest, made: Any, *, is_alone: bool, wraps: bool) -> tuple[Any, ...]:
    """What runs the loops inside whose turns threads may share, where they are worth it."""
    if not _has_long_turns(made) or not _may_share(nest):
        return ()
    loops = nests.shared_loops(nest, is_alone=is_alone, wraps=wraps)
    return tuple(_object(*loop) for loop in loops)


def _improver(
    nest: Nest, *, is_alone: bool = True, wraps: bool = True
) -> Callable[[tuple[Any]], object]:
    """What begins to improve a nest."""
    return _later(partial(_improve, nest, is_alone=is_alone, wraps=wraps))


def _later(call: Callable[[Any], None]) -> Callable[[tuple[Any]], object]:
    """What begins a call with a nest's object; called where signal handlers may raise, it runs no Python code."""
    return partial(start_new_thread, partial(_begin, call))


def _begin(call: Callable[[Any], None], made: Any) -> None:
    """In a thread, which only begins the work: that is waited for before a fork and at exit."""
    try:
        has_begun = Work(partial(_answer, call, made)).has_begun
    except MemoryError:
        has_begun = False
    if not has_begun:  # the nest has its code, and goes on with it
        made.answered()


def _answer(call: Callable[[Any], None], made: Any) -> None:
    try:
        call(made)
    finally:
        made.answered()


def _tune(nest: Nest, made: Any) -> None:
    tuned = _tuned(nest)
    if tuned is not None:
        made.tune(*tuned)


def _tuned(nest: Nest) -> tuple[int, object] | None:
    try:
        return nests.tuned_nest(nest)
    except Exception:  # LLVM is not ours, and the nest has its first code
        logging.getLogger("ufuse.kernels").info("a loop could not be tuned", exc_info=True)
        return None


def _improve(nest: Nest, made: Any, *, is_alone: bool = True, wraps: bool = True) -> None:
    try:
        shares = _shared(nest, made, is_alone=is_alone, wraps=wraps)
        improved = nests.improved_nest(
            nest, is_alone=is_alone, wraps=wraps, step=made.step, shares=bool(shares)
        )
    except Exception:  # LLVM is not ours, and the nest has its code
        logging.getLogger("ufuse.kernels").info("a loop could not be improved", exc_info=True)
        return
    if improved is not None:
        made.improve(*improved, _next_improver(nest, is_alone=is_alone, wraps=wraps), shares)


def _next_improver(
    nest: Nest, *, is_alone: bool = True, wraps: bool = True
) -> Callable[[tuple[Any]], object] | None:
    """What improves a nest whose better code was given up."""
    if wraps and any(one.op == "mod" for block in nest.blocks for one in block.instructions):
        return _improver(nest, wraps=False)
    return _improver(nest, is_alone=False, wraps=False) if is_alone else None


def _slot(slot: Slot, nest: Nest) -> tuple[Any, ...]:
    """A slot as C takes it."""
    match slot:
        case ArraySlot(items=items) if items == OBJECTS:
            return "objects", slot.is_apart, slot.lacked, slot.nothing, slot.width
        case ArraySlot(items=items) if items == MARKS:
            wanted = ARRAYS, slot.owner, slot.attribute
            arrays = next(
                place
                for place, one in enumerate(nest.slots)
                if isinstance(one, ArraySlot) and (one.items, one.owner, one.attribute) == wanted
            )
            return "marks", arrays, slot.is_apart
        case ArraySlot(owner=owner) if owner:
            field = -1 if slot.field is None else slot.field
            where = nest.place(ArraySlot, owner), slot.is_written, slot.attribute, field
            if slot.items == ARRAYS:
                return "arrays", slot.dtype.char, slot.ndim, *where
            return "attribute", _kind(slot), slot.items != "python", *where
        case MemberSlot(owner=owner):
            return "member", nest.place(ArraySlot, owner), slot.is_given
        case ArraySlot(rows=GivenRows() as rows):
            kinds = "".join(one[0] for one in rows.columns)
            return "rows", kinds, rows.has_tuples, rows.has_sets, rows.in_dict
        case ArraySlot(items=items) if items:
            iterator = nest.place(RangeSlot, slot.iterator) if slot.iterator else -1
            return "list", _kind(slot), items != "python", iterator, slot.is_written, slot.ndim
        case ArraySlot():
            return (
                "array",
                slot.dtype.char,
                slot.ndim,
                slot.is_written,
                slot.is_rebound,
                slot.is_viewed,
            )
        case GeneratorSlot():
            return "generator", slot.is_python
        case ObjectSlot():
            return ("object",)
        case NumberSlot():
            return slot.kind, slot.is_changed, slot.is_given
        case ListSlot():
            own = len(nest.arrays)
            columns = tuple((one.array - own, one.kind, one.is_numpy) for one in slot.columns)
            return "grown", slot.has_tuples, slot.is_read, slot.axes, columns
        case KeysSlot():
            own = len(nest.arrays)
            container = GIVEN_CONTAINERS.index(slot.container) + 1  # as C numbers them
            values = slot.values - own if slot.values >= 0 else -1
            whose = slot.kind, slot.is_numpy, slot.has_pairs, slot.is_written
            places = slot.places - own if slot.origin else -1
            origin = nest.place(ArraySlot, slot.origin) if slot.origin else -1
            numbers = slot.keys - own, slot.index - own, values
            return "keys", container, *numbers, *whose, places, origin, slot.has_rows
        case ResultSlot():
            return ("result", slot.kinds, *_items(slot, nest))
    return (slot.kind,)


def _items(slot: ResultSlot, nest: Nest) -> tuple[Any, ...]:
    """What a list or other container holds that a whole call gives."""
    if not slot.items:
        return ()
    items = slot.items, slot.is_numpy
    if not slot.container:
        return items
    place = CONTAINERS.index(slot.container) + 1  # as C numbers them
    origin = nest.place(ArraySlot, slot.origin) if slot.origin else -1
    return (*items, place, slot.values, slot.has_numpy_values, origin)


def _kind(slot: ArraySlot) -> str:
    """What a list's numbers are."""
    return next(kind for kind in KINDS if np.dtype(kind) == slot.dtype)

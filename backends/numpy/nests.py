"""From a nest to the object that runs it: machine code, and a transaction around it in C."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm import nests
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.llvm.nest_maps import SCRATCHES
from ufuse.graph.nest import ArraySlot, Nest, NumberSlot, Slot


def nest_object(nest: Nest) -> Callable[..., object] | None:
    """What runs turns of a loop; None where there is no LLVM."""
    if nests.why_not_native() is not None:
        return None
    try:
        return Work(partial(_made, nest)).result()
    except TimeoutError:
        logging.getLogger("ufuse.kernels").info("a loop took too long to be compiled")
        return None


def _made(nest: Nest) -> Callable[..., object] | None:
    try:
        address, owner = nests.compiled_nest(nest)
    except Exception:  # LLVM is not ours, and plain Python is right
        logging.getLogger("ufuse.kernels").info("a loop could not be compiled", exc_info=True)
        return None
    temporaries = tuple((one.dtype.char, one.ndim) for one in nest.temporaries)
    slots = tuple(map(_slot, nest.slots))
    views = tuple((view.array, tuple(axis or (-1, 0) for axis in view.axes)) for view in nest.views)
    made: Callable[..., object] = _tiles.Nest(address, owner, slots, temporaries, SCRATCHES, views)
    return made


def _slot(slot: Slot) -> tuple[Any, ...]:
    """A slot as C takes it."""
    match slot:
        case ArraySlot():
            return (
                "array",
                slot.dtype.char,
                slot.ndim,
                slot.is_written,
                slot.is_rebound,
                slot.is_viewed,
            )
        case NumberSlot():
            return slot.kind, slot.is_changed
    return ("range",)

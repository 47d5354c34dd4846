"""From a nest to the object that runs it: machine code, and a transaction around it in C."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm import nests
from ufuse.backends.numpy.llvm.background import Work
from ufuse.graph.nest import ArraySlot, Nest, NumberSlot, Slot


def nest_object(nest: Nest) -> Callable[..., object] | None:
    """What runs turns of a loop; None where there is no LLVM."""
    if nests.why_not_native() is not None:
        return None
    address, owner = Work(partial(nests.compiled_nest, nest)).result()
    found: Callable[..., object] = _tiles.Nest(address, owner, tuple(map(_slot, nest.slots)))
    return found


def _slot(slot: Slot) -> tuple[Any, ...]:
    """A slot as C takes it."""
    match slot:
        case ArraySlot():
            return "array", slot.dtype.char, slot.ndim, slot.is_written
        case NumberSlot():
            return slot.kind, slot.is_changed
    return ("range",)

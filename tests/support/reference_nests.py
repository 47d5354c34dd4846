"""Nests that run on the reference, in place of machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ufuse.graph.nest import ArraySlot, Nest
from ufuse.graph.semantics import nest_reference


class ReferenceNest:
    """What an entry calls. A flag that eager would warn of is a doubt."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.runs = self.turns = self.doubts = 0

    def __call__(self, *objects: Any) -> Any:
        """The outputs, or NotImplemented."""
        self.runs += 1
        slots = zip(self.nest.slots, objects, strict=True)
        pairs = [(slot, one) for slot, one in slots if isinstance(slot, ArraySlot)]
        arrays = [(slot, one) for slot, one in pairs if not slot.items]
        if any(slot.is_written and not one.flags.writeable for slot, one in arrays):
            return NotImplemented
        saved = [(one, one.copy()) for slot, one in arrays if slot.is_written]
        left = turns = self._left(objects)
        while turns:
            try:
                with np.errstate(divide="raise", over="raise", invalid="raise"):
                    found = nest_reference.run(self.nest, objects, turns)
            except FloatingPointError:
                for one, copy in saved:
                    one[...] = copy
                turns //= 2
                continue
            self.turns += left - self._left(objects)
            self.doubts += found is NotImplemented
            return found
        self.doubts += 1
        return NotImplemented

    def _left(self, objects: Sequence[Any]) -> int:
        return nest_reference.turns_left(self.nest, nest_reference.unboxed(self.nest, objects))

"""Nests that run on the reference, in place of machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ufuse.backends import numpy as backend
from ufuse.frame_hook import session, tracing
from ufuse.frame_hook.tracing import Tracer
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import ArraySlot
from ufuse.graph.semantics import nest_boxing, nest_reference
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest


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
        return nest_reference.turns_left(self.nest, nest_boxing.unboxed(self.nest, objects))


def loops_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are not unrolled, however short they are."""

    def tracer(*given: Any, **named: Any) -> Tracer:
        return Tracer(*given, **{**named, "leaves_loops": True})

    monkeypatch.setattr(session, "Tracer", tracer)
    monkeypatch.setattr(tracing, "is_left", lambda *_: True)


def on_the_reference(monkeypatch: pytest.MonkeyPatch) -> list[ReferenceNest]:
    """Have loops run on the reference; the nests that are made, each of which keeps the laws and reads back."""
    made: list[ReferenceNest] = []

    def nest_object(nest: Nest) -> ReferenceNest:
        check_nest(nest)
        found = parse_nest(str(nest))
        assert (str(found), found.slots) == (str(nest), nest.slots)
        made.append(ReferenceNest(nest))
        return made[-1]

    loops_are_left(monkeypatch)
    monkeypatch.setattr(backend, "nest_object", nest_object)
    return made

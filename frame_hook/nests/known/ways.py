"""How a loop begins and how it is left: what its iterator gives, and where the frame goes on."""

from __future__ import annotations

from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import TurnKind
from ufuse.graph.nest_slots import RangeSlot
from ufuse.graph.records import record

ITERATOR = "turn"  # the variables of the outermost loop's iterator


@record
class Outermost:
    """What a turn gives, and the iterators: their slots, and the registers that they are in."""

    kind: TurnKind
    slots: tuple[RangeSlot, ...]
    registers: tuple[int, ...]


Given = tuple[str | Known, ...]  # for each item the nest's slot that has it, or a constant


DOUBT = "doubt"


@record
class Exit:
    """Where the frame goes on when the nest was left in mid-turn, and which of its slots have new values there.

    What the loop writes and is not among them has no value any more.
    """

    position: int
    # The names of the nest's slots, or constants; of a tuple those of its items.
    values: dict[int, str | Known | Given]

"""Where operands of calls lie that are made for many turns at once (`nest_passes/batches.py`), and what they give."""

from __future__ import annotations

from ufuse.graph.nest_types import F32, F64, KNOWN_POWERS
from ufuse.graph.records import record

BATCH = 128  # turns whose calls are one
FEWEST = 24  # of powers: fewer take no longer one by one
LANES = 8  # powers that are computed at once
MOST_INPUTS = 3
VECTOR = 64  # bytes of the longest vectors
WORD = 8  # bytes
BYTES = {F64: 8, F32: 4}  # of an element
LOOPS = {F64: "scalar", F32: "single"}  # kinds of symbols (`symbols.py`)


@record
class Batch:
    """A row for BATCH numbers of a type for each operand of a function, and one for what it gives; from a word on.

    Which powers only C's `pow` knows are bits elsewhere.
    """

    name: str
    type: str
    inputs: int
    at: int

    @property
    def words(self) -> int:
        """How many words it takes."""
        return (self.inputs + 1) * BATCH

    @property
    def unknown(self) -> str:
        """What the bits of a power are called."""
        return f"%unknown{self.at}"

    @property
    def is_power(self) -> bool:
        """Whether it is one with a constant exponent."""
        return self.name in KNOWN_POWERS

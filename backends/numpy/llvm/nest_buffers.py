"""Where the operands of calls lie that are made for many turns at once (`nest_batches.py`), and what they give."""

from __future__ import annotations

from ufuse.graph.nest import F32, F64
from ufuse.graph.records import record

BATCH = 128  # turns whose calls are one
MOST_INPUTS = 3
WORD = 8  # bytes
BYTES = {F64: 8, F32: 4}  # of an element
LOOPS = {F64: "scalar", F32: "single"}  # kinds of symbols (`symbols.py`)


@record
class Batch:
    """A row for BATCH numbers of a type for each operand of a function, and one for what it gives; from a word on."""

    name: str
    type: str
    inputs: int
    at: int

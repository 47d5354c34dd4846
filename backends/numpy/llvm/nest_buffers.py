"""Where the operands of calls lie that are made for many turns at once (`nest_batches.py`), and what they give."""

from __future__ import annotations

from ufuse.graph.records import record

BATCH = 128  # turns whose calls are one
MOST_INPUTS = 3
WORD = 8  # bytes


@record
class Batch:
    """A row of BATCH numbers for each operand of a function, and one for what it gives; in words, from `at` on."""

    name: str
    inputs: int
    at: int

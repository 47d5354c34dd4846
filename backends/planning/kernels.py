"""A kernel as plain data: operands, temporaries, segments and results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ufuse.backends.planning.loops import Axis, Loop
from ufuse.graph.memory.accesses import Access
from ufuse.graph.node import Location, Node
from ufuse.graph.records import record

How = tuple[Any, ...]


@record
class Operand:
    """An argument: its value, the dtype it has or is packed into, and whether one element stands for all.

    Two kinds are no elements of the kernel's space: a `table` is read anywhere, and along an `axis` of an array (the
    second number: how many axes of the space come behind it) the kernel counts. `shifts` are those of a `Roll`.
    """

    source: Node | Access
    dtype: np.dtype
    scalar: bool
    table: bool = False
    axis: Axis | None = None
    shifts: tuple[tuple[int, int], ...] = ()


@record
class Temporary:
    """A value that a segment makes."""

    dtype: np.dtype
    is_row: bool


@record
class Segment:
    """One operation; values are numbered, operands first. `node` is an index into the plan's `nodes`."""

    loop: Loop
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str
    node: int
    initial: bytes | None = None


@record
class Result:
    """A value that leaves the kernel. `node` is the graph's node whose value it is; a store's is its buffer."""

    value: int
    how: How
    node: Node


@record
class Origin:
    """What a warning of a segment names: the operation and the line; `position` is the place of its node in the graph.

    The operations of one `chain` (a sum that was unrolled) warn once between them.
    """

    name: str
    location: Location | None
    chain: int | None
    position: int


class Operation(NamedTuple):
    """One of a kernel's operations, for running it alone; inputs are numbered operands, or operations before it."""

    node: Node
    inputs: tuple[int | Node, ...]  # of a store: its target, and what is stored
    position: int  # of the graph's node


@dataclass(slots=True)
class KernelPlan:
    """Everything about a kernel but its code; values are numbered, operands first, then temporaries."""

    operands: list[Operand] = field(default_factory=list)
    temporaries: list[Temporary] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    nodes: list[Origin] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    rows: bool = False
    axes: tuple[int, ...] | None = None  # that reductions fold along, if not all or the last

    def dtype(self, value: int) -> np.dtype:
        """The dtype of a numbered value."""
        count = len(self.operands)
        return (
            self.operands[value].dtype if value < count else self.temporaries[value - count].dtype
        )

    def is_single(self, value: int, kind: str) -> bool:
        """Whether a segment of this kind reads one element of the value for all, or steps through it."""
        count = len(self.operands)
        if value < count:
            return self.operands[value].scalar
        return self.temporaries[value - count].is_row and kind == "map"

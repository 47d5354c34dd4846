"""A unit as a kernel: its operands, temporaries, segments and results, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ufuse.backends.numpy.groups import Grouping, Unit, row_shapes
from ufuse.backends.numpy.loops import Fold, Loop, cast_loop, copy_loop, sees_strides
from ufuse.graph.memory.accesses import Access, producer
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.memory.regions import whole
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, NumberType

How = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument: where its value is, the dtype it has or is packed into, and whether it is one element for all."""

    source: Node | Access
    dtype: np.dtype
    scalar: bool


@dataclass(frozen=True, slots=True)
class Temporary:
    """A value that a segment makes."""

    dtype: np.dtype
    is_row: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """One operation; values are numbered, operands first. `node` is an index into the plan's `nodes`."""

    loop: Loop
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    kind: str
    node: int
    initial: bytes | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A value that leaves the kernel. `node` is the graph's node whose value it is; a store's is its buffer."""

    value: int
    how: How
    node: Node


@dataclass(frozen=True, slots=True)
class Origin:
    """What a warning of a segment tells: `name` of the operation, and where; `position` is that of the graph's node.

    The operations of one `chain` warn as one.
    """

    name: str
    location: Location | None
    chain: int | None
    position: int


class Plain(NamedTuple):
    """One of a kernel's operations for NumPy; inputs are numbered operands, or operations before it."""

    node: Node
    inputs: tuple[int | Node, ...]  # of a store: its target, and what is stored
    position: int  # of the graph's node


@dataclass(slots=True)
class KernelPlan:
    """Everything about a kernel but its code."""

    operands: list[Operand] = field(default_factory=list)
    temporaries: list[Temporary] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    nodes: list[Origin] = field(default_factory=list)
    operations: list[Plain] = field(default_factory=list)
    rows: bool = False

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

    @property
    def cost(self) -> float:
        """About how many nanoseconds one element takes."""
        return sum(COSTS.get(segment.loop.name, 0.4) for segment in self.segments) or 0.4


# fmt: off
COSTS = {
    "exp": 0.8, "log": 0.8, "tanh": 1.0, "power": 1.5, "sin": 8.0, "cos": 8.0, "hypot": 4.0,
    "floor_divide": 6.0, "remainder": 6.0, "fmod": 6.0, "divide": 0.6, "sqrt": 0.6,
    "arctan2": 8.0, "arcsin": 4.0, "arccos": 4.0, "arctan": 4.0, "sinh": 4.0, "cosh": 4.0, "tan": 4.0,
    "exp2": 0.8, "expm1": 4.0, "log2": 0.8, "log10": 0.8, "log1p": 4.0, "cbrt": 4.0,
}
# fmt: on


class Unpredicted(Exception):  # noqa: N818  a refusal
    """A value must become an array whose memory order is not known."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.node = node


def packed_dtype(source: Node, wanted: np.dtype) -> np.dtype:
    """The dtype in which an operand comes: an array's own; a number's the loop's, where nothing is lost."""
    type_ = source.type
    if isinstance(type_, ArrayType):
        safe = type_.scalar and np.can_cast(type_.dtype, wanted, "safe")
        return wanted if safe else type_.dtype
    if wanted.kind == "b" and isinstance(type_, NumberType):
        return np.dtype({"bool": "?", "int": "q", "float": "d", "complex": "D"}[type_.kind])
    return wanted


class KernelBuilder:
    """Makes the plan of one unit; `needed` are the values that others take."""

    def __init__(self, unit: Unit, grouping: Grouping, needed: set[Node]) -> None:
        assert unit.space is not None
        self.unit = unit
        self.grouping = grouping
        self.memory = grouping.memory
        self.needed = needed
        self.members = set(unit.members)
        self.space = unit.space
        self.plan = KernelPlan(rows=unit.rows)
        self.operands: dict[tuple[Node | Access, np.dtype], int] = {}
        self.values: dict[Node, int] = {}
        self.casts: dict[tuple[int, np.dtype], int] = {}

    def build(self) -> KernelPlan:
        """The plan of the unit."""
        self._collect_operands()
        for node in self.unit.members:
            self._add(node)
        for node in self.unit.members:
            self._finish(node)
        return self.plan

    # Operands come first in the numbering, so they are all found before the first segment.

    def _collect_operands(self) -> None:
        for node in self.unit.members:
            inputs: tuple[int | Node, ...]
            if node.op.kind is Kind.STORE:
                assert isinstance(node.type, ArrayType)
                target = self._operand_of_target(node)
                inputs = (target, self._maker_or_operand(node.inputs[1], node.type.dtype))
            else:
                loop = self.grouping.loops[node]
                dtypes = loop.loop.dtypes[1:2] if isinstance(loop, Fold) else loop.dtypes
                inputs = tuple(map(self._maker_or_operand, node.inputs, dtypes))
            self.plan.operations.append(Plain(node, inputs, self.grouping.position[node]))

    def _maker_or_operand(self, source: Node, wanted: np.dtype) -> int | Node:
        maker = self.grouping.value_in(source, self.members)
        return self._operand(source, wanted) if maker is None else maker

    def _operand(self, source: Node, wanted: np.dtype) -> int:
        single = not is_array(source)
        type_ = source.type
        dtype = packed_dtype(source, wanted)
        key: tuple[Node | Access, np.dtype] = (
            source if single else self.memory.access(source),
            dtype,
        )
        if key not in self.operands:
            one = isinstance(type_, ArrayType) and (type_.ndim == 0 or type_.shape[-1] == 1)
            scalar = single or (one and self.space[-1] != 1)
            self.operands[key] = len(self.plan.operands)
            self.plan.operands.append(Operand(source, dtype, scalar))
        return self.operands[key]

    def _operand_of_target(self, store: Node) -> int:
        target = self.memory.target(store)
        assert isinstance(store.type, ArrayType)
        key = (target, store.type.dtype)
        if key not in self.operands:
            self.operands[key] = len(self.plan.operands)
            self.plan.operands.append(Operand(target, store.type.dtype, scalar=False))
        return self.operands[key]

    # Segments

    def _add(self, node: Node) -> None:
        if node.op.kind is Kind.STORE:
            assert isinstance(node.type, ArrayType)
            value = self._read(node.inputs[1], node.type.dtype, node, "map", "cast")
            count = len(self.plan.operands)
            if value >= count and self.plan.temporaries[value - count].is_row:
                value = self._emit(copy_loop(node.type.dtype), (value,), node, "map")
            self.values[node] = value
            return
        loop = self.grouping.loops[node]
        kind = "map" if self.grouping.is_full(node, self.space) else "map_row"
        if isinstance(loop, Fold):
            value = self._read(node.inputs[0], loop.loop.dtypes[1], node, "map")
            self.values[node] = self._emit(loop.loop, (value,), node, loop.kind, loop.initial)
            return
        name = loop.name
        inputs = tuple(
            self._read(source, dtype, node, kind, "cast" if name == "where" else name)
            for source, dtype in zip(node.inputs, loop.dtypes[:-1], strict=True)
        )
        if loop.kind == "copy" and inputs[0] >= len(self.plan.operands):
            self.values[node] = inputs[0]
        elif loop.kind == "cast" and loop.dtypes[0] == loop.dtypes[1]:
            self.values[node] = self._emit(copy_loop(loop.dtypes[0]), inputs, node, kind)
        elif loop.kind == "cast" and (inputs[0], loop.dtypes[1]) in self.casts:
            self.values[node] = self.casts[inputs[0], loop.dtypes[1]]
        else:
            self.values[node] = self._emit(loop, inputs, node, kind)

    def _read(
        self, source: Node, wanted: np.dtype, node: Node, kind: str, name: str = "cast"
    ) -> int:
        """The value of an input in the loop's dtype."""
        maker = self.grouping.value_in(source, self.members)
        value = self._operand(source, wanted) if maker is None else self.values[maker]
        have = self.plan.dtype(value)
        if have == wanted:
            return value
        if maker is not None and not self.grouping.is_full(maker, self.space):
            kind = "map_row"
        if (value, wanted) not in self.casts or not np.can_cast(have, wanted, "safe"):
            self.casts[value, wanted] = self._emit(  # one that may warn does so for every node
                cast_loop(have, wanted), (value,), node, kind, name=name
            )
        return self.casts[value, wanted]

    def _emit(
        self,
        loop: Loop,
        inputs: tuple[int, ...],
        node: Node,
        kind: str,
        initial: bytes | None = None,
        name: str = "",
    ) -> int:
        output = len(self.plan.operands) + len(self.plan.temporaries)
        self.plan.temporaries.append(Temporary(loop.dtypes[-1], is_row=kind != "map"))
        self.plan.segments.append(
            Segment(loop, inputs, (output,), kind, len(self.plan.nodes), initial)
        )
        name = name or ("reduce" if node.op.kind is Kind.REDUCE else loop.name)
        told, chain = node.attributes.get("warns_as", (name, None))
        position = self.grouping.position[node]
        self.plan.nodes.append(Origin(told, node.location, chain, position))
        return output

    # Results

    def _finish(self, node: Node) -> None:
        if node.op.kind is Kind.STORE:
            if not self._is_overwritten(node):
                value = self._own(self.values[node], node)
                if self._is_made_by_steps(value, node):
                    value = self._emit(copy_loop(self.plan.dtype(value)), (value,), node, "map")
                self.plan.results.append(
                    Result(value, ("into", self._operand_of_target(node)), node)
                )
            return
        if node not in self.needed:
            return
        assert isinstance(node.type, ArrayType)
        loop = self.grouping.loops[node]
        if isinstance(loop, Fold) and loop.kind == "total":
            self.plan.results.append(Result(self.values[node], ("scalar",), node))
        elif not self.grouping.is_full(node, self.space):
            keepdims = node.type.shape == row_shapes(self.space)[1]
            self.plan.results.append(Result(self.values[node], ("rows", keepdims), node))
        else:
            order = node.type.order
            if order is None:
                raise Unpredicted(node)
            self.plan.results.append(
                Result(self._own(self.values[node], node), ("new", order), node)
            )

    def _own(self, value: int, node: Node) -> int:
        """The value as one that a segment made and nobody else receives: else a copy."""
        given = any(result.value == value for result in self.plan.results)
        if value >= len(self.plan.operands) and not given:
            return value
        return self._emit(copy_loop(self.plan.dtype(value)), (value,), node, "map")

    def _is_made_by_steps(self, value: int, store: Node) -> bool:
        """Whether a loop made a value whose bits depend on strides, and would write it where memory has gaps."""
        target, type_ = self.memory.target(store), store.type
        assert isinstance(type_, ArrayType)
        if type_.contiguous and target.region == whole(type_.shape):
            return False
        return any(
            value in segment.outputs and sees_strides(segment.loop)
            for segment in self.plan.segments
        )

    def _is_overwritten(self, store: Node) -> bool:
        later = self.unit.members[self.unit.members.index(store) + 1 :]
        target = self.memory.target(store)
        return any(
            other.op.kind is Kind.STORE and self.memory.target(other) == target for other in later
        )


def needed_outside(grouping: Grouping) -> set[Node]:
    """The values that are taken by another step or by the caller."""
    graph, memory = grouping.graph, grouping.memory
    needed = {producer(node) for node in graph.outputs}
    for node in graph.outputs:
        if is_array(node):
            needed.add(memory.access(node).root)
    for node in graph:
        unit = grouping.of.get(node)
        if unit is None:
            continue
        members = set(unit.members)
        for source in node.inputs:
            if node.op.kind is Kind.STORE and source is node.inputs[0]:
                needed.add(memory.target(node).root)
                continue
            if unit.space is not None and grouping.value_in(source, members) is not None:
                continue
            needed.add(producer(source))
            if is_array(source):
                needed.add(memory.access(source).root)
    return needed


def kernel_plan(unit: Unit, grouping: Grouping, needed: set[Node]) -> KernelPlan:
    """The plan of a unit that is a kernel.

    Raises:
        Unpredicted: a value that must become an array has no known memory order.

    """
    unit.members.sort(key=grouping.position.__getitem__)
    return KernelBuilder(unit, grouping, needed).build()

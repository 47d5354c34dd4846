"""From a unit to the plan of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ufuse.backends.planning.groups import Grouping, Unit, row_shapes
from ufuse.backends.planning.kernels import (
    KernelPlan,
    Operand,
    Operation,
    Origin,
    Result,
    Segment,
    Temporary,
)
from ufuse.backends.planning.loops import Axis, Fold, Gather, Loop, Roll, cast_loop, copy_loop
from ufuse.graph import ops
from ufuse.graph.memory.accesses import Access, producer
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.memory.regions import whole
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, NumberType


def packed_dtype(source: Node, wanted: np.dtype) -> np.dtype:
    """The dtype of an operand in the kernel: an array keeps its own; a number is packed as what the loop takes."""
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
        self.space = unit.space
        self.plan = KernelPlan(rows=unit.rows, axes=unit.axes)
        self.operands: dict[tuple[Any, ...], int] = {}
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
            elif isinstance(loop := self.grouping.loops[node], Gather):
                inputs = tuple(self._picking(node, loop, self._maker_or_operand))
            elif isinstance(loop, Roll):
                inputs = (self._rolled(node, loop),)
            else:
                dtypes = loop.loop.dtypes[1:2] if isinstance(loop, Fold) else loop.dtypes
                inputs = tuple(map(self._maker_or_operand, node.inputs, dtypes))
            self.plan.operations.append(Operation(node, inputs, self.grouping.position[node]))

    def _picking(
        self, node: Node, gather: Gather, read: Callable[[Node, np.dtype], Any]
    ) -> Iterator[Any]:
        """The array, and for each axis of it where along it; the latter are read by `read`."""
        table = node.inputs[0]
        yield self._operand_apart(table, gather.loop.dtypes[0], table=True)
        for place, dtype in zip(gather.places, gather.loop.dtypes[1:-1], strict=True):
            if isinstance(place, int):
                yield read(node.inputs[place], dtype)
            else:
                yield self._operand_apart(table, dtype, axis=place)

    def _operand_apart(
        self, source: Node, dtype: np.dtype, *, table: bool = False, axis: Axis | None = None
    ) -> int:
        """An operand that is no element of the kernel's space."""
        one = Operand(source, dtype, scalar=False, table=table, axis=axis)
        return self._numbered((self.memory.access(source), dtype, table, axis), one)

    def _rolled(self, node: Node, roll: Roll) -> int:
        """An operand whose elements are read elsewhere in the array."""
        source = node.inputs[0]
        one = Operand(source, roll.dtype, scalar=False, shifts=roll.shifts)
        return self._numbered((self.memory.access(source), roll), one)

    def _numbered(self, key: tuple[Any, ...], one: Operand) -> int:
        if key not in self.operands:
            self.operands[key] = len(self.plan.operands)
            self.plan.operands.append(one)
        return self.operands[key]

    def _maker_or_operand(self, source: Node, wanted: np.dtype) -> int | Node:
        maker = self.grouping.value_in(source, self.unit)
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
            scalar = single or (one and self.space[-1:] != (1,))
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
            # What is stored lies in memory as the target does: who reads it there takes the loops for that.
            if value < count or self.plan.temporaries[value - count].is_row:
                value = self._emit(copy_loop(node.type.dtype), (value,), node, "map")
            self.values[node] = value
            return
        loop = self.grouping.loops[node]
        kind = "map" if self.grouping.is_full(node, self.space) else "map_row"
        if isinstance(loop, Fold):
            value = self._read(node.inputs[0], loop.loop.dtypes[1], node, "map")
            self.values[node] = self._emit(loop.loop, (value,), node, loop.kind, loop.initial)
            return
        if isinstance(loop, Gather):
            inputs = tuple(self._picking(node, loop, partial(self._read, node=node, kind=kind)))
            self.values[node] = self._emit(loop.loop, inputs, node, kind)
            return
        if isinstance(loop, Roll):
            self.values[node] = self._rolled(node, loop)
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
        maker = self.grouping.value_in(source, self.unit)
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
        name, chain = node.attributes.get("warns_as", (name, None))
        position = self.grouping.position[node]
        self.plan.nodes.append(Origin(name, node.location, chain, position))
        return output

    # Results

    def _finish(self, node: Node) -> None:
        if node.op.kind is Kind.STORE:
            if not self._is_overwritten(node):
                value = self._own(self.values[node], node)
                if self._needs_copy(value, node):
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
        elif isinstance(loop, Fold) and loop.kind == "tree":
            how = ("tree", node.attributes["keepdims"])
            self.plan.results.append(Result(self.values[node], how, node))
        elif not self.grouping.is_full(node, self.space):
            keepdims = node.type.shape == row_shapes(self.space)[1]
            self.plan.results.append(Result(self.values[node], ("rows", keepdims), node))
        else:
            how = ("new", node.type.order)
            self.plan.results.append(Result(self._own(self.values[node], node), how, node))

    def _own(self, value: int, node: Node) -> int:
        """The value, or a copy of it where no segment made it or another result already takes it."""
        given = any(result.value == value for result in self.plan.results)
        if value >= len(self.plan.operands) and not given:
            return value
        return self._emit(copy_loop(self.plan.dtype(value)), (value,), node, "map")

    def _needs_copy(self, value: int, store: Node) -> bool:
        """Whether its loop would give other bits if it wrote straight into a target that is not contiguous."""
        target, type_ = self.memory.target(store), store.type
        assert isinstance(type_, ArrayType)
        if type_.contiguous and target.region == whole(type_.shape):
            return False
        return any(
            value in segment.outputs
            and (
                self.grouping.rules.depends_on_strides(segment.loop)
                or segment.loop.name in ops.NEEDS_NEW_MEMORY
            )
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
    needed.update(memory.buffer(node) for node in graph.outputs if is_array(node))
    for node in graph:
        unit = grouping.of.get(node)
        if unit is None:
            continue
        for source in node.inputs:
            if node.op.kind is Kind.STORE and source is node.inputs[0]:
                needed.add(memory.buffer(source))
                continue
            if unit.space is not None and grouping.value_in(source, unit) is not None:
                continue
            needed.add(producer(source))
            if is_array(source):
                needed.add(memory.buffer(source))
    return needed


def unpredicted(grouping: Grouping, needed: set[Node]) -> set[Node]:
    """The values that kernels would have to make as arrays, whose memory order is not known."""
    return {
        node
        for node, unit in grouping.of.items()
        if unit.space is not None
        and node in needed
        and node.op.kind is Kind.MAP
        and isinstance(node.type, ArrayType)
        and node.type.order is None
        and grouping.is_full(node, unit.space)
    }


def kernel_plan(unit: Unit, grouping: Grouping, needed: set[Node]) -> KernelPlan:
    """The plan of a unit that is a kernel."""
    unit.members.sort(key=grouping.position.__getitem__)
    return KernelBuilder(unit, grouping, needed).build()

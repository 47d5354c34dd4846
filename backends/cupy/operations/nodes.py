"""Nodes of graphs on a device, of the types that CuPy says."""

from __future__ import annotations

from typing import Any

from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Op
from ufuse.graph.types import NumberType
from ufuse.graph.typing.infer import operand_of, result_type


def made(op: Op, *inputs: Node, location: Location | None, **attributes: Any) -> Node:
    """What an operation gives."""
    type_ = result_type(op, [operand_of(one) for one in inputs], attributes)
    return Node(op, inputs, type_, attributes, location)


def number(value: Any, location: Location | None) -> Node:
    """A whole number, or a size."""
    op = ops.CONST if isinstance(value, int) else ops.SIZE
    return Node(op, (), NumberType("int"), {"value": value}, location)

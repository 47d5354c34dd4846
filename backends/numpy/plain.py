"""NumPy's own functions for the operations that kernels do."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.backends.planning.kernels import KernelPlan, Operation
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType

OUT = "same_kind"  # how a store casts that gives an operation the array to write to


def stores_given_out(kernel: KernelPlan) -> dict[Node, Operation]:
    """The stores to arrays that were given to an operation as its `out`, by that operation.

    `np.copyto` casts like them; where its value has another use it is no such store.
    """
    uses = Counter(one for operation in kernel.operations for one in operation.inputs)
    uses.update(result.node for result in kernel.results)
    return {
        made: one
        for one in kernel.operations
        if one.node.attributes.get("casting") == OUT
        and isinstance(made := one.inputs[1], Node)
        and uses[made] == 1
        and made.op.kind is Kind.MAP
        and made.op.ufunc is not None
    }


def plain_call(node: Node, inputs: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """NumPy's own function for an operation that kernels do, and its arguments."""
    if node.op.kind is Kind.STORE:
        return operator.setitem, [inputs[0], Ellipsis, inputs[1]]
    axes = [one.type.ndim if isinstance(one.type, ArrayType) else 0 for one in node.inputs]
    # Inside a kernel `rows[:, None]` is the same value as `rows`: the axis is added here.
    whole = [
        one[..., np.newaxis] if np.ndim(one) < wanted else one
        for one, wanted in zip(inputs, axes, strict=True)
    ]
    if node.op is ops.CALL:
        ((_, shift), (_, axis)) = node.attributes["arguments"][1:]
        return np.roll, [*whole, shift, axis]
    if node.op is ops.CAST:
        return whole[0].astype, [node.attributes["dtype"]]
    if node.op is ops.COPY:
        return whole[0].copy, [node.attributes.get("order", "K")]
    if node.op is ops.WHERE:
        return np.where, whole
    assert node.op.ufunc is not None
    if node.op.kind is Kind.REDUCE:
        given = node.attributes
        keepdims = bool(given.get("keepdims", False))
        return node.op.ufunc.reduce, [*whole, given.get("axis"), given.get("dtype"), None, keepdims]
    return node.op.ufunc, whole

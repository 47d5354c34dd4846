"""A kernel's operations one by one with plain NumPy: for a kernel that refuses after the user may have seen a write.

Kernels refuse numbers that NumPy converts with a warning, and memory over which NumPy takes other loops. Before the
first write plain Python then runs instead of the program; afterwards it would repeat what was written.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ufuse.backends.numpy.report import Teller, Told
from ufuse.backends.planning.steps import Step
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType


class Plainly:
    """What `_tiles.Program` calls with the number of a step that refused and its arguments: the step's results."""

    def __init__(self, steps: Sequence[Step], teller: Teller) -> None:
        self.steps = steps
        self.teller = teller

    def __call__(self, number: int, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results of the kernel's operations in program order, with NumPy's own bits and warnings."""
        kernel = self.steps[number].kernel
        assert kernel is not None
        values: dict[Node, Any] = {}
        chains: dict[Any, Chain] = {}
        for node, sources, position in kernel.operations:
            inputs = [values[one] if isinstance(one, Node) else arguments[one] for one in sources]
            teller = self.teller
            if "warns_as" in node.attributes:
                chain = node.attributes["warns_as"]
                teller = chains.setdefault(chain, Chain(chain[0], self.teller))
            function, inputs = plain_call(node, inputs)
            result = Told(function, node.location, position, teller)(*inputs)
            values[node] = inputs[0] if node.op.kind is Kind.STORE else result
        return tuple(values[result.node] for result in kernel.results)


class Chain(Teller):
    """Tells what the operations of a chain warn of as warnings of one operation, each once."""

    def __init__(self, name: str, teller: Teller) -> None:
        super().__init__()
        self.name = name
        self.teller = teller
        self.said: set[str] = set()

    def warn(self, position: int, message: str, location: Location | None) -> None:
        """Issue a RuntimeWarning that names the chain, or the cast of a number, once."""
        what, _, name = message.rpartition(" encountered in ")
        told = f"{what} encountered in {name if name == 'cast' else self.name}"
        if told not in self.said:
            self.said.add(told)
            self.teller.warn(position, told, location)


def plain_call(node: Node, inputs: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """NumPy's own function for an operation that kernels do, and its arguments."""
    if node.op.kind is Kind.STORE:
        return operator.setitem, [inputs[0], Ellipsis, inputs[1]]
    axes = [one.type.ndim if isinstance(one.type, ArrayType) else 0 for one in node.inputs]
    # a kernel takes `rows[:, None]` for the rows themselves
    whole = [
        one[..., np.newaxis] if np.ndim(one) < wanted else one
        for one, wanted in zip(inputs, axes, strict=True)
    ]
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

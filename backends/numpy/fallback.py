"""A step's operations one by one with plain NumPy, for a step that refuses when it is too late for plain Python.

Kernels refuse numbers that NumPy converts with a warning, and memory over which NumPy takes other loops; code over
numbers refuses where a flag shows, and so do NumPy's own calls, which are made to raise then. Before the first write
plain Python then runs instead of the program; afterwards it would repeat what was written.

A kernel that has begun to write cannot refuse: it *withholds* elements of which it learns late that only NumPy knows
their bits (a NaN that may be either of two). What they are made of is as it was. What the others are made of may be
written over, but it is another matter: NumPy does all of it again, and what it makes of the others is dropped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.backends.numpy.report import LoggedCalls, Warner
from ufuse.backends.planning.kernels import KernelPlan
from ufuse.backends.planning.steps import Step
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType

OUT = "same_kind"  # how a store casts that gives an operation the array to write to


class Fallback:
    """What `_tiles.Program` calls with the number of a step that refused and its arguments: the step's results."""

    def __init__(self, steps: Sequence[Step], warner: Warner, constants: Mapping[int, Any]) -> None:
        self.steps = steps
        self.warner = warner
        self.constants = constants

    def __call__(
        self,
        number: int,
        arguments: tuple[Any, ...],
        results: tuple[Any, ...] = (),
        withheld: Sequence[tuple[int, int]] = (),
    ) -> tuple[Any, ...]:
        """The results of the step's operations in program order, with NumPy's own bits and warnings.

        Where a kernel has withheld elements, only these are written, to the results that it has; nothing warns.
        """
        step = self.steps[number]
        if withheld:
            assert step.kernel is not None
            complete(step.kernel, arguments, results, withheld)
            return results
        if step.kernel is not None:
            return self._of_kernel(step.kernel, arguments)
        return self._of_numbers(step, arguments) if step.numbers else self._of_call(step, arguments)

    def _of_call(self, step: Step, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        assert step.function is not None
        count = len(arguments) - len(step.keywords)
        keywords = dict(zip(step.keywords, arguments[count:], strict=True))
        made = LoggedCalls().call(
            self.warner, step.position, step.location, step.function, *arguments[:count], **keywords
        )
        return (made,)

    def _of_numbers(self, step: Step, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        values: dict[Any, Any] = dict(self.constants)
        values.update(zip(step.reads, arguments, strict=True))
        calls = LoggedCalls()
        for one in step.numbers:
            given = [values[slot] for slot in one.reads]
            values[one.out] = calls.call(
                self.warner, one.position, one.node.location, one.function, *given
            )
        return tuple(values[slot] for slot in step.outs)

    def _of_kernel(self, kernel: KernelPlan, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        values: dict[Node, Any] = {}
        chains: dict[Any, Chain] = {}
        calls = LoggedCalls()
        for node, sources, position in kernel.operations:
            inputs = [values[one] if isinstance(one, Node) else arguments[one] for one in sources]
            warner = self.warner
            if "warns_as" in node.attributes:
                chain = node.attributes["warns_as"]
                warner = chains.setdefault(chain, Chain(chain[0], self.warner))
            function, inputs = plain_call(node, inputs)
            result = calls.call(warner, position, node.location, function, *inputs)
            values[node] = inputs[0] if node.op.kind is Kind.STORE else result
        return tuple(values[result.node] for result in kernel.results)


def complete(
    kernel: KernelPlan,
    arguments: tuple[Any, ...],
    results: tuple[Any, ...],
    withheld: Sequence[tuple[int, int]],
) -> None:
    """Write to a kernel's results those elements that it withheld: pairs (first, past), in the order of its walk."""
    into = {
        one.inputs[1]: one for one in kernel.operations if one.node.attributes.get("casting") == OUT
    }
    values: dict[Node, Any] = {}
    with np.errstate(all="ignore"):
        for node, sources, _ in kernel.operations:
            inputs = [values[one] if isinstance(one, Node) else arguments[one] for one in sources]
            function, inputs = plain_call(node, inputs)
            store = into.get(node)
            if store is not None and isinstance(function, np.ufunc):
                target = like(arguments[store.inputs[0]])  # type: ignore[index]
                values[node] = values[store.node] = function(*inputs, out=target, casting=OUT)
            elif node.op.kind is not Kind.STORE:
                values[node] = function(*inputs)
            elif node not in values:
                values[node] = like(inputs[0])
                values[node][...] = inputs[-1]
    chosen = _chosen(kernel, results, withheld)
    for result, made in zip(kernel.results, results, strict=True):
        if result.how[0] != "scalar":
            rows = result.how[0] == "rows"
            where = chosen.any(axis=-1, keepdims=result.how[1]) if rows else chosen
            np.copyto(made, values[result.node], where=where)


def _chosen(
    kernel: KernelPlan, results: tuple[Any, ...], withheld: Sequence[tuple[int, int]]
) -> np.ndarray:
    """A truth value for every element of the space: whether it was withheld."""
    orders = [result.how[1] for result in kernel.results if result.how[0] == "new"]
    shape = next(
        made.shape
        for result, made in zip(kernel.results, results, strict=True)
        if result.how[0] == "into"
    )
    order = orders[0] if orders and orders[0] not in {None, "C"} else tuple(range(len(shape)))
    chosen = np.zeros([shape[axis] for axis in order], np.bool_)
    for first, past in withheld:
        chosen.reshape(-1)[first:past] = True
    return chosen.transpose(np.argsort(order))


def like(array: Any) -> Any:
    """New memory with an array's elements and its strides: by these NumPy chooses its loops."""
    if array.flags.c_contiguous:
        return array.copy()
    spans = [(length - 1) * step for length, step in zip(array.shape, array.strides, strict=True)]
    low = sum(min(span, 0) for span in spans)
    memory = np.empty(sum(map(abs, spans)) + array.itemsize, np.uint8)
    made: Any = np.ndarray(array.shape, array.dtype, memory.data, -low, array.strides)
    made[...] = array
    return made


class Chain(Warner):
    """Issues the warnings of a chain of operations as those of one operation, each once."""

    def __init__(self, name: str, warner: Warner) -> None:
        super().__init__()
        self.name = name
        self.warner = warner
        self.issued: set[str] = set()

    def warn(self, position: int, message: str, location: Location | None) -> None:
        """Issue a RuntimeWarning that names the chain, or the cast of a number, once."""
        what, _, name = message.rpartition(" encountered in ")
        text = f"{what} encountered in {name if name == 'cast' else self.name}"
        if text not in self.issued:
            self.issued.add(text)
            self.warner.warn(position, text, location)


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

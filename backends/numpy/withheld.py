"""Elements that a kernel withheld, by NumPy.

A kernel that writes over its operands cannot refuse once it has begun. Where it learns late that only NumPy knows the
bits of some elements (a NaN that may be either of two), it *withholds* these. What they are made of is as it was. What
the others are made of may be written over, but no element depends on another: NumPy does all operations again, and
what it makes of the others is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.backends.numpy.plain import OUT, plain_call, stores_given_out
from ufuse.backends.planning.kernels import KernelPlan
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind

Elements = Sequence[tuple[int, int]]  # (first, past), in the order in which a kernel walks


def complete(
    kernel: KernelPlan,
    arguments: tuple[Any, ...],
    results: tuple[Any, ...],
    elements: Elements,
    totals: Mapping[int, Any],
) -> tuple[Any, ...]:
    """Write to a kernel's results the elements that it withheld; the results, with their totals.

    `totals`: by the number of a result what it was made of, which are the kernel's own values.
    """
    values = _values(kernel, arguments)
    order, withheld = _withheld(kernel, results, elements)
    found = list(results)
    for number, result in enumerate(kernel.results):
        kind, made = result.how[0], values[result.node]
        if kind == "rows":
            np.copyto(found[number], made, where=withheld.any(-1, keepdims=result.how[1]))
        elif kind != "scalar":
            np.copyto(found[number], made, where=withheld)
        elif number in totals:
            (source,) = next(one.inputs for one in kernel.operations if one.node is result.node)
            whole = values[source] if isinstance(source, Node) else np.asarray(arguments[source])
            whole = np.broadcast_to(whole, withheld.shape)
            chosen = withheld.transpose(order).reshape(-1)
            totals[number][chosen] = whole.transpose(order).reshape(-1)[chosen]
            ufunc, dtype = result.node.op.ufunc, result.node.attributes.get("dtype")
            assert ufunc is not None
            with np.errstate(all="ignore"):
                found[number] = ufunc.reduce(totals[number], dtype=dtype)
    return tuple(found)


def _values(kernel: KernelPlan, arguments: tuple[Any, ...]) -> dict[Node, Any]:
    """What every operation of a kernel makes, where copies stand for the arrays that it writes."""
    given = list(arguments)
    for result in kernel.results:
        if result.how[0] == "into":
            target = arguments[result.how[1]]
            copy = _like(target)
            given = [copy if _is_same(one, target) else one for one in given]
    stores = stores_given_out(kernel)
    values: dict[Node, Any] = {}
    with np.errstate(all="ignore"):
        for node, sources, _ in kernel.operations:
            inputs = [values[one] if isinstance(one, Node) else given[one] for one in sources]
            function, inputs = plain_call(node, inputs)
            store = stores.get(node)
            if store is not None:
                target = given[store.inputs[0]]  # type: ignore[index]
                values[node] = values[store.node] = function(*inputs, out=target, casting=OUT)
            elif node.op.kind is not Kind.STORE:
                values[node] = function(*inputs)
            elif node not in values:
                values[node] = inputs[0]
                function(*inputs)
    return values


def _is_same(one: Any, other: Any) -> bool:
    """Whether two arguments are the same elements of the same memory."""
    if type(one) is not np.ndarray:
        return False
    first, second = one.__array_interface__, other.__array_interface__
    return first["data"] == second["data"] and (one.shape, one.strides, one.dtype) == (
        other.shape, other.strides, other.dtype,
    )  # fmt: skip


def _withheld(
    kernel: KernelPlan, results: tuple[Any, ...], elements: Elements
) -> tuple[tuple[int, ...], np.ndarray]:
    """The order of axes in which the kernel walks, and for every element of its space whether it was withheld."""
    pairs = list(zip(kernel.results, results, strict=True))
    shape = next(made.shape for result, made in pairs if result.how[0] == "into")
    orders = [result.how[1] for result, _ in pairs if result.how[0] == "new"]
    order = orders[0] if orders and orders[0] not in {None, "C"} else tuple(range(len(shape)))
    withheld = np.zeros([shape[axis] for axis in order], np.bool_)
    for first, past in elements:
        withheld.reshape(-1)[first:past] = True
    return order, withheld.transpose(np.argsort(order))


def _like(array: Any) -> Any:
    """New memory with an array's elements and its strides: by these NumPy chooses its loops."""
    if array.flags.c_contiguous:
        return array.copy()
    spans = [(length - 1) * step for length, step in zip(array.shape, array.strides, strict=True)]
    low = sum(min(span, 0) for span in spans)
    memory = np.empty(sum(map(abs, spans)) + array.itemsize, np.uint8)
    made: Any = np.ndarray(array.shape, array.dtype, memory.data, -low, array.strides)
    made[...] = array
    return made

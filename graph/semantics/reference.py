"""The definition of what a graph means: node by node with plain NumPy. Every backend must match it to the bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.semantics.effects import ERRORS
from ufuse.graph.size import Expression, Size, Symbol, evaluate
from ufuse.graph.types import ArrayType, NumberType, Span, TupleType, Type, c_order
from ufuse.graph.typing.calls import function_named
from ufuse.graph.typing.draws import DRAWING, GENERATORS, MODULE
from ufuse.graph.typing.infer import scalar_function

Sizes = dict[str, int]


def run(graph: Graph, *inputs: Any, sizes: Mapping[str, int] | None = None) -> tuple[Any, ...]:
    """The outputs of the graph for these inputs; stores write into the inputs' own memory.

    `sizes` binds symbols that are no dimension of an input.

    Raises:
        TypeError: another number of inputs.
        ValueError: an input has not the sizes of its type.

    """
    if len(inputs) != len(graph.inputs):
        raise TypeError(f"{len(graph.inputs)} inputs are needed, not {len(inputs)}")
    bindings = dict(sizes or {})
    bind(graph, inputs, bindings)
    values: dict[Node, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        if node.op.kind is not Kind.INPUT:
            rule = BY_NAME.get(node.op.name) or BY_KIND[node.op.kind]
            given = [values[one] for one in node.inputs]
            if ERRORS in node.attributes:
                with np.errstate(**dict(node.attributes[ERRORS])):
                    values[node] = rule(node, given, bindings)
            else:
                values[node] = rule(node, given, bindings)
            if "sizes" in node.attributes:
                _bind_made(node.type, values[node], set(node.attributes["sizes"]), bindings)
    return tuple(values[node] for node in graph.outputs)


def bind(graph: Graph, inputs: Sequence[Any], bindings: Sizes) -> None:
    """Give every symbol of the inputs' types its value.

    Raises:
        ValueError: two dimensions that should be equal are not.

    """
    pairs: list[tuple[Size, int]] = []
    for node, value in zip(graph.inputs, inputs, strict=True):
        if isinstance(node.type, ArrayType):
            if np.ndim(value) != node.type.ndim:
                raise ValueError(f"an input has {np.ndim(value)} axes, not {node.type.ndim}")
            pairs += zip(node.type.shape, np.shape(value), strict=True)
        elif isinstance(node.type, NumberType) and node.type.value is not None:
            pairs.append((node.type.value, value))
    own: set[str] = set()
    for wanted, found in pairs:
        name = symbol_name(wanted)
        if name is not None and name not in own:
            bindings[name] = int(found)
            own.add(name)
    for wanted, found in pairs:
        if evaluate(wanted, bindings) != found:
            raise ValueError(f"a size is {found}, and {wanted} is {evaluate(wanted, bindings)}")


def _bind_made(type_: Type, value: Any, own: set[str], bindings: Sizes) -> None:
    """Give the symbols that a node makes their values, once it has run."""
    if isinstance(type_, TupleType):
        for one, item in zip(type_.items, value, strict=True):
            _bind_made(one, item, own, bindings)
    elif isinstance(type_, ArrayType):
        for length, found in zip(type_.shape, np.shape(value), strict=True):
            if (name := symbol_name(length)) in own:
                bindings[name] = int(found)
    elif isinstance(type_, NumberType) and (name := symbol_name(type_.value)) in own:
        bindings[name] = value


def symbol_name(value: Size | None) -> str | None:
    """The name where a size is one symbol alone."""
    match value:
        case Expression(terms=(((Symbol(name=name),), 1),)):
            return name
    return None


def real_index(index: Sequence[Any], bindings: Mapping[str, int]) -> tuple[Any, ...]:
    """A normalised index as Python objects."""
    return tuple(_real_entry(entry, bindings) for entry in index)


def _real_entry(entry: Size | Span | None, bindings: Mapping[str, int]) -> Any:
    if entry is None:
        return None
    if not isinstance(entry, Span):
        return evaluate(entry, bindings)
    start, length = evaluate(entry.start, bindings), evaluate(entry.length, bindings)
    if length == 0:
        return slice(0, 0)
    stop = start + length * entry.step
    return slice(start, None if stop < 0 else stop, entry.step)


def _index(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0][(*real_index(node.attributes["index"], bindings), ...)]


def _element(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0][real_index(node.attributes["index"], bindings)]


def _transpose(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0].transpose(node.attributes["axes"])


def _reshape(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0].reshape(_real_shape(node, bindings))


def _part(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return getattr(inputs[0], node.attributes["of"])


def _diagonal(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0].diagonal(node.attributes["offset"], *node.attributes["axes"])


def _windows(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    widths = tuple(evaluate(width, bindings) for width in node.attributes["widths"])
    return sliding_window_view(inputs[0], widths, node.attributes["axes"])


def _retype(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0].view(node.attributes["dtype"])


def _broadcast(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    warns = node.attributes.get("warns", False)
    return repeated(inputs[0], _real_shape(node, bindings), warns=warns)


def repeated(array: np.ndarray, shape: tuple[int, ...], *, warns: bool) -> np.ndarray:
    """What `np.broadcast_to` gives, or, where writing through it warns, `np.broadcast_arrays`."""
    if warns:
        return np.broadcast_arrays(array, np.broadcast_to(0, shape))[0]
    return np.broadcast_to(array, shape)


def _real_shape(node: Node, bindings: Sizes) -> tuple[int, ...]:
    return tuple(evaluate(length, bindings) for length in node.attributes["shape"])


def view_of(
    array: np.ndarray, path: Sequence[tuple[str, Mapping[str, Any]]], bindings: Sizes
) -> np.ndarray:
    """The view that a path of steps makes."""
    for name, attributes in path:
        if name == "index":
            array = array[(*real_index(attributes["index"], bindings), ...)]
        elif name == "transpose":
            array = array.transpose(attributes["axes"])
        elif name == "part":
            array = getattr(array, attributes["of"])
        elif name == "retype":
            array = array.view(attributes["dtype"])
        elif name == "diagonal":
            array = array.diagonal(attributes["offset"], *attributes["axes"])
        else:
            array = array.reshape([evaluate(length, bindings) for length in attributes["shape"]])
    return array


def _map(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    assert node.op.ufunc is not None
    return node.op.ufunc(*inputs)


def _cast(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0].astype(node.attributes["dtype"])


def _where(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return np.where(*inputs)


def _copy(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    if isinstance(inputs[0], np.generic):
        return inputs[0].copy()
    return inputs[0].copy(order=node.attributes.get("order", "K"))


def _reduce(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    assert node.op.ufunc is not None
    return node.op.ufunc.reduce(
        inputs[0],
        axis=node.attributes.get("axis"),
        dtype=node.attributes.get("dtype"),
        keepdims=bool(node.attributes.get("keepdims", False)),
    )


def _create(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    assert isinstance(node.type, ArrayType)
    shape = _real_shape(node, bindings)
    array = new_array(shape, node.type.dtype, node.type.order or c_order(len(shape)))
    if node.op.name != "empty":  # as NumPy does: assignment refuses other numbers than `copyto`
        np.copyto(array, inputs[0] if inputs else int(node.op.name == "ones"), casting="unsafe")
    return array


def new_array(shape: tuple[int, ...], dtype: np.dtype, order: tuple[int, ...]) -> np.ndarray:
    """Fresh memory that the array owns, its axes laid out in `order`."""
    if order == c_order(len(shape)):
        return np.empty(shape, dtype)
    inner = np.empty([shape[axis] for axis in order], dtype)
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return np.empty_like(inner.transpose(inverse))


def _store(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    view = view_of(inputs[0], node.attributes.get("path", ()), bindings)
    view[...] = inputs[1]
    return inputs[0]


def _scalar(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return scalar_function(node.attributes["operator"])(*inputs)


def _const(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return node.attributes["value"]


def _size(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return evaluate(node.attributes["value"], bindings)


def _argument(spec: Any, inputs: list[Any]) -> Any:
    match spec:
        case int():
            return inputs[spec]
        case ("const", value):
            return value
        case ("tuple", items):
            return tuple(_argument(item, inputs) for item in items)
        case ("list", items):
            return [_argument(item, inputs) for item in items]
    raise TypeError(f"not an argument: {spec!r}")


def _check_generator(method: str, given: object) -> None:
    """See that a method is called of an object of its class: it does not ask itself, and would crash.

    Raises:
        TypeError: it is none.

    """
    kind = method.split(".")[-2]
    if not isinstance(given, getattr(np.random, kind)):
        raise TypeError(f"{method} draws from a np.random.{kind}, not from {type(given).__name__}")


def _call(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    attributes = node.attributes
    arguments = [_argument(spec, inputs) for spec in attributes.get("arguments", ())]
    keywords = {key: _argument(spec, inputs) for key, spec in attributes.get("keywords", ())}
    if attributes["function"] in DRAWING:
        _check_generator(attributes["function"], arguments[0])
    result = function_named(attributes["function"])(*arguments, **keywords)
    written = attributes.get("writes", ())
    return (result, *(inputs[place] for place in written)) if written else result


class CheckFailed(Exception):  # noqa: N818  it says that another graph is to run
    """A graph is run that goes on along another side of a branch than these inputs take."""


def _check(node: Node, inputs: list[Any], bindings: Sizes) -> None:
    if bool(inputs[0]) is not node.attributes["expected"]:
        raise CheckFailed


def _item(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    return inputs[0][node.attributes["index"]]


def _loop(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    carried = tuple(inputs)
    while run(node.attributes["condition"], *carried, sizes=bindings)[0]:
        carried = run(node.attributes["body"], *carried, sizes=bindings)
    return carried


def _branch(node: Node, inputs: list[Any], bindings: Sizes) -> Any:
    side = "then" if inputs[0] else "otherwise"
    return run(node.attributes[side], *inputs[1:], sizes=bindings)


Rule = Callable[[Node, list[Any], Sizes], Any]
# fmt: off
BY_KIND: dict[Kind, Rule] = {
    Kind.CONST:  _const,
    Kind.SIZE:   _size,
    Kind.MAP:    _map,
    Kind.REDUCE: _reduce,
    Kind.CREATE: _create,
    Kind.STORE:  _store,
    Kind.SCALAR: _scalar,
    Kind.CALL:   _call,
    Kind.LOOP:   _loop,
    Kind.BRANCH: _branch,
    Kind.CHECK:  _check,
    Kind.ITEM:   _item,
}
BY_NAME: dict[str, Rule] = {
    "cast":      _cast,
    "where":     _where,
    "copy":      _copy,
    "index":     _index,
    "element":   _element,
    "transpose": _transpose,
    "reshape":   _reshape,
    "part":      _part,
    "diagonal":  _diagonal,
    "windows":   _windows,
    "retype":    _retype,
    "broadcast": _broadcast,
}
# fmt: on


def copies(inputs: Sequence[Any]) -> list[Any]:
    """Copies with the same strides, which decide what NumPy does; the same object stays one object.

    Generators of random numbers go on alike.
    """
    made: dict[int, Any] = {}
    known: dict[int, Any] = {}
    for value in inputs:
        kind = type(value)
        if kind.__name__ in GENERATORS and kind.__module__.startswith(MODULE):
            made[id(value)] = deepcopy(value, known)
        if isinstance(value, np.ndarray) and id(value) not in made:
            made[id(value)] = _in_its_strides(value)
    return [made.get(id(value), value) for value in inputs]


def _in_its_strides(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.size == 0:
        return array.copy()
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    offset = array.__array_interface__["data"][0] - low
    copy = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    copy[...] = array
    return copy

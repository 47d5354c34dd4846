"""NumPy's functions and methods in a graph, as operations of a device and as calls of CuPy's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.backends.cupy.operations.moments import moment_of
from ufuse.backends.cupy.operations.nodes import made, number
from ufuse.backends.cupy.sending import functions, places
from ufuse.backends.cupy.sending.elementwise import outer
from ufuse.backends.cupy.sending.kinds import StaysOnHost, device_type, is_sent, read
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.elementary import ELEMENTARY
from ufuse.graph.typing.library import CUDA
from ufuse.graph.typing.sample import type_of

MOMENTS = frozenset(("mean", "var", "std", "argmax", "argmin"))
RANGES = frozenset(("arange", "linspace"))
# What moves elements and computes none: CuPy's own calls.
MOVING = frozenset("concatenate stack vstack hstack column_stack tile repeat roll pad".split())
# What `accumulate` of a ufunc is a function of CuPy's for.
SCANS = {"add.accumulate": "cumsum", "multiply.accumulate": "cumprod"}
METHOD = "numpy.ndarray."


def called(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What stands for a call.

    Raises:
        StaysOnHost: nothing does.

    """
    name, given = node.attributes["function"], node.attributes
    if name in (places.STORED, places.STORED_BY_MASK, places.ADDED):
        return places.stored(node, inputs)
    if given.get("writes"):
        raise StaysOnHost(f"{name} writes")
    if name in (places.PICKED, places.MASKED):
        return places.picked(node, inputs)
    if name in places.TAKEN:
        return places.taken(node, inputs)
    if name == "builtins.len" and is_sent(inputs[0]):
        return number(inputs[0].type.shape[0], node.location)  # type: ignore[union-attr]
    if name in ELEMENTARY:
        return _of_numbers(node, inputs)
    short = name.removeprefix("numpy.")
    if short in RANGES and not any(map(is_sent, inputs)):
        return _range(node, inputs, short)
    if name == "numpy.array":
        return _array_of(node, inputs)
    if not any(map(is_sent, inputs)):
        raise StaysOnHost(f"{name} is left to NumPy")
    if short.endswith(".outer") and short[:-6] in ops.UFUNCS and given["arguments"] == (0, 1):
        return outer(node, ops.UFUNCS[short[:-6]], inputs)
    if name == METHOD + "flatten" and not dict(given["keywords"]):
        return _flat(node, inputs)
    is_method = name.startswith(METHOD)
    short = name.removeprefix(METHOD) if is_method else short
    if short in MOVING and not any(
        isinstance(one.type, ArrayType) and not is_sent(one) for one in inputs
    ):
        attributes = {**given, "function": f"cupy.{short}"}
        return Node(node.op, inputs, device_type(node.type), attributes, node.location)
    if short in SCANS:
        return _scan(node, inputs, SCANS[short])
    if short == "histogram":
        return _histogram(node, inputs)
    if short in MOMENTS:
        return _moment(node, inputs, short)
    if is_method and short not in functions.METHODS:
        raise StaysOnHost(f"{name} is left to NumPy")
    if short == "take_along_axis" and not places.are_places(inputs[1].type):  # type: ignore[arg-type]
        raise StaysOnHost("np.take_along_axis of what are no places")
    return functions.counterpart(short, node, inputs)


def _of_numbers(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A function of Python's numbers, for which the host waits."""
    numbers = tuple(read(one) if is_sent(one) else one for one in inputs)
    return Node(node.op, numbers, node.type, node.attributes, node.location)


def _range(node: Node, inputs: tuple[Node, ...], name: str) -> Node:
    if dict(node.attributes["keywords"]).keys() - {"dtype", "endpoint"}:
        raise StaysOnHost(f"numpy.{name} with these arguments")
    if name == "linspace" and not _is_length(device_type(node.type).shape[0]):
        raise StaysOnHost("np.linspace of a number of elements that may be negative")
    attributes = {**node.attributes, "function": f"cupy.{name}", "device": CUDA}
    return Node(node.op, inputs, device_type(node.type), attributes, node.location)


def _is_length(size: Size) -> bool:
    """Whether a size is negative in no run."""
    return size >= 0 if isinstance(size, int) else all(many >= 0 for _, many in size.terms)


def _flat(node: Node, inputs: tuple[Node, ...]) -> Node:
    """All elements one behind the other, in new memory."""
    copied = made(ops.COPY, *inputs, location=node.location, order="C")
    type_ = device_type(node.type)
    return made(ops.RESHAPE, copied, location=node.location, shape=type_.shape)


def _scan(node: Node, inputs: tuple[Node, ...], name: str) -> Node:
    """What `accumulate` gives, as CuPy's function that does so."""
    (_, *axis), keywords = node.attributes["arguments"], dict(node.attributes["keywords"])
    if len(axis) > 1 or keywords.keys() - {"axis"}:
        raise StaysOnHost(f"numpy.{name} with these arguments")
    along = axis[0] if axis else keywords.get("axis", ("const", 0))
    attributes = {**node.attributes, "arguments": (0,), "keywords": (("axis", along),)}
    return functions.counterpart(name, replace(node, attributes=attributes), inputs)


def _histogram(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Counts between edges that are known, which are NumPy's own."""
    given = dict(zip(("a", "bins", "range"), node.attributes["arguments"], strict=False))
    given |= dict(node.attributes["keywords"])
    bins, limits = given.get("bins", ("const", 10)), given.get("range", ("const", None))
    kinds = {one[0] if isinstance(one, tuple) else "input" for one in (bins, limits)}
    if (
        given.keys() - {"a", "bins", "range"}
        or kinds != {"const"}
        or type(bins[1]) is not int
        or limits[1] is None
    ):
        raise StaysOnHost("np.histogram between edges that are not known")
    source = inputs[0].type
    assert isinstance(source, ArrayType)
    edges = np.histogram_bin_edges(np.empty(0, source.dtype), bins[1], limits[1])
    attributes = {**node.attributes, "arguments": (0, ("const", edges)), "keywords": ()}
    return functions.counterpart("histogram", replace(node, attributes=attributes), inputs)


def _array_of(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A new array of numbers, each of which is stored into its place."""
    type_, (given,) = device_type(node.type), node.attributes["arguments"]
    if node.attributes["keywords"] or not all(isinstance(one, int) for one in type_.shape):
        raise StaysOnHost("np.array with these arguments")
    location = node.location
    array = made(
        ops.EMPTY,
        location=location,
        shape=type_.shape,
        dtype=type_.dtype,
        order=type_.order,
        device=CUDA,
    )
    for place in np.ndindex(*(one for one in type_.shape if isinstance(one, int))):
        value = _number_of(_part(given, place), inputs, location)
        path = ((ops.INDEX.name, {"index": place}),) if place else ()
        array = Node(
            ops.STORE, (array, value), type_, {"path": path, "casting": "same_kind"}, location
        )
    return array


def _part(given: Any, place: tuple[int, ...]) -> Any:
    """The part of an argument that is at a place of the array."""
    for index in place:
        if not isinstance(given, tuple) or given[0] not in ("list", "tuple", "const"):
            return None
        part = given[1][index]
        given = ("const", part) if given[0] == "const" else part
    return given


def _number_of(part: Any, inputs: tuple[Node, ...], location: Location | None) -> Node:
    if isinstance(part, int):
        type_ = inputs[part].type
        if not isinstance(type_, ArrayType) or not type_.ndim:
            return inputs[part]
    if isinstance(part, tuple) and part[0] == "const":
        return Node(ops.CONST, (), type_of(part[1]), {"value": part[1]}, location)
    raise StaysOnHost("np.array of arrays")


def _moment(node: Node, inputs: tuple[Node, ...], name: str) -> Node:
    """A mean, a deviation or the place of an extreme: sums in kernels, else CuPy's own method."""
    operands, keywords = node.attributes["arguments"], dict[str, Any](node.attributes["keywords"])
    if operands[:1] != (0,) or len(inputs) != 1 or set(keywords) - {"axis", "keepdims", "ddof"}:
        raise StaysOnHost(f"numpy.{name} with these arguments")
    if len(operands) > 2 or (len(operands) == 2 and "axis" in keywords):
        raise StaysOnHost(f"numpy.{name} with these arguments")
    if len(operands) == 2:
        keywords = {"axis": operands[1], **keywords}
    type_, source = device_type(node.type), inputs[0].type
    assert isinstance(source, ArrayType)
    if source.dtype.kind == "c":
        raise StaysOnHost(f"numpy.{name} of complex numbers")
    moment = moment_of(name, inputs[0], keywords, node.location)
    if moment is not None and moment.type == type_:
        return moment
    attributes = {
        "function": f"cupy.ndarray.{name}",
        "arguments": (0,),
        "keywords": tuple(keywords.items()),
    }
    return Node(node.op, inputs, type_, attributes, node.location)

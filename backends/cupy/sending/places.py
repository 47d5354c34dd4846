"""Elements that arrays of places pick, and are stored at: `x[i]`, `x[:, i]`, `x[i, j]`, `np.take`; by masks, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from ufuse.backends.cupy.sending.kinds import (
    StaysOnHost,
    device_type,
    is_sent,
)
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType, NothingType, NumberType, TupleType
from ufuse.graph.typing.device_calls import AT, ATOMIC, GETITEM, SETITEM, TAKE
from ufuse.graph.typing.sample import type_of

STORED, STORED_BY_MASK, ADDED = "operator.setitem", "numpy.ndarray.__setitem__", "numpy.add.at"
PICKED = "operator.getitem"  # NumPy's, by places
MASKED = "numpy.ndarray.__getitem__"
TAKEN = frozenset(("numpy.take", "numpy.ndarray.take"))
NONZERO = frozenset(("numpy.nonzero", "numpy.ndarray.nonzero"))
ALONG_AXIS = "cupy.take_along_axis"
WHOLE = ("const", slice(None))
LARGEST = 8  # bytes of numbers of which NumPy takes the upper half for places from the end


def picked(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What places or a mask pick, by CuPy's rule.

    Raises:
        StaysOnHost: the key has something else in it.

    """
    source, key = node.attributes["arguments"]
    parts = key[1] if isinstance(key, tuple) and key[0] == "tuple" else (key,)
    if (
        source != 0
        or not all(map(is_sent, inputs))
        or not all(isinstance(one, int) or one == WHOLE for one in parts)
    ):
        raise StaysOnHost("a key of more than arrays and whole axes")
    arrays = [_array(inputs[one]) for one in parts if isinstance(one, int)]
    ndim = _array(inputs[0]).ndim
    is_mask = len(parts) == 1 and arrays[0].dtype.kind == "b"
    if not is_mask and not all(map(are_places, arrays)):
        raise StaysOnHost("a mask beside places")
    if not is_mask:
        key = "tuple", (*parts, *(WHOLE,) * (ndim - len(parts)))
    attributes = {**node.attributes, "function": GETITEM, "arguments": (0, key)}
    return Node(node.op, inputs, device_type(node.type), attributes, node.location)


def taken(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What `take` takes.

    Raises:
        StaysOnHost: its places are clipped, or are no array.

    """
    arguments, keywords = node.attributes["arguments"], dict(node.attributes["keywords"])
    if len(arguments) == 3:
        keywords["axis"] = arguments[2]
    axis = keywords.get("axis", ("const", None))
    if (
        arguments[:2] != (0, 1)
        or keywords.keys() - {"axis"}
        or axis[0] != "const"
        or not all(map(is_sent, inputs))
    ):
        raise StaysOnHost("np.take with these arguments")
    if not are_places(_array(inputs[1])) or not _array(inputs[1]).ndim:
        raise StaysOnHost("np.take of what are no places")
    attributes = {"function": TAKE, "arguments": (0, 1), "keywords": (("axis", axis),)}
    return Node(node.op, inputs, device_type(node.type), attributes, node.location)


def stored(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A store of one number at places, of what is computed of the elements that a mask picks, or a sum of places.

    Raises:
        StaysOnHost: the result depends on the order in which a device stores, or adds.

    """
    name, (target, key, value) = node.attributes["function"], node.attributes["arguments"]
    parts = key[1] if isinstance(key, tuple) and key[0] == "tuple" else (key,)
    type_ = _array(inputs[0])
    if (
        target != 0
        or not is_sent(inputs[0])
        or not all(isinstance(one, int) or one == WHOLE for one in parts)
    ):
        raise StaysOnHost("it stores by a key of more than arrays and whole axes")
    many = isinstance(value, int) and _ndim(inputs[value])
    attributes = {**node.attributes, "function": SETITEM}
    if name == ADDED:
        if type_.dtype.char not in ATOMIC["add"] or type_.dtype.kind not in "iu" or len(parts) != 1:
            raise StaysOnHost("floats are added in an order that is the device's")
        attributes["function"] = AT + "add"
    elif name == STORED_BY_MASK and many:
        attributes["length"] = str(_array(inputs[value]).shape[0])
    elif many:
        raise StaysOnHost("which of several values is stored last is the device's matter")
    elif not fits(inputs[value] if isinstance(value, int) else value[1], type_):
        raise StaysOnHost("it stores a number of another kind")
    if name != STORED_BY_MASK and not all(
        are_places(_array(inputs[one])) for one in parts if one != WHOLE
    ):
        raise StaysOnHost("it stores by a mask beside places")
    if name == STORED:
        attributes["arguments"] = (
            0,
            ("tuple", (*parts, *(WHOLE,) * (type_.ndim - len(parts)))),
            value,
        )
    return Node(node.op, inputs, TupleType((NothingType(), type_)), attributes, node.location)


def are_places(array: ArrayType) -> bool:
    """Whether an array has whole numbers that CuPy takes for the places that they are for NumPy."""
    return array.dtype.kind == "i" or (array.dtype.kind == "u" and array.dtype.itemsize < LARGEST)


def _ndim(value: Node) -> int:
    return value.type.ndim if isinstance(value.type, ArrayType) else 0


def fits(value: Any, type_: ArrayType) -> bool:
    """Whether a number can be stored as NumPy stores it: one of Python's, or a node."""
    given = value.type if isinstance(value, Node) else type_of(value)
    if isinstance(given, NumberType):
        return type_.dtype.kind in {
            "bool": "biufc",
            "int": "iufc",
            "float": "fc",
            "complex": "c",
        }.get(given.kind, "")
    assert isinstance(given, ArrayType)
    return bool(given.device) or np.can_cast(given.dtype, type_.dtype, "same_kind")


def is_column(node: Node) -> bool:
    """Whether an array is one of those that `np.nonzero` gives: columns of one array."""
    source = node.inputs[0] if node.op is ops.ITEM else node
    return source.op is ops.CALL and source.attributes["function"] in NONZERO


def _array(node: Node) -> ArrayType:
    assert isinstance(node.type, ArrayType)
    return node.type

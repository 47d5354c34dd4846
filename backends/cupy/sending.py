"""Graphs of NumPy's arrays as graphs of arrays on a device, where each operation has a counterpart there.

Dtypes and shapes are NumPy's, which the graph has; memory order is C everywhere, until results come back. NumPy
scalars that are computed become 0-d arrays. Arguments are copies there, so what is written into one comes back.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ufuse.backends.cupy.operations.moments import moment_of
from ufuse.backends.cupy.operations.statistics import with_inputs
from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind, Op
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, NothingType, NumberType, Type, c_order
from ufuse.graph.typing.infer import (
    CannotInfer,
    loop_dtypes,
    operand_of,
    result_type,
    view_through,
)
from ufuse.graph.typing.library import CUDA
from ufuse.graph.typing.library import cupy as library

DTYPES = frozenset("?bBhHiIlLqQfd")
# Loops with NumPy's bits: IEEE's operations, comparisons, and what is done bit by bit.
EXACT = frozenset(
    """add subtract multiply divide negative positive absolute fabs sqrt square floor ceil trunc rint copysign
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not
    bitwise_and bitwise_or bitwise_xor invert maximum minimum fmax fmin isnan isinf isfinite signbit""".split()
)
# Loops whose last bits are those of CUDA's library.
CLOSE = frozenset(
    """exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh
    arctanh hypot cbrt power""".split()
)
# Python's operators on NumPy scalars.
OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "neg": "negative", "abs": "absolute",
    "pow": "power",
}  # fmt: skip
# NumPy's functions of one array that CuPy has as methods, and products of matrices.
METHODS = {
    f"numpy.{where}{name}": name
    for name in ("mean", "var", "std", "argmax", "argmin")
    for where in ("", "ndarray.")
}
RANGES = {"numpy.arange": "cupy.arange", "numpy.linspace": "cupy.linspace"}
# What moves elements and computes none: CuPy's own calls.
MOVING = frozenset("concatenate stack vstack hstack column_stack tile repeat roll pad".split())
PRODUCTS = {"numpy.matmul": "matmul", "numpy.dot": "dot"}


class StaysOnHost(Exception):  # noqa: N818  the reason for which a graph is compiled for the CPU
    """An operation has no counterpart on the device."""


@record
class Sent:
    """A graph of NumPy's arrays, and what a device computes of it.

    there: the graph on the device; its outputs are the values of `fetched`, then the `written` arguments.
    fetched: the nodes of `graph` whose values come back; views are made of them.
    written: the places of the arguments that are written.
    """

    graph: Graph
    there: Graph
    fetched: tuple[Node, ...]
    written: tuple[int, ...]


def sent(graph: Graph) -> Sent | str:
    """The graph with its arrays on the device, or why it has none."""
    buffers = Buffers()
    made: dict[Node, Node] = {}
    last: dict[Node, Node] = {}  # the versions of memory that is written
    try:
        for node in graph:
            made[node] = _counterpart(node, made, buffers)
            if node.op.kind is Kind.STORE:
                last[buffers.buffer(node)] = node
        fetched = dict.fromkeys(
            one
            for output in graph.outputs
            if (one := value_behind(output, last, buffers)).op is not ops.INPUT
            and buffers.buffer(one).op is not ops.INPUT
        )
        for node in fetched:
            _check_output(node)
    except (StaysOnHost, CannotInfer) as reason:
        return str(reason)
    written = tuple(place for place, node in enumerate(graph.inputs) if node in last)
    if not written and not any(is_sent(made[node]) for node in fetched):
        return "no result is an array"
    nodes = tuple(with_inputs(made[node] for node in graph))
    inputs = tuple(made[node] for node in graph.inputs)
    values = (*fetched, *(last[graph.inputs[place]] for place in written))
    there = Graph(inputs, nodes, tuple(made[node] for node in values), graph.name)
    return Sent(graph, there, tuple(fetched), written)


def value_behind(output: Node, last: dict[Node, Node], buffers: Buffers) -> Node:
    """The array that a result is, or is a view of, as it is at the end; a number is itself."""
    if not is_array(output):
        return output
    buffer = buffers.buffer(output)
    return last.get(buffer, buffer)


def is_sent(node: Node) -> bool:
    """Whether a value is on the device."""
    return isinstance(node.type, ArrayType) and bool(node.type.device)


def _check_output(node: Node) -> None:
    type_ = node.type
    if not isinstance(type_, ArrayType) or node.op is ops.INPUT:
        return
    if type_.order is None or (not type_.ndim and not type_.scalar):
        raise StaysOnHost("the layout of a result is NumPy's choice")


def _counterpart(node: Node, made: dict[Node, Node], buffers: Buffers) -> Node:
    inputs = tuple(made[one] for one in node.inputs)
    rule = RULES.get(node.op.name) or RULES.get(node.op.kind.value)
    if rule is None:
        raise StaysOnHost(f"{node.op.name} is left to NumPy")
    if node.op.kind is Kind.STORE and _replaces(node, inputs, buffers):
        type_ = _device_type(node.type)
        return Node(ops.CAST, inputs[1:], type_, {"dtype": type_.dtype}, node.location)
    return rule(node, inputs)


def _replaces(store: Node, inputs: tuple[Node, ...], buffers: Buffers) -> bool:
    """Whether a store is all of an array that the graph made: its value from then on is what was stored."""
    value, type_ = inputs[1].type, store.type
    is_own = buffers.buffer(store).op is not ops.INPUT and not store.attributes.get("path")
    assert isinstance(type_, ArrayType)
    return is_own and is_sent(inputs[1]) and value.shape == type_.shape  # type: ignore[union-attr]


def _device_type(type_: Type) -> ArrayType:
    """The type on the device of a NumPy array or scalar."""
    if (
        not isinstance(type_, ArrayType)
        or type_.dtype.char not in DTYPES
        or not type_.dtype.isnative
    ):
        raise StaysOnHost("a value is no array of real numbers")
    return ArrayType(type_.dtype, type_.shape, c_order(type_.ndim), device=CUDA)


def _input(node: Node, inputs: tuple[Node, ...]) -> Node:
    if not isinstance(node.type, ArrayType) or node.type.scalar:
        return node
    return Node(node.op, (), _device_type(node.type), node.attributes, node.location)


def _kept(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What the host does: with numbers that it has."""
    if any(map(is_sent, inputs)):
        raise StaysOnHost(f"{node.op.name} of a value on the device")
    return Node(node.op, inputs, node.type, node.attributes, node.location)


def _check(node: Node, inputs: tuple[Node, ...]) -> Node:
    return Node(node.op, inputs, NothingType(), node.attributes, node.location)


def _map(node: Node, inputs: tuple[Node, ...]) -> Node:
    if not any(map(is_sent, inputs)):
        return _kept(node, inputs)
    return _elementwise(node, node.op, inputs)


def _elementwise(node: Node, op: Op, inputs: tuple[Node, ...]) -> Node:
    if op.name not in EXACT and op.name not in CLOSE:
        raise StaysOnHost(f"{op.name} of CuPy's has other results")
    assert op.ufunc is not None
    type_ = _device_type(node.type)
    dtypes = loop_dtypes(op.ufunc, [operand_of(one) for one in inputs])
    if any(dtype.char not in DTYPES for dtype in dtypes):
        raise StaysOnHost(f"{op.name} computes in half precision")  # of booleans
    if dtypes[-1] != type_.dtype or (op.name == "power" and type_.dtype.kind != "f"):
        raise StaysOnHost(f"{op.name} for these types")
    library().routine_of_dtypes(op, dtypes)  # refuses what CuPy has no loop for
    return Node(op, inputs, type_, {}, node.location)


def _moved(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A cast, a copy or a choice."""
    if not any(map(is_sent, inputs)):
        return _kept(node, inputs)
    if any(isinstance(one.type, ArrayType) and one.type.dtype.char not in DTYPES for one in inputs):
        raise StaysOnHost("a value is no array of real numbers")
    attributes = {"order": "C"} if node.op is ops.COPY else node.attributes
    return Node(node.op, inputs, _device_type(node.type), attributes, node.location)


def _scalar(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Python's operator on numbers, one of which may be on the device."""
    if not any(map(is_sent, inputs)):
        return _kept(node, inputs)
    name = OPERATORS.get(node.attributes["operator"])
    if name is None:
        raise StaysOnHost(f"{node.attributes['operator']} of a value on the device")
    return _elementwise(node, ops.UFUNCS[name], inputs)


def _reduce(node: Node, inputs: tuple[Node, ...]) -> Node:
    type_ = _device_type(node.type)
    source = inputs[0].type
    assert isinstance(source, ArrayType)
    if library().reduced_dtype(node.op, source.dtype) != type_.dtype:
        raise StaysOnHost(f"{node.op.name} in another dtype")
    attributes = {**node.attributes, "dtype": None}
    return Node(node.op, inputs, type_, attributes, node.location)


def _view(node: Node, inputs: tuple[Node, ...]) -> Node:
    type_ = result_type(node.op, [operand_of(inputs[0])], node.attributes)
    return Node(node.op, inputs, type_, node.attributes, node.location)


def _create(node: Node, inputs: tuple[Node, ...]) -> Node:
    if any(map(is_sent, inputs)):
        raise StaysOnHost("an array is filled with a value on the device")
    return Node(node.op, inputs, _device_type(node.type), node.attributes, node.location)


def _store(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What is stored into memory on the device: the graph's own, or what an argument was sent into."""
    type_, value = _device_type(node.type), inputs[1].type
    view_through(type_, node.attributes.get("path", ()))  # refuses what would copy there
    if isinstance(value, NumberType):
        fits = type_.dtype.kind in {"bool": "biuf", "int": "iuf", "float": "f"}.get(value.kind, "")
    else:
        assert isinstance(value, ArrayType)
        fits = is_sent(inputs[1]) or np.can_cast(value.dtype, type_.dtype, "same_kind")
    if not fits:
        raise StaysOnHost("it stores a number of another kind")
    return Node(node.op, inputs, type_, node.attributes, node.location)


def _call(node: Node, inputs: tuple[Node, ...]) -> Node:
    name, given = node.attributes["function"], node.attributes
    operands = given.get("arguments", ())
    keywords = dict(given.get("keywords", ()))
    if given.get("writes"):
        raise StaysOnHost(f"{name} writes")
    if (
        name in RANGES
        and not any(map(is_sent, inputs))
        and keywords.keys() <= {"dtype", "endpoint"}
    ):
        attributes = {**given, "function": RANGES[name], "device": CUDA}
        return Node(node.op, inputs, _device_type(node.type), attributes, node.location)
    if name in PRODUCTS and operands == (0, 1) and not keywords and all(map(is_sent, inputs)):
        kinds = {one.type.dtype.char for one in inputs}  # type: ignore[union-attr]
        if len(kinds) == 1 and kinds <= {"f", "d"}:
            return Node(node.op, inputs, _device_type(node.type), given, node.location)
    moving = name.removeprefix("numpy.").removeprefix("ndarray.")
    if moving in MOVING and inputs and all(map(is_sent, inputs)):
        attributes = {**given, "function": f"cupy.{moving}"}
        return Node(node.op, inputs, _device_type(node.type), attributes, node.location)
    is_method = name in METHODS and operands[:1] == (0,) and is_sent(inputs[0])
    if not is_method or len(inputs) != 1 or set(keywords) - {"axis", "keepdims", "ddof"}:
        raise StaysOnHost(f"{name} is left to NumPy")
    if len(operands) > 2 or (len(operands) == 2 and "axis" in keywords):
        raise StaysOnHost(f"{name} with these arguments")
    if len(operands) == 2:
        keywords = {"axis": operands[1], **keywords}
    moment = moment_of(METHODS[name], inputs[0], keywords, node.location)
    if moment is not None and moment.type == _device_type(node.type):
        return moment
    attributes = {
        "function": f"cupy.ndarray.{METHODS[name]}",
        "arguments": (0,),
        "keywords": tuple(keywords.items()),
    }
    return Node(node.op, inputs, _device_type(node.type), attributes, node.location)


Rule = Callable[[Node, tuple[Node, ...]], Node]
# fmt: off
RULES: dict[str, Rule] = {
    "input":  _input,
    "const":  _kept,
    "size":   _kept,
    "check":  _check,
    "cast":   _moved,
    "copy":   _moved,
    "where":  _moved,
    "element": _kept,
    "map":    _map,
    "reduce": _reduce,
    "view":   _view,
    "create": _create,
    "store":  _store,
    "scalar": _scalar,
    "call":   _call,
}
# fmt: on


def dtypes_of(node: Node) -> tuple[np.dtype, ...]:
    """The dtypes of NumPy's loop for an elementwise operation on the device."""
    assert node.op.ufunc is not None
    return loop_dtypes(node.op.ufunc, [operand_of(one) for one in node.inputs])

"""NumPy's elementwise operations as those of a device: the same bits, or CUDA's in the last place."""

from __future__ import annotations

import numpy as np

from ufuse.backends.cupy.operations.nodes import made
from ufuse.backends.cupy.sending.kinds import DTYPES, StaysOnHost, device_type, is_sent, read
from ufuse.backends.cupy.texts.numpy_routines import routine
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Op
from ufuse.graph.types import ArrayType, Span
from ufuse.graph.typing.infer import loop_dtypes, operand_of

# Loops with NumPy's bits: IEEE's operations, comparisons, and what is done bit by bit.
EXACT = frozenset(
    """add subtract multiply divide negative positive absolute fabs sqrt square floor ceil trunc rint copysign
    equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not
    bitwise_and bitwise_or bitwise_xor invert maximum minimum fmax fmin isnan isinf isfinite signbit
    floor_divide remainder fmod sign heaviside nextafter reciprocal clip left_shift right_shift bitwise_count gcd
    deg2rad radians degrees rad2deg conjugate""".split()
)
# Loops whose last bits are those of CUDA's library.
CLOSE = frozenset(
    """exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh
    arctanh hypot cbrt power float_power logaddexp logaddexp2""".split()
)
# Loops of complex numbers with NumPy's bits; others are near.
EXACT_COMPLEX = frozenset(
    "add subtract negative positive conjugate equal not_equal logical_not isnan isinf isfinite".split()
)
# What compares complex numbers has an order of NumPy's.
ORDERING = frozenset(
    "less less_equal greater greater_equal maximum minimum fmax fmin sign clip".split()
)
# Of whole numbers NumPy divides by zero in a way of its own.
UNLIKE = {"reciprocal": "iql"}
# Python's operators on NumPy scalars.
OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert",
    "lshift": "left_shift", "rshift": "right_shift", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
# What makes a number of Python's.
READS = frozenset(("float", "int", "bool", "complex"))


def kept(node: Node, inputs: tuple[Node, ...]) -> Node:
    """What the host does: with numbers that it has."""
    if any(map(is_sent, inputs)):
        raise StaysOnHost(f"{node.op.name} of a value on the device")
    return Node(node.op, inputs, node.type, node.attributes, node.location)


def mapped(node: Node, inputs: tuple[Node, ...]) -> Node:
    """An elementwise operation."""
    if not any(map(is_sent, inputs)):
        return kept(node, inputs)
    return elementwise(node, node.op, inputs)


def elementwise(node: Node, op: Op, inputs: tuple[Node, ...]) -> Node:
    """An operation whose result is as a node's on the host."""
    if op.name not in EXACT and op.name not in CLOSE:
        raise StaysOnHost(f"{op.name} is left to NumPy")
    assert op.ufunc is not None
    type_ = device_type(node.type)
    dtypes = loop_dtypes(op.ufunc, [operand_of(one) for one in inputs])
    if any(dtype.char not in DTYPES for dtype in dtypes):
        raise StaysOnHost(f"{op.name} computes in half precision")  # of booleans
    if op.name in ORDERING and any(dtype.kind == "c" for dtype in dtypes):
        raise StaysOnHost(f"{op.name} puts complex numbers in order")
    is_signed = any(dtype.kind == "i" for dtype in dtypes)
    if dtypes[-1] != type_.dtype or (
        is_signed and op.name == "power" and not _has_power(inputs[1])
    ):
        raise StaysOnHost(f"{op.name} for these types")
    if dtypes[-1].char in UNLIKE.get(op.name, ""):
        raise StaysOnHost(f"{op.name} of whole numbers, where one may be zero")
    routine(op, dtypes)  # refuses what CuPy has no loop for
    return Node(op, inputs, type_, {}, node.location)


def _has_power(exponent: Node) -> bool:
    """Whether a whole exponent is not negative, where NumPy raises."""
    value = exponent.attributes.get("value") if exponent.op is ops.CONST else None
    return isinstance(value, int) and value >= 0


def moved(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A cast, a copy or a choice."""
    if not any(map(is_sent, inputs)):
        return kept(node, inputs)
    for one in inputs:
        if isinstance(one.type, ArrayType) and one.type.dtype.char not in DTYPES:
            raise StaysOnHost(f"an array is of {one.type.dtype}")
    type_ = device_type(node.type)
    source = inputs[0].type
    if node.op is ops.CAST and isinstance(source, ArrayType):
        if source.dtype.kind == "c" and type_.dtype.kind != "c":
            raise StaysOnHost("NumPy warns of imaginary parts that are dropped")
    attributes = {"order": "C"} if node.op is ops.COPY else node.attributes
    return Node(node.op, inputs, type_, attributes, node.location)


def scalar(node: Node, inputs: tuple[Node, ...]) -> Node:
    """Python's operator on numbers, one of which may be on the device; at `float` and the like the host waits."""
    if not any(map(is_sent, inputs)):
        return kept(node, inputs)
    operator = node.attributes["operator"]
    if operator in READS:
        return _read(node, inputs[0])
    name = OPERATORS.get(operator)
    if name is None:
        raise StaysOnHost(f"{operator} of a value on the device")
    return elementwise(node, ops.UFUNCS[name], inputs)


def _read(node: Node, source: Node) -> Node:
    found = read(source)
    if found.type.kind == node.attributes["operator"]:  # type: ignore[union-attr]
        return found
    return Node(node.op, (found,), node.type, node.attributes, node.location)


def element(node: Node, inputs: tuple[Node, ...]) -> Node:
    """An element that is read out: a copy, which what is written later does not change."""
    if not is_sent(inputs[0]):
        return kept(node, inputs)
    view = made(ops.INDEX, *inputs, location=node.location, index=node.attributes["index"])
    return made(ops.COPY, view, location=node.location, order="C")


def outer(node: Node, op: Op, inputs: tuple[Node, ...]) -> Node:
    """An elementwise operation on each element of one array with each of another."""
    first, second = inputs
    assert isinstance(first.type, ArrayType)
    assert isinstance(second.type, ArrayType)
    behind = (*_all_of(first.type), *(None,) * second.type.ndim)
    first = made(ops.INDEX, first, location=node.location, index=behind)
    return elementwise(node, op, (first, second))


def _all_of(type_: ArrayType) -> tuple[Span, ...]:
    return tuple(Span(0, length) for length in type_.shape)


def dtypes_of(node: Node) -> tuple[np.dtype, ...]:
    """The dtypes of NumPy's loop for an elementwise operation on the device."""
    assert node.op.ufunc is not None
    return loop_dtypes(node.op.ufunc, [operand_of(one) for one in node.inputs])

"""Which operations are pure: they give a result, and can neither raise, warn nor write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.bounds import BOUNDS
from ufuse.graph.typing.counting import MASKED
from ufuse.graph.typing.device_calls import DEVICE_FUNCTION, may_fail
from ufuse.graph.typing.draws import is_draw
from ufuse.graph.typing.infer import CannotInfer, loop_dtypes, operand_of, target_type
from ufuse.graph.typing.library import cupy

COMPARISONS = frozenset("equal not_equal less less_equal greater greater_equal".split())
LOGIC = frozenset("logical_and logical_or logical_xor logical_not".split())
BITS = frozenset("bitwise_and bitwise_or bitwise_xor invert left_shift right_shift".split())
SIGNS = frozenset(
    "negative positive absolute fabs copysign signbit conjugate isnan isinf isfinite".split()
)
WHOLE = frozenset("add subtract multiply maximum minimum square sign".split())
PURE_ANYWHERE = COMPARISONS | LOGIC | SIGNS | frozenset({"maximum", "minimum"})
PURE_FOR_INTEGERS = PURE_ANYWHERE | BITS | WHOLE
PURE_REDUCTIONS = frozenset(
    "add multiply logical_and logical_or bitwise_and bitwise_or bitwise_xor".split()
)
PURE_SCALARS = frozenset("add sub mul neg pos lt le gt ge eq ne not_ and_ or_ xor".split())
PURE_CALLS = frozenset(
    "numpy.matmul numpy.dot numpy.ndarray.dot numpy.concatenate numpy.stack numpy.argsort numpy.array".split()
) | {BOUNDS + "begin", BOUNDS + "extent"}
# Calls that raise for some values, and never warn: they move elements, and compute none.
RAISE_ONLY = (
    PURE_CALLS
    | {BOUNDS + "place", BOUNDS + "amount"}
    | frozenset(
        """numpy.take numpy.ndarray.take operator.getitem numpy.take_along_axis numpy.repeat numpy.ndarray.repeat
    numpy.tile numpy.vstack numpy.hstack numpy.column_stack numpy.append numpy.roll numpy.searchsorted
    numpy.ndarray.searchsorted numpy.lexsort numpy.argmax numpy.argmin numpy.ndarray.argmax numpy.ndarray.argmin
    numpy.unravel_index numpy.arange""".split()
    )
)

# The attribute of nodes that may warn and stand within `np.errstate(...)` of the program: for each flag that this
# names a pair, of the flag and "ignore" or "warn"; of the others the error state around the call decides.
ERRORS = "errors"
FLAGS = ("divide", "over", "under", "invalid")
Errors = tuple[tuple[str, str], ...]


def why_not_pure(node: Node) -> str | None:
    """Why leaving the node out, where nobody uses its result, could be noticed; or None.

    An op that could raise or warn is not pure, and neither is one that writes.
    """
    rule = RULES.get(node.op.name) or RULES.get(node.op.kind.value)
    return rule(node) if rule is not None else f"{node.op.name} may have effects"


def may_warn(node: Node) -> bool:
    """Whether NumPy may warn where the node is computed: such nodes keep their order."""
    if node.op is ops.CALL and node.attributes["function"] in RAISE_ONLY:
        return _is_given_dtype(node) and not _fits_dtype(node)
    if is_draw(node):
        return False
    if node.op is ops.CHECK or (node.op is ops.SCALAR and isinstance(node.type, NumberType)):
        return False
    if node.op.kind is Kind.MAP and _is_on_device(node):
        return False
    if node.op is ops.CALL and node.attributes["function"].startswith(DEVICE_FUNCTION):
        return False
    return why_not_pure(node) is not None


def errors_of(node: Node) -> Errors | None:
    """What the program's own `np.errstate` says of flags where a node stands; None: the node raises none anyway."""
    given: Errors | None = node.attributes.get(ERRORS)
    if given is not None:
        return given
    return () if may_warn(node) else None


def given_errors(node: Node) -> dict[str, Errors]:
    """The attribute of a node that is to warn as another one does, where that has it."""
    return {ERRORS: node.attributes[ERRORS]} if ERRORS in node.attributes else {}


def is_integer(dtype: np.dtype) -> bool:
    """Whether arithmetic is exact modulo a power of two, and raises no flag."""
    return dtype.kind in "iub"


def _never(node: Node) -> str | None:
    return None


def _is_on_device(node: Node) -> bool:
    return isinstance(node.type, ArrayType) and bool(node.type.device)


def _map_on_device(node: Node) -> str | None:
    """Of CuPy's operations on elements, which give no warnings; a Python number that does not fit is refused."""
    numbers = [
        (place, one)
        for place, one in enumerate(node.inputs)
        if isinstance(one.type, NumberType) and one.op is not ops.CONST
    ]
    if not numbers:  # inference has looked at constants
        return None
    try:
        dtypes = cupy().routine_of(node.op, [operand_of(one) for one in node.inputs]).dtypes
    except CannotInfer as refusal:  # of NumPy's operations there
        return str(refusal)
    reasons = (why_not_converted(one, dtypes[place]) for place, one in numbers)
    return next(filter(None, reasons), None)


def _map(node: Node) -> str | None:
    if _is_on_device(node):
        return _map_on_device(node)
    assert node.op.ufunc is not None
    if node.op.name in ("ceil", "floor") and _is_quotient(node.inputs[0]):
        return None
    try:
        dtypes = loop_dtypes(node.op.ufunc, [operand_of(one) for one in node.inputs])
    except CannotInfer as refusal:
        return str(refusal)
    for one, dtype in zip(node.inputs, dtypes, strict=False):
        why = why_not_converted(one, dtype)
        if why is not None:
            return why
    if all(map(is_integer, dtypes)):
        return None if node.op.name in PURE_FOR_INTEGERS else f"{node.op.name} of integers may warn"
    if node.op.name in PURE_ANYWHERE and all(
        dtype.char in "fd" or is_integer(dtype) for dtype in dtypes
    ):
        return None
    return f"{node.op.name} of floating-point numbers may warn"


def _is_quotient(node: Node) -> bool:
    """Whether a number is a size by a known one: it is finite."""
    if node.op is not ops.SCALAR or node.attributes["operator"] != "truediv":
        return False
    return node.inputs[0].op is ops.SIZE and node.inputs[1].op is ops.CONST


def why_not_converted(node: Node, dtype: np.dtype) -> str | None:
    """Why converting an operand to `dtype` may raise or warn."""
    if node.op is ops.CONST and isinstance(node.type, NumberType):
        return None  # inference has looked at the value
    type_ = node.type
    if isinstance(type_, NumberType):
        if type_.kind == "bool" or (type_.kind == "float" and dtype.char in "dD"):
            return None
        return f"a Python {type_.kind} may not fit {dtype}"
    if isinstance(type_, ArrayType) and np.can_cast(type_.dtype, dtype, "safe"):
        return None
    if (
        isinstance(type_, ArrayType)
        and type_.device
        and (type_.dtype.kind != "c" or dtype.kind == "c")
    ):
        return None  # CuPy warns of imaginary parts alone
    return "a conversion may warn"


def _cast(node: Node) -> str | None:
    (one,) = node.inputs
    assert isinstance(one.type, ArrayType)
    dtype = np.dtype(node.attributes["dtype"])
    if is_integer(one.type.dtype) and (is_integer(dtype) or dtype.char in "dD"):
        return None
    return why_not_converted(one, dtype)


def _store(node: Node) -> str | None:
    """Of the conversion alone; whether anybody reads the memory is `passes.dead`'s question."""
    buffer, value = node.inputs
    assert isinstance(buffer.type, ArrayType)
    if (
        isinstance(value.type, ArrayType)
        and is_integer(value.type.dtype)
        and is_integer(target_type(node).dtype)
    ):
        return None
    return why_not_converted(value, target_type(node).dtype)


def _where(node: Node) -> str | None:
    assert isinstance(node.type, ArrayType)
    for one in node.inputs[1:]:
        why = why_not_converted(one, node.type.dtype)
        if why is not None:
            return why
    return None


def _full(node: Node) -> str | None:
    assert isinstance(node.type, ArrayType)
    return why_not_converted(node.inputs[0], node.type.dtype)


def _reduce(node: Node) -> str | None:
    (one,) = node.inputs
    assert isinstance(one.type, ArrayType)
    assert isinstance(node.type, ArrayType)
    if node.type.device:
        return None  # CuPy gives no warnings, and the trace has ruled out the maximum of nothing
    assert node.op.ufunc is not None
    if node.op.ufunc.__name__ not in PURE_REDUCTIONS:
        return "the maximum of nothing raises"
    if is_integer(one.type.dtype) and is_integer(node.type.dtype):
        return None
    return "a reduction of floating-point numbers may warn"


def _scalar(node: Node) -> str | None:
    numbers = all(isinstance(one.type, NumberType) for one in node.inputs)
    kinds = {one.type.kind for one in node.inputs if isinstance(one.type, NumberType)}
    if numbers and node.attributes["operator"] in PURE_SCALARS and kinds <= {"int", "bool"}:
        return None
    if numbers and node.attributes["operator"] in PURE_SCALARS and kinds <= {"float", "bool"}:
        return None
    return "a scalar operator may raise or warn"


def _check(node: Node) -> str | None:
    return "it decides whether the graph is run to its end"


def _call(node: Node) -> str | None:
    if is_draw(node):
        return "it draws random numbers"
    if isinstance(node.type, ArrayType) and node.type.device:
        # CuPy gives no warnings; most calls raise for what the trace has ruled out, if at all
        fails = may_fail(
            node.attributes["function"], operand_of(node.inputs[0]) if node.inputs else None
        )
        return "it may raise" if fails else None
    if _is_given_dtype(node):
        return "what is given may not fit the dtype"
    if node.attributes["function"] == MASKED:
        return None
    dtypes = [one.type.dtype for one in node.inputs if isinstance(one.type, ArrayType)]
    if node.attributes["function"] in PURE_CALLS and all(map(is_integer, dtypes)):
        return None if not node.attributes.get("writes") else "it writes"
    return "a call may raise, warn or write"


def _is_given_dtype(node: Node) -> bool:
    """Whether a call converts to a dtype of the program's choice, which may raise or warn."""
    return "dtype" in dict(node.attributes["keywords"])


def _fits_dtype(node: Node) -> bool:
    """Whether no conversion to the dtype that a call is given can warn: of whole numbers it may raise at most.

    The same of doubles from real numbers, and of others from numbers that are known.
    """
    dtype = node.type.dtype if isinstance(node.type, ArrayType) else np.dtype(object)
    types = [one.type for one in node.inputs]
    known = [one.attributes["value"] for one in node.inputs if one.op is ops.CONST]
    known += [value for spec in node.attributes["arguments"] for value in _beside_inputs(spec)]
    if not all(type(one) in (bool, int, float) for one in known):
        return False
    if any(isinstance(one, NumberType) and one.kind == "complex" for one in types):
        return False
    if not all(np.can_cast(one.dtype, dtype) for one in types if isinstance(one, ArrayType)):
        return False
    if dtype.kind in "iub" or dtype.char in "dD":
        return True
    if any(one.op is not ops.CONST for one in node.inputs) or dtype.kind not in "fc":
        return False
    try:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(np.array(known, dtype)).all())
    except OverflowError:  # an int beyond all floats
        return False


def _beside_inputs(spec: Any) -> Iterator[Any]:
    """The values in an argument of a call that are none of the node's inputs; of sequences those in them."""
    match spec:
        case ("const", tuple() | list() as items):
            for item in items:
                yield from _beside_inputs(("const", item))
        case ("const" | "size", value):
            yield value
        case ("tuple" | "list", items):
            for item in items:
                yield from _beside_inputs(item)


# fmt: off
RULES: dict[str, Callable[[Node], str | None]] = {
    "const":     _never,
    "size":      _never,
    "view":      _never,
    "create":    _never,
    "item":      _never,
    "full":      _full,
    "map":       _map,
    "cast":      _cast,
    "copy":      _never,
    "where":     _where,
    "reduce":    _reduce,
    "scalar":    _scalar,
    "element":   _never,  # a normalised index is in range
    "store":     _store,
    "call":      _call,
    "check":     _check,
}
# fmt: on

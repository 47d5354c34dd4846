"""Rules for NumPy's C functions and array methods: which nodes each becomes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook import arrays, operators
from ufuse.frame_hook.calls import BUILTINS, METHODS, Rule, rule_for
from ufuse.frame_hook.interpret import Interpreter
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
    Array,
    Constant,
    Integer,
    List,
    Number,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.warned import place_of
from ufuse.graph import ops, size
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Op
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, c_order

Given = Mapping[str, Symbol]
Positional = Sequence[Symbol]
NO_VALUE = getattr(np, "_NoValue", None)


def bound(names: str, arguments: Positional, keywords: Given, what: str) -> dict[str, Symbol]:
    """Arguments by name; those that are absent, None or NumPy's "no value" are left out.

    Raises:
        GraphBreak: there is one that the rule does not know.

    """
    known = names.split()
    if len(arguments) > len(known) or not set(keywords) <= set(known):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    both = {**dict(zip(known, arguments, strict=False)), **keywords}
    return {
        name: symbol
        for name, symbol in both.items()
        if not (isinstance(symbol, Constant) and (symbol.value is None or symbol.value is NO_VALUE))
    }


def only(given: Mapping[str, Symbol], names: str, what: str) -> None:
    """Refuse what the rule does not follow."""
    rest = set(given) - set(names.split())
    if rest:
        raise GraphBreak("numpy-call", f"{what} with {', '.join(sorted(rest))}=")


def looked(interpreter: Interpreter, given: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """The arguments, read."""
    read = {name: interpreter.trace.look(symbol) for name, symbol in given.items()}
    return {
        k: v
        for k, v in read.items()
        if not (isinstance(v, Constant) and (v.value is None or v.value is NO_VALUE))
    }


def array_argument(interpreter: Interpreter, symbol: Symbol, what: str) -> Array:
    """An array.

    Raises:
        GraphBreak: it is something else, which NumPy would convert.

    """
    read = interpreter.trace.look(symbol)
    if not isinstance(read, Array):
        raise GraphBreak("numpy-call", f"{what} of {operators.described(read)}")
    return read


def axes_argument(
    interpreter: Interpreter, symbol: Symbol | None, ndim: int
) -> tuple[int, ...] | None:
    """A normalised axis argument; None is all axes."""
    if symbol is None:
        return None
    value = arrays.plain(interpreter.trace, symbol)
    axes = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(axis, (int, np.integer)) and -ndim <= axis < ndim for axis in axes):
        raise GraphBreak("eager-raises", "AxisError: axis is out of bounds")
    normal = tuple(int(axis) % ndim for axis in axes)
    if len(set(normal)) != len(normal):
        raise GraphBreak("eager-raises", "ValueError: duplicate value in 'axis'")
    return normal


def dtype_argument(interpreter: Interpreter, symbol: Symbol | None) -> np.dtype | None:
    """A dtype given as a dtype, a type or a string."""
    if symbol is None:
        return None
    value = arrays.plain(interpreter.trace, symbol)
    try:
        dtype: np.dtype = np.dtype(value)
    except TypeError as error:
        raise GraphBreak("eager-raises", f"TypeError: {error}") from None
    if dtype.char not in "?bhilqpBHILQPefdFD" or not dtype.isnative:
        raise GraphBreak("dtype", f"dtype {dtype}")
    return dtype


@rule_for(np._core.multiarray.normalize_axis_index)  # type: ignore[attr-defined]
def _normalize_axis_index(
    interpreter: Interpreter, arguments: Positional, keywords: Given
) -> Symbol:
    values = [arrays.plain(interpreter.trace, a) for a in (*arguments, *keywords.values())]
    return operators.pure(np._core.multiarray.normalize_axis_index, *values)  # type: ignore[attr-defined]


# Reductions ------------------------------------------------------------------------------------------------------


def reduction(
    interpreter: Interpreter,
    op: Op,
    array: Array,
    given: Mapping[str, Symbol],
    *,
    what: str,
    dtype: np.dtype | None = None,
) -> Symbol:
    """A ufunc's reduce over axes."""
    given = looked(interpreter, given)
    only(given, "a array axis dtype keepdims out where", what)
    if "out" in given or (
        "where" in given and arrays.plain(interpreter.trace, given["where"]) is not True
    ):
        raise GraphBreak("numpy-call", f"{what} with out= or where=")
    axes = axes_argument(interpreter, given.get("axis"), array.type.ndim)
    keepdims = (
        bool(arrays.plain(interpreter.trace, given["keepdims"])) if "keepdims" in given else False
    )
    dtype = dtype_argument(interpreter, given.get("dtype")) or dtype
    reduced = range(array.type.ndim) if axes is None else axes
    if op.name in ("reduce_maximum", "reduce_minimum"):
        for axis in reduced:
            if interpreter.trace.decide("eq", array.type.shape[axis], 0):
                raise GraphBreak(
                    "eager-raises", "ValueError: zero-size array to reduction operation"
                )
    attributes = {"axis": axes, "keepdims": keepdims, "dtype": dtype}
    node = interpreter.trace.node(op, (interpreter.trace.value(array),), attributes)
    return interpreter.trace.fresh(node)


def _reduction_rules() -> None:
    # fmt: off
    table = [
        # functions                    method  ufunc           dtype     arguments of the function
        ((np.sum,),                    "sum",  "add",          None,     "a axis dtype out keepdims initial where"),
        ((np.prod,),                   "prod", "multiply",     None,     "a axis dtype out keepdims initial where"),
        ((np.max, np.amax),            "max",  "maximum",      None,     "a axis out keepdims initial where"),
        ((np.min, np.amin),            "min",  "minimum",      None,     "a axis out keepdims initial where"),
        ((np.any,),                    "any",  "logical_or",   np.bool_, "a axis out keepdims where"),
        ((np.all,),                    "all",  "logical_and",  np.bool_, "a axis out keepdims where"),
    ]
    # fmt: on
    for functions, method, ufunc, dtype, names in table:
        op, result = ops.OPS[f"reduce_{ufunc}"], None if dtype is None else np.dtype(dtype)
        METHODS[method] = _reduction_rule(op, names, method, result, method=True)
        for function in functions:
            BUILTINS[function] = _reduction_rule(op, names, method, result, method=False)


STEPS = {"sum": "reduce", "prod": "product"}  # those of `warned.SAMPLES` that may warn


def _reduction_rule(op: Op, names: str, what: str, dtype: np.dtype | None, *, method: bool) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        given = bound(names, arguments, keywords, f"numpy.{what}")
        array = interpreter.trace.look(given.pop("a"))
        if isinstance(array, Number | Constant) and not given and dtype is None and what != "prod":
            return _reduced_number(interpreter, array, what)
        array = array_argument(interpreter, array, f"numpy.{what}")
        place = place_of(what, STEPS[what], method=method) if what in STEPS else None
        with interpreter.trace.warned_at(place):
            return reduction(interpreter, op, array, given, what=f"numpy.{what}", dtype=dtype)

    return rule


def _reduced_number(interpreter: Interpreter, number: Symbol, what: str) -> Symbol:
    node = arrays.node_of(interpreter.trace, number)
    if what in ("max", "min") and isinstance(node.type, ArrayType):
        return number if isinstance(number, Number) else Number(node)
    raise GraphBreak("numpy-call", f"numpy.{what} of a number")


_reduction_rules()


def _ufunc_reduce(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    ufunc = arrays.plain(interpreter.trace, arguments[0])
    op = ops.OPS.get(f"reduce_{ufunc.__name__}")
    what = f"numpy.{ufunc.__name__}.reduce"
    if op is None or op.ufunc is not ufunc:
        raise GraphBreak("numpy-call", what)
    names = "array axis dtype out keepdims initial where"
    both = dict(zip(names.split(), arguments[1:], strict=False)) | dict(keywords)
    axis = interpreter.trace.look(both.get("axis", Constant(0)))
    given = bound(names, arguments[1:], keywords, what)
    array = array_argument(interpreter, given.pop("array"), what)
    given.pop("axis", None)
    if not (isinstance(axis, Constant) and axis.value is None):
        given["axis"] = axis
    return reduction(interpreter, op, array, given, what=what)


METHODS["ufunc.reduce"] = _ufunc_reduce


def _ufunc_call(method: str) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        ufunc = arrays.plain(interpreter.trace, arguments[0])
        name = f"numpy.{ufunc.__name__}.{method}"
        if getattr(np, ufunc.__name__, None) is not ufunc:
            raise GraphBreak("numpy-call", name)
        return arrays.call_whole(
            interpreter.trace, name, arguments[1:], dict(keywords), may_raise=True
        )

    return rule


METHODS["ufunc.accumulate"] = _ufunc_call("accumulate")
METHODS["ufunc.outer"] = _ufunc_call("outer")
METHODS["ufunc.at"] = METHODS["ufunc.reduceat"] = lambda *_: (_ for _ in ()).throw(
    GraphBreak("numpy-call", "ufunc.at")
)


# Mean, variance, standard deviation: as numpy/_core/_methods.py computes them -----------------------------------------


def _count(interpreter: Interpreter, array: Array, axes: tuple[int, ...] | None) -> Size:
    shape = array.type.shape
    return arrays.total([shape[axis] for axis in (range(len(shape)) if axes is None else axes)])


def _divided(interpreter: Interpreter, total: Symbol, count: Size) -> Symbol:
    """`total / count`, in float64 whatever the total is, back in the total's dtype."""
    trace = interpreter.trace
    if isinstance(total, Number):
        return operators.scalar(trace, "truediv", total, arrays.integer(trace, count))
    return arrays.elementwise(trace, np.true_divide, (total, arrays.integer(trace, count)))


def _statistic(name: str, *, method: bool) -> Rule:
    def place(what: str) -> Location | None:
        return place_of(name, what, method=method)

    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        names = "a axis dtype out keepdims" if name == "mean" else "a axis dtype out ddof keepdims"
        trace = interpreter.trace
        given = looked(interpreter, bound(names, arguments, keywords, f"numpy.{name}"))
        array = trace.look(given.pop("a"))
        if not isinstance(array, Array):
            raise GraphBreak("numpy-call", f"numpy.{name} of {operators.described(array)}")
        axes = axes_argument(interpreter, given.get("axis"), array.type.ndim)
        count = _count(interpreter, array, axes)
        ddof = given.pop("ddof", Constant(0))
        least = arrays.plain(trace, ddof) if name != "mean" else 0
        if type(least) is not int or trace.decide("le", count, max(least, 0)):
            raise GraphBreak("eager-raises", "RuntimeWarning: Mean of empty slice")
        if array.type.dtype != np.float64 or set(given) - {"axis", "keepdims"}:
            return arrays.call_whole(
                trace, f"numpy.{name}", arguments, dict(keywords), may_raise=True
            )
        if name == "mean":
            with trace.warned_at(place("reduce")):
                total = reduction(
                    interpreter, ops.OPS["reduce_add"], array, given, what="numpy.mean"
                )
            return _divided(interpreter, total, count)
        return _variance(interpreter, array, given, count, least, place, root=name == "std")

    return rule


def _variance(
    interpreter: Interpreter,
    array: Array,
    given: Mapping[str, Symbol],
    count: Size,
    ddof: int,
    place: Callable[[str], Location | None],
    *,
    root: bool,
) -> Symbol:
    trace = interpreter.trace
    kept = {**given, "keepdims": Constant(value=True)}
    with trace.warned_at(place("reduce")):
        total = reduction(interpreter, ops.OPS["reduce_add"], array, kept, what="numpy.var")
        mean = _divided(interpreter, total, count)
    with trace.warned_at(place("subtract")):
        distance = arrays.elementwise(trace, np.subtract, (array, mean))
    with trace.warned_at(place("multiply")):
        squared = arrays.elementwise(trace, np.multiply, (distance, distance))
    if not isinstance(squared, Array):
        raise GraphBreak("numpy-call", "the variance of a 0-d array")
    with trace.warned_at(place("total")):
        total = reduction(interpreter, ops.OPS["reduce_add"], squared, given, what="numpy.var")
    variance = _divided(interpreter, total, size.add(count, -ddof))
    return arrays.elementwise(trace, np.sqrt, (variance,)) if root else variance


for _name in ("mean", "var", "std"):
    METHODS[_name] = _statistic(_name, method=True)
    BUILTINS[getattr(np, _name)] = _statistic(_name, method=False)


# Creation --------------------------------------------------------------------------------------------------------


def shape_argument(interpreter: Interpreter, symbol: Symbol) -> tuple[Size, ...]:
    """A shape: a whole number or a sequence of them."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    parts = list(symbol.items) if isinstance(symbol, Tuple | List) else [symbol]
    shape = []
    for part in parts:
        expression = operators.as_size(trace.look(part))
        if expression is None:
            raise GraphBreak("numpy-call", f"a shape with {operators.described(part)}")
        if trace.decide("lt", expression, 0):
            raise GraphBreak("eager-raises", "ValueError: negative dimensions are not allowed")
        shape.append(expression)
    return tuple(shape)


def _order_argument(interpreter: Interpreter, symbol: Symbol | None, ndim: int) -> tuple[int, ...]:
    order = "C" if symbol is None else arrays.plain(interpreter.trace, symbol)
    if order not in ("C", "F"):
        raise GraphBreak("numpy-call", f"order={order!r}")
    return c_order(ndim) if order == "C" else tuple(reversed(range(ndim)))


def _create(op: Op) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        names = (
            "shape fill_value dtype order device" if op is ops.FULL else "shape dtype order device"
        )
        given = bound(names, arguments, keywords, f"numpy.{op.name}")
        only(given, "shape fill_value dtype order", f"numpy.{op.name}")
        shape = shape_argument(interpreter, given["shape"])
        dtype = dtype_argument(interpreter, given.get("dtype"))
        order = _order_argument(interpreter, given.get("order"), len(shape))
        inputs: tuple[Node, ...] = ()
        if op is ops.FULL:
            value = interpreter.trace.look(given["fill_value"])
            if not arrays.is_number(value):
                raise GraphBreak("numpy-call", "numpy.full with an array")
            inputs = (arrays.node_of(interpreter.trace, value),)
        elif dtype is None:
            dtype = np.dtype(np.float64)
        attributes = {"shape": shape, "dtype": dtype, "order": order}
        return interpreter.trace.fresh(interpreter.trace.node(op, inputs, attributes))

    return rule


def _create_like(op: Op) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        names = (
            "a fill_value dtype order subok shape"
            if op is ops.FULL
            else "a dtype order subok shape"
        )
        what = f"numpy.{op.name}_like"
        given = bound(names, arguments, keywords, what)
        only(given, "a fill_value dtype", what)
        like = array_argument(interpreter, given["a"], what)
        if like.type.order is None:
            raise GraphBreak("layout", f"{what} of an array with unusual strides")
        dtype = dtype_argument(interpreter, given.get("dtype")) or like.type.dtype
        inputs = (arrays.node_of(interpreter.trace, given["fill_value"]),) if op is ops.FULL else ()
        attributes = {"shape": like.type.shape, "dtype": dtype, "order": like.type.order}
        return interpreter.trace.fresh(interpreter.trace.node(op, inputs, attributes))

    return rule


for _op in (ops.EMPTY, ops.ZEROS, ops.ONES, ops.FULL):
    BUILTINS[getattr(np, _op.name)] = _create(_op)
    BUILTINS[getattr(np, f"{_op.name}_like")] = _create_like(_op)


@rule_for(np.arange)
def _arange(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return arrays.call_whole(
        interpreter.trace, "numpy.arange", arguments, dict(keywords), may_raise=True
    )


# Conversion and copies -------------------------------------------------------------------------------------------


@rule_for(np.asarray, np.asanyarray, np.ascontiguousarray)
def _asarray(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a dtype order", arguments, keywords, "numpy.asarray")
    only(given, "a dtype", "numpy.asarray")
    array = array_argument(interpreter, given["a"], "numpy.asarray")
    dtype = dtype_argument(interpreter, given.get("dtype"))
    if dtype is not None and dtype != array.type.dtype:
        raise GraphBreak("numpy-call", "numpy.asarray with another dtype")
    return array


@rule_for(np.ascontiguousarray)
def _ascontiguousarray(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    array = array_argument(interpreter, arguments[0], "numpy.ascontiguousarray")
    kind = array.type
    if keywords or len(arguments) > 1 or kind.ndim == 0:
        raise GraphBreak("numpy-call", "numpy.ascontiguousarray with these arguments")
    if kind.contiguous and kind.order == c_order(kind.ndim):
        return array
    return _copied(interpreter, array, "C")


@rule_for(np.array)
def _array(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("object dtype", arguments, keywords, "numpy.array")
    value = interpreter.trace.look(given["object"])
    if isinstance(value, Array):
        if "dtype" in given:
            raise GraphBreak("numpy-call", "numpy.array of an array with dtype=")
        return _copied(interpreter, value, "K")
    constant = arrays.plain(interpreter.trace, value)
    if not _small_numbers(constant):
        raise GraphBreak("numpy-call", "numpy.array of these values")
    return arrays.call_whole(interpreter.trace, "numpy.array", arguments, dict(keywords))


def _small_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_small_numbers(item) for item in value)
    return isinstance(value, (bool, int, float, complex, np.generic))


def _copied(interpreter: Interpreter, array: Array, order: str) -> Symbol:
    node = interpreter.trace.node(ops.COPY, (interpreter.trace.value(array),), {"order": order})
    return interpreter.trace.fresh(node)


def _copy_method(default: str) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        given = bound("a order", arguments, keywords, "copy")
        order = arrays.plain(interpreter.trace, given["order"]) if "order" in given else default
        if order not in ("C", "K"):
            raise GraphBreak("numpy-call", f"a copy with order={order!r}")
        return _copied(interpreter, array_argument(interpreter, given["a"], "copy"), order)

    return rule


METHODS["copy"] = _copy_method("C")
BUILTINS[np.copy] = _copy_method("K")


def _astype(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a dtype order casting subok copy", arguments, keywords, "astype")
    only(given, "a dtype copy", "astype")
    symbol = interpreter.trace.look(given["a"])
    dtype = dtype_argument(interpreter, given["dtype"])
    node = arrays.node_of(interpreter.trace, symbol)
    assert isinstance(node.type, ArrayType)
    copy = arrays.plain(interpreter.trace, given["copy"]) if "copy" in given else True
    if copy is False and dtype == node.type.dtype:
        return symbol
    if copy not in (True, False):
        raise GraphBreak("numpy-call", "astype with this copy=")
    return interpreter.trace.fresh(interpreter.trace.node(ops.CAST, (node,), {"dtype": dtype}))


METHODS["astype"] = _astype


def _scalar_type(kind: type) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        if len(arguments) != 1 or keywords:
            raise GraphBreak("numpy-call", f"numpy.{kind.__name__} with these arguments")
        symbol = interpreter.trace.look(arguments[0])
        if isinstance(symbol, Constant):
            return operators.pure(kind, symbol.value)
        if isinstance(symbol, Number) and getattr(symbol.node.type, "dtype", None) == np.dtype(
            kind
        ):
            return symbol
        raise GraphBreak("numpy-call", f"numpy.{kind.__name__} of {operators.described(symbol)}")

    return rule


for _kind in {np.dtype(_char).type for _char in "?bhilqBHILQefdFD"}:
    BUILTINS[_kind] = _scalar_type(_kind)


# Shape -----------------------------------------------------------------------------------------------------------


def _reshape(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = dict(keywords)
    if "order" in given and arrays.plain(interpreter.trace, given.pop("order")) != "C":
        raise GraphBreak("numpy-call", "reshape with another order")
    array = array_argument(interpreter, arguments[0], "reshape")
    rest = [interpreter.trace.look(a) for a in arguments[1:]] or [
        given.pop("shape", Constant(None))
    ]
    if given:
        raise GraphBreak("numpy-call", "reshape with these arguments")
    if len(rest) == 1 and isinstance(rest[0], Tuple | List):
        rest = list(rest[0].items)
    return arrays.reshape(interpreter.trace, array, rest)


METHODS["reshape"] = _reshape
BUILTINS[np.reshape] = lambda i, a, k: (
    _reshape(i, a[:2], k) if len(a) <= 2 else _refuse("numpy.reshape")
)


def _refuse(what: str) -> Symbol:
    raise GraphBreak("numpy-call", f"{what} with these arguments")


def _ravel(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) > 1:
        raise GraphBreak("numpy-call", "ravel with another order")
    array = array_argument(interpreter, arguments[0], "ravel")
    return arrays.ravel(interpreter.trace, array)


def _transpose(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    array = array_argument(interpreter, arguments[0], "transpose")
    rest: list[Symbol] = [interpreter.trace.look(a) for a in (*arguments[1:], *keywords.values())]
    if len(rest) == 1 and isinstance(rest[0], Tuple | List):
        rest = list(rest[0].items)
    axes = [arrays.plain(interpreter.trace, a) for a in rest if not operators.same_type_none(a)]
    normal = axes_argument(interpreter, Constant(tuple(axes)), array.type.ndim) if axes else None
    if normal is not None and len(normal) != array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: axes don't match array")
    return arrays.transpose(
        interpreter.trace, array, normal or tuple(reversed(range(array.type.ndim)))
    )


def _swapaxes(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a axis1 axis2", arguments, keywords, "swapaxes")
    array = array_argument(interpreter, given["a"], "swapaxes")
    pair = [arrays.plain(interpreter.trace, given[name]) for name in ("axis1", "axis2")]
    order = list(range(array.type.ndim))
    if not all(type(axis) is int and -len(order) <= axis < len(order) for axis in pair):
        raise GraphBreak("eager-raises", "AxisError: axis is out of bounds")
    first, second = (axis % len(order) for axis in pair)
    order[first], order[second] = order[second], order[first]
    return arrays.transpose(interpreter.trace, array, tuple(order))


METHODS["ravel"] = BUILTINS[np.ravel] = _ravel
METHODS["transpose"] = BUILTINS[np.transpose] = _transpose
METHODS["swapaxes"] = BUILTINS[np.swapaxes] = _swapaxes


@rule_for(np.shape)
def _shape(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return arrays.attribute(
        interpreter.trace, array_argument(interpreter, arguments[0], "numpy.shape"), "shape"
    )


@rule_for(np.ndim)
def _ndim(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return arrays.attribute(
        interpreter.trace, array_argument(interpreter, arguments[0], "numpy.ndim"), "ndim"
    )


# Choice ----------------------------------------------------------------------------------------------------------


@rule_for(np.where)
def _where(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 3 or keywords:
        raise GraphBreak("numpy-call", "numpy.where with a condition alone")
    nodes = tuple(arrays.node_of(interpreter.trace, a) for a in arguments)
    if not any(isinstance(n.type, ArrayType) and not n.type.scalar for n in nodes):
        raise GraphBreak("numpy-call", "numpy.where of numbers")
    return interpreter.trace.fresh(interpreter.trace.node(ops.WHERE, nodes))


def _clip(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound("a a_min a_max", arguments, keywords, "numpy.clip")
    array = array_argument(interpreter, given["a"], "numpy.clip")
    given = looked(interpreter, given)
    low, high = given.get("a_min"), given.get("a_max")
    clip: Any = np._core.umath.clip  # type: ignore[attr-defined]
    if low is None or high is None:
        if low is None and high is None:
            raise GraphBreak("numpy-call", "numpy.clip without bounds")
        bound_, ufunc = (high, np.minimum) if low is None else (low, np.maximum)
        assert bound_ is not None
        return arrays.elementwise(interpreter.trace, ufunc, (array, bound_))
    return arrays.elementwise(interpreter.trace, clip, (array, low, high))


METHODS["clip"] = BUILTINS[np.clip] = _clip


def _fill(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    array = array_argument(interpreter, arguments[0], "fill")
    value = interpreter.trace.look(arguments[1])
    if not arrays.is_number(value):
        raise GraphBreak("numpy-call", "fill with an array")
    arrays.store_into(interpreter.trace, array, value)
    return Constant(None)


METHODS["fill"] = _fill


# Python's math and operator modules ------------------------------------------------------------------------------


def _pure_of_constants(function: Callable[..., Any]) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        values = [interpreter.trace.look(a) for a in arguments]
        if keywords or not all(
            isinstance(v, Constant) and isinstance(v.value, operators.PURE) for v in values
        ):
            raise GraphBreak(
                "call",
                f"{function.__module__}.{function.__name__} of a value known only at run time",
            )
        return operators.pure(function, *[v.value for v in values if isinstance(v, Constant)])

    return rule


for _function in vars(math).values():
    if callable(_function):
        BUILTINS[_function] = _pure_of_constants(_function)
for _function in (
    np.dtype,
    np.result_type,
    np.promote_types,
    np.isscalar,
    np.issubdtype,
    round,
    divmod,
    hash,
    repr,
    str,
):
    BUILTINS.setdefault(_function, _pure_of_constants(_function))


@rule_for(operator.index)
def _index(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    symbol = interpreter.trace.look(arguments[0])
    if isinstance(symbol, Integer):
        return symbol
    if isinstance(symbol, Constant):
        return operators.pure(operator.index, symbol.value)
    raise GraphBreak("call", f"operator.index of {operators.described(symbol)}")


__all__ = ["METHODS"]

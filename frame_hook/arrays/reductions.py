"""Rules of NumPy's reductions and statistics, and the readers of arguments that all of NumPy's rules share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Signature
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.arrays.warned import SQUARES, place_of
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import (
    BUILTINS,
    METHODS,
    Given,
    Positional,
    Rule,
    method,
    rule_for,
)
from ufuse.frame_hook.objects.values import UNKNOWN, constants_in, described, number_type, pure
from ufuse.frame_hook.trace.followed import is_followed
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, List, Number, Symbol, Tuple
from ufuse.graph import ops, size
from ufuse.graph.node import Location
from ufuse.graph.ops import Op
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.sample import dtype_words

NONE = Constant(None)
NUMPYS: Any = np._core._methods  # type: ignore[attr-defined]  # NumPy's Python code of methods
NO_VALUE = getattr(np, "_NoValue", None)
# Arguments whose None is the same as leaving them out; of the others NumPy makes a number or a truth value.
MAY_BE_NONE = frozenset(("axis", "dtype", "out"))


def bound(
    interpreter: Interpreter,
    signature: Signature,
    arguments: Positional,
    keywords: Given,
    what: str,
) -> dict[str, Symbol]:
    """Arguments by name, read, without those left out: absent, or given as what stands for it in the signature.

    That is None or NumPy's "no value".

    Raises:
        GraphBreak: they do not fit the signature, or are None where this is not the same as leaving them out.

    """
    try:
        given = signature.bind(*arguments, **keywords).arguments
    except TypeError:
        raise GraphBreak("eager-raises", f"TypeError: the arguments of {what}()") from None
    defaults = {name: one.default for name, one in signature.parameters.items()}
    read = {name: interpreter.trace.look(symbol) for name, symbol in given.items()}
    return {
        name: symbol
        for name, symbol in read.items()
        if not _is_left_out(name, symbol, defaults[name])
    }


def _is_left_out(name: str, symbol: Symbol, default: Any) -> bool:
    value = symbol.value if isinstance(symbol, Constant) else UNKNOWN
    if value is not None and value is not NO_VALUE:
        return False
    if value is not default and (value is NO_VALUE or name not in MAY_BE_NONE):
        raise GraphBreak("numpy-call", f"a call with {name}={value}")
    return True


def _refuse_others(given: Mapping[str, Symbol], names: str, what: str) -> None:
    """Break where arguments are given that the rule does not know."""
    rest = set(given) - set(names.split())
    if rest:
        raise GraphBreak("numpy-call", f"{what} with {', '.join(sorted(rest))}=")


def _read(interpreter: Interpreter, given: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """The arguments of a ufunc's reduce, read, without those left out."""
    read = {name: interpreter.trace.look(symbol) for name, symbol in given.items()}
    return {name: one for name, one in read.items() if not _is_left_out(name, one, NO_VALUE)}


def array_argument(interpreter: Interpreter, symbol: Symbol, what: str) -> Array:
    """An array.

    Raises:
        GraphBreak: it is something else, which NumPy would convert.

    """
    read = interpreter.trace.look(symbol)
    if not isinstance(read, Array):
        raise GraphBreak("numpy-call", f"{what} of {described(read)}")
    return read


def axes_argument(
    interpreter: Interpreter, symbol: Symbol | None, ndim: int
) -> tuple[int, ...] | None:
    """A normalised axis argument; None is all axes."""
    if symbol is None:
        return None
    value = arrays.plain(interpreter.trace, symbol)
    axes = value if isinstance(value, tuple) else (value,)
    whole = all(isinstance(axis, (int, np.integer)) and type(axis) is not bool for axis in axes)
    if not whole or not all(-ndim <= axis < ndim for axis in axes):
        raise GraphBreak("eager-raises", "AxisError: axis is out of bounds")
    normal = tuple(int(axis) % ndim for axis in axes)
    if len(set(normal)) != len(normal):
        raise GraphBreak("eager-raises", "ValueError: duplicate value in 'axis'")
    return normal


def dtype_argument(interpreter: Interpreter, symbol: Symbol | None) -> np.dtype | None:
    """A dtype given as a dtype, a type or a string; None where it is None or not given."""
    value = None if symbol is None else arrays.plain(interpreter.trace, symbol)
    if value is None:
        return None
    dtype = arrays.dtype_of(value)
    if not is_followed(dtype):
        raise GraphBreak("dtype", f"dtype {dtype_words(dtype)}")
    return dtype


@rule_for(np._core.multiarray.normalize_axis_index)  # type: ignore[attr-defined]
def _normalize_axis_index(
    interpreter: Interpreter, /, axis: Symbol, ndim: Symbol, msg_prefix: Symbol = NONE
) -> Symbol:
    values = [arrays.plain(interpreter.trace, one) for one in (axis, ndim, msg_prefix)]
    return pure(np._core.multiarray.normalize_axis_index, *values)  # type: ignore[attr-defined]


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
    given = _read(interpreter, given)
    _refuse_others(given, "a array axis dtype keepdims out where", what)
    if "out" in given or (
        "where" in given and arrays.plain(interpreter.trace, given["where"]) is not True
    ):
        raise GraphBreak("numpy-call", f"{what} with out= or where=")
    axes = axes_argument(interpreter, given.get("axis"), array.type.ndim)
    keepdims = arrays.plain(interpreter.trace, given.get("keepdims", Constant(value=False)))
    if type(keepdims) not in (bool, int) or keepdims not in (False, True):
        raise GraphBreak("numpy-call", f"{what} with this keepdims=")
    dtype = dtype_argument(interpreter, given.get("dtype")) or dtype
    reduced = range(array.type.ndim) if axes is None else axes
    if op.name in ("reduce_maximum", "reduce_minimum", "reduce_fmax", "reduce_fmin"):
        for axis in reduced:
            if interpreter.trace.sizes.decide("eq", array.type.shape[axis], 0):
                raise GraphBreak(
                    "eager-raises", "ValueError: zero-size array to reduction operation"
                )
    attributes = {"axis": axes, "keepdims": bool(keepdims), "dtype": dtype}
    node = interpreter.trace.graph.node(op, (interpreter.trace.graph.value(array),), attributes)
    return interpreter.trace.graph.fresh(node)


def _reduction_rules() -> None:
    # fmt: off
    table = [
        # functions         method's code   ufunc           dtype
        ((np.sum,),         NUMPYS._sum,    "add",          None),
        ((np.prod,),        NUMPYS._prod,   "multiply",     None),
        ((np.max, np.amax), NUMPYS._amax,   "maximum",      None),
        ((np.min, np.amin), NUMPYS._amin,   "minimum",      None),
        ((np.any,),         NUMPYS._any,    "logical_or",   np.dtype(bool)),
        ((np.all,),         NUMPYS._all,    "logical_and",  np.dtype(bool)),
    ]
    # fmt: on
    for functions, code, ufunc, dtype in table:
        op, name = ops.OPS[f"reduce_{ufunc}"], functions[0].__name__
        METHODS[name] = _reduction_rule(op, code, name, dtype, method=True)
        for function in functions:
            BUILTINS[function] = _reduction_rule(op, function, name, dtype, method=False)


STEPS = {"sum": "reduce", "prod": "product"}  # those of `warned.SAMPLES` that may warn


def _reduction_rule(op: Op, code: Any, name: str, dtype: np.dtype | None, *, method: bool) -> Rule:
    """The rule of a function, or of a method that NumPy writes in Python: `code` tells its signature."""
    signature, what = inspect.signature(code), f"numpy.{name}"

    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        given = bound(interpreter, signature, arguments, keywords, what)
        is_quiet = not method or name in ("max", "min")  # a warning of a method names another line
        if is_quiet and (isinstance(given.get("where"), Array) or "initial" in given):
            return arrays.call_whole(interpreter.trace, what, arguments, keywords, may_raise=True)
        if dtype is not None:
            _refuse_others(given, "a axis out keepdims where", what)
        array = given.pop("a")
        if name in ("any", "all") and not given and _is_truth(array):
            return array
        if not method and not isinstance(array, Array):
            is_scalar = arrays.is_number(array) and number_type(array) == "numpy"
            if name in ("max", "min") and not given and is_scalar:
                return _reduced_number(interpreter, array)
            if not given and (known := constants_in(array)) is not UNKNOWN:
                return pure(code, known)
            array = interpreter.call(Constant(np.asarray), (array,))
        array = array_argument(interpreter, array, what)
        place = place_of(name, STEPS[name], method=method) if name in STEPS else None
        with interpreter.trace.graph.warned_at(place):
            return reduction(interpreter, op, array, given, what=what, dtype=dtype)

    return rule


def _is_truth(symbol: Symbol) -> bool:
    """Whether it is NumPy's True or False, which of the two is known only when the program runs."""
    type_ = symbol.node.type if isinstance(symbol, Number) else None
    return isinstance(type_, ArrayType) and type_.dtype.kind == "b"


def _reduced_number(interpreter: Interpreter, number: Symbol) -> Symbol:
    node = arrays.node_of(interpreter.trace, number)
    return number if isinstance(number, Number) else Number(node)


_reduction_rules()


@method("ufunc.reduce")
def _ufunc_reduce(
    interpreter: Interpreter,
    of: Symbol,
    /,
    array: Symbol,
    axis: Symbol = Constant(0),  # noqa: B008  it is immutable
    dtype: Symbol = NONE,
    out: Symbol = NONE,
    keepdims: Symbol = Constant(value=False),  # noqa: B008  the same
    initial: Symbol = Constant(NO_VALUE),  # noqa: B008  the same
    where: Symbol = Constant(value=True),  # noqa: B008  the same
) -> Symbol:
    ufunc = arrays.plain(interpreter.trace, of)
    op = ops.OPS.get(f"reduce_{ufunc.__name__}")
    what = f"numpy.{ufunc.__name__}.reduce"
    given = {
        "axis": axis,
        "dtype": dtype,
        "out": out,
        "keepdims": keepdims,
        "initial": initial,
        "where": where,
    }
    if op is None or op.ufunc is not ufunc:
        if not ops.is_numpys(ufunc):
            raise GraphBreak("numpy-call", what)
        read = _read(interpreter, given)
        if arrays.plain(interpreter.trace, read.pop("where")) is not True:
            raise GraphBreak("numpy-call", f"{what} with where=")
        rest = {**read, "axis": axis}  # None is all axes, and not what stands for none given
        return arrays.call_whole(interpreter.trace, what, (array,), rest, may_raise=True)
    if isinstance(interpreter.trace.look(array), List | Tuple):
        array = interpreter.call(Constant(np.asarray), (array,))
    return reduction(interpreter, op, array_argument(interpreter, array, what), given, what=what)


def _ufunc_call(name: str) -> Rule:
    def rule(
        interpreter: Interpreter, of: Symbol, /, *arguments: Symbol, **keywords: Symbol
    ) -> Symbol:
        ufunc = arrays.plain(interpreter.trace, of)
        called = f"numpy.{ufunc.__name__}.{name}"
        if not ops.is_numpys(ufunc):
            raise GraphBreak("numpy-call", called)
        return arrays.call_whole(interpreter.trace, called, arguments, keywords, may_raise=True)

    return rule


METHODS["ufunc.outer"] = _ufunc_call("outer")
METHODS["ufunc.reduceat"] = _ufunc_call("reduceat")


# Mean, variance, standard deviation ------------------------------------------------------------------------------
#
# As numpy/_core/_methods.py computes them. Inlining that code gives the same graph, but a first call with a mean takes
# half as long again, and its guards add a tenth to each later one.


def _count(interpreter: Interpreter, array: Array, axes: tuple[int, ...] | None) -> Size:
    shape = array.type.shape
    return arrays.total([shape[axis] for axis in (range(len(shape)) if axes is None else axes)])


def _divided(interpreter: Interpreter, total: Symbol, count: Size) -> Symbol:
    """`total / count`; an array's own memory is divided, so that it goes on lying as the reduction made it."""
    trace = interpreter.trace
    number = arrays.integer(trace, count)
    if isinstance(total, Array):
        return arrays.store_result(trace, np.true_divide, (total, number), total)
    return scalar(trace, "truediv", total, number)


def _statistic(name: str, *, method: bool) -> Rule:
    def place(what: str) -> Location | None:
        return place_of(name, what, method=method)

    what = f"numpy.{name}"
    signature = inspect.signature(getattr(NUMPYS, f"_{name}") if method else getattr(np, name))

    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        trace = interpreter.trace
        given = bound(interpreter, signature, arguments, keywords, what)
        _refuse_others(given, "a axis dtype out ddof keepdims", what)
        array = given.pop("a")
        if not isinstance(array, Array):
            raise GraphBreak("numpy-call", f"{what} of {described(array)}")
        axes = axes_argument(interpreter, given.get("axis"), array.type.ndim)
        count = _count(interpreter, array, axes)
        ddof = given.pop("ddof", Constant(0))
        least = arrays.plain(trace, ddof) if name != "mean" else 0
        if type(least) is not int or trace.sizes.decide("le", count, max(least, 0)):
            raise GraphBreak("eager-raises", "RuntimeWarning: Mean of empty slice")
        is_plain = array.type.dtype == np.float64 and not set(given) - {"axis", "keepdims"}
        if not is_plain or (array.type.order is None and name != "mean"):
            return arrays.call_whole(trace, what, arguments, keywords, may_raise=True)
        if name == "mean":
            with trace.graph.warned_at(place("reduce")):
                total = reduction(interpreter, ops.OPS["reduce_add"], array, given, what=what)
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
    with trace.graph.warned_at(place("reduce")):
        total = reduction(interpreter, ops.OPS["reduce_add"], array, kept, what="numpy.var")
        mean = _divided(interpreter, total, count)
    with trace.graph.warned_at(place("subtract")):
        distance = arrays.elementwise(trace, np.subtract, (array, mean))
    with trace.graph.warned_at(place("square")):
        if SQUARES:
            squared = arrays.elementwise(trace, np.square, (distance,))
        else:
            squared = arrays.elementwise(trace, np.multiply, (distance, distance))
    if not isinstance(squared, Array):
        raise GraphBreak("numpy-call", "the variance of a 0-d array")
    with trace.graph.warned_at(place("total")):
        total = reduction(interpreter, ops.OPS["reduce_add"], squared, given, what="numpy.var")
    variance = _divided(interpreter, total, size.add(count, -ddof))
    if not root:
        return variance
    if isinstance(variance, Array):
        return arrays.store_result(trace, np.sqrt, (variance,), variance)
    return arrays.elementwise(trace, np.sqrt, (variance,))


for _name in ("mean", "var", "std"):
    METHODS[_name] = _statistic(_name, method=True)
    BUILTINS[getattr(np, _name)] = _statistic(_name, method=False)


__all__ = ["METHODS"]

"""Rules for NumPy's reductions and statistics, and the readers of arguments that all of NumPy's rules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.arrays.warned import place_of
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import BUILTINS, METHODS, Given, Positional, Rule, rule_for
from ufuse.frame_hook.objects.values import described, pure
from ufuse.frame_hook.trace.followed import is_followed
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, Number, Symbol
from ufuse.graph import ops, size
from ufuse.graph.node import Location
from ufuse.graph.ops import Op
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.sample import dtype_words

NO_VALUE = getattr(np, "_NoValue", None)
# Arguments for which None is as good as nothing; of others NumPy makes a number or a truth value.
MAY_BE_NONE = frozenset("axis axes dtype out order device a_min a_max min max initial".split())


def bound(
    names: str, arguments: Positional, keywords: Given, what: str, least: int = 1
) -> dict[str, Symbol]:
    """Arguments by name; those that are absent, NumPy's "no value", or None where that means nothing, are left out.

    Raises:
        GraphBreak: there is one that the rule does not know, one is given twice, or one of the first `least` is not.

    """
    known = names.split()
    if len(arguments) > len(known) or not set(keywords) <= set(known):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    if not set(keywords).isdisjoint(known[: len(arguments)]):
        raise GraphBreak("eager-raises", f"TypeError: {what} with an argument twice")
    both = {**dict(zip(known, arguments, strict=False)), **keywords}
    given = {name: symbol for name, symbol in both.items() if not _is_left_out(name, symbol)}
    if not given.keys() >= set(known[:least]):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    return given


def _is_left_out(name: str, symbol: Symbol) -> bool:
    if not isinstance(symbol, Constant):
        return False
    if symbol.value is None and name not in MAY_BE_NONE:
        raise GraphBreak("numpy-call", f"a call with {name}=None")
    return symbol.value is None or symbol.value is NO_VALUE


def only(given: Mapping[str, Symbol], names: str, what: str) -> None:
    """Refuse what the rule does not follow."""
    rest = set(given) - set(names.split())
    if rest:
        raise GraphBreak("numpy-call", f"{what} with {', '.join(sorted(rest))}=")


def looked(interpreter: Interpreter, given: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """The arguments, read."""
    read = {name: interpreter.trace.look(symbol) for name, symbol in given.items()}
    return {name: symbol for name, symbol in read.items() if not _is_left_out(name, symbol)}


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
    interpreter: Interpreter, arguments: Positional, keywords: Given
) -> Symbol:
    values = [arrays.plain(interpreter.trace, a) for a in (*arguments, *keywords.values())]
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
    given = looked(interpreter, given)
    only(given, "a array axis dtype keepdims out where", what)
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
    if op.name in ("reduce_maximum", "reduce_minimum"):
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
        of_method = names if dtype is None else names.replace("out", "dtype out")
        METHODS[method] = _reduction_rule(op, of_method, method, result, method=True)
        for function in functions:
            BUILTINS[function] = _reduction_rule(op, names, method, result, method=False)


STEPS = {"sum": "reduce", "prod": "product"}  # those of `warned.SAMPLES` that may warn


def _reduction_rule(op: Op, names: str, what: str, dtype: np.dtype | None, *, method: bool) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        given = bound(names, arguments, keywords, f"numpy.{what}")
        if dtype is not None:
            only(given, "a axis out keepdims where", f"numpy.{what}")
        array = interpreter.trace.look(given.pop("a"))
        if isinstance(array, Number | Constant) and not given and dtype is None and what != "prod":
            return _reduced_number(interpreter, array, what)
        array = array_argument(interpreter, array, f"numpy.{what}")
        place = place_of(what, STEPS[what], method=method) if what in STEPS else None
        with interpreter.trace.graph.warned_at(place):
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
    """`total / count`; an array's own memory is divided, so that it goes on lying as the reduction made it."""
    trace = interpreter.trace
    number = arrays.integer(trace, count)
    if isinstance(total, Array):
        return arrays.store_result(trace, np.true_divide, (total, number), total)
    return scalar(trace, "truediv", total, number)


def _statistic(name: str, *, method: bool) -> Rule:
    def place(what: str) -> Location | None:
        return place_of(name, what, method=method)

    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        names = "a axis dtype out keepdims" if name == "mean" else "a axis dtype out ddof keepdims"
        trace = interpreter.trace
        given = looked(interpreter, bound(names, arguments, keywords, f"numpy.{name}"))
        array = trace.look(given.pop("a"))
        if not isinstance(array, Array):
            raise GraphBreak("numpy-call", f"numpy.{name} of {described(array)}")
        axes = axes_argument(interpreter, given.get("axis"), array.type.ndim)
        count = _count(interpreter, array, axes)
        ddof = given.pop("ddof", Constant(0))
        least = arrays.plain(trace, ddof) if name != "mean" else 0
        if type(least) is not int or trace.sizes.decide("le", count, max(least, 0)):
            raise GraphBreak("eager-raises", "RuntimeWarning: Mean of empty slice")
        if array.type.dtype != np.float64 or set(given) - {"axis", "keepdims"}:
            return arrays.call_whole(
                trace, f"numpy.{name}", arguments, dict(keywords), may_raise=True
            )
        if name == "mean":
            with trace.graph.warned_at(place("reduce")):
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
    with trace.graph.warned_at(place("reduce")):
        total = reduction(interpreter, ops.OPS["reduce_add"], array, kept, what="numpy.var")
        mean = _divided(interpreter, total, count)
    with trace.graph.warned_at(place("subtract")):
        distance = arrays.elementwise(trace, np.subtract, (array, mean))
    with trace.graph.warned_at(place("multiply")):
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

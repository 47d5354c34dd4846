"""Functions of NumPy's that are Python code over whole arrays, as operations of the graph for plain arguments.

They do what that code does, in its order, and warn at its lines; for other arguments the graph calls them whole.
"""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.arrays.missing import refuse_any
from ufuse.frame_hook.arrays.reductions import bound
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.arrays.warned import line_of
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Rule, method, rule_for
from ufuse.frame_hook.trace.symbols import Array, Constant, List, Number, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.types import ArrayType, Span, c_order

NONE = Constant(None)
FLOAT = np.dtype(float)
BOOL = np.dtype(bool)
EXACT = 2**53  # whole numbers up to this are floats
MOST_DIGITS = 22  # up to which NumPy's powers of ten are exact
LARGEST = 1e300  # of tolerances, with which no sum overflows


class _OtherError(Exception):
    """The arguments are others than those that are split up into operations."""


def _composed(function: Any) -> Callable[[Rule], Rule]:
    """Register a rule that is given arguments by name; where it raises `_OtherError` the function is called whole."""
    name, signature = f"{function.__module__}.{function.__name__}", inspect.signature(function)

    def register(rule: Rule) -> Rule:
        @rule_for(function)
        def of_any(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
            given = bound(interpreter, signature, arguments, keywords, name)
            try:
                return rule(interpreter, **given)
            except _OtherError:
                return arrays.call_whole(
                    interpreter.trace, name, arguments, dict(keywords), may_raise=True
                )

        return rule

    return register


def _floats(symbol: Symbol | None) -> Array:
    """An array of float64 with axes."""
    if not isinstance(symbol, Array) or symbol.type.dtype != FLOAT or not symbol.type.ndim:
        raise _OtherError
    return symbol


def _known(symbol: Symbol | None, default: Any, *kinds: type) -> Any:
    """A value that is known, of one of these types."""
    if symbol is None:
        return default
    if not isinstance(symbol, Constant) or type(symbol.value) not in kinds:
        raise _OtherError
    return symbol.value


# Comparisons -----------------------------------------------------------------------------------------------------


def _is_close(interpreter: Interpreter, given: dict[str, Symbol]) -> Array:
    """Which elements are about equal.

    NumPy ignores what is invalid in the distance of infinite numbers: 0 stands for these, and none of them is close.
    """
    trace = interpreter.trace
    x = _floats(given.get("a"))
    y = given.get("b")
    y = y if isinstance(y, Constant) and type(y.value) is float else _floats(y)
    tolerances = [
        _known(given.get(name), default, float, int)
        for name, default in (("rtol", 1e-5), ("atol", 1e-8))
    ]
    both_nan = _known(given.get("equal_nan"), False, bool)
    relative, absolute = map(float, tolerances)
    if not (0 <= relative <= 1 and 0 <= absolute <= LARGEST):
        raise _OtherError

    def of(ufunc: np.ufunc, *operands: Symbol) -> Symbol:
        return arrays.elementwise(trace, ufunc, operands)

    finite = of(np.logical_and, of(np.isfinite, x), of(np.isfinite, y))
    zero = Constant(0.0)
    left, right = (interpreter.call(Constant(np.where), (finite, one, zero)) for one in (x, y))
    with trace.graph.warned_at(line_of("isclose", "subtract")):
        distance = of(np.absolute, of(np.subtract, left, right))
    with trace.graph.warned_at(line_of("isclose", "multiply")):
        most = of(np.multiply, Constant(relative), of(np.absolute, right))
    near = of(np.less_equal, distance, of(np.add, Constant(absolute), most))
    found = of(np.bitwise_or, of(np.bitwise_and, near, finite), of(np.equal, x, y))
    if both_nan:
        found = of(np.bitwise_or, found, of(np.bitwise_and, of(np.isnan, x), of(np.isnan, y)))
    assert isinstance(found, Array)
    return found


@_composed(np.isclose)
def _isclose(interpreter: Interpreter, **given: Symbol) -> Symbol:
    found = _is_close(interpreter, given)
    whole = tuple(Span(0, length) for length in found.type.shape)
    return interpreter.trace.graph.view(found, ops.INDEX, {"index": whole})


@_composed(np.allclose)
def _allclose(interpreter: Interpreter, **given: Symbol) -> Symbol:
    every = interpreter.call(Constant(np.all), (_is_close(interpreter, given),))
    return scalar(interpreter.trace, "bool", every)


# Choices ---------------------------------------------------------------------------------------------------------


@_composed(np.select)
def _select(
    interpreter: Interpreter,
    /,
    condlist: Symbol,
    choicelist: Symbol,
    default: Symbol | None = None,
) -> Symbol:
    """The first choice whose condition holds: of arrays of one shape in C's order, numbers of Python among them."""
    trace = interpreter.trace
    given = [trace.look(one) for one in (condlist, choicelist)]
    if not all(isinstance(one, List | Tuple) for one in given):
        raise _OtherError
    conditions, choices = ([trace.look(each) for each in one.items] for one in given)  # type: ignore[union-attr]
    choices.append(Constant(0) if default is None else trace.look(default))
    if not conditions or len(choices) != len(conditions) + 1:
        raise _OtherError
    first = conditions[0]
    arrays_in = [one for one in (*conditions, *choices) if isinstance(one, Array)]
    if not isinstance(first, Array) or not all(_is_like(trace, one, first) for one in arrays_in):
        raise _OtherError
    if any(not isinstance(one, Array) or one.type.dtype != BOOL for one in conditions):
        raise _OtherError
    numbers = [_as_float(one) for one in choices]
    found = numbers.pop()
    if not any(isinstance(one, Array) for one in choices):
        raise _OtherError
    for condition, one in zip(conditions[::-1], numbers[::-1], strict=True):
        found = interpreter.call(Constant(np.where), (condition, one, found))
    return found


def _is_like(trace: Trace, one: Array, other: Array) -> bool:
    """Whether an array lies in C's order and has the shape of another one with axes."""
    shape = other.type.shape
    is_plain = one.type.order == c_order(len(shape)) and one.type.ndim == len(shape) > 0
    return is_plain and all(map(trace.sizes.equal, one.type.shape, shape))


def _as_float(choice: Symbol) -> Symbol:
    """An array of float64; or a number that stands for one among these."""
    if isinstance(choice, Array):
        return _floats(choice)
    number = _known(choice, None, int, float)
    if type(number) is int and abs(number) > EXACT:
        raise _OtherError
    return Constant(float(number))


# Missing values, means -------------------------------------------------------------------------------------------


@_composed(np.nan_to_num)
def _nan_to_num(
    interpreter: Interpreter, /, x: Symbol, copy: Symbol | None = None, **limits: Symbol
) -> Symbol:
    """A copy with numbers in the place of NaN and of infinite ones."""
    trace = interpreter.trace
    if not isinstance(x, Array) or x.type.dtype.char not in "fd" or not x.type.ndim:
        raise _OtherError
    kind: Any = x.type.dtype.type
    numbers = [
        _known(limits.get(name), default, float, int)
        for name, default in (
            ("nan", 0.0),
            ("posinf", np.finfo(kind).max.item()),
            ("neginf", np.finfo(kind).min.item()),
        )
    ]
    if not _known(copy, True, bool) or any(abs(n) > float(np.finfo(kind).max) for n in numbers):
        raise _OtherError
    made = interpreter.call(Constant(np.array), (x,))
    assert isinstance(made, Array)
    places = [
        arrays.elementwise(trace, np.isnan, (made,)),
        arrays.elementwise(trace, np.equal, (made, Constant(math.inf))),
        arrays.elementwise(trace, np.equal, (made, Constant(-math.inf))),
    ]
    for place, number in zip(places, numbers, strict=True):
        assert isinstance(place, Array)
        indexing.store_chosen(trace, made, place, Constant(kind(number)))
    return made


@_composed(np.average)
def _average(
    interpreter: Interpreter, /, a: Symbol, weights: Symbol | None = None, **given: Symbol
) -> Symbol:
    """A mean with weights of the array's own shape, whose sum the graph checks; NumPy's own code without weights."""
    trace = interpreter.trace
    if weights is None:
        implementation = Constant(np.average._implementation)  # type: ignore[attr-defined]
        return interpreter.call(implementation, (_floats(a),), given)
    values, weigh = _floats(a), _floats(weights)
    is_alike = values.type.ndim == weigh.type.ndim and all(
        map(trace.sizes.equal, values.type.shape, weigh.type.shape)
    )
    if not is_alike or set(given) - {"axis", "keepdims"} or trace.graph.in_side:
        raise _OtherError
    if trace.graph.first_write is not None:
        raise _OtherError
    for name, kinds in (("axis", (int,)), ("keepdims", (bool,))):
        _known(given.get(name), None, *kinds)
    total = interpreter.call(interpreter.attribute(weigh, "sum"), (), given)
    refuse_any(interpreter, arrays.elementwise(trace, np.equal, (total, Constant(0.0))))
    with trace.graph.warned_at(line_of("average", "multiply")):
        products = arrays.elementwise(trace, np.multiply, (values, weigh))
    summed = interpreter.call(interpreter.attribute(products, "sum"), (), given)
    with trace.graph.warned_at(line_of("average", "divide")):
        return arrays.elementwise(trace, np.true_divide, (summed, total))


# Moved elements --------------------------------------------------------------------------------------------------


@_composed(np.roll)
def _roll(
    interpreter: Interpreter, /, a: Symbol, shift: Symbol, axis: Symbol | None = None
) -> Symbol:
    """A call that kernels can do; of a vector without an axis a view of its result, as NumPy's own code gives it."""
    trace = interpreter.trace
    if not isinstance(a, Array) or not a.type.ndim:
        raise _OtherError
    if axis is not None and axis != NONE:
        return arrays.call_whole(trace, "numpy.roll", (a, shift, axis), may_raise=True)
    if a.type.ndim > 1 or not isinstance(shift, Constant) or type(shift.value) is not int:
        raise _OtherError
    made = arrays.call_whole(trace, "numpy.roll", (a, shift, Constant(0)))
    assert isinstance(made, Array)
    return trace.graph.view(made, ops.RESHAPE, {"shape": made.type.shape})


def _inlined(function: Any, first: str) -> None:
    """Register a rule by which NumPy's own code is traced for float64; the function is called whole for others."""
    implementation = Constant(function._implementation)

    @_composed(function)
    def rule(interpreter: Interpreter, **given: Symbol) -> Symbol:
        others = [one for name, one in given.items() if name not in (first, "y")]
        _floats(given[first])
        if "y" in given:
            _floats(given["y"])
        for one in others:
            _known(one, None, int, bool)
        return interpreter.call(implementation, (), given)


# Rounding --------------------------------------------------------------------------------------------------------


def _rounded(trace: Trace, a: Symbol, decimals: Symbol | None, out: Symbol | None = None) -> Symbol:
    """Floats times a power of ten, to the nearest whole number, and back, in three steps."""
    digits = _known(None if decimals is None else trace.look(decimals), 0, int)
    if (
        not isinstance(a, Array)
        or a.type.dtype.char not in "fd"
        or not a.type.ndim
        or not _is_made_alike(a.type)
        or abs(digits) > MOST_DIGITS
        or (out is not None and trace.look(out) != NONE)
    ):
        raise _OtherError
    if digits == 0:
        return arrays.elementwise(trace, np.rint, (a,))
    there, back = (np.multiply, np.divide) if digits > 0 else (np.divide, np.multiply)
    power = Constant(float(10 ** abs(digits)))
    scaled = arrays.elementwise(trace, there, (a, power))
    return arrays.elementwise(trace, back, (arrays.elementwise(trace, np.rint, (scaled,)), power))


def _is_made_alike(type_: ArrayType) -> bool:
    """Whether what is made in C's order, or in that of Fortran where an array is contiguous so, has its layout."""
    in_c = c_order(type_.ndim)
    return type_.order == in_c or (type_.order == in_c[::-1] and type_.contiguous)


def _rounds(function: Any) -> None:
    """Register the rule of one of NumPy's two names."""

    @_composed(function)
    def rule(
        interpreter: Interpreter,
        /,
        a: Symbol,
        decimals: Symbol | None = None,
        out: Symbol | None = None,
    ) -> Symbol:
        with interpreter.trace.graph.warned_at(line_of(function.__name__, "multiply")):
            return _rounded(interpreter.trace, a, decimals, out)


@method("round")
def _round_method(
    interpreter: Interpreter, a: Symbol, /, *given: Symbol, **named: Symbol
) -> Symbol:
    trace = interpreter.trace
    array = trace.look(a)
    decimals = given[0] if given else named.get("decimals")
    if len(given) + len(named) <= 1 and (decimals is not None or not named):
        with contextlib.suppress(_OtherError):
            return _rounded(trace, array, decimals)
    owner = "generic" if isinstance(array, Number) else "ndarray"
    name = f"numpy.{owner}.round"
    return arrays.call_whole(trace, name, (array, *given), named, may_raise=True)


# Norms and moments -----------------------------------------------------------------------------------------------


@_composed(np.linalg.norm)
def _norm(
    interpreter: Interpreter,
    /,
    x: Symbol,
    ord: Symbol | None = None,  # noqa: A002 (NumPy's name)
    axis: Symbol | None = None,
    keepdims: Symbol | None = None,
) -> Symbol:
    """The norm of all floats of an array, or of the vectors along an axis."""
    trace = interpreter.trace
    if not isinstance(x, Array) or x.type.dtype.char not in "fd":
        raise _OtherError
    if axis is None and ord is None and keepdims is None:
        # it cannot fail, so it may stand behind a write
        return arrays.call_whole(trace, "numpy.linalg.norm", (_floats(x),), {})
    place = _known(axis, None, int)
    if place is None or not -x.type.ndim <= place < x.type.ndim:
        raise _OtherError
    if ord is not None and ord not in (NONE, Constant(2)):
        raise _OtherError
    given = {"axis": Constant(place), "keepdims": Constant(_known(keepdims, False, bool))}
    with trace.graph.warned_at(line_of("norm", "multiply")):
        squares = arrays.elementwise(trace, np.multiply, (x, x))
    with trace.graph.warned_at(line_of("norm", "reduce")):
        reduce = interpreter.attribute(Constant(np.add), "reduce")
        total = interpreter.call(reduce, (squares,), given)
    return arrays.elementwise(trace, np.sqrt, (total,))


_rounds(np.round)
_rounds(np.around)
_inlined(np.cov, "m")
_inlined(np.corrcoef, "x")

"""Rules for NumPy functions that choose among values and bound them, and for windows."""

from __future__ import annotations

import inspect

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.arrays.reductions import NO_VALUE, array_argument
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Rule, method, rule_for
from ufuse.frame_hook.objects.values import as_size, described, is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, Number, Symbol
from ufuse.graph import ops
from ufuse.graph.types import ArrayType

NONE = Constant(None)

# Choice, bounds --------------------------------------------------------------------------------------------------


@rule_for(np.where)
def _where(
    interpreter: Interpreter, condition: Symbol, x: Symbol | None = None, y: Symbol | None = None, /
) -> Symbol:
    if x is None or y is None:
        if x is not None:
            raise GraphBreak(
                "eager-raises", "ValueError: either both or neither of x and y should be given"
            )
        array = array_argument(interpreter, condition, "numpy.where")
        return arrays.call_whole(interpreter.trace, "numpy.nonzero", (array,), may_raise=True)
    nodes = tuple(arrays.node_of(interpreter.trace, one) for one in (condition, x, y))
    if not any(isinstance(n.type, ArrayType) and not n.type.scalar for n in nodes):
        raise GraphBreak("numpy-call", "numpy.where of numbers")
    return interpreter.trace.graph.fresh(interpreter.trace.graph.node(ops.WHERE, nodes))


CLIP_TAKES_MIN = "min" in inspect.signature(np.clip).parameters  # from NumPy 2.1 on


@rule_for(np.clip)
def _clip(
    interpreter: Interpreter,
    /,
    a: Symbol,
    a_min: Symbol | None = None,
    a_max: Symbol | None = None,
    out: Symbol | None = None,
    *,
    min: Symbol | None = None,  # noqa: A002  NumPy's name
    max: Symbol | None = None,  # noqa: A002  the same
) -> Symbol:
    """`np.clip(a, a_min, a_max)`, where both are given, and `np.clip(a, min=, max=)`."""
    a_min, a_max, min, max = (  # noqa: A001  NumPy's names
        _unless_no_value(interpreter, one) for one in (a_min, a_max, min, max)
    )
    by_name = min is not None or max is not None
    if by_name and not CLIP_TAKES_MIN:
        raise GraphBreak("numpy-call", "numpy.clip with min= or max=")
    if (a_min is None) != (a_max is None) or (by_name and a_min is not None):
        raise GraphBreak("eager-raises", "numpy.clip with these bounds")
    if a_min is None:
        return _clip_method(interpreter, a, min, max, out)
    return _clip_method(interpreter, a, a_min, a_max, out)


@method("clip")
def _clip_method(
    interpreter: Interpreter,
    a: Symbol,
    /,
    min: Symbol | None = None,  # noqa: A002  NumPy's name
    max: Symbol | None = None,  # noqa: A002  the same
    out: Symbol | None = None,
) -> Symbol:
    array, target = interpreter.trace.look(a), _limit(interpreter, out)
    kind = array.node.type if isinstance(array, Number) else None
    if target is not None or not isinstance(kind, ArrayType):  # not one of NumPy's numbers
        array = array_argument(interpreter, array, "numpy.clip")
    limits = [_limit(interpreter, min), _limit(interpreter, max)]
    ufunc = np.minimum if limits[0] is None else np.maximum if limits[1] is None else ops.CLIP
    operands = (array, *[one for one in limits if one is not None])
    if len(operands) == 1:
        raise GraphBreak("numpy-call", "numpy.clip without bounds")
    if target is None:
        return arrays.elementwise(interpreter.trace, ufunc, operands)
    if not isinstance(target, Array):
        raise GraphBreak("numpy-call", "numpy.clip with this out=")
    return arrays.store_result(interpreter.trace, ufunc, operands, target)


def _unless_no_value(interpreter: Interpreter, symbol: Symbol | None) -> Symbol | None:
    """An argument of `numpy.clip`; None where it is not given, or as NumPy's "no value", which is the same."""
    symbol = None if symbol is None else interpreter.trace.look(symbol)
    is_absent = isinstance(symbol, Constant) and symbol.value is NO_VALUE
    return None if is_absent else symbol


def _limit(interpreter: Interpreter, symbol: Symbol | None) -> Symbol | None:
    """A limit of `clip`, or its output, read; None where there is none."""
    symbol = None if symbol is None else interpreter.trace.look(symbol)
    return None if symbol is not None and is_none(symbol) else symbol


@method("fill")
def _fill(interpreter: Interpreter, a: Symbol, value: Symbol, /) -> Symbol:
    array = array_argument(interpreter, a, "fill")
    number = interpreter.trace.look(value)
    if not arrays.is_number(number):
        raise GraphBreak("numpy-call", "fill with an array")
    indexing.store_into(interpreter.trace, array, number)
    return NONE


# Windows ---------------------------------------------------------------------------------------------------------


def _window(name: str) -> Rule:
    """The rule of a function of a whole number that is written in Python, and branches on it as an array."""

    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        trace = interpreter.trace
        points = arguments[0] if arguments else keywords.get("M", NONE)
        if as_size(trace.look(points)) is None:
            raise GraphBreak("numpy-call", f"{name} of {described(points)}")
        return arrays.call_whole(trace, name, arguments, keywords, may_raise=True)

    return rule


for _function in (np.bartlett, np.blackman, np.hamming, np.hanning, np.kaiser):
    rule_for(_function)(_window(f"numpy.{_function.__name__}"))

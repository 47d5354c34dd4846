"""Rules of statistics with missing values: the operations that NumPy's Python code does, in the graph.

They are those of `numpy/lib/_nanfunctions_impl.py`. Where it would warn (a slice without values) the graph checks that
it is not so. It ignores flags of its divisions, which then raise none but underflow: so nothing visible may have been
written, and plain Python can take over at any flag.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.arrays.reductions import bound, reduction
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.arrays.warned import line_of
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.trace.symbols import Array, Constant, Symbol
from ufuse.graph import ops

ZERO = Constant(0)
Named = dict[str, Symbol]
Statistic = Callable[[Interpreter, Array, Named], Symbol]


def _of_parts(function: Any, statistic: Statistic, names: str) -> None:
    """Register the rule of a function: its operations for plain arguments of these names, else a call of it."""
    name, signature = f"numpy.{function.__name__}", inspect.signature(function)

    @rule_for(function)
    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        trace = interpreter.trace
        given = bound(interpreter, signature, arguments, keywords, name)
        array = given.pop("a")
        is_plain = (
            isinstance(array, Array)
            and array.type.dtype == np.float64
            and array.type.ndim > 0
            and not set(given) - set(names.split())
            and trace.graph.first_write is None
            and not trace.graph.in_side
        )
        if not is_plain or not _is_known(interpreter, given):
            return arrays.call_whole(trace, name, arguments, dict(keywords), may_raise=True)
        assert isinstance(array, Array)
        return statistic(interpreter, array, given)


def _is_known(interpreter: Interpreter, given: Named) -> bool:
    """Whether axes, and what else is given, are whole numbers, tuples of them or truth values that are known."""
    for name, symbol in given.items():
        value = arrays.plain(interpreter.trace, symbol)
        kinds = {"keepdims": (bool,), "ddof": (int,), "axis": (int, tuple)}[name]
        if type(value) not in kinds:
            return False
    return True


def _without_gaps(interpreter: Interpreter, array: Array) -> tuple[Array, Array, Array]:
    """A copy with 0 in the place of missing values, where these are, and where the others are."""
    trace = interpreter.trace
    missing = arrays.elementwise(trace, np.isnan, (array,))
    filled = interpreter.call(Constant(np.array), (array,))
    assert isinstance(missing, Array)
    assert isinstance(filled, Array)
    indexing.store_chosen(trace, filled, missing, ZERO)
    present = arrays.elementwise(trace, np.invert, (missing,))
    assert isinstance(present, Array)
    return filled, missing, present


def _sum(interpreter: Interpreter, array: Array, given: Named) -> Symbol:
    return interpreter.call(Constant(np.sum), (array,), given)


def _count(interpreter: Interpreter, present: Array, given: Named) -> Symbol:
    return _sum(interpreter, present, {**given, "dtype": Constant(np.intp)})


def refuse_any(interpreter: Interpreter, bad: Symbol) -> None:
    """Have the graph check that nothing is true of these."""
    trace = interpreter.trace
    found = interpreter.call(Constant(np.any), (bad,)) if isinstance(bad, Array) else bad
    node = arrays.node_of(trace, found)
    trace.graph.node(ops.CHECK, (node,), {"expected": False}, may_raise=True)


def _divided(interpreter: Interpreter, total: Symbol, count: Symbol) -> Symbol:
    if isinstance(total, Array):
        return arrays.store_result(interpreter.trace, np.divide, (total, count), total)
    return scalar(interpreter.trace, "truediv", total, count)


def _mean(interpreter: Interpreter, array: Array, given: Named) -> Symbol:
    filled, _, present = _without_gaps(interpreter, array)
    count = _count(interpreter, present, given)
    total = _sum(interpreter, filled, given)
    refuse_any(interpreter, arrays.elementwise(interpreter.trace, np.equal, (count, ZERO)))
    return _divided(interpreter, total, count)


def _variance(interpreter: Interpreter, array: Array, given: Named) -> Symbol:
    trace, ddof = interpreter.trace, given.get("ddof", ZERO)
    given = {name: one for name, one in given.items() if name != "ddof"}
    kept: Named = {**given, "keepdims": Constant(value=True)}
    filled, missing, present = _without_gaps(interpreter, array)
    total, count = _sum(interpreter, filled, kept), _count(interpreter, present, kept)
    freedom = arrays.elementwise(trace, np.subtract, (_count(interpreter, present, given), ddof))
    refuse_any(interpreter, arrays.elementwise(trace, np.less_equal, (freedom, ZERO)))
    refuse_any(interpreter, arrays.elementwise(trace, np.equal, (count, ZERO)))
    mean = _divided(interpreter, total, count)
    with trace.graph.warned_at(line_of("nanvar", "subtract")):
        arrays.store_result(trace, np.subtract, (filled, mean), filled)
    indexing.store_chosen(trace, filled, missing, ZERO)
    with trace.graph.warned_at(line_of("nanvar", "multiply")):
        arrays.store_result(trace, np.multiply, (filled, filled), filled)
    return _divided(interpreter, _sum(interpreter, filled, given), freedom)


def _deviation(interpreter: Interpreter, array: Array, given: Named) -> Symbol:
    variance = _variance(interpreter, array, given)
    if isinstance(variance, Array):
        return arrays.store_result(interpreter.trace, np.sqrt, (variance,), variance)
    return arrays.elementwise(interpreter.trace, np.sqrt, (variance,))


def _extreme(name: str) -> Statistic:
    def statistic(interpreter: Interpreter, array: Array, given: Named) -> Symbol:
        what = f"numpy.{name}.reduce"
        found = reduction(interpreter, ops.OPS[f"reduce_{name}"], array, given, what=what)
        refuse_any(interpreter, arrays.elementwise(interpreter.trace, np.isnan, (found,)))
        return found

    return statistic


for _function, _statistic, _names in (
    (np.nanmean, _mean, "axis keepdims"),
    (np.nanvar, _variance, "axis keepdims ddof"),
    (np.nanstd, _deviation, "axis keepdims ddof"),
    (np.nanmax, _extreme("fmax"), "axis keepdims"),
    (np.nanmin, _extreme("fmin"), "axis keepdims"),
):
    _of_parts(_function, _statistic, _names)

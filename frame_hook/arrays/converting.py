"""Rules for NumPy functions that convert values to arrays, and arrays to other dtypes and memory orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, flags
from ufuse.frame_hook.arrays.indexing import fits
from ufuse.frame_hook.arrays.reductions import array_argument, dtype_argument
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Rule, method, rule_for
from ufuse.frame_hook.objects.values import described, is_none, pure
from ufuse.frame_hook.trace.followed import NUMERIC, is_shared
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Instance,
    Integer,
    List,
    Number,
    Symbol,
    Tuple,
)
from ufuse.graph import ops
from ufuse.graph.types import ArrayType, NumberType, c_order
from ufuse.graph.typing.shapes import is_c_like

MOST_AXES = 32  # that are asked for
MOST_NUMBERS = 32  # of a list that becomes an array, each of which is an input of its own

# Conversion ------------------------------------------------------------------------------------------------------


@rule_for(np.asarray)
def _asarray(
    interpreter: Interpreter,
    /,
    a: Symbol,
    dtype: Symbol | None = None,
    order: Symbol | None = None,
    *,
    device: Symbol | None = None,
    copy: Symbol | None = None,
    like: Symbol | None = None,
) -> Symbol:
    _refuse_given(interpreter, "numpy.asarray", device=device, like=like)
    copies = _copy_argument(interpreter, copy, default=None)
    return _converted(interpreter, "numpy.asarray", a, dtype, order, copies)


@rule_for(np.asanyarray)
def _asanyarray(
    interpreter: Interpreter,
    /,
    a: Symbol,
    dtype: Symbol | None = None,
    order: Symbol | None = None,
) -> Symbol:
    return _converted(interpreter, "numpy.asanyarray", a, dtype, order, None)


@rule_for(np.array)
def _array(
    interpreter: Interpreter,
    /,
    object: Symbol,  # noqa: A002  NumPy's name
    dtype: Symbol | None = None,
    *,
    copy: Symbol | None = None,
    order: Symbol | None = None,
    subok: Symbol | None = None,
    ndmin: Symbol | None = None,
    like: Symbol | None = None,
) -> Symbol:
    _refuse_given(interpreter, "numpy.array", like=like)
    if subok is not None:
        interpreter.trace.look(subok)  # none of the arrays here is of a subclass
    copies = _copy_argument(interpreter, copy, default=True)
    least = 0 if ndmin is None else arrays.plain(interpreter.trace, ndmin)
    made = _converted(interpreter, "numpy.array", object, dtype, order, copies)
    if type(least) is not int or not isinstance(made, Array) or least > MOST_AXES:
        raise GraphBreak("numpy-call", "numpy.array with ndmin=")
    shape, trace = made.type.shape, interpreter.trace
    if len(shape) >= least:
        return made
    if not is_c_like(made.type) or trace.sizes.decide("eq", arrays.total(shape), 0):
        raise GraphBreak("layout", "an array with more axes, whose strides NumPy chooses,")
    return trace.graph.view(made, ops.RESHAPE, {"shape": (1,) * (least - len(shape)) + shape})


@rule_for(np.ascontiguousarray)
def _ascontiguousarray(
    interpreter: Interpreter, /, a: Symbol, dtype: Symbol | None = None
) -> Symbol:
    what = "numpy.ascontiguousarray"
    made = _converted(interpreter, what, a, dtype, Constant("C"), None)
    if not isinstance(made, Array) or made.type.ndim == 0:
        raise GraphBreak("numpy-call", f"{what} of a 0-d array")
    return made


@rule_for(np.asfortranarray)
def _asfortranarray(interpreter: Interpreter, /, a: Symbol, dtype: Symbol | None = None) -> Symbol:
    what = "numpy.asfortranarray"
    made = _converted(interpreter, what, a, dtype, Constant("F"), None)
    if not isinstance(made, Array) or made.type.ndim == 0:
        raise GraphBreak("numpy-call", f"{what} of a 0-d array")
    return made


COPY_MODES: dict[Any, bool | None] = {
    np._CopyMode.ALWAYS: True, np._CopyMode.NEVER: False, np._CopyMode.IF_NEEDED: None,
}  # fmt: skip


def _copy_argument(
    interpreter: Interpreter, symbol: Symbol | None, *, default: bool | None
) -> bool | None:
    """Whether NumPy is to copy: always, never, or (None) where it must."""
    if symbol is None:
        return default
    read = interpreter.trace.look(symbol)
    if isinstance(read, Instance) and read.kind is np._CopyMode and read.value is not None:
        return COPY_MODES[read.value]
    value = arrays.plain(interpreter.trace, read)
    if value is None or value is True or value is False:
        return value
    raise GraphBreak("numpy-call", "an array with this copy=")


def _refuse_given(interpreter: Interpreter, what: str, **given: Symbol | None) -> None:
    """Break where an argument that is left to NumPy is anything but None."""
    for name, symbol in given.items():
        if symbol is not None and not is_none(interpreter.trace.look(symbol)):
            raise GraphBreak("numpy-call", f"{what} with {name}=")


def _converted(
    interpreter: Interpreter,
    what: str,
    symbol: Symbol,
    dtype: Symbol | None,
    order: Symbol | None,
    copy: bool | None,
) -> Symbol:
    """What NumPy makes an array of."""
    trace = interpreter.trace
    value = trace.look(symbol)
    named = "K" if order is None else arrays.plain(trace, order)
    named = "K" if named is None else named
    if named not in ("C", "F", "K", "A"):
        raise GraphBreak("numpy-call", f"{what} with these arguments")
    wanted = dtype_argument(interpreter, dtype)
    if isinstance(value, Array):
        return _converted_array(interpreter, what, value, wanted, named, copy)
    if copy is False:
        raise GraphBreak("eager-raises", f"ValueError: {what} cannot avoid a copy")
    _refuse_what_is_no_number(interpreter, what, value)
    keywords: dict[str, Symbol] = {} if wanted is None else {"dtype": Constant(wanted)}
    if named in ("C", "F"):
        keywords["order"] = Constant(named)
    return arrays.call_whole(trace, "numpy.array", (value,), keywords, may_raise=True)


def _converted_array(
    interpreter: Interpreter,
    what: str,
    array: Array,
    wanted: np.dtype | None,
    order: str,
    copy: bool | None,
) -> Symbol:
    """The array itself where its dtype and memory order are the wanted ones, unless it is to be copied; or a copy."""
    kind = array.type
    if wanted is not None and wanted == kind.dtype:
        if wanted is not kind.dtype or not _has_shared_dtypes(interpreter):
            raise GraphBreak("numpy-call", f"{what} with an equal dtype")
        wanted = None
    if wanted is None and not copy:
        if order in ("K", "A") or flags.lies_so(interpreter.trace, array, order, what):
            return array
    if copy is False:
        raise GraphBreak("eager-raises", f"ValueError: {what} cannot avoid a copy")
    if order == "A":
        raise GraphBreak("numpy-call", f"{what} with order='A'")
    if wanted is None and order != "F":
        return _copied(interpreter, array, order)
    if wanted is not None and (order == "K" or (order == "C" and is_c_like(kind))):
        return _cast(interpreter, array, wanted)
    keywords: dict[str, Symbol] = {} if wanted is None else {"dtype": Constant(wanted)}
    keywords["order"] = Constant(order)
    return arrays.call_whole(interpreter.trace, "numpy.array", (array,), keywords)


def _has_shared_dtypes(interpreter: Interpreter) -> bool:
    """Whether all dtypes of the frame's arrays are NumPy's own objects: for an equal other one it gives a view."""
    kinds = [node.type for node, _ in interpreter.trace.graph.inputs]
    return all(is_shared(kind.dtype) for kind in kinds if isinstance(kind, ArrayType))


def _refuse_what_is_no_number(interpreter: Interpreter, what: str, symbol: Symbol) -> None:
    """Break unless a value is a number, or nested lists of numbers and arrays of which few are known only later."""
    unknown = 0
    for one in _leaves(interpreter, symbol, set()):
        match one:
            case Constant(value=bool() | int() | float() | complex() | np.generic() | range()):
                pass
            case Array() | Number() | Integer():
                unknown += 1
            case _:
                raise GraphBreak("numpy-call", f"{what} of {described(one)}")
        if unknown > MOST_NUMBERS:
            raise GraphBreak("numpy-call", f"{what} of many numbers")


def _leaves(interpreter: Interpreter, symbol: Symbol, above: set[int]) -> Iterator[Symbol]:
    """What nested lists and tuples hold, or the value itself where it is neither."""
    symbol = interpreter.trace.look(symbol)
    if not isinstance(symbol, List | Tuple):
        yield symbol
        return
    if id(symbol) in above:
        raise GraphBreak("call", "an object that holds itself")
    for item in symbol.items:
        yield from _leaves(interpreter, item, {*above, id(symbol)})


@method("conj", "conjugate")
def _conjugate(interpreter: Interpreter, a: Symbol, /) -> Symbol:
    symbol = interpreter.trace.look(a)
    kind = arrays.node_of(interpreter.trace, symbol).type
    if isinstance(symbol, Array) and symbol.type.dtype.kind != "c":
        return symbol  # itself, unlike what the ufunc gives
    if not isinstance(kind, ArrayType) or kind.dtype.kind != "c":
        raise GraphBreak("numpy-call", "conjugate of a number")
    return arrays.elementwise(interpreter.trace, np.conjugate, (symbol,))


# Copies ----------------------------------------------------------------------------------------------------------


def _copied(interpreter: Interpreter, array: Array, order: str) -> Symbol:
    if order == "K":
        _refuse_unknown_order(array)
    node = interpreter.trace.graph.node(
        ops.COPY, (interpreter.trace.graph.value(array),), {"order": order}
    )
    return interpreter.trace.graph.fresh(node)


def _copying(default: str) -> Rule:
    def rule(interpreter: Interpreter, /, a: Symbol, order: Symbol | None = None) -> Symbol:
        named = None if order is None else arrays.plain(interpreter.trace, order)
        wanted = default if named is None else named
        array = array_argument(interpreter, a, "copy")
        if wanted == "F":
            keywords: dict[str, Symbol] = {"order": Constant("F")}
            return arrays.call_whole(interpreter.trace, "numpy.array", (array,), keywords)
        if wanted not in ("C", "K"):
            raise GraphBreak("numpy-call", f"a copy with order={wanted!r}")
        return _copied(interpreter, array, wanted)

    return rule


method("copy")(_copying("C"))
rule_for(np.copy)(_copying("K"))


@method("astype")
def _astype(
    interpreter: Interpreter,
    a: Symbol,
    /,
    dtype: Symbol,
    order: Symbol | None = None,
    *,
    copy: Symbol | None = None,
) -> Symbol:
    symbol = interpreter.trace.look(a)
    wanted = dtype_argument(interpreter, dtype)
    node = arrays.node_of(interpreter.trace, symbol)
    assert isinstance(node.type, ArrayType)
    copies = True if copy is None else arrays.plain(interpreter.trace, copy)
    if wanted is None or type(copies) not in (bool, int):
        raise GraphBreak("numpy-call", "astype with these arguments")
    named = None if order is None else arrays.plain(interpreter.trace, order)
    if named in ("C", "F") and copies and isinstance(symbol, Array):
        keywords: dict[str, Symbol] = {"dtype": Constant(wanted), "order": Constant(named)}
        return arrays.call_whole(interpreter.trace, "numpy.array", (symbol,), keywords)
    if named not in (None, "K"):
        raise GraphBreak("numpy-call", f"astype with order={named!r}")
    if not copies and wanted == node.type.dtype:
        return symbol
    return _cast(interpreter, symbol, wanted)


def _refuse_unknown_order(array: Array) -> None:
    """Break where a copy would keep the order of axes of length 1, which is that of their strides."""
    kind = array.type
    if not kind.contiguous and 1 in kind.shape and kind.order != c_order(kind.ndim):
        raise GraphBreak("layout", "a copy of an array with unusual strides")


def _cast(interpreter: Interpreter, symbol: Symbol, dtype: np.dtype) -> Symbol:
    if isinstance(symbol, Array):
        _refuse_unknown_order(symbol)
    node = arrays.node_of(interpreter.trace, symbol)
    return interpreter.trace.graph.fresh(
        interpreter.trace.graph.node(ops.CAST, (node,), {"dtype": dtype})
    )


def _scalar_type(kind: type) -> Rule:
    def rule(interpreter: Interpreter, value: Symbol, /) -> Symbol:
        symbol = interpreter.trace.look(value)
        if isinstance(symbol, Constant):
            return pure(kind, symbol.value)
        if isinstance(symbol, Number):
            known = symbol.node.type  # a Python float is no np.float64
            if isinstance(known, ArrayType) and known.dtype == np.dtype(kind):
                return symbol
            if isinstance(known, NumberType) and known.kind == "float" and kind is np.float64:
                return arrays.elementwise(interpreter.trace, np.positive, (symbol,))
        if isinstance(symbol, Integer) and fits(interpreter.trace, symbol.size, np.dtype(kind)):
            made = arrays.elementwise(interpreter.trace, np.positive, (symbol,))
            return made if kind is np.int64 else _cast(interpreter, made, np.dtype(kind))
        raise GraphBreak("numpy-call", f"numpy.{kind.__name__} of {described(symbol)}")

    return rule


for _kind in {np.dtype(_char).type for _char in NUMERIC}:
    rule_for(_kind)(_scalar_type(_kind))

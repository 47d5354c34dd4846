"""Numbers: conversions, rounding, sums and extremes, and the module math."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import BUILTINS, Rule, rule_for
from ufuse.frame_hook.library.lazy import is_none
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import (
    PURE,
    UNKNOWN,
    as_size,
    described,
    in_any_order,
    key_of,
    known_value,
    number_type,
    pure,
)
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    DeviceArray,
    Dict,
    Instance,
    Integer,
    List,
    Number,
    Range,
    Set,
    Slice,
    Symbol,
    Tuple,
)
from ufuse.graph import ops, size
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.elementary import ELEMENTARY

NONE, ONE = Constant(None), Constant(1)


@rule_for(range)
def _range(
    interpreter: Interpreter,
    start_or_stop: Symbol,
    stop: Symbol | None = None,
    step: Symbol | None = None,
    /,
) -> Symbol:
    given = (start_or_stop, stop, step)
    looked = [interpreter.trace.look(one) for one in given if one is not None]
    if not all(as_size(a) is not None for a in looked):
        raise GraphBreak("call", "range of something other than whole numbers")
    if all(isinstance(a, Constant) for a in looked):
        return pure(range, *[a.value for a in looked if isinstance(a, Constant)])
    if len(looked) == 1:
        looked.insert(0, Constant(0))
    if len(looked) == 2:
        looked.append(Constant(1))
    stride = as_size(looked[2])
    if stride is not None and interpreter.trace.sizes.decide("eq", stride, 0):
        raise raise_error(ValueError, "range() arg 3 must not be zero")
    return Range(looked[0], looked[1], looked[2])


@rule_for(slice)
def _slice(
    _: Interpreter, start_or_stop: Symbol, stop: Symbol | None = None, step: Symbol = NONE, /
) -> Symbol:
    return Slice(NONE, start_or_stop, NONE) if stop is None else Slice(start_or_stop, stop, step)


@rule_for(abs)
def _abs(interpreter: Interpreter, number: Symbol, /) -> Symbol:
    return arithmetic.unary(interpreter, "abs", number)


# Conversions -----------------------------------------------------------------------------------------------------


def _conversion(kind: type) -> Rule:
    special = f"__{kind.__name__}__"

    def convert(interpreter: Interpreter, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        if len(arguments) != 1 or keywords:
            values = [known_value(interpreter, one) for one in arguments]
            named = {name: known_value(interpreter, one) for name, one in keywords.items()}
            return pure(lambda: kind(*values, **named))
        symbol = interpreter.trace.look(arguments[0])
        if kind is bool:
            return arithmetic.as_bool(interpreter, symbol)
        if isinstance(symbol, Constant) and isinstance(symbol.value, PURE):
            return pure(kind, symbol.value)
        if kind is int and isinstance(symbol, Integer):
            return symbol
        if isinstance(symbol, Array) and not symbol.type.ndim:
            symbol = interpreter.call(interpreter.attribute(symbol, "item"))
        if isinstance(symbol, DeviceArray) and not symbol.type.ndim:
            if symbol.type.dtype.kind == "c" and kind is not complex:
                raise GraphBreak("eager-raises", f"a {kind.__name__} of a complex number")
            symbol = devices.read(interpreter.trace, symbol)
            if number_type(symbol) == kind.__name__:
                return symbol
        if kind is int and (quotient := _rounded_by_numpy(interpreter, symbol)) is not None:
            return quotient
        if isinstance(symbol, Number | Integer):
            return scalar(interpreter.trace, kind.__name__, symbol)
        if (
            isinstance(symbol, Instance)
            and classes.static_lookup(symbol.kind, special) is not classes.ABSENT
        ):
            result = interpreter.trace.look(classes.call_special(interpreter, symbol, special))
            if number_type(result) == kind.__name__:
                return result
        raise GraphBreak("call", f"{kind.__name__} of {described(symbol)}")

    return convert


for _kind in (float, int, bool, complex):
    rule_for(_kind)(_conversion(_kind))


@rule_for(divmod)
def _divmod(interpreter: Interpreter, x: Symbol, y: Symbol, /) -> Symbol:
    left, right = interpreter.trace.look(x), interpreter.trace.look(y)
    kinds = {number_type(side) for side in (left, right)}
    if isinstance(left, Constant) and isinstance(right, Constant):
        return pure(divmod, *[known_value(interpreter, side) for side in (left, right)])
    if any(isinstance(side, Array) for side in (left, right)):
        return interpreter.call(Constant(np.divmod), (left, right))
    if not kinds <= {"int", "float", "bool"}:
        raise GraphBreak("call", "divmod of such values")
    signs = ("//", "%")
    parts = [arithmetic.binary(interpreter, sign, left, right, in_place=False) for sign in signs]
    return Tuple(tuple(parts))


@rule_for(pow)
def _pow(interpreter: Interpreter, /, base: Symbol, exp: Symbol, mod: Symbol = NONE) -> Symbol:
    if is_none(interpreter, mod):
        return arithmetic.binary(interpreter, "**", base, exp, in_place=False)
    return pure(pow, *[known_value(interpreter, one) for one in (base, exp, mod)])


@rule_for(round)
def _round(interpreter: Interpreter, /, number: Symbol, ndigits: Symbol = NONE) -> Symbol:
    number = interpreter.trace.look(number)
    given = [] if is_none(interpreter, ndigits) else [known_value(interpreter, ndigits)]
    if isinstance(number, Integer) and not any(n < 0 for n in given):
        return number
    if isinstance(number, Constant | Integer):
        return pure(round, known_value(interpreter, number), *given)
    if isinstance(number, Instance):
        rest = [Constant(one) for one in given]
        return classes.call_special(interpreter, number, "__round__", rest)
    raise GraphBreak("call", f"round of {described(number)}")


@rule_for(hash)
def _hash(interpreter: Interpreter, obj: Symbol, /) -> Symbol:
    symbol = interpreter.trace.look(obj)
    if isinstance(symbol, Instance):
        raise GraphBreak("call", f"hash of a {symbol.kind.__name__}")
    value = key_of(interpreter, symbol)
    if not isinstance(value, (*PURE, tuple, frozenset)):
        raise GraphBreak("call", f"hash of {described(symbol)}")
    if _has_nan(value):
        raise GraphBreak("call", "hash of a NaN, which tells its address,")
    return pure(hash, value)


def _has_nan(value: Any) -> bool:
    """Whether a value is, or contains, a NaN."""
    if isinstance(value, tuple | frozenset):
        return any(map(_has_nan, value))
    return isinstance(value, float | complex | np.inexact) and bool(value != value)  # noqa: PLR0124


# Many at once ----------------------------------------------------------------------------------------------------


@rule_for(any)
def _any(interpreter: Interpreter, iterable: Symbol, /) -> Symbol:
    return Constant(_first_that_is(interpreter, iterable, wanted=True))


@rule_for(all)
def _all(interpreter: Interpreter, iterable: Symbol, /) -> Symbol:
    return Constant(not _first_that_is(interpreter, iterable, wanted=False))


def _first_that_is(interpreter: Interpreter, over: Symbol, *, wanted: bool) -> bool:
    return any(
        arithmetic.truth(interpreter, item) == wanted
        for item in iterate.each_item(interpreter, over)
    )


def _extreme(function: Callable[..., Any], relation: str) -> Rule:
    def choose(
        interpreter: Interpreter,
        first: Symbol,
        /,
        *others: Symbol,
        key: Symbol | None = None,
        default: Symbol | None = None,
    ) -> Symbol:
        if default is not None and others:
            raise GraphBreak("eager-raises", f"TypeError: the arguments of {function.__name__}()")
        over = Tuple((first, *others)) if others else interpreter.trace.look(first)
        if (
            isinstance(over, Set)
            and over.items
            and is_none(interpreter, key)
            and in_any_order(over)
        ):
            return pure(function, over.items)
        asked = None if is_none(interpreter, key) else key
        best = best_key = None
        for item in iterate.each_item(interpreter, over):
            value = item if asked is None else interpreter.call(asked, (item,))
            if best_key is None or arithmetic.truth(
                interpreter, comparisons.compare(interpreter, relation, value, best_key)
            ):
                best, best_key = item, value
        if best is not None:
            return best
        if default is not None:
            return default
        return pure(function, ())  # words the error as this Python does

    return choose


rule_for(max)(_extreme(max, "gt"))
rule_for(min)(_extreme(min, "lt"))

COMPENSATES = VERSION >= (3, 12)  # sum() of floats carries their rounding errors along


@rule_for(sum)
def _sum(interpreter: Interpreter, iterable: Symbol, /, start: Symbol | None = None) -> Symbol:
    look = interpreter.trace.look
    total: Symbol = look(start) if start is not None else Constant(0)
    if isinstance(total, Constant) and isinstance(total.value, str | bytes):
        return pure(sum, (), total.value)  # words the error as this Python does
    over = look(iterable)
    if isinstance(over, Set) and all(type(member) is int for member in over.items):
        over = Tuple(
            tuple(Constant(member) for member in over.items)
        )  # the sum of ints is the same in any order
    terms = [total]
    for item in iterate.each_item(interpreter, over):
        terms.append(look(item))
        total = arithmetic.binary(interpreter, "+", total, item, in_place=False)
    if not COMPENSATES or not _is_compensated(terms):
        return total
    if all(isinstance(term, Constant) for term in terms):
        first, *values = [term.value for term in terms if isinstance(term, Constant)]
        return pure(sum, values, first)
    raise GraphBreak("call", "sum of Python floats")


def _is_compensated(terms: list[Symbol]) -> bool:
    """Whether adding one by one may round otherwise than `sum` does: with more than two floats, or ints behind one."""
    floats = 0
    for term in terms:
        kind = number_type(term) if arrays.is_number(term) else ""
        if kind not in ("int", "bool", "float", "complex"):
            return False
        if kind in ("float", "complex"):
            floats += 1
        elif floats:
            return True
        if floats > 2 or (floats == 2 and kind == "complex"):
            return True
    return False


# math ------------------------------------------------------------------------------------------------------------


def _of_known_values(function: Callable[..., Any]) -> Rule:
    name = f"{function.__module__}.{function.__name__}"

    def rule(interpreter: Interpreter, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        given = [interpreter.trace.look(one) for one in arguments]
        if name in ELEMENTARY and not keywords and any(isinstance(one, Number) for one in given):
            return arrays.call_whole(interpreter.trace, name, given, may_raise=True)
        values = [_value(interpreter, one, function) for one in arguments]
        named = {name: _value(interpreter, one, function) for name, one in keywords.items()}
        return pure(lambda: function(*values, **named))

    return rule


def _value(interpreter: Interpreter, symbol: Symbol, function: Callable[..., Any]) -> Any:
    symbol = interpreter.trace.look(symbol)
    if isinstance(symbol, Number):
        name = f"{function.__module__}.{function.__name__}"
        raise GraphBreak("call", f"{name} of a value known only at run time")
    return known_value(interpreter, symbol)


@rule_for(math.prod)
def _prod(interpreter: Interpreter, iterable: Symbol, /, *, start: Symbol = ONE) -> Symbol:
    total = interpreter.trace.look(start)
    for item in iterate.each_item(interpreter, iterable):
        total = arithmetic.binary(interpreter, "*", total, item, in_place=False)
    return total


def _quotient(interpreter: Interpreter, symbol: Symbol, *, up: bool) -> Symbol | None:
    """What `n / k` or `n / k + m` is when rounded to a whole number, of a size and known numbers; None of all else.

    The quotient of floats is on the same side of a whole number as the exact one, as long as `n` has 52 bits; the sum
    is, where `n` and the others have so few bits that `1 / k` is far more than a sum is wrong by.
    """
    node, trace = symbol.node if isinstance(symbol, Number) else None, interpreter.trace
    more, most = 0, 2**52
    if node is not None and node.op is ops.SCALAR and node.attributes["operator"] in ("add", "sub"):
        added = _whole_number(node.inputs[1])
        if added is None or abs(added) > FEW_TIMES:
            return None
        more, most = added if node.attributes["operator"] == "add" else -added, FEW_TIMES
        node = node.inputs[0]
    if node is None or node.op is not ops.SCALAR or node.attributes["operator"] != "truediv":
        return None
    size_node, divisor = node.inputs[0], _whole_number(node.inputs[1])
    if size_node.op is not ops.SIZE or divisor is None or divisor < 1:
        return None
    value = size_node.attributes["value"]
    if trace.sizes.are_made(value) or (most == FEW_TIMES and divisor > FEW):
        return None
    if not (trace.sizes.decide("ge", value, 0) and trace.sizes.decide("lt", value, most)):
        return None
    rounded = size.add(size.divide("//", value + (divisor - 1) * up, divisor), more)
    if more and not trace.sizes.decide("ge", rounded, 0):
        return None  # `int` rounds it up
    return arrays.integer(trace, rounded)


def _rounded_by_numpy(interpreter: Interpreter, symbol: Symbol) -> Symbol | None:
    """The same of `int`, of a quotient itself and of `np.ceil` and `np.floor` of one."""
    node = symbol.node if isinstance(symbol, Number) else None
    if node is not None and node.op.name in ("ceil", "floor") and isinstance(node.type, ArrayType):
        return _quotient(interpreter, Number(node.inputs[0]), up=node.op.name == "ceil")
    return _quotient(interpreter, symbol, up=False)


FEW, FEW_TIMES = 2**10, 2**30


def _whole_number(node: Node) -> int | None:
    """The whole number that a constant is, as an int or a float."""
    value = node.attributes["value"] if node.op is ops.CONST else None
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _rounded(function: Callable[..., Any]) -> Rule:
    of_known_value = _of_known_values(function)

    def rule(interpreter: Interpreter, x: Symbol, /) -> Symbol:
        given = interpreter.trace.look(x)
        if isinstance(given, Integer):
            return given  # CPython gives this very object
        quotient = _quotient(interpreter, given, up=function is math.ceil)
        if quotient is not None:
            return quotient
        return of_known_value(interpreter, given)

    return rule


for _function in (math.floor, math.ceil, math.trunc):
    rule_for(_function)(_rounded(_function))
for _function in (*vars(math).values(), bin, oct, hex):
    if callable(_function) and _function not in BUILTINS:
        rule_for(_function)(_of_known_values(_function))


def _of_constants(function: Callable[..., Any]) -> Rule:
    """For NumPy's functions of types: classes are known values here."""

    def rule(interpreter: Interpreter, *arguments: Symbol) -> Symbol:
        values = [interpreter.trace.look(one) for one in arguments]
        if not all(isinstance(one, Constant) and _is_of_numpy(one.value) for one in values):
            text = f"{function.__module__}.{function.__name__} of a value known only at run time"
            raise GraphBreak("call", text)
        return pure(function, *[v.value for v in values if isinstance(v, Constant)])

    return rule


def _is_of_numpy(value: Any) -> bool:
    if isinstance(value, type):
        return value.__module__ in ("builtins", "numpy")
    return isinstance(value, (*PURE, np.dtype))


for _asking in (np.dtype, np.promote_types, np.issubdtype):
    rule_for(_asking)(_of_constants(_asking))


def _of_types(function: Callable[..., Any]) -> Rule:
    """For NumPy's functions that take values and look at their types alone."""

    def rule(interpreter: Interpreter, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        values = [_type_in_place_of(interpreter.trace.look(one)) for one in arguments]
        if not all(map(_is_of_numpy, values)):
            text = f"{function.__module__}.{function.__name__} of a value known only at run time"
            raise GraphBreak("call", text)
        named = {name: known_value(interpreter, one) for name, one in keywords.items()}
        return pure(lambda: function(*values, **named))

    return rule


def _type_in_place_of(symbol: Symbol) -> Any:
    """A dtype with the same effect on promotion, for CuPy too, or a Python number, which is weak."""
    match symbol:
        case Constant(value=value):
            return value
        case Array(type=kind) | DeviceArray(type=kind):
            return kind.dtype
        case Number(node=node) if isinstance(node.type, ArrayType):
            return node.type.dtype
        case Number() | Integer():
            return WEAK[number_type(symbol)]
    return UNKNOWN


WEAK = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}
rule_for(np.result_type)(_of_types(np.result_type))
rule_for(np.can_cast)(_of_types(np.can_cast))


@rule_for(np.isscalar)
def _isscalar(interpreter: Interpreter, /, element: Symbol) -> Symbol:
    symbol = interpreter.trace.look(element)
    if isinstance(symbol, Array | DeviceArray | List | Tuple | Dict):
        return Constant(value=False)
    if isinstance(symbol, Number | Integer):
        return Constant(value=True)
    return _of_constants(np.isscalar)(interpreter, symbol)

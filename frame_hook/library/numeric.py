"""Numbers: conversions, rounding, sums and extremes, and the module math."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import BUILTINS, Given, Positional, Rule, rule_for
from ufuse.frame_hook.library.lazy import bound, is_none
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.objects.values import (
    PURE,
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
    Constant,
    Instance,
    Integer,
    Number,
    Range,
    Set,
    Slice,
    Symbol,
    Tuple,
)

NONE = Constant(None)


def one_of(arguments: Positional, keywords: Given, name: str) -> Symbol:
    """The argument of a function that takes exactly one."""
    if keywords or len(arguments) != 1:
        raise GraphBreak("eager-raises", f"TypeError: {name}() takes exactly one argument")
    return arguments[0]


@rule_for(len)
def _len(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return arithmetic.length(interpreter, one_of(arguments, keywords, "len"))


@rule_for(range)
def _range(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    looked = [interpreter.trace.look(a) for a in arguments]
    fits = not keywords and 1 <= len(looked) <= 3
    if not fits or not all(as_size(a) is not None for a in looked):
        raise GraphBreak("call", "range of something other than whole numbers")
    if all(isinstance(a, Constant) for a in looked):
        return pure(range, *[a.value for a in looked if isinstance(a, Constant)])
    if len(looked) == 1:
        looked.insert(0, Constant(0))
    if len(looked) == 2:
        looked.append(Constant(1))
    step = as_size(looked[2])
    if step is not None and interpreter.trace.sizes.decide("eq", step, 0):
        raise raise_error(ValueError, "range() arg 3 must not be zero")
    return Range(looked[0], looked[1], looked[2])


@rule_for(slice)
def _slice(_: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or not 1 <= len(arguments) <= 3:
        raise GraphBreak("eager-raises", "TypeError: the arguments of slice()")
    if len(arguments) == 1:
        return Slice(NONE, arguments[0], NONE)
    return Slice(arguments[0], arguments[1], arguments[2] if len(arguments) > 2 else NONE)


@rule_for(abs)
def _abs(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return arithmetic.unary(interpreter, "abs", one_of(arguments, keywords, "abs"))


# Conversions -----------------------------------------------------------------------------------------------------


def _conversion(kind: type) -> Rule:
    special = f"__{kind.__name__}__"

    def convert(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        if len(arguments) != 1 or keywords:
            values = [known_value(interpreter, one) for one in arguments]
            named = {name: known_value(interpreter, one) for name, one in keywords.items()}
            return pure(lambda: kind(*values, **named))
        symbol = interpreter.trace.look(arguments[0])
        if kind is bool:
            return Constant(arithmetic.truth(interpreter, symbol))
        if isinstance(symbol, Constant) and isinstance(symbol.value, PURE):
            return pure(kind, symbol.value)
        if kind is int and isinstance(symbol, Integer):
            return symbol
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
    BUILTINS[_kind] = _conversion(_kind)


@rule_for(divmod)
def _divmod(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: divmod expected 2 arguments")
    left, right = (interpreter.trace.look(argument) for argument in arguments)
    kinds = {number_type(side) for side in (left, right)}
    if isinstance(left, Constant) and isinstance(right, Constant):
        return pure(divmod, *[known_value(interpreter, side) for side in (left, right)])
    if not kinds <= {"int", "float", "bool"}:
        raise GraphBreak("call", "divmod of such values")
    signs = ("//", "%")
    parts = [arithmetic.binary(interpreter, sign, left, right, in_place=False) for sign in signs]
    return Tuple(tuple(parts))


@rule_for(pow)
def _pow(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    base, exponent, modulus = bound(arguments, keywords, "base", "exp", "mod", least=2)
    assert base is not None
    assert exponent is not None
    if is_none(interpreter, modulus):
        return arithmetic.binary(interpreter, "**", base, exponent, in_place=False)
    values = [known_value(interpreter, one) for one in (base, exponent, modulus or NONE)]
    return pure(pow, *values)


@rule_for(round)
def _round(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    number, digits = bound(arguments, keywords, "number", "ndigits", least=1)
    assert number is not None
    number = interpreter.trace.look(number)
    given = [] if is_none(interpreter, digits) else [known_value(interpreter, digits or NONE)]
    if isinstance(number, Integer) and not any(n < 0 for n in given):
        return number
    if isinstance(number, Constant | Integer):
        return pure(round, known_value(interpreter, number), *given)
    if isinstance(number, Instance):
        rest = [Constant(one) for one in given]
        return classes.call_special(interpreter, number, "__round__", rest)
    raise GraphBreak("call", f"round of {described(number)}")


@rule_for(hash)
def _hash(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    symbol = interpreter.trace.look(one_of(arguments, keywords, "hash"))
    if isinstance(symbol, Instance):
        raise GraphBreak("call", f"hash of a {symbol.kind.__name__}")
    value = key_of(interpreter, symbol)
    if not isinstance(value, (*PURE, tuple, frozenset)):
        raise GraphBreak("call", f"hash of {described(symbol)}")
    if _has_nan(value):
        raise GraphBreak("call", "hash of a NaN, which tells its address,")
    return pure(hash, value)


def _has_nan(value: Any) -> bool:
    """Whether a value, or something in it, is not equal to itself."""
    if isinstance(value, tuple | frozenset):
        return any(map(_has_nan, value))
    return isinstance(value, float | complex | np.inexact) and bool(value != value)  # noqa: PLR0124


# Many at once ----------------------------------------------------------------------------------------------------


@rule_for(any)
def _any(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return Constant(_first_that_is(interpreter, one_of(arguments, keywords, "any"), wanted=True))


@rule_for(all)
def _all(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    met = _first_that_is(interpreter, one_of(arguments, keywords, "all"), wanted=False)
    return Constant(not met)


def _first_that_is(interpreter: Interpreter, over: Symbol, *, wanted: bool) -> bool:
    return any(
        arithmetic.truth(interpreter, item) == wanted
        for item in iterate.each_item(interpreter, over)
    )


def _extreme(name: str) -> Rule:
    relation = "gt" if name == "max" else "lt"

    def choose(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        key, default = bound((), keywords, "key", "default")
        if not arguments or (default is not None and len(arguments) > 1):
            raise GraphBreak("eager-raises", f"TypeError: the arguments of {name}()")
        over = (
            Tuple(tuple(arguments)) if len(arguments) > 1 else interpreter.trace.look(arguments[0])
        )
        if (
            isinstance(over, Set)
            and over.items
            and is_none(interpreter, key)
            and in_any_order(over)
        ):
            return pure(max if name == "max" else min, over.items)
        function = None if is_none(interpreter, key) else key
        best = best_key = None
        for item in iterate.each_item(interpreter, over):
            value = item if function is None else interpreter.call(function, (item,))
            if best_key is None or arithmetic.truth(
                interpreter, comparisons.compare(interpreter, relation, value, best_key)
            ):
                best, best_key = item, value
        if best is not None:
            return best
        if default is not None:
            return default
        return pure(max if name == "max" else min, ())  # words the error as this Python does

    return choose


BUILTINS[max] = _extreme("max")
BUILTINS[min] = _extreme("min")

COMPENSATES = VERSION >= (3, 12)  # sum() of floats carries their rounding errors along


@rule_for(sum)
def _sum(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, start = bound(arguments, keywords, "iterable", "start", least=1)
    assert over is not None
    look = interpreter.trace.look
    total: Symbol = look(start) if start is not None else Constant(0)
    if isinstance(total, Constant) and isinstance(total.value, str | bytes):
        return pure(sum, (), total.value)  # words the error as this Python does
    over = look(over)
    if isinstance(over, Set) and all(type(member) is int for member in over.items):
        over = Tuple(tuple(Constant(member) for member in over.items))  # in whatever order
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
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
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
def _prod(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, start = bound(arguments, keywords, "iterable", "start", least=1)
    assert over is not None
    look = interpreter.trace.look
    total: Symbol = Constant(1) if start is None else look(start)
    for item in iterate.each_item(interpreter, over):
        total = arithmetic.binary(interpreter, "*", total, item, in_place=False)
    return total


def _rounded(function: Callable[..., Any]) -> Rule:
    others = _of_known_values(function)

    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        if len(arguments) == 1 and not keywords:
            given = interpreter.trace.look(arguments[0])
            if isinstance(given, Integer):
                return given  # CPython gives this very object
        return others(interpreter, arguments, keywords)

    return rule


BUILTINS.update({function: _rounded(function) for function in (math.floor, math.ceil, math.trunc)})
for _function in (*vars(math).values(), bin, oct, hex):
    if callable(_function):
        BUILTINS.setdefault(_function, _of_known_values(_function))


def _of_constants(function: Callable[..., Any]) -> Rule:
    """For NumPy's functions of types: classes are known values here."""

    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        values = [interpreter.trace.look(a) for a in arguments]
        if keywords or not all(isinstance(v, Constant) and _is_of_numpy(v.value) for v in values):
            text = f"{function.__module__}.{function.__name__} of a value known only at run time"
            raise GraphBreak("call", text)
        return pure(function, *[v.value for v in values if isinstance(v, Constant)])

    return rule


def _is_of_numpy(value: Any) -> bool:
    if isinstance(value, type):
        return value.__module__ in ("builtins", "numpy")
    return isinstance(value, (*PURE, np.dtype))


for _function in (np.dtype, np.result_type, np.promote_types, np.isscalar, np.issubdtype):
    BUILTINS.setdefault(_function, _of_constants(_function))

"""Numbers of one type as another, as instructions of a nest: as Python and NumPy convert them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import (
    ELEMENT_KINDS,
    NP_BOOL,
    TYPES,
    NotNativeError,
    NumberKind,
    kind_of,
)
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item
from ufuse.graph.nest_types import F32, F64, I1, I64, INTEGERS, U64, Value, limits

EXACT_IN_F64 = 2**53  # every integer up to here is a float
WEAK: dict[str, Any] = {"float": 0.0, "int": 0, "bool": False}


def number(code: Code, item: Item) -> Number:
    """An item as a number."""
    if isinstance(item, Number):
        return item
    if isinstance(item, Known):
        kind = kind_of(item.value)
        if kind is not None and kind.kind in TYPES:
            plain = item.value.item() if kind.numpy else item.value
            return Number(kind, code.constant(TYPES[kind.kind], plain))
    if isinstance(item, Complex):
        raise NotNativeError("it computes with {item} in a way that is not compiled yet", item)
    raise refusals.not_of("computes with", item, "number")


def refuse_bools(*numbers: Number) -> None:
    """NumPy's bools have rules of their own."""
    if any(one.type == NP_BOOL for one in numbers):
        raise NotNativeError("it computes with NumPy's bools")


def common_kind(one: Number, other: Number) -> NumberKind:
    """The type in which NumPy computes with two numbers, of which one at least is its own."""
    each = [kind.dtype if kind.numpy else WEAK[kind.kind] for kind in (one.type, other.type)]
    dtype = np.result_type(*each)
    found = kind_of(dtype.type(0))
    if found is None:
        raise NotNativeError(f"{dtype} is not compiled yet")
    return found


def converted(code: Code, one: Number, kind: NumberKind) -> Value:
    """An operand in the type in which NumPy computes; a doubt where an integer of Python does not fit."""
    type_ = TYPES[kind.kind]
    value = code.op("widen", I64, one.value) if one.type.kind == "bool" else one.value
    if value.type == type_:
        return value
    known = code.known(value)
    if known is not None and type_ in INTEGERS and limits(type_)[0] <= known <= limits(type_)[1]:
        return code.constant(type_, int(known))  # of a float, too: towards zero
    if known is not None and type_ == F32 and abs(known) < 1e38:
        return code.constant(type_, float(np.float32(float(known))))
    if type_ == F32 and not one.type.numpy and value.type == I64:  # by way of a Python float
        value = code.op("to_f64", F64, value)
    return code.op(f"to_{type_}", type_, value)


def as_f64(code: Code, one: Number) -> Value:
    """A number as a float, as C converts it."""
    return converted(code, one, NumberKind("float"))


def as_i64(code: Code, one: Number) -> Value:
    """An int or bool as an integer."""
    assert not one.type.is_real
    return converted(code, one, NumberKind("int"))


def truth(code: Code, item: Item) -> Value:
    """`bool(item)`."""
    if isinstance(item, Complex):
        nothing = code.constant(F64, 0.0)
        parts = (code.op("fne", I1, part, nothing) for part in (item.real, item.imag))
        return code.op("or", I1, *parts)
    one = number(code, item)
    if one.type.kind == "bool":
        return one.value
    type_ = one.value.type
    prefix, zero = ("i", 0) if type_ in INTEGERS else ("f", 0.0)
    return code.op(f"{prefix}ne", I1, one.value, code.constant(type_, zero))


def doubt_inexact(code: Code, *numbers: Number) -> None:
    """Leave it to plain Python where an integer may not be a float exactly."""
    for one in numbers:
        type_, known = one.value.type, code.known(one.value)
        if type_ not in (I64, U64) or (known is not None and abs(known) <= EXACT_IN_F64):
            continue
        code.doubt_if(code.op("igt", I1, one.value, code.constant(type_, EXACT_IN_F64)))
        if type_ == I64:
            code.doubt_if(code.op("ilt", I1, one.value, code.constant(I64, -EXACT_IN_F64)))


def doubt_not_finite(code: Code, value: Value) -> None:
    """Leave it to plain Python where a real is infinite or NaN."""
    size = code.op("abs", value.type, value)
    is_finite = code.op("flt", I1, size, code.constant(value.type, math.inf))
    code.doubt_if(code.op("not", I1, is_finite))


def as_element(code: Code, one: Number, type_: str) -> Value:
    """A number as it is stored into an array; an integer that does not fit may raise, so it is a doubt."""
    return truth(code, one) if type_ == I1 else converted(code, one, ELEMENT_KINDS[type_])


def made(kind: NumberKind, code: Code, item: Item) -> Number:
    """What a scalar type of NumPy makes of a number: of an integer of NumPy its last bits."""
    one, type_ = number(code, item), TYPES[kind.kind]
    is_wrapped = one.type.numpy and one.type.is_whole and kind.is_whole
    if is_wrapped and one.value.type != type_:
        return Number(kind, code.op(f"wrap_{type_}", type_, one.value))
    if kind.is_real:
        doubt_inexact(code, one)
    return Number(kind, as_element(code, one, type_))

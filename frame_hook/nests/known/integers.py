"""Integers of a nest, with constants folded: the bounds of slices."""

from __future__ import annotations

from ufuse.frame_hook.nests.known.code import Code
from ufuse.graph.nest_types import I1, I64, Value

HIGHEST = (1 << 63) - 1


def plus(code: Code, one: Value, other: Value) -> Value:
    """`one + other`."""
    left, right = code.known(one), code.known(other)
    if left is not None and right is not None:
        return code.constant(I64, left + right)
    if left == 0:
        return other
    return one if right == 0 else code.op("add", I64, one, other)


def minus(code: Code, one: Value, other: Value) -> Value:
    """`one - other`."""
    left, right = code.known(one), code.known(other)
    if left is not None and right is not None:
        return code.constant(I64, left - right)
    if one == other:
        return code.constant(I64, 0)
    return one if right == 0 else code.op("sub", I64, one, other)


def times(code: Code, one: Value, factor: int) -> Value:
    """`one * factor`."""
    known = code.known(one)
    if known is not None:
        return code.constant(I64, known * factor)
    return one if factor == 1 else code.op("mul", I64, one, code.constant(I64, factor))


def least(code: Code, one: Value, other: Value) -> Value:
    """`min(one, other)`."""
    left, right = code.known(one), code.known(other)
    if left is not None and right is not None:
        return code.constant(I64, min(left, right))
    if one == other:
        return one
    return code.op("select", I64, code.op("ilt", I1, other, one), other, one)


def greatest(code: Code, one: Value, limit: int) -> Value:
    """`max(one, limit)`."""
    known = code.known(one)
    if known is not None:
        return code.constant(I64, max(known, limit))
    low = code.constant(I64, limit)
    return code.op("select", I64, code.op("ilt", I1, one, low), low, one)


def wrapped(code: Code, index: Value, length: Value) -> Value:
    """An index or a bound of a slice that counts from the end where it is negative."""
    known = code.known(index)
    if known is not None:
        return plus(code, length, index) if known < 0 else index
    is_negative = code.op("ilt", I1, index, code.constant(I64, 0))
    return code.op("select", I64, is_negative, code.op("add", I64, index, length), index)


def doubt_outside(code: Code, index: Value, length: Value) -> None:
    """A doubt unless `0 <= index < length`."""
    known = code.known(index)
    if known is None or known < 0:
        code.doubt_if(code.op("ilt", I1, index, code.constant(I64, 0)))
    code.doubt_if(code.op("ige", I1, index, length))


def doubt_unlike(code: Code, one: Value, other: Value) -> None:
    """A doubt unless two are equal."""
    left, right = code.known(one), code.known(other)
    if one != other and (left is None or left != right):
        code.doubt_if(code.op("ine", I1, one, other))


def range_length(code: Code, start: Value, stop: Value, step: Value) -> Value:
    """`len(range(start, stop, step))`, where the step is not zero."""
    known = code.known(step)
    zero = code.constant(I64, 0)
    if not known or abs(known) > HIGHEST:
        distance, rounded = _length_by(code, start, stop, step)
    else:
        distance = _distance(code, *((start, stop) if known > 0 else (stop, start)))
        rounded = _quotient(code, distance, abs(known))
        if (length := code.known(rounded)) is not None:
            return code.constant(I64, max(length, 0))
    return code.op("select", I64, code.op("igt", I1, distance, zero), rounded, zero)


def _distance(code: Code, one: Value, other: Value) -> Value:
    """How far it is to a greater integer; a doubt where that is too far for an integer."""
    left, right = code.known(one), code.known(other)
    is_known = left is not None and right is not None
    if is_known and not -HIGHEST <= right - left <= HIGHEST:
        return code.op("sub", I64, other, one)
    return minus(code, other, one)


def _length_by(code: Code, start: Value, stop: Value, step: Value) -> tuple[Value, Value]:
    """How far it is from start to stop, and how many steps that are where it is more than zero."""
    one = code.constant(I64, 1)
    is_up = code.op("igt", I1, step, code.constant(I64, 0))
    distance = code.op(
        "select", I64, is_up,
        code.op("sub", I64, stop, start), code.op("sub", I64, start, stop),
    )  # fmt: skip
    stride = code.op("abs", I64, step)
    rounded = code.op(
        "floordiv", I64, code.op("sub", I64, code.op("add", I64, distance, stride), one), stride
    )
    return distance, rounded


def _quotient(code: Code, dividend: Value, divisor: int) -> Value:
    """What is left of a division by a known number, rounded upwards."""
    if divisor == 1:
        return dividend
    known = code.known(dividend)
    if known is not None:
        return code.constant(I64, -(-known // divisor))
    rounded = code.op("add", I64, dividend, code.constant(I64, divisor - 1))
    return code.op("floordiv", I64, rounded, code.constant(I64, divisor))

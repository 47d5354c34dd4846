"""Handlers of operators, comparisons and subscripts."""

from __future__ import annotations

import dis

from ufuse.frame_hook.arrays.scalars import scalar
from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.operations import arithmetic, comparisons, subscripts
from ufuse.frame_hook.trace.symbols import Constant, Number, Slice, Symbol

COMPARISONS = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
# Where the argument of COMPARE_OP has the operator, and its bit that asks for a bool.
OPERATOR_SHIFT, AS_BOOL = (0, 0) if VERSION < (3, 12) else (4, 0) if VERSION < (3, 13) else (5, 16)


@handles("BINARY_OP", "left right -- result")
def binary_op(interpreter: Interpreter, arg: int, left: Symbol, right: Symbol) -> Symbol:
    name = dis._nb_ops[arg][1]  # type: ignore[attr-defined]
    if name == "[]":
        return subscripts.item(interpreter, left, right)
    operator = name.rstrip("=")
    return arithmetic.binary(interpreter, operator, left, right, in_place=name != operator)


@handles("UNARY_NEGATIVE", "value -- result")
def unary_negative(interpreter: Interpreter, _: int, value: Symbol) -> Symbol:
    return arithmetic.unary(interpreter, "neg", value)


@handles("UNARY_POSITIVE", "value -- result")
def unary_positive(interpreter: Interpreter, _: int, value: Symbol) -> Symbol:
    return arithmetic.unary(interpreter, "pos", value)


@handles("UNARY_INVERT", "value -- result")
def unary_invert(interpreter: Interpreter, _: int, value: Symbol) -> Symbol:
    return arithmetic.unary(interpreter, "invert", value)


@handles("UNARY_NOT", "value -- result")
def unary_not(interpreter: Interpreter, _: int, value: Symbol) -> Symbol:
    known = arithmetic.truth_or_number(interpreter, value)
    return (
        scalar(interpreter.trace, "not_", known)
        if isinstance(known, Number)
        else Constant(not known)
    )


@handles("TO_BOOL", "value -- result")
def to_bool(interpreter: Interpreter, _: int, value: Symbol) -> Symbol:
    return arithmetic.as_bool(interpreter, value)


@handles("COMPARE_OP", "left right -- result")
def compare_op(interpreter: Interpreter, arg: int, left: Symbol, right: Symbol) -> Symbol:
    name = COMPARISONS[dis.cmp_op[arg >> OPERATOR_SHIFT]]
    result = comparisons.compare(interpreter, name, left, right)
    return to_bool(interpreter, arg, result) if arg & AS_BOOL else result


@handles("IS_OP", "left right -- result")
def is_op(interpreter: Interpreter, inverted: int, left: Symbol, right: Symbol) -> Symbol:
    return Constant(comparisons.identical(interpreter, left, right) != bool(inverted))


@handles("CONTAINS_OP", "member container -- result")
def contains_op(
    interpreter: Interpreter, inverted: int, member: Symbol, container: Symbol
) -> Symbol:
    return Constant(subscripts.contains(interpreter, container, member) != bool(inverted))


@handles("BINARY_SUBSCR", "container key -- item")
def binary_subscr(interpreter: Interpreter, _: int, container: Symbol, key: Symbol) -> Symbol:
    return subscripts.item(interpreter, container, key)


@handles("STORE_SUBSCR", "value container key --")
def store_subscr(
    interpreter: Interpreter, _: int, value: Symbol, container: Symbol, key: Symbol
) -> None:
    subscripts.store_item(interpreter, container, key, value)


@handles("DELETE_SUBSCR", "container key --")
def delete_subscr(interpreter: Interpreter, _: int, container: Symbol, key: Symbol) -> None:
    subscripts.delete_item(interpreter, container, key)


@handles("BINARY_SLICE", "container start stop -- item")
def binary_slice(
    interpreter: Interpreter, _: int, container: Symbol, start: Symbol, stop: Symbol
) -> Symbol:
    return subscripts.item(interpreter, container, Slice(start, stop, Constant(None)))


@handles("STORE_SLICE", "value container start stop --")
def store_slice(
    interpreter: Interpreter, _: int, value: Symbol, container: Symbol, start: Symbol, stop: Symbol
) -> None:
    subscripts.store_item(interpreter, container, Slice(start, stop, Constant(None)), value)

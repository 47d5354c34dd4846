"""The instructions of nests in LLVM's language."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NoReturn

from ufuse.backends.numpy.llvm.nest_body import (
    LOWEST,
    TYPES,
    ZEROS,
    Body,
    literal,
    result_type,
)
from ufuse.backends.numpy.llvm.nest_calls import emit_numpy
from ufuse.backends.numpy.llvm.nest_maps import emit_alloc, emit_dot, emit_fold, emit_map
from ufuse.graph.nest import F64, I1, I64, Instruction, Value

Rule = Callable[[Body, Instruction], str]


def _operands(body: Body, one: Instruction) -> list[str]:
    return [body.operand(value) for value in one.inputs]


def _real(word: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        pairs = [("double", operand) for operand in _operands(body, one)]
        return body.strict(f"{word}.f64", "double", pairs)

    return rule


def _divide(body: Body, one: Instruction) -> str:
    divisor = one.inputs[1]
    if not body.constant(divisor):
        body.go_on_if(body.compare("une", body.operand(divisor), ZEROS[F64]))
    return _real("fdiv")(body, one)


def _real_negative(body: Body, one: Instruction) -> str:
    return body.add(f"fneg double {_operands(body, one)[0]}")


def _real_absolute(body: Body, one: Instruction) -> str:
    return body.intrinsic("llvm.fabs.f64", "double", [("double", _operands(body, one)[0])])


def _real_compare(predicate: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        return body.compare(predicate, left, right)

    return rule


def _whole_compare(predicate: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        return body.add(f"icmp {predicate} i64 {left}, {right}")

    return rule


def _plain(word: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        return body.add(f"{word} {TYPES[one.inputs[0].type]} {left}, {right}")

    return rule


def _invert(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    ones = "true" if value.type == I1 else "-1"
    return body.add(f"xor {TYPES[value.type]} {body.operand(value)}, {ones}")


def _whole(word: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        return body.with_overflow(word, left, right)

    return rule


def _difference(body: Body, one: Instruction) -> str:
    if all(body.is_small(value) for value in one.inputs):
        return _plain("sub nsw")(body, one)
    return _whole("ssub")(body, one)


def _whole_negative(body: Body, one: Instruction) -> str:
    return body.with_overflow("ssub", "0", _operands(body, one)[0])


def _whole_absolute(body: Body, one: Instruction) -> str:
    (operand,) = _operands(body, one)
    body.go_on_if(body.add(f"icmp ne i64 {operand}, {LOWEST}"))
    return body.intrinsic("llvm.abs.i64", "i64", [("i64", operand), ("i1", "true")])


def _check_divisor(body: Body, dividend: Value, divisor: Value) -> None:
    known = body.constant(divisor)
    if not known:
        body.go_on_if(body.add(f"icmp ne i64 {body.operand(divisor)}, 0"))
    if known in {None, -1}:
        lowest = body.add(f"icmp eq i64 {body.operand(dividend)}, {LOWEST}")
        minus = body.add(f"icmp eq i64 {body.operand(divisor)}, -1")
        body.doubt_if(body.add(f"and i1 {lowest}, {minus}"))


def _power_of_two(body: Body, value: Value) -> int | None:
    known = body.constant(value)
    if isinstance(known, int) and known > 0 and known & (known - 1) == 0:
        return known
    return None


def _is_corrected(body: Body, remainder: str, divisor: str) -> str:
    """Whether the remainder towards zero is not the one that Python means."""
    some = body.add(f"icmp ne i64 {remainder}, 0")
    signs = body.add(f"xor i64 {remainder}, {divisor}")
    unlike = body.add(f"icmp slt i64 {signs}, 0")
    return body.add(f"and i1 {some}, {unlike}")


def _floor_divide(body: Body, one: Instruction) -> str:
    left, right = _operands(body, one)
    power = _power_of_two(body, one.inputs[1])
    if power is not None:
        return body.add(f"ashr i64 {left}, {power.bit_length() - 1}")
    _check_divisor(body, *one.inputs)
    quotient = body.add(f"sdiv i64 {left}, {right}")
    if all(body.is_small(value) for value in one.inputs):
        return quotient
    remainder = body.add(f"srem i64 {left}, {right}")
    extra = body.add(f"sext i1 {_is_corrected(body, remainder, right)} to i64")
    return body.add(f"add i64 {quotient}, {extra}")


def _modulo(body: Body, one: Instruction) -> str:
    left, right = _operands(body, one)
    power = _power_of_two(body, one.inputs[1])
    if power is not None:
        return body.add(f"and i64 {left}, {power - 1}")
    _check_divisor(body, *one.inputs)
    remainder = body.add(f"srem i64 {left}, {right}")
    if all(body.is_small(value) for value in one.inputs):
        return remainder
    corrected = _is_corrected(body, remainder, right)
    other = body.add(f"add i64 {remainder}, {right}")
    return body.add(f"select i1 {corrected}, i64 {other}, i64 {remainder}")


def _check_count(body: Body, count: Value) -> None:
    known = body.constant(count)
    if known is None or not 0 <= known < 64:
        body.go_on_if(body.add(f"icmp ult i64 {body.operand(count)}, 64"))


def _shift_left(body: Body, one: Instruction) -> str:
    _check_count(body, one.inputs[1])
    left, right = _operands(body, one)
    result = body.add(f"shl i64 {left}, {right}")
    back = body.add(f"ashr i64 {result}, {right}")
    body.go_on_if(body.add(f"icmp eq i64 {back}, {left}"))
    return result


def _shift_right(body: Body, one: Instruction) -> str:
    _check_count(body, one.inputs[1])
    return _plain("ashr")(body, one)


def _to_real(body: Body, one: Instruction) -> str:
    return body.strict("sitofp.f64.i64", "double", [("i64", _operands(body, one)[0])])


def _to_whole(body: Body, one: Instruction) -> str:
    return body.towards_zero(_operands(body, one)[0])


def _widen(body: Body, one: Instruction) -> str:
    return body.add(f"zext i1 {_operands(body, one)[0]} to i64")


def _get(body: Body, one: Instruction) -> str:
    return body.get(one.attributes[0], result_type(one))


def _set(body: Body, one: Instruction) -> str:
    body.settle(one.inputs[0])
    body.set(one.attributes[0], one.inputs[0])
    return ""


def _select(body: Body, one: Instruction) -> str:
    condition, then, other = _operands(body, one)
    type_ = TYPES[result_type(one)]
    return body.add(f"select i1 {condition}, {type_} {then}, {type_} {other}")


def _call(body: Body, one: Instruction) -> str:
    """A function of C: what is not finite may be an error of Python's, so it is a doubt."""
    for value in one.inputs:
        body.settle(value)
    (name,) = one.attributes
    if name.startswith("numpy."):
        return emit_numpy(body, one)
    operands = ", ".join(f"double {operand}" for operand in _operands(body, one))
    result = body.add_new(f"call double inttoptr (i64 {_address(name)} to ptr)({operands}) #2")
    size = body.intrinsic("llvm.fabs.f64", "double", [("double", result)])
    body.go_on_if(body.compare("olt", size, literal(float("inf"), F64)))
    return result


def _address(name: str) -> int:
    for library in ("libm.so.6", None):
        try:
            found = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        if found is not None:
            return found
    return _unknown(name)


def _unknown(name: str) -> NoReturn:
    raise LookupError(f"the mathematics library has no {name}")


def _load(body: Body, one: Instruction) -> str:
    type_, address = body.at(one)
    held = body.known.elements.get(address)
    if held is None:
        held = body.add_new(f"load {type_}, ptr {address}")
        if type_ == "i8":
            held = body.add(f"icmp ne i8 {held}, 0")
        body.known.elements[address] = held
    return held


def _store(body: Body, one: Instruction) -> str:
    value = one.inputs[-1]
    body.settle(value)
    type_, address = body.at(one)
    operand = body.operand(value)
    body.known.forget(one)
    body.known.elements[address] = operand
    if type_ == "i8":
        operand = body.add(f"zext i1 {operand} to i8")
    body.lines.append(f"store {type_} {operand}, ptr {address}")
    return ""


def _dim(body: Body, one: Instruction) -> str:
    return body.length(*one.attributes)


def _doubt(body: Body, one: Instruction) -> str:
    body.doubt_if(_operands(body, one)[0])
    return ""


# fmt: off
RULES: dict[str, Rule] = {
    "get":     _get,
    "set":     _set,
    "select":  _select,
    "call":    _call,
    "load":    _load,
    "store":   _store,
    "dim":     _dim,
    "doubt_if": _doubt,
    "map":     emit_map,
    "fold":    emit_fold,
    "dot":     emit_dot,
    "alloc":   emit_alloc,
}
TYPED: dict[tuple[str, str], Rule] = {
    ("add", F64):      _real("fadd"),
    ("sub", F64):      _real("fsub"),
    ("mul", F64):      _real("fmul"),
    ("div", F64):      _divide,
    ("neg", F64):      _real_negative,
    ("abs", F64):      _real_absolute,
    ("sqrt", F64):     _real("sqrt"),
    ("to_f64", F64):   _to_real,
    ("add", I64):      _whole("sadd"),
    ("sub", I64):      _difference,
    ("mul", I64):      _whole("smul"),
    ("floordiv", I64): _floor_divide,
    ("mod", I64):      _modulo,
    ("neg", I64):      _whole_negative,
    ("abs", I64):      _whole_absolute,
    ("and", I64):      _plain("and"),
    ("or", I64):       _plain("or"),
    ("xor", I64):      _plain("xor"),
    ("invert", I64):   _invert,
    ("shl", I64):      _shift_left,
    ("shr", I64):      _shift_right,
    ("to_i64", I64):   _to_whole,
    ("widen", I64):    _widen,
    ("and", I1):       _plain("and"),
    ("or", I1):        _plain("or"),
    ("xor", I1):       _plain("xor"),
    ("not", I1):       _invert,
    ("flt", I1):       _real_compare("olt"),
    ("fle", I1):       _real_compare("ole"),
    ("feq", I1):       _real_compare("oeq"),
    ("fne", I1):       _real_compare("une"),
    ("fgt", I1):       _real_compare("ogt"),
    ("fge", I1):       _real_compare("oge"),
    ("ilt", I1):       _whole_compare("slt"),
    ("ile", I1):       _whole_compare("sle"),
    ("ieq", I1):       _whole_compare("eq"),
    ("ine", I1):       _whole_compare("ne"),
    ("igt", I1):       _whole_compare("sgt"),
    ("ige", I1):       _whole_compare("sge"),
}
# fmt: on

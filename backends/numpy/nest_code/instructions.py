"""The instructions of nests in LLVM's language."""

from __future__ import annotations

import math
from collections.abc import Callable

from ufuse.backends.numpy.nest_code.batch_calls import (
    emit_batch_get,
    emit_batch_put,
    emit_batch_run,
)
from ufuse.backends.numpy.nest_code.body import (
    TYPES,
    ZEROS,
    Body,
    literal,
    result_type,
)
from ufuse.backends.numpy.nest_code.calls import emit_function, emit_numpy
from ufuse.backends.numpy.nest_code.draws import emit_draw, emit_draws
from ufuse.backends.numpy.nest_code.folds import (
    emit_argsort,
    emit_dot,
    emit_fold,
    emit_indexed,
    emit_matmul,
    emit_nonzero,
    emit_position,
    emit_reduce,
    emit_scan,
    emit_sort,
)
from ufuse.backends.numpy.nest_code.frames import emit_drop, emit_peek, emit_push, emit_room
from ufuse.backends.numpy.nest_code.group_calls import emit_group_get, emit_group_run
from ufuse.backends.numpy.nest_code.guards import (
    emit_batch_turns,
    emit_fits,
    emit_holds,
    emit_spent,
)
from ufuse.backends.numpy.nest_code.lists import emit_append, emit_enter, emit_find, emit_trim
from ufuse.backends.numpy.nest_code.maps import emit_alloc, emit_map
from ufuse.backends.numpy.nest_code.powers import emit_power
from ufuse.backends.numpy.nest_code.share import emit_share
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import (
    F32,
    F64,
    I1,
    I64,
    INTEGERS,
    KNOWN_POWERS,
    REALS,
    U32,
    U64,
    Value,
    limits,
)

SIGNED = tuple(type_ for type_ in INTEGERS if limits(type_)[0] < 0)
EXACT = 1 << 24  # integers below are reals of any type
Rule = Callable[[Body, Instruction], str]


def _operands(body: Body, one: Instruction) -> list[str]:
    return [body.operand(value) for value in one.inputs]


def _type(one: Instruction) -> str:
    """What LLVM calls the type of the inputs."""
    return TYPES[one.inputs[0].type]


def _is_signed(value: Value) -> bool:
    return value.type in SIGNED


# Reals


def _real(word: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        type_ = one.inputs[0].type
        pairs = [(TYPES[type_], operand) for operand in _operands(body, one)]
        return body.strict(f"{word}.{type_}", TYPES[type_], pairs)

    return rule


def _divide(body: Body, one: Instruction) -> str:
    divisor = one.inputs[1]
    if not body.constant(divisor):
        operand, zero = body.operand(divisor), ZEROS[divisor.type]
        if body.is_plain:
            body.note_odd(body.compare("oeq", operand, zero, divisor.type))
        else:
            body.go_on_if(body.compare("une", operand, zero, divisor.type))
    inverse = _exact_inverse(body.constant(divisor), divisor.type)
    if inverse is None:
        return _real("fdiv")(body, one)
    type_ = TYPES[divisor.type]
    pairs = [(type_, body.operand(one.inputs[0])), (type_, body.real(inverse, divisor.type))]
    return body.strict(f"fmul.{divisor.type}", type_, pairs)


def _exact_inverse(number: float | None, type_: str) -> float | None:
    """The inverse of a power of two, by which a product has the bits and the flags of the quotient: a normal number."""
    if not number or not math.isfinite(number):
        return None
    part, exponent = math.frexp(number)
    least, most = (-1021, 1024) if type_ == F64 else (-125, 128)
    is_normal = least <= exponent <= most and least <= 2 - exponent <= most
    return 1.0 / number if abs(part) == 0.5 and is_normal else None


def _real_negative(body: Body, one: Instruction) -> str:
    type_ = _type(one)
    negative = body.add(f"fneg {type_} {_operands(body, one)[0]}")
    if body.is_plain:
        return negative
    # Else `a + -b` would become `a - b`, where a NaN keeps its sign.
    return body.intrinsic(f"llvm.arithmetic.fence.{one.inputs[0].type}", type_, [(type_, negative)])


def _real_absolute(body: Body, one: Instruction) -> str:
    return _absolute(body, one.inputs[0].type, body.operand(one.inputs[0]))


def _absolute(body: Body, type_: str, operand: str) -> str:
    return body.intrinsic(f"llvm.fabs.{type_}", TYPES[type_], [(TYPES[type_], operand)])


def _minus_zero(body: Body, one: Instruction) -> str:
    type_ = one.inputs[0].type
    whole, lowest = f"i{type_[1:]}", -(1 << int(type_[1:]) - 1)
    bits = body.add(f"bitcast {TYPES[type_]} {body.operand(one.inputs[0])} to {whole}")
    return body.add(f"icmp eq {whole} {bits}, {lowest}")


def _real_compare(predicate: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        return body.compare(predicate, left, right, one.inputs[0].type)

    return rule


def _to_double(body: Body, one: Instruction) -> str:
    return _extended(body, body.operand(one.inputs[0]))


def _extended(body: Body, operand: str) -> str:
    if body.is_plain:
        return body.add(f"fpext float {operand} to double")
    extra = ("metadata", '!"fpexcept.strict"')
    name = "llvm.experimental.constrained.fpext.f64.f32"
    return body.intrinsic(name, "double", [("float", operand), extra])


def _to_single(body: Body, one: Instruction) -> str:
    return body.strict("fptrunc.f32.f64", "float", [("double", _operands(body, one)[0])])


# Integers


def _whole_compare(predicate: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        sign = "" if predicate in {"eq", "ne"} else "s" if _is_signed(one.inputs[0]) else "u"
        return body.add(f"icmp {sign}{predicate} {_type(one)} {left}, {right}")

    return rule


def _plain(word: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        return body.add(f"{word} {_type(one)} {left}, {right}")

    return rule


def _invert(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    ones = "true" if value.type == I1 else "-1"
    return body.add(f"xor {TYPES[value.type]} {body.operand(value)}, {ones}")


def _whole(word: str) -> Rule:
    def rule(body: Body, one: Instruction) -> str:
        left, right = _operands(body, one)
        if one.is_sure:
            return body.add(f"{word} nsw i64 {left}, {right}")
        return _with_overflow(body, word, one.inputs[0], left, right)

    return rule


def _with_overflow(body: Body, word: str, like: Value, left: str, right: str) -> str:
    sign = "s" if _is_signed(like) else "u"
    return body.with_overflow(sign + word, left, right, TYPES[like.type])


def _difference(body: Body, one: Instruction) -> str:
    if _is_signed(one.inputs[0]) and all(body.is_small(value) for value in one.inputs):
        return _plain("sub nsw")(body, one)
    return _whole("sub")(body, one)


def _whole_negative(body: Body, one: Instruction) -> str:
    operand = body.operand(one.inputs[0])
    if one.is_sure:
        return body.add(f"sub nsw i64 0, {operand}")
    return _with_overflow(body, "sub", one.inputs[0], "0", operand)


def _whole_absolute(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    operand, type_ = body.operand(value), TYPES[value.type]
    if not _is_signed(value):
        return operand
    body.accept(body.add(f"icmp ne {type_} {operand}, {limits(value.type)[0]}"))
    return body.intrinsic(f"llvm.abs.{type_}", type_, [(type_, operand), ("i1", "false")])


def _check_divisor(body: Body, dividend: Value, divisor: Value) -> None:
    known, type_ = body.constant(divisor), TYPES[divisor.type]
    if not known:
        body.go_on_if(body.add(f"icmp ne {type_} {body.operand(divisor)}, 0"))
    if known in {None, -1} and _is_signed(divisor) and not body.is_small(dividend):
        low = limits(dividend.type)[0]
        lowest = body.add(f"icmp eq {type_} {body.operand(dividend)}, {low}")
        minus = body.add(f"icmp eq {type_} {body.operand(divisor)}, -1")
        body.doubt_if(body.add(f"and i1 {lowest}, {minus}"))


def _power_of_two(body: Body, value: Value) -> int | None:
    known = body.constant(value)
    if isinstance(known, int) and known > 0 and known & (known - 1) == 0:
        return known
    return None


def _is_corrected(body: Body, type_: str, remainder: str, divisor: str) -> str:
    """Whether the remainder towards zero is not the one that Python means."""
    some = body.add(f"icmp ne {type_} {remainder}, 0")
    signs = body.add(f"xor {type_} {remainder}, {divisor}")
    unlike = body.add(f"icmp slt {type_} {signs}, 0")
    return body.add(f"and i1 {some}, {unlike}")


def _floor_divide(body: Body, one: Instruction) -> str:
    left, right = _operands(body, one)
    type_, is_signed = _type(one), _is_signed(one.inputs[0])
    power = _power_of_two(body, one.inputs[1])
    if power is not None:
        return body.add(
            f"{'ashr' if is_signed else 'lshr'} {type_} {left}, {power.bit_length() - 1}"
        )
    _check_divisor(body, *one.inputs)
    quotient = body.add(f"{'sdiv' if is_signed else 'udiv'} {type_} {left}, {right}")
    if all(body.is_small(value) for value in one.inputs):
        return quotient
    remainder = body.add(f"srem {type_} {left}, {right}")
    extra = body.add(f"sext i1 {_is_corrected(body, type_, remainder, right)} to {type_}")
    return body.add(f"add {type_} {quotient}, {extra}")


def _modulo(body: Body, one: Instruction) -> str:
    if one.is_sure:
        return _beside(body, one)
    left, type_, is_signed = body.operand(one.inputs[0]), _type(one), _is_signed(one.inputs[0])
    power = _power_of_two(body, one.inputs[1])
    if power is not None:
        return body.add(f"and {type_} {left}, {power - 1}")
    if body.is_fast and is_signed and body.constant(one.inputs[1]) is None:
        return _modulo_of_neighbours(body, one)
    return _remainder(body, one)


def _modulo_of_neighbours(body: Body, one: Instruction) -> str:
    """A modulo without a division where the dividend is little outside of what it gives, as in windows that wrap."""
    _, right = _operands(body, one)
    type_, near = _type(one), _beside(body, one)
    is_positive = body.add(f"icmp sgt {type_} {right}, 0")
    is_inside = body.add(f"icmp ult {type_} {near}, {right}")
    is_near = body.add(f"and i1 {is_positive}, {is_inside}")
    return body.otherwise(is_near, near, type_, lambda: _remainder(body, one))


def _beside(body: Body, one: Instruction) -> str:
    """A modulo where the quotient is -1, 0 or 1."""
    left, right = _operands(body, one)
    type_ = _type(one)
    is_below = body.add(f"icmp slt {type_} {left}, 0")
    above = body.add(f"add {type_} {left}, {right}")
    is_above = body.add(f"icmp sge {type_} {left}, {right}")
    below = body.add(f"sub {type_} {left}, {right}")
    near = body.add(f"select i1 {is_above}, {type_} {below}, {type_} {left}")
    return body.add(f"select i1 {is_below}, {type_} {above}, {type_} {near}")


def _remainder(body: Body, one: Instruction) -> str:
    left, right = _operands(body, one)
    type_, is_signed = _type(one), _is_signed(one.inputs[0])
    _check_divisor(body, *one.inputs)
    remainder = body.add(f"{'srem' if is_signed else 'urem'} {type_} {left}, {right}")
    if all(body.is_small(value) for value in one.inputs):
        return remainder
    corrected = _is_corrected(body, type_, remainder, right)
    other = body.add(f"add {type_} {remainder}, {right}")
    return body.add(f"select i1 {corrected}, {type_} {other}, {type_} {remainder}")


def _check_count(body: Body, count: Value) -> None:
    known = body.constant(count)
    if known is None or not 0 <= known < 64:
        body.go_on_if(body.add(f"icmp ult i64 {body.operand(count)}, 64"))


def _shift_left(body: Body, one: Instruction) -> str:
    _check_count(body, one.inputs[1])
    left, right = _operands(body, one)
    result = body.add(f"shl i64 {left}, {right}")
    back = body.add(f"ashr i64 {result}, {right}")
    body.accept(body.add(f"icmp eq i64 {back}, {left}"))
    return result


def _shift_right(body: Body, one: Instruction) -> str:
    _check_count(body, one.inputs[1])
    return _plain("ashr")(body, one)


def _shift(word: str) -> Rule:
    """NumPy's shift: all bits are lost where the count is negative or too large, the sign is not."""

    def rule(body: Body, one: Instruction) -> str:
        left, count = _operands(body, one)
        type_, bits = _type(one), int(one.inputs[0].type[1:])
        shift = "ashr" if word == "lshr" and _is_signed(one.inputs[0]) else word
        known = body.constant(one.inputs[1])
        if known is not None and 0 <= known < bits:
            return body.add(f"{shift} {type_} {left}, {count}")
        some = body.add(f"icmp ult {type_} {count}, {bits}")
        most = body.add(f"select i1 {some}, {type_} {count}, {type_} {bits - 1}")
        shifted = body.add(f"{shift} {type_} {left}, {most}")
        if shift == "ashr":
            return shifted
        return body.add(f"select i1 {some}, {type_} {shifted}, {type_} 0")

    return rule


# Conversions


def _whole_to_real(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    result = result_type(one)
    known = body.constant(value)
    if body.is_fast and known is not None and abs(known) < EXACT:
        return body.real(float(known), result)
    bits = "i64" if value.type in {I64, U64, U32} else "i32"  # what machines have instructions for
    operand = _resized(body, body.operand(value), value.type, bits)
    word = "uitofp" if value.type == U64 else "sitofp"
    return body.strict(f"{word}.{result}.{bits}", TYPES[result], [(bits, operand)])


def _real_to_whole(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    operand, result = body.operand(value), result_type(one)
    if value.type == F32:
        operand = _extended(body, operand)
    if body.is_loose and result == I64:
        return _late_to_whole(body, operand)
    low, high = limits(result)
    lowest = ("oge", low) if result == I64 else ("ogt", low - 1)
    for predicate, limit in (lowest, ("olt", high + 1)):
        body.go_on_if(body.compare(predicate, operand, literal(float(limit), F64)))
    found = body.intrinsic(
        f"llvm.experimental.constrained.{'fptoui' if result == U64 else 'fptosi'}.i64.f64",
        "i64",
        [("double", operand), ("metadata", '!"fpexcept.strict"')],
    )
    return _resized(body, found, I64, TYPES[result])


def _late_to_whole(body: Body, operand: str) -> str:
    """A double as any integer where it does not fit: then the loop is in doubt."""
    fits = body.compare("olt", _absolute(body, F64, operand), body.real(float(1 << 63), F64))
    body.refuse(body.add(f"xor i1 {fits}, true"))
    return body.add(f"freeze i64 {body.add(f'fptosi double {operand} to i64')}")


def _resized(body: Body, operand: str, source: str, type_: str) -> str:
    """An integer in as many bits as LLVM's type has."""
    have, want = int(source[1:]), int(type_[1:])
    if have == want:
        return operand
    word = "trunc" if have > want else "sext" if source in SIGNED else "zext"
    return body.add(f"{word} {TYPES[source]} {operand} to {type_}")


def _wrap(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    type_ = TYPES[result_type(one)]
    if TYPES[value.type] == type_:  # another name: what is known of a number is known by its name
        return body.add(f"add {type_} {body.operand(value)}, 0")
    return _resized(body, body.operand(value), value.type, type_)


def _fit(body: Body, one: Instruction) -> str:
    (value,) = one.inputs
    operand, type_ = body.operand(value), _type(one)
    (low, high), (least, most) = limits(value.type), limits(result_type(one))
    if low >= 0 or least >= 0:  # what is negative is very large without a sign
        if high > most:
            body.accept(body.add(f"icmp ule {type_} {operand}, {most}"))
        elif low < least and not body.is_small(value):
            body.accept(body.add(f"icmp sge {type_} {operand}, 0"))
    elif high > most:
        moved = body.add(f"add {type_} {operand}, {-least}")
        body.accept(body.add(f"icmp ule {type_} {moved}, {most - least}"))
    return _wrap(body, one)


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


def _symbol(name: str) -> str:
    """Of a function of C's mathematics library, or of Python's own."""
    return f"helper.{name}" if name.startswith("python.") else f"math.{name}"


def _call(body: Body, one: Instruction) -> str:
    (name,) = one.attributes
    if name in KNOWN_POWERS:
        return emit_power(body, one)
    for value in one.inputs:
        body.settle(value)
    if name.startswith("numpy."):
        return emit_numpy(body, one)
    return emit_function(body, _symbol(name), one.inputs[0].type, _operands(body, one))


def _load(body: Body, one: Instruction) -> str:
    type_, address = body.at(one)
    held = body.known.elements.get(address)
    if held is None:
        held = body.add_new(f"load {type_}, ptr {address}{body.notes.apart(one.attributes[0])}")
        if result_type(one) == I1:
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
    if value.type == I1:
        operand = body.add(f"zext i1 {operand} to i8")
    apart = body.notes.apart(one.attributes[0])
    body.lines.append(f"store {type_} {operand}, ptr {address}{apart}")
    return ""


def _dim(body: Body, one: Instruction) -> str:
    return body.length(*one.attributes)


def _doubt(body: Body, one: Instruction) -> str:
    body.doubt_if(_operands(body, one)[0])
    return ""


def _refuse(body: Body, one: Instruction) -> str:
    body.refuse(_operands(body, one)[0])
    return ""


def _left(body: Body, one: Instruction) -> str:
    """Where a loop without checks is left."""
    last, is_tested = one.attributes
    if body.is_fast:
        for name in last:
            body.watch(name)
        if is_tested:
            body.doubt_if_odd()
    return ""


def _opaque(body: Body, one: Instruction) -> str:
    """A constant that LLVM does not know (`nest_passes/extremes.py`)."""
    (number,) = one.attributes
    assert one.result is not None
    return body.opaque(int(number), one.result.type)


# fmt: off
RULES: dict[str, Rule] = {
    "opaque":  _opaque,
    "get":     _get,
    "set":     _set,
    "select":  _select,
    "call":    _call,
    "share":   emit_share,
    "draw":    emit_draw,
    "draws":   emit_draws,
    "load":    _load,
    "store":   _store,
    "dim":     _dim,
    "doubt_if": _doubt,
    "refuse_if": _refuse,
    "fits":    emit_fits,
    "holds":   emit_holds,
    "spent":   emit_spent,
    "left":    _left,
    "group_run": emit_group_run,
    "group_get": emit_group_get,
    "batch_turns": emit_batch_turns,
    "batch_put": emit_batch_put,
    "batch_run": emit_batch_run,
    "batch_get": emit_batch_get,
    "map":     emit_map,
    "fold":    emit_fold,
    "reduce":  emit_reduce,
    "matmul":  emit_matmul,
    "take":    emit_indexed,
    "put":     emit_indexed,
    "position": emit_position,
    "scan":    emit_scan,
    "nonzero": emit_nonzero,
    "sort":    emit_sort,
    "argsort": emit_argsort,
    "dot":     emit_dot,
    "alloc":   emit_alloc,
    "append":  emit_append,
    "trim":    emit_trim,
    "push":    emit_push,
    "peek":    emit_peek,
    "drop":    emit_drop,
    "room":    emit_room,
    "find":    emit_find,
    "enter":   emit_enter,
}
OF_REALS: dict[str, Rule] = {
    "add":  _real("fadd"),
    "sub":  _real("fsub"),
    "mul":  _real("fmul"),
    "div":  _divide,
    "neg":  _real_negative,
    "abs":  _real_absolute,
    "sqrt": _real("sqrt"),
    "minus_zero": _minus_zero,
    "flt":  _real_compare("olt"),
    "fle":  _real_compare("ole"),
    "feq":  _real_compare("oeq"),
    "fne":  _real_compare("une"),
    "fgt":  _real_compare("ogt"),
    "fge":  _real_compare("oge"),
}
OF_INTEGERS: dict[str, Rule] = {
    "add":      _whole("add"),
    "sub":      _difference,
    "mul":      _whole("mul"),
    "floordiv": _floor_divide,
    "mod":      _modulo,
    "neg":      _whole_negative,
    "abs":      _whole_absolute,
    "and":      _plain("and"),
    "or":       _plain("or"),
    "xor":      _plain("xor"),
    "invert":   _invert,
    "lshift":   _shift("shl"),
    "rshift":   _shift("lshr"),
    **{"i" + name: _whole_compare(name) for name in ("lt", "le", "eq", "ne", "gt", "ge")},
}
TYPED: dict[tuple[str, str], Rule] = {
    **{(op, type_): rule for type_ in REALS for op, rule in OF_REALS.items()},
    **{(op, type_): rule for type_ in INTEGERS for op, rule in OF_INTEGERS.items()},
    **{(f"to_{real}", whole): _whole_to_real for whole in INTEGERS for real in REALS},
    **{(f"to_{whole}", real): _real_to_whole for whole in INTEGERS for real in REALS},
    **{(f"{word}_{result}", whole): rule for whole in INTEGERS for result in INTEGERS
       if whole != result for word, rule in (("to", _fit), ("wrap", _wrap))},
    ("to_f64", F32):   _to_double,
    ("to_f32", F64):   _to_single,
    ("shl", I64):      _shift_left,
    ("shr", I64):      _shift_right,
    ("widen", I1):     _widen,
    ("and", I1):       _plain("and"),
    ("or", I1):        _plain("or"),
    ("xor", I1):       _plain("xor"),
    ("not", I1):       _invert,
}
# fmt: on

"""Machine code for loop nests over numbers and elements.

Variables are memory in the text; LLVM's passes make registers of them. Laws:

1. Floating-point operations and comparisons are *constrained, strict*: no flag is lost or raised too often, and nothing
   is folded. Comparisons are quiet.
2. A doubt ends the function with 1 after only `turns` was written back: what calls it undoes the stores.
3. Where both operands of an operation are NaN, and unlike, the one that lives on is up to the compiler, here as in
   NumPy: a result that such an operation may have decided is a doubt when it is stored, kept or passed on.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable
from typing import NoReturn

from ufuse.backends.numpy.llvm.compiler import compiled_text, why_unavailable
from ufuse.graph.nest import ELEMENTS, F64, I1, I64, TURNS, Block, Instruction, Nest, Value

LOWEST = -(1 << 63)
TYPES = {F64: "double", I64: "i64", I1: "i1"}
ZEROS = {F64: "0.0", I64: "0", I1: "false"}


def why_not_native() -> str | None:
    """Why no nest can be compiled here, or None."""
    return why_unavailable()


def compiled_nest(nest: Nest) -> tuple[int, object]:
    """The address of a nest's machine code, and what keeps it in memory; called in `Work`.

    Its C type is `int f(void *arrays, void *cells, int64_t unused)`. `arrays`: for each array its data, lengths and
    strides in bytes; `cells`: `Nest.cells`, 8 bytes each. It returns 0 where the nest was left, 1 at a doubt.

    Raises:
        LookupError: a function that the mathematics library lacks.

    """
    function = compiled_text(nest_text(nest, "NAME"))
    return function.address, function.owner


def nest_text(nest: Nest, name: str) -> str:
    """The nest as a module with one function."""
    text = _Text(nest)
    text.write()
    return "\n".join(
        [
            f"define i32 @{name}(ptr noalias %arrays, ptr noalias %cells, i64 %unused) #0 {{",
            *text.lines,
            "}",
            *sorted(text.declared),
            'attributes #0 = { nounwind strictfp "no-trapping-math"="false" }',
            "attributes #1 = { nounwind strictfp }",
            "attributes #2 = { nounwind strictfp memory(inaccessiblemem: readwrite) }",
            '!0 = !{!"branch_weights", i32 4000, i32 1}',
            '!1 = !{!"branch_weights", i32 1, i32 4000}',
            "!2 = !{}",
            f"!3 = !{{i64 0, i64 {-LOWEST - 1}}}",
            "",
        ]
    )


class _Text:
    """The function's lines, and what is known of the block that is being written."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.constants: dict[Value, float | int] = {}
        self._types = {variable.name: variable.type for variable in (*nest.cells, *nest.others)}
        self._names: dict[Value, str] = {}
        self._count = 0
        self._never_negative = _never_negative(nest)
        self._small: set[Value] = set()  # integers that are never negative
        self._clashes: dict[Value, dict[tuple[str, str], bool]] = {}
        self._settled: set[tuple[str, str]] = set()
        self._numbers: set[Value] = set()  # never NaN

    # Text

    def add(self, text: str) -> str:
        """Append an instruction; the name of its result."""
        self._count += 1
        self.lines.append(f"%t{self._count} = {text}")
        return f"%t{self._count}"

    def intrinsic(self, name: str, result: str, arguments: Iterable[tuple[str, str]]) -> str:
        """Append the call of an intrinsic on (type, operand) pairs; the name of its result."""
        given = list(arguments)
        self.declared.add(f"declare {result} @{name}({', '.join(type_ for type_, _ in given)})")
        operands = ", ".join(f"{type_} {operand}" for type_, operand in given)
        return self.add(f"call {result} @{name}({operands}) #1")

    def strict(self, name: str, result: str, arguments: list[tuple[str, str]]) -> str:
        """Append a constrained operation that rounds."""
        extra = [("metadata", '!"round.tonearest"'), ("metadata", '!"fpexcept.strict"')]
        return self.intrinsic(f"llvm.experimental.constrained.{name}", result, arguments + extra)

    def compare(self, predicate: str, left: str, right: str) -> str:
        """Append a quiet comparison of two doubles."""
        return self.intrinsic(
            "llvm.experimental.constrained.fcmp.f64",
            "i1",
            [
                ("double", left),
                ("double", right),
                ("metadata", f'!"{predicate}"'),
                ("metadata", '!"fpexcept.strict"'),
            ],
        )

    def label(self) -> str:
        """A name for a place in the function."""
        self._count += 1
        return f"l{self._count}"

    def go_on_if(self, condition: str) -> None:
        """Append a doubt where the condition does not hold."""
        following = self.label()
        self.lines += [f"br i1 {condition}, label %{following}, label %doubt, !prof !0"]
        self.lines.append(f"{following}:")

    def doubt_if(self, condition: str) -> None:
        """Append a doubt where the condition holds."""
        following = self.label()
        self.lines += [f"br i1 {condition}, label %doubt, label %{following}, !prof !1"]
        self.lines.append(f"{following}:")

    # Values

    def operand(self, value: Value) -> str:
        """How a value is written."""
        return self._names[value]

    def is_never_negative(self, value: Value) -> bool:
        """Whether an integer is known to be zero or more."""
        return value in self._small

    def settle(self, value: Value) -> None:
        """Append a doubt where the bits of a NaN are up to the compiler: before the value is kept."""
        clashes = self._clashes.get(value, {})
        open_ = [pair for pair in clashes if pair not in self._settled]
        if not open_:
            return
        seldom, following = self.label(), self.label()
        is_nan = self.compare("uno", self.operand(value), self.operand(value))
        self.lines += [
            f"br i1 {is_nan}, label %{seldom}, label %{following}, !prof !1",
            f"{seldom}:",
        ]
        for left, right in open_:
            kinds = [
                self.intrinsic("llvm.is.fpclass.f64", "i1", [("double", one), ("i32", "3")])
                for one in (left, right)
            ]
            bits = [self.add(f"bitcast double {one} to i64") for one in (left, right)]
            both = self.add(f"and i1 {kinds[0]}, {kinds[1]}")
            unlike = self.add(f"icmp ne i64 {bits[0]}, {bits[1]}")
            self.doubt_if(self.add(f"and i1 {both}, {unlike}"))
        self.lines += [f"br label %{following}", f"{following}:"]
        self._settled |= {pair for pair in open_ if clashes[pair]}

    # The function

    def write(self) -> None:
        """Write everything."""
        self._write_entry()
        for block in self.nest.blocks:
            self._write_block(block)
        self.lines.append("doubt:")
        at = self._cell(len(self.nest.cells) - 1)
        turns = self.add(f'load i64, ptr %"v.{TURNS}"')
        self.lines += [f"store i64 {turns}, ptr {at}", "ret i32 1"]

    def _write_entry(self) -> None:
        self.lines.append("entry:")
        for name, type_ in self._types.items():
            self.lines.append(f'%"v.{name}" = alloca {TYPES[type_]}')
        place = 0
        for number, array in enumerate(self.nest.arrays):
            self._load_word(f"data{number}", "ptr", place)
            for axis in range(array.ndim):
                self._load_word(f"length{number}.{axis}", "i64", place + 1 + axis, ", !range !3")
                self._load_word(f"stride{number}.{axis}", "i64", place + 1 + array.ndim + axis)
            place += 1 + 2 * array.ndim
        for variable in self.nest.others:
            type_ = TYPES[variable.type]
            self.lines.append(f'store {type_} {ZEROS[variable.type]}, ptr %"v.{variable.name}"')
        for number, variable in enumerate(self.nest.cells):
            at = self._cell(number)
            word = self.add(f"load {'double' if variable.type == F64 else 'i64'}, ptr {at}")
            if variable.type == I1:
                word = self.add(f"icmp ne i64 {word}, 0")
            self.lines.append(f'store {TYPES[variable.type]} {word}, ptr %"v.{variable.name}"')
        self.lines.append(f'br label %"b.{self.nest.blocks[0].label}"')

    def _load_word(self, name: str, type_: str, place: int, extra: str = "") -> None:
        at = self.add(f"getelementptr i64, ptr %arrays, i64 {place}")
        self.lines.append(f"%{name} = load {type_}, ptr {at}, !invariant.load !2{extra}")

    def _cell(self, number: int) -> str:
        return self.add(f"getelementptr i64, ptr %cells, i64 {number}")

    def _write_block(self, block: Block) -> None:
        self.lines.append(f'"b.{block.label}":')
        self._names.clear()
        self.constants.clear()
        self._small.clear()
        self._clashes.clear()
        self._settled.clear()
        self._numbers.clear()
        for one in block.instructions:
            self._write_instruction(one)
        end = block.end
        targets = [f'label %"b.{target}"' for target in end.targets]
        if end.kind == "jump":
            self.lines.append(f"br {targets[0]}")
        elif end.kind == "branch" and end.condition is not None:
            self.lines.append(f"br i1 {self.operand(end.condition)}, {', '.join(targets)}")
        elif end.kind == "leave":
            self._write_leave()
        else:
            self.lines.append("br label %doubt")

    def _write_leave(self) -> None:
        for number, variable in enumerate(self.nest.cells):
            at = self._cell(number)
            word = self.add(f'load {TYPES[variable.type]}, ptr %"v.{variable.name}"')
            if variable.type == I1:
                word = self.add(f"zext i1 {word} to i64")
            self.lines.append(
                f"store {'double' if variable.type == F64 else 'i64'} {word}, ptr {at}"
            )
        self.lines.append("ret i32 0")

    def _write_instruction(self, one: Instruction) -> None:
        result = one.result
        if one.op == "const" and result is not None:
            (number,) = one.attributes
            self.constants[result] = number
            self._names[result] = _literal(number, result.type)
            if number == number:  # noqa: PLR0124 (no NaN)
                self._numbers.add(result)
            if result.type == I64 and number >= 0:
                self._small.add(result)
            return
        rule = RULES.get(one.op) if one.op in RULES else TYPED[one.op, _result_type(one)]
        written = rule(self, one)
        if result is None:
            return
        self._names[result] = written
        if _is_never_negative(one, self._small, self._never_negative):
            self._small.add(result)
        if result.type == F64:
            self._note_clashes(one, result)

    def _note_clashes(self, one: Instruction, result: Value) -> None:
        """Which operations on two unlike NaNs may have decided this value's bits; whether always where it is a NaN."""
        if one.op in {"to_f64", "call"}:
            self._numbers.add(result)
        if one.op not in ARITHMETIC and one.op not in {"neg", "abs", "sqrt", "select"}:
            return
        clashes: dict[tuple[str, str], bool] = {}
        for value in one.inputs:
            for pair, always in self._clashes.get(value, {}).items():
                clashes[pair] = clashes.get(pair, False) or (always and one.op != "select")
        if one.op in ARITHMETIC:
            left, right = one.inputs
            if left != right and not {left, right} & self._numbers:
                clashes[self.operand(left), self.operand(right)] = True
        self._clashes[result] = clashes

    def at(self, one: Instruction) -> tuple[str, str]:
        """Append the checks of an index; the type of the element in memory, and its address."""
        (number,) = one.attributes
        array = self.nest.arrays[number]
        offset = ""
        for axis, index in enumerate(one.inputs[: array.ndim]):
            length = f"%length{number}.{axis}"
            place = self.operand(index)
            if not self.is_never_negative(index):
                wrapped = self.add(f"add i64 {place}, {length}")
                if self.constants.get(index, 0) < 0:
                    place = wrapped
                else:
                    is_negative = self.add(f"icmp slt i64 {place}, 0")
                    place = self.add(f"select i1 {is_negative}, i64 {wrapped}, i64 {place}")
            self.go_on_if(self.add(f"icmp ult i64 {place}, {length}"))
            part = self.add(f"mul i64 {place}, %stride{number}.{axis}")
            offset = self.add(f"add i64 {offset}, {part}") if offset else part
        address = f"%data{number}"
        if offset:
            address = self.add(f"getelementptr i8, ptr {address}, i64 {offset}")
        kind = ELEMENTS[array.dtype]
        return ("i8" if kind == I1 else TYPES[kind]), address


def _literal(number: float, type_: str) -> str:
    if type_ == F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
    if type_ == I1:
        return "true" if number else "false"
    return str(int(number))


def _result_type(one: Instruction) -> str:
    return one.result.type if one.result is not None else ""


# What is never negative

_KEEP_SIGN = {"add", "mul", "floordiv", "or", "xor", "shl"}


def _is_never_negative(one: Instruction, small: set[Value], variables: set[str]) -> bool:
    """Whether an instruction's integer is zero or more, given what else is; what overflows ends in a doubt."""
    if one.result is None or one.result.type != I64:
        return False
    are = [value in small for value in one.inputs]
    match one.op:
        case "const":
            return bool(one.attributes[0] >= 0)
        case "get":
            return one.attributes[0] in variables
        case "abs" | "dim" | "widen":
            return True
        case "and":
            return any(are)
        case "mod":
            return are[1]
        case "shr":
            return are[0]
        case "select":
            return all(are[1:])
    return one.op in _KEEP_SIGN and all(are)


def _never_negative(nest: Nest) -> set[str]:
    """The variables that never hold a negative integer, whatever the nest is given."""
    variables = {variable.name for variable in nest.others if variable.type == I64}
    while True:
        wrong: set[str] = set()
        for block in nest.blocks:
            small: set[Value] = set()
            for one in block.instructions:
                if one.op == "set" and one.inputs[0] not in small:
                    wrong.add(one.attributes[0])
                elif one.result is not None and _is_never_negative(one, small, variables):
                    small.add(one.result)
        if not wrong & variables:
            return variables
        variables -= wrong


# Instructions

Rule = Callable[[_Text, Instruction], str]
ARITHMETIC = {"add", "sub", "mul", "div"}


def _operands(text: _Text, one: Instruction) -> list[str]:
    return [text.operand(value) for value in one.inputs]


def _real(word: str) -> Rule:
    def rule(text: _Text, one: Instruction) -> str:
        pairs = [("double", operand) for operand in _operands(text, one)]
        return text.strict(f"{word}.f64", "double", pairs)

    return rule


def _divide(text: _Text, one: Instruction) -> str:
    divisor = one.inputs[1]
    if not text.constants.get(divisor):
        text.go_on_if(text.compare("une", text.operand(divisor), ZEROS[F64]))
    return _real("fdiv")(text, one)


def _real_negative(text: _Text, one: Instruction) -> str:
    return text.add(f"fneg double {_operands(text, one)[0]}")


def _real_absolute(text: _Text, one: Instruction) -> str:
    return text.intrinsic("llvm.fabs.f64", "double", [("double", _operands(text, one)[0])])


def _real_compare(predicate: str) -> Rule:
    def rule(text: _Text, one: Instruction) -> str:
        left, right = _operands(text, one)
        return text.compare(predicate, left, right)

    return rule


def _whole_compare(predicate: str) -> Rule:
    def rule(text: _Text, one: Instruction) -> str:
        left, right = _operands(text, one)
        return text.add(f"icmp {predicate} i64 {left}, {right}")

    return rule


def _plain(word: str) -> Rule:
    def rule(text: _Text, one: Instruction) -> str:
        left, right = _operands(text, one)
        return text.add(f"{word} {TYPES[one.inputs[0].type]} {left}, {right}")

    return rule


def _invert(text: _Text, one: Instruction) -> str:
    (value,) = one.inputs
    ones = "true" if value.type == I1 else "-1"
    return text.add(f"xor {TYPES[value.type]} {text.operand(value)}, {ones}")


def _with_overflow(text: _Text, word: str, left: str, right: str) -> str:
    both = text.intrinsic(
        f"llvm.{word}.with.overflow.i64", "{ i64, i1 }", [("i64", left), ("i64", right)]
    )
    result = text.add(f"extractvalue {{ i64, i1 }} {both}, 0")
    text.doubt_if(text.add(f"extractvalue {{ i64, i1 }} {both}, 1"))
    return result


def _whole(word: str) -> Rule:
    def rule(text: _Text, one: Instruction) -> str:
        left, right = _operands(text, one)
        return _with_overflow(text, word, left, right)

    return rule


def _whole_negative(text: _Text, one: Instruction) -> str:
    return _with_overflow(text, "ssub", "0", _operands(text, one)[0])


def _whole_absolute(text: _Text, one: Instruction) -> str:
    (operand,) = _operands(text, one)
    text.go_on_if(text.add(f"icmp ne i64 {operand}, {LOWEST}"))
    return text.intrinsic("llvm.abs.i64", "i64", [("i64", operand), ("i1", "true")])


def _check_divisor(text: _Text, dividend: Value, divisor: Value) -> None:
    known = text.constants.get(divisor)
    if not known:
        text.go_on_if(text.add(f"icmp ne i64 {text.operand(divisor)}, 0"))
    if known in {None, -1}:
        lowest = text.add(f"icmp eq i64 {text.operand(dividend)}, {LOWEST}")
        minus = text.add(f"icmp eq i64 {text.operand(divisor)}, -1")
        text.doubt_if(text.add(f"and i1 {lowest}, {minus}"))


def _power_of_two(text: _Text, value: Value) -> int | None:
    known = text.constants.get(value)
    if isinstance(known, int) and known > 0 and known & (known - 1) == 0:
        return known
    return None


def _is_corrected(text: _Text, remainder: str, divisor: str) -> str:
    """Whether the remainder towards zero is not the one that Python means."""
    some = text.add(f"icmp ne i64 {remainder}, 0")
    signs = text.add(f"xor i64 {remainder}, {divisor}")
    unlike = text.add(f"icmp slt i64 {signs}, 0")
    return text.add(f"and i1 {some}, {unlike}")


def _floor_divide(text: _Text, one: Instruction) -> str:
    left, right = _operands(text, one)
    power = _power_of_two(text, one.inputs[1])
    if power is not None:
        return text.add(f"ashr i64 {left}, {power.bit_length() - 1}")
    _check_divisor(text, *one.inputs)
    quotient = text.add(f"sdiv i64 {left}, {right}")
    if all(text.is_never_negative(value) for value in one.inputs):
        return quotient
    remainder = text.add(f"srem i64 {left}, {right}")
    extra = text.add(f"sext i1 {_is_corrected(text, remainder, right)} to i64")
    return text.add(f"add i64 {quotient}, {extra}")


def _modulo(text: _Text, one: Instruction) -> str:
    left, right = _operands(text, one)
    power = _power_of_two(text, one.inputs[1])
    if power is not None:
        return text.add(f"and i64 {left}, {power - 1}")
    _check_divisor(text, *one.inputs)
    remainder = text.add(f"srem i64 {left}, {right}")
    if all(text.is_never_negative(value) for value in one.inputs):
        return remainder
    corrected = _is_corrected(text, remainder, right)
    other = text.add(f"add i64 {remainder}, {right}")
    return text.add(f"select i1 {corrected}, i64 {other}, i64 {remainder}")


def _check_count(text: _Text, count: Value) -> None:
    known = text.constants.get(count)
    if known is None or not 0 <= known < 64:
        text.go_on_if(text.add(f"icmp ult i64 {text.operand(count)}, 64"))


def _shift_left(text: _Text, one: Instruction) -> str:
    _check_count(text, one.inputs[1])
    left, right = _operands(text, one)
    result = text.add(f"shl i64 {left}, {right}")
    back = text.add(f"ashr i64 {result}, {right}")
    text.go_on_if(text.add(f"icmp eq i64 {back}, {left}"))
    return result


def _shift_right(text: _Text, one: Instruction) -> str:
    _check_count(text, one.inputs[1])
    return _plain("ashr")(text, one)


def _to_real(text: _Text, one: Instruction) -> str:
    return text.strict("sitofp.f64.i64", "double", [("i64", _operands(text, one)[0])])


def _to_whole(text: _Text, one: Instruction) -> str:
    (operand,) = _operands(text, one)
    text.go_on_if(text.compare("oge", operand, _literal(float(LOWEST), F64)))
    text.go_on_if(text.compare("olt", operand, _literal(-float(LOWEST), F64)))
    return text.intrinsic(
        "llvm.experimental.constrained.fptosi.i64.f64",
        "i64",
        [("double", operand), ("metadata", '!"fpexcept.strict"')],
    )


def _widen(text: _Text, one: Instruction) -> str:
    return text.add(f"zext i1 {_operands(text, one)[0]} to i64")


def _get(text: _Text, one: Instruction) -> str:
    return text.add(f'load {TYPES[_result_type(one)]}, ptr %"v.{one.attributes[0]}"')


def _set(text: _Text, one: Instruction) -> str:
    (value,) = one.inputs
    text.settle(value)
    text.lines.append(
        f'store {TYPES[value.type]} {text.operand(value)}, ptr %"v.{one.attributes[0]}"'
    )
    return ""


def _select(text: _Text, one: Instruction) -> str:
    condition, then, other = _operands(text, one)
    type_ = TYPES[_result_type(one)]
    return text.add(f"select i1 {condition}, {type_} {then}, {type_} {other}")


def _call(text: _Text, one: Instruction) -> str:
    """A function of C: what is not finite may be an error of Python's, so it is a doubt."""
    for value in one.inputs:
        text.settle(value)
    (name,) = one.attributes
    operands = ", ".join(f"double {operand}" for operand in _operands(text, one))
    result = text.add(f"call double inttoptr (i64 {_address(name)} to ptr)({operands}) #2")
    size = text.intrinsic("llvm.fabs.f64", "double", [("double", result)])
    text.go_on_if(text.compare("olt", size, _literal(float("inf"), F64)))
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


def _load(text: _Text, one: Instruction) -> str:
    type_, address = text.at(one)
    value = text.add(f"load {type_}, ptr {address}")
    return text.add(f"icmp ne i8 {value}, 0") if type_ == "i8" else value


def _store(text: _Text, one: Instruction) -> str:
    value = one.inputs[-1]
    text.settle(value)
    type_, address = text.at(one)
    operand = text.operand(value)
    if type_ == "i8":
        operand = text.add(f"zext i1 {operand} to i8")
    text.lines.append(f"store {type_} {operand}, ptr {address}")
    return ""


def _dim(text: _Text, one: Instruction) -> str:
    array, axis = one.attributes
    return f"%length{array}.{axis}"


def _doubt(text: _Text, one: Instruction) -> str:
    text.doubt_if(_operands(text, one)[0])
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
    ("sub", I64):      _whole("ssub"),
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

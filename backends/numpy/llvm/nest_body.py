"""Text in LLVM's language for the body of a nest's function: calls, checks that end in a doubt, NaNs, addresses."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ufuse.backends.numpy.llvm.nest_signs import is_never_negative, never_negative
from ufuse.graph.nest import ELEMENTS, F64, I1, I64, Instruction, Nest, Value

TYPES = {F64: "double", I64: "i64", I1: "i1"}
ZEROS = {F64: "0.0", I64: "0", I1: "false"}
# So many operations are looked at where a result is NaN; where there are more, every NaN is a doubt: less to compile.
MOST_SETTLED = 3
ARITHMETIC = {"add", "sub", "mul", "div"}


class Body:
    """The lines of a nest's function, and what is known of the block that is being written."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.constants: dict[Value, float | int] = {}
        self._names: dict[Value, str] = {}
        self._count = 0
        self._small_variables = never_negative(nest)
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

    def begin_block(self) -> None:
        """Forget values: they are used in their own block."""
        self._names.clear()
        self.constants.clear()
        self._small.clear()
        self._clashes.clear()
        self._settled.clear()
        self._numbers.clear()

    def keep(self, one: Instruction, text: str) -> None:
        """Note what the result of an instruction is called."""
        result = one.result
        if result is None:
            return
        self._names[result] = text
        if is_never_negative(one, self._small, self._small_variables):
            self._small.add(result)
        if one.op == "const":
            self.constants[result] = one.attributes[0]
        if one.op in {"to_f64", "call"} or (
            one.op == "const" and one.attributes[0] == one.attributes[0]
        ):
            self._numbers.add(result)
        if result.type == F64:
            self._note_clashes(one, result)

    def operand(self, value: Value) -> str:
        """How a value is written."""
        return self._names[value]

    def is_never_negative(self, value: Value) -> bool:
        """Whether an integer is known to be zero or more."""
        return value in self._small

    def _note_clashes(self, one: Instruction, result: Value) -> None:
        """Which operations on two unlike NaNs may have decided this value's bits; whether always where it is a NaN."""
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

    def settle(self, value: Value) -> None:
        """Append a doubt where the bits of a NaN are up to the compiler: before the value is kept."""
        clashes = self._clashes.get(value, {})
        open_ = [pair for pair in clashes if pair not in self._settled]
        if not open_:
            return
        is_nan = self.compare("uno", self.operand(value), self.operand(value))
        if len(open_) > MOST_SETTLED:
            self.doubt_if(is_nan)
            self._settled |= {pair for pair in open_ if clashes[pair]}
            return
        seldom, following = self.label(), self.label()
        self.lines += [
            f"br i1 {is_nan}, label %{seldom}, label %{following}, !prof !1",
            f"{seldom}:",
        ]
        for left, right in open_:
            are_nan = [self.compare("uno", one, one) for one in (left, right)]
            bits = [self.add(f"bitcast double {one} to i64") for one in (left, right)]
            both = self.add(f"and i1 {are_nan[0]}, {are_nan[1]}")
            unlike = self.add(f"icmp ne i64 {bits[0]}, {bits[1]}")
            self.doubt_if(self.add(f"and i1 {both}, {unlike}"))
        self.lines += [f"br label %{following}", f"{following}:"]
        self._settled |= {pair for pair in open_ if clashes[pair]}

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


def literal(number: float, type_: str) -> str:
    """A constant."""
    if type_ == F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
    if type_ == I1:
        return "true" if number else "false"
    return str(int(number))


def result_type(one: Instruction) -> str:
    """The type of what an instruction gives, or nothing."""
    return one.result.type if one.result is not None else ""

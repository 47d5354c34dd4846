"""Text in LLVM's language for the body of a nest's function: calls, checks that end in a doubt, NaNs, addresses."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from ufuse.backends.numpy.llvm.symbols import PREFIX, ROW
from ufuse.backends.numpy.nest_code.notes import Notes
from ufuse.backends.numpy.nest_passes.bounds import Bounds, bound
from ufuse.backends.numpy.nest_passes.plain import hidden, is_plain, plain_text
from ufuse.backends.numpy.nest_passes.versions import is_late
from ufuse.graph.nest import Instruction, Nest
from ufuse.graph.nest_types import (
    F32,
    F64,
    I1,
    I64,
    INTEGERS,
    PARTS,
    REALS,
    WRITERS,
    Value,
    element_type,
)

TYPES = {
    F64: "double",
    F32: "float",
    I1: "i1",
    "ptr": "ptr",
    **{type_: f"i{type_[1:]}" for type_ in INTEGERS},
}
WHOLE = {type_ for type_ in INTEGERS if type_.startswith("i")}  # with a sign
ZEROS = {F64: "0.0", F32: "0.0", I1: "false", **dict.fromkeys(INTEGERS, "0")}
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
SPARE = 1 << 40  # between products and the limits
PART_SIZE = 8  # bytes of a part of a complex number
# So many operations are looked at where a result is NaN; where there are more, every NaN is a doubt: less to compile.
MOST_SETTLED = 3
ARITHMETIC = {"add", "sub", "mul", "div"}
FOLLOWING = {"neg", "abs", "sqrt", "select", "to_f64", "to_f32"}  # NaN where what they are given is
LATE = {"add", "sub", "neg"}  # of integers in better code: overflow may be noted late
Clash = tuple[str, str, str]  # two operands that may be NaN, and their type


@dataclass
class Known:
    """What holds from here to the end of a block, and in blocks that it dominates. Values are named as written."""

    made: dict[str, str] = field(default_factory=dict)  # from instructions to their results
    checked: set[str] = field(default_factory=set)  # conditions that hold
    refuted: set[str] = field(default_factory=set)  # conditions that do not
    variables: dict[str, str] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)  # by address
    constants: dict[str, Any] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)  # integers that are no less
    sizes: dict[str, int] = field(default_factory=dict)  # i64 that are no more, with either sign
    spare: dict[str, int] = field(default_factory=dict)  # i64: more or less by this fits
    numbers: set[str] = field(default_factory=set)  # never NaN
    # Operations on what may be two unlike NaNs, by what they may have decided; whether always where that is NaN.
    clashes: dict[str, dict[Clash, bool]] = field(default_factory=dict)
    settled: set[Clash] = field(default_factory=set)
    table: dict[int, str] = field(default_factory=dict)  # words of the table, as they are stored

    def copy(self) -> Known:
        """The same, to go on from."""
        return Known(*(getattr(self, one.name).copy() for one in fields(self)))

    def forget(self, one: Instruction) -> None:
        """Drop what an instruction may change."""
        if one.op == "set":
            self.variables.pop(one.attributes[0], None)
        elif one.op == "alloc" or one.op in WRITERS:
            self.elements.clear()  # other arrays may share the memory
        if one.op in {"alloc", "append", "trim", "push", "drop"}:
            axes = len(one.inputs) if one.op == "alloc" else 1
            parts = ("data", *(f"length{axis}" for axis in range(axes)))
            for part in parts:
                self.variables.pop(own_variable(one.attributes[0], part), None)
        elif one.op == "enter":
            for number in one.attributes:
                for part in ("data", "length0"):
                    self.variables.pop(own_variable(number, part), None)


def own_variable(number: int, part: str) -> str:
    """The name of a variable of a temporary: no variable of a program's can be called so."""
    return f"{number}.{part}"


class Body:
    """The lines of a nest's function, and what is known where the next is written. What was done is not done again."""

    def __init__(self, nest: Nest, *, is_fast: bool = False, is_alone: bool = False) -> None:
        self.nest = nest
        self.numbered = nest.numbered
        self.given = len(nest.arrays)  # arrays that the nest is given
        self.notes = Notes(len(self.numbered) if is_fast else 0)
        self.is_fast = is_fast
        self.is_alone = is_alone  # whether copies of loops are alone
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self.known = Known()
        self._names: dict[Value, str] = {}
        self._count = 0
        # Numbered: names of a program's variables may hold any letters, which llvmlite does not take.
        self.places = {
            variable.name: f"%v{number}"
            for number, variable in enumerate((*nest.cells, *nest.others))
        }
        self._types = {each.name: each.type for each in (*nest.cells, *nest.others)}
        for number in self.temporaries():
            for part in ("data", *(f"length{axis}" for axis in range(self.numbered[number].ndim))):
                self.places[own_variable(number, part)] = f"%{part}{number}.place"
        self._bounds: Bounds = {}  # of variables that were not set since the block began
        self.table = 0  # words of the table that array statements are described in
        self.shared = 0  # words that a loop is described in which threads may share
        self.batches = 0  # words of the buffers of calls that come in batches
        self.groups: dict[int, str] = {}  # what calls for several numbers have given
        self.has_groups = False  # whether there is room for these
        self.unknown: set[str] = set()  # bits, one for each turn of a batch
        self.doubt = (
            "doubt"  # where the block goes in doubt: to that of its turn, or of none in particular
        )
        self.globals: list[str] = []
        self.is_copy = False  # whether the block is of a copy of a loop without checks
        self.is_late = False  # and doubts of it are to come late
        self.consumed: set[Value] = set()  # results in the block that need not be watched
        self._hidden: dict[str, str] = {}  # constants, by their lines
        self.stored: set[Value] = set()  # results in the block that are watched two at once
        self._odd: list[str] = []  # conditions of a doubt behind the block
        self._stored: dict[str, list[str]] = {}  # of the block's results, what is stored, by types
        self.odd_types = sorted(set(_late_types(nest))) if is_fast else []

    # Text

    def add(self, text: str) -> str:
        """Append an instruction that gives the same whenever it is done; the name of its result."""
        found = self.known.made.get(text)
        if found is None:
            found = self.known.made[text] = self.add_new(text)
        return found

    def add_new(self, text: str) -> str:
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
        """Append an operation that rounds: a constrained one, or a plain one."""
        if self.is_plain:
            if name.startswith("sqrt"):
                self.declared.add(f"declare {result} @llvm.{name}({result})")
            return self.add(plain_text(name, result, arguments))
        extra = [("metadata", '!"round.tonearest"'), ("metadata", '!"fpexcept.strict"')]
        return self.intrinsic(f"llvm.experimental.constrained.{name}", result, arguments + extra)

    def compare(self, predicate: str, left: str, right: str, type_: str = F64) -> str:
        """Append a quiet comparison of two reals."""
        if self.is_plain:
            return self.add(f"fcmp {predicate} {TYPES[type_]} {left}, {right}")
        return self.intrinsic(
            f"llvm.experimental.constrained.fcmp.{type_}",
            "i1",
            [
                (TYPES[type_], left),
                (TYPES[type_], right),
                ("metadata", f'!"{predicate}"'),
                ("metadata", '!"fpexcept.strict"'),
            ],
        )

    def with_overflow(self, word: str, left: str, right: str, type_: str = "i64") -> str:
        """Append integer arithmetic, and a doubt where the result does not fit."""
        size = self._size(word, left, right) if type_ == "i64" else None
        if size is not None:
            result = self.add(f"{word[1:]} nsw i64 {left}, {right}")
            self.known.sizes[result] = size
            return result
        if self.is_loose and type_ == "i64":
            known = self._by_number(word, left, right)
            if known is not None:
                return known
        if self.is_late and word in {"sadd", "ssub"}:
            return self._with_late_overflow(word[1:], left, right, type_)
        both = self.intrinsic(
            f"llvm.{word}.with.overflow.{type_}",
            f"{{ {type_}, i1 }}",
            [(type_, left), (type_, right)],
        )
        result = self.add(f"extractvalue {{ {type_}, i1 }} {both}, 0")
        self.refuse(self.add(f"extractvalue {{ {type_}, i1 }} {both}, 1"))
        return result

    def _size(self, word: str, left: str, right: str) -> int | None:
        """How large the result of arithmetic with a sign may be, where it is known to fit."""
        one, other = (
            abs(int(each)) if is_number(each) else self.known.sizes.get(each)
            for each in (left, right)
        )
        if one is None or other is None or word[0] != "s":
            return None
        size = one * other if word == "smul" else one + other
        return size if size <= HIGHEST else None

    def _with_late_overflow(self, word: str, left: str, right: str, type_: str) -> str:
        """The same of what LLVM has vectors for."""
        result = self.add(f"{word} {type_} {left}, {right}")
        one = self.add(f"xor {type_} {left}, {result}")
        other = self.add(f"xor {type_} {right}, {result if word == 'add' else left}")
        self._note_negative(self.add(f"and {type_} {one}, {other}"), type_)
        return result

    def _by_number(self, word: str, left: str, right: str) -> str | None:
        """The same of a product with a number, and of what is added to that.

        What overflows is known by the other factor, beside the product, for which two additions may do; a product that
        is near the limits is in doubt, too, so that what is added needs no test. None for all else.
        """
        for one, other in ((left, right), (right, left)):
            if not is_number(other):
                continue
            number, spare = int(other), self.known.spare.get(one, -1) - abs(int(other))
            if word == "smul" and abs(number) > 1:
                most = (HIGHEST - SPARE) // abs(number)
                above = self.add(f"add i64 {one}, {most}")
                self.refuse(self.add(f"icmp ugt i64 {above}, {2 * most}"))
                result = self.add(f"mul i64 {one}, {number}")
                self.known.spare[result] = SPARE
                return result
            if spare >= 0 and (word == "sadd" or (word == "ssub" and other == right)):
                result = self.add(f"{word[1:]} i64 {left}, {right}")
                self.known.spare[result] = spare
                return result
        return None

    def _note_negative(self, value: str, type_: str) -> None:
        """Append: the loop is in doubt, late, where an integer is negative; LLVM keeps sums of bits in vectors."""
        if f"late {value}" in self.known.refuted:
            return
        self.known.refuted.add(f"late {value}")
        before = self.add_new(f"load {type_}, ptr %odd.{type_}")
        self.lines.append(
            f"store {type_} {self.add_new(f'or {type_} {before}, {value}')}, ptr %odd.{type_}"
        )

    def towards_zero(self, real: str) -> str:
        """Append a double as an integer, and a doubt where that does not fit."""
        self.go_on_if(self.compare("oge", real, literal(float(LOWEST), F64)))
        self.go_on_if(self.compare("olt", real, literal(-float(LOWEST), F64)))
        return self.intrinsic(
            "llvm.experimental.constrained.fptosi.i64.f64",
            "i64",
            [("double", real), ("metadata", '!"fpexcept.strict"')],
        )

    @property
    def is_loose(self) -> bool:
        """Whether the block is one of better code in which a doubt about integers may come late."""
        return self.is_fast and self.is_copy

    @property
    def is_plain(self) -> bool:
        """Whether the block is one of better code in which floating point is plain."""
        return self.is_fast and (self.is_copy or self.is_alone)

    def note_odd(self, condition: str) -> None:
        """Append: the loop is in doubt where the condition holds; late, or behind the block where others are not.

        One way out there leaves the block whole: what it loads is known to LLVM to be loaded in every turn, so what the
        turn before stored need not be.
        """
        if not self.is_late:
            if self.is_loose:
                self._odd.append(condition)
            else:
                self.doubt_if(condition)
            return
        before = self.add_new("load i1, ptr %odd")
        self.lines.append(f"store i1 {self.add_new(f'or i1 {before}, {condition}')}, ptr %odd")

    def end_block(self) -> None:
        """Append the doubt that is kept for the end of a block, or of a part of it that is done seldom."""
        if self._odd:
            odd = self._odd[0]
            for condition in self._odd[1:]:
                odd = self.add_new(f"or i1 {odd}, {condition}")
            self._odd = []
            self.doubt_if(odd)

    def doubt_if_odd(self) -> None:
        """Append the doubt of a loop that is left."""
        odd, following = self.add_new("load i1, ptr %odd"), self.label()
        for type_ in self.odd_types:
            word = self.add_new(f"load {type_}, ptr %odd.{type_}")
            is_negative = self.add_new(f"icmp slt {type_} {word}, 0")
            odd = self.add_new(f"or i1 {odd}, {is_negative}")
        self.lines += [f"br i1 {odd}, label %late, label %{following}, !prof !1", f"{following}:"]

    def odd_lines(self) -> list[str]:
        """What makes the variables that late doubts are noted in, for the entry."""
        noted = {"%odd": "i1"} | {f"%odd.{type_}": type_ for type_ in self.odd_types}
        return [
            line
            for place, type_ in noted.items()
            for line in (f"{place} = alloca {type_}", f"store {type_} 0, ptr {place}")
        ]

    def real(self, number: float, type_: str) -> str:
        """A constant, in better code one that LLVM does not see through."""
        if not self.is_fast:
            return literal(number, type_)
        key = f"{type_} {literal(number, type_)}"
        return self._hidden.setdefault(key, f"%hidden{len(self._hidden)}")

    def opaque(self, number: int, type_: str) -> str:
        """A constant integer that LLVM does not see through."""
        return self._hidden.setdefault(f"{type_} {number}", f"%hidden{len(self._hidden)}")

    def hidden_lines(self) -> list[str]:
        """What gives constants their names, for the entry."""
        return [
            line for key, name in self._hidden.items() for line in _hidden_lines(name, *key.split())
        ]

    def label(self) -> str:
        """A name for a place in the function."""
        self._count += 1
        return f"l{self._count}"

    def go_on_if(self, condition: str) -> None:
        """Append a doubt where the condition does not hold."""
        if condition in self.known.checked:
            return
        self.known.checked.add(condition)
        following = self.label()
        self.lines += [f"br i1 {condition}, label %{following}, label %{self.doubt}, !prof !0"]
        self.lines.append(f"{following}:")

    def doubt_if(self, condition: str) -> None:
        """Append a doubt where the condition holds."""
        if condition in self.known.refuted:
            return
        self.known.refuted.add(condition)
        following = self.label()
        self.lines += [f"br i1 {condition}, label %{self.doubt}, label %{following}, !prof !1"]
        self.lines.append(f"{following}:")

    def refuse(self, condition: str) -> None:
        """As `doubt_if` where what follows may be done in any case."""
        if not self.is_loose:
            self.doubt_if(condition)
        elif f"late {condition}" not in self.known.refuted:
            self.known.refuted.add(f"late {condition}")
            self.note_odd(condition)

    def otherwise(self, condition: str, value: str, type_: str, other: Callable[[], str]) -> str:
        """Append a choice: a value where a condition holds, as it mostly does, else what is computed only there.

        With weights: registers are then saved around its calls only, and not kept in memory all along.
        """
        before, seldom, ending, following = (self.label() for _ in range(4))
        self.lines += [f"br label %{before}", f"{before}:"]
        self.lines.append(f"br i1 {condition}, label %{following}, label %{seldom}, !prof !0")
        self.lines.append(f"{seldom}:")
        known, self.known = self.known, self.known.copy()
        odd, self._odd = self._odd, []
        result = other()
        self.end_block()
        self.known, self._odd = known, odd
        self.lines += [f"br label %{ending}", f"{ending}:"]
        self.lines += [f"br label %{following}", f"{following}:"]
        return self.add_new(f"phi {type_} [ {value}, %{before} ], [ {result}, %{ending} ]")

    def accept(self, condition: str) -> None:
        """As `go_on_if` where what follows may be done in any case."""
        if self.is_loose:
            self.refuse(self.add(f"xor i1 {condition}, true"))
        else:
            self.go_on_if(condition)

    def lose_patience(self, turns: str) -> None:
        """Append: so many turns are done; where they are many, ask whether to go on, a doubt if not."""
        patience = self.add_new("load i64, ptr %patience")
        left = self.add_new(f"sub i64 {patience}, {turns}")
        self.lines.append(f"store i64 {left}, ptr %patience")
        is_out = self.add_new(f"icmp slt i64 {left}, 0")
        asking, following = self.label(), self.label()
        self.lines += [
            f"br i1 {is_out}, label %{asking}, label %{following}, !prof !1",
            f"{asking}:",
        ]
        if self.is_alone:
            self.doubt_if_odd()
        more = self.add_new(f"call i64 {self.symbol('helper.patience')}() #2")
        self.lines.append(f"store i64 {more}, ptr %patience")
        is_over = self.add_new(f"icmp eq i64 {more}, 0")
        self.lines += [f"br i1 {is_over}, label %doubt, label %{following}", f"{following}:"]

    # Values

    def begin_block(self, known: Known, bounds: Bounds) -> None:
        """Forget values, which are used in their own block; take over what is known where it begins."""
        self.known = known
        self._names.clear()
        self._bounds = dict(bounds)
        for name, text in known.variables.items():
            if name in bounds:
                known.bounds[text] = max(bounds[name], known.bounds.get(text, bounds[name]))

    def temporaries(self) -> range:
        """Their numbers."""
        return range(self.given, len(self.numbered))

    def data(self, number: int) -> str:
        """Where an array's memory begins."""
        if number < self.given:
            return f"%data{number}"
        return self.get(own_variable(number, "data"), "ptr")

    def length(self, number: int, axis: int) -> str:
        """An array's length."""
        if number < self.given:
            return f"%length{number}.{axis}"
        return self.get(own_variable(number, f"length{axis}"), I64)

    def stride(self, number: int, axis: int) -> str:
        """The bytes from one element to the next; a temporary lies in C order."""
        if number < self.given:
            return f"%stride{number}.{axis}"
        array = self.numbered[number]
        stride = str(array.dtype.itemsize)
        for inner in range(array.ndim - 1, axis, -1):
            stride = self.add(f"mul i64 {self.length(number, inner)}, {stride}")
        return stride

    def type_of(self, name: str) -> str:
        """The type of a variable."""
        return self._types[name]

    def symbol(self, name: str) -> str:
        """What `symbols.py` has under a name. No function for LLVM: it would have to be called as it is declared."""
        text = f'@"{PREFIX}{name}"'
        self.declared.add(f"{text} = external global i8")
        return text

    def call(self, name: str, result: str, arguments: str) -> str:
        """Append the call of a function of C's; the name of its result."""
        if not name.startswith(ROW):  # it may write into the table
            self.known.table.clear()
        return self.add_new(f"call {result} {self.symbol(name)}({arguments}) #1")

    def get(self, name: str, type_: str) -> str:
        """A variable's value."""
        held = self.known.variables.get(name)
        if held is None:
            held = self.add_new(f"load {TYPES[type_]}, ptr {self.places[name]}")
            self.known.variables[name] = held
            if name in self._bounds:
                self.known.bounds[held] = self._bounds[name]
        return held

    def set(self, name: str, value: Value) -> None:
        """Keep a value in a variable."""
        self.known.variables[name] = self.operand(value)
        self.lines.append(
            f"store {TYPES[value.type]} {self.operand(value)}, ptr {self.places[name]}"
        )

    def keep_own(self, number: int, part: str, type_: str, text: str) -> None:
        """Keep a part of a temporary."""
        name = own_variable(number, part)
        self.known.variables[name] = text
        self.lines.append(f"store {type_} {text}, ptr {self.places[name]}")

    def keep(self, one: Instruction, text: str) -> None:
        """Note what the result of an instruction is called."""
        result = one.result
        if result is None:
            return
        self._names[result] = text
        known = self.known
        if one.op == "const":
            known.constants[text] = one.attributes[0]
        if result.type in INTEGERS:
            self._note_bound(one, text)
        if self.is_plain and is_plain(one):
            if result not in self.consumed:
                self._watch(result, text)
            known.numbers.add(text)  # else the loop is in doubt
        elif _is_never_nan(one):
            known.numbers.add(text)
        elif result.type in REALS and one.op in ARITHMETIC | FOLLOWING:
            known.clashes[text] = self._clashes(one)

    def _note_bound(self, one: Instruction, text: str) -> None:
        known, inputs = self.known, [self._names[value] for value in one.inputs]
        last = known.constants.get(inputs[-1]) if inputs else None
        low = bound(one, [known.bounds.get(each) for each in inputs], last)
        if low is not None:
            known.bounds[text] = max(low, known.bounds.get(text, low))

    def _watch(self, result: Value, text: str) -> None:
        if result in self.stored and self.is_loose and not self.is_late:
            self._stored.setdefault(result.type, []).append(text)
        else:
            self.note_odd(self._is_odd(text, result.type))

    def end_stored(self) -> None:
        """Append a doubt where something is NaN that the block has stored.

        A comparison of two tells it of both, and the doubt undoes what is stored.
        """
        for type_, texts in self._stored.items():
            for one, other in zip(texts[::2], [*texts[1::2], texts[-1]], strict=False):
                self.note_odd(self.compare("uno", one, other, type_))
        self._stored = {}
        self.end_block()

    def _is_odd(self, text: str, type_: str) -> str:
        return self.compare("ugt", text, self.real(math.inf, type_), type_)

    def watch(self, name: str) -> None:
        """Append a doubt where a variable is infinite or no number."""
        type_ = self.type_of(name)
        self.doubt_if(self._is_odd(self.get(name, type_), type_))

    def operand(self, value: Value) -> str:
        """How a value is written."""
        return self._names[value]

    def constant(self, value: Value) -> Any:
        """A value's number where it is known."""
        return self.known.constants.get(self._names[value])

    def is_small(self, value: Value) -> bool:
        """Whether an integer is known to be zero or more; where overflow is a late doubt bounds do not hold yet."""
        if self.is_loose:
            return (self.constant(value) or 0) > 0
        return self.known.bounds.get(self._names[value], -1) >= 0

    def _clashes(self, one: Instruction) -> dict[Clash, bool]:
        clashes: dict[Clash, bool] = {}
        operands = [self._names[value] for value in one.inputs]
        for operand in operands:
            for pair, always in self.known.clashes.get(operand, {}).items():
                clashes[pair] = clashes.get(pair, False) or (always and one.op != "select")
        if one.op in ARITHMETIC:
            left, right = operands
            if left != right and not {left, right} & self.known.numbers:
                clashes[left, right, one.inputs[0].type] = True
        return clashes

    def settle(self, value: Value) -> None:
        """Append a doubt where the bits of a NaN are up to the compiler: before the value is kept."""
        operand, known = self.operand(value), self.known
        clashes = known.clashes.get(operand, {})
        waiting = [pair for pair in clashes if pair not in known.settled]
        if not waiting:
            return
        is_nan = self.compare("uno", operand, operand, value.type)
        if len(waiting) > MOST_SETTLED:
            self.doubt_if(is_nan)
        else:
            self._settle_nan(is_nan, waiting)
        known.settled |= {pair for pair in waiting if clashes[pair]}

    def _settle_nan(self, is_nan: str, waiting: list[Clash]) -> None:
        seldom, following, known = self.label(), self.label(), self.known
        self.lines.append(f"br i1 {is_nan}, label %{seldom}, label %{following}, !prof !1")
        self.lines.append(f"{seldom}:")
        self.known = known.copy()  # what is done here is not done on the other way
        for left, right, type_ in waiting:
            are_nan = [self.compare("uno", one, one, type_) for one in (left, right)]
            whole = f"i{type_[1:]}"
            bits = [self.add(f"bitcast {TYPES[type_]} {one} to {whole}") for one in (left, right)]
            both = self.add(f"and i1 {are_nan[0]}, {are_nan[1]}")
            unlike = self.add(f"icmp ne {whole} {bits[0]}, {bits[1]}")
            self.doubt_if(self.add(f"and i1 {both}, {unlike}"))
        self.lines += [f"br label %{following}", f"{following}:"]
        self.known = known

    def at(self, one: Instruction) -> tuple[str, str]:
        """Append the checks of an index; the type of the element in memory, and its address."""
        number, *_ = one.attributes
        array = self.numbered[number]
        kind = element_type(array.dtype)
        type_ = "i8" if kind == I1 else TYPES[kind]
        if one.is_sure:
            return type_, self._sure_address(number, one, type_)
        address, whole = self._first(one, type_)
        offset = ""
        for axis, index in enumerate(one.inputs[: array.ndim]):
            length = self.length(number, axis)
            place = self.operand(index)
            if self.is_fast and self.constant(index) is None and not self.is_small(index):
                place = self._inside(place, length)
            else:
                place = self._wrapped(index, place, length)
                self.go_on_if(self.add(f"icmp ult i64 {place}, {length}"))
            if one.is_dense and axis == array.ndim - 1:
                address = self._moved(address, offset)
                return type_, self.add(f"getelementptr {whole}, ptr {address}, i64 {place}")
            part = self.add(f"mul i64 {place}, {self.stride(number, axis)}")
            offset = self.add(f"add i64 {offset}, {part}") if offset else part
        return type_, self._moved(address, offset)

    def _wrapped(self, index: Value, place: str, length: str) -> str:
        """Append: a negative index is counted from the end."""
        if self.is_small(index):
            return place
        wrapped = self.add(f"add i64 {place}, {length}")
        if (self.constant(index) or 0) < 0:
            return wrapped
        is_negative = self.add(f"icmp slt i64 {place}, 0")
        return self.add(f"select i1 {is_negative}, i64 {wrapped}, i64 {place}")

    def _inside(self, place: str, length: str) -> str:
        """Append the check of an index, in better code: first that it is not counted from the end."""
        key = f"inside {place}, {length}"
        found = self.known.made.get(key)
        if found is None:
            is_inside = self.add(f"icmp ult i64 {place}, {length}")
            found = self.otherwise(is_inside, place, "i64", lambda: self._from_end(place, length))
            self.known.made[key] = found
        return found

    def _from_end(self, place: str, length: str) -> str:
        """Append the place of an index that is not inside, and a doubt unless it is counted from the end."""
        wrapped = self.add(f"add i64 {place}, {length}")
        self.go_on_if(self.add(f"icmp ult i64 {wrapped}, {length}"))
        return wrapped

    def _moved(self, address: str, offset: str) -> str:
        return self.add(f"getelementptr i8, ptr {address}, i64 {offset}") if offset else address

    def _first(self, one: Instruction, type_: str) -> tuple[str, str]:
        """Where the first element of an array lies, or a part of it; and the type that lies from it to the next."""
        number, *parts = one.attributes
        address = self.data(number)
        if parts == [PARTS[1]]:
            address = self.add(f"getelementptr i8, ptr {address}, i64 {PART_SIZE}")
        return address, f"[{len(PARTS)} x {type_}]" if parts else type_

    def _sure_address(self, number: int, one: Instruction, type_: str) -> str:
        """Append the address of an element whose indices are inside, first of its line."""
        address, whole = self._first(one, type_)
        last = self.numbered[number].ndim - 1
        for axis, index in enumerate(one.inputs[: last + 1]):
            place = self.operand(index)
            if (self.constant(index) or 0) < 0:
                place = self.add(f"add i64 {place}, {self.length(number, axis)}")
            if one.is_dense and axis == last:
                return self.add(f"getelementptr inbounds {whole}, ptr {address}, i64 {place}")
            part = self.add(f"mul nsw i64 {place}, {self.stride(number, axis)}")
            address = self.add(f"getelementptr inbounds i8, ptr {address}, i64 {part}")
        return address


def _hidden_lines(name: str, type_: str, text: str) -> list[str]:
    if type_ in REALS:
        return hidden(name, TYPES[type_], _bits(type_, text))
    return [f'{name} = call {TYPES[type_]} asm "", "=r,0"({TYPES[type_]} {text}) #1']


def _bits(type_: str, text: str) -> int:
    """Those of a constant of a type, from how LLVM writes it: as a double."""
    word = int(text, 16).to_bytes(8, "little")
    if type_ == F64:
        return int.from_bytes(word, "little")
    (number,) = struct.unpack("<d", word)
    return int.from_bytes(struct.pack("<f", number), "little")


def literal(number: float, type_: str) -> str:
    """A constant."""
    if type_ in REALS:
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(number)))[0]:016X}"
    if type_ == I1:
        return "true" if number else "false"
    return str(int(number))


def is_number(text: str) -> bool:
    """Whether an integer is written as it is."""
    return text[-1].isdigit() and text[0] != "%"


def _late_types(nest: Nest) -> Iterator[str]:
    """The types of integers whose overflow may be noted late, in sign bits."""
    for block in nest.blocks:
        if is_late(block):
            for one in block.instructions:
                if one.op in LATE and one.result and one.result.type in WHOLE and not one.is_sure:
                    yield TYPES[one.result.type]


def _is_never_nan(one: Instruction) -> bool:
    """Whether an instruction gives a number, where it gives a real."""
    if one.op == "const":
        return bool(one.attributes[0] == one.attributes[0])
    if one.op == "call":
        return not one.attributes[0].startswith("numpy.")
    return one.op.startswith("to_") and one.inputs[0].type in INTEGERS


def result_type(one: Instruction) -> str:
    """The type of what an instruction gives, or nothing."""
    return one.result.type if one.result is not None else ""


def of_word(body: Body, word: str, type_: str) -> str:
    """The value of a type that lies in a word, as a Register of C holds it; a double is one already."""
    if type_ == I1:
        return body.add(f"icmp ne i64 {word}, 0")
    if type_ == F32:
        return body.add(f"bitcast i32 {body.add(f'trunc i64 {word} to i32')} to float")
    if type_ in INTEGERS and TYPES[type_] != "i64":
        return body.add(f"trunc i64 {word} to {TYPES[type_]}")
    return word


def as_word(body: Body, value: str, type_: str) -> str:
    """As `of_word`, the other way."""
    if type_ == F32:
        value = body.add(f"bitcast float {value} to i32")
        return body.add(f"zext i32 {value} to i64")
    if type_ == F64 or TYPES[type_] == "i64":
        return value
    extend = "sext" if type_.startswith("i") and type_ != I1 else "zext"
    return body.add(f"{extend} {TYPES[type_]} {value} to i64")

"""Nests written by hand, and their machine code called as C."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.nests.executed import Own
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.nest_code.maps import SCRATCHES
from ufuse.backends.numpy.nest_code.nests import compiled_nest, improved_nest
from ufuse.graph.nest import Block, End, Instruction, Map, Nest, View
from ufuse.graph.nest_slots import ArraySlot, NumberSlot, RangeSlot, Slot
from ufuse.graph.nest_types import (
    ELEMENTS,
    F32,
    F64,
    I1,
    I64,
    SIGNATURES,
    TURNS,
    U64,
    Value,
    Variable,
)
from ufuse.graph.semantics.nest_arithmetic import bits

# With the lock of the interpreter held: NumPy's loops may set exceptions.
FUNCTION = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
# glibc's on x86-64
FLAGS = {"invalid": 1, "divide": 4, "overflow": 8, "underflow": 16}
MATHEMATICS = ctypes.CDLL("libm.so.6")


class Code:
    """A nest that grows: `code.add(x, y)` appends an instruction to the open block; the result is its value."""

    def __init__(self, *slots: Slot) -> None:
        self.slots = slots
        self.temporaries: list[ArraySlot] = []
        self.others: dict[str, Variable] = {}
        self.blocks: list[Block] = []
        self._label = ""
        self._open: list[Instruction] = []
        self._count = 0
        self._types = {one.name: one.type for one in self.nest().cells}

    def nest(self) -> Nest:
        """What was written."""
        others, blocks = tuple(self.others.values()), tuple(self.blocks)
        return Nest("test", self.slots, others, blocks, tuple(self.temporaries))

    def begin(self, label: str) -> None:
        """Open a block."""
        self._label = label
        self._open = []

    def end(self, kind: str, *targets: str, condition: Value | None = None) -> None:
        """Close the block."""
        self.blocks.append(Block(self._label, tuple(self._open), End(kind, targets, condition)))

    def append(
        self, op: str, inputs: Sequence[Value], type_: str | None, *attributes: Any
    ) -> Value:
        """Append any instruction."""
        self._count += 1
        result = Value(self._count, type_ or I1)
        self._open.append(Instruction(op, tuple(inputs), result if type_ else None, attributes))
        return result

    def constant(self, type_: str, number: float) -> Value:
        """A number of any type."""
        return self.append("const", (), type_, number)

    def real(self, number: float) -> Value:
        """A float."""
        return self.append("const", (), F64, number)

    def whole(self, number: int) -> Value:
        """An integer."""
        return self.append("const", (), I64, number)

    def truth(self, number: bool) -> Value:
        """A bool."""
        return self.append("const", (), I1, number)

    def op(self, name: str, *inputs: Value) -> Value:
        """An operation of SIGNATURES, by the types of its inputs."""
        takes, type_ = SIGNATURES[name, inputs[0].type]
        assert takes == tuple(value.type for value in inputs)
        return self.append(name, inputs, type_)

    def get(self, name: str) -> Value:
        """A variable's value."""
        return self.append("get", (), self._types[name], name)

    def set(self, name: str, value: Value) -> None:
        """Keep a value in a variable, a new one where it is not known."""
        if name not in self._types:
            self._types[name] = value.type
            self.others[name] = Variable(name, value.type)
        self.append("set", (value,), None, name)

    def load(self, array: int, *index: Value) -> Value:
        """An element."""
        return self.append("load", index, ELEMENTS[self.nest().numbered[array].dtype], array)

    def store(self, array: int, *index_and_value: Value) -> None:
        """Write an element."""
        self.append("store", index_and_value, None, array)

    def select(self, condition: Value, then: Value, other: Value) -> Value:
        """One of two."""
        return self.append("select", (condition, then, other), then.type)

    def dim(self, array: int, axis: int) -> Value:
        """A length."""
        return self.append("dim", (), I64, array, axis)

    def call(self, name: str, *inputs: Value) -> Value:
        """A function of C."""
        return self.append("call", inputs, inputs[0].type, name)

    def alloc(self, number: int, *lengths: Value) -> None:
        """Memory for a temporary."""
        self.append("alloc", lengths, None, number)

    def map(self, what: Map, *inputs: Value) -> None:
        """An array statement."""
        self.append("map", inputs, None, what)

    def fold(self, name: str, view: View, length: Value, *places: Value) -> Value:
        """All elements of a vector, added up or the like."""
        type_ = ELEMENTS[self.nest().numbered[view.array].dtype]
        return self.append("fold", (length, *places), type_, name, view)

    def dot(self, name: str, one: View, other: View, length: Value, *places: Value) -> Value:
        """The product of two vectors."""
        type_ = ELEMENTS[self.nest().numbered[one.array].dtype]
        return self.append("dot", (length, *places), type_, name, one, other)

    def doubt_if(self, condition: Value) -> None:
        """A doubt."""
        self.append("doubt_if", (condition,), None)

    def header(self, name: str, body: str, label: str = "header") -> Value:
        """The header of the outermost loop over the range slot `name`; opens its body; the turn's number."""
        self.begin(label)
        left, turns, zero = self.get(f"{name}.left"), self.get(TURNS), self.whole(0)
        some = self.op("and", self.op("igt", left, zero), self.op("igt", turns, zero))
        self.end("branch", body, "out", condition=some)
        self.begin("out")
        self.end("leave")
        self.begin(body)
        one = self.whole(1)
        self.set(TURNS, self.op("sub", self.get(TURNS), one))
        self.set(f"{name}.left", self.op("sub", self.get(f"{name}.left"), one))
        index = self.get(f"{name}.next")
        self.set(f"{name}.next", self.op("add", index, self.get(f"{name}.step")))
        return index

    def loop(self, name: str, start: Value, stop: Value, after: str, step: int = 1) -> Value:
        """A loop inside: opens its body, which must end in `self.again(name)`; then `after` is to be opened."""
        self.set(name, start)
        self.set(f"{name}.stop", stop)
        self.end("jump", f"{name}.head")
        self.begin(f"{name}.head")
        compare = "ilt" if step > 0 else "igt"
        more = self.op(compare, self.get(name), self.get(f"{name}.stop"))
        self.end("branch", f"{name}.body", after, condition=more)
        self.begin(f"{name}.body")
        index = self.get(name)
        self.set(f"{name}.step", self.whole(step))
        return index

    def again(self, name: str, step: int = 1) -> None:
        """The end of a turn of an inner loop."""
        self.set(name, self.op("add", self.get(name), self.whole(step)))
        self.end("jump", f"{name}.head")


def turning(
    code: Code, name: str, first: Value, count: Value, step: Value | int, after: str
) -> Value:
    """An inner loop as the reader makes it: opens its body; the turn's number."""
    code.set(f"{name}.next", first)
    code.set(f"{name}.step", code.whole(step) if isinstance(step, int) else step)
    code.set(f"{name}.left", count)
    code.end("jump", f"{name}.head")
    code.begin(f"{name}.head")
    more = code.op("igt", code.get(f"{name}.left"), code.whole(0))
    code.end("branch", f"{name}.body", after, condition=more)
    code.begin(f"{name}.body")
    code.set(f"{name}.left", code.op("sub", code.get(f"{name}.left"), code.whole(1)))
    index = code.get(f"{name}.next")
    code.set(f"{name}.next", code.op("add", index, code.get(f"{name}.step")))
    return index


def array(
    name: str,
    dtype: Any = float,
    ndim: int = 1,
    *,
    is_written: bool = False,
    is_rebound: bool = False,
) -> ArraySlot:
    """A slot."""
    return ArraySlot(name, np.dtype(dtype), ndim, is_written, is_rebound)


def number(name: str, kind: str = "float", *, is_changed: bool = True) -> NumberSlot:
    """A slot."""
    return NumberSlot(name, kind, is_changed)


class Machine:
    """A nest's machine code."""

    def __init__(self, nest: Nest, *, is_improved: bool = False, **how: Any) -> None:
        self.nest = nest
        make = improved_nest if is_improved else compiled_nest
        made = Work(lambda: make(nest, **how)).result()
        assert made is not None
        self.address, self.owner = made
        self.function = FUNCTION(self.address)
        self.memory = (Own * (len(nest.temporaries) + SCRATCHES))()

    def execute(
        self, arrays: Sequence[np.ndarray], cells: dict[str, Any]
    ) -> tuple[bool, frozenset[str]]:
        """As `nest_reference.execute`, and the flags that were raised."""
        words: list[int] = []
        for one in arrays:
            words += [one.ctypes.data, *one.shape, *one.strides]
        kinds = {one.name: one.type for one in self.nest.cells}
        packed = b"".join(_word(cells[name], kind) for name, kind in kinds.items())
        memory = ctypes.create_string_buffer(packed, len(packed))
        given = (ctypes.c_int64 * max(1, len(words)))(*words)
        MATHEMATICS.feclearexcept(0x3F)
        status = self.function(ctypes.addressof(given), ctypes.addressof(memory), self.memory)
        raised = MATHEMATICS.fetestexcept(0x3F)
        MATHEMATICS.feclearexcept(0x3F)
        for place, (name, kind) in enumerate(kinds.items()):
            cells[name] = _number(memory.raw[8 * place : 8 * place + 8], kind)
        return status == 0, frozenset(name for name, bit in FLAGS.items() if raised & bit)


def _word(value: Any, kind: str) -> bytes:
    """As a Register of C holds it."""
    if kind == F32:
        return struct.pack("<Q", bits(value))
    return struct.pack("<d" if kind == F64 else "<Q" if kind == U64 else "<q", value)


def _number(word: bytes, kind: str) -> Any:
    if kind == F32:
        single: np.float32 = np.frombuffer(word, np.float32)[0]
        return single
    (value,) = struct.unpack("<d" if kind == F64 else "<Q" if kind == U64 else "<q", word)
    return bool(value) if kind == I1 else value


RANGE = RangeSlot("i")

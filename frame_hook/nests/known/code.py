"""Blocks of a nest while they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.graph.nest import Block, End, Instruction, Map
from ufuse.graph.nest_types import I64, INTEGERS, REALS, Value, Variable

# Whose results change with the memory.
OF_MEMORY = ("load", "fold", "dot", "position", "draw", "find", "enter", "peek", "room")


class Code:
    """The blocks written so far, and the one that is open."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.variables: dict[str, Variable] = {}
        self.unsure: set[str] = set()  # iterators that may go beyond all integers behind their end
        self._label: str | None = None
        self._instructions: list[Instruction] = []
        self._values = 0
        # Of the open block: what is known to give which value, constants, and what is doubted already.
        self._results: dict[Any, Value] = {}
        self._constants: dict[Value, Any] = {}
        self._doubted: set[Value] = set()

    def begin(self, label: str) -> None:
        """Open a block."""
        assert self._label is None
        self._label = label

    def end(
        self, kind: str, *targets: str, condition: Value | None = None, number: int = 0
    ) -> None:
        """Close the open block."""
        assert self._label is not None
        self.blocks.append(
            Block(self._label, tuple(self._instructions), End(kind, targets, condition, number))
        )
        self._label, self._instructions = None, []
        self._results, self._constants, self._doubted = {}, {}, set()

    @property
    def is_open(self) -> bool:
        """Whether a block is open."""
        return self._label is not None

    def op(self, name: str, type_: str, *inputs: Value, attributes: tuple[Any, ...] = ()) -> Value:
        """The result of an instruction: of one more, or of the same one that the block has already."""
        if type_ in REALS or name in OF_MEMORY:
            return self._added(name, type_, inputs, attributes)
        key = name, type_, inputs, *((type(one), one) for one in attributes)
        known = self._results.get(key)
        if known is None:
            known = self._results[key] = self._added(name, type_, inputs, attributes)
        return known

    def _added(
        self, name: str, type_: str, inputs: tuple[Value, ...], attributes: tuple[Any, ...]
    ) -> Value:
        result = Value(self._values, type_)
        self._values += 1
        self._instructions.append(Instruction(name, inputs, result, attributes))
        return result

    def constant(self, type_: str, value: Any) -> Value:
        """A constant."""
        assert type_ not in INTEGERS or isinstance(value, int | np.integer), value
        result = self.op("const", type_, attributes=(value,))
        self._constants[result] = value
        return result

    def known(self, value: Value) -> Any:
        """The number that a value of the open block is, or None."""
        return self._constants.get(value)

    def maker(self, value: Value) -> Instruction | None:
        """The instruction of the open block that has given a value."""
        made = (one for one in reversed(self._instructions) if one.result == value)
        return next(made, None)

    def loaded(self, type_: str, number: int, *inputs: Value, is_sure: bool) -> Value:
        """An element of an array; of indices that are inside, none of them negative, where it `is_sure`."""
        result = self._added("load", type_, inputs, (number,))
        self._instructions[-1] = replace(self._instructions[-1], is_sure=is_sure)
        return result

    def get(self, name: str, type_: str) -> Value:
        """What a variable holds: one object, however often it is read."""
        self._known(name, type_)
        key = "get", type_, (), (str, name)
        held = self._results.get(key)
        if held is None:
            held = self._results[key] = self._added("get", type_, (), (name,))
        return held

    def set(self, name: str, value: Value) -> None:
        """Give a variable a value."""
        self._known(name, value.type)
        self._instructions.append(Instruction("set", (value,), None, (name,)))
        self._results["get", value.type, (), (str, name)] = value

    def call(self, function: str, *inputs: Value) -> Value:
        """What a function of C's mathematics library returns."""
        return self.op("call", inputs[0].type, *inputs, attributes=(function,))

    def store(self, array: int, *inputs: Value, part: str = "") -> None:
        """Write an element, or a part of a complex one: indices, then the value."""
        attributes = (array, part) if part else (array,)
        self._instructions.append(Instruction("store", inputs, None, attributes))

    def append(self, number: int, value: Value) -> None:
        """One more element of a temporary."""
        self._instructions.append(Instruction("append", (value,), None, (number,)))
        self._results.pop(("dim", I64, (), (int, number), (int, 0)), None)

    def trim(self, number: int, count: Value) -> None:
        """Fewer elements of a temporary."""
        self._instructions.append(Instruction("trim", (count,), None, (number,)))
        self._results.pop(("dim", I64, (), (int, number), (int, 0)), None)

    def enter(self, keys: int, index: int, columns: tuple[int, ...], key: Value) -> Value:
        """The place of a key in a table, behind the others where it is new."""
        place = self.op("enter", I64, key, attributes=(keys, index, *columns))
        for number in (keys, *columns):
            self._results.pop(("dim", I64, (), (int, number), (int, 0)), None)
        return place

    def doubt_if(self, condition: Value) -> None:
        """Leave the rest to plain Python where a condition holds."""
        if condition not in self._doubted and self.known(condition) is not False:
            self._doubted.add(condition)
            self._instructions.append(Instruction("doubt_if", (condition,)))

    def map(self, statement: Map, *inputs: Value) -> None:
        """An array statement."""
        self._instructions.append(Instruction("map", inputs, None, (statement,)))

    def mark(self, name: str, number: int) -> None:
        """Leave a place for instructions that are not known yet, which change no variable that the block has read."""
        self._instructions.append(Instruction(name, (), None, (number,)))

    def fresh(self, type_: str) -> Value:
        """A value that no instruction has given yet."""
        self._values += 1
        return Value(self._values - 1, type_)

    def write(self, name: str, *inputs: Value, attributes: tuple[Any, ...]) -> None:
        """An instruction that writes a temporary."""
        self._instructions.append(Instruction(name, inputs, None, attributes))

    def alloc(self, number: int, *lengths: Value) -> None:
        """Give a temporary memory of its own."""
        self._instructions.append(Instruction("alloc", lengths, None, (number,)))
        for axis, length in enumerate(lengths):
            self._results["dim", I64, (), (int, number), (int, axis)] = length

    def _known(self, name: str, type_: str) -> None:
        known = self.variables.setdefault(name, Variable(name, type_))
        assert known.type == type_, name

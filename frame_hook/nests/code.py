"""Blocks of a nest while they are written."""

from __future__ import annotations

from typing import Any

from ufuse.graph.nest import F64, Block, End, Instruction, Value, Variable


class Code:
    """The blocks written so far, and the one that is open."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.variables: dict[str, Variable] = {}
        self._label: str | None = None
        self._instructions: list[Instruction] = []
        self._values = 0

    def begin(self, label: str) -> None:
        """Open a block."""
        assert self._label is None
        self._label = label

    def end(self, kind: str, *targets: str, condition: Value | None = None) -> None:
        """Close the open block."""
        assert self._label is not None
        self.blocks.append(
            Block(self._label, tuple(self._instructions), End(kind, targets, condition))
        )
        self._label, self._instructions = None, []

    @property
    def is_open(self) -> bool:
        """Whether a block is open."""
        return self._label is not None

    def op(self, name: str, type_: str, *inputs: Value, attributes: tuple[Any, ...] = ()) -> Value:
        """The result of one more instruction."""
        result = Value(self._values, type_)
        self._values += 1
        self._instructions.append(Instruction(name, inputs, result, attributes))
        return result

    def constant(self, type_: str, value: Any) -> Value:
        """A constant."""
        return self.op("const", type_, attributes=(value,))

    def get(self, name: str, type_: str) -> Value:
        """What a variable holds."""
        self._known(name, type_)
        return self.op("get", type_, attributes=(name,))

    def set(self, name: str, value: Value) -> None:
        """Give a variable a value."""
        self._known(name, value.type)
        self._instructions.append(Instruction("set", (value,), None, (name,)))

    def call(self, function: str, *inputs: Value) -> Value:
        """What a function of C's mathematics library returns."""
        return self.op("call", F64, *inputs, attributes=(function,))

    def store(self, array: int, *inputs: Value) -> None:
        """Write an element: indices, then the value."""
        self._instructions.append(Instruction("store", inputs, None, (array,)))

    def doubt_if(self, condition: Value) -> None:
        """Leave the rest to plain Python where a condition holds."""
        self._instructions.append(Instruction("doubt_if", (condition,)))

    def _known(self, name: str, type_: str) -> None:
        known = self.variables.setdefault(name, Variable(name, type_))
        assert known.type == type_, name

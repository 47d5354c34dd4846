"""The rows of a recipe: what is built around a graph's results and what is changed, one step each, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, NamedTuple, TypeVar

RowKind = Literal[
    "const", "tuple", "list", "dict", "slice", "cell", "call", "int",
    "list_set", "list_append", "dict_set", "cell_set", "set_attr", "only",
]  # fmt: skip
Operand = TypeVar("Operand")
Other = TypeVar("Other")


class Row(NamedTuple, Generic[Operand]):
    """One row; csrc/guards/recipe.c lists what each kind takes from registers.

    `operands` stand for registers: symbols in what a trace changes, the registers themselves in a recipe. `what` is
    the constant, the function that is called, the name of the attribute, the index, the program of the integer, or of
    "only" the truth of its operand with which the next row is done.
    """

    kind: RowKind
    operands: tuple[Operand, ...]
    what: Any = None

    def mapped(self, function: Callable[[Operand], Other]) -> Row[Other]:
        """The same row with other operands."""
        return Row(self.kind, tuple(map(function, self.operands)), self.what)


def flat(row: Row[int]) -> tuple[Any, ...]:
    """A row as C reads it: the kind, then registers and `what` in the order of the table in csrc/guards/recipe.c."""
    kind, operands, what = row
    match kind:
        case "const" | "int":
            return kind, what
        case "call":
            return kind, what, operands
        case "tuple" | "list" | "dict":
            return kind, operands
        case "only":
            return kind, *operands, int(what)
        case "list_set" | "set_attr":
            target, value = operands
            return kind, target, what, value
    return kind, *operands

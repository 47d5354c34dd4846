"""The guard program as the trace writes it: rows for C, and for each the sentence that explains its failure."""

from __future__ import annotations

import types
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Source
from ufuse.graph.size import Division, Expression, Size, Symbol

NAMED = (type, types.FunctionType, types.BuiltinFunctionType)
PLAIN = (int, float, complex, str, bytes, frozenset, type(None), type(...), np.dtype)
RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True, slots=True)
class Guard:
    """One row: `kind` and `operands` for the C program, `text` for people, `source` what it is about."""

    kind: str
    operands: tuple[Any, ...]
    text: str
    source: str


class Named:
    """Stands for an object that what is kept for people must not keep alive."""

    def __init__(self, value: Any) -> None:
        self.text = value.__name__ if isinstance(value, NAMED) else f"a {type(value).__name__}"

    def __repr__(self) -> str:
        return self.text


class GuardProgram:
    """Rows in the order they are checked; each load appends a register and is made once."""

    def __init__(self, state_size: int) -> None:
        self.rows: list[Guard] = []
        self._registers = state_size
        self._loads: dict[tuple[Any, ...], Source] = {}
        self._checks: set[tuple[Any, ...]] = set()

    def load(self, kind: str, *operands: Any, text: str) -> Source:
        """The register that a load row fills; the same load is one row."""
        key = (kind, *(o if type(o) in (int, str) else id(o) for o in operands))
        known = self._loads.get(key)
        if known is None:
            known = Source(self._registers, text)
            self._registers += 1
            self._loads[key] = known
            self.rows.append(Guard(kind, operands, f"{text} can no longer be found", text))
        return known

    def check(self, kind: str, *operands: Any, text: str, source: str) -> None:
        """Add a check row unless it stands already."""
        key = (kind, *map(_key, operands))
        if key not in self._checks:
            self._checks.add(key)
            self.rows.append(Guard(kind, operands, text, source))

    def remembered(self) -> tuple[Guard, ...]:
        """The rows for people, who are told what was compared with; the objects may die."""
        return tuple(replace(row, operands=tuple(map(_told, row.operands))) for row in self.rows)

    @property
    def registers(self) -> int:
        """How many registers the program has after its last row."""
        return self._registers

    def for_c(self) -> list[tuple[Any, ...]]:
        """The rows as `_hook.Entry` takes them."""
        return [(_hook.GUARD_KINDS[row.kind], *row.operands) for row in self.rows]


def _key(operand: Any) -> Any:
    """Equal for operands that check the same; arrays in tuples have no hash, and True is not 1."""
    kind = type(operand)  # an instance of a subclass may have a hash of the user's own
    if kind is tuple:
        return tuple(map(_key, operand))
    return (kind, operand) if kind in (int, bool, str) else id(operand)


def _told(operand: Any) -> Any:
    """An operand that keeps nothing alive but numbers and text."""
    if isinstance(operand, tuple):
        return tuple(map(_told, operand))
    if isinstance(operand, PLAIN):
        return operand
    return Named(operand)


def postfix(size: Size, leaves: dict[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """`size` in reverse Polish form for C; `leaves` says how each symbol is read.

    Raises:
        GraphBreak: it holds a number that no 64 bits hold.

    """
    if isinstance(size, int):
        if not -(2**63) <= size < 2**63:
            raise GraphBreak("operator", "arithmetic with very large numbers")
        return [("const", size)]
    program: list[tuple[Any, ...]] = []
    for position, (monomial, factor) in enumerate(size.terms):
        product: list[tuple[Any, ...]] = [("const", factor)] if factor != 1 or not monomial else []
        for atom in monomial:
            first = not product
            product += _postfix_atom(atom, leaves)
            if not first:
                product.append(("mul",))
        program += product
        if position:
            program.append(("add",))
    return program


def _postfix_atom(
    atom: Symbol | Division, leaves: dict[str, tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    if isinstance(atom, Symbol):
        return [leaves[atom.name]]
    operator = ("floordiv",) if atom.operator == "//" else ("mod",)
    return [*postfix(atom.left, leaves), *postfix(atom.right, leaves), operator]


def lower_bound(size: Size, least: dict[str, int]) -> int | None:
    """A number that `size` is never below, where one is easily seen; `least` bounds the symbols."""
    if isinstance(size, int):
        return size
    total = 0
    for monomial, factor in size.terms:
        product = factor
        if monomial and factor < 0:
            return None
        for atom in monomial:
            bound = least.get(atom.name) if isinstance(atom, Symbol) else None
            if bound is None or bound < 0:
                return None
            product *= bound
        total += product
    return total


def is_polynomial(size: Size) -> bool:
    """Whether `size` is known by an expression rather than by its value."""
    return isinstance(size, Expression)

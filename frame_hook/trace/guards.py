"""The guard program as the trace writes it: rows for C, and the sentence that says what is wrong when one fails."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.places import NAMED, Named, shown
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Source
from ufuse.graph.records import record
from ufuse.graph.size import Division, Expression, Size, Symbol, depth

RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# Operands that reports keep as they are: numbers, text, and what is made of these.
KEPT_AS_THEY_ARE = frozenset(
    {int, float, complex, bool, str, bytes, frozenset, type(None), type(...), Source, Expression}
)

DEEPEST = 30  # of what C computes: with another number beside it, it takes all room there
SYMMETRIC = frozenset({"DIFFERENT", "DISJOINT", "SAME"})  # whose two registers may be exchanged

# What is wrong when a row fails. `{0}`, … are its operands, or the fields that `check` was given instead: `{0}` is
# the program's name for a value or the name of a class or function, `{0!r}` the value itself, `{0.kind}` its class.
# fmt: off
SENTENCES = {
    "LOAD":            "{0} can no longer be found",  # every kind that fills a register
    "ABC_TOKEN":       "a class was registered, perhaps with {0}",
    "ABSENT":          "the global {1} is defined now",
    "ALL_DISJOINT":    "a written one of {1} arrays shares memory with another now",
    "APART":           "elements of {0} share memory now",
    "ARRAY":           "{0} is no longer a {2}-d array of {1}",
    "BASE":            "the bases of {0} were changed",
    "BIG_INT":         "{0} is no longer {1!r}",
    "BOUND":           "{0} has no value now",
    "CELL_EMPTY":      "{0} has a value now",
    "CLASS_LACKS":     "{0}.{1} is defined now",
    "CLASS_OWN_LACKS": "{0}.{1} is defined now",
    "CONTIGUOUS":      "{0} is no longer contiguous",
    "DICT_KEYS":       "{0} no longer has the keys {1!r}",
    "DICT_LACKS":      "{0} has the key {1!r} now",
    "DEVICE_ARRAY":    "{0} is no longer a {3}-d array of {1} on device {2}",
    "DEVICE_LAYOUT":   "{0} no longer lies in memory as it did, or is no {3}-d array of {1} on device {2}",
    "DIFFERENT":       "{0} and {1} are the same object now",
    "DISJOINT":        "{0} shares memory with {1} now",
    "EITHER_TYPE":     "{0} is no longer a {1} or {2}",
    "EQUAL":           "{0} is no longer {1!r}",
    "FIRST_TYPE":      "{0} no longer begins with a {1}",
    "FLOAT":           "{0} is no longer {1!r}",
    "FUNCTION":        "{0} was changed",
    "IDENTITY":        "{0} is another {1.kind} now",
    "INSTANCE_LACKS":  "{0} has an attribute {1} of its own now",
    "INT":             "{0} is no longer {1!r}",
    "LENGTH":          "{0} no longer has {1} items",
    "NOTHING_HANDLED": "an exception is being handled now",
    "NOT_DICT_OF":     "{0} is the __dict__ of {1} now",
    "NOT_FLOAT":       "{0} is now {1!r}",
    "ORDER":           "the axes of {0} no longer lie in memory as they did",
    "NO_FINALIZER":    "something runs now when {0} dies",
    "NO_FINALIZER_ATTR": "something runs now when {0}.{1} dies",
    "RELATION":        "{0} {1} {2} no longer holds",
    "SAME":            "{1} is no longer the same object as {0}",
    "SET_IS":          "{0} no longer has the same members",
    "SIZE":            "{0}.shape[{1}] is no longer {2}",
    "STR":             "{0} is no longer {1!r}",
    "TYPE":            "{0} is no longer a {1}",
    "UNBOUND":         "{0} has a value now",
    "WRITEABLE":       "{0} is read-only now",
    # other sentences for a kind, where more is known
    "ABSENT builtin":     "the builtin {1} is hidden by a global now",
    "CONTIGUOUS not":     "{0} is now contiguous",
    "DIFFERENT dicts":    "{0} and {1} are the same object now, or have one __dict__",
    "DEVICE_LAYOUT c":    "{0} is no longer a contiguous {3}-d array of {1} on device {2}",
    "IDENTITY globals":   "{0} has other globals now",
    "IDENTITY member":    "{0} is no longer the same member of {1.kind}",
    "IDENTITY plain":     "{0} is no longer {1!r}",
    "IDENTITY replaced":  "{0} was replaced",
    "RELATION equal":     "{0} no longer equals {1}",
    "RELATION large":     "{0} is very large now",
    "RELATION several":   "{0} is now 0 or 1",
    "SIZE few":           "{0}.shape[{1}] is no longer {2}",
    "TYPE of class":      "{0} has another metaclass now",
    "TYPE of number":     "{0} is no longer a Python {1}",
    "TYPE replaced":      "{0} was replaced",
}
# fmt: on


@record
class Guard:
    """One row: `kind` and `operands`, a `Source` among them for its register; `says` and `fields` make its sentence."""

    kind: str
    operands: tuple[Any, ...]
    source: (
        str  # what the program calls the value that is checked; "" where it is none of the frame's
    )
    says: str
    fields: tuple[Any, ...]

    @property
    def text(self) -> str:
        """What is wrong when the row fails, as a sentence."""
        return SENTENCES[self.says].format(*map(_Field, self.fields or self.operands))


class _Field:
    """An operand in a sentence: as a name, as a value (`!r`), or by its class (`.kind`)."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __str__(self) -> str:
        if type(self.value) is Source:
            return self.value.text
        return self.value.__name__ if isinstance(self.value, NAMED) else str(self.value)

    def __repr__(self) -> str:
        return shown(self.value)

    @property
    def kind(self) -> str:
        """The name of its class."""
        return self.value.kind if type(self.value) is Named else type(self.value).__name__


class GuardProgram:
    """Rows in the order they are checked; each load appends a register and is made once."""

    def __init__(self, state_size: int) -> None:
        self.rows: list[Guard] = []
        self._registers = state_size
        self._loads: dict[tuple[Any, ...], Source] = {}
        self._checks: set[tuple[Any, ...]] = set()

    def load(self, kind: str, *operands: Any, text: str) -> Source:
        """The register that a load row fills, which the program calls `text`; the same load is one row."""
        key = (kind, *map(_key, operands))
        known = self._loads.get(key)
        if known is None:
            known = Source(self._registers, text)
            self._registers += 1
            self._loads[key] = known
            self.rows.append(Guard(kind, operands, text, "LOAD", (known,)))
        return known

    def check(
        self,
        kind: str,
        *operands: Any,
        says: str = "",
        fields: tuple[Any, ...] = (),
        source: str = "",
    ) -> None:
        """Add a check row unless it stands already; `says` and `fields` where its kind and operands do not say it."""
        if kind in SYMMETRIC:
            fields, operands = operands, tuple(sorted(operands, key=attrgetter("register")))
        key = (kind, *map(_key, operands))
        if key not in self._checks:
            self._checks.add(key)
            if not source and operands and type(operands[0]) is Source:
                source = operands[0].text
            self.rows.append(Guard(kind, operands, source, says or kind, fields))

    def remembered(self) -> tuple[Guard, ...]:
        """The rows for reports: their operands are names of objects, which may die."""
        known: dict[int, Named] = {}
        kept = []
        for row in self.rows:
            operands = _for_reports(row.operands, known)
            fields = _for_reports(row.fields, known)
            is_kept = operands is row.operands and fields is row.fields
            kept.append(row if is_kept else Guard(row.kind, operands, row.source, row.says, fields))
        return tuple(kept)

    @property
    def registers(self) -> int:
        """How many registers the program has after its last row."""
        return self._registers

    def for_c(self) -> list[tuple[Any, ...]]:
        """The rows as `_hook.Entry` takes them."""
        return [
            (
                _hook.GUARD_KINDS[row.kind],
                *[one.register if type(one) is Source else one for one in row.operands],
            )
            for row in self.rows
        ]


def _key(operand: Any) -> Any:
    """Equal for operands that check the same; arrays in tuples have no hash, and True is not 1."""
    kind = type(operand)  # an instance of a subclass may have a hash of the user's own
    if kind is Source:
        return operand.register
    if kind is int or kind is str:
        return operand
    if kind is tuple:
        return tuple(map(_key, operand))
    return kind, id(operand)


def _for_reports(operand: Any, known: dict[int, Named]) -> Any:
    """An operand for reports, which keeps nothing alive but numbers and text; `known` has those met before, by id."""
    kind = type(operand)
    if kind in KEPT_AS_THEY_ARE:
        return operand
    if kind is tuple:
        for one in operand:
            if type(one) not in KEPT_AS_THEY_ARE:
                return tuple([_for_reports(one, known) for one in operand])
        return operand
    if issubclass(kind, np.dtype):
        return operand
    found = known.get(id(operand))
    if found is None:
        found = known[id(operand)] = Named(operand)
    return found


def postfix(size: Size, leaves: dict[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """`size` in reverse Polish form for C; `leaves` says how each symbol is read.

    Raises:
        GraphBreak: it holds a number that no 64 bits hold, or C has no room for so deep a number.

    """
    if depth(size) > DEEPEST:
        raise GraphBreak("operator", "numbers that are computed from each other in many steps")
    return _postfix(size, leaves)


def _postfix(size: Size, leaves: dict[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    if isinstance(size, int):
        if not -(2**63) <= size < 2**63:
            raise GraphBreak("operator", "arithmetic with very large numbers")
        return [("const", size)]
    program: list[tuple[Any, ...]] = []
    for position, (monomial, factor) in enumerate(size.terms):
        product: list[tuple[Any, ...]] = []
        for atom in monomial:
            first = not product
            product += _postfix_atom(atom, leaves)
            if not first:
                product.append(("mul",))
        if factor != 1 or not monomial:
            product.append(("const", factor))
            if monomial:
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
    return [*_postfix(atom.left, leaves), *_postfix(atom.right, leaves), operator]


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

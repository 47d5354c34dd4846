"""What a trace changes outside the graph: attributes, items, cells and globals, done in order when the graph has run.

Laws: 1. an effect cannot fail: what could, or could run the user's code, breaks the graph instead; 2. one object is one
symbol, so what was written is what is read; 3. an object that is changed is guarded to be none of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import Cell, Source, Symbol

if TYPE_CHECKING:
    from ufuse.frame_hook.guards import GuardProgram


APART = _hook.Entry([(_hook.NOT_DICT_OF, 0, 1)], (), None, 0, [], ("return", 0))


@dataclass(frozen=True, slots=True)
class Effect:
    """One row of a recipe that changes something; among the operands, symbols stand for registers."""

    row: str
    operands: tuple[Any, ...]


class Changes:
    """The effects of a trace, and which object of the frame is which symbol."""

    def __init__(self, guards: GuardProgram) -> None:
        self.effects: list[Effect] = []
        self._guards = guards
        self._symbols: dict[int, Symbol] = {}
        self._sources: dict[int, tuple[Source, type]] = {}  # of all that was looked at
        self._changed: dict[int, Source] = {}
        self._unseen: set[int] = set()  # changed without being looked at
        self._kept: list[Any] = []  # the examples whose id is a key
        self._dicts: list[tuple[Source, Any]] = []
        self._instances: list[tuple[Source, Any]] = []
        self._globals: dict[tuple[int, str], Symbol | None] = {}
        self._classes: dict[tuple[type, str], Symbol | None] = {}

    # One object is one symbol --------------------------------------------------------------------------------------

    def known(self, source: Source, value: Any) -> Symbol | None:
        """The symbol that this object of the frame already has, guarded to be the same object."""
        if id(value) in self._unseen:
            raise GraphBreak("effect", f"a change of {source.text}, which is read afterwards,")
        symbol = self._symbols.get(id(value))
        if symbol is not None:
            self._guard_same(source, self._sources[id(value)][0])
        return symbol

    def is_known(self, value: Any) -> bool:
        """Whether something has looked at this object of the frame."""
        return id(value) in self._symbols

    def _guard_same(self, source: Source, first: Source) -> None:
        if first.register != source.register:
            text = f"{source.text} is no longer the same object as {first.text}"
            self._guards.check(
                "SAME", first.register, source.register, text=text, source=source.text
            )

    def keep(self, source: Source, value: Any, symbol: Symbol) -> Symbol:
        """Remember the symbol of an object of the frame."""
        self._symbols[id(value)] = symbol
        self._sources[id(value)] = source, type(value)
        self._kept.append(value)
        self._keep_apart(source, value)
        return symbol

    def _keep_apart(self, source: Source, value: Any) -> None:
        """Break where an object of the frame and its own dict are both looked at: they would be two symbols."""
        if type(value) is dict:
            self._dicts.append((source, value))
            pairs = [(value, other) for _, other in self._instances]
        elif not type(value).__dictoffset__:
            return
        else:
            self._instances.append((source, value))
            pairs = [(table, value) for _, table in self._dicts]
        if any(APART.first_failing(pair) is not None for pair in pairs):
            raise GraphBreak(
                "effect", f"{source.text}, an object or its dict, of which the other is used too,"
            )

    # Effects -------------------------------------------------------------------------------------------------------

    def effect(self, row: str, *operands: Any) -> None:
        """Record one row of the recipe."""
        self.effects.append(Effect(row, operands))

    def call(self, function: Any, target: Symbol, *arguments: Symbol) -> None:
        """Record a call of a C function that changes `target`, where the frame brought that."""
        if self.note(target):
            self.effect("call", function, (target, *arguments))

    def note(self, target: Any) -> bool:
        """Remember that `target` is changed; False where the trace itself made it, which is no effect."""
        source = getattr(target, "source", None)
        if source is None:
            return False
        self._changed.setdefault(source.register, source)
        return True

    def unseen(self, source: Source, value: Any, function: Any, *arguments: Symbol) -> None:
        """Record a change of a container of the frame at whose content nothing has looked."""
        first = self._sources.get(id(value))
        if first is None:
            self._sources[id(value)] = source, type(value)
            self._kept.append(value)
        else:
            self._guard_same(source, first[0])
            source = first[0]
        self._unseen.add(id(value))
        self._changed.setdefault(source.register, source)
        self.effect("call", function, (RegisterOperand(source), *arguments))

    def guard_different(self) -> None:
        """Guard that no changed object is another object that was looked at."""
        if not self._changed:
            return
        kinds = {source.register: kind for source, kind in self._sources.values()}
        for register, source in self._changed.items():
            for other, kind in self._sources.values():
                if other.register == register or kind is not kinds.get(register):
                    continue
                first, second = sorted((register, other.register))
                text = f"{source.text} and {other.text} are the same object now"
                self._guards.check("DIFFERENT", first, second, text=text, source=source.text)
        for table, _ in self._dicts:
            for instance, _ in self._instances:
                if table.register in self._changed or instance.register in self._changed:
                    text = f"{table.text} is the dict of {instance.text} now"
                    self._guards.check(
                        "NOT_DICT_OF",
                        table.register,
                        instance.register,
                        text=text,
                        source=table.text,
                    )

    # Cells and globals ---------------------------------------------------------------------------------------------

    def set_cell(self, cell: Cell, content: Symbol | None) -> None:
        """Write a closure variable; None empties it."""
        cell.content = content
        if self.note(cell):
            self.effect("cell_set", cell, content)

    def set_global(self, namespace: dict[str, Any], name: str, value: Symbol | None) -> None:
        """Write a global; None deletes it."""
        self._globals[id(namespace), name] = value
        self.effect("dict_set", ObjectOperand(namespace), ObjectOperand(name), value)

    def written_global(self, namespace: dict[str, Any], name: str) -> tuple[bool, Symbol | None]:
        """Whether the trace has written this global, and what."""
        key = (id(namespace), name)
        return key in self._globals, self._globals.get(key)

    # Attributes ----------------------------------------------------------------------------------------------------

    def set_attribute(
        self, target: Symbol, name: str, value: Symbol | None, *, plainly: bool
    ) -> None:
        """Write an attribute that an object of the frame has itself; None deletes it.

        `plainly`: past a `__setattr__` of its class.
        """
        if not self.note(target):
            return
        if not plainly:
            self.effect("set_attr", target, name, value)
        elif value is None:
            self.effect("call", object.__delattr__, (target, ObjectOperand(name)))
        else:
            self.effect("call", object.__setattr__, (target, ObjectOperand(name), value))

    def set_class_attribute(self, kind: type, name: str, value: Symbol | None) -> None:
        """Write an attribute of a class; None deletes it."""
        self._classes[kind, name] = value
        if value is None:
            self.effect("call", type.__delattr__, (ObjectOperand(kind), ObjectOperand(name)))
        else:
            self.effect("call", type.__setattr__, (ObjectOperand(kind), ObjectOperand(name), value))

    def written_class_attribute(self, kind: type, name: str) -> tuple[bool, Symbol | None]:
        """Whether the trace has written this attribute of a class itself, and what."""
        return (kind, name) in self._classes, self._classes.get((kind, name))


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """An operand that is a register already."""

    source: Source


@dataclass(frozen=True, slots=True)
class ObjectOperand:
    """An operand that is this very object."""

    value: Any


__all__ = ["Changes", "Effect", "ObjectOperand", "RegisterOperand"]

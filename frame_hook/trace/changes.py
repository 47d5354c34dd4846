"""What a trace changes outside the graph: attributes, items, cells and globals, done in order when the graph has run.

Laws: 1. an effect cannot fail: what could, or could run the user's code, breaks the graph instead; 2. one object is one
symbol, so what was written is what is read; 3. an object that is changed is guarded to be none of the others; 4. what
is replaced dies when the graph has run, so nobody may be able to notice when: no finalizer, no callback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.places import shown
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.rows import Row, RowKind
from ufuse.frame_hook.trace.symbols import AnyArray, Cell, Opaque, Source, Symbol, Unread
from ufuse.graph.records import record

if TYPE_CHECKING:
    from ufuse.frame_hook.trace.guards import GuardProgram


ABSENT_KEY: Any = object()  # a key that is known only when the program runs
ADDING = (list.append, list.insert, list.extend, set.add)  # C functions by which nothing can die


@record
class RegisterOperand:
    """A register of the guard program that an effect is done to."""

    source: Source


@record
class ObjectOperand:
    """A very object that an effect is done to or with."""

    value: Any


Operand = Symbol | RegisterOperand | ObjectOperand | None  # None: what is there is deleted
Effect = Row[Operand]


def described(effect: Effect) -> str:
    """What an effect does, as `sets self.n` or `appends to results`."""
    first, *rest = effect.operands
    target = _name_of(first)
    match effect.kind, rest:
        case "cell_set", [value]:
            return f"{_sets(value)} {target}"
        case "set_attr", [value]:
            return f"{_sets(value)} {target}.{effect.what}"
        case "dict_set", [ObjectOperand(value=name), value]:
            return f"{_sets(value)} the global {name}"
        case "dict_set", [key, value]:
            return f"{_sets(value)} {target}[{shown(getattr(key, 'value', key))}]"
        case "list_set", [value]:
            return f"{_sets(value)} {target}[{effect.what}]"
        case "call", [ObjectOperand(value=str() as name), *values]:
            return f"{_sets(values or None)} {target}.{name}"
        case "call", _:
            name = effect.what.__name__
            return f"{VERBS.get(name, f'{name} of')} {target}"
    return f"changes {target}"


VERBS = {
    "call": "calls",
    "append": "appends to",
    "add": "adds to",
    "insert": "inserts into",
    "extend": "extends",
}


def _sets(value: Any) -> str:
    return "deletes" if value is None else "sets"


def _name_of(operand: Any) -> str:
    """What the program calls the object that an effect changes."""
    if isinstance(operand, ObjectOperand):
        return str(getattr(operand.value, "__name__", "an object"))
    source = getattr(operand, "source", None)
    return "an object" if source is None else str(source.text)


def _have_dicts(one: object, other: object) -> bool:
    """Whether both are of classes whose instances may have a `__dict__`, which may be one."""
    return type(one).__dictoffset__ != 0 and type(other).__dictoffset__ != 0


class Changes:
    """The effects of a trace, and which object of the frame is which symbol."""

    def __init__(self, guards: GuardProgram, varying: frozenset[str]) -> None:
        self.effects: list[Effect] = []
        self._guards = guards
        self._symbols: dict[int, Symbol] = {}
        self._sources: dict[int, tuple[Source, Any]] = {}  # by id of each object that was read
        self._changed: dict[int, Source] = {}
        # Of containers changed while unread, by id: what was written into a dict, None where that is not known.
        self._blind_entries: dict[int, dict[Any, Symbol] | None] = {}
        self._blind_writes: dict[int, list[tuple[Any, ...]]] = {}  # the same changes, to replay
        self._varying = varying  # containers whose length has changed from call to call
        self.replay: Callable[..., None] | None = None  # carries a recorded change out on a symbol
        self._namespaces: dict[int, dict[str, Any]] = {}  # of modules of which a name was read
        self._kept: list[Any] = []  # the examples whose id is a key
        # Told the symbol of each object that is read, but of one that was changed before, as its content is then.
        self.on_read: Callable[[Symbol], None] | None = None
        self._globals: dict[tuple[int, str], Symbol | None] = {}
        self._classes: dict[tuple[type, str], Symbol | None] = {}

    # One object is one symbol --------------------------------------------------------------------------------------

    def known(self, source: Source, value: Any) -> Symbol | None:
        """The symbol of an object that the trace has read by another path; guarded to be the same object on both."""
        if any(where == id(value) for where, _ in self._globals):
            raise GraphBreak("effect", f"reading {source.text}, which holds globals that changed,")
        if id(value) in self._blind_entries and source.text in self._varying:
            raise GraphBreak("effect", f"a change of {source.text}, which is read afterwards,")
        symbol = self._symbols.get(id(value))
        if symbol is not None:
            self._guard_same(source, self._sources[id(value)][0])
        return symbol

    def symbols(self) -> list[Symbol]:
        """The symbols of all objects of the frame that have been read."""
        return list(self._symbols.values())

    def symbol_of(self, value: Any) -> Symbol | None:
        """The symbol of an object of the frame that has been read; None of others."""
        return self._symbols.get(id(value))

    def is_known(self, value: Any) -> bool:
        """Whether this object of the frame has been read."""
        return id(value) in self._symbols

    def _guard_same(self, source: Source, first: Source) -> None:
        if first.register != source.register:
            self._guards.check("SAME", first, source)

    def catch_up(self, value: Any, symbol: Symbol) -> None:
        """Replay on the new symbol the changes recorded while it was unread; its items were read as before them."""
        done = len(self.effects)
        self._blind_entries.pop(id(value), None)
        for row in self._blind_writes.pop(id(value), ()):
            assert self.replay is not None
            self.replay(symbol, *row)
        del self.effects[done:]  # they are there already

    def keep(self, source: Source, value: Any, symbol: Symbol) -> Symbol:
        """Note the symbol of an object of the frame that was read from `source`."""
        first, _ = self._sources.get(id(value), (source, value))
        self._guard_same(source, first)
        if first.register in self._changed:
            self._changed.setdefault(source.register, source)
        self._symbols[id(value)] = symbol
        self._sources[id(value)] = source, value
        self._refuse_shared(source, value)
        if self.on_read is not None and id(value) not in self._blind_writes:
            self.on_read(symbol)
        return symbol

    def find(self, symbol: Symbol | None) -> tuple[Source, Any] | None:
        """Where the frame has the object of a symbol, and its example; None for plain values and new objects."""
        if isinstance(symbol, Unread | Opaque):
            return symbol.source, symbol.value
        if isinstance(symbol, AnyArray):
            source = symbol.buffer.source
            return None if source is None or symbol.path else (source, symbol.buffer.value)
        source = getattr(symbol, "source", None)
        found = [pair for pair in self._sources.values() if source is pair[0]]
        return found[0] if found else None

    def replaced(self, old: Symbol | None) -> None:
        """Guard that no finalizer runs when a value of the frame dies because something replaces it."""
        found = self.find(old)
        if found is None:
            return
        source, value = found
        if not _hook.has_no_finalizer(value):
            raise GraphBreak("finalizer", source.text)
        self.will_be_replaced(source)

    def will_be_replaced(self, source: Source) -> None:
        """Guard that no finalizer runs when what is in a register, if anything, dies."""
        self._guards.check("NO_FINALIZER", source)

    # Effects -------------------------------------------------------------------------------------------------------

    def effect(self, kind: RowKind, *operands: Operand, what: Any = None) -> None:
        """Record one row of the recipe."""
        self.effects.append(Row(kind, operands, what))

    def call(self, function: Any, target: Symbol, *arguments: Symbol) -> None:
        """Record a call of a C function that changes `target`, where the frame brought that."""
        if self.note(target):
            if function not in ADDING:
                self.replaced(target)
            self.effect("call", target, *arguments, what=function)

    def note(self, target: Any) -> bool:
        """Remember that `target` is changed; False where the trace itself made it, which is no effect."""
        source = getattr(target, "source", None)
        if source is None:
            return False
        found = self.find(target)
        if source.register not in self._changed and found is not None:
            self._changed[source.register] = source
            self._refuse_shared(*found)
        return True

    def blind_write(self, source: Source, value: Any, function: Any, *arguments: Symbol) -> None:
        """Record a change of an unread container of the frame, by a call."""
        source = self._note_blind_write(source, value)
        self._blind_entries[id(value)] = None
        self._blind_writes.setdefault(id(value), []).append((function, arguments))
        self.effect("call", RegisterOperand(source), *arguments, what=function)

    def blind_entry(
        self, source: Source, value: dict[Any, Any], key: Symbol, name: Any, entry: Symbol
    ) -> None:
        """Record that an unread dict of the frame gets an entry; `name` is the key, or ABSENT_KEY if unknown."""
        source = self._note_blind_write(source, value)
        written = self._blind_entries.setdefault(id(value), {})
        if name is ABSENT_KEY:
            self._blind_entries[id(value)] = None
        elif written is not None:
            written[name] = entry
        self._blind_writes.setdefault(id(value), []).append((dict.__setitem__, (key, entry)))
        self.effect("dict_set", RegisterOperand(source), key, entry)

    def _note_blind_write(self, source: Source, value: Any) -> Source:
        source = self.part_of(source, value)
        self._changed.setdefault(source.register, source)
        self._refuse_shared(source, value)
        return source

    def part_of(self, source: Source, value: Any) -> Source:
        """Note an unread container of which an entry is read or written; the source by which it was first met."""
        first = self._sources.get(id(value))
        if first is None:
            self._sources[id(value)] = source, value
            self._refuse_shared(source, value)
            return source
        self._guard_same(source, first[0])
        return first[0]

    def blind_entries(self, value: Any) -> dict[Any, Symbol] | None:
        """What was written into an unread dict, by key; None where some key is not known."""
        return self._blind_entries.get(id(value), {})

    def guard_different(self) -> None:
        """Guard that no changed object is another that was read, nor another's `__dict__` or a module's globals."""
        for changed, value in [pair for pair in self._sources.values() if self._is_changed(pair)]:
            for other, read in self._sources.values():
                if other.register == changed.register:
                    continue
                if _have_dicts(value, read):
                    self._guards.check("DIFFERENT", changed, other, says="DIFFERENT dicts")
                elif type(value) is type(read):
                    self._guards.check("DIFFERENT", changed, other)
                self._guard_dict(changed, value, other, read)
                if not self._is_changed((other, read)):
                    self._guard_dict(other, read, changed, value)
            if type(value) is dict:
                self._guard_no_namespace(changed, self._namespaces)
        written = {where: self._namespaces[where] for where, _ in self._globals}
        for source, value in self._sources.values():
            if type(value) is dict:
                self._guard_no_namespace(source, written)

    def _refuse_shared(self, source: Source, value: Any) -> None:
        """Break where one is changed of an object and its `__dict__`, or of two with one `__dict__`, or globals."""
        changed = source.register in self._changed
        for other, read in self._sources.values():
            if not changed and other.register not in self._changed:
                continue
            for mapping, instance in ((value, read), (read, value)):
                if issubclass(type(mapping), dict) and _hook.is_dict_of(mapping, instance):
                    raise GraphBreak("effect", f"a change of {source.text} beside {other.text}")
            if value is not read and _hook.share_dict(value, read):
                raise GraphBreak("effect", f"a change of {source.text} beside {other.text}")
        if changed and id(value) in self._namespaces:
            raise GraphBreak("effect", f"a change of {source.text}, which holds globals,")

    def _is_changed(self, pair: tuple[Source, Any]) -> bool:
        return pair[0].register in self._changed

    def _guard_dict(self, one: Source, mapping: Any, other: Source, instance: Any) -> None:
        """Guard that a dict is not the `__dict__` of an instance: changing one would change both."""
        if not issubclass(type(mapping), dict) or type(instance).__dictoffset__ == 0:
            return
        self._guards.check("NOT_DICT_OF", one, other)

    def _guard_no_namespace(self, source: Source, namespaces: dict[int, dict[str, Any]]) -> None:
        for namespace in namespaces.values():
            loaded = self._guards.load("LOAD_CONST", namespace, text="the globals")
            self._guards.check("DIFFERENT", source, loaded)

    # Cells and globals ---------------------------------------------------------------------------------------------

    def set_cell(self, cell: Cell, content: Symbol | None) -> None:
        """Write a closure variable; None empties it."""
        if self.note(cell):
            self.replaced(cell.content)
        cell.content = content
        if self.note(cell):
            self.effect("cell_set", cell, content)

    def set_global(self, namespace: dict[str, Any], name: str, value: Symbol | None) -> None:
        """Write a global; None deletes it."""
        if id(namespace) in self._sources:
            raise GraphBreak("effect", f"assigning to the global {name}")
        self.use_globals(namespace)
        is_written, before = self.written_global(namespace, name)
        found = namespace.get(name, ABSENT_KEY)
        if found is not ABSENT_KEY and not is_written:
            before = Unread(self._guards.load("LOAD_KEY", namespace, name, text=name), found)
        elif not is_written:
            self._guards.check("ABSENT", namespace, name)
        self.replaced(before)
        self._globals[id(namespace), name] = value
        self.effect("dict_set", ObjectOperand(namespace), ObjectOperand(name), value)

    def use_globals(self, namespace: dict[str, Any]) -> None:
        """Note that a name of a module was read or written."""
        source = self._sources.get(id(namespace), (None,))[0]
        if source is not None and source.register in self._changed:
            raise GraphBreak("effect", f"a change of {source.text}, which holds globals,")
        self._namespaces[id(namespace)] = namespace

    def written_global(self, namespace: dict[str, Any], name: str) -> tuple[bool, Symbol | None]:
        """Whether the trace has written this global, and what."""
        key = (id(namespace), name)
        return key in self._globals, self._globals.get(key)

    # Attributes ----------------------------------------------------------------------------------------------------

    def set_attribute(
        self, target: Symbol, name: str, value: Symbol | None, *, past_setattr: bool
    ) -> None:
        """Write an attribute that an object of the frame has itself; None deletes it.

        `past_setattr`: past a `__setattr__` of its class.
        """
        if not self.note(target):
            return
        if not past_setattr:
            self.effect("set_attr", target, value, what=name)
        elif value is None:
            self.effect("call", target, ObjectOperand(name), what=object.__delattr__)
        else:
            self.effect("call", target, ObjectOperand(name), value, what=object.__setattr__)

    def set_class_attribute(self, kind: type, name: str, value: Symbol | None) -> None:
        """Write an attribute of a class; None deletes it."""
        self._replace_in_class(kind, name)
        self._classes[kind, name] = value
        if value is None:
            self.effect("call", ObjectOperand(kind), ObjectOperand(name), what=type.__delattr__)
        else:
            self.effect(
                "call", ObjectOperand(kind), ObjectOperand(name), value, what=type.__setattr__
            )

    def _replace_in_class(self, kind: type, name: str) -> None:
        found = type.__dict__["__dict__"].__get__(kind).get(name, ABSENT_KEY)
        if (kind, name) in self._classes:
            self.replaced(self._classes[kind, name])
        elif found is not ABSENT_KEY:
            loaded = self._guards.load("LOAD_CLASS", kind, name, text=f"{kind.__name__}.{name}")
            self.replaced(Unread(loaded, found))
        else:
            self._guards.check("CLASS_OWN_LACKS", kind, name)

    @property
    def writes_classes(self) -> bool:
        """Whether the trace has written an attribute of any class."""
        return bool(self._classes)

    def written_class_attribute(self, kind: type, name: str) -> tuple[bool, Symbol | None]:
        """Whether the trace has written this attribute of a class itself, and what."""
        return (kind, name) in self._classes, self._classes.get((kind, name))


__all__ = [
    "ABSENT_KEY",
    "Changes",
    "Effect",
    "ObjectOperand",
    "Operand",
    "RegisterOperand",
    "described",
]

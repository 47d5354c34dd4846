"""Reading the frame: what an unread value is found to be, with the guards that say so."""

from __future__ import annotations

import enum
import types
from collections import OrderedDict, deque
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.places import NAMED, shown
from ufuse.frame_hook.trace.changes import Changes
from ufuse.frame_hook.trace.draft import Draft
from ufuse.frame_hook.trace.followed import (
    CONTAINERS,
    ERROR_STATE,
    IDENTIFIED,
    LARGEST_CONTAINER,
    LEFT_ALONE,
    answers_itself,
    is_followed,
    is_key,
    is_made_anew,
    is_plain,
    size_of,
)
from ufuse.frame_hook.trace.guards import GuardProgram
from ufuse.frame_hook.trace.inputs import ArrayInputs
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import LARGEST_INT, Sizes
from ufuse.frame_hook.trace.symbols import (
    Cell,
    Constant,
    Deque,
    Dict,
    Instance,
    Integer,
    List,
    Method,
    Number,
    Opaque,
    Range,
    Set,
    Slice,
    Source,
    Symbol,
    Tuple,
    Unread,
)
from ufuse.graph.node import Node
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.library import is_device_array, is_device_function


@record
class Varying:
    """What a trace must not specialise on, by the program's name for it, because it changes from call to call.

    Attributes:
        ints: whole numbers and lengths of arrays, which are expressions instead.
        every_int: the same for all of them, as at a position where a loop may come by again.
        values: floats, texts, expressions of sizes, containers of varying length: what depends on them ends the graph.
        static_sizes: lengths that are specialised on, True for all; the others are expressions.

    """

    ints: frozenset[str] = frozenset()
    every_int: bool = False
    values: frozenset[str] = frozenset()
    static_sizes: bool | frozenset[str] = False


def _has_no_identity(value: Any) -> bool:
    """Whether it is a number or text, or a tuple of these: a getter of C may make them anew each time."""
    if type(value) is tuple:
        return all(map(_has_no_identity, value))
    return issubclass(type(value), (int, float, complex, str, bytes, np.generic)) or value is None


def _in_order(value: OrderedDict[Any, Any]) -> OrderedDict[Any, Any]:
    """The entries of an instance of a subclass of OrderedDict, in its order."""
    try:
        return OrderedDict(OrderedDict.items(value))
    except RuntimeError:
        raise GraphBreak("operator", "an OrderedDict that another thread changes") from None


class Reader:
    """Turns unread values into symbols of what they are, each once; Python code of the user's is never run for it.

    A container is copied in one step of C, as other threads may change it, and read from the copy; where it is not that
    any more, the guards of the entry fail at once.

    `number_examples` and `owners` are the trace's: the value of each number now, and by the id of its content the
    instance of a subclass of a built-in type.
    """

    def __init__(
        self,
        guards: GuardProgram,
        changes: Changes,
        sizes: Sizes,
        graph: Draft,
        arrays: ArrayInputs,
        number_examples: dict[Node, Any],
        owners: dict[int, Instance],
        varying: Varying,
    ) -> None:
        self._guards = guards
        self._changes = changes
        self._sizes = sizes
        self._graph = graph
        self._arrays = arrays
        self._number_examples = number_examples
        self._owners = owners
        self._varying = varying
        self._known: dict[int, Symbol] = {}  # by register

    def look(self, symbol: Symbol) -> Symbol:
        """`symbol`, guarded and known by its kind if it was unread."""
        if not isinstance(symbol, Unread):
            if type(symbol) is Constant and issubclass(type(symbol.value), enum.Enum):
                return self.look(self.object(symbol.value))
            return symbol
        known = self._known.get(symbol.source.register)
        if known is None:
            known = self._read(symbol.source, symbol.value)
            self._known[symbol.source.register] = known
        return known

    def known(self, symbol: Unread) -> Symbol | None:
        """What an unread symbol was found to be; None if it is still unread."""
        return self._known.get(symbol.source.register)

    def object(self, value: Any) -> Unread:
        """This very object, as the frame would bring it."""
        named = issubclass(type(value), NAMED) or type(value) is types.ModuleType
        text = value.__name__ if named else type(value).__name__
        return Unread(self._guards.load("LOAD_CONST", value, text=text), value)

    def _read(self, source: Source, value: Any) -> Symbol:
        kind = type(value)
        metaclass = kind if issubclass(kind, type) else type(kind)
        if metaclass is not type and (name := answers_itself(metaclass)):
            raise GraphBreak("attribute", f"{source.text}, whose metaclass has {name} of its own,")
        if value is None or value is Ellipsis or value is NotImplemented or kind is bool:
            self._guards.check("IDENTITY", source, value, says="IDENTITY plain")
            return Constant(value, source)
        if kind is int:
            return self._read_int(source, value)
        if kind is float or kind is complex:
            self._guards.check("TYPE", source, kind, says="TYPE of number")
            node = self._graph.input(NumberType(kind.__name__), source)
            self._number_examples[node] = value
            return Number(node, source)
        if kind is str or kind is bytes:
            if source.text in self._varying.values:
                text = f"{source.text}, a {kind.__name__} object that changes from call to call,"
                raise GraphBreak("operator", text)
            self._guards.check("STR" if kind is str else "EQUAL", source, value)
            return Constant(value, source)
        if kind is np.ndarray:
            return self._arrays.read(source, value)
        if is_device_array(kind):
            return self._arrays.read_on_device(source, value)
        if is_device_function(kind):
            self._guards.check("IDENTITY", source, value)
            return Constant(value, source)
        # of the type, as isinstance() may ask the value for its class, and that may run code of the user's
        if issubclass(kind, np.generic):
            return self._read_scalar(source, value)
        if issubclass(kind, types.ModuleType) and kind is not types.ModuleType:
            self._guards.check("TYPE", source, kind)
            return Opaque(source, value)
        if value is ERROR_STATE or (issubclass(kind, IDENTIFIED) and not is_made_anew(value)):
            self._guards.check("IDENTITY", source, value)
            return Constant(value, source)
        return self._read_container(source, value)

    def _read_container(self, source: Source, value: Any) -> Symbol:
        kind = type(value)
        if kind is slice:
            self._guards.check("TYPE", source, kind)
            return Slice(
                *(self.attribute(source, value, name) for name in ("start", "stop", "step"))
            )
        if kind is range:
            self._guards.check("TYPE", source, kind)
            bounds = [self.attribute(source, value, name) for name in ("start", "stop", "step")]
            return Range(bounds[0], bounds[1], bounds[2], source)
        known = self._changes.known(source, value)
        if known is None and kind is types.MethodType:
            self._guards.check("TYPE", source, kind)
            parts = [self.attribute(source, value, name) for name in ("__self__", "__func__")]
            known = Method(parts[0], parts[1], source)
            self._changes.keep(source, value, known)
        if known is None:
            if kind in (list, dict, set, deque) and source.text in self._varying.values:
                raise GraphBreak(
                    "operator", f"{source.text}, whose size changes from call to call,"
                )
            if issubclass(kind, enum.Enum):
                self._check_member(source, value)
            else:
                self._guards.check("TYPE", source, kind)
            known = self._read_object(source, value, kind)
            self._changes.keep(source, value, known)
            self._changes.catch_up(value, known)
        return known

    def _check_member(self, source: Source, value: enum.Enum) -> None:
        """A member of an enumeration is known itself; what it is as a key is its class's business, which is guarded."""
        self._guards.check("IDENTITY", source, value, says="IDENTITY member")
        for name in ("__hash__", "__eq__"):
            text = f"{type(value).__name__}.{name}"
            loaded = self._guards.load("LOAD_CLASS", type(value), name, text=text)
            method = getattr(type(value), name)
            if isinstance(method, types.FunctionType) and method is not enum.Enum.__hash__:
                raise GraphBreak("attribute", f"{name} of a {type(value).__name__}")
            self._guards.check("IDENTITY", loaded, method, says="IDENTITY replaced")

    def _read_object(self, source: Source, value: Any, kind: type) -> Symbol:
        if issubclass(kind, CONTAINERS) and size_of(value) > LARGEST_CONTAINER:
            return Opaque(source, value)
        if kind is tuple or kind is list:
            items = self._items(source, value)
            return Tuple(tuple(items), source) if kind is tuple else List(items, source)
        if kind is dict and all(map(is_key, entries := value.copy())):
            self._guards.check("DICT_KEYS", source, tuple(entries))
            return Dict({k: self.entry(source, k, v) for k, v in entries.items()}, source)
        if kind in (set, frozenset) and all(map(is_plain, members := frozenset(value))):
            self._guards.check("SET_IS", source, members)
            return Set(set(members), source) if kind is set else Constant(members, source)
        if issubclass(kind, LEFT_ALONE) or (kind is deque and len(value) > LARGEST_CONTAINER):
            return Opaque(source, value)
        if kind is deque:
            self.check_maxlen(source, value)
            return Deque(deque(self._items(source, value), value.maxlen), source)
        content = self._content(source, value)
        known = Instance(kind, source, value, content=content)
        if content is not None:
            self._owners[id(content)] = known
        return known

    def _content(self, source: Source, value: Any) -> Symbol | None:
        """What an instance of a subclass of a built-in type holds; None for others."""
        kind = type(value)
        if issubclass(kind, tuple):
            return Tuple(tuple(self._items(source, value)), source)
        if issubclass(kind, list):
            return List(self._items(source, value), source)
        if issubclass(kind, dict) and all(map(is_plain, entries := dict.copy(value))):
            if issubclass(kind, OrderedDict):
                entries = _in_order(value)
            self._guards.check("DICT_KEYS", source, tuple(entries))
            for key, held in entries.items():
                entries[key] = self.entry(source, key, held)
            return Dict(entries, source)
        if issubclass(kind, enum.Enum) and issubclass(kind, int):
            return Constant(int.__int__(value))
        if issubclass(kind, enum.Enum) and issubclass(kind, str):
            return Constant(str.__str__(value))
        return None

    def _items(self, source: Source, value: Any) -> list[Symbol]:
        """What a tuple or list, or an instance of a subclass of these, holds."""
        base: Any = tuple if issubclass(type(value), tuple) else list
        items = list(value) if type(value) is deque else list(base.__iter__(value))
        self._guards.check("LENGTH", source, len(items))
        return [
            Unread(self._guards.load("LOAD_ITEM", source, i, text=f"{source.text}[{i}]"), item)
            for i, item in enumerate(items)
        ]

    def check_maxlen(self, source: Source, value: deque[Any]) -> None:
        """Guard how many items a deque of the frame may have."""
        loaded = self._guards.load("LOAD_ATTR", source, "maxlen", text=f"{source.text}.maxlen")
        if value.maxlen is None:
            self._guards.check("IDENTITY", loaded, None, says="IDENTITY plain")
        else:
            self._guards.check("INT", loaded, value.maxlen)

    def entry(self, source: Source, key: Any, value: Any) -> Symbol:
        """What a dict of the frame has under a key."""
        text = f"{source.text}[{shown(key)}]"
        return Unread(self._guards.load("LOAD_DICT_ITEM", source, key, text=text), value)

    def attribute(self, source: Source, value: Any, name: str) -> Symbol:
        """The attribute of a frame value, read where no user code can run, as a guard will read it."""
        text = f"{source.text}.{name}"
        found = _hook.attribute_value(value, name)
        if found is _hook.NULL:  # as of a C type that is not known, or an empty slot
            raise GraphBreak("attribute", text)
        if not _has_no_identity(found) and _hook.attribute_value(value, name) is not found:
            raise GraphBreak("attribute", f"{text}, which is made when it is asked for,")
        loaded = self._guards.load("LOAD_ATTR", source, name, text=text)
        return self.look(Unread(loaded, found))

    def cell(self, source: Source, value: types.CellType) -> Cell:
        """A closure cell of the frame."""
        known = self._changes.known(source, value)
        if isinstance(known, Cell):
            return known
        cell = Cell(None, source)
        self._changes.keep(source, value, cell)
        try:
            content = value.cell_contents
        except ValueError:
            self._guards.check("CELL_EMPTY", source)
            return cell
        loaded = self._guards.load("LOAD_CELL", source, text=source.text)
        cell.content = Unread(loaded, content)
        return cell

    def _read_int(self, source: Source, value: int) -> Symbol:
        varies = self._varying.every_int or source.text in self._varying.ints
        if varies and -LARGEST_INT < value < LARGEST_INT:
            self._guards.check("TYPE", source, int, says="TYPE of number")
            wanted = "i" if " " in source.text else source.text  # a value on the stack has no name
            symbol = self._sizes.new_symbol(wanted, value, ("int", source.register))
            return Integer(symbol, value, source)
        kind = "INT" if -(2**63) <= value < 2**63 else "BIG_INT"
        self._guards.check(kind, source, value)
        return Constant(value, source)

    def _read_scalar(self, source: Source, value: np.generic) -> Symbol:
        kind = type(value)
        self._guards.check("TYPE", source, kind)
        if kind.__module__ != "numpy" or not is_followed(value.dtype):
            return Opaque(source, value)
        return Number(
            self._graph.input(ArrayType(value.dtype, (), (), scalar=True), source), source
        )

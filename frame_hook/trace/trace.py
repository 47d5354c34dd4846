"""The trace: what has been learned of a frame so far. What values are, guards, memory; it knows no opcode."""

from __future__ import annotations

import builtins
import enum
import types
from collections import OrderedDict, deque
from typing import Any

import numpy as np

from ufuse.frame_hook.code.places import NAMED, shown
from ufuse.frame_hook.trace.changes import Changes
from ufuse.frame_hook.trace.draft import Draft
from ufuse.frame_hook.trace.followed import (
    CONTAINERS,
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
from ufuse.frame_hook.trace.layouts import MOST_BYTES, elements_apart, fills_memory, memory_order
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import LARGEST_INT, Sizes
from ufuse.frame_hook.trace.symbols import (
    Array,
    Buffer,
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
    Step,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.sample import dtype_words

WRITEABLE = 0x400  # of `flags.num`: asking for `flags.writeable` may warn
WRITE_FLAGS = WRITEABLE | 1 << 31  # and NumPy's own, that writing is to be warned of
FEW = 4  # a leading dimension of so few (components, colours) is part of the program: its loops unroll


class Trace:
    """Everything learned while a frame is read: guards, sizes, changes, the graph so far, buffers.

    Laws: 1. nothing outside changes while tracing; 2. every decision taken from an example value has a guard.
    """

    def __init__(
        self,
        state: tuple[Any, ...],
        slot_names: tuple[str, ...],
        null: object,
        dynamic: frozenset[str] = frozenset(),
        varying: frozenset[str] = frozenset(),
        *,
        all_dynamic: bool = False,
        static_sizes: bool
        | frozenset[str] = False,  # all lengths are guarded, or those of these texts
    ) -> None:
        self.guards = GuardProgram(len(state))
        self.changes = Changes(self.guards)
        self.sizes = Sizes(self.guards)
        self.graph = Draft(self.sizes)
        self.changes.varying = varying
        self.written: list[Buffer] = []
        self.number_examples: dict[Node, Any] = {}
        self.owners: dict[int, Instance] = {}  # by id of the content that instances hold
        self._dynamic = dynamic
        self._all_dynamic = all_dynamic
        self._static_sizes = static_sizes if isinstance(static_sizes, frozenset) else frozenset()
        self._all_static = static_sizes is True
        self._varying = varying
        self._looked: dict[int, Symbol] = {}  # register -> what it was found to be
        self._arrays: dict[int, Array] = {}  # id of example -> the one symbol for it
        self._kept: list[Any] = []  # example values whose id is a key
        self._of_code: dict[int, Tuple | Slice] = {}  # by id of a constant in code
        self.code_constants: dict[int, tuple[Any, ...] | slice] = {}  # by id of such a symbol
        self.frozensets: dict[int, tuple[Constant, Step]] = {}  # by id of one made here
        self.state: list[Symbol] = [
            Unbound(Source(i, name)) if value is null else Unread(Source(i, name), value)
            for i, (name, value) in enumerate(zip(slot_names, state, strict=True))
        ]

    def of_code(self, value: Any) -> Symbol:
        """A constant of code: a tuple or slice is taken apart so that parts can be looked at, and stays one object."""
        if type(value) not in (tuple, slice):
            return Constant(value)
        known = self._of_code.get(id(value))
        if known is None:
            if type(value) is tuple:
                known = Tuple(tuple(map(self.of_code, value)))
            else:
                known = Slice(*(Constant(part) for part in (value.start, value.stop, value.step)))
            self._of_code[id(value)] = known
            self.code_constants[id(known)] = value
        return known

    def made_frozenset(self, symbol: Constant, step: Step) -> Constant:
        """A frozenset that the trace made by this step: another object at every call."""
        self.frozensets[id(symbol)] = symbol, step
        return symbol

    # Reading the frame -----------------------------------------------------------------------------------------

    def look(self, symbol: Symbol) -> Symbol:
        """`symbol`, guarded and known by its kind if it was unread."""
        if not isinstance(symbol, Unread):
            if type(symbol) is Constant and issubclass(type(symbol.value), enum.Enum):
                return self.look(self.object(symbol.value))
            return symbol
        known = self._looked.get(symbol.source.register)
        if known is None:
            known = self._read(symbol.source, symbol.value)
            self._looked[symbol.source.register] = known
        return known

    def looked_at(self, symbol: Unread) -> Symbol | None:
        """What an unread symbol was found to be; None if nothing has looked at it."""
        return self._looked.get(symbol.source.register)

    def object(self, value: Any) -> Unread:
        """This very object, as the frame would bring it."""
        named = issubclass(type(value), NAMED) or type(value) is types.ModuleType
        text = value.__name__ if named else type(value).__name__
        return Unread(self.guards.load("LOAD_CONST", value, text=text), value)

    def found_bound(self, symbol: Unread) -> None:
        """Guard that a slot of the frame is not empty, for it may be handed on unread; at the entry none is."""
        if self._all_dynamic and symbol.source.register < len(self.state):
            self.guards.check("BOUND", symbol.source)

    def found_empty(self, symbol: Unbound) -> None:
        """Guard that a slot of the frame is empty."""
        self.guards.check("UNBOUND", symbol.source)

    def _read(self, source: Source, value: Any) -> Symbol:
        kind = type(value)
        metaclass = kind if issubclass(kind, type) else type(kind)
        if metaclass is not type and (name := answers_itself(metaclass)):
            raise GraphBreak("attribute", f"{source.text}, whose metaclass has {name} of its own,")
        if value is None or value is Ellipsis or value is NotImplemented or kind is bool:
            self.guards.check("IDENTITY", source, value, says="IDENTITY plain")
            return Constant(value, source)
        if kind is int:
            return self._read_int(source, value)
        if kind is float or kind is complex:
            self.guards.check("TYPE", source, kind, says="TYPE of number")
            node = self.graph.input(NumberType(kind.__name__), source)
            self.number_examples[node] = value
            return Number(node, source)
        if kind is str or kind is bytes:
            if source.text in self._varying:
                text = f"{source.text}, a {kind.__name__} object that changes from call to call,"
                raise GraphBreak("operator", text)
            self.guards.check("STR" if kind is str else "EQUAL", source, value)
            return Constant(value, source)
        if kind is np.ndarray:
            return self._read_array(source, value)
        # of the type, as isinstance() may ask the value for its class, and that may run code of the user's
        if issubclass(kind, np.generic):
            return self._read_scalar(source, value)
        if issubclass(kind, types.ModuleType) and kind is not types.ModuleType:
            self.guards.check("TYPE", source, kind)
            return Opaque(source, value)
        if issubclass(kind, IDENTIFIED) and not is_made_anew(value):
            self.guards.check("IDENTITY", source, value)
            return Constant(value, source)
        return self._read_container(source, value)

    def _read_container(self, source: Source, value: Any) -> Symbol:
        kind = type(value)
        if kind is slice:
            self.guards.check("TYPE", source, kind)
            return Slice(
                *(self.attribute(source, value, name) for name in ("start", "stop", "step"))
            )
        if kind is range:
            self.guards.check("TYPE", source, kind)
            bounds = [self.attribute(source, value, name) for name in ("start", "stop", "step")]
            return Range(bounds[0], bounds[1], bounds[2], source)
        known = self.changes.known(source, value)
        if known is None and kind is types.MethodType:
            self.guards.check("TYPE", source, kind)
            parts = [self.attribute(source, value, name) for name in ("__self__", "__func__")]
            known = Method(parts[0], parts[1], source)
            self.changes.keep(source, value, known)
        if known is None:
            if kind in (list, dict, set, deque) and source.text in self._varying:
                raise GraphBreak(
                    "operator", f"{source.text}, whose size changes from call to call,"
                )
            if issubclass(kind, enum.Enum):
                self._check_member(source, value)
            else:
                self.guards.check("TYPE", source, kind)
            known = self._read_object(source, value, kind)
            self.changes.keep(source, value, known)
            self.changes.catch_up(value, known)
        return known

    def _check_member(self, source: Source, value: enum.Enum) -> None:
        """A member of an enumeration is known itself; what it is as a key is its class's business, which is guarded."""
        self.guards.check("IDENTITY", source, value, says="IDENTITY member")
        for name in ("__hash__", "__eq__"):
            text = f"{type(value).__name__}.{name}"
            loaded = self.guards.load("LOAD_CLASS", type(value), name, text=text)
            method = getattr(type(value), name)
            if isinstance(method, types.FunctionType) and method is not enum.Enum.__hash__:
                raise GraphBreak("attribute", f"{name} of a {type(value).__name__}")
            self.guards.check("IDENTITY", loaded, method, says="IDENTITY replaced")

    def _read_object(self, source: Source, value: Any, kind: type) -> Symbol:
        if issubclass(kind, CONTAINERS) and size_of(value) > LARGEST_CONTAINER:
            return Opaque(source, value)
        if kind is tuple or kind is list:
            items = self._items(source, value)
            return Tuple(tuple(items), source) if kind is tuple else List(items, source)
        if kind is dict and all(is_key(key) for key in value):
            keys = tuple(value)
            self.guards.check("DICT_KEYS", source, keys)
            return Dict({k: self.entry(source, k, v) for k, v in value.items()}, source)
        if kind in (set, frozenset) and all(is_plain(member) for member in value):
            members = frozenset(value)
            self.guards.check("SET_IS", source, members)
            return Set(set(value), source) if kind is set else Constant(members, source)
        if issubclass(kind, LEFT_ALONE) or (kind is deque and len(value) > LARGEST_CONTAINER):
            return Opaque(source, value)
        if kind is deque:
            self.check_maxlen(source, value)
            return Deque(deque(self._items(source, value), value.maxlen), source)
        content = self._content(source, value)
        known = Instance(kind, source, value, content=content)
        if content is not None:
            self.owners[id(content)] = known
        return known

    def _content(self, source: Source, value: Any) -> Symbol | None:
        """What an instance of a subclass of a built-in type holds; None for others."""
        kind = type(value)
        if issubclass(kind, tuple):
            return Tuple(tuple(self._items(source, value)), source)
        if issubclass(kind, list):
            return List(self._items(source, value), source)
        if issubclass(kind, dict) and all(map(is_plain, dict.keys(value))):
            ordered = issubclass(kind, OrderedDict)
            pairs = OrderedDict.items(value) if ordered else dict.items(value)
            entries: dict[Any, Any] = OrderedDict(pairs) if ordered else dict(pairs)
            keys = tuple(entries)
            self.guards.check("DICT_KEYS", source, keys)
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
        base: Any = next(one for one in (tuple, list, deque) if issubclass(type(value), one))
        items = list(base.__iter__(value))
        self.guards.check("LENGTH", source, len(items))
        return [
            Unread(self.guards.load("LOAD_ITEM", source, i, text=f"{source.text}[{i}]"), item)
            for i, item in enumerate(items)
        ]

    def check_maxlen(self, source: Source, value: deque[Any]) -> None:
        """Guard how many items a deque of the frame may have."""
        loaded = self.guards.load("LOAD_ATTR", source, "maxlen", text=f"{source.text}.maxlen")
        if value.maxlen is None:
            self.guards.check("IDENTITY", loaded, None, says="IDENTITY plain")
        else:
            self.guards.check("INT", loaded, value.maxlen)

    def entry(self, source: Source, key: Any, value: Any) -> Symbol:
        """What a dict of the frame has under a key."""
        text = f"{source.text}[{shown(key)}]"
        return Unread(self.guards.load("LOAD_DICT_ITEM", source, key, text=text), value)

    def attribute(self, source: Source, value: Any, name: str) -> Symbol:
        """The attribute of a frame value, read where no user code can run."""
        try:
            found = getattr(value, name)
        except (AttributeError, ValueError):  # a slot or a cell that is empty
            raise GraphBreak("attribute", f"{source.text}.{name}, which has no value,") from None
        loaded = self.guards.load("LOAD_ATTR", source, name, text=f"{source.text}.{name}")
        return self.look(Unread(loaded, found))

    def global_value(self, namespace: dict[str, Any], name: str) -> Symbol:
        """A global or builtin name."""
        self.changes.use_globals(namespace)
        is_written, value = self.changes.written_global(namespace, name)
        if value is not None:
            return value
        if name in namespace and not is_written:
            return self._global(namespace, name)
        if name not in vars(builtins):
            raise GraphBreak("eager-raises", f"the name {name!r} is not defined")
        if not is_written:
            self.guards.check("ABSENT", namespace, name, says="ABSENT builtin")
        return self._global(vars(builtins), name)

    def _global(self, namespace: dict[str, Any], name: str) -> Symbol:
        return Unread(self.guards.load("LOAD_KEY", namespace, name, text=name), namespace[name])

    def module_attribute(self, module: types.ModuleType, name: str, text: str) -> Symbol:
        """The attribute of a module, which has been identified."""
        namespace = vars(module)
        self.changes.use_globals(namespace)
        is_written, written = self.changes.written_global(namespace, name)
        if written is not None:
            return written
        if name not in namespace or is_written:
            value = getattr(module, name, None)
            if value is None:
                raise GraphBreak("attribute", f"{text}.{name}")
            raise GraphBreak("attribute", f"{text}.{name}, which the module makes when asked,")
        return Unread(
            self.guards.load("LOAD_KEY", namespace, name, text=f"{text}.{name}"), namespace[name]
        )

    def cell(self, source: Source, value: types.CellType) -> Cell:
        """A closure cell of the frame."""
        known = self.changes.known(source, value)
        if isinstance(known, Cell):
            return known
        cell = Cell(None, source)
        self.changes.keep(source, value, cell)
        try:
            content = value.cell_contents
        except ValueError:
            self.guards.check("CELL_EMPTY", source)
            return cell
        loaded = self.guards.load("LOAD_CELL", source, text=source.text)
        cell.content = Unread(loaded, content)
        return cell

    def _read_int(self, source: Source, value: int) -> Symbol:
        if (
            self._all_dynamic or source.text in self._dynamic
        ) and -LARGEST_INT < value < LARGEST_INT:
            self.guards.check("TYPE", source, int, says="TYPE of number")
            wanted = "i" if " " in source.text else source.text  # a value on the stack has no name
            symbol = self.sizes.new_symbol(wanted, value, ("int", source.register))
            return Integer(symbol, value, source)
        kind = "INT" if -(2**63) <= value < 2**63 else "BIG_INT"
        self.guards.check(kind, source, value)
        return Constant(value, source)

    def _read_scalar(self, source: Source, value: np.generic) -> Symbol:
        kind = type(value)
        self.guards.check("TYPE", source, kind)
        if kind.__module__ != "numpy" or not is_followed(value.dtype):
            return Opaque(source, value)
        return Number(self.graph.input(ArrayType(value.dtype, (), (), scalar=True), source), source)

    def _read_array(self, source: Source, value: np.ndarray) -> Symbol:
        known = self._arrays.get(id(value))
        if known is not None and known.buffer.source is not None:
            self.guards.check("SAME", known.buffer.source, source)
            return known
        if not is_followed(value.dtype):
            raise GraphBreak("dtype", f"an array of dtype {dtype_words(value.dtype)}")
        if not value.flags.aligned:
            raise GraphBreak("layout", f"{source.text} is not aligned in memory")
        if value.nbytes > MOST_BYTES:
            raise GraphBreak("layout", f"{source.text}, of which no copy could be made,")
        self.guards.check("ARRAY", source, value.dtype, value.ndim)
        kind = ArrayType(
            value.dtype, self._shape(source, value), *self._layout(source, value), scalar=False
        )
        for written in self.written:
            self._refuse_overlap(written, source, value)
        node = self.graph.input(kind, source)
        array = Array(Buffer(node, node, visible=True, source=source, value=value), (), kind)
        self._arrays[id(value)] = array
        self._kept.append(value)
        return array

    def _shape(self, source: Source, value: np.ndarray) -> tuple[Size, ...]:
        shape: list[Size] = []
        for axis, length in enumerate(value.shape):
            text = f"{source.text}.shape[{axis}]"
            few = length <= FEW and axis < value.ndim - 1 and value.ndim > 2
            if length <= 1 or few or self._all_static or text in self._static_sizes:
                self.guards.check("SIZE", source, axis, length, source=text)
                shape.append(length)
                continue
            shape.append(self.sizes.dimension(text, length, ("size", source.register, axis)))
        return tuple(shape)

    def _layout(self, source: Source, value: np.ndarray) -> tuple[tuple[int, ...] | None, bool]:
        order = memory_order(value)
        if order is None:
            return None, False
        self.guards.check("ORDER", source, order)
        contiguous = fills_memory(value, order)
        says = "CONTIGUOUS" if contiguous else "CONTIGUOUS not"
        self.guards.check("CONTIGUOUS", source, order, contiguous, says=says)
        return order, contiguous

    def specialised(self, number: Number) -> Constant:
        """A number whose value the program's course depends on, guarded to stay what it is.

        Raises:
            GraphBreak: it is computed in the graph, or has varied too often.

        """
        example = self.number_examples.get(number.node)
        if example is None:
            raise GraphBreak("data-branch", "a computed number")
        leaves = list(self._number_leaves(number.node))
        if any(text.text in self._varying for _, text in leaves):
            raise GraphBreak("data-branch", "a number that changes from call to call")
        for node, source in leaves:
            value = self.number_examples[node]
            kind = "FLOAT" if type(value) is float else "EQUAL"
            self.guards.check(kind, source, value)
        return Constant(example)

    def _number_leaves(self, node: Node) -> list[tuple[Node, Source]]:
        sources = dict(self.graph.inputs)
        found: dict[Node, Source] = {}
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.op is ops.INPUT:
                found[current] = sources[current]
            elif current.op is ops.SIZE:
                self.sizes.fixed(current.attributes["value"])
            waiting += current.inputs
        return list(found.items())

    # Writing into arrays ---------------------------------------------------------------------------------------

    def store(self, target: Array, value: Node, casting: str) -> None:
        """Write `value` into the target's memory, and guard that this may be done."""
        if target.buffer.visible:
            self.check_writable(target.buffer)
        self.graph.store(target, value, casting)

    def check_writable(self, buffer: Buffer) -> None:
        """Guard that the buffer may be written, and that no other argument shares its memory."""
        source, value = buffer.source, buffer.value
        if source is None or value is None:
            raise GraphBreak("effect", "assigning to an array that the trace cannot find again")
        if value.flags.num & WRITE_FLAGS != WRITEABLE:
            raise GraphBreak("eager-raises", f"writing to {source.text} raises or warns")
        if isinstance(value.base, np.memmap) or type(value) is not np.ndarray:
            raise GraphBreak("effect", f"assigning to elements of {source.text}")
        self.guards.check("WRITEABLE", source, True)
        if buffer not in self.written:
            self._refuse_overlap_with_itself(buffer, source, value)
            for other in self._arrays.values():
                if other.buffer is not buffer:
                    self._refuse_overlap(buffer, other.buffer.source, other.buffer.value)
            self.written.append(buffer)

    def _refuse_overlap_with_itself(
        self, buffer: Buffer, source: Source, value: np.ndarray
    ) -> None:
        """Where one write is seen in several elements, the result depends on the order of NumPy's loop."""
        if not elements_apart(value):
            raise GraphBreak("layout", f"writing to {source.text}, whose elements share memory,")
        kind = buffer.root.type
        if not (isinstance(kind, ArrayType) and kind.contiguous):
            self.guards.check("APART", source)

    @staticmethod
    def _refuse_overlap(written: Buffer, source: Source | None, value: np.ndarray) -> None:
        assert written.source is not None
        if source is not None and np.may_share_memory(written.value, value):
            raise GraphBreak("overlap", written.source.text)

    def arrays_disjoint(self) -> None:
        """Guard that no written input shares memory with another input."""
        inputs = [array.buffer.source for array in self._arrays.values()]
        for written in self.written:
            assert written.source is not None
            for other in inputs:
                if other is None or other is written.source:
                    continue
                self.guards.check("DISJOINT", written.source, other)

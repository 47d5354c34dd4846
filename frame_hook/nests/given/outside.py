"""What a loop takes from outside of its frame, guarded: globals, attributes of modules, what functions need."""

from __future__ import annotations

import inspect
import random
import types
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.nests.given import generator_methods, keyed, listed_objects
from ufuse.frame_hook.nests.given.found_attributes import Attributes
from ufuse.frame_hook.nests.known import ragged_shapes
from ufuse.frame_hook.nests.known.arrays import Array, Numbers, Objects, OtherList, Table
from ufuse.frame_hook.nests.known.containers import (
    Entries,
    Generator,
    GivenRows,
    MadeDict,
    NewDict,
    Ragged,
    Thing,
)
from ufuse.frame_hook.nests.known.kinds import (
    DTYPES,
    FLOAT,
    INT,
    ArrayKind,
    EitherKind,
    NotNativeError,
    NumberKind,
    array_kind,
    common_item_kind,
    item_kind,
)
from ufuse.frame_hook.nests.known.naming import value_in_words
from ufuse.frame_hook.nests.known.numbers import Known, Text
from ufuse.frame_hook.nests.known.ragged_shapes import SETS, Shape, shape_of
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.objects.classes import ABSENT, guarded_lookup
from ufuse.frame_hook.opcodes.calls import guarded_function, inside_compiled
from ufuse.frame_hook.trace import symbols
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Dict,
    Instance,
    Number,
    Opaque,
    Source,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.nest_slots import GeneratorSlot
from ufuse.graph.semantics.nest_generators import is_generator

# What a Counter does where one is made, read and changed: `Counter` has two of them, `dict` the others.
OF_COUNTERS = {
    name: inspect.getattr_static(Counter, name)
    for name in ("__init__", "__missing__", "__getitem__", "__setitem__", "__contains__", "get")
}
MOST_TUPLE_ITEMS = 1000  # each is guarded for itself


class Outside:
    """As a trace of the frame reads it."""

    def __init__(self, trace: Trace, function: types.FunctionType, state: tuple[Any, ...]) -> None:
        self.trace, self._function, self.state = trace, function, state
        self._functions: dict[int, Constant | Opaque] = {}  # by id
        self._called: dict[int, symbols.Function] = {}
        self.arrays: dict[int, tuple[Source, np.ndarray]] = {}  # by register
        self.lists: dict[
            int, Numbers | Table | Ragged
        ] = {}  # by register; `arrays` has what they are like
        self.grown: set[int] = set()  # lists of tuples that are appended to
        self.sequences: dict[int, Sequence[object]] = {}  # these, and other lists that may grow
        self.walked: dict[int, str] = {}  # the iterators that go over some of these
        self.numbers_around: dict[int, tuple[str, NumberKind]] = {}  # by register
        self.generators: dict[int, GeneratorSlot] = {}  # by register
        self._own_generators: dict[str, Generator] = {}  # that the nest makes, by place
        self._tuple_items = 0  # that were read one by one
        self._written_cells: list[symbols.Cell] = []  # of the frame, that the loop writes
        self._iterators: list[tuple[Source, object]] = []  # of the outermost loop
        self._texts: dict[int, Unread] = {}  # by register
        self.things: dict[int, Thing] = {}
        self.dicts: list[int] = []  # their registers
        self._known_dicts: list[tuple[Source, Any]] = []
        self.objects: dict[int, listed_objects.ObjectList] = {}  # by register
        self.owners: dict[int, int] = {}  # of columns: the registers of their lists
        self._given_rows: dict[int, GivenRows] = {}  # by register
        self.stacks: dict[int, Sequence[np.ndarray]] = {}  # of columns of arrays: these
        self.attributes = Attributes()
        self.keyed = keyed.GivenKeys()

    def name(self, called: symbols.Function | None, name: str) -> Item:
        """A global of the loop's function, or of one that is called in it."""
        return self.item(self.trace.global_value(self.globals_of(called), name))

    def globals_of(self, called: symbols.Function | None) -> dict[str, Any]:
        """The globals of the loop's function, or of one that is called in it."""
        return self._function.__globals__ if called is None else called.globals

    def attribute(self, module: types.ModuleType, name: str) -> Item:
        """An attribute of a module."""
        return self.item(self.trace.module_attribute(module, name, module.__name__))

    def cell(self, called: symbols.Function | None, slot: int, names: tuple[str, ...]) -> Item:
        """A variable of the function around one."""
        if called is None:
            cell = self.trace.reader.cell(Source(slot, names[slot]), self.state[slot])
        else:
            cell = called.closure[slot - len(names) + len(called.closure)]
            if any(cell is one for one in self._written_cells):
                raise NotNativeError(f"a function that it calls uses {names[slot]}")
        if cell.content is None:
            raise NotNativeError(f"{names[slot]} has no value yet", later=True)
        return self.item(cell.content)

    def number(self, symbol: Unread, *, is_wide: bool = False) -> int:
        """The register of a number that is another in each call; `is_wide`: Python's or NumPy's."""
        register, kind = symbol.source.register, item_kind(symbol.value)
        assert kind is not None
        if register not in self.numbers_around:
            if is_wide:
                kind = EitherKind(kind.kind)
            else:
                self.trace.guards.check("TYPE", symbol.source, type(symbol.value))
            self.numbers_around[register] = f"{symbol.source.text}@{register}", kind
        return register

    def number_around(self, slot: int, name: str) -> int | None:
        """The register of a number of the function around a comprehension, which is another in each call."""
        content = self.trace.reader.cell(Source(slot, name), self.state[slot]).content
        if not isinstance(content, Unread) or (kind := item_kind(content.value)) is None:
            return None
        self.trace.guards.check("TYPE", content.source, type(content.value))
        self.numbers_around[content.source.register] = name, kind
        return content.source.register

    def written_cell(self, slot: int, name: str) -> int | None:
        """The register of the number in a cell of the frame that the loop writes; None: it is empty."""
        cell = self.trace.reader.cell(Source(slot, name), self.state[slot])
        self._written_cells.append(cell)
        return cell.content.source.register if isinstance(cell.content, Unread) else None

    def local(self, slot: int) -> Item:
        """A variable of the frame that the loop does not write."""
        return self.item(self.trace.state[slot])

    def exact_type(self, slot: int) -> None:
        """A variable of the frame is of its type: for another there is another nest, as this one would only decline."""
        symbol = self.trace.state[slot]
        if isinstance(symbol, Unread):
            self.trace.guards.check("TYPE", symbol.source, type(symbol.value))

    def members(self, slot: int) -> tuple[int, ...]:
        """The registers of the items of a tuple in a variable of the frame."""
        symbol = self.trace.look(self.trace.state[slot])
        assert isinstance(symbol, Tuple)
        return tuple(one.source.register for one in symbol.items if isinstance(one, Unread))

    def unbound(self, slot: int) -> None:
        """A variable of the frame has no value."""
        symbol = self.trace.state[slot]
        assert isinstance(symbol, Unbound)
        self.trace.found_empty(symbol)

    def not_none(self, slot: int) -> None:
        """A variable of the frame is something."""
        symbol = self.trace.state[slot]
        if isinstance(symbol, Unread):
            nothing = self.trace.guards.load("LOAD_CONST", None, text="None")
            self.trace.guards.check("DIFFERENT", symbol.source, nothing)

    def numbers(self, source: Source, value: Sequence[object]) -> Numbers:
        """A list or tuple whose items are numbers of one type."""
        kind = common_item_kind(value)
        if kind is None:
            raise NotNativeError(f"{source.text} is a list whose items are not numbers of one type")
        self.trace.guards.check("TYPE", source, type(value))
        if isinstance(value, list | tuple):
            self.trace.guards.check("FIRST_TYPE", source, type(value[0]))
        self.sequences[source.register] = value
        self.arrays[source.register] = source, np.broadcast_to(np.zeros((), kind.dtype), len(value))
        found = self.lists[source.register] = Numbers(ArrayKind(source.register), kind)
        return found

    def table(self, source: Source, value: Sequence[Sequence[object]], kind: NumberKind) -> Table:
        """A list or tuple whose items are lists or tuples of numbers of one type, all as long."""
        self.trace.guards.check("TYPE", source, type(value))
        self.sequences[source.register] = value
        like = np.broadcast_to(np.zeros((), kind.dtype), (len(value), len(value[0])))
        self.arrays[source.register] = source, like
        found = self.lists[source.register] = Table(ArrayKind(source.register), kind)
        return found

    def _ragged(self, source: Source, value: Sequence[object], shape: Shape) -> Ragged:
        """Lists of several lengths, by the register that they are said to be in."""
        is_real = any(one.is_real for one in shape.columns)
        kind, register = FLOAT if is_real else INT, source.register
        self.sequences[register] = value
        self.arrays[register] = source, np.broadcast_to(np.zeros((), kind.dtype), 2)
        holder = ArrayKind(register)
        found = Ragged(holder, kind, shape.columns, shape.has_tuples, shape.has_sets)
        self.lists[register] = found
        return found

    def _rows_of_dict(self, source: Source, value: Any, shape: Shape) -> GivenRows:
        """A dict that leads to lists: they have a register of their own."""
        if source.register not in self._given_rows:
            self.trace.guards.check("TYPE", source, type(value))
            number = listed_objects.FIRST_COLUMN + len(self.owners)
            self.owners[number] = source.register
            of = self.keyed.with_rows(source, value)
            text = f"what {source.text} leads to"
            rows = self._ragged(Source(number, text), list(value.values()), shape)
            self._given_rows[source.register] = GivenRows(of, rows)
        return self._given_rows[source.register]

    def objects_of(self, source: Source, value: Sequence[Any]) -> Objects:
        """A list or tuple of objects of one class."""
        for register, known in self.objects.items():
            if known.value is value:
                if register != source.register:
                    self.trace.guards.check("SAME", known.source, source)
                return Objects(ArrayKind(register))
        if any(type(one) is not type(value[0]) for one in value):
            raise NotNativeError(
                f"{source.text} is a list of objects of several classes", later=True
            )
        if not listed_objects.are_as_long(value):
            raise NotNativeError(f"{source.text} is a list of tuples of several lengths")
        if guarded_lookup(self.trace, type(value[0]), "__del__") is not ABSENT:
            # a local that is an item, and that nobody reads behind the loop, would not keep it alive
            raise NotNativeError(f"{source.text} is a list of objects with a finalizer")
        self.trace.guards.check("TYPE", source, type(value))
        self.trace.guards.check("FIRST_TYPE", source, type(value[0]))
        is_known = source.text in (one.name for one in self.objects.values())
        name = f"{source.text}@{source.register}" if is_known else source.text
        self.objects[source.register] = listed_objects.ObjectList(source, name, value)
        like = np.broadcast_to(np.zeros((), bool), len(value))
        self.arrays[source.register] = source, like
        return Objects(ArrayKind(source.register))

    def column(
        self, known: listed_objects.ObjectList, name: str, values: list[Any], kind: NumberKind
    ) -> int:
        """The number of an array of what objects have as an attribute."""
        number = self._column(known, name, np.broadcast_to(np.zeros((), kind.dtype), len(values)))
        self.sequences[number] = values
        self.lists[number] = Numbers(ArrayKind(number), kind)
        return number

    def stack(self, known: listed_objects.ObjectList, name: str, values: list[np.ndarray]) -> int:
        """The number of an array of the arrays that objects have as an attribute."""
        like = np.empty((len(values), *values[0].shape), values[0].dtype)
        number = self._column(known, name, like)
        self.stacks[number] = values
        return number

    def is_stacked(self, holder: object) -> bool:
        """Whether an array is one of the arrays that objects have as an attribute."""
        return isinstance(holder, ArrayKind) and holder.slot in self.stacks

    def refuse_as_object(self, holder: object, name: str) -> None:
        """Refuse to give the frame, or a caller, an array that an item has.

        Raises:
            NotNativeError: it is one.

        """
        if self.is_stacked(holder):
            raise NotNativeError(f"{name} is bound to an array that an object in a list has")

    def marks(self, known: listed_objects.ObjectList, name: str) -> int:
        """The number of an array that marks which objects get a new array as an attribute."""
        if name not in known.marks:
            text = f"{known.name}.{name} is new"
            known.marks[name] = self._column(known, text, np.zeros(len(known.value), bool))
        return known.marks[name]

    def _column(self, known: listed_objects.ObjectList, name: str, like: np.ndarray) -> int:
        number = listed_objects.FIRST_COLUMN + len(self.owners)
        self.owners[number] = known.source.register
        self.arrays[number] = Source(number, name), like
        return number

    def list_of(
        self, source: Source, value: list[Any]
    ) -> Numbers | Table | Ragged | Objects | OtherList:
        """A list, which may grow."""
        register = source.register
        is_other = register in self.grown or not listed_objects.are_as_long(value)
        if listed_objects.is_of_objects(value) and not is_other:
            return self.objects_of(source, value)
        if register in self.lists:
            return self.lists[register]
        if common_item_kind(value) is not None:
            return self.numbers(source, value)
        is_table = ragged_shapes.is_of_lists(value) and register not in self.grown
        if is_table and not isinstance(kind := ragged_shapes.common_kind(value), str):
            return self.table(source, value, kind)
        is_ragged = is_table or (value and type(value[0]) in SETS and register not in self.grown)
        if is_ragged and (shape := shape_of(value)) is not None:
            self.trace.guards.check("TYPE", source, list)
            return self._ragged(source, value, shape)
        if register not in self.sequences:
            self.trace.guards.check("TYPE", source, list)
            self.sequences[register] = value
            self.arrays[register] = source, np.broadcast_to(np.zeros(()), len(value))
        return OtherList(ArrayKind(register))

    def grow(self, table: Table | Ragged | Objects) -> Table | Ragged | Objects | OtherList:
        """A list of tuples that is appended to, and so is no table; a tuple stays one."""
        assert isinstance(table.holder, ArrayKind)  # a list of the program's
        register = table.holder.slot
        known = self.objects.get(register)
        value = self.sequences[register] if known is None else known.value
        is_of_tuples = known is None or known.width > 0
        if register not in self.grown and isinstance(value, list) and is_of_tuples:
            self.grown.add(register)
            for one in (self.lists, self.sequences, self.objects):
                one.pop(register, None)
            self.list_of(self.arrays[register][0], value)
        return OtherList(table.holder) if register in self.grown else table

    def known_text(self, text: Text) -> Known:
        """A text as a constant, guarded."""
        symbol = self.trace.look(self._texts[text.holder.slot])
        assert isinstance(symbol, Constant)
        return Known(symbol.value)

    def is_text(self, holder: object) -> bool:
        """Whether an array is one of characters."""
        return isinstance(holder, ArrayKind) and holder.slot in self._texts

    def text_of(self, source: Source, value: str) -> Text:
        """A text that a loop goes over."""
        text = Text(ArrayKind(source.register))
        self._texts.setdefault(source.register, Unread(source, value))
        return self.as_characters(text)

    def as_characters(self, text: Text) -> Text:
        """A text of which characters are taken: it is read as an array of them."""
        register = text.holder.slot
        if register not in self.arrays:
            symbol = self._texts[register]
            self.trace.guards.check("TYPE", symbol.source, str)
            like = np.broadcast_to(np.zeros((), np.uint32), len(symbol.value))
            self.arrays[register] = symbol.source, like
        return text

    def settle(self, register: int, kind: NumberKind) -> None:
        """A list that is empty gets numbers of a kind."""
        value = self.sequences[register]
        if register not in self.lists and not value:
            source, _ = self.arrays[register]
            self.arrays[register] = source, np.zeros(0, kind.dtype)
            self.lists[register] = Numbers(ArrayKind(register), kind)

    def text(self, register: int) -> str:
        """What people call what lies in a register."""
        if register in self.numbers_around:
            return self.numbers_around[register][0]
        return self.arrays[register][0].text

    def array(self, source: Source, value: np.ndarray) -> ArrayKind:
        """An array, by the register that it lies in."""
        kind = array_kind(source.register, value)
        if kind is None:
            has_type = value.dtype.byteorder in "=|" and value.dtype.char in DTYPES
            what = f"{value.ndim} axes" if has_type else f"dtype {value.dtype}"
            raise NotNativeError(f"it uses {source.text}, an array of {what}")
        self.arrays[kind.slot] = source, value
        return kind

    def _generator(self, source: Source, value: Any) -> Generator:
        """One from which numbers are drawn: any other of its type may take its place."""
        if why := generator_methods.why_not_followed(value):
            raise NotNativeError(why)
        self.trace.guards.check("TYPE", source, type(value))
        is_known = source.text in [one.name for one in self.generators.values()]
        name = f"{source.text}@{source.register}" if is_known else source.text
        is_python = type(value) is random.Random
        self.generators.setdefault(source.register, GeneratorSlot(name, is_python))
        return Generator(source.register, type(value), source)

    def _keyed(self, source: Source, value: Any) -> NewDict | MadeDict | GivenRows:
        """A dict or set of whole numbers."""
        if isinstance(value, dict) and (shape := shape_of(value.values())) is not None:
            return self._rows_of_dict(source, value, shape)
        item = self.keyed.item(source, value)
        self.trace.guards.check("TYPE", source, type(value))
        if type(value) is Counter:
            self.counts()
        return item

    def counts(self) -> None:
        """Counters do what they did when this was written.

        Raises:
            NotNativeError: the program has changed that.

        """
        for name, usual in OF_COUNTERS.items():
            if guarded_lookup(self.trace, Counter, name) is not usual:
                raise NotNativeError(f"it uses a Counter, whose {name} was replaced")

    def guard_known_dicts(self) -> None:
        """What the loop changes are none of the dicts whose keys it knows.

        Raises:
            NotNativeError: one is.

        """
        for one in self.keyed.found.values():
            for source, value in self._known_dicts if one.is_written else ():
                if value is one.value:
                    raise NotNativeError(
                        f"it changes {source.text}, which it knows by another name, too", later=True
                    )
                self.trace.guards.check("DIFFERENT", one.source, source)

    def own_generator(self, place: str, new: Callable[[], Any]) -> Generator:
        """A generator that no one else has, for a place where the nest makes one."""
        if place not in self._own_generators:
            one = new()
            source = self.trace.guards.load("LOAD_CONST", one, text=place)
            self._own_generators[place] = self._generator(source, one)
        return self._own_generators[place]

    def _method_of_module(self, source: Source, method: Any) -> Item | None:
        """A function of `np.random` or `random`, which is a method of its own generator."""
        owned = generator_methods.module_of(method)
        if owned is None:
            return None
        self.trace.guards.check("IDENTITY", source, method)
        module, name = owned
        text = f"{module.__name__}.{name}".replace("numpy", "np")
        owner = self.item(self.trace.module_attribute(module, name, text))
        return (
            generator_methods.method(self.trace, self.item, owner, method.__name__)
            if isinstance(owner, Generator)
            else None
        )

    def iterated(self, source: Source, iterator: object) -> tuple[Source, Any]:
        """What an iterator of the frame goes over."""
        self.trace.guards.check("TYPE", source, type(iterator))
        text = f"what {source.text} goes over"
        return self.trace.guards.load("LOAD_ITERATED", source, text=text), _hook.iterated(iterator)

    def goes_over(self, source: Source, iterator: object) -> None:
        """Each iterator of the outermost loop is another: else it would give several items in a turn."""
        for other, known in self._iterators:
            if known is iterator:
                raise NotNativeError("it goes over one iterator twice")
            if type(known) is type(iterator):
                self.trace.guards.check("DIFFERENT", source, other)
        self._iterators.append((source, iterator))

    def items(self, source: Source, items: tuple[Any, ...]) -> list[tuple[Source, Any]]:
        """Those of a tuple that was loaded."""
        guards = self.trace.guards
        guards.check("LENGTH", source, len(items))
        loaded = (
            guards.load("LOAD_ITEM", source, i, text=f"{source.text}[{i}]")
            for i in range(len(items))
        )
        return list(zip(loaded, items, strict=True))

    def called(self, function: types.FunctionType) -> symbols.Function:
        """What a call of a function that was known from outside needs of it."""
        found = self._called.get(id(function))
        if found is None:
            symbol = self._functions[id(function)]
            found = self._called[id(function)] = guarded_function(self.trace, symbol, function)
        return found

    def known(self, function: types.FunctionType, called: symbols.Function) -> None:
        """What calls of a function need is known."""
        self._called[id(function)] = called

    def item(self, symbol: Symbol) -> Item:
        """A value that is to stay what it is, but for the elements of arrays.

        Raises:
            NotNativeError: no nest can use it.

        """
        if isinstance(symbol, Unread) and type(symbol.value) in (np.ndarray, str):
            # whatever it holds: a loop may ask nothing but whether it is None
            self.trace.guards.check("TYPE", symbol.source, type(symbol.value))
        if isinstance(symbol, Unread) and type(symbol.value) is np.ndarray:
            return Array(self.array(symbol.source, symbol.value))
        if isinstance(symbol, Unread) and self.keyed.is_one(symbol):
            return self._keyed(symbol.source, symbol.value)
        if isinstance(symbol, Unread) and type(symbol.value) is list:
            return self.list_of(symbol.source, symbol.value)
        if isinstance(symbol, Unread) and listed_objects.is_of_objects(symbol.value):
            return self.objects_of(symbol.source, symbol.value)
        if isinstance(symbol, Unread) and is_generator(symbol.value):
            return self._generator(symbol.source, symbol.value)
        if isinstance(symbol, Unread) and generator_methods.is_default_rng(symbol.value):
            self.trace.guards.check("IDENTITY", symbol.source, symbol.value)
            return Known(symbol.value)
        if isinstance(symbol, Unread) and generator_methods.may_be_method(symbol.value):
            method = self._method_of_module(symbol.source, symbol.value)
            if method is not None:
                return method
        if isinstance(symbol, Unread) and type(symbol.value) is str:
            self._texts[symbol.source.register] = symbol
            return Text(ArrayKind(symbol.source.register))
        if isinstance(symbol, Unread) and type(symbol.value) in (bytes, bytearray):
            return self.numbers(symbol.source, symbol.value)
        value = symbol.value if isinstance(symbol, Unread) else None
        symbol = inside_compiled(self.trace, self.trace.look(symbol))
        if isinstance(symbol, Number):
            example = self.trace.number_examples.get(symbol.node)
            if type(example) is float:
                symbol = self.trace.specialised(symbol)
        match symbol:
            case Opaque(value=types.FunctionType()) | Constant(value=types.FunctionType()):
                self._functions[id(symbol.value)] = symbol
                return Known(symbol.value)
            case Constant(value=known):
                if isinstance(known, type) and symbol.source is not None:
                    self.attributes.classes[id(known)] = Thing(symbol.source, known)
                return Known(known)
            case Dict(items=entries, source=Source() as source):
                self.dicts.append(source.register)
                self._known_dicts.append((source, value))
                return Entries(entries, value, source.text)
            case Instance(source=Source() as source, content=None) | Opaque(source=source):
                if isinstance(symbol, Instance):
                    self.attributes.instances[source.register] = symbol
                return self.things.setdefault(source.register, Thing(source, symbol.value))
            case Tuple(items=items, source=source):
                self._tuple_items += len(items)
                if self._tuple_items > MOST_TUPLE_ITEMS:
                    raise NotNativeError("it uses a tuple of many items")
                register = None if source is None else source.register
                return Items(tuple(map(self.item, items)), register)
        raise NotNativeError(_why_not(symbol, value))


def _why_not(symbol: Symbol, value: object) -> str:
    """What cannot be used is told by its name and class, where it has them."""
    source = getattr(symbol, "source", None)
    value = getattr(symbol, "value", value) if value is None else value
    if not isinstance(source, Source) or value is None:
        return "it uses a variable from outside that is not followed"
    return f"it uses {source.text}, {value_in_words(value)}, which is not followed"

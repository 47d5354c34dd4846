"""The recipe of an entry: rows that build the Python objects around a graph's results, and carry out changes."""

from __future__ import annotations

import functools
import operator
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from ufuse.frame_hook.entries.recipe_iterators import (
    Made,
    Register,
    iterator_row,
    made_set,
    refilled,
)
from ufuse.frame_hook.interpreter.outcomes import NotRebuilt
from ufuse.frame_hook.objects.classes import HEAP_TYPE, UNBOUND_C
from ufuse.frame_hook.objects.contents import PLAIN_EXCEPTIONS
from ufuse.frame_hook.trace.changes import Effect, ObjectOperand, Operand, RegisterOperand
from ufuse.frame_hook.trace.guards import postfix
from ufuse.frame_hook.trace.rows import Row, RowKind, flat
from ufuse.frame_hook.trace.symbols import (
    Array,
    ArrayMethod,
    Cell,
    Constant,
    Deque,
    DeviceArray,
    Dict,
    ErrorState,
    ErrorToken,
    Function,
    Generator,
    Handled,
    Instance,
    Integer,
    Iterator,
    List,
    Method,
    Null,
    Number,
    Opaque,
    Range,
    Set,
    Slice,
    Source,
    StandIn,
    Super,
    Symbol,
    Tuple,
    Unread,
    View,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import size
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.typing.library import is_made_by_call


def holds_itself(symbol: Symbol) -> bool:
    """Whether a container can be reached from what it holds."""
    seen: set[int] = set()
    waiting = _held(symbol)
    while waiting:
        one = waiting.pop()
        if one is symbol:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            waiting += _held(one)
    return False


def _held(symbol: Symbol | None) -> list[Any]:
    """The symbols that an object made by the trace refers to; none for one of the frame."""
    if getattr(symbol, "source", None) is not None:
        return []
    match symbol:
        case List(items=items) | Tuple(items=items):
            return list(items)
        case Deque(items=members):
            return list(members)
        case Dict(items=entries):
            return list(entries.values())
        case Instance(attributes=attributes, content=content):
            return [*attributes.values(), content]
        case Cell(content=content):
            return [content]
        case Function(closure=cells, defaults=defaults, attributes=given):
            return [*cells, *defaults, *given.values()]
        case Method(self=receiver, function=function):
            return [receiver, function]
        case Iterator(parts=parts):
            return list(parts)
    return []


def made_function(
    code: types.CodeType,
    namespace: dict[str, Any],
    defaults: tuple[Any, ...],
    keyword_defaults: dict[str, Any],
    *closure: types.CellType,
) -> types.FunctionType:
    """The function that MAKE_FUNCTION makes."""
    function = types.FunctionType(code, namespace, code.co_name, defaults or None, closure or None)
    function.__qualname__ = code.co_qualname
    function.__kwdefaults__ = keyword_defaults or None
    return function


def called(function: Callable[..., Any], arguments: Any, keywords: dict[str, Any]) -> Any:
    """The result of a call with keywords, which a row of the recipe cannot have."""
    return function(*arguments, **keywords)


IN_C = (*UNBOUND_C, types.ClassMethodDescriptorType)


def bound_in_c(found: Any, receiver: Any) -> Any:
    """A method of C as Python binds it; without the second argument CPython may crash (3.11 does)."""
    if isinstance(found, types.ClassMethodDescriptorType):
        return found.__get__(None, receiver)
    return found.__get__(receiver, type(receiver))


MADE_BY_CALL = (operator.itemgetter, operator.attrgetter, operator.methodcaller, functools.partial)
# The size of an instance of a class that adds a dict and weak references to a plain exception, and nothing else.
PLAIN_EXCEPTION_SIZE = type("Plain", (Exception,), {}).__basicsize__


class Recipe:
    """Rows that build objects, in the order in which C carries them out.

    `others`: how many outputs the artefact has that no node of the trace computes.
    """

    def __init__(self, trace: Trace, others: int = 0) -> None:
        self.trace = trace
        self._others = others
        self.outputs: list[Node] = []
        self._places: dict[Node, int] = {}  # of each among the outputs
        self.rows: list[Row[Register]] = []
        self._made: dict[int, Register] = {}  # by id of the symbol
        self._kept: list[Symbol] = []  # those whose id is a key
        self._open: set[int] = (
            set()
        )  # by id: being built; meeting one again is a cycle that no row can make
        self._unfilled: deque[Symbol] = deque()  # made, in this order, and empty so far
        self._filling = False

    def follow(self, effects: Iterable[Effect]) -> None:
        """The rows of the effects, in their order."""
        only: list[Row[Register]] = []  # of the next one, right in front of it
        for effect in effects:
            row = effect.mapped(self._operand)
            if effect.kind == "only":
                only.append(row)
                continue
            self.rows += [*only, row]
            only.clear()

    def _operand(self, operand: Operand) -> Register:
        match operand:
            case RegisterOperand(source=source):
                return source.register
            case ObjectOperand(value=value):
                return self.constant(value)
        return self.register(operand)

    def register(self, symbol: Symbol | None) -> Register:
        """Where the object of a symbol will be; -1 for nothing. One symbol is one object."""
        if symbol is None or isinstance(symbol, Null):
            return -1
        symbol = self.trace.owners.get(id(symbol), symbol)
        known = self._made.get(id(symbol))
        if known is None:
            if id(symbol) in self._open:
                raise NotRebuilt(None, "an object that holds itself")
            self._open.add(id(symbol))
            known = self._build(symbol)
            self._open.discard(id(symbol))
            self._made[id(symbol)] = known
            self._kept.append(symbol)
        if not self._open and not self._filling:
            self._fill_all()
        return known

    def _fill_all(self) -> None:
        """Fill what was made empty, last: its content may refer to anything, itself included."""
        self._filling = True
        while self._unfilled:
            self._fill(self._unfilled[0])
            self._unfilled.popleft()
        self._filling = False

    def fill_first(self, container: Symbol) -> None:
        """Build a container whose content is needed at once, by an iterator over it.

        Raises:
            NotRebuilt: it holds itself, so that something must be built before it is full.

        """
        owner = self.trace.owners.get(id(container), container)
        self.register(owner)
        if owner in self._unfilled:
            if holds_itself(owner):
                raise NotRebuilt(None, "an iterator over an object that holds itself")
            self._unfilled.remove(owner)
            self._fill(owner)

    def has(self, symbol: Symbol | None) -> bool:
        """Whether a row for the object of this symbol stands already."""
        return id(symbol) in self._made

    def _output(self, node: Node) -> Made:
        if node in self._places and node.op.kind is Kind.VIEW:
            node = self.trace.graph.node(
                node.op, node.inputs, node.attributes
            )  # two views are two objects
        if node not in self._places:
            self._places[node] = len(self.outputs)
            self.outputs.append(node)
        return Made("output", self._places[node])

    def constant(self, value: Any) -> Made:
        """The register of this very object."""
        return self.row("const", what=value)

    def _key(self, key: Any) -> Register:
        """The register of a key of a dict that the trace has made."""
        symbol = self.trace.key_symbol(key)
        return self.constant(key) if symbol is None else self.register(symbol)

    def row(self, kind: RowKind, *operands: Register, what: Any = None) -> Made:
        """One more row; its register."""
        self.rows.append(Row(kind, operands, what))
        return Made("row", len(self.rows) - 1)

    def call(self, function: Callable[..., Any], *registers: Register) -> Made:
        """The register of what a function returns for arguments in registers."""
        return self.row("call", *registers, what=function)

    def registers(self, symbols: Iterable[Symbol]) -> tuple[Register, ...]:
        """The registers of several symbols."""
        return tuple(self.register(symbol) for symbol in symbols)

    def _build(self, symbol: Symbol) -> Register:
        source: Source | None = getattr(symbol, "source", None)
        if source is not None and (
            not isinstance(symbol, Constant) or type(symbol.value) is frozenset
        ):
            return source.register
        match symbol:
            case Array() | DeviceArray() if not symbol.path and symbol.buffer.source is not None:
                return symbol.buffer.source.register
            case Array() | DeviceArray():
                return self._output(self.trace.graph.value(symbol))
            case Number(node=node):
                return self._output(node)
            case Constant() if id(symbol) in self.trace.frozensets:
                _, step = self.trace.frozensets[id(symbol)]
                return self.call(made_set, self.constant((step,)))
            case Constant(value=value):
                return self.constant(value)
            case Integer(size=value):
                return self._integer(value)
            case Tuple() | Slice() if id(symbol) in self.trace.code_constants:
                return self.constant(self.trace.code_constants[id(symbol)])
            case Tuple(items=items):
                return self.row("tuple", *self.registers(items))
            case List() | Dict() | Deque() if holds_itself(symbol):
                return self._empty_container(symbol)
            case Deque(items=members):
                held = self.row("list", *self.registers(members))
                return self.call(deque, held, self.constant(members.maxlen))
            case List(items=items):
                return self.row("list", *self.registers(items))
            case Dict(items=entries):
                pairs = [r for k, v in entries.items() for r in (self._key(k), self.register(v))]
                return self.row("dict", *pairs)
            case View(of=mapping, kind=kind):
                owner = OrderedDict if isinstance(mapping.items, OrderedDict) else dict
                return self.call(getattr(owner, kind), self.register(mapping))
            case Set(made=None, born=born):
                raise NotRebuilt(born or None, "a set whose order is not followed")
            case Set(made=steps):
                return self.call(made_set, self.constant(tuple(steps or ())))
            case Instance(node=Node() as node):
                return self._output(node)
            case Instance():
                return self._instance(symbol)
            case Generator():
                return self._generator(symbol)
            case Super(start=start, self=of):
                return self.call(super, self.constant(start), self.register(of))
            case Slice(start=start, stop=stop, step=step):
                return self.row("slice", *self.registers((start, stop, step)))
            case Range(start=start, stop=stop, step=step):
                return self.call(range, *self.registers((start, stop, step)))
            case Iterator():
                return iterator_row(self, symbol)
            case Cell():
                return self._cell(symbol)
            case Function():
                return self._function(symbol)
            case Method(self=receiver, function=Constant(value=found)) if isinstance(found, IN_C):
                return self.call(bound_in_c, self.constant(found), self.register(receiver))
            case Method(self=receiver, function=function):
                return self.call(types.MethodType, self.register(function), self.register(receiver))
            case ArrayMethod(self=receiver, name=name):
                return self.call(getattr, self.register(receiver), self.constant(name))
            case Handled(born=born):
                raise NotRebuilt(born, "an exception that is being handled")
            case ErrorState(born=born) | ErrorToken(state=ErrorState(born=born)):
                raise NotRebuilt(born, "`np.errstate`, which was entered,")
        assert not isinstance(symbol, Unread | Opaque | Null), symbol
        raise TypeError(f"no recipe for {symbol}")

    def _empty_container(self, symbol: List | Dict | Deque) -> Register:
        if isinstance(symbol, Deque):
            made = self.call(deque, self.constant(()), self.constant(symbol.items.maxlen))
        else:
            made = self.row("list" if isinstance(symbol, List) else "dict")
        self._made[id(symbol)] = made
        self._kept.append(symbol)
        self._unfilled.append(symbol)
        return made

    def _integer(self, value: size.Size) -> Register:
        """A whole number, which is guarded to fit into 64 bits."""
        program = tuple(postfix(value, self.trace.sizes.leaves))
        if not all(step[0] != "const" or -(2**63) <= step[1] < 2**63 for step in program):
            raise NotRebuilt(None, "a number beyond 64 bits")
        always = (
            ("const", 0),
            ("mul",),
            ("const", 0),
            ("eq",),
        )  # `size * 0 == 0` holds unless computing `size` overflows 64 bits
        self.trace.guards.check(
            "RELATION", (*program, *always), says="RELATION large", fields=(value,)
        )
        return self.row("int", what=program)

    def _generator(self, generator: Generator) -> Register:
        function, arguments, keywords = generator.call
        if generator.state != "new":
            raise NotRebuilt(generator.born, "a generator that has begun")
        pairs = [r for k, v in keywords.items() for r in (self.constant(k), self.register(v))]
        given = self.row("tuple", *self.registers(arguments))
        return self.call(called, self.register(function), given, self.row("dict", *pairs))

    def _instance(self, instance: Instance) -> Register:
        """The object first and its attributes later, because they may refer to it."""
        if instance.raised is not None:
            raise NotRebuilt(instance.raised, "an exception that was raised")
        if issubclass(instance.kind, StandIn):
            raise NotRebuilt(None, "what NumPy makes of its arguments")
        if instance.kind in MADE_BY_CALL or is_made_by_call(instance.kind):
            return self._called_class(instance)
        made = self._empty_instance(instance)
        self._made[id(instance)] = made
        self._kept.append(instance)
        self._unfilled.append(instance)
        return made

    def _called_class(self, instance: Instance) -> Register:
        """An instance of a C class that is immutable once called: the same call, of its class or another, makes it."""
        assert isinstance(instance.content, Tuple)
        self.fill_first(instance.content.items[1])
        given, named, *maker = self.registers(instance.content.items)
        return self.call(called, *(maker or (self.constant(instance.kind),)), given, named)

    def _empty_instance(self, instance: Instance) -> Register:
        """An object without attributes; immutable content (of a tuple, an int, an exception) is in it already."""
        kind, content = instance.kind, instance.content
        if issubclass(kind, BaseException):
            items = content.items if isinstance(content, Tuple) else ()
            return self._exception(kind, self.registers(items))
        match content:
            case None if issubclass(kind, types.SimpleNamespace):
                return self.call(types.SimpleNamespace.__new__, self.constant(kind))
            case None:
                return self.call(object.__new__, self.constant(kind))
            case Tuple(items=items):
                held = self.row("tuple", *self.registers(items))
                return self.call(tuple.__new__, self.constant(kind), held)
            case Constant(value=value):
                return self.call(type(value).__new__, self.constant(kind), self.constant(value))
            case List() | Dict() | Set():
                base = {List: list, Dict: dict, Set: set}[type(content)]
                made = self.call(base.__new__, self.constant(kind))
                self._made[id(content)] = made
                return made
        raise NotRebuilt(None, f"a {kind.__name__}")

    def _fill(self, symbol: Symbol) -> None:
        """Give a made object what it holds, and its attributes in their order."""
        made = self._made[id(symbol)]
        match symbol:
            case List(items=items):
                for item in items:
                    self.row("list_append", made, self.register(item))
            case Deque(items=members):
                for item in members:
                    self.call(deque.append, made, self.register(item))
            case Dict(items=entries):
                for key, value in entries.items():
                    self.row("dict_set", made, self._key(key), self.register(value))
            case Function(attributes=attributes):
                for name, written in attributes.items():
                    self.call(setattr, made, self.constant(name), self.register(written))
            case Cell(content=content):
                self.row("cell_set", made, self.register(content))
            case Set(made=None, born=born):
                raise NotRebuilt(born or None, "a set whose order is not followed")
            case Set(made=steps):
                self.call(refilled, made, self.constant(tuple(steps or ())))
            case Instance(content=held, attributes=attributes):
                if isinstance(held, List | Dict | Set):
                    self._fill(held)
                for name, given in attributes.items():
                    if given is not None:
                        self._set_attribute(symbol, made, name, self.register(given))

    def _set_attribute(
        self, instance: Instance, made: Register, name: str, value: Register
    ) -> None:
        if name == "default_factory" and issubclass(instance.kind, defaultdict):
            self.call(defaultdict.__init__, made, value)
            return
        self.row("set_attr", made, value, what=name)

    def _exception(self, kind: type[BaseException], arguments: tuple[Register, ...]) -> Register:
        if not kind.__flags__ & HEAP_TYPE:
            return self.call(kind, *arguments)
        if kind.__basicsize__ > PLAIN_EXCEPTION_SIZE or not issubclass(kind, PLAIN_EXCEPTIONS):
            raise NotRebuilt(None, f"a {kind.__name__}")
        return self.call(BaseException.__new__, self.constant(kind), *arguments)

    def _cell(self, cell: Cell) -> Register:
        """The cell first and its content later, because a function in it may close over it."""
        made = self._made[id(cell)] = self.row("cell", -1)
        self._kept.append(cell)
        if cell.content is not None:
            self._unfilled.append(cell)
        return made

    def _function(self, function: Function) -> Register:
        defaults = self.row("tuple", *self.registers(function.defaults))
        pairs = [
            r
            for k, v in function.keyword_defaults.items()
            for r in (self.constant(k), self.register(v))
        ]
        keyword_defaults = self.row("dict", *pairs)
        code, namespace = self.constant(function.code), self.constant(function.globals)
        if function.attributes:
            self._unfilled.append(function)
        return self.call(
            made_function,
            code,
            namespace,
            defaults,
            keyword_defaults,
            *self.registers(function.closure),
        )

    def number(self, register: Register) -> int:
        """The number of a register: the guards' come first, then the outputs', then the rows'."""
        if isinstance(register, int):
            return register
        first = self.trace.guards.registers + (
            len(self.outputs) + self._others if register.by == "row" else 0
        )
        return first + register.number

    def for_c(self) -> list[tuple[Any, ...]]:
        """The rows with numbered registers, as C takes them."""
        return [flat(row.mapped(self.number)) for row in self.rows]

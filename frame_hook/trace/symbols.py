"""What the trace knows of each Python value: inert data, a closed union. Behaviour is in the tables of other files."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType, GeneratorType
from typing import Any

from ufuse.graph.node import Node
from ufuse.graph.records import individual, record
from ufuse.graph.semantics.effects import Errors
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType


@record
class Source:
    """Where the frame has a value: the register that the guard program loads it into, and its name for people."""

    register: int
    text: str


@individual
class Constant:
    """A value known while tracing: its identity or equality is guarded, or it stands in the code."""

    value: Any
    source: Source | None = None


@individual
class Unread:
    """A value of the frame that has not been read: it can be moved, stored and returned without a guard."""

    source: Source
    value: Any


@individual
class Opaque:
    """A value of the frame whose type is guarded, and of which nothing else is followed."""

    source: Source
    value: Any


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory: `version` is the node that has its present contents.

    `visible`: it existed before this trace, so a store into it is an effect. `frozen` is raised where it is to be
    written: it may be other memory, too, by a branch in the graph.
    """

    root: Node
    version: Node
    visible: bool
    source: Source | None = None
    value: Any = None  # the example array of an input
    frozen: Exception | None = None


@individual
class Array:
    """An array: a view (through `path`; () is all of it) of a buffer."""

    buffer: Buffer
    path: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
    type: ArrayType


@individual
class DeviceArray:
    """An array of CuPy's, as `Array`; a class of its own, because NumPy's rules are not about it."""

    buffer: Buffer
    path: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
    type: ArrayType


AnyArray = Array | DeviceArray


def is_read_only(array: AnyArray) -> bool:
    """Whether NumPy lets nobody write through a view, whatever it is a view of."""
    return isinstance(array, Array) and any(
        name in ("diagonal", "windows", "broadcast") for name, _ in array.path
    )


@individual
class Number:
    """A NumPy scalar, or a Python float or complex, known only when the program runs."""

    node: Node
    source: Source | None = None


@individual
class Integer:
    """A Python int known only when the program runs; `example` is its value now."""

    size: Size
    example: int
    source: Source | None = None


@individual
class Tuple:
    """A tuple with known length."""

    items: tuple[Symbol, ...]
    source: Source | None = None


@dataclass(slots=True, eq=False)
class List:
    """A list with known length. One that came from the frame has a source; changing it is recorded, see `changes`."""

    items: list[Symbol]
    source: Source | None = None


@dataclass(slots=True, eq=False)
class Dict:
    """A dict whose keys are known; `items` is an OrderedDict for the content of one, whose order is its own."""

    items: dict[Any, Symbol]
    source: Source | None = None


@dataclass(slots=True, eq=False)
class Deque:
    """A deque with known length. `items` is a real one: it has the `maxlen`, and its iterators fail once it changes."""

    items: deque[Symbol]
    source: Source | None = None


@individual
class View:
    """The keys, values or items view of a dict, which shows later changes."""

    of: Dict
    kind: str


@record
class Step:
    """One step of making a set: a method called on it, or a function that gives it to begin with."""

    function: Any
    arguments: tuple[Any, ...]  # values; steps in a tuple of type `Replay` make another set
    begins: bool = False


class Replay(tuple[Step, ...]):
    """The steps that make a set."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Set:
    """A set of known values. `made` are the steps that made it: repeated, they give a set of the same order.

    `made` is None for a set of the frame, whose order is not known. `born`: how many root instructions had run.
    """

    items: set[Any]
    source: Source | None = None
    made: list[Step] | None = field(default_factory=list)
    born: int = 0


@individual
class Slice:
    """A slice object."""

    start: Symbol
    stop: Symbol
    step: Symbol


@individual
class Range:
    """A range object with a bound known only when the program runs."""

    start: Symbol
    stop: Symbol
    step: Symbol
    source: Source | None = None


@dataclass(slots=True, eq=False)
class Iterator:
    """An iterator made in the trace: `kind` says how it goes on (see `iterate.NEXT`), `parts` what it goes over.

    `position` counts what it has given; `length` is that of a container which must not change size meanwhile. `asked`
    is how often it was asked, whatever its kind.
    `born` is when the trace made it; `state` is what else its kind remembers; `walk` is a real iterator that is
    stepped along: over the keys of a dict that may be changed meanwhile, or a `zip` or `itertools` object over symbols.
    """

    kind: str
    parts: list[Symbol]
    position: int = 0
    length: int = -1
    is_exhausted: bool = False
    born: int = 0
    state: Any = None
    walk: Any = None
    asked: int = 0


@dataclass(slots=True, eq=False)
class Generator:
    """A generator made in the trace. `frame` is the frame it runs in; `born` is when the trace made it.

    `call` is how it was made (function, arguments, keywords), for one that has not begun.
    """

    frame: Any
    call: tuple[Symbol, tuple[Symbol, ...], dict[str, Symbol]]
    born: int
    state: str = "new"  # new, waiting, running, finished


@dataclass(slots=True, eq=False)
class Instance:
    """An object of a class. One that came from the frame has a source and an example `value`.

    `attributes` are those of its own that are known (None: it has none of that name), in the order they were made;
    `content` is what a subclass of a built-in type holds besides. `raised` is when the trace raised it.
    """

    kind: type
    source: Source | None = None
    value: Any = None
    attributes: dict[str, Symbol | None] = field(default_factory=dict)
    content: Symbol | None = None
    raised: int | None = None
    node: Node | None = None  # what makes it in each run, of which nothing else is known


class StandIn:
    """A class of ours for a type of NumPy's: its instances exist only while a trace is read, no frame gets one."""


@individual
class Super:
    """`super(start, self)`: attributes come from the classes behind `start` in the MRO of `kind`."""

    start: type
    kind: type
    self: Symbol


@individual
class Handled:
    """The exc_info that PUSH_EXC_INFO saved for POP_EXCEPT, or the traceback passed to `__exit__`."""

    born: int


@individual
class ErrorState:
    """NumPy's object for what happens where floating-point flags are raised: what the program says of some of them."""

    errors: Errors
    born: int


@individual
class ErrorToken:
    """What entering such a state gives, by which it is left; `before` is what was entered already, innermost last."""

    state: ErrorState
    before: tuple[ErrorToken, ...]


@dataclass(slots=True, eq=False)
class Cell:
    """A closure cell. `content` None: empty. One that came from the frame has a source; its writes are recorded."""

    content: Symbol | None
    source: Source | None = None


@individual
class Function:
    """A function made in the trace. `attributes` are those that the program gave it."""

    code: CodeType
    globals: dict[str, Any]
    defaults: tuple[Symbol, ...] = ()
    keyword_defaults: Mapping[str, Symbol] = field(default_factory=dict)
    closure: tuple[Cell, ...] = ()
    attributes: dict[str, Symbol] = field(default_factory=dict)


@individual
class Method:
    """A method looked up on a value: calling it calls `function` with `self` first."""

    self: Symbol
    function: Symbol
    source: Source | None = None


@individual
class ArrayMethod:
    """A method of ndarray or of a NumPy scalar, looked up and not called yet."""

    self: Symbol
    name: str


@record
class Null:
    """The NULL that call sequences push."""


@individual
class Unbound:
    """A slot of the frame that is empty now; no instruction has needed that yet, so it is not guarded."""

    source: Source


Symbol = (
    Constant
    | Unread
    | Opaque
    | Array
    | DeviceArray
    | Number
    | Integer
    | Tuple
    | List
    | Dict
    | Deque
    | View
    | Set
    | Slice
    | Range
    | Iterator
    | Generator
    | Instance
    | Super
    | Handled
    | ErrorState
    | ErrorToken
    | Cell
    | Function
    | Method
    | ArrayMethod
    | Null
    | Unbound
)

# The built-in type of what each class of symbols stands for, where it is always the same.
BUILT_IN: dict[type, type] = {
    List: list, Deque: deque, Dict: dict, Tuple: tuple, Set: set, Generator: GeneratorType, Range: range, Slice: slice,
}  # fmt: skip
NULL = Null()
BESIDE_METHOD = Null()  # where CPython has `self`, and the method beside it is not bound


def class_of(symbol: Symbol) -> type | None:
    """The class that a symbol stands for; None where it is no class."""
    if isinstance(symbol, Constant) and isinstance(symbol.value, type):
        return symbol.value
    return None

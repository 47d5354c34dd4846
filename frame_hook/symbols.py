"""What the trace knows of each Python value: inert data, a closed union. Behaviour is in the tables of other files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType


@dataclass(frozen=True, slots=True)
class Source:
    """Where the frame has a value: the register that the guard program loads it into, and its name for people."""

    register: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A value known while tracing: its identity or equality is guarded, or it stands in the code."""

    value: Any
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """A value of the frame that nothing has looked at yet: it can be moved, and is not guarded."""

    source: Source
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A value of the frame whose type is guarded, and of which nothing else is followed."""

    source: Source
    value: Any


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory: `version` is the node that has its present contents.

    `visible`: it existed before this trace, so a store into it is an effect.
    """

    root: Node
    version: Node
    visible: bool
    source: Source | None = None
    value: Any = None  # the example array of an input


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array: a view (through `path`; () is all of it) of a buffer."""

    buffer: Buffer
    path: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
    type: ArrayType


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A NumPy scalar, or a Python float or complex, known only when the program runs."""

    node: Node
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Integer:
    """A Python int known only when the program runs; `example` is its value now."""

    size: Size
    example: int
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tuple:
    """A tuple with known length."""

    items: tuple[Symbol, ...]
    source: Source | None = None


@dataclass(slots=True, eq=False)
class List:
    """A list with known length. One that came from the frame has a source, and is not changed in a trace."""

    items: list[Symbol]
    source: Source | None = None


@dataclass(slots=True, eq=False)
class Dict:
    """A dict whose keys are known."""

    items: dict[Any, Symbol]
    source: Source | None = None


@dataclass(slots=True, eq=False)
class Set:
    """A set of known values."""

    items: set[Any]
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A slice object."""

    start: Symbol
    stop: Symbol
    step: Symbol


@dataclass(frozen=True, slots=True, eq=False)
class Range:
    """A range object with a bound known only when the program runs."""

    start: Symbol
    stop: Symbol
    step: Symbol
    source: Source | None = None


@dataclass(slots=True, eq=False)
class Iterator:
    """An iterator made in the trace over known items; `position` is the next one, `origin` what is iterated over."""

    items: list[Symbol]
    position: int = 0
    origin: Symbol | None = None


@dataclass(slots=True, eq=False)
class Cell:
    """A closure cell. `content` None: empty. One from the frame has a source and is not written in a trace."""

    content: Symbol | None
    source: Source | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function made in the trace."""

    code: CodeType
    globals: dict[str, Any]
    defaults: tuple[Symbol, ...] = ()
    keyword_defaults: Mapping[str, Symbol] = field(default_factory=dict)
    closure: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A method looked up on a value: calling it calls `function` with `self` first."""

    self: Symbol
    function: Symbol


@dataclass(frozen=True, slots=True, eq=False)
class ArrayMethod:
    """A method of ndarray or of a NumPy scalar, looked up and not called yet."""

    self: Symbol
    name: str


@dataclass(frozen=True, slots=True)
class Null:
    """The NULL that call sequences push."""


@dataclass(frozen=True, slots=True, eq=False)
class Unbound:
    """A slot of the frame that is empty now; nothing has looked at it yet, so it need not be empty next time."""

    source: Source


Symbol = (
    Constant
    | Unread
    | Opaque
    | Array
    | Number
    | Integer
    | Tuple
    | List
    | Dict
    | Set
    | Slice
    | Range
    | Iterator
    | Cell
    | Function
    | Method
    | ArrayMethod
    | Null
    | Unbound
)

NULL = Null()

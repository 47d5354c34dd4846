"""What a nest's reader knows of each value on the stack and in the locals of a loop."""

from __future__ import annotations

import types
from dataclasses import field
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.arrays import (
    Array,
    Lazy,
    ListPart,
    Member,
    Numbers,
    Objects,
    OtherList,
    Part,
    Row,
    Table,
)
from ufuse.frame_hook.nests.known.containers import (
    Bound,
    CellOf,
    DictView,
    Entries,
    Generating,
    Generator,
    GivenRows,
    MadeDeque,
    MadeDict,
    MadeFunction,
    MadeList,
    MadeRows,
    NewDict,
    OwnGroups,
    OwnList,
    OwnListKind,
    OwnLists,
    Ragged,
    RaggedRow,
    RaggedRowKind,
    RangeOf,
    Thing,
)
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    BoundKind,
    CharacterKind,
    Holder,
    MemberKind,
    NewKind,
    NumberKind,
    PartKind,
    RangeKind,
    RowKind,
    ViewKind,
)
from ufuse.frame_hook.nests.known.numbers import (
    Character,
    Complex,
    ConstantKind,
    Empty,
    Known,
    Number,
    Text,
)
from ufuse.graph.nest_types import Value
from ufuse.graph.records import record


@record
class ItemsKind:
    """A tuple, by the kinds of its items; the others as of `Items`."""

    items: tuple[Kind, ...]
    register: int | None = None
    site: str = ""


@record
class EntriesView:
    """Keys, values or both of such a dict, to be gone over."""

    members: Items


@record
class SliceOf:
    """A slice; its parts are ints or None."""

    start: Item
    stop: Item
    step: Item


@record
class Method:
    """A method of an array, a number, a list, a dict or a character, to be called."""

    owner: (
        Array
        | Part
        | Lazy
        | Number
        | Complex
        | Numbers
        | OtherList
        | GivenRows
        | Row
        | RaggedRow
        | Entries
        | Character
        | Listed
        | MadeList
        | MadeRows
        | OwnLists
        | OwnList
        | OwnGroups
        | MadeDeque
        | NewDict
        | MadeDict
    )
    name: str


@record
class MethodKind:
    """A method of what lies in variables."""

    owner: Kind
    name: str


@record
class Items:
    """A tuple; of one from outside of the loop the register that it lies in.

    `site`: of a list that is read as a tuple where that list is made of which it is an item.
    """

    items: tuple[Item, ...]
    register: int | None = field(default=None, compare=False)
    site: str = field(default="", compare=False)


@record
class Listed:
    """A list that an expression makes, of which an array is made at once. `site`: where, as it may get items."""

    items: tuple[Item, ...]
    site: str = field(default="", compare=False)


@record
class ListedKind:
    """The same, by the kinds of its items."""

    items: tuple[Kind, ...]
    site: str


@record
class EnumerateOf:
    """`enumerate(iterable, start)`."""

    iterable: Item
    start: Value


@record
class ZipOf:
    """`zip(*items, strict=is_strict)`."""

    items: tuple[Item, ...]
    is_strict: bool = False


@record
class PairsOf:
    """`itertools.pairwise(sequence)`."""

    sequence: Item


@record
class ReversedOf:
    """`reversed(sequence)`."""

    sequence: Item


@record
class GridOf:
    """What goes over several axes, the last of which turns first: ranges, tuples of numbers, and lists that are copies.

    Where `array` is given they are its axes: a turn gives an element, behind its indices if `gives_places`.
    """

    pools: tuple[Item, ...]
    array: Array | Part | None = None
    gives_places: bool = True


@record
class Whole:
    """Of a range: a turn gives an int."""


@record
class Elements:
    """Of the part of an array that some leading indices leave, which lie in variables."""

    holder: Holder
    count: int


@record
class Rows:
    """Of a list of tuples that the nest makes."""

    of: MadeRows


@record
class RaggedRows:
    """Of a list of lists of several lengths."""

    of: Ragged | OwnLists


@record
class RaggedItems:
    """Of one of these, whose items are tuples."""

    of: Ragged


@record
class Viewed:
    """Of a view of one axis, which lies in variables."""

    view: ViewKind


@record
class Members:
    """Of a tuple, which lies in variables."""

    items: Kind


@record
class Together:
    """Of several, each by the name of its variables: a turn gives a tuple."""

    parts: tuple[tuple[str, TurnKind], ...]


@record
class Pairs:
    """Of one: a turn gives the item of the turn before, which lies in variables, and the next one."""

    of: TurnKind
    last: Kind


@record
class Mapped:
    """Of several, as `Together`: a turn gives what a function gives for these."""

    function: Kind
    of: Together


@record
class Unrolled:
    """Of a few known members: each turn is read for itself, and `place` says which one is next."""

    members: tuple[Kind, ...]
    place: int


@record
class Stepped:
    """Of an axis that is a range: where that begins, and its step; None where they lie in variables."""

    start: int | None
    step: int | None


@record
class Grid:
    """Of several axes, as `GridOf` says; `indices` lead to the part of an array, and lie in variables, as a view does.

    `is_given`: it is the iterator of the outermost loop.
    """

    axes: tuple[TurnKind, ...]
    holder: Holder | None = None
    view: ViewKind | None = None
    indices: int = 0
    gives_places: bool = True
    is_given: bool = False


TurnKind = (
    Whole
    | Elements
    | Rows
    | RaggedRows
    | RaggedItems
    | Viewed
    | Members
    | Together
    | Pairs
    | Mapped
    | Unrolled
    | Stepped
    | Grid
)


@record
class Turning:
    """The iterator of an inner loop, in variables whose names begin with `name`; see `iterating.py`."""

    name: str
    kind: TurnKind


@record
class MapOf:
    """`map(function, *items)`."""

    function: Item
    items: tuple[Item, ...]


@record
class Lazily:
    """What `filter` or `itertools.accumulate` gives, of which a list is made at once."""

    function: Any
    arguments: tuple[Item, ...]


@record
class Vectorized:
    """What `np.vectorize` gives for a function; `kind`: the dtype of its results, where that is given."""

    function: Item
    kind: np.dtype | None


@record
class Generated:
    """A generator that has not begun, and what it goes over."""

    function: MadeFunction
    iterator: Turning


Item = (
    Number | Complex | Known | Array | Part | Lazy | SliceOf | Method | Items | Listed | RangeOf | EnumerateOf | ZipOf
    | ListPart | MadeList | MadeRows | MadeDeque | PairsOf | ReversedOf | GridOf | Turning | Empty | Thing | Entries
    | EntriesView | Bound | Numbers | Table | Row | OtherList | Objects | Member | Text | Character | Generator
    | Generating | CellOf | MadeFunction | Generated | MapOf | Lazily | Vectorized | NewDict | MadeDict | DictView
    | Ragged | RaggedRow | GivenRows | OwnLists | OwnList | OwnGroups
)  # fmt: skip

SlotKind = NumberKind | ArrayKind | ItemsKind | MemberKind  # of slots of the frame

# What is known of an item where blocks meet; what else there is of it lies in variables.
Kind = (
    NumberKind
    | Holder
    | PartKind
    | ViewKind
    | ItemsKind
    | RangeKind
    | ConstantKind
    | Turning
    | Empty
    | MadeFunction
    | Thing
    | Entries
    | Bound
    | Numbers
    | Table
    | RowKind
    | Ragged
    | RaggedRowKind
    | GivenRows
    | OwnLists
    | OwnListKind
    | OwnGroups
    | Objects
    | MemberKind
    | BoundKind
    | OtherList
    | ListedKind
    | MadeList
    | MadeRows
    | MadeDeque
    | NewDict
    | MadeDict
    | Text
    | CharacterKind
    | Method  # of what is none of the nest's
    | MethodKind
    | Generator
    | Generating
    | Vectorized
    | Generated  # on a stack
    | NewKind  # the same
)


def is_none(item: Item) -> bool:
    """Whether an item is Python's None."""
    return isinstance(item, Known) and item.value is None


def known_truth(item: Item) -> bool | None:
    """`bool(item)`, where that is known."""
    if isinstance(item, Items):
        return bool(item.items)
    if isinstance(item, Known) and isinstance(item.value, (int, float, complex, str, type(None))):
        return bool(item.value)
    return None


def constant(value: Any) -> Item:
    """A constant of the code."""
    if type(value) is slice:
        return SliceOf(Known(value.start), Known(value.stop), Known(value.step))
    return Items(tuple(map(constant, value))) if type(value) is tuple else Known(value)


# Of functions whose hashes run no code of the program.
CALLABLE = type, types.FunctionType, type(np.zeros), type(np.sum), np.ufunc
MOST_MEMBERS = 32  # of a tuple or dict of which a computed index or key chooses one

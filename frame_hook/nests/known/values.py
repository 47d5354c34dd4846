"""What a nest's reader knows of each value on the stack and in the locals of a loop."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ufuse.frame_hook.trace.symbols import Source, Symbol
from ufuse.graph.nest import INTEGERS, KINDS, MAP_AXES, REALS, Value
from ufuse.graph.records import individual, record


class NotNativeError(Exception):
    """Why a loop is not read as a nest. `later`: in a later turn it may be, when its variables have settled.

    `place`: where in the program, in words, once that is known. `has_sums`: of what may be nothing.
    """

    def __init__(self, why: str, *, later: bool = False) -> None:
        super().__init__(why)
        self.later = later
        self.place = ""
        self.has_sums = False

    def __str__(self) -> str:
        return f"{self.args[0]}{self.place}"


EITHER_KINDS = frozenset(("int", "float"))  # of numbers that may be Python's or NumPy's, whichever


class EitherError(Exception):
    """What is read depends on whether a number is NumPy's, which is not known."""


@record
class NumberKind:
    """The type of a number. `kind` is one of `graph.nest.NUMBERS`; `numpy`: whether it is a scalar of NumPy."""

    kind: str
    numpy: bool = False

    @property
    def is_real(self) -> bool:
        """Whether it is a float of some size."""
        return KINDS.get(self.kind) in REALS

    @property
    def is_whole(self) -> bool:
        """Whether it is an integer of some size."""
        return KINDS.get(self.kind) in INTEGERS

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of such elements."""
        return np.dtype(self.kind)


def _unknown(_: NumberKind) -> bool:
    raise EitherError


class EitherKind(NumberKind):
    """The type of an int or int64, or of a float or float64: see `either.py`."""

    __slots__ = ()
    numpy = property(_unknown, lambda _, __: None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EitherKind) and other.kind == self.kind

    def __hash__(self) -> int:
        return hash((EitherKind, self.kind))

    def __repr__(self) -> str:
        return f"EitherKind({self.kind!r})"


@record
class ArrayKind:
    """An array of the frame, by the slot that holds it."""

    slot: int


@record
class TemporaryKind:
    """An array that the nest makes, by its number among them."""

    number: int


@record
class ColumnKind:
    """A further column of a list that grows by tuples, by the slot that holds the list."""

    slot: int
    number: int


Holder = ArrayKind | TemporaryKind


@record
class PartKind:
    """The part of an array that some leading indices leave, which lie in variables."""

    holder: Holder
    count: int


@record
class ViewKind:
    """A view that variables are bound to, by its number; where it begins and how long it is lie in variables.

    For each axis: that of the array, the step along it, and what is known of its length.
    """

    number: int
    holder: Holder
    axes: tuple[tuple[int | None, int, bool, int], ...]
    window: tuple[tuple[int, bool, bool], ...] = ()  # as of `Window`: counts, what is looked at


@record
class ItemsKind:
    """A tuple, by the kinds of its items; the others as of `Items`."""

    items: tuple[Kind, ...]
    register: int | None = None
    site: str = ""


@record
class RangeKind:
    """A range, in three variables."""


@record
class ConstantKind:
    """An object known while reading; numbers that are equal may be of other types, or other zeros."""

    key: tuple[Any, ...]
    item: Known = field(compare=False)


@record
class TurnConstant(ConstantKind):
    """A number that the turn of an unrolled loop has given a local; it lies in the local's variable, too."""

    turn: str  # the loop's name


Listing = tuple[str, ArrayKind]


@record
class Number:
    """A number that is computed; where its type is an `EitherKind`, `tag` says whether it is NumPy's.

    `is_new`: nothing else has the object; `origin`: the slot of the local that it was loaded from; `listed`: the loop
    whose turn has given it, and the list of the program in which it is. See `identity.py`.
    """

    type: NumberKind
    value: Value
    tag: Value | None = None
    is_new: bool = field(default=False, compare=False)
    origin: int | None = field(default=None, compare=False)
    listed: Listing | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.tag is None and isinstance(self.type, EitherKind):
            raise EitherError


@record
class NewKind:
    """A number on a stack that nothing else has, see `identity.py`."""

    of: NumberKind


@record
class Complex:
    """A complex number that is computed, by its parts, which are floats."""

    type: NumberKind
    real: Value
    imag: Value


@record
class Known:
    """An object known while reading: a constant of the code, or a guarded global."""

    value: Any


@record
class Array:
    """An array (`indices` is empty), or the part of it that some leading indices leave."""

    holder: Holder
    indices: tuple[Value, ...] = ()


@record
class Numbers:
    """A list or tuple from outside of the loop whose items are numbers of one type, as an array of them."""

    holder: ArrayKind
    type: NumberKind


@record
class Table:
    """A list or tuple from outside of the loop of lists or tuples of numbers of one type, as an array of them."""

    holder: ArrayKind
    type: NumberKind


@record
class Row:
    """One of the lists in a table."""

    holder: ArrayKind
    type: NumberKind
    index: Value


@record
class RowKind:
    """The same, whose index lies in a variable."""

    holder: ArrayKind
    type: NumberKind


@record
class Objects:
    """A list or tuple from outside of the loop of objects of one class, as an array that has only a length."""

    holder: ArrayKind


@record
class Member:
    """One of these objects."""

    holder: ArrayKind
    index: Value


@record
class MemberKind:
    """The same, whose index lies in a variable."""

    holder: ArrayKind


@record
class Text:
    """A str from outside of the loop, as an array of its characters, or as a constant."""

    holder: ArrayKind


@record
class Character:
    """A character of a text, by its number."""

    value: Value


@record
class CharacterKind:
    """The same, whose number lies in a variable."""


@record
class OtherList:
    """A list from outside of the loop that had no numbers of one type when it was seen: it may get some."""

    holder: ArrayKind


@individual
class Thing:
    """An object from outside of the frame, or a variable of it, whose attributes are constants or arrays."""

    source: Any
    value: Any


@individual
class Entries:
    """A dict from outside of the loop, whose keys are known, with what was found under each.

    `value` and `text` are it, and the program's name for it.
    """

    found: dict[Any, Symbol]
    value: Any
    text: str


@record
class EntriesView:
    """Keys, values or both of such a dict, to be gone over."""

    members: Items


@dataclass(frozen=True, slots=True)  # mypy takes the function of a record for a method
class Bound:
    """A method of an object, which is a function of its class."""

    function: types.FunctionType
    owner: Thing | Member | Generator


@dataclass(frozen=True, slots=True)  # mypy takes the function of a record for a method
class BoundKind:
    """A method of an object in a list, whose index lies in a variable."""

    function: types.FunctionType
    owner: MemberKind


@record
class Generator:
    """A generator of random numbers, NumPy's or Python's, by the register that it lies in."""

    register: int
    type: type
    source: Source = field(compare=False)


@record
class Generating:
    """A method of a generator."""

    owner: Generator
    name: str


@record
class Length:
    """The length of an axis; one that is known to be 1 fits any other. `seen`: the least that it was seen to be."""

    value: Value
    is_one: bool = False
    seen: int = 0


@record
class Axis:
    """An axis of a view: that of the array which it walks (None: a new one), and by which step.

    `computed`: the step where it is computed; `step` is 1 then.
    """

    length: Length
    axis: int | None = None
    step: int = 1
    computed: Value | None = None


@record
class Window:
    """A few elements of an array as they most likely are, along each axis of it.

    Where they begin, if bounds are neither counted from the end nor cut off; how many they are there (0: it is an index
    that stands there); what has to be as many, where that is not sure; and what has to be where they begin, where that
    is another integer.
    """

    starts: tuple[Value, ...]
    counts: tuple[int, ...]
    lengths: tuple[Value | None, ...]
    bounds: tuple[Value | None, ...]


@record
class Part:
    """A view: for each axis of the array where it begins there, and its own axes.

    `bound`: what it is where variables are bound to it, which are one object then. `window`: what it most likely is.
    """

    holder: Holder
    dtype: np.dtype
    places: tuple[Value, ...]
    axes: tuple[Axis, ...]
    bound: ViewKind | None = field(default=None, compare=False)
    window: Window | None = field(default=None, compare=False)

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Its shape."""
        return tuple(one.length for one in self.axes)


@record
class Rolled:
    """A view whose elements are moved along an axis by so many places, from 0 up to its length.

    `is_view`: the array that it becomes by itself is a view of a new one.
    """

    of: Part
    axis: int
    places: Value
    is_view: bool

    @property
    def dtype(self) -> np.dtype:
        """Of its elements."""
        return self.of.dtype

    @property
    def lengths(self) -> tuple[Length, ...]:
        """Its shape."""
        return self.of.lengths


@record
class Lazy:
    """An elementwise operation that is computed where its result is used, as `Step` of `graph/nest.py` has it."""

    name: str
    dtypes: tuple[np.dtype, ...]
    inputs: tuple[Part | Lazy | Rolled | Converted, ...]
    lengths: tuple[Length, ...]

    @property
    def dtype(self) -> np.dtype:
        """Of its elements."""
        return self.dtypes[-1]


@record
class Converted:
    """A number as an operand of an elementwise operation, converted to a dtype."""

    value: Value
    dtype: np.dtype


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
class MadeList:
    """A list that the nest makes and appends numbers to, as a temporary of them.

    `site`: where, if it may get others. One that is `mixed` gets numbers of several types, and an array can be made of
    it, no more; a variable of this name says whether it has got one that is not whole. `is_row`: it is in another list.
    """

    holder: TemporaryKind
    type: NumberKind
    site: str = ""
    mixed: str = ""
    is_row: bool = False


@record
class RowOf:
    """A row that a list gets: the kind of a number in it, and how long it is, where that is known while reading.

    `columns`: the kinds of its numbers by their places, where all rows have the same. `is_list`: it is no tuple.
    """

    type: NumberKind
    width: int | None
    has_tuples: bool
    columns: tuple[NumberKind, ...] = ()
    is_list: bool = False


@record
class MadeRows:
    """A list of rows of numbers that the nest makes: `flat` has the numbers of all; the others as of `RowOf`."""

    flat: MadeList
    width: int | None
    has_tuples: bool
    columns: tuple[NumberKind, ...]
    has_lists: bool = False


@record
class ListsOf:
    """Of a list that gets lists, each of which grows by itself, as of `Ragged`; `is_guess`: none has an item so far."""

    columns: tuple[NumberKind, ...]
    has_tuples: bool = False
    is_guess: bool = False


@record
class OwnLists:
    """A list that the nest makes of lists which grow by themselves: their items, and where each has its own.

    `site`: where it is made; see `own_lists.py`.
    """

    items: Ragged
    rows: TemporaryKind
    site: str


@record
class OwnList:
    """One of these lists, by its place."""

    of: OwnLists
    place: Value


@record
class OwnListKind:
    """The same, whose place lies in a variable."""

    of: OwnLists


@record
class MadeDeque:
    """A deque that the nest makes: what the list has from a place on."""

    of: MadeList | MadeRows


@record
class EntryOf:
    """What a dict or a set gets: the kind of a key, and of what that leads to; None: nothing, it is a set.

    `origin`: a list of the program of which keys are items, if some are. `is_pair`: keys are tuples of two ints.
    `is_text`: they are characters, of which the table has the numbers.
    """

    key: NumberKind
    value: NumberKind | None
    origin: ArrayKind | None = None
    is_pair: bool = False
    is_text: bool = False


@record
class NewDict:
    """A dict or set that the nest makes, in which nothing is; `site`: where it is made.

    `factory`: what a missing key leads to, where it is a `defaultdict`, or a `Counter` (`counts`), which gets none.
    """

    site: str
    factory: NumberKind | None = None
    is_set: bool = False
    counts: bool = False


@record
class MadeDict:
    """A dict or set of whole numbers as keys that the nest makes, as temporaries; of a set there are no `values`.

    `places`: which items of a list the keys are, where some are. `site`, `factory` and `counts` are as of `NewDict`;
    see `made_dicts.py`. One that the loop is given has its temporaries filled before, see `keyed.py`.
    `removes`: items are taken out of it, see `removals.py`; `places` say which keys are there, then.
    """

    keys: TemporaryKind
    index: TemporaryKind
    values: TemporaryKind | None
    places: TemporaryKind | None
    entry: EntryOf
    site: str
    factory: NumberKind | None
    counts: bool = False
    removes: bool = False


@record
class GivenRows:
    """A dict from outside of the loop that leads to such lists, in its order."""

    of: MadeDict
    rows: Ragged


@record
class OwnGroups:
    """A dict that the nest makes which leads to such lists: the place of a key is that of its list.

    `makes`: a `defaultdict`, where a missing key gets one. See `own_groups.py`.
    """

    of: MadeDict | NewDict
    rows: OwnLists
    makes: bool


@record
class DictView:
    """`keys`, `values` or `items` of such a dict, to be gone over."""

    of: MadeDict | NewDict | GivenRows | OwnGroups
    what: str


@record
class RangeOf:
    """A range that the loop makes."""

    start: Value
    stop: Value
    step: Value


@record
class Ragged:
    """A list, from outside of the loop, of lists of several lengths, or what a dict leads to: see `ragged.py`.

    Items are numbers, or tuples of them, with these `columns`; `type` is that of the array's elements.
    """

    holder: Holder
    type: NumberKind
    columns: tuple[NumberKind, ...]
    has_tuples: bool
    has_sets: bool


@record
class RaggedRow:
    """One of these lists: where its numbers begin in the array, and how many there are."""

    of: Ragged
    start: Value
    count: Value


@record
class RaggedRowKind:
    """The same, in variables."""

    of: Ragged


@record
class ListPart:
    """A slice of a list, to be gone over: where it begins and how long it is."""

    sequence: Numbers | Table | Objects
    start: Value
    count: Value


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
class Empty:
    """The NULL of a call sequence."""


@record
class CellOf:
    """The cell of a variable that an inner function uses, by the variable's slot."""

    slot: int


@record
class MadeFunction:
    """A function that is made in the loop; the cells of its free variables, and the `frames.Function` they are of."""

    code: types.CodeType
    cells: tuple[CellOf, ...]
    maker: Any


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


ArrayItem = Array | Part | Lazy
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
FLOAT, INT, BOOL = NumberKind("float"), NumberKind("int"), NumberKind("bool")
NP_FLOAT, NP_INT, NP_BOOL = (NumberKind(kind, numpy=True) for kind in ("float", "int", "bool"))
COMPLEX, NP_COMPLEX = NumberKind("complex"), NumberKind("complex", numpy=True)
ELEMENT_KINDS = {type_: NumberKind(kind, numpy=True) for kind, type_ in KINDS.items()}
EXACT: dict[type, NumberKind] = {
    **{kind.dtype.type: kind for kind in ELEMENT_KINDS.values()},
    float: FLOAT, int: INT, bool: BOOL, complex: COMPLEX, np.complex128: NP_COMPLEX,
}  # fmt: skip
TYPES = KINDS


def kind_of(value: object) -> NumberKind | None:
    """The kind of a number, where a nest can compute with it."""
    found = EXACT.get(type(value))
    if found == INT and not -(2**63) <= int(value) < 2**63:  # type: ignore[call-overload]
        return None
    return found


def common_item_kind(items: Sequence[object]) -> NumberKind | None:
    """The kind of all items of a list or tuple, where they are numbers of one type."""
    kinds = {type(one) for one in items}
    return item_kind(items[0]) if len(kinds) == 1 else None


def item_kind(value: object) -> NumberKind | None:
    """The kind of an item of a list that is read as an array of numbers."""
    found = kind_of(value)
    return found if found not in (COMPLEX, NP_COMPLEX) else None


PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), np.generic)


def constant_kind(known: Known) -> ConstantKind:
    """The kind of an object that is known."""
    value = known.value
    if isinstance(value, PLAIN):
        exact = value if isinstance(value, int) else repr(value)  # ints may be too long for text
        return ConstantKind((type(value), exact), known)
    return ConstantKind((id(value),), known)


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
DTYPES = "?bBhHiIlLfdD"  # not "q", which equals "l"


def array_kind(slot: int, value: np.ndarray) -> ArrayKind | None:
    """The kind of an array, where a nest can use it."""
    is_known = value.dtype.byteorder in "=|" and value.dtype.char in DTYPES
    return ArrayKind(slot) if is_known and 1 <= value.ndim <= MAP_AXES else None

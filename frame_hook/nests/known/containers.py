"""Objects, generators, and containers that a loop is given or makes."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

from ufuse.frame_hook.nests.known.arrays import Member
from ufuse.frame_hook.nests.known.kinds import ArrayKind, Holder, NumberKind, TemporaryKind
from ufuse.frame_hook.trace.symbols import Source, Symbol
from ufuse.graph.nest_types import Value
from ufuse.graph.records import individual, record


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


@dataclass(frozen=True, slots=True)  # mypy takes the function of a record for a method
class Bound:
    """A method of an object, which is a function of its class."""

    function: types.FunctionType
    owner: Thing | Member | Generator


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
class CellOf:
    """The cell of a variable that an inner function uses, by the variable's slot."""

    slot: int


@record
class MadeFunction:
    """A function that is made in the loop; the cells of its free variables, and the `frames.Function` they are of."""

    code: types.CodeType
    cells: tuple[CellOf, ...]
    maker: Any

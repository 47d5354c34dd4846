"""What variables of a loop are from turn to turn, as far as they hold no others."""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ufuse.graph.nest_types import INTEGERS, KINDS, MAP_AXES, REALS
from ufuse.graph.records import record


class NotNativeError(Exception):
    """Why a loop is not read as a nest. `later`: in a later turn it may be, when its variables have settled.

    `item`: the value that is to blame, which the reason names where it says `{item}`. `said`: the reason with its place
    in the program, once that is known. `has_sums`: of what may be nothing. `has_arrivals`: it was found for numbers
    with which frames come to the loop, and perhaps for no others.
    """

    def __init__(self, why: str, item: object = None, *, later: bool = False) -> None:
        super().__init__(why)
        self.item = item
        self.later = later
        self.said: str | None = None
        self.has_sums = False
        self.has_arrivals = False

    @property
    def reason(self) -> str:
        """The reason, as far as it is known where it is."""
        return str(self) if self.said is None else self.said

    def __str__(self) -> str:
        return str(self.args[0]).replace("{item}", "a value")


class UnpaidError(NotNativeError):
    """Reading takes longer than it may, as far as the loop is known to take; `tries`: what it has come to."""

    def __init__(self, tries: object = None) -> None:
        super().__init__("reading it takes longer than it has taken so far", later=True)
        self.said = str(self.args[0])  # whatever instruction it had come to
        self.tries = tries


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
class RangeKind:
    """A range, in three variables."""


Listing = tuple[str, ArrayKind]


@record
class NewKind:
    """A number on a stack that nothing else has, see `identity.py`."""

    of: NumberKind


@record
class RowKind:
    """The same, whose index lies in a variable."""

    holder: ArrayKind
    type: NumberKind


@record
class MemberKind:
    """The same, whose index lies in a variable."""

    holder: ArrayKind


@record
class CharacterKind:
    """The same, whose number lies in a variable."""


@dataclass(frozen=True, slots=True)  # mypy takes the function of a record for a method
class BoundKind:
    """A method of an object in a list, whose index lies in a variable."""

    function: types.FunctionType
    owner: MemberKind


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


DTYPES = "?bBhHiIlLfdD"  # not "q", which equals "l"


def array_kind(slot: int, value: np.ndarray) -> ArrayKind | None:
    """The kind of an array, where a nest can use it."""
    is_known = value.dtype.byteorder in "=|" and value.dtype.char in DTYPES
    return ArrayKind(slot) if is_known and 1 <= value.ndim <= MAP_AXES else None

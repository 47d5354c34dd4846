"""Slots: what a nest reads and writes of a frame."""

from __future__ import annotations

import numpy as np

from ufuse.graph.records import record


@record
class GivenRows:
    """What a list or tuple of lists of several lengths holds, or, where they are `in_dict`, what a dict leads to.

    Items of these are numbers of one of `columns`, "int" or "float", Python's; or tuples that have a number of each.
    They may be sets.
    """

    columns: tuple[str, ...]
    has_tuples: bool
    has_sets: bool
    in_dict: bool

    def __str__(self) -> str:
        numbers = " ".join(self.columns)
        items = f"({numbers})" if self.has_tuples else numbers
        return f"{'sets' if self.has_sets else 'lists'} of {items}{' in a dict' * self.in_dict}"


@record
class ArraySlot:
    """An array that the nest is given; or, among `Nest.temporaries`, memory of its own.

    An array variable that is bound again (`is_rebound`) has a cell, `name.array`: the number of the array that it is,
    its own at first; where the nest is left perhaps another slot's, a temporary's or a view's. It is given back then:
    the object of that slot, a new array with the temporary's contents, or a view of either. Where it may be a view
    (`is_viewed`), it has cells for where that begins along each axis of its array, and how long each of its axes is:
    `name.place0`, `name.length0` and so on.

    `items` says whose the numbers of a list or tuple are, "python" or "numpy", which the nest gets as an array; "text":
    they are the characters of a str. It has two
    axes where its items are lists or tuples, all as long. Where
    it is written, those that have changed are put into the list. Where the loop goes over the list, `iterator` names
    its slot: only what comes next is there.

    Lists of several lengths (`rows`) are one array, of float64 where some numbers are floats, else of int64: for each
    list where its numbers begin, then where those of the last one end, then all numbers. They are not written.

    A list or tuple of objects of one class, `items` "objects", has only a length. What each of its items has as an
    attribute is an array of its own, which names the list's slot (`owner`) and the `attribute`; where it is written,
    what has changed is set. A field of named tuples has its place among their items (`field`), as has an item of plain
    tuples, of which each has so many (`width`; 0: they are none). No item has an attribute
    of its own that is `lacked`; `nothing` is None in all of them. One that `is_apart` has no item twice, and none that
    another list of objects has.

    Where the attribute is an array, of one dtype and shape in all items, `items` is "arrays": they lie one behind
    another along the first axis, in C order. Where some are written, none shares memory with what else the nest has.
    Where the attribute is bound to new arrays, an array of bools behind that, `items` "marks", begins with False and
    says which items get one, with what the nest has for them. One that `is_apart` says that nobody else has the arrays
    that were there, as they are written in place, too.

    `within`: a temporary is given back as a view of a new array, as some of NumPy's functions do it: of an "array" like
    it, or as the only "column" of one of two axes.
    """

    name: str
    dtype: np.dtype
    ndim: int
    is_written: bool
    is_rebound: bool = False
    is_viewed: bool = False
    items: str = ""
    iterator: str = ""
    within: str = ""
    owner: str = ""
    attribute: str = ""
    field: int | None = None
    width: int = 0
    lacked: tuple[str, ...] = ()
    nothing: tuple[str, ...] = ()
    is_apart: bool = False
    rows: GivenRows | None = None


@record
class NumberSlot:
    """A number that the nest is given, and gives back where it is changed.

    `kind` is one of NUMBERS. It lies in two variables, `name` and `name.numpy`: whether it is a scalar of NumPy, which
    a float may be (float64), an int (int64), a bool or a complex number, and what is of another kind always is. A
    complex number lies in `name.real` and `name.imag`. One that is not `is_given` is made by the nest alone, for some
    of its exits: it begins as zero, whatever is passed.
    """

    name: str
    kind: str
    is_changed: bool
    is_given: bool = True


@record
class Column:
    """What a list gets in a temporary: numbers of a kind of KINDS, Python's or NumPy's."""

    array: int
    kind: str
    is_numpy: bool


@record
class ListSlot:
    """A list that the nest appends numbers to: those of its column; or tuples, with a number of each column.

    Or new arrays of so many `axes`: the elements of all lie one behind another in the first column, and what their axes
    are long in the second one.

    Where the nest reads it too (`is_read`) the column begins with what the list has already; else without elements.
    """

    name: str
    columns: tuple[Column, ...]
    has_tuples: bool = False
    is_read: bool = False
    axes: int = 0


@record
class KeysSlot:
    """A dict or set of whole numbers that the nest is given: its keys lie in a temporary, as of one that it makes.

    `container` is one of GIVEN_CONTAINERS. `keys` and `index` are the numbers of the arrays that `find` takes. What the
    keys lead to are numbers of a `kind` of KINDS in the array `values`, behind an element that is none; -1: of a set.
    If it `has_pairs` each key is a tuple of two ints, which fit 32 bits: the first one is the upper half. Where it is
    written the program's container gets what is new, and what keys lead to now, in the order of the keys. Where there
    is an `origin`, a list that the nest is given, new keys are items of that: the array `places` has their places, -1
    of a new object, behind an element that is none. A dict that `has_rows` leads to lists, for which it has their
    places.
    """

    name: str
    container: str
    keys: int
    index: int
    values: int = -1
    kind: str = ""
    is_numpy: bool = False
    has_pairs: bool = False
    is_written: bool = False
    places: int = -1
    origin: str = ""
    has_rows: bool = False


@record
class RangeSlot:
    """An iterator of the outermost loop: the variables `name.next`, `name.step` and `name.left`.

    `kind` is "range"; "forwards" or "backwards", over the places of an array, list or tuple; "product" (of itertools)
    or "flat" (NumPy's flatiter), over several axes, where the next number is how many turns were done; or "count", of
    an `enumerate`, beside the iterators that it goes over. All have as many turns left; the first one's says how many.
    "once" is no object: the only turn is a whole call of a function.
    """

    name: str
    kind: str = "range"


@record
class ResultSlot:
    """What a nest of a whole call gives; no object comes for it.

    `kinds` are those of KINDS that a number may be of, each with a variable, `name.float` and so on. Which one it is
    says `name.kind`: twice its place, and one more for a scalar of NumPy. "array" or "view" stands alone, with the
    variables of an array that is bound again, and that may be a view. It begins as NO_ARRAY, and is None where it stays
    so, by ways of the call that give something else. `items`: the number that the items of a list are
    which is made of such an array; `is_numpy`: these are scalars of NumPy.

    A `container` is of such an array's elements, as keys: one of CONTAINERS. What they lead to are numbers of the kind
    `values`, in the array whose number `name.values` is, behind an element that is none. Where there is an `origin`, a
    list that the nest is given, keys are items of that: `name.places` is the number of the array of their places, -1 of
    a new object, behind an element that is none.
    """

    name: str
    kinds: tuple[str, ...]
    items: str = ""
    is_numpy: bool = False
    container: str = ""
    values: str = ""
    has_numpy_values: bool = False
    origin: str = ""

    @property
    def is_array(self) -> bool:
        """Whether it is no number."""
        return self.kinds in (("array",), ("view",))


@record
class GeneratorSlot:
    """A Generator or RandomState of NumPy's, or a `random.Random` of Python's, from which instructions draw."""

    name: str
    is_python: bool = False


@record
class ObjectSlot:
    """An object that is no item of a list of objects."""

    name: str


@record
class MemberSlot:
    """A local that is an item of a list of objects, the slot of the name `owner`; the variable has its index.

    The nest gives back the item that it then is. One that is not `is_given` is made by the nest alone, as a number is.
    """

    name: str
    owner: str
    is_given: bool = True


Slot = (
    ArraySlot | NumberSlot | ListSlot | KeysSlot | RangeSlot | ResultSlot | GeneratorSlot | ObjectSlot
    | MemberSlot
)  # fmt: skip

# What a whole call gives of keys; of two the function that makes a value where a key is missing.
CONTAINERS = ("set", "dict", "defaultdict.int", "defaultdict.float", "Counter")
GIVEN_CONTAINERS = (*CONTAINERS, "frozenset")
INDEX = np.dtype(np.int32)  # of the elements of an index to keys
MOST_COLUMNS = 2  # beside keys; the second one is of int64
OBJECTS = "objects"  # what the items of a list are
ARRAYS = "arrays"  # what they have as an attribute
MARKS = "marks"  # where that is a new one

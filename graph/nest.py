"""Loop nests over numbers and arrays, as code over variables: what a backend makes machine code of.

A nest is traced from bytecode once and runs any number of turns of its outermost loop. Its laws:

1. A block's instructions run in order; a value is used in the block that made it. What outlives a block is a variable.
2. Every instruction computes what Python or NumPy would, to the bit, or ends the run with a *doubt*: an index out of
   range, an integer that no longer fits 64 bits, a division by zero. What runs a nest then undoes its stores.
3. The variable `turns` says how many turns may still begin: the header takes one off as it begins a turn. It is right
   at a doubt too: so the turn in doubt is known. A nest is left at its header, or by an *exit*, in mid-turn: the turn
   counts as done.
4. Only `store`, `append`, `trim`, `push`, `drop`, `enter`, `map`, `reduce`, `matmul`, `take`, `put`, `scan`, `nonzero`,
   `sort`, `argsort` and `draws` write memory, only through the nest's arrays and temporaries, and they do so in the
   program's order. A `map` reads everything before it writes anything.
5. Arrays keep their place and their lengths; a temporary has those of its last `alloc`, and one more element behind
   each `append`, or `enter` of what is new, or what `trim` leaves. So what an array variable is,
   when it is bound again, is a number of an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ufuse.graph import ops
from ufuse.graph.records import record

F64, F32, I1 = "f64", "f32", "i1"
I64, I32, I16, I8 = "i64", "i32", "i16", "i8"
U64, U32, U16, U8 = "u64", "u32", "u16", "u8"
REALS = (F64, F32)
INTEGERS = (I64, I32, I16, I8, U64, U32, U16, U8)
TURNS = ".turns"  # no local can be called so
NO_ARRAY = -1  # in the place of an array's number
SELDOM = ".seldom"  # how labels of blocks end to which control hardly ever comes
EXIT = ".exit"  # by which the nest was left: 0 at its header
# What a slot's number may be, by name, and the type of its variable: Python's and NumPy's own, then NumPy's only.
KINDS = {
    "float": F64, "int": I64, "bool": I1, "float32": F32,
    "int32": I32, "int16": I16, "int8": I8, "uint64": U64, "uint32": U32, "uint16": U16, "uint8": U8,
}  # fmt: skip
NUMBERS = (
    *KINDS,
    "complex",
)  # all that a slot's number may be; a complex one lies in two variables
# What a `call` computes as C's `pow` does with these exponents.
KNOWN_POWERS = {
    "square": 2.0, "cube": 3.0, "fourth": 4.0, "root": 0.5, "root_cubed": 1.5, "inverse": -1.0, "inverse_square": -2.0,
    "inverse_cube": -3.0, "inverse_root": -0.5, "inverse_root_cubed": -1.5,
}  # fmt: skip
PARTS = ("real", "imag")  # of a complex number, each an f64
COMPLEX = np.dtype(complex)
# The type in which an element of an array of a dtype is loaded and stored.
ELEMENTS = {np.dtype(kind): type_ for kind, type_ in KINDS.items()}


def element_type(dtype: np.dtype) -> str:
    """The type in which an element of an array, or one of its PARTS, is loaded and stored."""
    return F64 if dtype == COMPLEX else ELEMENTS[dtype]


def limits(type_: str) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = int(type_[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "i" else (0, (1 << bits) - 1)


# fmt: off
COMPARISONS = ("lt", "le", "eq", "ne", "gt", "ge")
# By op and type of the first input: the types of the inputs, and of the result. What an integer's type cannot hold is
# a doubt, but where `wrap` or `lshift` loses bits, as NumPy does silently.
SIGNATURES: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    **{(op, real): ((real, real), real) for real in REALS for op in ("add", "sub", "mul", "div")},
    **{(op, real): ((real,), real) for real in REALS for op in ("neg", "abs", "sqrt")},
    **{("f" + op, real): ((real, real), I1) for real in REALS for op in COMPARISONS},
    **{("minus_zero", real): ((real,), I1) for real in REALS},  # whether it is a zero with a sign
    ("to_f64", F32): ((F32,), F64),
    ("to_f32", F64): ((F64,), F32),
    **{(op, whole): ((whole, whole), whole) for whole in INTEGERS for op in
       ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift")},
    **{(op, whole): ((whole,), whole) for whole in INTEGERS for op in ("neg", "abs", "invert")},
    **{("i" + op, whole): ((whole, whole), I1) for whole in INTEGERS for op in COMPARISONS},
    **{(op, I64): ((I64, I64), I64) for op in ("shl", "shr")},  # as Python's ints do it
    **{(f"to_{real}", whole): ((whole,), real) for whole in INTEGERS for real in REALS},
    **{(f"to_{whole}", real): ((real,), whole) for whole in INTEGERS for real in REALS},  # towards zero
    **{(f"{op}_{other}", whole): ((whole,), other) for whole in INTEGERS for other in INTEGERS
       if whole != other for op in ("to", "wrap")},
    **{(op, I1): ((I1, I1), I1) for op in ("and", "or", "xor")},
    ("not", I1): ((I1,), I1),
    ("widen", I1): ((I1,), I64),
}
# fmt: on


@record
class Variable:
    """What instructions read and write by name; of one type for ever."""

    name: str
    type: str


@record
class Value:
    """The result of one instruction."""

    number: int
    type: str


# What `fold` and `dot` are named for: a ufunc; `np.dot` (also `np.inner`), `np.matmul` (also `@` and `np.vdot`).
FOLDS = ("add", "multiply", "maximum", "minimum", "logical_or", "logical_and")
DOTS = ("dot", "matmul")
PRODUCTS = (*DOTS, "solve", "inv")  # and what `matmul` is: also `np.linalg`'s
POSITIONS = ("argmax", "argmin")
# What `draw` gives, by the name of the generator's method: the types of its inputs, and of its result. Python's
# generators give those of `random`, `below` and `gauss` only.
DRAWS: dict[str, tuple[tuple[str, ...], str]] = {
    "random": ((), F64),
    "standard_normal": ((), F64),
    "standard_exponential": ((), F64),
    "normal": ((F64, F64), F64),  # the mean, the standard deviation
    "uniform": ((F64, F64), F64),  # the least, and how much more it may be
    "exponential": ((F64,), F64),
    "integers": ((I64, I64), I64),  # the least and the greatest
    "masked_integers": ((I64, I64), I64),  # as a RandomState draws them
    "interval": (
        (I64,),
        I64,
    ),  # the greatest, from 0 on: as places are drawn where elements are shuffled
    "legacy_gauss": ((), F64),  # as a RandomState draws them, of a normal distribution
    "legacy_normal": ((F64, F64), F64),
    "legacy_exponential": ((F64,), F64),
    "below": ((I64,), I64),  # one that is less, and not negative; what it is less than is positive
    "gauss": ((), F64),  # as `random.Random.gauss` does, with a mean of 0 and a deviation of 1
    # The generator begins anew, as `default_rng`, and the method `seed` of others, begin it. 0; 1: it cannot.
    "seed": ((I64,), I64),
    "legacy_seed": ((I64,), I64),
    "python_seed": ((I64,), I64),
}
WRITERS = frozenset(
    "store append trim push drop enter map reduce matmul take put scan nonzero sort argsort draws".split()
)  # what writes arrays
MAP_AXES = 6  # at most
TABLE_AXES = 2  # of a list of lists


@record
class View:
    """A part of an array that an array statement reads or writes.

    `array` is its number. For each axis of the array it takes an input: where the view begins there, not negative and
    less than the length (where the view is empty along the axis, at most the length). `axes`: for each axis of the
    space an axis of the array and a step along it, or None where the view is the same all along it. A step of None is
    computed: operands of a `map` take an input more for each, which is greater than zero.
    """

    array: int
    axes: tuple[tuple[int, int | None] | None, ...]

    @property
    def computed_steps(self) -> int:
        """How many steps are inputs."""
        return sum(one is not None and one[1] is None for one in self.axes)

    def __str__(self) -> str:
        axes = (
            "*" if one is None else f"{one[0]}:*" if one[1] is None else f"{one[0]}:{one[1]:+d}"
            for one in self.axes
        )
        return f"#{self.array}[{' '.join(axes)}]"


@record
class Scalar:
    """A number as an operand of an array statement, converted to a dtype as C converts it; it takes one input."""

    dtype: np.dtype

    def __str__(self) -> str:
        return self.dtype.name


@record
class Step:
    """One elementwise operation.

    `name` is a ufunc of NumPy, or `cast`, `copy` or `where`; `dtypes` are those of its inputs and last of its result.
    `inputs` are numbers: of the operands first, then of the results of the steps before.
    """

    name: str
    dtypes: tuple[np.dtype, ...]
    inputs: tuple[int, ...]

    def __str__(self) -> str:
        names = [one.name for one in self.dtypes]
        dtypes = names[:1] if len({*names}) == 1 else names
        return f"{self.name}.{'/'.join(dtypes)}({' '.join(map(str, self.inputs))})"


@record
class Map:
    """Elementwise work over a space of 1 to MAP_AXES axes. Everything is read before anything is written.

    Inputs of the instruction: the lengths of the axes, never negative; those of each operand; those of the target. The
    target gets the result of the last step, of which there is at least one; its dtype is the array's.
    """

    ndim: int
    operands: tuple[View | Scalar, ...]
    steps: tuple[Step, ...]
    target: View

    def __str__(self) -> str:
        operands = " ".join(map(str, self.operands))
        return f"{self.target} = {'; '.join(map(str, self.steps))} of {operands} over {self.ndim}-d"


@record
class Instruction:
    """One step. Beside the ops of SIGNATURES there are some more.

    `const` (attribute: the number), `get` and `set` (attribute: a variable's name), `select` (condition, then, else),
    `call` (attribute: the name of a function of C's mathematics library, on one or two f64 or f32; one of KNOWN_POWERS,
    of f64; `python.` and the
    name of one of `math`, of f64, a doubt where that is not finite; or `numpy.` and the
    name of an elementwise function, of f64 or f32), `load` and `store` (attribute: the number of an array;
    inputs: an i64 for each axis, negative ones counted from the end; last the value to be stored; of a complex element
    one of PARTS, the second attribute), `append` (attribute: the number of a temporary of one axis, which gets one more
    element), `trim` (the same attribute; input: how many elements stay, no more than there are), `dim` (attributes:
    array, axis; its length), `doubt_if` (a condition).

    Of the frames of functions that call themselves, in a temporary of one axis of i64: `push` (attribute: its number;
    inputs: values, which go behind what it has, a word each), `peek` (attributes: its number, how far from its end; the
    value that was pushed there), `drop` (attributes: its number, how many words less it has from here on), `room` (how
    many frames of Python the thread may still begin).

    Of tables of keys: `find` (attributes: the numbers of two temporaries of one axis, the keys, of which no two are
    equal, and an index to them, which nothing else uses; input: a key; its place among the keys, or -1), `enter` (one
    attribute more for each column, a temporary of one axis; input: a key; its place, behind the others where it is
    new: then it is one of the keys, and each column gets one more element, a zero). Only `alloc` of no element and
    `enter` change keys.

    Of whole arrays: `map` (attribute: a Map; inputs: its lengths, those of each operand, those of its target), `fold`
    (attributes: a name of FOLDS, a View; inputs: its lengths, the view's; `ufunc.reduce` over all axes, a doubt where
    NumPy would raise), `reduce` (attributes: a name of FOLDS, a View, and one of a temporary, which is the same all
    along the axes that are folded; inputs: the lengths, those of both views; as `fold` otherwise; or a name of
    POSITIONS, one axis, and a temporary of int64), `dot` (attributes: a
    name of DOTS, two Views of one dtype; inputs: a length, those of each view; the product of vectors), `alloc`
    (attribute: the number of a temporary; inputs: its lengths, never negative; it gets memory in C order, with any
    contents). The type of what `fold` and `dot` give is the element's.

    `matmul` (attributes: a name of PRODUCTS, the Views of two operands and of a temporary over rows, terms and columns;
    inputs: these lengths, those of the Views; the product of matrices, or of one and a vector; `inv` looks at the first
    operand alone), `take` and `put`
    (attributes: the Views of an array, of int64 indices and of another array, over the axes of the latter and the axis
    that is indexed; inputs: these lengths, those of the Views; `other[i, ...] = array[indices[i], ...]`, and the other
    way round), `position` (attributes: a name of POSITIONS, a View; inputs: a length, the view's; the first).

    `scan` (attributes: a name of FOLDS, the Views of a vector and of a temporary; inputs: a length, those of the Views;
    `ufunc.accumulate`), `nonzero` (attributes: the Views of a vector of bools along the first of two axes, and of an
    int64 temporary along the second; inputs: their lengths, those of the Views; where it is true: a doubt unless there
    are as many places as the temporary has), `sort` (attributes: the View of a whole temporary; inputs: its lengths,
    those of the View; in place as if it were a vector, NaN last), `argsort` (attributes: the Views of a whole temporary
    of one axis and of one of int64; inputs: a length, those of the Views; the places of the elements in that order).

    `draw` (attributes: a name of DRAWS, the name of a generator's slot) gives a random number, and moves the generator;
    `draws` (one attribute more: the View of a whole temporary; behind the inputs: its lengths, the view's) fills that.

    A reader or a backend may note that an instruction `is_sure`: it is never in doubt, an index is not negative; and it
    `is_dense`: the elements along the last axis are neighbours.
    """

    op: str
    inputs: tuple[Value, ...]
    result: Value | None = None
    attributes: tuple[Any, ...] = ()
    is_sure: bool = False
    is_dense: bool = False


@record
class End:
    """How a block ends: `jump` (one target), `branch` (a condition; targets then and else), `leave` or `doubt`.

    A nest is left at its header (`number` 0), or by one of its exits.
    """

    kind: str
    targets: tuple[str, ...] = ()
    condition: Value | None = None
    number: int = 0


@record
class Block:
    """Instructions that run one after another."""

    label: str
    instructions: tuple[Instruction, ...]
    end: End


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nest:
    """Code that begins at its first block, which is the header of the outermost loop.

    Where no slot is an iterator, the loop has no end but its exits: `while`.
    `slots` are what it is given; the arrays among them are numbered in their order, behind them the `temporaries`, and
    behind these the `views` that array variables may be. `others` are its other variables.
    """

    name: str
    slots: tuple[Slot, ...]
    others: tuple[Variable, ...]
    blocks: tuple[Block, ...]
    temporaries: tuple[ArraySlot, ...] = ()
    views: tuple[View, ...] = ()

    @property
    def arrays(self) -> tuple[ArraySlot, ...]:
        """The arrays that the nest is given, by number."""
        return tuple(slot for slot in self.slots if isinstance(slot, ArraySlot))

    @property
    def lists(self) -> tuple[ListSlot, ...]:
        """The lists that grow."""
        return tuple(slot for slot in self.slots if isinstance(slot, ListSlot))

    @property
    def keyed(self) -> tuple[KeysSlot, ...]:
        """The dicts and sets that it is given."""
        return tuple(slot for slot in self.slots if isinstance(slot, KeysSlot))

    @property
    def given(self) -> tuple[Slot, ...]:
        """The slots for which an object comes; they are the first."""
        return tuple(
            slot
            for slot in self.slots
            if not isinstance(slot, ResultSlot)
            and not (isinstance(slot, RangeSlot) and slot.kind == "once")
        )

    def place(self, kind: type[ArraySlot | RangeSlot], name: str) -> int:
        """The place among the slots of the one of a kind that has a name."""
        named = ((i, one) for i, one in enumerate(self.slots) if one.name == name)
        return next(i for i, one in named if isinstance(one, kind))

    @property
    def numbered(self) -> tuple[ArraySlot, ...]:
        """All arrays by number: those that the nest is given, then the temporaries."""
        return (*self.arrays, *self.temporaries)

    @property
    def generators(self) -> tuple[GeneratorSlot, ...]:
        """The generators that the nest is given."""
        return tuple(slot for slot in self.slots if isinstance(slot, GeneratorSlot))

    @property
    def exits(self) -> int:
        """How many exits it has."""
        return max((block.end.number for block in self.blocks), default=0)

    @property
    def cells(self) -> tuple[Variable, ...]:
        """The variables whose values are passed in and out, in order; `turns` is the last."""
        return (*self._cells(), Variable(TURNS, I64))

    def _cells(self) -> Iterator[Variable]:
        for slot in self.slots:
            if isinstance(slot, ArraySlot):
                if slot.is_rebound:
                    yield from _cells_of_array(slot.name, is_viewed=slot.is_viewed)
            elif isinstance(slot, ResultSlot) and slot.is_array:
                yield from _cells_of_array(slot.name, is_viewed="view" in slot.kinds)
                if slot.values:
                    yield Variable(f"{slot.name}.values", I64)
                if slot.origin:
                    yield Variable(f"{slot.name}.places", I64)
            elif isinstance(slot, ResultSlot):
                yield Variable(f"{slot.name}.kind", I64)
                for kind in slot.kinds:
                    yield Variable(f"{slot.name}.{kind}", KINDS[kind])
            elif isinstance(slot, NumberSlot):
                if slot.kind in KINDS:
                    yield Variable(slot.name, KINDS[slot.kind])
                else:
                    yield from (Variable(f"{slot.name}.{part}", F64) for part in PARTS)
                yield Variable(f"{slot.name}.numpy", I1)
            elif isinstance(slot, MemberSlot):
                yield Variable(slot.name, I64)
            elif isinstance(slot, RangeSlot):
                for part in ("next", "step", "left"):
                    yield Variable(f"{slot.name}.{part}", I64)

    def __repr__(self) -> str:
        count = sum(len(block.instructions) for block in self.blocks)
        return f"<nest {self.name}: {len(self.slots)} slots, {count} instructions>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"nest {self.name}"
        for slot in self.slots:
            yield f"  {_described(slot)}"
        for temporary in self.temporaries:
            yield f"  {_described(temporary)}, temporary"
        for view in self.views:
            yield f"  a view: {view}"
        if self.others:
            others = ", ".join(f"{name_text(one.name)}: {one.type}" for one in self.others)
            yield f"  variables: {others}"
        for block in self.blocks:
            yield f"{name_text(block.label)}:"
            yield from (f"  {_statement(one)}" for one in block.instructions)
            condition = (
                [f"%{block.end.condition.number}"] if block.end.condition is not None else []
            )
            number = [str(block.end.number)] if block.end.number else []
            parts = ", ".join([*condition, *map(name_text, block.end.targets), *number])
            yield f"  {block.end.kind} {parts}".rstrip()


def _cells_of_array(name: str, *, is_viewed: bool) -> Iterator[Variable]:
    yield Variable(f"{name}.array", I64)
    for part in ("place", "length") if is_viewed else ():
        for axis in range(MAP_AXES):
            yield Variable(f"{name}.{part}{axis}", I64)


PLAIN_NAME = re.compile(r"[\w.@<>]+")


def name_text(name: str) -> str:
    """A name as it stands in the text of a nest: quoted where it may be more than a word."""
    return name if PLAIN_NAME.fullmatch(name) else repr(name)


def number_text(number: Any) -> str:
    """A number, to the bit."""
    if isinstance(number, np.generic):
        number = number.item()
    if isinstance(number, float) and np.isnan(number):
        return f"nan({int(np.float64(number).view(np.uint64)):#x})"
    return repr(number)


def _statement(one: Instruction) -> str:
    as_text = number_text if one.op == "const" else _attribute_text
    result = f"%{one.result.number} = " if one.result is not None else ""
    kind = f".{one.result.type}" if one.result is not None else ""
    parts = [*map(as_text, one.attributes), *(f"%{value.number}" for value in one.inputs)]
    return f"{result}{one.op}{kind} {', '.join(parts)}".rstrip()


def _attribute_text(value: Any) -> str:
    return name_text(value) if isinstance(value, str) else str(value)


def _described(slot: Slot) -> str:
    name = name_text(slot.name)
    match slot:
        case ArraySlot(items=items) if items == OBJECTS:
            parts = ["list of objects", *["apart"] * slot.is_apart]
            parts += [f"tuples of {slot.width}"] * bool(slot.width)
            parts += (f"without {name_text(one)}" for one in slot.lacked)
            parts += (f"None as {name_text(one)}" for one in slot.nothing)
            return f"{name}: {', '.join(parts)}"
        case ArraySlot(rows=GivenRows() as rows):
            return f"{name}: rows of {slot.dtype}, {rows}"
        case ArraySlot(owner=owner) if owner:
            written = ", written" if slot.is_written else ""
            field = f", field {slot.field}" if slot.field is not None else ""
            what = f"{name_text(slot.attribute)} of {name_text(owner)}{field}"
            if slot.items == ARRAYS:
                return f"{name}: {slot.ndim - 1}-d arrays of {slot.dtype}{written}, {what}"
            if slot.items == MARKS:
                return f"{name}: new arrays{', apart' * slot.is_apart}, {what}"
            return f"{name}: attribute by {slot.items} of {slot.dtype}{written}, {what}"
        case ArraySlot():
            marks = (
                ("written", slot.is_written),
                ("bound again", slot.is_rebound),
                ("viewed", slot.is_viewed),
                (f"within {slot.within}", bool(slot.within)),
            )
            what = f"{slot.ndim}-d array"
            if slot.items:
                what = f"{'table' if slot.ndim == TABLE_AXES else 'list'} by {slot.items}"
            parts = [f"{what} of {slot.dtype}", *(text for text, is_so in marks if is_so)]
            walked = f" under {name_text(slot.iterator)}" if slot.iterator else ""
            return f"{name}: {', '.join(parts)}{walked}"
        case NumberSlot():
            made = ", made" if not slot.is_given else ""
            return f"{name}: {slot.kind}{', changed' if slot.is_changed else ''}{made}"
        case ListSlot():
            of = "tuples" if slot.has_tuples else "numbers"
            of = f"{slot.axes}-d arrays" if slot.axes else of
            columns = (
                f"#{one.array} {'numpy' if one.is_numpy else 'python'} {one.kind}"
                for one in slot.columns
            )
            read = ", read" if slot.is_read else ""
            return f"{name}: growing list of {of}, {', '.join(columns)}{read}"
        case KeysSlot():
            of = f"{'pairs' if slot.has_pairs else 'ints'} #{slot.keys} by #{slot.index}"
            if slot.values >= 0:
                of += f" to #{slot.values} {'numpy' if slot.is_numpy else 'python'} {slot.kind}"
            if slot.origin:
                of += f" from #{slot.places} of {name_text(slot.origin)}"
            of += ", with rows" * slot.has_rows + ", written" * slot.is_written
            return f"{name}: {slot.container} of {of}"
        case ResultSlot():
            whose = "numpy" if slot.is_numpy else "python"
            items = f" as {slot.container or 'list'} of {whose} {slot.items}" if slot.items else ""
            if slot.values:
                items += f" to {'numpy' if slot.has_numpy_values else 'python'} {slot.values}"
            if slot.origin:
                items += f" from {name_text(slot.origin)}"
            return f"{name}: {' or '.join(slot.kinds)}{items}, given back"
        case GeneratorSlot():
            return (
                f"{name}: a generator of {'Python' if slot.is_python else 'NumPy'}'s random numbers"
            )
        case ObjectSlot():
            return f"{name}: an object"
        case MemberSlot():
            made = ", made" if not slot.is_given else ""
            return f"{name}: an item of {name_text(slot.owner)}{made}"
    return f"{name}: the {slot.kind} of the loop"


def numpy_function(name: str) -> np.ufunc:
    """The elementwise function that a `call` of `numpy.` and its name means."""
    short = name.removeprefix("numpy.")
    found = ops.CLIP if short == "clip" else getattr(np, short)
    assert isinstance(found, np.ufunc)
    return found

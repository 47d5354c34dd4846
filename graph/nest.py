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
from ufuse.graph.nest_slots import (
    ARRAYS,
    MARKS,
    OBJECTS,
    ArraySlot,
    GeneratorSlot,
    GivenRows,
    KeysSlot,
    ListSlot,
    MemberSlot,
    NumberSlot,
    ObjectSlot,
    RangeSlot,
    ResultSlot,
    Slot,
)
from ufuse.graph.nest_types import (
    F64,
    I1,
    I64,
    KINDS,
    MAP_AXES,
    PARTS,
    TABLE_AXES,
    TURNS,
    Value,
    Variable,
)
from ufuse.graph.records import record


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

"""Which numbers are objects that nothing else has: only these may be items of a list that a whole call gives back.

The objects of such a list are made when the call has ended, one for each item. So a number that two items or two names
would share in plain Python must not come into it. A number that an instruction makes is new; who has it alone may
put it into a list, once: it lies on the stack, or in one of the locals in `Frame.unique`.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.containers import Generating, Ragged
from ufuse.frame_hook.nests.known.kinds import FLOAT, INT, ArrayKind, Holder, Listing
from ufuse.frame_hook.nests.known.numbers import Empty, Known, Number
from ufuse.frame_hook.nests.known.values import (
    CALLABLE,
    Elements,
    Grid,
    Item,
    Items,
    Method,
    Together,
    TurnKind,
    Viewed,
    Whole,
)
from ufuse.frame_hook.nests.numbers.either import is_either
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value

SMALL_INTS = range(-5, 257)  # there is one object of each
MAKE_INTS = frozenset(("+", "-", "*", "//", "&", "|", "^"))  # others may give an operand as it is
DIGIT = range(
    1, 1 << 30
)  # of CPython's ints: what is left behind a division by one is a new object
ARRAYS = Array, Part, Lazy
TO_INTS = frozenset((int, round, math.floor, math.ceil, math.trunc))
OF_MATH = frozenset(one for one in vars(math).values() if callable(one))


def is_one_object(item: Item) -> bool:
    """Whether all that are equal are one object."""
    if isinstance(item, Number):
        return item.type.kind == "bool"
    return isinstance(item, Known) and (
        type(item.value) is bool or (type(item.value) is int and item.value in SMALL_INTS)
    )


def take(reader: Reader, item: Item) -> bool:
    """Whether nothing else has a number; whoever asks has it then."""
    if is_one_object(item):
        return True
    unique = reader.frame.unique
    if not isinstance(item, Number) or (not item.is_new and item.origin not in unique):
        return False
    if not item.is_new:
        unique.discard(item.origin)
    return True


def take_or_doubt(reader: Reader, item: Item, site: str) -> bool:
    """Whether nothing else has a number that what is made in a place gets, or all that are equal are one object.

    That is so of small ints: others are in doubt, where nothing but that keeps the call from what it gives.
    """
    if take(reader, item):
        return True
    if site not in reader.tries.small or not isinstance(item, Number) or item.type != INT:
        return False
    out = reader.out
    out.doubt_if(out.op("ilt", I1, item.value, out.constant(I64, SMALL_INTS.start)))
    out.doubt_if(out.op("ige", I1, item.value, out.constant(I64, SMALL_INTS.stop)))
    return True


def takes_number(reader: Reader, item: Item | None) -> bool:
    """Whether a local gets a number that nothing else has, of which there may be several equal ones."""
    return isinstance(item, Number) and not is_one_object(item) and take(reader, item)


def moved(reader: Reader, item: Item) -> Item:
    """An item that leaves its place for another one on a stack, with what is known of it."""
    if isinstance(item, Items):
        return replace(item, items=tuple(moved(reader, one) for one in item.items))
    if isinstance(item, Number) and not is_one_object(item):
        return replace(item, is_new=take(reader, item), origin=None, listed=None)
    return item


def made(item: Item) -> Item:
    """A number that is a new object."""
    return (
        replace(item, is_new=True, origin=None, listed=None) if isinstance(item, Number) else item
    )


def shared(item: Item) -> Item:
    """What is on the stack twice."""
    if isinstance(item, Items):
        return replace(item, items=tuple(map(shared, item.items)))
    return replace(item, is_new=False) if isinstance(item, Number) else item


def loaded(item: Item, slot: int) -> Item:
    """What a local has been asked for."""
    return replace(item, is_new=False, origin=slot) if isinstance(item, Number) else item


def store(reader: Reader, slot: int, item: Item) -> None:
    """A local gets another value: what the stack has of it stays what it was.

    A small int that is known may be in any place, too: but for the local it is any number from now on.
    """
    listed = listing(reader, item)
    is_new = takes_number(reader, item) or is_one_object(item)
    reader.stack[:] = [_left(reader, one, slot) for one in reader.stack]
    reader.frame.unique.discard(slot)
    reader.frame.listed.pop(slot, None)
    if is_new:
        reader.frame.unique.add(slot)
    elif listed is not None:
        reader.frame.listed[slot] = listed


def _left(reader: Reader, item: Item, slot: int) -> Item:
    if isinstance(item, Items):
        return replace(item, items=tuple(_left(reader, one, slot) for one in item.items))
    if not isinstance(item, Number) or item.origin != slot:
        return item
    listed = listing(reader, item)
    one = moved(reader, item)
    return replace(one, listed=listed) if isinstance(one, Number) else one


def listing(reader: Reader, item: Item) -> Listing | None:
    """The list of which a number is an item, and the loop that has given it."""
    if not isinstance(item, Number):
        return None
    return item.listed or reader.frame.listed.get(-1 if item.origin is None else item.origin)


def place_in_list(reader: Reader, listed: Listing) -> Value:
    """The place of such an item."""
    name, _ = listed
    following, step = (reader.out.get(f"{name}.{part}", I64) for part in ("next", "step"))
    return reader.out.op("sub", I64, following, step)


def forget_listed(reader: Reader, name: str) -> None:
    """A loop goes on, or begins anew: no number is the item any more that it has given."""
    frame = reader.frame
    frame.listed = {slot: one for slot, one in frame.listed.items() if not _is_of(one, name)}


def kept_listed(
    reader: Reader, slots: Collection[int], name: str
) -> frozenset[tuple[int, Listing]]:
    """What of these numbers is still known where a loop, if any, goes on."""
    listed = reader.frame.listed.items()
    return frozenset(
        (slot, one) for slot, one in listed if slot in slots and not (name and _is_of(one, name))
    )


def _is_of(listed: Listing, name: str) -> bool:
    return listed[0] == name or listed[0].startswith(f"{name}.")


def turned(reader: Reader, kind: TurnKind, item: Item, name: str) -> Item:
    """What a loop gives in a turn: numbers of ranges and elements of arrays are made then."""
    match kind:
        case Whole():
            return made(item)
        case Viewed(view):
            return made(item) if _is_array(reader, view.holder) else item
        case Elements(holder):
            if _is_array(reader, holder):
                return made(item)
            if isinstance(item, Number) and _is_list(reader, holder) and not kind.count:
                assert isinstance(holder, ArrayKind)
                return replace(item, listed=(name, holder))
        case Grid(holder=holder) if holder is not None or kind.view is not None:
            return made(item)
        case Together(parts) if isinstance(item, Items):
            pairs = zip(parts, item.items, strict=True)
            items = (turned(reader, one, each, f"{name}.{part}") for (part, one), each in pairs)
            return replace(item, items=tuple(items))
    return item


def _is_list(reader: Reader, holder: Holder) -> bool:
    """Whether it is a list of the program's, not lists one behind another."""
    return isinstance(holder, ArrayKind) and not isinstance(
        reader.outside.lists.get(holder.slot), Ragged
    )


def _is_array(reader: Reader, holder: Holder) -> bool:
    """Whether it is an array, not a list, whose items are objects already; of bytes there is one object of each."""
    if isinstance(holder, ArrayKind):
        given = reader.outside.sequences.get(holder.slot)
        return given is None or isinstance(given, bytes | bytearray)
    return reader.memory.item_kind(holder) is None


def note_result(reader: Reader, instruction: Instruction, before: list[Item]) -> None:
    """Note whether the number that an instruction has pushed is a new object."""
    name, count = instruction.opname, instruction.arg or 0
    if name == "UNPACK_SEQUENCE" and isinstance(before[-1], ARRAYS):
        reader.stack[-count:] = map(made, reader.stack[-count:])
        return
    if not reader.stack or not isinstance(one := reader.stack[-1], Number) or is_either(one):
        return
    operator = dis._nb_ops[count][1] if name == "BINARY_OP" else ""  # type: ignore[attr-defined]
    if name == "BINARY_SUBSCR" or operator == "[]":
        is_new = isinstance(before[-2], ARRAYS)
    elif operator:
        is_new = one.type.is_real or one.type.numpy or _makes_int(operator.rstrip("="), before)
    elif name == "CALL":
        pair = before[-count - 2 : len(before) - count]
        function = next(item for item in pair if not isinstance(item, Empty))
        is_new = _makes(function, before[len(before) - count :], one)
    else:
        is_new = name == "UNARY_NEGATIVE"
    if is_new:
        reader.stack[-1] = made(one)


def _makes_int(operator: str, before: list[Item]) -> bool:
    """Whether an operation of two ints gives neither of them."""
    left, right = before[-2:]
    if operator == "%":
        is_digit = isinstance(right, Known) and type(right.value) is int and right.value in DIGIT
        return is_digit or (isinstance(left, Number) and left.is_new)
    return operator in MAKE_INTS


def _makes(function: Item, arguments: list[Item], one: Number) -> bool:
    """Whether a call gives a new number."""
    if isinstance(function, Method):
        return one.type.numpy and isinstance(function.owner, ARRAYS)
    if isinstance(function, Generating):
        return True
    if not isinstance(function, Known) or not isinstance(value := function.value, CALLABLE):
        return False
    given = arguments[0] if arguments else None
    if value in TO_INTS and isinstance(given, Number) and (given.type.is_real or given.type.numpy):
        return True  # an int of Python's would be given as it is
    if value in OF_MATH:
        return one.type == FLOAT
    return (
        isinstance(value, np.ufunc)
        or value is len
        or (value in (float, abs, round) and one.type.is_real and not _is_given(value, arguments))
    )


def _is_given(function: Any, arguments: list[Item]) -> bool:
    """Whether `float` gives its argument as it is."""
    one = arguments[0]
    return function is float and isinstance(one, Number) and one.type == FLOAT

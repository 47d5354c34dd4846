"""Operators and comparisons in loops that are read as nests."""

from __future__ import annotations

import dis

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, making, reductions
from ufuse.frame_hook.nests.calls import idioms, searches
from ufuse.frame_hook.nests.containers import (
    characters,
    fields,
    made_lists,
    object_lists,
    own_lists,
    tuples,
)
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.containers import MadeDict, MadeList, NewDict, OwnGroups, OwnList
from ufuse.frame_hook.nests.known.kinds import BOOL, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Character, Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, known_truth
from ufuse.frame_hook.nests.numbers import arithmetic, complexes, conversions
from ufuse.frame_hook.nests.opcodes import splitting
from ufuse.frame_hook.nests.opcodes.displays import push_element
from ufuse.frame_hook.nests.opcodes.handlers import reads
from ufuse.frame_hook.nests.reading.operations import CONTAINS, truth
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.opcodes.operators import AS_BOOL, COMPARISONS, OPERATOR_SHIFT

INTRINSIC_POSITIVE = 5
# How objects are compared by identity, and whether that is inverted; by the names of COMPARISONS.
IDENTITY = {"eq": False, "ne": True}


@reads("BINARY_OP")
def _binary_op(reader: Reader, arg: int) -> None:
    name = dis._nb_ops[arg][1]  # type: ignore[attr-defined]
    right, left = reader.stack.pop(), reader.stack.pop()
    if name == "[]":
        push_element(reader, left, right)
    else:
        reader.stack.append(_computed(reader, name, left, right))


def _computed(reader: Reader, name: str, left: Item, right: Item) -> Item:
    operator = name.rstrip("=")
    if elementwise.is_array(left) and isinstance(right, Items | Listed) and operator != "@":
        right = making.array(reader, right)
    if not (elementwise.is_array(left) or elementwise.is_array(right)):
        if complexes.is_complex(left) or complexes.is_complex(right):
            return complexes.binary(reader.out, operator, left, right)
        if name == "*" and isinstance(left, Listed | MadeList):
            return made_lists.repeated(reader, left, right)
        if name == "*" and isinstance(right, Listed | MadeList):
            return made_lists.repeated(reader, right, left)
        return arithmetic.binary(reader.out, operator, left, right)
    if name == "@":
        return reductions.product(reader, "matmul", left, right)
    if name != operator and isinstance(left, Array | Part | Lazy):
        array = elementwise.computed(reader, left)
        elementwise.update(reader, operator, array, right)
        return array
    return elementwise.binary(reader, operator, left, right)


@reads("COMPARE_OP")
def _compare_op(reader: Reader, arg: int) -> None:
    right, left = (characters.known(reader, reader.stack.pop()) for _ in range(2))
    name = COMPARISONS[dis.cmp_op[arg >> OPERATOR_SHIFT]]
    if name in IDENTITY and (same := object_lists.is_equal(reader, left, right, name)) is not None:
        _push_truth(reader, same, is_inverted=IDENTITY[name])
        return
    if (of_text := characters.compare(reader.out, name, left, right)) is not None:
        reader.stack.append(of_text)
        return
    if elementwise.is_array(left) or elementwise.is_array(right):
        reader.stack.append(elementwise.binary(reader, name, left, right))
        return
    if isinstance(left, Items) and isinstance(right, Items):
        tuples.refuse_unlike(left, right)
    if name in IDENTITY and isinstance(left, Items) and isinstance(right, Items):
        _push_truth(reader, tuples.are_equal(reader, left, right), is_inverted=IDENTITY[name])
        return
    if isinstance(left, Items) and isinstance(right, Items):
        if not arg & AS_BOOL and not splitting.is_tested(reader):
            raise NotNativeError("it keeps what a comparison of tuples gives")
        reader.stack.append(tuples.in_order(reader, name, left, right))
        return
    idioms.check_compared(reader, left, right)
    if (known := arithmetic.known_comparison(name, left, right)) is not None:
        reader.stack.append(Known(known))
        return
    if complexes.is_complex(left) or complexes.is_complex(right):
        found = complexes.compare(reader.out, name, left, right)
    elif arg & AS_BOOL or splitting.is_tested(reader):
        found = arithmetic.compare_truth(reader.out, name, left, right)
    else:
        found = arithmetic.compare(reader.out, name, left, right)
    reader.stack.append(Number(BOOL, found.value) if arg & AS_BOOL else found)


@reads("TO_BOOL")
def _to_bool(reader: Reader, _: int) -> None:
    item = truth(reader, reader.stack.pop())
    if (known := known_truth(item)) is not None:
        reader.stack.append(Known(known))
    else:
        reader.stack.append(Number(BOOL, conversions.truth(reader.out, item)))


@reads("UNARY_NOT")
def _unary_not(reader: Reader, _: int) -> None:
    item = truth(reader, reader.stack.pop())
    if (known := known_truth(item)) is not None:
        reader.stack.append(Known(not known))
    else:
        reader.stack.append(arithmetic.inverse_truth(reader.out, item))


@reads("UNARY_NEGATIVE")
def _unary_negative(reader: Reader, _: int) -> None:
    item = reader.stack.pop()
    if elementwise.is_array(item):
        reader.stack.append(elementwise.apply(reader, np.negative, item))
    elif complexes.is_complex(item):
        reader.stack.append(complexes.negative(reader.out, item))
    else:
        reader.stack.append(arithmetic.negative(reader.out, item))


@reads("UNARY_POSITIVE")
def _unary_positive(reader: Reader, _: int) -> None:
    reader.stack.append(arithmetic.positive(reader.out, reader.stack.pop()))


@reads("CALL_INTRINSIC_1")
def _call_intrinsic(reader: Reader, which: int) -> None:
    """From 3.12 on."""
    if which != INTRINSIC_POSITIVE:
        raise NotNativeError("it does what is not compiled yet")
    reader.stack.append(arithmetic.positive(reader.out, reader.stack.pop()))


@reads("UNARY_INVERT")
def _unary_invert(reader: Reader, _: int) -> None:
    item = reader.stack.pop()
    if elementwise.is_array(item):
        reader.stack.append(elementwise.apply(reader, np.invert, item))
    else:
        reader.stack.append(arithmetic.invert(reader.out, item))


def _push_truth(reader: Reader, item: Item, *, is_inverted: bool) -> None:
    if isinstance(item, Known):
        reader.stack.append(Known(item.value is not is_inverted))
    else:
        reader.stack.append(arithmetic.inverse_truth(reader.out, item) if is_inverted else item)


@reads("IS_OP")
def _is_op(reader: Reader, is_inverted: int) -> None:
    """Of None and of functions: numbers are made anew."""
    pair = reader.stack.pop(), reader.stack.pop()
    if (same := object_lists.is_same(reader, *pair)) is not None:
        _push_truth(reader, same, is_inverted=bool(is_inverted))
        return
    for one in pair:
        object_lists.doubt_dropped(reader, one)
    nones = [isinstance(one, Known) and one.value is None for one in pair]
    functions = [one.value for one in pair if isinstance(one, Known) and callable(one.value)]
    if len(functions) == len(pair):
        reader.stack.append(Known((functions[0] is functions[1]) is not bool(is_inverted)))
        return
    truth = _is_truth(reader, *pair)
    if truth is not None:
        _push_truth(reader, truth, is_inverted=bool(is_inverted))
        return
    if not any(nones):
        raise NotNativeError("it asks whether two numbers are one object")
    reader.stack.append(Known(all(nones) is not bool(is_inverted)))


def _is_truth(reader: Reader, one: Item, other: Item) -> Item | None:
    """Whether a number is True, or False, which are one object each; None: neither is asked."""
    if isinstance(other, Known) and type(other.value) is bool:
        one, other = other, one
    if not isinstance(one, Known) or type(one.value) is not bool:
        return None
    if isinstance(other, Known):
        return Known(other.value is one.value)
    if not isinstance(other, Number) or other.type.kind != "bool" or other.type.numpy:
        return Known(False) if isinstance(other, Number | Complex) else None
    return other if one.value else arithmetic.inverse_truth(reader.out, other)


@reads("CONTAINS_OP")
def _contains_op(reader: Reader, is_inverted: int) -> None:
    """`item in items`: one after another is compared."""
    container, item = (characters.known(reader, reader.stack.pop()) for _ in range(2))
    if isinstance(container, Known) and type(container.value) is frozenset:
        container = Items(tuple(map(Known, container.value)))
    if isinstance(item, Character) and not isinstance(container, NewDict | MadeDict | OwnGroups):
        found = characters.contains(reader, container, item)
        reader.stack.append(arithmetic.inverse_truth(reader.out, found) if is_inverted else found)
        return
    container = fields.members(container)
    if isinstance(container, OwnList):
        container = own_lists.seen(reader, container)
    if CONTAINS.rule(container) is not None:
        _push_truth(reader, CONTAINS(reader, container, item), is_inverted=bool(is_inverted))
        return
    if searches.is_searched(container):
        searches.contains(reader, container, item, is_inverted=bool(is_inverted))
        return
    if not isinstance(container, Items):
        raise NotNativeError("it looks for an item in {item}, which is not followed", container)
    if (known := _known_contains(container, item)) is not None:
        reader.stack.append(Known(known is not bool(is_inverted)))
        return
    found = arithmetic.contains(reader.out, container, item)
    reader.stack.append(arithmetic.inverse_truth(reader.out, found) if is_inverted else found)


def _known_contains(container: Items, item: Item) -> bool | None:
    """Whether a text equals an item of a tuple of plain constants; None: it is no such case."""
    if not isinstance(item, Known) or type(item.value) is not str:
        return None
    known = [one.value for one in container.items if isinstance(one, Known)]
    is_plain = len(known) == len(container.items) and all(
        type(one) in characters.PLAIN for one in known
    )
    return item.value in known if is_plain else None

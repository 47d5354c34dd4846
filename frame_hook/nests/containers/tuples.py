"""One of the members of a tuple, by a computed index."""

from __future__ import annotations

import operator

from ufuse.frame_hook.nests.arrays import views
from ufuse.frame_hook.nests.containers import object_lists, own_lists
from ufuse.frame_hook.nests.known.kinds import BOOL, TYPES, NotNativeError, kind_of
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import MOST_MEMBERS, Item, Items, Listed
from ufuse.frame_hook.nests.numbers import arithmetic, conversions
from ufuse.frame_hook.nests.reading.operations import ELEMENT, LENGTH, STORE, UNPACKED
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value


def check_members(items: tuple[Item, ...]) -> None:
    """Refuse what is too much for a row of comparisons."""
    if not 1 <= len(items) <= MOST_MEMBERS:
        raise NotNativeError("a tuple is empty or large")


@ELEMENT.of(Items, Listed)
def element(reader: Reader, container: Items | Listed, key: Item) -> Item:
    """`container[key]`."""
    if isinstance(container, Listed):
        container = Items(container.items)
    if isinstance(key, Known) and type(key.value) is int:
        object_lists.doubt_missing(reader, container)
        try:
            return container.items[key.value]
        except IndexError:
            raise NotNativeError("an index is out of range") from None
    if not isinstance(key, Number | Known):
        raise NotNativeError("it takes an item of {item} by what is no number", container)
    return member(reader, container, key)


@LENGTH.of(Items, Listed)
def length(_: Reader, container: Items | Listed) -> Known:
    """`len(container)`."""
    return Known(len(container.items))


@UNPACKED.of(Items)
def unpacked(_: Reader, container: Items, count: int) -> list[Item]:
    """The items, of which there must be so many."""
    if len(container.items) != count:
        raise NotNativeError("it unpacks {item}, which is of another length", container)
    return list(container.items)


@STORE.of(Items)
def refuse_item(_: Reader, container: Items, __: Item, ___: Item) -> None:
    """Refuse to store into a tuple; what is read as one and is a list is read anew.

    Raises:
        NotNativeError: it is a tuple.
        GrowError: it is a list.

    """
    own_lists.ask_instead(container)
    raise NotNativeError("it stores into a tuple")


def member(reader: Reader, container: Items, key: Item) -> Item:
    """`container[key]` of a tuple, for a computed index."""
    out, count = reader.out, len(container.items)
    place = views.index(reader, key)
    check_members(container.items)
    out.doubt_if(out.op("ige", I1, place, out.constant(I64, count)))
    out.doubt_if(out.op("ilt", I1, place, out.constant(I64, -count)))
    is_negative = out.op("ilt", I1, place, out.constant(I64, 0))
    wrapped = out.op("add", I64, place, out.constant(I64, count))
    return chosen(reader, container.items, out.op("select", I64, is_negative, wrapped, place))


def chosen(reader: Reader, items: tuple[Item, ...], place: Value) -> Item:
    """One of several items, which must all be of one kind."""
    if all(isinstance(one, Items) for one in items):
        members = [one.items for one in items if isinstance(one, Items)]
        if len({len(one) for one in members}) == 1:
            return Items(tuple(chosen(reader, one, place) for one in zip(*members, strict=True)))
    if not all(is_number(one) for one in items):
        raise NotNativeError("a tuple has items that are not numbers")
    numbers = [conversions.number(reader.out, one) for one in items]
    if len({one.type for one in numbers}) > 1:
        raise NotNativeError("a tuple is of several types")
    return chosen_number(reader, list(enumerate(numbers)), place)


def chosen_number(reader: Reader, numbers: list[tuple[int, Number]], place: Value) -> Number:
    """One of several numbers of one type, by their places."""
    out, kind = reader.out, numbers[0][1].type
    last = numbers[-1][1]
    chosen, tag = last.value, last.tag
    for i, number in reversed(numbers[:-1]):
        is_it = out.op("ieq", I1, place, out.constant(I64, i))
        chosen = out.op("select", TYPES[kind.kind], is_it, number.value, chosen)
        if tag is not None and number.tag is not None:
            tag = out.op("select", I1, is_it, number.tag, tag)
    return Number(kind, chosen, tag)


def refuse_unlike(one: Items, other: Items) -> None:
    """Refuse to compare a list that is read as a tuple with a tuple.

    Raises:
        NotNativeError: they are such.

    """
    if bool(one.site) is not bool(other.site):
        raise NotNativeError("it compares a list with a tuple")


def are_equal(reader: Reader, left: Items, right: Items) -> Number:
    """Whether two tuples of numbers, or of such tuples, are equal; a NaN may be one of the very objects of both."""
    out = reader.out
    found = out.constant(I1, len(left.items) == len(right.items))
    for pair in zip(left.items, right.items, strict=False):
        if all(isinstance(one, Items) for one in pair):
            each = are_equal(reader, *(one for one in pair if isinstance(one, Items)))
        else:
            for one in (conversions.number(out, one) for one in pair):
                if one.type.is_real:
                    out.doubt_if(out.op("fne", I1, one.value, one.value))
            each = arithmetic.compare_truth(out, "eq", *pair)
        found = out.op("and", I1, found, each.value)
    return Number(BOOL, found)


def in_order(reader: Reader, name: str, left: Items, right: Items) -> Number:
    """Whether a tuple of numbers comes before another one, or behind it: the first unequal members decide."""
    out = reader.out
    truth = out.constant(I1, getattr(operator, name)(len(left.items), len(right.items)))
    for pair in reversed(list(zip(left.items, right.items, strict=False))):
        one, other = (Items((each,)) for each in pair)
        equal = are_equal(reader, one, other).value  # and no NaN is among them
        each = arithmetic.compare_truth(out, name, *pair).value
        truth = out.op("select", I1, equal, truth, each)
    return Number(BOOL, truth)


def is_number(item: Item) -> bool:
    """Whether a member is a number that nests follow."""
    if isinstance(item, Known):
        return kind_of(item.value) is not None
    return isinstance(item, Number)

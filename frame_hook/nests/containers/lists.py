"""Lists of the program in loops that are read as nests: appended to, and stored into.

What is appended goes into columns: the list's own holder is the first, and tuples have one more for each further part.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.arrays import composed, elements, elementwise, tables, views
from ufuse.frame_hook.nests.containers import (
    made_rows,
)
from ufuse.frame_hook.nests.given import growing
from ufuse.frame_hook.nests.given.growing import MOST_COLUMNS, Growth
from ufuse.frame_hook.nests.given.temporaries import OTHER_ORDER
from ufuse.frame_hook.nests.known import ragged_shapes, refusals
from ufuse.frame_hook.nests.known.arrays import Array, ArrayItem, Lazy, Numbers, OtherList, Part
from ufuse.frame_hook.nests.known.containers import MadeList, MadeRows, OwnLists
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError, TemporaryKind, kind_of
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, Method, SliceOf
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.operations import (
    ATTRIBUTE,
    ELEMENT,
    LENGTH,
    STORE,
    method_of,
    methods_of,
)
from ufuse.frame_hook.nests.reading.reader import Reader

# What takes plain Python about as long as making an object takes.
WORK = frozenset(
    ("BINARY_OP", "BINARY_SUBSCR", "CALL", "UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
)
LEAST_WORK = 2  # of a turn of a comprehension


def refuse_slight(reader: Reader) -> None:
    """Refuse a comprehension over Python's numbers that does one thing with each.

    Making the objects of its list takes as long as plain Python takes for all.

    Raises:
        NotNativeError: it is one.

    """
    names = [reader.own.table[one].opname for one in reader.region]
    is_slight = "FOR_ITER" not in names and sum(map(WORK.__contains__, names)) < LEAST_WORK
    lists = reader.outside.sequences
    has_arrays = any(
        isinstance(one, TemporaryKind) or one.slot not in lists for one in reader.numbers
    )
    if "LIST_APPEND" in names and is_slight and not has_arrays:
        raise NotNativeError("its turns take too little time")


@ATTRIBUTE.of(Numbers, OtherList)
def _attribute(reader: Reader, owner: Numbers | OtherList, name: str) -> Method:
    if name != "append":
        raise refusals.no_attribute(name, owner)
    if type(reader.outside.sequences[owner.holder.slot]) is not list:
        raise refusals.no_method(name, owner)
    return Method(owner, name)


methods_of(frozenset(("append", "pop", "insert")), MadeList, MadeRows)
methods_of(frozenset(("append", "pop", "insert", "popleft")), Listed)


@method_of(Numbers, OtherList, Listed, MadeList, MadeRows, OwnLists)
def called_method(reader: Reader, owner: Item, name: str, arguments: Sequence[Item]) -> Item:
    """The result of a method of a list."""
    if name == "popleft":  # of an empty deque
        reader.go_to_doubt()
        return Known(None)
    is_last = not arguments or list(arguments) == [Known(-1)]
    if name == "pop" and is_last and not isinstance(owner, OwnLists):
        return made_rows.pop(reader, owner)
    if name != "append" or len(arguments) != 1:
        raise refusals.no_method(name, owner)
    append(reader, owner, arguments[0])
    return Known(None)


def append(reader: Reader, owner: Item, item: Item) -> None:
    """`owner.append(item)`, and what a comprehension gives in a turn."""
    if isinstance(owner, Listed | MadeList | MadeRows | OwnLists):
        made_rows.append(reader, owner, item)
        return
    if not isinstance(owner, Numbers | OtherList):
        raise refusals.not_of("appends to", owner, "list of numbers")
    if isinstance(item, Array | Part | Lazy):
        _append_array(reader, owner.holder.slot, item)
        return
    slot, has_tuples = owner.holder.slot, isinstance(item, Items)
    parts = [
        either.known(conversions.number(reader.out, one))
        for one in (item.items if isinstance(item, Items) else (item,))
    ]
    if not 1 <= len(parts) <= MOST_COLUMNS:
        raise NotNativeError("a tuple that is appended to a list is long")
    growth = Growth(tuple(one.type for one in parts), has_tuples)
    if reader.lists.grown.setdefault(slot, growth) != growth:
        raise NotNativeError("a list gets items of several types")
    if not has_tuples:
        reader.outside.settle(slot, parts[0].type)
    elementwise.settle(reader)
    for i, part in enumerate(parts):
        reader.out.append(reader.number(growing.column(slot, i)), part.value)


def _append_array(reader: Reader, slot: int, item: ArrayItem) -> None:
    """Append a new array that has no other name: its elements, and what its axes are long."""
    if not isinstance(item, Lazy) and not made_rows.is_new(reader, item):
        raise NotNativeError("it appends an array that has another name to a list")
    if isinstance(item, Lazy) and elementwise.is_turned(item):
        raise NotNativeError(OTHER_ORDER)
    lazy = elementwise.copied(reader, item)
    growth = Growth(
        (reader.element_kind(lazy.dtype), INT), has_tuples=False, axes=len(lazy.lengths)
    )
    if reader.lists.grown.setdefault(slot, growth) != growth:
        raise NotNativeError("a list gets items of several types")
    column, lengths = (reader.number(growing.column(slot, i)) for i in range(2))
    elementwise.settle(reader)
    flat = composed.flattened(reader, lazy)
    for length in lazy.lengths:
        reader.out.append(lengths, length.value)
    elements.each_element(
        reader,
        views.part(reader, elementwise.computed(reader, flat)),
        f".list{slot}.place",
        lambda one: reader.out.append(column, one.value),
    )


@ELEMENT.of(Numbers, OtherList)
def element(reader: Reader, container: Numbers | OtherList, key: Item) -> Item:
    """`container[key]`."""
    if isinstance(container, Numbers) and isinstance(key, SliceOf):
        return tables.part(reader, container, key)
    container = settled(reader, container)
    return elements.loaded(reader, container.holder, (views.index(reader, key),))


@LENGTH.of(Numbers, OtherList)
def length(reader: Reader, container: Numbers | OtherList) -> Number:
    """`len(container)`."""
    return reader.length(container.holder, 0)


def settled(reader: Reader, container: Numbers | OtherList) -> Numbers:
    """A list whose items are read."""
    found = reader.outside.lists.get(container.holder.slot)
    if not isinstance(found, Numbers):
        name = reader.outside.text(container.holder.slot)
        given = reader.outside.sequences[container.holder.slot]
        if ragged_shapes.is_of_lists(given) and isinstance(
            why := ragged_shapes.common_kind(given), str
        ):
            raise NotNativeError(f"{name} {why}", later=True)
        if given and kind_of(given[0]) is None:
            raise NotNativeError(f"{name} is a list whose items are not numbers")
        raise NotNativeError(
            f"{name} is a list whose items are not numbers of one type, so far", later=True
        )
    return found


@STORE.of(Numbers)
def store(reader: Reader, container: Numbers, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    slot = container.holder.slot
    if type(reader.outside.sequences[slot]) is not list:
        raise NotNativeError("it stores into {item}, which is no list", container)
    tables.replace(reader, container, (views.index(reader, key),), item)

"""Lists of the program in loops that are read as nests: appended to, and stored into.

What is appended goes into columns: the list's own holder is the first, and tuples have one more for each further part.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.arrays import composed, elementwise, tables, views
from ufuse.frame_hook.nests.containers import (
    made_deques,
    made_dicts,
    made_rows,
    object_lists,
    own_lists,
    ragged,
)
from ufuse.frame_hook.nests.given.growing import MOST_COLUMNS, Growth, column
from ufuse.frame_hook.nests.given.temporaries import OTHER_ORDER
from ufuse.frame_hook.nests.known import ragged_shapes
from ufuse.frame_hook.nests.known.integers import greatest, minus
from ufuse.frame_hook.nests.known.values import (
    BOOL,
    INT,
    Array,
    ArrayItem,
    Character,
    Entries,
    Item,
    Items,
    Known,
    Lazy,
    Listed,
    ListPart,
    MadeDeque,
    MadeDict,
    MadeList,
    MadeRows,
    NewDict,
    NotNativeError,
    Number,
    Numbers,
    Objects,
    OtherList,
    OwnGroups,
    OwnList,
    OwnLists,
    Part,
    Row,
    SliceOf,
    Table,
    TemporaryKind,
    Text,
    is_none,
    kind_of,
)
from ufuse.frame_hook.nests.numbers import conversions, either
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import I1, I64

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


def called_method(reader: Reader, owner: Item, name: str, arguments: Sequence[Item]) -> Item:
    """The result of a method of a list."""
    if isinstance(owner, MadeDeque):
        return made_deques.called_method(reader, owner, name, arguments)
    if isinstance(owner, OwnList):
        return own_lists.called_method(reader, owner, name, arguments)
    if name == "popleft":  # of an empty deque
        reader.go_to_doubt()
        return Known(None)
    is_last = not arguments or list(arguments) == [Known(-1)]
    if name == "pop" and is_last and not isinstance(owner, OwnLists):
        return made_rows.pop(reader, owner)
    if name != "append" or len(arguments) != 1:
        raise NotNativeError(f"the method {name} of a list is not compiled yet")
    append(reader, owner, arguments[0])
    return Known(None)


def append(reader: Reader, owner: Item, item: Item) -> None:
    """`owner.append(item)`, and what a comprehension gives in a turn."""
    if isinstance(owner, Listed | MadeList | MadeRows | OwnLists):
        made_rows.append(reader, owner, item)
        return
    if not isinstance(owner, Numbers | OtherList):
        raise NotNativeError("it appends to what is no list of numbers")
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
        reader.out.append(reader.number(column(slot, i)), part.value)


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
    elements, lengths = (reader.number(column(slot, i)) for i in range(2))
    elementwise.settle(reader)
    flat = composed.flattened(reader, lazy)
    for length in lazy.lengths:
        reader.out.append(lengths, length.value)
    made_rows.each_element(
        reader,
        views.part(reader, elementwise.computed(reader, flat)),
        f".list{slot}.place",
        lambda one: reader.out.append(elements, one.value),
    )


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
            raise NotNativeError(f"{name} is a list of what are no numbers")
        raise NotNativeError(
            f"{name} is a list of what are no numbers of one type, so far", later=True
        )
    return found


def store(reader: Reader, container: Numbers, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    slot = container.holder.slot
    if type(reader.outside.sequences[slot]) is not list:
        raise NotNativeError("it stores into what is no array")
    tables.replace(reader, container, (views.index(reader, key),), item)


def part(reader: Reader, container: Numbers | Table | Objects, key: SliceOf) -> ListPart:
    """`container[key]`, to be gone over: a copy, whose numbers stay what they are."""
    out, slot = reader.out, container.holder.slot
    if not is_none(key.step) and key.step != Known(1):
        raise NotNativeError("a slice of a list with a step is not compiled yet")
    if isinstance(container, Numbers):
        reader.lists.sliced.add(slot)
    length = reader.length(container.holder, 0).value
    zero = out.constant(I64, 0)
    start = zero if is_none(key.start) else views.bound(reader, key.start, length, 0, length)
    stop = length if is_none(key.stop) else views.bound(reader, key.stop, length, 0, length)
    return ListPart(container, start, greatest(out, minus(out, stop, start), 0))


def truth(reader: Reader, item: Item) -> Item:
    """A list, a text or a dict as a condition; what is none of these as it is."""
    if isinstance(item, Entries):
        return Known(bool(item.found))
    if isinstance(item, Character):
        return Known(True)
    if isinstance(item, Listed):
        return Known(bool(item.items))
    if isinstance(item, OwnGroups):
        item = item.of
    if isinstance(item, NewDict | MadeDict):
        count = made_dicts.length(reader, item)
        if isinstance(count, Known):
            return count
        assert isinstance(count, Number)
        length = count.value
    elif isinstance(item, Text):
        length = reader.length(reader.outside.as_characters(item).holder, 0).value
    elif isinstance(item, MadeDeque):
        length = made_deques.length(reader, item).value
    elif isinstance(item, MadeRows):
        length = made_rows.length(reader, item).value
    elif isinstance(item, Table | Row):
        length = tables.length(reader, item).value
    elif isinstance(item, ragged.SOME):
        length = ragged.length(reader, item).value
    elif isinstance(item, Objects):
        length = object_lists.length(reader, item).value
    elif isinstance(item, Numbers | OtherList | MadeList):
        length = reader.length(item.holder, 0).value
    else:
        return item
    return Number(BOOL, reader.out.op("igt", I1, length, reader.out.constant(I64, 0)))

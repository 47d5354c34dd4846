"""Lists of lists of several lengths, and dicts that lead to such, which a loop reads alone: adjacency lists.

One array has them all: for each list where its numbers begin, and where those of the last one end; behind that the
numbers, list by list. Where there are floats among them, it is one of floats. A dict leads to the places of its lists.
"""

from __future__ import annotations

from ufuse.frame_hook.nests.arrays import views
from ufuse.frame_hook.nests.containers import elements, made_dicts, own_groups, own_lists
from ufuse.frame_hook.nests.known.integers import doubt_outside, minus, wrapped
from ufuse.frame_hook.nests.known.values import (
    INT,
    DictView,
    GivenRows,
    Item,
    Items,
    Known,
    Listed,
    NotNativeError,
    Number,
    OwnGroups,
    OwnList,
    OwnLists,
    Ragged,
    RaggedRow,
    ZipOf,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import I1, I64, Value

SOME = Ragged, RaggedRow, GivenRows, OwnLists, OwnList
METHODS = frozenset(("get", "keys", "values", "items"))


def _place(reader: Reader, of: Ragged, index: Value) -> Value:
    """Where the numbers of a row begin: the element of the array with the row's place."""
    one = elements.part(reader, of.holder, (index,))
    assert isinstance(one, Number)
    return reader.out.op("to_i64", I64, one.value) if of.type.is_real else one.value


def row(reader: Reader, of: Ragged, index: Value) -> RaggedRow:
    """That at a place, which is known to be there."""
    behind = reader.out.op("add", I64, index, reader.out.constant(I64, 1))
    start = _place(reader, of, index)
    return RaggedRow(of, start, minus(reader.out, _place(reader, of, behind), start))


def length(reader: Reader, item: Ragged | RaggedRow | GivenRows | OwnLists | OwnList) -> Number:
    """`len(item)`."""
    out = reader.out
    if isinstance(item, OwnLists):
        return Number(INT, own_lists.count(reader, item))
    if isinstance(item, OwnList):
        item = own_lists.seen(reader, item)
    if isinstance(item, GivenRows):
        found = made_dicts.length(reader, item.of)
        assert isinstance(found, Number)
        return found
    if isinstance(item, Ragged):
        first = _place(reader, item, out.constant(I64, 0))
        return Number(INT, minus(out, first, out.constant(I64, 1)))
    width = len(item.of.columns)
    if width == 1:
        return Number(INT, item.count)
    return Number(INT, out.op("floordiv", I64, item.count, out.constant(I64, width)))


def item_at(reader: Reader, of: Ragged, place: Value) -> Item:
    """The item of a row that begins at a place of the array."""
    numbers = []
    for i, kind in enumerate(of.columns):
        at = reader.out.op("add", I64, place, reader.out.constant(I64, i)) if i else place
        one = elements.part(reader, of.holder, (at,))
        assert isinstance(one, Number)
        is_whole = of.type.is_real and not kind.is_real
        value = reader.out.op("to_i64", I64, one.value) if is_whole else one.value
        numbers.append(Number(kind, value))
    return Items(tuple(numbers)) if of.has_tuples else numbers[0]


def element(
    reader: Reader, container: Ragged | RaggedRow | GivenRows | OwnLists | OwnList, key: Item
) -> Item:
    """`container[key]`."""
    out = reader.out
    if isinstance(container, OwnLists):
        return own_lists.element(reader, container, key)
    if isinstance(container, OwnList):
        container = own_lists.seen(reader, container)
    if isinstance(container, GivenRows):
        found = made_dicts.place_of(reader, container.of, key)
        out.doubt_if(out.op("ilt", I1, found, out.constant(I64, 0)))
        return row(reader, container.rows, found)
    if isinstance(container, RaggedRow) and container.of.has_sets:
        raise NotNativeError("it takes an item of a set")
    count = length(reader, container).value
    place = wrapped(out, views.index(reader, key), count)
    doubt_outside(out, place, count)
    if isinstance(container, Ragged):
        return row(reader, container, place)
    return item_at(reader, container.of, item_place(reader, container, place))


def item_place(reader: Reader, of: RaggedRow, index: Value) -> Value:
    """Where the numbers of an item of a row begin."""
    out, width = reader.out, len(of.of.columns)
    inside = out.op("mul", I64, index, out.constant(I64, width)) if width > 1 else index
    return out.op("add", I64, of.start, inside)


def contains(reader: Reader, container: GivenRows, key: Item) -> Item:
    """`key in container`."""
    return made_dicts.contains(reader, container.of, key)


def called_method(reader: Reader, owner: GivenRows, name: str, arguments: list[Item]) -> Item:
    """The result of a method of a dict."""
    if name == "get" and len(arguments) == 2:
        return _get(reader, owner, *arguments)
    if name in METHODS - {"get"} and not arguments:
        return DictView(owner, name)
    raise NotNativeError(f"the method {name} of a dict of lists is not compiled so")


def _get(reader: Reader, owner: GivenRows, key: Item, default: Item) -> Item:
    """`owner.get(key, default)`, where that is empty: the first row, of which there is nothing, where none is there."""
    if not _is_empty(default):
        raise NotNativeError("the method get of a dict of lists with a default that is not empty")
    out = reader.out
    place = made_dicts.place_of(reader, owner.of, key)
    is_missing = out.op("ilt", I1, place, out.constant(I64, 0))
    zero = out.constant(I64, 0)
    found = row(reader, owner.rows, out.op("select", I64, is_missing, zero, place))
    return RaggedRow(owner.rows, found.start, out.op("select", I64, is_missing, zero, found.count))


def _is_empty(item: Item) -> bool:
    """Whether it is `[]` or `()`."""
    return (isinstance(item, Items | Listed) and not item.items) or item == Known(())


def gone_over(reader: Reader, item: Item) -> Item:
    """What a loop over a dict of lists goes over, or over one of its views; anything else as it is."""
    if isinstance(item, OwnList):
        return own_lists.seen(reader, item)
    if isinstance(item, OwnGroups):
        return own_groups.gone_over(item, "keys")
    if isinstance(item, DictView) and isinstance(item.of, OwnGroups):
        return own_groups.gone_over(item.of, item.what)
    if isinstance(item, GivenRows):
        item = DictView(item, "keys")
    if not isinstance(item, DictView) or not isinstance(owner := item.of, GivenRows):
        return item
    if item.what == "values":
        return owner.rows
    keys = made_dicts.gone_over(reader, DictView(owner.of, "keys"))
    return keys if item.what == "keys" else ZipOf((keys, owner.rows))

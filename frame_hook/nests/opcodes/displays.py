"""Tuples, lists, dicts and sets that are made and taken apart, and their elements, in loops that are read as nests."""

from __future__ import annotations

from ufuse.frame_hook.nests.containers import (
    dict_methods,
    lists,
    made_dicts,
    made_rows,
    object_lists,
    removals,
)
from ufuse.frame_hook.nests.known.containers import MadeDict, MadeList, MadeRows, NewDict
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, SliceOf
from ufuse.frame_hook.nests.opcodes.handlers import reads
from ufuse.frame_hook.nests.reading.operations import ELEMENT, STORE, UNPACKED
from ufuse.frame_hook.nests.reading.reader import Reader


def push_element(reader: Reader, container: Item, key: Item) -> None:
    """Push `container[key]`."""
    found = ELEMENT(reader, container, key)
    if found is not None:
        reader.stack.append(found)


@reads("BINARY_SUBSCR")
def _binary_subscr(reader: Reader, _: int) -> None:
    key, container = reader.stack.pop(), reader.stack.pop()
    push_element(reader, container, key)


@reads("BINARY_SLICE")
def _binary_slice(reader: Reader, _: int) -> None:
    stop, start, container = reader.stack.pop(), reader.stack.pop(), reader.stack.pop()
    push_element(reader, container, SliceOf(start, stop, Known(None)))


@reads("STORE_SLICE")
def _store_slice(reader: Reader, _: int) -> None:
    stop, start, container = reader.stack.pop(), reader.stack.pop(), reader.stack.pop()
    key = SliceOf(start, stop, Known(None))
    STORE(reader, container, key, reader.stack.pop())


@reads("BUILD_SLICE")
def _build_slice(reader: Reader, count: int) -> None:
    step = reader.stack.pop() if count == 3 else Known(None)
    stop, start = reader.stack.pop(), reader.stack.pop()
    reader.stack.append(SliceOf(start, stop, step))


@reads("STORE_SUBSCR")
def _store_subscr(reader: Reader, _: int) -> None:
    key, container, item = reader.stack.pop(), reader.stack.pop(), reader.stack.pop()
    STORE(reader, container, key, item)


@reads("BUILD_TUPLE")
def _build_tuple(reader: Reader, count: int) -> None:
    items = tuple(reader.stack[len(reader.stack) - count :])
    del reader.stack[len(reader.stack) - count :]
    for item in items:  # of a tuple no more than its length may be asked
        object_lists.doubt_dropped(reader, item)
    reader.stack.append(Items(items))


@reads("BUILD_LIST")
def _build_list(reader: Reader, count: int) -> None:
    _build_tuple(reader, count)
    items = reader.stack.pop()
    assert isinstance(items, Items)
    reader.stack.append(made_rows.begin(reader, items.items))


@reads("BUILD_MAP")
def _build_map(reader: Reader, count: int) -> None:
    items = reader.stack[len(reader.stack) - 2 * count :]
    del reader.stack[len(reader.stack) - 2 * count :]
    pairs = list(zip(items[::2], items[1::2], strict=True))
    reader.stack.append(dict_methods.with_entries(reader, pairs))


@reads("BUILD_CONST_KEY_MAP")
def _build_const_key_map(reader: Reader, count: int) -> None:
    """Up to 3.13."""
    keys = reader.stack.pop()
    values = reader.stack[len(reader.stack) - count :]
    del reader.stack[len(reader.stack) - count :]
    assert isinstance(keys, Items)
    reader.stack.append(
        dict_methods.with_entries(reader, list(zip(keys.items, values, strict=True)))
    )


@reads("BUILD_SET")
def _build_set(reader: Reader, count: int) -> None:
    items = reader.stack[len(reader.stack) - count :]
    del reader.stack[len(reader.stack) - count :]
    found = made_dicts.begin(reader, is_set=True)
    for one in items:
        made_dicts.add(reader, found, one)
    reader.stack.append(found)


@reads("MAP_ADD")
def _map_add(reader: Reader, depth: int) -> None:
    """Of a comprehension."""
    item, key = reader.stack.pop(), reader.stack.pop()
    made_dicts.store(reader, _grown(reader, depth), key, item)


@reads("SET_ADD")
def _set_add(reader: Reader, depth: int) -> None:
    """The same of a set."""
    key = reader.stack.pop()
    made_dicts.add(reader, _grown(reader, depth), key)


@reads("DELETE_SUBSCR")
def _delete_subscr(reader: Reader, _: int) -> None:
    key, container = reader.stack.pop(), reader.stack.pop()
    if not isinstance(container, NewDict | MadeDict) or made_dicts.is_set(container):
        raise NotNativeError("del of an item is compiled for dicts that the loop makes alone")
    removals.delete(reader, container, key)


def _grown(reader: Reader, depth: int) -> NewDict | MadeDict:
    """The dict or set that a comprehension makes."""
    found = reader.on_stack(depth)
    if not isinstance(found, NewDict | MadeDict):
        raise NotNativeError("making a dict or set is not compiled yet")
    return found


@reads("LIST_EXTEND")
def _list_extend(reader: Reader, depth: int) -> None:
    """Of constants: a list of three or more."""
    items = reader.stack.pop()
    before = reader.stack[-depth]
    if not isinstance(items, Items) or not isinstance(before, Listed | MadeList | MadeRows):
        raise NotNativeError("making a list is not compiled yet")
    if isinstance(before, Listed):
        reader.stack[-depth] = Listed(before.items + items.items, before.site)
        return
    for one in items.items:
        made_rows.append(reader, before, one)


@reads("LIST_APPEND")
def _list_append(reader: Reader, depth: int) -> None:
    """Of a comprehension."""
    item = reader.stack.pop()
    lists.append(reader, reader.on_stack(depth), item)


@reads("UNPACK_SEQUENCE")
def _unpack_sequence(reader: Reader, count: int) -> None:
    one = reader.stack.pop()
    reader.stack += reversed(UNPACKED(reader, one, count))

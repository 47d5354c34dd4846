"""Dicts that lead to lists of several lengths, which a loop reads alone: their keys lead to places of the lists."""

from __future__ import annotations

from ufuse.frame_hook.nests.containers import made_dicts, ragged
from ufuse.frame_hook.nests.known.containers import DictView, GivenRows, RaggedRow
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item, Items, Listed, ZipOf
from ufuse.frame_hook.nests.reading.operations import (
    CONTAINS,
    ELEMENT,
    LENGTH,
    VIEW,
    gone_over,
    method_of,
    methods_of,
)
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64

METHODS = frozenset(("get", "keys", "values", "items"))
methods_of(METHODS, GivenRows)


@LENGTH.of(GivenRows)
def length(reader: Reader, item: GivenRows) -> Item:
    """`len(item)`."""
    return made_dicts.length(reader, item.of)


@ELEMENT.of(GivenRows)
def element(reader: Reader, container: GivenRows, key: Item) -> RaggedRow:
    """`container[key]`."""
    out = reader.out
    found = made_dicts.place_of(reader, container.of, key)
    out.doubt_if(out.op("ilt", I1, found, out.constant(I64, 0)))
    return ragged.row(reader, container.rows, found)


@VIEW.of(GivenRows)
def gone_over_by(reader: Reader, owner: GivenRows, what: str) -> Item:
    """What a loop over one of its views goes over."""
    if what == "values":
        return owner.rows
    keys = gone_over(reader, DictView(owner.of, "keys"))
    return keys if what == "keys" else ZipOf((keys, owner.rows))


@CONTAINS.of(GivenRows)
def contains(reader: Reader, container: GivenRows, key: Item) -> Item:
    """`key in container`."""
    return made_dicts.contains(reader, container.of, key)


@method_of(GivenRows)
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
    found = ragged.row(reader, owner.rows, out.op("select", I64, is_missing, zero, place))
    return RaggedRow(owner.rows, found.start, out.op("select", I64, is_missing, zero, found.count))


def _is_empty(item: Item) -> bool:
    """Whether it is `[]` or `()`."""
    return (isinstance(item, Items | Listed) and not item.items) or item == Known(())

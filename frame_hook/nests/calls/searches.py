"""Whether a list has a number, where, and how often: its items are compared one after another, as over a generator."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeGuard

from ufuse.frame_hook.nests.calls import generators
from ufuse.frame_hook.nests.calls.generators import EACH, Consumer
from ufuse.frame_hook.nests.containers import keeping
from ufuse.frame_hook.nests.known.arrays import Numbers, Row
from ufuse.frame_hook.nests.known.containers import MadeList, RaggedRow
from ufuse.frame_hook.nests.known.frames import Function
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Generated, Item, Kind, Listed
from ufuse.frame_hook.nests.numbers import arithmetic, conversions, either
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value

METHODS = frozenset(("index", "count"))


def is_searched(item: Item) -> TypeGuard[Numbers | Row | RaggedRow | MadeList | Listed]:
    """Whether it is a list of numbers, whose items are compared in turn."""
    if isinstance(item, RaggedRow):
        return not item.of.has_tuples and not item.of.has_sets
    return isinstance(item, Numbers | Row | MadeList | Listed)


def contains(reader: Reader, container: Item, item: Item, *, is_inverted: bool) -> None:
    """Read on in `item in container`, or `item not in container`."""
    _enter(reader, container, item, functools.partial(_has, is_inverted=is_inverted))


def called_method(
    reader: Reader, owner: Item, name: str, arguments: list[Item], keywords: dict[str, Item]
) -> None:
    """Read on in `owner.index(item)` or `owner.count(item)`."""
    if keywords or len(arguments) != 1:
        raise NotNativeError(f"the method {name} of a list with such arguments is not compiled yet")
    _enter(reader, owner, arguments[0], _index if name == "index" else _count)


def _enter(
    reader: Reader, container: Item, item: Item, consumer: Callable[[Kind], Consumer]
) -> None:
    out = reader.out
    sought = either.known(conversions.number(out, item))
    if sought.type.is_real:  # NaN equals nothing, but may be one of the very objects
        out.doubt_if(out.op("fne", I1, sought.value, sought.value))
    kind = keeping.keep(reader, _variable(reader.frame.function, reader.next), sought)
    generated = Generated(EACH, reader.iterate(container))
    generators.enter(reader, generated, consumer(kind), reader.next)


def _variable(function: Function, position: int) -> str:
    """The name of what is sought."""
    return f"{function.prefix}.sought@{position}"


def _is_it(reader: Reader, kind: Kind, item: Item) -> Value:
    """Whether an item is what is sought."""
    caller = reader.frame.caller
    assert caller is not None
    sought = keeping.kept(reader, _variable(caller.function, caller.position), kind)
    return arithmetic.compare_truth(reader.out, "eq", item, sought).value


@functools.cache
def _has(kind: Kind, *, is_inverted: bool) -> Consumer:
    def take(reader: Reader, item: Item) -> None:
        generators.give_where(reader, _is_it(reader, kind, item), Known(not is_inverted))

    return Consumer(take, lambda _: Known(is_inverted))


@functools.cache
def _index(kind: Kind) -> Consumer:
    def take(reader: Reader, item: Item) -> None:
        generators.give_where(reader, _is_it(reader, kind, item))
        _add(reader, reader.out.constant(I64, 1))

    def end(reader: Reader) -> None:
        reader.go_to_doubt()  # an error

    return Consumer(take, end, Known(0))


@functools.cache
def _count(kind: Kind) -> Consumer:
    def take(reader: Reader, item: Item) -> None:
        out = reader.out
        found = _is_it(reader, kind, item)
        one = out.op("select", I64, found, out.constant(I64, 1), out.constant(I64, 0))
        _add(reader, one)

    return Consumer(take, generators.result_so_far, Known(0))


def _add(reader: Reader, by: Value) -> None:
    """Count items, of which there are never too many."""
    out = reader.out
    so_far = conversions.number(out, generators.result_so_far(reader))
    total = out.op("add", I64, conversions.as_i64(out, so_far), by)
    generators.set_result(reader, Number(INT, total))

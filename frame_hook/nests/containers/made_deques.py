"""Deques that a nest makes: what a list that it makes has from a place on, which lies in a variable."""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.arrays import elements, elementwise, views
from ufuse.frame_hook.nests.containers import made_lists, made_rows
from ufuse.frame_hook.nests.known.containers import MadeDeque, MadeList, OwnLists
from ufuse.frame_hook.nests.known.integers import doubt_outside, minus, plus, wrapped
from ufuse.frame_hook.nests.known.kinds import INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.tries import GrowError
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.reading.operations import ELEMENT, LENGTH, method_of, methods_of
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, Value

methods_of(frozenset(("append", "pop", "popleft")), MadeDeque)


def begin(reader: Reader, arguments: Sequence[Item]) -> Listed | MadeDeque:
    """`deque(arguments)`: what it gets is known once something is appended, as of lists."""
    given = arguments[0] if arguments else Items(())
    if len(arguments) > 1 or not isinstance(given, Items | Listed):
        raise NotNativeError("such a deque is not compiled yet")
    made = made_rows.begin(reader, given.items)
    if isinstance(made, Listed):
        if made.items:
            raise GrowError(made.site, *made_rows.kinds_of(reader, made.items[0]))
        return made
    if isinstance(made, OwnLists):
        raise NotNativeError("a deque of lists is not compiled yet")
    made_rows.settled(made)
    found = MadeDeque(made)
    reader.out.set(_first(found), reader.out.constant(I64, 0))
    return found


def _first(made: MadeDeque) -> str:
    """The variable of the place of the first item."""
    of = made.of
    flat = of if isinstance(of, MadeList) else of.flat
    return f".list{flat.holder.number}.first"


def _end(reader: Reader, made: MadeDeque) -> Value:
    """The place behind the last item."""
    of = made.of
    if isinstance(of, MadeList):
        return made_lists.length(reader, of).value
    return made_rows.length(reader, of).value


@LENGTH.of(MadeDeque)
def length(reader: Reader, made: MadeDeque) -> Number:
    """`len(made)`."""
    return Number(INT, minus(reader.out, _end(reader, made), reader.out.get(_first(made), I64)))


def _at(reader: Reader, made: MadeDeque, place: Value) -> Item:
    if isinstance(made.of, MadeList):
        return elements.part(reader, made.of.holder, (place,))
    return made_rows.row(reader, made.of, place)


@ELEMENT.of(MadeDeque)
def element(reader: Reader, made: MadeDeque, key: Item) -> Item:
    """`made[key]`."""
    out, count = reader.out, length(reader, made).value
    place = wrapped(out, views.index(reader, key), count)
    doubt_outside(out, place, count)
    return _at(reader, made, plus(out, out.get(_first(made), I64), place))


@method_of(MadeDeque)
def called_method(reader: Reader, made: MadeDeque, name: str, arguments: Sequence[Item]) -> Item:
    """The result of a method."""
    if len(arguments) != (name == "append"):
        raise NotNativeError(f"the method {name} of a deque with other arguments")
    if name == "append":
        made_rows.append(reader, made.of, arguments[0])
        return Known(None)
    out, zero, one = reader.out, reader.out.constant(I64, 0), reader.out.constant(I64, 1)
    elementwise.settle(reader)
    first, end = out.get(_first(made), I64), _end(reader, made)
    out.doubt_if(out.op("ige", I1, first, end))
    if name == "pop":
        end = minus(out, end, one)
        found = _at(reader, made, end)
    else:
        found = _at(reader, made, first)
        first = plus(out, first, one)
    is_empty = out.op("ieq", I1, first, end)
    out.set(_first(made), out.op("select", I64, is_empty, zero, first))
    left, of = out.op("select", I64, is_empty, zero, end), made.of
    if not isinstance(of, MadeList):
        left = made_rows.first_of(reader, of, left)
    flat = of if isinstance(of, MadeList) else of.flat
    out.trim(reader.number(flat.holder), left)
    return found

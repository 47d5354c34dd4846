"""Calls of Python functions in a loop: they are read in the place of the call."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ufuse.frame_hook.code import markers
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.nests.calls import recursion
from ufuse.frame_hook.nests.containers import identity, keeping
from ufuse.frame_hook.nests.known.containers import MadeFunction
from ufuse.frame_hook.nests.known.frames import (
    Frame,
    Function,
    Version,
    attributes_in,
    without_attributes,
)
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known, constant_kind
from ufuse.frame_hook.nests.known.positions import written
from ufuse.frame_hook.nests.known.tries import CallsItselfError
from ufuse.frame_hook.nests.known.values import Item, Items, Kind
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.opcodes.calls import bind
from ufuse.frame_hook.trace import symbols

MOST_CALLS = 6  # within one another
OTHER_FLAGS = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE | inspect.CO_VARKEYWORDS
)  # fmt: skip


def why_not_called(code: types.CodeType) -> str | None:
    """Why no call of a function is read in its place."""
    is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_flags & OTHER_FLAGS
    if not is_function or code in markers.DISABLED:
        return f"calls of {code.co_name} are not compiled yet"
    return None


def enter(
    reader: Reader,
    value: types.FunctionType,
    arguments: Sequence[Item],
    keywords: Mapping[str, Item],
) -> None:
    """Read on in a function that is called, whose arguments were popped."""
    _check(reader, value.__code__)
    called = reader.outside.called(value)
    slots = _bound(reader, called, arguments, keywords)
    if recursion.is_read(reader, value.__code__):
        recursion.enter(reader, id(value), called, slots)
    else:
        _enter(reader, id(value), called, slots)


def enter_made(
    reader: Reader, made: MadeFunction, arguments: Sequence[Item], keywords: Mapping[str, Item]
) -> None:
    """The same for one that is made in the loop: its free variables are what they are now."""
    _check(reader, made.code)
    called = symbols.Function(made.code, reader.outside.globals_of(made.maker.called), (), {}, ())
    slots = _bound(reader, called, arguments, keywords)
    slots += [None] * (len(slot_names(made.code)) - len(made.code.co_freevars) - len(slots))
    slots += recursion.contents(reader, made) or [
        reader.content(made.maker, cell.slot) for cell in made.cells
    ]
    if recursion.is_read(reader, made.code):
        recursion.enter(reader, id(made.code), called, slots)
    else:
        _enter(reader, id(made.code), called, slots)


def _check(reader: Reader, code: types.CodeType) -> None:
    why = why_not_called(code)
    if why is not None:
        raise NotNativeError(why)
    if recursion.is_read(reader, code):
        return
    within = list(callers(reader.frame))
    if code in (one.code for one in within):
        raise CallsItselfError(code)
    if len(within) > MOST_CALLS:
        raise NotNativeError("calls within one another are too many")


def _enter(
    reader: Reader, key: int, called: symbols.Function, slots: Sequence[Item | None]
) -> None:
    function = reader.function(key, called)
    unique = {slot for slot, item in enumerate(slots) if identity.takes_number(reader, item)}
    caller = reader.version(reader.next)
    anew = written(function.table.values())
    kinds: dict[int, Kind] = {}
    for slot, item in enumerate(slots):
        if isinstance(item, Known) and slot not in anew:
            kinds[slot] = constant_kind(item)
        elif item is not None:
            kinds[slot] = keeping.keep(reader, function.variable(slot), item)
    go_to(reader, function, kinds, caller)
    reader.frame.unique = unique


def go_to(reader: Reader, function: Function, kinds: dict[int, Kind], caller: Version) -> None:
    """Read on at the beginning of a function."""
    attributes = attributes_in(reader.slots)
    reader.frame = Frame(function, kinds | attributes, [], without_attributes(caller))
    reader.next = 0


def go_back(reader: Reader) -> Version:
    """Read on in the function that called; where."""
    frame = reader.frame
    assert frame.caller is not None
    reader.resume(frame.caller)
    reader.slots.update(attributes_in(frame.slots))
    return frame.caller


def callers(frame: Frame) -> Iterator[Function]:
    """The function being read, and those that call it."""
    yield frame.function
    caller = frame.caller
    while caller is not None:
        yield caller.function
        caller = caller.caller


def _bound(
    reader: Reader,
    called: symbols.Function,
    arguments: Sequence[Item],
    keywords: Mapping[str, Item],
) -> list[Item | None]:
    """The arguments in the slots of parameters, defaults included."""
    code = called.code
    slots: list[Any] = [None] * code.co_nlocals
    bind(called, cast("Any", arguments), cast("Any", keywords), slots)
    if code.co_flags & inspect.CO_VARARGS:
        place = code.co_argcount + code.co_kwonlyargcount
        slots[place] = Items(tuple(slots[place].items))
    return [
        one if one is None or isinstance(one, Item) else reader.outside.item(one) for one in slots
    ]


def leave(reader: Reader, item: Item) -> None:
    """Return from a function to its caller.

    Raises:
        NotNativeError: a function goes with it that this call has made: the variables of that are those of this call,
            which the next one has, too.

    """
    if recursion.leave(reader, item):
        return
    function = reader.frame.function
    if any(one.maker is function for one in _made(item)):
        raise NotNativeError("it returns a function that it makes")
    item = identity.moved(reader, item)
    reader.next = go_back(reader).position
    reader.stack.append(item)
    if not function.returns_once:
        reader.jump(reader.next)


def _made(item: Item) -> Iterator[MadeFunction]:
    if isinstance(item, MadeFunction):
        yield item
    elif isinstance(item, Items):
        for one in item.items:
            yield from _made(one)

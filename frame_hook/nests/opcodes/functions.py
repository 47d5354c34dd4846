"""Attributes, calls, functions and what they return, in loops that are read as nests."""

from __future__ import annotations

from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.nests.calls import generators, inlining
from ufuse.frame_hook.nests.containers import (
    fields,
)
from ufuse.frame_hook.nests.known.containers import MadeFunction
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Empty, Known
from ufuse.frame_hook.nests.known.values import Items
from ufuse.frame_hook.nests.opcodes import dispatch
from ufuse.frame_hook.nests.opcodes.handlers import reads
from ufuse.frame_hook.nests.opcodes.variables import load_const
from ufuse.frame_hook.nests.reading.reader import Reader


@reads("MAKE_FUNCTION")
def _make_function(reader: Reader, flags: int) -> None:
    code = reader.stack.pop()
    has_cells = VERSION < (3, 13) and flags == generators.CLOSURE
    if VERSION < (3, 13) and flags and not has_cells:
        raise NotNativeError(generators.NOT_MADE)
    cells = reader.stack.pop() if has_cells else None
    reader.stack.append(generators.make_function(reader, code, cells))


@reads("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(reader: Reader, which: int) -> None:
    function, cells = reader.stack.pop(), reader.stack.pop()
    assert isinstance(function, MadeFunction)
    if which != generators.CLOSURE:
        raise NotNativeError(generators.NOT_MADE)
    reader.stack.append(generators.make_function(reader, Known(function.code), cells))


@reads("RETURN_GENERATOR")
def _return_generator(reader: Reader, _: int) -> None:
    """What follows is read when it is resumed, which is at once."""
    reader.stack.append(Known(None))


@reads("YIELD_VALUE")
def _yield_value(reader: Reader, _: int) -> None:
    generators.take(reader)


@reads("LOAD_ATTR LOAD_METHOD")
def _load_attr(reader: Reader, arg: int) -> None:
    method = reader.at.opname == "LOAD_METHOD" or (VERSION >= (3, 12) and arg & 1)
    name = reader.code.co_names[arg >> 1 if VERSION >= (3, 12) else arg]
    if (getter := dispatch.getter(reader, reader.stack[-1], name)) is not None:
        if method:
            raise NotNativeError("it calls what a property gives")
        inlining.enter(reader, getter, [reader.stack.pop()], {})
        return
    value = dispatch.attribute(reader, reader.stack.pop(), name)
    pair = [Empty(), value] if VERSION < (3, 13) else [value, Empty()]
    reader.stack += pair if method else [value]


@reads("STORE_ATTR")
def _store_attr(reader: Reader, arg: int) -> None:
    owner, item = reader.stack.pop(), reader.stack.pop()
    fields.store(reader, owner, reader.code.co_names[arg], item)


@reads("GET_ITER")
def _get_iter(reader: Reader, _: int) -> None:
    reader.stack.append(reader.iterate(reader.stack.pop()))


@reads("KW_NAMES")
def _kw_names(reader: Reader, arg: int) -> None:
    reader.keywords = reader.code.co_consts[arg]


@reads("CALL")
def _call(reader: Reader, count: int) -> None:
    names, reader.keywords = reader.keywords, ()
    _call_named(reader, count, names)


@reads("CALL_KW")
def _call_kw(reader: Reader, count: int) -> None:
    names = reader.stack.pop()
    assert isinstance(names, Items)
    _call_named(reader, count, tuple(one.value for one in names.items if isinstance(one, Known)))


@reads("CALL_FUNCTION_EX")
def _call_spread(reader: Reader, flags: int) -> None:
    """`f(*arguments)`, of a tuple whose length is known; keywords are not followed."""
    stack = reader.stack
    keywords = stack.pop() if VERSION >= (3, 14) or flags & 1 else Empty()
    arguments = stack.pop()
    if not isinstance(keywords, Empty) or not isinstance(arguments, Items):
        raise NotNativeError("a call with *arguments is not compiled yet")
    stack += arguments.items
    _call_named(reader, len(arguments.items), ())


def _call_named(reader: Reader, count: int, names: tuple[str, ...]) -> None:
    """Below the arguments stand a function and the NULL beside it; a method and its `self` are not followed."""
    stack = reader.stack
    arguments = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    pair = [stack.pop(), stack.pop()]
    functions = [one for one in pair if not isinstance(one, Empty)]
    if count == 0 and isinstance(pair[1], MadeFunction) and not isinstance(pair[0], Empty):
        if pair[1].code.co_name in generators.COMPREHENSIONS:
            inlining.enter_made(reader, pair[1], pair[:1], {})
        else:
            reader.stack.append(generators.make_generator(pair[1], pair[0]))
        return
    if len(functions) != 1:
        raise NotNativeError("calls of methods are not compiled yet")
    positional = count - len(names)
    keywords = dict(zip(names, arguments[positional:], strict=True))
    dispatch.call(reader, functions[0], arguments[:positional], keywords, reader.next)


@reads("RETURN_VALUE")
def _return_value(reader: Reader, _: int) -> None:
    reader.leave(reader.stack.pop())


@reads("RETURN_CONST")
def _return_const(reader: Reader, arg: int) -> None:
    load_const(reader, arg)
    reader.leave(reader.stack.pop())

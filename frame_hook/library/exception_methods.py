"""Exceptions that the trace made: the methods they have from `BaseException`."""

from __future__ import annotations

import sys
import types

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import resume
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Given, Positional, rule_for
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Function,
    Handled,
    Instance,
    List,
    Method,
    Symbol,
    Tuple,
)


def _made(interpreter: Interpreter, arguments: Positional, name: str) -> Instance:
    """The exception that a method is called on, where the trace made it."""
    error = interpreter.trace.look(arguments[0])
    if not isinstance(error, Instance) or error.source is not None or len(arguments) != 2:
        raise GraphBreak("call", f"BaseException.{name}")
    return error


@rule_for(BaseException.add_note)
def add_note(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """`error.add_note(note)`."""
    error = _made(interpreter, arguments, "add_note")
    note = interpreter.trace.look(arguments[1])
    notes = error.attributes.get("__notes__", List([]))
    known = isinstance(note, Constant) and type(note.value) is str
    if keywords or not known or not isinstance(notes, List) or notes.source is not None:
        raise GraphBreak("call", "BaseException.add_note")
    error.attributes["__notes__"] = notes
    notes.items.append(note)
    return Constant(None)


@rule_for(BaseException.with_traceback)
def _with_traceback(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """One that was raised is never made again, so which traceback it has is seen by nobody."""
    error = _made(interpreter, arguments, "with_traceback")
    given = interpreter.trace.look(arguments[1])
    is_none = isinstance(given, Constant) and given.value is None
    if keywords or not (is_none or (isinstance(given, Handled) and error.raised is not None)):
        raise GraphBreak("call", "BaseException.with_traceback")
    return error


# The exception being handled -------------------------------------------------------------------------------------


def _current(interpreter: Interpreter) -> Symbol | None:
    """What is being handled now; None, which is guarded, where nothing is, in the callers neither."""
    if interpreter.handled:
        return interpreter.handled[-1]
    code, begun_at = interpreter.call_stack[0].code, interpreter.positions[0]
    if resume.marked_slots(code, begun_at)[0] >= 0 or not _hook.nothing_is_handled():
        raise GraphBreak("call", "asking for an exception that was caught before")
    interpreter.trace.guards.check("NOTHING_HANDLED")
    return None


@rule_for(sys.exception)
def _exception(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _refuse_any(arguments, keywords)
    return _current(interpreter) or Constant(None)


@rule_for(sys.exc_info)
def _exc_info(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _refuse_any(arguments, keywords)
    error = _current(interpreter)
    if error is None:
        return Tuple((Constant(None),) * 3)
    if not isinstance(error, Instance):
        raise GraphBreak("call", "asking for an exception that was caught before")
    return Tuple((Constant(error.kind), error, Handled(interpreter.root_count)))


def _refuse_any(arguments: Positional, keywords: Given) -> None:
    if arguments or keywords:
        raise GraphBreak("eager-raises", "TypeError: it takes no arguments")


# Methods made by hand --------------------------------------------------------------------------------------------


@rule_for(types.MethodType)
def _bind(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """`types.MethodType(function, instance)`."""
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: method expected 2 arguments")
    function, receiver = (interpreter.trace.look(one) for one in arguments)
    is_function = isinstance(function, Function) or (
        isinstance(function, Constant) and isinstance(function.value, types.FunctionType)
    )
    if not is_function or (isinstance(receiver, Constant) and receiver.value is None):
        raise GraphBreak("call", "a method that is made of something unusual")
    return Method(receiver, function)


__all__ = ["add_note"]

"""Exceptions that the trace made: the methods they have from `BaseException`."""

from __future__ import annotations

import sys
import types

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.stops import marked_slots
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.objects.values import is_none
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

NONE = Constant(None)


@rule_for(BaseException.add_note)
def _add_note(interpreter: Interpreter, error: Symbol, note: Symbol, /) -> Symbol:
    error, note = interpreter.trace.look(error), interpreter.trace.look(note)
    if not isinstance(error, Instance) or error.source is not None:
        raise GraphBreak("call", "BaseException.add_note")
    notes = error.attributes.get("__notes__", List([]))
    known = isinstance(note, Constant) and type(note.value) is str
    if not known or not isinstance(notes, List) or notes.source is not None:
        raise GraphBreak("call", "BaseException.add_note")
    error.attributes["__notes__"] = notes
    notes.items.append(note)
    return NONE


@rule_for(BaseException.with_traceback)
def _with_traceback(interpreter: Interpreter, error: Symbol, traceback: Symbol, /) -> Symbol:
    """The traceback is ignored: the trace never hands on an exception that was raised, so nobody can see it."""
    error, given = interpreter.trace.look(error), interpreter.trace.look(traceback)
    if not isinstance(error, Instance) or error.source is not None:
        raise GraphBreak("call", "BaseException.with_traceback")
    if not (is_none(given) or (isinstance(given, Handled) and error.raised is not None)):
        raise GraphBreak("call", "BaseException.with_traceback")
    return error


# The exception being handled -------------------------------------------------------------------------------------


def _current(interpreter: Interpreter) -> Symbol | None:
    """The exception being handled now; None, guarded, if neither the trace nor any caller handles one."""
    if interpreter.handled:
        return interpreter.handled[-1]
    code, begun_at = interpreter.call_stack[0].code, interpreter.positions[0]
    if marked_slots(code, begun_at)[0] >= 0 or not _hook.nothing_is_handled():
        raise GraphBreak("call", "asking for an exception that was caught before")
    interpreter.trace.guards.check("NOTHING_HANDLED")
    return None


@rule_for(sys.exception)
def _exception(interpreter: Interpreter) -> Symbol:
    return _current(interpreter) or NONE


@rule_for(sys.exc_info)
def _exc_info(interpreter: Interpreter) -> Symbol:
    error = _current(interpreter)
    if error is None:
        return Tuple((NONE,) * 3)
    if not isinstance(error, Instance):
        raise GraphBreak("call", "asking for an exception that was caught before")
    return Tuple((Constant(error.kind), error, Handled(interpreter.root_count)))


# types.MethodType ------------------------------------------------------------------------------------------------


@rule_for(types.MethodType)
def _bind(interpreter: Interpreter, function: Symbol, instance: Symbol, /) -> Symbol:
    function, receiver = (interpreter.trace.look(one) for one in (function, instance))
    is_function = isinstance(function, Function) or (
        isinstance(function, Constant) and isinstance(function.value, types.FunctionType)
    )
    if not is_function or is_none(receiver):
        raise GraphBreak("call", "a method that is made of something unusual")
    return Method(receiver, function)

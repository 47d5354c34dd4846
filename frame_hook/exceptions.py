"""Exceptions that the trace made: their text, their notes, and the methods they have from `BaseException`."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence

from ufuse.frame_hook import classes, operators
from ufuse.frame_hook.calls import rule_for
from ufuse.frame_hook.instances import PLAIN_EXCEPTIONS
from ufuse.frame_hook.interpret import Interpreter
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import Constant, Handled, Instance, List, Symbol, Tuple


def text_of_error(
    interpreter: Interpreter, error: Instance, function: Callable[..., str]
) -> Symbol:
    """`str(error)` or `repr(error)` of an exception whose arguments are known."""
    trace, name = interpreter.trace, "__str__" if function is str else "__repr__"
    found = classes.static_lookup(error.kind, name)
    if isinstance(found, types.FunctionType):
        text = trace.look(classes.call_special(interpreter, error, name))
        if not isinstance(text, Constant) or type(text.value) is not str:
            raise GraphBreak("call", f"the text of a {error.kind.__name__}")
        return text
    owner = getattr(found, "__objclass__", None)
    plain = (*PLAIN_EXCEPTIONS, BaseException) if function is str else (BaseException,)
    if owner not in plain or not classes.uses_plain(trace, error.kind, name, found):
        raise GraphBreak("call", f"the text of a {error.kind.__name__}")
    if not isinstance(error.content, Tuple):
        raise GraphBreak("call", f"the text of a {error.kind.__name__} that Python raises")
    values = [operators.known_value(interpreter, one) for one in error.content.items]
    if function is str:
        return Constant(found(owner(*values)))
    shown = interpreter.trace.look(classes.class_attribute(interpreter, error.kind, "__name__"))
    assert isinstance(shown, Constant)
    return Constant(repr(Exception(*values)).replace("Exception", shown.value, 1))


def _made(interpreter: Interpreter, arguments: Sequence[Symbol], name: str) -> Instance:
    """The exception that a method is called on, where the trace made it."""
    error = interpreter.trace.look(arguments[0])
    if not isinstance(error, Instance) or error.source is not None or len(arguments) != 2:
        raise GraphBreak("call", f"BaseException.{name}")
    return error


@rule_for(BaseException.add_note)
def _add_note(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    error = _made(interpreter, arguments, "add_note")
    note = interpreter.trace.look(arguments[1])
    notes = error.attributes.setdefault("__notes__", List([]))
    known = isinstance(note, Constant) and type(note.value) is str and isinstance(notes, List)
    if keywords or not known or not isinstance(notes, List) or notes.source is not None:
        raise GraphBreak("call", "BaseException.add_note")
    notes.items.append(note)
    return Constant(None)


@rule_for(BaseException.with_traceback)
def _with_traceback(
    interpreter: Interpreter, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Symbol:
    """One that was raised is never made again, so which traceback it has is seen by nobody."""
    error = _made(interpreter, arguments, "with_traceback")
    given = interpreter.trace.look(arguments[1])
    is_none = isinstance(given, Constant) and given.value is None
    if keywords or not (is_none or (isinstance(given, Handled) and error.raised is not None)):
        raise GraphBreak("call", "BaseException.with_traceback")
    return error


__all__ = ["text_of_error"]

"""Exceptions that the trace made: the methods they have from `BaseException`."""

from __future__ import annotations

from ufuse.frame_hook.calls import Given, Positional, rule_for
from ufuse.frame_hook.interpret import Interpreter
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import Constant, Handled, Instance, List, Symbol


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


__all__ = ["add_note"]

"""Handlers of exceptions and of `with` blocks."""

from __future__ import annotations

import opcode

from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    NULL,
    Constant,
    Handled,
    Instance,
    Symbol,
    Tuple,
    class_of,
)

Pair = tuple[Symbol, Symbol]
# How deep below the top WITH_EXCEPT_START finds the `__exit__` to call.
EXIT_DEPTH = 4 if VERSION < (3, 14) else 5


@handles("RAISE_VARARGS", "given* --")
def raise_varargs(interpreter: Interpreter, _: int, *given: Symbol) -> None:
    if not given:
        if not interpreter.handled:
            raise GraphBreak("eager-raises", "the exception being handled is raised again")
        raise Raised(interpreter.handled[-1])
    error = _exception(interpreter, given[0])
    if len(given) > 1:
        cause = interpreter.trace.look(given[1])
        if not isinstance(cause, Constant) or cause.value is not None:
            error.attributes["__cause__"] = _exception(interpreter, cause)
    raise Raised(error)


def _exception(interpreter: Interpreter, symbol: Symbol) -> Instance:
    """What is raised: an exception, or one made of a class."""
    symbol = interpreter.trace.look(symbol)
    if isinstance(symbol, Constant) and isinstance(symbol.value, type):
        symbol = interpreter.call(symbol)
    if not isinstance(symbol, Instance) or not issubclass(symbol.kind, BaseException):
        raise GraphBreak("eager-raises", "an exception is raised here")
    if symbol.source is not None:
        raise GraphBreak("eager-raises", "an exception that exists already is raised here")
    return symbol


@handles("PUSH_EXC_INFO", "error -- previous error")
def push_exc_info(interpreter: Interpreter, _: int, error: Symbol) -> Pair:
    interpreter.handled.append(error)
    return Handled(interpreter.root_count), error


@handles("POP_EXCEPT", "previous --")
def pop_except(interpreter: Interpreter, _: int, previous: Symbol) -> None:
    if not isinstance(previous, Handled):
        raise GraphBreak("opcode", "POP_EXCEPT")
    interpreter.handled.pop()


@handles("CHECK_EXC_MATCH", "error wanted -- error matches")
def check_exc_match(interpreter: Interpreter, _: int, error: Symbol, wanted: Symbol) -> Pair:
    kinds = _exception_classes(interpreter, wanted)
    instance = interpreter.trace.look(error)
    if not isinstance(instance, Instance):
        raise GraphBreak("opcode", "CHECK_EXC_MATCH")
    classes.guard_bases(interpreter.trace, instance.kind)
    return error, Constant(any(one in classes.mro(instance.kind) for one in kinds))


def _exception_classes(interpreter: Interpreter, symbol: Symbol) -> list[type]:
    """The exception classes that `except` names: one, or a tuple of such."""
    symbol = interpreter.trace.look(symbol)
    named = symbol.items if isinstance(symbol, Tuple) else (symbol,)
    kinds = [class_of(interpreter.trace.look(one)) for one in named]
    found = [kind for kind in kinds if kind is not None and issubclass(kind, BaseException)]
    if len(found) != len(kinds):
        raise GraphBreak("eager-raises", "TypeError: what `except` names is no exception class")
    return found


@handles("RERAISE", "error --")
def reraise(_: Interpreter, __: int, error: Symbol) -> None:
    if not isinstance(error, Instance) or error.raised is None:
        raise GraphBreak("opcode", "RERAISE")
    raise Raised(error)


# `with` ----------------------------------------------------------------------------------------------------------


@handles("BEFORE_WITH", "manager -- leave entered")
def before_with(interpreter: Interpreter, _: int, manager: Symbol) -> Pair:
    manager = interpreter.trace.look(manager)
    enter = _special(interpreter, manager, "__enter__")
    leave = _special(interpreter, manager, "__exit__")
    return leave, interpreter.call(enter)


def _special(interpreter: Interpreter, manager: Symbol, name: str) -> Symbol:
    method = classes.special_method(interpreter, manager, name)
    if method is None:
        raise GraphBreak("opcode", "BEFORE_WITH")
    return method


@handles("LOAD_SPECIAL", "manager -- method null")
def load_special(interpreter: Interpreter, arg: int, manager: Symbol) -> Pair:
    name = opcode._special_method_names[arg]  # type: ignore[attr-defined]
    return _special(interpreter, interpreter.trace.look(manager), name), NULL


@handles("WITH_EXCEPT_START", "-- result")
def with_except_start(interpreter: Interpreter, _: int) -> Symbol:
    stack = interpreter.frame.stack
    leave, error = stack[-EXIT_DEPTH], stack[-1]
    if not isinstance(error, Instance):
        raise GraphBreak("opcode", "WITH_EXCEPT_START")
    traceback = Handled(interpreter.root_count)
    return interpreter.call(leave, (Constant(error.kind), error, traceback))

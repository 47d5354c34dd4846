"""Generators made in the trace: going on, throwing into them, closing them."""

from __future__ import annotations

from types import CodeType

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import NotRebuilt, Raised, Returned, raise_error
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Generator, Instance, Symbol, Tuple

# INTRINSIC_STOPITERATION_ERROR, called by the handler that is around the body of every generator since 3.12.
STOP_ITERATION_ERROR = 3


def send(interpreter: Interpreter, generator: Generator, value: Symbol) -> Symbol | None:
    """Run a generator to its next `yield`; None when it returns, see `returned_value`."""
    _refuse_running(generator)
    if generator.state == "finished":
        generator.frame.stack.clear()
        return None
    if generator.state == "waiting":
        generator.frame.stack.append(value)
    elif not isinstance(value, Constant) or value.value is not None:
        raise raise_error(TypeError, "can't send non-None value to a just-started generator")
    return _run(interpreter, generator)


def returned_value(generator: Symbol) -> Symbol:
    """What a generator that has just ended has returned."""
    if isinstance(generator, Generator) and generator.frame.stack:
        result: Symbol = generator.frame.stack[0]
        return result
    return Constant(None)


def stop_iteration(generator: Symbol) -> Raised:
    """The StopIteration of an iterator at its end, with what a generator returned."""
    value = returned_value(generator)
    is_none = isinstance(value, Constant) and value.value is None
    return Raised(Instance(StopIteration, content=Tuple(() if is_none else (value,))))


def throw(interpreter: Interpreter, generator: Generator, error: Instance) -> Symbol | None:
    """Raise an exception where a generator waits: what it yields next; None when it returns."""
    _refuse_running(generator)
    frame = generator.frame
    if generator.state != "waiting":
        generator.state = "finished"
        frame.stack.clear()
        raise Raised(error)
    raised = Raised(error)
    inner = _delegate(generator)
    if isinstance(inner, Generator) and issubclass(error.kind, GeneratorExit):
        try:
            close(interpreter, inner)
        except Raised as another:
            raised = another
    elif isinstance(inner, Generator):
        try:
            item = throw(interpreter, inner, error)
        except Raised as another:
            raised = another
        else:
            if item is not None:
                return item
            raised = stop_iteration(inner)
            if VERSION < (3, 12):
                raise GraphBreak("call", "an exception thrown into `yield from`")
    frame.position = _waits_at(generator).position
    try:
        if not interpreter.unwind(frame, raised):
            generator.state = "finished"
            frame.stack.clear()
            raise raised
    finally:
        del raised  # with its traceback it would be a cycle, and keep alive what the frame holds
    return _run(interpreter, generator)


def close(interpreter: Interpreter, generator: Generator) -> Symbol:
    """`generator.close()`."""
    if generator.state == "new":
        generator.state = "finished"
    if generator.state == "finished":
        generator.frame.stack.clear()
        return Constant(None)
    try:
        item = throw(interpreter, generator, Instance(GeneratorExit, content=Tuple(())))
    except Raised as raised:
        kinds = (GeneratorExit, StopIteration)
        if isinstance(raised.symbol, Instance) and issubclass(raised.symbol.kind, kinds):
            return Constant(None)
        raise
    if item is not None:
        raise raise_error(RuntimeError, "generator ignored GeneratorExit")
    return returned_value(generator) if VERSION >= (3, 13) else Constant(None)


def is_guarded(generator: Generator) -> bool:
    """Whether dropping a generator now would run code of the user's: it waits inside a `try` or `with`."""
    if generator.state != "waiting":
        return False
    code: CodeType = generator.frame.code
    position = _waits_at(generator).position
    table, protected = instructions.by_position(code), instructions.protections(code)
    while (entry := protected.get(position)) is not None:
        handler = table[entry.target]
        if handler.opname == "CALL_INTRINSIC_1" and handler.arg == STOP_ITERATION_ERROR:
            return False
        if handler.opname != "CLEANUP_THROW":  # that of `yield from`, which passes things on
            return True
        position = entry.target
    return False


def refuse_guarded(interpreter: Interpreter) -> None:
    """End a trace before a generator began that is left waiting where dropping it runs code."""
    for generator in interpreter.generators:
        if is_guarded(generator):
            raise NotRebuilt(generator.born, "a generator left inside a `try` or `with`")


def _refuse_running(generator: Generator) -> None:
    if generator.state == "running":
        raise raise_error(ValueError, "generator already executing")


def _run(interpreter: Interpreter, generator: Generator) -> Symbol | None:
    frame = generator.frame
    if generator.state == "new":
        interpreter.generators.append(generator)
    generator.state = "running"
    try:
        outcome = interpreter.run_frame(frame)
    except Raised as raised:
        generator.state = "finished"
        frame.stack.clear()
        _refuse_stop_iteration(raised)
        raise
    if isinstance(outcome, Returned):
        generator.state = "finished"
        frame.stack[:] = [outcome.value]
        return None
    generator.state = "waiting"
    return outcome.value


def _refuse_stop_iteration(raised: Raised) -> None:
    """Inside a generator a StopIteration becomes a RuntimeError, which plain Python words."""
    symbol = raised.symbol
    if isinstance(symbol, Instance) and issubclass(symbol.kind, StopIteration):
        raise GraphBreak("eager-raises", "RuntimeError: generator raised StopIteration")


def _waits_at(generator: Generator) -> Instruction:
    """The `yield` at which a generator waits."""
    frame = generator.frame
    code: CodeType = frame.code
    for instruction in instructions.instructions(code):
        if instruction.position + instruction.size == frame.position:
            return instruction
    raise AssertionError(frame.position)


def _delegate(generator: Generator) -> Symbol | None:
    """The iterator to which a generator that waits in `yield from` delegates; None: it waits in a plain `yield`."""
    frame = generator.frame
    resumes = instructions.by_position(frame.code)[frame.position]
    if resumes.opname != "RESUME" or (resumes.arg or 0) & 3 != 2:
        return None
    receiver: Symbol = frame.stack[-1]
    if isinstance(receiver, Instance):
        raise GraphBreak("call", "an exception thrown into `yield from`")
    return receiver

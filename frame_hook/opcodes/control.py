"""Handlers of jumps, loops, exceptions, `with` blocks and generators."""

from __future__ import annotations

import opcode

from ufuse.frame_hook.code.instructions import EXHAUSTED_SKIPS, VERSION, Instruction
from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, handles
from ufuse.frame_hook.interpreter.outcomes import Jump, Outcome, Raised, Returned, Yielded
from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.opcodes.names import argument
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    NULL,
    Constant,
    Generator,
    Handled,
    Instance,
    Symbol,
    Tuple,
    class_of,
)


def _jump(instruction: Instruction) -> Jump:
    assert instruction.target is not None
    return Jump(instruction.target)


@handles("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def jump(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if "BACKWARD" in instruction.opname:
        interpreter.refuse_kept_loop(frame, instruction)
    return _jump(instruction)


@handles(
    "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE",
)  # fmt: skip
def pop_jump_if(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if "BACKWARD" in instruction.opname:
        interpreter.refuse_kept_loop(frame, instruction)
    taken = arithmetic.truth(interpreter, frame.pop()) == instruction.opname.endswith("TRUE")
    return _jump(instruction) if taken else None


@handles(
    "POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE",
    "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
)  # fmt: skip
def pop_jump_if_none(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    if "BACKWARD" in instruction.opname:
        interpreter.refuse_kept_loop(frame, instruction)
    is_none = comparisons.identical(interpreter, frame.pop(), Constant(None))
    return _jump(instruction) if is_none != ("NOT_NONE" in instruction.opname) else None


@handles("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def jump_if_or_pop(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    taken = arithmetic.truth(interpreter, frame.stack[-1]) == ("TRUE" in instruction.opname)
    if taken:
        return _jump(instruction)
    frame.pop()
    return None


@handles("GET_ITER")
def get_iter(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.stack[-1] = iterate.iterator_over(interpreter, frame.stack[-1])
    return None


@handles("FOR_ITER")
def for_iter(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    item = iterate.next_item(interpreter, interpreter.trace.look(frame.stack[-1]))
    if item is not None:
        frame.push(item)
        return None
    assert instruction.target is not None
    if VERSION < (3, 14):
        frame.pop()
    return Jump(instruction.target + EXHAUSTED_SKIPS)  # 3.14: POP_ITER pops the iterator


@handles("RETURN_VALUE")
def return_value(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    return Returned(frame.pop())


@handles("RETURN_CONST")
def return_const(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    return Returned(interpreter.trace.of_code(frame.code.co_consts[argument(instruction)]))


# Exceptions ------------------------------------------------------------------------------------------------------


@handles("RAISE_VARARGS")
def raise_varargs(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    given = frame.pop_many(argument(instruction))
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


@handles("PUSH_EXC_INFO")
def push_exc_info(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    error = frame.pop()
    frame.push(Handled(interpreter.root_count))
    frame.push(error)
    interpreter.handled.append(error)
    return None


@handles("POP_EXCEPT")
def pop_except(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    if not isinstance(frame.pop(), Handled):
        raise GraphBreak("opcode", "POP_EXCEPT")
    interpreter.handled.pop()
    return None


@handles("CHECK_EXC_MATCH")
def check_exc_match(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    wanted = exception_classes(interpreter, frame.pop())
    error = interpreter.trace.look(frame.stack[-1])
    if not isinstance(error, Instance):
        raise GraphBreak("opcode", "CHECK_EXC_MATCH")
    classes.guard_bases(interpreter.trace, error.kind)
    frame.push(Constant(any(one in classes.mro(error.kind) for one in wanted)))
    return None


def exception_classes(interpreter: Interpreter, symbol: Symbol) -> list[type]:
    """The exception classes that `except` names: one, or a tuple of such."""
    symbol = interpreter.trace.look(symbol)
    named = symbol.items if isinstance(symbol, Tuple) else (symbol,)
    kinds = [class_of(interpreter.trace.look(one)) for one in named]
    found = [kind for kind in kinds if kind is not None and issubclass(kind, BaseException)]
    if len(found) != len(kinds):
        raise GraphBreak("eager-raises", "TypeError: what `except` names is no exception class")
    return found


@handles("RERAISE")
def reraise(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    error = frame.pop()
    if not isinstance(error, Instance) or error.raised is None:
        raise GraphBreak("opcode", "RERAISE")
    raise Raised(error)


# `with` ----------------------------------------------------------------------------------------------------------


@handles("BEFORE_WITH")
def before_with(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    manager = interpreter.trace.look(frame.pop())
    enter = _special(interpreter, manager, "__enter__")
    frame.push(_special(interpreter, manager, "__exit__"))
    frame.push(interpreter.call(enter))
    return None


def _special(interpreter: Interpreter, manager: Symbol, name: str) -> Symbol:
    method = classes.special_method(interpreter, manager, name)
    if method is None:
        raise GraphBreak("opcode", "BEFORE_WITH")
    return method


@handles("LOAD_SPECIAL")
def load_special(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    manager = interpreter.trace.look(frame.pop())
    name = opcode._special_method_names[argument(instruction)]  # type: ignore[attr-defined]
    frame.push(_special(interpreter, manager, name))
    frame.push(NULL)
    return None


@handles("WITH_EXCEPT_START")
def with_except_start(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    error = frame.stack[-1]
    leave = frame.stack[-4] if VERSION < (3, 14) else frame.stack[-5]
    if not isinstance(error, Instance):
        raise GraphBreak("opcode", "WITH_EXCEPT_START")
    trace_back = Handled(interpreter.root_count)
    frame.push(interpreter.call(leave, (Constant(error.kind), error, trace_back)))
    return None


# Generators ------------------------------------------------------------------------------------------------------


@handles("RETURN_GENERATOR")
def return_generator(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    """The frame is the generator's already: what comes next is its body."""
    frame.push(Constant(None))
    return None


@handles("YIELD_VALUE")
def yield_value(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    return Yielded(frame.pop())


@handles("GET_YIELD_FROM_ITER")
def get_yield_from_iter(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.stack[-1] = iterate.iterator_over(interpreter, frame.stack[-1])
    return None


@handles("SEND")
def send(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    value, receiver = frame.pop(), frame.stack[-1]
    assert instruction.target is not None
    if isinstance(receiver, Generator):
        item = generators.send(interpreter, receiver, value)
    elif isinstance(value, Constant) and value.value is None:
        item = iterate.next_item(interpreter, receiver)
    else:
        raise GraphBreak("opcode", "SEND")
    if item is not None:
        frame.push(item)
        return None
    result = generators.returned_value(receiver)
    if VERSION < (3, 12):
        frame.pop()
    frame.push(result)
    return Jump(instruction.target)


@handles("END_SEND")
def end_send(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    result = frame.pop()
    frame.pop()
    frame.push(result)
    return None


@handles("CLEANUP_THROW")
def cleanup_throw(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    """What was thrown into `yield from`: a StopIteration ends that, anything else goes on."""
    error = frame.pop()
    frame.pop_many(2)
    if not isinstance(error, Instance):
        raise GraphBreak("opcode", "CLEANUP_THROW")
    if not issubclass(error.kind, StopIteration):
        raise Raised(error)
    given = error.content.items if isinstance(error.content, Tuple) else ()
    frame.push(Constant(None))
    frame.push(given[0] if given else Constant(None))
    return None

"""Handlers of jumps, loops, returns and generators."""

from __future__ import annotations

from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter import generators
from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import JUMP, Choice, Jump, Raised, Returned, Yielded
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Generator, Instance, Number, Symbol, Tuple

NONE = Constant(None)


@handles("JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT", "--")
def jump(_: Interpreter, __: int) -> Jump:
    return JUMP


@handles("POP_JUMP_IF_TRUE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_BACKWARD_IF_TRUE", "condition --")
def pop_jump_if_true(interpreter: Interpreter, _: int, condition: Symbol) -> Jump | Choice | None:
    return _jump_if(interpreter, condition, when=True)


@handles("POP_JUMP_IF_FALSE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_BACKWARD_IF_FALSE", "condition --")
def pop_jump_if_false(interpreter: Interpreter, _: int, condition: Symbol) -> Jump | Choice | None:
    return _jump_if(interpreter, condition, when=False)


def _jump_if(interpreter: Interpreter, condition: Symbol, *, when: bool) -> Jump | Choice | None:
    """Jump where the truth of a condition is `when`; the choice, where the graph computes that."""
    known = arithmetic.truth_or_number(interpreter, condition)
    if isinstance(known, Number):
        return Choice(known, when)
    return JUMP if known is when else None


@handles("POP_JUMP_IF_NONE POP_JUMP_FORWARD_IF_NONE POP_JUMP_BACKWARD_IF_NONE", "value --")
def pop_jump_if_none(interpreter: Interpreter, _: int, value: Symbol) -> Jump | None:
    return JUMP if comparisons.identical(interpreter, value, NONE) else None


@handles(
    "POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_NOT_NONE", "value --"
)
def pop_jump_if_not_none(interpreter: Interpreter, _: int, value: Symbol) -> Jump | None:
    return None if comparisons.identical(interpreter, value, NONE) else JUMP


@handles("JUMP_IF_TRUE_OR_POP", "condition --")
def jump_if_true_or_pop(
    interpreter: Interpreter, _: int, condition: Symbol
) -> Jump | Choice | None:
    return _jump_or_pop(interpreter, condition, when=True)


@handles("JUMP_IF_FALSE_OR_POP", "condition --")
def jump_if_false_or_pop(
    interpreter: Interpreter, _: int, condition: Symbol
) -> Jump | Choice | None:
    return _jump_or_pop(interpreter, condition, when=False)


def _jump_or_pop(
    interpreter: Interpreter, condition: Symbol, *, when: bool
) -> Jump | Choice | None:
    known = arithmetic.truth_or_number(interpreter, condition)
    if isinstance(known, Number):
        is_same = known is interpreter.trace.look(condition)
        if not is_same:
            raise GraphBreak("data-branch", "an array's value")
        return Choice(known, when, keeps=True)
    if known is not when:
        return None
    interpreter.frame.stack.append(condition)
    return JUMP


@handles("GET_ITER", "iterable -- iterator")
def get_iter(interpreter: Interpreter, _: int, iterable: Symbol) -> Symbol:
    iterate.refuse_number(interpreter, iterable)
    return iterate.iterator_over(interpreter, iterable)


@handles("FOR_ITER", "-- item")
def for_iter(interpreter: Interpreter, _: int) -> Symbol | Jump:
    """The next item; behind the last the iterator goes, which from 3.14 on is left to POP_ITER."""
    stack = interpreter.frame.stack
    item = iterate.next_item(interpreter, interpreter.trace.look(stack[-1]))
    if item is not None:
        return item
    if VERSION < (3, 14):
        stack.pop()
    return JUMP


@handles("RETURN_VALUE", "value --")
def return_value(_: Interpreter, __: int, value: Symbol) -> Returned:
    return Returned(value)


@handles("RETURN_CONST", "--")
def return_const(interpreter: Interpreter, arg: int) -> Returned:
    return Returned(interpreter.trace.of_code(interpreter.frame.code.co_consts[arg]))


# Generators ------------------------------------------------------------------------------------------------------


@handles("RETURN_GENERATOR", "-- sent")
def return_generator(_: Interpreter, __: int) -> Symbol:
    """The frame is the generator's already: what comes next is its body."""
    return NONE


@handles("YIELD_VALUE", "value -- sent")
def yield_value(_: Interpreter, __: int, value: Symbol) -> Yielded:
    """What is sent to the generator is pushed when it goes on."""
    return Yielded(value)


@handles("GET_YIELD_FROM_ITER", "iterable -- iterator")
def get_yield_from_iter(interpreter: Interpreter, _: int, iterable: Symbol) -> Symbol:
    return iterate.iterator_over(interpreter, iterable)


@handles("SEND", "value -- item")
def send(interpreter: Interpreter, _: int, value: Symbol) -> Symbol | Jump:
    """The next item of the receiver below; at its end what it returned, which up to 3.11 takes the receiver's place."""
    stack = interpreter.frame.stack
    receiver = stack[-1]
    if isinstance(receiver, Generator):
        item = generators.send(interpreter, receiver, value)
    elif isinstance(value, Constant) and value.value is None:
        item = iterate.next_item(interpreter, receiver)
    else:
        raise GraphBreak("opcode", "SEND")
    if item is not None:
        return item
    if VERSION < (3, 12):
        stack.pop()
    stack.append(generators.returned_value(receiver))
    return JUMP


@handles("END_SEND", "receiver result -- result")
def end_send(_: Interpreter, __: int, ___: Symbol, result: Symbol) -> Symbol:
    return result


@handles("CLEANUP_THROW", "receiver sent error -- none result")
def cleanup_throw(_: Interpreter, __: int, *taken: Symbol) -> tuple[Symbol, Symbol]:
    """What was thrown into `yield from`: a StopIteration ends that, anything else goes on."""
    error = taken[-1]
    if not isinstance(error, Instance):
        raise GraphBreak("opcode", "CLEANUP_THROW")
    if not issubclass(error.kind, StopIteration):
        raise Raised(error)
    given = error.content.items if isinstance(error.content, Tuple) else ()
    return NONE, given[0] if given else NONE

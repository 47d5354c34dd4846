"""Exception groups that the trace makes: their parts, `except*`, and what is raised again behind it."""

from __future__ import annotations

from collections.abc import Callable

from ufuse.frame_hook.code.instructions import Instruction
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, handles
from ufuse.frame_hook.interpreter.outcomes import Outcome
from ufuse.frame_hook.interpreter.rules import Given, Positional, rule_for
from ufuse.frame_hook.objects.classes import guard_bases, inherits
from ufuse.frame_hook.objects.values import described, is_none
from ufuse.frame_hook.opcodes.control import exception_classes
from ufuse.frame_hook.opcodes.names import argument
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, List, Symbol, Tuple, class_of

NONE = Constant(None)
PREPARE_RERAISE = 1  # the intrinsic function of two arguments that ends `except*`
Test = Callable[[Instance], bool]


def is_group(error: Instance) -> bool:
    """Whether it is a group; one of a class of the user's, or of the frame, is left to plain Python."""
    if not issubclass(error.kind, BaseExceptionGroup):
        return False
    if error.kind is not ExceptionGroup or error.source is not None:
        raise GraphBreak("call", f"taking apart a {error.kind.__name__}")
    return True


# Making them -----------------------------------------------------------------------------------------------------


@rule_for(ExceptionGroup, BaseExceptionGroup)
def make_group(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    """`ExceptionGroup(message, exceptions)`; what is not made of a list or tuple of `Exception`s ends the graph."""
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of an exception group")
    message, given = (interpreter.trace.look(one) for one in arguments)
    if not isinstance(message, Constant) or type(message.value) is not str:
        raise GraphBreak("call", "an exception group with an unusual message")
    if not isinstance(given, List | Tuple) or given.source is not None or not given.items:
        raise GraphBreak("call", f"an exception group of {described(given)}")
    return _group(interpreter, message, given)


def _group(interpreter: Interpreter, message: Symbol, given: List | Tuple) -> Instance:
    errors = [interpreter.trace.look(one) for one in given.items]
    for error in errors:
        if not isinstance(error, Instance) or not issubclass(error.kind, Exception):
            raise GraphBreak("call", f"an exception group of {described(error)}")
        guard_bases(interpreter.trace, error.kind)
    made = Instance(ExceptionGroup, content=Tuple((message, given)))
    made.attributes["message"] = message
    made.attributes["exceptions"] = given if isinstance(given, Tuple) else Tuple(tuple(errors))
    return made


def parts(interpreter: Interpreter, group: Instance) -> list[Instance]:
    """The exceptions of a group."""
    held = group.attributes["exceptions"]
    assert isinstance(held, Tuple)
    looked = [interpreter.trace.look(one) for one in held.items]
    return [one for one in looked if isinstance(one, Instance)]


# Taking them apart -----------------------------------------------------------------------------------------------


def split(
    interpreter: Interpreter, error: Instance, test: Test
) -> tuple[Instance | None, Instance | None]:
    """What of an exception passes, and what does not: groups of the same shape."""
    if test(error):
        return error, None
    if not is_group(error):
        return None, error
    halves = [split(interpreter, one, test) for one in parts(interpreter, error)]
    passing = [one for one, _ in halves if one is not None]
    others = [one for _, one in halves if one is not None]
    return _like(interpreter, error, passing), _like(interpreter, error, others)


def _like(interpreter: Interpreter, group: Instance, errors: list[Instance]) -> Instance | None:
    """A group with some of another's exceptions, and with its message, cause, notes and traceback."""
    if not errors:
        return None
    made = _group(interpreter, group.attributes["message"] or NONE, List(list(errors)))
    if group.raised is not None:
        made.raised = interpreter.root_count
    cause, notes = group.attributes.get("__cause__"), group.attributes.get("__notes__")
    if cause is not None:
        made.attributes["__cause__"] = cause
    if isinstance(notes, List):
        made.attributes["__notes__"] = List(list(notes.items))
    return made


def _is_one_of(interpreter: Interpreter, wanted: Symbol) -> Test:
    kinds = exception_classes(interpreter, wanted)

    def is_one(error: Instance) -> bool:
        guard_bases(interpreter.trace, error.kind)
        return any(inherits(error.kind, kind) for kind in kinds)

    return is_one


def _of_group(arguments: Positional, keywords: Given, interpreter: Interpreter) -> Instance:
    """The group that a method is called on, with classes to look for."""
    group = interpreter.trace.look(arguments[0])
    if keywords or len(arguments) != 2 or not isinstance(group, Instance) or not is_group(group):
        raise GraphBreak("call", "a method of an exception group")
    wanted = interpreter.trace.look(arguments[1])
    if class_of(wanted) is None and not isinstance(wanted, Tuple):
        raise GraphBreak("call", "an exception group that is asked with a function")
    return group


@rule_for(BaseExceptionGroup.split)
def _split(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    group = _of_group(arguments, keywords, interpreter)
    found = split(interpreter, group, _is_one_of(interpreter, arguments[1]))
    return Tuple(tuple(NONE if one is None else one for one in found))


@rule_for(BaseExceptionGroup.subgroup)
def _subgroup(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    group = _of_group(arguments, keywords, interpreter)
    found, _ = split(interpreter, group, _is_one_of(interpreter, arguments[1]))
    return NONE if found is None else found


# `except*` -------------------------------------------------------------------------------------------------------


@handles("CHECK_EG_MATCH")
def check_group_match(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    """What one `except*` handles, which is current from here on, and what it leaves."""
    if not interpreter.handled:  # what is handled was caught before this trace
        raise GraphBreak("opcode", "CHECK_EG_MATCH")
    wanted = frame.pop()
    error = interpreter.trace.look(frame.pop())
    named = exception_classes(interpreter, wanted)
    if is_none(error):  # nothing is left
        frame.push(error)
        frame.push(NONE)
        return None
    if not isinstance(error, Instance) or any(
        inherits(BaseExceptionGroup, one) or inherits(one, BaseExceptionGroup) for one in named
    ):
        raise GraphBreak("opcode", "CHECK_EG_MATCH")
    found, rest = split(interpreter, error, _is_one_of(interpreter, wanted))
    if found is error:  # it is no group: it is handled as one
        found = _group(interpreter, Constant(""), Tuple((error,)))
        found.raised = interpreter.root_count
    frame.push(NONE if rest is None else rest)
    frame.push(NONE if found is None else found)
    if found is not None:
        interpreter.handled[-1] = found
    return None


@handles("PREP_RERAISE_STAR", "CALL_INTRINSIC_2")
def prepare_reraise(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    """What is raised behind all `except*`: nothing, or what they left."""
    if instruction.opname == "CALL_INTRINSIC_2" and argument(instruction) != PREPARE_RERAISE:
        raise GraphBreak("opcode", "CALL_INTRINSIC_2")
    left, original = interpreter.trace.look(frame.pop()), interpreter.trace.look(frame.pop())
    if not isinstance(left, List) or not isinstance(original, Instance):
        raise GraphBreak("opcode", "CHECK_EG_MATCH")
    items = [interpreter.trace.look(one) for one in left.items]
    errors = [one for one in items if isinstance(one, Instance)]
    if not all(one in errors or is_none(one) for one in items):
        raise GraphBreak("opcode", "CHECK_EG_MATCH")
    if not errors:
        frame.push(NONE)
        return None
    leaves = {id(leaf) for error in errors for leaf in _leaves(interpreter, error)}
    known = {id(leaf) for leaf in _leaves(interpreter, original)}
    if len(errors) > 1 or not leaves <= known or items[-1] is not errors[0]:
        raise GraphBreak("opcode", "an exception that is raised in an `except*`")
    again: Instance | None = errors[0]
    if is_group(original):
        again, _ = split(interpreter, original, lambda error: id(error) in leaves)
    frame.push(again or NONE)
    return None


def _leaves(interpreter: Interpreter, error: Instance) -> list[Instance]:
    """The exceptions in a group, and in the groups in it."""
    if not is_group(error):
        return [error]
    return [leaf for one in parts(interpreter, error) for leaf in _leaves(interpreter, one)]


__all__ = ["make_group"]

"""One handler for every opcode that is captured; an opcode without one is a named break."""

from __future__ import annotations

import dis
import opcode
import sys
from types import ModuleType, NoneType
from typing import Any

import numpy as np

from ufuse.frame_hook.code.instructions import VERSION, Instruction
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.interpreter.frame import Frame
from ufuse.frame_hook.interpreter.interpreter import Interpreter, handles
from ufuse.frame_hook.interpreter.outcomes import Outcome, raise_error
from ufuse.frame_hook.objects import attribute_stores, classes
from ufuse.frame_hook.operations import arithmetic, attributes, comparisons, subscripts
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    BESIDE_METHOD,
    NULL,
    Cell,
    Constant,
    Null,
    Slice,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)

# Nothing that matters happens when one of these dies.
QUIET = (int, float, complex, str, bytes, np.ndarray, np.generic, NoneType)
COMPARISONS = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}


def argument(instruction: Instruction) -> int:
    """The argument of an opcode that has one."""
    assert instruction.arg is not None
    return instruction.arg


# Nothing to do ---------------------------------------------------------------------------------------------------


@handles("RESUME", "NOP", "CACHE", "PRECALL", "COPY_FREE_VARS", "NOT_TAKEN", "EXTENDED_ARG")
def nothing(_: Interpreter, __: Frame, ___: Instruction) -> Outcome:
    return None


# The stack -------------------------------------------------------------------------------------------------------


@handles("POP_TOP", "POP_ITER")
def pop_top(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    classes.refuse_finalizer(frame.stack[-1])
    frame.pop()
    return None


@handles("END_FOR")
def end_for(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    raise GraphBreak("opcode", "END_FOR outside a loop")


@handles("PUSH_NULL")
def push_null(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    frame.push(NULL)
    return None


@handles("COPY")
def copy(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(frame.stack[-argument(instruction)])
    return None


@handles("SWAP")
def swap(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    other = -argument(instruction)
    frame.stack[-1], frame.stack[other] = frame.stack[other], frame.stack[-1]
    return None


@handles("LOAD_CONST", "LOAD_SMALL_INT")
def load_const(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    if instruction.opname == "LOAD_SMALL_INT":
        frame.push(Constant(number))
        return None
    frame.push(interpreter.trace.of_code(frame.code.co_consts[number]))
    return None


# Locals and cells ------------------------------------------------------------------------------------------------


def _local(interpreter: Interpreter, frame: Frame, slot: int) -> Symbol | None:
    """What a slot holds; None where it is empty, which is guarded if the frame brought it so."""
    symbol = frame.locals[slot]
    if isinstance(symbol, Unbound):
        interpreter.trace.found_empty(symbol)
        return None
    return symbol


def _unbound(frame: Frame, slot: int) -> Exception:
    """The error of a variable without a value; plain Python words it, unless the trace catches it."""
    name = frame.slot_name(slot)
    if name in frame.code.co_freevars:
        text = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
        return raise_error(NameError, text)
    text = f"cannot access local variable {name!r} where it is not associated with a value"
    return raise_error(UnboundLocalError, text)


def _load(interpreter: Interpreter, frame: Frame, slot: int) -> None:
    symbol = _local(interpreter, frame, slot)
    if symbol is None:
        raise _unbound(frame, slot)
    if isinstance(symbol, Unread):
        interpreter.trace.found_bound(symbol)
    frame.push(symbol)


@handles("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_CLOSURE")
def load_fast(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    _load(interpreter, frame, argument(instruction))
    return None


@handles("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def load_fast_load_fast(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    _load(interpreter, frame, argument(instruction) >> 4)
    _load(interpreter, frame, argument(instruction) & 15)
    return None


@handles("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    symbol = _local(interpreter, frame, argument(instruction))
    frame.push(NULL if symbol is None else symbol)
    frame.locals[argument(instruction)] = None
    return None


@handles("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def store_fast(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    classes.refuse_finalizer(frame.locals[argument(instruction)])
    symbol = frame.pop()
    frame.locals[argument(instruction)] = None if isinstance(symbol, Null) else symbol
    return None


@handles("STORE_FAST_LOAD_FAST")
def store_fast_load_fast(
    interpreter: Interpreter, frame: Frame, instruction: Instruction
) -> Outcome:
    frame.locals[argument(instruction) >> 4] = frame.pop()
    _load(interpreter, frame, argument(instruction) & 15)
    return None


@handles("STORE_FAST_STORE_FAST")
def store_fast_store_fast(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.locals[argument(instruction) >> 4] = frame.pop()
    frame.locals[argument(instruction) & 15] = frame.pop()
    return None


@handles("DELETE_FAST")
def delete_fast(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    symbol = _local(interpreter, frame, argument(instruction))
    if symbol is None:
        raise _unbound(frame, argument(instruction))
    classes.refuse_finalizer(symbol)
    if isinstance(symbol, Unread):
        interpreter.trace.found_bound(symbol)
    frame.locals[argument(instruction)] = None
    return None


@handles("MAKE_CELL")
def make_cell(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    slot = argument(instruction)
    frame.locals[slot] = Cell(_local(interpreter, frame, slot))
    return None


def cell_of(interpreter: Interpreter, frame: Frame, slot: int) -> Cell:
    """The cell in a slot; one that the frame brought is known from now on."""
    symbol = frame.locals[slot]
    if isinstance(symbol, Unread):
        symbol = frame.locals[slot] = interpreter.trace.cell(symbol.source, symbol.value)
    if not isinstance(symbol, Cell):
        raise GraphBreak("opcode", "a closure variable that has no cell yet")
    return symbol


@handles("LOAD_DEREF")
def load_deref(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    cell = cell_of(interpreter, frame, argument(instruction))
    if cell.content is None:
        raise _unbound(frame, argument(instruction))
    frame.push(cell.content)
    return None


@handles("STORE_DEREF")
def store_deref(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    cell = cell_of(interpreter, frame, argument(instruction))
    interpreter.trace.changes.set_cell(cell, frame.pop())
    return None


@handles("DELETE_DEREF")
def delete_deref(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    cell = cell_of(interpreter, frame, argument(instruction))
    if cell.content is None:
        raise _unbound(frame, argument(instruction))
    interpreter.trace.changes.set_cell(cell, None)
    return None


# Names and attributes --------------------------------------------------------------------------------------------


@handles("LOAD_GLOBAL")
def load_global(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    symbol = interpreter.trace.global_value(frame.globals, frame.code.co_names[number >> 1])
    if number & 1 and VERSION < (3, 13):
        frame.push(NULL)
    frame.push(symbol)
    if number & 1 and VERSION >= (3, 13):
        frame.push(NULL)
    return None


@handles("STORE_GLOBAL")
def store_global(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    name = frame.code.co_names[argument(instruction)]
    interpreter.trace.changes.set_global(frame.globals, name, frame.pop())
    return None


@handles("DELETE_GLOBAL")
def delete_global(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    name = frame.code.co_names[argument(instruction)]
    changes = interpreter.trace.changes
    is_written, value = changes.written_global(frame.globals, name)
    if value is None and (is_written or name not in frame.globals):
        raise raise_error(NameError, f"name {name!r} is not defined")
    if not is_written:
        interpreter.trace.global_value(frame.globals, name)
    changes.set_global(frame.globals, name, None)
    return None


@handles("STORE_ATTR")
def store_attr(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    value, owner = frame.pop_many(2)
    attribute_stores.store_attribute(
        interpreter, owner, frame.code.co_names[argument(instruction)], value
    )
    return None


@handles("DELETE_ATTR")
def delete_attr(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    name = frame.code.co_names[argument(instruction)]
    attribute_stores.store_attribute(interpreter, frame.pop(), name, None)
    return None


@handles("IMPORT_NAME")
def import_name(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    """A module that is imported already; what imports anything anew is left to plain Python."""
    level, names = frame.pop_many(2)
    name = frame.code.co_names[argument(instruction)]
    look = interpreter.trace.look
    level, names = look(level), look(names)
    modules: dict[str, Any] = sys.modules
    wanted = (
        name
        if not comparisons.identical(interpreter, names, Constant(None))
        else name.partition(".")[0]
    )
    for needed in {name, wanted}:
        module = modules.get(needed)
        if not isinstance(module, ModuleType) or getattr(module.__spec__, "_initializing", False):
            raise GraphBreak("opcode", "IMPORT_NAME")
    if not isinstance(level, Constant) or level.value != 0:
        raise GraphBreak("opcode", "IMPORT_NAME")
    trace = interpreter.trace
    importer = look(trace.global_value(frame.globals, "__import__"))
    if not isinstance(importer, Constant) or importer.value is not KEPT["__import__"]:
        raise GraphBreak("opcode", "IMPORT_NAME")
    if wanted == name and not _has_all(modules[name], names):
        raise GraphBreak("opcode", "IMPORT_NAME")
    if wanted != name:
        look(Unread(trace.guards.load("LOAD_KEY", modules, name, text=name), modules[name]))
    loaded = trace.guards.load("LOAD_KEY", modules, wanted, text=wanted)
    frame.push(look(Unread(loaded, modules[wanted])))
    return None


def _has_all(module: ModuleType, names: Symbol) -> bool:
    """Whether a package need not import modules inside it to have what is asked of it."""
    if "__path__" not in vars(module) or not isinstance(names, Tuple):
        return True
    return all(isinstance(one, Constant) and one.value in vars(module) for one in names.items)


@handles("IMPORT_FROM")
def import_from(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    module, name = (
        interpreter.trace.look(frame.stack[-1]),
        frame.code.co_names[argument(instruction)],
    )
    if isinstance(module, Constant) and name not in getattr(module.value, "__dict__", ()):
        raise GraphBreak("opcode", "IMPORT_FROM")  # it may be a module inside that package
    frame.push(attributes.attribute(interpreter, module, name))
    return None


@handles("LOAD_SUPER_ATTR")
def load_super_attr(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    function, start, receiver = frame.pop_many(3)
    function = interpreter.trace.look(function)
    is_super = isinstance(function, Constant) and function.value is super
    # a `super` of the user's own is called as it stands in the program
    given = interpreter.call(function, (start, receiver) if is_super or number & 2 else ())
    frame.push(attributes.attribute(interpreter, given, frame.code.co_names[number >> 2]))
    if number & 1:
        _make_method_pair(frame)
    return None


@handles("LOAD_COMMON_CONSTANT")
def load_common_constant(_: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    values = getattr(opcode, "_common_constants", ())
    frame.push(Constant(values[argument(instruction)]))
    return None


@handles("LOAD_ASSERTION_ERROR")
def load_assertion_error(_: Interpreter, frame: Frame, __: Instruction) -> Outcome:
    frame.push(Constant(AssertionError))
    return None


@handles("LOAD_ATTR")
def load_attr(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    if VERSION < (3, 12):
        frame.push(attributes.attribute(interpreter, frame.pop(), frame.code.co_names[number]))
        return None
    symbol = attributes.attribute(interpreter, frame.pop(), frame.code.co_names[number >> 1])
    frame.push(symbol)
    if number & 1:
        _make_method_pair(frame)
    return None


@handles("LOAD_METHOD")
def load_method(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    frame.push(
        attributes.attribute(interpreter, frame.pop(), frame.code.co_names[argument(instruction)])
    )
    _make_method_pair(frame)
    return None


def _make_method_pair(frame: Frame) -> None:
    """What was looked up to be called, and a NULL: as CPython lays them out where the method is already bound."""
    if VERSION < (3, 13):
        frame.stack.insert(-1, BESIDE_METHOD)
    else:
        frame.push(BESIDE_METHOD)


# Operators -------------------------------------------------------------------------------------------------------


@handles("BINARY_OP")
def binary_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    right, left = frame.pop(), frame.pop()
    symbol = dis._nb_ops[argument(instruction)][1]  # type: ignore[attr-defined]
    if symbol == "[]":
        frame.push(subscripts.item(interpreter, left, right))
    else:
        frame.push(
            arithmetic.binary(
                interpreter, symbol.rstrip("="), left, right, in_place=symbol.endswith("=")
            )
        )
    return None


@handles("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def unary(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    name = {"UNARY_NEGATIVE": "neg", "UNARY_POSITIVE": "pos", "UNARY_INVERT": "invert"}[
        instruction.opname
    ]
    frame.push(arithmetic.unary(interpreter, name, frame.pop()))
    return None


@handles("UNARY_NOT")
def unary_not(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(Constant(not arithmetic.truth(interpreter, frame.pop())))
    return None


@handles("TO_BOOL")
def to_bool(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    frame.push(Constant(arithmetic.truth(interpreter, frame.pop())))
    return None


@handles("COMPARE_OP")
def compare_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    number = argument(instruction)
    shift = 0 if VERSION < (3, 12) else 4 if VERSION < (3, 13) else 5
    right, left = frame.pop(), frame.pop()
    result = comparisons.compare(interpreter, COMPARISONS[dis.cmp_op[number >> shift]], left, right)
    if shift == 5 and number & 16:
        result = Constant(arithmetic.truth(interpreter, result))
    frame.push(result)
    return None


@handles("IS_OP")
def is_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    right, left = frame.pop(), frame.pop()
    frame.push(
        Constant(comparisons.identical(interpreter, left, right) != bool(argument(instruction)))
    )
    return None


@handles("CONTAINS_OP")
def contains_op(interpreter: Interpreter, frame: Frame, instruction: Instruction) -> Outcome:
    container, member = frame.pop(), frame.pop()
    frame.push(
        Constant(subscripts.contains(interpreter, container, member) != bool(argument(instruction)))
    )
    return None


@handles("BINARY_SUBSCR")
def binary_subscr(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    key, container = frame.pop(), frame.pop()
    frame.push(subscripts.item(interpreter, container, key))
    return None


@handles("BINARY_SLICE")
def binary_slice(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    container, start, stop = frame.pop_many(3)
    frame.push(subscripts.item(interpreter, container, Slice(start, stop, Constant(None))))
    return None


@handles("DELETE_SUBSCR")
def delete_subscr(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    container, key = frame.pop_many(2)
    subscripts.delete_item(interpreter, container, key)
    return None


@handles("STORE_SUBSCR")
def store_subscr(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    value, container, key = frame.pop_many(3)
    subscripts.store_item(interpreter, container, key, value)
    return None


@handles("STORE_SLICE")
def store_slice(interpreter: Interpreter, frame: Frame, _: Instruction) -> Outcome:
    value, container, start, stop = frame.pop_many(4)
    subscripts.store_item(interpreter, container, Slice(start, stop, Constant(None)), value)
    return None

"""Handlers of the opcodes that move values: the stack, constants, locals, cells, globals, attributes, modules."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ufuse.frame_hook.code.instructions import COMMON_CONSTANTS, VERSION
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.interpreter.handlers import handles
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.objects import attribute_stores, classes
from ufuse.frame_hook.operations import attributes, comparisons
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    BESIDE_METHOD,
    NULL,
    Cell,
    Constant,
    Null,
    Symbol,
    Tuple,
    Unbound,
    Unread,
)

Pair = tuple[Symbol, Symbol]
# A value, and where the argument asks for one to be called, the NULL that stands in place of `self`.
CALLED = "null?1 value" if VERSION < (3, 13) else "value null?1"


@handles("RESUME NOP CACHE PRECALL COPY_FREE_VARS NOT_TAKEN EXTENDED_ARG", "--")
def nothing(_: Interpreter, __: int) -> None:
    return None


# The stack -------------------------------------------------------------------------------------------------------


@handles("POP_TOP POP_ITER", "value --")
def pop_top(_: Interpreter, __: int, value: Symbol) -> None:
    classes.refuse_finalizer(value)


@handles("END_FOR", "value --" if VERSION >= (3, 13) else "iterator value --")
def end_for(_: Interpreter, __: int, *___: Symbol) -> None:
    raise GraphBreak("opcode", "END_FOR outside a loop")


@handles("PUSH_NULL", "-- null")
def push_null(_: Interpreter, __: int) -> Symbol:
    return NULL


@handles("COPY", "-- value")
def copy(interpreter: Interpreter, arg: int) -> Symbol:
    return interpreter.frame.stack[-arg]


@handles("SWAP", "--")
def swap(interpreter: Interpreter, arg: int) -> None:
    stack = interpreter.frame.stack
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


@handles("LOAD_CONST", "-- value")
def load_const(interpreter: Interpreter, arg: int) -> Symbol:
    return interpreter.trace.of_code(interpreter.frame.code.co_consts[arg])


@handles("LOAD_SMALL_INT", "-- value")
def load_small_int(_: Interpreter, arg: int) -> Symbol:
    return Constant(arg)


@handles("LOAD_COMMON_CONSTANT", "-- value")
def load_common_constant(_: Interpreter, arg: int) -> Symbol:
    return Constant(COMMON_CONSTANTS[arg])


@handles("LOAD_ASSERTION_ERROR", "-- value")
def load_assertion_error(_: Interpreter, __: int) -> Symbol:
    return Constant(AssertionError)


# Locals and cells ------------------------------------------------------------------------------------------------


def _local(interpreter: Interpreter, slot: int) -> Symbol | None:
    """What a slot holds; None where it is empty, which is guarded if the frame brought it so."""
    symbol = interpreter.frame.locals[slot]
    if isinstance(symbol, Unbound):
        interpreter.trace.found_empty(symbol)
        return None
    return symbol


def _unbound(interpreter: Interpreter, slot: int) -> Exception:
    """The error of a variable without a value; plain Python words it, unless the trace catches it."""
    frame = interpreter.frame
    name = frame.slot_name(slot)
    if name in frame.code.co_freevars:
        text = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
        return raise_error(NameError, text)
    text = f"cannot access local variable {name!r} where it is not associated with a value"
    return raise_error(UnboundLocalError, text)


@handles("LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_CLOSURE", "-- value")
def load_fast(interpreter: Interpreter, slot: int) -> Symbol:
    symbol = _local(interpreter, slot)
    if symbol is None:
        raise _unbound(interpreter, slot)
    if isinstance(symbol, Unread):
        interpreter.trace.found_bound(symbol)
    return symbol


@handles("LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW", "-- first second")
def load_fast_load_fast(interpreter: Interpreter, arg: int) -> Pair:
    return load_fast(interpreter, arg >> 4), load_fast(interpreter, arg & 15)


@handles("LOAD_FAST_AND_CLEAR", "-- value")
def load_fast_and_clear(interpreter: Interpreter, slot: int) -> Symbol:
    symbol = _local(interpreter, slot)
    interpreter.frame.locals[slot] = None
    return NULL if symbol is None else symbol


@handles("STORE_FAST STORE_FAST_MAYBE_NULL", "value --")
def store_fast(interpreter: Interpreter, slot: int, value: Symbol) -> None:
    slots = interpreter.frame.locals
    classes.refuse_finalizer(slots[slot])
    slots[slot] = None if isinstance(value, Null) else value


@handles("STORE_FAST_LOAD_FAST", "value -- loaded")
def store_fast_load_fast(interpreter: Interpreter, arg: int, value: Symbol) -> Symbol:
    store_fast(interpreter, arg >> 4, value)
    return load_fast(interpreter, arg & 15)


@handles("STORE_FAST_STORE_FAST", "second first --")
def store_fast_store_fast(
    interpreter: Interpreter, arg: int, second: Symbol, first: Symbol
) -> None:
    store_fast(interpreter, arg >> 4, first)
    store_fast(interpreter, arg & 15, second)


@handles("DELETE_FAST", "--")
def delete_fast(interpreter: Interpreter, slot: int) -> None:
    classes.refuse_finalizer(load_fast(interpreter, slot))
    interpreter.frame.locals[slot] = None


@handles("MAKE_CELL", "--")
def make_cell(interpreter: Interpreter, slot: int) -> None:
    cell = interpreter.frame.locals[slot] = Cell(_local(interpreter, slot))
    interpreter.cells.append(cell)


def _cell_of(interpreter: Interpreter, slot: int) -> Cell:
    """The cell in a slot; one that the frame brought is known from now on."""
    slots = interpreter.frame.locals
    symbol = slots[slot]
    if isinstance(symbol, Unread):
        symbol = slots[slot] = interpreter.trace.reader.cell(symbol.source, symbol.value)
    if not isinstance(symbol, Cell):
        raise GraphBreak("opcode", "a closure variable that has no cell yet")
    return symbol


@handles("LOAD_DEREF", "-- value")
def load_deref(interpreter: Interpreter, slot: int) -> Symbol:
    cell = _cell_of(interpreter, slot)
    if cell.content is None:
        raise _unbound(interpreter, slot)
    return cell.content


@handles("STORE_DEREF", "value --")
def store_deref(interpreter: Interpreter, slot: int, value: Symbol) -> None:
    interpreter.trace.changes.set_cell(_cell_of(interpreter, slot), value)


@handles("DELETE_DEREF", "--")
def delete_deref(interpreter: Interpreter, slot: int) -> None:
    load_deref(interpreter, slot)
    interpreter.trace.changes.set_cell(_cell_of(interpreter, slot), None)


# Globals and modules ---------------------------------------------------------------------------------------------


def _beside(null: Null, value: Symbol) -> Pair:
    """A value to be called and the NULL that stands in place of `self`, in CPython's order."""
    return (null, value) if VERSION < (3, 13) else (value, null)


@handles("LOAD_GLOBAL", f"-- {CALLED}")
def load_global(interpreter: Interpreter, arg: int) -> Symbol | Pair:
    frame = interpreter.frame
    value = interpreter.trace.global_value(frame.globals, frame.code.co_names[arg >> 1])
    return _beside(NULL, value) if arg & 1 else value


@handles("STORE_GLOBAL", "value --")
def store_global(interpreter: Interpreter, arg: int, value: Symbol) -> None:
    frame = interpreter.frame
    interpreter.trace.changes.set_global(frame.globals, frame.code.co_names[arg], value)


@handles("DELETE_GLOBAL", "--")
def delete_global(interpreter: Interpreter, arg: int) -> None:
    frame, changes = interpreter.frame, interpreter.trace.changes
    name = frame.code.co_names[arg]
    is_written, value = changes.written_global(frame.globals, name)
    if value is None and (is_written or name not in frame.globals):
        raise raise_error(NameError, f"name {name!r} is not defined")
    if not is_written:
        interpreter.trace.global_value(frame.globals, name)
    changes.set_global(frame.globals, name, None)


@handles("IMPORT_NAME", "level names -- module")
def import_name(interpreter: Interpreter, arg: int, level: Symbol, names: Symbol) -> Symbol:
    """A module that is imported already; what imports anything anew is left to plain Python."""
    frame, trace, look = interpreter.frame, interpreter.trace, interpreter.trace.look
    level, names = look(level), look(names)
    if not isinstance(level, Constant):
        raise GraphBreak("opcode", "IMPORT_NAME")
    name = frame.code.co_names[arg]
    if level.value:
        name = _inside_package(interpreter, name, level.value)
    modules: dict[str, Any] = sys.modules
    wanted = (
        name
        if level.value or not comparisons.identical(interpreter, names, Constant(None))
        else name.partition(".")[0]
    )
    found: dict[str, Any] = {needed: modules.get(needed) for needed in (name, wanted)}
    for module in found.values():
        if not isinstance(module, ModuleType) or getattr(module.__spec__, "_initializing", False):
            raise GraphBreak("opcode", "IMPORT_NAME")
    importer = look(trace.global_value(frame.globals, "__import__"))
    if not isinstance(importer, Constant) or importer.value is not KEPT["__import__"]:
        raise GraphBreak("opcode", "IMPORT_NAME")
    if wanted == name and not _has_all(found[name], names):
        raise GraphBreak("opcode", "IMPORT_NAME")
    if wanted != name:
        look(Unread(trace.guards.load("LOAD_KEY", modules, name, text=name), found[name]))
    loaded = trace.guards.load("LOAD_KEY", modules, wanted, text=wanted)
    return look(Unread(loaded, found[wanted]))


def _inside_package(interpreter: Interpreter, name: str, level: int) -> str:
    """The name of a module that is imported relatively, as `importlib` resolves it; guarded."""
    trace, namespace = interpreter.trace, interpreter.frame.globals
    if not {"__package__", "__spec__"} <= namespace.keys():
        raise GraphBreak("opcode", "IMPORT_NAME")
    package = trace.look(trace.global_value(namespace, "__package__"))
    spec = namespace["__spec__"]
    loaded = trace.global_value(namespace, "__spec__")
    if not isinstance(loaded, Unread) or not isinstance(package, Constant):
        raise GraphBreak("opcode", "IMPORT_NAME")
    if type(spec) is not ModuleSpec:  # whose `parent` may be code of the user's
        raise GraphBreak("opcode", "IMPORT_NAME")
    trace.guards.check("IDENTITY", loaded.source, spec)
    parts = package.value.rsplit(".", level - 1) if type(package.value) is str else []
    if len(parts) < level or not package.value or spec.parent != package.value:
        raise GraphBreak("opcode", "IMPORT_NAME")  # it fails, or warns
    return f"{parts[0]}.{name}" if name else str(parts[0])


def _has_all(module: ModuleType, names: Symbol) -> bool:
    """Whether a package need not import modules inside it to have what is asked of it."""
    if "__path__" not in vars(module) or not isinstance(names, Tuple):
        return True
    return all(isinstance(one, Constant) and one.value in vars(module) for one in names.items)


@handles("IMPORT_FROM", "module -- module value")
def import_from(interpreter: Interpreter, arg: int, module: Symbol) -> Pair:
    name = interpreter.frame.code.co_names[arg]
    found = interpreter.trace.look(module)
    if isinstance(found, Constant) and name not in getattr(found.value, "__dict__", ()):
        raise GraphBreak("opcode", "IMPORT_FROM")  # it may be a module inside that package
    return module, attributes.attribute(interpreter, found, name)


# Attributes ------------------------------------------------------------------------------------------------------


@handles("LOAD_ATTR", "owner -- value" if VERSION < (3, 12) else f"owner -- {CALLED}")
def load_attr(interpreter: Interpreter, arg: int, owner: Symbol) -> Symbol | Pair:
    names = interpreter.frame.code.co_names
    if VERSION < (3, 12):
        return attributes.attribute(interpreter, owner, names[arg])
    value = attributes.attribute(interpreter, owner, names[arg >> 1])
    return _beside(BESIDE_METHOD, value) if arg & 1 else value


@handles("LOAD_METHOD", "owner -- null value")
def load_method(interpreter: Interpreter, arg: int, owner: Symbol) -> Pair:
    name = interpreter.frame.code.co_names[arg]
    return BESIDE_METHOD, attributes.attribute(interpreter, owner, name)


@handles("LOAD_SUPER_ATTR", f"function start receiver -- {CALLED}")
def load_super_attr(
    interpreter: Interpreter, arg: int, function: Symbol, start: Symbol, receiver: Symbol
) -> Symbol | Pair:
    name = interpreter.frame.code.co_names[arg >> 2]
    function = interpreter.trace.look(function)
    is_super = isinstance(function, Constant) and function.value is super
    # a `super` of the user's own is called as it stands in the program
    given = interpreter.call(function, (start, receiver) if is_super or arg & 2 else ())
    value = attributes.attribute(interpreter, given, name)
    return _beside(BESIDE_METHOD, value) if arg & 1 else value


@handles("STORE_ATTR", "value owner --")
def store_attr(interpreter: Interpreter, arg: int, value: Symbol, owner: Symbol) -> None:
    name = interpreter.frame.code.co_names[arg]
    attributes.store_attribute(interpreter, owner, name, value)


@handles("DELETE_ATTR", "owner --")
def delete_attr(interpreter: Interpreter, arg: int, owner: Symbol) -> None:
    name = interpreter.frame.code.co_names[arg]
    attribute_stores.store_attribute(interpreter, owner, name, None)

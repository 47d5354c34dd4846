"""Symbols whose Python value is known: getting at the value, computing with it while tracing, and back to a symbol."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ufuse.frame_hook.code.places import SPECIAL, shown
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.objects.contents import PLAIN_EXCEPTIONS, is_member
from ufuse.frame_hook.trace.followed import is_plain, is_shared
from ufuse.frame_hook.trace.reasons import GraphBreak, NotKnownYet
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Deque,
    DeviceArray,
    Dict,
    Instance,
    Integer,
    List,
    Number,
    Opaque,
    Range,
    Set,
    Slice,
    Symbol,
    Tuple,
    Unread,
)
from ufuse.graph import signals
from ufuse.graph.size import Size
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import NumberType

# Types of immutable values whose operators run no Python code.
PURE = (int, float, complex, bool, str, bytes, type(None), np.generic)
KNOWN = (*PURE, type(...), range, frozenset, np.dtype)
OBJECTS = np.dtype(object)  # NumPy has one of these only
# Left to plain Python: warnings, exceptions with more than `args`, and those that depend on the state of the process.
LEFT_TO_PYTHON = (Warning, AttributeError, NameError, ArithmeticError, RecursionError, MemoryError)
UNKNOWN: Any = object()
# Of those, the ones that have nothing but `args` after all.
RAISED_ALIKE = (ZeroDivisionError, OverflowError)


def range_bounds(symbol: Range | Constant) -> tuple[Symbol, Symbol, Symbol]:
    """The start, stop and step of a range, whether it is a constant or not."""
    if isinstance(symbol, Range):
        return symbol.start, symbol.stop, symbol.step
    steps: range = symbol.value
    return Constant(steps.start), Constant(steps.stop), Constant(steps.step)


def described(symbol: Symbol) -> str:
    """A few words for a message."""
    match symbol:
        case Constant(value=value):
            return f"{type(value).__name__} {shown(value)}"[:60]
        case Opaque(source=source, value=value) | Unread(source=source, value=value):
            if type(value) is BuiltinFunctionType:
                return SPECIAL.get(value.__name__, source.text)
            return f"{source.text} (a {type(value).__name__})"
        case Array(type=kind):
            return f"a {kind.ndim}-d array"
        case DeviceArray(type=kind):
            return f"a {kind.ndim}-d array of CuPy's"
        case Instance(kind=kind):
            return f"a {kind.__name__}"
        case Integer() | Number():
            return "a computed number"
    name = type(symbol).__name__.lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def pure(function: Callable[..., Any], *values: Any) -> Symbol:
    """Constant folding: a function of known values, run while tracing.

    Raises:
        Raised: it raises, and the exception is all in its arguments.
        GraphBreak: it warns, or raises something else.

    """
    try:
        result = run_strictly("raise", function, *values)
    except (Raised, GraphBreak):
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, plain Python raises it again
        signals.pass_on(error)
        raise as_raised(error) from None
    return symbol_of(result)


def as_raised(error: Exception) -> Raised | GraphBreak:
    """A caught exception as one of the trace; a break where it has more than `args`."""
    kind = type(error)
    whole = kind in PLAIN_EXCEPTIONS or kind in (KeyError, IndexError, *RAISED_ALIKE)
    left = issubclass(kind, LEFT_TO_PYTHON) and kind not in RAISED_ALIKE
    if whole and not left and all(map(is_plain, error.args)):
        return raise_error(kind, *error.args)
    return GraphBreak("eager-raises", f"{kind.__name__}: {error}")


def symbol_of(value: Any) -> Symbol:
    """The symbol of a value computed while tracing: a list or dict stands for one that each call makes anew."""
    if type(value) is tuple:
        return Tuple(tuple(symbol_of(item) for item in value))
    if type(value) is list:
        return List([symbol_of(item) for item in value])
    if type(value) is dict:
        return Dict({key: symbol_of(item) for key, item in value.items()})
    if type(value) is slice:
        return Slice(*(symbol_of(part) for part in (value.start, value.stop, value.step)))
    is_dtype = isinstance(value, np.dtype) and not (is_shared(value) or value is OBJECTS)
    if is_dtype or isinstance(value, set | frozenset | bytearray):
        raise GraphBreak("call", f"something that makes a {type(value).__name__}")
    return Constant(value)


def known_value(interpreter: Interpreter, symbol: Symbol) -> Any:
    """The Python value of a symbol that is known entirely; numbers that may change from call to call are guarded.

    Raises:
        GraphBreak: part of it is known only when the program runs.

    """
    return _known(interpreter, symbol, set())


def _known(interpreter: Interpreter, symbol: Symbol, above: set[int]) -> Any:
    trace = interpreter.trace
    symbol = trace.look(symbol)
    match symbol:
        case Integer(size=value):
            return trace.sizes.fixed(value)
        case Number(node=node) if node in trace.number_examples:
            return trace.specialised(symbol).value
        case Constant(value=frozenset() as value, source=source) if source is not None:
            if len(value) > 1:
                raise GraphBreak("call", "a set whose order is not followed")
            return value
        case Constant(value=value) if isinstance(value, KNOWN) or type(value) is type:
            return value
        case Tuple() | List() | Deque() | Dict() | Set() | Slice() | Range():
            if id(symbol) in above:
                raise GraphBreak("call", "an object that holds itself")
            return _known_container(interpreter, symbol, {*above, id(symbol)})
    raise NotKnownYet(described(symbol))


def _known_container(
    interpreter: Interpreter,
    symbol: Tuple | List | Deque | Dict | Set | Slice | Range,
    above: set[int],
) -> Any:
    def known(one: Symbol) -> Any:
        return _known(interpreter, one, above)

    match symbol:
        case Tuple(items=items):
            return tuple(known(item) for item in items)
        case List(items=members):
            return [known(item) for item in members]
        case Deque(items=held):
            return deque(map(known, held), held.maxlen)
        case Dict(items=entries):
            return {key: known(item) for key, item in entries.items()}
        case Set():
            ordered_members(symbol)
            return symbol.items  # itself: a copy may have another order
        case Slice(start=start, stop=stop, step=step):
            return slice(known(start), known(stop), known(step))
        case Range(start=start, stop=stop, step=step):
            return range(known(start), known(stop), known(step))


def ordered_members(symbol: Set) -> list[Any]:
    """The members of a set in the order in which CPython gives them.

    Raises:
        GraphBreak: the set came from the frame, or was made of one that did: then the order is not known.

    """
    if len(symbol.items) > 1 and (symbol.source is not None or symbol.made is None):
        raise GraphBreak("operator", "the order of a set")
    return list(symbol.items)


def constants_in(symbol: Symbol) -> Any:
    """The value of a constant, or of a tuple or list of constants, else UNKNOWN; nothing is guarded."""
    if isinstance(symbol, Constant) and isinstance(symbol.value, KNOWN):
        return symbol.value
    if isinstance(symbol, Tuple | List):
        parts = [constants_in(item) for item in symbol.items]
        if not any(part is UNKNOWN for part in parts):
            return tuple(parts) if isinstance(symbol, Tuple) else parts
    return UNKNOWN


def in_any_order(members: Set) -> bool:
    """Whether sorting the members of a set gives the same whatever their order: no two of them compare equal."""
    kinds = {type(member) for member in members.items}
    return kinds <= {int, bool} or kinds in ({str}, {bytes})


def is_none(symbol: Symbol) -> bool:
    """Whether it is None, and known to be."""
    return isinstance(symbol, Constant) and symbol.value is None


def text_value(interpreter: Interpreter, symbol: Symbol) -> Any:
    """A known value that becomes text; a whole number that changes from call to call is left to plain Python."""
    symbol = interpreter.trace.look(symbol)
    if isinstance(symbol, Integer) and symbol.source is not None:
        raise GraphBreak("call", "the text of a number that changes from call to call")
    value = known_value(interpreter, symbol)
    _guard_text(interpreter, value)
    return value


def _guard_text(interpreter: Interpreter, value: Any) -> None:
    """Guard what the text of a class shows, alone or in containers: a class may be given another name.

    Raises:
        GraphBreak: there is a NumPy scalar, whose text NumPy's print options decide.

    """
    if type(value) is type:
        for name in ("__module__", "__qualname__"):
            known_value(interpreter, interpreter.attribute(Constant(value), name))
    elif isinstance(value, np.generic):
        raise GraphBreak("call", f"the text of a numpy.{type(value).__name__}")
    elif isinstance(value, dict):
        _guard_text(interpreter, [*value, *value.values()])
    elif isinstance(value, tuple | list | deque | set | frozenset):
        for one in value:
            _guard_text(interpreter, one)


def key_of(interpreter: Interpreter, symbol: Symbol) -> Any:
    """The Python value of a key that is known entirely; a length of an array is guarded to stay what it is.

    Raises:
        GraphBreak: part of it is known only when the program runs, or cannot be a key.

    """
    symbol = interpreter.trace.look(symbol)
    match symbol:
        case Constant(value=value, source=source):
            interpreter.trace.note_key(value, None if source is None else Unread(source, value))
            return value
        case Integer(size=value, source=None):
            return interpreter.trace.sizes.fixed(value)
        case Tuple(items=items):
            return tuple(key_of(interpreter, item) for item in items)
        case Instance(value=member) if is_member(member):
            return member
        case List() | Deque() | Dict() | Set() | Slice():
            kind = type(symbol).__name__.lower()
            raise GraphBreak("eager-raises", f"TypeError: a {kind} as a key")
    raise GraphBreak("operator", f"{described(symbol)} as a key")


def number_type(symbol: Symbol) -> str:
    """The Python kind of a number symbol: "int", "float", "complex", "bool", or "numpy" for a NumPy scalar."""
    match symbol:
        case Integer():
            return "int"
        case Constant(value=np.generic()):
            return "numpy"
        case Constant(value=value):
            return type(value).__name__
        case Number(node=node) if isinstance(node.type, NumberType):
            return node.type.kind
    return "numpy"


def as_size(symbol: Symbol) -> Size | None:
    """The expression of a Python int (or bool), else None."""
    match symbol:
        case Integer(size=value):
            return value
        case Constant(value=int() as value):
            return int(value)
    return None

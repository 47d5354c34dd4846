"""Setting and deleting attributes on symbols: of instances, functions and classes, through descriptors too."""

from __future__ import annotations

import types

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.objects.classes import (
    ABSENT,
    HEAP_TYPE,
    IS_IMMUTABLE,
    call_special,
    check_place,
    class_member,
    guarded_lookup,
    has_dict,
    inner_function,
    is_data_descriptor,
    is_slot,
    member_by_steps,
    missing,
    namespace_of,
    own_attribute,
    property_error,
    set_own_attribute,
    static_lookup,
    uses_plain,
)
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Dict,
    Function,
    Instance,
    Integer,
    List,
    Number,
    Symbol,
    Tuple,
    class_of,
)
from ufuse.frame_hook.trace.trace import Trace

# The C functions that do what `object.__setattr__` and `object.__delattr__` do.
PLAIN_WRITES = {
    name: tuple(getattr(one, name) for one in (object, BaseException, types.SimpleNamespace))
    for name in ("__setattr__", "__delattr__")
}


def _store_in_function(trace: Trace, symbol: Function, name: str, value: Symbol | None) -> None:
    """Set an attribute of a function made in the trace; None deletes it."""
    if value is not None:
        symbol.attributes[name] = value
    elif symbol.attributes.pop(name, None) is None:
        raise missing(trace, types.FunctionType, name)


def store_attribute(
    interpreter: Interpreter, symbol: Symbol, name: str, value: Symbol | None
) -> None:
    """Carry out `symbol.name = value`; None: `del symbol.name`."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    kind = class_of(symbol)
    if kind is not None:
        store_in_class(trace, kind, name, value)
        return
    if isinstance(symbol, Function) and static_lookup(types.FunctionType, name) is ABSENT:
        _store_in_function(trace, symbol, name, value)
        return
    if not isinstance(symbol, Instance) or symbol.node is not None:
        raise GraphBreak("effect", f"assigning to the attribute {name}")
    special = "__setattr__" if value is not None else "__delattr__"
    own = static_lookup(symbol.kind, special)
    if isinstance(own, types.FunctionType):
        _, function = class_member(trace, symbol.kind, special)
        given = (symbol, Constant(name)) + (() if value is None else (value,))
        interpreter.call(function, given)
        return
    if own not in PLAIN_WRITES[special] or not uses_plain(trace, symbol.kind, special, own):
        raise GraphBreak("effect", f"assigning to {name} of a {symbol.kind.__name__}")
    object_setattr(interpreter, symbol, name, value)


def object_setattr(
    interpreter: Interpreter, symbol: Instance, name: str, value: Symbol | None
) -> None:
    """`object.__setattr__(symbol, name, value)`; None: `object.__delattr__`."""
    trace, kind = interpreter.trace, symbol.kind
    found, member = class_member(trace, kind, name)
    is_data = is_data_descriptor(trace, found, member)
    special = "__set__" if value is not None else "__delete__"
    setter = ABSENT if found is ABSENT else guarded_lookup(trace, type(found), special)
    if isinstance(setter, types.FunctionType):  # also of a subclass of property
        given = (symbol,) if value is None else (symbol, value)
        call_special(interpreter, trace.look(member), special, given)
        return
    if isinstance(found, property):
        _store_property(interpreter, symbol, found, member, value)
        return
    check_place(trace, kind, name, found, member)
    if is_data and not is_slot(found):
        raise GraphBreak("effect", f"assigning to {name} of a {kind.__name__}")
    if not is_slot(found) and not has_dict(kind):
        raise GraphBreak("eager-raises", f"AttributeError: {name} cannot be set")
    before = own_attribute(trace, symbol, name, found) if value is None else value
    if before is None:
        raise raise_error(AttributeError, name) if is_slot(found) else missing(trace, kind, name)
    past_setattr = isinstance(static_lookup(kind, "__setattr__" if value is not None else "__delattr__"),
                         types.FunctionType)  # fmt: skip
    set_own_attribute(trace, symbol, name, value, past_setattr=past_setattr)


def _store_property(
    interpreter: Interpreter,
    symbol: Instance,
    found: property,
    member: Symbol,
    value: Symbol | None,
) -> None:
    trace, which = interpreter.trace, "fset" if value is not None else "fdel"
    function = inner_function(trace, found, member, which)
    if getattr(found, which) is None:
        trace.look(function)
        use = found.__delete__ if value is None else lambda one: found.__set__(one, None)
        raise property_error(trace, symbol, use)
    interpreter.call(function, (symbol,) if value is None else (symbol, value))


def store_in_class(trace: Trace, kind: type, name: str, value: Symbol | None) -> None:
    """Carry out `kind.name = value` for a class; None: `del kind.name`."""
    meta, special = type(kind), "__setattr__" if value is not None else "__delattr__"
    plain = getattr(type, special)
    fixed = not kind.__flags__ & HEAP_TYPE or kind.__flags__ & IS_IMMUTABLE
    if (
        fixed
        or static_lookup(meta, special) is not plain
        or not uses_plain(trace, meta, special, plain)
    ):
        raise GraphBreak("effect", f"assigning to {name} of the class {kind.__name__}")
    above, from_meta = class_member(trace, meta, name)
    if name.startswith("__") or is_data_descriptor(trace, above, from_meta):
        raise GraphBreak("effect", f"assigning to {name} of the class {kind.__name__}")
    if value is None:
        is_written, before = trace.changes.written_class_attribute(kind, name)
        if before is None and (is_written or name not in namespace_of(kind)):
            raise GraphBreak("eager-raises", f"AttributeError: {name}")
        member_by_steps(trace, kind, name, None)
    elif not _is_plain_member(trace, trace.look(value)):
        raise GraphBreak("effect", f"assigning a {type(value).__name__.lower()} to a class")
    trace.changes.set_class_attribute(kind, name, value)


def _is_plain_member(trace: Trace, value: Symbol) -> bool:
    """Whether a value in a class is no descriptor, so that reading the attribute gives the value itself; guarded."""
    if isinstance(value, Instance):
        return all(
            guarded_lookup(trace, value.kind, name) is ABSENT
            for name in ("__get__", "__set__", "__delete__")
        )
    return isinstance(value, Constant | Array | Number | Integer | Tuple | List | Dict)

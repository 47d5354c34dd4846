"""Python's object model on symbols: attributes of instances, classes and `super()`, special methods, making instances.

Lookups are the interpreter's own: along the classes' `__mro__`, guarded by what was found there. Nothing of the user's
runs while tracing: properties, descriptors and `__getattr__` written in Python are inlined, others break the graph.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.interpret import Interpreter, raise_error
from ufuse.frame_hook.reasons import GraphBreak
from ufuse.frame_hook.symbols import (
    Constant,
    Instance,
    Method,
    Opaque,
    Super,
    Symbol,
    Tuple,
    Unread,
)
from ufuse.frame_hook.trace import Trace

HEAP_TYPE, IS_ABSTRACT = 1 << 9, 1 << 20
ABSENT: Any = object()
MRO = type.__dict__["__mro__"]
UNBOUND_C = (types.MethodDescriptorType, types.WrapperDescriptorType)
SLOT = types.MemberDescriptorType
# Built-in exceptions whose instances are made of their arguments alone.
PLAIN_EXCEPTIONS = (
    *(
        one
        for one in vars(builtins).values()
        if isinstance(one, type)
        and issubclass(one, BaseException)
        and one.__basicsize__ == BaseException.__basicsize__
    ),
    AttributeError,
    NameError,
    StopIteration,
)
PLAIN_INITS = (object.__init__, *(getattr(one, "__init__") for one in PLAIN_EXCEPTIONS))  # noqa: B009  a wrapper, for mypy


def mro(kind: type) -> tuple[type, ...]:
    """The classes in which attributes of `kind` are looked up, whatever a metaclass says."""
    result: tuple[type, ...] = MRO.__get__(kind)
    return result


def static_lookup(kind: type, name: str, after: type | None = None) -> Any:
    """What a class or its bases have under a name, unbound, or ABSENT; behind the class `after` if that is given."""
    classes = mro(kind)
    if after is not None:
        classes = classes[classes.index(after) + 1 :]
    for one in classes:
        found = type.__dict__["__dict__"].__get__(one).get(name, ABSENT)
        if found is not ABSENT:
            return found
    return ABSENT


def is_changeable(kind: type) -> bool:
    """Whether attributes of the class can be set: of none that is written in C."""
    return any(one.__flags__ & HEAP_TYPE for one in mro(kind))


def class_member(
    trace: Trace, kind: type, name: str, after: type | None = None
) -> tuple[Any, Symbol]:
    """What a class has under a name, and the symbol for it; guarded. ABSENT and None if nothing."""
    found = static_lookup(kind, name, after)
    text = f"{kind.__name__}.{name}"
    if not is_changeable(kind):
        return found, Constant(None if found is ABSENT else found)
    if after is not None:
        return found, _member_behind(trace, kind, name, after, found)
    if found is ABSENT:
        trace.guards.check("CLASS_LACKS", kind, name, text=f"{text} is defined now", source=text)
        return ABSENT, Constant(None)
    return found, Unread(trace.guards.load("LOAD_CLASS", kind, name, text=text), found)


def _member_behind(trace: Trace, kind: type, name: str, after: type, found: Any) -> Symbol:
    """For `super()`: the classes up to the one that has the name are asked one by one."""
    classes = mro(kind)
    for one in classes[classes.index(after) + 1 :]:
        own = type.__dict__["__dict__"].__get__(one)
        if name in own and found is own[name]:
            if not is_changeable(one):
                return Constant(found)
            text = f"{one.__name__}.{name}"
            return Unread(trace.guards.load("LOAD_CLASS", one, name, text=text), found)
        if one.__flags__ & HEAP_TYPE:
            refuse_hidden(trace, one, name)
    return Constant(None)


def refuse_hidden(trace: Trace, kind: type, name: str) -> None:
    """Guard that a class between `super()`'s and the one that answers goes on having no such name."""
    inherited = static_lookup(kind, name)
    text = f"{kind.__name__}.{name}"
    if inherited is ABSENT:
        trace.guards.check("CLASS_LACKS", kind, name, text=f"{text} is defined now", source=text)
        return
    loaded = trace.guards.load("LOAD_CLASS", kind, name, text=text)
    trace.check("IDENTITY", loaded, inherited, f"{text} was replaced")


def bases(trace: Trace, kind: type) -> tuple[type, ...]:
    """The classes that instances of `kind` are instances of; guarded, for `__bases__` can be assigned."""
    found = mro(kind)
    if is_changeable(kind):
        text = f"{kind.__name__} has other bases now"
        trace.guards.check("MRO", kind, found, text=text, source=kind.__name__)
    return found


def uses_plain(trace: Trace, kind: type, name: str, plain: Any) -> bool:
    """Whether a class still has `object`'s or another C type's own special method; guarded."""
    found, symbol = class_member(trace, kind, name)
    if found is plain and isinstance(symbol, Unread):
        trace.check("IDENTITY", symbol.source, plain, f"{symbol.source.text} was replaced")
    return found is plain


# Reading ---------------------------------------------------------------------------------------------------------


def attribute(interpreter: Interpreter, symbol: Instance, name: str) -> Symbol:
    """What `symbol.name` is, by the rules of `object.__getattribute__`."""
    trace, kind = interpreter.trace, symbol.kind
    own = static_lookup(kind, "__getattribute__")
    if isinstance(own, types.FunctionType):
        _, function = class_member(trace, kind, "__getattribute__")
        return interpreter.call(function, (symbol, Constant(name)))
    if own not in PLAIN_GETATTRIBUTE or not uses_plain(trace, kind, "__getattribute__", own):
        raise GraphBreak("attribute", f"{name} of a {kind.__name__}")
    return plain_attribute(interpreter, symbol, name)


PLAIN_GETATTRIBUTE = (object.__getattribute__, BaseException.__getattribute__)


def plain_attribute(interpreter: Interpreter, symbol: Instance, name: str) -> Symbol:
    """`object.__getattribute__(symbol, name)`, with the class's `__getattr__` where there is nothing."""
    trace, kind = interpreter.trace, symbol.kind
    found, member = class_member(trace, kind, name)
    if name == "__class__" and found is object.__dict__["__class__"]:
        return Constant(kind)
    if is_data_descriptor(found):
        return _described(interpreter, symbol, found, member, name)
    value = own_attribute(trace, symbol, name, found)
    if value is not None:
        return value
    if found is not ABSENT:
        return bound(interpreter, found, member, symbol, kind)
    fallback, function = class_member(trace, kind, "__getattr__")
    if fallback is not ABSENT:
        return interpreter.call(function, (symbol, Constant(name)))
    raise raise_error(AttributeError, f"{kind.__name__!r} object has no attribute {name!r}")


def is_data_descriptor(found: Any) -> bool:
    """Whether it goes before what an instance has itself."""
    kind = type(found)
    return (
        static_lookup(kind, "__set__") is not ABSENT
        or static_lookup(kind, "__delete__") is not ABSENT
    )


def _described(
    interpreter: Interpreter, symbol: Instance, found: Any, member: Symbol, name: str
) -> Symbol:
    """The value of a data descriptor."""
    if isinstance(found, SLOT):
        value = own_attribute(interpreter.trace, symbol, name, found)
        if value is None:
            text = f"{symbol.kind.__name__!r} object has no attribute {name!r}"
            raise raise_error(AttributeError, text)
        return value
    if isinstance(found, types.GetSetDescriptorType):
        return _built_in_property(interpreter, symbol, found, name)
    return bound(interpreter, found, member, symbol, symbol.kind)


def _built_in_property(interpreter: Interpreter, symbol: Instance, found: Any, name: str) -> Symbol:
    if found is BaseException.__dict__["args"] and symbol.content is not None:
        return symbol.content
    if symbol.source is not None and type(found.__objclass__) is type and name != "__dict__":
        if issubclass(symbol.kind, BaseException) and name != "args":
            raise GraphBreak("attribute", f"{name} of an exception")
        return interpreter.trace.attribute(symbol.source, symbol.value, name)
    raise GraphBreak("attribute", f"{name} of a {symbol.kind.__name__}")


def own_attribute(trace: Trace, symbol: Instance, name: str, found: Any) -> Symbol | None:
    """What an object itself has under a name, in its dict or slot; None if nothing, which is guarded."""
    if name in symbol.attributes:
        return symbol.attributes[name]
    if symbol.source is None:
        return None
    if not isinstance(found, SLOT) and not has_dict(symbol.kind):
        return None
    value = _example_attribute(symbol.value, name, found)
    if value is ABSENT:
        if isinstance(found, SLOT):
            raise GraphBreak("attribute", f"the empty slot {name} of {symbol.source.text}")
        text = f"{symbol.source.text} has an attribute {name} of its own now"
        trace.check("INSTANCE_LACKS", symbol.source, name, text)
        symbol.attributes[name] = None
        return None
    text = f"{symbol.source.text}.{name}"
    loaded = trace.guards.load("LOAD_ATTR", symbol.source.register, name, text=text)
    result = symbol.attributes[name] = Unread(loaded, value)
    return result


def has_dict(kind: type) -> bool:
    """Whether instances have a dict."""
    return kind.__dictoffset__ != 0


def _example_attribute(value: Any, name: str, found: Any) -> Any:
    """What the example object itself has; the class has nothing under this name, a slot, or no data descriptor."""
    try:
        result = object.__getattribute__(value, name)
    except AttributeError:
        return ABSENT
    if found is ABSENT or isinstance(found, SLOT):
        return result
    own = getattr_static_dict(value)
    return own.get(name, ABSENT)


def getattr_static_dict(value: Any) -> dict[str, Any]:
    """The dict of an object, without running a property that hides it."""
    for one in mro(type(value)):
        entry = type.__dict__["__dict__"].__get__(one).get("__dict__")
        if isinstance(entry, types.GetSetDescriptorType) and entry.__objclass__ is one:
            result = entry.__get__(value)
            return result if isinstance(result, dict) else {}
    return {}


def bound(
    interpreter: Interpreter, found: Any, member: Symbol, symbol: Symbol | None, kind: type
) -> Symbol:
    """What a member of a class gives for an instance (or, for None, for the class itself)."""
    trace = interpreter.trace
    owner = Constant(kind)
    match found:
        case types.FunctionType():
            return member if symbol is None else Method(symbol, member)
        case staticmethod():
            return _inside(trace, found, member, "__func__")
        case classmethod():
            return Method(owner, _inside(trace, found, member, "__func__"))
        case property():
            if symbol is None:
                return member
            trace.look(member)
            if found.fget is None:
                raise GraphBreak("eager-raises", "AttributeError: a property without a getter")
            return interpreter.call(_inside(trace, found, member, "fget"), (symbol,))
        case _ if isinstance(found, UNBOUND_C):
            return Constant(found) if symbol is None else Method(symbol, Constant(found))
        case types.BuiltinFunctionType():
            return member
        case types.ClassMethodDescriptorType():
            return Method(owner, Constant(found))
    getter = static_lookup(type(found), "__get__")
    if getter is ABSENT:
        return member
    if isinstance(getter, types.FunctionType):
        return call_special(interpreter, trace.look(member), "__get__",
                            (Constant(None) if symbol is None else symbol, owner))  # fmt: skip
    raise GraphBreak("attribute", f"the descriptor {type(found).__name__} of {kind.__name__}")


def _inside(trace: Trace, found: Any, member: Symbol, name: str) -> Symbol:
    """A function inside a property, classmethod or staticmethod."""
    value = getattr(found, name)
    if isinstance(member, Constant):
        return Constant(value)
    assert isinstance(member, Unread)
    trace.check("TYPE", member.source, type(found), f"{member.source.text} was replaced")
    loaded = trace.guards.load("LOAD_ATTR", member.source.register, name, text=member.source.text)
    return Unread(loaded, value)


def class_attribute(interpreter: Interpreter, kind: type, name: str) -> Symbol:
    """What `kind.name` is, for a class."""
    trace, meta = interpreter.trace, type(kind)
    if static_lookup(meta, "__getattribute__") is not type.__getattribute__:
        raise GraphBreak("attribute", f"{name} of the class {kind.__name__}")
    above, _ = class_member(trace, meta, name)
    if is_data_descriptor(above):
        return _class_property(kind, above, name)
    found, member = class_member(trace, kind, name)
    if found is not ABSENT:
        return bound(interpreter, found, member, None, kind)
    if above is not ABSENT and meta is type:
        return Method(Constant(kind), Constant(above))
    raise GraphBreak("attribute", f"{name} of the class {kind.__name__}")


def _class_property(kind: type, above: Any, name: str) -> Symbol:
    fixed = name in ("__name__", "__qualname__", "__module__") and not kind.__flags__ & HEAP_TYPE
    if fixed or name in ("__mro__", "__base__"):
        value = getattr(kind, name)
        if isinstance(value, tuple):
            return Tuple(tuple(Constant(one) for one in value))
        return Constant(value)
    raise GraphBreak("attribute", f"{name} of the class {kind.__name__}")


def super_attribute(interpreter: Interpreter, symbol: Super, name: str) -> Symbol:
    """What `super(start, self).name` is."""
    if name == "__class__":
        return Constant(super)
    found, member = class_member(interpreter.trace, symbol.kind, name, symbol.start)
    if found is ABSENT:
        raise raise_error(AttributeError, f"'super' object has no attribute {name!r}")
    of_class = isinstance(symbol.self, Constant) and symbol.self.value is symbol.kind
    return bound(interpreter, found, member, None if of_class else symbol.self, symbol.kind)


# Writing ---------------------------------------------------------------------------------------------------------


def store_attribute(
    interpreter: Interpreter, symbol: Symbol, name: str, value: Symbol | None
) -> None:
    """Carry out `symbol.name = value`; None: `del symbol.name`."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    if not isinstance(symbol, Instance):
        raise GraphBreak("effect", f"assigning to the attribute {name}")
    special = "__setattr__" if value is not None else "__delattr__"
    own = static_lookup(symbol.kind, special)
    if isinstance(own, types.FunctionType):
        _, function = class_member(trace, symbol.kind, special)
        given = (symbol, Constant(name)) + (() if value is None else (value,))
        interpreter.call(function, given)
        return
    plain = (getattr(object, special), getattr(BaseException, special))
    if own not in plain or not uses_plain(trace, symbol.kind, special, own):
        raise GraphBreak("effect", f"assigning to {name} of a {symbol.kind.__name__}")
    store_plainly(interpreter, symbol, name, value)


def store_plainly(
    interpreter: Interpreter, symbol: Instance, name: str, value: Symbol | None
) -> None:
    """`object.__setattr__(symbol, name, value)`; None: `object.__delattr__`."""
    trace, kind = interpreter.trace, symbol.kind
    found, member = class_member(trace, kind, name)
    if isinstance(found, property):
        _store_property(interpreter, symbol, found, member, value)
        return
    special = "__set__" if value is not None else "__delete__"
    setter = static_lookup(type(found), special) if found is not ABSENT else ABSENT
    if isinstance(setter, types.FunctionType):
        given = (symbol,) if value is None else (symbol, value)
        call_special(interpreter, trace.look(member), special, given)
        return
    if is_data_descriptor(found) and not isinstance(found, SLOT):
        raise GraphBreak("effect", f"assigning to {name} of a {kind.__name__}")
    if not isinstance(found, SLOT) and not has_dict(kind):
        raise GraphBreak("eager-raises", f"AttributeError: {name} cannot be set")
    before = own_attribute(trace, symbol, name, found) if value is None else value
    if before is None:
        raise raise_error(AttributeError, name)
    if symbol.source is None and value is None:
        del symbol.attributes[name]
        return
    if trace.changes.note(symbol):
        _replace_own(trace, symbol, name, found)
    symbol.attributes[name] = value
    if symbol.source is not None:
        trace.changes.effect("set_attr", symbol, name, value)


def _replace_own(trace: Trace, symbol: Instance, name: str, found: Any) -> None:
    """Guard that nobody notices when what an object of the frame has under a name dies."""
    if name in symbol.attributes:
        trace.changes.replaced(symbol.attributes[name])
        return
    assert symbol.source is not None
    value = _example_attribute(symbol.value, name, found)
    if value is not ABSENT and not _hook.dies_quietly(value):
        raise GraphBreak("finalizer", f"{symbol.source.text}.{name}")
    text = f"something runs now when {symbol.source.text}.{name} dies"
    trace.check("QUIET_ATTR", symbol.source, name, text)


def _store_property(
    interpreter: Interpreter,
    symbol: Instance,
    found: property,
    member: Symbol,
    value: Symbol | None,
) -> None:
    which = "fset" if value is not None else "fdel"
    if getattr(found, which) is None:
        raise GraphBreak("eager-raises", "AttributeError: the property cannot be set")
    interpreter.trace.look(member)
    function = _inside(interpreter.trace, found, member, which)
    interpreter.call(function, (symbol,) if value is None else (symbol, value))


# Special methods -------------------------------------------------------------------------------------------------


def special_method(interpreter: Interpreter, symbol: Symbol, name: str) -> Symbol | None:
    """A special method as operators look it up: on the class; None where the class has none."""
    if not isinstance(symbol, Instance):
        return None
    found, member = class_member(interpreter.trace, symbol.kind, name)
    if found is ABSENT or found is None:
        return None
    return bound(interpreter, found, member, symbol, symbol.kind)


def call_special(
    interpreter: Interpreter, symbol: Symbol, name: str, arguments: Sequence[Symbol] = ()
) -> Symbol:
    """The result of a special method.

    Raises:
        GraphBreak: the class has none.

    """
    method = special_method(interpreter, symbol, name)
    if method is None:
        raise GraphBreak("operator", f"{name} of {type(symbol).__name__.lower()}")
    return interpreter.call(method, arguments)


def is_not_implemented(symbol: Symbol) -> bool:
    """Whether a special method declined."""
    return isinstance(symbol, Constant) and symbol.value is NotImplemented


# Making instances ------------------------------------------------------------------------------------------------


def instantiate(
    interpreter: Interpreter,
    kind: type,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What calling a class gives."""
    trace, meta = interpreter.trace, type(kind)
    if meta is not type and not uses_plain(trace, meta, "__call__", type.__call__):
        found, function = class_member(trace, meta, "__call__")
        if not isinstance(found, types.FunctionType):
            raise GraphBreak("call", kind.__qualname__)
        return interpreter.call(function, (Constant(kind), *arguments), keywords)
    return make_instance(interpreter, kind, arguments, keywords)


def make_instance(
    interpreter: Interpreter,
    kind: type,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """`type.__call__(kind, …)`: `__new__`, then `__init__` where that gave an instance of the class."""
    trace = interpreter.trace
    found, function = class_member(trace, kind, "__new__")
    first, second = class_member(trace, kind, "__init__")
    if isinstance(found, staticmethod):
        inner = _inside(trace, found, function, "__func__")
        made = interpreter.call(inner, (Constant(kind), *arguments), keywords)
    else:
        if isinstance(function, Unread):
            trace.check("IDENTITY", function.source, found, f"{kind.__name__}.__new__ was replaced")
        if found is object.__new__ and (arguments or keywords) and first is object.__init__:
            raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}() takes no arguments")
        made = new_instance(interpreter, found, kind, arguments, keywords)
    if not isinstance(made, Instance) or not issubclass(made.kind, kind):
        return made
    if first is object.__init__ and isinstance(second, Unread):
        trace.check("IDENTITY", second.source, first, f"{kind.__name__}.__init__ was replaced")
    if isinstance(first, types.FunctionType):
        result = interpreter.call(second, (made, *arguments), keywords)
        if not isinstance(result, Constant) or result.value is not None:
            raise GraphBreak("eager-raises", "TypeError: __init__() should return None")
    elif first not in PLAIN_INITS:
        raise GraphBreak("call", f"{kind.__qualname__}, whose __init__ is not Python,")
    return made


def new_instance(
    interpreter: Interpreter,
    function: Any,
    kind: type,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What a C type's `__new__` makes of `kind`."""
    refuse_making(interpreter.trace, kind)
    if function is object.__new__ and made_by_object(kind):
        return Instance(kind)
    maker = getattr(function, "__self__", None)
    if maker in PLAIN_EXCEPTIONS and issubclass(kind, BaseException):
        plain_base = kind if not kind.__flags__ & HEAP_TYPE else maker
        if keywords and kind is plain_base:
            raise GraphBreak("eager-raises", f"TypeError: {kind.__name__} takes no keywords")
        return Instance(kind, content=Tuple(tuple(arguments)))
    if function is tuple.__new__ and not keywords and len(arguments) == 1:
        items = interpreter.trace.look(arguments[0])
        if isinstance(items, Tuple):
            return Instance(kind, content=Tuple(items.items))
    raise GraphBreak("call", kind.__qualname__)


def refuse_making(trace: Trace, kind: type) -> None:
    """Break where an instance made in the trace could be told from a real one."""
    if kind.__flags__ & IS_ABSTRACT:
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__} is abstract")
    found, _ = class_member(trace, kind, "__del__")
    if found is not ABSENT:
        raise GraphBreak("effect", f"making a {kind.__name__}, which has a finalizer,")


def made_by_object(kind: type) -> bool:
    """Whether all that an instance is, is in its dict and slots."""
    return all(one is object or one.__flags__ & HEAP_TYPE for one in mro(kind)) and all(
        type.__dict__["__dict__"].__get__(one).get("__new__") is None
        or isinstance(type.__dict__["__dict__"].__get__(one).get("__new__"), staticmethod)
        for one in mro(kind)[:-1]
    )


def function_of(symbol: Symbol) -> types.FunctionType | None:
    """The Python function that a symbol stands for, if it does."""
    match symbol:
        case Constant(value=types.FunctionType() as value):
            return value
        case Opaque(value=types.FunctionType() as value):
            return value
    return None


__all__ = [
    "ABSENT", "attribute", "bound", "call_special", "class_attribute", "class_member", "function_of", "instantiate",
    "special_method", "static_lookup", "store_attribute", "store_plainly", "super_attribute",
]  # fmt: skip

"""Python's object model on symbols: attributes of instances, classes and `super()`, special methods.

Lookups go along `__mro__` as CPython's do, and what was found is guarded. No code of the user's runs while tracing:
properties, descriptors and `__getattr__` written in Python are inlined, others break the graph.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections import OrderedDict, _tuplegetter, defaultdict, deque  # type: ignore[attr-defined]
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Handled,
    Instance,
    Method,
    Opaque,
    Super,
    Symbol,
    Tuple,
    Unread,
    class_of,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.typing.library import is_handle

# Py_TPFLAGS_DISALLOW_INSTANTIATION, _IMMUTABLETYPE, _HEAPTYPE, _IS_ABSTRACT
MAKES_NOTHING, IS_IMMUTABLE, HEAP_TYPE, IS_ABSTRACT = 1 << 7, 1 << 8, 1 << 9, 1 << 20
MOST_EXAMINED = 64  # items of a container that are examined for finalizers
ABSENT: Any = object()
MRO = type.__dict__["__mro__"]
CALLBACK: Any = weakref.ref.__dict__["__callback__"]
UNBOUND_C = (types.MethodDescriptorType, types.WrapperDescriptorType)
SLOT = types.MemberDescriptorType
TUPLE_FIELD = _tuplegetter
# What says where objects have an attribute.
PLACE = types.GetSetDescriptorType | SLOT | TUPLE_FIELD
TRACEBACK = vars(BaseException)["__traceback__"]


def mro(kind: type) -> tuple[type, ...]:
    """The classes in which attributes of `kind` are looked up, whatever a metaclass says."""
    result: tuple[type, ...] | None = MRO.__get__(kind)
    if result is None:
        raise GraphBreak("attribute", "a class that is being made")
    return result


def inherits(kind: type, base: type) -> bool:
    """Whether `base` is among the classes of `kind`; `issubclass` would ask the metaclass of `base`."""
    return any(one is base for one in mro(kind))


def static_lookup(kind: type, name: str, after: type | None = None) -> Any:
    """What a class or its bases have under a name, unbound, or ABSENT; behind the class `after` if that is given."""
    classes = mro(kind)
    if after is not None:
        classes = classes[classes.index(after) + 1 :]
    for one in classes:
        if not _hook.has_only_str_keys(one):  # the `__eq__` of a key that is no string would run
            raise GraphBreak("attribute", f"{name} of {one.__name__}, which has odd keys,")
        found = namespace_of(one).get(name, ABSENT)
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
    if not is_changeable(kind):
        return found, Constant(None if found is ABSENT else found)
    is_written = any(trace.changes.written_class_attribute(one, name)[0] for one in mro(kind))
    if is_written or after is not None:
        return member_by_steps(trace, kind, name, after)
    if found is ABSENT:
        trace.guards.check("CLASS_LACKS", kind, name)
        return ABSENT, Constant(None)
    text = f"{kind.__name__}.{name}"
    return found, Unread(trace.guards.load("LOAD_CLASS", kind, name, text=text), found)


def member_by_steps(trace: Trace, kind: type, name: str, after: type | None) -> tuple[Any, Symbol]:
    """`class_member`, guarded class by class: for `super()`, and where the trace has written to a class."""
    guard_bases(trace, kind)
    classes = mro(kind)
    for one in classes[classes.index(after) + 1 if after is not None else 0 :]:
        is_written, value = trace.changes.written_class_attribute(one, name)
        if value is not None:
            return value.value if isinstance(value, Constant) else None, value  # no descriptor
        found = namespace_of(one).get(name, ABSENT)
        if found is not ABSENT and not is_written:
            if not is_changeable(one):
                return found, Constant(found)
            text = f"{one.__name__}.{name}"
            return found, Unread(trace.guards.load("LOAD_CLASS", one, name, text=text), found)
        if one.__flags__ & HEAP_TYPE and not is_written:
            trace.guards.check("CLASS_OWN_LACKS", one, name)
    return ABSENT, Constant(None)


def guard_bases(trace: Trace, kind: type) -> None:
    """Guard the `__mro__` of a class."""
    if is_changeable(kind):
        classes = mro(kind)
        for place, base in enumerate(classes[1:], 1):
            trace.guards.check("BASE", kind, place, len(classes), base)


def namespace_of(kind: type) -> Any:
    """The `__dict__` of a class, whatever a metaclass says."""
    return type.__dict__["__dict__"].__get__(kind)


def uses_plain(trace: Trace, kind: type, name: str, plain: Any) -> bool:
    """Whether a class inherits this C function under a name; guarded."""
    found, symbol = class_member(trace, kind, name)
    if found is plain:
        guard_member(trace, found, symbol)
    return found is plain


def guard_member(trace: Trace, found: Any, symbol: Symbol) -> None:
    """Guard that a class has this very object, as `class_member` gave it: another of its type does something else."""
    if isinstance(symbol, Unread):
        trace.guards.check("IDENTITY", symbol.source, found, says="IDENTITY replaced")


def guarded_lookup(trace: Trace, kind: type, name: str) -> Any:
    """`static_lookup`, where what the trace does depends on what was found; guarded."""
    found, symbol = class_member(trace, kind, name)
    guard_member(trace, found, symbol)
    return found


def guard_names(trace: Trace, kind: type, *names: str) -> None:
    """Guard what a class says its names are, where a text of the program's shows them: they may be set."""
    if kind.__flags__ & HEAP_TYPE:
        source = trace.guards.load("LOAD_CONST", kind, text=kind.__name__)
        for name in names:
            trace.reader.attribute(source, kind, name)


# Reading ---------------------------------------------------------------------------------------------------------


def instance_attribute(interpreter: Interpreter, symbol: Instance, name: str) -> Symbol:
    """What `symbol.name` is: `__getattribute__`, then `__getattr__` where that raised AttributeError."""
    try:
        return _by_getattribute(interpreter, symbol, name)
    except Raised as raised:
        error = raised.symbol
        if not isinstance(error, Instance) or not issubclass(error.kind, AttributeError):
            raise
        fallback, function = class_member(interpreter.trace, symbol.kind, "__getattr__")
        if fallback is ABSENT:
            raise
    return interpreter.call(function, (symbol, Constant(name)))


def _by_getattribute(interpreter: Interpreter, symbol: Instance, name: str) -> Symbol:
    trace, kind = interpreter.trace, symbol.kind
    own = static_lookup(kind, "__getattribute__")
    if isinstance(own, types.FunctionType):
        _, function = class_member(trace, kind, "__getattribute__")
        return interpreter.call(function, (symbol, Constant(name)))
    if own not in PLAIN_GETATTRIBUTE or not uses_plain(trace, kind, "__getattribute__", own):
        raise GraphBreak("attribute", f"{name} of a {kind.__name__}")
    return object_getattribute(interpreter, symbol, name)


# The C functions that do what `object.__getattribute__` does, of types whose subclasses are traced.
PLAIN_GETATTRIBUTE = tuple(
    vars(one)["__getattribute__"]
    for one in (
        object, BaseException, tuple, list, dict, set, int, float, complex, str, bytes, OrderedDict, defaultdict,
        functools.partial, types.SimpleNamespace,
    )
    if "__getattribute__" in vars(one)
)  # fmt: skip


def object_getattribute(interpreter: Interpreter, symbol: Instance, name: str) -> Symbol:
    """`object.__getattribute__(symbol, name)`."""
    trace, kind = interpreter.trace, symbol.kind
    found, member = class_member(trace, kind, name)
    if name == "__class__" and found is object.__dict__["__class__"]:
        guard_member(trace, found, member)
        return Constant(kind)
    if is_data_descriptor(trace, found, member):
        return _descriptor_value(interpreter, symbol, found, member, name)
    value = own_attribute(trace, symbol, name, found)
    if value is not None:
        return value
    if found is not ABSENT:
        return bound_member(interpreter, found, member, symbol, kind)
    raise missing(trace, kind, name)


def missing(trace: Trace, kind: type, name: str) -> Raised:
    """The error of an attribute that an object of a class does not have."""
    guard_names(trace, kind, "__name__")
    return raise_error(AttributeError, f"'{_c_name(kind)}' object has no attribute {name!r}")


def _c_name(kind: type) -> str:
    """`tp_name` as errors show it: with the module for types in C, cut where it is long."""
    try:
        type.__getattribute__(kind, "")
    except AttributeError as error:
        return str(error).removeprefix("type object '").removesuffix("' has no attribute ''")
    return kind.__name__


def _empty_slot(trace: Trace, kind: type, name: str) -> Raised:
    """The error of a slot without a value, which names the class in full from 3.13 on."""
    shown = kind.__name__
    guard_names(trace, kind, "__name__", "__qualname__", "__module__")
    if VERSION >= (3, 13):
        module = vars(kind).get("__module__")
        inside = type(module) is str and module not in ("builtins", "__main__")
        shown = f"{module}.{kind.__qualname__}" if inside else kind.__qualname__
    return raise_error(AttributeError, f"'{shown}' object has no attribute {name!r}")


def is_data_descriptor(trace: Trace, found: Any, member: Symbol) -> bool:
    """Whether what a class has under a name is a data descriptor; guarded."""
    kind = type(found)
    if found is ABSENT:
        return False
    if isinstance(member, Unread):
        trace.guards.check("TYPE", member.source, kind, says="TYPE replaced")
    return any(
        class_member(trace, kind, name)[0] is not ABSENT for name in ("__set__", "__delete__")
    )


def _descriptor_value(
    interpreter: Interpreter, symbol: Instance, found: Any, member: Symbol, name: str
) -> Symbol:
    """The value of a data descriptor."""
    trace = interpreter.trace
    check_place(trace, symbol.kind, name, found, member)
    if is_slot(found):
        value = own_attribute(trace, symbol, name, found)
        if value is None:
            raise _empty_slot(trace, symbol.kind, name)
        return value
    if isinstance(found, TUPLE_FIELD):
        number: int = found.__reduce__()[1][0]
        if isinstance(symbol.content, Tuple) and number < len(symbol.content.items):
            return symbol.content.items[number]
        raise GraphBreak("attribute", f"{name} of a {symbol.kind.__name__}")
    if isinstance(found, types.GetSetDescriptorType | SLOT):
        return _built_in_property(interpreter, symbol, found, name)
    if guarded_lookup(trace, type(found), "__get__") is ABSENT:
        value = own_attribute(trace, symbol, name, found)
        return member if value is None else value
    return bound_member(interpreter, found, member, symbol, symbol.kind)


def check_place(trace: Trace, kind: type, name: str, found: Any, member: Symbol) -> None:
    """Guard where objects of a class have an attribute, if what the class has says that.

    Raises:
        GraphBreak: it is a slot of other objects, or one that may have another name, too.

    """
    if isinstance(found, PLACE):
        guard_member(trace, found, member)  # another of its type is another place
    if not is_slot(found):
        return
    if not inherits(kind, found.__objclass__):
        raise GraphBreak("attribute", f"{name}, which is a slot of other objects,")
    if found.__name__ != name:
        raise GraphBreak("attribute", f"{name}, which is the slot {found.__name__},")


def is_slot(found: Any) -> bool:
    """Whether it is the descriptor of a slot of a class written in Python."""
    return isinstance(found, SLOT) and "__slots__" in namespace_of(found.__objclass__)


def _built_in_property(interpreter: Interpreter, symbol: Instance, found: Any, name: str) -> Symbol:
    """What a getset or member descriptor of a C type gives."""
    if found is BaseException.__dict__["args"] and symbol.content is not None:
        return symbol.content
    if found is TRACEBACK and symbol.source is None and symbol.raised is not None:
        return Handled(symbol.raised)
    owner = found.__objclass__
    value = symbol.attributes.get(name) if symbol.source is None else None
    if value is not None:
        return value
    if symbol.source is not None and type(owner) is type and name != "__dict__":
        if issubclass(symbol.kind, BaseException) and name != "args":
            raise GraphBreak("attribute", f"{name} of an exception")
        return interpreter.trace.reader.attribute(symbol.source, symbol.value, name)
    raise GraphBreak("attribute", f"{name} of a {symbol.kind.__name__}")


def is_cython_function(found: Any) -> bool:
    """Whether Cython compiled it: such functions bind as Python's do, and are of a type of their module's own."""
    kind = type(found)
    if not kind.__module__.startswith("_cython_") or kind.__name__ != "cython_function_or_method":
        return False
    return type(found.__get__(0, int)) is types.MethodType


def own_attribute(trace: Trace, symbol: Instance, name: str, found: Any) -> Symbol | None:
    """What an object itself has under a name, in its dict or slot; None if nothing, which is guarded."""
    if name in symbol.attributes:
        return symbol.attributes[name]
    if symbol.source is None or not (is_slot(found) or has_dict(symbol.kind)):
        return None
    value = _example_attribute(symbol.value, name, found)
    if value is ABSENT:
        trace.guards.check("INSTANCE_LACKS", symbol.source, name)
        symbol.attributes[name] = None
        return None
    text = f"{symbol.source.text}.{name}"
    loaded = trace.guards.load("LOAD_OWN", symbol.source, name, text=text)
    result = symbol.attributes[name] = Unread(loaded, value)
    return result


def has_dict(kind: type) -> bool:
    """Whether instances have a dict."""
    return kind.__dictoffset__ != 0


def _example_attribute(value: Any, name: str, found: Any) -> Any:
    """What the example object itself has, in its slot or in its dict."""
    if is_slot(found):
        try:
            return found.__get__(value)
        except AttributeError:
            return ABSENT
    try:
        own = _hook.own_value(value, name)
    except LookupError:  # a key that is no string: its `__eq__` would run
        kind = type(value).__name__
        raise GraphBreak("attribute", f"{name} of a {kind} with odd keys in its dict") from None
    return ABSENT if own is _hook.NULL else own


def set_own_attribute(
    trace: Trace, symbol: Instance, name: str, value: Symbol | None, *, past_setattr: bool
) -> None:
    """Write into the dict or slot of an object, whatever its class has under that name.

    `past_setattr`: the class has a `__setattr__` or `__delattr__` of its own, which called this.
    """
    if symbol.source is None and value is None:
        del symbol.attributes[name]
        return
    if trace.changes.note(symbol):
        _replace_own(trace, symbol, name)
    symbol.attributes[name] = value
    trace.changes.set_attribute(symbol, name, value, past_setattr=past_setattr)


def _replace_own(trace: Trace, symbol: Instance, name: str) -> None:
    """Guard that the present value of an attribute can die unnoticed: no finalizer, no callback of a weak reference."""
    if name in symbol.attributes:
        trace.changes.replaced(symbol.attributes[name])
        return
    assert symbol.source is not None
    value = _example_attribute(symbol.value, name, static_lookup(symbol.kind, name))
    if value is not ABSENT and not _hook.has_no_finalizer(value):
        raise GraphBreak("finalizer", f"{symbol.source.text}.{name}")
    trace.guards.check("NO_FINALIZER_ATTR", symbol.source, name)


def bound_member(
    interpreter: Interpreter, found: Any, member: Symbol, symbol: Symbol | None, kind: type
) -> Symbol:
    """What a member of a class gives when it is bound to an instance (None: read from the class itself)."""
    trace = interpreter.trace
    owner = Constant(kind)
    if isinstance(member, Unread):
        trace.guards.check("TYPE", member.source, type(found), says="TYPE replaced")
    getter = guarded_lookup(trace, type(found), "__get__")
    is_cached = getter is functools.cached_property.__get__
    if isinstance(getter, types.FunctionType) and not is_cached:  # of a subclass of these, too
        return call_special(interpreter, trace.look(member), "__get__",
                            (Constant(None) if symbol is None else symbol, owner))  # fmt: skip
    match found:
        case types.FunctionType():
            return member if symbol is None else Method(symbol, member)
        case staticmethod():
            return inner_function(trace, found, member, "__func__")
        case classmethod():
            if type(found.__func__) not in (types.FunctionType, types.BuiltinFunctionType):
                # up to 3.12 it is bound by its own `__get__`
                raise GraphBreak(
                    "attribute", f"a classmethod of {kind.__name__} that wraps no function"
                )
            return Method(owner, inner_function(trace, found, member, "__func__"))
        case property():
            return member if symbol is None else _property_value(interpreter, found, member, symbol)
        case functools.cached_property():
            descriptor = trace.look(member)
            return member if symbol is None else _cached_property(interpreter, descriptor, symbol)
        case _ if isinstance(found, UNBOUND_C):
            guard_member(trace, found, member)
            return Constant(found) if symbol is None else Method(symbol, Constant(found))
        case types.BuiltinFunctionType():
            return member
        case types.ClassMethodDescriptorType():
            guard_member(trace, found, member)
            return Method(owner, Constant(found))
        case _ if is_cython_function(found):
            return member if symbol is None else Method(symbol, member)
    if getter is ABSENT:
        return member
    raise GraphBreak("attribute", f"the descriptor {type(found).__name__} of {kind.__name__}")


def _property_value(
    interpreter: Interpreter, found: property, member: Symbol, symbol: Symbol
) -> Symbol:
    function = inner_function(interpreter.trace, found, member, "fget")
    if found.fget is None:
        interpreter.trace.look(function)
        raise property_error(interpreter.trace, symbol, found.__get__)
    return interpreter.call(function, (symbol,))


def property_error(trace: Trace, symbol: Symbol, use: Callable[[Any], object]) -> Raised:
    """The error of a property without that function, in Python's words: those for a class of the same name."""
    if not isinstance(symbol, Instance):
        raise GraphBreak("attribute", "a property of a metaclass")
    guard_names(trace, symbol.kind, "__qualname__")
    stand_in = type("StandIn", (), {"__qualname__": symbol.kind.__qualname__})
    try:
        use(stand_in())
    except AttributeError as error:
        return raise_error(AttributeError, *error.args)
    raise GraphBreak("attribute", "a property")


def _cached_property(interpreter: Interpreter, descriptor: Symbol, symbol: Symbol) -> Symbol:
    """`cached_property.__get__` where nothing is cached yet: the value goes into the instance's dict."""
    trace = interpreter.trace
    name = trace.look(interpreter.attribute(descriptor, "attrname"))
    if not isinstance(symbol, Instance) or not has_dict(symbol.kind):
        raise GraphBreak("attribute", "a cached property")
    if not isinstance(name, Constant) or type(name.value) is not str:
        raise GraphBreak("attribute", "a cached property without a name")
    value = interpreter.call(interpreter.attribute(descriptor, "func"), (symbol,))
    set_own_attribute(trace, symbol, name.value, value, past_setattr=True)
    return value


def inner_function(trace: Trace, found: Any, member: Symbol, name: str) -> Symbol:
    """A function inside a property, classmethod or staticmethod."""
    value = getattr(found, name)
    if isinstance(member, Constant):
        return Constant(value)
    assert isinstance(member, Unread)
    trace.guards.check("TYPE", member.source, type(found), says="TYPE replaced")
    loaded = trace.guards.load("LOAD_ATTR", member.source, name, text=member.source.text)
    return Unread(loaded, value)


def class_attribute(interpreter: Interpreter, kind: type, name: str) -> Symbol:
    """`type.__getattribute__`: a data descriptor of the metaclass, then the class itself, then the metaclass."""
    trace, meta = interpreter.trace, type(kind)
    if not uses_plain(trace, meta, "__getattribute__", type.__getattribute__):
        raise GraphBreak("attribute", f"{name} of the class {kind.__name__}")
    above, from_meta = class_member(trace, meta, name)
    if is_data_descriptor(trace, above, from_meta):
        if isinstance(above, property):
            return _property_value(interpreter, above, from_meta, Constant(kind))
        return _class_property(trace, kind, above, name)
    found, member = class_member(trace, kind, name)
    if found is not ABSENT:
        return bound_member(interpreter, found, member, None, kind)
    if above is not ABSENT:
        return bound_member(interpreter, above, from_meta, Constant(kind), meta)
    fallback, function = class_member(trace, meta, "__getattr__")
    if fallback is not ABSENT:
        return interpreter.call(function, (Constant(kind), Constant(name)))
    guard_names(trace, kind, "__name__")
    raise raise_error(AttributeError, f"type object '{_c_name(kind)}' has no attribute {name!r}")


def _class_property(trace: Trace, kind: type, above: Any, name: str) -> Symbol:
    """What a getset descriptor of `type` gives for a class."""
    if type.__dict__.get(name) is not above:
        raise GraphBreak("attribute", f"{name} of the class {kind.__name__}")
    if name in ("__name__", "__qualname__", "__module__"):
        value = type.__dict__[name].__get__(kind)
        if not kind.__flags__ & HEAP_TYPE:
            return Constant(value)
        if type(kind).__getattribute__ is type.__getattribute__ and type(value) is str:
            if static_lookup(type(kind), "__getattr__") is not ABSENT:
                raise GraphBreak("attribute", f"{name} of the class {kind.__name__}")
            source = trace.guards.load("LOAD_CONST", kind, text=kind.__name__)
            return trace.reader.attribute(source, kind, name)
    if name in ("__mro__", "__base__"):
        guard_bases(trace, kind)
        value = type.__dict__[name].__get__(kind)
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
    return bound_member(interpreter, found, member, None if of_class else symbol.self, symbol.kind)


# Dropping values -------------------------------------------------------------------------------------------------


def refuse_finalizer(symbol: Symbol | None) -> None:
    """Break where dropping a value of the frame may run a finalizer: plain Python runs it at once."""
    if not isinstance(symbol, Unread | Opaque | Instance):
        return
    value = symbol.value
    held: Iterable[Any] = (value,)
    if type(value) in (list, tuple, set, deque) and len(value) <= MOST_EXAMINED:
        held = (*value, value)
    elif type(value) is dict and len(value) <= MOST_EXAMINED:
        held = (*value.values(), value)
    for one in held:
        kind = type(one)
        if kind is types.GeneratorType:  # it may wait inside a `try` or `with`
            raise GraphBreak("effect", "letting go of a generator")
        if not kind.__flags__ & HEAP_TYPE:
            continue
        has_finalizer = static_lookup(kind, "__del__") is not ABSENT and not is_handle(kind)
        if has_finalizer or any(map(_has_callback, weakref.getweakrefs(one))):
            raise GraphBreak("effect", f"dropping a {kind.__name__}, which has a finalizer,")


def _has_callback(reference: Any) -> bool:
    """Whether a weak reference has a callback; taken for granted of a proxy, which would ask its object."""
    if not issubclass(type(reference), weakref.ref):
        return True
    return CALLBACK.__get__(reference) is not None


# Special methods -------------------------------------------------------------------------------------------------


def object_class(symbol: Symbol) -> type | None:
    """The class in which special methods of an instance, or of a class with a metaclass, are looked up; else None."""
    if isinstance(symbol, Instance):
        return symbol.kind
    kind = class_of(symbol)
    return None if kind is None or type(kind) is type else type(kind)


def special_method(interpreter: Interpreter, symbol: Symbol, name: str) -> Symbol | None:
    """A special method, bound, looked up on the class as operators do; None where there is none."""
    kind = object_class(symbol)
    if kind is None:
        return None
    found, member = class_member(interpreter.trace, kind, name)
    if found is None:
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}.{name} is None")
    if found is ABSENT:
        return None
    return bound_member(interpreter, found, member, symbol, kind)


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
    """Whether it is NotImplemented."""
    return isinstance(symbol, Constant) and symbol.value is NotImplemented

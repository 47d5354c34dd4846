"""Making instances: what calling a class gives."""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.classes import (
    ABSENT,
    HEAP_TYPE,
    IS_ABSTRACT,
    MAKES_NOTHING,
    class_member,
    guard_member,
    guarded_lookup,
    inherits,
    inner_function,
    mro,
    namespace_of,
    uses_plain,
)
from ufuse.frame_hook.objects.contents import ORDERED, PLAIN_EXCEPTIONS, WITH_CONTENT, empty
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace

# `__init__`s written in C that have rules.
INITS = (
    list.__init__, dict.__init__, set.__init__, OrderedDict.__init__, defaultdict.__init__,
    types.SimpleNamespace.__init__,
)  # fmt: skip
# `__init__`s written in C that only check their arguments, or keep them in `args`.
PLAIN_INITS = (object.__init__, *(getattr(one, "__init__") for one in PLAIN_EXCEPTIONS))  # noqa: B009  a wrapper, for mypy


def instantiate(
    interpreter: Interpreter,
    kind: type,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What calling a class gives."""
    trace, meta = interpreter.trace, type(kind)
    if kind.__flags__ & HEAP_TYPE:
        source = trace.guards.load("LOAD_CONST", kind, text=kind.__name__)
        trace.guards.check("TYPE", source, meta, says="TYPE of class")
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
        inner = inner_function(trace, found, function, "__func__")
        made = trace.look(interpreter.call(inner, (Constant(kind), *arguments), keywords))
    else:
        guard_member(trace, found, function)
        if found is object.__new__ and (arguments or keywords) and first is object.__init__:
            raise GraphBreak("eager-raises", f"TypeError: {kind.__name__}() takes no arguments")
        made = new_instance(interpreter, found, kind, arguments, keywords)
    if not isinstance(made, Instance) or not inherits(made.kind, kind):
        return made
    if made.kind is not kind:  # of a subclass: its own __init__ is called
        first, second = class_member(trace, made.kind, "__init__")
    if isinstance(first, types.FunctionType) or first in INITS:
        result = interpreter.call(second, (made, *arguments), keywords)
        if not isinstance(result, Constant) or result.value is not None:
            raise GraphBreak("eager-raises", "TypeError: __init__() should return None")
        return made
    guard_member(trace, first, second)
    if first not in PLAIN_INITS:
        raise GraphBreak("call", f"{kind.__qualname__}, whose __init__ is not Python,")
    return made


def new_instance(
    interpreter: Interpreter,
    function: Any,
    kind: type,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What `__new__` of a C type gives for `kind`."""
    refuse_making(interpreter.trace, kind)
    if function is object.__new__ and made_by_object(kind):
        return Instance(kind)
    maker = getattr(function, "__self__", None)
    if maker in PLAIN_EXCEPTIONS and issubclass(kind, BaseException):
        plain_base = kind if not kind.__flags__ & HEAP_TYPE else maker
        if keywords and kind is plain_base:
            raise GraphBreak("eager-raises", f"TypeError: {kind.__name__} takes no keywords")
        return Instance(kind, content=Tuple(tuple(arguments)))
    if maker is types.SimpleNamespace and _adds_only_python(kind, maker):
        return Instance(kind)
    if maker in WITH_CONTENT and _adds_only_python(kind, maker, *ORDERED):
        return _with_content(interpreter, maker, kind, arguments, keywords)
    raise GraphBreak("call", kind.__qualname__)


def _adds_only_python(kind: type, *bases: type) -> bool:
    """Whether these are the only C types that a class inherits from, `object` aside."""
    return all(one is object or one in bases or one.__flags__ & HEAP_TYPE for one in mro(kind))


def _with_content(
    interpreter: Interpreter,
    base: type,
    kind: type,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Instance:
    """An instance of a subclass of a built-in type; lists, dicts and sets are filled by `__init__`."""
    trace = interpreter.trace
    content = empty(base, kind)
    if content is not None:
        made = Instance(kind, content=content)
        trace.owners[id(content)] = made
        return made
    if keywords:
        raise GraphBreak("call", kind.__qualname__)
    if base is tuple:
        held = interpreter.call(Constant(tuple), arguments)
        assert isinstance(held, Tuple)
        return Instance(kind, content=Tuple(held.items))
    value = trace.look(interpreter.call(Constant(base), arguments))
    if not isinstance(value, Constant) or type(value.value) is not base:
        raise GraphBreak("call", f"{kind.__qualname__} of a value known only at run time")
    return Instance(kind, content=value)


def refuse_making(trace: Trace, kind: type) -> None:
    """Break where calling a class is an error, or its instances have a finalizer."""
    if kind.__flags__ & MAKES_NOTHING:
        raise GraphBreak("eager-raises", f"TypeError: cannot create {kind.__name__!r} instances")
    guarded_lookup(trace, kind, "__abstractmethods__")
    if kind.__flags__ & IS_ABSTRACT:
        raise GraphBreak("eager-raises", f"TypeError: {kind.__name__} is abstract")
    found, _ = class_member(trace, kind, "__del__")
    if found is not ABSENT:
        raise GraphBreak("effect", f"making a {kind.__name__}, which has a finalizer,")


def made_by_object(kind: type) -> bool:
    """Whether instances of a class have nothing but a dict and slots, and `object.__new__` makes them."""
    return all(one is object or one.__flags__ & HEAP_TYPE for one in mro(kind)) and all(
        namespace_of(one).get("__new__") is None
        or isinstance(namespace_of(one).get("__new__"), staticmethod)
        for one in mro(kind)[:-1]
    )


__all__ = ["PLAIN_EXCEPTIONS", "PLAIN_INITS", "instantiate", "make_instance", "new_instance"]

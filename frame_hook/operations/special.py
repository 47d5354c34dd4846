"""Python's own functions on instances, and built-in methods called on instances of subclasses of built-in types."""

from __future__ import annotations

import math
import operator
import types
from collections import OrderedDict
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import (
    BUILTINS,
    SPECIAL,
    Given,
    Positional,
    applied,
)
from ufuse.frame_hook.objects import contents
from ufuse.frame_hook.objects.classes import (
    call_special,
    guarded_lookup,
    object_class,
    special_method,
    static_lookup,
)
from ufuse.frame_hook.objects.values import as_size, described
from ufuse.frame_hook.operations import comparisons, containers, iterate
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    ArrayMethod,
    Constant,
    Dict,
    List,
    Set,
    Symbol,
    Tuple,
)

# The built-in types whose methods work on such a content.
CONTENT_TYPES: dict[type, type] = {Tuple: tuple, List: list, Dict: dict, Set: set}
# fmt: off
#  function          special method   what its result must be
ASKED: dict[Any, tuple[str, tuple[type, ...]]] = {
    hash:            ("__hash__",     (int,)),
    int:             ("__int__",      (int,)),
    float:           ("__float__",    (float,)),
    complex:         ("__complex__",  (complex,)),
    operator.index:  ("__index__",    (int,)),
    round:           ("__round__",    ()),
    math.trunc:      ("__trunc__",    ()),
    math.floor:      ("__floor__",    ()),
    math.ceil:       ("__ceil__",     ()),
    reversed:        ("__reversed__", ()),
    divmod:          ("__divmod__",   ()),
}
PAST_ORDER = ("get", "__getitem__", "__contains__", "__len__")  # the methods of dict for which the order is nothing
COMPARISON_NAMED = {f"__{name}__": name for name in comparisons.COMPARE}
# fmt: on


def of_instance(
    interpreter: Interpreter, function: Any, arguments: Positional, keywords: Given
) -> Symbol | None:
    """What a C function gives for an instance as its first argument; None where nothing special holds for instances."""
    if isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        receiver = interpreter.trace.look(arguments[0])
        return _built_in_method(interpreter, function, receiver, arguments[1:], keywords)
    if not isinstance(function, types.BuiltinFunctionType | type):
        return None
    if keywords or (
        function is not str and function is not repr and not any(function is one for one in ASKED)
    ):
        return None
    receiver = interpreter.trace.look(arguments[0])
    if object_class(receiver) is None:
        return None
    if function is str or function is repr:
        return _text(interpreter, receiver, function, arguments[1:])
    return _asked(interpreter, function, receiver, arguments[1:])


def _asked(
    interpreter: Interpreter, function: Any, receiver: Symbol, rest: Positional
) -> Symbol | None:
    """What a special method gives to the function that asks for it."""
    name, kinds = ASKED[function]
    by_item = function is reversed and isinstance(getattr(receiver, "content", None), Tuple)
    read_by = ("__len__", "__getitem__") if by_item else ()  # tuples have no `__reversed__`
    plain = contents.unwrapped(interpreter.trace, receiver, name, *read_by)
    if plain is not receiver:
        return interpreter.call(Constant(function), (plain, *rest))
    if function is reversed and special_method(interpreter, receiver, name) is None:
        raise GraphBreak("operator", "reversed of something with __getitem__ only")
    result = interpreter.trace.look(call_special(interpreter, receiver, name, rest))
    if kinds and not (isinstance(result, Constant) and type(result.value) in kinds):
        if function is not operator.index or as_size(result) is None:
            raise GraphBreak("call", f"{name} that gives {described(result)}")
    return result


def _text(
    interpreter: Interpreter, receiver: Symbol, function: Any, rest: Positional
) -> Symbol | None:
    """`str(receiver)` or `repr(receiver)`."""
    kind = object_class(receiver)
    if rest or kind is None or issubclass(kind, BaseException):
        return None
    if function is str and guarded_lookup(interpreter.trace, kind, "__str__") is object.__str__:
        function = repr
    name = "__str__" if function is str else "__repr__"
    plain = contents.unwrapped(interpreter.trace, receiver, name, "__repr__")
    if isinstance(plain, Constant):
        return interpreter.call(Constant(function), (plain,))
    if static_lookup(kind, name) is object.__repr__:
        raise GraphBreak("call", f"the text of a {kind.__name__}, which tells its address,")
    result = interpreter.trace.look(call_special(interpreter, receiver, name))
    if not isinstance(result, Constant) or type(result.value) is not str:
        raise GraphBreak("call", f"{name} that gives {described(result)}")
    return result


# Methods of built-in types ---------------------------------------------------------------------------------------


def _built_in_method(
    interpreter: Interpreter, function: Any, receiver: Symbol, rest: Positional, keywords: Given
) -> Symbol | None:
    """A method of a built-in type on the content of an instance; None where it has a rule, or is of another type."""
    owner, name = function.__objclass__, function.__name__
    content = contents.unwrapped(interpreter.trace, receiver)
    if function in BUILTINS or not _is_one(content, owner, name):
        return None
    if isinstance(function, types.MethodDescriptorType):
        return interpreter.call(ArrayMethod(content, name), rest, keywords)
    if name == "__init__":
        return fill(interpreter, content, rest, keywords)
    if keywords:
        return None
    return _wrapped(interpreter, owner, name, content, rest)


def _is_one(content: Symbol, owner: type, name: str) -> bool:
    """Whether a symbol stands for a value that has this method of this class."""
    if isinstance(content, Constant):
        return owner in contents.IMMUTABLE and type(content.value) is owner
    kind = CONTENT_TYPES.get(type(content))
    if owner is dict and isinstance(content, Dict) and isinstance(content.items, OrderedDict):
        return name in PAST_ORDER
    return kind is not None and (
        kind is owner or (kind is dict and owner in contents.ORDERED and name in contents.AS_DICT)
    )


def _wrapped(
    interpreter: Interpreter, owner: type, name: str, content: Symbol, rest: Positional
) -> Symbol | None:
    """A special method of a built-in type, called by its name as `super().__getitem__(key)` does."""
    if name in SPECIAL:
        return applied(SPECIAL[name], name, interpreter, (content, *rest), {})
    if name == "__iter__":
        return iterate.iterator_over(interpreter, content)
    if isinstance(content, Constant):
        return interpreter.call(ArrayMethod(content, name), rest)
    if name in COMPARISON_NAMED and len(rest) == 1 and owner is not set:
        other = contents.unwrapped(interpreter.trace, interpreter.trace.look(rest[0]), name)
        if not _is_one(other, owner, name):
            return Constant(NotImplemented)
        return comparisons.compare(interpreter, COMPARISON_NAMED[name], content, other)
    return None


def fill(interpreter: Interpreter, content: Symbol, rest: Positional, keywords: Given) -> Symbol:
    """`list.__init__`, `dict.__init__` or `set.__init__`."""
    if isinstance(content, List) and content.source is None and len(rest) <= 1 and not keywords:
        content.items[:] = iterate.items_of(interpreter, rest[0]) if rest else []
        return Constant(None)
    if isinstance(content, Dict) and content.source is None and len(rest) <= 1:
        for given in rest:
            containers.update(interpreter, content, given)
        content.items.update(keywords)
        return Constant(None)
    is_new = isinstance(content, Set) and content.source is None and not content.items
    if isinstance(content, Set) and is_new and len(rest) <= 1 and not keywords:
        if rest:
            containers.update_set(interpreter, content, "update", rest[0])
        return Constant(None)
    raise GraphBreak("call", "__init__ of an object that exists already")


__all__ = ["fill", "of_instance"]

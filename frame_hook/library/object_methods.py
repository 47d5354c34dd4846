"""Methods of `object`, `type`, `defaultdict` and `SimpleNamespace`, as `super()` gives them."""

from __future__ import annotations

import types
from collections import defaultdict

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.objects.attribute_stores import object_setattr, store_in_class
from ufuse.frame_hook.objects.classes import call_special, is_not_implemented, object_getattribute
from ufuse.frame_hook.objects.instances import make_instance
from ufuse.frame_hook.objects.values import described, is_none, key_of, known_value
from ufuse.frame_hook.operations import comparisons, special, subscripts
from ufuse.frame_hook.operations.arithmetic import truth
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, Symbol, class_of

NONE = Constant(None)

# object ----------------------------------------------------------------------------------------------------------


@rule_for(object.__eq__)
def _equal(interpreter: Interpreter, receiver: Symbol, other: Symbol, /) -> Symbol:
    if comparisons.identical(interpreter, interpreter.trace.look(receiver), other):
        return Constant(value=True)
    return Constant(NotImplemented)


@rule_for(object.__ne__)
def _unequal(interpreter: Interpreter, receiver: Symbol, other: Symbol, /) -> Symbol:
    answer = call_special(interpreter, interpreter.trace.look(receiver), "__eq__", (other,))
    result = interpreter.trace.look(answer)
    if is_not_implemented(result):
        return result
    return Constant(not truth(interpreter, result))


@rule_for(object.__getattribute__)
def _attribute(interpreter: Interpreter, receiver: Symbol, name: Symbol, /) -> Symbol:
    receiver, text = interpreter.trace.look(receiver), known_value(interpreter, name)
    if not isinstance(receiver, Instance) or type(text) is not str:
        raise GraphBreak("attribute", f"object.__getattribute__ of {described(receiver)}")
    return object_getattribute(interpreter, receiver, text)


@rule_for(object.__setattr__)
def _set_attribute(
    interpreter: Interpreter, receiver: Symbol, name: Symbol, value: Symbol, /
) -> Symbol:
    receiver = interpreter.trace.look(receiver)
    if not isinstance(receiver, Instance):
        raise GraphBreak("effect", "object.__setattr__")
    object_setattr(interpreter, receiver, known_value(interpreter, name), value)
    return NONE


@rule_for(object.__delattr__)
def _delete_attribute(interpreter: Interpreter, receiver: Symbol, name: Symbol, /) -> Symbol:
    receiver, text = interpreter.trace.look(receiver), known_value(interpreter, name)
    if not isinstance(receiver, Instance) or type(text) is not str:
        raise GraphBreak("effect", "object.__delattr__")
    object_setattr(interpreter, receiver, text, None)
    return NONE


@rule_for(object.__str__)
def _plain_text(interpreter: Interpreter, receiver: Symbol, /) -> Symbol:
    return interpreter.call(Constant(repr), (receiver,))


@rule_for(object.__format__)
def _plain_format(interpreter: Interpreter, receiver: Symbol, format_spec: Symbol, /) -> Symbol:
    spec = interpreter.trace.look(format_spec)
    if not isinstance(spec, Constant) or spec.value != "":
        raise GraphBreak("eager-raises", "TypeError: unsupported format string")
    return interpreter.call(Constant(str), (receiver,))


# type ------------------------------------------------------------------------------------------------------------


def _class(interpreter: Interpreter, receiver: Symbol) -> type:
    kind = class_of(interpreter.trace.look(receiver))
    if kind is None:
        raise GraphBreak("call", "a method of type with something that is no class")
    return kind


def _name(interpreter: Interpreter, name: Symbol) -> str:
    text = known_value(interpreter, name)
    if type(text) is not str:
        raise GraphBreak("effect", "an attribute of a class whose name is no string")
    return text


@rule_for(type.__call__)
def _call(
    interpreter: Interpreter, receiver: Symbol, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    return make_instance(interpreter, _class(interpreter, receiver), arguments, keywords)


@rule_for(type.__setattr__)
def _set_in_class(
    interpreter: Interpreter, receiver: Symbol, name: Symbol, value: Symbol, /
) -> Symbol:
    kind = _class(interpreter, receiver)
    store_in_class(interpreter.trace, kind, _name(interpreter, name), value)
    return NONE


@rule_for(type.__delattr__)
def _delete_in_class(interpreter: Interpreter, receiver: Symbol, name: Symbol, /) -> Symbol:
    kind = _class(interpreter, receiver)
    store_in_class(interpreter.trace, kind, _name(interpreter, name), None)
    return NONE


# defaultdict and SimpleNamespace ---------------------------------------------------------------------------------


@rule_for(defaultdict.__init__)
def _make_default(
    interpreter: Interpreter,
    receiver: Symbol,
    default_factory: Symbol = NONE,
    /,
    *entries: Symbol,
    **more: Symbol,
) -> Symbol:
    receiver = interpreter.trace.look(receiver)
    if not isinstance(receiver, Instance) or receiver.source is not None:
        raise GraphBreak("call", "__init__ of an object that exists already")
    receiver.attributes["default_factory"] = default_factory
    assert receiver.content is not None
    return special.fill(interpreter, receiver.content, entries, more)


@rule_for(defaultdict.__missing__)
def _missing(interpreter: Interpreter, receiver: Symbol, key: Symbol, /) -> Symbol:
    """What the factory makes is stored, past any `__setitem__` of a subclass."""
    receiver = interpreter.trace.look(receiver)
    factory = interpreter.trace.look(interpreter.attribute(receiver, "default_factory"))
    if is_none(factory):
        raise raise_error(KeyError, key_of(interpreter, key))
    made = interpreter.call(factory)
    subscripts.store_item(interpreter, receiver, key, made)
    return made


@rule_for(types.SimpleNamespace.__init__)
def _make_namespace(
    interpreter: Interpreter, receiver: Symbol, /, *mapping: Symbol, **attributes: Symbol
) -> Symbol:
    receiver = interpreter.trace.look(receiver)
    if mapping or not isinstance(receiver, Instance) or receiver.source is not None:
        raise GraphBreak("call", "a SimpleNamespace made of a mapping")
    receiver.attributes.update(attributes)
    return NONE

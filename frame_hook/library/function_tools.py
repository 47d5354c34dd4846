"""The modules operator, functools and copy, and `len`."""

from __future__ import annotations

import copy
import functools
import operator

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import INSTANCES, SPECIAL, Rule, registering, rule_for
from ufuse.frame_hook.objects.values import (
    PURE,
    UNKNOWN,
    constants_in,
    described,
    known_value,
    number_type,
    pure,
)
from ufuse.frame_hook.operations import arithmetic, comparisons, containers, iterate, subscripts
from ufuse.frame_hook.operations.attributes import attribute
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Deque,
    Dict,
    Function,
    Instance,
    Integer,
    List,
    Number,
    Range,
    Set,
    Symbol,
    Tuple,
)

NONE = Constant(None)

# operator --------------------------------------------------------------------------------------------------------


def _binary(sign: str, *, in_place: bool) -> Rule:
    def rule(interpreter: Interpreter, a: Symbol, b: Symbol, /) -> Symbol:
        return arithmetic.binary(interpreter, sign, a, b, in_place=in_place, by_operator=True)

    return rule


def _comparison(name: str) -> Rule:
    def rule(interpreter: Interpreter, a: Symbol, b: Symbol, /) -> Symbol:
        return comparisons.compare(interpreter, name, a, b)

    return rule


def _unary(name: str) -> Rule:
    def rule(interpreter: Interpreter, a: Symbol, /) -> Symbol:
        return arithmetic.unary(interpreter, name, a)

    return rule


for _sign, (_name, *_rest) in arithmetic.BINARY.items():
    rule_for(getattr(operator, _name))(_binary(_sign, in_place=False))
    rule_for(getattr(operator, f"i{_name.strip('_')}"))(_binary(_sign, in_place=True))
for _name in comparisons.COMPARE:
    rule_for(getattr(operator, _name))(_comparison(_name))
for _name in arithmetic.UNARY:
    rule_for(getattr(operator, _name))(_unary(_name))


@rule_for(operator.index)
def _index(interpreter: Interpreter, a: Symbol, /) -> Symbol:
    symbol = interpreter.trace.look(a)
    if isinstance(symbol, Integer):
        return symbol
    if isinstance(symbol, Constant):
        return pure(operator.index, symbol.value)
    raise GraphBreak("call", f"operator.index of {described(symbol)}")


@rule_for(operator.getitem)
@registering(SPECIAL, ("__getitem__",))
def _getitem(interpreter: Interpreter, a: Symbol, key: Symbol, /) -> Symbol:
    return subscripts.item(interpreter, a, key)


@rule_for(operator.setitem)
@registering(SPECIAL, ("__setitem__",))
def _setitem(interpreter: Interpreter, a: Symbol, key: Symbol, value: Symbol, /) -> Symbol:
    subscripts.store_item(interpreter, a, key, value)
    return NONE


@rule_for(operator.delitem)
@registering(SPECIAL, ("__delitem__",))
def _delitem(interpreter: Interpreter, a: Symbol, key: Symbol, /) -> Symbol:
    subscripts.delete_item(interpreter, a, key)
    return NONE


@rule_for(operator.contains)
@registering(SPECIAL, ("__contains__",))
def _contains(interpreter: Interpreter, a: Symbol, key: Symbol, /) -> Symbol:
    return Constant(subscripts.contains(interpreter, a, key))


@rule_for(len)
@registering(SPECIAL, ("__len__",))
def _len(interpreter: Interpreter, obj: Symbol, /) -> Symbol:
    return arithmetic.length(interpreter, obj)


@rule_for(operator.truth)
def _truth(interpreter: Interpreter, a: Symbol, /) -> Symbol:
    return arithmetic.as_bool(interpreter, a)


@rule_for(operator.not_)
def _not(interpreter: Interpreter, a: Symbol, /) -> Symbol:
    return Constant(not arithmetic.truth(interpreter, a))


@rule_for(operator.is_)
def _is(interpreter: Interpreter, a: Symbol, b: Symbol, /) -> Symbol:
    return Constant(comparisons.identical(interpreter, a, b))


@rule_for(operator.is_not)
def _is_not(interpreter: Interpreter, a: Symbol, b: Symbol, /) -> Symbol:
    return Constant(not comparisons.identical(interpreter, a, b))


# itemgetter, attrgetter, methodcaller ----------------------------------------------------------------------------


def _given(interpreter: Interpreter, made: Symbol) -> tuple[tuple[Symbol, ...], dict[str, Symbol]]:
    """The arguments that an itemgetter, attrgetter or methodcaller was made with."""
    assert isinstance(made, Instance)
    if made.source is not None:
        return _guarded(interpreter, made)
    assert isinstance(made.content, Tuple)
    arguments, keywords = made.content.items
    assert isinstance(arguments, Tuple)
    assert isinstance(keywords, Dict)
    return arguments.items, keywords.items


def _guarded(
    interpreter: Interpreter, made: Instance
) -> tuple[tuple[Symbol, ...], dict[str, Symbol]]:
    """The arguments of one that the frame brought: it is immutable, so a guard on its identity is enough."""
    assert made.source is not None
    _, given = made.value.__reduce__()
    if made.kind is operator.methodcaller and isinstance(
        made.value.__reduce__()[0], functools.partial
    ):
        raise GraphBreak("call", "a methodcaller with keywords")
    if not all(isinstance(one, str | int) for one in given):
        raise GraphBreak("call", f"a {made.kind.__name__} of unusual things")
    interpreter.trace.guards.check("IDENTITY", made.source, made.value)
    return tuple(Constant(one) for one in given), {}


def _made(kind: type, *arguments: Symbol, **keywords: Symbol) -> Instance:
    return Instance(kind, content=Tuple((Tuple(arguments), Dict(keywords))))


@rule_for(operator.itemgetter)
def _itemgetter(_: Interpreter, item: Symbol, /, *items: Symbol) -> Symbol:
    return _made(operator.itemgetter, item, *items)


@rule_for(operator.attrgetter)
def _attrgetter(_: Interpreter, name: Symbol, /, *names: Symbol) -> Symbol:
    return _made(operator.attrgetter, name, *names)


@rule_for(operator.methodcaller)
def _methodcaller(
    _: Interpreter, name: Symbol, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    return _made(operator.methodcaller, name, *arguments, **keywords)


@registering(INSTANCES, (operator.itemgetter,))
def _get_items(interpreter: Interpreter, getter: Symbol, obj: Symbol, /) -> Symbol:
    keys, _ = _given(interpreter, getter)
    found = [subscripts.item(interpreter, obj, key) for key in keys]
    return found[0] if len(found) == 1 else Tuple(tuple(found))


@registering(INSTANCES, (operator.attrgetter,))
def _get_attributes(interpreter: Interpreter, getter: Symbol, obj: Symbol, /) -> Symbol:
    names, _ = _given(interpreter, getter)
    found = []
    for name in names:
        path = known_value(interpreter, name)
        if not isinstance(path, str):
            raise raise_error(TypeError, "attribute name must be a string")
        value = obj
        for step in path.split("."):
            value = attribute(interpreter, value, step)
        found.append(value)
    return found[0] if len(found) == 1 else Tuple(tuple(found))


@registering(INSTANCES, (operator.methodcaller,))
def _call_method(interpreter: Interpreter, caller: Symbol, obj: Symbol, /) -> Symbol:
    (name, *given), named = _given(interpreter, caller)
    return interpreter.call(
        attribute(interpreter, obj, known_value(interpreter, name)), given, named
    )


# functools -------------------------------------------------------------------------------------------------------


@rule_for(functools.reduce)
def _reduce(
    interpreter: Interpreter, function: Symbol, iterable: Symbol, initial: Symbol | None = None, /
) -> Symbol:
    iterator = iterate.iterator_over(interpreter, iterable)
    total = initial
    for _ in range(iterate.LONGEST_SEQUENCE):
        item = iterate.next_item(interpreter, iterator)
        if item is None:
            break
        total = item if total is None else interpreter.call(function, (total, item))
    else:
        raise GraphBreak("loop")
    if total is None:
        return pure(functools.reduce, operator.add, ())  # words the error as this Python does
    return total


@rule_for(functools.partial)
def _partial(
    interpreter: Interpreter, function: Symbol, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    function, given, named = interpreter.trace.look(function), arguments, keywords
    if isinstance(function, Instance) and function.kind is functools.partial:
        if function.source is not None:
            raise GraphBreak("call", "a partial of a partial")
        inner, before, named_before = (function.attributes[name] for name in PARTS)
        assert inner is not None
        assert isinstance(before, Tuple)
        assert isinstance(named_before, Dict)
        function, given, named = inner, (*before.items, *given), {**named_before.items, **named}
    parts = function, Tuple(given), Dict(named)
    content = Tuple((Tuple((function, *given)), parts[2]))
    return Instance(
        functools.partial, attributes=dict(zip(PARTS, parts, strict=True)), content=content
    )


PARTS = ("func", "args", "keywords")


@registering(INSTANCES, (functools.partial,))
def _call_partial(
    interpreter: Interpreter, made: Symbol, /, *arguments: Symbol, **keywords: Symbol
) -> Symbol:
    look = interpreter.trace.look
    function, before, named = (look(attribute(interpreter, made, name)) for name in PARTS)
    if not isinstance(before, Tuple) or not isinstance(named, Dict):
        raise GraphBreak("call", "a partial of unusual parts")
    placeholder = getattr(functools, "Placeholder", UNKNOWN)
    if any(
        constants_in(look(one)) is placeholder for one in before.items if placeholder is not UNKNOWN
    ):
        raise GraphBreak("call", "a partial with placeholders")
    return interpreter.call(function, (*before.items, *arguments), {**named.items, **keywords})


# copy ------------------------------------------------------------------------------------------------------------


@rule_for(copy.copy)
def _copy(interpreter: Interpreter, /, x: Symbol) -> Symbol:
    symbol = interpreter.trace.look(x)
    match symbol:
        case Tuple() | Constant() | Integer() | Function() | Range():
            return _kept(symbol)
        case Number() if number_type(symbol) != "numpy":
            return symbol
        case List(items=items):
            return List(list(items))
        case Deque(items=members):
            return Deque(members.copy())
        case Dict(items=entries):
            return Dict(dict(entries))
        case Set():
            return containers.new_set(interpreter, set.copy, symbol)
        case Array():
            return _copied_array(interpreter, symbol)
    raise GraphBreak("call", f"copy of {described(symbol)}")


def _copied_array(interpreter: Interpreter, symbol: Array) -> Symbol:
    """`copy.copy` of an array keeps its memory order."""
    if not symbol.type.contiguous:
        raise GraphBreak("call", "a copy of an array with gaps")
    return interpreter.call(attribute(interpreter, symbol, "copy"), (Constant("K"),))


def _kept(symbol: Symbol) -> Symbol:
    """An immutable value, whose copy is itself."""
    if isinstance(symbol, Constant) and not isinstance(
        symbol.value, (*PURE, frozenset, range, type)
    ):
        raise GraphBreak("call", f"copy of {described(symbol)}")
    return symbol


@rule_for(copy.deepcopy)
def _deepcopy(interpreter: Interpreter, /, x: Symbol) -> Symbol:
    return _deep(interpreter, x, {})


def _deep(interpreter: Interpreter, symbol: Symbol, met: dict[int, Symbol]) -> Symbol:
    symbol = interpreter.trace.look(symbol)
    known = met.get(id(symbol))
    if known is not None:
        return known
    if isinstance(symbol, List):
        made_list = List([])
        met[id(symbol)] = made_list
        made_list.items += [_deep(interpreter, item, met) for item in symbol.items]
        return made_list
    if isinstance(symbol, Dict):
        made_dict = Dict({})
        met[id(symbol)] = made_dict
        made_dict.items.update({k: _deep(interpreter, v, met) for k, v in symbol.items.items()})
        return made_dict
    if isinstance(symbol, Tuple | Array):
        met[id(symbol)] = copied = _deep_value(interpreter, symbol, met)
        return copied
    if isinstance(symbol, Set | Number | Instance):
        raise GraphBreak("call", f"deepcopy of {described(symbol)}")
    return _copy(interpreter, symbol)


def _deep_value(interpreter: Interpreter, symbol: Tuple | Array, met: dict[int, Symbol]) -> Symbol:
    """The deep copy of an array, or of a tuple, which is itself unless the copy of an item is another object."""
    if isinstance(symbol, Array):
        return _copied_array(interpreter, symbol)
    look = interpreter.trace.look
    given = [_deep(interpreter, part, met) for part in symbol.items]
    is_same = all(a is look(b) for a, b in zip(given, symbol.items, strict=True))
    return symbol if is_same else Tuple(tuple(given))

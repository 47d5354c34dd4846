"""The modules operator, functools and copy."""

from __future__ import annotations

import copy
import functools
import operator

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.interpreter.rules import INSTANCES, SPECIAL, Given, Positional, Rule, rule_for
from ufuse.frame_hook.library.lazy import bound
from ufuse.frame_hook.library.numeric import one_of
from ufuse.frame_hook.objects.classes import KEY_MAKER
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


def _fits(arguments: Positional, keywords: Given, count: int, name: str) -> None:
    if keywords or len(arguments) != count:
        raise GraphBreak("eager-raises", f"TypeError: {name} expected {count} arguments")


def _binary(sign: str, *, in_place: bool) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        _fits(arguments, keywords, 2, sign)
        left, right = arguments
        return arithmetic.binary(interpreter, sign, left, right, in_place=in_place)

    return rule


def _comparison(name: str) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        _fits(arguments, keywords, 2, name)
        return comparisons.compare(interpreter, name, *arguments)

    return rule


def _unary(name: str) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        return arithmetic.unary(interpreter, name, one_of(arguments, keywords, name))

    return rule


for _sign, (_name, *_rest) in arithmetic.BINARY.items():
    rule_for(getattr(operator, _name))(_binary(_sign, in_place=False))
    rule_for(getattr(operator, f"i{_name.strip('_')}"))(_binary(_sign, in_place=True))
for _name in comparisons.COMPARE:
    rule_for(getattr(operator, _name))(_comparison(_name))
for _name in arithmetic.UNARY:
    rule_for(getattr(operator, _name))(_unary(_name))


@rule_for(operator.index)
def _index(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    symbol = interpreter.trace.look(one_of(arguments, keywords, "index"))
    if isinstance(symbol, Integer):
        return symbol
    if isinstance(symbol, Constant):
        return pure(operator.index, symbol.value)
    raise GraphBreak("call", f"operator.index of {described(symbol)}")


@rule_for(operator.getitem)
def _getitem(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _fits(arguments, keywords, 2, "getitem")
    return subscripts.item(interpreter, *arguments)


@rule_for(operator.setitem)
def _setitem(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _fits(arguments, keywords, 3, "setitem")
    subscripts.store_item(interpreter, *arguments)
    return NONE


@rule_for(operator.delitem)
def _delitem(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _fits(arguments, keywords, 2, "delitem")
    subscripts.delete_item(interpreter, *arguments)
    return NONE


@rule_for(operator.contains)
def _contains(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _fits(arguments, keywords, 2, "contains")
    return Constant(subscripts.contains(interpreter, *arguments))


@rule_for(operator.truth)
def _truth(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return Constant(arithmetic.truth(interpreter, one_of(arguments, keywords, "truth")))


@rule_for(operator.not_)
def _not(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return Constant(not arithmetic.truth(interpreter, one_of(arguments, keywords, "not_")))


@rule_for(operator.is_)
def _is(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _fits(arguments, keywords, 2, "is_")
    return Constant(comparisons.identical(interpreter, *arguments))


@rule_for(operator.is_not)
def _is_not(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _fits(arguments, keywords, 2, "is_not")
    return Constant(not comparisons.identical(interpreter, *arguments))


def _length(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    return arithmetic.length(interpreter, one_of(arguments, keywords, "__len__"))


SPECIAL.update(
    __len__=_length,
    __getitem__=_getitem,
    __setitem__=_setitem,
    __delitem__=_delitem,
    __contains__=_contains,
)


# Callables that hold what they were made of ----------------------------------------------------------------------


def _given(interpreter: Interpreter, made: Symbol) -> tuple[tuple[Symbol, ...], dict[str, Symbol]]:
    """What a getter, caller or partial of the trace was made of; of one that the frame brought, where it is known."""
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
    """Getters and callers cannot change: that it is the same one says all; what they hold must outlive nothing."""
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


def _maker(kind: type, least: int) -> None:
    @rule_for(kind)
    def make(_: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        if len(arguments) < least or (keywords and kind is not operator.methodcaller):
            raise GraphBreak("eager-raises", f"TypeError: the arguments of {kind.__name__}")
        return Instance(kind, content=Tuple((Tuple(tuple(arguments)), Dict(dict(keywords)))))


for _kind in (operator.itemgetter, operator.attrgetter, operator.methodcaller):
    _maker(_kind, 1)


def _get_items(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    getter, *subject = arguments
    keys, _ = _given(interpreter, getter)
    of = one_of(subject, keywords, "itemgetter")
    found = [subscripts.item(interpreter, of, key) for key in keys]
    return found[0] if len(found) == 1 else Tuple(tuple(found))


def _get_attributes(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    getter, *subject = arguments
    names, _ = _given(interpreter, getter)
    of = one_of(subject, keywords, "attrgetter")
    found = []
    for name in names:
        path = known_value(interpreter, name)
        if not isinstance(path, str):
            raise raise_error(TypeError, "attribute name must be a string")
        value = of
        for step in path.split("."):
            value = attribute(interpreter, value, step)
        found.append(value)
    return found[0] if len(found) == 1 else Tuple(tuple(found))


def _call_method(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    caller, *subject = arguments
    (name, *given), named = _given(interpreter, caller)
    method = attribute(
        interpreter, one_of(subject, keywords, "methodcaller"), known_value(interpreter, name)
    )
    return interpreter.call(method, given, named)


INSTANCES[operator.itemgetter] = _get_items
INSTANCES[operator.attrgetter] = _get_attributes
INSTANCES[operator.methodcaller] = _call_method


# functools -------------------------------------------------------------------------------------------------------


@rule_for(functools.reduce)
def _reduce(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    function, over, initial = bound(arguments, keywords, "function", "iterable", "initial", least=2)
    assert function is not None
    assert over is not None
    iterator = iterate.iterator_over(interpreter, over)
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
def _partial(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if not arguments:
        raise GraphBreak("eager-raises", "TypeError: partial takes at least one argument")
    function, *given = arguments
    function = interpreter.trace.look(function)
    named = dict(keywords)
    if isinstance(function, Instance) and function.kind is functools.partial:
        if function.source is not None:
            raise GraphBreak("call", "a partial of a partial")
        inner, before, named_before = (function.attributes[name] for name in PARTS)
        assert inner is not None
        assert isinstance(before, Tuple)
        assert isinstance(named_before, Dict)
        function, given, named = inner, [*before.items, *given], {**named_before.items, **named}
    parts = function, Tuple(tuple(given)), Dict(named)
    content = Tuple((Tuple((function, *given)), parts[2]))
    return Instance(
        functools.partial, attributes=dict(zip(PARTS, parts, strict=True)), content=content
    )


PARTS = ("func", "args", "keywords")


def _call_partial(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    made, *given = arguments
    look = interpreter.trace.look
    function, before, named = (look(attribute(interpreter, made, name)) for name in PARTS)
    if not isinstance(before, Tuple) or not isinstance(named, Dict):
        raise GraphBreak("call", "a partial of unusual parts")
    placeholder = getattr(functools, "Placeholder", UNKNOWN)
    if any(
        constants_in(look(one)) is placeholder for one in before.items if placeholder is not UNKNOWN
    ):
        raise GraphBreak("call", "a partial with placeholders")
    return interpreter.call(function, (*before.items, *given), {**named.items, **keywords})


INSTANCES[functools.partial] = _call_partial


@rule_for(functools.cmp_to_key)
def _cmp_to_key(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (function,) = bound(arguments, keywords, "mycmp", least=1)
    return Instance(KEY_MAKER, attributes={"compare": function})


def _make_key(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    maker, *given = arguments
    (of,) = bound(given, keywords, "obj", least=1)
    assert isinstance(maker, Instance)
    if maker.source is not None:
        raise GraphBreak("call", "a key function that was made before")
    return Instance(KEY_MAKER, attributes={"compare": maker.attributes["compare"], "of": of})


def _compare_keys(name: str) -> Rule:
    def rule(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        keys = [interpreter.trace.look(argument) for argument in arguments]
        if not all(isinstance(key, Instance) and "of" in key.attributes for key in keys):
            raise GraphBreak("eager-raises", "TypeError: other argument must be K instance")
        compare, first = (keys[0].attributes[part] for part in ("compare", "of"))  # type: ignore[union-attr]
        second = keys[1].attributes["of"]  # type: ignore[union-attr]
        assert compare is not None
        assert first is not None
        assert second is not None
        answer = interpreter.call(compare, (first, second))
        return comparisons.compare(interpreter, name, answer, Constant(0))

    return rule


INSTANCES[KEY_MAKER] = _make_key
for _name in comparisons.COMPARE:
    rule_for(KEY_MAKER.__dict__[f"__{_name}__"])(_compare_keys(_name))


# copy ------------------------------------------------------------------------------------------------------------


@rule_for(copy.copy)
def _copy(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    symbol = interpreter.trace.look(one_of(arguments, keywords, "copy"))
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
    """An array is copied in its own order."""
    if not symbol.type.contiguous:
        raise GraphBreak("call", "a copy of an array with gaps")
    return interpreter.call(attribute(interpreter, symbol, "copy"), (Constant("K"),))


def _kept(symbol: Symbol) -> Symbol:
    """A value that cannot change, so that its copy is itself."""
    if isinstance(symbol, Constant) and not isinstance(
        symbol.value, (*PURE, frozenset, range, type)
    ):
        raise GraphBreak("call", f"copy of {described(symbol)}")
    return symbol


@rule_for(copy.deepcopy)
def _deepcopy(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    symbol = interpreter.trace.look(one_of(arguments, keywords, "deepcopy"))
    return _deep(interpreter, symbol, {})


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
    return _copy(interpreter, (symbol,), {})


def _deep_value(interpreter: Interpreter, symbol: Tuple | Array, met: dict[int, Symbol]) -> Symbol:
    """A tuple is copied where something in it is."""
    if isinstance(symbol, Array):
        return _copied_array(interpreter, symbol)
    look = interpreter.trace.look
    given = [_deep(interpreter, part, met) for part in symbol.items]
    is_same = all(a is look(b) for a, b in zip(given, symbol.items, strict=True))
    return symbol if is_same else Tuple(tuple(given))

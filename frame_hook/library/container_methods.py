"""Methods of lists, tuples, dicts and sets, and what makes these."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import METHODS, Given, Positional, Rule, rule_for
from ufuse.frame_hook.objects.classes import refuse_finalizer, special_method
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import (
    KNOWN,
    UNKNOWN,
    constants_in,
    described,
    in_any_order,
    key_of,
    known_value,
    ordered_members,
    pure,
)
from ufuse.frame_hook.operations import arithmetic, comparisons, containers, iterate, subscripts
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Deque,
    Dict,
    Instance,
    List,
    Range,
    Set,
    Symbol,
    Tuple,
    View,
    class_of,
)

NONE = Constant(None)


def method(*names: str, least: int = 0, most: int | None = None) -> Callable[[Rule], Rule]:
    """Register the rule of methods that take positional arguments only; `least` to `most` of them behind self."""

    def register(rule: Rule) -> Rule:
        @functools.wraps(rule)
        def checked(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
            count = len(arguments) - 1
            if keywords or count < least or count > (least if most is None else most):
                raise GraphBreak("eager-raises", f"TypeError: the arguments of {names[0]}")
            return rule(interpreter, arguments, keywords)

        for name in names:
            METHODS[name] = checked
        return rule

    return register


def whole(interpreter: Interpreter, symbol: Symbol) -> int:
    """An argument that has to be a whole number, and is known."""
    value = known_value(interpreter, symbol)
    if not isinstance(value, int):
        raise GraphBreak("eager-raises", f"TypeError: {type(value).__name__} as an index")
    return int(value)


def _list(symbol: Symbol) -> List:
    assert isinstance(symbol, List)
    return symbol


def _dict(symbol: Symbol) -> Dict:
    assert isinstance(symbol, Dict)
    return symbol


def _set(symbol: Symbol) -> Set:
    assert isinstance(symbol, Set)
    return symbol


# Making them -----------------------------------------------------------------------------------------------------


@rule_for(tuple)
def _make_tuple(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _at_most_one(arguments, keywords, "tuple")
    if not arguments:
        return Tuple(())
    given = interpreter.trace.look(arguments[0])
    if isinstance(given, Tuple):
        return given
    return Tuple(tuple(iterate.items_of(interpreter, given)))


@rule_for(list)
def _make_list(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _at_most_one(arguments, keywords, "list")
    return List(iterate.items_of(interpreter, arguments[0]) if arguments else [])


@rule_for(set)
def _make_set(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _at_most_one(arguments, keywords, "set")
    return containers.set_of(interpreter, arguments[0] if arguments else None)


@rule_for(frozenset)
def _make_frozenset(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _at_most_one(arguments, keywords, "frozenset")
    if not arguments:
        return containers.new_set(interpreter, frozenset)
    given = interpreter.trace.look(arguments[0])
    if isinstance(given, Constant) and type(given.value) is frozenset:
        return given
    return containers.new_set(interpreter, frozenset, given)


def _at_most_one(arguments: Positional, keywords: Given, name: str) -> None:
    if keywords or len(arguments) > 1:
        raise GraphBreak("eager-raises", f"TypeError: the arguments of {name}()")


@rule_for(dict)
def _make_dict(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    made = Dict({})
    _update(interpreter, made, arguments, keywords, "dict")
    return made


def _update(
    interpreter: Interpreter, target: Dict, arguments: Positional, keywords: Given, name: str
) -> None:
    if len(arguments) > 1:
        raise GraphBreak("eager-raises", f"TypeError: the arguments of {name}()")
    for argument in arguments:
        containers.update(interpreter, target, argument)
    for key, value in keywords.items():
        containers.store_entry(interpreter, target, Constant(key), value)


@rule_for(dict.__dict__["fromkeys"])
def _fromkeys(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    kind, *given = arguments
    if class_of(kind) is not dict or keywords or not 1 <= len(given) <= 2:
        raise GraphBreak("call", "fromkeys")
    value = given[1] if len(given) > 1 else NONE
    keys = iterate.items_of(interpreter, given[0])
    return Dict({key_of(interpreter, key): value for key in keys})


# Lists -----------------------------------------------------------------------------------------------------------


@method("list.append", least=1)
def _append(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, item = arguments
    _list(target).items.append(item)
    interpreter.trace.changes.call(list.append, target, item)
    return NONE


@method("list.extend", least=1)
def _extend(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    containers.extend(interpreter, _list(arguments[0]), arguments[1])
    return NONE


@method("list.insert", least=2)
def _insert(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, where, item = arguments
    place = whole(interpreter, where)
    _list(target).items.insert(place, item)
    interpreter.trace.changes.call(list.insert, target, Constant(place), item)
    return NONE


@method("list.pop", most=1)
def _pop(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target = _list(arguments[0])
    place = whole(interpreter, arguments[1]) if len(arguments) > 1 else -1
    if not target.items:
        raise raise_error(IndexError, "pop from empty list")
    if not -len(target.items) <= place < len(target.items):
        raise raise_error(IndexError, "pop index out of range")
    interpreter.trace.changes.call(list.pop, target, Constant(place))
    return target.items.pop(place)


@method("list.remove", least=1)
def _remove(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target = _list(arguments[0])
    place = _place(interpreter, target, arguments[1], 0, None)
    if place is None:
        raise raise_error(ValueError, "list.remove(x): x not in list")
    if place < len(target.items):  # comparing may have made it shorter
        refuse_finalizer(target.items[place])
        del target.items[place]
        interpreter.trace.changes.call(list.__delitem__, target, Constant(place))
    return NONE


def _place(
    interpreter: Interpreter, sequence: List | Tuple, wanted: Symbol, start: int, stop: int | None
) -> int | None:
    """Where a sequence first holds something equal; None where nowhere."""
    wanted = interpreter.trace.look(wanted)
    length = len(sequence.items)
    place = start if start >= 0 else max(0, start + length)
    end = stop if stop is None or stop >= 0 else max(0, stop + length)
    # Comparing may run code that changes the list.
    while place < len(sequence.items) and (end is None or place < end):
        if comparisons.equal_or_same(interpreter, sequence.items[place], wanted):
            return place
        place += 1
    return None


@method("list.clear")
def _clear(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    for dropped in _list(arguments[0]).items:
        refuse_finalizer(dropped)
    _list(arguments[0]).items.clear()
    interpreter.trace.changes.call(list.clear, arguments[0])
    return NONE


@method("list.reverse")
def _reverse(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    _list(arguments[0]).items.reverse()
    interpreter.trace.changes.call(list.reverse, arguments[0])
    return NONE


@method("list.copy")
def _copy(_: Interpreter, arguments: Positional, __: Given) -> Symbol:
    return List(list(_list(arguments[0]).items))


@method("list.index", "tuple.index", least=1, most=3)
def _index(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    sequence, wanted, *bounds = arguments
    assert isinstance(sequence, List | Tuple)
    start = whole(interpreter, bounds[0]) if bounds else 0
    stop = whole(interpreter, bounds[1]) if len(bounds) > 1 else None
    place = _place(interpreter, sequence, wanted, start, stop)
    if place is not None:
        return Constant(place)
    if isinstance(sequence, Tuple):
        raise raise_error(ValueError, "tuple.index(x): x not in tuple")
    if not isinstance(look := interpreter.trace.look(wanted), Constant) or not isinstance(
        look.value, KNOWN
    ):
        raise GraphBreak("eager-raises", "ValueError: it is not in the list")
    return pure([].index, look.value)  # words the error as this Python does


@method("list.count", "tuple.count", least=1)
def _count(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    sequence, wanted = arguments
    assert isinstance(sequence, List | Tuple)
    wanted = interpreter.trace.look(wanted)
    same = [comparisons.equal_or_same(interpreter, one, wanted) for one in sequence.items]
    return Constant(sum(same))


# Sorting ---------------------------------------------------------------------------------------------------------


class Compared:
    """What Python's own sort sees of a symbol: it asks `<` only, so the trace is asked as often as eager would be."""

    __slots__ = ("interpreter", "key", "symbol")

    def __init__(self, interpreter: Interpreter, key: Symbol, symbol: Symbol) -> None:
        self.interpreter = interpreter
        self.key = key
        self.symbol = symbol

    def __lt__(self, other: Compared) -> bool:
        relation = comparisons.compare(self.interpreter, "lt", self.key, other.key)
        return arithmetic.truth(self.interpreter, relation)


def sorted_items(interpreter: Interpreter, items: list[Symbol], keywords: Given) -> list[Symbol]:
    """The items in order: with Python's own sort, on values where they are known."""
    options = dict(keywords)
    key = interpreter.trace.look(options.pop("key", NONE))
    reverse = arithmetic.truth(interpreter, options.pop("reverse", Constant(value=False)))
    if options:
        raise GraphBreak("eager-raises", f"TypeError: sort() has no argument {next(iter(options))}")
    keys = items
    if not isinstance(key, Constant) or key.value is not None:
        keys = [interpreter.call(key, (item,)) for item in items]
    rows = [
        Compared(interpreter, interpreter.trace.look(k), item)
        for k, item in zip(keys, items, strict=True)
    ]
    values = [constants_in(row.key) for row in rows]
    if not any(value is UNKNOWN for value in values):
        order = pure(lambda: sorted(range(len(rows)), key=values.__getitem__, reverse=reverse))
        assert isinstance(order, List)
        return [items[place.value] for place in order.items if isinstance(place, Constant)]
    rows.sort(reverse=reverse)
    return [row.symbol for row in rows]


@rule_for(sorted)
def _sorted(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) != 1:
        raise GraphBreak("eager-raises", "TypeError: sorted expected 1 argument")
    given = interpreter.trace.look(arguments[0])
    if isinstance(given, Set) and keywords.keys() <= {"reverse"} and in_any_order(given):
        in_order: Symbol = List([Constant(value) for value in sorted(given.items)])
        return List(sorted_items(interpreter, iterate.items_of(interpreter, in_order), keywords))
    return List(sorted_items(interpreter, iterate.items_of(interpreter, given), keywords))


def _sort(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    target = _list(arguments[0])
    if len(arguments) > 1:
        raise GraphBreak("eager-raises", "TypeError: sort() takes no positional arguments")
    items = list(target.items)
    target.items.clear()  # as CPython empties it meanwhile
    try:
        found = sorted_items(interpreter, items, keywords)
    except Raised:
        if len(items) > 1:
            raise GraphBreak("effect", "a sort that stops in the middle") from None
        target.items[:] = items
        raise
    if target.items:
        raise GraphBreak("eager-raises", "ValueError: list modified during sort")
    containers.replace_items(interpreter.trace, target, found)
    return NONE


METHODS["list.sort"] = _sort


# Dicts -----------------------------------------------------------------------------------------------------------


@method("dict.get", least=1, most=2)
def _get(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    default = arguments[2] if len(arguments) > 2 else NONE
    return _dict(arguments[0]).items.get(key_of(interpreter, arguments[1]), default)


@method("dict.setdefault", least=1, most=2)
def _setdefault(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, key = _dict(arguments[0]), arguments[1]
    known = target.items.get(key_of(interpreter, key))
    if known is not None:
        return known
    value = arguments[2] if len(arguments) > 2 else NONE
    containers.store_entry(interpreter, target, key, value)
    return value


@method("dict.pop", least=1, most=2)
def _dict_pop(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target, key = _dict(arguments[0]), key_of(interpreter, arguments[1])
    if key in target.items:
        return containers.delete_entry(interpreter.trace, target, key)
    if len(arguments) > 2:
        return arguments[2]
    raise raise_error(KeyError, key)


@method("dict.popitem")
def _popitem(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target = _dict(arguments[0])
    if not target.items:
        raise raise_error(KeyError, "popitem(): dictionary is empty")
    return containers.take_last_entry(interpreter.trace, target)


@method("dict.clear")
def _dict_clear(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    for dropped in _dict(arguments[0]).items.values():
        refuse_finalizer(dropped)
    _dict(arguments[0]).items.clear()
    interpreter.trace.changes.call(dict.clear, arguments[0])
    return NONE


@method("dict.copy")
def _dict_copy(_: Interpreter, arguments: Positional, __: Given) -> Symbol:
    return Dict(dict(_dict(arguments[0]).items))


def _dict_update(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    _update(interpreter, _dict(arguments[0]), arguments[1:], keywords, "update")
    return NONE


METHODS["dict.update"] = _dict_update


def _view(kind: str) -> Rule:
    def view(_: Interpreter, arguments: Positional, __: Given) -> Symbol:
        return View(_dict(arguments[0]), kind)

    return view


for _kind in ("keys", "values", "items"):
    method(f"dict.{_kind}")(_view(_kind))


@method("view.isdisjoint", "set.isdisjoint", "frozenset.isdisjoint", least=1)
def _isdisjoint(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    one, other = arguments
    if isinstance(one, View) and one.kind != "keys":
        raise GraphBreak("call", "isdisjoint of pairs")
    other = unwrapped(interpreter.trace, interpreter.trace.look(other), "__iter__")
    if isinstance(other, Instance) or containers.may_run_code(interpreter, other):
        return Constant(not _gives_any(interpreter, other, one, inside=True))
    mine, theirs = (containers.operand(interpreter, side)[0] for side in (one, other))
    return Constant(set(mine).isdisjoint(theirs))


def _gives_any(interpreter: Interpreter, over: Symbol, members: Symbol, *, inside: bool) -> bool:
    """Whether an iterable gives something that is a member, or none; what comes behind that is not taken."""
    return any(
        subscripts.contains(interpreter, members, item) == inside
        for item in iterate.each_item(interpreter, over)
    )


@rule_for(reversed)
def _reversed(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 1:
        raise GraphBreak("eager-raises", "TypeError: the arguments of reversed()")
    symbol = interpreter.trace.look(arguments[0])
    new = functools.partial(iterate.new_iterator, interpreter)
    match symbol:
        case List() | Tuple():
            return new("reversed", [symbol], length=len(symbol.items))
        case Deque():
            return iterate.over_deque(interpreter, symbol, backwards=True)
        case Dict() | View():
            mapping = symbol.of if isinstance(symbol, View) else symbol
            kind = symbol.kind if isinstance(symbol, View) else "keys"
            return iterate.over_mapping(interpreter, mapping, kind, backwards=True)
        case Range() | Constant(value=range()):
            real = (
                symbol.value
                if isinstance(symbol, Constant)
                else iterate.fixed_range(interpreter, symbol)
            )
            return new("constant", [Constant(real[::-1])], length=iterate.length_of(real))
        case Constant(value=str() | bytes() | tuple() as value):
            turned = Constant(tuple(value)[::-1])
            return new("constant backwards", [turned], length=len(value))
        case Instance():
            return _reversed_instance(interpreter, symbol)
    return _reversed_rows(interpreter, symbol)


def _reversed_instance(interpreter: Interpreter, symbol: Instance) -> Symbol:
    special = special_method(interpreter, symbol, "__reversed__")
    if special is None:
        raise GraphBreak("call", f"reversed of a {symbol.kind.__name__}")
    return interpreter.call(special)


def _reversed_rows(interpreter: Interpreter, symbol: Symbol) -> Symbol:
    if not isinstance(symbol, Array) or not symbol.type.shape:
        raise GraphBreak("call", f"reversed of {described(symbol)}")
    count = interpreter.trace.sizes.fixed(symbol.type.shape[0])
    if count > iterate.LONGEST_SEQUENCE // 10:
        raise GraphBreak("loop")
    return iterate.new_iterator(interpreter, "rows backwards", [symbol], length=count)


# Sets ------------------------------------------------------------------------------------------------------------


def _changing(name: str) -> Rule:
    def change(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        target, member = arguments
        value = key_of(interpreter, member)
        if name == "remove" and value not in _set(target).items:
            raise raise_error(KeyError, value)
        containers.change_set(interpreter, _set(target), name, value)
        return NONE

    return change


for _name in ("add", "discard", "remove"):
    method(f"set.{_name}", least=1)(_changing(_name))


@method("set.pop")
def _set_pop(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    target = _set(arguments[0])
    if not target.items:
        raise raise_error(KeyError, "pop from an empty set")
    ordered_members(target)
    return Constant(containers.change_set(interpreter, target, "pop"))


@method("set.clear")
def _set_clear(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    containers.change_set(interpreter, _set(arguments[0]), "clear")
    return NONE


@method("set.copy")
def _set_copy(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
    return containers.new_set(interpreter, set.copy, arguments[0])


@method("frozenset.copy")
def _frozenset_copy(_: Interpreter, arguments: Positional, __: Given) -> Symbol:
    return arguments[0]


def _updating(name: str) -> Rule:
    def change(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        containers.update_set(interpreter, _set(arguments[0]), name, *arguments[1:])
        return NONE

    return change


def _combining(name: str) -> Rule:
    def combine(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        kind = frozenset if isinstance(arguments[0], Constant) else set
        return containers.new_set(interpreter, getattr(kind, name), *arguments)

    return combine


def _relating(name: str) -> Rule:
    def relate(interpreter: Interpreter, arguments: Positional, _: Given) -> Symbol:
        one, other = arguments
        if name == "issuperset" and containers.may_run_code(interpreter, other):
            return Constant(not _gives_any(interpreter, other, one, inside=False))
        mine, theirs = (row[0] for row in containers.operands(interpreter, name, arguments))
        return Constant(getattr(mine, name)(theirs))

    return relate


MANY = 1000
for _name in ("union", "intersection", "difference", "symmetric_difference"):
    _most = 1 if _name == "symmetric_difference" else MANY
    _least = 1 if _name == "symmetric_difference" else 0
    method(f"set.{_name}", f"frozenset.{_name}", least=_least, most=_most)(_combining(_name))
    _method = "update" if _name == "union" else f"{_name}_update"
    method(f"set.{_method}", least=_least, most=_most)(_updating(_method))
for _name in ("issubset", "issuperset"):
    method(f"set.{_name}", f"frozenset.{_name}", least=1)(_relating(_name))

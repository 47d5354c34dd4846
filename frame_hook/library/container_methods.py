"""Methods of lists, tuples, dicts and sets, and what makes these."""

from __future__ import annotations

import functools

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import Rule, method, rule_for
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


def whole(interpreter: Interpreter, symbol: Symbol) -> int:
    """An argument that has to be a whole number, and is known."""
    value = known_value(interpreter, symbol)
    if not isinstance(value, int):
        raise GraphBreak("eager-raises", f"TypeError: {type(value).__name__} as an index")
    return int(value)


# Making them -----------------------------------------------------------------------------------------------------


@rule_for(tuple)
def _make_tuple(interpreter: Interpreter, iterable: Symbol | None = None, /) -> Symbol:
    if iterable is None:
        return Tuple(())
    given = interpreter.trace.look(iterable)
    iterate.refuse_number(interpreter, given)
    return given if isinstance(given, Tuple) else Tuple(tuple(iterate.items_of(interpreter, given)))


@rule_for(list)
def _make_list(interpreter: Interpreter, iterable: Symbol | None = None, /) -> Symbol:
    if iterable is None:
        return List([])
    iterate.refuse_number(interpreter, iterable)
    return List(iterate.items_of(interpreter, iterable))


@rule_for(set)
def _make_set(interpreter: Interpreter, iterable: Symbol | None = None, /) -> Symbol:
    return containers.set_of(interpreter, iterable)


@rule_for(frozenset)
def _make_frozenset(interpreter: Interpreter, iterable: Symbol | None = None, /) -> Symbol:
    if iterable is None:
        return containers.new_set(interpreter, frozenset)
    given = interpreter.trace.look(iterable)
    if isinstance(given, Constant) and type(given.value) is frozenset:
        return given
    return containers.new_set(interpreter, frozenset, given)


@rule_for(dict)
def _make_dict(
    interpreter: Interpreter, iterable: Symbol | None = None, /, **entries: Symbol
) -> Symbol:
    made = Dict({})
    _update(interpreter, made, iterable, **entries)
    return made


@method("dict.update")
def _update(
    interpreter: Interpreter, target: Dict, iterable: Symbol | None = None, /, **entries: Symbol
) -> Symbol:
    if iterable is not None:
        containers.update(interpreter, target, iterable)
    for key, value in entries.items():
        containers.store_entry(interpreter, target, Constant(key), value)
    return NONE


@rule_for(dict.__dict__["fromkeys"])
def _fromkeys(
    interpreter: Interpreter, kind: Symbol, iterable: Symbol, value: Symbol = NONE, /
) -> Symbol:
    if class_of(kind) is not dict:
        raise GraphBreak("call", "fromkeys")
    keys = iterate.items_of(interpreter, iterable)
    return Dict({key_of(interpreter, key): value for key in keys})


# Lists -----------------------------------------------------------------------------------------------------------


@method("list.append")
def _append(interpreter: Interpreter, target: List, item: Symbol, /) -> Symbol:
    target.items.append(item)
    interpreter.trace.changes.call(list.append, target, item)
    return NONE


@method("list.extend")
def _extend(interpreter: Interpreter, target: List, iterable: Symbol, /) -> Symbol:
    containers.extend(interpreter, target, iterable)
    return NONE


@method("list.insert")
def _insert(interpreter: Interpreter, target: List, index: Symbol, item: Symbol, /) -> Symbol:
    place = whole(interpreter, index)
    target.items.insert(place, item)
    interpreter.trace.changes.call(list.insert, target, Constant(place), item)
    return NONE


@method("list.pop")
def _pop(interpreter: Interpreter, target: List, index: Symbol | None = None, /) -> Symbol:
    place = -1 if index is None else whole(interpreter, index)
    if not target.items:
        raise raise_error(IndexError, "pop from empty list")
    if not -len(target.items) <= place < len(target.items):
        raise raise_error(IndexError, "pop index out of range")
    interpreter.trace.changes.call(list.pop, target, Constant(place))
    return target.items.pop(place)


@method("list.remove")
def _remove(interpreter: Interpreter, target: List, value: Symbol, /) -> Symbol:
    place = _place(interpreter, target, value, 0, None)
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
def _clear(interpreter: Interpreter, target: List, /) -> Symbol:
    for dropped in target.items:
        refuse_finalizer(dropped)
    target.items.clear()
    interpreter.trace.changes.call(list.clear, target)
    return NONE


@method("list.reverse")
def _reverse(interpreter: Interpreter, target: List, /) -> Symbol:
    target.items.reverse()
    interpreter.trace.changes.call(list.reverse, target)
    return NONE


@method("list.copy")
def _copy(_: Interpreter, target: List, /) -> Symbol:
    return List(list(target.items))


@method("list.index", "tuple.index")
def _index(
    interpreter: Interpreter,
    sequence: List | Tuple,
    value: Symbol,
    start: Symbol | None = None,
    stop: Symbol | None = None,
    /,
) -> Symbol:
    first = 0 if start is None else whole(interpreter, start)
    end = None if stop is None else whole(interpreter, stop)
    place = _place(interpreter, sequence, value, first, end)
    if place is not None:
        return Constant(place)
    if isinstance(sequence, Tuple):
        raise raise_error(ValueError, "tuple.index(x): x not in tuple")
    wanted = interpreter.trace.look(value)
    if not isinstance(wanted, Constant) or not isinstance(wanted.value, KNOWN):
        raise GraphBreak("eager-raises", "ValueError: it is not in the list")
    return pure([].index, wanted.value)  # words the error as this Python does


@method("list.count", "tuple.count")
def _count(interpreter: Interpreter, sequence: List | Tuple, value: Symbol, /) -> Symbol:
    wanted = interpreter.trace.look(value)
    same = [comparisons.equal_or_same(interpreter, one, wanted) for one in sequence.items]
    return Constant(sum(same))


# Sorting ---------------------------------------------------------------------------------------------------------


class Compared:
    """A symbol as Python's own sort sees it: `<` is traced, and is asked as often as in plain Python."""

    __slots__ = ("interpreter", "key", "symbol")

    def __init__(self, interpreter: Interpreter, key: Symbol, symbol: Symbol) -> None:
        self.interpreter = interpreter
        self.key = key
        self.symbol = symbol

    def __lt__(self, other: Compared) -> bool:
        relation = comparisons.compare(self.interpreter, "lt", self.key, other.key)
        return arithmetic.truth(self.interpreter, relation)


def sorted_items(
    interpreter: Interpreter, items: list[Symbol], key: Symbol | None, reverse: Symbol | None
) -> list[Symbol]:
    """The items in order: with Python's own sort, on values where they are known."""
    key = NONE if key is None else interpreter.trace.look(key)
    backwards = reverse is not None and arithmetic.truth(interpreter, reverse)
    keys = items
    if not isinstance(key, Constant) or key.value is not None:
        keys = [interpreter.call(key, (item,)) for item in items]
    rows = [
        Compared(interpreter, interpreter.trace.look(k), item)
        for k, item in zip(keys, items, strict=True)
    ]
    values = [constants_in(row.key) for row in rows]
    if not any(value is UNKNOWN for value in values):
        order = pure(lambda: sorted(range(len(rows)), key=values.__getitem__, reverse=backwards))
        assert isinstance(order, List)
        return [items[place.value] for place in order.items if isinstance(place, Constant)]
    rows.sort(reverse=backwards)
    return [row.symbol for row in rows]


@rule_for(sorted)
def _sorted(
    interpreter: Interpreter,
    iterable: Symbol,
    /,
    *,
    key: Symbol | None = None,
    reverse: Symbol | None = None,
) -> Symbol:
    given = interpreter.trace.look(iterable)
    if isinstance(given, Set) and key is None and in_any_order(given):
        given = List([Constant(value) for value in sorted(given.items)])
    return List(sorted_items(interpreter, iterate.items_of(interpreter, given), key, reverse))


@method("list.sort")
def _sort(
    interpreter: Interpreter,
    target: List,
    /,
    *,
    key: Symbol | None = None,
    reverse: Symbol | None = None,
) -> Symbol:
    items = list(target.items)
    target.items.clear()  # as CPython does while it sorts
    try:
        found = sorted_items(interpreter, items, key, reverse)
    except Raised:
        if len(items) > 1:
            raise GraphBreak("effect", "a sort that stops in the middle") from None
        target.items[:] = items
        raise
    if target.items:
        raise GraphBreak("eager-raises", "ValueError: list modified during sort")
    containers.replace_items(interpreter.trace, target, found)
    return NONE


# Dicts -----------------------------------------------------------------------------------------------------------


@method("dict.get")
def _get(interpreter: Interpreter, target: Dict, key: Symbol, default: Symbol = NONE, /) -> Symbol:
    return target.items.get(key_of(interpreter, key), default)


@method("dict.setdefault")
def _setdefault(
    interpreter: Interpreter, target: Dict, key: Symbol, default: Symbol = NONE, /
) -> Symbol:
    known = target.items.get(key_of(interpreter, key))
    if known is None:
        containers.store_entry(interpreter, target, key, default)
    return default if known is None else known


@method("dict.pop")
def _dict_pop(
    interpreter: Interpreter, target: Dict, key: Symbol, default: Symbol | None = None, /
) -> Symbol:
    name = key_of(interpreter, key)
    if name in target.items:
        return containers.delete_entry(interpreter.trace, target, name)
    if default is None:
        raise raise_error(KeyError, name)
    return default


@method("dict.popitem")
def _popitem(interpreter: Interpreter, target: Dict, /) -> Symbol:
    if not target.items:
        raise raise_error(KeyError, "popitem(): dictionary is empty")
    return containers.take_last_entry(interpreter.trace, target)


@method("dict.clear")
def _dict_clear(interpreter: Interpreter, target: Dict, /) -> Symbol:
    for dropped in target.items.values():
        refuse_finalizer(dropped)
    target.items.clear()
    interpreter.trace.changes.call(dict.clear, target)
    return NONE


@method("dict.copy")
def _dict_copy(_: Interpreter, target: Dict, /) -> Symbol:
    return Dict(dict(target.items))


def _view(kind: str) -> Rule:
    def view(_: Interpreter, target: Dict, /) -> Symbol:
        return View(target, kind)

    return view


for _kind in ("keys", "values", "items"):
    method(f"dict.{_kind}")(_view(_kind))


@method("view.isdisjoint", "set.isdisjoint", "frozenset.isdisjoint")
def _isdisjoint(interpreter: Interpreter, one: Symbol, other: Symbol, /) -> Symbol:
    if isinstance(one, View) and one.kind != "keys":
        raise GraphBreak("call", "isdisjoint of pairs")
    other = unwrapped(interpreter.trace, interpreter.trace.look(other), "__iter__")
    if isinstance(other, Instance) or containers.may_run_code(interpreter, other):
        return Constant(not _gives_any(interpreter, other, one, inside=True))
    mine, theirs = (containers.operand(interpreter, side)[0] for side in (one, other))
    return Constant(set(mine).isdisjoint(theirs))


def _gives_any(interpreter: Interpreter, over: Symbol, members: Symbol, *, inside: bool) -> bool:
    """Whether an iterable gives an item that is a member (`inside`) or that is none; later items are not taken."""
    return any(
        subscripts.contains(interpreter, members, item) == inside
        for item in iterate.each_item(interpreter, over)
    )


@rule_for(reversed)
def _reversed(interpreter: Interpreter, sequence: Symbol, /) -> Symbol:
    symbol = interpreter.trace.look(sequence)
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
    def change(interpreter: Interpreter, target: Set, member: Symbol, /) -> Symbol:
        value = key_of(interpreter, member)
        if name == "remove" and value not in target.items:
            raise raise_error(KeyError, value)
        containers.change_set(interpreter, target, name, value)
        return NONE

    return change


for _name in ("add", "discard", "remove"):
    method(f"set.{_name}")(_changing(_name))


@method("set.pop")
def _set_pop(interpreter: Interpreter, target: Set, /) -> Symbol:
    if not target.items:
        raise raise_error(KeyError, "pop from an empty set")
    ordered_members(target)
    return Constant(containers.change_set(interpreter, target, "pop"))


@method("set.clear")
def _set_clear(interpreter: Interpreter, target: Set, /) -> Symbol:
    containers.change_set(interpreter, target, "clear")
    return NONE


@method("set.copy")
def _set_copy(interpreter: Interpreter, target: Set, /) -> Symbol:
    return containers.new_set(interpreter, set.copy, target)


@method("frozenset.copy")
def _frozenset_copy(_: Interpreter, target: Constant, /) -> Symbol:
    return target


def _updating(name: str) -> Rule:
    def change(interpreter: Interpreter, target: Set, /, *others: Symbol) -> Symbol:
        containers.update_set(interpreter, target, name, *others)
        return NONE

    return change


def _combining(name: str) -> Rule:
    def combine(interpreter: Interpreter, target: Symbol, /, *others: Symbol) -> Symbol:
        kind = frozenset if isinstance(target, Constant) else set
        return containers.new_set(interpreter, getattr(kind, name), target, *others)

    return combine


def _of_two(rule: Rule) -> Rule:
    def of_two(interpreter: Interpreter, target: Symbol, other: Symbol, /) -> Symbol:
        return rule(interpreter, target, other)

    return of_two


def _relating(name: str) -> Rule:
    def relate(interpreter: Interpreter, one: Symbol, other: Symbol, /) -> Symbol:
        if name == "issuperset" and containers.may_run_code(interpreter, other):
            return Constant(not _gives_any(interpreter, other, one, inside=False))
        mine, theirs = (row[0] for row in containers.operands(interpreter, name, (one, other)))
        return Constant(getattr(mine, name)(theirs))

    return relate


for _name in ("union", "intersection", "difference"):
    method(f"set.{_name}", f"frozenset.{_name}")(_combining(_name))
for _name in ("update", "intersection_update", "difference_update"):
    method(f"set.{_name}")(_updating(_name))
_name = "symmetric_difference"
method(f"set.{_name}", f"frozenset.{_name}")(_of_two(_combining(_name)))
method(f"set.{_name}_update")(_of_two(_updating(f"{_name}_update")))
for _name in ("issubset", "issuperset"):
    method(f"set.{_name}", f"frozenset.{_name}")(_relating(_name))

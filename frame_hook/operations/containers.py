"""Changes of lists, dicts and sets: made on the symbol at once, and for an object of the frame recorded as an effect.

Effects are carried out after the graph has run, so their operands are snapshots: a list given to `extend` may change
before that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any

from ufuse.frame_hook.code.instructions import VERSION
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import raise_error
from ufuse.frame_hook.objects.classes import refuse_finalizer
from ufuse.frame_hook.objects.contents import unwrapped
from ufuse.frame_hook.objects.values import as_raised, key_of, known_value
from ufuse.frame_hook.operations import iterate
from ufuse.frame_hook.operations.iterate import LONGEST_SEQUENCE
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    Dict,
    Generator,
    Instance,
    Iterator,
    List,
    Replay,
    Set,
    Slice,
    Step,
    Symbol,
    Tuple,
    View,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.size import Size

# Lists -----------------------------------------------------------------------------------------------------------


def extend(interpreter: Interpreter, target: List, more: Symbol) -> None:
    """`target.extend(more)`: item by item where taking the next may raise, so that those before it are in the list."""
    more = interpreter.trace.look(more)
    items = list(target.items) if more is target else None
    if items is None and isinstance(more, List | Tuple):
        items = list(more.items)
    if items is not None:
        _extend_by(interpreter.trace, target, items)
        return
    iterate.refuse_length_hint(interpreter, more)
    iterator = iterate.iterator_over(interpreter, more)
    iterate.refuse_length_hint(interpreter, iterator)
    while (item := iterate.next_item(interpreter, iterator)) is not None:
        _extend_by(interpreter.trace, target, [item])
        if len(target.items) > LONGEST_SEQUENCE:
            raise GraphBreak("loop")


def _extend_by(trace: Trace, target: List, items: list[Symbol]) -> None:
    target.items.extend(items)
    if len(items) == 1:
        trace.changes.call(list.append, target, items[0])
    elif items:
        trace.changes.call(list.extend, target, Tuple(tuple(items)))


def replace_items(trace: Trace, target: List, items: list[Symbol]) -> None:
    """`target[:] = items`, where `items` are its own in another order."""
    target.items[:] = items
    everything = Constant(slice(None))
    trace.changes.call(list.__setitem__, target, everything, Tuple(tuple(items)))


def place_of(trace: Trace, items: Sized, index: Size, what: str) -> int:
    """Where an index points to, guarded to stay there, or the error that it is out of range."""
    number = trace.sizes.fixed(index)
    if not -len(items) <= number < len(items):
        raise raise_error(IndexError, f"{what} index out of range")
    return number


def known_slice(interpreter: Interpreter, key: Slice) -> slice:
    """The Python slice of a symbol; the error that Python raises where a bound is no index."""
    where: slice = known_value(interpreter, key)
    try:
        where.indices(0)
    except (TypeError, ValueError) as error:
        raise as_raised(error) from None
    return where


def _indices_first() -> bool:
    """Whether `a[i:j] = iterable` computes i and j before it iterates: so CPython did up to some 3.12."""
    tried = [0]

    def growing() -> Iterable[int]:
        tried.append(1)
        yield 2

    tried[1:] = growing()
    return tried == [0, 2, 1]


INDICES_FIRST = _indices_first()


def store_slice(interpreter: Interpreter, target: List, key: Slice, value: Symbol) -> None:
    """`target[start:stop:step] = value`."""
    where = known_slice(interpreter, key)
    length = len(target.items)
    items = iterate.items_of(interpreter, value)
    if INDICES_FIRST and len(target.items) != length:
        where = _clipped(where, length, len(target.items))
    chosen = range(*where.indices(len(target.items)))
    if where.step not in (None, 1) and len(items) != len(chosen):
        text = f"attempt to assign sequence of size {len(items)} to extended slice of size {len(chosen)}"
        raise raise_error(ValueError, text)
    for dropped in target.items[where]:
        refuse_finalizer(dropped)
    target.items[where] = items
    interpreter.trace.changes.call(list.__setitem__, target, Constant(where), Tuple(tuple(items)))


def _clipped(where: slice, length: int, now: int) -> slice:
    """A slice computed for a list of one length, for the list as it is now.

    Raises:
        GraphBreak: the list has become shorter, and CPython writes behind its end.

    """
    start, stop, step = where.indices(length)
    chosen = range(start, stop, step)
    if step == 1:
        return slice(min(start, now), min(max(start, stop), now))
    if chosen and max(chosen) >= now:
        raise GraphBreak("effect", "storing into a slice of a list that has become shorter")
    return slice(start, None if stop < 0 else stop, step)


def delete_slice(interpreter: Interpreter, target: List, key: Slice) -> None:
    """`del target[start:stop:step]`."""
    where = known_slice(interpreter, key)
    for dropped in target.items[where]:
        refuse_finalizer(dropped)
    del target.items[where]
    interpreter.trace.changes.call(list.__delitem__, target, Constant(where))


# Dicts -----------------------------------------------------------------------------------------------------------


def store_entry(interpreter: Interpreter, target: Dict, key: Symbol, value: Symbol) -> None:
    """`target[key] = value`."""
    trace = interpreter.trace
    name = key_of(interpreter, key)
    key = trace.key_symbol(name) or trace.look(key)
    refuse_finalizer(target.items.get(name))
    if trace.changes.note(target):
        trace.changes.replaced(target.items.get(name))
    target.items[name] = value
    if target.source is not None:
        trace.changes.effect("dict_set", target, key, value)


def delete_entry(trace: Trace, target: Dict, key: Any) -> Symbol:
    """`del target[key]` for a key that is there; gives the value."""
    value = _without_entry(trace, target, key)
    if target.source is not None:
        trace.changes.effect("dict_set", target, Constant(key), None)
    return value


def take_last_entry(trace: Trace, target: Dict) -> Symbol:
    """`target.popitem()`; the effect is that call, not a deletion, which leaves the dict with another layout."""
    key = next(reversed(target.items))
    value = _without_entry(trace, target, key)
    if target.source is not None:
        trace.changes.effect("call", target, what=dict.popitem)
    return Tuple((Constant(key), value))


def _without_entry(trace: Trace, target: Dict, key: Any) -> Symbol:
    refuse_finalizer(target.items[key])
    if trace.changes.note(target):
        trace.changes.replaced(target.items[key])
    return target.items.pop(key)


def update(interpreter: Interpreter, target: Dict, more: Symbol) -> None:
    """`target.update(more)` for a mapping or for pairs."""
    look, reading = interpreter.trace.look, ("keys", "__getitem__", "__iter__")
    more = unwrapped(interpreter.trace, look(more), *reading)
    if isinstance(more, Dict):
        for key, value in list(more.items.items()):
            store_entry(interpreter, target, Constant(key), value)
        return
    if not isinstance(more, List | Tuple | View) and not _has_no_keys(more):
        raise GraphBreak("effect", f"updating a dict with {iterate.described_kind(more)}")
    for place, pair in enumerate(iterate.each_item(interpreter, more)):
        key, value = _pair(interpreter, pair, place)
        store_entry(interpreter, target, key, value)


def _has_no_keys(symbol: Symbol) -> bool:
    return type(symbol).__name__ in ("Iterator", "Generator", "Set", "Deque") or (
        isinstance(symbol, Constant) and isinstance(symbol.value, str | tuple | range | frozenset)
    )


def _pair(interpreter: Interpreter, pair: Symbol, place: int) -> list[Symbol]:
    pair = interpreter.trace.look(pair)
    if not isinstance(pair, List | Tuple) and not (
        isinstance(pair, Constant) and isinstance(pair.value, str | tuple)
    ):
        raise GraphBreak("effect", "updating a dict with unusual pairs")
    parts = iterate.items_of(interpreter, pair)
    if len(parts) != 2:
        text = f"dictionary update sequence element #{place} has length {len(parts)}; 2 is required"
        raise raise_error(ValueError, text)
    return parts


# Sets ------------------------------------------------------------------------------------------------------------


def add(interpreter: Interpreter, target: Set, member: Symbol) -> None:
    """`target.add(member)`."""
    change_set(interpreter, target, "add", key_of(interpreter, member))


def change_set(interpreter: Interpreter, target: Set, name: str, *values: Any) -> Any:
    """Call a method of a set with known values: on the symbol's real set, recorded in `made` and as an effect."""
    method: Callable[..., Any] = getattr(set, name)
    result = method(target.items, *values)
    if target.made is not None:
        target.made.append(Step(method, values))
    constants = [Constant(value) for value in values]
    interpreter.trace.changes.call(method, target, *constants)
    return result


# What these do with each item as it comes; the other methods change the set when all items were taken.
ITEM_BY_ITEM = {"update": "add", "difference_update": "discard"}


def update_set(interpreter: Interpreter, target: Set, name: str, *others: Symbol) -> None:
    """`target.update(*others)` and its kin, `|=` among them."""
    if name not in ITEM_BY_ITEM:
        _update_by(interpreter, target, name, *others)
        return
    for other in others:
        if may_run_code(interpreter, other):
            _change_by_each(interpreter, target, ITEM_BY_ITEM[name], other)
        else:
            _update_by(interpreter, target, name, other)


def _update_by(interpreter: Interpreter, target: Set, name: str, *others: Symbol) -> None:
    """Change a set by operands that are all taken first."""
    method: Callable[..., Any] = getattr(set, name)
    arguments = operands(interpreter, name, others, target.items)
    method(target.items, *(real for real, _, _ in arguments))
    if target.made is not None:
        steps = tuple(step for _, step, _ in arguments)
        unknown = any(step is None for step in steps)
        target.made = None if unknown else [*target.made, Step(method, steps)]
    handed = [symbol for _, _, symbol in arguments]
    interpreter.trace.changes.call(method, target, *handed)


def _change_by_each(interpreter: Interpreter, target: Set, name: str, more: Symbol) -> None:
    """Change a set item by item, by an iterable that may read the set meanwhile, or raise."""
    for item in iterate.each_item(interpreter, more):
        change_set(interpreter, target, name, key_of(interpreter, item))


def may_run_code(interpreter: Interpreter, symbol: Symbol) -> bool:
    """Whether iterating over a set's operand may run code of the user's, or raise."""
    symbol = interpreter.trace.look(symbol)
    if isinstance(symbol, Instance):
        return not issubclass(symbol.kind, set | frozenset)  # set methods read these in C
    is_class = isinstance(symbol, Constant) and isinstance(symbol.value, type)
    return is_class or isinstance(symbol, Iterator | Generator)


# Methods that stop iterating when every member of the set was met.
MEETING = {"intersection", "intersection_update"} | ({"issubset"} if VERSION >= (3, 12) else set())


def operands(
    interpreter: Interpreter, name: str, symbols: Sequence[Symbol], target: set[Any] | None = None
) -> list[tuple[Any, Any, Symbol]]:
    """`operand` of each argument of a method; `target` is the set that it changes.

    Raises:
        GraphBreak: iterating over one of them changes a set that was taken before.

    """
    found: list[tuple[Any, Any, Symbol]] = []
    met = target if name in MEETING else None
    for symbol in symbols:
        taken = [real for real in (target, *(row[0] for row in found)) if type(real) is set]
        before = [set(real) for real in taken] if may_run_code(interpreter, symbol) else taken
        found.append(operand(interpreter, symbol, met))
        if taken != before:
            raise GraphBreak("operator", "a set that changes while it is combined with others")
        if name in MEETING:
            real = found[-1][0]
            met = set(real) if met is None else met.intersection(real)
    return found


def operand(
    interpreter: Interpreter, symbol: Symbol, met: set[Any] | None = None
) -> tuple[Any, Any, Symbol]:
    """A set's operand: the real value; the same for a `Step` (None: its order is not known); a snapshot for effects.

    `met`: an iterator is asked no further when it has given all of these.
    """
    symbol = interpreter.trace.look(symbol)
    if isinstance(symbol, Instance) and issubclass(symbol.kind, set):
        symbol = unwrapped(interpreter.trace, symbol)  # whatever its methods
    match symbol:
        case Set(items=members, source=None):
            if symbol.made is None:
                return members, None, symbol
            replay = Replay(symbol.made)
            return members, replay, Set(members, made=list(symbol.made), born=symbol.born)
        case Set(items=members):
            return members, members.copy() if len(members) < 2 else None, symbol
        case Constant(value=frozenset() as value, source=source):
            return value, value if source is None or len(value) < 2 else None, symbol
        case Dict(items=entries):
            keys = dict.fromkeys(entries)
            return keys, keys, Dict(dict(entries))
        case View(of=Dict(items=entries), kind="keys"):
            keys = dict.fromkeys(entries)
            return keys.keys(), tuple(keys), View(Dict(dict(entries)), "keys")
    if may_run_code(interpreter, symbol):
        items = tuple(_keys_until(interpreter, symbol, met))
    else:
        items = tuple(key_of(interpreter, item) for item in iterate.items_of(interpreter, symbol))
    return items, items, Constant(items)


def _keys_until(interpreter: Interpreter, symbol: Symbol, met: set[Any] | None) -> Iterable[Any]:
    """The keys that an iterable gives, until all members of a set were met."""
    left = set() if met is None else set(met)
    for item in iterate.each_item(interpreter, symbol):
        key = key_of(interpreter, item)
        yield key
        if key in left:
            left.remove(key)
            if not left:
                return


def new_set(interpreter: Interpreter, function: Callable[..., Any], *parts: Symbol) -> Symbol:
    """The set that an operator or a method makes of others."""
    taken = operands(interpreter, function.__name__, parts)
    result = function(*(real for real, _, _ in taken))
    steps = tuple(step for _, step, _ in taken)
    unknown = any(step is None for step in steps) and len(result) > 1
    if type(result) is frozenset:
        if unknown:
            raise GraphBreak("operator", "a frozenset of a set whose order is not followed")
        known = Step(function, steps, begins=True)
        if any(step is None for step in steps):
            known = Step(frozenset, (tuple(result),), begins=True)
        return interpreter.trace.made_frozenset(Constant(result), known)
    assert type(result) is set
    made = None if unknown else [Step(function, steps, begins=True)]
    if not unknown and any(step is None for step in steps):
        made = [Step(set.add, (member,)) for member in result]
    return Set(result, made=made, born=interpreter.root_count)


def set_of(interpreter: Interpreter, more: Symbol | None) -> Set:
    """`set(more)`."""
    made = Set(set(), born=interpreter.root_count)
    if more is not None:
        _update_by(interpreter, made, "update", more)
    return made


def is_set(symbol: Symbol) -> bool:
    """Whether it is an operand of the set operators."""
    return (
        isinstance(symbol, Set)
        or (isinstance(symbol, View) and symbol.kind in ("keys", "items"))
        or (isinstance(symbol, Constant) and isinstance(symbol.value, frozenset))
    )


SET_OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "|": (operator.or_, "update"),
    "&": (operator.and_, "intersection_update"),
    "-": (operator.sub, "difference_update"),
    "^": (operator.xor, "symmetric_difference_update"),
}


def combine_sets(
    interpreter: Interpreter, sign: str, left: Symbol, right: Symbol, *, in_place: bool
) -> Symbol | None:
    """The result of a set operator; None where the operands are no sets."""
    if sign not in SET_OPERATORS or not (is_set(left) or is_set(right)):
        return None
    function, method = SET_OPERATORS[sign]
    if any(isinstance(one, View) for one in (left, right)):
        return _combine_views(interpreter, function, left, right)
    if not (is_set(left) and is_set(right)):
        return None
    if in_place and isinstance(left, Set):
        update_set(interpreter, left, method, right)
        return left
    return new_set(interpreter, function, left, right)


def on_views(
    function: Callable[[Any, Any], Any], left_kind: str, left: Any, right_kind: str, right: Any
) -> Any:
    """A set operator with a view; for a view its dict is given, and `keys` or `items`."""
    sides = [
        one.keys() if kind == "keys" else one.items() if kind == "items" else one
        for kind, one in ((left_kind, left), (right_kind, right))
    ]
    return function(*sides)


def _combine_views(
    interpreter: Interpreter, function: Callable[[Any, Any], Any], left: Symbol, right: Symbol
) -> Symbol:
    """Operators of views: a set made of the real keys or pairs."""
    reals: list[Any] = [function]
    steps: list[Any] = [function]
    for side in (left, right):
        if isinstance(side, View):
            real: Any = dict.fromkeys(side.of.items)
            if side.kind == "items":
                entries = side.of.items.items()
                real = {key: key_of(interpreter, value) for key, value in entries}
            kind, step = side.kind, real
        else:
            real, step, _ = operand(interpreter, side)
            kind = ""
        if step is None:
            raise GraphBreak("operator", "a view and a set whose order is not followed")
        reals += [kind, real]
        steps += [kind, step]
    for side, known in ((left, reals[2]), (right, reals[4])):
        if isinstance(side, View) and list(side.of.items) != list(known):
            raise GraphBreak("operator", "a dict that changes while a view is combined")
    made = [Step(on_views, tuple(steps), begins=True)]
    return Set(on_views(*reals), made=made, born=interpreter.root_count)

"""Recipes of iterators and sets: how real ones are made that are in the state of the trace's."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

from ufuse.frame_hook.interpreter.outcomes import NotRebuilt
from ufuse.frame_hook.operations.iterate import keys_left
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    Deque,
    Dict,
    Iterator,
    List,
    Replay,
    Set,
    Step,
    Symbol,
    Tuple,
)


class Made(NamedTuple):
    """A register that an output of the artefact or a row of the recipe fills; its number is known at the end."""

    by: Literal["output", "row"]
    number: int


Register = int | Made  # -1: none


class Builder(Protocol):
    """What of a recipe is needed here."""

    def register(self, symbol: Symbol | None) -> Register:
        """Where the object of a symbol will be."""

    def fill_first(self, container: Symbol) -> None:
        """Build a container whose content is needed at once."""

    def constant(self, value: Any) -> Made:
        """This very object."""

    def call(self, function: Callable[..., Any], *registers: Register) -> Made:
        """What a function makes of what is in registers."""


# Called when the recipe runs --------------------------------------------------------------------------------------


def made_set(steps: tuple[Step, ...]) -> Any:
    """A set made by the same steps as the trace's, which gives it the same order."""
    result: Any = set()
    for step in steps:
        if step.begins:
            result = step.function(*_given(step))
        else:
            step.function(result, *_given(step))
    return result


def refilled(target: set[Any], steps: tuple[Step, ...]) -> None:
    """Fill an empty set of a class of the user's by the same steps as the trace's."""
    for step in steps:
        step.function(target, *_given(step))


def _given(step: Step) -> list[Any]:
    return [made_set(one) if isinstance(one, Replay) else one for one in step.arguments]


def resumed(iterator: Any, position: int) -> Any:
    """An iterator over a sequence, put at a position."""
    iterator.__setstate__(position)
    return iterator


def advanced(iterator: Any, count: int) -> Any:
    """An iterator after it has given so many items."""
    for _ in range(count):
        next(iterator)
    return iterator


def exhausted(kind: type) -> Any:
    """An iterator at its end, of the type that iterating over a `kind` gives."""
    iterator = iter(range(0) if kind is range else kind())
    next(iterator, None)
    return iterator


# An instance of a subclass may have an `__iter__` of its own.
WHOLE: dict[type, Callable[..., Any]] = {
    List: list.__iter__,
    Tuple: tuple.__iter__,
    Set: set.__iter__,
}

# What people call the kinds of iterators that have other names here.
OVER = {
    "constant": "a constant",
    "group": "a group of itertools.groupby",
    "members": "a set",
    "rows": "an array",
    "rows backwards": "a reversed array",
    "sequence": "a list or tuple",
}

# Rows -------------------------------------------------------------------------------------------------------------


def iterator_row(recipe: Builder, iterator: Iterator) -> Register:
    """The register of a real iterator in the state of the trace's.

    Raises:
        NotRebuilt: no such iterator can be made from outside.

    """
    rule = _exhausted if iterator.is_exhausted else ROWS.get(iterator.kind)
    made = rule(recipe, iterator) if rule is not None else None
    if made is None:
        over = OVER.get(iterator.kind, iterator.kind)
        raise NotRebuilt(iterator.born, f"an iterator over {over} that has begun")
    return made


def _exhausted(recipe: Builder, iterator: Iterator) -> Made | None:
    over = iterator.parts[0]
    kind: Any = {List: list, Tuple: tuple}.get(type(over))
    if isinstance(over, Constant) and type(over.value) is not str:  # str has two types of iterators
        kind = type(over.value)
    if iterator.kind not in ("sequence", "constant") or kind is None:
        return None
    return recipe.call(exhausted, recipe.constant(kind))


def _over_sequence(recipe: Builder, iterator: Iterator) -> Made | None:
    over, place = iterator.parts[0], iterator.position
    if _is_behind(over, place):
        return None
    recipe.fill_first(over)
    made = recipe.call(WHOLE.get(type(over), iter), recipe.register(over))
    if isinstance(over, List | Tuple | Array) or iterator.state is None:
        return recipe.call(resumed, made, recipe.constant(place)) if place else made
    return _advanced(recipe, made, place)


def _over_rows_on_device(recipe: Builder, iterator: Iterator) -> Made | None:
    """CuPy's own is a generator: it makes a view for each row that was taken."""
    over = iterator.parts[0]
    recipe.fill_first(over)
    return _advanced(recipe, recipe.call(iter, recipe.register(over)), iterator.position)


def _advanced(recipe: Builder, made: Made, count: int) -> Made:
    return recipe.call(advanced, made, recipe.constant(count)) if count else made


def _is_behind(over: Symbol, place: int) -> bool:
    """Whether a list has become shorter than an iterator's position: `__setstate__` would clip that."""
    return isinstance(over, List) and place > len(over.items)


def _over_mapping(recipe: Builder, iterator: Iterator) -> Made | None:
    mapping = iterator.parts[0]
    assert isinstance(mapping, Dict)
    left = iterator.state[iterator.position :]
    if tuple(mapping.items) != iterator.state or keys_left(iterator) != left:
        return None
    recipe.fill_first(mapping)
    made = recipe.call(iter, recipe.call(getattr(dict, iterator.kind), recipe.register(mapping)))
    return _advanced(recipe, made, iterator.position)


def _over_members(recipe: Builder, iterator: Iterator) -> Made | None:
    members = iterator.parts[0]
    assert isinstance(members, Set)
    if iterator.position or members.items != set(iterator.state):
        return None
    recipe.fill_first(members)
    return recipe.call(WHOLE[Set], recipe.register(members))


def _backwards(recipe: Builder, iterator: Iterator) -> Made | None:
    if _is_behind(iterator.parts[0], iterator.length):
        return None
    recipe.fill_first(iterator.parts[0])
    made = recipe.call(reversed, recipe.register(iterator.parts[0]))
    return recipe.call(resumed, made, recipe.constant(iterator.length - 1))


def _over_ordered(recipe: Builder, iterator: Iterator) -> Made | None:
    """Only before its end, and while the OrderedDict is as it was when the iterator was made."""
    mapping = iterator.parts[0]
    assert isinstance(mapping, Dict)
    try:
        is_last = next(iterator.walk, None) is None
    except RuntimeError:
        return None
    if is_last:
        return None
    recipe.fill_first(mapping)
    method = getattr(OrderedDict, iterator.kind.split()[1])
    view = recipe.call(method, recipe.register(mapping))
    made = recipe.call(reversed if iterator.state else iter, view)
    return _advanced(recipe, made, iterator.position)


def _over_deque(function: Callable[..., Any]) -> Callable[[Builder, Iterator], Made | None]:
    """Only while the deque is as it was when the iterator was made: a new one would not fail as that does."""

    def row(recipe: Builder, iterator: Iterator) -> Made | None:
        over = iterator.parts[0]
        assert isinstance(over, Deque)
        try:
            next(iterator.walk, None)
        except RuntimeError:
            return None
        recipe.fill_first(over)
        return recipe.call(function, recipe.register(over), recipe.constant(iterator.position))

    return row


def _simply(function: Callable[..., Any]) -> Callable[[Builder, Iterator], Made | None]:
    """For kinds without a state of their own: made anew from what they were made of, as that now is."""

    def row(recipe: Builder, iterator: Iterator) -> Made | None:
        return recipe.call(function, *[recipe.register(part) for part in iterator.parts])

    return row


def _not_begun(function: Callable[..., Any]) -> Callable[[Builder, Iterator], Made | None]:
    """For kinds whose state cannot be set: only before they were asked for an item, which `position` counts."""
    row = _simply(function)
    return lambda recipe, iterator: None if iterator.position else row(recipe, iterator)


def _numbered(recipe: Builder, iterator: Iterator) -> Made | None:
    _, (_, number) = iterator.walk.__reduce__()
    return recipe.call(enumerate, recipe.register(iterator.parts[0]), recipe.constant(number))


def _strictly(*parts: Any) -> Any:
    return zip(*parts, strict=True)


def _repeated(recipe: Builder, iterator: Iterator) -> Made | None:
    given = recipe.register(iterator.parts[0])
    if iterator.length < 0:
        return recipe.call(itertools.repeat, given)
    return recipe.call(itertools.repeat, given, recipe.constant(iterator.length))


def _sliced(recipe: Builder, iterator: Iterator) -> Made | None:
    start, stop, step = iterator.state
    taken = start + (iterator.position - 1) * step + 1 if iterator.position else 0
    following = start + iterator.position * step
    if stop is not None:
        following = min(following, stop)
    bounds = (following - taken, None if stop is None else stop - taken, step)
    given = [recipe.constant(bound) for bound in bounds]
    return recipe.call(itertools.islice, recipe.register(iterator.parts[0]), *given)


ROWS: dict[str, Callable[[Builder, Iterator], Made | None]] = {
    "sequence": _over_sequence,
    "constant": _over_sequence,
    "rows": _over_sequence,
    "rows on a device": _over_rows_on_device,
    "getitem": _over_sequence,
    "keys": _over_mapping,
    "values": _over_mapping,
    "items": _over_mapping,
    "members": _over_members,
    "reversed": _backwards,
    "ordered keys": _over_ordered,
    "ordered values": _over_ordered,
    "ordered items": _over_ordered,
    "deque": _over_deque(type(iter(deque()))),
    "deque backwards": _over_deque(type(reversed(deque()))),
    "enumerate": _numbered,
    "zip": _simply(zip),
    "zip strictly": _simply(_strictly),
    "map": _simply(map),
    "filter": _simply(filter),
    "filterfalse": _simply(itertools.filterfalse),
    "starmap": _simply(itertools.starmap),
    "compress": _simply(itertools.compress),
    "count": _simply(itertools.count),
    "call": _simply(iter),
    "repeat": _repeated,
    "islice": _sliced,
    "takewhile": _simply(itertools.takewhile),
    "dropwhile": _not_begun(itertools.dropwhile),
    "cycle": _not_begun(itertools.cycle),
    "pairwise": _not_begun(itertools.pairwise),
    "product": _not_begun(itertools.product),
    "groupby": _not_begun(itertools.groupby),
}

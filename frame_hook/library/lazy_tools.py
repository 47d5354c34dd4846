"""Rules of the module itertools. Most of its iterators have a real one behind them: see `lazy`."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.library.lazy import (
    NONE,
    Walk,
    asking,
    calling,
    choosing,
    is_none,
    next_of_tool,
    unowned,
    walks,
)
from ufuse.frame_hook.objects.classes import ABSENT
from ufuse.frame_hook.objects.values import known_value, number_type
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.operations.iterate import (
    iterator_over,
    new_iterator,
    next_item,
    next_of,
    step,
)
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Iterator, Symbol, Tuple

# Choosing items --------------------------------------------------------------------------------------------------

choosing(itertools.filterfalse)
choosing(itertools.dropwhile)
next_of(
    "filterfalse", "dropwhile", "starmap", "compress", "chain", "cycle", "pairwise", "zip_longest", "accumulate",
    "product", "permutations", "combinations", "combinations_with_replacement", "group", "tee", "batched",
    asks_again=True,
)(next_of_tool)  # fmt: skip


@rule_for(itertools.takewhile)
def _takewhile(interpreter: Interpreter, predicate: Symbol, iterable: Symbol, /) -> Symbol:
    part = iterator_over(interpreter, iterable)
    return new_iterator(interpreter, "takewhile", [interpreter.trace.look(predicate), part])


@next_of("takewhile", asks_again=True)
def _next_while(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """The predicate ends it for good, the end of the iterable does not."""
    predicate, part = iterator.parts
    item = next_item(interpreter, part)
    if item is None:
        return None
    if arithmetic.truth(interpreter, interpreter.call(predicate, (item,))):
        return item
    iterator.is_exhausted = True
    return None


# Infinite ones, and slices ----------------------------------------------------------------------------------------


@rule_for(itertools.count)
def _count(
    interpreter: Interpreter, start: Symbol | None = None, step: Symbol | None = None
) -> Symbol:
    parts = [interpreter.trace.look(part or Constant(n)) for n, part in enumerate((start, step))]
    if not all(number_type(part) in ("int", "float") for part in parts):
        raise GraphBreak("call", "itertools.count of other numbers")
    return new_iterator(interpreter, "count", parts)


@next_of("count")
def _next_count(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    current, difference = iterator.parts
    iterator.parts[0] = arithmetic.binary(interpreter, "+", current, difference, in_place=False)
    return current


@rule_for(itertools.repeat)
def _repeat(
    interpreter: Interpreter,
    object: Symbol,  # noqa: A002  its name in Python
    times: Symbol | None = None,
) -> Symbol:
    count = -1 if times is None else max(0, _number(interpreter, times, least=-sys.maxsize))
    return new_iterator(interpreter, "repeat", [object], length=count)


def _number(interpreter: Interpreter, symbol: Symbol, *, least: int = 0) -> int:
    """A number that a real tool takes; it raises for others, and they are left to plain Python."""
    value = known_value(interpreter, symbol)
    if not isinstance(value, int) or not least <= value <= sys.maxsize:
        raise GraphBreak(
            "eager-raises", "an error: a number is of another type, negative or too large"
        )
    return int(value)


@next_of("repeat", asks_again=True)
def _next_repeated(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """`length` is how often it comes again; -1 without end."""
    if iterator.length == 0:
        return None
    iterator.length -= iterator.length > 0
    return iterator.parts[0]


@rule_for(itertools.cycle)
def _cycle(interpreter: Interpreter, iterable: Symbol, /) -> Symbol:
    parts, (walk,) = walks(interpreter, iterable)
    return new_iterator(interpreter, "cycle", parts, walk=itertools.cycle(walk))


@rule_for(itertools.islice)
def _islice(
    interpreter: Interpreter,
    iterable: Symbol,
    start: Symbol,
    stop: Symbol | None = None,
    step: Symbol = NONE,
    /,
) -> Symbol:
    if stop is None:
        start, stop = NONE, start
    bounds = [
        None if is_none(interpreter, one) else _number(interpreter, one)
        for one in (start, stop, step)
    ]
    if bounds[2] == 0:
        raise GraphBreak("eager-raises", "ValueError: the step of islice")
    parts, (walk,) = walks(interpreter, iterable)
    state = (bounds[0] or 0, bounds[1], bounds[2] or 1)
    made = itertools.islice(walk, *bounds)
    return new_iterator(interpreter, "islice", parts, state=state, walk=made)


@next_of("islice")
def _next_sliced(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` is (start, stop, step); an error ends it for good."""
    try:
        return next_of_tool(interpreter, iterator)
    except Raised:
        iterator.is_exhausted = True
        raise


# One behind the other, and side by side --------------------------------------------------------------------------


@rule_for(itertools.chain)
def _chain(interpreter: Interpreter, *iterables: Symbol) -> Symbol:
    return _chained(interpreter, Tuple(iterables))


@rule_for(itertools.chain.__dict__["from_iterable"])
def _chain_from(interpreter: Interpreter, _: Symbol, iterable: Symbol, /) -> Symbol:
    return _chained(interpreter, iterable)


def _chained(interpreter: Interpreter, links: Symbol) -> Iterator:
    parts, (over,) = walks(interpreter, links)
    asked = unowned(interpreter)

    def over_link(link: Symbol) -> Walk:
        return Walk(asked, iterator_over(asked, link))

    made = itertools.chain.from_iterable(map(over_link, over))
    return new_iterator(interpreter, "chain", parts, walk=made)


@rule_for(itertools.zip_longest)
def _zip_longest(interpreter: Interpreter, *iterables: Symbol, fillvalue: Symbol = NONE) -> Symbol:
    parts, over = walks(interpreter, *iterables)
    walk = itertools.zip_longest(*over, fillvalue=fillvalue)
    return new_iterator(interpreter, "zip_longest", parts, walk=walk)


@rule_for(itertools.starmap)
def _starmap(interpreter: Interpreter, function: Symbol, iterable: Symbol, /) -> Symbol:
    parts, (walk,) = walks(interpreter, iterable)
    function = interpreter.trace.look(function)
    given = map(functools.partial(iterate.items_of, unowned(interpreter)), walk)
    made = itertools.starmap(calling(interpreter, function), given)
    return new_iterator(interpreter, "starmap", [function, *parts], walk=made)


@rule_for(itertools.compress)
def _compress(interpreter: Interpreter, data: Symbol, selectors: Symbol) -> Symbol:
    parts, (items, chosen) = walks(interpreter, data, selectors)
    made = itertools.compress(items, map(asking(interpreter, None), chosen))
    return new_iterator(interpreter, "compress", parts, walk=made)


@rule_for(itertools.pairwise)
def _pairwise(interpreter: Interpreter, iterable: Symbol, /) -> Symbol:
    parts, (walk,) = walks(interpreter, iterable)
    return new_iterator(interpreter, "pairwise", parts, walk=itertools.pairwise(walk))


@rule_for(itertools.accumulate)
def _accumulate(
    interpreter: Interpreter, iterable: Symbol, func: Symbol = NONE, *, initial: Symbol = NONE
) -> Symbol:
    parts, (walk,) = walks(interpreter, iterable)
    first = None if is_none(interpreter, initial) else initial
    function = interpreter.trace.look(func)
    joined = calling(interpreter, function)
    if is_none(interpreter, function):
        joined = functools.partial(arithmetic.binary, unowned(interpreter), "+", in_place=False)
    made = itertools.accumulate(walk, joined, initial=first)
    return new_iterator(interpreter, "accumulate", parts, walk=made)


# Every combination -----------------------------------------------------------------------------------------------


@rule_for(itertools.product)
def _product(interpreter: Interpreter, *iterables: Symbol, repeat: Symbol | None = None) -> Symbol:
    times = 1 if repeat is None else _number(interpreter, repeat)
    pools = [Tuple(tuple(iterate.items_of(interpreter, part))) for part in iterables] * times
    walk = itertools.product(*(pool.items for pool in pools))
    length = math.prod(len(pool.items) for pool in pools)
    return new_iterator(interpreter, "product", pools, length=length, walk=walk)


@rule_for(itertools.permutations)
def _permutations(interpreter: Interpreter, iterable: Symbol, r: Symbol = NONE) -> Symbol:
    count = None if is_none(interpreter, r) else r
    return _chosen(interpreter, itertools.permutations, math.perm, iterable, count)


@rule_for(itertools.combinations)
def _combinations(interpreter: Interpreter, iterable: Symbol, r: Symbol) -> Symbol:
    return _chosen(interpreter, itertools.combinations, math.comb, iterable, r)


@rule_for(itertools.combinations_with_replacement)
def _multisets(interpreter: Interpreter, iterable: Symbol, r: Symbol) -> Symbol:
    return _chosen(interpreter, itertools.combinations_with_replacement, _multisets_of, iterable, r)


def _multisets_of(size: int, count: int) -> int:
    """How many ways there are to choose so many members of a pool, each as often as one likes."""
    return math.comb(size + count - 1, count) if size else not count


def _chosen(
    interpreter: Interpreter,
    tool: Callable[..., Any],
    ways: Callable[[int, int], int],
    iterable: Symbol,
    r: Symbol | None,
) -> Symbol:
    """An iterator over the choices from a pool, of which there are so many ways."""
    pool = Tuple(tuple(iterate.items_of(interpreter, iterable)))
    count = len(pool.items) if r is None else _number(interpreter, r)
    length, walk = ways(len(pool.items), count), tool(pool.items, count)
    return new_iterator(interpreter, tool.__name__, [pool], length=length, walk=walk)


# Groups, batches, copies -----------------------------------------------------------------------------------------


class Key:
    """A key that a real `groupby` can compare: `==` is that of the program."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, interpreter: Interpreter, symbol: Symbol) -> None:
        self.interpreter = interpreter
        self.symbol = symbol

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Key)
        key = self.interpreter.trace.look(other.symbol)
        return comparisons.equal_or_same(self.interpreter, self.symbol, key)


@rule_for(itertools.groupby)
def _groupby(interpreter: Interpreter, iterable: Symbol, key: Symbol = NONE) -> Symbol:
    function = interpreter.trace.look(key)
    parts, (walk,) = walks(interpreter, iterable)
    asked, takes_all = unowned(interpreter), is_none(interpreter, function)

    def key_of(item: Symbol) -> Key:
        return Key(asked, item if takes_all else asked.call(function, (item,)))

    made = itertools.groupby(walk, key_of)
    return new_iterator(interpreter, "groupby", [*parts, function], walk=made)


@next_of("groupby", asks_again=True)
def _next_group(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    iterator.position += 1
    found = step(iterator)
    if found is ABSENT:
        return None
    key, group = found
    return Tuple((key.symbol, new_iterator(interpreter, "group", [iterator], walk=group)))


@rule_for(itertools.tee)
def _tee(interpreter: Interpreter, iterable: Symbol, n: Symbol | None = None, /) -> Symbol:
    number = 2 if n is None else _number(interpreter, n)
    part = iterator_over(interpreter, iterable)
    if isinstance(part, Iterator) and part.kind == "tee":
        raise GraphBreak("call", "itertools.tee of one of its own copies")
    copies = itertools.tee(Walk(unowned(interpreter), part), number)
    return Tuple(tuple(new_iterator(interpreter, "tee", [part], walk=one) for one in copies))


def _batched(
    interpreter: Interpreter, iterable: Symbol, n: Symbol, *, strict: Symbol | None = None
) -> Symbol:
    if strict is not None:
        raise GraphBreak("call", "itertools.batched with strict")
    number = _number(interpreter, n, least=-sys.maxsize)
    if number < 1:
        raise raise_error(ValueError, "n must be at least one")
    parts, (walk,) = walks(interpreter, iterable)
    made = itertools.batched(walk, number)  # type: ignore[attr-defined]
    return new_iterator(interpreter, "batched", parts, walk=made)


if hasattr(itertools, "batched"):
    rule_for(itertools.batched)(_batched)

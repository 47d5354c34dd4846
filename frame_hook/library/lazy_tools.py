"""The rules for the module itertools. All of its tools are lazy."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import Given, Positional, rule_for
from ufuse.frame_hook.library.lazy import (
    NONE,
    Walk,
    asking,
    bound,
    calling,
    choosing,
    is_none,
    next_of_tool,
    only_positional,
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

rule_for(itertools.filterfalse)(choosing(itertools.filterfalse))
rule_for(itertools.dropwhile)(choosing(itertools.dropwhile))
next_of(
    "filterfalse", "dropwhile", "starmap", "compress", "chain", "cycle", "pairwise", "zip_longest", "accumulate",
    "product", "permutations", "combinations", "combinations_with_replacement", "group", "tee", "batched",
    asks_again=True,
)(next_of_tool)  # fmt: skip


@rule_for(itertools.takewhile)
def _takewhile(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "takewhile")
    predicate, over = bound(arguments, {}, "predicate", "iterable", least=2)
    assert predicate is not None
    assert over is not None
    part = iterator_over(interpreter, over)
    return new_iterator(interpreter, "takewhile", [interpreter.trace.look(predicate), part])


@next_of("takewhile", asks_again=True)
def _next_while(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """Only the predicate ends it for good."""
    predicate, part = iterator.parts
    item = next_item(interpreter, part)
    if item is None:
        return None
    if arithmetic.truth(interpreter, interpreter.call(predicate, (item,))):
        return item
    iterator.is_exhausted = True
    return None


# Endless ones, and slices ----------------------------------------------------------------------------------------


@rule_for(itertools.count)
def _count(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given = bound(arguments, keywords, "start", "step")
    parts = [interpreter.trace.look(part or Constant(n)) for n, part in enumerate(given)]
    if not all(number_type(part) in ("int", "float") for part in parts):
        raise GraphBreak("call", "itertools.count of other numbers")
    return new_iterator(interpreter, "count", parts)


@next_of("count")
def _next_count(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    current, difference = iterator.parts
    iterator.parts[0] = arithmetic.binary(interpreter, "+", current, difference, in_place=False)
    return current


@rule_for(itertools.repeat)
def _repeat(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    given, times = bound(arguments, keywords, "object", "times", least=1)
    assert given is not None
    count = -1 if times is None else max(0, _number(interpreter, times))
    return new_iterator(interpreter, "repeat", [given], length=count)


def _number(interpreter: Interpreter, symbol: Symbol) -> int:
    value = known_value(interpreter, symbol)
    if not isinstance(value, int):
        raise GraphBreak("eager-raises", "TypeError: a number is needed")
    return value


@next_of("repeat", asks_again=True)
def _next_repeated(_: Interpreter, iterator: Iterator) -> Symbol | None:
    """`length` is how often it comes again; -1 without end."""
    if iterator.length == 0:
        return None
    iterator.length -= iterator.length > 0
    return iterator.parts[0]


@rule_for(itertools.cycle)
def _cycle(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "cycle")
    (over,) = bound(arguments, {}, "iterable", least=1)
    assert over is not None
    parts, (walk,) = walks(interpreter, [over])
    return new_iterator(interpreter, "cycle", parts, walk=itertools.cycle(walk))


@rule_for(itertools.islice)
def _islice(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or not 2 <= len(arguments) <= 4:
        raise GraphBreak("eager-raises", "TypeError: the arguments of islice")
    over, *bounds = arguments
    values = [known_value(interpreter, one) for one in bounds]
    start, stop, stride = (0, values[0], 1) if len(values) == 1 else (*values, None)[:3]
    if (
        any(v is not None and (not isinstance(v, int) or v < 0) for v in (start, stop, stride))
        or stride == 0
    ):
        raise GraphBreak("eager-raises", "ValueError: the bounds of islice")
    parts, (walk,) = walks(interpreter, [over])
    state = (int(start or 0), stop, int(stride or 1))
    return new_iterator(
        interpreter, "islice", parts, state=state, walk=itertools.islice(walk, start, stop, stride)
    )


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
def _chain(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "chain")
    return _chained(interpreter, Tuple(tuple(arguments)))


@rule_for(itertools.chain.__dict__["from_iterable"])
def _chain_from(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of from_iterable")
    return _chained(interpreter, arguments[1])


def _chained(interpreter: Interpreter, links: Symbol) -> Iterator:
    parts, (over,) = walks(interpreter, [links])
    asked = unowned(interpreter)

    def over_link(link: Symbol) -> Walk:
        return Walk(asked, iterator_over(asked, link))

    made = itertools.chain.from_iterable(map(over_link, over))
    return new_iterator(interpreter, "chain", parts, walk=made)


@rule_for(itertools.zip_longest)
def _zip_longest(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (fill,) = bound((), keywords, "fillvalue")
    parts, over = walks(interpreter, arguments)
    walk = itertools.zip_longest(*over, fillvalue=fill or NONE)
    return new_iterator(interpreter, "zip_longest", parts, walk=walk)


@rule_for(itertools.starmap)
def _starmap(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "starmap")
    function, over = bound(arguments, {}, "function", "iterable", least=2)
    assert function is not None
    assert over is not None
    parts, (walk,) = walks(interpreter, [over])
    function = interpreter.trace.look(function)
    given = map(functools.partial(iterate.items_of, unowned(interpreter)), walk)
    made = itertools.starmap(calling(interpreter, function), given)
    return new_iterator(interpreter, "starmap", [function, *parts], walk=made)


@rule_for(itertools.compress)
def _compress(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    data, selectors = bound(arguments, keywords, "data", "selectors", least=2)
    assert data is not None
    assert selectors is not None
    parts, (items, chosen) = walks(interpreter, (data, selectors))
    made = itertools.compress(items, map(asking(interpreter, None), chosen))
    return new_iterator(interpreter, "compress", parts, walk=made)


@rule_for(itertools.pairwise)
def _pairwise(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "pairwise")
    (over,) = bound(arguments, {}, "iterable", least=1)
    assert over is not None
    parts, (walk,) = walks(interpreter, [over])
    return new_iterator(interpreter, "pairwise", parts, walk=itertools.pairwise(walk))


@rule_for(itertools.accumulate)
def _accumulate(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) > 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of accumulate")
    names = ("iterable", "func", "initial")
    over, function, initial = bound(arguments, keywords, *names, least=1)
    assert over is not None
    parts, (walk,) = walks(interpreter, [over])
    first = None if is_none(interpreter, initial) else initial
    function = NONE if function is None else interpreter.trace.look(function)
    joined = calling(interpreter, function)
    if is_none(interpreter, function):
        joined = functools.partial(arithmetic.binary, unowned(interpreter), "+", in_place=False)
    made = itertools.accumulate(walk, joined, initial=first)
    return new_iterator(interpreter, "accumulate", parts, walk=made)


# Every combination -----------------------------------------------------------------------------------------------


@rule_for(itertools.product)
def _product(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (repeat,) = bound((), keywords, "repeat")
    times = 1 if repeat is None else known_value(interpreter, repeat)
    if not isinstance(times, int) or times < 0:
        raise GraphBreak("eager-raises", "the repeat of itertools.product")
    pools = [Tuple(tuple(iterate.items_of(interpreter, part))) for part in arguments]
    walk = itertools.product(*(pool.items for pool in pools), repeat=times)
    return new_iterator(interpreter, "product", pools, walk=walk)


def _choices(tool: Callable[..., Any], *, may_lack_count: bool) -> None:
    name = tool.__name__

    @rule_for(tool)
    def make(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        least = 1 if may_lack_count else 2
        over, count = bound(arguments, keywords, "iterable", "r", least=least)
        assert over is not None
        pool = Tuple(tuple(iterate.items_of(interpreter, over)))
        given = [] if is_none(interpreter, count) else [known_value(interpreter, count or NONE)]
        if any(not isinstance(one, int) or one < 0 for one in given):
            raise GraphBreak("eager-raises", f"the length given to {name}")
        return new_iterator(interpreter, name, [pool], walk=tool(pool.items, *given))


_choices(itertools.permutations, may_lack_count=True)
_choices(itertools.combinations, may_lack_count=False)
_choices(itertools.combinations_with_replacement, may_lack_count=False)


# Groups, batches, copies -----------------------------------------------------------------------------------------


class Key:
    """What `groupby` compares: a symbol that is equal to another where the program would find it so."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, interpreter: Interpreter, symbol: Symbol) -> None:
        self.interpreter = interpreter
        self.symbol = symbol

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Key)
        key = self.interpreter.trace.look(other.symbol)
        return comparisons.equal_or_same(self.interpreter, self.symbol, key)


@rule_for(itertools.groupby)
def _groupby(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, key = bound(arguments, keywords, "iterable", "key", least=1)
    assert over is not None
    function = NONE if key is None else interpreter.trace.look(key)
    parts, (walk,) = walks(interpreter, [over])
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
def _tee(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, count = bound(arguments, keywords, "iterable", "n", least=1)
    assert over is not None
    if keywords:
        raise GraphBreak("eager-raises", "TypeError: tee() takes no keyword arguments")
    number = 2 if count is None else known_value(interpreter, count)
    part = iterator_over(interpreter, over)
    if (
        not isinstance(number, int)
        or number < 0
        or (isinstance(part, Iterator) and part.kind == "tee")
    ):
        raise GraphBreak("call", "itertools.tee of that")
    copies = itertools.tee(Walk(unowned(interpreter), part), number)
    return Tuple(tuple(new_iterator(interpreter, "tee", [part], walk=one) for one in copies))


def _batched(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, count, strict = bound(arguments, keywords, "iterable", "n", "strict", least=2)
    assert over is not None
    assert count is not None
    if strict is not None:
        raise GraphBreak("call", "itertools.batched with strict")
    number = known_value(interpreter, count)
    if not isinstance(number, int):
        raise GraphBreak("eager-raises", "TypeError: a number is needed")
    if number < 1:
        raise raise_error(ValueError, "n must be at least one")
    parts, (walk,) = walks(interpreter, [over])
    made = itertools.batched(walk, number)  # type: ignore[attr-defined]
    return new_iterator(interpreter, "batched", parts, walk=made)


if hasattr(itertools, "batched"):
    rule_for(itertools.batched)(_batched)

"""The rules for the module itertools. All of its tools are lazy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.outcomes import Raised, raise_error
from ufuse.frame_hook.interpreter.rules import Given, Positional, rule_for
from ufuse.frame_hook.library.lazy import (
    NONE,
    bound,
    choosing,
    is_none,
    next_chosen,
    only_positional,
)
from ufuse.frame_hook.objects.values import known_value, number_type
from ufuse.frame_hook.operations import arithmetic, comparisons, iterate
from ufuse.frame_hook.operations.iterate import iterator_over, new_iterator, next_item, next_of
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Iterator, Symbol, Tuple


@contextmanager
def ended_by_errors(iterator: Iterator) -> Generator[None]:
    """What raises meanwhile ends the iterator for good."""
    try:
        yield
    except Raised:
        iterator.is_exhausted = True
        raise


# Choosing items --------------------------------------------------------------------------------------------------

rule_for(itertools.filterfalse)(choosing("filterfalse"))
rule_for(itertools.takewhile)(choosing("takewhile"))
rule_for(itertools.dropwhile)(choosing("dropwhile"))
rule_for(itertools.starmap)(choosing("starmap"))
next_of("filterfalse", asks_again=True)(next_chosen)


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


@next_of("dropwhile", asks_again=True)
def _next_after(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` says that the first item to keep was met."""
    predicate, part = iterator.parts
    iterator.position = 1
    for _ in range(iterate.LONGEST_SEQUENCE):
        item = next_item(interpreter, part)
        if item is None or iterator.state:
            return item
        if not arithmetic.truth(interpreter, interpreter.call(predicate, (item,))):
            iterator.state = True
            return item
    raise GraphBreak("loop")


# Endless ones, and slices ----------------------------------------------------------------------------------------


@rule_for(itertools.count)
def _count(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    start, step = bound(arguments, keywords, "start", "step")
    parts = [interpreter.trace.look(part or Constant(n)) for n, part in enumerate((start, step))]
    if not all(number_type(part) in ("int", "float") for part in parts):
        raise GraphBreak("call", "itertools.count of other numbers")
    return new_iterator(interpreter, "count", parts)


@next_of("count")
def _next_count(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    current, step = iterator.parts
    iterator.parts[0] = arithmetic.binary(interpreter, "+", current, step, in_place=False)
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
    return new_iterator(interpreter, "cycle", [iterator_over(interpreter, over)], state=[])


@next_of("cycle", asks_again=True)
def _next_around(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` has what was met in the first round; `length` is where a later round is, -1 in the first."""
    if iterator.length < 0:
        iterator.position = 1
        item = next_item(interpreter, iterator.parts[0])
        if item is not None:
            iterator.state.append(item)
            return item
        iterator.length = 0
    if not iterator.state:
        return None
    again: Symbol = iterator.state[iterator.length % len(iterator.state)]
    iterator.length += 1
    return again


@rule_for(itertools.islice)
def _islice(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or not 2 <= len(arguments) <= 4:
        raise GraphBreak("eager-raises", "TypeError: the arguments of islice")
    over, *bounds = arguments
    values = [known_value(interpreter, one) for one in bounds]
    start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, None)[:3]
    if (
        any(v is not None and (not isinstance(v, int) or v < 0) for v in (start, stop, step))
        or step == 0
    ):
        raise GraphBreak("eager-raises", "ValueError: the bounds of islice")
    state = [int(start or 0), stop, int(step or 1)]
    return new_iterator(interpreter, "islice", [iterator_over(interpreter, over)], state=state)


@next_of("islice")
def _next_sliced(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` is (place of the next item, stop, step), `position` how many were taken."""
    following, stop, step = iterator.state
    with ended_by_errors(iterator):
        while iterator.position < following:
            if iterator.position > iterate.LONGEST_SEQUENCE:
                raise GraphBreak("loop")
            if next_item(interpreter, iterator.parts[0]) is None:
                return None
            iterator.position += 1
        if stop is not None and iterator.position >= stop:
            return None
        item = next_item(interpreter, iterator.parts[0])
    if item is None:
        return None
    iterator.position += 1
    following += step
    iterator.state[0] = following if stop is None else min(following, stop)
    return item


# One behind the other, and side by side --------------------------------------------------------------------------


@rule_for(itertools.chain)
def _chain(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "chain")
    sources = iterator_over(interpreter, Tuple(tuple(arguments)))
    return new_iterator(interpreter, "chain", [sources])


@rule_for(itertools.chain.__dict__["from_iterable"])
def _chain_from(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if keywords or len(arguments) != 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of from_iterable")
    return new_iterator(interpreter, "chain", [iterator_over(interpreter, arguments[1])])


@next_of("chain")
def _next_in_chain(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`parts` are the iterator over the links, and the one that is being gone through."""
    for _ in range(iterate.LONGEST_SEQUENCE):
        if len(iterator.parts) == 1:
            with ended_by_errors(iterator):
                link = next_item(interpreter, iterator.parts[0])
                if link is None:
                    return None
                iterator.position = 1
                iterator.parts.append(iterator_over(interpreter, link))
        item = next_item(interpreter, iterator.parts[1])
        if item is not None:
            return item
        iterator.parts.pop()
    raise GraphBreak("loop")


@rule_for(itertools.zip_longest)
def _zip_longest(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (fill,) = bound((), keywords, "fillvalue")
    parts = [iterator_over(interpreter, argument) for argument in arguments]
    state = [fill or NONE, len(parts)]
    return new_iterator(interpreter, "zip_longest", parts, state=state)


@next_of("zip_longest", asks_again=True)
def _next_longest(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` is (what fills, how many iterators have not ended); one that has ended is replaced by None."""
    fill, active = iterator.state
    if not active:
        return None
    iterator.position = 1
    found: list[Symbol] = []
    with ended_by_errors(iterator):
        for place, part in enumerate(iterator.parts):
            item = None if part is NONE else next_item(interpreter, part)
            if item is None and part is not NONE:
                iterator.parts[place] = NONE
                iterator.state[1] -= 1
                if not iterator.state[1]:
                    return None
            found.append(fill if item is None else item)
    return Tuple(tuple(found))


@next_of("starmap", asks_again=True)
def _next_starred(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    function, part = iterator.parts
    item = next_item(interpreter, part)
    if item is None:
        return None
    return interpreter.call(function, iterate.items_of(interpreter, item))


@rule_for(itertools.compress)
def _compress(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    data, selectors = bound(arguments, keywords, "data", "selectors", least=2)
    assert data is not None
    assert selectors is not None
    parts = [iterator_over(interpreter, part) for part in (data, selectors)]
    return new_iterator(interpreter, "compress", parts)


@next_of("compress", asks_again=True)
def _next_selected(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    for _ in range(iterate.LONGEST_SEQUENCE):
        item = next_item(interpreter, iterator.parts[0])
        selector = next_item(interpreter, iterator.parts[1]) if item is not None else None
        if item is None or selector is None:
            return None
        if arithmetic.truth(interpreter, selector):
            return item
    raise GraphBreak("loop")


@rule_for(itertools.pairwise)
def _pairwise(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    only_positional(keywords, "pairwise")
    (over,) = bound(arguments, {}, "iterable", least=1)
    assert over is not None
    return new_iterator(interpreter, "pairwise", [iterator_over(interpreter, over)])


@next_of("pairwise")
def _next_pair(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` is the item before."""
    iterator.position = 1
    before = iterator.state
    with ended_by_errors(iterator):
        if before is None:
            before = next_item(interpreter, iterator.parts[0])
        item = next_item(interpreter, iterator.parts[0]) if before is not None else None
    iterator.state = item
    return None if item is None or before is None else Tuple((before, item))


@rule_for(itertools.accumulate)
def _accumulate(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    if len(arguments) > 2:
        raise GraphBreak("eager-raises", "TypeError: the arguments of accumulate")
    names = ("iterable", "func", "initial")
    over, function, initial = bound(arguments, keywords, *names, least=1)
    assert over is not None
    part = iterator_over(interpreter, over)
    first = None if is_none(interpreter, initial) else initial
    function = NONE if function is None else interpreter.trace.look(function)
    return new_iterator(interpreter, "accumulate", [part, function], state=[first, None])


@next_of("accumulate", asks_again=True)
def _next_total(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` is (what is given first, the total so far)."""
    part, function = iterator.parts
    first, total = iterator.state
    iterator.position = 1
    if first is not None:
        iterator.state[:] = [None, first]
        return interpreter.trace.look(first)
    item = next_item(interpreter, part)
    if item is None:
        return None
    if total is None:
        total = item
    elif is_none(interpreter, function):
        total = arithmetic.binary(interpreter, "+", total, item, in_place=False)
    else:
        total = interpreter.call(function, (total, item))
    iterator.state[1] = total
    return interpreter.trace.look(total)


# Every combination -----------------------------------------------------------------------------------------------


@rule_for(itertools.product)
def _product(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    (repeat,) = bound((), keywords, "repeat")
    times = 1 if repeat is None else known_value(interpreter, repeat)
    if not isinstance(times, int) or times < 0:
        raise GraphBreak("eager-raises", "the repeat of itertools.product")
    pools = [Tuple(tuple(iterate.items_of(interpreter, part))) for part in arguments] * times
    places = itertools.product(*(range(len(pool.items)) for pool in pools))
    return new_iterator(interpreter, "product", pools, state=places)


@next_of("product")
def _next_product(_: Interpreter, iterator: Iterator) -> Symbol | None:
    places = next(iterator.state, None)
    if places is None:
        return None
    iterator.position += 1
    pools = [pool for pool in iterator.parts if isinstance(pool, Tuple)]
    return Tuple(tuple(pool.items[i] for pool, i in zip(pools, places, strict=True)))


def _choices(function: Callable[..., Any], *, may_lack_count: bool) -> None:
    name = function.__name__

    @rule_for(function)
    def make(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
        least = 1 if may_lack_count else 2
        over, count = bound(arguments, keywords, "iterable", "r", least=least)
        assert over is not None
        pool = Tuple(tuple(iterate.items_of(interpreter, over)))
        given = [] if is_none(interpreter, count) else [known_value(interpreter, count or NONE)]
        if any(not isinstance(one, int) or one < 0 for one in given):
            raise GraphBreak("eager-raises", f"the length given to {name}")
        places = function(range(len(pool.items)), *given)
        length = given[0] if given else -1
        return new_iterator(interpreter, name, [pool], length=length, state=places)

    @next_of(name)
    def following(_: Interpreter, iterator: Iterator) -> Symbol | None:
        places = next(iterator.state, None)
        if places is None:
            return None
        iterator.position += 1
        pool = iterator.parts[0]
        assert isinstance(pool, Tuple)
        return Tuple(tuple(pool.items[i] for i in places))


_choices(itertools.permutations, may_lack_count=True)
_choices(itertools.combinations, may_lack_count=False)
_choices(itertools.combinations_with_replacement, may_lack_count=False)


# Groups, batches, copies -----------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Grouping:
    """What `groupby` remembers: the item read last and its key, the key of the group being given, and that group."""

    item: Symbol | None = None
    key: Symbol | None = None
    wanted: Symbol | None = None
    group: Iterator | None = None


@rule_for(itertools.groupby)
def _groupby(interpreter: Interpreter, arguments: Positional, keywords: Given) -> Symbol:
    over, key = bound(arguments, keywords, "iterable", "key", least=1)
    assert over is not None
    function = NONE if key is None else interpreter.trace.look(key)
    parts = [iterator_over(interpreter, over), function]
    return new_iterator(interpreter, "groupby", parts, state=Grouping())


def _read_on(interpreter: Interpreter, iterator: Iterator) -> bool:
    """Read the next item and its key; False at the end."""
    part, function = iterator.parts
    state: Grouping = iterator.state
    item = next_item(interpreter, part)
    if item is None:
        return False
    state.item = item
    state.key = item if is_none(interpreter, function) else interpreter.call(function, (item,))
    return True


def _same_key(interpreter: Interpreter, wanted: Symbol, key: Symbol) -> bool:
    return comparisons.equal_or_same(interpreter, wanted, interpreter.trace.look(key))


@next_of("groupby", asks_again=True)
def _next_group(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    state: Grouping = iterator.state
    state.group = None
    iterator.position = 1
    for _ in range(iterate.LONGEST_SEQUENCE):
        if state.key is not None and (
            state.wanted is None or not _same_key(interpreter, state.wanted, state.key)
        ):
            break
        if not _read_on(interpreter, iterator):
            return None
    assert state.key is not None
    state.wanted = state.key
    state.group = new_iterator(interpreter, "group", [iterator, state.key])
    return Tuple((state.key, state.group))


@next_of("group", asks_again=True)
def _next_in_group(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    whole, wanted = iterator.parts
    assert isinstance(whole, Iterator)
    state: Grouping = whole.state
    if state.group is not iterator:
        return None
    if state.item is None and not _read_on(interpreter, whole):
        return None
    if state.key is None:
        raise GraphBreak("operator", "a group that is read while its keys are compared")
    if not _same_key(interpreter, wanted, state.key):
        return None
    item, state.item, state.key = state.item, None, None
    return item


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
    read: list[Symbol] = []
    made = [new_iterator(interpreter, "tee", [part], state=read) for _ in range(number)]
    return Tuple(tuple(made))


@next_of("tee", asks_again=True)
def _next_of_copy(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    """`state` has what was read so far, and is shared."""
    if iterator.position == len(iterator.state):
        item = next_item(interpreter, iterator.parts[0])
        if item is None:
            return None
        iterator.state.append(item)
    iterator.position += 1
    given: Symbol = iterator.state[iterator.position - 1]
    return given


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
    part = iterator_over(interpreter, over)
    return new_iterator(interpreter, "batched", [part], state=number)


if hasattr(itertools, "batched"):
    rule_for(itertools.batched)(_batched)


@next_of("batched")
def _next_batch(interpreter: Interpreter, iterator: Iterator) -> Symbol | None:
    found: list[Symbol] = []
    iterator.position = 1
    with ended_by_errors(iterator):
        while len(found) < iterator.state:
            item = next_item(interpreter, iterator.parts[0])
            if item is None:
                break
            found.append(item)
    return Tuple(tuple(found)) if found else None

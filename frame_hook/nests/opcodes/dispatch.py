"""Which rule reads an attribute or a call."""

from __future__ import annotations

import itertools
import types
from collections import deque
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import array_calls, elements, extremes, number_methods, tables
from ufuse.frame_hook.nests.calls import (
    counts,
    draws,
    generators,
    grids,
    heaps,
    idioms,
    inlining,
    iterating,
    places_of_lists,
    restated,
    searches,
    seeding,
    shuffles,
    sorted_places,
)
from ufuse.frame_hook.nests.containers import (
    characters,
    dict_methods,
    fields,
    lists,
    made_deques,
    made_dicts,
    made_lists,
    made_rows,
    object_lists,
    own_groups,
    own_lists,
    ragged,
    ragged_dicts,
    tuples,
)
from ufuse.frame_hook.nests.given import attributes, generator_methods
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Member, Objects, Part, Table
from ufuse.frame_hook.nests.known.containers import (
    Bound,
    Generating,
    Generator,
    GivenRows,
    MadeDict,
    MadeFunction,
    NewDict,
    OwnGroups,
    OwnList,
    Ragged,
    Thing,
)
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import (
    CALLABLE,
    Generated,
    Item,
    Items,
    Method,
    Vectorized,
    is_none,
)
from ufuse.frame_hook.nests.numbers import complexes, conversions, functions
from ufuse.frame_hook.nests.reading.operations import ATTRIBUTE, LENGTH, METHOD
from ufuse.frame_hook.nests.reading.reader import Reader

# What fills the tables of `reading/operations.py`: whoever imports this module has them filled.
OF_CLASSES = (
    array_calls, characters, dict_methods, elements, fields, lists, made_deques, made_dicts, made_lists, made_rows,
    number_methods, object_lists, own_groups, own_lists, ragged, ragged_dicts, tables, tuples,
)  # fmt: skip
# To what the views of a dict are as tuples.
GOES_OVER = (len, sum, min, max, any, all, enumerate, zip, reversed)


def attribute(reader: Reader, owner: Item, name: str) -> Item:
    """`owner.name`."""
    if isinstance(owner, Known):
        return _of_known(reader, owner, name)
    if isinstance(owner, Table | Objects | Ragged) and name == "append":
        owner = _grown(reader, owner)
    if isinstance(owner, Array | Part | Lazy) and name == "flat":
        return grids.elements_of(reader, owner, gives_places=False)
    if isinstance(owner, sorted_places.ARRAYS) and name in sorted_places.METHODS:
        return Method(owner, name)
    if name in searches.METHODS and searches.is_searched(owner):
        return Method(owner, name)
    if isinstance(owner, Items) and name in ("append", "pop"):
        own_lists.ask_instead(owner)
    if isinstance(owner, Generator):
        return generator_methods.method(reader.outside.trace, reader.outside.item, owner, name)
    if ATTRIBUTE.rule(owner) is None:
        raise refusals.no_attribute(name, owner)
    return ATTRIBUTE(reader, owner, name)


def _of_known(reader: Reader, owner: Known, name: str) -> Item:
    """An attribute of a module, a class, or None."""
    if isinstance(owner.value, types.ModuleType):
        return reader.outside.attribute(owner.value, name)
    if isinstance(owner.value, type):
        return fields.taken(reader, attributes.of_class(reader.outside, owner.value, name))
    if is_none(owner) and not hasattr(None, name):
        reader.go_to_doubt()  # it is an object on other ways, or raises
        return Known(None)
    raise refusals.no_attribute(name, owner)


def _grown(reader: Reader, owner: Table | Objects | Ragged) -> Item:
    """A list of tuples or lists that is appended to."""
    grown = reader.outside.grow(owner)
    if grown is not owner and owner.holder in reader.numbers:
        raise NotNativeError("it reads a list of tuples or lists, and appends to it")
    return grown


def getter(reader: Reader, owner: Item, name: str) -> types.FunctionType | None:
    """The function of the property that `owner.name` is, or None."""
    if isinstance(owner, Member):
        return object_lists.getter(reader, owner, name)
    if not isinstance(owner, Thing) or isinstance(owner.value, type):
        return None
    return attributes.getter(reader.outside, owner, name)


def call(
    reader: Reader, function: Item, arguments: list[Item], keywords: dict[str, Item], after: int
) -> None:
    """Push the result of a call; `after` is the position behind it."""
    if isinstance(function, Method):
        found = _called_method(reader, function.owner, function.name, arguments, keywords)
        if found is not None:
            reader.stack.append(found)
        return
    if isinstance(function, Generating) and shuffles.is_read(function, arguments, keywords):
        shuffles.enter(reader, function, arguments, keywords)
        return
    if isinstance(function, Generating) and counts.is_read(function):
        counts.enter(reader, function, arguments, keywords)
        return
    if isinstance(function, Generating):
        reader.stack.append(draws.called(reader, function, arguments, keywords))
        return
    if isinstance(function, Bound):
        inlining.enter(reader, function.function, [function.owner, *arguments], keywords)
        return
    if isinstance(function, Thing) and not keywords:
        vectorized = idioms.from_outside(reader, function)
        function = vectorized or function
    if isinstance(function, Vectorized) and not keywords:
        idioms.call_vectorized(reader, function, arguments)
        return
    if isinstance(function, Thing):
        inlining.enter(
            reader, attributes.call_of(reader.outside, function), [function, *arguments], keywords
        )
        return
    if isinstance(function, MadeFunction):
        inlining.enter_made(reader, function, arguments, keywords)
        return
    if not isinstance(function, Known):
        raise NotNativeError("it calls {item}, which is no function that is known", function)
    _call_known(reader, function.value, arguments, keywords, after)


def _called_method(
    reader: Reader, owner: Item, name: str, arguments: list[Item], keywords: dict[str, Item]
) -> Item | None:
    """What a method gives; None: that is pushed by what is read now."""
    if isinstance(owner, OwnList) and name in searches.METHODS:
        owner = own_lists.seen(reader, owner)
    if name in searches.METHODS and searches.is_searched(owner):
        searches.called_method(reader, owner, name, arguments, keywords)
        return None
    if isinstance(owner, places_of_lists.MADE) and places_of_lists.is_method(name, arguments):
        places_of_lists.called_method(reader, owner, name, arguments, keywords)
        return None
    if name in sorted_places.METHODS and isinstance(owner, sorted_places.ARRAYS) and arguments:
        sorted_places.enter(reader, [owner, *arguments], keywords)
        return None
    return METHOD(reader, owner, name, arguments, keywords)


def _call_known(
    reader: Reader, value: Any, arguments: list[Item], keywords: dict[str, Item], after: int
) -> None:
    """As `call`, of a function or class that is known."""
    out = reader.out
    if seeding.is_maker(value):
        reader.stack.append(seeding.made(reader, value, arguments, keywords))
        return
    if isinstance(value, CALLABLE) and value in dict_methods.MAKERS and not keywords:
        if value is set and len(arguments) == 1:
            idioms.enter_set(reader, arguments[0])
        else:
            reader.stack.append(dict_methods.made(reader, value, arguments))
        return
    if value is len and len(arguments) == 1 and LENGTH.rule(arguments[0]) is not None:
        reader.stack.append(LENGTH(reader, arguments[0]))
        return
    is_given = isinstance(value, types.FunctionType)  # what is given dicts and sets as they are
    arguments = [
        one
        if is_given and isinstance(one, NewDict | MadeDict | GivenRows | OwnGroups | OwnList)
        else made_dicts.listed(reader, one)
        for one in arguments
    ]
    if sorted_places.is_search(value, arguments):
        sorted_places.enter(reader, arguments, keywords)
        return
    if isinstance(value, CALLABLE) and _is_idiom(reader, value, arguments, keywords):
        return
    if value in GOES_OVER:
        arguments = [fields.members(one) for one in arguments]
    if any(isinstance(one, Generated) for one in arguments) or generators.is_gone_over(
        value, arguments
    ):
        generators.consume(reader, value, arguments, keywords)
        return
    if value in (ord, int) and len(arguments) == 1:
        number = characters.as_int(out, value, characters.known(reader, arguments[0]))
        if number is not None:
            reader.stack.append(number)
            return
    found = array_calls.called(reader, value, arguments, keywords)
    if found is None and not keywords:
        found = complexes.called(out, value, arguments)
    if found is not None:
        reader.stack.append(found)
    elif isinstance(value, types.FunctionType):
        inlining.enter(reader, value, arguments, keywords)
    elif value is zip and arguments and keywords.keys() == {"strict"}:
        reader.stack.append(iterating.zipped(arguments, keywords["strict"]))
    elif value is itertools.product and keywords.keys() == {"repeat"}:
        reader.stack.append(grids.product_of(reader, arguments, keywords["repeat"]))
    elif keywords:
        raise refusals.no_call(refusals.called(value), " with keywords")
    elif iterating.is_iterable(value, len(arguments)):
        reader.stack.append(iterating.iterable(reader, value, arguments))
    elif value in (min, max):
        numbers = [conversions.number(out, one) for one in extremes.compared(arguments)]
        extremes.push_best(reader, value, numbers, after)
    elif (rule := functions.rule_of(value, len(arguments))) is not None:
        reader.stack.append(rule(out, *arguments))
    elif value is len and len(arguments) == 1 and LENGTH.rule(arguments[0]) is not None:
        reader.stack.append(LENGTH(reader, arguments[0]))
    elif value is deque:
        reader.stack.append(made_deques.begin(reader, arguments))
    else:
        if type(value) is type and value.__module__ not in ("builtins", "numpy"):
            raise refusals.no_making(value)
        raise refusals.no_call(refusals.called(value))


def _is_idiom(
    reader: Reader, function: Any, arguments: list[Item], keywords: dict[str, Item]
) -> bool:
    """Push what a function gives that calls another for each item; whether it is one."""
    if function in heaps.CALLS and not keywords:
        heaps.enter(reader, function, arguments)
    elif function in places_of_lists.CALLS and not keywords:
        places_of_lists.enter(reader, function, arguments)
    elif function in restated.CALLS and not keywords:
        restated.enter(reader, function, arguments)
    elif function in idioms.OF_TEXTS:
        reader.stack.append(function(reader, *arguments))
    elif function is np.vectorize and len(arguments) == 1:
        reader.stack.append(idioms.vectorize(arguments[0], keywords))
    elif function is np.fromiter:
        generators.from_iter(reader, arguments, keywords)
    else:
        return idioms.called(reader, function, arguments, keywords)
    return True

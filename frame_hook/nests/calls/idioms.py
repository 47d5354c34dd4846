"""Functions of Python's and NumPy's that call a function for each item: each is read as if it were written in Python.

The Python functions here stand in the place of the inlining. They get iterators, and `np.vectorize` arrays.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, making, statements, views
from ufuse.frame_hook.nests.calls import inlining
from ufuse.frame_hook.nests.containers import characters, made_dicts
from ufuse.frame_hook.nests.given import attributes
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Numbers, Part
from ufuse.frame_hook.nests.known.containers import MadeFunction, MadeList, RangeOf, Thing
from ufuse.frame_hook.nests.known.frames import is_filled
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.kinds import BOOL, FLOAT, INT, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item, Lazily, Listed, Vectorized, is_none
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.frame_hook.trace import symbols
from ufuse.frame_hook.trace.symbols import Unread
from ufuse.graph.nest_types import ELEMENTS, I1

Function = Callable[..., Any]
VECTORIZED_CALL = np.vectorize.__call__
MOST_AXES = 3
OF_SET = Array, Part, Lazy, Numbers, MadeList, RangeOf


# What stands in the place of calls ----------------------------------------------------------------------------------


def _filtered(function: Function, items: Iterator[Any]) -> list[Any]:
    return [item for item in items if function(item)]


def _accumulated(items: Iterator[Any], function: Function) -> list[Any]:
    found = []
    total = None
    for item in items:
        total = item if total is None else function(total, item)
        found.append(total)
    return found


def _reduced(function: Function, items: Iterator[Any]) -> Any:
    total = None
    for item in items:
        total = item if total is None else function(total, item)
    if total is None:
        raise TypeError
    return total


def _added(items: Iterator[Any], found: set[Any]) -> set[Any]:
    for item in items:
        found.add(item)
    return found


def _greatest(items: Iterator[Any], key: Function) -> Any:
    best = best_key = None
    for item in items:
        its_key = key(item)
        if best_key is None or its_key > best_key:
            best, best_key = item, its_key
    if best is None:
        raise ValueError
    return best


def _least(items: Iterator[Any], key: Function) -> Any:
    best = best_key = None
    for item in items:
        its_key = key(item)
        if best_key is None or its_key < best_key:
            best, best_key = item, its_key
    if best is None:
        raise ValueError
    return best


KEYED: dict[Any, Function] = {max: _greatest, min: _least}


NAMES = frozenset(("vectorize", "fromiter", "map", "filter", "reduce", "accumulate", "tolist"))


VECTORIZED = "<np.vectorize>"


def has_some(function: types.FunctionType) -> bool:
    """Whether a function calls such functions, by the names that it uses."""
    code, space = function.__code__, function.__globals__
    if NAMES.intersection(code.co_names) or ("key",) in code.co_consts:
        return True
    values = [space.get(name) for name in code.co_names]
    values += [one.cell_contents for one in function.__closure__ or () if is_filled(one)]
    return any(type(one) is np.vectorize for one in values)


def enter_set(reader: Reader, items: Item) -> None:
    """Read on in what makes `set(items)`, which gets one after another."""
    if not isinstance(items, OF_SET):
        raise NotNativeError("such a set is not compiled yet")
    enter(reader, _added, reader.iterate(items), made_dicts.begin(reader, is_set=True))


def called(
    reader: Reader, function: Any, arguments: Sequence[Item], keywords: dict[str, Item]
) -> bool:
    """Read on in what stands in the place of a call; whether something does."""
    if function in KEYED and keywords.keys() == {"key"} and len(arguments) == 1:
        items = reader.iterate(arguments[0])
        enter(reader, KEYED[function], items, keywords["key"])
    elif keywords:
        return False
    elif function is functools.reduce and len(arguments) == 2:
        enter(reader, _reduced, arguments[0], reader.iterate(arguments[1]))
    elif function is list and len(arguments) == 1 and isinstance(arguments[0], Lazily):
        one = arguments[0]
        if one.function is filter:
            enter(reader, _filtered, one.arguments[0], reader.iterate(one.arguments[1]))
        else:
            enter(reader, _accumulated, reader.iterate(one.arguments[0]), one.arguments[1])
    else:
        return False
    return True


def enter(reader: Reader, function: Function, *arguments: Item) -> None:
    """Read on in a function that stands in the place of a call."""
    inlining.enter(reader, known(reader, function).value, arguments, {})


def known(reader: Reader, function: Function) -> Known:
    """A function that stands in the place of a call, and what calls of it need, which is nothing of the program's."""
    assert isinstance(function, types.FunctionType)
    called = symbols.Function(function.__code__, function.__globals__, (), {}, ())
    reader.outside.known(function, called)
    return Known(function)


# np.vectorize -------------------------------------------------------------------------------------------------------


@functools.cache
def _vectorized(arrays: tuple[bool, ...], axes: int, *, is_typed: bool) -> types.FunctionType:
    """A call of what `np.vectorize` gives, for arguments that are arrays with so many axes, or numbers.

    NumPy asks the function for the result of the first elements, as NumPy's numbers, to know the dtype of the result,
    and then for those of all, as Python's numbers.
    """
    names = [f"a{place}" for place in range(len(arrays))]
    turns = [f"i{axis}" for axis in range(axes)]
    like = names[arrays.index(True)]
    first = ", ".join(["0"] * axes)
    begins = [f"{name}[{first}]" if one else name for name, one in zip(names, arrays, strict=True)]
    each = [
        f"{name}[{', '.join(turns)}]" if one else name
        for name, one in zip(names, arrays, strict=True)
    ]
    lines = [f"def vectorized(function, first, {', '.join(names)}):"]
    if not is_typed:
        lines.append(f"    first = function({', '.join(f'as_numpy({one})' for one in begins)})")
    lines.append(f"    found = empty({like}, first)")
    for axis, turn in enumerate(turns):
        lines.append(f"{'    ' * (axis + 1)}for {turn} in range({like}.shape[{axis}]):")
    value = f"function({', '.join(f'as_python({one})' for one in each)})"
    lines.append(f"{'    ' * (axes + 1)}found[{', '.join(turns)}] = converted({value}, first)")
    lines.append("    return found")
    space: dict[str, Any] = dict(RULES)
    exec(compile("\n".join(lines), VECTORIZED, "exec"), space)  # noqa: S102  (of names above alone)
    made: types.FunctionType = space["vectorized"]
    return made


def check_compared(reader: Reader, *items: Item) -> None:
    """See that a function that `np.vectorize` calls compares no NaN that is known.

    Raises:
        NotNativeError: it does, and NumPy warns of that.

    """
    if any(
        isinstance(one, Known) and isinstance(one.value, float) and one.value != one.value
        for one in items
    ) and any(one.code.co_filename == VECTORIZED for one in inlining.callers(reader.frame)):
        raise NotNativeError("np.vectorize of a comparison with a NaN")


def _as_numpy(reader: Reader, item: Item) -> Number:
    """An element as NumPy's number."""
    one = conversions.number(reader.out, item)
    return replace(one, type=NumberKind(one.type.kind, numpy=True), tag=None)


def _as_python(reader: Reader, item: Item) -> Number:
    """An element as Python's number. NumPy warns where the function compares a NaN with something: that is a doubt."""
    out, one = reader.out, conversions.number(reader.out, item)
    if one.type.is_real:
        value = conversions.as_f64(out, one)
        out.doubt_if(out.op("not", I1, out.op("feq", I1, value, value)))
        return Number(FLOAT, value)
    if one.type.kind == "bool":
        return Number(BOOL, one.value)
    return Number(INT, conversions.as_i64(out, one))


def _dtype(reader: Reader, first: Item) -> np.dtype:
    """That of the result: of the first number, or as it is given."""
    if isinstance(first, Known) and isinstance(first.value, np.dtype):
        return making.dtype_of(first, first.value)
    return conversions.number(reader.out, first).type.dtype


def _empty(reader: Reader, like: Item, first: Item) -> Array:
    """The array of results."""
    assert isinstance(like, Array | Part)
    given = views.part(reader, like)
    reader.keep_order(given)
    return statements.allocated(reader, _dtype(reader, first), given.lengths)


def _converted(reader: Reader, item: Item, first: Item) -> Number:
    """A result as NumPy converts it, from an object to an element of the array."""
    out, one, wanted = reader.out, conversions.number(reader.out, item), _dtype(reader, first)
    if one.type.dtype == wanted:
        return one
    if wanted == np.dtype("f4") and one.type == FLOAT:
        kind = reader.element_kind(wanted)
        return Number(kind, conversions.as_element(out, one, ELEMENTS[wanted]))
    if wanted != np.dtype(float) or one.type not in (INT, BOOL):
        raise NotNativeError(f"np.vectorize makes {wanted} of what is {one.type.dtype}")
    return Number(FLOAT, conversions.as_f64(out, one))


# What stands in such a text by these names.
RULES: dict[str, Function] = {
    "as_numpy": _as_numpy, "as_python": _as_python, "empty": _empty, "converted": _converted,
}  # fmt: skip
OF_TEXTS = frozenset(RULES.values())


def vectorize(function: Item, keywords: dict[str, Item]) -> Vectorized:
    """`np.vectorize(function, otypes=...)`."""
    if keywords.keys() - {"otypes"} or not _is_function(function):
        raise NotNativeError("np.vectorize with such arguments is not compiled yet")
    given = keywords.get("otypes", Known(None))
    (kind,) = given.items if isinstance(given, Listed) and len(given.items) == 1 else (given,)
    return Vectorized(function, _result_dtype(kind))


def _is_function(item: Item) -> bool:
    return isinstance(item, MadeFunction) or (isinstance(item, Known) and callable(item.value))


def _result_dtype(item: Item) -> np.dtype | None:
    if is_none(item):
        return None
    if not isinstance(item, Known) or (isinstance(item.value, str) and len(item.value) > 1):
        raise NotNativeError("np.vectorize with such otypes is not compiled yet")
    return making.dtype_of(item, np.dtype(float))


def from_outside(reader: Reader, thing: Thing) -> Vectorized | None:
    """An object that the program has made of `np.vectorize`; None: it is none, or does more."""
    outside = reader.outside
    if type(thing.value) is not np.vectorize:
        return None
    if attributes.call_of(outside, thing) is not VECTORIZED_CALL:
        return None
    if not is_none(_read(reader, thing, "signature")):
        return None
    excluded = attributes.of(outside, thing, "excluded")
    if not isinstance(excluded, Unread) or type(excluded.value) is not set or excluded.value:
        return None
    outside.trace.guards.check("SET_IS", excluded.source, frozenset())
    function = _read(reader, thing, "pyfunc")
    return Vectorized(function, _otypes(reader, thing)) if _is_function(function) else None


def _read(reader: Reader, thing: Thing, name: str) -> Item:
    found = attributes.of(reader.outside, thing, name)
    return reader.outside.item(found) if isinstance(found, Unread) else found


def _otypes(reader: Reader, thing: Thing) -> np.dtype | None:
    """The dtype of the results; a list of one is guarded here, as lists are no constants else."""
    found = attributes.of(reader.outside, thing, "otypes")
    assert isinstance(found, Unread)
    if type(found.value) is not list:
        return _result_dtype(characters.known(reader, reader.outside.item(found)))
    guards, (kind, *others) = reader.outside.trace.guards, found.value
    if others or not isinstance(kind, np.dtype):
        raise NotNativeError("np.vectorize with such otypes is not compiled yet")
    guards.check("TYPE", found.source, list)
    guards.check("LENGTH", found.source, 1)
    first = guards.load("LOAD_ITEM", found.source, 0, text=f"{found.source.text}[0]")
    guards.check("IDENTITY", first, kind)
    return _result_dtype(Known(kind))


def call_vectorized(reader: Reader, one: Vectorized, arguments: Sequence[Item]) -> None:
    """Read on in a call of what `np.vectorize` has given."""
    given = [
        elementwise.computed(reader, item) if isinstance(item, Array | Part | Lazy) else item
        for item in arguments
    ]
    arrays = [views.part(reader, item) for item in given if isinstance(item, Array | Part)]
    counts = {len(item.axes) for item in arrays}
    if len(counts) != 1 or not 1 <= (axes := counts.pop()) <= MOST_AXES:
        raise NotNativeError("np.vectorize of arrays with several numbers of axes, or too many")
    for item in given:
        if not isinstance(item, Array | Part):
            conversions.number(reader.out, item)
    for other in arrays[1:]:
        for length, its in zip(arrays[0].lengths, other.lengths, strict=True):
            doubt_unlike(reader.out, length.value, its.value)
    are_arrays = tuple(isinstance(item, Array | Part) for item in given)
    function = _vectorized(are_arrays, axes, is_typed=one.kind is not None)
    enter(reader, function, one.function, Known(one.kind), *given)

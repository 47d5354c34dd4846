"""`min` and `max` of numbers in a nest: the result is one of them, of the type that it has."""

from __future__ import annotations

from typing import Any

from ufuse.frame_hook.nests.known.kinds import (
    FLOAT,
    INT,
    TYPES,
    EitherKind,
    NotNativeError,
    NumberKind,
)
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.nests.numbers import arithmetic, conversions, either
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import F64, I1, I64, U64, Value


def compared(arguments: list[Item]) -> list[Item]:
    """What `min` and `max` choose from."""
    if len(arguments) > 1:
        return arguments
    if len(arguments) == 1 and isinstance(arguments[0], Items) and arguments[0].items:
        return list(arguments[0].items)
    raise NotNativeError("min() or max() of what is no tuple")


def push_best(reader: Reader, function: Any, numbers: list[Number], after: int) -> None:
    """Push the least or greatest number; `after` is the position behind, where each type that it may have goes on."""
    kinds = list(dict.fromkeys(one.type for one in numbers))
    common = either.common_kind(numbers)
    if common is not None:
        reader.stack.append(_best_of_either(reader, function, numbers, common))
    elif len(kinds) == 1:
        best = numbers[0]
        for other in numbers[1:]:
            best = best_of_two(reader, function, best, other)
        reader.stack.append(best)
    elif len(numbers) == 2:
        first = arithmetic.is_first(reader.out, function, *numbers)
        _go_on(reader, numbers, [first], after)
    else:
        _push_of_kinds(reader, function, numbers, kinds, after)


def best_of_two(reader: Reader, function: Any, best: Number, other: Number) -> Number:
    """The better one of two numbers of one type."""
    common = either.common_kind([best, other])
    if common is not None:
        return _best_of_either(reader, function, [best, other], common)
    if best.type != other.type:
        raise NotNativeError("min() or max() of several types is not compiled yet")
    first = arithmetic.is_first(reader.out, function, best, other)
    return Number(best.type, _select(reader, first, best.value, other.value))


def _best_of_either(
    reader: Reader, function: Any, numbers: list[Number], kind: EitherKind
) -> Number:
    """The best of Python's numbers and NumPy's of one size; whose it is goes into its tag."""
    out = reader.out
    best, tag = either.settled(numbers[0], numpy=False), either.tag(out, numbers[0])
    for each in numbers[1:]:
        other = either.settled(each, numpy=False)
        first = arithmetic.is_first(out, function, best, other)
        tag = _select(reader, first, tag, either.tag(out, each))
        best = Number(best.type, _select(reader, first, best.value, other.value))
    return Number(kind, best.value, tag)


def _push_of_kinds(
    reader: Reader, function: Any, numbers: list[Number], kinds: list[NumberKind], after: int
) -> None:
    """Several numbers of several types, in one type that holds all; beside the best its own type's number."""
    out, common = reader.out, _common(kinds)
    pairs = [
        (
            Number(common, conversions.converted(out, one, common)),
            out.constant(I64, kinds.index(one.type)),
        )
        for one in numbers
    ]
    best, which = pairs[0]
    for other, place in pairs[1:]:
        first = arithmetic.is_first(out, function, best, other)
        best = Number(common, _select(reader, first, best.value, other.value))
        which = _select(reader, first, which, place)
    results = [Number(kind, _as_it_was(reader, best.value, TYPES[kind.kind])) for kind in kinds]
    conditions = [out.op("ieq", I1, which, out.constant(I64, i)) for i in range(len(kinds))]
    _go_on(reader, results, conditions[:-1], after)


def _common(kinds: list[NumberKind]) -> NumberKind:
    if all(kind.is_whole and TYPES[kind.kind] != U64 for kind in kinds):
        return INT
    if all(TYPES[kind.kind] == F64 for kind in kinds):
        return FLOAT
    raise NotNativeError("min() or max() of several types is not compiled yet")


def _as_it_was(reader: Reader, value: Value, type_: str) -> Value:
    """A number in its own type again; anything where it is of another."""
    return value if value.type == type_ else reader.out.op(f"wrap_{type_}", type_, value)


def _select(reader: Reader, condition: Value, then: Value, other: Value) -> Value:
    return reader.out.op("select", then.type, condition, then, other)


def _go_on(reader: Reader, numbers: list[Number], conditions: list[Value], after: int) -> None:
    """End the block: control goes on with the first number whose condition holds, else with the last."""
    out, labels = reader.out, []
    for number in numbers:
        reader.stack.append(number)
        labels.append(reader.target(after))
        reader.stack.pop()
    names = [f"{labels[0]}.is{place}" for place in range(len(conditions))]
    for name, condition in zip(names, conditions, strict=True):
        out.set(name, condition)
    *firsts, last = names
    for label, name in zip(labels, firsts, strict=False):
        following = reader.new_label()
        out.end("branch", label, following, condition=out.get(name, I1))
        out.begin(following)
    out.end("branch", *labels[-2:], condition=out.get(last, I1))

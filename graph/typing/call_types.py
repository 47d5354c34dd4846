"""The type of what a call of a NumPy function gives: its row's shape, and what NumPy answers about samples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ufuse.graph.types import ArrayType, NothingType, NumberType, TupleType, Type
from ufuse.graph.typing.call import Argument, Call, Sequenced, nested_shape
from ufuse.graph.typing.calls import COUNTS, NO_MATTER, function_named, rule_for
from ufuse.graph.typing.counting import LENGTH
from ufuse.graph.typing.sample import (
    CannotInfer,
    Constant,
    Facts,
    Operand,
    ask,
    group,
    ordered_for,
    pattern,
)
from ufuse.graph.typing.shapes import Shape


def bound(spec: Any, operands: tuple[Operand, ...]) -> Argument:
    """The argument that an entry of `arguments` or `keywords` stands for."""
    match spec:
        case int():
            return operands[spec]
        case ("const", value):
            return Constant(value)
        case ("tuple" | "list" as kind, items):
            return Sequenced(kind, tuple(bound(item, operands) for item in items))
    raise CannotInfer(f"not an argument: {spec!r}")


def _pattern(argument: Argument, fill: str = "one") -> Hashable:
    if isinstance(argument, Sequenced):
        return group(argument.kind, [_pattern(item) for item in argument.items])
    return pattern(argument, fill)


def _counted(argument: Argument, value: int = 1) -> Argument:
    """What stands for a number that says how much memory a result takes."""
    type_ = argument.type if isinstance(argument, Constant) else argument
    if not isinstance(type_, NumberType):
        return argument
    return Constant(value) if type_.kind == "int" else type_


def _first_place(argument: Argument) -> Argument:
    """A key with 0 in the place of whole numbers that are known: a sample has few elements."""
    if isinstance(argument, Sequenced):
        return Sequenced(argument.kind, tuple(map(_first_place, argument.items)))
    if isinstance(argument, Constant) and type(argument.value) in (tuple, list):
        return Constant(
            type(argument.value)(0 if type(one) is int else one for one in argument.value)
        )
    is_place = isinstance(argument, Constant) and type(argument.value) is int
    return Constant(0) if is_place else argument


def _listed(argument: Argument, facts: Facts) -> Argument:
    """The array that NumPy makes of a list; another argument as it is."""
    is_list = isinstance(argument, Sequenced) or (
        isinstance(argument, Constant) and isinstance(argument.value, list | tuple)
    )
    if not is_list:
        return argument
    return reshaped_sample(
        ask(np.array, [_pattern(argument)]), nested_shape(argument, "a list", facts)
    )


def _listed_items(argument: Argument, facts: Facts) -> Argument:
    if isinstance(argument, Sequenced):
        return Sequenced(argument.kind, tuple(_listed(item, facts) for item in argument.items))
    if isinstance(argument, Constant) and isinstance(argument.value, list | tuple):
        items = tuple(_listed(Constant(item), facts) for item in argument.value)
        return Sequenced(type(argument.value).__name__, items)
    return argument


def _check_dtype(dtype: Any, operands: tuple[Operand, ...]) -> None:
    """Refuse what would warn that imaginary parts are lost; a sample must not warn the user."""
    if dtype is None or np.dtype(dtype).kind in "cb":
        return
    for operand in operands:
        type_ = operand.type if isinstance(operand, Constant) else operand
        if isinstance(type_, ArrayType) and type_.dtype.kind == "c":
            raise CannotInfer("a cast that discards the imaginary part warns")


def call_type(operands: tuple[Operand, ...], attributes: Mapping[str, Any], facts: Facts) -> Type:
    """The type of a CALL node; a tuple with the new versions behind the result where it writes.

    Raises:
        CannotInfer: no rule predicts it.

    """
    name = attributes["function"]
    rule = rule_for(name)
    arguments = tuple(bound(spec, operands) for spec in attributes.get("arguments", ()))
    keywords = {key: bound(spec, operands) for key, spec in attributes.get("keywords", ())}
    call = Call(name, arguments, keywords, facts, tuple(attributes.get("sizes", ())))
    written = tuple(attributes.get("writes", ()))
    if bool(written) != (rule.writes or "out" in keywords):
        raise CannotInfer(f"what {name} writes is not as its row says")
    if "out" in keywords:
        raise CannotInfer(f"{name} with out=")
    if "dtype" in keywords:
        _check_dtype(call.constant(len(arguments), "dtype"), operands)
    shapes = rule.shape(call)
    if rule.is_size:
        return NumberType("int", call.made())
    if rule.gives is not None:
        return rule.gives(call, shapes)
    ignored = set(keywords) - call.asked - NO_MATTER
    if ignored:
        raise CannotInfer(f"{name} with {', '.join(sorted(ignored))}=")
    fills = (*rule.fill, *["one"] * len(arguments))
    counts = range(*rule.counts)
    samples = [
        _counted(a, rule.counted) if place in counts else a for place, a in enumerate(arguments)
    ]
    keywords = {
        key: _counted(a, rule.counted) if key in COUNTS else a for key, a in keywords.items()
    }
    for at in rule.keys:
        if at < len(samples):
            samples[at] = _first_place(samples[at])
    for place in rule.lists:
        if isinstance(place, str) and place in keywords:
            keywords[place] = _listed(keywords[place], facts)
        elif isinstance(place, int) and place < len(samples):
            samples[place] = _listed(samples[place], facts)
    if rule.items and samples:
        samples[0] = _listed_items(samples[0], facts)
    results = shapes if isinstance(shapes, list) else [shapes]
    samples = [ordered_for(a, *results) if isinstance(a, ArrayType) else a for a in samples]
    patterns = [_pattern(a, fill) for a, fill in zip(samples, fills, strict=False)]
    named = [(key, _pattern(value)) for key, value in keywords.items()]
    sampled = ask(function_named(name), patterns, named) if rule.asks else NothingType()
    if written:
        new = [
            operands[k].type if isinstance(operands[k], Constant) else operands[k] for k in written
        ]
        return TupleType((NothingType(), *new))
    if isinstance(shapes, list):
        if not isinstance(sampled, TupleType) or len(sampled.items) != len(shapes):
            raise CannotInfer(f"{name} returns other things than its row says")
        return TupleType(tuple(map(reshaped_sample, sampled.items, shapes)))
    if name == LENGTH:
        return NumberType("int", call.shape(0, "obj")[0])
    return reshaped_sample(sampled, shapes)


def reshaped_sample(sampled: Type, shape: Shape) -> Type:
    """A sample's type with the real sizes.

    Raises:
        CannotInfer: the sample contradicts the shape.

    """
    if isinstance(sampled, NumberType) and not shape:
        return sampled
    if not isinstance(sampled, ArrayType) or sampled.ndim != len(shape):
        raise CannotInfer("NumPy's result has another form than its rule predicts")
    return ArrayType(sampled.dtype, shape, sampled.order, sampled.contiguous, sampled.scalar)

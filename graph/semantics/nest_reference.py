"""The definition of what a nest means, in plain Python. Every backend must match it to the bit."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ufuse.graph.nest import Block, Instruction, Nest
from ufuse.graph.nest_slots import RangeSlot
from ufuse.graph.nest_types import DRAWS, EXIT, F32, F64, I1, INTEGERS, REALS, TURNS, U64, limits
from ufuse.graph.semantics.nest_arithmetic import LIMIT, RULES, DoubtError, Number, called
from ufuse.graph.semantics.nest_boxing import (
    arrays_of,
    boxed,
    change_lists,
    columns_of,
    move,
    unboxed,
)
from ufuse.graph.semantics.nest_generators import drawn, generators_of, restore, state_of
from ufuse.graph.semantics.nest_statements import (
    arranged,
    array_of_view,
    elements,
    folded,
    indexed,
    mapped,
    multiplied,
    place_in,
    position,
    product,
    reduced,
)


def run(nest: Nest, objects: Sequence[Any], turns: int | None = None) -> Any:
    """What a nest changes, binds again or gives, for an object in each slot; `NotImplemented` where no turn was done.

    At most `turns` turns are done, and none that ends in a doubt. Arrays and the iterator are changed in place.
    """
    arrays = arrays_of(nest, objects)
    generators = generators_of(nest, objects)
    states = [state_of(one) for one in generators.values()]
    cells = unboxed(nest, objects)
    left = turns_left(nest, cells)
    given = left if turns is None else min(left, turns)
    columns = columns_of(nest, objects)
    saved = [array.copy() for array in arrays]
    while given > 0:
        cells[TURNS] = given
        tried, temporaries = dict(cells), list[np.ndarray]()
        if execute(nest, arrays, tried, temporaries, columns, generators):
            move(nest, objects, left - turns_left(nest, tried))
            change_lists(nest, objects, columns, [*arrays, *temporaries])
            return boxed(nest, tried, [*arrays, *temporaries], objects)
        for array, copy in zip(arrays, saved, strict=True):
            if array.flags.writeable:
                array[...] = copy
        for one, state in zip(generators.values(), states, strict=True):
            restore(one, state)
        given -= int(tried[TURNS]) + 1
    return NotImplemented


def turns_left(nest: Nest, cells: dict[str, Number]) -> int:
    """How many turns the iterator of the outermost loop still has."""
    names = [f"{slot.name}.left" for slot in nest.slots if isinstance(slot, RangeSlot)]
    return int(cells[names[0]]) if names else LIMIT - 1


def execute(
    nest: Nest,
    arrays: Sequence[np.ndarray],
    cells: dict[str, Number],
    temporaries: list[np.ndarray] | None = None,
    columns: Mapping[int, np.ndarray] = MappingProxyType({}),
    generators: Mapping[str, Any] = MappingProxyType({}),
) -> bool:
    """Run the nest on its cells, which are changed: all where it was left (True), `turns` at a doubt (False).

    The number of the exit is put among them where the nest has exits. The temporaries, as they are at the end, are put
    into an empty list. `columns`: what those of lists begin with.
    """
    try:
        follow(nest, arrays, cells, temporaries, columns, generators)
    except DoubtError:
        return False
    return True


def follow(
    nest: Nest,
    arrays: Sequence[np.ndarray],
    cells: dict[str, Number],
    temporaries: list[np.ndarray] | None = None,
    columns: Mapping[int, np.ndarray] = MappingProxyType({}),
    generators: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """As `execute`.

    Raises:
        DoubtError: a doubt.

    """
    zeros: dict[str, Number] = {F64: 0.0, F32: np.float32(0), I1: False}
    variables: dict[str, Any] = {one.name: zeros.get(one.type, 0) for one in nest.others}
    variables.update(generators)
    variables.update(cells)
    every = [*arrays, *(np.empty((0,) * one.ndim, one.dtype) for one in nest.temporaries)]
    for number, column in columns.items():
        every[number] = column
    blocks = {block.label: block for block in nest.blocks}
    label: str | None = nest.blocks[0].label
    last = nest.blocks[0]
    try:
        while label is not None:
            last, label = blocks[label], _run_block(blocks[label], every, variables)
    except DoubtError:
        cells[TURNS] = variables[TURNS]
        raise
    if temporaries is not None:
        temporaries += every[len(arrays) :]
    cells.update((name, variables[name]) for name in cells if name != EXIT)
    if nest.exits:
        cells[EXIT] = last.end.number


def _run_block(block: Block, arrays: list[np.ndarray], variables: dict[str, Any]) -> str | None:
    values: dict[int, Number] = {}  # by the number of the value
    for one in block.instructions:
        inputs = [values[value.number] for value in one.inputs]
        result = _computed(one, inputs, arrays, variables)
        if one.result is not None:
            values[one.result.number] = result
    match block.end.kind:
        case "jump":
            return block.end.targets[0]
        case "branch":
            condition = block.end.condition
            return block.end.targets[0 if condition is not None and values[condition.number] else 1]
        case "leave":
            return None
    raise DoubtError


def _computed(
    one: Instruction,
    inputs: list[Any],
    arrays: list[np.ndarray],
    variables: dict[str, Any],
) -> Any:
    rule = RULES.get((one.op, one.inputs[0].type)) if one.inputs else None
    if rule is not None:  # asked first, as these are most of what a turn does
        return _kept(one, rule(*inputs))
    match one.op:
        case "map":
            return mapped(one.attributes[0], inputs, arrays)
        case "fold":
            return folded(one, inputs, arrays)
        case "reduce":
            return reduced(one, inputs, arrays)
        case "matmul":
            return multiplied(one, inputs, arrays)
        case "take" | "put":
            return indexed(one, inputs, arrays)
        case "position":
            return position(one, inputs, arrays)
        case "scan" | "nonzero" | "sort" | "argsort":
            return arranged(one, inputs, arrays)
        case "dot":
            return product(one, inputs, arrays)
        case "alloc":
            (number,) = one.attributes
            arrays[number] = np.empty(inputs, arrays[number].dtype)
            return None
        case "const":
            is_single = one.result is not None and one.result.type == F32
            return np.float32(one.attributes[0]) if is_single else one.attributes[0]
        case "get":
            return variables[one.attributes[0]]
        case "set":
            variables[one.attributes[0]] = inputs[0]
            return None
        case "select":
            return inputs[1] if inputs[0] else inputs[2]
        case "call":
            return called(one.attributes[0], inputs)
        case "draw":
            name, slot = one.attributes
            return drawn(name, variables[slot], inputs)
        case "draws":
            name, slot, view = one.attributes
            taken = len(DRAWS[name][0])
            shape, places = inputs[taken : taken + len(view.axes)], inputs[-len(view.axes) :]
            part = array_of_view(view, shape, list(places), arrays)
            for at in np.ndindex(*shape):
                part[at] = drawn(name, variables[slot], inputs[:taken])
            return None
        case "load":
            array = elements(one, arrays)
            element = array[place_in(array, inputs)]
            return element if isinstance(element, np.float32) else element.item()
        case "store":
            *index, value = inputs
            array = elements(one, arrays)
            array[place_in(array, index)] = value
            return None
        case "append":
            (number,) = one.attributes
            added = np.array(inputs, arrays[number].dtype)
            arrays[number] = np.concatenate((arrays[number], added))
            return None
        case "trim":
            (number,), (count,) = one.attributes, inputs
            arrays[number] = arrays[number][:count].copy()
            return None
        case "push":
            (number,) = one.attributes
            pairs = zip(inputs, one.inputs, strict=True)
            words = [_as_word(value, given.type) for value, given in pairs]
            arrays[number] = np.concatenate((arrays[number], np.array(words, np.int64)))
            return None
        case "peek":
            number, place = one.attributes
            assert one.result is not None
            return _of_word(int(arrays[number][-place]), one.result.type)
        case "drop":
            number, count = one.attributes
            arrays[number] = arrays[number][:-count].copy()
            return None
        case "room":
            return sys.getrecursionlimit() - len(inspect.stack(0))
        case "find" | "enter":
            return _found(one, inputs[0], arrays)
        case "dim":
            return arrays[one.attributes[0]].shape[one.attributes[1]]
        case "doubt_if":
            if inputs[0]:
                raise DoubtError
            return None
    raise AssertionError(one.op)


def _as_word(value: Any, type_: str) -> int:
    """A value as the 8 bytes in which a frame has it."""
    if type_ in REALS:
        return int(np.float64(value).view(np.int64))
    return int(np.uint64(int(value) & (2**64 - 1)).astype(np.int64))


def _of_word(word: int, type_: str) -> Any:
    """The value that was pushed."""
    if type_ in REALS:
        real = np.int64(word).view(np.float64)
        return np.float32(real) if type_ == F32 else float(real)
    return bool(word) if type_ == I1 else word % 2**64 if type_ == U64 else word


def _found(one: Instruction, key: int, arrays: list[np.ndarray]) -> int:
    """The place of a key, which may get one."""
    keys, _, *columns = one.attributes
    places = np.flatnonzero(arrays[keys] == key)
    if len(places):
        return int(places[0])
    if one.op == "find":
        return -1
    for number, added in ((keys, key), *((column, 0) for column in columns)):
        arrays[number] = np.append(arrays[number], np.array(added, arrays[number].dtype))
    return len(arrays[keys]) - 1


def _kept(one: Instruction, result: Number) -> Number:
    if one.result is not None and one.result.type in INTEGERS:
        low, high = limits(one.result.type)
        if not low <= result <= high:
            raise DoubtError
    return result

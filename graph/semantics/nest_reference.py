"""The definition of what a nest means, in plain Python. Every backend must match it to the bit."""

from __future__ import annotations

import ctypes
import gc
import inspect
import math
import operator
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ufuse.graph.nest import (
    ARRAYS,
    DRAWS,
    EXIT,
    F32,
    F64,
    I1,
    INTEGERS,
    KINDS,
    MAP_AXES,
    MARKS,
    NO_ARRAY,
    OBJECTS,
    PARTS,
    POSITIONS,
    REALS,
    TABLE_AXES,
    TURNS,
    U64,
    ArraySlot,
    Block,
    GivenRows,
    Instruction,
    KeysSlot,
    ListSlot,
    Map,
    MemberSlot,
    Nest,
    NumberSlot,
    RangeSlot,
    ResultSlot,
    Scalar,
    Step,
    View,
    limits,
)
from ufuse.graph.semantics.nest_arithmetic import LIMIT, RULES, DoubtError, Number, called
from ufuse.graph.semantics.nest_generators import drawn, generators_of, restore, state_of

HALF, LOWER = 32, (1 << 32) - 1  # of two ints in one
RANGE_ITERATOR = type(iter(range(0)))


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
            _move(nest, objects, left - turns_left(nest, tried))
            change_lists(nest, objects, columns, [*arrays, *temporaries])
            return boxed(nest, tried, [*arrays, *temporaries], objects)
        for array, copy in zip(arrays, saved, strict=True):
            if array.flags.writeable:
                array[...] = copy
        for one, state in zip(generators.values(), states, strict=True):
            restore(one, state)
        given -= int(tried[TURNS]) + 1
    return NotImplemented


def arrays_of(nest: Nest, objects: Sequence[Any]) -> list[np.ndarray]:
    """The arrays among an object for each slot; those of lists are made."""
    return [
        _array_of(slot, thing) if slot.items else thing
        for slot, thing in zip(nest.given, objects, strict=True)
        if isinstance(slot, ArraySlot)
    ]


def _array_of(slot: ArraySlot, thing: Sequence[Any]) -> np.ndarray:
    if slot.rows is not None:
        return _rows_of(slot.rows, slot.dtype, thing)
    if slot.items in (OBJECTS, MARKS):
        return np.zeros(len(thing), slot.dtype)
    if slot.owner:
        thing = [attribute_of(one, slot) for one in thing]
    if slot.items == ARRAYS:
        return _stacked(slot, thing)
    if slot.ndim == TABLE_AXES:
        shape = len(thing), len(thing[0]) if thing else 0
        numbers = [one for row in thing for one in _numbers(slot, row)]
        return np.array(numbers, slot.dtype).reshape(shape)
    return np.array(_numbers(slot, thing), slot.dtype)


def _rows_of(rows: GivenRows, dtype: np.dtype, thing: Any) -> np.ndarray:
    """Lists of several lengths as one array: where each begins, where the last one ends, then all numbers."""
    given = [[*row] for row in (thing.values() if rows.in_dict else thing)]
    width = len(rows.columns)
    ends = np.cumsum([len(given) + 1, *(width * len(row) for row in given)])
    items = [item for row in given for item in row]
    numbers = [one for item in items for one in item] if rows.has_tuples else items
    return np.concatenate([ends.astype(dtype), np.array(numbers, dtype)])


def _stacked(slot: ArraySlot, arrays: Sequence[Any]) -> np.ndarray:
    """Arrays of one dtype and shape one behind another; none of them where some is another: no turn is done then."""
    first = arrays[0] if arrays else None
    fits = isinstance(first, np.ndarray) and all(
        type(one) is np.ndarray and (one.dtype, one.shape) == (slot.dtype, first.shape)
        for one in arrays
    )
    return np.stack(arrays) if fits else np.zeros((0,) * slot.ndim, slot.dtype)


def attribute_of(thing: Any, slot: ArraySlot) -> Any:
    """What an item of a list of objects has as the attribute of a slot; None if nothing: no turn is done then."""
    if slot.field is None:
        return getattr(thing, slot.attribute, None)
    return thing[slot.field] if slot.field < len(thing) else None


def columns_of(nest: Nest, objects: Sequence[Any]) -> dict[int, np.ndarray]:
    """What the columns of lists that grow, and of dicts and sets, begin with, by number."""
    found = {
        one.array: np.array(thing if slot.is_read else [], nest.numbered[one.array].dtype)
        for slot, thing in zip(nest.given, objects, strict=True)
        if isinstance(slot, ListSlot)
        for one in slot.columns
    }
    for slot, thing in zip(nest.given, objects, strict=True):
        if isinstance(slot, KeysSlot):
            found[slot.keys] = np.array([_key_word(slot, one) for one in thing], np.int64)
            if slot.values >= 0:
                dtype = nest.numbered[slot.values].dtype
                values = range(len(thing)) if slot.has_rows else thing.values()
                found[slot.values] = np.array([0, *values], dtype)
            if slot.places >= 0:
                found[slot.places] = np.zeros(len(thing) + 1, np.int64)
    return found


def _key_word(slot: KeysSlot, key: Any) -> int:
    """A key as one number."""
    if not slot.has_pairs:
        return int(key)
    first, second = key
    return int(first) << HALF | (int(second) & LOWER)


def _key_of(slot: KeysSlot, word: int) -> Any:
    """The key that is a number."""
    if not slot.has_pairs:
        return word
    lower = word & LOWER
    return word >> HALF, lower - (LOWER + 1 if lower > LOWER >> 1 else 0)


def _change_keys(
    slot: KeysSlot, thing: Any, before: np.ndarray, arrays: Sequence[np.ndarray]
) -> None:
    """Put into a dict or set what it has got; `before` are the keys as they were."""
    values = None if slot.values < 0 else arrays[slot.values][1:]
    for place, word in enumerate(arrays[slot.keys].tolist()):
        key = _key_of(slot, word)
        if values is None:
            thing.add(key)
        elif place >= len(before) or thing[key] != values[place]:
            thing[key] = _item(slot.kind, values[place], is_numpy=slot.is_numpy)


def change_lists(
    nest: Nest,
    objects: Sequence[Any],
    columns: Mapping[int, np.ndarray],
    arrays: Sequence[np.ndarray],
) -> None:
    """Put into lists what they have got: `columns` are as they were, `arrays` all arrays as they are now."""
    before = arrays_of(nest, objects)
    for slot, thing in zip(nest.given, objects, strict=True):
        if isinstance(slot, ListSlot):
            parts = [
                [_item(one.kind, number, is_numpy=one.is_numpy) for number in added]
                for one in slot.columns
                for added in (arrays[one.array][len(columns[one.array]) :],)
            ]
            if slot.axes:
                thing.extend(_arrays_of(slot, *(arrays[one.array] for one in slot.columns)))
            else:
                thing.extend(zip(*parts, strict=True) if slot.has_tuples else parts[0])
        elif isinstance(slot, KeysSlot) and slot.is_written:
            _change_keys(slot, thing, columns[slot.keys], arrays)
        elif isinstance(slot, ArraySlot) and slot.items == ARRAYS and slot.is_written:
            _change_arrays(slot, thing, arrays[nest.arrays.index(slot)], _marks(nest, slot, arrays))
        elif isinstance(slot, ArraySlot) and slot.items and slot.items != MARKS and slot.is_written:
            place = nest.arrays.index(slot)
            lists = thing if slot.ndim == TABLE_AXES else [thing]
            pairs = zip(np.atleast_2d(before[place]), np.atleast_2d(arrays[place]), strict=True)
            for one, pair in zip(lists, pairs, strict=True):
                _change(slot, one, *pair)


def _arrays_of(slot: ListSlot, elements: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """The arrays that a list gets."""
    found, first = [], 0
    for shape in lengths.reshape(-1, slot.axes).tolist():
        size = math.prod(shape)
        found.append(elements[first : first + size].reshape(shape).copy())
        first += size
    return found


def _marks(nest: Nest, slot: ArraySlot, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Which items get a new array as an attribute."""
    found = (
        arrays[place]
        for place, one in enumerate(nest.arrays)
        if (one.items, one.owner, one.attribute) == (MARKS, slot.owner, slot.attribute)
    )
    return next(found, np.zeros(len(arrays[nest.arrays.index(slot)]), bool))


def _change_arrays(
    slot: ArraySlot, things: Sequence[Any], rows: np.ndarray, marks: np.ndarray
) -> None:
    """Write into the arrays that items have as an attribute, or set new ones."""
    for one, row, is_new in zip(things, rows, marks, strict=True):
        if is_new:
            setattr(one, slot.attribute, row.copy())
        elif (array := attribute_of(one, slot)).tobytes() != row.tobytes():
            array[...] = row


def _change(slot: ArraySlot, thing: Any, before: np.ndarray, now: np.ndarray) -> None:
    """Put into a list, or set in its items, the numbers that are no longer what they were."""
    for i, (old, new) in enumerate(zip(before, now, strict=True)):
        if old.tobytes() == new.tobytes():
            continue
        item = _item(slot.dtype.name, new, is_numpy=slot.items == "numpy")
        if slot.owner:
            setattr(thing[i], slot.attribute, item)
        else:
            thing[i] = item


def _item(kind: str, number: np.generic, *, is_numpy: bool) -> object:
    return np.dtype(kind).type(number) if is_numpy else number.item()


def _item_type(slot: ArraySlot) -> type:
    """Of a list's numbers."""
    scalar = slot.dtype.type(0)
    return type(scalar) if slot.items == "numpy" else type(scalar.item())


def _numbers(slot: ArraySlot, items: Sequence[Any]) -> list[Any]:
    """Those of a list that have the slot's type: what is of another is never reached."""
    if slot.items == "text":
        return list(map(ord, items))
    exact = _item_type(slot)
    return [one if type(one) is exact else 0 for one in items]


def _move(nest: Nest, objects: Sequence[Any], turns: int) -> None:
    """Move the iterators; what an `enumerate` goes over moves with it."""
    pairs = list(zip(nest.given, objects, strict=True))
    within = [
        id(leaf)
        for slot, one in pairs
        if isinstance(slot, RangeSlot) and slot.kind == "count"
        for leaf in _leaves(one.__reduce__()[1][0])
    ]
    for slot, iterator in pairs:
        if isinstance(slot, RangeSlot) and id(iterator) not in within:
            for _ in range(turns):
                next(iterator)


def _leaves(iterator: Any) -> list[Any]:
    """The iterators that an iterator moves, itself among them."""
    if type(iterator) not in (zip, enumerate):
        return [iterator]
    parts = iterator.__reduce__()[1]
    inner = parts if type(iterator) is zip else parts[:1]
    return [iterator, *(leaf for one in inner for leaf in _leaves(one))]


PLAIN: dict[str, Callable[[Any], Number]] = {
    "float": float,
    "bool": bool,
    "float32": np.float32,
}


def unboxed(nest: Nest, objects: Sequence[Any]) -> dict[str, Number]:
    """The cells for an object in each slot; no turn may begin."""
    cells: dict[str, Number] = {}
    things = [*objects, *(None for _ in nest.slots[len(objects) :])]
    for slot, thing in zip(nest.slots, things, strict=True):
        if isinstance(slot, ResultSlot):
            parts = (one.name for one in nest.cells if one.name.startswith(f"{slot.name}."))
            cells.update(dict.fromkeys(parts, 0))
            if slot.is_array:
                cells[f"{slot.name}.array"] = NO_ARRAY
        elif isinstance(slot, ArraySlot):
            if slot.is_rebound:
                cells[f"{slot.name}.array"] = nest.arrays.index(slot)
            if slot.is_viewed:
                parts = (
                    f"{slot.name}.{part}{i}"
                    for part in ("place", "length")
                    for i in range(MAP_AXES)
                )
                cells.update(dict.fromkeys(parts, 0))
        elif isinstance(slot, NumberSlot):
            number = thing if slot.is_given else 0
            if slot.kind in KINDS:
                cells[slot.name] = PLAIN.get(slot.kind, int)(number)
            else:
                cells |= {f"{slot.name}.{part}": float(getattr(number, part)) for part in PARTS}
            cells[f"{slot.name}.numpy"] = isinstance(number, np.generic)
        elif isinstance(slot, MemberSlot):
            items = _owner_of(nest, slot, objects) if slot.is_given else []
            cells[slot.name] = next((i for i, one in enumerate(items) if one is thing), 0)
        elif isinstance(slot, RangeSlot):
            place = _where(slot, thing)
            for part, number in zip(("next", "step", "left"), place, strict=True):
                cells[f"{slot.name}.{part}"] = number
    lefts = [one for one in cells if one.endswith(".left")]
    cells.update(dict.fromkeys(lefts, min((cells[one] for one in lefts), default=0)))
    _shorten(nest, objects, cells)
    cells[TURNS] = 0
    return cells


def _where(slot: RangeSlot, iterator: Any) -> tuple[int, int, int]:
    """The next number or place of an iterator, its step, and how many turns it has left."""
    if slot.kind == "once":
        return 0, 1, 1
    if slot.kind == "range":
        rest = _rest(iterator)
        return rest.start, rest.step, len(rest)
    if slot.kind == "count":
        return iterator.__reduce__()[1][1], 1, LIMIT - 1
    if slot.kind == "flat":
        return iterator.index, 1, len(iterator) - iterator.index
    if slot.kind == "product":
        pools, done = _product_turns(iterator)
        return done, 1, math.prod(map(len, pools)) - done
    left = operator.length_hint(iterator)
    place = iterator.__reduce__()[2] if left else 0
    return place, -1 if slot.kind == "backwards" else 1, left


def _product_turns(iterator: Any) -> tuple[Sequence[Sequence[Any]], int]:
    """The pools of a product, and how many turns it has done, from where CPython keeps its indices."""
    pools, *last = (one for one in gc.get_referents(iterator) if type(one) is tuple)
    indices = id(iterator) + object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)
    address = ctypes.c_void_p.from_address(indices).value or 0
    places = (ctypes.c_ssize_t * len(pools)).from_address(address)
    done = 0
    for pool, place in zip(pools, places, strict=True):
        done = done * len(pool) + place
    return pools, done + 1 if last else 0


def _shorten(nest: Nest, objects: Sequence[Any], cells: dict[str, Number]) -> None:
    """End at what a list has of another type than its slot."""
    for slot, items in zip(nest.given, objects, strict=True):
        if not isinstance(slot, ArraySlot) or not slot.iterator or slot.items == "text":
            continue
        place, step, left = (
            int(cells[f"{slot.iterator}.{part}"]) for part in ("next", "step", "left")
        )
        exact = _item_type(slot)
        fits = [type(items[place + step * i]) is exact for i in range(left)]
        if False in fits:
            names = [one for one in cells if one.endswith(".left")]
            cells.update(dict.fromkeys(names, fits.index(False)))


def _owner_of(nest: Nest, slot: MemberSlot, objects: Sequence[Any]) -> Sequence[Any]:
    """The list of which it is an item."""
    found: Sequence[Any] = objects[nest.place(ArraySlot, slot.owner)]
    return found


def boxed(
    nest: Nest, cells: dict[str, Number], arrays: Sequence[np.ndarray], objects: Sequence[Any]
) -> Any:
    """The changed numbers, the rebound arrays, items and the results as objects: one alone, or a tuple, or None.

    Where the nest has exits, the number of the one by which it was left comes last.
    `arrays` are all as they are now, also the temporaries.
    """
    outputs: list[Any] = []
    arrays = [_within(slot, one) for slot, one in zip(nest.numbered, arrays, strict=True)]
    for slot in nest.slots:
        if isinstance(slot, ResultSlot) and slot.is_array and _is_none(slot, cells):
            outputs.append(None)
        elif (isinstance(slot, ArraySlot) and slot.is_rebound) or (
            isinstance(slot, ResultSlot) and slot.is_array
        ):
            found = _listed(slot, _bound(nest, slot, cells, arrays))
            if isinstance(slot, ResultSlot) and slot.container:
                values = arrays[int(cells[f"{slot.name}.values"])][1:] if slot.values else None
                if slot.origin:
                    items = objects[nest.place(ArraySlot, slot.origin)]
                    places = arrays[int(cells[f"{slot.name}.places"])][1:]
                    found = [
                        key if at < 0 else items[at] for key, at in zip(found, places, strict=True)
                    ]
                found = _contained(slot, found, values)
            outputs.append(found)
        elif isinstance(slot, ResultSlot):
            place, is_numpy = divmod(int(cells[f"{slot.name}.kind"]), 2)
            kind = slot.kinds[place]
            outputs.append(_boxed_number(kind, cells[f"{slot.name}.{kind}"], is_numpy))
        elif isinstance(slot, MemberSlot):
            outputs.append(_owner_of(nest, slot, objects)[int(cells[slot.name])])
        elif isinstance(slot, NumberSlot) and slot.is_changed:
            value = _number(slot, cells)
            outputs.append(_boxed_number(slot.kind, value, cells[f"{slot.name}.numpy"]))
    if nest.exits:
        outputs.append(int(cells[EXIT]))
    return tuple(outputs) if len(outputs) > 1 else outputs[0] if outputs else None


def _is_none(slot: ResultSlot, cells: dict[str, Number]) -> bool:
    return cells[f"{slot.name}.array"] == NO_ARRAY


def _within(slot: ArraySlot, array: np.ndarray) -> np.ndarray:
    """An array as it is given back."""
    if slot.within == "column":
        column: np.ndarray = array.reshape(-1, 1).copy()[:, 0]
        return column
    return array.copy()[:] if slot.within else array


def _number(slot: NumberSlot, cells: dict[str, Number]) -> Any:
    """What a number is now."""
    if slot.kind in KINDS:
        return cells[slot.name]
    return complex(*(float(cells[f"{slot.name}.{part}"]) for part in PARTS))


def _boxed_number(kind: str, value: Any, is_numpy: Number) -> Any:
    return np.dtype(kind).type(value) if is_numpy else value


def _listed(slot: ArraySlot | ResultSlot, array: np.ndarray) -> Any:
    """An array as it is given back, which may be as a list."""
    if not isinstance(slot, ResultSlot) or not slot.items:
        return array
    return list(array) if slot.is_numpy else array.tolist()


def _contained(slot: ResultSlot, keys: list[Any], values: np.ndarray | None) -> Any:
    """What a whole call gives of keys."""
    if values is None:
        return set(keys)
    items = list(values) if slot.has_numpy_values else values.tolist()
    name, _, factory = slot.container.partition(".")
    made = {"int": int, "float": float}.get(factory)
    pairs = zip(keys, items, strict=True)
    if name == "Counter":
        return Counter(dict(pairs))
    return defaultdict(made, pairs) if name == "defaultdict" else dict(pairs)


def _bound(
    nest: Nest, slot: ArraySlot | ResultSlot, cells: dict[str, Number], arrays: Sequence[np.ndarray]
) -> np.ndarray:
    """What an array variable is now."""
    number = int(cells[f"{slot.name}.array"])
    if number < len(arrays):
        return arrays[number]
    view = nest.views[number - len(arrays)]
    array = arrays[view.array]
    index: list[Any] = [int(cells[f"{slot.name}.place{axis}"]) for axis in range(array.ndim)]
    for i, one in enumerate(view.axes):
        if one is not None:
            axis, step = one
            assert step is not None
            begin, length = index[axis], int(cells[f"{slot.name}.length{i}"])
            end = begin + step * length
            index[axis] = slice(begin, end if end >= 0 else None, step) if length else slice(0, 0)
    walked = [one[0] for one in view.axes if one is not None]
    part: np.ndarray = array[tuple(index)].transpose(
        [sorted(walked).index(axis) for axis in walked]
    )
    new = tuple(None if one is None else slice(None) for one in view.axes)
    return np.asarray(part[new])


def _rest(iterator: Any) -> range:
    """What an iterator over a range still gives."""
    _, (whole,), *state = iterator.__reduce__()
    rest: range = whole[state[0] :] if state and state[0] else whole
    return rest


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
            return _mapped(one.attributes[0], inputs, arrays)
        case "fold":
            return _folded(one, inputs, arrays)
        case "reduce":
            return _reduced(one, inputs, arrays)
        case "matmul":
            return _multiplied(one, inputs, arrays)
        case "take" | "put":
            return _indexed(one, inputs, arrays)
        case "position":
            return _position(one, inputs, arrays)
        case "scan" | "nonzero" | "sort" | "argsort":
            return _arranged(one, inputs, arrays)
        case "dot":
            return _product(one, inputs, arrays)
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
            part = _view(view, shape, list(places), arrays)
            for at in np.ndindex(*shape):
                part[at] = drawn(name, variables[slot], inputs[:taken])
            return None
        case "load":
            array = _elements(one, arrays)
            element = array[_index(array, inputs)]
            return element if isinstance(element, np.float32) else element.item()
        case "store":
            *index, value = inputs
            array = _elements(one, arrays)
            array[_index(array, index)] = value
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


def _elements(one: Instruction, arrays: list[np.ndarray]) -> np.ndarray:
    """What is loaded or stored: an array, or the parts of a complex one."""
    number, *parts = one.attributes
    array: np.ndarray = getattr(arrays[number], *parts) if parts else arrays[number]
    return array


def _index(array: np.ndarray, index: Sequence[int]) -> tuple[int, ...]:
    places = []
    for place, length in zip(index, array.shape, strict=True):
        if not -length <= place < length:
            raise DoubtError
        places.append(place)
    return tuple(places)


def _view(view: View, lengths: Sequence[int], places: list[int], arrays: list[np.ndarray]) -> Any:
    """A part of an array; takes its places off the list."""
    array = arrays[view.array]
    begin = [places.pop(0) for _ in array.shape]
    last = list(begin)
    steps = [
        0 if axis is None else places.pop(0) if axis[1] is None else axis[1] for axis in view.axes
    ]
    for length, axis, step in zip(lengths, view.axes, steps, strict=True):
        if axis is not None:
            last[axis[0]] += step * (length - 1)
    if 0 in lengths:
        return np.empty(lengths, array.dtype)
    ends = zip(begin, last, array.shape, strict=True)
    if any(not 0 <= place < shape for *both, shape in ends for place in both):
        raise IndexError(f"{view} of {array.shape} from {begin} over {lengths}")
    strides = [
        0 if axis is None else step * array.strides[axis[0]]
        for axis, step in zip(view.axes, steps, strict=True)
    ]
    corner = array[tuple(slice(place, None) for place in begin)]
    return np.lib.stride_tricks.as_strided(corner, lengths, strides)


def _mapped(what: Map, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    lengths, rest = list(inputs[: what.ndim]), list(inputs[what.ndim :])
    values: list[Any] = []
    for operand in what.operands:
        if isinstance(operand, Scalar):
            values.append(np.asarray(rest.pop(0)).astype(operand.dtype)[()])
        else:
            values.append(_view(operand, lengths, rest, arrays))
    target = _view(what.target, lengths, rest, arrays)
    for step in what.steps:
        values.append(_stepped(step, [values[number] for number in step.inputs]))
    target[...] = values[-1]


def _stepped(step: Step, inputs: list[Any]) -> Any:
    match step.name:
        case "cast":
            return inputs[0].astype(step.dtypes[-1])
        case "copy":
            return inputs[0]
        case "where":
            return np.where(*inputs)
    return getattr(np, step.name)(*inputs, signature=tuple(one.char for one in step.dtypes))


def _folded(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> Any:
    name, view = one.attributes
    lengths, places = inputs[: len(view.axes)], list(inputs[len(view.axes) :])
    result = _fold(name, _view(view, lengths, places, arrays), None)
    return result if isinstance(result, np.float32) else result.item()


def _fold(name: str, array: np.ndarray, axes: tuple[int, ...] | None) -> Any:
    try:
        return getattr(np, name).reduce(array, axis=axes, dtype=array.dtype)
    except ValueError:  # of nothing there is no largest element
        raise DoubtError from None


def _reduced(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    name, view, target = one.attributes
    ndim = len(view.axes)
    lengths, places = list(inputs[:ndim]), list(inputs[ndim:])
    array = _view(view, lengths, places, arrays)
    folded = tuple(axis for axis, walked in enumerate(target.axes) if walked is None)
    kept = [1 if axis in folded else length for axis, length in enumerate(lengths)]
    result = _view(target, kept, places, arrays)
    if name in POSITIONS:
        if lengths[folded[0]] == 0:
            raise DoubtError
        result[...] = getattr(np, name)(array, axis=folded[0]).reshape(kept)
        return
    result[...] = _fold(name, array, folded).reshape(kept)


PRODUCTS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "dot": np.dot,
    "matmul": np.matmul,
    "solve": np.linalg.solve,
    "inv": lambda left, _: np.linalg.inv(left),
}


def _multiplied(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    name, *views = one.attributes
    lengths, places = list(inputs[:3]), list(inputs[3:])
    parts = []
    for view in views:
        kept = [
            1 if axis is None else length for axis, length in zip(view.axes, lengths, strict=True)
        ]
        parts.append(_view(view, kept, places, arrays))
    left, right, target = parts
    if 0 in lengths:
        raise DoubtError
    left, right = left[:, :, 0], right[0]
    if views[0].axes[0] is None:
        left = left[0]
    if views[1].axes[2] is None:
        right = right[:, 0]
    try:
        found = PRODUCTS[name](left, right)
    except np.linalg.LinAlgError:
        raise DoubtError from None
    target[...] = found.reshape(target.shape)


def _indexed(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    indexed, index, other = one.attributes
    *lengths, length = inputs[: len(other.axes)]
    places = list(inputs[len(other.axes) :])
    array = _view(indexed, [1, *lengths[1:], length], places, arrays)[0]
    indices = _view(index, [lengths[0]] + [1] * len(lengths), places, arrays).reshape(-1)
    part = _view(other, [*lengths, 1], places, arrays)[..., 0]
    if not ((-length <= indices) & (indices < length)).all():
        raise DoubtError
    if one.op == "take":
        part[...] = np.moveaxis(array, -1, 0)[indices]
    else:
        np.moveaxis(array, -1, 0)[indices] = part


def _position(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> int:
    name, view = one.attributes
    length, *places = inputs
    if length == 0:
        raise DoubtError
    return int(getattr(np, name)(_view(view, [length], places, arrays)))


def _arranged(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    """`scan`, `nonzero`, `sort` and `argsort`."""
    views = [view for view in one.attributes if isinstance(view, View)]
    lengths, places = inputs[: len(views[0].axes)], list(inputs[len(views[0].axes) :])
    parts = [_view(view, lengths, places, arrays) for view in views]
    if one.op == "sort":
        parts[0].reshape(-1).sort()
    elif one.op == "argsort":
        parts[1][...] = np.argsort(parts[0])
    elif one.op == "scan":
        parts[1][...] = getattr(np, one.attributes[0]).accumulate(parts[0])
    else:
        mask, target = parts[0][:, :1].reshape(-1), parts[1][:1].reshape(-1)
        if len(found := np.flatnonzero(mask)) != lengths[1]:
            raise DoubtError
        target[...] = found


def _product(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> Any:
    name, left, right = one.attributes
    length, *places = inputs
    sides = [_view(view, [length], places, arrays) for view in (left, right)]
    result = getattr(np, name)(*sides)
    return result if isinstance(result, np.float32) else result.item()


def _kept(one: Instruction, result: Number) -> Number:
    if one.result is not None and one.result.type in INTEGERS:
        low, high = limits(one.result.type)
        if not low <= result <= high:
            raise DoubtError
    return result

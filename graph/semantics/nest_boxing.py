"""What a nest reads of the program's objects, and how they change: numbers, arrays, lists, dicts and iterators."""

from __future__ import annotations

import ctypes
import gc
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import (
    ARRAYS,
    MARKS,
    OBJECTS,
    ArraySlot,
    GivenRows,
    KeysSlot,
    ListSlot,
    MemberSlot,
    NumberSlot,
    RangeSlot,
    ResultSlot,
)
from ufuse.graph.nest_types import EXIT, KINDS, MAP_AXES, NO_ARRAY, PARTS, TABLE_AXES, TURNS
from ufuse.graph.semantics.nest_arithmetic import LIMIT, Number

RANGE_ITERATOR = type(iter(range(0)))

HALF, LOWER = 32, (1 << 32) - 1  # of two ints in one
PLAIN: dict[str, Callable[[Any], Number]] = {
    "float": float,
    "bool": bool,
    "float32": np.float32,
}


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


def move(nest: Nest, objects: Sequence[Any], turns: int) -> None:
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

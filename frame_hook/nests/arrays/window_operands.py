"""What is folded element by element: a window, or an expression over windows of one shape and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ufuse.frame_hook.nests.arrays import windows
from ufuse.frame_hook.nests.known.arrays import (
    Array,
    Axis,
    Converted,
    Lazy,
    Length,
    Part,
    Rolled,
    Window,
)
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import ELEMENT_KINDS, NotNativeError, TemporaryKind
from ufuse.frame_hook.nests.known.numbers import Number
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import ELEMENTS, F32, F64, I64, INTEGERS, Value

MOST_OF_WHOLE = 16  # elements of whole arrays or rows
MOST_OPERATIONS = 150  # loads and steps, for all elements
Source = Array | Part
Leaf = Source | Number
# Instructions for steps, by their ufuncs: of float64, float32 and int64. A square is a product.
STEPS = {
    "add": "add", "subtract": "sub", "multiply": "mul",
    "negative": "neg", "absolute": "abs", "square": "mul",
}  # fmt: skip
OF_REALS = {"negative", "absolute", "square"}
COMPARISONS = {
    "less": "lt", "less_equal": "le", "equal": "eq", "not_equal": "ne", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip


class Operands:
    """What is folded: `leaves` are windows and numbers, which the stack has across jumps."""

    def __init__(self, item: Array | Part | Lazy) -> None:
        self._item = item
        self._places: dict[Part | Converted, int] = {}
        self.leaves: list[Leaf] = [item] if not isinstance(item, Lazy) else []
        if isinstance(item, Lazy):
            for one in _leaves(item):
                if one not in self._places:
                    self._places[one] = len(self.leaves)
                    self.leaves.append(one if isinstance(one, Part) else _number(one))

    def sources(self, leaves: Sequence[Item]) -> list[Source]:
        """Those of the leaves that are windows."""
        return [one for one in leaves if isinstance(one, Array | Part)]

    def why_not(self, reader: Reader, most: int) -> str | None:
        """Why these are not followed, if not."""
        if any(isinstance(one, Rolled) for one in _inputs(self._item)):
            return "an array is rolled"
        found = [_shape(reader, one) for one in self.sources(self.leaves)]
        if not found or found[0] is None or any(one != found[0] for one in found):
            return "they are no windows of one shape"
        count = math.prod(found[0])
        if count > MOST_OF_WHOLE and all(
            windows.is_whole(reader, one, _window(reader, one)) for one in self.sources(self.leaves)
        ):
            return "they are whole arrays or rows"
        steps = [one for one in _inputs(self._item) if isinstance(one, Lazy)]
        if count > most or (steps and count * (len(found) + len(steps)) > MOST_OPERATIONS):
            return "they have many elements"
        if not all(map(_is_followed, steps)):
            return "a step is not followed"
        return None

    def dtype(self, reader: Reader) -> np.dtype:
        """Of the elements."""
        item = self._item
        return reader.dtype(item.holder) if isinstance(item, Array | Part) else item.dtype

    def are_in_order(self, reader: Reader) -> bool:
        """Whether elements lie in memory as they follow one another; the nest relies on it then."""
        return all(_is_in_order(reader, one) for one in self.sources(self.leaves))

    def conditions(self, reader: Reader) -> list[Value]:
        """What has to hold for the elements to be there."""
        found = []
        for one in self.sources(self.leaves):
            found += windows.conditions(reader, one, _window(reader, one))
        return found

    def elements(self, reader: Reader, leaves: Sequence[Item]) -> list[Value]:
        """The elements, of leaves that were taken from the stack."""
        loaded: list[list[Value] | Value] = []
        for one in leaves:
            if isinstance(one, Array | Part):
                type_ = ELEMENTS[reader.dtype(one.holder)]
                loaded.append(windows.elements(reader, one, _window(reader, one), type_))
            else:
                assert isinstance(one, Number)
                loaded.append(one.value)
        first = next(one for one in loaded if isinstance(one, list))
        if not isinstance(self._item, Lazy):
            return first
        rows = [
            [one[i] if isinstance(one, list) else one for one in loaded] for i in range(len(first))
        ]
        return [self._computed(reader.out, self._item, row) for row in rows]

    def _computed(
        self, code: Code, one: Lazy | Part | Converted | Rolled, row: list[Value]
    ) -> Value:
        """An element of an expression, of those of its leaves."""
        if not isinstance(one, Lazy):
            assert not isinstance(one, Rolled)
            return row[self._places[one]]
        inputs = [self._computed(code, each, row) for each in one.inputs]
        type_ = ELEMENTS[one.dtype]
        if one.name == "copy":
            return inputs[0]
        if one.name == "cast":
            return converted(code, inputs[0], type_)
        if one.name in COMPARISONS:
            kind = "i" if inputs[0].type in INTEGERS else "f"
            return code.op(kind + COMPARISONS[one.name], type_, *inputs)
        if one.name == "square":
            inputs *= 2
        return code.op(STEPS[one.name], type_, *inputs)

    def whole(self, leaves: Sequence[Item]) -> Item:
        """All of it, of leaves that were taken from the stack."""
        if not isinstance(self._item, Lazy):
            return leaves[0]
        lengths = next(one.lengths for one in leaves if isinstance(one, Part))
        return self._rebuilt(self._item, leaves, lengths)

    def _rebuilt(self, one: Lazy, leaves: Sequence[Item], lengths: tuple[Length, ...]) -> Lazy:
        inputs: list[Lazy | Part | Converted | Rolled] = []
        for each in one.inputs:
            if isinstance(each, Lazy):
                inputs.append(self._rebuilt(each, leaves, lengths))
                continue
            assert not isinstance(each, Rolled)
            leaf = leaves[self._places[each]]
            if isinstance(leaf, Number):
                inputs.append(Converted(leaf.value, each.dtype))
            else:
                assert isinstance(leaf, Part)
                inputs.append(leaf)
        return replace(one, inputs=tuple(inputs), lengths=lengths)


def converted(code: Code, value: Value, type_: str) -> Value:
    """A number in another type, which holds it or is one of reals."""
    if value.type == type_:
        return value
    if value.type not in (*INTEGERS, F32, F64):
        value = code.op("widen", I64, value)
    return value if value.type == type_ else code.op(f"to_{type_}", type_, value)


def _inputs(item: Item | Rolled | Converted) -> Iterator[Item | Rolled | Converted]:
    """An expression, and all that it is made of."""
    yield item
    if isinstance(item, Lazy):
        for one in item.inputs:
            yield from _inputs(one)


def _leaves(item: Lazy) -> Iterator[Part | Converted]:
    return (one for one in _inputs(item) if isinstance(one, Part | Converted))


def _number(one: Converted) -> Number:
    return Number(ELEMENT_KINDS[ELEMENTS[one.dtype]], one.value)


def _is_followed(one: Lazy) -> bool:
    """Whether each element is what an instruction makes of elements."""
    source, result = one.dtypes[0], one.dtypes[-1]
    if one.name == "cast":
        return (
            result.char in "df" and source.char not in "FDLQ" and result.itemsize >= source.itemsize
        )
    if one.name == "copy":
        return result.char in "dfl"
    if one.name in COMPARISONS:
        return source == one.dtypes[1] and source.char in "dflBihbH"
    kinds = "df" if one.name in OF_REALS else "dfl"
    return one.name in STEPS and result.char in kinds and len(set(one.dtypes)) == 1


def _shape(reader: Reader, one: Source) -> list[int] | None:
    """How many elements a window has along each of its axes."""
    window, holder = windows.of(reader, one), one.holder
    if window is None or reader.dtype(holder) not in ELEMENTS or reader.outside.is_text(holder):
        return None
    if not isinstance(holder, TemporaryKind):
        if not isinstance(reader.given(holder.slot), np.ndarray):
            return None
    if reader.item_kind(holder) != reader.element_kind(reader.dtype(holder)):
        return None
    if isinstance(one, Part) and any(axis.length.is_one for axis in one.axes):
        return None
    return [count for count in window.counts if count]


def _window(reader: Reader, one: Source) -> Window:
    window = windows.of(reader, one)
    assert window is not None
    return window


def _is_in_order(reader: Reader, one: Source) -> bool:
    window, holder = _window(reader, one), one.holder
    axes = [axis for axis, count in enumerate(window.counts) if count]
    if len(axes) < 2:
        return True
    walked = tuple(Axis(Length(reader.length(holder, axis).value), axis) for axis in axes)
    try:
        reader.keep_order(Part(holder, reader.dtype(holder), (), walked))
    except NotNativeError:
        return False
    return True

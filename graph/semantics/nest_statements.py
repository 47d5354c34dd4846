"""Array statements of nests with plain NumPy: what each instruction over arrays means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ufuse.graph.nest import Instruction, Map, Scalar, Step, View
from ufuse.graph.nest_types import POSITIONS
from ufuse.graph.semantics.nest_arithmetic import DoubtError

PRODUCTS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "dot": np.dot,
    "matmul": np.matmul,
    "solve": np.linalg.solve,
    "inv": lambda left, _: np.linalg.inv(left),
}


def elements(one: Instruction, arrays: list[np.ndarray]) -> np.ndarray:
    """What is loaded or stored: an array, or the parts of a complex one."""
    number, *parts = one.attributes
    array: np.ndarray = getattr(arrays[number], *parts) if parts else arrays[number]
    return array


def place_in(array: np.ndarray, index: Sequence[int]) -> tuple[int, ...]:
    """The place of an element, of which each index is in range, from either end."""
    places = []
    for place, length in zip(index, array.shape, strict=True):
        if not -length <= place < length:
            raise DoubtError
        places.append(place)
    return tuple(places)


def array_of_view(
    view: View, lengths: Sequence[int], places: list[int], arrays: list[np.ndarray]
) -> Any:
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


def mapped(what: Map, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    """A statement over elements."""
    lengths, rest = list(inputs[: what.ndim]), list(inputs[what.ndim :])
    values: list[Any] = []
    for operand in what.operands:
        if isinstance(operand, Scalar):
            values.append(np.asarray(rest.pop(0)).astype(operand.dtype)[()])
        else:
            values.append(array_of_view(operand, lengths, rest, arrays))
    target = array_of_view(what.target, lengths, rest, arrays)
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


def folded(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> Any:
    """A fold of all elements, or of some axes of one."""
    name, view = one.attributes
    lengths, places = inputs[: len(view.axes)], list(inputs[len(view.axes) :])
    result = _fold(name, array_of_view(view, lengths, places, arrays), None)
    return result if isinstance(result, np.float32) else result.item()


def _fold(name: str, array: np.ndarray, axes: tuple[int, ...] | None) -> Any:
    try:
        return getattr(np, name).reduce(array, axis=axes, dtype=array.dtype)
    except ValueError:  # of nothing there is no largest element
        raise DoubtError from None


def reduced(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    """A fold along some axes, into an array."""
    name, view, target = one.attributes
    ndim = len(view.axes)
    lengths, places = list(inputs[:ndim]), list(inputs[ndim:])
    array = array_of_view(view, lengths, places, arrays)
    folded = tuple(axis for axis, walked in enumerate(target.axes) if walked is None)
    kept = [1 if axis in folded else length for axis, length in enumerate(lengths)]
    result = array_of_view(target, kept, places, arrays)
    if name in POSITIONS:
        if lengths[folded[0]] == 0:
            raise DoubtError
        result[...] = getattr(np, name)(array, axis=folded[0]).reshape(kept)
        return
    result[...] = _fold(name, array, folded).reshape(kept)


def multiplied(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    """A product of arrays, into another one."""
    name, *views = one.attributes
    lengths, places = list(inputs[:3]), list(inputs[3:])
    parts = []
    for view in views:
        kept = [
            1 if axis is None else length for axis, length in zip(view.axes, lengths, strict=True)
        ]
        parts.append(array_of_view(view, kept, places, arrays))
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


def indexed(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    """Elements picked by an array of places or a mask, or put there."""
    indexed, index, other = one.attributes
    *lengths, length = inputs[: len(other.axes)]
    places = list(inputs[len(other.axes) :])
    array = array_of_view(indexed, [1, *lengths[1:], length], places, arrays)[0]
    indices = array_of_view(index, [lengths[0]] + [1] * len(lengths), places, arrays).reshape(-1)
    part = array_of_view(other, [*lengths, 1], places, arrays)[..., 0]
    if not ((-length <= indices) & (indices < length)).all():
        raise DoubtError
    if one.op == "take":
        part[...] = np.moveaxis(array, -1, 0)[indices]
    else:
        np.moveaxis(array, -1, 0)[indices] = part


def position(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> int:
    """Where the largest or smallest element is."""
    name, view = one.attributes
    length, *places = inputs
    if length == 0:
        raise DoubtError
    return int(getattr(np, name)(array_of_view(view, [length], places, arrays)))


def arranged(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> None:
    """`scan`, `nonzero`, `sort` and `argsort`."""
    views = [view for view in one.attributes if isinstance(view, View)]
    lengths, places = inputs[: len(views[0].axes)], list(inputs[len(views[0].axes) :])
    parts = [array_of_view(view, lengths, places, arrays) for view in views]
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


def product(one: Instruction, inputs: Sequence[Any], arrays: list[np.ndarray]) -> Any:
    """The product of two vectors: a number."""
    name, left, right = one.attributes
    length, *places = inputs
    sides = [array_of_view(view, [length], places, arrays) for view in (left, right)]
    result = getattr(np, name)(*sides)
    return result if isinstance(result, np.float32) else result.item()

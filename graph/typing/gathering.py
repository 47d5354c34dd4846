"""Rows of the table of calls: elements and rows picked by arrays of whole numbers, and by conditions."""

from __future__ import annotations

from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.call import Argument, Call, Rule, Sequenced, shape_of
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape, broadcast, joined, same, the_axis, why_not_stored

WHOLE = slice(None)


def _item(call: Call) -> Shape:
    """`array[key]` where arrays of whole numbers are in the key, with whole axes and numbers beside them.

    Or numbers alone, which pick an element.
    """
    source, key = call.shape(0, "a"), call.argument(1, "b")
    parts = key.items if isinstance(key, Sequenced) else () if key is None else (key,)
    if len(parts) > len(source):
        raise CannotInfer("too many indices")
    parts = (*parts, *[Constant(WHOLE)] * (len(source) - len(parts)))
    places = [place for place, part in enumerate(parts) if not _is_whole_axis(part)]
    picked = broadcast([_index_shape(parts[place]) for place in places], call.facts)
    is_element = len(places) == len(source) and not picked
    if not places or not (is_element or any(_is_array(parts[place]) for place in places)):
        raise CannotInfer("no array of whole numbers is in the key")
    kept = [length for place, length in enumerate(source) if place not in places]
    are_together = places == list(range(places[0], places[-1] + 1))
    front = places[0] if are_together else 0
    return (*kept[:front], *picked, *kept[front:])


def put(call: Call) -> Shape:
    """`array[key] = value` where `array[key]` is as above."""
    value, place = call.shape(2, "c"), _item(call)
    why = why_not_stored(value, place, call.facts)
    if why is not None:
        raise CannotInfer(why)
    return ()


def _is_mask(key: Argument | None) -> bool:
    return isinstance(key, ArrayType) and not key.scalar and key.dtype.kind == "b"


def _put_picked(call: Call) -> Shape:
    """`array[mask] = value`; NumPy looks how many values there are."""
    target, mask, value = call.shape(0, "a"), call.shape(1, "b"), call.shape(2, "c")
    fits = (
        _is_mask(call.argument(1, "b"))
        and len(mask) <= len(target)
        and all(same(a, b, call.facts) for a, b in zip(mask, target, strict=False))
    )
    rest = target[len(mask) :]
    if not mask or not fits or len(value) != 1 + len(rest):
        raise CannotInfer("a mask or values of another shape")
    why = why_not_stored(value[1:], rest, call.facts)
    if why is not None:
        raise CannotInfer(why)
    return ()


def _is_whole_axis(part: Argument) -> bool:
    return isinstance(part, Constant) and type(part.value) is slice and part.value == WHOLE


def _is_array(part: Argument) -> bool:
    type_ = part.type if isinstance(part, Constant) else part
    return isinstance(type_, ArrayType) and not type_.scalar and type_.ndim > 0


def _index_shape(part: Argument) -> Shape:
    type_ = part.type if isinstance(part, Constant) else part
    is_number = isinstance(type_, NumberType) and type_.kind == "int"
    if is_number or (isinstance(type_, ArrayType) and type_.dtype.kind in "iu"):
        return shape_of(part)  # type: ignore[arg-type]
    raise CannotInfer("a key of other things than whole numbers")


def _along_axis(call: Call) -> Shape:
    source, places = call.shape(0, "arr"), call.shape(1, "indices")
    axis = call.constant(2, "axis", -1)
    if axis is None or len(source) != len(places):
        raise CannotInfer(f"{call.name} of these arrays")
    axis = the_axis(axis, len(source))
    return tuple(
        places[k] if k == axis else joined(source[k], places[k], call.facts)
        for k in range(len(source))
    )


def _selected(call: Call) -> Shape:
    default = [call.shape(2, "default")] if call.argument(2, "default") is not None else []
    shapes = [*call.shapes(0, "condlist"), *call.shapes(1, "choicelist"), *default]
    return broadcast(shapes, call.facts)


def _chosen(call: Call) -> Shape:
    return broadcast([call.shape(0, "a"), *call.shapes(1, "choices")], call.facts)


def _members(call: Call) -> Shape:
    call.argument(2, "assume_unique")
    call.argument(3, "invert")
    return call.shape(0, "element")


def _ordered(call: Call) -> Shape:
    """Of keys, the last of which matters most."""
    if call.constant(1, "axis", -1) != -1:
        raise CannotInfer(f"{call.name} along another axis")
    return broadcast(call.shapes(0, "keys"), call.facts)


def _unravelled(call: Call) -> list[Shape]:
    place, shape = call.shape(0, "indices"), call.argument(1, "shape")
    if place:
        raise CannotInfer(f"{call.name} of an array")
    if isinstance(shape, Sequenced):
        return [()] * len(shape.items)
    known = call.constant(1, "shape")
    return [()] * (len(known) if isinstance(known, tuple) else 1)


def _ravelled(call: Call) -> Shape:
    """One place for each of several along as many axes."""
    call.constant(1, "dims")
    return broadcast(call.shapes(0, "multi_index"), call.facts)


# fmt: off
GATHERING: dict[str, Rule] = {
    "operator.getitem":        Rule(_item, fill=("one", "zero"), keys=(1,)),
    "operator.setitem":        Rule(put, fill=("one", "zero"), keys=(1,), writes=True),
    "numpy.ndarray.__setitem__": Rule(_put_picked, writes=True, asks=False),
    "numpy.take_along_axis":   Rule(_along_axis, fill=("one", "zero")),
    "numpy.select":            Rule(_selected),
    "numpy.choose":            Rule(_chosen, fill=("zero",)),
    "numpy.isin":              Rule(_members),
    "numpy.lexsort":           Rule(_ordered),
    "numpy.unravel_index":     Rule(_unravelled, fill=("zero",)),
    "numpy.ravel_multi_index": Rule(_ravelled, fill=("zero",)),
}
# fmt: on

"""Reading and storing through keys: `array[key]`, `array[key] = value`, as NumPy defines them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ufuse.frame_hook.arrays.arrays import (
    call_whole,
    call_writing,
    integer,
    is_number,
    known_int,
    node_of,
    size_or_none,
    total,
)
from ufuse.frame_hook.arrays.computed import computed_size
from ufuse.frame_hook.objects.values import range_bounds
from ufuse.frame_hook.trace.draft import computation
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.sizes import LARGEST_INT, MOST_ASSUMED
from ufuse.frame_hook.trace.symbols import (
    AnyArray,
    Array,
    ArrayMethod,
    Constant,
    Integer,
    List,
    Number,
    Range,
    Slice,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, signals, size
from ufuse.graph.node import Node
from ufuse.graph.semantics.effects import is_integer, why_not_pure
from ufuse.graph.size import Size
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType, NumberType, Span, c_order
from ufuse.graph.typing.counting import MASKED
from ufuse.graph.typing.shapes import is_c_like

IndexEntry = Size | Span | None
PLACES_WITHIN = "nonzero", "flatnonzero", "argsort"  # functions that give places in their argument
WHOLE_AXIS = Slice(Constant(None), Constant(None), Constant(None))


def item(trace: Trace, array: Array, key: Symbol) -> Symbol:
    """`array[key]`: a view, an element, or what fancy indexing gives."""
    key = trace.look(key)
    given = key.items if isinstance(key, Tuple) else (key,)
    parts: list[Symbol] = [trace.look(part) for part in given]
    if any(map(_picks_several, parts)):
        return _fancy_item(trace, array, key, parts)
    if len(parts) == array.type.ndim and any(map(_is_computed_place, parts)):
        is_first = trace.graph.first_write is None  # later the place alone is found out before
        if is_first and all(_is_computed_place(part) or _is_whole(part) for part in parts):
            return call_whole(trace, "operator.getitem", (array, key), may_raise=True)
    entries = basic_index(trace, array, key)
    if not _keeps_axes(entries) and not _is_ellipsis(trace, key):
        node = trace.graph.node(ops.ELEMENT, (trace.graph.value(array),), {"index": entries})
        return trace.graph.fresh(node)
    return trace.graph.view(array, ops.INDEX, {"index": entries})


def _is_computed_place(part: Symbol) -> bool:
    """Whether it is a whole number that is known only when the program runs."""
    if not isinstance(part, Number):
        return False
    type_ = part.node.type
    if isinstance(type_, NumberType):
        return type_.kind == "int"
    return isinstance(type_, ArrayType) and type_.scalar and type_.dtype.kind in "iu"


def _is_whole(part: Symbol) -> bool:
    return isinstance(part, Integer) or (isinstance(part, Constant) and known_int(part) is not None)


def is_whole_number(part: Symbol) -> bool:
    """Whether it is a whole number, known or not, Python's or NumPy's; no truth value."""
    if isinstance(part, Constant) and isinstance(part.value, np.integer):
        return True
    return _is_computed_place(part) or _is_whole(part)


def _picks_several(part: Symbol) -> bool:
    """Whether a part of a key is an array of places, or what NumPy makes one of."""
    if isinstance(part, Constant):
        return type(part.value) in (tuple, range)
    return isinstance(part, Array | List | Tuple | Range)


def _keeps_axes(entries: tuple[IndexEntry, ...]) -> bool:
    return any(entry is None or isinstance(entry, Span) for entry in entries)


def _is_ellipsis(trace: Trace, key: Symbol) -> bool:
    parts = key.items if isinstance(key, Tuple) else (key,)
    looked = [trace.look(part) for part in parts]
    return any(isinstance(part, Constant) and part.value is Ellipsis for part in looked)


def _fancy_item(trace: Trace, array: Array, key: Symbol, parts: list[Symbol]) -> Symbol:
    """Elements or rows picked by arrays or lists of whole numbers."""
    key = _mask_alone(array, key, parts)
    if isinstance(key, Array) and key.type.dtype.kind == "b":
        return call_whole(trace, MASKED, (array, key), may_raise=True)
    if array.type.ndim == 1 and isinstance(key, Array) and key.type.dtype.kind in "iu":
        if key.type.ndim > 1 and key.type.order != tuple(range(key.type.ndim)):
            raise GraphBreak("index", "with an array whose layout the result takes over")
        fails = not _are_within(trace, key, array.type.shape[0])
        return call_whole(trace, "numpy.ndarray.take", (array, key), may_raise=fails)
    if isinstance(key, Tuple):
        array, parts = _sliced_first(trace, array, _without_ellipsis(trace, array, parts))
    places = [_places(trace, part, length) for part, length in _axes_of(array, parts)]
    given = Tuple(tuple(places)) if isinstance(key, Tuple) else places[0]
    fails = _may_be_outside(trace, array, given)
    return call_whole(trace, "operator.getitem", (array, given), may_raise=fails)


def _may_be_outside(trace: Trace, array: Array, key: Symbol) -> bool:
    """Whether a key of arrays and numbers may be out of bounds."""
    places = key.items if isinstance(key, Tuple) else (key,)
    axes = zip(places, array.type.shape, strict=False)
    return not all(_are_within(trace, place, length) for place, length in axes)


def _are_within(trace: Trace, place: Symbol, length: Size) -> bool:
    """Whether it is surely within an axis of this length: places of elements that are not zero, or an order."""
    if isinstance(place, Constant) and isinstance(place.value, slice):
        return True
    number = known_int(place)
    if number is not None:
        nearest = number if number >= 0 else -number - 1
        return trace.sizes.decide("gt", length, nearest)
    if not isinstance(place, Array):
        return False
    node = trace.graph.value(place)
    while node.op is ops.INDEX:
        node = node.inputs[0]
    axis, of = 0, node
    if node.op is ops.ITEM:
        axis, of = node.attributes["index"], node.inputs[0]
    if of.op is not ops.CALL or not of.inputs or not isinstance(of.inputs[0].type, ArrayType):
        return False
    name, shape = of.attributes["function"].rpartition(".")[2], of.inputs[0].type.shape
    if name not in PLACES_WITHIN or (name != "nonzero" and len(shape) != 1):
        return False
    return trace.sizes.resolved(shape[axis]) == trace.sizes.resolved(length)


def _mask_alone(array: Array, key: Symbol, parts: list[Symbol]) -> Symbol:
    """A mask of several axes in front of whole ones, without these: `array[mask, :]` is `array[mask]`."""
    if not isinstance(key, Tuple) or len(parts) < 2:
        return key
    mask, *others = parts
    if not isinstance(mask, Array) or mask.type.dtype.kind != "b" or mask.type.ndim < 2:
        return key
    rest = [one for one in others if not _is_constant(one, Ellipsis)]
    fits = len(others) - len(rest) < 2 and mask.type.ndim + len(rest) <= array.type.ndim
    if fits and all(isinstance(one, Slice) and _is_whole_axis(one) for one in rest):
        return mask
    return key


def _without_ellipsis(trace: Trace, array: Array, parts: list[Symbol]) -> list[Symbol]:
    """The parts of a key with whole axes in the place of `...`; each is for one axis."""
    if any(
        isinstance(part, Array) and part.type.dtype.kind == "b" and part.type.ndim != 1
        for part in parts
    ):
        raise GraphBreak("index", "with a mask of several axes beside others")
    dots = [place for place, part in enumerate(parts) if _is_constant(part, Ellipsis)]
    if len(dots) != 1:
        return parts
    missing = array.type.ndim - len(parts) + 1
    return [*parts[: dots[0]], *[WHOLE_AXIS] * missing, *parts[dots[0] + 1 :]]


def _sliced_first(trace: Trace, array: Array, parts: list[Symbol]) -> tuple[Array, list[Symbol]]:
    """The view that the slices of a key leave, and the key with whole axes in their place."""
    if not any(isinstance(part, Slice) and not _is_whole_axis(part) for part in parts):
        return array, parts
    slices = tuple(part if isinstance(part, Slice) else WHOLE_AXIS for part in parts)
    entries = basic_index(trace, array, Tuple(slices))
    view = trace.graph.view(array, ops.INDEX, {"index": entries})
    return view, [WHOLE_AXIS if isinstance(part, Slice) else part for part in parts]


def _is_whole_axis(part: Slice) -> bool:
    return all(_is_constant(one, None) for one in (part.start, part.stop, part.step))


def _axes_of(array: Array, parts: list[Symbol]) -> Iterator[tuple[Symbol, Size]]:
    """The parts of a key, each with the length of its axis."""
    if len(parts) > array.type.ndim:
        raise GraphBreak("eager-raises", "IndexError: too many indices for array")
    return zip(parts, array.type.shape, strict=False)


def _places(trace: Trace, part: Symbol, length: Size) -> Symbol:
    """A part of a key that picks by whole numbers, as the graph has it."""
    match part:
        case Array() if part.type.dtype.kind in "iu":
            return part
        case Array() if part.type.dtype.kind == "b" and part.type.ndim == 1:
            if not trace.sizes.equal(part.type.shape[0], length):
                raise GraphBreak("eager-raises", "IndexError: boolean index did not match")
            return call_whole(trace, "numpy.flatnonzero", (part,))
        case List() | Tuple():
            places = [trace.look(one) for one in part.items]
            if places and all(map(_is_place, places)):
                whole: dict[str, Symbol] = {"dtype": Constant(np.dtype(np.intp))}
                return call_whole(trace, "numpy.array", (part,), whole, may_raise=True)
            if len(places) == 1 and isinstance(places[0], Array):  # what `np.where(mask)` gives
                return _in_one_row(trace, places[0])
        case Range() | Constant(value=range()):
            return call_whole(trace, "numpy.arange", range_bounds(part), may_raise=True)
        case Constant(value=tuple() as numbers):
            return _places(trace, Tuple(tuple(map(Constant, numbers))), length)
        case Constant() | Number() if _is_place(part):
            return part
        case Slice() if _is_whole_axis(part):
            return Constant(slice(None))
    raise GraphBreak("index", "with an array or list")


def _in_one_row(trace: Trace, places: Array) -> Symbol:
    """The array that NumPy makes of a tuple with one array of whole numbers."""
    if places.type.dtype.kind not in "iu":
        raise GraphBreak("index", "with a tuple of an array of other things than whole numbers")
    whole = tuple(Span(0, length) for length in places.type.shape)
    return trace.graph.view(places, ops.INDEX, {"index": (None, *whole)})


def _is_place(symbol: Symbol) -> bool:
    """Whether it is a whole number that is known, or a signed one of NumPy's."""
    if isinstance(symbol, Number):
        type_ = symbol.node.type
        return isinstance(type_, ArrayType) and type_.scalar and type_.dtype.kind == "i"
    return known_int(symbol) is not None


def basic_index(trace: Trace, array: AnyArray, key: Symbol) -> tuple[IndexEntry, ...]:
    """The normalised entries of a basic index; one for each axis, and None for each new one.

    Raises:
        GraphBreak: it is not a basic index, or eager raises for it.

    """
    parts = [trace.look(part) for part in (key.items if isinstance(key, Tuple) else (key,))]
    used = sum(
        1 for part in parts if not _is_constant(part, None) and not _is_constant(part, Ellipsis)
    )
    missing = array.type.ndim - used
    if missing < 0:
        raise GraphBreak("eager-raises", "IndexError: too many indices for array")
    ellipses = sum(1 for part in parts if _is_constant(part, Ellipsis))
    if ellipses > 1:
        raise GraphBreak("eager-raises", "IndexError: an index can only have a single ellipsis")
    if not ellipses:
        parts += [WHOLE_AXIS] * missing
    entries: list[IndexEntry] = []
    axis = 0
    for part in parts:
        if _is_constant(part, None):
            entries.append(None)
        elif _is_constant(part, Ellipsis):
            entries += [Span(0, array.type.shape[axis + i]) for i in range(missing)]
            axis += missing
        else:
            is_first = axis == 0 and is_c_like(array.type)
            entries.append(_entry(trace, part, array.type.shape[axis], is_first=is_first))
            axis += 1
    return tuple(entries)


def _is_constant(symbol: Symbol, value: object) -> bool:
    return isinstance(symbol, Constant) and symbol.value is value


def _entry(trace: Trace, part: Symbol, length: Size, *, is_first: bool) -> IndexEntry:
    """The entry of one axis; `is_first`: it is the slowest of an array in C order without gaps."""
    if _is_computed_place(part):
        given = (part, integer(trace, length))
        fails = not _is_extreme(trace, part, length)
        return computed_size(trace, "place", given, "a place", length, may_raise=fails)
    match part:
        case Constant(value=bool()):
            raise GraphBreak("index", "with a bool")
        case Constant(value=int() | np.integer() as value):
            return _element(trace, int(value), length)
        case Integer(size=value):
            return _element(trace, value, length)
        case Slice():
            if _is_computed_span(trace, part, length):
                return _computed_span(trace, part, length, is_first=is_first)
            return _span(trace, part, length)
    raise GraphBreak("index", f"with a {type(getattr(part, 'value', part)).__name__}")


def _element(trace: Trace, value: Size, length: Size) -> Size:
    if trace.sizes.decide("lt", value, 0):
        value = size.add(value, length)
    if trace.sizes.decide("lt", value, 0) or trace.sizes.decide("ge", value, length):
        raise GraphBreak("eager-raises", "IndexError: index is out of bounds")
    return value


def _is_extreme(trace: Trace, part: Symbol, length: Size) -> bool:
    """Whether a place is that of the greatest or least element of a vector as long as the axis, which it has."""
    node = part.node if isinstance(part, Number) else None
    if node is not None and node.op is ops.SCALAR and node.attributes["operator"] == "int":
        node = node.inputs[0]
    if node is None or node.op is not ops.CALL or len(node.attributes["arguments"]) != 1:
        return False
    function, type_ = node.attributes["function"], node.inputs[0].type
    if not isinstance(type_, ArrayType) or type_.ndim != 1:
        return False
    if function.rpartition(".")[2] not in ("argmax", "argmin"):
        return False
    return trace.sizes.resolved(type_.shape[0]) == trace.sizes.resolved(length)


def _is_computed_span(trace: Trace, part: Slice, length: Size) -> bool:
    """Whether only values decide how long a slice is, its bounds or the length of the axis."""
    bounds = [trace.look(one) for one in (part.start, part.stop)]
    if any(map(_is_computed_place, bounds)):
        return True
    if not trace.sizes.are_made(length):
        return False
    known = [known_int(one) for one in bounds if not _is_constant(one, None)]
    return any(one is None or abs(one) > MOST_ASSUMED for one in known)


def _computed_span(trace: Trace, part: Slice, length: Size, *, is_first: bool) -> Span:
    """A slice whose length is a symbol of the graph's own.

    Where the other axes or gaps let NumPy walk otherwise over one element, or over all, the graph checks that it is
    neither.
    """
    step = trace.look(part.step)
    if not _is_constant(step, None) and known_int(step) != 1:
        raise GraphBreak("index", "with a step and a computed bound")
    start, stop = trace.look(part.start), trace.look(part.stop)
    given = (start, stop, integer(trace, length))
    extent = computed_size(trace, "extent", given, "a slice with a computed bound", length)
    if not is_first:
        trace.sizes.assure(str(extent), "ge", 2)
        trace.sizes.assure(str(extent), "lt", length)
    if _is_constant(start, None):
        return Span(0, extent)
    if _is_constant(stop, None):
        return Span(length - extent, extent)
    return Span(computed_size(trace, "begin", given, "a place", length), extent)


def _span(trace: Trace, part: Slice, length: Size) -> Span:
    """What `slice.indices` gives, decided on the sizes of this call and guarded."""
    step = size_or_none(trace, part.step)
    step = 1 if step is None else trace.sizes.fixed(step)
    if step == 0:
        raise GraphBreak("eager-raises", "ValueError: slice step cannot be zero")
    lowest: Size = 0 if step > 0 else -1
    highest: Size = length if step > 0 else size.add(length, -1)
    start = _clipped(
        trace, size_or_none(trace, part.start), lowest, highest, length, first=step > 0
    )
    stop = _clipped(trace, size_or_none(trace, part.stop), lowest, highest, length, first=step < 0)
    distance = size.add(stop, size.multiply(start, -1))
    if step < 0:
        distance = size.multiply(distance, -1)
    if trace.sizes.decide("le", distance, 0):
        return Span(0 if trace.sizes.decide("eq", length, 0) or step < 0 else start, 0, step)
    stride = abs(step)
    count = size.divide("//", size.add(distance, stride - 1), stride)
    if trace.sizes.decide("eq", count, 1):
        count = 1  # as a constant: such an axis broadcasts, and its stride does not matter
    return Span(start, count, step)


def _clipped(
    trace: Trace, bound: Size | None, lowest: Size, highest: Size, length: Size, *, first: bool
) -> Size:
    if bound is None:
        return lowest if first else highest
    if trace.sizes.decide("lt", bound, 0):
        bound = size.add(bound, length)
        if trace.sizes.decide("lt", bound, lowest):
            return lowest
        return bound
    return highest if trace.sizes.decide("gt", bound, highest) else bound


# Stores ----------------------------------------------------------------------------------------------------------


def store_item(trace: Trace, array: Array, key: Symbol, value: Symbol) -> None:
    """`array[key] = value`."""
    key = trace.look(key)
    if isinstance(key, Array) and key.type.dtype.kind == "b" and key.type.ndim:
        _store_where(trace, array, key, value)
        return
    parts = [trace.look(part) for part in (key.items if isinstance(key, Tuple) else (key,))]
    alone = _mask_alone(array, key, parts)
    if isinstance(alone, Array) and alone is not key:
        _store_where(trace, array, alone, value)
        return
    if any(map(_picks_several, parts)):
        _store_fancy(trace, array, key, trace.look(value))
        return
    entries = basic_index(trace, array, key)
    if not _keeps_axes(entries) and not _is_ellipsis(trace, key):
        stored = node_of(trace, trace.look(value)).type
        if isinstance(stored, ArrayType) and stored.ndim:
            raise GraphBreak("eager-raises", "setting an array element with a sequence")
    target = trace.graph.view(array, ops.INDEX, {"index": entries})
    store_into(trace, target, value)


def _store_fancy(trace: Trace, array: Array, key: Symbol, value: Symbol) -> None:
    """`array[key] = value` by arrays or lists of whole numbers, all of which NumPy looks at before it writes."""
    buffer, graph = array.buffer, trace.graph
    is_alike = isinstance(value, Array) and value.type.dtype == array.type.dtype
    if array.path or not (is_alike or goes_into(trace, value, array.type.dtype)):
        raise GraphBreak("index", "with an array or list, to assign such values,")
    places, is_late = None, graph.first_write is not None or graph.in_late_side
    if is_late and buffer.frozen is None:
        places = picking_key(trace, array, key)
    if buffer.frozen is not None or (places and _may_be_outside(trace, array, places)):
        raise GraphBreak("raise-after-write", "an index that may be out of bounds")
    if buffer.visible:
        trace.arrays.check_writable(buffer)
    places = places or picking_key(trace, array, key)
    call_writing(trace, "operator.setitem", (array, places, value))


def picking_key(trace: Trace, array: Array, key: Symbol) -> Symbol:
    """A key of arrays or lists of whole numbers, and masks, as the graph has it.

    Raises:
        GraphBreak: there are slices in it, or other things.

    """
    key = trace.look(key)
    parts = [trace.look(part) for part in (key.items if isinstance(key, Tuple) else (key,))]
    if not any(map(_picks_several, parts)):
        raise GraphBreak("index", "with these, in place of arrays,")
    if isinstance(key, Tuple):
        parts = _without_ellipsis(trace, array, parts)
    places = [_places(trace, part, length) for part, length in _axes_of(array, parts)]
    return Tuple(tuple(places)) if isinstance(key, Tuple) else places[0]


def _store_where(trace: Trace, target: Array, mask: Array, value: Symbol) -> None:
    """`target[mask] = number`: one pass in which the other elements keep what they have."""
    read = trace.look(value)
    dtype, ndim = target.type.dtype, mask.type.ndim
    if mask.buffer is target.buffer:
        raise GraphBreak("index", "with a mask, to assign such values,")
    if ndim > target.type.ndim or not all(
        trace.sizes.equal(a, b) for a, b in zip(mask.type.shape, target.type.shape, strict=False)
    ):
        raise GraphBreak("eager-raises", "IndexError: boolean index did not match")
    spans = tuple(Span(0, length) for length in mask.type.shape)
    missing = (None,) * (target.type.ndim - ndim)
    wide = trace.graph.view(mask, ops.INDEX, {"index": (*spans, *missing)}) if missing else mask
    if goes_into(trace, read, dtype):
        store_chosen(trace, target, wide, read)
    else:
        _store_picked(trace, target, mask, wide, read)


def _store_picked(trace: Trace, target: Array, mask: Array, wide: Array, value: Symbol) -> None:
    """`target[mask] = array`, which has an element for each that is picked: NumPy looks at that before it writes.

    `wide` is the mask with as many axes as the target.
    """
    if not isinstance(value, Array) or value.type.dtype != target.type.dtype or target.path:
        raise GraphBreak("index", "with a mask, to assign such values,")
    graph, buffer = trace.graph, target.buffer
    source = _unpicked(trace, graph.value(mask), graph.value(value), target.type.shape)
    if source is not None:
        nodes = (graph.value(wide), source, graph.value(target))
        if buffer.visible:
            trace.arrays.check_writable(buffer)
        trace.store(target, graph.node(ops.WHERE, nodes), "same_kind")
        return
    picked = graph.picked.get(computation(graph.value(mask)))
    fits_surely = picked is not None and value.type.shape[:1] == (size.symbol(picked),)
    if buffer.frozen is not None or value.buffer is buffer or value.type.ndim == 0:
        raise GraphBreak("index", "with a mask, to assign such values,")
    if not fits_surely and (graph.first_write is not None or graph.in_late_side):
        raise GraphBreak("raise-after-write", "an assignment of as many values as a mask picks")
    if buffer.visible:
        trace.arrays.check_writable(buffer)
    call_writing(trace, "numpy.ndarray.__setitem__", (target, mask, value))


def _unpicked(trace: Trace, mask: Node, node: Node, shape: tuple[Size, ...]) -> Node | None:
    """The array of a shape of which a node is what the same mask picks; None: there is none, or it was written since.

    What is computed of whole numbers, without a flag or an error, may be computed of those that are not picked, too.
    """
    if node.op is ops.CALL and node.attributes["function"] == MASKED:
        source, by = node.inputs
        is_same = computation(by) == computation(mask) and source.type.shape == shape  # type: ignore[union-attr]
        return source if is_same and trace.graph.is_current(source) else None
    if node.op is ops.STORE and not node.attributes["path"]:  # an operation in place
        made = node.inputs[1]
        return _unpicked(trace, mask, made, shape) if _dtype(made) == _dtype(node) else None
    if node.op.kind is not ops.Kind.MAP or node.op.ufunc is None or why_not_pure(node) is not None:
        return None
    inputs = []
    for one in node.inputs:
        is_number = one.op is ops.CONST or (isinstance(one.type, ArrayType) and one.type.scalar)
        found = one if is_number else _unpicked(trace, mask, one, shape)
        dtype = _dtype(one)
        if found is None or (dtype is not None and not is_integer(dtype)):
            return None
        inputs.append(found)
    whole = trace.graph.node(node.op, tuple(inputs), node.attributes)
    return whole if _dtype(whole) == _dtype(node) and is_integer(whole.type.dtype) else None  # type: ignore[union-attr]


def _dtype(node: Node) -> np.dtype | None:
    return node.type.dtype if isinstance(node.type, ArrayType) else None


def store_chosen(trace: Trace, target: Array, mask: Array, value: Symbol) -> None:
    """Write a number, or an array of the same dtype, where the mask says so."""
    is_alike = isinstance(value, Array) and value.type.dtype == target.type.dtype
    if not is_alike and not goes_into(trace, value, target.type.dtype):
        raise GraphBreak("index", "with a mask, to assign such values,")
    if target.buffer.visible:
        trace.arrays.check_writable(target.buffer)
    nodes = (trace.graph.value(mask), node_of(trace, value), trace.graph.value(target))
    chosen = trace.graph.node(ops.WHERE, nodes)
    if not isinstance(chosen.type, ArrayType) or chosen.type.dtype != target.type.dtype:
        raise GraphBreak("index", "with a mask, to assign values of another dtype,")
    trace.store(target, chosen, "same_kind")


def goes_into(trace: Trace, value: Symbol, dtype: np.dtype) -> bool:
    """Whether it is a number that is stored without a warning or an error."""
    if not is_number(value) or (isinstance(value, Constant) and type(value.value) in (str, bytes)):
        return False
    node = node_of(trace, value)
    if isinstance(node.type, ArrayType):
        return node.type.dtype == dtype
    if isinstance(value, Integer) and dtype.kind in "iu":
        return fits(trace, value.size, dtype)
    assert isinstance(node.type, NumberType)
    kind = node.type.kind
    if isinstance(value, Constant):
        return kind == "bool" or dtype.kind in {"int": "iufc", "float": "fc", "complex": "c"}[kind]
    return (
        dtype.char in {"bool": "?bBhHiIlLqQefdFD", "int": "dD", "float": "dD", "complex": "D"}[kind]
    )


def store_into(trace: Trace, target: Array, value: Symbol) -> None:
    """Write a value into a view, with the casting and broadcasting of item assignment."""
    value = trace.look(value)
    if isinstance(value, Array) and value.buffer is target.buffer and value.path == target.path:
        if target.buffer.visible:
            trace.arrays.check_writable(target.buffer)
        return  # the store at the end of `a[i] += x`
    node = node_of(trace, value)
    if 0 in target.type.shape:
        _refuse_unseen_cast(node, target.type.dtype)
    _refuse_failing_cast(trace, value, node, target)
    trace.store(target, node, "unsafe")


def _refuse_unseen_cast(node: Node, dtype: np.dtype) -> None:
    """Break where a number that goes into no element may not fit: NumPy converts it, and warns, all the same."""
    kind = node.type
    if not isinstance(kind, NumberType) and not (isinstance(kind, ArrayType) and kind.scalar):
        return
    fits = np.can_cast(kind.kind if isinstance(kind, NumberType) else kind.dtype, dtype)
    if not fits and node.op is ops.CONST:
        fits = _goes_quietly(node.attributes["value"], dtype)
    if not fits:
        raise GraphBreak("numpy-call", "storing a number of another type into no element")


def _goes_quietly(value: object, dtype: np.dtype) -> bool:
    """Whether NumPy neither raises nor warns where a number becomes an element."""
    try:
        run_strictly("raise", np.empty(1, dtype).fill, value)
    except Exception as error:  # noqa: BLE001  whatever it is, plain Python meets it again
        signals.pass_on(error)
        return False
    return True


def _refuse_failing_cast(trace: Trace, value: Symbol, node: Node, target: Array) -> None:
    """Break where storing a number known only at run time may raise, with earlier writes done already."""
    kind, dtype = node.type, target.type.dtype
    if isinstance(kind, ArrayType) and kind.scalar and dtype.kind in "iu":
        if not np.can_cast(kind.dtype, dtype, "safe"):
            raise GraphBreak("raise-after-write", f"storing a NumPy {kind.dtype} into {dtype}")
    if node.op is ops.CONST or not isinstance(kind, NumberType):
        return
    if dtype.kind in "iub" and kind.kind in ("float", "complex"):
        raise GraphBreak("raise-after-write", "storing a Python float into whole numbers")
    seen = trace.graph.first_write is not None
    if dtype.kind in "iu" and kind.kind == "int" and (seen or target.buffer.visible):
        if not isinstance(value, Integer) or not fits(trace, value.size, dtype):
            raise GraphBreak("raise-after-write", f"storing a Python int into {dtype}")
    elif seen and dtype.char in "efF" and kind.kind != "bool":
        raise GraphBreak("raise-after-write", f"storing a Python {kind.kind}")


def fits(trace: Trace, value: Size, dtype: np.dtype) -> bool:
    """Whether a whole number fits a dtype; guarded."""
    if dtype.kind not in "iu":
        return dtype == np.float64
    limits = np.iinfo(dtype)
    least, most = max(limits.min, -LARGEST_INT), min(limits.max, LARGEST_INT)
    return trace.sizes.decide("ge", value, least) and trace.sizes.decide("le", value, most)


def flat_item(trace: Trace, array: Array, key: Symbol) -> Symbol:
    """`array.flat[key]` of a contiguous array: an element, or a copy of some."""
    if array.type.order != c_order(array.type.ndim) or not array.type.contiguous:
        raise GraphBreak("layout", "the flat view of an array that is not contiguous")
    if not isinstance(key, Slice | Integer) and not _is_int_or_ellipsis(key):
        raise GraphBreak("index", "with these through .flat")
    flat = trace.graph.view(array, ops.RESHAPE, {"shape": (total(array.type.shape),)})
    found = item(trace, flat, key)
    if not isinstance(found, Array):
        return found
    return trace.graph.fresh(
        trace.graph.node(ops.COPY, (trace.graph.value(found),), {"order": "C"})
    )


def store_flat(trace: Trace, method: ArrayMethod, key: Symbol, value: Symbol) -> None:
    """`array.flat[key] = value` of a contiguous array: a store through its flat view."""
    array = method.self
    assert isinstance(array, Array)
    if array.type.order != c_order(array.type.ndim) or not array.type.contiguous:
        raise GraphBreak("layout", "the flat view of an array that is not contiguous")
    value = trace.look(value)
    # NumPy writes elements one by one, also over those that it has yet to read, and begins anew at the end of the array
    # while there is room: only what these cases do is what item assignment does.
    is_like_assignment = is_number(value) or (
        isinstance(value, Array)
        and value.type.dtype == array.type.dtype
        and value.type.ndim == 1
        and value.buffer is not array.buffer
    )
    if not is_like_assignment:
        raise GraphBreak("operator", "storing an array through .flat")
    key = trace.look(key)
    if not isinstance(key, Slice | Integer) and not _is_int_or_ellipsis(key):
        raise GraphBreak("index", "with these through .flat")
    flat = trace.graph.view(array, ops.RESHAPE, {"shape": (total(array.type.shape),)})
    store_item(trace, flat, key, value)


def _is_int_or_ellipsis(key: Symbol) -> bool:
    return isinstance(key, Constant) and (type(key.value) is int or key.value is Ellipsis)

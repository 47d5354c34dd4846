"""Elements of arrays in loops that are read as nests: read and stored, or the views that a key leaves."""

from __future__ import annotations

from collections.abc import Callable

from ufuse.frame_hook.nests.arrays import elementwise, gathers, tables, views
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Member, Part
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.kinds import INT, ArrayKind, Holder, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Character, Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.numbers import complexes, conversions
from ufuse.frame_hook.nests.reading.operations import ELEMENT, STORE, UNPACKED
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import COMPLEX, ELEMENTS, I1, I64, U32, Value

MOST_ITEMS = 32  # of a tuple that is stored into a row


@ELEMENT.of(Array, Part, Lazy)
def element(reader: Reader, container: Array | Part | Lazy, key: Item) -> Item:
    """`container[key]`."""
    if isinstance(container, Lazy):
        container = elementwise.computed(reader, container)
    if gathers.has_array(key):
        return gathers.taken(reader, container, key)
    place = _place(reader, container, key)
    return loaded(reader, container.holder, place) if isinstance(place, tuple) else place


@UNPACKED.of(Array, Part, Lazy)
def unpacked(reader: Reader, container: Array | Part | Lazy, count: int) -> list[Item]:
    """The items of an array along its first axis, of which there must be so many."""
    if isinstance(container, Lazy):
        container = elementwise.computed(reader, container)
    out = reader.out
    if isinstance(container, Array):
        doubt_no_row(reader, container)
        length = reader.length(container.holder, len(container.indices)).value
    else:
        length = container.lengths[0].value
    out.doubt_if(out.op("ine", I1, length, out.constant(I64, count)))
    return [element(reader, container, Known(i)) for i in range(count)]


def part(reader: Reader, holder: Holder, indices: tuple[Value, ...]) -> Item:
    """What some leading indices leave of an array: an element where there is one for each axis."""
    if isinstance(holder, ArrayKind) and holder.slot in reader.outside.objects:
        return Member(holder, *indices)
    found = tables.row_of(reader, holder, indices)
    if found is not None:
        return found
    place = _leading(reader, holder, indices)
    return loaded(reader, holder, place) if isinstance(place, tuple) else place


def _leading(
    reader: Reader, holder: Holder, indices: tuple[Value, ...]
) -> Array | tuple[Value, ...]:
    ndim = len(reader.seen(holder))
    if len(indices) > ndim:
        raise NotNativeError("an array has fewer axes")
    return Array(holder, indices) if len(indices) < ndim else indices


def loaded(
    reader: Reader, holder: Holder, place: tuple[Value, ...]
) -> Number | Complex | Character:
    """The element at a place, with an index for each axis."""
    dtype = reader.dtype(holder)
    if reader.outside.is_text(holder):
        loaded = reader.out.op("load", U32, *place, attributes=(reader.array(holder),))
        return Character(loaded)
    if dtype == COMPLEX:
        return complexes.load(reader.out, reader.array(holder), place)
    type_ = ELEMENTS.get(dtype)
    if type_ is None:
        raise NotNativeError(f"elements of {dtype} are not compiled yet")
    loaded = reader.out.op("load", type_, *place, attributes=(reader.array(holder),))
    return Number(reader.item_kind(holder), loaded)


def _place(reader: Reader, container: Array | Part, key: Item) -> Array | Part | tuple[Value, ...]:
    """Where the element stands that a key names, an index for each axis of the array; or the view that it leaves."""
    if views.has_slices(key):
        return views.taken(reader, container, key)
    entries = key.items if isinstance(key, Items) else (key,)
    indices = tuple(views.index(reader, one) for one in entries)
    if isinstance(container, Array) and indices:
        return _leading(reader, container.holder, container.indices + indices)
    container = views.part(reader, container)
    if len(indices) < len(container.axes):
        return views.taken(reader, container, key)
    if len(indices) > len(container.axes):
        raise NotNativeError("an array has fewer axes")
    return _in_array(reader, container, indices)


def _in_array(reader: Reader, view: Part, indices: tuple[Value, ...]) -> tuple[Value, ...]:
    places = list(view.places)
    for axis, index in zip(view.axes, indices, strict=True):
        views.go_to(reader, places, axis, index)
    return tuple(places)


@STORE.of(Array, Part)
def store(reader: Reader, container: Array | Part, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    reader.writes(container.holder)
    if gathers.has_array(key):
        gathers.put(reader, container, key, item)
        return
    place = _place(reader, container, key)
    if isinstance(place, tuple):
        _store(reader, container.holder, place, item)
    elif isinstance(item, Items | Listed):
        _store_items(reader, views.part(reader, place), item.items)
    else:
        elementwise.assign(reader, views.part(reader, place), item)


def _store_items(reader: Reader, target: Part, items: tuple[Item, ...]) -> None:
    """Numbers for all elements of a vector: NumPy converts each for itself."""
    if len(target.axes) != 1 or not 1 <= len(items) <= MOST_ITEMS:
        raise NotNativeError("a tuple is stored into several axes, or is long")
    out, (axis,) = reader.out, target.axes
    doubt_unlike(out, axis.length.value, out.constant(I64, len(items)))
    for place, item in enumerate(items):
        _store(reader, target.holder, _in_array(reader, target, (out.constant(I64, place),)), item)


def _store(reader: Reader, holder: Holder, place: tuple[Value, ...], item: Item) -> None:
    dtype = reader.dtype(holder)
    if dtype == COMPLEX:
        _store_complex(reader, holder, place, item)
        return
    value = _converted(reader, item, dtype)
    elementwise.settle(reader)
    reader.out.store(reader.array(holder), *place, value)


def _store_complex(reader: Reader, holder: Holder, place: tuple[Value, ...], item: Item) -> None:
    one = complexes.whole(reader.out, item)
    elementwise.settle(reader)
    complexes.store(reader.out, reader.array(holder), place, one)


def _converted(reader: Reader, item: Item, dtype: object) -> Value:
    """A number as an array's element."""
    type_ = ELEMENTS.get(dtype)  # type: ignore[call-overload]
    if type_ is None:
        raise NotNativeError(f"elements of {dtype} are not compiled yet")
    return conversions.as_element(reader.out, conversions.number(reader.out, item), type_)


def doubt_no_row(reader: Reader, array: Array) -> None:
    """Leave it to plain Python where there is no such part of an array: who takes an element of it finds out."""
    out = reader.out
    for axis, index in enumerate(array.indices):
        length = reader.length(array.holder, axis).value
        out.doubt_if(out.op("ige", I1, index, length))
        out.doubt_if(out.op("ilt", I1, index, out.op("neg", I64, length)))


def each_element(reader: Reader, given: Part, place: str, put: Callable[[Number], None]) -> None:
    """Do something with each element of a vector: a loop of the nest's own, by a variable with the place."""
    out, view = reader.out, views.keep(reader, given)
    out.set(place, out.constant(I64, 0))
    header, body, behind = (reader.new_label() for _ in range(3))
    version = reader.version(reader.at.position)
    out.end("jump", header)
    out.begin(header)
    length = views.kept(reader, view).lengths[0].value
    out.end("branch", body, behind, condition=out.op("ilt", I1, out.get(place, I64), length))
    out.begin(body)
    now = out.get(place, I64)
    one = element(reader, views.kept(reader, view), Number(INT, now))
    assert isinstance(one, Number)
    put(one)
    out.set(place, out.op("add", I64, now, out.constant(I64, 1)))
    out.end("jump", header)
    out.begin(behind)
    reader.take_stack(version)

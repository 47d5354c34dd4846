"""Elements of arrays in loops that are read as nests: read and stored, or the views that a key leaves."""

from __future__ import annotations

from ufuse.frame_hook.nests.arrays import elementwise, gathers, tables, views
from ufuse.frame_hook.nests.containers import (
    characters,
    fields,
    lists,
    made_deques,
    made_dicts,
    made_lists,
    made_rows,
    object_lists,
    own_groups,
    own_lists,
    ragged,
    tuples,
)
from ufuse.frame_hook.nests.given import keyed
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.values import (
    Array,
    ArrayKind,
    Character,
    Complex,
    Entries,
    Holder,
    Item,
    Items,
    Known,
    Lazy,
    Listed,
    MadeDeque,
    MadeDict,
    MadeList,
    MadeRows,
    Member,
    NewDict,
    NotNativeError,
    Number,
    Numbers,
    Objects,
    OtherList,
    OwnGroups,
    OwnList,
    Part,
    Row,
    SliceOf,
    Table,
    Text,
    Thing,
)
from ufuse.frame_hook.nests.numbers import complexes, conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import COMPLEX, ELEMENTS, I1, I64, U32, Value

MOST_ITEMS = 32  # of a tuple that is stored into a row
NOT_KEYED = "it changes a dict that is not known to have ints, or pairs of them, as keys of numbers of one type"


def element(reader: Reader, container: Item, key: Item) -> Item:
    """`container[key]`."""
    if isinstance(container, Items) and isinstance(key, Known) and type(key.value) is int:
        object_lists.doubt_missing(reader, container)
        try:
            return container.items[key.value]
        except IndexError:
            raise NotNativeError("an index is out of range") from None
    if isinstance(container, Items) and isinstance(key, Number | Known):
        return tuples.member(reader, container, key)
    if isinstance(container, Numbers | Table | Objects) and isinstance(key, SliceOf):
        return lists.part(reader, container, key)
    if isinstance(container, Numbers | OtherList):
        container = lists.settled(reader, container)
        return _loaded(reader, container.holder, (views.index(reader, key),))
    if isinstance(container, Listed) and isinstance(key, Number | Known):
        return element(reader, Items(container.items), key)
    if isinstance(container, MadeList):
        container = made_lists.settled(container)
        return _loaded(reader, container.holder, (views.index(reader, key),))
    if isinstance(container, MadeDeque):
        return made_deques.element(reader, container, key)
    if isinstance(container, MadeRows):
        return made_rows.element(reader, container, key)
    if isinstance(container, Entries):
        return fields.entry(reader, container, characters.known(reader, key))
    if isinstance(container, Text):
        if isinstance(key, SliceOf):
            raise NotNativeError("a part of a string is not compiled yet")
        holder = reader.outside.as_characters(container).holder
        return _loaded(reader, holder, (views.index(reader, key),))
    if isinstance(container, Member):
        return object_lists.item_of_tuple(reader, container, characters.known(reader, key))
    if isinstance(container, Table | Row):
        return tables.element(reader, container, key)
    if isinstance(container, OwnGroups):
        return own_groups.element(reader, container, key)
    if isinstance(container, ragged.SOME):
        return ragged.element(reader, container, key)
    if isinstance(container, Objects):
        return object_lists.element(reader, container, key)
    if isinstance(container, Lazy):
        container = elementwise.computed(reader, container)
    if not isinstance(container, Array | Part):
        raise NotNativeError("it takes an item of what is no array")
    if gathers.has_array(key):
        return gathers.taken(reader, container, key)
    place = _place(reader, container, key)
    return _loaded(reader, container.holder, place) if isinstance(place, tuple) else place


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
    return _loaded(reader, holder, place) if isinstance(place, tuple) else place


def _leading(
    reader: Reader, holder: Holder, indices: tuple[Value, ...]
) -> Array | tuple[Value, ...]:
    ndim = len(reader.seen(holder))
    if len(indices) > ndim:
        raise NotNativeError("an array has fewer axes")
    return Array(holder, indices) if len(indices) < ndim else indices


def _loaded(
    reader: Reader, holder: Holder, place: tuple[Value, ...]
) -> Number | Complex | Character:
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


def store_element(reader: Reader, container: Item, key: Item, item: Item) -> None:
    """`container[key] = item`."""
    if isinstance(container, Numbers):
        lists.store(reader, container, key, item)
        return
    if isinstance(container, MadeList):
        made_lists.store(reader, container, key, item)
        return
    if isinstance(container, MadeRows):
        made_rows.store(reader, container, key, item)
        return
    if isinstance(container, OwnGroups):
        own_groups.store(reader, container, key, item)
        return
    if isinstance(container, OwnList):
        own_lists.store(reader, container, key, item)
        return
    if isinstance(container, Entries):
        keyed.ask_for(container)
    if isinstance(container, NewDict | MadeDict):
        made_dicts.store(reader, container, key, item)
        return
    if isinstance(container, Table | Row):
        tables.store(reader, container, key, item)
        return
    if isinstance(container, Entries | Thing) and isinstance(container.value, dict):
        raise NotNativeError(NOT_KEYED)
    if isinstance(container, Items):
        own_lists.ask_instead(container)
        raise NotNativeError("it stores into a tuple")
    if not isinstance(container, Array | Part):
        raise NotNativeError("it stores into what is no array")
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


def doubt_missing(reader: Reader, item: Item) -> None:
    """Leave it to plain Python where there is no such row or item: it is looked at no further, so nobody finds out."""
    if isinstance(item, Array):
        doubt_no_row(reader, item)
    else:
        object_lists.doubt_missing(reader, item)


def doubt_no_row(reader: Reader, array: Array) -> None:
    """Leave it to plain Python where there is no such part of an array: who takes an element of it finds out."""
    out = reader.out
    for axis, index in enumerate(array.indices):
        length = reader.length(array.holder, axis).value
        out.doubt_if(out.op("ige", I1, index, length))
        out.doubt_if(out.op("ilt", I1, index, out.op("neg", I64, length)))

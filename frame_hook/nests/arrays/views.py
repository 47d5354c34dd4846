"""Views of arrays: what indices and slices leave, with bounds clipped as Python clips them."""

from __future__ import annotations

from types import NoneType

from ufuse.frame_hook.nests.arrays import windows
from ufuse.frame_hook.nests.known.arrays import Array, Axis, Length, Part
from ufuse.frame_hook.nests.known.integers import (
    doubt_outside,
    doubt_unlike,
    greatest,
    least,
    minus,
    plus,
    times,
    wrapped,
)
from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    Holder,
    NotNativeError,
    TemporaryKind,
    ViewKind,
)
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item, Items, SliceOf, is_none
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import View
from ufuse.graph.nest_types import I1, I64, MAP_AXES, Value


def part(reader: Reader, item: Array | Part) -> Part:
    """An array, or a part of it, as a view."""
    if isinstance(item, Part):
        return item
    whole = _whole(reader, item.holder)
    axes = list(whole.axes)
    places = list(whole.places)
    for index in item.indices:
        go_to(reader, places, axes.pop(0), index)
    window = windows.noted(reader, item, ())
    return Part(whole.holder, whole.dtype, tuple(places), tuple(axes), window=window)


def _whole(reader: Reader, holder: Holder) -> Part:
    out = reader.out
    seen = reader.seen(holder)
    zero, one = out.constant(I64, 0), out.constant(I64, 1)
    lengths = []
    for axis, (is_one, most) in enumerate(seen):
        length = reader.length(holder, axis).value
        if is_one:
            doubt_unlike(out, length, one)
        lengths.append(Length(length, is_one, most))
    axes = tuple(Axis(length, axis) for axis, length in enumerate(lengths))
    return Part(holder, reader.dtype(holder), (zero,) * len(seen), axes)


def taken(reader: Reader, container: Array | Part, key: Item) -> Part:
    """`container[key]`, where that is a view.

    Raises:
        NotNativeError: it is none, or the key is not followed.

    """
    given = part(reader, container)
    places = list(given.places)
    waiting = list(given.axes)
    axes: list[Axis] = []
    for entry in _entries(key, len(waiting)):
        if isinstance(entry, Known) and entry.value is None:
            axes.append(Axis(Length(reader.out.constant(I64, 1), is_one=True)))
            continue
        if not waiting:
            raise NotNativeError("an array has fewer axes")
        axis = waiting.pop(0)
        if isinstance(entry, SliceOf):
            axes.append(_sliced(reader, places, axis, entry))
        else:
            go_to(reader, places, axis, index(reader, entry))
    window = windows.noted(reader, container, _entries(key, len(given.axes)))
    return Part(given.holder, given.dtype, tuple(places), (*axes, *waiting), window=window)


def _entries(key: Item, ndim: int) -> list[Item]:
    """The entries of a key, with slices in place of an ellipsis."""
    entries: list[Item] = list(key.items) if isinstance(key, Items) else [key]
    dots = [i for i, one in enumerate(entries) if isinstance(one, Known) and one.value is ...]
    if len(dots) > 1:
        raise NotNativeError("an index has two ellipses")
    if dots:
        nothing = Known(None)
        new = sum(isinstance(one, Known) and one.value is None for one in entries)
        missing = ndim - (len(entries) - 1 - new)
        entries[dots[0] : dots[0] + 1] = [SliceOf(nothing, nothing, nothing)] * missing
    return entries


def has_slices(key: Item) -> bool:
    """Whether a key is more than indices."""
    entries = key.items if isinstance(key, Items) else (key,)
    return any(
        isinstance(one, SliceOf)
        or (isinstance(one, Known) and (one.value is None or one.value is ...))
        for one in entries
    )


def index(reader: Reader, entry: Item) -> Value:
    """An index of one axis."""
    number = conversions.number(reader.out, entry)
    if not number.type.is_whole:
        raise NotNativeError("an index is no int")
    return conversions.as_i64(reader.out, number)


def go_to(reader: Reader, places: list[Value], axis: Axis, index: Value) -> None:
    """Go to an element of an axis."""
    out = reader.out
    place = wrapped(out, index, axis.length.value)
    doubt_outside(out, place, axis.length.value)
    if axis.axis is not None:
        if axis.computed is not None:
            place = out.op("mul", I64, place, axis.computed)
        places[axis.axis] = plus(out, places[axis.axis], times(out, place, axis.step))


def bound(reader: Reader, given: Item, length: Value, low: int, most: Value) -> Value:
    """A bound of a slice, from `low` up to `most`."""
    out = reader.out
    place = wrapped(out, index(reader, given), length)
    known = given.value if isinstance(given, Known) else None
    if known is None or known < 0:
        place = greatest(out, place, low)
    return least(out, place, most) if known is None or known >= 0 else place


def _sliced(reader: Reader, places: list[Value], axis: Axis, bounds: SliceOf) -> Axis:
    """The rest of an axis; where it begins goes into `places`."""
    out, length = reader.out, axis.length.value
    step, computed = _step(reader, bounds.step)
    if axis.computed is not None or (computed is not None and axis.step != 1):
        raise NotNativeError("a slice with a step of one with a step that is computed")
    if step == 1 and computed is None and is_none(bounds.start) and is_none(bounds.stop):
        return axis
    if (
        step == axis.step == 1
        and computed is None
        and (simple := _cut(reader, places, axis, bounds)) is not None
    ):
        return simple
    zero, one = out.constant(I64, 0), out.constant(I64, 1)
    low, first, last, most = 0, zero, length, length
    if step < 0:
        most = minus(out, length, one)
        low, first, last = -1, most, out.constant(I64, -1)
    start = first if is_none(bounds.start) else bound(reader, bounds.start, length, low, most)
    stop = last if is_none(bounds.stop) else bound(reader, bounds.stop, length, low, most)
    distance = minus(out, stop, start) if step > 0 else minus(out, start, stop)
    if distance != length:
        distance = greatest(out, distance, 0)
    count = distance
    if computed is not None:
        rounded = plus(out, distance, minus(out, computed, one))
        count = out.op("floordiv", I64, rounded, computed)
    elif abs(step) != 1:
        rounded = plus(out, distance, out.constant(I64, abs(step) - 1))
        count = out.op("floordiv", I64, rounded, out.constant(I64, abs(step)))
    if axis.axis is not None:
        begin = plus(out, places[axis.axis], times(out, start, axis.step))
        if (
            step < 0 or axis.step != 1 or computed is not None
        ):  # where nothing is left, it may begin outside the array
            is_some = out.op("igt", I1, count, zero)
            begin = out.op("select", I64, is_some, begin, places[axis.axis])
        places[axis.axis] = begin
    return Axis(Length(count), axis.axis, axis.step * step, computed)


def _step(reader: Reader, step: Item) -> tuple[int, Value | None]:
    """The step of a slice, and the value of one that is computed, which is in doubt unless it is greater than zero."""
    if is_none(step):
        return 1, None
    if isinstance(step, Known) and type(step.value) is int:
        if not step.value:
            raise NotNativeError("the step of a slice is zero")
        return step.value, None
    out, value = reader.out, index(reader, step)
    out.doubt_if(out.op("ile", I1, value, out.constant(I64, 0)))
    return 1, value


def _cut(reader: Reader, places: list[Value], axis: Axis, bounds: SliceOf) -> Axis | None:
    """What constant bounds leave of an axis that was longer when the loop was read; a doubt where it is not."""
    out, length = reader.out, axis.length
    given = (bounds.start, bounds.stop)
    if not all(isinstance(one, Known) and type(one.value) in (int, NoneType) for one in given):
        return None
    start, stop = (one.value for one in given if isinstance(one, Known))
    start = start or 0
    if start < 0 and stop is not None and stop >= 0:
        return None
    from_end = stop is None or stop < 0
    used = start - (stop or 0) if start >= 0 and from_end else max(abs(start), abs(stop or 0))
    if length.seen < used:
        return None
    out.doubt_if(out.op("ilt", I1, length.value, out.constant(I64, used)))
    if start >= 0 and from_end:
        rest = Length(minus(out, length.value, out.constant(I64, used)), seen=length.seen - used)
    else:
        count = max(0, (stop or 0) - start)
        rest = Length(out.constant(I64, count), is_one=count == 1, seen=count)
    if axis.axis is not None and out.known(rest.value) != 0:
        begin = wrapped(out, out.constant(I64, start), length.value)
        places[axis.axis] = plus(out, places[axis.axis], begin)
    return Axis(rest, axis.axis, axis.step)


def refuse_computed_steps(view: Part) -> None:
    """Refuse what only elementwise statements take."""
    if any(axis.computed is not None for axis in view.axes):
        raise NotNativeError("a slice with a computed step is summed, multiplied or indexed")


def transposed(reader: Reader, item: Array | Part) -> Part:
    """`item.T`."""
    given = part(reader, item)
    return Part(given.holder, given.dtype, given.places, given.axes[::-1])


def bindable(reader: Reader, item: Array | Part, name: str) -> Part:
    """A view that the frame, or its caller, may get as an object."""
    view = part(reader, item)
    reader.outside.refuse_as_object(view.holder, name)
    if len(view.axes) > MAP_AXES:
        raise NotNativeError(f"{name} is bound to a view of many axes")
    zero = reader.out.constant(I64, 0)
    for axis in view.axes:
        if axis.step != 1:  # NumPy's strides are others where it is empty
            reader.out.doubt_if(reader.out.op("ieq", I1, axis.length.value, zero))
    return view


def keep(reader: Reader, view: Part) -> ViewKind:
    """Put into variables where a view begins and how long it is; its kind."""
    if view.bound is not None:
        return view.bound
    if any(axis.computed is not None for axis in view.axes):
        raise NotNativeError("a variable is bound to a slice with a computed step")
    out = reader.out
    axes = tuple((one.axis, one.step, one.length.is_one, one.length.seen) for one in view.axes)
    kind = reader.new_view(view.holder, axes, windows.kind_of(view.window))
    for name, value in zip(_variables(reader, kind), _values(view), strict=True):
        out.set(name, value)
    windows.keep(out, f".view{kind.number}", view.window)
    return kind


def kept(reader: Reader, kind: ViewKind) -> Part:
    """The view that was put into variables."""
    values = [reader.out.get(name, I64) for name in _variables(reader, kind)]
    places = values[: len(values) - len(kind.axes)]
    axes = [
        Axis(Length(length, is_one, seen), axis, step)
        for length, (axis, step, is_one, seen) in zip(values[len(places) :], kind.axes, strict=True)
    ]
    window = windows.kept(reader.out, f".view{kind.number}", kind.window)
    return Part(kind.holder, reader.dtype(kind.holder), tuple(places), tuple(axes), kind, window)


def _values(view: Part) -> list[Value]:
    return [*view.places, *(one.length.value for one in view.axes)]


def _variables(reader: Reader, kind: ViewKind) -> list[str]:
    return parts(f".view{kind.number}", len(reader.seen(kind.holder)), len(kind.axes))


def parts(name: str, places: int, lengths: int) -> list[str]:
    """The names of the variables of a view, as `Nest.cells` has them for an array variable."""
    return [
        *(f"{name}.place{axis}" for axis in range(places)),
        *(f"{name}.length{axis}" for axis in range(lengths)),
    ]


def give_back(reader: Reader, name: str, kind: ViewKind) -> View:
    """Set the cells of an array variable that is a view."""
    view = kept(reader, kind)
    names = parts(name, len(view.places), len(view.axes))
    for cell, value in zip(names, _values(view), strict=True):
        reader.out.set(cell, value)
    axes = tuple(None if one.axis is None else (one.axis, one.step) for one in view.axes)
    return View(reader.array(kind.holder), axes)


def give_back_array(reader: Reader, name: str, kind: ArrayKind | TemporaryKind | ViewKind) -> None:
    """Write which array the variable of this name is."""
    out = reader.out
    reader.memory.refuse_given(kind.holder if isinstance(kind, ViewKind) else kind)
    if isinstance(kind, ViewKind):
        view = give_back(reader, name, kind)
        number = out.op("view", I64, attributes=(kind.number, view))
    else:
        number = out.op("array", I64, attributes=(reader.array(kind),))
    out.set(f"{name}.array", number)

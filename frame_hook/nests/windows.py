"""Windows: views of a few elements, which are known by where they begin as long as nothing cuts them off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ufuse.frame_hook.nests import conversions
from ufuse.frame_hook.nests.integers import minus, plus
from ufuse.frame_hook.nests.values import (
    Array,
    ColumnKind,
    Item,
    Known,
    NotNativeError,
    NumberKind,
    Part,
    SliceOf,
    Window,
    is_none,
)
from ufuse.graph.nest import I1, I64, Value

if TYPE_CHECKING:
    from ufuse.frame_hook.nests.code import Code
    from ufuse.frame_hook.nests.reader import Reader

MOST_ELEMENTS = 49
MOST_TERMS = 12  # instructions that an integer is followed through
EVERYTHING = SliceOf(Known(None), Known(None), Known(None))
Along = tuple[Value, int, Value | None]  # as of `Window`, along one axis


def noted(reader: Reader, container: Array | Part, entries: Sequence[Item]) -> Window | None:
    """What a key most likely leaves of an array; None where that is many elements, or not known."""
    if not isinstance(container, Array):
        return None
    axes = range(len(container.indices), len(reader.seen(container.holder)))
    if len(entries) > len(axes):
        return None
    found: list[Along] = [(index, 0, None) for index in container.indices]
    keys = (*entries, *[EVERYTHING] * (len(axes) - len(entries)))
    for axis, key in zip(axes, keys, strict=True):
        one = _along(reader, container, axis, key)
        if one is None:
            return None
        found.append(one)
    starts, counts, lengths = zip(*found, strict=True)
    few = math.prod(count or 1 for count in counts)
    return Window(starts, counts, lengths) if any(counts) and few <= MOST_ELEMENTS else None


def of(reader: Reader, item: Item) -> Window | None:
    """What an array or a view most likely is, where that is a few elements."""
    if isinstance(item, Array):
        return noted(reader, item, ())
    return item.window if isinstance(item, Part) else None


def _along(reader: Reader, container: Array, axis: int, key: Item) -> Along | None:
    """What a key leaves along one axis."""
    out, zero = reader.out, reader.out.constant(I64, 0)
    if not isinstance(key, SliceOf):
        index = _whole(out, key)
        return None if index is None else (index, 0, None)
    if not is_none(key.step) and not (isinstance(key.step, Known) and key.step.value == 1):
        return None
    start = zero if is_none(key.start) else _whole(out, key.start)
    stop = None if is_none(key.stop) else _whole(out, key.stop)
    if start is None or (stop is None and not is_none(key.stop)):
        return None
    if stop is None:
        (_, seen) = reader.seen(container.holder)[axis]
        if out.known(start) != 0:
            return None
        return (zero, seen, reader.length(container.holder, axis).value) if seen else None
    if out.known(start) is not None and out.known(stop) is not None:
        count = out.known(stop) - out.known(start)
        return (start, count, None) if out.known(start) >= 0 and count > 0 else None
    return _between(reader, start, stop)


def _between(reader: Reader, start: Value, stop: Value) -> Along | None:
    """From one integer to another: how many that are is known, or was seen when the loop was read."""
    terms, more = _terms(reader.out, stop)
    others, less = _terms(reader.out, start)
    for value, factor in others.items():
        terms[value] = terms.get(value, 0) - factor
    count, is_sure = more - less, True
    for value, factor in terms.items():
        if factor:
            seen, is_sure = _seen(reader, value), False
            if seen is None:
                return None
            count += factor * seen
    if not 0 < count <= MOST_ELEMENTS:
        return None
    return start, count, None if is_sure else minus(reader.out, stop, start)


def _terms(code: Code, value: Value) -> tuple[dict[Value, int], int]:
    """An integer as a sum of others and a number."""
    found: dict[Value, int] = {}
    number, waiting = 0, [(value, 1)]
    for _ in range(MOST_TERMS):
        if not waiting:
            break
        one, factor = waiting.pop()
        known, maker = code.known(one), code.maker(one)
        if known is not None:
            number += factor * known
        elif maker is not None and maker.op in {"add", "sub"}:
            left, right = maker.inputs
            waiting += [(left, factor), (right, factor if maker.op == "add" else -factor)]
        else:
            found[one] = found.get(one, 0) + factor
    for one, factor in waiting:
        found[one] = found.get(one, 0) + factor
    return found, number


def _seen(reader: Reader, value: Value) -> int | None:
    """What an integer that no turn changes was when the loop was read."""
    maker = reader.out.maker(value)
    if maker is None or maker.op not in {"get", "dim"}:
        return None
    if maker.op == "dim":
        number, axis = maker.attributes
        holder = next(one for one, its in reader.numbers.items() if its == number)
        return None if isinstance(holder, ColumnKind) else reader.seen(holder)[axis][1]
    (name,) = maker.attributes
    for slot, kind in reader.kinds.items():
        if slot not in reader.written and isinstance(kind, NumberKind):
            if reader.variable(slot, kind.kind) == name and type(reader.state[slot]) is int:
                return int(reader.state[slot])
    return None


def _whole(code: Code, item: Item) -> Value | None:
    try:
        number = conversions.number(code, item)
    except NotNativeError:
        return None
    return conversions.as_i64(code, number) if number.type.is_whole else None


# In variables ----------------------------------------------------------------------------------------------------


def kind_of(window: Window | None) -> tuple[tuple[int, bool], ...]:
    """What is known of a window wherever its variables are read."""
    if window is None:
        return ()
    pairs = zip(window.counts, window.lengths, strict=True)
    return tuple((count, length is not None) for count, length in pairs)


def keep(code: Code, name: str, window: Window | None) -> None:
    """Put into variables where a window begins."""
    for axis, start in enumerate(window.starts if window is not None else ()):
        code.set(f"{name}.start{axis}", start)
    for axis, length in enumerate(window.lengths if window is not None else ()):
        if length is not None:
            code.set(f"{name}.count{axis}", length)


def kept(code: Code, name: str, kind: tuple[tuple[int, bool], ...]) -> Window | None:
    """The window that was put into variables."""
    if not kind:
        return None
    starts = tuple(code.get(f"{name}.start{axis}", I64) for axis in range(len(kind)))
    lengths = tuple(
        code.get(f"{name}.count{axis}", I64) if is_looked_at else None
        for axis, (_, is_looked_at) in enumerate(kind)
    )
    return Window(starts, tuple(count for count, _ in kind), lengths)


# What they hold --------------------------------------------------------------------------------------------------


def conditions(reader: Reader, container: Array | Part, window: Window) -> list[Value]:
    """What has to hold for the elements to be there: neither counted from the end, nor cut off, nor other than seen."""
    out, found = reader.out, []
    rows = zip(window.starts, window.counts, window.lengths, strict=True)
    for axis, (start, count, length) in enumerate(rows):
        if not count:
            continue
        long = reader.length(container.holder, axis).value
        if length is not None:
            found.append(out.op("ieq", I1, length, out.constant(I64, count)))
        if length == long:  # it is all of the axis
            continue
        if out.known(start) is None:
            found.append(out.op("ige", I1, start, out.constant(I64, 0)))
        end = plus(out, start, out.constant(I64, count))
        found.append(out.op("ile", I1, end, long))
    return found


def elements(reader: Reader, container: Array | Part, window: Window, type_: str) -> list[Value]:
    """The elements, as they follow one another along the last axis, where the conditions hold."""
    out, number = reader.out, reader.array(container.holder)
    places: list[list[Value]] = [[]]
    for start, count in zip(window.starts, window.counts, strict=True):
        along = [plus(out, start, out.constant(I64, step)) for step in range(count or 1)]
        places = [[*before, one] for before in places for one in along]
    is_sure = all(window.counts)
    return [out.loaded(type_, number, *indices, is_sure=is_sure) for indices in places]

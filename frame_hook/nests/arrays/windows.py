"""Windows: views of a few elements, which are known by where they begin as long as nothing cuts them off."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence

from ufuse.frame_hook.code import instructions
from ufuse.frame_hook.nests.known.arrays import Array, Part, Window
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.frames import Function
from ufuse.frame_hook.nests.known.integers import minus, plus
from ufuse.frame_hook.nests.known.kinds import ColumnKind, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.positions import loop_positions, while_headers
from ufuse.frame_hook.nests.known.values import Item, SliceOf, is_none
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import I1, I64, Value

MOST_ELEMENTS = 128  # NumPy adds so many in one go, and halves of more
MOST_TERMS = 12  # instructions that an integer is followed through
COMPUTED: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
}
EVERYTHING = SliceOf(Known(None), Known(None), Known(None))
Along = tuple[Value, int, Value | None, Value | None]  # as of `Window`, along one axis


def noted(reader: Reader, container: Array | Part, entries: Sequence[Item]) -> Window | None:
    """What a key most likely leaves of an array; None where that is many elements, or not known."""
    if not isinstance(container, Array):
        return None
    axes = range(len(container.indices), len(reader.seen(container.holder)))
    if len(entries) > len(axes):
        return None
    found: list[Along] = [(index, 0, None, None) for index in container.indices]
    keys = (*entries, *[EVERYTHING] * (len(axes) - len(entries)))
    for axis, key in zip(axes, keys, strict=True):
        one = _along(reader, container, axis, key)
        if one is None:
            return None
        found.append(one)
    starts, counts, lengths, bounds = zip(*found, strict=True)
    few = math.prod(count or 1 for count in counts)
    return Window(starts, counts, lengths, bounds) if any(counts) and few <= MOST_ELEMENTS else None


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
        return None if index is None else (index, 0, None, None)
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
        return (zero, seen, reader.length(container.holder, axis).value, None) if seen else None
    if out.known(start) is not None and out.known(stop) is not None:
        count = out.known(stop) - out.known(start)
        return (start, count, None, None) if out.known(start) >= 0 and count > 0 else None
    return _between(reader, start, stop)


def _between(reader: Reader, start: Value, stop: Value) -> Along | None:
    """From one integer to another; each may be chosen of two, as where windows end with the array."""
    out = reader.out
    for likely, end in itertools.product(_choices(out, start), _choices(out, stop)):
        count, is_sure = _distance(reader, likely, end)
        if count is not None and 0 < count <= MOST_ELEMENTS:
            is_sure = is_sure and end == stop
            length = None if is_sure else minus(out, stop, likely)
            return likely, count, length, None if likely == start else start
    return None


def _choices(code: Code, value: Value) -> tuple[Value, ...]:
    """What an integer may be."""
    maker = code.maker(value)
    return (value, *maker.inputs[1:]) if maker is not None and maker.op == "select" else (value,)


def _distance(reader: Reader, start: Value, stop: Value) -> tuple[int | None, bool]:
    """How far it is from one integer to another, as was seen when the loop was read; whether that is sure."""
    terms, more = _terms(reader.out, stop)
    others, less = _terms(reader.out, start)
    for value, factor in others.items():
        terms[value] = terms.get(value, 0) - factor
    count, is_sure = more - less, True
    for value, factor in terms.items():
        if factor:
            seen, is_sure = _seen(reader, value), False
            if seen is None:
                return None, False
            count += factor * seen
    return count, is_sure


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
    return None if maker is None else _given(reader, maker, MOST_TERMS)


def _given(reader: Reader, maker: Instruction, depth: int) -> int | None:
    """What an instruction gave then, so many others followed back."""
    if maker.op == "const":
        return int(maker.attributes[0])
    if maker.op == "dim":
        number, axis = maker.attributes
        holder = next(one for one, its in reader.numbers.items() if its == number)
        return None if isinstance(holder, ColumnKind) else reader.seen(holder)[axis][1]
    if maker.op != "get" or not depth:
        return None
    (name,) = maker.attributes
    for slot, kind in reader.kinds.items():
        if slot not in reader.written and isinstance(kind, NumberKind):
            if reader.variable(slot, kind.kind) == name and type(reader.state[slot]) is int:
                return int(reader.state[slot])
    return _once_set(reader, name, depth - 1)


def _once_set(reader: Reader, name: str, depth: int) -> int | None:
    """What a variable of a function that is called was set to, where its code sets it in one place alone."""
    function = reader.frame.function
    local = name.removeprefix(function.prefix).partition(":")[0]
    if function.called is None or not _is_set_once(function, local):
        return None
    for block in reversed([*reader.out.blocks]):
        for one in reversed(block.instructions):
            if one.op == "set" and one.attributes[0] == name:
                return _computed(reader, block.instructions, one.inputs[0], depth)
    return None


def _is_set_once(function: Function, local: str) -> bool:
    """Whether a local is bound by one instruction, or is an argument; the target of a loop is another number soon."""
    if local not in function.names:
        return False
    slot = function.names.index(local)
    stores = [
        position
        for position, one in function.table.items()
        if ("w", slot) in instructions.slot_uses(one)
    ]
    return len(stores) + (slot < function.code.co_argcount) == 1 and not any(
        position in loop for position in stores for loop in _loops(function)
    )


def _loops(function: Function) -> list[frozenset[int]]:
    """The positions of the loops of a function."""
    headers = [position for position, one in function.table.items() if one.opname == "FOR_ITER"]
    return [loop_positions(function.code, one) for one in (*headers, *while_headers(function.code))]


def _computed(reader: Reader, block: Sequence[Instruction], value: Value, depth: int) -> int | None:
    """What an integer was, as a sum, difference or product of lengths and numbers."""
    maker = next(one for one in block if one.result == value)
    if maker.op not in COMPUTED:
        return _given(reader, maker, depth)
    parts = [
        _computed(reader, block, each, depth - 1) if depth > 0 else None for each in maker.inputs
    ]
    if None in parts:
        return None
    return COMPUTED[maker.op](*parts)


def _whole(code: Code, item: Item) -> Value | None:
    try:
        number = conversions.number(code, item)
    except NotNativeError:
        return None
    return conversions.as_i64(code, number) if number.type.is_whole else None


# In variables ----------------------------------------------------------------------------------------------------


def kind_of(window: Window | None) -> tuple[tuple[int, bool, bool], ...]:
    """What is known of a window wherever its variables are read."""
    if window is None:
        return ()
    rows = zip(window.counts, window.lengths, window.bounds, strict=True)
    return tuple((count, length is not None, bound is not None) for count, length, bound in rows)


def keep(code: Code, name: str, window: Window | None) -> None:
    """Put into variables where a window begins."""
    if window is None:
        return
    for part, values in (
        ("start", window.starts),
        ("count", window.lengths),
        ("bound", window.bounds),
    ):
        for axis, value in enumerate(values):
            if value is not None:
                code.set(f"{name}.{part}{axis}", value)


def kept(code: Code, name: str, kind: tuple[tuple[int, bool, bool], ...]) -> Window | None:
    """The window that was put into variables."""
    if not kind:
        return None

    def values(part: str, are_there: Sequence[bool]) -> tuple[Value | None, ...]:
        return tuple(
            code.get(f"{name}.{part}{axis}", I64) if is_there else None
            for axis, is_there in enumerate(are_there)
        )

    counts, lengths, bounds = zip(*kind, strict=True)
    starts = tuple(code.get(f"{name}.start{axis}", I64) for axis in range(len(kind)))
    return Window(starts, counts, values("count", lengths), values("bound", bounds))


# What they hold --------------------------------------------------------------------------------------------------


def conditions(reader: Reader, container: Array | Part, window: Window) -> list[Value]:
    """What has to hold for the elements to be there: neither counted from the end, nor cut off, nor other than seen."""
    out, found = reader.out, []
    rows = zip(window.starts, window.counts, window.lengths, window.bounds, strict=True)
    for axis, (start, count, length, bound) in enumerate(rows):
        if not count:
            continue
        if bound is not None:
            found.append(out.op("ieq", I1, bound, start))
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


def is_whole(reader: Reader, container: Array | Part, window: Window) -> bool:
    """Whether it is a whole array or row, which is likely to have another length in another call."""
    rows = enumerate(zip(window.counts, window.lengths, strict=True))
    return all(
        length == reader.length(container.holder, axis).value
        for axis, (count, length) in rows
        if count
    )


def elements(reader: Reader, container: Array | Part, window: Window, type_: str) -> list[Value]:
    """The elements, as they follow one another along the last axis, where the conditions hold."""
    out, number = reader.out, reader.array(container.holder)
    places: list[list[Value]] = [[]]
    for start, count in zip(window.starts, window.counts, strict=True):
        along = [plus(out, start, out.constant(I64, step)) for step in range(count or 1)]
        places = [[*before, one] for before in places for one in along]
    is_sure = all(window.counts)
    return [out.loaded(type_, number, *indices, is_sure=is_sure) for indices in places]

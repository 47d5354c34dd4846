"""New arrays in loops that are read as nests: of a shape, like another, of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, reductions, statements, views
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Length, Part
from ufuse.frame_hook.nests.known.containers import MadeList, MadeRows
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.numbers import complexes, conversions
from ufuse.frame_hook.nests.reading.operations import AS_ARRAY, AS_ROW
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import COMPLEX, ELEMENTS, I1, I64, Value

Rule = Callable[..., Item]
MOST_NUMBERS = 64  # of an array that is made of numbers


def dtype_of(item: Item | None, default: np.dtype) -> np.dtype:
    """The dtype that an argument names."""
    if item is None or (isinstance(item, Known) and item.value is None):
        return default
    known = (type, np.dtype, str)
    if isinstance(item, Known) and isinstance(item.value, known):
        wanted = np.dtype(item.value)
        if wanted in ELEMENTS and wanted.char not in "qQ":  # equal to "l" and "L"
            return wanted
        if wanted == COMPLEX:
            return COMPLEX
    raise NotNativeError("a new array with this dtype")


def lengths_of(reader: Reader, shape: Item) -> list[Length]:
    """The lengths that a shape names."""
    found = []
    for one in shape.items if isinstance(shape, Items) else (shape,):
        length = conversions.number(reader.out, one)
        if not length.type.is_whole:
            raise NotNativeError("the length of an array is no int")
        value = conversions.as_i64(reader.out, length)
        known = reader.out.known(value)
        if known is None or known < 0:
            reader.out.doubt_if(reader.out.op("ilt", I1, value, reader.out.constant(I64, 0)))
        found.append(Length(value, is_one=known == 1))
    return found


def _filled(reader: Reader, kind: np.dtype, lengths: Sequence[Length], value: Any) -> Array:
    if value is not None and kind not in ELEMENTS and kind != COMPLEX:
        raise NotNativeError(f"a new array of {kind}")
    fresh = statements.allocated(reader, kind, lengths)
    if value is not None:
        elementwise.assign(reader, views.part(reader, fresh), Known(kind.type(value).item()))
    return fresh


def maker(value: Any) -> Rule:
    """`np.zeros` and the like."""

    def rule(reader: Reader, shape: Item, dtype: Item | None = None) -> Array:
        lengths = lengths_of(reader, shape)
        return _filled(reader, dtype_of(dtype, np.dtype(float)), lengths, value)

    return rule


def maker_like(value: Any) -> Rule:
    """`np.zeros_like` and the like."""

    def rule(reader: Reader, item: Item, dtype: Item | None = None) -> Array:
        if not isinstance(item, Array | Part):
            raise NotNativeError("a new array like what is no array")
        given = views.part(reader, item)
        reader.keep_order(given)
        return _filled(reader, dtype_of(dtype, given.dtype), given.lengths, value)

    return rule


def full(reader: Reader, shape: Item, value: Item, dtype: Item | None = None) -> Array:
    """`np.full` of a number."""
    one = complexes.scalar(reader.out, value)
    kind = dtype_of(dtype, one.type.dtype)
    if kind not in (one.type.dtype, COMPLEX):
        raise NotNativeError(f"a new array of {kind} of another number")
    lengths = lengths_of(reader, shape)
    fresh = statements.allocated(reader, kind, lengths)
    elementwise.assign(reader, views.part(reader, fresh), one)
    return fresh


def is_small(size: Item) -> TypeGuard[Known]:
    """Whether a length is a constant for which an instruction for each is not too much."""
    count = size.value if isinstance(size, Known) else None
    return type(count) is int and 1 <= count <= MOST_NUMBERS


def wanted_dtype(dtype: Item | None, own: np.dtype) -> np.dtype | None:
    """The dtype that an array of numbers of another one is to have; None: nobody says."""
    return None if dtype is None else dtype_of(dtype, own)


def identity(reader: Reader, size: Item, *, dtype: Item | None = None) -> Array:
    """`np.eye` of a small constant."""
    assert is_small(size)
    kind = dtype_of(dtype, np.dtype(float))
    fresh = _filled(reader, kind, lengths_of(reader, Items((size, size))), 0)
    unit = Known(kind.type(1).item())
    for i in range(size.value):
        place = reader.out.constant(I64, i)
        _store(reader, fresh, (place, place), unit)
    return fresh


def _store(reader: Reader, array: Array, place: Sequence[Value], item: Item) -> None:
    """Put a number into a new array."""
    out, number = reader.out, reader.array(array.holder)
    kind = reader.dtype(array.holder)
    if kind == COMPLEX:
        complexes.store(out, number, place, complexes.whole(out, item))
    else:
        one = conversions.number(out, item)
        out.store(number, *place, conversions.as_element(out, one, ELEMENTS[kind]))


def array(reader: Reader, items: Item, dtype: Item | None = None) -> Item:
    """`np.array` of a list or tuple of numbers, of such lists, or of vectors."""
    if isinstance(items, Array | Part | Lazy):
        own = elementwise.dtype(reader, items)
        if dtype_of(dtype, own) != own:
            raise NotNativeError("np.array of an array with another dtype")
        return elementwise.computed(reader, elementwise.copied(reader, items))
    if (rule := AS_ARRAY.rule(items)) is not None:
        made: Item = rule(reader, items, dtype)
        return made
    rows = items.items if isinstance(items, Items | Listed) else ()
    if any(elementwise.is_array(one) or isinstance(one, MadeList) for one in rows):
        return _of_rows(reader, rows, dtype)
    shape: tuple[int, ...] = (len(rows),)
    if rows and all(isinstance(row, Items | Listed) for row in rows):
        within = [row.items for row in rows if isinstance(row, Items | Listed)]
        if len({len(row) for row in within}) > 1:
            raise NotNativeError("an array of tuples of several lengths")
        shape, rows = (len(rows), len(within[0])), tuple(one for row in within for one in row)
    if isinstance(items, Listed) and not rows:
        return _filled(reader, dtype_of(dtype, np.dtype(float)), lengths_of(reader, Known(0)), None)
    if not 1 <= len(rows) <= MOST_NUMBERS:
        raise NotNativeError("an array of no numbers, or of many")
    elementwise.settle(reader)
    numbers = [complexes.scalar(reader.out, one) for one in rows]
    kind = dtype_of(dtype, np.result_type(*(one.type.dtype for one in numbers)))
    return _of_numbers(reader, shape, numbers, kind)


def as_array(reader: Reader, item: Item, dtype: Item | None = None) -> Item:
    """`np.asarray`: an array is given as it is."""
    if not elementwise.is_array(item):
        return array(reader, item, dtype)
    own = elementwise.dtype(reader, item)
    if dtype_of(dtype, own) != own:
        raise NotNativeError("np.asarray of an array with another dtype")
    return item


def stacked(reader: Reader, items: Item) -> Item:
    """`np.vstack` or `np.stack` of vectors."""
    if isinstance(items, MadeRows) and (rule := AS_ARRAY.rule(items)) is not None:
        made: Item = rule(reader, items, None)
        return made
    if not isinstance(items, Items | Listed) or not items.items:
        raise NotNativeError("it joins what are no arrays")
    return _of_rows(reader, items.items, None)


def _of_rows(reader: Reader, rows: Sequence[Item], dtype: Item | None) -> Array:
    """A matrix of vectors, or of lists that the nest makes, of one length."""
    rows = [one if (rule := AS_ROW.rule(one)) is None else rule(reader, one) for one in rows]
    if not all(map(elementwise.is_array, rows)):
        raise NotNativeError("an array of arrays and numbers")
    kind = dtype_of(dtype, np.result_type(*(elementwise.dtype(reader, one) for one in rows)))
    vectors = [reductions.row(reader, one, takes_complex=True) for one in rows]
    first, *others = (one.axes[0].length for one in vectors)
    for length in others:
        doubt_unlike(reader.out, first.value, length.value)
    count = Length(reader.out.constant(I64, len(rows)), is_one=len(rows) == 1, seen=len(rows))
    fresh = statements.allocated(reader, kind, [count, first])
    for place, one in enumerate(vectors):
        elementwise.assign(reader, views.taken(reader, fresh, Known(place)), one)
    return fresh


def _of_numbers(
    reader: Reader, shape: Sequence[int], numbers: Sequence[Number | Complex], kind: np.dtype
) -> Array:
    out = reader.out
    if any(one.type.is_real for one in numbers) and kind.kind not in "fc":
        raise NotNativeError("an array of integers is made of floats")
    if kind != COMPLEX and any(isinstance(one, Complex) for one in numbers):
        raise NotNativeError("an array of reals is made of complex numbers")
    lengths = [Length(out.constant(I64, length), is_one=length == 1) for length in shape]
    fresh = statements.allocated(reader, kind, lengths)
    for place, one in zip(np.ndindex(*shape), numbers, strict=True):
        _store(reader, fresh, [out.constant(I64, each) for each in place], one)
    return fresh

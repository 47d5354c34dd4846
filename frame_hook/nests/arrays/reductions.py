"""Sums, products and the like of arrays in loops that are read as nests: numbers, or arrays of fewer axes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, statements, views
from ufuse.frame_hook.nests.arrays.elementwise import BOOL, is_array
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import Array, Axis, Lazy, Length, Part
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.kinds import NP_FLOAT, NP_INT, NotNativeError, TemporaryKind
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items
from ufuse.frame_hook.nests.numbers import complexes
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest import View
from ufuse.graph.nest_types import (
    COMPLEX,
    DOTS,
    ELEMENTS,
    F32,
    F64,
    I1,
    I64,
    MAP_AXES,
    POSITIONS,
    Value,
)

FLOAT = np.dtype(float)
I64_BYTES = 8
MOST_EXACT, LARGE = (
    2**21,
    2**31,
)  # so many whole numbers up to the other have an exact sum as floats


def array_of(reader: Reader, item: Item, *, takes_complex: bool = False) -> Part:
    """An array that exists.

    Raises:
        NotNativeError: it is none, or has too many axes, or complex numbers that are not taken.

    """
    if not is_array(item):
        raise refusals.not_of("calls a function of arrays with", item, "array")
    assert isinstance(item, Array | Part | Lazy)
    found = _computed(reader, item)
    if not 1 <= len(found.axes) <= MAP_AXES:
        raise NotNativeError(f"an array has no axes, or more than {MAP_AXES}")
    statements.note_length(reader, found.axes)
    views.refuse_computed_steps(found)
    if found.dtype == COMPLEX and not takes_complex:
        raise NotNativeError("such a function of complex arrays is not compiled yet")
    return found


def _computed(reader: Reader, item: Array | Part | Lazy) -> Part:
    """An array that exists; an expression of matrices in Fortran's order as NumPy has it, in that order."""
    if not isinstance(item, Lazy) or not elementwise.is_turned(item):
        return views.part(reader, elementwise.computed(reader, item))
    for length in item.lengths:  # NumPy forgets the order of an axis of length 1
        is_short = reader.out.op("ilt", I1, length.value, reader.out.constant(I64, 2))
        reader.out.doubt_if(is_short)
    return views.transposed(reader, elementwise.computed(reader, elementwise.turned(item)))


def row(reader: Reader, item: Item, *, takes_complex: bool = False) -> Part:
    """A vector as an array that exists.

    Raises:
        NotNativeError: it is no vector.

    """
    found = array_of(reader, item, takes_complex=takes_complex)
    if len(found.axes) != 1:
        raise NotNativeError("products of arrays with several axes are not compiled yet")
    return found


def fold(
    reader: Reader, name: str, item: Item, axis: Item | None = None, keepdims: Item | None = None
) -> Number | Array | Complex:
    """`ufunc.reduce` of an array."""
    one = as_folded(reader, name, array_of(reader, item, takes_complex=name == "add"))
    axes = folded_axes(axis, len(one.axes))
    keeps = _is_true(keepdims)
    if one.dtype == COMPLEX:
        return _complex_sum(reader, one, keeps=keeps)
    if len(axes) == len(one.axes) and not keeps:
        return _number(reader, "fold", name, [one.lengths], one)
    if ELEMENTS.get(one.dtype) is None:
        raise NotNativeError(f"reductions of {one.dtype} are not compiled yet")
    if len(one.axes) - len(axes) > 1:
        reader.keep_order(one)
    return _reduced(reader, name, one, axes, keeps=keeps)


def _complex_sum(reader: Reader, one: Part, *, keeps: bool) -> Array | Complex:
    if len(one.axes) != 1:
        raise NotNativeError("sums of complex numbers along several axes are not compiled yet")
    fresh = _reduced(reader, "add", one, (0,), keeps=True)
    if keeps:
        return fresh
    return complexes.load(reader.out, reader.array(fresh.holder), (reader.out.constant(I64, 0),))


def _reduced(reader: Reader, name: str, one: Part, axes: Sequence[int], *, keeps: bool) -> Array:
    """The results along the axes that are kept, as a new array."""
    unit = Length(reader.out.constant(I64, 1), is_one=True)
    kept = [unit if place in axes else length for place, length in enumerate(one.lengths)]
    lengths = [length for place, length in enumerate(kept) if keeps or place not in axes]
    kind = np.dtype(int) if name in POSITIONS else one.dtype
    fresh = statements.allocated(reader, kind, lengths)
    if keeps and len(one.axes) - len(axes) == 1:
        try:
            reader.keep_order(one)
        except NotNativeError:
            assert isinstance(fresh.holder, TemporaryKind)
            reader.memory.keep_inside(fresh.holder)
    whole = views.part(reader, fresh)
    walked = iter(whole.axes)
    spread = [next(walked) if keeps or place not in axes else None for place in range(len(kept))]
    target = statements.view_of(reader, whole, len(whole.axes))
    steps = tuple(
        None if each is None or place in axes or each.axis is None else (each.axis, each.step)
        for place, each in enumerate(spread)
    )
    attributes = (
        name,
        statements.view_of(reader, one, len(one.axes)),
        replace(target, axes=steps),
    )
    inputs = (*(length.value for length in one.lengths), *one.places, *whole.places)
    reader.out.write("reduce", *inputs, attributes=attributes)
    return fresh


def as_folded(reader: Reader, name: str, one: Part) -> Part:
    """The array in the dtype in which it is folded."""
    kind = one.dtype
    if name in ("logical_or", "logical_and"):
        kind = BOOL
    elif name in ("add", "multiply") and kind.kind in "biu":
        kind = np.dtype(np.uint) if kind.kind == "u" else np.dtype(int)
        kind = one.dtype if one.dtype.itemsize == kind.itemsize else kind
    if kind == one.dtype:
        return one
    return array_of(reader, Lazy("cast", (one.dtype, kind), (one,), one.lengths))


def folded_axes(axis: Item | None, ndim: int) -> tuple[int, ...]:
    """The axes that an argument names."""
    if axis is None or (isinstance(axis, Known) and axis.value is None):
        return tuple(range(ndim))
    named = axis.items if isinstance(axis, Items) else (axis,)
    places = [one.value for one in named if isinstance(one, Known) and type(one.value) is int]
    if len(places) < len(named) or not all(-ndim <= place < ndim for place in places):
        raise NotNativeError("an axis is no constant of the array")
    found = {place % ndim for place in places}
    if len(found) < len(places) or not places:
        raise NotNativeError("an axis is named twice, or none is")
    return tuple(sorted(found))


def _is_true(keepdims: Item | None) -> bool:
    if keepdims is None:
        return False
    if not isinstance(keepdims, Known) or type(keepdims.value) is not bool:
        raise NotNativeError("keepdims is no constant")
    return keepdims.value


def mean(
    reader: Reader, item: Item, axis: Item | None = None, keepdims: Item | None = None
) -> Number | Array | Lazy:
    """The mean, as NumPy's: the sum of floats by the number of elements."""
    out, one = reader.out, _as_floats(reader, array_of(reader, item))
    total = fold(reader, "add", one, axis, keepdims)
    count = elements_along(reader, one, folded_axes(axis, len(one.axes)))
    out.doubt_if(out.op("ieq", I1, count, out.constant(I64, 0)))
    if isinstance(total, Number):
        return _mean_of(reader, total, count)
    assert isinstance(total, Array), "sums of complex numbers are left"
    quotient = elementwise.apply(reader, np.divide, total, Number(NP_INT, count))
    if quotient.dtype != one.dtype:
        quotient = Lazy("cast", (quotient.dtype, one.dtype), (quotient,), quotient.lengths)
    return in_place(reader, total, quotient)


def in_place(reader: Reader, item: Array, result: Lazy) -> Array | Lazy:
    """What NumPy puts in the place of a new array: there where its strides are not those of a newer one."""
    if not reader.memory.is_kept_inside(item.holder):
        return result
    elementwise.update_with(reader, views.part(reader, item), result)
    return item


def elements_along(reader: Reader, one: Part, axes: Sequence[int]) -> Value:
    """How many elements an array has along some axes."""
    first, *others = (one.lengths[place].value for place in axes)
    return functools.reduce(functools.partial(reader.out.op, "mul", I64), others, first)


def _as_floats(reader: Reader, one: Part) -> Part:
    """An array of which means are taken: of whole numbers as floats, whose sums are exact in any order, or in doubt."""
    if one.dtype.char in "df":
        return one
    out, is_long = reader.out, one.dtype.itemsize == I64_BYTES
    if one.dtype.kind not in "biu" or (is_long and one.dtype.kind == "u"):
        raise NotNativeError(f"the mean of {one.dtype}")
    count = elements_along(reader, one, range(len(one.axes)))
    out.doubt_if(out.op("igt", I1, count, out.constant(I64, MOST_EXACT)))
    for name, op, limit in (("maximum", "igt", LARGE), ("minimum", "ilt", -LARGE)):
        if is_long:
            found = fold(reader, name, one)
            assert isinstance(found, Number)
            out.doubt_if(out.op(op, I1, found.value, out.constant(I64, limit)))
    return array_of(reader, Lazy("cast", (one.dtype, FLOAT), (one,), one.lengths))


def _mean_of(reader: Reader, total: Number, count: Value) -> Number:
    out, value, divisor = reader.out, total.value, reader.out.op("to_f64", F64, count)
    if value.type == F64:
        return Number(NP_FLOAT, out.op("div", F64, value, divisor))
    quotient = out.op("div", F64, out.op("to_f64", F64, value), divisor)
    return Number(total.type, out.op("to_f32", F32, quotient))


def dot(reader: Reader, name: str, left: Item, right: Item) -> Number:
    """The product of two vectors."""
    one, other = row(reader, left), row(reader, right)
    if one.dtype != other.dtype:
        raise NotNativeError(f"products of {one.dtype} and {other.dtype}")
    if one.dtype.char not in "dflLiIhHbB":
        raise NotNativeError(f"products of {one.dtype} are not compiled yet")
    doubt_unlike(reader.out, one.axes[0].length.value, other.axes[0].length.value)
    return _number(reader, "dot", name, [one.lengths], one, other)


def product(reader: Reader, name: str, left: Item, right: Item) -> Number | Array:
    """`np.dot` or `np.matmul` of vectors and matrices; or what solves a system of equations, or inverts its matrix."""
    is_any = name == "matmul"
    one, other = (array_of(reader, each, takes_complex=is_any) for each in (left, right))
    one, other = _of_one_type(reader, one, other)
    if len(one.axes) == len(other.axes) == 1 and name in DOTS:
        return dot(reader, name, one, other)
    if name not in DOTS:
        if len(one.axes) != 2 or one.dtype != np.dtype(float):
            raise NotNativeError(f"np.linalg.{name} of such arrays is not compiled yet")
        doubt_unlike(reader.out, *(axis.length.value for axis in one.axes))
    if max(len(one.axes), len(other.axes)) > 2:
        raise NotNativeError("products of arrays of more than two axes")
    if one.dtype != other.dtype or one.dtype.char not in "dflLiIhHbBD":
        raise NotNativeError(f"products of {one.dtype} and {other.dtype}")
    doubt_unlike(reader.out, one.axes[-1].length.value, other.axes[0].length.value)
    rows, columns = one.axes[:-1], other.axes[1:]
    if rows and columns and one.dtype.kind in "iu":  # graphs have faster code than NumPy has
        raise NotNativeError(f"products of {one.dtype} matrices are not compiled yet")
    unit = reader.out.constant(I64, 1)
    lengths = [
        rows[0].length.value if rows else unit,
        one.axes[-1].length.value,
        columns[0].length.value if columns else unit,
    ]
    fresh = statements.allocated(reader, one.dtype, [axis.length for axis in (*rows, *columns)])
    whole = views.part(reader, fresh)
    places = [*whole.axes]
    # With the strides that NumPy sees, also along axes of length 1: its choice of a function depends on them.
    shapes = (
        (one, [*rows, one.axes[-1], None] if rows else [None, one.axes[-1], None]),
        (other, [None, other.axes[0], *(columns or [None])]),
        (whole, [places.pop(0) if rows else None, None, places.pop(0) if columns else None]),
    )
    attributes = [
        View(reader.array(part.holder), tuple(map(_walked, axes))) for part, axes in shapes
    ]
    inputs = (*lengths, *one.places, *other.places, *whole.places)
    reader.out.write("matmul", *inputs, attributes=(name, *attributes))
    return fresh


def _of_one_type(reader: Reader, *parts: Part) -> list[Part]:
    """Arrays of floats and others as NumPy multiplies them: copied as floats, in C's order."""
    kind = np.result_type(*(one.dtype for one in parts))
    if kind.char not in "df" or any(one.dtype not in ELEMENTS for one in parts):
        return list(parts)
    return [one if one.dtype == kind else _cast(reader, one, kind) for one in parts]


def _cast(reader: Reader, one: Part, kind: np.dtype) -> Part:
    lazy = Lazy("cast", (one.dtype, kind), (one,), one.lengths)
    if elementwise.is_turned(lazy):
        raise NotNativeError("products of transposed matrices of several types")
    return views.part(reader, elementwise.computed(reader, lazy))


def _walked(axis: Axis | None) -> tuple[int, int] | None:
    return None if axis is None or axis.axis is None else (axis.axis, axis.step)


def position(
    reader: Reader,
    name: str,
    item: Item,
    axis: Item | None = None,
    keepdims: Item | None = None,
) -> Number | Array:
    """Where the first of the largest or least elements of a vector is, or of those along an axis."""
    one = array_of(reader, item)
    if isinstance(axis, Items):
        raise NotNativeError("an axis is no constant of the array")
    axes, keeps = folded_axes(axis, len(one.axes)), _is_true(keepdims)
    if len(axes) > 1:
        raise NotNativeError("a place in an array of several axes")
    if keeps or len(one.axes) > 1:
        return _reduced(reader, name, one, axes, keeps=keeps)
    attributes = name, statements.view_of(reader, one, 1)
    inputs = one.axes[0].length.value, *one.places
    return Number(NP_INT, reader.out.op("position", I64, *inputs, attributes=attributes))


def _number(
    reader: Reader, op: str, name: str, lengths: Sequence[Sequence[Length]], *parts: Part
) -> Number:
    type_ = ELEMENTS.get(parts[0].dtype)
    if type_ is None:
        raise NotNativeError(f"sums and products of {parts[0].dtype} are not compiled yet")
    inputs = [length.value for one in lengths for length in one]
    for one in parts:
        inputs += one.places
    attributes = (name, *(statements.view_of(reader, one, len(one.axes)) for one in parts))
    value = reader.out.op(op, type_, *inputs, attributes=attributes)
    return Number(reader.element_kind(parts[0].dtype), value)

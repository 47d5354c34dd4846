"""Elementwise expressions over arrays: NumPy's types and broadcasting; where their results are computed and stored."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ufuse.frame_hook.nests.arrays import rolls, statements, views
from ufuse.frame_hook.nests.known import refusals
from ufuse.frame_hook.nests.known.arrays import (
    Array,
    ArrayItem,
    Converted,
    Lazy,
    Length,
    Part,
    Rolled,
)
from ufuse.frame_hook.nests.known.integers import doubt_unlike
from ufuse.frame_hook.nests.known.kinds import ArrayKind, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Complex, Known, Number
from ufuse.frame_hook.nests.known.values import Item, Items, Listed
from ufuse.frame_hook.nests.numbers import complexes, conversions
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph import ops
from ufuse.graph.nest_types import COMPLEX, ELEMENTS, I1, I64, MAP_AXES
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing import infer

# fmt: off
UFUNCS: dict[str, np.ufunc] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "//": np.floor_divide, "%": np.remainder,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
    "**": np.power,
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "ge": np.greater_equal,
}
# fmt: on
BOOL = np.dtype(bool)
LEAST_WRITTEN_OVER = 256 * 1024  # bytes: NPY_MIN_ELIDE_BYTES
Operand = Part | Lazy | Rolled | Converted
ARRAYS = (Array, Part, Lazy)


def is_array(item: Item) -> bool:
    """Whether an item is an array, a view or an expression over arrays."""
    return isinstance(item, ARRAYS)


# Expressions -----------------------------------------------------------------------------------------------------


def binary(reader: Reader, operator: str, left: Item, right: Item) -> Lazy:
    """`left operator right` of arrays."""
    if operator == "**" and is_array(left):
        faster = _fast_power(dtype(reader, left), right)
        if faster is not None:
            return apply(reader, faster, left)
    if operator not in UFUNCS:
        raise NotNativeError(f"the operator {operator} of arrays is not compiled yet")
    found = apply(reader, UFUNCS[operator], left, right)
    if operator in {"+", "*"}:
        _doubt_written_over(reader, found)
    return found


def _doubt_written_over(reader: Reader, found: Lazy) -> None:
    """A doubt where NumPy writes a result of complex numbers over an operand: it has other NaN then."""
    if found.dtype.kind == "c":
        count = reader.out.constant(I64, 1)
        for length in found.lengths:
            count = reader.out.op("mul", I64, count, length.value)
        fewest = reader.out.constant(I64, LEAST_WRITTEN_OVER // found.dtype.itemsize)
        reader.out.doubt_if(reader.out.op("ige", I1, count, fewest))


# NumPy up to 2.2 has fast paths for more exponents, by value.
POWERS_BY_VALUE = (np.ones(1, np.bool_) ** 2.0).dtype == np.int8


def _fast_power(kind: np.dtype, right: Item) -> np.ufunc | None:
    """The ufunc that `ndarray.__pow__` calls in place of power for some exponents."""
    if not isinstance(right, Known) or type(right.value) not in (int, float):
        raise NotNativeError("a power of an array with a computed exponent")
    value, inexact = right.value, kind.kind == "f"
    if kind.kind == "c" and (type(value) is not int or value != 2):
        raise NotNativeError("such a power of an array of complex numbers is not compiled yet")
    if type(value) is int and value == 2:
        return np.square
    if type(value) is int and value == -1 and inexact:
        return np.reciprocal
    if type(value) is float and value == 0.5 and inexact:
        return np.sqrt
    if POWERS_BY_VALUE and value in (0, 1, 2, -1, 0.5):
        raise NotNativeError("a power of an array with this exponent")
    return None


def apply(reader: Reader, ufunc: np.ufunc, *items: Item) -> Lazy:
    """The result of a ufunc of arrays and numbers."""
    is_plain = ufunc.nout == 1 and ufunc.signature is None and ops.is_numpys(ufunc)
    if not is_plain or ufunc.nin != len(items):
        raise NotNativeError(f"{ufunc.__name__} is not compiled yet")
    given = [_read(reader, item) for item in items]
    try:
        dtypes = infer.loop_dtypes(ufunc, [_typed(one) for one in given])
    except infer.CannotInfer as why:
        raise NotNativeError(str(why)) from None
    if ops.depends_on_operands(ufunc.__name__, *dtypes):
        _check_contiguous(reader, ufunc, given)
    inputs = tuple(_as(reader, one, kind) for one, kind in zip(given, dtypes, strict=False))
    return _lazy(reader, ufunc.__name__, dtypes, inputs)


def where(reader: Reader, condition: Item, then: Item, otherwise: Item) -> Lazy:
    """`np.where(condition, then, otherwise)`."""
    given = [_read(reader, item) for item in (then, otherwise)]
    # maximum has a loop for each pair of these dtypes, that of their common one
    try:
        kind = infer.loop_dtypes(np.maximum, [_typed(one) for one in given])[-1]
    except infer.CannotInfer as why:
        raise NotNativeError(str(why)) from None
    inputs = (
        _as(reader, _read(reader, condition), BOOL),
        *(_as(reader, one, kind) for one in given),
    )
    return _lazy(reader, "where", (BOOL, kind, kind, kind), inputs)


def _lazy(
    reader: Reader, name: str, dtypes: tuple[np.dtype, ...], inputs: tuple[Operand, ...]
) -> Lazy:
    """An operation; expressions that are repeated along an axis are computed once, before it."""
    lengths = _broadcast(reader, inputs)
    each = tuple(
        views.part(reader, computed(reader, one))
        if isinstance(one, Lazy) and _shape(one.lengths) != _shape(lengths)
        else one
        for one in inputs
    )
    return Lazy(name, dtypes, each, lengths)


def _shape(lengths: Sequence[Length]) -> list[bool]:
    """What is known of a shape: which axes there are, and which have length 1."""
    return [length.is_one for length in lengths]


def copied(reader: Reader, item: ArrayItem) -> Lazy:
    """A new array with the elements of one."""
    if isinstance(item, Lazy):
        return rolls.of_its_own(item)
    given = views.part(reader, item)
    return Lazy("copy", (given.dtype, given.dtype), (given,), given.lengths)


Read = Part | Lazy | Rolled | Known | Number | Complex


def _read(reader: Reader, item: Item) -> Read:
    match item:
        case Lazy():
            return rolls.as_operand(item)
        case Number() | Complex():
            return item
        case Array() | Part():
            return views.part(reader, item)
        case Known():
            complexes.scalar(reader.out, item)
            return item
    raise refusals.not_of("computes with", item, "array and no number")


def _typed(one: Read) -> infer.Operand:
    match one:
        case Known():
            return infer.Constant(one.value)
        case Number(type=kind) | Complex(type=kind) if kind.numpy:
            return ArrayType(kind.dtype, (), (), scalar=True)
        case Number(type=kind) | Complex(type=kind):
            return NumberType(kind.kind)
    assert isinstance(one, Part | Lazy | Rolled)
    return ArrayType(one.dtype, (), ())


def _as(reader: Reader, one: Read, kind: np.dtype) -> Operand:
    """An operand with a dtype."""
    if isinstance(one, Part | Lazy | Rolled):
        if one.dtype == kind:
            return one
        if one.dtype.kind == "c":
            raise NotNativeError("an array of complex numbers is converted")  # NumPy may warn
        return Lazy("cast", (one.dtype, kind), (one,), one.lengths)
    if kind == COMPLEX:
        return complex_operand(reader, one)
    number = conversions.number(reader.out, one)
    if kind not in ELEMENTS:
        raise NotNativeError(f"a number as an operand of {kind} is not compiled yet")
    if kind == np.float32 and not number.type.numpy:  # of an int by way of an array of ints
        conversions.doubt_inexact(reader.out, number)
    return Converted(conversions.as_element(reader.out, number, ELEMENTS[kind]), kind)


def complex_operand(reader: Reader, item: Item) -> Part:
    """A number as a complex one: an array of one element, which is the same along all axes."""
    one = complexes.whole(reader.out, item)
    fresh = statements.allocated(
        reader, COMPLEX, [Length(reader.out.constant(I64, 1), is_one=True)]
    )
    place = reader.out.constant(I64, 0)
    complexes.store(reader.out, reader.array(fresh.holder), (place,), one)
    return views.part(reader, fresh)


def _check_contiguous(reader: Reader, ufunc: np.ufunc, given: Sequence[Read]) -> None:
    """Refuse a loop whose bits depend on strides, unless NumPy's operands are vectors or new arrays."""
    for one in given:
        if isinstance(one, Part) and len(one.axes) > 1 and not _is_new(reader, one):
            raise NotNativeError(
                f"{ufunc.__name__} of arrays that may have gaps is not compiled yet"
            )


def _is_new(reader: Reader, one: Part) -> bool:
    """Whether it is the whole of a temporary."""
    if isinstance(one.holder, ArrayKind):
        return False
    whole = views.part(reader, Array(one.holder))
    return one == whole


def _broadcast(reader: Reader, operands: Sequence[Operand]) -> tuple[Length, ...]:
    """The common shape; a doubt where there is none, or one that only a length of 1 makes."""
    common: list[Length] = []
    for operand in operands:
        if isinstance(operand, Converted):
            continue
        lengths = list(operand.lengths)
        size = max(len(common), len(lengths))
        one = Length(reader.out.constant(I64, 1), is_one=True)
        common = [one] * (size - len(common)) + common
        lengths = [one] * (size - len(lengths)) + lengths
        common = [_fitting(reader, *pair) for pair in zip(common, lengths, strict=True)]
    if len(common) > MAP_AXES:
        raise NotNativeError(f"an expression has more than {MAP_AXES} axes")
    return tuple(common)


def _fitting(reader: Reader, one: Length, other: Length) -> Length:
    if one.is_one:
        return other
    if not other.is_one:
        doubt_unlike(reader.out, one.value, other.value)
    return one


def dtype(reader: Reader, item: Item) -> np.dtype:
    """The dtype of an array or an expression."""
    if isinstance(item, Array):
        return reader.dtype(item.holder)
    assert isinstance(item, Part | Lazy)
    return item.dtype


# Statements ------------------------------------------------------------------------------------------------------


def assign(reader: Reader, target: Part, item: Item | Converted) -> None:
    """`target[...] = item`."""
    one = item if isinstance(item, Converted) else stored(reader, item, target.dtype)
    if one == target:
        reader.writes(target.holder)  # nothing changes, but memory that is read-only refuses
        return
    if isinstance(one, Lazy) and _shape(one.lengths) != _shape(target.lengths):
        one = views.part(reader, computed(reader, one))  # it is repeated along an axis
    if not isinstance(one, Lazy):
        lengths = () if isinstance(one, Converted) else one.lengths
        one = Lazy("copy", (one.dtype, target.dtype), (one,), lengths)
    extra = len(one.lengths) - len(target.axes)
    if extra > 0 and not all(length.is_one for length in one.lengths[:extra]):
        raise NotNativeError("an array has too many axes to be stored")
    _write(reader, target, one)


def update(reader: Reader, operator: str, item: Array | Part, other: Item) -> None:
    """`item += other` and the like."""
    target = views.part(reader, item)
    update_with(reader, target, binary(reader, operator, target, other))


def update_with(reader: Reader, target: Part, one: Lazy) -> None:
    """Write the result of a ufunc into its argument `out`."""
    if len(one.lengths) != len(target.axes):
        raise NotNativeError("an array has too few axes for its new value")
    if not np.can_cast(one.dtype, target.dtype, "same_kind"):
        raise NotNativeError(f"{one.dtype} is stored into {target.dtype} in place")
    if ops.depends_on_operands(one.name, *one.dtypes):
        raise NotNativeError(f"{one.name} in place")
    for length, axis in zip(one.lengths, target.axes, strict=True):
        doubt_unlike(reader.out, length.value, axis.length.value)
    if ops.depends_on_strides(one.name, *one.dtypes) and len(one.inputs) > 1:
        _doubt_one_element(reader, target)
    reader.writes(target.holder)
    result = _as(reader, one, target.dtype)
    assert isinstance(result, Lazy)
    _write(reader, target, result)


def _doubt_one_element(reader: Reader, target: Part) -> None:
    """Leave a statement over one element to NumPy, which takes it for a reduction where it is in place."""
    out = reader.out
    lengths = [length.value for length in target.lengths]
    count = functools.reduce(functools.partial(out.op, "mul", I64), lengths)
    out.doubt_if(out.op("ilt", I1, count, out.constant(I64, 2)))


def stored(reader: Reader, item: Item, kind: np.dtype) -> Operand:
    """What is stored, with the dtype of the array: an unsafe cast where NumPy has one."""
    if is_array(item) or kind == COMPLEX:
        return _as(reader, _read(reader, item), kind)
    return _as(reader, conversions.number(reader.out, item), kind)


def _write(reader: Reader, target: Part, value: Lazy) -> None:
    lengths = value.lengths[max(0, len(value.lengths) - len(target.axes)) :]
    for length, axis in zip(lengths, target.axes[len(target.axes) - len(lengths) :], strict=True):
        if not length.is_one:
            doubt_unlike(reader.out, length.value, axis.length.value)
    settle(reader)
    emit(reader, target, value)


def emit(reader: Reader, target: Part, value: Lazy) -> None:
    """The statements that compute an expression and put it into an array."""
    if rolls.are_in(value):
        rolls.store(reader, target, value)
    else:
        statements.emit(reader, target, value)


# Temporaries -----------------------------------------------------------------------------------------------------


def computed(reader: Reader, item: ArrayItem) -> Array | Part:
    """An expression as an array that exists."""
    if not isinstance(item, Lazy):
        return item
    keep_orders(reader, item)
    fresh = statements.allocated(reader, item.dtype, item.lengths)
    whole = views.part(reader, fresh)
    emit(reader, whole, item)
    return whole if rolls.is_view(item) else fresh


def keep_orders(reader: Reader, item: Lazy) -> None:
    """The memory of a new array of several axes is in the order of its operands': only C's is followed."""
    if len(item.lengths) < 2:
        return
    for one in item.inputs:
        if isinstance(one, Lazy):
            keep_orders(reader, one)
        elif isinstance(one, Part | Rolled):
            reader.keep_order(one if isinstance(one, Part) else one.of, is_operand=True)


def is_turned(item: Lazy) -> bool:
    """Whether an expression is one of matrices and numbers, of which a matrix has its axes in reverse order."""
    if rolls.are_in(item):
        return False
    parts: dict[Part | Converted, int] = {}
    statements.collect(item, parts, [])
    matrices = [one for one in parts if isinstance(one, Part)]
    axes = [[axis.axis for axis in one.axes if not axis.length.is_one] for one in matrices]
    is_reversed = any(
        len(each) == 2 and None not in each and each[0] > each[1]  # type: ignore[operator]
        for each in axes
    )
    return is_reversed and all(len(one.axes) == 2 for one in matrices)


def turned(item: Lazy) -> Lazy:
    """The transpose of such an expression."""
    inputs = tuple(
        turned(one)
        if isinstance(one, Lazy)
        else replace(one, axes=one.axes[::-1], bound=None)
        if isinstance(one, Part)
        else one
        for one in item.inputs
    )
    return replace(item, inputs=inputs, lengths=item.lengths[::-1])


def settle(reader: Reader) -> None:
    """Compute what stands on the stack: what follows may change the arrays that it reads."""
    reader.stack[:] = [_settled(reader, item) for item in reader.stack]


def _settled(reader: Reader, item: Item) -> Item:
    match item:
        case Lazy():
            return computed(reader, item)
        case Items(items=items) if any(isinstance(one, Lazy | Items | Listed) for one in items):
            return Items(tuple(_settled(reader, one) for one in items))
        case Listed(items=items):
            return Listed(tuple(_settled(reader, one) for one in items), item.site)
    return item

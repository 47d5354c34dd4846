"""Rules for NumPy functions that make, reshape or choose arrays: which nodes each becomes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.arrays.computed import length_of
from ufuse.frame_hook.arrays.reductions import (
    array_argument,
    axes_argument,
    dtype_argument,
)
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import Positional, Rule, method, rule_for
from ufuse.frame_hook.objects.values import as_size, described, is_none
from ufuse.frame_hook.trace.draft import OneArray
from ufuse.frame_hook.trace.layouts import MOST_BYTES
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Array,
    Constant,
    List,
    Number,
    Slice,
    Symbol,
    Tuple,
)
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.ops import Op
from ufuse.graph.semantics.effects import why_not_converted
from ufuse.graph.size import Size, add, divide, multiply
from ufuse.graph.types import ArrayType, NumberType, Span, c_order
from ufuse.graph.typing import infer
from ufuse.graph.typing.shapes import canonical, is_c_like, is_f_like

NONE, ZERO, ONE = Constant(None), Constant(0), Constant(1)
FIRST_TWO = Tuple((ZERO, ONE))
MOST_SECTIONS = 64

# Creation --------------------------------------------------------------------------------------------------------


def shape_argument(interpreter: Interpreter, symbol: Symbol) -> tuple[Size, ...]:
    """A shape: a whole number or a sequence of them."""
    trace = interpreter.trace
    symbol = trace.look(symbol)
    parts = list(symbol.items) if isinstance(symbol, Tuple | List) else [symbol]
    shape = []
    for part in parts:
        looked_at = trace.look(part)
        expression = length_of(trace, looked_at)
        if expression is None or arrays.is_bool(looked_at):
            raise GraphBreak("numpy-call", f"a shape with {described(part)}")
        if trace.sizes.decide("lt", expression, 0):
            raise GraphBreak("eager-raises", "ValueError: negative dimensions are not allowed")
        shape.append(expression)
    return tuple(shape)


def _order_argument(interpreter: Interpreter, symbol: Symbol | None, ndim: int) -> tuple[int, ...]:
    order = None if symbol is None else arrays.plain(interpreter.trace, symbol)
    order = "C" if order is None else order
    if order not in ("C", "F"):
        raise GraphBreak("numpy-call", f"order={order!r}")
    return c_order(ndim) if order == "C" else tuple(reversed(range(ndim)))


def check_bytes(interpreter: Interpreter, shape: tuple[Size, ...], dtype: np.dtype) -> None:
    """Guard that an array is not too large for memory: NumPy raises MemoryError even if nothing reads the array."""
    count = arrays.total([dimension for dimension in shape if dimension != 0])
    if interpreter.trace.sizes.are_made(count):
        return  # none of these lengths is large, and what is made is made by NumPy
    if interpreter.trace.sizes.decide("gt", count, MOST_BYTES // dtype.itemsize):
        raise GraphBreak("eager-raises", "MemoryError: no memory for an array of that size")


def _created(
    interpreter: Interpreter,
    op: Op,
    shape: Symbol,
    dtype: Symbol | None,
    order: Symbol | None,
    device: Symbol | None,
    value: Symbol | None = None,
) -> Symbol:
    trace = interpreter.trace
    if device is not None and not is_none(trace.look(device)):
        raise GraphBreak("numpy-call", f"numpy.{op.name} with device=")
    sizes = shape_argument(interpreter, shape)
    kind = dtype_argument(interpreter, dtype)
    axes = _order_argument(interpreter, order, len(sizes))
    check_bytes(interpreter, sizes, np.dtype(np.float64) if kind is None else kind)
    inputs: tuple[Node, ...] = ()
    if value is not None:
        number = trace.look(value)
        if not arrays.is_number(number):
            raise GraphBreak("numpy-call", "numpy.full with an array")
        inputs = (arrays.node_of(trace, number),)
    elif kind is None:
        kind = np.dtype(np.float64)
    attributes = {"shape": sizes, "dtype": kind, "order": axes}
    node = trace.graph.node(op, inputs, attributes)
    arrays.assure_layout(trace, node.type)
    return trace.graph.fresh(node)


def _create(op: Op) -> Rule:
    def rule(
        interpreter: Interpreter,
        /,
        shape: Symbol,
        dtype: Symbol | None = None,
        order: Symbol | None = None,
        *,
        device: Symbol | None = None,
    ) -> Symbol:
        return _created(interpreter, op, shape, dtype, order, device)

    return rule


@rule_for(np.full)
def _full(
    interpreter: Interpreter,
    /,
    shape: Symbol,
    fill_value: Symbol,
    dtype: Symbol | None = None,
    order: Symbol | None = None,
    *,
    device: Symbol | None = None,
) -> Symbol:
    return _created(interpreter, ops.FULL, shape, dtype, order, device, fill_value)


def _created_like(
    interpreter: Interpreter,
    op: Op,
    a: Symbol,
    dtype: Symbol | None,
    value: Symbol | None = None,
    shape: Symbol | None = None,
) -> Symbol:
    like = array_argument(interpreter, a, f"numpy.{op.name}_like")
    # where axes are left out NumPy looks at the strides of those of length 1, too
    if not (like.type.contiguous or 1 not in like.type.shape):
        raise GraphBreak("layout", f"numpy.{op.name}_like of an array with unusual strides")
    try:
        copied = infer.result_type(ops.COPY, (like.type,), {})
    except infer.CannotInfer as refusal:
        raise GraphBreak("layout", f"numpy.{op.name}_like ({refusal})") from None
    assert isinstance(copied, ArrayType)
    kind = dtype_argument(interpreter, dtype) or like.type.dtype
    inputs = () if value is None else (arrays.node_of(interpreter.trace, value),)
    if inputs and _may_warn(inputs[0], kind):
        # It would in `numpy.full`, where plain Python warns in `numpy.full_like`.
        raise GraphBreak("numpy-call", "numpy.full_like with a value that may not fit")
    attributes: dict[str, Any] = {
        "shape": like.type.shape,
        "dtype": kind,
        "order": canonical(copied).order,
    }
    if shape is not None and not is_none(interpreter.trace.look(shape)):
        if attributes["order"] != c_order(like.type.ndim):
            raise GraphBreak("layout", f"numpy.{op.name}_like of this array, with a shape")
        sizes = shape_argument(interpreter, shape)
        attributes.update(shape=sizes, order=c_order(len(sizes)))
        check_bytes(interpreter, sizes, kind)
    return interpreter.trace.graph.fresh(interpreter.trace.graph.node(op, inputs, attributes))


def _may_warn(value: Node, dtype: np.dtype) -> bool:
    """Whether NumPy may warn where it fills an array with a value; of a whole number that does not fit it raises."""
    is_whole = isinstance(value.type, NumberType) and value.type.kind == "int"
    if is_whole and dtype.char not in "efF":
        return False
    return why_not_converted(value, dtype) is not None


def _create_like(op: Op) -> Rule:
    def rule(
        interpreter: Interpreter,
        a: Symbol,
        /,
        dtype: Symbol | None = None,
        *,
        shape: Symbol | None = None,
    ) -> Symbol:
        return _created_like(interpreter, op, a, dtype, shape=shape)

    return rule


@rule_for(np.full_like)
def _full_like(
    interpreter: Interpreter, /, a: Symbol, fill_value: Symbol, dtype: Symbol | None = None
) -> Symbol:
    return _created_like(interpreter, ops.FULL, a, dtype, fill_value)


for _op in (ops.EMPTY, ops.ZEROS, ops.ONES):
    rule_for(getattr(np, _op.name))(_create(_op))
    rule_for(getattr(np, f"{_op.name}_like"))(_create_like(_op))


@rule_for(np.ndarray)
def _ndarray(
    interpreter: Interpreter,
    /,
    shape: Symbol,
    dtype: Symbol | None = None,
    *,
    order: Symbol | None = None,
) -> Symbol:
    return _created(interpreter, ops.EMPTY, shape, dtype, order, None)


def _is_real(symbol: Symbol) -> bool:
    """Whether it is a number with a fraction that is known only when the program runs."""
    type_ = symbol.node.type if isinstance(symbol, Number) else None
    if isinstance(type_, NumberType):
        return type_.kind == "float"
    return isinstance(type_, ArrayType) and type_.scalar and type_.dtype.kind == "f"


@rule_for(np.arange)
def _arange(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    trace = interpreter.trace
    if len(arguments) == 1 and isinstance(end := trace.look(arguments[0]), Number):
        type_ = end.node.type
        if isinstance(type_, NumberType) or type_ == ArrayType(np.dtype(int), (), (), scalar=True):
            length = length_of(trace, end)
            if str(length) in trace.graph.long:
                node = trace.graph.long[str(length)]
                arguments = (Number(node) if isinstance(node.type, NumberType) else end,)
    result = arrays.call_whole(
        trace,
        "numpy.arange",
        arguments,
        keywords,
        may_raise=True,
        makes=any(map(_is_real, map(trace.look, arguments))),
    )
    if isinstance(result, Array) and not trace.sizes.decide("ge", result.type.shape[0], 0):
        raise GraphBreak("numpy-call", "numpy.arange that ends before it begins")
    return result


# Parts -----------------------------------------------------------------------------------------------------------


@rule_for(np.array_split)
def _array_split(
    interpreter: Interpreter, /, ary: Symbol, indices_or_sections: Symbol, axis: Symbol = ZERO
) -> Symbol:
    """Views of so many sections of about equal length; where each begins is worked out on sizes."""
    trace = interpreter.trace
    array = trace.look(ary)
    number, along = (arrays.known_int(trace.look(one)) for one in (indices_or_sections, axis))
    if not isinstance(array, Array) or number is None or along is None:
        implementation = Constant(np.array_split._implementation)  # type: ignore[attr-defined]
        return interpreter.call(implementation, (ary, indices_or_sections, axis))
    if not (0 < number <= MOST_SECTIONS and -array.type.ndim <= along < array.type.ndim):
        raise GraphBreak(
            "numpy-call", "numpy.array_split into so many sections, or of no such axis"
        )
    along %= array.type.ndim
    length = array.type.shape[along]
    each = divide("//", length, number)
    longer = trace.sizes.fixed(add(length, multiply(each, -number)))
    bounds: list[Size] = [0]
    for section in range(number):
        bounds.append(add(bounds[-1], add(each, int(section < longer))))
    sections: list[Symbol] = []
    for begin, end in pairwise(bounds):
        part = Slice(arrays.integer(trace, begin), arrays.integer(trace, end), NONE)
        key = Tuple((*[indexing.WHOLE_AXIS] * along, part))
        sections.append(indexing.item(trace, array, key))
    return List(sections)


# Shape -----------------------------------------------------------------------------------------------------------


@rule_for(np.reshape)
def _reshape(
    interpreter: Interpreter, a: Symbol, /, shape: Symbol, order: Symbol | None = None
) -> Symbol:
    return _reshaped(interpreter, a, [shape], order)


@method("reshape")
def _reshape_method(
    interpreter: Interpreter, a: Symbol, /, *shape: Symbol, order: Symbol | None = None
) -> Symbol:
    return _reshaped(interpreter, a, shape, order)


def _reshaped(
    interpreter: Interpreter, a: Symbol, shape: Positional, order: Symbol | None
) -> Symbol:
    named = "C" if order is None else arrays.plain(interpreter.trace, order)
    if named not in ("C", "F"):
        raise GraphBreak("numpy-call", "reshape with another order")
    array = array_argument(interpreter, a, "reshape")
    sizes = [interpreter.trace.look(size) for size in shape]
    if len(sizes) == 1 and isinstance(sizes[0], Tuple | List):
        sizes = list(sizes[0].items)
    if named == "C":
        return arrays.reshape(interpreter.trace, array, sizes)
    if not is_f_like(array.type):  # and else NumPy makes a copy, of which the result is a view
        raise GraphBreak("numpy-call", "reshape of this array with another order")
    backwards = arrays.reshape(interpreter.trace, _reversed(interpreter, array), sizes[::-1])
    return _reversed(interpreter, backwards)


def _reversed(interpreter: Interpreter, symbol: Symbol) -> Array:
    """A view with the axes in the opposite order."""
    assert isinstance(symbol, Array)
    return arrays.transpose(interpreter.trace, symbol, tuple(reversed(range(symbol.type.ndim))))


@rule_for(np.ravel)
@method("ravel")
def _ravel(interpreter: Interpreter, /, a: Symbol, order: Symbol | None = None) -> Symbol:
    value, trace = interpreter.trace.look(a), interpreter.trace
    if not isinstance(value, Array):
        value = interpreter.call(Constant(np.asarray), (value,))
    array = array_argument(interpreter, value, "ravel")
    named = "C" if order is None else arrays.plain(trace, order)
    if named == "K" and is_f_like(array.type) and not is_c_like(array.type):
        named = "F"
    if named not in ("C", "F") and not (named == "K" and is_c_like(array.type)):
        raise GraphBreak("numpy-call", "ravel with another order")
    return arrays.ravel(trace, _reversed(interpreter, array) if named == "F" else array)


@method("transpose")
def _transpose_method(interpreter: Interpreter, a: Symbol, /, *axes: Symbol) -> Symbol:
    return _transposed(interpreter, a, Tuple(axes) if len(axes) > 1 else axes[0] if axes else NONE)


@rule_for(np.transpose)
def _transpose(interpreter: Interpreter, /, a: Symbol, axes: Symbol = NONE) -> Symbol:
    return _transposed(interpreter, a, axes)


def _transposed(interpreter: Interpreter, symbol: Symbol, axes: Symbol) -> Symbol:
    array = array_argument(interpreter, symbol, "transpose")
    axes = interpreter.trace.look(axes)
    if is_none(axes):
        order = tuple(reversed(range(array.type.ndim)))
        return arrays.transpose(interpreter.trace, array, order)
    items = axes.items if isinstance(axes, Tuple | List) else (axes,)
    values = tuple(arrays.plain(interpreter.trace, item) for item in items)
    normal = axes_argument(interpreter, Constant(values), array.type.ndim)
    if normal is None or len(normal) != array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: axes don't match array")
    return arrays.transpose(interpreter.trace, array, normal)


@rule_for(np.swapaxes)
def _swapaxes(interpreter: Interpreter, /, a: Symbol, axis1: Symbol, axis2: Symbol) -> Symbol:
    array = array_argument(interpreter, a, "swapaxes")
    pair = [arrays.plain(interpreter.trace, axis) for axis in (axis1, axis2)]
    order = list(range(array.type.ndim))
    if not all(type(axis) is int and -len(order) <= axis < len(order) for axis in pair):
        raise GraphBreak("eager-raises", "AxisError: axis is out of bounds")
    first, second = (axis % len(order) for axis in pair)
    order[first], order[second] = order[second], order[first]
    return arrays.transpose(interpreter.trace, array, tuple(order))


@method("swapaxes")
def _swapaxes_method(
    interpreter: Interpreter, a: Symbol, axis1: Symbol, axis2: Symbol, /
) -> Symbol:
    return _swapaxes(interpreter, a, axis1, axis2)


@rule_for(np.rot90)
def _rotated(
    interpreter: Interpreter, /, m: Symbol, k: Symbol = ONE, axes: Symbol = FIRST_TWO
) -> Symbol:
    """`np.rot90`: NumPy works out the order of axes in an array."""
    array = array_argument(interpreter, m, "numpy.rot90")
    turns = arrays.known_int(interpreter.trace.look(k))
    pair = axes_argument(interpreter, axes, array.type.ndim)
    if turns is None or pair is None or len(pair) != 2:
        raise GraphBreak("numpy-call", "numpy.rot90 with these arguments")
    order = list(range(array.type.ndim))
    order[pair[0]], order[pair[1]] = pair[1], pair[0]
    match turns % 4:
        case 0:
            return _flipped(interpreter, array, ())
        case 2:
            return _flipped(interpreter, _flipped(interpreter, array, pair[:1]), pair[1:])
        case 1:
            flipped = _flipped(interpreter, array, pair[1:])
            return arrays.transpose(interpreter.trace, flipped, tuple(order))
    turned = arrays.transpose(interpreter.trace, array, tuple(order))
    return _flipped(interpreter, turned, pair[1:])


def _flipped(interpreter: Interpreter, array: Array, axes: tuple[int, ...]) -> Array:
    """A view with the elements along some axes in the other order."""
    whole, back = indexing.WHOLE_AXIS, Slice(NONE, NONE, Constant(-1))
    key = Tuple(tuple(back if axis in axes else whole for axis in range(array.type.ndim)))
    view = indexing.item(interpreter.trace, array, key)
    assert isinstance(view, Array)
    return view


@method("diagonal")
def _diagonal(
    interpreter: Interpreter,
    a: Symbol,
    /,
    offset: Symbol = ZERO,
    axis1: Symbol = ZERO,
    axis2: Symbol = ONE,
) -> Symbol:
    """`a.diagonal()`: a view that is not written through."""
    array = array_argument(interpreter, a, "diagonal")
    axes = Tuple((axis1, axis2))
    return diagonal_of(interpreter, array, offset, axes, "numpy.ndarray.diagonal")


def diagonal_of(
    interpreter: Interpreter, array: OneArray, offset: Symbol, axes: Tuple, name: str
) -> OneArray:
    """The view of a diagonal, of NumPy's arrays or CuPy's; `name` is what was called."""
    decide = interpreter.trace.sizes.decide
    shift = arrays.known_int(interpreter.trace.look(offset))
    pair = axes_argument(interpreter, axes, array.type.ndim)
    if shift is None or pair is None or array.type.ndim < 2:
        raise GraphBreak("numpy-call", f"{name} with these arguments")
    rows, columns = (array.type.shape[axis] for axis in pair)
    rows, columns = add(rows, min(shift, 0)), add(columns, -max(shift, 0))
    length = rows if decide("le", rows, columns) else columns
    if decide("le", length, 0):
        raise GraphBreak("numpy-call", "a diagonal without elements")
    if decide("eq", length, 1):
        length = 1
    attributes = {"offset": shift, "axes": pair, "length": length}
    return interpreter.trace.graph.view(array, ops.DIAGONAL, attributes)


@rule_for(np.lib.stride_tricks.sliding_window_view)
def _windows_of(
    interpreter: Interpreter, /, x: Symbol, window_shape: Symbol, axis: Symbol = NONE
) -> Symbol:
    """`sliding_window_view(x, window_shape)`: a view that is not written through, where there are several windows."""
    trace = interpreter.trace
    array = array_argument(interpreter, x, "sliding_window_view")
    given = trace.look(window_shape)
    parts = given.items if isinstance(given, Tuple | List) else (given,)
    widths = [as_size(trace.look(one)) for one in parts]
    is_all = is_none(trace.look(axis))
    axes = (
        tuple(range(array.type.ndim))
        if is_all
        else axes_argument(interpreter, axis, array.type.ndim)
    )
    if axes is None or len(axes) != len(widths):
        raise GraphBreak("numpy-call", "sliding_window_view with these arguments")
    for along, width in zip(axes, widths, strict=True):
        length = array.type.shape[along]
        if (
            width is None
            or trace.sizes.decide("lt", width, 2)
            or trace.sizes.decide("le", length, width)
        ):
            raise GraphBreak(
                "numpy-call", "sliding_window_view with one window, or of such a width"
            )
    return trace.graph.view(array, ops.WINDOWS, {"widths": tuple(widths), "axes": axes})


@method("view")
def _view(
    interpreter: Interpreter,
    a: Symbol,
    /,
    dtype: Symbol | None = None,
    type: Symbol | None = None,  # noqa: A002  NumPy's name
) -> Symbol:
    """`a.view(dtype)`, where elements keep their size, or are several in the place of one."""
    array = array_argument(interpreter, a, "view")
    found = array.type.dtype if dtype is None else dtype_argument(interpreter, dtype)
    if type is not None or found is None:
        raise GraphBreak("numpy-call", "numpy.ndarray.view with these arguments")
    return interpreter.trace.graph.view(array, ops.RETYPE, {"dtype": found})


@method("squeeze")
def _squeeze(interpreter: Interpreter, a: Symbol, /, axis: Symbol | None = None) -> Symbol:
    """`a.squeeze()`: a view without axes of length 1; the array itself where it has none of these."""
    array = array_argument(interpreter, a, "squeeze")
    shape, is_one = array.type.shape, interpreter.trace.sizes.is_one
    if axis is None or is_none(interpreter.trace.look(axis)):
        gone = {place for place, length in enumerate(shape) if is_one(length)}
    else:
        gone = set(axes_argument(interpreter, axis, array.type.ndim) or ())
        if not all(is_one(shape[place]) for place in gone):
            raise GraphBreak("eager-raises", "ValueError: cannot squeeze an axis that is no 1")
    if not gone:
        return array
    entries = tuple(0 if i in gone else Span(0, length) for i, length in enumerate(shape))
    return interpreter.trace.graph.view(array, ops.INDEX, {"index": entries})


@rule_for(np.broadcast_shapes)
def _broadcast_shapes(interpreter: Interpreter, *shapes: Symbol) -> Symbol:
    given = [shape_argument(interpreter, one) for one in shapes]
    try:
        common = infer.broadcast(given, interpreter.trace.sizes)
    except infer.CannotInfer as refusal:
        raise GraphBreak("eager-raises", f"ValueError: {refusal}") from None
    return Tuple(tuple(arrays.integer(interpreter.trace, length) for length in common))


def _asking(name: str) -> Rule:
    def rule(interpreter: Interpreter, /, a: Symbol) -> Symbol:
        value = interpreter.trace.look(a)
        if arrays.is_number(value):
            return Tuple(()) if name == "shape" else Constant(0)
        if isinstance(value, List | Tuple):
            value = interpreter.call(Constant(np.asarray), (value,))
        array = array_argument(interpreter, value, f"numpy.{name}")
        return arrays.array_attribute(interpreter.trace, array, name)

    return rule


rule_for(np.shape)(_asking("shape"))
rule_for(np.ndim)(_asking("ndim"))


@rule_for(np.copyto)
def _copyto(
    interpreter: Interpreter,
    dst: Symbol,
    src: Symbol,
    /,
    casting: Symbol | None = None,
    where: Symbol | None = None,
) -> Symbol:
    trace = interpreter.trace
    target, value = array_argument(interpreter, dst, "numpy.copyto"), trace.look(src)
    mask = NONE if where is None else trace.look(where)
    if casting is not None and arrays.plain(trace, casting) != "same_kind":
        raise GraphBreak("numpy-call", "numpy.copyto with another casting")
    if isinstance(mask, Array) and mask.type.dtype.kind == "b":
        indexing.store_chosen(trace, target, mask, value)
        return NONE
    if where is not None and not (isinstance(mask, Constant) and mask.value is True):
        raise GraphBreak("numpy-call", "numpy.copyto with such a where=")
    is_cast = isinstance(value, Array) and np.can_cast(
        value.type.dtype, target.type.dtype, "same_kind"
    )
    if not is_cast and not indexing.goes_into(trace, value, target.type.dtype):
        raise GraphBreak("numpy-call", "numpy.copyto of such values")
    indexing.store_into(trace, target, value)
    return NONE

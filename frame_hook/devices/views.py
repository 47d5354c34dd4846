"""Views of CuPy's arrays: axes in another order, new ones, parts, and elements that are repeated."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

import numpy as np

from ufuse.frame_hook.arrays import arrays, flags
from ufuse.frame_hook.arrays.indexing import WHOLE_AXIS
from ufuse.frame_hook.arrays.making import diagonal_of, shape_argument
from ufuse.frame_hook.arrays.reductions import dtype_argument
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices.rules import array_argument, function, known, method
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    DeviceArray,
    Dict,
    Instance,
    List,
    Slice,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.size import Size
from ufuse.graph.typing.library import cupy, is_made_by_call
from ufuse.graph.typing.shapes import is_c_like

NONE, ZERO, ONE = Constant(None), Constant(0), Constant(1)
MOST_SECTIONS = 64


def normal_axis(value: object, ndim: int) -> int:
    """An axis, counted from the front."""
    try:
        axis = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise GraphBreak("eager-raises", "TypeError: an axis is a whole number") from None
    if type(value) is bool or not -ndim <= axis < ndim:
        raise GraphBreak("eager-raises", "AxisError: axis is out of bounds")
    return axis % ndim


def _axes(value: object, ndim: int) -> tuple[int, ...]:
    """Axes that are given as one or several, each once."""
    several = value if isinstance(value, tuple | list) else (value,)
    axes = tuple(normal_axis(one, ndim) for one in several)
    if len(set(axes)) != len(axes):
        raise GraphBreak("eager-raises", "ValueError: repeated axis")
    return axes


@function("_core.internal._normalize_axis_index")
def _normalize_axis_index(interpreter: Interpreter, /, axis: Symbol, ndim: Symbol) -> Symbol:
    count = known(interpreter.trace, ndim)
    return Constant(normal_axis(known(interpreter.trace, axis), count))


@function("_core.internal._normalize_axis_indices")
def _normalize_axis_indices(
    interpreter: Interpreter, /, axes: Symbol, ndim: Symbol, sort_axes: Symbol | None = None
) -> Symbol:
    trace = interpreter.trace
    count, given = known(trace, ndim), known(trace, axes)
    if given is None:
        return Constant(tuple(range(count)))
    found = _axes(given, count)
    return Constant(tuple(sorted(found)) if known(trace, sort_axes, default=True) else found)


def _transposed(trace: Trace, array: DeviceArray, axes: Sequence[int]) -> DeviceArray:
    return trace.graph.view(array, ops.TRANSPOSE, {"axes": tuple(axes)})


@method("transpose")
def _transpose(interpreter: Interpreter, a: Symbol, /, *axes: Symbol) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "transpose")
    items = [trace.look(axis) for axis in axes]
    if len(items) == 1 and isinstance(items[0], Tuple | List):
        items = list(items[0].items)
    values = tuple(arrays.plain(trace, item) for item in items)
    if values in ((), (None,)):
        return _transposed(trace, array, range(array.type.ndim - 1, -1, -1))
    if len(values) == 1 and isinstance(values[0], tuple):
        (values,) = values
    order = _axes(values, array.type.ndim)
    if len(order) != array.type.ndim:
        raise GraphBreak("eager-raises", "ValueError: axes don't match array")
    return _transposed(trace, array, order)


@method("swapaxes")
def _swapaxes(interpreter: Interpreter, a: Symbol, /, axis1: Symbol, axis2: Symbol) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "swapaxes")
    one, two = (normal_axis(known(trace, axis), array.type.ndim) for axis in (axis1, axis2))
    axes = list(range(array.type.ndim))
    axes[one], axes[two] = axes[two], axes[one]
    return _transposed(trace, array, axes)


@function("_core._routines_manipulation.moveaxis")
def _moveaxis(
    interpreter: Interpreter, /, a: Symbol, source: Symbol, destination: Symbol
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "moveaxis")
    ndim = array.type.ndim
    sources, places = (_axes(known(trace, one), ndim) for one in (source, destination))
    if len(sources) != len(places):
        raise GraphBreak("eager-raises", "ValueError: as many sources as destinations")
    axes = [axis for axis in range(ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        axes.insert(place, axis)
    return _transposed(trace, array, axes)


@function("_core._routines_manipulation._move_single_axis")
def _move_single_axis(
    interpreter: Interpreter, /, a: Symbol, source: Symbol, destination: Symbol
) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "moveaxis")
    given = (known(trace, one) for one in (source, destination))
    one, other = (normal_axis(axis, array.type.ndim) for axis in given)
    if one == other:
        return array
    axes = [axis for axis in range(array.type.ndim) if axis != one]
    axes.insert(other, one)
    return _transposed(trace, array, axes)


@function("_core._routines_manipulation.rollaxis")
def _rollaxis(interpreter: Interpreter, /, a: Symbol, axis: Symbol, start: Symbol = ZERO) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "rollaxis")
    ndim = array.type.ndim
    one, place = normal_axis(known(trace, axis), ndim), known(trace, start)
    if type(place) is not int or not -ndim <= place <= ndim:
        raise GraphBreak("eager-raises", "ValueError: Axis out of range")
    place += ndim * (place < 0)
    place -= one < place
    if one == place:
        return array
    axes = [other for other in range(ndim) if other != one]
    axes.insert(place, one)
    return _transposed(trace, array, axes)


@function("_core._routines_manipulation._expand_dims")
def _expand_dims(interpreter: Interpreter, /, a: Symbol, axis: Symbol) -> Symbol:
    """CuPy's is a `reshape`: strides of new axes are not those of `a[None]`."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "expand_dims")
    given = known(trace, axis)
    new = _axes(given, array.type.ndim + len(given))
    lengths = iter(array.type.shape)
    shape = [1 if k in new else next(lengths) for k in range(array.type.ndim + len(new))]
    return arrays.reshape(trace, array, [arrays.integer(trace, length) for length in shape])


@method("squeeze")
def _squeeze(interpreter: Interpreter, a: Symbol, /, axis: Symbol = NONE) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "squeeze")
    given, ndim = known(trace, axis), array.type.ndim
    alone = [trace.sizes.decide("eq", length, 1) for length in array.type.shape]
    if given is None:
        gone = {k for k in range(ndim) if alone[k]}
    elif not ndim and given in (0, -1):
        return array
    else:
        gone = set(_axes(given, ndim))
        if not all(alone[k] for k in gone):
            raise GraphBreak(
                "eager-raises", "ValueError: an axis to squeeze out is longer than one"
            )
    if not gone:
        return array
    key = Tuple(tuple(ZERO if k in gone else WHOLE_AXIS for k in range(ndim)))
    return devices.item(trace, array, key)


@method("diagonal")
def _diagonal(
    interpreter: Interpreter,
    a: Symbol,
    /,
    offset: Symbol = ZERO,
    axis1: Symbol = ZERO,
    axis2: Symbol = ONE,
) -> Symbol:
    array = array_argument(interpreter, a, "diagonal")
    axes = Tuple((axis1, axis2))
    return diagonal_of(interpreter, array, offset, axes, "cupy.ndarray.diagonal")


@method("view")
def _view(interpreter: Interpreter, a: Symbol, /, dtype: Symbol = NONE) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "view")
    found = dtype_argument(interpreter, dtype)
    if found is None:
        spans = Tuple(tuple(WHOLE_AXIS for _ in array.type.shape))
        return devices.item(trace, array, spans)
    return trace.graph.view(array, ops.RETYPE, {"dtype": found})


@function("_core._routines_manipulation.broadcast_to")
def _broadcast_to(interpreter: Interpreter, /, array: Symbol, shape: Symbol) -> Symbol:
    found = array_argument(interpreter, array, "broadcast_to")
    return spread(interpreter.trace, found, shape_argument(interpreter, shape))


def spread(trace: Trace, array: DeviceArray, shape: tuple[Size, ...]) -> DeviceArray:
    """`cupy.broadcast_to(array, shape)`: a view, also where the shape is the array's own."""
    missing = len(shape) - array.type.ndim
    if missing < 0:
        raise GraphBreak("eager-raises", "ValueError: the array has more axes than the shape")
    for own, wanted in zip(array.type.shape, shape[missing:], strict=True):
        if not trace.sizes.equal(own, wanted) and not trace.sizes.decide("eq", own, 1):
            raise GraphBreak("eager-raises", "ValueError: operands could not be broadcast together")
    return trace.graph.view(array, ops.BROADCAST, {"shape": shape})


@function("broadcast_arrays")
def _broadcast_arrays(interpreter: Interpreter, /, *args: Symbol) -> Symbol:
    """Views of one shape; numbers among arrays stay numbers."""
    trace = interpreter.trace
    looked = [trace.look(one) for one in args]
    given = [one for one in looked if isinstance(one, DeviceArray)]
    if not given or not all(
        isinstance(one, DeviceArray) or arrays.is_number(one) for one in looked
    ):
        raise GraphBreak("numpy-call", "cupy.broadcast_arrays of what are no arrays of CuPy's")
    shape = joint_shape(trace, given)
    return Tuple(
        tuple(spread(trace, one, shape) if isinstance(one, DeviceArray) else one for one in looked)
    )


OF_BROADCAST = ("shape", "nd", "size")


def broadcast_of(
    trace: Trace, arguments: Sequence[Symbol], keywords: Mapping[str, Symbol]
) -> Instance:
    """What `cupy.broadcast` makes, an object that knows the joint shape of arrays."""
    looked = [trace.look(one) for one in arguments]
    given = [one for one in looked if isinstance(one, DeviceArray)]
    if keywords or not given or len(given) < len(looked):
        raise GraphBreak("numpy-call", "cupy.broadcast of what are no arrays of CuPy's")
    joint_shape(trace, given)
    return Instance(cupy().module.broadcast, content=Tuple((Tuple(tuple(looked)), Dict({}))))


def is_broadcast(symbol: Instance) -> bool:
    """Whether the graph has made this object by such a call."""
    is_made = symbol.source is None and is_made_by_call(symbol.kind)
    return is_made and symbol.kind.__name__ == "broadcast"


def broadcast_attribute(trace: Trace, symbol: Instance, name: str) -> Symbol:
    """The joint shape, its number of axes, or of elements."""
    assert isinstance(symbol.content, Tuple)
    given = symbol.content.items[0]
    assert isinstance(given, Tuple)
    shape = joint_shape(trace, [one for one in given.items if isinstance(one, DeviceArray)])
    if name == "shape":
        return Tuple(tuple(arrays.integer(trace, length) for length in shape))
    return Constant(len(shape)) if name == "nd" else arrays.integer(trace, arrays.total(shape))


def joint_shape(trace: Trace, given: Sequence[DeviceArray]) -> tuple[Size, ...]:
    """The shape to which arrays are broadcast."""
    shape: list[Size] = [1] * max((one.type.ndim for one in given), default=0)
    for one in given:
        for place, length in enumerate(reversed(one.type.shape), 1):
            if trace.sizes.decide("eq", length, 1):
                continue
            if not trace.sizes.decide("eq", shape[-place], 1):
                if not trace.sizes.equal(shape[-place], length):
                    raise GraphBreak("eager-raises", "ValueError: arrays of other shapes")
            shape[-place] = length
    return tuple(shape)


@function("_core._routines_manipulation.array_split")
def _array_split(
    interpreter: Interpreter, /, ary: Symbol, indices_or_sections: Symbol, axis: Symbol
) -> Symbol:
    """A list of views along an axis whose length is the same in all calls."""
    trace, array = interpreter.trace, array_argument(interpreter, ary, "array_split")
    place = normal_axis(known(trace, axis), array.type.ndim)
    cuts = known(trace, indices_or_sections)
    length = trace.sizes.fixed(array.type.shape[place])
    if isinstance(cuts, int | np.integer):
        if not 0 < cuts <= MOST_SECTIONS:
            raise GraphBreak("numpy-call", f"cupy.array_split into {cuts} sections")
        each, larger = divmod(length - 1, int(cuts))
        ends = [k * each + min(k, larger + 1) for k in range(1, int(cuts))]
    elif isinstance(cuts, tuple | list) and all(type(cut) is int for cut in cuts):
        ends = [cut if cut >= 0 else length + cut for cut in cuts]
    else:
        raise GraphBreak("numpy-call", "cupy.array_split at these places")
    if not ends:
        return List([array])
    if len(ends) >= MOST_SECTIONS or min(ends) < 0:
        raise GraphBreak("numpy-call", "cupy.array_split at these places")
    starts = [0, *(min(end, length) for end in ends)]
    stops = [*starts[1:], length]
    whole = [WHOLE_AXIS] * array.type.ndim
    parts: list[Symbol] = []
    for start, stop in zip(starts, stops, strict=True):
        whole[place] = Slice(Constant(start), Constant(max(start, stop)), NONE)
        parts.append(devices.item(trace, array, Tuple(tuple(whole))))
    return List(parts)


@method("ravel")
def _ravel(interpreter: Interpreter, a: Symbol, /, order: Symbol | None = None) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ravel")
    if known(trace, order, "C") != "C":
        raise GraphBreak("layout", "cupy.ndarray.ravel in another order")
    if is_c_like(array.type):
        count = arrays.integer(trace, arrays.total(array.type.shape))
        return arrays.reshape(trace, array, (count,))
    flags.lies_so(trace, array, "C", "cupy.ndarray.ravel")  # it is known not to
    return arrays.reshaped_copy(trace, array, (arrays.total(array.type.shape),), "ravel")


@method("flatten")
def _flatten(interpreter: Interpreter, a: Symbol, /, order: Symbol | None = None) -> Symbol:
    """New memory in C order."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "flatten")
    if known(trace, order, "C") != "C":
        raise GraphBreak("layout", "cupy.ndarray.flatten in another order")
    return arrays.reshaped_copy(trace, array, (arrays.total(array.type.shape),), "flatten")

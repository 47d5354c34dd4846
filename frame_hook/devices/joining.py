"""CuPy's arrays that are made of others: joined, rolled, or of nested lists."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.indexing import WHOLE_AXIS
from ufuse.frame_hook.arrays.reductions import dtype_argument
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices.methods import copied, new
from ufuse.frame_hook.devices.rules import array_argument, function, known
from ufuse.frame_hook.devices.views import normal_axis
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, DeviceArray, List, Slice, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.size import Size, add
from ufuse.graph.types import Span
from ufuse.graph.typing.library import cupy
from ufuse.graph.typing.shapes import is_c_like

NONE = Constant(None)
MOST_JOINED = 8  # arrays that CuPy copies one by one; more may be copied in one kernel


@function("_core._fusion_thread_local.is_fusing")
def _is_fusing(interpreter: Interpreter, /) -> Symbol:
    """No graph runs where `cupy.fuse` traces: arguments are no arrays there."""
    return Constant(False)


@function("_core.internal.prod")
def _prod(interpreter: Interpreter, /, args: Symbol) -> Symbol:
    """`cupy._core.internal.prod`, of whole numbers."""
    trace = interpreter.trace
    read = trace.look(args)
    if not isinstance(read, Tuple | List):
        raise GraphBreak("call", "cupy._core.internal.prod of what is no sequence")
    sizes = [arrays.size_or_none(trace, one) for one in read.items]
    return arrays.integer(trace, arrays.total([1 if one is None else one for one in sizes]))


@function("_core._routines_manipulation.concatenate_method")
def _concatenate(
    interpreter: Interpreter,
    /,
    tup: Symbol,
    axis: Symbol,
    out: Symbol = NONE,
    dtype: Symbol = NONE,
    casting: Symbol | None = None,
) -> Symbol:
    """Each array is copied to its place, by the kernel that computes it."""
    trace = interpreter.trace
    read = trace.look(tup)
    if not isinstance(read, Tuple | List) or not read.items:
        raise GraphBreak("numpy-call", "cupy.concatenate of what is no sequence of arrays")
    given = [array_argument(interpreter, one, "concatenate") for one in read.items]
    if len(given) > MOST_JOINED or known(trace, out) is not None:
        raise GraphBreak("numpy-call", "cupy.concatenate with out=, or of many arrays")
    ndim = given[0].type.ndim
    if not ndim or any(one.type.ndim != ndim for one in given):
        raise GraphBreak("eager-raises", "ValueError: arrays of other numbers of axes")
    place = normal_axis(known(trace, axis), ndim)
    kind = dtype_argument(interpreter, dtype)
    kind = kind or reduce(np.promote_types, [one.type.dtype for one in given])
    rule = known(trace, casting, "same_kind")
    if not all(np.can_cast(one.type.dtype, kind, rule) for one in given):
        raise GraphBreak("eager-raises", "TypeError: a cast that the rule does not allow")
    shape, starts = _joined(trace, given, place)
    made = new(interpreter, "empty", shape, kind)
    for one, start in zip(given, starts, strict=True):
        spans = [Span(0, length) for length in shape]
        spans[place] = Span(start, one.type.shape[place])
        target = trace.graph.view(made, ops.INDEX, {"index": tuple(spans)})
        devices.assign(trace, target, one)
    return made


def _joined(
    trace: Trace, given: list[DeviceArray], place: int
) -> tuple[tuple[Size, ...], list[Size]]:
    """The shape of arrays that are joined along an axis, and where each begins."""
    first, end = given[0].type.shape, given[0].type.shape[place]
    starts: list[Size] = [0]
    for one in given[1:]:
        for axis, (length, own) in enumerate(zip(first, one.type.shape, strict=True)):
            if axis != place and not trace.sizes.equal(length, own):
                raise GraphBreak("eager-raises", "ValueError: arrays of other lengths")
        starts.append(end)
        end = add(end, one.type.shape[place])
    return (*first[:place], end, *first[place + 1 :]), starts


@function("roll")
def _roll(interpreter: Interpreter, /, a: Symbol, shift: Symbol, axis: Symbol = NONE) -> Symbol:
    """New memory to which the parts of an array are copied, as CuPy does it."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "roll")
    if known(trace, axis) is None:
        flat = arrays.reshape(trace, array, (Constant(-1),))
        assert isinstance(flat, DeviceArray)
        rolled = _rolled(interpreter, flat, {0: known(trace, shift)})
        shape = [arrays.integer(trace, length) for length in array.type.shape]
        return arrays.reshape(trace, rolled, shape)
    axes, shifts = known(trace, axis), known(trace, shift)
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    shifts = shifts if isinstance(shifts, tuple | list) else (shifts,) * len(axes)
    if len(shifts) != len(axes) or not all(type(step) in (int, bool) for step in shifts):
        raise GraphBreak("numpy-call", "cupy.roll by such shifts")
    by: dict[int, Any] = {}
    for one, step in zip(axes, shifts, strict=True):
        place = normal_axis(one, array.type.ndim)
        by[place] = by.get(place, 0) + step
    return _rolled(interpreter, array, by)


def _rolled(interpreter: Interpreter, array: DeviceArray, by: dict[int, Any]) -> DeviceArray:
    trace = interpreter.trace
    if not is_c_like(array.type):
        raise GraphBreak("layout", "cupy.roll of an array that is not in C order")
    parts: list[list[tuple[Symbol, Symbol]]] = [[(WHOLE_AXIS, WHOLE_AXIS)]] * array.type.ndim
    for axis, shift in by.items():
        if type(shift) is not int:
            raise GraphBreak("numpy-call", "cupy.roll by such shifts")
        if not shift:
            continue
        if not trace.sizes.decide("gt", array.type.shape[axis], abs(shift)):
            raise GraphBreak("numpy-call", "cupy.roll by as much as an axis is long")
        # what is behind the cut comes first; counted from whichever end is known
        cut, place = Constant(-shift), Constant(shift)
        parts[axis] = [
            (Slice(NONE, cut, NONE), Slice(place, NONE, NONE)),
            (Slice(cut, NONE, NONE), Slice(NONE, place, NONE)),
        ]
    made = new(interpreter, "empty", array.type.shape, array.type.dtype)
    for each in product(*parts):
        source = devices.item(trace, array, Tuple(tuple(one for one, _ in each)))
        target = devices.item(trace, made, Tuple(tuple(two for _, two in each)))
        devices.assign(trace, target, source)
    return made


@function("_core.core.array")
def _array(
    interpreter: Interpreter,
    /,
    obj: Symbol,
    dtype: Symbol = NONE,
    copy: Symbol | None = None,
    order: Symbol | None = None,
    subok: Symbol | None = None,
    ndmin: Symbol | None = None,
    blocking: Symbol | None = None,
) -> Symbol:
    """`cupy.array` and `cupy.asarray`: of an array, or of numbers in nested lists, which are sent."""
    trace = interpreter.trace
    letter, least = known(trace, order, "K"), known(trace, ndmin, 0)
    wanted = dtype_argument(interpreter, dtype)
    if known(trace, subok, default=False) or known(trace, blocking, default=False):
        raise GraphBreak("numpy-call", "cupy.array that waits, or of a subclass")
    source = trace.look(obj)
    if not isinstance(source, DeviceArray):
        if letter not in (None, "K", "C"):
            raise GraphBreak("layout", "cupy.array in another order")
        if known(trace, copy, default=True) is False:
            raise GraphBreak("numpy-call", "cupy.array of numbers with copy=False")
        return devices.sent(trace, source, wanted, least)
    must = known(trace, copy, default=True)
    if must is False and wanted not in (None, source.type.dtype):
        raise GraphBreak("eager-raises", "ValueError: Unable to avoid copy")
    in_order = is_c_like(source.type) or (source.type.ndim == 1 and letter in (None, "K", "C"))
    if letter not in (None, "K", "C", "A") or not in_order:
        if must or wanted not in (None, source.type.dtype) or letter not in (None, "K"):
            raise GraphBreak("layout", "cupy.array of an array that is not in C order")
    made: Symbol = source
    if wanted is not None and wanted != source.type.dtype:
        made = devices.cast(trace, source, wanted)
    elif must:
        made = copied(trace, source)
    assert isinstance(made, DeviceArray)
    if least > made.type.ndim and made is not source:
        raise GraphBreak("numpy-call", "cupy.array that copies, with more axes")
    if least > made.type.ndim:
        shape = (1,) * (least - made.type.ndim) + made.type.shape
        return arrays.reshape(trace, made, [arrays.integer(trace, n) for n in shape])
    return made


@function("_manipulation.basic._can_memcpy")
def _can_memcpy(interpreter: Interpreter, /, dst: Symbol, src: Symbol) -> Symbol:
    """Never: `cupy.copyto` then copies element by element, which gives the same."""
    target, source = (array_argument(interpreter, one, "copyto") for one in (dst, src))
    if target.buffer is source.buffer:
        raise GraphBreak("numpy-call", "cupy.copyto of an array into itself")
    return Constant(False)


@function("get_array_module")
def _get_array_module(interpreter: Interpreter, /, *args: Symbol) -> Symbol:
    """CuPy where an argument is one of its arrays, else NumPy."""
    looked = [interpreter.trace.look(one) for one in args]
    if any(isinstance(one, DeviceArray) for one in looked):
        return Constant(cupy().module)
    if all(isinstance(one, Array) or arrays.is_number(one) for one in looked):
        return Constant(np)
    raise GraphBreak("call", "cupy.get_array_module of what may be a subclass")


@function("_core.core.ascontiguousarray")
def _ascontiguousarray(interpreter: Interpreter, /, a: Symbol, dtype: Symbol = NONE) -> Symbol:
    trace, array = interpreter.trace, array_argument(interpreter, a, "ascontiguousarray")
    wanted = dtype_argument(interpreter, dtype)
    if wanted is not None and wanted != array.type.dtype:
        raise GraphBreak("numpy-call", "cupy.ascontiguousarray with another dtype")
    if is_c_like(array.type) and array.type.ndim:
        return array
    if not array.type.ndim or array.type.order is None:
        raise GraphBreak("layout", "cupy.ascontiguousarray of such an array")
    return copied(trace, array)


@function("fill_diagonal")
def _fill_diagonal(
    interpreter: Interpreter, /, a: Symbol, val: Symbol, wrap: Symbol | None = None
) -> Symbol:
    """Of a matrix in C order."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "fill_diagonal")
    if array.type.ndim != 2 or known(trace, wrap, default=False) or not is_c_like(array.type):
        raise GraphBreak("numpy-call", "cupy.fill_diagonal of such an array")
    rows, columns = array.type.shape
    length = rows if trace.sizes.decide("le", rows, columns) else columns
    attributes = {"offset": 0, "axes": (0, 1), "length": length}
    diagonal = trace.graph.view(array, ops.DIAGONAL, attributes)
    number = devices.stored_number(trace, trace.look(val), array.type.dtype)
    devices.store(trace, diagonal, number)
    return Constant(None)

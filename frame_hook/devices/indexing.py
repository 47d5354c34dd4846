"""Elements of CuPy's arrays by arrays of places and by masks: read, and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.indexing import WHOLE_AXIS, basic_index
from ufuse.frame_hook.devices import arrays as devices
from ufuse.frame_hook.devices.rules import array_argument, known, method
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import described
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import (
    Constant,
    DeviceArray,
    Integer,
    List,
    Slice,
    Symbol,
    Tuple,
)
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import Span
from ufuse.graph.typing.device_calls import AT, ATOMIC, GETITEM, PUT, SETITEM
from ufuse.graph.typing.library import cupy

WHOLE = ("const", slice(None))


def subscript(trace: Trace, array: DeviceArray, key: Symbol) -> DeviceArray:
    """`array[key]`: a view, or new memory where arrays or lists are in the key."""
    parts = _parts(trace, key)
    if not any(isinstance(part, DeviceArray) for part in parts):
        return devices.item(trace, array, key)
    view, parts = _viewed(trace, array, parts)
    if _is_mask(parts[0]) and len(parts) == 1:
        pass
    elif len(parts) == 1 and isinstance(parts[0], DeviceArray) and parts[0].type.ndim:
        return devices.take(trace, view, parts[0], 0)
    return _gathered(trace, view, parts)


def store_item(trace: Trace, array: DeviceArray, key: Symbol, value: Symbol) -> None:
    """`array[key] = value`."""
    parts, stored = _parts(trace, key), trace.look(value)
    if not any(isinstance(part, DeviceArray) for part in parts):
        devices.assign(trace, devices.item(trace, array, key), stored)
    elif _is_mask(parts[0]) and len(parts) == 1:
        assert isinstance(parts[0], DeviceArray)
        if isinstance(stored, DeviceArray) and stored.type.ndim:
            _scattered(trace, array, parts, stored)
        else:
            _store_where(trace, array, parts[0], stored)
    else:
        _scattered(trace, array, parts, stored)


def _is_mask(part: Symbol) -> bool:
    return isinstance(part, DeviceArray) and part.type.dtype.kind == "b"


def _parts(trace: Trace, key: Symbol) -> list[Symbol]:
    """The parts of a key; lists of whole numbers become arrays, as CuPy sends them."""
    read = trace.look(key)
    parts = [trace.look(part) for part in (read.items if isinstance(read, Tuple) else (read,))]
    return [_sent_list(trace, part) if isinstance(part, List) else part for part in parts]


def _sent_list(trace: Trace, part: List) -> Symbol:
    values = [trace.look(one) for one in part.items]
    if not values or not all(arrays.known_int(one) is not None for one in values):
        raise GraphBreak("index", f"with {described(part)}")
    return devices.sent(trace, part, None, 0)


def _viewed(
    trace: Trace, array: DeviceArray, parts: list[Symbol]
) -> tuple[DeviceArray, list[Symbol]]:
    """What slices and new axes make of an array, and what is left of the key: arrays, numbers and whole axes."""
    lengths = [_axes_of(part) for part in parts]
    missing = array.type.ndim - sum(lengths)
    if missing < 0:
        raise GraphBreak("eager-raises", "IndexError: too many indices for array")
    ellipses = [k for k, part in enumerate(parts) if _is_constant(part, Ellipsis)]
    if len(ellipses) > 1:
        raise GraphBreak("eager-raises", "IndexError: more than one ellipsis")
    if ellipses:
        parts[ellipses[0] : ellipses[0] + 1] = [WHOLE_AXIS] * missing
    else:
        parts = parts + [WHOLE_AXIS] * missing
    basic: list[Symbol] = []
    left: list[Symbol] = []
    for part in parts:
        if isinstance(part, Slice) or _is_constant(part, None):
            basic.append(part)
            left.append(WHOLE_AXIS)
        else:
            basic += [WHOLE_AXIS] * _axes_of(part)
            left.append(part)
    while len(left) > 1 and left[-1] is WHOLE_AXIS:
        left.pop()
    if all(map(_is_whole, basic)):
        return array, left
    return devices.item(trace, array, Tuple(tuple(basic))), left


def _is_constant(part: Symbol, value: object) -> bool:
    return isinstance(part, Constant) and part.value is value


def _is_whole(part: Symbol) -> bool:
    return isinstance(part, Slice) and all(
        _is_constant(one, None) for one in (part.start, part.stop, part.step)
    )


def _axes_of(part: Symbol) -> int:
    if _is_constant(part, None) or _is_constant(part, Ellipsis):
        return 0
    return part.type.ndim if _is_mask(part) else 1  # type: ignore[union-attr]


def _call_key(
    trace: Trace, array: DeviceArray, parts: list[Symbol], inputs: list[Node]
) -> tuple[str, tuple[Any, ...]]:
    """A key as calls have it, with a part for each axis."""
    given: list[Any] = []
    axis = 0
    for part in parts:
        if part is WHOLE_AXIS:
            given.append(WHOLE)
        elif isinstance(part, DeviceArray):
            inputs.append(trace.graph.value(part))
            given.append(len(inputs) - 1)
        elif isinstance(part, Integer) or arrays.known_int(part) is not None:
            # that it is in range is decided as for a view
            basic_index(trace, array, Tuple((*[WHOLE_AXIS] * axis, part)))
            inputs.append(arrays.node_of(trace, part))
            given.append(len(inputs) - 1)
        else:
            raise GraphBreak("index", f"with {described(part)}")
        axis += _axes_of(part)
    return "tuple", (*given, *[WHOLE] * (array.type.ndim - axis))


def _gathered(trace: Trace, array: DeviceArray, parts: list[Symbol]) -> DeviceArray:
    """New memory, by CuPy's own indexing; what a mask picks is as long as the host finds, as in eager CuPy."""
    inputs = [trace.graph.value(array)]
    key = _call_key(trace, array, parts, inputs)
    attributes: dict[str, Any] = {"function": GETITEM, "arguments": (0, key), "keywords": ()}
    masks = [part for part in parts if _is_mask(part)]
    name = None
    if masks:
        assert isinstance(masks[0], DeviceArray)
        name = devices.length_picked(trace, trace.graph.value(masks[0]))
        attributes["sizes"] = (name,)
    fails = not masks and devices.may_be_empty(trace, array)
    node = trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=fails)
    if name is not None and str(node.type.shape[0]) == name:  # type: ignore[union-attr]
        trace.graph.long.setdefault(name, node)
    made = trace.graph.fresh(node)
    assert isinstance(made, DeviceArray)
    return made


def _scattered(trace: Trace, array: DeviceArray, parts: list[Symbol], value: Symbol) -> None:
    """A store by CuPy's own indexing; of equal places one is written, as in eager CuPy."""
    if array.path:
        raise GraphBreak("index", "of a view with arrays, to assign")
    _write(trace, SETITEM, array, parts, value)


def _write(trace: Trace, name: str, array: DeviceArray, parts: list[Symbol], value: Symbol) -> None:
    """A call of CuPy's that writes an array through a key."""
    view, left = _viewed(trace, array, parts)
    if view is not array:
        raise GraphBreak("index", "with arrays beside slices, to assign")
    inputs = [trace.graph.value(array)]
    key = _call_key(trace, array, left, inputs)
    if isinstance(value, DeviceArray):
        inputs.append(trace.graph.value(value))
    else:
        inputs.append(devices.filling(trace, value, array, sent=True))
    masks = [one for one in left if isinstance(one, DeviceArray) and _is_mask(one)]
    more = {}
    if masks:
        more["length"] = devices.length_picked(trace, trace.graph.value(masks[0]))
        axes = array.type.ndim - masks[0].type.ndim + 1
        if isinstance(value, DeviceArray) and value.type.ndim >= axes:
            many = value.type.shape[-axes]
            if str(many) != more["length"] and many != 1:
                raise GraphBreak("index", "with a mask, to assign what it has not picked,")
    devices.write_whole(trace, name, array, (key, len(inputs) - 1), (), inputs[1:], **more)


def _store_where(trace: Trace, target: DeviceArray, mask: DeviceArray, value: Symbol) -> None:
    """`target[mask] = number`: one pass in which the other elements keep what they have; CuPy counts the mask first."""
    dtype, missing = target.type.dtype, target.type.ndim - mask.type.ndim
    if isinstance(value, DeviceArray) and not value.type.ndim and value.type.dtype == dtype:
        number = trace.graph.value(value)
    else:
        number = devices.filling(trace, value, target, sent=True)
    lengths = zip(mask.type.shape, target.type.shape, strict=False)
    if missing < 0 or not mask.type.ndim or not all(trace.sizes.equal(*one) for one in lengths):
        raise GraphBreak("eager-raises", "IndexError: the mask has another shape")
    if missing:
        spans = tuple(Span(0, length) for length in mask.type.shape)
        entries = (*spans, *(None,) * missing)
        mask = trace.graph.view(mask, ops.INDEX, {"index": entries})
    nodes = (trace.graph.value(mask), number, trace.graph.value(target))
    chosen = trace.graph.node(ops.WHERE, nodes)
    if chosen.type.dtype != dtype:  # type: ignore[union-attr]
        raise GraphBreak("index", "with a mask, to assign values of another dtype,")
    devices.store(trace, target, chosen)


def call_at(trace: Trace, function: Any, arguments: Sequence[Symbol]) -> Symbol:
    """`cupy.add.at(array, places, value)`: equal places are added to as often."""
    name = next((one for one in ATOMIC if getattr(cupy().module, one) is function), None)
    looked = [trace.look(one) for one in arguments]
    array = looked[0] if len(looked) == 3 else None
    if name is None or not isinstance(array, DeviceArray):
        raise GraphBreak("numpy-call", f"{function.name}.at with these arguments")
    key, value = looked[1:]
    parts = _parts(trace, key)
    if array.path or array.type.dtype.char not in ATOMIC[name]:
        raise GraphBreak("numpy-call", f"{function.name}.at of a view, or of such a dtype")
    if any(_is_mask(part) for part in parts):
        raise GraphBreak("numpy-call", f"{function.name}.at with a mask")
    _write(trace, AT + name, array, parts, value)
    return Constant(None)


@method("scatter_add", "scatter_max", "scatter_min")
def _scattered_to(interpreter: Interpreter, /, *given: Symbol) -> Symbol:
    """What `cupyx.scatter_add` calls; `cupy.add.at` does not warn."""
    raise GraphBreak(
        "call", "a method that warns that it is deprecated (`cupy.add.at` does not warn)"
    )


@method("put")
def _put(
    interpreter: Interpreter,
    /,
    a: Symbol,
    indices: Symbol,
    values: Symbol,
    mode: Symbol | None = None,
) -> Symbol:
    """Of all of an array in C order, by places that wrap."""
    trace, array = interpreter.trace, array_argument(interpreter, a, "ndarray.put")
    places, value = array_argument(interpreter, indices, "ndarray.put"), trace.look(values)
    if known(trace, mode, "wrap") != "wrap" or array.path or places.type.dtype.kind not in "iu":
        raise GraphBreak("numpy-call", "cupy.ndarray.put with these arguments")
    inputs = [trace.graph.value(places)]
    if isinstance(value, DeviceArray):
        inputs.append(trace.graph.value(value))
    else:
        inputs.append(devices.filling(trace, value, array, sent=True))
    devices.write_whole(trace, PUT, array, (1, 2), (), inputs)
    return Constant(None)

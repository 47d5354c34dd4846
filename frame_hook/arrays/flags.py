"""What is known of the flags of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.objects import classes
from ufuse.frame_hook.trace.inputs import WRITE_FLAGS, WRITEABLE
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import AnyArray, Constant, DeviceArray, Symbol, is_read_only
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph.size import Size, add, multiply
from ufuse.graph.types import ArrayType, Span, c_order
from ufuse.graph.typing.infer import VIEW_RULES, view_through
from ufuse.graph.typing.shapes import is_c_like, is_f_like


def lies_so(trace: Trace, array: AnyArray, order: str, what: str) -> bool:
    """Whether an array is contiguous in C or Fortran order, as its letter says; guarded.

    Raises:
        GraphBreak: it is not known; `what` is the reason to ask.

    """
    kind = array.type
    if 0 in kind.shape:
        return True
    decide = trace.sizes.decide
    # of axes of length 0 and 1 the strides do not matter
    if not all(n == 1 or decide("ge", n, 2) for n in kind.shape):
        raise GraphBreak("layout", f"{what} of an array with unusual strides")
    if kind.steps is not None:
        return False
    if kind.order is not None:
        if is_c_like(kind) if order == "C" else is_f_like(kind):
            return True
        if all(name == "transpose" for name, _ in array.path) or kind.contiguous:
            return False
    strides = strides_of(array)
    if strides is None:
        raise GraphBreak("layout", f"{what} of an array with unusual strides")
    expected: Size = 1
    pairs = list(zip(strides, kind.shape, strict=True))
    for stride, length in reversed(pairs) if order == "C" else pairs:
        if length != 1:
            if not decide("eq", stride, expected):
                return False
            expected = multiply(expected, length)
    return True


def strides_of(array: AnyArray) -> list[Size] | None:
    """How many elements lie from one to the next along each axis, of a view of what fills its memory; or None."""
    root = array.buffer.root.type
    assert isinstance(root, ArrayType)
    if root.order is None or not root.contiguous:
        return None
    strides, kind = _filling(root.shape, root.order), root
    for name, given in array.path:
        attributes, before = dict(given), kind
        if name in VIEW_RULES:
            kind = view_through(before, [(name, attributes)])
        if name == "index":
            left = iter(strides)
            strides = []
            for entry in attributes["index"]:
                stride = 0 if entry is None else next(left)
                if entry is None or isinstance(entry, Span):
                    strides.append(multiply(stride, entry.step) if entry else 0)
        elif name == "transpose":
            strides = [strides[axis] for axis in attributes["axes"]]
        elif name == "diagonal":
            pair = attributes["axes"]
            both = add(*(strides[axis] for axis in pair))
            strides = [*(s for axis, s in enumerate(strides) if axis not in pair), both]
        elif name == "part":
            strides = [multiply(stride, 2) for stride in strides]
        elif name == "reshape" and is_c_like(before):
            strides = _filling(attributes["shape"], c_order(len(attributes["shape"])))
        elif name == "retype":
            parts = before.dtype.itemsize // kind.dtype.itemsize
            if parts > 1:
                strides = [*(multiply(stride, parts) for stride in strides[:-1]), 1]
        else:
            return None
    return strides


def _filling(shape: Sequence[Size], order: Sequence[int]) -> list[Size]:
    """The strides of what fills memory, in elements."""
    strides: list[Size] = [0] * len(shape)
    step: Size = 1
    for axis in reversed(order):
        strides[axis] = step
        step = multiply(step, shape[axis])
    return strides


def _c_contiguous(trace: Trace, array: AnyArray) -> bool:
    return lies_so(trace, array, "C", "flags")


def _f_contiguous(trace: Trace, array: AnyArray) -> bool:
    return lies_so(trace, array, "F", "flags")


def _only_f(trace: Trace, array: AnyArray) -> bool:
    return _f_contiguous(trace, array) and not _c_contiguous(trace, array)


def _c_or_f(trace: Trace, array: AnyArray) -> bool:
    return _c_contiguous(trace, array) or _f_contiguous(trace, array)


def _writeable(trace: Trace, array: AnyArray) -> bool:
    """Whether an array may be written: a view is what it is a view of."""
    buffer = array.buffer
    if any(dict(attributes).get("warns") for _, attributes in array.path):
        raise GraphBreak("attribute", "flags of what numpy.broadcast_arrays gives")
    if is_read_only(array):
        return False
    if buffer.source is None or buffer.value is None:
        if buffer.visible:
            raise GraphBreak("attribute", "flags of an array that the trace cannot find again")
        return True
    if buffer.value.flags.num & WRITE_FLAGS != WRITEABLE:
        raise GraphBreak("attribute", f"flags of {buffer.source.text}, which is read-only,")
    trace.guards.check("WRITEABLE", buffer.source, True)
    return True


def _owndata(_: Trace, array: AnyArray) -> bool:
    if not array.path:
        raise GraphBreak("attribute", "flags.owndata of an array")
    return False


def _aligned(_: Trace, __: AnyArray) -> bool:
    return True  # no other arrays are captured


FLAGS: dict[str, Callable[[Trace, AnyArray], bool]] = {
    "c_contiguous": _c_contiguous, "contiguous": _c_contiguous, "f_contiguous": _f_contiguous,
    "fortran": _f_contiguous, "fnc": _only_f, "forc": _c_or_f, "writeable": _writeable, "behaved": _writeable,
    "aligned": _aligned, "owndata": _owndata,
}  # fmt: skip
FLAGSOBJ = type(np.zeros(0).flags)
# What `flags[key]` may be asked by.
KEYS = {
    **{name.upper(): name for name in FLAGS}, "C": "c_contiguous", "F": "f_contiguous", "W": "writeable",
    "A": "aligned", "B": "behaved", "O": "owndata",
}  # fmt: skip
OF_DEVICES = "c_contiguous", "f_contiguous", "fnc", "forc", "owndata"
KEYS_OF_DEVICES = {name.upper(): name for name in OF_DEVICES if name not in ("fnc", "forc")}


def flag(trace: Trace, array: AnyArray, name: str) -> Symbol:
    """`array.flags.name`."""
    rule = FLAGS.get(name)
    if isinstance(array, DeviceArray):
        rule = rule if name in OF_DEVICES else None
    elif classes.static_lookup(FLAGSOBJ, name) is classes.ABSENT:
        raise classes.missing(trace, FLAGSOBJ, name)
    if rule is None:
        raise GraphBreak("attribute", f"flags.{name} of an array")
    return Constant(rule(trace, array))


def flag_item(trace: Trace, array: AnyArray, key: Any) -> Symbol:
    """`array.flags[key]`."""
    keys = KEYS_OF_DEVICES if isinstance(array, DeviceArray) else KEYS
    name = keys.get(key) if type(key) is str else None
    if name is None:
        raise GraphBreak("attribute", f"flags[{key!r}] of an array")
    return Constant(FLAGS[name](trace, array))

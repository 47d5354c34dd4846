"""Fourier transforms along several axes, and those of `cupyx.scipy.fft`, by CuPy's own calls: their shapes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ufuse.frame_hook.arrays.making import shape_argument
from ufuse.frame_hook.devices.calls import call_whole
from ufuse.frame_hook.devices.rules import array_argument, function, known
from ufuse.frame_hook.devices.views import normal_axis
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, DeviceArray, Symbol, Tuple
from ufuse.graph import size
from ufuse.graph.size import Size
from ufuse.graph.typing.library import FOURIER, TRANSFORMED, named

NONE = Constant(None)
Given = Mapping[str, Symbol]


def _along(
    interpreter: Interpreter, name: str, given: Given, array: DeviceArray
) -> tuple[list[int], Sequence[Size | None]]:
    """The axes that are transformed, and the lengths that are asked for."""
    trace, ndim = interpreter.trace, array.type.ndim
    if name[-1] not in "2n":
        length = trace.look(given.get("n", NONE))
        lengths: Sequence[Size | None] = (None,)
        if not is_none(length):
            lengths = shape_argument(interpreter, Tuple((length,)))
        axes: Any = (known(trace, given.get("axis"), -1),)
    else:
        wanted = trace.look(given.get("s", NONE))
        lengths = () if is_none(wanted) else shape_argument(interpreter, wanted)
        axes = known(trace, given.get("axes"), (-2, -1) if name[-1] == "2" else None)
        if axes is None:
            axes = range(-len(lengths) if lengths else -ndim, 0)
        lengths = lengths or (None,) * len(axes)
    found = [normal_axis(axis, ndim) for axis in axes if type(axis) is int]
    if not found or len({*found}) != len(axes) or len(lengths) != len(axes):
        raise GraphBreak("numpy-call", f"{name} along these axes")
    return found, lengths


def _shape(
    interpreter: Interpreter, name: str, given: Given, array: DeviceArray
) -> tuple[Size, ...]:
    """The shape of what a transform gives: of real numbers half of the last axis, and of halves all of it."""
    shape = list(array.type.shape)
    axes, lengths = _along(interpreter, name, given, array)
    for axis, length in zip(axes, lengths, strict=True):
        is_last = axis == axes[-1]
        if length is not None:
            shape[axis] = length
        elif is_last and name.startswith("irfft"):
            shape[axis] = size.multiply(size.add(shape[axis], -1), 2)
        if not interpreter.trace.sizes.decide("ge", shape[axis], 1):
            raise GraphBreak("eager-raises", "ValueError: a transform of nothing")
        if is_last and name.startswith("rfft"):
            shape[axis] = size.add(size.divide("//", shape[axis], 2), 1)
    return tuple(shape)


def _transform_of(path: str) -> Any:
    name = path.rpartition(".")[2]

    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        trace = interpreter.trace
        try:
            given = inspect.signature(named(path)).bind(*arguments, **keywords).arguments
        except TypeError:
            raise GraphBreak("numpy-call", f"{name} with these arguments") from None
        array = array_argument(interpreter, next(iter(given.values())), name)
        if known(trace, given.get("overwrite_x"), False) or known(trace, given.get("plan")):
            raise GraphBreak("numpy-call", f"{name} with overwrite_x= or plan=")
        if path not in ALONE and is_none(trace.look(given.get("s", NONE))):
            return call_whole(trace, path, arguments, keywords)
        shape = _shape(interpreter, name, given, array)
        return call_whole(trace, path, arguments, keywords, shape=shape)

    return rule


ALONE = frozenset(("fft.irfft2", "fft.irfftn", *(f"{FOURIER}.{name}" for name in TRANSFORMED)))
for _path in (
    *ALONE,
    *(f"fft.{name}" for name in TRANSFORMED if name[-1] in "2n" and name[:2] != "ir"),
):
    function(_path)(_transform_of(_path))

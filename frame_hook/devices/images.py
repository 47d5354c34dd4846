"""Filters of images, and functions that resample or label them, by CuPy's own calls."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays
from ufuse.frame_hook.arrays.making import shape_argument
from ufuse.frame_hook.devices.calls import call_whole
from ufuse.frame_hook.devices.rules import array_argument, function, known
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import is_none
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, DeviceArray, Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import size
from ufuse.graph.size import Size
from ufuse.graph.typing.library import FILTERS, IMAGES, LABEL, RESAMPLING

OPTIONS = ("output", "size", "footprint")
# What resampling is asked for that warns, works on textures, or writes what is given.
UNUSUAL = {"output": None, "order": 3, "grid_mode": False, "texture_memory": False}
MOST_ORDER = 5
Given = Mapping[str, Symbol]


def _given(
    interpreter: Interpreter, what: str, arguments: Sequence[Symbol], keywords: Given
) -> dict[str, Symbol]:
    """The arguments of one of the functions by their names; the first is an array."""
    signature = inspect.signature(getattr(sys.modules[IMAGES], what))
    try:
        given = signature.bind(*arguments, **keywords).arguments
    except TypeError:
        raise _refused(what) from None
    array_argument(interpreter, given["input"], what)
    return given


def _refused(what: str) -> GraphBreak:
    return GraphBreak("numpy-call", f"cupyx.scipy.ndimage.{what} with these arguments")


def _filter_of(name: str) -> Any:
    """A filter; without `output=`, and without a size that it warns of not heeding."""

    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        trace = interpreter.trace
        given = _given(interpreter, name, arguments, keywords)
        is_given = {key for key in OPTIONS if key in given and not is_none(trace.look(given[key]))}
        if "output" in is_given or len(is_given) > 1:
            raise GraphBreak("numpy-call", f"{name} with output=, or with two sizes")
        return call_whole(trace, f"{IMAGES}.{name}", arguments, keywords)

    return rule


for _name in FILTERS:
    function(f"{IMAGES}.{_name}")(_filter_of(_name))


def _zoomed(trace: Trace, given: Given, image: DeviceArray) -> tuple[Size, ...]:
    """Lengths times factors, rounded."""
    factors = known(trace, given["zoom"])
    each = factors if isinstance(factors, list | tuple) else [factors] * image.type.ndim
    if len(each) != image.type.ndim or not all(type(one) in (int, float) for one in each):
        raise _refused("zoom")
    return tuple(map(_times, [trace] * len(each), image.type.shape, each))


def _times(trace: Trace, length: Size, factor: float) -> Size:
    whole = int(factor) if abs(factor) < MOST_FACTOR else 0
    if whole == factor:
        return size.multiply(length, whole)
    return round(trace.sizes.fixed(length) * factor)


MOST_FACTOR = 1000


def _turned(trace: Trace, given: Given, image: DeviceArray) -> tuple[Size, ...]:
    """Lengths that hold a plane turned by an angle, in the arithmetic of CuPy's own `rotate`; each run compares."""
    angle, axes = known(trace, given["angle"]), known(trace, given.get("axes"), (1, 0))
    ndim = image.type.ndim
    is_plane = type(axes) is tuple and len(axes) == 2 and all(type(one) is int for one in axes)
    if type(angle) not in (int, float) or not is_plane or ndim < 2:
        raise _refused("rotate")
    plane = sorted(one + ndim if one < 0 else one for one in axes)
    if plane[0] < 0 or plane[1] >= ndim or plane[0] == plane[1]:
        raise _refused("rotate")
    radians = np.deg2rad(angle)
    sine, cosine = math.sin(radians), math.cos(radians)
    dtype = np.promote_types(image.type.dtype.type().real.dtype, np.float32)
    matrix = np.array([[cosine, sine], [-sine, cosine]], dtype=dtype)
    y, x = (trace.sizes.fixed(image.type.shape[one]) for one in plane)
    bounds = matrix @ [[0, 0, y, y], [0, x, 0, x]]
    lengths = list(image.type.shape)
    for one, length in zip(plane, (np.ptp(bounds, axis=1) + 0.5).astype(np.int64), strict=True):
        lengths[one] = int(length)
    return tuple(lengths)


def _as_wanted(interpreter: Interpreter, given: Given, image: DeviceArray) -> tuple[Size, ...]:
    """The shape that is asked for, or the same."""
    wanted = interpreter.trace.look(given.get("output_shape", Constant(None)))
    return image.type.shape if is_none(wanted) else shape_argument(interpreter, wanted)


def _resampled(
    interpreter: Interpreter, what: str, arguments: Sequence[Symbol], keywords: Given
) -> Symbol:
    """An image that is resampled by splines, as new memory of its dtype."""
    trace = interpreter.trace
    given = _given(interpreter, what, arguments, keywords)
    image = array_argument(interpreter, given["input"], what)
    for key, usual in UNUSUAL.items():
        value = known(trace, given.get(key), usual)
        is_order = key == "order" and type(value) is int and 0 <= value <= MOST_ORDER
        if value is not usual and not is_order:
            raise _refused(what)
    shape = image.type.shape
    if what == "zoom":
        shape = _zoomed(trace, given, image)
    elif what == "rotate" and known(trace, given.get("reshape"), default=True) is not False:
        shape = _turned(trace, given, image)
    elif what == "map_coordinates":
        shape = array_argument(interpreter, given["coordinates"], what).type.shape[1:]
    elif what == "affine_transform":
        array_argument(interpreter, given["matrix"], what)
        shape = _as_wanted(interpreter, given, image)
    if any(trace.sizes.decide("eq", length, 0) for length in (*shape, *image.type.shape)):
        raise _refused(what)
    return call_whole(trace, f"{IMAGES}.{what}", arguments, keywords, shape=shape)


def _resampling(what: str) -> Any:
    def rule(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
        return _resampled(interpreter, what, arguments, keywords)

    return rule


for _name in RESAMPLING:
    function(f"{IMAGES}.{_name}")(_resampling(_name))


@function(LABEL)
def _label(interpreter: Interpreter, /, *arguments: Symbol, **keywords: Symbol) -> Symbol:
    """Labels of what is connected, and how many there are, for which the host waits."""
    trace = interpreter.trace
    given = _given(interpreter, "label", arguments, keywords)
    image = array_argument(interpreter, given["input"], "label")
    is_small = trace.sizes.decide("lt", arrays.total(image.type.shape), LARGE)
    if not is_none(trace.look(given.get("output", Constant(None)))) or not is_small:
        raise _refused("label")
    if trace.graph.first_write is not None:  # it may raise, and the host waits no earlier
        raise GraphBreak("raise-after-write", "label")
    if not image.type.ndim or any(trace.sizes.decide("eq", one, 0) for one in image.type.shape):
        raise _refused("label")
    found = call_whole(trace, LABEL, arguments, keywords)
    trace.graph.waits = True
    return found


LARGE = 2**31 - 2  # elements: CuPy's labels have 64 bits

"""Rows of the table of calls: sums of products, Fourier transforms and statistics."""

from __future__ import annotations

import re
from typing import Any

from ufuse.graph.size import Size, divide
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.call import BY_NAME, Call, Rule, ShapeRule, Shapes, nested_shape
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape, broadcast, reduced, same, the_axis

PLAIN_SUM = re.compile(r"([a-zA-Z.]*(?:,[a-zA-Z.]*)*)(?:->([a-zA-Z.]*))?")
DOTS = "..."
MOST_POWERS = 100


def _summed(call: Call) -> Shape:
    """A sum of products; of one array it may be a view, which is refused where NumPy is asked."""
    text = call.constant(0, "subscripts")
    found = PLAIN_SUM.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
    if found is None:
        raise CannotInfer(f"{call.name} of these subscripts")
    call.argument(BY_NAME, "optimize")
    terms = found[1].split(",")
    if len(terms) != len(call.arguments) - 1:
        raise CannotInfer(f"{call.name} of other arrays than its subscripts say")
    lengths: dict[str, Size] = {}
    others: list[Shape] = []  # what the dots stand for
    for place, term in enumerate(terms, 1):
        others.append(_note_lengths(call, term, call.shape(place, "operands"), lengths))
    together = "".join(terms).replace(DOTS, "")
    result = found[2]
    if result is None:
        alone = sorted(one for one in lengths if together.count(one) == 1)
        result = DOTS * any(others) + "".join(alone)
    letters = result.replace(DOTS, "", 1)
    if len(set(letters)) != len(letters) or not set(letters) <= lengths.keys():
        raise CannotInfer(f"{call.name} of these subscripts")
    rest = broadcast(others, call.facts) if DOTS in result else ()
    if DOTS not in result and any(others):
        raise CannotInfer(f"{call.name} of these subscripts")
    before, _, behind = result.partition(DOTS)
    return (*[lengths[one] for one in before], *rest, *[lengths[one] for one in behind])


def _note_lengths(call: Call, term: str, shape: Shape, lengths: dict[str, Size]) -> Shape:
    """Note how long the axes are that have letters; those that the dots of a term stand for."""
    before, dots, behind = term.partition(DOTS)
    named = len(before) + len(behind)
    if "." in before + behind or len(shape) < named or (len(shape) > named and not dots):
        raise CannotInfer(f"{call.name} of other axes than its subscripts say")
    end = len(shape) - len(behind)
    axes = (*shape[: len(before)], *shape[end:])
    for letter, length in zip(before + behind, axes, strict=True):
        if not same(lengths.setdefault(letter, length), length, call.facts):
            raise CannotInfer(f"{call.name} of lengths {lengths[letter]} and {length}")
    return shape[len(before) : end]


def _convolved(default: str) -> ShapeRule:
    """Of two vectors; law: the tracer has shown that the first is not the shorter one."""

    def shape(call: Call) -> Shape:
        left, right = call.shape(0, "a"), call.shape(1, "v")
        mode = call.constant(2, "mode", default)
        if (len(left), len(right)) != (1, 1) or mode not in ("full", "same", "valid"):
            raise CannotInfer(f"{call.name} of these arrays")
        if mode == "same":
            return left
        return (left[0] + right[0] - 1,) if mode == "full" else (left[0] - right[0] + 1,)

    return shape


def _transformed(call: Call) -> Shape:
    """Along one axis, which may be made longer or shorter."""
    return _along(call, _length(call))


def _half(call: Call) -> Shape:
    """The same of real numbers: half of the result says everything."""
    return _along(call, divide("//", _length(call), 2) + 1)


def over(keepdims: int, overwrites: int | None = None) -> ShapeRule:
    """Axes reduced; `keepdims` and `overwrite_input` are at these places."""

    def shape(call: Call) -> Shape:
        if overwrites is not None and call.constant(overwrites, "overwrite_input", default=False):
            raise CannotInfer(f"{call.name} with overwrite_input=")
        call.argument(BY_NAME, "mean")
        kept = bool(call.constant(keepdims, "keepdims", default=False))
        return reduced(call.shape(0, "a"), call.constant(1, "axis"), kept)

    return shape


def quantile(call: Call) -> Shape:
    """Quantiles or percentiles along axes: those that are asked for are the first axes."""
    wanted = call.argument(1, "q")
    if wanted is None or call.constant(4, "overwrite_input", default=False):
        raise CannotInfer(f"{call.name} with overwrite_input=")
    call.argument(5, "method")
    call.argument(BY_NAME, "weights")
    kept = bool(call.constant(6, "keepdims", default=False))
    axis = call.constant(2, "axis")
    return (*nested_shape(wanted, call.name, call.facts), *reduced(call.shape(0, "a"), axis, kept))


def _whole_again(call: Call) -> Shape:
    """Back to real numbers."""
    length = _length(call)
    return _along(call, length if _has_length(call) else (length - 1) * 2)


def _has_length(call: Call) -> bool:
    given = call.argument(1, "n")
    return given is not None and not (isinstance(given, Constant) and given.value is None)


def _length(call: Call) -> Size:
    if _has_length(call):
        return call.size(1, "n")
    shape = call.shape(0, "a")
    return shape[the_axis(call.constant(2, "axis", -1), len(shape))]


def _along(call: Call, length: Size) -> Shape:
    shape = call.shape(0, "a")
    axis = the_axis(call.constant(2, "axis", -1), len(shape))
    call.argument(3, "norm")
    return (*shape[:axis], length, *shape[axis + 1 :])


def _transformed_twice(call: Call) -> Shape:
    if call.constant(1, "s") is not None:
        raise CannotInfer(f"{call.name} with s=")
    call.constant(2, "axes")
    call.argument(3, "norm")
    return call.shape(0, "a")


def _half_of_several(call: Call) -> Shape:
    """The same of real numbers: half of what is along the last axis of those that are transformed."""
    shape, axes = _transformed_twice(call), call.constant(2, "axes")
    axis = the_axis(-1 if axes is None else axes[-1], len(shape))
    return (*shape[:axis], divide("//", shape[axis], 2) + 1, *shape[axis + 1 :])


def _covariance(call: Call) -> Shape:
    """Of two observations or more: NumPy's Python code warns of fewer."""
    shape = call.shape(0, "x" if call.name == "numpy.corrcoef" else "m")
    if len(call.arguments) == 2:
        return _covariance_of_two(call, shape)
    if len(call.arguments) > 2 or len(shape) not in (1, 2) or call.argument(BY_NAME, "ddof"):
        raise CannotInfer(f"{call.name} of these arrays")
    rows = call.constant(BY_NAME, "rowvar", default=True)
    call.argument(BY_NAME, "bias")
    shape = shape if rows or len(shape) == 1 else shape[::-1]
    if call.facts.is_one(shape[-1]):
        raise CannotInfer(f"{call.name} of one observation")
    if len(shape) == 1:
        return ()
    if call.facts.is_one(shape[0]):
        raise CannotInfer(f"{call.name} of one variable")
    return (shape[0], shape[0])


def _covariance_of_two(call: Call, shape: Shape) -> Shape:
    """Of two variables that were observed together."""
    other = call.shape(1, "y")
    if (len(shape), len(other)) != (1, 1) or call.keywords:
        raise CannotInfer(f"{call.name} of these arrays")
    if not same(shape[0], other[0], call.facts) or call.facts.is_one(shape[0]):
        raise CannotInfer(f"{call.name} of one observation, or of unequal numbers of them")
    return (2, 2)


def _averaged(call: Call) -> Shapes:
    shape, axis = call.shape(0, "a"), call.constant(1, "axis")
    if call.argument(2, "weights") is not None:
        _check_weights(call, shape, axis, call.shape(2, "weights"))
    found = reduced(shape, axis, bool(call.constant(BY_NAME, "keepdims", default=False)))
    return [found, found] if call.constant(3, "returned", default=False) else found


def _check_weights(call: Call, shape: Shape, axis: Any, weights: Shape) -> None:
    """Weights are of the array's shape, or of one axis along which it is averaged."""
    if len(weights) == 1 and len(shape) > 1:
        wanted: Shape = (shape[the_axis(axis, len(shape))],)
    else:
        wanted = shape
    if len(weights) != len(wanted) or not all(
        same(a, b, call.facts) for a, b in zip(weights, wanted, strict=True)
    ):
        raise CannotInfer(f"{call.name} with weights of another shape")


def _counted(call: Call) -> Shapes:
    """How many elements are in each of so many bins, and where these begin and end."""
    edges = _edges(call)
    call.shape(0, "a")
    type_ = call.argument(0, "a")
    if isinstance(type_, ArrayType) and type_.dtype.kind == "b":
        raise CannotInfer(f"{call.name} of bools, which are converted with a warning,")
    given = call.argument(2, "range")
    if given is not None:
        call.constant(2, "range")
    call.argument(3, "density")
    if call.argument(4, "weights") is not None:
        call.shape(4, "weights")
    return [(edges - 1,), (edges,)]


def _edges(call: Call) -> Size:
    """How many edges the bins have: of a number of them one more, of a vector what it has."""
    bins = call.argument(1, "bins")
    if bins is None or isinstance(bins, Constant):
        known = call.constant(1, "bins", 10)
        if type(known) is int and known >= 1:
            return known + 1
    shape = () if bins is None else nested_shape(bins, call.name, call.facts)
    if len(shape) != 1:
        raise CannotInfer(f"{call.name} of these bins")
    return shape[0]


def _counted_twice(call: Call) -> Shapes:
    """How many pairs are in each of so many bins times so many, and where these begin and end."""
    bins = call.constant(2, "bins", 10)
    pair = list(bins) if isinstance(bins, tuple | list) else [bins] * 2
    if len(pair) != 2 or not all(type(one) is int and one >= 1 for one in pair):
        raise CannotInfer(f"{call.name} of these bins")
    x, y = call.shape(0, "x"), call.shape(1, "y")
    if len(x) != 1 or len(y) != 1 or not same(x[0], y[0], call.facts):
        raise CannotInfer(f"{call.name} of these arrays")
    if call.argument(3, "range") is not None:
        call.constant(3, "range")
    call.argument(4, "density")
    if call.argument(5, "weights") is not None:
        call.shape(5, "weights")
    return [tuple(pair), (pair[0] + 1,), (pair[1] + 1,)]


def _fitted(call: Call) -> Shape:
    """Coefficients of polynomials through the values of one function, or of several."""
    if call.constant(4, "full", default=False) or call.constant(6, "cov", default=False):
        raise CannotInfer(f"{call.name} with full= or cov=")
    places, values, degree = call.shape(0, "x"), call.shape(1, "y"), call.constant(2, "deg")
    if type(degree) is not int or not 0 <= degree <= MOST_POWERS:
        raise CannotInfer(f"{call.name} of this degree")
    call.argument(3, "rcond")
    if call.argument(5, "w") is not None:
        call.shape(5, "w")
    if len(places) != 1 or len(values) not in (1, 2):
        raise CannotInfer(f"{call.name} of these arrays")
    if not same(places[0], values[0], call.facts):
        raise CannotInfer(f"{call.name} of lengths {places[0]} and {values[0]}")
    return (degree + 1, *values[1:])


def _slopes(call: Call) -> Shape:
    """Of a vector at places that are given."""
    values, places = call.shape(0, "f"), call.shape(1, "varargs")
    call.constant(BY_NAME, "edge_order")
    if len(values) != 1 or len(places) != 1 or not same(values[0], places[0], call.facts):
        raise CannotInfer(f"{call.name} of these arrays")
    return values


# fmt: off
ANALYSIS: dict[str, Rule] = {
    "numpy.einsum":            Rule(_summed),
    "numpy.convolve":          Rule(_convolved("full"), lists=(0, 1)),
    "numpy.correlate":         Rule(_convolved("valid"), lists=(0, 1)),
    # Fourier transforms
    "numpy.fft.fft":           Rule(_transformed, counts=(1, 2), counted=2),
    "numpy.fft.ifft":          Rule(_transformed, counts=(1, 2), counted=2),
    "numpy.fft.rfft":          Rule(_half, counts=(1, 2), counted=2),
    "numpy.fft.irfft":         Rule(_whole_again, counts=(1, 2), counted=2),
    "numpy.fft.fft2":          Rule(_transformed_twice),
    "numpy.fft.ifft2":         Rule(_transformed_twice),
    "numpy.fft.fftn":          Rule(_transformed_twice),
    "numpy.fft.ifftn":         Rule(_transformed_twice),
    "numpy.fft.rfft2":         Rule(_half_of_several),
    "numpy.fft.rfftn":         Rule(_half_of_several),
    # statistics
    "numpy.cov":               Rule(_covariance, fill=("eye",)),
    "numpy.corrcoef":          Rule(_covariance, fill=("eye",)),
    "numpy.average":           Rule(_averaged, lists=(0, 2, "weights")),
    "numpy.histogram":         Rule(_counted),
    "numpy.histogram2d":       Rule(_counted_twice),
    "numpy.gradient":          Rule(_slopes),
    "numpy.polyfit":           Rule(_fitted, fill=("range",), counts=(2, 3), warns=True),
}
# fmt: on

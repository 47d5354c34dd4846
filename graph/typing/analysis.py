"""Rows of the table of calls: sums of products, Fourier transforms and statistics."""

from __future__ import annotations

import re

from ufuse.graph.size import Size, divide
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.call import BY_NAME, Call, Rule, ShapeRule, Shapes
from ufuse.graph.typing.sample import CannotInfer, Constant
from ufuse.graph.typing.shapes import Shape, broadcast, reduced, same, the_axis

PLAIN_SUM = re.compile(r"([a-zA-Z]*(?:,[a-zA-Z]*)+)(?:->([a-zA-Z]*))?")


def _summed(call: Call) -> Shape:
    """A sum of products of several arrays; of one array it may be a view."""
    text = call.constant(0, "subscripts")
    found = PLAIN_SUM.fullmatch(text.replace(" ", "")) if isinstance(text, str) else None
    if found is None:
        raise CannotInfer(f"{call.name} of these subscripts")
    call.argument(BY_NAME, "optimize")
    terms = found[1].split(",")
    if len(terms) != len(call.arguments) - 1:
        raise CannotInfer(f"{call.name} of other arrays than its subscripts say")
    lengths: dict[str, Size] = {}
    for place, letters in enumerate(terms, 1):
        shape = call.shape(place, "operands")
        if len(shape) != len(letters):
            raise CannotInfer(f"{call.name} of other axes than its subscripts say")
        for letter, length in zip(letters, shape, strict=True):
            if not same(lengths.setdefault(letter, length), length, call.facts):
                raise CannotInfer(f"{call.name} of lengths {lengths[letter]} and {length}")
    together = "".join(terms)
    result = found[2]
    if result is None:
        result = "".join(sorted(one for one in lengths if together.count(one) == 1))
    if len(set(result)) != len(result) or not set(result) <= lengths.keys():
        raise CannotInfer(f"{call.name} of these subscripts")
    return tuple(lengths[letter] for letter in result)


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
    if call.argument(1, "s") is not None or call.argument(2, "axes") is not None:
        raise CannotInfer(f"{call.name} with s= or axes=")
    call.argument(3, "norm")
    return call.shape(0, "a")


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


def _averaged(call: Call) -> Shape:
    if call.constant(3, "returned", default=False):
        raise CannotInfer(f"{call.name} with returned=")
    shape, axis = call.shape(0, "a"), call.constant(1, "axis")
    if call.argument(2, "weights") is not None:
        weights = call.shape(2, "weights")
        if len(weights) != len(shape):
            raise CannotInfer(f"{call.name} with weights of another shape")
        broadcast([shape, weights], call.facts)
    return reduced(shape, axis, bool(call.constant(BY_NAME, "keepdims", default=False)))


def _counted(call: Call) -> Shapes:
    """How many elements are in each of so many bins, and where these begin and end."""
    bins = call.constant(1, "bins", 10)
    if type(bins) is not int or bins < 1:
        raise CannotInfer(f"{call.name} of these bins")
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
    return [(bins,), (bins + 1,)]


# fmt: off
ANALYSIS: dict[str, Rule] = {
    "numpy.einsum":            Rule(_summed),
    "numpy.convolve":          Rule(_convolved("full")),
    "numpy.correlate":         Rule(_convolved("valid")),
    # Fourier transforms
    "numpy.fft.fft":           Rule(_transformed, counts=(1, 2), counted=2),
    "numpy.fft.ifft":          Rule(_transformed, counts=(1, 2), counted=2),
    "numpy.fft.rfft":          Rule(_half, counts=(1, 2), counted=2),
    "numpy.fft.irfft":         Rule(_whole_again, counts=(1, 2), counted=2),
    "numpy.fft.fft2":          Rule(_transformed_twice),
    "numpy.fft.ifft2":         Rule(_transformed_twice),
    "numpy.fft.fftn":          Rule(_transformed_twice),
    "numpy.fft.ifftn":         Rule(_transformed_twice),
    # statistics
    "numpy.cov":               Rule(_covariance, fill=("eye",)),
    "numpy.corrcoef":          Rule(_covariance, fill=("eye",)),
    "numpy.average":           Rule(_averaged),
    "numpy.histogram":         Rule(_counted),
}
# fmt: on

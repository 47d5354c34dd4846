"""Rows of the table of calls: statistics of arrays with missing values, which are NaN."""

from __future__ import annotations

from ufuse.graph.typing.analysis import quantile
from ufuse.graph.typing.call import BY_NAME, Call, Rule, ShapeRule
from ufuse.graph.typing.sample import CannotInfer
from ufuse.graph.typing.shapes import Shape, count, reduced, the_axis


def _over(keepdims: int, overwrites: int | None = None) -> ShapeRule:
    """Axes reduced; `keepdims` and `overwrite_input` are at these places."""

    def shape(call: Call) -> Shape:
        if overwrites is not None and call.constant(overwrites, "overwrite_input", default=False):
            raise CannotInfer(f"{call.name} with overwrite_input=")
        call.argument(BY_NAME, "mean")
        kept = bool(call.constant(keepdims, "keepdims", default=False))
        return reduced(call.shape(0, "a"), call.constant(1, "axis"), kept)

    return shape


def _along(call: Call) -> Shape:
    shape, axis = call.shape(0, "a"), call.constant(1, "axis")
    if axis is None:
        return (count(shape),)
    the_axis(axis, len(shape))
    return shape


# fmt: off
MISSING: dict[str, Rule] = {
    "numpy.nanmean":           Rule(_over(4), warns=True),
    "numpy.nanvar":            Rule(_over(5), warns=True),
    "numpy.nanstd":            Rule(_over(5), warns=True),
    "numpy.nanmax":            Rule(_over(3), warns=True),
    "numpy.nanmin":            Rule(_over(3), warns=True),
    "numpy.nanargmax":         Rule(_over(BY_NAME), warns=True),
    "numpy.nanargmin":         Rule(_over(BY_NAME), warns=True),
    "numpy.nanmedian":         Rule(_over(4, 3), warns=True),
    "numpy.nanpercentile":     Rule(quantile, warns=True),
    "numpy.nanquantile":       Rule(quantile, warns=True),
    "numpy.nancumsum":         Rule(_along),
    "numpy.nancumprod":        Rule(_along),
}
# fmt: on

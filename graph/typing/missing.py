"""Rows of the table of calls: statistics of arrays with missing values, which are NaN."""

from __future__ import annotations

from ufuse.graph.typing.analysis import over, quantile
from ufuse.graph.typing.call import BY_NAME, Call, Rule
from ufuse.graph.typing.shapes import Shape, count, the_axis


def _along(call: Call) -> Shape:
    shape, axis = call.shape(0, "a"), call.constant(1, "axis")
    if axis is None:
        return (count(shape),)
    the_axis(axis, len(shape))
    return shape


# fmt: off
MISSING: dict[str, Rule] = {
    "numpy.nanmean":           Rule(over(4), warns=True),
    "numpy.nanvar":            Rule(over(5), warns=True),
    "numpy.nanstd":            Rule(over(5), warns=True),
    "numpy.nanmax":            Rule(over(3), warns=True),
    "numpy.nanmin":            Rule(over(3), warns=True),
    "numpy.nanargmax":         Rule(over(BY_NAME), warns=True),
    "numpy.nanargmin":         Rule(over(BY_NAME), warns=True),
    "numpy.nanmedian":         Rule(over(4, 3), warns=True),
    "numpy.nanpercentile":     Rule(quantile, warns=True),
    "numpy.nanquantile":       Rule(quantile, warns=True),
    "numpy.nancumsum":         Rule(_along),
    "numpy.nancumprod":        Rule(_along),
}
# fmt: on

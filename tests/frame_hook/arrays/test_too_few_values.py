"""Statistics of too few values, of which NumPy's Python code warns: once, as in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome

# fmt: off
STATISTICS = (
    "np.nanpercentile(x, 30)|np.nanquantile(x, 0.5)|np.nanquantile(q=0.5, a=x)|np.nanpercentile(x, 30, axis=0)|np.nanmedian(x)|np.nanmedian(a=x)|"
    "np.nanmean(x)|np.nanmean(a=x)|np.nanmean(x, where=x > 20)|np.nanvar(x, ddof=5)|np.nanstd(x, ddof=5)|np.nanvar(a=x, ddof=5)|np.nanvar(x, ddof=len(x))|"
    "np.nanstd(x, ddof=x.size)|np.nanvar(x, 0, None, None, 2)|np.nanvar(x, where=x > 2)|np.nanvar(x, ddof=x.sum() + 5)|np.nanvar(x, axis=-1, ddof=4)|"
    "np.nanmean(x[x > 9])|np.nanvar(x[x > 0], ddof=3)|np.nanpercentile(x[x > 9], 30)|np.nanmax(x[x > 9])|np.median(a=x)|np.average(a=x)|np.mean(a=x)|"
    "np.quantile(a=x, q=0.3)|np.cov(m=x)|np.corrcoef(x=x)|np.var(a=x, ddof=5)|x.var(ddof=5)|x.std(0, None, None, 5)"
).split("|")
# fmt: on


@pytest.mark.parametrize("call", STATISTICS)
@pytest.mark.parametrize("dtype", "lbdfFB")
def test_it_warns_once(call: str, dtype: str) -> None:
    """At a first call and at a second, of arrays with many values, few and none."""
    function = eval(f"lambda x: {call}", {"np": np})  # noqa: S307  rows of a table
    for first in ((8,), (0,)):
        compiled = ufuse.compile(function)
        for shape in (first, (3,), (0,), (1,), (8,), (3, 4), (0, 3), (3, 0), (1, 3)):
            array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
            expected = outcome(function, array.copy())
            for _ in range(2):
                assert outcome(compiled, array.copy()) == expected, f"{call} of {array!r}"

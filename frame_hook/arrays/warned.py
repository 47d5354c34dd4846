"""The lines of NumPy's own Python code at which reductions and statistics warn: found by making each warn once."""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache

import numpy as np

from ufuse.graph.node import Location
from ufuse.graph.strict import context_with

# fmt: off
# Steps of these functions, and numbers for which only that step warns.
SAMPLES: dict[str, tuple[float, ...]] = {
    "reduce":   (np.inf, -np.inf),
    "product":  (1e300, 1e300),
    "subtract": (np.inf, np.inf),     # of the mean, in a variance
    "square":   (1e200, -1e200),      # of the distances
    "total":    (1.3e154, -1.3e154),  # of the squares
}
# fmt: on


@lru_cache
def place_of(name: str, what: str, *, method: bool) -> Location | None:
    """Where `numpy.<name>` (or the method) warns of its step `what`; None: at its caller's line."""
    places = [(one.filename, one.lineno) for one in _warnings(name, what, method=method)]
    if not places or places[0][0] == __file__:
        return None
    file, line = places[0]
    modules = (n for n, m in sys.modules.copy().items() if getattr(m, "__file__", None) == file)
    return Location(file, name, line, next(modules, ""))


def _warnings(name: str, what: str, *, method: bool) -> list[warnings.WarningMessage]:
    values = np.array(SAMPLES[what])
    context = context_with(all="warn", under="ignore")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if method:
            context.run(getattr(values, name))
        else:
            context.run(getattr(np, name), values)
    return caught


# Whether a variance squares by `np.square`, as its warning says; older releases of NumPy multiply.
SQUARES = any("square" in str(one.message) for one in _warnings("var", "square", method=False))

for _name, _steps in {
    "sum": "reduce",
    "prod": "product",
    "mean": "reduce",
    "var": "reduce subtract square total",
    "std": "reduce subtract square total",
}.items():  # at import: in the middle of a program `catch_warnings` would have warnings shown a second time
    for _step in _steps.split():
        place_of(_name, _step, method=True)
        place_of(_name, _step, method=False)

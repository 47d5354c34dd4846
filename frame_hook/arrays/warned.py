"""The lines of NumPy's own Python code at which reductions and statistics warn: found by making each warn once."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import lru_cache, partial

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


# Calls of other functions, in which only that step warns.
CALLS: dict[tuple[str, str], Callable[[], object]] = {
    ("nanvar", "subtract"): lambda: np.nanvar((np.inf, np.inf)),
    ("nanvar", "multiply"): lambda: np.nanvar((1e200, -1e200)),
    ("isclose", "subtract"): lambda: np.isclose(1.5e308, (-1.5e308,)),
    ("isclose", "multiply"): lambda: np.isclose(1e-320, (1e-320,)),
    ("average", "multiply"): lambda: np.average((1e200, 1.0), weights=(1e200, 1.0)),
    ("norm", "multiply"): lambda: np.linalg.norm(((1e200, 1.0),), axis=1),
    ("norm", "reduce"): lambda: np.linalg.norm(((1.3e154, 1.3e154),), axis=1),
    ("round", "multiply"): lambda: np.round(np.array((1.5e308,)), 2),
    ("around", "multiply"): lambda: np.around(np.array((1.5e308,)), 2),
    ("average", "divide"): lambda: np.average((1e308, 1.0), weights=(1.0, -0.9999999)),
}


@lru_cache
def line_of(name: str, step: str) -> Location | None:
    """Where `numpy.<name>` warns of a step in `CALLS`; None: at its caller's line."""
    return _place(name, _warned(CALLS[name, step], under="warn"))


@lru_cache
def place_of(name: str, what: str, *, method: bool) -> Location | None:
    """Where `numpy.<name>` (or the method) warns of its step `what`; None: at its caller's line."""
    return _place(name, _warnings(name, what, method=method))


def _place(name: str, warned: list[warnings.WarningMessage]) -> Location | None:
    places = [(one.filename, one.lineno) for one in warned]
    if not places or places[0][0] == __file__:
        return None
    file, line = places[0]
    modules = (n for n, m in sys.modules.copy().items() if getattr(m, "__file__", None) == file)
    return Location(file, name, line, next(modules, ""))


def _warnings(name: str, what: str, *, method: bool) -> list[warnings.WarningMessage]:
    values = np.array(SAMPLES[what])
    return _warned(getattr(values, name) if method else partial(getattr(np, name), values))


def _warned(function: Callable[[], object], under: str = "ignore") -> list[warnings.WarningMessage]:
    context = context_with(all="warn", under=under)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        context.run(function)
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
for _name, _step in CALLS:
    line_of(_name, _step)

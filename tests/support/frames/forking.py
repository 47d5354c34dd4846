"""What tests of branches share: arguments that take either side, and whether what is compiled gives what plain Python gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ufuse

X = np.array([0.5, 0.25, 0.75])
GIVEN = (X, -X, X * 100, -X * 100, X * 0, np.array([np.inf, 1, -1]), np.array([np.nan, 1, 1]))
TIMES = 12  # in turn, until both sides have been seen and a longer graph was made


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives, writes, raises and warns."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: Any = function(*given)
        except Exception as error:  # noqa: BLE001  whatever it is
            result = type(error), str(error)
    said = [(one.category, str(one.message), one.lineno) for one in caught]
    shared = [result is one for one in given]
    return [plain(one) for one in (result, *given)], shared, said


def plain(value: Any) -> Any:
    """A value as what can be compared, to the bit."""
    if isinstance(value, (tuple, list)):
        return type(value), [plain(one) for one in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value), value.dtype, value.shape, value.strides, value.tobytes()
    return type(value), repr(value)


def forks(made: Any) -> int:
    """How many branches are nodes of a graph."""
    return max(str(graph).count("branch") for graph in made.graphs)


def compared(function: Callable[..., Any], times: int = TIMES) -> Any:
    """The function compiled, each call of which gave what plain Python gives."""
    made = ufuse.compile(function)
    for _ in range(times):
        for x in GIVEN:
            assert outcome(made, x) == outcome(function, x)
    return made


def check_where_warnings_are_errors(function: Callable[..., Any]) -> None:
    """Compare a function, as one graph, with itself where Python's own filters make errors of warnings."""
    made = ufuse.compile(function, fullgraph=True)
    for x in GIVEN:
        ends = []
        for one in (made, function):
            given = x.copy()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    result: Any = plain(one(given))
                except RuntimeWarning as warning:
                    result = str(warning)
            ends.append((result, given.tobytes()))
        assert ends[0] == ends[1]

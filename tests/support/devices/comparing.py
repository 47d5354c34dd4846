"""Results of CuPy's, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ufuse


def same(result: Any, wanted: Any) -> bool:
    """Whether two arrays of CuPy's agree in type, shape, strides and every bit."""
    facts = [(type(x), x.dtype, x.shape, x.strides) for x in (result, wanted)]
    return facts[0] == facts[1] and result.get().tobytes() == wanted.get().tobytes()


def check(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function plainly and compiled, twice, without a break; returns the compiled one."""
    compiled = ufuse.compile(function)
    wanted = function(*arguments)
    for _ in range(2):
        result = compiled(*arguments)
        if isinstance(wanted, tuple):
            assert all(map(same, result, wanted))
        else:
            assert same(result, wanted)
    assert compiled.stats.hits
    assert not compiled.breaks
    return compiled


def why_different(result: Any, wanted: Any) -> str | None:
    """Why two results are not the same, containers by their items."""
    if type(result) is not type(wanted):
        return f"a {type(result)} in place of a {type(wanted)}"
    if isinstance(wanted, (tuple, list)):
        if len(result) != len(wanted):
            return "another length"
        return next(filter(None, map(why_different, result, wanted)), None)
    if isinstance(wanted, dict):
        return why_different(list(result.items()), list(wanted.items()))
    if not hasattr(wanted, "strides"):
        return None if result == wanted else f"{result} in place of {wanted}"
    facts = [(one.dtype, one.shape, one.strides) for one in (result, wanted)]
    if facts[0] != facts[1]:
        return f"{facts[0]} in place of {facts[1]}"
    bits = [(one.get() if hasattr(one, "get") else one).tobytes() for one in (result, wanted)]
    return None if bits[0] == bits[1] else "other bits"

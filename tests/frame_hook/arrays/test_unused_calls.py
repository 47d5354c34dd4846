"""Calls whose results nobody uses: what they raise and warn of is seen all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome

# fmt: off
UNUSED = (
    "np.array(300, 'u1')|np.array(-1, dtype='u1')|np.array(v, 'i1')|np.asarray([1, v], dtype='i1')|np.array(1e300, 'f4')|np.array([1e300, 1.0], 'f4')|"
    "np.array(v + 0j, float)|np.array(10**400, float)|np.array([v, 2], dtype='u1')|np.asarray(v, 'u1')|np.concatenate([x, x], dtype='i1', casting='unsafe')|"
    "np.concatenate([x.astype(int), [v]], dtype='f2')|np.stack([x * 1e300, x], dtype='f4', casting='unsafe')|np.arange(v, dtype='i1')|np.full(3, v, 'i1')|"
    "np.matmul(x, x, dtype='f4', casting='unsafe')|np.array([x[0], v], 'i1')"
).split("|")
# fmt: on


@pytest.mark.parametrize("call", UNUSED)
def test_what_is_not_used_raises_and_warns(call: str) -> None:
    """At a first call, at a second, and where other values have it traced anew."""
    function = eval(f"lambda x, v: ({call}, x + 1)[1]", {"np": np})  # noqa: S307  rows of a table
    compiled = ufuse.compile(function)
    for value in (300, 300, -1, 5, 1e300, 2**70):
        for _ in range(2):
            given = np.array([1.0, 2.0, 1e10]), value
            assert outcome(compiled, *given) == outcome(function, *given), value


AFTER_A_WRITE = (
    "np.arange(3, 0, -0.25, dtype='f4')|np.array([1, 2.5], dtype='f4')|np.array([1, 2], dtype=np.intp).cumsum()|np.arange(4, dtype=float)"
).split("|")
LOST = "np.array(1e300, 'f4')|np.array([10**400], 'f4')|np.array([1j], 'f4')|np.array(v, 'f2')|np.array([x[2], v], 'f4')|np.array((1e300, 1.0), 'f4')|np.array((1j,), 'f8')|np.array(((1e300, 1.0), (2.0, v)), 'f2')".split("|")  # fmt: skip


@pytest.mark.parametrize("call", AFTER_A_WRITE + LOST)
def test_what_is_converted_behind_a_write(call: str) -> None:
    """What fits stays in the graph; what does not warns or raises when the write has been seen."""
    source = f"def function(x, v):\n    x[0] += 1\n    return {call}, x"
    names = {"np": np}
    exec(source, names)
    function: Any = names["function"]
    compiled = ufuse.compile(function)
    for value in (5, 5, 1e300):
        given = np.array([1.0, 2.0, 1e39]), value
        wanted = outcome(function, *given)
        assert outcome(compiled, np.array([1.0, 2.0, 1e39]), value) == wanted
    assert call in LOST or not compiled.breaks

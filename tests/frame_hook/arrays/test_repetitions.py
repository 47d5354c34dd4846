"""`np.tile` and `np.pad` with numbers that change from call to call: one graph for all, and NumPy's own arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.glancing import outcome

BASE = np.arange(12.0)
ARRAYS = [
    BASE, BASE[::2], BASE[::-1], BASE[:0], BASE.reshape(3, 4), BASE.reshape(3, 4).T, BASE.reshape(3, 4)[:, ::2],
    np.asfortranarray(BASE.reshape(3, 4)), BASE.reshape(2, 3, 2), BASE.astype("f4"), np.array(3.0), np.broadcast_to(BASE[:3], (4, 3)),
]  # fmt: skip
CALLS: list[Callable[..., Any]] = [
    lambda x, n, _: np.tile(x, n),
    lambda x, n, m: np.tile(x, (n, m)),
    lambda x, n, _: np.tile(x, [2, n, 1]),
    lambda x, n, _: np.pad(x, n),
    lambda x, n, m: np.pad(x, (n, m), "edge"),
    lambda x, n, m: np.pad(x, ((n, m),) * x.ndim, mode="reflect"),
    lambda x, n, m: np.pad(x, [(n, 1)] * x.ndim, constant_values=m),
    lambda x, n, _: np.pad(x, (n,), "wrap") * 2,
]


def laid_out(function: Callable[..., Any], *arguments: Any) -> Any:
    """How the array lies in memory that a call gives; None where it is an error."""
    try:
        result = function(*arguments)
    except (TypeError, ValueError):
        return None
    return result.strides, result.flags.owndata, result.base is None


@pytest.mark.parametrize("call", CALLS)
def test_numbers_that_change(call: Callable[..., Any]) -> None:
    """Of any layout; zero and one, which NumPy does in another way, and negative ones, which are errors."""
    for x in ARRAYS:
        compiled = ufuse.compile(call)
        for n, m in itertools.product((3, 2, 0, 1, 4, -1, 5), (1, 2)):
            expected = outcome(call, x, n, m)
            assert outcome(compiled, x, n, m) == expected, (x.shape, x.strides, n, m)
            assert laid_out(compiled, x, n, m) == laid_out(call, x, n, m)


@pytest.mark.parametrize("call", CALLS)
def test_one_graph_for_all(call: Callable[..., Any]) -> None:
    """Also where the number is a length."""

    def of_length(x: np.ndarray, y: np.ndarray) -> Any:
        return call(x, len(y), y.shape[0]) + 1

    compiled = ufuse.compile(of_length)
    for n in (2, 3, 4, 5, 6):
        x, y = np.arange(4.0), np.zeros(n)
        assert compiled(x, y).tobytes() == of_length(x, y).tobytes()
    assert (compiled.stats.traces, compiled.stats.breaks) == (1, 0)

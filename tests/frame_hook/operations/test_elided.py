"""Operators whose result NumPy writes over a large operand that nobody else has: it has that operand's layout."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, RET504
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same

pytestmark = pytest.mark.any_python


def of_temporaries(x, y):
    return (
        x.T * 2 - y,
        np.exp(x.T) / y,
        y + abs(x.T),
        y - abs(x.T),
        (x.T + 1) % y,
        (x.T * 2 - y).sum(),
    )


def of_locals(x, y):
    turned = x.T * 2
    same = turned
    first = turned - y
    del turned
    return first, same - y, abs(same) - y, y + (same + same), 1 + (same + same) * y


def doubled(a):
    result = a.T * 2
    return result


def of_calls(x, y):
    held = [doubled(x)]
    return doubled(x) - y, held[0] - y, held.pop() - y, sum([x.T + 1, y, y])


def in_loops(x, y):
    kept = []
    for _ in range(3):
        y = x.T * 2.0 - y
        kept.append(y.copy("K"))
    return kept


def of_dtypes(x, y):
    whole = y.astype(int)
    return (
        x.T.astype("f4") * y, x.T * 2 - y.astype("f4"), abs(x.T).astype(int) + whole, (x.T > 0) & (y > 0),
        abs(x.T).astype(int) << whole, (x.T + 1) * y[:1], (x.T * 1j) - y, abs(x.T).astype(int) // (whole + 1),
    )  # fmt: skip


@pytest.mark.parametrize("function", [of_temporaries, of_locals, of_calls, in_loops, of_dtypes])
@pytest.mark.parametrize("size", [40, 181, 300])
def test_layouts_are_numpys(function: Callable[..., Any], size: int) -> None:
    """Of small arrays and of large ones, and so are sums, whose order they decide."""
    rng = np.random.default_rng(1)
    x, y = rng.random((2, size, size)) + 1
    check_same(function, ufuse.compile(function), lambda: (x, y))
    check_same(function, ufuse.compile(function), lambda: (x.T.copy().T, y.T.copy().T))


def difference(x, y):
    return x.T * 2 - y


def test_small_arrays_stay_in_one_graph() -> None:
    """No result is written over one of less than 256 KiB."""
    x, y = np.ones((2, 181, 181))
    compiled = ufuse.compile(difference, fullgraph=True)
    assert compiled(x, y).tobytes() == difference(x, y).tobytes()

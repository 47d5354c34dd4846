"""Parts of arrays that fill their memory at some lengths: what their flags say, and where NumPy copies."""

from __future__ import annotations

from typing import Any

import numpy as np

import ufuse
from tests.support.comparing.compare import check_in_turn

ROWS = [
    (np.arange(float(m * n)).reshape(m, n), k)
    for m, n, k in ((4, 5, 5), (4, 5, 3), (4, 5, 2), (3, 6, 6), (2, 3, 3), (3, 4, 1))
]


def test_flags() -> None:
    """What is as long as the whole axis has no gaps, which the expressions of its length do not tell."""

    def of_parts(x: Any, k: Any) -> Any:
        parts = (
            x[:, :k],
            x[:, x.shape[1] - k :],
            x.T[:k],
            x[:, 1:k],
            x[:k],
            x[::2, :k],
            x[:, None, :k],
        )
        return [(one.flags.c_contiguous, one.flags.f_contiguous) for one in parts]

    check_in_turn(of_parts, ufuse.compile(of_parts), ROWS * 2)


def test_parts_of_parts() -> None:
    """A row of a table with gaps between its rows has none."""

    def of_rows(x: Any, k: Any) -> Any:
        parts = x[0], x[:, k % 2], x[:2], x[:1], x.T
        return [(one.flags.c_contiguous, one.flags.f_contiguous, one.ravel()) for one in parts]

    given = [(x[:, : x.shape[1] - 1], k) for x, k in ROWS]
    check_in_turn(of_rows, ufuse.compile(of_rows), given * 2)


def test_rows() -> None:
    """They are a view where nothing lies between them, else a copy."""

    def of_parts(x: Any, k: Any) -> Any:
        parts = x[:, :k], x[: k + 1], x[:, x.shape[1] - k :], x.T[:k], x[::-1, :k], x[::2, :k]
        return [(one.ravel(), one.reshape(-1), np.ravel(one)) for one in parts]

    check_in_turn(of_parts, ufuse.compile(of_parts), ROWS * 2)

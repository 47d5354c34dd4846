"""Axes of length 1: their strides decide the memory order of copies of what is not contiguous, and of nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import ufuse
from tests.support.comparing.compare import check_same

MEMORY = np.arange(4000.0)


def made(x: Any) -> Any:
    """Whatever keeps an order of axes."""
    return (
        x + 1, np.copy(x), np.copy(x.T), x.astype("f4"), np.array(x), np.zeros_like(x), np.empty_like(x.T).strides,
        np.full_like(x.T, 2), x.T + x.T, x.copy(),
    )  # fmt: skip


def parts(m: Any) -> Any:
    """Views with axes of length 1, made inside."""
    views = [m.T[:1], m[:, :1], m[:1, ::2].T, m[None, :, ::2], m[:, None, ::2].T, m.T[:1, None]]
    return [(y + 1, np.copy(y), np.zeros_like(y), y.astype("f4"), np.copy(y.T)) for y in views]


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (1, 3, 1), (1, 1, 5), (2, 1, 1, 3)])
def test_any_strides_of_single_axes(shape: tuple[int, ...]) -> None:
    """An entry for one array is not used for another whose copies lie otherwise."""
    compiled = ufuse.compile(made)
    plain = np.arange(float(np.prod(shape))).reshape(shape)
    steps = (0, 8, 16, -24, 800)
    arrays = [plain, plain[..., ::-1][..., ::-1]]
    for i, step in enumerate(steps):
        strides = [
            s if n > 1 else steps[i - k]
            for k, (s, n) in enumerate(zip(plain.strides, shape, strict=True))
        ]
        arrays.append(as_strided(MEMORY[2000:], shape, strides))
        arrays.append(
            as_strided(
                MEMORY[2000:],
                shape,
                [2 * s if n > 1 else step for s, n in zip(strides, shape, strict=True)],
            )
        )
    for array in [*arrays, *reversed(arrays)]:
        check_same(
            made, compiled, lambda array=array: (array,), calls=1, copies=False, reset=lambda: None
        )  # type: ignore[misc]


@pytest.mark.parametrize(
    "m",
    [np.arange(12.0).reshape(3, 4), np.asfortranarray(MEMORY[:12].reshape(3, 4)), MEMORY[:24].reshape(8, 3)[::2].T],
    ids=["c", "f", "strided"],
)  # fmt: skip
def test_views_that_a_program_makes(m: Any) -> None:
    """The same of views of arrays of every order."""
    check_same(parts, ufuse.compile(parts), lambda: (m,), calls=3, copies=False)

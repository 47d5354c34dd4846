"""`np.roll` within kernels: the bits, layout and errors of NumPy's own, for all shapes, orders and shifts."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same

pytestmark = pytest.mark.any_python


def stencil(u):
    up, down = np.roll(u, 1, 0), np.roll(u, -1, axis=0)
    left, right = np.roll(u, shift=1, axis=-1), np.roll(u, -2, 1)
    around = up + down + left + right - 4 * u
    return u + around * 0.1, np.roll(u, 0, 0) * 2, np.roll(u, (1, -7), (0, 1)) - u


def folded(u):
    beside = np.roll(u, 3, axis=0) * u
    total = np.roll(u, 1, 1).sum()
    return (
        (u * np.roll(u, 1, axis=-1)).sum(), np.abs(np.roll(u, 5, 1) - u).max(axis=1), (np.roll(u, -1, 0) > u).any(),
        beside.sum(axis=0), (np.roll(u, 2, axis=(0, 1)) + u.mean(axis=1, keepdims=True)).min(), total,
    )  # fmt: skip


def alone(u):
    return (
        np.roll(u, 1, 0),
        np.roll(u, (1, 1, -3), (0, 1, 0)),
        np.roll(u, 5),
        np.roll(u[0], -1) + 1,
        np.roll(u[:, 0], 2),
    )


def beside_sums(u):
    return np.roll(u, 2, 0), (u * u).sum(axis=-1)


def written(u):
    v = np.roll(u, 1, 0) + u
    u += 0.5 * np.roll(u, 2, 1)
    u[:, 1:] = np.roll(u, -1, 1)[:, 1:] + v[:, 1:]
    v[...] = np.roll(v, 1, 0) - u
    return v


def broadcast(u):
    row = u[:1]
    return (
        np.roll(row, 1, 0) + u,
        np.roll(row, 1, 1) * u,
        np.roll(u[0], 2) - u,
        np.roll(u[:, :1], 1, 1) + np.roll(u, 1, 0),
    )


def of_computed(u):
    v = u * 2
    w = np.roll(v, 1, 0) + v
    return np.roll(w, -1, 1) * w, np.roll(np.where(v > 0, v, -w), 2, axis=1) + 1


def deep(u):
    v = u.reshape(u.shape[0], -1, 1) + np.arange(3)
    return v - np.roll(v, 1, axis=2) + np.roll(v, (1, 2), axis=(0, 2)) * np.roll(v, -4, 1)


PROGRAMS = (stencil, folded, alone, beside_sums, written, broadcast, of_computed, deep)
LAYOUTS = {
    "plain": lambda u: u,
    "turned": np.asfortranarray,
    "view": lambda u: np.repeat(np.repeat(u, 2, 0), 3, 1)[::2, 1::3],
    "backwards": lambda u: u[::-1, ::-1],
}


@pytest.mark.parametrize("dtype", ["f8", "u1", "c16"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
@pytest.mark.filterwarnings("ignore")
def test_bits(program: Any, dtype: str) -> None:
    """Of small and larger arrays in every layout, with special numbers among them."""
    if program is written and dtype in ("i8", "u1"):
        pytest.skip("0.5 is added to whole numbers")
    compiled = ufuse.compile(program)
    rng = np.random.default_rng(3)
    for shape in ((4, 5), (1, 7), (6, 1), (40, 300)):
        numbers = (rng.normal(size=shape) * 100).astype(dtype)
        if dtype[0] in "fc":
            numbers.flat[:: max(numbers.size // 6, 1)] = rng.choice([np.nan, np.inf, -0.0, 1e300])
        for name, change in LAYOUTS.items():
            modes = MODES if name == "plain" else MODES[::3]
            check_same(program, compiled, lambda: (change(numbers.copy()),), modes=modes)  # noqa: B023 (called at once)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing(shape: tuple[int, int]) -> None:
    """Empty arrays."""
    for program in (stencil, alone, of_computed):
        if program is alone and 0 in shape:
            continue
        check_same(program, ufuse.compile(program), lambda: (np.zeros(shape),))


@pytest.mark.parametrize("shift", [1, -1, 10**6, -(2**70), True, 2.0, "a", (1, 2), None])
@pytest.mark.parametrize("axis", [0, -1, 5, (0, 0), "a", None])
def test_arguments(shift: object, axis: object) -> None:
    """What NumPy takes, and how it refuses what it does not."""

    def program(u):
        return np.roll(u, shift, axis) + u

    check_same(program, ufuse.compile(program), lambda: (np.arange(12.0).reshape(3, 4),))


def test_one_kernel() -> None:
    """All of a stencil's rolls are operands of the kernel that adds them."""

    def program(u):
        return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u

    compiled = ufuse.compile(program)
    text = str(compiled.trace(ufuse.Spec((None, None), "f8")).source())
    assert text.count("kernel(") == 1
    assert "numpy.roll(" not in text

"""Rolled arrays in native loops: statements over regions give NumPy's bits, whatever is rolled, and how far."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import numpy as np
import pytest

from tests.support.nests.native_loops import native_turns

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")


def diffusion(u, turns):
    for _ in range(turns):
        u = u + 0.1 * (
            np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
        )
    return u


def in_place(u, turns):
    for i in range(turns):
        u += 0.01 * np.roll(u, i, 0)
        u[1:] = (np.roll(u, 2, 1) + u)[1:] * 0.5
        u[...] = np.roll(u, -i, axis=1) * 0.9
    return u


def vectors(u, turns):
    x = u[0].copy()
    total = 0.0
    for i in range(turns):
        before = x
        x = np.roll(x, 1)
        x += np.roll(before * 0.5, -3) * np.roll(x, i)
        total += (np.roll(x, 1) * x).sum() + np.abs(np.roll(x, -1) - x).max()
        x = np.roll(x, 2) / (1 + np.abs(x))
    return x, total, before


def mixed(u, turns):
    v = np.zeros_like(u)
    for i in range(turns):
        row = np.roll(u, i, 1)
        v += np.where(
            np.roll(row, 1, 0) > u, np.roll(u[:1], 1, 1), np.roll(row, (i * 7) % 5 - 2, 0)
        )
        v *= 0.5
        v[:, 0] += np.roll(np.exp(-np.abs(u)), 3, 0)[:, 1] + np.exp(-np.abs(np.roll(u, 1, 1)))[:, 0]
        w = np.roll(v.T, 1, 0)
    return v, w


def whole_numbers(u, turns):
    life = (u > 0).astype(np.int64)
    for _ in range(turns):
        beside = np.roll(life, 1, 1) + np.roll(life, -1, 1)
        rows = life + beside
        around = np.roll(rows, 1, 0) + np.roll(rows, -1, 0) + beside
        life = ((around == 3) | ((life == 1) & (around == 2))).astype(np.int64)
    return life


def kept(u, turns):
    for i in range(turns):
        a = np.roll(u, 1, 0)
        b = np.roll(u, 1, 0).copy()
        c = np.roll(u[i % 3], 2)
        u = a * 0.5 + b * 0.25 + c
    return a, b, c, c.base is None, u


def more_axes(u, turns):
    x, y = u[0].copy(), np.zeros(u.shape[1])
    for i in range(turns):
        t = x * 0.5
        t[:] = np.roll(x[None], i, 1) + u[:1]
        y += t
    return y, t


@pytest.mark.parametrize(
    "program", [more_axes, diffusion, in_place, vectors, mixed, whole_numbers, kept]
)
@pytest.mark.parametrize("shape", [(3, 3), (31, 17)])
def test_bits(program, shape) -> None:
    """Of plain arrays, of views and of odd numbers, more and less than the shifts long."""
    rng = np.random.default_rng(5)
    plain = rng.normal(size=shape)
    odd = plain.copy()
    odd.flat[:: max(plain.size // 5, 1)] = np.inf
    wide = rng.normal(size=(2 * shape[0], 3 * shape[1]))
    for make in (plain.copy, lambda: wide[::2, ::3], lambda: plain.copy()[::-1], odd.copy):
        turns = native_turns(program, lambda make=make: (make(), 400))
        if make == plain.copy and program not in (mixed, in_place) and len(plain) == 31:
            assert turns > 50

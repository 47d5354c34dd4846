"""Attributes of listed objects that are arrays: elements, whole arrays, and what else shares their memory."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, ANN204, D101, D102
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import ufuse
from tests.support.alarms import called_with_alarm, on_alarm
from tests.support.compare import check_same
from tests.support.native_loops import loops_of, native_turns, no_failures_inside
from tests.support.recording import arguments
from tests.support.reference_nests import on_the_reference
from ufuse import decorator

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")

MANY = 2000


class Ball:
    def __init__(self, pos, vel, mass=1.5) -> None:
        self.pos, self.vel, self.mass = pos, vel, mass

    def step(self, dt):
        self.pos += dt * self.vel
        self.vel *= 1 - 0.01 * dt

    def pull(self, other):
        d = other.pos - self.pos
        return d * (other.mass / (np.linalg.norm(d) + 0.1) ** 3)

    @property
    def energy(self):
        return 0.5 * self.mass * self.vel @ self.vel


class Slotted:
    __slots__ = ("mass", "pos", "vel")
    __init__, step, pull, energy = Ball.__init__, Ball.step, Ball.pull, Ball.energy


@dataclass(eq=False)
class Record:
    pos: np.ndarray
    vel: np.ndarray
    mass: float = 1.5
    step, pull, energy = Ball.step, Ball.pull, Ball.energy


KINDS = (Ball, Slotted, Record)


def vectors(count, dtype=float, length=3):
    """Some vectors of one type."""
    return [(np.arange(length) * 0.75 - 0.5 * i + 1).astype(dtype) for i in range(count)]


def some(kind: Any = Ball, count: int = 5, dtype: Any = float, length: int = 3) -> list[Any]:
    """Objects of a class."""
    pairs = zip(
        vectors(count, dtype, length), vectors(count + 2, dtype, length)[2:], strict=True
    )
    return [kind(pos, vel, 1.0 + i) for i, (pos, vel) in enumerate(pairs)]


def state(balls):
    """All that a user sees of some objects."""
    return [(one.pos, one.vel, one.mass) for one in balls]


def elements(balls, dt, steps):
    total = 0.0
    for k in range(steps):
        for b in balls:
            b.pos[0] += b.vel[0] * dt
            b.pos[-1] = b.pos[1] - k * dt
            total += 0.5 * b.mass * (b.vel[0] ** 2 + b.vel[1] ** 2)
    return total, state(balls)


def in_place(balls, dt, steps):
    for _ in range(steps):
        for p in balls:
            p.pos += dt * p.vel
            p.vel *= 0.99
            p.vel[:2] -= dt
    return state(balls)


def pairs(balls, dt, steps):
    for _ in range(steps):
        for i in range(len(balls)):
            for j in range(i + 1, len(balls)):
                d = balls[i].pos - balls[j].pos
                r2 = d @ d + 0.01
                balls[i].vel -= d * (balls[j].mass * dt / r2**1.5)
                balls[j].vel += d * (balls[i].mass * dt / r2**1.5)
        for p in balls:
            p.pos += dt * p.vel
    return state(balls)


def lengths(balls, dt, steps):
    total = 0.0
    for k in range(steps):
        a, b = balls[k % len(balls)], balls[-1 - k % 2]
        d = a.pos - b.pos
        total += (d * d).sum() * dt + np.dot(d, a.vel) - np.linalg.norm(b.vel) + d.max()
        total -= d[0] * d[0] + d[1] * d[1] + a.pos.dot(b.pos) + np.sum(a.vel)
    return total


def in_methods(balls, dt, steps):
    total = 0.0
    for _ in range(steps):
        for p in balls:
            for other in balls:
                if other is not p:
                    p.vel += dt * p.pull(other)
        for p in balls:
            p.step(dt)
            total += p.energy
    return total, state(balls)


def bounced(balls, dt, steps):
    hits = 0
    for _ in range(steps):
        for p in balls:
            p.pos += dt * p.vel
            for k in range(len(p.pos)):
                if p.pos[k] < 0:
                    p.pos[k] = -p.pos[k]
                    p.vel[k] = -p.vel[k]
                    hits += 1
    return hits, state(balls)


def gathered(balls, dt, steps):
    out = np.zeros((len(balls), 3))
    centre = np.zeros(3)
    for _ in range(steps):
        centre[:] = 0
        for i, p in enumerate(balls):
            out[i] = p.pos
            centre += p.pos * p.mass
            x, y, z = p.vel
            out[i, 0] += x * y - z * dt
        for i, p in enumerate(balls):
            p.pos -= 0.01 * dt * (centre - out[i])
            p.vel[:] = np.minimum(p.vel, out[i])
    return out, centre, state(balls)


def kept_across_a_jump(balls, dt, steps):
    for k in range(steps):
        for p in balls:
            p.pos += p.vel if k % 3 else -p.vel
            p.vel *= dt if p.pos[0] > 0 else p.mass
    return state(balls)


PROGRAMS = (
    elements, in_place, pairs, lengths, in_methods, bounced, gathered, kept_across_a_jump,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_programs_are_native_and_the_same(function, kind) -> None:
    """Elements and whole arrays, read and written, of classes that keep attributes inline or in slots."""
    assert native_turns(function, lambda: (some(kind), 0.01, MANY), atoms=False) > MANY // 2


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_reference_does_the_same(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does; nests with such attributes keep the laws, and read back."""
    made = on_the_reference(monkeypatch)
    check_same(
        function, ufuse.compile(function), lambda: arguments(some(), 0.01, 150), atoms=False
    )
    assert sum(one.turns for one in made) > 5
    assert any("1-d arrays of float64" in str(one.nest) for one in made)

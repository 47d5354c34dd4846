"""Simulations whose state lies in the attributes of an object."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


class Heat:
    """The heat equation on a square; the old and the new grid change places."""

    def __init__(self, grid: Array) -> None:
        self.now = grid.copy()
        self.following = grid.copy()
        self.time = 0.0

    def step(self, dt: float) -> None:
        """Go one step in time."""
        now, following = self.now, self.following
        for i in range(1, now.shape[0] - 1):
            for j in range(1, now.shape[1] - 1):
                around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
                following[i, j] = now[i, j] + dt * (around - 4.0 * now[i, j])
        self.now, self.following = following, now
        self.time += dt


def heat_object(grid: Array, steps: int) -> Any:
    """Steps of `Heat`."""
    heat = Heat(grid)
    for _ in range(steps):
        heat.step(0.1)
    return heat.now, heat.time


class Filter:
    """A Kalman filter of positions and velocities."""

    def __init__(self, noise: float) -> None:
        self.state = np.zeros(2)
        self.spread = np.eye(2)
        self.moves = np.array([[1.0, 0.1], [0.0, 1.0]])
        self.sees = np.array([1.0, 0.0])
        self.noise = noise

    def predict(self) -> None:
        """Move on."""
        self.state = self.moves @ self.state
        self.spread = self.moves @ self.spread @ self.moves.T + 1e-3 * np.eye(2)

    def update(self, seen: float) -> None:
        """Take what was seen into account."""
        surprise = seen - self.sees @ self.state
        gain = self.spread @ self.sees / (self.sees @ self.spread @ self.sees + self.noise)
        self.state = self.state + gain * surprise
        self.spread = self.spread - np.outer(gain, self.sees @ self.spread)


def kalman_object(seen: Array) -> Any:
    """What `Filter` makes of positions."""
    kalman = Filter(0.1)
    found = np.empty((len(seen), 2))
    for i in range(len(seen)):
        kalman.predict()
        kalman.update(seen[i])
        found[i] = kalman.state
    return found


class Neuron:
    """A leaky integrate-and-fire neuron that rests after a spike."""

    def __init__(self) -> None:
        self.potential = -70.0
        self.resting = 0
        self.spikes = 0

    def step(self, current: float, dt: float) -> bool:
        """Whether it fires."""
        if self.resting > 0:
            self.resting -= 1
            return False
        self.potential += dt * (-(self.potential + 70.0) + current) / 10.0
        if self.potential < -55.0:
            return False
        self.potential = -75.0
        self.resting = 20
        self.spikes += 1
        return True


def neuron_object(turns: int) -> Any:
    """The times at which a `Neuron` fires."""
    neuron = Neuron()
    fired = []
    for k in range(turns):
        if neuron.step(20.0 + 5.0 * math.sin(k * 0.01), 0.1):
            fired.append(k)  # noqa: PERF401  as people write it
    return fired, neuron.spikes


class Controller:
    """A PID controller, and what it has seen last."""

    def __init__(self, gains: dict[str, float]) -> None:
        self.gains = gains
        self.total = 0.0
        self.last = 0.0

    def __call__(self, error: float, dt: float) -> float:
        """How much to push."""
        self.total += error * dt
        slope = (error - self.last) / dt
        self.last = error
        gains = self.gains
        return gains["p"] * error + gains["i"] * self.total + gains["d"] * slope


def controller_object(aims: Array) -> Any:
    """How a mass follows its aims."""
    controller = Controller({"p": 8.0, "i": 0.5, "d": 2.0})
    place, speed, dt = 0.0, 0.0, 0.01
    places = np.empty(len(aims))
    for k in range(len(aims)):
        speed += (controller(aims[k] - place, dt) - 0.5 * speed) * dt
        place += speed * dt
        places[k] = place
    return places

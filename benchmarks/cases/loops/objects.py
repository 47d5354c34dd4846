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


class Planet:
    """A mass in a plane or in space."""

    def __init__(self, place: Array, speed: Array, mass: float) -> None:
        self.x, self.y, self.z = map(float, place)
        self.vx, self.vy, self.vz = map(float, speed)
        self.mass = mass


def advance(planets: list[Planet], dt: float, steps: int) -> None:
    """Let masses attract one another."""
    for _ in range(steps):
        for i in range(len(planets)):
            one = planets[i]
            for j in range(i + 1, len(planets)):
                other = planets[j]
                dx = one.x - other.x
                dy = one.y - other.y
                dz = one.z - other.z
                pull = dt / (dx * dx + dy * dy + dz * dz + 0.01) ** 1.5
                one.vx -= dx * other.mass * pull
                one.vy -= dy * other.mass * pull
                one.vz -= dz * other.mass * pull
                other.vx += dx * one.mass * pull
                other.vy += dy * one.mass * pull
                other.vz += dz * one.mass * pull
        for planet in planets:
            planet.x += dt * planet.vx
            planet.y += dt * planet.vy
            planet.z += dt * planet.vz


def planet_objects(places: Array, speeds: Array, steps: int) -> Any:
    """Where planets are after some steps."""
    planets = [
        Planet(place, speed, 1.0 + i)
        for i, (place, speed) in enumerate(zip(places, speeds, strict=True))
    ]
    advance(planets, 0.001, steps)
    return [(one.x, one.y, one.z, one.vx, one.vy, one.vz) for one in planets]


class Particle:
    """A ball in a box, which is slowed down."""

    def __init__(self, x: float, v: float) -> None:
        self.x, self.v = x, v
        self.hits, self.alive = 0, True

    def step(self, dt: float) -> None:
        """Move on."""
        self.v -= 0.1 * self.v * dt
        self.x += self.v * dt
        if self.x < 0.0 or self.x > 1.0:
            self.v = -self.v
            self.hits += 1
            self.alive = self.hits < 50


def particle_objects(places: Array, steps: int) -> Any:
    """The energy of balls after each of some steps, and where they are."""
    particles = [Particle(float(x), float(10.0 * x - 5.0)) for x in places]
    energies = []
    for _ in range(steps):
        for particle in particles:
            if particle.alive:
                particle.step(0.01)
        energies.append(sum(0.5 * particle.v**2 for particle in particles))
    return energies, [(one.x, one.v, one.hits, one.alive) for one in particles]


class Body:
    """A mass whose place and speed are vectors."""

    def __init__(self, pos: Array, vel: Array, mass: float) -> None:
        self.pos, self.vel, self.mass = pos, vel, mass

    @property
    def energy(self) -> float:
        """Of its motion."""
        return 0.5 * self.mass * float(self.vel @ self.vel)


def array_bodies(places: Array, speeds: Array, steps: int) -> Any:
    """Masses that attract one another, in vectors of three elements."""
    bodies, dt = (
        [Body(places[i].copy(), speeds[i].copy(), 1.0 + i) for i in range(len(places))],
        0.001,
    )
    for _ in range(steps):
        for i in range(len(bodies)):
            for j in range(i + 1, len(bodies)):
                d = bodies[i].pos - bodies[j].pos
                pull = dt / (d @ d + 0.01) ** 1.5
                bodies[i].vel -= d * (bodies[j].mass * pull)
                bodies[j].vel += d * (bodies[i].mass * pull)
        for body in bodies:
            body.pos += dt * body.vel
    return [(one.pos, one.vel) for one in bodies]


def array_particles(places: Array, speeds: Array, steps: int) -> Any:
    """Particles that fly in a box, in vectors; their energy."""
    particles = [Body(places[i].copy(), speeds[i].copy(), 1.0) for i in range(len(places))]
    dt, total = 0.01, 0.0
    for _ in range(steps):
        for one in particles:
            one.pos += dt * one.vel
            for k in range(3):
                if one.pos[k] < 0.0 or one.pos[k] > 1.0:
                    one.vel[k] = -one.vel[k]
        for one in particles:
            total += one.energy
    return total, [(one.pos, one.vel) for one in particles]


def array_elements(places: Array, speeds: Array, steps: int) -> Any:
    """The same by elements, with a number that is summed."""
    particles = [Body(places[i].copy(), speeds[i].copy(), 1.0) for i in range(len(places))]
    dt, total = 0.01, 0.0
    for _ in range(steps):
        for one in particles:
            one.pos[0] += one.vel[0] * dt
            one.pos[1] += one.vel[1] * dt
            total += 0.5 * one.mass * (one.vel[0] ** 2 + one.vel[1] ** 2)
    return total, [one.pos for one in particles]


def array_bound(places: Array, speeds: Array, steps: int) -> Any:
    """Particles whose attributes are bound to a new array in each step."""
    particles = [Body(places[i].copy(), speeds[i].copy(), 1.0) for i in range(len(places))]
    dt = 0.01
    for _ in range(steps):
        for one in particles:
            one.vel = one.vel * 0.99 - dt * one.pos
            one.pos = one.pos + dt * one.vel
    return [(one.pos, one.vel) for one in particles]

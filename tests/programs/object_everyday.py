"""Everyday numeric programs that keep their arrays in objects: none of them may cost a graph break."""

from __future__ import annotations

import dataclasses
import enum
import math
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tests.support.comparing.registering import Programs


def state() -> Any:
    """What the programs change besides their arguments."""
    return Module.made


def reset() -> None:
    """Put back what the programs change besides their arguments."""
    Module.made = 0


PROGRAMS = Programs(state=state, reset=reset)


def numbers(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Normal random numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


# Layers and optimizers -------------------------------------------------------------------------------------------


class Parameter:
    __slots__ = ("data", "grad", "name")

    def __init__(self, data, name=""):
        self.data = data
        self.grad = np.zeros_like(data)
        self.name = name

    def zero(self):
        self.grad[...] = 0


class Module(ABC):
    made: ClassVar[int] = 0

    def __init__(self):
        type(self).made += 1
        self.training = True

    @abstractmethod
    def forward(self, x): ...

    def __call__(self, x):
        return self.forward(x)

    def parameters(self):
        for value in self.children():
            yield value

    def children(self):
        return []


class Linear(Module):
    def __init__(self, n, m, seed=0):
        super().__init__()
        self.w = Parameter(numbers(n, m, seed=seed), "w")
        self.b = Parameter(np.zeros(m), "b")

    def forward(self, x):
        self.x = x
        return x @ self.w.data + self.b.data

    def backward(self, g):
        self.w.grad = self.w.grad + self.x.T @ g
        self.b.grad = self.b.grad + g.sum(axis=0)
        return g @ self.w.data.T

    def children(self):
        return [self.w, self.b]


class Relu(Module):
    def forward(self, x):
        self.mask = x > 0
        return np.where(self.mask, x, 0.0)

    def backward(self, g):
        return g * self.mask


class Sequential(Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def backward(self, g):
        for layer in reversed(self.layers):
            g = layer.backward(g)
        return g

    def parameters(self):
        for layer in self.layers:
            yield from layer.parameters()


class SGD:
    def __init__(self, parameters, lr=0.1, momentum=0.9):
        self.parameters = list(parameters)
        self.lr = lr
        self.momentum = momentum
        self.velocity = [np.zeros_like(p.data) for p in self.parameters]
        self.steps = 0

    def step(self):
        self.steps += 1
        for i, p in enumerate(self.parameters):
            self.velocity[i] = self.momentum * self.velocity[i] - self.lr * p.grad
            p.data = p.data + self.velocity[i]


class Adam:
    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.parameters = list(parameters)
        self.lr, self.betas, self.eps, self.t = lr, betas, eps, 0
        self.m = {i: np.zeros_like(p.data) for i, p in enumerate(self.parameters)}
        self.v = {i: np.zeros_like(p.data) for i, p in enumerate(self.parameters)}

    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for i, p in enumerate(self.parameters):
            self.m[i] = b1 * self.m[i] + (1 - b1) * p.grad
            self.v[i] = b2 * self.v[i] + (1 - b2) * p.grad**2
            m = self.m[i] / (1 - b1**self.t)
            v = self.v[i] / (1 - b2**self.t)
            p.data -= self.lr * m / (np.sqrt(v) + self.eps)


def network() -> tuple[Any, ...]:
    net = Sequential(Linear(4, 5), Relu(), Linear(5, 2, seed=1))
    return net, SGD(net.parameters()), numbers(6, 4, seed=2), numbers(6, 2, seed=3)


@PROGRAMS.whole(network)
def train_step(net, optimizer, x, y):
    out = net(x)
    error = out - y
    net.backward(2 * error / error.size)
    optimizer.step()
    return (error**2).mean()


@PROGRAMS.whole(lambda: (Linear(4, 3), numbers(5, 4)))
def forward_only(layer, x):
    return layer(x)


def adam_state() -> tuple[Any, ...]:
    layer = Linear(3, 2)
    layer.w.grad = numbers(3, 2, seed=5)
    return (Adam([layer.w, layer.b]),)


@PROGRAMS.either(adam_state)  # where errors are raised step() is looked at for itself
def adam_step(adam):
    adam.step()
    return adam.t


@PROGRAMS.either(lambda: (numbers(4, 3),))
def network_made(x):
    net = Sequential(Linear(3, 2), Relu())
    return net(x), Module.made, [p.name for p in net.parameters()]


# Simulations -----------------------------------------------------------------------------------------------------


@dataclass
class Particles:
    position: Any
    velocity: Any
    mass: Any = 1.0
    time: float = 0.0
    trace: list[Any] = field(default_factory=list)

    def accelerate(self, force, dt):
        self.velocity = self.velocity + force / self.mass * dt

    def drift(self, dt):
        self.position += self.velocity * dt
        self.time += dt

    @property
    def energy(self):
        return 0.5 * (self.mass * (self.velocity**2).sum(axis=-1)).sum()


class Spring:
    stiffness = 2.0

    def __call__(self, particles):
        return -self.stiffness * particles.position


class Damped(Spring):
    def __init__(self, damping):
        self.damping = damping

    def __call__(self, particles):
        return super().__call__(particles) - self.damping * particles.velocity


@PROGRAMS.whole(
    lambda: (Particles(numbers(7, 2), numbers(7, 2, seed=1)), [Spring(), Damped(0.1)], 0.01)
)
def leapfrog(particles, forces, dt):
    for _ in range(3):
        particles.accelerate(sum(force(particles) for force in forces), dt)
        particles.drift(dt)
    particles.trace.append(particles.energy)
    return particles.energy


class Grid:
    def __init__(self, n, spacing=0.1):
        self.u = np.zeros((n, n))
        self.u[n // 2, n // 2] = 1.0
        self.spacing = spacing
        self.step_count = 0

    @property
    def interior(self):
        return self.u[1:-1, 1:-1]

    def laplacian(self):
        u = self.u
        return (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * self.interior
        ) / self.spacing**2

    def diffuse(self, rate, dt):
        self.u[1:-1, 1:-1] += rate * dt * self.laplacian()
        self.step_count += 1
        return self

    def __array__(self, *args):
        raise AssertionError("not asked for")


@PROGRAMS.whole(lambda: (Grid(9), 0.5, 0.001))
def diffusion(grid, rate, dt):
    for _ in range(4):
        grid.diffuse(rate, dt)
    return grid.u.sum(), grid.step_count


class Boundary(enum.Enum):
    FIXED = "fixed"
    PERIODIC = "periodic"


@dataclass(frozen=True)
class Config:
    boundary: Boundary = Boundary.FIXED
    dt: float = 0.01
    speeds: tuple[float, ...] = (1.0, 2.0)


class Wave(NamedTuple):
    u: Any
    v: Any


@PROGRAMS.whole(lambda: (Wave(numbers(8), numbers(8, seed=1)), Config(Boundary.PERIODIC)))
def wave_step(wave, config):
    if config.boundary is Boundary.PERIODIC:
        neighbours = np.concatenate([wave.u[-1:], wave.u[:-1]]) + np.concatenate(
            [wave.u[1:], wave.u[:1]]
        )
    else:
        neighbours = np.zeros_like(wave.u)
    for speed in config.speeds:
        v = wave.v + config.dt * speed * (neighbours - 2 * wave.u)
        wave = Wave(wave.u + config.dt * v, v)
    return wave


# Filters and statistics ------------------------------------------------------------------------------------------


class Kalman:
    def __init__(self, n):
        self.x = np.zeros(n)
        self.p = np.eye(n)
        self.f = np.eye(n) * 0.9
        self.q = np.eye(n) * 0.1
        self.log = []

    def predict(self):
        self.x = self.f @ self.x
        self.p = self.f @ self.p @ self.f.T + self.q

    def update(self, z, r):
        gain = self.p / (self.p.sum(axis=0) + r)
        self.x = self.x + gain @ (z - self.x)
        self.p = self.p - gain @ self.p
        self.log.append(self.x)


@PROGRAMS.whole(lambda: (Kalman(3), numbers(3), 0.5))
def kalman(filter_, z, r):
    filter_.predict()
    filter_.update(z, r)
    return filter_.x


class RunningMean:
    def __init__(self):
        self.n = 0
        self.mean = 0.0

    def add(self, x):
        self.n += 1
        self.mean = self.mean + (x - self.mean) / self.n
        return self


@PROGRAMS.whole(lambda: (RunningMean(), numbers(4), numbers(4, seed=1)))
def running_mean(r, a, b):
    return r.add(a).add(b).mean


@PROGRAMS.whole(lambda: (numbers(4), numbers(4, seed=1)))
def running_mean_made(a, b):
    r = RunningMean()
    for x in (a, b, a + b):
        r.add(x)
    return r


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, scale):
        return Vector(self.x * scale, self.y * scale)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def dot(self, other):
        return self.x * other.x + self.y * other.y

    @property
    def norm(self):
        return np.sqrt(self.dot(self))

    @classmethod
    def zero(cls, like):
        return cls(np.zeros_like(like.x), np.zeros_like(like.y))

    def __repr__(self):
        return f"Vector({self.x}, {self.y})"


@PROGRAMS.whole(
    lambda: (Vector(numbers(5), numbers(5, seed=1)), Vector(numbers(5, seed=2), numbers(5, seed=3)))
)
def vectors(a, b):
    c = 2.0 * a + b * 3 - -b
    total = Vector.zero(a)
    for v in (a, b, c):
        total += v
    return c.norm, total, a.dot(b).sum()


Result = namedtuple("Result", ["value", "gradient", "converged"])


class Quadratic:
    def __init__(self, a, b):
        self.a = a
        self.b = b
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return 0.5 * x @ self.a @ x - self.b @ x

    def gradient(self, x):
        return self.a @ x - self.b


@PROGRAMS.whole(lambda: (Quadratic(np.eye(3) * 2, numbers(3)), np.ones(3)))
def gradient_descent(f, x):
    for _ in range(4):
        x = x - 0.1 * f.gradient(x)
    return Result(f(x), f.gradient(x), True), f.calls


class Schedule:
    def __init__(self, base, warmup=4):
        self.base, self.warmup, self.step = base, warmup, 0

    @property
    def rate(self):
        return self.base * min(1.0, self.step / self.warmup)

    def __next__(self):
        self.step += 1
        return self.rate


@PROGRAMS.whole(lambda: (Schedule(0.5), numbers(3)))
def schedule(s, x):
    return x * next(s) + x * next(s), s.step


class History:
    def __init__(self):
        self.rows = {}
        self.best = None

    def record(self, name, value):
        self.rows.setdefault(name, []).append(value)
        return self

    def __contains__(self, name):
        return name in self.rows

    def __len__(self):
        return len(self.rows)


@PROGRAMS.either(lambda: (numbers(3),))
def history(x):
    h = History()
    h.record("a", x).record("a", x * 2).record("b", 1)
    return h, "a" in h, len(h)


class Image:
    def __init__(self, pixels, *, gamma=2.2):
        self.pixels = pixels
        self.gamma = gamma

    def map(self, function):
        return type(self)(function(self.pixels), gamma=self.gamma)

    def normalized(self):
        return self.map(lambda p: (p - p.min()) / (p.max() - p.min()))

    def corrected(self):
        return self.map(lambda p: p ** (1 / self.gamma))

    def __getitem__(self, key):
        return self.pixels[key]

    @property
    def shape(self):
        return self.pixels.shape


@PROGRAMS.whole(lambda: (Image(np.abs(numbers(6, 6))),))
def image_pipeline(image):
    done = image.normalized().corrected()
    return done[1:3], done.shape, done


class Rotation:
    def __init__(self, angle):
        c, s = math.cos(angle), math.sin(angle)
        self.matrix = np.array([[c, -s], [s, c]])

    def __matmul__(self, other):
        return self.matrix @ other

    def __rmatmul__(self, other):
        return other @ self.matrix


@PROGRAMS.whole(lambda: (Rotation(0.3), numbers(2, 5)))
def rotation(r, points):
    return (r @ points).T.sum(axis=0)


@dataclass(slots=True)
class Window:
    data: Any
    width: int

    def means(self):
        return np.array([self.data[i : i + self.width].mean() for i in range(3)])


@PROGRAMS.either(lambda: (Window(numbers(9), 4),))
def window(w):
    return w.means()


@PROGRAMS.either(lambda: (Config(), numbers(3)))
def replaced_config(config, x):
    return x * dataclasses.replace(config, dt=0.5).dt

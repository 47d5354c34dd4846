"""Arrays inside Python: classes, closures, exceptions, `with`, generators, and effects on what outlives the call."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, D101, D102, PLW0603
# ruff: noqa: TRY301

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections import namedtuple
from enum import Enum, IntFlag
from typing import ClassVar, NamedTuple

import numpy as np

from tests.whole.corpus.arrays import numbers
from tests.whole.corpus.case import Corpus

CORPUS = Corpus()


class Vector:
    """A small class with operators of its own."""

    def __init__(self, data):
        self.data = data

    def __add__(self, other):
        return Vector(self.data + getattr(other, "data", other))

    __radd__ = __add__

    def __mul__(self, factor):
        return Vector(self.data * factor)

    def __neg__(self):
        return Vector(-self.data)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, place):
        return self.data[place]

    def __setitem__(self, place, value):
        self.data[place] = value

    def __contains__(self, value):
        return bool((self.data == value).any())

    def __iter__(self):
        return iter(self.data)

    def __call__(self, x):
        return self.data @ x

    def __bool__(self):
        return bool(self.data.any())

    def __eq__(self, other):
        return isinstance(other, Vector) and bool((self.data == other.data).all())

    def __hash__(self):
        return len(self.data)

    @property
    def norm(self):
        return float(np.sqrt((self.data**2).sum()))

    @norm.setter
    def norm(self, value):
        self.data = self.data * (value / self.norm)

    @classmethod
    def zeros(cls, n):
        return cls(np.zeros(n))

    @staticmethod
    def dot(one, other):
        return one.data @ other.data


class Layer:
    count: ClassVar[int] = 0

    def __init__(self, weights, bias):
        self.weights = weights
        self.bias = bias
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.activate(x @ self.weights + self.bias)

    def activate(self, x):
        return x


class Relu(Layer):
    def activate(self, x):
        return np.maximum(super().activate(x), 0)


class Slotted:
    __slots__ = ("total", "x")

    def __init__(self, x):
        self.x = x
        self.total = 0.0

    def step(self):
        self.total += self.x.sum()
        self.x = self.x * 0.5
        return self


@dataclasses.dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray
    time: float = 0.0
    log: list = dataclasses.field(default_factory=list)

    def advance(self, dt):
        self.velocity = self.velocity - self.position * dt
        self.position = self.position + self.velocity * dt
        self.time += dt
        self.log.append(self.time)


class Pair(NamedTuple):
    low: np.ndarray
    high: np.ndarray

    def width(self):
        return self.high - self.low


Point = namedtuple("Point", "x y")


class Mode(Enum):
    FAST = 1
    EXACT = 2


class Flags(IntFlag):
    A = 1
    B = 2


class Recorder:
    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("in")
        return self.log

    def __exit__(self, kind, error, _):
        self.log.append((kind and kind.__name__, str(error)))
        return self.swallow


class Failure(Exception):
    def __init__(self, x):
        super().__init__("failed", x.shape)
        self.x = x


@contextlib.contextmanager
def scaled(x, factor):
    x *= factor
    try:
        yield x
    finally:
        x /= factor


@CORPUS.case(numbers(3), numbers(3, seed=1))
def operators_of_classes(a, b):
    v, w = Vector(a), Vector(b)
    total = v + w * 2 + 1
    total[0] = 5
    return total.data, -total.data, len(v), v(b), list(w), 5 in total, bool(Vector.zeros(2)), v == w


@CORPUS.case(numbers(3))
def properties(a):
    v = Vector(a)
    before = v.norm
    v.norm = 2.0
    return before, v.norm, Vector.dot(v, v), Vector.zeros(2).data


@CORPUS.case(numbers(2, 3), Relu(numbers(3, 2, seed=1), numbers(2, seed=2)))
@CORPUS.case(numbers(2, 3), Layer(numbers(3, 2, seed=1), numbers(2, seed=2)))
def layers(x, layer):
    first = layer.forward(x)
    second = layer.forward(x + 1)
    return first, second, layer.calls


@CORPUS.case(numbers(4))
def slots(x):
    one = Slotted(x)
    for _ in range(3):
        one.step().step()
    return one.total, one.x


@CORPUS.case(State(numbers(2), numbers(2, seed=1)), 3)
def data_classes(state, steps):
    for _ in range(steps):
        state.advance(0.1)
    other = dataclasses.replace(state, time=9.0)
    return other, dataclasses.astuple(state)[2:], state == other if False else None


@CORPUS.case(numbers(3), numbers(3, seed=1))
def named_tuples(a, b):
    pair = Pair(np.minimum(a, b), np.maximum(a, b))
    low, high = pair
    return (
        pair.width(),
        pair._replace(low=low * 2),
        Point(a, y=b).x is a,
        pair._fields,
        pair[1] is high,
    )


@CORPUS.case(numbers(3), Mode.FAST)
@CORPUS.case(numbers(3), Mode.EXACT)
def enums(x, mode):
    if mode is Mode.FAST:
        return x.astype("f4"), mode.name, Flags.A | Flags.B
    return x, mode.value, Mode(1), Mode["EXACT"], list(Flags)


@CORPUS.case(numbers(3))
def closures(x):
    total = 0

    def add(y):
        nonlocal total
        total = total + y.sum()
        return total

    adders = [lambda y, n=n: y + n for n in range(3)]
    add(x)
    add(x * 2)
    return total, [f(x) for f in adders], functools.reduce(lambda f, g: f + g(x), adders, 0.0)


@CORPUS.case(numbers(3))
def counters(x):
    def counter():
        n = 0

        def step():
            nonlocal n
            n += 1
            return x * n

        return step

    one, other = counter(), counter()
    return one(), one(), other()


@CORPUS.case(numbers(3), 0)
@CORPUS.case(numbers(3), 1)
@CORPUS.case(numbers(3), 2)
@CORPUS.case(numbers(3), 3)
def exceptions(x, kind):
    log = []
    try:
        y = x * 2
        if kind == 0:
            raise Failure(y)
        if kind == 1:
            y[7] = 0
        if kind == 2:
            y + np.zeros(4)
    except Failure as failure:
        log.append(failure.args)
        y = failure.x
    except (IndexError, KeyError) as error:
        log.append(str(error))
        y = x
    except ValueError:
        log.append("shapes")
        raise RuntimeError("no") from None
    else:
        log.append("fine")
    finally:
        log.append("finally")
        x += 1
    return y, log


@CORPUS.case(numbers(3))
def chained_errors(x):
    try:
        x[5]
    except IndexError as error:
        x[0] = -1
        raise KeyError("outer") from error


@CORPUS.case(numbers(3))
def errors_in_handlers(x):
    try:
        x.no_such_name
    except AttributeError:
        x *= 2
        return np.linalg.inv(x)


@CORPUS.case(numbers(3))
def error_of_a_helper(x):
    def check(y, n):
        if y.shape[0] != n:
            raise Failure(y * n)
        return y

    try:
        check(x, 3)
        check(x, 4)
    except Failure as failure:
        return failure.x, failure.__traceback__.tb_lineno, type(failure).__name__


@CORPUS.case(numbers(3))
def finally_returns(x):
    for i in range(3):
        try:
            if i == 1:
                return x * i
        finally:
            x += i
    return None


@CORPUS.case(numbers(3))
def finally_in_loop(x):
    log = []
    for i in range(4):
        try:
            if i == 0:
                continue
            if i == 2:
                break
            log.append(x.sum())
        finally:
            log.append(i)
            x = x + 1
    return log, x


@CORPUS.case(numbers(3))
def with_blocks(x):
    log = []
    with Recorder(log), Recorder(log, swallow=True) as inner:
        inner.append(x.sum())
        x += 1
        raise Failure(x)
    with scaled(x, 2.0) as y:
        log.append(float(y[0]))
    return log, x


@CORPUS.case(np.array([1.0, 0.0]))
def error_states(x):
    with np.errstate(divide="ignore"):
        quiet = 1 / x
    with np.errstate(divide="raise"):
        try:
            1 / x
        except FloatingPointError as error:
            return quiet, str(error)


@CORPUS.case(np.array([1.0, 0.0]))
def caught_warnings(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = 1 / x
        warnings.warn("user", stacklevel=1)
    warnings.warn("outside", UserWarning, stacklevel=2)
    return y, [(w.category.__name__, str(w.message)) for w in caught]

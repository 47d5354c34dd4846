"""Random numbers of Python's `random` in native loops: the same ones, and the generator is where plain Python leaves it."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, D102, S311
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import random
from collections.abc import Callable
from random import choice, randint
from random import random as drawn
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse.graph.semantics.check import GraphError
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest

pytestmark = pytest.mark.any_python

N = 900


@pytest.fixture(autouse=True)
def _state_is_kept():
    before = random.getstate()
    yield
    random.setstate(before)


def inside(n):
    count = 0
    for _ in range(n):
        x = random.random()
        y = random.random()
        if x * x + y * y <= 1.0:
            count += 1
    return 4 * count / n


def whole(n):
    total = 0
    for i in range(n):
        total += random.randint(1, 6) * random.randrange(10) - random.randrange(-5, i + 1)
        total += random.randrange(1 << 40) % 1000 + random.randint(-(1 << 61), 1 << 61) % 7
    return total


def real(n):
    total = 0.0
    for _ in range(n):
        total += random.uniform(-1, 2.5) + random.expovariate(2.0) + random.triangular()
        total += random.normalvariate(0.5, 2) * random.gauss(1, np.float64(0.5)) - random.gauss()
    return total


def imported(n, items):
    total = 0.0
    for _ in range(n):
        total += drawn() * randint(0, 3) + choice(items) - choice([1, -1]) * choice((2, 3, 5))
    return total


def shuffled(n):
    x = list(range(20))
    for _ in range(n):
        random.shuffle(x)
    return x


def metropolis(n):
    x, steps = 0.0, []
    for _ in range(n):
        proposal = x + random.gauss(0, 1)
        if random.random() < math.exp(min(0.0, 0.5 * (x * x - proposal * proposal))):
            x = proposal
        steps.append(x)
    return steps


FUNCTIONS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (inside, (N,)),
    (whole, (N,)),
    (imported, (N, [1.5, 2.5, 4.0])),
    (metropolis, (N,)),
]


def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the state of `random` as it leaves it, after a seed."""

    def run(seed, *arguments):
        random.seed(seed)
        try:
            found = function(*arguments)
        except Exception as error:  # noqa: BLE001  it is compared
            found = type(error), str(error)
        return found, random.getstate()

    return run


def check(function: Callable[..., Any], *arguments: Any) -> None:
    """Compiled it gives what plain Python does, for several seeds; most turns are native."""
    compiled = ufuse.compile(function)
    plain, other = seeded(function), seeded(compiled)
    for seed in range(4):
        assert repr(plain(seed, *arguments)) == repr(other(seed, *arguments)), seed
    assert any(loop.turns for loop in loops_of(compiled))


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: case[0].__name__)
def test_functions_of_the_module(case) -> None:
    """Bits, the state behind the loop, and what `gauss` keeps."""
    function, arguments = case
    check(function, *arguments)


def test_real_numbers_of_every_distribution_in_python_code() -> None:
    """`triangular` has a handler, which turns leave to plain Python where something is raised."""
    check(real, 60)


def test_a_list_is_shuffled() -> None:
    """By the module's own Python code."""
    check(shuffled, 50)


def with_generators(one, other, n):
    total = 0.0
    for _ in range(n):
        total += one.random() - other.gauss(0.0, 1.0) + one.gauss(0.0, 1.0) * other.randint(3, 9)
    return total, one.getstate(), other.getstate()


def test_generators_of_the_program() -> None:
    """Two of them, or one by two names."""

    def two() -> tuple[Any, ...]:
        return random.Random(3), random.Random(4), N

    def same() -> tuple[Any, ...]:
        one = random.Random(5)
        one.gauss(0, 1)  # one more is kept
        return one, one, N

    assert native_turns(with_generators, two) > N
    assert native_turns(with_generators, same) > N


def divided(n, zero):
    total = 0.0
    for i in range(n):
        total += random.gauss(0, 1)
        total += random.randrange(5) / (i - zero)
        total += random.random()
    return total


@pytest.mark.parametrize("zero", [300, 700])
def test_what_is_undone_is_drawn_again(zero) -> None:
    """An error in mid-turn: the generator is where it was at that operation."""
    check(divided, N, zero)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda i: random.randrange(500 - i),
        lambda i: random.randint(i, 500),
        lambda i: random.choice([1, 2] if i < 500 else []),
        lambda i: random.randrange(0, 10 - (i > 500), 1 + (i > 500)),
        lambda i: random.randrange(0, 10, True) + random.randrange(0, 10, 1.0),  # type: ignore[arg-type]
        lambda i: random.gauss(0, 1 if i < 500 else "1"),
    ],
)
def test_arguments_that_raise_or_are_rare(wrong) -> None:
    """In the middle of a loop, with CPython's own messages."""

    def run(n):
        total = 0.0
        for i in range(n):
            total += wrong(i) + random.random()
        return total

    plain, compiled = seeded(run), seeded(ufuse.compile(run))
    for seed in range(3):
        assert repr(plain(seed, N)) == repr(compiled(seed, N))


class Loaded(random.Random):
    """A subclass, whose numbers are its own."""

    def random(self):
        return 0.25


def of_any(rng, n):
    total = 0.0
    for _ in range(n):
        total += rng.random() + rng.uniform(1, 2)
    return total


def test_what_replaces_a_method_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the class, on an object, in the module, by a subclass; before and after the loop became native."""
    compiled = ufuse.compile(of_any)
    assert compiled(random.Random(1), N) == of_any(random.Random(1), N)
    assert compiled(Loaded(1), N) == of_any(Loaded(1), N)
    own = random.Random(1)
    own.random = lambda: 0.5  # type: ignore[method-assign]
    assert compiled(own, N) == of_any(own, N)
    assert compiled(random.Random(1), N) == of_any(random.Random(1), N)
    with monkeypatch.context() as patches:
        patches.setattr(
            random.Random, "uniform", lambda self, low, high: self.random() + low + high
        )
        assert compiled(random.Random(1), N) == of_any(random.Random(1), N)
    assert compiled(random.Random(1), N) == of_any(random.Random(1), N)

    other = ufuse.compile(inside)
    assert seeded(other)(1, N) == seeded(inside)(1, N)
    with monkeypatch.context() as patches:
        patches.setattr(random, "random", lambda: 0.1)
        assert other(N) == inside(N)
    assert seeded(other)(1, N) == seeded(inside)(1, N)
    with monkeypatch.context() as patches:
        patches.setattr(random.Random, "_randbelow", lambda self, n: n - 1)
        assert seeded(ufuse.compile(whole))(1, N) == seeded(whole)(1, N)


def test_an_odd_state_is_left_to_python() -> None:
    """`gauss_next` that is no float."""
    one = random.Random(1)
    compiled = ufuse.compile(with_generators)
    compiled(random.Random(3), random.Random(4), N)
    one.gauss_next = 3  # type: ignore[attr-defined]
    plain, found = (f(_copy(one), random.Random(2), N) for f in (with_generators, compiled))
    assert repr(plain) == repr(found)


def _copy(one: random.Random) -> random.Random:
    made = random.Random()
    made.setstate(one.getstate())
    return made


def test_the_text_of_a_nest_says_whose_generator_it_is() -> None:
    """It reads back; NumPy's generators draw other numbers."""
    compiled = ufuse.compile(metropolis)
    compiled(N)
    (nest,) = {one for loop in loops_of(compiled) for one in loop.nests}
    text = str(nest)
    assert "a generator of Python's random numbers" in text
    assert str(parse_nest(text)) == text
    with pytest.raises(GraphError, match=r"draws no gauss \(law 3\)"):
        check_nest(parse_nest(text.replace("Python's", "NumPy's")))

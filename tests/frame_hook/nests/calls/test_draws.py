"""Random numbers in native loops."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import subprocess
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import loops_of, native_turns
from ufuse import decorator

pytestmark = pytest.mark.any_python

BITS = [np.random.PCG64, np.random.MT19937]


def generator(bits=np.random.PCG64):
    return np.random.Generator(bits(7))


def walk(rng, out):
    level = 0.0
    for i in range(len(out)):
        if rng.random() < 0.3:
            level += rng.normal(0.5, scale=2.0) + rng.standard_normal()
        elif rng.integers(6) == 3:
            level -= rng.exponential(0.1) * rng.standard_exponential()
        else:
            level += rng.uniform(-1, 1) + rng.integers(-3, 4) + rng.normal()
        out[i] = level
    return level, out, rng.random(5), rng.integers(9, dtype=np.int32)


def test_numpys_random_is_not_loaded_for_programs_without() -> None:
    """Importing ufuse loads no module of NumPy's that a program has not asked for."""
    program = (
        "import numpy, sys; before = {*sys.modules}; import ufuse; print(*{*sys.modules} - before)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    )
    assert "ufuse" in done.stdout.split()
    assert "numpy.random" not in done.stdout.split()


@pytest.mark.parametrize("bits", BITS)
def test_every_method(bits) -> None:
    """The numbers are eager's, and so is what the generator gives behind the loop."""
    assert native_turns(walk, lambda: (generator(bits), np.zeros(4000))) > 4000


def annealed(spins, beta, steps, rng):
    size = len(spins)
    for _ in range(steps):
        i, j = rng.integers(0, size), rng.integers(0, size)
        near = (
            spins[i - 1, j] + spins[(i + 1) % size, j] + spins[i, j - 1] + spins[i, (j + 1) % size]
        )
        cost = 2 * spins[i, j] * near
        if cost <= 0 or rng.random() < math.exp(-beta * cost):
            spins[i, j] = -spins[i, j]
    return spins, rng.random()


def test_draws_that_depend_on_draws() -> None:
    """How many there are in a turn depends on what they gave."""

    def make() -> tuple[object, ...]:
        return np.ones((12, 12), np.int64), 0.4, 3000, generator()

    assert native_turns(annealed, make) > 3000


def divided(rng, out):
    for i in range(len(out)):
        out[i] = 1.0 / np.float64(rng.integers(0, 60))
    return out, rng.random()


@pytest.mark.parametrize("policy", ["ignore", "warn", "raise"])
def test_what_is_undone_is_drawn_again(policy) -> None:
    """A turn in doubt, after others in its chunk: the generator is where it was before that turn."""

    def errs(rng, out):
        with np.errstate(divide=policy):
            return divided(rng, out)

    native_turns(errs, lambda: (generator(), np.zeros(900)))


def unfit(rng, scales, out):
    for i in range(len(out)):
        out[i] = rng.normal(0.0, scales[i]) + rng.integers(5, 5 + int(scales[i] > 0))
    return out, rng.random()


def test_parameters_that_raise() -> None:
    """A scale that is negative, in the middle."""
    scales = np.ones(500)
    scales[300] = -1.0
    native_turns(unfit, lambda: (generator(), scales.copy(), np.zeros(500)))


def shared(one, other, out):
    for i in range(len(out)):
        out[i] = one.random() - other.random()
    return out, one.random()


def test_two_variables_of_one_generator() -> None:
    """They draw in turns."""

    def make() -> tuple[object, ...]:
        rng = generator()
        return rng, rng, np.zeros(2000)

    assert native_turns(shared, make) > 2000
    assert native_turns(shared, lambda: (generator(), generator(), np.zeros(2000))) > 2000


def of_model(model, out):
    for i in range(len(out)):
        out[i] = model.rng.random()
    return out


def test_generators_of_objects() -> None:
    """An attribute of an object from outside."""
    assert native_turns(of_model, lambda: (SimpleNamespace(rng=generator()), np.zeros(2000))) > 2000


def draw_many(rng, count):
    total = 0.0
    for _ in range(count):
        total += rng.random()
    return total


def test_a_generator_that_another_thread_uses() -> None:
    """Its lock is held: plain Python waits for it."""
    compiled = ufuse.compile(draw_many)
    for _ in range(3):
        compiled(generator(), 20_000)
    assert sum(one.turns for one in loops_of(compiled))
    rng = generator()
    rng.bit_generator.lock.acquire()
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(compiled(rng, 20_000)))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    rng.bit_generator.lock.release()
    thread.join()
    assert found == [draw_many(generator(), 20_000)]


@pytest.mark.parametrize("bits", [np.random.SFC64, np.random.Philox])
def test_other_bit_generators(bits) -> None:
    """Their states are not followed: the loop says so, and is plain; also where one comes later."""
    compiled = ufuse.compile(draw_many)
    assert compiled(generator(bits), 20_000) == draw_many(generator(bits), 20_000)
    assert "generator by" in loops_of(compiled)[0].why_not

    def draw_more(rng, count):
        total = 0.0
        for _ in range(count):
            total += rng.random()
        return total

    compiled = ufuse.compile(draw_more)
    for _ in range(4):
        compiled(generator(), 20_000)
    assert sum(one.turns for one in loops_of(compiled))
    for kind in (bits, np.random.PCG64, bits):
        assert compiled(generator(kind), 20_000) == draw_many(generator(kind), 20_000)


class Loaded(np.random.Generator):
    """Whose numbers are others."""

    def random(self, *args: object, **keywords: object) -> float:  # type: ignore[override]
        """Less often small."""
        return math.sqrt(super().random(*args, **keywords))  # type: ignore[call-overload]


def test_classes_of_ones_own() -> None:
    """What a subclass draws is its own business."""
    compiled = ufuse.compile(draw_many)
    for kind in (np.random.Generator, Loaded, np.random.Generator, Loaded):
        made = [kind(np.random.PCG64(3)) for _ in range(2)]
        assert compiled(made[0], 20_000) == draw_many(made[1], 20_000)


def test_arrays_of_random_numbers() -> None:
    """They are not followed yet: the loop says what it calls."""

    def noisy(rng, x):
        for _ in range(300):
            x += rng.normal(size=len(x))
        return x

    compiled = ufuse.compile(noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(
            compiled(generator(), np.zeros(300)), noisy(generator(), np.zeros(300))
        )


def test_the_definition_draws_the_same(monkeypatch) -> None:
    """`UFUSE_CHECK=1`: on copies of the generators, which go on alike."""
    monkeypatch.setattr(decorator, "CHECKING", True)
    monkeypatch.setattr(decorator, "MEASURING", False)
    for bits in BITS:
        rng, other = generator(bits), generator(bits)
        compiled = ufuse.compile(walk)
        for _ in range(3):
            assert np.array_equal(compiled(rng, np.zeros(900))[1], walk(other, np.zeros(900))[1])
        assert sum(one.turns for one in loops_of(compiled))


def legacy(state, out):
    for i in range(len(out)):
        out[i] = state.random_sample() + state.rand() * state.uniform(-2, 3)
        out[i] += state.randint(10) - state.randint(-(2**40), 2**40)
    return out, state.normal(), state.randint(5, size=3)


def test_random_states() -> None:
    """NumPy's older generator draws integers in another way."""
    assert native_turns(legacy, lambda: (np.random.RandomState(5), np.zeros(3000))) > 3000


def sampled(rng, x, n, items):
    total, means = 0.0, []
    for _ in range(n):
        part = rng.choice(x, size=len(x), replace=True)
        means.append(part.mean())
        total += rng.choice(x[1:], 3)[0] + rng.choice(len(x), size=4).sum() + rng.choice(x)
        total += rng.choice(items, 2, True, None)[1] + len(rng.choice(x, size=0))
    return np.percentile(means, [2.5, 97.5]), total, part, rng.random()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("items", [(2, 3, 5), (0.5, 1.5)])
def test_samples(make, items) -> None:
    """Several are taken where an array of ints says."""
    assert native_turns(sampled, lambda: (make(3), np.arange(9) * 0.5, 900, items)) > 800


def of_polar(state, n, out):
    for i in range(n):
        out[i] = state.normal() + state.normal(1.0, scale=2.5) * state.randn()
        if i % 3 == 0:
            out[i] -= state.standard_normal() + state.exponential(0.5) + state.exponential()
        out[i] += state.randn(3)[1] + state.normal(0.5, 2.0, size=2).sum()
    return out, state.normal(), state.rand(), state.get_state(legacy=False)["has_gauss"]


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64])
@pytest.mark.parametrize("drawn_before", [0, 1])
def test_normal_numbers_of_random_states(bits, drawn_before) -> None:
    """Two are made at once, and one is kept, before the loop and behind it."""

    def make() -> tuple[object, ...]:
        state = np.random.RandomState(bits(7))
        state.standard_normal(drawn_before)
        return state, 901, np.zeros(901)

    assert native_turns(of_polar, make) > 900


def test_kept_numbers_are_put_back() -> None:
    """A turn that plain Python does again, after others in its chunk, finds the number that was kept."""

    def doubtful(state, out):
        for i in range(len(out)):
            out[i] = state.normal() / np.float64(state.randint(0, 60))
        return out, state.normal(), state.normal()

    with np.errstate(all="ignore"):
        native_turns(doubtful, lambda: (np.random.RandomState(2), np.zeros(900)))


def test_one_state_by_two_names() -> None:
    """A number that one keeps the other gives."""

    def mixed(one, other, out):
        for i in range(len(out)):
            out[i] = one.normal() - 2 * other.normal() + other.normal()
        return out, one.normal()

    def make() -> tuple[object, ...]:
        state = np.random.RandomState(3)
        return state, state, np.zeros(1001)

    assert native_turns(mixed, make) > 1000


def test_shapes_by_keyword() -> None:
    """`rand` and `randn` have none: they raise."""

    def wrong(state, out):
        for i in range(len(out)):
            out[i] = state.normal() if i < 900 else state.randn(size=2)[0]

    native_turns(wrong, lambda: (np.random.RandomState(3), np.zeros(1000)))


def of_the_module(out):
    np.random.seed(3)
    for i in range(len(out)):
        out[i] = np.random.random() + np.random.rand() * np.random.uniform(1, 2)
        out[i] -= np.random.randn() * np.random.normal(1, 2)
        if np.random.randint(0, 6) == 5:
            out[i] = -out[i]
    return out, np.random.normal(), np.random.random()


def test_functions_of_the_module() -> None:
    """They are methods of its own generator, which goes on where eager's would."""
    assert native_turns(of_the_module, lambda: (np.zeros(3000),)) > 2900  # the next is a whole call


def within(rng, limits, out):
    for i in range(len(out)):
        out[i] = rng.uniform(0.0, limits[i])


@pytest.mark.parametrize("limit", [0.0, -0.0])
def test_numbers_between_equal_limits(limit) -> None:
    """A NumPy that looks at the sign of a zero raises."""
    limits = np.ones(3000)
    limits[2900] = limit
    assert native_turns(within, lambda: (generator(), limits, np.zeros(3000))) > 0


def chosen(rng, n, x, items):
    total, k = 0.0, 0
    for i in range(n):
        total += rng.choice(x) * rng.choice((0.5, 2.0)) - rng.choice([-1, 1]) + rng.choice(items)
        total += rng.choice(x[i % 5 :]) + float(rng.choice([x[0], x[1]]))
        k += rng.choice(10) + rng.choice(len(x))
    return total, k, rng.choice([1, 2]), rng.random()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("items", [[3, 4, 5], [0.5, 1.5], [np.float64(1.0), np.float64(2.0)]])
def test_one_of_several(make, items) -> None:
    """As an array has it; of an int one that is below."""
    assert native_turns(chosen, lambda: (make(3), 900, np.arange(9) * 0.5, items)) > 800


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rng, i: rng.choice(500 - i),
        lambda rng, i: rng.choice([1, 2][: 1 + (i < 500)]),
        lambda rng, i: rng.choice(np.zeros(0) if i > 500 else np.ones(3)),
        lambda rng, i: rng.choice([1, 2], size=2)[0] + rng.choice([True, False]),
        lambda rng, i: rng.choice(3, size=2 if i < 500 else 4, replace=i < 500).sum(),
        lambda rng, i: rng.choice(np.eye(2)[i % 2], size=(2, 2), p=None).sum(),
        lambda rng, i: rng.choice([1, 2.5]) + rng.choice([3, 4], p=[0.5, 0.5]),
        lambda rng, i: rng.choice(np.eye(3)).sum() + rng.choice(2.0 if i > 500 else 2),
    ],
)
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_other_choices(make, wrong) -> None:
    """What raises, or has a size or odds, or other types, is NumPy's own call."""

    def run(rng, n):
        total = 0.0
        for i in range(n):
            total += wrong(rng, i) + rng.random()
        return total, rng.random()

    native_turns(run, lambda: (make(5), 700))


def dealt(rng, n, x):
    deck, found = np.arange(n), 0
    for i in range(400):
        rng.shuffle(deck)
        rng.shuffle(x[::2])
        order = rng.permutation(i % 5)
        places = rng.permutation(n)
        mixed = rng.permutation(x[: i % 7 + (i > 7)])
        hand = rng.choice(n, 4, replace=False)
        some = rng.choice(x, size=i % 3 + 1, replace=False)
        found += deck[0] + places[-1] + len(order) + hand[1]
        x[i % n] += some[0] + mixed.sum()
    return found, deck, x, order, places, mixed, hand, some, rng.random(3)


def dealt_by_numpy(n, x):
    np.random.seed(5)
    found = 0
    for i in range(400):
        np.random.shuffle(x)
        places = np.random.permutation(x)
        hand = np.random.choice(n, i % 5 + 1, False)
        some = np.random.choice(x, size=3, replace=False)
        found += places[0] * hand[0] - some[2]
    return found, x, places, hand, some, np.random.random(3)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kind", [np.random.Generator, np.random.RandomState])
def test_shuffles_and_choices_without_repetition(bits, kind) -> None:
    """What is shuffled, what is given, and what the generator gives behind the loop are eager's."""
    turns = native_turns(dealt, lambda: (kind(bits(7)), 12, np.arange(12.0)))
    assert turns > 300


def test_shuffles_by_numpys_own_generator() -> None:
    """The functions of `np.random` are methods of its generator."""
    assert native_turns(dealt_by_numpy, lambda: (9, np.arange(9.0))) > 300


def dealt_oddly(rng, x, many):
    for i in range(300):
        rng.shuffle(x)
        if i == 250:
            return rng.choice(len(x), many, replace=False)
    return x


@pytest.mark.parametrize("many", [0, 7, 20_000])
def test_odd_choices(many) -> None:
    """Of too many there is eager's error, and of very many NumPy chooses in another way."""
    size = 30_000 if many > 10 else 6
    try:
        native_turns(dealt_oddly, lambda: (generator(), np.zeros(size), many))
    except ValueError:
        assert many == 7


def shuffled_rows(rng, x):
    for i in range(200):
        rng.shuffle(x)
        x[i % 4, 0] += rng.permutation(x)[0, 1]
    return x


def test_rows_are_left_to_numpy() -> None:
    """Of several axes it shuffles in another way."""
    assert not native_turns(shuffled_rows, lambda: (generator(), np.arange(8.0).reshape(4, 2)))

"""Generators of random numbers that are made, or begin anew, within a loop or a whole call."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, S311
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import random

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import (
    called,
    check_kept,
    check_whole_call,
    hits,
    native_turns,
)
from ufuse.frame_hook.nests.calls import seeding

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

SEEDS = [0, 1, 12345, 2**32 - 1, 2**32, 2**63 - 1]


# Whole calls ------------------------------------------------------------------------------------------------------


def share(n, seed):
    rng = np.random.default_rng(seed)
    return sum(rng.random() < 0.3 for _ in range(n)), rng.integers(10**6), rng.normal()


def thrown(n, seed):
    rng, counts = np.random.default_rng(seed=seed), {}
    for _ in range(n):
        points = int(rng.integers(1, 7)) + int(rng.integers(1, 7))
        counts[points] = counts.get(points, 0) + 1
    return counts, rng.random()


@pytest.mark.usefixtures("loops_are_left")
@pytest.mark.parametrize("seed", SEEDS)
def test_default_rng_in_whole_calls(seed) -> None:
    """With any int of 64 bits that is not negative."""
    check_whole_call(share, (50, seed))
    check_whole_call(thrown, (50, seed))


def legacy(n, seed):
    np.random.seed(seed)
    return np.array([np.random.randn() for _ in range(n)]), np.random.rand()


def legacy_object(n, seed):
    state = np.random.RandomState(seed)
    return np.array([state.normal(1.0, 2.0) for _ in range(n)]), state.randint(1000)


def of_python(n, seed):
    random.seed(seed)
    return np.array([random.gauss(0.0, 1.0) for _ in range(n)]), random.randint(1, 10**6)


def with_state(function):
    """The function, and what the generators of `np.random` and `random` are then."""

    def given(*arguments):
        found = function(*arguments)
        key, *rest = np.random.get_state()[1:]
        return found, key.tolist(), rest, random.getstate()

    return given


@pytest.mark.usefixtures("loops_are_left")
@pytest.mark.parametrize("function", [legacy, legacy_object, of_python])
@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_others_in_whole_calls(function, seed) -> None:
    """The state that is left behind is eager's, and nothing of what was kept before is."""
    np.random.seed(99)
    np.random.randn()  # of two numbers one is kept
    random.gauss(0, 1)
    check_whole_call(function, (31, seed))
    compiled = called(function, (31, seed))
    before = hits(compiled)
    assert repr(with_state(compiled)(31, seed)) == repr(with_state(function)(31, seed))
    assert hits(compiled) == before + 1


@pytest.mark.usefixtures("loops_are_left")
@pytest.mark.parametrize("seed", [-1, -(2**40), 2**32, 2**63 - 1, True, np.int64(5), np.uint8(3)])
@pytest.mark.parametrize("function", [share, legacy, of_python])
def test_other_seeds(function, seed) -> None:
    """What raises does so; an int that is not Python's, and more than fits, is what eager makes of it."""
    compiled = called(function, (31, 5))
    check_kept(function, compiled, 31, seed)
    check_kept(function, ufuse.compile(function), 31, seed)


# Loops ------------------------------------------------------------------------------------------------------------


def trials(n, m):
    out = np.empty(n)
    for t in range(n):
        rng, total = np.random.default_rng(t), 0.0
        for _ in range(m):
            total += rng.random() + rng.integers(5)
        out[t] = total
    return out


def wandered(seed, n):
    rng, place = np.random.default_rng(seed), 0
    for _ in range(n):
        place += 1 if rng.random() < 0.5 else -1
    return place


def wanderers(n, m):
    out = np.empty(n, int)
    for t in range(n):
        out[t] = wandered(t, m) - wandered(t + 1, m)
    return out


def seeded_turns(n, m):
    out = np.empty((n, 2))
    for t in range(n):
        np.random.seed(t)
        random.seed(t - m)
        out[t] = np.random.randn() + np.random.rand(), random.gauss(0, 1) + random.random()
    return out, np.random.randn(), random.gauss(0, 1)


def handed_on(rng, n):
    for _ in range(n):
        rng = np.random.default_rng(rng)
        rng.random()
    return rng.random()


@pytest.mark.parametrize("function", [trials, wanderers, seeded_turns])
def test_a_turn_has_its_own(function) -> None:
    """Each begins anew with what the turn says."""
    assert native_turns(function, lambda: (300, 5)) > 300


def doubtful(n, x):
    out = np.empty(n)
    for t in range(n):
        rng = np.random.default_rng(t)
        np.random.seed(t)
        out[t] = np.float64(rng.random() + np.random.randn()) / x[t]
    return out, np.random.rand()


def test_a_turn_that_is_in_doubt() -> None:
    """It is done again by plain Python."""
    x = np.ones(300)
    x[[30, 31, 200]] = 0.0
    native_turns(doubtful, lambda: (300, x))


def kept_on(n):
    first = second = np.random.default_rng(0)
    total = 0.0
    for t in range(n):
        first, second = second, np.random.default_rng(t)
        total += first.random() - second.random()
    return total


def given_back(n, seed):
    rng = np.random.default_rng(seed)
    return sum(rng.random() for _ in range(n)), rng


def made_twice(n):
    total = 0.0
    for t in range(n):
        pair = [np.random.default_rng(k) for k in (t, t + 1)]
        total += pair[0].random() - pair[1].random()
    return total


def test_two_of_one_place_are_two() -> None:
    """What the place gave before is used still."""
    native_turns(kept_on, lambda: (300,))
    native_turns(made_twice, lambda: (300,))


@pytest.mark.usefixtures("loops_are_left")
def test_one_that_the_program_gets_is_its_own() -> None:
    """It is another object in each call, whose seed can be asked for."""
    compiled = called(given_back, (40, 3))
    (one, rng), (other, again) = compiled(40, 3), compiled(40, 3)
    assert one == other == given_back(40, 3)[0]
    assert rng is not again
    assert rng.bit_generator.seed_seq.entropy == 3
    assert rng.random() == again.random() == given_back(40, 3)[1].random()


def test_a_generator_that_is_given_on() -> None:
    """`default_rng` of one gives that."""
    native_turns(handed_on, lambda: (np.random.default_rng(3), 300))


@pytest.mark.usefixtures("loops_are_left")
def test_what_replaces_a_function_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the module, and of Python's class."""
    numpys, pythons = called(share, (40, 3)), called(of_python, (40, 3))
    legacys = called(legacy, (40, 3))
    with monkeypatch.context() as patches:
        make = np.random.default_rng
        patches.setattr(np.random, "default_rng", lambda seed: make(seed + 1))
        check_kept(share, numpys, 40, 3)
    with monkeypatch.context() as patches:
        patches.setattr(random.Random, "seed", lambda _, seed: seed)
        random.setstate(random.Random(8).getstate())
        found = repr(with_state(pythons)(40, 3))
        random.setstate(random.Random(8).getstate())
        assert repr(with_state(of_python)(40, 3)) == found
    with monkeypatch.context() as patches:
        patches.setattr(np.random, "seed", lambda _: None)
        np.random.set_state(np.random.RandomState(8).get_state())
        found = repr(with_state(legacys)(40, 3))
        np.random.set_state(np.random.RandomState(8).get_state())
        assert repr(with_state(legacy)(40, 3)) == found


@pytest.mark.usefixtures("loops_are_left")
def test_another_bit_generator_behind_numpys_module() -> None:
    """`np.random.seed` then makes a new one."""
    compiled, before = called(legacy, (40, 3)), np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(1))
    try:
        found = [x.tolist() if type(x) is np.ndarray else x for x in compiled(40, 3)]
        assert found == [x.tolist() if type(x) is np.ndarray else x for x in legacy(40, 3)]
    finally:
        np.random.set_bit_generator(before)


def test_which_functions_make_generators() -> None:
    """By identity: others of their names do not."""
    assert seeding.is_maker(np.random.default_rng)
    assert seeding.is_maker(np.random.RandomState)
    assert not seeding.is_maker(np.random.Generator)
    assert not seeding.is_maker([])

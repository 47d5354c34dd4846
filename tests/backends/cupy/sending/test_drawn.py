"""NumPy's random numbers in code that runs on a GPU: the host draws them, in plain Python's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.near import unlike
from tests.support.devices.sent import is_sent

A = np.random.default_rng(5).normal(size=(6, 7))


def paths(rng: Any, x: Any) -> Any:
    """An array for each draw, and a number."""
    steps = rng.normal(size=x.shape)
    return (
        np.cumsum(x * steps, axis=0),
        rng.uniform(0, 2, size=x.shape[0]) + 1,
        x * rng.random(),
        steps,
    )


def counted(rng: Any, x: Any) -> Any:
    """Whole numbers that are places."""
    places = rng.integers(0, len(x), size=20)
    return x[places] * 2, (rng.random((50, 2)) ** 2).sum(axis=1) < 1


def of_the_module(rng: Any, x: Any) -> Any:
    """NumPy's one generator."""
    return np.exp(x * np.random.rand(6, 7)) + np.random.standard_normal(7)


def written(rng: Any, x: Any) -> Any:
    """What is drawn is written."""
    noise = rng.normal(size=x.shape)
    noise *= 0.5
    x += noise
    return noise


@pytest.mark.parametrize("function", [paths, counted, of_the_module, written])
def test_what_is_drawn(host: Host, function: Callable[..., Any]) -> None:
    """The same numbers, call for call, and the generators stand where plain Python leaves them."""
    compiled, results = ufuse.compile(function, backend="cupy"), []
    for called in (compiled, function):
        rng, x = np.random.default_rng(9), A.copy()
        np.random.seed(4)
        found = [called(rng, x) for _ in range(3)]
        results.append([found, x, rng.normal(), np.random.rand()])
    assert unlike(*results) is None
    assert is_sent(compiled)
    assert compiled.stats.hits


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_put_back(host: Host, make: Callable[[int], Any]) -> None:
    """Where plain Python runs behind the draws, it draws the same numbers."""

    def picked(rng: Any, x: Any, i: Any) -> Any:
        noise = rng.normal(size=i.size)
        return x[i] + noise

    x, i = np.arange(6.0), np.array([0, 3, -1])
    compiled = ufuse.compile(picked, backend="cupy")
    states = []
    for called in (compiled, picked):
        rng = make(3)
        rng.normal()  # RandomState keeps another one
        found = [called(rng, x, i)]
        with pytest.raises(IndexError):
            called(rng, x, i + 9)
        found.append(called(rng, x, i))
        states.append([found, rng.normal()])
    assert unlike(*states) is None
    assert is_sent(compiled)


def test_draws_with_what_is_computed(host: Host) -> None:
    """The CPU does all of it."""
    compiled = ufuse.compile(lambda rng, x: rng.normal(x * 2) + 1, backend="cupy")
    for _ in range(2):
        assert (
            compiled(np.random.default_rng(1), A).tobytes()
            == (np.random.default_rng(1).normal(A * 2) + 1).tobytes()
        )
    assert not is_sent(compiled)

"""Stores of what masks pick: one pass in which nothing is counted or packed, where each element is computed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.captured import launched
from tests.support.devices.comparing import same

RNG = np.random.default_rng(31)
Store = Callable[[Any, Any, Any], None]


def added(z: Any, x: Any, m: Any) -> None:
    z[m] += 1


def taken(z: Any, x: Any, m: Any) -> None:
    z[m] = x[m]


def computed(z: Any, x: Any, m: Any) -> None:
    z[m] = x[m] * 2 - z[m] ** 2


def of_its_values(z: Any, x: Any, m: Any) -> None:
    z[z > 0.5] = x[z > 0.5] + 1


def twice(z: Any, x: Any, m: Any) -> None:
    z[m] *= x[m]
    z[~m] -= x[~m]


def packed(z: Any, x: Any, m: Any) -> None:
    part = x[m]
    part += 2
    part *= part
    z[m] = part


def in_other_dtypes(z: Any, x: Any, m: Any) -> None:
    z[m] = x[m].astype("f4") + z[m].astype("f2")


def of_its_own_other_end(z: Any, x: Any, m: Any) -> None:
    z[m] = x[::-1][m]


def of_one_element(z: Any, x: Any, m: Any) -> None:
    z[m] = x[m] - x[-1:, -1:].sum()


ONE: list[Store] = [
    added, taken, computed, of_its_values, twice, packed, in_other_dtypes, of_its_own_other_end,
]  # fmt: skip


def ordered(z: Any, x: Any, m: Any) -> None:
    z[m] = np.cumsum(x[m])


def turned(z: Any, x: Any, m: Any) -> None:
    z[m] = x[m][::-1]


def moved(z: Any, x: Any, m: Any) -> None:
    part = x[m]
    x[:] = 7
    z[m] = part


def moved_masks(z: Any, x: Any, m: Any) -> None:
    part = x[m]
    m[:] = ~m
    m[:] = ~m
    z[m] = part


def of_what_it_wrote(z: Any, x: Any, m: Any) -> None:
    part = z[m]
    z[0, 0] = 9
    z[m] = part * 2


def into_parts(z: Any, x: Any, m: Any) -> None:
    part = x[m]
    part[1:] += 1
    z[m] = part


def of_numbers(z: Any, x: Any, m: Any) -> None:
    z[m, ...] = 2
    z[m, ...] = x[0, 0]
    z[m, ...] = x[m, ...]
    z[m, ...] = x[m] * 0 + 1j.imag


def centred(z: Any, x: Any, m: Any) -> None:
    z[m] = x[m] - x[m].mean()


OTHERS: list[Store] = [
    of_one_element, ordered, turned, moved, moved_masks, of_what_it_wrote, into_parts, of_numbers, centred,
]  # fmt: skip


def storing(store: Store) -> Callable[[Any, Any, Any], Any]:
    """A function that stores into an array of its own, and one that writes its argument."""

    def function(x: Any, y: Any, m: Any) -> Any:
        z = y * 1
        store(z, x, m)
        return z

    return function


def agree(
    function: Callable[..., Any], compiled: Any, arguments: Callable[[], tuple[Any, ...]]
) -> None:
    """Compare results and arguments of some calls."""
    for _ in range(2):
        one, other = arguments(), arguments()
        wanted, found = function(*one), compiled(*other)
        assert wanted is found is None or same(found, wanted)
        assert all(map(same, other, one))


@pytest.mark.parametrize("store", ONE, ids=lambda store: store.__name__)
def test_one_launch(host: Host, store: Store) -> None:
    """Of arrays in any order; an array of the graph's own, and one that the caller sees."""
    cp, function = host.cupy, storing(store)
    numbers, more, mask = (
        RNG.normal(size=(5, 4)),
        RNG.normal(size=(5, 4)),
        RNG.normal(size=(5, 4)) > 0,
    )
    for which in (store, function):
        compiled = ufuse.compile(which)
        for order in (
            lambda x: x,
            cp.asfortranarray,
            lambda x: x[::-1],
            lambda x: x[:0],
        ):
            agree(
                which,
                compiled,
                lambda o=order: tuple(o(cp.asarray(one)) for one in (numbers, more, mask)),
            )  # type: ignore[misc]
        assert not compiled.breaks
    given = [cp.asarray(one) for one in (numbers, more, mask)]
    compiled.reset()
    for _ in range(2):
        compiled(*given)
    assert launched(host, compiled, *given) == 1, compiled.graphs[0].source("cupy")


@pytest.mark.parametrize("store", OTHERS, ids=lambda store: store.__name__)
def test_what_is_not_of_each_element_alone(host: Host, store: Store) -> None:
    """Packed elements that change places, or that were others when they were picked, are CuPy's own."""
    cp = host.cupy
    numbers, more, mask = (
        RNG.normal(size=(5, 4)),
        RNG.normal(size=(5, 4)),
        RNG.normal(size=(5, 4)) > 0,
    )
    for which in (store, storing(store)):
        compiled = ufuse.compile(which)
        agree(which, compiled, lambda: tuple(map(cp.asarray, (numbers, more, mask))))


@pytest.mark.parametrize(
    "store", [added, taken, computed, twice, packed], ids=lambda store: store.__name__
)
def test_masks_of_rows(host: Host, store: Store) -> None:
    """A mask of the first axes picks whole rows."""
    cp, function = host.cupy, storing(store)
    compiled = ufuse.compile(function)
    numbers, more, mask = RNG.normal(size=(5, 4)), RNG.normal(size=(5, 4)), RNG.normal(size=5) > 0
    agree(function, compiled, lambda: tuple(map(cp.asarray, (numbers, more, mask))))
    given = tuple(map(cp.asarray, (numbers, more, mask)))
    most = 1 + (store is twice)  # the other mask is computed for its own elements
    assert launched(host, compiled, *given) == most, compiled.graphs[0].source("cupy")


@pytest.mark.parametrize(
    ("into", "of"), [tuple(one) for one in "dd fd df id ed lB Dd Ff bq ?d".split()]
)
def test_every_dtype(host: Host, into: str, of: str) -> None:
    """Values are cast as a store casts them."""
    cp = host.cupy

    def function(x: Any, z: Any, m: Any) -> Any:
        z[m] = x[m] + x[m]
        return z

    compiled = ufuse.compile(function)
    numbers = (RNG.normal(size=12) * 20).astype(of)
    targets, mask = (RNG.normal(size=12) * 20).astype(into), RNG.normal(size=12) > 0
    agree(function, compiled, lambda: tuple(map(cp.asarray, (numbers, targets, mask))))
    assert not compiled.breaks


def test_a_mask_of_another_length(host: Host) -> None:
    """CuPy's own error."""
    cp = host.cupy
    function = storing(taken)
    compiled = ufuse.compile(function)
    x, m = cp.asarray(RNG.normal(size=5)), cp.asarray(np.arange(4) > 1)
    for called in (function, compiled, compiled):
        with pytest.raises(IndexError):
            called(x, x, m)


def test_what_is_picked_may_be_used_twice(host: Host) -> None:
    """Stored, and given back as it is."""
    cp = host.cupy

    def function(x: Any, z: Any, m: Any) -> Any:
        part = x[m] * 2
        z[m] = part
        return part

    compiled = ufuse.compile(function)
    given = RNG.normal(size=9), RNG.normal(size=9), RNG.normal(size=9) > 0
    agree(function, compiled, lambda: tuple(map(cp.asarray, given)))

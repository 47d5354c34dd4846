"""Numbers and arrays that the host reads: the read is part of a graph, at which it waits as eager CuPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.restated import check_restated

RNG = np.random.default_rng(41)
A = RNG.normal(size=(5, 4))


def normalised(cp: Any, x: Any) -> Any:
    total = float((x * x).sum())
    return x / total, total


def scaled(cp: Any, x: Any) -> Any:
    most = cp.abs(x).max().item()
    return x * most + 1, most, cp.sum(x > 0.5).item() * 2


def converted(cp: Any, x: Any) -> Any:
    total = x.sum()
    return int(total), float(total), bool(total), complex(total), float(x.argmax()), int(x.argmin())


def written_between(cp: Any, x: Any) -> Any:
    x += 1
    most = float(x.max())
    x *= most
    x[0] = most
    return most, x.min().item()


def fetched(cp: Any, x: Any) -> Any:
    y = x * 2 + 1
    rows = cp.asnumpy(y)
    y += 1
    return rows, rows[1:], y.get(), x.sum().get(), float(x.max().get()), y


def fetched_and_used(cp: Any, x: Any) -> Any:
    rows = (x.T * 2).get()
    return rows * 2, rows.sum(), np.sqrt(float(x.sum() ** 2)) * x


def compared(cp: Any, x: Any) -> Any:
    least = float(x.min())
    return least < 0, least <= np.float64(0.5), x.max().item() != 3


def one_element(cp: Any, x: Any) -> Any:
    return x[:1, :1].item() + 1, x[1, 2].item(), bool(x[0, :1] > 0), x[2, 3].get() is None


def read_twice(cp: Any, x: Any) -> Any:
    y = x.copy()
    before = float(y[0, 0])
    y[0, 0] = 7
    after = float(y[0, 0])
    return before, after, before + after


FUNCTIONS = [
    normalised, scaled, converted, written_between, fetched, fetched_and_used, compared, one_element, read_twice,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_what_is_computed_of_numbers(host: Host, function: Callable[..., Any], dtype: str) -> None:
    """Bits, types and waits are eager CuPy's, on the first call, the next ones, and after a retrace."""
    if function is written_between and dtype not in ("f8", "f4"):
        pytest.skip("its stores need floats")
    cp = host.cupy
    array = abs(A * 3).astype(dtype)
    check_restated(host, lambda x: function(cp, x), lambda: (cp.asarray(array),))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_they_are_in_one_graph(host: Host, function: Callable[..., Any]) -> None:
    """But for work of NumPy's with what was fetched, before which a graph ends."""
    cp = host.cupy
    compiled = ufuse.compile(lambda x: function(cp, x))
    for _ in range(3):
        compiled(cp.asarray(A))
    if function is fetched_and_used:
        assert "of NumPy's, on what was read from a device" in str(compiled.breaks[0])
    else:
        assert not compiled.breaks
        assert len(compiled.graphs) == 1
    assert compiled.stats.hits == 2


def test_launches_that_wait_are_handed_over_first(host: Host) -> None:
    """What is read is what the kernels in front of it have computed, however late a device does its work."""
    cp = host.cupy

    def several(x: Any) -> Any:
        y = x[1:] * 2 - x[:-1]
        y[:3] = 5
        z = y[::2] + 1
        z[1] = y[0]
        total = float(z.sum())
        y[1:4] = total
        return total, y, float(y[2]) + 1

    for _ in range(2):
        compiled = check_restated(host, several, lambda: (cp.linspace(0.0, 1.0, 101),))
        assert len(compiled.graphs) <= 2
    with host.device.working_late():
        found, wanted = compiled(cp.linspace(0.0, 1.0, 101)), several(cp.linspace(0.0, 1.0, 101))
    assert (found[0], found[2]) == (wanted[0], wanted[2])


def branched(x: Any) -> Any:
    if (x > 2).any():
        return x * 2
    return x + 1


def refined(x: Any) -> Any:
    error, turns = 1.0, 0
    while error > 1e-3:
        x = x * 0.5
        error = float(abs(x).max())
        turns += 1
    return x, error, turns


def left(x: Any) -> Any:
    turns = 0
    for turns in range(50):  # noqa: B007  it is given
        before = x
        x = (x + 2 / x) / 2
        if abs(x - before).max() < 1e-6:
            break
    return x, turns


def asserted(x: Any) -> Any:
    if not (abs(x) < 1e9).all():
        raise ValueError("a large one")
    y = x * 2
    return (y if not x.sum() else y + 1), (x.max() > 0 and y.min() < 9).item()


def chosen(x: Any) -> Any:
    total = float(x.sum())
    factor = 2.0 if total > 60 else total * 0.5
    return x * factor, factor, total


def placed(x: Any) -> Any:
    place = int(x[:, 0].argmax())
    return x[place] * 2, x[:place], x[int(x[0].argmin()), 1]


def bits(found: Any) -> Any:
    """What is compared: of arrays the bytes."""
    if isinstance(found, tuple):
        return [bits(one) for one in found]
    return type(found), found.get().tobytes() if hasattr(found, "get") else found


@pytest.mark.parametrize(
    "function", [branched, refined, left, asserted, chosen, placed], ids=lambda one: one.__name__
)
def test_branches_on_what_is_computed(host: Host, function: Callable[..., Any]) -> None:
    """Python's branches on numbers and arrays are choices at which graphs end, or sides that are taken for granted."""
    cp = host.cupy
    for array in (abs(A) + 0.5, abs(A) + 3):
        check_restated(host, function, lambda array=array: (cp.asarray(array),))
    compiled = ufuse.compile(function)
    for number in range(60):
        x = cp.asarray(abs(A) + (3 if number % 7 == 0 else 0.1))
        found, wanted = compiled(x), function(x)
        assert bits(found) == bits(wanted)
    assert compiled.stats.hits > 50
    assert len(compiled.graphs) < 16


RAISING = [
    lambda x: float(x) * 2,
    lambda x: x.item() + 1,
    lambda x: int((x * np.nan).sum()),
    lambda x: 1 if x else 2,
    lambda x: x.get(order="Q"),
]


@pytest.mark.parametrize("function", RAISING)
def test_errors(host: Host, function: Callable[..., Any]) -> None:
    """What has several elements is no number; a NaN is no whole one: eager's words."""
    x = host.cupy.asarray(A)
    compiled = ufuse.compile(function)
    for _ in range(3):
        with pytest.raises((TypeError, ValueError)) as plain:
            function(x)
        with pytest.raises(type(plain.value)) as ours:
            compiled(x)
        assert str(ours.value) == str(plain.value)


def test_a_number_that_does_not_fit(host: Host) -> None:
    """Plain Python runs where one that was computed is too large for single precision, and warns as eager does."""
    cp = host.cupy

    def large(x: Any) -> Any:
        return x * (float(x.max()) * 1e30)

    compiled = ufuse.compile(large)
    for value in (1.0, 1.0, 1e20, 1.0):
        x = cp.full(3, value, "f4")
        with np.errstate(all="ignore"):
            assert compiled(x).get().tobytes() == large(x).get().tobytes()


def test_numbers_in_front_of_what_is_written(host: Host) -> None:
    """One that may not fit does not keep a graph from running that writes behind it."""
    cp = host.cupy

    def counted(x: Any, y: Any) -> Any:
        count = int((x > 0).sum()) + len(x)
        z = y * (count * 3)
        x *= count
        x += len(y) * 2
        return z

    compiled = ufuse.compile(counted)
    for _ in range(3):
        found, wanted = (cp.asarray(A), cp.ones(3, "f4")), (cp.asarray(A), cp.ones(3, "f4"))
        assert bits(compiled(*found)) == bits(counted(*wanted))
        assert bits(found) == bits(wanted)
    assert compiled.stats.hits == 2


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_products_behind_what_is_written(host: Host, dtype: str) -> None:
    """Those of real numbers, and means, stand behind a store into an argument in the same graph."""
    cp = host.cupy

    def written(x: Any, y: Any) -> Any:
        x += 1
        y[0] = x[0, 0]
        return x @ y, cp.dot(x.T, x), x.mean(axis=0), float(y.std())

    compiled = ufuse.compile(written)
    for _ in range(3):
        found, wanted = ((cp.asarray(A.astype(dtype)), cp.ones(4, dtype)) for _ in range(2))
        assert bits(compiled(*found)) == bits(written(*wanted))
        assert bits(found) == bits(wanted)
    assert compiled.stats.hits == 2
    assert not compiled.breaks


def test_arrays_that_are_fetched_twice(host: Host) -> None:
    """Each is an array of its own, which may be written."""
    x = host.cupy.asarray(A)
    compiled = ufuse.compile(lambda x: (x.get(), x.get(), x.T.get()))
    for _ in range(3):
        first, second, turned = compiled(x)
        first[0] = 7
        assert second.tobytes() == A.tobytes()
        assert (turned.strides, turned.flags.owndata) == (x.T.get().strides, True)


def test_the_host_waits_once_for_each(host: Host) -> None:
    """As often as eager CuPy, where each number is asked for once; equal ones are read once."""
    cp = host.cupy

    def several(x: Any) -> Any:
        first = float(x.sum())
        return first + x.max().item(), x * first, (x * 2).get()

    compiled = ufuse.compile(several)
    for _ in range(3):
        with host.device.counting() as counts:
            compiled(cp.asarray(A))
    assert counts["synchronize"] == 3

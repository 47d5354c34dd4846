"""Maps whose threads take several elements at once: eager CuPy's bits at every length, alignment and order of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.comparing import same
from tests.support.devices.kinds import mapped, stored

SIZES = (1, 2, 3, 4, 5, 31, 127, 512, 513, 4099)
RNG = np.random.default_rng(43)


@pytest.fixture
def launch(host: Host, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Launching in which few elements are enough for threads to take several."""
    from ufuse.backends.cupy.launching import launch  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(launch, "TAKES_FEW", 1)
    ufuse.compile(mapped).reset()
    return launch


def texts(host: Host, function: Callable[..., Any]) -> list[str]:
    """The kernels of a function in which threads take several elements."""
    name = f" ufuse_{function.__name__}("
    return [
        text.source
        for text in host.compiler.texts.values()
        if name in text.source and "ufuse_pack" in text.source
    ]


def two_results(cp: Any, x: Any, y: Any) -> Any:
    """Of other types, one of them not written by arithmetic."""
    z = x * y + 1
    return z, z > x, (z - y).astype("f8"), x // 3 if x.dtype.kind in "iu" else cp.exp(z)


def in_place(cp: Any, x: Any, y: Any) -> Any:
    """What is written is read before."""
    x *= 2
    x += y
    x -= 1
    return x


def check(host: Host, function: Callable[..., Any], *given: Any) -> None:
    """Compare with eager CuPy in each order of threads; arguments may be written."""
    compiled = ufuse.compile(function)
    for size in SIZES:
        plain = [part(size) for part in given]
        wanted = function(host.cupy, *plain)
        compiled(host.cupy, *[part(size) for part in given])
        for order in ORDERS:
            arrays = [part(size) for part in given]
            with host.driver.running(order):
                found = compiled(host.cupy, *arrays)
            pairs = zip((*arrays, *results_of(found)), (*plain, *results_of(wanted)), strict=True)
            for place, pair in enumerate(pairs):
                assert same(*pair), (size, order, place)
    assert compiled.stats.hits
    assert not compiled.breaks


def results_of(found: Any) -> tuple[Any, ...]:
    """One result or several."""
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("dtypes", ["ff", "dd", "fd", "bb", "Hi", "dl", "?f"])
def test_lengths_and_dtypes(host: Host, launch: Any, dtypes: str) -> None:
    """The elements behind the last whole pack are computed and written, and none behind those."""
    one, other = (numbers(host, dtype) for dtype in dtypes)
    check(host, two_results, one, other)
    if dtypes[0] == dtypes[1]:
        check(host, in_place, one, other)
    assert texts(host, two_results)


def numbers(host: Host, dtype: str) -> Callable[[int], Any]:
    """What makes arrays of a dtype, the same at each call."""
    values = RNG.integers(0, 2 if dtype == "?" else 9, max(SIZES)).astype(dtype)
    return lambda size: host.cupy.asarray(values[:size])


def test_memory_that_is_not_aligned(host: Host, launch: Any) -> None:
    """Such arrays, and those whose elements lie otherwise, are taken one by one."""
    whole = numbers(host, "f")
    compiled = ufuse.compile(mapped)
    x = whole(4099)
    for one in (x[1:], x[2:-1], x[::2], x[::-1], x[4:], x):
        wanted = mapped(host.cupy, one, one * 2)
        for _ in range(2):
            assert all(map(same, compiled(host.cupy, one, one * 2), wanted))
    assert texts(host, mapped)
    other = ufuse.compile(stored)
    rows = numbers(host, "d")(600).reshape(3, 200)
    for one in (rows, rows[:, 1:], rows.T.copy().T):
        wanted = stored(host.cupy, one, one * 2)
        for _ in range(2):
            assert all(map(same, other(host.cupy, one, one * 2), wanted))


def test_which_kernels_take_several(host: Host, launch: Any) -> None:
    """Complex numbers, half precision and very long kernels do not; few elements are not worth it."""
    from ufuse.backends.cupy.steps.rules import plan_of  # noqa: PLC0415  only where CuPy is
    from ufuse.backends.cupy.texts.vectors import few_of  # noqa: PLC0415  the same

    def few(function: Callable[..., Any], *dtypes: str) -> int:
        specs = [ufuse.Spec((None,), dtype, device="cuda") for dtype in dtypes]
        graph = ufuse.compile(function).trace(*specs)
        (kernel,) = [step.kernel for step in plan_of(graph._captured).steps if step.kernel]
        return few_of(kernel)

    def long(x: Any) -> Any:
        for _ in range(60):
            x = x * 0.5 + 1
        return x

    assert few(lambda x: x * 2 + 1, "f4") == 4
    assert few(lambda x: x * 2 + 1, "f8") == 2
    assert few(lambda x, y: x * y + 1, "f4", "f8") == 4
    assert few(lambda x: x * 2 > 1, "f8") == 4
    assert few(lambda x: x * 2 + 1, "i1") == 4
    assert few(lambda x: x * 2 + 1, "c8") == few(lambda x: x * 2 + 1, "f2") == few(long, "f4") == 1

"""Maps whose threads take several elements of rows: eager CuPy's bits for every length and layout, in every order of threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.comparing import same

RNG = np.random.default_rng(61)
LENGTHS = (64, 65, 96, 127, 128, 129, 255, 257)  # of rows: so long ones are taken so
SHAPES = (
    *((4, length) for length in LENGTHS),
    (67, 65),
    (129, 130),
    (35, 257),
)  # many rows are in blocks together


@pytest.fixture(autouse=True, params=["from C", "from Python"])
def _takes_few(host: Host, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Few elements are enough for threads to take several."""
    from ufuse.backends.cupy.launching import launch, native  # noqa: PLC0415  only where CuPy is
    from ufuse.backends.cupy.texts import tiles  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(launch, "TAKES_FEW", 1)
    monkeypatch.setattr(tiles, "WARPS", 7)
    if request.param == "from Python":
        monkeypatch.setattr(native, "why_not", lambda: "the test says so")


def tiles(host: Host, function: Callable[..., Any]) -> list[str]:
    """The kernels of a function in which threads take elements of rows."""
    name = re.compile(rf"\sufuse_{function.__name__}\(")
    found = [text.source for text in host.compiler.texts.values() if name.search(text.source)]
    return [source for source in found if "tile <" in source]


def mixed(x: Any, y: Any) -> Any:
    """Several results of other types."""
    z = x * 3 + y
    return z, z > x, abs(z - y)


def in_place(x: Any, y: Any) -> Any:
    """What is written is read before."""
    x *= 2
    x += y
    return x


def numbers(host: Host, shape: tuple[int, ...], dtype: str) -> Any:
    """Small numbers of any dtype."""
    values = RNG.integers(0, 2 if dtype == "?" else 9, shape).astype(dtype)
    return host.cupy.asarray(values + (1j * values[::-1] if dtype in "FD" else 0))


LAYOUTS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "columns": lambda x, y: (x, y[:, :1]),
    "one row": lambda x, y: (x, y[0]),
    "parts of rows": lambda x, y: (x[:, 1:], y[:, :-1]),
    "backwards": lambda x, y: (x[:, ::-1], y[::-1]),
    "strides": lambda x, y: (x[::2], y[::-2]),
    "every second": lambda x, y: (x[:, : x.shape[1] // 2 * 2 : 2], y[:, 1::2]),
    "turned": lambda x, y: (x, y.reshape(y.shape[::-1]).T),
    "both turned": lambda x, y: (x, y.T.copy().T + y.T.copy().T[:1].copy()),
    "parts turned": lambda x, y: (x[1:, :-3], y.T.copy().T[:-1, 3:]),
    "all but one": lambda x, y: (x.T, y.T.copy()),
    "turned behind an axis": lambda x, y: (
        x[None].repeat(3, 0),
        y.T.copy()[None].repeat(3, 0).transpose(0, 2, 1),
    ),
    "three axes": lambda x, y: (x[:, None, :], y[:3, 1:][:, :1]),
    "four axes": lambda x, y: (x[:4].reshape(2, 1, 2, -1), y[:2].reshape(1, 2, 1, -1)),
    "not aligned": lambda x, y: (x.ravel()[1:], y.ravel()[:-1]),
    "one of both": lambda x, y: (x.ravel()[1:], y.ravel()[:1]),
}


DTYPES = "fdbDe"
# Every pair of a layout and a dtype, and either with both of what launches: a half of all three together.
PAIRS = [
    (launching, dtype, name)
    for number, name in enumerate(LAYOUTS)
    for place, dtype in enumerate(DTYPES)
    for launching in [("from C", "from Python")[(number + place) % 2]]
]


@pytest.mark.parametrize(("_takes_few", "dtype", "name"), PAIRS, indirect=["_takes_few"])
def test_layouts(host: Host, name: str, dtype: str) -> None:
    """Rows of every length, with steps of every kind; what is written is read before."""
    compiled, written = ufuse.compile(mixed), ufuse.compile(in_place)
    for shape in SHAPES:
        x, y = (numbers(host, shape, dtype) for _ in range(2))
        one, other = LAYOUTS[name](x, y)
        compiled(one, other)
        wanted = mixed(one, other)
        is_written = np.broadcast_shapes(one.shape, other.shape) == one.shape
        if is_written:
            stored = in_place(*LAYOUTS[name](x.copy(), y.copy())).copy()
        for order in ORDERS:
            with host.driver.running(order):
                assert all(map(same, compiled(one, other), wanted)), (shape, order)
                if is_written:
                    x1, y1 = LAYOUTS[name](x.copy(), y.copy())
                    assert same(written(x1, y1), x1)
                    assert same(x1.copy(), stored), (shape, order)
    assert compiled.stats.hits
    assert not compiled.breaks + written.breaks
    assert tiles(host, mixed)


@pytest.mark.parametrize("dtype", "bhfdeD")
def test_turned_arrays(host: Host, dtype: str) -> None:
    """Blocks read tiles of them; not of too many, of what is written, and of what is no number of C's."""
    cp = host.cupy

    def turned_sums(x: Any, y: Any, z: Any) -> Any:
        return x + y.T, cp.maximum(x * y.T, z.T), x.T.copy() * y

    def turned_stores(x: Any, y: Any) -> Any:
        z = x.T
        z += y
        return z

    compiled, stored = ufuse.compile(turned_sums), ufuse.compile(turned_stores)
    for rows, columns in ((128, 32), (129, 33), (300, 130)):
        x, w = (numbers(host, (columns, rows), dtype) for _ in range(2))
        y, z = (numbers(host, (rows, columns), dtype) for _ in range(2))
        compiled(x, y, z)
        stored(w.copy(), y)
        rows_of = ((x, y, z), (x[:, 1:], y[1:], z[1:]), (x[1:], y[:, 1:], z[:, 1:]))
        wanted = [turned_sums(*given) for given in rows_of]
        wanted_stored = turned_stores(w.copy(), y)
        for order in ORDERS:
            with host.driver.running(order):
                for given, sums in zip(rows_of, wanted, strict=True):
                    assert all(map(same, compiled(*given), sums)), (rows, order)
                assert same(stored(w.copy(), y), wanted_stored), (rows, order)
    assert not compiled.breaks + stored.breaks
    found = tiles(host, turned_sums)
    assert dtype in "eD" or any("__shared__" in source for source in found)
    assert not any(f"__shared__ {name}" in one for one in found for name in ("complex", "float16"))
    assert not any("__shared__" in source for source in tiles(host, turned_stores))


def test_places_and_counted_axes(host: Host) -> None:
    """What is picked from tables, and axes that are counted along, in rows."""
    cp = host.cupy

    def picked(x: Any, i: Any, j: Any) -> Any:
        return x[i] * 2 + x[:, j][:1], x[i[:, None], j] - 1, cp.arange(len(j)) * x[0] + i[:2, None]

    compiled = ufuse.compile(picked)
    for length in LENGTHS:
        x = numbers(host, (5, length), "d")
        i, j = cp.asarray([4, -1, 0, 2]), cp.asarray(RNG.integers(-length, length, length))
        compiled(x, i, j)
        for order in ORDERS:
            with host.driver.running(order):
                assert all(map(same, compiled(x, i, j), picked(x, i, j))), (length, order)
    assert not compiled.breaks
    assert tiles(host, picked)


def test_which_maps_take_rows(host: Host) -> None:
    """Elements of short rows are taken along all of them; maps that read very much take them one by one."""
    cp = host.cupy
    from ufuse.backends.cupy.steps.rules import plan_of  # noqa: PLC0415  only where CuPy is
    from ufuse.backends.cupy.texts.tiles import tile_of  # noqa: PLC0415  the same

    def of_short_rows(x: Any, y: Any) -> Any:
        return x * y[:, :1]

    compiled = ufuse.compile(of_short_rows)
    for rows, length in ((9, 1), (9, 3), (41, 3), (64, 2), (9, 33), (43, 3), (9, 63)):
        x = numbers(host, (rows, length), "f")
        for one in (x, x[::-1, ::-1]):
            for order in ORDERS:
                with host.driver.running(order):
                    assert same(compiled(one, x), of_short_rows(one, x)), (rows, length, order)
    found = tiles(host, of_short_rows)
    assert found
    assert all("own" in one and "part" not in one for one in found)

    def written(x: Any, y: Any) -> Any:
        x += y[:, :1] * cp.arange(x.shape[1])
        return x

    compiled = ufuse.compile(written)
    for _ in range(3):
        x, y = (numbers(host, (50, 7), "d") for _ in range(2))
        plain = x.copy()
        assert same(compiled(x, y), written(plain, y))

    def taken(count: int, dtype: str) -> int:
        names = [f"x{number}" for number in range(count)]
        function = eval(f"lambda {', '.join(names)}: {' + '.join(names)}")  # noqa: S307  our own text
        specs = [ufuse.Spec((None,), dtype, device="cuda") for _ in names]
        graph = ufuse.compile(function).trace(*specs)
        (kernel,) = [step.kernel for step in plan_of(graph._captured).steps if step.kernel]
        return tile_of(kernel)

    assert [taken(16, "f4"), taken(17, "f4"), taken(8, "f8"), taken(9, "f8")] == [4, 2, 4, 2]
    assert [taken(16, "f8"), taken(17, "f8"), taken(33, "f4")] == [2, 1, 1]

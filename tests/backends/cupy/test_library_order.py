"""Reductions of floats along rows, in kernels, in the order in which CUB folds them: its bits.

The test device has no CUB: there the order is compared with NumPy's replay of it, on a GPU with CuPy's own results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS

from .test_folds import softmax
from .test_reductions import folds_as_cub, same

RNG = np.random.default_rng(77)
# About the ends of what one thread, a warp and a block fold, and of their tiles, of either precision.
LENGTHS = (
    1,
    2,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    32,
    33,
    100,
    255,
    256,
    257,
    511,
    512,
    513,
    777,
    1024,
    2047,
    2048,
    2049,
    2052,
)
LONGER = (3000, 4095, 4096, 4097, 4100, 5000, 6144, 8191, 8192, 8193, 8196, 12288, 20000)
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": np.add,
    "max": lambda a, b: np.where(np.isnan(a), a, np.where(np.isnan(b), b, np.where(a < b, b, a))),
    "min": lambda a, b: np.where(np.isnan(a), a, np.where(np.isnan(b), b, np.where(a < b, a, b))),
}


@pytest.fixture
def cub(host: Host, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Have kernels fold as CUB; whether it is there."""
    from ufuse.backends.cupy import cub  # noqa: PLC0415  only where CuPy is

    is_there = cub.is_taken()
    if not is_there:
        monkeypatch.setattr(cub, "SUMMED", frozenset("fd"))
        monkeypatch.setattr(cub, "is_taken", lambda: True)
        monkeypatch.setattr(cub, "is_still_taken", lambda: True)
    return is_there


def replayed(name: str, rows: np.ndarray) -> np.ndarray:
    """What CUB makes of each row."""
    return np.array([_of_row(name, row, number) for number, row in enumerate(rows)], rows.dtype)


def _of_row(name: str, row: np.ndarray, number: int) -> Any:
    length, each = len(row), 64 // row.itemsize
    threads = 1 if length <= each else 32 if length <= 32 * each else 256
    fold, is_tree = OPERATIONS[name], name == "sum" and row.itemsize == 4
    had: list[Any] = [None] * threads
    for begin in range(0, length, threads * each):
        is_whole = begin + threads * each <= length
        is_grouped = is_whole and number * length % 4 == 0
        for thread in range(threads):
            places = [
                begin + ((k // 4) * threads + thread) * 4 + k % 4
                if is_grouped
                else begin + thread + k * threads
                for k in range(each)
            ]
            items = [row[place] for place in places if place < length]
            if had[thread] is not None:
                items.insert(0, had[thread])
            if items:
                had[thread] = _folded(fold, items, is_tree=is_tree and is_whole)
    lanes = [one for one in had if one is not None]
    warps = [_of_warp(fold, lanes[first : first + 32]) for first in range(0, len(lanes), 32)]
    made = _folded(fold, warps, is_tree=False)
    return fold(row.dtype.type(0), made) if name == "sum" else made


def _folded(fold: Callable[[Any, Any], Any], items: list[Any], *, is_tree: bool) -> Any:
    if not is_tree:
        made = items[0]
        for one in items[1:]:
            made = fold(made, one)
        return made
    step = 1
    items = list(items)
    while step < len(items):
        for k in range(0, len(items) - step, 2 * step):
            items[k] = fold(items[k], items[k + step])
        step *= 2
    return items[0]


def _of_warp(fold: Callable[[Any, Any], Any], lanes: list[Any]) -> Any:
    for step in (1, 2, 4, 8, 16):
        lanes = [
            fold(one, lanes[k + step]) if k + step < len(lanes) else one
            for k, one in enumerate(lanes)
        ]
    return lanes[0]


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of many sizes, some equal but for the sign of zero."""
    made = RNG.normal(size=shape) * 10.0 ** RNG.integers(-3, 4, shape)
    made[RNG.random(shape) < 0.1] *= 0
    if len(shape) > 1:
        made[-1] *= 0
    return made.astype(dtype)


def folded(x: Any) -> Any:
    """Of what is computed, and of an array as it is."""
    y = x * 0.5
    return (
        y.sum(axis=-1),
        y.max(axis=-1),
        y.min(axis=-1),
        x.sum(axis=-1),
        y - x.mean(axis=-1, keepdims=True),
    )


def wanted_of(cp: Any, x: np.ndarray) -> list[np.ndarray]:
    """The results of `folded` by CUB."""
    y = x * x.dtype.type(0.5)
    total = replayed("sum", x)
    mean = total[:, None] / x.dtype.type(x.shape[1])
    return [replayed("sum", y), replayed("max", y), replayed("min", y), total, y - mean]


def check_in_every_order(host: Host, compiled: Any, x: Any, wanted: Any) -> None:
    """Two calls have these results, whatever thread is first."""
    for order in ORDERS:
        with host.driver.running(order):
            for result in (compiled(x), compiled(x)):
                assert all(map(same, result, wanted)), (x.shape, order)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("lengths", [LENGTHS, LONGER], ids=["short", "long"])
def test_rows_of_every_length(host: Host, cub: bool, dtype: str, lengths: tuple[int, ...]) -> None:
    """In registers and longer, whole tiles and parts of some, rows that begin anywhere."""
    cp = host.cupy
    compiled = ufuse.compile(folded)
    for length in lengths:
        given = values((3, length), dtype)
        x = cp.asarray(given)
        wanted = folded(x) if cub else list(map(cp.asarray, wanted_of(cp, given)))
        check_in_every_order(host, compiled, x, wanted)
    assert compiled.stats.hits
    assert not compiled.breaks
    text = compiled.graphs[0].source("cupy")
    assert text.count("__global__") == 1 or (cub and dtype == "d")


def layer_norm(x: Any, weight: Any) -> Any:
    """Two means, one behind the other."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / scale * weight


@pytest.mark.parametrize("function", [softmax, layer_norm])
def test_softmax_and_layer_norm_are_one_kernel(host: Host, cub: bool, function: Any) -> None:
    """With CuPy's own bits, where CUB is."""
    cp = host.cupy
    compiled = ufuse.compile(function)
    for length in (5, 40, 512, 1000, 4096, 5001, 8192):
        x = cp.asarray(values((5, length), "f"))
        given = (x,) if function is softmax else (x, x[0])
        results = [compiled(*given) for _ in range(2)]
        wanted = function(*given)
        for result in results:
            assert same(result, wanted) if cub else cp.allclose(result, wanted, 1e-4, 1e-5)
    assert compiled.graphs[0].source("cupy").count("__global__") == 1
    assert not compiled.breaks


@pytest.mark.parametrize("dtype", "fd")
def test_what_rounds_otherwise_on_a_gpu(host: Host, dtype: str) -> None:
    """Subnormals, which CUB does not flush, infinities, and NaN of several kinds: of rows and of everything."""
    if not folds_as_cub():
        pytest.skip("it is about CUB on a GPU")
    rows, total = ufuse.compile(folded), ufuse.compile(everything)
    smallest = np.finfo(dtype).smallest_subnormal
    for length in (7, 40, 512, 700, 4096, 5001, 12288):
        given = values((4, length), dtype)
        given[0] = RNG.integers(-9, 9, length) * smallest
        given[1, RNG.random(length) < 0.1] = np.inf
        given[2, RNG.random(length) < 0.05] = np.nan
        given[2, RNG.random(length) < 0.05] = -np.nan
        given[3] = np.where(RNG.random(length) < 0.5, 0.0, -0.0)
        x = host.cupy.asarray(given)
        for _ in range(2):
            assert all(map(same, rows(x), folded(x))), length
            for one in x:
                assert all(map(same, total(one), everything(one))), length


def test_what_cub_does_not_fold(host: Host, cub: bool) -> None:
    """Nothing, and whole tiles that begin between groups: plain Python runs."""
    cp = host.cupy
    compiled = ufuse.compile(folded)
    for x in (
        cp.ones((3, 0), "f"),
        cp.ones(3 * 512 + 1, "f")[1:].reshape(3, 512),
        cp.ones((0, 5), "f"),
    ):
        for _ in range(3):
            try:
                wanted = folded(x)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)[:20]):
                    compiled(x)
            else:
                assert all(map(same, compiled(x), wanted))


@pytest.mark.parametrize("dtype", "fd")
def test_parts_of_tiles_begin_anywhere(
    host: Host, cub: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUB reads no neighbours at once there."""
    from ufuse.backends.cupy import cub as order  # noqa: PLC0415  only where CuPy is

    cp = host.cupy
    rows, total = ufuse.compile(folded), ufuse.compile(everything)
    tile = 4096 if dtype == "f" else 2048
    if not cub:
        monkeypatch.setattr(order, "most_blocks", lambda device, name, char: 3)
    for length in (3, 17, 100, 257, 700, tile // 4 + 1):
        given = values((3 * length + 1,), dtype)
        x = cp.asarray(given)[1:].reshape(3, length)
        host_x = given[1:].reshape(3, length)
        wanted = folded(x) if cub else list(map(cp.asarray, wanted_of(cp, host_x)))
        for result in (rows(x), rows(x)):
            assert all(map(same, result, wanted)), length
        one, host_one = x[0], host_x[0]
        sums = (
            everything(one)[4]
            if cub
            else without_axes(cp, replayed_total("sum", host_one, 3), host_one.dtype)
        )
        for result in (total(one), total(one)):
            assert same(result[4], sums), length
    for shape in ((1, tile), (2, tile + 4)):
        x = cp.asarray(values((shape[0] * shape[1] + 1,), dtype))[1:].reshape(shape)
        for _ in range(2):
            assert all(map(same, rows(x), folded(x)))
            assert all(map(same, total(x[0]), everything(x[0])))
    assert rows.stats.eager_calls == total.stats.eager_calls == 0


def test_sums_of_doubles_are_cupys(host: Host, cub: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of several NaN they have is the compiler's matter; extremes have the first."""
    from ufuse.backends.cupy import cub as order  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(order, "SUMMED", frozenset("f"))
    for dtype, is_so in (("f", True), ("d", False)):
        sums, largest = ufuse.compile(softmax), ufuse.compile(lambda x: (x * 2).max(axis=-1) + 1)
        x = host.cupy.asarray(values((3, 700), dtype))
        for _ in range(2):
            assert sums(x).shape == x.shape
            assert same(largest(x), (x * 2).max(axis=-1) + 1)
        assert ("ufuse_plus(a, b)" in sums.graphs[-1].source("cupy")) is is_so
        assert "ufuse_most(a, b)" in largest.graphs[-1].source("cupy")


def test_nothing_is_assumed_without_cub(host: Host) -> None:
    """On the test device, and where CuPy is told to take another library."""
    from ufuse.backends.cupy import cub  # noqa: PLC0415  only where CuPy is

    accelerator = host.cupy._core._accelerator
    before = accelerator.get_routine_accelerators()
    try:
        for names in ([], ["cutensor"], ["cub", "cutensor"]):
            accelerator.set_routine_accelerators(names)
            assert not cub.is_taken()
    finally:
        accelerator.set_routine_accelerators(before)


def replayed_total(name: str, given: np.ndarray, most: int) -> Any:
    """What CUB makes of everything, with so many blocks at most."""
    each = 64 // given.itemsize
    tile, is_tree = 256 * each, name == "sum" and given.itemsize == 4
    blocks = min(-(-len(given) // tile), most)

    def block(values: np.ndarray, begins: range) -> Any:
        had: list[Any] = [None] * 256
        for begin in begins:
            is_whole = begin + tile <= len(values)
            for thread in range(256):
                places = [
                    begin + (k // 4 * 1024 + thread * 4 + k % 4 if is_whole else thread + k * 256)
                    for k in range(each)
                ]
                items = [values[place] for place in places if place < len(values)]
                if had[thread] is not None:
                    items.insert(0, had[thread])
                if items:
                    had[thread] = _folded(OPERATIONS[name], items, is_tree=is_tree and is_whole)
        lanes = [one for one in had if one is not None]
        warps = [_of_warp(OPERATIONS[name], lanes[at : at + 32]) for at in range(0, len(lanes), 32)]
        return _folded(OPERATIONS[name], warps, is_tree=False)

    left = [
        block(given, range(number * tile, len(given), blocks * tile)) for number in range(blocks)
    ]
    made = block(np.array(left, given.dtype), range(0, blocks, tile)) if blocks > 1 else left[0]
    return made + given.dtype.type(0) if name == "sum" else made


def without_axes(cp: Any, value: Any, dtype: Any) -> Any:
    """An array on the device; CuPy's own way to one without axes loses the sign of zero."""
    made = np.asarray(value, dtype)
    return cp.asarray(made.reshape(-1)).reshape(made.shape)


def everything(x: Any) -> Any:
    """Of what is computed, and of an array as it is."""
    y = x * 0.5
    return y.sum(), y.max(), x.min(), y, x.sum()


@pytest.mark.parametrize("dtype", "fd")
def test_totals_of_every_length(
    host: Host, cub: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one block, of as many as there are tiles, of fewer."""
    from ufuse.backends.cupy import cub as order  # noqa: PLC0415  only where CuPy is

    cp = host.cupy
    if not cub:
        monkeypatch.setattr(order, "most_blocks", lambda device, name, char: 3)
    compiled = ufuse.compile(everything)
    for length in (
        1,
        5,
        33,
        255,
        257,
        2048,
        2049,
        4096,
        4097,
        8192,
        12288,
        17000,
        *(cub * [3_000_001, 24_000_000]),
    ):
        given = values((length,), dtype)
        x = cp.asarray(given)
        if cub:
            wanted = everything(x)
        else:
            y = given * given.dtype.type(0.5)
            folds = (("sum", y), ("max", y), ("min", given))
            made = [replayed_total(name, one, 3) for name, one in folds]
            wanted = [*made, y, replayed_total("sum", given, 3)]
            wanted = [without_axes(cp, one, given.dtype) for one in wanted]
        check_in_every_order(host, compiled, x, wanted)
    assert compiled.stats.hits
    assert not compiled.breaks
    kernels = compiled.graphs[0].source("cupy").count("__global__")
    assert kernels == 2 or (cub and dtype == "d")


def test_what_may_be_left_to_plain_python_stands_before_what_is_written(
    host: Host, cub: bool
) -> None:
    """A store of the kernel's own is behind its folds; folds behind another store are CuPy's calls."""
    cp = host.cupy

    def centred(x: Any) -> Any:
        x -= x.mean(axis=-1, keepdims=True)

    def behind(x: Any, y: Any) -> Any:
        y[0] = 7
        return (x * y).sum(axis=-1)

    before, after = ufuse.compile(centred), ufuse.compile(behind)
    for length in (6, 700, 4096):
        given = cp.asarray(values((3, length + 1), "f"))
        for x in (given[:, :length].copy(), given.ravel()[1 : 1 + 3 * length].reshape(3, length)):
            for _ in range(3):
                one, other, y = x.copy(), x.copy(), x.copy()
                centred(one)
                before(other)
                assert same(one, other) or not cub
                wanted = behind(x, x.copy())
                assert same(after(x, y), wanted)
    assert before.graphs[0].source("cupy").count("ufuse_plus(a, b)") == 1
    assert "ufuse_plus" not in after.graphs[0].source("cupy")


def test_another_library_is_heeded_at_once(host: Host) -> None:
    """Where CuPy's lists say something else than when the kernel was planned plain Python runs."""
    cp = host.cupy
    accelerator = cp._core._accelerator
    before = accelerator.get_routine_accelerators()
    compiled = ufuse.compile(softmax)
    x = cp.asarray(values((4, 700), "f"))
    try:
        accelerator.set_routine_accelerators(["cub"])
        for _ in range(2):
            assert compiled(x).shape == x.shape
        assert "ufuse_plus" in compiled.graphs[0].source("cupy")
        accelerator.set_routine_accelerators([])
        assert same(compiled(x), softmax(x))
    finally:
        accelerator.set_routine_accelerators(before)
    assert same(compiled(x), softmax(x))


def test_what_kernels_decline_is_compiled_otherwise(host: Host, cub: bool) -> None:
    """With CuPy's own calls: memory between groups of four, and nothing at all."""
    cp = host.cupy
    compiled = ufuse.compile(folded)
    for x in (cp.ones(3 * 512 + 1, "f")[1:].reshape(3, 512), cp.ones((0, 5), "f")):
        before = compiled.stats.hits
        for _ in range(3):
            assert all(map(same, compiled(x), folded(x)))
        assert compiled.stats.hits > before
    assert "ufuse_plus" in compiled.graphs[0].source("cupy")


def test_written_memory_may_begin_anywhere(host: Host, cub: bool) -> None:
    """What a store has left is folded by CuPy itself: CUB reads neighbours at once by the address of that memory."""
    cp = host.cupy

    def doubled(x: Any) -> Any:
        x *= 2
        return x.sum(axis=-1), x.mean(axis=-1), x.sum()

    def filled(x: Any, y: Any) -> Any:
        y[...] = x * 2
        return y[1:].sum(axis=-1)

    given = values((3 * 4096 + 1,), "f")
    for begin in (0, 1):
        whole = given[begin : begin + 3 * 4096].reshape(3, 4096)
        in_place, into = ufuse.compile(doubled), ufuse.compile(filled)
        for _ in range(3):
            one, other = (cp.asarray(given)[begin:][: 3 * 4096].reshape(3, 4096) for _ in range(2))
            assert all(map(same, in_place(other), doubled(one)))
            assert same(into(cp.asarray(whole), other), filled(cp.asarray(whole), one))
        for compiled in (in_place, into):
            assert compiled.stats.hits
            assert "ufuse_plus" not in compiled.graphs[0].source("cupy")


def both_of_rows(x: Any) -> Any:
    """Rows of single precision, and of double."""
    y = x * 2
    z = y.astype("d") * 3
    return y.sum(axis=-1), z.sum(axis=-1)


def both_totals(x: Any) -> Any:
    """Everything, in single precision and in double."""
    y = x * 2
    z = y.astype("d") * 3
    return y.sum(), z.sum()


@pytest.mark.parametrize("function", [both_of_rows, both_totals])
def test_no_kernel_folds_both_precisions(host: Host, cub: bool, function: Any) -> None:
    """A thread has unlike numbers of them at once; so they are CuPy's calls, and graphs run."""
    compiled = ufuse.compile(function)
    x = host.cupy.asarray(values((5, 700), "f"))
    for _ in range(3):
        assert all(map(same, compiled(x), function(x)))
    assert compiled.stats.hits
    assert cub or "ufuse_plus" not in compiled.graphs[0].source("cupy")


def test_totals_are_shown_as_they_are_compiled(host: Host, cub: bool) -> None:
    """With CUB's tiles."""
    compiled = ufuse.compile(everything)
    compiled(host.cupy.asarray(values((700,), "f")))
    assert "is_whole" in compiled.graphs[0].source("cupy")


def test_devices_whose_totals_have_other_tiles(
    host: Host, cub: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of everything are CuPy's calls there; extremes and rows are not."""
    from ufuse.backends.cupy import cub as order  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(order, "TUNED", 0)
    if not cub:
        monkeypatch.setattr(order, "most_blocks", lambda device, name, char: 3)
    x = host.cupy.asarray(values((3, 5000), "f"))

    def total(x: Any) -> Any:
        y = x * 2
        return y.sum(), y

    def largest(x: Any) -> Any:
        y = x * 2
        return y.max(), y

    sums, extremes, rows = map(ufuse.compile, (total, largest, softmax))
    for _ in range(2):
        assert all(map(same, sums(x), total(x)))
        assert all(map(same, extremes(x), largest(x)))
        rows(x)
    assert "ufuse_plus" not in sums.graphs[0].source("cupy")
    assert "ufuse_most(a, b)" in extremes.graphs[0].source("cupy")
    assert "ufuse_plus(a, b)" in rows.graphs[0].source("cupy")


def test_versions_of_cupy_that_are_known(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier ones have the same CUB fold rows in another order."""
    from ufuse.backends.cupy import cub  # noqa: PLC0415  only where CuPy is

    cp = host.cupy
    accelerator = cp._core._accelerator
    before = accelerator.get_routine_accelerators()
    monkeypatch.setattr(cp.cuda.cub, "available", True)
    monkeypatch.setattr(cp.cuda.cub, "get_build_version", lambda: 300102, raising=False)
    try:
        accelerator.set_routine_accelerators(["cub"])
        for version, is_known in (("14.2.0", True), ("14.1.1", False), ("14.0.0", False)):
            monkeypatch.setattr(cp, "__version__", version)
            assert cub.is_taken() is is_known
    finally:
        accelerator.set_routine_accelerators(before)


def test_nothing_is_tried_out_while_a_stream_captures(host: Host) -> None:
    """It would be captured, and run with what the program has captured, in memory that is another's by then."""
    from ufuse.backends.cupy import cub  # noqa: PLC0415  only where CuPy is
    from ufuse.backends.cupy.refusal import DoesNotFit  # noqa: PLC0415  only where CuPy is

    cub.most_blocks.cache_clear()
    stream = host.cupy.cuda.Stream()
    with stream:
        stream.begin_capture()
        with pytest.raises(DoesNotFit):
            cub.most_blocks(0, "add", "f")
        stream.end_capture()

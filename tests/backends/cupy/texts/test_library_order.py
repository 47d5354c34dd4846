"""Reductions of floats along rows and of everything, in kernels, in the order in which CUB folds them: its bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.captured import RNG, check_in_every_order, values
from tests.support.devices.comparing import same
from tests.support.devices.folds import softmax
from tests.support.real_device import RealDevice

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


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("lengths", [LENGTHS, LONGER], ids=["short", "long"])
def test_rows_of_every_length(host: Host, dtype: str, lengths: tuple[int, ...]) -> None:
    """In registers and longer, whole tiles and parts of some, rows that begin anywhere."""
    cp = host.cupy
    compiled = ufuse.compile(folded)
    for length in lengths:
        x = cp.asarray(values((3, length), dtype))
        check_in_every_order(host, compiled, x, folded(x))
    assert compiled.stats.hits
    assert not compiled.breaks
    kernels = compiled.graphs[0].source("cupy").count("__global__")
    assert kernels == 1 or dtype == "d"


def layer_norm(x: Any, weight: Any) -> Any:
    """Two means, one behind the other."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / scale * weight


@pytest.mark.parametrize("function", [softmax, layer_norm])
def test_softmax_and_layer_norm_are_one_kernel(host: Host, function: Any) -> None:
    """With CuPy's own bits."""
    cp = host.cupy
    compiled = ufuse.compile(function)
    for length in (5, 40, 512, 1000, 4096, 5001, 8192):
        x = cp.asarray(values((5, length), "f"))
        given = (x,) if function is softmax else (x, x[0])
        results = [compiled(*given) for _ in range(2)]
        wanted = function(*given)
        for result in results:
            assert same(result, wanted)
    assert compiled.graphs[0].source("cupy").count("__global__") == 1
    assert not compiled.breaks


@pytest.mark.parametrize("dtype", "fd")
def test_what_rounds_otherwise_in_cub(host: Host, dtype: str) -> None:
    """Subnormals, which CUB does not flush, infinities, and NaN of several kinds: of rows and of everything."""
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


def test_what_cub_does_not_fold(host: Host) -> None:
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
def test_parts_of_tiles_begin_anywhere(host: Host, dtype: str) -> None:
    """CUB reads no neighbours at once there."""
    cp = host.cupy
    rows, total = ufuse.compile(folded), ufuse.compile(everything)
    tile = 4096 if dtype == "f" else 2048
    shapes = [(3, length) for length in (3, 17, 100, 257, 700, tile // 4 + 1)]
    for shape in (*shapes, (1, tile), (2, tile + 4)):
        given = values((shape[0] * shape[1] + 1,), dtype)
        x = cp.asarray(given)[1:].reshape(shape)
        for _ in range(2):
            assert all(map(same, rows(x), folded(x))), shape
            assert all(map(same, total(x[0]), everything(x[0]))), shape
    assert rows.stats.eager_calls == total.stats.eager_calls == 0


def test_sums_of_doubles_are_cupys(host: Host) -> None:
    """Which of several NaN they have is the compiler's matter; extremes have the first."""
    for dtype, is_so in (("f", True), ("d", False)):
        sums, largest = ufuse.compile(softmax), ufuse.compile(lambda x: (x * 2).max(axis=-1) + 1)
        x = host.cupy.asarray(values((3, 700), dtype))
        for _ in range(2):
            assert same(sums(x), softmax(x))
            assert same(largest(x), (x * 2).max(axis=-1) + 1)
        assert ("ufuse_plus(a, b)" in sums.graphs[-1].source("cupy")) is is_so
        assert "ufuse_most(a, b)" in largest.graphs[-1].source("cupy")


def test_nothing_is_assumed_without_cub(host: Host) -> None:
    """Where CuPy is told to take another library, or none."""
    from ufuse.backends.cupy.operations import cub  # noqa: PLC0415  only where CuPy is

    accelerator = host.cupy._core._accelerator
    before = accelerator.get_routine_accelerators()
    try:
        for names in ([], ["cutensor"], ["cub", "cutensor"]):
            accelerator.set_routine_accelerators(names)
            assert not cub.is_taken()
    finally:
        accelerator.set_routine_accelerators(before)


def everything(x: Any) -> Any:
    """Of what is computed, and of an array as it is."""
    y = x * 0.5
    return y.sum(), y.max(), x.min(), y, x.sum()


@pytest.mark.parametrize("dtype", "fd")
def test_totals_of_every_length(host: Host, dtype: str) -> None:
    """Of one block, of as many as there are tiles, of fewer."""
    cp = host.cupy
    compiled = ufuse.compile(everything)
    is_gpu = isinstance(host, RealDevice)
    longest = (3_000_001, 24_000_000) if is_gpu else ()
    for length in (1, 5, 33, 255, 257, 2048, 2049, 4096, 4097, 8192, 12288, 17000, *longest):
        x = cp.asarray(values((length,), dtype))
        check_in_every_order(host, compiled, x, everything(x))
    assert compiled.stats.hits
    assert not compiled.breaks
    kernels = compiled.graphs[0].source("cupy").count("__global__")
    assert kernels == 2 or dtype == "d"


@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_totals_of_more_tiles_than_blocks(host: Host, name: str) -> None:
    """As many as a device has room for several times."""

    def total(x: Any) -> Any:
        y = x * 2
        return getattr(y, name)(), y

    compiled = ufuse.compile(total)
    many = 30_000_000 if isinstance(host, RealDevice) else 540_000
    for length in (many, many + 4096 * 3 + 5):
        x = host.cupy.asarray(values((length,), "f"))
        for _ in range(2):
            assert all(map(same, compiled(x), total(x)))
    assert compiled.stats.eager_calls == 0
    assert compiled.graphs[0].source("cupy").count("__global__") == 2


def test_what_may_be_left_to_plain_python_stands_before_what_is_written(host: Host) -> None:
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
                assert same(one, other)
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
            assert same(compiled(x), softmax(x))
        assert "ufuse_plus" in compiled.graphs[0].source("cupy")
        accelerator.set_routine_accelerators([])
        assert same(compiled(x), softmax(x))
    finally:
        accelerator.set_routine_accelerators(before)
    assert same(compiled(x), softmax(x))


def test_what_kernels_decline_is_compiled_otherwise(host: Host) -> None:
    """With CuPy's own calls: memory between groups of four, and nothing at all."""
    cp = host.cupy
    compiled = ufuse.compile(folded)
    for x in (cp.ones(3 * 512 + 1, "f")[1:].reshape(3, 512), cp.ones((0, 5), "f")):
        before = compiled.stats.hits
        for _ in range(3):
            assert all(map(same, compiled(x), folded(x)))
        assert compiled.stats.hits > before
    assert "ufuse_plus" in compiled.graphs[0].source("cupy")


def totals_asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The devices on which kernels of totals are asked to run, from now on."""
    from ufuse.backends.cupy.launching import folding  # noqa: PLC0415  only where CuPy is

    asked: list[int] = []
    original = folding.TotalKernel._launch

    def noted(self: Any, arrays: list[Any], device: int, packs: bool) -> Any:
        asked.append(device)
        return original(self, arrays, device, packs)

    monkeypatch.setattr(folding.TotalKernel, "_launch", noted)
    return asked


def test_what_is_declined_is_remembered(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """By shapes and alignment: kernels are asked once, and nothing is launched in vain from then on."""
    cp, asked = host.cupy, totals_asked(monkeypatch)

    def both(x: Any) -> Any:
        y = x * 2
        return y.sum(), y.max(), y

    def given(x: Any) -> Any:
        y = x * 2
        return y, x.sum(), y.sum()

    is_gpu = isinstance(host, RealDevice)
    whole = cp.asarray(values((30_000_001 if is_gpu else 400_001,), "f"))
    compiled, aligned = ufuse.compile(both), ufuse.compile(given)
    for x in (whole[:-1], whole[:5000], whole[:-1], whole[:5000]):
        for _ in range(3):
            assert all(map(same, compiled(x), both(x)))
    assert len(asked) == 2  # of each length once
    for x in (whole[:8192], whole[1:8193], whole[:8192]):
        for _ in range(3):
            assert all(map(same, aligned(x), given(x)))
    assert len(asked) == 3
    assert not compiled.stats.eager_calls + aligned.stats.eager_calls
    compiled(whole[:-1])
    with host.device.counting() as counts:
        compiled(whole[:-1])
    assert counts["launch"] == 5  # the product, and two for each of CuPy's own


def test_what_would_be_declined_is_not_planned(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where how many are folded is known to the graph."""
    cp, asked = host.cupy, totals_asked(monkeypatch)
    many = 30_000_000 if isinstance(host, RealDevice) else 400_000

    def long(k: float) -> Any:
        y = cp.full(many, 0.1, "f") * k
        return y.sum(), y.max(), y

    def short(k: float) -> Any:
        y = cp.full(70_000, 0.1, "f") * k
        return y.sum(), y.max(), y

    for function, count in ((long, 0), (short, 1)):
        compiled = ufuse.compile(function)
        for k in (1.5, -2.5, 3.5):
            assert all(map(same, compiled(k), function(k)))
        assert not compiled.stats.eager_calls
        assert not compiled.breaks
        assert len(asked) == count or isinstance(host, RealDevice)


def test_written_memory_may_begin_anywhere(host: Host) -> None:
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
def test_no_kernel_folds_both_precisions(host: Host, function: Any) -> None:
    """A thread has unlike numbers of them at once; so they are CuPy's calls, and graphs run."""
    compiled = ufuse.compile(function)
    x = host.cupy.asarray(values((5, 700), "f"))
    for _ in range(3):
        assert all(map(same, compiled(x), function(x)))
    assert compiled.stats.hits


def test_totals_are_shown_as_they_are_compiled(host: Host) -> None:
    """With CUB's tiles."""
    compiled = ufuse.compile(everything)
    compiled(host.cupy.asarray(values((700,), "f")))
    assert "is_whole" in compiled.graphs[0].source("cupy")


def test_devices_whose_totals_have_other_tiles(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of everything are CuPy's calls there; extremes and rows are not."""
    from ufuse.backends.cupy.operations import cub as order  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(order, "TUNED", 0)
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
        assert same(rows(x), softmax(x))
    assert "ufuse_plus" not in sums.graphs[0].source("cupy")
    assert "ufuse_most(a, b)" in extremes.graphs[0].source("cupy")
    assert "ufuse_plus(a, b)" in rows.graphs[0].source("cupy")


def test_versions_of_cupy_that_are_known(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier ones have the same CUB fold rows in another order."""
    from ufuse.backends.cupy.operations import cub  # noqa: PLC0415  only where CuPy is

    cp = host.cupy
    accelerator = cp._core._accelerator
    before = accelerator.get_routine_accelerators()
    try:
        accelerator.set_routine_accelerators(["cub"])
        for version, is_known in (("14.2.0", True), ("14.1.1", False), ("14.0.0", False)):
            monkeypatch.setattr(cp, "__version__", version)
            assert cub.is_taken() is is_known
    finally:
        accelerator.set_routine_accelerators(before)


def test_nothing_is_tried_out_while_a_stream_captures(host: Host) -> None:
    """It would be captured, and run with what the program has captured, in memory that is another's by then."""
    from ufuse.backends.cupy.operations import cub  # noqa: PLC0415  only where CuPy is
    from ufuse.backends.cupy.operations.refusal import DoesNotFit  # noqa: PLC0415  only where CuPy is

    cub.most_blocks.cache_clear()
    stream = host.cupy.cuda.Stream()
    with stream:
        stream.begin_capture()
        with pytest.raises(DoesNotFit):
            cub.most_blocks(0, "add", "f")
        stream.end_capture()

"""Launching in C on the test device: as eager CuPy, as from Python, and from Python where C does not know CuPy."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from ufuse.backends import _launch
from ufuse.frame_hook.trace import device_arrays
from ufuse.graph.typing import device_layout

POINTER = 16  # of a number of CuPy's: behind its reference count and type
RNG = np.random.default_rng(11)


@pytest.fixture
def native(host: Host) -> Iterator[Any]:
    """The module that learns what C needs; it learns again behind the test. What guards learn they learn once."""
    from ufuse.backends.cupy.launching import native  # noqa: PLC0415 - only where CuPy is

    assert device_arrays.why_not_read(host.cupy.ndarray, host.cupy) is None
    native.why_not.cache_clear()
    yield native
    native.why_not.cache_clear()
    assert native.why_not() is None


def same(result: Any, wanted: Any) -> bool:
    """Whether two arrays of CuPy's agree in type, shape, strides and every bit."""
    facts = [(type(x), x.dtype, x.shape, x.strides) for x in (result, wanted)]
    return facts[0] == facts[1] and result.get().tobytes() == wanted.get().tobytes()


def chain(x: Any, y: Any) -> Any:
    """One kernel."""
    return (x * 2.5 + y) * x - 1


def program(x: Any, y: Any, n: Any) -> Any:
    """Several kernels, views, a reduction of CuPy's, a number, a store."""
    z = (x.T * n + y.T)[::-1]
    total = (x.astype("i4") + 3).sum()
    y += z.T[:, ::-1] - 1
    return z * z.sum(axis=0), total * 2, y[1:] + 1


def arguments(cp: Any, shape: tuple[int, ...] = (5, 6)) -> tuple[Any, Any]:
    """Two arrays, the same at each call."""
    values = np.random.default_rng(3).normal(size=(2, *shape))
    return cp.asarray(values[0]), cp.asarray(values[1])


def check_program(host: Host) -> Any:
    """Run the functions compiled and plainly, and compare all that they give and write."""
    compiled, one = ufuse.compile(program), ufuse.compile(chain)
    for shape in ((5, 6), (5, 6), (3, 0), (4, 257)):
        x, y = arguments(host.cupy, shape)
        other, written = arguments(host.cupy, shape)
        assert same(one(x, y), chain(x, y))
        for result, wanted in zip(compiled(x, y, 3.5), program(other, written, 3.5), strict=True):
            assert same(result, wanted)
        assert same(y, written)
    return one


def test_c_launches(host: Host, native: Any) -> None:
    """On the test device all that C needs of CuPy is there."""
    assert native.why_not() is None
    assert set(native.capsules()) == set(_launch.signatures())
    check_program(host)
    assert type(program_of_chain(host)) is _launch.Program


def program_of_chain(host: Host) -> Any:
    """What runs the graph of the chain."""
    from ufuse.backends.cupy import BACKEND  # noqa: PLC0415 - only where CuPy is

    given = [ufuse.Spec((None, None), "f8", device="cuda")] * 2
    return BACKEND.compile(ufuse.compile(chain).trace(*given)._captured)


def test_streams_of_cupy_13(host: Host, native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no function gives the stream of a device, C asks for the current one."""
    found = {key: one for key, one in native.capsules().items() if key != "get_stream_ptr"}
    monkeypatch.setattr(native, "capsules", lambda: found)
    native.why_not.cache_clear()
    assert native.why_not() is None
    check_program(host)
    assert type(program_of_chain(host)) is _launch.Program


@pytest.mark.parametrize("name", sorted(_launch.signatures().keys() - {"get_stream_ptr"}))
def test_another_signature_is_launched_from_python(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A function that is gone, or that takes something else, is not called: results are the same."""
    found = native.capsules()
    other = next(one for key, one in found.items() if key != name)
    for capsules in ({**found, name: other}, {key: found[key] for key in found if key != name}):
        monkeypatch.setattr(native, "capsules", lambda capsules=capsules: capsules)
        native.why_not.cache_clear()
        assert name in native.why_not()
        assert type(program_of_chain(host)) is not _launch.Program
        check_program(host)


@pytest.mark.parametrize("part", ["_shapes", "_strides", "_dtypes", "_memories", "_addresses"])
def test_unknown_structs_are_launched_from_python(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Where a member is found nowhere or twice; results are the same."""
    check_program(host)
    for found in (set(), {16, 24}):
        monkeypatch.setattr(device_layout, part, lambda _, found=found: set(found))
        monkeypatch.setattr(device_layout, "_learned", {})
        native.why_not.cache_clear()
        assert native.why_not() == "structs of arrays are not as they are known"
        assert type(program_of_chain(host)) is not _launch.Program
        check_program(host)


def test_wrong_offsets_are_noticed(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What C reads is compared with the attributes: strides in the place of the shape are no shape."""
    shape, strides, *rest = device_layout.offsets_in(host.cupy)
    monkeypatch.setattr(device_layout, "offsets_in", lambda _: (strides, shape, *rest))
    assert native.why_not() == "arrays are not read as they are"
    check_program(host)


def test_no_driver_is_launched_from_python(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the driver's library is not there, or has no such function."""
    monkeypatch.setattr(native, "_given", [])

    def library(name: str) -> Any:
        if name == "libcuda.so.1":
            return SimpleNamespace()
        raise OSError(name)

    monkeypatch.setattr(native.ctypes, "CDLL", library)
    assert "cuLaunchKernel" in native.why_not()
    check_program(host)


def test_walks_are_those_of_python(host: Host) -> None:
    """Shapes and strides of every kind: the same shape, form and arguments, or neither walks."""
    from ufuse.backends.cupy.launching.launch import walk_over  # noqa: PLC0415 - only where CuPy is
    from ufuse.backends.cupy.operations.refusal import DoesNotFit  # noqa: PLC0415 - the same

    compared = 0
    for _ in range(3000):
        given = drawn_arrays()
        arrays = [SimpleNamespace(shape=s, strides=t, itemsize=i, ndim=len(s)) for s, t, i in given]
        try:
            walk = walk_over(arrays)
        except (DoesNotFit, ValueError):
            with pytest.raises((DoesNotFit, RuntimeError)):
                _launch.walk(given)
            continue
        shape, elements, axes, wide, lengths, steps = _launch.walk(given)
        assert (shape, elements, axes, wide) == (walk.shape, walk.elements, *form_of(walk))
        if elements:
            rest = [elements]
            if axes:
                rest += [*lengths[1:], *(step for one in steps for step in one)]
            assert [*map(int, walk.rest)] == rest
            assert {one.dtype.char for one in walk.rest} == {"l" if wide else "i"}
            compared += 1
    assert compared > 1500


def form_of(walk: Any) -> tuple[int, bool]:
    """The form of a walk."""
    return walk.form.axes, walk.form.wide


def drawn_arrays() -> tuple[Any, ...]:
    """Arrays of a few axes: joined, broadcast, turned, apart, huge; some do not fit."""
    shape = [int(n) for n in RNG.choice([1, 2, 3, 7], size=RNG.integers(0, 5))]
    if RNG.random() < 0.1 and shape:
        shape[int(RNG.integers(len(shape)))] = int(RNG.choice([0, 2**30 - 64, 2**30, 2**31, 2**33]))
    arrays = []
    for _ in range(int(RNG.integers(1, 4))):
        item = int(RNG.choice([1, 2, 8, 16]))
        own = [
            n if RNG.random() < 0.9 else 1 for n in shape[int(RNG.integers(len(shape) + 1)) // 2 :]
        ]
        if RNG.random() < 0.02:
            own.append(5)
        strides, step = [], item * int(RNG.choice([1, 1, 1, 2]))
        for length in reversed(own):
            strides.insert(0, step * int(RNG.choice([1, 1, 1, 1, -1, 0])))
            step *= length if RNG.random() < 0.9 else length + 1
        if RNG.random() < 0.02 and strides:
            strides[0] += 1
        arrays.append((tuple(own), tuple(strides), item))
    return tuple(arrays)


def test_numbers_are_packed_as_cupy_packs_them(host: Host) -> None:
    """The bytes of each number in each dtype, or a refusal of both, or the same error."""
    from ufuse.backends.cupy.launching.native import argument, why_not  # noqa: PLC0415 - only where CuPy is
    from ufuse.backends.cupy.operations.refusal import DoesNotFit  # noqa: PLC0415 - the same

    # This tells C what a refusal is, in a process that has launched nothing.
    assert why_not() is None
    values = (
        0, 1, -1, 255, 256, 2**31, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2**70, True, 2.5, -0.0, 1e30,
        float("inf"), float("nan"), 1 + 2j, np.float32(3.7), np.int8(-3), np.uint64(2**63), np.bool_(True),
        np.complex64(1j), np.float16(2), np.float64(1e300), "x", None, np.ones(1),
    )  # fmt: skip
    for char in "?bhilqBHILQefdFD":
        dtype = np.dtype(char)
        for value in values:
            outcomes = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for function in (argument, _launch.packed):
                    try:
                        outcomes.append(function(value, dtype))
                    except (DoesNotFit, TypeError, ValueError, OverflowError) as error:
                        outcomes.append(type(error))
            made, packed = outcomes
            if isinstance(packed, bytes):
                assert packed == memory_at(made, dtype.itemsize), (value, dtype)
            else:
                assert made is packed, (value, dtype)


def memory_at(scalar: Any, size: int) -> bytes:
    """The bytes that a kernel gets of a number of CuPy's; a word of its struct is their address."""
    pointer = ctypes.c_size_t.from_address(id(scalar) + POINTER)
    return ctypes.string_at(pointer.value, size)


def test_memory_is_given_back(host: Host) -> None:
    """The pool holds results alone, whatever a program made on its way; arguments are not kept."""
    pool = host.cupy.get_default_memory_pool()
    compiled = ufuse.compile(program)
    x, y = arguments(host.cupy)
    results = compiled(x, y, 2.0)
    del results
    counts = [sys.getrefcount(x), sys.getrefcount(y)]
    used = pool.used_bytes()
    for _ in range(20):
        results = compiled(x, y, 2.0)
        del results
    assert [sys.getrefcount(x), sys.getrefcount(y)] == counts
    assert pool.used_bytes() == used


def test_launches_are_on_the_current_stream(host: Host) -> None:
    """Where work is done late, a stream's own results are there behind a wait for that stream."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    x, y = arguments(cp)
    wanted = compiled(x, y).get()
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]
    with host.device.working_late():
        results = []
        for stream in streams:
            with stream:
                with host.device.counting() as counts:
                    results.append(compiled(x, y))
                assert not counts["synchronize"]
        streams[1].synchronize()
        assert (as_host(host, results[1]) == wanted).all()
        assert not (as_host(host, results[0]) == wanted).any()
        streams[0].synchronize()
        assert (as_host(host, results[0]) == wanted).all()


def as_host(host: Host, array: Any) -> Any:
    """What lies in an array's memory now: nothing is waited for."""
    return np.frombuffer(host.device.bytes_at(array.data.ptr, array.nbytes), array.dtype).reshape(
        array.shape
    )


def test_captured_launches_keep_their_arguments(host: Host) -> None:
    """A program that the user captures on a stream runs when the graph does."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    x, y = arguments(cp)
    wanted = compiled(x, y).get()
    with cp.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        result = compiled(x, y)
        graph = stream.end_capture()
        assert np.isnan(as_host(host, result)).any()
        graph.launch(stream)
    assert (result.get() == wanted).all()


@pytest.mark.parametrize(
    ("architecture", "version", "is_early"),
    [(90, 12030, True), (89, 12030, False), (90, 12020, False)],
)
def test_kernels_are_launched_early_where_they_wait_by_themselves(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch, architecture: int, version: int, is_early: bool
) -> None:  # fmt: skip
    """Before those in front of them are done: it depends on what they are compiled for, and on the driver."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    x, y = arguments(cp)
    compiled(x, y)
    monkeypatch.setattr(native, "architecture", lambda: architecture)
    monkeypatch.setattr(native.runtime, "driverGetVersion", lambda: version)
    native.why_not.cache_clear()
    assert native.why_not() is None
    with host.device.counting() as counts:
        result = compiled(x, y)
    assert (counts["launch"], counts["early"]) == (1, is_early)
    assert same(result, chain(x, y))


def test_a_driver_may_launch_nothing_early(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then kernels are launched plainly, from the first one on."""
    compiled = ufuse.compile(chain)
    x, y = arguments(host.cupy)
    compiled(x, y)
    assert native.why_not() is None
    monkeypatch.setattr(host.driver, "refuses_early", True, raising=False)
    results = [compiled(x, y) for _ in range(2)]
    with host.device.counting() as counts:
        results.append(compiled(x, y))
    assert (counts["launch"], counts["early"]) == (1, 0)
    assert all(same(one, chain(x, y)) for one in results)


def test_a_question_about_early_launches_may_fail(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is raised, and asked again by the next launch."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    x, y = arguments(cp)
    compiled(x, y)

    def failing() -> int:
        raise OSError("no answer")

    with monkeypatch.context() as patch:
        patch.setattr(native, "architecture", failing)
        native.why_not.cache_clear()
        assert native.why_not() is None
        run = program_of_chain(host)
        with pytest.raises(OSError, match="no answer"):
            run(x, y)
    assert same(compiled(x, y), chain(x, y))


def test_arrays_elsewhere_are_cupys_own(host: Host) -> None:
    """An array of another device is not read by a kernel of this one."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    x, y = arguments(cp)
    compiled(x, y)
    run = program_of_chain(host)
    memory = cp.cuda.UnownedMemory(y.data.ptr, y.nbytes, y, 5)
    elsewhere = cp.ndarray(y.shape, y.dtype, cp.cuda.MemoryPointer(memory, 0))
    with host.device.counting() as counts:
        assert run(x, elsewhere) is NotImplemented
    assert not counts["launch"]


def test_out_of_memory_is_eagers(host: Host) -> None:
    """Where a result finds no memory the frame runs eagerly, which raises in its own line; nothing is kept."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    x, y = cp.ones(1 << 16), cp.ones(1 << 16)
    compiled(x, y)
    chain(x, y)
    pool = cp.get_default_memory_pool()
    gc.collect()
    pool.free_all_blocks()
    used = pool.used_bytes()
    with host.device.limited(1 << 18), pytest.raises(cp.cuda.memory.OutOfMemoryError) as raised:
        compiled(x, y)
    assert "chain" in [entry.name for entry in raised.traceback]
    del raised
    gc.collect()
    assert pool.used_bytes() == used
    assert same(compiled(x, y), chain(x, y))


def test_memory_of_a_program_is_free_for_eager(host: Host) -> None:
    """What a program held as memory ran out is free before the frame runs eagerly, without the pool too."""
    cp = host.cupy

    def two(x: Any) -> Any:
        y = x.sum(axis=0) + x
        del x
        return y.T.sum(axis=0) * 2

    compiled = ufuse.compile(two)
    for allocator in (None, cp.get_default_memory_pool().malloc):
        cp.cuda.set_allocator(allocator)
        try:
            x = cp.ones((256, 256))
            wanted = two(x)
            assert same(compiled(x), wanted)
            cp.get_default_memory_pool().free_all_blocks()
            for room in range(0, 2 << 20, 1 << 17):
                with host.device.limited(room):
                    try:
                        result = compiled(x)
                    except (cp.cuda.memory.OutOfMemoryError, cp.cuda.runtime.CUDARuntimeError):
                        result = None
                assert result is None or same(result, wanted)
                del result
        finally:
            cp.cuda.set_allocator(cp.get_default_memory_pool().malloc)


def test_errors_of_launches_are_raised(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver says is an exception, and results that were not computed are dropped."""
    host.device.check_margins()  # a GPU's driver cannot be replaced
    compiled = ufuse.compile(chain)
    x, y = arguments(host.cupy)
    compiled(x, y)
    pool = host.cupy.get_default_memory_pool()
    used = pool.used_bytes()

    def failing(*_: object) -> None:
        raise OSError("no such kernel")

    monkeypatch.setattr(host.driver, "launchKernel", failing)
    with pytest.raises(OSError, match="no such kernel"):
        compiled(x, y)
    gc.collect()
    assert pool.used_bytes() == used


def test_threads_launch_on_streams_of_their_own(host: Host) -> None:
    """Several threads call one function at once; each gets its own results."""
    cp = host.cupy
    compiled = ufuse.compile(chain)
    wrong = []

    def calls(number: int) -> None:
        with cp.cuda.Stream(non_blocking=True):
            x, y = cp.full(number * 50, float(number)), cp.ones(number * 50)
            wanted = chain(x, y).get()
            wrong.extend(
                number for _ in range(20) if not np.array_equal(compiled(x, y).get(), wanted)
            )

    calls(1)
    threads = [threading.Thread(target=calls, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_elements_between_elements_are_eagers(host: Host) -> None:
    """Strides that are no multiple of an element, as of a field of records: no kernel of ours reads them."""
    host.device.check_margins()  # a GPU cannot read them at all
    cp = host.cupy
    memory = cp.arange(12, dtype="f4")
    compiled = ufuse.compile(lambda x: x * 2 + 1)
    field = cp.ndarray((4,), "f8", memptr=memory.data, strides=(12,))
    assert same(compiled(cp.ones(4)), cp.full(4, 3.0))
    for _ in range(2):
        assert same(compiled(field), field * 2 + 1)


@pytest.mark.parametrize("launched", ["from C", "from Python"])
def test_numbers_that_overflow_are_warned_of_once(
    host: Host, native: Any, monkeypatch: pytest.MonkeyPatch, launched: str
) -> None:
    """At each call, at the function's own line, whether the number is known as the graph is made or not, or stored."""

    def known(x: Any) -> Any:
        return x + 1e300

    def given(x: Any, n: float) -> Any:
        return x - n

    def stored(x: Any, n: float) -> Any:
        x += n
        return x * 2

    if launched == "from Python":
        monkeypatch.setattr(native, "why_not", lambda: launched)
    for function, numbers in ((known, ()), (given, (1e300,)), (stored, (1e300,))):
        compiled = ufuse.compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled(host.cupy.ones(3, "f4"), *numbers)
        for one in (function, compiled, compiled):
            with pytest.warns(RuntimeWarning, match="overflow") as found:
                assert np.isinf(one(host.cupy.ones(3, "f4"), *numbers).get()).all()
            assert len(found) == 1, (one, found.list)
            place = found[0].filename, found[0].lineno
            assert place == (__file__, function.__code__.co_firstlineno + 1)

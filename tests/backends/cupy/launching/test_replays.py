"""Launches that wait for each other and come again as one graph of CUDA's, against eager CuPy."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from ufuse.backends import _launch


@pytest.fixture(autouse=True)
def replaying() -> Iterator[None]:
    """What comes again is always replayed, as in all tests; a test may say otherwise."""
    yield
    _launch.replay("always")


def relaxed(u: Any, f: Any, weight: Any) -> Any:
    """Six kernels: each reads what its neighbours wrote."""
    for _ in range(3):
        u[1:-1, 1:-1] = weight * (
            u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - f[1:-1, 1:-1]
        )
        u[0] = u[1] * 2
    return u.sum(axis=0) + 1


def turned(x: Any) -> Any:
    """Several new arrays, each needed for the next one alone."""
    for _ in range(12):
        x = x[:, ::-1] * 0.5 + x[::-1]
    return x


def drawn(host: Host, shape: tuple[int, ...], seed: int) -> tuple[Any, Any]:
    """Two arrays, the same for the same seed."""
    values = np.random.default_rng(seed).normal(size=(2, *shape))
    return host.cupy.asarray(values[0]), host.cupy.asarray(values[1])


def check(host: Host, compiled: Any, shape: tuple[int, ...], seed: int, weight: Any = 0.25) -> None:
    """Compare a compiled call with a plain one: what is given and what is written."""
    u, f = drawn(host, shape, seed)
    v, g = drawn(host, shape, seed)
    result, wanted = compiled(u, f, weight), relaxed(v, g, weight)
    assert result.get().tobytes() == wanted.get().tobytes()
    assert u.get().tobytes() == v.get().tobytes()


def replays(run: Callable[[], object]) -> tuple[int, int]:
    """How many graphs of CUDA's were built, and how many replayed."""
    before = _launch.replays()
    run()
    built, replayed = _launch.replays()
    return built - before[0], replayed - before[1]


def test_launches_that_come_again_are_one_graph(host: Host) -> None:
    """New values, numbers, addresses and lengths are set in its nodes; it is built once."""
    compiled = ufuse.compile(relaxed)

    def calls() -> None:
        for seed, shape in enumerate([(6, 7)] * 4 + [(9, 5), (40, 41), (6, 7)]):
            check(host, compiled, shape, seed, 0.25 + seed)

    assert replays(calls) == (1, 5)
    assert not compiled.breaks


def test_a_graph_is_one_call_of_the_driver(host: Host) -> None:
    """The same kernels in the same order, and no wait of the host."""
    compiled = ufuse.compile(relaxed)
    for seed in range(4):
        check(host, compiled, (6, 7), seed)
    u, f = drawn(host, (6, 7), 1)
    host.device.launched.clear()
    with host.device.counting() as counts:
        compiled(u, f, 0.25)
    replayed = list(host.device.launched)
    assert counts["cuGraphLaunch"] == 1
    assert not counts["synchronize"]
    _launch.replay("never")
    host.device.launched.clear()
    with host.device.counting() as counts:
        compiled(u, f, 0.25)
    assert host.device.launched == replayed
    assert len(replayed) == counts["launch"] >= 6
    assert not counts["cuGraphLaunch"]


def test_what_has_not_changed_is_not_set(host: Host) -> None:
    """With the same arrays and numbers only the new result may be elsewhere."""
    compiled = ufuse.compile(relaxed)
    u, f = drawn(host, (6, 7), 3)
    for _ in range(4):
        compiled(u, f, 0.25)
    with host.device.counting() as counts:
        compiled(u, f, 0.25)
    assert counts["cuGraphLaunch"] == 1
    assert counts["cuGraphExecKernelNodeSetParams"] <= 1


@pytest.mark.parametrize(
    "name",
    [
        "cuGraphCreate",
        "cuGraphAddKernelNode",
        "cuGraphInstantiateWithFlags",
        "cuGraphExecKernelNodeSetParams",
        "cuGraphLaunch",
        "cuStreamIsCapturing",
    ],
)
def test_a_driver_that_refuses_launches_one_by_one(host: Host, name: str) -> None:
    """Results are the same, and nothing is left behind in the driver."""
    graphs = host.driver.graphs
    host.device.check_margins()  # a GPU's driver cannot be replaced
    gc.collect()
    before = len(graphs.graphs), len(graphs.executables)
    compiled = ufuse.compile(relaxed)
    graphs.refusing.add(name)
    try:
        for seed in range(6):
            check(host, compiled, (6, 7), seed)
    finally:
        graphs.refusing.clear()
    for seed in range(3):
        check(host, compiled, (6, 7), seed)
    compiled.reset()
    del compiled
    gc.collect()
    assert (len(graphs.graphs), len(graphs.executables)) == before


def test_graphs_are_given_back(host: Host) -> None:
    """With the program that made them; those of functions that come and go are few."""
    graphs = host.driver.graphs
    host.device.check_margins()
    gc.collect()
    before = len(graphs.graphs), len(graphs.executables)
    compiled = ufuse.compile(relaxed)
    for seed in range(4):
        check(host, compiled, (6, 7), seed)
    assert (len(graphs.graphs), len(graphs.executables)) == (before[0] + 1, before[1] + 1)
    compiled.reset()
    del compiled
    gc.collect()
    assert (len(graphs.graphs), len(graphs.executables)) == before


def test_what_the_user_captures_is_launched(host: Host) -> None:
    """The launches are part of the user's graph, with their arguments."""
    cp = host.cupy
    compiled = ufuse.compile(relaxed)
    for seed in range(4):
        check(host, compiled, (6, 7), seed)
    u, f = drawn(host, (6, 7), 9)
    v, g = drawn(host, (6, 7), 9)
    wanted = relaxed(v, g, 0.25)
    with cp.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        result = compiled(u, f, 0.25)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
    assert result.get().tobytes() == wanted.get().tobytes()
    assert u.get().tobytes() == v.get().tobytes()


def test_a_replay_keeps_its_arguments(host: Host) -> None:
    """Where the device works late, the nodes of the next call are set before this one has run."""
    cp = host.cupy
    compiled = ufuse.compile(relaxed)
    for seed in range(4):
        check(host, compiled, (6, 7), seed)
    given = [drawn(host, (6, 7), seed) for seed in range(3)]
    wanted = [relaxed(*drawn(host, (6, 7), seed), 0.5 + seed).get() for seed in range(3)]
    stream = cp.cuda.Stream(non_blocking=True)
    with host.device.working_late():
        with stream:
            results = [compiled(u, f, 0.5 + seed) for seed, (u, f) in enumerate(given)]
        stream.synchronize()
        for result, right in zip(results, wanted, strict=True):
            assert result.get().tobytes() == right.tobytes()


def test_measured_replays(host: Host) -> None:
    """Both ways are tried, then one is taken; either gives the same."""
    _launch.replay("measured")
    compiled = ufuse.compile(relaxed)

    def calls() -> None:
        for seed in range(30):
            check(host, compiled, (6, 7), seed)

    built, replayed = replays(calls)
    assert built == 1
    assert replayed in (8, 20)  # of 28 calls with a graph, sixteen are trials
    assert replays(calls) in ((0, 0), (0, 30))


def test_memory_waits_for_the_launches(host: Host) -> None:
    """Arrays that a program drops on its way are free behind its call, and large ones before."""
    cp = host.cupy
    compiled = ufuse.compile(turned)
    pool = cp.get_default_memory_pool()
    for n in (30, 30, 30, 30, 700, 700, 700):
        (x, _) = drawn(host, (n, n), n)
        gc.collect()
        used = pool.used_bytes()
        result, wanted = compiled(x), turned(x)
        assert result.get().tobytes() == wanted.get().tobytes()
        del wanted
        assert pool.used_bytes() - used <= result.nbytes + 512
        del result


def test_large_arrays_do_not_pile_up(host: Host) -> None:
    """Memory runs out no earlier than for plain launches, but for a bounded rest."""
    cp = host.cupy
    compiled = ufuse.compile(turned)
    (x, _) = drawn(host, (1100, 1100), 1)
    for _ in range(3):
        compiled(x)
    gc.collect()
    cp.get_default_memory_pool().free_all_blocks()
    room = 3 * x.nbytes + (48 << 20)
    host.device.launched.clear()
    with host.device.limited(room):
        result = compiled(x)
    assert len(host.device.launched) == 12  # of ours: plain CuPy did not have to run
    assert result.get().tobytes() == turned(x).get().tobytes()


def test_what_was_written_stays_where_memory_runs_out(host: Host) -> None:
    """A store that waits is launched before the error of what comes behind it is raised."""
    cp = host.cupy

    def program(u: Any, f: Any) -> Any:
        u[1:] = u[:-1] * 2 + f[1:]
        v = u.T.sum(axis=0) + f
        w = v.T.sum(axis=0) * f
        return w[::-1].T.sum(axis=0) + v

    compiled = ufuse.compile(program)
    pool = cp.get_default_memory_pool()
    for seed in range(3):
        compiled(*drawn(host, (200, 200), seed))
    outcomes = set()
    for room in range(0, 4 << 20, 1 << 17):
        u, f = drawn(host, (200, 200), 7)
        v, g = drawn(host, (200, 200), 7)
        wanted = program(v, g)
        gc.collect()
        pool.free_all_blocks()
        raised = False
        with host.device.limited(room):
            try:
                result = compiled(u, f)
            except (cp.cuda.memory.OutOfMemoryError, cp.cuda.runtime.CUDARuntimeError):
                raised = True
        outcomes.add(raised)
        if not raised:
            assert result.get().tobytes() == wanted.get().tobytes()
            del result
        plain, _ = drawn(host, (200, 200), 7)
        assert u.get().tobytes() in (
            v.get().tobytes(),
            *([plain.get().tobytes()] if raised else []),
        )
    assert outcomes == {False, True}


def test_threads_replay_for_themselves(host: Host) -> None:
    """While one thread replays a graph another launches; each gets its own results."""
    cp = host.cupy
    compiled = ufuse.compile(relaxed)
    wanted = [relaxed(*drawn(host, (6, 7), seed), 0.25).get() for seed in range(4)]
    for seed in range(4):
        check(host, compiled, (6, 7), seed)
    wrong: list[int] = []

    def calls(seed: int) -> None:
        with cp.cuda.Stream(non_blocking=True):
            for _ in range(30):
                result = compiled(*drawn(host, (6, 7), seed), 0.25)
                if result.get().tobytes() != wanted[seed].tobytes():
                    wrong.append(seed)

    threads = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_graph_belongs_to_one_stream(host: Host) -> None:
    """Launches on two streams in turn do not wait for each other; who moves to another stream takes the graph along."""
    cp = host.cupy
    compiled = ufuse.compile(relaxed)
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(2)]

    def calls(order: list[int]) -> None:
        for number in order:
            with streams[number]:
                check(host, compiled, (6, 7), number)

    assert replays(lambda: calls([0] * 4)) == (1, 2)
    assert replays(lambda: calls([0, 1] * 4)) == (0, 4)
    assert replays(lambda: calls([1] * 12)) == (1, 4)  # the eighth in a row is remembered


@pytest.mark.parametrize("fewer", [0, 32])
@pytest.mark.parametrize("way", ["always", "never"])
def test_memory_runs_out_no_earlier(host: Host, fewer: int, way: str) -> None:
    """Behind a visible write, too: what is kept for launches that wait, or to be used again, is given back first."""
    cp = host.cupy
    _launch.replay(way)

    def program(u: Any) -> Any:
        u[0] = u[1] * 2
        x = u
        for _ in range(12):
            x = x[: len(x) - fewer, ::-1] * 0.5 + x[fewer:][::-1]
        return x

    compiled = ufuse.compile(program)
    pool = cp.get_default_memory_pool()
    (u, _) = drawn(host, (512, 512), 1)
    for _ in range(4):
        compiled(u)
    enough = 0
    for room in (4, 8, 12, 24):
        (u, _), (v, _) = (drawn(host, (512, 512), 2) for _ in range(2))
        outcomes: list[Any] = []
        for function, one in ((program, u), (compiled, v)):
            gc.collect()
            pool.free_all_blocks()
            with host.device.limited(room << 20):
                try:
                    outcomes.append(function(one))
                except (cp.cuda.memory.OutOfMemoryError, cp.cuda.runtime.CUDARuntimeError):
                    outcomes.append(None)
            if outcomes[-1] is not None:
                outcomes[-1] = outcomes[-1].get()
        plain, made = outcomes
        if plain is not None:
            enough += 1
            assert made is not None, room
            assert made.tobytes() == plain.tobytes()
        assert u.get().tobytes() == v.get().tobytes()
    assert enough >= 2


def test_memory_that_waiting_launches_use_is_not_given_away(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory runs short in the middle of a kernel's results: another thread could launch on the stream before."""
    cp = host.cupy
    host.device.check_margins()  # the launches of a GPU cannot be looked at
    _launch.replay("always")

    def program(x: Any) -> Any:
        a = x * 2
        c = (a[::-1] + 1)[::-1] * 3
        d, e = c[::-1] + 5, c[::-1] * 7
        return d[::-1] * e[::-1] + (d - e)[::-1]

    compiled, pool, x = ufuse.compile(program), cp.cuda.MemoryPool(), cp.arange(1000.0)
    wanted = program(x).get()
    for _ in range(4):
        compiled(x)
    asked, failing, used = [0], [0], [0]

    def allocate(size: int) -> Any:
        asked[0] += 1
        if asked[0] == failing[0]:
            used[0] = pool.used_bytes()
            raise cp.cuda.memory.OutOfMemoryError(size, 0, 0)
        return pool.malloc(size)

    start = type(host.driver).start

    def started(*arguments: Any) -> None:
        assert pool.used_bytes() >= used[0]
        used[0] = 0
        start(*arguments)

    monkeypatch.setattr(type(host.driver), "start", started)
    with cp.cuda.using_allocator(allocate):
        assert compiled(x).get().tobytes() == wanted.tobytes()
        for failing[0] in range(2, asked[0] + 1):
            asked[0] = 0
            assert compiled(x).get().tobytes() == wanted.tobytes()


def test_memory_of_a_kernels_own_is_kept(host: Host) -> None:
    """A recorded kernel with temporaries and no results, behind which many slots are cleared; the sanitizer looks on."""
    host.device.check_margins()  # a GPU has no such kernel
    from ufuse.backends.cupy.launching import native  # noqa: PLC0415 - only where CuPy is

    assert native.why_not() is None
    code = 'extern "C" __global__ void nothing(double* x) { }'
    function = host.cupy.RawKernel(code, "nothing").kernel
    launches = ((function, function.ptr, 1, 1, (0,)),)
    kernel = _launch.Kernel((("array", 8),), 0, lambda arrays, device: ((), (64,), launches))
    x = host.cupy.ones(3)
    for count in range(1, 9):
        slots = tuple(range(1, 1 + count))
        step = ("kernel", kernel, (), (0,), ())
        run = _launch.Program(
            1,
            count + 1,
            tuple((slot, object()) for slot in slots),
            (),
            ((*step, slots), (*step, ()), (*step, ())),
            (0,),
            3,
            lambda error, late: (error, late),
        )
        with host.device.counting() as counts:
            for _ in range(3):
                assert run(x) is x
        assert counts["launch"] == 9


def test_functions_outlive_their_graphs(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """No executable is left where the function of a node is unloaded."""
    from ufuse.backends import cupy as backend  # noqa: PLC0415 - only where CuPy is
    from ufuse.backends.cupy.launching.launch import Kernel  # noqa: PLC0415 - the same

    graphs, left = host.driver.graphs, []
    gc.collect()
    before = len(graphs.executables)

    class Owner:
        def __init__(self, function: Any) -> None:
            self.function, self.ptr = function, function.ptr

        def __del__(self) -> None:
            left.append(len(graphs.executables) - before)

    whole = Kernel._map_form
    monkeypatch.setattr(Kernel, "_map_form", lambda self, *form: Owner(whole(self, *form)))

    def mirrored(x: Any) -> Any:
        for _ in range(4):
            x = x[:, ::-1] * 0.5 + x[::-1]
        return x

    spec = ufuse.Spec((None, None), "f8", device="cuda")
    run = backend.BACKEND.compile(ufuse.compile(mirrored).trace(spec)._captured)
    for _ in range(4):
        run(host.cupy.ones((4, 4)))
    assert len(graphs.executables) == before + 1
    del run
    gc.collect()
    assert left
    assert not any(left)


def test_another_way_to_replay_is_an_error() -> None:
    """The names are said in the docstring."""
    with pytest.raises(ValueError, match="no way to replay: 'often'"):
        _launch.replay("often")
    with pytest.raises(ValueError, match="no way to replay: 3"):
        _launch.replay(3)  # type: ignore[arg-type]


@pytest.mark.leaks
def test_many_replays_leak_nothing(host: Host) -> None:
    """Launched or replayed, kept until then or refused: memory stays what it was."""
    import tracemalloc  # noqa: PLC0415 - only here

    compiled = ufuse.compile(relaxed)
    u, f = drawn(host, (6, 7), 1)
    tracemalloc.start()
    sizes = []
    for how in ("always", "never", "always", "never"):
        _launch.replay(how)
        for _ in range(2000):
            compiled(u, f, 0.25)
            u[...] = 0
        host.device.launched.clear()
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert sizes[3] - sizes[1] < 4096

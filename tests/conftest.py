"""Settings of every test run."""

from __future__ import annotations

import functools
import gc
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import numpy as np
import pytest
from hypothesis.internal.entropy import deterministic_PRNG

from tests.support.comparing import modes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.cupy_host import Host
    from tests.support.frames.hooking import Session
    from tests.support.real_device import RealDevice

# Tests say what is captured, not whether it pays here and now; those of the timing ask for it.
os.environ.setdefault("UFUSE_MEASURE", "0")

# The same examples on every run, and no clock: a shared machine may stall in any test.
hypothesis.settings.register_profile(
    "ufuse", deadline=None, derandomize=True, database=None, max_examples=60
)
# For a long search: UFUSE_HYPOTHESIS=search make test
hypothesis.settings.register_profile("search", deadline=None, database=None, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("UFUSE_HYPOTHESIS", "ufuse"))

# Last on the path: `benchmarks` is found there, and `ufuse` still where it was installed.
sys.path.append(str(Path(__file__).resolve().parent.parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--share K/N`, for runs of the same tests on several Pythons."""
    parser.addoption(
        "--gpu",
        action="store_true",
        help="run tests of CuPy's arrays on a GPU, not on the test device",
    )
    parser.addoption(
        "--share",
        metavar="K/N",
        help="of the tests that no version of Python matters to, the Kth part of N",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is in the shares of others."""
    share = config.getoption("--share")
    if share is None:
        return
    number, parts = map(int, share.split("/"))
    if not 1 <= number <= parts:
        raise pytest.UsageError(f"--share {share}: K is to be between 1 and N")
    left_out = [item for item in items if is_shared(item) and part_of(item, parts) != number]
    config.hook.pytest_deselected(items=left_out)
    away = set(left_out)
    items[:] = [item for item in items if item not in away]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what not every comparison ran under."""
    if not modes.EVERY:
        terminalreporter.write_line(
            "Where warnings and floating-point errors do not matter, two of six treatments of them were compared;"
            " tests marked left_out were not run: make test-whole does all"
        )


def is_shared(item: pytest.Item) -> bool:
    """Whether a test is of what knows nothing of CPython's versions, or one of many that are alike in this."""
    parts = item.path.relative_to(Path(__file__).parent).parts
    of_loops = "loops" in parts or item.path.name.startswith("test_tiles")
    of_versions = "csrc" in parts and not of_loops
    plain = {"graph", "backends", "benchmarks", "programs", "shape", "support"}
    is_plain = parts[0] in plain and not of_versions
    is_rule = parts[:2] == ("frame_hook", "arrays") or (
        parts[:2] == ("frame_hook", "nests") and parts[2] not in {"loops", "entries"}
    )
    return is_plain or is_rule or item.get_closest_marker("any_python") is not None


def part_of(item: pytest.Item, parts: int) -> int:
    """The number of the part that a test is in, from 1 on."""
    return zlib.crc32(item.nodeid.encode()) % parts + 1


@pytest.fixture(scope="module", autouse=True)
def _small_heap() -> None:
    """Hide what is alive now from the garbage collector: a test that collects would walk through it each time."""
    register_random_states()
    gc.collect()
    gc.freeze()


@functools.cache
def register_random_states() -> None:
    """Have hypothesis look now for who refers to random states: `gc.freeze` hides referrers."""
    with deterministic_PRNG():
        pass


@pytest.fixture(autouse=True)
def _shares_nothing() -> None:
    """Nothing that was captured in one test is used in another: they count traces."""
    from ufuse import sharing  # noqa: PLC0415 - only once the tests run

    sharing.forget()


@pytest.fixture(autouse=True)
def _owes_nothing() -> Iterator[None]:
    """What tests before have spent on traces holds up none of this one's: law 4 of `budget.py` has tests of its own."""
    from ufuse.frame_hook import budget  # noqa: PLC0415 - only once the tests run

    with (
        pytest.MonkeyPatch.context() as patch
    ):  # not the test's own, which would be undone later than without this
        patch.setattr(budget, "ALTOGETHER", budget.Allowance(6000.0, 0.05))
        patch.setattr(budget, "ALL", budget.Row(6000.0))
        yield


@pytest.fixture
def session() -> Iterator[Session]:
    """A session of the C layer; nothing may be left installed after the test."""
    from tests.support.frames.hooking import Session  # noqa: PLC0415
    from ufuse.frame_hook import _hook  # noqa: PLC0415 - only the tests that ask for it need it

    yield Session()
    assert not _hook.hook_installed()


@pytest.fixture
def host(request: pytest.FixtureRequest) -> Iterator[Host | RealDevice]:
    """Eager CuPy on the CPU; whatever a test allocates, nothing is stored beside it. A real device with --gpu."""
    if request.config.getoption("--gpu"):
        from tests.support.real_device import real_device  # noqa: PLC0415 - only there

        real = real_device()
        yield real
        real.check(request.node.nodeid)
        return
    from tests.support import cupy_host  # noqa: PLC0415 - only where CuPy is installed

    reason = cupy_host.why_not()
    if reason is not None:
        pytest.skip(reason)
    host = cupy_host.install()
    pool = host.cupy.get_default_memory_pool()
    pool.free_all_blocks()
    yield host
    host.device.check_margins()
    pool.free_all_blocks()


@pytest.fixture
def own_kernels(host: Host | RealDevice) -> Iterator[None]:
    """Have CuPy take no library but its own kernels."""
    accelerators = host.cupy._core._accelerator
    routines = accelerators.get_routine_accelerators()
    reductions = accelerators.get_reduction_accelerators()
    accelerators.set_routine_accelerators(())
    accelerators.set_reduction_accelerators(())
    yield
    accelerators.set_routine_accelerators(routines)
    accelerators.set_reduction_accelerators(reductions)


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Keep the collector off: CPython itself ignores what a signal handler raises in a callback of it, as hypothesis has."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def quiet() -> Iterator[None]:
    """Leave the number of threads as it was; no test's own NumPy calls warn."""
    from ufuse.backends.numpy import _tiles  # noqa: PLC0415 - the same

    count = _tiles.threads()
    with np.errstate(all="ignore"):
        yield
    _tiles.set_threads(count)

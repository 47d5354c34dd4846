"""What a device needs for a call counts where calls are timed: the host goes on before that is done."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.unlimited import lift_limits
from ufuse import decorator
from ufuse.frame_hook import device_clock
from ufuse.frame_hook.session import Session

MS = 1_000_000


def chain(x: Any) -> Any:
    """Four kernels of CuPy's, one of ours."""
    return ((x * 2 + 1) * x - 3).sum(axis=0)


@pytest.fixture
def clock(host: Host, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], Any]], None]:
    """Calls are timed, by a device that takes so long for so many launches (None: it is not done)."""
    monkeypatch.setattr(decorator, "MEASURING", True)
    lift_limits(monkeypatch)
    counts = host.device.counts

    def launches() -> int:
        return int(counts["launch"])

    def use(took: Callable[[int], Any]) -> None:
        def taken(began: int, ended: int) -> Any:
            return took(ended - began)

        monkeypatch.setattr(Session, "device_mark", staticmethod(launches))
        monkeypatch.setattr(Session, "device_took", staticmethod(taken))

    return use


def decisions(compiled: Any) -> list[str]:
    """What trials have decided."""
    return [one.way for one in compiled.__ufuse_session__.decisions]


def test_what_is_faster_on_the_device_stays(host: Host, clock: Any) -> None:
    """However long the host takes for it, and the other way round."""
    x = host.cupy.ones((64, 3))
    for took, given_back in ((lambda n: n * 5 * MS, 0), (lambda n: (9 - n) * 5 * MS, 1)):
        clock(took)
        compiled = ufuse.compile(chain)
        compiled.reset()
        for _ in range(40):
            compiled(x)
        assert compiled.stats.given_back == given_back
    assert not compiled.breaks


def test_a_device_that_is_not_done_is_not_waited_for(host: Host, clock: Any) -> None:
    """Calls in between are compiled and not timed; then it is asked again."""
    asked = []

    def took(launches: int) -> Any:
        asked.append(launches)
        return None if len(asked) % 10 else launches * 5 * MS

    clock(took)
    compiled = ufuse.compile(chain)
    x = host.cupy.ones((64, 3))
    for _ in range(200):
        compiled(x)
    assert len(asked) > 30
    assert compiled.stats.given_back == 0
    assert compiled.stats.hits > 150


def test_a_function_that_waits_for_a_device_may_go(host: Host, clock: Any) -> None:
    """Its last sample keeps nothing of it."""
    clock(lambda _: None)

    def made() -> Any:
        def inner(x: Any) -> Any:
            return (x * 2 + 1) * x

        return inner

    function = made()
    compiled = ufuse.compile(function)
    for _ in range(9):
        compiled(host.cupy.ones(9))
    seen = weakref.ref(function)
    del function, compiled
    gc.collect()
    assert seen() is None
    other = ufuse.compile(chain)
    for _ in range(9):
        other(host.cupy.ones((9, 9)))


def test_events(host: Host) -> None:
    """Nanoseconds between them; nothing where they are not for timing, and none in a graph that is captured."""
    cp = host.cupy
    began = device_clock.mark()
    cp.ones(1000) * 2
    ended = device_clock.mark()
    device_clock.wait()
    assert device_clock.took(began, ended) >= 0
    untimed = cp.cuda.Event(disable_timing=True)
    untimed.record()
    device_clock.wait()
    assert device_clock.took(untimed, ended) == device_clock.NOTHING
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            assert device_clock.mark() is None
        finally:
            stream.end_capture()

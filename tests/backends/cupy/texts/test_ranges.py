"""Ranges that a profiler shows: they begin and end where eager CuPy has them, around the launches that they hold."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.restated import check_restated
from tests.support.unlimited import lift_limits

Said = list[tuple[str, int]]


@pytest.fixture
def said(host: Host, monkeypatch: pytest.MonkeyPatch) -> Said:
    """What a graph says to the profiler, with how many launches there have been."""
    from ufuse.backends.cupy.steps import streams  # noqa: PLC0415  only where CuPy is

    lift_limits(monkeypatch)
    rows: Said = []

    def heard(name: str, *given: Any, function: Any = streams.said) -> None:
        rows.append((name, host.device.counts["launch"]))
        function(name, *given)

    monkeypatch.setattr(streams, "said", heard)
    return rows


def test_kernels_stay_in_their_ranges(host: Host, said: Said) -> None:
    """Nothing changes places with the begin or the end of a range."""
    time_range = import_module("cupyx.profiler").time_range
    cp, nvtx = host.cupy, host.cupy.cuda.nvtx

    def ranged(x: Any, y: Any) -> Any:
        nvtx.RangePush("sums")
        z = x * 2 + y
        with time_range("products", color_id=2):
            w = z * y
        nvtx.Mark("between")
        nvtx.RangePushC("less", 0xFF00)
        v = z - w
        nvtx.RangePop()
        u = v / 3
        nvtx.RangePop()
        nvtx.MarkC("end", color=1)
        return z, w, v, u

    compiled = check_restated(host, ranged, lambda: (cp.arange(5.0), cp.ones(5)))
    assert not compiled.breaks
    said.clear()
    before = host.device.counts["launch"]
    compiled(cp.arange(5.0), cp.ones(5))
    names = "RangePush RangePush RangePop Mark RangePushC RangePop RangePop MarkC".split()
    assert [name for name, _ in said] == names
    assert [count - said[0][1] for _, count in said] == [0, 1, 2, 2, 2, 3, 4, 4]
    assert said[0][1] >= before


def test_what_gives_up_ends_its_ranges(host: Host, said: Said) -> None:
    """A graph that finds out inside of ranges that it does not fit: plain Python begins them anew."""
    cp, nvtx = host.cupy, host.cupy.cuda.nvtx

    def given_up(x: Any, device: Any) -> Any:
        nvtx.RangePush("one")
        nvtx.RangePush("two")
        nvtx.RangePop()
        nvtx.RangePush("three", 1)
        z = x * 2
        number = device.id
        nvtx.RangePop()
        nvtx.RangePop()
        return z, number

    device = cp.cuda.Device(0)
    compiled = check_restated(host, given_up, lambda: (cp.ones(3), device))
    assert not compiled.breaks
    said.clear()
    device.id = 1
    assert compiled(cp.ones(3), device)[1] == 1
    begun = "RangePush RangePush RangePop RangePush".split()
    assert [name for name, _ in said] == [*begun, "RangePop", "RangePop"]


def test_what_no_graph_says(host: Host, said: Said) -> None:
    """Names that are computed, colours that there are not, and the end of a range that was begun before."""
    cp, nvtx = host.cupy, host.cupy.cuda.nvtx

    def end(x: Any) -> Any:
        y = x + 1
        nvtx.RangePop()
        return y * 2

    def coloured(x: Any, colour: int) -> Any:
        y = x + 1
        nvtx.RangePushC("some", colour)
        nvtx.RangePop()
        return y * 2

    for function, more in (
        (end, ()),
        (coloured, (-1,)),
        (coloured, (2**33,)),
        (coloured, ("red",)),
    ):
        compiled = check_restated(host, function, lambda more=more: (cp.ones(3), *more))
        assert [one.code for one in compiled.breaks][:1] == ["call"]
        assert not said
    named = ufuse.compile(
        lambda x, number: (nvtx.RangePush(f"step {number}"), x + 1, nvtx.RangePop())
    )
    for number in range(4):
        assert (named(cp.ones(3), number)[1] == 2).all()

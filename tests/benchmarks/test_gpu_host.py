"""What programs of CuPy's cost the host, measured on the test device."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import ufuse
from benchmarks import gpu_host
from tests.support.cupy_host import Host

TIMES = 20  # a figure may be so many times its goal in a test: the machine may be slow, or busy


def test_figures(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is measured, and near its goal; afterwards kernels are launched as before."""
    monkeypatch.setattr(gpu_host, "nanoseconds", fewer(gpu_host.nanoseconds))
    figures = gpu_host.measured(host, rounds=3)
    assert len(figures) == 11
    for figure in figures:
        assert figure.goal is None or figure.value < TIMES * figure.goal, figure
    x = host.cupy.ones(3)
    compiled = ufuse.compile(lambda x: x * 2 + 1)
    for _ in range(2):
        assert (compiled(x) == 3).all()


def fewer(function: Any) -> Any:
    """The same with few calls."""
    return lambda call, calls=0: function(call, 500, 3)


def test_a_graph_is_planned_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code is that of the plan that its trace made; others, and other options, have their own."""
    from ufuse.backends import cupy as backend  # noqa: PLC0415  only where CuPy is

    made: list[Any] = []
    plan_of = backend.plan_of

    def counted(graph: Any, **options: Any) -> Any:
        made.append(options)
        return plan_of(graph, **options)

    monkeypatch.setattr(backend, "plan_of", counted)
    spec = ufuse.Spec((None, None), "f4", device="cuda")
    one = ufuse.compile(lambda x: x * 2 - x.sum(axis=1, keepdims=True)).trace(spec)
    text = one.source("cupy")
    assert one.source("cupy") == text
    assert made == [{"exact": True}]
    assert one.source("cupy", exact=False) != text
    other = ufuse.compile(lambda x: x * 3).trace(spec)
    assert other.source("cupy") != text
    assert one.source("cupy") == text
    assert len(made) == 4


def test_a_plan_dies_with_its_graph(host: Host) -> None:
    """Only the graph keeps it, and what constants it has."""
    from ufuse.backends import cupy as backend  # noqa: PLC0415  only where CuPy is

    spec = ufuse.Spec((None,), "f4", device="cuda")
    graph = ufuse.compile(lambda x: x * 2).trace(spec)
    graph.source("cupy")
    (plan,) = [weakref.ref(graph) for graph in backend._last]
    assert plan() is not None
    del graph
    gc.collect()
    assert plan() is None
    assert not backend._last

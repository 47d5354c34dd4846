"""Reductions and statistics of CuPy's arrays: CuPy's own, in one graph with what is around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import check, same

RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 5, 6))
METHODS = "sum prod max min any all mean var std argmax argmin".split()


@pytest.mark.parametrize("name", METHODS)
def test_every_dtype_and_axis(host: Host, name: str) -> None:
    """Methods and functions, of all dtypes, over all axes and some, with and without keepdims."""
    cp = host.cupy
    function = getattr(cp, name)
    for dtype in "?bilBIefdFD":
        x = cp.asarray((abs(A) * 3).astype(dtype))
        check(lambda x: (getattr(x, name)(axis=1), function(x)), x)
    x = cp.asarray(A)
    for axis in (None, 0, -1, (0, 2), (-2,)):
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        for keepdims in (False, True):
            check(lambda x, a=axis, k=keepdims: function(x * 2, axis=a, keepdims=k) + 1, x)


def test_a_softmax_is_one_graph(host: Host) -> None:
    """In double precision its sum is CuPy's own call, and what is between is fused; the host waits for nothing."""
    cp = host.cupy

    def softmax(x: Any) -> Any:
        e = cp.exp(x * 0.5 - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    compiled = check(softmax, cp.asarray(A[0]))
    assert len(compiled.graphs) == 1
    assert compiled.graphs[0].source("cupy").count("__global__") == 2
    host.device.counts.clear()
    compiled(cp.asarray(A[0]))
    assert not any("Synchronize" in name for name in host.device.counts)


def test_a_layer_norm_is_one_graph(host: Host) -> None:
    """So is one with mean and variance, and with the deviation of columns."""
    cp = host.cupy

    def layer_norm(x: Any, weight: Any) -> Any:
        mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return (x - mean) / cp.sqrt(var + 1e-5) * weight, (x - cp.mean(x, 0)) / cp.std(x, 0, ddof=1)

    check(layer_norm, cp.asarray(A[0]), cp.asarray(A[1, 0]))


def test_layouts(host: Host) -> None:
    """Arrays in Fortran order, with negative and zero strides, and without elements."""
    cp = host.cupy
    x = cp.asarray(A)
    for array in (x.T, x[::-1, ::2], cp.broadcast_to(x[0], (4, 5, 6)), x[:, :0], x[:0], x[0, 0, 0]):
        check(lambda x: (x.sum(), x.sum(axis=-1) if x.ndim else x, (x * 2).any()), array)


def test_the_largest_of_nothing(host: Host) -> None:
    """CuPy's exception is raised, as its own message."""
    cp = host.cupy
    compiled = ufuse.compile(lambda x: (x + 1).max(axis=0))
    assert same(compiled(cp.ones((2, 3))), cp.full(3, 2.0))
    for _ in range(2):
        with pytest.raises(ValueError, match="zero-size array to reduction operation"):
            compiled(cp.ones((0, 3)))


def test_axes_that_are_not_there(host: Host) -> None:
    """What CuPy refuses is refused in its words."""
    compiled = ufuse.compile(lambda x, axis: x.sum(axis=axis))
    x = host.cupy.ones((2, 3))
    for axis in (2, (0, 0), 1.5):
        with pytest.raises((ValueError, TypeError)) as plain:
            x.sum(axis=axis)
        with pytest.raises(type(plain.value)) as ours:
            compiled(x, axis)
        assert str(ours.value) == str(plain.value)


def test_another_dtype_than_expected_runs_plainly(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result whose dtype is not the graph's is not used."""
    from ufuse.graph.typing import device_calls  # noqa: PLC0415  the table is changed

    monkeypatch.setitem(device_calls.STATISTICS, "mean", lambda dtype: np.dtype("f4"))
    x = host.cupy.asarray(A)
    compiled = ufuse.compile(lambda x: x.mean(axis=0) * 2)
    assert same(compiled(x), x.mean(axis=0) * 2)


def test_shapes_and_copies(host: Host) -> None:
    """Views by reshape, ravel and transpose, and copies, are part of a graph."""
    cp = host.cupy
    x = cp.asarray(A)
    check(lambda x: (x.reshape(20, 6) * 2, x.reshape((-1, 3)) + 1, x.ravel() * x.size), x)
    check(lambda x: (x.transpose(1, 0, 2) * 2, cp.transpose(x) + 1, x.transpose((2, 1, 0))), x)
    check(lambda x: (x.copy(), x.T.copy() + 1, cp.ravel(x), cp.reshape(x, (5, 24))), x)
    check(lambda x: (x * 2).reshape(-1).sum(), x)
    compiled = ufuse.compile(lambda x: (x.ravel(), x.reshape(4, 30), x.copy(), x.T))
    assert [cp.shares_memory(one, x) for one in compiled(x)] == [True, True, False, True]


def test_where_the_host_waits(host: Host) -> None:
    """What makes a list of an array ends a graph, and says so."""
    compiled = ufuse.compile(lambda x: (x * 2).tolist())
    assert compiled(host.cupy.ones(3)) == [2, 2, 2]
    assert "the host waits for the device" in str(compiled.breaks[0])

"""What is known of CuPy's arrays: types and texts, how guards read them, and what is said where they differ."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import ufuse
from tests.support.cupy_host import Host
from ufuse.frame_hook import _hook
from ufuse.frame_hook.trace import device_arrays
from ufuse.graph.types import c_order
from ufuse.graph.typing import device_layout, library

F8 = np.dtype("f8")


def shifted(x: Any, y: Any) -> Any:
    return x * 2 + y


def test_a_graph_is_traced_without_arrays(host: Host) -> None:
    """A Spec on a device gives the types of CuPy, their text reads back, and the kernel is text."""
    host.device.counts.clear()
    spec = ufuse.Spec((None, 3), "f4", device="cuda")
    assert repr(spec) == "Spec((None, 3), 'float32', device='cuda')"
    graph = ufuse.compile(shifted).trace(spec, spec)
    text = str(graph)
    assert "x: f4[n, m]@cuda" in text
    assert str(ufuse.Graph.parse(text)) == text
    source = graph.source("cupy")
    assert 'extern "C" __global__ void ufuse_shifted(' in source
    assert "out0 = __fmul_rn(in0, in1);" in source
    assert not host.device.counts["launch"]


def test_a_signature_says_where_arrays_are(host: Host) -> None:
    """NumPy's arrays are not of a kind on a device, nor CuPy's of one on the host."""
    spec = ufuse.Spec((None,), "f8", device="cuda")
    assert spec.why_not(host.cupy.ones(3)) is None
    assert spec.why_not(np.ones(3)) == "a ndarray"
    assert ufuse.Spec((None,), "f8").why_not(host.cupy.ones(3)) == "a ndarray"


def test_unknown_devices_are_refused() -> None:
    """There are two."""
    with pytest.raises(ValueError, match="device must be 'cpu' or 'cuda', not 'tpu'"):
        ufuse.Spec((3,), "f8", device="tpu")


def test_structs_are_read_as_attributes_say(host: Host) -> None:
    """Shape, strides, dtype, address and device of every kind of array."""
    cp = host.cupy
    assert device_arrays.why_not_read(cp.ndarray, cp) is None
    x = cp.asarray(np.arange(24.0).reshape(2, 3, 4))
    for array in (
        x,
        x.T,
        x[::-1, 1:, ::2],
        x[0, 0, 0],
        x[:0],
        cp.broadcast_to(x, (5, 2, 3, 4)),
        x.astype("F"),
    ):
        assert _hook.device_array(array) == device_layout.by_attributes(array)
    assert _hook.device_array(np.ones(3)) is None
    assert _hook.device_array(None) is None


@pytest.mark.parametrize("part", ["_shapes", "_dtypes", "_addresses", "_devices"])
def test_another_struct_is_not_read(host: Host, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Where something is found nowhere, or in two places, arrays are not captured, and all runs as before."""
    for found in (set(), {16, 24}):
        monkeypatch.setattr(device_layout, part, lambda _, found=found: set(found))
        monkeypatch.setattr(device_layout, "_learned", {})
        monkeypatch.setattr(device_arrays, "_read", {})
        x = host.cupy.ones(3)
        compiled = ufuse.compile(lambda x: x * 3 - 1)
        assert (compiled(x) == 2).all()
        assert compiled.breaks[0].reason == "an array of this version of CuPy cannot be captured"
        compiled.reset()


def test_other_arrays_are_another_graph(host: Host) -> None:
    """Dtype, rank and place are guarded, and reports say which changed."""
    compiled = ufuse.compile(shifted)
    x = host.cupy.ones(3)
    for other in (x, x.astype("f4"), host.cupy.ones((3, 3)), np.ones(3)):
        assert (compiled(other, 1.0) == 3).all()
        assert type(compiled(other, 1.0)) is type(other)
    said = "x is no longer a contiguous 1-d array of float64 on device 0"
    assert said in str(compiled.retraces[0])
    assert len(compiled.retraces) == 3


def holds(array: Any, *row: Any) -> bool:
    """Whether a row about the first register holds for an array."""
    kind, *operands = row
    entry = _hook.Entry([(_hook.GUARD_KINDS[kind], 0, *operands)], [], None, 0, [], ("return", 0))
    return entry.first_failing((array,)) is None


def test_rows_about_arrays_hold_of_what_they_say(host: Host) -> None:
    """Of every layout in every order of axes, as the rows about arrays of NumPy's that lie so hold."""
    cp = host.cupy
    assert device_arrays.why_not_read(cp.ndarray, cp) is None
    x = cp.asarray(np.arange(24.0).reshape(2, 3, 4))
    odd = [
        cp.ndarray(shape, "f8", memptr=x.data, strides=strides)
        for shape, strides in (
            ((1, 3), (7, 8)),
            ((3, 1), (8, 5)),
            ((0, 3), (1, 2)),
            ((1, 1), (0, 0)),
        )
    ]
    arrays = [
        x,
        x.T,
        x[0],
        x[:, 1],
        x[::-1],
        x[0, 0, 0],
        x[:0],
        x[:, :, :1],
        x[:, :, ::2].T,
        cp.broadcast_to(x[0], (2, 3, 4)),
        *odd,
    ]
    seen = set()
    memory = np.zeros(100)
    for array in arrays:
        alike = as_strided(memory[50:], array.shape, array.strides)
        for order in permutations(range(array.ndim)):
            for gapless in (True, False):
                right = holds(alike, "ORDER", order) and holds(alike, "CONTIGUOUS", order, gapless)
                if gapless and order == c_order(array.ndim):
                    assert right == array.flags.c_contiguous
                assert holds(array, "DEVICE_LAYOUT", F8, 0, order, gapless) == right
                seen.add((order == c_order(array.ndim), gapless, right))
            assert not holds(array, "DEVICE_LAYOUT", np.dtype("f4"), 0, order, True)
            assert not holds(array, "DEVICE_LAYOUT", F8, 1, order, True)
        assert not holds(array, "DEVICE_LAYOUT", F8, 0, c_order(array.ndim + 1), True)
        assert holds(array, "DEVICE_ARRAY", F8, 0, array.ndim)
        for wrong in (
            (np.dtype("f4"), 0, array.ndim),
            (F8, 0, array.ndim + 1),
            (F8, 1, array.ndim),
        ):
            assert not holds(array, "DEVICE_ARRAY", *wrong)
    assert len(seen) == 8
    for other in (np.ones(3), None):
        assert not holds(other, "DEVICE_ARRAY", F8, 0, 1)
        assert not holds(other, "DEVICE_LAYOUT", F8, 0, (0,), True)


def test_an_array_takes_one_row(host: Host) -> None:
    """However it lies in memory, it is guarded in one look at its struct."""
    x = host.cupy.ones((3, 4))
    for array in (x, x.T, x[:, ::2], x[::-1]):
        compiled = ufuse.compile(lambda x: x * 2)
        assert (compiled(array) == 2).all()
        (kept,) = compiled.__ufuse_session__.specialisations
        about = [
            row.kind
            for row in kept.guards
            if row.operands[:1] and getattr(row.operands[0], "text", "") == "x"
        ]
        assert len([kind for kind in about if kind != "SIZE"]) == 1, about
        compiled.reset()


def test_the_same_array_twice(host: Host) -> None:
    """One array under two names is one input; two arrays are two."""
    compiled = ufuse.compile(shifted)
    x, y = host.cupy.ones(3), host.cupy.zeros(3)
    assert (compiled(x, x) == 3).all()
    assert (compiled(x, y) == 2).all()


def test_importing_ufuse_imports_no_cupy() -> None:
    """Nor does compiling and running NumPy code."""
    text = (
        "import sys, numpy, ufuse; ufuse.compile(lambda x: x + 1)(numpy.ones(3));"
        "sys.exit('cupy' in sys.modules or 'cupy_backends' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", text], check=False).returncode == 0


def test_an_unknown_cupy_is_left_alone(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where CuPy's tables are not where they are looked for, nothing of it is captured."""
    library.cupy.cache_clear()
    monkeypatch.delattr(host.cupy._core._scalar, "CScalar")
    try:
        compiled = ufuse.compile(lambda x: x * 5 - 2)
        assert (compiled(host.cupy.ones(3)) == 3).all()
        assert not compiled.stats.hits
    finally:
        library.cupy.cache_clear()

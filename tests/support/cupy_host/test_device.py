"""The test device: memory, copies, streams and graphs as CUDA has them, and everything counted."""

from __future__ import annotations

import types

import numpy as np
import pytest

from tests.support.cupy_host import Host, capsules
from tests.support.cupy_host.device import DeviceMemoryError

COPY = 'extern "C" __global__ void copy(const float *x, float *y, int n) { y[threadIdx.x] = x[threadIdx.x + n]; }'


def test_arrays_come_and_go(host: Host) -> None:
    """An array sent to the device comes back as it was."""
    x = np.arange(12.0).reshape(3, 4)[:, ::2]
    sent = host.cupy.asarray(x)
    assert host.device.owns(sent.data.ptr, sent.nbytes)
    assert (sent.get() == x).all()
    assert (host.cupy.asnumpy(sent) == x).all()
    assert repr(sent) == repr(x)


def test_the_device_is_one_of_compute_capability_90(host: Host) -> None:
    """CuPy sees one device."""
    cuda = host.cupy.cuda
    assert cuda.runtime.getDeviceCount() == 1
    assert cuda.Device().compute_capability == "90"
    with cuda.Device(0) as device:
        assert device.attributes["MultiProcessorCount"] == 13
    with pytest.raises(cuda.runtime.CUDARuntimeError, match="InvalidDevice"):
        cuda.Device(1).use()


def test_fresh_memory_is_nan(host: Host) -> None:
    """What was not stored cannot be taken for a result."""
    assert np.isnan(host.cupy.empty(5, "f4").get()).all()
    assert np.isnan(host.cupy.empty(5, "f2").get()).all()


def test_freed_memory_is_nan(host: Host) -> None:
    """A view of what was given back to CUDA shows it."""
    runtime = host.cupy.cuda.runtime
    with host.device.quarantine():
        address = runtime.malloc(64)
        runtime.memset(address, 0, 64)
        runtime.free(address)
        assert host.device.bytes_at(address, 64) == b"\xff" * 64


def test_stores_beside_memory_are_found(host: Host) -> None:
    """A kernel that stores behind an allocation is found as it is freed."""
    runtime = host.cupy.cuda.runtime
    address = runtime.malloc(64)
    host.device.poke(address + 64, b"\x00")
    with pytest.raises(DeviceMemoryError, match="behind an allocation of 64 bytes"):
        host.device.check_margins()
    host.device.poke(address + 64, b"\xff")
    runtime.free(address)


def test_copies_are_between_what_they_say(host: Host) -> None:
    """A copy to the device fails where the target is the host's."""
    runtime = host.cupy.cuda.runtime
    x = np.zeros(4)
    with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
        runtime.memcpy(x.ctypes.data, x.ctypes.data, 8, runtime.memcpyHostToDevice)
    with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
        runtime.free(x.ctypes.data)


def test_memory_runs_out(host: Host) -> None:
    """A limit makes CuPy raise its own error, and what was freed can be used again."""
    with host.device.limited(1 << 20):
        kept = host.cupy.zeros(1 << 18, "u1")
        with pytest.raises(host.cupy.cuda.memory.OutOfMemoryError):
            host.cupy.zeros(1 << 20, "u1")
        del kept
        assert not host.cupy.zeros(1 << 20, "u1").get().any()


def test_what_cuda_is_asked_for_is_counted(host: Host) -> None:
    """Launches, copies and waits of eager CuPy can be compared with the backend's."""
    x = host.cupy.arange(5.0)
    with host.device.counting() as counts:
        y = x + 1
        y *= 2
    assert counts["launch"] == 2
    assert not counts["synchronize"] + counts["copy"]
    with host.device.counting() as counts:
        y.get()
    assert counts["synchronize"] == counts["copy"] == counts["copy to host"] == 1
    assert host.device.launched[-2:] == [
        "cupy_add__float64_float_float64",
        "cupy_multiply__float64_float_float64",
    ]


def test_streams_and_events(host: Host) -> None:
    """Streams are made, waited for and forgotten; a stream that is gone cannot be used."""
    cuda = host.cupy.cuda
    with cuda.Stream(non_blocking=True) as stream:
        x = host.cupy.arange(3) + 1
        event = stream.record()
    assert event.done
    stream.synchronize()
    assert cuda.get_elapsed_time(event, event) == 0
    assert x.get().tolist() == [1, 2, 3]
    gone = cuda.runtime.streamCreate()
    cuda.runtime.streamDestroy(gone)
    with pytest.raises(cuda.runtime.CUDARuntimeError, match="InvalidResourceHandle"):
        cuda.runtime.streamSynchronize(gone)


def test_a_wait_that_is_missing_shows(host: Host) -> None:
    """Where work is done as late as CUDA may, the host sees a result only behind a wait."""
    cupy = host.cupy
    x = cupy.arange(4.0)
    pinned = cupy.cuda.alloc_pinned_memory(32)
    result = np.frombuffer(pinned, "f8", 4)
    result[:] = -1
    with host.device.working_late(), cupy.cuda.Stream(non_blocking=True) as stream:
        (x + 1).get(out=result, blocking=False)
        assert result.tolist() == [-1] * 4
        assert not stream.done
        stream.synchronize()
        assert result.tolist() == [1, 2, 3, 4]
        assert (x * 2).get().tolist() == [0, 2, 4, 6]  # not pinned: CUDA waits itself


def test_streams_wait_for_events_only(host: Host) -> None:
    """Of two streams that do not block each other, the second sees the first's results only behind its event."""
    cupy = host.cupy
    first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    for waits in (False, True):
        x, y = cupy.zeros(3), cupy.zeros(3)
        with host.device.working_late():
            with first:
                x += 1
                event = first.record()
            with second:
                if waits:
                    second.wait_event(event)
                y += x
            second.synchronize()
            assert event.done is waits
        assert y.get().tolist() == [float(waits)] * 3


def test_graphs_do_later_what_was_captured(host: Host) -> None:
    """Captured launches keep their arguments, and run each time the graph is launched."""
    cupy = host.cupy
    copy = cupy.RawKernel(COPY, "copy")
    x, y = cupy.arange(6, dtype="f4"), cupy.zeros(3, "f4")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        copy((1,), (3,), (x, y, np.int32(2)))
        graph = stream.end_capture()
        assert y.get().tolist() == [0, 0, 0]
        x += 1
        graph.launch(stream)
    assert y.get().tolist() == [3, 4, 5]


def test_nothing_may_be_waited_for_while_capturing(host: Host) -> None:
    """As with CUDA, a wait within a capture is an error."""
    runtime = host.cupy.cuda.runtime
    with host.cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        with pytest.raises(runtime.CUDARuntimeError, match="StreamCaptureUnsupported"):
            runtime.deviceSynchronize()
        stream.end_capture()


def test_a_function_that_is_missing_says_its_name(host: Host) -> None:
    """A real device is never asked in the test device's place."""
    with pytest.raises(NotImplementedError, match="no deviceEnablePeerAccess"):
        host.cupy.cuda.runtime.deviceEnablePeerAccess(1)


def test_a_signature_that_changed_is_named() -> None:
    """A new CuPy whose functions take other types is noticed, function by function."""
    with pytest.raises(capsules.SignatureError, match="malloc: no argument of type quaternion"):
        capsules.definition_of(0, "malloc", "intptr_t (quaternion, int __pyx_skip_dispatch)")


def test_a_function_that_is_gone_is_named() -> None:
    """A new CuPy without one of the functions is noticed."""

    class Device:
        @capsules.of_cuda
        def renamed(self) -> None:
            """Stand for what is no longer there."""

    module = types.SimpleNamespace(__name__="runtime", __pyx_capi__={})
    with pytest.raises(capsules.SignatureError, match="runtime has no function renamed"):
        capsules.rows_of(module, Device())

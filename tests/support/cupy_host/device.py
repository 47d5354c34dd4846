"""One device whose memory is the host's: what CuPy asks of the CUDA runtime, without a driver."""

from __future__ import annotations

import bisect
import collections
import ctypes
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.cupy_host.capsules import of_cuda
from tests.support.cupy_host.streams import Event, Stream, Streams

POISON = 0xFF  # NaN in every floating-point type, -1 in signed integers
ALIGNMENT = 512
MARGIN = 512  # poisoned bytes before and behind each allocation
# Only lengths that no kernel has computed, where launches are left out, ask for more; filling that would take seconds.
MOST_POISONED = 1 << 30
INVALID_VALUE, OUT_OF_MEMORY, INVALID_HANDLE, NOT_READY, CAPTURING = 1, 2, 400, 600, 900
DISABLE_TIMING = 2  # of events
HOST, DEVICE = 1, 2  # kinds of memory, as cudaMemoryType numbers them
# By cudaDeviceAttr's numbers; every other attribute is 0.
ATTRIBUTES = {
    1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535,  # threads of a block, sizes of block and grid
    8: 49152, 9: 65536, 10: 32, 12: 65536, 13: 1_980_000, 14: 512,  # shared and constant memory, warp, clock
    16: 13, 19: 1, 31: 1, 36: 3_201_000, 37: 6144, 38: 60 << 20, 39: 2048, 40: 3, 41: 1,
    75: 9, 76: 0, 78: 1, 81: 233472, 82: 65536, 97: 232448, 106: 32, 115: 1,
}  # fmt: skip
PROPERTIES = {
    "name": b"the host's processor", "totalGlobalMem": 16 << 30, "sharedMemPerBlock": 49152, "regsPerBlock": 65536,
    "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsDim": (1024, 1024, 64),
    "maxGridSize": (2**31 - 1, 65535, 65535), "clockRate": 1_980_000, "totalConstMem": 65536, "major": 9, "minor": 0,
    "multiProcessorCount": 13, "concurrentKernels": 1, "pciBusID": 0, "pciDeviceID": 0, "pciDomainID": 0,
    "memoryClockRate": 3_201_000, "memoryBusWidth": 6144, "l2CacheSize": 60 << 20,
    "maxThreadsPerMultiProcessor": 2048, "sharedMemPerMultiprocessor": 233472, "regsPerMultiprocessor": 65536,
    "sharedMemPerBlockOptin": 232448, "unifiedAddressing": 1, "managedMemory": 1, "integrated": 0,
}  # fmt: skip

libc = ctypes.PyDLL(None)
libc.aligned_alloc.restype = ctypes.c_void_p
libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]


class DeviceMemoryError(Exception):
    """A kernel wrote outside what was allocated."""


@dataclass
class Device:
    """The state of the device, and CUDA's functions as methods.

    Attributes:
        limit: bytes that can be allocated in all.
        counts: how often each function was called; "launch" and "copy" are the sums that matter, and
            "synchronize" the calls at which the host waits.
        launched: the names of the kernels run.
    """

    runtime: Any
    limit: int = 4 << 30
    allocations: dict[int, int] = field(default_factory=dict)  # address to size
    pinned: dict[int, int] = field(default_factory=dict)
    addresses: list[int] = field(default_factory=list)  # sorted
    streams: Streams = field(default_factory=Streams)
    events: dict[int, Event] = field(default_factory=dict)
    graphs: dict[int, list[Callable[[], object]]] = field(default_factory=dict)
    pool_attributes: dict[int, int] = field(default_factory=dict)
    kept: list[int] | None = None  # freed memory that is still poisoned
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    launched: list[str] = field(default_factory=list)
    tokens: Iterator[int] = field(default_factory=lambda: itertools.count(1 << 20, 16))

    @contextmanager
    def counting(self) -> Iterator[collections.Counter[str]]:
        """What is called within the context."""
        before, counts = self.counts.copy(), collections.Counter[str]()
        yield counts
        counts.update(self.counts - before)

    @contextmanager
    def limited(self, size: int) -> Iterator[None]:
        """Let no more than `size` bytes beside those now in use be allocated."""
        before, self.limit = self.limit, sum(self.allocations.values()) + size
        yield
        self.limit = before

    def fail(self, status: int) -> None:
        """Raise what CuPy's runtime raises for an error of CUDA."""
        raise self.runtime.CUDARuntimeError(status)

    def waits(self, name: str) -> None:
        """Count a call at which the host waits for the device."""
        self.counts[name] += 1
        self.counts["synchronize"] += 1
        if any(stream.captured is not None for stream in self.streams.by_number.values()):
            self.fail(CAPTURING)

    @contextmanager
    def working_late(self) -> Iterator[None]:
        """Do work as late as CUDA may: copies, kernels and events wait until the host or another stream waits for them."""
        self.streams.late = True
        try:
            yield
            self.streams.finish_all()
        finally:
            self.streams.late = False

    def submit(self, number: int, work: Callable[[], object]) -> None:
        """Do what was asked for in the order of a stream."""
        self.streams.submit(self.stream(number), work)

    def stream(self, number: int) -> Stream:
        """The stream of a number."""
        if number not in self.streams.by_number:
            self.fail(INVALID_HANDLE)
        return self.streams.by_number[number]

    # ---- Memory.

    @of_cuda
    def malloc(self, size: int) -> int:
        """Allocate poisoned memory."""
        self.counts["malloc"] += 1
        if sum(self.allocations.values()) + size > self.limit:
            self.fail(OUT_OF_MEMORY)
        address = allocated(size)
        self.allocations[address] = size
        bisect.insort(self.addresses, address)
        return address

    @of_cuda
    def mallocAsync(self, size: int, stream: int) -> int:
        """Allocate poisoned memory."""
        return self.malloc(size)

    @of_cuda
    def mallocFromPoolAsync(self, size: int, pool: int, stream: int) -> int:
        """Allocate poisoned memory."""
        return self.malloc(size)

    @of_cuda
    def mallocManaged(self, size: int, flags: int = 1) -> int:
        """Allocate poisoned memory."""
        return self.malloc(size)

    @of_cuda
    def hostAlloc(self, size: int, flags: int) -> int:
        """Allocate memory of the host."""
        address = allocated(size)
        self.pinned[address] = size
        return address

    @of_cuda
    def free(self, address: int) -> None:
        """Poison memory and give it back, looking for stores beside it."""
        self.counts["free"] += 1
        if address == 0:
            return
        self.streams.finish_all()
        size = self.allocations.pop(address, None)
        if size is None:
            self.fail(INVALID_VALUE)
        self.addresses.remove(address)
        check_margins(address, size)
        poison(address, size)
        if self.kept is None:
            libc.free(address - MARGIN)
        else:
            self.kept.append(address)

    @of_cuda
    def freeAsync(self, address: int, stream: int) -> None:
        """Poison memory and give it back."""
        self.submit(stream, lambda: self.free(address))

    @of_cuda
    def freeHost(self, address: int) -> None:
        """Give memory of the host back."""
        check_margins(address, self.pinned.pop(address))
        libc.free(address - MARGIN)

    @of_cuda
    def memGetInfo(self) -> tuple[int, int]:
        """How many bytes are free, and how many there are."""
        return self.limit - sum(self.allocations.values()), self.limit

    @contextmanager
    def quarantine(self) -> Iterator[None]:
        """Keep what is freed, poisoned, until the end of the context."""
        kept, self.kept = self.kept, []
        try:
            yield
        finally:
            for address in self.kept:
                libc.free(address - MARGIN)
            self.kept = kept

    def bytes_at(self, address: int, size: int) -> bytes:
        """What lies in memory."""
        return ctypes.string_at(address, size)

    def poke(self, address: int, values: bytes) -> None:
        """Store where a wrong kernel would."""
        ctypes.memmove(address, values, len(values))

    def check_margins(self) -> None:
        """Look for stores beside what is allocated."""
        for address, size in self.allocations.items():
            check_margins(address, size)

    def require(self, address: int, size: int) -> None:
        """Fail as CUDA does where memory is not the device's."""
        if size and not self.owns(address, size):
            self.fail(INVALID_VALUE)

    def owns(self, address: int, size: int = 1) -> bool:
        """Whether bytes lie within one live allocation."""
        place = bisect.bisect_right(self.addresses, address) - 1
        if place < 0:
            return False
        start = self.addresses[place]
        return address + size <= start + self.allocations[start]

    @of_cuda
    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        """Copy bytes; kind: 1 to the device, 2 to the host, 3 within the device, 4 whichever."""
        self.counts["copy"] += 1
        self.counts[f"copy {('', 'to device', 'to host', 'on device', 'default')[kind]}"] += 1
        if kind in {1, 3}:
            self.require(target, size)
        if kind in {2, 3}:
            self.require(source, size)
        if self.streams.late and not self.owns(source) and self.pointerGetMemoryType(source) == 0:
            kept = ctypes.string_at(
                source, size
            )  # CUDA has read what is not pinned before it returns
            self.submit(stream, lambda: ctypes.memmove(target, kept, size))
            return
        self.submit(stream, lambda: ctypes.memmove(target, source, size))
        if not self.owns(target) and self.pointerGetMemoryType(target) == 0:
            self.streams.finish(self.stream(stream))  # and written it

    @of_cuda
    def memcpy(self, target: int, source: int, size: int, kind: int) -> None:
        """Copy bytes while the host waits."""
        self.waits("memcpy")
        self.memcpyAsync(target, source, size, kind, 0)
        self.streams.finish(self.stream(0))

    @of_cuda
    def memcpyPeerAsync(
        self, target: int, to: int, source: int, origin: int, size: int, stream: int
    ) -> None:
        """Copy bytes within the only device."""
        self.memcpyAsync(target, source, size, 3, stream)

    @of_cuda
    def memcpyPeer(self, target: int, to: int, source: int, origin: int, size: int) -> None:
        """Copy bytes within the only device."""
        self.memcpyAsync(target, source, size, 3, 0)

    @of_cuda
    def memcpy2DAsync(
        self,
        target: int,
        pitch: int,
        source: int,
        source_pitch: int,
        width: int,
        height: int,
        kind: int,
        stream: int,
    ) -> None:
        """Copy rows."""
        for row in range(height):
            self.memcpyAsync(target + row * pitch, source + row * source_pitch, width, kind, stream)

    @of_cuda
    def memcpy2D(
        self,
        target: int,
        pitch: int,
        source: int,
        source_pitch: int,
        width: int,
        height: int,
        kind: int,
    ) -> None:
        """Copy rows while the host waits."""
        self.waits("memcpy2D")
        self.memcpy2DAsync(target, pitch, source, source_pitch, width, height, kind, 0)
        self.streams.finish(self.stream(0))

    @of_cuda
    def memsetAsync(self, address: int, value: int, size: int, stream: int) -> None:
        """Fill bytes."""
        self.counts["memset"] += 1
        self.require(address, size)
        self.submit(stream, lambda: ctypes.memset(address, value, size))

    @of_cuda
    def memset(self, address: int, value: int, size: int) -> None:
        """Fill bytes."""
        self.memsetAsync(address, value, size, 0)

    @of_cuda
    def pointerGetAttributes(self, address: int) -> Any:
        """What is known of a pointer."""
        if self.owns(address):
            return self.runtime.PointerAttributes(0, address, 0, DEVICE)
        return self.runtime.PointerAttributes(-2, 0, address, 0)

    @of_cuda
    def pointerGetMemoryType(self, address: int) -> int:
        """The kind of memory; 0: CUDA does not know it."""
        if self.owns(address):
            return DEVICE
        return (
            HOST
            if any(start <= address < start + size for start, size in self.pinned.items())
            else 0
        )

    # ---- CUDA's own pools: CuPy's allocator of them sees one, and every allocation is fresh.

    @of_cuda
    def deviceGetDefaultMemPool(self, device: int) -> int:
        """The pool's handle."""
        return 16

    @of_cuda
    def deviceGetMemPool(self, device: int) -> int:
        """The pool's handle."""
        return 16

    @of_cuda
    def deviceSetMemPool(self, device: int, pool: int) -> None:
        """There is one pool."""

    @of_cuda
    def memPoolTrimTo(self, pool: int, size: int) -> None:
        """Nothing is kept."""

    @of_cuda
    def memPoolGetAttribute(self, pool: int, attribute: int) -> int:
        """The bytes reserved (5) or used (7), or what was set."""
        if attribute in {5, 7}:
            return sum(self.allocations.values())
        return self.pool_attributes.get(attribute, 0)

    @of_cuda
    def memPoolSetAttribute(self, pool: int, attribute: int, value: int) -> None:
        """Keep what is set."""
        self.pool_attributes[attribute] = value

    # ---- The device.

    @of_cuda
    def driverGetVersion(self) -> int:
        """A driver as new as the runtime."""
        return self.runtime.runtimeGetVersion()

    @of_cuda
    def _getLocalRuntimeVersion(self) -> int:
        """The runtime that CuPy was built with."""
        return self.runtime.runtimeGetVersion()

    @of_cuda
    def getDeviceCount(self) -> int:
        """One device."""
        return 1

    @of_cuda
    def getDevice(self) -> int:
        """The first device."""
        return 0

    @of_cuda
    def setDevice(self, device: int) -> None:
        """Accept the first device."""
        if device != 0:
            self.fail(101)

    @of_cuda
    def _ensure_context(self) -> None:
        """There is nothing to make."""

    @of_cuda
    def deviceGetAttribute(self, attribute: int, device: int) -> int:
        """An attribute of a device of compute capability 9.0."""
        return ATTRIBUTES.get(attribute, 0)

    @of_cuda
    def getDeviceProperties(self, device: int) -> dict[str, Any]:
        """The properties of a device of compute capability 9.0."""
        return dict(PROPERTIES)

    @of_cuda
    def deviceGetPCIBusId(self, device: int) -> str:
        """A bus."""
        return "0000:00:00.0"

    @of_cuda
    def deviceGetByPCIBusId(self, name: str) -> int:
        """The first device."""
        return 0

    @of_cuda
    def deviceCanAccessPeer(self, device: int, peer: int) -> int:
        """There is no other device."""
        return 0

    @of_cuda
    def deviceGetLimit(self, limit: int) -> int:
        """A limit."""
        return 1024

    @of_cuda
    def deviceSynchronize(self) -> None:
        """Wait for everything."""
        self.waits("deviceSynchronize")
        self.streams.finish_all()

    @of_cuda
    def profilerStart(self) -> None:
        """Nothing is recorded."""

    @of_cuda
    def profilerStop(self) -> None:
        """Nothing is recorded."""

    # ---- Streams, events and graphs.

    @of_cuda
    def streamCreate(self) -> int:
        """A new stream."""
        return self.streamCreateWithPriority(0, 0)

    @of_cuda
    def streamCreateWithFlags(self, flags: int) -> int:
        """A new stream."""
        return self.streamCreateWithPriority(flags, 0)

    @of_cuda
    def streamCreateWithPriority(self, flags: int, priority: int) -> int:
        """A new stream."""
        number = next(self.tokens)
        self.streams.add(number, flags, priority)
        return number

    @of_cuda
    def streamGetFlags(self, stream: int) -> int:
        """What the stream was made with."""
        return self.stream(stream).flags

    @of_cuda
    def streamGetPriority(self, stream: int) -> int:
        """What the stream was made with."""
        return self.stream(stream).priority

    @of_cuda
    def streamDestroy(self, stream: int) -> None:
        """Forget a stream."""
        self.streams.finish(self.stream(stream))
        del self.streams.by_number[stream]

    @of_cuda
    def streamSynchronize(self, stream: int) -> None:
        """Wait for a stream."""
        waited_for = self.stream(stream)
        self.waits("streamSynchronize")
        self.streams.finish(waited_for)

    @of_cuda
    def streamQuery(self, stream: int) -> int:
        """Whether all work is done: 0, or that it is not."""
        return NOT_READY if self.stream(stream).queue else 0

    @of_cuda
    def streamWaitEvent(self, stream: int, event: int, flags: int = 0) -> None:
        """Have a stream wait for an event."""
        self.counts["streamWaitEvent"] += 1
        self.streams.wait(self.stream(stream), self.events[event])

    @of_cuda
    def streamAddCallback(
        self, stream: int, callback: Callable[..., Any], argument: int, flags: int = 0
    ) -> None:
        """Call back."""
        self.submit(stream, lambda: callback(stream, 0, argument))

    @of_cuda
    def launchHostFunc(self, stream: int, callback: Callable[..., Any], argument: int) -> None:
        """Call back."""
        self.submit(stream, lambda: callback(argument))

    @of_cuda
    def streamBeginCapture(self, stream: int, mode: int = 2) -> None:
        """Keep the stream's work for a graph."""
        if self.stream(stream).captured is not None:
            self.fail(CAPTURING)
        self.stream(stream).captured = []

    @of_cuda
    def streamEndCapture(self, stream: int) -> int:
        """The graph of what was kept."""
        kept, self.stream(stream).captured = self.stream(stream).captured, None
        number = next(self.tokens)
        self.graphs[number] = kept
        return number

    @of_cuda
    def streamIsCapturing(self, stream: int) -> bool:
        """Whether work is kept."""
        return self.stream(stream).captured is not None

    @of_cuda
    def graphInstantiate(self, graph: int) -> int:
        """A graph that can be launched."""
        number = next(self.tokens)
        self.graphs[number] = list(self.graphs[graph])
        return number

    @of_cuda
    def graphLaunch(self, graph: int, stream: int) -> None:
        """Do a graph's work."""
        self.counts["graphLaunch"] += 1
        for work in self.graphs[graph]:
            self.submit(stream, work)

    @of_cuda
    def graphUpload(self, graph: int, stream: int) -> None:
        """Nothing is to be sent."""

    @of_cuda
    def graphDestroy(self, graph: int) -> None:
        """Forget a graph."""
        del self.graphs[graph]

    @of_cuda
    def graphExecDestroy(self, graph: int) -> None:
        """Forget a graph."""
        del self.graphs[graph]

    @of_cuda
    def eventCreate(self) -> int:
        """A new event."""
        return self.eventCreateWithFlags(0)

    @of_cuda
    def eventCreateWithFlags(self, flags: int) -> int:
        """A new event."""
        number = next(self.tokens)
        self.events[number] = Event(timed=not flags & DISABLE_TIMING)
        return number

    @of_cuda
    def eventDestroy(self, event: int) -> None:
        """Forget an event."""
        del self.events[event]

    @of_cuda
    def eventRecord(self, event: int, stream: int) -> None:
        """Have an event happen behind what the stream does."""
        self.streams.record(self.events[event], self.stream(stream))

    @of_cuda
    def eventQuery(self, event: int) -> int:
        """Whether it has happened: 0, or that it has not."""
        return 0 if self.events[event].is_done else NOT_READY

    @of_cuda
    def eventSynchronize(self, event: int) -> None:
        """Wait for an event."""
        self.waits("eventSynchronize")
        self.streams.finish_until(self.events[event])

    @of_cuda
    def eventElapsedTime(self, start: int, end: int) -> float:
        """Milliseconds between two events."""
        if not (self.events[start].timed and self.events[end].timed):
            self.fail(INVALID_HANDLE)
        return (self.events[end].time - self.events[start].time) * 1e3


def allocated(size: int) -> int:
    """The address of poisoned memory with margins."""
    padded = (size + 2 * MARGIN + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    address: int = libc.aligned_alloc(ALIGNMENT, padded) + MARGIN
    for margin in (address - MARGIN, address + size):
        ctypes.memset(margin, POISON, MARGIN)
    poison(address, size)
    return address


def poison(address: int, size: int) -> None:
    """Fill memory with what no program expects, where it is not very large."""
    if size <= MOST_POISONED:
        ctypes.memset(address, POISON, size)


def check_margins(address: int, size: int) -> None:
    """Look for stores beside an allocation."""
    untouched = bytes([POISON]) * MARGIN
    if ctypes.string_at(address - MARGIN, MARGIN) != untouched:
        raise DeviceMemoryError(f"a store before an allocation of {size} bytes")
    if ctypes.string_at(address + size, MARGIN) != untouched:
        raise DeviceMemoryError(f"a store behind an allocation of {size} bytes")

"""Loads compiled kernels and runs them: what CuPy asks of the CUDA driver."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.cupy_host import build
from tests.support.cupy_host.capsules import of_cuda
from tests.support.cupy_host.compiler import IMAGE, Compiler, library_path
from tests.support.cupy_host.device import Device
from tests.support.cupy_host.graphs import Graphs
from tests.support.cupy_host.texts import Text

ORDERS = {"forward": 0, "backward": 1, "shuffled": 2}
NOT_FOUND, FAILED, NOT_SUPPORTED = 500, 719, 801
LAUNCH = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3
)


class LaunchConfig(ctypes.Structure):
    """The driver's."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 6),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(ctypes.c_int * 18)),
        ("count", ctypes.c_uint),
    )


LAUNCH_CONFIGURED = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(LaunchConfig), *[ctypes.c_void_p] * 3
)
EARLY = [6, 0, 1]  # an attribute's kind and value: programmatic stream serialization


class KernelError(Exception):
    """A kernel did what has no meaning on a device: its threads wait for each other for ever."""


class KernelEntry(ctypes.Structure):
    """As cuda_threads.h has it."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("sizes", ctypes.POINTER(ctypes.c_size_t)),
        ("count", ctypes.c_size_t),
        ("shared_begin", ctypes.c_void_p),
        ("shared_end", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that can be launched."""

    name: str
    entry: KernelEntry
    waits: bool
    flushes: bool
    library: ctypes.PyDLL


@dataclass
class Driver:
    """The driver's functions as methods.

    Attributes:
        order: in which order blocks and threads run: forward, backward or shuffled.
        seed: what shuffles them.
    """

    device: Device
    compiler: Compiler
    driver: Any
    order: str = "forward"
    seed: int = 1
    modules: dict[int, Text] = field(default_factory=dict)
    functions: dict[int, tuple[Text, str]] = field(default_factory=dict)
    kernels: dict[int, Kernel] = field(default_factory=dict)
    entry: Any = None
    configured: Any = None
    refuses_early: bool = False
    error: Exception | None = None
    tokens: Iterator[int] = field(default_factory=lambda: itertools.count(1 << 24, 16))

    def __post_init__(self) -> None:
        self.threads = ctypes.PyDLL(str(build.threads_library()), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        self.threads.cuda_launch.restype = ctypes.c_bool
        self.threads.cuda_launch.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint * 6, ctypes.c_size_t, ctypes.c_bool, ctypes.c_bool,
            ctypes.c_int, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t,
        ]  # fmt: skip
        self.report = ctypes.create_string_buffer(400)
        self.graphs = Graphs(self)

    @contextmanager
    def running(self, order: str, seed: int = 1) -> Iterator[None]:
        """Run threads in an order."""
        before = self.order, self.seed
        self.order, self.seed = order, seed
        try:
            yield
        finally:
            self.order, self.seed = before

    @of_cuda
    def moduleLoadData(self, image: bytes) -> int:
        """A module of what was compiled."""
        number = next(self.tokens)
        self.modules[number] = self.compiler.texts[image.removeprefix(IMAGE).decode()]
        return number

    @of_cuda
    def moduleUnload(self, module: int) -> None:
        """Forget a module; its code stays."""
        self.modules.pop(module, None)

    @of_cuda
    def moduleGetFunction(self, module: int, name: str) -> int:
        """A kernel of a module."""
        text = self.modules[module]
        if name not in text.kernels:
            raise self.driver.CUDADriverError(NOT_FOUND)
        number = next(self.tokens)
        self.functions[number] = text, name
        return number

    @of_cuda
    def moduleGetGlobal(self, module: int, name: str) -> int:
        """The address of a variable of a module."""
        return ctypes.addressof(
            ctypes.c_char.in_dll(library(self.modules[module], self.compiler.cupy_include), name)
        )

    @of_cuda
    def funcGetAttribute(self, attribute: int, function: int) -> int:
        """The most threads of a block (0), or nothing."""
        return 1024 if attribute == 0 else 0

    @of_cuda
    def funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        """Everything is allowed."""

    @of_cuda
    def occupancyMaxActiveBlocksPerMultiprocessor(
        self, function: int, threads: int, shared: int
    ) -> int:
        """As many as threads allow."""
        return max(1, 2048 // max(1, threads))

    @of_cuda
    def ctxGetCurrent(self) -> int:
        """A context."""
        return 16

    @of_cuda
    def ctxSetCurrent(self, context: int) -> None:
        """There is one context."""

    @of_cuda
    def ctxGetDevice(self) -> int:
        """The first device."""
        return 0

    @of_cuda
    def streamGetCtx(self, stream: int) -> int:
        """A context."""
        return 16

    @of_cuda
    def launchKernel(
        self,
        function: int,
        gx: int,
        gy: int,
        gz: int,
        bx: int,
        by: int,
        bz: int,
        shared: int,
        stream: int,
        arguments: int,
        extra: int,
    ) -> None:
        """Run a kernel's threads, or keep the launch for the stream's graph."""
        now = self.device.stream(stream).captured is None and not self.device.streams.late
        kept = arguments if now else self.kept_arguments(function, arguments)
        self.start(function, (gx, gy, gz, bx, by, bz), shared, stream, kept)

    def kept_arguments(self, function: int, arguments: int) -> Any:
        """Copies of a kernel's arguments."""
        if self.compiler.gathered is not None:
            return None
        return copied(self.kernel(function), arguments)

    def kernel(self, function: int) -> Kernel:
        """A compiled kernel."""
        found = self.kernels.get(function)
        if found is None:
            text, name = self.functions[function]
            found = self.kernels[function] = kernel_of(text, name, self.compiler.cupy_include)
        return found

    def start(
        self, function: int, sizes: tuple[int, ...], shared: int, stream: int, arguments: Any
    ) -> None:
        """Run a kernel's threads in the order of a stream."""
        self.device.counts["launch"] += 1
        self.device.launched.append(self.functions[function][1])
        if self.compiler.gathered is not None:
            return  # what another kernel would have made is missing: indices and lengths may be anything
        kernel, six = self.kernel(function), (ctypes.c_uint * 6)(*sizes)
        self.device.submit(stream, lambda: self.launch(kernel, arguments, six, shared))

    def functions_for_c(self) -> Any:
        """What C code calls in place of the driver's functions."""
        from ufuse.backends.cupy.launching import native  # noqa: PLC0415 - it imports CuPy

        if self.configured is None:
            self.configured = LAUNCH_CONFIGURED(self._launched_early)
        early = ctypes.cast(self.configured, ctypes.c_void_p).value or 0
        addresses = {native.LAUNCH: self.launch_entry(), native.EARLY: early}
        return native.Functions({**addresses, **self.graphs.addresses()}, self.failed)

    def launch_entry(self) -> int:
        """The address of a C function with the signature and the results of `cuLaunchKernel`.

        An exception of a launch is kept in `error`.
        """
        if self.entry is None:
            self.entry = LAUNCH(self._launched)
        return ctypes.cast(self.entry, ctypes.c_void_p).value

    def _launched(self, function: int, *others: int | None) -> int:
        try:
            self.launchKernel(function, *(number or 0 for number in others))
        except Exception as error:  # noqa: BLE001 - C gets a number
            self.error = error
            return FAILED
        return 0

    def _launched_early(self, config: Any, function: int, arguments: int, _: int | None) -> int:
        """Launch a kernel that may begin early; it begins behind the others here."""
        if self.refuses_early:
            return NOT_SUPPORTED
        given = config.contents
        assert (given.count, given.attributes.contents[:3]) == (1, EARLY)
        self.device.counts["early"] += 1
        return self._launched(function, *given.sizes, given.shared, given.stream, arguments, None)

    def failed(self, status: int) -> None:
        """Raise what a launch through `launch_entry` ended with."""
        error, self.error = self.error, None
        raise error or self.driver.CUDADriverError(status)

    def launch(self, kernel: Kernel, arguments: Any, sizes: Any, shared: int) -> None:
        """Run a kernel's threads."""
        fine = self.threads.cuda_launch(
            ctypes.addressof(kernel.entry), arguments, sizes, shared, kernel.waits, kernel.flushes,
            ORDERS[self.order], self.seed, self.report, len(self.report),
        )  # fmt: skip
        if not fine:
            raise KernelError(f"{kernel.name}: {self.report.value.decode()}")


def library(text: Text, cupy_include: str) -> ctypes.PyDLL:
    """The compiled text, loaded."""
    path = build.kernels(library_path(text), text.unit(), cupy_include, text.host_options)
    return ctypes.PyDLL(str(path.resolve()), mode=os.RTLD_NOW)


def kernel_of(text: Text, name: str, cupy_include: str) -> Kernel:
    """A kernel of a compiled text."""
    loaded = library(text, cupy_include)
    table = (KernelEntry * (len(text.kernels) + 1)).in_dll(loaded, f"cuda_kernels_{text.unit_key}")
    entry = table[text.kernels.index(name)]
    return Kernel(name, entry, text.waits, text.flushes, loaded)


def copied(kernel: Kernel, arguments: int) -> Any:
    """The arguments of a launch, copied, as the caller's live no longer than the call."""
    count = kernel.entry.count
    given = (ctypes.c_void_p * count).from_address(arguments) if count else ()
    values = [
        ctypes.create_string_buffer(
            ctypes.string_at(given[i], kernel.entry.sizes[i]), kernel.entry.sizes[i] + 16
        )
        for i in range(count)
    ]
    kept = (ctypes.c_void_p * max(count, 1))(*(ctypes.addressof(value) for value in values))
    kept.values = values
    return kept

"""A real GPU in place of the test device, for `make gpu-check`: the same tests, but for what only a test device tells."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest


class Compiler:
    """NVRTC as CuPy calls it: nothing is gathered."""

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Kernels are compiled one by one."""
        yield

    @property
    def texts(self) -> Any:
        """What was compiled, which is not kept here."""
        pytest.skip("the rest of it is about what the test device was given")


@dataclass
class Driver:
    """NVIDIA's driver; its threads run in an order of their own."""

    order: str | None = None

    @contextmanager
    def running(self, order: str) -> Iterator[None]:
        """Leave the order of threads to the device."""
        del order
        yield

    @property
    def graphs(self) -> Any:
        """What was captured and replayed, which is not told here."""
        pytest.skip("the rest of it is about the test device's driver")

    launchKernel = graphs  # noqa: N815  CuPy's name


@dataclass
class RealDevice:
    """CuPy on a GPU, with what tests use of `cupy_host.Host`."""

    cupy: Any
    driver: Driver = field(default_factory=Driver)
    compiler: Compiler = field(default_factory=Compiler)

    @property
    def device(self) -> Any:
        """What is counted; a real device counts nothing."""
        pytest.skip("the rest of it is about the test device")

    def check(self, test: str) -> None:
        """End the process where a kernel has failed: CUDA fails in all calls behind it, and others would be blamed."""
        try:
            self.cupy.cuda.runtime.deviceSynchronize()
        except self.cupy.cuda.runtime.CUDARuntimeError as error:
            print(f"{test}: {error}", file=sys.__stderr__, flush=True)
            os._exit(70)


def real_device() -> RealDevice:
    """CuPy as it is installed; with UFUSE_NO_POOL each allocation is one of the driver's, of which sanitizers know the end."""
    import cupy  # noqa: PLC0415  only where it is asked for

    if os.environ.get("UFUSE_NO_POOL"):
        cupy.cuda.set_allocator(None)
    return RealDevice(cupy)

"""Eager CuPy on the CPU, unmodified: the reference that the CuPy backend is tested against without a GPU.

CuPy's calls of the CUDA runtime, of the driver and of NVRTC are taken by Python objects before `cupy` is imported;
memory is the host's, and kernel texts are compiled by g++ through `include/cuda_words.h`. NumPy stands in for
NVIDIA's compiled products of matrices, sorting, FFTs, solvers and random numbers, and for CUB in CUB's order. The host's mathematical functions are not the
device's: their last bits differ.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cupy_host import build, capsules


@dataclass(frozen=True)
class Host:
    """CuPy on the CPU."""

    cupy: Any
    device: Any
    compiler: Any
    driver: Any


def why_not() -> str | None:
    """Say why eager CuPy cannot run on this machine's processor."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the test device of CuPy is for Linux on x86-64"
    if importlib.util.find_spec("cupy_backends") is None:
        return "CuPy is not installed: pip install cupy-cuda13x"
    return build.why_no_compiler()


@functools.cache
def install() -> Host:
    """Import CuPy on the host, once in a process."""
    reason = why_not()
    if reason is not None:
        raise RuntimeError(reason)
    if "cupy" in sys.modules:
        raise RuntimeError("cupy was imported before its functions could be replaced")
    # The cache of kernels is `build`'s.
    os.environ.update(CUPY_CACHE_IN_MEMORY="1", CUPY_ACCELERATORS="cub")
    replace_functions_of_cuda()
    import cupy  # noqa: PLC0415 - only now

    from tests.support.cupy_host import (  # noqa: PLC0415 - only where CuPy is installed
        cub,
        curand,
        fourier,
        libraries,
        solvers,
        sparse,
    )

    blas = libraries.install(cupy, _parts["device"], _parts["compiler"])
    fourier.install(cupy, blas)
    solvers.install(cupy, blas)
    curand.install(cupy, blas)
    sparse.install()
    cub.install(cupy, _parts["device"], _parts["compiler"])
    from ufuse.backends.cupy.launching import native  # noqa: PLC0415 - it imports CuPy

    native.launch_by(_parts["driver"].functions_for_c())
    return Host(cupy, **_parts)


_parts: dict[str, Any] = {}


def replace_functions_of_cuda() -> None:
    """Make the device and have CuPy's modules call it."""
    from cuda import pathfinder  # noqa: PLC0415 - only where CuPy is installed
    from cupy_backends.cuda.api import driver, runtime  # noqa: PLC0415 - the same
    from cupy_backends.cuda.libs import nvrtc  # noqa: PLC0415 - the same

    from tests.support.cupy_host.compiler import Compiler, NVRTCError  # noqa: PLC0415 - the same
    from tests.support.cupy_host.device import Device  # noqa: PLC0415 - the same
    from tests.support.cupy_host.driver import Driver  # noqa: PLC0415 - the same

    packages = Path(importlib.util.find_spec("cupy_backends").origin).parents[1]
    device = Device(runtime)
    compiler = Compiler(device.counts, str(packages / "cupy" / "_core" / "include"))
    programs = Driver(device, compiler, driver)
    capsules.replace({runtime: device, driver: programs, nvrtc: compiler})
    nvrtc.NVRTCError = NVRTCError
    pathfinder.find_nvidia_header_directory = lambda name: str(build.INCLUDE)
    _parts.update(device=device, compiler=compiler, driver=programs)

"""What launching in C needs of CuPy and of the driver: found once, and compared; else kernels are launched from Python.

Nothing of CuPy's or CUDA's headers is known: structs are read by offsets that are learned, and CuPy's C functions come
from its modules' capsules, each named by its signature.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import cupy
import numpy as np
from cupy.cuda import memory, stream
from cupy_backends.cuda import stream as streams
from cupy_backends.cuda.api import driver, runtime

from ufuse.backends import _launch
from ufuse.backends.cupy.launching.compile import architecture
from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.graph.typing import device_layout

MEMORY_ALLOCATION = 2  # cudaErrorMemoryAllocation
OUT_OF_MEMORY = (memory.OutOfMemoryError, runtime.CUDARuntimeError)
# Whose capsules are searched, the last first.
MODULES = (memory, cupy._core.core, runtime, streams, stream)

Failed = Callable[[int], Any]
LAUNCH = "cuLaunchKernel"
# Launches a kernel that may be on the device before those in front of it are done (programmatic dependent launch). That
# takes the host less time, and the device too. From this architecture on kernels wait by themselves (text.BEHIND); from
# this version on the driver does it where a stream's launches are captured, too.
EARLY = "cuLaunchKernelEx"
EARLY_ARCHITECTURE, EARLY_DRIVER = 90, 12030
# What a graph of CUDA's is made of and launched by; where one is missing, kernels are launched one by one.
GRAPHS = (
    "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams",
    "cuGraphLaunch", "cuStreamIsCapturing", "cuGraphExecDestroy", "cuGraphDestroy",
)  # fmt: skip


@dataclass(frozen=True)
class Functions:
    """Functions of the driver's: addresses by name, and what raises for a status."""

    addresses: Mapping[str, int]
    failed: Failed = driver.check_status


_given: list[Functions] = []  # the last: what is called in the driver's place


def launch_by(functions: Functions) -> None:
    """Call these functions in place of the driver's from now on."""
    _given.append(functions)
    why_not.cache_clear()


@cache
def why_not() -> str | None:
    """Why kernels are launched from Python, or None; tells C what it needs the first time."""
    offsets = device_layout.offsets_in(cupy)
    if offsets is None:
        return "structs of arrays are not as they are known"
    try:
        functions = _given[-1] if _given else functions_of_driver()
        _launch.use(
            cupy.ndarray, offsets, capsules(), dict(functions.addresses), are_early, functions.failed, DoesNotFit,
            argument, (DoesNotFit, *OUT_OF_MEMORY),
        )  # fmt: skip
    except LookupError as error:
        return str(error)
    examples = device_layout.examples(cupy)
    if any(_launch.view(one) != device_layout.by_attributes(one) for one in examples):
        return "arrays are not read as they are"
    return None


def are_early(device: int) -> bool:
    """Whether the kernels of a device, the current one, may be launched by EARLY."""
    return architecture() >= EARLY_ARCHITECTURE and runtime.driverGetVersion() >= EARLY_DRIVER


def capsules() -> dict[str, Any]:
    """CuPy's C functions by name."""
    found: dict[str, Any] = {}
    for module in MODULES:
        table = getattr(module, "__pyx_capi__", {})
        found.update((name, table[name]) for name in _launch.signatures() if name in table)
    return found


def functions_of_driver() -> Functions:
    """The driver's own, as far as it has them.

    Raises:
        LookupError: there is no driver.

    """
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise LookupError(str(error)) from None
    found = {name: getattr(library, name, None) for name in (LAUNCH, EARLY, *GRAPHS)}
    if found[LAUNCH] is None:
        raise LookupError(f"the driver has no {LAUNCH}")
    return Functions(
        {
            name: ctypes.cast(function, ctypes.c_void_p).value or 0
            for name, function in found.items()
            if function is not None
        }
    )


def argument(value: Any, dtype: np.dtype) -> Any:
    """A number as a kernel's argument, converted as CuPy does it.

    Raises:
        DoesNotFit: it does not fit, or only as infinity, of which NumPy warns at the line of a frame.

    """
    try:
        with np.errstate(over="raise"):
            made = cupy._core._scalar.CScalar(value)
            made.apply_dtype(dtype)
    except (OverflowError, FloatingPointError):
        raise DoesNotFit from None
    return made


def is_out_of_memory(error: Exception) -> bool:
    """Whether an allocation failed, of CuPy's pool or of CUDA's own."""
    if isinstance(error, memory.OutOfMemoryError):
        return True
    return isinstance(error, runtime.CUDARuntimeError) and error.status == MEMORY_ALLOCATION

"""What launching in C needs of CuPy and of the driver: found once, and compared; else kernels are launched from Python.

Nothing of CuPy's or CUDA's headers is known: structs are read by offsets that are learned, and CuPy's C functions come
from its modules' capsules, each named by its signature.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import cupy
import numpy as np
from cupy.cuda import memory, stream
from cupy_backends.cuda.api import driver, runtime

from ufuse.backends import _launch
from ufuse.backends.cupy.refusal import DoesNotFit
from ufuse.graph.typing import device_layout

MEMORY_ALLOCATION = 2  # cudaErrorMemoryAllocation
OUT_OF_MEMORY = (memory.OutOfMemoryError, runtime.CUDARuntimeError)
MODULES = (memory, cupy._core.core, runtime, stream)  # whose capsules are searched

Failed = Callable[[int], Any]
_given: list[tuple[int, Failed]] = []  # the last: what launches in the driver's place


def launch_by(address: int, failed: Failed = driver.check_status) -> None:
    """Launch by a function like `cuLaunchKernel` at an address from now on; `failed` raises for a status."""
    _given.append((address, failed))
    why_not.cache_clear()


@cache
def why_not() -> str | None:
    """Why kernels are launched from Python, or None; tells C what it needs the first time."""
    offsets = device_layout.offsets_in(cupy)
    if offsets is None:
        return "structs of arrays are not as they are known"
    try:
        _launch.use(
            cupy.ndarray, offsets, capsules(), *launch_function(), DoesNotFit, argument,
            (DoesNotFit, *OUT_OF_MEMORY),
        )  # fmt: skip
    except LookupError as error:
        return str(error)
    examples = device_layout.examples(cupy)
    if any(_launch.view(one) != device_layout.by_attributes(one) for one in examples):
        return "arrays are not read as they are"
    return None


def capsules() -> dict[str, Any]:
    """CuPy's C functions by name."""
    found: dict[str, Any] = {}
    for module in MODULES:
        table = getattr(module, "__pyx_capi__", {})
        found.update((name, table[name]) for name in _launch.signatures() if name in table)
    return found


def launch_function() -> tuple[int, Failed]:
    """The address of the driver's `cuLaunchKernel`, and what raises for a status of it.

    Raises:
        LookupError: there is no driver.

    """
    if _given:
        return _given[-1]
    try:
        function = ctypes.CDLL("libcuda.so.1").cuLaunchKernel
    except (OSError, AttributeError) as error:
        raise LookupError(str(error)) from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0, driver.check_status


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

"""Stand-ins for cuFFT's plans, by NumPy: of one axis, the last, of memory in C order. Their bits are not NVIDIA's."""

from __future__ import annotations

import sys
import types
from contextvars import ContextVar
from typing import Any

import numpy as np

from tests.support.cupy_host.libraries import Blas, at

# As CUDA numbers them: what a transform takes and what it gives.
TYPES = {
    0x29: ("c8", "c8"),
    0x2A: ("f4", "c8"),
    0x2C: ("c8", "f4"),
    0x69: ("c16", "c16"),
    0x6A: ("f8", "c16"),
    0x6C: ("c16", "f8"),
}
CONSTANTS = {
    "CUFFT_C2C": 0x29, "CUFFT_R2C": 0x2A, "CUFFT_C2R": 0x2C, "CUFFT_Z2Z": 0x69, "CUFFT_D2Z": 0x6A, "CUFFT_Z2D": 0x6C,
    "CUFFT_FORWARD": -1, "CUFFT_INVERSE": 1,
}  # fmt: skip


class Plans(types.ModuleType):
    """cuFFT as CuPy's Python module has it."""

    def __init__(self, cupy: Any, blas: Blas) -> None:
        super().__init__("cupy.cuda.cufft")
        self.__dict__.update(CONSTANTS)

        class Plan1d:
            """A transform of `nx` elements, `batch` times."""

            gpus = None

            def __init__(self, nx: int, fft_type: int, batch: int, *, devices: Any = None) -> None:
                self.nx, self.fft_type, self.batch = nx, fft_type, batch

            def get_output_array(self, a: Any) -> Any:
                """Memory for the result."""
                kinds, last = TYPES[self.fft_type], self.nx
                if kinds[0][0] == "f":
                    last = self.nx // 2 + 1
                return cupy.empty((*a.shape[:-1], last), kinds[1])

            def fft(self, a: Any, out: Any, direction: int) -> None:
                """Compute the result on the current stream."""
                source, target = (a.data.ptr, a.shape), (out.data.ptr, out.shape)
                taken, given = TYPES[self.fft_type]

                def work() -> None:
                    values = at(source[0], taken, source[1])
                    if taken[0] == "f":
                        made = np.fft.rfft(values, self.nx)
                    elif given[0] == "f":
                        made = np.fft.irfft(values, self.nx) * self.nx
                    elif direction < 0:
                        made = np.fft.fft(values, self.nx)
                    else:
                        made = np.fft.ifft(values, self.nx) * self.nx
                    at(target[0], given, target[1])[...] = made

                blas.submit(work)

        self.Plan1d = Plan1d
        self.PlanNd = type("PlanNd", (), {})  # none is ever made

    def get_current_plan(self) -> None:
        """There is none."""


def install(cupy: Any, blas: Blas) -> None:
    """Put the stand-ins in cuFFT's place; transforms of several axes are made of those of one."""
    plans = Plans(cupy, blas)
    sys.modules[plans.__name__] = cupy.cuda.cufft = plans
    kept: dict[Any, Any] = {}
    cupy.fft._fft.get_plan_cache = lambda: kept
    one_by_one: ContextVar[bool] = ContextVar("one axis after another", default=False)
    type(cupy.fft.config)._enable_nd_planning = one_by_one

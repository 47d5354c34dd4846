"""Stand-ins for NVIDIA's compiled libraries, by NumPy: products of matrices and sorting. Their bits are not NVIDIA's."""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.cupy_host.compiler import Compiler
from tests.support.cupy_host.device import CAPTURING, Device

# As cudaDataType numbers them.
CUDA_TYPES = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16"}
LETTERS = {"s": "f4", "d": "f8", "c": "c8", "z": "c16"}
# fmt: off
CONSTANTS = {
    "CUBLAS_OP_N": 0, "CUBLAS_OP_T": 1, "CUBLAS_OP_C": 2, "CUBLAS_POINTER_MODE_HOST": 0, "CUBLAS_POINTER_MODE_DEVICE": 1,
    "CUBLAS_DEFAULT_MATH": 0, "CUBLAS_TENSOR_OP_MATH": 1, "CUBLAS_GEMM_DEFAULT": -1, "CUBLAS_GEMM_DEFAULT_TENSOR_OP": 99,
    "CUBLAS_COMPUTE_16F": 64, "CUBLAS_COMPUTE_32F": 68, "CUBLAS_COMPUTE_32F_PEDANTIC": 69,
    "CUBLAS_COMPUTE_32F_FAST_TF32": 77, "CUBLAS_COMPUTE_64F": 70, "CUBLAS_COMPUTE_64F_PEDANTIC": 71,
}
# fmt: on


def at(
    address: int, dtype: str, shape: Sequence[int], strides: Sequence[int] | None = None
) -> np.ndarray:
    """An array over memory; strides in elements, C order unless they are given."""
    kind = np.dtype(dtype)
    if strides is None:
        strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    reach = 1 + sum(step * (length - 1) for step, length in zip(strides, shape, strict=True))
    memory = (ctypes.c_char * (reach * kind.itemsize)).from_address(address)
    return np.ndarray(shape, kind, memory, strides=[step * kind.itemsize for step in strides])


def matrix(
    address: int, dtype: str, transposed: int, rows: int, columns: int, leading: int
) -> np.ndarray:
    """BLAS's matrix in Fortran order, turned (1) and conjugated (2) if that is asked for."""
    if not transposed:
        return at(address, dtype, (rows, columns), (1, leading))
    turned = at(address, dtype, (columns, rows), (1, leading)).T
    return turned.conj() if transposed == 2 else turned


def product(
    transa: int, transb: int, m: int, n: int, k: int, alpha: Any,
    a: int, a_type: str, lda: int, b: int, b_type: str, ldb: int, beta: Any, c: int, c_type: str, ldc: int,
) -> None:  # fmt: skip
    """`c = alpha * a @ b + beta * c`; what is multiplied by 0 is not read."""
    computed = "f4" if c_type == "f2" else c_type
    result = matrix(c, c_type, 0, m, n, ldc)
    left, right = matrix(a, a_type, transa, m, k, lda), matrix(b, b_type, transb, k, n, ldb)
    with np.errstate(all="ignore"):
        value = alpha * (left.astype(computed) @ right.astype(computed))
        result[...] = value if beta == 0 else value + beta * result


def factor(address: int, dtype: str) -> Any:
    """A factor in the host's memory, which is read before the call returns."""
    return at(address, "f4" if dtype == "f2" else dtype, ())[()]


class Blas(types.ModuleType):
    """cuBLAS as CuPy's Python module has it."""

    def __init__(
        self, device: Device, compiler: Compiler, current_stream: Callable[[], int]
    ) -> None:
        super().__init__("cupy_backends.cuda.libs.cublas")
        self.__dict__.update(CONSTANTS)
        self.device = device
        self.compiler = compiler
        self.current_stream = current_stream
        for letter, dtype in LETTERS.items():
            self.__dict__[f"{letter}gemm"] = functools.partial(self._gemm, dtype)
            self.__dict__[f"{letter}gemmBatched"] = functools.partial(self._gemm_of_pointers, dtype)
            self.__dict__[f"{letter}geam"] = functools.partial(self._geam, dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(f"the test device has no {name} of cuBLAS")

    def submit(self, work: Callable[[], None]) -> None:
        """Do a library's work on the current stream; CuPy does not let it be captured."""
        stream = self.current_stream()
        if self.device.stream(stream).captured is not None:
            self.device.fail(CAPTURING)
        self.device.counts["library"] += 1
        if self.compiler.gathered is not None:
            return  # what kernels would have made of its arguments is not there
        self.device.submit(stream, work)

    def create(self) -> int:
        """A handle."""
        return 16

    def destroy(self, handle: int) -> None:
        """Nothing is kept."""

    def getVersion(self, handle: int) -> int:
        """A version as new as the runtime."""
        return 130000

    def setMathMode(self, handle: int, mode: int) -> None:
        """There is one mode."""

    def getPointerMode(self, handle: int) -> int:
        """Factors are the host's."""
        return 0

    def setPointerMode(self, handle: int, mode: int) -> None:
        """Factors are the host's, which is the device's memory too."""

    def gemmEx(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        a: int, a_type: int, lda: int, b: int, b_type: int, ldb: int, beta: int, c: int, c_type: int, ldc: int,
        compute: int, algorithm: int,
    ) -> None:  # fmt: skip
        """A product of matrices."""
        kind = CUDA_TYPES[c_type]
        scale, kept = factor(alpha, kind), factor(beta, kind)
        self.submit(lambda: product(
            transa, transb, m, n, k, scale, a, CUDA_TYPES[a_type], lda, b, CUDA_TYPES[b_type], ldb, kept, c, kind, ldc
        ))  # fmt: skip

    def gemmStridedBatchedEx(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        a: int, a_type: int, lda: int, a_step: int, b: int, b_type: int, ldb: int, b_step: int,
        beta: int, c: int, c_type: int, ldc: int, c_step: int, count: int, compute: int, algorithm: int,
    ) -> None:  # fmt: skip
        """Products of matrices that lie in equal distances."""
        kinds = [CUDA_TYPES[number] for number in (a_type, b_type, c_type)]
        steps = [
            step * np.dtype(kind).itemsize
            for step, kind in zip((a_step, b_step, c_step), kinds, strict=True)
        ]

        scale, kept = factor(alpha, kinds[2]), factor(beta, kinds[2])

        def work() -> None:
            for i in range(count):
                product(
                    transa, transb, m, n, k, scale, a + i * steps[0], kinds[0], lda, b + i * steps[1], kinds[1], ldb,
                    kept, c + i * steps[2], kinds[2], ldc,
                )  # fmt: skip

        self.submit(work)

    def _gemm(
        self, dtype: str, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        scale, kept = factor(alpha, dtype), factor(beta, dtype)
        self.submit(lambda: product(
            transa, transb, m, n, k, scale, a, dtype, lda, b, dtype, ldb, kept, c, dtype, ldc
        ))  # fmt: skip

    def _gemm_of_pointers(
        self, dtype: str, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, count: int,
    ) -> None:  # fmt: skip
        scale, kept = factor(alpha, dtype), factor(beta, dtype)

        def work() -> None:
            for one, other, result in zip(*(at(p, "u8", (count,)) for p in (a, b, c)), strict=True):
                product(
                    transa, transb, m, n, k, scale, int(one), dtype, lda, int(other), dtype, ldb,
                    kept, int(result), dtype, ldc,
                )  # fmt: skip

        self.submit(work)

    def _geam(
        self, dtype: str, handle: int, transa: int, transb: int, m: int, n: int, alpha: int,
        a: int, lda: int, beta: int, b: int, ldb: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        scale, kept = factor(alpha, dtype), factor(beta, dtype)

        def work() -> None:
            value = scale * matrix(a, dtype, transa, m, n, lda)
            if kept != 0:
                value += kept * matrix(b, dtype, transb, m, n, ldb)
            matrix(c, dtype, 0, m, n, ldc)[...] = value

        self.submit(work)


def install(cupy: Any, device: Device, compiler: Compiler) -> Blas:
    """Put the stand-ins in the libraries' places; that of cuBLAS is given."""
    from cupy_backends.cuda import libs  # noqa: PLC0415 - only where CuPy is installed

    blas = Blas(device, compiler, lambda: cupy.cuda.get_current_stream().ptr)
    sys.modules[blas.__name__] = libs.cublas = blas
    thrust = cupy.cuda.thrust

    def sort(dtype: Any, data: int, keys: int, shape: tuple[int, ...]) -> None:
        blas.submit(lambda: at(data, dtype, shape).sort(axis=-1))

    def argsort(dtype: Any, places: int, data: int, keys: int, shape: tuple[int, ...]) -> None:
        def work() -> None:
            at(places, "i8", shape)[...] = at(data, dtype, shape).argsort(axis=-1, kind="stable")

        blas.submit(work)

    def lexsort(dtype: Any, places: int, keys: int, count: int, length: int) -> None:
        def work() -> None:
            at(places, "i8", (length,))[...] = np.lexsort(at(keys, dtype, (count, length)))

        blas.submit(work)

    thrust.sort, thrust.argsort, thrust.lexsort = sort, argsort, lexsort
    return blas

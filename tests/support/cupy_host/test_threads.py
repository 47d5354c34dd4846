"""Kernels on the host: threads that wait for each other, and what is found when they do not as they should."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import LAUNCH, ORDERS, KernelError

REVERSE = r"""
extern "C" __global__ void reverse(const float *x, float *y) {
    __shared__ float row[64];
    int t = threadIdx.x;
    row[t] = x[t];
    %s
    y[t] = row[blockDim.x - 1 - t];
}
"""


def results(
    host: Host,
    kernel: Any,
    blocks: int,
    threads: int,
    *arguments: Any,
    output: Any,
    shared: int = 0,
) -> list[np.ndarray]:
    """What a kernel makes of `output` in each order of threads."""
    found = []
    for order in ORDERS:
        result = output.copy()
        with host.driver.running(order, seed=7):
            kernel((blocks,), (threads,), (*arguments, result), shared_mem=shared)
        found.append(result.get())
    return found


def test_a_block_waits_at_its_barrier(host: Host) -> None:
    """With its barrier a kernel has one result in every order."""
    kernel = host.cupy.RawKernel(REVERSE % "__syncthreads();", "reverse")
    x = np.arange(64, dtype="f4")
    for result in results(
        host, kernel, 1, 64, host.cupy.asarray(x), output=host.cupy.zeros(64, "f4")
    ):
        assert (result == x[::-1]).all()


def test_stacks_of_threads_are_aligned(host: Host) -> None:
    """As compiled functions of the host expect it: its square root of a negative number stores 16 bytes there."""
    text = r"""
    extern "C" __global__ void roots(const float *x, float *y) {
        __syncthreads();
        y[threadIdx.x] = sqrtf(x[threadIdx.x]);
    }
    """
    kernel = host.cupy.RawKernel(text, "roots")
    x = host.cupy.asarray([-1.0, 4.0], "f4")
    for result in results(host, kernel, 1, 2, x, output=host.cupy.zeros(2, "f4")):
        assert np.isnan(result[0])
        assert result[1] == 2


def test_a_missing_barrier_shows(host: Host) -> None:
    """Without its barrier it differs between orders, and where nothing was stored yet it reads NaN."""
    kernel = host.cupy.RawKernel(REVERSE % "", "reverse")
    x = np.arange(64, dtype="f4")
    forward, backward, _ = results(
        host, kernel, 1, 64, host.cupy.asarray(x), output=host.cupy.zeros(64, "f4")
    )
    assert np.isnan(forward).sum() == np.isnan(backward).sum() == 32
    assert not np.array_equal(forward, backward, equal_nan=True)


def test_shared_memory_of_one_block_is_not_seen_by_the_next(host: Host) -> None:
    """Each block finds NaN."""
    text = r"""
    extern "C" __global__ void before(float *y) {
        __shared__ float kept;
        y[blockIdx.x] = kept;
        kept = 1;
    }
    """
    for result in results(
        host, host.cupy.RawKernel(text, "before"), 3, 1, output=host.cupy.zeros(3, "f4")
    ):
        assert np.isnan(result).all()


def test_divergent_barriers_are_reported_by_line(host: Host) -> None:
    """Threads of a block that wait at different barriers would wait for ever on a device."""
    text = """extern "C" __global__ void parts(float *y) {
        if (threadIdx.x < 32)
            __syncthreads();
        else
            __syncthreads();
        y[threadIdx.x] = 1;
    }"""
    kernel = host.cupy.RawKernel(text, "parts")
    y = host.cupy.zeros(64, "f4")
    first = line_of(text, "if (threadIdx") + 1
    with pytest.raises(
        KernelError, match=f"parts: divergent barriers: .* line {first}, others at line {first + 2}"
    ):
        kernel((1,), (64,), (y,))
    assert not y.get().any()


def test_lanes_that_never_come_are_reported(host: Host) -> None:
    """A shuffle whose mask names lanes that wait elsewhere would wait for ever."""
    text = """extern "C" __global__ void part(float *y) {
        if (threadIdx.x < 16)
            y[threadIdx.x] = __shfl_down_sync(0xffffffff, 1.0f, 1);
        else
            __syncthreads();
    }"""
    with pytest.raises(KernelError, match="lanes of the mask of a warp operation never come"):
        host.cupy.RawKernel(text, "part")((1,), (32,), (host.cupy.zeros(32, "f4"),))


def line_of(text: str, words: str) -> int:
    """The line of words in a text, as the kernel's compiler counts."""
    return 1 + text[: text.index(words)].count("\n")


WARP = r"""
extern "C" __global__ void warp(const int *x, int *y) {
    int t = threadIdx.x, v = x[t];
    unsigned all = 0xffffffff;
    y[t] = __shfl_sync(all, v, 3);
    y[64 + t] = __shfl_up_sync(all, v, 2);
    y[128 + t] = __shfl_down_sync(all, v, 5, 8);
    y[192 + t] = __shfl_xor_sync(all, v, 1);
    y[256 + t] = (int)__ballot_sync(all, v > 40);
    y[320 + t] = __reduce_add_sync(all, v) + __any_sync(all, v == 5) + 2 * __all_sync(all, v >= 0);
    y[384 + t] = __syncthreads_count(v % 3 == 0);
    y[448 + t] = (int)__match_any_sync(all, v / 4);
}
"""


def test_launching_from_c(host: Host) -> None:
    """C code finds a function that launches as `cuLaunchKernel` does, and gets the number of an error."""
    kernel = host.cupy.RawKernel(REVERSE % "__syncthreads();", "reverse")
    x, y = host.cupy.arange(4, dtype="f4"), host.cupy.zeros(4, "f4")
    pointers = [ctypes.c_void_p(array.data.ptr) for array in (x, y)]
    arguments = (ctypes.c_void_p * 2)(*map(ctypes.addressof, pointers))
    launch = LAUNCH(host.driver.launch_entry())
    with host.device.counting() as counts:
        assert launch(kernel.kernel.ptr, 1, 1, 1, 4, 1, 1, 0, 0, arguments, 0) == 0
    assert y.get().tolist() == [3, 2, 1, 0]
    assert counts["launch"] == 1
    assert launch(kernel.kernel.ptr, 1, 1, 1, 4096, 1, 1, 0, 0, arguments, 0) == 719
    assert "too many threads" in str(host.driver.error)


def test_warps_exchange_values(host: Host) -> None:
    """Shuffles, votes and reductions of warps are what CUDA says, in every order of threads."""
    x = np.random.default_rng(3).permutation(64).astype("i4")
    warps = x.reshape(2, 32)
    lanes = np.arange(32)
    down = np.where(lanes % 8 + 5 < 8, lanes + 5, lanes)
    groups = [[sum(1 << i for i in lanes if row[i] // 4 == v // 4) for v in row] for row in warps]
    want = [
        np.repeat(warps[:, 3:4], 32, 1),
        warps[:, np.where(lanes < 2, lanes, lanes - 2)],
        warps[:, down],
        warps[:, lanes ^ 1],
        np.repeat([[sum(1 << i for i in lanes if row[i] > 40)] for row in warps], 32, 1),
        np.repeat([[row.sum() + (5 in row) + 2] for row in warps], 32, 1),
        np.full((2, 32), (x % 3 == 0).sum()),
        np.array(groups),
    ]
    kernel = host.cupy.RawKernel(WARP, "warp")
    output = host.cupy.zeros(512, "i4")
    for result in results(host, kernel, 1, 64, host.cupy.asarray(x), output=output):
        assert (result.reshape(8, 2, 32) == np.array(want).astype("u4").view("i4")).all()


def test_dynamic_shared_memory(host: Host) -> None:
    """A launch says how much there is."""
    text = r"""
    extern "C" __global__ void twice(double *y) {
        extern __shared__ double rows[];
        rows[threadIdx.x] = threadIdx.x;
        __syncthreads();
        y[threadIdx.x] = rows[threadIdx.x ^ 1];
    }
    """
    kernel = host.cupy.RawKernel(text, "twice")
    for result in results(host, kernel, 1, 8, output=host.cupy.zeros(8), shared=64):
        assert result.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


def test_grids_of_three_dimensions(host: Host) -> None:
    """Every thread of every block runs once, with its own indices."""
    text = r"""
    extern "C" __global__ void count(int *y) {
        int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
        atomicAdd(&y[block * 24 + thread], 1);
    }
    """
    kernel = host.cupy.RawKernel(text, "count")
    for order in ORDERS:
        y = host.cupy.zeros(30 * 24, "i4")
        with host.driver.running(order):
            kernel((2, 3, 5), (4, 3, 2), (y,))
        assert (y.get() == 1).all()


def test_variables_of_a_module(host: Host) -> None:
    """Constants and globals are found by name, and are not taken for shared memory."""
    text = r"""
    __constant__ float factors[2];
    __device__ int calls;
    extern "C" __global__ void scale(float *y) {
        y[threadIdx.x] *= factors[threadIdx.x];
        if (threadIdx.x == 0) calls++;
    }
    """
    cupy = host.cupy
    module = cupy.RawModule(code=text)
    address = module.get_global("factors")
    host.device.poke(address.ptr, np.array([2, 3], "f4").tobytes())
    host.device.poke(module.get_global("calls").ptr, bytes(4))
    y = cupy.ones(2, "f4")
    for _ in range(2):
        module.get_function("scale")((1,), (2,), (y,))
    assert y.get().tolist() == [4, 9]
    assert host.device.bytes_at(module.get_global("calls").ptr, 4) == b"\x02\0\0\0"


def test_templates_are_found_by_their_expression(host: Host) -> None:
    """`name_expressions` ask for instances."""
    text = "template <typename T> __global__ void next(T *y) { y[threadIdx.x] += 1; }"
    module = host.cupy.RawModule(code=text, name_expressions=["next<int>", "next<double>"])
    y = host.cupy.zeros(3)
    module.get_function("next<double>")((1,), (3,), (y,))
    assert y.get().tolist() == [1, 1, 1]


def test_a_text_that_does_not_compile_is_refused(host: Host) -> None:
    """CuPy raises its own exception, with the compiler's words."""
    kernel = host.cupy.RawKernel('extern "C" __global__ void wrong() { nothing(); }', "wrong")
    with pytest.raises(host.cupy.cuda.compiler.CompileException, match="nothing"):
        kernel.compile()


def test_denormals_are_flushed_as_cupy_has_it(host: Host) -> None:
    """float32 kernels flush, float64 ones do not, and the host's own arithmetic stays as it is."""
    small = np.array([1e-40, 3e-39], "f4")
    assert (host.cupy.asarray(small) + np.float32(0)).get().tolist() == [0, 0]
    assert ((host.cupy.asarray([1e-310]) + 0).get() == 1e-310).all()
    assert (small + np.float32(0) > 0).all()


def test_denormals_are_kept_where_the_options_say_so(host: Host) -> None:
    """The same text with and without -ftz=true is two kernels."""
    text = 'extern "C" __global__ void twice(float *y) { *y = *y + *y; }'
    small = np.float32(1e-40)
    compiler = host.cupy.cuda.compiler
    found = []
    for options in ((), ("-ftz=true",), ()):
        cubin, _ = compiler.compile_using_nvrtc(text, options)
        module = host.cupy.cuda.function.Module()
        module.load(cubin)
        y = host.cupy.full(1, small, "f4")
        module.get_function("twice")((1,), (1,), (y,))
        found.append(float(y.get()[0]))
    assert found == [float(small + small), 0, float(small + small)]


def test_nothing_is_contracted(host: Host) -> None:
    """A product and a sum round twice, as in NumPy."""
    x = np.random.default_rng(1).normal(size=1000)
    muladd = host.cupy.ElementwiseKernel(
        "float64 x, float64 y", "float64 z", "z = x * y + x", "muladd"
    )
    assert (muladd(host.cupy.asarray(x), host.cupy.asarray(x[::-1])).get() == x * x[::-1] + x).all()

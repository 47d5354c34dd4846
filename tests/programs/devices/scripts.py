"""Programs as CuPy's users write them around its modules: pools, streams, profilers, images, signals, sparse matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.programs.devices.published import (
    Programs,
    definite,
    listing,
    normal,
    uniform,
    whole,
)

cp: Any = np  # CuPy, its modules, and what the programs make once, where it is there
cupyx: Any = None
ndi: Any = None
signal: Any = None
special: Any = None
profiler: Any = None
nvtx: Any = None
made: Any = None

SCRIPTS: Programs = {}
script = listing(SCRIPTS)


def made_once(cupy: Any) -> Any:
    """What the programs make where they are imported."""

    class Made:
        gelu = staticmethod(cupy.fuse(gelu))
        squared_difference = staticmethod(cupy.fuse(kernel_name="squared_difference")(sqdiff))
        pool = cupy.get_default_memory_pool()
        pinned = cupy.get_default_pinned_memory_pool()
        stream = cupy.cuda.Stream(non_blocking=True)
        other = cupy.cuda.Stream()
        saxpy = cupy.ElementwiseKernel("T a, T x, T y", "T z", "z = a * x + y", "saxpy")
        gemm = cupy.RawKernel(
            r"""extern "C" __global__ void gemm(const float* a, const float* b, float* c, int n, int k, int m) {
                __shared__ float left[8][8], right[8][8];
                int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
                float sum = 0;
                for (int at = 0; at < k; at += 8) {
                    left[threadIdx.y][threadIdx.x] = row < n && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0;
                    right[threadIdx.y][threadIdx.x] = column < m && at + threadIdx.y < k ? b[(at + threadIdx.y) * m + column] : 0;
                    __syncthreads();
                    for (int i = 0; i < 8; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
                    __syncthreads();
                }
                if (row < n && column < m) c[row * m + column] = sum;
            }""",
            "gemm",
        )

    return Made


def gelu(x: Any) -> Any:
    return x * 0.5 * (1 + cp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def sqdiff(x: Any, y: Any) -> Any:
    return (x - y) * (x - y)


@script(A=normal(20, 30, dtype="f4"), B=normal(30, 25, dtype="f4"))
def sgemm(A: Any, B: Any) -> Any:
    m, k = A.shape
    n = B.shape[1]
    C = cp.empty((m, n), dtype=cp.float32)
    grid = (math.ceil(n / 8), math.ceil(m / 8))
    made.gemm(grid, (8, 8), (A, B, C, np.int32(m), np.int32(k), np.int32(n)))
    expected = cp.dot(A, B)
    return C, cp.abs(C - expected).max() < 1e-3


@script(x=normal(500))
def stream_contexts(x: Any) -> Any:
    stream = cp.cuda.Stream()
    with stream:
        y = cp.sin(x) * 2
        z = y.sum()
    stream.synchronize()
    with cp.cuda.Stream(non_blocking=True) as second:
        w = cp.linalg.norm(x)
        event = second.record()
    event.synchronize()
    return y, z, w + z


@script(x=normal(300))
def map_reduce_streams(x: Any) -> Any:
    streams = [made.stream, made.other]
    maps = []
    stop_events = []
    for stream in streams:
        with stream:
            maps.append(cp.matmul(x[:50], x[50:100]) + x[0])
        stop_events.append(stream.record())
    reduce_stream = cp.cuda.Stream.null
    for event in stop_events:
        reduce_stream.wait_event(event)
    with reduce_stream:
        z = cp.stack(maps).sum(axis=0)
    for stream in streams:
        stream.synchronize()
    return z


@script(x=normal(64, 64))
def event_timing(x: Any) -> Any:
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    y = cp.exp(-x * x).sum(axis=1)
    end.record()
    end.synchronize()
    elapsed = cp.cuda.get_elapsed_time(start, end)
    return y, elapsed >= 0


@script(n=1000)
def pool_statistics(n: Any) -> Any:
    mempool = cp.get_default_memory_pool()
    before = mempool.used_bytes()
    a = cp.ones(n, dtype=cp.float64) * 2
    used = mempool.used_bytes() - before
    b = a.sum()
    del a
    freed = mempool.used_bytes() - before
    return b, used, freed >= 0, mempool.total_bytes() >= mempool.used_bytes()


@script(x=normal(200))
def pinned_transfer(x: Any) -> Any:
    host = cupyx.empty_pinned(x.shape, dtype=x.dtype)
    y = cp.sqrt(cp.abs(x)) + 1
    y.get(out=host)
    back = cp.empty_like(y)
    back.set(host)
    return back * 2, host.sum()


@script(x=normal(200), stream_number=0)
def asynchronous_transfer(x: Any, stream_number: Any) -> Any:
    with made.stream:
        y = cp.tanh(x) * 3
        host = cp.asnumpy(y, stream=made.stream)
    made.stream.synchronize()
    return cp.asarray(host) + x


@script(v=normal(40), i=whole(200, high=40))
def scatter_adds(v: Any, i: Any) -> Any:
    a = cp.zeros(40)
    cupyx.scatter_add(a, i, 1.0)
    b = v.copy()
    cp.add.at(b, i, 2.0)
    cp.maximum.at(b, i[:10], 1.0)
    cupyx.scatter_max(a, i[:5], 30.0)
    return a, b, (a * b).sum()


@script(x=normal(300, dtype="f4"), y=normal(300, dtype="f4"))
def fused_helpers(x: Any, y: Any) -> Any:
    h = made.gelu(x)
    d = made.squared_difference(h, y)
    return d.mean(), cp.sqrt(d), made.saxpy(2.0, h, y)


@script(x=normal(50, 20))
def nvtx_ranges(x: Any) -> Any:
    nvtx.RangePush("normalise")
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    nvtx.RangePop()
    with profiler.time_range("products", color_id=0):
        z = y.T @ y
    nvtx.Mark("done")
    return z / len(x)


@script(img=uniform(24, 30))
def unsharp(img: Any) -> Any:
    blurred = ndi.gaussian_filter(img, sigma=2)
    mask = img - blurred
    sharp = cp.clip(img + 1.5 * mask, 0, 1)
    gx, gy = ndi.sobel(sharp, axis=0), ndi.sobel(sharp, axis=1)
    edges = cp.hypot(gx, gy)
    edges *= 255.0 / edges.max()
    return edges.astype(cp.uint8)


@script(img=uniform(20, 20))
def count_blobs(img: Any) -> Any:
    smooth = ndi.uniform_filter(img, 3)
    binary = smooth > smooth.mean()
    labels, count = ndi.label(binary)
    sizes = ndi.sum(binary, labels, cp.arange(1, count + 1))
    centres = cp.bincount(labels.ravel(), minlength=count + 1)
    return labels, count, sizes, centres[1:]


@script(x=normal(256))
def butterworth(x: Any) -> Any:
    b, a = cp.asarray([0.2, 0.3, 0.2]), cp.asarray([1.0])
    filtered = signal.lfilter(b, a, x)
    smooth = signal.savgol_filter(x, 11, 3)
    return filtered + smooth


@script(x=normal(200), k=normal(15))
def convolutions(x: Any, k: Any) -> Any:
    window = signal.windows.hann(15)
    full = signal.fftconvolve(x, k * window, mode="same")
    direct = signal.convolve(x, k, mode="same", method="direct")
    peak = cp.argmax(cp.abs(cp.correlate(x, k, mode="valid")))
    return full, direct, peak


@script(n=200, seed=3)
def geometric_brownian(n: Any, seed: Any) -> Any:
    cp.random.seed(seed)
    dt = 1.0 / 50
    z = cp.random.standard_normal((50, n))
    paths = 100 * cp.exp(cp.cumsum((0.05 - 0.5 * 0.2**2) * dt + 0.2 * cp.sqrt(dt) * z, axis=0))
    payoff = cp.maximum(paths[-1] - 105, 0)
    price = float(cp.exp(-0.05) * payoff.mean())
    return price, cp.percentile(paths[-1], [5, 50, 95])


@script(n=300)
def generator_draws(n: Any) -> Any:
    rng = cp.random.default_rng(11)
    counts = rng.poisson(3.0, n)
    waits = rng.gamma(2.0, 1.5, n)
    shares = rng.beta(2.0, 5.0, n)
    return counts.mean(), waits + shares, rng.random(n) < 0.5


@script(x=normal(100))
def xorwow(x: Any) -> Any:
    rng = cp.random.Generator(cp.random.XORWOW(seed=5))
    return x + rng.standard_normal(x.shape), rng.integers(0, 10, 20)


@script(x=normal(80, 3))
def sampled_rows(x: Any) -> Any:
    cp.random.seed(1)
    index = cp.random.choice(len(x), 20, replace=False)
    shuffled = cp.random.permutation(len(x))
    return x[index].mean(axis=0), x[shuffled][:5]


@script(u=uniform(30, 30), steps=4)
def heat_diffusion(u: Any, steps: Any) -> Any:
    alpha, dt, dx = 0.1, 0.1, 1.0
    for _ in range(steps):
        lap = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) / dx**2
        new = u.copy()
        new[1:-1, 1:-1] += alpha * dt * lap
        new[0, :] = new[-1, :] = 0
        new[:, 0] = new[:, -1] = 0
        u = new
    return u, float(u.sum())


@script(positions=normal(30, 3), masses=uniform(30))
def gravity(positions: Any, masses: Any) -> Any:
    xp = cp.get_array_module(positions)
    delta = positions[None, :, :] - positions[:, None, :]
    r2 = (delta**2).sum(axis=-1) + 1e-3
    xp.fill_diagonal(r2, xp.inf)
    force = (masses[None, :, None] * delta) / r2[:, :, None] ** 1.5
    cross = xp.cross(positions, force.sum(axis=1))
    return force.sum(axis=1), cross.sum(axis=0), xp.einsum("ij,ij->i", delta[0], delta[1])


@script(x=uniform(200, low=-3, high=3))
def where_chain(x: Any) -> Any:
    y = cp.where(x < -1, -x, cp.where(x < 0, x**2, cp.where(x < 1, cp.sqrt(x), cp.log1p(x))))
    z = cp.select([y < 0.5, y < 1.0], [y * 2, y + 1], default=-1.0)
    w = cp.piecewise(x, [x < 0, x >= 0], [-1.0, 1.0])
    return cp.nan_to_num(y), z, w, cp.isnan(y).any()


@script(A=definite(12), b=normal(12))
def solver(A: Any, b: Any) -> Any:
    with cp.cuda.Device(0):
        L = cp.linalg.cholesky(A)
        x = cp.linalg.solve(A, b)
        residual = cp.linalg.norm(A @ x - b)
        if cp.cuda.Device() == cp.cuda.Device(0):
            x = x / cp.linalg.norm(x)
    cp.cuda.Device(0).synchronize()
    cp.testing.assert_allclose(L @ L.T, A, rtol=1e-6)
    return x, residual < 1e-6


@script(x=normal(150))
def benchmarked(x: Any) -> Any:
    def work(a: Any) -> Any:
        return cp.sqrt(cp.sum(a**2, axis=-1))

    result = profiler.benchmark(work, (x,), n_repeat=2, n_warmup=1)
    return work(x), result.gpu_times.shape, result.name


@script(img=uniform(16, 16), weights=normal(3, 3))
def used_stream(img: Any, weights: Any) -> Any:
    with cp.cuda.Device(0):
        made.other.use()
        try:
            out = ndi.convolve(img, weights, mode="reflect")
        finally:
            cp.cuda.Stream.null.use()
        made.other.synchronize()
    return out


@script(coefficients=normal(4), x=normal(60))
def polynomial(coefficients: Any, x: Any) -> Any:
    p = cp.poly1d(coefficients)
    q = p * p + 2
    return p(x), q(x), p.order


@script(x=normal(60, 8), y=whole(60, high=3))
def softmax_regression(x: Any, y: Any) -> Any:
    w = cp.zeros((8, 3))
    onehot = cp.eye(3)[y]
    losses = []
    for _ in range(3):
        logits = x @ w
        logits -= logits.max(axis=1, keepdims=True)
        p = cp.exp(logits)
        p /= p.sum(axis=1, keepdims=True)
        losses.append(float(-(onehot * cp.log(p + 1e-12)).sum() / len(x)))
        w -= 0.1 * (x.T @ (p - onehot)) / len(x)
    return w, losses, special.softmax(logits, axis=1), (p.argmax(axis=1) == y).mean().item()

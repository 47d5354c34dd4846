"""Programs as CuPy's users publish them: one function each, with what it is given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

cp: Any = np  # CuPy, its modules and kernels of the programs' own, where it is there
ndi: Any = None
special: Any = None
kernels: Any = None

Programs = dict[str, tuple[Callable[..., Any], dict[str, Any]]]
PROGRAMS: Programs = {}


def listing(programs: Programs) -> Callable[..., Any]:
    """What puts a function on a list, with its arguments."""

    def program(**given: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def listed(function: Callable[..., Any]) -> Callable[..., Any]:
            programs[function.__name__] = function, given
            return function

        return listed

    return program


program = listing(PROGRAMS)


def normal(*shape: int, dtype: str = "f8") -> Any:
    """Numbers around zero, the same for each shape."""
    return np.random.default_rng(sum(shape) * 7 + len(shape)).normal(size=shape).astype(dtype)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "f8") -> Any:
    """Numbers between two, the same for each shape."""
    return np.random.default_rng(sum(shape)).uniform(low, high, size=shape).astype(dtype)


def whole(*shape: int, low: int = 0, high: int = 10, dtype: str = "i8") -> Any:
    """Whole numbers, the same for each shape."""
    return np.random.default_rng(sum(shape)).integers(low, high, size=shape).astype(dtype)


def definite(rows: int) -> Any:
    """A positive definite matrix."""
    matrix = normal(rows, rows)
    return matrix @ matrix.T + rows * np.eye(rows)


def kernels_of(cupy: Any) -> Any:
    """Kernels that the programs make once, as attributes."""

    class Kernels:
        distance = cupy.ElementwiseKernel(
            "T x0, T x1, T c0, T c1",
            "T y",
            "y = (x0 - c0) * (x0 - c0) + (x1 - c1) * (x1 - c1)",
            "distance",
        )
        chosen = cupy.ReductionKernel(
            "T x, S m", "T y", "m ? x : 0", "a + b", "y = a", "0", "chosen"
        )
        count = cupy.ReductionKernel(
            "T m", "float32 y", "m ? 1.0 : 0.0", "a + b", "y = a", "0.0", "many"
        )
        options = cupy.ElementwiseKernel(
            "T s, T x, T t, T r, T v",
            "T call, T put",
            """
            const T root = sqrt(t);
            const T d = (log(s / x) + (r + v * v / 2) * t) / (v * root);
            call = s * d - x * exp(-r * t) * (d - v * root);
            put = x * exp(-r * t) * (1 - d + v * root) - s * (1 - d);
            """,
            "options",
        )
        walks = cupy.ElementwiseKernel(
            "T s, T x, int32 n_samples, int32 seed",
            "T call",
            """
            unsigned long long state = i + 1 + seed;
            T sum = 0;
            for (int k = 0; k < n_samples; ++k) {
                state = state * 6364136223846793005ull + 1442695040888963407ull;
                sum += s * (T)(state >> 40) / (T)(1 << 24) - x;
            }
            call = sum / n_samples;
            """,
            "walks",
        )
        added = cupy.RawKernel(
            r"""extern "C" __global__ void added(const float* a, const float* b, float* y, int n) {
                int i = blockDim.x * blockIdx.x + threadIdx.x;
                if (i < n) y[i] = a[i] + b[i] * 2;
            }""",
            "added",
        )
        length = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
        squared = cupy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
        fused = staticmethod(cupy.fuse(rectified))

    return Kernels


def rectified(x: Any, y: Any) -> Any:
    return cp.where(x > y, x * 2 + y, cp.exp(-x) - y)


@program(X=normal(60, 2), n_clusters=3, max_iter=5)
def kmeans(X: Any, n_clusters: Any, max_iter: Any) -> Any:
    xp = cp.get_array_module(X)
    n_samples = len(X)
    pred = xp.zeros(n_samples)
    centers = X[xp.arange(n_clusters) * 7]
    for _ in range(max_iter):
        distances = xp.linalg.norm(X[:, None, :] - centers[None, :, :], axis=2)
        new_pred = xp.argmin(distances, axis=1)
        if xp.all(new_pred == pred):
            break
        pred = new_pred
        i = xp.arange(n_clusters)
        mask = pred == i[:, None]
        sums = xp.where(mask[:, :, None], X, 0).sum(axis=1)
        counts = xp.count_nonzero(mask, axis=1).reshape((n_clusters, 1))
        centers = sums / counts
    return centers, pred


@program(X=normal(60, 2), n_clusters=3, max_iter=5)
def kmeans_custom(X: Any, n_clusters: Any, max_iter: Any) -> Any:
    n_samples = len(X)
    pred = cp.zeros(n_samples)
    centers = X[cp.arange(n_clusters) * 7]
    for _ in range(max_iter):
        distances = kernels.distance(
            X[:, None, 0], X[:, None, 1], centers[None, :, 1], centers[None, :, 0]
        )
        new_pred = cp.argmin(distances, axis=1)
        if cp.all(new_pred == pred):
            break
        pred = new_pred
        i = cp.arange(n_clusters)
        mask = pred == i[:, None]
        sums = kernels.chosen(X, mask[:, :, None], axis=1)
        counts = kernels.count(mask, axis=1).reshape((n_clusters, 1))
        centers = sums / counts
    return centers, pred


def estimate_log_prob(X: Any, inv_cov: Any, means: Any) -> Any:
    xp = cp.get_array_module(X)
    n_features = X.shape[1]
    log_det = xp.sum(xp.log(inv_cov), axis=1)
    precisions = inv_cov**2
    log_prob = (
        xp.sum((means**2 * precisions), 1)
        - 2 * xp.dot(X, (means * precisions).T)
        + xp.dot(X**2, precisions.T)
    )
    return -0.5 * (n_features * xp.log(2 * np.pi) + log_prob) + log_det


def m_step(X: Any, resp: Any) -> Any:
    xp = cp.get_array_module(X)
    nk = xp.sum(resp, axis=0)
    means = xp.dot(resp.T, X) / nk[:, None]
    X2 = xp.dot(resp.T, X * X) / nk[:, None]
    covariances = X2 - means**2
    return nk / len(X), means, covariances


def e_step(X: Any, inv_cov: Any, means: Any, weights: Any) -> Any:
    xp = cp.get_array_module(X)
    weighted_log_prob = estimate_log_prob(X, inv_cov, means) + xp.log(weights)
    log_prob_norm = xp.log(xp.sum(xp.exp(weighted_log_prob), axis=1))
    log_resp = weighted_log_prob - log_prob_norm[:, None]
    return xp.mean(log_prob_norm), log_resp


@program(
    X=normal(40, 2, dtype="f4"),
    means=normal(2, 2),
    covariances=uniform(2, 2, low=0.5, high=1.5),
    max_iter=4,
    tol=1e-3,
)
def gmm(X: Any, max_iter: Any, tol: Any, means: Any, covariances: Any) -> Any:
    xp = cp.get_array_module(X)
    lower_bound = -np.inf
    weights = xp.array([0.5, 0.5], dtype=np.float32)
    inv_cov = 1 / xp.sqrt(covariances)
    for _ in range(max_iter):
        prev_lower_bound = lower_bound
        log_prob_norm, log_resp = e_step(X, inv_cov, means, weights)
        weights, means, covariances = m_step(X, xp.exp(log_resp))
        inv_cov = 1 / xp.sqrt(covariances)
        lower_bound = log_prob_norm
        change = lower_bound - prev_lower_bound
        if abs(change) < tol:
            break
    return inv_cov, means, weights, covariances


@program(A=definite(8), b=normal(8), tol=1e-3, max_iter=20)
def cg(A: Any, b: Any, tol: Any, max_iter: Any) -> Any:
    xp = cp.get_array_module(A)
    x = xp.zeros_like(b, dtype=np.float64)
    r0 = b - xp.dot(A, x)
    p = r0
    for _ in range(max_iter):
        a = xp.inner(r0, r0) / xp.inner(p, xp.dot(A, p))
        x += a * p
        r1 = r0 - a * xp.dot(A, p)
        if xp.linalg.norm(r1) < tol:
            return x
        b = xp.inner(r1, r1) / xp.inner(r0, r0)
        p = r1 + b * p
        r0 = r1
    return x


@program(
    s=uniform(50, low=5, high=30),
    x=uniform(50, low=1, high=100),
    t=uniform(50, low=0.25, high=10),
    r=0.02,
    v=0.3,
)
def black_scholes(s: Any, x: Any, t: Any, r: Any, v: Any) -> Any:
    xp = cp.get_array_module(s)
    sqrt_t = xp.sqrt(t)
    d1 = (xp.log(s / x) + (r + v * v / 2) * t) / (v * sqrt_t)
    d2 = d1 - v * sqrt_t

    def cnd_(x: Any) -> Any:
        k = 1 / (1 + 0.2316419 * xp.abs(x))
        cnd = (
            0.3989422804014327
            * xp.exp(-x * x / 2)
            * (
                k
                * (
                    0.31938153
                    + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
                )
            )
        )
        return xp.where(x > 0, 1 - cnd, cnd)

    a, b = cnd_(d1), cnd_(d2)
    exp_rt = xp.exp(-r * t)
    return s * a - x * exp_rt * b, x * exp_rt * (1 - b) - s * (1 - a)


@program(
    s=uniform(50, low=5, high=30),
    x=uniform(50, low=1, high=100),
    t=uniform(50, low=0.25, high=10),
    r=0.02,
    v=0.3,
)
def black_scholes_custom(s: Any, x: Any, t: Any, r: Any, v: Any) -> Any:
    call, put = kernels.options(s, x, t, r, v)
    return (call - put).mean(), call, put


@program(stock=uniform(5, low=5, high=30), strike=uniform(5, low=1, high=10))
def monte_carlo_options(stock: Any, strike: Any) -> Any:
    n_options = len(stock)
    call_prices = cp.empty((n_options, 16), dtype=np.float64)
    kernels.walks(stock[:, None], strike[:, None], 10, 0, call_prices)
    return call_prices.mean(axis=1)


@program(n=1000)
def monte_carlo_pi(n: Any) -> Any:
    cp.random.seed(3)
    x = cp.random.rand(n)
    y = cp.random.rand(n)
    inside = cp.sum(x**2 + y**2 <= 1.0)
    return 4.0 * float(inside) / n


@program(n=1000)
def monte_carlo_pi_rng(n: Any) -> Any:
    rng = cp.random.default_rng(3)
    pts = rng.random((n, 2), dtype=cp.float32)
    inside = (pts**2).sum(axis=1) < 1
    return 4 * inside.mean().get()


@program(T=uniform(20, 20), n=5)
def heat_in_place(T: Any, n: Any) -> Any:
    T = T.copy()
    for _ in range(n):
        T[1:-1, 1:-1] = 0.25 * (T[2:, 1:-1] + T[:-2, 1:-1] + T[1:-1, 2:] + T[1:-1, :-2])
    return T


@program(f=uniform(20, 20, dtype="f4"), tol=1e-2, n=6)
def heat_jacobi_tol(f: Any, tol: Any, n: Any) -> Any:
    p = cp.zeros(f.shape, dtype=cp.float32)
    dx = 1.0 / 20
    for _ in range(n):
        p_new = p.copy()
        p_new[1:-1, 1:-1] = 0.25 * (
            p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + dx**2 * f[1:-1, 1:-1]
        )
        diff = cp.linalg.norm(p_new - p)
        p = p_new
        if diff.get() < tol:
            break
    return p


@program(img=uniform(24, 20, dtype="f4"))
def image_filters(img: Any) -> Any:
    g = ndi.gaussian_filter(img, sigma=1.5)
    e = cp.hypot(ndi.sobel(g, axis=0), ndi.sobel(g, axis=1))
    e = e / e.max()
    return (e > 0.3).astype(cp.uint8) * 255


@program(img=uniform(24, 20, dtype="f8"), k=uniform(3, 3))
def image_convolve(img: Any, k: Any) -> Any:
    return (
        ndi.convolve(img, k / k.sum(), mode="reflect")
        - ndi.uniform_filter(img, 3)
        + ndi.median_filter(img, size=3)
    )


@program(img=uniform(24, 20, dtype="f4"))
def manual_convolve(img: Any) -> Any:
    k = cp.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], dtype=cp.float32) / 16
    p = cp.pad(img, 1, mode="edge")
    out = cp.zeros_like(img)
    for i in range(3):
        for j in range(3):
            out += k[i, j] * p[i : i + img.shape[0], j : j + img.shape[1]]
    return cp.clip(out, 0, 1)


@program(img=uniform(24, 20))
def fft_filter(img: Any) -> Any:
    F = cp.fft.fftshift(cp.fft.fft2(img))
    rows, cols = img.shape
    crow, ccol = rows // 2, cols // 2
    mask = cp.zeros((rows, cols), dtype=cp.uint8)
    mask[crow - 5 : crow + 5, ccol - 5 : ccol + 5] = 1
    back = cp.fft.ifft2(cp.fft.ifftshift(F * mask))
    return cp.abs(back)


@program(x=normal(128), cutoff=10.0)
def fft_lowpass(x: Any, cutoff: Any) -> Any:
    X = cp.fft.rfft(x)
    freqs = cp.fft.rfftfreq(x.size, d=1 / 128)
    X[freqs > cutoff] = 0
    y = cp.fft.irfft(X, n=x.size)
    power = cp.abs(X) ** 2
    return y, freqs[cp.argmax(power)], cp.sum(power)


@program(img=uniform(16, 18))
def hough(img: Any) -> Any:
    edges = img > 0.8
    ys, xs = cp.nonzero(edges)
    thetas = cp.deg2rad(cp.arange(-90, 90, 15))
    diag = int(np.ceil(np.sqrt(img.shape[0] ** 2 + img.shape[1] ** 2)))
    rhos = (
        cp.round(
            xs[:, None] * cp.cos(thetas)[None, :] + ys[:, None] * cp.sin(thetas)[None, :]
        ).astype(cp.int64)
        + diag
    )
    acc = cp.zeros((2 * diag, len(thetas)), dtype=cp.int32)
    t = cp.broadcast_to(cp.arange(len(thetas))[None, :], rhos.shape)
    cp.add.at(acc, (rhos, t), 1)
    return acc, cp.unravel_index(acc.argmax(), acc.shape)


@program(width=24, height=16, max_iter=8)
def mandelbrot(width: Any, height: Any, max_iter: Any) -> Any:
    y, x = cp.ogrid[-1.4 : 1.4 : height * 1j, -2 : 0.8 : width * 1j]
    c = x + y * 1j
    z = c
    divtime = max_iter + cp.zeros(z.shape, dtype=int)
    for i in range(max_iter):
        z = z**2 + c
        diverge = z * cp.conj(z) > 2**2
        div_now = diverge & (divtime == max_iter)
        divtime[div_now] = i
        z[diverge] = 2
    return cp.asnumpy(divtime)


@program(n=16, max_iter=8)
def mandelbrot_real(n: Any, max_iter: Any) -> Any:
    re = cp.linspace(-2, 1, n, dtype=cp.float32)
    im = cp.linspace(-1.5, 1.5, n, dtype=cp.float32)
    X, Y = cp.meshgrid(re, im)
    C = X + 1j * Y
    Z = cp.zeros_like(C)
    out = cp.zeros(C.shape, dtype=cp.int32)
    for _ in range(max_iter):
        mask = cp.abs(Z) <= 2
        Z = cp.where(mask, Z * Z + C, Z)
        out += mask
    return out


@program(X=normal(30, 6), k=2)
def pca_svd(X: Any, k: Any) -> Any:
    Xc = X - X.mean(axis=0)
    U, S, Vt = cp.linalg.svd(Xc, full_matrices=False)
    comp = Vt[:k]
    ev = (S**2) / (X.shape[0] - 1)
    return Xc @ comp.T, ev / ev.sum(), U[:, :k] * S[:k]


@program(X=normal(30, 6), k=2)
def pca_eigh(X: Any, k: Any) -> Any:
    Xc = X - cp.mean(X, axis=0, keepdims=True)
    cov = cp.cov(Xc, rowvar=False)
    w, v = cp.linalg.eigh(cov)
    idx = cp.argsort(w)[::-1][:k]
    return cp.dot(Xc, v[:, idx]), w[idx]


@program(X=normal(40, 5), y=whole(40, low=0, high=2), lr=0.1, n=5)
def logistic(X: Any, y: Any, lr: Any, n: Any) -> Any:
    w = cp.zeros(X.shape[1])
    b = 0.0
    losses = []
    m = X.shape[0]
    for i in range(n):
        z = X @ w + b
        p = 1 / (1 + cp.exp(-z))
        loss = -cp.mean(y * cp.log(p + 1e-9) + (1 - y) * cp.log(1 - p + 1e-9))
        dw = X.T @ (p - y) / m
        db = cp.sum(p - y) / m
        w -= lr * dw
        b -= lr * db
        if i % 2 == 0:
            losses.append(float(loss))
    return w, b, losses


@program(X=normal(20, 4, dtype="f4"), y=whole(20, low=0, high=3), n=3)
def mlp(X: Any, y: Any, n: Any) -> Any:
    rs = cp.random.RandomState(0)
    W1 = rs.randn(4, 8).astype(cp.float32) * 0.1
    W2 = rs.randn(8, 3).astype(cp.float32) * 0.1
    b1 = cp.zeros(8, dtype=cp.float32)
    b2 = cp.zeros(3, dtype=cp.float32)
    Y = cp.eye(3, dtype=cp.float32)[y]
    for _ in range(n):
        h = cp.maximum(0, X @ W1 + b1)
        s = h @ W2 + b2
        e = cp.exp(s - s.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        d = (p - Y) / len(X)
        gW2 = h.T @ d
        dh = d @ W2.T
        dh[h <= 0] = 0
        W1 -= 0.5 * (X.T @ dh)
        W2 -= 0.5 * gW2
        b1 -= 0.5 * dh.sum(axis=0)
        b2 -= 0.5 * d.sum(axis=0)
    acc = (p.argmax(axis=1) == y).mean()
    return W1, W2, b1, b2, float(acc)


@program(pos=normal(20, 3), vel=normal(20, 3), mass=uniform(20, low=0.5, high=2), n=3)
def nbody(pos: Any, vel: Any, mass: Any, n: Any) -> Any:
    pos, vel = pos.copy(), vel.copy()
    for _ in range(n):
        d = pos[None, :, :] - pos[:, None, :]
        r2 = (d**2).sum(axis=-1) + 0.01
        inv = r2**-1.5
        cp.fill_diagonal(inv, 0.0)
        acc = (d * (mass[None, :] * inv)[..., None]).sum(axis=1)
        vel += 0.01 * acc
        pos += 0.01 * vel
    ke = 0.5 * cp.sum(mass * cp.sum(vel**2, axis=1))
    return pos, vel, ke


@program(L=12, beta=0.44, n=3)
def ising(L: Any, beta: Any, n: Any) -> Any:
    cp.random.seed(1)
    s = 2 * cp.random.randint(0, 2, size=(L, L)) - 1
    ii, jj = cp.indices((L, L))
    even = (ii + jj) % 2 == 0
    mags = []
    for _ in range(n):
        for mask in (even, ~even):
            nb = cp.roll(s, 1, 0) + cp.roll(s, -1, 0) + cp.roll(s, 1, 1) + cp.roll(s, -1, 1)
            dE = 2 * s * nb
            flip = (cp.random.rand(L, L) < cp.exp(-beta * dE)) & mask
            s = cp.where(flip, -s, s)
        mags.append(cp.abs(s.mean()).item())
    return s, mags


@program(L=12, n=3)
def ising_convolve(L: Any, n: Any) -> Any:
    rng = cp.random.default_rng(5)
    lattice = rng.integers(0, 2, size=(L, L), dtype=np.int8) * 2 - 1
    mask = cp.ones_like(lattice, dtype=np.int8)
    mask[::2, ::2] = 0
    mask[1::2, 1::2] = 0
    kernel = cp.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    for _ in range(n):
        for m in (mask, 1 - mask):
            nb = ndi.convolve(lattice, kernel, mode="wrap")
            de = 2 * nb * lattice
            lattice = lattice - 2 * lattice * m * (rng.random((L, L)) < cp.exp(-de / 2.3))
    return cp.sum(lattice).get()


@program(g=whole(20, 20, low=0, high=2, dtype="i4"), n=3)
def life(g: Any, n: Any) -> Any:
    for _ in range(n):
        nb = sum(
            cp.roll(cp.roll(g, i, 0), j, 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i != 0 or j != 0)
        )
        g = ((nb == 3) | ((g == 1) & (nb == 2))).astype(cp.int32)
    return g


@program(g=whole(20, 20, low=0, high=2, dtype="i4"), n=3)
def life_convolve(g: Any, n: Any) -> Any:
    k = cp.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=cp.int32)
    for _ in range(n):
        nb = ndi.convolve(g, k, mode="wrap")
        g = cp.where((nb == 3) | ((g == 1) & (nb == 2)), 1, 0).astype(cp.int32)
    return g, int(g.sum())


@program(x=normal(200), n=8)
def histograms(x: Any, n: Any) -> Any:
    counts, edges = cp.histogram(x, bins=n)
    centers = 0.5 * (edges[1:] + edges[:-1])
    density = counts / counts.sum()
    idx = cp.clip(cp.digitize(x, edges) - 1, 0, n - 1)
    sums = cp.bincount(idx, minlength=n)
    h2, _, _ = cp.histogram2d(x, x * 2, bins=4)
    ent = -cp.sum(density[density > 0] * cp.log(density[density > 0]))
    return counts, centers, density, sums, h2, ent


@program(img=whole(16, 16, low=0, high=256, dtype="u1"))
def equalize(img: Any) -> Any:
    hist = cp.bincount(img.ravel(), minlength=256)
    cdf = hist.cumsum()
    cdf_min = cdf[cdf > 0].min()
    lut = ((cdf - cdf_min) * 255 / (img.size - cdf_min)).astype(cp.uint8)
    return lut[img]


@program(scores=normal(6, 20), k=4)
def topk(scores: Any, k: Any) -> Any:
    idx = cp.argpartition(-scores, k, axis=1)[:, :k]
    part = cp.take_along_axis(scores, idx, axis=1)
    order = cp.argsort(-part, axis=1)
    idx = cp.take_along_axis(idx, order, axis=1)
    return idx, cp.take_along_axis(scores, idx, axis=1)


@program(x=normal(50), keys=whole(50, low=0, high=6))
def group_by(x: Any, keys: Any) -> Any:
    order = cp.argsort(keys)
    k, v = keys[order], x[order]
    uniq, start, counts = cp.unique(k, return_index=True, return_counts=True)
    csum = cp.cumsum(v)
    ends = start + counts - 1
    tot = csum[ends]
    tot[1:] -= csum[ends[:-1]]
    return uniq, tot / counts


@program(
    rows=whole(40, low=0, high=10), cols=whole(40, low=0, high=12), vals=normal(40), x=normal(12)
)
def spmv_coo(rows: Any, cols: Any, vals: Any, x: Any) -> Any:
    y = cp.zeros(10)
    cp.add.at(y, rows, vals * x[cols])
    return y / (cp.linalg.norm(y) + 1e-12)


@program(rows=whole(40, low=0, high=10), cols=whole(40, low=0, high=10), n=4)
def pagerank(rows: Any, cols: Any, n: Any) -> Any:
    N = 10
    deg = cp.bincount(rows, minlength=N)
    r = cp.full(N, 1.0 / N)
    for _ in range(n):
        w = r / cp.maximum(deg, 1)
        new = cp.zeros(N)
        cp.add.at(new, cols, w[rows])
        new = 0.85 * new + 0.15 / N
        delta = cp.abs(new - r).sum()
        r = new
        if delta < 1e-6:
            break
    return r


@program(A=normal(4, 5, 6), B=normal(4, 6, 3), C=normal(4, 3))
def batched(A: Any, B: Any, C: Any) -> Any:
    M = cp.matmul(A, B)
    E = cp.einsum("bij,bj->bi", M, C)
    return M.transpose(0, 2, 1) @ M, E, cp.einsum("bij,bkj->bik", M, M).sum(axis=0)


@program(
    q=normal(2, 5, 4, dtype="f4"), k=normal(2, 5, 4, dtype="f4"), v=normal(2, 5, 4, dtype="f4")
)
def attention(q: Any, k: Any, v: Any) -> Any:
    scores = cp.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
    mask = cp.tril(cp.ones((5, 5), dtype=bool))
    scores = cp.where(mask, scores, -cp.inf)
    w = cp.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return cp.matmul(w, v)


@program(x=uniform(30, low=0.1, high=3))
def specials(x: Any) -> Any:
    a = special.erf(x) * special.gammaln(x + 1) + special.expit(-x)
    b = special.j0(x) + special.digamma(x)
    c = special.logsumexp(x)
    return a, b, c, special.softmax(x)


@program(x=normal(100))
def stft_manual(x: Any) -> Any:
    n, hop = 16, 8
    w = cp.hanning(n)
    idx = cp.arange(n)[None, :] + hop * cp.arange((x.size - n) // hop + 1)[:, None]
    S = cp.fft.rfft(x[idx] * w, axis=1)
    return 20 * cp.log10(cp.abs(S) + 1e-10)


@program(a=uniform(100, dtype="f4"), b=uniform(100, dtype="f4"))
def rawkernel(a: Any, b: Any) -> Any:
    a = a * 2 + 1
    y = cp.empty_like(a)
    n = a.size
    kernels.added(((n + 31) // 32,), (32,), (a, b, y, n))
    return y.sum(), y * 0.5


@program(x=normal(8, 6))
def reduction_kernel(x: Any) -> Any:
    return x / kernels.length(x, axis=1, keepdims=True), kernels.length(x * 2)


@program(x=normal(8, 6), y=normal(6))
def elementwise_kernel(x: Any, y: Any) -> Any:
    return cp.sqrt(kernels.squared(x, y) + 1).sum(axis=0)


@program(x=normal(8, 6), y=normal(8, 6))
def fuse_calls(x: Any, y: Any) -> Any:
    return (kernels.fused(x * 2, y) + 1) * x


@program(x=normal(40))
def streams(x: Any) -> Any:
    s = cp.cuda.Stream()
    with s:
        y = x * 2 + 1
        z = cp.sqrt(cp.abs(y))
    s.synchronize()
    return z.sum() + 1


@program(x=normal(40))
def device_context(x: Any) -> Any:
    with cp.cuda.Device(0):
        y = cp.asarray(x) * 2
        z = y.mean() + y
    cp.cuda.Stream.null.synchronize()
    return z


@program(x=normal(6, 7))
def xp_generic(x: Any) -> Any:
    xp = cp.get_array_module(x)

    def softmax(a: Any, axis: Any) -> Any:
        a = a - xp.max(a, axis=axis, keepdims=True)
        e = xp.exp(a)
        return e / xp.sum(e, axis=axis, keepdims=True)

    p = softmax(x, 1)
    h = -xp.sum(p * xp.log(p + 1e-12), axis=1)
    if xp is not np:
        h = xp.asnumpy(h)
    return h.tolist()


@program(x=normal(6, 7), g=None)
def to_cpu(x: Any, g: Any) -> Any:
    y = (x * 2).sum(axis=0)
    a = cp.asnumpy(y)
    b = y.get()
    return a + b, float(y[0]), int(cp.argmax(y)), y.max().item(), np.asarray(y.get()).mean()


@program(n=20)
def randoms(n: Any) -> Any:
    cp.random.seed(0)
    x = cp.random.randn(n) * 2 + 1
    i = cp.random.permutation(n)
    c = cp.random.choice(n, 5)
    u = cp.random.uniform(-1, 1, size=(n, 2)).astype(cp.float32)
    return x[i][c], u.sum(), cp.random.normal(0, 1, (3,))


@program(x=normal(50), y=normal(50))
def lstsq_fit(x: Any, y: Any) -> Any:
    A = cp.stack([x, cp.ones_like(x)], axis=1)
    coef, *_ = cp.linalg.lstsq(A, y, rcond=None)
    return A @ coef - y, coef


@program(x=normal(50), y=normal(50))
def polyfit_(x: Any, y: Any) -> Any:
    c = cp.polyfit(x, y, 2)
    return cp.polyval(c, x) - y


@program(x=normal(9, 3), y=normal(7, 3))
def cdist(x: Any, y: Any) -> Any:
    d2 = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T
    d = cp.sqrt(cp.maximum(d2, 0))
    nn = d.argmin(axis=1)
    return d, nn, y[nn], cp.bincount(nn, minlength=7)


@program(u=uniform(16, 16, dtype="f4"), v=uniform(16, 16, dtype="f4"), n=3)
def gray_scott(u: Any, v: Any, n: Any) -> Any:
    def lap(z: Any) -> Any:
        return cp.roll(z, 1, 0) + cp.roll(z, -1, 0) + cp.roll(z, 1, 1) + cp.roll(z, -1, 1) - 4 * z

    for _ in range(n):
        uvv = u * v * v
        u = u + (0.16 * lap(u) - uvv + 0.06 * (1 - u))
        v = v + (0.08 * lap(v) + uvv - (0.06 + 0.062) * v)
    return u, v


@program(x=normal(64), n=3)
def split_step(x: Any, n: Any) -> Any:
    N = x.size
    psi = cp.exp(-(x**2) + 1j * x)
    k = 2 * cp.pi * cp.fft.fftfreq(N, d=0.1)
    V = 0.5 * x**2
    expV = cp.exp(-0.5j * V * 0.01)
    expK = cp.exp(-0.5j * k**2 * 0.01)
    for _ in range(n):
        psi = expV * cp.fft.ifft(expK * cp.fft.fft(expV * psi))
    norm = cp.sqrt(cp.sum(cp.abs(psi) ** 2) * 0.1)
    return psi / norm


@program(x=normal(50), y=normal(50))
def branch_on_sum(x: Any, y: Any) -> Any:
    z = x + y
    if float(x.sum()) > 0:
        z *= 2
        z += y
    else:
        z -= y * 3
    return z * z


@program(img=uniform(20, 20))
def label_threshold(img: Any) -> Any:
    t = img.mean() + 0.5 * img.std()
    mask = img > t
    lab, n = ndi.label(mask)
    return lab, n, ndi.sum(img, lab, cp.arange(1, 3))


@program(img=uniform(20, 20))
def morphology(img: Any) -> Any:
    m = img > 0.4
    return (
        ndi.binary_erosion(m),
        ndi.binary_dilation(m, iterations=2, brute_force=True),
        ndi.zoom(img, 2, order=1),
        ndi.rotate(img, 30, reshape=False, order=1),
        ndi.map_coordinates(img, cp.indices((5, 5)) * 1.5, order=1),
    )


@program(x=normal(30, 4), y=normal(30))
def ridge(x: Any, y: Any) -> Any:
    A = x.T @ x + 0.1 * cp.eye(4)
    w = cp.linalg.solve(A, x.T @ y)
    r = y - x @ w
    r2 = 1 - (r @ r) / ((y - y.mean()) ** 2).sum()
    return w, float(r2)


@program(x=normal(30))
def moving(x: Any) -> Any:
    c = cp.cumsum(cp.concatenate([cp.zeros(1), x]))
    ma = (c[5:] - c[:-5]) / 5
    w = cp.lib.stride_tricks.sliding_window_view(x, 5)
    return ma, w.std(axis=1), w.max(-1)


@program(x=normal(2, 3, 6, 6, dtype="f4"), weights=normal(4, 3, 3, 3, dtype="f4"), stride=1)
def conv_im2col(x: Any, weights: Any, stride: Any) -> Any:
    count, channels, height, width = x.shape
    rows = int((height + 2 - 3) / stride + 1)
    columns = int((width + 2 - 3) / stride + 1)
    i0 = cp.tile(cp.repeat(cp.arange(3), 3), channels)
    i1 = stride * cp.repeat(cp.arange(rows), columns)
    j0 = cp.tile(cp.arange(3), 3 * channels)
    j1 = stride * cp.tile(cp.arange(columns), rows)
    i, j = i0.reshape(-1, 1) + i1.reshape(1, -1), j0.reshape(-1, 1) + j1.reshape(1, -1)
    k = cp.repeat(cp.arange(channels), 9).reshape(-1, 1)
    padded = cp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="constant")
    cols = padded[:, k, i, j].transpose(1, 2, 0).reshape(channels * 9, -1)
    flat = weights.reshape(4, -1)
    out = (flat @ cols).reshape(4, rows, columns, count).transpose(3, 0, 1, 2)
    back = (flat.T @ (flat @ cols)).reshape(channels * 9, -1, count).transpose(2, 0, 1)
    grad = cp.zeros_like(padded)
    cp.add.at(grad, (slice(None), k, i, j), back)
    return out, grad[:, :, 1:-1, 1:-1]


@program(pop=whole(12, 10, low=0, high=2), n=3)
def genetic(pop: Any, n: Any) -> Any:
    cp.random.seed(2)
    for _ in range(n):
        fit = (pop * cp.arange(1, 11)).sum(axis=1)
        order = cp.argsort(-fit)
        parents = pop[order[:6]]
        a = parents[cp.random.randint(0, 6, 6)]
        b = parents[cp.random.randint(0, 6, 6)]
        kids = cp.where(cp.random.rand(6, 10) < 0.5, a, b)
        kids = cp.where(cp.random.rand(6, 10) < 0.05, 1 - kids, kids)
        pop = cp.concatenate([parents, kids])
    return pop, int(fit.max())


class Fields:
    """The fields of a simulation, which its steps change in place."""

    def __init__(self, n: Any) -> None:
        self.Ez, self.Hx, self.Hy, self.t = cp.zeros((n, n)), cp.zeros((n, n)), cp.zeros((n, n)), 0

    def step(self) -> None:
        """One step of time."""
        Ez, Hx, Hy = self.Ez, self.Hx, self.Hy
        self.Hx[:, :-1] -= 0.5 * (Ez[:, 1:] - Ez[:, :-1])
        self.Hy[:-1, :] += 0.5 * (Ez[1:, :] - Ez[:-1, :])
        self.Ez[1:, 1:] += 0.5 * (Hy[1:, 1:] - Hy[:-1, 1:] - Hx[1:, 1:] + Hx[1:, :-1])
        self.Ez[5, 5] += math.exp(-(((self.t - 8) / 3) ** 2))
        self.t += 1


@program(n=12)
def fdtd(n: Any) -> Any:
    fields = Fields(n)
    for _ in range(4):
        fields.step()
    return fields.Ez, fields.t, float(cp.abs(fields.Ez).max())


@program(sino=uniform(6, 16))
def filtered_back_projection(sino: Any) -> Any:
    n_angles, width = sino.shape
    ramp = cp.abs(cp.fft.fftfreq(width)).reshape(1, -1)
    filtered = cp.real(cp.fft.ifft(cp.fft.fft(sino, axis=1) * ramp, axis=1))
    image = cp.zeros((width, width))
    centre = width // 2
    Y, X = cp.mgrid[:width, :width] - centre
    for k in range(n_angles):
        theta = np.pi * k / n_angles
        t = X * np.cos(theta) + Y * np.sin(theta) + centre
        lines = cp.interp(t.ravel(), cp.arange(width), filtered[k], left=0, right=0)
        image += lines.reshape(width, width)
    return image * np.pi / (2 * n_angles)


@program(img=uniform(16, 14, low=0.1), psf=uniform(16, 14), n=3)
def richardson_lucy(img: Any, psf: Any, n: Any) -> Any:
    psf = psf / psf.sum()
    otf = cp.fft.rfft2(cp.fft.ifftshift(psf))
    found = cp.full_like(img, 0.5)
    for _ in range(n):
        blurred = cp.fft.irfft2(cp.fft.rfft2(found) * otf, s=img.shape)
        ratio = img / cp.maximum(blurred, 1e-12)
        found *= cp.fft.irfft2(cp.fft.rfft2(ratio) * cp.conj(otf), s=img.shape)
    return found


@program(X=normal(32, 5), y=whole(32, low=0, high=2), epochs=2)
def svm(X: Any, y: Any, epochs: Any) -> Any:
    cp.random.seed(0)
    y = y * 2 - 1
    w, b = cp.zeros(5), 0.0
    for _ in range(epochs):
        order = cp.random.permutation(len(X))
        for start in range(0, len(X), 8):
            batch = order[start : start + 8]
            xb, yb = X[batch], y[batch]
            misses = yb * (xb @ w + b) < 1
            w = w - 0.1 * (0.01 * w - (yb * misses) @ xb / len(xb))
            b = b + 0.1 * (yb * misses).mean()
    return w, float((cp.sign(X @ w + b) == y).mean())


@program(img=uniform(16, 16))
def canny(img: Any) -> Any:
    smooth = ndi.gaussian_filter(img, 1.0)
    gx, gy = ndi.sobel(smooth, axis=1), ndi.sobel(smooth, axis=0)
    mag, angle = cp.hypot(gx, gy), cp.rad2deg(cp.arctan2(gy, gx)) % 180
    inner, a = mag[1:-1, 1:-1], angle[1:-1, 1:-1]
    across, down = (a < 22.5) | (a >= 157.5), (a >= 67.5) & (a < 112.5)
    one = cp.where(across, mag[1:-1, 2:], cp.where(down, mag[2:, 1:-1], mag[2:, :-2]))
    other = cp.where(across, mag[1:-1, :-2], cp.where(down, mag[:-2, 1:-1], mag[:-2, 2:]))
    thin = cp.zeros_like(mag)
    thin[1:-1, 1:-1] = cp.where((inner >= one) & (inner >= other), inner, 0)
    strong = thin >= thin.max() * 0.3
    labels, _ = ndi.label(strong | (thin >= thin.max() * 0.1), structure=[[1, 1, 1]] * 3)
    return cp.isin(labels, cp.unique(labels[strong])) & (labels > 0)


@program(c=normal(4), x=uniform(30, dtype="f4"))
def calibration(c: Any, x: Any) -> Any:
    return cp.polyval(c, x) * 2, x.astype(cp.result_type(x, cp.float32)) + 1

"""Everyday code of CuPy's users: one function each, whose parameters are named after the arrays that it is given."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

cp: Any = np  # CuPy, where it is there

RNG = np.random.default_rng(2026)
GIVEN: dict[str, Any] = {
    "x": RNG.normal(size=(5, 6)),
    "y": RNG.normal(size=(5, 6)),
    "f": RNG.normal(size=(5, 6)).astype("f4"),
    "stack": RNG.normal(size=(3, 5, 6)),
    "image": RNG.uniform(size=(9, 8)),
    "square": RNG.normal(size=(6, 6)),
    "v": RNG.normal(size=6),
    "w": RNG.normal(size=6),
    "u": RNG.normal(size=40),
    "points": RNG.normal(size=(12, 3)),
    "centres": RNG.normal(size=(4, 3)),
    "labels": RNG.integers(0, 4, 12),
    "n": RNG.integers(-9, 9, (5, 6)),
    "h": RNG.integers(0, 7, 40).astype("i4"),
    "i": np.array([0, 3, 1, 3]),
    "j": np.array([5, 0, 2, 2]),
    "b": RNG.normal(size=(5, 6)) > 0,
    "rows": np.array([True, False, True, True, False]),
    "z": RNG.normal(size=(5, 6)) + 1j * RNG.normal(size=(5, 6)),
    "s": 0.25,
    "k": 3,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def everyday(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a function on the list."""
    FUNCTIONS[function.__name__] = function
    return function


def expression(name: str, function: Callable[..., Any]) -> None:
    """Put an expression on the list."""
    assert name not in FUNCTIONS
    function.__name__ = name
    FUNCTIONS[name] = function


# Elements by masks and places

expression("by_mask", lambda x: x[x > 0] * 2)
expression("by_mask_sum", lambda x, y: x[y > 0].sum())
expression("rows_by_mask", lambda x, rows: x[rows] + 1)
expression("columns_by_mask", lambda x, v: x[:, v > 0] + 1)
expression("by_places", lambda x, i: x[i] * 2 + 1)
expression("columns_by_places", lambda x, j: x[:, j] * 2)
expression("by_two_places", lambda x, i, j: x[i, j] + 1)
expression("by_place_and_number", lambda x, j, k: x[k, j] * 2)
expression("outer_places", lambda x, i, j: x[i[:, None], j] + 1)
expression("rows_of_range", lambda points, labels: points[cp.arange(12), labels % 3] * 2)
expression("by_list", lambda x: x[[0, 2]] + 1)
expression("take_axis", lambda x, j: cp.take(x, j, axis=1) * 2)
expression("take_along", lambda x: cp.take_along_axis(x, cp.argsort(x, axis=-1), axis=-1) + 1)
expression("reversed_rows", lambda x: x[::-1] + x[:, ::-1])
expression("one_hot_by_eye", lambda labels: cp.eye(4)[labels] * 2)
expression("one_hot_compared", lambda labels: (labels[:, None] == cp.arange(4)).astype(cp.float32))
expression("choose", lambda i, x: cp.choose(i % 5, x[:, :4]) + 1)
expression("compress", lambda x, rows: cp.compress(rows, x, axis=0) + 1)
expression("extract", lambda x: cp.extract(x > 0, x) * 2)


@everyday
def store_number_by_places(x: Any, i: Any) -> Any:
    y = x * 2
    y[i] = 0
    return y + 1


@everyday
def store_rows_by_places(x: Any, y: Any, i: Any) -> Any:
    z = x * 2
    z[i] = y[i] + 1
    return z


@everyday
def add_by_places(v: Any, i: Any) -> Any:
    y = v.copy()
    y[i] += 1
    return y * 2


@everyday
def store_by_two_places(x: Any, i: Any, j: Any) -> Any:
    y = x.copy()
    y[i, j] = 1.0
    return y * 2


@everyday
def store_by_range_and_labels(labels: Any) -> Any:
    y = cp.zeros((12, 4))
    y[cp.arange(12), labels] = 1
    return y * 2


@everyday
def store_number_by_mask(x: Any) -> Any:
    y = x * 2
    y[y < 0] = 0
    return y


@everyday
def store_array_by_mask(x: Any, y: Any) -> Any:
    z = x * 1.0
    z[z < 0] = y[z < 0]
    return z + 1


@everyday
def scale_by_mask(x: Any, s: Any) -> Any:
    y = x * 2
    y[y < 0] *= s
    return y + 1


@everyday
def add_at(v: Any, i: Any) -> Any:
    y = cp.zeros(6)
    cp.add.at(y, i, v[:4])
    return y * 2


@everyday
def put(v: Any, i: Any) -> Any:
    y = v * 2
    y.put(i, 1.0)
    return y + 1


@everyday
def fill(x: Any) -> Any:
    y = cp.empty_like(x)
    y.fill(3)
    y[0] = x[1]
    return y


@everyday
def fill_diagonal(square: Any) -> Any:
    y = square * 2
    cp.fill_diagonal(y, 0)
    return y + 1


@everyday
def copyto(x: Any, b: Any) -> Any:
    y = x * 2
    cp.copyto(y, 0, where=b)
    return y


@everyday
def putmask(x: Any, b: Any) -> Any:
    y = x * 2
    cp.putmask(y, b, 1.0)
    return y + 1


# Joining and shaping

expression("concatenate", lambda x, y: cp.concatenate([x * 2, y], axis=0) + 1)
expression("concatenate_axis", lambda x, y: cp.concatenate((x, y[:, :2]), axis=1) * 2)
expression("stack_rows", lambda x, y: cp.stack([x, y]) * 2)
expression("stack_last", lambda x, y: cp.stack([x, y], axis=-1) * 2)
expression("vstack", lambda v, w: cp.vstack([v, w]) + 1)
expression("hstack", lambda v, w: cp.hstack([v, w]) + 1)
expression("column_stack", lambda v, w: cp.column_stack([v, w]) + 1)
expression("dstack", lambda x, y: cp.dstack((x, y)) + 1)
expression("append", lambda v: cp.append(v, v[:1]) * 2)
expression("split", lambda x: [one * 2 for one in cp.split(x, 3, axis=1)])
expression("array_split", lambda v: cp.array_split(v, 4)[1] * 2)
expression("expand_dims", lambda x: cp.expand_dims(x, 1) * 2)
expression("squeeze", lambda x: x[:, :1].squeeze() * 2 + cp.squeeze(x[:, :1], axis=1))
expression("broadcast_to", lambda v: cp.broadcast_to(v, (5, 6)) * 2)
expression("repeat", lambda v: cp.repeat(v, 2) + 1)
expression("repeat_axis", lambda x: x.repeat(2, axis=0) + 1)
expression("tile", lambda v: cp.tile(v, (3, 1)) * 2)
expression("swapaxes", lambda stack: stack.swapaxes(0, 1) + cp.swapaxes(stack, 0, 1))
expression("moveaxis", lambda stack: cp.moveaxis(stack, 0, -1) * 2)
expression("rollaxis", lambda stack: cp.rollaxis(stack, 2) * 2)
expression("transposed", lambda x: cp.transpose(x) * 2)
expression("flipped", lambda x: cp.flip(x, axis=0) + cp.flipud(x) + cp.fliplr(x))
expression("rot90", lambda square: cp.rot90(square) + 1)
expression("rolled", lambda v: cp.roll(v, 1) - v)
expression("rolled_axis", lambda image: cp.roll(image, 1, axis=0) + cp.roll(image, -1, axis=1))
expression("padded", lambda x: cp.pad(x, 1) * 2)
expression("padded_edge", lambda image: cp.pad(image, ((1, 1), (2, 2)), mode="edge") * 2)
expression("padded_reflect", lambda image: cp.pad(image, 1, mode="reflect") * 2)
expression("flattened", lambda x: x.flatten() * 2)
expression("raveled", lambda x: cp.ravel(x.T) * 2)
expression("reshaped", lambda x: cp.reshape(x, (-1, 2)) * 2)
expression("atleast_2d", lambda v: cp.atleast_2d(v) * 2)
expression("differences", lambda v: cp.diff(v) * 2)
expression("differences_axis", lambda x: cp.diff(x, axis=0) + 1)
expression("diagonal", lambda square: cp.diag(square) * 2)
expression("diagonal_matrix", lambda v: cp.diag(v) + 1)
expression("diagonal_view", lambda square: square.diagonal().sum())
expression("lower_triangle", lambda square: cp.tril(square) + cp.triu(square, 1))
expression("trace_of", lambda square: cp.trace(square) * 2)
expression("as_strided", lambda v: cp.lib.stride_tricks.as_strided(v, (4, 3), (8, 8)).sum(axis=1))
expression("sliding", lambda v: cp.lib.stride_tricks.sliding_window_view(v, 3).mean(axis=-1))
expression("contiguous", lambda x: cp.ascontiguousarray(x.T) * 2)
expression("fortran", lambda x: cp.asfortranarray(x) * 2)
expression("order_f", lambda x: cp.array(x, order="F") * 2)
expression("real_and_imaginary", lambda z: z.real**2 + z.imag**2)
expression("real_functions", lambda z: cp.real(z) + cp.imag(z))
expression("conjugate", lambda z: (z * z.conj()).real)
expression("angle", lambda z: cp.angle(z) + 1)
expression("view_as", lambda f: f.view(cp.int32) + 1)

# Making

expression("eye", lambda square: square + cp.eye(6))
expression("eye_shift", lambda: cp.eye(4, k=1) * 2)
expression("identity", lambda: cp.identity(4, dtype="f4") + 1)
expression("meshgrid", lambda v, w: [a * 2 for a in cp.meshgrid(v, w)])
expression("meshgrid_ij", lambda v, w: [a + b for a, b in [cp.meshgrid(v, w, indexing="ij")]])
expression("mgrid", lambda image: cp.mgrid[0:9, 0:8][0] * image)
expression("ogrid", lambda image: (cp.ogrid[0:9, 0:8][0] + cp.ogrid[0:9, 0:8][1]) * image)
expression("indices", lambda image: cp.indices(image.shape)[0] * image)
expression("full_like", lambda x: cp.full_like(x, 2.5) * x)
expression("full_large", lambda x, s: cp.full(x.shape, -1e30) + cp.full((5, 6), s))
expression("logspace", lambda: cp.logspace(0, 2, 5) + 1)
expression("arange_float", lambda s: cp.arange(0, 2, s) * 2)
expression("from_list", lambda v: v[:3] * cp.array([1.0, 2.0, 3.0]))
expression(
    "from_nested", lambda image: image[:3, :3] * cp.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
)
expression("asarray_same", lambda x: cp.asarray(x) * 2)
expression("array_copy", lambda x: cp.array(x) * 2)
expression("asarray_number", lambda x: x * cp.asarray(2.0))
expression("array_dtype", lambda x: cp.asarray(x, dtype=cp.float32) * 2)
expression("zeros_by_dtype", lambda x: cp.zeros(x.shape, dtype=x.dtype) + cp.zeros((5, 1), x.dtype))
expression("zeros_order", lambda: cp.zeros((3, 4), order="F") + 1)
expression("tri", lambda: cp.tri(4) * 2)
expression("vander", lambda v: cp.vander(v, 3) * 2)
expression("hanning", lambda v: v * cp.hanning(6))
expression("random", lambda x: x + cp.random.rand(5, 6) * 0)

# Elementwise

expression("clip", lambda x: cp.clip(x, -1, 1) * 2)
expression("clip_method", lambda x: x.clip(0, 1) + 1)
expression("clip_one_end", lambda x: cp.clip(x, 0, None) + 1)
expression("relu", lambda x: cp.maximum(x, 0) * 2)
expression("sigmoid", lambda x: 1 / (1 + cp.exp(-x)))
expression("gelu", lambda x: 0.5 * x * (1 + cp.tanh(cp.sqrt(2 / cp.pi) * (x + 0.044715 * x**3))))
expression("where_scalars", lambda x: cp.where(x > 0, 1.0, 0.0) * 2)
expression("where_negative", lambda x: cp.where(x > 0, x, -1e9))
expression("where_inf", lambda x: cp.where(x > 0, x, -cp.inf).max())
expression("select", lambda x: cp.select([x < -1, x > 1], [x * 2, x * 3], default=0.0))
expression("piecewise", lambda v: cp.piecewise(v, [v < 0, v >= 0], [-1, 1]))
expression("nan_to_num", lambda x: cp.nan_to_num(x / x) * 2)
expression("isclose", lambda x, y: cp.isclose(x, y) * 2)
expression("logical", lambda x, y: cp.logical_and(x > 0, y > 0) | ~(x > 1))
expression("sign_abs", lambda x: cp.sign(x) * cp.abs(x) ** 1.5)
expression("power_of_two", lambda x: 2.0**x + x**-1.0)
expression("integer_power", lambda n: n**2 + n**3)
expression("mod_floor", lambda n: n % 4 + n // 3)
expression("divmod", lambda n: cp.divmod(n, 3)[0] * 2)
expression("modf", lambda x: cp.modf(x)[0] * 2)
expression("round", lambda x: cp.round(x, 2) + x.round() + cp.around(x))
expression("floor_ceil", lambda x: cp.floor(x) + cp.ceil(x) + cp.rint(x))
expression("degrees", lambda x: cp.deg2rad(x) + cp.radians(x) + cp.hypot(x, x))
expression("sinc", lambda x: cp.sinc(x) + 1)
expression("log1p", lambda x: cp.log1p(cp.abs(x)) + cp.logaddexp(x, 0))
expression("mixed_types", lambda x, f, n: x * f + n)
expression("astype_fortran", lambda x: (x * 2).T.astype("f4") + 1)
expression("astype_copy", lambda x: x.astype(cp.float64, copy=False) * 2)
expression("number_type", lambda f, s: f * cp.float32(s) + cp.float32(2))
expression("with_out", lambda x, y: cp.maximum(x, y, out=cp.empty_like(x)) * 2)
expression("with_dtype", lambda x, f: cp.add(x, f, dtype="f4") + 1)
expression("interp", lambda u, v: cp.interp(u, cp.arange(6.0), v) * 2)
expression("convolve", lambda u: cp.convolve(u, cp.ones(3) / 3, mode="same") + 1)
expression("special_erf", lambda x: _special().erf(x) * 2)
expression("special_gamma", lambda x: _special().gammaln(cp.abs(x) + 1) * 2)
expression("unwrap", lambda u: cp.unwrap(u) + 1)


def _special() -> Any:
    return import_module("cupyx.scipy.special")


@everyday
def in_place_power(x: Any) -> Any:
    y = x * 2
    y **= 2
    return y


@everyday
def in_place_matmul(square: Any) -> Any:
    y = square * 2
    y @= square
    return y + 1


@everyday
def in_place_masked_and_sliced(x: Any, y: Any) -> Any:
    x = x.copy()
    x[1:-1] += 0.5 * (y[2:] - y[:-2])
    x[:, 0] = 0
    x[:, -1] = x[:, -2]
    x[0] = -1.5
    return x


@everyday
def ufunc_out_slices(x: Any, y: Any) -> Any:
    z = cp.zeros((5, 6))
    cp.multiply(x[:, :3], y[:, :3], out=z[:, :3])
    return z + 1


# Reductions and statistics

expression("sum_dtype", lambda f: f.sum(dtype=cp.float64) + cp.sum(f, axis=1, dtype="f8"))
expression("sum_out", lambda x: x.sum(axis=0, out=cp.empty(6)) * 2)
expression("nansum", lambda x: cp.nansum(x, axis=0) + cp.nansum(x))
expression("nanmean", lambda x: cp.nanmean(x, axis=0) * 2)
expression("nanmax", lambda x: cp.nanmax(x) + cp.nanmin(x))
expression("median", lambda x: cp.median(x) * 2)
expression("percentile", lambda u: cp.percentile(u, 90) + 1)
expression("quantile", lambda u: cp.quantile(u, 0.5) + 1)
expression("average", lambda v, w: cp.average(v, weights=cp.abs(w)) + 1)
expression("count_nonzero", lambda x: cp.count_nonzero(x > 0) * 2)
expression("ptp", lambda x: cp.ptp(x) + x.ptp() if hasattr(x, "ptp") else cp.ptp(x))
expression("all_close", lambda x, y: cp.allclose(x, y) | cp.allclose(x, x))
expression("array_equal", lambda x, y: cp.array_equal(x, y) | cp.array_equal(x, x))
expression("argmax_rows", lambda x: x.argmax(axis=1) * 2)
expression("argmax_gather", lambda x: x[cp.arange(5), cp.argmax(x, axis=1)] * 2)
expression("unravelled", lambda x: cp.unravel_index(cp.argmax(x), x.shape)[0] + 1)
expression("cumulative", lambda x: cp.cumsum(x, axis=1) + cp.cumprod(x, axis=0))
expression("cumulative_transposed", lambda x: cp.cumsum(x.T, axis=1) + 1)
expression("normalised", lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-8))
expression("min_max_scaled", lambda x: (x - x.min()) / (x.max() - x.min()))
expression("norm", lambda v: v / cp.linalg.norm(v))
expression("norm_axis", lambda points: points / cp.linalg.norm(points, axis=1, keepdims=True))
expression("norm_ord", lambda v: cp.linalg.norm(v, ord=1) + cp.linalg.norm(v, cp.inf))
expression("variance_two_axes", lambda stack: stack.var(axis=(1, 2), ddof=1) * 2)
expression("covariance", lambda x: cp.cov(x) * 2)
expression("correlation", lambda v, w: cp.corrcoef(v, w)[0, 1] * 2)
expression("histogram", lambda u: cp.histogram(u, bins=5)[0] * 2)
expression("bincount", lambda h: cp.bincount(h) * 2)
expression("bincount_minlength", lambda h, u: cp.bincount(h, weights=u, minlength=8) + 1)
expression("histogram2d", lambda u: cp.histogram2d(u.ravel(), u.ravel() * 2, bins=4)[0] + 1)
expression("digitize", lambda u: cp.digitize(u, cp.linspace(-2, 2, 5)) * 2)
expression("searchsorted", lambda u, v: cp.searchsorted(cp.sort(v), u) * 2)
expression("unique", lambda h: cp.unique(h) * 2)
expression("nonzero", lambda x: [one + 1 for one in cp.nonzero(x > 0)])
expression("flatnonzero", lambda x: cp.flatnonzero(x > 0) + 1)
expression("argwhere", lambda x: cp.argwhere(x > 0) + 1)
expression("where_one", lambda v: v[cp.where(v > 0)] * 2)
expression("any_all", lambda x: (x > 0).any(axis=0) & (x < 3).all(axis=0))
expression("gradient", lambda v: cp.gradient(v) * 2)
expression(
    "trapezoid", lambda v: cp.trapezoid(v) * 2 if hasattr(cp, "trapezoid") else cp.trapz(v) * 2
)
expression("in1d", lambda h: cp.isin(h, cp.array([1, 3])) * 2)
expression("ediff", lambda v: cp.ediff1d(v) * 2)

# Sorting

expression("sorted", lambda x: cp.sort(x, axis=0) + 1)
expression("sorted_rows", lambda x: cp.sort(x) + 1)
expression("sorted_flat", lambda x: cp.sort(x, axis=None) + 1)
expression("argsort_reversed", lambda v: v[cp.argsort(-v)] * 2)
expression("argsort_descending", lambda v: cp.argsort(v)[::-1] * 2)
expression("top_k", lambda v, k: v[cp.argsort(v)[-k:]] * 2)
expression("partition", lambda u: cp.partition(u, 5)[:5] + 1)
expression("argpartition", lambda u: u[cp.argpartition(u, 5)[:5]] + 1)
expression("lexsort", lambda v, w: cp.lexsort(cp.stack([v, w])) * 2)


@everyday
def sort_in_place(x: Any) -> Any:
    y = x * 2
    y.sort()
    return y + 1


# Products

expression("matmul_vector", lambda x, v: x @ v + 1)
expression("matmul_transposed", lambda x, y: x @ y.T + 1)
expression("matmul_integers", lambda n: (n @ n.T) + 1)
expression("matmul_mixed", lambda x, f: (x @ f.T) + 1)
expression("dot_function", lambda v, w: cp.dot(v, w) * 2)
expression("vdot", lambda v, w: cp.vdot(v, w) * 2)
expression("inner", lambda v, w: cp.inner(v, w) * 2)
expression("outer", lambda v, w: cp.outer(v, w) + 1)
expression("tensordot", lambda x, y: cp.tensordot(x, y, axes=([1], [1])) + 1)
expression("einsum_matmul", lambda x, y: cp.einsum("ij,kj->ik", x, y) + 1)
expression("einsum_rows", lambda x, y: cp.einsum("ij,ij->i", x, y) + 1)
expression("einsum_trace", lambda square: cp.einsum("ii->", square) + 1)
expression("kron", lambda v, w: cp.kron(v, w) + 1)
expression("cross", lambda points: cp.cross(points[:4], points[4:8]) + 1)
expression("matrix_power", lambda square: cp.linalg.matrix_power(square, 3) + 1)
expression("stacked_matmul", lambda stack, square: cp.matmul(stack, square) + 1)
expression("linear_layer", lambda x, square, v: cp.maximum(x @ square + v, 0))
expression("solve", lambda square, v: cp.linalg.solve(square, v) + 1)
expression("inverse", lambda square: cp.linalg.inv(square) + 1)
expression("determinant", lambda square: cp.linalg.det(square) + 1)
expression("cholesky", lambda square: cp.linalg.cholesky(square @ square.T + cp.eye(6)) + 1)
expression("eigh", lambda square: cp.linalg.eigh(square @ square.T)[0] + 1)
expression("svd", lambda x: cp.linalg.svd(x)[1] + 1)
expression("fft", lambda u: cp.abs(cp.fft.fft(u)) ** 2)
expression("rfft", lambda u: cp.fft.irfft(cp.fft.rfft(u) * 2, 40))
expression("fft2", lambda image: cp.fft.ifft2(cp.fft.fft2(image)).real)
expression("fftshift", lambda v: cp.fft.fftshift(v) * 2)
expression("fftfreq", lambda: cp.fft.fftfreq(8, d=0.1) * 2)

# What the host reads

expression("to_float", lambda x: float(x.sum()) * 2)
expression("to_int", lambda x: int(x.argmax()) + 1)
expression("to_item", lambda x: x.max().item() * 2)
expression("get", lambda x: (x * 2).get())
expression("asnumpy", lambda x: cp.asnumpy(x + 1))
expression("get_module", lambda x: cp.get_array_module(x).exp(x) + 1)


@everyday
def until_small(v: Any) -> Any:
    for _ in range(5):
        v = v * 0.5
        if cp.abs(v).max() < 0.1:
            break
    return v


@everyday
def if_any(x: Any, y: Any) -> Any:
    if (x > 100).any():
        return y
    return x * 2


@everyday
def scaled_by_the_host(x: Any) -> Any:
    total = float(cp.sqrt((x * x).sum()))
    return x / total + 1


# Programs


@everyday
def k_means_step(points: Any, centres: Any) -> Any:
    distances = cp.linalg.norm(points[:, None, :] - centres[None, :, :], axis=2)
    labels = cp.argmin(distances, axis=1)
    i = cp.arange(4)
    mask = labels == i[:, None]
    sums = cp.where(mask[:, :, None], points, 0).sum(axis=1)
    counts = cp.count_nonzero(mask, axis=1).reshape((4, 1))
    return labels, sums / cp.maximum(counts, 1)


@everyday
def k_means_by_masks(points: Any, labels: Any) -> Any:
    return cp.stack([points[labels == k].mean(axis=0) for k in range(4)])


def _below(d: Any) -> Any:
    """The normal distribution function, nearly."""
    a = 1 / (1 + 0.2316419 * cp.abs(d))
    polynomial = a * (0.31938153 + a * (-0.356563782 + a * 1.781477937))
    tail = cp.exp(-0.5 * d * d) * polynomial * 0.3989
    return cp.where(d > 0, 1 - tail, tail)


@everyday
def black_scholes(u: Any) -> Any:
    strike, years, rate, volatility = 1.0, 2.0, 0.03, 0.3
    price = cp.exp(u * 0.1)
    root = volatility * cp.sqrt(years)
    d1 = (cp.log(price / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root

    discount = cp.exp(-rate * years)
    return price * _below(d1) - strike * discount * _below(d2)


@everyday
def conjugate_gradient(square: Any, v: Any) -> Any:
    a = square @ square.T + cp.eye(6)
    x = cp.zeros(6)
    r = v - cp.dot(a, x)
    p = r
    rs = cp.dot(r, r)
    for _ in range(3):
        ap = cp.dot(a, p)
        alpha = rs / cp.dot(p, ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = cp.dot(r, r)
        p = r + (new / rs) * p
        rs = new
    return x


@everyday
def conjugate_gradient_tested(square: Any, v: Any) -> Any:
    a = square @ square.T + cp.eye(6)
    x, r = cp.zeros_like(v), v.copy()
    p, rs = r.copy(), r @ r
    for _ in range(10):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        if cp.sqrt(new) < 1e-6:
            break
        p = r + (new / rs) * p
        rs = new
    return x


@everyday
def gaussian_mixture_step(points: Any, centres: Any) -> Any:
    weights = cp.ones(4) / 4
    covariances = cp.ones((4, 3))
    log_det = cp.sum(cp.log(covariances), axis=1)
    precision = 1 / covariances
    log_prob = cp.dot(points**2, precision.T) - 2 * cp.dot(points, (centres * precision).T)
    log_prob = -0.5 * (
        3 * cp.log(2 * cp.pi) + log_prob + (centres**2 * precision).sum(axis=1) + log_det
    )
    weighted = log_prob + cp.log(weights)
    largest = weighted.max(axis=1, keepdims=True)
    norm = cp.log(cp.sum(cp.exp(weighted - largest), axis=1, keepdims=True)) + largest
    resp = cp.exp(weighted - norm)
    weight = resp.sum(axis=0)
    return cp.dot(resp.T, points) / weight[:, None], weight / 12, norm.mean()


@everyday
def distance_matrix(points: Any, centres: Any) -> Any:
    return cp.sqrt(((points[:, None] - centres[None]) ** 2).sum(-1))


@everyday
def distance_matrix_expanded(points: Any, centres: Any) -> Any:
    a = cp.sum(points**2, axis=1)[:, cp.newaxis]
    b = cp.sum(centres**2, axis=1)[cp.newaxis, :]
    return cp.sqrt(cp.maximum(a + b - 2 * cp.dot(points, centres.T), 0.0))


@everyday
def nearest_neighbours(points: Any, centres: Any, labels: Any) -> Any:
    distances = ((points[:, None] - centres[None]) ** 2).sum(axis=-1)
    nearest = cp.argsort(distances, axis=0)[:3]
    return labels[nearest] * 2


@everyday
def heat_step(image: Any) -> Any:
    new = image.copy()
    new[1:-1, 1:-1] = image[1:-1, 1:-1] + 0.1 * (
        image[2:, 1:-1]
        + image[:-2, 1:-1]
        + image[1:-1, 2:]
        + image[1:-1, :-2]
        - 4 * image[1:-1, 1:-1]
    )
    return new


@everyday
def laplacian_rolled(image: Any) -> Any:
    return (
        cp.roll(image, 1, 0)
        + cp.roll(image, -1, 0)
        + cp.roll(image, 1, 1)
        + cp.roll(image, -1, 1)
        - 4 * image
    )


@everyday
def gray_scott_step(image: Any) -> Any:
    u, v = image, image * 0.5
    for _ in range(2):
        lu = cp.roll(u, 1, axis=0) + cp.roll(u, -1, axis=0) - 2 * u
        lv = cp.roll(v, 1, axis=0) + cp.roll(v, -1, axis=0) - 2 * v
        uvv = u * v * v
        u = u + 0.16 * lu - uvv + 0.06 * (1 - u)
        v = v + 0.08 * lv + uvv - 0.122 * v
    return u, v


@everyday
def life_step(b: Any) -> Any:
    cells = b.astype(cp.int32)
    count = sum(
        cp.roll(cp.roll(cells, di, axis=0), dj, axis=1)
        for di in (-1, 0, 1)
        for dj in (-1, 0, 1)
        if (di, dj) != (0, 0)
    )
    return ((count == 3) | ((cells == 1) & (count == 2))).astype(cp.int32)


@everyday
def n_body_step(points: Any) -> Any:
    difference = points[None, :, :] - points[:, None, :]
    distance = (difference**2).sum(axis=-1) + 0.01
    inverse = distance**-1.5
    return (difference * inverse[:, :, None]).sum(axis=1)


@everyday
def monte_carlo_pi(u: Any, v: Any) -> Any:
    inside = (u**2 + cp.roll(u, 1) ** 2) <= 1.0
    return 4.0 * inside.sum() / u.size


@everyday
def asian_option(x: Any) -> Any:
    paths = cp.cumsum(0.01 + 0.2 * x, axis=1)
    prices = 100 * cp.exp(paths)
    payoff = cp.maximum(prices.mean(axis=1) - 100, 0)
    return cp.exp(-0.05) * payoff.mean(), payoff.std() / cp.sqrt(5)


@everyday
def softmax_cross_entropy(x: Any, labels: Any) -> Any:
    shifted = x - cp.max(x, axis=1, keepdims=True)
    log_sum = cp.log(cp.sum(cp.exp(shifted), axis=1))
    return -cp.mean(shifted[cp.arange(5), labels[:5]] - log_sum)


@everyday
def softmax_gradient(x: Any, labels: Any) -> Any:
    e = cp.exp(x - cp.max(x, axis=1, keepdims=True))
    p = e / cp.sum(e, axis=1, keepdims=True)
    p[cp.arange(5), labels[:5]] -= 1
    return p / 5


@everyday
def one_hot_scatter(labels: Any) -> Any:
    target = cp.zeros((labels.size, 4), dtype=cp.float32)
    target[cp.arange(labels.size), labels] = 1
    return target


@everyday
def layer_norm(f: Any) -> Any:
    mean = f.mean(axis=-1, keepdims=True)
    variance = f.var(axis=-1, keepdims=True)
    return (f - mean) / cp.sqrt(variance + 1e-5)


@everyday
def batch_norm(x: Any) -> Any:
    mean, variance = cp.mean(x, axis=0), cp.var(x, axis=0)
    out = (x - mean) / cp.sqrt(variance + 1e-5)
    running = 0.9 * cp.zeros(6) + 0.1 * mean
    return out, running


@everyday
def two_layers(x: Any, square: Any, v: Any, w: Any) -> Any:
    hidden = cp.tanh(x.dot(square) + v)
    return 1 / (1 + cp.exp(-(hidden.dot(square.T) + w)))


@everyday
def attention(x: Any, y: Any) -> Any:
    scores = x @ y.T / cp.sqrt(6)
    scores = cp.where(cp.tril(cp.ones((5, 5), dtype=bool)), scores, -1e9)
    weights = cp.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ y


@everyday
def dropout_given(x: Any, y: Any) -> Any:
    mask = (y > 0.3) / 0.7
    return x * mask


@everyday
def adam_step(x: Any, y: Any) -> Any:
    m, v = cp.zeros_like(x), cp.zeros_like(x)
    m = 0.9 * m + 0.1 * y
    v = 0.999 * v + 0.001 * y**2
    return x - 0.01 * (m / (1 - 0.9)) / (cp.sqrt(v / (1 - 0.999)) + 1e-8)


@everyday
def max_pool(image: Any) -> Any:
    return image[:8].reshape(4, 2, 4, 2).max(axis=(1, 3)) * 2


@everyday
def sobel(image: Any) -> Any:
    p = cp.pad(image, 1, mode="edge")
    gx = p[:-2, 2:] - p[:-2, :-2] + 2 * (p[1:-1, 2:] - p[1:-1, :-2]) + p[2:, 2:] - p[2:, :-2]
    gy = p[2:, :-2] - p[:-2, :-2] + 2 * (p[2:, 1:-1] - p[:-2, 1:-1]) + p[2:, 2:] - p[:-2, 2:]
    return cp.hypot(gx, gy)


@everyday
def box_filter(image: Any) -> Any:
    total = cp.cumsum(cp.cumsum(image, axis=0), axis=1)
    padded = cp.pad(total, ((1, 0), (1, 0)))
    return padded[3:, 3:] - padded[:-3, 3:] - padded[3:, :-3] + padded[:-3, :-3]


@everyday
def threshold(image: Any) -> Any:
    level = image.mean() + image.std()
    return cp.where(image > level, 255, 0).astype(cp.uint8)


@everyday
def gamma_correction(image: Any) -> Any:
    return (cp.clip(image, 0, 1) ** (1 / 2.2) * 255).astype(cp.uint8)


@everyday
def equalise(image: Any) -> Any:
    levels = (image * 7).astype(cp.int32)
    counts = cp.bincount(levels.ravel(), minlength=8)
    cdf = cp.cumsum(counts) / image.size
    return cdf[levels] * 255


@everyday
def rgb_to_grey(points: Any) -> Any:
    return cp.dot(points, cp.array([0.299, 0.587, 0.114]))


@everyday
def moving_average_concatenated(u: Any) -> Any:
    total = cp.concatenate((cp.zeros(1), cp.cumsum(u)))
    return (total[5:] - total[:-5]) / 5


@everyday
def spectrum(u: Any) -> Any:
    window = 0.5 - 0.5 * cp.cos(2 * cp.pi * cp.arange(40) / 39)
    return cp.abs(cp.fft.rfft(u * window)) ** 2 / 40


@everyday
def lennard_jones(points: Any) -> Any:
    i, j = cp.triu_indices(12, k=1)
    d = points[i] - points[j]
    r2 = (d**2).sum(axis=1)
    inverse = 1 / r2**3
    return (4 * (inverse**2 - inverse)).sum()


@everyday
def periodic(points: Any) -> Any:
    d = points[:, None] - points
    d -= 2.0 * cp.round(d / 2.0)
    return cp.sqrt((d**2).sum(axis=-1)).sum()


@everyday
def wave_step(u: Any) -> Any:
    before, now = u, u * 0.9
    after = cp.zeros_like(now)
    after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] - 2 * now[1:-1] + now[:-2])
    after[0] = after[-1] = 0
    return after


@everyday
def mandelbrot() -> Any:
    y, x = cp.ogrid[-1.4:1.4:9j, -2:0.8:11j]
    c = x + y * 1j
    z = c
    count = cp.zeros(c.shape, dtype=cp.int32)
    for _ in range(4):
        z = z**2 + c
        inside = abs(z) < 2
        count += inside
    return count


@everyday
def jacobi_iteration(square: Any, v: Any) -> Any:
    d = cp.diag(square) + 10
    r = square - cp.diagflat(cp.diag(square))
    x = cp.zeros_like(v)
    for _ in range(3):
        x = (v - cp.dot(r, x)) / d
    return x


@everyday
def power_iteration(square: Any) -> Any:
    a = square @ square.T
    v = cp.ones(6)
    for _ in range(3):
        v = a @ v
        v /= cp.linalg.norm(v)
    return v, v @ a @ v


@everyday
def linear_regression(x: Any, y: Any) -> Any:
    design = cp.concatenate([cp.ones((5, 1)), x[:, :2]], axis=1)
    gram = design.T @ design
    return gram, design.T @ y[:, 0]


@everyday
def logistic_gradient(x: Any, v: Any, rows: Any) -> Any:
    p = 1 / (1 + cp.exp(-x @ v))
    error = p - rows
    loss = -cp.mean(cp.where(rows, cp.log(p), cp.log(1 - p)))
    return x.T @ error / len(rows), loss


@everyday
def accuracy(x: Any, labels: Any) -> Any:
    return (cp.argmax(x[:, :4], axis=1) == labels[:5]).mean()


@everyday
def confusion(labels: Any, h: Any) -> Any:
    return cp.bincount(labels * 4 + h[:12] % 4, minlength=16).reshape(4, 4) + 1


@everyday
def z_scores(u: Any) -> Any:
    deviation = cp.abs(u - cp.median(u))
    return u[deviation < 2 * cp.median(deviation)]


@everyday
def group_means(points: Any, labels: Any) -> Any:
    counts = cp.bincount(labels, minlength=4)
    sums = cp.stack(
        [cp.bincount(labels, weights=points[:, d], minlength=4) for d in range(3)], axis=1
    )
    return sums / counts[:, None]


@everyday
def page_rank(square: Any) -> Any:
    links = (square > 0).astype(cp.float64)
    links /= cp.maximum(links.sum(axis=0), 1)
    rank = cp.full(6, 1 / 6)
    for _ in range(3):
        rank = 0.85 * links @ rank + 0.15 / 6
    return rank


def _slope(y: Any) -> Any:
    """Of three oscillators."""
    return cp.stack((y[1], -y[0], y[3], -y[2], y[5], -y[4]))


@everyday
def runge_kutta(v: Any) -> Any:
    k1 = _slope(v)
    k2 = _slope(v + 0.05 * k1)
    return v + 0.05 * (k1 + k2)


@everyday
def particle_bounce(points: Any) -> Any:
    x, v = points.copy(), points * 0.1
    x += v
    hit = cp.abs(x) > 1
    v[hit] *= -1
    x = cp.clip(x, -1, 1)
    return x, v


@everyday
def quantised(f: Any) -> Any:
    scale = cp.abs(f).max() / 127
    return cp.clip(cp.round(f / scale), -127, 127).astype(cp.int8), scale


@everyday
def entropy(u: Any) -> Any:
    p = cp.abs(u) / cp.abs(u).sum()
    return -(p * cp.log2(p + 1e-12)).sum()


@everyday
def huber(x: Any, y: Any) -> Any:
    e = cp.abs(x - y)
    return cp.mean(cp.where(e < 1, 0.5 * e**2, e - 0.5))


@everyday
def cosine_similarity(points: Any, centres: Any) -> Any:
    a = points / cp.linalg.norm(points, axis=1, keepdims=True)
    b = centres / cp.linalg.norm(centres, axis=1)[:, None]
    return a @ b.T


@everyday
def rotation(points: Any, s: Any) -> Any:
    c, sin = cp.cos(s), cp.sin(s)
    turn = cp.eye(3)
    turn[0, 0], turn[0, 1], turn[1, 0], turn[1, 1] = c, -sin, sin, c
    return points @ turn.T


@everyday
def fitted(u: Any) -> Any:
    t = cp.linspace(0, 1, 40)
    return cp.polyval(cp.polyfit(t, u, 2), t), cp.polyfit(t, u, 1, rcond=1e-9)


@everyday
def norms(square: Any, v: Any) -> Any:
    norm = cp.linalg.norm
    return norm(square, 2) * 2, norm(square, -2), norm(square, "nuc"), norm(square, 1), norm(v, 3)


@everyday
def taken_by_number(x: Any, v: Any, k: Any) -> Any:
    return x.take(k, axis=0) + v, cp.take(x, -1, axis=1) * 2, v.take(k), v.take(indices=0, axis=-1)


@everyday
def asian_option_of_a_seed(k: Any) -> Any:
    rng, steps = cp.random.default_rng(7), 20
    walk = cp.cumsum(0.01 + 0.2 * rng.standard_normal((8 * k, steps)), axis=1)
    pays = cp.maximum(100 * cp.exp(walk).mean(axis=1) - 100, 0)
    return cp.exp(cp.float64(-0.05)) * pays.mean(), pays.std(), cp.sort(pays)


@everyday
def weights_made(x: Any) -> Any:
    state = cp.random.RandomState(3)
    w = state.randn(6, 2) * 0.1
    return cp.tanh(x @ w), cp.cumsum(w, axis=0)

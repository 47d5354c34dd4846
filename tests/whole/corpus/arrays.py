"""Small numeric programs as users write them: loops, indices, masks, helpers, in-place work."""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math

import numpy as np

from tests.whole.corpus.case import Corpus

CORPUS = Corpus()


def numbers(*shape, dtype="f8", seed=0):
    """Normal random numbers, whole ones for integers."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 20, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


@CORPUS.case(numbers(8), numbers(8, seed=1))
def axpy(x, y):
    return 2.5 * x + y


@CORPUS.case(numbers(6), 4)
def power_series(x, terms):
    total = np.zeros_like(x)
    term = np.ones_like(x)
    for n in range(terms):
        total += term
        term = term * x / (n + 1)
    return total


@CORPUS.case(numbers(5, 3))
def standardise(x):
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    return (x - mean) / deviation


@CORPUS.case(numbers(4, 6))
def softmax(x):
    shifted = x - x.max(axis=1, keepdims=True)
    weights = np.exp(shifted)
    return weights / weights.sum(axis=1, keepdims=True)


@CORPUS.case(numbers(3, 4), numbers(4, 2, seed=1), numbers(2, seed=2))
def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


@CORPUS.case(np.linspace(0, 1, 9), 5)
def heat(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@CORPUS.case(np.eye(5, dtype="i8"))
def life(board):
    count = sum(
        np.roll(np.roll(board, i, 0), j, 1)
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    )
    return ((count == 3) | ((board == 1) & (count == 2))).astype(board.dtype)


@CORPUS.case(2.0, 1e-9)
@CORPUS.case(np.array([2.0, 9.0, 16.0]), 1e-9)
def newton_root(value, tolerance):
    guess = value * 0.5
    steps = 0
    while np.max(np.abs(guess * guess - value)) > tolerance and steps < 20:
        guess = 0.5 * (guess + value / guess)
        steps += 1
    return guess, steps


@CORPUS.case(numbers(6, 2))
def pairwise_distances(points):
    difference = points[:, None, :] - points[None, :, :]
    return np.sqrt((difference**2).sum(-1))


@CORPUS.case(numbers(7), 3)
def moving_average(x, width):
    total = np.cumsum(np.concatenate([np.zeros(1), x]))
    return (total[width:] - total[:-width]) / width


@CORPUS.case(numbers(3, 3))
def normal_equations(a):
    b = a.sum(axis=1)
    return np.linalg.solve(a.T @ a + np.eye(3), a.T @ b)


@CORPUS.case(np.array([3.0, 1.0, 2.0]))
def bubble_sort(x):
    x = x.copy()
    for i in range(len(x)):
        for j in range(len(x) - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


@CORPUS.case(numbers(5))
def running_maximum(x):
    best = -np.inf
    found = []
    for value in x:
        best = max(best, value)
        found.append(best)
    return np.array(found), best


@CORPUS.case(numbers(4, dtype="i8"))
def collatz_lengths(x):
    lengths = np.zeros_like(x)
    for i, start in enumerate(x):
        value = int(start) + 1
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            lengths[i] += 1
    return lengths


@CORPUS.case(np.array([[4.0, 1.0], [1.0, 3.0]]))
def power_iteration(a):
    v = np.ones(len(a))
    for _ in range(8):
        v = a @ v
        v /= np.linalg.norm(v)
    return v, v @ a @ v


@CORPUS.case(numbers(6))
def clip_in_place(x):
    x[x < 0] = 0
    x[x > 1] = 1
    return x


@CORPUS.case(numbers(6))
def sign_by_hand(x):
    return np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0))


@CORPUS.case(numbers(4), numbers(4, seed=3))
def swap_halves(x, y):
    x[:2], y[2:] = y[2:].copy(), x[:2].copy()
    return x, y


@CORPUS.case(numbers(3, 3))
def transpose_in_place(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            a[i, j], a[j, i] = a[j, i], a[i, j]


@CORPUS.case(numbers(3, 4), numbers(4, 2, seed=1))
def matmul_by_loops(a, b):
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]
    return out


@CORPUS.case(numbers(10), 4)
def histogram(x, bins):
    edges = np.linspace(x.min(), x.max(), bins + 1)
    counts = [
        int(((x >= lo) & (x < hi)).sum()) for lo, hi in zip(edges[:-1], edges[1:], strict=True)
    ]
    counts[-1] += int((x == edges[-1]).sum())
    return counts, edges


@CORPUS.case(numbers(5), numbers(5, seed=1))
def correlation(x, y):
    dx, dy = x - x.mean(), y - y.mean()
    return (dx * dy).sum() / math.sqrt((dx * dx).sum() * (dy * dy).sum())


@CORPUS.case(numbers(4, dtype="f4"))
def mixed_precision(x):
    wide = x.astype("f8")
    return (x * 2).dtype.name, (wide * x).dtype.name, (x + np.float64(1)).dtype.name, x * wide


@CORPUS.case(numbers(3, dtype="i4"), numbers(3, dtype="u1", seed=1))
def integer_kinds(a, b):
    return a // 3, a % 3, a << 1, b + 1, a * b, -a, ~b, divmod(a, 4)


@CORPUS.case(np.array([True, False, True]), np.array([True, True, False]))
def logic(a, b):
    return a & b, a | b, a ^ b, ~a, a.any(), b.all(), np.logical_not(a), a.sum()


@CORPUS.case(numbers(2, 3, 4))
def axes(x):
    out = []
    for axis in range(x.ndim):
        out.append((x.sum(axis), x.max(axis=axis), np.moveaxis(x, axis, 0).shape))
    return out


@CORPUS.case(numbers(12))
def reshaping(x):
    y = x.reshape(3, 4)
    z = y.T.ravel()
    w = y[::2, 1::2]
    w[...] = 0
    return x, y, z, w, y.reshape(-1, 2)[1]


@CORPUS.case(numbers(5))
def writes_through_views(x):
    head = x[:3]
    tail = head[1:]
    tail += 10
    head[0] = tail[0]
    return x, head, tail


@CORPUS.case(numbers(6))
def overlapping(x):
    x[1:] = x[:-1]
    x[:-2] += x[2:]
    return x


@CORPUS.case(numbers(5, dtype="i8"), [3, 1, 1])
def fancy(x, places):
    picked = x[places]
    x[places] += 100
    return picked, x, x[np.array(places)[::-1]]


@CORPUS.case(numbers(3))
def zero_size(x):
    empty = x[:0]
    return empty, empty.sum(), empty * 2, empty.shape, len(empty), np.prod(empty)


@CORPUS.case(np.array(2.5))
def without_axes(x):
    y = x + 1
    x += 1
    return y, x, type(y).__name__, float(x), x.ndim, x[()]


@CORPUS.case(np.float64(1.5), np.float32(2), np.int8(3))
def scalars(a, b, c):
    return a + b, b + c, c + 1, a * c, a > b, -c, abs(b), round(a), int(c), float(b), divmod(a, 1)


@CORPUS.case(numbers(4) + 1j * numbers(4, seed=1))
def complex_numbers(z):
    return z.real, z.imag, abs(z), z.conj() * z, np.angle(z), z * 1j


@CORPUS.case(np.array([1.0, 0.0, -1.0]))
def warns(x):
    y = 1 / x
    z = np.sqrt(x)
    return y, z, np.log(x)


@CORPUS.case(np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
def cannot_broadcast(x, y):
    z = x * 2
    return z + y


@CORPUS.case(np.array([1.0, 2.0]), 5)
def index_error(x, i):
    x += 1
    return x[i]


@CORPUS.case(numbers(4))
def fills(x):
    a = np.empty_like(x)
    a.fill(3)
    b = np.full((2, 2), x[0])
    c = np.ones(3) * x[1]
    d = np.arange(4) + x
    return a, b, c, d, np.zeros((2, 0)), np.eye(2) * x[2]


@CORPUS.case([numbers(2), numbers(2, seed=1), numbers(2, seed=2)])
def list_of_arrays(parts):
    total = parts[0] * 0
    for part in parts:
        total += part
    parts.append(total)
    return np.stack(parts), np.concatenate(parts[1:])


@CORPUS.case(
    {"w": numbers(3), "b": numbers(3, seed=1)}, {"w": numbers(3, seed=2), "b": numbers(3, seed=3)}
)
def gradient_step(weights, gradients):
    for name in weights:
        weights[name] -= 0.1 * gradients[name]
    return sorted(weights), {name: value.sum() for name, value in weights.items()}


@CORPUS.case(numbers(3), (1, 2))
def unpacking(x, pair):
    first, *rest = x
    low, high = pair
    (a, b), c = (low, high), first
    return a * c + b, rest, x[low:high]


@CORPUS.case(numbers(5))
def ternaries(x):
    scale = 2 if x.shape[0] > 3 else 3
    y = x * scale if scale == 2 else x / scale
    return y if y.ndim == 1 and not y.size > 100 else None


@CORPUS.case(numbers(5), "sum")
@CORPUS.case(numbers(5), "mean")
@CORPUS.case(numbers(5), "odd")
def chosen_by_name(x, how):
    match how:
        case "sum":
            return x.sum()
        case "mean" | "average":
            return x.mean()
        case other:
            raise ValueError(f"no reduction {other!r} of {x.shape}")


@CORPUS.case(numbers(6))
def breaks_out(x):
    total = 0.0
    for i, value in enumerate(x):
        if i == 1:
            continue
        if i == 4:
            break
        total += value
    else:
        total = -1.0
    return total, i, value


@CORPUS.case(numbers(3, 2))
def rows(x):
    sums = [row.sum() for row in x]
    table = {i: row * 2 for i, row in enumerate(x)}
    odd = {int(value > 0) for row in x for value in row}
    return sums, table, sorted(odd), tuple(r[0] for r in x)


@CORPUS.case(numbers(4), 3)
def recursive_halves(x, depth):
    if depth == 0 or len(x) == 1:
        return x.sum()
    middle = len(x) // 2
    return recursive_halves(x[:middle], depth - 1) + recursive_halves(x[middle:], depth - 1)


@CORPUS.case(np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 1.0, 4.0, 16.0]))
def trapezoid(x, y):
    area = 0.0
    for i in range(1, len(x)):
        area += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2
    return area


@CORPUS.case(0.0, 1.0, 10)
def euler_method(start, value, steps):
    states = np.empty((steps + 1, 2))
    states[0] = start, value
    for i in range(steps):
        time, y = states[i]
        states[i + 1] = time + 0.1, y + 0.1 * (-2 * y)
    return states


@CORPUS.case(np.array([1.0, -3.0, 2.0]), numbers(4))
def horner(coefficients, x):
    result = np.zeros_like(x)
    for c in coefficients:
        result = result * x + c
    return result


@CORPUS.case(numbers(8))
def fourier_by_hand(x):
    n = len(x)
    k = np.arange(n)
    waves = np.exp(-2j * np.pi * np.outer(k, k) / n)
    return waves @ x


@CORPUS.case(8)
def mandelbrot(size):
    real = np.linspace(-2, 0.5, size)
    imaginary = np.linspace(-1, 1, size)
    c = real[None, :] + 1j * imaginary[:, None]
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, int)
    for _ in range(6):
        inside = np.abs(z) <= 2
        z[inside] = z[inside] ** 2 + c[inside]
        counts += inside
    return counts


@CORPUS.case(numbers(4, 4))
def gauss_seidel(a):
    a = a + 10 * np.eye(4)
    b = np.arange(4.0)
    x = np.zeros(4)
    for _ in range(3):
        for i in range(4):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@CORPUS.case(numbers(6), numbers(3, seed=1))
def convolve_by_hand(signal, kernel):
    n = len(signal) - len(kernel) + 1
    out = np.empty(n)
    for i in range(n):
        out[i] = np.dot(signal[i : i + len(kernel)], kernel[::-1])
    return out


@CORPUS.case([0.5, 1.5, 2.5], 2)
def from_lists(values, factor):
    x = np.asarray(values) * factor
    y = np.array([values, values])
    return x.tolist(), y.T, (x > 2).tolist()


@CORPUS.case(numbers(5), lo=-0.5, hi=0.5)
def keywords(x, *, lo, hi=1.0):
    return np.clip(x, lo, hi), np.clip(x, a_min=lo, a_max=None), x.clip(max=hi)


@CORPUS.case(numbers(2), numbers(2, seed=1), scale=2.0, name="n")
def stars(first, *others, **options):
    total = first * options.pop("scale", 1.0)
    for other in others:
        total = total + other
    return total, len(others), options


@CORPUS.case(numbers(3))
def outs(x):
    out = np.empty(3)
    same = np.multiply(x, 2, out=out)
    np.add(out, 1, out=out)
    np.negative(x, out=x)
    return same is out, out, x


@CORPUS.case(numbers(4))
def comparisons_chain(x):
    n = x.size
    if 0 < n <= 4 != 5:
        x = x + n
    return x, n in (1, 4), n is not None, not n


@CORPUS.case(numbers(3), 7)
def integers_and_floats(x, n):
    i = n // 2
    f = n / 2
    k = n**2 % 5
    return x * i, x * f, x[k % 3], -n, +n, ~n, n & 3, n | 8, n ^ 1, n << 2, n >> 1, n == 7.0


@CORPUS.case(numbers(3, 3))
def nested_helpers(a):
    def rotate(m, times):
        for _ in range(times):
            m = m.T[::-1]
        return m

    def twice(f, m):
        return f(f(m, 1), 2)

    return rotate(a, 1), twice(rotate, a)


@CORPUS.case(numbers(6))
def deletes(x):
    y = x * 2
    z = y + 1
    del y
    w = [z, x]
    del w[0]
    return z, w


@CORPUS.case(numbers(6))
def asserts(x):
    assert x.ndim == 1, "one axis"
    assert x.shape == (5,), f"wrong shape {x.shape}"
    return x


@CORPUS.case(np.arange(6.0), np.array([0, 1, 0, 2, 1, 0]))
def group_sums(values, labels):
    out = np.zeros(labels.max() + 1)
    np.add.at(out, labels, values)
    means = {int(k): values[labels == k].mean() for k in np.unique(labels)}
    return out, means


@CORPUS.case(np.array([5, 3, 8, 1]))
def sorting(x):
    order = np.argsort(x)
    return x[order], order, np.sort(x)[::-1], x.argmax(), np.searchsorted(np.sort(x), 4)


@CORPUS.case(numbers(4))
def formats(x):
    total = float(x.sum())
    return f"{total:.3f} of {x.size:>4} {x.dtype!s} {x.shape!r}", f"{x[0]:8.2e}", "%.2f" % x[1]


@CORPUS.case(numbers(4), 3)
def prints(x, times):
    for i in range(times):
        x = x * 0.5
        print("step", i, x.shape, end=";\n" if i else "\n")
    return x


@CORPUS.case(np.array([1.0, np.nan, 3.0]))
def nan_handling(x):
    good = ~np.isnan(x)
    return np.nanmean(x), x[good], np.nan_to_num(x), good.sum(), np.isfinite(x).all()


@CORPUS.case(numbers(2, 2), 3)
def matrix_power(a, n):
    result = np.eye(2)
    base = a
    while n > 0:
        if n & 1:
            result = result @ base
        base = base @ base
        n >>= 1
    return result


@CORPUS.case(np.array([3, 5, 7]), 11)
def modular(x, modulus):
    out = []
    for value in x.tolist():
        out.append(pow(value, -1, modulus))
    return np.array(out) * x % modulus

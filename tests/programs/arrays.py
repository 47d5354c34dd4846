"""Small NumPy programs, each a trap of the fidelity contract or an everyday use; every backend must run them as eager does."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from tests.support.comparing.recording import MODES
from tests.support.comparing.registering import Programs

PROGRAMS = Programs(backends=("numpy", "reference"), modes=MODES)
SCALE = 3.0
TABLE = {"a": 2.0, "b": [1.0, 2.0]}


def numbers(*shape: int, dtype: str = "f8", seed: int = 0) -> np.ndarray[Any, Any]:
    """Normal random numbers, or whole ones for integer dtypes."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 50, shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def specials() -> np.ndarray[Any, Any]:
    """NaN, infinities, signed zeros, the smallest and the largest numbers."""
    return np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308, 1.0, -2.5, 1e-300]
    )


# Arithmetic ------------------------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (numbers(7), numbers(7, seed=1)))
def chain(x, y):
    z = x * 2.0 + y
    return (z - 1) / (x * x + 1.5)


@PROGRAMS.whole(lambda: (numbers(4, 5), numbers(5, seed=1)))
def broadcast(x, y):
    return x + y, y[:, None] * y, x - x.mean()


@PROGRAMS.either(lambda: (numbers(3, 4, 5).transpose(2, 0, 1), numbers(5, 3, 4)))
def k_order(x, y):
    return (
        x + 1,
        x + y,
        y + x,
        np.where(x > 0, x, y),
        x.copy(),
        np.copy(x),
        np.empty_like(x).strides,
        x.sum(0),
        x.sum(2),
    )


@PROGRAMS.whole(lambda: (numbers(3, 4), np.asfortranarray(numbers(3, 4, seed=2))))
def mixed_order(x, y):
    return x + y, y + x, y * 2, y.T + 1, (x.T * y.T)


@PROGRAMS.whole(lambda: (numbers(4, dtype="f4"), np.float64(2.5), 1.5))
def nep50(x, strong, weak):
    return x * weak, x * strong, x * np.float32(2), x + 1, np.float32(3) * weak, strong * weak


@PROGRAMS.whole(lambda: (numbers(4, dtype="i4"), numbers(4, dtype="i1", seed=2)))
def integers(x, y):
    return x / 7, x // 7, x % 7, x * y, -x, ~x, x & 3, x << 2, y + y, x**2, x**3


@PROGRAMS.whole(lambda: (numbers(5, dtype="u1"), numbers(5, dtype="u1", seed=4)))
def unsigned(x, y):
    return x - y, x + 200, x * y, -x


@PROGRAMS.either(lambda: (numbers(4, dtype="i1"),))
def too_large_for_int8(x):
    return x + 200


@PROGRAMS.whole(lambda: (numbers(4, dtype="i4"),))
def negative_integer_power(x):
    return (x + 1) ** -1


@PROGRAMS.whole(lambda: (np.array([5, -7, 0, -128], "i1"), np.array([0, 0, 0, -1], "i1")))
def integer_division(x, y):
    return x // y, x % y


@PROGRAMS.whole(lambda: (specials(), specials()[::-1].copy()))
def special_values(x, y):
    return (
        x + y,
        x * y,
        x - 1,
        np.maximum(x, y),
        np.minimum(x, y),
        x > y,
        np.sqrt(x),
        np.isnan(x),
        x == x,
    )


@PROGRAMS.whole(lambda: (specials(),))
def special_warnings(x):
    return np.log(x), 1.0 / x, x * 10


@PROGRAMS.whole(lambda: (numbers(4, dtype="c16"), numbers(4, dtype="c16", seed=1)))
def complex_numbers(x, y):
    return x * y, x / y, abs(x), x + 1, x.conj(), np.sqrt(x)


@PROGRAMS.whole(lambda: (numbers(6, dtype="?"), numbers(6, dtype="?", seed=3)))
def booleans(x, y):
    return x & y, x | y, ~x, x ^ y, x + y, x.sum(), x.any(), x.all(), x * 2


@PROGRAMS.whole(lambda: (numbers(2, 3),))
def unary(x):
    return -x, +x, abs(x), x**2, x**0.5, np.exp(x), np.tanh(x), np.sin(x)


@PROGRAMS.whole(lambda: (np.array(2.5), np.float64(1.5), numbers(3)))
def zero_dimensional(x, s, v):
    return x + 1, x + x, x * s, s * s, s + v, x[()], x[...], np.exp(x), -x, x.sum(), np.add(x, 1)


@PROGRAMS.whole(lambda: (numbers(0, 3), numbers(0)))
def empty(x, y):
    return x + 1, x.sum(), x.sum(axis=0), y * 2, y.sum(), x.T, np.exp(y), x.shape


@PROGRAMS.either(lambda: (numbers(0),))
def maximum_of_nothing(x):
    return x.max()


@PROGRAMS.either(lambda: (numbers(0),))
def mean_of_nothing(x):
    return x.mean()


# Reductions ------------------------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (numbers(37, 41),))
def reductions(x):
    return (x.sum(), x.sum(0), x.sum(1), x.sum(axis=1, keepdims=True), x.max(), x.min(axis=0), x.prod(axis=1),
            np.sum(x, axis=(0, 1)), np.max(x, axis=-1), x.mean(), x.mean(axis=0), x.std(), x.var(axis=1, ddof=1),
            x.argmax(), x.argmin(axis=1), x.cumsum(), np.cumsum(x, axis=0))  # fmt: skip


@PROGRAMS.whole(lambda: (numbers(9, 33, dtype="f4"), numbers(9, 33, dtype="i2")))
def narrow_reductions(x, i):
    return (
        x.sum(),
        x.mean(axis=0),
        x.mean(),
        x.std(axis=1),
        i.sum(),
        i.mean(),
        i.max(axis=1),
        i.prod(axis=0),
    )


@PROGRAMS.whole(lambda: (numbers(1000), numbers(1000, seed=1)))
def squared_distance(x, y):
    return ((x - y) ** 2).sum(), np.add.reduce(x * y), (x * y).sum(keepdims=True)


@PROGRAMS.whole(lambda: (numbers(16, 24, dtype="f4"),))
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@PROGRAMS.whole(lambda: (numbers(16, 24),))
def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


# Views, aliasing and stores ----------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (numbers(6, 4),))
def views(x):
    return (
        x[1:],
        x[::2, 1],
        x[-1],
        x.T,
        x.reshape(-1),
        x.reshape(4, 6),
        x[None],
        x[..., 0],
        x[2, 3],
        x.ravel(),
    )


@PROGRAMS.whole(lambda: (numbers(6, 4),))
def identity(x):
    y = x
    return x, y, x is y, [x, x], (x, {"k": x})


@PROGRAMS.whole(lambda: (numbers(6, 4),))
def two_equal_results(x):
    return x + 1, x + 1, x[1:], x[1:], np.zeros(3), np.zeros(3)


@PROGRAMS.whole(lambda: (numbers(6, 6),))
def stencil(u):
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


@PROGRAMS.whole(lambda: (numbers(8),))
def shift(a):
    a[1:] = a[:-1]
    a[:-1] += a[1:]
    return a.sum()


@PROGRAMS.whole(lambda: (numbers(8), numbers(8, seed=1)))
def in_place(x, y):
    x += y
    x *= 2
    v = x[2:5]
    v -= 1
    y[::2] = x[::2]
    return x, v


@PROGRAMS.whole(lambda: (numbers(8, dtype="i4"), 3))
def in_place_integers(x, k):
    x += k
    x[0] = 7.9
    x[1] = True
    x //= 2
    return x


@PROGRAMS.either(lambda: (numbers(8, dtype="i4"), numbers(8)))
def in_place_cast_error(x, y):
    x += y
    return x


@PROGRAMS.either(lambda: (numbers(8, dtype="f4"), numbers(8)))
def in_place_narrowing(x, y):
    x += y
    x[2:4] = y[:2]
    return x


def read_only() -> tuple[Any, ...]:
    x = numbers(4)
    x.flags.writeable = False
    return (x,)


@PROGRAMS.raising(read_only)
def store_into_read_only(x):
    y = x * 2
    x[0] = 1.0
    return y


def overlapping() -> tuple[Any, ...]:
    base = numbers(10)
    return base[:-1], base[1:]


@PROGRAMS.either(overlapping)
def overlapping_arguments(a, b):
    a += 1
    return a + b


@PROGRAMS.whole(lambda: (lambda x: (x, x))(numbers(5)))
def same_argument_twice(a, b):
    a += 1
    b *= 2
    return a, b, a is b


@PROGRAMS.whole(lambda: (numbers(5), numbers(5, seed=1)))
def out_argument(x, y):
    np.add(x, 1, out=y)
    np.multiply(y, 2, y)
    return np.exp(x, out=y)


@PROGRAMS.either(lambda: (numbers(5),))
def fresh_buffers(x):
    z = np.zeros_like(x)
    z[1:] = x[:-1]
    z[0] += 5
    w = np.empty((2, 5))
    w[0] = x
    w[1] = z
    return (
        z,
        w,
        w.T,
        np.eye(3),
        np.full(2, 7),
        np.ones((2, 2), dtype="f4"),
        np.arange(5),
        np.arange(0.0, 1.0, 0.25),
    )


@PROGRAMS.raising(lambda: (numbers(5),))
def index_error(x):
    y = x + 1
    return y[7]


@PROGRAMS.either(lambda: (numbers(5), numbers(4)))
def shape_error(x, y):
    z = x * 2
    return z + y


@PROGRAMS.raising(lambda: (numbers(5),))
def error_after_write(x):
    x[0] = 9.0
    return x[10]


@PROGRAMS.either(lambda: (numbers(5), numbers(5) > 0))
def masks(x, m):
    x[m] = 0.0
    return x[m], np.where(m, x, -1), x


@PROGRAMS.either(lambda: (numbers(5), np.array([0, 2, 2, -1])))
def fancy(x, i):
    y = x[i]
    x[i] += 1
    return y, x


@PROGRAMS.whole(lambda: (numbers(4, 3), numbers(3, 5)))
def products(a, b):
    return a @ b, np.dot(a, b), np.matmul(a, b)[0], a.dot(b), a.T @ a


# Python ----------------------------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (numbers(4), 3))
def python_loop(x, n):
    total = np.zeros(4)
    for i in range(n):
        total = total + x * i
    while n > 0:
        total -= 1
        n -= 1
    return total, n


@PROGRAMS.either(lambda: (numbers(4),))
def data_branch(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    return y * 3


@PROGRAMS.either(lambda: (numbers(4), 10))
def data_loop(x, limit):
    steps = 0
    while np.abs(x).max() > 1e-3 and steps < limit:
        x = x / 2
        steps += 1
    return x, steps


@PROGRAMS.either(lambda: (numbers(4),))
def prints(x):
    print("before")
    y = x + 1
    print(float(y[0]))
    return y * 2


@PROGRAMS.whole(lambda: (numbers(4),))
def closures(x):
    k = 2.0

    def scaled(v, by=k):
        return v * by + k

    return scaled(x) + scaled(x, by=1.0), (lambda t: t - SCALE)(x)


@PROGRAMS.whole(lambda: (numbers(4), {"a": numbers(4, seed=3)}))
def containers(x, named):
    parts = [x * i for i in range(3)]
    parts.append(named["a"])
    first, *rest = parts
    table = {"first": first, "n": len(rest)}
    for key, value in TABLE.items():
        table[key] = value
    return [p + 1 for p in parts], table, tuple(rest), named


@PROGRAMS.whole(lambda: (numbers(4),))
def exceptions(x):
    try:
        y = x * 2
        raise KeyError("k")
    except KeyError as error:
        y = x * 3
        text = str(error)
    finally:
        z = x + 1
    return y, z, text


@PROGRAMS.either(lambda: (specials(),))
def error_state(x):
    with np.errstate(all="ignore"):
        y = np.log(x) / x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        z = 1 / x
    return y, z


@PROGRAMS.whole(lambda: (specials(),))
def warning_after_write(x):
    x[0] = 0.0
    x /= x
    return np.log(x)


@PROGRAMS.either(lambda: (np.array([71], "u8"), numbers(1, dtype="f2")))
def overflow_in_the_cast_of_an_output(a, v):
    return np.invert(a, out=v)


@PROGRAMS.either(lambda: (numbers(0), numbers(3)))
def median_of_nothing(a, b):
    return np.median(a) + b


@PROGRAMS.raising(lambda: (numbers(4), 0.0))
def zero_division(x, w):
    y = x + 1
    return y * (1.0 / w)


@PROGRAMS.raising(lambda: (numbers(4), 0.0))
def zero_division_after_write(x, w):
    x += 1
    x *= 1.0 / w
    return x


@PROGRAMS.whole(lambda: (numbers(6),))
def python_numbers(x):
    n = len(x)
    return (
        x / n,
        x * math.pi,
        float(x.sum()),
        int(x.size),
        x.shape[0] * 2,
        max(n, 3),
        x[: n // 2],
        bool(n),
    )


@PROGRAMS.whole(lambda: (np.float64(3.0), np.float32(1.5), 4, 2.5))
def numbers_only(a, b, c, d):
    return a * b, a + c, b * d, c * d, c // 3, a > b, np.sqrt(a), abs(-b), a**2


class Model:
    """An object with attributes and methods."""

    def __init__(self) -> None:
        self.weight = numbers(4)
        self.rate = 0.5

    def step(self, x):
        return x - self.rate * self.weight


@PROGRAMS.whole(lambda: (Model(), numbers(4)))
def methods(model, x):
    y = model.step(x)
    model.weight = y
    model.rate *= 0.5
    return model.step(y)


@PROGRAMS.either(lambda: (numbers(10), numbers(10)))
def numpy_functions(x, y):
    return (np.diff(x), np.clip(x, -0.5, 0.5), np.concatenate([x, y]), np.stack((x, y)), np.dot(x, y), np.sort(x),
            np.linalg.norm(x), np.outer(x, y), np.cumsum(x), np.gradient(x), np.hypot(x, y), np.arctan2(x, y))  # fmt: skip


@PROGRAMS.whole(lambda: (numbers(3),))
def star_arguments(x, *rest, scale=2.0, **named):
    def inner(*values, **options):
        return sum(values) * options.get("k", 1)

    return inner(x, x, k=3) + len(rest) + len(named), x * scale


@PROGRAMS.whole(lambda: (numbers(6, 5),))
def casts(x):
    i = (x * 10).astype(np.int32)
    return (
        i,
        x.astype("f4"),
        i.astype(float),
        (x > 0).astype(int),
        x.astype(np.float64, copy=False) is x,
    )


@PROGRAMS.whole(
    lambda: (numbers(12)[::-1], numbers(12)[::3], np.broadcast_to(np.array([2.0]), (4,)))
)
def strides(a, b, c):
    return a + 1, b * c, a[2:6] + c, np.exp(b), a.sum(), b.sum()


# Found by tests/whole/fuzz ---------------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (np.float64(2.5), np.int64(3)))
def a_scalar_that_is_computed_is_another_object(x, n):
    """Though its value is the same: who compares the two with `is` sees it."""
    return x, np.positive(x), x * 1.0, n, np.multiply(1, n), n + 0, n | 0


@PROGRAMS.whole(lambda: (numbers(4),))
def equal_scalars_are_two_objects(x):
    return x.sum(), x.sum(), x[0], x[0], [t.sum() for t in (x, x)]


@PROGRAMS.whole(lambda: (numbers(3),))
def store_into_no_elements_then_read(c):
    v = c + 1
    v[:0] += v[:0]
    return 1 / v


@PROGRAMS.either(lambda: (numbers(3, dtype="c16"),))
def float_of_complex_warns_at_its_line(b):
    return float(b.sum())


@PROGRAMS.whole(lambda: (numbers(3, dtype="?"),))
def numpy_scalar_call_warns_at_its_line(c):
    v = c != c
    return np.floor_divide(0.0, v[0])


@PROGRAMS.raising(lambda: (numbers(0, 3, dtype="f4"),))
def mean_over_no_rows_warns_at_its_line(b):
    return np.mean(b, axis=0), b.mean(axis=0)


@PROGRAMS.raising(lambda: (numbers(1),))
def element_is_not_a_sequence(b):
    b[-1] /= b


@PROGRAMS.raising(lambda: (np.broadcast_to(numbers(3), (1, 3)),))
def read_only_store_of_itself(b):
    b[0], b[-1] = b[-1], b[0]


@PROGRAMS.either(lambda: (1,))
def number_has_no_shape(n):
    print(n.T)


@PROGRAMS.either(lambda: (numbers(2, 3),))
def slices_may_have_length_one(c):
    v = np.array(c, order="F")
    return v[::2] * 3, v[1:] * 3, v[1:, :1] + 1


@PROGRAMS.either(lambda: (numbers(3, dtype="f4"), 1e40))
def number_too_large_after_write(b, x):
    b /= b
    return b * x


@PROGRAMS.either(lambda: (numbers(3, dtype="u4"), -2))
def number_that_never_fits_into_out(c, d):
    np.signbit(c > d, out=c)


@PROGRAMS.either(
    lambda: (numbers(1, dtype="c8"), np.array(2.5 + 0.1j, "c8"), numbers(1, 1, dtype="c16"))
)
def one_complex_number_in_place(a, b, c):
    a *= a
    b[...] *= b
    c *= 0.43 + 0.3j


@PROGRAMS.either(
    lambda: (
        np.exp(1j * np.arange(17)),
        np.sin(np.arange(17)),
        np.exp(2j * np.arange(9)).astype("c8"),
    )
)
def over_another_part_of_the_operand(a, b, c):
    """NumPy computes these without its vector code, which may round otherwise."""
    a[:-1] *= a[1:]
    c[1:] /= c[:-1]
    np.exp(b[1:], out=b[:-1])
    np.multiply(a[1:], a[:-1], out=a[1:])
    return a, b, c


@PROGRAMS.whole(lambda: (np.exp(1j * np.arange(17)), np.sin(np.arange(17)), 3))
def over_the_operand_itself(a, b, n):
    a[:5] *= a[:5]
    np.exp(b[1:], out=b[1:])
    return a, b, np.full_like(b, n), np.full_like(b, len(b)), np.full_like(b.astype("i4"), n)


@PROGRAMS.either(lambda: (np.array([1e4, 1.0]), np.array([6e4, 0.0], "f2")))
def what_may_fail_and_warn_behind_a_write(a, small):
    """A number that may not fit is looked at before the write; the warning of the division stays behind that of `exp2`."""
    a -= 1
    np.exp2(a)
    a += 1 - len(small) / small
    return a


@PROGRAMS.either(lambda: (np.array([1e9, 2.0]), np.zeros((3, 2), "f2"), 1e8))
def values_that_do_not_fit_what_nobody_reads(b, small, f):
    b += 1
    np.full_like(small, b)
    np.full_like(small, b[0] * f)
    np.full(3, b[1] * 1e6, "f2")
    return b, np.full_like(small, b[1])


@PROGRAMS.whole(lambda: (numbers(3), np.array([1.3e154, -1.3e154]), np.array([np.inf, -np.inf])))
def reductions_warn_where_numpys_do(a, big, infinite):
    a[0] = 1
    a[:] = infinite.sum()
    a[1:] = big
    return a.sum(), np.sum(a), a[1:].var(), np.std(a[1:]), np.add.reduce(a), a.mean()


@PROGRAMS.whole(lambda: (numbers(4), numbers(3, 3, dtype="u2")))
def casts_warn_each_time(x, b):
    v = np.log2(np.abs(x)) - 100
    for _ in range(3):
        b[-1:0:-1] = v[:3]
    return b


@PROGRAMS.either(lambda: (numbers(3),))
def comprehension_behind_a_break(a):
    np.array(a, copy=False)
    return [a * i for i in range(3)], (lambda t: t + a)(a)


@PROGRAMS.either(lambda: (numbers(3), numbers(2)))
def array_as_default(a, b):
    np.array(a, copy=False)

    def inner(t, k=b):
        return t * k[0] + a

    return inner(a)


@PROGRAMS.either(lambda: (numbers(3),))
def overflow_in_a_call_after_write(a):
    a *= 1e300
    return np.dot(a, a), a.sum(), np.cumsum(a * 1e8)


@PROGRAMS.either(lambda: (numbers(3, dtype="i8"), numbers(3)))
def scalar_too_large_for_an_integer_element(a, b):
    a[-2] += np.var(b) * 1e300


@PROGRAMS.either(
    lambda: (
        numbers(2, 3),
        np.asfortranarray(numbers(2, 3)),
        np.broadcast_to(numbers(), (3,)),
        numbers(4, 6)[:, ::2],
    )
)
def ravel_views_or_copies(c, f, wide, strided):
    return c.ravel(), f.ravel(), wide.ravel(), strided.ravel(), c[1:].ravel(), c[:, 1:].ravel(), f.T.ravel(), (
        f.reshape(-1), f.T.reshape(-1), strided.reshape(-1), c[:, 1:].reshape(-1), (f + 1).ravel())  # fmt: skip


@PROGRAMS.whole(lambda: (numbers(1, 5), numbers(0, 5), numbers(5, dtype="f4")))
def total_of_nothing_broadcast(a, b, c):
    v = b + a
    return v, v.sum(), (b * c).sum(), (c[:0] + a.T).sum(axis=1)


@PROGRAMS.either(lambda: (np.array(3, "u1"),))
def array_without_axes_stays_one(b):
    v = np.copy(b)
    v[...] -= v
    if (b > 0).any():
        return v - 1
    return v


@PROGRAMS.whole(lambda: (numbers(3, dtype="u8"),))
def magnitude_of_minus_unsigned(b):
    return abs(-b), abs(abs(b))


@PROGRAMS.either(lambda: (numbers(3, dtype="i1"), numbers(3, dtype="i4") + 2000))
def whole_scalar_too_large_for_the_element(a, b):
    a[1] = b[-2]


@PROGRAMS.either(lambda: (numbers(1)[::-1],))
def reshape_to_the_same_one_element(x):
    return x.reshape(-1), x.reshape(1), x.ravel()


@PROGRAMS.whole(lambda: (numbers(3, 4, dtype="f4"), numbers(3, dtype="f4")))
def reductions_in_float64(x, y):
    return y.prod(axis=0, dtype=np.float64), x.sum(axis=0, dtype="f8"), x.sum(dtype=np.float64)

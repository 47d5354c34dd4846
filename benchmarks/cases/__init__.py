"""The programs: plain NumPy functions that know nothing of compilers, and their data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A program, what to run it on, and at which sizes."""

    name: str
    function: Callable[..., Any]
    make_args: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    numexpr: str | None = None  # the same program in numexpr's language, over the argument names


def add1(x: Array) -> Any:
    """One operation: what a call costs."""
    return x + 1


def chain11(x: Array) -> Any:
    """Eleven arithmetic operations."""
    a = x * x
    b = a + 1.5
    d = b * x - 0.5
    return ((((d * d + x) * 0.25 - a) * b) + d) * 0.5


def poly10(x: Array) -> Any:
    """Horner's scheme for a polynomial of degree five: ten multiplications and additions."""
    y = x * 0.1 + 0.2
    y = y * x + 0.3
    y = y * x + 0.4
    y = y * x + 0.5
    return y * x + 0.6


def chain_libm(x: Array) -> Any:
    """Functions of the math library between arithmetic."""
    return np.exp(-x * x) * np.sin(3.0 * x) + np.log(x * x + 1.0)


def normal_cdf(x: Array) -> Any:
    """Abramowitz and Stegun 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (
        0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * poly
    return np.where(x > 0.0, 1.0 - tail, tail)


def black_scholes(price: Array, strike: Array, years: Array, rate: float, sigma: float) -> Any:
    """Prices of European call and put options."""
    spread = sigma * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * sigma * sigma) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = price * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - price + discounted


def softmax(x: Array) -> Any:
    """Softmax of each row."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Array, gain: Array, bias: Array) -> Any:
    """Rows with mean 0 and variance 1, then scaled."""
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5)) * gain + bias


def squared_distance(x: Array, y: Array) -> Any:
    """One number from two long arrays."""
    return ((x - y) ** 2).sum()


def power(x: Array, y: int) -> Any:
    """Multiply a matrix by itself: the headline of TensorFlow's tf.function guide."""
    result = np.eye(10, dtype=np.int32)
    for _ in range(y):
        result = np.matmul(x, result)
    return result


def jacobi_2d(a: Array, b: Array, steps: int) -> None:
    """Jacobi steps on a square grid, in place."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )


def newton(x: Array, tolerance: float) -> Any:
    """Square roots by Newton's method, until all have converged."""
    y = x * 0.5 + 0.5
    while True:
        step = 0.5 * (y - x / y)
        y = y - step
        if np.abs(step).max() <= tolerance:
            return y


def pairwise(points: Array) -> Any:
    """Distances between all points."""
    difference = points[:, None, :] - points[None, :, :]
    return np.sqrt((difference * difference).sum(axis=2))


def floats(size: int) -> tuple[Array]:
    """Make `size` float64 numbers between 0 and 1."""
    return (np.random.default_rng(1).random(size),)


def two_floats(size: int) -> tuple[Any, ...]:
    """Make two arrays of `size` float64 numbers."""
    return tuple(np.random.default_rng(1).random((2, size)))


def options(size: int) -> tuple[Any, ...]:
    """Make `size` options: price, strike, years to maturity; rate and volatility."""
    rng = np.random.default_rng(1)
    price, strike, years = rng.uniform([[5.0], [1.0], [0.25]], [[30.0], [100.0], [10.0]], (3, size))
    return price, strike, years, 0.02, 0.3


def rows(size: int) -> tuple[Array]:
    """Make `size` rows of 1024 float32 numbers."""
    return (np.random.default_rng(1).standard_normal((size, 1024), dtype=np.float32),)


def rows_and_scale(size: int) -> tuple[Any, ...]:
    """Make rows, and gain and bias for their columns."""
    return rows(size)[0], *np.random.default_rng(2).random((2, 1024), dtype=np.float32)


def small_matrix(size: int) -> tuple[Any, ...]:
    """Make a 10 by 10 int32 matrix and the number of products."""
    return np.random.default_rng(1).integers(0, 10, (10, 10), dtype=np.int32), size


def grids(size: int) -> tuple[Any, ...]:
    """Make two square grids and the number of steps."""
    one, two = np.random.default_rng(1).random((2, size, size))
    return one.copy(), two.copy(), 20


def radicands(size: int) -> tuple[Any, ...]:
    """Make numbers to take the square root of, and a tolerance."""
    return np.random.default_rng(1).uniform(0.5, 100.0, size), 1e-9


def points(size: int) -> tuple[Array]:
    """Make `size` points in space."""
    return (np.random.default_rng(1).random((size, 3)),)


POLY10 = "((((x*0.1 + 0.2)*x + 0.3)*x + 0.4)*x + 0.5)*x + 0.6"
CHAIN11 = (
    "(((((x*x+1.5)*x-0.5) * ((x*x+1.5)*x-0.5) + x)*0.25 - x*x) * (x*x+1.5)"
    " + ((x*x+1.5)*x-0.5)) * 0.5"
)
SQUARES = "sum((x - y)**2)"
CHAIN_LIBM = "exp(-x*x) * sin(3.0*x) + log(x*x + 1.0)"

# fmt: off
CASES = {
    case.name: case
    for case in (
        #    name                function          arguments       sizes                     quick          numexpr
        Case("add1",             add1,             floats,         (10, 1000, 10**5, 10**7), (10, 1000),    "x + 1"),
        Case("chain11",          chain11,          floats,         (1000, 10**5, 10**7),     (1000, 10**5), CHAIN11),
        Case("poly10",           poly10,           floats,         (1000, 10**5, 10**7),     (1000, 10**5), POLY10),
        Case("chain_libm",       chain_libm,       floats,         (1000, 10**5, 10**7),     (1000, 10**5), CHAIN_LIBM),
        Case("black_scholes",    black_scholes,    options,        (10**6,),                 (10**4,)),
        Case("softmax",          softmax,          rows,           (4096,),                  (64,)),
        Case("layer_norm",       layer_norm,       rows_and_scale, (4096,),                  (64,)),
        Case("squared_distance", squared_distance, two_floats,     (10**7,),                 (10**5,),      SQUARES),
        Case("power",            power,            small_matrix,   (100,),                   (100,)),
        Case("jacobi_2d",        jacobi_2d,        grids,          (500,),                   (100,)),
        Case("newton",           newton,           radicands,      (10**5,),                 (10**4,)),
        Case("pairwise",         pairwise,         points,         (1000,),                  (100,)),
    )
}
# fmt: on

"""The programs of `python -m ufuse demo`: plain NumPy, written without ufuse in mind."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def power(x: Array, y: int) -> Array:
    """The headline example of the tf.function guide: `x` multiplied `y` times, as matrices."""
    result = np.eye(10, dtype=np.int32)
    for _ in range(y):
        result = np.matmul(x, result)
    return result


def cumulative_normal(d: Array) -> Any:
    """The cumulative normal distribution by the polynomial of Abramowitz and Stegun, 26.2.17."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(d))
    polynomial = k * (
        0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * polynomial
    result: Array = np.where(d > 0, 1.0 - tail, tail)
    return result


def black_scholes(
    price: Array, strike: Array, years: Array, rate: float, volatility: float
) -> tuple[Array, Array]:
    """Call and put prices of European options."""
    root = np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / (
        volatility * root
    )
    d2 = d1 - volatility * root
    c1 = cumulative_normal(d1)
    c2 = cumulative_normal(d2)
    discounted = strike * np.exp(-rate * years)
    call = price * c1 - discounted * c2
    put = discounted * (1.0 - c2) - price * (1.0 - c1)
    return call, put


def softmax(x: Array) -> Any:
    """Each row's exponentials, divided by their sum."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def squared_distance(x: Array, y: Array) -> Any:
    """The sum of squared differences."""
    return ((x - y) ** 2).sum()

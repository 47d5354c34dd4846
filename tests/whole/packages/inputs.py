"""The data that the calls name: the same at each call, and as small as in a package's own examples."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

SEED = 20_240_917


def drawn(*shape: int) -> np.random.Generator:
    """A generator of its own for each shape, so that inputs do not depend on one another."""
    return np.random.default_rng([SEED, *shape])


def wave(n: int) -> np.ndarray:
    """Two sines and some noise."""
    t = np.linspace(0.0, 10.0, n)
    return np.sin(2.0 * t) + 0.5 * np.sin(5.1 * t + 0.3) + 0.1 * drawn(n).standard_normal(n)


def noise(*shape: int) -> np.ndarray:
    """Normal deviates."""
    return drawn(*shape, 1).standard_normal(shape)


def positive(*shape: int) -> np.ndarray:
    """Uniform deviates between 0.1 and 2."""
    return drawn(*shape, 2).uniform(0.1, 2.0, shape)


def points(n: int, dimension: int) -> np.ndarray:
    """Points around a few centres."""
    centres = drawn(dimension).uniform(-1.5, 1.5, (4, dimension))
    return centres[np.arange(n) % 4] + 0.3 * noise(n, dimension)


def with_nans(*shape: int) -> np.ndarray:
    """Normal deviates, every seventh missing."""
    values = noise(*shape)
    values.flat[::7] = np.nan
    return values


def classes(n: int, count: int) -> np.ndarray:
    """Labels 0 to count - 1."""
    labels = drawn(n, count).integers(0, count, n)
    labels[:count] = np.arange(count)[:n]
    return labels


def image(n: int) -> np.ndarray:
    """A smooth picture with values in [0, 1]."""
    y, x = np.mgrid[:n, :n] / n
    picture = np.sin(7 * x) * np.cos(5 * y) + np.exp(-20 * ((x - 0.4) ** 2 + (y - 0.6) ** 2))
    picture += 0.05 * noise(n, n)
    picture -= picture.min()
    return picture / picture.max()


def rgb(n: int) -> np.ndarray:
    """A picture in colours."""
    picture = image(n)
    return np.stack([picture, picture.T, picture[::-1]], axis=-1)


def grey(n: int) -> np.ndarray:
    """A picture of bytes."""
    return (image(n) * 255).astype(np.uint8)


def blobs(n: int) -> np.ndarray:
    """A mask."""
    return image(n) > 0.55


def labels(n: int) -> np.ndarray:
    """Sixteen numbered squares on a ground of 0."""
    y, x = np.mgrid[:n, :n]
    side = n // 4
    squares = np.minimum(y // side, 3) * 4 + np.minimum(x // side, 3) + 1
    return np.where((y % side > 1) & (x % side > 1), squares, 0)


def volume(n: int) -> np.ndarray:
    """A ball with a soft surface."""
    z, y, x = np.mgrid[:n, :n, :n] / (n - 1) - 0.5
    return 1.0 - 2.0 * np.sqrt(x * x + y * y + z * z)


def mesh() -> tuple[np.ndarray, np.ndarray]:
    """Corners and triangles of a tetrahedron."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return corners, np.array([[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])


def spectrum(*shape: int) -> np.ndarray:
    """Complex numbers."""
    return noise(*shape) + 1j * positive(*shape)


def matrix(n: int) -> np.ndarray:
    """A square matrix that has an inverse."""
    return noise(n, n) + n * np.eye(n)


def spd(n: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    square = noise(n, n)
    return square @ square.T / n + np.eye(n)


def sparse(n: int) -> Any:
    """A sparse matrix that has an inverse."""
    banded = (
        np.diag(positive(n)) + np.diag(np.full(n - 1, -0.3), 1) + np.diag(np.full(n - 2, 0.1), -2)
    )
    return importlib.import_module("scipy.sparse").csr_array(banded)


def butterworth() -> tuple[np.ndarray, np.ndarray]:
    """Coefficients of a filter."""
    numerator = np.array(
        [
            0.004824343357716,
            0.019297373430865,
            0.028946060146297,
            0.019297373430865,
            0.004824343357716,
        ]
    )
    return numerator, np.array(
        [1.0, -2.369513007182038, 2.313988414415879, -1.054665405878567, 0.187379492368185]
    )


def sections() -> np.ndarray:
    """The same in sections of second order."""
    first = [0.00482434, 0.00964869, 0.00482434, 1.0, -1.04859958, 0.29614036]
    return np.array([first, [1.0, 2.0, 1.0, 1.0, -1.32091343, 0.63273879]])


def zeros_poles() -> tuple[np.ndarray, np.ndarray, float]:
    """The same as zeros, poles and gain."""
    poles = np.array([0.66 + 0.44j, 0.66 - 0.44j, 0.52 + 0.15j, 0.52 - 0.15j])
    return np.full(4, -1.0), poles, 0.0048


def state_space() -> tuple[np.ndarray, ...]:
    """A system of two states."""
    return (
        np.array([[-1.0, -2.0], [1.0, 0.0]]),
        np.array([[1.0], [0.0]]),
        np.array([[1.0, 3.0]]),
        np.array([[0.5]]),
    )


def series(n: int) -> Any:
    """A Series with missing numbers."""
    return series_of(with_nans(n))


def series_of(values: Any) -> Any:
    """A Series."""
    return importlib.import_module("pandas").Series(values, name="value")


def table(n: int) -> Any:
    """A DataFrame of two columns of floats, one with missing numbers, and one of integers."""
    columns = {"x": noise(n), "y": with_nans(n), "group": classes(n, 5)}
    return importlib.import_module("pandas").DataFrame(columns)


def sum_of_columns(frame: Any) -> Any:
    """A column computed of two others."""
    return frame["x"] * 2 + frame["y"]


def square_of(x: float) -> float:
    """An integrand."""
    return x * x


def product_of(y: float, x: float) -> float:
    """An integrand of two variables."""
    return x * y


def cubic(x: Any) -> Any:
    """It crosses zero between 1 and 2."""
    return x**3 - 2.0 * x - 1.5


def cubic_slope(x: Any) -> Any:
    """The derivative of `cubic`."""
    return 3.0 * x**2 - 2.0


def parabola(x: float) -> float:
    """It is least at 0.7."""
    return (x - 0.7) ** 2 + 0.1


def sum_of_squares(x: np.ndarray) -> Any:
    """A function of several variables."""
    return (x * x).sum() + (x[1:] * x[:-1]).sum()


def rows_of_squares(x: np.ndarray) -> np.ndarray:
    """Two functions of two variables."""
    return np.stack([x[0] ** 2 + x[1], x[0] * x[1]])


def two_equations(x: np.ndarray) -> np.ndarray:
    """They hold near (0.8, 0.6)."""
    return np.array([x[0] ** 2 + x[1] ** 2 - 1.0, x[0] - x[1] - 0.2])


def line_residuals(p: np.ndarray) -> np.ndarray:
    """How far a line is from a few points."""
    x = np.linspace(0.0, 1.0, 30)
    return p[0] * x + p[1] - (2.0 * x - 0.5 + 0.1 * np.sin(30 * x))


def exponential(x: np.ndarray, scale: float, rate: float) -> np.ndarray:
    """A model to fit."""
    return scale * np.exp(-rate * x)


def oscillator(t: float, y: np.ndarray) -> np.ndarray:
    """A damped oscillation."""
    return np.array([y[1], -4.0 * y[0] - 0.3 * y[1]])


def oscillator_rows(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same at many times at once."""
    return np.vstack([y[1], -4.0 * y[0] - 0.3 * y[1]])


def ends_fixed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """What a boundary value problem asks of its ends."""
    return np.array([left[0], right[0] - 1.0])


def mean_difference(x: np.ndarray, y: np.ndarray) -> Any:
    """A statistic of two samples."""
    return np.mean(x) - np.mean(y)


def standard_normal(size: Any) -> np.ndarray:
    """Draws that are the same each time."""
    return np.random.default_rng(SEED).standard_normal(size)


def second_difference(
    array: np.ndarray, axis: int, output: Any, mode: str, cval: float
) -> np.ndarray:
    """A second derivative for `generic_laplace`."""
    return importlib.import_module("scipy.ndimage").correlate1d(
        array, [1, -2, 1], axis, output, mode, cval, 0
    )


def separable_blur(rows: Any, columns: Any) -> Any:
    """The response of a filter."""
    return np.exp(-np.hypot(rows, columns))


def shifted(coordinates: np.ndarray) -> np.ndarray:
    """A map of coordinates."""
    return coordinates + np.array([1.5, -0.5])


def namespace() -> dict[str, Callable[..., Any]]:
    """Every name that a call's arguments may use."""
    return {name: value for name, value in globals().items() if not name.startswith("_")}

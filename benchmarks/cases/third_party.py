"""Functions of other people's packages that have loops and branches, called as their documentation calls them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.whole.packages import inputs

Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A function's dotted name, what makes its arguments, and those that are given by name."""

    path: str
    make_args: Callable[[], Arguments]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def function(self) -> Callable[..., Any]:
        """The function itself.

        Raises:
            ImportError: the package is not installed.

        """
        module, _, name = self.path.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        assert callable(found)
        return found  # type: ignore[no-any-return]


def lorenz(t: float, y: Any) -> Any:
    """Three coupled equations, as a list."""
    return [10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]]


def heat(t: float, y: Any) -> Any:
    """Heat along a rod."""
    change = np.zeros_like(y)
    change[1:-1] = 50.0 * (y[2:] - 2.0 * y[1:-1] + y[:-2])
    return change


def rosenbrock(x: Any) -> Any:
    """The valley, term by term."""
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


def rosenbrock_arrays(x: Any) -> Any:
    """The valley, with arrays."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def decay(p: Any) -> Any:
    """Residuals of a fitted curve."""
    t = np.linspace(0.0, 4.0, 200)
    return p[0] * np.exp(-p[1] * t) + p[2] - np.sin(t)


def cubic(x: Any) -> Any:
    """An equation, for many at once."""
    return x**3 - 2.0 * x - 5.0 + np.sin(x)


def circle() -> Any:
    """A curve around the middle of an image."""
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    return np.stack([50.0 + 30.0 * np.sin(angle), 50.0 + 30.0 * np.cos(angle)], axis=1)


def shifted(n: int) -> Arguments:
    """Two images, the second a row lower."""
    return inputs.image(n), np.roll(inputs.image(n), 1, 0)


def valley(n: int, function: Any = rosenbrock_arrays) -> Arguments:
    """A function and where to begin."""
    return function, np.full(n, 1.3)


def dominant(n: int) -> Any:
    """A matrix of equations that an iteration solves."""
    return inputs.matrix(n) + 10.0 * np.eye(n)


def likeness(n: int) -> Any:
    """How near points on a line lie."""
    x = inputs.noise(n)
    return -np.abs(np.subtract.outer(x, x))


MINIMIZE = "scipy.optimize.minimize"
SOLVE = "scipy.integrate.solve_ivp"
# fmt: off
CASES = {
    "denoise_tv_chambolle": Case("skimage.restoration.denoise_tv_chambolle", lambda: (inputs.image(256), 0.1)),
    "richardson_lucy": Case("skimage.restoration.richardson_lucy", lambda: (inputs.image(128), np.ones((5, 5)), 30)),
    "chan_vese":            Case("skimage.segmentation.chan_vese", lambda: (inputs.image(100),), {"max_num_iter": 100}),
    "active_contour":       Case("skimage.segmentation.active_contour", lambda: (inputs.image(100), circle())),
    "optical_flow_tvl1":    Case("skimage.registration.optical_flow_tvl1", lambda: shifted(64)),
    "threshold_li":         Case("skimage.filters.threshold_li", lambda: (inputs.image(256),)),
    "solve_ivp of lists":   Case(SOLVE, lambda: (lorenz, (0.0, 10.0), [1.0, 1.0, 1.0])),
    "solve_ivp of arrays":  Case(SOLVE, lambda: (heat, (0.0, 1.0), np.sin(np.linspace(0.0, 3.0, 200)))),
    "solve_ivp, DOP853":    Case(SOLVE, lambda: (lorenz, (0.0, 10.0), [1.0, 1.0, 1.0]), {"method": "DOP853"}),
    "solve_ivp, Radau":     Case(SOLVE, lambda: (lorenz, (0.0, 3.0), [1.0, 1.0, 1.0]), {"method": "Radau"}),
    "Nelder-Mead":          Case(MINIMIZE, lambda: valley(6), {"method": "Nelder-Mead"}),
    "Nelder-Mead of a loop": Case(MINIMIZE, lambda: valley(20, rosenbrock), {"method": "Nelder-Mead"}),
    "Powell":               Case(MINIMIZE, lambda: valley(6), {"method": "Powell"}),
    "BFGS":                 Case(MINIMIZE, lambda: valley(20), {"method": "BFGS"}),
    "BFGS of a loop":       Case(MINIMIZE, lambda: valley(20, rosenbrock), {"method": "BFGS"}),
    "newton of arrays":     Case("scipy.optimize.newton", lambda: (cubic, np.linspace(1.5, 3.0, 1000))),
    "differential_evolution": Case(
        "scipy.optimize.differential_evolution", lambda: (rosenbrock, [(-2.0, 2.0)] * 3),
        {"seed": 1, "maxiter": 30, "polish": False},
    ),
    "least_squares":        Case("scipy.optimize.least_squares", lambda: (decay, [1.0, 1.0, 0.0])),
    "conjugate gradients":  Case("scipy.sparse.linalg.cg", lambda: (inputs.spd(200), inputs.noise(200))),
    "gmres":                Case("scipy.sparse.linalg.gmres", lambda: (dominant(100), inputs.noise(100))),
    "kmeans2":              Case("scipy.cluster.vq.kmeans2", lambda: (inputs.points(2000, 3), 5), {"rng": 1}),
    "affinity_propagation": Case("sklearn.cluster.affinity_propagation", lambda: (likeness(200),), {"random_state": 0}),
    "fastica": Case("sklearn.decomposition.fastica", lambda: (inputs.points(1000, 4),), {"random_state": 0}),
    "orthogonal_mp": Case("sklearn.linear_model.orthogonal_mp", lambda: (inputs.noise(200, 100), inputs.noise(200))),
}
# fmt: on

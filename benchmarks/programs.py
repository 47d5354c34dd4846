"""The group `programs`: scalar loops and glue, each measured in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import glue, loops

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Function = Callable[..., Any]
    Decorator = Callable[[Function], Function]

GROUP = "programs"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that compiles what it decorates, what to run it on, and at which sizes."""

    name: str
    decorated: Callable[[Decorator], Function]
    make_args: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...]
    quick: tuple[int, ...]

    @property
    def function(self) -> Function:
        """The program in plain Python."""
        return self.decorated(lambda function: function)


def whole(function: Function) -> Callable[[Decorator], Function]:
    """A program that is one function."""
    return lambda decorate: decorate(function)


def drawn(*shape: int) -> Array:
    """Make float64 numbers between 0 and 1."""
    return np.random.default_rng([1, *shape]).random(shape)


def definite(size: int) -> Array:
    """Make a symmetric positive definite matrix."""
    square = drawn(size, size)
    return square @ square.T / size + np.eye(size)


def signal(size: int) -> tuple[Any, ...]:
    """Make noise around zero."""
    return (drawn(size) - 0.5,)


def filtered(size: int) -> tuple[Any, ...]:
    """Make a signal, and the coefficients of a low pass."""
    return drawn(size) - 0.5, (0.0675, 0.1349, 0.0675), (-1.143, 0.4128)


def lines(size: int) -> tuple[Any, ...]:
    """Make texts over few words."""
    known = [f"word{i}" for i in range(40)]
    picks = np.random.default_rng(1).integers(0, 40, (size, 30))
    return ([" ".join(known[i] for i in row) for row in picks],)


def measurements(size: int) -> tuple[Any, ...]:
    """Make rows of a table, as dicts."""
    return ([{"name": f"n{i % 7}", "value": float(v)} for i, v in enumerate(drawn(size))],)


def letters(size: int) -> str:
    """Make a text of four letters."""
    return "".join("acgt"[i] for i in np.random.default_rng(size).integers(0, 4, size))


def bodies(size: int) -> tuple[Any, ...]:
    """Make positions, velocities and masses."""
    return drawn(size, 3), drawn(3, size).T - 0.5, drawn(size) + 0.5, 4


def triangular(size: int) -> tuple[Any, ...]:
    """Make a lower triangle and a right-hand side."""
    return np.tril(definite(size)), drawn(size)


def dominant(size: int) -> tuple[Any, ...]:
    """Make a matrix for which Jacobi sweeps converge, and a right-hand side."""
    return definite(size) + size * np.eye(size), drawn(size)


def system(size: int) -> tuple[Any, ...]:
    """Make a definite matrix and a right-hand side."""
    return definite(size), drawn(size)


def digits(size: int) -> tuple[Any, ...]:
    """Make two sequences of five numbers."""
    return np.arange(size) * 7 % 5, np.arange(size) * 3 % 5


def limits(size: int) -> tuple[Any, ...]:
    """Make a signal, and bounds for it."""
    return drawn(size) - 0.5, [0.1, 0.2, 0.3, 0.4]


def divisors(size: int) -> tuple[Any, ...]:
    """Make numbers, and others of which every fifth is zero."""
    return drawn(size), np.arange(size) % 5.0


# fmt: off
PROGRAMS = {
    program.name: program
    for program in (
        #       name, program, arguments, sizes, quick sizes
        Program("filled", whole(loops.filled), lambda n: (n,), (20, 2000), (50,)),
        Program("recurrence", whole(loops.recurrence), signal, (20, 2000), (50,)),
        Program("biquad", whole(loops.biquad), filtered, (50, 1000), (50,)),
        Program("prefix_products", whole(loops.prefix_products), lambda n: (drawn(n) + 0.5,), (300,), (30,)),
        Program("running_statistics", whole(loops.running_statistics), signal, (500,), (30,)),
        Program("histogram", whole(loops.histogram), lambda n: (drawn(n), 16), (1000,), (50,)),
        Program("lu", whole(loops.lu), lambda n: (drawn(n, n),), (10, 60), (8,)),
        Program("cholesky", whole(loops.cholesky), lambda n: (definite(n),), (10, 25), (6,)),
        Program("triangular_solve", whole(loops.triangular_solve), triangular, (60,), (10,)),
        Program("jacobi", whole(loops.jacobi), dominant, (30,), (8,)),
        Program("gauss_seidel", whole(loops.gauss_seidel), lambda n: (drawn(n, n), 10), (16,), (6,)),
        Program("conjugate_gradients", whole(loops.conjugate_gradients), system, (10, 100), (10,)),
        Program("power_iteration", whole(loops.power_iteration), lambda n: (definite(n),), (20, 200), (20,)),
        Program("cavity", whole(loops.cavity), lambda n: (n, 8, 10), (11, 41), (11,)),
        Program("unrolled", whole(loops.unrolled), signal, (41, 2000), (41,)),
        Program("n_body", whole(loops.n_body), bodies, (8,), (4,)),
        Program("bisection", whole(loops.bisection), lambda n: (1.0, float(n)), (2,), (2,)),
        Program("newton_each", whole(loops.newton_each), lambda n: (drawn(n) * 50 + 1,), (100,), (10,)),
        Program("edit_distance", whole(loops.edit_distance), lambda n: (letters(n), letters(n + 1)), (30,), (10,)),
        Program("common_subsequence", whole(loops.common_subsequence), digits, (40,), (10,)),
        Program("k_means", whole(loops.k_means), lambda n: (drawn(n, 2), drawn(4, 2)), (60,), (12,)),
        Program("mandelbrot", whole(loops.mandelbrot), lambda n: (n, 25), (60,), (12,)),
        Program("life", whole(loops.life), lambda n: ((drawn(n, n) > 0.6).astype(int), 10), (30,), (8,)),
        Program("convolution", whole(loops.convolution), lambda n: (drawn(n, n), drawn(3, 3)), (24,), (8,)),
        Program("runge_kutta", glue.runge_kutta, lambda n: (np.array([1.0, 0.0]), 0.1, n), (100,), (10,)),
        Program("factory", glue.factory, lambda n: (drawn(n), [0.5, 0.25, 0.75, 0.1]), (10, 10000), (10,)),
        Program("factory_of_loops", glue.factory_of_loops, limits, (100,), (10,)),
        Program("instances", glue.instances, lambda n: (drawn(n, 3), 10), (30,), (4,)),
        Program("callbacks", glue.callbacks, lambda n: (drawn(n), 20), (20,), (5,)),
        Program("changing_shapes", glue.changing_shapes, lambda n: (drawn(n),), (60,), (12,)),
        Program("changing_ranks", glue.changing_ranks, lambda n: (drawn(n),), (64,), (16,)),
        Program("generators", glue.generators, lambda n: (drawn(n), 64), (2048,), (256,)),
        Program("fibonacci", glue.fibonacci, lambda n: (n,), (60,), (10,)),
        Program("recursive_fft", glue.recursive_fft, lambda n: (drawn(n),), (64,), (8,)),
        Program("words", glue.words, lines, (20,), (4,)),
        Program("records", glue.records, measurements, (200,), (20,)),
        Program("strict_cavity", glue.strict_cavity, lambda n: (n, 8, 10), (11,), (7,)),
        Program("strict_recurrence", glue.strict_recurrence, signal, (300,), (30,)),
        Program("error_states_inside", glue.error_states_inside, divisors, (50, 5000), (50,)),
        Program("caught_warnings", glue.caught_warnings, lambda n: (drawn(n) - 0.2,), (100,), (10,)),
        Program("caches", glue.caches, lambda n: (drawn(n), [3, 5, 7, 5, 3]), (200,), (20,)),
    )
}
# fmt: on

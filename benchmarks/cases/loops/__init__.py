"""The group `loops`: classics with `for` loops over elements, each measured in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cases.loops import grids, linear, sequences, tables
from benchmarks.programs import Program, definite, drawn, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

GROUP = "loops"


def chosen(size: int, values: int, seed: int = 1) -> Array:
    """Draw int64 numbers from 0 up to a limit."""
    return np.random.default_rng([seed, size, values]).integers(0, values, size)


def well_conditioned(size: int) -> Array:
    """Make a matrix that needs no pivots."""
    return drawn(size, size) + size * np.eye(size)


def triangular(size: int) -> tuple[Any, ...]:
    """Make a lower triangle and a right-hand side."""
    return np.tril(well_conditioned(size)), drawn(size)


def toeplitz(size: int) -> tuple[Any, ...]:
    """Make the autocorrelations of noise."""
    return (0.5 ** np.arange(1.0, size + 1) * (1.0 + 0.1 * drawn(size)),)


def sparse(size: int) -> tuple[Any, ...]:
    """Make a matrix with about eight elements in a row, and a vector."""
    rng = np.random.default_rng([1, size])
    counts = rng.integers(4, 13, size)
    starts = np.concatenate(([0], np.cumsum(counts)))
    return starts, rng.integers(0, size, starts[-1]), rng.random(starts[-1]), rng.random(size)


def tridiagonal(size: int) -> tuple[Any, ...]:
    """Make three diagonals and a right-hand side."""
    one, other, right = drawn(3, size)
    return one, one + other + 1.0, other, right


def field(size: int, steps: int) -> tuple[Any, ...]:
    """Make electric and magnetic fields, and a source."""
    return (*drawn(3, size, size), np.sin(np.arange(float(steps))))


def weights(size: int) -> tuple[Any, ...]:
    """Make the lengths of edges."""
    return (np.floor(drawn(size, size) * 100.0) + 1.0,)


def crc_table() -> Array:
    """The remainders of all bytes."""
    values = np.arange(256, dtype=np.int64)
    for _ in range(8):
        values = np.where(values & 1, 0xEDB88320 ^ (values >> 1), values >> 1)
    return values


def chain(length: int, states: int = 6) -> tuple[Any, ...]:
    """Make what a hidden chain shows, and logarithms of its probabilities."""
    logs = np.log(drawn(states, 1 + states + 4) + 0.01)
    parts = logs[:, 0].copy(), logs[:, 1 : 1 + states].copy(), logs[:, 1 + states :].copy()
    return chosen(length, 4), *parts


def bodies(size: int, steps: int) -> tuple[Any, ...]:
    """Make positions, velocities and masses."""
    return drawn(size, 3), drawn(3, size).T - 0.5, drawn(size) + 0.5, steps


def row(
    function: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], *sizes: int
) -> Program:
    """A program of the group; the last size is the small one."""
    return Program(f"{GROUP}.{function.__name__}", whole(function), make, sizes, sizes[-1:])


# fmt: off
LOOPS = {
    program.name: program
    for program in (
        #   program,                   arguments, sizes
        row(linear.cholesky,           lambda n: (definite(n),), 60, 6),
        row(linear.lu,                 lambda n: (well_conditioned(n),), 50, 6),
        row(linear.triangular_solve,   triangular, 250, 12),
        row(linear.triangular_product, lambda n: (1.5, drawn(n, n), drawn(n, n + 1)), 50, 5),
        row(linear.rank_k_update,      lambda n: (1.5, 1.2, drawn(n, n), drawn(n, n + 1)), 45, 5),
        row(linear.durbin,             toeplitz, 200, 10),
        row(linear.matrix_product,     lambda n: (drawn(n, n), drawn(n, n)), 50, 5),
        row(linear.sparse_product,     sparse, 8000, 20),
        row(linear.thomas,             tridiagonal, 50000, 50),
        row(linear.gram_schmidt,       lambda n: (drawn(n + 5, n),), 40, 5),
        row(grids.seidel_2d,           lambda n: (drawn(n, n), 5), 80, 6),
        row(grids.jacobi_1d,           lambda n: (drawn(n), 40), 1000, 8),
        row(grids.jacobi_2d,           lambda n: (drawn(n, n), 5), 80, 5),
        row(grids.heat_3d,             lambda n: (drawn(n, n, n), 3), 20, 5),
        row(grids.fdtd_2d,             lambda n: field(n, 10), 50, 5),
        row(grids.adi,                 lambda n: (drawn(n, n), 8), 50, 6),
        row(grids.deriche,             lambda n: (0.25, drawn(n, n)), 150, 8),
        row(grids.life,                lambda n: (chosen(n * n, 2).reshape(n, n), 3), 50, 5),
        row(grids.convolution,         lambda n: (drawn(n, n), drawn(3, 3)), 80, 8),
        row(grids.mandelbrot,          lambda n: (n, 50), 80, 8),
        row(tables.floyd_warshall,     weights, 50, 6),
        row(tables.nussinov,           lambda n: (chosen(n, 4),), 60, 8),
        row(tables.nussinov_with_calls, lambda n: (chosen(n, 4),), 60, 8),
        row(tables.smith_waterman,     lambda n: (chosen(n, 4), chosen(n + 5, 4, 2)), 150, 8),
        row(tables.edit_distance,      lambda n: (chosen(n, 4), chosen(n + 5, 4, 2)), 150, 8),
        row(tables.viterbi,            chain, 800, 4),
        row(tables.knapsack,           lambda n: (chosen(n, 40) + 1, chosen(n, 90, 2), 25 * n), 50, 5),
        row(sequences.crc,             lambda n: (chosen(n, 256), crc_table()), 50000, 100),
        row(sequences.crc_with_ints,   lambda n: (chosen(n, 256), crc_table()), 50000, 100),
        row(sequences.kalman,          lambda n: (drawn(n), 1e-5, 0.01), 80000, 50),
        row(sequences.smoothing,       lambda n: (drawn(n), 0.3), 100000, 50),
        row(sequences.runge_kutta,     lambda n: (1.0, 0.0, 0.01, n), 10000, 20),
        row(sequences.prefix_sums,     lambda n: (drawn(n),), 100000, 50),
        row(sequences.histogram,       lambda n: (drawn(n), 20), 80000, 50),
        row(sequences.horner,          lambda n: (drawn(8), drawn(n)), 8000, 10),
        row(sequences.running_maximum, lambda n: (drawn(n),), 100000, 50),
        row(sequences.sieve,           lambda n: (n,), 200000, 300),
        row(sequences.insertion_sort,  lambda n: (drawn(n),), 200, 12),
        row(sequences.bubble_sort,     lambda n: (drawn(n),), 200, 12),
        row(sequences.n_body,          lambda n: bodies(n, 20), 20, 3),
        row(sequences.collatz,         lambda n: (n,), 3000, 8),
        row(sequences.random_walk,     lambda n: (n, 42), 100000, 50),
    )
}
# fmt: on

"""The group `loops`: classics with `for` loops over elements or parts of arrays, each in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cases.loops import (
    complex_numbers,
    generators,
    grids,
    items,
    keys,
    linear,
    objects,
    published,
    sequences,
    simulations,
    solvers,
    sweeps,
    tables,
    transcendental,
    vectors,
    windows,
)
from benchmarks.programs import Program, definite, drawn, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[Any]

GROUP = "loops"


def chosen(size: int, values: int, seed: int = 1) -> Array:
    """Draw int64 numbers from 0 up to a limit."""
    return np.random.default_rng([seed, size, values]).integers(0, values, size)


def small(size: int, values: int, seed: int = 1) -> Array:
    """As `chosen`, in uint8."""
    return chosen(size, values, seed).astype(np.uint8)


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


def waves(*shape: int) -> Array:
    """Make complex numbers around zero."""
    return drawn(*shape) - 0.5 + 1j * (drawn(*shape)[::-1] - 0.5)


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


def symmetric(size: int) -> tuple[Any, ...]:
    """Make two numbers and three matrices."""
    return 1.5, 1.2, drawn(size, size + 1), drawn(size, size), drawn(2, size, size + 1)[1]


def links(size: int) -> Array:
    """Make a matrix of links between pages, whose columns sum to one."""
    matrix: Array = (drawn(size, size) < 4.0 / size) + np.eye(size)
    matrix /= matrix.sum(axis=0)
    return matrix


def link_lists(size: int) -> tuple[Any, ...]:
    """Make lists of links between pages, one after another."""
    starts, targets, *_ = sparse(size)
    return starts, targets, 0.85, 1e-9


def ints(size: int, most: int) -> list[int]:
    """Make Python's ints, each less than another one."""
    found: list[int] = np.random.default_rng([3, size]).integers(0, most, size).tolist()
    return found


def overdetermined(size: int, unknowns: int = 6) -> tuple[Any, ...]:
    """Make more equations than unknowns."""
    x = drawn(size, unknowns) - 0.5
    return x, x @ np.arange(-1.0, unknowns - 1.0) + 0.1 * drawn(size)


def clusters(size: int, count: int = 4) -> tuple[Any, ...]:
    """Make points around some centres, and the first guess of these."""
    middles = 8.0 * drawn(count, 2)
    points = middles[chosen(size, count)] + drawn(size, 2)
    return points, points[:count]


def mixture(size: int) -> Array:
    """Make draws from two normal distributions."""
    rng = np.random.default_rng([1, size])
    return np.where(rng.random(size) < 0.4, rng.normal(-1.0, 0.5, size), rng.normal(2.0, 0.8, size))


def transport(size: int) -> tuple[Any, ...]:
    """Make costs, and what comes from each row and goes to each column."""
    rows, columns = drawn(2, size) + 0.1
    return drawn(size, size), rows / rows.sum(), columns / columns.sum(), 0.1, 1e-6


def decisions(size: int, actions: int = 3) -> tuple[Any, ...]:
    """Make rewards of actions in states, and where they lead."""
    chances = drawn(actions, size, size)
    return drawn(actions, size), chances / chances.sum(axis=2, keepdims=True), 0.8, 1e-6


def states(length: int, size: int) -> tuple[Any, ...]:
    """Make a sequence of inputs, and the weights and biases of a cell with four gates."""
    return (
        drawn(length, size) - 0.5,
        drawn(4 * size, 2 * size) - 0.5,
        drawn(4 * size) - 0.5,
    )


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
        row(tables.smith_waterman_int32, lambda n: (small(n, 4), small(n + 5, 4, 2)), 150, 8),
        row(tables.edit_distance,      lambda n: (chosen(n, 4), chosen(n + 5, 4, 2)), 150, 8),
        row(tables.viterbi,            chain, 800, 4),
        row(tables.knapsack,           lambda n: (chosen(n, 40) + 1, chosen(n, 90, 2), 25 * n), 50, 5),
        row(keys.counted,              lambda n: (ints(n, 100),), 50000, 1000),
        row(keys.most_often,           lambda n: (ints(n, 10**6),), 50000, 1000),
        row(keys.weighed,              lambda n: (ints(n, 1000), drawn(n).tolist()), 50000, 1000),
        row(keys.repeated,             lambda n: (ints(n, 10**6),), 50000, 1000),
        row(keys.two_sum,              lambda n: (ints(n, 10**6), -1), 50000, 1000),
        row(keys.parts_of_sum,         lambda n: (ints(n, 100), 1000), 50000, 1000),
        row(keys.longest_collatz,      lambda n: (n,), 20000, 300),
        row(sequences.crc,             lambda n: (chosen(n, 256), crc_table()), 50000, 100),
        row(sequences.crc_with_ints,   lambda n: (chosen(n, 256), crc_table()), 50000, 100),
        row(sequences.crc_uint32,      lambda n: (small(n, 256), crc_table().astype(np.uint32)), 50000, 100),
        row(sequences.crc_16,          lambda n: (small(n, 256), 0x8408), 10000, 100),
        row(sequences.smoothing_float32, lambda n: (drawn(n).astype(np.float32), 0.3), 100000, 50),
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
        row(generators.product_by_sums, lambda n: (drawn(n, n), drawn(n, n), np.zeros((n, n))), 50, 5),
        row(generators.primes,         lambda n: (n,), 8000, 30),
        row(generators.moving_means,   lambda n: (drawn(n), 20), 4000, 40),
        row(generators.nearest,        lambda n: (drawn(n, 3), drawn(8, 3)), 1000, 10),
        row(generators.correlation,    lambda n: (drawn(n), drawn(n + 1)[:n]), 20000, 20),
        row(items.vectorised,          lambda n: (drawn(n),), 100000, 2000, 20),
        row(items.array_of_comprehension, lambda n: (drawn(n),), 100000, 2000, 20),
        row(items.from_iterator,       lambda n: (drawn(n),), 100000, 2000, 20),
        row(items.array_of_map,        lambda n: (drawn(n),), 100000, 2000, 20),
        row(items.appended,            lambda n: (drawn(n),), 100000, 2000, 20),
        row(items.accumulated,         lambda n: (drawn(n),), 100000, 2000, 20),
        row(items.farthest,            lambda n: (drawn(n, 2),), 100000, 2000, 20),
        row(items.over_product,        lambda n: (drawn(n, n),), 300, 50, 5),
        row(items.over_places,         lambda n: (drawn(n, n),), 300, 50, 5),
        row(items.enumerated,          lambda n: (drawn(n, n),), 300, 50, 5),
        row(items.over_flat,           lambda n: (drawn(n, n),), 300, 50, 5),
        row(simulations.pi_by_random,  lambda n: (n,), 100000, 2000, 20),
        row(simulations.metropolis_by_random, lambda n: (n,), 100000, 2000, 20),
        row(simulations.dice,          lambda n: (n,), 100000, 2000, 20),
        row(simulations.walk_by_choice, lambda n: (n,), 20000, 2000, 20),
        row(simulations.trajectory,    lambda n: (n,), 10000, 500, 5),
        row(simulations.rows_of_comprehensions, lambda n: (drawn(n, n),), 300, 50, 5),
        row(simulations.list_returned, lambda n: (drawn(n),), 100000, 2000, 20),
        row(simulations.slopes,        lambda n: (drawn(n),), 100000, 2000, 20),
        row(complex_numbers.mandelbrot_complex, lambda n: (n, 50), 80, 8),
        row(complex_numbers.julia,     lambda n: (waves(n, n) * 1.5, -0.4 + 0.6j, 50), 80, 8),
        row(complex_numbers.fourier_butterflies, lambda n: (waves(n),), 4096, 16),
        row(complex_numbers.fourier_sums, lambda n: (waves(n),), 150, 8),
        row(complex_numbers.newton_roots, lambda n: (n, 30), 60, 6),
        row(complex_numbers.durand_kerner, lambda n: (drawn(n) + 0.5, 40), 25, 6),
        row(sweeps.jacobi_1d_slices,   lambda n: (drawn(n), 400), 2000, 50, 8),
        row(sweeps.jacobi_2d_slices,   lambda n: (drawn(n, n), 50), 250, 20, 5),
        row(sweeps.jacobi_2d_swapped,  lambda n: (drawn(n, n), 100), 150, 20, 5),
        row(sweeps.heat_3d_slices,     lambda n: (drawn(n, n, n), 20), 40, 8, 5),
        row(sweeps.fdtd_2d_slices,     lambda n: field(n, 50), 250, 20, 5),
        row(sweeps.wave,               lambda n: (drawn(n), 1000), 1000, 50, 8),
        row(sweeps.burgers,            lambda n: (drawn(n), 500), 1000, 50, 8),
        row(sweeps.red_black,          lambda n: (drawn(n, n), 20), 120, 12, 6),
        row(sweeps.seidel_rows,        lambda n: (drawn(n, n), 5), 120, 12, 6),
        row(sweeps.adi_columns,        lambda n: (drawn(n, n), 20), 120, 12, 6),
        row(sweeps.deriche_columns,    lambda n: (0.25, drawn(n, n)), 500, 40, 8),
        row(sweeps.life_slices,        lambda n: (chosen(n * n, 2).reshape(n, n), 50), 200, 20, 5),
        row(sweeps.convolution_shifts, lambda n: (drawn(n, n), drawn(9, 9)), 120, 20, 12),
        row(sweeps.convolution_windows, lambda n: (drawn(n, n), drawn(3, 3)), 80, 20, 8),
        row(sweeps.mandelbrot_rows,    lambda n: (n, 50), 150, 20, 8),
        row(sweeps.n_body_rows,        lambda n: bodies(n, 20), 60, 10, 3),
        row(sweeps.n_body_pairs,       lambda n: bodies(n, 10), 30, 6, 3),
        row(vectors.cholesky_dots,     lambda n: (definite(n),), 200, 20, 6),
        row(vectors.lu_dots,           lambda n: (well_conditioned(n),), 180, 20, 6),
        row(vectors.lu_rows,           lambda n: (well_conditioned(n),), 180, 20, 6),
        row(vectors.lu_updates,        lambda n: (well_conditioned(n),), 200, 30, 6),
        row(vectors.triangular_solve_dots, triangular, 5000, 400, 12),
        row(vectors.triangular_product_dots, lambda n: (1.5, drawn(n, n), drawn(n, n + 1)), 150, 20, 5),
        row(vectors.rank_k_rows,       lambda n: (1.5, 1.2, drawn(n, n), drawn(n, n + 1)), 120, 20, 5),
        row(vectors.rank_2k_rows,      lambda n: (1.5, 1.2, drawn(n, n), *drawn(2, n, n + 1)), 80, 20, 5),
        row(vectors.symmetric_product_rows, symmetric, 100, 20, 5),
        row(vectors.matrix_product_rows, lambda n: (drawn(n, n), drawn(n, n)), 120, 20, 5),
        row(vectors.gram_schmidt_columns, lambda n: (drawn(n + 20, n),), 150, 20, 5),
        row(vectors.durbin_slices,     toeplitz, 6000, 400, 10),
        row(vectors.sparse_product_slices, sparse, 8000, 400, 20),
        row(vectors.conjugate_gradients_steps, lambda n: (definite(n), drawn(n), 100), 300, 20, 5),
        row(vectors.power_steps,       lambda n: (definite(n), 200), 200, 20, 5),
        row(vectors.floyd_warshall_rows, weights, 130, 20, 6),
        row(vectors.viterbi_rows,      chain, 800, 60, 4),
        row(vectors.knapsack_rows,     lambda n: (chosen(n, 40) + 1, chosen(n, 90, 2) * 1.0, 25 * n), 300, 20, 5),
        row(vectors.smith_waterman_diagonals, lambda n: (chosen(n, 4), chosen(n, 4, 2)), 2000, 100, 8),
        row(vectors.lstm_steps,        lambda n: states(300, n), 32, 8, 3),
        row(vectors.kalman_vectors,    lambda n: (drawn(n), 1e-5, 0.01), 3000, 100, 20),
        row(vectors.runge_kutta_vectors, lambda n: (drawn(n), 0.01, 500), 1000, 20, 5),
        row(vectors.lorenz,            lambda n: (drawn(3), 0.005, n), 10000, 200, 20),
        row(vectors.moving_sums,       lambda n: (drawn(n), 30), 10000, 200, 50),
        row(vectors.filter_bank,       lambda n: (drawn(n), drawn(16)), 10000, 200, 20),
        row(vectors.descent,           lambda n: (drawn(n, 8), drawn(n), 0.01, 10), 1000, 50, 5),
        row(vectors.distances,         lambda n: (drawn(n, 3),), 120, 20, 5),
        row(windows.box_filter,        lambda n: (drawn(n, n),), 100, 20, 6),
        row(windows.local_contrast,    lambda n: (drawn(n, n), 1), 60, 12, 6),
        row(windows.median_windows,    lambda n: (drawn(n, n),), 50, 12, 6),
        row(windows.pooled,            lambda n: (drawn(n, n),), 200, 20, 6),
        row(windows.template_distances, lambda n: (drawn(n, n), drawn(5, 5)), 80, 20, 8),
        row(transcendental.logistic_loss, lambda n: (drawn(n) * 4 - 2, drawn(2, n)[1]), 10000, 500, 20),
        row(transcendental.damped_wave, lambda n: (drawn(n) * 10, 0.3, 5.0), 10000, 500, 20),
        row(transcendental.kernel_matrix, lambda n: (drawn(n, 2), 0.1), 150, 20, 5),
        row(transcendental.great_circles, lambda n: (drawn(n), drawn(2, n)[1]), 10000, 500, 20),
        row(transcendental.neuron_layer, lambda n: (drawn(n).astype("f4"), drawn(n, n).astype("f4")), 200, 30, 8),
        row(objects.heat_object,       lambda n: (drawn(n, n), 5), 100, 10),
        row(objects.kalman_object,     lambda n: (drawn(n),), 2000, 100, 10),
        row(objects.neuron_object,     lambda n: (n,), 20000, 1000, 50),
        row(objects.controller_object, lambda n: (drawn(n),), 10000, 500, 20),
        row(objects.planet_objects,    lambda n: (drawn(n, 3), drawn(n, 3), 200), 20, 5, 2),
        row(objects.particle_objects,  lambda n: (drawn(n), 100), 1000, 50, 5),
        row(objects.array_bodies,      lambda n: (drawn(n, 3), drawn(n, 3), 100), 20, 5, 2),
        row(objects.array_particles,   lambda n: (drawn(n, 3), drawn(n, 3), 20), 500, 50, 5),
        row(objects.array_elements,    lambda n: (drawn(n, 3), drawn(n, 3), 20), 500, 50, 5),
        row(objects.array_bound,       lambda n: (drawn(n, 3), drawn(n, 3), 20), 500, 50, 5),
        row(solvers.laplace,           lambda n: (drawn(n, n), 0.1), 500, 100, 20, 6),
        row(solvers.relaxation,        lambda n: (drawn(n, n), 1e-4, 1.5), 40, 6),
        row(solvers.conjugate_gradients, lambda n: (definite(n), drawn(n), 1e-8), 300, 30, 6),
        row(solvers.power_iteration,   lambda n: (definite(n), 1e-10), 300, 30, 6),
        row(solvers.pagerank,          lambda n: (links(n), 0.85, 1e-9), 300, 30, 6),
        row(solvers.pagerank_sparse,   link_lists, 500, 10),
        row(solvers.kepler,            lambda n: (6.0 * drawn(n), 0.6), 2000, 10),
        row(solvers.newton_arrays,     lambda n: (50.0 * drawn(n) + 1.0, 1e-10), 10000, 300, 10),
        row(solvers.bisections,        lambda n: (0.98 * drawn(n) + 0.01,), 300, 3),
        row(solvers.line_search,       lambda n: (*overdetermined(n), 1e-8), 2000, 100, 10),
        row(solvers.rosenbrock,        lambda n: (-1.2, 1.0, n), 2000, 20),
        row(solvers.lasso,             lambda n: (*overdetermined(n), 1.0, 1e-6), 2000, 100, 10),
        row(solvers.k_means,           clusters, 5000, 200, 20),
        row(solvers.k_means_loops,     clusters, 500, 10),
        row(solvers.two_gaussians,     lambda n: (mixture(n), 1e-6), 5000, 200, 20),
        row(solvers.sinkhorn,          transport, 100, 20, 5),
        row(solvers.annealing,         lambda n: (drawn(n, 2), 50 * n, 1), 50, 5),
        row(solvers.ising,             lambda n: (2 * chosen(n * n, 2).reshape(n, n) - 1, 0.4, 5, 1), 40, 5),
        row(solvers.metropolis,        lambda n: (mixture(50), n, 1), 1000, 10),
        row(solvers.van_der_pol,       lambda n: (2.0, float(n), 1e-6), 20, 1),
        row(solvers.adaptive_runge_kutta, lambda n: (drawn(2, n), 1.0, 1e-4), 1000, 100, 5),
        row(solvers.value_iteration,   decisions, 60, 5),
        row(published.gauss_seidel,    lambda n: (well_conditioned(n), drawn(n), 100), 60, 6),
        row(published.pi_by_own_draws, lambda n: (n, 12345), 20000, 20),
        row(published.time_warping,    lambda n: (drawn(n), drawn(n)[::-1].copy()), 150, 6),
        row(published.interpolation,   lambda n: (np.sort(drawn(n)), drawn(2, n)[1], drawn(3, n)[2]), 3000, 20),
        row(published.quicksort,       lambda n: (drawn(n),), 5000, 20),
        row(published.heapsort,        lambda n: (drawn(n),), 3000, 20),
        row(published.median_filter,   lambda n: (drawn(n, n),), 50, 5),
        row(published.bilateral_filter, lambda n: (drawn(n, n), 3, 8.0, 0.02), 30, 5),
        row(published.labels,          lambda n: (drawn(n, n) < 0.55,), 60, 6),
    )
}
# fmt: on

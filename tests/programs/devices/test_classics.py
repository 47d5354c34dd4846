"""The loop classics of the benchmarks, restated with CuPy: grids, solvers, recurrences; bits and memory are eager CuPy's."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

import pytest

from benchmarks.cases.loops import LOOPS
from tests.support.cupy_host import Host
from tests.support.restated import check_restated, restated, sending

TURNS = {"steps", "most", "sweeps"}  # parameters that say how often a loop turns
MOST_TURNS = 4
# The first three have random numbers, which the test device has not; the others launch ten thousand kernels in a call.
LEFT_OUT = {"annealing", "ising", "metropolis", "julia", "value_iteration"}
# Those of array statements, which are one graph.
WHOLE = set("""
    jacobi_1d_slices jacobi_2d_slices jacobi_2d_swapped heat_3d_slices wave burgers red_black seidel_rows
    life_slices convolution_shifts convolution_windows mandelbrot_rows n_body_rows cholesky_dots lu_dots lu_rows lu_updates
    triangular_solve_dots triangular_product_dots rank_k_rows rank_2k_rows symmetric_product_rows matrix_product_rows
    gram_schmidt_columns durbin_slices conjugate_gradients_steps power_steps floyd_warshall_rows runge_kutta_vectors
    lorenz moving_sums filter_bank descent
""".split())  # fmt: skip


@functools.cache
def module_of(name: str, cupy: Any) -> Any:
    """A module of the benchmarks, with CuPy for NumPy."""
    return restated(sys.modules[name], cupy)


def few_turns(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with few turns of a loop whose number is one."""
    names = list(inspect.signature(function).parameters)
    return tuple(
        min(value, MOST_TURNS) if name in TURNS else value
        for name, value in zip(names, arguments, strict=True)
    )


@pytest.mark.parametrize("name", [one for one in LOOPS if one.partition(".")[2] not in LEFT_OUT])
def test_a_classic(host: Host, name: str) -> None:
    """At its smallest size: what is captured, and what is left to CuPy."""
    program = LOOPS[name]
    function = getattr(module_of(program.function.__module__, host.cupy), program.function.__name__)
    make = sending(lambda: few_turns(function, program.make_args(program.sizes[-1])), host.cupy)
    compiled = check_restated(host, function, make)
    assert compiled.stats.hits
    if function.__name__ in WHOLE:
        assert not compiled.breaks
        assert compiled.graphs

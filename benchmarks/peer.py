"""Runs in a rival's environment: `python -m benchmarks.peer NAME CASE SIZE SECONDS`, JSON out."""

from __future__ import annotations

import importlib
import json
import sys
import time
import types
import warnings
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.cases import CASES
from benchmarks.cases.loops import LOOPS
from benchmarks.harness import same_bits, timed

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.cases import Case
    from benchmarks.programs import Program

    # A rival is a callable, and what turns a NumPy argument into what it is called with.
    Rival = tuple[Callable[..., Any], Callable[[Any], Any]]


def as_it_is(argument: Any) -> Any:
    """Give the argument."""
    return argument


def rebound(function: Callable[..., Any], names: dict[str, Any]) -> Callable[..., Any]:
    """Make the function again with other globals, and the functions it calls too."""
    assert isinstance(function, types.FunctionType)
    scope = dict(function.__globals__) | names
    for name in function.__code__.co_names:
        if isinstance(scope.get(name), types.FunctionType):
            scope[name] = rebound(scope[name], names)
    return types.FunctionType(function.__code__, scope, function.__name__)


def numba(case: Case | Program) -> Rival:
    """Compile by Numba, without its object mode; functions called are compiled too."""
    njit = importlib.import_module("numba").njit
    assert isinstance(case.function, types.FunctionType)
    scope = case.function.__globals__
    helpers = {
        name: njit(scope[name])
        for name in case.function.__code__.co_names
        if isinstance(scope.get(name), types.FunctionType)
    }
    return njit(types.FunctionType(case.function.__code__, scope | helpers)), as_it_is


def jax(case: Case) -> Rival:
    """Compile by JAX, with its own NumPy in the place of `np`."""
    library = importlib.import_module("jax")
    library.config.update("jax_enable_x64", True)
    numpy = importlib.import_module("jax.numpy")
    static = tuple(i for i, a in enumerate(case.make_args(case.quick[0])) if isinstance(a, int))
    compiled = library.jit(rebound(case.function, {"np": numpy}), static_argnums=static)

    def run(*args: Any) -> Any:
        return library.block_until_ready(compiled(*args))

    return (
        run,
        lambda argument: numpy.asarray(argument) if isinstance(argument, np.ndarray) else argument,
    )


def numexpr(case: Case) -> Rival:
    """Evaluate the string that was written for numexpr."""
    evaluate = importlib.import_module("numexpr").evaluate
    text = case.numexpr
    assert text is not None
    names = case.function.__code__.co_varnames

    def run(*args: Any) -> Any:
        result = evaluate(text, local_dict=dict(zip(names, args, strict=False)))
        return result if result.ndim else result[()]

    return run, as_it_is


def torch(case: Case) -> Rival:
    """Compile by torch.compile, which traces NumPy code too."""
    return importlib.import_module("torch").compile(case.function), as_it_is


RIVALS = {"numba": numba, "jax": jax, "numexpr": numexpr, "torch": torch}


def main() -> None:
    """Time one rival on one program against eager NumPy; print one line of JSON."""
    name, case_name, size, seconds = sys.argv[1:]
    warnings.simplefilter("ignore")
    case: Any = {**CASES, **LOOPS}[case_name]
    clock = time.process_time if case_name in LOOPS else time.perf_counter  # as ours is timed
    try:
        rival, convert = RIVALS[name](case)
        given = tuple(map(convert, case.make_args(int(size))))
        started = time.perf_counter()
        result = rival(*given)
        first_call = time.perf_counter() - started
        reference = case.make_args(int(size))
        expected = case.function(*reference)
        exact = same_bits((expected, *reference), (result, *given))
        row = timed(case, int(size), rival, float(seconds), first_call, "", convert, clock)
    except Exception as error:  # noqa: BLE001 - whatever a rival raises is its result
        text = (str(error).strip() or "?").splitlines()[0]
        print(json.dumps({"failed": f"{type(error).__name__}: {text}"[:200]}))
        return
    print(
        json.dumps(
            {
                "version": version(name),
                "numpy": np.__version__,
                "exact": exact,
                "speed": row.speed,
                "median": row.other.median,
                "least": row.other.least,
                "eager": row.eager.median,
                "first_call": first_call,
            }
        )
    )


if __name__ == "__main__":
    main()

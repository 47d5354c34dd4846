"""Functions whose bits depend on how memory lies: NumPy has vector code for what is dense, scalar code for the rest."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from ufuse import decorator

FUNCTIONS = [np.log, np.exp, np.sin, np.log1p, np.arctan, np.tanh, np.cbrt]
LINES: dict[str, Callable[[Any], Any]] = {
    "dense": lambda a: a,
    "reversed": lambda a: a[::-1],
    "every second": lambda a: a.repeat(2)[::2],
    "every second, reversed": lambda a: a.repeat(2)[::-2],
}
PLANES: dict[str, Callable[[Any], Any]] = {
    "dense": lambda a: a,
    "turned": lambda a: a.copy().T.reshape(a.shape, order="F").copy("F"),
    "rows reversed": lambda a: a[::-1],
    "columns reversed": lambda a: a[:, ::-1],
    "every second column": lambda a: a.repeat(2, axis=1)[:, ::2],
}


def assigned(function: Any) -> Callable[..., Any]:
    """The result is copied into memory that is there."""

    def program(a: Any, b: Any) -> Any:
        a[:] = function(b)
        return a

    return program


def written(function: Any) -> Callable[..., Any]:
    """The function writes into memory that is there."""

    def program(a: Any, b: Any) -> Any:
        function(b + 1.0, out=a)
        return a

    return program


def added(function: Any) -> Callable[..., Any]:
    """The result is used by something else that writes."""

    def program(a: Any, b: Any) -> Any:
        a += function(b) * 1.5
        return a

    return program


@pytest.mark.parametrize("make", [assigned, written, added])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_bits_are_those_of_the_loop_that_numpy_takes(make: Any, function: Any) -> None:
    """Dense, strided and reversed memory on both sides, also of a single number: every byte is eager's."""
    plain = make(function)
    compiled = ufuse.compile(plain)
    random = np.random.default_rng(0)
    shapes = [((n,), LINES) for n in (1, 3, 8, 100)] + [((3, 5), PLANES), ((1, 1), PLANES)]
    found = []
    with np.errstate(all="ignore"):
        for (shape, views), dtype in itertools.product(shapes, ("f8", "f4")):
            values = (random.standard_normal(shape) * 3).astype(dtype)
            for one, other in itertools.product(views, views):
                results = [
                    f(views[one](np.zeros(shape, dtype)), views[other](values)).tobytes()
                    for f in (plain, compiled, compiled)
                ]
                if len(set(results)) > 1:
                    found.append((shape, dtype, one, other))
    assert not found


def test_a_flag_that_only_strided_memory_raises() -> None:
    """The reference backend tries a graph on copies that lie in memory as the arrays do: nothing is written twice."""

    def program(a: Any, b: Any) -> Any:
        b[:-1] += b[1:]
        return a @ b

    compiled = ufuse.compile(program, backend="reference")
    a = np.array([2.04, -2.56, -0.0, 1e-310])
    for _ in range(3):
        plainly, tried = (np.linspace(0.1, 0.9, 9)[1::2] for _ in range(2))
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(a, plainly)
            compiled(a, tried)
        assert tried.tolist() == plainly.tolist()


def finite(a: Any, b: Any) -> None:
    b[::2] = np.isfinite(a[::2])


def infinite(a: Any, b: Any) -> None:
    b[::3] = np.isinf(a[::3])


def not_a_number(a: Any, b: Any) -> None:
    b[::-2] = np.isnan(a[::2])


def negative(a: Any, b: Any) -> None:
    b[::-1] = np.signbit(a)


@pytest.mark.parametrize("function", [finite, infinite, not_a_number, negative])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kinds_of_numbers_in_strided_memory(
    function: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy's own loop may be wrong there; plain Python's comes from new memory."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    a = np.linspace(-1.0, 1.0, 99).astype(dtype)
    a[::5], a[::7] = np.nan, np.inf
    plain, found = np.zeros(99, bool), np.zeros(99, bool)
    function(a, plain)
    ufuse.compile(function)(a, found)
    assert plain.tobytes() == found.tobytes()

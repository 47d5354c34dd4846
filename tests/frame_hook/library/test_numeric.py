"""Python's `math` beside arrays of both libraries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ufuse
from tests.support.cupy_host import Host


def scaled(a: Any, x: Any) -> Any:
    """An array by a function of an element of NumPy's, then another one."""
    return x * math.sqrt(a[0]) + 1


def test_elements_of_numpys_where_cupy_is_imported(host: Host) -> None:
    """A function that has nothing to do with CuPy is one graph."""
    a = np.arange(1.0, 5.0)
    compiled = ufuse.compile(scaled)
    for _ in range(3):
        assert compiled(a, a).tobytes() == scaled(a, a).tobytes()
    assert not compiled.breaks
    assert compiled.stats.hits == 2


def test_elements_of_numpys_beside_cupys_arrays(host: Host) -> None:
    """They are read by the host, and numbers of CuPy's kernels, with NumPy's dtype."""
    cp = host.cupy
    a, x = np.arange(1.0, 5.0), cp.arange(4.0)

    def made(a: Any) -> Any:
        factor = math.sqrt(a[0])
        return cp.arange(4.0) * factor + 1

    namespace: dict[str, Any] = {"math": math, "cp": cp}
    exec("def of_module(a): return cp.arange(4.0) * math.sqrt(a[0]) + 1", namespace)
    for function, arguments in (
        (scaled, (a, x)), (made, (a,)), (namespace["of_module"], (a,)),
    ):  # fmt: skip
        compiled = ufuse.compile(function)
        for _ in range(3):
            result = compiled(*arguments)
            assert type(result) is cp.ndarray
            assert (result.get() == np.arange(4.0) + 1).all()
        assert compiled.stats.hits == 2
        assert not compiled.breaks


def test_an_element_that_is_returned(host: Host) -> None:
    """It is NumPy's scalar; what it is added to has the dtype that CuPy gives it."""
    cp = host.cupy
    a, x = np.arange(1.0, 5.0), cp.arange(4, dtype="f4")
    compiled = ufuse.compile(lambda a, x: (a[1], x * a[1] + a[-1], math.floor(a[2]) + x))
    for _ in range(3):
        element, product, total = compiled(a, x)
        assert type(element) is np.float64
        wanted = x * a[1] + a[-1], math.floor(a[2]) + x
        for one, other in zip((product, total), wanted, strict=True):
            assert one.dtype == other.dtype
            assert (one.get() == other.get()).all()


def test_functions_of_a_number_that_is_read(host: Host) -> None:
    """What the host waits for goes on into the graph through `math`."""
    x = host.cupy.arange(1.0, 5.0)
    compiled = ufuse.compile(lambda x: x / math.sqrt(float((x * x).sum())))
    for _ in range(3):
        assert np.allclose(compiled(x).get(), x.get() / math.sqrt(30))
    assert compiled.stats.hits == 2
    with np.testing.assert_raises(ValueError):
        ufuse.compile(lambda x: x * math.sqrt(-x[0].item()))(x)

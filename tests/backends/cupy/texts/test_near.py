"""`exact=False`: code written with CuPy whose float sums may have another order than CuPy's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.captured import launched, source_of
from tests.support.devices.comparing import same
from tests.support.devices.folds import LENGTHS

RNG = np.random.default_rng(31)


def softmax(x: Any) -> Any:
    """The usual one, in the words of any array library."""
    e = (x - x.max(axis=-1, keepdims=True)) * 0.5
    e = e * e + 1
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x: Any) -> Any:
    """Mean and variance of rows."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.var(axis=-1, keepdims=True) + 1e-5) ** 0.5


def totals(x: Any) -> Any:
    """Everything folded."""
    y = x * 0.1
    return y.sum(), y.max(), y.mean(), y.std(), y.prod()


def is_near(found: Any, wanted: Any) -> bool:
    """Whether arrays agree in all but their last bits."""
    close = 1e-12 if wanted.dtype == "f8" else 2e-6
    facts = [(one.dtype, one.shape, one.strides) for one in (found, wanted)]
    return facts[0] == facts[1] and np.allclose(found.get(), wanted.get(), close, close)


@pytest.mark.parametrize("function", [softmax, layer_norm])
@pytest.mark.parametrize("dtype", "fd")
def test_rows_are_one_kernel(host: Host, function: Callable[..., Any], dtype: str) -> None:
    """Near to CuPy's, the same bits in each run whatever thread is first; by default the bits are CuPy's."""
    compiled, exact = ufuse.compile(function, exact=False), ufuse.compile(function)
    for length in LENGTHS:
        x = host.cupy.asarray(RNG.normal(size=(3, length)).astype(dtype))
        wanted = function(x)
        results = []
        for order in ORDERS:
            with host.driver.running(order):
                results.append(compiled(x))
        assert all(is_near(one, wanted) for one in results)
        assert all(same(one, results[0]) for one in results)
        assert same(exact(x), wanted)
        assert launched(host, compiled, x) == 1 <= launched(host, exact, x)
    assert not compiled.breaks


def test_totals_are_two_kernels(host: Host) -> None:
    """One of many blocks, and one that folds what they leave; what needs a mean first comes behind."""
    compiled = ufuse.compile(totals, exact=False)
    for length in LENGTHS[1:]:
        x = host.cupy.asarray(RNG.normal(size=length))
        for _ in range(2):
            assert all(map(is_near, compiled(x), totals(x)))
    assert compiled.stats.hits


def test_elementwise_code_and_columns_keep_cupys_bits(host: Host) -> None:
    """Nothing is contracted, and other axes are folded as CuPy does."""

    def mixed(x: Any, y: Any) -> Any:
        z = x * y + x
        return z, z.sum(axis=0), (z > 0).sum(axis=-1), z.mean(axis=0)

    x, y = (host.cupy.asarray(RNG.normal(size=(65, 33)).astype("f4")) for _ in range(2))
    compiled = ufuse.compile(mixed, exact=False)
    for _ in range(2):
        assert all(map(same, compiled(x, y), mixed(x, y)))
    assert "__fmul_rn" in source_of(compiled)


def test_text(host: Host) -> None:
    """Graphs tell the code of both."""
    compiled = ufuse.compile(softmax, exact=False)
    compiled(host.cupy.ones((3, 5), "f4"))
    (graph,) = compiled.graphs
    assert graph.source("cupy", exact=False).count("__global__") == 1
    assert graph.source("cupy").count("__global__") == 1


module_level = ufuse.compile(layer_norm, exact=False)


def test_it_is_kept_in_copies(host: Host) -> None:
    """Pickles, copies and `explain` have the option."""
    x = host.cupy.asarray(RNG.normal(size=(3, 257)).astype("f4"))
    for again in (pickle.loads(pickle.dumps(module_level)), copy.deepcopy(module_level)):
        for _ in range(2):
            assert is_near(again(x), layer_norm(x))
        assert launched(host, again, x) == 1
    report = ufuse.explain(module_level, x)
    assert len(report.graphs) == 1

"""The reference executor against the same program written in NumPy."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from ufuse.graph.ops import OPS, Kind
from ufuse.graph.semantics import reference
from ufuse.graph.text import parse
from ufuse.graph.typing import infer


def run(text: str, *inputs: Any) -> Any:
    """The only output of a graph."""
    (result,) = reference.run(parse(text), *inputs)
    return result


def test_every_op_has_a_rule() -> None:
    """Each row of the op table is inferred and executed, inputs apart."""
    for op in OPS.values():
        if op.kind is not Kind.INPUT:
            assert op.name in infer.BY_NAME or op.kind in infer.BY_KIND
            assert op.name in reference.BY_NAME or op.kind in reference.BY_KIND


def test_index_and_views() -> None:
    """Views share the memory of what they view."""
    a = np.arange(12.0).reshape(3, 4)
    v = run("a: f8[n, m]; v = index a [n-1:-1:-1, new, 1]; return v", a)
    assert np.array_equal(v, a[::-1, None, 1])
    assert np.shares_memory(v, a)
    whole = run("a: f8[n, m]; v = index a [0, 0]; return v", a)
    assert isinstance(whole, np.ndarray)
    assert type(run("a: f8[n, m]; v = element a [0, 0]; return v", a)) is np.float64
    assert run(
        "a: f8[n, m]; t = transpose a axes=(1, 0); r = index t [1, :]; return r", a
    ).tolist() == [1, 5, 9]
    assert np.shares_memory(run("a: f8[n, m]; r = reshape a shape=(n*m,); return r", a), a)


def test_stores_write_real_memory() -> None:
    """A store gives the same array, changed."""
    a = np.arange(5.0)
    b = run("a: f8[n]; v = index a [0:n-1]; b = store a v at [1:n]; return b", a)
    assert b is a
    assert a.tolist() == [0, 0, 1, 2, 3]
    (c,) = reference.run(
        parse("a: f8[n]; t = call numpy.ndarray.sort(a) writes=(0,); b = item t index=1; return b"),
        a,
    )
    assert c is a


def test_loops_run() -> None:
    """The body runs while the condition holds; sizes may be whole numbers that change."""
    text = """
    x: f8[n]; i: int k
    t = loop x i condition={x: f8[n]; i: int k; c = scalar.lt i 4; return c} body={
      x: f8[n]; i: int k
      e = element x [k]
      s = store x e at [k+1]
      j = scalar.add i 1
      return s, j
    }
    r = item t index=0; j = item t index=1
    return r, j"""
    x = np.arange(5.0)
    result, last = reference.run(parse(text), x, 1)
    assert result is x
    assert x.tolist() == [0, 1, 1, 1, 1]
    assert last == 4


def test_branches_run() -> None:
    """One side runs."""
    text = (
        "c: bool; x: f8[n]; t = branch c x then={x: f8[n]; y = exp x; return y} "
        "otherwise={x: f8[n]; y = negative x; return y}; r = item t index=0; return r"
    )
    assert run(text, True, np.zeros(2)).tolist() == [1, 1]
    assert run(text, False, np.ones(2)).tolist() == [-1, -1]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_fresh_arrays_own_their_memory(order: tuple[int, ...]) -> None:
    """Memory order is as asked, without a base."""
    z = run(
        f"a: f8[n]; z = full a shape=(2, 3, n) dtype=f8 order={order}; return z", np.arange(4.0)
    )
    assert z.base is None
    assert np.argsort([-s for s in z.strides]).tolist() == list(order)
    assert z[1, 2].tolist() == [0, 1, 2, 3]


def test_scalars_are_python() -> None:
    """Python numbers stay Python numbers."""
    assert run("a: float; b = scalar.mul a 2.0; return b", 1.5) == operator.mul(1.5, 2.0)
    assert type(run("a: int k; b: f8[k]; c = size 2*k; return c", 3, np.ones(3))) is int


def test_wrong_inputs_are_refused() -> None:
    """The number of inputs, of axes, and equal sizes are checked."""
    with pytest.raises(TypeError, match="1 inputs"):
        run("a: f8[n]; return a")
    with pytest.raises(ValueError, match="2 axes"):
        run("a: f8[n]; return a", np.ones((2, 2)))
    with pytest.raises(ValueError, match="a size is 3"):
        run("a: f8[n]; b: f8[n]; return a", np.ones(2), np.ones(3))

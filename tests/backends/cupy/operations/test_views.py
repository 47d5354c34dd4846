"""Which of CuPy's methods give the array itself, a view or new memory, for arrays of every layout: what eager CuPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same
from tests.support.cupy_host import Host
from tests.support.restated import check_restated, import_late_modules

METHODS = """
    x.T | x.T.T | x.transpose() | x.transpose(*range(x.ndim)) | x.reshape(x.shape) | x.reshape(-1) | x.reshape(1, -1)
    x.reshape(x.size, 1) | x.T.reshape(-1) | x.T.reshape(x.shape) | x.ravel() | x.T.ravel() | x[...] | x[()] | x[None][0]
    x.copy() | x.flatten() | x.view() | x.squeeze() | x.swapaxes(0, 0) | x.real | +x | x.astype(x.dtype) | x.astype('f4')
    x.astype(x.dtype, copy=False) | x.T.astype('f4') | x.take(0) | x.T + 1 | x.T.copy() | x.max(axis=0, keepdims=True)
    cp.asarray(x) | cp.array(x) | cp.ascontiguousarray(x) | cp.broadcast_to(x, x.shape) | cp.atleast_1d(x) | cp.reshape(x, -1)
    cp.moveaxis(x, 0, -1) | cp.expand_dims(x, 0) | cp.zeros_like(x.T) | cp.ones_like(x) | cp.full_like(x, 2) | cp.where(x > 0, x, 0)
    x.flags.c_contiguous | x.T.flags.f_contiguous | x.flags["C_CONTIGUOUS"] | x[None].flags.owndata | x.flags.forc
    x.flags["W"] | x.strides | x.T.strides | x.argmax() | x.sum() | x.T.sum(axis=0) | x.cumsum() | x @ x | x.dot(x) | cp.sort(x) | cp.diff(x) | list(x) | x.item()
""".replace("\n", "|").split("|")
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "no axes": lambda cp: cp.asarray(2.5),
    "one axis": lambda cp: cp.arange(3.0),
    "rows": lambda cp: cp.arange(6.0).reshape(2, 3),
    "columns": lambda cp: cp.asarray(np.asfortranarray(np.arange(6.0).reshape(2, 3)), order="F"),
    "turned": lambda cp: cp.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "gaps": lambda cp: cp.arange(8.0)[::2],
    "backwards": lambda cp: cp.arange(5.0)[::-1],
    "nothing": lambda cp: cp.zeros(0),
    "nothing backwards": lambda cp: cp.arange(4.0)[:0][::-2],
    "no elements": lambda cp: cp.zeros((0, 3)),
    "one row": lambda cp: cp.ones((1, 3)),
    "one column turned": lambda cp: cp.ones((3, 1)).T,
    "one element": lambda cp: cp.ones((1, 1)),
}


@pytest.mark.parametrize("method", [one.strip() for one in METHODS if one.strip()])
def test_what_a_method_gives(host: Host, method: str) -> None:
    """Of an argument, and of what the graph made; errors are CuPy's, too."""
    import_late_modules()
    namespace: dict[str, Any] = {"cp": host.cupy}
    exec(
        f"def f(x):\n  y = x\n  x = y * 1\n  made = {method}\n  x = y\n  return x, {method}, made",
        namespace,
    )
    function = namespace["f"]
    compiled = ufuse.compile(function)
    for make in LAYOUTS.values():
        array = make(host.cupy)
        check_same(
            function, compiled, lambda array=array: (array,), calls=2, modes=MODES[:1], copies=False
        )
    assert compiled.stats.traces


@pytest.mark.parametrize("statement", ["y *= 2", "y[...] = 3", "y -= y.sum()", "y *= 2; y += y"])
@pytest.mark.parametrize("name", ["sum", "max", "argmin"])
def test_written_totals(host: Host, name: str, statement: str) -> None:
    """What CUB folds as a whole is a view of what it made, and remains one when it is written."""
    import_late_modules()
    for given in ("", "keepdims=True", "axis=0", "axis=-1, keepdims=True"):
        namespace: dict[str, Any] = {}
        exec(f"def f(x):\n  y = x.{name}({given})\n  {statement}\n  return y", namespace)
        function = namespace["f"]
        compiled = ufuse.compile(function)
        for layout in ("one axis", "rows", "columns", "gaps", "one column turned"):
            x = LAYOUTS[layout](host.cupy)
            check_same(function, compiled, lambda x=x: (x,), calls=2, modes=MODES[:1], copies=False)
        assert compiled.stats.traces


def into_each(cp: Any, x: Any, y: Any) -> Any:
    made = cp.empty(x.shape)
    cp.copyto(made, x)
    cp.copyto(y, x * 2)
    cp.copyto(y[1:], x[0])
    cp.copyto(x, made.T.T, casting="no")
    return made


def test_copies_into_arrays(host: Host) -> None:
    """Of the same size and dtype, where eager CuPy copies memory, and of others."""
    cp = host.cupy
    x = np.arange(12.0).reshape(3, 4)
    compiled = check_restated(host, into_each, lambda: (cp, cp.asarray(x), cp.asarray(x[::-1])))
    assert not compiled.breaks
    compiled = check_restated(
        host, into_each, lambda: (cp, cp.asarray(x), cp.asarray(x).astype("f4"))
    )
    assert not compiled.breaks
    compiled = ufuse.compile(lambda x: cp.copyto(x[1:], x[:-1]))
    compiled(cp.zeros(5))
    assert "cupy.copyto of an array into itself" in compiled.breaks[0].reason


def test_broadcast_objects(host: Host) -> None:
    """`cupy.broadcast` knows the joint shape; `cross` and others ask it. One that leaves is a new object."""
    cp = host.cupy

    def joined(x: Any, y: Any) -> Any:
        found = cp.broadcast(x[:, None], y)
        shape = *found.shape, found.nd, found.size
        left = cp.broadcast(x, 2 * x)
        return cp.zeros(found.shape) + x[:, None], shape, left.shape, type(left)

    compiled = check_restated(host, joined, lambda: (cp.arange(3.0), cp.arange(4.0)))
    assert not compiled.breaks
    kept = ufuse.compile(lambda x: cp.broadcast(x, x[:, None]))
    for length in (2, 3, 4):
        made = kept(cp.arange(float(length)))
        assert type(made) is cp.broadcast
        assert made.shape == (length, length)
    assert not kept.breaks
    numbers = check_restated(host, lambda x: cp.broadcast(x, 2.0).shape, lambda: (cp.ones(3),))
    assert [one.code for one in numbers.breaks][:1] == ["numpy-call"]
    with pytest.raises(ValueError, match="shape"):
        compiled(cp.ones(3), cp.ones((2, 4, 4)))


def test_a_graph_with_a_reshape_that_copies_reads_back(host: Host) -> None:
    """The copy is CuPy's own, and what is computed around it kernels; its text is read again."""
    compiled = ufuse.compile(lambda x: (x.T.reshape(-1) * 2 + 1, x + 1))
    x = host.cupy.arange(6.0).reshape(2, 3)
    for _ in range(2):
        assert (compiled(x)[0] == x.T.reshape(-1) * 2 + 1).all()
    assert not compiled.breaks
    text = str(compiled.graphs[0])
    assert str(ufuse.Graph.parse(text)) == text
    assert "cupy.ndarray.reshape(" in text

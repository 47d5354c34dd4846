"""Kernels that a program makes itself, and NumPy's functions called with CuPy's arrays: in one graph with what is around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.devices.comparing import check, why_different

RNG = np.random.default_rng(17)
A = RNG.normal(size=(4, 5))


@pytest.fixture
def kernels(host: Host) -> Any:
    """Some kernels, in a namespace."""
    kernel = host.cupy.ElementwiseKernel

    class Kernels:
        squared = kernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared")
        typed = kernel("float32 x, T y", "float64 z, T w", "z = x * 2; w = y + 1", "typed")
        raw = kernel("raw T x, int64 n", "T y", "y = x[n - 1 - i]", "backwards")

    return Kernels


def test_elementwise_kernels(host: Host, kernels: Any) -> None:
    """With new results: one or several, of the kernel's dtypes; with numbers, and over a number of elements."""
    cp, squared, typed, raw = host.cupy, kernels.squared, kernels.typed, kernels.raw
    for dtype in "fd":
        x = cp.asarray(A.astype(dtype))
        check(lambda x: (squared(x * 2, x[0]) + 1, squared(x, 2.5)), x)
        check(lambda x: squared(x.T, x[:, 0]), x)
    x, n = cp.asarray(A.astype("f4")), cp.asarray([[1], [2], [3], [4]])
    compiled = ufuse.compile(lambda x, n: typed(x, n)[0] * 2 + typed(x + 1, n)[1])
    for _ in range(3):
        wanted = typed(x, n)[0] * 2 + typed(x + 1, n)[1]
        assert why_different(compiled(x, n), wanted) is None
    assert not compiled.breaks
    check(lambda v: raw(v * 2, 7, size=5) + 1, cp.arange(7.0))


def test_results_that_are_given(host: Host, kernels: Any) -> None:
    """A kernel writes into a new array, or an argument; what is read behind it is that."""
    cp, squared = host.cupy, kernels.squared

    def written(x: Any, y: Any) -> Any:
        z = x * 2
        found = squared(x, y, z)
        squared(z, 1.0, y)
        return z + y, found is z

    compiled = ufuse.compile(written)
    for _ in range(3):
        given = [(cp.asarray(A), cp.asarray(A[::-1].copy())) for _ in range(2)]
        assert why_different(compiled(*given[0]), written(*given[1])) is None
        assert why_different(given[0], given[1]) is None
    assert not compiled.breaks


def test_kernels_that_are_left_to_cupy(host: Host, kernels: Any) -> None:
    """Into views, and over what it reads; CuPy's exception for other lengths and dtypes."""
    cp, squared = host.cupy, kernels.squared

    def into_a_view(x: Any) -> Any:
        z = cp.zeros((4, 5))
        squared(x[1:], x[:-1], z[1:])
        squared(z, x, z)
        return z * 2

    compiled = ufuse.compile(into_a_view)
    x = cp.asarray(A)
    for _ in range(2):
        assert why_different(compiled(x), into_a_view(x)) is None
    assert compiled.breaks
    for other in (x[:, :2], cp.ones(5, "f4")):
        with pytest.raises((ValueError, TypeError)) as plain:
            squared(x, other)
        with pytest.raises(type(plain.value)) as ours:
            ufuse.compile(lambda x, y: squared(x, y) + 1)(x, other)
        assert str(ours.value) == str(plain.value)


def test_numpys_functions_of_cupys_arrays(host: Host) -> None:
    """They are CuPy's of the same name, in one graph."""
    cp = host.cupy

    def mixed(x: Any, y: Any) -> Any:
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        e /= np.sum(e, axis=-1, keepdims=True)
        joined = np.concatenate([e, np.multiply(y, 2, out=y.copy())])
        return (
            joined,
            np.where(x > 0, x, np.float64(0.5)),
            np.linalg.norm(x),
            np.clip(x, 0, 1) * np.pi,
            np.matmul(x, y.T),
        )

    arguments = cp.asarray(A), cp.asarray(A[::-1].copy())
    compiled = ufuse.compile(mixed)
    for _ in range(3):
        assert why_different(compiled(*arguments), mixed(*arguments)) is None
    assert not compiled.breaks
    assert len(compiled.graphs) == 1


def test_arrays_of_both_libraries_are_refused_as_by_cupy(host: Host) -> None:
    """With CuPy's exception."""
    x = host.cupy.asarray(A)
    compiled = ufuse.compile(lambda x, y: np.add(x, y) * 2)
    for _ in range(2):
        with pytest.raises(TypeError) as plain:
            np.add(x, A)
        with pytest.raises(TypeError) as ours:
            compiled(x, A)
        assert str(ours.value) == str(plain.value)


def test_reduction_kernels(host: Host) -> None:
    """By their own calls: of one array or several, along axes and of everything, of computed arrays and views."""
    cp = host.cupy
    length = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    chosen = cp.ReductionKernel(
        "T x, S mask", "T y", "mask ? x : 0", "a + b", "y = a", "0", "chosen"
    )
    count = cp.ReductionKernel("T m", "float32 n", "m ? 1.0 : 0.0", "a + b", "n = a", "0.0", "many")
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "", "largest")
    for dtype in "fdli":
        x = cp.asarray((A * 9).astype(dtype))
        check(lambda x: length(x * 2) + 1, x)
        check(lambda x: x / length(x, axis=1, keepdims=True) + length(x.T, axis=(0, 1)), x)
        check(lambda x: chosen(x, x[:, :1] > 0, axis=0) * 2, x)
        check(lambda x: count(x > 0, axis=-1) + largest(x[:, ::2], axis=1), x)


def test_reduction_kernels_that_are_left_to_cupy(host: Host) -> None:
    """Into arrays that are given, of numbers, and of nothing without an identity."""
    cp = host.cupy
    chosen = cp.ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "product_sum")
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "", "largest")
    x = cp.asarray(A)

    def into(x: Any, y: Any) -> Any:
        return chosen(x * 2, x, axis=0, out=y) + 1

    def of_a_number(x: Any, y: Any) -> Any:
        return chosen(x, 2.0, axis=1) * 2 + y[:4]

    for function in (into, of_a_number):
        compiled = ufuse.compile(function)
        for _ in range(3):
            wanted = function(x, cp.zeros(5))
            assert why_different(compiled(x, cp.zeros(5)), wanted) is None
    compiled = ufuse.compile(lambda x: largest(x * 2))
    for _ in range(3):
        with pytest.raises(ValueError, match="zero-size array"):
            compiled(x[:0])


def test_fused_functions(host: Host) -> None:
    """What `cupy.fuse` makes is called as the kernel that CuPy made of it for such arguments: from the second call on."""
    cp = host.cupy

    @cp.fuse()  # type: ignore[untyped-decorator]
    def rectified(x: Any, y: Any) -> Any:
        return cp.where(x > y, x * 2 + y, cp.sqrt(cp.abs(x)) - y)

    @cp.fuse(kernel_name="distance")  # type: ignore[untyped-decorator]
    def distance(x: Any, y: Any) -> Any:
        return cp.sum((x - y) * (x - y), axis=-1)

    @cp.fuse()  # type: ignore[untyped-decorator]
    def both(x: Any, scale: Any) -> Any:
        return x * scale, x + scale

    def program(x: Any, y: Any, scale: float) -> Any:
        one, other = both(rectified(x * 2, y), scale)
        return one + rectified(x, 2), other, distance(one, y) * 2, both(y, None or np.float32(2))

    compiled = ufuse.compile(program)
    for turn, dtype in enumerate("ffdd"):
        given = cp.asarray(A.astype(dtype)), cp.asarray(A[0].astype(dtype)), turn + 0.5
        assert why_different(compiled(*given), program(*given)) is None
    before = len(compiled.breaks)
    for _ in range(2):
        assert why_different(compiled(*given), program(*given)) is None
    rectified.clear_cache()  # what the function names may have changed since
    assert why_different(compiled(*given), program(*given)) is None
    assert len(compiled.breaks) == before
    assert compiled.stats.hits >= 3


def test_kernels_that_write_what_they_read(host: Host) -> None:
    """Parameters that are not constant, casts, and fused functions that work in place: CuPy's own calls, in order."""
    cp = host.cupy
    twice = cp.ElementwiseKernel("_non_const T x", "T y", "x = x * 2; y = x + 1", "twice")
    atomic = cp.ElementwiseKernel("raw T x, T y", "", "atomicAdd((T*)&x[0], y)", "into_first")

    @cp.fuse()  # type: ignore[untyped-decorator]
    def in_place(x: Any, y: Any) -> Any:
        x += y
        return x * 2

    def program(x: Any, y: Any) -> Any:
        before = x + 1
        first = twice(x) + x
        atomic(x, y)
        return before, first, x * 2, in_place(x, y) + x

    compiled = ufuse.compile(program)
    for _ in range(4):
        given = [(cp.arange(6.0), cp.ones(6)) for _ in range(2)]
        assert why_different(compiled(*given[0]), program(*given[1])) is None
        assert why_different(given[0], given[1]) is None

"""Elementwise code written with CuPy: traced, one kernel, and the bits of eager CuPy, on the test device."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.cupy_host.loops import NOT_CAPTURED, loops

RNG = np.random.default_rng(5)
SIZES = 0, 1, 31, 33, 255, 257, 4099
PARTS = 8  # of the loops: each compiles, and on a GPU eager CuPy compiles it too
A, B = RNG.normal(size=(2, 6, 7))


def same(result: Any, wanted: Any) -> bool:
    """Whether two arrays of CuPy's agree in type, shape, strides and every bit."""
    facts = [(type(x), x.dtype, x.shape, x.strides) for x in (result, wanted)]
    return facts[0] == facts[1] and result.get().tobytes() == wanted.get().tobytes()


def check(
    function: Callable[..., Any], *arguments: Any, kernels: int | None = 1, whole: bool = True
) -> Any:
    """Run a function plainly and compiled, twice, if `whole` without a break; returns the compiled one."""
    compiled = ufuse.compile(function)
    wanted = function(*arguments)
    for _ in range(2):
        assert same(compiled(*arguments), wanted)
    assert not whole or (compiled.stats.hits and not compiled.breaks)
    if kernels is not None:
        assert compiled.graphs[0].source("cupy").count("__global__") == kernels
    return compiled


def test_a_chain_is_one_kernel(host: Host) -> None:
    """Operators and functions of CuPy's become one launch, in which nothing waits."""
    cp = host.cupy

    def chain(x: Any, y: Any) -> Any:
        return cp.sqrt(abs(x * 2.5 + y) / 3) - y**2 + cp.maximum(x, 0.25)

    x, y = cp.asarray(A), cp.asarray(B)
    compiled = check(chain, x, y)
    host.device.counts.clear()
    compiled(x, y)
    assert host.device.counts["launch"] == 1
    assert not any(
        word in name for name in host.device.counts for word in ("Synchronize", "memcpy")
    )


@pytest.mark.parametrize("order", ORDERS)
def test_shapes_and_strides(host: Host, order: str) -> None:
    """Broadcasting, Fortran order, negative, zero and wide strides, in any order of threads."""
    cp = host.cupy
    x = cp.asarray(A)
    arrays = (
        x, x.T.copy().T, cp.asarray(np.asfortranarray(A)), x[::-1], x[:, ::2][:, :1], x[2], x[:, None, 3:4, None],
        cp.broadcast_to(x[0], (6, 7)), x[:0, :0].sum(axis=0), x[::2, ::3][:1],
    )  # fmt: skip
    before, host.driver.order = host.driver.order, order
    try:
        for one in arrays:
            for other in (x, x[::-1, ::-1]):
                try:
                    one + other
                except ValueError:
                    continue
                check(lambda a, b: (a + b) * a, one, other, kernels=None)
    finally:
        host.driver.order = before


@pytest.mark.parametrize("size", SIZES)
def test_sizes_share_a_graph(host: Host, size: int) -> None:
    """Another length is no other graph, and no elements are no launch."""
    cp = host.cupy
    check(lambda x: cp.exp(x) * x + 1, cp.arange(size, dtype="f4"), kernels=None)


@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_numbers_promote_as_in_cupy(host: Host, dtype: str) -> None:
    """Python's numbers are weak, NumPy's are not; exponents choose functions."""
    cp = host.cupy
    x = cp.asarray(np.array([0, 1, 1, 0]), dtype)
    for number in (2, 3.5, True, 1j, np.float64(2), np.float32(2), np.int8(3)):
        check(lambda a, number=number: a + number, x, kernels=None)
    for exponent in (2, 2.0, 3, -1.0, 0.5, True, np.float64(2)):
        check(lambda a, exponent=exponent: a**exponent, x, kernels=None, whole=x.dtype.kind in "fc")


@pytest.mark.parametrize("made", ["?hi", "BLe", "fdF"])
def test_casts(host: Host, made: str) -> None:
    """`astype` is part of a kernel, with C++'s conversions."""
    cp = host.cupy
    given = cp.asarray(np.array([0, 1, 2.75, -1.5, 100]))
    cases = [
        (ufuse.compile(eval(f"lambda a: a.astype({wanted!r})")), given.astype(dtype), wanted)  # noqa: S307  our text
        for wanted in made
        for dtype in ("?bhilBHILefd" if wanted != "F" else "?iLefdFD")
    ]
    with host.compiler.gathering():
        for compiled, x, wanted in cases:
            compiled(x)
            x.astype(wanted)
    for compiled, x, wanted in cases:
        assert same(compiled(x), x.astype(wanted)), (x.dtype, wanted)
        assert not compiled.breaks


@pytest.mark.parametrize("dtype", "fd")
def test_bits_that_arithmetic_would_change(host: Host, dtype: str) -> None:
    """What is subnormal, and the bits of a NaN, go from loop to loop as they go through memory in eager CuPy."""
    cp = host.cupy
    bits = {
        "f": (1, 5, 0x7FFFFF, 0x80000001, 0x807FFFFF, 0x7FC01234, 0xFFC00001, 0x3F800000),
        "d": (1, 5, 2**52 - 1, 2**63 + 1, 0x7FF8000000001234, 0xFFF8000000000001, 0x3FF0000000000000, 0),
    }[dtype]  # fmt: skip
    x = cp.asarray(np.array(bits, f"u{np.dtype(dtype).itemsize}").view(dtype))
    y = x[::-1].copy()
    check(lambda x, y: cp.nextafter(cp.nextafter(x, y), y), x, y)
    check(lambda x, y: cp.heaviside(cp.nextafter(x, y), cp.nextafter(y, x)), x, y)
    check(lambda x, y: cp.copysign(cp.heaviside(x, y), y), x, y)
    check(lambda x, y: cp.nextafter(cp.where(x > y, x, y), x), x, y)


def test_choices(host: Host) -> None:
    """`cupy.where` is part of a kernel, whatever its condition is."""
    cp = host.cupy
    x, y = cp.asarray(A), cp.asarray(B)
    check(lambda x, y: cp.where(x > y, x * 2, 0.5) + y, x, y)
    check(lambda x, y: cp.where(cp.floor(x), y, x) * (cp.where(x > 0, 1, 2)), x, y)
    check(lambda x, y: cp.where(x[0] < 0, x, y.astype("f4")), x, y, kernels=2)


def test_a_number_that_does_not_fit(host: Host) -> None:
    """CuPy's own error is raised, also where the number is known only when the graph runs."""
    cp = host.cupy
    added = ufuse.compile(lambda x, n: x + n)
    x = cp.ones(3, "u1")
    assert same(added(x, 7), x + 7)
    for wrong in (300, -1, 2**70):
        with pytest.raises(OverflowError):
            added(x, wrong)


@pytest.mark.parametrize("number", [-1, 300, 2**70])
def test_a_number_that_does_not_fit_an_unused_result(host: Host, number: int) -> None:
    """CuPy raises though nobody uses what would be computed, also where other numbers came before."""
    cp = host.cupy
    x = cp.arange(5, dtype="u1")
    for unused in (lambda x, n: x + n, lambda x, n: cp.maximum(x, n).sum(), lambda x, n: x > n):

        def doubled(x: Any, n: int, unused: Any = unused) -> Any:
            unused(x, n)
            return x * 2

        compiled = ufuse.compile(doubled)
        for given in (1, 2, number, 3, number):
            outcomes = [outcome(function, x, given) for function in (compiled, doubled)]
            assert outcomes[0] == outcomes[1]


def test_what_may_not_fit_is_computed_once(host: Host) -> None:
    """The same operation on the same number can raise at the first place only."""
    x = host.cupy.arange(5, dtype="u1")
    compiled = ufuse.compile(lambda x, n: (x + n) * (x + n))
    for number in (3, 4):
        assert same(compiled(x, number), (x + number) * (x + number))
    assert compiled.graphs[-1].source("cupy").count("// add") == 1


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The elements that a function gives, or its error."""
    try:
        return function(*arguments).tolist()
    except OverflowError as error:
        return str(error)


def test_numpy_arrays_beside_cupys_are_refused_by_cupy(host: Host) -> None:
    """A mixture ends the graph; CuPy raises what it raises."""
    cp = host.cupy
    added = ufuse.compile(lambda x, y: x + y)
    with pytest.raises(TypeError, match="Unsupported type"):
        added(cp.ones(3), np.ones(3))


def test_views_are_views(host: Host) -> None:
    """What is indexed or transposed shares memory with the argument, and numbers stay arrays."""
    cp = host.cupy
    x = cp.asarray(A)
    function = ufuse.compile(lambda x: (x[1:, ::2], x.T, x[0, 1], x))
    for result, wanted in zip(function(x), (x[1:, ::2], x.T, x[0, 1], x), strict=True):
        assert same(result, wanted)
        assert result.data.ptr == wanted.data.ptr
    assert function(x)[3] is x


def test_what_is_not_captured_runs_as_before(host: Host) -> None:
    """Reductions, stores and reads by the host end a graph; results are eager's."""
    cp = host.cupy

    def step(x: Any) -> Any:
        y = x * 2 + 1
        y += 3
        if y.sum() > 0:
            y[0] = 5
        return cp.tanh(y) + float(y.max())

    x = cp.asarray(A)
    assert same(ufuse.compile(step)(x), step(x))


@pytest.mark.parametrize("named", [True, False])
def test_what_no_compiler_takes_is_cupys_error(
    host: Host, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """The error is that of CuPy's own kernel, behind what was written before; also where only the compiler knows."""
    from ufuse.graph.typing import library  # noqa: PLC0415  CuPy may be imported now

    cp = host.cupy
    if not named:
        monkeypatch.setattr(library, "NOT_COMPLEX", frozenset())
        monkeypatch.setattr(library.cupy(), "_routine", cache(library.cupy()._asked))

    def longest(x: Any, y: Any) -> Any:
        y += 1
        return cp.hypot(x, y) + 1

    compiled = ufuse.compile(longest)
    for _ in range(3):
        errors = []
        for function in (longest, compiled):
            y = cp.ones(3)
            with pytest.raises(cp.cuda.compiler.CompileException) as caught:
                function(cp.ones(3, "c8"), y)
            assert y.tolist() == [2] * 3
            errors.append(re.sub(r"\S*/(?=\w{40})", "", str(caught.value)))  # a folder of that call
        assert errors[0] == errors[1]
    assert bool(compiled.breaks) is named
    x, y = cp.asarray(A), cp.asarray(B)
    assert same(compiled(x, y.copy()), longest(x, y.copy()))


def test_half_precision_is_declared(host: Host) -> None:
    """CuPy 14 has a header for it, of which a kernel that only casts to it or folds it has need too."""
    cp = host.cupy
    x = cp.asarray(A.astype("f2"))
    cases = (
        (lambda x: x * 2 + 1, x), (lambda y: y.astype("f2").astype("f8") + 1, cp.asarray(A)), (lambda x: (x * 2).sum(axis=0), x),
    )  # fmt: skip
    for function, given in cases:
        compiled = check(function, given, kernels=None)
        assert compiled.graphs[0].source("cupy").count('#include "cupy/float16.cuh"') == 1
    plain = check(lambda x: x * 3, cp.asarray(A))
    assert "float16" not in plain.graphs[0].source("cupy")


def test_functions_with_a_common_part(host: Host) -> None:
    """The text in front of CuPy's `lcm` has that of `gcd` in it: one kernel of both has it once."""
    cp = host.cupy
    x, y = cp.asarray([12, 18, 0, 7]), cp.asarray([8, 27, 5, 0])
    check(lambda x, y: cp.gcd(x, y) + cp.lcm(x, y), x, y)
    check(lambda x, y: cp.lcm(x, 6) - cp.gcd(y, 4), x, y)
    check(lambda x, y: (cp.lcm(x, y) * cp.gcd(x, y)).sum(), x, y, kernels=None)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_loop_alone(host: Host, part: int) -> None:
    """Every loop of CuPy's, as a kernel of ours where it has one result and no record, has eager's bits."""
    from ufuse.graph.typing.library import cupy as library  # noqa: PLC0415  CuPy may be imported now

    cp = host.cupy
    cases = []
    for loop in list(loops(cp))[part::PARTS]:
        if loop.compiles and len(loop.outputs) == 1:
            text = f"lambda *given: cupy.{loop.name}(*given)"  # code of its own: one code has few graphs
            cases.append((loop, ufuse.compile(eval(text, {"cupy": cp}))))  # noqa: S307  our text
    with host.compiler.gathering():
        for loop, compiled in cases:
            arrays = [cp.asarray(one) for one in loop.arrays(33)]
            compiled(*arrays)
            loop.ufunc(*arrays)
    wrong, kernels = [], 0
    for loop, compiled in cases:
        for size in SIZES:
            arrays = [cp.asarray(one) for one in loop.arrays(size)]
            if not same(compiled(*arrays), loop.ufunc(*arrays)):
                wrong.append(f"{loop} at size {size}")
        is_whole = library().op_of(loop.ufunc) is not None and not set(loop.inputs) & NOT_CAPTURED
        if is_whole and (compiled.breaks or not compiled.stats.hits):
            wrong.append(f"{loop} is no kernel")
        kernels += is_whole
    assert not wrong, "\n".join(wrong)
    assert kernels > 550 // PARTS

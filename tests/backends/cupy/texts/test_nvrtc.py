"""Kernel texts are CUDA C++ for NVIDIA's own compiler too, where that is installed (nvidia-cuda-nvrtc); no GPU is needed."""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support import nvrtc
from tests.support.cupy_host import Host
from tests.support.cupy_host.loops import Loop, loops
from tests.support.devices.chains import typed_chains
from tests.support.devices.folds import (
    LENGTHS,
    OF_OTHERS,
    OF_ROWS,
    columns,
    layer_norm,
    scaled_rows,
    scores_of_columns,
    softmax,
    standard,
)
from tests.support.devices.kinds import KINDS, written
from tests.support.devices.numpys_loops import called_with_all

RNG = np.random.default_rng(21)
FUSED = ("FFMA", "DFMA", "HFMA2")
PLAIN = ("FMUL", "FADD", "DMUL", "DADD")


@pytest.fixture
def compiler() -> nvrtc.Compiler:
    """NVIDIA's compiler."""
    found = nvrtc.compiler()
    if found is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    return found


@pytest.fixture
def machine_code(compiler: nvrtc.Compiler, tmp_path: Path) -> Callable[..., Counter[str]]:
    """What says which instructions a text becomes."""
    if nvrtc.disassembler() is None:
        pytest.skip("nvdisasm is not installed: pip install nvidia-cuda-nvdisasm")

    def instructions(text: Any, architecture: str = "sm_90") -> Counter[str]:
        options = compiler.options(text.options, architecture)
        return nvrtc.instructions(compiler.cubin(text.source, options), tmp_path)

    return instructions


def renamed(function: Any) -> Any:
    """A function with a name that none of another module has; a kernel is called as what it is of."""
    name = f"{function.__name__}_by_nvrtc"
    code = function.__code__.replace(co_name=name)
    defaults, closure = function.__defaults__, function.__closure__
    return types.FunctionType(code, function.__globals__, name, defaults, closure)


def texts_of(host: Host, cases: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> list[Any]:
    """The texts of functions called with arrays, in this module, with the options that CuPy gives.

    Kernels of other modules' tests may have the same names, and be in the same process: `sin` uses local memory.
    """
    with host.compiler.gathering():
        for function, arguments in cases:
            compiled = ufuse.compile(renamed(function), backend="cupy")
            for _ in range(2):
                compiled(*arguments)
            assert not compiled.breaks, compiled.breaks
    names = "|".join({renamed(one).__name__ for one, _ in cases})
    kernel = re.compile(rf"__global__ void (__launch_bounds__\(\d+\)\s+)?ufuse_({names})(_rest)?\(")
    return [text for text in host.compiler.texts.values() if kernel.search(text.source)]


def on_every_architecture(compiler: nvrtc.Compiler, texts: list[Any], each: int) -> None:
    """Compile texts, each for so many of the architectures, and all for one of them at least."""
    for number, text in enumerate(texts):
        for turn in range(each):
            architecture = nvrtc.ARCHITECTURES[(number + turn) % len(nvrtc.ARCHITECTURES)]
            assert compiler.cubin(text.source, compiler.options(text.options, architecture))


def totals(x: Any) -> Any:
    """Everything folded, in every way."""
    y = x * 2 + 1
    return y, y.sum(), y.max(), y.min(), y.prod(), (y > 0).all(), (y > 1).any()


def test_reductions_are_compiled_by_nvrtc(host: Host, compiler: nvrtc.Compiler) -> None:
    """Rows of every length, totals and columns, for the architectures of five years."""
    cases: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    for length in (*LENGTHS[::2], 9000):
        for dtype in "fd":
            x = RNG.normal(size=(3, length)).astype(dtype)
            cases += [(softmax, (x,)), (layer_norm, (x, x[0])), (totals, (x,))]
        whole = host.cupy.asarray(RNG.integers(0, 9, (3, length)))
        cases += [(scaled_rows, (whole, whole)), (totals, (whole,))]
    for dtype in "fdi":
        x = host.cupy.asarray(RNG.normal(size=(33, 9)).astype(dtype))
        cases += [(columns, (x, x)), (columns, (x.T, x.T[:1])), (columns, (x.get(), x.get()))]
    texts = texts_of(host, cases)
    assert len(texts) > 20
    on_every_architecture(compiler, texts, each=1)


def test_numpys_loops_are_compiled_by_nvrtc(host: Host, compiler: nvrtc.Compiler) -> None:
    """Those of NumPy's functions, which are not contracted and keep subnormal numbers."""
    with_headers(compiler)
    known = set(host.compiler.texts)
    assert len(called_with_all(host)) > 650
    texts = [text for key, text in host.compiler.texts.items() if key not in known]
    assert len(texts) > 400
    assert all("--fmad=false" in text.options for text in texts)
    on_every_architecture(compiler, texts, each=1)


def turned(x: Any, y: Any) -> Any:
    """Arrays that lie along other axes."""
    return x + y.T * 2, x - y.T


@pytest.mark.parametrize("dtype", "bfd")
def test_turned_arrays_are_compiled_by_nvrtc(
    host: Host, machine_code: Callable[..., Counter[str]], compiler: nvrtc.Compiler, dtype: str
) -> None:
    """Through shared memory, and with nothing kept in local memory."""
    with_headers(compiler)
    x, y = (
        host.cupy.asarray(RNG.integers(0, 9, shape), dtype) for shape in ((300, 257), (257, 300))
    )
    texts = [one for one in texts_of(host, [(turned, (x, y))]) if "__shared__" in one.source]
    assert texts
    on_every_architecture(compiler, texts, each=len(nvrtc.ARCHITECTURES))
    for text in texts:
        code = machine_code(text)
        assert any(name.startswith("LDS") for name in code)
        assert not any(name.startswith(("LDL", "STL")) for name in code)


def extremes(x: Any) -> Any:
    """Everything folded, floats too."""
    y = x * 2
    return y.sum(), y.max(), y.min(), y


@pytest.mark.parametrize("dtype", "fd")
def test_folds_in_cubs_order_are_compiled_by_nvrtc(
    host: Host, machine_code: Callable[..., Counter[str]], compiler: nvrtc.Compiler, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Rows of every form and totals, with nothing kept in local memory, and what is neighbours read at once."""
    from ufuse.backends.cupy.operations import cub  # noqa: PLC0415  CuPy may be imported now

    monkeypatch.setattr(cub, "SUMMED", frozenset("fd"))
    cases: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    for length in (5, 40, 1000, 4096, 5001, 8192, 12288):
        x = host.cupy.asarray(RNG.normal(size=(3, length)).astype(dtype))
        cases += [(softmax, (x,)), (extremes, (x,))]
    texts = [one for one in texts_of(host, cases) if "ufuse_plus" in one.source]
    assert len(texts) >= 7
    on_every_architecture(compiler, texts, each=2)
    for text in texts:
        code = machine_code(text)
        assert not any(name.startswith(("LDL", "STL")) for name in code)
    assert any("LDG.E.128" in name for text in texts for name in machine_code(text))


@pytest.mark.parametrize("dtype", "fd")
def test_squares_are_fused_with_their_sums(
    host: Host, machine_code: Callable[..., Counter[str]], compiler: nvrtc.Compiler, dtype: str
) -> None:
    """As in CuPy's own kernel; hardly anything is kept in local memory, and one product is by a number."""
    cases = [
        (function, (host.cupy.asarray(RNG.normal(size=shape).astype(dtype)),))
        for shape in ((40, 700), (40, 8200), (40, 10), (3, 100))
        for function in (standard, scores_of_columns)
    ]
    texts = [
        one for one in texts_of(host, cases) if OF_ROWS in one.source or OF_OTHERS in one.source
    ]
    assert len(texts) >= 5
    on_every_architecture(compiler, texts, each=1)
    with host.compiler.gathering():
        for function, arguments in cases[:2]:
            function(*arguments)
    own = [one for one in host.compiler.texts.values() if "my_norm(x - mean)" in one.source]
    assert own
    for text in texts:
        code = machine_code(text)  # one number may be put away over the call of a division
        assert sum(code[name] for name in code if name.startswith(("LDL", "STL"))) <= 2
    for text in (*texts, *own):
        ptx = compiler.ptx(text.source, compiler.options(text.options, "compute_90"))
        assert re.search(r"\bfma\.rn", ptx)
        assert len(re.findall(r"\bmul\S*\.f(?:32|64)\b", ptx)) <= 1


@pytest.mark.parametrize("architecture", ["sm_90", "sm_100"])
def test_every_kind_waits_for_the_kernels_before_it(
    host: Host, compiler: nvrtc.Compiler, architecture: str, tmp_path: Path
) -> None:
    """Before it reads anything: it may be on the device before they are done."""
    with_headers(compiler)
    if nvrtc.disassembler() is None:
        pytest.skip("nvdisasm is not installed: pip install nvidia-cuda-nvdisasm")
    cp = host.cupy
    x, z = cp.asarray(RNG.integers(-9, 9, (3, 40))), RNG.normal(size=(3, 300)).astype("f")
    large = cp.asarray(RNG.normal(size=(300, 257)).astype("f"))
    cases: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        *((kind, (cp, x, x)) for kind in (*KINDS, written)), (softmax, (z,)), (layer_norm, (z, z[0])), (totals, (z,)),
        (turned, (large, large.T.copy())), (columns, (large, large)), (turned, (large.T, large)),
    ]  # fmt: skip
    found = [
        nvrtc.waits(
            compiler.cubin(text.source, compiler.options(text.options, architecture)), tmp_path
        )
        for text in texts_of(host, cases)
    ]
    assert len(found) > len(cases)
    assert all(found)
    assert all(all(one) for one in found)


def test_every_kind_is_compiled_by_nvrtc(host: Host, compiler: nvrtc.Compiler) -> None:
    """With CuPy's own headers, for each of the architectures."""
    with_headers(compiler)
    cp = host.cupy
    x = cp.asarray(RNG.integers(-9, 9, (3, 40)))
    cases = [(kind, (cp, one, x)) for kind in (*KINDS, written) for one in (x.copy(), x.T.copy().T)]
    texts = texts_of(host, cases)
    assert len(texts) >= len(KINDS)
    on_every_architecture(compiler, texts[:60], each=len(nvrtc.ARCHITECTURES))


def test_every_loop_is_compiled_by_nvrtc(host: Host, compiler: nvrtc.Compiler) -> None:
    """In a chain with others, complex and half precision too."""
    with_headers(compiler)
    cases = []
    for typed in typed_chains(host.cupy, 0):
        arrays = tuple(host.cupy.asarray(one) for one in typed.arguments.values())
        cases.append((typed.function(host.cupy), arrays))
    texts = texts_of(host, cases)
    assert len(texts) >= len(cases)
    on_every_architecture(compiler, texts[: 2 * len(cases)], each=1)


def with_headers(compiler: nvrtc.Compiler) -> None:
    """Skip a test where CUDA's headers are not installed."""
    if compiler.include is None:
        pytest.skip(f"the headers of CUDA are not installed: pip install {nvrtc.HEADERS}")


def float_loops(cupy: Any, dtype: str) -> list[Loop]:
    """Loops of one float type: what is between them and a sum or product the compiler could contract."""
    from ufuse.graph.typing.library import cupy as library  # noqa: PLC0415  CuPy may be imported now

    return [
        loop
        for loop in loops(cupy)
        if {*loop.inputs, *loop.outputs} == {dtype}
        if len(loop.outputs) == 1 and library().op_of(loop.ufunc) is not None
    ]


def arithmetic(code: Counter[str]) -> tuple[int, int]:
    """How many fused multiplications and additions there are, and how many others."""
    fused = sum(count for name, count in code.items() if name.startswith(FUSED))
    return fused, sum(count for name, count in code.items() if name.startswith(PLAIN))


@pytest.mark.parametrize("dtype", "fd")
def test_nothing_is_contracted_between_loops(
    host: Host, machine_code: Callable[..., Counter[str]], compiler: nvrtc.Compiler, dtype: str
) -> None:
    """A product in front of each loop, a difference behind it: what the lone loops have, and nothing fused out of two.

    Code of a loop may be there twice, for two cases: then there is more of both.
    """
    with_headers(compiler)
    cp = host.cupy
    x = cp.asarray(np.linspace(0.1, 0.9, 50).astype(dtype))

    def counts(name: str, body: str) -> tuple[int, int]:
        namespace: dict[str, Any] = {"cupy": cp}
        exec(f"def {name}_{dtype}(x, y): return {body}", namespace)
        text, *_ = texts_of(host, [(namespace[f"{name}_{dtype}"], (x, x.copy()))])
        return arithmetic(machine_code(text))

    before, behind = "cupy.deg2rad({0}) * {0} + {0}", "cupy.logaddexp({} * x + y, y)"
    product, sums = counts("product", "cupy.deg2rad(x)"), counts("sums", "cupy.logaddexp(x, y)")
    wrong = []
    every = float_loops(cp, dtype)
    chosen = [loop for loop in every if loop.name in ("add", "deg2rad") or loop in every[::3]]
    for loop in chosen:
        given = ["x", "y"][: len(loop.inputs)]
        alone = counts(f"alone_{loop.name}", f"cupy.{loop.name}({', '.join(given)})")
        operands = ", ".join(before.format(one) for one in given)
        between = counts(f"between_{loop.name}", behind.format(f"cupy.{loop.name}({operands})"))
        lone = [alone[kind] + len(given) * product[kind] + sums[kind] for kind in (0, 1)]
        lone[1] += 2 * len(given) + 2
        if between[0] > lone[0] and between[1] < lone[1]:
            wrong.append((loop.name, between, lone))
    assert not wrong
    assert len(chosen) > 10


NAMES = {"F": "complex64", "D": "complex128", "f": "float32", "d": "float64"}


def text_of_cupys(host: Host, function: Any, *arguments: Any) -> Any:
    """The text of CuPy's own kernel for one-dimensional arrays and complex numbers."""
    with host.compiler.gathering():
        made = function(*arguments)
    names = [getattr(one, "dtype", np.dtype("D")).char for one in (*arguments, made)]
    arrays = [isinstance(one, host.cupy.ndarray) for one in (*arguments, made)]
    types = [NAMES[n] if is_one else "complex" for n, is_one in zip(names, arrays, strict=True)]
    start = f"__global__ void {function.name}__{'_'.join(types)}("
    found = [
        text
        for text in host.compiler.texts.values()
        if start in text.source and text.source.count(", 1, 1, 1> _raw") == sum(arrays)
    ]
    return found[0]


def double(function: Any, x: Any, y: Any) -> Any:
    """The same operands in two loops, and a result as an operand."""
    return function(function(x, y), y), function(y, x)


def of_a_number(function: Any, x: Any, k: Any) -> Any:
    """A number on either side."""
    return function(k, function(x, k))


def of_real(function: Any, x: Any, y: Any) -> Any:
    """Real numbers, of which a loop makes complex ones."""
    return function(function(x, y), y)


@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("name", ["multiply", "divide"])
def test_complex_loops_are_what_they_are_alone(
    host: Host, compiler: nvrtc.Compiler, name: str, architecture: str
) -> None:
    """Which product is fused with a sum: as in CuPy's own kernel, whatever else is computed of the same numbers."""
    with_headers(compiler)
    cp = host.cupy
    function = getattr(cp, name)

    def formulas(text: Any) -> list[nvrtc.Formula]:
        options = compiler.options(text.options, architecture.replace("sm", "compute"))
        return nvrtc.formulas(compiler.ptx(text.source, options))

    for dtype, real in ("Ff", "Dd"):
        x, y, r = (cp.asarray(np.linspace(1, 2, 33).astype(one)) for one in (dtype, dtype, real))
        for shape, given in ((double, (x, y)), (of_a_number, (x, 2 + 3j)), (of_real, (x, r))):

            def alone(*kinds: Any) -> Callable[..., list[nvrtc.Formula]]:
                made = formulas(text_of_cupys(host, function, *kinds))
                return lambda *parts: [nvrtc.composed(one, parts) for one in made]

            namespace: dict[str, Any] = {"shape": shape, "function": function}
            called = f"{name}_{shape.__name__}_{dtype}"
            exec(f"def {called}(x, y): return shape(function, x, y)", namespace)
            (text, *_) = texts_of(host, [(namespace[called], given)])
            one, other = ([("read", place, part) for part in (0, 1)] for place in (0, 1))
            match shape.__name__:
                case "double":
                    loop = alone(x, y)
                    wanted = [*loop(loop(one, other), other), *loop(other, one)]
                case "of_a_number":
                    wanted = alone(2 + 3j, x)(other, alone(x, 2 + 3j)(one, other))
                case _:
                    loop = alone(x, r)
                    wanted = loop(loop(one, other), other)
            assert {*formulas(text)} == {*wanted}


@pytest.fixture
def signed(
    compiler: nvrtc.Compiler, tmp_path: Path
) -> Callable[[Any, str], Counter[tuple[str, bool, bool]]]:
    """What says which instructions of a text round, with their signs."""
    with_headers(compiler)
    if nvrtc.disassembler() is None:
        pytest.skip("nvdisasm is not installed: pip install nvidia-cuda-nvdisasm")

    def counted(text: Any, architecture: str) -> Counter[tuple[str, bool, bool]]:
        options = compiler.options(text.options, architecture)
        return nvrtc.signed_arithmetic(compiler.cubin(text.source, options), tmp_path)

    return counted


@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES[2:])
@pytest.mark.parametrize("dtype", "fd")
def test_real_loops_are_what_they_are_alone(
    host: Host, signed: Callable[..., Counter[tuple[str, bool, bool]]], dtype: str, architecture: str
) -> None:  # fmt: skip
    """In machine code there is what the lone loops have, and nothing more; what is the same for two may be there once."""
    cp = host.cupy
    arrays = [cp.asarray(np.linspace(0.1, 2, 33).astype(dtype)) for _ in range(3)]
    cases = (
        ("x / z, y / z, cupy.sqrt(x / y) / z", "true_divide true_divide true_divide true_divide sqrt"),
        ("cupy.deg2rad(cupy.reciprocal(cupy.deg2rad(x)) / x), cupy.deg2rad(x)", "deg2rad deg2rad deg2rad reciprocal true_divide"),
        ("cupy.logaddexp(cupy.deg2rad(x) / y, cupy.sqrt(cupy.deg2rad(y)))", "deg2rad deg2rad true_divide sqrt logaddexp"),
    )  # fmt: skip
    for number, (body, names) in enumerate(cases):
        namespace: dict[str, Any] = {"cupy": cp}
        called = f"reals_{number}_{dtype}"
        exec(f"def {called}(x, y, z): return {body}", namespace)
        (text, *_) = texts_of(host, [(namespace[called], tuple(arrays))])
        functions = [getattr(cp, name) for name in names.split()]
        alone = [signed(text_of_cupys(host, f, *arrays[: f.nin]), architecture) for f in functions]
        wanted, found = sum(alone, Counter()), signed(text, architecture)
        assert not found - wanted
        assert all(found[one] == wanted[one] for one in wanted if one[2])


@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("dtype", "FD")
def test_complex_products_are_fused_as_alone(
    host: Host, signed: Callable[..., Counter[tuple[str, bool, bool]]], dtype: str, architecture: str
) -> None:  # fmt: skip
    """Also in machine code, where a loop with branches stands beside them."""
    cp = host.cupy
    x, y = (cp.asarray(np.linspace(1, 2, 33).astype(dtype)) for _ in range(2))

    namespace: dict[str, Any] = {"cupy": cp}
    called = f"products_{dtype}"
    exec(
        f"def {called}(x, y): return x * y * y, y * x, cupy.square(x), cupy.sqrt(abs(x))", namespace
    )
    (text, *_) = texts_of(host, [(namespace[called], (x, y))])
    products = signed(text_of_cupys(host, cp.multiply, x, y), architecture)
    square = signed(text_of_cupys(host, cp.square, x), architecture)
    wanted, found = products + products + products + square, signed(text, architecture)
    assert not wanted - found
    fused = [one for one in wanted if one[2]]
    assert [found[one] for one in fused] == [wanted[one] for one in fused] == [4]


@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("dtype", "FD")
def test_complex_products_are_folded_as_alone(
    host: Host, signed: Callable[..., Counter[tuple[str, bool, bool]]], dtype: str, architecture: str
) -> None:  # fmt: skip
    """Between folds with branches, too: several elements at once, one, and those of two threads."""
    from ufuse.backends.cupy.texts.trees import MOST  # noqa: PLC0415  CuPy may be imported now

    x = host.cupy.asarray(np.ones((33, 200), dtype))
    namespace: dict[str, Any] = {"cupy": host.cupy}
    called = f"folds_{dtype}"
    exec(
        f"def {called}(x, y): z = x - y; return z.max(axis=0), z.prod(axis=0), abs(z).min(axis=0)",
        namespace,
    )
    (text, *_) = texts_of(host, [(namespace[called], (x, x.copy()))])
    assert text.source.count("struct Fold") == 3
    with host.compiler.gathering():
        x.prod(axis=0)
    kind = {"F": "<float>", "D": "<double>"}[dtype]
    alone = next(
        one
        for one in host.compiler.texts.values()
        if "__global__ void cupy_prod(" in one.source
        and f"CArray<thrust::complex{kind}" in one.source
    )
    wanted, found = signed(alone, architecture), signed(text, architecture)
    assert not wanted - found
    fused = [one for one in wanted if one[2]]
    assert [wanted[one] for one in fused] == [2]
    assert [found[one] for one in fused] == [MOST + 1 + 1]


@pytest.mark.parametrize("dtype", "fd")
def test_what_is_folded_is_not_computed_with(
    host: Host, machine_code: Callable[..., Counter[str]], compiler: nvrtc.Compiler, dtype: str
) -> None:
    """What is chosen comes to a maximum as it is: an addition would change the bits of a NaN, and flush what is subnormal."""
    with_headers(compiler)
    cp = host.cupy
    x = cp.asarray(np.linspace(-1, 1, 66).astype(dtype).reshape(33, 2))
    namespace: dict[str, Any] = {"cupy": cp}
    called = f"highest_{dtype}"
    exec(f"def {called}(x, y): return cupy.where(y > 0, x, y).max(axis=0)", namespace)
    (text, *_) = texts_of(host, [(namespace[called], (x, x.copy()))])
    assert arithmetic(machine_code(text)) == (0, 0)


SPILLED = ("LDL", "STL")  # local memory: registers were not enough


def stencil(x: Any, y: Any) -> Any:
    """Neighbours, which lie apart."""
    return (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + y[1:-1, 2:]) * 0.2


def chain(x: Any, y: Any) -> Any:
    """Eleven operations."""
    a = x * x + y
    b = a * 0.5 - x
    return (abs(b) + 1.5) * y + a, b / (a * a + 2.0)


def hundred(x: Any, y: Any) -> Any:
    """A hundred operations."""
    for _ in range(20):
        x = (x * 0.5 + y) * 0.99 - x * y
    return x


@pytest.mark.parametrize("takes_few", [1 << 16, 1])
def test_nothing_is_spilled(
    host: Host,
    machine_code: Callable[..., Counter[str]],
    monkeypatch: pytest.MonkeyPatch,
    takes_few: int,
) -> None:
    """In kernels of every kind, for the architectures of five years: all values are in registers."""
    from ufuse.backends.cupy.launching import launch  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(launch, "TAKES_FEW", takes_few)
    cases: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    for dtype in "fd":
        x = host.cupy.asarray(RNG.normal(size=(33, 40)).astype(dtype))
        cases += [(one, (x, x.copy())) for one in (stencil, chain, hundred, columns)]
        cases += [(one, (x.get(),)) for one in (softmax, totals)]
        cases += [(layer_norm, (x.get(), x.get()[0]))]
    whole = host.cupy.asarray(RNG.integers(0, 9, (3, 40)))
    found = texts_of(host, [*cases, (scaled_rows, (whole, whole))])
    found = [text for text in found if takes_few > 1 or "ufuse_pack" in text.source]
    assert len(found) > 3
    for number, text in enumerate(found):
        code = machine_code(text, nvrtc.ARCHITECTURES[number % len(nvrtc.ARCHITECTURES)])
        assert sum(code.values()) > 10
        assert not [name for name in code if name.startswith(SPILLED)], text.source


@pytest.mark.parametrize("dtypes", ["ff", "dd", "fd", "ii", "bb"])
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
def test_aligned_memory_is_taken_16_bytes_at_once(
    host: Host, machine_code: Callable[..., Counter[str]], monkeypatch: pytest.MonkeyPatch,
    dtypes: str, architecture: str,
) -> None:  # fmt: skip
    """Of numbers of 4 and 8 bytes; of bytes, four. The other loads are those of the last thread."""
    from ufuse.backends.cupy.launching import launch  # noqa: PLC0415  only where CuPy is

    monkeypatch.setattr(launch, "TAKES_FEW", 1)
    cp = host.cupy
    x, y = (cp.asarray(RNG.integers(1, 9, 4096).astype(dtype)) for dtype in dtypes)
    namespace: dict[str, Any] = {}
    exec(f"def packs_{dtypes}(x, y): return x * y + x, x - y", namespace)
    found = texts_of(host, [(namespace[f"packs_{dtypes}"], (x, y))])
    text = next(one for one in found if "ufuse_pack" in one.source)
    code = machine_code(text, architecture)
    made = x * y + x
    sizes = [x.itemsize, y.itemsize, made.itemsize, made.itemsize]
    few = min(4, 16 // min(sizes))
    for name, given in (("LDG", sizes[:2]), ("STG", sizes[2:])):
        wide = sum(n for one, n in code.items() if one.startswith(f"{name}.E") and ".128" in one)
        assert wide == sum(size * few // 16 for size in given), code
    assert not [name for name in code if name.startswith(SPILLED)]


@pytest.mark.parametrize("dtype", "fd")
def test_nothing_more_is_contracted_in_packs(
    host: Host,
    machine_code: Callable[..., Counter[str]],
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
) -> None:
    """A thread of several elements has the fused instructions of one element so many times, at most."""
    from ufuse.backends.cupy.launching import launch  # noqa: PLC0415  only where CuPy is

    x = host.cupy.asarray(np.linspace(0.1, 0.9, 64).astype(dtype))
    counts = []
    for takes_few in (1 << 16, 1):
        monkeypatch.setattr(launch, "TAKES_FEW", takes_few)
        namespace: dict[str, Any] = {"cupy": host.cupy}
        exec(
            f"def sums_{dtype}_{takes_few}(x, y): return cupy.logaddexp(x * y + x, y) * y + x / y",
            namespace,
        )
        found = texts_of(host, [(namespace[f"sums_{dtype}_{takes_few}"], (x, x.copy()))])
        (text,) = [one for one in found if ("ufuse_pack" in one.source) is (takes_few == 1)]
        counts.append(arithmetic(machine_code(text)))
    (one, _), (several, others) = counts
    assert 0 < one < several <= 16 // x.itemsize * one
    assert others

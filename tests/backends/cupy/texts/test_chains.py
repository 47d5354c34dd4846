"""Random chains of CuPy's loops, each loop in one at least: what is fused has eager CuPy's bits, in three orders of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.cupy_host import Host
from tests.support.cupy_host.driver import ORDERS
from tests.support.devices.chains import SIZE, typed_chains
from ufuse.graph import ops

# Functions of one and two numbers, by the kind of their operands; none takes exponents or shifts.
FLOATS = (
    "negative absolute sqrt square exp log1p tanh sin floor rint sign reciprocal cbrt isnan".split(),
    "add subtract multiply divide maximum minimum fmod floor_divide remainder arctan2 hypot copysign less".split(),
)
INTEGERS = (
    "negative absolute square invert sign sqrt".split(),
    "add subtract multiply divide maximum minimum floor_divide remainder bitwise_and bitwise_xor less_equal gcd".split(),
)
TEXTS = 12  # of chains that are compiled together
PARTS = 4  # of the chains in which every loop is


def chain(cupy: Any, seed: int) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """A function of two to twelve operations on three arrays, as code of its own; and their dtypes."""
    rng = np.random.default_rng(seed)
    dtypes = tuple(rng.choice(list("ffdde" if seed % 3 else "bhilBIL"), 3))
    lines: list[str] = []
    kinds = [np.dtype(dtype).kind for dtype in dtypes]
    wanted = int(rng.integers(2, 13))
    while len(lines) < wanted:
        places = tuple(int(one) for one in rng.integers(0, len(kinds), 2))
        floats = any(kinds[place] == "f" for place in places)
        names = (FLOATS if floats else INTEGERS)[int(rng.integers(2))]
        function = getattr(cupy, str(rng.choice(names)))
        places = places[: function.nin]
        if "b" in (kinds[place] for place in places) and function.name != "cupy_add":
            continue
        given = ", ".join(f"v{place}" for place in places)
        lines.append(f"    v{len(kinds)} = cupy.{function.name.removeprefix('cupy_')}({given})")
        kinds.append(result_kind(function, [kinds[place] for place in places]))

    text = "\n".join(["def run(v0, v1, v2):", *lines, f"    return v{len(kinds) - 1}"])
    namespace: dict[str, Any] = {"cupy": cupy}
    exec(text, namespace)
    return namespace["run"], dtypes


def result_kind(function: Any, kinds: list[str]) -> str:
    """The kind of a result, roughly: what it is not may only make a later step be left out."""
    name = function.name.removeprefix("cupy_")
    if name.startswith(("less", "is")):
        return "b"
    if "f" in kinds or name in ("sqrt", "true_divide"):
        return "f"
    return "i"


def values(rng: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    """Numbers that stay normal, and some that are special."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(1, 60, size).astype(dtype)
    some = (rng.normal(size=size) * 2).astype(dtype)
    some[:4] = (0.0, -0.0, np.inf, np.nan)
    return some


@pytest.mark.parametrize("first", range(0, 48, TEXTS))
def test_random_chains(host: Host, first: int) -> None:
    """The result of each is eager's, and most of each is one kernel."""
    cases = []
    rng = np.random.default_rng(first)
    with host.compiler.gathering():
        for seed in range(first, first + TEXTS):
            run, dtypes = chain(host.cupy, seed)
            arrays = [host.cupy.asarray(values(rng, dtype, SIZE)) for dtype in dtypes]
            try:
                run(*arrays)
            except TypeError:
                continue  # a function that has no loop for what it would be given
            compiled = ufuse.compile(run)
            compiled(*arrays)
            cases.append((seed, run, compiled, arrays))
    assert len(cases) > TEXTS // 2
    before = host.driver.order
    try:
        every_wanted = [run(*arrays) for _, run, _, arrays in cases]
        for order in ORDERS:
            host.driver.order = order
            for (seed, _, compiled, arrays), wanted in zip(cases, every_wanted, strict=True):
                result = compiled(*arrays)
                assert not compiled.breaks, seed
                assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape), seed
                assert same_bits(result.get(), wanted.get()), seed
    finally:
        host.driver.order = before


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seed", range(2))
def test_every_loop_in_a_chain(host: Host, seed: int, part: int) -> None:
    """Operands of exactly its types, most of them results of other loops; no chain breaks."""
    cases = []
    chains = typed_chains(host.cupy, seed)
    assert sum(len(typed.lines) for typed in chains) > 550
    with host.compiler.gathering():
        for typed in chains[part::PARTS]:
            run = typed.function(host.cupy)
            arrays = [host.cupy.asarray(one) for one in typed.arguments.values()]
            run(*arrays)
            compiled = ufuse.compile(run)
            compiled(*arrays)
            cases.append((typed, run, compiled, arrays))
    wrong = []
    for typed, run, compiled, arrays in cases:
        wanted = run(*arrays)
        for order in ORDERS:
            with host.driver.running(order):
                results = compiled(*arrays)
            for name, one, other in zip(typed.unused, results, wanted, strict=True):
                if (one.dtype, one.shape) != (other.dtype, other.shape) or not same_bits(
                    one.get(), other.get()
                ):
                    wrong.append("\n".join((f"{name} {order}", *typed.lines)))
        assert compiled.stats.hits, typed.lines
        assert not compiled.breaks, (typed.lines, compiled.breaks)
    assert not wrong, "\n\n".join(wrong)


def same_bits(result: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether all bits agree; the sign of a NaN is the host's compiler's affair, the device has one NaN."""
    if result.dtype.kind == "c":
        return same_bits(
            result.view(f"f{result.itemsize // 2}"), wanted.view(f"f{result.itemsize // 2}")
        )
    if result.dtype.kind != "f":
        return bool((result == wanted).all())
    both = np.isnan(result) & np.isnan(wanted)
    return result[~both].tobytes() == wanted[~both].tobytes()


def test_rows_are_found_by_cupys_functions(host: Host) -> None:
    """All of CuPy's elementwise functions with one result are captured, those that NumPy has not too."""
    from ufuse.graph.typing.library import cupy  # noqa: PLC0415  CuPy may be imported now

    functions = [f for f in vars(host.cupy).values() if type(f) is cupy().ufunc and f.nout == 1]
    rows = [cupy().op_of(f) for f in functions]
    assert None not in rows
    assert sum(row.name in ops.UFUNCS for row in rows if row is not None) > 70

"""Passes, text in and text out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufuse.graph import passes
from ufuse.graph.node import Graph
from ufuse.graph.passes import algebra
from ufuse.graph.passes.patterns import Apply
from ufuse.graph.passes.unroll import LONGEST, unrolled
from ufuse.graph.semantics import reference
from ufuse.graph.semantics.check import check
from ufuse.graph.text import parse, to_text


def check_rewrite(before: str, after: str, *, replayed: bool = False) -> None:
    """The passes make `after` of `before`, and keep every law."""
    graph = parse(before)
    check(graph)
    found = passes.run(graph, check=True, replayed=replayed)
    assert to_text(found) == to_text(parse(after))


REWRITES = {
    "a copy where eager's result is fresh": (
        "a: f8[n]; b = negative a; c = negative b; return c",
        "a: f8[n]; t = copy a order='K'; return t",
    ),
    "nothing where nobody can tell": (
        "a: f8[n]; b = negative a; c = negative b; d = exp c; return d",
        "a: f8[n]; d = exp a; return d",
    ),
    "not where the argument is written": (
        "a: f8[n]; b = negative a; c = negative b; s = store a 1.0; d = exp c; return d, s",
        "a: f8[n]; b = negative a; c = negative b; s = store a 1.0; d = exp c; return d, s",
    ),
    "not where the argument is written between": (
        "a: f8[n]; b = absolute a; s = store a 1.0; c = absolute b; d = exp c; return d, s",
        "a: f8[n]; b = absolute a; s = store a 1.0; c = absolute b; d = exp c; return d, s",
    ),
    "whole numbers are not read again where they are written": (
        "a: i4[n]; b = cast a dtype=i8; s = store a 1; c = cast b dtype=i4; return c, s",
        "a: i4[n]; b = cast a dtype=i8; s = store a 1; c = cast b dtype=i4; return c, s",
    ),
    "integers add nothing": (
        "a: i4[n]; b = add a 0; c = multiply b 1; d = bitwise_or c 0; e = square d; return e",
        "a: i4[n]; e = square a; return e",
    ),
    "floats do: -0.0 + 0": (
        "a: f8[n]; b = add a 0; c = exp b; return c",
        "a: f8[n]; b = add a 0; c = exp b; return c",
    ),
    "a wider result stays": (
        "a: i4[n]; z = const i8(0); b = add a z; c = square b; return c",
        "a: i4[n]; z = const i8(0); b = add a z; c = square b; return c",
    ),
    "a number from itself": (
        "a: i4[n]; b = subtract a a; return b",
        "a: i4[n]; b = zeros shape=(n,) dtype=i4 order=(0,); return b",
    ),
    "constants fold": (
        "a: f8[n]; x = scalar.add 1 2; y = scalar.mul x 2.5; b = multiply a y; return b",
        "a: f8[n]; b = multiply a 7.5; return b",
    ),
    "what raises or warns is left": (
        "y = divide f8(1.0) f8(0.0); return y",
        "y = divide f8(1.0) f8(0.0); return y",
    ),
    "elements are not repeated for what repeats them": (
        "a: f8[n]; b: f8[m, n]; w = broadcast a shape=(m, n); c = multiply w b; return c",
        "a: f8[n]; b: f8[m, n]; c = multiply a b; return c",
    ),
    "nor for what is chosen": (
        "a: f8[n]; b: f8[m, n]; w = broadcast a shape=(m, n); p = greater b 0; c = where p w b; return c",
        "a: f8[n]; b: f8[m, n]; p = greater b 0; c = where p a b; return c",
    ),
    "they stay where nothing else has the shape": (
        "a: f8[n]; w = broadcast a shape=(3, n); v = negative w; c = add v w; return c, w",
        "a: f8[n]; w = broadcast a shape=(3, n); v = negative w; c = add v a; return c, w",
    ),
    "twice is once": (
        "a: i8[n]; b = add a 1; c = add a 1; d = multiply b c; return d",
        "a: i8[n]; b = add a 1; d = multiply b b; return d",
    ),
    "but two warnings are two": (
        "a: f8[n]; b = log a; c = log a; d = copysign b c; return d",
        "a: f8[n]; b = log a; c = log a; d = copysign b c; return d",
    ),
    "and two results are two arrays": (
        "a: i8[n]; b = add a 1; c = add a 1; return b, c",
        "a: i8[n]; b = add a 1; c = add a 1; return b, c",
    ),
    "two views that are returned are two": (
        "a: i8[n]; b = index a [1:n]; c = index a [1:n]; return b, c",
        "a: i8[n]; b = index a [1:n]; c = index a [1:n]; return b, c",
    ),
    "reads of two versions are two": (
        "a: i8[n]; b = add a 1; s = store a 0; c = add s 1; d = multiply b c; return d, s",
        "a: i8[n]; b = add a 1; s = store a 0; c = add s 1; d = multiply b c; return d, s",
    ),
    "a buffer that is written is its own": (
        "a: i8[n]; b = add a 1; c = add a 1; s = store b 0; d = multiply s c; return d",
        "a: i8[n]; b = add a 1; c = add a 1; s = store b 0; d = multiply s c; return d",
    ),
    "dead integers die": ("a: i8[n]; b = add a 1; return a", "a: i8[n]; return a"),
    "dead floats may warn": (
        "a: f8[n]; b = add a 1; return a",
        "a: f8[n]; b = add a 1; return a",
    ),
    "a store that nobody reads": (
        "a: f8[n]; z = zeros shape=(n,) dtype=f8; s = store z a; t = store s 1.0 at [0:1]; return a",
        "a: f8[n]; return a",
    ),
    "a store into an argument": (
        "a: f8[n]; s = store a 1.0; b: f8[m]; return b",
        "a: f8[n]; b: f8[m]; s = store a 1.0; return b",
    ),
    "whole views vanish": (
        "a: f8[n, m]; t = transpose a axes=(1, 0); u = transpose t axes=(1, 0); v = index u [:, :]; d = exp v; return d",
        "a: f8[n, m]; d = exp a; return d",
    ),
    "but not when returned": (
        "a: f8[n]; v = index a [:]; return v",
        "a: f8[n]; v = index a [:]; return v",
    ),
    "a choice by a constant": (
        "a: f8[n]; b = where True a 1.0; c = exp b; return c",
        "a: f8[n]; c = exp a; return c",
    ),
    "unless what is not chosen may overflow": (
        "a: f4[n]; b: float; c = where True a b; return c",
        "a: f4[n]; b: float; c = where True a b; return c",
    ),
    "wide and back": (
        "a: i4[n]; b = cast a dtype=i8; c = cast b dtype=i4; d = square c; return d",
        "a: i4[n]; d = square a; return d",
    ),
    "narrow and back stays": (
        "a: i8[n]; b = cast a dtype=i4; c = cast b dtype=i8; return c",
        "a: i8[n]; b = cast a dtype=i4; c = cast b dtype=i8; return c",
    ),
    "bodies too": (
        (
            "c: bool; x: i8[n]; t = branch c x then={x: i8[n]; y = add x 0; z = square y; return z} "
            "otherwise={x: i8[n]; y = negative x; return y}; r = item t index=0; return r"
        ),
        (
            "c: bool; x: i8[n]; t = branch c x then={x: i8[n]; z = square x; return z} "
            "otherwise={x: i8[n]; y = negative x; return y}; r = item t index=0; return r"
        ),
    ),
    "powers": (
        (
            "x: i8[n, n]; y: i8[n, n]; a = call numpy.matmul(x, y); b = call numpy.matmul(x, a); "
            "c = call numpy.matmul(x, b); d = call numpy.matmul(x, c); return d"
        ),
        (
            "x: i8[n, n]; y: i8[n, n]; a = call numpy.matmul(x, x); b = call numpy.matmul(a, a); "
            "c = call numpy.matmul(b, y); return c"
        ),
    ),
    "no powers of floats": (
        (
            "x: f8[n, n]; a = call numpy.matmul(x, x); b = call numpy.matmul(x, a); "
            "c = call numpy.matmul(x, b); d = call numpy.matmul(x, c); return d"
        ),
        (
            "x: f8[n, n]; a = call numpy.matmul(x, x); b = call numpy.matmul(x, a); "
            "c = call numpy.matmul(x, b); d = call numpy.matmul(x, c); return d"
        ),
    ),
}


@pytest.mark.parametrize("name", sorted(REWRITES))
def test_rewrites(name: str) -> None:
    """Each pass does what its name says, and no more."""
    check_rewrite(*REWRITES[name])


def test_a_replayed_graph_merges_what_may_warn() -> None:
    """Where a warning replays the graph as captured, equal floating-point ops are one."""
    check_rewrite(
        "a: f8[n]; b = log a; c = log a; d = copysign b c; return d",
        "a: f8[n]; b = log a; d = copysign b b; return d",
        replayed=True,
    )


def test_unrolling_is_asked_for() -> None:
    """A short sum is a chain only on request, by a backend that replays."""
    before = "a: f8[2, n]; s = reduce_add a axis=(0,); return s"
    check_rewrite(before, before, replayed=True)
    found = passes.run(parse(before), check=True, replayed=True, unroll=True)
    assert [node.op.name for node in found.nodes] == [
        "input",
        "const",
        "index",
        "add",
        "index",
        "add",
    ]
    chains = {node.attributes["warns_as"] for node in found.nodes if node.op.name == "add"}
    assert len(chains) == 1


def test_every_rule_lowers_the_cost() -> None:
    """Rules have names of their own, say what they keep, and end smaller than they began."""
    assert len({row.name for row in algebra.RULES}) == len(algebra.RULES)
    for row in algebra.RULES:
        assert row.keeps == algebra.BITS
        assert size(row.result) < size(row.pattern)


def size(pattern: Any) -> int:
    """The number of operations in a pattern."""
    return 1 + sum(map(size, pattern.inputs)) if isinstance(pattern, Apply) else 0


with np.errstate(invalid="ignore"):
    DEFAULT_NAN = float(
        np.subtract(np.inf, np.inf)
    )  # the processor's own: its sign is not the same everywhere


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of many magnitudes, signed zeros, infinities, and NaNs of the bits that inf - inf gives."""
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-(2**31), 2**31, shape).astype(dtype)
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)
    special = np.array([0.0, -0.0, DEFAULT_NAN, np.inf, -np.inf])
    chosen = rng.random(shape) < 0.15
    return np.where(chosen, rng.choice(special, shape), values).astype(dtype)


@given(
    st.integers(1, LONGEST),
    st.sampled_from(["f4", "f8", "i4", "i8"]),
    st.permutations(range(3)),
    st.integers(0, 2),
    st.booleans(),
    st.sampled_from(["reduce_add", "reduce_multiply"]),
    st.lists(st.sampled_from([1, 2, 3, 5, 16, 33]), min_size=2, max_size=2),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_unrolled_sums_keep_every_bit(
    length: int,
    dtype: str,
    order: list[int],
    axis: int,
    keepdims: bool,
    name: str,
    rest: list[int],
    gaps: bool,
    seed: int,
) -> None:
    """A short sum is a chain of additions from 0.0, in any layout; NaNs are of one kind (unroll.py says why)."""
    shape = list(rest)
    shape.insert(axis, length)
    rng = np.random.default_rng(seed)
    inner = [shape[one] * (2 if gaps else 1) for one in order]
    values = random_values(rng, tuple(inner), dtype)
    if gaps:
        values = values[tuple(slice(None, None, 2) for _ in inner)]
    values = values.transpose(sorted(range(3), key=order.__getitem__))
    sizes = [str(s) if place == axis or s == 1 else "nmk"[place] for place, s in enumerate(shape)]
    text = f"a: {dtype}[{', '.join(sizes)}] order({','.join(map(str, order))})"
    text += (
        " strided" if gaps else ""
    ) + f"; s = {name} a axis=({axis},) keepdims={keepdims}; return s"
    graph = parse(text)
    chain = unrolled(graph)
    if chain is graph:
        # a small int is added as a wider one; a chain lays out axes of length 1 otherwise
        assert dtype == "i4" or keepdims or 1 in rest
        return
    check(chain)
    assert not any("reduce" in node.op.name for node in chain.nodes)
    with np.errstate(all="ignore"):
        (expected,), (found,) = reference.run(graph, values), reference.run(chain, values)
    assert found.tobytes() == expected.tobytes()
    assert found.strides == expected.strides


@pytest.mark.parametrize("dtype", ["f2", "c8", "c16", "b1", "i4"])
def test_other_dtypes_are_not_unrolled(dtype: str) -> None:
    """NumPy adds them in another way, or as other numbers."""
    graph = parse(f"a: {dtype}[3, n]; s = reduce_add a axis=(0,); return s")
    assert unrolled(graph) is graph


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
@pytest.mark.parametrize("length", [4, 5, 7, 12, 31])
@pytest.mark.parametrize("side", [0, 1])
def test_powers_keep_every_bit(dtype: str, length: int, side: int) -> None:
    """Squaring is exact modulo 2^n, overflow included, from either side and from the matrix itself."""
    rng = np.random.default_rng(length)
    limits = np.iinfo(dtype)
    x, y = (rng.integers(limits.min, limits.max, (4, 4), dtype, endpoint=True) for _ in range(2))
    for start in ("x", "y"):
        graph = chain_of_products(dtype, length, side, start)
        shorter = passes.run(graph, check=True)
        assert len(shorter.nodes) < len(graph.nodes)
        (expected,), (found,) = reference.run(graph, x, y), reference.run(shorter, x, y)
        assert found.tobytes() == expected.tobytes()


def chain_of_products(dtype: str, length: int, side: int, start: str) -> Graph:
    """`x @ (x @ (... @ start))`, or the mirror image."""
    lines = [f"x: {dtype}[n, n]", f"y: {dtype}[n, n]"]
    last = start
    for place in range(length):
        pair = f"x, {last}" if side == 0 else f"{last}, x"
        lines.append(f"p{place} = call numpy.matmul({pair})")
        last = f"p{place}"
    return parse("\n".join([*lines, f"return {last}"]))


OPERATIONS = [
    "add",
    "subtract",
    "multiply",
    "negative",
    "invert",
    "bitwise_xor",
    "absolute",
    "square",
    "maximum",
]


@given(
    st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 30), st.integers(0, 30)), max_size=12
    ),
    st.data(),
)
def test_random_integer_graphs_keep_every_bit(
    steps: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    """All passes together change no result, no argument and no aliasing."""
    values = ["a", "b", "0", "1"]
    arrays = ["a", "b"]
    lines = ["a: i4[n]", "b: i4[n]"]
    for place, (name, left, right) in enumerate(steps):
        one, other = arrays[left % len(arrays)], values[right % len(values)]
        unary = name in ("negative", "invert", "absolute", "square")
        lines.append(f"t{place} = {name} {one}" + ("" if unary else f" {other}"))
        arrays.append(f"t{place}")
        values.append(f"t{place}")
    outputs = data.draw(st.lists(st.sampled_from(arrays), min_size=1, max_size=3))
    graph = parse("\n".join([*lines, f"return {', '.join(outputs)}"]))
    after = passes.run(graph, check=True)
    x, y = np.array([1, -5, 2**31 - 1, 0], "i4"), np.array([7, -(2**31), 3, -1], "i4")
    expected, found = reference.run(graph, x, y), reference.run(after, x, y)
    for one, other in zip(expected, found, strict=True):
        assert one.tobytes() == other.tobytes()
    for k in range(len(outputs)):
        for j in range(len(outputs)):
            assert np.shares_memory(expected[k], expected[j]) == np.shares_memory(
                found[k], found[j]
            )
        for given_array in (x, y):
            assert np.shares_memory(expected[k], given_array) == np.shares_memory(
                found[k], given_array
            )

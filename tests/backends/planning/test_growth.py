"""Planning takes time in proportion to the nodes of a graph: as many steps of Python for each of 3,000 as of 500."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("ufuse.backends.numpy._tiles")

from ufuse.backends.numpy.rules import plan_of
from ufuse.graph.memory.accesses import Memory
from ufuse.graph.memory.dependence import dependences
from ufuse.graph.node import Graph
from ufuse.graph.text import parse


def chain(turns: int) -> Iterator[str]:
    """Elementwise operations, each of the one before."""
    yield "x: f8[n]; y0 = add x 1.0"
    for i in range(turns):
        yield f"m{i} = multiply y{i} 1.5; y{i + 1} = add m{i} x"
    yield f"return y{turns}"


def stencil(turns: int) -> Iterator[str]:
    """The same few parts of an array, written in place."""
    yield "u0: f8[n, n]"
    for i in range(turns):
        yield f"a{i} = index u{i} [2:n, 1:n-1]; b{i} = index u{i} [0:n-2, 1:n-1]; c{i} = add a{i} b{i}"
        yield f"v{i} = store u{i} c{i} at [1:n-1, 1:n-1]; d{i} = index v{i} [1, 0:n]"
        yield f"u{i + 1} = store v{i} d{i} at [0, 0:n]"
    yield f"return u{turns}"


def recurrence(turns: int) -> Iterator[str]:
    """Single elements, each written once and read once."""
    yield f"x0: f8[{turns + 1}]"
    for i in range(turns):
        yield f"e{i} = element x{i} [{i}]; m{i} = multiply e{i} 0.5; x{i + 1} = store x{i} m{i} at [{i + 1}]"
    yield f"return x{turns}"


def from_behind(turns: int) -> Iterator[str]:
    """Elements counted from the end of an array whose length is not known."""
    yield "x0: f8[n]"
    for i in range(turns):
        yield f"e{i} = element x{i} [n-{i + 1}]; m{i} = multiply e{i} 0.5; x{i + 1} = store x{i} m{i} at [n-{i + 2}]"
    yield f"return x{turns}"


def prefixes(turns: int) -> Iterator[str]:
    """Each element from all those before it."""
    yield f"x0: f8[{turns + 1}]"
    for i in range(turns):
        yield f"p{i} = index x{i} [0:{i + 1}]; r{i} = reduce_add p{i} axis=None keepdims=False dtype=None"
        yield f"x{i + 1} = store x{i} r{i} at [{i + 1}]"
    yield f"return x{turns}"


def elimination(turns: int) -> Iterator[str]:
    """What is written shrinks, each part within the one before."""
    yield "x0: f8[n, n]"
    for i in range(turns):
        yield f"r{i} = index x{i} [{i}, {i + 1}:n]; c{i} = index x{i} [{i + 1}:n, {i}]; m{i} = multiply c{i} r{i}"
        yield f"a{i} = index x{i} [{i + 1}:n, {i + 1}:n]; s{i} = subtract a{i} m{i}"
        yield f"x{i + 1} = store x{i} s{i} at [{i + 1}:n, {i + 1}:n]"
    yield f"return x{turns}"


def whole_and_parts(turns: int) -> Iterator[str]:
    """Elements are written, and all of the array is read each time."""
    yield f"x0: f8[{turns + 1}]"
    for i in range(turns):
        yield f"y{i} = exp x{i}; x{i + 1} = store x{i} 1.0 at [{i}]"
    yield f"return x{turns}, {', '.join(f'y{i}' for i in range(turns))}"


def views(turns: int) -> Iterator[str]:
    """Many parts of an array that is not written."""
    yield f"x: f8[{turns + 3}]; s0: f8[3]"
    for i in range(turns):
        yield f"v{i} = index x [{i}:{i + 3}]; s{i + 1} = add s{i} v{i}"
    yield f"return s{turns}"


def reductions(turns: int) -> Iterator[str]:
    """Many sums of the same array."""
    yield "x: f8[n, m]"
    for i in range(turns):
        yield f"y{i} = multiply x {i}.5; s{i} = reduce_add y{i} axis=(1,) keepdims=False dtype=None"
    yield f"return {', '.join(f's{i}' for i in range(turns))}"


def products(turns: int) -> Iterator[str]:
    """Calls of functions that no kernel does, each on what the one before gave, written in place."""
    yield "a: f8[4, 4]; x0: f8[4, 4]"
    for i in range(turns):
        yield f"p{i} = call numpy.matmul(a, x{i}); q{i} = add p{i} 1.0; x{i + 1} = store p{i} q{i}"
    yield f"return x{turns}"


def arrays(turns: int) -> Iterator[str]:
    """Many arrays, each written in place once."""
    yield from (f"d{i}: f8[n]" for i in range(turns))
    for i in range(turns):
        yield f"m{i} = multiply d{i} 0.5; e{i} = store d{i} m{i}"
    yield f"return {', '.join(f'e{i}' for i in range(turns))}"


# fmt: off
KINDS: dict[str, tuple[Callable[[int], Iterator[str]], int]] = {  # and how many nodes a turn has
    "a chain":         (chain, 3),
    "a stencil":       (stencil, 6),
    "a recurrence":    (recurrence, 3),
    "from behind":     (from_behind, 3),
    "prefixes":        (prefixes, 3),
    "an elimination":  (elimination, 6),
    "whole and parts": (whole_and_parts, 2),
    "views":           (views, 2),
    "reductions":      (reductions, 3),
    "products":        (products, 3),
    "arrays":          (arrays, 3),
}
# fmt: on


def made(name: str, nodes: int) -> Graph:
    """The graph of a kind with about so many nodes."""
    lines, each = KINDS[name]
    return parse("\n".join(lines(nodes // each)))


def steps_of_planning(graph: Graph) -> int:
    """Count the calls that planning a graph makes, of Python's functions and of C's."""
    count = 0

    def note(*_: Any) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        plan_of(graph)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", KINDS)
def test_steps_for_each_node(name: str) -> None:
    """Six times the nodes take six times the steps."""
    few, many = made(name, 500), made(name, 3000)
    steps_of_planning(few)  # what NumPy is asked once is known from here on
    one, other = (steps_of_planning(graph) / len(graph.nodes) for graph in (few, many))
    assert other < 1.3 * one


@pytest.mark.parametrize("name", KINDS)
def test_what_one_node_waits_for(name: str) -> None:
    """How many nodes others wait for directly grows with the graph, and no faster."""
    one, other = (
        sum(map(len, dependences(graph, Memory()).waits.values())) / len(graph.nodes)
        for graph in (made(name, 600), made(name, 1800))
    )
    assert other < 1.5 * one + 2

"""The laws of graphs."""

from __future__ import annotations

import dataclasses
import re

import pytest

from ufuse.graph.node import Graph
from ufuse.graph.semantics.check import LAWS, GraphError, check
from ufuse.graph.text import parse

BROKEN = [
    ("a: f8[n]; b: f4[n] = add a a; return b", "type should be f8[n] (law 3)"),
    ("a: f8[n]; b: f8[n] = store a 1.0; c = add a b; return c", "(law 4)"),
    ("a: f8[n]; v = index a [0:1]; b = store a 1.0; c = add v 1.0; return c", "(law 4)"),
    ("a: f8[n]; b = log a errors=(('divide', 'raise'),); return b", "(law 7)"),
    ("a: f8[n]; b = store a 1.0; return a", "the output input -> f8[n]: it reads"),
    ("a: f8[n]; v = index a [0:n-1]; b = store v 1.0; return a", "writes a view (law 5)"),
    (
        "a: f8[3]; b: f8[4]; c: f8[3] = store a b; return c",
        "a value of length 4 is stored into 3 (law 3)",
    ),
    ("a: f8[n]; t = call numpy.ndarray.sort(a) writes=(0,); return a", "(law 4)"),
    (
        (
            "x: f8[n]; t: (f8[n]) = loop x condition={x: f8[n]; c = const True; return c} "
            "body={x: f8[n]; y: f4[n] = cast x dtype=f4; return y}; return x"
        ),
        "its body takes or gives other values (law 6)",
    ),
    (
        "c: bool; x: f8[n]; t: (f8[n]) = branch c x then={x: f8[n]; return x} otherwise={return }; return x",
        "(law",
    ),
]


@pytest.mark.parametrize(("text", "law"), BROKEN)
def test_a_broken_law_is_named(text: str, law: str) -> None:
    """The checker names the node and the law."""
    with pytest.raises(GraphError, match=re.escape(law)):
        check(parse(text))


def test_order_of_nodes() -> None:
    """A node stands once, behind its inputs."""
    graph = parse("a: f8[n]; b = exp a; c = exp b; return c")
    a, b, c = graph.nodes
    for nodes in ((a, c, b), (a, b, b, c), (a, b)):
        with pytest.raises(GraphError, match="law 1"):
            check(dataclasses.replace(graph, nodes=nodes))
    with pytest.raises(GraphError, match="law 1"):
        check(Graph((), graph.nodes, graph.outputs))


def test_number_of_inputs() -> None:
    """An op has the inputs of its row."""
    graph = parse("a: f8[n]; b = exp a; return b")
    a, b = graph.nodes
    wrong = dataclasses.replace(b, inputs=(a, a))
    with pytest.raises(GraphError, match="law 2"):
        check(Graph((a,), (a, wrong), (wrong,)))


@pytest.mark.parametrize(
    "text",
    [
        "a: f8[n]; c = exp a; b = store a c; d = add b 1.0; return d, b",
        "a: f8[n]; b: f8[m]; c: f8[n] = add a b; return c",
        "a: f8[n]; b = log a errors=(('divide', 'ignore'), ('invalid', 'warn')); return b",
        "a: f8[n]; t = call numpy.ndarray.sort(a) writes=(0,); b = item t index=1; return b",
        "a: f8[n]; v = index a [0:n-1]; b = store a v at [1:n]; c = index b [0:n-1]; d = reduce_add c; return d",
    ],
)
def test_lawful_graphs_pass(text: str) -> None:
    """A read before a store, and of the newest version after it, is lawful."""
    check(parse(text))


def test_every_law_is_broken_somewhere_above() -> None:
    """The list of laws has no row without a test."""
    assert re.findall(r"^(\d)\.", LAWS, re.MULTILINE) == list("1234567")

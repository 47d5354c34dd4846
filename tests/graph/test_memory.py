"""Which memory values lie in, what is written, and what must wait for what: text in, names of nodes out."""

from __future__ import annotations

import re

import pytest

from ufuse.graph.memory.accesses import Memory
from ufuse.graph.memory.buffers import Buffers
from ufuse.graph.memory.dependence import dependences
from ufuse.graph.node import Graph, Node
from ufuse.graph.semantics.check import GraphError, check
from ufuse.graph.text import parse

TURN = "condition={x: f8[n]; y: f8[n]; k: int; c = scalar.gt k 0; return c}"
X_TURN = "condition={x: f8[n]; c = const True; return c}"


def loop(body: str) -> str:
    """A loop over two arrays and a number, its results `a` and `b`; the body gives `k` back."""
    inner = f"{{x: f8[n]; y: f8[n]; k: int; {body}}}"
    items = "a: f8[n] = item t index=0; b: f8[n] = item t index=1"
    return (
        "x: f8[n]; y: f8[n]; k: int; "
        f"t: (f8[n], f8[n], int) = loop x y k {TURN} body={inner}; {items}; return t, a, b, x, y"
    )


def branch(then: str, otherwise: str) -> str:
    """A branch over two arrays, its only result `a`."""
    sides = f"then={{x: f8[n]; y: f8[n]; {then}}} otherwise={{x: f8[n]; y: f8[n]; {otherwise}}}"
    return (
        "c: bool; x: f8[n]; y: f8[n]; "
        f"t: (f8[n]) = branch c x y {sides}; a: f8[n] = item t index=0; b = exp x; return t, a, b, x, y"
    )


def named(graph: Graph) -> dict[Node, str]:
    """The outputs of a graph of `loop` or `branch` by name."""
    return dict(zip(graph.outputs, ("t", "a", "b", "x", "y"), strict=True))


# fmt: off
RESULTS = {
    # what the loop or branch does            its text                                               written  a is  a may be  b is  b may be
    "a store into what is carried":  (loop("s = store x 1.0; return s, y, k"),                        "x",  "x", "x",   "y", "y"),
    "a swap":                        (loop("return y, x, k"),                                         "",   "",  "axy", "",  "bxy"),
    "a swap of what is written":     (loop("s = store x 1.0; return y, s, k"),                        "xy", "",  "axy", "",  "bxy"),
    "one array in both places":      (loop("return x, x, k"),                                         "",   "x", "x",   "",  "bxy"),
    "a fresh array":                 (loop("z = exp x; return z, y, k"),                              "",   "",  "ax",  "y", "y"),
    "a write into a fresh array":    (loop("z = exp x; s = store z y; return s, y, k"),               "",   "",  "ax",  "y", "y"),
    "a view":                        (loop("v = index x [n-1:-1:-1]; w: f8[n] = copy v order='C'; return w, y, k"), "", "", "ax", "y", "y"),
    "a call that writes":            (loop("s = call numpy.ndarray.sort(x) writes=(0,); z: f8[n] = item s index=1; return z, y, k"), "x", "x", "x", "y", "y"),
    "an inner loop that writes":     (loop(
        "t: (f8[n]) = loop y " + X_TURN + " body={x: f8[n]; s = store x 1.0; return s}; z: f8[n] = item t index=0; return x, z, k"),
                                                                                                     "y",  "x", "x",   "y", "y"),
    "one side or the other":         (branch("return x", "return y"),                                 "",   "",  "axy", "b", "b"),
    "the same on both sides":        (branch("return x", "return x"),                                 "",   "x", "x",   "b", "b"),
    "a write on one side":           (branch("s = store x 1.0; return s", "return x"),                "x",  "x", "x",   "b", "b"),
    "fresh on one side":             (branch("z = exp x; return z", "return y"),                      "",   "",  "ay",  "b", "b"),
    "a write to what a branch gave": (branch(
        "c = const True; t: (f8[n]) = branch c x y then={x: f8[n]; y: f8[n]; return x} otherwise={x: f8[n]; y: f8[n]; return y};"
        " z: f8[n] = item t index=0; s = store z 1.0; return s", "return x"),                         "xy", "",  "axy", "b", "b"),
}
# fmt: on


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_loops_and_branches(name: str) -> None:
    """What is written, which input a result is, and which buffers it may be, turn after turn."""
    text, written, *expected = RESULTS[name]
    graph = parse(text)
    names, buffers = named(graph), Buffers()
    node, a, b = graph.outputs[:3]
    assert "".join(names[one] for one in buffers.written(node)) == written
    found = []
    for one in (a, b):
        buffer = buffers.buffer(one)
        found.append("" if buffer is one and len(buffers.sharing(one)) > 1 else names[buffer])
        found.append("".join(sorted(names[other] for other in buffers.sharing(one))))
    assert found == expected


def test_a_view_that_a_body_returns_is_no_version() -> None:
    """It shows the input's memory, but not as the same array."""
    graph = parse(loop("v: f8[n] = index x [n-1:-1:-1]; return v, y, k"))
    buffers = Buffers()
    _, a, _, x, _ = graph.outputs
    assert buffers.previous(a) is None
    assert buffers.sharing(a) == {a, x}


def test_a_condition_may_write() -> None:
    """What the condition of a loop stores is written by the loop."""
    graph = parse(
        "x: f8[n]; t: (f8[n]) = loop x condition={x: f8[n]; s = store x 1.0; c = const False; return c} "
        "body={x: f8[n]; return x}; return x"
    )
    assert Buffers().written(graph.nodes[1]) == graph.outputs


CHOICE = "branch c x y then={x: f8[n]; y: f8[n]; return x} otherwise={x: f8[n]; y: f8[n]; return y}"
FILL = "body={x: f8[n]; s = store x 1.0; return s}"
# fmt: off
WAITS = {
    "a loop waits for a store into what it is given":
        f"x: f8[n]; s = store x 1.0; t: (f8[n]) = loop s {X_TURN} body={{x: f8[n]; return x}}; return s, t",
    "a loop that writes waits for what reads before it":
        f"x: f8[n]; e = exp x; t: (f8[n]) = loop x {X_TURN} {FILL}; return e, t",
    "what reads the result waits for the loop":
        f"x: f8[n]; t: (f8[n]) = loop x {X_TURN} {FILL}; a: f8[n] = item t index=0; e = exp a; return t, e",
    "a store into a result waits for what reads an input that it may be":
        f"x: f8[n]; y: f8[n]; c: bool; e = exp y; t: (f8[n]) = {CHOICE}; "
        "a: f8[n] = item t index=0; s = store a 1.0; return e, s",
}
FREE = {
    "a loop that writes nothing":
        f"x: f8[n]; e = exp x; t: (f8[n]) = loop x {X_TURN} body={{x: f8[n]; z = exp x; return z}}; return e, t",
    "a store into another part":
        "x: f8[4]; v = index x [0:2]; e = exp v; s = store x 1.0 at [2:4]; return e, s",
}
# fmt: on


@pytest.mark.parametrize("text", WAITS.values(), ids=WAITS)
def test_waits(text: str) -> None:
    """The second output waits for the first."""
    graph = parse(text)
    first, last = graph.outputs
    waits = dependences(graph, Memory()).waits
    assert first in waits[last]
    assert last not in waits[first]


@pytest.mark.parametrize("text", FREE.values(), ids=FREE)
def test_waits_for_nobody(text: str) -> None:
    """The second output may run before the first."""
    graph = parse(text)
    first, last = graph.outputs
    assert first not in dependences(graph, Memory()).waits[last]


def test_what_a_branch_gave_is_written_under_all_its_names() -> None:
    """After a store into one of two arrays neither may be read by its old name, nor the one after a store into either."""
    choice = f"x: f8[n]; y: f8[n]; c: bool; t: (f8[n]) = {CHOICE}; a: f8[n] = item t index=0; "
    check(parse(choice + "s = store a 1.0; e = exp s; return e"))
    for rest in ("s = store a 1.0; e = exp y; return e", "s = store y 1.0; e = exp a; return e"):
        with pytest.raises(GraphError, match=re.escape("(law 4)")):
            check(parse(choice + rest))

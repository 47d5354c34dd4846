"""What waits for what, found from the parts of buffers, against every pair of accesses compared."""

from __future__ import annotations

import random

import pytest

from ufuse.graph.memory import history
from ufuse.graph.memory.accesses import Access, Memory
from ufuse.graph.memory.dependence import Dependences, dependences
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.text import parse

LENGTH = 12  # of the known axis
PLACES = ("0", "1", "5", "11", "n-1", "n-2", "m", "m-1", "m+2")
SPANS = ("1:n-1", "0:n-2", "2:n", "0:n", "n-3:n", "1:1+m", "0:n:2", "1:n:2")
SPANS += ("m-2:m+2", "m:m+4", "m-4:m", "m-1:m+1", "m-6:m-2", "m+2:m+9")  # on both sides of a base


def place(draw: random.Random) -> str:
    """Draw what is left of the symbolic axis."""
    if draw.random() < 0.4:
        return draw.choice(PLACES)
    if draw.random() < 0.5:
        return draw.choice(SPANS)
    start = draw.randrange(10)
    return f"{start}:{start + draw.randrange(1, 5)}"


def known_place(draw: random.Random) -> str:
    """Draw what is left of the axis of known length."""
    start = draw.randrange(LENGTH)
    if draw.random() < 0.5:
        return str(start)
    end = draw.randrange(start + 1, LENGTH + 1)
    return draw.choice((f"{start}:{end}", f"0:{LENGTH}"))


def drawn(seed: int, count: int) -> Graph:
    """Draw a graph of reads of parts of two buffers, and stores into them."""
    draw = random.Random(seed)  # noqa: S311  not for secrets
    lines = [f"x: f8[n, {LENGTH}]", "k: i8[m]", "z = exp x"]
    versions = {"x": "x", "z": "z"}
    parts = [""]
    for number in range(count):
        name = draw.choice(("x", "z"))
        parts.append(f"[{place(draw)}, {known_place(draw)}]")
        part = draw.choice((parts[-1], *draw.choices(parts[-6:], k=2)))
        kind = draw.random()
        if kind < 0.5:
            lines.append(
                f"s{number} = store {versions[name]} 1.0" + (f" at {part}" if part else "")
            )
            versions[name] = f"s{number}"
        elif kind < 0.6:
            row = f"[{draw.choice(PLACES)}, {draw.randrange(LENGTH)}]"
            lines.append(f"e{number} = element {versions[name]} {row}")
        elif part:
            lines += [f"v{number} = index {versions[name]} {part}", f"r{number} = exp v{number}"]
        else:
            lines.append(f"r{number} = exp {versions[name]}")
    outputs = ", ".join(versions.values())
    return parse("\n".join([*lines, f"return {outputs}"]))


def reached(waits: dict[Node, set[Node]]) -> dict[Node, set[Node]]:
    """For every node all that it waits for, through others too."""
    found: dict[Node, set[Node]] = {}
    for node, direct in waits.items():
        found[node] = direct.union(*(found.get(one, set()) for one in direct))
    return found


def brute_force(graph: Graph, memory: Memory) -> dict[Node, set[Node]]:
    """For every node those before it that use a part of memory that it uses, one of the two writing."""
    waits: dict[Node, set[Node]] = {}
    earlier: list[tuple[Node, Access, bool]] = []
    for node in graph:
        if node.op.kind in (Kind.VIEW, Kind.CONST, Kind.INPUT):
            continue
        uses = [(access, False) for access in memory.reads(node)]
        uses += [(access, True) for access in memory.writes(node)]
        waits[node] = {
            other
            for access, writes in uses
            for other, used, wrote in earlier
            if (writes or wrote) and memory.clash(access, used)
        }
        earlier += [(node, *use) for use in uses]
    return waits


def test_who_waits_for_whom() -> None:
    """Through others or not, nodes wait for those whose memory they share; and, of these, for nobody else."""
    for seed in range(60):
        graph = drawn(seed, 30)
        memory = Memory()
        found = dependences(graph, memory)
        assert not found.fences
        wanted = reached(brute_force(graph, memory))
        got = reached(found.waits)
        makers = {node for node in graph if node.op.kind in (Kind.INPUT, Kind.CONST)}
        makers.add(next(node for node in graph if node.op.kind is Kind.MAP))  # z
        for node, others in wanted.items():
            assert others <= got[node] <= others | makers, seed


def test_many_wait_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where too many parts overlap, one node waits for all of them, and the later ones for that node: nobody is missed."""
    monkeypatch.setattr(history, "MOST_FOUND", 5)
    fenced = 0
    for seed in range(40):
        graph = drawn(seed, 40)
        memory = Memory()
        found = dependences(graph, memory)
        fenced += len(found.fences)
        got = reached(found.waits)
        for node, others in brute_force(graph, memory).items():
            assert others <= got[node], seed
        check_stored(graph, memory, found)
    assert fenced > 40


def test_the_store_whose_value_is_read() -> None:
    """A value is said to be what one store wrote only if that wrote just this part, and no later store any of it."""
    found = 0
    for seed in range(60):
        graph = drawn(seed, 40)
        memory = Memory()
        found += check_stored(graph, memory, dependences(graph, memory))
    assert found > 50


def check_stored(graph: Graph, memory: Memory, found: Dependences) -> int:
    """Compare with all earlier stores; how many values were found."""
    stores: list[Node] = []
    for node in graph:
        for source in node.inputs[1:] if node.op.kind is Kind.STORE else node.inputs:
            store = found.stored.get(source)
            if store is not None and node.op.kind is not Kind.VIEW:
                part = memory.access(source)
                assert memory.target(store) is part
                later = stores[stores.index(store) + 1 :]
                assert not any(memory.clash(memory.target(one), part) for one in later)
        if node.op.kind is Kind.STORE:
            stores.append(node)
    return len(found.stored)


def test_what_conflicts() -> None:
    """No store is taken into a kernel with one that uses an overlapping part: of those nearest it is told directly."""
    graph = parse(
        "x: f8[n]; a = index x [1:n]; r = exp a; s = store x r at [0:n-1]; b = index s [0:n-1]; t = exp b; return t, s"
    )
    r, s, t = graph.nodes[2], graph.nodes[3], graph.nodes[5]
    found = dependences(graph, Memory())
    assert found.conflicts[s] == {r}
    assert found.conflicts[t] == set()
    assert found.stored[graph.nodes[4]] is s

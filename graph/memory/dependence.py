"""Which node must wait for which."""

from __future__ import annotations

from collections import defaultdict

from ufuse.graph.memory.accesses import Access, Memory, producer
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind

ByBuffer = defaultdict[Node, list[tuple[Node, Access]]]


def dependences(graph: Graph, memory: Memory) -> dict[Node, set[Node]]:
    """For every node those that must run before it: they make or change what it reads, or use what it writes over."""
    written = {
        root
        for node in graph
        for access in memory.writes(node)
        for root in memory.sharing(access.root)
    }
    waits: dict[Node, set[Node]] = {}
    readers: ByBuffer = defaultdict(list)
    writers: ByBuffer = defaultdict(list)
    for node in graph:
        before = waits[node] = set()
        if node.op.kind is Kind.VIEW or node.op.kind is Kind.ITEM:
            continue
        sources = node.inputs
        if node.op.kind is Kind.STORE:
            before.add(producer(memory.access(node).root))
            sources = node.inputs[1:]
        for source in sources:
            before.update(memory.makers(source))
        if not written:
            continue
        writes = memory.writes(node)
        reads = [
            access
            for access in memory.reads(node)
            if not written.isdisjoint(memory.sharing(access.root))
        ]
        for access in (*reads, *writes):
            before.update(_clashing(access, writers, memory))
        for access in writes:
            before.update(_clashing(access, readers, memory))
        before.discard(node)
        for found, into in ((reads, readers), (writes, writers)):
            for access in found:
                for root in memory.sharing(access.root):
                    into[root].append((node, access))
    return waits


def _clashing(access: Access, earlier: ByBuffer, memory: Memory) -> set[Node]:
    return {
        node
        for root in memory.sharing(access.root)
        for node, other in earlier[root]
        if memory.clash(access, other)
    }

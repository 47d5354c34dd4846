"""Which node must wait for which, and which takes what another makes or changes.

Law: what a node waits for through others may be left out. A node then waits for a number of others that does not grow
with the graph, so the whole takes time in proportion to its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ufuse.graph.made import makers, named_by
from ufuse.graph.memory.accesses import Access, Memory, producer
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.memory.history import Found, History, Part
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.typing.draws import is_draw


@dataclass(slots=True)
class Dependences:
    """What every node of a graph that runs needs before it.

    waits: those that must run before it: they make or change what it reads, or use what it writes over.
    makers: those that make or change what it reads.
    conflicts: those of `waits` that use other parts of memory than the node, which overlap with its own, where one of
        the two writes.
    stored: for a value that is read, the store that wrote just this part of memory last, if one did; no other has
        changed any of it since.
    fences: nodes that wait for all who used a buffer before, because these were too many to tell apart; all who use it
        later wait for the fence alone.
    """

    waits: dict[Node, set[Node]] = field(default_factory=dict)
    makers: dict[Node, set[Node]] = field(default_factory=dict)
    conflicts: dict[Node, set[Node]] = field(default_factory=dict)
    stored: dict[Node, Node] = field(default_factory=dict)
    fences: set[Node] = field(default_factory=set)


def dependences(graph: Graph, memory: Memory) -> Dependences:
    """What every node needs before it."""
    follower = _Follower(graph, memory)
    for time, node in enumerate(graph):
        if node.op.kind is not Kind.VIEW and node.op.kind is not Kind.ITEM:
            follower.follow(node, time)
    return follower.found


class _Follower:
    """Follows the accesses of a graph, node by node."""

    def __init__(self, graph: Graph, memory: Memory) -> None:
        self.memory = memory
        self.found = Dependences()
        self._families = _families(graph, memory)
        self._histories: dict[Node, History] = {}
        self._made = makers(graph)
        self._drawn: Node | None = None  # the last that draws random numbers

    def _history(self, root: Node) -> History | None:
        """The history of a buffer that some node writes."""
        if root not in self._families:
            return None
        family, size = self._families[root]
        if family not in self._histories:
            self._histories[family] = History(self.memory.clash, alone=size == 1)
        return self._histories[family]

    def follow(self, node: Node, time: int) -> None:
        """Find what a node needs, then note what it does."""
        found, memory = self.found, self.memory
        waits = found.waits[node] = set()
        makers = found.makers[node] = set(map(producer, node.inputs))
        found.conflicts[node] = set()
        sources: Iterable[Node] = node.inputs
        if node.op.kind is Kind.STORE:
            waits.add(producer(memory.access(node).root))
            sources = node.inputs[1:]
        reads: list[tuple[History, Part, Found | None]] = []
        for source in sources:
            if not is_array(source):
                waits.add(producer(source))
                continue
            buffer = memory.buffer(source)
            maker = producer(buffer)
            waits.add(maker)
            makers.add(maker)
            history = self._history(buffer)
            if history is not None:
                reads.append(self._read(node, source, memory.read(node, source), history))
        writes = [self._write(node, access) for access in memory.writes(node)]
        for history, part, before in reads:
            history.note_read(history.part(part.access), before, node, time)
        for history, part, before in writes:
            history.note_write(history.part(part.access), before, node, time)
        if self._made:
            waits.update(self._makers_of_sizes(node))
        if is_draw(node):  # two generators may draw from one source of bits
            waits.update([self._drawn] if self._drawn is not None else ())
            self._drawn = node
        waits.discard(node)

    def _makers_of_sizes(self, node: Node) -> Iterator[Node]:
        """The nodes that make the sizes which a node names, or a view or a size that it takes."""
        pending, seen = [node], {node}
        while pending:
            one = pending.pop()
            yield from (producer(self._made[name]) for name in named_by(one) & self._made.keys())
            unrun = [source for source in one.inputs if source.op.kind in (Kind.VIEW, Kind.SIZE)]
            pending += [source for source in unrun if source not in seen]
            seen.update(unrun)

    def _read(
        self, node: Node, source: Node, access: Access, history: History
    ) -> tuple[History, Part, Found | None]:
        part = history.part(access)
        before = history.before_read(part)
        if before is None:
            self._fence(node, history)
        else:
            self.found.makers[node].update(self._wait(node, part, before, history))
            if before.written and before.written[0] is part:
                writer = part.writer
                if (
                    writer is not None
                    and writer.op.kind is Kind.STORE
                    and access is self.memory.access(source)
                ):
                    self.found.stored[source] = writer
        return history, part, before

    def _write(self, node: Node, access: Access) -> tuple[History, Part, Found | None]:
        history = self._history(access.root)
        assert history is not None
        part = history.part(access)
        before = history.before_write(part)
        if before is None:
            self._fence(node, history)
        else:
            self._wait(node, part, before, history)
            waits, conflicts = self.found.waits[node], self.found.conflicts[node]
            for other in before.read:
                readers = [reader for time, reader in other.readers if time > before.covered]
                waits.update(readers)
                if other is not part:
                    conflicts.update(readers)
        return history, part, before

    def _wait(self, node: Node, part: Part, before: Found, history: History) -> list[Node]:
        """Wait for writers."""
        writers = [other.writer for other in before.written if other.writer is not None]
        waits = self.found.waits[node]
        waits.update(writers)
        if history.fence is not None:
            waits.add(history.fence)
        self.found.conflicts[node].update(
            other.writer
            for other in before.written
            if other is not part and other.writer is not None
        )
        return writers

    def _fence(self, node: Node, history: History) -> None:
        """Let a node wait for all who used a buffer before."""
        self.found.waits[node].update(history.everyone())
        self.found.fences.add(node)
        history.forget(node)


def _families(graph: Graph, memory: Memory) -> dict[Node, tuple[Node, int]]:
    """For each buffer that is written, or may share memory with one that is: who stands for them, and how many."""
    written = {access.root for node in graph for access in memory.writes(node)}
    if not written:
        return {}
    roots = {memory.access(one).root for node in graph for one in node.inputs if is_array(one)}
    leader: dict[Node, Node] = {}

    def find(root: Node) -> Node:
        while leader.setdefault(root, root) is not root:
            leader[root] = root = leader[leader[root]]
        return root

    for root in roots | written:
        for other in memory.sharing(root):
            leader[find(other)] = find(root)
    members: dict[Node, list[Node]] = {}
    for root in leader:
        members.setdefault(find(root), []).append(root)
    changed = {find(root) for root in written}
    return {root: (one, len(members[one])) for one in changed for root in members[one]}

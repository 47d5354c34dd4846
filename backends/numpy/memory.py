"""Which memory every node reads and writes, and which node must therefore wait for which."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ufuse.backends.numpy.regions import Region, may_overlap, seen_through, whole
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType

SEEING_THROUGH = (Kind.VIEW, Kind.STORE)
OPAQUE = (Kind.CALL, Kind.LOOP, Kind.BRANCH)


class Access(NamedTuple):
    """A part of the memory that `root` made or received."""

    root: Node
    region: Region


def is_array(node: Node) -> bool:
    """Whether the value is an ndarray: it has memory that others may see."""
    return isinstance(node.type, ArrayType) and not node.type.scalar


class Memory:
    """The memory of one graph: accesses of nodes, and `waits`, for every node those that must run before it.

    Laws: two inputs of which one is written never overlap (the caller guards it). The result of a call may be a view of
    any of its array inputs.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._accesses: dict[Node, Access] = {}
        self._shared: dict[Node, frozenset[Node]] = {}
        self.written: set[Node] = set()
        for node in graph:
            for access in self.writes(node):
                self.written |= self.relatives(access.root)

    def access(self, node: Node) -> Access:
        """The memory behind an array value."""
        found = self._accesses.get(node)
        if found is None:
            found = self._accesses[node] = self._find(node)
        return found

    def _find(self, node: Node) -> Access:
        if node.op.kind is Kind.VIEW:
            access = self.access(node.inputs[0])
            return Access(access.root, seen_through(access.region, node.op.name, node.attributes))
        before = version_before(node)
        if before is not None:
            return self.access(before)
        assert isinstance(node.type, ArrayType)
        return Access(node, whole(node.type.shape))

    def target(self, store: Node) -> Access:
        """The memory that a store writes."""
        root, region = self.access(store.inputs[0])
        for name, attributes in store.attributes.get("path", ()):
            region = seen_through(region, name, attributes)
        return Access(root, region)

    def writes(self, node: Node) -> tuple[Access, ...]:
        """What the node changes."""
        if node.op.kind is Kind.STORE:
            return (self.target(node),)
        if any(isinstance(body, Graph) and _stores(body) for body in node.attributes.values()):
            return tuple(self.access(source) for source in node.inputs if is_array(source))
        return tuple(self.access(node.inputs[place]) for place in node.attributes.get("writes", ()))

    def reads(self, node: Node) -> tuple[Access, ...]:
        """What the node looks at; a view only points at its memory."""
        if node.op.kind is Kind.VIEW or node.op.kind is Kind.ITEM:
            return ()
        inputs = node.inputs[1:] if node.op.kind is Kind.STORE else node.inputs
        return tuple(self.access(source) for source in inputs if is_array(source))

    def relatives(self, root: Node) -> frozenset[Node]:
        """The roots whose memory a root may share: itself, and for the result of a call its inputs'."""
        found = self._shared.get(root)
        if found is None:
            maker = root.inputs[0] if root.op is ops.ITEM else root
            found = frozenset({root})
            if maker.op.kind in OPAQUE and maker.op is not ops.ELEMENT:
                for source in maker.inputs:
                    if is_array(source):
                        found |= self.relatives(self.access(source).root)
            self._shared[root] = found
        return found

    def clash(self, one: Access, other: Access) -> bool:
        """Whether two accesses may meet in memory."""
        if one.root is other.root:
            return may_overlap(one.region, other.region)
        return bool(self.relatives(one.root) & self.relatives(other.root))

    def is_visible(self, access: Access) -> bool:
        """Whether the memory existed before the call."""
        return any(root.op is ops.INPUT for root in self.relatives(access.root))

    def makers(self, source: Node) -> Iterator[Node]:
        """The nodes that must have run before the memory behind `source` holds its value."""
        if not is_array(source):
            yield producer(source)
            return
        region = self.access(source).region
        while True:
            if source.op.kind is Kind.VIEW:
                source = source.inputs[0]
                continue
            before = version_before(source)
            if before is None:
                yield producer(source)
                return
            if source.op.kind is Kind.STORE:
                target = self.target(source).region
                if may_overlap(target, region):
                    yield source
            else:
                yield source.inputs[0]
            source = before

    @cached_property
    def waits(self) -> dict[Node, set[Node]]:
        """For every node those that must run before it."""
        waits: dict[Node, set[Node]] = {}
        readers: list[tuple[Node, Access]] = []
        writers: list[tuple[Node, Access]] = []
        for node in self.graph:
            before = waits[node] = set()
            sources = node.inputs
            if node.op.kind is Kind.VIEW or node.op.kind is Kind.ITEM:
                continue
            if node.op.kind is Kind.STORE:
                before.update(self._buffer_makers(node))
                sources = node.inputs[1:]
            for source in sources:
                before.update(self.makers(source))
            if not self.written:
                continue
            written = self.writes(node)
            read = [
                access for access in self.reads(node) if self.relatives(access.root) & self.written
            ]
            mine = [*read, *written]
            before.update(
                other for other, access in writers if any(self.clash(access, one) for one in mine)
            )
            before.update(
                other
                for other, access in readers
                if any(self.clash(access, one) for one in written)
            )
            before.discard(node)
            readers += [(node, access) for access in read]
            writers += [(node, access) for access in written]
        return waits

    def _buffer_makers(self, store: Node) -> Iterator[Node]:
        yield producer(self.target(store).root)


def _stores(body: Graph) -> bool:
    """Whether a body writes memory that may have come from outside."""
    return any(
        node.op.kind is Kind.STORE
        or node.attributes.get("writes")
        or any(isinstance(inner, Graph) and _stores(inner) for inner in node.attributes.values())
        for node in body
    )


def version_before(node: Node) -> Node | None:
    """The older version of the same buffer, where `node` is a version that an effect made."""
    if node.op.kind is Kind.STORE:
        return node.inputs[0]
    if node.op is ops.ITEM:
        call, place = node.inputs[0], node.attributes["index"]
        writes = call.attributes.get("writes", ())
        if writes and place >= 1:
            older: Node = call.inputs[writes[place - 1]]
            return older
    return None


def producer(node: Node) -> Node:
    """The node that is run to get a value."""
    while node.op is ops.ITEM or node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node

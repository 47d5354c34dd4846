"""Which part of which memory every node reads and writes."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.memory.regions import Region, may_overlap, region_of_view, whole
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import individual
from ufuse.graph.types import ArrayType


@individual
class Access:
    """A part of the buffer whose first version is `root`; to one `Memory` equal parts are one object."""

    root: Node
    region: Region


def producer(node: Node) -> Node:
    """The node that is run to get a value: views and items are taken of what it gives."""
    while node.op is ops.ITEM or node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node


class Memory(Buffers):
    """The buffers of nodes, and which part of them each reads and writes.

    Law: two inputs of which one is written never overlap (the caller guards it). `hidden` are the inputs whose memory
    nobody sees besides: a graph around this one has made it.
    """

    def __init__(self, hidden: AbstractSet[Node] = frozenset()) -> None:
        super().__init__()
        self._hidden = hidden
        self._accesses: dict[Node, Access] = {}
        self._targets: dict[Node, Access] = {}
        self._parts: dict[tuple[Node, Region], Access] = {}

    def access(self, node: Node) -> Access:
        """The memory behind an array."""
        found = self._accesses.get(node)
        if found is not None:
            return found
        passed: list[Node] = []
        while found is None:
            older = node.inputs[0] if node.op.kind is Kind.VIEW else self.previous(node)
            if older is None:
                assert isinstance(node.type, ArrayType)
                found = self._accesses[node] = Access(node, whole(node.type.shape))
            else:
                passed.append(node)
                node, found = older, self._accesses.get(older)
        for one in reversed(passed):
            if one.op.kind is Kind.VIEW:
                region = region_of_view(found.region, one.op.name, one.attributes)
                found = self._part(found.root, region)
            self._accesses[one] = found
        return found

    def target(self, store: Node) -> Access:
        """The memory that a store writes."""
        found = self._targets.get(store)
        if found is None:
            buffer = self.access(store.inputs[0])
            region = buffer.region
            for name, attributes in store.attributes.get("path", ()):
                region = region_of_view(region, name, attributes)
            found = self._targets[store] = self._part(buffer.root, region)
        return found

    def _part(self, root: Node, region: Region) -> Access:
        all_of_it = self._accesses[root]
        if region == all_of_it.region:
            return all_of_it
        found = self._parts.get((root, region))
        if found is None:
            found = self._parts[root, region] = Access(root, region)
        return found

    def writes(self, node: Node) -> tuple[Access, ...]:
        """What the node changes."""
        if node.op.kind is Kind.MAP:
            return ()
        if node.op.kind is Kind.STORE:
            return (self.target(node),)
        written = self.written(node)
        return tuple(map(self.access, written)) if written else ()

    def reads(self, node: Node) -> tuple[Access, ...]:
        """What the node reads; making a view reads nothing."""
        if node.op.kind is Kind.VIEW or node.op.kind is Kind.ITEM:
            return ()
        inputs = node.inputs[1:] if node.op.kind is Kind.STORE else node.inputs
        return tuple(self.read(node, source) for source in inputs if is_array(source))

    def read_buffers(self, node: Node) -> list[Node]:
        """The buffers that the node reads."""
        inputs = node.inputs[1:] if node.op.kind is Kind.STORE else node.inputs
        return [self.buffer(source) for source in inputs if is_array(source)]

    def read(self, node: Node, source: Node) -> Access:
        """What a node reads of an array that it takes."""
        access = self._accesses.get(source) or self.access(source)
        if node.op is not ops.ELEMENT:
            return access
        return self._part(access.root, region_of_view(access.region, "index", node.attributes))

    def clash(self, one: Access, other: Access) -> bool:
        """Whether two accesses may meet in memory."""
        if one.root is other.root:
            return may_overlap(one.region, other.region)
        return not self.sharing(one.root).isdisjoint(self.sharing(other.root))

    def is_visible(self, access: Access) -> bool:
        """Whether the caller may see the memory: it existed before the call."""
        roots = self.sharing(access.root)
        return any(root.op is ops.INPUT and root not in self._hidden for root in roots)

"""Which part of which memory every node reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ufuse.graph import ops
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.memory.regions import Region, may_overlap, region_of_view, whole
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType


class Access(NamedTuple):
    """A part of the buffer whose first version is `root`."""

    root: Node
    region: Region


def producer(node: Node) -> Node:
    """The node that is run to get a value: views and items are taken of what it gives."""
    while node.op is ops.ITEM or node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node


class Memory(Buffers):
    """The buffers of nodes, and which part of them each reads and writes.

    Laws: two inputs of which one is written never overlap (the caller guards it). The result of a call counts as a view
    of each of its array inputs, although `typing.sample` refuses functions that return views.
    """

    def __init__(self) -> None:
        super().__init__()
        self._accesses: dict[Node, Access] = {}
        self._targets: dict[Node, Access] = {}

    def shared_inputs(self, buffer: Node) -> Iterable[Node]:
        """The inputs whose memory the first version of a buffer may lie in; those of a call, whatever it gives."""
        maker = buffer.inputs[0] if buffer.op is ops.ITEM else buffer
        return (
            filter(is_array, maker.inputs)
            if maker.op is ops.CALL
            else super().shared_inputs(buffer)
        )

    def access(self, node: Node) -> Access:
        """The memory behind an array."""
        found = self._accesses.get(node)
        if found is None:
            found = self._accesses[node] = self._find(node)
        return found

    def _find(self, node: Node) -> Access:
        if node.op.kind is Kind.VIEW:
            access = self.access(node.inputs[0])
            return Access(access.root, region_of_view(access.region, node.op.name, node.attributes))
        previous = self.previous(node)
        if previous is not None:
            return self.access(previous)
        assert isinstance(node.type, ArrayType)
        return Access(node, whole(node.type.shape))

    def target(self, store: Node) -> Access:
        """The memory that a store writes."""
        found = self._targets.get(store)
        if found is None:
            root, region = self.access(store.inputs[0])
            for name, attributes in store.attributes.get("path", ()):
                region = region_of_view(region, name, attributes)
            found = self._targets[store] = Access(root, region)
        return found

    def writes(self, node: Node) -> tuple[Access, ...]:
        """What the node changes."""
        if node.op.kind is Kind.STORE:
            return (self.target(node),)
        return tuple(map(self.access, self.written(node)))

    def reads(self, node: Node) -> tuple[Access, ...]:
        """What the node reads; making a view reads nothing."""
        if node.op.kind is Kind.VIEW or node.op.kind is Kind.ITEM:
            return ()
        inputs = node.inputs[1:] if node.op.kind is Kind.STORE else node.inputs
        return tuple(self.access(source) for source in inputs if is_array(source))

    def clash(self, one: Access, other: Access) -> bool:
        """Whether two accesses may meet in memory."""
        if one.root is other.root:
            return may_overlap(one.region, other.region)
        return not self.sharing(one.root).isdisjoint(self.sharing(other.root))

    def is_visible(self, access: Access) -> bool:
        """Whether the caller may see the memory: it existed before the call."""
        return any(root.op is ops.INPUT for root in self.sharing(access.root))

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
            previous = self.previous(source)
            if previous is None:
                yield producer(source)
                return
            if source.op.kind is Kind.STORE:
                if may_overlap(self.target(source).region, region):
                    yield source
            else:
                yield source.inputs[0]
            source = previous

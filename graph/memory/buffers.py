"""Which buffer every value lies in, and which version of it.

A *buffer* is memory that the caller gave or one node made; that node is its first version. A view lies in the buffer of
what it views. A store is the next version of the buffer that it writes, and so is an `item` of a call, loop or branch
whose result is the very array that it was given. Any other result of a loop or branch may be fresh, or share memory
with what was given: it counts as a buffer of its own, and `sharing` lists those that it may be. The result of
a call is fresh: `typing.sample` refuses functions that return views.
"""

from __future__ import annotations

from collections.abc import Iterable

from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType

NOWHERE: frozenset[int] = frozenset()


def is_array(node: Node) -> bool:
    """Whether the value is an ndarray, whose memory others may share: no NumPy scalar, no number."""
    return isinstance(node.type, ArrayType) and not node.type.scalar


def version_of(node: Node) -> Node:
    """The version of a buffer that a node sees: itself, or what it is a view of."""
    while node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node


@record
class Result:
    """Where one result of a call, loop or branch lies; numbers are positions among the inputs.

    `same` is the input that the result is, as an object, however often a loop turns; `shares` are the inputs whose
    memory it may lie in.
    """

    same: int | None
    shares: frozenset[int]


@record
class Summary:
    """What a loop or branch does with the memory of its inputs."""

    results: tuple[Result, ...]
    written: frozenset[int]


class Buffers:
    """The buffers of nodes, each found once."""

    def __init__(self) -> None:
        self._found: dict[Node, Node] = {}
        self._sharing: dict[Node, frozenset[Node]] = {}
        self._summaries: dict[Node, Summary] = {}

    def buffer(self, node: Node) -> Node:
        """The first version of the memory that a node's value lies in."""
        passed: list[Node] = []
        found = self._found.get(node)
        while found is None:
            passed.append(node)
            older = node.inputs[0] if node.op.kind is Kind.VIEW else self.previous(node)
            found = node if older is None else self._found.get(older)
            node = node if older is None else older
        for one in passed:
            self._found[one] = found
        return found

    def sharing(self, node: Node) -> frozenset[Node]:
        """Every buffer that a node's value may lie in."""
        buffer = self.buffer(node)
        found = self._sharing.get(buffer)
        if found is None:
            self._find_sharing(buffer)
            found = self._sharing[buffer]
        return found

    def _find_sharing(self, buffer: Node) -> None:
        """Note what a buffer and those that it may be share memory with, the older ones first."""
        pending = [buffer]
        while pending:
            one = pending[-1]
            inputs = [self.buffer(source) for source in self.shared_inputs(one)]
            unknown = [source for source in inputs if source not in self._sharing]
            if unknown:
                pending += unknown
                continue
            self._sharing[one] = frozenset({one}).union(*(self._sharing[two] for two in inputs))
            pending.pop()

    def shared_inputs(self, buffer: Node) -> Iterable[Node]:
        """The inputs whose memory the first version of a buffer may lie in."""
        if buffer.op is not ops.ITEM:
            return ()
        (maker,) = buffer.inputs
        return [
            maker.inputs[place] for place in self._result(maker, buffer.attributes["index"]).shares
        ]

    def previous(self, node: Node) -> Node | None:
        """The version that this node's replaces, or None: the same array before a store, a call, a loop or a branch."""
        if node.op.kind is Kind.STORE:
            return node.inputs[0]
        if node.op is ops.ITEM:
            (maker,) = node.inputs
            same = self._result(maker, node.attributes["index"]).same
            return None if same is None else maker.inputs[same]
        return None

    def written(self, node: Node) -> tuple[Node, ...]:
        """The inputs whose memory a node changes."""
        kind = node.op.kind
        if kind is Kind.STORE:
            return node.inputs[:1]
        if kind is Kind.CALL:
            return tuple(node.inputs[place] for place in node.attributes.get("writes", ()))
        if kind is Kind.LOOP or kind is Kind.BRANCH:
            return tuple(node.inputs[place] for place in sorted(self._summary(node).written))
        return ()

    def writes_given(self, graph: Graph) -> bool:
        """Whether a graph writes memory that it was given, which the caller sees."""
        return any(
            buffer.op is ops.INPUT
            for node in graph
            for one in self.written(node)
            for buffer in self.sharing(one)
        )

    def _result(self, maker: Node, index: int) -> Result:
        if maker.op.kind is not Kind.CALL:
            return self._summary(maker).results[index]
        written = maker.attributes.get("writes", ())
        if written and index >= 1:
            return Result(written[index - 1], NOWHERE)
        return Result(None, NOWHERE)

    def _summary(self, node: Node) -> Summary:
        found = self._summaries.get(node)
        if found is None:
            made = self._loop if node.op is ops.LOOP else self._branch
            found = self._summaries[node] = made(node)
        return found

    def _loop(self, node: Node) -> Summary:
        """A result is the input in its place after no turn; else what the body gave, which may be another input."""
        turn = self._results(node.attributes["body"])
        reached = [_reached(place, turn) for place in range(len(turn))]
        written = self._written_by(node.attributes["condition"]) | self._written_by(
            node.attributes["body"]
        )
        return Summary(
            tuple(
                Result(place if one.same == place else None, reached[place])
                for place, one in enumerate(turn)
            ),
            NOWHERE.union(*(reached[place] for place in written)),
        )

    def _branch(self, node: Node) -> Summary:
        """The inputs of the sides stand behind the condition."""
        sides = [node.attributes["then"], node.attributes["otherwise"]]
        results = []
        for one, other in zip(*map(self._results, sides), strict=True):
            same = one.same if one.same == other.same else None
            shares = frozenset(1 + place for place in one.shares | other.shares)
            results.append(Result(None if same is None else 1 + same, shares))
        written = frozenset(1 + place for side in sides for place in self._written_by(side))
        return Summary(tuple(results), written)

    def _results(self, body: Graph) -> list[Result]:
        places = {node: place for place, node in enumerate(body.inputs)}
        results = []
        for output in body.outputs:
            oldest = output
            while (older := self.previous(oldest)) is not None:
                oldest = older
            shares = frozenset(places[one] for one in self.sharing(output) if one in places)
            results.append(
                Result(places.get(oldest), shares) if is_array(output) else Result(None, NOWHERE)
            )
        return results

    def _written_by(self, body: Graph) -> frozenset[int]:
        places = {node: place for place, node in enumerate(body.inputs)}
        return frozenset(
            places[buffer]
            for node in body
            for one in self.written(node)
            for buffer in self.sharing(one)
            if buffer in places
        )


def _reached(place: int, turn: list[Result]) -> frozenset[int]:
    """The inputs of a loop that the value carried in a place may share memory with, in any turn."""
    reached = {place}
    pending = [place]
    while pending:
        new = turn[pending.pop()].shares - reached
        reached |= new
        pending += new
    return frozenset(reached)

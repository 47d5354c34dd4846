"""Operations that belong to the kernel that takes their value, not to the one that makes what they take.

A kernel is grown from makers to users, so `0.5 * x` is put where `x` is made. Where the only kernel that takes it is
another one, its value is written and read for nothing: that kernel could read `x`, which is written anyway.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from ufuse.backends.planning.groups import Grouping, Unit
from ufuse.graph.memory.buffers import is_array
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.typing.device_streams import is_switch

LARGEST = 8  # operations that are moved together

Users = Mapping[Node, Sequence[Node]]


def sinking(grouping: Grouping, needed: Collection[Node]) -> frozenset[Node]:
    """The operations that are to be placed without their makers; `needed` are the values that are written."""
    kernels = [unit for unit in grouping.units if unit.space is not None]
    if len(kernels) < 2 or any(map(is_switch, grouping.graph)):
        return frozenset()  # what is read on another stream may be written meanwhile
    users: defaultdict[Node, list[Node]] = defaultdict(list)
    for node in grouping.graph:
        for source in dict.fromkeys(node.inputs):
            users[source].append(node)
    outputs = set(grouping.graph.outputs)
    found: set[Node] = set()
    for unit in kernels:
        if len(unit.members) == 1:
            continue
        for node in unit.members:
            if node in needed and node not in outputs and node not in found:
                taker = _taker(grouping, unit, node, users)
                if taker is not None:
                    found |= _moved(grouping, unit, node, users, needed, taker)
    return frozenset(found)


def _taker(grouping: Grouping, unit: Unit, node: Node, users: Users) -> Unit | None:
    """The one other kernel of the same shape that takes an elementwise value."""
    takers = {grouping.of.get(user) for user in users[node]}
    taker = takers.pop() if len(takers) == 1 else None
    if taker is None or taker is unit or taker.space != unit.space:
        return None
    is_elementwise = node.op.kind is Kind.MAP and grouping.is_full(node, unit.space or ())
    return taker if is_elementwise else None


def _moved(
    grouping: Grouping, unit: Unit, node: Node, users: Users, needed: Collection[Node], taker: Unit
) -> set[Node]:
    """The operation with those that only it needs; nothing where that saves no array."""
    moved, read, pending = {node}, set[Node](), [node]
    while pending:
        for source in pending.pop().inputs:
            if not is_array(source) or source in moved:
                continue
            if source not in unit.nodes or source in needed:
                read.add(source)
                continue
            is_alone = source.op.kind is Kind.MAP and moved.issuperset(users[source])
            if not is_alone or len(moved) == LARGEST:
                return set()
            moved.add(source)
            pending.append(source)
    taken = {source for one in taker.members for source in one.inputs}
    return moved if len(read - taken) <= 1 else set()

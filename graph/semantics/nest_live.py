"""Which variables of a nest may still be read where a block begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ufuse.graph.nest import Block


def live_variables(
    blocks: Sequence[Block], ends: Mapping[str, set[str]] = MappingProxyType({})
) -> dict[str, set[str]]:
    """For each block the variables whose values may be read from its beginning on.

    `ends`: those that may be read behind an end of a kind. Behind blocks that are not given nothing is read.
    """
    live: dict[str, set[str]] = {block.label: set() for block in blocks}
    changes = True
    while changes:
        changes = False
        for block in reversed(blocks):
            after = ends.get(block.end.kind, set()).union(
                *(live.get(target, set()) for target in block.end.targets)
            )
            found = _read_in(block, after)
            if found != live[block.label]:
                live[block.label], changes = found, True
    return live


def _read_in(block: Block, after: set[str]) -> set[str]:
    """What is live where a block begins, by what is live behind it."""
    live = set(after)
    for one in reversed(block.instructions):
        if one.op == "set":
            live.discard(one.attributes[0])
        elif one.op == "get":
            live.add(one.attributes[0])
    return live

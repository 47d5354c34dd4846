"""How much work a trace is, so far and in the end: the first turns of a loop tell what the others will be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ufuse.frame_hook.trace.symbols import Array, DeviceArray, Iterator, List, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace

MOST_INSTRUCTIONS = 10_000
MOST_NODES = 1_500
# Iterations, and instructions, of a loop that adds nothing to the graph: plain Python takes a hundredth of the time.
MOST_IDLE_TURNS = 50
MOST_IDLE = 2_000
SAMPLED_TURNS = 3  # iterations of a loop from which the work of all the others is estimated
# What a trace takes for each node, compiled, and for each instruction.
SECONDS_OF_A_NODE, SECONDS_OF_AN_INSTRUCTION = 80e-6, 5e-6


class Work(NamedTuple):
    """The nodes of a graph, and the instructions run for it."""

    nodes: int
    instructions: int

    def later(self, before: Work, turns: int) -> Work:
        """What it will be after so many more turns of a loop, of which one has been run since `before`."""
        return Work(
            self.nodes + turns * max(self.nodes - before.nodes, 0),
            self.instructions + turns * (self.instructions - before.instructions),
        )

    def is_idle(self, before: Work, turns: int) -> bool:
        """Whether so many more turns would add nothing to the graph, and take long all the same."""
        run = self.instructions - before.instructions
        return self.nodes <= before.nodes and turns > MOST_IDLE_TURNS and run * turns > MOST_IDLE

    def is_more_than(self, part: float) -> bool:
        """Whether it is more than a part of what one trace may come to."""
        return self.nodes > part * MOST_NODES or self.instructions > part * MOST_INSTRUCTIONS

    @property
    def seconds(self) -> float:
        """About how long a trace with so much work takes."""
        return self.nodes * SECONDS_OF_A_NODE + self.instructions * SECONDS_OF_AN_INSTRUCTION


@dataclass(slots=True)
class Asked:
    """How often an iterator has been asked for an item; what had been done, and how often the root had jumped, then."""

    times: int
    work: Work | None = None  # not after the first time: the first turn may be unlike the others
    jumps: dict[int, int] = field(default_factory=dict)


def items_left(trace: Trace, iterator: Symbol) -> int:
    """How many items an iterator still has, as far as it tells."""
    if not isinstance(iterator, Iterator):
        return 0
    match iterator.kind, iterator.parts:
        case "sequence", [List(items=items) | Tuple(items=items)]:
            return len(items) - iterator.position
        case "rows" | "rows on a device", [Array(type=kind) | DeviceArray(type=kind)]:
            return trace.sizes.example(kind.shape[0]) - iterator.position
        case "zip" | "enumerate", parts:
            return min((items_left(trace, part) for part in parts), default=0)
    return max(0, iterator.length - iterator.position)

"""How control flows among a nest's blocks: their order, which one every way leads through, and what lies between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from ufuse.graph.nest import Block, Instruction, Nest
from ufuse.graph.nest_types import TURNS


class Flow:
    """What is reached from a nest's first block."""

    def __init__(self, nest: Nest) -> None:
        self.blocks = {block.label: block for block in nest.blocks}
        self.order = self._order(nest.blocks[0].label)
        self.before: dict[str, list[str]] = {label: [] for label in self.order}
        for label in self.order:
            for target in self.blocks[label].end.targets:
                self.before[target].append(label)
        self._places = {label: place for place, label in enumerate(self.order)}
        self.dominators = self._dominators()

    def _order(self, first: str) -> list[str]:
        """Every block before those that it leads to, but for the ways back in loops."""
        finished: list[str] = []
        seen = {first}
        path = [(first, list(self.blocks[first].end.targets))]
        while path:
            label, waiting = path[-1]
            if not waiting:
                finished.append(label)
                path.pop()
                continue
            target = waiting.pop()
            if target not in seen:
                seen.add(target)
                path.append((target, list(self.blocks[target].end.targets)))
        return finished[::-1]

    def _dominators(self) -> dict[str, str]:
        """For each block but the first the last one that every way to it leads through (Cooper, Harvey, Kennedy)."""
        first = self.order[0]
        found = {first: first}
        changes = True
        while changes:
            changes = False
            for label in self.order[1:]:
                known = [each for each in self.before[label] if each in found]
                new = known[0]
                for each in known[1:]:
                    new = self._common(new, each, found)
                if found.get(label) != new:
                    found[label] = new
                    changes = True
        del found[first]
        return found

    def common(self, labels: Sequence[str]) -> str:
        """The last block that every way to some blocks leads through."""
        found = {self.order[0]: self.order[0], **self.dominators}
        return reduce(lambda left, right: self._common(left, right, found), labels)

    def _common(self, left: str, right: str, found: dict[str, str]) -> str:
        while left != right:
            while self._places[left] > self._places[right]:
                left = found[left]
            while self._places[right] > self._places[left]:
                right = found[right]
        return left

    def between(self, label: str) -> list[Block]:
        """What may run after a block's dominator, and before the block begins (again)."""
        dominator = self.dominators[label]
        found: set[str] = set()
        waiting = [label]
        while waiting:
            for each in self.before[waiting.pop()]:
                if each != dominator and each not in found:
                    found.add(each)
                    waiting.append(each)
        return [self.blocks[each] for each in found]

    def place(self, label: str) -> int:
        """Where a block stands in the order."""
        return self._places[label]

    def instructions(self, label: str) -> tuple[Instruction, ...]:
        """A block's instructions."""
        return self.blocks[label].instructions

    def variables_set(self, labels: Iterable[str]) -> list[str]:
        """The variables that blocks set, as often as they do."""
        instructions = (one for label in labels for one in self.instructions(label))
        return [one.attributes[0] for one in instructions if one.op == "set"]

    def is_dominated(self, label: str, by: str) -> bool:
        """Whether every way to a block leads through another, or it is the same."""
        while label != by and label in self.dominators:
            label = self.dominators[label]
        return label == by

    def loops(self) -> list[set[str]]:
        """For each way back the blocks of its loop."""
        return [labels for _, labels in self.loops_by_header()]

    def loops_by_header(self) -> list[tuple[str, set[str]]]:
        """As `loops`, with the block that each way leads back to."""
        return [
            (header, self._loop(header, last))
            for last in self.order
            for header in self.blocks[last].end.targets
            if self._places[header] <= self._places[last]
        ]

    def ways_back(self) -> dict[str, list[set[str]]]:
        """By the block that they lead back to, the blocks of each way's loop."""
        found: dict[str, list[set[str]]] = {}
        for header, labels in self.loops_by_header():
            found.setdefault(header, []).append(labels)
        return found

    def whole_loops(self) -> dict[str, set[str]]:
        """By header, the blocks of all ways back to it."""
        return {header: set().union(*ways) for header, ways in self.ways_back().items()}

    def _loop(self, header: str, last: str) -> set[str]:
        loop = {header, last}
        waiting = [last]
        while waiting:
            label = waiting.pop()
            if label != header:
                waiting += [each for each in self.before[label] if each not in loop]
                loop.update(self.before[label])
        return loop

    def inner_headers(self) -> set[str]:
        """The blocks that control comes back to without a look at `turns`."""
        return {
            target
            for label in self.order
            for target in self.blocks[label].end.targets
            if self._places[target] <= self._places[label] and not self._looks_at_turns(target)
        }

    def _looks_at_turns(self, label: str) -> bool:
        instructions = self.blocks[label].instructions
        return any(one.op == "get" and one.attributes[0] == TURNS for one in instructions)

"""A graph as a plan: kernels and calls of the library, in an order that keeps effects."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from ufuse.backends.planning.draft import Draft
from ufuse.backends.planning.groups import Grouping, Unit
from ufuse.backends.planning.kernel_builder import kernel_plan, needed_outside, unpredicted
from ufuse.backends.planning.kernels import KernelPlan
from ufuse.backends.planning.rules import Rules
from ufuse.backends.planning.sinking import sinking
from ufuse.backends.planning.steps import Plan
from ufuse.graph import ops, passes
from ufuse.graph.memory.accesses import Access, Memory
from ufuse.graph.memory.buffers import Buffers, is_array
from ufuse.graph.node import Graph, Node
from ufuse.graph.passes.forward import forwarded

SINKINGS = 3  # rounds of sinking: one may make another possible


def plan_of(
    graph: Graph, rules: Rules, hidden: Collection[int] = (), *, is_late: bool = False
) -> Plan:
    """The plan of a graph; `hidden` are the places of inputs whose memory nobody sees but the graph around it.

    `is_late`: it runs behind a visible write of that graph.
    """
    shows = is_late or Buffers().writes_given(graph)
    graph = passes.run(graph, replayed=not shows, unroll=rules.unroll)
    memory = Memory(frozenset(graph.inputs[place] for place in hidden))
    graph = forwarded(graph, memory)
    alone: frozenset[Node] = frozenset()
    while True:
        grouping = Grouping(graph, memory, rules, alone, is_late=is_late)
        needed = needed_outside(grouping)
        unknown = unpredicted(grouping, needed)
        if not unknown:
            break
        alone |= unknown
    for _ in range(SINKINGS):
        sunk = sinking(grouping, needed)
        if not sunk:
            break
        other = Grouping(graph, memory, rules, alone, grouping.sunk | sunk, is_late=is_late)
        outside = needed_outside(other)
        if len(other.units) > len(grouping.units) or unpredicted(other, outside):
            break
        grouping, needed = other, outside
    return Planner(grouping, needed, rules, is_late=is_late).plan()


class Planner:
    """Turns units into steps."""

    def __init__(
        self, grouping: Grouping, needed: set[Node], rules: Rules, *, is_late: bool
    ) -> None:
        self.grouping = grouping
        self.memory = grouping.memory
        self.rules = rules
        self.kernels = {
            unit: kernel_plan(unit, grouping, needed)
            for unit in grouping.units
            if unit.space is not None
        }
        self.draft = Draft(grouping.graph, self.memory, rules.view_calls)
        self.draft.plan.is_late = is_late
        self.items: dict[Node, list[Node]] = {}
        for node in grouping.graph:
            if node.op is ops.ITEM:
                self.items.setdefault(node.inputs[0], []).append(node)

    def plan(self) -> Plan:
        """The finished plan."""
        for unit in self._ordered():
            if unit in self.kernels:
                self._add_kernel(unit, self.kernels[unit])
            else:
                before = len(self.draft.plan.steps)
                self._add_call(unit.members[0])
                for step in self.draft.plan.steps[before:]:
                    if step.numbers or not step.is_view:
                        step.errors = unit.errors
        return self.draft.finished(self.grouping.graph.outputs, self.rules.merged)

    def _ordered(self) -> list[Unit]:
        """Units in an order that respects what waits for what; what the user can see is written late."""
        units = self.grouping.units
        position = self.grouping.position
        missing = {unit: len(unit.before) for unit in units}
        rank = {
            unit: (self._is_visible(unit), max(position[node] for node in unit.members), place)
            for place, unit in enumerate(units)
        }
        ready = [(rank[unit], unit) for unit in units if not missing[unit]]
        heapify(ready)
        ordered = []
        while ready:
            _, unit = heappop(ready)
            ordered.append(unit)
            for other in unit.after:
                missing[other] -= 1
                if not missing[other]:
                    heappush(ready, (rank[other], other))
        assert len(ordered) == len(units), "the units wait for one another in a circle"
        return ordered

    def _is_visible(self, unit: Unit) -> bool:
        """Whether the unit writes memory that existed before the call."""
        return any(map(self.grouping.shows, unit.members))

    def _add_kernel(self, unit: Unit, kernel: KernelPlan) -> None:
        reads = tuple(self._operand(operand.source) for operand in kernel.operands)
        outs = self.draft.step(
            "kernel", reads, sum(result.how[0] != "into" for result in kernel.results), kernel=kernel,
            committed=self._is_visible(unit), errors=unit.errors,
        )  # fmt: skip
        free = iter(outs)
        for result in kernel.results:
            if result.how[0] != "into":
                self.draft.slots.setdefault(result.node, next(free))

    def _operand(self, source: Node | Access) -> int:
        return self.draft.slot(source) if isinstance(source, Node) else self.draft.target(source)

    def _add_branch(self, node: Node) -> None:
        """A step that runs one of two plans, which are also given what has the sizes."""
        draft = self.draft
        sized = [one for one, _ in draft.sizes.sources.values() if one in draft.slots]
        given = list(dict.fromkeys(one for one in sized if one not in node.inputs[1:]))
        sides = (node.attributes["then"], node.attributes["otherwise"])
        hidden = [place for place, one in enumerate(node.inputs[1:]) if self._is_hidden(one)]
        is_late = node in self.grouping.late
        plans = tuple(
            plan_of(_given_more(side, given), self.rules, hidden, is_late=is_late) for side in sides
        )
        reads = tuple(map(draft.slot, (*node.inputs, *given)))
        count = len(node.type.items)  # type: ignore[union-attr]
        outs = draft.step(
            "branch", reads, count, sides=plans, position=draft.position[node],
            committed=self.grouping.shows(node),
        )  # fmt: skip
        for item in self.items.get(node, ()):
            draft.slots[item] = outs[item.attributes["index"]]

    def _is_hidden(self, node: Node) -> bool:
        return is_array(node) and not self.memory.is_visible(self.memory.access(node))

    def _add_call(self, node: Node) -> None:
        draft = self.draft
        if node.op is ops.BRANCH and node.op.kind not in self.rules.calls:
            self._add_branch(node)
            return
        made = self.rules.calls[node.op.kind](draft, node)
        if made is not None:
            draft.slots[node] = made
        items = self.items.get(node)
        if items is None:
            return
        if node.attributes.get("writes"):
            for item in items:
                if item.attributes["index"] == 0:
                    draft.slots[item] = draft.slots[node]
            return
        count = len(node.type.items)  # type: ignore[union-attr]
        outs = draft.step("unpack", (draft.slots[node],), count)
        for item in items:
            draft.slots[item] = outs[item.attributes["index"]]


def _given_more(body: Graph, given: Sequence[Node]) -> Graph:
    """A body with more inputs, from which its plan takes sizes."""
    more = tuple(Node(ops.INPUT, (), one.type) for one in given)
    return replace(body, inputs=(*body.inputs, *more), nodes=(*more, *body.nodes))

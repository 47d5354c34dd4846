"""The CPU backend's own rules, and its plans."""

from __future__ import annotations

from ufuse.backends.numpy.calls import CALLS, VIEW_CALLS
from ufuse.backends.numpy.known import with_known
from ufuse.backends.numpy.loops import depends_on_strides, fold_of, loop_of, why_not_operand
from ufuse.backends.numpy.rolls import roll_of
from ufuse.backends.numpy.scalars import merged
from ufuse.backends.planning import planner
from ufuse.backends.planning.rules import Rules
from ufuse.backends.planning.steps import Plan
from ufuse.graph.node import Graph

RULES = Rules(
    loop_of=loop_of,
    fold_of=fold_of,
    why_not_operand=why_not_operand,
    depends_on_strides=depends_on_strides,
    calls=CALLS,
    view_calls=VIEW_CALLS,
    unroll=True,
    merged=merged,
    picking_of=roll_of,
)


def plan_of(graph: Graph) -> Plan:
    """The plan of a graph for the CPU."""
    return planner.plan_of(with_known(graph), RULES)

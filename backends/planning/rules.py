"""What a backend decides by itself, as one record that it hands to the planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ufuse.backends.planning.draft import Draft, ViewCalls
from ufuse.backends.planning.loops import Fold, Gather, Loop, Roll
from ufuse.backends.planning.steps import Plan
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind
from ufuse.graph.records import record

Call = Callable[[Draft, Node], int | None]


@record
class Rules:
    """A backend's own rules.

    loop_of, fold_of: what a kernel runs for an elementwise node or a reduction, or a sentence that says why none does.
    why_not_operand: why a kernel cannot take a value, or None.
    depends_on_strides: whether a loop may give other bits on strided memory.
    calls: for each kind of node how it runs outside kernels: appends the steps, returns the slot of the result.
    view_calls: the library's functions that make views.
    unroll: whether short reductions become chains; see `ufuse.graph.passes.run`.
    lone_rows: whether a kernel folds rows of what is in memory already, not the library's own call.
    lone_elements: whether a kernel does a single operation on one element, not the library's own call.
    merged: joins steps of a finished plan that run better as one.
    picking_of: how a kernel picks elements for a call, or why none does.
    """

    loop_of: Callable[[Node], Loop | str]
    fold_of: Callable[[Node], Fold | str]
    why_not_operand: Callable[[Node], str | None]
    depends_on_strides: Callable[[Loop], bool]
    calls: Mapping[Kind, Call]
    view_calls: ViewCalls
    unroll: bool = False
    lone_rows: bool = True
    lone_elements: bool = True
    merged: Callable[[Plan], None] | None = None
    picking_of: Callable[[Node], Gather | Roll | str] | None = None

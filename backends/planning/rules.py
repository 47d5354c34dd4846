"""What a backend decides by itself, as one record that it hands to the planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ufuse.backends.planning.draft import Draft, ViewCalls
from ufuse.backends.planning.loops import Fold, Loop
from ufuse.graph.node import Node
from ufuse.graph.ops import Kind


@dataclass(frozen=True, slots=True)
class Rules:
    """A backend's own rules; a sentence in place of a loop, a fold or None says why not."""

    loop_of: Callable[[Node], Loop | str]  # the loop of an elementwise node in a kernel
    fold_of: Callable[[Node], Fold | str]  # how a kernel does a reduction
    why_not_operand: Callable[[Node], str | None]  # why a kernel cannot take a value, or None
    depends_on_strides: Callable[
        [Loop], bool
    ]  # whether a loop may give other bits on strided memory
    calls: Mapping[
        Kind, Callable[[Draft, Node], int | None]
    ]  # a node outside kernels: its steps; the result's slot
    view_calls: ViewCalls
    unroll: bool = False  # see `ufuse.graph.passes.run`

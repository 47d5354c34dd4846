"""The plan of a program: steps over slots, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ufuse.backends.planning.kernels import KernelPlan
from ufuse.graph.node import Location


@dataclass(slots=True)
class Step:
    """One step. `kind` is that of `_tiles.Program`; `reads` and `outs` are slots."""

    kind: str  # "kernel", "call", "getitem", "unpack" or "tuple"
    reads: tuple[int, ...]
    outs: tuple[int, ...]
    kernel: KernelPlan | None = None
    function: Callable[..., Any] | None = None
    keywords: tuple[str, ...] = ()
    key: Any = None
    location: Location | None = None
    position: int = -1  # of the graph's node that a call computes
    committed: bool = False
    clear: tuple[int, ...] = ()


@dataclass(slots=True)
class Plan:
    """A program before its kernels are made. Slots: the inputs first."""

    inputs: int
    slots: int = 0
    constants: list[tuple[int, Any]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[int, ...] = ()

    def mark_committed(self) -> None:
        """Steps after the first visible write are committed, and so is that which makes it."""
        committed = False
        for step in self.steps:
            committed = step.committed = committed or step.committed

    def set_clears(self) -> None:
        """Release every slot after the last step that reads it, or makes it in vain."""
        kept = {*range(self.inputs), *self.outputs, *(slot for slot, _ in self.constants)}
        for step in reversed(self.steps):
            used = dict.fromkeys((*step.reads, *step.outs))
            step.clear = tuple(slot for slot in used if slot not in kept)
            kept.update(used)

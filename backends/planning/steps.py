"""The plan of a program: steps over slots, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ufuse.backends.planning.kernels import KernelPlan
from ufuse.graph.node import Location, Node
from ufuse.graph.semantics.effects import Errors


class NumberOperation(NamedTuple):
    """An operation on numbers or one element: the function that does it alone, and the slots of its arguments."""

    node: Node
    function: Callable[..., Any]
    reads: tuple[int, ...]  # an element's begin with its array and its index
    out: int | None
    position: int  # of the graph's node
    axes: int  # of an element's index
    how: Any = None  # what the backend has found out of it


@dataclass(slots=True)
class Step:
    """One step. `kind` is that of `_tiles.Program`; `reads` and `outs` are slots."""

    kind: str  # "kernel", "scalars", "call", "getitem", "unpack", "tuple", "check" or "branch"
    reads: tuple[int, ...]
    outs: tuple[int, ...]
    kernel: KernelPlan | None = None
    numbers: tuple[NumberOperation, ...] = ()  # of "scalars"
    function: Callable[..., Any] | None = None
    keywords: tuple[str, ...] = ()
    check: Node | None = None  # of "check"
    sides: tuple[
        Plan, ...
    ] = ()  # of "branch": what runs where the first slot is true, and where it is not
    # What the program's own `np.errstate` says where it stands; None: it raises no flag, or there is no such state.
    errors: Errors | None = None
    location: Location | None = None
    position: int = -1  # place in the graph of the node that a call or an item computes
    repeats: bool = True  # of a call: it may be made a second time where a flag showed
    refuses: bool = False  # of a call: where it raises it has written nothing
    apart: bool = False  # of a call: it touches no array that is there; it is about numbers, or makes a new one
    switches: bool = False  # of a call: another stream is current behind it
    taken_back: bool = False  # of a call: a program that gives up undoes it
    committed: bool = False  # the user may have seen a write: too late for plain Python
    clear: tuple[int, ...] = ()  # slots that no later step reads

    @property
    def is_view(self) -> bool:
        """Whether it makes a view, a key or a size: no operation of the graph, so it may run earlier."""
        return self.position < 0 and self.kernel is None


@dataclass(slots=True)
class Plan:
    """A program before its kernels are compiled. Slots: the inputs first."""

    inputs: int
    slots: int = 0
    constants: list[tuple[int, Any]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: tuple[int, ...] = ()
    is_late: bool = (
        False  # it runs behind a visible write: it cannot leave anything to plain Python
    )

    def mark_committed(self) -> None:
        """Every step from the first visible write on is committed."""
        committed = self.is_late
        for step in self.steps:
            committed = step.committed = committed or step.committed

    def set_clears(self) -> None:
        """Release every slot after the last step that uses it."""
        kept = {*range(self.inputs), *self.outputs, *(slot for slot, _ in self.constants)}
        for step in reversed(self.steps):
            used = dict.fromkeys((*step.reads, *step.outs))
            step.clear = tuple(slot for slot in used if slot not in kept)
            kept.update(used)
        if self.switches:
            self._keep_across_streams()

    @property
    def switches(self) -> bool:
        """Whether it changes the current stream."""
        return any(step.switches for step in self.steps)

    @property
    def takes_back(self) -> bool:
        """Whether it undoes something where it gives up."""
        return any(step.taken_back for step in self.steps)

    def _keep_across_streams(self) -> None:
        """Have what is made for one stream and used for another live to the end: the first may write it anew."""
        made: dict[int, int] = {}
        streams = 0
        for step in self.steps:
            streams += step.switches
            made.update(dict.fromkeys(step.outs, streams))
            step.clear = tuple(slot for slot in step.clear if made[slot] == streams)

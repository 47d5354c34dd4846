"""The one node class, and the graph that lists nodes in program order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ufuse.graph.ops import Op
from ufuse.graph.records import individual, record
from ufuse.graph.types import ArrayType, Type


@record
class Location:
    """Where in the user's program an operation stands; columns count from 0, in UTF-8 bytes, as in CPython."""

    file: str
    function: str
    line: int
    module: str = ""  # where the warning registry of the file is
    end_line: int = 0
    column: int = 0
    end_column: int = 0
    warned_at: Location | None = None  # where NumPy's own Python code would warn of it
    # Gives the function whose globals have the warning registry, while it lives, where they are no module's.
    found_by: Callable[[], Any] | None = field(default=None, compare=False, repr=False)


@individual
class Node:
    """One operation: immutable, compared by identity.

    `inputs` are the nodes whose values it takes. `attributes` are constants: an axis, an index, a body graph.
    `location` is the user's own line, for warnings and errors.
    """

    op: Op
    inputs: tuple[Node, ...]
    type: Type
    attributes: Mapping[str, Any] = field(default_factory=dict)
    location: Location | None = None

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.type}>"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Graph:
    """Nodes in program order, each after its inputs.

    `inputs` are the nodes with op `input`, in the order of the arguments; `outputs` any nodes of the graph.
    Effects (stores, calls that write) happen in the order of `nodes`.
    """

    inputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Node, ...]
    name: str = "graph"

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    @property
    def device(self) -> str:
        """Where the arrays that it is given or makes are; "" where none is on a device."""
        made = (node for node in self.nodes if "device" in node.attributes)
        types = (node.type for node in (*self.inputs, *made))
        found = (one.device for one in types if isinstance(one, ArrayType) and one.device)
        waits = (
            str(node.attributes["device"]) for node in self.nodes if node.attributes.get("device")
        )
        return next(found, "") or next(waits, "")

    def uses(self) -> dict[Node, int]:
        """How many times each node is an input of another, or an output."""
        return Counter((*self.outputs, *(one for node in self.nodes for one in node.inputs)))

    def __repr__(self) -> str:
        work = len(self.nodes) - len(self.inputs)
        counts = (len(self.inputs), "input"), (work, "operation"), (len(self.outputs), "output")
        words = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
        return f"<Graph {self.name}: {words}>"

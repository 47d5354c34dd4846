"""The graph as a user sees it: text that reads back, a drawing, a run without the Python code."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ufuse.backends import protocol
from ufuse.diagnostics import wording
from ufuse.errors import BackendUnavailable
from ufuse.graph import text
from ufuse.graph.node import Graph as Captured
from ufuse.graph.node import Node
from ufuse.graph.semantics import reference
from ufuse.graph.text import drawing
from ufuse.graph.types import ArrayType


class Graph:
    """Operations captured from a function, in program order.

    `str(graph)` is its text, which can be kept in a file: `Graph.parse` reads it back. `graph/ops.py` has the
    operations, `graph/text` the notation. A notebook shows a drawing, for which nothing has to be installed.

    Example:
        >>> import numpy as np, ufuse
        >>> graph = ufuse.compile(lambda x: x * 2 + 1).trace(ufuse.Spec((None,), "f8"))
        >>> print(graph.run(np.arange(3.0)))
        [1. 3. 5.]

    """

    def __init__(self, captured: Captured) -> None:
        if not isinstance(captured, Captured):
            raise TypeError(
                f"a Graph is what ufuse.compile(f).trace(…) or Graph.parse(text) gives, not made from {captured!r}"
            )
        self._captured = captured

    @classmethod
    def parse(cls, source: str) -> Graph:
        """The graph that a text stands for.

        Args:
            source: what `str(graph)` gave.

        Raises:
            TypeError: source is not a str.
            ValueError: the text is not a graph; the message quotes what cannot be read.

        Example:
            >>> import numpy as np, ufuse
            >>> graph = ufuse.Graph.parse("x: f8[n]; y = negative x; return y")
            >>> graph.run(np.ones(2))
            array([-1., -1.])

        """
        if not isinstance(source, str):
            raise TypeError(
                f"source must be a str, such as str(graph), not {type(source).__name__}"
            )
        return cls(text.parse(source))

    @property
    def captured(self) -> Captured:
        """The graph as backends take it."""
        return self._captured

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All operations, each after what it needs."""
        return self._captured.nodes

    @property
    def inputs(self) -> tuple[Node, ...]:
        """What the graph is called with, in order."""
        return self._captured.inputs

    @property
    def outputs(self) -> tuple[Node, ...]:
        """What the graph gives, in order."""
        return self._captured.outputs

    def run(self, *args: Any) -> Any:
        """Run the graph on arguments in the order of `inputs`, operation by operation, with plain NumPy.

        Args:
            *args: arrays of the dtypes and shapes of the inputs, and numbers.

        Returns:
            The one output, or a tuple of several.

        Raises:
            TypeError: there are more arguments, or fewer, than inputs; one is no array, or has another dtype or number
                of axes; numbers are drawn from what is no generator.
            ValueError: two lengths should be equal, and are not.

        """
        if len(args) != len(self.inputs):
            raise TypeError(
                f"this graph takes {wording.count(len(self.inputs), 'argument')}, not {len(args)}"
            )
        for node, value in zip(self.inputs, args, strict=True):
            if isinstance(node.type, ArrayType) and (why := _why_not(node.type, value)):
                wanted, name = wording.kind(node.type), node.attributes["name"]
                raise TypeError(f"argument {name} of this graph must be {wanted}, not {why}")
        results = reference.run(self._captured, *args)
        return results[0] if len(results) == 1 else results

    def source(self, backend: str = "numpy", *, exact: bool = True) -> str:
        """The code that a backend makes of the graph, as text.

        Args:
            backend: the name of a backend, such as "numpy".
            exact: as it was given to `ufuse.compile`.

        Raises:
            ValueError: no backend has that name.
            BackendUnavailable: the backend needs a package that is not installed.

        """
        try:
            found = protocol.backend_named(backend)
            return str(found.source(self._captured, protocol.Options(exact=exact)))
        except protocol.BackendUnavailable as missing:
            raise BackendUnavailable(str(missing)) from None

    def to_dot(self) -> str:
        """The graph as a drawing in Graphviz's DOT language."""
        return drawing.to_dot(self._captured)

    def _repr_html_(self) -> str:
        return f"{drawing.to_svg(self._captured)}<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        return text.to_text(self._captured)

    def __repr__(self) -> str:
        counts = (len(self.inputs), "input"), (len(wording.work_of(self._captured)), "operation")
        words = (wording.count(*one) for one in (*counts, (len(self.outputs), "output")))
        return f"<Graph {self._captured.name}: {', '.join(words)}>"


def _why_not(wanted: ArrayType, value: Any) -> str | None:
    """What an argument is that is no array, or NumPy number, of a type; its lengths are not looked at."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return f"a {type(value).__name__}"
    if dtype != wanted.dtype:
        return f"an array of {dtype}"
    if np.ndim(value) != wanted.ndim:
        return f"an array with {wording.count(np.ndim(value), 'dimension')}"
    return None

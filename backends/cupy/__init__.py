"""The CUDA backend: elementwise operations on CuPy's arrays become kernels of CuPy's own loops.

All else is CuPy's own call. Nothing here needs a GPU to be imported, or to give the text of a kernel; launches do.
"""

from __future__ import annotations

from collections.abc import Callable

from ufuse.backends.cupy.listing import listing
from ufuse.backends.cupy.program import Program
from ufuse.backends.cupy.rules import plan_of
from ufuse.backends.protocol import DEFAULT, Options
from ufuse.graph.node import Graph


class CupyBackend:
    """Compiles graphs of CuPy's arrays. Results and layouts are those of eager CuPy."""

    name = "cupy"

    def compile(self, graph: Graph, options: Options = DEFAULT) -> Callable[..., object]:  # noqa: ARG002
        """A callable that computes `graph`; see `ufuse.backends.protocol.Backend`."""
        return Program(plan_of(graph), graph.name)

    def source(self, graph: Graph) -> str:
        """The plan as text: its steps, and the CUDA C++ of its kernels."""
        return listing(plan_of(graph), graph.name)


BACKEND = CupyBackend()

__all__ = ["BACKEND", "CupyBackend"]

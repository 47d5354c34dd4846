"""The CUDA backend: elementwise operations on CuPy's arrays become kernels of CuPy's own loops.

All else is CuPy's own call. Nothing here needs a GPU to be imported, or to give the text of a kernel; launches do.
"""

from __future__ import annotations

from collections.abc import Callable

from ufuse.backends.cupy.listing import listing
from ufuse.backends.cupy.program import Program
from ufuse.backends.cupy.rules import is_done, plan_of
from ufuse.backends.protocol import DEFAULT, Options
from ufuse.graph.node import Graph


def _declined(*_: object) -> object:
    """What is not for a GPU alone runs as plain Python."""
    return NotImplemented


class CupyBackend:
    """Compiles graphs of CuPy's arrays. Results and layouts are those of eager CuPy."""

    name = "cupy"

    def compile(self, graph: Graph, options: Options = DEFAULT) -> Callable[..., object]:  # noqa: ARG002
        """A callable that computes `graph`; see `ufuse.backends.protocol.Backend`."""
        if not all(map(is_done, graph)):
            return _declined
        return Program(plan_of(graph), graph.name)

    def source(self, graph: Graph) -> str:
        """The plan as text: its steps, and the CUDA C++ of its kernels."""
        if not all(map(is_done, graph)):
            return "plain Python runs this: not all of it is for a GPU\n"
        return listing(plan_of(graph), graph.name)


BACKEND = CupyBackend()

__all__ = ["BACKEND", "CupyBackend"]

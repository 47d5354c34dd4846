"""The CPU backend: groups of operations become kernels over cache-sized tiles; everything else is NumPy's own call."""

from __future__ import annotations

import math
from collections.abc import Callable

from ufuse.backends.numpy._tiles import Drawing, set_threads, threads
from ufuse.backends.numpy.assemble import program
from ufuse.backends.numpy.listing import listing
from ufuse.backends.numpy.llvm import compiler
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.llvm.link import finds_kept
from ufuse.backends.numpy.nests import best_nest_object, nest_object
from ufuse.backends.numpy.rules import plan_of
from ufuse.backends.protocol import DEFAULT, Options
from ufuse.graph.nest import Nest
from ufuse.graph.node import Graph
from ufuse.graph.types import GeneratorType


class NumpyBackend:
    """Compiles graphs for the CPU. Results, layouts and warnings are those of plain NumPy."""

    name = "numpy"

    def compile(self, graph: Graph, options: Options = DEFAULT) -> Callable[..., object]:
        """A callable that computes `graph`; see `ufuse.backends.protocol.Backend`."""
        made = program(plan_of(graph), options)
        places = tuple(
            place for place, one in enumerate(graph.inputs) if isinstance(one.type, GeneratorType)
        )
        return Drawing(made, places) if places else made

    def compile_nest(self, nest: Nest) -> Callable[..., object] | None:
        """What runs turns of a loop, see `_tiles.Nest`; None where there is no LLVM."""
        return nest_object(nest)

    def begin_nest(self, nest: Nest) -> Work[Callable[..., object] | None]:
        """Begin to make the same, with better code from the first turn."""
        return best_nest_object(nest)

    def nest_seconds(self) -> float:
        """How long making one takes, about: the first loads LLVM; infinite where there is none."""
        if compiler.why_unavailable() is not None:
            return math.inf
        return 0.015 if compiler.is_loaded() or finds_kept() else 0.06

    def source(self, graph: Graph, options: Options = DEFAULT) -> str:  # noqa: ARG002  the same for all
        """The plan as text: steps, segments of kernels, and the LLVM text of native ones."""
        return listing(plan_of(graph))


BACKEND = NumpyBackend()

__all__ = ["BACKEND", "NumpyBackend", "set_threads", "threads"]

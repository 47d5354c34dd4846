"""The CUDA backend: elementwise operations on CuPy's arrays become kernels of CuPy's own loops.

All else is CuPy's own call. Graphs of NumPy's arrays run there too, if each operation has a counterpart, else on the
CPU. Nothing here needs a GPU to be imported, or to give the text of a kernel; launches do.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

import cupy

from ufuse.backends import numpy as on_host
from ufuse.backends.cupy import numpys
from ufuse.backends.cupy.launching.folding import never_fits
from ufuse.backends.cupy.listing import listing, summary
from ufuse.backends.cupy.program import Refused, program_of, why_not_run
from ufuse.backends.cupy.steps.rules import is_done, may_decline, plan_of
from ufuse.backends.cupy.texts.text import NUMPYS
from ufuse.backends.planning.steps import Plan
from ufuse.backends.protocol import DEFAULT, Options
from ufuse.graph.node import Graph
from ufuse.graph.passes.dead import without_dead

_last: WeakKeyDictionary[Graph, tuple[bool, Plan | None]] = WeakKeyDictionary()


def planned(graph: Graph, *, exact: bool) -> Plan | None:
    """The plan of a graph, or None where not all of it is for a GPU.

    The last one is kept while its graph lives, for who asks for the code of what was traced.
    """
    found = _last.get(graph)
    if found is None or found[0] is not exact:
        live = without_dead(graph)
        found = exact, plan_of(live, exact=exact) if all(map(is_done, live)) else None
        _last.clear()
        _last[graph] = found
    return found[1]


class Declining:
    """A program that leaves every call to plain Python, and says why."""

    def __init__(self, reason: str) -> None:
        self.refused = Refused()
        self.refused.reason = reason

    def __call__(self, *_: object) -> object:
        """NotImplemented."""
        return NotImplemented


class WithoutLibrary:
    """The program of a graph in which no kernel folds as a library does; made at its first call."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._program: Callable[..., object] | None = None

    def __call__(self, *inputs: object) -> object:
        """The outputs; NotImplemented, with nothing done, where plain Python is to run."""
        if self._program is None:
            plan = plan_of(without_dead(self._graph), as_library=False)
            why = why_not_run(plan)
            self._program = Declining(why) if why else program_of(plan, self._graph.name)
        return self._program(*inputs)


class CupyBackend:
    """Compiles graphs of CuPy's arrays. Results and layouts are those of eager CuPy."""

    name = "cupy"

    def why_unavailable(self) -> str | None:
        """What CUDA says where it finds no device."""
        try:
            return None if cupy.cuda.runtime.getDeviceCount() else "CUDA finds none"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return str(error)

    # Loops in Python are the CPU's.
    compile_nest = staticmethod(on_host.BACKEND.compile_nest)
    begin_nest = staticmethod(on_host.BACKEND.begin_nest)
    nest_seconds = staticmethod(on_host.BACKEND.nest_seconds)

    def compile(self, graph: Graph, options: Options = DEFAULT) -> Callable[..., object]:
        """A callable that computes `graph`; see `ufuse.backends.protocol.Backend`."""
        if not graph.device:
            made = numpys.plan_of(graph)
            if isinstance(made, str):
                return on_host.BACKEND.compile(graph, options)
            return numpys.SendingProgram(made)
        plan = planned(graph, exact=options.exact)
        why = "not all of it is for a GPU" if plan is None else why_not_run(plan)
        if plan is None or why is not None:
            return Declining(why or "")
        declines = options.exact and any(map(may_decline, plan.steps))
        if declines and any(map(never_fits, filter(None, (one.kernel for one in plan.steps)))):
            return WithoutLibrary(graph)
        return program_of(plan, graph.name, otherwise=WithoutLibrary(graph) if declines else None)

    def place(self, graph: Graph, options: Options = DEFAULT) -> str:
        """Where a graph runs, and why not on the device."""
        if graph.device:
            plan = planned(graph, exact=options.exact)
            return (
                "plain Python: not all of it is for a GPU"
                if plan is None
                else f"the GPU: {summary(plan)}"
            )
        made = numpys.plan_of(graph)
        return f"the CPU, as {made}" if isinstance(made, str) else f"the GPU: {summary(made.plan)}"

    def source(self, graph: Graph, options: Options = DEFAULT) -> str:
        """The plan as text: its steps, and the CUDA C++ of its kernels."""
        if not graph.device:
            made = numpys.plan_of(graph)
            if isinstance(made, str):
                return f"the CPU runs this: {made}\n{on_host.BACKEND.source(graph)}"
            return listing(made.plan, graph.name, NUMPYS)
        plan = planned(graph, exact=options.exact)
        if plan is None:
            return "plain Python runs this: not all of it is for a GPU\n"
        return listing(plan, graph.name)


BACKEND = CupyBackend()

__all__ = ["BACKEND", "CupyBackend"]

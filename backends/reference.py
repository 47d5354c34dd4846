"""The reference executor as a backend: node by node with plain NumPy, the definition of every graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ufuse.backends.protocol import DEFAULT, Options
from ufuse.graph import signals
from ufuse.graph.memory.buffers import Buffers
from ufuse.graph.node import Graph, Node
from ufuse.graph.passes.rewrite import Builder, rewritten
from ufuse.graph.semantics import reference
from ufuse.graph.semantics.effects import ERRORS
from ufuse.graph.strict import context_with
from ufuse.graph.typing.draws import is_draw


class ReferenceBackend:
    """Runs graphs by their definition."""

    name = "reference"

    def compile(self, graph: Graph, options: Options = DEFAULT) -> Callable[..., object]:  # noqa: ARG002
        """A callable that runs the nodes one by one."""
        buffers = Buffers()
        writes = any(buffers.written(node) or is_draw(node) for node in graph)
        return partial(_run, _raising(graph), writes)

    def source(self, graph: Graph, options: Options = DEFAULT) -> str:  # noqa: ARG002  the same for all
        """The operations in program order."""
        return "\n".join(repr(node) for node in graph)


def _raising(graph: Graph) -> Graph:
    """The graph with "raise" wherever an error state of its own warns."""

    def visit(node: Node, builder: Builder) -> Node | None:
        given = node.attributes
        changed: dict[str, Any] = {
            key: _raising(value) for key, value in given.items() if isinstance(value, Graph)
        }
        if ERRORS in given:
            said = {"warn": "raise", "ignore": "ignore"}
            changed[ERRORS] = tuple((flag, said[mode]) for flag, mode in given[ERRORS])
        same = all(given[key] == value for key, value in changed.items())
        return None if same else builder.add(replace(node, attributes={**given, **changed}))

    return rewritten(graph, visit)


def _run(graph: Graph, writes: bool, *inputs: object) -> object:
    """The outputs; `NotImplemented` where an operation raises or warns, which plain Python then does by itself.

    A graph that writes or draws random numbers is tried on copies first: nothing was done where it stops half way.
    """
    try:
        context = context_with(all="raise")
        if writes:
            context.run(reference.run, graph, *reference.copies(inputs))
        outputs = context.run(reference.run, graph, *inputs)
    except Exception as error:  # noqa: BLE001  whatever it is, plain Python raises it at the user's own line
        signals.pass_on(error)
        return NotImplemented
    return outputs[0] if len(outputs) == 1 else outputs


BACKEND = ReferenceBackend()

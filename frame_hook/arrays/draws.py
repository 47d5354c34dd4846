"""Random numbers of NumPy's generators in graphs: a method that draws is called in its place.

Laws: 1. Draws of a graph keep their order, whichever generators they are of. 2. A graph that gives up puts its
generators back, as plain Python draws again then; so a draw is no write that can be seen, and may stand before others.
3. One that raises has not drawn: the graph gives up.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays.arrays import argument_of
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.objects.values import range_bounds
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Constant, Instance, List, Range, Symbol, Tuple
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.typing.draws import DRAWING, GENERATORS, MODULE

OF_VECTORS = ("choice", "permutation")
SAVED = ("PCG64", "MT19937")  # bit generators whose state can be put back


def name_of(method: Any) -> str | None:
    """The name by which graphs know a method of NumPy's generators; None for all else."""
    if getattr(type(method), "__module__", "")[:7] != "_cython" or MODULE not in sys.modules:
        return None
    return _methods().get(id(method))


@lru_cache(maxsize=1)
def _methods() -> dict[int, str]:
    """The methods by their ids: their classes, which never go away, hold them."""
    kinds = [getattr(sys.modules[MODULE], kind) for kind in GENERATORS]
    return {
        id(method): name
        for kind in kinds
        for key, method in vars(kind).items()
        if (name := f"{MODULE}.{kind.__name__}.{key}") in DRAWING
    }


def draw(
    interpreter: Interpreter,
    name: str,
    arguments: Sequence[Symbol],
    keywords: Mapping[str, Symbol],
) -> Symbol:
    """What a method gives for a generator and other arguments."""
    trace = interpreter.trace
    owner = trace.look(arguments[0]) if arguments else None
    kind = name.split(".")[2]
    if (
        not isinstance(owner, Instance)
        or owner.source is None
        or owner.kind is not getattr(sys.modules[MODULE], kind)
    ):
        raise GraphBreak("call", name.removeprefix(MODULE + "."))
    bits = owner.value._bit_generator if kind == "RandomState" else owner.value.bit_generator
    if type(bits).__name__ not in SAVED or not type(bits).__module__.startswith(MODULE):
        raise GraphBreak("call", f"drawing random numbers by {type(bits).__name__}")
    graph = trace.graph
    if graph.has_devices:
        raise GraphBreak("call", "drawing random numbers beside arrays on a device")
    if graph.in_side:
        raise GraphBreak("call", "drawing random numbers on one side of a branch")
    arguments, keywords = list(arguments), dict(keywords)
    if name.rpartition(".")[2] in OF_VECTORS:
        arguments[1:2] = [_as_vector(interpreter, one) for one in arguments[1:2]]
        keywords = {
            key: _as_vector(interpreter, one) if key in ("a", "x") else one
            for key, one in keywords.items()
        }
    inputs: list[Node] = [graph.generator(kind, owner.source)]
    given = (0, *(argument_of(trace, one, inputs) for one in arguments[1:]))
    named = tuple((key, argument_of(trace, one, inputs)) for key, one in keywords.items())
    attributes = {"function": name, "arguments": given, "keywords": named}
    return graph.fresh(graph.node(ops.CALL, tuple(inputs), attributes, may_raise=True))


def _as_vector(interpreter: Interpreter, source: Symbol) -> Symbol:
    """A list, tuple or range to choose from, as the array that NumPy makes of it."""
    found = interpreter.trace.look(source)
    if isinstance(found, Range) or (isinstance(found, Constant) and type(found.value) is range):
        return interpreter.call(Constant(np.arange), range_bounds(found))
    is_sequence = isinstance(found, List | Tuple) or (
        isinstance(found, Constant) and isinstance(found.value, tuple)
    )
    return interpreter.call(Constant(np.array), (found,)) if is_sequence else source

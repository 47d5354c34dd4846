"""Random numbers of NumPy's generators, which the host draws in front of all that a device does.

They are the numbers that plain Python draws, in its order. Where the device then leaves all to plain Python, which
draws once more, the generators are put back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ufuse.backends.cupy.operations.statistics import with_inputs
from ufuse.backends.cupy.sending.kinds import StaysOnHost, device_type
from ufuse.graph import ops
from ufuse.graph.node import Graph, Node
from ufuse.graph.ops import Kind
from ufuse.graph.types import ArrayType, GeneratorType, NumberType
from ufuse.graph.typing.draws import is_draw

ALONE = frozenset((Kind.INPUT, Kind.CONST, Kind.SIZE, Kind.SCALAR))  # what draws are made with


def input_of(draw: Node, number: int) -> Node:
    """What stands for a draw on the device: one more input.

    Raises:
        StaysOnHost: it is no array or number, or depends on what is computed.

    """
    name = draw.attributes["function"]
    if draw.attributes.get("writes") or not isinstance(draw.type, (ArrayType, NumberType)):
        raise StaysOnHost(f"{name} writes, or gives no array of numbers")
    if any(one.op.kind not in ALONE for one in with_inputs([draw])[:-1]):
        raise StaysOnHost(f"{name} draws with what is computed")
    is_array = isinstance(draw.type, ArrayType) and not draw.type.scalar
    type_ = device_type(draw.type) if is_array else draw.type
    return Node(ops.INPUT, (), type_, {"name": f"drawn{number}"}, draw.location)


def drawing(graph: Graph) -> Graph | None:
    """The graph that draws what a graph draws; None: nothing."""
    draws = tuple(filter(is_draw, graph))
    if not draws:
        return None
    return Graph(graph.inputs, tuple(with_inputs((*graph.inputs, *draws))), draws, graph.name)


def generators(graph: Graph) -> list[int]:
    """The places of the inputs that draw."""
    return [place for place, one in enumerate(graph.inputs) if isinstance(one.type, GeneratorType)]


def state_of(generator: Any) -> Any:
    """All that the next numbers depend on."""
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def put_back(generator: Any, state: Any) -> None:
    """Have a generator draw the numbers that it drew behind that state."""
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state

"""Places and lengths that are computed when a program runs, as sizes that the trace goes on with."""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.arrays.arrays import argument_of
from ufuse.frame_hook.objects.values import as_size
from ufuse.frame_hook.trace.symbols import Constant, Number, Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops, size
from ufuse.graph.node import Node
from ufuse.graph.size import Size
from ufuse.graph.types import ArrayType, NumberType
from ufuse.graph.typing.bounds import BOUNDS
from ufuse.graph.typing.calls import may_fail

MOST_MADE = 2**24  # elements along an axis of a new array whose length only values decide


def length_of(trace: Trace, symbol: Symbol) -> Size | None:
    """A whole number that says how long something is to be; None for all else."""
    symbol = trace.look(symbol)
    known = as_size(symbol)
    if known is not None:
        return known
    type_ = symbol.node.type if isinstance(symbol, Number) else None
    if isinstance(type_, NumberType) and type_.kind == "int":
        if type_.value is not None:
            return type_.value
    elif not (isinstance(type_, ArrayType) and type_.scalar and type_.dtype.kind in "iu"):
        return None
    given = (symbol, Constant(MOST_MADE))
    return computed_size(trace, "amount", given, "a computed length", None)


def computed_size(
    trace: Trace,
    function: str,
    arguments: Sequence[Symbol],
    text: str,
    most: Size | None,
    *,
    may_raise: bool = True,
) -> Size:
    """A size that a function of `graph.typing.bounds` gives, which is `most` at most, where that is known."""
    inputs: list[Node] = []
    given = tuple(argument_of(trace, symbol, inputs) for symbol in arguments)
    name = BOUNDS + function
    key = (name, given, *inputs)
    made = trace.graph.computed.get(key)
    if made is None:
        made = trace.graph.computed[key] = trace.sizes.made(
            text, 0 if most is None else most, is_bound=most is not None
        )
    attributes = {"function": name, "arguments": given, "keywords": (), "sizes": (made,)}
    fails = may_raise and may_fail(name)
    node = trace.graph.node(ops.CALL, tuple(inputs), attributes, may_raise=fails)
    trace.graph.note_length(made, node)
    return size.symbol(made)

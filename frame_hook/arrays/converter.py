"""What NumPy's Python functions make of their arguments first: `_array_converter(a, b)`, `broadcast(a, b)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays import arrays, indexing
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, StandIn, Symbol, Tuple
from ufuse.graph.types import ArrayType


class ArrayConverter(StandIn):
    """What NumPy's is for arrays with axes, none of a subclass: they are taken and given as they are."""

    def __init__(self, *arrays: Any) -> None:
        self._arrays = arrays

    def __iter__(self) -> Iterator[Any]:
        return iter(self._arrays)

    def __getitem__(self, place: int) -> Any:
        return self._arrays[place]

    def as_arrays(self, *, subok: bool = True) -> tuple[Any, ...]:  # noqa: ARG002  NumPy's name
        """The arguments as arrays."""
        return self._arrays

    def wrap(self, array: Any, *, to_scalar: bool | None = None) -> Any:  # noqa: ARG002  NumPy's name
        """A result as the class of the arguments has it."""
        return array


class Broadcast(StandIn):
    """What `np.broadcast(a, b)` is to a function that asks for the shape alone."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


@rule_for(np.broadcast)
def _broadcast(interpreter: Interpreter, *arrays: Symbol) -> Symbol:
    """In `np.cross`, which keeps only its shape."""
    if interpreter.frame.code is not np.cross._implementation.__code__:  # type: ignore[attr-defined]
        raise GraphBreak("call", "broadcast")
    shapes = [interpreter.call(Constant(np.shape), (one,)) for one in arrays]
    shape = interpreter.call(Constant(np.broadcast_shapes), shapes)
    assert isinstance(shape, Tuple)
    return interpreter.call(Constant(Broadcast), shape.items)


# The code that joins, or copies, what it has broadcast.
COPYING = (np.diff._implementation.__code__, np.average._implementation.__code__)  # type: ignore[attr-defined]


@rule_for(np.broadcast_to)
def _broadcast_to(
    interpreter: Interpreter, /, array: Symbol, shape: Symbol, subok: Symbol | None = None
) -> Symbol:
    """In `np.diff` and `np.average`, which copy it: a number as often as there are elements."""
    value = interpreter.trace.look(array)
    is_number = arrays.is_number(value) or (isinstance(value, Array) and not value.type.ndim)
    if not is_number or interpreter.frame.code not in COPYING:
        implementation = Constant(np.broadcast_to._implementation)  # type: ignore[attr-defined]
        named = {} if subok is None else {"subok": subok}
        return interpreter.call(implementation, (array, shape), named)
    if isinstance(value, Array):
        value = indexing.item(interpreter.trace, value, Tuple(()))
    type_ = arrays.node_of(interpreter.trace, value).type
    named = {"dtype": Constant(type_.dtype)} if isinstance(type_, ArrayType) else {}
    return interpreter.call(Constant(np.full), (shape, value), named)


@rule_for(np._core._multiarray_umath._array_converter)  # type: ignore[attr-defined]
def _array_converter(interpreter: Interpreter, *arrays: Symbol) -> Symbol:
    for one in map(interpreter.trace.look, arrays):
        if not isinstance(one, Array) or not one.type.ndim:
            raise GraphBreak("call", "a conversion of other values than arrays with axes")
    return interpreter.call(Constant(ArrayConverter), arrays)

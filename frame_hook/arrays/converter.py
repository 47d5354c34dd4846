"""What NumPy's Python functions make of their arguments first: `_array_converter(a, b)`, `broadcast(a, b)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays.arrays import total
from ufuse.frame_hook.arrays.making import shape_argument
from ufuse.frame_hook.arrays.reductions import array_argument
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.interpreter.rules import rule_for
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, StandIn, Symbol, Tuple
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import ops
from ufuse.graph.size import Size
from ufuse.graph.typing import infer


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


# Elements of a view that may be larger than memory, which copies of it may not.
MOST_REPEATED = 2**28

# The code that asks what `np.broadcast` gives for its shape, or not even that.
SHAPING = (np.cross._implementation.__code__, np.array_equiv._implementation.__code__)  # type: ignore[attr-defined]


@rule_for(np.broadcast)
def _broadcast(interpreter: Interpreter, *arrays: Symbol) -> Symbol:
    if interpreter.frame.code not in SHAPING:
        raise GraphBreak("call", "broadcast")
    shapes = [interpreter.call(Constant(np.shape), (one,)) for one in arrays]
    shape = interpreter.call(Constant(np.broadcast_shapes), shapes)
    assert isinstance(shape, Tuple)
    return interpreter.call(Constant(Broadcast), shape.items)


@rule_for(np.broadcast_to)
def _broadcast_to(
    interpreter: Interpreter, /, array: Symbol, shape: Symbol, subok: Symbol | None = None
) -> Symbol:
    """`np.broadcast_to(array, shape)`: a view that repeats elements, and is not written through."""
    if subok is not None:
        interpreter.trace.look(subok)  # no array here is of a subclass
    made = interpreter.call(Constant(np.asarray), (array,))
    sizes = shape_argument(interpreter, shape)
    return _repeated(
        interpreter.trace, array_argument(interpreter, made, "numpy.broadcast_to"), sizes
    )


@rule_for(np.broadcast_arrays)
def _broadcast_arrays(
    interpreter: Interpreter, *args: Symbol, subok: Symbol | None = None
) -> Symbol:
    """Views of a common shape, of arrays that have another; NumPy warns where these are written through."""
    if subok is not None:
        interpreter.trace.look(subok)
    made = [interpreter.call(Constant(np.asarray), (one,)) for one in args]
    given = [array_argument(interpreter, one, "numpy.broadcast_arrays") for one in made]
    trace = interpreter.trace
    try:
        shape = infer.broadcast([one.type.shape for one in given], trace.sizes)
    except infer.CannotInfer as refusal:
        raise GraphBreak("eager-raises", f"ValueError: {refusal}") from None
    return Tuple(
        tuple(
            one
            if len(one.type.shape) == len(shape)
            and all(map(trace.sizes.equal, one.type.shape, shape))
            else _repeated(trace, one, shape, warns=True)
            for one in given
        )
    )


def _repeated(trace: Trace, array: Array, shape: tuple[Size, ...], *, warns: bool = False) -> Array:
    """A view of that shape; how it lies in memory is known where none of its lengths is 0."""
    for length in shape:
        if length != 1 and not trace.sizes.decide("gt", length, 1):
            raise GraphBreak("numpy-call", "elements repeated once, or never,")
    if trace.sizes.decide("gt", total(shape), MOST_REPEATED):
        raise GraphBreak("numpy-call", "elements repeated so often that no copy may have room")
    attributes = {"shape": shape, "warns": True} if warns else {"shape": shape}
    return trace.graph.view(array, ops.BROADCAST, attributes)


@rule_for(np._core._multiarray_umath._array_converter)  # type: ignore[attr-defined]
def _array_converter(interpreter: Interpreter, *arrays: Symbol) -> Symbol:
    for one in map(interpreter.trace.look, arrays):
        if not isinstance(one, Array) or not one.type.ndim:
            raise GraphBreak("call", "a conversion of other values than arrays with axes")
    return interpreter.call(Constant(ArrayConverter), arrays)

"""Rows of the table of calls: what is known of matrices as numbers, and products of several."""

from __future__ import annotations

from itertools import pairwise

from ufuse.graph.typing.call import BY_NAME, Call, Rule
from ufuse.graph.typing.sample import CannotInfer
from ufuse.graph.typing.shapes import Shape, same


def _stack(call: Call, name: str) -> Shape:
    shape = call.shape(0, name)
    if len(shape) < 2:
        raise CannotInfer(f"{call.name} takes a matrix")
    return shape[:-2]


def _condition(call: Call) -> Shape:
    call.constant(1, "p")
    return _stack(call, "x")


def _rank(call: Call) -> Shape:
    for place, name in ((1, "tol"), (BY_NAME, "rtol")):
        if call.constant(place, name) is not None and call.shape(place, name):
            raise CannotInfer(f"{call.name} with an array of tolerances")
    call.constant(2, "hermitian")
    return _stack(call, "A")


def _chain(call: Call) -> Shape:
    """A product of several matrices, of which the first and the last may be vectors."""
    shapes = call.shapes(0, "arrays")
    ends, inner = (shapes[0], shapes[-1]), shapes[1:-1]
    if len(shapes) < 2 or any(len(shape) not in (1, 2) for shape in ends):
        raise CannotInfer(f"{call.name} of these arrays")
    if any(len(shape) != 2 for shape in inner):
        raise CannotInfer(f"{call.name} of these arrays")
    for left, right in pairwise(shapes):
        if not same(left[-1], right[0], call.facts):
            raise CannotInfer(f"{call.name} contracts lengths {left[-1]} and {right[0]}")
    return (*shapes[0][:-1], *shapes[-1][1:])


# fmt: off
MATRICES: dict[str, Rule] = {
    "numpy.linalg.cond":        Rule(_condition, fill=("eye",)),
    "numpy.linalg.matrix_rank": Rule(_rank, fill=("eye",)),
    "numpy.linalg.multi_dot":   Rule(_chain),
}
# fmt: on

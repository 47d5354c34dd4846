"""`np.roll` by known numbers of places as an operand of kernels, which copy the parts that a tile needs."""

from __future__ import annotations

import sys

from ufuse.backends.numpy.loops import why_not_operand
from ufuse.backends.planning.loops import Roll
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.types import ArrayType

FARTHEST = sys.maxsize  # places: kernels count them in a Py_ssize_t


def roll_of(node: Node) -> Roll | str:
    """How an array is rolled, or why no kernel does it."""
    if node.op is not ops.CALL or node.attributes["function"] != "numpy.roll":
        return "it is a call of NumPy's own"
    given, type_ = node.attributes["arguments"], node.type
    if node.attributes["keywords"] or len(node.inputs) != 1 or len(given) != 3:
        return "what says how far it is rolled is not known"
    by, axes = (_whole(one[1]) for one in given[1:])
    if not by or not axes or not isinstance(type_, ArrayType) or type_.order is None:
        return "it is not rolled by whole numbers along axes"
    if len(by) == 1 or len(axes) == 1:
        by, axes = by * len(axes), axes * len(by)
    if len(by) != len(axes) or not all(-type_.ndim <= one < type_.ndim for one in axes):
        return "it cannot be rolled so"
    shifts = tuple((one % type_.ndim, places) for one, places in zip(axes, by, strict=True))
    return why_not_operand(node.inputs[0]) or Roll(type_.dtype, shifts)


def _whole(value: object) -> tuple[int, ...]:
    """One or more whole numbers that C can have; nothing for all else."""
    items = value if isinstance(value, tuple | list) else (value,)
    return tuple(items) if all(type(one) is int and abs(one) <= FARTHEST for one in items) else ()

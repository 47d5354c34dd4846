"""NumPy's mean, variance and deviation of rows or of everything, as the sums that they are made of.

A kernel folds those together with what is before and behind them; CuPy's own methods would not be.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ufuse.backends.cupy.operations.nodes import made, number
from ufuse.graph import ops
from ufuse.graph.node import Location, Node
from ufuse.graph.ops import Op
from ufuse.graph.types import ArrayType

MOMENTS = ("mean", "var", "std")
GIVEN = frozenset(("axis", "keepdims", "ddof"))


def moment_of(
    name: str, x: Node, keywords: dict[str, Any], location: Location | None
) -> Node | None:
    """The result of a method of this name, or None where CuPy's own is to be called.

    `keywords` are as a call has them: each a kind and a value.
    """
    assert isinstance(x.type, ArrayType)
    if name not in MOMENTS or not keywords.keys() <= GIVEN or not x.type.ndim:
        return None
    if not all(isinstance(one, tuple) and one[0] == "const" for one in keywords.values()):
        return None
    given = {key: value for key, (_, value) in keywords.items()}
    axis, keepdims = given.get("axis"), given.get("keepdims", False)
    is_total = axis is None
    if not is_total and axis not in (-1, x.type.ndim - 1, (-1,), (x.type.ndim - 1,)):
        return None
    if type(keepdims) is not bool or given.get("ddof", 0) != 0 or isinstance(axis, bool):
        return None
    moments = _Moments(None if is_total else (x.type.ndim - 1,), location)
    x = moments.in_floats(x)
    if name == "mean":
        return moments.mean(x, keepdims)
    distance = moments.made(ops.UFUNCS["subtract"], x, moments.mean(x, keepdims=not is_total))
    variance = moments.mean(moments.made(ops.UFUNCS["multiply"], distance, distance), keepdims)
    return variance if name == "var" else moments.made(ops.UFUNCS["sqrt"], variance)


class _Moments:
    """Makes nodes of arrays on the device; `axis` is what is summed along, None everything."""

    def __init__(self, axis: tuple[int, ...] | None, location: Location | None) -> None:
        self.axis = axis
        self.location = location

    def made(self, op: Op, *inputs: Node, **attributes: Any) -> Node:
        """A node of the type that CuPy says."""
        return made(op, *inputs, location=self.location, **attributes)

    def in_floats(self, x: Node) -> Node:
        """The values as NumPy sums them: whole numbers in double precision."""
        assert isinstance(x.type, ArrayType)
        if x.type.dtype.kind == "f":
            return x
        return self.made(ops.CAST, x, dtype=np.dtype("f8"))

    def mean(self, x: Node, keepdims: bool) -> Node:
        """The sum by how many there are."""
        assert isinstance(x.type, ArrayType)
        lengths = x.type.shape if self.axis is None else [x.type.shape[one] for one in self.axis]
        total = self.made(ops.OPS["reduce_add"], x, axis=self.axis, keepdims=keepdims, dtype=None)
        return self.made(ops.UFUNCS["divide"], total, number(math.prod(lengths), self.location))

"""What windows of a vector come to, row by row: C does several rows at once (`csrc/loops/windows.c`).

NumPy's reductions and its Python code for variances take each row for itself. Before one is used it is compared with
NumPy's own; what may warn, and NaN, are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ufuse.backends.numpy import _tiles
from ufuse.backends.planning.draft import Draft
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.semantics.effects import ERRORS
from ufuse.graph.strict import run_strictly
from ufuse.graph.types import ArrayType
from ufuse.graph.typing.calls import function_named

Function = Callable[..., Any]
FOLDS: dict[str, Callable[..., Any]] = {
    "add": np.add.reduce,
    "maximum": np.maximum.reduce,
    "minimum": np.minimum.reduce,
    "var": np.var,
    "std": np.std,
}
WIDTHS = (2, 3, 7, 8, 9, 20, 129, 300)  # compared


def fold_of(draft: Draft, node: Node, given: Sequence[int]) -> int | None:
    """A step that reduces each of a vector's windows; None: NumPy itself. `given`: slots of what it is given behind."""
    assert node.op.ufunc is not None
    name, attributes = node.op.ufunc.__name__, node.attributes
    is_plain = not attributes.get("keepdims") and attributes.get("dtype") is None
    is_plain &= not set(attributes) - {"axis", "keepdims", "dtype", ERRORS}
    if name not in FOLDS or not is_plain or not _are_windows(node, attributes.get("axis")):
        return None
    return _step(draft, node, name, node.op.ufunc.reduce, 0, *given)


def variance_of(draft: Draft, node: Node, **given: int) -> int | None:
    """The same of the variances or deviations that a call gives."""
    name = node.attributes["function"].removeprefix("numpy.")
    if name not in ("var", "std"):
        return None
    specs = dict(node.attributes["keywords"])
    known = {key: _constant(spec) for key, spec in specs.items()}
    less = known.get("ddof", 0)
    if (
        node.attributes["arguments"] != (0,)
        or not known.keys() <= {"axis", "ddof"}
        or type(less) is not int
        or less < 0
        or not _are_windows(node, known.get("axis"))
    ):
        return None
    return _step(draft, node, name, function_named(f"numpy.{name}"), less, **given)


def _constant(spec: Any) -> Any:
    """The value of an argument that is known; None: it is not."""
    match spec:
        case ("const", value):
            return value
    return None


def _step(
    draft: Draft, node: Node, name: str, own: Function, less: int, *given: int, **named: int
) -> int | None:
    if not _agrees(name):
        return None
    (windows,) = node.inputs
    vector, width = draft.slot(windows.inputs[0]), draft.size(windows.attributes["widths"][0])
    return draft.call(folding(name, own, less), vector, width, *given, node=node, **named)


def _are_windows(node: Node, axis: Any) -> bool:
    """Whether rows are folded that are all windows of a vector of float64."""
    if not node.inputs:
        return False
    windows = node.inputs[0]
    type_ = windows.type
    source = windows.inputs[0].type if windows.op is ops.WINDOWS else None
    return (
        isinstance(type_, ArrayType)
        and isinstance(source, ArrayType)
        and (source.ndim, source.dtype, source.device) == (1, np.dtype(float), "")
        and type_.ndim == 2
        and axis in (1, -1, (1,), (-1,))
    )


def folding(name: str, own: Function, less: int = 0) -> Function:
    """A function of a vector, a width, and what `own` is given behind windows.

    `less`: by how much fewer than all numbers NumPy divides.
    """
    fold = _tiles.window_fold

    def folded(vector: Any, width: int, *given: Any, **named: Any) -> Any:
        found = fold(name, vector, width, less)
        if found is None:
            return own(sliding_window_view(vector, width), *given, **named)
        return found

    return folded


@lru_cache(maxsize=8)
def _agrees(name: str) -> bool:
    """Whether it gives what NumPy does."""
    return bool(run_strictly("ignore", _is_alike, name))


def _is_alike(name: str) -> bool:
    vector = np.random.default_rng(1).normal(size=max(WIDTHS) + 40)
    vector *= np.exp(vector[::-1] * 3)
    for width in WIDTHS:
        wanted = FOLDS[name](sliding_window_view(vector, width), axis=1)
        found = _tiles.window_fold(name, vector, width, 0)
        if found is None or found.tobytes() != wanted.tobytes():
            return False
    return True

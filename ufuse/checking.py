"""`UFUSE_CHECK=1`: every result is compared with the reference executor, to the bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ufuse.errors import UfuseError
from ufuse.graph import ops
from ufuse.graph.node import Graph
from ufuse.graph.semantics import reference
from ufuse.graph.strict import context_with
from ufuse.graph.text import to_text


class CheckFailed(UfuseError):  # noqa: N818  what happened, not an error of the user's
    """A compiled graph and the reference executor differ; please report it with the graph in the message."""

    for_user = True


def checked(artefact: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """What a backend made of a graph, its results and its writes compared on every call.

    Raises:
        CheckFailed: (when called) something differs.

    """

    def compared(*inputs: Any) -> Any:
        copies = reference.copies(inputs)
        result = artefact(*inputs)
        if result is NotImplemented:
            return result
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = context_with(all="ignore").run(reference.run, graph, *copies)
        results = (result,) if len(graph.outputs) == 1 else result
        pairs = [
            (f"result {i}", a, b)
            for i, (a, b) in enumerate(zip(results, expected, strict=True))
            if graph.outputs[i].op is not ops.EMPTY  # whose contents are arbitrary
        ]
        pairs += [
            (f"argument {i}", a, b) for i, (a, b) in enumerate(zip(inputs, copies, strict=True))
        ]
        for name, found, wanted in pairs:
            why = why_different(found, wanted)
            if why is not None:
                raise CheckFailed(
                    f"{name} of this graph differs from the reference executor: {why}\n{to_text(graph)}"
                )
        return result

    return compared


def why_different(found: Any, wanted: Any) -> str | None:
    """Why two results are not the same to the bit, or None."""
    if type(found) is not type(wanted):
        return f"{type(found).__name__} instead of {type(wanted).__name__}"
    if isinstance(wanted, tuple):
        if len(found) != len(wanted):
            return f"{len(found)} results instead of {len(wanted)}"
        return next((why for why in map(why_different, found, wanted) if why is not None), None)
    if not isinstance(found, (np.ndarray, np.generic)):
        return None if repr(found) == repr(wanted) else f"{found!r} instead of {wanted!r}"
    kinds = [(one.dtype, one.dtype.char, one.dtype.metadata) for one in (found, wanted)]
    if kinds[0] != kinds[1] or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    if isinstance(found, np.ndarray) and found.strides != wanted.strides:
        return f"strides {found.strides} instead of {wanted.strides}"
    if np.ascontiguousarray(found).tobytes() != np.ascontiguousarray(wanted).tobytes():
        return f"{found!r} instead of {wanted!r}"
    return None

"""NumPy's functions that CuPy has too: which of their arguments, and of which dtypes of arrays."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import cupy
import cupyx  # type: ignore[import-untyped]
import numpy as np

from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.backends.cupy.sending.kinds import StaysOnHost, is_sent, read, result_on_device
from ufuse.backends.cupy.steps.calls import function_named, tried
from ufuse.backends.planning.draft import Draft
from ufuse.graph import ops
from ufuse.graph.node import Node
from ufuse.graph.records import record
from ufuse.graph.types import ArrayType, NumberType, TupleType
from ufuse.graph.typing.library import CUDA

EVERY, REAL, INEXACT, FLOATS = "?bBhHiIlLqQfdFD", "bBhHiIlLqQfd", "fdFD", "fd"
COUNTERPART = "numpys"  # the attribute of a call that stands for one of NumPy's


@record
class Row:
    """A function of CuPy's that does as NumPy's does.

    Attributes:
        dtypes: of the arrays that it is given.
        most: how many arguments by place.
        keywords: what may be given by name.
        alike: whether arrays must have one dtype.
        needs: keywords that must have these values; they are not handed on.

    """

    dtypes: str = EVERY
    most: int = 1
    keywords: tuple[str, ...] = ()
    alike: bool = False
    needs: tuple[tuple[str, Any], ...] = ()


# fmt: off
ROWS: dict[str, Row] = {
    # order
    "sort":              Row(REAL, 2, ("axis",)),
    "argsort":           Row(REAL, 2, ("axis",), needs=(("kind", "stable"),)),
    "searchsorted":      Row(REAL, 2, ("side",), alike=True),
    "digitize":          Row(REAL, 2, ("right",)),
    "unique":            Row(REAL),
    "isin":              Row(REAL, 2, ("invert",)),
    # running totals
    "cumsum":            Row(REAL, 2, ("axis",)),
    "cumprod":           Row(REAL, 2, ("axis",)),
    # places
    "nonzero":           Row(),
    "flatnonzero":       Row(),
    "argwhere":          Row(),
    "bincount":          Row("bBhHiIl", 1, ("minlength",)),
    "histogram":         Row(FLOATS, 2),
    "count_nonzero":     Row(EVERY, 2, ("axis", "keepdims")),
    "extract":           Row(EVERY, 2),
    "take_along_axis":   Row(EVERY, 3, ("axis",)),
    "array_equal":       Row(REAL, 2),
    # statistics
    "ptp":               Row(REAL, 2, ("axis",)),
    "median":            Row(REAL, 2, ("axis",)),
    "percentile":        Row(FLOATS, 2, ("axis",)),
    "quantile":          Row(FLOATS, 2, ("axis",)),
    "nanmax":            Row(FLOATS, 1, ("axis", "keepdims")),
    "nanmin":            Row(FLOATS, 1, ("axis", "keepdims")),
    # products
    "matmul":            Row("bBhHiIlLqQfdFD", 2, alike=True),
    "dot":               Row("bBhHiIlLqQfdFD", 2, alike=True),
    "inner":             Row(INEXACT, 2, alike=True),
    "outer":             Row("bBhHiIlLqQfdFD", 2, alike=True),
    "vdot":              Row(FLOATS, 2, alike=True),
    "kron":              Row(INEXACT, 2, alike=True),
    "einsum":            Row(INEXACT, 9, alike=True),
    "trace":             Row(INEXACT),
    "convolve":          Row(FLOATS, 3, ("mode",), alike=True),
    "correlate":         Row(FLOATS, 3, ("mode",), alike=True),
    "interp":            Row(FLOATS, 3, alike=True),
    # making and moving
    "meshgrid":          Row(EVERY, 3, ("indexing",)),
    "modf":              Row(FLOATS),
    "frexp":             Row(FLOATS),
    # matrices
    "linalg.norm":       Row(INEXACT, 3, ("ord", "axis", "keepdims")),
    "linalg.solve":      Row(INEXACT, 2, alike=True),
    "linalg.inv":        Row(INEXACT),
    "linalg.det":        Row(INEXACT),
    "linalg.slogdet":    Row(INEXACT),
    "linalg.cholesky":   Row(INEXACT),
    "linalg.eigvalsh":   Row(INEXACT),
    # Fourier transforms
    **{f"fft.{one}": Row(INEXACT, 3, ("n", "axis", "norm")) for one in ("fft", "ifft", "irfft")},
    **{f"fft.{one}": Row(INEXACT, 3, ("s", "axes", "norm")) for one in ("fft2", "ifft2", "fftn", "ifftn")},
    "fft.rfft":          Row(FLOATS, 3, ("n", "axis", "norm")),
    "fft.fftshift":      Row(EVERY, 2, ("axes",)),
    "fft.ifftshift":     Row(EVERY, 2, ("axes",)),
}
# fmt: on
# Reductions that are functions of CuPy's.
REDUCTIONS = {"reduce_fmax": "nanmax", "reduce_fmin": "nanmin"}
# Methods of NumPy's arrays that are functions of the same name.
METHODS = frozenset("cumsum cumprod dot nonzero trace ptp argsort searchsorted".split())
# Which arrays are made of lists of numbers for.
OF_LISTS = frozenset(
    ("histogram", "digitize", "searchsorted", "isin", "interp", "convolve", "correlate")
)


def counterpart(name: str, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A call of CuPy's function in the place of NumPy's.

    Raises:
        StaysOnHost: CuPy has none that does the same with these arguments.

    """
    row = ROWS.get(name)
    if row is None or not any(map(is_sent, inputs)):
        raise StaysOnHost(f"numpy.{name} is left to NumPy")
    arguments, keywords = node.attributes["arguments"], dict(node.attributes["keywords"])
    for key, wanted in row.needs:
        if keywords.pop(key, None) != ("const", wanted):
            raise StaysOnHost(f"numpy.{name} without {key}={wanted!r}")
    if len(arguments) > row.most or keywords.keys() - {*row.keywords}:
        raise StaysOnHost(f"numpy.{name} with these arguments")
    dtypes = {one.type.dtype for one in inputs if isinstance(one.type, ArrayType)}
    if any(one.char not in row.dtypes for one in dtypes) or (row.alike and len(dtypes) > 1):
        raise StaysOnHost(f"numpy.{name} of {', '.join(sorted(map(str, dtypes)))}")
    attributes = {
        **node.attributes,
        "function": f"cupy.{name}",
        "keywords": tuple(keywords.items()),
        COUNTERPART: name,
    }
    if not isinstance(node.type, NumberType):
        return Node(node.op, inputs, result_on_device(node.type), attributes, node.location)
    if node.type.kind != "bool":
        raise StaysOnHost(f"numpy.{name} gives a number of Python's")
    there = ArrayType(np.dtype(bool), (), (), device=CUDA)
    return read(Node(node.op, inputs, there, attributes, node.location))


def reduction(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A call of CuPy's function in the place of a reduction."""
    name, given = REDUCTIONS[node.op.name], node.attributes
    if inputs[0].type.dtype.char not in ROWS[name].dtypes:  # type: ignore[union-attr]
        raise StaysOnHost(f"numpy.{name} of these")
    keywords = tuple(
        (key, ("const", given[key])) for key in ("axis", "keepdims") if given.get(key) is not None
    )
    attributes = {
        "function": f"cupy.{name}",
        "arguments": (0,),
        "keywords": keywords,
        COUNTERPART: name,
    }
    return Node(ops.CALL, inputs, result_on_device(node.type), attributes, node.location)


def call(draft: Draft, node: Node) -> int:
    """The step of such a call."""
    name = node.attributes[COUNTERPART]
    slots = [draft.argument(spec, node) for spec in node.attributes["arguments"]]
    named = {key: draft.argument(spec, node) for key, spec in node.attributes["keywords"]}
    types = node.type.items if isinstance(node.type, TupleType) else (node.type,)
    kinds = tuple((one.dtype, one.ndim) for one in types if isinstance(one, ArrayType))
    function = function_named(node.attributes["function"])
    if name in OF_LISTS:
        function = partial(_of_arrays, function)
    checked = partial(_as_numpys, function, name, kinds)
    if node.type is types[0]:
        checked = partial(_one, checked)
    return draft.call(checked, *slots, node=node, **named)


def _of_arrays(function: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
    """What a function gives for arrays in the place of lists."""
    given = [
        cupy.asarray(one) if isinstance(one, (list, tuple, np.ndarray)) else one for one in operands
    ]
    return function(*given, **keywords)


def _one(function: Callable[..., Any], /, *operands: Any, **keywords: Any) -> Any:
    """The only result of what gives several."""
    (result,) = function(*operands, **keywords)
    return result


def _as_numpys(
    function: Callable[..., Any],
    name: str,
    kinds: tuple[tuple[np.dtype, int], ...],
    /,
    *operands: Any,
    **keywords: Any,
) -> tuple[Any, ...]:
    """What a function gives, in C order; where NumPy would raise or gives another dtype, plain Python runs."""
    raising = cupyx.errstate(linalg="raise") if name.startswith("linalg") else nullcontext()
    with raising:
        results = tried(function, *operands, **keywords)
    if not isinstance(results, (tuple, list)):
        results = (results,)
    found = tuple((one.dtype, one.ndim) for one in results if isinstance(one, cupy.ndarray))
    if found != kinds:
        raise DoesNotFit(f"CuPy's {name} gives {found}, where {kinds} are expected")
    return tuple(one if one.flags.c_contiguous else cupy.ascontiguousarray(one) for one in results)

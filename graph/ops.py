"""The op table: one row per operation. dtype rules are NumPy's own, asked through the ufunc."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from ufuse.graph.records import record


class Kind(Enum):
    """What an op does with memory; every stage chooses by kind before it chooses by name."""

    INPUT = "input"  # a value the caller gives
    CONST = "const"  # attribute `value`: a Python number, NumPy scalar or other constant object
    MAP = "map"  # elementwise, broadcasting: a fresh array, or a NumPy scalar where all inputs are 0-d
    REDUCE = "reduce"  # ufunc.reduce; attributes axis (tuple or None), keepdims, dtype (or None)
    VIEW = "view"  # the same memory under another shape or strides
    CREATE = "create"  # a fresh array from a shape; inputs: none, or a fill value
    STORE = "store"  # inputs (buffer, value): a new version of the buffer, written through attribute `path`
    SCALAR = "scalar"  # a Python operator on Python numbers and NumPy scalars, at least one known only at run time
    CHECK = "check"  # attribute `expected`: where the truth of the input is another, the graph is not run to its end
    SIZE = "size"  # attribute `value`: an expression over sizes, as a Python int
    CALL = "call"  # NumPy's own function, whole; attributes as described at CALL below
    LOOP = "loop"  # attributes condition, body (graphs); inputs and results are the carried values
    BRANCH = "branch"  # attributes then, otherwise (graphs); first input is the condition
    ITEM = (
        "item"  # attribute `index`: one result of a loop, a branch or a call with several results
    )


@record
class Op:
    """A row of the table. `ufunc` gives dtypes and the defining computation where there is one."""

    name: str
    arity: int | None  # None: any number
    kind: Kind
    ufunc: np.ufunc | None = None
    commutes: bool = False  # the order of the two inputs changes no bit of a result that is not NaN

    def __hash__(self) -> int:
        return hash(self.name)


def _ufunc(name: str, *, commutes: bool = False) -> Op:
    function: Any = getattr(np, name)
    return Op(name, function.nin, Kind.MAP, function, commutes)


# fmt: off
INPUT  = Op("input",  0,    Kind.INPUT)
CONST  = Op("const",  0,    Kind.CONST)
SIZE   = Op("size",   0,    Kind.SIZE)
# MAP beside the ufuncs
CAST   = Op("cast",   1,    Kind.MAP)    # astype(dtype): attribute dtype; K order, always a fresh array
WHERE  = Op("where",  3,    Kind.MAP)    # np.where(condition, x, y)
COPY   = Op("copy",   1,    Kind.MAP)    # a fresh array; attribute order: "C" or "K"
# VIEW; attributes: index = a tuple of Size | Span | None (a new axis), all normalised
INDEX     = Op("index",     1, Kind.VIEW)  # basic indexing, array result
TRANSPOSE = Op("transpose", 1, Kind.VIEW)  # attribute axes
RESHAPE   = Op("reshape",   1, Kind.VIEW)  # attribute shape; only where no copy is needed
PART      = Op("part",      1, Kind.VIEW)  # attribute of: "real" or "imag", of complex numbers
DIAGONAL  = Op("diagonal",  1, Kind.VIEW)  # attributes offset, axes, length; NumPy's is not written through
WINDOWS   = Op("windows",   1, Kind.VIEW)  # attributes widths, axes: parts that overlap, which are not written through
RETYPE    = Op("retype",    1, Kind.VIEW)  # the same bytes as elements of attribute dtype, or several for one
# attribute shape: repeats elements along new axes and those of length 1; warns: as `np.broadcast_arrays` makes it
BROADCAST = Op("broadcast", 1, Kind.VIEW)
# CREATE; attributes shape, dtype, order (a tuple of axes, slowest first)
EMPTY  = Op("empty",  0,    Kind.CREATE)
ZEROS  = Op("zeros",  0,    Kind.CREATE)
ONES   = Op("ones",   0,    Kind.CREATE)
FULL   = Op("full",   1,    Kind.CREATE)
# STORE: attribute path = a tuple of (op name, attributes) view steps from the whole buffer; () is all of it
STORE  = Op("store",  2,    Kind.STORE)
# An element read out as a NumPy scalar: all-integer index
ELEMENT = Op("element", 1,  Kind.CALL)
# SCALAR: attribute operator = the name of a function in Python's `operator` module, or "float", "int", "bool"
SCALAR = Op("scalar", None, Kind.SCALAR)
# CALL: attributes
#   function: the dotted name, "numpy.matmul", "numpy.ndarray.sort" (a method: first input is self)
#   arguments: a tuple of positions: int k stands for input k, ("const", value) for a constant
#   keywords: a tuple of (name, the same)
#   writes: indices of inputs whose memory it changes: their new versions follow as `item` nodes from index 1 on
CALL   = Op("call",   None, Kind.CALL)
ITEM   = Op("item",   1,    Kind.ITEM)
# CHECK: no visible write comes before one; what comes behind it is run for nothing, or not at all, where it fails
CHECK  = Op("check",  1,    Kind.CHECK)
LOOP   = Op("loop",   None, Kind.LOOP)
BRANCH = Op("branch", None, Kind.BRANCH)
# fmt: on

COMMUTING = "add multiply logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor equal not_equal".split()
UFUNCS: dict[str, Op] = {
    name: _ufunc(name, commutes=name in COMMUTING)
    for name in sorted(vars(np))
    if isinstance(getattr(np, name), np.ufunc)
    and getattr(np, name).signature is None
    and getattr(np, name).nout == 1
    and getattr(np, name).__name__ == name
}
REDUCTIONS: dict[str, Op] = {
    f"reduce_{name}": Op(f"reduce_{name}", 1, Kind.REDUCE, getattr(np, name))
    for name in (
        "add multiply maximum minimum fmax fmin logical_and logical_or bitwise_and bitwise_or bitwise_xor".split()
    )
}
CLIP: np.ufunc = np._core.umath.clip  # type: ignore[attr-defined]  # `np.clip` is a function around it
NAMED = (
    INPUT, CONST, SIZE, CAST, WHERE, COPY, INDEX, TRANSPOSE, RESHAPE, PART, DIAGONAL, WINDOWS, RETYPE, BROADCAST, EMPTY,
    ZEROS,
    ONES, FULL, STORE, ELEMENT, SCALAR, CALL, ITEM, CHECK, LOOP, BRANCH,
)  # fmt: skip
OPS: dict[str, Op] = {op.name: op for op in NAMED} | UFUNCS | REDUCTIONS


# Ufuncs whose vector and scalar code give the same bits: exact, or one scalar routine for each element.
STRIDE_INDEPENDENT = frozenset(
    """add subtract multiply divide negative positive absolute fabs square sqrt reciprocal floor ceil trunc rint
    conjugate maximum minimum fmax fmin copysign signbit sign isnan isinf isfinite equal not_equal less
    less_equal greater greater_equal logical_and logical_or logical_xor logical_not floor_divide remainder fmod
    heaviside nextafter spacing""".split()
)
STRIDE_INDEPENDENT_COMPLEX = STRIDE_INDEPENDENT - frozenset(
    "multiply divide absolute square sqrt reciprocal sign".split()
)


# Those of complex numbers whose bits depend on whether the result is new memory, not on the operands' strides.
OPERANDS_ANYHOW_COMPLEX = frozenset(
    """multiply divide exp expm1 exp2 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh arcsin arccos arctan
    arcsinh arccosh arctanh""".split()
)


# Ufuncs whose vector code NumPy 2.4 has wrong where the result's memory is strided: only new memory may be written.
NEEDS_NEW_MEMORY = frozenset("isnan isinf isfinite signbit".split())


def depends_on_strides(name: str, *dtypes: np.dtype) -> bool:
    """Whether a ufunc's loop of these dtypes may compute other bits where memory is strided."""
    kinds = {dtype.kind for dtype in dtypes}
    independent = STRIDE_INDEPENDENT_COMPLEX if "c" in kinds else STRIDE_INDEPENDENT
    return bool(kinds & {"f", "c"}) and name not in independent


def depends_on_operands(name: str, *dtypes: np.dtype) -> bool:
    """Whether a ufunc's loop of these dtypes may compute other bits where its operands are strided."""
    is_complex = any(dtype.kind == "c" for dtype in dtypes)
    return depends_on_strides(name, *dtypes) and not (
        is_complex and name in OPERANDS_ANYHOW_COMPLEX
    )


def is_numpys(ufunc: np.ufunc) -> bool:
    """Whether it is what NumPy means by its name: other libraries have functions of the same names."""
    return getattr(np, ufunc.__name__, None) is ufunc or ufunc is CLIP


def op_of(ufunc: np.ufunc) -> Op:
    """The row of any elementwise ufunc with one result: NumPy's, SciPy's, a user's own."""
    known = UFUNCS.get(ufunc.__name__)
    if known is not None and known.ufunc is ufunc:
        return known
    return Op(ufunc.__name__, ufunc.nin, Kind.MAP, ufunc)

"""Operators of arrays whose result NumPy may write over an operand, which then gives it its layout.

NumPy computes `temporary - y` in the memory of an operand that nobody else has, where that is large and as large as
the result (`temp_elide.c`). Of a sum or a product that may be the right one, which then comes first: of two NaN its
bits live on. Where the layout would be another one, or where it is not known who has an operand and bits depend on
it, plain Python computes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ufuse.frame_hook.arrays.arrays import total
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.operations.held import is_held
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Constant, Integer, Number, Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import size
from ufuse.graph.types import ArrayType, NumberType

COMMUTATIVE = frozenset("+*&|^")  # these may write over the right operand, too
ELIDING = COMMUTATIVE | {"-", "/", "//", "<<", ">>"}
FEWEST_BYTES = 256 * 1024  # of an operand that is written over: NPY_MIN_ELIDE_BYTES
DTYPES = {"int": np.dtype(int), "float": np.dtype(float), "complex": np.dtype(complex)}


def in_order(
    interpreter: Interpreter, sign: str, left: Symbol, right: Symbol, *, by_operator: bool
) -> tuple[Symbol, Symbol, bool]:
    """The operands of a sum or product in the order in which NumPy's loop takes them, and whether it is done in place.

    Raises:
        GraphBreak: bits depend on who has one of them, which is not known.

    """
    if sign not in {"+", "*"}:
        return left, right, False
    by_left = _gaps_matter(left, right)
    if not by_left and not (isinstance(right, Array) and _order_matters(sign, left, right)):
        return left, right, False
    is_lefts = _is_held(interpreter, left, right, by_operator=by_operator)
    is_rights = _is_held(interpreter, right, left, by_operator=by_operator)
    # Where both could be written over, they are as large as each other, and NumPy takes the left one.
    if not by_left and (is_lefts is False or is_rights is True):
        return left, right, False
    is_lefts = is_lefts or _is_kept(interpreter.trace, left, right, is_lefts)
    if is_lefts is False:
        return left, right, by_left
    is_rights = is_rights or _is_kept(interpreter.trace, right, left, is_rights)
    if is_lefts is None and (by_left or not is_rights):
        is_rights = None
    if is_rights is None:
        raise GraphBreak("operator", f"{sign} of large arrays that something else may have")
    return (left, right, False) if is_rights else (right, left, _gaps_matter(right, left))


def _is_held(
    interpreter: Interpreter, one: Symbol, other: Symbol, *, by_operator: bool
) -> bool | None:
    """Whether no size lets NumPy write over an operand: types do not, or something else has it; None: unknown."""
    if not isinstance(one, Array) or not _may_be_written_over(one, other):
        return True
    return is_held(interpreter, one, by_operator=by_operator)


def _is_kept(trace: Trace, one: Symbol, other: Symbol, is_held: bool | None) -> bool | None:
    """Whether an operand that types let be written over is not, because of the sizes."""
    assert isinstance(one, Array)
    return is_held if _is_written_over(trace, one, other) else True


def _gaps_matter(one: Symbol, other: Symbol) -> bool:
    """Whether NumPy's loop has other NaN in place than in new memory: of complex numbers beside elements with gaps."""
    return (
        isinstance(one, Array)
        and isinstance(other, Array)
        and one.type.dtype.kind == "c"
        and other.type.ndim > 0
        and not other.type.contiguous
    )


def _order_matters(sign: str, left: Symbol, right: Array) -> bool:
    """Whether bits of a large result depend on which operand comes first: of NaN and of complex products.

    Where the left one is a number of NumPy's, it does the operator, and holds the right one then.
    """
    if sign not in {"+", "*"} or right.type.dtype.kind not in "fc":
        return False
    if isinstance(left, Array) and left.type.ndim > 0:
        return True
    return sign == "*" and right.type.dtype.kind == "c" and not _is_numpys(left)


def refuse_to_guess(
    interpreter: Interpreter,
    sign: str,
    left: Symbol,
    right: Symbol,
    result: Array,
    *,
    by_operator: bool,
) -> None:
    """Break where it is not known whose layout the result of an operator has."""
    if sign not in ELIDING or not isinstance(left, Array) or not isinstance(right, Array):
        return
    pairs = [(left, right), (right, left)] if sign in COMMUTATIVE else [(left, right)]
    for one, other in pairs:
        if (
            one.type.order != result.type.order
            and one.type.dtype == result.type.dtype
            and _may_be_written_over(one, other)
            and not is_held(interpreter, one, by_operator=by_operator)
            and _is_written_over(interpreter.trace, one, other)
        ):
            raise GraphBreak("operator", f"{sign} of large arrays in unlike orders")


def _is_numpys(number: Symbol) -> bool:
    """Whether it is a scalar of NumPy's."""
    if isinstance(number, Number):
        return isinstance(number.node.type, ArrayType)
    return isinstance(number, Constant) and isinstance(number.value, np.generic)


def _may_be_written_over(one: Array, other: Symbol) -> bool:
    """Whether types let NumPy write the result over an operand that nothing else has."""
    kind, dtype = one.type, _dtype_of(other)
    return (
        dtype is not None
        and np.can_cast(dtype, kind.dtype, "safe")
        and kind.dtype.kind in "iufc"
        and not one.path
        and (not isinstance(other, Array) or other.type.ndim in {0, kind.ndim})
        and _writes_over()
    )


def _is_written_over(trace: Trace, one: Array, other: Symbol) -> bool:
    """Whether the shapes of two such operands let NumPy do so."""
    kind = one.type
    shape = other.type.shape if isinstance(other, Array) else ()
    return trace.sizes.reaches(
        size.multiply(total(kind.shape), kind.dtype.itemsize), FEWEST_BYTES
    ) and all(map(trace.sizes.equal, kind.shape, shape))


def _dtype_of(symbol: Symbol) -> np.dtype[Any] | None:
    """The dtype of the array that NumPy makes of an operand; None where it is no array and no number."""
    match symbol:
        case Array(type=kind):
            return kind.dtype
        case Number(node=node) if isinstance(node.type, ArrayType):
            return node.type.dtype
        case Number(node=node) if isinstance(node.type, NumberType):
            return DTYPES.get(node.type.kind, np.dtype(bool))
        case Integer():
            return DTYPES["int"]
        case Constant(value=bool() | int() | float() | complex() | np.generic() as value):
            return np.asarray(value).dtype
    return None


@cache
def _writes_over() -> bool:
    """Whether NumPy does so here: it has to find its callers, which it cannot on every platform."""
    x = np.zeros((FEWEST_BYTES // 8 // 128, 128))
    return not (np.asfortranarray(x) - 1 - x).flags.c_contiguous

"""Operators of arrays whose result NumPy may write over an operand, which then gives it its layout.

NumPy computes `temporary - y` in the memory of an operand that nobody else has, where that is large and as large as
the result (`temp_elide.c`). Who has an operand a trace knows of locals only. So where the layout depends on it, and
none of them has it, plain Python computes.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ufuse.frame_hook.arrays.arrays import total
from ufuse.frame_hook.interpreter.interpreter import Interpreter
from ufuse.frame_hook.trace.reasons import GraphBreak
from ufuse.frame_hook.trace.symbols import Array, Symbol
from ufuse.frame_hook.trace.trace import Trace
from ufuse.graph import size

COMMUTATIVE = frozenset("+*&|^")  # these may write over the right operand, too
ELIDING = COMMUTATIVE | {"-", "/", "//", "<<", ">>"}
FEWEST_BYTES = 256 * 1024  # of an operand that is written over: NPY_MIN_ELIDE_BYTES


def refuse_to_guess(
    interpreter: Interpreter, sign: str, left: Symbol, right: Symbol, result: Array
) -> None:
    """Break where it is not known whose layout the result of an operator has."""
    if sign not in ELIDING or not isinstance(left, Array) or not isinstance(right, Array):
        return
    pairs = [(left, right), (right, left)] if sign in COMMUTATIVE else [(left, right)]
    for one, other in pairs:
        if _differs(interpreter.trace, one, other, result) and not _is_held(interpreter, one):
            raise GraphBreak("operator", f"{sign} of large arrays in unlike orders")


def _differs(trace: Trace, one: Array, other: Array, result: Array) -> bool:
    """Whether the result would have another layout if it were written over an operand, which can be."""
    kind = one.type
    return (
        kind.order != result.type.order
        and kind.dtype == result.type.dtype
        and kind.dtype.kind in "iufc"
        and not one.path
        and kind.ndim == other.type.ndim
        and all(map(trace.sizes.equal, kind.shape, other.type.shape))
        and trace.sizes.decide(
            "ge", size.multiply(total(kind.shape), kind.dtype.itemsize), FEWEST_BYTES
        )
        and _writes_over()
    )


@cache
def _writes_over() -> bool:
    """Whether NumPy does so here: it has to find its callers, which it cannot on every platform."""
    x = np.zeros((FEWEST_BYTES // 8 // 128, 128))
    return not (np.asfortranarray(x) - 1 - x).flags.c_contiguous


def _is_held(interpreter: Interpreter, array: Array) -> bool:
    """Whether a local has an array, or a view of it."""
    return any(
        isinstance(one, Array) and one.buffer is array.buffer
        for frame in interpreter.call_stack
        for one in frame.locals
    )

"""Calls of C's functions, and of NumPy's own loops for one element."""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import TYPE_CHECKING

from ufuse.backends.numpy.llvm.nest_body import TYPES, Body, literal
from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.graph.nest import F64, Instruction

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_INPUTS = 3
# Of a double's bits: its exponent, one in it, and between which bits squares have the error that is promised.
EXPONENT, ONE = 0x7FF << 52, 1 << 52
LEAST, MOST = (1023 - 128) * ONE, (1023 + 128) * ONE
# From the exponent of a double to the bits of 31/64 of the distance to the next one.
NEARLY_HALF = -54 * ONE + (15 << 48)


def emit_numpy(body: Body, one: Instruction) -> str:
    """Append what an elementwise function of NumPy gives for one element."""
    (name,) = one.attributes
    operands = [body.operand(value) for value in one.inputs]
    operands += ["0.0"] * (MOST_INPUTS - len(operands))
    given = ", ".join(f"double {operand}" for operand in operands)
    loop = body.symbol(checked(f"scalar.{name}"))
    return body.call("helper.scalar.d", "double", f"ptr {loop}, {given}")


def emit_function(body: Body, name: str, type_: str, operands: Iterable[str]) -> str:
    """Append the call of a function of C: what is not finite may be an error of Python's, so it is a doubt."""
    given = ", ".join(f"{TYPES[type_]} {operand}" for operand in operands)
    result = body.add_new(f"call {TYPES[type_]} {body.symbol(checked(name))}({given}) #2")
    size = body.intrinsic(f"llvm.fabs.{type_}", TYPES[type_], [(TYPES[type_], result)])
    body.go_on_if(body.compare("olt", size, literal(math.inf, type_), type_))
    return result


def emit_square(body: Body, one: Instruction) -> str:
    """Append what `pow` gives for the exponent 2.

    The C library of GNU promises an error of 0.509 units in the last place, and 3e-5 more for each unit of the result's
    logarithm (`e_pow.c`; without fused products 0.511 and 5e-5): of 0.5155 units for results between LEAST and MOST. So
    `pow` gives the product unless what that was rounded by is nearly half a unit: then it is called.
    """
    (base,) = (body.operand(value) for value in one.inputs)

    def called() -> str:
        return emit_function(body, "math.pow", F64, (base, literal(2.0, F64)))

    if not _is_of_gnu():
        return called()
    product = body.strict("fmul.f64", "double", [("double", base), ("double", base)])
    negative = body.add(f"fneg double {product}")
    rest = body.intrinsic(
        "llvm.fma.f64", "double", [("double", each) for each in (base, base, negative)]
    )
    error = body.intrinsic("llvm.fabs.f64", "double", [("double", rest)])
    word, error_word = (body.add(f"bitcast double {each} to i64") for each in (product, error))
    limit = body.add(f"add i64 {body.add(f'and i64 {word}, {EXPONENT}')}, {NEARLY_HALF}")
    is_far = body.add(f"icmp ult i64 {error_word}, {limit}")
    is_usual = body.add(f"icmp ult i64 {body.add(f'sub i64 {word}, {LEAST}')}, {MOST - LEAST}")
    is_sure = body.add(f"and i1 {is_far}, {is_usual}")
    return body.otherwise(is_sure, product, "double", called)


@cache
def _is_of_gnu() -> bool:
    """Whether the C library is one whose errors are known."""
    return hasattr(ctypes.CDLL(None), "gnu_get_libc_version")

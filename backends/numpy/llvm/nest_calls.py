"""Calls of NumPy's own loops for one element."""

from __future__ import annotations

from ufuse.backends.numpy.llvm.nest_body import Body
from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.graph.nest import Instruction

MOST_INPUTS = 3


def emit_numpy(body: Body, one: Instruction) -> str:
    """Append what an elementwise function of NumPy gives for one element."""
    (name,) = one.attributes
    operands = [body.operand(value) for value in one.inputs]
    operands += ["0.0"] * (MOST_INPUTS - len(operands))
    given = ", ".join(f"double {operand}" for operand in operands)
    loop = body.symbol(checked(f"scalar.{name}"))
    return body.call("helper.scalar.d", "double", f"ptr {loop}, {given}")

"""Calls of C's functions, and of NumPy's own loops for one element."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.backends.numpy.nest_code.body import TYPES, Body, literal
from ufuse.backends.numpy.nest_passes.buffers import LOOPS, MOST_INPUTS
from ufuse.backends.numpy.nest_passes.keeping import keeps_flags
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import F64


def emit_numpy(body: Body, one: Instruction) -> str:
    """Append what an elementwise function of NumPy gives for one element."""
    (name,), type_ = one.attributes, one.inputs[0].type
    operands = [body.operand(value) for value in one.inputs]
    operands += ["0.0"] * (MOST_INPUTS - len(operands))
    given = ", ".join(f"{TYPES[type_]} {operand}" for operand in operands)
    which = "bare" if keeps_flags(name, type_) else "scalar"
    helper = f"helper.{which}.{'d' if type_ == F64 else 'f'}"
    return body.call(helper, TYPES[type_], f"ptr {loop_of(body, name, type_)}, {given}")


def loop_of(body: Body, name: str, type_: str) -> str:
    """NumPy's own loop."""
    return body.symbol(checked(f"{LOOPS[type_]}.{name.removeprefix('numpy.')}"))


def emit_function(body: Body, name: str, type_: str, operands: Iterable[str]) -> str:
    """Append the call of a function of C: what is not finite may be an error of Python's, so it is a doubt."""
    given = ", ".join(f"{TYPES[type_]} {operand}" for operand in operands)
    result = body.add_new(f"call {TYPES[type_]} {body.symbol(checked(name))}({given}) #2")
    size = body.intrinsic(f"llvm.fabs.{type_}", TYPES[type_], [(TYPES[type_], result)])
    body.go_on_if(body.compare("olt", size, literal(math.inf, type_), type_))
    return result

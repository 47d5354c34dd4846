"""Calls of NumPy's own loops for one element."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm.nest_body import Body
from ufuse.graph.nest import Instruction, numpy_function

MOST_INPUTS = 3


@lru_cache(maxsize=256)
def _loop(name: str) -> object:
    """Kept for as long as the process lives: machine code has its address."""
    ufunc = numpy_function(name)
    return _tiles.numpy_loop(ufunc, (np.dtype(np.float64),) * (ufunc.nin + ufunc.nout))


def emit_numpy(body: Body, one: Instruction) -> str:
    """Append what an elementwise function of NumPy gives for one element."""
    (name,) = one.attributes
    operands = [body.operand(value) for value in one.inputs]
    operands += ["0.0"] * (MOST_INPUTS - len(operands))
    given = ", ".join(f"double {operand}" for operand in operands)
    helper, loop = _tiles.nest_helpers()["scalar.d"], id(_loop(name))
    return body.add_new(
        f"call double inttoptr (i64 {helper} to ptr)(ptr inttoptr (i64 {loop} to ptr), {given}) #1"
    )

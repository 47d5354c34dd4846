"""Calls of C's functions, and of NumPy's own loops for one element."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ufuse.backends.numpy.llvm.nest_body import TYPES, Body, literal
from ufuse.backends.numpy.llvm.nest_buffers import BATCH, BYTES, LOOPS, MOST_INPUTS, WORD, Batch
from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.graph.nest import F64, Instruction

if TYPE_CHECKING:
    from collections.abc import Iterable


def emit_numpy(body: Body, one: Instruction) -> str:
    """Append what an elementwise function of NumPy gives for one element."""
    (name,), type_ = one.attributes, one.inputs[0].type
    operands = [body.operand(value) for value in one.inputs]
    operands += ["0.0"] * (MOST_INPUTS - len(operands))
    given = ", ".join(f"{TYPES[type_]} {operand}" for operand in operands)
    helper = "helper.scalar.d" if type_ == F64 else "helper.scalar.f"
    return body.call(helper, TYPES[type_], f"ptr {_loop(body, name, type_)}, {given}")


def _loop(body: Body, name: str, type_: str) -> str:
    return body.symbol(checked(f"{LOOPS[type_]}.{name.removeprefix('numpy.')}"))


def emit_batch_put(body: Body, one: Instruction) -> str:
    """Append that operands of a call lie at a place in a buffer."""
    (batch,) = one.attributes
    place, *values = one.inputs
    for value in values:
        body.settle(value)
    for row, value in enumerate(values):
        at = _in_buffer(body, batch, row, body.operand(place))
        body.lines.append(f"store {TYPES[batch.type]} {body.operand(value)}, ptr {at}")
    return ""


def emit_batch_run(body: Body, one: Instruction) -> str:
    """Append the call for all places up to one."""
    (batch,) = one.attributes
    at, count = _in_buffer(body, batch, 0, "0"), body.operand(one.inputs[0])
    helper = body.symbol(checked("helper.batch"))
    given = f"ptr {_loop(body, batch.name, batch.type)}, ptr {at}, i64 {BATCH * WORD}"
    body.lines.append(f"call void {helper}({given}, i64 {BYTES[batch.type]}, i64 {count}) #1")
    return ""


def emit_batch_get(body: Body, one: Instruction) -> str:
    """Append what a call gave at a place."""
    (batch,) = one.attributes
    at = _in_buffer(body, batch, batch.inputs, body.operand(one.inputs[0]))
    return body.add_new(f"load {TYPES[batch.type]}, ptr {at}")


def _in_buffer(body: Body, batch: Batch, row: int, place: str) -> str:
    body.batches = max(body.batches, batch.at + (batch.inputs + 1) * BATCH)
    begin = body.add(
        f"getelementptr inbounds i8, ptr %batches, i64 {(batch.at + row * BATCH) * WORD}"
    )
    return body.add(f"getelementptr inbounds {TYPES[batch.type]}, ptr {begin}, i64 {place}")


def emit_function(body: Body, name: str, type_: str, operands: Iterable[str]) -> str:
    """Append the call of a function of C: what is not finite may be an error of Python's, so it is a doubt."""
    given = ", ".join(f"{TYPES[type_]} {operand}" for operand in operands)
    result = body.add_new(f"call {TYPES[type_]} {body.symbol(checked(name))}({given}) #2")
    size = body.intrinsic(f"llvm.fabs.{type_}", TYPES[type_], [(TYPES[type_], result)])
    body.go_on_if(body.compare("olt", size, literal(math.inf, type_), type_))
    return result

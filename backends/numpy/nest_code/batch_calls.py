"""Calls for many turns at once: their operands go into buffers, and what they give comes from there."""

from __future__ import annotations

from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.backends.numpy.nest_code.body import TYPES, Body, literal
from ufuse.backends.numpy.nest_code.calls import loop_of
from ufuse.backends.numpy.nest_code.powers import nearest_power
from ufuse.backends.numpy.nest_passes.buffers import BATCH, BYTES, WORD, Batch
from ufuse.graph.nest import F64, KNOWN_POWERS, Instruction


def emit_batch_put(body: Body, one: Instruction) -> str:
    """Append that operands of a call lie at a place in a buffer."""
    (batch,) = one.attributes
    place, *values = one.inputs
    for value in values:
        body.settle(value)
    if batch.is_power:
        _put_power(body, batch, *map(body.operand, one.inputs))
        return ""
    for row, value in enumerate(values):
        at = _in_buffer(body, batch, row, body.operand(place))
        body.lines.append(f"store {TYPES[batch.type]} {body.operand(value)}, ptr {at}")
    return ""


def emit_batch_run(body: Body, one: Instruction) -> str:
    """Append the call for all places up to one."""
    (batch,) = one.attributes
    if batch.is_power:
        _run_powers(body, batch, body.operand(one.inputs[0]))
        return ""
    at, count = _in_buffer(body, batch, 0, "0"), body.operand(one.inputs[0])
    helper = body.symbol(checked("helper.batch"))
    given = f"ptr {loop_of(body, batch.name, batch.type)}, ptr {at}, i64 {BATCH * WORD}"
    body.lines.append(f"call void {helper}({given}, i64 {BYTES[batch.type]}, i64 {count}) #1")
    return ""


def _put_power(body: Body, batch: Batch, place: str, base: str) -> None:
    """Append a power, and whether it has to be called: a byte for each, so that LLVM makes vectors of all."""
    power, is_sure = nearest_power(body, batch.name, base)
    for row, text in enumerate((base, power)):
        body.lines.append(f"store double {text}, ptr {_in_buffer(body, batch, row, place)}")
    seldom = body.add(f"zext i1 {body.add(f'xor i1 {is_sure}, true')} to i8")
    at = body.add(f"getelementptr inbounds i8, ptr {_in_buffer(body, batch, 2, '0')}, i64 {place}")
    body.lines.append(f"store i8 {seldom}, ptr {at}")


def _run_powers(body: Body, batch: Batch, count: str) -> None:
    """Append calls of `pow` for those that are not known; what is not finite is a doubt."""
    exponent, power = literal(KNOWN_POWERS[batch.name], F64), body.symbol(checked("math.pow"))
    helper = body.symbol(checked("helper.powers"))
    given = f"ptr {power}, ptr {_in_buffer(body, batch, 0, '0')}, double {exponent}"
    odd = body.add_new(f"call i32 {helper}({given}, i64 {count}) #1")
    body.doubt_if(body.add_new(f"icmp ne i32 {odd}, 0"))


def emit_batch_get(body: Body, one: Instruction) -> str:
    """Append what a call gave at a place."""
    (batch,) = one.attributes
    at = _in_buffer(body, batch, batch.inputs, body.operand(one.inputs[0]))
    return body.add_new(f"load {TYPES[batch.type]}, ptr {at}")


def _in_buffer(body: Body, batch: Batch, row: int, place: str) -> str:
    body.batches = max(body.batches, batch.at + batch.words)
    begin = body.add(
        f"getelementptr inbounds i8, ptr %batches, i64 {(batch.at + row * BATCH) * WORD}"
    )
    return body.add(f"getelementptr inbounds {TYPES[batch.type]}, ptr {begin}, i64 {place}")

"""Calls for many turns at once: their operands go into buffers, and what they give comes from there."""

from __future__ import annotations

from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.backends.numpy.nest_code.body import TYPES, Body, literal
from ufuse.backends.numpy.nest_code.calls import loop_of
from ufuse.backends.numpy.nest_code.powers import Doubled, nearest_power
from ufuse.backends.numpy.nest_passes.buffers import BATCH, BYTES, LANES, WORD, Batch
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import F64, KNOWN_POWERS


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
    if batch.is_power:
        _run_powers(body, batch, body.operand(one.inputs[0]))
        return ""
    at, count = _in_buffer(body, batch, 0, "0"), body.operand(one.inputs[0])
    helper = body.symbol(checked("helper.batch"))
    given = f"ptr {loop_of(body, batch.name, batch.type)}, ptr {at}, i64 {BATCH * WORD}"
    body.lines.append(f"call void {helper}({given}, i64 {BYTES[batch.type]}, i64 {count}) #1")
    return ""


def _run_powers(body: Body, batch: Batch, count: str) -> None:
    """Append all powers of a batch, and calls of `pow` for those that are not known; what is not finite is a doubt.

    Some lanes at once, as vectors: the operands were perhaps computed one by one. Those behind the last one are 1.
    """
    lanes = Doubled(body, LANES)
    body.lines.append(
        f"store {lanes.type} {lanes.number(1.0)}, ptr {_in_buffer(body, batch, 0, count)}, align {WORD}"
    )
    step, following = body.label(), body.label()
    body.unknown.add(batch.unknown)
    body.lines += [f"br label %{step}.begin", f"{step}.begin:", f"br label %{step}", f"{step}:"]
    at = body.add_new(f"phi i64 [ 0, %{step}.begin ], [ %{step}.next, %{step} ]")
    base = body.add_new(f"load {lanes.type}, ptr {_in_buffer(body, batch, 0, at)}, align {WORD}")
    power, is_sure = nearest_power(lanes, batch.name, base)
    body.lines.append(
        f"store {lanes.type} {power}, ptr {_in_buffer(body, batch, 1, at)}, align {WORD}"
    )
    bits = body.add(f"xor i8 {body.add(f'bitcast <{LANES} x i1> {is_sure} to i8')}, -1")
    group = body.add(f"lshr i64 {at}, 3")
    place = body.add(f"getelementptr inbounds i8, ptr {batch.unknown}, i64 {group}")
    body.lines += [
        f"store i8 {bits}, ptr {place}",
        f"%{step}.next = add nuw nsw i64 {at}, {LANES}",
    ]
    more = body.add(f"icmp slt i64 %{step}.next, {count}")
    body.lines += [f"br i1 {more}, label %{step}, label %{following}", f"{following}:"]
    exponent, power = literal(KNOWN_POWERS[batch.name], F64), body.symbol(checked("math.pow"))
    helper = body.symbol(checked("helper.powers"))
    rows = f"ptr {_in_buffer(body, batch, 0, '0')}, ptr {batch.unknown}"
    odd = body.add_new(f"call i32 {helper}(ptr {power}, {rows}, double {exponent}, i64 {count}) #1")
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

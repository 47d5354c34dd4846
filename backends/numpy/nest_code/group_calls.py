"""Calls of a function of NumPy for several numbers of a turn at once (`nest_passes/groups.py`)."""

from __future__ import annotations

from ufuse.backends.numpy.llvm.symbols import checked
from ufuse.backends.numpy.nest_code.body import TYPES, Body
from ufuse.backends.numpy.nest_code.calls import loop_of
from ufuse.backends.numpy.nest_passes.buffers import BYTES, VECTOR
from ufuse.backends.numpy.nest_passes.groups import Group, lanes
from ufuse.backends.numpy.nest_passes.keeping import is_wide, keeps_flags
from ufuse.graph.nest import Instruction


def emit_group_run(body: Body, one: Instruction) -> str:
    """Append the call: the numbers are stored as one vector, as what reads them would wait for several stores.

    Where that takes no longer, it is for as many as a vector has, the first of them in the places of others.
    """
    (group,) = one.attributes
    for value in one.inputs:
        body.settle(value)
    operands, count = [body.operand(value) for value in one.inputs], lanes(group.type)
    type_ = TYPES[group.type]
    vector = "poison"
    for place in range(count):
        operand = operands[place] if place < len(operands) else operands[0]
        vector = body.add_new(
            f"insertelement <{count} x {type_}> {vector}, {type_} {operand}, i64 {place}"
        )
    at = place_of(body, group)
    body.lines.append(f"store <{count} x {type_}> {vector}, ptr {at}, align {VECTOR}")
    keeps = keeps_flags(group.name, group.type)
    helper = body.symbol(checked("helper.bare_batch" if keeps else "helper.batch"))
    given = f"ptr {loop_of(body, group.name, group.type)}, ptr {at}, i64 {VECTOR}"
    many = count if is_wide(group.name, group.type) else len(operands)
    body.lines.append(f"call void {helper}({given}, i64 {BYTES[group.type]}, i64 {many}) #1")
    behind = body.add_new(f"getelementptr inbounds i8, ptr {at}, i64 {VECTOR}")
    body.groups[group.number] = body.add_new(
        f"load <{count} x {type_}>, ptr {behind}, align {VECTOR}"
    )
    return ""


def emit_group_get(body: Body, one: Instruction) -> str:
    """Append what the call gave for a number."""
    group, place = one.attributes
    vector = f"<{lanes(group.type)} x {TYPES[group.type]}>"
    return body.add_new(f"extractelement {vector} {body.groups[group.number]}, i64 {place}")


def place_of(body: Body, group: Group) -> str:
    """Where the numbers of a group lie, and behind them what the function gives."""
    body.has_groups = True
    return "%group"

"""Appending to lists in nests: numbers go behind one another into a temporary, from which C makes objects."""

from __future__ import annotations

from ufuse.backends.numpy.llvm.nest_body import TYPES, Body, own_variable
from ufuse.backends.numpy.llvm.nest_maps import WORDS
from ufuse.graph.nest import I1, Instruction, Nest, ResultSlot


def _memory(body: Body, number: int) -> int:
    """The first word of a temporary: where its memory begins; then how large that is, and the lengths."""
    return WORDS * (number - body.given)


def _word(body: Body, place: int) -> str:
    return body.add(f"getelementptr i64, ptr %memory, i64 {place}")


def emit_append(body: Body, one: Instruction) -> str:
    """Append one more element of a temporary, which grows where it is full."""
    (number,), (value,) = one.attributes, one.inputs
    body.settle(value)
    operand, type_ = body.operand(value), TYPES[value.type]
    if value.type == I1:
        operand, type_ = body.add(f"zext i1 {operand} to i8"), "i8"
    length = body.length(number, 0)
    longer = body.add(f"add nsw i64 {length}, 1")
    size = body.numbered[number].dtype.itemsize
    _grow(body, number, body.add(f"mul nsw i64 {longer}, {size}"))
    body.known.forget(one)
    body.keep_own(number, "length0", "i64", longer)
    at = body.add_new(f"getelementptr {type_}, ptr {body.data(number)}, i64 {length}")
    body.lines.append(f"store {type_} {operand}, ptr {at}")
    return ""


def _grow(body: Body, number: int, size: str) -> None:
    """Append a call for more memory, where there are not so many bytes."""
    first = _memory(body, number)
    memory = _word(body, first)
    capacity = body.add_new(f"load i64, ptr {_word(body, first + 1)}")
    is_full = body.add(f"icmp sgt i64 {size}, {capacity}")
    growing, following = body.label(), body.label()
    body.lines += [
        f"br i1 {is_full}, label %{growing}, label %{following}, !prof !1",
        f"{growing}:",
    ]
    status = body.call("helper.extend", "i32", f"ptr {memory}, i64 {size}")
    done = body.label()
    is_made = body.add_new(f"icmp eq i32 {status}, 0")
    body.lines += [f"br i1 {is_made}, label %{done}, label %doubt, !prof !0", f"{done}:"]
    data = body.add_new(f"load ptr, ptr {memory}")
    place = body.places[own_variable(number, "data")]
    body.lines += [f"store ptr {data}, ptr {place}", f"br label %{following}", f"{following}:"]


def give_back_lengths(body: Body) -> None:
    """Append, where the nest is left: how many elements the columns of lists have, and lists that it gives."""
    for number in _given_back(body.nest):
        length = body.add_new(f"load i64, ptr {body.places[own_variable(number, 'length0')]}")
        at = _word(body, _memory(body, number) + 2)
        body.lines.append(f"store i64 {length}, ptr {at}")


def _given_back(nest: Nest) -> list[int]:
    """The temporaries that C makes items of lists of."""
    columns = [one.array for slot in nest.lists for one in slot.columns]
    if not any(isinstance(slot, ResultSlot) and slot.items for slot in nest.slots):
        return columns
    instructions = (one for block in nest.blocks for one in block.instructions)
    return sorted({*columns, *(one.attributes[0] for one in instructions if one.op == "append")})

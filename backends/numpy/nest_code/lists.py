"""Appending to lists in nests: numbers go behind one another into a temporary, from which C makes objects."""

from __future__ import annotations

from ufuse.backends.numpy.nest_code.body import TYPES, Body, own_variable
from ufuse.backends.numpy.nest_code.maps import WORDS
from ufuse.graph.nest import Instruction, Nest
from ufuse.graph.nest_slots import ResultSlot
from ufuse.graph.nest_types import I1


def memory_of(body: Body, number: int) -> int:
    """The first word of a temporary: where its memory begins; then how large that is, and the lengths."""
    return WORDS * (number - body.given)


def word_of(body: Body, place: int) -> str:
    """Where a word of the nest's memory lies."""
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
    grow(body, number, body.add(f"mul nsw i64 {longer}, {size}"))
    body.known.forget(one)
    body.keep_own(number, "length0", "i64", longer)
    at = body.add_new(f"getelementptr {type_}, ptr {body.data(number)}, i64 {length}")
    body.lines.append(f"store {type_} {operand}, ptr {at}")
    return ""


def emit_trim(body: Body, one: Instruction) -> str:
    """Append that a temporary has fewer elements from here on."""
    (number,), (count,) = one.attributes, one.inputs
    body.settle(count)
    operand = body.operand(count)
    body.known.forget(one)
    body.keep_own(number, "length0", "i64", operand)
    return ""


def grow(body: Body, number: int, size: str) -> None:
    """Append a call for more memory, where there are not so many bytes."""
    first = memory_of(body, number)
    memory = word_of(body, first)
    capacity = body.add_new(f"load i64, ptr {word_of(body, first + 1)}")
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


def emit_find(body: Body, one: Instruction) -> str:
    """Append the place of a key among those of a table."""
    keys, index = one.attributes
    given = f"ptr {body.data(keys)}, i64 {body.length(keys, 0)}, ptr {word_of(body, memory_of(body, index))}"
    key = body.operand(one.inputs[0])
    place = body.call("helper.find", "i64", f"{given}, i64 {key}")
    body.go_on_if(body.add(f"icmp sge i64 {place}, -1"))
    return place


def emit_enter(body: Body, one: Instruction) -> str:
    """Append the place of a key in a table, which gets it where it is new."""
    keys, _, *columns = one.attributes
    length, key = body.length(keys, 0), body.operand(one.inputs[0])
    lengths = {column: body.length(column, 0) for column in columns}
    sizes = [body.numbered[column].dtype.itemsize for column in columns]
    memories = [word_of(body, memory_of(body, number)) for number in one.attributes]
    given = ", ".join(f"ptr {memory}" for memory in (*memories, "null", "null")[:4])
    given += f", i64 {sizes[0] if sizes else 0}, i64 {length}, i64 {key}"
    place = body.call("helper.enter", "i64", given)
    body.go_on_if(body.add(f"icmp sge i64 {place}, 0"))
    body.known.forget(one)
    added = body.add(f"zext i1 {body.add(f'icmp eq i64 {place}, {length}')} to i64")
    for number in _columns(one):
        before = lengths.get(number, length)
        body.keep_own(number, "length0", "i64", body.add(f"add nsw i64 {before}, {added}"))
        memory = word_of(body, memory_of(body, number))
        body.keep_own(number, "data", "ptr", body.add_new(f"load ptr, ptr {memory}"))
    return place


def give_back_lengths(body: Body) -> None:
    """Append, where the nest is left: how many elements the columns of lists have, and lists that it gives."""
    for number in _given_back(body.nest):
        length = body.add_new(f"load i64, ptr {body.places[own_variable(number, 'length0')]}")
        at = word_of(body, memory_of(body, number) + 2)
        body.lines.append(f"store i64 {length}, ptr {at}")


def _given_back(nest: Nest) -> list[int]:
    """The temporaries that C makes items of lists of."""
    columns = [one.array for slot in nest.lists for one in slot.columns]
    written = (one for one in nest.keyed if one.is_written)
    columns += (
        number for one in written for number in (one.keys, one.values, one.places) if number >= 0
    )
    if not any(isinstance(slot, ResultSlot) and slot.items for slot in nest.slots):
        return columns
    instructions = (one for block in nest.blocks for one in block.instructions)
    grown = {
        number
        for one in instructions
        for number in (one.attributes[:1] if one.op in ("append", "trim") else _columns(one))
    }
    return sorted({*columns, *grown})


def _columns(one: Instruction) -> tuple[int, ...]:
    """The temporaries that get one more element where a key is new."""
    return (one.attributes[0], *one.attributes[2:]) if one.op == "enter" else ()

"""The frames of functions that call themselves in a nest: words one behind another in a temporary, which grows."""

from __future__ import annotations

from ufuse.backends.numpy.nest_code.body import TYPES, Body, as_word, of_word, result_type
from ufuse.backends.numpy.nest_code.lists import grow
from ufuse.graph.nest import Instruction
from ufuse.graph.nest_types import F64

WORD = 8  # bytes


def emit_push(body: Body, one: Instruction) -> str:
    """Append words behind those that a temporary has."""
    (number,) = one.attributes
    words = []
    for value in one.inputs:
        body.settle(value)
        words.append((as_word(body, body.operand(value), value.type), _type_of_word(value.type)))
    length = body.length(number, 0)
    longer = body.add(f"add nsw i64 {length}, {len(words)}")
    grow(body, number, body.add(f"mul nsw i64 {longer}, {WORD}"))
    body.known.forget(one)
    body.keep_own(number, "length0", "i64", longer)
    data = body.data(number)
    for place, (word, type_) in enumerate(words):
        at = body.add_new(f"getelementptr i64, ptr {data}, i64 {length}")
        at = body.add_new(f"getelementptr i64, ptr {at}, i64 {place}")
        body.lines.append(f"store {type_} {word}, ptr {at}")
    return ""


def emit_peek(body: Body, one: Instruction) -> str:
    """Append a value that was pushed, so many words from the end."""
    number, place = one.attributes
    type_ = result_type(one)
    at = body.add_new(f"getelementptr i64, ptr {body.data(number)}, i64 {body.length(number, 0)}")
    at = body.add_new(f"getelementptr i64, ptr {at}, i64 {-place}")
    return of_word(body, body.add_new(f"load {_type_of_word(type_)}, ptr {at}"), type_)


def emit_drop(body: Body, one: Instruction) -> str:
    """Append that a temporary has so many words less."""
    number, count = one.attributes
    shorter = body.add(f"sub nsw i64 {body.length(number, 0)}, {count}")
    body.known.forget(one)
    body.keep_own(number, "length0", "i64", shorter)
    return ""


def emit_room(body: Body, _: Instruction) -> str:
    """Append how many frames of Python the thread may still begin."""
    return body.add_new(f"call i64 {body.symbol('helper.room')}() #2")


def _type_of_word(type_: str) -> str:
    return TYPES[F64] if type_ == F64 else "i64"

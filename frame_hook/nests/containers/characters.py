"""Texts in loops that are read as nests: their characters are numbers, which only comparisons and a few methods take.

A text from outside is an array of characters where one of them is taken, and a constant, guarded, where all of it is
looked at: `mode == "fast"`. Methods are those of ASCII; another character is in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from ufuse.frame_hook.nests.arrays import elements, views
from ufuse.frame_hook.nests.known.code import Code
from ufuse.frame_hook.nests.known.kinds import BOOL, INT, NotNativeError
from ufuse.frame_hook.nests.known.numbers import Character, Known, Number, Text
from ufuse.frame_hook.nests.known.values import Item, Items, SliceOf
from ufuse.frame_hook.nests.numbers import either
from ufuse.frame_hook.nests.reading.operations import ELEMENT, LENGTH, METHOD, methods_of
from ufuse.frame_hook.nests.reading.reader import Reader
from ufuse.graph.nest_types import I1, I64, U32, Value

ASCII = 128
CASE = ord("a") - ord("A")
# The ranges of ASCII for which a method is true.
METHODS: dict[str, tuple[tuple[str, str], ...]] = {
    "isalpha": (("A", "Z"), ("a", "z")),
    "isdigit": (("0", "9"),),
    "isalnum": (("A", "Z"), ("a", "z"), ("0", "9")),
    "isupper": (("A", "Z"),),
    "islower": (("a", "z"),),
    "isspace": (("\t", "\r"), ("\x1c", " ")),
}
CASES = {"upper": ("a", "z", -CASE), "lower": ("A", "Z", CASE)}
# What a character differs from by Python's rules alone.
PLAIN = (str, int, float, complex, bool, type(None))


def known(reader: Reader, item: Item) -> Item:
    """A text as a constant; anything else as it is."""
    return reader.outside.known_text(item) if isinstance(item, Text) else item


def compare(code: Code, name: str, left: Item, right: Item) -> Item | None:
    """The comparison of a character with another, or with a constant; None where neither is one."""
    if not isinstance(left, Character) and not isinstance(right, Character):
        return None
    values = [number(code, one) for one in (left, right)]
    if None not in values:
        return Number(BOOL, code.op(f"i{name}", I1, *[one for one in values if one is not None]))
    if name in ("eq", "ne") and all(map(_has_plain_equality, (left, right))):
        return Known(name == "ne")
    raise NotNativeError("it compares a character with what is none")


def _has_plain_equality(item: Item) -> bool:
    """Whether a character equals it where both are one character, and then only; the result is Python's bool."""
    if isinstance(item, Number):
        return not either.is_either(item) and not item.type.numpy
    return isinstance(item, Character) or (isinstance(item, Known) and type(item.value) in PLAIN)


def contains(reader: Reader, container: Item, item: Character) -> Item:
    """`item in container`: of a text, or of a tuple of characters."""
    if isinstance(container, Known) and type(container.value) is str:
        members: Sequence[Item] = [Known(one) for one in container.value]
    elif isinstance(container, Items):
        members = [known(reader, one) for one in container.items]
    else:
        raise NotNativeError("it looks for a character in {item}, which is not followed", container)
    code = reader.out
    found: Value = code.constant(I1, False)
    for one in members:
        same = compare(code, "eq", item, one)
        if isinstance(same, Number):
            found = code.op("or", I1, found, same.value)
    return Number(BOOL, found)


def as_int(code: Code, function: object, item: Item) -> Item | None:
    """`ord(item)`, or `int(item)` of a digit; None of what is no character."""
    if function is ord and isinstance(item, Known) and number(code, item) is not None:
        return Known(ord(item.value))
    if not isinstance(item, Character):
        return None
    value = code.op("to_i64", I64, item.value)
    if function is ord:
        return Number(INT, value)
    code.doubt_if(code.op("not", I1, _is_between(code, item.value, "0", "9")))
    return Number(INT, code.op("sub", I64, value, code.constant(I64, ord("0"))))


def called_method(code: Code, owner: Character, name: str) -> Item:
    """`owner.name()`."""
    value = owner.value
    code.doubt_if(code.op("ige", I1, value, code.constant(U32, ASCII)))
    if name in CASES:
        first, last, distance = CASES[name]
        is_other = _is_between(code, value, first, last)
        step = code.op("select", I64, is_other, *(code.constant(I64, i) for i in (distance, 0)))
        moved = code.op("add", I64, code.op("to_i64", I64, value), step)
        return Character(code.op("to_u32", U32, moved))
    found: Value = code.constant(I1, False)
    for first, last in METHODS[name]:
        found = code.op("or", I1, found, _is_between(code, value, first, last))
    return Number(BOOL, found)


def is_one(item: Item) -> bool:
    """Whether it is a character, or a constant that is one."""
    is_constant = isinstance(item, Known) and type(item.value) is str and len(item.value) == 1
    return is_constant or isinstance(item, Character)


def number(code: Code, item: Item) -> Value | None:
    """Of a character; None of what is none."""
    if isinstance(item, Character):
        return item.value
    return code.constant(U32, ord(item.value)) if isinstance(item, Known) and is_one(item) else None


def _is_between(code: Code, value: Value, first: str, last: str) -> Value:
    least, most = (code.constant(U32, ord(one)) for one in (first, last))
    return code.op("and", I1, code.op("ige", I1, value, least), code.op("ile", I1, value, most))


# Texts ------------------------------------------------------------------------------------------------------------


@LENGTH.of(Text)
def length(reader: Reader, text: Text) -> Number:
    """`len(text)`."""
    return reader.length(reader.outside.as_characters(text).holder, 0)


@ELEMENT.of(Text)
def element(reader: Reader, text: Text, key: Item) -> Item:
    """`text[key]`."""
    if isinstance(key, SliceOf):
        raise NotNativeError("a part of a string is not compiled yet")
    holder = reader.outside.as_characters(text).holder
    return elements.loaded(reader, holder, (views.index(reader, key),))


methods_of(frozenset((*METHODS, *CASES)), Character)


@METHOD.of(Character)
def _called(
    reader: Reader, owner: Character, name: str, arguments: list[Item], keywords: dict[str, Item]
) -> Item:
    if arguments or keywords:
        raise NotNativeError(f"calls of the method {name} with arguments")
    return called_method(reader.out, owner, name)

"""Text read as a nest: what `str(nest)` writes."""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ufuse.graph.nest import PLAIN_NAME, Block, End, Instruction, Map, Nest, Scalar, Step, View
from ufuse.graph.nest_slots import (
    ARRAYS,
    CONTAINERS,
    GIVEN_CONTAINERS,
    MARKS,
    OBJECTS,
    ArraySlot,
    Column,
    GeneratorSlot,
    GivenRows,
    KeysSlot,
    ListSlot,
    MemberSlot,
    NumberSlot,
    ObjectSlot,
    RangeSlot,
    ResultSlot,
    Slot,
)
from ufuse.graph.nest_types import KINDS, TABLE_AXES, Value, Variable
from ufuse.graph.nest_types import NUMBERS as NUMBER_KINDS
from ufuse.graph.text.values import TextError

NAME = rf"(?:{PLAIN_NAME.pattern}|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")"
VIEW = r"#\d+\[[^\]]*\]"
SLOT = re.compile(rf"({NAME}): (.*)$")
ARRAY = re.compile(r"(\d+)-d array of (\w+)((?:, [a-z ]+)*)$")
LIST = re.compile(rf"(list|table) by (\w+) of (\w+)(, written)?(?: under ({NAME}))?$")
ROWS = re.compile(r"rows of (\w+), (lists|sets) of (?:(\w+)|\((\w+(?: \w+)*)\))( in a dict)?$")
LIST_OF_OBJECTS = re.compile(
    rf"list of objects(, apart)?(?:, tuples of (\d+))?((?:, without {NAME})*)((?:, None as {NAME})*)$"
)
ATTRIBUTE = re.compile(
    rf"attribute by (\w+) of (\w+)(, written)?, ({NAME}) of ({NAME})(?:, field (\d+))?$"
)
STACKED = re.compile(
    rf"(\d+)-d arrays of (\w+)(, written)?, ({NAME}) of ({NAME})(?:, field (\d+))?$"
)
NEW_ARRAYS = re.compile(rf"new arrays(, apart)?, ({NAME}) of ({NAME})$")
MEMBER = re.compile(rf"an item of ({NAME})(, made)?$")
GROWING = re.compile(
    r"growing list of (numbers|tuples|(\d+)-d arrays)((?:, #\d+ (?:python|numpy) \w+)+)(, read)?$"
)
KEYED = re.compile(
    rf"({'|'.join(map(re.escape, GIVEN_CONTAINERS))}) of (ints|pairs) #(\d+) by #(\d+)"
    rf"(?: to #(\d+) (python|numpy) ({'|'.join(KINDS)}))?(?: from #(\d+) of ({NAME}))?(, with rows)?(, written)?$"
)
COLUMN = re.compile(r"#(\d+) (python|numpy) (\w+)")
GENERATOR = re.compile(r"a generator of (NumPy|Python)'s random numbers")
GIVEN = re.compile(
    rf"(list|{'|'.join(CONTAINERS)}) of (python|numpy) ({'|'.join(KINDS)})"
    rf"(?: to (python|numpy) ({'|'.join(KINDS)}))?(?: from ({NAME}))?$"
)
ITERATOR = re.compile(r"the (range|forwards|backwards|count|product|flat|once) of the loop")
STATEMENT = re.compile(r"(?:%(\d+) = )?(\w+?)(?:\.(\w+))?(?: (.*))?$")
NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.@<>])|inf\b)|nan\(\w+\)"
PART = re.compile(rf"%\d+|{VIEW} = .*? over \d-d|{VIEW}|{NUMBER}|{NAME}")
STEP = re.compile(r"(\w+)\.([\w/]+)\(([\d ]*)\)$")
ENDS = ("jump", "branch", "leave", "doubt")
# Whose attributes are names, whatever they look like.
NAMED = ("get", "set", "call", "draw", "draws")


def parse_nest(text: str) -> Nest:
    """The nest of a text.

    Raises:
        TextError: the text is no nest.

    """
    head, *lines = [line for line in text.splitlines() if line.strip()] or [""]
    if not head.startswith("nest "):
        raise TextError(f"a nest begins with its name, not {head!r}")
    first = next((i for i, line in enumerate(lines) if not line.startswith("  ")), len(lines))
    slots: list[Slot] = []
    temporaries: list[ArraySlot] = []
    views: list[View] = []
    others: list[Variable] = []
    for line in (one.strip() for one in lines[:first]):
        if line.startswith("a view: "):
            views.append(_view(line.removeprefix("a view: ")))
        elif line.startswith("variables: "):
            others += _variables(line.removeprefix("variables: "))
        elif line.endswith(", temporary"):
            slot = _slot(line.removesuffix(", temporary"))
            assert isinstance(slot, ArraySlot)
            temporaries.append(slot)
        else:
            slots.append(_slot(line))
    blocks = tuple(_blocks(lines[first:]))
    return Nest(
        head.removeprefix("nest "), tuple(slots), tuple(others), blocks, tuple(temporaries), tuple(views)
    )  # fmt: skip


def _slot(text: str) -> Slot:
    name, what = _found(SLOT, text).groups()
    name = _name(name)
    if (iterator := ITERATOR.fullmatch(what)) is not None:
        return RangeSlot(name, iterator[1])
    if (generator := GENERATOR.fullmatch(what)) is not None:
        return GeneratorSlot(name, generator[1] == "Python")
    if (listed := LIST.fullmatch(what)) is not None:
        shape, whose, dtype, written, walked = listed.groups()
        axes = TABLE_AXES if shape == "table" else 1
        return ArraySlot(
            name, np.dtype(dtype), axes, bool(written), items=whose, iterator=_name(walked or "")
        )
    if (rows := ROWS.fullmatch(what)) is not None:
        dtype, of, number, numbers, in_dict = rows.groups()
        kinds = tuple((number or numbers).split())
        given_rows = GivenRows(kinds, numbers is not None, of == "sets", bool(in_dict))
        return ArraySlot(
            name, np.dtype(dtype), 1, is_written=False, items="python", rows=given_rows
        )
    if (objects := LIST_OF_OBJECTS.fullmatch(what)) is not None:
        apart, width, lacked, nothing = objects.groups()
        return ArraySlot(
            name, np.dtype(bool), 1, is_written=False, items=OBJECTS, is_apart=bool(apart), width=int(width or 0),
            lacked=tuple(map(_name, re.findall(rf", without ({NAME})", lacked))),
            nothing=tuple(map(_name, re.findall(rf", None as ({NAME})", nothing))),
        )  # fmt: skip
    if (attribute := ATTRIBUTE.fullmatch(what)) is not None:
        whose, *parts = attribute.groups()
        return _of_items(name, whose, 1, *parts)
    if (stacked := STACKED.fullmatch(what)) is not None:
        ndim, *parts = stacked.groups()
        return _of_items(name, ARRAYS, 1 + int(ndim), *parts)
    if (fresh := NEW_ARRAYS.fullmatch(what)) is not None:
        apart, new, whose = fresh.groups()
        return ArraySlot(
            name, np.dtype(bool), 1, is_written=True, items=MARKS, owner=_name(whose), attribute=_name(new),
            is_apart=bool(apart),
        )  # fmt: skip
    if (member := MEMBER.fullmatch(what)) is not None:
        return MemberSlot(name, _name(member[1]), is_given=not member[2])
    if what == "an object":
        return ObjectSlot(name)
    if (growing := GROWING.fullmatch(what)) is not None:
        of, rank, columns, read = growing.groups()
        given = tuple(_columns(columns))
        return ListSlot(name, given, of == "tuples", bool(read), int(rank or 0))
    if (keyed := KEYED.fullmatch(what)) is not None:
        container, of, keys, index, values, whose, kind, places, origin, leads, written = (
            keyed.groups()
        )
        return KeysSlot(
            name, container, int(keys), int(index), int(values or -1), kind or "", whose == "numpy", of == "pairs",
            bool(written), int(places or -1), _name(origin or ""), bool(leads),
        )  # fmt: skip
    kind, _, rest = what.partition(", ")
    if rest == "given back":
        return _result(name, kind)
    if kind in NUMBER_KINDS and rest in ("", "changed", "changed, made"):
        return NumberSlot(name, kind, bool(rest), is_given="made" not in rest)
    ndim, dtype, marks = _found(ARRAY, what).groups()
    known = marks.split(", ")[1:]
    within = [one.removeprefix("within ") for one in known if one.startswith("within ")]
    if not {*known} <= {"written", "bound again", "viewed", "within array", "within column"}:
        raise TextError(f"not an array of a nest: {text!r}")
    return ArraySlot(
        name, np.dtype(dtype), int(ndim), "written" in known, "bound again" in known, "viewed" in known,
        within="".join(within),
    )  # fmt: skip


def _of_items(
    name: str, items: str, ndim: int, dtype: str, written: str | None, attribute: str, owner: str, field: str | None
) -> ArraySlot:  # fmt: skip
    """What the items of a list of objects have as an attribute."""
    return ArraySlot(
        name, np.dtype(dtype), ndim, bool(written), items=items, owner=_name(owner),
        attribute=_name(attribute), field=None if field is None else int(field),
    )  # fmt: skip


def _columns(text: str) -> Iterator[Column]:
    for number, whose, kind in COLUMN.findall(text):
        yield Column(int(number), kind, whose == "numpy")


def _result(name: str, text: str) -> ResultSlot:
    array, _, items = text.partition(" as ")
    kinds = tuple(array.split(" or "))
    if items and array == "array" and (found := GIVEN.match(items)):
        container, whose, kind, values_whose, values, origin = found.groups()
        parts = (values or "", values_whose == "numpy", _name(origin or ""))
        known = "" if container == "list" else container
        return ResultSlot(name, kinds, kind, whose == "numpy", known, *parts)
    if kinds in (("array",), ("view",)) or {*kinds} <= KINDS.keys():
        return ResultSlot(name, kinds)
    raise TextError(f"not a result of a nest: {text!r}")


def _variables(text: str) -> Iterator[Variable]:
    for name, type_ in re.findall(rf"({NAME}): (\w+)(?:, |$)", text):
        yield Variable(_name(name), type_)


def _blocks(lines: list[str]) -> Iterator[Block]:
    label, instructions = "", list[Instruction]()
    values: dict[int, Value] = {}
    end: End | None = None
    for line in [*lines, ":"]:
        text = line.strip()
        if line.startswith("  ") and end is None:
            if text.split(" ")[0] in ENDS:
                end = _end(text, values)
            else:
                instructions.append(_instruction(text, values))
            continue
        if line.startswith("  ") or not text.endswith(":") or (label and end is None):
            raise TextError(f"not in a block that goes on: {text!r}")
        if end is not None:
            yield Block(label, tuple(instructions), end)
        label, instructions, values, end = _name(text[:-1]), [], {}, None


def _end(text: str, values: dict[int, Value]) -> End:
    kind, _, rest = text.partition(" ")
    if kind == "leave" and rest:
        return End(kind, number=int(rest))
    parts = re.findall(rf"%\d+|{NAME}", rest)
    condition = _value(parts.pop(0), values) if kind == "branch" else None
    return End(kind, tuple(map(_name, parts)), condition)


def _instruction(text: str, values: dict[int, Value]) -> Instruction:
    number, op, type_, rest = _found(STATEMENT, text).groups()
    parts = PART.findall(rest or "")
    if ", ".join(parts) != (rest or ""):
        raise TextError(f"not an instruction: {text!r}")
    read = _name if op in NAMED else _attribute
    inputs = tuple(_value(part, values) for part in parts if part.startswith("%"))
    attributes = tuple(
        (_attribute if part.startswith("#") else read)(part)
        for part in parts
        if not part.startswith("%")
    )
    result = None
    if number is not None:
        result = values[int(number)] = Value(int(number), type_ or "")
    return Instruction(op, inputs, result, attributes)


def _value(text: str, values: dict[int, Value]) -> Value:
    try:
        return values[int(text[1:])]
    except (KeyError, ValueError):
        raise TextError(f"no value of this block: {text!r}") from None


def _attribute(text: str) -> Any:
    """A number, a part of an array, an array statement, or a name."""
    if text.startswith("#"):
        return _map(text) if " over " in text else _view(text)
    if text.startswith("nan("):
        return struct.unpack("<d", struct.pack("<Q", int(text[4:-1], 16)))[0]
    if text in NUMBERS:
        return NUMBERS[text]
    for read in READERS:
        try:
            return read(text)
        except ValueError:
            continue
    return _name(text)


NUMBERS: dict[str, Any] = {"True": True, "False": False, "inf": float("inf"), "-inf": float("-inf")}
READERS: tuple[Callable[[str], Any], ...] = (int, float)


def _map(text: str) -> Map:
    target, steps, operands, ndim = _found(
        re.compile(rf"({VIEW}) = (.*) of (.*) over (\d)-d$"), text
    ).groups()
    return Map(
        int(ndim),
        tuple(
            _view(part) if part.startswith("#") else Scalar(np.dtype(part))
            for part in re.findall(rf"{VIEW}|\w+", operands)
        ),
        tuple(map(_step, steps.split("; "))),
        _view(target),
    )


def _step(text: str) -> Step:
    name, dtypes, inputs = _found(STEP, text).groups()
    numbers = tuple(map(int, inputs.split()))
    known = [np.dtype(one) for one in dtypes.split("/")]
    return Step(name, tuple(known if len(known) > 1 else known * (len(numbers) + 1)), numbers)


def _view(text: str) -> View:
    number, axes = _found(re.compile(r"#(\d+)\[(.*)\]$"), text).groups()
    return View(int(number), tuple(map(_axis, axes.split())))


def _axis(text: str) -> tuple[int, int | None] | None:
    if text == "*":
        return None
    axis, step = text.split(":")
    return int(axis), None if step == "*" else int(step)


def _name(text: str) -> str:
    return str(ast.literal_eval(text)) if text[:1] in ("'", '"') else text


def _found(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.match(text)
    if found is None:
        raise TextError(f"not a part of a nest: {text!r}")
    return found

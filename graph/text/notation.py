"""Types, indices and paths of views as text, and back; splitting text outside brackets and quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ufuse.graph.size import divide
from ufuse.graph.text.values import NAMES, TextError, dtype_text, read_size, read_value, value_text
from ufuse.graph.types import (
    ArrayType,
    GeneratorType,
    NothingType,
    NumberType,
    Span,
    TupleType,
    Type,
    c_order,
)
from ufuse.graph.typing.device_draws import CLASSES
from ufuse.graph.typing.device_launches import STREAM
from ufuse.graph.typing.device_streams import KINDS
from ufuse.graph.typing.draws import GENERATORS
from ufuse.graph.typing.infer import view_through

RESERVED = frozenset({*NAMES, "return", "graph", "new", "at", "nothing", "True", "False"})

# Types


def type_text(type_: Type) -> str:
    """A type's text: `f8[n, 3]`, `f4[n]@cuda`, `f8` (a NumPy scalar), `float`, `int n-1`, `(f8[n], int)`."""
    match type_:
        case NothingType():
            return "nothing"
        case GeneratorType(kind=kind):
            return kind
        case NumberType(kind=kind, value=value):
            return kind if value is None else f"{kind} {value}"
        case TupleType(items=items):
            return f"({', '.join(map(type_text, items))})"
    text = dtype_text(type_.dtype)
    if type_.scalar:
        return text
    text += f"[{', '.join(map(str, type_.shape))}]"
    if type_.device:
        text += f"@{type_.device}"
    if type_.steps is not None:
        text += f" steps({','.join(map(str, type_.steps))})"
    elif type_.order is None:
        text += " order(?)"
    elif type_.order != c_order(type_.ndim):
        text += f" order({','.join(map(str, type_.order))})"
    return text if type_.contiguous else f"{text} strided"


ARRAY = re.compile(
    r"([^\[\]\s]+)\[(.*)\]((?:@\w+)?)((?:\s+(?:order|steps)\([-\d,?\s]*\))?)((?:\s+strided)?)$",
    re.DOTALL,
)


def parse_type(text: str) -> Type:
    """The type of a text.

    Raises:
        TextError: it is no type.

    """
    text = text.strip()
    if text == "nothing":
        return NothingType()
    if text in (*GENERATORS, *CLASSES, STREAM, *KINDS):
        return GeneratorType(text)
    if text.startswith("("):
        return TupleType(tuple(map(parse_type, split(text[1:-1], ","))))
    kind, _, value = text.partition(" ")
    if kind in ("int", "float", "complex", "bool"):
        return NumberType(kind, read_size(value) if value else None)
    if "[" not in text:
        return ArrayType(parse_dtype(text), (), (), scalar=True)
    found = ARRAY.match(text)
    if found is None:
        raise TextError(f"not a type: {text!r}")
    shape = tuple(map(read_size, split(found[2], ",")))
    order: tuple[int, ...] | None = c_order(len(shape))
    steps: tuple[int, ...] | None = None
    numbers = tuple(map(int, re.findall(r"-?\d+", found[4])))
    if "?" in found[4]:
        order = None
    elif "steps" in found[4]:
        order, steps = (0,) if len(shape) == 1 else None, numbers
    elif found[4]:
        order = numbers
    return ArrayType(
        parse_dtype(found[1]),
        shape,
        order,
        contiguous=not found[5],
        device=found[3][1:],
        steps=steps,
    )


def parse_dtype(text: str) -> np.dtype:
    """The dtype of a text.

    Raises:
        TextError: it is no dtype.

    """
    try:
        return np.dtype(text)
    except TypeError:
        raise TextError(f"not a dtype: {text!r}") from None


# Splitting text


def split(text: str, separators: str) -> list[str]:
    """The parts between separators that stand outside brackets and quotes; empty parts are left out."""
    parts = pieces(text, separators)
    return [part.strip() for part in parts if part.strip()]


def pieces(text: str, separators: str) -> list[str]:
    """The parts between separators that stand outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            if letter == quote and text[place - 1] != "\\":
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in separators and not depth:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return parts


# Indices


def index_text(index: Sequence[Any], shape: Sequence[Any]) -> str:
    """A normalised index as Python writes one: `[1:n-1, :, new, 0]`."""
    lengths = iter(shape)
    parts = []
    for entry in index:
        if entry is None:
            parts.append("new")
            continue
        length = next(lengths)
        if not isinstance(entry, Span):
            parts.append(str(entry))
        elif entry == Span(0, length):
            parts.append(":")
        else:
            stop = entry.start + entry.length * entry.step
            step = f":{entry.step}" if entry.step != 1 else ""
            parts.append(f"{entry.start}:{stop}{step}")
    return f"[{', '.join(parts)}]"


def read_index(text: str, shape: Sequence[Any]) -> tuple[Any, ...]:
    """The index of a text, for an array of `shape`.

    Raises:
        TextError: it is no normalised index of such an array.

    """
    lengths = iter(shape)
    entries: list[Any] = []
    for part in split(text.strip()[1:-1], ","):
        if part == "new":
            entries.append(None)
            continue
        try:
            length = next(lengths)
        except StopIteration:
            raise TextError(f"too many entries: {text}") from None
        if ":" not in part:
            entries.append(read_size(part))
            continue
        first, stop, *rest = pieces(part, ":")
        step = int(rest[0]) if rest else 1
        start = read_size(first) if first.strip() else 0
        distance = (read_size(stop) if stop.strip() else length) - start
        entries.append(Span(start, divide("//", distance, step), step))
    return tuple(entries)


def path_text(path: Sequence[tuple[str, Mapping[str, Any]]], buffer: Type) -> str:
    """The views of a path, one after another, as they are written behind `at`."""
    parts = []
    for name, attributes in path:
        if name == "index":
            assert isinstance(buffer, ArrayType)
            parts.append(index_text(attributes["index"], buffer.shape))
        elif name == "diagonal":
            values = tuple(attributes[key] for key in DIAGONAL_ATTRIBUTES)
            parts.append(name + value_text(values))
        else:
            (value,) = attributes.values()
            parts.append(
                name + (f"({_word(value)})" if name in WORD_ATTRIBUTE else value_text(tuple(value)))
            )
        assert isinstance(buffer, ArrayType)
        buffer = view_through(buffer, [(name, attributes)])
    return " ".join(parts)


STEP_ATTRIBUTE = {"transpose": "axes", "reshape": "shape"}
DIAGONAL_ATTRIBUTES = ("offset", "axes", "length")
WORD_ATTRIBUTE = {"part": "of", "retype": "dtype"}


def _word(value: Any) -> str:
    return dtype_text(value) if isinstance(value, np.dtype) else str(value)


def read_step(text: str, buffer: ArrayType) -> tuple[str, dict[str, Any]]:
    """One view of a path: an index, or `transpose(…)`, `reshape(…)`, `part(real)`, `retype(i8)` or `diagonal(…)`.

    Raises:
        TextError: it is none of these.

    """
    if text.startswith("["):
        return "index", {"index": read_index(text, buffer.shape)}
    name, _, value = text.partition("(")
    if name in WORD_ATTRIBUTE:
        word = value.removesuffix(")")
        return name, {WORD_ATTRIBUTE[name]: parse_dtype(word) if name == "retype" else word}
    if name == "diagonal":
        return name, dict(zip(DIAGONAL_ATTRIBUTES, read_value("(" + value), strict=True))
    if name not in STEP_ATTRIBUTE:
        raise TextError(f"not a step of a path: {text!r}")
    return name, {STEP_ATTRIBUTE[name]: read_value("(" + value)}

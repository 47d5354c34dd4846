"""What a nest's reader knows of each value on the stack and in the locals of a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ufuse.graph.nest import F64, I1, I64, Value


class NotNativeError(Exception):
    """Why a loop is not read as a nest. `later`: in a later turn it may be, when its variables have settled."""

    def __init__(self, why: str, *, later: bool = False) -> None:
        super().__init__(why)
        self.later = later


@dataclass(frozen=True, slots=True)
class NumberKind:
    """The type of a number: `kind` is float, int or bool: Python's, or (`numpy`) float64, int64 or bool of NumPy."""

    kind: str
    numpy: bool = False


@dataclass(frozen=True, slots=True)
class ArrayKind:
    """An array of the frame, by the slot that holds it."""

    slot: int


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is computed."""

    type: NumberKind
    value: Value


@dataclass(frozen=True, slots=True)
class Known:
    """An object known while reading: a constant of the code, or a guarded global."""

    value: Any


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the frame (`indices` is empty), or the part of it that some leading indices leave."""

    slot: int
    indices: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class RangeOf:
    """A range that the loop makes."""

    start: Value
    stop: Value
    step: Value


@dataclass(frozen=True, slots=True)
class Turning:
    """The iterator of an inner loop, in the variables `name.next`, `name.step` and `name.left`."""

    name: str


@dataclass(frozen=True, slots=True)
class Empty:
    """The NULL of a call sequence."""


Item = Number | Known | Array | Items | RangeOf | Turning | Empty
FLOAT, INT, BOOL = NumberKind("float"), NumberKind("int"), NumberKind("bool")
NP_FLOAT, NP_INT, NP_BOOL = (NumberKind(kind, numpy=True) for kind in ("float", "int", "bool"))
EXACT: dict[type, NumberKind] = {
    float: FLOAT, int: INT, bool: BOOL, np.float64: NP_FLOAT, np.int64: NP_INT, np.bool_: NP_BOOL,
}  # fmt: skip
TYPES = {"float": F64, "int": I64, "bool": I1}


def kind_of(value: object) -> NumberKind | None:
    """The kind of a number, where a nest can compute with it."""
    found = EXACT.get(type(value))
    if found == INT and not -(2**63) <= int(value) < 2**63:  # type: ignore[call-overload]
        return None
    return found

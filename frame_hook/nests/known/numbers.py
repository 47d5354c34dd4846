"""Numbers, texts and what is known of a loop before it runs."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.kinds import (
    ArrayKind,
    EitherError,
    EitherKind,
    Listing,
    NumberKind,
)
from ufuse.graph.nest_types import Value
from ufuse.graph.records import record


@record
class ConstantKind:
    """An object known while reading; numbers that are equal may be of other types, or other zeros."""

    key: tuple[Any, ...]
    item: Known = field(compare=False)


@record
class TurnConstant(ConstantKind):
    """A number that the turn of an unrolled loop has given a local; it lies in the local's variable, too."""

    turn: str  # the loop's name


@record
class Number:
    """A number that is computed; where its type is an `EitherKind`, `tag` says whether it is NumPy's.

    `is_new`: nothing else has the object; `origin`: the slot of the local that it was loaded from; `listed`: the loop
    whose turn has given it, and the list of the program in which it is. See `identity.py`.
    """

    type: NumberKind
    value: Value
    tag: Value | None = None
    is_new: bool = field(default=False, compare=False)
    origin: int | None = field(default=None, compare=False)
    listed: Listing | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.tag is None and isinstance(self.type, EitherKind):
            raise EitherError


@record
class Complex:
    """A complex number that is computed, by its parts, which are floats."""

    type: NumberKind
    real: Value
    imag: Value


@record
class Known:
    """An object known while reading: a constant of the code, or a guarded global."""

    value: Any


@record
class Text:
    """A str from outside of the loop, as an array of its characters, or as a constant."""

    holder: ArrayKind


@record
class Character:
    """A character of a text, by its number."""

    value: Value


@record
class Empty:
    """The NULL of a call sequence."""


PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), np.generic)


def constant_kind(known: Known) -> ConstantKind:
    """The kind of an object that is known."""
    value = known.value
    if isinstance(value, PLAIN):
        exact = value if isinstance(value, int) else repr(value)  # ints may be too long for text
        return ConstantKind((type(value), exact), known)
    return ConstantKind((id(value),), known)

"""Classes of plain data, of which a trace makes thousands: immutable to the type checker.

`frozen` would have each field set by a call at run time, which takes four times as long.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[Kind]) -> type[Kind]:
    """A class of values that are equal where their fields are; they may have a hash of their own."""
    return dataclass(slots=True, unsafe_hash="__hash__" not in vars(kind))(kind)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def individual(kind: type[Kind]) -> type[Kind]:
    """A class of values that are compared by identity."""
    return dataclass(slots=True, eq=False)(kind)

"""Lists of objects of one class that a loop is given: what is known of each, and which lists are some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.known.kinds import kind_of
from ufuse.frame_hook.objects.classes import (
    HEAP_TYPE,
    mro,
)
from ufuse.frame_hook.trace.symbols import Source

FIRST_COLUMN = 1 << 20  # columns are numbered from here on, as if they were registers


FEWEST_OF_TUPLE = 5  # items: those of a shorter tuple are objects for themselves


MOST_ITEMS = 16  # of tuples in a list


@dataclass(slots=True)
class ObjectList:
    """A list or tuple of objects; `name` is that of its slot.

    `columns`: for each attribute that is read the number of its column; `fields`: of those that are fields of named
    tuples, the places; `lacked`: attributes of the class that no item has itself; `nothing`: those that are None in
    all; `marks`: of those that are bound to new arrays the column that says where. `is_apart`: its items change or are
    compared, so that none has another name.
    """

    source: Source
    name: str
    value: Sequence[Any]
    columns: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    lacked: set[str] = field(default_factory=set)
    nothing: set[str] = field(default_factory=set)
    marks: dict[str, int] = field(default_factory=dict)
    is_apart: bool = False

    @property
    def width(self) -> int:
        """How many items each has, where they are plain tuples; 0: they are none."""
        return len(self.value[0]) if self.kind is tuple else 0

    @property
    def kind(self) -> type:
        """The class of all items."""
        return type(self.value[0])


def is_of_objects(value: object) -> bool:
    """Whether the first item of a list or tuple is an object of a class in Python, or a tuple of several types."""
    if type(value) is tuple and len(value) < FEWEST_OF_TUPLE:
        return False
    if not isinstance(value, list | tuple) or not value:
        return False
    return _is_mixed(value[0]) or is_object(type(value[0]))


def _is_mixed(value: object) -> bool:
    """Whether something is a tuple of numbers of several types, or of arrays; one of numbers of a type is a row."""
    if type(value) is not tuple or not 1 <= len(value) <= MOST_ITEMS:
        return False
    kinds = {kind_of(one) or type(one) for one in value}
    return len(kinds) > 1 or np.ndarray in kinds


def are_as_long(value: Sequence[Any]) -> bool:
    """Whether the items of a list, if the first one is a plain tuple, are all tuples of as many items."""
    if not value or type(value[0]) is not tuple:
        return True
    return all(type(one) is tuple and len(one) == len(value[0]) for one in value)


def is_object(kind: type) -> bool:
    """Whether objects of a class have no content besides attributes; named tuples have the fields, which are some."""
    if kind is tuple:
        return False
    return all(one in (object, tuple) or bool(one.__flags__ & HEAP_TYPE) for one in mro(kind))

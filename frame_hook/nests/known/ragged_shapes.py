"""What lists of lists of several lengths hold: numbers, or tuples of them, all alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ufuse.frame_hook.nests.known.kinds import FLOAT, INT, NumberKind, common_item_kind, kind_of
from ufuse.graph.records import record

ORDERED, SETS = frozenset((list, tuple)), frozenset((set, frozenset))
MOST_IN_ITEM = 8  # as in C


@record
class Shape:
    """What all items of some lists are: numbers, or tuples of so many."""

    columns: tuple[NumberKind, ...]
    has_tuples: bool
    has_sets: bool


def shape_of(rows: Collection[object]) -> Shape | None:
    """What the items of some lists, tuples or sets are; None: they are not all alike, or no such."""
    kinds = {*map(type, rows)}
    if not kinds or not (kinds <= ORDERED or kinds <= SETS):
        return None
    known = [row for row in rows if isinstance(row, list | tuple | set | frozenset)]
    found = {_item_shape(item) for row in known for item in row}
    (one,) = found if len(found) == 1 else (None,)
    if one is None:
        return None
    columns, has_tuples = one
    return Shape(columns, has_tuples, has_sets=kinds <= SETS)


def _item_shape(item: object) -> tuple[tuple[NumberKind, ...], bool] | None:
    parts = item if type(item) is tuple else (item,)
    columns = tuple(map(kind_of, parts))
    if not 1 <= len(columns) <= MOST_IN_ITEM or any(one not in (INT, FLOAT) for one in columns):
        return None
    return tuple(one for one in columns if one is not None), type(item) is tuple


def is_of_lists(value: Sequence[object]) -> bool:
    """Whether the first item of a list or tuple is a list or tuple."""
    return bool(value) and type(value[0]) in (list, tuple)


def common_kind(value: Sequence[object]) -> NumberKind | str:
    """The kind of all numbers in a list or tuple of lists or tuples; or why there is none."""
    first, *rest = value
    assert isinstance(first, list | tuple)
    if any(type(one) is not type(first) for one in rest):
        return "is a list of what are not all lists, or not all tuples"
    rows = [one for one in value if isinstance(one, list | tuple)]
    if any(len(one) != len(first) for one in rows):
        return "is a list of lists of several lengths"
    kind = common_item_kind(first)
    if kind is None or any(common_item_kind(one) != kind for one in rows):
        return "is a list of lists whose items are not numbers of one type"
    return kind

"""What lists of lists of several lengths hold: numbers, or tuples of them, all alike."""

from __future__ import annotations

from collections.abc import Collection

from ufuse.frame_hook.nests.values import FLOAT, INT, NumberKind, kind_of
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

"""Which rows of the arrays that a nest writes its turns can reach, so that a chunk of turns saves no others."""

from __future__ import annotations

from collections.abc import Mapping

from ufuse.backends.numpy.llvm.nest_independence import Turn
from ufuse.graph.nest import Nest, RangeSlot
from ufuse.graph.records import record


@record
class WrittenRows:
    """What a turn may write of an array: along an axis from the place of an iterator and `least` to it and `most`.

    Where that is negative, an index is counted from the end: then a turn may write any.
    """

    array: int
    axis: int
    iterator: int  # the number of its slot
    least: int
    most: int


def written_rows(nest: Nest, turn: Turn | None) -> tuple[WrittenRows, ...]:
    """The rows of arrays that are written, for those of which they are known."""
    written = [number for number, one in enumerate(nest.arrays) if one.is_written and not one.items]
    iterators = {
        slot.name: number
        for number, slot in enumerate(nest.slots)
        if isinstance(slot, RangeSlot) and slot.kind != "once"
    }
    if (
        turn is None
        or not written
        or not iterators
        or any(one.is_rebound for one in nest.arrays)
        or not turn.advances(iterators)
    ):
        return ()
    found = (_rows_of(array, turn, iterators) for array in written)
    return tuple(rows for rows in found if rows is not None)


def _rows_of(array: int, turn: Turn, iterators: Mapping[str, int]) -> WrittenRows | None:
    """The rows of one array: all that is stored is along one axis near the place of one iterator."""
    stores = turn.stores_of(array, iterators)
    ways = [{(axis, iterator) for axis, iterator, _ in each} for each in stores]
    common = set.intersection(*ways) if ways else set()
    if not common:
        return None
    way = min(common)
    more = [each for store in stores for *at, each in store if tuple(at) == way]
    return WrittenRows(array, *way, min(more), max(more))

"""`list.insert`, `list.pop(place)` and functions of `bisect`: each is read as if it were written in Python.

They compare in the order in which CPython does. Items behind a place are moved one by one.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

from ufuse.frame_hook.nests.calls import idioms
from ufuse.frame_hook.nests.known.arrays import Numbers
from ufuse.frame_hook.nests.known.containers import MadeList, MadeRows
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.numbers import Known
from ufuse.frame_hook.nests.known.values import Item, Listed
from ufuse.frame_hook.nests.reading.reader import Reader

Search = Callable[[Any, Any], int]
MADE = Listed, MadeList, MadeRows


# What stands in the place of calls ----------------------------------------------------------------------------------


def _inserted(items: list[Any], place: int, item: Any) -> None:
    last = len(items)
    if place < 0:
        place = max(0, place + last)
    items.append(item)
    while last > place:
        items[last] = items[last - 1]
        last -= 1
    if place < len(items):
        items[place] = item


def _taken(items: list[Any], place: int) -> Any:
    if place < 0:
        place += len(items)
    if place < 0:
        raise IndexError
    item = items[place]
    while place < len(items) - 1:
        items[place] = items[place + 1]
        place += 1
    items.pop()
    return item


def _left_of(items: Sequence[Any], item: Any) -> int:
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


def _right_of(items: Sequence[Any], item: Any) -> int:
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) >> 1
        if item < items[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _put(search: Search, insert: Callable[..., None], items: list[Any], item: Any) -> None:
    insert(items, search(items, item), item)


# Calls --------------------------------------------------------------------------------------------------------------

INSERTIONS = bisect.insort_left, bisect.insort_right
CALLS: dict[Any, Search] = {
    bisect.bisect_left: _left_of,
    bisect.bisect_right: _right_of,
    bisect.insort_left: _left_of,
    bisect.insort_right: _right_of,
}
NAMES = frozenset(("insert", "insort", "insort_left", "insort_right"))


def is_method(name: str, arguments: Sequence[Item]) -> bool:
    """Whether a method of a list is read here."""
    return name == "insert" or (name == "pop" and bool(arguments) and arguments[0] != Known(-1))


def called_method(
    reader: Reader, owner: Item, name: str, arguments: list[Item], keywords: dict[str, Item]
) -> None:
    """Read on in what stands in the place of a method of a list that a nest makes."""
    if keywords or len(arguments) != (2 if name == "insert" else 1):
        raise NotNativeError(f"the method {name} of such a list is not compiled yet")
    idioms.enter(reader, _inserted if name == "insert" else _taken, owner, *arguments)


def enter(reader: Reader, function: Any, arguments: Sequence[Item]) -> None:
    """Read on in what stands in the place of a call.

    Raises:
        NotNativeError: it is of another list, or has other arguments.

    """
    search = CALLS[function]
    if len(arguments) != 2:
        raise NotNativeError(f"calls of {function.__name__} with other arguments")
    if function in INSERTIONS and isinstance(arguments[0], MADE):
        parts = (idioms.known(reader, one) for one in (search, _inserted))
        idioms.enter(reader, _put, *parts, *arguments)
    elif function not in INSERTIONS and isinstance(arguments[0], (*MADE, Numbers)):
        idioms.enter(reader, search, *arguments)
    else:
        raise NotNativeError(f"calls of {function.__name__} with such a list are not compiled yet")

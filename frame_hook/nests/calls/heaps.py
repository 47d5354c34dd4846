"""Functions of `heapq`, of lists that a nest makes: each is read as if it were written in Python.

They compare and move items in the order in which CPython does, so that the lists are the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from ufuse.frame_hook.nests.calls import idioms
from ufuse.frame_hook.nests.known.containers import MadeList, MadeRows
from ufuse.frame_hook.nests.known.kinds import NotNativeError
from ufuse.frame_hook.nests.known.values import Item, Listed
from ufuse.frame_hook.nests.reading.reader import Reader

Sift = Callable[..., None]


# What stands in the place of calls ----------------------------------------------------------------------------------


def _sifted_up(heap: list[Any], start: int, place: int) -> None:
    item = heap[place]
    while place > start:
        above = (place - 1) >> 1
        parent = heap[above]
        if item < parent:
            heap[place] = parent
            place = above
        else:
            break
    heap[place] = item


def _sifted_down(up: Sift, heap: list[Any], start: int) -> None:
    count, place = len(heap), start
    item = heap[place]
    while place < count >> 1:
        below = 2 * place + 1
        if below + 1 < count:
            if heap[below] < heap[below + 1]:
                pass
            else:
                below += 1
        heap[place] = heap[below]
        place = below
    heap[place] = item
    up(heap, start, place)


def _pushed(up: Sift, _: Sift, heap: list[Any], item: Any) -> None:
    heap.append(item)
    up(heap, 0, len(heap) - 1)


def _popped(up: Sift, down: Sift, heap: list[Any]) -> Any:
    item = heap.pop()
    if len(heap) > 0:
        last = item
        item = heap[0]
        heap[0] = last
        down(up, heap, 0)
    return item


def _replaced(up: Sift, down: Sift, heap: list[Any], item: Any) -> Any:
    least = heap[0]
    heap[0] = item
    down(up, heap, 0)
    return least


def _pushed_and_popped(up: Sift, down: Sift, heap: list[Any], item: Any) -> Any:
    if len(heap) > 0:
        least = heap[0]
        if least < item:
            heap[0] = item
            down(up, heap, 0)
            item = least
    return item


def _arranged(up: Sift, down: Sift, heap: list[Any]) -> None:
    for place in reversed(range(len(heap) >> 1)):
        down(up, heap, place)


# Calls --------------------------------------------------------------------------------------------------------------

CALLS: dict[Any, Callable[..., Any]] = {
    heapq.heappush: _pushed,
    heapq.heappop: _popped,
    heapq.heapreplace: _replaced,
    heapq.heappushpop: _pushed_and_popped,
    heapq.heapify: _arranged,
}
NAMES = frozenset(one.__name__ for one in CALLS)


def enter(reader: Reader, function: Any, arguments: Sequence[Item]) -> None:
    """Read on in what stands in the place of a call.

    Raises:
        NotNativeError: it is of another list, or has other arguments.

    """
    if not arguments or not isinstance(arguments[0], Listed | MadeList | MadeRows):
        raise NotNativeError("a list used as a heap that the call has not made is not compiled yet")
    body = CALLS[function]
    if len(arguments) != body.__code__.co_argcount - 2:
        raise NotNativeError(f"calls of {function.__name__} with other arguments")
    sifts = (idioms.known(reader, one) for one in (_sifted_up, _sifted_down))
    idioms.enter(reader, body, *sifts, *arguments)

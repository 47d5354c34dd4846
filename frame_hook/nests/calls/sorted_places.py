"""`np.searchsorted` of a number: it is read as if it were written in Python, with the comparisons of NumPy's.

NumPy's versions halve intervals in two ways, which find other places in an array that is not sorted. Which way it goes
is tried before it is relied on. A NaN is larger than all other numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ufuse.frame_hook.nests.arrays import elementwise, views
from ufuse.frame_hook.nests.calls import idioms
from ufuse.frame_hook.nests.known.arrays import Array, Lazy, Part
from ufuse.frame_hook.nests.known.kinds import FLOAT, INT, NotNativeError, NumberKind
from ufuse.frame_hook.nests.known.numbers import Known, Number
from ufuse.frame_hook.nests.known.values import Item
from ufuse.frame_hook.nests.numbers import conversions
from ufuse.frame_hook.nests.reading.reader import Reader

as_numpy = idioms.RULES["as_numpy"]
ARRAYS = Array | Part | Lazy
WHOLE = NumberKind(INT.kind, numpy=True)
SIDES = ("left", "right")
Search = Callable[[Any, Any], Any]
FUNCTIONS = (np.searchsorted,)
METHODS = frozenset({"searchsorted"})


# What stands in the place of calls ----------------------------------------------------------------------------------


def _left_of(items: Sequence[Any], item: Any) -> Any:
    low, high, is_nan = 0, len(items), item != item  # noqa: PLR0124
    while low < high:
        middle = (low + high) >> 1
        other = items[middle]
        if other < item or (is_nan and other == other):  # noqa: PLR0124
            low = middle + 1
        else:
            high = middle
    return as_numpy(low)


def _right_of(items: Sequence[Any], item: Any) -> Any:
    low, high, is_nan = 0, len(items), item != item  # noqa: PLR0124
    while low < high:
        middle = (low + high) >> 1
        other = items[middle]
        if item < other or (other != other and not is_nan):  # noqa: PLR0124
            high = middle
        else:
            low = middle + 1
    return as_numpy(low)


def _left_by_halves(items: Sequence[Any], item: Any) -> Any:
    low, length, is_nan = 0, len(items), item != item  # noqa: PLR0124
    while length > 0:
        half = length >> 1
        other = items[low + half]
        if other < item or (is_nan and other == other):  # noqa: PLR0124
            low += half if length > 1 else 1
        length = length - half if length > 1 else 0
    return as_numpy(low)


def _right_by_halves(items: Sequence[Any], item: Any) -> Any:
    low, length, is_nan = 0, len(items), item != item  # noqa: PLR0124
    while length > 0:
        half = length >> 1
        other = items[low + half]
        if not (item < other or (other != other and not is_nan)):  # noqa: PLR0124
            low += half if length > 1 else 1
        length = length - half if length > 1 else 0
    return as_numpy(low)


WAYS = ((_left_of, _right_of), (_left_by_halves, _right_by_halves))


@functools.cache
def _way() -> tuple[Search, Search] | None:
    """The functions that go NumPy's way, also in arrays that are not sorted; None where none does."""
    tries: list[Any] = [_drawn(length) for length in range(40)]
    for way in WAYS:
        plain = [FunctionType(one.__code__, {"as_numpy": int}) for one in way]
        if all(
            items.searchsorted(item, side) == search(items, item)
            for items in tries
            for item in (*items, 0.5, math.nan)
            for side, search in zip(SIDES, plain, strict=True)
        ):
            return way
    return None


def _drawn(length: int) -> np.ndarray:
    """Numbers in no order, some of them twice, and a NaN."""
    items = np.arange(length) * 37 % 41 // 2 / 20.0
    items[length // 2 :: 17] = math.nan
    return items


# Calls --------------------------------------------------------------------------------------------------------------


def is_search(function: Any, arguments: Sequence[Item]) -> bool:
    """Whether a call is read here."""
    return function in FUNCTIONS and len(arguments) >= 2 and isinstance(arguments[0], ARRAYS)


def enter(reader: Reader, arguments: Sequence[Item], keywords: Mapping[str, Item]) -> None:
    """Read on in what stands in the place of a call.

    Raises:
        NotNativeError: it is of several numbers, or of numbers of other types.

    """
    items, item, *others = arguments
    given = {**dict(zip(("side",), others, strict=False)), **keywords}
    side = given.pop("side", Known(SIDES[0]))
    if given or len(others) > 1 or not isinstance(side, Known) or side.value not in SIDES:
        raise NotNativeError("calls of searchsorted with such arguments are not compiled yet")
    if isinstance(items, Lazy):
        items = elementwise.computed(reader, items)
    assert isinstance(items, Array | Part)
    part = views.part(reader, items)
    if isinstance(item, ARRAYS) or len(part.lengths) != 1:
        raise NotNativeError("calls of searchsorted for several numbers are not compiled yet")
    way = _way()
    if way is None:
        raise NotNativeError("searchsorted of this NumPy goes a way that is not known")
    function = way[SIDES.index(side.value)]
    idioms.enter(reader, function, items, _converted(reader, part.dtype, item))


def _converted(reader: Reader, dtype: np.dtype, item: Item) -> Number:
    """A number as NumPy compares it with elements."""
    one = conversions.number(reader.out, item)
    if dtype == np.dtype(float) and (one.type.is_real or one.type in (INT, WHOLE)):
        return Number(FLOAT, conversions.as_f64(reader.out, one))
    if dtype == np.dtype(np.int64) and one.type in (INT, WHOLE):
        return Number(INT, conversions.as_i64(reader.out, one))
    raise NotNativeError(f"searchsorted of {one.type.dtype} in {dtype}")

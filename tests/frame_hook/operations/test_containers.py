"""Containers that the caller keeps: changed as in plain Python, and guarded for no more than was asked of them."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufuse


def appended(x: Any, kept: Any) -> Any:
    kept.append(x * 2)
    return x + 1


def extended(x: Any, kept: Any) -> Any:
    kept.extend([x, 1])
    kept.insert(0, "first")
    return x + 1


def noted(x: Any, kept: Any, key: int) -> Any:
    kept[key] = x * 2
    kept["last"] = x
    return kept["last"] + 1


def cached(x: Any, kept: Any, key: Any) -> Any:
    if key not in kept:
        kept[key] = x * 3
    return kept[key] + 1


def counted(x: Any, kept: Any) -> Any:
    kept["calls"] = kept.get("calls", 0) + 1
    return x + 1


def marked(x: Any, kept: Any, key: int) -> Any:
    kept.update((key % 3, key % 5))
    kept.add("seen")
    return x + 1


def read_again(x: Any, kept: Any) -> Any:
    kept.append(x * 2)
    return kept[-1] + len(kept)


# fmt: off
GROWING: list[tuple[Callable[..., Any], Callable[[], Any], bool, int]] = [
    # program, what grows, whether it takes the number of the call, most retraces
    (appended,   list,                          False, 0),
    (appended,   lambda: deque(maxlen=5),       False, 0),
    (extended,   list,                          False, 0),
    (noted,      dict,                          True,  1),
    (counted,    dict,                          False, 2),
    (read_again, list,                          False, 13),
]
# fmt: on


@pytest.mark.parametrize(
    ("program", "made", "numbered", "most"),
    GROWING,
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_grows_is_not_looked_at(
    program: Callable[..., Any], made: Callable[[], Any], numbered: bool, most: int
) -> None:
    """A container that grows from call to call does as in plain Python, and is seldom a reason to trace again."""
    compiled = ufuse.compile(program)
    plainly, grown = made(), made()
    for number in range(20):
        more = (number,) if numbered else ()
        x = np.arange(3.0) + number
        wanted, found = program(x, plainly, *more), compiled(x, grown, *more)
        np.testing.assert_array_equal(found, wanted)
        assert repr(plainly) == repr(grown)
    assert len(compiled.retraces) <= most, compiled.retraces


def test_cache_is_asked_for_one_key() -> None:
    """`key in cache` and `cache[key]` rely on nothing else that the cache holds."""
    compiled = ufuse.compile(cached)
    cache: dict[Any, Any] = {}
    x = np.arange(3.0)
    compiled(x, cache, "a")
    compiled(x, cache, "a")
    for number in range(20):
        cache[number] = number
        np.testing.assert_array_equal(compiled(x, cache, "a"), x * 3 + 1)
    assert len(compiled.retraces) == 1
    np.testing.assert_array_equal(compiled(x, {}, "a"), x * 3 + 1)
    assert len(compiled.retraces) == 1


def test_marks_in_a_set() -> None:
    """A set of the frame takes members as in plain Python."""
    compiled = ufuse.compile(marked)
    plainly: set[Any] = set()
    grown: set[Any] = set()
    for number in range(12):
        x = np.arange(3.0) + number
        np.testing.assert_array_equal(compiled(x, grown, number), marked(x, plainly, number))
        assert list(plainly) == list(grown)


def test_one_entry_of_a_large_dict_of_a_module() -> None:
    """`sys.modules[name]` is guarded for that name, not for all the modules of the program."""

    def shifted(x: Any) -> Any:
        return x + sys.modules["math"].pi

    compiled = ufuse.compile(shifted)
    x = np.zeros(2)
    assert compiled(x).tolist() == [math.pi, math.pi]
    assert len(compiled.specialisations[0].guards) < 20
    sys.modules["tests.not_a_module"] = math
    try:
        compiled(x)
        assert compiled.stats.traces == 1
        before = sys.modules["math"]
        sys.modules["math"] = SimpleNamespace(pi=3.0)  # type: ignore[assignment]
        try:
            assert compiled(x).tolist() == [3.0, 3.0]
        finally:
            sys.modules["math"] = before
    finally:
        del sys.modules["tests.not_a_module"]

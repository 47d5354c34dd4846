"""Dicts and sets that a nest is given: what is put in as the definition has it, or nothing has happened."""

from __future__ import annotations

from collections import Counter, defaultdict
from copy import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.no_memory import called_once
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm import background
from ufuse.backends.numpy.nests import nest_object
from ufuse.graph.nest import Nest
from ufuse.graph.semantics import nest_reference
from ufuse.graph.semantics.check import GraphError
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest

# `for i in range(...): key = keys[i]; counts[key] += 1; seen.add(key)`
TEXT = """nest entered
  keys: 1-d array of int64
  counts: {container} of {of} #1 by #2 to #3 python int, written
  seen: set of {of} #4 by #5, written
  loop: the range of the loop
  .keys: 1-d array of int64, written, temporary
  .index: 1-d array of int32, written, temporary
  .values: 1-d array of int64, written, temporary
  .members: 1-d array of int64, written, temporary
  .places: 1-d array of int32, written, temporary
begin:
  %0 = get.i64 .turns
  %1 = const.i64 0
  %2 = igt.i1 %0, %1
  %3 = get.i64 loop.left
  %4 = igt.i1 %3, %1
  %5 = and.i1 %2, %4
  branch %5, body, leave
leave:
  leave
body:
  %10 = get.i64 .turns
  %11 = const.i64 1
  %12 = sub.i64 %10, %11
  set .turns, %12
  %13 = get.i64 loop.left
  %14 = sub.i64 %13, %11
  set loop.left, %14
  %15 = get.i64 loop.next
  %16 = get.i64 loop.step
  %17 = add.i64 %15, %16
  set loop.next, %17
  %18 = load.i64 0, %15
  %19 = enter.i64 1, 2, 3, %18
  %20 = add.i64 %19, %11
  %21 = load.i64 3, %20
  %22 = add.i64 %21, %11
  store 3, %20, %22
  %23 = enter.i64 4, 5, %18
  jump begin
"""
KEYS = np.concatenate([np.arange(40) * 10**6, np.arange(20) * 10**6, [-1, -(2**60), 2**62, 7, 7]])
GIVEN: list[Any] = [{}, {10**6: 2**40, 5: -1}, defaultdict(int, {7: 3}), Counter({7: 10**9})]


def entered(container: Any, of: str = "ints") -> Nest:
    """A nest that counts keys, and collects them."""
    name = "defaultdict.int" if type(container) is defaultdict else type(container).__name__
    nest = parse_nest(TEXT.format(container=name, of=of))
    check_nest(nest)
    assert str(parse_nest(str(nest))) == str(nest)
    return nest


@pytest.mark.parametrize("container", GIVEN)
def test_entries_are_put_in(container: Any) -> None:
    """In order, from call to call, whatever calls before have had; as the definition says."""
    nest = entered(container)
    made: Any = nest_object(nest)
    for keys in (KEYS[:3], KEYS, KEYS[::-1].copy(), KEYS[:0]):
        expected, members = copy(container), {-1, 8}
        for key in keys.tolist():
            expected[key] = expected.get(key, 0) + 1
            members.add(key)
        for run in (made, lambda *given: nest_reference.run(nest, given)):
            counts, seen = copy(container), {-1, 8}
            run(keys, counts, seen, iter(range(len(keys))))
            assert list(counts.items()) == list(expected.items())
            assert list(seen) == list(members)
            assert type(counts) is type(container)


def test_pairs() -> None:
    """Two ints lie in one key."""
    nest = entered({}, "pairs")
    made: Any = nest_object(nest)
    pairs = [(0, 0), (1, -1), (-(2**31), 2**31 - 1), (-5, 3), (1, -1)]
    words = np.array([(one << 32) | (two & (2**32 - 1)) for one, two in pairs])
    for run in (made, lambda *given: nest_reference.run(nest, given)):
        counts, seen = {(1, -1): 5}, {(2, 2)}
        run(words, counts, seen, iter(range(len(words))))
        assert counts == {(1, -1): 7, **dict.fromkeys([pairs[0], *pairs[2:4]], 1)}
        assert seen == {(2, 2), *pairs}


@pytest.mark.parametrize(
    ("counts", "seen"),
    [
        ({1: 2.5}, set()), ({1: True}, set()), ({"a": 1}, set()), ({True: 1}, set()), ({2**64: 1}, set()),
        ({1: 2**64}, set()), (Counter(), set()), ({}, frozenset()), ({}, {1.5}), ({}, {1: 1}), ({(1, 2): 3}, set()), ([], set()),
    ],
)  # fmt: skip
def test_what_is_not_taken(counts: Any, seen: Any) -> None:
    """Other containers, keys and values are left as they are."""
    made: Any = nest_object(entered({}))
    before = repr((counts, seen))
    assert made(KEYS, counts, seen, iter(range(len(KEYS)))) is NotImplemented
    assert repr((counts, seen)) == before


def test_no_memory() -> None:
    """Whatever allocation fails: all turns of a chunk are put in, or none."""
    testing = pytest.importorskip("_testcapi")
    background.finish()
    ended = set()
    for place in range(0, 400, 3):
        counts, seen = {10**6: 2**40}, {5}
        made = called_once(entered({}), (KEYS, {}, set(), iter(range(len(KEYS)))))
        iterator = iter(range(len(KEYS)))
        testing.set_nomemory(place, place + 1)
        try:
            made(KEYS, counts, seen, iterator)
        except MemoryError:
            pass
        finally:
            testing.remove_mem_hooks()
        done = len(KEYS) - iterator.__length_hint__()
        ended.add(done)
        expected, members = {10**6: 2**40}, {5}
        for key in KEYS[:done].tolist():
            expected[key] = expected.get(key, 0) + 1
            members.add(key)
        assert list(counts.items()) == list(expected.items())
        assert seen == members
    assert {0, len(KEYS)} <= ended


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("#1 by #2 to #3", "#1 by #2 to #4"),
        ("#1 by #2 to #3", "#0 by #2 to #3"),
        ("#1 by #2 to #3 python int", "#1 by #2 to #3 python float"),
        ("set of ints #4 by #5", "set of ints #4 by #2"),
        ("set of ints #4 by #5", "frozenset of ints #4 by #5"),
        ("set of ints #4 by #5", "dict of ints #4 by #5"),
    ],
)
def test_laws(right: str, wrong: str) -> None:
    """Each has temporaries of its own, of its own types."""
    text = str(entered({}))
    assert right in text
    with pytest.raises(GraphError, match="law 11"):
        check_nest(parse_nest(text.replace(right, wrong)))


@pytest.mark.parametrize(
    "given",
    [
        (7, 0, 1, -1, "", False, False, False),
        (1, 0, 1, 2, "", False, False, False),
        (2, 0, 1, -1, "", False, False, False),
        (2, 0, 1, 9, "int", False, False, False),
        (6, 0, 1, -1, "", False, False, True),
        (1, 1, 0, -1, "", False, False, True),
    ],
)
def test_slots_are_looked_at(given: tuple[Any, ...]) -> None:
    """A dict leads to something, a set does not, a frozenset stays what it is, and temporaries fit."""
    with pytest.raises(ValueError, match="no dict or set of a nest"):
        _tiles.Nest(
            1, None, (("keys", *given, -1, -1, False), ("range",)), (("l", 1), ("i", 1), ("l", 1))
        )

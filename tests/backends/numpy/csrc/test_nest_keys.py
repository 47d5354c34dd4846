"""Tables of keys in nests: found and entered as the definition has it, and given back as dicts and sets, or not at all."""

from __future__ import annotations

from collections import Counter, defaultdict
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

# `for key in keys: found[key] = found.get(key, 0) + 1`
TEXT = """nest counted
  keys: 1-d array of int64
  result0: array as {container}, given back
  loop: the once of the loop
  .keys: 1-d array of int64, written, temporary
  .index: 1-d array of int32, written, temporary
  .values: 1-d array of int64, written, temporary
  variables: i: i64
begin:
  %0 = get.i64 .turns
  %1 = const.i64 0
  %2 = igt.i1 %0, %1
  branch %2, first, leave
leave:
  leave
first:
  %3 = get.i64 .turns
  %4 = const.i64 1
  %5 = sub.i64 %3, %4
  set .turns, %5
  %6 = const.i64 0
  alloc 1, %6
  alloc 3, %4
  store 3, %6, %6
  set i, %6
  %7 = const.i64 0
  set loop.left, %7
  %8 = const.i64 1
  set loop.next, %8
  %9 = const.i64 1
  set result0.array, %9
{values}  jump header
header:
  %20 = get.i64 i
  %21 = dim.i64 0, 0
  %22 = ilt.i1 %20, %21
  branch %22, body, begin
body:
  %30 = get.i64 i
  %31 = load.i64 0, %30
  %32 = find.i64 1, 2, %31
  %33 = const.i64 1
  %34 = add.i64 %32, %33
  %35 = load.i64 3, %34
  %36 = add.i64 %35, %33
  %37 = enter.i64 1, 2, 3, %31
  %38 = add.i64 %37, %33
  store 3, %38, %36
  %39 = add.i64 %30, %33
  set i, %39
  jump header
"""
VALUES = "  %10 = const.i64 3\n  set result0.values, %10\n"
CONTAINERS = {
    "set of python int": lambda pairs: set(list(pairs)),  # noqa: C414  (of a dict it is made larger at once)
    "dict of numpy int to python int": dict,
    "defaultdict.int of python int to numpy int": lambda pairs: defaultdict(int, pairs),
    "Counter of python int to python int": Counter,
}


def counted(container: str) -> Nest:
    """A nest that counts how often each key comes."""
    values = VALUES if " to " in container else ""
    nest = parse_nest(TEXT.format(container=container, values=values))
    check_nest(nest)
    return nest


def expected(container: str, keys: np.ndarray) -> Any:
    """What it gives, of Python's ints."""
    found: dict[int, int] = {}
    for key in keys.tolist():
        found[key] = found.get(key, 0) + 1
    return CONTAINERS[container](found)


KEYS = [
    np.array([], np.int64),
    np.array([3, -3, 3, 0, 2**63 - 1, -(2**63), 0, 3]),
    np.arange(500) * 2**40,
    np.random.default_rng(0).integers(-50, 50, 3000),
    np.arange(3000)[::-1].copy(),
]


@pytest.mark.parametrize("container", CONTAINERS)
def test_keys_are_counted(container: str) -> None:
    """In order, from call to call, whatever calls before have had; as the definition says."""
    nest = counted(container)
    made: Any = nest_object(nest)
    for keys in (*KEYS, *KEYS):
        for found in (made(keys), nest_reference.run(nest, (keys.copy(),))):
            wanted = expected(container, keys)
            assert type(found) is type(wanted)
            assert list(found) == list(wanted)
            assert found == wanted
            assert {type(one) for one in found} <= {
                np.int64 if "numpy int to" in container else int
            }


@pytest.mark.parametrize("container", [one for one in CONTAINERS if "numpy int to" not in one])
def test_no_memory(container: str) -> None:
    """Whatever allocation fails: a call gives all, or nothing has happened; but NumPy's ints have no hash then."""
    testing = pytest.importorskip("_testcapi")
    background.finish()
    keys, given = KEYS[1], set()
    wanted = expected(container, keys)
    nests = [called_once(counted(container), (keys,)) for _ in range(60)]
    for place, made in enumerate(nests):
        found: Any = None
        testing.set_nomemory(place, place + 1)
        try:
            found = made(keys)
        except MemoryError:
            pass
        finally:
            testing.remove_mem_hooks()
        given.add(found is None or found is NotImplemented)
        assert found is None or found is NotImplemented or found == wanted
    assert given == {False, True}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("find.i64 1, 3, %31", "find.i64 1, 2, %31"),
        ("find.i64 0, 2, %31", "find.i64 1, 2, %31"),
        ("find.i64 1, 2, 3, %31", "find.i64 1, 2, %31"),
        ("enter.i64 1, 2, 1, %31", "enter.i64 1, 2, 3, %31"),
        ("enter.i64 1, 2, 9, %31", "enter.i64 1, 2, 3, %31"),
    ],
)
def test_tables_are_checked(wrong: str, right: str) -> None:
    """Keys and their index are temporaries of their own."""
    text = str(counted("set of python int"))
    assert right in text
    with pytest.raises(GraphError, match="law 5"):
        check_nest(parse_nest(text.replace(right, wrong)))


@pytest.mark.parametrize(
    "result",
    [
        ("int", False, 1, "int", False),
        ("int", False, 2, "", False),
        ("float", False, 1, "", False),
        ("int", False, 6, "", False),
        ("int", False, 7, "int", False),
        ("int", False, -1, "int", False),
    ],
)
def test_results_are_looked_at(result: tuple[Any, ...]) -> None:
    """Keys are ints, and lead to something but in a set."""
    with pytest.raises(ValueError, match="no result of a nest"):
        _tiles.Nest(1, None, (("result", ("array",), *result), ("once",)), (("l", 1),))

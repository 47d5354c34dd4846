"""Keys of dicts are the objects that a call brings, not equal ones of the call that was traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse

X = np.arange(3.0)


def fresh(text: str) -> str:
    """An equal text that is another object."""
    return "".join([*text])


def stored(x: Any, name: Any) -> Any:
    found = {}
    found[name] = x * 2
    return found


def displayed(x: Any, name: Any) -> Any:
    return {name: x * 2, "sum": x.sum()}


def by_default(x: Any, name: Any) -> Any:
    found: dict[Any, Any] = {}
    found.setdefault(name, []).append(x * 2)
    return found


def compared_before(x: Any, name: Any) -> Any:
    if name in ("name1", 1.25, 3000):
        x = x * 2
    return {name: x}


def comprehended(x: Any, name: Any) -> Any:
    return {one: x * turn for turn, one in enumerate((name, "other"))}


@pytest.mark.parametrize("function", [stored, displayed, by_default, compared_before, comprehended])
@pytest.mark.parametrize(
    "make", [lambda: fresh("name1"), lambda: float("1.25"), lambda: int("3000")]
)
def test_keys_are_what_a_call_brings(function: Callable[..., Any], make: Callable[[], Any]) -> None:
    """A dict that a function makes has the caller's own object as its key."""
    compiled = ufuse.compile(function)
    for _ in range(4):
        key = make()
        found = compiled(X, key)
        assert next(iter(found)) is key
        assert list(found) == list(function(X, key))


def test_keys_of_dicts_that_are_given() -> None:
    """What is stored into an argument has the caller's own key, too; one that is there keeps its own."""

    def counted(x: Any, given: dict[Any, Any], row: dict[str, Any]) -> Any:
        given[row["name"]] = x * 2
        given.setdefault(row["place"], 5)
        return x.sum()

    compiled = ufuse.compile(counted)
    there = fresh("there")
    for turn in range(4):
        row = {"name": fresh("name"), "place": fresh("place")}
        given: dict[Any, Any] = {} if turn % 2 else {there: 1}
        compiled(X, given, row)
        keys = list(given)
        assert keys[-2] is row["name"]
        assert keys[-1] is row["place"]
        assert turn % 2 or keys[0] is there
    row = {"name": fresh("there"), "place": fresh("place")}
    compiled(X, given := {there: 1}, row)
    assert next(iter(given)) is there


def test_an_object_of_the_code_and_of_the_caller() -> None:
    """Where one text is both, each key is equal to what it is to be."""

    def both(x: Any, name: Any) -> Any:
        return {"one": x * 2, name: x}, {name: 1}

    compiled = ufuse.compile(both)
    for key in ("one", "one", fresh("one"), "two"):
        first, second = compiled(X, key)
        wanted = both(X, key)
        assert (list(first), list(second)) == (list(wanted[0]), list(wanted[1]))

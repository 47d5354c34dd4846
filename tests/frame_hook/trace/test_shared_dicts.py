"""Objects that have their attributes in one dict: what is set on one is read of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.comparing.compare import check_same

X = np.arange(4.0)


class Plain:
    """An object with a number."""

    def __init__(self, level: float = 1.0) -> None:
        self.level = level


class Other(Plain):
    """Of another class."""


class Checked(Plain):
    """Sets its attributes itself."""

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


class Borg:
    """All of them are one."""

    shared: dict[str, Any] = {}  # noqa: RUF012 - of all

    def __init__(self) -> None:
        self.__dict__ = self.shared


def both(one: Any, other: Any, x: Any) -> Any:
    """Set one's attribute, and read the other's."""
    one.level += 1
    y = x * other.level
    other.level *= 2
    return y + one.level


def loop(one: Any, other: Any, turns: int) -> float:
    """The same in a loop."""
    total = 0.0
    for _ in range(turns):
        one.level += 0.5
        other.level *= 0.75
        total += one.level - other.level
    return total


def pair(kind: type, kind_of_other: type, *, one_dict: bool) -> tuple[Any, Any]:
    """Two objects, with a dict each or with one."""
    one, other = kind(1.0), kind_of_other(3.0)
    if one_dict:
        other.__dict__ = one.__dict__
    return one, other


@pytest.mark.parametrize(
    "kinds", [(Plain, Plain), (Plain, Other), (Checked, Checked), (Other, Checked)]
)
@pytest.mark.parametrize("first", [True, False])
def test_an_entry_is_for_dicts_as_they_were(kinds: tuple[type, type], first: bool) -> None:
    """Whether objects with one dict come first, or behind others for which there is an entry."""
    compiled = ufuse.compile(both)
    for one_dict in (first, not first, first):
        check_same(
            both,
            compiled,
            lambda one_dict=one_dict: (*pair(*kinds, one_dict=one_dict), X),  # type: ignore[misc]
            copies=False,
            reset=lambda: None,
        )
        assert (
            compiled(*pair(*kinds, one_dict=not one_dict), X).tolist()
            == both(*pair(*kinds, one_dict=not one_dict), X).tolist()
        )


@pytest.mark.parametrize("first", [True, False])
def test_loops(first: bool) -> None:
    """Native code for two dicts is not for one."""
    compiled = ufuse.compile(loop)
    for one_dict in (first, not first, first, not first):
        for kind in (Plain, Checked):
            made, plain = (pair(kind, kind, one_dict=one_dict) for _ in range(2))
            assert compiled(*made, 2000) == loop(*plain, 2000)
            assert [one.level for one in made] == [one.level for one in plain]


def test_objects_that_are_all_one() -> None:
    """The Borg pattern."""
    compiled = ufuse.compile(both)
    for function in (both, compiled, compiled, compiled):
        Borg.shared.clear()
        one, other = Borg(), Borg()
        one.level = 2.0  # type: ignore[attr-defined]
        assert function(one, other, X).tolist() == [6.0, 9.0, 12.0, 15.0]
        assert Borg.shared == {"level": 6.0}

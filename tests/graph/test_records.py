"""Classes of plain data act as those of `dataclass`."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import MISSING, field, fields, replace

import pytest

from ufuse.graph.records import individual, record


@record
class Point:
    """Two numbers, a name that does not count, and what a factory makes."""

    x: int
    y: float = 0.5
    name: str = field(default="", compare=False)
    seen: tuple[int, ...] = field(default_factory=tuple, repr=False)


@record
class Further(Point):
    """A record of a record."""

    z: int = 3

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.z < 0:
            raise ValueError("below")


@record
class Named:
    """A record with a hash and a text of its own."""

    name: str

    def __hash__(self) -> int:
        """One for all."""
        return 7

    def __repr__(self) -> str:
        """The name."""
        return self.name


@individual
class Place:
    """Compared by identity."""

    items: list[int] = field(default_factory=list)


@record
class Empty:
    """Nothing."""


def test_records_are_equal_by_their_fields() -> None:
    """Fields that are compared decide, between values of one class."""
    assert Point(1) == Point(1, 0.5, "one")
    assert hash(Point(1)) == hash(Point(1, name="one")) == hash((1, 0.5, ()))
    assert Point(1) != Point(2)
    assert Point(1) != Further(1)
    assert Point(1).__eq__(1) is NotImplemented
    assert Empty() == Empty()
    assert len({Empty(), Empty()}) == 1
    nan = float("nan")
    assert Point(1, nan) == Point(1, nan)  # the same object


def test_individuals_are_equal_to_themselves() -> None:
    """Identity decides, and factories are asked at each call."""
    one, other = Place(), Place()
    assert one != other
    assert len({one, other, one}) == 2
    one.items.append(1)
    assert other.items == []


def test_fields_have_places_and_names() -> None:
    """Arguments may be given by name; those left out have defaults; others are refused."""
    assert Further(1, z=2) == Further(1, 0.5, "", (), 2)
    assert [one.name for one in fields(Further)] == ["x", "y", "name", "seen", "z"]
    assert list(inspect.signature(Further).parameters) == ["x", "y", "name", "seen", "z"]
    assert Further.__match_args__ == ("x", "y", "name", "seen", "z")
    assert fields(Point)[3].default is MISSING
    with pytest.raises(
        TypeError, match=r"__init__\(\) missing 1 required positional argument: 'x'"
    ):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        Point(1, w=2)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="below"):
        Further(1, z=-1)


def test_what_a_class_defines_stays() -> None:
    """Its own hash and text are kept."""
    assert hash(Named("a")) == 7
    assert repr(Named("a")) == "a"
    assert Named("a") == Named("a")


def test_records_are_shown_copied_and_pickled() -> None:
    """As dataclasses are."""
    point = Point(1, name="p")
    assert repr(point) == "Point(x=1, y=0.5, name='p')"
    assert repr(Place([1])) == "Place(items=[1])"
    assert replace(point, x=2) == Point(2)
    assert copy.copy(point) == copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point
    assert not hasattr(point, "__dict__")

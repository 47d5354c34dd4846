"""`isinstance` and `issubclass` of abstract classes: what `abc` asks, in its order, and what it remembers."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, ANN206
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import abc
from collections.abc import Callable, Sized
from typing import Any

import numpy as np
import pytest

import ufuse

SAID: list[tuple[str, str]] = []


def hooked(answer: Any) -> tuple[type, type, type]:
    """An abstract class whose hook notes what it is asked and gives `answer`; one that inherits from it; another."""

    class Abstract(abc.ABC):  # noqa: B024  what counts is its metaclass
        @classmethod
        def __subclasshook__(cls, other):
            SAID.append((cls.__name__, other.__name__))
            return answer

    class Derived(Abstract):
        pass

    class Unrelated:
        pass

    return Abstract, Derived, Unrelated


def of_instances(x, wanted, derived, other):
    y = x + 1
    return y.sum(), isinstance(derived(), wanted), isinstance(other(), wanted)


def of_classes(x, wanted, derived, other):
    y = x + 1
    return y.sum(), issubclass(derived, wanted), issubclass(other, wanted)


def of_itself(x, wanted, derived, _):
    return (x + 1).sum(), issubclass(wanted, wanted), isinstance(derived(), derived)


def by_pattern(x, wanted, derived, other):
    found = []
    for one in derived(), other():
        match one:
            case wanted():
                found.append("wanted")
            case derived():
                found.append("derived")
            case other():
                found.append("other")
    return (x * 2).sum(), found


def of_an_array(x, wanted, _derived, _other):
    return (x + 1).sum(), isinstance(x, wanted)


FUNCTIONS = (of_instances, of_classes, of_itself, by_pattern, of_an_array)


@pytest.mark.parametrize("answer", [True, False, NotImplemented])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_hook_is_asked_as_eager_asks_it(function: Callable[..., Any], answer: Any) -> None:
    """The hook's answer counts before the bases, and it is asked as often and in the same order, when traced again too."""
    heard = []
    for one in (function, ufuse.compile(function)):
        SAID.clear()
        classes, again = hooked(answer), hooked(answer)
        results = [one(np.ones(3), *classes) for _ in range(3)]
        results += [one(np.ones((2, 2)), *classes) for _ in range(2)]
        results += [one(np.ones(3), *again) for _ in range(2)]
        heard.append((results, list(SAID)))
    assert heard[0] == heard[1]


def test_what_is_registered_later_counts() -> None:
    """A class that was refused and is registered afterwards passes."""
    wanted, _, other = hooked(NotImplemented)
    compiled = ufuse.compile(of_classes)
    for _ in range(2):
        assert compiled(np.ones(2), wanted, other, int)[1:] == (False, False)
    wanted.register(other)  # type: ignore[attr-defined]
    for _ in range(2):
        assert compiled(np.ones(2), wanted, other, int)[1:] == (True, False)


def test_answers_that_are_remembered_are_part_of_a_graph() -> None:
    """Where `abc` remembers an answer it asks no hook, and no graph ends."""
    classes = hooked(NotImplemented)
    expected = of_classes(np.ones(2), *classes)
    compiled = ufuse.compile(of_classes, fullgraph=True)
    SAID.clear()
    for _ in range(2):
        assert compiled(np.ones(2), *classes) == expected
    assert SAID == []


def test_hooks_below_are_asked_only_when_it_comes_to_them() -> None:
    """A class inherits from an abstract class: hooks of other classes below that one are not asked."""

    class Shape(abc.ABC):  # noqa: B024
        pass

    class Hooked(Shape):
        @classmethod
        def __subclasshook__(cls, other):
            SAID.append((cls.__name__, other.__name__))
            return NotImplemented

    class Square(Shape):
        pass

    def function(x, kind):
        return (x + 1).sum(), issubclass(kind, Shape)

    SAID.clear()
    compiled = ufuse.compile(function, fullgraph=True)
    for _ in range(2):
        assert compiled(np.ones(2), Square) == (4.0, True)
    assert SAID == []
    with pytest.raises(ufuse.GraphBreakError, match="Hooked, which has a __subclasshook__"):
        compiled(np.ones(2), int)
    assert SAID == []


def test_registered_classes_with_hooks_are_not_asked_while_tracing() -> None:
    """The hook of a class that was registered is the user's code: the graph ends before it, and it runs once."""

    class Shape(abc.ABC):  # noqa: B024
        pass

    def function(x, kind):
        return (x + 1).sum(), issubclass(kind, Shape)

    classes = hooked(NotImplemented)  # a register keeps nothing alive
    Shape.register(classes[0])
    heard = []
    for one, kind in (
        (function, type("First", (), {})),
        (ufuse.compile(function), type("First", (), {})),
    ):
        SAID.clear()
        heard.append(([one(np.ones(2), kind) for _ in range(3)], list(SAID)))
    assert heard[0] == heard[1]


def test_own_hooks_are_part_of_a_graph() -> None:
    """What `collections.abc` asks of classes is known while tracing, unless the function has just changed a class."""

    class Box:
        pass

    def function(x, box):
        return (x + 1).sum(), isinstance(box, Sized), isinstance(x, Sized)

    compiled = ufuse.compile(function, fullgraph=True)
    for _ in range(2):
        assert compiled(np.ones(2), Box()) == (4.0, False, True)

    def after_a_change(x, kind):
        kind.__len__ = lambda _: 3
        return (x + 1).sum(), issubclass(kind, Sized)

    compiled = ufuse.compile(after_a_change)
    for _ in range(2):
        assert compiled(np.ones(2), type("Fresh", (), {})) == (4.0, True)


def test_instances_are_made_without_asking_a_hook() -> None:
    """Making an instance asks no hook of its class, nor do operators that compare classes."""
    _, derived, _ = hooked(False)

    def function(x, kind):
        one, two = kind(), kind()
        return (x + 1).sum(), one == two, one != two

    SAID.clear()
    compiled = ufuse.compile(function)
    for _ in range(2):
        assert compiled(np.ones(2), derived) == (4.0, False, True)
    assert SAID == []


def test_metaclass_that_changes_what_abc_does_is_left_to_python() -> None:
    """A class that has a `__subclasscheck__` or hashing of its own is asked by plain Python, as often as eager asks."""

    class Meta(abc.ABCMeta):
        def __hash__(cls) -> int:
            SAID.append((cls.__name__, "hash"))
            return 7

    class Odd(metaclass=Meta):
        pass

    class Asked(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasscheck__(cls, other):
            SAID.append((cls.__name__, other.__name__))
            return True

    def function(x, kind, wanted):
        y = x + 1
        return y.sum(), isinstance(kind(), wanted), issubclass(kind, wanted)

    for kind, wanted in ((Odd, Sized), (int, Asked)):
        heard = []
        for one in (function, ufuse.compile(function)):
            function(np.ones(2), kind, wanted)
            SAID.clear()
            heard.append(([one(np.ones(2), kind, wanted) for _ in range(3)], list(SAID)))
        assert heard[0] == heard[1]

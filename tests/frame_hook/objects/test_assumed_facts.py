"""Facts of classes that a trace only asks for, and computes nothing with: they are guarded, too.

Each case makes new classes and gives a function, its first argument, and what is changed between two calls.
"""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, attr-defined, assignment"
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import collections.abc
import enum
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse

Case = tuple[Callable[[Any, Any], Any], Any, Callable[[], object]]


def descriptor_of_a_value() -> Case:
    """`__get__` is given to the class of a class's attribute."""
    value = type("Value", (), {})
    owner = type("Owner", (), {"attribute": value()})
    return (
        lambda x, one: (type(one.attribute).__name__, x + 1),
        owner(),
        lambda: setattr(value, "__get__", lambda self, instance, owner: 42),
    )


def equality_behind_inequality() -> Case:
    """`!=` asks `__eq__`, which the class gets."""
    kind = type("Kind", (), {})
    return (
        lambda x, one: (one != 3, x + 1),
        kind(),
        lambda: setattr(kind, "__eq__", lambda self, other: True),
    )


def method_in_c() -> Case:
    """A method of a C type in a class becomes another one."""
    kind = type("Kind", (str,), {"convert": str.upper})
    return (
        lambda x, one: (one("aBc").convert(), x + 1),
        kind,
        lambda: setattr(kind, "convert", str.lower),
    )


def class_method_in_c() -> Case:
    """The same of a class method."""
    kind = type("Kind", (int,), {"convert": vars(int)["from_bytes"]})
    return (
        lambda x, one: (one.convert(b"1", "big") == 49, x + 1),
        kind,
        lambda: setattr(kind, "convert", vars(float)["fromhex"]),
    )


def text_of_an_object() -> Case:
    """`str` is `__repr__`, until there is a `__str__`."""
    kind = type("Kind", (), {"__repr__": lambda self: "represented"})
    return (
        lambda x, one: (str(one), f"{one}", x + 1),
        kind(),
        lambda: setattr(kind, "__str__", lambda self: "text"),
    )


def name_in_an_error() -> Case:
    """The text of an AttributeError names the class."""
    kind = type("Kind", (), {})

    def use(x, one):
        try:
            one.missing
        except AttributeError as error:
            return error.args[0], x + 1

    return use, kind(), lambda: setattr(kind, "__name__", "Renamed")


def name_of_an_error() -> Case:
    """So does that of an exception."""
    kind = type("Kind", (ValueError,), {})
    return (
        lambda x, one: (repr(one(1)), x + 1),
        kind,
        lambda: setattr(kind, "__name__", "Renamed"),
    )


def name_in_an_error_of_a_property() -> Case:
    """And that of a property that cannot be set."""
    kind = type("Kind", (), {"value": property(lambda self: 1)})

    def use(x, one):
        try:
            one.value = 2
        except AttributeError as error:
            return error.args[0], x + 1

    return use, kind(), lambda: setattr(kind, "__qualname__", "Renamed")


def setter_of_a_property() -> Case:
    """A property gets a setter."""
    kind = type("Kind", (), {"value": property(lambda self: 1)})

    def use(x, one):
        try:
            one.value = 2
        except AttributeError:
            return x + 1
        return x + 2

    return use, kind(), lambda: setattr(kind, "value", kind.value.setter(lambda self, value: None))


def getter_of_a_property() -> Case:
    """A property gets a getter."""
    kind = type("Kind", (), {"value": property()})
    return (
        lambda x, one: (getattr(one, "value", 3), x + 1),
        kind(),
        lambda: setattr(kind, "value", property(lambda self: 1)),
    )


def setter_of_a_descriptor() -> Case:
    """A subclass of property gets a `__set__` of its own."""
    special = type("Special", (property,), {})
    kind = type("Kind", (), {"value": special(lambda self: 1, lambda self, value: None)})

    def use(x, one):
        one.value = 2
        return dict(vars(one)), x + 1

    return (
        use,
        kind(),
        lambda: setattr(special, "__set__", lambda self, one, value: vars(one).update(set=value)),
    )


def cached_property() -> Case:
    """A cached property becomes another one."""

    class Kind:
        @functools.cached_property
        def value(self):
            return 1

    def change() -> None:
        other = functools.cached_property(lambda self: 2)
        other.__set_name__(Kind, "value")
        Kind.value = other

    return lambda x, one: (one().value, x + 1), Kind, change


def function_of_a_cached_property() -> Case:
    """A cached property gets another function."""

    class Kind:
        @functools.cached_property
        def value(self):
            return 1

    return (
        lambda x, one: (one().value, x + 1),
        Kind,
        lambda: setattr(vars(Kind)["value"], "func", lambda self: 2),
    )


def _pretending(*behind: type) -> tuple[type, Callable[[], object]]:
    """A class, and what gives it a base whose objects say that they are dicts."""
    first = type("First", (), {})
    other = type("Other", (), {"__class__": property(lambda self: dict)})
    kind = type("Kind", (first, *behind), {})
    return kind, lambda: setattr(kind, "__bases__", (other, *behind))


def class_of_an_object() -> Case:
    """`__class__` becomes a property."""
    kind, change = _pretending()
    return lambda x, one: (one.__class__ is dict, isinstance(one, dict), x + 1), kind(), change


def class_of_an_array() -> Case:
    """So it does for a subclass of ndarray, of which nothing else is followed."""
    kind, change = _pretending(np.ndarray)
    return lambda x, one: (isinstance(one, dict), x + 1), np.zeros(2).view(kind), change


def call_of_an_array() -> Case:
    """A subclass of ndarray gets a `__call__`."""
    kind = type("Kind", (np.ndarray,), {})
    return (
        lambda x, one: (callable(one), x + 1),
        np.zeros(2).view(kind),
        lambda: setattr(kind, "__call__", lambda self: 1),
    )


def check_of_a_metaclass() -> Case:
    """A metaclass gets an `__instancecheck__`."""
    meta = type("Meta", (type,), {})
    kind = meta("Kind", (), {})
    return (
        lambda x, one: (isinstance(3, one), x + 1),
        kind,
        lambda: setattr(meta, "__instancecheck__", lambda cls, instance: True),
    )


def attributes_of_a_metaclass() -> Case:
    """A metaclass gets a `__getattribute__`."""
    meta = type("Meta", (type,), {})
    kind = meta("Kind", (), {"value": 1})
    return (
        lambda x, one: (one.value, x + 1),
        kind,
        lambda: setattr(meta, "__getattribute__", lambda cls, name: 5),
    )


def union_of_a_metaclass() -> Case:
    """A metaclass gets an `__or__`."""
    meta = type("Meta", (type,), {})
    kind = meta("Kind", (), {})
    return (
        lambda x, one: (isinstance(3, one | int), x + 1),
        kind,
        lambda: setattr(meta, "__or__", lambda cls, other: str),
    )


def _operands() -> tuple[type, type, type]:
    """A class, one that inherits from it, and another base for that."""
    names = ("__add__", "__radd__", "__eq__", "__lt__", "__gt__")

    def made(name: str, *bases: type) -> type:
        methods = {one: lambda self, other, one=one: name + one for one in names}
        return type(name, bases, methods)

    first, other = made("First"), made("Other")
    return first, made("Derived", first), other


def bases_of_an_operand() -> Case:
    """Whose operator goes first is decided by the bases of the operands."""
    first, derived, other = _operands()
    return (
        lambda x, one: (one[0] + one[1], x + 1),
        (first(), derived()),
        lambda: setattr(derived, "__bases__", (other,)),
    )


def bases_of_what_is_compared() -> Case:
    """Whose comparison goes first, too."""
    first, derived, other = _operands()
    return (
        lambda x, one: (one[0] == one[1], one[0] < one[1], x + 1),
        (first(), derived()),
        lambda: setattr(derived, "__bases__", (other,)),
    )


def bases_that_are_given() -> Case:
    """An operand becomes a subclass of the other one's class."""
    first, _, other = _operands()
    derived = type("Derived", (other,), dict(vars(other)))
    return (
        lambda x, one: (one[0] + one[1], one[0] == one[1], x + 1),
        (first(), derived()),
        lambda: setattr(derived, "__bases__", (first,)),
    )


def sequence_of_a_pattern() -> Case:
    """A class is registered as a sequence."""
    kind = type(
        "Kind", (), {"__len__": lambda self: 2, "__getitem__": lambda self, place: (1, 2)[place]}
    )

    def use(x, one):
        match one:
            case [first, second]:
                return first, second, x + 1
        return x

    return use, kind(), lambda: collections.abc.Sequence.register(kind)


def mapping_of_a_pattern() -> Case:
    """A class is registered as a mapping."""
    kind = type("Kind", (), {})

    def use(x, one):
        match one:
            case {}:
                return x + 1
        return x

    return use, kind(), lambda: collections.abc.Mapping.register(kind)


def abstract_methods() -> Case:
    """A class becomes abstract."""
    kind = type("Kind", (), {"step": lambda self: 1})
    return (
        lambda x, one: (one().step(), x + 1),
        kind,
        lambda: setattr(kind, "__abstractmethods__", frozenset({"step"})),
    )


CASES = [
    descriptor_of_a_value, equality_behind_inequality, method_in_c, class_method_in_c, text_of_an_object,
    name_in_an_error, name_of_an_error, name_in_an_error_of_a_property, setter_of_a_property, getter_of_a_property,
    setter_of_a_descriptor, cached_property, function_of_a_cached_property, class_of_an_object, class_of_an_array,
    call_of_an_array, check_of_a_metaclass, attributes_of_a_metaclass, union_of_a_metaclass, bases_of_an_operand,
    bases_of_what_is_compared, bases_that_are_given, sequence_of_a_pattern, mapping_of_a_pattern, abstract_methods,
]  # fmt: skip


def outcome(function: Callable[..., Any], one: Any) -> str:
    """What a call gives, or the error it ends with."""
    try:
        return repr(function(np.arange(3.0), one))
    except (AttributeError, TypeError, ValueError) as error:
        return repr(error)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_was_only_asked_for_is_guarded(case: Callable[[], Case]) -> None:
    """A compiled function called before and after the change does what the plain one does."""
    seen = []
    for wrap in (lambda function: function, ufuse.compile):
        use, one, change = case()
        function = wrap(use)
        before = [outcome(function, one) for _ in range(2)]
        change()
        seen.append(before + [outcome(function, one) for _ in range(2)])
    assert seen[1] == seen[0]
    assert seen[0][0] != seen[0][2]


class Answering(float):
    """A number that has an attribute when it is asked."""

    def __getattr__(self, name: str) -> int:
        if name == "answer":
            return 42
        raise AttributeError(name)


class Level(enum.IntEnum):
    """An enumeration of whole numbers."""

    LOW = 1


TEXT = type("Text", (str,), {})("a")
TEXT.extra = 1


def test_attributes_of_numbers_and_texts_are_looked_for_in_themselves() -> None:
    """`hasattr` asks the object, not its class alone: an instance of a subclass may have more."""

    def has(x):
        return (
            hasattr(Answering(1.0), "answer"), hasattr(TEXT, "extra"), hasattr(Level.LOW, "_value_"),
            hasattr(Level.LOW, "name"), hasattr(Level.LOW, "extra"), hasattr(x, "dtype"), x + 1,
        )  # fmt: skip

    compiled = ufuse.compile(has)
    assert [repr(compiled(np.ones(2))) for _ in range(3)] == [repr(has(np.ones(2)))] * 3


def test_an_attribute_that_raises_is_no_answer() -> None:
    """`hasattr` passes on what `mT` of a vector raises."""

    def has(x):
        return hasattr(x + 1, "mT")

    compiled = ufuse.compile(has)
    assert compiled(np.ones((2, 2)))
    for function in (has, compiled, compiled):
        with pytest.raises(ValueError, match="transpose"):
            function(np.ones(2))


def test_a_module_is_asked_as_often_as_in_plain_python() -> None:
    """A module's `__getattr__` is not called for the trace."""
    module, asked = types.ModuleType("made"), []

    def answer(name: str) -> int:
        asked.append(name)
        return 7

    module.__getattr__ = answer

    @ufuse.compile
    def using(x):
        return x + module.value, hasattr(module, "other")

    assert using(np.ones(2))[1]
    assert asked == ["value", "other"]


def test_print_options_decide_the_text_of_scalars() -> None:
    """What `repr` of a NumPy scalar gives depends on the print options."""

    def text(x):
        return repr(np.float64(3.0)), f"{[np.int8(1)]}", x + 1

    compiled = ufuse.compile(text)
    for legacy in (False, "1.25", False):
        np.set_printoptions(legacy=legacy)
        try:
            assert [repr(compiled(np.ones(1))) for _ in range(2)] == [repr(text(np.ones(1)))] * 2
        finally:
            np.set_printoptions(legacy=False)

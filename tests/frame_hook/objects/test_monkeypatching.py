"""What is changed in classes and objects between calls is seen by the next call, as plain Python sees it."""

# Functions under test are written as users write them.
# mypy: disable-error-code="no-untyped-def, no-untyped-call, attr-defined, method-assign, assignment"

from __future__ import annotations

import abc
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import ufuse


class Base:
    """A base with a method and a property."""

    rate = 2.0

    def step(self, x):
        return x * self.rate

    @property
    def bias(self):
        return 1.0

    def below(self, x):
        return x + 100


class OtherBase:
    """Another base with the same names."""

    rate = 7.0

    def step(self, x):
        return x - self.rate

    @property
    def bias(self):
        return -1.0

    def below(self, x):
        return x + 200


def make_class() -> Any:
    """A new class for every case, for it will be changed."""

    class Thing(Base):
        scale = 3.0
        table = {"k": 1.0}

        def __init__(self, v):
            self.v = v

        def double(self, x):
            return x * 2

        @staticmethod
        def shift(x):
            return x + 0.5

        @classmethod
        def made(cls, v):
            return cls(v)

        @property
        def both(self):
            return self.v + self.scale

        def below(self, x):
            return super().below(x) + 1

        def __add__(self, other):
            return self.v + other

        def __len__(self):
            return 3

        def __bool__(self):
            return True

        def __getitem__(self, key):
            return self.v[key]

    return Thing


# fmt: off
USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "method":           lambda x, o, C: o.double(x),
    "inherited":        lambda x, o, C: o.step(x) + o.bias,
    "static":           lambda x, o, C: o.shift(x) + C.shift(x),
    "class method":     lambda x, o, C: C.made(x).v + o.made(x).scale,
    "property":         lambda x, o, C: x + o.both,
    "super":            lambda x, o, C: o.below(x),
    "operator":         lambda x, o, C: o + x,
    "class attribute":  lambda x, o, C: x * o.scale + C.scale,
    "made":             lambda x, o, C: C(x).v,
    "own attribute":    lambda x, o, C: x + o.v,
    "unread attribute": lambda x, o, C: (x + 1, [o.scale, o.v]),
    "unread method":    lambda x, o, C: (x + 1, o.double),
    "length and truth": lambda x, o, C: x * len(o) if o else x,
    "item":             lambda x, o, C: x + o[0],
    "isinstance":       lambda x, o, C: (x + 1, isinstance(o, Base), isinstance(o, OtherBase), isinstance(o, C), issubclass(C, Base)),
    "hasattr":          lambda x, o, C: (x + 1, hasattr(o, "extra"), getattr(o, "extra", 5), hasattr(C, "extra")),
    "name":             lambda x, o, C: (x + 1, C.__name__, type(o).__name__, o.__class__ is C),
    "dict in class":    lambda x, o, C: x + C.table["k"],
}


class Described:
    """A data descriptor."""

    def __get__(self, instance, owner=None):
        return "described"

    def __set__(self, instance, value):
        instance.__dict__["written"] = value


def other_class(base: Any) -> Any:
    """A class that instances of Thing can be turned into."""
    return type("Renamed", (base,), {"double": lambda self, x: x * 50, "scale": 9.0})


def set_class(name: str, value: Any) -> Callable[[Any, Any], None]:
    return lambda o, C: setattr(C, name, value)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "a method of the class":        set_class("double", lambda self, x: x * 3),
    "a method of the base":         lambda o, C: setattr(C, "step", lambda self, x: x * 4),
    "a static method":              set_class("shift", staticmethod(lambda x: x - 1)),
    "a static method made plain":   set_class("shift", lambda *a: a[-1] + 9),
    "a class method":               set_class("made", classmethod(lambda cls, v: cls(v * 2))),
    "a property":                   set_class("both", property(lambda self: self.v * 5)),
    "a property made a value":      set_class("both", 4.0),
    "a value made a property":      set_class("scale", property(lambda self: 8.0)),
    "a value made a descriptor":    set_class("scale", Described()),
    "a method made a property":     set_class("double", property(lambda self: lambda x: x * 7)),
    "an attribute made a property": set_class("v", property(lambda self: 6.0, lambda self, v: None)),
    "a class value":                set_class("scale", 11.0),
    "a class value of other type":  set_class("scale", 11),
    "a class value deleted":        lambda o, C: delattr(C, "scale"),
    "a class value in the object":  lambda o, C: setattr(o, "scale", 12.0),
    "a method in the object":       lambda o, C: setattr(o, "double", lambda x: x * 13),
    "the dict of the object":       lambda o, C: vars(o).update(scale=14.0, extra=1),
    "an attribute deleted":         lambda o, C: delattr(o, "v"),
    "the class of the object":      lambda o, C: setattr(o, "__class__", other_class(C)),
    "the bases":                    lambda o, C: setattr(C, "__bases__", (OtherBase,)),
    "more bases":                   lambda o, C: setattr(C, "__bases__", (OtherBase, Base)),
    "an operator":                  set_class("__add__", lambda self, other: other * 15),
    "a length":                     set_class("__len__", lambda self: 5),
    "a truth":                      set_class("__bool__", lambda self: False),
    "an item":                      set_class("__getitem__", lambda self, key: 16.0),
    "attribute access":             set_class("__getattribute__", lambda self, name: object.__getattribute__(self, name) if name != "v" else 17.0),
    "missing attributes":           set_class("__getattr__", lambda self, name: 18.0),
    "initialisation":               set_class("__init__", lambda self, v: setattr(self, "v", v * 19)),
    "making":                       set_class("__new__", staticmethod(lambda cls, v: cls.special)),
    "setting":                      set_class("__setattr__", lambda self, name, value: object.__setattr__(self, name, value + 1)),
    "a name":                       set_class("__name__", "Renamed"),
    "an attribute more":            set_class("extra", 20.0),
    "a method that hides super's":  lambda o, C: setattr(C, "__bases__", (type("Between", (Base,), {"below": lambda self, x: x}),)),
    "a dict of the class":          lambda o, C: C.table.update(k=21.0),
    "the code of a method":         lambda o, C: setattr(C.double, "__code__", (lambda self, x: x * 22).__code__),
    "the defaults of a method":     lambda o, C: setattr(C.double, "__defaults__", (23,)),
}
# fmt: on


def outcome(function: Callable[..., Any], *given: Any) -> Any:
    """What a call gives, or the error it ends with."""
    try:
        return described(function(*given))
    except (AttributeError, TypeError) as error:
        return type(error), str(error)


def described(value: Any) -> Any:
    """A value that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    return value.__func__.__code__ if hasattr(value, "__func__") else value


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_change_between_calls_is_seen(
    use: Callable[..., Any], change: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A compiled function called before and after the change does what the plain one does."""
    results = []
    for wrap in (lambda function: function, ufuse.compile):
        kind = make_class()
        kind.special = kind(np.ones(2))
        function, thing, x = wrap(use), kind(np.arange(2.0)), np.arange(2.0) + 1
        seen = [outcome(function, x, thing, kind) for _ in range(2)]
        change(thing, kind)
        seen += [outcome(function, x, thing, kind) for _ in range(2)]
        results.append(seen)
    plain, compiled = results
    plain, compiled = (repr(r).replace("<locals>.<lambda>", "") for r in (plain, compiled))
    assert strip(compiled) == strip(plain)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def strip(text: str) -> str:
    """Text without addresses."""
    return re.sub(r"0x[0-9a-f]+", "", text)


def test_a_registered_class_is_seen() -> None:
    """`register` turns the answer of isinstance."""

    class Abstract(abc.ABC):
        """Something to be registered with."""

    class Thing:
        """Not registered yet."""

    @ufuse.compile
    def function(x, thing):
        return x * 2 if isinstance(thing, Abstract) else x

    x, thing = np.ones(2), Thing()
    assert function(x, thing)[0] == 1
    Abstract.register(Thing)
    assert function(x, thing)[0] == 2
    assert function(x, thing)[0] == 2


def test_attributes_of_functions() -> None:
    """A function's names, and what the program has put on it, are read anew when they change."""

    def helper(x):
        """The first text."""
        return x

    helper.scale = 2.0

    def function(x):
        return x * helper.scale, helper.__name__, helper.__doc__

    compiled = ufuse.compile(function)
    changes: list[Callable[[], object]] = [
        lambda: None,
        lambda: setattr(helper, "scale", 3.0),
        lambda: setattr(helper, "__name__", "another"),
        lambda: setattr(helper, "__doc__", None),
        lambda: setattr(helper, "scale", "text"),
        lambda: delattr(helper, "scale"),
    ]
    for change in changes:
        change()
        for _ in range(2):
            results = []
            for one in (function, compiled):
                try:
                    results.append(repr(one(np.ones(2))))
                except (AttributeError, TypeError) as error:
                    results.append(repr(error))
            assert results[0] == results[1]
    assert compiled.stats.traces >= 2


def test_names_of_functions_made_in_the_call() -> None:
    """Those of a function that the trace has made, or that is another object in each call."""

    def shown(function, x):
        return function(x), function.__name__, function.__qualname__, function.__doc__

    def inside(x):
        def doubled(value):
            return value * 2

        return doubled(x), doubled.__name__, doubled.__qualname__, (lambda: 0).__name__

    def behind(x):
        def doubled(value):
            """Twice."""
            return value * 2

        doubled.__name__ = "again"
        ufuse.graph_break("here")
        return shown(doubled, x)

    for function, codes in ((inside, set()), (behind, {"effect", "requested"})):
        compiled = ufuse.compile(function)
        for _ in range(3):
            assert compiled(2.0) == function(2.0)
            assert repr(compiled(np.ones(2))) == repr(function(np.ones(2)))
        assert {one.code for one in compiled.breaks} == codes


def test_the_name_in_the_text_of_a_class() -> None:
    """A class that is given another name, or another module, has another text."""

    class Named:
        pass

    def function(x):
        return x + 1, "%s" % Named, f"{Named}", str((Named, 1)), "{!r}".format(Named)  # noqa: UP031, UP032

    compiled = ufuse.compile(function)
    changes = {"__qualname__": "Renamed", "__name__": "Other", "__module__": "elsewhere"}
    for name, value in ({"__doc__": ""} | changes).items():
        setattr(Named, name, value)
        for _ in range(2):
            assert compiled(np.ones(2))[1:] == function(np.ones(2))[1:]
    assert not compiled.breaks


class Pair(NamedTuple):
    """Its fields have descriptors, all of one type."""

    x: float
    y: float


def test_another_field_of_a_named_tuple(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field is the item that the descriptor says which the class has now."""
    compiled = ufuse.compile(lambda pair, w: w * pair.x)
    for _ in range(3):
        assert compiled(Pair(2.0, 3.0), np.ones(2)).tolist() == [2.0, 2.0]
    monkeypatch.setattr(Pair, "x", Pair.y)
    for _ in range(3):
        assert compiled(Pair(2.0, 3.0), np.ones(2)).tolist() == [3.0, 3.0]


def with_slots() -> tuple[type, type]:
    """A class with slots and a dict that has the name of one of them, and one whose slots are its own."""

    class Slots:
        __slots__ = ("__dict__", "x", "y")

        def __init__(self) -> None:
            self.x, self.y = 1.0, 2.0
            self.__dict__["x"] = 9.0

    class Others:
        __slots__ = ("x",)

    return Slots, Others


def slot_read(one: Any, value: float) -> Any:
    return one.x + value


def slot_set(one: Any, value: float) -> Any:
    one.x = value
    return one.x, one.y, one.__dict__


@pytest.mark.parametrize("function", [slot_read, slot_set])
@pytest.mark.parametrize("how", ["another slot", "a slot of other objects", "a value", "none"])
def test_a_slot_is_replaced(function: Any, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is read and set is what the class says then: another slot, the dict, or an error."""
    kind, others = with_slots()
    compiled = ufuse.compile(function)
    plain, ours = kind(), kind()
    for changed in (False, True):
        if changed and how == "none":
            del kind.x  # type: ignore[attr-defined]
        elif changed:
            new = {"another slot": vars(kind)["y"], "a value": 5.0}
            kind.x = new.get(how, vars(others)["x"])  # type: ignore[attr-defined]
        for value in (1.0, 1.0, 2.0):
            assert outcome(compiled, ours, value) == outcome(function, plain, value)
    assert not caplog.records

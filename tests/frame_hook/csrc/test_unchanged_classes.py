"""The C layer: what is remembered of a class and of where its instances keep attributes ends when the class changes."""

from __future__ import annotations

import gc
import types
import weakref
from typing import Any

import pytest

from tests.support.frames.hooking import K, Session, dispatcher, entry

WARM = 20  # calls after which rows about classes are skipped


class Named:
    """A base to be changed."""

    kind = "named"


def changed(cls: Any) -> list[Any]:
    """Ways to change a class, in order; each can be undone with `restored`."""

    def data_descriptor() -> None:
        cls.mass = property(lambda self: 7)

    def looked_up_in_python() -> None:
        def looks(self: Any, name: str) -> Any:
            return object.__getattribute__(self, name)

        cls.__getattribute__ = looks

    def in_the_base() -> None:
        cls.__mro__[1].mass = 8

    def other_bases() -> None:
        cls.__bases__ = (type("Other", (), {"mass": 9, "kind": "named"}),)

    def other_value() -> None:
        cls.mass = 1

    return [data_descriptor, looked_up_in_python, in_the_base, other_bases, other_value]


def made(slots: bool = False) -> tuple[Any, Any]:
    """A class with a base of its own, and an instance with an attribute."""
    base = type("Base", (Named,), {"__slots__": ()})
    cls: Any = type("Made", (base,), {"__slots__": ("mass",)} if slots else {})
    instance = cls()
    instance.mass = 5
    return cls, instance


def declined(a: Any) -> str:
    """Plain Python ran."""
    return "plain"


def holding(session: Session, rows: list[Any]) -> Any:
    """A dispatcher whose entry holds while the rows do; its argument is register 0."""
    loads = sum(row[0] in {K.LOAD_OWN, K.LOAD_ATTR, K.LOAD_CLASS} for row in rows)
    made_of = entry(rows, recipe=[("const", "held")], ending=("return", 1 + loads))
    own = declined.__code__.replace()  # dispatchers of one code share entries
    return dispatcher(types.FunctionType(own, globals()), session, made_of)


@pytest.mark.parametrize("change", range(5))
def test_changes_of_a_class_are_noticed(session: Session, change: int) -> None:
    """However a class comes to have a name, rows that say it lacks it hold no more."""
    cls, instance = made()
    compiled = holding(session, [(K.TYPE, 0, cls), (K.CLASS_LACKS, cls, "mass")])
    own = holding(session, [(K.TYPE, 0, cls), (K.CLASS_OWN_LACKS, cls, "mass")])
    bases = holding(session, [(K.TYPE, 0, cls), (K.BASE, cls, 1, 4, cls.__mro__[1])])
    for each in (compiled, own, bases):
        assert {each(instance) for _ in range(WARM)} == {"held"}
    changed(cls)[change]()
    assert compiled(instance) == ("held" if change == 1 else "plain")
    assert own(instance) == ("plain" if change in {0, 4} else "held")
    assert bases(instance) == ("plain" if change == 3 else "held")


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("change", range(5))
def test_attributes_are_found_as_before_or_anew(session: Session, change: int, slots: bool) -> None:
    """Where an instance keeps an attribute is looked up again when its class has changed."""
    if slots and change == 3:
        pytest.skip("the layouts differ: CPython refuses")
    cls, instance = made(slots)
    plain = holding(session, [(K.LOAD_ATTR, 0, "mass"), (K.INT, 1, 5)])
    own = holding(session, [(K.LOAD_OWN, 0, "mass"), (K.INT, 1, 5)])
    for each in (plain, own):
        assert {each(instance) for _ in range(WARM)} == {"held"}
    other = cls()
    other.mass = 6
    assert (plain(other), own(other)) == ("plain", "plain")
    assert (plain(instance), own(instance)) == ("held", "held")
    changed(cls)[change]()
    hidden = change == 0 or (slots and change == 4)
    assert plain(instance) == ("plain" if hidden or change == 1 else "held")
    # a slot whose descriptor is gone cannot be read any more
    assert own(instance) == ("plain" if slots and change in {0, 4} else "held")


def test_an_instance_whose_attributes_move(session: Session) -> None:
    """From inline values into a dict, with more keys, deleted and set again."""
    _, instance = made()
    rows = [(K.LOAD_ATTR, 0, "mass"), (K.INT, 1, 5), (K.LOAD_OWN, 0, "mass"), (K.INT, 2, 5)]
    compiled = holding(session, rows)
    lacks = holding(session, [(K.INSTANCE_LACKS, 0, "other")])

    def check(expected: str = "held") -> None:
        assert {compiled(instance) for _ in range(WARM)} == {expected}
        assert {lacks(instance) for _ in range(WARM)} == {expected}

    check()
    instance.__dict__["there"] = 1
    check()
    del instance.mass
    instance.other = 5
    check("plain")
    instance.mass = 5
    del instance.other
    check()
    instance.__dict__ = {"a": 1, "mass": 5}
    check()
    instance.__dict__ = {7: 1, "mass": 5}
    check()
    for number in range(60):
        setattr(instance, f"a{number}", number)
    check()
    instance.mass = 4
    assert compiled(instance) == "plain"


def test_a_descriptor_that_becomes_one_later(session: Session) -> None:
    """An object on the class hides the instance's own attribute once its own class gets `__set__`."""

    class Quiet:
        pass

    cls, instance = made()
    cls.mass = Quiet()
    compiled = holding(session, [(K.LOAD_ATTR, 0, "mass"), (K.INT, 1, 5)])
    assert {compiled(instance) for _ in range(WARM)} == {"held"}
    Quiet.__get__ = lambda self, *_: 7  # type: ignore[attr-defined]
    Quiet.__set__ = lambda self, *_: None  # type: ignore[attr-defined]
    assert instance.mass == 7
    assert compiled(instance) == "plain"


def test_a_value_on_a_class_that_dies(session: Session) -> None:
    """What a row has loaded from a class is not kept alive, and not read once it is gone."""

    class Held:
        pass

    cls, instance = made()
    cls.held = Held()
    reference = weakref.ref(cls.held)
    compiled = holding(session, [(K.LOAD_CLASS, cls, "held"), (K.TYPE, 1, Held)])
    assert {compiled(instance) for _ in range(WARM)} == {"held"}
    del cls.held
    assert reference() is None
    assert compiled(instance) == "plain"
    cls.held = 5
    assert compiled(instance) == "plain"
    cls.held = Held()
    assert {compiled(instance) for _ in range(WARM)} == {"held"}


def test_a_class_that_dies(session: Session) -> None:
    """Another class at its address is not taken for it."""

    def filled() -> Any:
        cls, instance = made()
        rows = [(K.CLASS_LACKS, cls, "other"), (K.LOAD_CLASS, cls, "kind"), (K.STR, 1, "named")]
        compiled = holding(session, rows)
        assert {compiled(instance) for _ in range(WARM)} == {"held"}
        return compiled

    kept = [filled() for _ in range(30)]
    gc.collect()
    classes = [made()[0] for _ in range(30)]
    assert {compiled(0) for compiled in kept} == {"plain"}
    assert len(classes) == 30


def test_modules_are_read_where_they_keep_names(session: Session) -> None:
    """Also when a name is deleted, set again, and the module's dict grows."""
    module: Any = types.ModuleType("space")
    module.mass = 5
    compiled = holding(session, [(K.LOAD_ATTR, 0, "mass"), (K.INT, 1, 5)])
    assert {compiled(module) for _ in range(WARM)} == {"held"}
    for number in range(50):
        setattr(module, f"a{number}", number)
        assert compiled(module) == "held"
    del module.mass
    assert compiled(module) == "plain"
    module.__getattr__ = lambda name: 5
    assert compiled(module) == "plain"
    module.mass = 5
    assert compiled(module) == "held"

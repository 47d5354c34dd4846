"""Small programs with attributes of every kind: slots, properties, descriptors, attributes and methods of classes."""

from __future__ import annotations

import functools
from typing import Any

from tests.support.comparing.registering import Programs, x


def state() -> Any:
    """What the class attributes are."""
    return (
        Counter.count,
        list(Counter.made),
        vars(SubCounter).get("count"),
        vars(Counter).get("new"),
    )


def reset() -> None:
    """Put the class attributes back."""
    Counter.count = 0
    Counter.made = []
    if "count" in vars(SubCounter):
        del SubCounter.count


PROGRAMS = Programs(state=state, reset=reset)


# Slots, properties, descriptors ----------------------------------------------------------------------------------


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class SlotsBelow(Slots):
    __slots__ = ("__dict__", "c")


def slots_with_empty():
    return (Slots(x()),)


@PROGRAMS.whole(slots_with_empty)
def slots_empty_filled(s):
    s.b = s.a * 2
    return s.a + s.b


@PROGRAMS.either(slots_with_empty)
def slots_empty_asked(s):
    return s.a * 2 if hasattr(s, "b") else s.a * 3, getattr(s, "b", 7)


@PROGRAMS.raising(slots_with_empty)
def slots_empty_read(s):
    y = s.a * 2
    return y + s.b


@PROGRAMS.either()
def slots_deleted(x):
    s = Slots(x)
    s.b = 2.0
    del s.b
    try:
        return s.b
    except AttributeError as e:
        return str(e), s, x * 2


@PROGRAMS.raising()
def slots_unknown(x):
    s = Slots(x)
    try:
        s.other = 1
    except AttributeError:
        return x * 2
    return x


@PROGRAMS.whole()
def slots_and_dict(x):
    s = SlotsBelow(x)
    s.c = x * 2
    s.other = 3.0
    return s, s.c + s.other


class Temperature:
    def __init__(self, celsius):
        self._celsius = celsius
        self.reads = 0

    @property
    def celsius(self):
        self.reads += 1
        return self._celsius

    @celsius.setter
    def celsius(self, value):
        self._celsius = value

    @celsius.deleter
    def celsius(self):
        self._celsius = 0.0

    @property
    def kelvin(self):
        return self._celsius + 273.15

    @functools.cached_property
    def mean(self):
        return self._celsius.mean()

    secret = property(fset=lambda self, value: None)


@PROGRAMS.whole(lambda: (Temperature(x()),))
def property_used(t):
    t.celsius = t.celsius * 2
    return t.kelvin, t.reads


@PROGRAMS.whole(lambda: (Temperature(x()),))
def property_deleted(t):
    y = t.celsius * 2
    del t.celsius
    return y + t.celsius


@PROGRAMS.raising(lambda: (Temperature(x()),))
def property_without_setter(t):
    y = t.kelvin
    t.kelvin = y


@PROGRAMS.either(lambda: (Temperature(x()),))
def property_without_setter_caught(t):
    messages = []
    for change in (lambda: setattr(t, "kelvin", 1), lambda: t.secret, lambda: delattr(t, "kelvin")):
        try:
            change()
        except AttributeError as e:
            messages.append(str(e))
    return messages, t.kelvin


@PROGRAMS.whole(lambda: (Temperature(x()),))
def cached_property_given(t):
    return t.mean + t.mean, t.kelvin


@PROGRAMS.whole()
def cached_property_made(x):
    t = Temperature(x)
    return t.mean * x, t.mean, t


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        instance.writes = getattr(instance, "writes", 0) + 1
        setattr(instance, self.name, value)

    def __delete__(self, instance):
        delattr(instance, self.name)


class NonData:
    def __get__(self, instance, owner=None):
        return ("class", owner) if instance is None else ("instance", instance.k)


class Described:
    rate = Positive()
    soft = NonData()

    def __init__(self, rate):
        self.k = 3
        self.rate = rate


@PROGRAMS.whole()
def descriptor_made(x):
    d = Described(x)
    d.rate = d.rate * 2
    return d.rate + d.writes, d, d.soft, Described.soft


@PROGRAMS.whole(lambda: (Described(x()),))
def descriptor_given(d):
    d.rate = d.rate + 1
    d.soft = 5
    return d.rate, d.soft, d.writes


@PROGRAMS.whole(lambda: (Described(x()),))
def descriptor_deleted(d):
    y = d.rate
    del d.rate
    return y, hasattr(d, "_rate")


# Class attributes, class methods ---------------------------------------------------------------------------------


class Counter:
    count = 0
    made: list[Any] = []
    scale = 2.0

    def __init__(self, x):
        self.x = x

    def bump(self):
        type(self).count += 1
        return self.x * self.scale

    @classmethod
    def create(cls, x):
        cls.count = cls.count + 1
        return cls(x)

    @staticmethod
    def twice(x):
        return x * 2


class SubCounter(Counter):
    scale = 3.0


@PROGRAMS.whole()
def class_counter(x):
    Counter.count += 1
    Counter.count += 2
    return x * Counter.count


@PROGRAMS.whole()
def class_counter_by_instance(x):
    c = SubCounter(x)
    return c.bump(), c.bump(), c.count, Counter.count


@PROGRAMS.whole()
def class_method_creates(x):
    c = SubCounter.create(x)
    return c.bump(), type(c), SubCounter.count, Counter.count, c.twice(x), Counter.twice(x)


@PROGRAMS.whole(lambda: (Counter(x()),))
def class_attribute_shadowed(c):
    c.scale = c.scale + 1
    return c.x * c.scale, Counter.scale


@PROGRAMS.whole(lambda: (Counter(x()),))
def class_attribute_read_by_value(c):
    return c.x * c.scale + Counter.scale


@PROGRAMS.whole()
def class_attribute_deleted(x):
    SubCounter.count = 5
    before = SubCounter.count
    del SubCounter.count
    return x * before, SubCounter.count


@PROGRAMS.either()
def class_list_shared(x):
    Counter.made.append(x * 2)
    return x + len(Counter.made)


@PROGRAMS.whole()
def class_attribute_new(x):
    Counter.new = x * 2
    y = Counter.new
    del Counter.new
    return y


@PROGRAMS.whole(lambda: (Counter(x()),))
def method_as_value(c):
    bump = c.bump
    twice = Counter.twice
    unbound = Counter.bump
    return bump(), twice(c.x), unbound(c), c.bump == c.bump

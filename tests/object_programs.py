"""Small programs with classes of every kind: fields, slots, properties, descriptors, enums, `super()`, metaclasses."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Make = Callable[[], tuple[Any, ...]]
PROGRAMS: list[tuple[Callable[..., Any], Make, bool]] = []


def program(
    make_args: Make, *, breaks: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program, a function that makes its arguments, and whether its graph may break."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((function, make_args, breaks))
        return function

    return register


def x() -> np.ndarray[Any, Any]:
    """Three numbers."""
    return np.arange(3.0) + 1


def just_x() -> tuple[Any, ...]:
    return (x(),)


# Named tuples ----------------------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b", defaults=(2.0,))  # noqa: PYI024


class Point(NamedTuple):
    """A point with a method of its own."""

    x: Any
    y: Any = 0.5

    def shifted(self, by):
        return self._replace(x=self.x + by)


@program(just_x)
def namedtuple_made(x):
    pair = Pair(x, 3.0)
    a, b = pair
    return pair.a * pair.b, pair[0] + pair[-1], a * b, len(pair), pair, Pair(x)


@program(lambda: (x(), Pair(x(), 2.0)))
def namedtuple_given(x, pair):
    a, b = pair
    return x * pair.a + pair.b, a - b, pair[1] * x, pair


@program(lambda: (x(), Point(x(), 1.5)), breaks=True)
def namedtuple_replaced(x, point):
    return point.shifted(x), point._replace(y=2.5), point.y * x


@program(just_x, breaks=True)
def namedtuple_helpers(x):
    pair = Pair._make([x, 4.0])
    return pair._asdict(), pair._fields, pair.b * x, Pair._fields


@program(just_x, breaks=True)
def namedtuple_compared(x):
    a, b = Pair(1, 2), Pair(1, 2)
    return a == b, a == (1, 2), a != (1, 3), a < (1, 3), hash(a) == hash((1, 2)), x + a.a, 2 in a


@program(just_x)
def namedtuple_sequence_operations(x):
    pair = Pair(x, 2)
    return pair + (1,), pair * 2, pair[:1], tuple(pair), [*pair], max(Pair(1, 5)), sum(Pair(1, 5))


@program(just_x, breaks=True)
def namedtuple_as_arguments(x):
    def f(a, b):
        return a * b

    return f(*Pair(x, 2.0)), f(**Pair(x, 3.0)._asdict())


# Dataclasses -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    """Plain fields, a default and a factory."""

    position: Any
    velocity: Any = 1.0
    history: list[Any] = dataclasses.field(default_factory=list)

    def step(self, dt):
        self.position = self.position + self.velocity * dt
        self.history.append(dt)
        return self


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: Any
    shift: Any = 0.0

    def __call__(self, x):
        return x * self.scale + self.shift


@dataclasses.dataclass(slots=True)
class Slotted:
    a: Any
    b: Any = 1.0


@dataclasses.dataclass(order=True)
class Ordered:
    key: int
    weight: Any = dataclasses.field(default=1.0, compare=False)


@dataclasses.dataclass
class Derived:
    base: Any
    factor: dataclasses.InitVar[float] = 2.0
    scaled: Any = dataclasses.field(init=False)

    def __post_init__(self, factor):
        self.scaled = self.base * factor


@dataclasses.dataclass(kw_only=True)
class Keyed(State):
    name: str = "k"


@program(just_x)
def dataclass_made(x):
    state = State(x)
    state.step(0.5).step(0.25)
    return state, state.position * 2, state.history


@program(lambda: (State(x(), 2.0), 0.5))
def dataclass_given(state, dt):
    state.step(dt)
    return state.position.sum()


@program(just_x)
def dataclass_frozen(x):
    layer = Frozen(2.0, x)
    return layer(x), layer


@program(just_x)
def dataclass_frozen_refuses(x):
    layer = Frozen(2.0)
    try:
        layer.scale = 3.0
    except dataclasses.FrozenInstanceError:
        return layer(x)
    return x


@program(just_x, breaks=True)
def dataclass_frozen_refuses_aloud(x):
    Frozen(2.0).scale = x


@program(just_x)
def dataclass_slots(x):
    s = Slotted(x)
    s.b += 2.0
    return s.a * s.b, s


@program(lambda: (Slotted(x(), 2.0),))
def dataclass_slots_given(s):
    s.a = s.a + s.b
    return s.a * 2


@program(just_x, breaks=True)
def dataclass_order(x):
    a, b = Ordered(1, x), Ordered(2, x)
    return a < b, a == Ordered(1), max(a, b), x * (a <= b), b > a


@program(just_x)
def dataclass_post_init(x):
    d = Derived(x, factor=3.0)
    return d.scaled + d.base, d


@program(just_x)
def dataclass_inherited(x):
    k = Keyed(x, name="other")
    return k.step(2.0).position, k.name, k


@program(just_x, breaks=True)
def dataclass_helpers(x):
    s = State(x, 3.0)
    return dataclasses.replace(s, velocity=4.0), dataclasses.asdict(s), dataclasses.astuple(s)


@program(just_x, breaks=True)
def dataclass_fields(x):
    s = State(x, 3.0)
    return [f.name for f in dataclasses.fields(s)], dataclasses.is_dataclass(s), repr(Ordered(1))


# Enums -----------------------------------------------------------------------------------------------------------


class Mode(enum.Enum):
    ADD = "add"
    SCALE = "scale"
    PLUS = "add"

    @property
    def is_add(self):
        return self is Mode.ADD

    def apply(self, x):
        return x + 1 if self.is_add else x * 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Flags(enum.Flag):
    A = 1
    B = 2
    C = 4


TABLE = {Mode.ADD: 1.0, Mode.SCALE: 3.0}


@program(lambda: (x(), Mode.SCALE))
def enum_branch(x, mode):
    if mode is Mode.ADD:
        return x + 1
    if mode == Mode.SCALE:
        return x * 2
    return x


@program(just_x)
def enum_members(x):
    return (
        Mode.ADD,
        Mode.PLUS is Mode.ADD,
        Mode.ADD.name,
        Mode.ADD.value,
        x + 1,
        Mode.ADD != Mode.SCALE,
    )


@program(lambda: (x(), Mode.ADD))
def enum_methods(x, mode):
    return mode.apply(x), mode.is_add, mode.name, mode.value


@program(just_x)
def enum_keys(x):
    return x * TABLE[Mode.SCALE], Mode.ADD in TABLE, TABLE.get(Mode.ADD), {Mode.ADD: x}, {Mode.ADD}


@program(lambda: (x(), Mode.ADD))
def enum_key_given(x, mode):
    return x * TABLE[mode]


@program(just_x, breaks=True)
def enum_lookup(x):
    return Mode("add"), Mode["SCALE"], x * 2


@program(just_x, breaks=True)
def enum_iterated(x):
    return [m.value for m in Mode], list(Mode), len(Mode), x + len(Level), Mode.ADD in Mode


@program(just_x, breaks=True)
def enum_int(x):
    return (
        x * Level.HIGH,
        Level.LOW < Level.HIGH,
        Level.LOW + 1,
        Level.HIGH == 5,
        [1, 2, 3][Level.LOW],
    )


@program(lambda: (x(), Level.HIGH), breaks=True)
def enum_int_given(x, level):
    return x * level, level > Level.LOW, level == 5, level.value


@program(just_x, breaks=True)
def enum_flag(x):
    both = Flags.A | Flags.B
    return both, Flags.A in both, bool(both & Flags.C), x * both.value


@program(lambda: (x(), Mode.SCALE))
def enum_match(x, mode):
    match mode:
        case Mode.ADD:
            return x + 1
        case Mode.SCALE:
            return x * 3


# Slots, properties, descriptors ----------------------------------------------------------------------------------


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class SlotsBelow(Slots):
    __slots__ = ("__dict__", "c")


def slots_with_empty():
    return (Slots(x()),)


@program(slots_with_empty)
def slots_empty_filled(s):
    s.b = s.a * 2
    return s.a + s.b


@program(slots_with_empty, breaks=True)
def slots_empty_asked(s):
    return s.a * 2 if hasattr(s, "b") else s.a * 3, getattr(s, "b", 7)


@program(slots_with_empty)
def slots_empty_read(s):
    y = s.a * 2
    return y + s.b


@program(just_x, breaks=True)
def slots_deleted(x):
    s = Slots(x)
    s.b = 2.0
    del s.b
    try:
        return s.b
    except AttributeError as e:
        return str(e), s, x * 2


@program(just_x)
def slots_unknown(x):
    s = Slots(x)
    try:
        s.other = 1
    except AttributeError:
        return x * 2
    return x


@program(just_x)
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


@program(lambda: (Temperature(x()),))
def property_used(t):
    t.celsius = t.celsius * 2
    return t.kelvin, t.reads


@program(lambda: (Temperature(x()),))
def property_deleted(t):
    y = t.celsius * 2
    del t.celsius
    return y + t.celsius


@program(lambda: (Temperature(x()),))
def property_without_setter(t):
    y = t.kelvin
    t.kelvin = y


@program(lambda: (Temperature(x()),), breaks=True)
def property_without_setter_caught(t):
    messages = []
    for change in (lambda: setattr(t, "kelvin", 1), lambda: t.secret, lambda: delattr(t, "kelvin")):
        try:
            change()
        except AttributeError as e:
            messages.append(str(e))
    return messages, t.kelvin


@program(lambda: (Temperature(x()),))
def cached_property_given(t):
    return t.mean + t.mean, t.kelvin


@program(just_x)
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


@program(just_x)
def descriptor_made(x):
    d = Described(x)
    d.rate = d.rate * 2
    return d.rate + d.writes, d, d.soft, Described.soft


@program(lambda: (Described(x()),))
def descriptor_given(d):
    d.rate = d.rate + 1
    d.soft = 5
    return d.rate, d.soft, d.writes


@program(lambda: (Described(x()),))
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


def reset() -> None:
    """Put the class attributes back."""
    Counter.count = 0
    Counter.made = []
    if "count" in vars(SubCounter):
        del SubCounter.count


def state() -> Any:
    """What the class attributes are."""
    return (
        Counter.count,
        list(Counter.made),
        vars(SubCounter).get("count"),
        vars(Counter).get("new"),
    )


@program(just_x)
def class_counter(x):
    Counter.count += 1
    Counter.count += 2
    return x * Counter.count


@program(just_x)
def class_counter_by_instance(x):
    c = SubCounter(x)
    return c.bump(), c.bump(), c.count, Counter.count


@program(just_x)
def class_method_creates(x):
    c = SubCounter.create(x)
    return c.bump(), type(c), SubCounter.count, Counter.count, c.twice(x), Counter.twice(x)


@program(lambda: (Counter(x()),))
def class_attribute_shadowed(c):
    c.scale = c.scale + 1
    return c.x * c.scale, Counter.scale


@program(lambda: (Counter(x()),))
def class_attribute_read_by_value(c):
    return c.x * c.scale + Counter.scale


@program(just_x)
def class_attribute_deleted(x):
    SubCounter.count = 5
    before = SubCounter.count
    del SubCounter.count
    return x * before, SubCounter.count


@program(just_x, breaks=True)
def class_list_shared(x):
    Counter.made.append(x * 2)
    return x + len(Counter.made)


@program(just_x)
def class_attribute_new(x):
    Counter.new = x * 2
    y = Counter.new
    del Counter.new
    return y


@program(lambda: (Counter(x()),))
def method_as_value(c):
    bump = c.bump
    twice = Counter.twice
    unbound = Counter.bump
    return bump(), twice(c.x), unbound(c), c.bump == c.bump


# super() ---------------------------------------------------------------------------------------------------------


class Base:
    def __init__(self, x, **rest):
        super().__init__(**rest)
        self.x = x
        self.log = ["Base"]

    def run(self, y):
        self.log.append("Base.run")
        return self.x + y

    @property
    def doubled(self):
        return self.x * 2

    @classmethod
    def named(cls):
        return ["Base", cls.__name__]


class Left(Base):
    def __init__(self, *args, left=1.0, **rest):
        super().__init__(*args, **rest)
        self.left = left

    def run(self, y):
        self.log.append("Left.run")
        return super().run(y) * self.left

    @property
    def doubled(self):
        return super().doubled + 1

    @classmethod
    def named(cls):
        return ["Left", *super().named()]


class Right(Base):
    def __init__(self, *args, right=2.0, **rest):
        super().__init__(*args, **rest)
        self.right = right

    def run(self, y):
        self.log.append("Right.run")
        return super().run(y) - self.right

    @classmethod
    def named(cls):
        return ["Right", *super().named()]


class Diamond(Left, Right):
    def run(self, y):
        return super().run(y) + super(Left, self).run(y)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        object.__setattr__(self, "last", name)


@program(just_x)
def super_diamond(x):
    d = Diamond(x, left=3.0, right=4.0)
    return d.run(x), d.doubled, Diamond.named(), d


@program(lambda: (Diamond(x(), left=2.0), x()))
def super_diamond_given(d, y):
    return d.run(y), d.doubled, d.named(), d.last


@program(just_x, breaks=True)
def super_missing(x):
    class_name = super(Left, Diamond).named
    try:
        super(Base, Diamond(x)).run
    except AttributeError as e:
        return str(e), class_name(), x + 1


class Equal:
    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        if not isinstance(other, Equal):
            return super().__eq__(other)
        return self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __getattribute__(self, name):
        if name == "answer":
            return 42
        return super().__getattribute__(name)


@program(just_x)
def super_of_object(x):
    a, b = Equal(1), Equal(1)
    return a == b, a != b, a == 3, a != 3, hash(a) == hash(b), a.answer, x * a.key


class Guarded:
    """Attributes in a dict of its own."""

    def __init__(self, **given):
        object.__setattr__(self, "data", dict(given))

    def __getattr__(self, name):
        if name == "data":
            raise AttributeError(name)
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.data[name] = value

    def __delattr__(self, name):
        del self.data[name]


@program(just_x)
def getattr_made(x):
    g = Guarded(a=x, b=2.0)
    g.c = g.a * g.b
    del g.b
    return g.c, hasattr(g, "b"), getattr(g, "missing", 3), g


@program(lambda: (Guarded(a=x(), b=2.0),))
def getattr_given(g):
    g.c = g.a * g.b
    del g.b
    return g.c, hasattr(g, "b")


@program(lambda: (Guarded(a=x(), b=2.0),))
def getattr_refuses(g):
    return g.a + g.missing


# Abstract classes, metaclasses, mixins ---------------------------------------------------------------------------


class Layer(abc.ABC):
    @abc.abstractmethod
    def forward(self, x): ...

    def __call__(self, x):
        return self.forward(x)


class Scale(Layer):
    def __init__(self, by):
        self.by = by

    def forward(self, x):
        return x * self.by


class NamedMixin:
    @property
    def name(self):
        return type(self).__name__.lower()


class Shift(NamedMixin, Layer):
    def __init__(self, by):
        self.by = by

    def forward(self, x):
        return x + self.by


class Registered:
    pass


Layer.register(Registered)


@program(just_x)
def abstract_layers(x):
    for layer in (Scale(2.0), Shift(1.0), Scale(x)):
        x = layer(x)
    return x, Shift(1).name


@program(just_x, breaks=True)
def abstract_isinstance(x):
    return isinstance(Scale(2), Layer), isinstance(Registered(), Layer), isinstance(x, Layer), x + 1


@program(just_x)
def abstract_refuses(x):
    return Layer()  # type: ignore[abstract]


class Meta(type):
    default = 4.0

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.counted = len(args)
        return made

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name.upper()

    def __instancecheck__(cls, instance):
        return hasattr(instance, "quack")

    def __len__(cls):
        return 7

    def __contains__(cls, item):
        return item == 1

    def __getitem__(cls, key):
        return key * 2

    def __iter__(cls):
        return iter([1, 2])


class WithMeta(metaclass=Meta):
    def __init__(self, x):
        self.x = x


class Duck:
    quack = True


@program(just_x, breaks=True)
def metaclass_used(x):
    w = WithMeta(x)
    return (
        w,
        WithMeta.default * x,
        WithMeta.other,
        isinstance(Duck(), WithMeta),
        isinstance(w, WithMeta),
    )


@program(just_x, breaks=True)
def metaclass_operators(x):
    return len(WithMeta), 1 in WithMeta, WithMeta[x], list(WithMeta), bool(WithMeta)


class Plugin:
    registry: dict[str, type] = {}

    def __init_subclass__(cls, key=None, **rest):
        super().__init_subclass__(**rest)
        cls.registry[key or cls.__name__] = cls


class AddPlugin(Plugin, key="add"):
    def run(self, x):
        return x + 1


class MulPlugin(Plugin, key="mul"):
    def run(self, x):
        return x * 2


@program(just_x)
def init_subclass_registry(x):
    return [Plugin.registry[name]().run(x) for name in ("add", "mul")]


@program(just_x)
def new_overridden(x):
    return Single(x) is Single(x), Half(x).x


class Single:
    def __new__(cls, x):
        return INSTANCE

    def __init__(self, x):
        self.extra = 1


class Half:
    def __new__(cls, x):
        made = super().__new__(cls)
        made.x = x / 2
        return made


INSTANCE = Duck()

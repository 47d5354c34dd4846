"""Small programs with named tuples, dataclasses and enums."""

from __future__ import annotations

import dataclasses
import enum
from collections import namedtuple
from typing import Any, NamedTuple

from tests.support.comparing.registering import Programs, x

PROGRAMS = Programs()


# Named tuples ----------------------------------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b", defaults=(2.0,))  # noqa: PYI024


class Point(NamedTuple):
    """A point with a method of its own."""

    x: Any
    y: Any = 0.5

    def shifted(self, by):
        return self._replace(x=self.x + by)


@PROGRAMS.whole()
def namedtuple_made(x):
    pair = Pair(x, 3.0)
    a, b = pair
    return pair.a * pair.b, pair[0] + pair[-1], a * b, len(pair), pair, Pair(x)


@PROGRAMS.whole(lambda: (x(), Pair(x(), 2.0)))
def namedtuple_given(x, pair):
    a, b = pair
    return x * pair.a + pair.b, a - b, pair[1] * x, pair


@PROGRAMS.either(lambda: (x(), Point(x(), 1.5)))
def namedtuple_replaced(x, point):
    return point.shifted(x), point._replace(y=2.5), point.y * x


@PROGRAMS.either()
def namedtuple_helpers(x):
    pair = Pair._make([x, 4.0])
    return pair._asdict(), pair._fields, pair.b * x, Pair._fields


@PROGRAMS.either()
def namedtuple_compared(x):
    a, b = Pair(1, 2), Pair(1, 2)
    return a == b, a == (1, 2), a != (1, 3), a < (1, 3), hash(a) == hash((1, 2)), x + a.a, 2 in a


@PROGRAMS.whole()
def namedtuple_sequence_operations(x):
    pair = Pair(x, 2)
    return pair + (1,), pair * 2, pair[:1], tuple(pair), [*pair], max(Pair(1, 5)), sum(Pair(1, 5))


@PROGRAMS.whole()
def namedtuple_is_a_tuple_behind_operators(x):
    pair, nothing = Pair(x, 2), ()
    results = pair + nothing, nothing + pair, pair * 1, 1 * pair, pair[:]
    pair += nothing
    return [type(one) is Pair for one in (*results, pair)], results, pair


class ReadByItem(tuple):
    """`reversed` asks for its items, by what the class says."""

    __slots__ = ()

    def __getitem__(self, place):
        return "item", place

    def __len__(self):
        return 2


@PROGRAMS.either()
def tuple_reversed_by_its_own_items(x):
    return list(reversed(ReadByItem((x, 2, 3)))), x + 1


@PROGRAMS.either()
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


@PROGRAMS.whole()
def dataclass_made(x):
    state = State(x)
    state.step(0.5).step(0.25)
    return state, state.position * 2, state.history


@PROGRAMS.whole(lambda: (State(x(), 2.0), 0.5))
def dataclass_given(state, dt):
    state.step(dt)
    return state.position.sum()


@PROGRAMS.whole()
def dataclass_frozen(x):
    layer = Frozen(2.0, x)
    return layer(x), layer


@PROGRAMS.whole()
def dataclass_frozen_refuses(x):
    layer = Frozen(2.0)
    try:
        layer.scale = 3.0
    except dataclasses.FrozenInstanceError:
        return layer(x)
    return x


@PROGRAMS.either()
def dataclass_frozen_refuses_aloud(x):
    Frozen(2.0).scale = x


@PROGRAMS.whole()
def dataclass_slots(x):
    s = Slotted(x)
    s.b += 2.0
    return s.a * s.b, s


@PROGRAMS.whole(lambda: (Slotted(x(), 2.0),))
def dataclass_slots_given(s):
    s.a = s.a + s.b
    return s.a * 2


@PROGRAMS.either()
def dataclass_order(x):
    a, b = Ordered(1, x), Ordered(2, x)
    return a < b, a == Ordered(1), max(a, b), x * (a <= b), b > a


@PROGRAMS.whole()
def dataclass_post_init(x):
    d = Derived(x, factor=3.0)
    return d.scaled + d.base, d


@PROGRAMS.whole()
def dataclass_inherited(x):
    k = Keyed(x, name="other")
    return k.step(2.0).position, k.name, k


@PROGRAMS.either()
def dataclass_helpers(x):
    s = State(x, 3.0)
    return dataclasses.replace(s, velocity=4.0), dataclasses.asdict(s), dataclasses.astuple(s)


@PROGRAMS.either()
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


@PROGRAMS.whole(lambda: (x(), Mode.SCALE))
def enum_branch(x, mode):
    if mode is Mode.ADD:
        return x + 1
    if mode == Mode.SCALE:
        return x * 2
    return x


@PROGRAMS.whole()
def enum_members(x):
    return (
        Mode.ADD,
        Mode.PLUS is Mode.ADD,
        Mode.ADD.name,
        Mode.ADD.value,
        x + 1,
        Mode.ADD != Mode.SCALE,
    )


@PROGRAMS.whole(lambda: (x(), Mode.ADD))
def enum_methods(x, mode):
    return mode.apply(x), mode.is_add, mode.name, mode.value


@PROGRAMS.whole()
def enum_keys(x):
    return x * TABLE[Mode.SCALE], Mode.ADD in TABLE, TABLE.get(Mode.ADD), {Mode.ADD: x}, {Mode.ADD}


@PROGRAMS.whole(lambda: (x(), Mode.ADD))
def enum_key_given(x, mode):
    return x * TABLE[mode]


@PROGRAMS.either()
def enum_lookup(x):
    return Mode("add"), Mode["SCALE"], x * 2


@PROGRAMS.either()
def enum_iterated(x):
    return [m.value for m in Mode], list(Mode), len(Mode), x + len(Level), Mode.ADD in Mode


@PROGRAMS.either()
def enum_int(x):
    return (
        x * Level.HIGH,
        Level.LOW < Level.HIGH,
        Level.LOW + 1,
        Level.HIGH == 5,
        [1, 2, 3][Level.LOW],
    )


@PROGRAMS.either(lambda: (x(), Level.HIGH))
def enum_int_given(x, level):
    return x * level, level > Level.LOW, level == 5, level.value


@PROGRAMS.either()
def enum_flag(x):
    both = Flags.A | Flags.B
    return both, Flags.A in both, bool(both & Flags.C), x * both.value


@PROGRAMS.whole(lambda: (x(), Mode.SCALE))
def enum_match(x, mode):
    match mode:
        case Mode.ADD:
            return x + 1
        case Mode.SCALE:
            return x * 3

"""Lists of objects that loops go over, and whose attributes they read and set."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, ANN204, D101, D102
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import types
from collections import namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import ufuse
from tests.support.alarms import called_with_alarm, on_alarm
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns, no_failures_inside
from tests.support.nests.reference_nests import on_the_reference
from ufuse import decorator

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")

MANY = 1200
LONG = 1201  # items, each of which is copied and compared at every call: too many for a loop over them to be unrolled


class Body:
    drag = 0.01

    def __init__(self, x, v, m=1.5) -> None:
        self.x, self.v, self.m = x, v, m
        self.hits, self.alive = 0, True

    def step(self, dt):
        self.v -= self.v * self.drag * dt
        self.x += self.v * dt
        if self.x > 4:
            self.hits += 1
            self.v = -abs(self.v)

    @property
    def energy(self):
        return 0.5 * self.m * self.v**2


class Slotted:
    __slots__ = ("alive", "hits", "m", "v", "x")
    drag, step, energy, __init__ = Body.drag, Body.step, Body.energy, Body.__init__


class OnlySome(Slotted):
    """Slots, and a dict beside them."""

    def __init__(self, x, v, m=1.5) -> None:
        Body.__init__(self, x, v, m)
        self.more = 2.5


@dataclass(eq=False)  # those that are compared by what they hold are plain Python's
class Record:
    x: float
    v: float
    m: float = 1.5
    hits: int = 0
    alive: bool = True
    drag, step, energy = Body.drag, Body.step, Body.energy


@dataclass(slots=True, eq=False)
class SlottedRecord:
    x: float
    v: float
    m: float = 1.5
    hits: int = 0
    alive: bool = True

    drag = 0.01
    step, energy = Body.step, Body.energy


KINDS = (Body, Slotted, OnlySome, Record, SlottedRecord)


def some(kind: Any, count: int = 5) -> list[Any]:
    """Objects of a class."""
    return [kind(0.5 * i, 1.0 - 0.25 * i, 1.0 + i) for i in range(count)]


class Fixed(NamedTuple):
    x: float
    v: float
    name: str = "one"
    m: float = 1.5

    def pull(self, other):
        return (self.x - other.x) * self.m


Plain = namedtuple("Plain", "m v x")  # noqa: PYI024 - as people write it


class More(Fixed):
    """It has a dict, and an attribute of the class."""

    scale = 2.0

    def pull(self, other):
        return (self.x - other.v) * self.scale


def of_tuples(items, steps):
    total = 0.0
    for k in range(steps):
        for i, one in enumerate(items):
            total += one.x * one.v - k * items[i - 1].m
    return total


def pulled(items, steps):
    total = 0.0
    for _ in range(steps):
        for one in items:
            for other in items:
                if one is not other:
                    total += one.pull(other)
    return total


def test_named_tuples() -> None:
    """Their fields are read, whatever others hold."""
    for kind in (Fixed, More, Plain):
        made = [
            kind(0.5 * i, 1.0 - 0.25 * i, 2.0 + i) for i in range(6)
        ]  # of Fixed a name that is no text
        for function in (of_tuples, pulled) if kind is not Plain else (of_tuples,):
            native = native_turns(function, lambda made=made: (made, MANY), atoms=False)
            assert native > MANY // 2, (kind, function)
    made = [Fixed(0.5, 1.5), Fixed(1.5, 2), Fixed(2.5, 3.5)]
    native_turns(of_tuples, lambda: (made, MANY), atoms=False)


def test_the_reference_reads_named_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field is read by its place."""
    made = on_the_reference(monkeypatch)
    items = [Fixed(0.5 * i, 1.0 - 0.25 * i) for i in range(6)]
    check_same(of_tuples, ufuse.compile(of_tuples), lambda: arguments(items, 200), atoms=False)
    assert any("x of items, field 0" in str(one.nest) for one in made)


def with_dicts(count: int = 5) -> list[Any]:
    """Objects whose attributes lie in dicts, of which some have keys in other orders."""
    made = some(Body, count)
    for one in made[::2]:
        one.__dict__.pop("hits")
        one.__dict__.update(more=1, hits=0)
    return made


def state(items):
    """All that a user sees of some objects."""
    names = ("x", "v", "m", "hits", "alive")
    return [[getattr(one, name) for name in names] for one in items]


def advance(bodies, dt, steps):
    for _ in range(steps):
        for i in range(len(bodies)):
            a = bodies[i]
            for j in range(i + 1, len(bodies)):
                b = bodies[j]
                d = a.x - b.x
                mag = dt / (d * d + 0.01) ** 1.5
                a.v -= d * b.m * mag
                b.v += d * a.m * mag
        for b in bodies:
            b.x += dt * b.v
    return state(bodies)


def step_all(bodies, dt, steps):
    for _ in range(steps):
        for one in bodies:
            one.step(dt)
    return state(bodies)


def counted(bodies, dt, steps):
    count, total = 0, 0.0
    for k in range(steps):
        for i, one in enumerate(bodies):
            if one.alive and one.x > k * dt:
                count += i
                total += one.energy
            elif not one.alive:
                one.hits -= 1
            else:
                one.alive = k % 7 != 3
    return count, total, state(bodies)


def pairs(bodies, dt, steps):
    total = 0.0
    for _ in range(steps):
        for a in bodies:
            for b in bodies:
                if a is b:
                    continue
                total += (a.x - b.x) * dt
                if a is not None and a != b:
                    a.v += dt * b.m
    return total, state(bodies)


def from_behind(bodies, dt, steps):
    for k in range(steps):
        last = bodies[-1]
        for one in reversed(bodies):
            one.x, last.v = one.x + dt * last.m, one.x
        bodies[-(k % 3) - 1].hits += k
    return state(bodies)


def in_calls(bodies, dt, steps):
    for k in range(steps):
        for one, other in zip(bodies, bodies):  # noqa: B905 - calls with keywords are not compiled
            push(one, other, dt if k % 2 else force(other, one))
    return state(bodies)


def push(one, other, by):
    one.v += by * other.m


def force(one, other):
    if one.x > other.v:
        return one.m
    return -other.m


def generated(bodies, dt, steps):
    total = 0.0
    for k in range(steps):
        total += sum(one.m * one.v**2 for one in bodies)
        total += max(abs(one.x) for one in bodies) * dt
        if any(one.hits > k for one in bodies):
            total += 1
    return total


def slices(bodies, dt, steps):
    for k in range(steps):
        for i, a in enumerate(bodies):
            for b in bodies[i + 1 :]:
                d = a.x - b.x
                a.v -= d * b.m * dt
                b.v += d * a.m * dt
            for j, b in enumerate(bodies[-k % 7 : k % 4 - 2], 3):
                b.hits += j
        for b in reversed(bodies[:2]):
            b.x += b.v * dt
    return state(bodies)


class World:
    def __init__(self, bodies) -> None:
        self.bodies, self.time = bodies, 0.0

    def step(self, dt):
        for one in self.bodies:
            one.step(dt)
        self.time += dt


def in_world(bodies, dt, steps):
    world = World(bodies)
    run(world, dt, steps)
    return world.time, state(bodies)


def run(world, dt, steps):
    for _ in range(steps):
        world.step(dt)


PROGRAMS = (
    advance, step_all, counted, pairs, from_behind, in_calls, generated, slices, in_world,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_programs_are_native_and_the_same(function, kind) -> None:
    """Of classes that keep attributes inline, in slots or both, and data classes."""
    assert native_turns(function, lambda: (some(kind), 0.01, MANY), atoms=False) > MANY // 2


@pytest.mark.parametrize("function", PROGRAMS)
def test_objects_with_dicts(function) -> None:
    """What is read and set lies in the dict of some, and a reference to that sees it."""
    assert native_turns(function, lambda: (with_dicts(), 0.01, MANY), atoms=False) > MANY // 2


def test_what_a_class_has_becomes_a_descriptor() -> None:
    """An object in the class of the items is itself, until its own class gets a `__get__`."""

    class Medium:
        def __init__(self, drag) -> None:
            self.drag = drag

    class Item:
        medium = Medium(2.0)

        def __init__(self) -> None:
            self.x = 1.0

    def total(items, n):
        found = 0.0
        for _ in range(n):
            for one in items:
                found += one.x * one.medium.drag
        return found

    items, compiled = [Item() for _ in range(10)], ufuse.compile(total)
    assert [compiled(items, MANY) for _ in range(3)] == [total(items, MANY)] * 3
    Medium.__get__ = lambda self, instance, owner: Medium(42.0)
    assert [compiled(items, MANY) for _ in range(3)] == [total(items, MANY)] * 3
    assert loops_of(compiled)[0].turns


@pytest.mark.parametrize("function", PROGRAMS)
def test_tuples_of_objects(function) -> None:
    """They are gone over, and their items change, as those of a list."""
    native = native_turns(function, lambda: (tuple(some(Body, 7)), 0.01, MANY), atoms=False)
    assert native > MANY // 2


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_reference_does_the_same(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does; nests with lists of objects keep the laws, and read back."""
    made = on_the_reference(monkeypatch)
    check_same(
        function,
        ufuse.compile(function),
        lambda: arguments(some(Body), 0.01, 60),
        atoms=False,
    )
    assert sum(one.turns for one in made) > 5
    assert any("list of objects" in str(one.nest) for one in made)


# The outermost loop ----------------------------------------------------------------------------------------------


def moved(bodies, dt):
    for one in bodies:
        one.x += one.v * dt
        one.hits += 1


def backwards(bodies, dt):
    for i, one in enumerate(reversed(bodies)):
        one.v, one.hits = one.x * dt, i


def both(bodies, others):
    for one, other in zip(bodies, others):  # noqa: B905 - calls with keywords are not compiled
        one.x += other.v
        other.hits += one.hits
    return state(bodies), state(others)


def against_all(bodies, dt):
    for one in bodies:
        for other in bodies:
            if other is not one:
                one.v += other.m * dt


def test_over_the_items() -> None:
    """The loop begins at its header, and its iterator stands where plain Python leaves it."""
    for function in (moved, backwards):
        assert native_turns(function, lambda: (some(Body, LONG), 0.5), atoms=False) > LONG
    assert native_turns(against_all, lambda: (some(Body, 200), 0.5), atoms=False) > 100
    made = lambda: (some(Body, LONG), some(Slotted, LONG))  # noqa: E731
    assert native_turns(both, made, atoms=False) > LONG


def last_of(bodies):
    total = 0.0
    for one in bodies:
        total += one.x
        if total > 3e5:
            break
    return total, one


def first_above(bodies, limit):
    for i, one in enumerate(bodies):
        if one.x > limit:
            return i, one
    return None


def closest(bodies, x):
    best, least = None, 1e300
    for one in bodies:
        d = abs(one.x - x)
        if best is None or d < least:
            best, least = one, d
    return best, least


def most(bodies):
    best = bodies[0]
    for one in bodies:
        if one.x * one.v > best.x * best.v:
            best = one
    return best


def led(bodies, steps):
    leader, count = bodies[-1], 0
    for _ in range(steps):
        before = leader
        for one in bodies:
            if one.v > leader.v:
                leader = one
        leader.v -= 0.01
        if leader is not before:
            count += 1
    return leader, count, state(bodies), before


class Bird(Body):
    def follow(self, flock):
        total, count = 0.0, 0
        for other in flock:
            if other is not self:
                total += other.v
                count += 1
            other.hits += 1
            self.x += 0.001 * other.m
        self.v += 0.01 * (total / count - self.v)


def follow(bird, flock):
    bird.follow(flock)
    return bird, state(flock), bird.x, bird.v


def watched(flock, steps):
    first, lone = flock[0], Bird(0.5, 1.5)
    for k in range(steps):
        one = flock[k % len(flock)]
        if one is first:
            one.hits += 1
        if one is lone or one == first:
            one.x -= 1.0
        one.v += first.v * 0.01 + lone.m
        first.x += 0.5
    return first, state(flock)


def with_first(count):
    flock = some(Bird, count)
    return flock[count // 6], flock


@pytest.mark.parametrize(
    ("function", "make"),
    [(follow, lambda: with_first(LONG)), (watched, lambda: (some(Bird), LONG))],
)
def test_an_item_in_a_local_beside_its_list(function, make) -> None:
    """As `self` is in a method that goes over all objects: what is set under one name is seen under the other."""
    assert native_turns(function, make, atoms=False) > LONG


OUTLIVE = (
    (last_of, lambda: (some(Body, LONG),)),
    (first_above, lambda: (some(Body, 2 * LONG), 0.5 * LONG)),
    (closest, lambda: (some(Body, LONG), 0.25 * LONG + 0.2)),
    (most, lambda: (some(Slotted, LONG),)),
    (led, lambda: (some(Body), LONG)),
)


@pytest.mark.parametrize(("function", "make"), OUTLIVE)
def test_items_that_outlive_the_loop(function, make) -> None:
    """They are the very objects, also those that a turn leaves for the next."""
    assert native_turns(function, make, atoms=False) > LONG


@pytest.mark.parametrize(("function", "make"), OUTLIVE)
def test_the_reference_gives_the_same_items(function, make, monkeypatch) -> None:
    """What a nest means that leaves items in locals is what the program does."""
    made = on_the_reference(monkeypatch)
    monkeypatch.setitem(globals(), "LONG", 60)
    check_same(function, ufuse.compile(function), lambda: arguments(*make()), atoms=False)
    assert sum(one.turns for one in made) > 5
    assert any("an item of" in str(one.nest) for one in made)


def others_energy(bird, flock):
    return sum(one.m * one.v for one in flock if one is not bird)


def test_whole_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """They read lists of objects; an argument that is an item, too, leaves them to plain Python."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(like(others_energy))
    for place in (None, None, None, 3, None, 0):
        for _ in range(20):
            flock = some(Bird, 7)
            bird = Bird(0.5, 0.5) if place is None else flock[place]
            assert compiled(bird, flock) == others_energy(bird, flock)
    assert type(compiled.__ufuse_cache__.whole_call).__name__ == "Entry"


# Turns that plain Python does ------------------------------------------------------------------------------------


def divided(bodies, at, steps):
    for i in range(steps):
        one = bodies[at[i]]
        one.hits += 1
        one.x = one.v / one.m
        bodies[0].hits += 1
    return state(bodies)


@pytest.mark.parametrize("place", [0, 1, MANY // 2, MANY - 1])
@pytest.mark.parametrize("odd", ["zero", 5, -6, 2**70])
def test_an_error_shows_what_was_set_before(place: int, odd: Any) -> None:
    """All of the turns before, and of the turn that fails what comes before the error."""
    compiled = ufuse.compile(divided)
    for _ in range(3):
        compiled(some(Body), [1, -2, 3] * (MANY // 3), MANY)
    at = [1, -2, 3] * (MANY // 3)
    at[place] = 4 if odd == "zero" else odd
    kept, expected = some(Body), some(Body)
    for function, bodies in ((compiled, kept), (divided, expected)):
        bodies[4].m = 0.0
        with pytest.raises((ZeroDivisionError, IndexError)):
            function(bodies, at, MANY)
    assert state(kept) == state(expected)
    assert sum(loop.turns for loop in loops_of(compiled)) > MANY


def looked_at(bodies, at, steps):
    count = 0
    for k in range(steps):
        if bodies[at[k]] is not None:
            count += 1
    return count


def compared(bodies, at, steps):
    count, one = 0, bodies[0]
    for k in range(steps):
        if one is bodies[at[k]] or bodies[at[k]] == one:
            count += 1
    return count


def dropped(bodies, at, steps):
    count = 0
    for k in range(steps):
        count += (bodies[at[k]], 1)[1]
        bodies[at[k]]
    return count


@pytest.mark.parametrize("function", [looked_at, compared, dropped])
def test_an_item_that_is_not_there_raises(function) -> None:
    """Also where nobody takes an attribute of it."""
    at = [0, 2, -3] * (MANY // 3)
    assert native_turns(function, lambda: (some(Body), at, MANY)) > MANY // 2
    for odd in (5, -6):
        wrong = [*at[: MANY // 2], odd, *at[: MANY // 2]]
        assert native_turns(function, lambda wrong=wrong: (some(Body), wrong, MANY)) > 0
        with pytest.raises(IndexError):
            ufuse.compile(function)(some(Body), wrong, MANY)


def grows(bodies, steps):
    for k in range(steps):
        one = bodies[k % len(bodies)]
        one.hits = one.hits * 3 + k
        one.x += one.hits % 7
    return state(bodies)


def test_ints_beyond_64_bits_are_exact() -> None:
    """Such turns are plain Python's, and so is what begins with them."""
    for first in (1, 2**63, -(2**63)):

        def make(first: int = first) -> Any:
            made = some(Body)
            made[2].hits = first
            return made, 400

        native_turns(grows, make, atoms=False)


def counts(bodies, steps):
    for _ in range(steps):
        for one in bodies:
            one.hits += 1
            one.x = 1.0 * one.hits


def test_an_interrupt_between_turns() -> None:
    """The handler sees objects as they are between two turns."""
    seen = []

    def stop(*_):
        seen.append([one.x for one in bodies])
        raise KeyboardInterrupt

    compiled = ufuse.compile(counts)
    for _ in range(3):
        compiled(some(Body, 7), MANY)
    bodies = some(Body, 7)
    with on_alarm(stop), pytest.raises(KeyboardInterrupt):
        called_with_alarm(0.05, compiled, bodies, 10**10)
    done = bodies[0].hits
    assert done > MANY
    assert [one.hits for one in bodies] == [done] * 7 or done - bodies[-1].hits == 1
    assert seen == [[float(one.hits) for one in bodies]]


# What is not followed --------------------------------------------------------------------------------------------


def mixed(bodies, other, n):
    for i in range(n):
        one = bodies[i % 5]
        one.x += 1.0
        other.v += one.x * 0.5
        other.hits += one.hits
    return state(bodies), other.v, other.hits


class Meter:
    def __init__(self) -> None:
        self.x, self.total = 0.0, 0.0


def measured(bodies, meter, n):
    for i in range(n):
        meter.x += bodies[i % 5].x
        meter.total += bodies[i % 3].v
    return state(bodies), meter.x, meter.total


def test_an_object_whose_dict_is_an_item_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another class, where only that object changes; items may be there twice then."""
    monkeypatch.setattr(decorator, "MEASURING", False)

    def shared(number: int) -> tuple[Any, ...]:
        bodies, meter = some(Body), Meter()
        if number == 1:
            meter.__dict__ = bodies[1].__dict__
            meter.total = 0.5
        elif number == 2:
            bodies[2] = bodies[0]
        return bodies, meter, MANY

    for number in range(3):
        compiled = ufuse.compile(like(measured))
        for _ in range(3):
            compiled(*shared(0))
        assert sum(loop.turns for loop in loops_of(compiled)) > MANY
        for _ in range(3):
            assert repr(compiled(*shared(number))) == repr(measured(*shared(number))), number


def two_lists(bodies, others, n):
    for i in range(n):
        bodies[i % 5].x += others[i % 3].v
        others[i % 3].v -= 0.001
    return state(bodies), state(others)


def like(function: Any) -> Any:
    """A function of which nothing is known."""
    return types.FunctionType(function.__code__.replace(), function.__globals__)


def test_objects_under_several_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set in one is seen under the other name, whatever compiled code there is."""
    monkeypatch.setattr(decorator, "MEASURING", False)

    def shared(number: int) -> tuple[Any, ...]:
        bodies, other = some(Body), Body(1.0, 2.0)
        if number == 1:
            other = bodies[2]
        elif number == 2:
            bodies[3] = bodies[1]
        elif number == 3:
            other.__dict__ = bodies[0].__dict__
        elif number == 4:
            bodies[4].__dict__ = bodies[1].__dict__
        elif number == 5:
            bodies[1] = Slotted(1.0, 2.0)
        elif number == 6:
            del bodies[2].m
        elif number == 7:
            bodies[3].x = 7
        return bodies, other, MANY

    def outcome(function: Any, number: int) -> str:
        bodies, other, n = shared(number)
        try:
            return repr(function(bodies, other, n))
        except AttributeError as error:
            return f"{error}, {[vars(one) for one in bodies if type(one) is Body]}, {vars(other)}"

    for number in range(8):
        compiled = ufuse.compile(like(mixed))
        for _ in range(3):
            compiled(*shared(0))
        assert sum(loop.turns for loop in loops_of(compiled)) > MANY
        for _ in range(3):
            assert outcome(compiled, number) == outcome(mixed, number), number


def test_lists_that_share_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is in both lists, or they are one list."""
    monkeypatch.setattr(decorator, "MEASURING", False)

    def shared(number: int) -> tuple[Any, ...]:
        bodies, others = some(Body), some(Body, 3)
        if number == 1:
            others = bodies
        elif number == 2:
            others[1] = bodies[4]
        elif number == 3:
            others = bodies[:3]
        return bodies, others, MANY

    for number in range(4):
        compiled = ufuse.compile(like(two_lists))
        for _ in range(3):
            compiled(*shared(0))
        assert sum(loop.turns for loop in loops_of(compiled)) > MANY
        for _ in range(3):
            assert repr(compiled(*shared(number))) == repr(two_lists(*shared(number))), number


class Noting(Body):
    noted = 0

    def __setattr__(self, name, value):
        Noting.noted += 1
        object.__setattr__(self, name, value)


class Lazily(Body):
    def __getattr__(self, name):
        if name == "m":
            return 2.0
        raise AttributeError(name)


class Managed(Body):
    @property
    def v(self):
        return self.__dict__["w"]

    @v.setter
    def v(self, value):
        self.__dict__["w"] = value


class Odd(Body):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


@pytest.mark.parametrize("kind", [Noting, Lazily, Managed, Odd])
def test_classes_that_do_more(kind) -> None:
    """Where setting or reading runs code of the program, plain Python does it."""

    def make() -> Any:
        Noting.noted = 0
        made = some(kind)
        if kind is Lazily:
            del made[1].m
        return made, 0.01, 300

    native_turns(advance, make, atoms=False)
    native_turns(step_all, make, atoms=False)


def test_an_attribute_of_one_object_alone() -> None:
    """A method, or what the class has, may be another for one of them."""

    def make(name: str, value: Any) -> Any:
        made = some(Body)
        made[3].__dict__[name] = value
        return made, 0.01, MANY

    def still(dt):
        return dt

    compiled = ufuse.compile(step_all)
    for name, value in (("more", 1), ("step", still), ("drag", 0.5), ("more", 2), ("drag", 1)):
        for _ in range(2):
            assert compiled(*make(name, value)) == step_all(*make(name, value)), name
    assert sum(loop.turns for loop in loops_of(compiled)) > MANY


def test_classes_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method or an attribute of the class is another now, or what was an attribute is a property."""
    compiled = ufuse.compile(step_all)
    for _ in range(3):
        assert compiled(some(Body), 0.01, MANY) == step_all(some(Body), 0.01, MANY)
    monkeypatch.setattr(Body, "drag", 0.25)
    assert compiled(some(Body), 0.01, MANY) == step_all(some(Body), 0.01, MANY)
    monkeypatch.setattr(Body, "step", lambda self, dt: setattr(self, "x", self.x - dt))
    assert compiled(some(Body), 0.01, MANY) == step_all(some(Body), 0.01, MANY)
    monkeypatch.undo()
    noted: list[str] = []

    def note(self, name, value):
        noted.append(name)
        object.__setattr__(self, name, value)

    monkeypatch.setattr(Body, "__setattr__", note, raising=False)
    expected = step_all(some(Body), 0.01, 20)
    before, noted[:] = list(noted), []
    assert compiled(some(Body), 0.01, 20) == expected
    assert noted == before


def check_once_changed(function: Any, make: Any, change: Any) -> None:
    """A loop is native, and does as plain Python once its classes have changed."""
    compiled = ufuse.compile(like(function))
    for _ in range(3):
        compiled(*make())
    assert sum(loop.turns for loop in loops_of(compiled)) > MANY
    change()

    def outcome(called: Any) -> str:
        try:
            return repr(called(*make()))
        except (AttributeError, IndexError, TypeError) as error:
            return repr(error)

    for _ in range(3):
        assert outcome(compiled) == outcome(function)


def unlike(bodies, n):
    count = 0
    for _ in range(n):
        for a in bodies:
            for b in bodies:
                if a != b:
                    count += 1
    return count


def differs(self, other):
    return self.x + other.x > 1.5


class Differing(Body):
    __ne__ = differs


def test_classes_that_say_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`!=` calls a `__ne__` that the class has, or gets later, though `__eq__` is that of any object."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    native_turns(unlike, lambda: (some(Differing), 300), atoms=False)

    def change() -> None:
        monkeypatch.setattr(Body, "__ne__", differs, raising=False)

    check_once_changed(unlike, lambda: (some(Body), 2 * MANY), change)


def moved_for(items, steps):
    for k in range(steps):
        for one in items:
            one.x += one.v * 0.5 + k
    return [(one.x, one.v, one.__dict__) for one in items]


def test_named_tuples_whose_fields_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field is the item that the descriptor says which the class has now."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    for is_own in (True, False):
        kind = namedtuple("kind", "m v x")  # noqa: PYI024 - as people write it
        new = kind.v if is_own else Plain.m
        check_once_changed(
            of_tuples,
            lambda kind=kind: ([kind(0.5 * i, 1.5, 2.5 + i) for i in range(5)], MANY),
            lambda kind=kind, new=new: setattr(kind, "x", new),
        )


def slotted_anew() -> tuple[Any, Any]:
    """A class with slots, and one below it whose objects have a dict, with the names of the slots."""

    class Above:
        __slots__ = ("m", "x")

    class Below(Above):
        def __init__(self, i) -> None:
            self.x, self.v, self.m = 0.5 * i, 1.0 - 0.25 * i, 1.5
            self.__dict__.update(x=7.5 + i, m=2.5)

    return Above, Below


half = property(lambda self: 0.5 * self.v, lambda self, x: setattr(self, "v", x))


@pytest.mark.parametrize("function", [of_tuples, moved_for])
@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize("new", [half, Slotted.__dict__["x"], lambda self: self, 2.5, None])
def test_classes_whose_slots_change(function, is_above, new, monkeypatch) -> None:
    """What is in a slot, or is set there, is not taken for what the dict has once the class has no such slot."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    above, below = slotted_anew()
    place = above if is_above else below

    def change() -> None:
        if new is not None:
            place.x = new
        elif is_above:
            del place.x
        else:
            place.x = above.m

    check_once_changed(function, lambda: ([below(i) for i in range(5)], MANY), change)


def from_one_on(items, first, steps):
    total = 0.0
    for k in range(steps):
        for i, one in enumerate(items):
            if i >= first:
                total += one.x * k
    return total


def test_fields_that_are_not_there() -> None:
    """Those of a tuple that is too short, or of objects of another class: plain Python goes on, and says why."""
    short: list[Any] = [tuple.__new__(Plain, (1.0,)), *(Plain(1.0, 2.0, 0.5) for _ in range(5))]
    for x, reason in (
        (None, "the attribute x of the objects in items: not all of them have it"),
        (Slotted.__dict__["x"], "x, which is a slot of other objects"),
        (Plain.x, "the attribute x of the objects in items: it is one of other objects"),
    ):
        foreign = type("Foreign", (), {"x": x})
        items, first = (short, 1) if x is None else ([foreign() for _ in range(6)], 6)
        compiled = ufuse.compile(like(from_one_on))
        with no_failures_inside():
            for _ in range(4):
                assert compiled(items, first, MANY) == from_one_on(items, first, MANY)
        whys = [loop.why_not or "" for loop in loops_of(compiled)]
        assert any(reason in why for why in whys), whys


class Joined(Body):
    mate, kind = None, None

    def __init__(self, x, v, m=1.5) -> None:
        super().__init__(x, v, m)
        self.mate = None


class SlottedJoined(Slotted):
    __slots__ = ("mate",)

    def __init__(self, x, v, m=1.5) -> None:
        super().__init__(x, v, m)
        self.mate = None


def unmated(bodies, steps):
    count = 0
    for k in range(steps):
        for one in bodies:
            if one.mate is None and one.x < 1e6:
                one.x += one.v * 0.01
                count += k
            elif one.mate is not None:
                one.x -= one.mate.x
    return count, state(bodies)


@pytest.mark.parametrize("kind", [Joined, SlottedJoined])
def test_attributes_that_are_none(kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """In all items; where one has something there, plain Python goes on."""
    assert native_turns(unmated, lambda: (some(kind), MANY), atoms=False) > MANY // 2
    made = on_the_reference(monkeypatch)
    check_same(unmated, ufuse.compile(unmated), lambda: arguments(some(kind), 300), atoms=False)
    assert any("None as mate" in str(one.nest) for one in made)
    monkeypatch.undo()
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(like(unmated))
    for mate in (None, None, None, 2, 0, None, 4, "none", None):
        results = []
        for function in (compiled, unmated):
            bodies = some(kind)
            if mate == "none":
                del bodies[3].mate
            elif mate is not None:
                bodies[mate].mate = bodies[1]
            try:
                results.append(repr(function(bodies, 200)))
            except AttributeError as error:
                results.append(repr(error))
        assert results[0] == results[1], mate
    assert sum(loop.turns for loop in loops_of(compiled)) > 200


def near(bodies, steps):
    total = 0.0
    for _ in range(steps):
        for a in bodies:
            best = None
            for b in bodies:
                if b is not a and (best is None or abs(b.x - a.x) < abs(best.x - a.x)):
                    best = b
            a.v += best.m * 0.001
            total += best.x
    return total, state(bodies)


def test_what_is_none_on_other_ways() -> None:
    """A local that is None first and then an item; None has no such attribute."""
    assert native_turns(near, lambda: (some(Body), MANY), atoms=False) > MANY // 2
    compiled = ufuse.compile(like(near))
    for count in (5, 5, 5, 1):
        found = []
        for function in (compiled, near):
            try:
                found.append(repr(function(some(Body, count), 300)))
            except AttributeError as error:
                found.append(repr(error))
        assert found[0] == found[1]


def test_numbers_of_several_types() -> None:
    """A bool among ints, an int among floats, None: plain Python goes on, and says why."""
    for name, value in (("x", 1), ("hits", True), ("m", None), ("v", np.float64(2.0))):

        def make(name: str = name, value: Any = value) -> Any:
            made = some(Body)
            if value is not None or name != "m":
                setattr(made[2], name, value)
            return made, 0.01, 200

        native_turns(step_all, make, atoms=False)
    compiled = ufuse.compile(moved)
    bodies = some(Body, 2 * MANY)
    bodies[5].x = 3
    for _ in range(20):
        compiled(bodies, 0.5)
    whys = [loop.why_not or "" for loop in loops_of(compiled)]
    assert any(
        "the attribute x of the objects in `bodies` is a float in some of them and an int in others"
        in why
        for why in whys
    ), whys


def test_numbers_of_numpy() -> None:
    """Attributes that are scalars of NumPy stay so."""

    def make() -> Any:
        made = some(Body)
        for one in made:
            one.x, one.v, one.m = np.float64(one.x), np.float64(one.v), np.float64(one.m)
        return made, 0.01, MANY

    assert native_turns(advance, make, atoms=False) > MANY // 2


def appended(bodies, n):
    for i in range(n):
        bodies[i % 3].x += 1.0
        if i % 1000 == 999:
            bodies.append(Body(1.0 * i, 2.0))
    return state(bodies)


def replaced(bodies, n):
    for i in range(n):
        bodies[i % 3].x += 1.0
        bodies[i % 3] = bodies[0]
    return state(bodies)


def test_lists_that_change() -> None:
    """They are plain Python's."""
    for function in (appended, replaced):
        native_turns(function, lambda: (some(Body), 2 * MANY), atoms=False)


def test_lists_of_other_lengths() -> None:
    """Empty ones too: the next call brings another list."""
    compiled = ufuse.compile(advance)
    for count in (5, 5, 5, 0, 1, 9, 2, 0):
        for _ in range(2):
            found = compiled(some(Body, count), 0.01, 400)
            assert found == advance(some(Body, count), 0.01, 400), count
    assert sum(loop.turns for loop in loops_of(compiled)) > 400


def test_nothing_is_kept_alive() -> None:
    """Neither the objects nor what was in them before."""
    compiled = ufuse.compile(step_all)
    for _ in range(4):
        compiled(some(Body), 0.01, MANY)
    gc.collect()
    assert not [one for one in gc.get_objects() if type(one) is Body]


def test_a_list_that_has_become_much_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What short calls took says nothing of long ones. These take a tenth of what is too long for a whole call."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(like(others_energy))
    bird = Bird(0.5, 0.5)
    for count in (7, 4000):
        flock = some(Bird, count)
        for _ in range(50):
            assert compiled(bird, flock) == others_energy(bird, flock)
        whole = compiled.__ufuse_cache__.whole_call.artefact
        before = whole.runs
        for _ in range(100):  # one call may be timed while the machine does something else
            assert compiled(bird, flock) == others_energy(bird, flock)
        assert whole.runs > before + 10

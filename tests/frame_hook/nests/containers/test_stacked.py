"""Attributes of listed objects that are arrays: elements, whole arrays, and what else shares their memory."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, ANN204, D101, D102
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import ufuse
from tests.support.alarms import called_with_alarm, on_alarm
from tests.support.comparing.compare import check_in_turn, check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import loops_of, native_turns, no_failures_inside
from tests.support.nests.reference_nests import on_the_reference
from ufuse import decorator

pytestmark = pytest.mark.any_python

pytest.importorskip("llvmlite")

MANY = 1200


class Ball:
    def __init__(self, pos, vel, mass=1.5) -> None:
        self.pos, self.vel, self.mass = pos, vel, mass

    def step(self, dt):
        self.pos += dt * self.vel
        self.vel *= 1 - 0.01 * dt

    def pull(self, other):
        d = other.pos - self.pos
        return d * (other.mass / (np.linalg.norm(d) + 0.1) ** 3)

    @property
    def energy(self):
        return 0.5 * self.mass * self.vel @ self.vel


class Slotted:
    __slots__ = ("mass", "pos", "vel")
    __init__, step, pull, energy = Ball.__init__, Ball.step, Ball.pull, Ball.energy


@dataclass(eq=False)
class Record:
    pos: np.ndarray
    vel: np.ndarray
    mass: float = 1.5
    step, pull, energy = Ball.step, Ball.pull, Ball.energy


KINDS = (Ball, Slotted, Record)


def vectors(count, dtype=float, length=3):
    """Some vectors of one type."""
    return [(np.arange(length) * 0.75 - 0.5 * i + 1).astype(dtype) for i in range(count)]


def some(kind: Any = Ball, count: int = 5, dtype: Any = float, length: int = 3) -> list[Any]:
    """Objects of a class."""
    pairs = zip(vectors(count, dtype, length), vectors(count + 2, dtype, length)[2:], strict=True)
    return [kind(pos, vel, 1.0 + i) for i, (pos, vel) in enumerate(pairs)]


def state(balls):
    """All that a user sees of some objects."""
    return [(one.pos, one.vel, one.mass) for one in balls]


def elements(balls, dt, steps):
    total = 0.0
    for k in range(steps):
        for b in balls:
            b.pos[0] += b.vel[0] * dt
            b.pos[-1] = b.pos[1] - k * dt
            total += 0.5 * b.mass * (b.vel[0] ** 2 + b.vel[1] ** 2)
    return total, state(balls)


def in_place(balls, dt, steps):
    for _ in range(steps):
        for p in balls:
            p.pos += dt * p.vel
            p.vel *= 0.99
            p.vel[:2] -= dt
    return state(balls)


def pairs(balls, dt, steps):
    for _ in range(steps):
        for i in range(len(balls)):
            for j in range(i + 1, len(balls)):
                d = balls[i].pos - balls[j].pos
                r2 = d @ d + 0.01
                balls[i].vel -= d * (balls[j].mass * dt / r2**1.5)
                balls[j].vel += d * (balls[i].mass * dt / r2**1.5)
        for p in balls:
            p.pos += dt * p.vel
    return state(balls)


def lengths(balls, dt, steps):
    total = 0.0
    for k in range(steps):
        a, b = balls[k % len(balls)], balls[-1 - k % 2]
        d = a.pos - b.pos
        total += (d * d).sum() * dt + np.dot(d, a.vel) - np.linalg.norm(b.vel) + d.max()
        total -= d[0] * d[0] + d[1] * d[1] + a.pos.dot(b.pos) + np.sum(a.vel)
    return total


def in_methods(balls, dt, steps):
    total = 0.0
    for _ in range(steps):
        for p in balls:
            for other in balls:
                if other is not p:
                    p.vel += dt * p.pull(other)
        for p in balls:
            p.step(dt)
            total += p.energy
    return total, state(balls)


def bounced(balls, dt, steps):
    hits = 0
    for _ in range(steps):
        for p in balls:
            p.pos += dt * p.vel
            for k in range(len(p.pos)):
                if p.pos[k] < 0:
                    p.pos[k] = -p.pos[k]
                    p.vel[k] = -p.vel[k]
                    hits += 1
    return hits, state(balls)


def gathered(balls, dt, steps):
    out = np.zeros((len(balls), 3))
    centre = np.zeros(3)
    for _ in range(steps):
        centre[:] = 0
        for i, p in enumerate(balls):
            out[i] = p.pos
            centre += p.pos * p.mass
            x, y, z = p.vel
            out[i, 0] += x * y - z * dt
        for i, p in enumerate(balls):
            p.pos -= 0.01 * dt * (centre - out[i])
            p.vel[:] = np.minimum(p.vel, out[i])
    return out, centre, state(balls)


def kept_across_a_jump(balls, dt, steps):
    for k in range(steps):
        for p in balls:
            p.pos += p.vel if k % 3 else -p.vel
            p.vel *= dt if p.pos[0] > 0 else p.mass
    return state(balls)


def bound(balls, dt, steps):
    for _ in range(steps):
        for p in balls:
            p.vel = p.vel * 0.99
            p.pos += dt * p.vel
    return state(balls)


def bound_and_written(balls, dt, steps):
    hits = 0
    for k in range(steps):
        for i, p in enumerate(balls):
            before = p.vel
            force = 1.0 - balls[i - 1].pos * 0.1
            p.vel = before * 0.99 + force * dt
            if k % 3:
                p.pos = p.pos + dt * p.vel
            for axis in range(3):
                if p.pos[axis] < 0:
                    p.vel[axis] = -p.vel[axis]
                    hits += 1
            p.vel *= 0.999
    return hits, state(balls)


def bound_to_made(balls, dt, steps):
    for k in range(steps):
        for p in balls:
            new = np.zeros(3)
            new[k % 3] = p.vel[0] * dt
            p.pos = p.pos.copy() if k % 5 else np.minimum(p.pos, new) + new
            p.vel = new
    return state(balls)


class Pulled(Ball):
    def force(self, others):
        total = np.zeros(3)
        for other in others:
            if other is not self:
                d = other.pos - self.pos
                total = total + d * (other.mass / (d @ d + 0.1))
        return total

    def advance(self, others, dt):
        acc = self.force(others)
        self.pos = self.pos + self.vel * dt + 0.5 * acc * dt**2
        self.vel = self.vel + acc * dt


def advanced(balls, dt, steps):
    for _ in range(steps):
        for p in balls:
            p.advance(balls, dt)
    return state(balls)


PROGRAMS = (
    elements, in_place, pairs, lengths, in_methods, bounced, gathered, kept_across_a_jump,
    bound, bound_and_written, bound_to_made,
)  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_programs_are_native_and_the_same(function, kind) -> None:
    """Elements and whole arrays, read and written, of classes that keep attributes inline or in slots."""
    assert native_turns(function, lambda: (some(kind), 0.01, MANY), atoms=False) > MANY // 2


@pytest.mark.parametrize("function", PROGRAMS)
def test_the_reference_does_the_same(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a nest means is what the program does; nests with such attributes keep the laws, and read back."""
    made = on_the_reference(monkeypatch)
    check_same(function, ufuse.compile(function), lambda: arguments(some(), 0.01, 60), atoms=False)
    assert sum(one.turns for one in made) > 5
    assert any("1-d arrays of float64" in str(one.nest) for one in made)


def test_methods_that_bind_new_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item has an array of its own behind the loop, as plain Python makes it."""
    assert native_turns(advanced, lambda: (some(Pulled), 0.01, MANY), atoms=False) > MANY // 2
    made = on_the_reference(monkeypatch)
    check_same(
        advanced, ufuse.compile(advanced), lambda: arguments(some(Pulled), 0.01, 30), atoms=False
    )
    assert any("new arrays, vel of balls" in str(one.nest) for one in made)


class Placed(NamedTuple):
    pos: np.ndarray
    vel: np.ndarray
    mass: float


def elements_of_tuples(balls, dt, steps):
    total = 0.0
    for _ in range(steps):
        for b in balls:
            b.pos[1] += b.vel[0] * dt
            b.vel[:] = b.vel * 0.5 + b.pos * b.mass
            total += b.pos @ b.vel
            b.pos[:] -= 1
    return total, [tuple(one) for one in balls]


def test_fields_of_named_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuples do not change, but the arrays in them do; binding one anew is an error."""
    make = lambda: (some(Placed), 0.01, MANY)  # noqa: E731
    assert native_turns(elements_of_tuples, make, atoms=False) > MANY // 2
    assert native_turns(in_place, make, atoms=False) == 0
    made = on_the_reference(monkeypatch)
    check_same(
        elements_of_tuples, ufuse.compile(elements_of_tuples),
        lambda: arguments(some(Placed), 0.01, 60), atoms=False,
    )  # fmt: skip
    assert any(
        "1-d arrays of float64, written, pos of balls, field 0" in str(one.nest) for one in made
    )


@pytest.mark.parametrize(
    ("function", "kind"),
    [(in_place, Ball), (bound_and_written, Slotted), (elements_of_tuples, Placed)],
)
def test_calls_beside_the_definition(function, kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """`UFUSE_CHECK=1`: on copies of the arrays, also of those in tuples."""
    monkeypatch.setattr(decorator, "CHECKING", True)
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(like(function))
    for _ in range(3):
        assert repr(compiled(some(kind), 0.01, 400)) == repr(function(some(kind), 0.01, 400))
    assert sum(loop.turns for loop in loops_of(compiled)) > 200


@pytest.mark.parametrize("dtype", ["f4", "i8", "i4", "u1", "?", "c16"])
def test_other_dtypes(dtype: str) -> None:
    """Elements are of the arrays' type; sums, differences and what is stored are NumPy's."""

    def read_and_written(balls, steps):
        total = 0
        for k in range(steps):
            for b in balls:
                total += b.pos[0] + b.vel[-1]
                b.pos[k % 3] = b.vel[(k + 1) % 3]
                b.vel[1] = 1
        return total, state(balls)

    def whole(balls, steps):
        for k in range(steps):
            for i, b in enumerate(balls):
                b.pos[:] = balls[i - 1].vel
                b.vel[k % 2 :] = np.maximum(b.pos, b.vel)[k % 2 :]
        return state(balls)

    make = lambda: (some(dtype=dtype), MANY)  # noqa: E731
    native = native_turns(read_and_written, make, atoms=False)
    assert native > MANY // 2 or dtype == "?"  # whose sum begins with another type
    assert native_turns(whole, make, atoms=False) > MANY // 2 or dtype == "c16"


def of_grids(balls, dt, steps):
    total = 0.0
    for k in range(steps):
        for b in balls:
            b.pos[k % 2, 1:] += dt * b.vel[1, :-1]
            b.vel += b.pos.T @ b.pos * 1e-6 if k % 5 == 0 else b.pos[0, 0] * dt
            total += b.vel.sum() + b.pos[1].sum() + b.pos[k % 2, k % 3]
    return total, state(balls)


def test_arrays_of_two_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows, elements and sums, as those of arrays in locals."""

    def make(steps: int = MANY) -> tuple[Any, ...]:
        grids = np.random.default_rng(3).normal(size=(8, 3, 3))
        balls = [
            Ball(one.copy(), other.copy()) for one, other in zip(grids[:4], grids[4:], strict=True)
        ]
        return balls, 0.01, steps

    assert native_turns(of_grids, make, atoms=False) > MANY // 2
    made = on_the_reference(monkeypatch)
    check_same(of_grids, ufuse.compile(of_grids), lambda: make(60), atoms=False)
    assert any("2-d arrays of float64" in str(one.nest) for one in made)


# What is not as it was --------------------------------------------------------------------------------------------


def like(function: Callable[..., Any]) -> Any:
    """A function of which nothing is known."""
    return types.FunctionType(
        function.__code__.replace(), function.__globals__, argdefs=function.__defaults__
    )


class Other(Ball):
    pass


class Sub(np.ndarray):
    pass


def read_only(array):
    array.flags.writeable = False
    return array


def with_one(name: str, change: Callable[[Any], Any], at: int = 2, count: int = 5) -> list[Any]:
    """Objects of which one has another array."""
    made = some(count=count)
    setattr(made[at], name, change(getattr(made[at], name)))
    return made


def views_of_one(step: int = 3, base: Any = None) -> list[Any]:
    """Objects whose arrays are parts of one."""
    base = np.arange(40.0) if base is None else base
    return [Ball(base[step * i : step * i + 3], base[20 + 3 * i : 23 + 3 * i]) for i in range(5)]


def same_twice() -> list[Any]:
    made = some()
    return [*made, made[1]]


def same_array() -> list[Any]:
    made = some()
    made[3].pos = made[1].pos
    return made


def crossed() -> list[Any]:
    made = some()
    made[3].pos = made[1].vel
    return made


def interleaved() -> list[Any]:
    base = np.arange(30.0).reshape(5, 6)
    return [Ball(row[:3], row[3:]) for row in base]


def with_missing() -> list[Any]:
    made = some()
    del made[4].vel
    return made


def with_dicts() -> list[Any]:
    made = some()
    for one in made[::2]:
        one.__dict__["more"] = one.__dict__.pop("pos")
        one.__dict__["pos"] = one.more + 1
    return made


def odd_numbers() -> list[Any]:
    made = some()
    made[0].pos[:] = [np.nan, -np.nan, -0.0]
    made[1].vel[:] = [np.inf, -np.inf, 1e308]
    made[2].pos[:] = np.array([0xFFF8000000000001, 0x7FF0000000000001, 0], np.uint64).view(float)
    return made


ODD: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "one": lambda: some(count=1),
    "seven": lambda: some(count=7),
    "another class": lambda: [*some(), *some(Other, 1)],
    "all of another class": lambda: some(Other),
    "another shape": lambda: with_one("pos", lambda one: one[:2]),
    "one element": lambda: some(length=1),
    "no elements": lambda: some(length=0),
    "four elements": lambda: some(length=4),
    "another dtype": lambda: with_one("vel", lambda one: one.astype("f4")),
    "all of another dtype": lambda: some(dtype="f4"),
    "ints": lambda: some(dtype=int),
    "another byte order": lambda: with_one("vel", lambda one: one.astype(">f8")),
    "read-only": lambda: with_one("pos", read_only),
    "all read-only": lambda: [Ball(read_only(one.pos), one.vel) for one in some()],
    "of a subclass": lambda: with_one("pos", lambda one: one.view(Sub)),
    "a list": lambda: with_one("vel", list),
    "nothing": lambda: with_one("pos", lambda _: None),
    "a number": lambda: with_one("vel", lambda _: 1.5),
    "no axes": lambda: with_one("vel", lambda one: one.sum(keepdims=True)[0]),
    "an array without axes": lambda: with_one("vel", lambda _: np.array(1.5)),
    "two axes": lambda: [Ball(np.ones((2, 3)) * i, np.ones((2, 3))) for i in range(5)],
    "backwards": lambda: with_one("pos", lambda one: one[::-1]),
    "with gaps": lambda: with_one("pos", lambda one: np.repeat(one, 2)[::2]),
    "unaligned": lambda: with_one(
        "vel", lambda one: np.frombuffer(bytearray(b"x" + one.tobytes()), float, 3, 1)
    ),
    "of a buffer": lambda: with_one("pos", lambda one: np.frombuffer(bytearray(one.tobytes()))),
    "broadcast": lambda: with_one("vel", lambda _: np.broadcast_to(1.5, 3)),
    "the same object twice": same_twice,
    "the same array twice": same_array,
    "an array of both": crossed,
    "parts of one array": views_of_one,
    "parts of one array in another order": lambda: views_of_one()[::-1],
    "parts that overlap": lambda: views_of_one(2),
    "parts of a read-only array": lambda: views_of_one(base=read_only(np.arange(40.0))),
    "rows": interleaved,
    "an attribute missing": with_missing,
    "dicts": with_dicts,
    "odd numbers": odd_numbers,
}


CHECKED = (elements, in_place, pairs, lengths, bounced, bound, bound_and_written, bound_to_made)


@pytest.mark.parametrize("function", CHECKED)
def test_objects_unlike_those_before(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where some array is another, what is compiled for those before is not used, or right; errors are eager's."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    compiled = ufuse.compile(like(function))
    good = lambda: (some(), 0.01, 20)  # noqa: E731
    rows = [good(), good(), good()]
    for make in ODD.values():
        rows += [(make(), 0.01, 20), (make(), 0.01, 20), good()]
    with no_failures_inside():
        check_in_turn(function, compiled, rows)
    assert sum(loop.turns for loop in loops_of(compiled)) >= 20


@pytest.mark.parametrize("odd", list(ODD))
def test_objects_that_come_first(odd, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled for odd ones is right for them and for others."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    for function in (elements, in_place, lengths, bound, bound_and_written):
        compiled = ufuse.compile(like(function))
        rows = [(ODD[odd](), 0.01, 20) for _ in range(4)]
        rows += [(some(), 0.01, 20) for _ in range(3)]
        with no_failures_inside():
            check_in_turn(function, compiled, rows)


def beside(balls, other, out, steps):
    for k in range(steps):
        for i, b in enumerate(balls):
            b.pos += other * 0.5
            out[i % len(out)] += b.vel[k % 3]
            b.pos[0] -= out[0]
    return state(balls), other, out


def only_read(balls, other, out, steps):
    total = 0.0
    for k in range(steps):
        for i, b in enumerate(balls):
            out[(i + k) % len(out)] = b.pos[0] + b.vel @ b.pos
            total += b.pos[k % 3] * other[k % len(other)]
    return total, state(balls), other, out


@pytest.mark.parametrize("function", [beside, only_read])
def test_arrays_beside_the_objects(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that share memory with the objects' are seen to change where eager's do."""
    monkeypatch.setattr(decorator, "MEASURING", False)

    def good() -> tuple[Any, ...]:
        return some(), np.ones(3), np.zeros(5), 100

    def other_is(change: Callable[[Any], Any]) -> tuple[Any, ...]:
        made = some()
        return made, change(made[1].pos), np.zeros(5), 100

    def out_is(change: Callable[[Any], Any]) -> tuple[Any, ...]:
        made = some()
        return made, np.ones(3), change(made[1]), 100

    def out_is_base() -> tuple[Any, ...]:
        base = np.arange(40.0)
        return views_of_one(base=base), base[36:39], base, 100

    def out_is_rest() -> tuple[Any, ...]:
        base = np.arange(40.0)
        return views_of_one(base=base), base[35:38], base[38:], 100

    odd: list[Callable[[], tuple[Any, ...]]] = [
        lambda: other_is(lambda one: one),
        lambda: other_is(lambda one: one[::-1]),
        lambda: other_is(lambda one: np.frombuffer(one.data)),
        lambda: other_is(np.lib.stride_tricks.as_strided),
        lambda: out_is(lambda one: one.pos),
        lambda: out_is(lambda one: one.vel[1:]),
        out_is_base,
        out_is_rest,
    ]
    compiled = ufuse.compile(like(function))
    rows = [good() for _ in range(4)]
    for make in odd:
        rows += [make(), make(), good()]
    with no_failures_inside():
        check_in_turn(function, compiled, rows)
    assert sum(loop.turns for loop in loops_of(compiled)) > 100
    for make in odd:
        check_in_turn(function, ufuse.compile(like(function)), [make() for _ in range(4)])


def two_lists(balls, others, steps):
    for k in range(steps):
        for a in balls:
            for b in others:
                a.pos += b.vel * 0.01
                b.mass += a.vel[k % 3]
    return state(balls), state(others)


def test_lists_that_share_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item, or an array, is in both."""
    monkeypatch.setattr(decorator, "MEASURING", False)

    def made(kind: int) -> tuple[Any, ...]:
        balls, others = some(), some(Slotted, 3)
        if kind == 1:
            others[1].vel = balls[2].pos
        elif kind == 2:
            others[1].vel = balls[2].pos[:]
        elif kind == 3:
            others[1].vel = balls[2].vel
        elif kind == 4:
            others[:] = some(count=3)
        elif kind == 5:
            others[:] = balls[:3]
        elif kind == 6:
            others = balls
        return balls, others, 20

    compiled = ufuse.compile(like(two_lists))
    with no_failures_inside():
        check_in_turn(two_lists, compiled, [made(k) for k in (0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0)])
        for kind in range(1, 7):
            check_in_turn(two_lists, ufuse.compile(like(two_lists)), [made(kind) for _ in range(4)])
    assert sum(loop.turns for loop in loops_of(compiled)) > 20


def bound_with(balls, held, steps):
    for k in range(steps):
        for p in balls:
            p.vel = p.vel + 1.0
            if k % 50 == 49:
                p.pos += p.vel
    return state(balls), held


def bound_later(balls, held, steps):
    for k in range(steps):
        for p in balls:
            p.vel += 1.0
            if k % 50 == 49:
                p.vel = p.vel * 0.5
                p.vel[0] = k
    return state(balls), held


@pytest.mark.parametrize("function", [bound_with, bound_later])
def test_others_keep_the_old_arrays(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was in them when the attribute was bound to another; items may have begun with one array."""
    monkeypatch.setattr(decorator, "MEASURING", False)

    def made(kind: int) -> tuple[Any, ...]:
        balls = some()
        held: list[Any] = []
        if kind == 1:
            held = [one.vel for one in balls]
        elif kind == 2:
            held = [balls[1].vel[1:], balls[2].vel[::-1]]
        elif kind == 3:
            for one in balls[1:]:
                one.vel = balls[0].vel
        elif kind == 4:
            balls[2].vel = balls[1].pos
        elif kind == 5:
            balls = views_of_one()
            held = [balls[0].vel.base]
        elif kind == 6:
            for one in balls:
                one.vel.flags.writeable = False
        return balls, held, 400

    compiled = ufuse.compile(like(function))
    with no_failures_inside():
        check_in_turn(
            function, compiled, [made(k) for k in (0, 0, 0, 1, 1, 2, 0, 3, 3, 4, 0, 5, 5, 6, 0)]
        )
        for kind in range(1, 7):
            check_in_turn(function, ufuse.compile(like(function)), [made(kind) for _ in range(4)])
        compiled = ufuse.compile(like(function))  # the comparison has the arrays, too
        found = [compiled(*made(0)) for _ in range(4)]
    assert repr(found) == repr([function(*made(0))] * 4)
    assert sum(loop.turns for loop in loops_of(compiled)) > 300


def test_old_arrays_die_within_the_call() -> None:
    """Where a weak reference tells of it, plain Python binds; else at the end of the call at the latest."""
    compiled = ufuse.compile(like(bound))
    for _ in range(3):
        compiled(some(), 0.01, MANY)
    native = sum(loop.turns for loop in loops_of(compiled))
    assert native >= MANY
    told: list[float] = []
    balls = some()

    def tell(_: object) -> None:
        told.append(balls[0].pos[0])

    references = [weakref.ref(one.vel, tell) for one in balls]
    before = balls[0].pos[0]
    compiled(balls, 0.01, MANY)
    assert told[0] == before
    assert len(told) == len(balls)
    assert all(one() is None for one in references)
    other = Ball(np.zeros(3), np.zeros(3))
    compiled(balls, 0.01, MANY)
    counts = [sys.getrefcount(one.vel) for one in (*balls, other)]
    assert len({*counts}) == 1


def stale(balls, steps):
    for k in range(steps):
        for p in balls:
            old = p.vel
            part = p.pos[1:]
            p.vel = p.vel * 0.5
            p.pos = p.pos + 1.0
            p.vel[0] += old[0] - part[0] + k
    return state(balls)


def stale_in_a_call(balls, steps):
    for _ in range(steps):
        for p in balls:
            halve(p, p.vel)
    return state(balls)


def halve(p, old):
    p.vel = p.vel * 0.5
    p.vel[0] += old[0]


def gone_over(balls, steps):
    total = 0.0
    for _ in range(steps):
        for p in balls:
            for x in p.vel:
                p.vel = p.vel + 1.0
                total += x
    return total, state(balls)


def kept_by_others(balls, steps):
    for k in range(steps):
        for i, p in enumerate(balls):
            new = p.vel * 0.5
            p.vel = new
            new += 1.0
            balls[i - 1].pos = new if k % 7 == 3 else new * 2.0
    return state(balls)


def of_another_kind(balls, steps):
    for k in range(steps):
        for p in balls:
            p.vel = p.vel * 0.5 if k != steps // 2 else p.vel[:2] * 1.0
            p.pos = (p.pos > 0) if k == steps - 2 else p.pos + 1
    return state(balls)


def two_at_once(balls, steps):
    for _ in range(steps):
        for p in balls:
            p.vel, p.pos = p.pos * 1.5, p.vel + p.pos
    return state(balls)


@pytest.mark.parametrize(
    "function", [stale, stale_in_a_call, gone_over, kept_by_others, of_another_kind, two_at_once]
)
def test_the_old_array_is_still_used(function, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a name was bound to stays what it was, in the loop, too; another dtype or shape is plain Python's."""
    native_turns(function, lambda: (some(), 300), atoms=False)
    monkeypatch.setattr(decorator, "MEASURING", False)
    check_in_turn(function, ufuse.compile(like(function)), [(some(), 40) for _ in range(4)])


# Turns that plain Python does ------------------------------------------------------------------------------------


def divided(balls, at, steps):
    for k in range(steps):
        one = balls[at[k]]
        one.pos += one.vel
        one.vel[k % 3] = one.pos[0] / one.mass
        balls[0].pos[at[k] + 2] += 1.0
    return state(balls)


@pytest.mark.parametrize("place", [0, 1, MANY // 2, MANY - 1])
@pytest.mark.parametrize("odd", [-1, 1, 5, -6])
def test_an_error_shows_what_was_written_before(place: int, odd: int) -> None:
    """All of the turns before, and of the turn that fails what comes before the error."""
    at = [0, -2, 0, -3] * (MANY // 4)
    wrong = list(at)
    wrong[place] = odd
    compiled = ufuse.compile(like(divided))

    def make(at: list[int], mass: Any = 1.0) -> Any:
        balls = some()
        balls[-1].mass = mass
        return balls, at, MANY

    rows = [make(at), make(at), make(at), make(wrong), make(wrong, 0.0), make(at)]
    with no_failures_inside():
        check_in_turn(divided, compiled, rows)
    assert sum(loop.turns for loop in loops_of(compiled)) > MANY


def warned(balls, steps):
    for k in range(steps):
        for b in balls:
            b.pos *= 1.5
            b.vel[0] = 1.0 / b.pos[0]
            b.vel -= np.sqrt(b.pos + k)
    return state(balls)


def test_warnings_are_those_of_plain_python() -> None:
    """Of an overflow, a division by zero and a root: once for each operation, in each mode."""
    assert native_turns(warned, lambda: (some(), 300), atoms=False) >= 0

    def zeros() -> Any:
        made = some()
        made[3].pos[:] = 0
        return made, 100

    native_turns(warned, zeros, atoms=False)


def counts(balls, steps):
    for _ in range(steps):
        for one in balls:
            one.pos += 1.0
            one.vel[0] = 2.0 * one.pos[0]


def test_an_interrupt_between_turns() -> None:
    """The handler sees arrays as they are between two turns."""
    seen = []

    def stop(*_):
        seen.append([one.pos[0] for one in balls])
        raise KeyboardInterrupt

    def fresh() -> list[Any]:
        return [Ball(np.zeros(3), np.zeros(3)) for _ in range(7)]

    compiled = ufuse.compile(counts)
    for _ in range(3):
        compiled(fresh(), MANY)
    balls = fresh()
    with on_alarm(stop), pytest.raises(KeyboardInterrupt):
        called_with_alarm(0.05, compiled, balls, 10**10)
    done = balls[0].pos[0]
    assert done > MANY
    assert all(one.pos[0] in (done, done - 1.0) for one in balls)
    assert seen == [[one.pos[0] for one in balls]]


# What is not followed --------------------------------------------------------------------------------------------


def nearest(balls, steps):
    best = balls[0].pos
    for k in range(steps):
        for b in balls:
            if b.pos[0] + k < best[0]:
                best = b.pos
        best[0] += 1.0
    return best, state(balls)


def given_away(balls, steps):
    pos = None
    for k in range(steps):
        for b in balls:
            pos = b.pos
            pos[0] += k
        if pos[0] > 1e300:
            break
    return pos, state(balls)


def swapped(balls, steps):
    for _ in range(steps):
        for b in balls:
            b.pos, b.vel = b.vel, b.pos
    return state(balls)


def shared_out(balls, steps):
    for k in range(steps):
        for b in balls:
            b.pos = balls[k % 5].vel
    return state(balls)


def compared(balls, steps):
    count = 0
    for k in range(steps):
        for b in balls:
            count += b.pos is balls[k % 3].pos
            count += b.vel is not None
    return count


@pytest.mark.parametrize("function", [nearest, given_away, swapped, shared_out, compared])
def test_what_becomes_an_object(function) -> None:
    """Locals that are such arrays behind the loop are the very objects."""
    native_turns(function, lambda: (some(), 300), atoms=False)


class Noting(Ball):
    noted = 0

    def __setattr__(self, name, value):
        Noting.noted += 1
        object.__setattr__(self, name, value)


class Managed(Ball):
    @property
    def vel(self):
        return self.__dict__["w"]

    @vel.setter
    def vel(self, value):
        self.__dict__["w"] = value


@pytest.mark.parametrize("kind", [Noting, Managed])
def test_classes_that_do_more(kind) -> None:
    """Setting `p.pos += x` runs the class's own code."""

    def make() -> Any:
        Noting.noted = 0
        return some(kind), 0.01, 100

    for function in (in_place, elements):
        native_turns(function, make, atoms=False)


def first_element(balls):
    for b in balls:
        b.pos[0] += 1.0


def test_large_arrays_are_not_copied_for_little() -> None:
    """Where copying takes longer than plain Python does, plain Python does it."""
    balls = [Ball(np.zeros(20000), None) for _ in range(40)]
    compiled = ufuse.compile(like(first_element))
    for _ in range(300):
        compiled(balls)
    assert all(one.pos[0] == 300 for one in balls)
    assert sum(loop.turns for loop in loops_of(compiled)) < 100 * 40

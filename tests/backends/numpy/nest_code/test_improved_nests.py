"""Better machine code of nests: bits, and no flag or doubt too few."""

from __future__ import annotations

import math
import random
import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from tests.support.nests.random_nests import Draw
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy import nests as makers
from ufuse.backends.numpy.llvm import background
from ufuse.backends.numpy.llvm.apart import best_code
from ufuse.backends.numpy.llvm.background import Work
from ufuse.backends.numpy.nest_code import nests
from ufuse.backends.numpy.nest_code.nests import improved_nest, nest_text
from ufuse.backends.numpy.nest_passes.counters import counters
from ufuse.backends.numpy.nest_passes.plain import carried
from ufuse.backends.numpy.nest_passes.versions import CHECKED, is_copy, versioned
from ufuse.backends.numpy.nests import best_nest_object, nest_object
from ufuse.graph.nest import Nest, View
from ufuse.graph.nest_types import ELEMENTS, F64, Value


@pytest.mark.parametrize("seed", range(30))
def test_nests_drawn_by_chance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every op, in blocks, branches and loops drawn by chance, on special values."""
    monkeypatch.setattr(nests, "MOST_IMPROVED", 10_000)
    draw = Draw(1000 + seed, wildness=0.1 if seed % 4 == 0 else 0.01)
    machine = Machine(draw.nest(), is_improved=True)
    for _ in range(4):
        arrays, cells = draw.objects()
        check_improved(machine, [one.copy() for one in arrays], cells)


SPECIAL = [1e308, -1e308, 1e-308, 5e-324, 0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan]


class Drawn:
    """A loop inside a loop, over elements of arrays, whose turn computes reals by chance."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311
        dtype = self._draw.choice([np.float64, np.float64, np.float32])
        written = (array(name, dtype, is_written=True) for name in "xy")
        self.code = Code(array("a", dtype), array("b", dtype), *written, number("s"), RANGE)
        self.code.header("i", "body")
        self._real = ELEMENTS[np.dtype(dtype)]
        self._j = turning(self.code)
        self._pool = [self.code.load(0, self._j), self.code.load(1, self._j)]
        if dtype is np.float64 and self._draw.random() < 0.3:
            self._pool.append(self.code.get("s"))
        for _ in range(self._draw.randrange(3, 9)):
            self._grow()
        self._finish()

    def _one(self) -> Value:
        return self._draw.choice(self._pool[-4:])

    def _grow(self) -> None:
        code, draw = self.code, self._draw
        what = draw.choice(["add", "sub", "mul", "mul", "div", "neg", "abs", "sqrt", "const", "to", "select", "store"])  # fmt: skip
        if what == "const":
            constant = draw.choice([1.0, 2.0, -1.0, 0.5, 1e30, 1e-30, 3.0])
            self._pool.append(code.constant(self._real, constant))
        elif what == "to":
            self._pool.append(code.op(f"to_{self._real}", draw.choice([self._j, code.whole(1)])))
        elif what == "select":
            one, other = self._one(), self._one()
            test = code.op(draw.choice(["flt", "fge", "feq"]), one, draw.choice([other, one]))
            self._pool.append(code.select(test, one, other))
        elif what == "store":
            place = draw.choice([self._j, self._j, code.whole(0)])
            code.store(draw.choice([2, 3]), place, self._one())
        elif what in {"neg", "abs", "sqrt"}:
            self._pool.append(code.op(what, self._one()))
        else:
            self._pool.append(code.op(what, self._one(), self._one()))

    def _finish(self) -> None:
        code, draw = self.code, self._draw
        code.store(2, self._j, self._one())
        value, held = self._one(), draw.random() < 0.4
        if held and self._real == F64:
            code.set("s", value)
        if draw.random() < 0.3:
            code.set("kept", self._j)
            other = self._one()
            code.end("branch", "then", "j.head", condition=code.op("flt", value, other))
            code.begin("then")
            one = code.load(0, code.get("kept"))
            code.store(3, code.get("kept"), code.op("mul", one, one))
        code.end("jump", "j.head")
        code.begin("after")
        code.end("jump", "header")

    def arrays(self, wildness: float) -> list[np.ndarray]:
        """What the loop may be given."""
        made = []
        for one in self.code.nest().arrays:
            values = [self._draw.uniform(-3, 3) for _ in range(21)]
            for place in range(21):
                if self._draw.random() < wildness:
                    values[place] = self._draw.choice(SPECIAL)
            with np.errstate(all="ignore"):
                made.append(np.array(values).astype(one.dtype))
        return made


def turning(code: Code) -> Value:
    """Opens the body of a loop inside, over all of the first array; the turn's number."""
    for name, value in (("next", code.whole(0)), ("step", code.whole(1)), ("left", code.dim(0, 0))):
        code.set(f"j.{name}", value)
    code.end("jump", "j.head")
    code.begin("j.head")
    more = code.op("igt", code.get("j.left"), code.whole(0))
    code.end("branch", "j.body", "after", condition=more)
    code.begin("j.body")
    code.set("j.left", code.op("sub", code.get("j.left"), code.whole(1)))
    j = code.get("j.next")
    code.set("j.next", code.op("add", j, code.get("j.step")))
    return j


@pytest.mark.parametrize("seed", range(60))
def test_no_flag_is_lost(seed: int) -> None:
    """Of results that are dropped, chosen, overwritten, constant or not used on either side of a branch."""
    drawn = Drawn(seed)
    machine = Machine(drawn.code.nest(), is_improved=True)
    for wildness in (0.0, 0.0, 0.03, 0.03, 0.03, 0.03, 0.3, 0.3):
        cells = over(range(2), s=1.5, **{"s.numpy": True})
        check_improved(machine, drawn.arrays(wildness), cells)


def test_copies_are_plain() -> None:
    """They are what most turns of better code are in, and they are left as the nest's own code is."""
    count = left = 0
    for seed in range(60):
        drawn = Drawn(seed)
        nest = drawn.code.nest()
        text = nest_text(versioned(nest), "NAME", is_fast=True)
        count += " = fmul " in text or " = fadd " in text
        if seed % 6 == 0:
            machine = Machine(nest, is_improved=True)
            cells = over(range(2), s=1.5, **{"s.numpy": True})
            left += check_improved(machine, [abs(one) for one in drawn.arrays(0.0)], cells)
    assert count > 40
    assert left > 4


def test_better_code_has_its_arrays_apart() -> None:
    """LLVM need not look whether a store is seen by a load of another array; in a nest's own code it may be."""
    code = Code(array("a"), array("x", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(1, i, code.op("add", code.load(0, i), code.load(1, i)))
    code.end("jump", "header")
    nest = code.nest()
    text = nest_text(nest, "NAME", is_fast=True)
    found = [line.partition(", !")[2] for line in text.splitlines() if "!alias.scope" in line]
    assert len(found) == 3
    assert len(set(found)) == 2
    assert "alias.scope" not in nest_text(nest, "NAME")


def choosing_bits(*, is_on_bits: bool) -> Nest:
    """Turns of an inner loop that choose by a bit; it touches no array."""
    code = Code(array("a"), number("s", "int"), RANGE)
    code.header("i", "body")
    turning(code)
    before = code.get("s")
    is_odd = code.op("ieq", code.op("and", before, code.whole(1)), code.whole(1))
    code.end("branch", "then", "else", condition=is_odd)
    code.begin("then")
    other = code.op("xor", code.get("s"), code.whole(0x8408))
    code.set("s", other if is_on_bits else code.op("add", other, code.whole(1)))
    code.end("jump", "j.head")
    code.begin("else")
    code.set("s", code.op("shr", code.get("s"), code.whole(1)))
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("is_on_bits", [False, True])
def test_choices_between_bits(*, is_on_bits: bool) -> None:
    """LLVM makes no branch of them, which no machine would foresee; the loop has a copy though all of it is sure."""
    nest = choosing_bits(is_on_bits=is_on_bits)
    text = nest_text(versioned(nest, is_alone=True), "NAME", is_fast=True, is_alone=True)
    assert ("!unpredictable" in text) == is_on_bits
    machine = Machine(nest, is_improved=True)
    given = {"s": 0xFFFF, "s.numpy": False}
    assert check_improved(machine, [np.ones(21)], over(range(2), **given))
    if is_on_bits:
        assert "!unpredictable" not in nest_text(nest, "NAME")


def using_some(comparison: str) -> Nest:
    """Turns of an inner loop, some of which use elements: where its number compares with another variable."""
    code = Code(
        array("a"), array("b"), number("limit", "int", is_changed=False), number("s"), RANGE
    )
    code.header("i", "body")
    j = turning(code)
    code.set("j", j)
    code.end("branch", "then", "j.head", condition=code.op(comparison, j, code.get("limit")))
    code.begin("then")
    item = code.op("add", code.load(0, code.get("j")), code.load(1, code.get("j")))
    code.set("s", code.op("add", code.get("s"), item))
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("comparison", ["ine", "ilt"])
def test_elements_that_some_turns_use(comparison: str) -> None:
    """They are tested in front of the loop, too, unless what chooses the turns may be what keeps them inside."""
    nest = using_some(comparison)
    copies = [one for one in versioned(nest, is_alone=True).blocks if is_copy(one)]
    loads = [one for block in copies for one in block.instructions if one.op == "load"]
    assert len(loads) == 2
    assert {one.is_sure for one in loads} == {comparison == "ine"}
    machine = Machine(nest, is_improved=True)
    draw = np.random.default_rng(2)
    for size, limit in (
        (21, 21),
        (21, 4),
        (21, -1),
        (30, 40),
        (15, 20),
        (15, 15),
        (20, 20),
        (0, 0),
    ):
        given = {"limit": limit, "limit.numpy": False, "s": 0.5, "s.numpy": True}
        left = check_improved(
            machine, [draw.random(21), draw.random(size)], over(range(3), **given)
        )
        assert left or size < 21


def counting(step: int, *, is_outer: bool) -> Nest:
    """Turns of a loop, perhaps inside another, some of which add to a variable."""
    code = Code(array("a"), number("s", "int"), RANGE)
    j = code.header("i", "body")
    if is_outer:
        j = turning(code)
    over = code.op("fgt", code.load(0, j), code.constant(F64, 0.5))
    again = "j.head" if is_outer else "header"
    code.end("branch", "then", again, condition=over)
    code.begin("then")
    code.set("s", code.op("add", code.get("s"), code.whole(step)))
    code.end("jump", again)
    if is_outer:
        code.begin("after")
        code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("is_outer", [False, True])
@pytest.mark.parametrize("step", [1, -1, 1000])
def test_counters_do_not_overflow(step: int, *, is_outer: bool) -> None:
    """A variable that some turns add to is looked at in front of the loop; from a large one a turn may overflow."""
    nest = counting(step, is_outer=is_outer)
    text = nest_text(versioned(nest, is_alone=True), "NAME", is_fast=True, is_alone=True)
    assert text.count("call { i64, i1 } @llvm.sadd.with.overflow") == is_outer  # its own turns
    machine = Machine(nest, is_improved=True)
    draw = np.random.default_rng(1)
    for first in (0, -5, 1 << 61, -(1 << 61), (1 << 62) + (1 << 20), (1 << 63) - 3, 3 - (1 << 63)):
        given = {"s": first, "s.numpy": False}
        left = check_improved(machine, [draw.random(21)], over(range(5), **given))
        assert left == (abs(first) < 1 << 62)


def test_counters_may_be_brought_so_far() -> None:
    """By as many turns as there may be, which depends on how much each adds."""
    blocks = counting(1 << 32, is_outer=False).blocks
    assert "s" in counters(blocks, 1 << 28)
    assert "s" not in counters(blocks, 1 << 31)
    assert "s" not in counters(counting(1 << 62, is_outer=False).blocks, 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponent", [1, -3, 31, 127, -126, -127, 1022, 1023, -1022, -1023, -1074])
def test_quotients_by_powers_of_two(exponent: int, dtype: type) -> None:
    """They are products where the inverse is a normal number: bits and flags are the same."""
    least, most = (-1022, 1023) if dtype is np.float64 else (-126, 127)
    divisor = -(2.0**exponent)
    if dtype is np.float32 and abs(exponent) > 149:
        pytest.skip("no such float32")
    code = Code(array("a", dtype), array("x", dtype, is_written=True), RANGE)
    i = code.header("i", "body")
    by = code.constant(ELEMENTS[np.dtype(dtype)], divisor)
    code.store(1, i, code.op("div", code.load(0, i), by))
    code.end("jump", "header")
    nest = code.nest()
    is_product = least <= exponent <= most and least <= -exponent <= most
    assert ("fdiv" in nest_text(nest, "NAME")) != is_product
    for is_improved in (False, True):
        machine = Machine(nest, is_improved=is_improved)
        for value in (*SPECIAL, 1.0, -3.0, 1e-300, 1e-40, 3e38, 1e-45):
            with np.errstate(all="ignore"):
                a = np.full(5, value).astype(dtype)
            check_improved(machine, [a, np.zeros(5, dtype)], over(range(5)))


@pytest.mark.parametrize("behind", [0, 1])
def test_recurrences_are_in_doubt_at_once(behind: int) -> None:
    """There are no vectors where a turn loads what the turn before stored; those that store behind may have some."""
    code = Code(array("x", np.int64, is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code)
    ahead = code.op("add", j, code.whole(1))
    loaded, stored = (ahead, j) if behind else (j, ahead)
    item = code.load(0, loaded)
    code.store(0, stored, code.op("add", item, item))
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    nest = code.nest()
    labels = [block.label for block in versioned(nest, is_alone=True).blocks]
    assert any(label.endswith(CHECKED) for label in labels) == (not behind)


@pytest.mark.parametrize("name", ["x", "y"])
def test_the_flags_of_a_dead_result(name: str) -> None:
    """Whether it is overwritten, or never used."""
    code = Code(array("a"), array("x", is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code)
    product = code.op("mul", code.load(0, j), code.load(0, j))
    if name == "x":
        code.store(1, j, product)
    code.store(1, j, code.load(0, j))
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    machine = Machine(code.nest(), is_improved=True)
    a = np.ones(100)
    a[50] = 1e300
    is_left, flags = machine.execute([a, np.zeros(100)], over(range(1)))
    assert is_left
    assert "overflow" in flags


def is_answered(made: Any) -> bool:
    """Whether all that were asked for code are done, which is waited for."""
    until = time.monotonic() + 60
    while made.awaited and time.monotonic() < until:
        time.sleep(0.001)
    return not made.awaited


def test_first_code_is_followed_by_the_same_made_with_more_effort() -> None:
    """In a thread, once the nest has worked for a short time; loops of array statements have the best at once."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("sqrt", code.op("add", code.load(0, i), code.real(1.0))))
    code.end("jump", "header")
    nest = code.nest()
    made: Any = nest_object(nest)
    made.improver = None
    a, b, calls = np.zeros(1000), np.zeros(1000), 0
    while made.tuner is not None:
        made(a, iter(range(1000)))
        calls += 1
    assert is_answered(made)
    made(a, iter(range(1000)))
    for _ in range(calls + 1):
        b = np.sqrt(b + 1.0)
    assert a.tobytes() == b.tobytes()
    tuned = Work(lambda: nests.tuned_nest(nest)).result()
    assert tuned not in {None, Work(lambda: nests.compiled_nest(nest)).result()}


def test_where_more_effort_fails_first_code_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the best is asked for at once."""

    def fails(nest: Nest) -> None:
        raise LookupError("LLVM")

    monkeypatch.setattr(nests, "tuned_nest", fails)
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("add", code.load(0, i), code.real(2.0)))
    code.end("jump", "header")
    best: Any = best_nest_object(code.nest()).result()
    made: Any = nest_object(code.nest())
    made.improver = None
    a, calls = np.zeros(1000), 0
    while made.tuner is not None:
        made(a, iter(range(1000)))
        calls += 1
    assert is_answered(made)
    made(a, iter(range(1000)))
    best(a, iter(range(1000)))
    assert a.tolist() == [2.0 * (calls + 2)] * 1000


@pytest.mark.parametrize(
    ("module", "name", "error"),
    [(makers, "Work", MemoryError), (background, "start_new_thread", RuntimeError)],
    ids=["memory", "threads"],
)
def test_without_memory_or_threads_first_code_stays(
    module: Any, name: str, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nest does not wait for what will not come, and nothing is printed."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("add", code.load(0, i), code.real(2.0)))
    code.end("jump", "header")
    made: Any = nest_object(code.nest())
    monkeypatch.setattr(module, name, Mock(side_effect=error))
    a, calls = np.zeros(1000), 0
    while made.tuner is not None or made.improver is not None:
        made(a, iter(range(1000)))
        calls += 1
    assert is_answered(made)
    assert a.tolist() == [2.0 * calls] * 1000


def test_it_is_made_while_the_nest_runs() -> None:
    """In a thread, once the nest has worked for some time."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("sqrt", code.op("add", code.load(0, i), code.real(1.0))))
    code.end("jump", "header")
    made: Any = nest_object(code.nest())
    a, b, calls = np.zeros(1000), np.zeros(1000), 0
    while made.improver is not None or calls % 100:
        made(a, iter(range(1000)))
        calls += 1
    assert is_answered(made)
    made(a, iter(range(1000)))
    assert made.improved_turns
    for _ in range(calls + 1):
        b = np.sqrt(b + 1.0)
    assert a.tobytes() == b.tobytes()


def test_a_turn_that_does_not_fit_is_the_only_one_without_better_code() -> None:
    """Where the test in front of an inner loop fails in some turns of the outer one: here an index wraps in the first."""
    code = Code(array("a"), array("b", is_written=True), RANGE)
    i = code.header("i", "body")
    is_first = code.op("ieq", i, code.whole(0))
    code.set("i", i)
    code.set("less", code.select(is_first, code.whole(1), code.whole(0)))
    j = turning(code)
    i, place = code.get("i"), code.op("sub", j, code.get("less"))
    code.store(1, i, code.op("add", code.load(1, i), code.load(0, place)))
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    nest = code.nest()
    made: Any = nest_object(nest)
    made.improver = None
    made.improve(*Work(lambda: improved_nest(nest) or ()).result())
    a, wanted = np.arange(1.0, 31.0), np.full(50, np.arange(1.0, 31.0).sum())
    for calls in range(1, 9):
        b, iterator = np.zeros(50), iter(range(50))
        while iterator.__length_hint__():
            assert made(a, b, iterator) is None
        assert b.tobytes() == wanted.tobytes()
        assert made.improved_turns == 49 * calls
    assert made.doubts == 0


def test_better_code_that_is_given_up_is_followed_by_one_with_checks() -> None:
    """Where no turn fits: here each reads an element that wraps."""
    code = Code(array("a"), array("b", is_written=True), RANGE)
    code.set("i", code.header("i", "body"))
    j = turning(code)
    i, place = code.get("i"), code.op("sub", j, code.whole(1))
    code.store(1, i, code.op("add", code.load(1, i), code.load(0, place)))
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    nest = code.nest()
    made: Any = nest_object(nest)
    del made.improver
    asked: list[Any] = []
    made.improve(*Work(lambda: improved_nest(nest) or ()).result(), asked.append)
    a, b = np.arange(1.0, 31.0), np.zeros(3000)
    for _ in range(1000):
        made(a, b, iter(range(3000)))
    assert asked == [(made,)]
    assert made.improved_turns == 0
    made.improve(*Work(lambda: improved_nest(nest, is_alone=False) or ()).result())
    b[:] = 0.0
    iterator = iter(range(3000))
    while iterator.__length_hint__():
        made(a, b, iterator)
    assert made.improved_turns == 3000
    assert b.tobytes() == np.full(3000, a.sum()).tobytes()


def test_only_the_last_of_what_is_carried_on_is_watched() -> None:
    """Of a sum one comparison stands behind the loop; the flags of all turns are raised."""
    code = Code(array("a"), array("b", is_written=True), number("s"), RANGE)
    code.header("i", "body")
    j = turning(code)
    code.set("s", code.op("div", code.load(0, j), code.op("add", code.get("s"), code.load(0, j))))
    code.end("jump", "j.head")
    code.begin("after")
    code.store(1, code.whole(0), code.get("s"))
    code.end("jump", "header")
    nest = code.nest()
    assert carried(nest.blocks) == {"s"}
    machine = Machine(nest, is_improved=True)
    for middle in (1.0, 1e308, -1e308, math.inf, math.nan, 5e-324):
        a = np.ones(21)
        a[[10, 11]] = middle
        check_improved(machine, [a, np.zeros(3)], over(range(2), s=1.5, **{"s.numpy": True}))
    machine.execute([np.ones(21), np.zeros(3)], over(range(2), s=1.5, **{"s.numpy": True}))
    text = nest_text(versioned(nest, is_alone=True), "NAME", is_fast=True, is_alone=True)
    turn = text[text.index("fdiv double") :]
    assert "fcmp ugt" not in turn[: turn.index("\nb")]


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_sum_on_both_sides_of_a_branch(is_kept: bool) -> None:
    """Each side takes what the sum was, so that only the last one is watched; not where a side forgets it."""
    code = Code(array("a"), array("b", is_written=True), number("s"), RANGE)
    code.header("i", "body")
    j = turning(code)
    code.set("x", code.load(0, j))
    test = code.op("fgt", code.get("x"), code.real(0.0))
    code.end("branch", "then", "else", condition=test)
    code.begin("then")
    code.set("s", code.op("add", code.get("s"), code.get("x")))
    code.end("jump", "j.head")
    code.begin("else")
    code.set("s", code.op("mul", code.get("s" if is_kept else "x"), code.get("x")))
    code.end("jump", "j.head")
    code.begin("after")
    code.store(1, code.whole(0), code.get("s"))
    code.end("jump", "header")
    assert ("s" in carried(code.nest().blocks)) == is_kept
    machine = Machine(code.nest(), is_improved=True)
    for middle in (1.0, -1.0, 1e308, -1e308, math.inf, math.nan, 5e-324, -5e-324):
        a = np.linspace(-1.0, 1.2, 21)
        a[[10, 11, 14]] = middle
        check_improved(machine, [a, np.zeros(3)], over(range(2), s=1.5, **{"s.numpy": True}))


def test_text_that_llvm_cannot_read() -> None:
    """What LLVM says of it."""
    with pytest.raises(ValueError, match="expected top-level entity"):
        Work(lambda: best_code("nonsense")).result()
    with pytest.raises(KeyError, match="ufuse_"):
        Work(lambda: best_code("define void @other() { ret void }")).result()
    with pytest.raises(ValueError, match="no such functions"):
        _tiles.compiled_object(b"", b"", b"")


def test_nests_of_array_statements_are_improved() -> None:
    """Short rows take no longer than what stands around them. They had good code at once."""
    code = Code(array("a"), array("b"), array("c", is_written=True), RANGE)
    i = code.header("i", "body")
    vector = View(0, ((0, 1),))
    code.store(2, i, code.dot("dot", vector, View(1, ((0, 1),)), i, code.whole(0), code.whole(0)))
    code.end("jump", "header")
    nest = code.nest()
    assert nests.is_of_arrays(nest)
    assert improved_nest(nest) is not None
    made: Any = nest_object(nest)
    assert made.tuner is None


def test_large_nests_keep_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is improved no other can be compiled."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    code.store(0, i, code.op("add", code.load(0, i), code.real(1.0)))
    code.end("jump", "header")
    nest = code.nest()
    assert improved_nest(nest) is not None
    monkeypatch.setattr(nests, "MOST_IMPROVED", 5)
    assert improved_nest(nest) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("is_stored", [False, True])
def test_reals_that_are_no_integers(dtype: Any, is_stored: bool) -> None:
    """Towards zero, or a doubt where that does not fit, stored or used as an index."""
    code = Code(array("a", dtype), array("x", np.int64, is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code)
    found = code.op(
        "to_i64", code.op("mul", code.load(0, j), code.constant(ELEMENTS[np.dtype(dtype)], 2.0))
    )
    code.store(1, j if is_stored else found, found)
    code.end("jump", "j.head")
    code.begin("after")
    code.end("jump", "header")
    machine, left = Machine(code.nest(), is_improved=True), 0
    values = [
        0.75,
        -0.75,
        2.3,
        -3.4,
        -5.0,
        2.0**61,
        2.0**62,
        -(2.0**62),
        2.0**63,
        -1e300,
        1e308,
        *SPECIAL,
    ]
    for value in values:
        a = np.ones(10)
        a[5] = value
        with np.errstate(all="ignore"):
            left += check_improved(machine, [a.astype(dtype), np.zeros(10, int)], over(range(2)))
    assert left == 9 + is_stored


@pytest.mark.parametrize("step", [-1, 1, -3])
def test_better_code_is_made_for_the_step_of_the_range(step: int) -> None:
    """The one that the last call had: loops that go down have indices that fall."""
    code = Code(array("a", is_written=True), RANGE)
    i = code.header("i", "body")
    place = code.op("add", i, code.whole(1))
    code.store(0, i, code.op("add", code.load(0, i), code.load(0, place)))
    code.end("jump", "header")
    nest = code.nest()
    made: Any = nest_object(nest)
    made.improver = None
    a = np.arange(3000.0)
    turns = range(2998, -1, step) if step < 0 else range(0, 2999, step)
    made(a, iter(turns))
    assert made.step == step
    made.improve(*Work(lambda: improved_nest(nest, step=made.step) or ()).result())
    for _ in range(20):
        made(a, iter(turns))
    assert made.improved_turns == 20 * len(turns)
    b = np.arange(3000.0)
    for _ in range(21):
        for k in turns:
            b[k] += b[k + 1]
    assert a.tobytes() == b.tobytes()

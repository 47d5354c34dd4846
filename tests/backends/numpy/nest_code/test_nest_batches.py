"""Functions of NumPy for many turns at once, in better code of nests: bits, flags, doubts, and when there are batches."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from ufuse.backends.numpy.nest_passes import alike

pytest.importorskip("llvmlite")

from tests.support.nests.native_loops import native_turns
from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number, turning
from ufuse.backends.numpy.nest_code import nests
from ufuse.backends.numpy.nest_code.nests import nest_text
from ufuse.backends.numpy.nest_passes.alike import is_alike, not_alike
from ufuse.backends.numpy.nest_passes.batches import is_fill
from ufuse.backends.numpy.nest_passes.flow import Flow
from ufuse.backends.numpy.nest_passes.versions import versioned
from ufuse.graph.nest import Instruction, Nest, View
from ufuse.graph.nest_types import KNOWN_POWERS, Value
from ufuse.graph.semantics.nest_arithmetic import called

COUNT = 300  # elements: more than two batches
UNARY = ["exp", "sin", "cos", "log", "tanh", "arctan", "cbrt", "floor", "log1p"]
BINARY = ["hypot", "power", "arctan2", "fmod"]
SPECIAL = [1e308, -1e308, 5e-324, 0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 710.0, -1.0]


class Drawn:
    """A loop, perhaps inside another, whose turns call functions of numbers that are drawn by chance."""

    def __init__(self, seed: int, how: str) -> None:
        self._draw = random.Random(seed)  # noqa: S311
        self.code = Code(
            array("a"), array("b"), array("x", is_written=True), number("s"), number("t"), RANGE
        )
        index = self.code.header("i", "body")
        self._again = "header"
        self._how = how
        if how == "inner":
            index = turning(self.code, "j", self.code.whole(0), self.code.dim(0, 0), 1, "after")
            self._again = "j.head"
        elif how == "behind":
            self._again = "j.head"
            self.code.set("j", self.code.whole(0))
            self.code.end("jump", "j.head")
            self.code.begin("j.head")
            index = self.code.get("j")
        self.code.set("place", index)
        self._begin()
        for part in range(self._draw.randrange(1, 4)):
            self._grow()
            if self._draw.random() < 0.5:
                self._branch(part)
        self._finish()
        if how != "outer":
            self.code.begin("after")
            self.code.end("jump", "header")

    def _begin(self) -> None:
        """Elements and variables that the block may use."""
        index = self.code.get("place")
        self._pool = [self.code.load(0, index), self.code.load(1, index), self.code.get("s")]
        if self._draw.random() < 0.4:
            ahead = self.code.op("add", index, self.code.whole(self._draw.choice([0, 1, 2])))
            self._pool.append(self.code.load(2, ahead))

    def _one(self) -> Value:
        return self._draw.choice(self._pool[-4:])

    def _grow(self) -> None:
        code, draw = self.code, self._draw
        for _ in range(draw.randrange(1, 4)):
            what = draw.choice(
                ["unary", "unary", "power", "binary", "add", "mul", "sub", "neg", "constant"]
            )
            if what == "power":
                self._pool.append(code.call(draw.choice([*KNOWN_POWERS]), self._one()))
            elif what == "unary":
                self._pool.append(code.call(f"numpy.{draw.choice(UNARY)}", self._one()))
            elif what == "binary":
                name = f"numpy.{draw.choice(BINARY)}"
                self._pool.append(code.call(name, self._one(), self._one()))
            elif what == "constant":
                self._pool.append(code.real(draw.choice([0.5, 2.0, -1.0])))
            elif what == "neg":
                self._pool.append(code.op(what, self._one()))
            else:
                self._pool.append(code.op(what, self._one(), self._one()))
        if draw.random() < 0.4:
            code.set(draw.choice("st"), self._one())
        if draw.random() < 0.3:
            index = code.op("add", code.get("place"), code.whole(draw.choice([0, 0, 1])))
            code.store(2, index, self._one())

    def _branch(self, part: int) -> None:
        """Some turns do a block more, or leave the loop."""
        code, draw = self.code, self._draw
        test = code.op(draw.choice(["flt", "fge"]), self._one(), self._one())
        leaves = draw.random() < 0.2
        other = "stop" if leaves else f"join{part}"
        if leaves:
            test = code.op("fgt", self._one(), code.real(draw.choice([2.9, 50.0])))
            code.end("branch", other, f"then{part}", condition=test)
        else:
            code.end("branch", f"then{part}", other, condition=test)
        code.begin(f"then{part}")
        self._begin()
        self._grow()
        code.end("jump", f"join{part}")
        code.begin(f"join{part}")
        self._begin()
        self._leaves = leaves or getattr(self, "_leaves", False)

    def _finish(self) -> None:
        code = self.code
        value = code.call(f"numpy.{self._draw.choice(UNARY)}", self._one())
        code.store(2, code.get("place"), value)
        if self._draw.random() < 0.6:
            code.set("t", code.op("add", code.get("t"), self._one()))
        if self._how == "behind":
            after = code.op("add", code.get("j"), code.whole(1))
            code.set("j", after)
            test = code.op("ilt", after, code.dim(0, 0))
            code.end("branch", self._again, "after", condition=test)
        else:
            code.end("jump", self._again)
        if getattr(self, "_leaves", False):
            code.begin("stop")
            code.end("leave")

    def arrays(self, wildness: float) -> list[np.ndarray]:
        """What the loop may be given."""
        made = []
        for size in (COUNT, COUNT, COUNT + 3):
            values = [self._draw.uniform(0.1, 3) for _ in range(size)]
            for place in range(size):
                if self._draw.random() < wildness:
                    values[place] = self._draw.choice(SPECIAL)
            made.append(np.array(values))
        return made


def has_batches(nest: Nest) -> bool:
    """Whether better code calls functions for many turns at once."""
    return any(one.op == "batch_run" for one in instructions(nest))


def instructions(nest: Nest) -> list[Instruction]:
    """Those of better code."""
    return [one for block in versioned(nest, is_alone=True).blocks for one in block.instructions]


@pytest.mark.parametrize("how", ["outer", "inner", "behind"])
@pytest.mark.parametrize("seed", range(40))
def test_loops_drawn_by_chance(seed: int, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that others need, in branches, with what turns leave for the next, before exits."""
    monkeypatch.setattr(nests, "MOST_IMPROVED", 10_000)
    drawn = Drawn(seed, how)
    machine = Machine(drawn.code.nest(), is_improved=True)
    for wildness in (0.0, 0.0, 0.003, 0.003, 0.1):
        turns = range(COUNT if how == "outer" else 2)
        cells = over(turns, s=1.5, t=0.25, **{"s.numpy": True, "t.numpy": True})
        check_improved(machine, drawn.arrays(wildness), cells)


def test_most_drawn_loops_have_batches_and_are_left() -> None:
    """Else they would show nothing."""
    count = left = 0
    for seed in range(40):
        drawn = Drawn(seed, ["outer", "behind"][seed % 2])
        nest = drawn.code.nest()
        if has_batches(nest):
            count += 1
            machine = Machine(nest, is_improved=True)
            cells = over(
                range(2 if seed % 2 else COUNT), s=0.5, t=0.25, **{"s.numpy": True, "t.numpy": True}
            )
            left += check_improved(machine, drawn.arrays(0.0), cells)
    assert count > 15
    assert left > 8


def one_loop(body: Callable[[Code, Value], None]) -> Nest:
    """A loop with a turn for each element."""
    code = Code(array("a"), array("x", is_written=True), number("s"), RANGE)
    body(code, code.header("i", "body"))
    code.end("jump", "header")
    return code.nest()


def execute(nest: Nest, count: int) -> bool:
    """Whether better code leaves it, as the reference does."""
    draw = np.random.default_rng(3)
    cells = over(range(count), s=0.5, **{"s.numpy": True})
    return check_improved(
        Machine(nest, is_improved=True), [draw.random(COUNT), draw.random(COUNT + 1)], cells
    )


@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 255, 256, 257, 300])
def test_batches_of_any_length(count: int) -> None:
    """The last one has what is left of the turns."""

    def body(code: Code, i: Value) -> None:
        code.store(1, i, code.op("mul", code.call("numpy.exp", code.load(0, i)), code.real(2.0)))

    nest = one_loop(body)
    assert has_batches(nest)
    assert execute(nest, count)


@pytest.mark.parametrize(("loaded", "stored"), [(0, 0), (1, 0), (0, 1)])
def test_arrays_that_are_written_in_place(loaded: int, stored: int) -> None:
    """There are batches unless a turn loads what another before it stores."""

    def body(code: Code, i: Value) -> None:
        item = code.load(1, code.op("add", i, code.whole(loaded)))
        code.store(1, code.op("add", i, code.whole(stored)), code.call("numpy.sin", item))

    nest = one_loop(body)
    assert has_batches(nest) == (loaded >= stored)
    assert execute(nest, COUNT)


def test_what_a_turn_has_stored_itself() -> None:
    """It is not known before the turn is done."""

    def body(code: Code, i: Value) -> None:
        code.store(1, i, code.load(0, i))
        code.store(1, i, code.call("numpy.sin", code.load(1, i)))

    nest = one_loop(body)
    assert not has_batches(nest)
    assert execute(nest, COUNT)


@pytest.mark.parametrize("is_needed", [False, True])
def test_what_turns_leave_for_the_next(*, is_needed: bool) -> None:
    """An operand may be what the turn before has computed, but not what the function has given."""

    def body(code: Code, i: Value) -> None:
        before = code.get("s")
        result = code.call("numpy.cos", before)
        code.set("s", result if is_needed else code.op("add", before, code.load(0, i)))
        code.store(1, i, result)

    nest = one_loop(body)
    assert has_batches(nest) != is_needed
    assert execute(nest, COUNT)


def test_functions_of_what_others_give() -> None:
    """They are called behind these, for as many turns."""

    def body(code: Code, i: Value) -> None:
        inner = code.call("numpy.sin", code.load(0, i))
        result = code.call("numpy.exp", code.op("mul", inner, code.get("s")))
        code.set("s", inner)
        code.store(1, i, result)

    nest = one_loop(body)
    assert sum(one.op == "batch_run" for one in instructions(nest)) == 2
    assert execute(nest, COUNT)


@pytest.mark.parametrize("name", ["exp", "sin", "log", "tanh", "hypot", "arctan2"])
def test_singles(name: str) -> None:
    """Of float32 NumPy has other loops."""
    code = Code(array("a", np.float32), array("x", np.float32, is_written=True), RANGE)
    i = code.header("i", "body")
    item = code.load(0, i)
    operands = [item] if name not in {"hypot", "arctan2"} else [item, code.load(1, i)]
    code.store(1, i, code.call(f"numpy.{name}", *operands))
    code.end("jump", "header")
    nest = code.nest()
    assert has_batches(nest)
    draw = np.random.default_rng(3)
    given = [draw.random(COUNT).astype("f") + np.float32(0.5) for _ in range(2)]
    assert check_improved(Machine(nest, is_improved=True), given, over(range(COUNT)))


def collecting(*, is_read: bool) -> Nest:
    """A loop inside that appends what a function gives; perhaps it uses what is there already."""
    code = Code(array("a"), array("x", is_written=True), RANGE)
    code.temporaries.append(array("t"))
    i = code.header("i", "body")
    code.alloc(2, code.whole(0))
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "after")
    given = code.load(0, j)
    if is_read:
        given = code.op("add", given, code.op("to_f64", code.dim(2, 0)))
    code.append("append", (code.call("numpy.exp", given),), None, 2)
    code.end("jump", "j.head")
    code.begin("after")
    total = code.fold("add", View(2, ((0, 1),)), code.dim(2, 0), code.whole(0))
    code.store(1, code.get("i.next"), total)
    code.end("jump", "header")
    assert i is not None
    return code.nest()


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("count", [0, 1, 130, 300])
def test_results_that_are_appended(count: int, *, is_read: bool) -> None:
    """Memory grows between the turns; a loop that uses the list is as it was."""
    nest = collecting(is_read=is_read)
    assert has_batches(nest) != is_read
    draw = np.random.default_rng(3)
    machine = Machine(nest, is_improved=True)
    is_left = check_improved(machine, [draw.random(count) * 3, np.zeros(5)], over(range(3)))
    assert is_left or count == 0  # its elements need not be neighbours


def powers(*names: str) -> Nest:
    """A loop that adds the powers of an element, and of what it is less than one."""

    def body(code: Code, i: Value) -> None:
        item = code.load(0, i)
        total = code.call(names[0], item)
        for name in names[1:]:
            less = code.op("sub", code.real(1.0), item)
            total = code.op("add", total, code.call(name, less))
        code.set("s", code.op("add", code.get("s"), total))
        code.store(1, i, total)

    return one_loop(body)


@pytest.mark.parametrize("name", sorted(KNOWN_POWERS))
def test_powers(name: str) -> None:
    """Those that only C's `pow` knows are called behind the others; bits are its own, whatever the element is."""
    nest = powers("square", name)
    assert has_batches(nest)
    machine = Machine(nest, is_improved=True)
    draw = np.random.default_rng(5)
    left = 0
    for wildness in (0.0, 0.0, 0.0, 0.01, 0.01, 0.5):
        a = draw.random(COUNT) * draw.choice([0.9, 1e-3, 1e-40, 1e-170])
        a[draw.random(COUNT) < wildness] = draw.choice(SPECIAL)
        cells = over(range(COUNT), s=0.5, **{"s.numpy": True})
        left += check_improved(machine, [a, np.zeros(COUNT + 1)], cells)
    assert left > 0


@pytest.mark.parametrize(
    "count", [0, 1, 23, 24, 25, 127, 128, 129, 151, 152, 153, 191, 193, 256, 300]
)
def test_powers_of_any_number_of_turns(count: int) -> None:
    """Few are computed one by one."""
    assert execute(powers("cube", "root", "square"), count)


def test_powers_whatever_the_memory_holds() -> None:
    """The buffer of a batch that is not full has bytes that nobody has written."""
    nest = powers("fourth")
    machine = Machine(nest, is_improved=True)
    draw = np.random.default_rng(5)
    for _ in range(300):
        count = int(draw.integers(24, 290))
        a = np.exp2(draw.uniform(-200, 200, count)) * draw.choice([-1, 1], count)
        cells = over(range(count), s=0.5, **{"s.numpy": True})
        x = np.zeros(count)
        assert machine.execute([a, x], cells)[0]
        assert x.tolist() == [called("fourth", [one]) for one in a.tolist()]


def square_in_a_loop_around() -> Nest:
    """A loop over the elements, in each turn of another, with one square."""
    code = Code(array("a"), array("x", is_written=True), number("s"), RANGE)
    code.header("i", "body")
    j = code.loop("j", code.whole(0), code.dim(0, 0), "after")
    total = code.call("square", code.load(0, j))
    code.set("s", code.op("add", code.get("s"), total))
    code.store(1, j, total)
    code.again("j")
    code.begin("after")
    code.end("jump", "header")
    return code.nest()


def test_a_square_alone_in_loops_around_has_no_batch() -> None:
    """It is likely to be one over a few coordinates."""
    nest = square_in_a_loop_around()
    assert not has_batches(nest)
    assert has_batches(powers("square"))
    assert execute(nest, 3)


@pytest.mark.parametrize("name", sorted(KNOWN_POWERS))
@pytest.mark.parametrize("count", [24, 127, 128, 131, 300])
def test_one_power(name: str, count: int) -> None:
    """Also where it is the only one of the loop."""
    nest = powers(name)
    assert has_batches(nest)
    assert execute(nest, count)


def test_turns_of_a_batch_are_a_loop_inside() -> None:
    """Nothing else is between them, so LLVM may make vectors of them."""

    def body(code: Code, i: Value) -> None:
        code.store(1, i, code.call("numpy.exp", code.load(0, i)))

    nest = one_loop(body)
    loops = Flow(versioned(nest, is_alone=True)).loops()
    takes = [
        labels
        for labels in loops
        if any(
            one.op == "batch_get"
            for block in versioned(nest, is_alone=True).blocks
            if block.label in labels
            for one in block.instructions
        )
    ]
    assert min(map(len, takes)) <= 3
    assert not any(is_fill(label) for label in min(takes, key=len))


def test_random_numbers_are_not_drawn_ahead() -> None:
    """Nor is anything else done twice that can be noticed."""

    def body(code: Code, i: Value) -> None:
        drawn = code.append("draw", (), "f64", "random", "g")
        code.store(1, i, code.call("numpy.exp", drawn))

    assert not has_batches(one_loop(body))


def test_functions_that_are_not_alike_are_called_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an element's bits depend on where it stands; the code is kept under another name then."""

    def body(code: Code, i: Value) -> None:
        code.store(1, i, code.call("numpy.exp", code.load(0, i)))

    nest = one_loop(body)
    assert not_alike(nest) == []
    monkeypatch.setattr(alike, "_results", lambda *_: (b"", b"0"))
    is_alike.cache_clear()
    try:
        assert not_alike(nest) == ["numpy.exp of f64"]
        assert not has_batches(nest)
    finally:
        is_alike.cache_clear()


def fill(x: np.ndarray, many: np.ndarray) -> np.ndarray:
    """Names of functions are in labels of blocks."""
    for i in range(len(x)):
        many[i] = np.exp(back(x[i], 3))
    return many


def back(x: float, n: int) -> float:
    """A loop inside, of a function that is read in its place."""
    total = 0.0
    for k in range(n):
        total += x**3 + k
        if total > 1e3:
            return total
    return total


def test_functions_with_names_that_labels_have() -> None:
    """Nothing is taken for a block of batches."""
    assert native_turns(fill, lambda: (np.linspace(0.1, 2.0, 500), np.zeros(500))) > 0


@pytest.mark.parametrize("exponent", [2.0, 0.5, -1.0, 1.7])
def test_powers_of_numpy_are_called_alone(exponent: float) -> None:
    """With one exponent for all NumPy computes some otherwise."""

    def body(code: Code, i: Value) -> None:
        code.store(1, i, code.call("numpy.power", code.load(0, i), code.real(exponent)))

    nest = one_loop(body)
    assert not has_batches(nest)
    assert execute(nest, COUNT)


def test_own_code_has_no_batches() -> None:
    """It decides what better code doubts, so it does turns one by one."""

    def body(code: Code, i: Value) -> None:
        code.store(1, i, code.call("numpy.exp", code.load(0, i)))

    assert "helper.batch" not in nest_text(one_loop(body), "NAME")

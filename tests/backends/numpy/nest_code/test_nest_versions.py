"""Loops that have a copy without checks: the copy runs where no check would fail, and nothing tells it apart."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_checks import check, check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number, turning
from ufuse.backends.numpy.nest_code.nests import nest_text
from ufuse.backends.numpy.nest_passes.fits import Fits
from ufuse.backends.numpy.nest_passes.versions import versioned
from ufuse.graph.nest import Instruction, Nest
from ufuse.graph.nest_types import Value
from ufuse.graph.semantics import nest_reference

HUGE = 1 << 62


def sure(nest: Nest) -> list[Instruction]:
    """The instructions of copies that are not checked."""
    return [one for block in versioned(nest).blocks for one in block.instructions if one.is_sure]


def guards(nest: Nest) -> list[Fits]:
    """What is tested in front of loops."""
    return [
        one.attributes[0]
        for block in versioned(nest).blocks
        for one in block.instructions
        if one.op == "fits"
    ]


def stencil(*offsets: int, step: int = 1, factor: int = 1) -> Nest:
    """`b[i] = a[f * i + c] + …` for i from `first`, in `count` turns; r goes from turn to turn of the outermost loop."""
    code = Code(
        array("a"),
        array("b", is_written=True),
        number("first", "int", is_changed=False),
        number("count", "int", is_changed=False),
        RANGE,
    )
    code.header("i", "body")
    i = turning(code, "j", code.get("first"), code.get("count"), step, "header")
    index = code.op("mul", i, code.whole(factor)) if factor != 1 else i
    parts = [
        code.load(0, code.op("add", index, code.whole(each)) if each else index) for each in offsets
    ]
    result = parts[0]
    for part in parts[1:]:
        result = code.op("add", result, part)
    code.store(1, i, result)
    code.end("jump", "j.head")
    return code.nest()


def cells(first: int, count: int, turns: int = 2) -> dict[str, Any]:
    """Cells of `stencil`."""
    numbers = {"first": first, "count": count, "first.numpy": False, "count.numpy": False}
    return over(range(turns), **numbers)


def test_a_stencil_is_copied() -> None:
    """Loads, the store and the arithmetic of indices are not checked in the copy."""
    nest = stencil(-1, 0, 1)
    assert [one.op for one in sure(nest)].count("load") == 3
    assert [one.op for one in sure(nest)].count("store") == 1
    assert sum(one.is_dense for one in sure(nest)) == 4
    (fits,) = guards(nest)
    assert {(one.array, one.least, one.most) for one in fits.inside} == {(0, -1, 1), (1, 0, 0)}


@pytest.mark.parametrize("step", [1, -1, 3, -2])
@pytest.mark.parametrize("factor", [1, 2, -1])
def test_every_way_to_leave_an_array(step: int, factor: int) -> None:
    """Negative indices, empty loops, the first and the last turn out of range."""
    nest = stencil(-1, 0, 2, step=step, factor=factor)
    assert guards(nest)
    machine = Machine(versioned(nest))
    rng = np.random.default_rng(3)
    for length in (0, 1, 7):
        a, b = rng.standard_normal((2, length))
        for first in range(-9, 10):
            for count in (-1, 0, 1, 2, 3, 6):
                check(nest, [a, b], cells(first, count), machine)


@pytest.mark.parametrize("first", [HUGE, -HUGE, 2 * HUGE - 3, -2 * HUGE, 1 << 30, (1 << 30) - 2])
@pytest.mark.parametrize("count", [1, 5, HUGE, 2 * HUGE - 1])
def test_integers_at_their_limits(first: int, count: int) -> None:
    """Where the test itself would overflow it finds that the copy may not run."""
    a, b = np.ones(8), np.ones(8)
    for nest in (stencil(0), stencil(0, step=-3, factor=-2)):
        assert not check(nest, [a, b], cells(first, count), Machine(versioned(nest)))


def test_arithmetic_overflows_in_the_last_turn() -> None:
    """A product beside the index is checked in the copy too."""
    code = Code(array("b", np.int64, is_written=True), number("n", "int", is_changed=False), RANGE)
    code.header("i", "body")
    i = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    code.store(0, i, code.op("mul", i, code.get("n")))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    assert guards(nest)
    for n, is_left in ((HUGE // 4, True), (HUGE // 2, False), (7, True), (-HUGE // 4, True)):
        given = over(range(2), n=n, **{"n.numpy": False})
        assert check(nest, [np.zeros(8, int)], given, machine) == is_left


def test_arrays_that_share_memory() -> None:
    """Elements that the copy stores are those that it reads next."""
    memory = np.random.default_rng(0).standard_normal(30)
    machine = Machine(versioned(stencil(-1, 0, 1)))
    for a, b in (
        (memory, memory),
        (memory[1:], memory[:-1]),
        (memory[:-1], memory[1:]),
        (memory, memory[::-1]),
        (memory[::2], memory[1::2]),
    ):
        rest = cells(1, min(len(a), len(b)) - 2)
        wanted = memory.copy()
        lines = [_of(wanted, memory, one) for one in (a, b)]
        for _ in range(2):
            for i in range(1, rest["count"] + 1):
                lines[1][i] = lines[0][i - 1] + lines[0][i] + lines[0][i + 1]
        kept = memory.copy()
        assert machine.execute([a, b], dict(rest))[0]
        assert memory.tobytes() == wanted.tobytes()
        memory[:] = kept


def _of(copy: np.ndarray, memory: np.ndarray, view: np.ndarray) -> np.ndarray:
    """The view of a copy that is as a view of the memory."""
    begin = (view.ctypes.data - memory.ctypes.data) // memory.itemsize
    return np.lib.stride_tricks.as_strided(copy[begin:], view.shape, view.strides)


def test_two_axes_in_any_layout() -> None:
    """Elements along the last axis need not be neighbours, rows may be columns."""
    code = Code(array("a", ndim=2, is_written=True), number("n", "int", is_changed=False), RANGE)
    row = code.header("i", "body")
    code.set("row", row)
    j = turning(code, "j", code.whole(1), code.get("n"), 1, "header")
    one = code.whole(1)
    before = code.load(0, code.get("row"), code.op("sub", j, one))
    above = code.load(0, code.op("sub", code.get("row"), one), j)
    code.store(0, code.get("row"), j, code.op("add", before, above))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    assert sum(one.op in {"load", "store"} for one in sure(nest)) == 3
    a = np.random.default_rng(1).standard_normal((12, 14))
    for layout in (a, np.asfortranarray(a), a.T, a[::2, ::-1], a[::-1, 3:]):
        for n in range(16):
            for start in (-1, 0, 1):
                given = over(range(start, 6), n=n, **{"n.numpy": False})
                check(nest, [layout.copy("K")], given, machine)
                check(nest, [layout], given, machine)


def test_an_index_that_only_some_turns_use() -> None:
    """`if j > 0: a[j] += a[j - 1]` does not keep a loop from its copy; `if j < n - 1` leaves a check in it."""
    code = Code(array("a", is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    code.set("j", j)
    code.store(0, j, code.op("add", code.load(0, j), code.real(1.0)))
    code.end("branch", "some", "rest", condition=code.op("igt", j, code.whole(0)))
    code.begin("some")
    j = code.get("j")
    before = code.load(0, code.op("sub", j, code.whole(1)))
    code.store(0, j, code.op("add", code.load(0, j), before))
    code.end("jump", "rest")
    code.begin("rest")
    j = code.get("j")
    last = code.op("sub", code.dim(0, 0), code.whole(1))
    code.end("branch", "more", "j.head", condition=code.op("ilt", j, last))
    code.begin("more")
    j = code.get("j")
    after = code.load(0, code.op("add", j, code.whole(1)))
    code.store(0, j, code.op("mul", code.load(0, j), after))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    for length in range(5):
        a = np.random.default_rng(2).standard_normal(length)
        assert check(nest, [a], over(range(2)), machine)
    (fits,) = guards(nest)
    assert [one.most for one in fits.inside] == [0]


@pytest.mark.parametrize("is_kept", [False, True])
def test_an_index_that_counts_from_the_end(is_kept: bool) -> None:
    """Also where it comes from several blocks."""
    code = Code(array("a", is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.whole(4), 1, "header")
    last = code.whole(-1)
    code.set("last", last)
    if is_kept:
        code.set("j", j)
        code.end("branch", "some", "rest", condition=code.op("igt", j, code.whole(1)))
        code.begin("some")
        code.set("last", code.get("last"))
        code.end("jump", "rest")
        code.begin("rest")
        j, last = code.get("j"), code.get("last")
    code.store(0, last, code.op("add", code.load(0, j), code.load(0, last)))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    assert guards(nest)
    memory = np.arange(12.0)
    for length in range(7):
        check(nest, [memory[3 : 3 + length]], over(range(2)), machine)


def test_a_step_that_is_a_variable() -> None:
    """Both ends are looked at where the step's sign is not known."""
    code = Code(
        array("a", is_written=True),
        number("step", "int", is_changed=False),
        number("count", "int", is_changed=False),
        RANGE,
    )
    first = code.header("i", "body")
    j = turning(code, "j", first, code.get("count"), code.get("step"), "header")
    code.store(0, j, code.op("mul", code.load(0, j), code.real(3.0)))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    assert guards(nest)
    for step in (-3, -1, 0, 1, 2, 5, HUGE, -HUGE):
        for count in range(5):
            numbers = {"step": step, "count": count, "step.numpy": False, "count.numpy": False}
            given = over(range(0, 12, 5), **numbers)
            check(nest, [np.arange(13.0)], given, machine)


@pytest.mark.parametrize("n", [-1, 1])
def test_a_step_that_is_not_always_set(n: int) -> None:
    """A variable that is only ever set to one number is zero before."""
    code = Code(array("a", is_written=True), number("n", "int", is_changed=False), RANGE)
    first = code.header("i", "body")
    code.set("j.next", first)
    code.set("j.left", code.whole(3))
    code.end("branch", "set", "j.head", condition=code.op("igt", code.get("n"), code.whole(0)))
    code.begin("set")
    turning(code, "j", code.get("j.next"), code.whole(3), 1, "header")
    code.set("j", code.op("sub", code.get("j.next"), code.get("j.step")))
    j = code.get("j")
    code.store(0, j, code.op("mul", code.load(0, j), code.real(3.0)))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    assert guards(nest)
    assert check(nest, [np.arange(9.0)], over(range(1, 5), n=n, **{"n.numpy": False}), machine)


def test_an_element_in_front_of_the_test() -> None:
    """What a loop reads before it looks whether it ends it reads once more."""
    code = Code(array("a"), number("n", "int", is_changed=False), number("s"), RANGE)
    code.header("i", "body")
    code.set("j", code.whole(0))
    code.end("jump", "head")
    code.begin("head")
    j = code.get("j")
    code.set("s", code.load(0, j))
    code.end("jump", "test")
    code.begin("test")
    j = code.get("j")
    code.end("branch", "more", "header", condition=code.op("ilt", j, code.get("n")))
    code.begin("more")
    j = code.get("j")
    code.set("s", code.op("add", code.get("s"), code.load(0, j)))
    code.set("j", code.op("add", j, code.whole(1)))
    code.end("jump", "head")
    nest, machine = code.nest(), Machine(versioned(code.nest()))
    assert guards(nest)
    for n in range(6):
        given = over(range(2), n=n, s=0.0, **{"n.numpy": False, "s.numpy": False})
        assert check(nest, [np.arange(4.0)], given, machine) == (n < 4)


@pytest.mark.parametrize("seed", range(40))
def test_loops_drawn_by_chance(seed: int) -> None:
    """Indices, steps and lengths by chance."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    nest = _drawn(rng)
    machine = Machine(versioned(nest))
    for given, arrays in _given(rng):
        check(nest, arrays, given, machine)


def _drawn(rng: random.Random) -> Nest:
    code = Code(
        array("a", ndim=2, is_written=True),
        array("b", is_written=True),
        number("n", "int", is_changed=False),
        number("s", "float"),
        RANGE,
    )
    code.set("row", code.header("i", "body"))
    first = code.op("add", code.get("row"), code.whole(rng.randint(-2, 2)))
    turning(code, "j", first, code.get("n"), rng.choice([1, 1, 1, -1, 2, -3]), "header")
    code.set("column", code.get("j.next"))  # what the next turn's is
    for _ in range(rng.randint(1, 4)):
        value = code.load(0, _index(code, rng), _index(code, rng))
        code.set("s", code.op("add", code.get("s"), value))
        if rng.random() < 0.5:
            code.store(1, _index(code, rng), code.get("s"))
        if rng.random() < 0.3:
            code.store(0, _index(code, rng), _index(code, rng), code.load(1, _index(code, rng)))
    code.end("jump", "j.head")
    return code.nest()


def _index(code: Code, rng: random.Random) -> Value:
    kind = rng.choice(["j.next", "j.next", "column", "row", "n", "constant", "j.left"])
    if kind == "constant":
        return code.whole(rng.randint(-2, 2))
    value = code.get(kind)
    if rng.random() < 0.2:
        value = code.op("mul", value, code.whole(rng.choice([-1, 2])))
    if rng.random() < 0.2:
        value = code.op("sub", code.dim(rng.randint(0, 1), 0), value)
    more = rng.randint(-2, 2)
    return code.op("add", value, code.whole(more)) if more else value


def _given(rng: random.Random) -> Iterator[tuple[dict[str, Any], list[np.ndarray]]]:
    for _ in range(40):
        shape = rng.randint(1, 9), rng.randint(1, 9)
        a = np.arange(float(shape[0] * shape[1])).reshape(shape)
        b = np.arange(float(rng.randint(1, 12)))
        n = rng.choice([0, 1, 2, 3, 5, 8])
        start = rng.randint(-3, 5)
        numbers = {"n": n, "n.numpy": False, "s": 0.5, "s.numpy": False}
        yield (
            over(range(start, start + rng.randint(1, 4)), **numbers),
            [a[:, ::-1] if rng.random() < 0.2 else a, b],
        )


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.int8])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "abs", "neg"])
def test_integers_that_overflow_in_better_code(op: str, dtype: Any) -> None:
    """Where it leaves the nest no integer overflowed; where none does it leaves it."""
    slots = [array(name, dtype, is_written=name == "c") for name in "abc"]
    code = Code(*slots, RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    given = (code.load(0, j), code.load(1, j))[: 2 if op in {"add", "sub", "mul"} else 1]
    code.store(2, j, code.op(op, *given))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(code.nest(), is_improved=True)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = np.array([low, low + 1, -1 if low else 0, 0, 1, 2, high - 1, high], dtype)
    for first in some:
        for second in some:
            a, b, c = (np.full(19, each, dtype) for each in (1, 1, 0))
            a[7], b[7] = first, second
            wanted = [a, b, c.copy()]
            is_left = nest_reference.execute(nest, wanted, over(range(1)))
            assert machine.execute([a, b, c], over(range(1)))[0] == is_left
            assert not is_left or c.tobytes() == wanted[2].tobytes()


@pytest.mark.parametrize("factor", [2, 3, -3, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("more", [("add", 1), ("sub", 1), ("add", -(1 << 40)), ("add", 1 << 41)])
def test_products_with_numbers_and_what_is_added_to_them(
    factor: int, more: tuple[str, int]
) -> None:
    """One test of the other factor stands for both; near the limits better code may doubt for no reason."""
    code = Code(array("a", np.int64), array("c", np.int64, is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    times = code.op("mul", code.load(0, j), code.whole(factor))
    code.store(1, j, code.op(more[0], times, code.whole(more[1])))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(code.nest(), is_improved=True)
    edge = (1 << 63) // abs(factor)
    for value in {0, 1, edge // 2, *(edge + near for near in (-(1 << 42), -2, -1, 0, 1, 2))}:
        for some in (value, -value):
            if not -(1 << 63) <= some < 1 << 63:
                continue
            a, c = np.full(19, 1, np.int64), np.zeros(19, np.int64)
            a[7] = some
            wanted = [a, c.copy()]
            is_left = nest_reference.execute(nest, wanted, over(range(1)))
            machine_left = machine.execute([a, c], over(range(1)))[0]
            assert not machine_left or is_left
            assert not machine_left or c.tobytes() == wanted[1].tobytes()
            assert machine_left or not is_left or abs(some * factor) > 1 << 62


def test_bounds_are_not_trusted_before_overflow_is_looked_at() -> None:
    """What overflowed is negative, where a bound of it says that it is not: no index and no division may trust that."""
    code = Code(array("x", np.int64), array("a", is_written=True), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    value = code.op("abs", code.load(0, j))
    twice = code.op("add", value, value)
    code.set("j", j)
    code.set("quotient", code.op("floordiv", twice, code.load(0, j)))
    code.end("branch", "some", "j.head", condition=code.op("igt", j, twice))
    code.begin("some")
    before = code.op("sub", code.get("j"), code.whole(1))
    code.store(1, before, code.real(1.0))
    code.end("jump", "j.head")
    memory = np.zeros(12)
    machine = Machine(code.nest(), is_improved=True)
    for some in (1 << 62, (1 << 62) + 1, -(1 << 62), 1 << 63 >> 1):
        x = np.array([some, 7, some, -7, some], np.int64)
        assert not machine.execute([x, memory[4:9]], over(range(2)))[0]
        assert not memory[:4].any()
        assert not memory[9:].any()


def test_an_index_that_is_looked_up() -> None:
    """In a table whose elements are neighbours, or are not; from the end, and outside."""
    code = Code(array("x", np.int64), array("table", np.int64), number("sum", "int"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    found = code.load(1, code.load(0, j))
    code.set("sum", code.op("add", code.get("sum"), found))
    code.end("jump", "j.head")
    (fits,) = guards(code.nest())
    assert fits.dense == (0, 1)
    machine = Machine(code.nest(), is_improved=True)
    memory = np.arange(40) ** 3
    for table in (memory[8:16], memory[8:24:2], memory[15:7:-1]):
        for last in (7, -8, 8, -9, HUGE, -HUGE):
            given = over(range(2), sum=5, **{"sum.numpy": False})
            x = np.array([0, 3, -1, last])
            wanted = dict(given)
            is_left = nest_reference.execute(code.nest(), [x, table], wanted)
            assert is_left == (-8 <= last < 8)
            is_dense = table.strides[0] == table.itemsize
            assert machine.execute([x, table], given)[0] == (is_left and is_dense)
            assert not (is_left and is_dense) or given == wanted


def test_a_loop_without_arrays_is_copied() -> None:
    """Its overflow is a late doubt: LLVM may choose where it would branch."""
    code = Code(number("x", "int"), RANGE)
    code.header("i", "body")
    x = code.get("x")
    code.set("x", code.op("add", x, x))
    code.end("jump", "header")
    assert guards(code.nest())
    machine = Machine(code.nest(), is_improved=True)
    for turns in (1, 61, 62, 63, 64, 200):
        given = over(range(turns), x=1, **{"x.numpy": False})
        assert machine.execute([], given)[0] == (turns < 63)
        assert turns > 62 or given["x"] == 1 << turns


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8])
def test_a_modulo_with_and_without_a_division(dtype: Any) -> None:
    """A dividend just outside of what the modulo gives needs none."""
    code = Code(*(array(name, dtype, is_written=name == "c") for name in "abc"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    code.store(2, j, code.op("mod", code.load(0, j), code.load(1, j)))
    code.end("jump", "j.head")
    nest, machine = code.nest(), Machine(code.nest(), is_improved=True)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = [low, low + 1, *range(-9, 10), high // 2, high - 1, high]
    for divisor in (low, low + 1, -7, -2, -1, 0, 1, 3, 4, high - 1, high):
        a = np.array(some, dtype)
        b, c = np.full(len(some), divisor, dtype), np.zeros(len(some), dtype)
        wanted = [a, b, c.copy()]
        is_left = nest_reference.execute(nest, wanted, over(range(1)))
        assert machine.execute([a, b, c], over(range(1)))[0] == is_left
        assert not is_left or c.tobytes() == wanted[2].tobytes()
        assert is_left or divisor in {0, -1}


def torus() -> Nest:
    """`b[j] = a[(j + 1) % n] + a[(j - 1) % n]` for all j from `first`."""
    numbers = [number(name, "int", is_changed=False) for name in ("first", "n")]
    code = Code(array("a"), array("b", is_written=True), *numbers, RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.get("first"), code.dim(1, 0), 1, "header")
    ends = [code.op(op, j, code.whole(1)) for op in ("add", "sub")]
    right, left = (code.load(0, code.op("mod", end, code.get("n"))) for end in ends)
    code.store(1, code.op("sub", j, code.get("first")), code.op("add", left, right))
    code.end("jump", "j.head")
    return code.nest()


def test_places_beside_one_another_on_a_torus() -> None:
    """Better code takes it that they wrap once at most, and is in doubt where that is not so; or takes nothing."""
    nest = torus()
    copies = versioned(nest, is_alone=True, wraps=True).blocks
    assert sum(one.op == "mod" and one.is_sure for each in copies for one in each.instructions) == 2
    machine = Machine(nest, is_improved=True)
    other = Machine(nest, is_improved=True, wraps=False)
    for n in (-6, 0, 1, 5, 6, 7, 100):
        for first in (-20, -6, -5, 0, 1, 6, 7, 30):
            a, b = np.random.default_rng(n + 9).standard_normal((2, 6))
            given = {"first": first, "n": n, "first.numpy": False, "n.numpy": False}
            is_left = check_improved(machine, [a, b], over(range(2), **given))
            is_beside = n in {5, 6} and first - 1 >= -n and first + 6 < 2 * n
            assert is_left == is_beside or n == 1
            if 0 < n <= 6:
                assert check_improved(other, [a, b], over(range(2), **given))


def test_turns_that_lead_back_early() -> None:
    """Behind `continue` the same loop goes on, so its short turns are no loop with a copy: it would begin too often."""
    code = Code(array("a"), array("b"), number("s"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(0, 0), 1, "header")
    is_small = code.op("flt", code.load(0, j), code.real(0.0))
    code.set("kept", code.load(0, j))
    code.end("branch", "j.head", "long", condition=is_small)
    code.begin("long")
    k = turning(code, "k", code.whole(0), code.dim(1, 0), 1, "j.head")
    code.set("s", code.op("add", code.get("s"), code.op("mul", code.load(1, k), code.get("kept"))))
    code.end("jump", "k.head")
    nest = code.nest()
    (fits,) = guards(nest)
    assert {one.array for one in fits.inside} == {1}
    machine = Machine(nest, is_improved=True)
    a, b = np.random.default_rng(3).standard_normal((2, 30))
    assert check_improved(machine, [a, b], over(range(3), s=0.5, **{"s.numpy": True}))


def test_an_index_that_is_looked_up_in_better_code() -> None:
    """It is counted from the end only where it is not inside; elements that are not there are doubts."""
    code = Code(array("a"), array("b", int), number("s"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(1, 0), 1, "header")
    code.set("s", code.op("add", code.get("s"), code.load(0, code.load(1, j))))
    code.end("jump", "j.head")
    nest = code.nest()
    text = nest_text(versioned(nest, is_alone=True), "NAME", is_fast=True, is_alone=True)
    turn = text[text.index("load double, ptr %t") - 900 : text.rindex("load double, ptr %t")]
    assert "select" not in turn
    machine = Machine(nest, is_improved=True)
    a = np.random.default_rng(3).standard_normal(7)
    lowest = -(1 << 63)
    for index in (0, 6, 7, 8, -1, -7, -8, -100, lowest, lowest + 3, -1 - lowest):
        b = np.array([3, index, -2, 5])
        is_left = check_improved(machine, [a, b], over(range(2), s=0.5, **{"s.numpy": True}))
        assert is_left == (-7 <= index < 7)


def test_doubts_about_integers_that_are_small() -> None:
    """What an index or a remainder is compared with as a float is exactly that; other integers are looked at."""
    code = Code(array("a"), array("b", int), number("s"), RANGE)
    code.header("i", "body")
    j = turning(code, "j", code.whole(0), code.dim(1, 0), 1, "header")
    remainder = code.op("mod", code.load(1, j), code.whole(97))
    for one in (j, remainder, code.load(1, j)):
        for op, limit in (("igt", 1 << 53), ("ilt", -(1 << 53))):
            code.doubt_if(code.op(op, one, code.whole(limit)))
    part = code.op("mul", code.op("to_f64", remainder), code.op("to_f64", code.load(1, j)))
    code.set("s", code.op("add", code.get("s"), code.op("add", part, code.op("to_f64", j))))
    code.end("jump", "j.head")
    nest = code.nest()
    doubts = [
        one
        for block in versioned(nest, is_alone=True).blocks
        for one in block.instructions
        if one.op == "doubt_if"
    ]
    assert len(doubts) == 2
    machine = Machine(nest, is_improved=True)
    for value in (5, -5, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, -(1 << 63)):
        b = np.array([3, value, -2, 5])
        is_left = check_improved(
            machine, [np.zeros(0), b], over(range(2), s=0.5, **{"s.numpy": True})
        )
        assert is_left == (abs(value) <= 1 << 53)

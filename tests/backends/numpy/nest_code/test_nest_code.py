"""Machine code of nests against the reference executor: bits, doubts, what is written back, and floating-point flags."""

from __future__ import annotations

import itertools
import math
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.alarms import on_alarm
from tests.support.nests.nest_checks import check, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from tests.support.nests.random_nests import Draw
from ufuse.backends.numpy.nest_code.instructions import TYPED
from ufuse.backends.numpy.nest_code.nests import PATIENCE
from ufuse.graph.nest import Nest
from ufuse.graph.nest_slots import Slot
from ufuse.graph.nest_types import F32, I1, INTEGERS, KINDS, REALS, SIGNATURES, TURNS, Value, limits
from ufuse.graph.semantics import nest_arithmetic
from ufuse.graph.semantics.nest_reference import run


def total() -> Nest:
    """The sum of the elements of an array, at the numbers of a range."""
    code = Code(array("a"), number("s"), RANGE)
    index = code.header("i", "body")
    code.set("s", code.op("add", code.get("s"), code.load(0, index)))
    code.end("jump", "header")
    return code.nest()


def test_a_sum_of_elements() -> None:
    """A carried float, forwards, backwards and with negative indices."""
    a = np.random.default_rng(0).standard_normal(100)
    for rest in (range(100), range(99, -1, -3), range(-100, 0), range(0)):
        assert check(total(), [a], over(rest, s=0.5, **{"s.numpy": True}))
    assert check(total(), [a[::-2]], over(range(50), s=0.5, **{"s.numpy": True}))


def test_only_the_turns_given_are_done() -> None:
    """The nest is left at its header where no turn may begin."""
    a = np.random.default_rng(0).standard_normal(100)
    assert check(total(), [a], over(range(100), turns=7, s=0.5, **{"s.numpy": False}))


@pytest.mark.parametrize("k", [0, 1, 5, 99])
def test_an_index_out_of_range_is_a_doubt(k: int) -> None:
    """At a doubt `turns` tells the turn, and nothing else is written back."""
    a = np.arange(k, dtype=float)
    cells = over(range(100), s=0.5, **{"s.numpy": False})
    assert not check(total(), [a], cells)


def test_seidel() -> None:
    """A stencil in place, in two loops."""
    code = Code(array("a", ndim=2, is_written=True), RANGE)
    i = code.header("i", "body")
    code.set("row", i)
    code.loop("j", code.whole(1), code.op("sub", code.dim(0, 1), code.whole(1)), "header")
    i, j, one = code.get("row"), code.get("j"), code.whole(1)
    rows = [code.op("sub", i, one), i, code.op("add", i, one)]
    columns = [code.op("sub", j, one), j, code.op("add", j, one)]
    parts = [code.load(0, row, column) for row in rows for column in columns]
    result = parts[0]
    for part in parts[1:]:
        result = code.op("add", result, part)
    code.store(0, i, j, code.op("div", result, code.real(9.0)))
    code.again("j")
    a = np.random.default_rng(1).standard_normal((20, 30))
    assert check(code.nest(), [a], over(range(1, 19)))
    assert check(code.nest(), [a.T], over(range(1, 29)))
    assert not check(code.nest(), [a], over(range(1, 20)))


@pytest.mark.parametrize("seed", range(60))
def test_nests_drawn_by_chance(seed: int) -> None:
    """Every op, in blocks, branches and loops drawn by chance, on special values."""
    draw = Draw(seed, wildness=0.1 if seed % 4 == 0 else 0.01, calls=seed % 3 == 0)
    nest = draw.nest()
    machine = Machine(nest)
    for _ in range(4):
        check(nest, *draw.objects(), machine=machine)


def element_by_element(write: Callable[[Code, Value], None], *slots: Slot) -> Nest:
    """A loop whose turn `write` writes, given the turn's number."""
    code = Code(*slots, RANGE)
    write(code, code.header("i", "body"))
    code.end("jump", "header")
    return code.nest()


@pytest.mark.parametrize("divisor", ["div", "floordiv", "mod"])
def test_a_division_by_zero_is_a_doubt_in_its_turn(divisor: str) -> None:
    """Memory was written before it: what calls the code undoes that."""
    dtype = float if divisor == "div" else int

    def write(code: Code, i: Value) -> None:
        code.store(0, i, code.op(divisor, code.load(0, i), code.load(1, i)))

    nest = element_by_element(write, array("a", dtype, is_written=True), array("b", dtype))
    for k in range(5):
        a, b = np.arange(1, 6).astype(dtype), np.full(5, 2).astype(dtype)
        assert check(nest, [a, b], over(range(5)))
        b[k] = 0
        assert check(nest, [a, b], over(range(5))) is False


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        ("add", 2**63 - 1, 1),
        ("sub", -(2**63), 1),
        ("mul", 2**62, 2),
        ("floordiv", -(2**63), -1),
        ("mod", -(2**63), -1),
        ("shl", 1, 63),
        ("shl", 1, 64),
        ("shr", 1, -1),
    ],
)
def test_an_integer_that_no_longer_fits_is_a_doubt(op: str, left: int, right: int) -> None:
    """As a constant on the right too."""

    def write(code: Code, i: Value) -> None:
        code.set("n", code.op(op, code.get("n"), code.get("m")))

    def constant(code: Code, i: Value) -> None:
        code.set("n", code.op(op, code.get("n"), code.whole(right)))

    slots = (number("n", "int"), number("m", "int", is_changed=False))
    for nest in (element_by_element(write, *slots), element_by_element(constant, *slots)):
        numpys = {"n.numpy": False, "m.numpy": False}
        assert check(nest, [], over(range(1), n=left, m=right, **numpys)) is False


def test_comparisons_with_nan_are_quiet() -> None:
    """Comparing with NaN raises no flag."""

    def write(code: Code, i: Value) -> None:
        x, y = code.load(0, i), code.load(1, i)
        for column, op in enumerate(("flt", "fle", "feq", "fne", "fgt", "fge")):
            code.store(2, i, code.whole(column), code.op(op, x, y))

    slots = (array("a"), array("b"), array("c", bool, 2, is_written=True))
    nest = element_by_element(write, *slots)
    a, b = np.array([1, np.nan, -np.nan, 2, -0.0]), np.array([np.nan, 1, np.nan, 1, 0])
    c = np.zeros((5, 6), bool)
    assert check(nest, [a, b, c], over(range(5)))
    assert c[1].tolist() == [False, False, False, True, False, False]


@pytest.mark.parametrize("count", [1, 6])
def test_unlike_nans_are_a_doubt(count: int) -> None:
    """Where two NaNs meet, and are alike, the result is theirs; a NaN alone lives on (in short sums)."""

    def write(code: Code, i: Value) -> None:
        total = code.load(0, i)
        for _ in range(count):
            total = code.op("add", total, code.load(1, i))
        code.store(0, i, total)

    nest = element_by_element(write, array("a", is_written=True), array("b"))
    machine = Machine(nest)
    for first, second, is_left in [
        (np.nan, -np.nan, False),
        (np.nan, np.nan, count == 1),
        (-np.nan, -np.nan, count == 1),
        (1.0, -np.nan, count == 1),
        (np.nan, 1.0, count == 1),
        (1.0, 1.0, True),
    ]:
        arrays = [np.array([first]), np.array([second])]
        assert machine.execute(arrays, over(range(1)))[0] is is_left


@pytest.mark.parametrize("real", [float, np.float32])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_a_negative_nan(op: str, real: Any) -> None:
    """Its sign is flipped before it is an operand."""

    def write(code: Code, i: Value) -> None:
        code.store(0, i, code.op(op, code.load(0, i), code.op("neg", code.load(1, i))))
        other = code.op(op, code.op("neg", code.load(0, i)), code.load(1, i))
        code.store(1, i, code.op("neg", other))

    slots = array("a", real, is_written=True), array("b", real, is_written=True)
    a, b = np.ones(3, real), np.array([math.nan, -math.nan, 2.0], real)
    assert check(element_by_element(write, *slots), [a, b], over(range(3)))


def test_flags_of_what_is_not_used() -> None:
    """No result is dropped, chosen or folded before its flags were raised."""

    def write(code: Code, i: Value) -> None:
        x, huge, tiny = code.load(0, i), code.real(1e308), code.real(1e-308)
        code.op("mul", huge, huge)
        chosen = code.select(code.truth(False), code.op("mul", tiny, tiny), x)
        code.store(0, i, chosen)

    nest = element_by_element(write, array("a", is_written=True))
    left, flags = Machine(nest).execute([np.ones(3)], over(range(3)))
    assert left
    assert flags == {"overflow", "underflow"}


def test_no_flag_of_what_is_not_done() -> None:
    """An operation behind a branch is not done before it."""
    code = Code(array("a"), number("s"), RANGE)
    i = code.header("i", "body")
    some = code.op("fgt", code.load(0, i), code.real(0))
    code.set("k", i)
    code.end("branch", "then", "header", condition=some)
    code.begin("then")
    x = code.load(0, code.get("k"))
    code.set("s", code.op("add", code.get("s"), code.op("sqrt", code.op("mul", x, x))))
    code.end("jump", "header")
    a = np.array([-1e300, -np.inf, 2.0, -5e-324, np.nan])
    left, flags = Machine(code.nest()).execute([a], over(range(5), s=0.0, **{"s.numpy": False}))
    assert left
    assert not flags


def test_any_byte_but_zero_is_true() -> None:
    """A bool array may hold other bytes than 0 and 1."""

    def write(code: Code, i: Value) -> None:
        code.store(1, i, code.op("widen", code.load(0, i)))

    nest = element_by_element(write, array("a", bool), array("b", int, is_written=True))
    a, b = np.array([0, 1, 2, 255], np.uint8).view(bool), np.zeros(4, int)
    assert check(nest, [a, b], over(range(4)))
    assert b.tolist() == [0, 1, 1, 1]


def test_functions_of_c_are_pythons() -> None:
    """They are called; what is not finite is a doubt."""

    def write(code: Code, i: Value) -> None:
        code.store(0, i, code.call("exp", code.call("sin", code.load(0, i))))
        code.store(0, i, code.call("pow", code.load(0, i), code.real(3.0)))

    nest = element_by_element(write, array("a", is_written=True))
    a = np.linspace(-3, 3, 7)
    wanted = [math.exp(math.sin(x)) ** 3.0 for x in a.tolist()]
    assert check(nest, [a], over(range(7)))
    assert a.tolist() == wanted
    assert check(nest, [np.full(7, np.inf)], over(range(7))) is False
    assert check(nest, [np.full(7, np.nan)], over(range(7))) is False


def test_a_function_that_c_lacks() -> None:
    """It is said when the nest is compiled."""

    def write(code: Code, i: Value) -> None:
        code.call("no_such_function", code.real(1.0))

    with pytest.raises(LookupError, match="no_such_function"):
        Machine(element_by_element(write))


def test_two_views_of_one_memory() -> None:
    """Stores through one are seen through the other, in order."""

    def write(code: Code, i: Value) -> None:
        code.store(0, i, code.op("add", code.load(1, i), code.load(1, code.whole(-1))))

    nest = element_by_element(write, array("a", is_written=True), array("b"))
    memory, wanted = np.arange(10.0), np.arange(10.0)
    for i in range(9):
        wanted[i + 1] = wanted[i] + wanted[-1]
    assert Machine(nest).execute([memory[1:], memory], over(range(9)))[0]
    assert memory.tobytes() == wanted.tobytes()


def test_the_reference_gives_back_objects() -> None:
    """The iterator is moved; the turn in doubt is not done."""
    a = np.arange(5.0)
    for start, rest, turns, wanted, left in [
        (1.0, range(1, 9, 2), None, 5.0, [5, 7]),
        (np.float64(1), range(5), 2, 2.0, [2, 3, 4]),
        (1.0, range(7, 9), None, NotImplemented, [7, 8]),
    ]:
        iterator = iter(rest)
        found = run(total(), [a, start, iterator], turns)
        assert found == wanted
        assert wanted is NotImplemented or type(found) is type(start)
        assert list(iterator) == left


def test_every_op_has_code_and_a_definition() -> None:
    """The tables of the backend and of the reference are those of the language."""
    assert TYPED.keys() == SIGNATURES.keys() == nest_arithmetic.RULES.keys()


def edges(type_: str) -> list[Any]:
    """Numbers of a type at which something happens."""
    if type_ == I1:
        return [False, True]
    if type_ in INTEGERS:
        low, high = limits(type_)
        bits_ = int(type_[1:])
        near = {0, 1, -1, 2, 3, -7, bits_ - 1, bits_, low, low + 1, high, high - 1, high // 2}
        return sorted(number for number in near if low <= number <= high)
    wholes = [limit for low, high in map(limits, INTEGERS) for limit in (low - 1, high + 1)]
    info = np.finfo(np.float32 if type_ == F32 else float)
    large = [
        float(info.max),
        float(info.smallest_subnormal),
        math.inf,
        -math.inf,
        math.nan,
        -math.nan,
    ]
    reals = [0.0, -0.0, 0.5, -0.5, 1.0, -1.5, 255.75, *map(float, wholes), *large]
    return [np.float32(real) if type_ == F32 else real for real in reals]


@pytest.mark.parametrize("first", [I1, *REALS, *INTEGERS])
@pytest.mark.filterwarnings("ignore")
def test_every_op_on_numbers_at_the_edges(first: str) -> None:
    """Machine code gives the bits, the flags and the doubts of the reference."""
    kinds = {type_: kind for kind, type_ in KINDS.items()}
    for (op, type_), (takes, gives) in SIGNATURES.items():
        if type_ != first:
            continue
        given = [number(f"x{i}", kinds[one]) for i, one in enumerate(takes)]
        result = number("r", kinds[gives])

        def write(code: Code, _: Value, op: str = op, takes: tuple[str, ...] = takes) -> None:
            code.set("r", code.op(op, *(code.get(f"x{i}") for i in range(len(takes)))))

        machine = Machine(element_by_element(write, *given, result))
        for values in itertools.product(*map(edges, takes)):
            cells = {f"x{i}": value for i, value in enumerate(values)} | {"r": edges(gives)[0]}
            tags = {f"{name}.numpy": True for name in cells}
            check(machine.nest, [], over(range(1), **cells, **tags), machine)


def test_names_in_any_letters() -> None:
    """Variables and blocks may be called what Python allows."""
    code = Code(number("é"), RANGE)
    code.header("i", "body")
    code.set("値", code.op("add", code.get("é"), code.real(1.0)))
    code.set("é", code.get("値"))
    code.end("jump", "header")
    assert check(code.nest(), [], over(range(3), **{"é": 0.5, "é.numpy": False}))


def test_an_element_is_read_again_after_a_store() -> None:
    """The array that was written may share its memory, at another index."""

    def write(code: Code, i: Value) -> None:
        place = code.op("add", i, code.whole(1))
        code.store(0, i, code.op("add", code.load(1, place), code.real(1.0)))
        code.store(2, i, code.load(1, place))

    slots = (array("a", is_written=True), array("b"), array("c", is_written=True))
    nest = element_by_element(write, *slots)
    memory, c = np.arange(10.0), np.zeros(9)
    assert Machine(nest).execute([memory[1:], memory, c], over(range(9)))[0]
    assert memory.tolist() == [0.0, *np.arange(2.0, 11.0)]
    assert c.tobytes() == memory[1:].tobytes()


def test_a_turn_without_end_ends_in_a_doubt_for_a_signal() -> None:
    """Signals wait while machine code runs; it asks for them in inner loops. Turns of the outermost are free."""
    code = Code(number("n", "int"), RANGE)
    code.header("i", "body")
    code.end("jump", "inner")
    code.begin("inner")
    some = code.op("ilt", code.get("n"), code.whole(100))
    code.end("branch", "inner", "header", condition=some)
    machine = Machine(code.nest())
    cells = over(range(5), n=0, **{"n.numpy": False})
    heard: list[float] = []
    with on_alarm(lambda *_: heard.append(time.perf_counter())):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        started = time.perf_counter()
        assert not machine.execute([], cells)[0]
    assert cells[TURNS] == 4
    assert 0.05 <= heard[0] - started < 0.5
    cells = over(range(5 * PATIENCE), n=100, **{"n.numpy": False})
    assert machine.execute([], cells)[0]


def test_turns_of_the_outermost_loop_are_not_counted() -> None:
    """What calls the code says how many there are."""

    def write(code: Code, i: Value) -> None:
        code.set("n", code.op("xor", code.get("n"), i))

    nest = element_by_element(write, number("n", "int"))
    assert Machine(nest).execute([], over(range(2 * PATIENCE), n=0, **{"n.numpy": False}))[0]

"""Array statements in nests: machine code against the reference executor."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from tests.support.nests.random_maps import Draw, Part, outcome
from ufuse.backends.numpy.nest_code.nests import nest_text
from ufuse.backends.numpy.nest_passes.operands import without_repetition
from ufuse.graph.nest import Map, Scalar, Step, View
from ufuse.graph.nest_types import TURNS


# 122: without a fence the code generator divides 1 by neither number that a bool may be.
@pytest.mark.parametrize("seed", [*range(48), 122])
def test_statements_drawn_by_chance(seed: int) -> None:
    """Every operation, dtype, layout and overlap; ordinary values are not in doubt."""
    draw = Draw(seed)
    machine = Machine(draw.nest())
    turn = {"i.next": 0, "i.step": 1, "i.left": 1, TURNS: 1}
    for run in range(8):
        wildness = [0.0, 0.0, 0.02, 0.5][run % 4]
        parts, cells = draw.given(wildness)
        is_left = outcome(machine, parts, {**cells, **turn})
        assert is_left or wildness > 0 or draw.plain, machine.nest


@pytest.mark.parametrize("seed", range(16))
def test_statements_in_better_code(seed: int) -> None:
    """For arrays that share no memory better code gives the same bits, and loses no flag, wherever it is not in doubt."""
    draw = Draw(seed)
    machine = Machine(draw.nest(), is_improved=True)
    turn = {"i.next": 0, "i.step": 1, "i.left": 1, TURNS: 1}
    for run in range(8):
        parts, cells = draw.given([0.0, 0.0, 0.02, 0.5][run % 4])
        if len({id(part.base) for part in parts}) == len(parts):
            outcome(machine, parts, {**cells, **turn}, is_exact=False)


def test_better_code_has_rows_of_its_own() -> None:
    """They are optimised by the code generator: short rows take less time."""
    nest = Draw(1).nest()
    assert "row.better." not in nest_text(nest, "NAME")
    assert "row.better." in nest_text(nest, "NAME", is_fast=True)


def test_temporaries_folds_and_products() -> None:
    """`t = a[1:] * 2`, its sum and its product with `a[:-1]` are stored; so are elements of `t` and its length."""
    real = np.dtype(float)
    code = Code(
        array("a"), array("b", is_written=True), number("n", "int", is_changed=False), RANGE
    )
    code.temporaries.append(array("t"))
    code.header("i", "body")
    n, zero, one, two = code.get("n"), code.whole(0), code.whole(1), code.whole(2)
    whole, temporary = View(0, ((0, 1),)), View(2, ((0, 1),))
    code.alloc(2, n)
    twice = Step("multiply", (real, real, real), (0, 1))
    code.map(Map(1, (whole, Scalar(real)), (twice,), temporary), n, one, code.real(2.0), zero)
    code.store(1, zero, code.fold("add", temporary, n, zero))
    code.store(1, one, code.fold("maximum", temporary, n, zero))
    code.store(1, two, code.dot("dot", temporary, whole, n, zero, zero))
    code.store(
        1,
        code.whole(3),
        code.dot("matmul", whole, View(2, ((0, -1),)), n, zero, code.op("sub", n, one)),
    )
    code.store(1, code.whole(4), code.load(2, code.whole(-1)))
    code.store(1, code.whole(5), code.op("to_f64", code.dim(2, 0)))
    code.end("jump", "header")
    machine = Machine(code.nest())
    for length in (1, 2, 7, 300, 5000):
        a = np.random.default_rng(length).standard_normal(length + 1)
        parts = [
            Part(one.view(np.uint8), 0, one.shape, one.strides, real) for one in (a, np.zeros(6))
        ]
        turn = {"i.next": 0, "i.step": 1, "i.left": 3, TURNS: 3}
        assert outcome(machine, parts, {"n": length, "n.numpy": False, **turn})
    turn = {"i.next": 0, "i.step": 1, "i.left": 3, TURNS: 3}
    assert not machine.execute([a, np.zeros(6)], {"n": 0, "n.numpy": False, **turn})[0]


def test_operands_and_steps_once() -> None:
    """`b[:] = a * x + a * x`: one array, one number, one product. Not where a variable was set between."""
    real = np.dtype(float)
    code = Code(array("a"), array("b", is_written=True), number("x"), RANGE)
    code.header("i", "body")
    view = View(0, ((0, 1),))
    product = [Step("multiply", (real, real, real), (place, place + 1)) for place in (0, 2)]
    total = Step("add", (real, real, real), (4, 5))
    what = Map(1, (view, Scalar(real)) * 2, (*product, total), View(1, ((0, 1),)))
    for is_changed in (False, True):
        first, start = code.get("x"), code.whole(0)
        if is_changed:
            code.set("x", code.op("add", first, first))
        given = (start, first, code.whole(0), code.get("x"), code.whole(0))
        code.map(what, code.dim(0, 0), *given)
    code.end("jump", "header")
    body = without_repetition(code.nest()).blocks[-1]
    found = [one.attributes[0] for one in body.instructions if one.op == "map"]
    assert [len(one.operands) for one in found] == [2, 3]
    assert [len(one.steps) for one in found] == [2, 3]


def test_copies_that_read_what_they_wrote() -> None:
    """A vector copied onto one of other steps that shares its memory: NumPy's result is no copy's."""
    real = np.dtype(float)
    code = Code(array("a"), array("b", is_written=True), RANGE)
    code.header("i", "body")
    vector, zero = ((0, 1),), code.whole(0)
    copy = Map(1, (View(0, vector),), (Step("copy", (real, real), (0,)),), View(1, vector))
    code.map(copy, code.dim(1, 0), zero, zero)
    code.end("jump", "header")
    machine = Machine(code.nest())
    turn = {"i.next": 0, "i.step": 1, "i.left": 1, TURNS: 1}
    memory = np.arange(40.0)
    assert not machine.execute([memory[:10], memory[1:20:2]], dict(turn))[0]
    for a, b in [
        (memory[:10], memory[30:10:-2]),
        (memory[:10], memory[1:11]),
        (memory[:10], memory[11:30:2]),
    ]:
        wanted = a.copy()
        assert machine.execute([a, b], dict(turn))[0]
        assert b.tolist() == wanted.tolist()

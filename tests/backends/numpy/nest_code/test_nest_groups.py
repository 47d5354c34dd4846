"""Functions of NumPy that a turn calls for several numbers: one call in better code, with the same bits and flags."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.native_loops import native_turns
from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from ufuse.backends.numpy.nest_passes import keeping
from ufuse.backends.numpy.nest_passes.groups import Group, lanes, with_groups
from ufuse.backends.numpy.nest_passes.keeping import is_wide, keeps_flags, not_keeping, wide
from ufuse.backends.numpy.nest_passes.versions import versioned
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import F32, F64, Value

COUNT = 30
UNARY = ["exp", "exp", "exp", "sin", "log", "tanh", "arctan", "sqrt", "floor", "log1p"]
SPECIAL = [1e308, -1e308, 5e-324, 0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 710.0, -1.0]


def following(seed: int, dtype: str) -> Nest:
    """A loop in which each turn computes several functions of what the turn before has left."""
    draw = random.Random(seed)  # noqa: S311
    kind = "float" if dtype == "f8" else "float32"
    code = Code(array("a", dtype), array("x", dtype, is_written=True), number("s", kind), RANGE)
    i = code.header("i", "body")
    pool: list[Value] = [code.get("s"), code.load(0, i)]
    type_ = pool[0].type

    def one() -> Value:
        return draw.choice(pool[-6:])

    for _ in range(draw.randint(3, 24)):
        what = draw.random()
        if what < 0.6:
            pool.append(code.call(f"numpy.{draw.choice(UNARY)}", draw.choice([pool[0], one()])))
        elif what < 0.9:
            other = draw.choice([one(), code.constant(type_, draw.choice([0.5, -0.25, 2.0]))])
            pool.append(code.op(draw.choice(["add", "sub", "mul", "div"]), one(), other))
        elif what < 0.95:
            code.append("doubt_if", (code.op("feq", one(), code.constant(type_, 0.125)),), None)
        else:
            code.store(1, i, one())
    code.store(1, i, one())
    half = code.op("mul", one(), code.constant(type_, 0.25))
    code.set("s", code.op("add", half, code.load(0, i)))
    code.end("jump", "header")
    return code.nest()


def groups(nest: Nest) -> list[Group]:
    """The groups of better code."""
    made = with_groups(versioned(nest, is_alone=True))
    return [
        one.attributes[0]
        for block in made.blocks
        for one in block.instructions
        if one.op == "group_run"
    ]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("seed", range(50))
def test_turns_drawn_by_chance(seed: int, dtype: str) -> None:
    """Whatever follows from what, and whatever the numbers are."""
    machine = Machine(following(seed, dtype), is_improved=True)
    draw = np.random.default_rng(seed)
    for wildness in (0.0, 0.0, 0.03, 0.1):
        given = [draw.random(COUNT) + 0.1 for _ in range(2)]
        for each in given:
            wild = draw.random(COUNT) < wildness
            each[wild] = draw.choice(SPECIAL, wild.sum())
        with np.errstate(all="ignore"):
            arrays = [each.astype(dtype) for each in given]
        first = 0.5 if dtype == "f8" else np.float32(0.5)
        check_improved(machine, arrays, over(range(COUNT), s=first, **{"s.numpy": True}))


def test_most_drawn_turns_have_groups() -> None:
    """Else they would show nothing."""
    assert (
        sum(any(one.count > 2 for one in groups(following(seed, "f8"))) for seed in range(50)) > 12
    )


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 20])
def test_as_many_as_a_vector_has(count: int) -> None:
    """More calls are several groups; a call alone is one where a vector takes no longer."""
    code = Code(array("x", is_written=True), number("s"), RANGE)
    i = code.header("i", "body")
    total = code.get("s")
    for place in range(count):
        total = code.op(
            "add",
            total,
            code.call("numpy.exp", code.op("mul", code.get("s"), code.real(-0.1 * place))),
        )
    code.store(0, i, total)
    code.set("s", code.op("mul", total, code.real(0.05)))
    code.end("jump", "header")
    nest = code.nest()
    counts = [one.count for one in groups(nest)]
    least = 1 if is_wide("numpy.exp", F64) else 2
    wanted = [min(lanes(F64), count - done) for done in range(0, count, lanes(F64))]
    assert counts == [one for one in wanted if one >= least]
    cells = over(range(COUNT), s=0.5, **{"s.numpy": True})
    assert check_improved(Machine(nest, is_improved=True), [np.zeros(COUNT)], cells)


def test_a_call_that_needs_another() -> None:
    """It is in a group behind that of the other one."""
    code = Code(array("x", is_written=True), number("s"), RANGE)
    i = code.header("i", "body")
    one = code.call("numpy.exp", code.get("s"))
    other = code.call("numpy.exp", code.op("neg", code.get("s")))
    last = code.call("numpy.exp", code.op("sub", one, other))
    code.store(0, i, last)
    code.set("s", code.op("mul", last, code.real(0.01)))
    code.end("jump", "header")
    assert [each.count for each in groups(code.nest())][:1] == [2]


def test_which_loops_keep_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is tried; code is kept under another name where they do not, or are not for vectors."""
    assert keeps_flags("numpy.exp", F64)
    assert not keeps_flags("numpy.maximum", F64)  # it clears all flags at its end
    nest = following(0, "f8")
    assert set(not_keeping(nest)) <= {"numpy.tanh of f64 clears flags"}
    assert all(one.endswith("is wide") for one in wide(nest))
    assert not is_wide("numpy.hypot", F32)
    monkeypatch.setattr(keeping, "MOST_LONGER", 0.0)
    is_wide.cache_clear()
    try:
        assert wide(nest) == []
    finally:
        is_wide.cache_clear()


# Whole programs ---------------------------------------------------------------------------------------------------


def neuron(n, v, out):
    """Hodgkin and Huxley's equations."""
    m, h, k, dt = 0.05, 0.6, 0.32, 0.01
    for t in range(n):
        am = 0.1 * (v + 40.0) / (1.0 - np.exp(-(v + 40.0) / 10.0))
        bm = 4.0 * np.exp(-(v + 65.0) / 18.0)
        ah = 0.07 * np.exp(-(v + 65.0) / 20.0)
        bh = 1.0 / (1.0 + np.exp(-(v + 35.0) / 10.0))
        an = 0.01 * (v + 55.0) / (1.0 - np.exp(-(v + 55.0) / 10.0))
        bn = 0.125 * np.exp(-(v + 65) / 80.0)
        m += dt * (am * (1.0 - m) - bm * m)
        h += dt * (ah * (1.0 - h) - bh * h)
        k += dt * (an * (1.0 - k) - bn * k)
        current = 120.0 * m * m * m * h * (v - 50.0) + 36.0 * k * k * k * k * (v + 77.0)
        v += dt * (10.0 - current - 0.3 * (v + 54.387))
        out[t] = v
    return v, m, h, k


def squashed(n, v, out):
    """Some overflow, and some of zero."""
    for t in range(n):
        a, b = np.exp(v * 3.0), np.exp(-v)
        c, d = np.tanh(v), np.tanh(v - 1.0)
        e = np.log(abs(v) - t % 7)
        v = 0.3 * (a - b) / (1.0 + a) + c * d + (e if e > -1.0 else 0.0) + t % 40
        out[t] = v
    return v


@pytest.mark.parametrize("program", [neuron, squashed])
@pytest.mark.parametrize("first", [-65.0, np.float64(-40.0), np.float64(1e3)])
def test_what_turns_leave(program: Any, first: Any) -> None:
    """Steps in time, whose warnings are NumPy's."""
    native_turns(program, lambda: (300, first, np.zeros(300)))

"""Least and greatest of several integers in better code: another order, the same numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.native_loops import native_turns
from tests.support.nests.nest_checks import check_improved, over
from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from ufuse.backends.numpy.nest_passes.extremes import with_short_chains
from ufuse.backends.numpy.nest_passes.versions import versioned
from ufuse.graph.nest import Instruction, Nest
from ufuse.graph.nest_types import Value

SIZE = 12


def chosen(code: Code, name: str, one: Value, other: Value, how: int) -> Value:
    """The lesser or greater of two, as one of the ways to write it."""
    test = "ilt" if name == "least" else "igt"
    match how:
        case 0:
            given = code.op(test, other, one), other, one
        case 1:
            given = code.op("not", code.op(test, other, one)), one, other
        case 2:
            turned = "ige" if name == "least" else "ile"
            given = code.op(turned, one, other), other, one
        case _:
            given = code.op(test, one, other), one, other
    return code.append("select", given, one.type)


def table_of(seed: int) -> Nest:
    """A table whose elements are an extreme of their neighbours and of constants, each a little more or less."""
    draw = random.Random(seed)  # noqa: S311
    code = Code(array("t", is_written=True, ndim=2, dtype="int64"), number("best", "int"), RANGE)
    i = code.header("i", "body")
    row = code.op("add", i, code.whole(1))
    code.set("row", row)
    stop = code.op("sub", code.dim(0, 1), code.whole(1))
    column = code.loop("j", code.whole(0), stop, "after")
    row, one = code.get("row"), code.whole(1)
    before, behind = code.op("sub", row, one), code.op("add", column, one)
    items = [
        code.load(0, row, column),
        code.load(0, before, behind),
        code.load(0, before, column),
        *draw.choice([[], [code.whole(draw.randint(-3, 3))]]),
    ]
    draw.shuffle(items)
    found: Value | None = None
    name = draw.choice(["least", "greatest"])
    for item in items:
        more = code.op("add", item, code.whole(draw.randint(-2, 3)))
        found = more if found is None else chosen(code, name, found, more, draw.randrange(4))
    assert found is not None
    if draw.random() < 0.3:
        code.set("best", chosen(code, "greatest", code.get("best"), found, 0))
    code.store(0, row, behind, found)
    code.again("j")
    code.begin("after")
    code.end("jump", "header")
    return code.nest()


def chains(nest: Nest) -> int:
    """How many choices better code has more than it had before."""

    def count(one: Nest) -> int:
        return sum(each.op == "select" for each in instructions(one))

    made = versioned(nest, is_alone=True)
    return count(with_short_chains(made)) - count(made)


def instructions(nest: Nest) -> list[Instruction]:
    """All of them."""
    return [one for block in nest.blocks for one in block.instructions]


@pytest.mark.parametrize("seed", range(60))
def test_tables_drawn_by_chance(seed: int) -> None:
    """Whatever is the least, and where integers overflow, better code does the same."""
    nest = table_of(seed)
    machine = Machine(nest, is_improved=True)
    draw = np.random.default_rng(seed)
    for most in (3, 50, 1 << 62, (1 << 63) - 1):
        table = draw.integers(-most, most, (SIZE, SIZE))
        cells = over(range(SIZE - 1), best=0, **{"best.numpy": False})
        check_improved(machine, [table], cells)


def test_most_tables_get_another_order() -> None:
    """Else they would show nothing."""
    assert sum(chains(table_of(seed)) > 0 for seed in range(60)) > 30


def test_what_comes_late_is_last() -> None:
    """The element that the turn before has stored is compared with the least of the others."""
    code = Code(array("t", is_written=True, dtype="int64"), array("a", dtype="int64"), RANGE)
    i = code.header("i", "body")
    behind = code.op("add", i, code.whole(1))
    late, first, other = code.load(0, i), code.load(1, i), code.load(1, behind)
    found = chosen(code, "least", chosen(code, "least", first, late, 0), other, 1)
    code.store(0, behind, found)
    code.end("jump", "header")
    made = with_short_chains(versioned(code.nest(), is_alone=True))
    block = next(
        block for block in made.blocks if any(one.op == "store" for one in block.instructions)
    )
    makers = {one.result: one for one in block.instructions}
    stored = next(one for one in block.instructions if one.op == "store").inputs[-1]
    assert late in makers[stored].inputs


# Whole programs ---------------------------------------------------------------------------------------------------


def distance(one: Any, other: Any, table: Any) -> Any:
    """Levenshtein's distance, with `min` of three."""
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            cost = 0 if one[i - 1] == other[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[len(one), len(other)]


def alignment(one: Any, other: Any, table: Any) -> Any:
    """A local alignment, whose best score may be an int of Python's or of NumPy's."""
    best = 0
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            score = 3 if one[i - 1] == other[j - 1] else -3
            here = max(0, table[i - 1, j - 1] + score, table[i - 1, j] - 2, table[i, j - 1] - 2)
            table[i, j] = here
            best = max(best, here)
    return best


def common(one: Any, other: Any, table: Any) -> Any:
    """The longest common sequence, in one row of ints."""
    row = [0] * (len(other) + 1)
    for i in range(len(one)):
        before = 0
        for j in range(len(other)):
            kept = row[j + 1]
            same = before + 1 if one[i] == other[j] else 0
            row[j + 1] = max(row[j + 1], row[j], same)
            before = kept
    table[0, 0] = row[-1]
    return row[-1]


@pytest.mark.parametrize("program", [distance, alignment, common])
@pytest.mark.parametrize("begin", [0, 7, (1 << 63) - 20])
def test_dynamic_programming(program: Callable[..., Any], begin: int) -> None:
    """Tables, and whose number the best one is; where one overflows NumPy warns."""

    def made() -> tuple[Any, ...]:
        draw = np.random.default_rng(4)
        table = np.full((31, 36), begin)
        return draw.integers(0, 4, 30), draw.integers(0, 4, 35), table

    assert native_turns(program, made) > 0 or begin > 7

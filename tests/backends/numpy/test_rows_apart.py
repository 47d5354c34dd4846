"""Rows of better code whose elements are no neighbours: along columns of matrices, or with steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.support.nests.nest_code import RANGE, Code, Machine, array, number
from tests.support.nests.random_maps import Part, outcome
from ufuse.backends.numpy.nest_code.nests import nest_text
from ufuse.graph.nest import Map, Nest, Scalar, Step, View
from ufuse.graph.nest_types import TURNS

COLUMN, ROW, BACKWARDS = ((0, 1),), ((1, 1),), ((0, -1),)
# Whole vectors, rests, and neither.
LENGTHS = (*range(10), 16, 23, 24, 31, 32, 33, 64, 100)
TURN = {"i.next": 0, "i.step": 1, "i.left": 1, TURNS: 1}


def statement(dtype: Any, axes: list[Any], operations: int) -> Nest:
    """Of a target and two operands, along these axes of three matrices, from places that it is given."""
    matrices = [array(name, dtype, 2, is_written=name == "c") for name in "abc"]
    names = [f"{name}{axis}" for name in "abc" for axis in range(2)]
    wholes = [number(name, "int", is_changed=False) for name in ("n", *names)]
    code = Code(*matrices, *wholes, number("x", is_changed=False), RANGE)
    code.header("i", "body")
    kind = np.dtype(dtype)
    views = [View(place, one) for place, one in enumerate(axes)]
    steps = [Step("multiply", (kind, kind, kind), (0, 2)), Step("add", (kind, kind, kind), (1, 4))]
    steps[1:1] = [
        Step("subtract", (kind, kind, kind), (4 + more, 0)) for more in range(operations - 2)
    ]
    steps[-1] = Step("add", (kind, kind, kind), (1, 2 + operations))
    number_of = code.get("x") if kind.kind == "f" else code.whole(3)
    operands = (views[0], views[1], Scalar(kind), views[2])
    steps.append(Step("add", (kind, kind, kind), (3 + operations, 3)))
    places = [code.get(name) for name in names]
    given = [*places[:4], number_of, *places[4:], *places[4:]]
    code.map(Map(1, operands, tuple(steps), views[2]), code.get("n"), *given)
    code.end("jump", "header")
    return code.nest()


def matrix(dtype: Any, draw: np.random.Generator, axes: Any, length: int, order: str) -> Any:
    """One that is longer than needed, and where the row of the statement begins in it."""
    along, step = axes[0]
    shape = [3, 3]
    shape[along] = length + 2
    values = draw.integers(-9, 9, shape).astype(dtype)
    memory = values if order == "C" else np.asfortranarray(values)
    place = [1, 1]
    if step < 0:
        place[along] = length
    base = memory.ravel(order="K").view(np.uint8)
    return Part(base, 0, memory.shape, memory.strides, np.dtype(dtype)), place


@pytest.mark.parametrize("dtype", ["d", "f", "l", "i"])
@pytest.mark.parametrize("operations", [2, 4])
@pytest.mark.parametrize(
    "axes",
    [
        [COLUMN, ROW, ROW],
        [ROW, COLUMN, COLUMN],
        [COLUMN, COLUMN, COLUMN],
        [BACKWARDS, ROW, COLUMN],
        [ROW, BACKWARDS, ROW],
    ],
    ids=str,
)
def test_bits_and_nothing_beside_the_row(dtype: str, axes: list[Any], operations: int) -> None:
    """In matrices of either order, of all lengths: the definition's bits, and what lies behind a row stays as it is."""
    machine = Machine(statement(dtype, axes, operations), is_improved=True)
    draw = np.random.default_rng(operations)
    for length in LENGTHS:
        for orders in ("CCC", "FFF", "CFC", "FCF"):
            made = [
                matrix(dtype, draw, one, length, order)
                for one, order in zip(axes, orders, strict=True)
            ]
            cells: dict[str, Any] = {"n": length, "x": 0.75}
            for name, (_, place) in zip("abc", made, strict=True):
                cells |= {f"{name}{axis}": start for axis, start in enumerate(place)}
            cells |= {f"{name}.numpy": False for name in cells}
            assert outcome(machine, [part for part, _ in made], {**cells, **TURN}, is_exact=False)


def test_which_statements_take_elements_apart() -> None:
    """Those of better code in which an array has no neighbours; C is called for other layouts, and where threads may share."""
    apart, near = (statement("d", [one, ROW, ROW], 2) for one in (COLUMN, ROW))
    first, better, others = nest_text(apart, "N"), nest_text(apart, "N", is_fast=True), nest_text(near, "N", is_fast=True)  # fmt: skip
    assert "helper.map" in first
    assert "row.better." in better
    assert all("icmp ult i64" in text and ", 8192" in text for text in (better, others))
    assert better.count("call i32") == others.count("call i32") == 3  # the row, C's, and the nest's
    names = [text.split("row.better.")[1].split('"')[0] for text in (better, others)]
    assert names[0] != names[1]

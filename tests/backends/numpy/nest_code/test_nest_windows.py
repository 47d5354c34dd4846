"""Windows in better code: no side ways, and no checks in loops in front of which they are tested."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests.native_loops import leave_loops, loops_of
from ufuse.backends.numpy.nest_code.nests import is_of_arrays
from ufuse.backends.numpy.nest_passes.versions import is_copy, is_late, versioned
from ufuse.backends.numpy.nest_passes.windows import without_side_ways
from ufuse.frame_hook.nests.entries import choice
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import SELDOM
from ufuse.graph.semantics.check_nest import check_nest


def sums(image, out):
    for i in range(1, len(image) - 1):
        for j in range(1, image.shape[1] - 1):
            out[i, j] = image[i - 1 : i + 2, j - 1 : j + 2].sum() * 0.5


def of_a_radius(image, out, r):
    for i in range(r, len(image) - r):
        for j in range(r, image.shape[1] - r):
            window = image[i - r : i + r + 1, j - r : j + r + 1]
            out[i, j] = window.mean()


def products(image, kernel, out):
    height, width = kernel.shape
    for i in range(len(image) - height + 1):
        for j in range(image.shape[1] - width + 1):
            out[i, j] = np.sum(image[i : i + height, j : j + width] * kernel)


def beside(image, out):
    for i in range(1, len(image) - 1):
        for j in range(1, image.shape[1] - 1):
            out[i, j] = image[i, j - 1 : j + 2].sum()


def nest_of(monkeypatch: pytest.MonkeyPatch, function: Any, *arguments: Any) -> Nest:
    """The nest of a function's outermost loop."""
    leave_loops(monkeypatch)
    monkeypatch.setattr(choice, "READ_AFTER", 0.0)
    compiled = ufuse.compile(function)
    for _ in range(3):
        compiled(*arguments)
    (loop,) = (one for one in loops_of(compiled) if one.nests)
    nest: Nest = loop.nests[0]
    return nest


IMAGE, OUT = np.random.default_rng(1).random((40, 40)), np.zeros((40, 40))
PROGRAMS = [
    (sums, (IMAGE, OUT)),
    (of_a_radius, (IMAGE, OUT, 1)),
    (products, (IMAGE, IMAGE[:3, :3].copy(), OUT)),
    (beside, (IMAGE, OUT)),
]


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_no_turn_has_checks(monkeypatch: pytest.MonkeyPatch, function, arguments) -> None:
    """What is left of windows in a loop is arithmetic, so LLVM makes vectors of turns."""
    nest = nest_of(monkeypatch, function, *arguments)
    assert any(block.label.endswith(SELDOM) for block in nest.blocks)
    assert not is_of_arrays(nest)
    made = without_side_ways(nest)
    check_nest(made)
    assert not any(block.label.endswith(SELDOM) for block in made.blocks)
    copies = [block for block in versioned(made, is_alone=True).blocks if is_copy(block)]
    assert all(map(is_late, copies))
    ops = [one.op for block in copies for one in block.instructions]
    assert ops.count("load") >= 3
    assert not {"doubt_if", "fold"}.intersection(ops)


def test_a_nest_without_windows_stays() -> None:
    """There is nothing to be left out."""
    nest = Nest.__new__(Nest)
    object.__setattr__(nest, "blocks", ())
    assert without_side_ways(nest) is nest

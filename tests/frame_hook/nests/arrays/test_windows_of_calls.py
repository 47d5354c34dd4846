"""Windows in whole calls: what a call computes from its arguments is seen through, as far as it was when it was read."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import arguments
from tests.support.nests.native_loops import called, hits
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import slot_names
from ufuse.frame_hook.nests.entries import whole
from ufuse.graph.nest import Nest
from ufuse.graph.nest_types import SELDOM

pytestmark = pytest.mark.usefixtures("loops_are_left")

FOLDS = {"reduce", "fold", "map"}


def convolved(image, kernel):
    """The size of a window is that of an argument."""
    height, width = kernel.shape
    rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
    out = np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = np.sum(image[i : i + height, j : j + width] * kernel)
    return out


def around(image, kernel):
    """A radius is half of a length."""
    r = kernel.shape[0] // 2
    out = image.copy()
    for i in range(r, image.shape[0] - r):
        for j in range(r, image.shape[1] - r):
            out[i, j] = image[i - r : i + r + 1, j - r : j + r + 1].max()
    return out


def by_a_number(image, kernel):
    """A radius is a number that the function has."""
    r = 1
    out = np.zeros(image.shape)
    for i in range(r, image.shape[0] - r):
        out[i] = kernel[0, 0]
        for j in range(r, image.shape[1] - r):
            out[i, j] = image[i - r : i + r + 1, j - r : j + r + 1].mean()
    return out


def growing(image, kernel):
    """A radius that turns, one that is set twice, and one that a branch sets."""
    total = 0.0
    for r in range(1, 4):
        for j in range(r, image.shape[1] - r):
            total += image[r, j - r : j + r + 1].sum()
    width = kernel.shape[1]
    for j in range(image.shape[1] - 4):
        total += image[0, j : j + width].sum()
    width = 2
    height = 1 if total > 0 else 3
    for j in range(image.shape[1] - 4):
        total += image[0, j : j + width].sum() + image[1, j : j + height].max()
    return total


def made(height: int, width: int, size: int = 12) -> tuple[Any, ...]:
    draw = np.random.default_rng([height, width, size])
    return draw.standard_normal((size, size + 2)), draw.standard_normal((height, width))


PROGRAMS = [convolved, around, by_a_number, growing]


def nest_of(function: Callable[..., Any], given: tuple[Any, ...]) -> Nest:
    """What a call is read as."""
    code = function.__code__
    state = (*given, *[_hook.NULL] * (len(slot_names(code)) - len(given)))
    _, _, read = whole._read(code, function, state)
    return read.nest


@pytest.mark.parametrize("function", [convolved, around, by_a_number])
def test_elements_are_followed(function: Callable[..., Any]) -> None:
    """No call of C's is on the usual way of a turn."""
    nest = nest_of(function, made(3, 3))
    asides = [block for block in nest.blocks if block.label.endswith(SELDOM)]
    assert any(one.op in FOLDS for block in asides for one in block.instructions)
    loops = [block for block in nest.blocks if any(one.op == "store" for one in block.instructions)]
    assert loops
    assert not any(one.op == "reduce" for block in loops for one in block.instructions)


@pytest.mark.parametrize("function", PROGRAMS)
def test_calls_of_other_sizes(function: Callable[..., Any]) -> None:
    """What was seen when the call was read need not be so in another one."""
    compiled = called(function, made(3, 3))
    before = hits(compiled)
    for height, width in ((3, 3), (2, 4), (5, 5), (3, 3), (1, 1), (3, 2), (9, 9), (3, 3)):
        for size in (12, 15):
            check_same(
                function,
                partial(compiled),  # hides `reset`
                lambda height=height, width=width, size=size: arguments(*made(height, width, size)),
            )
    assert hits(compiled) > before

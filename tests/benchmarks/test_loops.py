"""The group `loops` of the benchmarks."""

from __future__ import annotations

import pytest

import ufuse
from benchmarks.apart import loops_of
from benchmarks.cases.loops import LOOPS
from benchmarks.harness import difference_of


@pytest.mark.parametrize("name", list(LOOPS))
def test_small_sizes_are_the_same(name: str) -> None:
    """Compiled at once, whether that pays or not."""
    program = LOOPS[name]
    compiled = ufuse.compile(program.function)
    assert not difference_of(program, program.quick[0], compiled)
    assert all(text.startswith("line ") for text in loops_of(compiled))

"""The group `loops` of the benchmarks."""

from __future__ import annotations

import pytest

import ufuse
from benchmarks.apart import loops_of
from benchmarks.cases.loops import LOOPS
from benchmarks.harness import difference_of
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest


@pytest.mark.parametrize("name", list(LOOPS))
def test_small_sizes_are_the_same(name: str) -> None:
    """Compiled at once, whether that pays or not."""
    program = LOOPS[name]
    compiled = ufuse.compile(program.function)
    assert not difference_of(program, program.quick[0], compiled)
    assert all(text.startswith("line ") for text in loops_of(compiled))
    for nest in filter(None, (one.nest for one in compiled.__ufuse_session__.specialisations)):
        check_nest(nest)
        assert str(parse_nest(str(nest))) == str(nest)

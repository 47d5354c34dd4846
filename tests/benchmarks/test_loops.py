"""The group `loops` of the benchmarks."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

import ufuse
from benchmarks.apart import loops_of
from benchmarks.cases.loops import LOOPS
from benchmarks.harness import difference_of
from benchmarks.totals import totals
from ufuse.graph.semantics.check_nest import check_nest
from ufuse.graph.text.nest_parser import parse_nest

ROWS: list[dict[str, Any]] = [
    {
        "program": f"loops.{name}", "size": 50, "ratio": ratio, "first_call": 0.05 + first, "eager": {"median": 0.05},
        "loops": loops, "peers": {"numba": numba},
    }
    for name, ratio, first, loops, numba in (
        ("one", 2.0, 0.01, ["line 3: native, 5 turns, 0 doubts", "line 4: inside the native loop of line 3"], {"speed": 1.0, "exact": True}),
        ("two", 8.0, 0.02, ["line 9: plain, as it goes over a list [loop-over]"], {"speed": 9.0, "exact": False}),
        ("three", 4.0, 0.2, [], {"failed": "no lists"}),
    )
]  # fmt: skip


def test_totals() -> None:
    """Means of all and beside a rival, the least, first calls, and how loops ran."""
    console = Console(width=120, file=io.StringIO(), record=True)
    console.print(totals("loops", ROWS))
    rows = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    for wanted in (
        "run 3 2", "the same to the bit 3 1", "geometric mean, x eager 4.00x 3.00x", "of those that numba runs 4.00x",
        "faster than numba 1 of 2", "least: loops.one of 50 2.00x", "first call beyond eager, median 20.0 ms",
        "longest: loops.three of 50 200.0 ms", "above 60.0 ms 1", "native loops, those inside others too 2 of 3",
        "not native: loop-over 1",
    ):  # fmt: skip
        assert wanted in rows, rows


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

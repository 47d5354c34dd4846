"""STORE_FAST_STORE_FAST, which CPython 3.13 makes of `a, b = …`: what it drops dies in order, at that line."""

from __future__ import annotations

import dis
import sys
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.programs import dying

PROGRAMS = [
    dying.two_replaced, dying.second_replaced, dying.first_replaced_by_second, dying.swapped, dying.replaced_by_parts,
    dying.replaced_twice,
]  # fmt: skip


@pytest.mark.skipif(sys.version_info < (3, 13), reason="these are two instructions")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_programs_have_it(program: Any) -> None:
    """So that they test what they are for."""
    assert "STORE_FAST_STORE_FAST" in {one.opname for one in dis.get_instructions(program)}


class Dying:
    """Says where the function is when it dies."""

    def __init__(self, log: list[Any], tag: str) -> None:
        self.log = log
        self.tag = tag

    def __del__(self) -> None:
        frame = sys._getframe(1)
        self.log.append((self.tag, frame.f_code.co_name, frame.f_lineno, len(self.log)))


def storing(x: Any, log: list[Any], y: Any) -> Any:
    a = Dying(log, "first")
    b = Dying(log, "second")
    x = x + 1
    a, b = x, y
    log.append("after")
    return a + b


def test_finalizers_run_where_the_stores_are() -> None:
    """In their order, which the compiler chooses, at their line, before what comes behind it."""
    compiled = ufuse.compile(storing)
    wanted: list[Any] = []
    storing(np.ones(2), wanted, 1.0)
    assert {tag for tag, *_ in wanted[:2]} == {"first", "second"}
    assert wanted[2] == "after"
    for _ in range(3):
        found: list[Any] = []
        np.testing.assert_array_equal(compiled(np.ones(2), found, 1.0), np.full(2, 3.0))
        assert found == wanted

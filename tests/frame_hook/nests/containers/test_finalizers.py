"""Objects whose death the program notices, in loops that could be native code."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import pytest

import ufuse
from tests.support.nests.native_loops import loops_of

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.any_python

N = 3000  # turns: more than a trace unrolls
LOG = []


def last_one_lives_longer(kind):
    out = []
    for i in range(N):
        out.append(kind(i))
    total = 0.0
    for one in out:
        total += one.value
    del out
    LOG.append("dropped")
    return total


def noted(function, kind) -> list[object]:
    """What it logs."""
    LOG.clear()
    function(kind)
    return [*LOG, "end"]


@pytest.mark.parametrize("comes_later", [False, True])
def test_a_local_keeps_an_item_alive(*, comes_later: bool) -> None:
    """The variable of a loop holds its last item, also where nobody reads it behind the loop."""

    class Noticed:
        def __init__(self, value) -> None:
            self.value = value

    def finalizer(self) -> None:
        LOG.append(self.value)

    compiled = ufuse.compile(last_one_lives_longer)
    if comes_later:
        assert noted(compiled, Noticed) == noted(compiled, Noticed) == ["dropped", "end"]
        assert any(one.turns for one in loops_of(compiled))
    Noticed.__del__ = finalizer
    expected = noted(last_one_lives_longer, Noticed)
    assert expected[-3:] == ["dropped", N - 1, "end"]
    for _ in range(3):
        assert noted(compiled, Noticed) == expected

"""Whole numbers that a trace knows as expressions."""

from __future__ import annotations

from ufuse.frame_hook.trace.guards import GuardProgram
from ufuse.frame_hook.trace.sizes import Sizes
from ufuse.graph.size import divide


def test_two_numbers_of_one_name_are_described() -> None:
    """What divides by their difference is worded, though by these words it divides by zero."""
    sizes = Sizes(GuardProgram(0))
    n, other = (sizes.new_symbol("n", value, ("int", value)) for value in (7, 3))
    text = sizes.described(divide("//", n, n - other))  # type: ignore[operator]
    assert text.count("n") == 3
    assert "//" in text


def test_a_relation_is_decided_once() -> None:
    """Loops that are unrolled ask the same at each turn: the answer, which is guarded, is known."""
    sizes = Sizes(GuardProgram(0))
    n, other = (sizes.new_symbol("n", value, ("int", value)) for value in (7, 3))
    assert sizes.decide("gt", n, other)
    sizes.example = None  # type: ignore[method-assign, assignment]  # who decides needs examples
    assert sizes.decide("gt", n, other)
    assert not sizes.decide("gt", 1, 2)

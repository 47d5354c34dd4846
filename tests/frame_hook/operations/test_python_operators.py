"""Operators on Python's own values: which object they give, and what they ask first."""

from __future__ import annotations

import math
from typing import Any

import pytest

import ufuse

SAME = {
    "whole slices": lambda t, n: (t[:] is t, t[0:] is t, t[::1] is t, t[-9:] is t, t[::-1] is t, t[:1][:] is t),
    "a slice of one": lambda t, n: (t[:1][::-1] is t, t[1:1] is t),
    "sums and products": lambda t, n: (t * 1 is t, t + () is t, () + t is t),  # noqa: RUF005
    "abs": lambda t, n: (abs(n) is n, +n is n, abs(-n) is n),
    "remainder": lambda t, n: (n % 2**62 is n, n % 7 is n, divmod(n, 2**62)[1] is n, n % -(2**62) is n),
    "rounding": lambda t, n: (round(n) is n, math.floor(n) is n, math.ceil(n) is n, math.trunc(n) is n),
    "handed out": lambda t, n: (t[:], t, abs(n), n, n % 2**62),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_operators_that_give_their_operand(name: str) -> None:
    """What CPython hands back as it is stays one object: whole slices of tuples, `abs` of an int that is not negative."""
    program = SAME[name]
    compiled = ufuse.compile(program)
    for n in (1000, 1001, 5, -2000, 2**40, 70_000, -(2**35), 2**61):
        t = (n, [], n)
        expected, found = program(t, n), compiled(t, n)
        assert found == expected
        assert [one is t for one in found] == [one is t for one in expected]
        assert [one is n for one in found] == [one is n for one in expected]


def test_a_remainder_of_a_truth_value_is_a_number() -> None:
    """Also where an int would be handed back as it is."""
    compiled = ufuse.compile(lambda n: True % n)
    for n in (2**40, 2**40 + 1, 7, 2**41):
        assert compiled(n) == 1
        assert type(compiled(n)) is int


def test_tuples_compare_items_before_lengths() -> None:
    """Also where the lengths differ already, which decides for lists."""

    class Noted:
        def __eq__(self, other: object) -> bool:
            log.append(other)
            return True

        __hash__ = None  # type: ignore[assignment]

    def compared(x: Any, one: Any) -> Any:
        return (one, 1) == (2,), (one, 1) != (3,), [one, 1] == [4], x + 1

    log: list[Any] = []
    compiled = ufuse.compile(compared)
    for function in (compared, compiled, compiled):
        log.clear()
        assert function(1, Noted()) == (False, True, False, 2)
        assert log == [2, 3]

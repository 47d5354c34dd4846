"""Values that are others at every call: what a function learns from guards that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ufuse


@pytest.mark.parametrize("make", [str, lambda i: b"%d" % i], ids=["str", "bytes"])
def test_text_that_changes_from_call_to_call(make: Callable[[int], Any]) -> None:
    """A frame whose strings are other ones at every call is not given up: its graphs end where they are used."""

    def labelled(x: Any, label: Any) -> Any:
        y = x * 2
        named = label + label
        return y + 1, named

    compiled = ufuse.compile(labelled)
    for number in range(40):
        first, text = compiled(np.ones(2), make(number))
        assert (first.tolist(), text) == ([3.0, 3.0], make(number) * 2)
    assert compiled.stats.eager_calls == 0
    assert compiled.stats.traces < 15
    assert [b.reason for b in compiled.breaks if "changes from call to call" in b.reason]


def mixed(x: Any, n: int) -> Any:
    """A number in which every step uses the one before it several times."""
    c = n
    for _ in range(40):
        c = (c // 2 + c % 3) + c
        c = c % 1000 + c // 7
    return x * c


def squared(x: Any, n: int) -> Any:
    """As `mixed`, with products."""
    c = n
    for _ in range(12):
        c = c * c % 1000003 + c
    return x * c


@pytest.mark.parametrize("program", [mixed, squared])
def test_numbers_whose_expressions_would_grow_without_end(program: Callable[..., Any]) -> None:
    """They are fixed for a trace when they become too long, and are right for every other number, too."""
    compiled = ufuse.compile(program)
    x = np.ones(2)
    for n in (5, 6, 7, 12, 100, -3):
        assert compiled(x, n).tolist() == program(x, n).tolist()

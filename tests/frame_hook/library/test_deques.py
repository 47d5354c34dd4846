"""Deques in a trace: made, changed and brought by the caller, the same as in plain Python."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import ufuse


def last_and_limit(x: Any, d: Any) -> Any:
    return x * d[-1], d.maxlen


def test_guards_on_deques() -> None:
    """A deque of another length, another `maxlen` or with other items is found out."""
    compiled, x = ufuse.compile(last_and_limit), np.arange(3.0)
    for d in (deque([1, 2]), deque([1, 2], 2), deque([1, 2], 3), deque([1, 3], 3), deque([2]), [1]):
        if isinstance(d, deque):
            wanted = last_and_limit(x, d)
            for _ in range(2):
                found = compiled(x, d)
                np.testing.assert_array_equal(found[0], wanted[0])
                assert found[1] == wanted[1]


class Noticed:
    """Says when it dies."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def __del__(self) -> None:
        self.said.append("dies")


def pushes_out(x: Any, d: Any, said: Any) -> Any:
    d.append(x)
    return x + 1, len(said)


@pytest.mark.parametrize("first", [False, True])
def test_death_of_what_is_pushed_out(first: bool) -> None:
    """A full deque lets go of an item whose finalizer runs code: what follows sees what that did."""
    compiled, x = ufuse.compile(pushes_out), np.arange(3.0)
    for noticed in (first, True):
        said: list[str] = []
        kept: deque[Any] = deque([Noticed(said) if noticed else 1], maxlen=1)
        assert compiled(x, kept, said)[1] == int(noticed)

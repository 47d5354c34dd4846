"""What is read of the frame's objects: only what a guard can read again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import ufuse
from tests.support.comparing.compare import check_same, misfits_of

X = np.arange(3.0)


def test_an_attribute_made_when_it_is_asked_for() -> None:
    """Each look at `itviews` gives other arrays: no symbol stands for two of them, and no entry is made in vain."""

    def viewed(x: Any, it: Any) -> Any:
        y = x * 2
        return y + it.itviews[0], it.itviews is it.itviews

    def made(x: Any) -> Any:
        it = np.nditer([x, None])
        y = x * 2
        return y, len(it.itviews)

    for program, extra in ((viewed, lambda: (np.nditer([X, X + 1]),)), (made, tuple)):
        compiled = ufuse.compile(program)
        check_same(program, compiled, lambda extra=extra: (X.copy(), *extra()), copies=False)
        assert misfits_of(compiled) == []


def test_an_attribute_that_a_guard_can_read() -> None:
    """Members of C types are followed, and so are numbers that their getters make anew."""

    def member(x: Any, found: Any, complex_: complex) -> Any:
        return x * complex_.real + found.pos

    compiled = ufuse.compile(member)
    for text in ("aab", "aab", "ab"):
        found = re.search("b", text)
        np.testing.assert_array_equal(compiled(X, found, 2.5 + 1j), X * 2.5)
    assert misfits_of(compiled) == []


def test_misfits_are_seen() -> None:
    """The comparer knows where a session keeps them."""
    compiled: Any = ufuse.compile(lambda x: x)
    assert isinstance(compiled.__ufuse_session__.misfits, list)

"""Methods that are bound and handed out rather than called."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ufuse


class Stack(list[Any]):
    """A class with methods of its own and of C."""

    def push(self, value: Any) -> None:
        """Append a value."""
        self.append(value)


def test_bound_methods_that_are_handed_out() -> None:
    """A method of C is handed out as Python binds it, also where it was found on a base or on a class."""

    def handed(stack: Any, pattern: Any) -> Any:
        return (
            pattern.search, pattern.__class__,
            stack.append, stack.push, stack.__len__, Stack.append, Stack.__init_subclass__, int.from_bytes,
            dict.fromkeys, stack.__reduce__, "a".join, (3).__add__, stack.__subclasshook__,
        )  # fmt: skip

    stack, pattern, compiled = Stack([1]), re.compile("a"), ufuse.compile(handed)
    for _ in range(3):
        expected, found = handed(stack, pattern), compiled(stack, pattern)
        assert [type(one) for one in found] == [type(one) for one in expected]
        assert [repr(one) for one in found] == [repr(one) for one in expected]
        assert found == expected


def test_bound_methods_of_c_are_compared() -> None:
    """Two of one object and one name are equal, also where they are two objects."""
    compiled = ufuse.compile(lambda a, b, x: (a == b, a != b, x + 1))
    stack = [1]
    makers: list[Callable[[], Any]] = [
        lambda: Stack.__init_subclass__, lambda: int.from_bytes, lambda: dict.fromkeys, lambda: stack.append, lambda: len,
    ]  # fmt: skip
    for make in makers:
        for other in makers:
            assert compiled(make(), other(), 1) == (make == other, make != other, 2)

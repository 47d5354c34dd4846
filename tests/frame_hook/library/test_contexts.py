"""Context managers of contextlib, and what asks for the exception that is handled: the same as in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import ufuse
from tests.programs.contexts import (
    asking,
    asking_behind_a_break,
    called_in_a_handler,
    returns_function,
)


@pytest.mark.parametrize("first_in_handler", [False, True])
def test_exception_of_the_caller(first_in_handler: bool) -> None:
    """An exception that a caller handles is found, whether the function was captured in there or not."""
    compiled, x = ufuse.compile(asking), np.arange(3.0)
    for in_handler in (first_in_handler, not first_in_handler, first_in_handler):
        found = called_in_a_handler(compiled, x) if in_handler else compiled(x)
        kinds = [type(one) for one in found[1:]]
        assert kinds == ([ValueError] * 2 if in_handler else [type(None)] * 2)


def test_exception_behind_a_break() -> None:
    """What a graph that begins inside a handler finds there is what plain Python does."""
    compiled, x = ufuse.compile(asking_behind_a_break), np.arange(3.0)
    for _ in range(3):
        assert compiled(x)[1:] == ("mine", None)
        assert called_in_a_handler(compiled, x)[1] == "mine"
        assert str(called_in_a_handler(compiled, x)[2]) == "outside"


def test_attributes_of_a_returned_function() -> None:
    """A function that is returned has the attributes it was given, itself among them."""
    compiled = ufuse.compile(returns_function)
    for _ in range(2):
        made = compiled(np.arange(3.0))
        assert made.note[0] is made
        assert vars(made).keys() == {"note"}

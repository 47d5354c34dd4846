"""Exception groups are left to plain Python: made, raised, taken apart, handled by `except*`, in whatever pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ufuse
from tests.programs.exception_groups import PROGRAMS
from tests.support.comparing.compare import MODES, check_same
from tests.support.comparing.registering import Program
from tests.support.frames.pieces import in_pieces


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 1000])
@pytest.mark.parametrize("program", PROGRAMS.rows, ids=lambda program: program.function.__name__)
def test_in_pieces(program: Program, length: int) -> None:
    """With traces cut short, which go on with exceptions and lists of the frame, it is still the same."""
    compiled = in_pieces(program.function, length, 0, "numpy")
    check_same(program.function, compiled, program.make_args, calls=3, modes=MODES[:2])


def made_of(x: Any, *, grows: bool) -> Any:
    errors: list[Exception] = [ValueError(1)]
    group = ExceptionGroup("g", errors)
    if grows:
        errors.append(KeyError(2))
    return x + 1, group


@pytest.mark.parametrize("grows", [False, True])
def test_group_that_is_returned(grows: bool) -> None:
    """A group that was never raised is returned with what it was made of."""
    compiled, x = ufuse.compile(made_of), np.arange(3.0)
    for _ in range(2):
        (_, found), (_, wanted) = compiled(x, grows=grows), made_of(x, grows=grows)
        assert repr(found) == repr(wanted)
        assert repr(found.exceptions) == repr(wanted.exceptions)
        assert repr(found.args) == repr(wanted.args)
        assert found.__traceback__ is None

"""Every program of `programs.py` does compiled what it does plain: first call, second call, in every warning and error mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ufuse
from tests.programs.arrays import PROGRAMS
from tests.support.compare import check_same


@pytest.mark.parametrize("backend", ["numpy", "reference"])
@pytest.mark.parametrize(("function", "make_args"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_program_is_the_same_compiled(
    function: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]], backend: str
) -> None:
    """Nothing that can be observed tells the compiled program from the plain one."""
    check_same(function, ufuse.compile(function, backend=backend), make_args)

"""Programs with classes and instances do compiled what they do plain; where they should be captured, no graph breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ufuse
from tests import object_everyday, object_programs, object_relations
from tests.support.compare import MODES, check_same

TABLES = (object_programs, object_relations, object_everyday)
PROGRAMS = [row for table in TABLES for row in table.PROGRAMS]


@pytest.mark.parametrize(
    ("function", "make_args", "breaks"), PROGRAMS, ids=[f.__name__ for f, _, _ in PROGRAMS]
)
def test_program_is_the_same_compiled(
    function: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]], breaks: bool
) -> None:
    """Nothing that can be observed tells the compiled program from the plain one."""
    compiled = ufuse.compile(function)
    check_same(
        function,
        compiled,
        make_args,
        calls=3,
        modes=MODES[:1],
        state=lambda: [table.state() for table in TABLES],
        reset=lambda: [table.reset() for table in TABLES],
    )
    found = [b for b in compiled.breaks if b.code != "eager-raises"]
    assert breaks or not found, "\n".join(map(str, found))

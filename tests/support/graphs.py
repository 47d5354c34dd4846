"""Whether a program is one graph, and whether anything tells it from the plain one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ufuse
from tests.support.compare import MODES, check_same


def check_one_graph(
    program: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]], *, copies: bool = True
) -> None:
    """The program is one graph, and nothing tells it from the plain one."""
    compiled = ufuse.compile(program)
    check_same(program, compiled, make_args, calls=3, modes=MODES[:2], copies=copies)
    assert [str(found) for found in compiled.breaks] == []


def check_cut(
    program: Callable[..., Any], make_args: Callable[[], tuple[Any, ...]], *, copies: bool = True
) -> None:
    """The program is left to plain Python somewhere, and nothing tells it from the plain one."""
    compiled = ufuse.compile(program)
    check_same(program, compiled, make_args, calls=3, modes=MODES[:2], copies=copies)
    assert compiled.breaks

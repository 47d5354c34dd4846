"""Functions compiled with traces that are cut short, so that a frame goes on from position to position."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import ufuse
from ufuse.backends import protocol
from ufuse.compiled import CompiledFunction
from ufuse.frame_hook.session import Longest, Session

# ufuse's own files, as they are imported and as they lie behind symbolic links.
OWN = tuple(
    f"{folder}{os.sep}"
    for package in (ufuse, ufuse.graph, ufuse.frame_hook, ufuse.backends)
    for name in package.__path__
    for folder in dict.fromkeys((Path(name), Path(name).resolve()))
)
RANDOM = "random"
LENGTHS: tuple[int | str, ...] = (1, 2, 3, 5, RANDOM)
CHOICES = (1, 1, 2, 3, 4, 7, 12, 1000)
JUDGES = ("compare", "recording", "copying")


def should_trace(code: CodeType) -> bool:
    """Every function but ufuse's own and the judge's."""
    file = Path(code.co_filename)
    return not (
        code.co_filename.startswith(OWN) or (file.stem in JUDGES and file.parent.name == "support")
    )


def longest(length: int | str, seed: int) -> Longest:
    """How many instructions a trace may have: always the same number, or drawn for every position."""
    if isinstance(length, int):
        return lambda _code, _position: length
    return lambda code, position: random.Random(  # noqa: S311  not for secrets
        f"{seed} {code.co_qualname} {code.co_firstlineno} {position}"
    ).choice(CHOICES)


@contextmanager
def failures_heard() -> Iterator[list[str]]:
    """What ufuse says of its own failures."""
    said: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    log, handler = logging.getLogger("ufuse"), Heard(logging.ERROR)
    before = log.propagate
    log.addHandler(handler)
    log.propagate = False
    try:
        yield said
    finally:
        log.removeHandler(handler)
        log.propagate = before


def in_pieces(function: Callable[..., Any], length: int | str, seed: int, backend: str) -> Any:
    """The function, compiled with traces that are cut short."""
    assert isinstance(function, FunctionType)
    session = Session(
        protocol.backend_named(backend).compile,
        should_trace=should_trace,
        longest=longest(length, seed),
    )
    return CompiledFunction(function, session)

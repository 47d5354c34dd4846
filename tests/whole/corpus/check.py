"""Runs a case cut into pieces, and says what came out otherwise than plain."""

from __future__ import annotations

import functools
import itertools
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import ufuse
from tests.whole.corpus.case import Case
from tests.support.compare import MODES, Difference, check_same
from ufuse.backends import protocol
from ufuse.compiled import CompiledFunction
from ufuse.frame_hook.entries.recipe import is_idle
from ufuse.frame_hook.session import Longest, Session

FOLDERS = tuple(
    f"{place}/"
    for name in (ufuse.__file__, str(Path(ufuse.__file__ or "").parent / "graph" / "node.py"))
    for folder in [Path(name or "").parent]
    for place in (folder, folder.resolve())
)
OWN = (*(f for f in FOLDERS if f.endswith("ufuse/")),)
RANDOM = "random"
LENGTHS: tuple[int | str, ...] = (1, 2, 3, 5, RANDOM)
CHOICES = (1, 1, 2, 3, 4, 7, 12, 1000)
JUDGES = ("compare", "recording", "copying")
STRICT = MODES[2]


@dataclass(slots=True)
class Tally:
    """What was done, in numbers."""

    functions: int = 0
    runs: int = 0
    suspensions: int = 0
    entries: int = 0
    computing: int = 0
    instructions: int = 0
    trace_seconds: float = 0.0
    differences: list[str] = field(default_factory=list)

    def text(self) -> str:
        """One line for people."""
        return (
            f"{self.functions} functions, {self.runs} runs, {self.suspensions} stops, {self.entries} entries "
            f"({self.computing} with a graph), {self.instructions} instructions traced"
        )

    def add(self, compiled: CompiledFunction) -> None:
        """Count what a compiled function did since it was made or reset."""
        session: Session = compiled.session
        caches = {id(cache): cache for cache in (compiled.cache, *session.caches)}
        self.suspensions += sum(cache.suspensions for cache in caches.values())
        self.entries += len(session.specialisations)
        self.computing += sum(not is_idle(kept.graph) for kept in session.specialisations)
        self.instructions += session.stats.instructions
        self.trace_seconds += session.stats.trace_seconds


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


def broken_everywhere(
    case: Case, length: int | str, tally: Tally, *, seed: int = 0, backend: str = "numpy"
) -> str:
    """Compare a case cut into pieces with the plain one: what differs, empty where nothing."""
    compiled = in_pieces(case.function, length, seed, backend)
    forget, compiled.reset = compiled.reset, None  # counted below
    found = ""
    with failures_heard() as said:
        try:
            check_same(
                case.function,
                functools.partial(compiled),
                case.arguments,
                calls=3,
                modes=(MODES[0], STRICT),
                state=case.state,
                reset=case.reset,
                every_file=True,
            )
        except Difference as difference:
            found = str(difference)
    tally.runs += 1
    tally.add(compiled)
    forget()
    if said:
        found += "\n" + "\n".join(itertools.islice(said, 2))
    return found and f"{case.name}, longest={length}, seed={seed}: {found}"

"""Runs a case cut into pieces, and says what came out otherwise than plain."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, field

from tests.support.comparing.compare import MODES, Difference, check_same
from tests.support.frames.pieces import failures_heard, in_pieces
from tests.whole.corpus.case import Case
from ufuse.compiled import CompiledFunction
from ufuse.frame_hook.entries.entry import is_idle
from ufuse.frame_hook.session import Session

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
        session: Session = compiled.__ufuse_session__
        caches = {id(cache): cache for cache in (compiled.__ufuse_cache__, *session.caches)}
        self.suspensions += sum(cache.suspensions for cache in caches.values())
        self.entries += len(session.specialisations)
        self.computing += sum(not is_idle(kept.graph) for kept in session.specialisations)
        self.instructions += session.stats.instructions
        self.trace_seconds += session.stats.trace_seconds


def broken_everywhere(
    case: Case, length: int | str, tally: Tally, *, seed: int = 0, backend: str = "numpy"
) -> str:
    """Compare a case cut into pieces with the plain one: what differs, empty where nothing."""
    compiled = in_pieces(case.function, length, seed, backend)
    found = ""
    with failures_heard() as said:
        try:
            check_same(
                case.function,
                functools.partial(compiled),  # which has no `reset`: what it did is counted below
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
    compiled.reset()
    if said:
        found += "\n" + "\n".join(itertools.islice(said, 2))
    return found and f"{case.name}, longest={length}, seed={seed}: {found}"

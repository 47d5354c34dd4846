"""Traces that have to be paid for: how long each may take, and when it is asked for again where it may not begin."""

from __future__ import annotations

import time
from types import FunctionType
from typing import Any

from ufuse.frame_hook import budget
from ufuse.frame_hook.bookkeeping import Bookkeeping
from ufuse.frame_hook.budget import Budget
from ufuse.frame_hook.code.kept_builtins import KEPT
from ufuse.frame_hook.entries import branches
from ufuse.frame_hook.entries.journal import Journal
from ufuse.frame_hook.entries.learned import CodeRecord
from ufuse.frame_hook.interpreter.interpreter import UsualTruth
from ufuse.frame_hook.nests.entries import whole
from ufuse.frame_hook.tracing import Attempt, Tracer, Wanted

__builtins__ = KEPT

ASK_AGAIN = 20_000_000  # nanoseconds until capture is asked for again
ASK_SOON_AGAIN = 1_000_000  # the same where an entry for whole calls is awaited
MOST_DOUBLED = 6  # times that this is doubled, where a trace is put off again and again


class PaidTraces:
    """The traces of a session, within its budget; `unhurried`: they may take what they need, though it measures."""

    def __init__(
        self, tracer: Tracer, book: Bookkeeping, journal: Journal, *, measures: bool
    ) -> None:
        self._tracer = tracer
        self._book = book
        self._journal = journal
        self._measures = measures
        self._budget = Budget()
        self.unhurried = False

    def forget(self) -> None:
        """Begin with a budget of which nothing is spent."""
        self._budget = Budget()

    def spend(self, seconds: float) -> None:
        """Note what was spent around traces."""
        if self.is_bounded:
            self._budget.spend(seconds)

    @property
    def is_bounded(self) -> bool:
        """Whether traces have to be paid for; where something is asked for, they do not."""
        return self._measures and not self.unhurried

    def seconds_for(self, cache: Any, state: tuple[Any, ...]) -> float | None:
        """How long a trace may take; None: as long as it needs."""
        if not self.is_bounded:
            return None
        return self._budget.seconds_left(cache.code, state, cache.run_ns / 1e9)

    def is_unpaid(self, cache: Any, position: int, state: tuple[Any, ...]) -> bool:
        """Whether a trace would unroll a loop for more time than calls have paid for."""
        needed = self._book.record(cache.code).unpaid.get(position)
        return needed is not None and self._for_loops(cache, state) < needed

    def _for_loops(self, cache: Any, state: tuple[Any, ...]) -> float:
        return self._budget.for_loops(cache.code, state, cache.run_ns / 1e9)

    def traced(
        self,
        cache: Any,
        position: int,
        function: FunctionType,
        state: tuple[Any, ...],
        seconds: float | None,
        usual_truth: UsualTruth,
        forks: branches.Forks | None = None,
    ) -> Attempt:
        """What the tracer finds in a time, which is spent then; None: in any time."""
        started, begun = time.perf_counter(), time.thread_time()
        deadline = None if seconds is None else begun + max(seconds, budget.OF_A_TRACE)
        may_cost = None if seconds is None else self._for_loops(cache, state)
        record = self._book.record(cache.code)
        found = self._tracer.trace(
            Wanted(cache, position, function, state, record, deadline, usual_truth, forks, may_cost)
        )
        if seconds is not None:
            self._budget.spend(time.thread_time() - begun, traces=1)
        self._journal.stats.trace_seconds += time.perf_counter() - started
        return found

    @staticmethod
    def put_off(cache: Any, position: int, record: CodeRecord) -> int:
        """Have C ask later. Meanwhile the frame goes on to the next entry: no trace can begin before that either."""
        if position not in record.put_off:
            record.put_off.add(position)
            cache.drop_resume(position)
        cache.put_off = True
        if whole.is_awaited(cache, record):
            return ASK_SOON_AGAIN
        record.waits += 1
        return ASK_AGAIN << min(record.waits - 1, MOST_DOUBLED)

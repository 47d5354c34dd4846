"""What traces may cost, where it is measured whether they pay: they are paid before anybody knows.

Laws:

1. What all sessions of a process spend at their code's first calls is little at once, and a small part of the time
   that passes. Loops and large arrays promise that more will follow: for them there is more, and a larger part. Code
   without a loop that no array comes to has nothing to promise: objects are made and set there, names looked up.
2. Beyond that a session spends a part of what calls of its code have taken. So code that runs once or a few times is
   not made much slower, however much there is of it, and code that runs for long is captured in the end.
3. Little is spent in a row, so that no single call becomes much longer: functions that share a session, as those of one
   decorator do, would let the first call of one spend what calls of all others have earned.
4. All traces together take little at once, a small part of the processor time, and a part of what calls
   have saved. Functions that call each other have earned by the same time, each of them: a program of many functions
   would be traced for as long as it runs, whether that helps it or not.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import CellType, CodeType
from typing import Any, NamedTuple

import numpy as np

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import NAMES
from ufuse.frame_hook.code.kept_builtins import KEPT

__builtins__ = KEPT


class Allowance(NamedTuple):
    """Seconds at once, and as a part of the time since traces were first asked for."""

    at_once: float
    part: float


OF_PROCESS = Allowance(0.2, 0.05)
WITH_PROMISE = Allowance(0.5, 0.2)  # of the process, for code that promises more
OF_SESSION = Allowance(0.01, 0.05)
FOR_LOOPS = Allowance(0.0, 0.05)  # of a session, for a trace that unrolls a loop
TIMES_OF_CALLS = (
    4  # and so many times what calls of the session's code have taken, while law 1 holds
)
PART_OF_CALLS = 0.5  # the same by law 2
AT_LEAST = (
    0.005  # seconds of a session for code that promises more, while there are any of the process
)
# A trace that has begun may be read for so long, whatever else runs on the machine.
OF_A_TRACE = 0.15
IN_A_ROW = Allowance(0.07, 0.2)  # of the process, by law 3; as a part of its processor time
PART_OF_PAUSES = 0.02  # and of the time that passes: a busy machine makes that long
ALTOGETHER = Allowance(0.07, 0.05)  # of the process, by law 4; as a part of its processor time
PART_OF_SAVED = 0.5  # of what calls took less than plain Python, as their trials found
LARGE = 100_000  # elements of an array

BACKWARD = frozenset(number for number, name in enumerate(NAMES) if "JUMP_BACKWARD" in name)


@dataclass(slots=True)
class Account:
    """The time that traces took of the processor, how many there were, and when the first was asked for."""

    seconds: float = 0.0
    traces: int = 0
    began: float | None = None

    def left(self, allowance: Allowance) -> float:
        """How long traces may take now."""
        now = time.perf_counter()
        if self.began is None:
            self.began = now
        return allowance.at_once + allowance.part * (now - self.began) - self.seconds

    @property
    def usual(self) -> float:
        """How long a trace has taken so far."""
        return self.seconds / self.traces if self.traces else 0.0


@dataclass(slots=True)
class Row:
    """What traces of the process may take until time has passed: it grows to what it was at first."""

    seconds: float
    worked: float = 0.0
    passed: float = 0.0
    saved: float = 0.0

    def left(self, allowance: Allowance, *, of_pauses: float = 0.0, of_saved: float = 0.0) -> float:
        """How long traces may take now."""
        worked, passed = time.process_time(), time.perf_counter()
        saved = _hook.saved_nanoseconds() / 1e9
        grown = allowance.part * (worked - self.worked) + of_pauses * (passed - self.passed)
        grown += of_saved * (saved - self.saved)
        self.seconds = min(self.seconds + grown, allowance.at_once)
        self.worked, self.passed, self.saved = worked, passed, saved
        return self.seconds


PROCESS = Account()
ROW = Row(IN_A_ROW.at_once)
ALL = Row(ALTOGETHER.at_once)


class Budget:
    """What one session may spend, and has spent."""

    __slots__ = ("_calls_took", "_own")

    def __init__(self) -> None:
        self._own = Account()
        self._calls_took = 0.0  # seconds, of the code that took longest

    def seconds_left(self, code: CodeType, state: tuple[Any, ...], calls_took: float) -> float:
        """How long a trace of a frame may take now, where calls of its code took so many seconds; 0: not yet."""
        paid = self.paid(code, state, calls_took)
        if ALL.left(ALTOGETHER, of_saved=PART_OF_SAVED) <= 0:
            return 0.0
        return max(min(paid, ROW.left(IN_A_ROW, of_pauses=PART_OF_PAUSES)), 0.0)

    def paid(self, code: CodeType, state: tuple[Any, ...], calls_took: float) -> float:
        """The same by laws 1 and 2 alone."""
        self._calls_took = max(self._calls_took, calls_took)
        own = self._own.left(OF_SESSION) + TIMES_OF_CALLS * self._calls_took
        if PROCESS.left(OF_PROCESS) > 0 and (has_loop(code) or brings_array(code, state)):
            return own
        earned = PART_OF_CALLS * self._calls_took - self._own.seconds
        usual = (self._own if self._own.traces else PROCESS).usual
        if earned > 0 and earned >= usual:
            return min(own, earned)
        promised = AT_LEAST - self._own.seconds
        if promised > 0 and PROCESS.left(WITH_PROMISE) > 0 and promises_more(code, state):
            return promised
        return 0.0

    def for_loops(self, code: CodeType, state: tuple[Any, ...], calls_took: float) -> float:
        """How long a trace may take that unrolls a loop: as long as calls took, so that the first ones stay short."""
        paid = self.paid(code, state, calls_took)
        return min(paid, self._own.left(FOR_LOOPS) + self._calls_took)

    def spend(self, seconds: float, traces: int = 0) -> None:
        """Note what was spent on traces, or around them."""
        for account in (self._own, PROCESS):
            account.seconds += seconds
            account.traces += traces
        ROW.seconds = max(ROW.seconds - seconds, -IN_A_ROW.at_once)
        ALL.seconds -= seconds


def promises_more(code: CodeType, state: tuple[Any, ...]) -> bool:
    """Whether even the first call of some code may take long: it has a loop, or large arrays."""
    return has_loop(code) or any(
        type(value) is np.ndarray and value.size >= LARGE for value in state
    )


def has_loop(code: CodeType) -> bool:
    """Whether code jumps back."""
    return not BACKWARD.isdisjoint(code.co_code[::2])


def brings_array(code: CodeType, state: tuple[Any, ...]) -> bool:
    """Whether a frame holds an array, begins a list or tuple with one, or its first value has one in an attribute."""
    if any(map(_hook.brings_array, state)):
        return True
    cells = (one.cell_contents for one in state if type(one) is CellType and one != CellType())
    if any(map(_hook.brings_array, cells)):
        return True
    owner = state[0] if state else _hook.NULL
    try:
        return any(_hook.brings_array(_hook.own_value(owner, name)) for name in code.co_names)
    except LookupError:  # only code of the program's could tell, for any name
        return False

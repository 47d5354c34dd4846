"""Functions whose loops run as native code, compared with plain Python."""

from __future__ import annotations

import contextlib
import logging.handlers
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import ufuse
from tests.support.comparing.compare import MODES, check_same, misfits_of
from tests.support.comparing.copying import independent_copy
from tests.support.comparing.modes import EVERY, asks, one_of, shows
from tests.support.comparing.recording import Call, Mode, arguments, recorded
from ufuse.frame_hook import session
from ufuse.frame_hook.nests.entries import choice, left_loops
from ufuse.frame_hook.nests.entries.records import LoopRecord
from ufuse.frame_hook.tracing import Tracer


def loops_of(compiled: Any) -> list[LoopRecord]:
    """The loops of a compiled function, by line."""
    caches = (compiled.__ufuse_cache__, *compiled.__ufuse_session__.caches)
    return list(compiled.__ufuse_session__.loop_records(caches))


@contextlib.contextmanager
def no_failures_inside() -> Iterator[None]:
    """Fail where ufuse does inside, which it survives and logs."""
    heard = logging.handlers.BufferingHandler(100)
    heard.setLevel(logging.ERROR)
    logger = logging.getLogger("ufuse")
    logger.addHandler(heard)
    try:
        yield
    finally:
        logger.removeHandler(heard)
    assert not heard.buffer, heard.buffer[0].getMessage()


def native_turns(
    function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], *, atoms: bool = True
) -> int:
    """Compare a function with itself compiled; how many turns were native in the last two modes.

    What is captured under a mode is used under another too; which of the two is first is not the same for all functions.
    Where the modes matter each is one of a pair, else the first and another one are (see `modes`).
    A loop is read as soon as it has turned, not when that has taken long: few turns are enough, on any machine.
    `atoms`: whether it matters which of equal numbers are one object.
    """
    compiled = ufuse.compile(function)
    code = function.__code__
    order = -1 if zlib.crc32(repr((code.co_names, code.co_code)).encode()) % 2 else 1
    with no_failures_inside(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "READ_AFTER", 0.0)
        for pair in pairs_of_modes(function, make):
            compiled.reset()
            modes = pair[::order]
            check_same(
                function, partial(compiled), lambda: arguments(*make()), modes=modes, atoms=atoms
            )
            assert not misfits_of(compiled)
    return sum(loop.turns for loop in loops_of(compiled))


def pairs_of_modes(
    function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]
) -> list[tuple[Mode, Mode]]:
    """The modes that a function is compared under, two and two."""
    given: Call = independent_copy(arguments(*make()))
    plain = recorded(function, given, MODES[0], None)
    matter = EVERY or shows(plain) or asks(function)
    plain.let_go()
    if matter:
        return [(MODES[first], MODES[first + 1]) for first in (4, 2, 0)]
    return [(MODES[0], one_of(MODES[1:]))]


def check_whole_call(function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """What a call gives is as in plain Python, and machine code does it from start to end."""
    check_same(function, ufuse.compile(function), lambda: arguments(*given))
    compiled = called(function, given)
    before = hits(compiled)
    check_kept(function, compiled, *given)
    compiled(*given)
    why = compiled.__ufuse_session__.record(function.__code__).why_not_whole
    assert hits(compiled) > before + 1, why


def check_kept(
    function: Callable[..., Any], compiled: Any, *given: Any, atoms: bool = True
) -> None:
    """What a call gives is as in plain Python, by the code that there is already: nothing is forgotten before."""
    check_same(function, partial(compiled), lambda: arguments(*given), atoms=atoms)


def leave_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no loop unrolled in graphs."""
    monkeypatch.setattr(left_loops, "UNROLLED_AT_MOST", 0)
    monkeypatch.setattr(session, "Tracer", partial(_leaving, Tracer))


def _leaving(tracer: type[Tracer], *given: Any, leaves_loops: bool, **named: Any) -> Tracer:
    """A tracer that does not unroll loops."""
    return tracer(*given, leaves_loops=True, **named)


def hits(compiled: Any) -> int:
    """How many calls the entry of whole calls took and did not decline."""
    entry = compiled.__ufuse_cache__.whole_call
    return 0 if entry is None else entry.hits - entry.declined


def called(function: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    """The function, compiled and called some times."""
    compiled = ufuse.compile(function)
    for _ in range(6):
        for one in calls:
            compiled(*one)
    return compiled

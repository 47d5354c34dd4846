"""Frames suspended at chosen instructions and resumed, by a session that computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import instructions, live_locals, slot_names
from ufuse.frame_hook.code.resume import resume_code
from ufuse.frame_hook.code.stops import stops_after, why_not_stop

Stops = Callable[[CodeType, int], frozenset[int]]


class Pieces:
    """A session that computes nothing: it only has frames stop, and go on."""

    notify_eager = False

    def __init__(self, stops: Stops, *, forget: bool = False) -> None:
        self.stops = stops
        self.forget = forget  # whether locals that are not live are taken away at every stop

    def capture(self, cache: Any, position: int, function: object, state: tuple[Any, ...]) -> Any:
        """Resume the frame where it is, at its start and where locals are to be taken away."""
        registers = list(range(len(state)))
        if position:
            if not self.forget:
                cache.give_up(position)
                return None
            live = live_locals(cache.code)[position]
            for slot in range(len(slot_names(cache.code))):
                if slot not in live:
                    registers[slot] = -1
        resume_here = ("resume", position, tuple(registers))
        return _hook.Entry([], [], every_other_time(), 1, [], resume_here)

    def resume_code(self, cache: Any, position: int) -> CodeType:
        """Go on with the stops of this session."""
        stops = self.stops(cache.code, position)
        return resume_code(
            cache.code, position, stops, restore=_hook.restore, suspend=_hook.suspend
        )

    def cache_for(self, code: CodeType) -> None:
        """Leave the functions that are called alone."""

    def is_user_error(self, error: BaseException) -> bool:
        """Let every error of this session out."""
        return True

    def internal_error(self, error: BaseException) -> None:
        """Let what could not be let out fail the test."""
        raise error


def every_other_time() -> Callable[[], Any]:
    """Give an artefact that computes None, then declines, then computes None again."""
    declines = True

    def artefact() -> Any:
        nonlocal declines
        declines = not declines
        return NotImplemented if declines else None

    return artefact


def in_pieces(function: Any, stops: Stops, *, forget: bool = False) -> Any:
    """Make a callable that runs the function, suspended and resumed at every stop."""
    return _hook.Dispatcher(function, Pieces(stops, forget=forget))


def everywhere(code: CodeType, position: int) -> frozenset[int]:
    """Stop before every instruction that can be stopped at."""
    return stops_after(code, position, frozenset())


def stoppable(code: CodeType) -> list[int]:
    """The positions before which a frame can be suspended."""
    return [i.position for i in instructions(code) if why_not_stop(code, i.position) is None]

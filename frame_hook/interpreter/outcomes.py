"""What running an instruction, or a frame, on symbols may come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ufuse.frame_hook.trace.symbols import Constant, Instance, Symbol, Tuple


@final
@dataclass(frozen=True, slots=True)
class Returned:
    """A frame came to its end with this value."""

    value: Symbol


@final
@dataclass(frozen=True, slots=True)
class Yielded:
    """A generator's frame gave this value, and waits."""

    value: Symbol


@final
class Jump:
    """The instruction's jump is taken: see `instructions.successors`."""


JUMP = Jump()


class Raised(Exception):  # noqa: N818  it carries the user's exception, which is no error of the tracer
    """An exception of the user's program that the trace raises; a frame being traced may catch it."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__(symbol)
        self.symbol = symbol


class NotRebuilt(Exception):  # noqa: N818  a decision, not an error
    """A value that only the trace has would have to be handed on: it must end before `count` root instructions."""

    def __init__(self, count: int, what: str) -> None:
        super().__init__(count, what)
        self.count = count
        self.what = what


class LoopTooLong(Exception):  # noqa: N818  a decision, not an error
    """A loop of the root frame is not worth unrolling any further; `position` is its backward jump."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def raise_error(kind: type[BaseException], *arguments: object) -> Raised:
    """An exception as Python itself raises it, to be raised in the trace."""
    return Raised(Instance(kind, content=Tuple(tuple(Constant(a) for a in arguments))))

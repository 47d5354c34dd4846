"""What running an instruction, or a frame, on symbols may come to."""

from __future__ import annotations

import weakref
from types import CodeType
from typing import final

from ufuse.frame_hook.trace.symbols import Constant, Instance, Number, Symbol, Tuple
from ufuse.graph.records import record


@final
@record
class Returned:
    """A frame came to its end with this value."""

    value: Symbol


@final
@record
class Yielded:
    """A generator's frame gave this value, and waits."""

    value: Symbol


@final
class Jump:
    """The instruction's jump is taken: see `instructions.successors`."""


JUMP = Jump()


@final
@record
class Choice:
    """A jump is taken or not by what a number is that the graph computes.

    `jumps`: the truth of the condition with which it is taken. `keeps`: it leaves the condition on the stack then.
    """

    condition: Number
    jumps: bool
    keeps: bool = False


@final
@record
class Side:
    """Where a frame goes on behind a choice, and whether the condition lies on its stack."""

    position: int
    keeps: bool


@final
@record
class Expected:
    """The truth of a jump's condition that a trace takes for granted; where it is another, its entry declines."""

    code: weakref.ref[CodeType]
    position: int
    file: str
    line: int
    truth: bool


class Raised(Exception):  # noqa: N818  it carries the user's exception, which is no error of the tracer
    """An exception of the user's program that the trace raises; a frame being traced may catch it."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__(symbol)
        self.symbol = symbol


class NotRebuilt(Exception):  # noqa: N818  a decision, not an error
    """A value that only the trace has would have to be handed on: it must end before `count` root instructions.

    None: it is not known when it was made.
    """

    def __init__(self, count: int | None, what: str) -> None:
        super().__init__(count, what)
        self.count = count
        self.what = what


class LoopUnpaid(Exception):  # noqa: N818  a decision, not an error
    """Unrolling a loop would take more time than may be spent now: about so many `seconds`, with all before it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class LoopTooLong(Exception):  # noqa: N818  a decision, not an error
    """A loop of the root frame is not worth unrolling any further; `position` is its backward jump."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def raise_error(kind: type[BaseException], *arguments: object) -> Raised:
    """An exception as Python itself raises it, to be raised in the trace."""
    return Raised(Instance(kind, content=Tuple(tuple(Constant(a) for a in arguments))))

"""Floating-point warnings that eager would give, from the flags that a kernel found."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ufuse.backends.numpy.steps import Step
from ufuse.graph.node import Location
from ufuse.graph.strict import context_with

# fmt: off
#        bit  setting     in warnings
KINDS = (
        (1,   "divide",  "divide by zero"),
        (2,   "over",    "overflow"),
        (4,   "under",   "underflow"),
        (8,   "invalid", "invalid value"),
)
# fmt: on


class Report:
    """What `_tiles.Program` calls with a step's number and its flags: pairs of an operation's number and bits."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps

    def __call__(self, number: int, flags: Iterable[tuple[int, int]]) -> bool:
        """Whether the program goes on: the flags are ignored, or the step is committed and they have been told."""
        step = self.steps[number]
        state = np.geterr()
        told = [
            (node, name, text, bit)
            for node, bits in flags
            for bit, name, text in KINDS
            if bits & bit
        ]
        if all(state[name] == "ignore" for _, name, _, _ in told):  # type: ignore[literal-required]
            return True
        if not step.committed:
            return False
        assert step.kernel is not None
        said: set[tuple[int, int]] = set()
        for node, name, text, bit in told:
            operation, location, chain = step.kernel.nodes[node]
            if chain is not None and (chain, bit) in said:
                continue
            said.add((chain if chain is not None else -1, bit))
            tell(state[name], f"{text} encountered in {operation}", location, text, bit)  # type: ignore[literal-required]
        return True


def tell(mode: str, message: str, location: Location | None, kind: str, bit: int) -> None:
    """Act on one flag as NumPy does under this mode of the error state.

    Raises:
        FloatingPointError: the mode is "raise".

    """
    if mode == "raise":
        raise FloatingPointError(message)
    if mode == "print":
        sys.stderr.write(f"Warning: {message}\n")
    elif mode == "call":
        np.geterrcall()(kind, bit)  # type: ignore[operator,misc]
    elif mode == "log":
        np.geterrcall().write(f"Warning: {message}\n")  # type: ignore[union-attr]
    elif mode == "warn" and location is not None:
        warn(message, location)
    elif mode == "warn":
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def warn(message: str, location: Location) -> None:
    """Issue a RuntimeWarning for the line that eager names, through that module's registry."""
    location = location.warned_at or location
    module = sys.modules.get(location.module)
    registry = None if module is None else module.__dict__.setdefault("__warningregistry__", {})
    # No module_globals: NumPy gives none, and Python refuses those of a module without a loader.
    warnings.warn_explicit(
        message,
        RuntimeWarning,
        location.file,
        location.line,
        location.module or None,
        registry,
    )


class Told:
    """A call of NumPy's own after the user may have seen a write: its warnings name the user's line."""

    def __init__(self, function: Callable[..., Any], location: Location) -> None:
        self.function = function
        self.location = location

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """The result; each message is told in the place where eager's frame would be."""
        heard = Heard()
        modes: Any = {k: v if v == "ignore" else "log" for k, v in np.geterr().items()}
        context = context_with(**modes)
        context.run(np.seterrcall, heard)
        result = context.run(self.function, *arguments, **keywords)
        for message, frame in heard.messages:
            place = self.location if frame.f_code is Told.__call__.__code__ else _place_of(frame)
            warn(message, place)
        return result


class Heard:
    """What NumPy's error state "log" writes to; keeps each message with the Python frame it came from."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, FrameType]] = []

    def write(self, message: str) -> None:
        """Keep a message."""
        text = message.removeprefix("Warning: ").rstrip("\n")
        self.messages.append((text, sys._getframe(1)))


def _place_of(frame: FrameType) -> Location:
    module = frame.f_globals.get("__name__", "")
    return Location(frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno, module)

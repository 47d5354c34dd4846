"""The floating-point warnings that eager gives, issued from the flags that kernels found, on the user's lines."""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from ufuse.backends.planning.steps import Step
from ufuse.graph.node import Location
from ufuse.graph.semantics.effects import Errors
from ufuse.graph.strict import context_with

# fmt: off
#        bit  in warnings
KINDS = (
        (1,   "divide by zero"),
        (2,   "overflow"),
        (4,   "underflow"),
        (8,   "invalid value"),
)
# fmt: on


class Run(NamedTuple):
    """A run of a program whose warnings are kept, and the one around it; it lasts as long as `finish` lives."""

    finish: weakref.ref[Callable[[], None]]
    outer: Run | None
    kept: list[tuple[int, str, Location | None]]


class Warner:
    """Issues the warnings of one program: at once, or, inside `in_order`, at the end in the order of its nodes."""

    def __init__(self) -> None:
        self._local = threading.local()

    def warn(self, position: int, message: str, location: Location | None) -> None:
        """Issue a RuntimeWarning; `position` is that of the graph's node which it is about."""
        run = self._innermost_run()
        if run is not None:
            run.kept.append((position, message, location))
        elif location is not None:
            warn(message, location)
        else:
            warnings.warn(message, RuntimeWarning, stacklevel=3)

    def in_order(self) -> Callable[[], None]:
        """Keep the warnings of a run whose steps do not stand in the order of their nodes; the result issues them."""
        outer = self._innermost_run()

        def finish() -> None:
            self._local.run = outer
            for warning in sorted(run.kept, key=itemgetter(0)):
                self.warn(*warning)

        run = self._local.run = Run(weakref.ref(finish), outer, [])
        return finish

    def _innermost_run(self) -> Run | None:
        """The run whose warnings are kept now; not one that a signal handler's exception has left unfinished."""
        run: Run | None = getattr(self._local, "run", None)
        while run is not None and run.finish() is None:
            run = self._local.run = run.outer
        return run


def out_of_order(steps: Sequence[Step]) -> bool:
    """Whether steps that may warn run in another order than their nodes stand in the graph."""
    positions: list[int] = []
    for step in steps:
        if step.committed and step.kernel is not None:
            positions += [node.position for node in step.kernel.nodes]
        elif step.committed and step.numbers:
            positions += [one.position for one in step.numbers]
        elif step.committed and step.location is not None:
            positions.append(step.position)
    return positions != sorted(positions)


class Report:
    """What `_tiles.Program` calls with a committed step's number and its flags: an operation's number and bits."""

    def __init__(self, steps: Sequence[Step], warner: Warner) -> None:
        self.steps = steps
        self.warner = warner

    def __call__(self, number: int, flags: Iterable[tuple[int, int]]) -> None:
        """Warn as NumPy would. Committed steps run only where the error state does no more than warn."""
        kernel = self.steps[number].kernel
        assert kernel is not None
        said: set[tuple[int, int]] = set()
        for node, bits in flags:
            origin = kernel.nodes[node]
            for bit, text in KINDS:
                if not bits & bit or (origin.chain is not None and (origin.chain, bit) in said):
                    continue
                if origin.chain is not None:
                    said.add((origin.chain, bit))
                message = f"{text} encountered in {origin.name}"
                self.warner.warn(origin.position, message, origin.location)


def warn(message: str, location: Location) -> None:
    """Issue a RuntimeWarning for the line that eager names, through that module's registry."""
    location = location.warned_at or location
    function = location.found_by() if location.found_by is not None else None
    module = sys.modules.get(location.module)
    space = getattr(module, "__dict__", None) if function is None else function.__globals__
    registry = None if space is None else space.setdefault("__warningregistry__", {})
    # No module_globals: NumPy gives none, and Python refuses those of a module without a loader.
    warnings.warn_explicit(
        message,
        RuntimeWarning,
        location.file,
        location.line,
        location.module or "<string>",  # as Python calls globals without a name
        registry,
    )


class LoggedCalls:
    """Calls of NumPy's own in committed steps: their warnings name the user's line, not ours.

    NumPy's error state is that of the moment this is made, but for what the program's own `errors` say, with a log in
    place of warnings.
    """

    def __init__(self, errors: Errors | None = None) -> None:
        self.log = WarningLog()
        said = {**np.geterr(), **dict(errors or ())}
        modes: Any = {k: v if v == "ignore" else "log" for k, v in said.items()}
        self.context = context_with(**modes)
        self.context.run(np.seterrcall, self.log)

    def call(
        self,
        warner: Warner,
        position: int,
        location: Location | None,
        function: Callable[..., Any],
        *arguments: Any,
        **keywords: Any,
    ) -> Any:
        """The result; each message is a warning for the line where eager's frame would be."""
        result = self.context.run(function, *arguments, **keywords)
        if self.log.messages:
            messages, self.log.messages = self.log.messages, []
            for message, place in messages:
                warner.warn(position, message, place or location)
        return result


class WarningLog:
    """The log object of NumPy's error state: keeps each message with the place it came from; None: from a call of ours.

    No frame is kept: one that is held by its own variable would live until the next collection, and its arguments too.
    """

    def __init__(self) -> None:
        self.messages: list[tuple[str, Location | None]] = []

    def write(self, message: str) -> None:
        """Keep a message."""
        text = message.removeprefix("Warning: ").rstrip("\n")
        frame = sys._getframe(1)
        ours = frame.f_code is LoggedCalls.call.__code__
        self.messages.append((text, None if ours else _place_of(frame)))


def _place_of(frame: FrameType) -> Location:
    module = frame.f_globals.get("__name__", "")
    return Location(frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno, module)

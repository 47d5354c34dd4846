"""One function of the corpus with the arguments of a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from tests.support.comparing.recording import Call


@dataclass(frozen=True, slots=True)
class Case:
    """A function with arguments, which every run gets fresh copies of.

    `state` gives what else a call may change; `reset` puts it back before each run.
    """

    name: str
    function: Callable[..., Any]
    call: Call
    state: Callable[[], Any] | None = None
    reset: Callable[[], object] | None = None

    def arguments(self) -> Call:
        """The arguments, to be copied."""
        return self.call


@dataclass(slots=True)
class Corpus:
    """Cases in order, with names that tell them apart."""

    cases: list[Case] = field(default_factory=list)

    def add(
        self,
        function: Callable[..., Any],
        *args: Any,
        state: Callable[[], Any] | None = None,
        reset: Callable[[], object] | None = None,
        **kwargs: Any,
    ) -> None:
        """Add a function with the arguments of one call; of a cached one, what is cached."""
        if isinstance(function, MethodType):
            function, args = function.__func__, (function.__self__, *args)
        function = inspect.unwrap(function)
        assert isinstance(function, FunctionType), function
        name = f"{function.__module__.removeprefix('tests.whole.corpus.')}.{function.__qualname__}"
        before = sum(case.name.partition("-")[0] == name for case in self.cases)
        self.cases.append(
            Case(f"{name}-{before}" if before else name, function, Call(args, kwargs), state, reset)
        )

    def case(self, *args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Add the decorated function with the arguments of one call."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add(function, *args, **kwargs)
            return function

        return register

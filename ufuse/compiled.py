"""What `ufuse.compile` returns."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from dataclasses import replace
from types import FunctionType
from typing import Any, cast

from ufuse.diagnostics import wording
from ufuse.diagnostics.graphs import Graph
from ufuse.frame_hook import _hook
from ufuse.frame_hook.entries.entry import Specialisation, is_idle
from ufuse.frame_hook.entries.journal import Stats
from ufuse.frame_hook.entries.learned import Retrace
from ufuse.frame_hook.session import Session
from ufuse.frame_hook.trace.reasons import Break
from ufuse.spec import Spec


class _Annotations:
    """The annotations of the function, evaluated when they are read; a compiled function may be given others."""

    def __get__(self, compiled: CompiledFunction | None, _: type) -> dict[str, Any]:
        return {} if compiled is None else compiled.function.__annotations__


class CompiledFunction(_hook.Dispatcher):
    """A function that runs compiled; call it as the function it was made from.

    Attributes:
        graphs: tuple of `Graph`, in the order captured.
        breaks: tuple of `Break(code, reason, file, line, hint)`: where and why graphs ended.
        retraces: tuple of `Retrace(guard, was, now, file, line)`: why it was traced again.
        stats: counters: calls, hits, traces, retraces, breaks, eager_calls, trace_seconds, compile_seconds.

    Example:
        >>> import numpy as np, ufuse
        >>> @ufuse.compile
        ... def double(x):
        ...     return x * 2
        >>> double(np.array([1.0, 2.0]))
        array([2., 4.])
        >>> double
        <compiled function double>

    """

    __ufuse_function__ = True
    if sys.version_info >= (3, 14):  # from here on `functools.update_wrapper` leaves them out
        __annotations__ = cast("dict[str, Any]", _Annotations())

    def __init__(self, function: FunctionType, session: Session) -> None:
        super().__init__(function, session)
        functools.update_wrapper(self, function)
        self.__defaults__ = function.__defaults__
        self.__kwdefaults__ = function.__kwdefaults__
        self.__code__ = function.__code__
        self._before_reset = (0, 0)  # calls and hits: the counters in C only grow

    @property
    def __globals__(self) -> dict[str, Any]:
        return self.function.__globals__  # type: ignore[attr-defined,no-any-return]

    @property
    def __closure__(self) -> tuple[types.CellType, ...] | None:
        return self.function.__closure__

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Every graph captured so far."""
        return tuple(Graph(captured) for captured in self.session.graphs())

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Every place where a graph ended before the function did."""
        return tuple(self.session.breaks)

    @property
    def retraces(self) -> tuple[Retrace, ...]:
        """Why the function was traced again."""
        return tuple(self.session.retraces)

    @property
    def specialisations(self) -> tuple[Specialisation, ...]:
        """What was captured, with its guards."""
        return tuple(self.session.specialisations)

    @property
    def stats(self) -> Stats:
        """Counters since the last `reset`, as they are now; times are in seconds."""
        calls, hits = self._before_reset
        stats: Stats = self.session.stats
        # C counts the run of a new entry as a hit; to the user it is the call that was traced.
        fresh = self.session.record(self.__code__).starts
        return replace(stats, calls=self.calls - calls, hits=max(0, self.hits - hits - fresh))

    def signatures(self) -> str:
        r"""Every specialisation as text: what each argument must be, and what comes back.

        Example:
            >>> import numpy as np, ufuse
            >>> @ufuse.compile
            ... def scaled(x, axis):
            ...     return x / x.sum(axis, keepdims=True)
            >>> result = scaled(np.ones((2, 3), np.float32), 1)
            >>> print(scaled.signatures().partition("\n")[2])
              x: float32[n, m]
              axis == 1
              -> float32[n, m]

        """
        found = [k for k in self.session.specialisations if not is_idle(k.graph)]
        if not found:
            called = "has no graph yet" if self.calls else "has not been called yet"
            return f"{self.__name__}() {called}"
        lines = []
        for kept in found:
            lines.append(f"{kept.code.co_name}(), {wording.lines(kept)}")
            lines += [f"  {text}" for text in (*wording.takes(kept), *wording.values(kept))]
            lines.append(f"  -> {wording.gives(kept) or 'nothing but what it writes'}")
        return "\n".join(lines)

    def trace(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph for these arguments, or `Spec`s in place of arrays, without running it.

        What was captured by calls is left as it is. For a method pass the object too: `Model.step.trace(model, x)`.

        Args:
            *args: arguments, or `Spec`s.
            **kwargs: the same.

        Returns:
            The first graph of the function: up to its first break, if it has one.

        Raises:
            TypeError: the arguments do not fit the function, or it is a generator or coroutine.
            ValueError: nothing can be captured for such arguments; the message says why.

        Example:
            >>> import ufuse
            >>> graph = ufuse.compile(lambda x, y: x + y).trace(ufuse.Spec((None,), "f8"), 1.0)
            >>> [node.op.name for node in graph.nodes]
            ['input', 'input', 'add']

        """
        given = [a.example() if isinstance(a, Spec) else a for a in args]
        named = {k: v.example() if isinstance(v, Spec) else v for k, v in kwargs.items()}
        try:
            bound = inspect.signature(self.function).bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}") from None
        bound.apply_defaults()
        session = self.session.alone()
        cache = _hook.CodeCache(self.function.__code__, session)
        state = state_of(cast("FunctionType", self.function), bound)
        session.capture(cache, 0, self.function, state)
        if not session.specialisations:
            raise TypeError(f"{self.__name__} cannot be traced: it is a generator or coroutine")
        graph = session.specialisations[-1].graph
        if is_idle(graph) and session.breaks:
            raise ValueError(
                f"nothing of {self.__name__}() can be captured for these arguments: {session.breaks[-1]}"
            )
        return Graph(graph)

    def reset(self) -> None:
        """Forget everything captured."""
        self.cache.clear()
        self.session.forget()
        self._before_reset = (self.calls, self.hits)

    def __repr__(self) -> str:
        return f"<compiled function {self.__qualname__}>"

    def __reduce__(self) -> str:
        return str(self.__qualname__)

    def __copy__(self) -> CompiledFunction:
        return self

    def __deepcopy__(self, _: Any) -> CompiledFunction:
        return self


_hook.enable_vectorcall(CompiledFunction)


def state_of(function: FunctionType, bound: inspect.BoundArguments) -> tuple[Any, ...]:
    """The registers of a frame at its start, as C hands them to a capture: locals, cells, closure."""
    code = function.__code__
    values = dict(bound.arguments)
    names = code.co_varnames
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    state = [
        values.get(name, _hook.NULL) if i < count else _hook.NULL for i, name in enumerate(names)
    ]
    state += [_hook.NULL for name in code.co_cellvars if name not in names]
    return (*state, *(function.__closure__ or ()))

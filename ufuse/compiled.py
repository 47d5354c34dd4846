"""What `ufuse.compile` returns."""

from __future__ import annotations

import inspect
import sys
from dataclasses import replace
from types import FunctionType
from typing import Any

from ufuse.diagnostics import wording
from ufuse.diagnostics.graphs import Graph
from ufuse.frame_hook import _hook
from ufuse.frame_hook.entries.entry import Specialisation, is_idle
from ufuse.frame_hook.entries.journal import Stats
from ufuse.frame_hook.entries.learned import Retrace
from ufuse.frame_hook.nests.entries.records import LoopRecord
from ufuse.frame_hook.session import Session
from ufuse.frame_hook.trace.reasons import Break
from ufuse.spec import Spec


class CompiledFunction(_hook.Dispatcher):
    """A function that runs compiled; call it as the function it was made from.

    Its attributes are the function's: what is set on one is seen on both. Those below can be read where the program has
    given the function none of that name; otherwise as `ufuse.CompiledFunction.stats.fget(f)`.

    Attributes:
        graphs: tuple of `Graph`, in the order captured.
        breaks: tuple of `Break(code, reason, file, line, hint)`: where and why graphs ended.
        loops: tuple of the loops that were looked at, each with `line`, `turns` that ran natively, `nests`
            (its native code as text: `print(f.loops[0].nests[0])`), or `why_not`, `code` and `hint`.
        retraces: tuple of `Retrace(guard, was, now, file, line)`: why it was traced again.
        specialisations: tuple of what was captured, with guards; `signatures()` has them in words.
        stats: counters, such as calls, hits, traces, breaks and compile_seconds; `help(type(f.stats))` has them all.

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

    # Names in double underscores: the program may give its function any other.
    __slots__ = ("__ufuse_before_reset__",)  # calls and hits, which are only counted up

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Every graph captured so far."""
        return tuple(Graph(captured) for captured in self.__ufuse_session__.graphs())

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Every place where a graph ended before the function did."""
        return tuple(self.__ufuse_session__.breaks)

    @property
    def loops(self) -> tuple[LoopRecord, ...]:
        """The loops that ran as native code, and those that did not, with why."""
        return loops_of(self)

    @property
    def retraces(self) -> tuple[Retrace, ...]:
        """Why the function was traced again."""
        return tuple(self.__ufuse_session__.retraces)

    @property
    def specialisations(self) -> tuple[Specialisation, ...]:
        """What was captured, with its guards."""
        return tuple(self.__ufuse_session__.specialisations)

    @property
    def stats(self) -> Stats:
        """Counters since the last `reset`, as they are now.

        Calls and hits are this function's; the others count for all functions that share what was captured.
        """
        calls, hits = getattr(self, "__ufuse_before_reset__", (0, 0))
        stats: Stats = self.__ufuse_session__.stats
        return replace(stats, calls=self.__ufuse_calls__ - calls, hits=max(0, hits_of(self) - hits))

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
        session: Session = self.__ufuse_session__
        found = [k for k in session.specialisations if not is_idle(k.graph)]
        if not found:
            called = "has no graph yet" if self.__ufuse_calls__ else "has not been called yet"
            return wording.Shown(f"{self.__name__}() {called}")
        lines = []
        for kept in found:
            lines.append(f"{kept.code.co_name}(), {wording.lines(kept)}")
            lines += [f"  {text}" for text in (*wording.takes(kept), *wording.values(kept))]
            given = wording.gives(kept) or "nothing but what it writes"
            lines.append(f"  -> {given}{wording.goes_on(kept)}")
        return wording.Shown("\n".join(lines))

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
        function: FunctionType = self.__ufuse_function__
        given = [a.example() if isinstance(a, Spec) else a for a in args]
        named = {k: v.example() if isinstance(v, Spec) else v for k, v in kwargs.items()}
        try:
            bound = inspect.signature(function).bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{self.__name__}() {error}") from None
        bound.apply_defaults()
        session: Session = self.__ufuse_session__.alone()
        session.unhurried = True
        cache = _hook.CodeCache(function.__code__, session)
        session.capture(cache, 0, function, state_of(function, bound))
        if not session.specialisations:
            raise TypeError(f"{self.__name__} cannot be traced: it is a generator or coroutine")
        graph = session.specialisations[-1].graph
        if is_idle(graph) and session.breaks:
            raise ValueError(
                f"nothing of {self.__name__}() can be captured for these arguments: {session.breaks[-1]}"
            )
        return Graph(graph)

    def reset(self) -> None:
        """Forget everything captured, for the functions that share it, too."""
        self.__ufuse_cache__.clear()
        self.__ufuse_session__.forget()
        self.__ufuse_before_reset__ = (self.__ufuse_calls__, hits_of(self))

    def __repr__(self) -> str:
        return f"<compiled function {self.__qualname__}>"

    def __dir__(self) -> list[str]:
        ours = (name for name in vars(CompiledFunction) if not name.startswith("_"))
        return sorted({*dir(self.__ufuse_function__), *ours, "__wrapped__"})

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By its name, as functions; where that is not its own, by the function's, to be compiled again."""
        function: FunctionType = self.__ufuse_function__
        named = found_by_name(function)
        remade = self.__ufuse_session__.remade
        if named is self or remade is None:
            return function.__qualname__
        is_compiled_too = (
            isinstance(named, CompiledFunction) and named.__ufuse_function__ is function
        )
        return remade, (named if is_compiled_too else function,)

    def __copy__(self) -> CompiledFunction:
        return self

    def __deepcopy__(self, _: Any) -> CompiledFunction:
        return self


_hook.enable_vectorcall(CompiledFunction)


def another(function: FunctionType, session: Session) -> CompiledFunction:
    """A compiled function that shares what was captured before, perhaps of this very function."""
    compiled = CompiledFunction(function, session)
    if session.captured_for(function):
        compiled.__ufuse_before_reset__ = (0, hits_of(compiled))
    return compiled


def hits_of(compiled: CompiledFunction) -> int:
    """Calls that found an entry. C counts the run of a new one, too; to the user it is the call that was traced."""
    session: Session = compiled.__ufuse_session__
    hits: int = compiled.__ufuse_hits__
    return hits - session.captured_for(compiled.__ufuse_function__)


def loops_of(compiled: CompiledFunction) -> tuple[LoopRecord, ...]:
    """The loops of a compiled function, and of those that it calls."""
    session: Session = compiled.__ufuse_session__
    return tuple(session.loop_records((compiled.__ufuse_cache__, *session.caches)))


def found_by_name(function: FunctionType) -> Any:
    """What the module of a function has under its name; None where that is nothing."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found


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

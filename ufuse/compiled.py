"""`ufuse.compile` and what it returns."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

from ufuse import wording
from ufuse.backends import protocol
from ufuse.backends.numpy import set_threads
from ufuse.backends.protocol import Backend
from ufuse.checking import checked
from ufuse.errors import BackendUnavailable, GraphBreakError
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.resume import GENERATORS, why_not_code
from ufuse.frame_hook.entries.learned import Retrace
from ufuse.frame_hook.entries.recipe import Specialisation, is_idle
from ufuse.frame_hook.session import Session, Stats
from ufuse.frame_hook.trace.reasons import Break
from ufuse.graphs import Graph
from ufuse.settings import Settings
from ufuse.spec import Spec

# Folders as they are imported, and as they lie behind symbolic links: code objects may name either.
LIBRARIES = (
    sysconfig.get_path("stdlib"),
    *(
        str(folder)
        for name in ("numpy", "ufuse", "ufuse.graph", "ufuse.frame_hook", "ufuse.backends")
        for file in [Path(sys.modules[name].__file__ or "")]
        for folder in dict.fromkeys((file.parent, file.resolve().parent))
    ),
)


def should_trace(code: CodeType) -> bool:
    """Whether a function that plain Python calls is worth tracing: not the standard library's, NumPy's or ours."""
    file = code.co_filename
    if file.startswith("<frozen"):
        return False
    if any(file.startswith(folder + os.sep) for folder in LIBRARIES):
        return "site-packages" in file and not any(
            file.startswith(f + os.sep) for f in LIBRARIES[1:]
        )
    return True


class _Annotations:
    """The function's annotations, evaluated when they are asked for, unless the compiled function was given others."""

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
        self._before_reset = (0, 0)  # the counters of C only grow

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
        # A call that is traced finds its entry, too; it is no hit to the user.
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
        state = _state_of(cast("FunctionType", self.function), bound)
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


def _state_of(function: FunctionType, bound: inspect.BoundArguments) -> tuple[Any, ...]:
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


def compile(
    fn: Any = None,
    *,
    backend: str | Backend = "numpy",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    signature: Sequence[Spec] | None = None,
) -> Any:
    """A function that does the same, faster: its array operations are captured and compiled.

    Results, warnings and errors are those of plain NumPy, to the bit. The function is captured when it is called, once
    for each kind of arguments; sizes and floats may change freely. What cannot be captured runs as plain Python.

    Args:
        fn: a Python function, lambda, method, class method, static method, `functools.partial` or callable object.
            Left out, a decorator is returned. Generators and coroutines run as plain Python.
        backend: "numpy" (compiled for this CPU), "cupy", "reference" (node by node, to compare with), "eager" (nothing
            is captured), or an object with a method `compile(graph)` that returns a callable.
        fullgraph: raise `GraphBreakError` where the function would need more than one graph; at once for a generator.
        dynamic: False guards the sizes of arrays, so that each shape has a graph of its own; True and None do not.
        signature: a list of `Spec`: the only kinds of arrays that are accepted, argument by argument (after `self`).
            Arguments behind the last one are free.

    Returns:
        A `CompiledFunction`; of the same kind as `fn` where that is a bound method, class method or static method.

    Raises:
        TypeError: an argument is of the wrong kind.
        ValueError: no backend has that name.
        BackendUnavailable: the backend needs a package that is not installed.
        GraphBreakError: `fullgraph` is True, and `fn` is a generator or coroutine.

    Example:
        >>> import numpy as np, ufuse
        >>> @ufuse.compile
        ... def distance(x, y):
        ...     return ((x - y) ** 2).sum()
        >>> distance(np.arange(4.0), np.ones(4))
        np.float64(6.0)

    """
    options: dict[str, Any] = {
        "backend": backend,
        "fullgraph": fullgraph,
        "dynamic": dynamic,
        "signature": signature,
    }
    if fn is None:
        _session(
            **options
        )  # what is wrong with the options is said here, not at the first function
        return lambda function: _compiled(function, options)
    return _compiled(fn, options)


def _compiled(fn: Any, options: dict[str, Any]) -> Any:
    if isinstance(fn, CompiledFunction):
        return _compiled(fn.function, options)
    if isinstance(fn, FunctionType):
        compiled = CompiledFunction(fn, _session(**options, function=fn))
        compiled.enabled = options["backend"] != "eager"
        code = fn.__code__
        if compiled.enabled and code.co_flags & GENERATORS:  # their calls ask no session
            compiled.session.refuse(code, str(why_not_code(code)))
        return compiled
    if isinstance(fn, functools.partial):
        return functools.partial(_compiled(fn.func, options), *fn.args, **fn.keywords)
    if isinstance(fn, (classmethod, staticmethod)):
        return type(fn)(_compiled(fn.__func__, options))
    if isinstance(fn, types.MethodType):
        return types.MethodType(_compiled(fn.__func__, options), fn.__self__)
    call = inspect.getattr_static(type(fn), "__call__", None)
    if isinstance(call, FunctionType) and not isinstance(fn, type):
        return types.MethodType(_compiled(call, options), fn)
    raise TypeError(f"fn must be a Python function, method or callable object, not {_kind(fn)}")


def _kind(fn: Any) -> str:
    if isinstance(fn, type):
        return f"the class {fn.__name__}: compile its methods"
    if hasattr(fn, "_implementation"):
        return f"NumPy's own {fn.__name__}: compile a function that calls it"
    if callable(fn):
        name = f"{type(fn).__name__} {getattr(fn, '__name__', '')}".rstrip()
        return f"{name}, which is not written in Python"
    return type(fn).__name__


def _session(
    *,
    backend: str | Backend,
    fullgraph: bool,
    dynamic: bool | None,
    signature: Sequence[Spec] | None,
    function: FunctionType | None = None,
) -> Session:
    if not isinstance(fullgraph, bool):
        raise TypeError(f"fullgraph must be True or False, not {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic must be True, False or None, not {dynamic!r}")
    specs = () if signature is None else _specs(signature)
    arguments = () if function is None else _specified(function, specs)
    chosen = _backend(backend)
    return Session(
        functools.partial(_compile_graph, chosen),
        fullgraph=GraphBreakError if fullgraph else None,
        should_trace=should_trace,
        check_arguments=_argument_check(function, arguments) if function and arguments else None,
        static_sizes=dynamic is False or _fixed_sizes(arguments),
    )


def _backend(backend: str | Backend) -> Backend:
    if isinstance(backend, str):
        if backend == "eager":
            return protocol.backend_named(
                "reference"
            )  # never asked: the function is called as it is
        try:
            return protocol.backend_named(backend)
        except protocol.UnknownBackend:
            known = ", ".join(sorted([*protocol.BACKENDS, "eager"]))
            raise ValueError(
                f"backend must be one of {known}, or an object with compile(graph), not {backend!r}"
            ) from None
        except protocol.BackendUnavailable as missing:
            raise BackendUnavailable(str(missing)) from None
    if not callable(getattr(backend, "compile", None)):
        raise TypeError(
            f"backend must be a name or an object with a compile(graph) method, not {backend!r}"
        )
    return backend


CHECKING = False


def _compile_graph(backend: Backend, graph: Any) -> Callable[..., Any]:
    artefact = backend.compile(graph)
    return checked(artefact, graph) if CHECKING else artefact


class SignatureError(TypeError):
    """An argument is not what the signature says."""

    for_user = True


def _specs(signature: Sequence[Spec]) -> tuple[Spec, ...]:
    if isinstance(signature, Spec) or not isinstance(signature, (list, tuple)):
        raise TypeError("signature must be a list of ufuse.Spec, one for each argument")
    for place, spec in enumerate(signature):
        if not isinstance(spec, Spec):
            raise TypeError(f"signature[{place}] must be a ufuse.Spec, not {type(spec).__name__}")
    return tuple(signature)


Specified = tuple[int, str, Spec]  # the place of an argument, its name, what it must be


def _specified(function: FunctionType, specs: tuple[Spec, ...]) -> tuple[Specified, ...]:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    first = 1 if names[:1] in {("self",), ("cls",)} else 0
    if len(specs) > len(names) - first:
        raise TypeError(
            f"signature has {len(specs)} entries, but {function.__name__}() takes {len(names) - first} "
            "arguments by position"
        )
    return tuple((place, names[place], spec) for place, spec in enumerate(specs, first))


def _fixed_sizes(arguments: tuple[Specified, ...]) -> frozenset[str]:
    """The lengths that a signature fixes, as the trace names them."""
    return frozenset(
        f"{name}.shape[{axis}]"
        for _, name, spec in arguments
        for axis, length in enumerate(spec.shape)
        if length is not None
    )


def _argument_check(
    function: FunctionType, arguments: tuple[Specified, ...]
) -> Callable[[FunctionType, tuple[Any, ...]], None]:
    def check(called: FunctionType, state: tuple[Any, ...]) -> None:
        if called.__code__ is not function.__code__:  # a function that plain Python calls for it
            return
        for place, name, spec in arguments:
            why = spec.why_not(state[place])
            if why is not None:
                raise SignatureError(
                    f"argument {name} of {function.__name__}() must be {spec} by its signature, but it is {why}"
                )

    return check


def configure(settings: Settings) -> None:
    """Apply what the environment asks for."""
    global CHECKING  # noqa: PLW0603  set once, at import
    CHECKING = settings.check
    if settings.threads is not None:
        set_threads(settings.threads)
    _hook.set_eager(settings.eager)


@contextmanager
def eager() -> Iterator[None]:
    """Inside the `with`, everything compiled runs as plain Python in this thread.

    Example:
        >>> import numpy as np, ufuse
        >>> f = ufuse.compile(lambda x: x + 1)
        >>> with ufuse.eager():
        ...     f(np.arange(2))
        array([1, 2])

    """
    _hook.enter_eager()
    try:
        yield
    finally:
        _hook.leave_eager()


def set_eager(on: bool) -> None:
    """Run everything compiled as plain Python in this process, or stop doing so.

    Args:
        on: True or False.

    Raises:
        TypeError: `on` is neither.

    Example:
        >>> set_eager(False)

    """
    if not isinstance(on, bool):
        raise TypeError(f"on must be True or False, not {on!r}")
    _hook.set_eager(on)

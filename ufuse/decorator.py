"""`ufuse.compile`: its options, checked, become the session of a compiled function."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from ufuse.backends import protocol
from ufuse.backends.numpy import set_threads
from ufuse.backends.protocol import Backend
from ufuse.checking import checked
from ufuse.compiled import CompiledFunction
from ufuse.errors import BackendUnavailable, GraphBreakError
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.stops import GENERATORS, why_not_code
from ufuse.frame_hook.session import Session
from ufuse.libraries import should_trace
from ufuse.settings import Settings
from ufuse.spec import Spec


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
        _session(**options)  # an error in the options is raised here, not at the first function
        return lambda function: _compiled(function, options)
    return _compiled(fn, options)


def _compiled(fn: Any, options: dict[str, Any]) -> Any:
    if isinstance(fn, CompiledFunction):
        return _compiled(fn.function, options)
    if isinstance(fn, FunctionType):
        compiled = CompiledFunction(fn, _session(**options, function=fn))
        compiled.enabled = options["backend"] != "eager"
        code = fn.__code__
        if compiled.enabled and code.co_flags & GENERATORS:  # C does not ask the session for these
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
            return protocol.backend_named("reference")  # never used: the function runs as it is
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


Specified = tuple[int, str, Spec]  # an argument: its position, its name, what it must be


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
    """The lengths of axes that a signature fixes, under the names that a trace gives them."""
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
        if called.__code__ is not function.__code__:  # a function that plain Python calls meanwhile
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

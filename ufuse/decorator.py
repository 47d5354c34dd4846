"""`ufuse.compile`: its options, checked, become the session of a compiled function."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FunctionType
from typing import Any

from ufuse import sharing
from ufuse.backends import _launch, protocol
from ufuse.backends.numpy import set_threads
from ufuse.backends.numpy.llvm import object_cache
from ufuse.backends.protocol import Backend, NeedsDevice, Placing
from ufuse.checking import CheckedNests, checked
from ufuse.compiled import CompiledFunction, another
from ufuse.diagnostics import wording
from ufuse.errors import BackendUnavailable, GraphBreakError
from ufuse.frame_hook import _hook
from ufuse.frame_hook._hook import shared_session
from ufuse.frame_hook.code.by_code import ByFunction
from ufuse.frame_hook.code.stops import GENERATORS, why_not_code
from ufuse.frame_hook.nests.entries.entry import NestMaker
from ufuse.frame_hook.session import Session
from ufuse.graph.node import Graph
from ufuse.graph.records import individual
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
    exact: bool = True,
) -> Any:
    """A function that does the same, faster: its array operations are captured and compiled.

    Results, warnings and errors are those of plain NumPy, to the bit. The function is captured when it is called, once
    for each kind of arguments; sizes and floats may change freely. What cannot be captured runs as plain Python.

    Args:
        fn: a Python function, lambda, method, class method, static method, `functools.partial` or callable object.
            Left out, a decorator is returned. Generators and coroutines run as plain Python.
        backend: "numpy" (compiled for this CPU), "cupy" (for a GPU, see docs/gpu.md), "reference" (node by node, to
            compare with), "eager" (nothing is captured), or an object with a method `compile(graph)` that returns a
            callable.
        fullgraph: raise `GraphBreakError` where the function would need more than one graph; at once for a generator.
        dynamic: False guards the sizes of arrays, so that each shape has a graph of its own; True and None do not.
        signature: a list of `Spec`: the only kinds of arrays that are accepted, argument by argument (after `self`).
            Arguments behind the last one are free.
        exact: False lets code written with CuPy sum floats in another order than CuPy, in the kernel that makes what
            is summed (docs/gpu.md). It changes nothing else: NumPy's arrays have NumPy's bits on the CPU either way,
            and those that backend="cupy" sends to a GPU are near to them either way.

    Functions with the same code and equal options share what is captured: those that a `def` or `lambda` makes anew at
    each call of the function around it, a method of several objects, a function that is compiled twice. Their closures
    are guarded as arguments are. They have the same graphs, breaks and retraces, and `reset()` of one forgets all.

    Returns:
        A `CompiledFunction`; of the same kind as `fn` where that is a bound method, class method or static method.

    Raises:
        TypeError: an argument is of the wrong kind. Later, from a call: its arguments are not those of the signature.
        ValueError: no backend has that name.
        BackendUnavailable: the backend needs a package that is not installed.
        GraphBreakError: `fullgraph` is True, and `fn` is a generator or coroutine. Later, from a call: it needs more
            than one graph.

    Example:
        >>> import numpy as np, ufuse
        >>> @ufuse.compile
        ... def distance(x, y):
        ...     return ((x - y) ** 2).sum()
        >>> distance(np.arange(4.0), np.ones(4))
        np.float64(6.0)

    """
    if signature is None:
        session = _known_session(fn, backend, fullgraph, dynamic, exact)
        if session is not None:
            return another(fn, session)
    options = _options(backend, fullgraph, dynamic, signature, exact)
    if fn is None:
        return lambda function: _compiled(function, options)
    return _compiled(fn, options)


def _known_session(
    fn: Any, backend: Any, fullgraph: Any, dynamic: Any, exact: Any
) -> Session | None:
    """The session of functions with this one's code, and such options; a factory asks for it at every call."""
    if type(fn) is not FunctionType:
        return None
    is_default = backend is NUMPY and fullgraph is False and dynamic is None and exact is True
    are_plain = type(fullgraph) is bool and type(dynamic) in PLAIN and type(exact) is bool
    if is_default or (type(backend) is str and are_plain):
        options = backend, fullgraph, dynamic, (), exact, CHECKING, MEASURING
        session: Session | None = shared_session(fn, options)
        return session
    return None


NUMPY = "numpy"
CUPY = "cupy"
DEVICE_NAMES = ("gpu", "cuda")  # what people may call it
PLAIN = frozenset({bool, types.NoneType})


@individual
class Options:
    """The arguments of `compile`, checked, and as they were given."""

    given: dict[str, Any]
    backend: Backend
    specs: tuple[Spec, ...]
    shares: bool = True  # what is captured, with other functions from the same code

    @property
    def is_named(self) -> bool:
        """Whether the backend is one of ours, not an object that the caller brought."""
        return isinstance(self.given["backend"], str)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for options with which the same is captured; other backends are known by identity, while they live."""
        given = self.given
        backend = given["backend"] if self.is_named else id(self.backend)
        chosen = backend, given["fullgraph"], given["dynamic"], self.specs, given["exact"]
        return *chosen, CHECKING, MEASURING


def _options(
    backend: str | Backend,
    fullgraph: bool,
    dynamic: bool | None,
    signature: Sequence[Spec] | None,
    exact: bool,
) -> Options:
    if not isinstance(fullgraph, bool):
        raise TypeError(f"fullgraph must be True or False, not {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic must be True, False or None, not {dynamic!r}")
    if not isinstance(exact, bool):
        raise TypeError(f"exact must be True or False, not {exact!r}")
    specs = () if signature is None else _specs(signature)
    given = {"backend": backend, "fullgraph": fullgraph, "dynamic": dynamic, "signature": signature}
    given["exact"] = exact
    return Options(given, _backend(backend), specs)


def compiled_alone(fn: Any) -> Any:
    """What `compile(fn)` returns, without anything that was captured before.

    A compiled function keeps its options, but for those that would hide something: "eager" and `fullgraph`.
    """
    return _compiled(fn, replace(_options(**_given(fn)), shares=False))


def _given(fn: Any) -> dict[str, Any]:
    """The options that a function was compiled with, or is by default."""
    while isinstance(fn, (types.MethodType, functools.partial)):
        fn = fn.__func__ if isinstance(fn, types.MethodType) else fn.func
    given: dict[str, Any] = {"backend": NUMPY, "dynamic": None, "signature": None, "exact": True}
    remade = fn.__ufuse_session__.remade if isinstance(fn, CompiledFunction) else None
    if isinstance(remade, functools.partial) and remade.args[0]["backend"] != "eager":
        given = remade.args[0]
    return {**given, "fullgraph": False}


def _compiled(fn: Any, options: Options) -> Any:
    if isinstance(fn, CompiledFunction):
        return _compiled(fn.__ufuse_function__, options)
    if type(fn) is FunctionType:  # isinstance() asks `fn`, and what wraps a function may say yes
        return _compiled_function(fn, options)
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


def _compiled_function(function: FunctionType, options: Options) -> CompiledFunction:
    code = function.__code__
    is_enabled = not (options.is_named and options.given["backend"] == "eager")
    shares = options.shares and is_enabled and not code.co_flags & GENERATORS
    known = shared_session(function, options.key) if shares else None
    if known is not None:
        return another(function, known)
    session = _session(options, function)
    session.remade = functools.partial(_remade, options.given)
    compiled = CompiledFunction(function, session)
    compiled.__ufuse_enabled__ = is_enabled
    if shares:
        sharing.share(compiled, options.key, may_keep=options.is_named)
    elif is_enabled and code.co_flags & GENERATORS:  # C asks the session of none
        session.refuse(code, str(why_not_code(code)))
    return compiled


# What came out of pickles and is still used, by function: the same again is the same object.
_unpickled: ByFunction[list[weakref.ref[CompiledFunction]]] = ByFunction()


def _remade(given: dict[str, Any], fn: Any) -> Any:
    """A pickled function, compiled with the options that it had: the one that is there already, or a new one."""
    function = fn.__ufuse_function__ if isinstance(fn, CompiledFunction) else fn
    unpickled = [one for one in (made() for made in _unpickled.get(function) or ()) if one]
    there = [*unpickled, *vars(sys.modules[function.__module__]).copy().values()]
    for one in there:
        if isinstance(one, CompiledFunction) and one.__ufuse_function__ is function:
            remade = one.__ufuse_session__.remade
            if isinstance(remade, functools.partial) and remade.args == (given,):
                return one
    compiled = _compiled(function, _options(**given))
    if isinstance(given["backend"], str):  # others are unpickled too, anew each time
        _unpickled.keep(function, [weakref.ref(one) for one in (*unpickled, compiled)])
    return compiled


def _kind(fn: Any) -> str:
    if isinstance(fn, type):
        return f"the class {fn.__name__}: compile its methods"
    if hasattr(fn, "_implementation"):
        return f"NumPy's own {fn.__name__}: compile a function that calls it"
    if callable(fn):
        kind = "built-in" if isinstance(fn, types.BuiltinFunctionType) else type(fn).__name__
        name = f"{kind} {getattr(fn, '__name__', '')}".rstrip()
        return f"{name}, which is not written in Python"
    return f"{type(fn).__name__}: give the function itself, not what it returns"


def _session(options: Options, function: FunctionType) -> Session:
    arguments, given = _specified(function, options.specs), options.given
    return Session(
        GraphCompiler(options.backend, given["exact"]),
        fullgraph=GraphBreakError if given["fullgraph"] else None,
        should_trace=should_trace,
        check_arguments=_argument_check(function, arguments) if arguments else None,
        static_sizes=given["dynamic"] is False or _fixed_sizes(arguments),
        measures=MEASURING and options.is_named and given["backend"] == "numpy" and not arguments,
        nests=_nests(options.backend),
    )


def _nests(backend: Backend) -> NestMaker | None:
    """What makes native code of loops, if the backend can."""
    if not isinstance(backend, NestMaker) or backend.nest_seconds() == math.inf:
        return None
    return CheckedNests(backend) if CHECKING else backend


def _backend(backend: str | Backend) -> Backend:
    if isinstance(backend, str):
        if backend == "eager":
            return protocol.backend_named("reference")  # never used: the function runs as it is
        try:
            found = protocol.backend_named(backend)
            why = found.why_unavailable() if isinstance(found, NeedsDevice) else None
            if why is not None:
                raise BackendUnavailable(f"the backend {backend!r} needs a GPU: {why}")
            return found  # noqa: TRY300  beside what it may raise
        except protocol.UnknownBackend:
            known = ", ".join(sorted([*protocol.BACKENDS, "eager"]))
            hint = '; that for GPUs is "cupy"' if backend.lower() in DEVICE_NAMES else ""
            raise ValueError(
                f"backend must be one of {known}, or an object with compile(graph), not {backend!r}{hint}"
            ) from None
        except protocol.BackendUnavailable as missing:
            raise BackendUnavailable(str(missing)) from None
    if not callable(getattr(backend, "compile", None)):
        raise TypeError(
            f"backend must be a name or an object with a compile(graph) method, not {backend!r}"
        )
    return backend


CHECKING = False
MEASURING = True
NEAR = protocol.Options(exact=False)


@individual
class GraphCompiler:
    """Compiles graphs with the backend that the user has chosen; those of CuPy's arrays with CuPy's."""

    backend: Backend
    exact: bool

    def __call__(self, graph: Graph) -> Callable[..., Any]:
        """What computes a graph."""
        backend = self._of(graph)
        if getattr(backend, "name", "") == CUPY:  # the checker is NumPy's
            return backend.compile(graph) if self.exact else backend.compile(graph, NEAR)
        artefact = backend.compile(graph)
        return checked(artefact, graph) if CHECKING else artefact

    def place(self, graph: Graph) -> str:
        """Where a graph runs, in words; "" where there is but one place."""
        backend = self._of(graph)
        if not isinstance(backend, Placing):
            return ""
        return backend.place(graph) if self.exact else backend.place(graph, NEAR)

    def _of(self, graph: Graph) -> Backend:
        is_cupys = graph.device and getattr(self.backend, "name", "") == NUMPY
        return protocol.backend_named(CUPY) if is_cupys else self.backend


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
        entries = "1 entry" if len(specs) == 1 else f"{len(specs)} entries"
        takes = wording.count(len(names) - first, "argument")
        raise TypeError(
            f"signature has {entries}, but {function.__name__}() takes {takes} by position"
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
    code: weakref.ref[CodeType] = weakref.ref(function.__code__)
    of = function.__name__

    def check(called: FunctionType, state: tuple[Any, ...]) -> None:
        if called.__code__ is not code():  # a function that plain Python calls meanwhile
            return
        for place, name, spec in arguments:
            why = spec.why_not(state[place])
            if why is not None:
                raise SignatureError(
                    f"argument {name} of {of}() must be {spec} by its signature, but it is {why}"
                )

    return check


def configure(settings: Settings) -> None:
    """Apply what the environment asks for."""
    global CHECKING, MEASURING  # noqa: PLW0603  set once, at import
    CHECKING = settings.check
    MEASURING = settings.measure and not settings.check
    if settings.threads is not None:
        set_threads(settings.threads)
    object_cache.configure(settings.cache)
    when = "measured" if MEASURING else "always"
    _launch.replay(when if settings.cuda_graphs else "never")
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
    try:
        _hook.enter_eager()  # inside: a signal handler may raise as soon as it returns
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

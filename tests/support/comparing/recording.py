"""Runs a callable under named conditions and keeps everything about the run that a user could see."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import inspect
import io
import itertools
import platform
import random
import re
import traceback
import types
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

LIBM = ctypes.PyDLL(None)
# FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW of <fenv.h>; "inexact" says nothing.
FLOAT_FLAGS = {"aarch64": (1, 2, 4, 8), "arm64": (1, 2, 4, 8)}.get(
    platform.machine(), (0x01, 0x04, 0x08, 0x10)
)
SMALLEST = 5e-324
FLOAT_FLAG_NAMES = dict(
    zip(FLOAT_FLAGS, ("invalid", "divide by zero", "overflow", "underflow"), strict=True)
)


@dataclass(frozen=True, slots=True)
class Mode:
    """How warnings and floating-point errors are treated during a run."""

    name: str
    warnings: str = "always"
    floats: str = "warn"


MODES = (
    Mode("always"),
    Mode("default", warnings="default"),
    Mode("warnings are errors", warnings="error"),
    Mode("errstate raise", floats="raise"),
    Mode("errstate ignore", floats="ignore"),
    Mode("errstate call", floats="call"),
)
"""Each is a setting that a user's program may be run under."""


@dataclass(slots=True)
class Call:
    """Arguments of one call."""

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """What one call did, as far as a user can tell."""

    call: Call
    result: Any = None
    error: BaseException | None = None
    raised: list[dict[str, Any]] = field(default_factory=list)
    warned: list[tuple[str, str, str, int]] = field(default_factory=list)
    float_calls: list[tuple[str, int]] = field(default_factory=list)
    printed: str = ""
    context: dict[str, Any] = field(default_factory=dict)
    float_flags: int = 0
    rounding: int = 0
    state: Any = None

    def let_go(self) -> None:
        """Let what it holds die now: an error and the frames that it came through are a cycle with this."""
        self.call, self.result, self.error, self.state = Call(), None, None, None


def arguments(*args: Any, **kwargs: Any) -> Call:
    """Give the arguments of a call where some are named."""
    return Call(args, kwargs)


def recorded(
    function: Callable[..., Any],
    call: Call,
    mode: Mode,
    user_file: str | None,
    state: Callable[[], Any] | None = None,
) -> Outcome:
    """Call `function` and keep what happened; whatever it changed around itself is put back."""
    outcome = Outcome(call)
    options = np.get_printoptions()
    numpy_random, python_random = np.random.get_state(), random.getstate()
    drawn = described_state(numpy_random)
    try:
        contextvars.copy_context().run(run, function, outcome, mode)
        if outcome.error is not None:
            outcome.raised = chain(outcome.error, user_file)
        if state is not None:
            outcome.state = state()
    finally:
        np.set_printoptions(**options)
        if outcome.context.get("numpy.random's state") != drawn:  # putting it back takes long
            np.random.set_state(numpy_random)
        random.setstate(python_random)
    return outcome


def run(function: Callable[..., Any], outcome: Outcome, mode: Mode) -> None:
    """Fill `outcome` from one call inside a context of its own."""

    def note(kind: str, flags: int) -> None:
        outcome.float_calls.append((kind, flags))

    printed = io.StringIO()
    args, kwargs = outcome.call.args, outcome.call.kwargs
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        np.errstate(all=mode.floats, call=note),  # type: ignore[arg-type]
    ):
        warnings.simplefilter(mode.warnings)  # type: ignore[arg-type]
        LIBM.feclearexcept(sum(FLOAT_FLAGS))
        try:
            outcome.result = function(*args, **kwargs)
        except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - any is compared
            outcome.error = error
        finally:
            outcome.float_flags = LIBM.fetestexcept(sum(FLOAT_FLAGS))
            LIBM.feclearexcept(sum(FLOAT_FLAGS))
            outcome.rounding = LIBM.fegetround()
            outcome.context = surroundings(note)
    outcome.printed = printed.getvalue()
    outcome.warned = [
        (w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught or ()
    ]


def surroundings(own_handler: object) -> dict[str, Any]:
    """Settings of the process that a call could have left changed."""
    handler = np.geterrcall()
    return {
        "numpy.geterr()": np.geterr(),
        "numpy.geterrcall()": "as it was" if handler is own_handler else stable(handler),
        "numpy.getbufsize()": np.getbufsize(),
        "numpy.get_printoptions()": {k: stable(v) for k, v in np.get_printoptions().items()},
        "numpy.random's state": described_state(np.random.get_state()),
        "random's state": random.getstate(),
        "subnormal numbers": SMALLEST * len("x") > 0,  # false where a kernel left them flushed
        "warnings.filters": [stable(row) for row in warnings.filters],
        "context variables": {
            variable.name: stable(value)
            for variable, value in contextvars.copy_context().items()
            if not variable.name.startswith(("numpy", "format_options"))  # asked for above
        },
    }


def described_state(state: Any) -> tuple[Any, ...]:
    """A state of NumPy's random numbers that can be compared."""
    kind, key, *position = state
    return kind, position, np.asarray(key).tobytes()


def position_of(entry: types.TracebackType) -> Any:
    """The lines and columns of the instruction at which an entry of a traceback stands."""
    code = entry.tb_frame.f_code
    return next(itertools.islice(code.co_positions(), entry.tb_lasti // 2, None))


def stable(value: object) -> str:
    """Write a value without the addresses of the objects in it."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def chain(error: BaseException | None, user_file: str | None) -> list[dict[str, Any]]:
    """Describe an exception and, link by link, what caused it and what it happened during.

    Tracebacks are told as far as they are in `user_file`; None: in any file but this one.
    """
    described: list[dict[str, Any]] = []
    links: list[tuple[str, BaseException | None]] = [("raised", error)]
    seen: set[int] = set()
    while links:
        link, error = links.pop(0)
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        described.append(
            {
                "link": link,
                "type": f"{type(error).__module__}.{type(error).__qualname__}",
                "text": str(error),
                "notes": list(getattr(error, "__notes__", ())),
                "suppresses its context": error.__suppress_context__,
                "traceback": [
                    (frame.f_code.co_filename, line, frame.f_code.co_name)
                    for frame, line in traceback.walk_tb(error.__traceback__)
                    if frame.f_code.co_filename == user_file
                    or (user_file is None and frame.f_code.co_filename != __file__)
                ],
            }
        )
        links += [
            (f"{link}.__cause__", error.__cause__),
            (f"{link}.__context__", error.__context__),
        ]
    return described


def file_of(function: object) -> str:
    """Name the file whose lines a traceback through `function` should show."""
    while not isinstance(function, types.FunctionType):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, types.MethodType):
            function = function.__func__
        else:
            function = type(function).__call__
    return str(inspect.unwrap(function).__code__.co_filename)

"""Programs written with NumPy, restated with CuPy: the same code, in which `np` is CuPy, and how they are compared."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import itertools
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

import ufuse
from tests.support.alarms import AlarmError, on_alarm
from tests.support.comparing.compare import check_same
from tests.support.comparing.recording import MODES
from tests.support.cupy_host import Host, build
from tests.support.frames.pieces import failures_heard

Make = Callable[[], tuple[Any, ...]]
MOST_MEMORY = 1 << 28  # bytes for lengths that nothing has computed
MOST_SECONDS = 5  # for loops whose conditions nothing has computed


def restated(module: types.ModuleType, cupy: Any, kept: tuple[str, ...] = ()) -> Any:
    """A module anew, with CuPy for NumPy; the functions called `kept` still make NumPy's arrays, which are then sent."""
    spec = importlib.util.spec_from_file_location(f"{module.__name__}_with_cupy", module.__file__)
    assert spec is not None
    assert spec.loader is not None
    made: Any = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # where dataclasses look for it
    spec.loader.exec_module(made)
    for name, value in vars(made).items():
        if isinstance(value, np.ndarray):
            setattr(made, name, cupy.asarray(value))
    for name in kept:
        setattr(made, name, sending(getattr(module, name), cupy))
    made.np = cupy
    return made


def sending(function: Callable[..., Any], cupy: Any) -> Callable[..., Any]:
    """What sends the arrays that a function gives."""
    return lambda *args, **kwargs: sent(function(*args, **kwargs), cupy, {})


def sent(value: Any, cupy: Any, known: dict[int, Any]) -> Any:
    """CuPy's arrays in place of NumPy's, in lists and dicts in place; what was one object, or shared memory, still does."""
    if id(value) in known:
        return known[id(value)][0]
    new = value
    match value:
        case np.ndarray() if (
            value.size and isinstance(value.base, np.ndarray) and value.base.base is None
        ):
            whole = sent(value.base, cupy, known)
            offset = value.ctypes.data - value.base.ctypes.data
            new = cupy.ndarray(value.shape, value.dtype, whole.data + offset, value.strides)
        case np.ndarray():
            new = cupy.asarray(value, order="K")
        case list():
            value[:] = [sent(one, cupy, known) for one in value]
        case dict():
            value.update({key: sent(one, cupy, known) for key, one in value.items()})
        case tuple() if any(isinstance(one, (np.ndarray, list, dict, tuple)) for one in value):
            new = tuple(sent(one, cupy, known) for one in value)
    known[id(value)] = new, value  # which keeps the id taken
    return new


def in_other_memory(value: Any, cupy: Any) -> Any:
    """The same arguments with gaps between the elements of arrays: other layouts, so another trace."""
    if not isinstance(value, cupy.ndarray) or not value.ndim:
        return value
    wide = cupy.zeros((*value.shape, 2), value.dtype)
    wide[..., 0] = value
    return wide[..., 0]


@functools.cache
def import_late_modules() -> None:
    """Import what CuPy imports in some first calls: SciPy changes the filters of warnings then."""
    for name in ("cupyx.scipy.sparse", "scipy.special"):
        if importlib.util.find_spec(name) is not None:
            importlib.import_module(name)


def compile_at_once(
    host: Any,
    function: Callable[..., Any],
    make_args: Make,
    reset: Callable[[], object] | None = None,
) -> None:
    """Compile the kernels of a program as one text, once: the host's compiler takes most of its time to begin.

    Kernels are not launched meanwhile, so what the program reads of the device is anything.
    """
    if not isinstance(host, Host):
        return
    code = function.__code__
    known = [one for one in code.co_consts if isinstance(one, str | int | float | tuple)]
    # The same for each version of Python: those that come later find the kernels compiled.
    name = build.key_of(function.__module__, code.co_qualname, str(code.co_names), str(known))
    done = build.CACHE / "gathered" / name
    if done.exists():
        return
    begin_anew = reset or (lambda: None)
    pool = host.cupy.get_default_memory_pool()
    pool.set_limit(MOST_MEMORY)
    compiled = ufuse.compile(function)
    with host.compiler.gathering(), failures_heard():
        for one, moved in itertools.product((function, compiled, compiled), (False, True)):
            begin_anew()
            with suppress(Exception, AlarmError), on_alarm(_stop), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
                given = make_args()
                one(*(in_other_memory(x, host.cupy) if moved else x for x in given))
    begin_anew()
    compiled.reset()
    pool.set_limit(0)
    pool.free_all_blocks()
    host.cupy.cuda.Stream.null.use()
    done.parent.mkdir(parents=True, exist_ok=True)
    done.touch()


def _stop(*_: object) -> None:
    raise AlarmError


def making(host: Any, function: Callable[..., Any], values: Mapping[str, Any]) -> Make:
    """What makes the arguments of a function, by their names; arrays are sent anew each time."""
    names = tuple(inspect.signature(function).parameters)

    def made() -> tuple[Any, ...]:
        given = [values[one] for one in names]
        return tuple(
            host.cupy.asarray(one) if isinstance(one, np.ndarray) else one for one in given
        )

    return made


def check_program(host: Any, function: Callable[..., Any], make_args: Make) -> set[str]:
    """Compare a program with eager CuPy; the codes of the reasons why its graphs end in its own file."""
    compile_at_once(host, function, make_args)
    check_restated(host, function, make_args)
    compiled = ufuse.compile(function)
    compiled.reset()
    for _ in range(3):
        compiled(*make_args())
    assert compiled.stats.hits
    file = function.__code__.co_filename
    return {one.code for one in compiled.breaks if one.file == file}


def check_restated(
    host: Any,
    function: Callable[..., Any],
    make_args: Make,
    waits_again: bool = False,
    **options: Any,
) -> Any:
    """Compare with eager CuPy: first and second call, after a retrace, and as at first; give what was compiled.

    The host waits no more often than with eager CuPy, but (`waits_again`) where that raises behind a wait.
    """
    cupy = host.cupy
    import_late_modules()

    def otherwise() -> tuple[Any, ...]:
        return tuple(in_other_memory(one, cupy) for one in make_args())

    def each_for_two_runs() -> Iterator[tuple[Any, ...]]:
        for make in (make_args, make_args, otherwise, make_args):
            yield make()
            yield make()

    compiled = ufuse.compile(function)
    rows = each_for_two_runs()
    with failures_heard() as said:
        check_same(
            function,
            compiled,
            lambda: next(rows),
            calls=4,
            modes=MODES[:1],
            copies=False,
            **options,
        )
    assert not said, said
    assert all(found.reason for found in compiled.breaks)
    if isinstance(host, Host) and not waits_again:
        plain, fast = (waits(host, one, make_args()) for one in (function, compiled))
        assert fast <= plain
    return compiled


def waits(host: Host, function: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """How often the host waits for the device in a call."""
    with host.device.counting() as counts, suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(*arguments)
    return int(counts["synchronize"])

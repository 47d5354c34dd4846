"""`ufuse.everywhere()`: inside a `with`, the functions that are called are compiled, none of them by hand."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any, Self

from ufuse.compiled import CompiledFunction
from ufuse.decorator import compiled_alone
from ufuse.diagnostics.program import ProgramReport
from ufuse.errors import UfuseError
from ufuse.explain import program_report
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.places import short_file
from ufuse.libraries import should_trace

Modules = str | ModuleType | Sequence[str | ModuleType]


class _Open(threading.local):
    """The blocks that are open in this thread, innermost last."""

    def __init__(self) -> None:
        self.blocks: list[Everywhere] = []


_open = _Open()


class Everywhere:
    """What `everywhere` returns: the context manager, and what became of the functions that were called in it."""

    def __init__(self, compiled: CompiledFunction) -> None:
        self._compiled = compiled
        self._place = "", 0
        self._began = 0.0
        self._seconds = 0.0

    def __repr__(self) -> str:
        state = "open" if self in _open.blocks else "not open"
        captured = len(self._compiled.__ufuse_session__.specialisations)
        return f"<block of everywhere(), {state}, {captured} captured>"

    def __enter__(self) -> Self:
        if self in _open.blocks:
            raise UfuseError("this block of everywhere() is open already: ask for another one")
        frame = sys._getframe(1)  # where the block stands
        self._place = frame.f_code.co_filename, frame.f_lineno
        self._began = time.perf_counter()
        _open.blocks.append(self)
        _hook.set_ambient(self._compiled.__ufuse_session__)
        return self

    def __exit__(self, *_: object) -> None:
        if self not in _open.blocks:
            raise UfuseError("a block of everywhere() has to be left in the thread that entered it")
        self._seconds += time.perf_counter() - self._began
        _open.blocks.remove(self)
        inner = _open.blocks[-1]._compiled.__ufuse_session__ if _open.blocks else None
        _hook.set_ambient(inner)

    def report(self) -> ProgramReport:
        """What was captured so far of functions called in blocks of these modules: prints, `save(path)`."""
        file, line = self._place
        name = f"The block at {short_file(file)}:{line}"
        return program_report(self._compiled, name, file, line, self._seconds)


def everywhere(include: Modules = (), exclude: Modules = ()) -> Everywhere:
    """Inside the `with`, functions that take arrays or have loops are compiled when they are called.

    For programs as they are: nothing has to be decorated. It holds for what this thread calls; the lines of the block
    itself run as plain Python. What is captured is kept for the next block with the same modules. Calls of Python
    functions that are not compiled take a tenth of a microsecond more, so let the block call what does the work.

    Args:
        include: only functions of these modules: names, or modules; of a package, of all that is in it. Left out:
            all but Python's own, NumPy's and CuPy's.
        exclude: not those of these.

    Returns:
        A context manager. Its `report()` says what became of the functions.

    Raises:
        TypeError: something is neither a name nor a module.
        ValueError: there is no such module, or it has no Python code.

    Example:
        >>> import numpy as np, ufuse
        >>> def total(x):
        ...     s = 0.0
        ...     for v in x:
        ...         s += v * v
        ...     return s
        >>> with ufuse.everywhere():
        ...     print(total(np.arange(4.0)))
        14.0

    """
    return Everywhere(_compiled_for(_folders("include", include), _folders("exclude", exclude)))


def _folders(argument: str, modules: Modules) -> tuple[str, ...]:
    """Where the code of modules is: files, and folders with a separator behind them."""
    given = [modules] if isinstance(modules, (str, ModuleType)) else modules
    if not isinstance(given, Sequence):
        raise TypeError(f"{argument} must be names of modules, or modules, not {modules!r}")
    return tuple(sorted({place for one in given for place in _places(argument, one)}))


def _places(argument: str, module: object) -> Iterator[str]:
    if isinstance(module, str):
        module = sys.modules.get(module) or _spec(argument, module)
    elif not isinstance(module, ModuleType):
        raise TypeError(f"{argument} must be names of modules, or modules, not {module!r}")
    folders = getattr(module, "__path__", None) or getattr(
        module, "submodule_search_locations", None
    )
    file = getattr(module, "__file__", None) or getattr(module, "origin", None)
    if folders:
        found = [str(folder) + os.sep for folder in folders]
    elif isinstance(file, str) and file.endswith(".py"):
        found = [file]
    elif getattr(module, "__name__", "") == "__main__":
        found = ["<"]  # typed in: `<stdin>`, `<string>`
    else:
        raise ValueError(f"{argument}: {module!r} has no Python code")
    for place in found:
        yield place
        yield os.path.realpath(place) + (os.sep if place.endswith(os.sep) else "")


def _spec(argument: str, name: str) -> object:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise ValueError(f"{argument}: there is no module {name!r}")
    return spec


@functools.lru_cache(maxsize=16)
def _compiled_for(include: tuple[str, ...], exclude: tuple[str, ...]) -> CompiledFunction:
    """A function whose session is given the frames of these places; it is never called."""
    compiled: CompiledFunction = compiled_alone(_block)
    compiled.__ufuse_session__.should_trace = _chosen(include, exclude)
    return compiled


def _chosen(include: tuple[str, ...], exclude: tuple[str, ...]) -> Callable[[CodeType], bool]:
    def is_chosen(code: CodeType) -> bool:
        file = code.co_filename
        if not should_trace(code) or any(map(file.startswith, exclude)):
            return False
        return not include or any(map(file.startswith, include))

    return is_chosen


def _block() -> Any:
    """The block of a `with`, which stands in a function of its own only for reports."""

"""Whether a program does the same compiled: the first calls, after other arguments, in every mode."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import logging
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ufuse
from tests.fuzz.generate import Program
from tests.fuzz.values import Given, made
from tests.support.compare import MODES, Difference, check_lifetimes, check_same
from ufuse.backends.numpy import BACKEND
from ufuse.backends.protocol import Options

NUMBER = itertools.count()


class Hot:
    """The NumPy backend with native code from the first call on."""

    name = "hot"

    def compile(self, graph: Any) -> Callable[..., object]:
        """The compiled graph."""
        return BACKEND.compile(graph, Options(hot=0))


def backend_named(name: str) -> Any:
    """A backend, or its name."""
    return Hot() if name == "hot" else name


class Heard(logging.Handler):
    """Keeps what ufuse says of its own failures."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(record.getMessage())


class World:
    """A program's module: its function, and the globals that it may change."""

    def __init__(self, source: str) -> None:
        number = next(NUMBER)
        self.file = f"<fuzzed {number}>"
        lines = source.splitlines(keepends=True)
        linecache.cache[self.file] = (len(source), None, lines, self.file)
        self.module = types.ModuleType(f"fuzzed{number}")
        sys.modules[self.module.__name__] = self.module  # where warnings are remembered
        exec(compile(source, self.file, "exec"), vars(self.module))

    @property
    def function(self) -> Any:
        """The program."""
        return self.module.program

    def reset(self) -> None:
        """Put the globals back."""
        self.module.SCALE = 2.0  # type: ignore[attr-defined]
        self.module.LOG.clear()
        self.module.TABLE.clear()
        self.module.TABLE.update(k=3.0, n=2)
        self.module.MEMORY = np.zeros(3)  # type: ignore[attr-defined]

    def state(self) -> tuple[Any, ...]:
        """The globals that the program may have changed."""
        module: Any = self.module
        return module.SCALE, list(module.LOG), dict(module.TABLE), module.MEMORY

    def forget(self) -> None:
        """Drop the source."""
        linecache.cache.pop(self.file, None)
        sys.modules.pop(self.module.__name__, None)


def difference(program: Program, backend: str = "numpy") -> str:
    """What the compiled program does otherwise; empty where nothing."""
    heard = Heard()
    log = logging.getLogger("ufuse")
    log.addHandler(heard)
    log.propagate = False
    try:
        found = _difference(program, backend)
    finally:
        log.removeHandler(heard)
    if heard.said:
        found += "\n" + heard.said[0]
    return found


def _difference(program: Program, backend: str) -> str:
    world = World(program.source)
    compiled = ufuse.compile(world.function, backend=backend_named(backend))
    modes = [MODES[0], *random.Random(program.seed).sample(MODES[1:], 2)]  # noqa: S311  not for secrets

    def kept(*arguments: Any) -> Any:
        """The compiled program without its `reset`."""
        return compiled(*arguments)

    def check(given: tuple[Given, ...], function: Any, chosen: Any, where: str) -> str:
        try:
            check_same(
                world.function,
                function,
                lambda: made(given),
                modes=chosen,
                state=world.state,
                reset=world.reset,
                copies=False,
            )
        except Difference as error:
            return "" if is_known(str(error)) else f"{where}, {error}"
        return ""

    try:
        found = check(program.sets[0], compiled, modes, "first arguments")
        for number, given in enumerate(program.sets[1:]):
            found = found or check(given, kept, modes[:1], f"then arguments {number + 1}")
            found = found or check(program.sets[0], kept, modes[:1], "the first arguments again")
        return found or lifetimes(program, world, compiled)
    finally:
        world.forget()


def is_known(found: str) -> bool:
    """Whether all that differs is told apart by CPython or NumPy themselves.

    CPython 3.11 names the line of an unbound local by how warm the code is. NumPy leaves its last
    call's floating-point status behind, and a call on constants alone may be left out.
    """
    lines = found.splitlines()[1:]
    unbound = sys.version_info < (3, 12)
    return all(
        (unbound and line.count("'builtins.UnboundLocalError'") == 2)
        or "after the call, floating-point status" in line
        for line in lines
    )


def lifetimes(program: Program, world: World, compiled: Any) -> str:
    """Whether arrays die when they should; only asked where the program raises nothing."""

    def run(function: Any) -> Any:
        def silent(*arguments: Any) -> Any:
            world.reset()
            with (
                np.errstate(all="ignore"),
                warnings.catch_warnings(),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                warnings.simplefilter("ignore")
                try:
                    return function(*arguments)
                except Exception:  # noqa: BLE001  a traceback would keep the arrays alive
                    return None

        return silent

    try:
        check_lifetimes(run(world.function), run(compiled), lambda: made(program.sets[0]))
    except Difference as error:
        return f"lifetimes: {error}"
    return ""

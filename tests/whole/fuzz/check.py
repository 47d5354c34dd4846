"""Whether a program does the same compiled: the first calls, after other arguments, in every mode."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import linecache
import logging
import random
import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

import ufuse
from tests.support.comparing.compare import MODES, Difference, Mode, check_lifetimes, check_same
from tests.support.nests.improved import Improved
from tests.whole.fuzz.values import Given, made
from ufuse.backends.numpy import BACKEND
from ufuse.backends.protocol import Options

NUMBER = itertools.count()
WARM = 30  # calls until CPython has made its code for what is there
NANS = re.compile(r"plain \S*\(?nan\)? \(\w+\), compiled \S*\(?nan\)? \(\w+\)")
DIED = r"\s*state\[6\]\[\d+\]: plain True, compiled False"  # see `PythonWorld.state`


class Hot:
    """The NumPy backend with native code from the first call on."""

    name = "hot"

    def compile(self, graph: Any) -> Callable[..., object]:
        """The compiled graph."""
        return BACKEND.compile(graph, Options(hot=0))


def backend_named(name: str) -> Any:
    """A backend, or its name."""
    own = {"hot": Hot, "improved": Improved}
    return own[name]() if name in own else name


class Heard(logging.Handler):
    """Keeps what ufuse says of its own failures."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.said.append(record.getMessage())


class Tried(Protocol):
    """A program of any kind: a module with a function `program`, and several sets of arguments."""

    @property
    def source(self) -> str:
        """The module as text."""

    @property
    def sets(self) -> tuple[tuple[Given, ...], ...]:
        """Arguments for several calls."""

    @property
    def seed(self) -> int:
        """What the program was made of."""


class World:
    """A program's module: its function, and the globals that it may change."""

    atoms = True  # whether it matters which of equal numbers and strings are one object
    shorter_lives = False  # whether arrays may die before those of plain Python, as frames of tracebacks lack locals
    is_brief = False  # whether a program is run a few times only: others like it run otherwise

    def __init__(self, source: str) -> None:
        number = next(NUMBER)
        self.file = f"<fuzzed {number}>"
        lines = source.splitlines(keepends=True)
        linecache.cache[self.file] = (len(source), None, lines, self.file)
        self.module: Any = types.ModuleType(f"fuzzed{number}")
        sys.modules[self.module.__name__] = self.module  # where warnings are remembered
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(source, self.file, "exec"), vars(self.module))

    def modes(self, seed: int) -> list[Mode]:
        """The treatments of warnings and errors that a program runs under; the first one with all arguments."""
        rng = random.Random(seed)  # noqa: S311  not for secrets
        if self.is_brief:
            return [rng.choice((MODES[0], *MODES))]
        return [MODES[0], *rng.sample(MODES[1:], 2)]

    @property
    def function(self) -> Any:
        """The program."""
        return self.module.program

    def reset(self) -> None:
        """Put the globals back."""
        self.module.SCALE = 2.0
        self.module.LOG.clear()
        self.module.TABLE.clear()
        self.module.TABLE.update(k=3.0, n=2)
        self.module.MEMORY = np.zeros(3)
        if hasattr(self.module, "RNG"):
            self.module.RNG.bit_generator.state = np.random.PCG64(3).state
            self.module.OLD.seed(4)

    def state(self) -> tuple[Any, ...]:
        """The globals that the program may have changed."""
        module = self.module
        drawn = (
            [repr(module.RNG.bit_generator.state), module.OLD.get_state()]
            if hasattr(module, "RNG")
            else []
        )
        return module.SCALE, list(module.LOG), dict(module.TABLE), module.MEMORY, *drawn

    def made(self, given: tuple[Given, ...]) -> tuple[Any, ...]:
        """Arguments for a call."""
        return made(given)

    def sequence(self, program: Tried, compiled: Any) -> str:
        """What differs in a row of calls between which nothing is put back; empty where nothing."""
        return ""

    @staticmethod
    def without_finalizers(source: str) -> str | None:
        """The program with finalizers that tell nothing, where exceptions may hold less than in plain Python."""
        return None

    def forget(self) -> None:
        """Drop the source."""
        linecache.cache.pop(self.file, None)
        sys.modules.pop(self.module.__name__, None)


def difference(program: Tried, backend: str = "numpy", world: type[World] = World) -> str:
    """What the compiled program does otherwise; empty where nothing."""
    heard = Heard()
    log = logging.getLogger("ufuse")
    log.addHandler(heard)
    log.propagate = False
    try:
        found = _difference(program, backend, world(program.source))
        quiet = world.without_finalizers(program.source) if found else None
        if quiet is not None and not _difference(program, backend, world(quiet)):
            found = ""
        unlike = found.splitlines()[1:]
        if unlike and all(map(NANS.search, unlike)) and wavers(program, world):
            found = ""
    finally:
        log.removeHandler(heard)
    if heard.said:
        found += "\n" + heard.said[0]
    return found


def wavers(program: Tried, world: type[World]) -> bool:
    """Whether plain Python itself gives NaNs of either sign: which of two floats a product keeps depends on its warmth."""
    return any(_wavers(program, world, given) for given in program.sets)


def _wavers(program: Tried, world: type[World], warming: tuple[Given, ...]) -> bool:
    warm = world(program.source)
    for _ in range(WARM):
        silent(warm, warm.function)(*warm.made(warming))
    return any(_signs_differ(warm, world(program.source), given) for given in program.sets)


def _signs_differ(warm: World, cold: World, given: tuple[Given, ...]) -> bool:
    try:
        check_same(
            silent(warm, warm.function),
            slowed(silent(cold, cold.function)),
            lambda: cold.made(given),
            calls=1,
            modes=MODES[:1],
            copies=False,
            atoms=False,
        )
    except Difference as error:
        return NANS.search(str(error)) is not None
    finally:
        cold.forget()
    return False


def slowed(function: Any) -> Callable[..., Any]:
    """The function under a trace function, for which CPython 3.11 does not use what it has made for floats."""

    def called(*arguments: Any) -> Any:
        def trace(*_: Any) -> Any:
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return function(*arguments)
        finally:
            sys.settrace(before)

    return called


def _difference(program: Tried, backend: str, world: World) -> str:
    compiled = ufuse.compile(world.function, backend=backend_named(backend))
    modes = world.modes(program.seed)
    kept, plain = without_reset(compiled), without_reset(world.function)

    def check(
        given: tuple[Given, ...], function: Any, chosen: Any, where: str, calls: int = 2
    ) -> str:
        try:
            check_same(
                plain if function is kept else world.function,
                function,
                lambda: world.made(given),
                calls=calls,
                modes=chosen,
                state=world.state,
                reset=world.reset,
                copies=False,
                atoms=world.atoms,
            )
        except Difference as error:
            return "" if is_known(str(error), world) else f"{where}, {error}"
        return ""

    try:
        found = check(program.sets[0], compiled, modes, "first arguments")
        for number, given in enumerate(program.sets[1:]):
            found = found or check(given, kept, modes[:1], f"then arguments {number + 1}")
            if not world.is_brief:
                found = found or check(
                    program.sets[0], kept, modes[:1], "the first arguments again"
                )
        if world.is_brief:
            found = found or check(program.sets[0], kept, modes[:1], "the first arguments again", 1)
        row = "" if found else world.sequence(program, compiled)
        found = found or ("" if is_known(row, world) else row)
        return found or lifetimes(program, world, compiled)
    finally:
        world.forget()


def without_reset(function: Any) -> Callable[..., Any]:
    """The function, called one frame further in, without its attribute `reset`."""

    @functools.wraps(function, updated=())
    def kept(*arguments: Any) -> Any:
        return function(*arguments)

    return kept


def is_known(found: str, world: World) -> bool:
    """Whether all that differs is told apart by CPython or NumPy themselves, or is in docs/differences.md.

    CPython 3.11 names the line of an unbound local by how warm the code is; of two NaNs the one that a sum of
    its floats keeps depends on that, too. NumPy leaves its last
    call's floating-point status behind, and a call on constants alone may be left out. What only a
    cycle keeps alive that nobody sees dies at once, as the cycle is not made.
    """
    lines = found.splitlines()[1:]
    unbound = sys.version_info < (3, 12)
    return all(
        (unbound and line.count("'builtins.UnboundLocalError'") == 2)
        or "after the call, floating-point status" in line
        or line.endswith(": plain nan, compiled nan")
        or (world.shorter_lives and re.fullmatch(DIED, line))
        for line in lines
    )


def silent(world: World, function: Any) -> Callable[..., Any]:
    """The function, which begins with the globals as they were, and neither warns, prints nor raises."""

    def called(*arguments: Any) -> Any:
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

    return called


def lifetimes(program: Tried, world: World, compiled: Any) -> str:
    """Whether arrays die when they should; only asked where the program raises nothing."""
    try:
        check_lifetimes(
            silent(world, world.function),
            silent(world, compiled),
            lambda: world.made(program.sets[0]),
            shorter=world.shorter_lives,
        )
    except Difference as error:
        return f"lifetimes: {error}"
    return ""

"""What the tests of the C layer share: a session that does as the test says, entries, and programs that suspend."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, PYI036, C416
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import gc
import itertools
import sys
import types
from collections.abc import Callable
from typing import Any, Self

from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import resume
from ufuse.frame_hook.code.stops import stops_after, why_not_stop

NULL = _hook.NULL
K = types.SimpleNamespace(**_hook.GUARD_KINDS)
FEW_BLOCKS = 10  # of memory: nothing that happens each time leaves so few


class Session:
    """A session whose answers are given by the test; it keeps what it was asked."""

    def __init__(self) -> None:
        self.notify_eager = True
        self.measures = False
        self.decisions: list[tuple[list[int] | None, str]] = []
        self.asked: list[tuple[str, int]] = []
        self.seen: list[str] = []
        self.eager: list[Any] = []
        self.errors: list[BaseException] = []
        self.caches: dict[int, Any] = {}
        self.stops: dict[int, frozenset[int]] = {}
        self.answer: Callable[..., Any] = lambda *_: None
        self.takes: Callable[[types.CodeType], bool] = lambda _code: False
        self.user_error: tuple[type[BaseException], ...] = ()

    def capture(self, cache: Any, position: int, function: Any, state: tuple[Any, ...]) -> Any:
        """Ask the test."""
        self.asked.append((function.__name__, position))
        return self.answer(cache, position, function, state)

    def resume_code(self, cache: Any, position: int) -> types.CodeType:
        """The user's code from `position` to the stops the test chose, or to the next ones."""
        code = cache.code
        stops = self.stops.get(id(code))
        if stops is None:
            stops = stops_after(code, position, frozenset())
        return resume.resume_code(
            code, position, stops, restore=_hook.restore, suspend=_hook.suspend
        )

    def cache_for(self, code: types.CodeType) -> Any:
        """A cache for the code the test wants taken."""
        self.seen.append(code.co_name)
        if not self.takes(code):
            return None
        return self.caches.setdefault(id(code), _hook.CodeCache(code, self))

    def eager_run(self, cache: Any, position: int, entry: Any) -> None:
        """Count."""
        self.eager.append((position, entry))

    def decided(
        self,
        _cache: Any,
        positions: list[int] | None,
        way: str,
        compiled: int,
        plain: int,
        is_cut: bool,
        _trial: int,
    ) -> bool:
        """Keep."""
        assert compiled > 0 <= plain
        assert not is_cut or way == "compiled"
        self.decisions.append((positions, way))
        return False

    def larger(self, cache: Any) -> None:
        """Keep."""
        self.asked.append((cache.code.co_name, -1))

    def internal_error(self, error: BaseException) -> None:
        """Keep."""
        self.errors.append(error)

    def is_user_error(self, error: BaseException) -> bool:
        """Whatever the test says."""
        return isinstance(error, self.user_error)


def entry(
    guards: Any = (),
    inputs: Any = (),
    artefact: Any = None,
    outputs: int = 0,
    recipe: Any = (),
    ending: Any = ("return", 0),
) -> Any:
    """Make an entry with the usual parts left out."""
    return _hook.Entry(guards, inputs, artefact, outputs, recipe, ending)


def dispatcher(function: Any, session: Any, *entries: Any) -> Any:
    """Make a dispatcher with entries for the function's start, first one first."""
    made = _hook.Dispatcher(function, session)
    for each in reversed(entries):
        made.__ufuse_cache__.add(0, each)
    return made


def stop_everywhere(session: Session, function: Any) -> Any:
    """A dispatcher that enters resume code at once and then suspends wherever it can."""
    code = function.__code__
    positions = range(len(code.co_code) // 2)
    stops = frozenset(p for p in positions if why_not_stop(code, p) is None)
    session.stops[id(code)] = stops
    session.notify_eager = False  # `once` declines every second time
    size = len({*code.co_varnames, *code.co_cellvars}) + len(code.co_freevars)
    compiled = _hook.Dispatcher(function, session)
    compiled.__ufuse_cache__.add(0, once(size))
    compiled.__ufuse_cache__.give_up(0)
    return compiled


def once(size: int, *registers: int) -> Any:
    """An entry for a function's start that goes on there in resume code; every second time it declines."""
    turns = itertools.cycle((None, NotImplemented)).__next__  # in C, where no signal comes between
    return entry((), (), turns, 0, ending=("resume", 0, registers or tuple(range(size))))


def looping(n, scale=2):
    total = []
    for i in range(n):
        if i % 2:
            continue
        total.append(i * scale)
    return total


def handling(values):
    log = []
    for value in values:
        try:
            log.append(10 // value)
        except ZeroDivisionError as error:
            log.append(str(error))
        else:
            log.append("fine")
        finally:
            log.append("end")
    return log


def unbinding(a):
    b = a
    del a
    try:
        a  # noqa: F821
    except UnboundLocalError as error:
        return b, str(error)
    return None


def with_cells(a, *rest):
    def inner(x):
        nonlocal total  # type: ignore[misc]
        total += x + a
        return total

    total = 0
    for each in rest:
        inner(each)
    a += 1
    return total, inner(1), a


def nested(m):
    return [[(i, j) for j in range(i)] for i in range(m)], {
        k: v for k, v in zip("ab", range(m), strict=False)
    }


class Manager:
    """A context manager that keeps what happens."""

    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def __enter__(self) -> Self:
        self.log.append("enter")
        return self

    def __exit__(self, kind: Any, *_: object) -> bool:
        self.log.append(kind)
        return True


def managing(log):
    with Manager(log) as manager:
        log.append(manager is not None)
        with Manager(log):
            raise KeyError
        log.append("after")
    return log


def calling(f, xs):
    return max(f(*xs, key=abs), f(xs, default=-1) if xs else 0, len(str(xs)) + xs[0] * 2)


PROGRAMS = [
    (looping, (7,)), (handling, ([1, 0, 2],)), (unbinding, (3,)), (with_cells, (1, 2, 3)), (nested, (4,)),
    (managing, ([],)), (calling, (max, [3, -9, 4])),
]  # fmt: skip


def growth(action: Callable[[], Any], count: int) -> int:
    """Count the blocks `count` actions leave behind: the least of some times, as a thread of a test before may work."""
    for _ in range(200):
        action()
    least = count
    for _ in range(3):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(count):
            action()
        gc.collect()
        least = min(least, sys.getallocatedblocks() - before)
        if least < FEW_BLOCKS:
            break
    return least


def callee(x, y=1):
    """What programs call to be caught."""
    return x + y

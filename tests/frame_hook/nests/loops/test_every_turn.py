"""A warning, an error or an interrupt in any turn of a native loop leaves memory and variables as plain Python does."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.nests import odd_turns
from tests.support.nests.improved import Improved
from tests.support.nests.native_loops import loops_of
from tests.support.nests.odd_turns import PROGRAMS, TURNS, arguments_of, counting, elements, inner
from ufuse import decorator

pytest.importorskip("llvmlite")

LATENCY = 0.1  # seconds
# All of the first and last turns, and every fifth between.
ODD = (*range(25), *range(25, TURNS - 25, 5), *range(TURNS - 25, TURNS))


def interrupted(*_: Any, **__: Any) -> None:
    """Stands for the printing of a warning while Ctrl-C is pressed."""
    raise KeyboardInterrupt


def outcome(function: Callable[..., Any], turn: int, what: str) -> list[Any]:
    """All that a call gives, changes, warns of and leaves behind."""
    arguments = arguments_of(turn, what)
    found: list[Any] = []
    with warnings.catch_warnings(record=True) as heard, np.errstate(all="warn"):
        warnings.simplefilter("always")
        if what == "interrupt":
            warnings.showwarning = interrupted
        try:
            found.append(described(function(*arguments)))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  compared
            found.append((type(error), str(error)))
            for frame, line in traceback.walk_tb(error.__traceback__):
                if frame.f_code.co_filename == odd_turns.__file__ and frame.f_code.co_name in NAMES:
                    found.append((line, described(frame.f_locals)))
    found.append([(one.category, str(one.message), one.lineno) for one in heard])
    return [*found, described(arguments)]


NAMES = {function.__name__ for function in PROGRAMS}


def described(value: Any) -> Any:
    """A value as one that can be compared, to the bit."""
    if isinstance(value, dict):
        return {name: described(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(described, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.strides, value.tobytes()
    return type(value), repr(value)


BACKENDS = {"own": "numpy", "improved": Improved()}
# Every pair of a program and what happens, and either with both backends: a half of all three together.
PAIRS = [
    pytest.param(function, what, BACKENDS[name], id=f"{function.__name__}-{what}-{name}")
    for number, function in enumerate(PROGRAMS)
    for place, what in enumerate(("warning", "error", "interrupt"))
    for name in [tuple(BACKENDS)[(number + place) % 2]]
]


@pytest.mark.any_python
@pytest.mark.parametrize(("function", "what", "backend"), PAIRS)
def test_every_turn(function, what, backend) -> None:
    """The odd turn is in another place in each call; with a nest's first code, and with its better one."""
    compiled = ufuse.compile(function, backend=backend)
    native = 0
    for number, turn in enumerate(ODD):
        if number % 4 == 0:  # a loop that is odd in each call is left to plain Python after a while
            native += sum(loop.turns for loop in loops_of(compiled))
            compiled.reset()
            outcome(compiled, TURNS // 2, what)
        plain, other = outcome(function, turn, what), outcome(compiled, turn, what)
        assert plain == other, f"turn {turn}"
    # Else plain Python does all, from the first turn on, or from the odd one.
    if (what != "interrupt" or function is elements) and (function, what) != (inner, "warning"):
        assert native > len(ODD) * TURNS / 3


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loops are compiled without being timed first, and Ctrl-C is heard as ever."""
    monkeypatch.setattr(decorator, "MEASURING", False)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # errors are plain Python's from the start
        yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def shifting(x, n):
    for i in range(n):
        x[1:] = x[:-1] * 0.5
        x[0] = i
    return x


def turning(x, n):
    y = x.copy()
    for i in range(n):
        y[1:] = x[:-1] * 0.5
        y[0] = i
        x, y = y, x
    return x


def taking(x, n):
    for i in range(n):
        t = x * 0.5
        x[1:] = t[:-1]
        x[0] = i
    return t


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("function", [counting, shifting, turning, taking])
def test_ctrl_c_is_answered_soon(function) -> None:
    """Within a tenth of a second, between two turns or in a plain one; memory is that of the turn that the frame shows."""
    compiled = ufuse.compile(function)
    compiled(np.zeros(40), 1000)
    least = np.inf
    for wait in (0.05, 0.013, 0.021, 0.034, 0.055):
        x = np.zeros(40)
        signal.setitimer(signal.ITIMER_REAL, wait)
        due = time.perf_counter() + wait
        with pytest.raises(KeyboardInterrupt) as caught:
            compiled(x, 10**9)
        least = min(least, time.perf_counter() - due)
        frames = [one for one, _ in traceback.walk_tb(caught.tb) if one.f_code is function.__code__]
        found = frames[0].f_locals if frames else {}
        if "i" in found:
            check_state(function, found["i"], found["x"])
    assert least < LATENCY


SENDER = """
import os, sys, time
sys.stdin.readline()
time.sleep(0.05)
print(time.perf_counter(), flush=True)
os.kill(int(sys.argv[1]), int(sys.argv[2]))
"""


def sent_by_thread() -> tuple[Callable[[], object], Callable[[], float]]:
    """What has a thread send the signal soon; what gives the time at which it did."""
    sent: list[float] = []
    asked = threading.Event()

    def send() -> None:
        asked.wait()
        time.sleep(0.05)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGALRM)

    def when() -> float:
        thread.join()
        return sent[0]

    thread = threading.Thread(target=send)
    thread.start()
    return asked.set, when


def sent_by_process() -> tuple[Callable[[], object], Callable[[], float]]:
    """Another process does."""
    child = subprocess.Popen(
        [sys.executable, "-c", SENDER, str(os.getpid()), str(int(signal.SIGALRM))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    assert child.stdin is not None
    ask = partial(child.stdin.write, "now\n")
    return ask, lambda: float(child.communicate()[0])


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("backend", ["numpy", Improved()], ids=["own", "improved"])
@pytest.mark.parametrize("sender", [sent_by_thread, sent_by_process])
def test_signals_of_others_are_answered_soon(sender, backend) -> None:
    """A thread gets its turn to send one, too."""
    compiled = ufuse.compile(counting, backend=backend)
    compiled(np.zeros(40), 1000)
    least = np.inf
    for _ in range(3):
        ask, when = sender()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  the signal may come at once
            ask()
            compiled(np.zeros(40), 10**11)
        least = min(least, time.perf_counter() - when())
    assert least < LATENCY


def check_state(function: Callable[..., Any], turn: int, x: Any) -> None:
    """Compare memory with that of a plain run: before a turn, in its middle, or after it."""
    plain = np.zeros(40)
    states = []
    for i in range(max(0, turn - 60), turn + 1):  # what was before has left the array
        states.append(plain.copy())
        if function is not counting:
            plain[1:] = plain[:-1] * 0.5
        states.append(plain.copy())
        plain[0] = i
    states.append(plain)
    assert any(x.tobytes() == one.tobytes() for one in states[-3:])


@pytest.mark.usefixtures("_at_once")
def test_code_does_not_depend_on_how_many_turns_there_are() -> None:
    """The nest of a thousand turns does ten million."""
    compiled = ufuse.compile(counting)
    for n in (1000, 1000, 10**6, 10**7):
        assert compiled(np.zeros(3), n) == (n * (n - 1) // 2) & 0xFFFFFF
    known = compiled.__ufuse_session__.specialisations
    assert sum(one.nest is not None for one in known) == 1

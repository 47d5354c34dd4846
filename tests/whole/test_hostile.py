"""Compiled functions in hostile surroundings: debuggers, signals, threads, forks, deep stacks, collections, exits."""

from __future__ import annotations

import _thread
import contextlib
import dis
import gc
import importlib
import io
import itertools
import os
import pdb  # noqa: T100  a debugger is the subject
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import ufuse
from tests.support.alarms import on_alarm, raises_whenever
from tests.support.frames.pieces import in_pieces

X = np.arange(4.0)
COMPILERS: list[Callable[[Any], Any]] = [ufuse.compile, lambda f: in_pieces(f, 1, 0, "numpy")]
both_ways = pytest.mark.parametrize("compiler", COMPILERS, ids=["whole", "pieces"])


@pytest.fixture(autouse=True)
def nothing_fails_inside(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A failure of ours is survived and logged: here it fails the test."""
    yield
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """Also where the tests run in the background of a shell, which makes its children ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def steps(x: Any, log: list[Any]) -> Any:
    """A function with a graph, something that no graph can do, a handler, and another graph."""
    y = x * 2 + 1
    log.append(str(memoryview(y).nbytes))
    try:
        total = y.sum() / log.index("none")
    except ValueError:
        total = y.max()
    return np.sqrt(y) + total


def expected() -> tuple[list[float], list[Any]]:
    """What `steps` gives and logs."""
    log: list[Any] = []
    return steps(X, log).tolist(), log


def check(compiled: Any) -> None:
    """Compare one call with plain Python."""
    log: list[Any] = []
    assert (compiled(X, log).tolist(), log) == expected()


# ---- tracers and debuggers ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def installed(install: Callable[[Any], object], watcher: Any, before: Any) -> Iterator[None]:
    """A trace or profile function for a while."""
    install(watcher)
    try:
        yield
    finally:
        install(before)


TRACERS = [(sys.settrace, sys.gettrace), (sys.setprofile, sys.getprofile)]
every_tracer = pytest.mark.parametrize(("install", "current"), TRACERS, ids=["trace", "profile"])


@both_ways
@every_tracer
def test_under_a_tracer(compiler: Any, install: Any, current: Any) -> None:
    """A tracer or profiler, before the first call or between calls, changes nothing and is still there afterwards."""
    seen: set[str] = set()

    def watcher(frame: FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes = True
        seen.add(f"{frame.f_code.co_name} {event}")
        return watcher

    compiled = compiler(steps)
    for _ in range(3):
        with installed(install, watcher, current()):
            check(compiled)
            assert current() is watcher
        check(compiled)
    assert "check call" in seen or "expected call" in seen
    assert not [name for name in seen if name.startswith(("capture ", "run_root ", "step "))]


@both_ways
@every_tracer
def test_a_tracer_that_raises(compiler: Any, install: Any, current: Any) -> None:
    """What a tracer raises comes out of the call where it was raised, and the next call is as ever."""

    class StoppedError(Exception):
        pass

    compiled = compiler(steps)
    check(compiled)
    for wanted in ("line", "return", "opcode", "c_call", "exception"):
        watcher = stopping(wanted, StoppedError)
        with contextlib.suppress(StoppedError), installed(install, watcher, current()):
            compiled(X, [])
        check(compiled)


def stopping(wanted: str, error: type[Exception]) -> Any:
    """A tracer that raises at the third event of a kind in `steps`."""
    counter = itertools.count()

    def watcher(frame: FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes = True
        if event == wanted and frame.f_code.co_name == "steps" and next(counter) == 2:
            raise error
        return watcher

    return watcher


@both_ways
def test_a_tracer_that_calls_compiled_functions(compiler: Any) -> None:
    """A trace function may call the function that is being traced, compiled too."""
    compiled, results = compiler(steps), []

    def watcher(frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and len(results) < 5:
            results.append(compiled(X, []).tolist())
        return watcher

    with installed(sys.settrace, watcher, sys.gettrace()):
        check(compiled)
    check(compiled)
    assert all(result == expected()[0] for result in results)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
@both_ways
def test_under_monitoring(compiler: Any) -> None:
    """All events of `sys.monitoring` for everything, and some for the function's own code, change nothing."""
    monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    seen: set[CodeType] = set()
    names = [name for name in vars(monitoring.events) if name.isupper() and name != "NO_EVENTS"]
    tool = monitoring.PROFILER_ID
    before = monitoring.get_tool(tool)
    if before is not None:
        pytest.skip(f"{before} is there already")
    monitoring.use_tool_id(tool, "hostile")
    compiled = compiler(steps)
    try:
        events = 0
        for name in names:
            event = getattr(monitoring.events, name)
            monitoring.register_callback(tool, event, lambda code, *_: seen.add(code))
            events |= event if name not in {"C_RETURN", "C_RAISE", "BRANCH"} else 0
        monitoring.set_events(tool, events)
        check(compiled)
        check(compiled)
        monitoring.set_events(tool, 0)
        check(compiled)
        monitoring.set_local_events(tool, steps.__code__, monitoring.events.LINE)
        check(compiled)
        monitoring.set_local_events(tool, steps.__code__, 0)
    finally:
        monitoring.set_events(tool, 0)
        for name in names:
            monitoring.register_callback(tool, getattr(monitoring.events, name), None)
        monitoring.free_tool_id(tool)
    check(compiled)
    assert steps.__code__ in seen
    assert not [code for code in seen if code.co_filename.endswith(("interpret.py", "session.py"))]


@both_ways
def test_stepping_with_a_debugger(compiler: Any) -> None:
    """A debugger that stops at a breakpoint inside, looks around, steps and goes on changes nothing."""
    compiled, out = compiler(steps), io.StringIO()
    check(compiled)
    line = steps.__code__.co_firstlineno + 3
    commands = (
        f"b {__file__}:{line}\nc\nn\ns\ns\nw\nu\nd\nr\nn\ncl {__file__}:{line}\n" + "c\n" * 40
    )
    debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=out, nosigint=True, readrc=False)
    before = sys.gettrace()
    log: list[Any] = []
    try:
        result = debugger.runcall(compiled, X, log)
    finally:
        sys.settrace(before)
    assert (result.tolist(), log) == expected()
    assert f"test_hostile.py({line})steps()" in out.getvalue()
    check(compiled)


@both_ways
def test_breakpoint_inside(compiler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`breakpoint()` in a compiled function stops there, and sees its locals."""
    seen = []

    def hook() -> None:
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_name, sorted(frame.f_locals)))

    def asks(x: Any) -> Any:
        y = x + 1
        breakpoint()  # noqa: T100
        return y * 2

    monkeypatch.setattr(sys, "breakpointhook", hook)
    compiled = compiler(asks)
    for _ in range(3):
        assert compiled(X).tolist() == asks(X).tolist()
    assert seen == [("asks", ["x", "y"])] * 6


@both_ways
def test_the_stack_is_walked_from_inside(compiler: Any) -> None:
    """A function that keeps its own frame while it goes on stays in it: lines and locals are those of plain Python."""

    def walks(x: Any) -> Any:
        y = x + 1
        stack = traceback.StackSummary.extract(
            traceback.walk_stack(None), limit=1, capture_locals=True
        )
        return y, [(summary.name, summary.lineno, summary.locals) for summary in stack]

    compiled = compiler(walks)
    for _ in range(3):
        assert repr(compiled(X)) == repr(walks(X))


# ---- signals, threads, forks -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_collections")
@both_ways
def test_interrupts_in_mid_call(compiler: Any) -> None:
    """Ctrl-C in a compiled function is raised in it, runs its `finally`, and leaves the next call whole."""

    def interrupted(x: Any, log: list[str]) -> Any:
        y = x + 1
        try:
            _thread.interrupt_main()
            for _ in range(1000):
                y = y + x
        finally:
            log.append("finally")
        return y

    compiled = compiler(interrupted)
    for _ in range(4):
        log: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            compiled(X, log)
        assert log == ["finally"]


@pytest.mark.usefixtures("no_collections")
def test_interrupts_from_a_timer_while_compiling() -> None:
    """Interrupts that come at any moment of the first calls are raised in the caller, and nothing is half done."""
    for delay in np.linspace(1e-4, 2e-2, 25):
        compiled = ufuse.compile(steps)
        timer = threading.Timer(float(delay), _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt):
            call_until_interrupted(compiled, timer)
        timer.join()
        check(compiled)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
@pytest.mark.usefixtures("no_collections")
def test_signal_handlers_that_raise_while_compiling() -> None:
    """What a handler raises reaches the caller, whenever the signal comes: it is no failure of ours."""
    raises_whenever(np.linspace(1e-4, 2e-2, 40).tolist(), calls_for_a_while)


def locals_of_caller(_: object = None) -> dict[str, object]:
    """The locals of whoever calls, as its frame object tells them."""
    return dict(sys._getframe(1).f_locals)


def test_locals_of_stopped_frames_with_free_variables_are_read() -> None:
    """Whoever holds the frame object of a part that has ended may read its locals, free variables among them."""
    offset = 1
    held: list[FrameType] = []

    def function(x: Any) -> Any:
        y = x + offset
        try:
            {}["missing"]
        except KeyError:
            _, _, trace = sys.exc_info()
            held.extend(frame for frame, _ in traceback.walk_tb(trace))
            _ = held[-1].f_locals
        seen.append(locals_of_caller()["offset"])
        return y * offset

    seen: list[object] = []
    compiled = ufuse.compile(function)
    for _ in range(3):
        compiled(X)
    assert seen == [1, 1, 1]
    assert [frame.f_locals["offset"] for frame in held] == [1, 1, 1]


def evaluated(text: str, depth: int = 1) -> Any:
    """Compute an expression over the locals of a caller, as numexpr and pandas do."""
    frame = sys._getframe(depth)
    return eval(text, frame.f_globals, dict(frame.f_locals))  # noqa: S307


def evaluated_further_out(text: str) -> Any:
    """The same from one function further in."""
    return evaluated(text, 2)


def test_callees_find_the_locals_of_their_callers() -> None:
    """What calls such a function keeps locals that nothing but the text of an expression names."""

    def direct(x: Any) -> Any:
        b, c = x * 2, np.sqrt(x)  # noqa: F841
        return evaluated("b + c")

    def behind_a_break(x: Any, log: list[str]) -> Any:
        b = x * 2
        log.append(repr(b))
        c = b + 1  # noqa: F841
        return evaluated_further_out("b * c")

    def inside(x: Any) -> Any:
        y = x + 1
        return direct(y) + evaluated("y")

    def in_a_loop(x: Any) -> Any:
        results = []
        for n in range(4):
            y = x * n  # noqa: F841
            results.append(evaluated("y - n"))
        return results

    for plain in (direct, lambda x: behind_a_break(x, []), inside, in_a_loop):
        compiled = ufuse.compile(plain)
        for x in (X, X, X.astype("f4"), X):
            assert repr(compiled(x)) == repr(plain(x))


def test_profilers_read_the_free_variables_of_frames_that_go_on() -> None:
    """A profiler hears of the call before the frame has got its state back."""
    offset, seen = 1, []

    def function(x: Any) -> Any:
        y = x + offset
        locals_of_caller()
        return y * offset

    def profiler(frame: FrameType, event: str, _: object) -> None:
        if frame.f_code.co_name == "function":
            seen.append((event, frame.f_locals["offset"]))

    compiled = ufuse.compile(function)
    compiled(X)
    sys.setprofile(profiler)
    try:
        compiled(X)
    finally:
        sys.setprofile(None)
    assert {("call", 1), ("return", 1)} <= set(seen)


def test_threads_get_their_turn_in_loops_that_stay_compiled() -> None:
    """A loop that only another thread can end ends: nobody keeps the interpreter for himself."""

    def function(x: Any, end: list[int]) -> Any:
        y = x + 1
        while not end:
            y = x + 1
        return y

    compiled, end = ufuse.compile(function), []
    timer = threading.Timer(0.05, end.append, (1,))
    timer.start()
    assert compiled(X, end).tolist() == (X + 1).tolist()
    timer.join()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
def test_signals_are_seen_in_loops_that_stay_compiled() -> None:
    """A handler is called with the frame of the loop, and what it raises is raised inside."""

    class TimeIsOverError(Exception):
        """Raised by the handler."""

    def handler(_: int, frame: FrameType | None) -> None:
        assert frame is not None
        names.append(frame.f_code.co_name)
        raise TimeIsOverError

    def function(x: Any, log: list[str]) -> None:
        y = x
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                while y[0] < 10:
                    y = x + 1
            finally:
                log.append("finally")

    names: list[str] = []
    compiled = ufuse.compile(function)
    with on_alarm(handler):
        while len(names) < 3 or (names[-1] != "function" and len(names) < 40):  # it may be traced
            log: list[str] = []
            with pytest.raises(TimeIsOverError) as caught:
                compiled(X, log)
            assert log == ["finally"] or is_unprotected_jump(caught.traceback[1])
            assert caught.traceback[1].name == "function"
    assert names[-1] == "function"


def is_unprotected_jump(entry: Any) -> bool:
    """Whether a handler raised in a loop's jump back, which CPython 3.13 leaves out of the `try` that is around it."""
    code, last = entry.frame.code.raw, entry._rawentry.tb_lasti
    jump = next(one for one in dis.get_instructions(code) if one.offset == last)
    is_left_out = not any(  # by the table of exceptions
        one.start <= last < one.end for one in dis._parse_exception_table(code)
    )
    return jump.opname.startswith("JUMP_BACKWARD") and is_left_out


def calls_for_a_while() -> None:
    """Compile again and again for at most 20 seconds, in which a signal is to come."""
    over = time.monotonic() + 20
    while time.monotonic() < over:
        compiled = ufuse.compile(steps)
        compiled(X, [])
        compiled(X, [])


def call_until_interrupted(compiled: Any, timer: threading.Timer) -> None:
    """Call for at most 20 seconds, in which something is to happen."""
    over = time.monotonic() + 20
    timer.start()
    while time.monotonic() < over:
        compiled(X, [])


@both_ways
def test_threads_that_compile_one_function_at_once(compiler: Any) -> None:
    """Threads that all come first, with arguments of other types, each get what plain Python gives."""
    kinds = [X, X.astype("f4"), np.arange(4), X.reshape(2, 2), X.astype(complex), 3 * X[::2]]
    interval, wrong = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            compiled, barrier = compiler(steps), threading.Barrier(len(kinds))

            def work(x: Any, compiled: Any = compiled, barrier: Any = barrier) -> None:
                barrier.wait()
                for _ in range(8):
                    if compiled(x, []).tolist() != steps(x, []).tolist():
                        wrong.append(x)

            threads = [threading.Thread(target=work, args=(kind,)) for kind in kinds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def exit_code_of_child(child: Callable[[], object]) -> int:
    """Fork; run something in the child, which then exits."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            child()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@both_ways
def test_fork(compiler: Any) -> None:
    """Functions compiled before a fork run in the child, which compiles new ones, too."""
    compiled = compiler(steps)
    check(compiled)
    assert exit_code_of_child(lambda: check(compiled)) == 0
    assert exit_code_of_child(lambda: check(compiler(steps))) == 0
    check(compiled)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@both_ways
def test_fork_inside(compiler: Any) -> None:
    """A compiled function that forks goes on in both processes."""

    def forks(x: Any) -> Any:
        y = x * 3
        process = os.fork()
        z = np.sqrt(y) + 1
        if process == 0:
            os._exit(int(z.tolist() == (np.sqrt(x * 3) + 1).tolist()) + 40)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), z.tolist()

    compiled = compiler(forks)
    for _ in range(3):
        assert compiled(X) == (41, (np.sqrt(X * 3) + 1).tolist())


# ---- deep stacks, collections, exits -----------------------------------------------------------------------------


@both_ways
def test_recursion_to_the_limit(compiler: Any) -> None:
    """A recursive compiled function fails as deep as the plain one, and works as ever afterwards."""

    def deeper(x: Any, depth: list[int]) -> Any:
        depth[0] += 1
        memoryview(x)
        return deeper(x, depth) + 1

    def depth_of(function: Any) -> int:
        depth = [0]
        with pytest.raises(RecursionError):
            function(X, depth)
        return depth[0]

    plain = depth_of(deeper)
    compiled = compiler(deeper)
    assert [abs(depth_of(compiled) - plain) <= 1 for _ in range(3)] == [True] * 3
    check(compiler(steps))


@both_ways
def test_first_call_close_to_the_limit(compiler: Any) -> None:
    """A function that is compiled where plain Python still fits, but a compiler would not, gives what it should."""

    def down(n: int, function: Any) -> Any:
        return function(X, []).tolist() if n == 0 else down(n - 1, function)

    def deepest(function: Any) -> int:
        for n in range(sys.getrecursionlimit(), 0, -1):
            with contextlib.suppress(RecursionError):
                down(n, function)
                return n
        raise AssertionError

    most = deepest(steps) - 2  # Python itself counts a call of C less when it has done it often
    for n in (most, most - 1, most - 20):
        compiled = compiler(steps)
        for _ in range(3):
            assert down(n, compiled) == expected()[0]


@both_ways
def test_collections_at_every_moment(compiler: Any) -> None:
    """A garbage collection at every allocation, with a callback that calls compiled functions, harms nothing."""
    compiled, other, calls = compiler(steps), ufuse.compile(steps), []

    def callback(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and len(calls) < 200:
            calls.append(other(X, []).tolist())

    threshold = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(3):
            check(compiled)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(callback)
    assert calls
    assert all(result == expected()[0] for result in calls)


class Noticed:
    """A piece of garbage in a cycle, that writes down which functions are running when it is collected."""

    def __init__(self, seen: list[set[str]]) -> None:
        self.myself, self.seen = self, seen

    def __del__(self) -> None:
        frame: FrameType | None = sys._getframe()
        names = set()
        while frame is not None:
            names.add(frame.f_code.co_qualname)
            frame = frame.f_back
        self.seen.append(names)


@both_ways
def test_nothing_is_collected_while_we_trace(compiler: Any) -> None:
    """Finalizers of the user's run before or after a trace, never in it; and collections go on afterwards."""
    seen: list[set[str]] = []
    threshold = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(20):
            Noticed(seen)
            check(compiler(steps))
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert len(seen) == 20
    assert not [names for names in seen if "Session.capture" in names]


def test_the_collector_can_be_switched_off_while_others_trace() -> None:
    """What one thread says to the collector stays said while another is compiling."""
    is_over, changed = threading.Event(), []

    def switch() -> None:
        while not is_over.is_set():
            gc.disable()
            time.sleep(0.0005)
            changed.append(gc.isenabled())
            gc.enable()
            time.sleep(0.0005)
            changed.append(not gc.isenabled())

    thread = threading.Thread(target=switch)
    thread.start()
    try:
        for _ in range(60):
            check(ufuse.compile(steps))
    finally:
        is_over.set()
        thread.join()
    assert changed
    assert not any(changed)


@both_ways
def test_exit_inside(compiler: Any) -> None:
    """`sys.exit` in a compiled function raises SystemExit with its code, through its handlers."""

    def leaves(x: Any, log: list[Any]) -> None:
        y = x + 1
        try:
            sys.exit(int(y[0]) + 6)
        except Exception:  # noqa: BLE001
            log.append("wrong")
        finally:
            log.append(y.tolist())

    compiled = compiler(leaves)
    for _ in range(3):
        log: list[Any] = []
        with pytest.raises(SystemExit) as caught:
            compiled(X, log)
        assert caught.value.code == 7
        assert log == [(X + 1).tolist()]


AT_EXIT = """
import atexit, sys, threading, time
import numpy as np
import ufuse

@ufuse.compile
def halved(x):
    memoryview(x)
    return (x / 2 + 1).sum()

class Late:
    def __init__(self, x):
        self.x, self.function = x, halved
    def __del__(self):
        print("del", self.function(self.x))

def daemon():
    while True:
        halved(np.ones(3))

kept = Late(np.ones(4))
atexit.register(lambda: print("atexit", halved(np.ones(2))))
if "daemon" in sys.argv:
    threading.Thread(target=daemon, daemon=True).start()
    time.sleep(0.05)
print("now", halved(np.ones(1)))
if "exit" in sys.argv:
    sys.exit(5)
"""


@pytest.mark.parametrize("how", ["plain", "exit", "daemon"])
def test_calls_while_python_ends(how: str, tmp_path: Path) -> None:
    """Functions called, compiled or not, from exit handlers, from the last objects to die, and by daemon threads."""
    script = tmp_path / "at_exit.py"
    script.write_text(AT_EXIT)
    path = str(Path(ufuse.__file__ or "").parents[1])
    outcomes = []
    for eager in ("1", "0"):
        done = subprocess.run(
            [sys.executable, "-P", "-X", "faulthandler", str(script), how],
            capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PYTHONPATH": path, "UFUSE_EAGER": eager},
        )  # fmt: skip
        outcomes.append((done.returncode, done.stdout, done.stderr))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == (5 if how == "exit" else 0)
    assert outcomes[0][1].startswith("now 1.5\natexit 3.0\n")


def test_reload_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `importlib.reload` the new function is compiled anew, and the old one sees the module's new names."""
    file = tmp_path / "hostile_module.py"
    source = (
        "import ufuse\nFACTOR = {0}\n@ufuse.compile\ndef scaled(x):\n    return x * FACTOR + {1}\n"
    )
    file.write_text(source.format(2, 0))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module: Any = importlib.import_module("hostile_module")
    try:
        old = module.scaled
        assert old(X).tolist() == (X * 2).tolist()
        for factor, more in ((3, 1), (40, 10)):
            file.write_text(source.format(factor, more))
            importlib.invalidate_caches()
            importlib.reload(module)
            assert module.scaled is not old
            for _ in range(2):
                assert module.scaled(X).tolist() == (X * factor + more).tolist()
                assert old(X).tolist() == (X * factor).tolist()
    finally:
        del sys.modules["hostile_module"]


@both_ways
def test_a_function_that_dies_while_it_runs(compiler: Any) -> None:
    """The last reference to a compiled function may go while it runs."""
    holder: list[Any] = []

    def drops(x: Any) -> Any:
        y = x + 1
        holder.clear()
        gc.collect()
        return y * 2

    compiled = compiler(drops)
    holder.append(compiled)
    dead = weakref.ref(compiled)
    del compiled
    assert holder[0](X).tolist() == ((X + 1) * 2).tolist()
    gc.collect()
    assert dead() is None


@both_ways
def test_reset_while_it_runs(compiler: Any) -> None:
    """A compiled function may be reset from inside itself."""

    def resets(x: Any) -> Any:
        y = x + 1
        compiled.reset()
        return y * 2

    compiled = compiler(resets)
    for _ in range(4):
        assert compiled(X).tolist() == ((X + 1) * 2).tolist()


@both_ways
def test_code_that_is_replaced_while_it_runs(compiler: Any) -> None:
    """A call that has begun goes on with the old code; the next one runs the new."""

    def other(x: Any, function: Any, code: CodeType) -> Any:
        return x - 1

    def replaced(x: Any, function: Any, code: CodeType) -> Any:
        y = x + 1
        function.__code__ = code
        return y * 2

    compiled, code = compiler(replaced), replaced.__code__
    for _ in range(3):
        replaced.__code__ = code
        assert compiled(X, replaced, other.__code__).tolist() == ((X + 1) * 2).tolist()
        assert compiled(X, replaced, other.__code__).tolist() == (X - 1).tolist()

"""The C layer: frames that suspend and are restored, and the eval-frame hook."""

# Functions under test are written as users write them.
# ruff: noqa: ANN001, ANN201, ANN202, RET504, PLW0108
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import dis
import gc
import itertools
import operator
import signal
import sys
import threading
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

from tests.support.frames.hooking import (
    NULL,
    PROGRAMS,
    K,
    Session,
    callee,
    dispatcher,
    entry,
    handling,
    looping,
    once,
    stop_everywhere,
)
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code import instructions

# ---- restore and suspend -------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "arguments"), PROGRAMS)
def test_suspending_everywhere_changes_nothing(
    session: Session, function: Any, arguments: Any
) -> None:
    """A frame that leaves at every instruction where it can gives what it would have given."""
    compiled = stop_everywhere(session, function)
    fresh = [list(a) if isinstance(a, list) else a for a in arguments]
    assert compiled(*fresh) == function(*[list(a) if isinstance(a, list) else a for a in arguments])
    assert compiled.__ufuse_cache__.suspensions > 3
    assert not session.errors


def summing(values):
    total = 0
    for value in values:
        total = total + value
    return total


def test_entries_are_taken_where_a_frame_stops(session: Session) -> None:
    """A loop goes from plain Python to an entry and back, however often, in one frame's place."""
    listing = list(dis.get_instructions(summing))
    places = [i.offset // 2 for i in listing if i.opname == "BINARY_OP"]
    (behind,) = [b.offset // 2 for a, b in itertools.pairwise(listing) if a.opname == "BINARY_OP"]
    session.stops[id(summing.__code__)] = frozenset(places)
    compiled = _hook.Dispatcher(summing, session)
    compiled.__ufuse_cache__.add(0, once(3))
    compiled.__ufuse_cache__.give_up(0)
    # locals 0 to 2, the iterator 3, the operands 4 and 5, the sum 6
    adding = entry((), (4, 5), operator.add, 1, (), ("resume", behind, (0, 1, 2, 3, 6)))
    compiled.__ufuse_cache__.add(places[0], adding)
    compiled.__ufuse_cache__.give_up(behind)
    assert compiled([1, 2, 3]) == 6
    assert adding.hits == compiled.__ufuse_cache__.suspensions == 3
    assert compiled(range(100_000)) == 4_999_950_000
    assert session.asked == []


def test_a_suspended_frame_owns_its_values_alone(session: Session) -> None:
    """Objects die when they would: nothing keeps a value the frame has dropped."""
    alive: list[Any] = []

    class Value:
        pass

    def function():
        value = Value()
        alive.append(weakref.ref(value))
        value = None  # type: ignore[assignment]
        alive.append(alive[0]() is None)

    stop_everywhere(session, function)()
    assert alive[1] is True


def test_each_run_has_its_own_closure(session: Session) -> None:
    """Functions of one code object, nested and in turn; and what is closed over dies with the function."""

    class Value:
        pass

    def made(held: Any) -> Any:
        def function(depth, other):
            inner = other(depth - 1, other) if depth else ()
            return (held, *inner)

        return stop_everywhere(session, function)

    first, second = made("first"), made("second")
    for _ in range(3):
        assert first(2, second) == ("first", "second", "second")
        assert second(1, first) == ("second", "first")
        assert first(3, first) == ("first",) * 4
    value = Value()
    reference = weakref.ref(value)
    third = made(value)
    assert third(1, second) == (value, "second")
    del value, third
    gc.collect()
    assert reference() is None
    assert first(0, None) == ("first",)


def test_a_frame_in_a_traceback_keeps_its_closure(session: Session) -> None:
    """The next run of the code has another one."""

    def made(held: Any) -> Any:
        def function(x):
            total = held + x
            return total / (x - 1)

        return stop_everywhere(session, function)

    failing, going = made(1), made(10)
    with pytest.raises(ZeroDivisionError) as caught:
        failing(1)
    assert going(3) == 6.5
    frame = caught.value.__traceback__.tb_next.tb_frame  # type: ignore[union-attr]
    assert frame.f_locals["held"] == 1
    assert frame.f_locals["total"] == 2
    assert failing(2) == 3


def test_errors_keep_their_line_and_their_only_frame(session: Session) -> None:
    """A traceback out of resume code looks like the function's own."""

    def failing(x):
        y = x + 1
        return y / 0

    def text(function: Any) -> list[str]:
        with pytest.raises(ZeroDivisionError) as caught:
            function(1)
        return traceback.format_tb(caught.value.__traceback__)[1:]

    assert text(stop_everywhere(session, failing)) == text(failing)


def test_an_entrys_error_meets_the_frames_handlers(session: Session) -> None:
    """What an artefact raises in the middle of a `try` is handled there."""

    def guarded(x):
        log = ["begin"]
        try:
            log.append(x + 1)
        except LookupError:
            log.append("handled")
        finally:
            log.append("finally")
        return log

    compiled = stop_everywhere(session, guarded)

    lost: list[int] = []

    def lose(*_: Any) -> Any:
        lost.append(1)
        raise LookupError

    def answer(cache: Any, position: int, function: Any, state: Any) -> Any:
        inside = not lost and state[1] is not NULL and state[1] == ["begin"] and len(state) > 3
        return entry((), (0,), lose, 1, (), ("return", len(state))) if inside else None

    session.answer = answer
    assert compiled(1) == ["begin", "handled", "finally"]


def test_an_interrupt_while_capturing_is_raised_inside_the_frame(session: Session) -> None:
    """`finally` blocks of the user's frame run."""
    log: list[str] = []
    raised: list[int] = []

    def guarded(x):
        try:
            x = x + 1
            return x
        finally:
            log.append("finally")

    compiled = stop_everywhere(session, guarded)

    def answer(cache: Any, position: int, function: Any, state: Any) -> Any:
        if len(state) > 2 and not raised:  # something is on the stack
            raised.append(position)
            raise KeyboardInterrupt

    session.answer = answer
    with pytest.raises(KeyboardInterrupt):
        compiled(1)
    assert log == ["finally"]


@pytest.mark.usefixtures("no_collections")
def test_interrupts_at_any_moment_run_finally_blocks(session: Session) -> None:
    """A signal's exception, also between the loop and resume code, belongs to the user's frame."""
    lock = threading.Lock()
    interrupted = 0

    def guarded(n):
        with lock:
            total = 0
            for i in range(n):
                total += i * 2
            return total

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    compiled = stop_everywhere(session, guarded)
    # Between its body and the call of __exit__ a `with` has no moment for a signal, unless a frame stops there.
    protected = instructions.protections(guarded.__code__)
    inside = frozenset(p for p in session.stops[id(guarded.__code__)] if p in protected)
    session.stops[id(guarded.__code__)] = inside
    for position in inside:
        if position % 2:
            compiled.__ufuse_cache__.give_up(position)  # so that half of the signals meet C code
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for each in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + each * 1e-6)
                result = compiled(60)
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert result == 3540
            except KeyboardInterrupt:
                interrupted += 1
            # From 3.14 plain Python itself looks for signals between the call of __enter__ and the block.
            assert not lock.locked() or sys.version_info >= (3, 14)
            if lock.locked():
                lock.release()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 50
    assert not session.errors


def test_only_resume_code_may_restore_and_suspend() -> None:
    """Anybody else gets an error, not a crash."""
    with pytest.raises(SystemError, match="only resume code"):
        _hook.restore[None]
    with pytest.raises(SystemError, match="only resume code"):
        _hook.suspend[0, 0]


def test_bad_resume_code_is_refused(session: Session) -> None:
    """Code that does not restore, or is of another shape, ends in SystemError."""

    def function(x):
        return x

    going = entry(ending=("resume", 1, (0,)))
    session.resume_code = lambda cache, position: looping.__code__  # type: ignore[method-assign]
    with pytest.raises(SystemError, match="no resume code"):
        dispatcher(function, session, going)(1)
    lazy = function.__code__.replace(co_argcount=0)
    session.resume_code = lambda cache, position: lazy  # type: ignore[method-assign]

    def other(x):
        return 7

    session.resume_code = lambda cache, position: other.__code__.replace(co_argcount=0)  # type: ignore[method-assign]
    with pytest.raises(SystemError, match="restore"):
        dispatcher(other, session, going)(1)


@pytest.mark.parametrize("previous", [0, 99])
def test_marks_that_lie_about_handlers_are_refused(session: Session, previous: int) -> None:
    """What is no exception never becomes the current one, whatever resume code says of its stack."""
    make = session.resume_code

    def marked(key: Any) -> Any:
        is_stop = type(key) is tuple and len(key) == 2 and type(key[1]) is int and key[1] > 0
        return (*key, previous, (), ()) if is_stop else key

    def lying(cache: Any, position: int) -> Any:
        code = make(cache, position)
        return code.replace(co_consts=tuple(marked(one) for one in code.co_consts))

    session.resume_code = lying  # type: ignore[method-assign]
    with pytest.raises(SystemError, match="is not what its marks say"):
        stop_everywhere(session, looping)(5)
    assert sys.exception() is None


def test_resume_functions_are_made_once(session: Session) -> None:
    """Per position, until they are dropped."""
    made: list[int] = []
    make = session.resume_code
    session.resume_code = lambda cache, position: made.append(position) or make(cache, position)  # type: ignore[func-returns-value, method-assign, redundant-expr]
    compiled = stop_everywhere(session, looping)
    compiled(5)
    assert len(set(made)) == len(made) > 3
    before = len(made)
    compiled(5)
    assert len(made) == before
    compiled.__ufuse_cache__.drop_resume(made[0])
    compiled.__ufuse_cache__.drop_resume(None)
    compiled(5)
    assert len(made) == 2 * before


# ---- the eval-frame hook -------------------------------------------------------------------------


def caller(x):
    return callee(x), callee([x])[:0], callee(1)


def test_callees_are_caught(session: Session) -> None:
    """While the caller runs in plain Python, a callee's frame with an array goes through its entries."""
    session.takes = lambda code: code is callee.__code__
    answer = entry([(K.TYPE, 0, np.ndarray)], (0,), np.negative, 1, (), ("return", 2))
    session.answer = lambda cache, position, function, state: answer if function is callee else None
    compiled = _hook.Dispatcher(caller, session)
    x = np.arange(3.0)

    def listed(x):
        return callee(x), callee(1)

    first, second = _hook.Dispatcher(listed, session)(x)
    assert first.tolist() == [0.0, -1.0, -2.0]
    assert second == 2
    with pytest.raises(TypeError):
        compiled(x)
    assert answer.hits == 2
    assert callee(x).tolist() == [1.0, 2.0, 3.0]


def test_a_code_is_asked_about_once(session: Session) -> None:
    """Per session, and never while no argument brings an array; comprehensions may be loops of numbers alone."""

    def deep(x):
        return [callee(x) for _ in range(3)] + [callee(1)]

    _hook.Dispatcher(deep, session)(1)
    assert set(session.seen) <= {"<listcomp>"}
    _hook.Dispatcher(deep, session)(np.zeros(1))
    _hook.Dispatcher(deep, session)(np.zeros(1))
    assert session.seen.count("callee") == 1
    other = Session()
    _hook.Dispatcher(deep, other)(np.zeros(1))
    assert other.seen.count("callee") == 1


def test_a_session_is_not_kept_by_marks() -> None:
    """Neither code objects nor the hook keep a session, its caches or their arrays alive."""
    session = Session()
    session.takes = lambda code: code is callee.__code__
    _hook.Dispatcher(lambda x: callee(x), session)(np.zeros(1))
    assert session.caches
    alive = [weakref.ref(session), weakref.ref(next(iter(session.caches.values())))]
    del session
    gc.collect()
    assert [each() for each in alive] == [None, None]
    assert callee(1) == 2


def test_dropped_code_dies(session: Session) -> None:
    """A cache does not keep code alive behind its last owner."""
    space: dict[str, Any] = {}
    exec("def f(x): return x", space)
    compiled = dispatcher(space["f"], session, entry([(K.LOAD_KEY, space, "f")]))
    assert compiled(3) == 3
    alive = weakref.ref(space["f"].__code__)
    del compiled
    space.clear()
    gc.collect()
    assert alive() is None


def three(x):
    return through(x)


def through(x):
    y = [x]
    return y


@pytest.mark.parametrize("depth", [0, 1, 5, 60, 150])
def test_frames_are_discarded_at_any_depth(session: Session, depth: int) -> None:
    """Results, errors and continuations of hooked frames, also where a frame begins a chunk of the data stack."""
    session.takes = lambda code: code is through.__code__
    kinds = [
        entry((), (0,), operator.attrgetter("shape"), 1, (), ("return", 2)),
        entry((), (0,), operator.index, 1, (), ("return", 2)),
        once(2),
    ]
    x = np.zeros((2, 3))

    def descend(n, pad=0, a=0, b=0, c=0, d=0, e=0, f=0, g=0, h=0, i=0, j=0):
        return three(x) if n == 0 else descend(n - 1)

    results: list[Any] = []
    cache = session.caches[id(through.__code__)] = _hook.CodeCache(through.__code__, session)
    for kind in kinds:
        cache.clear()
        cache.add(0, kind)
        cache.give_up(0)
        for extra in range(60):
            try:
                results.append(_hook.Dispatcher(lambda n: descend(n), session)(depth + extra))
            except TypeError as error:
                names = [f.name for f in traceback.extract_tb(error.__traceback__)]
                assert names[-1] == "three"
                results.append("error")
    assert results[:60] == [(2, 3)] * 60
    assert results[60:120] == ["error"] * 60
    assert all(len(r) == 1 and r[0] is x for r in results[120:])
    del results
    gc.collect()
    assert sys.getrefcount(x) <= 4


def test_generators_of_callees_are_left_alone(session: Session) -> None:
    """They run, throw and close under the hook as without."""

    def numbers(x):
        try:
            yield x
            yield x + 1
        except KeyError:
            yield "thrown"

    def function(x):
        g, h = numbers(x), numbers(x)
        next(g)
        next(h)
        h.close()
        return g.throw(KeyError)

    assert _hook.Dispatcher(function, session)(np.zeros(1)) == "thrown"
    assert session.seen == []


def test_a_hook_below_ours_is_called(session: Session) -> None:
    """Calling inside a call keeps one hook; it is gone after the outermost."""
    states: list[bool] = []

    def inner(x):
        states.append(_hook.hook_installed())

    compiled = _hook.Dispatcher(inner, session)

    def outer(x):
        compiled(x)
        states.append(_hook.hook_installed())

    _hook.Dispatcher(outer, session)(1)
    assert states == [True, True]
    with pytest.raises(ZeroDivisionError):
        _hook.Dispatcher(lambda x: 1 / x, session)(0)
    assert not _hook.hook_installed()


def test_recursion_is_as_deep_as_without(session: Session) -> None:
    """The limit counts Python frames, ours takes none."""

    def make(wrap: Any) -> Any:
        def down(n):
            deepest[0] = n
            return again(n + 1)

        again = wrap(down)
        return again

    depths = []
    for wrap in (lambda f: f, lambda f: _hook.Dispatcher(f, session)):
        deepest = [0]
        with pytest.raises(RecursionError):
            make(wrap)(0)
        depths.append(deepest[0])
    assert abs(depths[0] - depths[1]) <= 2


def test_the_c_stack_is_never_overrun(session: Session) -> None:
    """With a huge recursion limit, RecursionError comes before the stack ends."""

    def down(n):
        return compiled(n + 1)

    compiled = _hook.Dispatcher(down, session)
    before = sys.getrecursionlimit()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            compiled(0)
        except RecursionError as error:
            errors.append(error)

    sys.setrecursionlimit(10**6)
    size = threading.stack_size(2 << 20)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(before)
    assert len(errors) == 1


def test_threads_share_a_dispatcher(session: Session) -> None:
    """Entries, resume code and the hook, from several threads, while another clears the cache."""
    compiled = stop_everywhere(session, looping)
    expected = looping(9)
    wrong: list[Any] = []
    done = threading.Event()

    def work() -> None:
        for _ in range(200):
            if compiled(9) != expected:
                wrong.append(1)

    def clear() -> None:
        while not done.is_set():
            compiled.__ufuse_cache__.clear()

    workers = [threading.Thread(target=work) for _ in range(4)]
    clearing = threading.Thread(target=clear)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in (*workers, clearing):
            thread.start()
        for thread in workers:
            thread.join()
    finally:
        done.set()
        clearing.join()
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.parametrize("install", [sys.settrace, sys.setprofile])
def test_tracers_see_none_of_ours(session: Session, install: Any) -> None:
    """Under a trace or a profile function results are the same and our Python code is invisible."""
    seen: list[str] = []

    def tracer(frame: Any, event: str, arg: Any) -> Any:
        seen.append(frame.f_code.co_name)
        return tracer

    compiled = stop_everywhere(session, handling)
    install(tracer)
    try:
        result = compiled([1, 0])
    finally:
        install(None)
    assert result == handling([1, 0])
    assert "capture" not in seen
    assert "resume_code" not in seen
    assert "handling" in seen


def test_the_first_resumed_frame_of_a_closure_may_raise(session: Session) -> None:
    """Its exception is not lost when the function that resumes it is put away (once for each number of free variables)."""
    names = [f"v{i}" for i in range(11)]
    source = "def make():\n" + "".join(f"    {name} = 0\n" for name in names)
    source += f"    def inner(x):\n        x.missing\n        return {' + '.join(names)}\n    return inner\n"
    space: dict[str, Any] = {}
    exec(source, space)
    inner = space["make"]()
    compiled = stop_everywhere(session, inner)
    session.stops[id(inner.__code__)] = frozenset()  # it is put away only once it has raised
    for _ in range(3):
        with pytest.raises(AttributeError):
            compiled(1)

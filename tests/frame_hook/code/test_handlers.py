"""Frames that stop and go on while they handle errors."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import ufuse
from tests.support.frames import handler_cases
from tests.support.frames.handler_cases import CASES, described, fail, see
from tests.support.frames.handler_programs import random_function
from tests.support.frames.suspending import Pieces, everywhere, in_pieces, stoppable
from ufuse.frame_hook import _hook
from ufuse.frame_hook.code.instructions import by_position, flow, instructions, protections
from ufuse.frame_hook.code.resume import operation
from ufuse.frame_hook.code.stops import handler_row, landing, why_not_resume, why_not_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

CASE_NAMES = [f"{function.__name__}-{place}" for place, (function, _) in enumerate(CASES)]
every_case = pytest.mark.parametrize(("function", "args"), CASES, ids=CASE_NAMES)


# What is called from a handler is the subject here.
# ruff: noqa: PT017, TRY301

# ---- how functions are called --------------------------------------------------------------------


def at_rest(call: Callable[[list[Any]], Any]) -> Any:
    """Call while nothing is handled: what it gave or raised, and all it saw."""
    log: list[Any] = []
    try:
        result: Any = ("result", repr(call(log)))
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must be the same
        result = ("error", described(error))
    see(log, "behind")
    return result, log


def while_handling(call: Callable[[list[Any]], Any]) -> Any:
    """Call from a handler."""
    try:
        raise OSError("the caller's")
    except OSError as error:
        outcome = at_rest(call)
        assert sys.exc_info()[1] is error
    return outcome


def in_generator(call: Callable[[list[Any]], Any]) -> Any:
    """Call from a generator's handler, which runs in another handler."""

    def generator() -> Iterator[Any]:
        try:
            raise OSError("the generator's")
        except OSError:
            yield at_rest(call)
            yield at_rest(call)

    try:
        raise EOFError("the caller's")
    except EOFError:
        return list(generator())


WAYS = [at_rest, while_handling, in_generator]
every_way = pytest.mark.parametrize("way", WAYS)


def check(way: Any, function: Any, args: Any, *changed: Any) -> None:
    """Compare what changed functions give with what the function itself does."""
    expected = way(lambda log: function(*args, log))
    for each in changed:
        assert way(lambda log, each=each: each(*args, log)) == expected
        assert sys.exc_info() == (None, None, None)


# ---- stopping ------------------------------------------------------------------------------------


@every_way
@every_case
def test_stopping_everywhere_changes_nothing(way: Any, function: Any, args: Any) -> None:
    """A frame that is suspended at every instruction sees and raises what it would have."""
    pieces = in_pieces(function, everywhere)
    check(way, function, args, pieces)
    assert pieces.__ufuse_cache__.suspensions > 0


@every_case
def test_stopping_anywhere_changes_nothing(function: Any, args: Any) -> None:
    """A frame that has one stop, wherever that is, sees and raises what it would have."""
    stops = [frozenset({position}) for position in stoppable(function.__code__)]
    pieces = [in_pieces(function, lambda code, place, stop=stop: stop) for stop in stops]  # type: ignore[misc]
    check(while_handling, function, args, *pieces)


@every_case
def test_entries_run_under_the_handler(function: Any, args: Any) -> None:
    """What stands in for a piece of a handler sees the exception that is handled there."""
    if function.__name__ != "lifetimes":  # there, when an object dies is the result
        check(while_handling, function, args, in_pieces(function, everywhere, forget=True))


def handled_positions(code: CodeType) -> set[int]:
    return {position for position, stack in flow(code).stacks.items() if stack.handlers}


def test_nearly_every_position_of_a_handler_is_a_stop() -> None:
    """Only what belongs together is kept together."""
    for function, _ in CASES:
        code = function.__code__
        handled = handled_positions(code)
        refused = {p: why_not_stop(code, p) for p in handled if why_not_stop(code, p)}
        allowed = (
            "never without it",
            "ends there",
            "half prepared there",
            "handler open",
            "no line",
        )
        assert all(reason.endswith(allowed) for reason in refused.values() if reason)
        assert not handled or len(refused) < len(handled) / 2


@pytest.mark.any_python
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Whatever is nested in whatever, frames in pieces do the same."""
    function = random_function(seed)
    pieces = in_pieces(function, everywhere)
    forgetting = in_pieces(function, everywhere, forget=True)
    for x in (0, 1, 2):
        for way in WAYS:
            check(way, function, (x,), pieces, forgetting)


# ---- raising -------------------------------------------------------------------------------------


class Injected(Exception):  # noqa: N818 - it stands for any
    """What a test raises at one instruction."""


class Interrupted(KeyboardInterrupt):
    """What it raises as if a signal had come."""


class Injecting(Pieces):
    """A session that raises at one position; the frame stops nowhere else."""

    def __init__(self, position: int) -> None:
        super().__init__(lambda *_: frozenset({position}))
        self.position = position
        self.raised = False

    def raise_once(self, kind: type[BaseException]) -> None:
        """Raise, the first time."""
        if not self.raised:
            self.raised = True
            raise kind


class InEntry(Injecting):
    """It is what stands in for the instruction that raises."""

    kind: type[BaseException] = Injected

    def capture(self, cache: Any, position: int, function: object, state: tuple[Any, ...]) -> Any:
        """Give an entry that raises."""
        if position != self.position:
            return super().capture(cache, position, function, state)

        def artefact() -> Any:
            self.raise_once(self.kind)
            return NotImplemented

        ending = ("resume", position, tuple(range(len(state))))
        return _hook.Entry([], [], artefact, 1, [], ending)


class BeforeResuming(Injecting):
    """A signal comes while the code that goes on is made."""

    kind: type[BaseException] = Interrupted

    def resume_code(self, cache: Any, position: int) -> CodeType:
        """Raise before it is made."""
        if position == self.position:
            self.raise_once(self.kind)
        return super().resume_code(cache, position)


def injecting_tracer(code: CodeType, offsets: range, kind: type[BaseException]) -> Any:
    """A trace function that raises before an instruction, the first time."""

    def tracer(frame: Any, event: str, _argument: Any) -> Any:
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode" and frame.f_lasti in offsets:
            sys.settrace(None)
            frame.f_trace = None
            raise kind
        return tracer

    return tracer


def traced(function: Any, offsets: range, kind: type[BaseException]) -> Any:
    """The plain function, with an error raised at the instruction with these offsets."""

    def call(*args: Any) -> Any:
        sys._getframe().f_trace_opcodes = (
            True  # from 3.12 some frame must ask before tracing begins
        )
        sys.settrace(injecting_tracer(function.__code__, offsets, kind))
        try:
            return function(*args)
        finally:
            sys.settrace(None)

    return call


@pytest.mark.parametrize("raising", [InEntry, BeforeResuming])
@every_case
def test_errors_reach_the_right_handler(raising: Any, function: Any, args: Any) -> None:
    """What is raised in an instruction's stead is raised by it; by the next where it cannot."""
    code = function.__code__
    first = (sys.version_info.minor + (raising is InEntry)) % 2
    # Each way of raising has every second instruction, and those between on the next version of Python.
    # Where nothing can be caught, what an entry raises does not go through the frame.
    for position in stoppable(code)[first::2] if code.co_exceptiontable else ():
        session = raising(position)
        dispatcher = _hook.Dispatcher(function, session)
        found = while_handling(lambda log: dispatcher(*args, log))  # noqa: B023 - called at once
        if session.raised:
            place = by_position(code)[landing(code, position)]
            offsets = range(2 * place.position, 2 * (place.position + place.size))
            # From 3.13 a run without events has to come first.
            for each in (range(0), offsets) if sys.version_info >= (3, 13) else (offsets,):
                plain = traced(function, each, raising.kind)
                expected = while_handling(lambda log: plain(*args, log))  # noqa: B023 - as above
            assert found == expected
        assert sys.exc_info() == (None, None, None)


# ---- ownership -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [{}, {"forget": True}])
def test_nothing_is_leaked_or_lost(mode: Any) -> None:
    """References to an exception that lives on are as many after every run, and so are all blocks."""
    kept = handler_cases.KEPT
    function = handler_cases.the_same_again
    pieces = in_pieces(function, everywhere, **mode)

    def run(count: int) -> tuple[int, int]:
        for _ in range(count):
            for x in (0, 1):
                while_handling(lambda log: pieces(x, log))  # noqa: B023 - called at once
        kept.__traceback__ = kept.__context__ = None
        gc.collect()
        return sys.getrefcount(kept), sys.getallocatedblocks()

    run(20)
    references, blocks = run(20)
    later_references, later_blocks = run(200)
    assert later_references == references
    assert later_blocks - blocks < 100


@every_case
def test_collecting_at_every_allocation_changes_nothing(function: Any, args: Any) -> None:
    """The collector may run whenever it likes."""
    before = gc.get_threshold()
    expected = while_handling(lambda log: function(*args, log))
    pieces = in_pieces(function, everywhere)
    gc.set_threshold(1)
    try:
        assert while_handling(lambda log: pieces(*args, log)) == expected
    finally:
        gc.set_threshold(*before)


# ---- compiled ------------------------------------------------------------------------------------


def computes_in_handlers(x: Any, k: int, log: list[Any]) -> Any:
    """Array work in everything that handles errors."""
    y = x * 2
    try:
        y = y + 1
        if k:
            raise ValueError(k)
        y = y.reshape(k + 7)
    except ValueError as error:
        z = y * 3 + 1
        see(log, error.args)
        y = (z - x) ** 2
        try:
            q = y + z
            {}[k]
        except KeyError:
            y = q + 1
            see(log)
            y = y * 2
        finally:
            y = y / 2
    finally:
        y = y + 5
        see(log)
        y = y * y
    with handler_cases.Manager(log, swallow=True):
        t = y + 1
        if k == 2:
            raise TypeError(float(t.sum()))
        y = t * 2
    for i in range(3):
        try:
            y = y + i
            if i == k:
                raise IndexError
            y = y * 2
        except IndexError:
            y = y - 100
            see(log)
            y = y * 3
            continue
    try:
        y = y * 1
        if k == 1:
            raise OSError(k)
    except* OSError:
        y = y + 3
        see(log)
        y = y * 4
    return (y + x).tolist()


def raises_in_handler(x: Any, k: int, log: list[Any]) -> Any:
    """An error in a handler, behind a graph; and a value returned out of one."""
    try:
        y = x + 1
        raise KeyError(k)
    except KeyError:
        y = y * 2
        see(log)
        y = (y + x).reshape(k)
        return y.tolist()


@every_way
@pytest.mark.parametrize("function", [computes_in_handlers, raises_in_handler])
def test_compiled_handlers_do_the_same(way: Any, function: Any) -> None:
    """Graphs in handlers leave what is handled, and every traceback, as it was."""
    compiled = ufuse.compile(function)
    x = np.arange(5.0)
    for _ in range(5):
        for k in (0, 1, 2, 3, 5):
            check(way, function, (x, k), compiled)
    assert len(compiled.graphs) > 2


def test_tracing_leaves_the_callers_exception_alone() -> None:
    """A graph that breaks while the caller handles an error does not touch its traceback."""

    def breaks(x: Any) -> Any:
        y = x + 1
        print(end="")
        return y * 2

    try:
        fail()
    except ValueError as error:
        ufuse.compile(breaks)(np.ones(3))
        assert error.__traceback__ is not None
        assert error.__traceback__.tb_next is not None


# ---- what is kept where --------------------------------------------------------------------------


def test_a_state_has_the_current_exception_and_the_original_line() -> None:
    """In a state: the exception handled where the previous one is kept, and errors' positions."""
    seen: dict[int, tuple[Any, ...]] = {}

    class Looking(Pieces):
        def capture(self, cache: Any, position: int, function: object, state: Any) -> Any:
            seen[position] = state
            assert sys.exc_info()[1] is None  # what we raise must not get the user's as context
            return super().capture(cache, position, function, state)

    def function(log: list[Any]) -> None:
        with handler_cases.Manager(log):
            log[7]

    code = function.__code__
    with pytest.raises(IndexError):
        _hook.Dispatcher(function, Looking(everywhere))([])
    operations = {operation(i): i.opname for i in instructions(code)}
    lasti = handled = 0
    for position, state in seen.items():
        stack = flow(code).stacks[position]
        values = state[len(state) - stack.depth :]
        for index, mark in stack.marks:
            if mark == 0 and stack.handlers and values[index] is not None:
                assert type(values[index]) is IndexError or position in rows_of(code)
                handled += 1
            if mark < 0:
                assert operations[values[index]] in {"BINARY_SUBSCR", "BINARY_OP"}
                lasti += 1
    assert handled > 2
    assert lasti > 1


def rows_of(code: CodeType) -> set[int]:
    """Positions in rows, where there are copies of what a handler keeps."""
    return {i.position for i in instructions(code) if handler_row(code, i.position)}


class Watch:
    """A context manager that keeps the frame it is used in."""

    frame: Any = None

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, *_: object) -> None:
        self.frame = sys._getframe(1)


def test_a_frame_that_raised_again_is_at_the_first_line() -> None:
    """An error that goes on after a `with` leaves the frame where it was raised."""

    def function(watch: Watch, x: int) -> None:
        with watch:
            x += 1
            x = x // 0
        raise AssertionError(x)

    def line(call: Any) -> int:
        watch = Watch()
        with pytest.raises(ZeroDivisionError):
            call(watch, 1)
        return int(watch.frame.f_lineno - function.__code__.co_firstlineno)

    assert line(function) == 3
    code = function.__code__
    (asks,) = (i.position for i in instructions(code) if i.opname == "WITH_EXCEPT_START")
    count = 0
    for position in stoppable(code):
        if position <= asks:
            stop = frozenset({position})
            assert line(in_pieces(function, lambda code, place, stop=stop: stop)) == 3  # type: ignore[misc]
            count += 1
    assert count > 10


def test_super_by_another_name() -> None:
    """`super` finds its frame's first argument whatever it is called, and though nobody reads it."""
    function = handler_cases.Derived.alias
    for forget in (False, True):
        log: list[Any] = []
        pieces = in_pieces(function, everywhere, forget=forget)
        with pytest.raises(KeyError, match="3"):
            pieces(handler_cases.Derived(log), 3)
        assert log == [("3", None)]


def test_unprotected_positions_of_handlers_are_refused() -> None:
    """Where CPython itself would leave a handler open, a frame is not resumed to raise there."""
    for function, _ in CASES:
        code = function.__code__
        for position in handled_positions(code):
            if why_not_resume(code, position) is None:
                place = landing(code, position)
                left_open = flow(code).stacks[place].handlers
                assert not left_open or place in protections(code)

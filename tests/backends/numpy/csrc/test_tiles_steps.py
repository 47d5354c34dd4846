"""Programs of the executor: their steps, errors, flags and lifetimes."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

from tests.support.tiles import DIVIDE, F8, add_program, assert_same, into_kernel, map_kernel
from ufuse.backends.numpy import _tiles

pytestmark = pytest.mark.usefixtures("quiet")


def test_a_program_runs() -> None:
    """Inputs, constants and outputs go through slots."""
    x = np.arange(5.0)
    assert_same(add_program()(x), x + 1)
    assert add_program()("no array") is NotImplemented
    with pytest.raises(TypeError, match="1 inputs"):
        add_program()(x, x)


def test_every_kind_of_step() -> None:
    """Calls, items, operators and tuples do what Python does."""
    steps = (
        ("call", np.add, (0, 1, 2), ("out",), None, (), False),
        ("call", divmod, (0, 1), (), 3, (), False),
        ("unpack", 3, (4, None), (3,), False),
        ("getitem", 0, 5, 6, (), False),
        ("binary", "-", 6, 6, 7, (), False),
        ("binary", "iadd", 4, 1, 8, (4,), False),
        ("unary", "neg", 7, 7, (), False),
        ("tuple", (7, 8, 2), 9, (), False),
    )
    program = _tiles.Program(3, 10, ((5, slice(1, 3)),), steps, (9, 0), None)
    x, y, out = np.arange(4.0), np.full(4, 2.0), np.zeros(4)
    (first, second, third), same = program(x, y, out)
    assert same is x
    assert third is out
    assert_same(out, x + y)
    assert_same(first, -(x[1:3] - x[1:3]))
    assert_same(second, divmod(x, y)[0] + y)


def test_committed_and_uncommitted_errors() -> None:
    """An error is plain Python's to raise, until something was written; interrupts always propagate."""

    def fail(error: type[BaseException]) -> None:
        raise error

    for error, committed, raised in (
        (ValueError, False, None),
        (ValueError, True, ValueError),
        (ValueError, 2, None),  # the first write, of which nothing was done
        (KeyboardInterrupt, 2, KeyboardInterrupt),
        (KeyboardInterrupt, False, KeyboardInterrupt),
        (MemoryError, False, None),  # NumPy's own names the array
        (MemoryError, True, MemoryError),
        (SystemExit, False, SystemExit),
    ):
        program = _tiles.Program(1, 2, (), (("call", fail, (0,), (), 1, (), committed),), (1,))
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("default")
            if raised is None:
                assert program(error) is NotImplemented
            else:
                with pytest.raises(raised):
                    program(error)


def test_a_write_that_may_refuse_is_the_first_alone() -> None:
    """Behind another one it is too late for plain Python."""

    def fail(_: object) -> None:
        raise ValueError

    def step(function: object, out: int, committed: int) -> tuple[object, ...]:
        return ("call", function, (0,), (), out, (), committed)

    seen: list[int] = []
    late = _tiles.Program(1, 3, (), (step(seen.append, 1, True), step(fail, 2, 2)), (2,))
    later = _tiles.Program(1, 3, (), (step(seen.append, 1, 2), step(fail, 2, True)), (2,))
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("default")
        for program in (late, later):
            with pytest.raises(ValueError):
                program(7)
    assert seen == [7, 7]


def divide_program(report: Any, *, committed: bool = False) -> Any:
    """A program of one kernel: x / 0.0."""
    step = ("kernel", map_kernel(np.divide, (F8, F8, F8)), (0, 1), (2,), (), committed)
    return _tiles.Program(1, 3, ((1, 0.0),), (step,), (2,), report)


def test_flags_in_programs() -> None:
    """Ignored flags pass; others end the program, or are told where a write was seen."""
    told: list[Any] = []

    def report(step: int, flags: Any) -> None:
        told.append((step, flags))

    x = np.ones(3)
    assert_same(divide_program(report)(x), x / 0.0)
    assert not told
    with np.errstate(divide="warn"):
        assert divide_program(None)(x) is NotImplemented
        assert divide_program(report)(x) is NotImplemented
        assert not told
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            assert_same(divide_program(report, committed=True)(x), np.full(3, np.inf))
        assert told == [(0, ((0, DIVIDE),))]
    assert divide_program(lambda *_: 1 / 0)(x) is not NotImplemented


def test_committed_programs_do_not_start_where_a_warning_raises() -> None:
    """Error states that call or raise, filters that raise, and replaced showwarning: plain Python runs."""
    program = divide_program(None, committed=True)
    x = np.ones(3)
    for mode in ("raise", "call", "print", "log"):
        with np.errstate(over=mode):
            assert program(x) is NotImplemented
    with np.errstate(all="warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(x) is not NotImplemented
        warnings.filterwarnings("error", category=DeprecationWarning)
        assert program(x) is not NotImplemented
        warnings.filterwarnings("error", category=Warning)
        assert program(x) is NotImplemented
        warnings.simplefilter("ignore")
        warnings.resetwarnings()
        assert program(x) is not NotImplemented
        warnings.showwarning = lambda *_, **__: None
        assert program(x) is NotImplemented
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert program(x) is not NotImplemented


def test_a_first_write_may_be_refused() -> None:
    """A kernel that refuses before anything was written leaves the call to plain Python."""
    kernel = into_kernel()
    before = ("call", abs, (0,), (), 3, (), True)
    step = ("kernel", kernel, (0, 1), (None, 2), (), True)
    x = np.ones(4)
    x.flags.writeable = False
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert _tiles.Program(2, 4, (), (step,), (2,))(x, x) is NotImplemented
        with pytest.raises(RuntimeError, match="refuses after a write"):
            _tiles.Program(2, 4, (), (before, step), (2,))(x, x)


def test_a_later_kernel_that_refuses_is_run_plainly() -> None:
    """The program is told the step and its arguments, and takes what is given for the step's results."""
    asked: list[Any] = []
    answer: list[Any] = []

    def plainly(number: int, arguments: Any) -> Any:
        asked.append((number, arguments))
        return answer.pop()

    before = ("call", abs, (0,), (), 3, (), True)
    step = ("kernel", into_kernel(), (0, 1), (None, 2), (), True)
    x = np.ones(4)
    x.flags.writeable = False
    program = _tiles.Program(2, 4, (), (before, step), (2,), None, plainly)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer.append((x, "made"))
        assert program(x, x) == "made"
        for wrong in ((x,), [x, x], None):
            answer.append(wrong)
            with pytest.raises(TypeError, match="expected a tuple of 2"):
                program(x, x)
    assert len(asked) == 4
    assert all(number == 1 and all(one is x for one in given) for number, given in asked)


def test_numbers_are_looked_at_before_the_first_write() -> None:
    """A number that does not fit a later kernel leaves the call to plain Python, before anything is done."""
    done: list[Any] = []
    kernel = map_kernel(np.add, (np.dtype("i1"),) * 3)
    steps = (
        ("call", done.append, (0,), (), 2, (), True),
        ("kernel", kernel, (0, 1), (3,), (), True),
    )
    program = _tiles.Program(2, 4, (), steps, (3,))
    x = np.arange(3, dtype="i1")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert program(x, 300) is NotImplemented
        assert not done
        assert_same(program(x, 2), x + 2)
    assert len(done) == 1


def test_clear_releases_early() -> None:
    """A cleared slot's array dies before the program ends."""
    alive: list[bool] = []
    made: list[Any] = []

    class Thing:
        pass

    def make(_: Any) -> Any:
        thing = Thing()
        made.append(weakref.ref(thing))
        return thing

    def look(_: Any) -> None:
        alive.append(made[-1]() is not None)

    for clear in ((), (1,)):
        steps = (("call", make, (0,), (), 1, clear, False), ("call", look, (0,), (), 2, (), False))
        _tiles.Program(1, 3, (), steps, (2,))(0)
    assert alive == [True, False]


def test_programs_are_collected() -> None:
    """A program in a cycle is garbage like any other."""

    class Holder:
        program: Any = None

        def report(self, *_: Any) -> None: ...

    holder = Holder()
    holder.program = add_program(report=holder.report)
    died = weakref.ref(holder)
    del holder
    gc.collect()
    assert died() is None


def test_reentrance() -> None:
    """A step may call its own program."""
    box: list[Any] = []
    depth: list[int] = []

    def again(x: Any) -> Any:
        depth.append(1)
        return box[0](x) if len(depth) < 5 else x

    steps = (
        ("call", again, (0,), (), 2, (), False),
        ("kernel", map_kernel(np.add, (F8,) * 3), (2, 1), (3,), (2,), False),
    )
    box.append(_tiles.Program(1, 4, ((1, 1.0),), steps, (3,)))
    assert_same(box[0](np.zeros(3)), np.full(3, 5.0))


@pytest.mark.filterwarnings("default")
def test_a_branch_that_writes_is_the_first_to_do_so() -> None:
    """Its side may refuse before it writes; an error behind that is one of the whole program."""

    def side(function: object, *, committed: bool) -> Any:
        return _tiles.Program(
            1, 2, (), (("call", function, (0,), (), 1, (), committed),), (1,), None
        )

    def fail(_: object) -> None:
        raise KeyError("late")

    sides = side(fail, committed=True), side(fail, committed=False)
    step = ("branch", sides, (0, 1), (2,), (), True)
    program = _tiles.Program(2, 3, (), (step,), (2,), None)
    assert program(False, 1) is NotImplemented
    with pytest.raises(KeyError, match="late"):
        program(True, 1)
    with pytest.raises(ValueError, match="no branch with two sides of its kind"):
        _tiles.Program(2, 3, (), (step, step), (2,), None)


def test_a_branch_runs_one_of_two_programs() -> None:
    """The condition chooses; a side that gives up has the whole program give up, and errors of the truth count."""

    def side(function: object) -> Any:
        steps = (("call", function, (0,), (), 1, (), False), ("tuple", (0, 1), 2, (), False))
        return _tiles.Program(1, 3, (), steps, (1, 2), None)

    def with_sides(*sides: object) -> Any:
        step = ("branch", sides, (0, 1), (2, 3), (), False)
        return _tiles.Program(2, 4, (), (step,), (2, 3), None)

    def fail(_: object) -> None:
        raise KeyError

    program = with_sides(side(np.negative), side(fail))
    x = np.arange(3.0)
    first, (same, again) = program(True, x)
    assert_same(first, -x)
    assert same is x
    assert again is first
    assert program(np.True_, x) is not NotImplemented
    assert program(0.0, x) is NotImplemented
    assert program(np.ones(2), x) is NotImplemented
    for wrong in ((side(abs),), (side(abs), abs)):
        with pytest.raises(ValueError, match="no branch with two sides of its kind"):
            with_sides(*wrong)
    with pytest.raises(ValueError, match="no branch with two sides of its kind"):
        with_sides(_tiles.Program(2, 2, (), (), (0, 1)), side(abs))
    one = _tiles.Program(1, 1, (), (), (0,), None)
    assert with_sides(one, one)(True, x) is NotImplemented  # not two results

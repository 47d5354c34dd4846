"""Every program of this folder does compiled what it does plain, and its graph ends only where it may."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import ufuse
from tests import programs
from tests.support.comparing.compare import check_same
from tests.support.comparing.modes import in_turn
from tests.support.frames.pieces import failures_heard
from tests.support.comparing.registering import Breaks, Program
from tests.support.unlimited import lift_limits
from tests.support.nests.whole_calls import whole_at_once
from ufuse import decorator

MODULES = [
    name
    for _, name, is_package in pkgutil.iter_modules(programs.__path__)
    if name != "test_programs" and not is_package
]
CASES = [
    pytest.param(program, backend, id=f"{module}-{program.function.__name__}-{backend}")
    for module in MODULES
    for program in importlib.import_module(f"tests.programs.{module}").PROGRAMS.rows
    for backend in program.among.backends
]

# CPython from 3.12 on may collect garbage while NumPy writes the text of this error, and then says so; the error is raised
# all the same. It does that in plain Python, too.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:(?s).*operands could not be broadcast:pytest.PytestUnraisableExceptionWarning"
)
WHOLE = [pytest.param(case.values[0], id=case.id) for case in CASES if case.values[1] == "numpy"]
MIXED = [
    pytest.param(case.values[0], id=case.id)
    for case in CASES
    if case.values[1] == "numpy" and case.values[0].breaks is not Breaks.NEVER  # type: ignore[union-attr]
]


@pytest.mark.parametrize("program", MIXED)
def test_program_is_the_same_while_it_is_timed(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls and turns of loops go compiled and plain in turn, until it is known which is faster."""
    monkeypatch.setattr(decorator, "MEASURING", True)
    lift_limits(monkeypatch)
    check_in_first_mode(program, calls=6)


def check_in_first_mode(program: Program, calls: int) -> None:
    """Compare some calls in the first of the program's error states; nothing fails inside."""
    subject = program.among
    with failures_heard() as said:
        check_same(
            program.function,
            ufuse.compile(program.function),
            program.make_args,
            calls=calls,
            modes=[subject.modes[0]],
            copies=False,
            state=subject.state,
            reset=subject.reset,
        )
    assert not said


@pytest.mark.parametrize(("program", "backend"), CASES)
def test_program_is_the_same_compiled(program: Program, backend: str) -> None:
    """Nothing that can be observed tells the compiled program from the plain one, in any mode and at any call."""
    subject = program.among
    compiled = ufuse.compile(program.function, backend=backend)
    codes: set[str] = set()
    shown = [program] if subject.every_mode else []
    with failures_heard() as said:
        for mode in in_turn(subject.modes, program.function, shown):
            matter = check_same(
                program.function,
                compiled,
                program.make_args,
                calls=3,
                modes=[mode],
                copies=False,
                state=subject.state,
                reset=subject.reset,
            )
            shown += [program] if matter else []
            codes |= {found.code for found in compiled.breaks}
    assert not said
    match program.breaks:
        case Breaks.NEVER:
            assert not codes, compiled.breaks
        case Breaks.RAISING:
            assert codes <= {"eager-raises"}
        case Breaks.ALWAYS:
            assert codes


@pytest.mark.parametrize("program", WHOLE)
def test_program_is_the_same_as_machine_code(program: Program) -> None:
    """Whole calls are machine code as soon as that can be, as they are where it is faster."""
    with whole_at_once():
        check_in_first_mode(program, calls=4)
